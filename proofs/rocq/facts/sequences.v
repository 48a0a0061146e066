(* Facts about sequences of any kind of step.                                   *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig11_cost def4_sequences.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* ---- normal forms are sorted by phase ----                                   *)
Definition phase (p : op) : nat :=
  match p with Dynslice => 0 | Alltoall | Allpermute => 1 | Allgather => 2 end.

Lemma normal_form_sorted p : normal_form p = sorted leq (map phase p).
Proof.
have g q : nilp (skip_while is_gather q) = path leq 2 (map phase q).
  by elim: q => [|[] q IH].
have f q : nilp (skip_while is_gather (skip_while is_flat q)) = path leq 1 (map phase q).
  by elim: q => [|[] q IH] //=; rewrite -g.
have d q : normal_form q = path leq 0 (map phase q).
  elim: q => [|[] q IH] //=; by rewrite -?g -?f.
by rewrite d; case: p.
Qed.

Lemma normal_form_cons q p : normal_form (q :: p) = path leq (phase q) (map phase p).
Proof. by rewrite normal_form_sorted. Qed.

Lemma normal_form_catl p q : normal_form (p ++ q) -> normal_form p.
Proof. by by rewrite !normal_form_sorted map_cat => /cat_sorted2[]. Qed.

(* A label and the next one that must not follow it in a normal form.           *)
Definition bad (p q : op) : bool := phase q < phase p.

Lemma not_normal p : ~~ normal_form p ->
  exists u q q' v, p = u ++ q :: q' :: v /\ bad q q'.
Proof.
rewrite normal_form_sorted; case: p => [|q p] //=.
elim: p q => [|q' p IH] q //=; rewrite negb_and -ltnNge => /orP[b|nf].
  by exists [::], q, q', p.
by have [u [a [a' [v [-> b]]]]] := IH _ nf; exists (q :: u), a, a', v.
Qed.

(* ---- heights and valleys ----                                                *)
Lemma height_ge l ls : l \in ls -> l <= height ls.
Proof. by elim: ls => //= a ls IH; rewrite inE leq_max => /predU1P[->|/IH ->]; rewrite ?leqnn ?orbT. Qed.

Lemma height_le b ls : (height ls <= b) = all (leq^~ b) ls.
Proof. by elim: ls => //= a ls <-; rewrite geq_max. Qed.

Lemma valley_cons l ls : ls != [::] -> valley (l :: ls) = minn l (valley ls).
Proof. by case: ls. Qed.

Lemma valley_le l ls : l \in ls -> valley ls <= l.
Proof.
elim: ls => //= a [_|b ls IH]; first by rewrite inE => /eqP->.
by rewrite inE geq_min => /predU1P[->|/IH ->]; rewrite ?leqnn ?orbT.
Qed.

Lemma valley_in ls : ls != [::] -> valley ls \in ls.
Proof.
elim: ls => // a [_ _|b ls IH _]; first by rewrite inE.
rewrite valley_cons // inE; have /(_ isT) in_ls := IH.
by case: (leqP a (valley (b :: ls))) => _; rewrite ?eqxx // in_ls orbT.
Qed.

Lemma sequence_impl (S P : Type) (step1 step2 : P -> S -> S -> Prop) s w t :
  (forall p a b, step1 p a b -> step2 p a b) ->
  sequence step1 s w t -> sequence step2 s w t.
Proof. by move=> h; elim: w s => [|[p s'] w IH] s //= [/h ? /IH]. Qed.

Section Sequence.
Variables (S P : Type) (step : P -> S -> S -> Prop) (op_of : P -> op) (localsize : S -> nat).
Implicit Types (s t m : S) (u v w : seq (P * S)).
Local Notation sequence := (sequence step).
Local Notation labels := (labels op_of).
Local Notation sizes_of := (sizes_of localsize).
Local Notation cost_of := (cost_of op_of localsize).
Local Notation valley_of := (valley_of localsize).
Local Notation height_of := (height_of localsize).

Definition end_of s w := last s (map snd w).

Lemma sequence_end s w t : sequence s w t -> t = end_of s w.
Proof. by elim: w s => [|[p s'] w IH] s //= [_ /IH]. Qed.

Lemma sequence_cat s u v t :
  sequence s (u ++ v) t <-> sequence s u (end_of s u) /\ sequence (end_of s u) v t.
Proof.
elim: u s => [|[p s'] u IH] s /=; first by split => // -[].
by split=> [[st /IH[]]|[[st a] b]]; do ?split=> //; apply/IH.
Qed.

Lemma sequence_join s u m v t : sequence s u m -> sequence m v t -> sequence s (u ++ v) t.
Proof. by move=> h1 h2; apply/sequence_cat; rewrite -(sequence_end h1). Qed.

Lemma sequence_split s u v t : sequence s (u ++ v) t ->
  exists m, sequence s u m /\ sequence m v t.
Proof. by case/sequence_cat=> h1 h2; exists (end_of s u). Qed.

Lemma labels_cat u v : labels (u ++ v) = labels u ++ labels v.
Proof. exact: map_cat. Qed.

Lemma cost_nil s : cost_of s [::] = 0.
Proof. by []. Qed.

Lemma cost_cons s p s' w :
  cost_of s ((p, s') :: w) = step_cost (op_of p) (localsize s) (localsize s') + cost_of s' w.
Proof. by []. Qed.

Lemma cost_cat s u v : cost_of s (u ++ v) = cost_of s u + cost_of (end_of s u) v.
Proof.
elim: u s => [|[p s'] u IH] s //.
by rewrite cat_cons !cost_cons IH addnA.
Qed.

Lemma sizes_cat s u v : sizes_of s (u ++ v) = sizes_of s u ++ behead (sizes_of (end_of s u) v).
Proof. by rewrite /sizes_of /= map_cat. Qed.

Lemma valley_of_cons s p s' w :
  valley_of s ((p, s') :: w) = minn (localsize s) (valley_of s' w).
Proof. by []. Qed.

Lemma valley_of_cat s u v :
  valley_of s (u ++ v) = minn (valley_of s u) (valley_of (end_of s u) v).
Proof.
elim: u s => [|[p s'] u IH] s; last first.
  by rewrite cat_cons !valley_of_cons IH minnA.
case: v => [|[p s'] v] /=; first by rewrite /valley_of /= minnn.
by rewrite valley_of_cons minnA minnn.
Qed.

(* What every kind of step does to localsizes.                                  *)
Definition sized (p : P) (s s' : S) : Prop :=
  match op_of p with
  | Allgather => localsize s <= localsize s'
  | Dynslice => localsize s' <= localsize s
  | _ => localsize s' = localsize s
  end.
Hypothesis step_sized : forall p s s', step p s s' -> sized p s s'.

(* Below Def. 4.5: every normal form fulfils (4).                               *)
Lemma normal_form_constrained s w t :
  sequence s w t -> normal_form (labels w) -> memory_constrained (sizes_of s w).
Proof.
move=> sq nf; rewrite /memory_constrained /=.
have up : forall w' s', path leq 2 (map phase (labels w')) -> sequence s' w' t ->
    (forall l, l \in sizes_of s' w' -> l <= localsize t) .
  elim=> [|[p s1] w' IH] s' /=; first by move=> _ -> l; rewrite inE => /eqP->.
  move=> /andP[ph pt] [st sq'] l.
  move: (step_sized st) ph pt; rewrite /sized; case: (op_of p) => //= h _ pt.
  rewrite /sizes_of /= inE => /predU1P[->|lin]; last exact: IH pt sq' _ lin.
  by apply: leq_trans h _; apply: IH pt sq' _ (mem_head _ _).
have flat : forall w' s', path leq 1 (map phase (labels w')) -> sequence s' w' t ->
    (forall l, l \in sizes_of s' w' -> l <= localsize t).
  elim=> [|[p s1] w' IH] s' /=; first by move=> _ -> l; rewrite inE => /eqP->.
  move=> /andP[ph pt] [st sq'] l; rewrite /sizes_of /= inE.
  have all1 : forall l', l' \in sizes_of s1 w' -> l' <= localsize t.
    move: ph pt; case: (op_of p) => //= _ pt; last 2 first.
    - exact: IH pt sq'.
    - exact: IH pt sq'.
    exact: up pt sq'.
  case/predU1P=> [->|lin]; last exact: all1.
  apply: leq_trans (all1 _ (mem_head _ _)); move: (step_sized st) ph; rewrite /sized.
  by case: (op_of p) => // ->.
have down : forall w' s', path leq 0 (map phase (labels w')) -> sequence s' w' t ->
    (forall l, l \in sizes_of s' w' -> l <= maxn (localsize s') (localsize t)).
  elim=> [|[p s1] w' IH] s' /=; first by move=> _ -> l; rewrite inE => /eqP->; rewrite maxnn.
  move=> pt [st sq'] l; rewrite /sizes_of /= inE; case/predU1P=> [->|lin]; first exact: leq_maxl.
  move: (step_sized st) pt; rewrite /sized; case: (op_of p) => /= h pt.
  - by apply: leq_trans (leq_maxr _ _); apply: (up w' s1).
  - apply: leq_trans (IH s1 pt sq' l lin) _; rewrite geq_max leq_maxr andbT.
    by apply: leq_trans h (leq_maxl _ _).
  - by apply: leq_trans (leq_maxr _ _); apply: (flat w' s1).
  by apply: leq_trans (leq_maxr _ _); apply: (flat w' s1).
have nf0 : path leq 0 (map phase (labels w)).
  by move: nf; rewrite normal_form_sorted; case: (labels w).
rewrite (_ : last (localsize s) _ = localsize t); last first.
  by rewrite (sequence_end sq) /end_of; elim: (w) (s) => [|[? ?] ? IH] ? //=.
change (height (sizes_of s w) <= maxn (localsize s) (localsize t)).
by rewrite height_le; apply/allP=> l /(down w s nf0 sq).
Qed.


(* ---- backwards ----                                                          *)
Section Reverse.
Variables (rv : S -> P -> P) (rev_op : op -> op).
Hypothesis step_rev : forall p s s', step p s s' -> step (rv s p) s' s.
Hypothesis rv_op : forall s p, op_of (rv s p) = rev_op (op_of p).

Lemma sequence_rev s w t : sequence s w t ->
  exists w', [/\ sequence t w' s, labels w' = rev (map rev_op (labels w))
    & sizes_of t w' = rev (sizes_of s w)].
Proof.
elim: w s => [|[p s'] w IH] s /=; first by move=> ->; exists [::].
case=> st /IH[w' [sq el es]]; exists (rcons w' (rv s p, s)); split.
- by rewrite -cats1; apply: sequence_join sq _; split=> //; apply: step_rev.
- by rewrite rev_cons -el /def4_sequences.labels map_rcons /= rv_op.
by rewrite /def4_sequences.sizes_of /= in es *; rewrite rev_cons -es map_rcons.
Qed.

End Reverse.

(* Behind S5: after the last step that moves data only dynslices follow.        *)
Lemma cost_zero_or_end s w t : sequence s w t ->
  (cost_of s w = 0 /\ localsize t <= localsize s) \/ localsize t <= cost_of s w.
Proof.
elim: w s => [|[p s'] w IH] s /=; first by move=> ->; left.
case=> st /IH; rewrite cost_cons; move: (step_sized st); rewrite /sized.
by case: (op_of p) => /= le [[-> le']|le']; rewrite ?addn0;
  do [by left; rewrite ?(leq_trans le') | by right; lia].
Qed.

(* Where a permutation is cheapest: a normal form has room for one at its       *)
(* lowest localsize.                                                            *)
Lemma room_for_permute s w t : sequence s w t -> normal_form (labels w) ->
  exists w1 w2, [/\ w = w1 ++ w2, normal_form (labels w1 ++ Allpermute :: labels w2)
    & localsize (end_of s w1) = valley_of s w].
Proof.
elim: w s => [|[p s'] w IH] s /=; first by move=> -> _; exists [::], [::].
case=> st sq nf.
have [pg|pg] : phase (op_of p) = 2 \/ phase (op_of p) <= 1 by case: (op_of p); [left|right|right|right].
  exists [::], ((p, s') :: w); split=> //.
    by rewrite normal_form_cons /= pg /=; move: nf; rewrite normal_form_cons pg.
  have up : forall w' a, path leq 2 (map phase (labels w')) -> sequence a w' t -> localsize a = valley_of a w'.
    elim=> [|[q a'] w' IHw] a //= /andP[ph pt] [sta sqa]; rewrite valley_of_cons.
    move: (step_sized sta) ph pt; rewrite /sized; case: (op_of q) => //= le _ pt.
    by rewrite -(IHw a') //; apply/esym/minn_idPl.
  apply: (up ((p, s') :: w)) => //=; move: nf; rewrite normal_form_cons pg => ->.
  by move: pg; case: (op_of p).
have nf' : normal_form (labels w).
  by move: nf; rewrite normal_form_cons normal_form_sorted; apply: path_sorted.
have [w1 [w2 [ew nf1 e]]] := IH s' sq nf'.
exists ((p, s') :: w1), w2; split; rewrite ?ew //.
  rewrite normal_form_cons path_min_sorted; first by rewrite -normal_form_sorted.
  move: nf; rewrite normal_form_cons => /(order_path_min leq_trans).
  by rewrite ew labels_cat !map_cat /= !all_cat /= => /andP[-> ->]; rewrite pg.
rewrite [LHS]e -ew valley_of_cons; apply/esym/minn_idPr.
apply: leq_trans (valley_le (mem_head _ _)) _.
by move: (step_sized st) pg; rewrite /sized; case: (op_of p) => //= ->.
Qed.

End Sequence.
