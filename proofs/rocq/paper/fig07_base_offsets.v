(* Where each device's tile begins, and which types are well-formed.            *)
(*                                                                              *)
(* Paper: Fig. 7, Sec. 4.1.  Errata: E2 (the base case is D[c{}s]), E3 (i <> j  *)
(* in both rules).                                                              *)
From mathcomp Require Import all_ssreflect.
Require Import notation fig06_syntax.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* i in |H|: a coordinate for each axis, by the place of the axis in H.         *)
Definition point (H : mesh) :=
  {dffun forall a : 'I_(size H), 'I_(nth 1 (unzip2 H) a)}.

(* i_x, the coordinate of axis x at i; 0 when H has no axis x.                  *)
Definition coordinate (H : mesh) (i : point H) (x : name) : nat :=
  if insub (index x (names H)) is Some a then i a : nat else 0.

(* D[c{}s](i)     = 0                                                           *)
(* D[c{x,xs}s](i) = c * i_x + D[(c * k){xs}s](i)   where x : k in H             *)
(* The coordinates come as a function i from names to numbers.                  *)
Fixpoint offset (H : mesh) (c : nat) (xs : seq name) (i : name -> nat) : nat :=
  if xs is x :: xs' then c * i x + offset H (c * axis_size H x) xs' i else 0.
Definition base_offset (H : mesh) (d : dim) (i : name -> nat) : nat :=
  offset H (dim_c d) (dim_xs d) i.

(* T[[d_0, ..]](i) = (D[d_0](i), ..)                                            *)
Definition base_offsets (H : mesh) (tau : type) (i : name -> nat) : seq nat :=
  [seq base_offset H d i | d <- tau].

(* T[tau] : |H| -> N^r                                                          *)
Definition base_offset_map (H : mesh) (tau : type) (i : point H) : seq nat :=
  base_offsets H tau (coordinate i).

(* WF-MESH (ours): axis names are pairwise distinct, sizes at least 2.          *)
Definition wf_mesh (H : mesh) : bool := uniq (names H) && all (leq 2) (unzip2 H).

(* Principle 1: every axis is prime.                                            *)
Definition prime_mesh (H : mesh) : bool := uniq (names H) && all prime (unzip2 H).

(* WF-DIM: x_i : k_i in H, x_i <> x_j for i <> j (E3), c * prod k_i = s; and    *)
(* c >= 1.                                                                      *)
Definition wf_dim (H : mesh) (d : dim) : bool :=
  [&& 0 < dim_c d, all (mem (names H)) (dim_xs d), uniq (dim_xs d)
    & dim_c d * prodn (map (axis_size H) (dim_xs d)) == dim_s d].

(* WF-TYPE: H |- d_i, and xs_i, xs_j disjoint for i <> j (E3).                  *)
Definition wf_type (H : mesh) (tau : type) : bool :=
  all (wf_dim H) tau && uniq (axes tau).
