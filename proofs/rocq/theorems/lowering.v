(* From weak sequences to sequences of Fig. 10 and back, literally over         *)
(* <phi, T[tau]>, one axis at a time on prime meshes.                           *)
(*                                                                              *)
(* Paper: Def. 5.3 (E11), Lemma 6.3 (repaired, E29: beta is a semantic type,    *)
(* and p is meant up to renaming axes of equal size), Theorem 6.4, equations    *)
(* (7), (8), Lemma 6.6, Theorem 6.7.                                            *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig06_syntax fig07_base_offsets fig08_typing fig11_cost def4_sequences.
Require Import def5_weak def6_devices fig10_low_level sec7_low_level.
Require Import vectors weak_steps sequences fibres tiles tile_maps points base_offset_maps.
Require Import injectivity types fig10_physical weak_patterns lemma_6_5 optimality.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* ---- Fig. 8 and wf ----                                                      *)
Section Strong.
Variable H : mesh.
Local Notation k := (axis_size H).
Local Notation size_of_axes := (size_of_axes H).

Definition weak_of (tau : type) (p : collective) : option weak :=
  match p with
  | allgather i => if dim_xs (nth no_dim tau i) is x :: _ then Some (wgather i (k x)) else None
  | dynslice i x => Some (wslice i (k x))
  | alltoall i j => if dim_xs (nth no_dim tau i) is x :: _ then Some (walltoall i j (k x)) else None
  | allpermute _ => None
  end.

Definition low_of (tau : type) (p : collective) : low :=
  match p with
  | allgather i => low_allgather i (head 0 (dim_xs (nth no_dim tau i)))
  | dynslice i x => low_dynslice i x
  | alltoall i j => low_alltoall i j (head 0 (dim_xs (nth no_dim tau i)))
  | allpermute _ => low_allpermute
  end.

(* The collectives of Fig. 8 are those of Fig. 10 with beta' = beta (Sec. 6.1). *)
Lemma strong_low (D : finType) (f : device_map H D) p tau sigma : typed H p tau sigma ->
  low_step (low_of tau p) (Assignment f tau) (Assignment f sigma).
Proof.
rewrite /typed /apply; case: ifP => // wa; case/andP: (wa) => wH wt.
case: p => [i|i x|i j|sigma'] /=; rewrite /t_allgather /t_dynslice /t_alltoall.
- case: ifP => // lt; case ex: (dim_xs _) => [|x xs] //; case: ifP => // xH [<-].
  split=> //; exists [::], xs; split=> //=.
  by rewrite -ex (_ : Dim _ _ _ = nth no_dim tau i) ?upd_nth //; case: (nth _ _ _).
- by move=> e; split=> //=; split.
- case: ifP => // /and3P[lti ltj ij]; case ex: (dim_xs _) => [|x xs] //.
  case: ifP => // /andP[xH dv] [<-]; split=> //; exists [::], xs; split=> //=.
  by rewrite -ex (_ : Dim _ _ _ = nth no_dim tau i) ?upd_nth //; case: (nth _ _ _).
case: ifP => // /andP[ws /andP[/eqP eg /eqP el]] [<-]; split=> //=.
split=> //=; first by rewrite /is_assignment wH.
have [pi bpi e] := lemma_5_1 wH wt ws eg el; case: (bpi) => rho pK Kp.
exists (fun d => phi f (pi (phi_inv f d))).
  exists (fun d => phi f (rho (phi_inv f d))) => d; rewrite phiK.
    by rewrite pK phi_invK.
  by rewrite Kp phi_invK.
by move=> d; rewrite /tile_map /= phiK e.
Qed.

(* Fig. 8 keeps types well-formed, and their globaltypes.                       *)
Lemma typed_wf p tau sigma : typed H p tau sigma ->
  [/\ wf_mesh H, wf_type H tau, wf_type H sigma & globaltype sigma = globaltype tau].
Proof.
move=> st; have := st; rewrite /typed /apply; case: ifP => // /andP[wH wt] _.
pose D := [finType of point H].
have K : cancel [ffun q : point H => q] [ffun q : D => q] by move=> q; rewrite !ffunE.
pose f := DeviceMap K (K : cancel [ffun q : D => q] [ffun q : point H => q]).
have [/andP[_ ws] eg _] := low_sound wH (strong_low f st).
by split.
Qed.

Lemma typed_weak p tau sigma q : typed H p tau sigma -> weak_of tau p = Some q ->
  weak_step (device_count H) (globaltype tau) q (localtype tau) (localtype sigma).
Proof.
move=> st eq; have [wH wt ws eg] := typed_wf st.
pose D := [finType of point H].
have K : cancel [ffun q : point H => q] [ffun q : D => q] by move=> ?; rewrite !ffunE.
pose f := DeviceMap K (K : cancel [ffun q : D => q] [ffun q : point H => q]).
have [_ _] := low_sound wH (strong_low f st).
have -> : low_label H (low_of tau p) = pweak q.
  case: p eq {st} => [i|i x|i j|t] //=; try by [case: (dim_xs _) => //= x xs [<-] | case=> <-].
by case=> _ [+ _]; rewrite /= (device_card wH f).
Qed.

Lemma typed_permute sigma' tau sigma : typed H (allpermute sigma') tau sigma ->
  localtype sigma = localtype tau.
Proof.
by rewrite /typed /apply; case: ifP => // _; case: ifP => // /andP[_ /andP[_ /eqP->]] [<-].
Qed.

End Strong.

(* ---- prime meshes ----                                                       *)
Section Lowering.
Variables (H : mesh).
Hypothesis pH : prime_mesh H.
Local Notation wH := (prime_mesh_wf pH).
Local Notation k := (axis_size H).
Local Notation size_of_axes := (size_of_axes H).
Local Notation delta := (device_count H).
Local Notation weak1 g := (weak_step_1 delta g).

(* An axis of size n moved to the front of dimension i.                         *)
Lemma axis_to_front g tau i n : wf_type H tau -> globaltype tau = g -> i < rank tau -> prime n ->
  nth 0 (localtype tau) i * n %| nth 0 g i ->
  exists ys x zs, let d := nth no_dim tau i in
    let tau' := upd tau i (Dim (dim_c d) (x :: ys ++ zs) (dim_s d)) in
    [/\ dim_xs d = ys ++ x :: zs, k x = n, x \in names H, wf_type H tau' & localtype tau' = localtype tau].
Proof.
move=> wt eg lt pn dv.
have lc : is_localtype delta g (localtype tau) by rewrite -eg; apply: wf_localtype wH wt.
have lt' : i < size (localtype tau) by rewrite size_map.
have dn : n %| size_of_axes (dim_xs (nth no_dim tau i)).
  rewrite -(tiles_of_dim wt eg lt); rewrite -(tiles_mul lc i) in dv.
  by rewrite mulnC dvdn_pmul2r // (localtype_pos lc) in dv.
have [x [xd kx]] := axis_of_prime (primes_of_dim pH wt lt) pn dn.
have [ys [zs ex]] : exists ys zs, dim_xs (nth no_dim tau i) = ys ++ x :: zs.
  by case/splitPr: xd => ys zs; exists ys, zs.
exists ys, x, zs => d tau'.
have px : perm_eq (x :: ys ++ zs) (dim_xs d).
  by rewrite /d ex -cat1s perm_catCA.
have [w' _] := wf_reorder wt lt px; split=> //.
  by apply: (axes_names wt); apply: dim_axes_sub xd.
by rewrite localtype_upd_type -nth_localtype upd_nth.
Qed.

(* ---- Def. 5.3 ----                                                           *)
(* The step on localtypes is the relation of the paper, read existentially      *)
(* (E11): some types of these localtypes are related by ->.                     *)
Theorem def_5_3 g q c c' : weak1 g q c c' <->
  exists tau sigma p, [/\ globaltype tau = g, localtype tau = c, localtype sigma = c',
    typed H p tau sigma & weak_of H tau p = Some q].
Proof.
split=> [[st pn]|[tau [sigma [p [<- <- <- st eq]]]]]; last first.
  split; first exact: typed_weak st eq.
  have [_ wt _ _] := typed_wf st; have := st; rewrite /typed /apply; case: ifP => // _.
  have ax i x xs : dim_xs (nth no_dim tau i) = x :: xs -> prime (k x).
    move=> ex; apply: prime_mesh_size pH _; apply: (axes_names wt).
    case: (ltnP i (rank tau)) => lt; last by move: ex; rewrite nth_default.
    by apply: (dim_axes_sub lt); rewrite ex mem_head.
  case: p eq {st} => [i|i x|i j|t] //=.
  - by case ex: (dim_xs _) => [//|x xs] [<-] _; apply: ax ex.
  - case=> <-; rewrite /t_dynslice; case: ifP => // _; case: ifP => // /and3P[xH _ _] _.
    exact: prime_mesh_size pH xH.
  by case ex: (dim_xs _) => [//|x xs] [<-] _; apply: ax ex.
have ltc := weak_step_from st.
have [tau [wt eg el]] := type_of_localtype pH ltc.
have zr : rank tau = size c by rewrite -el size_map.
have wa t : wf_type H t -> wf_mesh H && wf_type H t by rewrite wH.
suff [t [sigma [p [e1 e2 e3 e4]]]] : exists t sigma p, [/\ globaltype t = g, localtype t = c,
    typed H p t sigma & weak_of H t p = Some q].
  exists t, sigma, p; split=> //; have := typed_weak e3 e4; rewrite e1 e2.
  by move=> st'; apply: weak_step_det st' st.
case: q st pn => [i n|i n|i j n] st /= pn.
- case/wgatherP: st => _ _ lt dv _; have lti : i < rank tau by rewrite zr.
  rewrite -el in dv; have [ys [x [zs [ex kx xH w1 l1]]]] := axis_to_front wt eg lti pn dv.
  set t1 := upd tau i _ in w1 l1.
  have nd : nth no_dim t1 i = Dim (dim_c (nth no_dim tau i)) (x :: ys ++ zs) (dim_s (nth no_dim tau i)).
    by rewrite nth_upd_eq.
  exists t1; eexists; exists (allgather i); split; rewrite ?l1 //; first by rewrite globaltype_upd.
    by rewrite /typed /apply wa // /t_allgather rank_upd lti nd /= xH.
  by rewrite /= nd /= kx.
- case/wsliceP: (st) => _ _ [lt dv ltc' ec]; have lti : i < rank tau by rewrite zr.
  have [x [xH xf kx dx]] : exists x, [/\ x \in names H, x \notin axes tau, k x = n
      & k x %| dim_c (nth no_dim tau i)].
    have eN := gather_counts (weak_step_rev st).
    have dn : n %| size_of_axes (free H tau).
      have p0 := size_of_axes_pos wH (axes_names wt).
      rewrite -(dvdn_pmul2r p0) (free_axes wH wt) -(tiles_of_axes wt) eg el.
      have := localtype_tiles ltc'; rewrite eN prodn_updM 1?mulnC //.
      by rewrite (tiles_size ltc).
    have pf : {in free H tau, forall x, prime (k x)}.
      by move=> x; rewrite mem_free => /andP[_]; apply: prime_mesh_size.
    have [x [xf kx]] := axis_of_prime pf pn dn; exists x.
    by move: xf; rewrite mem_free kx -nth_localtype el => /andP[].
  exists tau; eexists; exists (dynslice i x); split=> //.
    by rewrite /typed /apply wa // /t_dynslice lti xH xf dx.
  by rewrite /= kx.
case/walltoallP: st => _ _ dv dj [lt ltj ij _]; have lti : i < rank tau by rewrite zr.
rewrite -el in dv; have [ys [x [zs [ex kx xH w1 l1]]]] := axis_to_front wt eg lti pn dv.
set t1 := upd tau i _ in w1 l1.
have nd : nth no_dim t1 i = Dim (dim_c (nth no_dim tau i)) (x :: ys ++ zs) (dim_s (nth no_dim tau i)).
  by rewrite nth_upd_eq.
exists t1; eexists; exists (alltoall i j); split; rewrite ?l1 //; first by rewrite globaltype_upd.
  rewrite /typed /apply wa // /t_alltoall !rank_upd lti zr ltj ij nd /= xH /= kx.
  by rewrite nth_upd_ne 1?eq_sym // -nth_localtype el dj.
by rewrite /= nd /= kx.
Qed.

Variable D : finType.
Local Notation assignment := (assignment H D).
Local Notation sequence := (sequence (@low_step H D)).
Local Notation cost := (cost_of low_op (@assignment_size H D)).
Local Notation labels := (labels low_op).
Implicit Types (a b : assignment) (v : seq (low * assignment)) (w : seq (weak * seq nat)).

(* ---- Lemma 6.3 ----                                                          *)
Theorem lemma_6_3 a q c' : is_assignment a ->
  weak1 (globaltype (type_of a)) q (localtype (type_of a)) c' ->
  exists p a', [/\ low_step p a a', low_label H p = pweak q & localtype (type_of a') = c'].
Proof.
case: a => f tau /= wa [st pn]; case/andP: (wa) => /= _ wt.
have cD := device_card wH f.
suff [p [a' [e1 e2]]] : exists p a', low_step p (Assignment f tau) a' /\ low_label H p = pweak q.
  exists p, a'; split=> //; have [_ _] := low_sound wH e1; rewrite e2 => -[_ [st' _]].
  by rewrite cD in st'; apply: weak_step_det st' st.
have rep t1 : wf_type H t1 -> globaltype t1 = globaltype tau -> localtype t1 = localtype tau ->
    exists f', same_tiles (Assignment f' t1) (Assignment f tau).
  move=> w1 g1 l1; have b1 : balanced (globaltype t1) (phys_of (Assignment f tau)).
    by rewrite g1; apply: phys_balanced wH _ _.
  have [f' ef] := represent wH w1 cD b1 l1; exists f'.
  by apply/(@same_tiles_phys H D (Assignment f' t1) (Assignment f tau) w1 l1).
case: q st pn => [i n|i n|i j n] st /= pn.
- case/wgatherP: st => _ _ lt dv _; have lti : i < rank tau by rewrite size_map in lt.
  have [ys [x [zs [ex kx xH w1 l1]]]] := axis_to_front wt erefl lti pn dv.
  have [//|f' same] := rep _ w1 (globaltype_upd _) l1.
  exists (low_allgather i x); eexists (Assignment f' _); split; last by rewrite /= kx.
  by split=> //; exists ys, zs; split=> //.
- case/wsliceP: (st) => ltc _ [lt dv ltc' ec]; have lti : i < rank tau by rewrite size_map in lt.
  have [x [xH xf kx dx]] : exists x, [/\ x \in names H, x \notin axes tau, k x = n
      & k x %| dim_c (nth no_dim tau i)].
    have eN := gather_counts (weak_step_rev st).
    have dn : n %| size_of_axes (free H tau).
      have p0 := size_of_axes_pos wH (axes_names wt).
      rewrite -(dvdn_pmul2r p0) (free_axes wH wt) -(tiles_of_axes wt).
      have := localtype_tiles ltc'; rewrite eN prodn_updM 1?mulnC //.
      by rewrite (tiles_size ltc).
    have pf : {in free H tau, forall x, prime (k x)}.
      by move=> x; rewrite mem_free => /andP[_]; apply: prime_mesh_size.
    have [x [xf kx]] := axis_of_prime pf pn dn; exists x.
    by move: xf; rewrite mem_free kx -nth_localtype => /andP[].
  exists (low_dynslice i x); eexists (Assignment f _); split; last by rewrite /= kx.
  by split=> //=; split=> //; rewrite /t_dynslice lti xH xf dx.
case/walltoallP: st => _ _ dv dj [lt ltj ij _].
have lti : i < rank tau by rewrite size_map in lt.
have ltj' : j < rank tau by rewrite size_map in ltj.
have [ys [x [zs [ex kx xH w1 l1]]]] := axis_to_front wt erefl lti pn dv.
have [//|f' same] := rep _ w1 (globaltype_upd _) l1.
exists (low_alltoall i j x); eexists (Assignment f' _); split; last by rewrite /= kx.
by split=> //; exists ys, zs; split=> //=; rewrite kx -nth_localtype.
Qed.

(* ---- Theorem 6.4 ----                                                        *)
(* v does what w does: kinds, dimensions and factors are those of w, and so are *)
(* the localtypes.  So v has no allpermute.                                     *)
Definition low_lowers v w : Prop :=
  [seq (low_label H q.1, localtype (type_of q.2)) | q <- v] = [seq (pweak q.1, q.2) | q <- w].

Theorem theorem_6_4 a w c' : is_assignment a ->
  def4_sequences.sequence (weak1 (globaltype (type_of a))) (localtype (type_of a)) w c' ->
  exists v a', [/\ sequence a v a', is_assignment a', localtype (type_of a') = c',
    globaltype (type_of a') = globaltype (type_of a) & low_lowers v w].
Proof.
elim: w a => [|[q c] w IH] a wa /=; first by move=> <-; exists [::], a.
case=> st sq; have [p [a1 [st1 ep ec]]] := lemma_6_3 wa st.
have [wa1 eg _] := low_sound wH st1.
have [|v [a' [sq' wa' e' eg' l]]] := IH a1 wa1; first by rewrite eg ec.
exists ((p, a1) :: v), a'; split=> //; first by rewrite eg' eg.
by rewrite /low_lowers /= ep ec l.
Qed.

(* ---- equations (7) and (8) ----                                              *)
(* beta' = T[tau_2] o rho and pi = phi' o rho^-1 o phi^-1 give                  *)
(* T[tau_2] o phi^-1 = beta' o phi'^-1 o pi.                                    *)
Theorem equation_7 (f f' : device_map H D) (beta' beta2 : point H -> seq nat) (rho sigma : point H -> point H) :
  cancel rho sigma -> cancel sigma rho -> beta' =1 beta2 \o rho ->
  let pi d := phi f' (sigma (phi_inv f d)) in
  bijective pi /\ tile_map (f, beta2) =1 tile_map (f', beta') \o pi.
Proof.
move=> rK Kr e pi; split; last by move=> d; rewrite /tile_map /= /pi phiK e /= Kr.
exists (fun d => phi f (rho (phi_inv f' d))) => d; rewrite /pi phiK.
  by rewrite Kr phi_invK.
by rewrite rK phi_invK.
Qed.

Theorem equation_8 a' (f : device_map H D) tau2 : is_assignment a' -> wf_type H tau2 ->
  globaltype tau2 = globaltype (type_of a') -> localtype tau2 = localtype (type_of a') ->
  low_step low_allpermute a' (Assignment f tau2).
Proof.
move=> wa' w2 eg el; have [_ wt'] := andP wa'.
have [rho [sigma rK Kr] e] := lemma_5_1 wH w2 wt' eg el.
have [bpi h] := @equation_7 f (map_of a') _ _ rho sigma rK Kr e.
by split=> //; split=> //; [rewrite /is_assignment wH | exists (fun d => phi (map_of a') (sigma (phi_inv f d)))].
Qed.

(* ---- Lemma 6.6 ----                                                          *)
Fixpoint low_lift v : seq (weak * seq nat) :=
  match v with
  | [::] => [::]
  | (p, a) :: v' => if low_label H p is pweak q then (q, localtype (type_of a)) :: low_lift v' else low_lift v'
  end.

Lemma prime_low p a a' q : low_step p a a' -> low_label H p = pweak q -> prime (factor q).
Proof.
move=> st; have sub := multi_axes (proj1 (low_step_single _ _ _) st).
by case: p sub {st} => [i x|i j x|i x|] //= sub [<-] /=; apply: prime_mesh_size pH (sub _ (mem_head _ _)).
Qed.

Theorem lemma_6_6 a v a' : sequence a v a' ->
  def4_sequences.sequence (weak1 (globaltype (type_of a))) (localtype (type_of a)) (low_lift v) (localtype (type_of a'))
  /\ def4_sequences.labels weak_op (low_lift v) = [seq p <- labels v | ~~ is_permute p].
Proof.
elim: v a => [|[p a1] v IH] a /=; first by move=> ->.
case=> st /IH[sq el]; have [_ eg ps] := low_sound wH st; rewrite eg in sq.
have pl := prime_low st; case: p ps pl {st} => [i x|i j x|i x|] /= [_ ps] pl; last first.
  by case: ps => e _; rewrite /= in e; rewrite -e; split.
all: have [st _] := ps; rewrite el; split=> //; split=> //; split; last exact: pl.
all: by rewrite -(device_card wH (map_of a)).
Qed.

(* The same sequence on tile maps.                                              *)
Definition low_phys v : seq (phys * tilemap D) := [seq (low_label H q.1, phys_of q.2) | q <- v].

Lemma low_phys_sequence a v a' : sequence a v a' ->
  def4_sequences.sequence (phys_ok (globaltype (type_of a)) prime) (phys_of a) (low_phys v) (phys_of a').
Proof.
elim: v a => [|[p a1] v IH] a /=; first by move=> ->.
case=> st /IH sq; have [_ eg ps] := low_sound wH st; rewrite eg in sq; split=> //; split=> //.
by have := prime_low st; rewrite /ok_phys; case: low_label => // q; apply.
Qed.

Lemma low_phys_labels v : def4_sequences.labels phys_op (low_phys v) = labels v.
Proof. by elim: v => //= -[[i x|i j x|i x|] a] v IH; rewrite /= IH. Qed.

Lemma low_phys_sizes a v :
  sizes_of (@tilemap_size D) (phys_of a) (low_phys v) = sizes_of (@assignment_size H D) a v.
Proof. by rewrite /sizes_of -map_comp. Qed.

Lemma low_phys_cost a v : cost_of phys_op (@tilemap_size D) (phys_of a) (low_phys v) = cost a v.
Proof. by rewrite /cost_of low_phys_labels low_phys_sizes. Qed.

Lemma lowers_low_labels v w : low_lowers v w -> labels v = def4_sequences.labels weak_op w.
Proof.
move=> /(congr1 (map (fun q => phys_op q.1))); rewrite -!map_comp => e.
rewrite /def4_sequences.labels -[RHS]/(map ((fun q => phys_op q.1) \o (fun q : weak * seq nat => (pweak q.1, q.2))) w).
by rewrite -e; apply: eq_map => -[[i x|i j x|i x|] b].
Qed.

Lemma lowers_low_cost a v w : low_lowers v w -> cost a v = cost_of weak_op prodn (localtype (type_of a)) w.
Proof.
move=> l; rewrite /cost_of (lowers_low_labels l); congr (def4_sequences.cost _ (_ :: _)).
move: l => /(congr1 (map (fun q => prodn q.2))); rewrite -!map_comp => e.
by rewrite [LHS]e.
Qed.

(* ---- Theorem 6.7 ----                                                        *)
(* s : <phi, T[tau_1]> =>* <phi, T[tau_2]> need not be of least cost.           *)
Theorem theorem_6_7 (f : device_map H D) tau1 tau2 s :
  wf_type H tau1 -> wf_type H tau2 ->
  sequence (Assignment f tau1) s (Assignment f tau2) ->
  exists s', let s1 := rcons s' (low_allpermute, Assignment f tau2) in
    [/\ sequence (Assignment f tau1) s1 (Assignment f tau2),
        normal_form (labels s'), ~~ has is_permute (labels s')
      & cost (Assignment f tau1) s1 <= cost (Assignment f tau1) s + localsize tau2].
Proof.
move=> w1 w2 sq; set a := Assignment f tau1 in sq *.
have wa : is_assignment a by rewrite /is_assignment wH.
have [sqw _] := lemma_6_6 sq; have lec := lift_cost (low_phys_sequence sq).
have lt1 : is_localtype delta (globaltype tau1) (localtype tau1) by apply: wf_localtype wH w1.
have [w [sqn nfn _ len]] := lemma_6_5 lt1 sqw.
have [v [a' [sv wa' el eg l]]] := theorem_6_4 wa sqn.
have eg2 : globaltype tau2 = globaltype tau1.
  have gg : forall u b b', sequence b u b' -> globaltype (type_of b') = globaltype (type_of b).
    elim=> [|[p b1] u IH] b b' /=; first by move=> ->.
    by case=> st /IH ->; have [_ ->] := low_sound wH st.
  exact: gg sq.
have st8 : low_step low_allpermute a' (Assignment f tau2).
  by apply: equation_8 => //; rewrite ?eg.
exists v; split.
- by rewrite -cats1; apply: sequence_join sv _.
- by rewrite (lowers_low_labels l).
- by rewrite (lowers_low_labels l) has_map; elim: (w) => //= -[[]] //.
rewrite -cats1 cost_cat -(sequence_end sv) cost_cons /= cost_nil addn0 (lowers_low_cost _ l).
rewrite /assignment_size /localsize el leq_add2r; apply: leq_trans len _.
rewrite -low_phys_cost; apply: leq_trans lec; apply: leq_trans (leq_addr _ _).
have -> : low_lift s = lift (low_phys s); last by [].
by elim: (s) => //= -[[i x|i j x|i x|] b] u IH; rewrite /= IH.
Qed.

(* Such a sequence keeps the bound (4): a normal form does, and the allpermute  *)
(* behind it stays at the size of the end.                                      *)
Lemma low_sized p a a' : low_step p a a' -> sized low_op (@assignment_size H D) p a a'.
Proof.
move=> st; have [_ _ ps] := low_sound wH st; have := prime_low st.
have sz := @phys_sized D (globaltype (type_of a)) prime (low_label H p) (phys_of a) (phys_of a').
move=> pl; have /sz : phys_ok (globaltype (type_of a)) prime (low_label H p) (phys_of a) (phys_of a').
  by split=> //; rewrite /ok_phys; case: (low_label H p) pl => // q; apply.
by rewrite /sized; case: p {st ps pl sz}.
Qed.

Corollary theorem_6_7_constrained (f : device_map H D) tau1 tau2 s :
  wf_type H tau1 -> wf_type H tau2 ->
  sequence (Assignment f tau1) s (Assignment f tau2) ->
  exists s', let s1 := rcons s' (low_allpermute, Assignment f tau2) in
    [/\ sequence (Assignment f tau1) s1 (Assignment f tau2),
        normal_form (labels s') /\ ~~ has is_permute (labels s'),
        memory_constrained (sizes_of (@assignment_size H D) (Assignment f tau1) s1)
      & cost (Assignment f tau1) s1 <= cost (Assignment f tau1) s + localsize tau2].
Proof.
move=> w1 w2 sq0; have [s' [sq1 nf np le]] := theorem_6_7 w1 w2 sq0; exists s'; split=> //.
set a := Assignment f tau1 in sq1 *; set a2 := Assignment f tau2 in sq1 *.
have sq12 := sq1; rewrite -cats1 in sq12 *.
have [m [sq [st _]]] := sequence_split sq12 => {sq12}.
have mc := normal_form_constrained low_sized sq nf.
have e2 : assignment_size a2 = assignment_size m by exact: (low_sized st).
move: mc.
rewrite /memory_constrained /sizes_of /= map_cat /= last_cat /=.
have -> : last (assignment_size a) [seq assignment_size q.2 | q <- s'] = assignment_size m.
  by rewrite (sequence_end sq) /end_of; elim: (s') (a) => [|[? ?] ? IH] ? //=.
have -> ls x : height (ls ++ [:: x]) = maxn (height ls) x.
  by elim: ls => [|l ls IH] /=; rewrite ?maxn0 ?max0n // IH maxnA.
by rewrite e2 !geq_max leq_maxr andbT.
Qed.

End Lowering.
