(* What a sceptic asks who knows the theorems and docs/reference/program.md.    *)
(*                                                                              *)
(* A definition of `right` that is vacuous, or that forgets a rule of the page, *)
(* gives another answer to one of these.  Coq computes each: `right` by what    *)
(* check_sound_and_complete makes of it.                                        *)
From mathcomp Require Import all_ssreflect.
Require Import notation program meaning check reader certificate check_correct.
Require certify.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Lemma is_right P : known_program P -> first_wrong (check P) = None -> right P.
Proof. by move=> kn ok; apply/(check_sound_and_complete kn). Qed.
Lemma is_wrong P k r : known_program P -> first_wrong (check P) = Some (k, r) -> wrong P k r /\ ~ right P.
Proof.
move=> kn no; split; first exact/(check_first_wrong k r kn).
by move/(check_sound_and_complete kn); rewrite no.
Qed.
Ltac yes := by apply: is_right.
Ltac no := by apply: is_wrong.

(* Two devices, and an array of 4: [4], [2{1:2}4] and [2@..] over both.         *)
Definition dim4 (C : cuts) (xs : seq digit) : dim := Dim C xs 4 0 0.
Definition both : seq digit := [:: Digit 1 2].
Definition whole4 : tiling := Grid [:: dim4 (Blocks 4) [::]] 2 None None.
Definition halves4 : tiling := Grid [:: dim4 (Blocks 2) both] 2 None None.
Definition dealt4 : tiling := Grid [:: dim4 (Dealt 1) both] 2 None None.
Definition halo4 : tiling := Grid [:: Dim (Blocks 2) both 4 1 1] 2 None None.
Definition sum4 (a : addition) : tiling := Grid [:: dim4 (Blocks 4) [::]] 2 None (Some (a, both)).
Definition do_ (m : move) : step := Step m None None None None.
Definition rows2 (r : seq nat) : table := Rows [:: r].
Definition prog (F T : tiling) (sts : seq step) : program := Program 2 F T sts.
Definition gather_ : move := Allgather 0 (rows2 [:: 0; 1]).
Definition slice_ : move := Dynslice Equal 0 (rows2 [:: 0; 1]).

(* 1. Is doing nothing right where nothing is asked, and only there?            *)
Example q1 : right (prog halves4 halves4 [::]). Proof. yes. Qed.
Example q1' : let P := prog halves4 whole4 [::] in wrong P 0 End /\ ~ right P. Proof. no. Qed.
(* 2. Does it matter in which order devices stand in a row?                     *)
Example q2 : right (prog halves4 whole4 [:: do_ gather_]). Proof. yes. Qed.
Example q2' : let P := prog halves4 whole4 [:: do_ (Allgather 0 (rows2 [:: 1; 0]))] in wrong P 0 Not_a_box /\ ~ right P.
Proof. no. Qed.
(* 3. Is every device looked at?  Only device 1 holds the wrong half.           *)
Example q3 : let P := prog whole4 halves4 [:: do_ (Dynslice_part Equal 0 2 (rows2 [:: 0; 0]))] in wrong P 1 End /\ ~ right P.
Proof. no. Qed.
(* 4. And every element?  The last of four comes from the wrong place.          *)
Example q4 : let P := prog whole4 whole4 [:: do_ (Exchange
  [:: Transfer 0 0 [:: 0] [:: 0] [:: 4]; Transfer 1 1 [:: 0] [:: 0] [:: 3]; Transfer 1 0 [:: 3] [:: 2] [:: 1]] (Alike [:: 4]))] in
  wrong P 0 Not_a_box /\ ~ right P.
Proof. no. Qed.
(* 5. May a device be missing in a step, or stand there twice?                  *)
Example q5 : let P := prog halves4 whole4 [:: do_ (Allgather 0 (rows2 [:: 0]))] in wrong P 0 Groups /\ ~ right P.
Proof. no. Qed.
Example q5' : let P := prog halves4 halves4 [:: do_ (Allpermute (rows2 [:: 0; 0]))] in wrong P 0 Bijection /\ ~ right P.
Proof. no. Qed.
(* 6. Is a step wrong although the end is as it should be?                      *)
Example q6 : let P := prog whole4 whole4 [:: do_ (Allgather 0 (Rows [:: [:: 0]; [:: 0]]))] in wrong P 0 Groups /\ ~ right P.
Proof. no. Qed.
(* 7. Are claims looked at, of tiles, of maps and of offsets?                   *)
Example q7 : let P := prog halves4 whole4 [:: Step gather_ (Some [:: 2]) None None None] in wrong P 0 Tile_claim /\ ~ right P.
Proof. no. Qed.
Example q7' : let P := prog halves4 halves4 [:: Step gather_ (Some [:: 4]) (Some halves4) None None; do_ slice_] in
  wrong P 0 Map_claim /\ ~ right P.
Proof. no. Qed.
Example q7'' : let P := prog halves4 whole4 [:: Step gather_ None None (Some [:: [:: 0]; [:: 1]]) None] in
  wrong P 0 Map_claim /\ ~ right P.
Proof. no. Qed.
(* 8. May pieces be cut where they do not divide?  Only if the step says so.    *)
Definition three (c : nat) (xs : seq digit) : tiling := Grid [:: Dim (Blocks c) xs 3 0 0] 2 None None.
Example q8 : let P := prog (three 3 [::]) (three 2 both) [:: do_ slice_] in wrong P 0 Indivisible /\ ~ right P.
Proof. no. Qed.
Example q8' : right (prog (three 3 [::]) (three 2 both) [:: do_ (Dynslice (Extent 2) 0 (rows2 [:: 0; 1]))]).
Proof. yes. Qed.
(* 9. Does an exchange write every element, once, inside the tile?              *)
Definition moves_to_0 (ts : seq transfer) : program :=
  prog whole4 whole4 [:: do_ (Exchange (Transfer 1 1 [:: 0] [:: 0] [:: 4] :: ts) (Alike [:: 4]))].
Example q9 : let P := moves_to_0 [:: Transfer 0 1 [:: 0] [:: 0] [:: 3]] in wrong P 0 Transfers /\ ~ right P.
Proof. no. Qed.
Example q9' : let P := moves_to_0 [:: Transfer 0 1 [:: 0] [:: 0] [:: 4]; Transfer 0 0 [:: 3] [:: 3] [:: 1]] in
  wrong P 0 Transfers /\ ~ right P.
Proof. no. Qed.
Example q9'' : let P := moves_to_0 [:: Transfer 0 1 [:: 0] [:: 1] [:: 4]] in wrong P 0 Transfers /\ ~ right P.
Proof. no. Qed.
Example q9''' : right (moves_to_0 [:: Transfer 0 1 [:: 0] [:: 0] [:: 4]]). Proof. yes. Qed.
(* 10. Is a tile that is dealt out another one than a block of as many?         *)
Example q10 : let P := prog halves4 dealt4 [::] in wrong P 0 End /\ ~ right P. Proof. no. Qed.
(* 11. Is a halo to be held, too?                                               *)
Example q11 : let P := prog halves4 halo4 [::] in wrong P 0 End /\ ~ right P. Proof. no. Qed.
(* 12. Does a device without a position hold nothing?                           *)
Definition of_two (D : nat) : program := Program D (Grid [:: dim4 (Blocks 4) [::]] 2 None None) (Grid [:: dim4 (Blocks 4) [::]] 3 None None) [::].
Example q12 : let P := of_two 3 in wrong P 0 End /\ ~ right P. Proof. no. Qed.
(* 13. Does T of an iota do what it says?  Devices 1 and 2 change places.       *)
Definition quarters (xs : seq digit) : tiling := Grid [:: dim4 (Blocks 1) xs] 4 None None.
Definition swapped (T : seq nat) : program :=
  Program 4 (quarters [:: Digit 1 2; Digit 2 2]) (quarters [:: Digit 2 2; Digit 1 2])
    [:: do_ (Allpermute (Iota 1 4 [:: Stage [:: 2; 2] T]))].
Example q13 : right (swapped [:: 1; 0]). Proof. yes. Qed.
Example q13' : let P := swapped [:: 0; 1] in wrong P 1 End /\ ~ right P. Proof. no. Qed.
(* 14. Is an addend that is added twice wrong in a sum, and right in a maximum? *)
Definition reduced (a : addition) (n : nat) : program :=
  prog (sum4 a) whole4 (nseq n (do_ (Adding Allreduce a (rows2 [:: 0; 1])))).
Example q14 : right (reduced Sum 1). Proof. yes. Qed.
Example q14' : let P := reduced Sum 2 in wrong P 2 Addends /\ ~ right P. Proof. no. Qed.
Example q14'' : right (reduced Max 2). Proof. yes. Qed.
(* 15. Is an addend missed that nobody added, and one that only one device did? *)
Example q15 : let P := reduced Sum 0 in wrong P 0 Replicas /\ ~ right P. Proof. no. Qed.
Example q15' : let P := prog (sum4 Sum) whole4 [:: do_ (Exchange_add Sum
  [:: Transfer 0 0 [:: 0] [:: 0] [:: 4]; Transfer 1 0 [:: 0] [:: 0] [:: 4]] (Alike [:: 4]))] in wrong P 1 Addends /\ ~ right P.
Proof. no. Qed.
(* 16. May a step add otherwise than the Program?                               *)
Example q16 : let P := prog (sum4 Sum) whole4 [:: do_ (Adding Allreduce Max (rows2 [:: 0; 1]))] in wrong P 0 Addends /\ ~ right P.
Proof. no. Qed.
(* 17. May the arrays of a stack change places?                                 *)
Example q17 : let P := prog (sum4 Stack) (sum4 Stack) [:: do_ (Allpermute (rows2 [:: 1; 0]))] in wrong P 1 Addends /\ ~ right P.
Proof. no. Qed.
(* 18. What does it cost, and how high is it?  A gather its new tile, a slice   *)
(* nothing, a step in rows of one device nothing, a permutation that keeps all  *)
(* nothing.                                                                     *)
Example q18 : let P := prog halves4 halves4 [:: do_ gather_; do_ slice_; do_ (Allgather 0 (Rows [:: [:: 0]; [:: 1]])); do_ (Allpermute (rows2 [:: 0; 1]))] in
  [/\ height P 4 = 4, cost P 4 = 4 & bound P = 2].
Proof.
move=> P; have kn : known_program P by [].
have [<- <- <-] : [/\ v_height (check P) = height P 4, v_cost (check P) = cost P 4 & check_bound P = bound P] := check_figures kn.
by [].
Qed.
(* 19. Is a bound that is too high certified, or one that is true refused?      *)
Definition claims4 (C p : nat) : claims :=
  Claims true true false false 0 true (certify.Certificate C [:: ([:: 4], (0, p))] [::]).
Definition to_gather : program := prog halves4 whole4 [:: do_ gather_].
Example q19 : certify_claims 1 to_gather (claims4 4 4) = Is_certified [:: 4] [:: 2] [:: 4]. Proof. by vm_compute. Qed.
Example q19' : certify_claims 1 to_gather (claims4 5 5) = Not_certified. Proof. by vm_compute. Qed.
Example q19'' : (optimality_of to_gather (check to_gather) (claims4 4 4), optimality_of to_gather (check to_gather) (claims4 3 3))
  = (Optimal, Not_optimal). Proof. by vm_compute. Qed.
(* 20. Does a view keep the bytes of a tile?  Of an array of n in N tiles, cut  *)
(* or dealt out, those of tile t, for all views of two or three dimensions that *)
(* WF-VIEW takes, and not for all others.                                       *)
Definition bytes (v : seq nat) (T : tiling) (t : nat) : seq nat :=
  let a := tiles_of T t in [seq flat v (elem a (unflat (shape a) f)) | f <- iota 0 (prodn (shape a))].
Definition one_dim (C : cuts) (N n : nat) : tiling := Grid [:: Dim C [:: Digit 1 N] n 0 0] N None None.
Definition keeps (v : seq nat) (C : cuts) (N n : nat) : bool :=
  let T := one_dim C N n in all (fun t => bytes v (Viewed v T) t == bytes [:: n] T t) (iota 0 N).
Definition views (n : nat) : seq (seq nat) :=
  let ds := [seq d <- iota 1 n | d %| n] in
  [seq [:: p.1; p.2] | p <- allpairs pair ds ds & p.1 * p.2 == n] ++
  [seq [:: p.1.1; p.1.2; p.2] | p <- allpairs pair (allpairs pair ds ds) ds & p.1.1 * p.1.2 * p.2 == n].
Definition cuts_of (n : nat) : seq (cuts * nat) :=
  flatten [seq (Blocks (n %/ N), N) :: (Balanced, N) :: [seq (Dealt c, N) | c <- iota 1 n & c * N %| n] | N <- iota 2 n & N %| n].
Definition block_of (C : cuts) (N n : nat) : nat := match C with Blocks c | Dealt c => c | _ => n %/ N end.
Definition wf (v : seq nat) (C : cuts) (N n : nat) : bool :=
  let b := block_of C N n in begins_at 1 (rev v) b && begins_at 1 (rev v) (b * N).
Definition of_all_views (n : nat) (f : bool -> bool -> bool) : seq bool :=
  [seq f (wf p.1 p.2.1 p.2.2 n) (keeps p.1 p.2.1 p.2.2 n) | p <- allpairs pair (views n) (cuts_of n)].
Example q20 : all (fun n => all id (of_all_views n implb)) (iota 1 16). Proof. by vm_compute. Qed.
Example q20' : has (fun n => has id (of_all_views n (fun good kept => ~~ good && ~~ kept))) (iota 1 16). Proof. by vm_compute. Qed.
