(* Types with one dimension replaced; which axes are free; axes of a given      *)
(* size.                                                                        *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig06_syntax fig07_base_offsets def5_weak fig10_low_level.
Require Import vectors weak_steps tiles points base_offset_maps.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Types.
Variable H : mesh.
Local Notation k := (axis_size H).
Local Notation offset := (offset H).
Local Notation size_of_axes := (size_of_axes H).
Local Notation bounded := (bounded H).
Implicit Types (tau e : type) (d : dim) (xs ys : seq name).

Lemma localtype_upd_type e i d : localtype (upd e i d) = upd (localtype e) i (dim_c d).
Proof. exact: map_upd. Qed.
Lemma globaltype_upd e i d : dim_s d = dim_s (nth no_dim e i) ->
  globaltype (upd e i d) = globaltype e.
Proof.
rewrite /globaltype map_upd => ->; case: (ltnP i (size e)) => lt.
  by rewrite -(nth_map no_dim 0) // upd_nth.
by rewrite upd_default // size_map.
Qed.
Lemma tile_no_upd e i d c : tile_no H (upd e i d) c = upd (tile_no H e c) i (offset 1 (dim_xs d) c).
Proof. exact: map_upd. Qed.
Lemma rank_upd e i d : rank (upd e i d) = rank e.
Proof. exact: size_upd. Qed.

Lemma nth_localtype e i : nth 0 (localtype e) i = dim_c (nth no_dim e i).
Proof.
by case: (ltnP i (size e)) => lt; [rewrite (nth_map no_dim) | rewrite !nth_default ?size_map].
Qed.
Lemma nth_globaltype e i : nth 0 (globaltype e) i = dim_s (nth no_dim e i).
Proof.
by case: (ltnP i (size e)) => lt; [rewrite (nth_map no_dim) | rewrite !nth_default ?size_map].
Qed.
Lemma nth_tile_no e i c : nth 0 (tile_no H e c) i = offset 1 (dim_xs (nth no_dim e i)) c.
Proof.
by case: (ltnP i (size e)) => lt; [rewrite (nth_map no_dim) | rewrite !nth_default ?size_map].
Qed.

(* What replacing a dimension does to the axes.                                 *)
Lemma perm_axes_upd e i d : i < rank e ->
  perm_eq (axes (upd e i d) ++ dim_xs (nth no_dim e i)) (axes e ++ dim_xs d).
Proof.
rewrite /axes; elim: e i => [|f e IH] [|i] //= lt.
  by apply/permP => p; rewrite !count_cat; lia.
by rewrite -!catA perm_cat2l IH.
Qed.

Lemma wf_type_upd e i d : wf_type H e -> wf_dim H d -> uniq (axes (upd e i d)) ->
  wf_type H (upd e i d).
Proof.
rewrite /wf_type => /andP[we _] wd ->; rewrite andbT.
by elim: e i we => [|f e IH] [|i] //= /andP[wf we]; rewrite ?wd ?wf // IH.
Qed.

Lemma wf_nth e i : wf_type H e -> i < rank e -> wf_dim H (nth no_dim e i).
Proof. by move=> we lt; apply: wf_type_dim we (mem_nth _ _). Qed.

Lemma dim_axes_sub e i : i < rank e -> {subset dim_xs (nth no_dim e i) <= axes e}.
Proof.
move=> lt x xd; apply/flattenP; exists (dim_xs (nth no_dim e i)) => //.
by apply: map_f; apply: mem_nth.
Qed.

(* Another order of the axes of one dimension.                                  *)
Lemma wf_reorder e i xs : wf_type H e -> i < rank e -> perm_eq xs (dim_xs (nth no_dim e i)) ->
  let d := nth no_dim e i in
  wf_type H (upd e i (Dim (dim_c d) xs (dim_s d))) /\
  perm_eq (axes (upd e i (Dim (dim_c d) xs (dim_s d)))) (axes e).
Proof.
move=> we lt px d; have [c0 sub u es] := wf_dim_axes (wf_nth we lt).
have pa : perm_eq (axes (upd e i (Dim (dim_c d) xs (dim_s d)))) (axes e).
  apply/permP => p; have /permP/(_ p) := perm_axes_upd (Dim (dim_c d) xs (dim_s d)) lt.
  by have /permP/(_ p) := px; rewrite !count_cat /=; lia.
split=> //; apply: wf_type_upd => //; last by rewrite (perm_uniq pa); case/andP: we.
apply/and4P; split=> //=; first by apply/allP => x; rewrite (perm_mem px); apply: sub.
  by rewrite (perm_uniq px).
by rewrite -[prodn _]/(size_of_axes xs) (size_of_axes_perm _ px) es.
Qed.

(* Axes taken away.                                                             *)
Lemma wf_remove e i x ys : wf_mesh H -> wf_type H e -> i < rank e ->
  perm_eq (x ++ ys) (dim_xs (nth no_dim e i)) -> let d := nth no_dim e i in
  wf_type H (upd e i (Dim (dim_c d * size_of_axes x) ys (dim_s d))) /\
  perm_eq (x ++ axes (upd e i (Dim (dim_c d * size_of_axes x) ys (dim_s d)))) (axes e).
Proof.
move=> wH we lt px d; have [c0 sub u es] := wf_dim_axes (wf_nth we lt).
set d' := Dim _ _ _.
have pa : perm_eq (x ++ axes (upd e i d')) (axes e).
  apply/permP => p; have /permP/(_ p) := perm_axes_upd d' lt.
  by have /permP/(_ p) := px; rewrite !count_cat /=; lia.
have u2 : uniq (x ++ ys) by rewrite (perm_uniq px).
have subxy : {subset x ++ ys <= names H} by move=> y; rewrite (perm_mem px); apply: sub.
split=> //; apply: wf_type_upd => //.
  apply/and4P; split=> /=.
  - by rewrite muln_gt0 c0 size_of_axes_pos // => y yx; apply: subxy; rewrite mem_cat yx.
  - by apply/allP => y yy; apply: subxy; rewrite mem_cat yy orbT.
  - by move: u2; rewrite cat_uniq => /and3P[].
  by rewrite -[prodn _]/(size_of_axes ys) -mulnA -size_of_axes_cat (size_of_axes_perm _ px) es.
have : uniq (axes e) by case/andP: we.
by rewrite -(perm_uniq pa) cat_uniq => /and3P[].
Qed.

(* Free axes put in front.                                                      *)
Lemma wf_prepend e i x : wf_type H e -> i < rank e -> {subset x <= names H} -> uniq (x ++ axes e) ->
  let d := nth no_dim e i in size_of_axes x %| dim_c d ->
  wf_type H (upd e i (Dim (dim_c d %/ size_of_axes x) (x ++ dim_xs d) (dim_s d))) /\
  perm_eq (axes (upd e i (Dim (dim_c d %/ size_of_axes x) (x ++ dim_xs d) (dim_s d)))) (x ++ axes e).
Proof.
move=> we lt sx ux d dv; have [c0 sub u es] := wf_dim_axes (wf_nth we lt).
set d' := Dim _ _ _.
have pa : perm_eq (axes (upd e i d')) (x ++ axes e).
  apply/permP => p; have /permP/(_ p) := perm_axes_upd d' lt.
  by rewrite /= !count_cat -/d; lia.
split=> //; apply: wf_type_upd => //; last by rewrite (perm_uniq pa).
have n0 : 0 < size_of_axes x by apply: dvdn_gt0 dv.
apply/and4P; split=> /=.
- by rewrite divn_gt0 // dvdn_leq.
- by rewrite all_cat; apply/andP; split; apply/allP.
- move: ux; rewrite !cat_uniq => /and3P[ux no _]; rewrite ux u andbT /=.
  apply: contra no => /hasP[y yd yx]; apply/hasP; exists y => //; exact: dim_axes_sub yd.
by rewrite -[prodn _]/(size_of_axes _) size_of_axes_cat mulnA divnK // es.
Qed.

(* ---- axes by size ----                                                       *)
Definition free tau : seq name := [seq x <- names H | x \notin axes tau].

Lemma mem_free tau x : (x \in free tau) = (x \notin axes tau) && (x \in names H).
Proof. exact: mem_filter. Qed.

Lemma free_axes tau : wf_mesh H -> wf_type H tau ->
  size_of_axes (free tau) * size_of_axes (axes tau) = device_count H.
Proof.
move=> wH wt; rewrite (device_count_size (wf_mesh_uniq wH)) -size_of_axes_cat; apply: size_of_axes_perm.
have uH := wf_mesh_uniq wH; apply: uniq_perm => //.
  rewrite cat_uniq filter_uniq //=; case/andP: (wt) => _ ->; rewrite andbT.
  by apply/hasPn => x xt; rewrite /= mem_free xt.
move=> x; rewrite mem_cat mem_free; case xt: (x \in axes tau); rewrite ?orbF //= .
by rewrite (axes_names wt xt).
Qed.

(* Prime axes whose sizes multiply to a d hold some that multiply to d.         *)
Lemma axes_of_product xs n : {in xs, forall x, prime (k x)} -> n %| size_of_axes xs ->
  exists ys zs, perm_eq (ys ++ zs) xs /\ size_of_axes ys = n.
Proof.
elim: xs n => [|x xs IH] n px.
  by rewrite /size_of_axes /= dvdn1 => /eqP->; exists [::], [::].
have px' : {in xs, forall y, prime (k y)} by move=> y yx; apply: px; rewrite inE yx orbT.
have pk : prime (k x) by apply: px; apply: mem_head.
rewrite size_of_axes_cons; case kn: (k x %| n) => dn.
  have [m em] := dvdnP kn; rewrite em mulnC dvdn_pmul2l ?prime_gt0 // in dn.
  have [ys [zs [p ey]]] := IH m px' dn.
  exists (x :: ys), zs; rewrite size_of_axes_cons ey em mulnC; split=> //.
  by rewrite cat_cons perm_cons.
have cp : coprime n (k x) by rewrite coprime_sym prime_coprime // kn.
rewrite Gauss_dvdr // in dn; have [ys [zs [p ey]]] := IH n px' dn.
exists ys, (x :: zs); split=> //.
by apply/permP => q; move/permP/(_ q): p; rewrite !count_cat /=; lia.
Qed.

(* One axis where n is prime.                                                   *)
Lemma axis_of_prime xs n : {in xs, forall x, prime (k x)} -> prime n -> n %| size_of_axes xs ->
  exists x, x \in xs /\ k x = n.
Proof.
elim: xs => [|x xs IH] px pn.
  by rewrite /size_of_axes /= dvdn1 => /eqP n1; rewrite n1 in pn.
rewrite size_of_axes_cons Euclid_dvdM // => /orP[|dn].
  by rewrite dvdn_prime2 ?px ?mem_head // => /eqP->; exists x; rewrite mem_head.
have [|y [yx ey]] := IH _ pn dn; first by move=> y yx; apply: px; rewrite inE yx orbT.
by exists y; rewrite inE yx orbT.
Qed.

(* A vector c is the localtype of some type: give axes to the dimensions one    *)
(* after the other.                                                             *)
Lemma type_of_localtype g c : prime_mesh H -> is_localtype (device_count H) g c ->
  exists tau, [/\ wf_type H tau, globaltype tau = g & localtype tau = c].
Proof.
move=> pH; have wH := prime_mesh_wf pH; rewrite /is_localtype (device_count_size (wf_mesh_uniq wH)).
suff gen F : uniq F -> {subset F <= names H} ->
    [&& all (leq 1) g, all (leq 1) c, divides c g & prodn (tile_counts g c) %| size_of_axes F] ->
    exists tau, [/\ all (wf_dim H) tau, globaltype tau = g, localtype tau = c, uniq (axes tau)
      & {subset axes tau <= F}].
  case/gen=> //; first exact: wf_mesh_uniq.
  by move=> tau [wt eg ec u _]; exists tau; rewrite /wf_type wt u.
elim: g c F => [|n g IH] [|m c] F uF sF /=; try by rewrite ?andbF.
  by exists [::].
rewrite -/(tile_counts g c); case/and4P=> /andP[n1 g1] /andP[m1 c1] /andP[mn dv] dn.
have pF : {in F, forall x, prime (k x)} by move=> x /sF; apply: prime_mesh_size.
have [ys [zs [p ey]]] := axes_of_product pF (dvdn_trans (dvdn_mulr _ (dvdnn _)) dn).
have N0 : 0 < n %/ m by rewrite divn_gt0 // dvdn_leq.
have : uniq (ys ++ zs) by rewrite (perm_uniq p).
rewrite cat_uniq => /and3P[uy no uz].
have sy : {subset ys <= F} by move=> x xy; rewrite -(perm_mem p) mem_cat xy.
have sz : {subset zs <= F} by move=> x xz; rewrite -(perm_mem p) mem_cat xz orbT.
have [||tau [wt eg ec ut st]] := IH c zs uz; first by move=> x /sz/sF.
  by rewrite g1 c1 dv -(dvdn_pmul2l N0) -{2}ey -size_of_axes_cat (size_of_axes_perm H p).
exists (Dim m ys n :: tau); split=> /=; rewrite ?eg ?ec ?wt ?andbT //.
- apply/and4P; split=> //=; first by apply/allP => x /sy/sF.
  by rewrite -[prodn _]/(size_of_axes ys) ey mulnC divnK.
- rewrite /axes /= cat_uniq uy -/(axes tau) ut andbT; apply: contra no => /hasP[x xt xy].
  by apply/hasP; exists x => //; apply: st.
by move=> x; rewrite /axes /= mem_cat => /orP[/sy//|/st/sz].
Qed.

End Types.
