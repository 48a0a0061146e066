(* S5: what costs nothing.                                                      *)
(*                                                                              *)
(* OPT = 0 iff each axis list of tau_1 is a suffix of that of tau_2; the way is *)
(* then one of dynslices, also in the strong collectives of Fig. 8.  That OPT   *)
(* is at least L2 where it is not 0 stands in optimality.v.                     *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig06_syntax fig07_base_offsets fig08_typing fig11_cost def4_sequences.
Require Import def5_weak def6_devices fig10_low_level sec7_low_level.
Require Import vectors weak_steps sequences fibres tiles points base_offset_maps injectivity types.
Require Import tile_maps weak_patterns lemma_6_5 optimality s4 fig10_physical lowering.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section S5.
Variable H : mesh.
Hypothesis wH : wf_mesh H.
Local Notation k := (axis_size H).
Local Notation size_of_axes := (size_of_axes H).
Implicit Types (tau e : type).

Definition suffixes tau1 tau2 : Prop := forall i, i < rank tau1 ->
  exists zs, dim_xs (nth no_dim tau2 i) = zs ++ dim_xs (nth no_dim tau1 i).

Lemma axes_once e i j x : uniq (axes e) -> i < rank e -> j < rank e ->
  x \in dim_xs (nth no_dim e i) -> x \in dim_xs (nth no_dim e j) -> i = j.
Proof.
have tail e' n y : n < rank e' -> y \in dim_xs (nth no_dim e' n) -> y \in axes e'.
  by move=> lt; apply: dim_axes_sub.
elim: e i j => [|d e IH] [|i] [|j] //=; rewrite /axes /= cat_uniq => /and3P[_ /hasPn no u] lti ltj xi xj.
- by have := no x (tail e j x ltj xj); rewrite /= xi.
- by have := no x (tail e i x lti xi); rewrite /= xj.
by congr S; apply: IH.
Qed.

Lemma axes_dim e x : x \in axes e -> exists2 i, i < rank e & x \in dim_xs (nth no_dim e i).
Proof.
case/flattenP => xs /mapP[d de ->] xd; exists (index d e); first by rewrite /rank index_mem.
by rewrite nth_index.
Qed.

Lemma rank_globaltype tau1 tau2 : globaltype tau1 = globaltype tau2 -> rank tau1 = rank tau2.
Proof. by move/(congr1 size); rewrite !size_map. Qed.

Lemma suffixes_sub tau1 tau2 : globaltype tau1 = globaltype tau2 -> suffixes tau1 tau2 ->
  {subset axes tau1 <= axes tau2}.
Proof.
move=> eg sx x /axes_dim[i lt xi]; have [zs ez] := sx i lt.
by apply: (dim_axes_sub (i := i)); rewrite -?(rank_globaltype eg) // ez mem_cat xi orbT.
Qed.

(* The dynslices, one axis at a time.                                           *)
Theorem S5_slices tau1 tau2 : wf_type H tau1 -> wf_type H tau2 ->
  globaltype tau1 = globaltype tau2 -> suffixes tau1 tau2 ->
  exists w, sequence (typed H) tau1 w tau2 /\ all is_slice (labels op_of w).
Proof.
have [n] := ubnP (size (axes tau2) - size (axes tau1)).
elim: n tau1 => // n IH tau1 lt w1 w2 eg sx; have er := rank_globaltype eg.
have u1 : uniq (axes tau1) by case/andP: w1.
have u2 : uniq (axes tau2) by case/andP: w2.
case: (boolP (all (fun i => dim_xs (nth no_dim tau2 i) == dim_xs (nth no_dim tau1 i)) (iota 0 (rank tau1)))).
  move/allP => h; exists [::]; split=> //=.
  apply: (@eq_nth _ no_dim) => // i lti.
  have ex : dim_xs (nth no_dim tau2 i) = dim_xs (nth no_dim tau1 i).
    by apply/eqP; apply: h; rewrite mem_iota.
  have es : dim_s (nth no_dim tau1 i) = dim_s (nth no_dim tau2 i) by rewrite -!nth_globaltype eg.
  have [c1 sub1 _ e1] := wf_dim_axes (wf_nth w1 lti).
  have [c2 _ _ e2] : [/\ 0 < dim_c (nth no_dim tau2 i), {subset dim_xs (nth no_dim tau2 i) <= names H},
      uniq (dim_xs (nth no_dim tau2 i)) & dim_c (nth no_dim tau2 i) * size_of_axes (dim_xs (nth no_dim tau2 i)) = dim_s (nth no_dim tau2 i)].
    by apply: wf_dim_axes; apply: wf_nth => //; rewrite -er.
  have ec : dim_c (nth no_dim tau1 i) = dim_c (nth no_dim tau2 i).
    apply/eqP; rewrite -(eqn_pmul2r (size_of_axes_pos wH sub1)) e1 es -e2 ex.
    by [].
  by move: ec ex es; case: (nth _ _ _) => a b c; case: (nth _ _ _) => a' b' c' /= -> -> ->.
case/allPn => i; rewrite mem_iota /= add0n => lti ne; have [zs ez] := sx i lti.
case/lastP: zs ez => [|zs x] ez; first by rewrite ez eqxx in ne.
have lti2 : i < rank tau2 by rewrite -er.
have [c1 sub1 _ e1] := wf_dim_axes (wf_nth w1 lti); have [c2 sub2 u2i e2] := wf_dim_axes (wf_nth w2 lti2).
have xz : x \in dim_xs (nth no_dim tau2 i) by rewrite ez mem_cat mem_rcons mem_head.
have xH : x \in names H by apply: sub2.
have xf : x \notin axes tau1.
  apply/negP => /axes_dim[j ltj xj]; have [zs' ez'] := sx j ltj.
  have xj2 : x \in dim_xs (nth no_dim tau2 j) by rewrite ez' mem_cat xj orbT.
  have eij : i = j by apply: (axes_once u2 _ _ xz xj2) => //; rewrite -er.
  subst j; move: u2i; rewrite ez cat_uniq => /and3P[_ /hasPn no _].
  by have := no x xj; rewrite /= mem_rcons mem_head.
have dv : k x %| dim_c (nth no_dim tau1 i).
  have es : dim_s (nth no_dim tau1 i) = dim_s (nth no_dim tau2 i) by rewrite -!nth_globaltype eg.
  have := size_of_axes_pos wH sub1; rewrite -e1 -e2 ez in es => p0.
  have : dim_c (nth no_dim tau1 i) = dim_c (nth no_dim tau2 i) * size_of_axes (rcons zs x).
    by apply/eqP; rewrite -(eqn_pmul2r p0) es size_of_axes_cat mulnA.
  move=> ->; rewrite -cats1 size_of_axes_cat size_of_axes_cons muln1 mulnA.
  exact: dvdn_mull.
pose d := nth no_dim tau1 i.
pose tau := upd tau1 i (Dim (dim_c d %/ k x) (x :: dim_xs d) (dim_s d)).
have ty : typed H (dynslice i x) tau1 tau.
  by rewrite /typed /apply wH w1 /= /t_dynslice lti xH xf dv.
have [_ _ wt gt] := typed_wf ty.
have pa : perm_eq (axes tau) (x :: axes tau1).
  have sx1 : {subset [:: x] <= names H} by move=> y; rewrite inE => /eqP->.
  have ux1 : uniq ([:: x] ++ axes tau1) by rewrite /= xf.
  have := wf_prepend w1 lti sx1 ux1; rewrite /points.size_of_axes /= muln1.
  by case=> //.
have sx' : suffixes tau tau2.
  move=> j; rewrite rank_upd => ltj; rewrite /tau nth_upd lti andbT.
  case: (altP (j =P i)) => [->|_] /=; last exact: sx.
  by exists zs; rewrite ez -cats1 -catA.
have [||w [sq sl]] := IH tau _ wt w2 _ sx'.
- have le : size (axes tau) <= size (axes tau2).
    apply: uniq_leq_size; first by case/andP: wt.
    by apply: suffixes_sub sx'; rewrite gt.
  have es : size (axes tau) = (size (axes tau1)).+1 by rewrite (perm_size pa).
  move: le lt; rewrite es; set m := size (axes tau1); set m2 := size (axes tau2).
  by move=> le; rewrite ltnS -subnSK.
- by rewrite gt.
by exists ((dynslice i x, tau) :: w); split.
Qed.

Variable D : finType.
Local Notation assignment := (assignment H D).
Local Notation phys_sequence g := (sequence (@phys_ok D g (leq 2))).
Local Notation phys_cost := (cost_of phys_op (@tilemap_size D)).

(* What costs nothing are dynslices.                                            *)
Lemma free_steps g s v s' : balanced g s -> phys_sequence g s v s' -> phys_cost s v = 0 ->
  all is_slice (labels phys_op v).
Proof.
elim: v s => [|[p s1] v IH] s //= bs [st sq]; rewrite cost_cons => /eqP; rewrite addn_eq0.
case/andP=> /eqP e0 /eqP ev; have bs1 : balanced g s1 by case: st => /phys_step_balanced.
rewrite (IH s1 bs1 sq ev) andbT.
have p0 := localtype_prod_pos (balanced_localtype bs).
have p1 := localtype_prod_pos (balanced_localtype bs1).
by case: p st e0 => [[i n|i n|i j n]|] //= _; rewrite /tilemap_size => e; rewrite ?e in p0 p1.
Qed.

Theorem S5_zero (f : device_map H D) tau1 tau2 : wf_type H tau1 -> wf_type H tau2 ->
  globaltype tau1 = globaltype tau2 ->
  (exists v, phys_sequence (globaltype tau1) (phys_of (Assignment f tau1)) v (phys_of (Assignment f tau2))
    /\ phys_cost (phys_of (Assignment f tau1)) v = 0) <-> suffixes tau1 tau2.
Proof.
move=> w1 w2 eg; set a1 := Assignment f tau1; set a2 := Assignment f tau2.
have bs := phys_balanced wH (a := a1) w1; rewrite /= in bs.
split=> [[v [sq e0]] i lti|sx]; last first.
  have [w [sq sl]] := S5_slices w1 w2 eg sx.
  elim: w tau1 w1 eg sq sl @a1 bs {sx} => [|[p tau] w IH] tau1 w1 eg /=.
    by move=> -> _ _; exists [::].
  case=> st sq /andP[ps sl] bs; have [_ _ wt gt] := typed_wf st.
  have bt := phys_balanced wH (a := Assignment f tau) wt.
  have [|v [sqv cv]] := IH tau wt _ sq sl bt; first by rewrite gt.
  have [_ _ ph] := low_sound wH (strong_low f st).
  exists ((low_label H (low_of tau1 p), phys_of (Assignment f tau)) :: v); split.
    split; last by rewrite -gt.
    split=> //; case: p st ps ph => [i|i x|i j|t] //= st _ [_ [/weak_step_factor]].
    by [].
  by rewrite cost_cons cv; case: p st ps {ph} => [i|i x|i j|t].
have er := rank_globaltype eg; have lti2 : i < rank tau2 by rewrite -er.
have sl := free_steps bs sq e0.
have np : ~~ has is_permute (labels phys_op v).
  by rewrite -all_predC; apply: sub_all sl => -[].
have l := lift_lowers np.
have sl' : all (fun q : weak * seq nat => is_slice (weak_op q.1)) (lift v).
  have := sl; rewrite (lowers_labels l) /labels all_map; exact.
have [c1 sub1 u1 e1] := wf_dim_axes (wf_nth w1 lti); have [c2 sub2 u2 e2] := wf_dim_axes (wf_nth w2 lti2).
apply: (suffix_of_rounding wH c1 c2 u1 u2 sub1 sub2).
  by rewrite e1 e2 -!nth_globaltype eg.
move=> c bc; have [p ep] := point_of (wf_mesh_uniq wH) bc.
have [/(congr1 (fun s => nth 0 s i)) e _] := run_up (phi f p) bs sq l sl'.
move: e; rewrite /= !ffunE /= phiK nth_up; last by rewrite size_tile_no.
rewrite !nth_tile_no !nth_localtype.
have o1 : offset H 1 (dim_xs (nth no_dim tau1 i)) (coordinate p) = offset H 1 (dim_xs (nth no_dim tau1 i)) c.
  by apply: offset_eq => x xd; apply: ep; apply: sub1.
have o2 : offset H 1 (dim_xs (nth no_dim tau2 i)) (coordinate p) = offset H 1 (dim_xs (nth no_dim tau2 i)) c.
  by apply: offset_eq => x xd; apply: ep; apply: sub2.
rewrite o1 o2 => e; rewrite (offset1 H (dim_c (nth no_dim tau1 i))) e (offset1 H (dim_c (nth no_dim tau2 i))).
by rewrite mulnC (mulnC (dim_c (nth no_dim tau2 i))).
Qed.

End S5.
