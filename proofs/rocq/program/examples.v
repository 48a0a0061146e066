(* What the definitions of meaning.v say of small examples, which the page of   *)
(* Programs says, too.  Coq computes each; to try others, say Compute.          *)
From mathcomp Require Import all_ssreflect.
Require Import notation program meaning.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* What device d holds: its shape, and the indices in C order.                  *)
Definition held_by (s : state (seq nat)) (d : nat) : seq nat * seq (seq nat) :=
  let c := shape (s d) in (c, [seq elem (s d) (unflat c f) | f <- iota 0 (prodn c)]).

(* ---- iotas ----                                                              *)
(* [2,2]<=[2,2]T(1,0) *)
Example iota_transposed :
  rows_of (Iota 2 2 [:: Stage [:: 2; 2] [:: 1; 0]]) = [:: [:: 0; 2]; [:: 1; 3]].
Proof. by []. Qed.
(* [2,3]<=[3,2]T(1,0)<=[2,3]T(1,0): a stage reshapes what stands to its right   *)
Example iota_chain :
  rows_of (Iota 2 3 [:: Stage [:: 3; 2] [:: 1; 0]; Stage [:: 2; 3] [:: 1; 0]]) =
  [:: [:: 0; 1; 2]; [:: 3; 4; 5]].
Proof. by []. Qed.

(* ---- cuts ----                                                               *)
Definition tiles (C : cuts) (N n : nat) : seq (seq nat) := [seq indices (cut_tile C N n t) | t <- iota 0 N].

(* 3{x:4}10 cuts into 3, 3, 3, 1 *)
Example rounded_up : [seq size s | s <- tiles (Blocks 3) 4 10] = [:: 3; 3; 3; 1].
Proof. by []. Qed.
(* 2{x:8}9 cuts into 2, 2, 2, 2, 1, 0, 0, 0 *)
Example empty_tiles : [seq size s | s <- tiles (Blocks 2) 8 9] = [:: 2; 2; 2; 2; 1; 0; 0; 0].
Proof. by []. Qed.
(* 3={x:4}10 cuts into 3, 3, 2, 2 *)
Example balanced : tiles Balanced 4 10 = [:: [:: 0; 1; 2]; [:: 3; 4; 5]; [:: 6; 7]; [:: 8; 9]].
Proof. by []. Qed.
Example listed : tiles (Bounds [:: 0; 1; 1; 4]) 3 4 = [:: [:: 0]; [::]; [:: 1; 2; 3]].
Proof. by []. Qed.
(* 2@{x:2}8 *)
Example dealt_out : tiles (Dealt 2) 2 8 = [:: [:: 0; 1; 4; 5]; [:: 2; 3; 6; 7]].
Proof. by []. Qed.
(* Over x:4, tile 1 of 3{x}8+4 holds 2, 3 and 9 *)
Example in_sections : nth [::] (tiles (Section_blocks [:: 8; 4]) 4 12) 1 = [:: 2; 3; 9].
Proof. by []. Qed.
Example with_a_halo : indices (with_halo 9 1 2 (cut_tile (Blocks 3) 3 9 1)) = [:: 2; 3; 4; 5; 6; 7].
Proof. by []. Qed.

(* ---- tilings ----                                                            *)
Definition plain (c : nat) (xs : seq digit) (n : nat) : dim := Dim (Blocks c) xs n 0 0.
(* Over x:2,y:2 (x is 2:2, y is 1:2): [1{y}2, 2{x}4]                            *)
Definition swap_from : tiling := Grid [:: plain 1 [:: Digit 1 2] 2; plain 2 [:: Digit 2 2] 4] 4 None None.
Example holds_a_box : held_by (tiles_of swap_from) 3 = ([:: 1; 2], [:: [:: 1; 2]; [:: 1; 3]]).
Proof. by []. Qed.
Example rooted : held_by (tiles_of (Rooted [:: 2] 1)) 0 = ([:: 0], [::]).
Proof. by []. Qed.

(* Of 12 indices that are dealt out in pairs the second device has 2, 3, 6, 7,  *)
(* 10 and 11: in the view [3,2,2] half of the second dimension.                 *)
Definition in_pairs : tiling := Grid [:: Dim (Dealt 2) [:: Digit 1 2] 12 0 0] 2 None None.
Example seen_in_a_view : held_by (tiles_of (Viewed [:: 3; 2; 2] in_pairs)) 1 =
  ([:: 3; 1; 2], [:: [:: 0; 1; 0]; [:: 0; 1; 1]; [:: 1; 1; 0]; [:: 1; 1; 1]; [:: 2; 1; 0]; [:: 2; 1; 1]]).
Proof. by []. Qed.

(* ---- steps ----                                                              *)
Definition halves : state (seq nat) := tiles_of (Grid [:: plain 2 [:: Digit 1 2] 4] 2 None None).
Definition pair_of_devices : table := Rows [:: [:: 1; 0]].
(* Position 0 first, which is device 1 here.                                    *)
Example gathered : held_by (after the_one halves (Allgather 0 pair_of_devices)) 0 =
  ([:: 4], [:: [:: 2]; [:: 3]; [:: 0]; [:: 1]]).
Proof. by []. Qed.
(* Device 1 has position 0, and gets piece 0.                                   *)
Example sliced : held_by (after the_one halves (Dynslice Equal 0 pair_of_devices)) 1 = ([:: 1], [:: [:: 2]]).
Proof. by []. Qed.
Example exchanged : held_by (after the_one halves (Alltoall Equal 0 0 pair_of_devices)) 0 =
  ([:: 2], [:: [:: 3]; [:: 1]]).
Proof. by []. Qed.
(* The digits of positions of four devices: the first along dim 0, the second   *)
(* along dim 1.                                                                 *)
Definition quarters : state (seq nat) := tiles_of (Grid [:: plain 2 [:: Digit 2 2] 4; plain 1 [:: Digit 1 2] 2] 4 None None).
Definition four_devices : table := Rows [:: [:: 0; 1; 2; 3]].
Example gathered_along : held_by (after the_one quarters (Allgather_dims [:: 0; 1] [:: 2; 2] four_devices)) 1 =
  ([:: 4; 2], [:: [:: 0; 0]; [:: 0; 1]; [:: 1; 0]; [:: 1; 1]; [:: 2; 0]; [:: 2; 1]; [:: 3; 0]; [:: 3; 1]]).
Proof. by []. Qed.
(* A dimension named twice: its part is the number in both digits.              *)
Example parts_of_6 : [seq part_along [:: 1; 0; 1] [:: 2; 2; 3] 8 i | i <- [:: 0; 1]] = [:: 0; 5].
Proof. by []. Qed.
(* Every device holds a column, and gets a quarter of all.                      *)
Definition columns : state (seq nat) := tiles_of (Grid [:: plain 4 [::] 4; plain 1 [:: Digit 1 4] 4] 4 None None).
Example exchanged_along :
  held_by (after the_one columns (Alltoall_dims [:: 0; 0] [:: 1; 1] [:: 2; 2] four_devices)) 1 =
  ([:: 1; 4], [:: [:: 1; 0]; [:: 1; 1]; [:: 1; 2]; [:: 1; 3]]).
Proof. by []. Qed.
Example permuted : held_by (after the_one halves (Allpermute pair_of_devices)) 0 = ([:: 2], [:: [:: 2]; [:: 3]]).
Proof. by []. Qed.
(* A device that is no target keeps its own.                                    *)
Example kept : held_by (after the_one halves (Pairs [:: (1, 1)])) 0 = ([:: 2], [:: [:: 0]; [:: 1]]).
Proof. by []. Qed.
Example moved : held_by (after the_one halves (Exchange [:: Transfer 0 1 [:: 0] [:: 1] [:: 1]; Transfer 0 0 [:: 1] [:: 0] [:: 2]]
                                               (Each [:: [:: 3]; [:: 0]]))) 0 =
  ([:: 3], [:: [:: 3]; [:: 0]; [:: 1]]).
Proof. by []. Qed.
(* Pieces of an extent, the last one shorter, and balanced ones.                *)
Example pieces_of_2 : [seq bounds (Extent 2) 3 5 q | q <- iota 0 3] = [:: (0, 2); (2, 2); (4, 1)].
Proof. by []. Qed.
Example balanced_pieces : [seq bounds Even 3 5 q | q <- iota 0 3] = [:: (0, 2); (2, 2); (4, 1)].
Proof. by []. Qed.

(* ---- addends ----                                                            *)
(* What device d holds: at each index in C order the terms.                     *)
Definition sums_of (s : state sum) (d : nat) : seq sum := [seq elem (s d) (unflat (shape (s d)) f) | f <- iota 0 (prodn (shape (s d)))].
(* sum{x}[2] over x:2                                                           *)
Definition halves_of_a_sum : state sum := terms_of (Grid [:: plain 2 [::] 2] 2 None (Some (Sum, [:: Digit 1 2]))).
Example addend_1 : sums_of halves_of_a_sum 1 = [:: [:: (1, [:: 0])]; [:: (1, [:: 1])]].
Proof. by []. Qed.
Example reduced : sums_of (after (@flatten term) halves_of_a_sum (Adding Allreduce Sum pair_of_devices)) 0 =
  [:: [:: (1, [:: 0]); (0, [:: 0])]; [:: (1, [:: 1]); (0, [:: 1])]].
Proof. by []. Qed.
Example scattered : sums_of (after (@flatten term) halves_of_a_sum (Adding (Reducescatter Equal 0) Sum pair_of_devices)) 0 =
  [:: [:: (1, [:: 1]); (0, [:: 1])]].
Proof. by []. Qed.
Example unreduced : sums_of (after (@flatten term) halves_of_a_sum (Adding Unreduce Sum pair_of_devices)) 0 = [:: [::]; [::]].
Proof. by []. Qed.
Example embedded_as_piece_1 : sums_of (after (@flatten term) halves_of_a_sum (Adding (Embed 0) Sum pair_of_devices)) 0 =
  [:: [::]; [::]; [:: (0, [:: 0])]; [:: (0, [:: 1])]].
Proof. by []. Qed.
Example met : sums_of (after (@flatten term) halves_of_a_sum
                         (Exchange_add Sum [:: Transfer 0 1 [:: 0] [:: 1] [:: 1]; Transfer 0 0 [:: 0] [:: 0] [:: 2]] (Alike [:: 3]))) 0 =
  [:: [:: (1, [:: 1]); (0, [:: 0])]; [:: (0, [:: 1])]; [::]].
Proof. by []. Qed.

(* ---- what holds of all ----                                                  *)
(* Part p begins behind those before it.                                        *)
Lemma locate_in_order ws p y : p < size ws -> y < nth 0 ws p -> locate ws (sumn (take p ws) + y) = (p, y).
Proof.
elim: ws p => [|w ws IH] [|p] //= lp ly; first by rewrite add0n ly.
by rewrite ltnNge -addnA leq_addr /= addKn IH.
Qed.

(* The row-major number of an index, and back.                                  *)
Lemma unflatK c l : inside c l -> unflat c (flat c l) = l.
Proof.
have: forall c' l', inside c' l' -> flat c' l' < prodn c'.
  elim=> [|n c' IH] [|x l'] //= /andP[lx /IH lt].
  by apply: (@leq_trans (x.+1 * prodn c')); rewrite ?leq_mul2r ?lx ?orbT // mulSn addnC ltn_add2r.
move=> small; elim: c l => [|n c IH] [|x l] //= /andP[lx il].
have lt := small _ _ il; have p0 : 0 < prodn c by case: (prodn c) lt.
by rewrite divnMDl // divn_small // addn0 modnMDl modn_small // IH.
Qed.
