(* Sequences of collectives: height, normal form, the memory bound, cost.       *)
(*                                                                              *)
(* Paper: Defs. 4.4, 4.5, eq. (4), Fig. 11.  They speak of labels and           *)
(* localsizes only, so they are said once for ->, |> and =>.                    *)
From mathcomp Require Import all_ssreflect.
Require Import notation fig11_cost.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* Def. 4.4: the largest of localsize(sigma_0), .., localsize(sigma_n).         *)
Definition height (localsizes : seq nat) : nat := foldr maxn 0 localsizes.

(* The least of them (ours): where a permutation is cheapest.                   *)
Fixpoint valley (localsizes : seq nat) : nat :=
  match localsizes with
  | [::] => 0
  | [:: l] => l
  | l :: ls => minn l (valley ls)
  end.

(* Eq. (4): height <= max(localsize(sigma_0), localsize(sigma_n)).              *)
Definition memory_constrained (localsizes : seq nat) : bool :=
  height localsizes <= maxn (head 0 localsizes) (last 0 localsizes).

(* Def. 4.5: the labels match dynslice* (alltoall | allpermute)* allgather*.    *)
Definition is_gather (p : op) : bool := if p is Allgather then true else false.
Definition is_slice (p : op) : bool := if p is Dynslice then true else false.
Definition is_flat (p : op) : bool :=
  match p with Alltoall | Allpermute => true | _ => false end.
Fixpoint skip_while (a : pred op) (p : seq op) : seq op :=
  if p is q :: p' then if a q then skip_while a p' else p else [::].
Definition normal_form (p : seq op) : bool :=
  nilp (skip_while is_gather (skip_while is_flat (skip_while is_slice p))).

(* Fig. 11: the sum over the steps, from n labels and n + 1 localsizes.         *)
Fixpoint cost (p : seq op) (localsizes : seq nat) : nat :=
  match p, localsizes with
  | q :: p', l :: ((l' :: _) as ls) => step_cost q l l' + cost p' ls
  | _, _ => 0
  end.

(* Sequences s -p_0-> s_1 -p_1-> .. of any kind of step: a list of the labels,  *)
(* each with the state behind it.                                               *)
Section Sequence.
Variables (S P : Type) (step : P -> S -> S -> Prop) (op_of : P -> op) (localsize : S -> nat).

Fixpoint sequence (s : S) (w : seq (P * S)) (t : S) : Prop :=
  if w is (p, s') :: w' then step p s s' /\ sequence s' w' t else s = t.

Definition labels (w : seq (P * S)) : seq op := map (fun q => op_of q.1) w.
Definition sizes_of (s : S) (w : seq (P * S)) : seq nat :=
  localsize s :: map (fun q => localsize q.2) w.
Definition cost_of (s : S) (w : seq (P * S)) : nat := cost (labels w) (sizes_of s w).
Definition height_of (s : S) (w : seq (P * S)) : nat := height (sizes_of s w).
Definition valley_of (s : S) (w : seq (P * S)) : nat := valley (sizes_of s w).

End Sequence.
