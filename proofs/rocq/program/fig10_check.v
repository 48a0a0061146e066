(* Fig. 10, decided: the relation of sec7_low_level.v as a function of lists.   *)
(*                                                                              *)
(* Where spec/paper/sec7_low_level.h decides it by lists of devices, so does    *)
(* this, so that both can be compared.  A device map is the list of phi^-1(d)   *)
(* by device, a point the list of its coordinates by axis.                      *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig06_syntax fig07_base_offsets fig08_typing def5_weak def6_devices.
Require Import fig10_low_level sec7_low_level fibres points base_offset_maps types.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Check.
Variable H : mesh.

Definition coordinate_of (p : seq nat) (x : name) : nat := nth 0 p (index x (names H)).
Definition tiles_of (ps : seq (seq nat)) (tau : type) : seq (seq nat) :=
  [seq base_offsets H tau (coordinate_of p) | p <- ps].

(* {ys,x,zs}: what stands before and behind the block x.                        *)
Definition before (x xs : seq name) : seq name := take (index (head 0 x) xs) xs.
Definition behind (x xs : seq name) : seq name := drop (index (head 0 x) xs + size x) xs.

Definition multi_check (p : multi) (ps : seq (seq nat)) (e : type) (ps'' : seq (seq nat)) (e'' : type) : bool :=
  [&& wf_mesh H, wf_type H e &
  match p with
  | multi_allgather i x =>
      let d := nth no_dim e i in
      let ys := before x (dim_xs d) in let zs := behind x (dim_xs d) in
      [&& i < rank e, x != [::], dim_xs d == ys ++ x ++ zs,
          tiles_of ps'' (upd e i (Dim (dim_c d) (x ++ ys ++ zs) (dim_s d))) == tiles_of ps e
        & e'' == upd e i (Dim (dim_c d * axes_size H x) (ys ++ zs) (dim_s d))]
  | multi_alltoall i j x =>
      let d := nth no_dim e i in let d' := nth no_dim e j in
      let ys := before x (dim_xs d) in let zs := behind x (dim_xs d) in
      [&& [&& i < rank e, j < rank e & i != j],
          (x != [::]) && (axes_size H x %| dim_c d'), dim_xs d == ys ++ x ++ zs,
          tiles_of ps'' (upd e i (Dim (dim_c d) (x ++ ys ++ zs) (dim_s d))) == tiles_of ps e
        & e'' == upd (upd e i (Dim (dim_c d * axes_size H x) (ys ++ zs) (dim_s d))) j
                     (Dim (dim_c d' %/ axes_size H x) (x ++ dim_xs d') (dim_s d'))]
  | multi_dynslice i x =>
      let d := nth no_dim e i in
      [&& i < rank e, x != [::], all (mem (names H)) x && uniq (x ++ axes e), ps'' == ps
        & (axes_size H x %| dim_c d) &&
          (e'' == upd e i (Dim (dim_c d %/ axes_size H x) (x ++ dim_xs d) (dim_s d)))]
  | multi_allpermute =>
      [&& wf_type H e'', globaltype e'' == globaltype e & perm_eq (tiles_of ps'' e'') (tiles_of ps e)]
  end].

(* ---- that it decides the relation ----                                       *)
Variable D : finType.
Implicit Types (a : assignment H D).

Definition points_of a : seq (seq nat) :=
  [seq [seq coordinate (phi_inv (map_of a) d) x | x <- names H] | d <- enum D].

Lemma coordinate_ofE (q : point H) : coordinate_of [seq coordinate q x | x <- names H] =1 coordinate q.
Proof.
move=> x; rewrite /coordinate_of; case xH: (x \in names H).
  by rewrite (nth_map 0) ?index_mem // nth_index.
rewrite nth_default; last by rewrite size_map memNindex ?xH.
by rewrite /coordinate memNindex ?xH // size_names insubN // ltnn.
Qed.

Lemma tiles_ofE a : tiles_of (points_of a) (type_of a) = [seq tile_map (beta a) d | d <- enum D].
Proof.
rewrite /tiles_of -map_comp; apply: eq_map => d /=.
rewrite /tile_map /= /base_offset_map /base_offsets; apply: eq_map => e.
by rewrite /base_offset; apply: offset_eq => x _; apply: coordinate_ofE.
Qed.

Lemma same_tilesP a b : (tiles_of (points_of a) (type_of a) == tiles_of (points_of b) (type_of b)) <-> same_tiles a b.
Proof.
rewrite !tiles_ofE; split=> [/eqP/eq_in_map e d|e]; first by apply: e; rewrite mem_enum.
by apply/eqP/eq_in_map => d _; apply: e.
Qed.

Lemma permutedP a b : perm_eq (tiles_of (points_of b) (type_of b)) (tiles_of (points_of a) (type_of a)) <->
  exists2 pi : D -> D, bijective pi & tile_map (beta b) =1 tile_map (beta a) \o pi.
Proof.
rewrite !tiles_ofE; split=> [p|[pi bpi e]].
  have [|pi [bpi e]] := @match_bijection D D _ (tile_map (beta b)) (tile_map (beta a)).
    by move=> t; move/permP/(_ (pred1 t)): p; rewrite !count_map_enum.
  by exists pi => // d; exact: esym (e d).
apply/allP => t _ /=; apply/eqP; rewrite !count_map_enum.
by apply: (bijection_fibres bpi) => d; exact: esym (e d).
Qed.

Lemma block_unique x xs ys zs : uniq xs -> x != [::] -> xs = ys ++ x ++ zs ->
  ys = before x xs /\ zs = behind x xs.
Proof.
move=> u; case: x => // y x _ e; have ny : y \notin ys.
  move: u; rewrite e cat_uniq => /and3P[_ /hasPn no _]; exact: (no y (mem_head _ _)).
have ei : index y xs = size ys by rewrite e index_cat (negPf ny) /= eqxx addn0.
by rewrite /before /behind ei e take_size_cat // catA drop_size_cat // size_cat.
Qed.

(* phi is compared as a function: that two records are one says no more.        *)
Definition same_map (f f' : device_map H D) : Prop := phi_inv f =1 phi_inv f'.

Lemma same_mapP a b : wf_mesh H -> (points_of b == points_of a) <-> same_map (map_of b) (map_of a).
Proof.
move=> /wf_mesh_uniq uH; split=> [/eqP/eq_in_map e d|e]; last by apply/eqP/eq_in_map => d _; rewrite e.
apply: (point_ext uH) => x xH; have := e d (mem_enum _ _).
by move=> /(congr1 (fun s => coordinate_of s x)); rewrite !coordinate_ofE.
Qed.

Theorem multi_check_sound p a a'' : multi_step p a a'' ->
  multi_check p (points_of a) (type_of a) (points_of a'') (type_of a'').
Proof.
case: a => f e; case: a'' => f'' e'' [/= wa]; case/andP: (wa) => /= wH we; rewrite /multi_check wH we /=.
have ud i : i < rank e -> uniq (dim_xs (nth no_dim e i)).
  by move=> lt; have [_ _ u _] := wf_dim_axes (wf_nth we lt).
case: p => [i x|i j x|i x|] /=.
- case=> ys [zs [lt x0 ex same ->]]; have [ey ez] := block_unique (ud i lt) x0 ex.
  rewrite -ey -ez lt x0 ex eqxx /=.
  by move/(same_tilesP (Assignment f'' (upd e i _)) (Assignment f e)): same => -> /=.
- case=> ys [zs [[lti ltj ij] [x0 dv] ex same ->]]; have [ey ez] := block_unique (ud i lti) x0 ex.
  rewrite -ey -ez lti ltj ij x0 dv ex eqxx /=.
  by move/(same_tilesP (Assignment f'' (upd e i _)) (Assignment f e)): same => -> /=.
- case=> lt x0 [sx ux] -> [dv ->]; rewrite lt x0 ux dv !eqxx /= !andbT.
  by apply/allP.
case=> /andP[_ /= we''] eg pi; rewrite we'' eg eqxx /=.
exact/(permutedP (Assignment f e) (Assignment f'' e'')).
Qed.

Theorem multi_check_complete p a a'' :
  multi_check p (points_of a) (type_of a) (points_of a'') (type_of a'') ->
  exists f, same_map (map_of a'') f /\ multi_step p a (Assignment f (type_of a'')).
Proof.
case: a => f e; case: a'' => f'' e''; rewrite /multi_check /= => /and3P[wH we].
have wa : is_assignment (Assignment f e) by rewrite /is_assignment wH.
case: p => [i x|i j x|i x|] /=.
- case/and5P=> lt x0 /eqP ex same /eqP ->; exists f''; split=> //; split=> //.
  exists (before x (dim_xs (nth no_dim e i))), (behind x (dim_xs (nth no_dim e i))); split=> //.
  exact/(same_tilesP (Assignment f'' (upd e i _)) (Assignment f e)).
- case/and5P=> /and3P[lti ltj ij] /andP[x0 dv] /eqP ex same /eqP ->; exists f''; split=> //; split=> //.
  exists (before x (dim_xs (nth no_dim e i))), (behind x (dim_xs (nth no_dim e i))); split=> //.
  exact/(same_tilesP (Assignment f'' (upd e i _)) (Assignment f e)).
- case/and5P=> lt x0 /andP[/allP sx ux] ep /andP[dv /eqP ->]; exists f; split; last by split.
  exact: (proj1 (same_mapP (Assignment f e) (Assignment f'' e) wH)).
case/and3P=> we'' /eqP eg pm; exists f''; split=> //; split=> //; split=> //.
  by rewrite /is_assignment wH.
exact: (proj1 (permutedP (Assignment f e) (Assignment f'' e''))).
Qed.

End Check.
