(* Tiles as lists of tile numbers: all of them, and what the collectives do to  *)
(* how many devices hold each.                                                  *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig06_syntax fig07_base_offsets fig08_typing def5_weak def6_devices.
Require Import fig10_low_level vectors weak_steps fibres.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Lemma mem_tiles N t : (t \in tiles N) = is_tile N t.
Proof.
elim: N t => [|n N IH] [|a t] //=.
  by apply/negP=> /allpairsPdep[b [u []]].
rewrite /is_tile /= -/(is_tile N t) -IH; apply/allpairsPdep/andP.
  by case=> b [u [+ uN [-> ->]]]; rewrite mem_iota.
by case=> an tN; exists a, t; rewrite mem_iota.
Qed.

Lemma uniq_tiles N : uniq (tiles N).
Proof.
elim: N => //= n N IH; apply: allpairs_uniq => //; first exact: iota_uniq.
by move=> [a t] [b u] _ _ /= [-> ->].
Qed.

Lemma size_tiles N : size (tiles N) = prodn N.
Proof. by elim: N => //= n N IH; rewrite size_allpairs size_iota IH. Qed.

Lemma count_tiles N t : count_mem t (tiles N) = is_tile N t.
Proof. by rewrite count_uniq_mem ?uniq_tiles // mem_tiles. Qed.

Lemma is_tileP N t :
  reflect (size t = size N /\ forall k, k < size N -> nth 0 t k < nth 0 N k) (is_tile N t).
Proof.
apply: (iffP (all2P _ _ _)) => -[es lt]; split=> // k; first by rewrite -es; apply: lt.
by rewrite es; apply: lt.
Qed.

Lemma is_tile_size N t : is_tile N t -> size t = size N.
Proof. by case/is_tileP. Qed.

(* ---- one more digit ----                                                     *)
Lemma size_slice i n a t : size (slice_tile i n a t) = size t.
Proof. exact: size_upd. Qed.
Lemma size_gather i n t : size (gather_tile i n t) = size t.
Proof. exact: size_upd. Qed.

Lemma gather_slice i n a t : a < n -> gather_tile i n (slice_tile i n a t) = t.
Proof.
move=> an; rewrite /gather_tile /slice_tile upd_upd.
case: (ltnP i (size t)) => lt; last by rewrite upd_default.
by rewrite nth_upd_eq // divnMDl ?(leq_ltn_trans _ an) // divn_small // addn0 upd_nth.
Qed.

Lemma slice_gather i n t : slice_tile i n (nth 0 t i %% n) (gather_tile i n t) = t.
Proof.
rewrite /gather_tile /slice_tile upd_upd; case: (ltnP i (size t)) => lt; last by rewrite upd_default.
by rewrite nth_upd_eq // -divn_eq upd_nth.
Qed.

Lemma gather_eq i n t u : 0 < n -> i < size t ->
  (gather_tile i n t == u) = \sum_(a < n) (t == slice_tile i n a u) :> nat.
Proof.
move=> n0 lt; case: eqP => [<-|ne].
  have ltm : nth 0 t i %% n < n by rewrite ltn_mod.
  rewrite (bigD1 (Ordinal ltm)) //= slice_gather eqxx big1 ?addn0 // => a.
  rewrite -val_eqE /= => na; case: eqP => // e; case/eqP: na.
  have := congr1 (fun s => nth 0 s i %% n) e.
  by rewrite /slice_tile nth_upd_eq ?size_gather // modnMDl (modn_small (ltn_ord a)) => ->.
rewrite big1 // => a _; case: eqP => // e; case: ne.
by rewrite e gather_slice.
Qed.

Lemma tile_slice N i n a t : a < n -> i < size N ->
  is_tile (upd N i (nth 0 N i * n)) (slice_tile i n a t) = is_tile N t.
Proof.
move=> an iN; apply/is_tileP/is_tileP; rewrite size_slice size_upd => -[es lt];
  split=> // k kN; have := lt k kN; rewrite !nth_upd es iN andbT; case: eqP => // ->; nia.
Qed.

Lemma tile_gather N i n t : is_tile (upd N i (nth 0 N i * n)) t -> is_tile N (gather_tile i n t).
Proof.
case/is_tileP; rewrite size_upd => es lt; apply/is_tileP; rewrite size_gather.
split=> // k kN; move: kN (lt k kN); rewrite /gather_tile !nth_upd es.
case: (k =P i) => [->|_] //= iN; rewrite iN => h.
by rewrite ltn_divLR //; move: h; case: (n) => //; rewrite muln0.
Qed.

(* How many of a list of tiles have u as their coarser tile.                    *)
Lemma count_gather i n u (L : seq (seq nat)) : 0 < n -> (forall t, t \in L -> i < size t) ->
  count (fun t => gather_tile i n t == u) L = \sum_(a < n) count_mem (slice_tile i n a u) L.
Proof.
move=> n0; elim: L => [|t L IH] lt /=; first by rewrite big1.
rewrite big_split /= IH => [|v vL]; last by apply: lt; rewrite inE vL orbT.
by rewrite gather_eq // lt // mem_head.
Qed.

Lemma count_fine N i n u : 0 < n -> i < size N ->
  count (fun t => gather_tile i n t == u) (tiles (upd N i (nth 0 N i * n))) = is_tile N u * n.
Proof.
move=> n0 iN; rewrite count_gather // => [|t].
  rewrite (eq_bigr (fun=> is_tile N u : nat)) => [|a _]; last by rewrite count_tiles tile_slice.
  by rewrite sum_nat_const card_ord mulnC.
by rewrite mem_tiles => /is_tile_size; rewrite size_upd => ->.
Qed.

Section Holders.
Variable D : finType.
Implicit Types f : D -> seq nat.

Lemma card_sum (P : pred D) : #|[pred d | P d]| = \sum_d (P d : nat).
Proof. by rewrite -sum1_card big_mkcond; apply: eq_bigr => d _; rewrite inE; case: (P d). Qed.

Lemma holders_eq f f' : f =1 f' -> holders f =1 holders f'.
Proof. by move=> e t; apply: eq_card => d; rewrite !inE e. Qed.

Lemma holders_gather f i n u : 0 < n -> (forall d, i < size (f d)) ->
  holders (gather_tile i n \o f) u = \sum_(a < n) holders f (slice_tile i n a u).
Proof.
move=> n0 lt; rewrite /holders card_sum.
rewrite (eq_bigr (fun d => \sum_(a < n) (f d == slice_tile i n a u))) => [|d _].
  by rewrite exchange_big /=; apply: eq_bigr => a _; rewrite card_sum.
by rewrite /= gather_eq.
Qed.

End Holders.

(* ---- the digit that moves ----                                               *)
Lemma size_alltoall i j n t : size (alltoall_tile i j n t) = size t.
Proof. by rewrite !size_upd. Qed.

Lemma alltoallK i j n t : i != j -> 0 < n -> i < size t -> j < size t ->
  alltoall_tile j i n (alltoall_tile i j n t) = t.
Proof.
move=> ij n0 lti ltj; rewrite /alltoall_tile; have ji : j != i by rewrite eq_sym.
set u := upd t i _; set v := upd u j _.
have vj : nth 0 v j = nth 0 t j * n + nth 0 t i %% n by rewrite nth_upd_eq ?size_upd.
have vi : nth 0 v i = nth 0 t i %/ n by rewrite nth_upd_ne // nth_upd_eq.
rewrite vj vi divnMDl // divn_small ?ltn_mod // addn0 modnMDl modn_mod -divn_eq.
by rewrite /v /u upd_upd updC // upd_upd !upd_nth.
Qed.

Lemma tile_alltoall N i j n t : i != j -> 0 < n -> i < size N -> j < size N ->
  is_tile (upd N i (nth 0 N i * n)) t ->
  is_tile (upd N j (nth 0 N j * n)) (alltoall_tile i j n t).
Proof.
move=> ij n0 iN jN /is_tileP[]; rewrite size_upd => es lt.
apply/is_tileP; rewrite size_alltoall size_upd; split=> // k kN; have := lt k kN.
have := ltn_pmod (nth 0 t i) n0.
rewrite /alltoall_tile !nth_upd size_upd es iN jN !andbT.
case: (k =P j) => [->|kj].
  by rewrite eq_sym (negPf ij) => m lj; move: m lj; nia.
by case: (k =P i) => [->|//] _; rewrite ltn_divLR.
Qed.
