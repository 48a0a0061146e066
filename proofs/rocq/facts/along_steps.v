(* Steps along several dimensions: what they lead to, and what they cost.       *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig06_syntax fig07_base_offsets fig08_typing fig11_cost def4_sequences.
Require Import def5_weak def6_devices fig10_low_level moves.
Require Import vectors weak_steps sequences fibres tiles tile_maps optimality s4 along digits.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Lemma prodn_mapM (T : Type) (f h : T -> nat) s :
  prodn [seq f k * h k | k <- s] = prodn (map f s) * prodn (map h s).
Proof. by elim: s => //= k s ->; rewrite mulnACA. Qed.

Lemma prodn_zipM s t : size s = size t -> prodn [seq p.1 * p.2 | p <- zip s t] = prodn s * prodn t.
Proof. by elim: s t => [|a s IH] [|b t] //= [/IH ->]; rewrite mulnACA. Qed.

Lemma nth_zipM s t k : size s = size t -> nth 0 [seq p.1 * p.2 | p <- zip s t] k = nth 0 s k * nth 0 t k.
Proof. by elim: s t k => [|a s IH] [|b t] [|k] //= [/IH ->]. Qed.

Lemma map_nth_iota (c : seq nat) : [seq nth 0 c k | k <- iota 0 (size c)] = c.
Proof. exact: mkseq_nth. Qed.

(* ---- all localtypes ----                                                     *)
Lemma mem_localtypes ns left g c : all (leq 1) g -> (forall n, n %| left -> n \in ns) ->
  divides c g -> prodn (tile_counts g c) %| left -> c \in localtypes_of ns left g.
Proof.
elim: g c left => [|m g IH] [|x c] left //= /andP[m0 gpos] inns /andP[xm cg].
rewrite -/(tile_counts g c) => dv; apply/flatten_mapP.
have n0 : 0 < m %/ x by rewrite divn_gt0 ?(dvdn_leq m0 xm) // (dvdn_gt0 m0 xm).
have nl : m %/ x %| left by apply: dvdn_trans dv; apply: dvdn_mulr.
have nm : m %/ x %| m by rewrite -{2}(divnK xm) dvdn_mulr.
exists (m %/ x); first by rewrite mem_filter nl nm inns.
have ex : m %/ (m %/ x) = x by rewrite -{1}(divnK xm) mulKn.
rewrite ex mem_map => [|? ? []//]; apply: IH => // [n nd|].
  by apply: inns; apply: dvdn_trans nd _; rewrite -{2}(divnK nl) dvdn_mulr.
by rewrite dvdn_divRL // mulnC.
Qed.

Lemma mem_divisors delta n : 0 < delta -> n %| delta -> n \in divisors_of delta.
Proof. by move=> d0 nd; rewrite mem_filter nd mem_iota add1n ltnS (dvdn_leq d0) // (dvdn_gt0 d0 nd). Qed.

Section Steps.
Variables (D : finType) (g : seq nat).
Local Notation delta := #|D|.
Local Notation is_localtype := (is_localtype delta g).
Local Notation step := (@along_step D g).
Local Notation balanced := (@balanced D g).
Implicit Types (s : tilemap D) (p : along).

Definition slices p : bool := is_slice (along_op p).

Lemma along_from p s s' : step p s s' -> balanced s.
Proof. by case: p => [i n|ns|ds|] /= []. Qed.

Lemma can_moveP c ds : can_move g c ds -> forall k, k < size g ->
  [/\ (off_size ds k == 1) || (onto_size ds k == 1), off_size ds k %| nth 0 g k %/ nth 0 c k & onto_size ds k %| nth 0 c k].
Proof. by case/andP=> _ /allP h k kg; apply/and3P; apply: h; rewrite mem_iota. Qed.

Lemma after_movingE c ds k : k < size c -> nth 0 (after_moving c ds) k = nth 0 c k * off_size ds k %/ onto_size ds k.
Proof. by move=> kc; rewrite (nth_map 0) ?size_iota // nth_iota. Qed.

Lemma size_after_moving c ds : size (after_moving c ds) = size c.
Proof. by rewrite size_map size_iota. Qed.

Lemma after_moving_prodn c ds : size c = size g -> can_move g c ds -> prodn (after_moving c ds) = prodn c.
Proof.
move=> zc ok; have /andP[rng _] := ok; have cm := can_moveP ok.
have pos : all (fun q : moved => 0 < q.2) ds by apply: sub_all rng => q /and3P[].
have o0 : 0 < prodn [seq onto_size ds k | k <- iota 0 (size g)].
  by apply: prodn_gt0; apply/allP => _ /mapP[k _ ->]; apply: onto_pos.
apply/eqP; rewrite -(eqn_pmul2r o0) -{2}(off_onto rng) -{2}(map_nth_iota c) -zc -!prodn_mapM; apply/eqP; congr prodn.
apply/eq_in_map => k; rewrite mem_iota /= => kc; have kg : k < size g by rewrite -zc.
have [_ _ dv] := cm k kg.
by rewrite divnK // dvdn_mulr.
Qed.

Lemma along_to p s s' : step p s s' -> is_localtype s'.1.
Proof.
case: p => [i n|ns|ds|] /=.
- by move/phys_step_balanced/balanced_localtype.
- case=> bs zn es dv _; have ltc := balanced_localtype bs; apply: (localtypeI ltc dv).
  by rewrite es prodn_zipM ?(localtype_size ltc) ?zn // mulnA dvdn_mulr // (localtype_delta ltc).
- case=> bs ok es _; have ltc := balanced_localtype bs; have zc := localtype_size ltc.
  apply: (localtypeI ltc); last by rewrite es after_moving_prodn // (localtype_delta ltc).
  apply/dividesP; rewrite es size_after_moving; split=> // k.
  case: (ltnP k (size s.1)) => kc; last by rewrite !nth_default ?size_after_moving -?zc.
  rewrite after_movingE //; have kg : k < size g by rewrite -zc.
  have [_ d1 d2] := can_moveP ok kg.
  rewrite dvdn_divRL ?(localtype_dvd ltc) // in d1.
  by apply: dvdn_trans (dvdn_div _) _; [apply: dvdn_mulr|rewrite mulnC].
by move/phys_step_balanced/balanced_localtype.
Qed.

(* What moves costs the tile after it; a slice makes smaller tiles.             *)
Lemma along_cost p s s' : step p s s' -> ~~ slices p ->
  step_cost (along_op p) (tilemap_size s) (tilemap_size s') = tilemap_size s'.
Proof.
case: p => [i n|ns|ds|] //= st _.
  case: st => bs ok es _; rewrite /tilemap_size es after_moving_prodn //.
  exact: localtype_size (balanced_localtype bs).
by case: st => _ [e _]; rewrite /tilemap_size e.
Qed.

Lemma along_sized p s s' : step p s s' -> sized along_op (@tilemap_size D) p s s'.
Proof.
case: p => [i n|ns|ds|] st; rewrite /sized /tilemap_size /=.
- have ws := st.2.1; rewrite (weak_size ws); apply: leq_pmulr.
  exact: ltnW (weak_step_factor ws).
- have lt := along_to (p := along_gather ns) st; case: st => bs zn es dv _.
  have zc := localtype_size (balanced_localtype bs).
  have := localtype_prod_pos lt; rewrite es prodn_zipM ?zc // muln_gt0 => /andP[_ n0]; exact: leq_pmulr.
- case: st => bs ok es _; rewrite es after_moving_prodn //; exact: localtype_size (balanced_localtype bs).
by case: st => _ [-> _].
Qed.

(* ---- slices ----                                                             *)
Lemma slices_up s w s' : sequence step s w s' -> all (fun q => slices q.1) w -> is_localtype s.1 -> balanced s' ->
  [/\ divides s'.1 s.1, forall d, s.2 d = up s'.1 s.1 (s'.2 d) & (prodn s'.1 = prodn s.1 -> w = [::])].
Proof.
elim: w s => [|[p s1] w IH] s /=.
  move=> -> _ lt bs; split=> // [|d]; first exact: divides_refl.
  by rewrite up_id // => k kd; rewrite (localtype_pos lt) // -(balanced_size d bs).
case=> st sq /andP[sp sw] lt bs'; have lt1 := along_to st.
have [dv e ne] := IH s1 sq sw lt1 bs'.
case: p sp st => [i n|ns|ds|] //= _ st; have bs := st.1.
have dv1 : divides s1.1 s.1.
  case: st => _ [/wsliceP[_ _ [_ dn _ ->]] _]; apply/dividesP; rewrite size_upd.
  by split=> // k; rewrite nth_upd; case: ifP => // /andP[/eqP-> _]; apply: dvdn_div.
split; first exact: divides_trans dv dv1.
  move=> d; rewrite (@slice_up D g predT i n s s1 d (conj st isT)) e up_up // => k kd.
  rewrite (localtype_pos lt) // -(size_divides dv1) -(size_divides dv) -(balanced_size d bs'); exact: kd.
move=> e1; have /weak_size /= ez := st.2.1; have n1 := weak_step_factor st.2.1.
have le := dvdn_leq (localtype_prod_pos lt1) (divides_prodn dv).
by move: n1 le (localtype_prod_pos lt1); rewrite e1 ez /= => n1 le p1; nia.
Qed.

Lemma slices_free s w s' : sequence step s w s' -> all (fun q => slices q.1) w ->
  cost_of along_op (@tilemap_size D) s w = 0.
Proof. by elim: w s => [|[p s1] w IH] s //= [_ sq] /andP[sp /(IH _ sq) e]; rewrite cost_cons e; case: p sp. Qed.

(* The first step that moves.                                                   *)
Lemma first_move s w s' : sequence step s w s' ->
  all (fun q => slices q.1) w \/
  exists wd s0 p s1 wr, [/\ w = wd ++ (p, s1) :: wr, [/\ sequence step s wd s0, all (fun q => slices q.1) wd & ~~ slices p],
    step p s0 s1, sequence step s1 wr s'
    & cost_of along_op (@tilemap_size D) s w = tilemap_size s1 + cost_of along_op (@tilemap_size D) s1 wr].
Proof.
elim: w s => [|[p s1] w IH] s /=; first by left.
case=> st sq; case sp: (slices p); last first.
  right; exists [::], s, p, s1, w; split=> //; first by rewrite sp.
  by rewrite cost_cons along_cost // sp.
have [sw|[wd [s0 [q [s2 [wr [ew [sq0 sd nq] st2 sq2 ec]]]]]]] := IH _ sq; [by left|right].
exists ((p, s1) :: wd), s0, q, s2, wr; split=> //; first by rewrite ew.
  by split=> //=; rewrite sp.
by rewrite cost_cons ec; case: p sp {st}.
Qed.

Lemma sequence_localtype s w s' : sequence step s w s' -> is_localtype s.1 -> is_localtype s'.1.
Proof. by elim: w s => [|[p s1] w IH] s /=; [move=> <-|case=> /along_to lt /IH h _; apply: h]. Qed.

(* ---- what moves ----                                                         *)
(* An allgather joins tiles; a permutation keeps their shape; and an alltoall.  *)
Inductive moves_as s s' : Prop :=
  | By_gather of divides s.1 s'.1 & (forall d, s'.2 d = up s.1 s'.1 (s.2 d))
  | By_alltoall ds of can_move g s.1 ds & s'.1 = after_moving s.1 ds & (forall d, s'.2 d = alltoall_along ds (s.2 d))
  | By_permute of s'.1 = s.1.

Lemma gather_alongE ns (c : seq nat) t : size ns = size c -> size t = size c -> all (leq 1) c ->
  gather_along ns t = up c [seq p.1 * p.2 | p <- zip c ns] t.
Proof.
move=> zn zt cp; apply: (@eq_nth _ 0) => [|k]; rewrite size_map size_zip zn zt minnn ?size_up // => kc.
rewrite nth_up ?zt // nth_zipM // (nth_map (0, 0)) ?size_zip ?zn ?zt ?minnn // nth_zip ?zt //=.
by rewrite mulnC divnMl // (allP cp) // mem_nth.
Qed.

Lemma moving p s s' : step p s s' -> ~~ slices p ->
  moves_as s s' /\ (prodn s'.1 = prodn s.1 \/ divides s.1 s'.1).
Proof.
move=> st; have lt' := along_to st; case: p st => [i n|ns|ds|] //= st _.
- case: st => bs zn es dv ef; have ltc := balanced_localtype bs; have zc := localtype_size ltc.
  have dv' : divides s.1 s'.1.
    by apply/dividesP; rewrite es size_map size_zip zn zc minnn; split=> // k; rewrite nth_zipM ?zn ?zc // dvdn_mulr.
  split; last by right.
  apply: By_gather => // d; rewrite ef /= es; apply: gather_alongE; rewrite ?zn ?zc //.
    by rewrite (balanced_size d bs) zc.
  by have /and4P[] := ltc.
- case: st => bs ok es ef; split; first by apply: By_alltoall ok es ef.
  by left; rewrite es after_moving_prodn // (localtype_size (balanced_localtype bs)).
by case: st => _ [e _]; split; [apply: By_permute|left; rewrite e].
Qed.

(* ---- the steps of Fig. 10 are among them ----                                *)
Lemma phys_along (p : phys) s s' : phys_step g p s s' -> exists q, step q s s' /\ along_op q = phys_op p.
Proof.
case: p => [[i n|i n|i j n]|] st.
- case: (st) => bs [ws ef]; have ltc := balanced_localtype bs; have zc := localtype_size ltc.
  have lt' := weak_step_to ws; case/wgatherP: ws => _ n1 lti dn es.
  have zn : size (upd (nseq (size g) 1) i n) = size g by rewrite size_upd size_nseq.
  have nE k : k < size g -> nth 0 (upd (nseq (size g) 1) i n) k = if k == i then n else 1.
    by move=> kg; rewrite nth_upd size_nseq -zc lti andbT nth_nseq zc kg.
  exists (along_gather (upd (nseq (size g) 1) i n)); split=> //; split=> //.
  + rewrite es; apply: (@eq_nth _ 0); first by rewrite size_upd size_map size_zip zn zc minnn.
    move=> k; rewrite size_upd => kc; rewrite nth_zipM; last by rewrite zn zc.
    rewrite nE; last by rewrite -zc.
    by rewrite nth_upd lti andbT; case: eqP => [->|_]; rewrite ?muln1.
  + exact: localtype_divides lt'.
  move=> d; rewrite ef /=; have zt := balanced_size d bs; apply: (@eq_nth _ 0) => [|k].
    by rewrite size_upd size_map size_zip zn zt zc minnn.
  rewrite size_upd zt => kc; rewrite (nth_map (0, 0)); last by rewrite size_zip zn zt zc minnn -zc.
  rewrite nth_zip; last by rewrite zn zt.
  rewrite /= nE; last by rewrite -zc.
  by rewrite /gather_tile nth_upd zt lti andbT; case: eqP => [->|_]; rewrite ?divn1.
- by exists (along_slice i n).
- case: (st) => bs [ws ef]; have ltc := balanced_localtype bs; have zc := localtype_size ltc.
  case/walltoallP: ws => _ n1 d1 d2 [lti ltj ij es]; have n0 := ltnW n1.
  have ji : (j == i) = false by rewrite eq_sym (negPf ij).
  have oE k : off_size [:: (i, j, n)] k = if i == k then n else 1 by rewrite off_cons muln1.
  have wE k : onto_size [:: (i, j, n)] k = if j == k then n else 1 by rewrite onto_cons muln1.
  exists (along_alltoall [:: (i, j, n)]); split=> //; split=> //.
  + rewrite /can_move /= -zc lti ltj n0 /=; apply/allP => k; rewrite mem_iota /= add0n => kc; rewrite oE wE.
    case: (i =P k) => [<-|ik]; last by rewrite /= dvd1n; case: eqP => [<-|_] /=; rewrite ?d2 ?dvd1n.
    by rewrite ji /= dvd1n orbT dvdn_divRL ?(localtype_dvd ltc) // mulnC d1.
  + rewrite es; apply: (@eq_nth _ 0); first by rewrite !size_upd size_after_moving.
    move=> k; rewrite !size_upd => kc; rewrite after_movingE // oE wE !nth_upd !size_upd lti ltj !andbT (eq_sym k) (eq_sym k i).
    case: (j =P k) => [<-|_]; first by rewrite (negPf ij) muln1.
    by rewrite divn1; case: eqP => [<-|_]; rewrite ?muln1.
  move=> d; rewrite ef /=; have zt := balanced_size d bs; apply: (@eq_nth _ 0) => [|k].
    by rewrite size_alltoall size_alltoall_along.
  rewrite size_alltoall zt => kc; rewrite nth_alltoall_along ?zt // oE /= divn1.
  rewrite /alltoall_tile !nth_upd !size_upd zt lti ltj !andbT (eq_sym k) (eq_sym k i).
  case: (j =P k) => [<-|_]; first by rewrite (negPf ij) divn1.
  by case: eqP => [<-|_]; rewrite ?divn1.
by exists along_permute.
Qed.

Lemma phys_along_sequence s v s' : sequence (@phys_step D g) s v s' ->
  exists w, sequence step s w s' /\ cost_of along_op (@tilemap_size D) s w = cost_of phys_op (@tilemap_size D) s v.
Proof.
elim: v s => [|[p s1] v IH] s /=; first by exists [::].
case=> /phys_along[q [st eo]] /IH[w [sq ec]]; exists ((q, s1) :: w); split=> //.
by rewrite !cost_cons ec eo.
Qed.

End Steps.
