(* Weak steps on localtypes: inversion, reversal, localsizes.                   *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig06_syntax fig07_base_offsets fig08_typing fig11_cost.
Require Import def4_sequences def5_weak vectors.
Require Export moves.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Lemma prodn_updM c i n : i < size c -> prodn (upd c i (nth 0 c i * n)) = prodn c * n.
Proof. by elim: c i => [|a c IH] [|i] //= lt; rewrite ?IH //; lia. Qed.

Lemma prodn_updD c i n :
  i < size c -> n %| nth 0 c i -> prodn (upd c i (nth 0 c i %/ n)) * n = prodn c.
Proof.
elim: c i => [|a c IH] [|i] //= lt d; first by rewrite mulnAC divnK.
by rewrite -mulnA IH.
Qed.

Section WeakSteps.
Variables (delta : nat) (g : seq nat).
Local Notation is_localtype := (is_localtype delta g).
Local Notation step := (weak_step delta g).

Lemma localtypeE c :
  is_localtype c = [&& 0 < prodn g, divides c g & prodn g %| delta * prodn c].
Proof.
rewrite /def5_weak.is_localtype !prodn_pos; case g0: (0 < prodn g) => //=.
case d: (divides c g); rewrite ?andbF //=.
have e := tile_counts_mul d; have c0 : 0 < prodn c by move: g0; rewrite -e muln_gt0 => /andP[].
by rewrite c0 /= -e dvdn_pmul2r.
Qed.

Section Localtype.
Variable c : seq nat.
Hypothesis ltc : is_localtype c.

Lemma localtype_g : 0 < prodn g.
Proof. by move: ltc; rewrite localtypeE => /and3P[]. Qed.

Lemma localtype_divides : divides c g.
Proof. by move: ltc; rewrite localtypeE => /and3P[]. Qed.

Lemma localtype_size : size c = size g.
Proof. exact: size_divides localtype_divides. Qed.

Lemma localtype_dvd k : nth 0 c k %| nth 0 g k.
Proof. by have /dividesP[_] := localtype_divides. Qed.

Lemma localtype_g_pos k : k < size c -> 0 < nth 0 g k.
Proof. by rewrite localtype_size => lt; apply: prodn_nth_pos lt; apply: localtype_g. Qed.

Lemma localtype_pos k : k < size c -> 0 < nth 0 c k.
Proof. by move=> lt; apply: (dvdn_gt0 (localtype_g_pos lt)); apply: localtype_dvd. Qed.

Lemma localtype_prod_pos : 0 < prodn c.
Proof. by apply: (dvdn_gt0 localtype_g); apply: divides_prodn localtype_divides. Qed.

Lemma localtype_delta : prodn g %| delta * prodn c.
Proof. by move: ltc; rewrite localtypeE => /and3P[]. Qed.

Lemma localtype_tiles : prodn (tile_counts g c) %| delta.
Proof. by have /and4P[] := ltc. Qed.

Lemma tiles_mul k : nth 0 (tile_counts g c) k * nth 0 c k = nth 0 g k.
Proof. by rewrite nth_tile_counts ?localtype_size // divnK // localtype_dvd. Qed.

Lemma tiles_prod : prodn (tile_counts g c) * prodn c = prodn g.
Proof. exact: tile_counts_mul localtype_divides. Qed.

Lemma tiles_pos k : k < size c -> 0 < nth 0 (tile_counts g c) k.
Proof. by move=> lt; have := localtype_g_pos lt; rewrite -tiles_mul muln_gt0 => /andP[]. Qed.

Lemma tiles_size : size (tile_counts g c) = size c.
Proof. by rewrite size_tile_counts localtype_size. Qed.

Lemma localtype_upd i v :
  v %| nth 0 g i -> prodn g %| delta * prodn (upd c i v) -> is_localtype (upd c i v).
Proof.
move=> dv dp; rewrite localtypeE localtype_g dp andbT /=.
have /dividesP[es d] := localtype_divides; apply/dividesP.
by split=> [|k]; rewrite ?size_upd // nth_upd; case: ifP => // /andP[/eqP->].
Qed.

End Localtype.

Lemma localtypeI c c' : is_localtype c -> divides c' g ->
  prodn g %| delta * prodn c' -> is_localtype c'.
Proof. by move=> ltc d1 d2; rewrite localtypeE d1 d2 (localtype_g ltc). Qed.

(* ---- inversion ----                                                          *)
Lemma wgatherP i n c c' :
  step (wgather i n) c c' <->
  [/\ is_localtype c, 1 < n, i < size c, nth 0 c i * n %| nth 0 g i & c' = upd c i (nth 0 c i * n)].
Proof.
rewrite /weak_step /weak_apply /=; case ltc: (is_localtype c) => /=; last by split => // -[].
case: ltnP => n1 /=; last by split => // -[].
case: (ltnP i (size c)) => lt /=; last by split => // -[].
rewrite dvdn_divRL ?localtype_dvd // mulnC.
case: ifP => d; split => //; first by case=> <-.
  by case=> _ _ _ _ ->.
by case.
Qed.

Lemma wsliceP i n c c' :
  step (wslice i n) c c' <->
  [/\ is_localtype c, 1 < n & [/\ i < size c, n %| nth 0 c i, is_localtype c'
    & c' = upd c i (nth 0 c i %/ n)]].
Proof.
rewrite /weak_step /weak_apply /=; case ltc: (is_localtype c) => /=; last by split => // -[].
case: ltnP => n1 /=; last by split => // -[].
case: (ltnP i (size c)) => lt /=; last by split => // -[_ _ []].
case d: (n %| nth 0 c i) => /=; last by split => // -[_ _ []].
case: ifP => l; split => //; first by case=> <-.
  by case=> _ _ [_ _ _ ->].
by case=> _ _ [_ _ l' e]; rewrite -e l' in l.
Qed.

Lemma walltoallP i j n c c' :
  step (walltoall i j n) c c' <->
  [/\ is_localtype c, 1 < n, nth 0 c i * n %| nth 0 g i, n %| nth 0 c j
    & [/\ i < size c, j < size c, i != j
        & c' = upd (upd c i (nth 0 c i * n)) j (nth 0 c j %/ n)]].
Proof.
rewrite /weak_step /weak_apply /=; case ltc: (is_localtype c) => /=; last by split => // -[].
case: ltnP => n1 /=; last by split => // -[].
case: (ltnP i (size c)) => lti /=; last by split => // -[_ _ _ _ []].
case: (ltnP j (size c)) => ltj /=; last by split => // -[_ _ _ _ []].
case: (altP (i =P j)) => ij /=; first by split => // -[_ _ _ _ []].
rewrite dvdn_divRL ?localtype_dvd // mulnC.
case: ifP => d; split => //.
- by case=> <-; have /andP[] := d.
- by case=> _ _ _ _ [_ _ _ ->].
by case=> _ _ d1 d2 _; rewrite d1 d2 in d.
Qed.

Lemma prodn_a2a c i j n : i < size c -> j < size c -> i != j -> n %| nth 0 c j ->
  0 < n -> prodn (upd (upd c i (nth 0 c i * n)) j (nth 0 c j %/ n)) = prodn c.
Proof.
move=> lti ltj ij d n0; apply/eqP; rewrite -(eqn_pmul2r n0); apply/eqP.
set c1 := upd c i _; have ej : nth 0 c1 j = nth 0 c j by rewrite nth_upd_ne // eq_sym.
by rewrite -ej prodn_updD ?size_upd ?ej // /c1 prodn_updM.
Qed.

Lemma weak_step_from p c c' : step p c c' -> is_localtype c.
Proof. by rewrite /weak_step /weak_apply; case: is_localtype. Qed.

Lemma weak_step_factor p c c' : step p c c' -> 1 < factor p.
Proof. by rewrite /weak_step /weak_apply; case: (_ < _); rewrite ?andbF. Qed.

Lemma weak_step_to p c c' : step p c c' -> is_localtype c'.
Proof.
case: p => [i n|i n|i j n].
- case/wgatherP=> ltc n1 lt d ->; apply: localtype_upd => //.
  by rewrite prodn_updM // mulnA dvdn_mulr // localtype_delta.
- by case/wsliceP=> _ _ [].
case/walltoallP=> ltc n1 d1 d2 [lti ltj ij ->].
apply: (localtypeI ltc); last by rewrite prodn_a2a ?localtype_delta // ltnW.
have /dividesP[es d] := localtype_divides ltc; apply/dividesP.
split=> [|k]; rewrite ?size_upd // !nth_upd; case: ifP => [/andP[/eqP-> _]|_].
  by apply: dvdn_trans (d j); apply: dvdn_div.
by case: ifP => // /andP[/eqP->].
Qed.

Lemma weak_step_size p c c' : step p c c' -> size c' = size c.
Proof.
by move=> s; rewrite (localtype_size (weak_step_to s)) (localtype_size (weak_step_from s)).
Qed.

(* ---- reversal ----                                                           *)
Lemma weak_revK : involutive weak_rev.
Proof. by case. Qed.

Lemma weak_rev_factor p : factor (weak_rev p) = factor p.
Proof. by case: p. Qed.

Lemma weak_step_rev p c c' : step p c c' -> step (weak_rev p) c' c.
Proof.
move=> s; have lt' := weak_step_to s; move: s lt'; case: p => [i n|i n|i j n].
- case/wgatherP=> ltc n1 lt d -> lt'; apply/wsliceP; rewrite size_upd nth_upd_eq //.
  by rewrite dvdn_mull // mulnK ?(ltnW n1) // upd_upd upd_nth.
- case/wsliceP=> ltc n1 [lt d _ ->] lt'; apply/wgatherP; rewrite size_upd nth_upd_eq //.
  by rewrite divnK // upd_upd upd_nth localtype_dvd.
case/walltoallP=> ltc n1 d1 d2 [lti ltj ij ->] lt'; apply/walltoallP.
have ji : j != i by rewrite eq_sym.
set c1 := upd c i _; set c2 := upd c1 j _.
have e1 : nth 0 c2 i = nth 0 c i * n by rewrite nth_upd_ne // nth_upd_eq.
have e2 : nth 0 c2 j = nth 0 c j %/ n by rewrite nth_upd_eq // size_upd.
rewrite !size_upd e1 e2 divnK // mulnK ?(ltnW n1) // dvdn_mull //.
split=> //; first exact: localtype_dvd.
by split=> //; rewrite /c2 /c1 upd_upd updC // upd_upd upd_nth upd_nth.
Qed.

Lemma weak_step_revE p c c' : step (weak_rev p) c' c <-> step p c c'.
Proof. by split=> /weak_step_rev; rewrite ?weak_revK. Qed.

Lemma weak_step_det p c c' c'' : step p c c' -> step p c c'' -> c' = c''.
Proof. by rewrite /weak_step => -> []. Qed.

(* ---- localsizes ----                                                         *)
Lemma weak_size p c c' : step p c c' ->
  match p with
  | wgather _ n => prodn c' = prodn c * n
  | wslice _ n => prodn c = prodn c' * n
  | walltoall _ _ _ => prodn c' = prodn c
  end.
Proof.
case: p => [i n|i n|i j n].
- by case/wgatherP=> _ _ lt _ ->; rewrite prodn_updM.
- by case/wsliceP=> _ _ [lt d _ ->]; rewrite prodn_updD.
by case/walltoallP=> _ n1 _ d [lti ltj ij ->]; rewrite prodn_a2a // ltnW.
Qed.

(* ---- the numbers of tiles after a step ----                                  *)
Lemma gather_counts i n c c' : step (wgather i n) c c' ->
  tile_counts g c = upd (tile_counts g c') i (nth 0 (tile_counts g c') i * n).
Proof.
move=> st; have ltc' := weak_step_to st; have m k := tiles_mul ltc' k.
case/wgatherP: st m => ltc n1 lt d ec m; have mc k := tiles_mul ltc k.
have z := tiles_size ltc; have z' := tiles_size ltc'.
have [X eX] : exists X, X = nth 0 (tile_counts g c') i * n by eexists.
rewrite -eX ec tile_counts_upd ?(localtype_size ltc) // upd_upd -[LHS](upd_nth 0 _ i) eX.
have ci : nth 0 c' i = nth 0 c i * n by rewrite ec nth_upd_eq.
congr (upd _ i _); apply/eqP; rewrite -(eqn_pmul2r (localtype_pos ltc lt)) mc -m.
by rewrite ci -mulnA (mulnC n).
Qed.

Lemma alltoall_counts i j n c c' : step (walltoall i j n) c c' ->
  exists M, [/\ size M = size c, tile_counts g c = upd M i (nth 0 M i * n)
    & tile_counts g c' = upd M j (nth 0 M j * n)].
Proof.
move=> st; have ltc' := weak_step_to st; have m k := tiles_mul ltc' k.
case/walltoallP: st => ltc n1 d1 d2 [lti ltj ij ec]; have mc k := tiles_mul ltc k.
have n0 : 0 < n by apply: ltnW.
have z := tiles_size ltc; have z' := tiles_size ltc'; have zc' : size c' = size c by rewrite ec !size_upd.
exists (upd (tile_counts g c) i (nth 0 (tile_counts g c') i)); rewrite size_upd z upd_upd nth_upd_eq ?z //.
have ci : nth 0 c' i = nth 0 c i * n by rewrite ec nth_upd_ne // nth_upd_eq.
have cj : nth 0 c' j * n = nth 0 c j by rewrite ec nth_upd_eq ?size_upd // divnK.
split=> //.
  rewrite -[LHS](upd_nth 0 _ i); congr (upd _ i _); apply/eqP.
  by rewrite -(eqn_pmul2r (localtype_pos ltc lti)) mc -m ci -mulnA (mulnC n).
rewrite nth_upd_ne 1?eq_sym //; apply: (@eq_nth _ 0) => [|k _]; first by rewrite !size_upd z z' zc'.
rewrite !nth_upd size_upd z lti ltj !andbT; case: (k =P j) => [->|kj].
  apply/eqP; have cj0 : 0 < nth 0 c' j by rewrite (localtype_pos ltc') // zc'.
  by rewrite -(eqn_pmul2r cj0) m -mulnA (mulnC n) cj mc.
case: (k =P i) => [->|/eqP ki] //; move/eqP in kj.
case: (ltnP k (size c)) => kc; last by rewrite !nth_default ?z ?z' ?zc'.
apply/eqP; rewrite -(eqn_pmul2r (localtype_pos ltc kc)) mc -m ec.
by rewrite nth_upd_ne // nth_upd_ne.
Qed.

End WeakSteps.
