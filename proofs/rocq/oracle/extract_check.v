(* The reader and the check as OCaml, for retile_kernel.ml.                     *)
(*                                                                              *)
(* Natural numbers become integers of any size (Zarith).  The arithmetic below  *)
(* is what extraction is trusted with beside the programs themselves; each line *)
(* is the function that mathcomp defines, also at 0.                            *)
From mathcomp Require Import all_ssreflect.
Require Import notation program meaning lookup check reader.
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
Extract Constant edivn => "(fun m d -> if Z.sign d = 0 then (Z.zero, m) else Z.div_rem m d)".
Extract Constant odd => "(fun n -> Z.testbit n 0)".
Extract Constant half => "(fun n -> Z.shift_right n 1)".
Extract Constant uphalf => "(fun n -> Z.shift_right (Z.succ n) 1)".
(* Long lists are made without a deep stack.                                    *)
Extract Constant iota => "(fun m n -> let rec go l k = if Z.sign k = 0 then l else let k' = Z.pred k in go (Z.add m k' :: l) k' in go [] n)".
Extract Constant map => "(fun f s -> List.rev (List.rev_map f s))".

Extraction "checker.ml" reader.read check.check check_bound known_program.
