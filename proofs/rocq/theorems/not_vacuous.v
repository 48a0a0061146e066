(* certified_bound is about something: sequences of the kind that it bounds     *)
(* exist.  Here is one, for the Program of question 19 in sceptic.v.            *)
From mathcomp Require Import all_ssreflect.
Require Import notation fig06_syntax fig07_base_offsets fig11_cost def4_sequences def5_weak def6_devices.
Require Import fig10_low_level sec7_low_level points base_offset_maps fig10_physical.
Require certify.
Require Import along.
Require Import program meaning certificate check_correct certified sceptic.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Definition two : finType := [finType of 'I_2].
Definition mesh2 : mesh := [:: (0, 2)].
Definition halved : tilemap two := ([:: 2], [ffun d : two => [:: val d]]).
Definition gathered : tilemap two := ([:: 4], [ffun d : two => [:: 0]]).

Lemma gathers_step : phys_step [:: 4] (pweak (wgather 0 2)) halved gathered.
Proof.
split; last first.
  split; first by rewrite /weak_step card_ord.
  move=> d /=; rewrite !ffunE /gather_tile /=; congr [:: _].
  by rewrite divn_small // ltn_ord.
split; first by rewrite card_ord.
- by move=> d; rewrite /= ffunE /is_tile /= andbT; exact: ltn_ord.
move=> [|k [|? ?]] //=; last by rewrite /is_tile /= andbF.
rewrite /is_tile /= andbT => k2; rewrite card_ord.
rewrite /fig10_low_level.holders (eq_card (B := pred1 (Ordinal k2 : two))) ?card1 //.
by move=> d; rewrite !inE ffunE eqseq_cons andbT -val_eqE.
Qed.

Lemma tiles_in (a : assignment mesh2 two) (s : tilemap two) d : phys_of a = s ->
  tile_map (beta a) d = certify.offsets s.1 (s.2 d).
Proof. by move=> <-; rewrite /= ffunE /tile_map /= /base_offset_map base_offsetsE. Qed.

(* It begins with halves, ends with the whole array and costs 4.                *)
Theorem a_sequence_of_cost_4 : exists (a1 a2 : assignment mesh2 two) v,
  [/\ is_assignment a1, holds a1 halves4, holds a2 whole4, sequence (@multi_step mesh2 two) a1 v a2
    & def4_sequences.cost_of multi_op (@assignment_size mesh2 two) a1 v = 4].
Proof.
have [||q [a1 [a2 [e1 e2 g1 lab st]]]] := @multi_complete mesh2 two _ _ _ _ _ _ gathers_step; rewrite ?card_ord //.
have wH : wf_mesh mesh2 by [].
have [wa2 g2 _] := multi_sound wH st.
have wa1 : is_assignment a1 by case: st.
have l1 : localtype (type_of a1) = [:: 2] := congr1 fst e1.
have l2 : localtype (type_of a2) = [:: 4] := congr1 fst e2.
exists a1, a2, [:: (q, a2)]; split=> //.
- split; first by rewrite g1.
  move=> d; rewrite /same /box_of (tiles_in d e1) l1 /= ffunE.
  case: d => [[|[|//]] ?]; split=> // -[|x [|? ?]] //=; by rewrite ?andbF.
- split; first by rewrite g2 g1.
  move=> d; rewrite /same /box_of (tiles_in d e2) l2 /= ffunE.
  case: d => [[|[|//]] ?]; split=> // -[|x [|? ?]] //=; by rewrite ?andbF.
by case: q lab st => //= i x _ _; rewrite /def4_sequences.cost_of /= /assignment_size /localsize l2.
Qed.

(* ---- a step along two dimensions ----                                        *)
(* certified_bound_along is about something, too: quarters on four devices, of  *)
(* which one allgather makes the whole at a cost of 16.                         *)
Definition four : finType := [finType of 'I_4].
Definition quarters : tilemap four := ([:: 2; 2], [ffun d : four => [:: d %% 2; d %/ 2]]).
Definition whole16 : tilemap four := ([:: 4; 4], [ffun d : four => [:: 0; 0]]).
Definition ways (a : nat) : seq digit := [:: Digit a 2].
Definition quarters_on : tiling := Grid [:: Dim (Blocks 2) (ways 1) 4 0 0; Dim (Blocks 2) (ways 2) 4 0 0] 4 None None.
Definition whole_on : tiling := Grid [:: Dim (Blocks 4) [::] 4 0 0; Dim (Blocks 4) [::] 4 0 0] 4 None None.

Lemma quarters_balanced : balanced [:: 4; 4] quarters.
Proof.
split; first by rewrite card_ord.
  by case=> -[|[|[|[|//]]]] ?; rewrite /= ffunE.
case=> [|a [|b [|? ?]]] //=; rewrite /is_tile /= ?andbF // andbT card_ord /fig10_low_level.holders.
case/andP=> a2 b2; have lt : a + b * 2 < 4 by move: a2 b2; case: a => [|[|?]] //; case: b => [|[|?]].
rewrite (eq_card (B := pred1 (Ordinal lt : four))) ?card1 // => d; rewrite !inE ffunE -val_eqE /= !eqseq_cons andbT.
by move: a2 b2; case: d => -[|[|[|[|//]]]] ?; case: (a) => [|[|?]] //; case: (b) => [|[|?]].
Qed.

Lemma whole_balanced : balanced [:: 4; 4] whole16.
Proof.
split; first by rewrite card_ord.
  by move=> d; rewrite /= ffunE.
case=> [|a [|b [|? ?]]] //=; rewrite /is_tile /= ?andbF // andbT card_ord /fig10_low_level.holders.
case: a => [|?] //; case: b => [|?] // _; rewrite (eq_card (B := predT)) ?card_ord // => d.
by rewrite !inE ffunE.
Qed.

Theorem a_sequence_along_two : exists (s1 s2 : tilemap four) w,
  [/\ balanced [:: 4; 4] s1 /\ balanced [:: 4; 4] s2, places s1 quarters_on, places s2 whole_on,
      sequence (@along_step four [:: 4; 4]) s1 w s2
    & def4_sequences.cost_of along_op (@tilemap_size four) s1 w = 16].
Proof.
exists quarters, whole16, [:: (along_gather [:: 2; 2], whole16)]; split=> //.
- by split; [exact: quarters_balanced|exact: whole_balanced].
- by case=> -[|[|[|[|//]]]] ?; rewrite /same /= ffunE; split=> // -[|x [|y [|? ?]]] //=; rewrite /inside /= ?andbF.
- by case=> -[|[|[|[|//]]]] ?; rewrite /same /= ffunE; split=> // -[|x [|y [|? ?]]] //=; rewrite /inside /= ?andbF.
split=> //; split=> //; first exact: quarters_balanced.
by case=> -[|[|[|[|//]]]] ?; rewrite /= !ffunE.
Qed.
