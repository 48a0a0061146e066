(* S4: whether a weak normal form needs a permutation is a matter of counting.  *)
(*                                                                              *)
(* Let w slice c_1 to b and then move and gather.  Each tile o of b has delta / *)
(* prod N_i(b) holders; it lies in a tile up(o) of the source and ends in a     *)
(* tile s(o) of the target.  w can be realised from f_1 to f_2 without an       *)
(* allpermute iff for all u, v as many devices hold u and then v as the tiles o *)
(* with up(o) = u and s(o) = v ask for.                                         *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig06_syntax fig07_base_offsets fig08_typing def5_weak def6_devices.
Require Import fig11_cost def4_sequences fig10_low_level vectors weak_steps sequences fibres tiles.
Require Import tile_maps weak_patterns lemma_6_5 optimality.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Lemma size_up b c t : size (up b c t) = size t.
Proof. by rewrite size_map size_iota. Qed.

Lemma nth_up b c t k : k < size t -> nth 0 (up b c t) k = nth 0 t k * nth 0 b k %/ nth 0 c k.
Proof. by move=> kt; rewrite (nth_map 0) ?size_iota // nth_iota. Qed.

Lemma up_id c t : (forall k, k < size t -> 0 < nth 0 c k) -> up c c t = t.
Proof.
move=> pos; apply: (@eq_nth _ 0) => [|k]; rewrite size_up // => kt.
by rewrite nth_up // mulnK // pos.
Qed.

Lemma up_up b c d t : (forall k, k < size t -> 0 < nth 0 d k) -> divides b c -> divides c d ->
  up c d (up b c t) = up b d t.
Proof.
move=> pos /dividesP[_ bc] /dividesP[_ cd].
apply: (@eq_nth _ 0) => [|k]; rewrite !size_up // => kt; rewrite !nth_up ?size_up //.
have d0 := pos k kt; have [p ep] := dvdnP (cd k); have [q eq] := dvdnP (bc k).
move: d0; rewrite ep muln_gt0 eq muln_gt0 => /and3P[p0 q0 b0].
rewrite divnMr ?muln_gt0 ?q0 ?b0 // divnMr // [p * _]mulnA divnMr // (mulnC p).
by rewrite divnMA.
Qed.

Section S4.
Variables (D : finType) (g : seq nat) (ok : pred nat).
Local Notation tilemap := (tilemap D).
Local Notation balanced := (@balanced D g).
Local Notation counts := (tile_counts g).
Local Notation phys_ok := (@phys_ok D g ok).
Local Notation sequence := (sequence phys_ok).
Local Notation weak_sequence := (def4_sequences.sequence (ok_step #|D| g ok)).
Local Notation slices w := (all (fun q : weak * seq nat => is_slice (weak_op q.1)) w).
Local Notation no_slices w := (all (fun q : weak * seq nat => ~~ is_slice (weak_op q.1)) w).
Implicit Types (s : tilemap) (w : seq (weak * seq nat)) (v : seq (phys * tilemap)).

(* In a balanced map the devices with a property of their tile are counted by   *)
(* tiles.                                                                       *)
Lemma balanced_count s (P : pred (seq nat)) : balanced s ->
  #|[pred d | P (s.2 d)]| = (#|D| %/ prodn (counts s.1)) * count P (tiles (counts s.1)).
Proof.
move=> bs; set h := _ %/ _; rewrite -count_map_enum.
have cf (Q : pred (seq nat)) : count Q (flatten (nseq h (tiles (counts s.1)))) = h * count Q (tiles (counts s.1)).
  by rewrite count_flatten map_nseq sumn_nseq mulnC.
rewrite -cf; apply/permP; rewrite /perm_eq; apply/allP => t _; apply/eqP => /=.
by rewrite count_map_enum cf count_tiles [LHS](balanced_holders t bs) mulnC.
Qed.

Lemma run_moves s v s' w d : sequence s v s' -> lowers v w -> no_slices w ->
  s'.2 d = moves w (s.2 d).
Proof.
rewrite /lowers; elim: v w s => [|[p s1] v IH] [|[q c] w] s //=; first by move=> ->.
case=> [[[_ st] _] sq] [ep _ /(IH w s1 sq) e] /andP[ns nw]; rewrite e //.
rewrite /moves /= -/(moves w _); congr moves; move: st; rewrite ep => -[_].
by case: q ns {ep} => [i n|i n|i j n] //= _ ->.
Qed.

Lemma slice_up i n s s' d : phys_ok (pweak (wslice i n)) s s' -> s.2 d = up s'.1 s.1 (s'.2 d).
Proof.
case=> -[bs [st [bs' [e [lt es]]]]] _; rewrite es.
have ltc := balanced_localtype bs; have ltc' := balanced_localtype bs'.
have zs := balanced_size d bs; have zc := weak_step_size st.
case/wsliceP: st => _ n1 [il dn _ ec].
apply: (@eq_nth _ 0) => [|k kd]; rewrite ?size_up ?size_upd // nth_up ?size_upd //.
rewrite /slice_tile nth_upd zs il andbT ec nth_upd il andbT.
have c0 : 0 < nth 0 s.1 k by rewrite (localtype_pos ltc) // -zs.
case: (k =P i) => [->|_]; last by rewrite mulnK.
have [q eq] := dvdnP dn; have n0 := ltnW n1.
have q0 : 0 < q by move: (localtype_pos ltc il); rewrite eq muln_gt0 => /andP[].
rewrite eq mulnK // (mulnC q n) divnMr // divnMDl //.
by rewrite divn_small ?lt // addn0.
Qed.

Lemma run_up s v s' w d : balanced s -> sequence s v s' -> lowers v w -> slices w ->
  s.2 d = up s'.1 s.1 (s'.2 d) /\ divides s'.1 s.1.
Proof.
rewrite /lowers; elim: v w s => [|[p s1] v IH] [|[q c] w] s //=.
  move=> bs <- _ _; split; last exact: divides_refl.
  by rewrite up_id // => k kd; rewrite (localtype_pos (balanced_localtype bs)) // -(balanced_size d bs).
move=> bs [st sq] [ep _ el] /andP[is_s sl]; rewrite ep in st.
have bs1 : balanced s1 by case: st => /phys_step_balanced.
have [e dv] := IH w s1 bs1 sq el sl.
case: q is_s ep st => [i n|i n|i j n] //= _ _ st.
have dv1 : divides s1.1 s.1.
  case: st => -[_ [/wsliceP[_ _ [_ dn _ ->]] _] _]; apply/dividesP; rewrite size_upd.
  by split=> // k; rewrite nth_upd; case: ifP => // /andP[/eqP-> _]; apply: dvdn_div.
split; last exact: divides_trans dv dv1.
rewrite (slice_up d st) e up_up // => k kd.
have z' : size (s'.2 d) = size (s1.2 d) by rewrite e size_up.
have := slice_up d st; move/(congr1 size); rewrite size_up => zz.
by rewrite (localtype_pos (balanced_localtype bs)) // -(balanced_size d bs) zz -z'.
Qed.

(* w can be realised from s1 to s2 step by step, without an allpermute.         *)
Definition realisable s1 s2 w : Prop := exists v, sequence s1 v s2 /\ lowers v w.

Theorem S4 s1 s2 wd wr b :
  balanced s1 -> balanced s2 -> weak_sequence s1.1 wd b -> weak_sequence b wr s2.1 ->
  slices wd -> no_slices wr ->
  realisable s1 s2 (wd ++ wr) <->
  forall u u', #|[pred d | (s1.2 d == u) && (s2.2 d == u')]| =
    (#|D| %/ prodn (counts b)) *
    count (fun o => (up b s1.1 o == u) && (moves wr o == u')) (tiles (counts b)).
Proof.
move=> bs1 bs2 sqd sqr sd sr; split=> [[v [sq l]]|cnt].
  have [vd [vr [ev ld lr]]] : exists vd vr, [/\ v = vd ++ vr, lowers vd wd & lowers vr wr].
    exists (take (size wd) v), (drop (size wd) v); rewrite cat_take_drop /lowers !map_take !map_drop.
    by rewrite l map_cat take_size_cat ?size_map // drop_size_cat ?size_map.
  rewrite ev in sq; have [sb [sd1 sr1]] := sequence_split sq; move=> u v0.
  have eb : sb.1 = b by rewrite (sequence_end sd1) (lowers_end _ ld) -(sequence_end sqd).
  have bb : balanced sb.
    elim: (vd) (s1) bs1 sd1 => [|[p s'] v' IH] s /=; first by move=> bs0 <-.
    by move=> bs [[st _] sq0]; apply: (IH s' _ sq0); apply: phys_step_balanced st.
  rewrite -eb -(balanced_count (fun o => (up sb.1 s1.1 o == u) && (moves wr o == v0)) bb).
  apply: eq_card => d; rewrite !inE (run_moves d sr1 lr sr).
  by have [<- _] := run_up d bs1 sd1 ld sd.
have ltb : is_localtype #|D| g b.
  elim: (wd) (s1.1) (balanced_localtype bs1) sqd => [|[q c'] w IH] c /=; first by move=> ? <-.
  by move=> lt [[st _] sq0]; apply: (IH c' _ sq0); apply: weak_step_to st.
have [|f [gf fin cf]] := @match_times D _ _ (fun d => (s1.2 d, s2.2 d))
    (fun o => (up b s1.1 o, moves wr o)) [::] (tiles (counts b)) (#|D| %/ prodn (counts b)).
  by case=> u v; rewrite -[RHS]cnt; apply: eq_card => d; rewrite !inE.
have bb : balanced (b, f).
  split=> //= [d|t it]; first by rewrite -mem_tiles.
  by rewrite /holders cf count_tiles it muln1.
have [vd [s [sqs es bs ld]]] := theorem_6_4_back (s' := (b, f)) bb sqd.
have [vr [s' [sqs' es' bs' lr]]] := theorem_6_4_tiles (s := (b, f)) bb sqr.
have e1 : s = s1.
  case: s es sqs bs => c1 f1 /= es sqs bs; rewrite [RHS]surjective_pairing -es; congr pair.
  apply/ffunP => d; have [/= -> _] := run_up d bs sqs ld sd.
  by have := gf d; rewrite /= -es => -[].
have e2 : s' = s2.
  case: s' es' sqs' bs' => c2 f2 /= es' sqs' bs'; rewrite [RHS]surjective_pairing -es'; congr pair.
  apply/ffunP => d; have /= -> := run_moves d sqs' lr sr.
  by have := gf d => -[].
exists (vd ++ vr); split; last exact: lowers_cat.
by rewrite -e1 -e2; apply: sequence_join sqs sqs'.
Qed.

End S4.
