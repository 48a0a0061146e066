(* What base offset maps are: their images, and that T is injective and         *)
(* balanced.                                                                    *)
(*                                                                              *)
(* Paper: Lemmas 4.1, 4.2 (E7), 5.1; the injectivity that Def. 4.3 needs (E6).  *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig06_syntax fig07_base_offsets def5_weak def6_devices fig10_low_level.
Require Import vectors weak_steps fibres tiles points.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Maps.
Variable H : mesh.
Local Notation k := (axis_size H).
Local Notation "'offset'" := (offset H).
Local Notation size_of_axes := (size_of_axes H).
Local Notation bounded := (bounded H).
Implicit Types (tau : type) (d : dim) (i j : name -> nat).

Lemma wf_mesh_uniq : wf_mesh H -> uniq (names H).
Proof. by case/andP. Qed.

Lemma wf_mesh_size x : wf_mesh H -> x \in names H -> 1 < k x.
Proof.
case/andP=> _ /(all_nthP 1) a2 xH; rewrite /axis_size; apply: a2.
by rewrite size_map -(size_map fst) index_mem.
Qed.

Lemma prime_mesh_wf : prime_mesh H -> wf_mesh H.
Proof. by case/andP=> u a; rewrite /wf_mesh u; apply: sub_all a => p /prime_gt1. Qed.

Lemma prime_mesh_size x : prime_mesh H -> x \in names H -> prime (k x).
Proof.
case/andP=> _ /(all_nthP 1) a2 xH; rewrite /axis_size; apply: a2.
by rewrite size_map -(size_map fst) index_mem.
Qed.

Lemma wf_dim_axes d : wf_dim H d -> [/\ 0 < dim_c d, {subset dim_xs d <= names H}, uniq (dim_xs d)
  & dim_c d * size_of_axes (dim_xs d) = dim_s d].
Proof. by case/and4P=> c0 /allP sub u /eqP. Qed.

Lemma wf_type_dim tau d : wf_type H tau -> d \in tau -> wf_dim H d.
Proof. by case/andP=> /allP h _ /h. Qed.

Lemma wf_type_cons d tau : wf_type H (d :: tau) ->
  [/\ wf_dim H d, wf_type H tau & forall x, x \in dim_xs d -> x \notin axes tau].
Proof.
case/andP=> /= /andP[wd wt]; rewrite /axes /= cat_uniq => /and3P[_ /hasPn no u].
by rewrite /wf_type wt u; split=> // x xd; apply: contraL xd => /no.
Qed.

Lemma axes_names tau : wf_type H tau -> {subset axes tau <= names H}.
Proof.
move=> wt x /flattenP[xs /mapP[d dt ->] xd].
by have [_ sub _ _] := wf_dim_axes (wf_type_dim wt dt); apply: sub.
Qed.

Lemma size_of_axes_pos xs : wf_mesh H -> {subset xs <= names H} -> 0 < size_of_axes xs.
Proof.
move=> wH; elim: xs => // x xs IH sub; rewrite size_of_axes_cons muln_gt0 IH => [|y yx].
  by rewrite andbT ltnW // wf_mesh_size // sub // mem_head.
by rewrite sub // inE yx orbT.
Qed.

(* ---- Lemma 4.1 ----                                                          *)
(* The image of D[c{xs}s] consists of all multiples of c below s.               *)
Theorem lemma_4_1 d o : wf_mesh H -> wf_dim H d ->
  (exists p : point H, base_offset H d (coordinate p) = o) <-> (dim_c d %| o /\ o < dim_s d).
Proof.
move=> wH /wf_dim_axes[c0 sub u es]; rewrite /base_offset; split.
  case=> p <-; rewrite offset1 dvdn_mulr // -es ltn_mul2l c0.
  by split=> //; apply: offset_lt; apply: bounded_point sub; apply: wf_mesh_uniq.
case=> /dvdnP[v ->]; rewrite -es mulnC ltn_mul2l c0 /= => lt.
have [i [b ei]] := offset_surj u lt.
have [|p ep] := @point_of H (wf_mesh_uniq wH) (fun x => if x \in dim_xs d then i x else 0).
  by move=> x xH; case: ifP => [/b//|_]; rewrite ltnW // wf_mesh_size.
exists p; rewrite offset1 (@offset_eq H 1 _ _ i) ?ei // => x xd.
by rewrite ep ?xd // sub.
Qed.

(* ---- tile numbers: T[tau] in units of the tile ----                          *)
Definition tile_no tau i : seq nat := [seq offset 1 (dim_xs d) i | d <- tau].

Lemma base_offsetsE tau i :
  base_offsets H tau i = [seq p.1 * p.2 | p <- zip (localtype tau) (tile_no tau i)].
Proof. by elim: tau => //= d tau ->; rewrite /base_offset offset1. Qed.

Lemma size_tile_no tau i : size (tile_no tau i) = rank tau.
Proof. exact: size_map. Qed.

Lemma same_offsets tau1 tau2 i j : wf_type H tau1 -> localtype tau1 = localtype tau2 ->
  base_offsets H tau1 i = base_offsets H tau2 j <-> tile_no tau1 i = tile_no tau2 j.
Proof.
rewrite !base_offsetsE; elim: tau1 tau2 => [|d t1 IH] [|e t2] //= /wf_type_cons[wd wt _] [ec et].
have [c0 _ _ _] := wf_dim_axes wd; rewrite -ec; split=> [[/eqP]|[-> /IH-> //]].
by rewrite eqn_pmul2l // => /eqP-> /IH->.
Qed.

Lemma tile_no_eq tau i j : {in axes tau, i =1 j} -> tile_no tau i = tile_no tau j.
Proof.
elim: tau => //= d tau IH e; rewrite (@offset_eq H 1 _ i j) ?IH // => x xd; apply: e;
  by rewrite /axes /= mem_cat xd ?orbT.
Qed.

Lemma tile_no_inj tau i j : bounded (axes tau) i -> bounded (axes tau) j ->
  tile_no tau i = tile_no tau j -> {in axes tau, i =1 j}.
Proof.
elim: tau => //= d tau IH bi bj [eo et] x; rewrite /axes /= mem_cat => /orP[xd|xt].
  apply: (offset_inj _ _ eo) xd => y yd; [apply: bi|apply: bj]; by rewrite /axes /= mem_cat yd.
apply: (IH _ _ et x xt) => y yt; [apply: bi|apply: bj]; by rewrite /axes /= mem_cat yt orbT.
Qed.

Lemma tile_counts_type tau : wf_type H tau ->
  tile_counts (globaltype tau) (localtype tau) = [seq size_of_axes (dim_xs d) | d <- tau].
Proof.
elim: tau => // d tau IH /wf_type_cons[wd wt _]; rewrite /= -IH //; congr cons.
by have [c0 _ _ <-] := wf_dim_axes wd; rewrite mulKn.
Qed.

Lemma tiles_of_axes tau : wf_type H tau ->
  prodn (tile_counts (globaltype tau) (localtype tau)) = size_of_axes (axes tau).
Proof.
move=> wt; rewrite tile_counts_type //; elim: tau {wt} => //= d tau IH.
by rewrite /axes /= size_of_axes_cat IH.
Qed.

Lemma is_tile_no tau i : wf_type H tau -> bounded (axes tau) i ->
  is_tile (tile_counts (globaltype tau) (localtype tau)) (tile_no tau i).
Proof.
move=> wt; rewrite tile_counts_type //; elim: tau wt => //= d tau IH /wf_type_cons[wd wt _] b.
rewrite /is_tile /= offset_lt => [|x xd]; last by apply: b; rewrite /axes /= mem_cat xd.
by apply: IH => // x xt; apply: b; rewrite /axes /= mem_cat xt orbT.
Qed.

Lemma tile_no_surj tau t : wf_type H tau ->
  is_tile (tile_counts (globaltype tau) (localtype tau)) t ->
  exists i, bounded (axes tau) i /\ tile_no tau i = t.
Proof.
move=> wt; rewrite tile_counts_type //; elim: tau t wt => [|d tau IH] [|v t] //=.
  by move=> _ _; exists (fun=> 0).
case/wf_type_cons=> wd wt dis; rewrite /is_tile /= => /andP[lt it].
have [_ sub u es] := wf_dim_axes wd; have [i [bi ei]] := offset_surj u lt.
have [j [bj ej]] := IH t wt it.
exists (fun x => if x \in dim_xs d then i x else j x); split=> [x|].
  by rewrite /axes /= mem_cat; case: ifP => [/bi//|_ /= /bj].
rewrite (@offset_eq H 1 _ _ i) => [|x ->//].
rewrite ei (@tile_no_eq tau _ j) ?ej // => x xt.
by case: ifP => // /dis; rewrite xt.
Qed.

Lemma point_on tau i : wf_mesh H -> wf_type H tau -> bounded (axes tau) i ->
  exists p : point H, {in axes tau, coordinate p =1 i}.
Proof.
move=> wH wt b.
have [|p ep] := @point_of H (wf_mesh_uniq wH) (fun x => if x \in axes tau then i x else 0).
  by move=> x xH; case: ifP => [/b//|_]; rewrite ltnW // wf_mesh_size.
by exists p => x xt; rewrite ep ?xt // (axes_names wt).
Qed.

Lemma bounded_axes tau (p : point H) : wf_mesh H -> wf_type H tau ->
  bounded (axes tau) (coordinate p).
Proof. by move=> wH wt; apply: bounded_point (axes_names wt); apply: wf_mesh_uniq. Qed.

(* ---- Lemma 4.2, repaired (E7) ----                                           *)
(* The image of T[tau] consists of the offsets o whose entries are multiples of *)
(* the tile sizes and componentwise below globaltype(tau).                      *)
Theorem lemma_4_2 tau o : wf_mesh H -> wf_type H tau ->
  (exists p : point H, base_offset_map tau p = o) <->
  size o = rank tau /\
  forall n, n < rank tau -> nth 0 (localtype tau) n %| nth 0 o n /\ nth 0 o n < nth 0 (globaltype tau) n.
Proof.
move=> wH wt; split=> [[p <-]|[zo h]].
  rewrite /base_offset_map /base_offsets size_map; split=> // n nr.
  rewrite !(nth_map no_dim) //; apply/lemma_4_1 => //; last by exists p.
  by apply: wf_type_dim wt _; apply: mem_nth.
pose t := [seq p.2 %/ p.1 | p <- zip (localtype tau) o].
have zl : size (localtype tau) = rank tau by rewrite size_map.
have zt : size t = rank tau by rewrite size_map size_zip zl zo minnn.
have nt n : n < rank tau -> nth 0 t n = nth 0 o n %/ nth 0 (localtype tau) n.
  by move=> nr; rewrite (nth_map (0, 0)) ?size_zip ?zl ?zo ?minnn // nth_zip // zl zo.
have [|i [b ei]] := @tile_no_surj tau t wt.
  rewrite tile_counts_type //; apply/is_tileP; rewrite size_map; split=> // n nr.
  have [dv lt] := h n nr; have wd : wf_dim H (nth no_dim tau n) by apply: wf_type_dim wt (mem_nth _ _).
  have [c0 _ _ es] := wf_dim_axes wd; rewrite nt // (nth_map no_dim) // ltn_divLR //.
    by rewrite (nth_map no_dim) // -es (nth_map no_dim) // mulnC in lt *.
  by rewrite (nth_map no_dim).
have [p ep] := point_on wH wt b; exists p.
rewrite /base_offset_map base_offsetsE (tile_no_eq ep) ei.
apply: (@eq_nth _ 0) => [|n]; rewrite size_map size_zip zl zt minnn // => nr.
rewrite (nth_map (0, 0)) ?size_zip ?zl ?zt ?minnn // nth_zip ?zl ?zt //= nt //.
by rewrite mulnC divnK //; have [] := h n nr.
Qed.

(* ---- every tile is held by equally many devices ----                         *)
Theorem T_balanced tau t : wf_mesh H -> wf_type H tau ->
  is_tile (tile_counts (globaltype tau) (localtype tau)) t ->
  #|[pred p : point H | tile_no tau (coordinate p) == t]| =
  device_count H %/ prodn (tile_counts (globaltype tau) (localtype tau)).
Proof.
move=> wH wt it; have [i [b ei]] := tile_no_surj wt it; rewrite tiles_of_axes //.
have sub := axes_names wt; have u : uniq (axes tau) by case/andP: wt.
have := card_points (wf_mesh_uniq wH) u sub b; set n := #|_| => en.
rewrite -en mulnK ?size_of_axes_pos //; apply: eq_card => p; rewrite !inE -ei.
apply/eqP/allP => [e x xt|e]; first by apply/eqP; apply: (tile_no_inj _ b e) => //; apply: bounded_axes.
by apply: tile_no_eq => x xt; apply/eqP; apply: e.
Qed.

Lemma tiles_dvd_devices tau : wf_mesh H -> wf_type H tau ->
  prodn (tile_counts (globaltype tau) (localtype tau)) %| device_count H.
Proof.
move=> wH wt; have u : uniq (axes tau) by case/andP: wt.
rewrite tiles_of_axes // -(@card_points H (wf_mesh_uniq wH) _ (fun=> 0) u (axes_names wt)).
  exact: dvdn_mull.
by move=> x xt; rewrite ltnW // wf_mesh_size // (axes_names wt).
Qed.

Lemma wf_localtype tau : wf_mesh H -> wf_type H tau ->
  is_localtype (device_count H) (globaltype tau) (localtype tau).
Proof.
move=> wH wt; rewrite /is_localtype tiles_dvd_devices // andbT; apply/and3P; split.
- apply/allP => _ /mapP[d dt ->]; have [c0 sub _ <-] := wf_dim_axes (wf_type_dim wt dt).
  by rewrite muln_gt0 c0 size_of_axes_pos.
- by apply/allP => _ /mapP[d dt ->]; have [] := wf_dim_axes (wf_type_dim wt dt).
elim: tau wt => //= d tau IH /wf_type_cons[wd wt _]; rewrite /divides /= -/(divides _ _) IH // andbT.
by have [_ _ _ <-] := wf_dim_axes wd; apply: dvdn_mulr.
Qed.

(* ---- Lemma 5.1 ----                                                          *)
Theorem lemma_5_1 tau1 tau2 : wf_mesh H -> wf_type H tau1 -> wf_type H tau2 ->
  globaltype tau1 = globaltype tau2 -> localtype tau1 = localtype tau2 ->
  exists2 pi : point H -> point H, bijective pi &
    @base_offset_map H tau2 =1 @base_offset_map H tau1 \o pi.
Proof.
move=> wH w1 w2 eg el.
have [|pi [bpi e]] := @match_bijection _ _ _ (fun p : point H => tile_no tau2 (coordinate p))
    (fun p : point H => tile_no tau1 (coordinate p)).
  move=> t; case it: (is_tile (tile_counts (globaltype tau1) (localtype tau1)) t).
    by rewrite (T_balanced wH w1 it) T_balanced // -eg -el.
  rewrite !eq_card0 // => p; rewrite !inE; apply: contraFF it => /eqP <-.
    by apply: is_tile_no => //; apply: bounded_axes.
  by rewrite eg el; apply: is_tile_no => //; apply: bounded_axes.
exists pi => // p; rewrite /= /base_offset_map; apply/(same_offsets _ _ w2) => //.
Qed.

End Maps.
