(* Normal forms cost no more, and strictly: a weak sequence that is no normal   *)
(* form can be replaced by one that is cheaper by an allpermute in its valley.  *)
(*                                                                              *)
(* Paper: Lemmas 4.6, 4.7, Theorem 4.8 for |>, Lemma 6.5, over one axis and     *)
(* over several (Sec. 7.1).  Statement S12.                                     *)
(*                                                                              *)
(* Factors are those of which `ok` holds: the primes for one axis, all from 2   *)
(* on for several.                                                              *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig11_cost def4_sequences def5_weak.
Require Import vectors weak_steps sequences weak_patterns.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* ---- arithmetic ----                                                         *)
Lemma peak_same_cost V m' n' e : 0 < m' -> 1 < n' * e ->
  (m' != 1) * (V * m') + V <= V * n' * (m' * e).
Proof.
move=> m'0 n1; rewrite (_ : V * n' * (m' * e) = V * m' * (n' * e)); last by lia.
apply: (@leq_trans (V * m' * 2)); last by rewrite leq_mul2l n1 orbT.
have : V * 1 <= V * m' by rewrite leq_mul2l m'0 orbT.
by case: eqP => /= _; lia.
Qed.

Lemma peak_diff_cost V a b q : 0 < a -> 0 < b -> 0 < q -> 1 < a * b -> 1 < b * q ->
  (b != 1) * V + (q != 1) * (V * q) + V <= V * a * (b * q).
Proof.
move=> a0 b0 q0 ab bq.
rewrite (_ : _ + _ = V * ((b != 1) + (q != 1) * q + 1)); last by lia.
rewrite -mulnA leq_mul2l; apply/orP; right; move: ab bq.
case: (b =P 1) => [->|b1] /=; rewrite ?muln1 ?mul1n.
  move=> a1 _; apply: (@leq_trans (2 * q)); last by rewrite leq_mul2r a1 orbT.
  by case: eqP => _ /=; lia.
case: (q =P 1) => [->|q1] /=; rewrite ?muln1; first by lia.
move=> _ _; apply: (@leq_trans (b * q)); last by rewrite leq_pmull.
apply: (@leq_trans (2 * q)); first by lia.
by rewrite leq_mul2r; apply/orP; right; lia.
Qed.

Lemma rising_cost V less more b : 0 < less -> less <= more -> 1 < less * more ->
  (b != 1) * V + (less != 1) * (V * less) + (more != 1) * (V * less * more) + V <=
  V * (less * more) + V * (less * more).
Proof.
move=> l0 lm m1.
rewrite (_ : _ + V = V * ((b != 1) + (less != 1) * less + (more != 1) * (less * more) + 1)); last by lia.
rewrite -mulnDr leq_mul2l; apply/orP; right.
have hb : (b != 1) <= 1 by case: (b != 1).
have hm : (more != 1) * (less * more) <= less * more by case: (more != 1); rewrite ?mul1n.
suff : (less != 1) * less + 2 <= less * more by lia.
move: m1 l0 lm; case: (less =P 1) => [->|l1] /=; rewrite ?mul1n; first by lia.
move=> m1 l0 lm; apply: (@leq_trans (less * 2)); first by lia.
by rewrite leq_mul2l; apply/orP; right; lia.
Qed.

Section Patterns.
Variables (delta : nat) (g : seq nat) (ok : pred nat).
Hypothesis ok_dvd : forall n d, ok n -> d %| n -> 1 < d -> ok d.
Local Notation is_localtype := (is_localtype delta g).
Local Notation weak_step := (weak_step delta g).
Local Notation labels := (labels weak_op).
Local Notation cost_of := (cost_of weak_op prodn).
Local Notation valley_of := (valley_of prodn).
Local Notation ok_step := (ok_step delta g ok).
Local Notation opt_step := (opt_step delta g ok).
Local Notation sequence := (sequence ok_step).

(* What a normal form of the shape D D A G G costs; each step may be missing.   *)
Lemma ddagg c0 c1 c2 c3 c4 c5 p1 p2 i j b q1 m1 q2 m2 :
  let V := prodn c2 in
  opt_step (wslice p1 q1) c0 c1 -> opt_step (wslice p2 q2) c1 c2 ->
  opt_step (walltoall i j b) c2 c3 ->
  opt_step (wgather m1.1 m1.2) c3 c4 -> opt_step (wgather m2.1 m2.2) c4 c5 ->
  exists r, [/\ sequence c0 r c5, normal_form (labels r)
    & cost_of c0 r + valley_of c0 r <=
      (b != 1) * V + (m1.2 != 1) * (V * m1.2) + (m2.2 != 1) * (V * m1.2 * m2.2) + V].
Proof.
case: m1 m2 => [k1 n1] [k2 n2] /= s1 s2 s3 s4 s5.
have e3 : prodn c3 = prodn c2.
  by move: s3; rewrite /opt_step /=; case: eqP => [_ -> //|_ [/weak_size]].
have e4 : prodn c4 = prodn c2 * n1.
  by rewrite -e3; move: s4; rewrite /opt_step /=; case: eqP => [-> ->|_ [/weak_size]]; rewrite ?muln1.
have e5 : prodn c5 = prodn c2 * n1 * n2.
  by rewrite -e4; move: s5; rewrite /opt_step /=; case: eqP => [-> ->|_ [/weak_size]]; rewrite ?muln1.
exists (opt (wslice p1 q1) c1 ++ opt (wslice p2 q2) c2 ++ opt (walltoall i j b) c3 ++
        opt (wgather k1 n1) c4 ++ opt (wgather k2 n2) c5 ++ [::]); split.
- apply: opt_sequence s1 _; apply: opt_sequence s2 _; apply: opt_sequence s3 _.
  by apply: opt_sequence s4 _; apply: opt_sequence s5 _.
- by rewrite /opt; do 5!case: eqP => _ //=.
move: s1 s2 s3 s4 s5; rewrite /opt /opt_step /=.
case: (q1 =P 1) => [_ /(congr1 prodn) h1|_ _];
case: (q2 =P 1) => [_ /(congr1 prodn) h2|_ _];
case: (b =P 1) => [_ _|_ _]; case: (n1 =P 1) => [n11 _|_ _]; case: (n2 =P 1) => [n21 _|_ _];
rewrite /cost_of /valley_of /=; move: e4 e5; rewrite ?n11 ?n21 ?muln1; lia.
Qed.


(* The peak as a normal form.                                                   *)
Lemma peak i j m n c0 c1 c2 :
  ok_step (wgather i m) c0 c1 -> ok_step (wslice j n) c1 c2 ->
  exists r, [/\ sequence c0 r c2, normal_form (labels r)
    & cost_of c0 r + valley_of c0 r <= prodn c1].
Proof.
move=> st1 st2; have unit c i' : opt_step (wgather (i', 1).1 (i', 1).2) c c by [].
have z1 := weak_size (proj1 st1); have m1 := weak_step_factor (proj1 st1).
have n1 := weak_step_factor (proj1 st2); rewrite /= in z1 m1 n1.
case: (altP (i =P j)) => ij.
  subst j; have [e [m' [n' [ca [em en m'0 n'0 [s1 s2]]]]]] := peak_same_steps ok_dvd st1 st2.
  have [r [sq nf le]] := ddagg s1 (opt_unit_slice _ _ _ 0 ca) (opt_unit _ _ _ 0 0 ca) (unit ca 0)
    (s2 : opt_step (wgather (i, m').1 (i, m').2) ca c2).
  exists r; split=> //; apply: leq_trans le _; rewrite /= !mul0n !add0n muln1 z1 em.
  have -> : prodn c0 = prodn ca * n'.
    by move: s1; rewrite /weak_patterns.opt_step /=; case: eqP => [-> ->|_ [/weak_size]]; rewrite ?muln1.
  by apply: peak_same_cost; rewrite -?en.
have [a [b [q [ca [cb [en em [a0 b0 q0] [s1 s2 s3]]]]]]] := peak_diff_steps ok_dvd ij st1 st2.
have [r [sq nf le]] := ddagg s1 (opt_unit_slice _ _ _ 0 ca) s2 (unit cb 0)
  (s3 : opt_step (wgather (i, q).1 (i, q).2) cb c2).
exists r; split=> //; apply: leq_trans le _; rewrite /= mul0n muln1 addn0 z1 em (mulnC q).
have -> : prodn c0 = prodn ca * a.
  by move: s1; rewrite /weak_patterns.opt_step /=; case: eqP => [-> ->|_ [/weak_size]]; rewrite ?muln1.
by apply: peak_diff_cost => //; rewrite -?en // mulnC -em.
Qed.

(* Both edges as normal forms.                                                  *)
Lemma rising_edge i m k l n c0 c1 c2 :
  ok_step (wgather i m) c0 c1 -> ok_step (walltoall k l n) c1 c2 ->
  exists r, [/\ sequence c0 r c2, normal_form (labels r)
    & cost_of c0 r + valley_of c0 r <= prodn c1 + prodn c1].
Proof.
move=> st1 st2.
have [b [e [m' [c3 [c4 [c4' [[_ em [_ e0 m'0] _] s1 [s2 s3] [s2' s3']]]]]]]] := rising_steps ok_dvd st1 st2.
case: st1 => st1 _; have z1 := weak_size st1; have m1 := weak_step_factor st1; rewrite /= in z1 m1.
have su := opt_unit_slice delta g ok 0 c0.
case: (leqP m' e) => le_me.
  have [r [sq nf le]] := ddagg su su s1 (s2 : opt_step (wgather (i, m').1 (i, m').2) c3 c4)
    (s3 : opt_step (wgather (k, e).1 (k, e).2) c4 c2).
  exists r; split=> //; apply: leq_trans le _; rewrite /= z1 em.
  by apply: rising_cost; rewrite -?em.
have [r [sq nf le]] := ddagg su su s1 (s2' : opt_step (wgather (k, e).1 (k, e).2) c3 c4')
  (s3' : opt_step (wgather (i, m').1 (i, m').2) c4' c2).
exists r; split=> //; apply: leq_trans le _; rewrite /= z1 em (mulnC m').
by apply: rising_cost => //; [apply: ltnW | rewrite mulnC -em].
Qed.

Lemma falling_edge k l n j m c0 c1 c2 :
  ok_step (walltoall k l n) c0 c1 -> ok_step (wslice j m) c1 c2 ->
  exists r, [/\ sequence c0 r c2, normal_form (labels r)
    & cost_of c0 r + valley_of c0 r <= prodn c0].
Proof.
case=> st1 o1 [st2 o2]; have m1 := weak_step_factor st2.
have z1 := weak_size st1; have z2 := weak_size st2; rewrite /= in m1 z1 z2.
have b2 : ok_step (wgather j m) c2 c1 by split; first exact: (weak_step_rev st2).
have b1 : ok_step (walltoall l k n) c1 c0 by split; first exact: (weak_step_rev st1).
have [b [e [m' [c3 [c4 [c4' [_ s1 [s2 s3] _]]]]]]] := rising_steps ok_dvd b2 b1.
have unit : opt_step (wgather (0, 1).1 (0, 1).2) c2 c2 by [].
have [r [sq nf le]] := ddagg (opt_step_rev s3) (opt_step_rev s2) (opt_step_rev s1) unit unit.
exists r; split=> //; apply: leq_trans le _; rewrite /= !mul0n !addn0.
have e3 : prodn c3 = prodn c2.
  by move: s1; rewrite /weak_patterns.opt_step /=; case: eqP => [_ -> //|_ [/weak_size]].
have : prodn c2 * 2 <= prodn c2 * m by rewrite leq_mul2l m1 orbT.
rewrite -z1 z2 e3; have : (b != 1) * prodn c2 <= prodn c2 by case: (b != 1); rewrite ?mul1n.
by lia.
Qed.

(* Lemma 6.5 for two steps: every pattern that is no normal form.               *)
Lemma bad_pattern p q c0 c1 c2 : ok_step p c0 c1 -> ok_step q c1 c2 ->
  bad (weak_op p) (weak_op q) ->
  exists r, [/\ sequence c0 r c2, normal_form (labels r)
    & cost_of c0 r + valley_of c0 r <= cost_of c0 [:: (p, c1); (q, c2)]].
Proof.
have e c d e' : cost_of c [:: (d, e')] = step_cost (weak_op d) (prodn c) (prodn e').
  by rewrite /cost_of /= addn0.
case: p => [i m|i m|k l n]; case: q => [j n'|j n'|k' l' n'] st1 st2 //= _; rewrite cost_cons e /=.
- by rewrite addn0; apply: peak st1 st2.
- exact: rising_edge st1 st2.
by rewrite addn0; apply: falling_edge st1 st2.
Qed.

(* ---- S12: strictly ----                                                      *)
Theorem S12 c w c' : is_localtype c -> sequence c w c' -> ~~ normal_form (labels w) ->
  exists v, [/\ sequence c v c', normal_form (labels v)
    & cost_of c v + valley_of c v <= cost_of c w].
Proof.
have [k] := ubnP (cost_of c w); elim: k c w => // k IH c w lt ltc sq nnf.
have [u [q [q' [v [elab b]]]]] := not_normal nnf.
have [u' [p [c1 [p' [c2 [v' [ew eq eq']]]]]]] : exists u' p c1 p' c2 v',
    [/\ w = u' ++ (p, c1) :: (p', c2) :: v', weak_op p = q & weak_op p' = q'].
  move: elab; elim: u (w) {sq nnf lt IH} => [|x u IHu] [|[p c1] w'] //=.
    by case: w' => [|[p' c2] w'] //= [h1 h2 _]; exists [::], p, c1, p', c2, w'.
  by case=> _ /IHu[u' [a [b' [a' [d [v' [-> <- <-]]]]]]]; exists ((p, c1) :: u'), a, b', a', d, v'.
subst w q q'; have [m [squ /= [st1 [st2 sqv]]]] := sequence_split sq.
have em := sequence_end squ.
have [r [sqr nfr le]] := bad_pattern st1 st2 b.
pose w2 := u' ++ r ++ v'.
have sq2 : sequence c w2 c' by apply: sequence_join squ _; apply: sequence_join sqr sqv.
have er := sequence_end sqr.
have ltm : is_localtype m by have [/weak_step_from] := st1.
have le2 : cost_of c w2 + valley_of m r <= cost_of c (u' ++ [:: (p, c1), (p', c2) & v']).
  rewrite /w2 !cost_cat -em -er -[_ :: _ :: v']/([:: (p, c1); (p', c2)] ++ v') cost_cat.
  by have -> : end_of m [:: (p, c1); (p', c2)] = c2 by []; lia.
have vr : 0 < valley_of m r.
  have : valley_of m r \in sizes_of prodn m r by apply: valley_in.
  have pos : forall r0 m0 d, is_localtype m0 -> sequence m0 r0 d -> all (leq 1) (sizes_of prodn m0 r0).
    elim=> [|[a s] r0 IHr] m0 d ltm0 /=; first by rewrite (localtype_prod_pos ltm0).
    case=> -[st _] sq0; rewrite (localtype_prod_pos ltm0) /=.
    by apply: (IHr s d _ sq0); apply: weak_step_to st.
  by move/allP: (pos _ _ _ ltm sqr) => h /h.
have le3 : valley_of c w2 <= valley_of m r.
  by rewrite /w2 !valley_of_cat -em !geq_min leqnn orbT.
case nf2: (normal_form (labels w2)).
  by exists w2; split=> //; apply: leq_trans le2; rewrite leq_add2l.
have [|v0 [sq0 nf0 le0]] := IH c w2 _ ltc sq2 (negbT nf2).
  by move: lt le2 vr; lia.
by exists v0; split=> //; apply: leq_trans le0 _; apply: leq_trans le2; apply: leq_addr.
Qed.

End Patterns.

(* ---- Lemma 6.5 ----                                                          *)
(* The height bound (4) holds of every normal form (normal_form_constrained).   *)
Section Lemma65.
Variables (delta : nat) (g : seq nat) (ok : pred nat).
Hypothesis ok_dvd : forall n d, ok n -> d %| n -> 1 < d -> ok d.
Local Notation sequence := (sequence (ok_step delta g ok)).
Local Notation cost_of := (cost_of weak_op prodn).

Lemma lemma_6_5_ok c w c' : is_localtype delta g c -> sequence c w c' ->
  exists v, [/\ sequence c v c', normal_form (labels weak_op v),
    memory_constrained (sizes_of prodn c v) & cost_of c v <= cost_of c w].
Proof.
move=> ltc sq; case nf: (normal_form (labels weak_op w)).
  exists w; split=> //.
  by apply: (@normal_form_constrained _ _ _ _ _ (@ok_step_sized delta g ok) c w c').
have [v [sq' nf' le]] := S12 ok_dvd ltc sq (negbT nf).
exists v; split=> //.
  by apply: (@normal_form_constrained _ _ _ _ _ (@ok_step_sized delta g ok) c v c').
by apply: leq_trans le; apply: leq_addr.
Qed.

End Lemma65.

Lemma prime_dvd n d : prime n -> d %| n -> 1 < d -> prime d.
Proof. by move=> pn /(prime_nt_dvdP pn) h d1; rewrite h // neq_ltn d1 orbT. Qed.

(* One axis at a time: factors are primes.                                      *)
Definition weak_step_1 delta g (p : weak) (c c' : seq nat) : Prop :=
  weak_step delta g p c c' /\ prime (factor p).

Theorem lemma_6_5 delta g c w c' :
  is_localtype delta g c -> sequence (weak_step_1 delta g) c w c' ->
  exists v, [/\ sequence (weak_step_1 delta g) c v c', normal_form (labels weak_op v),
    memory_constrained (sizes_of prodn c v) & cost_of weak_op prodn c v <= cost_of weak_op prodn c w].
Proof. exact: (lemma_6_5_ok (@prime_dvd)). Qed.

(* Several axes at once (Sec. 7.1).                                             *)
Lemma all_ok delta g c w c' : sequence (weak_step delta g) c w c' <->
  sequence (ok_step delta g (leq 2)) c w c'.
Proof.
split; apply: sequence_impl => p a b; last by case.
by move=> st; split=> //; apply: weak_step_factor st.
Qed.

Theorem lemma_6_5_multi delta g c w c' :
  is_localtype delta g c -> sequence (weak_step delta g) c w c' ->
  exists v, [/\ sequence (weak_step delta g) c v c', normal_form (labels weak_op v),
    memory_constrained (sizes_of prodn c v) & cost_of weak_op prodn c v <= cost_of weak_op prodn c w].
Proof.
move=> ltc /all_ok sq; have [] := @lemma_6_5_ok delta g (leq 2) _ c w c' ltc sq => //.
by move=> v [/all_ok sq' nf mc le]; exists v.
Qed.

(* S12 for both.                                                                *)
Theorem S12_1 delta g c w c' : is_localtype delta g c -> sequence (weak_step_1 delta g) c w c' ->
  ~~ normal_form (labels weak_op w) ->
  exists v, [/\ sequence (weak_step_1 delta g) c v c', normal_form (labels weak_op v)
    & cost_of weak_op prodn c v + valley_of prodn c v <= cost_of weak_op prodn c w].
Proof. exact: (S12 (@prime_dvd)). Qed.

Theorem S12_multi delta g c w c' : is_localtype delta g c -> sequence (weak_step delta g) c w c' ->
  ~~ normal_form (labels weak_op w) ->
  exists v, [/\ sequence (weak_step delta g) c v c', normal_form (labels weak_op v)
    & cost_of weak_op prodn c v + valley_of prodn c v <= cost_of weak_op prodn c w].
Proof.
move=> ltc /all_ok sq nnf; have [] := @S12 delta g (leq 2) _ c w c' ltc sq nnf => //.
by move=> v [/all_ok sq' nf le]; exists v.
Qed.
