(* Blocks of elements move whole: where all that steps add to indices, divide   *)
(* them by or compare them with are multiples of g, elements of one block stay  *)
(* side by side, and one of them stands for all.                                *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation vectors program meaning lookup check check_steps.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Near.
Variables (rank : nat) (g r : nat -> nat).
(* An index in a block, by how much it lies behind the first one.               *)
Hypothesis small : forall i, g i = 0 \/ r i < g i.
Hypothesis none_behind : forall i, rank <= i -> r i = 0.
(* There are blocks of several elements.                                        *)
Hypothesis coarse : exists2 i, i < rank & g i != 1.

Definition near (k k0 : seq nat) : Prop :=
  [/\ size k = rank, size k0 = rank & forall i, i < rank -> nth 0 k i = nth 0 k0 i + r i /\ g i %| nth 0 k0 i].
(* .. of elements, which may be fewer numbers.                                  *)
Definition behind_by (v v0 : seq nat) : Prop :=
  size v = size v0 /\ forall i, i < size v -> nth 0 v i = nth 0 v0 i + r i.

(* ---- numbers ----                                                            *)
Lemma near_div i a w : g i %| a -> g i %| w -> (a + r i) %/ w = a %/ w /\ (a + r i) %% w = a %% w + r i.
Proof.
move=> /dvdnP[q ->] /dvdnP[n ->]; case: (small i) => [->|lt]; first by rewrite !muln0 !divn0 !modn0.
case: n => [|n]; first by rewrite mul0n !divn0 !modn0.
have eq := divn_eq q n.+1; have lq := ltn_pmod q (ltn0Sn n).
have g0 : 0 < g i by apply: leq_ltn_trans lt.
have lt' : q %% n.+1 * g i + r i < n.+1 * g i.
  by apply: (@leq_trans ((q %% n.+1).+1 * g i)); [rewrite mulSn; lia|rewrite leq_mul2r lq orbT].
have e : q * g i + r i = q %/ n.+1 * (n.+1 * g i) + (q %% n.+1 * g i + r i).
  by rewrite {1}eq mulnDl mulnA; lia.
have pos : 0 < n.+1 * g i by rewrite muln_gt0 g0.
by rewrite divnMr // -muln_modl; split; rewrite e; [rewrite divnMDl // (divn_small lt') addn0|rewrite modnMDl modn_small].
Qed.

Lemma near_leq i a b : g i %| a -> g i %| b -> (a <= b + r i) = (a <= b).
Proof.
move=> /dvdnP[q ->] /dvdnP[n ->]; case: (small i) => [->|lt]; first by rewrite !muln0.
case: (leqP q n) => [le|gt]; first by rewrite leq_mul2r le orbT; apply: leq_trans (leq_addr _ _); rewrite leq_mul2r le orbT.
by apply/idP/idP; nia.
Qed.

Lemma near_ltn i a b : g i %| a -> g i %| b -> (b + r i < a) = (b < a).
Proof. by move=> ga gb; rewrite !ltnNge near_leq. Qed.

(* ---- indices ----                                                            *)
Lemma near_nth k k0 i : near k k0 -> nth 0 k i = nth 0 k0 i + r i.
Proof.
case=> z z0 e; case: (ltnP i rank) => [/e[]//|le].
by rewrite !nth_default ?z ?z0 // none_behind.
Qed.
Lemma near_dvd k k0 i : near k k0 -> g i %| nth 0 k0 i.
Proof. by case=> _ z0 e; case: (ltnP i rank) => [/e[]//|le]; rewrite nth_default ?z0. Qed.

Lemma near_upd k k0 j a a0 : near k k0 -> (j < rank -> a = a0 + r j /\ g j %| a0) -> near (upd k j a) (upd k0 j a0).
Proof.
move=> [z z0 e] ea; split; rewrite ?size_upd // => i ir; rewrite !nth_upd z z0.
by case: eqP => [ij|_] /=; [subst i; rewrite ir; exact: ea|exact: e].
Qed.

Lemma near_each (a a0 : nat -> nat) : (forall i, i < rank -> a i = a0 i + r i /\ g i %| a0 i) ->
  near [seq a i | i <- iota 0 rank] [seq a0 i | i <- iota 0 rank].
Proof. by move=> e; split=> [||i ir]; rewrite ?size_map ?size_iota // !nth_each //; exact: e. Qed.

Lemma looked_at (b : bool) (n : nat -> nat) : (forall i, i < rank -> g i %| if b then n i else 1) -> b.
Proof. by case: b => // /[dup] h; case: coarse => i ir /negPf g1 /(_ i ir); rewrite dvdn1 g1. Qed.

Lemma all2_nth (T : nat -> nat -> bool) s t : all2 T s t = (size s == size t) && all (fun i => T (nth 0 s i) (nth 0 t i)) (iota 0 (size s)).
Proof.
elim: s t => [|x s IH] [|y t] //=; rewrite IH eqSS andbCA; congr (_ && (_ && _)).
by rewrite (iotaDl 1 0) all_map; apply: eq_all.
Qed.

Lemma size_plus s t : size (plus s t) = minn (size s) (size t).
Proof. by rewrite size_map size_zip. Qed.
Lemma nth_plus s t i : i < size s -> i < size t -> nth 0 (plus s t) i = nth 0 s i + nth 0 t i.
Proof. by elim: s t i => [|x s IH] [|y t] [|i] //=; rewrite !ltnS; exact: IH. Qed.
Lemma nth_minus s t i : i < size s -> i < size t -> nth 0 (minus s t) i = nth 0 s i - nth 0 t i.
Proof. by elim: s t i => [|x s IH] [|y t] [|i] //=; rewrite !ltnS; exact: IH. Qed.

(* ---- steps ----                                                              *)
Lemma near_transfer x d k k0 : near k k0 -> (forall i, i < rank -> g i %| transfer_grain rank i x) ->
  writes d k x = writes d k0 x /\
  (writes d k0 x -> near (plus (got x) (minus k (put x))) (plus (got x) (minus k0 (put x)))).
Proof.
move=> nk gx; have ok := looked_at gx; rewrite /transfer_grain ok in gx.
have /and3P[/eqP zp /eqP zg /eqP zb] := ok; have [z z0 _] := nk.
have zs : size (plus (put x) (box x)) = rank by rewrite size_plus zp zb minnn.
have parts i : i < rank -> [/\ g i %| nth 0 (put x) i, g i %| nth 0 (got x) i & g i %| nth 0 (box x) i].
  by move=> /gx; rewrite !dvdn_gcd => /and3P[].
split=> [|/and3P[_ + _]].
  rewrite /writes; congr [&& _, _ & _]; rewrite !all2_nth ?zs ?zp ?z ?z0 eqxx /=; apply: eq_in_all => i;
    rewrite mem_iota /= => ir; have [gp _ gb] := parts i ir; have gk := near_dvd i nk; rewrite (near_nth i nk).
    by rewrite near_leq.
  by rewrite near_ltn // nth_plus ?zp ?zb // dvdn_add.
rewrite all2_nth zp z0 eqxx => /allP le.
split; rewrite ?size_plus ?size_map ?size_zip ?zg ?z ?z0 ?zp ?minnn // => i ir.
have [gp gg _] := parts i ir; have gk := near_dvd i nk.
have lei : nth 0 (put x) i <= nth 0 k0 i by apply: le; rewrite mem_iota.
rewrite !nth_plus ?nth_minus ?size_map ?size_zip ?zg ?z ?z0 ?zp ?minnn // (near_nth i nk).
by split; [lia|rewrite dvdn_add // dvdn_sub].
Qed.

Lemma near_part c q m k k0 : near k k0 -> (forall i, i < rank -> g i %| cut_grain c q i m) ->
  near (part_index c q m k) (part_index c q m k0).
Proof.
move=> nk; case: c => [[c n j]|] //= gc; apply: near_upd => // jr; have := gc j jr; rewrite eqxx => gb.
by rewrite (near_nth j nk) addnA dvdn_add // (near_dvd j nk).
Qed.

Lemma near_fetch h d k k0 : near k k0 -> (forall i, i < rank -> g i %| hop_grain rank h i) ->
  (fetch h d k).1 = (fetch h d k0).1 /\ near (fetch h d k).2 (fetch h d k0).2.
Proof.
move=> nk; case: h => [j begins|j c seats|dims counts spots|sources|transfers] /= gh.
- split=> //; apply: near_upd => // jr; have := gh j jr; rewrite eqxx => gb.
  rewrite (near_nth j nk) addnA; split=> //; rewrite dvdn_add ?(near_dvd j nk) //.
  exact: dvdn_trans gb (@tree_gcd_dvd _ 0 id begins d erefl).
- have {}gh i (ir : i < rank) := dvdn_trans (gh i ir) (@tree_gcd_dvd _ None (seat_grain j c i) seats d erefl).
  case: (get None seats d) gh => [[[es ms like] q]|] //= gh; have likes := looked_at gh; rewrite likes in gh *.
  set m := head [::] ms in gh *; set w := nth 0 (part_shape c q m) j in gh *.
  have gw i : i < rank -> g i %| (if j == i then nth 0 (part_shape c q m) i else 0) /\ g i %| cut_grain c q i m.
    by move=> /gh; rewrite dvdn_gcd => /andP[].
  rewrite !edivn_def; case: (ltnP j rank) => jr; last first.
    have [z z0 _] := nk; rewrite (nth_default _ (_ : size k <= j)) ?z // (nth_default _ (_ : size k0 <= j)) ?z0 //=.
    by split=> //; apply: near_part => [|i /gw[]//]; apply: near_upd => //; rewrite ltnNge jr.
  have [gj _] := gw j jr; rewrite eqxx in gj; have gk := near_dvd j nk.
  have [ed em] := near_div gk gj; rewrite (near_nth j nk) -/w ed em /=; split=> //.
  apply: near_part => [|i /gw[]//]; apply: near_upd => // _; split=> //.
  by rewrite -/w in gj; rewrite (divn_eq (nth 0 k0 j) w) dvdn_addr ?dvdn_mull in gk.
- have {}gh i (ir : i < rank) := dvdn_trans (gh i ir) (@tree_gcd_dvd _ None (spot_grain rank i) spots d erefl).
  case: (get None spots d) gh => [[es w b]|] //= gh; have zw := looked_at gh; rewrite zw in gh; rewrite (eqP zw).
  have gw i : i < rank -> g i %| nth 0 w i /\ g i %| nth 0 b i by move=> /gh; rewrite dvdn_gcd => /andP[].
  have -> : [seq nth 0 k i %/ nth 0 w i | i <- iota 0 rank] = [seq nth 0 k0 i %/ nth 0 w i | i <- iota 0 rank].
    apply/eq_in_map => i; rewrite mem_iota /= => ir; have [gwi _] := gw i ir.
    by have [+ _] := near_div (near_dvd i nk) gwi; rewrite (near_nth i nk).
  split=> //; apply: near_each => i ir; have [gwi gbi] := gw i ir; have gk := near_dvd i nk.
  have [_] := near_div gk gwi; rewrite (near_nth i nk) => ->; rewrite addnA; split=> //; rewrite dvdn_add //.
  by rewrite (divn_eq (nth 0 k0 i) (nth 0 w i)) dvdn_addr ?dvdn_mull in gk.
- by [].
have {}gh i (ir : i < rank) := dvdn_trans (gh i ir) (@tree_gcd_dvd _ [::] (foldr (fun x n => gcdn (transfer_grain rank i x) n) 0) transfers d erefl).
elim: (get [::] transfers d) gh => //= x xs IH gh.
have gx i : i < rank -> g i %| transfer_grain rank i x /\ g i %| foldr (fun x g => gcdn (transfer_grain rank i x) g) 0 xs.
  by move=> /gh; rewrite dvdn_gcd => /andP[].
have [-> moved] := near_transfer d nk (fun i ir => (gx i ir).1); case: ifP => [wr|_]; first by split=> //; exact: moved.
by apply: IH => i /gx[].
Qed.

(* ---- elements ----                                                           *)
Lemma nth_sides ss l i : i < size ss -> i < size l ->
  nth 0 [seq side_at p.1 p.2 | p <- zip ss l] i = side_at (nth (meaning.Run 0 0) ss i) (nth 0 l i).
Proof. by elim: ss l i => [|s ss IH] [|y t] [|i] //=; rewrite !ltnS; exact: IH. Qed.

Lemma near_held h d k k0 : near k k0 -> (forall i, i < rank -> g i %| held_grain h i) ->
  behind_by (index_at h d k) (index_at h d k0).
Proof.
move=> nk gh; have {}gh i (ir : i < rank) := dvdn_trans (gh i ir) (@tree_gcd_dvd _ (Nothing 0) (holding_grain i) h d erefl).
have [z z0 _] := nk; rewrite /index_at; case: (get (Nothing 0) h d) gh => [ss|n] /= gh; last first.
  by split=> [|i _]; [rewrite z z0|exact: near_nth].
split=> [|i]; rewrite !size_map !size_zip ?z ?z0 // leq_min => /andP[is_ ir]; rewrite !nth_sides ?z ?z0 //.
rewrite (near_nth i nk); have := gh i ir; rewrite /holding_grain.
case: (nth (meaning.Run 0 0) ss i) => [b w|ls] /=; first by rewrite addnA.
by rewrite dvdn1 => /eqP g1; case: (small i); rewrite g1 // ltnS leqn0 => /eqP->; rewrite !addn0.
Qed.

Lemma near_trace hs b d k k0 : near k k0 -> (forall i, i < rank -> g i %| held_grain b i) ->
  (forall i, i < rank -> g i %| foldr (fun t n => gcdn (turn_grain rank i t) n) 0 hs) ->
  behind_by (trace the_one index_at hs b d k) (trace the_one index_at hs b d k0).
Proof.
move=> nk gb; elim: hs d k k0 nk => [|[h|from_] hs IH] d k k0 nk gh /=; first exact: near_held.
  have gx i : i < rank -> g i %| hop_grain rank h i /\ g i %| foldr (fun t n => gcdn (turn_grain rank i t) n) 0 hs.
    by move=> /gh /=; rewrite dvdn_gcd => /andP[].
  have [] := near_fetch d nk (fun i ir => (gx i ir).1); case: (fetch h d k) => e l; case: (fetch h d k0) => e0 l0 /= -> nl.
  by apply: IH => // i /gx[].
by suff: false by []; apply: (@looked_at false (fun=> 0)) => i /gh /=; rewrite dvdn_gcd => /andP[].
Qed.

Lemma behind_eq v v0 u u0 : behind_by v v0 -> behind_by u u0 -> v0 = u0 -> v = u.
Proof.
move=> [zv ev] [zu eu] e; apply: (@eq_from_nth _ 0) => [|i iv]; first by rewrite zv zu e.
by rewrite ev // eu ?e // zu -e -zv.
Qed.

Lemma near_plus b k k0 : near k k0 -> behind_by (plus b k) (plus b k0).
Proof.
move=> nk; have [z z0 _] := nk; split=> [|i]; first by rewrite !size_plus z z0.
by rewrite size_plus leq_min => /andP[ib ik]; rewrite !nth_plus ?z0 -?z // (near_nth i nk) addnA.
Qed.
End Near.

(* ---- the tests ----                                                          *)
Lemma nth_block_start g l i : i < size l -> nth 0 (block_start g l) i = nth 0 l i %/ nth 1 g i * nth 1 g i.
Proof. by elim: l g i => //= x l IH [|b g] [|i] //= lt; rewrite IH // nth_nil. Qed.
Lemma size_block_start g l : size (block_start g l) = size l.
Proof. by elim: l g => //= x l IH g; rewrite IH. Qed.

Lemma inside_block_start g c l : inside c l -> inside c (block_start g l).
Proof.
move=> /insideP[z lt]; apply/insideP; rewrite size_block_start; split=> // i ic.
by rewrite nth_block_start ?z //; exact: leq_ltn_trans (leq_trunc_div _ _) (lt i ic).
Qed.

Lemma every_block_same g c (p : seq nat -> bool) : (forall l, inside c l -> p (block_start g l) -> p l) ->
  every_block g c p = every c p.
Proof.
move=> h; apply/every_blockP/everyP => [all_b l il|all_p l il]; first by apply: h => //; exact: all_b.
by apply: all_p; exact: inside_block_start.
Qed.

Section Tests.
Variables (rank : nat) (c : seq nat).
Hypothesis fits : size c = rank.

(* Two ways to name elements, both of which keep blocks together.               *)
Lemma every_block_eq (n : nat -> nat) (v u : seq nat -> seq nat) :
  (forall g r k k0, (forall i, g i = 0 \/ r i < g i) -> (forall i, rank <= i -> r i = 0) ->
     (exists2 i, i < rank & g i != 1) -> (forall i, i < rank -> g i %| n i) ->
     near rank g r k k0 -> behind_by r (v k) (v k0) /\ behind_by r (u k) (u k0)) ->
  every_block (mkseq n rank) c (fun l => v l == u l) = every c (fun l => v l == u l).
Proof.
move=> h; apply: every_block_same => l /insideP[z _] /eqP e.
have nE i : i < rank -> nth 1 (mkseq n rank) i = n i by move=> ir; rewrite nth_mkseq.
have zl : size l = rank by rewrite z.
case: (boolP (has (fun i => n i != 1) (iota 0 rank))) => [/hasP[j]|/hasPn one]; last first.
  suff -> : l = block_start (mkseq n rank) l by rewrite e.
  apply: (@eq_from_nth _ 0) => [|i il]; rewrite ?size_block_start // nth_block_start // nE -?zl //.
  by have := one i; rewrite mem_iota add0n -zl => /(_ il)/negbNE/eqP->; rewrite divn1 muln1.
rewrite mem_iota /= => jr nj.
pose r i := if i < rank then nth 0 l i %% n i else 0.
have small i : n i = 0 \/ r i < n i.
  by rewrite /r; case: (posnP (n i)) => [|pos]; [left|right; case: ifP => // _; exact: ltn_pmod].
have nk : near rank n r l (block_start (mkseq n rank) l).
  split=> [||i ir] //; first by rewrite size_block_start.
  by rewrite nth_block_start ?zl // nE // /r ir -divn_eq dvdn_mull.
have out i : rank <= i -> r i = 0 by rewrite /r ltnNge => ->.
have [hv hu] := h n r _ _ small out (ex_intro2 _ _ j jr nj) (fun i _ => dvdnn _) nk.
by apply/eqP; exact: behind_eq hv hu e.
Qed.

Lemma held_blocks s h d : every_block (grain_beside rank h s) c (fun l => elem_at the_one index_at s d l == index_at h d l) =
  every c (fun l => elem_at the_one index_at s d l == index_at h d l).
Proof.
apply: every_block_eq => g r k k0 sm out co gn nk.
have gs i : i < rank -> [/\ g i %| held_grain h i, g i %| held_grain (base s) i
                           & g i %| foldr (fun t n => gcdn (turn_grain rank i t) n) 0 (hops s)].
  by move=> /gn; rewrite !dvdn_gcd => /and3P[].
by split; [apply: near_trace nk _ _|apply: near_held nk _] => // i /gs[].
Qed.

Lemma box_blocks s b d : every_block (grain rank s) c (fun l => elem_at the_one index_at s d l == plus b l) =
  every c (fun l => elem_at the_one index_at s d l == plus b l).
Proof.
apply: every_block_eq => g r k k0 sm out co gn nk; split; last exact: near_plus nk.
by apply: near_trace nk _ _ => // i /gn; rewrite dvdn_gcd => /andP[].
Qed.
End Tests.
