(* Steps of Programs are steps between tile maps: where devices hold what a map *)
(* says before a step and after it, the step is the one of along.v.             *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig06_syntax fig07_base_offsets fig11_cost def4_sequences def5_weak def6_devices fig10_low_level.
Require Import vectors weak_steps tiles tile_maps along digits along_steps.
Require Import program meaning check_along check_steps.
Require certify check.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* Device number d holds its tile in the map.                                   *)
Definition lies (D : nat) (s : tilemap [finType of 'I_D]) (S : state (seq nat)) : Prop :=
  forall d : 'I_D, same (S d) (Tile s.1 (plus (certify.offsets s.1 (s.2 d)))).

(* ---- digits of an alltoall ----                                              *)
(* Of a step along several dimensions: off the dimension along which pieces are *)
(* concatenated, onto the one along which tiles are split.                      *)
Definition moved_digits (splits concats ms : seq nat) : seq moved :=
  [seq (q.1.1, q.1.2, q.2) | q <- zip (zip concats splits) ms].

Lemma moved_cons j splits i concats m ms :
  moved_digits (j :: splits) (i :: concats) (m :: ms) = (i, j, m) :: moved_digits splits concats ms.
Proof. by []. Qed.

Lemma moved_range r splits concats ms : size splits = size ms -> size concats = size ms ->
  all (gtn r) splits -> all (gtn r) concats -> all (leq 1) ms ->
  all (fun q : moved => [&& q.1.1 < r, q.1.2 < r & 0 < q.2]) (moved_digits splits concats ms).
Proof.
elim: ms splits concats => [|m ms IH] [|j splits] [|i concats] //= [zs] [zc] /andP[jr ls] /andP[ir lc] /andP[m0 pos].
by rewrite ir jr m0 IH.
Qed.

Lemma off_moved splits concats ms k : size splits = size ms -> size concats = size ms ->
  off_size (moved_digits splits concats ms) k = parts_along concats ms k.
Proof.
elim: ms splits concats => [|m ms IH] [|j splits] [|i concats] //= [zs] [zc].
by rewrite moved_cons off_cons parts_cons IH.
Qed.

Lemma onto_moved splits concats ms k : size splits = size ms -> size concats = size ms ->
  onto_size (moved_digits splits concats ms) k = parts_along splits ms k.
Proof.
elim: ms splits concats => [|m ms IH] [|j splits] [|i concats] //= [zs] [zc].
by rewrite moved_cons onto_cons parts_cons IH.
Qed.

(* The digits that are moved are those of the position q, if these are what each*)
(* dimension loses.                                                             *)
Lemma onto_number_moved splits concats ms t k x q : size splits = size ms -> size concats = size ms ->
  all (leq 1) ms -> q < prodn ms -> (forall i, i \in concats -> part_along concats ms q i = nth 0 t i %% parts_along concats ms i) ->
  onto_number (moved_digits splits concats ms) t k x = x * parts_along splits ms k + part_along splits ms q k.
Proof.
elim: ms splits concats x q => [|m ms IH] [|j splits] [|i concats] x q //=; first by rewrite /parts_along /part_along /those_of /=; lia.
move=> [zs] [zc] /andP[m0 pos] lq e; have n0 := prodn_gt0 pos; have lq' := ltn_pmod q n0.
have P0 k' := parts_gt0 concats k' pos; have lp k' : part_along concats ms (q %% prodn ms) k' < parts_along concats ms k' := part_lt concats k' pos lq'.
rewrite off_moved //= (IH splits concats _ (q %% prodn ms)) //; last first.
  move=> k' kc; have := e k'; rewrite inE kc orbT part_cons parts_cons => /(_ isT).
  case: eqP => _; rewrite ?mul1n ?add0n // => h.
  have := congr1 (fun a => a %% parts_along concats ms k') h; rewrite /= modnMDl (modn_small (lp k')) modn_dvdm // dvdn_mull //.
have ei : nth 0 t i %/ parts_along concats ms i %% m = q %/ prodn ms.
  have := e i; rewrite inE eqxx part_cons parts_cons eqxx => /(_ isT) h.
  have := congr1 (fun a => a %/ parts_along concats ms i) h; rewrite /= divnMDl // (divn_small (lp i)) addn0 => ->.
  by rewrite modn_divl.
rewrite ei parts_cons part_cons; case: eqP => _; last by rewrite mul1n.
by rewrite mulnDl addnA mulnA.
Qed.

(* ---- tiles side by side ----                                                 *)
Section Rows.
Variables (V : Type) (total : seq V -> V) (r : nat) (dims ms : seq nat).
Hypotheses (pos : all (leq 1) ms) (zd : size dims = size ms) (ld : all (gtn r) dims).

Lemma side_by_side_at (w : seq nat) (ts : seq (tile V)) p : shape (head (nowhere total) ts) = w -> size w = r -> all (leq 1) w ->
  p < prodn ms ->
  elem (side_by_side total dims ms ts) [seq part_along dims ms p i * nth 0 w i | i <- iota 0 r] = elem (nth (nowhere total) ts p) (nseq r 0).
Proof.
move=> sw zw w0 lp; rewrite /side_by_side sw zw /=.
have wpos i : i < r -> 0 < nth 0 w i by move=> ir; apply: (allP w0); rewrite mem_nth ?zw.
have -> : [seq nth 0 [seq part_along dims ms p i * nth 0 w i | i <- iota 0 r] i %/ nth 0 w i | i <- iota 0 r] =
          [seq part_along dims ms p i | i <- iota 0 r].
  by apply/eq_in_map => i; rewrite mem_iota /= => ir; rewrite nth_each // mulnK // wpos.
have -> : [seq nth 0 [seq part_along dims ms p i * nth 0 w i | i <- iota 0 r] i %% nth 0 w i | i <- iota 0 r] = nseq r 0.
  apply: (@eq_from_nth _ 0); rewrite size_map size_iota ?size_nseq // => i ir.
  by rewrite nth_each // nth_each // modnMl nth_nseq ir.
congr (elem (nth _ _ _) _); set f := fun p => [seq part_along dims ms p i | i <- iota 0 r].
have -> : [seq part_along dims ms p i | i <- iota 0 r] = nth [::] [seq f p | p <- iota 0 (prodn ms)] p by rewrite (nth_map 0) ?size_iota // nth_iota.
rewrite index_uniq ?size_map ?size_iota // map_inj_in_uniq ?iota_uniq // => q q'.
rewrite !mem_iota !add0n => /andP[_ lq] /andP[_ lq'] eq; apply: (part_inj zd ld pos) => // i ir.
by have := congr1 (fun t => nth 0 t i) eq; rewrite /f !nth_each.
Qed.
End Rows.

(* Along one dimension: tiles of one shape, one behind the other.               *)
Lemma joined_one (V : Type) (total : seq V -> V) i n w (ts : seq (tile V)) : size ts = n -> i < size w -> all (leq 1) w ->
  map (@shape V) ts = nseq n w -> 0 < n -> same (joined total i ts) (side_by_side total [:: i] [:: n] ts).
Proof.
move=> zt iw w0 sE n0; have wpos k : k < size w -> 0 < nth 0 w k by move=> kw; have := all_nthP 0 w0 k kw.
have hE : shape (head (nowhere total) ts) = w by case: ts zt sE => [|t ts] /=; [lia|case: n n0 => // n _ _ []].
have full : empty w = false by apply/negP => h; have := allP w0 0 h.
have partsE k : parts_along [:: i] [:: n] k = if i == k then n else 1 by rewrite parts_cons muln1.
have partE p k : p < n -> part_along [:: i] [:: n] p k = if i == k then p else 0.
  by move=> pn; rewrite part_cons /= divn1 muln1; case: eqP => _; rewrite ?addn0.
have shE : shape (joined total i ts) = upd w i (n * nth 0 w i) by rewrite /= sE joined_shape_nseq // /check.joined_alike full.
split.
  rewrite shE /side_by_side hE /=; apply: (@eq_from_nth _ 0); first by rewrite size_upd size_map size_iota.
  move=> k; rewrite size_upd => kw; rewrite nth_each // partsE nth_upd iw andbT (eq_sym k i).
  by case: eqP => [->|_]; rewrite ?muln1 // mulnC.
move=> l; rewrite shE => /insideP[zl ll]; rewrite size_upd in zl ll.
have li : nth 0 l i < n * nth 0 w i by have := ll i iw; rewrite nth_upd_eq.
have -> : elem (joined total i ts) l = elem (nth (nowhere total) ts (nth 0 l i %/ nth 0 w i)) (upd l i (nth 0 l i %% nth 0 w i)).
  have -> : elem (joined total i ts) l = let: (p, y) := locate [seq nth 0 (shape a) i | a <- ts] (nth 0 l i) in
    elem (nth (nowhere total) ts p) (upd l i y) by [].
  have -> : [seq nth 0 (shape a) i | a <- ts] = nseq n (nth 0 w i) by rewrite (map_comp (fun c => nth 0 c i)) sE map_nseq.
  by rewrite locate_nseq // edivn_def.
have pn : nth 0 l i %/ nth 0 w i < n by rewrite ltn_divLR ?wpos.
set p := nth 0 l i %/ nth 0 w i in pn *.
have lE : l = [seq part_along [:: i] [:: n] p k * nth 0 w k + nth 0 (upd l i (nth 0 l i %% nth 0 w i)) k | k <- iota 0 (size w)].
  apply: (@eq_from_nth _ 0) => [|k]; rewrite ?size_map ?size_iota zl // => kw; rewrite nth_each // partE // nth_upd zl iw andbT (eq_sym k i).
  by case: eqP => [<-|_]; rewrite ?mul0n // /p -divn_eq.
rewrite /side_by_side hE /=.
have -> : [seq nth 0 l k %/ nth 0 w k | k <- iota 0 (size w)] = [seq part_along [:: i] [:: n] p k | k <- iota 0 (size w)].
  apply/eq_in_map => k; rewrite mem_iota /= => kw; rewrite partE //; case: (i =P k) => [<-//|ne].
  by rewrite divn_small //; have := ll k kw; rewrite nth_upd_ne // eq_sym; apply/eqP.
have -> : [seq nth 0 l k %% nth 0 w k | k <- iota 0 (size w)] = upd l i (nth 0 l i %% nth 0 w i).
  apply: (@eq_from_nth _ 0) => [|k]; rewrite ?size_upd ?size_map ?size_iota ?zl // => kw; rewrite nth_each // nth_upd zl iw andbT.
  case: eqP => [->//|/eqP ne]; rewrite modn_small //; have := ll k kw; rewrite nth_upd_ne //.
congr (elem (nth _ _ _) _); rewrite muln1; set f := fun p => [seq part_along [:: i] [:: n] p k | k <- iota 0 (size w)].
have -> : [seq part_along [:: i] [:: n] p k | k <- iota 0 (size w)] = nth [::] [seq f p | p <- iota 0 n] p.
  by rewrite (nth_map 0) ?size_iota // nth_iota.
rewrite index_uniq ?size_map ?size_iota // map_inj_in_uniq ?iota_uniq // => q q'.
rewrite !mem_iota !add0n => /andP[_ lq] /andP[_ lq'] eq.
by have := congr1 (fun t => nth 0 t i) eq; rewrite /f !nth_each // !partE // eqxx.
Qed.

Section Steps.
Variables (D : nat) (g : seq nat).
Hypothesis D0 : 0 < D.
Local Notation DD := [finType of 'I_D].
Local Notation balanced := (@balanced DD g).
Implicit Types (s : tilemap DD) (S : state (seq nat)).
Let r := size g.

Lemma map_size s : balanced s -> size s.1 = r.
Proof. by move/balanced_localtype/localtype_size. Qed.
Lemma map_pos s : balanced s -> all (leq 1) s.1.
Proof. by move/balanced_localtype; case/and4P. Qed.
Lemma map_nth_pos s i : balanced s -> i < r -> 0 < nth 0 s.1 i.
Proof. by move=> bs ir; apply: (allP (map_pos bs)); rewrite mem_nth ?(map_size bs). Qed.

(* What lies where.                                                             *)
Lemma lies_shape s S d : lies s S -> d < D -> shape (S d) = s.1.
Proof. by move=> ls dD; have [] := ls (Ordinal dD). Qed.

Lemma lies_at s S (d : 'I_D) l i : balanced s -> lies s S -> inside s.1 l -> i < r ->
  nth 0 (elem (S d) l) i = nth 0 s.1 i * nth 0 (s.2 d) i + nth 0 l i.
Proof.
move=> bs ls il ir; have [sh ->] := ls d; last by rewrite sh.
have [zl _] := insideP _ _ il; have zc := map_size bs; have zt := balanced_size d bs.
rewrite (nth_map (0, 0)) ?size_zip ?size_map ?size_zip ?zl ?zt ?zc ?minnn // nth_zip ?size_map ?size_zip ?zl ?zt ?zc ?minnn //=.
by rewrite (nth_map (0, 0)) ?size_zip ?zt ?zc ?minnn // nth_zip ?zt.
Qed.

Lemma inside_start s : balanced s -> inside s.1 (nseq r 0).
Proof.
move=> bs; apply/insideP; rewrite size_nseq (map_size bs); split=> // k kr.
by rewrite nth_nseq kr map_nth_pos.
Qed.

(* The tile of device number e, a number.                                       *)
Definition tile_at s (e : nat) : seq nat := if insub e is Some d then s.2 d else [::].
Lemma tile_at_ord s (d : 'I_D) : tile_at s d = s.2 d.
Proof. by rewrite /tile_at valK. Qed.

Section Along.
Variables (G : seq (seq nat)) (splits dims ms : seq nat) (s s' : tilemap DD) (S S' : state (seq nat)).
Hypotheses (pos : all (leq 1) ms) (zd : size dims = size ms) (ld : all (gtn r) dims).
Hypotheses (len : forall row, row \in G -> size row = row_length G) (once_each : each_once D (flatten G)) (pm : prodn ms = row_length G).
Hypothesis dv : forall d i, d < D -> i < r -> parts_along splits ms i %| nth 0 (shape (S d)) i.
Hypotheses (bs : balanced s) (bs' : balanced s') (ls : lies s S) (ls' : lies s' S').
Variable taken : nat -> tile (seq nat) -> tile (seq nat).
Hypothesis takes : forall d e, d < D -> e < D -> same (taken d (S e)) (piece_along splits ms (seat_of G d) (S e)).
Hypothesis joins : forall d, d < D -> S' d = side_by_side the_one dims ms [seq taken d (S e) | e <- row_of G d].
Local Notation c := s.1.
Variable w : seq nat.
Hypothesis wE : w = extents_along splits ms c.

Let D_row (d : 'I_D) : [/\ row_of G d \in G, val d \in row_of G d, size (row_of G d) = prodn ms & forall e, e \in row_of G d -> e < D].
Proof.
have [ig id] := row_of_mem once_each (ltn_ord d); split=> //; first by rewrite len.
move=> e ie; have : e \in flatten G by apply/flattenP; exists (row_of G d).
by rewrite (perm_mem once_each) mem_iota.
Qed.

Let seat_lt (d : 'I_D) : seat_of G d < prodn ms.
Proof. by have [_ id <- _] := D_row d; rewrite index_mem. Qed.

Let extents i : i < r -> nth 0 c i = nth 0 w i * parts_along splits ms i.
Proof.
move=> ir; rewrite wE nth_each ?(map_size bs) // divnK //.
by have := dv (ltn_ord (Ordinal D0)) ir; rewrite (lies_shape ls).
Qed.

Let size_w : size w = r.
Proof. by rewrite wE size_extents (map_size bs). Qed.
Let w_pos : all (leq 1) w.
Proof.
apply/(all_nthP 0) => i; rewrite size_w => ir; have := map_nth_pos bs ir.
by rewrite extents // muln_gt0 => /andP[].
Qed.

Let w_nth k : k < r -> 0 < nth 0 w k.
Proof. by move=> kr; have := all_nthP 0 w_pos k; rewrite size_w => /(_ kr). Qed.

Let head_shape (d : 'I_D) : shape (head (nowhere the_one) [seq taken d (S e) | e <- row_of G d]) = w.
Proof.
have [_ id _ lt] := D_row d; case: (row_of G d) id lt => // e row _ lt.
have eD : e < D by apply: lt; exact: mem_head.
by have [-> _] := takes (ltn_ord d) eD; rewrite wE /= (lies_shape ls).
Qed.

Lemma joined_tile : s'.1 = [seq nth 0 w i * parts_along dims ms i | i <- iota 0 r].
Proof.
have := lies_shape ls' (ltn_ord (Ordinal D0)); rewrite joins // => <-.
by rewrite -[LHS]/[seq nth 0 (shape (head (nowhere the_one) _)) i * parts_along dims ms i | i <- iota 0 (size (shape (head _ _)))] head_shape size_w.
Qed.

(* Piece q of the tile of each device of a row, at its part of the new tile.    *)
Lemma joined_at (d : 'I_D) p i : p < prodn ms -> i < r ->
  nth 0 s'.1 i * nth 0 (s'.2 d) i + part_along dims ms p i * nth 0 w i =
  nth 0 c i * nth 0 (tile_at s (nth 0 (row_of G d) p)) i + part_along splits ms (seat_of G d) i * nth 0 w i.
Proof.
move=> lp ir; have [ig id zr lt] := D_row d.
set l := [seq part_along dims ms p i * nth 0 w i | i <- iota 0 r].
have il : inside s'.1 l.
  apply/insideP; rewrite joined_tile !size_map size_iota; split=> // k kr; rewrite !nth_each //.
  by rewrite mulnC ltn_pmul2l ?part_lt //; exact: w_nth.
have := lies_at d bs' ls' il ir; rewrite {2}/l nth_each // => <-.
rewrite joins // (side_by_side_at (r := r) pos zd ld (head_shape d)) // (nth_map 0) ?zr //.
set e := nth 0 (row_of G d) p; have eD : e < D by apply: lt; rewrite /e mem_nth ?zr.
have z : inside w (nseq r 0).
  by apply/insideP; rewrite size_nseq size_w; split=> // k kr; rewrite nth_nseq kr; exact: w_nth.
have [sh ->] := takes (ltn_ord d) eD; last by rewrite sh /= (lies_shape ls) // -wE.
rewrite /= (lies_shape ls) // -wE size_w.
have ip : inside c [seq part_along splits ms (seat_of G d) k * nth 0 w k + nth 0 (nseq r 0) k | k <- iota 0 r].
  apply/insideP; rewrite size_map size_iota (map_size bs); split=> // k kr; rewrite nth_each // nth_nseq kr addn0 extents // mulnC.
  by rewrite ltn_pmul2l ?part_lt //; exact: w_nth.
have := lies_at (Ordinal eD) bs ls ip ir; rewrite -[S (Ordinal eD)]/(S e) => ->.
by rewrite nth_each // nth_nseq ir addn0 -tile_at_ord.
Qed.

(* .. counted in parts.                                                         *)
Lemma joined_parts (d : 'I_D) p i : p < prodn ms -> i < r ->
  nth 0 (s'.2 d) i * parts_along dims ms i + part_along dims ms p i =
  nth 0 (tile_at s (nth 0 (row_of G d) p)) i * parts_along splits ms i + part_along splits ms (seat_of G d) i.
Proof.
move=> lp ir; have := joined_at d lp ir; rewrite extents // joined_tile nth_each //.
have w0 : 0 < nth 0 w i by exact: w_nth.
set a := parts_along _ _ _; set b := parts_along _ _ _; move=> e; apply/eqP; rewrite -(eqn_pmul2l w0); apply/eqP.
by nia.
Qed.

Let own (d : 'I_D) : nth 0 (row_of G d) (seat_of G d) = d.
Proof. by have [_ id _ _] := D_row d; rewrite nth_index. Qed.

(* No dimension both loses and gains.                                           *)
Lemma loses_or_gains i : i < r -> (parts_along dims ms i == 1) || (parts_along splits ms i == 1).
Proof.
move=> ir; apply/orP; have [e1|n1] := boolP (parts_along dims ms i == 1); [by left|right].
have n2 : 1 < parts_along dims ms i by have := parts_gt0 dims i pos; lia.
have at_part x : x < parts_along dims ms i -> exists2 p, p < prodn ms & part_along dims ms p i = x.
  move=> lx; have := @position_atP dims ms (upd (nseq r 0) i x) zd; rewrite size_upd size_nseq => /(_ ld pos).
  case: (check.position_at _ _ _) => p rest [_ lp e]; exists p => //; have := e i; rewrite nth_upd_eq ?size_nseq // => ex.
  by case: (nth 0 rest i) ex lx => [|k]; [rewrite muln0 addn0|nia].
have [p0 l0 e0] := at_part 0 (ltnW n2); have [p1 l1 e1] := at_part 1 n2.
pose d := Ordinal D0; have := joined_parts d l0 ir; have := joined_parts d l1 ir; rewrite e0 e1 addn0.
have b0 := parts_gt0 splits i pos; set b := parts_along splits ms i in b0 *.
set x := nth 0 (tile_at _ _) i; set y := nth 0 (tile_at _ _) i; set q := part_along _ _ _ _; move=> h1 h2.
have h3 : x * b = y * b + 1 by lia.
by have : b %| y * b + 1; [rewrite -h3 dvdn_mull|rewrite dvdn_addr ?dvdn_mull // dvdn1].
Qed.

End Along.

Theorem gathers_along (dims ms : seq nat) (t : table) s s' S :
  known D r (Allgather_dims dims ms t) -> good_groups D (Allgather_dims dims ms t) ->
  balanced s -> balanced s' -> lies s S -> lies s' (after the_one S (Allgather_dims dims ms t)) ->
  along_step g (along_gather [seq parts_along dims ms i | i <- iota 0 r]) s s'.
Proof.
move=> /and3P[/eqP zd ld pos] [len once_each pm] bs bs' ls ls'.
have dv d i : d < D -> i < r -> parts_along [::] ms i %| nth 0 (shape (S d)) i by rewrite /parts_along /those_of /= dvd1n.
have ext : extents_along [::] ms s.1 = s.1.
  apply: (@eq_from_nth _ 0); rewrite size_extents // => i ir; rewrite nth_each // /parts_along /those_of /= divn1 //.
have takes d e : d < D -> e < D -> same (S e) (piece_along [::] ms (seat_of (rows_of t) d) (S e)).
  by move=> _ _; have [sh el] := piece_whole ms (seat_of (rows_of t) d) (S e); split=> [|l il]; rewrite ?el ?sh.
have joins d : d < D -> after the_one S (Allgather_dims dims ms t) d = side_by_side the_one dims ms [seq S e | e <- row_of (rows_of t) d] by [].
have parts := joined_parts (taken := fun _ a => a) pos zd ld len once_each pm dv bs bs' ls ls' takes joins (esym ext).
have shapeE := joined_tile (taken := fun _ a => a) len once_each pm bs ls ls' takes joins (esym ext).
split=> //; first by rewrite size_map size_iota.
- rewrite shapeE; apply: (@eq_from_nth _ 0); rewrite size_map size_iota.
    by rewrite size_map size_zip size_map size_iota (map_size bs) minnn.
  move=> i ir; rewrite nth_each // nth_zipM ?nth_each //.
  by rewrite size_map size_iota (map_size bs).
- by case/and4P: (balanced_localtype bs').
move=> d; have zt := balanced_size d bs; have zt' := balanced_size d bs'.
apply: (@eq_from_nth _ 0); first by rewrite size_map size_zip size_map size_iota zt zt' (map_size bs) (map_size bs') minnn.
rewrite zt' (map_size bs') => i ir; rewrite /= (nth_map (0, 0)) ?size_zip ?size_map ?size_iota ?zt ?(map_size bs) ?minnn //.
rewrite nth_zip ?size_map ?size_iota ?zt ?(map_size bs) //= nth_each //.
have [ig id] := row_of_mem once_each (ltn_ord d).
have lq : seat_of (rows_of t) d < prodn ms by rewrite pm -(len _ ig) index_mem.
have := parts d _ i lq ir; rewrite nth_index // tile_at_ord.
have -> : parts_along [::] ms i = 1 by []. have -> : part_along [::] ms (seat_of (rows_of t) d) i = 0 by [].
rewrite muln1 addn0 => <-; have n0 := parts_gt0 dims i pos.
by rewrite divnMDl // divn_small ?addn0 // part_lt.
Qed.

Lemma alltoall_steps G splits concats ms s s' S S' (taken : nat -> tile (seq nat) -> tile (seq nat)) :
  size splits = size ms -> all (gtn r) splits -> all (leq 1) ms -> size concats = size ms -> all (gtn r) concats ->
  (forall row, row \in G -> size row = row_length G) -> each_once D (flatten G) -> prodn ms = row_length G ->
  (forall d i, d < D -> i < r -> parts_along splits ms i %| nth 0 (shape (S d)) i) ->
  balanced s -> balanced s' -> lies s S -> lies s' S' ->
  (forall d e, d < D -> e < D -> same (taken d (S e)) (piece_along splits ms (seat_of G d) (S e))) ->
  (forall d, d < D -> S' d = side_by_side the_one concats ms [seq taken d (S e) | e <- row_of G d]) ->
  along_step g (along_alltoall (moved_digits splits concats ms)) s s'.
Proof.
move=> zs lsp pos zd ld len once_each pm dv bs bs' ls ls' takes joins.
have parts := joined_parts pos zd ld len once_each pm dv bs bs' ls ls' takes joins erefl.
have either := loses_or_gains pos zd ld len once_each pm dv bs bs' ls ls' takes joins erefl.
have shapeE := joined_tile len once_each pm bs ls ls' takes joins erefl.
have onto_c k : k < r -> parts_along splits ms k %| nth 0 s.1 k.
  by move=> kr; have := dv _ k (ltn_ord (Ordinal D0)) kr; rewrite (lies_shape ls).
have lost k : k < r -> nth 0 s'.1 k = nth 0 s.1 k * parts_along concats ms k %/ parts_along splits ms k.
  move=> kr; rewrite shapeE !nth_each ?(map_size bs) // -{2}(divnK (onto_c k kr)).
  by rewrite mulnAC mulnK // parts_gt0.
have nth_t (d : 'I_D) k : k < r -> nth 0 (s'.2 d) k = nth 0 (s.2 d) k %/ parts_along concats ms k * parts_along splits ms k + part_along splits ms (seat_of G d) k
   /\ part_along concats ms (seat_of G d) k = nth 0 (s.2 d) k %% parts_along concats ms k.
  move=> kr; have [ig id] := row_of_mem once_each (ltn_ord d).
  have lq : seat_of G d < prodn ms by rewrite pm -(len _ ig) index_mem.
  have := parts d _ k lq kr; rewrite nth_index // tile_at_ord.
  have := part_lt concats k pos lq; have := part_lt splits k pos lq; have := either k kr.
  case/orP=> /eqP->; rewrite ?muln1 ltnS leqn0.
    by move=> _ /eqP-> ; rewrite addn0 divn1 modn1 => ->.
  move=> /eqP-> lt; rewrite addn0 => <-; rewrite addn0 modnMDl modn_small // divnMDl ?divn_small ?addn0 //.
  exact: leq_ltn_trans lt.
split=> //.
- apply/andP; split.
    exact: moved_range.
  apply/allP => k; rewrite mem_iota /= => kr; rewrite off_moved // onto_moved // either // onto_c // andbT /=.
  case/orP: (either k kr) => /eqP e1; first by rewrite e1 dvd1n.
  rewrite dvdn_divRL ?(localtype_dvd (balanced_localtype bs)) // mulnC.
  by have := localtype_dvd (balanced_localtype bs') k; rewrite lost // e1 divn1.
- apply: (@eq_from_nth _ 0); first by rewrite size_after_moving (map_size bs) (map_size bs').
  move=> k; rewrite (map_size bs') => kr; rewrite after_movingE ?(map_size bs) // off_moved // onto_moved // lost //.
move=> d; apply: (@eq_from_nth _ 0); first by rewrite /= size_alltoall_along (balanced_size d bs) (balanced_size d bs') (map_size bs) (map_size bs').
move=> k; rewrite (balanced_size d bs') (map_size bs') => kr.
rewrite /= nth_alltoall_along ?(balanced_size d bs) ?(map_size bs) // off_moved //.
have [ig id] := row_of_mem once_each (ltn_ord d).
rewrite (@onto_number_moved splits concats ms _ k _ (seat_of G d)) ?zs ?zd //; first by have [-> _] := nth_t d k kr.
  by rewrite pm -(len _ ig) index_mem.
by move=> i ic; have [_ ->] := nth_t d i (allP ld i ic).
Qed.

Theorem alltoalls_along (splits concats ms : seq nat) (t : table) s s' S :
  known D r (Alltoall_dims splits concats ms t) -> good_groups D (Alltoall_dims splits concats ms t) ->
  divisible D r S (Alltoall_dims splits concats ms t) ->
  balanced s -> balanced s' -> lies s S -> lies s' (after the_one S (Alltoall_dims splits concats ms t)) ->
  along_step g (along_alltoall (moved_digits splits concats ms)) s s'.
Proof.
move=> /andP[/and3P[/eqP zs lsp pos] /and3P[/eqP zd ld _]] [len once_each pm] dv bs bs' ls ls'.
apply: (alltoall_steps (taken := fun d a => piece_along splits ms (seat_of (rows_of t) d) a)) zs lsp pos zd ld len once_each pm dv bs bs' ls ls' _ _ => //.
Qed.

(* ---- along one dimension ----                                                *)
Lemma lies_same s S S' : (forall d, d < D -> same (S d) (S' d)) -> lies s S -> lies s S'.
Proof.
move=> e ls d; have [sh el] := e d (ltn_ord d); have [sh' el'] := ls d.
by split=> [|l il]; [rewrite -sh|rewrite -el -?el' ?sh].
Qed.

Lemma row_pos t : (forall row, row \in rows_of t -> size row = row_length (rows_of t)) -> each_once D (flatten (rows_of t)) ->
  0 < row_length (rows_of t).
Proof.
move=> len once_each; have [ig id] := row_of_mem once_each D0; rewrite -(len _ ig).
by case: (row_of _ _) id.
Qed.

Theorem gathers_one (i : nat) (t : table) s s' S : known D r (Allgather i t) -> good_groups D (Allgather i t) ->
  balanced s -> balanced s' -> lies s S -> lies s' (after the_one S (Allgather i t)) ->
  along_step g (along_gather [seq parts_along [:: i] [:: row_length (rows_of t)] k | k <- iota 0 r]) s s'.
Proof.
move=> kn [len once_each _] bs bs' ls ls'; have n0 := row_pos len once_each; have ir : i < r := kn.
apply: (@gathers_along [:: i] [:: row_length (rows_of t)] t s s' S) => //.
- by rewrite /known /known_digits /= ir n0.
- by split=> //=; rewrite muln1.
apply: lies_same ls' => d dD; have [ig id] := row_of_mem once_each dD.
have sE : map (@shape (seq nat)) [seq S e | e <- row_of (rows_of t) d] = nseq (row_length (rows_of t)) s.1.
  apply: (@eq_from_nth _ [::]); rewrite !size_map ?size_nseq ?len // => k kn'.
  rewrite nth_nseq kn' -map_comp (nth_map 0) ?len //= (lies_shape ls) //.
  have ie : nth 0 (row_of (rows_of t) d) k \in row_of (rows_of t) d by rewrite mem_nth ?len.
  have : nth 0 (row_of (rows_of t) d) k \in flatten (rows_of t) by apply/flattenP; exists (row_of (rows_of t) d).
  by rewrite (perm_mem once_each) mem_iota.
apply: (@joined_one _ the_one i (row_length (rows_of t)) s.1) sE n0; first by rewrite size_map len.
  by rewrite (map_size bs).
exact: map_pos bs.
Qed.

Lemma piece_one n q j w (a : tile (seq nat)) : shape a = w -> all (leq 1) w -> j < size w -> n %| nth 0 w j -> q < n ->
  [/\ same (piece Equal n q j a) (piece_along [:: j] [:: n] q a), all (leq 1) (extents_along [:: j] [:: n] w)
    & extents_along [:: j] [:: n] w = upd w j (nth 0 w j %/ n)].
Proof.
move=> sw w0 jw dv qn; have wpos k : k < size w -> 0 < nth 0 w k by move=> kw; have := all_nthP 0 w0 k kw.
have n0 : 0 < n by apply: leq_ltn_trans qn.
have partsE k : parts_along [:: j] [:: n] k = if j == k then n else 1 by rewrite parts_cons muln1.
have partE k : part_along [:: j] [:: n] q k = if j == k then q else 0.
  by rewrite part_cons /= divn1 muln1; case: eqP => _; rewrite ?addn0.
have eE : upd w j (nth 0 w j %/ n) = extents_along [:: j] [:: n] w.
  apply: (@eq_from_nth _ 0); first by rewrite size_upd size_extents.
  move=> k; rewrite size_upd => kw; rewrite nth_each // partsE nth_upd jw andbT (eq_sym k j).
  by case: eqP => [->|_]; rewrite ?divn1.
have pos : all (leq 1) (extents_along [:: j] [:: n] w).
  apply/(all_nthP 0) => k; rewrite size_extents => kw; rewrite nth_each // partsE; case: eqP => [<-|_]; last by rewrite divn1 wpos.
  by rewrite divn_gt0 // dvdn_leq // wpos.
have full : empty (extents_along [:: j] [:: n] w) = false by apply/negP => h; have := allP pos 0 h.
have shE : shape (piece Equal n q j a) = extents_along [:: j] [:: n] w by rewrite /= /piece_shape /= sw eE /tidy full.
split=> //; split; first by rewrite shE /= sw.
move=> l; rewrite shE => /insideP[zl _]; rewrite size_extents in zl.
rewrite [RHS]/= sw size_extents [LHS]/= sw; congr (elem a _).
apply: (@eq_from_nth _ 0) => [|k]; rewrite size_upd ?size_map ?size_iota zl // => kw.
rewrite [RHS]nth_each // nth_each // partE partsE nth_upd zl jw andbT (eq_sym k j).
by case: eqP => [<-|_]; rewrite ?mul0n.
Qed.

Theorem alltoalls_one (j i : nat) (t : table) s s' S : known D r (Alltoall Equal j i t) -> good_groups D (Alltoall Equal j i t) ->
  divisible D r S (Alltoall Equal j i t) -> balanced s -> balanced s' -> lies s S -> lies s' (after the_one S (Alltoall Equal j i t)) ->
  along_step g (along_alltoall [:: (i, j, row_length (rows_of t))]) s s'.
Proof.
move=> /andP[jr ir] [len once_each _] dv bs bs' ls ls'; have n0 := row_pos len once_each.
have dvd e : e < D -> (row_length (rows_of t)) %| nth 0 s.1 j by move=> eD; have := dv e eD; rewrite (lies_shape ls).
have seat_lt d : d < D -> seat_of (rows_of t) d < (row_length (rows_of t)).
  by move=> dD; have [ig id] := row_of_mem once_each dD; rewrite -(len _ ig) index_mem.
have jw : j < size s.1 by rewrite (map_size bs).
have takes d e : d < D -> e < D ->
    same (piece Equal (row_length (rows_of t)) (seat_of (rows_of t) d) j (S e)) (piece_along [:: j] [:: (row_length (rows_of t))] (seat_of (rows_of t) d) (S e)).
  by move=> dD eD; have [] := piece_one (lies_shape ls eD) (map_pos bs) jw (dvd e eD) (seat_lt d dD).
pose S' d := side_by_side the_one [:: i] [:: (row_length (rows_of t))] [seq piece Equal (row_length (rows_of t)) (seat_of (rows_of t) d) j (S e) | e <- row_of (rows_of t) d].
have ls2 : lies s' S'.
  apply: lies_same ls' => d dD; have [ig id] := row_of_mem once_each dD.
  have [_ pos _] := piece_one (lies_shape ls dD) (map_pos bs) jw (dvd d dD) (seat_lt d dD).
  have sE : map (@shape (seq nat)) [seq piece Equal (row_length (rows_of t)) (seat_of (rows_of t) d) j (S e) | e <- row_of (rows_of t) d] =
            nseq (row_length (rows_of t)) (extents_along [:: j] [:: (row_length (rows_of t))] s.1).
    apply: (@eq_from_nth _ [::]); rewrite !size_map ?size_nseq ?len // => k kn.
    rewrite nth_nseq kn -map_comp (nth_map 0) ?len // [LHS]/=.
    have ie : nth 0 (row_of (rows_of t) d) k \in row_of (rows_of t) d by rewrite mem_nth ?len.
    have eD : nth 0 (row_of (rows_of t) d) k < D.
      have : nth 0 (row_of (rows_of t) d) k \in flatten (rows_of t) by apply/flattenP; exists (row_of (rows_of t) d).
      by rewrite (perm_mem once_each) mem_iota.
    by have [sh _] := takes d _ dD eD; rewrite -[LHS]/(shape (piece Equal (row_length (rows_of t)) _ j (S _))) sh /= (lies_shape ls).
  apply: (@joined_one _ the_one i (row_length (rows_of t)) (extents_along [:: j] [:: (row_length (rows_of t))] s.1)) sE n0; first by rewrite size_map len.
    by rewrite size_extents (map_size bs).
  exact: pos.
apply: (@alltoall_steps (rows_of t) [:: j] [:: i] [:: (row_length (rows_of t))] s s' S S' (fun d a => piece Equal (row_length (rows_of t)) (seat_of (rows_of t) d) j a)) => //=.
- by rewrite jr.
- by rewrite n0.
- by rewrite ir.
- by rewrite muln1.
move=> d k dD kr; rewrite parts_cons muln1; case: eqP => [<-|_]; last by rewrite dvd1n.
by rewrite (lies_shape ls) // (dvd d dD).
Qed.

Theorem slices_one (j : nat) (t : table) s s' S : known D r (Dynslice Equal j t) -> good_groups D (Dynslice Equal j t) ->
  divisible D r S (Dynslice Equal j t) -> 1 < row_length (rows_of t) ->
  balanced s -> balanced s' -> lies s S -> lies s' (after the_one S (Dynslice Equal j t)) ->
  along_step g (along_slice j (row_length (rows_of t))) s s'.
Proof.
move=> kn [len once_each _] dv n1 bs bs' ls ls'; have jr : j < r := kn.
have jw : j < size s.1 by rewrite (map_size bs).
have dvd : row_length (rows_of t) %| nth 0 s.1 j by have := dv 0 D0; rewrite (lies_shape ls).
have seat_lt (d : 'I_D) : seat_of (rows_of t) d < row_length (rows_of t).
  by have [ig id] := row_of_mem once_each (ltn_ord d); rewrite -(len _ ig) index_mem.
have cut (d : 'I_D) := piece_one (lies_shape ls (ltn_ord d)) (map_pos bs) jw dvd (seat_lt d).
have eC : s'.1 = upd s.1 j (nth 0 s.1 j %/ row_length (rows_of t)).
  have [[sh _] _ <-] := cut (Ordinal D0); rewrite -(lies_shape ls' (ltn_ord (Ordinal D0))).
  by rewrite -[LHS]/(shape (piece Equal _ _ j (S _))) sh /= (lies_shape ls).
split=> //; split; first by apply/wsliceP; split; [exact: balanced_localtype bs|exact: n1|split; [exact: jw|exact: dvd|exact: balanced_localtype bs'|exact: eC]].
split=> //; exists (fun d : 'I_D => seat_of (rows_of t) d); split; first exact: seat_lt.
move=> d; apply: (@eq_from_nth _ 0); first by rewrite size_slice (balanced_size d bs) (balanced_size d bs') eC size_upd.
move=> i; rewrite (balanced_size d bs') (map_size bs') => ir.
have := lies_at d bs' ls' (inside_start bs') ir; set w := nth 0 s.1 j %/ row_length (rows_of t).
have w0 : 0 < w by have := map_nth_pos bs' jr; rewrite eC nth_upd_eq.
have cE : nth 0 s.1 j = w * row_length (rows_of t) by rewrite divnK.
set l := upd (nseq r 0) j (seat_of (rows_of t) d * w + 0).
have il : inside s.1 l.
  apply/insideP; rewrite size_upd size_nseq (map_size bs); split=> // k kr; rewrite nth_upd size_nseq jr andbT.
  case: eqP => [->|_]; last by rewrite nth_nseq kr map_nth_pos.
  by rewrite addn0 cE mulnC ltn_pmul2l // seat_lt.
have -> : elem (after the_one S (Dynslice Equal j t) d) (nseq r 0) = elem (S d) l.
  rewrite -[LHS]/(elem (S d) (upd (nseq r 0) j (seat_of (rows_of t) d * (nth 0 (shape (S d)) j %/ row_length (rows_of t)) + nth 0 (nseq r 0) j))).
  by rewrite (lies_shape ls) // nth_nseq jr.
rewrite (lies_at d bs ls il ir) eC /l /slice_tile !nth_upd size_nseq jr jw (balanced_size d bs) jw !andbT.
rewrite nth_nseq ir; case: eqP => [->|_]; last first.
  by rewrite !addn0 => /eqP; rewrite eqn_pmul2l ?map_nth_pos // => /eqP.
rewrite !addn0 -/w => e; apply/eqP; rewrite -(eqn_pmul2l w0) -e cE mulnDr; apply/eqP.
by rewrite -mulnA (mulnC (row_length (rows_of t))) (mulnC _ w).
Qed.

(* ---- permutations ----                                                       *)
Lemma lies_tile s s' S S' (d e : 'I_D) : balanced s -> balanced s' -> lies s S -> lies s' S' -> S' d = S e ->
  s'.1 = s.1 /\ s'.2 d = s.2 e.
Proof.
move=> bs bs' ls ls' eS; have eC : s'.1 = s.1.
  by rewrite -(lies_shape ls' (ltn_ord d)) eS (lies_shape ls).
split=> //; apply: (@eq_from_nth _ 0); first by rewrite (balanced_size d bs') (balanced_size e bs) eC.
move=> i; rewrite (balanced_size d bs') (map_size bs') => ir.
have := lies_at d bs' ls' (inside_start bs') ir; have := lies_at e bs ls (inside_start bs) ir.
rewrite eS eC => -> /addIn /eqP; rewrite eqn_pmul2l ?map_nth_pos // => /eqP.
by [].
Qed.

Lemma permutes (pi : 'I_D -> 'I_D) s s' S S' : injective pi -> balanced s -> balanced s' -> lies s S -> lies s' S' ->
  (forall d : 'I_D, S' d = S (pi d)) -> along_step g along_permute s s'.
Proof.
move=> inj bs bs' ls ls' e; split=> //; split; first by have [] := lies_tile bs bs' ls ls' (e (Ordinal D0)).
by exists pi => [|d]; [exact: injF_bij|have [_ ->] := lies_tile bs bs' ls ls' (e d)].
Qed.

Theorem permutes_source (t : table) s s' S : good_permutation D (Allpermute t) -> balanced s -> balanced s' -> lies s S ->
  lies s' (after the_one S (Allpermute t)) -> along_step g along_permute s s'.
Proof.
move=> each bs bs' ls ls'; have {}each : perm_eq (row_of_one t) (iota 0 D) := each.
have zs : size (row_of_one t) = D by rewrite (perm_size each) size_iota.
have lt (d : 'I_D) : nth 0 (row_of_one t) d < D.
  have : nth 0 (row_of_one t) d \in row_of_one t by rewrite mem_nth ?zs.
  by rewrite (perm_mem each) mem_iota.
have un : uniq (row_of_one t) by rewrite (perm_uniq each) iota_uniq.
apply: (@permutes (fun d => Ordinal (lt d)) s s' S _ _ bs bs' ls ls') => // d e /(congr1 val) /= eq.
have := nth_uniq 0 (i := d) (j := e) _ _ un; rewrite zs => /(_ (ltn_ord d) (ltn_ord e)); rewrite eq eqxx => /esym/eqP.
exact: val_inj.
Qed.

Theorem permutes_pairs (ps : seq (nat * nat)) s s' S : known D r (Pairs ps) -> good_permutation D (Pairs ps) ->
  balanced s -> balanced s' -> lies s S -> lies s' (after the_one S (Pairs ps)) -> along_step g along_permute s s'.
Proof.
move=> kn [u1 u2 same_] bs bs' ls ls'; have kn' : all (fun p => (p.1 < D) && (p.2 < D)) ps := kn.
pose src d := if first (fun p => p.2 == d) ps is Some p then p.1 else d.
have firstP d : if first (fun p => p.2 == d) ps is Some p then (p \in ps) && (p.2 == d) else d \notin map snd ps.
  elim: (ps) => //= p qs IH; case: eqP => [e|/eqP ne]; first by rewrite mem_head e eqxx.
  by case: (first _ qs) IH => [q /andP[iq ->]|]; rewrite inE ?iq ?orbT // eq_sym (negPf ne).
have lt (d : 'I_D) : src d < D.
  rewrite /src; have := firstP d; case: (first _ ps) => [p /andP[ip _]|_] //.
  by have /andP[] := allP kn' p ip.
have one p q : p \in ps -> q \in ps -> p.1 = q.1 -> p = q.
  elim: (ps) u1 => //= x qs IH /andP[out u]; rewrite !inE => /orP[/eqP->|ip] /orP[/eqP->|iq] // e; last exact: IH.
    by rewrite e map_f in out.
  by rewrite -e map_f in out.
have inj d e : src d = src e -> d = e.
  rewrite /src; have := firstP d; have := firstP e.
  case: (first _ ps) => [q /andP[iq /eqP <-]|ne]; case: (first _ ps) => [p /andP[ip /eqP <-]|nd] //.
  - by move=> eq; rewrite (one p q).
  - by move=> eq; move: nd; rewrite eq -(perm_mem same_) map_f.
  by move=> eq; move: ne; rewrite -eq -(perm_mem same_) map_f.
apply: (@permutes (fun d => Ordinal (lt d)) s s' S _ _ bs bs' ls ls') => [d e /(congr1 val)/inj/val_inj //|d].
by rewrite /= /src; case: (first _ ps).
Qed.
End Steps.
