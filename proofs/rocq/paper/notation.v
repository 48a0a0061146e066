(* Sizes, labels and vectors: what all files of this folder share.              *)
(*                                                                              *)
(* Conventions (the paper's letters, as in spec/paper/notation.h):              *)
(*   H        mesh, a list of axes            x, y, z  axis names   k, n  sizes *)
(*   c{xs}s   dimension: tile size c, axes xs minor to major, global size s     *)
(*   tau, sigma, e  types; e_i is dimension i        i  a point of |H|          *)
(*   p        collective                             D  devices                 *)
(*   beta, phi, f  base offset map, device map, tile map f = beta o phi^-1      *)
(*                                                                              *)
(* Sizes are natural numbers without a bound.  Nothing here is a theorem about  *)
(* the paper.                                                                   *)
From mathcomp Require Import all_ssreflect.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* The name of an axis.  Only whether two names are equal matters.              *)
Definition name := nat.

(* The four labels of Sec. 2.6.                                                 *)
Inductive op := Allgather | Dynslice | Alltoall | Allpermute.

(* The product of a list of sizes, 1 for none.                                  *)
Definition prodn (s : seq nat) : nat := foldr muln 1 s.

(* e[i |-> v]: the list with entry i replaced; no change when there is none.    *)
Fixpoint upd (T : Type) (s : seq T) (i : nat) (v : T) : seq T :=
  match s, i with
  | [::], _ => [::]
  | _ :: s', 0 => v :: s'
  | w :: s', i'.+1 => w :: upd s' i' v
  end.

(* t divides every entry of s, entry by entry (lists of one length).            *)
Definition divides (t s : seq nat) : bool := all2 dvdn t s.
