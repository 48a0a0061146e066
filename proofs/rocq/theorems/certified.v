(* What retile-kernel certify says of a Program.                                *)
(*                                                                              *)
(* certify_sound is about the digits of a Program's ends as the certifier takes *)
(* them.  Here it is about the Program that was read, and its tiles as          *)
(* meaning.v says them.                                                         *)
From mathcomp Require Import all_ssreflect.
Require Import notation fig06_syntax fig07_base_offsets fig11_cost def4_sequences def6_devices.
Require Import fig10_low_level sec7_low_level points base_offset_maps fig10_physical tile_maps certify_sound.
Require Import along along_steps along_sound.
Require sequences optimality.
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

(* ---- the same among steps along several dimensions ----                      *)
(* Device number d holds what the tiling says: its tile in the tile map.        *)
Definition places (D : nat) (s : tilemap [finType of 'I_D]) (T : tiling) : Prop :=
  forall d : 'I_D, same (tiles_of T d) (Tile s.1 (plus (certify.offsets s.1 (s.2 d)))).

Lemma one_run_at s x : one_run s -> x < side_size s -> side_at s x = side_at s 0 + x.
Proof. by case: s => [b w|ls] //= => [_ _|/eqP->]; rewrite ?addn0 // size_iota => lt; rewrite !nth_iota ?addn0 //; case: (size ls) lt. Qed.

Lemma block_extent_pos e c : block_extent e = Some c -> 0 < c.
Proof.
by rewrite /block_extent; case: (cut_by e) => [x||?|x|?|? ?] //; case: ifP => // /and4P[n0 /eqP en _ _] [<-];
  move: n0; rewrite -{1}en muln_gt0 => /andP[].
Qed.

Lemma boxes_meant D T c us d : boxes_of D T = Some (c, us) -> d < D ->
  [/\ same (tiles_of T d) (Tile c (plus (nth [::] us d))), size (nth [::] us d) = size c, all (leq 1) c & size us = D].
Proof.
case: T => // es P order adds; rewrite /boxes_of; case: ifP => // /and3P[_ _ box] [ec <-] dD.
have pos : all (leq 1) c.
  rewrite -ec; elim: (es) => //= e es2; case ex: (block_extent e) => [x|] //= ->.
  by rewrite (block_extent_pos ex).
rewrite size_map size_map size_iota (nth_map (Nothing 0)) ?size_map ?size_iota // (nth_map 0) ?size_iota // nth_iota // add0n.
rewrite -[match position P order d with Some _ => _ | None => _ end]/(holding_of (Grid es P order adds) d).
have bx : is_box c (holding_of (Grid es P order adds) d).
  by move: box; rewrite ec all_map => /allP/(_ d); rewrite mem_iota; apply.
move: (Grid es P order adds) bx {box} => T; rewrite /tiles_of; case: (holding_of T d) => // ss /andP[runs /eqP sE].
have full : empty c = false.
  by apply/negP => h0; have := allP pos 0 h0.
split=> //; last by rewrite /= size_map -sE size_map.
rewrite /same /= sE /tidy full; split=> // l; rewrite -sE /inside => h; move: runs h; elim: (ss) l => [|s ss2 IH] [|x l] //= /andP[r1 r2] /andP[lx h].
by rewrite (one_run_at r1 lx) (IH l).
Qed.

Lemma places_at D (s : tilemap [finType of 'I_D]) T c us : boxes_of D T = Some (c, us) -> 0 < D ->
  (forall d, size (s.2 d) = size s.1) -> places s T ->
  s.1 = c /\ forall d : 'I_D, certify.offsets c (s.2 d) = nth [::] us d.
Proof.
move=> eT D0 zs pl; have [[/= sE _] _ _ _] := boxes_meant eT D0.
have eC : s.1 = c by have [/= <- _] := pl (Ordinal D0).
split=> // d; have [[shapeE elemE] zu pos _] := boxes_meant eT (ltn_ord d); have [_ eq_] := pl d.
have z : inside (shape (tiles_of T d)) (nseq (size c) 0).
  by rewrite shapeE /=; elim: (c) pos => //= x c2 IH /andP[x0 /IH in_c]; rewrite /inside /= x0.
have zo : size (certify.offsets c (s.2 d)) = size c by rewrite size_map size_zip zs eC minnn.
by have := eq_ _ z; rewrite (elemE _ z) /= eC (plus_nothing zu) (plus_nothing zo).
Qed.

(* ---- certificates ----                                                       *)

Lemma certified_ends version P c g f t : ~~ several c -> certify_claims version P c = Is_certified g f t ->
  exists F T, [/\ even_tiling (devices P) (from P) = Some F, even_tiling (devices P) (to P) = Some T
                & certify.certify (certify.Program (devices P) F T) (lines c)].
Proof.
move=> /negPf one; rewrite /certify_claims /ends_of one; do 3 case: ifP => // _.
case eF: (even_tiling _ _) => [F|] //; case eT: (even_tiling _ _) => [T|] //.
by case: ifP => // cert _; exists F, T.
Qed.

(* With scope several_dims: of every sequence of slices, and of allgathers,     *)
(* alltoalls and permutations along any number of dimensions.                   *)
Theorem certified_bound_along version P c g f t : 0 < devices P -> several c ->
  certify_claims version P c = Is_certified g f t ->
  forall (s1 s2 : tilemap [finType of 'I_(devices P)]) w,
  let n := global_of (from P) in
  balanced n s1 -> balanced n s2 -> places s1 (from P) -> places s2 (to P) ->
  sequence (@along_step _ n) s1 w s2 ->
  certify.lower_bound (lines c) <= def4_sequences.cost_of along_op (@tilemap_size _) s1 w.
Proof.
move=> D0 sev; rewrite /certify_claims sev; do 2 case: ifP => // _.
case eF: (boxes_of _ _) => [[c1 us]|] //; case eT: (boxes_of _ _) => [[c2 vs]|] //; case: ifP => // cert _ s1 s2 w b1 b2 p1 p2 sq.
have [e1 o1] := places_at eF D0 (fun d => balanced_size d b1) p1; have [e2 o2] := places_at eT D0 (fun d => balanced_size d b2) p2.
have [_ _ _ zu] := boxes_meant eF D0; have [_ _ _ zv] := boxes_meant eT D0.
apply: (certify_along_tiles (rows := [seq p.1 ++ p.2 | p <- zip us vs]) _ _ b1 b2 e1 e2); rewrite ?card_ord //.
have -> : [seq p.1 ++ p.2 | p <- zip us vs] = [seq nth [::] us d ++ nth [::] vs d | d <- iota 0 (devices P)].
  apply: (@eq_from_nth _ [::]); rewrite !size_map size_zip zu zv minnn ?size_iota // => k kd.
  by rewrite (nth_map ([::], [::])) ?size_zip ?zu ?zv ?minnn // nth_zip ?zu ?zv // (nth_map 0) ?size_iota // nth_iota.
rewrite -val_enum_ord -map_comp.
by rewrite (eq_map (f2 := fun d : 'I_(devices P) => certify.offsets c1 (s1.2 d) ++ certify.offsets c2 (s2.2 d))) => [|d] //=;
  rewrite -o1 -o2.
Qed.

(* Of every sequence of Fig. 10, over several axes, from what `from` says to    *)
(* what `to` says.                                                              *)
Lemma holds_places D (H : mesh) (a : assignment H [finType of 'I_D]) T : holds a T -> places (phys_of a) T.
Proof.
case=> _ h d; have := h d; rewrite /box_of.
suff -> : tile_map (beta a) d = certify.offsets (phys_of a).1 ((phys_of a).2 d) by [].
by rewrite /= ffunE /tile_map /= /base_offset_map base_offsetsE.
Qed.

Theorem certified_bound version P c g f t : certify_claims version P c = Is_certified g f t ->
  forall (H : mesh) (a1 a2 : assignment H [finType of 'I_(devices P)]) v,
  is_assignment a1 -> holds a1 (from P) -> holds a2 (to P) ->
  sequence (@multi_step H _) a1 v a2 ->
  certify.lower_bound (lines c) <= def4_sequences.cost_of multi_op (@assignment_size H _) a1 v.
Proof.
move=> cert H a1 a2 v wa h1 h2 sq; have [wa2 eg] := multi_ends wa sq.
case: (boolP (several c)) => [sev|one]; last first.
  have [F [T [eF eT ok]]] := certified_ends one cert.
  exact: (certify_sound ok wa (holds_stands eF wa h1) (holds_stands eT wa2 h2) sq).
have [wH w1] := andP wa; have [_ w2] := andP wa2; have [g1 _] := h1.
have ph := multi_phys_sequence wH sq; rewrite g1 in ph eg.
have [w [sqw ew]] := phys_along_sequence (sequences.sequence_impl (fun p a b (st : optimality.phys_ok _ _ p a b) => st.1) ph).
rewrite -multi_phys_cost -ew; apply: (certified_bound_along (has_devices wa) sev cert) sqw.
- by rewrite -g1; apply: phys_balanced.
- by rewrite -eg; apply: phys_balanced.
- exact: holds_places h1.
exact: holds_places h2.
Qed.

(* `optimal: true`: the Program is right, keeps the bound, and costs no more    *)
(* than any of these sequences.                                                 *)
Theorem certified_optimal version P c g f t : known_program P ->
  check.first_wrong (check.check P) = None ->
  certify_claims version P c = Is_certified g f t -> optimality_of P (check.check P) c = Optimal ->
  let n := size (steps P) in
  [/\ right P, height P n <= bound P, all (in_scope (several c)) (steps P)
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

(* With scope several_dims.                                                     *)
Theorem certified_optimal_along version P c g f t : known_program P -> several c ->
  check.first_wrong (check.check P) = None ->
  certify_claims version P c = Is_certified g f t -> optimality_of P (check.check P) c = Optimal ->
  let n := size (steps P) in
  [/\ right P, height P n <= bound P, all (in_scope true) (steps P)
    & forall (s1 s2 : tilemap [finType of 'I_(devices P)]) w,
      let N := global_of (from P) in
      balanced N s1 -> balanced N s2 -> places s1 (from P) -> places s2 (to P) -> sequence (@along_step _ N) s1 w s2 ->
      cost P n <= def4_sequences.cost_of along_op (@tilemap_size _) s1 w].
Proof.
move=> kn sev ok cert opt n; have := check_correct.check_figures kn; rewrite ok -/n => -[hE cE bE].
move: opt; rewrite /optimality_of sev hE cE bE; do 2 (case: ifP => // /negbFE); move=> /andP[_ scope].
case: ifP => // /andP[high /eqP costE] _; split=> //.
  by apply/(check_correct.check_sound_and_complete kn).
have D0 : 0 < devices P by case/and4P: kn.
by rewrite costE; apply: (certified_bound_along D0 sev cert).
Qed.
