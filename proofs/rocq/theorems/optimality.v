(* From weak sequences to low-level ones and back, with one permutation at      *)
(* most; what the cheapest sequences look like.                                 *)
(*                                                                              *)
(* Paper: Theorem 6.4, equation (8), Lemma 6.6, Theorem 6.7, on tile maps.      *)
(* Statements S2, S3, the second half of S5, S6.                                *)
(*                                                                              *)
(* Everything is said for steps whose factors are `ok`: the primes for one axis *)
(* at a time, all numbers from 2 on for several (Sec. 7.1).                     *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig06_syntax fig07_base_offsets fig08_typing def5_weak def6_devices.
Require Import fig11_cost def4_sequences fig10_low_level vectors weak_steps sequences fibres tiles.
Require Import tile_maps weak_patterns lemma_6_5.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Lowering.
Variables (D : finType) (g : seq nat) (ok : pred nat).
Hypothesis ok_dvd : forall n d, ok n -> d %| n -> 1 < d -> ok d.
Local Notation tilemap := (tilemap D).
Local Notation is_localtype := (is_localtype #|D| g).
Local Notation weak_ok := (ok_step #|D| g ok).
Local Notation weak_sequence := (sequence weak_ok).
Local Notation weak_cost := (cost_of weak_op prodn).
Implicit Types (s : tilemap) (c : seq nat) (w : seq (weak * seq nat)) (v : seq (phys * tilemap)).

Definition ok_phys (p : phys) : bool := if p is pweak q then ok (factor q) else true.
Definition phys_ok (p : phys) s s' : Prop := phys_step g p s s' /\ ok_phys p.
Local Notation sequence := (sequence phys_ok).
Local Notation cost := (cost_of phys_op (@tilemap_size D)).
Local Notation valley := (valley_of (@tilemap_size D)).
Local Notation labels := (labels phys_op).

Lemma phys_sized p s s' : phys_ok p s s' -> sized phys_op (@tilemap_size D) p s s'.
Proof.
case=> -[_]; case: p => [q [st _] oq|[e _] _]; last by rewrite /sized /= /tilemap_size e.
exact: (ok_step_sized (conj st oq)).
Qed.

Lemma phys_ok_rev p s s' : phys_ok p s s' -> phys_ok (phys_rev p) s' s.
Proof. by case=> /phys_step_rev st o; split=> //; case: p o {st} => //= q; rewrite weak_rev_factor. Qed.

Lemma phys_ok_class q s s' : phys_ok (pweak q) s s' -> weak_ok q s.1 s'.1.
Proof. by case=> -[_ []]. Qed.

(* ---- v does on tile maps what w does on localtypes ----                      *)
Definition lowers v w : Prop := [seq (q.1, q.2.1) | q <- v] = [seq (pweak q.1, q.2) | q <- w].


Lemma lowers_cat v1 w1 v2 w2 : lowers v1 w1 -> lowers v2 w2 -> lowers (v1 ++ v2) (w1 ++ w2).
Proof. by rewrite /lowers !map_cat => -> ->. Qed.

Lemma lowers_labels v w : lowers v w -> labels v = def4_sequences.labels weak_op w.
Proof.
move=> /(congr1 (map (fun q => phys_op q.1))); rewrite -!map_comp /def4_sequences.labels => e.
by rewrite [LHS]e.
Qed.

Lemma lowers_sizes v w s : lowers v w -> sizes_of (@tilemap_size D) s v = sizes_of prodn s.1 w.
Proof.
move=> /(congr1 (map (fun q => prodn q.2))); rewrite -!map_comp /sizes_of => e.
by congr cons; rewrite [LHS]e.
Qed.

Lemma lowers_cost v w s : lowers v w -> cost s v = weak_cost s.1 w.
Proof. by move=> l; rewrite /cost_of (lowers_labels l) (lowers_sizes s l). Qed.

Lemma lowers_valley v w s : lowers v w -> valley s v = valley_of prodn s.1 w.
Proof. by move=> l; rewrite /valley_of (lowers_sizes s l). Qed.

Lemma lowers_end v w s : lowers v w -> (end_of s v).1 = end_of s.1 w.
Proof.
by rewrite /end_of; elim: v w s => [|[p s'] v IH] [|[q c] w] s //= [_ <- /IH <-].
Qed.

(* ---- Theorem 6.4 on tile maps, forwards and backwards ----                   *)
Theorem theorem_6_4_tiles s w c' : balanced g s -> weak_sequence s.1 w c' ->
  exists v s', [/\ sequence s v s', s'.1 = c', balanced g s' & lowers v w].
Proof.
elim: w s => [|[q c] w IH] s bs /=; first by move=> <-; exists [::], s.
case=> -[st oq] sq; have [f st'] := lemma_6_3_tiles bs st.
have [|v [s' [sq' e bs' l]]] := IH (c, f) _ sq; first exact: phys_step_balanced st'.
by exists ((pweak q, (c, f)) :: v), s'; split=> //; rewrite /lowers /= l.
Qed.

Theorem theorem_6_4_back s' w c : balanced g s' -> weak_sequence c w s'.1 ->
  exists v s, [/\ sequence s v s', s.1 = c, balanced g s & lowers v w].
Proof.
move=> bs'; elim: w c => [|[q c1] w IH] c /=; first by move=> ->; exists [::], s'.
case=> -[st oq] /IH[v [s [sq e bs l]]]; rewrite -e in st.
have [f st'] := lemma_6_3_tiles bs (weak_step_rev st).
have := phys_step_rev st'; rewrite /= weak_revK => st''.
exists ((pweak q, s) :: v), (c, f); split=> //; first exact: phys_step_balanced st'.
by rewrite /lowers /= l e.
Qed.

(* ---- Lemma 6.6: the weak sequence below; allpermutes vanish ----             *)
Fixpoint lift v : seq (weak * seq nat) :=
  match v with
  | [::] => [::]
  | (pweak q, s) :: v' => (q, s.1) :: lift v'
  | (ppermute, _) :: v' => lift v'
  end.

Definition is_permute (p : op) : bool := if p is Allpermute then true else false.

Lemma lemma_6_6_tiles s v s' : sequence s v s' ->
  weak_sequence s.1 (lift v) s'.1 /\
  def4_sequences.labels weak_op (lift v) = [seq p <- labels v | ~~ is_permute p].
Proof.
elim: v s => [|[p s1] v IH] s /=; first by move=> ->.
case=> st /IH[sq el]; case: p st => [q|] st /=.
  by rewrite el; split; [split; [exact: phys_ok_class st|]|case: q {st}].
by split=> //; case: st => -[_ [<- _]] _.
Qed.

Lemma lowers_lift v w : lowers v w -> lift v = w.
Proof. by rewrite /lowers; elim: v w => [|[p s] v IH] [|[q c] w] //= [-> -> /IH ->]. Qed.

Lemma lift_lowers v : ~~ has is_permute (labels v) -> lowers v (lift v).
Proof.
rewrite /lowers; elim: v => [|[[q|] s] v IH] //= /norP[_ /IH ->] //.
Qed.

Lemma lift_cost s v s' : sequence s v s' ->
  weak_cost s.1 (lift v) + has is_permute (labels v) * valley_of prodn s.1 (lift v) <= cost s v.
Proof.
elim: v s => [|[p s1] v IH] s //= [st sq]; rewrite cost_cons; have := IH _ sq.
case: p st => [q|] st /=.
  rewrite cost_cons valley_of_cons /tilemap_size.
  have -> : is_permute (weak_op q) = false by case: q {st}.
  case: has; rewrite ?mul0n ?mul1n /=; last by lia.
  by have := geq_minr (prodn s.1) (valley_of prodn s1.1 (lift v)); lia.
have e : s1.1 = s.1 by case: st => -[_ []].
rewrite e mul1n /tilemap_size; have : valley_of prodn s.1 (lift v) <= prodn s.1.
  by apply: valley_le; apply: mem_head.
by lia.
Qed.

(* ---- S2: one allpermute, at any place ----                                   *)
Theorem S2 s1 s2 w1 w2 c : balanced g s1 -> balanced g s2 ->
  weak_sequence s1.1 w1 c -> weak_sequence c w2 s2.1 ->
  exists v1 v2 s s', [/\ sequence s1 (v1 ++ (ppermute, s') :: v2) s2,
    [/\ lowers v1 w1, lowers v2 w2, s.1 = c & s'.1 = c]
    & cost s1 (v1 ++ (ppermute, s') :: v2) = weak_cost s1.1 (w1 ++ w2) + prodn c].
Proof.
move=> bs1 bs2 sq1 sq2.
have [v1 [s [sv1 es bs l1]]] := theorem_6_4_tiles bs1 sq1.
have [v2 [s' [sv2 es' bs' l2]]] := theorem_6_4_back bs2 sq2.
have st : phys_ok ppermute s s' by split=> //; apply: permute_tiles => //; rewrite es es'.
exists v1, v2, s, s'; split=> //; first by apply: sequence_join sv1 _.
rewrite !cost_cat cost_cons (lowers_cost _ l1) (lowers_cost _ l2) -(sequence_end sv1).
by rewrite -(sequence_end sq1) es' /= /tilemap_size es; lia.
Qed.

(* The same with the allpermute in the valley of a normal form.                 *)
Corollary S2_valley s1 s2 w : balanced g s1 -> balanced g s2 -> weak_sequence s1.1 w s2.1 ->
  normal_form (def4_sequences.labels weak_op w) ->
  exists v, [/\ sequence s1 v s2, normal_form (labels v), count is_permute (labels v) = 1
    & cost s1 v = weak_cost s1.1 w + valley_of prodn s1.1 w].
Proof.
move=> bs1 bs2 sq nf.
have [w1 [w2 [ew nf' ev]]] := room_for_permute (@ok_step_sized _ _ _) sq nf.
rewrite ew in sq; have [c [sq1 sq2]] := sequence_split sq.
have [v1 [v2 [s [s' [sv [l1 l2 es es'] ec]]]]] := S2 bs1 bs2 sq1 sq2.
have no u w0 : lowers u w0 -> count is_permute (labels u) = 0.
  by move/lowers_labels=> ->; elim: w0 => //= -[[]] //.
exists (v1 ++ (ppermute, s') :: v2); split=> //.
- by rewrite labels_cat /= (lowers_labels l1) (lowers_labels l2).
- by rewrite labels_cat count_cat /= (no _ _ l1) (no _ _ l2).
by rewrite ec -ew -ev (sequence_end sq1).
Qed.

(* ---- S3: the shape of the optimum ----                                       *)
(* Every sequence can be replaced by one that costs no more, is a normal form,  *)
(* keeps the bound (4) and has at most one allpermute, which stands in the      *)
(* valley as a normal form has no other place for it.                           *)
Theorem S3 s1 v s2 : balanced g s1 -> balanced g s2 -> sequence s1 v s2 ->
  exists v', [/\ sequence s1 v' s2, normal_form (labels v'), count is_permute (labels v') <= 1,
    memory_constrained (sizes_of (@tilemap_size D) s1 v') & cost s1 v' <= cost s1 v].
Proof.
move=> bs1 bs2 sq; have [sqw elab] := lemma_6_6_tiles sq; have le := lift_cost sq.
suff [v' [sq' nf one le']] : exists v', [/\ sequence s1 v' s2, normal_form (labels v'),
    count is_permute (labels v') <= 1 & cost s1 v' <= cost s1 v].
  by exists v'; split=> //; apply: normal_form_constrained phys_sized _ _ _ sq' nf.
case nf: (normal_form (def4_sequences.labels weak_op (lift v))); last first.
  have [w [sqn nfn len]] := S12 ok_dvd (balanced_localtype bs1) sqw (negbT nf).
  have [v' [sq' nf' one ec]] := S2_valley bs1 bs2 sqn nfn.
  by exists v'; split; rewrite ?one // ec; lia.
case hp: (has is_permute (labels v)) le => le.
  have [v' [sq' nf' one ec]] := S2_valley bs1 bs2 sqw nf.
  by exists v'; split; rewrite ?one // ec -[X in _ + X]mul1n.
exists v; split=> //; last by move/negbT: hp; rewrite has_count -leqNgt leqn0 => /eqP->.
have /all_filterP e : all (predC is_permute) (labels v) by rewrite all_predC hp.
by move: nf; rewrite elab e.
Qed.

(* S3 as a formula: OPT is the least of cost(w) over the weak normal forms w    *)
(* that can be realised exactly, and of cost(w) + valley(w) over all.           *)
Theorem S3_lower_bound s1 v s2 : balanced g s1 -> balanced g s2 -> sequence s1 v s2 ->
  exists w, [/\ weak_sequence s1.1 w s2.1, normal_form (def4_sequences.labels weak_op w)
    & (exists v', [/\ sequence s1 v' s2, lowers v' w & weak_cost s1.1 w <= cost s1 v])
      \/ weak_cost s1.1 w + valley_of prodn s1.1 w <= cost s1 v].
Proof.
move=> bs1 bs2 sq; have [sqw elab] := lemma_6_6_tiles sq; have le := lift_cost sq.
case nf: (normal_form (def4_sequences.labels weak_op (lift v))); last first.
  have [w [sqn nfn len]] := S12 ok_dvd (balanced_localtype bs1) sqw (negbT nf).
  by exists w; split=> //; right; lia.
exists (lift v); split=> //; case hp: (has is_permute (labels v)) le => le.
  by right; rewrite -[X in _ + X]mul1n.
left; exists v; split=> //; first by apply: lift_lowers; rewrite hp.
by apply: leq_trans le; apply: leq_addr.
Qed.

(* ---- Theorem 6.7 on tile maps ----                                           *)
(* W <= OPT, too: `lift` costs no more, and `lemma_6_5` finds the normal form.  *)
Theorem theorem_6_7_tiles s1 v s2 : balanced g s1 -> balanced g s2 -> sequence s1 v s2 ->
  exists v' s', [/\ sequence s1 (rcons v' (ppermute, s')) s2, normal_form (labels v'),
    ~~ has is_permute (labels v')
    & cost s1 (rcons v' (ppermute, s')) <= cost s1 v + tilemap_size s2].
Proof.
move=> bs1 bs2 sq; have [sqw _] := lemma_6_6_tiles sq; have le := lift_cost sq.
have [w [sqn nfn _ len]] := lemma_6_5_ok ok_dvd (balanced_localtype bs1) sqw.
have [v1 [v2 [s [s' [sv [l1 l2 es es'] ec]]]]] := S2 bs1 bs2 sqn (erefl : weak_sequence s2.1 [::] s2.1).
have e2 : v2 = [::] by case: (v2) l2.
subst v2; exists v1, s'; rewrite -cats1; split=> //; first by rewrite (lowers_labels l1).
  by rewrite (lowers_labels l1) has_map; elim: (w) => //= -[[]] //.
rewrite ec cats0 /tilemap_size leq_add2r; apply: leq_trans len _.
by apply: leq_trans le; apply: leq_addr.
Qed.

(* ---- S5, second half: what costs something costs at least L2 ----            *)
Theorem S5_gap s1 v s2 : sequence s1 v s2 -> cost s1 v = 0 \/ tilemap_size s2 <= cost s1 v.
Proof. by move/(cost_zero_or_end phys_sized) => [[]|]; [left|right]. Qed.

Theorem S5_gap_weak c w c' : weak_sequence c w c' -> weak_cost c w = 0 \/ prodn c' <= weak_cost c w.
Proof. by move/(cost_zero_or_end (@ok_step_sized _ _ _)) => [[]|]; [left|right]. Qed.

(* ---- S6: factor two ----                                                     *)
(* w costs no more than any weak sequence, v anything but nothing.              *)
Theorem S6 s1 v s2 w : sequence s1 v s2 -> 0 < cost s1 v ->
  weak_sequence s1.1 w s2.1 ->
  (forall w', weak_sequence s1.1 w' s2.1 -> weak_cost s1.1 w <= weak_cost s1.1 w') ->
  weak_cost s1.1 w + valley_of prodn s1.1 w <= 2 * cost s1 v.
Proof.
move=> sq pos sqw least; have [sql _] := lemma_6_6_tiles sq; have := least _ sql.
have := leq_trans (leq_addr _ _) (lift_cost sq).
have [e|le] := S5_gap sq; first by rewrite e in pos.
have : valley_of prodn s1.1 w <= prodn s2.1.
  apply: valley_le; rewrite (sequence_end sqw) /end_of /sizes_of.
  by elim: (w) (s1.1) => [|[? ?] ? IH] ?; rewrite /= inE ?eqxx // IH orbT.
by move: le; rewrite /tilemap_size; lia.
Qed.

End Lowering.
