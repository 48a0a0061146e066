(* The definitions and the certifier as OCaml, for kernel_oracle.ml.            *)
(*                                                                              *)
(* Natural numbers become integers of any size (Zarith).  The arithmetic below  *)
(* is what extraction is trusted with beside the programs themselves; each line *)
(* is the function that mathcomp defines, also at 0.                            *)
From mathcomp Require Import all_ssreflect.
Require Import notation fig06_syntax fig07_base_offsets fig08_typing fig11_cost def4_sequences.
Require Import def5_weak fig10_low_level sec7_low_level certify fig10_check.
Require Import Extraction ExtrOcamlBasic.
Extraction Language OCaml.
Set Extraction Output Directory ".".

Extract Inductive nat => "Z.t" [ "Z.zero" "Z.succ" ]
  "(fun fO fS n -> if Z.sign n = 0 then fO () else fS (Z.pred n))".
Extract Constant Nat.pred => "(fun n -> if Z.sign n = 0 then n else Z.pred n)".
Extract Constant Nat.add => "Z.add".
Extract Constant Nat.mul => "Z.mul".
Extract Constant Nat.sub => "(fun m n -> if Z.lt m n then Z.zero else Z.sub m n)".
Extract Constant eqn => "Z.equal".
Extract Constant leq => "Z.leq".
(* m %/ 0 = 0 and m %% 0 = m *)
Extract Constant divn => "(fun m d -> if Z.sign d = 0 then Z.zero else Z.div m d)".
Extract Constant modn => "(fun m d -> if Z.sign d = 0 then m else Z.rem m d)".

Extraction "kernel.ml"
  wf_mesh prime_mesh wf_type axes globaltype localtype globalsize localsize device_count base_offsets
  apply is_localtype weak_apply gather_tile alltoall_tile slice_tile is_tile
  step_cost cost height valley memory_constrained normal_form
  multi_check tiling_offset certify.certify.
