(* Meshes, distributed types and the functions that read them.                  *)
(*                                                                              *)
(* Paper: Fig. 6.  Errata: E1 (dimensions are numbered from 0; rank 0 exists).  *)
From mathcomp Require Import all_ssreflect.
Require Import notation.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* alpha ::= x : k          H ::= {alpha_1, .., alpha_m}                        *)
Definition axis := (name * nat)%type.
Definition mesh := seq axis.

(* d, e ::= c{xs}s, the axes minor to major                                     *)
Record dim := Dim { dim_c : nat; dim_xs : seq name; dim_s : nat }.

Definition dim_key (d : dim) := (dim_c d, dim_xs d, dim_s d).
Definition key_dim (k : nat * seq name * nat) := let: (c, xs, s) := k in Dim c xs s.
Lemma dim_keyK : cancel dim_key key_dim.
Proof. by case. Qed.
Definition dim_eqMixin := CanEqMixin dim_keyK.
Canonical dim_eqType := Eval hnf in EqType dim dim_eqMixin.

(* What stands in a type where there is no dimension: never looked at.          *)
Definition no_dim := Dim 0 [::] 0.

(* tau, sigma ::= [d_0, .., d_{r-1}]                                            *)
Definition type := seq dim.

(* The names of the axes of H, and n with x : n in H (1 where H has no axis x). *)
Definition names (H : mesh) : seq name := unzip1 H.
Definition axis_size (H : mesh) (x : name) : nat := nth 1 (unzip2 H) (index x (names H)).

(* axes(tau) = U xs_i, dimension by dimension.                                  *)
Definition axes (tau : type) : seq name := flatten (map dim_xs tau).

Definition rank (tau : type) : nat := size tau.
Definition globaltype (tau : type) : seq nat := map dim_s tau.
Definition localtype (tau : type) : seq nat := map dim_c tau.
Definition globalsize (tau : type) : nat := prodn (globaltype tau).
Definition localsize (tau : type) : nat := prodn (localtype tau).

(* delta(H) = prod k, the number of devices.                                    *)
Definition device_count (H : mesh) : nat := prodn (unzip2 H).
