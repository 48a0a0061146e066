(* Device maps and device assignments.                                          *)
(*                                                                              *)
(* Paper: Defs. 6.1, 6.2.  What is physical about an assignment <phi, beta> is  *)
(* its tile map f = beta o phi^-1.                                              *)
From mathcomp Require Import all_ssreflect.
Require Import notation fig06_syntax fig07_base_offsets.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Devices.
Variables (H : mesh) (D : finType).

(* phi : |H| -> D, a bijection, with its inverse.  Def. 6.1.                    *)
Record device_map := DeviceMap {
  phi : {ffun point H -> D};
  phi_inv : {ffun D -> point H};
  phiK : cancel phi phi_inv;
  phi_invK : cancel phi_inv phi
}.

(* <phi, beta>, and beta o phi^-1.                                              *)
Definition device_assignment := (device_map * (point H -> seq nat))%type.
Definition tile_map (a : device_assignment) (d : D) : seq nat := a.2 (phi_inv a.1 d).

(* Def. 6.2: equal tile maps.                                                   *)
Definition equivalent_assignments (a b : device_assignment) : Prop := tile_map a =1 tile_map b.

End Devices.
