(* Tile maps under the physical collectives: they stay balanced, every step can *)
(* be undone, and every weak step can be taken.                                 *)
(*                                                                              *)
(* Paper: Lemma 6.3 (repaired, E29), Theorem 6.4, Lemma 5.1 and equation (7) on *)
(* tile maps, Lemma 6.6.  Statements S1 and S2.                                 *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig06_syntax fig07_base_offsets fig08_typing def5_weak def6_devices.
Require Import fig11_cost def4_sequences fig10_low_level vectors weak_steps sequences fibres tiles.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section TileMaps.
Variables (D : finType) (g : seq nat).
Local Notation tilemap := (tilemap D).
Local Notation delta := #|D|.
Local Notation is_localtype := (is_localtype delta g).
Local Notation weak_step := (weak_step delta g).
Local Notation balanced := (@balanced D g).
Local Notation phys_step := (@phys_step D g).
Local Notation counts := (tile_counts g).
Implicit Types (s : tilemap) (c t : seq nat).

Lemma balanced_localtype s : balanced s -> is_localtype s.1.
Proof. by case. Qed.

Lemma balanced_tile s d : balanced s -> is_tile (counts s.1) (s.2 d).
Proof. by case. Qed.

Lemma balanced_size s d : balanced s -> size (s.2 d) = size s.1.
Proof.
move=> bs; have /is_tile_size -> := balanced_tile d bs.
by rewrite (tiles_size (balanced_localtype bs)).
Qed.

Lemma balanced_holders s t : balanced s ->
  holders s.2 t = is_tile (counts s.1) t * (delta %/ prodn (counts s.1)).
Proof.
case=> _ tl h; case e: (is_tile _ t); first by rewrite h // mul1n.
by rewrite mul0n; apply: eq_card0 => d; rewrite !inE; apply/eqP => ed; rewrite -ed tl in e.
Qed.

Lemma balanced_ext c (f f' : {ffun D -> seq nat}) : f =1 f' -> balanced (c, f) -> balanced (c, f').
Proof.
move=> e [/= ltc tl h]; split=> //= [d|t it]; first by rewrite -e.
by rewrite -(holders_eq e) h.
Qed.

(* ---- every step leads to a balanced map ----                                 *)
Lemma balanced_gather i n s c' : balanced s -> weak_step (wgather i n) s.1 c' ->
  balanced (c', [ffun d => gather_tile i n (s.2 d)]).
Proof.
move=> bs st; have ltc := balanced_localtype bs; have ltc' := weak_step_to st.
have eN := gather_counts st; have zc := weak_step_size st.
case/wgatherP: (st) => _ n1 lt _ _; have n0 := ltnW n1.
have iN : i < size (counts c') by rewrite (tiles_size ltc') zc.
split=> //= [d|t it]; first by rewrite ffunE; apply: tile_gather; rewrite -eN; apply: balanced_tile.
rewrite (holders_eq (f' := gather_tile i n \o s.2)) => [|d]; last by rewrite ffunE.
rewrite holders_gather // => [|d]; last by rewrite balanced_size.
rewrite (eq_bigr (fun=> delta %/ prodn (counts s.1))) => [|a _]; last first.
  by rewrite balanced_holders // eN tile_slice // it mul1n.
rewrite sum_nat_const card_ord eN prodn_updM //.
have [q eq] : exists q, delta = q * (prodn (counts c') * n).
  by apply/dvdnP; rewrite -(prodn_updM n iN) -eN; apply: localtype_tiles ltc.
have N0 : 0 < prodn (counts c').
  by rewrite -prodn_pos; apply/(all_nthP 0) => k kc; apply: (tiles_pos ltc'); rewrite -(tiles_size ltc').
by rewrite eq (mulnK q) ?muln_gt0 ?N0 // (mulnC (prodn _)) mulnA mulnK // mulnC.
Qed.

Lemma balanced_alltoall i j n s c' : balanced s -> weak_step (walltoall i j n) s.1 c' ->
  balanced (c', [ffun d => alltoall_tile i j n (s.2 d)]).
Proof.
move=> bs st; have ltc := balanced_localtype bs; have ltc' := weak_step_to st.
have [M [zM eN eN']] := alltoall_counts st.
case/walltoallP: (st) => _ n1 _ _ [lti ltj ij _]; have n0 := ltnW n1.
have ji : j != i by rewrite eq_sym.
rewrite -zM in lti ltj.
split=> //= [d|t it].
  by rewrite ffunE eN'; apply: tile_alltoall => //; rewrite -eN; apply: balanced_tile.
have zt : size t = size M by rewrite (is_tile_size it) eN' size_upd.
have tb : is_tile (counts s.1) (alltoall_tile j i n t).
  by rewrite eN; apply: tile_alltoall => //; rewrite -eN'.
have -> : delta %/ prodn (counts c') = delta %/ prodn (counts s.1).
  by rewrite eN eN' !prodn_updM.
case: bs => _ tl h; rewrite -(h _ tb); apply: eq_card => d; rewrite !inE ffunE.
have zd : size (s.2 d) = size M by rewrite (is_tile_size (tl d)) eN size_upd.
by apply/eqP/eqP => [<-|->]; rewrite alltoallK ?zd ?zt.
Qed.

Lemma balanced_permute s (f' : {ffun D -> seq nat}) (pi : D -> D) :
  balanced s -> bijective pi -> f' =1 s.2 \o pi -> balanced (s.1, f').
Proof.
move=> [ltc tl h] bpi e; split=> //= [d|t it]; first by rewrite e; apply: tl.
rewrite -(h t it); apply: (bijection_fibres bpi) => d; by rewrite e.
Qed.

Lemma phys_step_balanced p s s' : phys_step p s s' -> balanced s'.
Proof.
case: s' => c' f' [bs]; case: p => [q [st]|[/= -> [pi bpi e]]]; last exact: balanced_permute bs bpi e.
case: q st => [i n|i n|i j n] st /= e.
- by apply: balanced_ext (balanced_gather bs st) => d; rewrite ffunE e.
- by case: e.
by apply: balanced_ext (balanced_alltoall bs st) => d; rewrite ffunE e.
Qed.

(* ---- every step can be undone ----                                           *)
Definition phys_rev (p : phys) : phys := if p is pweak q then pweak (weak_rev q) else ppermute.

Lemma phys_step_rev p s s' : phys_step p s s' -> phys_step (phys_rev p) s' s.
Proof.
move=> st; have bs' := phys_step_balanced st; case: st => bs; split=> //.
case: p b => [q [st]|[e [pi [rho rK Kr] h]]] /=; last first.
  split=> //; exists rho; first by exists pi.
  by move=> d /=; rewrite h /= Kr.
split; first exact: weak_step_rev.
case: q st b => [i n|i n|i j n] st /= e.
- split=> //; exists (fun d => nth 0 (s.2 d) i %% n); split=> d.
    by case/wgatherP: st => _ n1 _ _ _; rewrite ltn_mod ltnW.
  by rewrite e slice_gather.
- by case: e => _ [dig [lt e]] d; rewrite /= e gather_slice.
case/walltoallP: st => _ n1 _ _ [lti ltj ij _] d.
by rewrite /= e /= alltoallK ?balanced_size // ltnW.
Qed.

(* ---- S1: allgather and alltoall are functions of the tile map ----           *)
Theorem S1 q s s' s'' : ~~ is_slice (weak_op q) ->
  phys_step (pweak q) s s' -> phys_step (pweak q) s s'' -> s' = s''.
Proof.
case: s' s'' => [c' f'] [c'' f''] ns [_ [st e]] [_ [st' e']].
have ec := weak_step_det st st'; rewrite /= in ec; subst c''; congr pair; apply/ffunP => d.
by case: q ns {st st'} e e' => [i n|i n|i j n] //= _ -> ->.
Qed.

(* ---- Lemma 6.3, repaired: every weak step can be taken on every map ----     *)
Theorem lemma_6_3_tiles q s c' : balanced s -> weak_step q s.1 c' ->
  exists f', phys_step (pweak q) s (c', f').
Proof.
move=> bs; case: q => [i n|i n|i j n] st.
- by exists [ffun d => gather_tile i n (s.2 d)]; do !split=> //; move=> d; rewrite ffunE.
- have st' := weak_step_rev st; have eN := gather_counts st'.
  have ltc := balanced_localtype bs; have ltc' := weak_step_to st.
  case/wsliceP: (st) => _ n1 [lt _ _ _]; have n0 := ltnW n1.
  have iN : i < size (counts s.1) by rewrite (tiles_size ltc).
  pose h := delta %/ prodn (counts c').
  have hn : delta %/ prodn (counts s.1) = n * h.
    have [k ek] : exists k, delta = k * prodn (counts c') by apply/dvdnP; apply: localtype_tiles.
    have N0 : 0 < prodn (counts s.1).
      by rewrite -prodn_pos; apply/(all_nthP 0) => k' kc; apply: (tiles_pos ltc); rewrite -(tiles_size ltc).
    by rewrite /h ek eN prodn_updM // (mulnK k) ?muln_gt0 ?N0 // (mulnC (prodn _)) mulnA mulnK // mulnC.
  have [|f' [gf fin cf]] := @match_times D _ _ s.2 (gather_tile i n) [::] (tiles (counts c')) h.
    move=> t; rewrite eN count_fine // [LHS](balanced_holders t bs) hn; lia.
  have tl d : is_tile (counts c') (f' d) by rewrite -mem_tiles.
  exists f'; split=> //; split=> //; split=> //.
    by split=> //= t it; rewrite /holders cf count_tiles it muln1.
  exists (fun d => nth 0 (f' d) i %% n); split=> d; first by rewrite ltn_mod.
  by rewrite -gf slice_gather.
by exists [ffun d => alltoall_tile i j n (s.2 d)]; do !split=> //; move=> d; rewrite ffunE.
Qed.

(* ---- Lemma 5.1 on tile maps: equal localtypes, so an allpermute away ----    *)
Theorem permute_tiles s s' : balanced s -> balanced s' -> s.1 = s'.1 -> phys_step ppermute s s'.
Proof.
move=> bs bs' e; split=> //; split=> //.
have [|pi [bpi h]] := @match_bijection D D _ s'.2 s.2.
  by move=> t; rewrite -[LHS]/(holders s'.2 t) -[RHS]/(holders s.2 t) !balanced_holders // e.
by exists pi => // d; rewrite /= h.
Qed.

End TileMaps.
