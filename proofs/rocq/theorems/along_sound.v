(* Certificates of scope several_dims are sound: what certify_along accepts     *)
(* bounds the cost of every sequence of steps along any number of dimensions    *)
(* from f_1 to f_2 (S13).                                                       *)
(*                                                                              *)
(* What moves data costs the tile after it, and only slices are free.  So few   *)
(* steps can cost less than the bound, and the certifier looks at all of them.  *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig06_syntax fig07_base_offsets fig08_typing fig11_cost def4_sequences.
Require Import def5_weak def6_devices fig10_low_level moves.
Require Import vectors weak_steps sequences fibres tiles tile_maps optimality s4 table along digits along_steps.
Require certify.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Lemma kinds_le s : sorted lex_row s -> kinds s <= size (undup s).
Proof.
elim: s => //= u s IH su; have ss := path_sorted su.
case: ifP => us.
  apply: leq_trans (IH ss); case: s us su {IH ss} => // v s us /= /andP[uv vs].
  suff -> : u = v by rewrite eqxx.
  apply/lex_row_anti; rewrite uv /=; move: us; rewrite inE => /predU1P[->|us].
    by case/orP: (lex_row_total v v).
  by have /allP := order_path_min lex_row_trans vs; apply.
rewrite /= -[(size _).+1]add1n; apply: leq_add; last exact: IH.
by case: (s) => // v s'; case: (u != v).
Qed.

Lemma prime_is_prime n : prime n -> is_prime n.
Proof.
move=> pn; have n1 := prime_gt1 pn; rewrite /is_prime n1 /=; apply/allP => d; rewrite mem_iota => /andP[d2 dn].
apply/negP => dv; have /primeP[_ h] := pn; case/pred2P: (h d dv) => e; lia.
Qed.

(* ---- numbers ----                                                            *)
(* Sizes are counted in the smallest tiles: a of them is the new tile, m a one  *)
(* that slices lead from there to.                                              *)
Lemma one_left a m : 0 < m * a -> m * a < a + 1 -> m = 1.
Proof. by case: m => [|[|m]] //; rewrite !mulSn; lia. Qed.

Lemma one_of_two a m x : 1 < a -> 0 < m * a -> x + m * a < a + 2 -> m = 1 /\ x <= 1.
Proof. by case: m => [|[|m]] //; rewrite !mulSn; lia. Qed.

Definition spare (a : nat) : nat := if 1 < a then 3 else 2.
Lemma spare_le a : a + spare a <= 1 + (1 + (1 + a)).
Proof. by rewrite /spare; case: ifP => _; lia. Qed.

Lemma one_of_three a m : 0 < m * a -> m * a < a + spare a -> m = 1 \/ m = 2 /\ a <= 2.
Proof. by rewrite /spare; case: m => [|[|[|m]]] //; rewrite ?mulSn; case: ifP; lia. Qed.

Lemma two_of_three a m x : 0 < x -> 0 < m * a -> x + m * a < a + spare a -> m = 1 /\ (x = 1 \/ x = 2 /\ 1 < a).
Proof. by rewrite /spare; case: m => [|[|m]] //; rewrite ?mulSn; case: ifP; lia. Qed.

Lemma three_of_three a m x y : 0 < x -> 0 < y -> 0 < m * a -> x + y + m * a < a + spare a ->
  [/\ m = 1, x = 1, y = 1 & 1 < a].
Proof. by rewrite /spare; case: m => [|[|m]] // x0 y0; rewrite ?mulSn; case: ifP => h; [|lia|lia|lia]; split; lia. Qed.

Lemma part_of_one z n x : 0 < z -> x = n * z -> x <= 1 -> 0 < x -> z = x.
Proof. by case: n => [|[|n]]; rewrite ?mulSn; lia. Qed.

Lemma part_of_two z n : 0 < z -> 2 = n * z -> z = 2 \/ z = 1.
Proof. by case: n => [|[|[|n]]]; rewrite ?mulSn; lia. Qed.

Lemma odd_part e x r : e * 2 = r * (x * 2) -> e = x * r.
Proof. by rewrite mulnA => /eqP; rewrite eqn_pmul2r // mulnC => /eqP. Qed.

Section Digits.
Variables (g : seq nat) (ps : seq nat).
Hypothesis ps_big : forall n, n \in ps -> 1 < n.

Lemma next_digitsP lost won i j n : ((i, j, n) \in next_digits g ps lost won) =
  [&& i < size g, j < size g, n \in ps, n %| nth 0 lost i & n %| nth 0 won j].
Proof.
apply/flatten_mapP/and5P => [[a]|[ig jg np d1 d2]].
  rewrite mem_iota => ag /flatten_mapP[b]; rewrite mem_iota => bg /mapP[m].
  by rewrite mem_filter => /andP[/andP[d1 d2] mp] [-> -> ->].
exists i; first by rewrite mem_iota.
by apply/flatten_mapP; exists j; rewrite ?mem_iota // map_f // mem_filter d1 d2.
Qed.

Lemma digits_lead_complete fuel (test : seq moved -> bool) lost won before ds :
  all (fun q : moved => [&& q.1.1 < size g, q.1.2 < size g & q.2 \in ps]) ds ->
  size lost = size g -> size won = size g ->
  (forall k, k < size g -> nth 0 lost k = off_size ds k) ->
  (forall k, k < size g -> nth 0 won k = onto_size ds k) ->
  prodn lost <= fuel -> test (rev before ++ ds) -> digits_lead g ps fuel test lost won before.
Proof.
elim: ds fuel lost won before => [|[[i j] n] ds IH] fuel lost won before /=.
  move=> _ zl zw lE wE _; rewrite cats0 => ok; case: fuel => [|fuel] //=.
  suff -> : nilp (next_digits g ps lost won) by [].
  case e: (next_digits g ps lost won) => [|[[i j] n] l] //.
  have : (i, j, n) \in next_digits g ps lost won by rewrite e mem_head.
  rewrite next_digitsP => /and5P[ig _ np d1 _]; rewrite lE // in d1.
  by have := ps_big np; move: d1; rewrite /off_size /= dvdn1 => /eqP->.
case/andP=> /and3P[ig jg np] rest zl zw lE wE le ok.
have n1 := ps_big np; have n0 := ltnW n1.
have inn : (i, j, n) \in next_digits g ps lost won.
  by rewrite next_digitsP ig jg np lE // wE // off_cons onto_cons !eqxx !dvdn_mulr.
have p0 : 0 < prodn lost.
  apply: prodn_gt0; apply/(all_nthP 0) => k; rewrite zl => kg; rewrite lE //; apply: (@off_pos ((i, j, n) :: ds)).
  by rewrite /= n0; apply: sub_all rest => q /and3P[_ _ /ps_big/ltnW].
case: fuel le => [|fuel] le /=; first by lia.
case: ifP => [/nilP e|_]; first by rewrite e in inn.
apply/hasP; exists (i, j, n) => //; apply: IH => //; rewrite ?size_upd //.
- move=> k kg; rewrite nth_upd zl ig andbT lE // eq_sym; case: eqP => [<-|ne].
    by rewrite off_cons eqxx mulKn.
  by rewrite lE // off_cons; case: eqP ne => // _ _; rewrite mul1n.
- move=> k kg; rewrite nth_upd zw jg andbT wE // eq_sym; case: eqP => [<-|ne].
    by rewrite onto_cons eqxx mulKn.
  by rewrite wE // onto_cons; case: eqP ne => // _ _; rewrite mul1n.
- have := prodn_upd (nth 0 lost i %/ n) (i := i) (s := lost); rewrite zl => /(_ ig).
  have : 0 < nth 0 lost i by apply: prodn_nth_pos; rewrite ?zl.
  rewrite lE // off_cons eqxx mulKn //; set o := off_size ds i; set q := prodn (upd _ _ _).
  by move=> o0 e; have o1 : 0 < o by [move: o0; rewrite muln_gt0 => /andP[]]; nia.
by rewrite rev_cons cat_rcons.
Qed.
End Digits.

Section Sound.
Variables (D : finType) (g c1 c2 : seq nat) (s1 s2 : tilemap D).
Local Notation delta := #|D|.
Local Notation is_localtype := (is_localtype delta g).
Local Notation step := (@along_step D g).
Local Notation sequence := (sequence step).
Local Notation cost := (cost_of along_op (@tilemap_size D)).
Local Notation counts := (tile_counts g).

Variable rows : seq (seq nat).
Hypothesis rowsE : perm_eq rows [seq certify.offsets c1 (s1.2 d) ++ certify.offsets c2 (s2.2 d) | d <- enum D].
Hypothesis devices_exist : 0 < delta.
Hypothesis bs1 : balanced g s1.
Hypothesis bs2 : balanced g s2.
Hypothesis e1 : s1.1 = c1.
Hypothesis e2 : s2.1 = c2.

Local Notation sorted := (sort lex_row rows).
Local Notation all_c := (localtypes_of (divisors_of delta) delta g).
Local Notation ps := [seq n <- divisors_of delta | is_prime n].
Local Notation tells_apart := (tells_apart g (kinds sorted)).
Local Notation is_exact := (is_exact delta g c1 c2 sorted).
Local Notation alltoall_leads := (alltoall_leads delta g c1 c2 sorted ps (kinds sorted)).
Local Notation comparable := (comparable g).

Lemma lt1 : is_localtype c1. Proof. by rewrite -e1; apply: balanced_localtype. Qed.
Lemma lt2 : is_localtype c2. Proof. by rewrite -e2; apply: balanced_localtype. Qed.

Lemma in_all c : is_localtype c -> c \in all_c.
Proof.
move=> lt; apply: mem_localtypes; rewrite ?(localtype_tiles lt) ?(localtype_divides lt) //.
  by rewrite prodn_pos (localtype_g lt).
by move=> n; apply: mem_divisors.
Qed.

(* ---- what is a function of the tiles after the slices ----                   *)
(* Slices lead to sb, and what follows maps each of its tiles to one of s2.     *)
Definition leads (sb : tilemap D) (F : seq nat -> seq nat) : Prop :=
  [/\ balanced g sb, forall d, s1.2 d = up sb.1 c1 (sb.2 d) & forall d, s2.2 d = F (sb.2 d)].

Lemma leads_made sb F : leads sb F ->
  perm_eq (flatten (nseq (delta %/ prodn (counts sb.1))
    [seq certify.offsets c1 (up sb.1 c1 o) ++ certify.offsets c2 (F o) | o <- tiles (counts sb.1)])) rows.
Proof.
case=> bs up1 F2; rewrite perm_sym (perm_trans rowsE) // perm_sym.
set K := fun o => certify.offsets c1 (up sb.1 c1 o) ++ certify.offsets c2 (F o).
have -> : [seq certify.offsets c1 (s1.2 d) ++ certify.offsets c2 (s2.2 d) | d <- enum D] = map K [seq sb.2 d | d <- enum D].
  by rewrite -map_comp; apply: eq_map => d /=; rewrite /K up1 F2.
rewrite -/K -map_nseq -map_flatten; apply: perm_map; apply/permP => P.
by rewrite count_flatten map_nseq sumn_nseq mulnC count_map_enum (balanced_count P bs).
Qed.

Lemma leads_apart sb F : leads sb F -> tells_apart sb.1.
Proof.
move=> /leads_made p; rewrite /along.tells_apart; apply: leq_trans (kinds_le (sort_sorted lex_row_total rows)) _.
set M := [seq _ | o <- tiles _] in p.
apply: (@leq_trans (size M)); last by rewrite size_map size_tiles.
apply: uniq_leq_size (undup_uniq _) _ => u; rewrite mem_undup mem_sort -(perm_mem p).
by case/flattenP => l /nseqP[-> _].
Qed.

Lemma leads_exact sb F t after : leads sb F -> (forall o, is_tile (counts sb.1) o -> F o = up t c2 (after o)) ->
  is_exact sb.1 t after.
Proof.
move=> /leads_made p e; apply/eqP/sort_rowsP; apply: perm_trans p; rewrite /made.
set h := _ %/ _; rewrite (_ : map _ _ = [seq certify.offsets c1 (up sb.1 c1 o) ++ certify.offsets c2 (F o) | o <- tiles (counts sb.1)]) //.
by apply/eq_in_map => o; rewrite mem_tiles => /e ->.
Qed.

(* ---- alltoalls are found ----                                                *)
Lemma moved_sizes b ds t k : is_localtype b -> can_move g b ds -> t = after_moving b ds -> k < size g ->
  [/\ (nth 0 b k %| nth 0 t k) || (nth 0 t k %| nth 0 b k),
      nth 0 (loses g b t) k = off_size ds k & nth 0 (gains g b t) k = onto_size ds k].
Proof.
move=> lt ok et kg; have kb : k < size b by rewrite (localtype_size lt).
have [one _ d2] := can_moveP ok kg; have tE := after_movingE ds kb; rewrite -et in tE.
have b0 := localtype_pos lt kb.
have pos : all (fun q : moved => 0 < q.2) ds by case/andP: ok => rng _; apply: sub_all rng => q /and3P[].
have r0 := off_pos k pos; have q0 := onto_pos k pos.
rewrite /loses /gains !(nth_map 0) ?size_iota // !nth_iota // add0n tE.
case/orP: one => /eqP e1'; rewrite e1'.
  rewrite muln1; have le : nth 0 b k %/ onto_size ds k <= nth 0 b k by exact: leq_div.
  rewrite dvdn_div // orbT ltnNge le /=; split=> //.
  have [x ex] := dvdnP d2; rewrite ex mulnK //; move: b0; rewrite ex muln_gt0 => /andP[x0 _].
  by rewrite mulKn.
rewrite divn1 dvdn_mulr //; case: ifP => lt_; first by rewrite mulKn.
have : off_size ds k = 1 by move: lt_; nia.
by move=> ->; rewrite muln1 divnn b0.
Qed.

Lemma moved_comparable b ds : is_localtype b -> can_move g b ds -> comparable b (after_moving b ds).
Proof. by move=> lt ok; apply/allP => k; rewrite mem_iota => kg; have [] := moved_sizes lt ok (erefl _) kg. Qed.

Lemma alltoall_found b ds : is_localtype b -> can_move g b ds -> tells_apart b ->
  is_exact b (after_moving b ds) (alltoall_along ds) -> alltoall_leads b (after_moving b ds).
Proof.
move=> lt ok ap ex; have zb := localtype_size lt; have /andP[rng dvs] := ok.
have [ds' [al pr]] := prime_digits rng; have [eo ei _] := al.
rewrite /along.alltoall_leads (after_moving_prodn zb ok) eqxx moved_comparable // ap /=.
have ps1 n : n \in ps -> 1 < n by rewrite mem_filter => /andP[/andP[]].
apply: (@digits_lead_complete _ _ ps1 _ _ _ _ _ ds') => //; rewrite ?size_map ?size_iota //.
- apply/allP => -[[i j] n] inds; have /and3P[/= -> -> pn] := allP pr _ inds.
  rewrite mem_filter prime_is_prime //=; apply: mem_divisors => //.
  have /and3P[/= ig _ _] := allP pr _ inds.
  have nd : n %| off_size ds' i.
    have : n \in [seq q.2 | q <- ds' & q.1.1 == i] by apply/mapP; exists (i, j, n); rewrite ?mem_filter /= ?eqxx.
    by move/(nthP 0)=> [k kl <-]; apply: prodn_dvd.
  have [_ d1 _] := can_moveP ok ig; rewrite -eo in nd; apply: dvdn_trans nd _; apply: dvdn_trans d1 _.
  rewrite -nth_tile_counts //; apply: dvdn_trans (localtype_tiles lt).
  by apply: prodn_dvd; rewrite size_tile_counts.
- by move=> k kg; have [_ -> _] := moved_sizes lt ok (erefl _) kg.
- by move=> k kg; have [_ _ ->] := moved_sizes lt ok (erefl _) kg.
rewrite cat0s; move: ex; rewrite /along.is_exact /made.
by under eq_map => o do rewrite (alike_tile o al).
Qed.

(* What a step that moves makes of localtypes.                                  *)
Lemma moves_comparable (s s' : tilemap D) : is_localtype s.1 -> is_localtype s'.1 -> moves_as g s s' -> comparable s.1 s'.1.
Proof.
move=> lt lt' [dv _|ds ok -> _|->]; last by apply/allP => k _; rewrite dvdnn.
  by apply/allP => k _; have /dividesP[_ ->] := dv.
exact: moved_comparable.
Qed.

(* ---- the first steps ----                                                    *)
(* Slices lead from f_1 to s0.                                                  *)
Definition starts (s0 : tilemap D) : Prop :=
  [/\ balanced g s0, divides s0.1 c1 & forall d, s1.2 d = up s0.1 c1 (s0.2 d)].
Local Notation slices := (fun w : seq (along * tilemap D) => all (fun q => along_steps.slices q.1) w).
Local Notation L := (prodn c2).

Lemma box_within x q o f : f * q <= o -> o < f.+1 * q -> (q * x * f <= x * o) && (x * o + x <= q * x * f + q * x).
Proof.
move=> m h; have -> : q * x * f = x * (f * q) by lia.
have -> : x * o + x = x * o.+1 by lia.
have -> : x * (f * q) + q * x = x * (f.+1 * q) by lia.
by rewrite !leq_mul2l m h !orbT.
Qed.

Lemma slices_are w : sequence s1 w s2 -> slices w -> are_slices g c1 c2 sorted.
Proof.
move=> sq sw; have ltc1 := lt1; have ltc2 := lt2.
have [dv u _] := slices_up sq sw (balanced_localtype bs1) bs2; rewrite e1 e2 in dv u.
apply/allP => uv; rewrite mem_sort (perm_mem rowsE) => /mapP[d _ ->]; apply/allP => k; rewrite mem_iota /= add0n => kg.
have k1 : k < size c1 by rewrite (localtype_size ltc1).
have k2 : k < size c2 by rewrite (localtype_size ltc2).
have z1 : size (s1.2 d) = size c1 by rewrite (balanced_size d bs1) e1.
have z2 : size (s2.2 d) = size c2 by rewrite (balanced_size d bs2) e2.
have zo : size (certify.offsets c1 (s1.2 d)) = size g by rewrite size_map size_zip z1 minnn (localtype_size ltc1).
rewrite !nth_cat zo kg ltnNge leq_addr /= addKn.
have oE c t : size t = size c -> k < size c -> nth 0 (certify.offsets c t) k = nth 0 c k * nth 0 t k.
  by move=> zt kc; rewrite (nth_map (0, 0)) ?size_zip ?zt ?minnn // nth_zip.
rewrite !oE // u nth_up ?z2 //.
have /dividesP[_ /(_ k)/dvdnP[q eq]] := dv; have c0 := localtype_pos ltc1 k1.
rewrite eq; rewrite eq muln_gt0 in c0; have /andP[q0 x0] := c0.
set x := nth 0 c2 k in x0 *; set o := nth 0 (s2.2 d) k; rewrite divnMr //.
by apply: box_within; [apply: leq_trunc_div|apply: ltn_ceil].
Qed.

Lemma rest_cost s w : sequence s w s2 -> slices w \/ L <= cost s w.
Proof.
move=> sq; case: (first_move sq) => [|[wd [s0 [p [t [wr [_ _ st _ ec]]]]]]]; [by left|right].
case: (cost_zero_or_end (@along_sized D g) sq) => [[e _]|]; last by rewrite /tilemap_size e2.
by have := localtype_prod_pos (along_to st); rewrite ec /tilemap_size in e; move: e; case: (prodn _).
Qed.

(* Only slices are left.                                                        *)
Lemma tail_slices s w : sequence s w s2 -> slices w -> is_localtype s.1 ->
  divides c2 s.1 /\ (prodn s.1 = L -> s = s2).
Proof.
move=> sq sw lt; have [dv _ ne] := slices_up sq sw lt bs2; rewrite e2 in dv ne; split=> // e.
by move: sq; rewrite ne.
Qed.

(* Or a step follows that moves.                                                *)
Lemma next_move s w : sequence s w s2 -> is_localtype s.1 -> slices w \/
  exists s0 p t w1, [/\ step p s0 t, ~~ along_steps.slices p, sequence t w1 s2, cost s w = prodn t.1 + cost t w1
    & [/\ divides s0.1 s.1, forall d, s.2 d = up s0.1 s.1 (s0.2 d) & prodn s0.1 = prodn s.1 -> s0 = s]].
Proof.
move=> sq lt; case: (first_move sq) => [|[wd [s0 [p [t [wr [_ [sqd sd np] st sqr ec]]]]]]]; [by left|right].
exists s0, p, t, wr; split=> //; have [dv u ne] := slices_up sqd sd lt (along_from st); split=> // e.
by move: sqd; rewrite ne.
Qed.

Lemma first_step w : sequence s1 w s2 -> ~~ are_slices g c1 c2 sorted ->
  exists s0 p t w1, [/\ starts s0, step p s0 t, ~~ along_steps.slices p, sequence t w1 s2 & cost s1 w = prodn t.1 + cost t w1].
Proof.
move=> sq no; case: (next_move sq (balanced_localtype bs1)) => [/(slices_are sq) yes|]; first by rewrite yes in no.
case=> s0 [p [t [w1 [st np sq1 ec [dv u _]]]]]; exists s0, p, t, w1; split=> //.
by rewrite e1 in dv u; split=> //; apply: along_from st.
Qed.

(* ---- what the certifier looks at ----                                        *)
Lemma up_c2 o : size o = size g -> up c2 c2 o = o.
Proof. by move=> zo; rewrite up_id // => k; rewrite zo -(localtype_size lt2) => kc; exact: (localtype_pos lt2 kc). Qed.

Lemma tile_size (s : tilemap D) o : balanced g s -> is_tile (counts s.1) o -> size o = size g.
Proof.
move=> bs /is_tile_size ->; rewrite size_tile_counts //; exact: localtype_size (balanced_localtype bs).
Qed.

Local Notation no_one_step := (no_one_step delta g c1 c2 sorted all_c ps (kinds sorted)).
Local Notation no_two_steps := (no_two_steps delta g c1 c2 sorted all_c ps (kinds sorted)).

Lemma one_step s0 p : no_one_step -> starts s0 -> step p s0 s2 -> ~~ along_steps.slices p -> False.
Proof.
case/andP=> /negP np /allP h [bs0 dv u] st sp; have lt0 := balanced_localtype bs0.
have := h _ (in_all lt0); rewrite dv => /andP[ng na].
have [mv _] := moving st sp; case: mv => [dg ef|ds ok es ef|es].
- rewrite e2 in dg ef; case/negP: ng; rewrite dg /=; have ld : leads s0 (up s0.1 c2) by split.
  by rewrite (leads_apart ld) (leads_exact (t := s0.1) (after := id) ld).
- rewrite e2 in es; case/negP: na; have ld : leads s0 (alltoall_along ds) by split.
  have pe := after_moving_prodn (localtype_size lt0) ok.
  have fnd : alltoall_leads s0.1 (after_moving s0.1 ds).
    apply: (alltoall_found lt0 ok (leads_apart ld)); rewrite -es; apply: (leads_exact ld) => o to.
    by rewrite up_c2 // size_alltoall_along (tile_size bs0 to).
  by rewrite -es in fnd pe; rewrite pe eqxx.
by rewrite e2 in es; apply: np; rewrite es.
Qed.

Lemma divides_same (a b : seq nat) : divides a b -> prodn a = prodn b -> 0 < prodn b -> a = b.
Proof.
elim: a b => [|x a IH] [|y b] //= /andP[xy ab] e; rewrite muln_gt0 => /andP[y0 b0].
have le1 := dvdn_leq y0 xy; have le2 := dvdn_leq b0 (divides_prodn ab).
have e2' : prodn a = prodn b by have x0 := dvdn_gt0 y0 xy; nia.
by rewrite (IH b) //; congr (_ :: _); apply/eqP; rewrite -(eqn_pmul2r b0) -{1}e2' e.
Qed.

(* A step that keeps the size of tiles is an alltoall, or keeps their shape.    *)
Lemma flat_move (s s' : tilemap D) : is_localtype s'.1 -> moves_as g s s' -> prodn s'.1 = prodn s.1 ->
  s'.1 = s.1 \/ exists ds, [/\ can_move g s.1 ds, s'.1 = after_moving s.1 ds & forall d, s'.2 d = alltoall_along ds (s.2 d)].
Proof.
move=> lt' [dv _|ds ok es ef|es] e; [left|by right; exists ds|by left].
by rewrite (divides_same dv) ?e // -e; apply: localtype_prod_pos lt'.
Qed.

(* A step to larger tiles is an allgather.                                      *)
Lemma rising_move (s s' : tilemap D) : is_localtype s.1 -> moves_as g s s' -> prodn s.1 < prodn s'.1 ->
  divides s.1 s'.1 /\ forall d, s'.2 d = up s.1 s'.1 (s.2 d).
Proof.
move=> lt [dv ef|ds ok es ef|es] //; last by rewrite es ltnn.
by rewrite es (after_moving_prodn (localtype_size lt) ok) ltnn.
Qed.

Lemma two_steps v s0 p t q : no_two_steps v -> starts s0 -> step p s0 t -> ~~ along_steps.slices p ->
  step q t s2 -> ~~ along_steps.slices q -> prodn s0.1 = v -> prodn t.1 = v -> v < L -> False.
Proof.
move=> /allP h [bs0 dv u] st sp st' sq ev ev' vL; have lt0 := balanced_localtype bs0; have ltt := along_to st.
have := h _ (in_all lt0); rewrite dv ev eqxx => /andP[nd nl].
have [mv _] := moving st sp; have [mv' _] := moving st' sq.
have [|dg ef'] := rising_move ltt mv'; first by rewrite e2 ev'.
rewrite e2 in dg ef'.
case: (flat_move ltt mv) => [|es|[ds [ok es ef]]]; first by rewrite ev ev'.
  by case/negP: nd; rewrite -es.
case/negP: nl; have ld : leads s0 (fun o => up t.1 c2 (alltoall_along ds o)) by split=> // d; rewrite ef' ef.
rewrite (leads_apart ld); apply/hasP; exists t.1; first exact: in_all.
rewrite dg /=; have fnd : alltoall_leads s0.1 (after_moving s0.1 ds); last by rewrite -es in fnd.
by apply: (alltoall_found lt0 ok (leads_apart ld)); rewrite -es; apply: (leads_exact ld).
Qed.

(* Of what is comparable with t, and t is one slice by 2 above u, something     *)
(* smaller is comparable with u.                                                *)
Lemma halved b t u : is_localtype b -> is_localtype u -> comparable b t -> divides u t ->
  prodn t = prodn u * 2 -> prodn t = prodn b \/ divides b t /\ prodn t %| prodn b * 4 ->
  exists b', [/\ is_localtype b', divides b' b & comparable b' u].
Proof.
move=> ltb ltu cbt dut e2' ways; have /dividesP[zu du] := dut.
have zb := localtype_size ltb; have zug := localtype_size ltu.
have pu := localtype_prod_pos ltu.
have q2 : prodn (tile_counts t u) = 2.
  by apply/eqP; rewrite -(eqn_pmul2r pu) tile_counts_mul // e2' mulnC.
have half k : k < size g -> nth 0 t k = nth 0 u k \/ nth 0 t k = nth 0 u k * 2.
  move=> kg; have := @prodn_dvd (tile_counts t u) k; rewrite q2 size_tile_counts // -zu zug nth_tile_counts // => /(_ kg) d.
  have /dvdnP[m em] := du k; have u0 : 0 < nth 0 u k by rewrite (localtype_pos ltu) // zug.
  rewrite em mulnK // in d; have := dvdn_leq (isT : 0 < 2) d; rewrite em.
  by case: m {em} d => [|[|[|m]]] //; [rewrite mul1n; left|rewrite mulnC; right].
pose C k := (nth 0 b k %| nth 0 u k) || (nth 0 u k %| nth 0 b k).
have notC k : k < size g -> ~~ C k -> exists x r, [/\ nth 0 b k = x * 2, nth 0 u k = x * r, nth 0 t k = nth 0 b k * r & ~~ (2 %| r)].
  move=> kg /norP[n1 n2]; have := allP cbt k; rewrite mem_iota => /(_ kg) /orP[/dvdnP[r er]|tb]; last first.
    by case/negP: n2; apply: dvdn_trans (du k) tb.
  case: (half k kg) => [e|e]; first by case/negP: n1; rewrite -e er dvdn_mull.
  have nr : ~~ (2 %| r).
    apply/negP => /dvdnP[r' er']; case/negP: n1; apply/dvdnP; exists r'; move: er; rewrite e er' mulnAC.
    by move/eqP; rewrite eqn_pmul2r // => /eqP.
  have : 2 %| r * nth 0 b k by rewrite -er e dvdn_mull.
  rewrite Euclid_dvdM // (negPf nr) /= => /dvdnP[x ex]; exists x, r; split=> //; last by rewrite er mulnC.
  by rewrite e ex in er; apply: odd_part er.
case: ways => [et|[dbt d4]]; last first.
  exists b; split=> //; first exact: divides_refl.
  apply/allP => k; rewrite mem_iota /= add0n => kg; case c: (C k) => //; have [x [r [eb eu et nr]]] := notC k kg (negbT c).
  have pb := localtype_prod_pos ltb.
  have ct := tile_counts_mul dbt; have dr : r %| prodn (tile_counts t b).
    have := @prodn_dvd (tile_counts t b) k; have /dividesP[zbt _] := dbt; rewrite size_tile_counts // -zbt zb nth_tile_counts // => /(_ kg).
    by rewrite et mulKn // (localtype_pos ltb) // zb.
  have : r %| 4.
    by apply: dvdn_trans dr _; rewrite -(dvdn_pmul2r pb) ct mulnC.
  move=> d; have := dvdn_leq (isT : 0 < 4) d; move: c; rewrite /C; move: d nr eu eb.
  case: r {et dr} => [|[|[|[|[|r]]]]] // _ _ -> ->; rewrite muln1 => /negbT /norP[_ /negP[]].
  exact: dvdn_mulr.
pose b' := [seq if C k then nth 0 b k else nth 0 b k %/ 2 | k <- iota 0 (size g)].
pose q' := [seq if C k then 1 else 2 | k <- iota 0 (size g)].
have b'E k : k < size g -> nth 0 b' k = if C k then nth 0 b k else nth 0 b k %/ 2.
  by move=> kg; rewrite (nth_map 0) ?size_iota // nth_iota.
have zb' : size b' = size g by rewrite size_map size_iota.
have db : divides b' b.
  apply/dividesP; rewrite zb' zb; split=> // k; case: (ltnP k (size g)) => kg; last by rewrite !nth_default ?zb' ?zb.
  rewrite b'E //; case c: (C k) => //; have [x [r [eb _ _ _]]] := notC k kg (negbT c).
  by rewrite eb mulnK // dvdn_mulr.
have eqb : prodn b = prodn b' * prodn q'.
  rewrite -prodn_mapM -[in LHS](map_nth_iota b) zb; congr prodn; apply/eq_in_map => k; rewrite mem_iota /= add0n => kg.
  case c: (C k); first by rewrite muln1.
  by have [x [r [eb _ _ _]]] := notC k kg (negbT c); rewrite eb mulnK.
have d2 : prodn q' %| 2.
  have zq : size (tile_counts t u) = size g by rewrite size_tile_counts // -zu.
  have zq' : size q' = size g by rewrite size_map size_iota.
  rewrite -q2; apply: divides_prodn; apply/dividesP; rewrite zq zq'; split=> // k.
  case: (ltnP k (size g)) => kg; last by rewrite !nth_default ?zq ?zq'.
  rewrite (nth_map 0) ?size_iota // nth_iota // add0n; case c: (C k) => //.
  have u0 : 0 < nth 0 u k by rewrite (localtype_pos ltu) // zug.
  have [x [r [eb eu et' _]]] := notC k kg (negbT c); rewrite nth_tile_counts //.
  have -> : nth 0 t k = 2 * nth 0 u k by rewrite et' eb eu mulnAC mulnC.
  by rewrite mulnK.
exists b'; split=> //.
  apply: (localtypeI ltb); first by apply: divides_trans db (localtype_divides ltb).
  have [m em] := dvdnP d2; have q0 : 0 < prodn q' by case: (prodn q') d2 => //; rewrite dvd0n.
  have eb' : prodn b' = prodn u * m.
    by apply/eqP; rewrite -(eqn_pmul2r q0) -eqb -et e2' em mulnA.
  by rewrite eb' mulnA dvdn_mulr // (localtype_delta ltu).
apply/allP => k; rewrite mem_iota /= add0n => kg; rewrite b'E //; case c: (C k); first exact: c.
by have [x [r [eb eu _ _]]] := notC k kg (negbT c); rewrite eb mulnK // eu dvdn_mulr.
Qed.

Section Levels.
(* ---- what little can cost ----                                               *)
Variable v : nat.
Hypothesis least : is_least all_c v.

Lemma multiple c : is_localtype c -> exists2 a, prodn c = a * v & 0 < a.
Proof.
move=> lt; have /andP[v0 /allP h] := least; have [a ea] := dvdnP (h _ (in_all lt)); exists a => //.
by have := localtype_prod_pos lt; rewrite ea muln_gt0 => /andP[].
Qed.

Lemma v_pos : 0 < v. Proof. by case/andP: least. Qed.

Lemma multiple_dvd c c' a a' : divides c c' -> prodn c = a * v -> prodn c' = a' * v -> exists m, a' = m * a.
Proof.
move=> /divides_prodn dv ea ea'; move: dv; rewrite ea ea' dvdn_pmul2r ?v_pos // => /dvdnP[m ->].
by exists m.
Qed.

Hypothesis no_slices : ~~ are_slices g c1 c2 sorted.
Hypothesis none : no_one_step.

Lemma at_least c : is_localtype c -> v <= prodn c.
Proof. by case/multiple => a -> a0; exact: leq_pmull. Qed.

Lemma level_1 w : sequence s1 w s2 -> L + v <= cost s1 w.
Proof.
move=> sq; have [s0 [p [t [w1 [st0 st sp sq1 ec]]]]] := first_step sq no_slices; have ltt := along_to st.
case: (rest_cost sq1) => [sl|le]; last by rewrite ec addnC leq_add // at_least.
have [x ex x0] := multiple ltt; have [a ea a0] := multiple lt2.
have [dv same] := tail_slices sq1 sl ltt; have [m em] := multiple_dvd dv ea ex.
rewrite ec (slices_free sq1 sl) addn0 ex ea -{2}[v]mul1n -mulnDl leq_mul2r leqNgt; apply/orP; right; apply/negP => xa.
rewrite em in xa x0; have m1 := one_left x0 xa.
rewrite same ?ex ?ea ?em ?m1 ?mul1n // in st; exact: one_step none st0 st sp.
Qed.

Lemma level_2 w : no_two_steps v -> v < L -> sequence s1 w s2 -> L + v + v <= cost s1 w.
Proof.
move=> two vL sq; have v0 := v_pos.
have [s0 [p [t [w1 [st0 st sp sq1 ec]]]]] := first_step sq no_slices; have ltt := along_to st.
have [x ex x0] := multiple ltt; have [a ea a0] := multiple lt2.
have a2 : 1 < a by move: vL; rewrite ea -{1}[v]mul1n ltn_pmul2r.
have LE : L + v + v = (a + 2) * v by rewrite ea mulnDl mul2n -addnn addnA.
case: (next_move sq1 ltt) => [sl|[s0' [q [t' [w2 [st' sp' sq2 ec' [dvt _ samet]]]]]]].
  have [dv same] := tail_slices sq1 sl ltt; have [m em] := multiple_dvd dv ea ex.
  rewrite ec (slices_free sq1 sl) addn0 ex LE leq_mul2r leqNgt; apply/orP; right; apply/negP => xa.
  rewrite em in xa x0; have [m1 _] := one_of_two (x := 0) a2 x0 xa.
  by rewrite same ?ex ?ea ?em ?m1 ?mul1n // in st; exact: one_step none st0 st sp.
have ltt' := along_to st'; have [y ey y0] := multiple ltt'.
case: (rest_cost sq2) => [sl|le]; last by rewrite ec ec' addnA -addnA addnC leq_add // leq_add // at_least.
have [dv same] := tail_slices sq2 sl ltt'; have [m em] := multiple_dvd dv ea ey.
rewrite ec ec' (slices_free sq2 sl) addn0 ex ey LE -mulnDl leq_mul2r leqNgt; apply/orP; right; apply/negP => xy.
rewrite em in xy y0; have [m1 x1] := one_of_two a2 y0 xy.
rewrite same ?ey ?ea ?em ?m1 ?mul1n // in st'.
have [z ez z0] := multiple (balanced_localtype (along_from st')); have [n en] := multiple_dvd dvt ez ex.
have zx := part_of_one z0 en x1 x0; rewrite samet ?ez ?ex ?zx // in st'.
have xv : prodn t.1 = v by rewrite ex (_ : x = 1) ?mul1n //; apply/eqP; rewrite eqn_leq x1.
have uv : prodn s0.1 = v.
  have lt0 := balanced_localtype (along_from st); have [_ [e|dvs]] := moving st sp; first by rewrite -e.
  apply/eqP; rewrite eqn_leq at_least // -xv dvdn_leq ?divides_prodn // xv; exact: v_pos.
exact: (two_steps two st0 st sp st' sp' uv xv vL).
Qed.

(* ---- where an alltoall and a permutation do not suffice ----                 *)
Hypothesis third : no_alltoall_and_permute g c1 c2 all_c (kinds sorted).

Lemma not_comparable b t : is_localtype b -> is_localtype t -> divides b c1 -> divides t c2 -> comparable b t -> False.
Proof.
move=> ltb ltt db dt cm; have := allP third _ (in_all ltb); rewrite db => /andP[_ /negP[]].
by apply/hasP; exists t; [exact: in_all|rewrite dt].
Qed.

Lemma not_led sb F : leads sb F -> divides sb.1 c1 -> False.
Proof.
move=> ld db; have [bs _ _] := ld; have := allP third _ (in_all (balanced_localtype bs)).
by rewrite db => /andP[/negP[]]; apply: leads_apart ld.
Qed.

Lemma same_comparable b : comparable b b.
Proof. by apply/allP => k _; rewrite dvdnn. Qed.

Lemma below_comparable b t : divides b t -> comparable b t.
Proof. by case/dividesP => _ h; apply/allP => k _; rewrite h. Qed.

(* A step that moves keeps the shape, or is a function of tiles.                *)
Lemma kept_or_function (s s' : tilemap D) : moves_as g s s' ->
  s'.1 = s.1 \/ exists F, forall d, s'.2 d = F (s.2 d).
Proof. by case=> [_ ef|ds _ _ ef|es]; [right; eexists; exact: ef|right; eexists; exact: ef|left]. Qed.

(* One step that moves, to twice the size of what slices then leave.            *)
Lemma step_and_slice s0 p t u : starts s0 -> step p s0 t -> ~~ along_steps.slices p -> is_localtype u ->
  divides u t.1 -> divides u c2 -> prodn t.1 = prodn u * 2 -> prodn t.1 %| v * 4 -> False.
Proof.
move=> [bs0 db _] st sp ltu dut duc e d4; have lt0 := balanced_localtype bs0; have ltt := along_to st.
have [mv ways] := moving st sp.
have [|b' [lb' db' cb']] := halved lt0 ltu (moves_comparable lt0 ltt mv) dut e.
  case: ways => [->|dv]; [by left|right; split=> //].
  have [a ea a0] := multiple lt0; apply: dvdn_trans d4 _; rewrite ea -mulnA; exact: dvdn_mull.
exact: not_comparable lb' ltu (divides_trans db' db) duc cb'.
Qed.

(* A step that moves leads to c_2, or to what is a slice of it alone.           *)
Lemma step_to_below s0 p t : starts s0 -> step p s0 t -> ~~ along_steps.slices p -> divides t.1 c2 -> False.
Proof.
move=> [bs0 db _] st sp dt; have lt0 := balanced_localtype bs0; have [mv _] := moving st sp.
exact: not_comparable lt0 (along_to st) db dt (moves_comparable lt0 (along_to st) mv).
Qed.

Lemma level_3 w : sequence s1 w s2 -> L + (if v < L then 3 else 2) * v <= cost s1 w.
Proof.
move=> sq; have v0 := v_pos; have ltc2 := lt2.
have [s0 [p [t [w1 [st0 st sp sq1 ec]]]]] := first_step sq no_slices; have ltt := along_to st.
have [bs0 db0 up0] := st0; have lt0 := balanced_localtype bs0.
have [x ex x0] := multiple ltt; have [a ea a0] := multiple ltc2.
have -> : L + (if v < L then 3 else 2) * v = (a + spare a) * v.
  by rewrite ea mulnDl (_ : (v < a * v) = (1 < a)) // -{1}[v]mul1n ltn_pmul2r.
case: (next_move sq1 ltt) => [sl|[s0' [q [t' [w2 [st' sq' sq2 ec' [dvt upt samet]]]]]]].
  (* one step *)
  have [dv same] := tail_slices sq1 sl ltt; have [m em] := multiple_dvd dv ea ex.
  rewrite ec (slices_free sq1 sl) addn0 ex leq_mul2r leqNgt; apply/orP; right; apply/negP => xa.
  rewrite em in xa x0; case: (one_of_three x0 xa) => [m1|[m2 a2]].
    by apply: (step_to_below st0 st sp); rewrite same ?ex ?ea ?em ?m1 ?mul1n // e2 divides_refl.
  apply: (step_and_slice st0 st sp ltc2 dv (divides_refl _)); rewrite ex em m2 ?ea; first by rewrite -mulnA mulnC.
  rewrite (mulnC v) dvdn_pmul2r //; case: (a) a2 a0 => [|[|[|?]]] //.
have ltt' := along_to st'; have [y ey y0] := multiple ltt'; have lt0' := balanced_localtype (along_from st').
have [z ez z0] := multiple lt0'; have [n en] := multiple_dvd dvt ez ex.
have [mv _] := moving st sp; have [mv' ways'] := moving st' sq'.
case: (next_move sq2 ltt') => [sl|[s0'' [q2 [t'' [w3 [st'' sq'' sq3 ec'' [dvt' upt' samet']]]]]]].
  (* two steps *)
  have [dv same] := tail_slices sq2 sl ltt'; have [m em] := multiple_dvd dv ea ey.
  rewrite ec ec' (slices_free sq2 sl) addn0 ex ey -mulnDl leq_mul2r leqNgt; apply/orP; right; apply/negP => xy.
  rewrite em in xy y0; have [m1 x2] := two_of_three x0 y0 xy.
  have et : t' = s2 by apply: same; rewrite ey ea em m1 mul1n.
  rewrite et in st' mv' ways'.
  have [zx|[[z1 x2'] a1]] : z = x \/ (z = 1 /\ x = 2) /\ 1 < a.
      case: x2 en => [->|[-> a1]] en; first by left; apply: part_of_one en _ _.
      by case: (part_of_two z0 en) => ->; [left|right].
    (* nothing is sliced between them *)
    have es : s0' = t by apply: samet; rewrite ez ex zx.
    rewrite es in st' mv'.
    case: (kept_or_function mv') => [e|[F' eF']]; first by apply: (step_to_below st0 st sp); rewrite -e e2 divides_refl.
    case: (kept_or_function mv) => [e|[F eF]].
      apply: (not_comparable lt0 ltc2 db0 (divides_refl _)); rewrite -e -e2; apply: moves_comparable mv' => //.
      by rewrite e2.
    by apply: (@not_led s0 (F' \o F)) => //; split=> // d; rewrite eF' eF.
  have [|dg _] := rising_move lt0' mv'; first by rewrite e2 ez ea z1 ltn_pmul2r.
  rewrite e2 in dg; apply: (step_and_slice st0 st sp lt0' dvt dg); rewrite ex ?ez ?z1 x2'; first by rewrite mul1n mulnC.
  by rewrite (mulnC v) dvdn_pmul2r.
(* three steps *)
have ltt'' := along_to st''; have [y' ey' y0'] := multiple ltt''.
have lt0'' := balanced_localtype (along_from st''); have [z' ez' z0'] := multiple lt0''.
have [n' en'] := multiple_dvd dvt' ez' ey.
case: (rest_cost sq3) => [sl|le]; last first.
  have h : 1 * v + (1 * v + (1 * v + a * v)) <= cost s1 w.
    by rewrite ec ec' ec'' ex ey ey' !leq_add ?leq_mul2r ?x0 ?y0 ?y0' ?orbT // -ea.
  by apply: leq_trans h; rewrite -!mulnDl leq_mul2r spare_le orbT.
have [dv same] := tail_slices sq3 sl ltt''; have [m em] := multiple_dvd dv ea ey'.
rewrite ec ec' ec'' (slices_free sq3 sl) addn0 ex ey ey' addnA -!mulnDl leq_mul2r leqNgt; apply/orP; right; apply/negP => xy.
rewrite em in xy y0'; have [m1 x1 y1 a1] := three_of_three x0 y0 y0' xy.
have et : t'' = s2 by apply: same; rewrite ey' ea em m1 mul1n.
have zt : s0' = t by apply: samet; rewrite ez ex; congr (_ * _); apply: part_of_one en _ _; rewrite // x1.
have zt' : s0'' = t' by apply: samet'; rewrite ez' ey; congr (_ * _); apply: part_of_one en' _ _; rewrite // y1.
rewrite et zt' in st''; rewrite zt in st' mv'; have [mv'' _] := moving st'' sq''.
have [|dg eg] := rising_move ltt' mv''; first by rewrite e2 ey ea y1 ltn_pmul2r.
rewrite e2 in dg.
case: (kept_or_function mv) => [e|[F eF]].
  by apply: (not_comparable lt0 ltt' db0 dg); rewrite -e; apply: moves_comparable mv'.
case: (kept_or_function mv') => [e|[F' eF']]; first by apply: (step_to_below st0 st sp); rewrite -e.
by apply: (@not_led s0 (fun o => up t'.1 s2.1 (F' (F o)))) => //; split=> // d; rewrite eg eF' eF.
Qed.

End Levels.

(* ---- soundness on tile maps ----                                             *)
Theorem certify_along_tiles C w : certify_along delta g c1 c2 rows C -> sequence s1 w s2 -> C <= cost s1 w.
Proof.
move=> + sq; rewrite /certify_along /bound_holds => /orP[/eqP->//|/andP[ns]].
case/orP=> [le|/andP[/andP[least none]]].
  case: (rest_cost sq) => [/(slices_are sq) yes|]; [by rewrite yes in ns|exact: leq_trans].
set v := foldr _ _ _ in least *; case/orP=> [le|].
  by apply: leq_trans (level_1 least ns none sq); rewrite -leq_subLR.
case: ifP => vL.
  case/andP=> two /orP[le|/andP[third le]].
    by apply: leq_trans (level_2 least ns none two vL sq); rewrite -addnA -leq_subLR -leq_subLR.
  by apply: leq_trans (level_3 least ns third sq); rewrite vL -leq_subLR.
by case/andP=> third le; apply: leq_trans (level_3 least ns third sq); rewrite vL -leq_subLR.
Qed.

End Sound.
