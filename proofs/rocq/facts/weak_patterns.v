(* The patterns of two weak steps that are no normal form, and what stands in   *)
(* their place.                                                                 *)
(*                                                                              *)
(* Paper: Lemmas 4.6, 4.7 for |>, Appendix A, over one axis and over several    *)
(* (Sec. 7.1).                                                                  *)
(*                                                                              *)
(* Factors are those of which `ok` holds: the primes for one axis, all from 2   *)
(* on for several.                                                              *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig11_cost def4_sequences def5_weak.
Require Import vectors weak_steps sequences.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Patterns.
Variables (delta : nat) (g : seq nat) (ok : pred nat).
Hypothesis ok_dvd : forall n d, ok n -> d %| n -> 1 < d -> ok d.
Local Notation is_localtype := (is_localtype delta g).
Local Notation weak_step := (weak_step delta g).

Definition ok_step (p : weak) (c c' : seq nat) : Prop := weak_step p c c' /\ ok (factor p).
Local Notation sequence := (sequence ok_step).

Lemma ok_step_sized p c c' : ok_step p c c' -> sized weak_op prodn p c c'.
Proof.
case=> st _; have := weak_size st; have := weak_step_factor st; rewrite /sized.
by case: p st => [i n|i n|i j n] _ /= n1 -> //; rewrite leq_pmulr // ltnW.
Qed.

(* A step, or none when the factor is 1.                                        *)
Definition opt_step (p : weak) (c c' : seq nat) : Prop :=
  if factor p == 1 then c' = c else ok_step p c c'.
Definition opt (p : weak) (c' : seq nat) : seq (weak * seq nat) :=
  if factor p == 1 then [::] else [:: (p, c')].

Lemma opt_step_rev p c c' : opt_step p c c' -> opt_step (weak_rev p) c' c.
Proof.
by rewrite /opt_step weak_rev_factor; case: eqP => // _ [/weak_step_rev st o]; split; rewrite ?weak_rev_factor.
Qed.

Lemma opt_sequence p c c' u t : opt_step p c c' -> sequence c' u t -> sequence c (opt p c' ++ u) t.
Proof. by rewrite /opt_step /opt; case: eqP => [_ ->|_ st sq] //=. Qed.

Lemma opt_unit i j c : opt_step (walltoall i j 1) c c.
Proof. by []. Qed.
Lemma opt_unit_slice i c : opt_step (wslice i 1) c c.
Proof. by []. Qed.
Lemma opt_unit_gather i c : opt_step (wgather i 1) c c.
Proof. by []. Qed.

(* ---- building optional steps ----                                            *)
Lemma opt_gather i n c c' : is_localtype c -> i < size c -> 0 < n -> (1 < n -> ok n) ->
  nth 0 c i * n %| nth 0 g i -> c' = upd c i (nth 0 c i * n) -> opt_step (wgather i n) c c'.
Proof.
move=> ltc lt n0 o d e; rewrite /opt_step /=; case: eqP => [n1|n1].
  by rewrite e n1 muln1 upd_nth.
have n2 : 1 < n by lia.
by split; [apply/wgatherP | apply: o].
Qed.

Lemma opt_slice i n c c' : is_localtype c -> i < size c -> 0 < n -> (1 < n -> ok n) ->
  n %| nth 0 c i -> is_localtype c' -> c' = upd c i (nth 0 c i %/ n) -> opt_step (wslice i n) c c'.
Proof.
move=> ltc lt n0 o d l e; rewrite /opt_step /=; case: eqP => [n1|n1].
  by rewrite e n1 divn1 upd_nth.
have n2 : 1 < n by lia.
by split; [apply/wsliceP | apply: o].
Qed.

Lemma opt_alltoall i j n c c' : is_localtype c -> i < size c -> j < size c -> i != j -> 0 < n ->
  (1 < n -> ok n) -> nth 0 c i * n %| nth 0 g i -> n %| nth 0 c j ->
  c' = upd (upd c i (nth 0 c i * n)) j (nth 0 c j %/ n) -> opt_step (walltoall i j n) c c'.
Proof.
move=> ltc lti ltj ij n0 o d1 d2 e; rewrite /opt_step /=; case: eqP => [n1|n1].
  by rewrite e n1 muln1 divn1 !upd_nth.
have n2 : 1 < n by lia.
by split; [apply/walltoallP | apply: o].
Qed.

Lemma opt_step_to p c c' : is_localtype c -> opt_step p c c' -> is_localtype c'.
Proof. by rewrite /opt_step; case: eqP => [_ ? ->|_ _ [/weak_step_to]]. Qed.

Lemma nth_upd2 (c : seq nat) i j u v k : i < size c -> j < size c ->
  nth 0 (upd (upd c i u) j v) k = if k == j then v else if k == i then u else nth 0 c k.
Proof. by move=> li lj; rewrite !nth_upd size_upd li lj !andbT. Qed.

Lemma ok_divisor n d : ok n -> d %| n -> 1 < d -> ok d.
Proof. exact: ok_dvd. Qed.

Lemma gcd_split m n : 0 < n -> exists e m' n',
  [/\ m = m' * e, n = n' * e, 0 < e, 0 < n' & coprime m' n'].
Proof.
move=> n0; have e0 : 0 < gcdn m n by rewrite gcdn_gt0 n0 orbT.
exists (gcdn m n), (m %/ gcdn m n), (n %/ gcdn m n).
have n'0 : 0 < n %/ gcdn m n by rewrite divn_gt0 // dvdn_leq // dvdn_gcdr.
rewrite !divnK ?dvdn_gcdl ?dvdn_gcdr //; split=> //.
have e : gcdn (m %/ gcdn m n) (n %/ gcdn m n) * gcdn m n = 1 * gcdn m n.
  by rewrite muln_gcdl !divnK ?dvdn_gcdl ?dvdn_gcdr // mul1n.
by rewrite /coprime; apply/eqP; move/eqP: e; rewrite eqn_pmul2r // => /eqP.
Qed.

(* ---- the peak: Lemma 4.6 for |> ----                                         *)
(* In one dimension: dynslice(i, n/e) and allgather(i, m/e), e = gcd(m, n).     *)
Lemma peak_same_steps i m n c0 c1 c2 :
  ok_step (wgather i m) c0 c1 -> ok_step (wslice i n) c1 c2 ->
  exists e m' n' ca, [/\ m = m' * e, n = n' * e, 0 < m', 0 < n' &
    opt_step (wslice i n') c0 ca /\ opt_step (wgather i m') ca c2].
Proof.
case=> st1 okm [st2 okn]; have ltc2 := weak_step_to st2.
case/wgatherP: (st1) => ltc0 m1 lt d1 e1.
case/wsliceP: (st2) => ltc1 n1 [_ d2 _ e2].
have z1 := weak_size st1; have z2 := weak_size st2; rewrite /= in z1 z2.
have [e [m' [n' [em en e0 n'0 cp]]]] := gcd_split m (ltnW n1).
have m'0 : 0 < m' by lia.
have f1 : nth 0 c1 i = nth 0 c0 i * m by rewrite e1 nth_upd_eq.
have dn : n' %| nth 0 c0 i.
  move: d2; rewrite f1 em en mulnA dvdn_pmul2r // mulnC Gauss_dvdr //.
  by rewrite coprime_sym.
pose ca := upd c0 i (nth 0 c0 i %/ n').
have za : prodn ca * n' = prodn c0 by rewrite prodn_updD.
have ltca : is_localtype ca.
  apply: localtype_upd => //; first by apply: dvdn_trans (localtype_dvd ltc0 i); apply: dvdn_div.
  have da : prodn g %| delta * prodn ca * n' by rewrite -mulnA za localtype_delta.
  have db : prodn g %| delta * prodn ca * m'.
    have := localtype_delta ltc2; suff -> : prodn c2 = prodn ca * m' by rewrite mulnA.
    have : prodn c2 * (n' * e) = prodn ca * n' * (m' * e) by rewrite za -em -en -z2 z1.
    have n'e : 0 < n' * e by rewrite muln_gt0 n'0.
    by move=> h; apply/eqP; rewrite -(eqn_pmul2r n'e) h -!mulnA (mulnCA n').
  suff <- : gcdn (delta * prodn ca * n') (delta * prodn ca * m') = delta * prodn ca.
    by rewrite dvdn_gcd da.
  by rewrite -muln_gcdr gcdnC (eqP cp) muln1.
have fa : nth 0 ca i = nth 0 c0 i %/ n' by rewrite nth_upd_eq.
have f2 : nth 0 ca i * m' = nth 0 c1 i %/ n.
  rewrite fa f1 em en mulnA divnMr // -{2}(divnK dn) mulnAC mulnK //.
have s1 : opt_step (wslice i n') c0 ca.
  by apply: opt_slice => // n'1; apply: ok_dvd okn _ n'1; rewrite en dvdn_mulr.
have s2 : opt_step (wgather i m') ca c2.
  apply: opt_gather; rewrite ?size_upd //.
  - by move=> m'1; apply: ok_dvd okm _ m'1; rewrite em dvdn_mulr.
  - rewrite f2; have := localtype_dvd ltc2 i; by rewrite e2 nth_upd_eq // e1 size_upd.
  by rewrite f2 e2 e1 /ca !upd_upd -e1.
by exists e, m', n', ca.
Qed.

(* In two dimensions: dynslice(j, a), alltoall(i, j, b), allgather(i, m/b): a   *)
(* is what unused devices give, b = n/a what the allgather sets free.           *)
Lemma peak_diff_steps i j m n c0 c1 c2 : i != j ->
  ok_step (wgather i m) c0 c1 -> ok_step (wslice j n) c1 c2 ->
  exists a b q ca cb, [/\ n = a * b, m = q * b, [/\ 0 < a, 0 < b & 0 < q] &
    [/\ opt_step (wslice j a) c0 ca, opt_step (walltoall i j b) ca cb & opt_step (wgather i q) cb c2]].
Proof.
move=> ij [st1 okm] [st2 okn]; have ltc2 := weak_step_to st2.
have ji : j != i by rewrite eq_sym.
case/wgatherP: (st1) => ltc0 m1 lti d1 e1.
case/wsliceP: (st2) => ltc1 n1 [ltj d2 _ e2]; rewrite e1 size_upd in ltj.
have z1 := weak_size st1; have z2 := weak_size st2; rewrite /= in z1 z2.
have f1 : nth 0 c1 j = nth 0 c0 j by rewrite e1 nth_upd_ne.
rewrite f1 in d2.
have g0 := localtype_g ltc0.
have [F eF] : exists F, delta * prodn c0 = F * prodn g by apply/dvdnP; apply: localtype_delta.
have [F2 eF2] : exists F2, delta * prodn c2 = F2 * prodn g by apply/dvdnP; apply: localtype_delta.
have eFF : F2 * n = F * m.
  apply/eqP; rewrite -(eqn_pmul2r g0); apply/eqP.
  by rewrite mulnAC -eF2 -mulnA -z2 z1 mulnA eF mulnAC.
have [a [F' [b [eF' en a0 b0 cp]]]] := gcd_split F (ltnW n1).
have db : b %| m.
  rewrite -(Gauss_dvdr _ (_ : coprime b F')); last by rewrite coprime_sym.
  rewrite -(dvdn_pmul2r a0) mulnAC -eF' -en -eFF; exact: dvdn_mull.
have [q em] : exists q, m = q * b by apply/dvdnP.
have q0 : 0 < q by move: m1; rewrite em; case: (q).
have dan : a %| n by rewrite en dvdn_mull.
have dbn : b %| n by rewrite en dvdn_mulr.
have dqm : q %| m by rewrite em dvdn_mulr.
pose ca := upd c0 j (nth 0 c0 j %/ a).
have daj : a %| nth 0 c0 j by apply: dvdn_trans dan d2.
have za : prodn ca * a = prodn c0 by rewrite prodn_updD.
have ltca : is_localtype ca.
  apply: localtype_upd => //; first by apply: dvdn_trans (localtype_dvd ltc0 j); apply: dvdn_div.
  suff -> : delta * prodn ca = F' * prodn g by rewrite dvdn_mull.
  by apply/eqP; rewrite -(eqn_pmul2r a0) -mulnA za eF eF' mulnAC.
have s1 : opt_step (wslice j a) c0 ca.
  by apply: opt_slice => // a1; apply: ok_dvd okn _ a1.
have ni : nth 0 ca i = nth 0 c0 i by rewrite nth_upd_ne.
have nj : nth 0 ca j = nth 0 c0 j %/ a by rewrite nth_upd_eq.
pose cb := upd (upd ca i (nth 0 ca i * b)) j (nth 0 ca j %/ b).
have s2 : opt_step (walltoall i j b) ca cb.
  apply: opt_alltoall; rewrite ?size_upd // ?ni ?nj.
  - by move=> b1; apply: ok_dvd okn _ b1.
  - by apply: dvdn_trans d1; rewrite em dvdn_pmul2l ?dvdn_mull // (localtype_pos ltc0).
  by rewrite dvdn_divRL // -en.
have ltcb := opt_step_to ltca s2.
have bi : nth 0 cb i = nth 0 c0 i * b by rewrite nth_upd_ne // nth_upd_eq ?size_upd // ni.
have s3 : opt_step (wgather i q) cb c2.
  apply: opt_gather => //; rewrite ?size_upd // ?bi -?mulnA -?(mulnC q) -?em //.
    by move=> q1; apply: ok_dvd okm _ q1.
  rewrite e2 f1 e1 en /cb nj ni -divnMA /ca (mulnC b).
  by rewrite [RHS]updC // upd_upd (updC c0 _ _ ji) upd_upd.
exists a, b, q, ca, cb; split=> //; by rewrite en mulnC.
Qed.

(* ---- the rising edge: Lemma 4.7 for |> ----                                  *)
(* alltoall(k, l, n/e) and two allgathers in either order, e = 1 unless i = l.  *)
Lemma rising_steps i m k l n c0 c1 c2 :
  ok_step (wgather i m) c0 c1 -> ok_step (walltoall k l n) c1 c2 ->
  exists b e m' c3 c4 c4',
    [/\ [/\ n = b * e, m = m' * e, [/\ 0 < b, 0 < e & 0 < m'] & i != l -> e = 1],
        opt_step (walltoall k l b) c0 c3,
        opt_step (wgather i m') c3 c4 /\ opt_step (wgather k e) c4 c2
      & opt_step (wgather k e) c3 c4' /\ opt_step (wgather i m') c4' c2].
Proof.
case=> st1 okm [st2 okn]; have ltc2 := weak_step_to st2.
case/wgatherP: (st1) => ltc0 m1 lti d1 e1.
case/walltoallP: (st2) => ltc1 n1 d2 d3 [ltk ltl kl e2].
have lk : l != k by rewrite eq_sym.
rewrite e1 !size_upd in ltk ltl.
case: (altP (i =P l)) => il.
- (* i = l *)
  subst l; have f1 : nth 0 c1 i = nth 0 c0 i * m by rewrite e1 nth_upd_eq.
  have fk : nth 0 c1 k = nth 0 c0 k by rewrite e1 nth_upd_ne // eq_sym.
  have [e [m' [n' [em en e0 n'0 cp]]]] := gcd_split m (ltnW n1).
  have m'0 : 0 < m' by move: m1; rewrite em; case: (m').
  have dn : n' %| nth 0 c0 i.
    move: d3; rewrite f1 em en mulnA dvdn_pmul2r // mulnC Gauss_dvdr //.
    by rewrite coprime_sym.
  pose c3 := upd (upd c0 k (nth 0 c0 k * n')) i (nth 0 c0 i %/ n').
  have s1 : opt_step (walltoall k i n') c0 c3.
    apply: opt_alltoall => //.
    - by move=> n'1; apply: ok_dvd okn _ n'1; rewrite en dvdn_mulr.
    by apply: dvdn_trans d2; rewrite fk en dvdn_pmul2l ?dvdn_mulr // (localtype_pos ltc0).
  have ltc3 := opt_step_to ltc0 s1.
  have i3 : nth 0 c3 i = nth 0 c0 i %/ n' by rewrite nth_upd_eq ?size_upd.
  have k3 : nth 0 c3 k = nth 0 c0 k * n' by rewrite nth_upd_ne // nth_upd_eq.
  have gi : nth 0 c3 i * m' = nth 0 c1 i %/ n.
    by rewrite i3 f1 em en mulnA divnMr // -{2}(divnK dn) mulnAC mulnK.
  have gk : nth 0 c3 k * e = nth 0 c1 k * n by rewrite k3 fk en mulnA.
  have okm' : 1 < m' -> ok m' by move=> h; apply: ok_dvd okm _ h; rewrite em dvdn_mulr.
  have oke : 1 < e -> ok e by move=> h; apply: ok_dvd okm _ h; rewrite em dvdn_mull.
  have di : nth 0 c3 i * m' %| nth 0 g i.
    by rewrite gi; have := localtype_dvd ltc2 i; rewrite e2 nth_upd_eq // e1 !size_upd.
  have dk : nth 0 c3 k * e %| nth 0 g k by rewrite gk.
  have E2 : c2 = upd (upd c3 k (nth 0 c3 k * e)) i (nth 0 c3 i * m').
    rewrite gk gi e2; set X := _ * n; set Y := _ %/ n; rewrite /c3 e1.
    by rewrite (updC c0 _ _ lk) upd_upd (updC (upd c0 k _) _ _ lk) !upd_upd.
  have z3 : size c3 = size c0 by rewrite !size_upd.
  pose c4 := upd c3 i (nth 0 c3 i * m').
  have s2 : opt_step (wgather i m') c3 c4 by apply: opt_gather => //; rewrite z3.
  have n4 : nth 0 c4 k = nth 0 c3 k by rewrite nth_upd_ne.
  have s3 : opt_step (wgather k e) c4 c2.
    apply: opt_gather; rewrite ?n4 ?size_upd //; first exact: opt_step_to ltc3 s2.
    by rewrite E2 /c4 updC.
  pose c4' := upd c3 k (nth 0 c3 k * e).
  have s2' : opt_step (wgather k e) c3 c4' by apply: opt_gather => //; rewrite z3.
  have n4' : nth 0 c4' i = nth 0 c3 i by rewrite nth_upd_ne.
  have s3' : opt_step (wgather i m') c4' c2.
    by apply: opt_gather; rewrite ?n4' ?size_upd //; exact: opt_step_to ltc3 s2'.
  by exists n', e, m', c3, c4, c4'; do 2!split=> //; rewrite eqxx.
(* i <> l *)
have fl : nth 0 c1 l = nth 0 c0 l by rewrite e1 nth_upd_ne // eq_sym.
have dk : nth 0 c0 k * n %| nth 0 g k.
  apply: dvdn_trans d2; rewrite dvdn_pmul2r 1?ltnW // e1 nth_upd.
  by case: ifP => // /andP[/eqP-> _]; rewrite dvdn_mulr.
rewrite fl in d3.
pose c3 := upd (upd c0 k (nth 0 c0 k * n)) l (nth 0 c0 l %/ n).
have s1 : opt_step (walltoall k l n) c0 c3 by apply: opt_alltoall => //; rewrite ltnW.
have ltc3 := opt_step_to ltc0 s1.
have z3 : size c3 = size c0 by rewrite !size_upd.
have i3 : nth 0 c3 i = if i == k then nth 0 c0 k * n else nth 0 c0 i.
  by rewrite nth_upd_ne // nth_upd ltk andbT.
have li : l != i by rewrite eq_sym.
have E2 : c2 = upd c3 i (nth 0 c3 i * m).
  rewrite i3 e2 fl /c3 (updC _ _ _ li) e1 nth_upd lti andbT (eq_sym k).
  case: (altP (i =P k)) => [<-|ik]; first by rewrite !upd_upd mulnAC.
  by rewrite (updC c0 _ _ ik).
have s2 : opt_step (wgather i m) c3 c2.
  have lt3 : i < size c3 by rewrite z3.
  apply: opt_gather => //; first exact: ltnW.
  by have := localtype_dvd ltc2 i; rewrite E2 nth_upd_eq.
by exists n, 1, m, c3, c2, c3; rewrite !muln1; do 3!split=> //; apply: ltnW.
Qed.

End Patterns.
