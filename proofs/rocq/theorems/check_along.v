(* Digits of positions, of which each belongs to a dimension: the position with *)
(* given parts, which meaning.v looks for and check.v computes.                 *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation vectors program meaning check.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Lemma parts_cons j dims m counts i :
  parts_along (j :: dims) (m :: counts) i = (if j == i then m else 1) * parts_along dims counts i.
Proof. by rewrite /parts_along /those_of /=; case: ifP; rewrite ?mul1n. Qed.

Lemma part_cons j dims m counts p i :
  part_along (j :: dims) (m :: counts) p i =
  (if j == i then p %/ prodn counts * parts_along dims counts i else 0) +
  part_along dims counts (p %% prodn counts) i.
Proof. by rewrite /part_along /parts_along /those_of /=; case: ifP. Qed.

Lemma parts_gt0 dims counts i : all (leq 1) counts -> 0 < parts_along dims counts i.
Proof.
move=> pos; apply: prodn_gt0; apply/allP => m /mem_mask; exact: (allP pos).
Qed.

Lemma part_lt dims counts p i : all (leq 1) counts -> p < prodn counts ->
  part_along dims counts p i < parts_along dims counts i.
Proof.
elim: counts dims p => [|m counts IH] [|j dims] p //= /andP[m0 pos] lt.
have n0 := prodn_gt0 pos; rewrite part_cons parts_cons.
have := IH dims (p %% prodn counts) pos (ltn_pmod _ n0); case: ifP => _; last by rewrite mul1n add0n.
have lk : p %/ prodn counts < m by rewrite ltn_divLR.
move=> h; apply: (@leq_trans ((p %/ prodn counts).+1 * parts_along dims counts i)); last by rewrite leq_mul2r lk orbT.
by rewrite mulSn addnC ltn_add2r.
Qed.

Lemma part_inj r dims counts p p' : size dims = size counts -> all (gtn r) dims -> all (leq 1) counts ->
  p < prodn counts -> p' < prodn counts ->
  (forall i, i < r -> part_along dims counts p i = part_along dims counts p' i) -> p = p'.
Proof.
elim: counts dims p p' => [|m counts IH] [|j dims] p p' //=; first by case: p p' => [|p] [|p'].
move=> [es] /andP[lj ld] /andP[m0 pos] lt lt' e; have n0 := prodn_gt0 pos.
have lr i : part_along dims counts (p %% prodn counts) i < parts_along dims counts i.
  exact: part_lt pos (ltn_pmod _ n0).
have lr' i : part_along dims counts (p' %% prodn counts) i < parts_along dims counts i.
  exact: part_lt pos (ltn_pmod _ n0).
have em : p %% prodn counts = p' %% prodn counts.
  apply: (IH dims) => //; try exact: ltn_pmod; move=> i /e; rewrite !part_cons; case: ifP => // _ h.
  by rewrite -(modn_small (lr i)) -(modn_small (lr' i)) -(modnMDl (p %/ prodn counts)) h modnMDl.
have := e j lj; rewrite !part_cons eqxx em => /addIn /eqP.
rewrite eqn_mul2r eqn0Ngt parts_gt0 //= => /eqP ed.
by rewrite (divn_eq p (prodn counts)) (divn_eq p' (prodn counts)) ed em.
Qed.

Lemma position_atP dims counts xs : size dims = size counts -> all (gtn (size xs)) dims -> all (leq 1) counts ->
  let: (p, rest) := position_at dims counts xs in
  [/\ size rest = size xs, p < prodn counts &
      forall i, nth 0 xs i = part_along dims counts p i + parts_along dims counts i * nth 0 rest i].
Proof.
elim: dims counts => [|j dims IH] [|m counts] //=; first by split=> // i; rewrite /part_along /parts_along /= mul1n.
move=> [es] /andP[lj ld] /andP[m0 pos]; have := IH counts es ld pos.
case: (position_at dims counts xs) => p rest [er lp e]; rewrite edivn_def size_upd; split=> //.
  have lk : nth 0 rest j %% m < m by rewrite ltn_mod.
  apply: (@leq_trans ((nth 0 rest j %% m).+1 * prodn counts)); last by rewrite leq_mul2r lk orbT.
  by rewrite mulSn addnC ltn_add2r.
have n0 := prodn_gt0 pos; move=> i; rewrite part_cons parts_cons nth_upd er lj andbT.
rewrite divnMDl // (divn_small lp) addn0 modnMDl (modn_small lp) e.
case: (altP (i =P j)) => [->|ne]; last by rewrite eq_sym (negPf ne) mul1n add0n.
by rewrite eqxx {1}(divn_eq (nth 0 rest j) m); nia.
Qed.

(* The position that has these parts.                                           *)
Lemma position_index r dims counts (xs : seq nat) : size xs = r -> size dims = size counts -> all (gtn r) dims ->
  all (leq 1) counts -> (forall i, i < r -> nth 0 xs i < parts_along dims counts i) ->
  let p := (position_at dims counts xs).1 in
  p < prodn counts /\
  index xs [seq [seq part_along dims counts p i | i <- iota 0 r] | p <- iota 0 (prodn counts)] = p.
Proof.
move=> ex es ld pos lt; have := @position_atP dims counts xs es; rewrite ex => /(_ ld pos).
case: (position_at dims counts xs) => p rest /= [er lp e]; split=> //.
have part_of i : i < r -> part_along dims counts p i = nth 0 xs i.
  move=> li; have := lt i li; rewrite e; have := parts_gt0 dims i pos.
  by case: (nth 0 rest i) => [|k]; [rewrite muln0 addn0|nia].
set f := fun p => [seq part_along dims counts p i | i <- iota 0 r].
have -> : xs = nth [::] [seq f p | p <- iota 0 (prodn counts)] p.
  rewrite (nth_map 0) ?size_iota // nth_iota // add0n.
  apply: (@eq_nth _ 0) => [|i]; first by rewrite size_map size_iota.
  by rewrite ex => li; rewrite (nth_map 0) ?size_iota // nth_iota // part_of.
rewrite index_uniq ?size_map ?size_iota // map_inj_in_uniq ?iota_uniq // => q q'.
rewrite !mem_iota !add0n => /andP[_ lq] /andP[_ lq'] eq; apply: (part_inj es ld pos) => // i li.
by have := congr1 (fun t => nth 0 t i) eq; rewrite /f !(nth_map 0) ?size_iota // nth_iota.
Qed.
