(* What natural numbers are in OCaml: integers of any size (Zarith).            *)
(*                                                                              *)
(* The arithmetic below is what extraction is trusted with beside the programs  *)
(* themselves; each line is the function that mathcomp defines, also at 0.      *)
From mathcomp Require Import all_ssreflect.
Require Import Extraction ExtrOcamlBasic.
Extraction Language OCaml.

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
