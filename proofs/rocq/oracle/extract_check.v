(* The readers, the check and the certifier as OCaml, for retile_kernel.ml.     *)
(*                                                                              *)
(* extract_numbers.v says what numbers are there.                               *)
From mathcomp Require Import all_ssreflect.
Require Import notation program meaning lookup check reader certificate.
Require Import Extraction extract_numbers.
Set Extraction Output Directory ".".

(* Long lists are made without a deep stack.                                    *)
Extract Constant iota => "(fun m n -> let rec go l k = if Z.sign k = 0 then l else let k' = Z.pred k in go (Z.add m k' :: l) k' in go [] n)".
Extract Constant map => "(fun f s -> List.rev (List.rev_map f s))".

Extraction "checker.ml" reader.read check.check check_bound known_program
  read_certificate certify_claims optimality_of.
