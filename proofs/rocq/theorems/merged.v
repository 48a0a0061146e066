(* S13 (a): a step along several dimensions is never dearer than the steps along *)
(* one dimension each that it takes the place of.                               *)
(*                                                                              *)
(* Steps in rows of one device do nothing and cost nothing; they are not among  *)
(* the steps that are merged.                                                   *)
From mathcomp Require Import all_ssreflect.
Require Import notation program meaning.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Merged.
Variables (D : nat) (V : Type) (total : seq V -> V).
Implicit Types (s : state V) (ms : seq move).

(* One step after the other: the state at the end, and what they cost.          *)
Definition after_all s ms : state V := foldl (after total) s ms.
Fixpoint price_of_all s ms : nat :=
  if ms is m :: ms' then price D total s m + price_of_all (after total s m) ms' else 0.

Definition gathers (m : move) : bool := if m is Allgather _ _ then true else false.
Definition exchanges (m : move) : bool := if m is Alltoall _ _ _ _ then true else false.

(* All devices hold tiles of the same shapes.                                   *)
Definition alike_shapes s s' : Prop := forall d, d < D -> shape (s d) = shape (s' d).

Lemma alike_largest s s' : alike_shapes s s' -> largest D s = largest D s'.
Proof. by move=> same_; apply: eq_bigr => d _; rewrite same_. Qed.

Lemma last_gather s ms : 0 < size ms -> all gathers ms -> all (moves D) ms ->
  largest D (after_all s ms) <= price_of_all s ms.
Proof.
elim: ms s => // m ms IH s _ /= /andP[gm gms] /andP[mm mms].
case: ms IH gms mms => [|m' ms] IH gms mms.
  by case: m gm mm => //= i t _ mm; rewrite /price /= mm addn0.
by apply: leq_trans (IH (after total s m) isT gms mms) _; exact: leq_addl.
Qed.

(* One allgather in the place of several, which leave tiles of the same shapes. *)
Theorem merged_allgathers s ms dims counts t (m := Allgather_dims dims counts t) :
  0 < size ms -> all gathers ms -> all (moves D) ms ->
  alike_shapes (after total s m) (after_all s ms) ->
  price D total s m <= price_of_all s ms.
Proof.
move=> some gms mms shapes; apply: leq_trans (last_gather s some gms mms).
by rewrite -(alike_largest shapes) /price; case: ifP.
Qed.

(* One alltoall in the place of several.                                        *)
Theorem merged_alltoalls s ms splits concats counts t :
  0 < size ms -> all exchanges ms -> all (moves D) ms ->
  price D total s (Alltoall_dims splits concats counts t) <= price_of_all s ms.
Proof.
case: ms => // m ms _ /= /andP[xm _] /andP[mm _].
apply: leq_trans (leq_addr _ _); rewrite {1}/price; case: ifP => // _.
by case: m xm mm => //= c j i t' _ mm; rewrite /price /= mm.
Qed.
End Merged.
