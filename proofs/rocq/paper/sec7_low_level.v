(* The rules of Fig. 8 and Fig. 10 over a list of axes at once.                 *)
(*                                                                              *)
(* Paper: Sec. 7.1, which replaces the axis x by axes xs'.  In ALLGATHER and    *)
(* ALLTOALL xs' is a block {ys,xs',zs} that moves to the front as it stands; in *)
(* DYNSLICE it comes to stand in front.  n is the product of the sizes.  Errata *)
(* as in fig10_low_level.v.  With a list of one axis these are the rules of     *)
(* Fig. 10 (low_step_single).                                                   *)
From mathcomp Require Import all_ssreflect.
Require Import notation fig06_syntax fig07_base_offsets fig08_typing def5_weak def6_devices.
Require Import fig10_low_level.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Inductive multi :=
  | multi_allgather of nat & seq name       (* allgather(xs'), xs' in dimension i    *)
  | multi_alltoall of nat & nat & seq name  (* alltoall(xs', j), xs' in dimension i  *)
  | multi_dynslice of nat & seq name        (* dynslice(i, xs')                      *)
  | multi_allpermute.                       (* allpermute                            *)

Definition multi_op (p : multi) : op :=
  match p with
  | multi_allgather _ _ => Allgather
  | multi_alltoall _ _ _ => Alltoall
  | multi_dynslice _ _ => Dynslice
  | multi_allpermute => Allpermute
  end.

(* A step over one axis as a step over a list.                                  *)
Definition single (p : low) : multi :=
  match p with
  | low_allgather i x => multi_allgather i [:: x]
  | low_alltoall i j x => multi_alltoall i j [:: x]
  | low_dynslice i x => multi_dynslice i [:: x]
  | low_allpermute => multi_allpermute
  end.

Section Multi.
Variables (H : mesh) (D : finType).
Local Notation assignment := (assignment H D).

(* The product of the sizes of the axes.                                        *)
Definition axes_size (xs : seq name) : nat := prodn (map (axis_size H) xs).

Definition multi_step (p : multi) (a a'' : assignment) : Prop :=
  let e := type_of a in
  is_assignment a /\
  match p with
  | multi_allgather i x =>
      (* e_i = c_i{ys,x,zs}s_i, e'_i = c_i{x,ys,zs}s_i, e''_i = (c_i * n){ys,zs}s_i *)
      exists ys zs, let d := nth no_dim e i in
      [/\ i < rank e, x != [::], dim_xs d = ys ++ x ++ zs,
          same_tiles (Assignment (map_of a'') (upd e i (Dim (dim_c d) (x ++ ys ++ zs) (dim_s d)))) a
        & type_of a'' = upd e i (Dim (dim_c d * axes_size x) (ys ++ zs) (dim_s d))]
  | multi_alltoall i j x =>
      exists ys zs, let d := nth no_dim e i in let d' := nth no_dim e j in
      [/\ [/\ i < rank e, j < rank e & i != j],
          x != [::] /\ axes_size x %| dim_c d', dim_xs d = ys ++ x ++ zs,
          same_tiles (Assignment (map_of a'') (upd e i (Dim (dim_c d) (x ++ ys ++ zs) (dim_s d)))) a
        & type_of a'' = upd (upd e i (Dim (dim_c d * axes_size x) (ys ++ zs) (dim_s d))) j
                            (Dim (dim_c d' %/ axes_size x) (x ++ dim_xs d') (dim_s d'))]
  | multi_dynslice i x =>
      let d := nth no_dim e i in
      [/\ i < rank e, x != [::], {subset x <= names H} /\ uniq (x ++ axes e),
          map_of a'' = map_of a
        & axes_size x %| dim_c d /\
          type_of a'' = upd e i (Dim (dim_c d %/ axes_size x) (x ++ dim_xs d) (dim_s d))]
  | multi_allpermute =>
      [/\ is_assignment a'', globaltype (type_of a'') = globaltype e
        & exists2 pi : D -> D, bijective pi & tile_map (beta a'') =1 tile_map (beta a) \o pi]
  end.

End Multi.
