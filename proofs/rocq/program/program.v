(* What a Program is: docs/reference/program.md, without its text.              *)
(*                                                                              *)
(* Devices are positions 0..D-1, and axes are digits of their numbers, as the   *)
(* reader makes them.  What steps do and when a Program is right is meaning.v.  *)
From mathcomp Require Import all_ssreflect.
Require Import notation.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* ---- tables of devices ----                                                  *)

(* One stage of an iota: its shape, and T, which is 0,1,2.. where none stands.  *)
Record stage := Stage { stage_shape : seq nat; transposition : seq nat }.

(* Rows, or [count,length]<=stage<=stage..; a list is a table of one row.       *)
Inductive table := Rows of seq (seq nat) | Iota of nat & nat & seq stage.

(* ---- tilings ----                                                            *)

(* The digit (d div stride) mod radix of a device number d.                     *)
Record digit := Digit { stride : nat; radix : nat }.

Inductive cuts :=
  | Blocks of nat            (* c and c~                                        *)
  | Balanced                 (* c=                                              *)
  | Bounds of seq nat        (* (o_0,..,o_N)                                    *)
  | Dealt of nat             (* c@                                              *)
  | Section_blocks of seq nat        (* c{..}n_1+n_2+..                         *)
  | Section_dealt of nat & seq nat.  (* c@{..}n_1+n_2+..                        *)

(* cuts{digits}whole<before,behind>                                             *)
Record dim := Dim { cut_by : cuts; digits : seq digit; whole : nat; before : nat; behind : nat }.

(* How arrays make up the one that is meant: as their sum, maximum or minimum,  *)
(* or side by side.                                                             *)
Inductive addition := Sum | Max | Min | Stack.

(* One for all, or a row for each device.                                       *)
Inductive shapes := Alike of seq nat | Each of seq (seq nat).

Inductive tiling :=
  | Grid of seq dim & nat & option table & option (addition * seq digit)
      (* sum{digits}[..] over so many positions, and the order of devices on them *)
  | Rooted of seq nat & nat               (* [..]@d                             *)
  | Listed of seq nat & seq (seq nat) & shapes   (* global, at, and tile or shapes *)
  | Viewed of seq nat & tiling.           (* an end of the array, in the dimensions of a view *)

(* ---- steps ----                                                              *)

(* How a tile is cut: into equal pieces, into pieces of an extent, balanced.    *)
Inductive cut := Equal | Extent of nat | Even.

(* A row of `transfers`.                                                        *)
Record transfer := Transfer { target : nat; source : nat; put : seq nat; got : seq nat; box : seq nat }.

(* Steps that add, or make zeros.                                               *)
Inductive adding :=
  | Reducescatter of cut & nat   (* piece, dim                                  *)
  | Allreduce
  | Unreduce
  | Embed of nat.                (* dim                                         *)

Inductive move :=
  | Dynslice of cut & nat & table          (* piece, dim, groups                *)
  | Dynslice_part of cut & nat & nat & table  (* piece, dim, parts, part        *)
  | Allgather of nat & table               (* dim, groups                       *)
  | Alltoall of cut & nat & nat & table    (* piece, split, concat, groups      *)
  | Allgather_dims of seq nat & seq nat & table            (* dims, counts, groups *)
  | Alltoall_dims of seq nat & seq nat & seq nat & table   (* splits, concats, counts, groups *)
  | Allpermute of table                    (* source                            *)
  | Pairs of seq (nat * nat)               (* pairs: (source, target)           *)
  | Exchange of seq transfer & shapes
  | Adding of adding & addition & table    (* .., add, groups                   *)
  | Exchange_add of addition & seq transfer & shapes.

Record step := Step {
  move_of : move;
  tile_claim : option (seq nat);
  map_claim : option tiling;
  at_claim : option (seq (seq nat));
  shapes_claim : option (seq (seq nat))    (* beside `at`                       *)
}.

Record program := Program { devices : nat; from : tiling; to : tiling; steps : seq step }.
