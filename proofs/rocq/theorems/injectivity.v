(* T is injective on the types of one globaltype, and when one tile map is a    *)
(* coarser one of another.                                                      *)
(*                                                                              *)
(* Paper: what Def. 4.3 needs (E6).  The second part is what S5 rests on.       *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig06_syntax fig07_base_offsets def5_weak.
Require Import vectors points base_offset_maps.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Injectivity.
Variable H : mesh.
Hypothesis wH : wf_mesh H.
Local Notation k := (axis_size H).
Local Notation offset := (offset H).
Local Notation size_of_axes := (size_of_axes H).
Local Notation bounded := (bounded H).

(* Coordinate 1 on axis x, 0 elsewhere.                                         *)
Definition unit (x y : name) : nat := (y == x).

Lemma unit_bounded x : bounded (names H) (unit x).
Proof. by move=> y yH; have := wf_mesh_size wH yH; rewrite /unit; case: (y == x) => //; apply: ltnW. Qed.

Lemma offset_unit_out c x xs : x \notin xs -> offset c xs (unit x) = 0.
Proof.
elim: xs c => //= y xs IH c; rewrite inE negb_or => /andP[ne /IH->].
by rewrite /unit eq_sym (negPf ne) muln0.
Qed.

Lemma offset_unit_le x xs : uniq xs -> {subset xs <= names H} ->
  offset 1 xs (unit x) * k x <= size_of_axes xs.
Proof.
elim: xs => // y xs IH /andP[ny u] sub.
have sub' : {subset xs <= names H} by move=> z zx; apply: sub; rewrite inE zx orbT.
rewrite offset_cons size_of_axes_cons /unit; case: (altP (y =P x)) => [<-|ne].
  by rewrite (offset_unit_out _ ny) muln0 addn0 mul1n leq_pmulr // size_of_axes_pos.
by rewrite add0n -mulnA leq_mul2l IH ?orbT.
Qed.

(* If D[c_1{xs}n] rounds D[c_2{ys}n] down to multiples of c_1, then xs is a     *)
(* suffix of ys.                                                                *)
Lemma suffix_of_rounding c1 c2 xs ys : 0 < c1 -> 0 < c2 -> uniq xs -> uniq ys ->
  {subset xs <= names H} -> {subset ys <= names H} ->
  c1 * size_of_axes xs = c2 * size_of_axes ys ->
  (forall i, bounded (names H) i -> offset c1 xs i = offset c2 ys i %/ c1 * c1) ->
  exists zs, ys = zs ++ xs.
Proof.
move=> c10 c20; elim/last_ind: xs ys => [|xs x IH] ys ux uy sx sy en e.
  by exists ys; rewrite cats0.
have sx' : {subset xs <= names H} by move=> z zx; apply: sx; rewrite mem_rcons inE zx orbT.
have xH : x \in names H by apply: sx; rewrite mem_rcons mem_head.
have nx : x \notin xs by move: ux; rewrite rcons_uniq => /andP[].
have ux' : uniq xs by move: ux; rewrite rcons_uniq => /andP[].
have x0 := size_of_axes_pos wH sx'.
have := e _ (unit_bounded x); rewrite -{1}cats1 offset_cat (offset_unit_out _ nx) /=.
rewrite /unit eqxx muln1 addn0 add0n => ex.
case/lastP: ys sy uy en e ex => [|ys y] sy uy en e ex.
  by move: ex; rewrite /= div0n mul0n => /eqP; rewrite muln_eq0 -!leqn0 leqNgt c10 leqNgt x0.
have sy' : {subset ys <= names H} by move=> z zx; apply: sy; rewrite mem_rcons inE zx orbT.
have yH : y \in names H by apply: sy; rewrite mem_rcons mem_head.
have uy' : uniq ys by move: uy; rewrite rcons_uniq => /andP[].
have y0 := size_of_axes_pos wH sy'.
have sr zs z : size_of_axes (rcons zs z) = size_of_axes zs * k z.
  by rewrite -cats1 size_of_axes_cat size_of_axes_cons muln1.
rewrite !sr !mulnA in en.
case: (altP (x =P y)) => [exy|nxy]; last first.
  have := offset_unit_le x uy' sy'; have kx := wf_mesh_size wH xH; have ky := wf_mesh_size wH yH.
  move: ex; rewrite -cats1 offset_cat /= eq_sym (negPf nxy) muln0 !addn0 => ex le.
  have le1 : c1 * size_of_axes xs <= offset c2 ys (unit x) by rewrite ex leq_trunc_div.
  have : c1 * size_of_axes xs * k x <= c2 * size_of_axes ys.
    apply: leq_trans (leq_mul le1 (leqnn _)) _.
    by rewrite offset1 -mulnA leq_mul2l le orbT.
  have p0 : 0 < c2 * size_of_axes ys by rewrite muln_gt0 c20.
  rewrite en -[X in _ <= X]muln1 leq_pmul2l // => kle.
  by move: ky; rewrite ltnNge kle.
subst y; have k0 := ltnW (wf_mesh_size wH xH).
have en' : c1 * size_of_axes xs = c2 * size_of_axes ys by apply/eqP; rewrite -(eqn_pmul2r k0) en.
have [|zs ->] := IH ys ux' uy' sx' sy' en'; last by exists zs; rewrite rcons_cat.
move=> i bi; have := e i bi; rewrite -!cats1 !offset_cat /= !addn0 -en'.
rewrite -mulnA [c1 * _]mulnC [X in X %/ c1]addnC divnMDl // mulnDl addnC => /eqP.
by rewrite eqn_add2l => /eqP.
Qed.

(* The tile size can be read off the offsets.                                   *)
Lemma tile_of_offsets d e : wf_dim H d -> wf_dim H e -> dim_s d = dim_s e ->
  (forall p : point H, exists q : point H,
     base_offset H e (coordinate p) = base_offset H d (coordinate q)) ->
  dim_c d %| dim_c e.
Proof.
move=> wd we es eo; have [c0 subd _ ed] := wf_dim_axes wd; have [c0' sube _ ee] := wf_dim_axes we.
have := size_of_axes_pos wH sube; rewrite leq_eqVlt => /predU1P[e1|gt1].
  by rewrite -ee -e1 muln1 in es; rewrite -es -ed dvdn_mulr.
have [] := proj2 (lemma_4_1 (dim_c e) wH we); first by rewrite -ee ltn_Pmulr.
move=> p ep; have [|] := proj1 (lemma_4_1 (dim_c e) wH wd) => //.
by have [q eq] := eo p; exists q; rewrite -eq.
Qed.

(* Lemma 5.1 the other way round: equivalent maps have equal localtypes.        *)
Lemma localtype_of_offsets tau1 tau2 : wf_type H tau1 -> wf_type H tau2 ->
  globaltype tau1 = globaltype tau2 ->
  (forall p : point H, exists q : point H, base_offset_map tau2 p = base_offset_map tau1 q) ->
  (forall p : point H, exists q : point H, base_offset_map tau1 p = base_offset_map tau2 q) ->
  localtype tau1 = localtype tau2.
Proof.
elim: tau1 tau2 => [|d t1 IH] [|e t2] // /wf_type_cons[wd wt1 _] /wf_type_cons[we wt2 _] [es eg] e1 e2.
rewrite /=; congr cons.
  apply/eqP; rewrite eqn_dvd; apply/andP; split; apply: tile_of_offsets => // p.
    by have [q] := e1 p; rewrite /base_offset_map /= => -[eq _]; exists q.
  by have [q] := e2 p; rewrite /base_offset_map /= => -[eq _]; exists q.
apply: IH => // p.
  by have [q] := e1 p; rewrite /base_offset_map /= => -[_ eq]; exists q.
by have [q] := e2 p; rewrite /base_offset_map /= => -[_ eq]; exists q.
Qed.

(* Lemma 5.1 in full.                                                           *)
Theorem lemma_5_1_iff tau1 tau2 : wf_type H tau1 -> wf_type H tau2 ->
  globaltype tau1 = globaltype tau2 ->
  equivalent (@base_offset_map H tau1) (@base_offset_map H tau2) <-> localtype tau1 = localtype tau2.
Proof.
move=> w1 w2 eg; split=> [[pi [rho pK Kp] e]|el]; last first.
  by have [pi bpi e] := lemma_5_1 wH w1 w2 eg el; exists pi.
apply: (localtype_of_offsets w1 w2 eg) => p; first by exists (pi p); rewrite e.
by exists (rho p); rewrite e /= Kp.
Qed.

Theorem T_injective tau1 tau2 : wf_type H tau1 -> wf_type H tau2 ->
  globaltype tau1 = globaltype tau2 ->
  @base_offset_map H tau1 =1 @base_offset_map H tau2 -> tau1 = tau2.
Proof.
elim: tau1 tau2 => [|d t1 IH] [|e t2] // /wf_type_cons[wd wt1 _] /wf_type_cons[we wt2 _] [es eg] eo.
have eod (p : point H) : base_offset H d (coordinate p) = base_offset H e (coordinate p).
  by have := eo p; rewrite /base_offset_map /= => -[].
have eot : @base_offset_map H t1 =1 @base_offset_map H t2.
  by move=> p; have := eo p; rewrite /base_offset_map /= => -[].
congr cons; last exact: IH.
have ec : dim_c d = dim_c e.
  by apply/eqP; rewrite eqn_dvd !tile_of_offsets // => p; exists p; rewrite eod.
have [c0 subd ud ed] := wf_dim_axes wd; have [c0' sube ue ee] := wf_dim_axes we.
have [zs ez] : exists zs, dim_xs e = zs ++ dim_xs d.
  apply: (@suffix_of_rounding (dim_c d) (dim_c e)) => //; first by rewrite ed ee.
  move=> i bi; have [p ep] := point_of (wf_mesh_uniq wH) bi.
  have := eod p; rewrite /base_offset.
  rewrite (@offset_eq H _ _ _ i) => [|x xd]; last by rewrite ep // subd.
  rewrite (@offset_eq H _ (dim_xs e) _ i) => [->|x xd]; last by rewrite ep // sube.
  by rewrite -ec offset1 mulKn // mulnC.
have z0 : zs = [::].
  case: zs ez => // z zs ez; have zH : z \in names H by apply: sube; rewrite ez mem_head.
  have kz := wf_mesh_size wH zH; have := ee; rewrite -es -ed ec ez cat_cons size_of_axes_cons size_of_axes_cat.
  move/eqP; rewrite eqn_pmul2l // => /eqP h.
  have p1 : 0 < size_of_axes zs by apply: size_of_axes_pos => // y yz; apply: sube; rewrite ez cat_cons inE mem_cat yz orbT.
  have p2 : 0 < size_of_axes (dim_xs d) by apply: size_of_axes_pos.
  have : size_of_axes (dim_xs d) * 2 <= k z * (size_of_axes zs * size_of_axes (dim_xs d)).
    by rewrite mulnA mulnC leq_mul2r; apply/orP; right; nia.
  by rewrite h; lia.
by move: ec es ez; rewrite z0; case: (d) => ? ? ?; case: (e) => ? ? ? /= -> -> ->.
Qed.

End Injectivity.
