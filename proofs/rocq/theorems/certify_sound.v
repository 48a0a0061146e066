(* The certifier is sound: what it accepts bounds the cost of every sequence of *)
(* low-level collectives from f_1 to f_2, whether it keeps the bound (4) or     *)
(* not.                                                                         *)
(*                                                                              *)
(* With an allpermute on the way the potential pi' says so.  Without one the    *)
(* cheapest sequences are normal forms (S3): slices, and then steps that are    *)
(* functions of tiles (S1), of which S4 says by counting whether they can end   *)
(* in f_2.  The lines `refuted` rule out all of these that cost less than C.    *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig06_syntax fig07_base_offsets fig08_typing fig11_cost def4_sequences.
Require Import def5_weak def6_devices fig10_low_level sec7_low_level.
Require Import vectors weak_steps sequences fibres tiles points base_offset_maps tile_maps.
Require Import weak_patterns lemma_6_5 optimality s4 fig10_physical lowering table certify.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* Weak steps can be compared.                                                  *)
Definition weak_code (q : weak) : seq nat :=
  match q with wgather i n => [:: 0; i; n] | wslice i n => [:: 1; i; n] | walltoall i j n => [:: 2; i; j; n] end.
Definition code_weak (s : seq nat) : option weak :=
  match s with
  | [:: 0; i; n] => Some (wgather i n)
  | [:: 1; i; n] => Some (wslice i n)
  | [:: 2; i; j; n] => Some (walltoall i j n)
  | _ => None
  end.
Lemma weak_codeK : pcancel weak_code code_weak.
Proof. by case. Qed.
Definition weak_eqMixin := PcanEqMixin weak_codeK.
Canonical weak_eqType := Eval hnf in EqType weak weak_eqMixin.

Section Sound.
Variables (D : finType) (g c1 c2 : seq nat) (s1 s2 : tilemap D).
Local Notation delta := #|D|.
Local Notation some := (leq 2).
Local Notation weak_ok := (ok_step delta g some).
Local Notation weak_sequence := (sequence weak_ok).
Local Notation weak_cost := (cost_of weak_op prodn).
Local Notation phys_sequence := (sequence (@phys_ok D g some)).
Local Notation phys_cost := (cost_of phys_op (@tilemap_size D)).
Local Notation limit := (maxn (prodn c1) (prodn c2)).
Local Notation within c w := (all (leq^~ limit) (sizes_of prodn c w)).
Local Notation no_slices w := (all (fun q : weak * seq nat => ~~ is_slice (weak_op q.1)) w).
Local Notation slices w := (all (fun q : weak * seq nat => is_slice (weak_op q.1)) w).

Variable rows : seq (seq nat).
Hypothesis rowsE : perm_eq rows [seq offsets c1 (s1.2 d) ++ offsets c2 (s2.2 d) | d <- enum D].

Variable lines : certificate.
Local Notation C := (lower_bound lines).
Local Notation known := (entries lex_row (potentials lines)).
Local Notation kt := (table known).
Local Notation states := [seq line_state delta g c1 c2 C l | l <- refutations lines].
Local Notation lists := (entries lex_rows [seq entry_of f | f <- pmap id states]).
Local Notation rt := (table lists).
Local Notation pi := (pi C kt).
Local Notation next := (next delta g c1 c2).
Local Notation refuted := (refuted C kt rt).
Local Notation made := (made delta g c1 c2).

Hypothesis devices_exist : 0 < delta.
Hypothesis source : (pi c1).2 = C.
Hypothesis target : (pi c2).1 = 0.
Hypothesis known_ok : all (potential_holds delta g c1 c2 C kt (all_steps delta g)) known.
Hypothesis starts : all (fun e => divides e.1 c1 ==> refuted (start g e.1)) known.
Hypothesis lists_ok :
  all (entry_holds delta g c1 c2 (sort lex_row rows) C kt rt (onward delta g)) lists.

(* ---- every step is looked at ----                                            *)
Lemma factor_dvd q c c' : weak_step delta g q c c' -> factor q \in factors delta.
Proof.
move=> st; have n1 := weak_step_factor st; have ltc := weak_step_from st.
rewrite mem_filter mem_iota n1 /=.
have dn : factor q %| delta.
  case: q st {n1} => [i n|i n|i j n] st /=.
  - have := localtype_tiles ltc; rewrite (gather_counts st).
    case/wgatherP: (st) => _ _ lt _ _; rewrite prodn_updM; first by apply: dvdn_trans; rewrite dvdn_mull.
    by rewrite (tiles_size (weak_step_to st)) (weak_step_size st).
  - have := localtype_tiles (weak_step_to st); rewrite (gather_counts (weak_step_rev st)).
    case/wsliceP: (st) => _ _ [lt _ _ _]; rewrite prodn_updM; first by apply: dvdn_trans; rewrite dvdn_mull.
    by rewrite (tiles_size ltc).
  have := localtype_tiles ltc; have [M [zM -> _]] := alltoall_counts st.
  case/walltoallP: (st) => _ _ _ _ [lt _ _ _]; rewrite prodn_updM; last by rewrite zM.
  by apply: dvdn_trans; rewrite dvdn_mull.
rewrite dn /= add2n prednK //; exact: dvdn_leq dn.
Qed.

Lemma step_size q c c' : weak_step delta g q c c' -> size c = size g.
Proof. by move/weak_step_from/localtype_size. Qed.

Lemma mem_onward q c c' : weak_step delta g q c c' -> ~~ is_slice (weak_op q) ->
  q \in onward delta g.
Proof.
move=> st ns; have nf := factor_dvd st; have zc := step_size st; rewrite mem_cat.
case: q st ns nf => [i n|i n|i j n] //= st _ nf.
  case/wgatherP: st => _ _ lt _ _; apply/orP; left; apply/allpairsPdep.
  by exists i, n; rewrite mem_iota -zc.
case/walltoallP: st => _ _ _ _ [lti ltj _ _]; apply/orP; right; apply/flattenP.
exists [seq walltoall i j n | j <- iota 0 (size g), n <- factors delta].
  by apply: (map_f (fun i => _)); rewrite mem_iota -zc.
by apply/allpairsPdep; exists j, n; rewrite mem_iota -zc.
Qed.

Lemma mem_all_steps q c c' : weak_step delta g q c c' -> q \in all_steps delta g.
Proof.
move=> st; rewrite mem_cat; case ns: (is_slice (weak_op q)); last first.
  by rewrite (mem_onward st (negbT ns)) orbT.
have nf := factor_dvd st; have zc := step_size st; case: q st ns nf => [i n|i n|i j n] //= st _ nf.
case/wsliceP: st => _ _ [lt _ _ _]; apply/orP; left; apply/allpairsPdep.
by exists i, n; rewrite mem_iota -zc.
Qed.

Lemma next_step q c c' : weak_step delta g q c c' -> prodn c' <= limit -> next q c = Some c'.
Proof. by rewrite /next => -> ->. Qed.

(* ---- potentials ----                                                         *)
Lemma pi_listed c p : find lex_row kt c = Some p -> potential_holds delta g c1 c2 C kt (all_steps delta g) (c, p).
Proof. exact: find_table known_ok. Qed.

Lemma pi_le c : ((pi c).1 <= C) && ((pi c).2 <= C).
Proof.
rewrite /pi; case e: (find _ _ _) => [[p p']|] /=; last by rewrite leqnn.
by have /and5P[_ -> ->] := pi_listed e.
Qed.

Lemma pi_permute c : (pi c).2 <= (pi c).1 + prodn c.
Proof.
rewrite /pi; case e: (find _ _ _) => [[p p']|] /=; last exact: leq_addr.
by have /and5P[] := pi_listed e.
Qed.

Lemma pi_step q c c' : weak_step delta g q c c' -> prodn c <= limit -> prodn c' <= limit ->
  ((pi c).1 <= (pi c').1 + price q c c') && ((pi c).2 <= (pi c').2 + price q c c').
Proof.
move=> st lc lc'; have /andP[h1 h2] := pi_le c.
case e: (find lex_row kt c') => [[p p']|]; last first.
  have -> : pi c' = (C, C) by rewrite /certify.pi e.
  by rewrite /= (leq_trans h1) ?(leq_trans h2) ?leq_addr.
have -> : pi c' = (p, p') by rewrite /certify.pi e.
have /and5P[_ _ _ _ /allP h] := pi_listed e.
have st' := weak_step_rev st; have := h _ (mem_all_steps st'); rewrite (next_step st' lc).
by rewrite weak_revK; case: (pi c).
Qed.

Lemma pi_bound c w : weak_sequence c w c2 -> within c w -> (pi c).1 <= weak_cost c w.
Proof.
elim: w c => [|[q c'] w IH] c /=; first by move=> -> _; rewrite target.
case=> -[st _] sq /andP[lc lw]; have /andP[lc' _] := lw.
have /andP[h _] := pi_step st lc lc'; apply: leq_trans h _.
by rewrite cost_cons addnC leq_add2l; apply: IH.
Qed.

Lemma pi_bound_phys s v : phys_sequence s v s2 -> s2.1 = c2 ->
  all (leq^~ limit) (sizes_of (@tilemap_size D) s v) ->
  (pi s.1).1 <= phys_cost s v /\ (has is_permute (labels phys_op v) -> (pi s.1).2 <= phys_cost s v).
Proof.
move=> + e2; elim: v s => [|[p s'] v IH] s /=; first by move=> -> _; rewrite e2 target.
case=> st sq /andP[ls lv]; have /andP[ls' _] := lv; have [h1 h2] := IH _ sq lv.
rewrite cost_cons; case: p st => [q|] st /=.
  have [stq _] := phys_ok_class st; have /andP[k1 k2] := pi_step stq ls ls'.
  rewrite /tilemap_size; split=> [|hp]; first by apply: leq_trans k1 _; rewrite addnC leq_add2l.
  apply: leq_trans k2 _; rewrite addnC leq_add2l; apply: h2.
  by move: hp; case: (q).
have e : s'.1 = s.1 by case: st => -[_ []].
rewrite e in h1; have := pi_permute s.1; rewrite -/(tilemap_size s).
by move: h1; set k := phys_cost s' v; split=> [|_]; lia.
Qed.

(* ---- refutations ----                                                        *)
Definition exact_end (b : seq nat) (s : seq (seq nat)) : Prop :=
  sort lex_row (made b s) = sort lex_row rows.

Lemma refutation f w : refuted f -> weak_sequence (now f) w c2 -> within (now f) w ->
  no_slices w -> exact_end (bottom f) [seq moves w t | t <- places f] ->
  C <= spent f + weak_cost (now f) w.
Proof.
elim: w f => [|[q c'] w IH] f /=; rewrite /certify.refuted.
  case/orP=> [h e _ _ _|]; first by rewrite e target in h.
  case e: (find _ _ _) => [[c k]|] // /andP[/eqP ec kf] e2 _ _ ex.
  have := find_table lists_ok e; rewrite /entry_holds /refutation_holds /= ec e2 eqxx /=.
  by case/andP=> /eqP[]; rewrite -ex map_id.
case/orP=> [h [st sq] wi ns ex|].
  apply: leq_trans h _; rewrite leq_add2l.
  by apply: (@pi_bound (now f) ((q, c') :: w)).
case e: (find _ _ _) => [[c k]|] // /andP[/eqP ec kf] [[st _] sq] /andP[lc lw] /andP[ns nw] ex.
have := find_table lists_ok e; rewrite /entry_holds /refutation_holds /= ec => /andP[_ /allP].
have /andP[lc' _] := lw; move/(_ _ (mem_onward st ns)); rewrite (next_step st lc') cost_cons.
rewrite /price; set pr := step_cost _ _ _ => /orP[h|h].
  apply: leq_trans h _; rewrite addnA; apply: leq_trans (leq_addr _ _).
  by rewrite leq_add2r.
have := IH _ h sq lw nw; rewrite /= -map_comp => /(_ ex) h'.
by apply: leq_trans h' _; rewrite /price -/pr addnA leq_add2r leq_add2r.
Qed.

(* ---- S4 as the certifier counts ----                                         *)
Hypothesis bs1 : balanced g s1.
Hypothesis bs2 : balanced g s2.
Hypothesis e1 : s1.1 = c1.
Hypothesis e2 : s2.1 = c2.

Lemma exact_realised wd wr b v : weak_sequence s1.1 wd b -> weak_sequence b wr s2.1 ->
  slices wd -> no_slices wr -> phys_sequence s1 v s2 -> lowers v (wd ++ wr) ->
  exact_end b [seq moves wr t | t <- places (start g b)].
Proof.
move=> sqd sqr sd sr sq l; apply: sort_rowsP.
have cnt := proj1 (S4 bs1 bs2 sqd sqr sd sr) (ex_intro _ v (conj sq l)).
rewrite perm_sym (perm_trans rowsE) // perm_sym /made /=.
set T := tiles _; set h := delta %/ _.
pose F (p : seq nat * seq nat) := offsets c1 p.1 ++ offsets c2 p.2.
pose m o := (up b c1 o, moves wr o).
have -> : [seq offsets c1 (up b c1 p.1) ++ offsets c2 p.2 | p <- zip T [seq moves wr t | t <- T]] =
    map F (map m T) by elim: (T) => //= t T' ->.
rewrite -map_nseq -map_flatten.
have -> : [seq offsets c1 (s1.2 d) ++ offsets c2 (s2.2 d) | d <- enum D] =
    map F [seq (s1.2 d, s2.2 d) | d <- enum D] by rewrite -map_comp.
apply: perm_map; apply/allP => -[u u'] _ /=; apply/eqP.
rewrite count_flatten map_nseq sumn_nseq count_map count_map_enum mulnC.
rewrite (eq_card (_ : _ =i [pred d | (s1.2 d == u) && (s2.2 d == u')])) => [|d]; last first.
  by rewrite !inE xpair_eqE.
by rewrite cnt e1; congr (_ * _); apply: eq_count => o; rewrite /= xpair_eqE.
Qed.

Lemma split_normal (w : seq (weak * seq nat)) : normal_form (labels weak_op w) ->
  exists wd wr, [/\ w = wd ++ wr, slices wd & no_slices wr].
Proof.
have ns q : ~~ is_slice q = (0 < phase q) by case: q.
elim: w => [|[q c] w IH] nf; first by exists [::], [::].
case sl: (is_slice (weak_op q)).
  have [|wd [wr [-> sd sr]]] := IH.
    by move: nf; rewrite /= normal_form_cons normal_form_sorted; apply: path_sorted.
  by exists ((q, c) :: wd), wr; rewrite /= sl.
exists [::], ((q, c) :: w); split=> //=; rewrite sl /=.
move: nf; rewrite /= normal_form_cons => /(order_path_min leq_trans)/allP h.
have q1 : 0 < phase (weak_op q) by rewrite -ns sl.
apply/allP => x xw; rewrite ns; apply: leq_trans q1 _; apply: h.
by rewrite /labels -map_comp; apply: (map_f (phase \o (fun y => weak_op y.1))).
Qed.

Lemma slices_divide c w c' : weak_sequence c w c' -> slices w -> divides c' c.
Proof.
elim: w c => [|[q d] w IH] c /=; first by move=> -> _; apply: divides_refl.
case=> -[st _] sq /andP[sl sw]; apply: divides_trans (IH _ sq sw) _.
case: q sl st => [i n|i n|i j n] //= _ /wsliceP[_ _ [_ dn _ ->]].
apply/dividesP; rewrite size_upd; split=> // k; rewrite nth_upd.
by case: ifP => // /andP[/eqP-> _]; apply: dvdn_div.
Qed.

(* ---- soundness on tile maps ----                                             *)
Theorem certify_sound_tiles v : phys_sequence s1 v s2 -> C <= phys_cost s1 v.
Proof.
have some_dvd n d : some n -> d %| n -> 1 < d -> some d by [].
case/(S3 some_dvd bs1 bs2) => v' [sq nf _ mc le]; apply: leq_trans le => {v}.
have wi : all (leq^~ limit) (sizes_of (@tilemap_size D) s1 v').
  move: mc; rewrite /memory_constrained -height_le /= -e1 -e2; congr (_ <= maxn _ _).
  by rewrite (sequence_end sq) /end_of; elim: (v') (s1) => [|[p s] u IH] t //=.
case hp: (has is_permute (labels phys_op v')).
  have [_ /(_ hp)] := pi_bound_phys sq e2 wi; by rewrite e1 source.
have l := lift_lowers (negbT hp); have [sqw _] := lemma_6_6_tiles sq.
rewrite (lowers_cost s1 l); move: nf wi; rewrite (lowers_labels l) (lowers_sizes s1 l).
case/split_normal => wd [wr [ew sd sr]]; rewrite ew in sqw l *.
have [b [sqd sqr]] := sequence_split sqw.
rewrite sizes_cat -(sequence_end sqd) all_cat => /andP[wid wir].
have wib : within b wr.
  rewrite /= in wir *; rewrite wir andbT; move/allP: wid; apply.
  rewrite (sequence_end sqd) /end_of; elim: (wd) (s1.1) => [|[q c] u IH] t; first by rewrite inE.
  by rewrite /sizes_of /= inE IH orbT.
rewrite cost_cat -(sequence_end sqd); apply: leq_trans (leq_addl _ _).
have ex := exact_realised sqd sqr sd sr sq l.
rewrite e2 in sqr; have pb := pi_bound sqr wib.
case e: (find lex_row kt b) => [p|]; last first.
  by apply: leq_trans pb; rewrite /certify.pi e.
have db : divides b c1 by rewrite -e1; apply: slices_divide sqd sd.
have := find_table starts e; rewrite /= db /= => rf.
by have := refutation rf sqr wib sr ex.
Qed.

End Sound.

(* ---- soundness on Fig. 10 ----                                               *)
Section Fig10.
Variables (H : mesh) (D : finType).
Local Notation assignment := (assignment H D).
Local Notation multi_sequence := (sequence (@multi_step H D)).
Local Notation multi_cost := (cost_of multi_op (@assignment_size H D)).
Implicit Types (a : assignment) (v : seq (multi * assignment)).

(* The same sequence on tile maps.                                              *)
Definition multi_phys v : seq (phys * tilemap D) := [seq (phys_label H q.1, phys_of q.2) | q <- v].

Lemma multi_phys_sequence a v a' : wf_mesh H -> multi_sequence a v a' ->
  sequence (phys_ok (globaltype (type_of a)) (leq 2)) (phys_of a) (multi_phys v) (phys_of a').
Proof.
move=> wH; elim: v a => [|[p a1] v IH] a /=; first by move=> ->.
case=> st /IH sq; have [_ eg ps] := multi_sound wH st; rewrite eg in sq; split=> //; split=> //.
by case: (phys_label H p) ps => // q [_ [/weak_step_factor]].
Qed.

Lemma multi_phys_cost a v : cost_of phys_op (@tilemap_size D) (phys_of a) (multi_phys v) = multi_cost a v.
Proof.
rewrite /cost_of; congr def4_sequences.cost; last by rewrite /sizes_of -map_comp.
by elim: v => //= -[[i x|i j x|i x|] b] v IH; rewrite /= IH.
Qed.

Lemma multi_ends a v a' : is_assignment a -> multi_sequence a v a' ->
  is_assignment a' /\ globaltype (type_of a') = globaltype (type_of a).
Proof.
elim: v a => [|[p a1] v IH] a wa /=; first by move=> <-.
have [wH _] := andP wa; case=> st /IH; have [wa1 eg _] := multi_sound wH st.
by move/(_ wa1)=> [wa' ->]; rewrite eg.
Qed.

(* <phi, T[tau]> has each device where the Program says.                        *)
Definition stands_at (num : D -> nat) a (T : tiling) : Prop :=
  [/\ globaltype (type_of a) = global T, localtype (type_of a) = tile T
    & forall d, tile_map (beta a) d = tiling_offset T (num d)].

Theorem certify_sound_numbered (num : D -> nat) (P : program) lines a1 v a2 :
  perm_eq (map num (enum D)) (iota 0 (devices P)) ->
  certify P lines ->
  is_assignment a1 -> stands_at num a1 (from P) -> stands_at num a2 (to P) ->
  multi_sequence a1 v a2 -> lower_bound lines <= multi_cost a1 v.
Proof.
move=> pn cert wa1 [g1 l1 o1] [g2 l2 o2] sq.
have cD : #|D| = devices P by rewrite cardE -(size_map num) (perm_size pn) size_iota.
have [wH w1] := andP wa1; have [wa2 eg] := multi_ends wa1 sq; have [_ w2] := andP wa2.
have offE a d : tile_map (beta a) d = offsets (localtype (type_of a)) ((phys_of a).2 d).
  by rewrite /= ffunE /tile_map /= /base_offset_map base_offsetsE.
have pos : 0 < #|D|.
  rewrite (device_card wH (map_of a1)) (device_count_size (wf_mesh_uniq wH)).
  exact: size_of_axes_pos.
move: cert; rewrite /certify /certify_rows -cD => /and5P[/eqP e1 /eqP e2 k1 _ /andP[k2 k3]].
rewrite -multi_phys_cost; have := multi_phys_sequence wH sq; rewrite g1.
apply: (certify_sound_tiles (c1 := tile (from P)) (c2 := tile (to P))
  (rows := [seq tiling_offset (from P) d ++ tiling_offset (to P) d | d <- iota 0 #|D|])) => //.
- have -> : [seq offsets (tile (from P)) ((phys_of a1).2 d) ++ offsets (tile (to P)) ((phys_of a2).2 d) | d <- enum D]
      = [seq tiling_offset (from P) d ++ tiling_offset (to P) d | d <- map num (enum D)].
    rewrite -[RHS]map_comp; apply: eq_map => d /=; rewrite -o1 -o2 !offE l1 l2.
    by rewrite /= !ffunE.
  by apply: perm_map; rewrite perm_sym cD.
- by rewrite -g1; apply: phys_balanced.
by rewrite -g1 -eg; apply: phys_balanced.
Qed.

End Fig10.

(* What retile-oracle certify claims: device d of the Program is number d.      *)
Theorem certify_sound (P : program) lines : certify P lines = true ->
  forall (H : mesh) (a1 a2 : assignment H [finType of 'I_(devices P)]) v,
  is_assignment a1 -> stands_at val a1 (from P) -> stands_at val a2 (to P) ->
  sequence (@multi_step H _) a1 v a2 ->
  lower_bound lines <= cost_of multi_op (@assignment_size H _) a1 v.
Proof.
move=> cert H a1 a2 v; apply: certify_sound_numbered cert.
by rewrite (val_enum_ord (devices P)).
Qed.

(* One axis at a time, as Fig. 10 is printed.                                   *)
Corollary certify_sound_single (P : program) lines : certify P lines = true ->
  forall (H : mesh) (a1 a2 : assignment H [finType of 'I_(devices P)]) v,
  is_assignment a1 -> stands_at val a1 (from P) -> stands_at val a2 (to P) ->
  sequence (@low_step H _) a1 v a2 ->
  lower_bound lines <= cost_of low_op (@assignment_size H _) a1 v.
Proof.
move=> cert H a1 a2 v wa s1 s2 sq.
pose v' := [seq (single q.1, q.2) | q <- v].
have sq' : sequence (@multi_step H _) a1 v' a2.
  by elim: v a1 sq {wa s1} @v' => [|[p a] v IH] a1 //= [/low_step_single st /IH].
have := certify_sound cert wa s1 s2 sq'; congr (_ <= _).
rewrite /cost_of; congr def4_sequences.cost; last by rewrite /sizes_of -map_comp.
by rewrite /labels /v' -map_comp; apply: eq_map => -[[] ].
Qed.

(* Modulo Def. 6.2, on tile maps: between two steps <phi, T[tau]> may be        *)
(* exchanged for any other pair with the same tiles, at no cost.  The steps are *)
(* those of Fig. 10 over several axes (fig10_physical_multi).                   *)
Definition tiles_at (D : finType) (num : D -> nat) (s : tilemap D) (T : tiling) : Prop :=
  s.1 = tile T /\ forall d, offsets s.1 (s.2 d) = tiling_offset T (num d).

Lemma certify_sound_tiles_numbered (D : finType) (num : D -> nat) (P : program) lines s1 v s2 :
  perm_eq (map num (enum D)) (iota 0 (devices P)) -> 0 < devices P ->
  certify P lines ->
  balanced (global (from P)) s1 -> balanced (global (from P)) s2 ->
  tiles_at num s1 (from P) -> tiles_at num s2 (to P) ->
  sequence (@phys_step D (global (from P))) s1 v s2 ->
  lower_bound lines <= cost_of phys_op (@tilemap_size D) s1 v.
Proof.
move=> pn pos cert bs1 bs2 [e1 o1] [e2 o2] sq.
have cD : #|D| = devices P by rewrite cardE -(size_map num) (perm_size pn) size_iota.
move: cert pos; rewrite /certify /certify_rows -cD => /and5P[/eqP t1 /eqP t2 k1 _ /andP[k2 k3]] pos.
apply: (certify_sound_tiles (g := global (from P)) (c1 := tile (from P)) (c2 := tile (to P)) (s1 := s1) (s2 := s2)
  (rows := [seq tiling_offset (from P) d ++ tiling_offset (to P) d | d <- iota 0 #|D|])) => //.
- have -> : [seq offsets (tile (from P)) (s1.2 d) ++ offsets (tile (to P)) (s2.2 d) | d <- enum D]
      = [seq tiling_offset (from P) d ++ tiling_offset (to P) d | d <- map num (enum D)].
    by rewrite -[RHS]map_comp; apply: eq_map => d /=; rewrite -o1 -o2 e1 e2.
  by apply: perm_map; rewrite perm_sym cD.
move: sq; apply: sequence_impl => p s s' st; split=> //.
by case: p st => // q [_ [/weak_step_factor]].
Qed.

Theorem certify_sound_physical (P : program) lines : certify P lines = true -> 0 < devices P ->
  forall (s1 s2 : tilemap [finType of 'I_(devices P)]) v,
  balanced (global (from P)) s1 -> balanced (global (from P)) s2 ->
  tiles_at val s1 (from P) -> tiles_at val s2 (to P) ->
  sequence (@phys_step _ (global (from P))) s1 v s2 ->
  lower_bound lines <= cost_of phys_op (@tilemap_size _) s1 v.
Proof.
move=> cert pos s1 s2 v; apply: certify_sound_tiles_numbered pos cert.
by rewrite (val_enum_ord (devices P)).
Qed.
