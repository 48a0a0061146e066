(* The cost of collectives: elements that one device receives, own elements     *)
(* counted as received.                                                         *)
(*                                                                              *)
(* Paper: Fig. 11, Appendix B.  The same for ->, |> and =>, and verbatim for    *)
(* several axes (Sec. 7.1).                                                     *)
From mathcomp Require Import all_ssreflect.
Require Import notation.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* The step tau_1 -p-> tau_2, from the two localsizes.                          *)
Definition step_cost (p : op) (localsize_1 localsize_2 : nat) : nat :=
  match p with
  | Allpermute => localsize_1
  | Dynslice => 0
  | Allgather => localsize_2
  | Alltoall => localsize_1
  end.
