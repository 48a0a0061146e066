(* The definitions and the certifier as OCaml, for kernel_oracle.ml.            *)
(*                                                                              *)
(* extract_numbers.v says what numbers are there.                               *)
From mathcomp Require Import all_ssreflect.
Require Import notation fig06_syntax fig07_base_offsets fig08_typing fig11_cost def4_sequences.
Require Import def5_weak fig10_low_level sec7_low_level certify fig10_check.
Require Import Extraction extract_numbers.
Set Extraction Output Directory ".".

Extraction "kernel.ml"
  wf_mesh prime_mesh wf_type axes globaltype localtype globalsize localsize device_count base_offsets
  apply is_localtype weak_apply gather_tile alltoall_tile slice_tile is_tile
  step_cost cost height valley memory_constrained normal_form
  multi_check tiling_offset certify.certify.
