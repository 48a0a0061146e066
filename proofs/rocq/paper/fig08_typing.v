(* The typing rules of the collectives, and what they mean for base offset maps.*)
(*                                                                              *)
(* Paper: Fig. 8, Def. 4.3.  Errata: E4 (i <> j in T-ALLTOALL), E5 (T-PERMUTE   *)
(* needs equal globaltypes).  The rules say how a type changes; that the types  *)
(* are well-formed is said once, in `apply`.                                    *)
From mathcomp Require Import all_ssreflect.
Require Import notation fig06_syntax fig07_base_offsets.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* p with its parameters.                                                       *)
Inductive collective :=
  | allgather of nat              (* allgather(i)          *)
  | dynslice of nat & name        (* dynslice(i, x)        *)
  | alltoall of nat & nat         (* alltoall(i, j)        *)
  | allpermute of type.           (* allpermute to a type  *)

Definition op_of (p : collective) : op :=
  match p with
  | allgather _ => Allgather
  | dynslice _ _ => Dynslice
  | alltoall _ _ => Alltoall
  | allpermute _ => Allpermute
  end.

Section Rules.
Variable H : mesh.

(* T-ALLGATHER: .. c_i{x,xs}s_i ..  ->  .. (c_i * n){xs}s_i ..   with x : n in H *)
Definition t_allgather (i : nat) (e : type) : option type :=
  if i < rank e then
    let d := nth no_dim e i in
    if dim_xs d is x :: xs then
      if x \in names H then
        Some (upd e i (Dim (dim_c d * axis_size H x) xs (dim_s d)))
      else None
    else None
  else None.

(* T-DYNSLICE: .. (c_i * n){xs}s_i ..  ->  .. c_i{x,xs}s_i ..                   *)
(* with x : n in H and x not in axes(e)                                         *)
Definition t_dynslice (i : nat) (x : name) (e : type) : option type :=
  if i < rank e then
    let d := nth no_dim e i in
    if [&& x \in names H, x \notin axes e & axis_size H x %| dim_c d] then
      Some (upd e i (Dim (dim_c d %/ axis_size H x) (x :: dim_xs d) (dim_s d)))
    else None
  else None.

(* T-ALLTOALL: e_i = c_i{x,xs_i}s_i, e_j = c_j{xs_j}s_j  ->                     *)
(* e'_i = (c_i * n){xs_i}s_i, e'_j = (c_j div n){x,xs_j}s_j                     *)
(* with x : n in H, c_j mod n = 0 and i <> j (E4)                               *)
Definition t_alltoall (i j : nat) (e : type) : option type :=
  if [&& i < rank e, j < rank e & i != j] then
    let d := nth no_dim e i in
    let d' := nth no_dim e j in
    if dim_xs d is x :: xs then
      if (x \in names H) && (axis_size H x %| dim_c d') then
        Some (upd (upd e i (Dim (dim_c d * axis_size H x) xs (dim_s d))) j
                  (Dim (dim_c d' %/ axis_size H x) (x :: dim_xs d') (dim_s d')))
      else None
    else None
  else None.

(* T-PERMUTE: equal localtypes and equal globaltypes (E5).                      *)
Definition t_permute (tau1 tau2 : type) : bool :=
  (globaltype tau1 == globaltype tau2) && (localtype tau1 == localtype tau2).

(* H |- p : tau -> sigma, both well-formed, as a function of p and tau.         *)
Definition apply (p : collective) (tau : type) : option type :=
  if wf_mesh H && wf_type H tau then
    match p with
    | allgather i => t_allgather i tau
    | dynslice i x => t_dynslice i x tau
    | alltoall i j => t_alltoall i j tau
    | allpermute sigma =>
        if wf_type H sigma && t_permute tau sigma then Some sigma else None
    end
  else None.

Definition typed (p : collective) (tau sigma : type) : Prop := apply p tau = Some sigma.

(* Def. 4.3: T[tau] -p-> T[sigma] iff H |- p : tau -> sigma, as a relation on   *)
(* base offset maps.  The globaltype g is fixed (E6).                           *)
Definition strong_step (g : seq nat) (p : collective) (b b' : point H -> seq nat) : Prop :=
  exists tau sigma, [/\ globaltype tau = g, globaltype sigma = g, typed p tau sigma,
    b =1 @base_offset_map H tau & b' =1 @base_offset_map H sigma].

End Rules.
