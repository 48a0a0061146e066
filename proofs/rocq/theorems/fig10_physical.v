(* Fig. 10, literally over <phi, T[tau]>, and the physical form on tile maps    *)
(* are the same modulo Def. 6.2.                                                *)
(*                                                                              *)
(* One way for every mesh: a literal step is a physical one (fig10_sound).  The *)
(* other on prime meshes: every physical step is a literal one between some     *)
(* representatives (fig10_complete).  Both for one axis and for several.        *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig06_syntax fig07_base_offsets fig08_typing def5_weak def6_devices.
Require Import fig10_low_level sec7_low_level.
Require Import vectors weak_steps fibres tiles tile_maps points base_offset_maps injectivity types.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Physical.
Variables (H : mesh) (D : finType).
Hypothesis wH : wf_mesh H.
Local Notation k := (axis_size H).
Local Notation offset := (offset H).
Local Notation size_of_axes := (size_of_axes H).
Local Notation assignment := (assignment H D).
Local Notation tilemap := (tilemap D).
Local Notation coord a d := (coordinate (phi_inv (map_of a) d)).
Implicit Types (a b : assignment) (s : tilemap) (tau e : type).

(* The tile map of <phi, T[tau]> with tile numbers in place of base offsets.    *)
Definition phys_of a : tilemap :=
  (localtype (type_of a), [ffun d => tile_no H (type_of a) (coord a d)]).

Definition phys_label (p : multi) : phys :=
  match p with
  | multi_allgather i x => pweak (wgather i (axes_size H x))
  | multi_alltoall i j x => pweak (walltoall i j (axes_size H x))
  | multi_dynslice i x => pweak (wslice i (axes_size H x))
  | multi_allpermute => ppermute
  end.

Lemma axes_sizeE x : axes_size H x = size_of_axes x.
Proof. by []. Qed.

Lemma device_card (f : device_map H D) : #|D| = device_count H.
Proof.
rewrite -(card_point (wf_mesh_uniq wH)); apply: (bij_eq_card (f := phi_inv f)).
by exists (phi f); [apply: phi_invK | apply: phiK].
Qed.

Lemma phi_inv_bij (f : device_map H D) : bijective (phi_inv f).
Proof. by exists (phi f); [apply: phi_invK | apply: phiK]. Qed.

Lemma same_tiles_phys a b : wf_type H (type_of a) -> localtype (type_of a) = localtype (type_of b) ->
  same_tiles a b <-> phys_of a = phys_of b.
Proof.
move=> wt el; split=> [e|[_ /ffunP e] d].
  congr pair => //; apply/ffunP => d; rewrite !ffunE; apply/(same_offsets _ _ wt el); exact: e.
by have := e d; rewrite !ffunE => /(same_offsets _ _ wt el).
Qed.

Lemma phys_balanced a : wf_type H (type_of a) -> balanced (globaltype (type_of a)) (phys_of a).
Proof.
move=> wt; split=> /= [|d|t it].
- by rewrite (device_card (map_of a)); apply: wf_localtype.
- by rewrite ffunE; apply: is_tile_no => //; apply: bounded_axes.
rewrite (device_card (map_of a)) -(T_balanced wH wt it).
apply: (bijection_fibres (phi_inv_bij (map_of a))) => d; by rewrite ffunE.
Qed.

(* Every balanced map is that of any type of its localtype, under some phi.     *)
Lemma represent tau s : wf_type H tau -> #|D| = device_count H ->
  balanced (globaltype tau) s -> localtype tau = s.1 ->
  exists f : device_map H D, phys_of (Assignment f tau) = s.
Proof.
move=> wt cD bs el.
have [|q [bq eq]] := @match_bijection D _ _ s.2 (fun p : point H => tile_no H tau (coordinate p)).
  move=> t; rewrite [LHS](balanced_holders t bs) -el.
  case it: (is_tile _ t); first by rewrite mul1n T_balanced // cD.
  rewrite mul0n eq_card0 // => p; rewrite !inE; apply: contraFF it => /eqP <-.
  by apply: is_tile_no => //; apply: bounded_axes.
case: (bq) => r qK rK.
have K1 : cancel [ffun p => r p] q by move=> p; rewrite ffunE.
have K2 : cancel q [ffun p => r p] by move=> d; rewrite ffunE.
exists (DeviceMap K1 K2); rewrite /phys_of /= el; case: s bs el eq => c f /= _ _ eq.
by congr pair; apply/ffunP => d; rewrite ffunE.
Qed.

(* ---- every literal step is a physical one ----                               *)
Lemma axes_size_gt1 x : x != [::] -> {subset x <= names H} -> 1 < axes_size H x.
Proof.
case: x => // y x _ sub; rewrite axes_sizeE size_of_axes_cons.
have := wf_mesh_size wH (sub y (mem_head _ _)).
have : 0 < size_of_axes x by apply: size_of_axes_pos => // z zx; apply: sub; rewrite inE zx orbT.
by nia.
Qed.

Lemma offset_front x r c : offset 1 (x ++ r) c = offset 1 x c + size_of_axes x * offset 1 r c.
Proof. by rewrite offset_cat mul1n (offset1 H (size_of_axes x)). Qed.

(* Lists of axes in dimension i, the block x in front.                          *)
Lemma gathered e i x r c : wf_type H e -> i < rank e -> dim_xs (nth no_dim e i) = x ++ r ->
  bounded H (axes e) c -> forall u v,
  tile_no H (upd e i (Dim u r v)) c = gather_tile i (axes_size H x) (tile_no H e c).
Proof.
move=> we lt ex b u v; rewrite tile_no_upd /gather_tile nth_tile_no ex offset_front /=.
have n0 : 0 < axes_size H x.
  rewrite axes_sizeE; apply: size_of_axes_pos => // y yx; apply: (axes_names we).
  by apply: (dim_axes_sub lt); rewrite ex mem_cat yx.
rewrite addnC mulnC divnMDl // divn_small ?addn0 //; apply: offset_lt => y yx; apply: b.
by apply: (dim_axes_sub lt); rewrite ex mem_cat yx.
Qed.

Theorem multi_sound p a a' : multi_step p a a' ->
  [/\ is_assignment a', globaltype (type_of a') = globaltype (type_of a)
    & phys_step (globaltype (type_of a)) (phys_label p) (phys_of a) (phys_of a')].
Proof.
case: a a' => [f e] [f' e'] [/andP[/= _ we] st].
have cD := device_card f; have ba := phys_balanced (a := Assignment f e) we.
have lte := wf_localtype wH we.
have zl : size (localtype e) = rank e by rewrite size_map.
case: p st => [i x|i j x|i x|] /= st.
- case: st => ys [zs [lt x0 ex same ->]]; set d := nth no_dim e i in ex same *.
  have p1 : perm_eq (x ++ ys ++ zs) (dim_xs d) by rewrite ex perm_catCA.
  have [w1 pa1] := wf_reorder we lt p1; set e1 := upd e i _ in w1 pa1 same.
  have [w2 _] := wf_remove wH we lt p1.
  have eg : globaltype (upd e i (Dim (dim_c d * axes_size H x) (ys ++ zs) (dim_s d))) = globaltype e.
    exact: globaltype_upd.
  split=> //; first by rewrite /is_assignment wH.
  split=> //; split; last first.
    have e1c : localtype e1 = localtype e by rewrite localtype_upd_type -nth_localtype upd_nth.
    have /(@same_tiles_phys (Assignment f' e1) (Assignment f e) w1 e1c) es := same.
    move=> t; have := congr1 (fun s : tilemap => s.2 t) es; rewrite /= !ffunE /= => <-.
    rewrite -(@gathered e1 i x (ys ++ zs) _ w1 _ _ _ (dim_c d * axes_size H x) (dim_s d)) ?rank_upd //.
    + by rewrite /e1 upd_upd.
    + by rewrite nth_upd_eq.
    exact: bounded_axes.
  have subx : {subset x <= names H}.
    move=> y yx; apply: (axes_names we); apply: (dim_axes_sub lt); rewrite -/d -(perm_mem p1).
    by rewrite mem_cat yx.
  apply/wgatherP; rewrite /= cD zl localtype_upd_type nth_localtype nth_globaltype -/d /=.
  split=> //; first exact: axes_size_gt1.
  have [_ _ _ <-] := wf_dim_axes (wf_nth we lt); rewrite -/d -(size_of_axes_perm H p1).
  by rewrite size_of_axes_cat mulnA dvdn_mulr.
- case: st => ys [zs [[lti ltj ij] [x0 dj] ex same ->]].
  set d := nth no_dim e i in ex same *; set d' := nth no_dim e j in dj *.
  have ji : j != i by rewrite eq_sym.
  have p1 : perm_eq (x ++ ys ++ zs) (dim_xs d) by rewrite ex perm_catCA.
  have [w1 pa1] := wf_reorder we lti p1; set e1 := upd e i _ in w1 pa1 same.
  have [w2 pa2] := wf_remove wH we lti p1; rewrite -/d -axes_sizeE in w2 pa2.
  set e2 := upd e i _ in w2 pa2 *.
  have ej : nth no_dim e2 j = d' by rewrite nth_upd_ne.
  have subx : {subset x <= names H}.
    move=> y yx; apply: (axes_names we); apply: (dim_axes_sub lti); rewrite -/d -(perm_mem p1).
    by rewrite mem_cat yx.
  have ltj2 : j < rank e2 by rewrite rank_upd.
  have [||w3 _] := wf_prepend w2 ltj2 subx; first by rewrite (perm_uniq pa2); case/andP: we.
    by rewrite ej.
  rewrite ej in w3.
  have eg : globaltype (upd e2 j (Dim (dim_c d' %/ axes_size H x) (x ++ dim_xs d') (dim_s d'))) = globaltype e.
    by rewrite globaltype_upd ?ej // globaltype_upd.
  split=> //; first by rewrite /is_assignment wH.
  split=> //; split; last first.
    have e1c : localtype e1 = localtype e by rewrite localtype_upd_type -nth_localtype upd_nth.
    have /(@same_tiles_phys (Assignment f' e1) (Assignment f e) w1 e1c) es := same.
    move=> t; have := congr1 (fun s : tilemap => s.2 t) es; rewrite /= !ffunE /= => <-.
    set c := coordinate _.
    have b1 : bounded H (axes e1) c by apply: bounded_axes.
    have ex1 : dim_xs (nth no_dim e1 i) = x ++ (ys ++ zs) by rewrite nth_upd_eq.
    have g1 := @gathered e1 i x (ys ++ zs) c w1 _ ex1 b1 (dim_c d * axes_size H x) (dim_s d).
    rewrite rank_upd /e1 upd_upd in g1; have {}g1 := g1 lti.
    rewrite tile_no_upd /e2 g1 /alltoall_tile /gather_tile; congr (upd _ j _).
    rewrite !nth_tile_no nth_upd_ne // nth_upd_eq //= !offset_front -/d'.
    rewrite mulnC addnC [X in _ = _ + X](_ : _ = offset 1 x c) // addnC mulnC modnMDl modn_small //.
    apply: offset_lt => y yx; apply: b1; apply: (dim_axes_sub (i := i)); rewrite ?rank_upd //.
    by rewrite ex1 mem_cat yx.
  apply/walltoallP; rewrite /= cD zl /e2 !localtype_upd_type !nth_localtype nth_globaltype -/d -/d' /=.
  split=> //; first exact: axes_size_gt1.
  have [_ _ _ <-] := wf_dim_axes (wf_nth we lti); rewrite -/d -(size_of_axes_perm H p1).
  by rewrite size_of_axes_cat mulnA dvdn_mulr.
- case: st => lt x0 [subx ux] ef [dv ->]; subst f'; set d := nth no_dim e i in dv *.
  have [w1 pa] := wf_prepend we lt subx ux dv; rewrite -/d -axes_sizeE in w1 pa.
  set e1 := upd e i _ in w1 pa *.
  have eg : globaltype e1 = globaltype e by exact: globaltype_upd.
  split=> //; first by rewrite /is_assignment wH.
  have b1 := phys_balanced (a := Assignment f e1) w1; rewrite /= eg in b1.
  split=> //; split.
    apply/wsliceP; rewrite /= cD zl /= nth_localtype -/d localtype_upd_type /=.
    split=> //; first exact: axes_size_gt1.
    split=> //; rewrite -[upd _ _ _](localtype_upd_type e i (Dim _ (x ++ dim_xs d) (dim_s d))).
    by rewrite -eg; apply: wf_localtype.
  split=> //; exists (fun t => offset 1 x (coordinate (phi_inv f t))); split=> t.
    rewrite axes_sizeE; apply: offset_lt; apply: bounded_point => //; exact: wf_mesh_uniq.
  rewrite /= !ffunE /= tile_no_upd /slice_tile nth_tile_no /= offset_front -/d.
  by rewrite addnC mulnC.
case: st => [wa' eg [pi bpi e_pi]].
have [_ we'] := andP wa'; rewrite /= in we' eg.
have el : localtype e' = localtype e.
  apply: (localtype_of_offsets wH we' we eg) => p.
    case: bpi => rho pK Kp; exists (phi_inv f' (rho (phi f p))).
    have := e_pi (rho (phi f p)); rewrite /tile_map /= Kp phiK => <-.
    by [].
  exists (phi_inv f (pi (phi f' p))).
  by have := e_pi (phi f' p); rewrite /tile_map /= phiK => <-.
split=> //; split=> //; split=> //; exists pi => // t.
have := e_pi t; rewrite /tile_map /= !ffunE /= => h; apply/(same_offsets _ _ we' el); exact: h.
Qed.

(* ---- one axis is a list of one ----                                          *)
Lemma low_step_single p a a' : low_step p a a' <-> multi_step (single p) a a'.
Proof.
case: a a' => [f e] [f' e']; rewrite /low_step /multi_step /=.
split=> -[wa]; (split; first by []); case/andP: (wa) => /= _ we; move: b.
all: case: p => [i x|i j x|i x|] //=.
- case=> ys [zs [lt xH ex same et]]; exists ys, zs; split=> //; by rewrite /axes_size /= muln1.
- case=> ys [zs [lt [xH dv] ex same et]]; exists ys, zs.
  by split=> //; rewrite /axes_size /= muln1.
- case=> ef; rewrite /t_dynslice; case: ifP => // lt; case: ifP => // /and3P[xH xe dv] [<-].
  split=> //=; last by rewrite /axes_size /= muln1.
  by split; [move=> y; rewrite inE => /eqP->| rewrite xe; case/andP: we].
- case=> ys [zs [lt x0 ex same et]]; exists ys, zs; rewrite /axes_size /= muln1 in et; split=> //.
  by apply: (axes_names we); apply: (dim_axes_sub lt); rewrite ex mem_cat mem_head orbT.
- case=> ys [zs [[lti ltj ij] [x0 dv] ex same et]]; exists ys, zs.
  rewrite /axes_size /= muln1 in et dv; split=> //; split=> //.
  by apply: (axes_names we); apply: (dim_axes_sub lti); rewrite ex mem_cat mem_head orbT.
case=> lt _ [sub /= /andP[xe _]] ef [dv ->]; rewrite /axes_size /= muln1 in dv *.
by split=> //; rewrite /t_dynslice lt sub ?mem_head //= xe dv.
Qed.

Definition low_label (p : low) : phys :=
  match p with
  | low_allgather i x => pweak (wgather i (k x))
  | low_alltoall i j x => pweak (walltoall i j (k x))
  | low_dynslice i x => pweak (wslice i (k x))
  | low_allpermute => ppermute
  end.

Lemma low_label_single p : phys_label (single p) = low_label p.
Proof. by case: p => * //=; rewrite /axes_size /= muln1. Qed.

Theorem low_sound p a a' : low_step p a a' ->
  [/\ is_assignment a', globaltype (type_of a') = globaltype (type_of a)
    & phys_step (globaltype (type_of a)) (low_label p) (phys_of a) (phys_of a')].
Proof. by move/low_step_single/multi_sound; rewrite low_label_single. Qed.

End Physical.

(* ---- on prime meshes every physical step is a literal one ----               *)
Section Complete.
Variables (H : mesh) (D : finType).
Hypothesis pH : prime_mesh H.
Hypothesis cD : #|D| = device_count H.
Local Notation wH := (prime_mesh_wf pH).
Local Notation k := (axis_size H).
Local Notation size_of_axes := (size_of_axes H).
Local Notation assignment := (assignment H D).
Local Notation tilemap := (tilemap D).
Implicit Types (a b : assignment) (s : tilemap) (tau e : type).

Lemma primes_of_dim e i : wf_type H e -> i < rank e ->
  {in dim_xs (nth no_dim e i), forall x, prime (k x)}.
Proof. by move=> we lt x xd; apply: prime_mesh_size pH _; apply: (axes_names we); apply: dim_axes_sub xd. Qed.

Lemma tiles_of_dim g e i : wf_type H e -> globaltype e = g -> i < rank e ->
  nth 0 (tile_counts g (localtype e)) i = size_of_axes (dim_xs (nth no_dim e i)).
Proof. by move=> we <- lt; rewrite (tile_counts_type we) (nth_map no_dim). Qed.

Lemma divides_tiles g c i n : is_localtype #|D| g c -> i < size c ->
  nth 0 c i * n %| nth 0 g i -> n %| nth 0 (tile_counts g c) i.
Proof.
by move=> ltc lt; rewrite -(tiles_mul ltc i) mulnC dvdn_pmul2r // (localtype_pos ltc).
Qed.

Lemma free_of_product e n : wf_type H e -> n * size_of_axes (axes e) %| device_count H ->
  exists xs, [/\ {subset xs <= names H}, uniq (xs ++ axes e) & size_of_axes xs = n].
Proof.
move=> we; rewrite -(free_axes wH we) dvdn_pmul2r; last exact: size_of_axes_pos wH (axes_names we).
have px : {in free H e, forall x, prime (k x)}.
  by move=> x; rewrite mem_free => /andP[_ xH]; apply: prime_mesh_size pH xH.
case/(axes_of_product px) => xs [zs [p en]]; exists xs.
have sub : {subset xs <= free H e} by move=> x xx; rewrite -(perm_mem p) mem_cat xx.
split=> //; first by move=> x /sub; rewrite mem_free => /andP[].
have : uniq (xs ++ zs) by rewrite (perm_uniq p) filter_uniq // wf_mesh_uniq // wH.
rewrite !cat_uniq => /and3P[-> _ _] /=; apply/andP; split; last by case/andP: we.
by apply/hasPn => x xe; apply: contraL xe => /sub; rewrite mem_free => /andP[].
Qed.

Theorem multi_complete g p s s' : phys_step g p s s' ->
  exists q a a', [/\ phys_of a = s, phys_of a' = s', globaltype (type_of a) = g,
    phys_label H q = p & multi_step q a a'].
Proof.
move=> st; have bs' := phys_step_balanced st; have [bs _] := st.
have ltc := balanced_localtype bs; have ltc' := balanced_localtype bs'.
have [tau [wt eg el]] : exists tau, [/\ wf_type H tau, globaltype tau = g & localtype tau = s.1].
  by apply: type_of_localtype pH _; rewrite -cD.
have zr : rank tau = size s.1 by rewrite -el size_map.
case: p st => [q|] st; last first.
  have [_ [ec [pi bpi e]]] := st.
  have b1 : balanced (globaltype tau) s by rewrite eg.
  have b2 : balanced (globaltype tau) s' by rewrite eg.
  have [f ef] := represent wH wt cD b1 el.
  have [f' ef'] := represent wH wt cD b2 (etrans el (esym ec)).
  exists (multi_allpermute), (Assignment f tau), (Assignment f' tau); split=> //.
  split; first by rewrite /is_assignment wH.
  split=> //; first by rewrite /is_assignment wH.
  exists pi => // d; rewrite /tile_map /=; apply/(same_offsets _ _ wt) => //.
  have := e d; rewrite -ef -ef' /= !ffunE; exact.
case: q st => [i n|i n|i j n] st; have [_ [wst _]] := st.
- case/wgatherP: (wst) => _ n1 lt dv _; have lti : i < rank tau by rewrite zr.
  have := divides_tiles ltc lt dv; rewrite -el (tiles_of_dim wt eg lti).
  case/(axes_of_product (primes_of_dim wt lti)) => x [r [p1 en]].
  have [w1 pa1] := wf_reorder wt lti p1; set d := nth no_dim tau i in w1 pa1; set t1 := upd tau i _ in w1 pa1.
  have g1 : globaltype t1 = g by rewrite globaltype_upd.
  have l1 : localtype t1 = s.1 by rewrite localtype_upd_type -nth_localtype upd_nth el.
  have b1 : balanced (globaltype t1) s by rewrite g1.
  have [f ef] := represent wH w1 cD b1 l1.
  pose a := Assignment f t1.
  pose a' := Assignment f (upd t1 i (Dim (dim_c d * axes_size H x) r (dim_s d))).
  have nd : nth no_dim t1 i = Dim (dim_c d) (x ++ r) (dim_s d) by rewrite nth_upd_eq.
  have ms : multi_step (multi_allgather i x) a a'.
    split; first by rewrite /is_assignment wH.
    exists [::], r; rewrite /= nd /=; split=> //.
    + by rewrite rank_upd.
    + by apply: contraTneq n1 => x0; rewrite -en x0.
    by rewrite -nd upd_nth.
  exists (multi_allgather i x), a, a'; split=> //; last by rewrite /= axes_sizeE en.
  have [_ _] := multi_sound wH ms; rewrite /= axes_sizeE en ef g1 => st'.
  exact: S1 st' st.
- have st0 := phys_step_rev st; rewrite /= in st0.
  case/wsliceP: (wst) => _ n1 [lt dv _ ec]; have lti : i < rank tau by rewrite zr.
  have eN := gather_counts (weak_step_rev wst).
  have [|x [subx ux en]] := @free_of_product tau n wt.
    rewrite -(tiles_of_axes wt) eg el -cD; have := localtype_tiles ltc'; rewrite eN.
    by rewrite prodn_updM 1?mulnC // (tiles_size ltc).
  have dx : size_of_axes x %| dim_c (nth no_dim tau i) by rewrite en -nth_localtype el.
  have [w1 _] := wf_prepend wt lti subx ux dx; set d := nth no_dim tau i in w1 dx.
  set t1 := upd tau i _ in w1.
  have g1 : globaltype t1 = g by rewrite globaltype_upd.
  have l1 : localtype t1 = s'.1.
    by rewrite localtype_upd_type /= -nth_localtype el en ec.
  have b1 : balanced (globaltype t1) s' by rewrite g1.
  have [f ef] := represent wH w1 cD b1 l1.
  pose a := Assignment f tau; pose a' := Assignment f t1.
  have ms : multi_step (multi_dynslice i x) a a'.
    split; first by rewrite /is_assignment wH.
    by split=> //; apply: contraTneq n1 => x0; rewrite -en x0.
  exists (multi_dynslice i x), a, a'; split=> //; last by rewrite /= axes_sizeE en.
  have [_ _] := multi_sound wH ms; rewrite /= axes_sizeE en -/a -/a' [phys_of a']ef eg.
  by move/phys_step_rev => /= st'; apply: S1 st' st0.
case/walltoallP: (wst) => _ n1 dv dj [lt ltj ij _]; have lti : i < rank tau by rewrite zr.
have := divides_tiles ltc lt dv; rewrite -el (tiles_of_dim wt eg lti).
case/(axes_of_product (primes_of_dim wt lti)) => x [r [p1 en]].
have [w1 pa1] := wf_reorder wt lti p1; set d := nth no_dim tau i in w1 pa1; set t1 := upd tau i _ in w1 pa1.
have g1 : globaltype t1 = g by rewrite globaltype_upd.
have l1 : localtype t1 = s.1 by rewrite localtype_upd_type -nth_localtype upd_nth el.
have b1 : balanced (globaltype t1) s by rewrite g1.
have [f ef] := represent wH w1 cD b1 l1.
pose d' := nth no_dim tau j.
pose a := Assignment f t1.
pose a' := Assignment f (upd (upd t1 i (Dim (dim_c d * axes_size H x) r (dim_s d))) j
  (Dim (dim_c d' %/ axes_size H x) (x ++ dim_xs d') (dim_s d'))).
have nd : nth no_dim t1 i = Dim (dim_c d) (x ++ r) (dim_s d) by rewrite nth_upd_eq.
have ndj : nth no_dim t1 j = d' by rewrite nth_upd_ne // eq_sym.
have ms : multi_step (multi_alltoall i j x) a a'.
  split; first by rewrite /is_assignment wH.
  exists [::], r; rewrite /= nd ndj /= !rank_upd; split=> //.
  + by rewrite lti zr ltj.
  + split; first by apply: contraTneq n1 => x0; rewrite -en x0.
    by rewrite axes_sizeE en /d' -nth_localtype el.
  by rewrite -nd upd_nth.
exists (multi_alltoall i j x), a, a'; split=> //; last by rewrite /= axes_sizeE en.
have [_ _] := multi_sound wH ms; rewrite /= axes_sizeE en ef g1 => st'.
exact: S1 st' st.
Qed.

(* Fig. 10 and the physical form agree modulo Def. 6.2, over several axes ..    *)
Theorem fig10_physical_multi g p s s' : phys_step g p s s' <->
  exists q a a', [/\ phys_of a = s, phys_of a' = s', globaltype (type_of a) = g,
    phys_label H q = p & multi_step q a a'].
Proof.
split; first exact: multi_complete.
by case=> q [a [a' [<- <- <- <- /(multi_sound wH)[]]]].
Qed.

(* .. and over one axis.                                                        *)
Definition prime_phys (p : phys) : bool := if p is pweak q then prime (factor q) else true.

Lemma one_axis x n : {subset x <= names H} -> prime n -> axes_size H x = n -> exists y, x = [:: y].
Proof.
case: x => [|y [|z x]] sub pn en; first by rewrite -en in pn.
  by exists y.
have ky : prime (k y) by apply: prime_mesh_size pH _; apply: sub; apply: mem_head.
have kz : prime (k z) by apply: prime_mesh_size pH _; apply: sub; rewrite !inE eqxx orbT.
have p0 : 0 < size_of_axes x.
  by apply: size_of_axes_pos wH _ => u ux; apply: sub; rewrite !inE ux !orbT.
move: en; rewrite axes_sizeE !size_of_axes_cons => en.
have : k y %| n by rewrite -en dvdn_mulr.
rewrite (dvdn_prime2 ky pn) => /eqP eyn.
have := prime_gt0 ky; have := prime_gt1 kz; move: en; rewrite -eyn => en.
by move/eqP: en; rewrite -[X in _ == X]muln1 eqn_pmul2l ?prime_gt0 // => /eqP; nia.
Qed.

Lemma multi_axes q a a' : multi_step q a a' ->
  match q with
  | multi_allgather _ x | multi_alltoall _ _ x | multi_dynslice _ x => {subset x <= names H}
  | multi_allpermute => True
  end.
Proof.
case=> /andP[_ we]; case: q => [i x|i j x|i x|] //=.
- case=> ys [zs [lt _ ex _ _]] y yx; apply: (axes_names we); apply: (dim_axes_sub lt).
  by rewrite ex !mem_cat yx orbT.
- case=> ys [zs [[lt _ _] _ ex _ _]] y yx; apply: (axes_names we); apply: (dim_axes_sub lt).
  by rewrite ex !mem_cat yx orbT.
by case=> _ _ [].
Qed.

Theorem fig10_physical g p s s' : phys_step g p s s' /\ prime_phys p <->
  exists q a a', [/\ phys_of a = s, phys_of a' = s', globaltype (type_of a) = g,
    low_label H q = p & low_step q a a'].
Proof.
split=> [[st pp]|[q [a [a' [<- <- <- <- st]]]]]; last first.
  have [_ _ ps] := low_sound wH st; split=> //; have := multi_axes (proj1 (low_step_single _ _ _) st).
  by case: q {st ps} => [i x|i j x|i x|] //= sub; apply: prime_mesh_size pH (sub _ (mem_head _ _)).
have [q [a [a' [e1 e2 e3 e4 ms]]]] := multi_complete st; have sub := multi_axes ms.
have [q' eq] : exists q', q = single q'.
  move: pp; rewrite -e4; case: q ms sub {e4} => [i x|i j x|i x|] ms sub /= pp.
  - by have [y ->] := one_axis sub pp erefl; exists (low_allgather i y).
  - by have [y ->] := one_axis sub pp erefl; exists (low_alltoall i j y).
  - by have [y ->] := one_axis sub pp erefl; exists (low_dynslice i y).
  by exists low_allpermute.
exists q', a, a'; split=> //; first by rewrite -e4 eq low_label_single.
by apply/low_step_single; rewrite -eq.
Qed.

End Complete.
