(* What retile-kernel certify says of a Program.                                *)
(*                                                                              *)
(* certify_sound is about the digits of a Program's ends as the certifier takes *)
(* them.  Here it is about the Program that was read, and its tiles as          *)
(* meaning.v says them.                                                         *)
From mathcomp Require Import all_ssreflect.
Require Import notation fig06_syntax fig07_base_offsets fig11_cost def4_sequences def6_devices.
Require Import fig10_low_level sec7_low_level points base_offset_maps fig10_physical certify_sound.
Require certify check check_correct.
Require Import program meaning certificate.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* ---- what devices hold ----                                                  *)

(* The box of device d under <phi, T[tau]>.                                     *)
Definition box_of (H : mesh) (D : finType) (a : assignment H D) (d : D) : tile (seq nat) :=
  Tile (localtype (type_of a)) (plus (tile_map (beta a) d)).
(* Device number d holds what the tiling says.                                  *)
Definition holds (D : nat) (H : mesh) (a : assignment H [finType of 'I_D]) (T : tiling) : Prop :=
  globaltype (type_of a) = global_of T /\ forall d : 'I_D, same (tiles_of T d) (box_of a d).

(* ---- the ends as the certifier takes them ----                               *)
Definition digits_as (xs : seq digit) : seq certify.digit := [seq certify.Digit (stride x) (radix x) | x <- xs].

Lemma digits_offsetE c xs d : certify.digits_offset c (digits_as xs) d = c * tile_number xs d.
Proof. by elim: xs c => [|x xs IH] c /=; rewrite ?muln0 // IH mulnDr mulnA. Qed.

Lemma tile_number_lt xs p : 0 < tile_count xs -> tile_number xs p < tile_count xs.
Proof.
elim: xs => //= x xs IH; rewrite /tile_count /= -/(tile_count xs) muln_gt0 => /andP[r0 /IH lt].
apply: (@leq_trans (radix x * (tile_number xs p).+1)); last by rewrite leq_mul2l lt orbT.
by rewrite mulnS ltn_add2r ltn_mod.
Qed.

Lemma even_side e d : even_dim e -> 0 < tile_extent e /\
  side_of e d = Run (tile_extent e * tile_number (digits e) d) (tile_extent e).
Proof.
rewrite /even_dim /tile_extent /side_of; case: e => [[c|?|?|?|?|?] xs n lo hi] //= /and4P[n0 /eqP en /eqP-> /eqP->].
move: n0; rewrite -en muln_gt0 => /andP[c0 N0]; split=> //.
have le : tile_number xs d < tile_count xs by exact: tile_number_lt.
rewrite /blocks.
have -> : minn (c * tile_number xs d) (c * tile_count xs) = c * tile_number xs d.
  by apply/minn_idPl; rewrite leq_mul2l ltnW ?orbT.
have -> : minn (c * (tile_number xs d).+1) (c * tile_count xs) = c * (tile_number xs d).+1.
  by apply/minn_idPl; rewrite leq_mul2l le orbT.
rewrite mulnS addnK; case: eqP c0 => [->//|_ _].
have/minn_idPr-> : c * tile_number xs d + c + 0 <= c * tile_count xs.
  by rewrite addn0 addnC -mulnS leq_mul2l le orbT.
by rewrite subn0 addn0 addKn.
Qed.

Lemma even_tilingP D T C : even_tiling D T = Some C -> exists es,
  [/\ T = Grid es D None None, all even_dim es, certify.tile C = map tile_extent es, certify.global C = map whole es
    & forall d, certify.tiling_offset C d = [seq tile_extent e * tile_number (digits e) d | e <- es]].
Proof.
case: T => // es P [|] // [|] //=; case: ifP => // /andP[/eqP-> ev] [<-].
exists es; split=> // d; rewrite /certify.tiling_offset /= -/(digits_as).
by elim: es {ev} => //= e es ->; rewrite digits_offsetE.
Qed.

(* A tiling that the certifier takes says of each device the box that it takes. *)
Lemma even_meant D T C d : even_tiling D T = Some C -> d < D ->
  same (tiles_of T d) (Tile (certify.tile C) (plus (certify.tiling_offset C d))).
Proof.
case/even_tilingP=> es [-> ev -> _ oE] dD; rewrite /tiles_of /= dD /=.
have sE : [seq side_of e d | e <- es] = [seq Run (tile_extent e * tile_number (digits e) d) (tile_extent e) | e <- es].
  by elim: (es) ev => //= e es2 IH /andP[/(even_side d)[_ ->] /IH->].
have cE : map side_size [seq side_of e d | e <- es] = map tile_extent es by rewrite sE -map_comp.
have full : empty (map tile_extent es) = false.
  rewrite /empty; elim: (es) ev => //= e es2 IH /andP[/(even_side d)[pos _] /IH nil].
  by rewrite inE nil orbF; case: (tile_extent e) pos.
rewrite /same /= cE /tidy full; split=> // l _; rewrite sE oE /plus.
by elim: (es) l => [|e es2 IH] [|x l] //=; rewrite IH.
Qed.

Lemma plus_nothing s r : size s = r -> plus s (nseq r 0) = s.
Proof. by move=> <-; elim: s => //= x s IH; rewrite /plus /= addn0 -/(plus s _) IH. Qed.

Lemma has_devices D (H : mesh) (a : assignment H [finType of 'I_D]) : is_assignment a -> 0 < D.
Proof.
case/andP=> wH _; rewrite -[D]card_ord (device_card wH (map_of a)) (device_count_size (wf_mesh_uniq wH)).
exact: size_of_axes_pos.
Qed.

Lemma holds_stands D (H : mesh) (a : assignment H [finType of 'I_D]) T C :
  even_tiling D T = Some C -> is_assignment a -> holds a T -> stands_at val a C.
Proof.
move=> eC /has_devices D0 [gE same_]; have [es [eT ev tE wE oE]] := even_tilingP eC.
have meant (d : 'I_D) := even_meant eC (ltn_ord d).
have cE : localtype (type_of a) = certify.tile C.
  by have [/= sE _] := meant (Ordinal D0); have [/= <- _] := same_ (Ordinal D0).
split=> //; first by rewrite gE wE eT.
move=> d; have [shapeE elemE] := meant d; have [_ eq_] := same_ d.
have r : rank (type_of a) = size es by rewrite /rank -(size_map dim_c) -/(localtype _) cE tE size_map.
have z : inside (shape (tiles_of T d)) (nseq (size es) 0).
  rewrite shapeE /= tE; elim: (es) ev => //= e es2 IH /andP[/(even_side d)[pos _] /IH in_es].
  by rewrite /inside /= pos.
have so : size (certify.tiling_offset C d) = size es by rewrite oE size_map.
have sa : size (tile_map (beta a) d) = size es by rewrite -r /tile_map /= size_map.
by have := eq_ _ z; rewrite (elemE _ z) /= (plus_nothing so) (plus_nothing sa).
Qed.

(* ---- certificates ----                                                       *)

Lemma certified_ends version P c g f t : certify_claims version P c = Is_certified g f t ->
  exists F T, [/\ even_tiling (devices P) (from P) = Some F, even_tiling (devices P) (to P) = Some T
                & certify.certify (certify.Program (devices P) F T) (lines c)].
Proof.
rewrite /certify_claims /ends_of; do 4 case: ifP => // _.
case eF: (even_tiling _ _) => [F|] //; case eT: (even_tiling _ _) => [T|] //.
by case: ifP => // cert _; exists F, T.
Qed.

(* Of every sequence of Fig. 10, over several axes, from what `from` says to    *)
(* what `to` says.                                                              *)
Theorem certified_bound version P c g f t : certify_claims version P c = Is_certified g f t ->
  forall (H : mesh) (a1 a2 : assignment H [finType of 'I_(devices P)]) v,
  is_assignment a1 -> holds a1 (from P) -> holds a2 (to P) ->
  sequence (@multi_step H _) a1 v a2 ->
  certify.lower_bound (lines c) <= def4_sequences.cost_of multi_op (@assignment_size H _) a1 v.
Proof.
case/certified_ends=> F [T [eF eT cert]] H a1 a2 v wa h1 h2 sq.
have [wa2 _] := multi_ends wa sq.
exact: (certify_sound cert wa (holds_stands eF wa h1) (holds_stands eT wa2 h2) sq).
Qed.

(* `optimal: true`: the Program is right, keeps the bound, and costs no more    *)
(* than any of these sequences.                                                 *)
Theorem certified_optimal version P c g f t : known_program P ->
  check.first_wrong (check.check P) = None ->
  certify_claims version P c = Is_certified g f t -> optimality_of P (check.check P) c = Optimal ->
  let n := size (steps P) in
  [/\ right P, height P n <= bound P, all in_scope (steps P)
    & forall (H : mesh) (a1 a2 : assignment H [finType of 'I_(devices P)]) v,
      is_assignment a1 -> holds a1 (from P) -> holds a2 (to P) -> sequence (@multi_step H _) a1 v a2 ->
      cost P n <= def4_sequences.cost_of multi_op (@assignment_size H _) a1 v].
Proof.
move=> kn ok cert opt n; have := check_correct.check_figures kn; rewrite ok -/n => -[hE cE bE].
move: opt; rewrite /optimality_of hE cE bE; do 2 (case: ifP => // /negbFE); move=> /andP[_ scope].
case: ifP => // /andP[high /eqP costE] _; split=> //.
  by apply/(check_correct.check_sound_and_complete kn).
by rewrite costE; apply: certified_bound cert.
Qed.
