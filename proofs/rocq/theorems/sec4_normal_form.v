(* Every sequence of collectives has a normal form.                             *)
(*                                                                              *)
(* Paper: Lemmas 4.6, 4.7, Theorem 4.8, as printed: one axis at a time, on      *)
(* meshes of prime axes.  The cases are found on localtypes (weak_patterns.v);  *)
(* an allpermute leads to any type of a localtype, so that a dynslice can be    *)
(* put first and an allgather last.                                             *)
(*                                                                              *)
(* That replacing ends: every lemma takes one interior state away and adds two  *)
(* at most, all of smaller localsize.  So the multiset of localsizes falls; as  *)
(* a number it is the sum of 3^localsize.                                       *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig06_syntax fig07_base_offsets fig08_typing fig11_cost def4_sequences.
Require Import def5_weak def6_devices fig10_low_level.
Require Import vectors weak_steps sequences tiles points base_offset_maps types.
Require Import weak_patterns lemma_6_5 fig10_physical lowering.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Reverse.
Variable H : mesh.
Local Notation k := (axis_size H).

(* The collective that leads back to tau.                                       *)
Definition back (tau : type) (p : collective) : collective :=
  match p with
  | allgather i => dynslice i (head 0 (dim_xs (nth no_dim tau i)))
  | dynslice i _ => allgather i
  | alltoall i j => alltoall j i
  | allpermute _ => allpermute tau
  end.

Definition back_op (p : op) : op :=
  match p with Allgather => Dynslice | Dynslice => Allgather | _ => p end.

Lemma back_opE tau p : op_of (back tau p) = back_op (op_of p).
Proof. by case: p. Qed.

Lemma dim_eta d : Dim (dim_c d) (dim_xs d) (dim_s d) = d.
Proof. by case: d. Qed.

Lemma typed_back p tau sigma : typed H p tau sigma -> typed H (back tau p) sigma tau.
Proof.
move=> st; have [wH wt ws _] := typed_wf st; move: st.
rewrite /typed /apply wH wt ws /=; case: p => [i|i x|i j|t] /=;
  rewrite /t_allgather /t_dynslice /t_alltoall.
- case: ifP => // lt; case ex: (dim_xs _) => [|x xs] //; case: ifP => // xH [es].
  set d := nth no_dim tau i in ex es; have nd : nth no_dim sigma i = Dim (dim_c d * k x) xs (dim_s d).
    by rewrite -es nth_upd_eq.
  have k0 : 0 < k x by rewrite ltnW // wf_mesh_size.
  have px : perm_eq ([:: x] ++ xs) (dim_xs d) by rewrite ex.
  have [_ pa] := wf_remove wH wt lt px; rewrite -/d /points.size_of_axes /= muln1 es in pa.
  have nx : x \notin axes sigma.
    by have : uniq (axes tau) by [case/andP: wt]; rewrite -(perm_uniq pa) => /andP[].
  rewrite -{1}es rank_upd lt nd /= ?xH nx dvdn_mull //= mulnK // -es upd_upd -ex dim_eta.
  by rewrite upd_nth.
- case: ifP => // lt; case: ifP => // /and3P[xH nx dv] [es].
  set d := nth no_dim tau i in dv es.
  rewrite -es rank_upd lt nth_upd_eq //= ?xH divnK // upd_upd dim_eta upd_nth //.
- case: ifP => // /and3P[lti ltj ij]; case ex: (dim_xs _) => [|x xs] //.
  case: ifP => // /andP[xH dv] [es]; set d := nth no_dim tau i in ex es; set d' := nth no_dim tau j in dv es.
  have ji : j != i by rewrite eq_sym.
  have k0 : 0 < k x by rewrite ltnW // wf_mesh_size.
  set A := Dim _ xs _ in es; set B := Dim _ (x :: _) _ in es.
  have ns : nth no_dim sigma j = B by rewrite -es nth_upd_eq // size_upd.
  have ni : nth no_dim sigma i = A by rewrite -es nth_upd_ne // nth_upd_eq.
  rewrite ns ni -{1 2}es !rank_upd ltj lti ji /= ?xH dvdn_mull //= divnK // mulnK //.
  by rewrite -es upd_upd updC // upd_upd -ex !dim_eta !upd_nth.
by case: ifP => // /andP[wt' /andP[/eqP eg /eqP el]] [<-]; rewrite wt /t_permute eg el !eqxx.
Qed.

End Reverse.

Section NormalForm.
Variables (H : mesh).
Hypothesis pH : prime_mesh H.
Local Notation wH := (prime_mesh_wf pH).
Local Notation k := (axis_size H).
Local Notation delta := (device_count H).
Local Notation weak1 g := (weak_step_1 delta g).
Local Notation sequence := (sequence (typed H)).
Local Notation labels := (labels op_of).
Local Notation height := (height_of localsize).
Implicit Types (tau sigma : type) (w : seq (collective * type)).

(* ---- building strong steps from weak ones ----                               *)
Lemma permute_to tau sigma : wf_type H tau -> wf_type H sigma ->
  globaltype tau = globaltype sigma -> localtype tau = localtype sigma ->
  typed H (allpermute sigma) tau sigma.
Proof. by move=> wt ws eg el; rewrite /typed /apply wH wt ws /t_permute eg el !eqxx. Qed.

(* From any type of localtype c a dynslice leads to localtype c'.               *)
Lemma slice_from tau i n c' : wf_type H tau -> weak1 (globaltype tau) (wslice i n) (localtype tau) c' ->
  exists x sigma, [/\ typed H (dynslice i x) tau sigma, wf_type H sigma,
    globaltype sigma = globaltype tau, localtype sigma = c' &
    forall j, j != i -> nth no_dim sigma j = nth no_dim tau j].
Proof.
move=> wt [st pn]; case/wsliceP: (st) => ltc _ [lt dv ltc' ec].
have lti : i < rank tau by rewrite size_map in lt.
have [x [xH xf kx dx]] : exists x, [/\ x \in names H, x \notin axes tau, k x = n
    & k x %| dim_c (nth no_dim tau i)].
  have eN := gather_counts (weak_step_rev st).
  have dn : n %| size_of_axes H (free H tau).
    have p0 := size_of_axes_pos wH (axes_names wt).
    rewrite -(dvdn_pmul2r p0) (free_axes wH wt) -(tiles_of_axes wt).
    have := localtype_tiles ltc'; rewrite eN prodn_updM 1?mulnC //.
    by rewrite (tiles_size ltc).
  have pf : {in free H tau, forall x, prime (k x)}.
    by move=> x; rewrite mem_free => /andP[_]; apply: prime_mesh_size.
  have [x [xf kx]] := axis_of_prime pf pn dn; exists x.
  by move: xf; rewrite mem_free kx -nth_localtype => /andP[].
pose sigma := upd tau i (Dim (dim_c (nth no_dim tau i) %/ k x) (x :: dim_xs (nth no_dim tau i)) (dim_s (nth no_dim tau i))).
have ty : typed H (dynslice i x) tau sigma.
  by rewrite /typed /apply wH wt /t_dynslice lti xH xf dx.
have [_ _ ws eg] := typed_wf ty.
exists x, sigma; split=> //; last by move=> j ji; rewrite nth_upd_ne.
by rewrite localtype_upd_type /= -nth_localtype kx ec.
Qed.

(* Into any type of localtype c' an allgather leads from localtype c.           *)
Lemma gather_into sigma i n c : wf_type H sigma ->
  weak1 (globaltype sigma) (wgather i n) c (localtype sigma) ->
  exists tau, [/\ typed H (allgather i) tau sigma, wf_type H tau,
    globaltype tau = globaltype sigma, localtype tau = c &
    forall j, j != i -> nth no_dim tau j = nth no_dim sigma j].
Proof.
move=> ws [st pn]; have [|x [tau [ty wt eg el e]]] := @slice_from sigma i n c ws.
  by split=> //; apply: (weak_step_rev st).
by exists tau; split=> //; apply: (typed_back ty).
Qed.

(* A weak step between two types, with an allpermute before and one behind.     *)
Lemma step_between tau sigma q : wf_type H tau -> wf_type H sigma ->
  globaltype tau = globaltype sigma ->
  weak1 (globaltype tau) q (localtype tau) (localtype sigma) ->
  exists t1 t2 p, [/\ sequence tau [:: (allpermute t1, t1); (p, t2); (allpermute sigma, sigma)] sigma,
    op_of p = weak_op q, localtype t1 = localtype tau & localtype t2 = localtype sigma].
Proof.
move=> wt ws eg /def_5_3 - /(_ pH)[t1 [t2 [p [g1 l1 l2 ty eq]]]].
have [_ w1 w2 eg2] := typed_wf ty.
exists t1, t2, p; split=> //.
  split; first by apply: permute_to.
  split=> //; split=> //; apply: permute_to => //; first by rewrite eg2 g1.
by case: p eq {ty} => [i|i x|i j|t] //=;
  [case: (dim_xs _) => //= ? ? [<-] | case=> <- | case: (dim_xs _) => //= ? ? [<-]].
Qed.

(* A sequence of equal localsizes.                                              *)
Lemma localsize_of tau sigma : localtype tau = localtype sigma -> localsize tau = localsize sigma.
Proof. by rewrite /localsize => ->. Qed.

Lemma prime_split q b e n m a : prime n -> prime m -> n = a * b * e -> m = q * b * e ->
  [\/ [/\ q = m, a = n, b = 1 & e = 1], [/\ q = 1, a = 1, b = m & e = 1]
    | [/\ q = 1, a = 1, b = 1 & e = m]].
Proof.
move=> pn pm en em; have dq : q %| m by rewrite em -mulnA dvdn_mulr.
have m1 := prime_gt1 pm; have n1 := prime_gt1 pn.
have bn : b * e %| n by rewrite en -mulnA dvdn_mull.
have be0 : 0 < b * e by apply: dvdn_gt0 bn; apply: prime_gt0.
case: (altP (q =P 1)) => q1; last first.
  have eqm : q = m by apply/eqP; rewrite -(dvdn_prime2 _ pm) //; move: dq => /(prime_nt_dvdP pm) -> //.
  have be1 : b * e = 1.
    move: em; rewrite eqm -mulnA -{1}[m]muln1 => /eqP; rewrite eqn_pmul2l ?prime_gt0 // => /eqP <-//.
  move/eqP: be1; rewrite muln_eq1 => /andP[/eqP b1 /eqP e1].
  by constructor 1; rewrite en b1 e1 !muln1.
rewrite q1 mul1n in em.
have enm : n = m by apply/eqP; rewrite eq_sym -(dvdn_prime2 pm pn) em.
have a1 : a = 1.
  move: en; rewrite -mulnA -em enm -{1}[m]mul1n => /eqP.
  by rewrite eqn_pmul2r ?prime_gt0 // => /eqP <-.
have db : b %| m by rewrite em dvdn_mulr.
case: (altP (b =P 1)) => b1; first by constructor 3; rewrite em b1 mul1n.
have bm : b = m by apply: (prime_nt_dvdP pm).
constructor 2; split=> //; move: em; rewrite bm -{1}[m]muln1 => /eqP.
by rewrite eqn_pmul2l ?prime_gt0 // => /eqP <-.
Qed.

Lemma weak_of_typed p tau sigma : typed H p tau sigma -> forall q, weak_of H tau p = Some q ->
  weak1 (globaltype tau) q (localtype tau) (localtype sigma).
Proof. by move=> ty q eq; apply/(def_5_3 pH); exists tau, sigma, p; split. Qed.

Lemma weak_of_gather i tau sigma : typed H (allgather i) tau sigma ->
  exists n, weak1 (globaltype tau) (wgather i n) (localtype tau) (localtype sigma).
Proof.
move=> ty; have := weak_of_typed ty; move: ty; rewrite /typed /apply; case: ifP => // _.
rewrite /t_allgather /=; case: ifP => // _; case: (dim_xs _) => // x xs _ /(_ _ erefl) st.
by exists (k x).
Qed.

Lemma weak_of_alltoall i j tau sigma : typed H (alltoall i j) tau sigma ->
  exists x xs, [/\ dim_xs (nth no_dim tau i) = x :: xs, x \in names H,
    dim_xs (nth no_dim sigma j) = x :: dim_xs (nth no_dim tau j)
    & weak1 (globaltype tau) (walltoall i j (k x)) (localtype tau) (localtype sigma)].
Proof.
move=> ty; have := weak_of_typed ty; move: ty; rewrite /typed /apply; case: ifP => // _.
rewrite /t_alltoall /=; case: ifP => // /and3P[lti ltj ij]; case: (dim_xs _) => // x xs.
case: ifP => // /andP[xH _] [es] /(_ _ erefl) st; exists x, xs; split=> //.
by rewrite -es nth_upd_eq // size_upd.
Qed.

Lemma weak_of_slice i x tau sigma : typed H (dynslice i x) tau sigma ->
  weak1 (globaltype tau) (wslice i (k x)) (localtype tau) (localtype sigma).
Proof. by move=> ty; apply: (weak_of_typed ty). Qed.

(* An optional step of factor 1 is none; of a prime factor it is a step.        *)
Lemma opt_none q c c' : factor q = 1 -> opt_step delta (globaltype [::]) prime q c c' -> c' = c.
Proof. by rewrite /opt_step => ->. Qed.
Lemma opt_some g q c c' : prime (factor q) -> opt_step delta g prime q c c' -> weak1 g q c c'.
Proof. by move=> pf; rewrite /opt_step; case: eqP pf => [->|]. Qed.

Lemma sequence_constant tau sigma w : sequence tau w sigma ->
  all is_flat (labels w) -> forall l, l \in sizes_of localsize tau w -> l = localsize sigma.
Proof.
elim: w tau => [|[p t] w IH] tau /=; first by move=> -> _ l; rewrite inE => /eqP.
case=> ty sq /andP[fp fw] l; rewrite inE => /predU1P[->|lin]; last exact: IH sq fw l lin.
rewrite -(IH t sq fw (localsize t) (mem_head _ _)).
case: p ty fp => [i|i x|i j|t'] // ty _; last by rewrite (localsize_of (typed_permute ty)).
by have [x [xs [_ _ _ [st _]]]] := weak_of_alltoall ty; exact: esym (weak_size st).
Qed.

(* ---- Lemma 4.6: the peak ----                                                *)
(* The paper's ->^3 is a sequence of exactly three steps; an allpermute from a  *)
(* type to itself fills up.                                                     *)
Theorem lemma_4_6 i j x s0 s1 s2 : typed H (allgather i) s0 s1 -> typed H (dynslice j x) s1 s2 ->
  exists w, [/\ sequence s0 w s2, size w = 3
    & height s0 w <= maxn (localsize s0) (localsize s2)].
Proof.
move=> ty1 ty2; have [_ w0 w1 g1] := typed_wf ty1; have [_ _ w2 g2] := typed_wf ty2.
have eg : globaltype s0 = globaltype s2 by rewrite g2 g1.
have [m st1] := weak_of_gather ty1; have st2 := weak_of_slice ty2; rewrite g1 in st2.
have pm := st1.2; have pn := st2.2; rewrite /= in pm pn; set n := k x in st2 pn.
have flat : localtype s0 = localtype s2 -> exists w, [/\ sequence s0 w s2, size w = 3
    & height s0 w <= maxn (localsize s0) (localsize s2)].
  move=> el; exists (nseq 3 (allpermute s2, s2)); split=> //=.
    by split; [|split; [|split]] => //; apply: permute_to.
  by rewrite /height_of /sizes_of /= (localsize_of el) maxn0 !maxnn.
have valley c a b : weak1 (globaltype s0) (wslice a n) (localtype s0) c ->
    weak1 (globaltype s0) (wgather b m) c (localtype s2) ->
    exists w, [/\ sequence s0 w s2, size w = 3 & height s0 w <= maxn (localsize s0) (localsize s2)].
  move=> sd sg; have [y [t1 [yd wt1 gt1 lt1 _]]] := slice_from w0 sd.
  have sg' := sg; rewrite eg in sg'; have [t2 [yg wt2 gt2 lt2 _]] := gather_into w2 sg'.
  exists [:: (dynslice a y, t1); (allpermute t2, t2); (allgather b, s2)]; split=> //=.
    by split=> //; split=> //; apply: permute_to; rewrite ?lt1 ?lt2 // gt1 gt2.
  have e1 : localsize t1 = prodn c by rewrite /localsize lt1.
  have e2 : localsize t2 = prodn c by rewrite /localsize lt2.
  have z := weak_size sd.1; rewrite /= -/(localsize s0) in z.
  have h : prodn c <= maxn (localsize s0) (localsize s2).
    by apply: leq_trans (leq_maxl _ _); rewrite z leq_pmulr // prime_gt0.
  by rewrite /height_of /sizes_of /= e1 e2 !geq_max leq_maxl leq_maxr !h.
have prime_dvd' := @prime_dvd.
case: (altP (i =P j)) => ij.
  subst j; have [e [m' [n' [ca [em en m'0 n'0 [o1 o2]]]]]] := peak_same_steps prime_dvd' st1 st2.
  have [] := @prime_split m' 1 e n m n' pn pm; rewrite ?muln1 //.
  - by case=> q1 a1 _ _; apply: (valley ca i i); apply: opt_some; rewrite /= ?q1 ?a1 // -?q1 -?a1.
  - by case=> _ _ e1 _; move: pm; rewrite -e1.
  case=> q1 a1 _ _; apply: flat; move: o1 o2; rewrite /opt_step /= a1 q1 /= => -> ->. by [].
have [a [b [q [ca [cb [en em [a0 b0 q0] [o1 o2 o3]]]]]]] := peak_diff_steps prime_dvd' ij st1 st2.
have [] := @prime_split q b 1 n m a pn pm; rewrite ?muln1 //.
- case=> q1 a1 b1 _; move: o2; rewrite /opt_step /= b1 /= => eb; rewrite eb in o3.
  by apply: (valley ca j i); apply: opt_some; rewrite /= ?q1 ?a1 // -?q1 -?a1.
- case=> q1 a1 b1 _; move: o1 o3; rewrite /opt_step /= a1 q1 /= => ea eb; subst ca.
  have st : weak1 (globaltype s0) (walltoall i j b) (localtype s0) (localtype s2).
    by rewrite eb; apply: opt_some; rewrite //= b1.
  have [t1 [t2 [p [sq op1 l1 l2]]]] := step_between w0 w2 eg st.
  have z := weak_size st.1; rewrite /= in z.
  exists [:: (allpermute t1, t1); (p, t2); (allpermute s2, s2)]; split=> //.
  rewrite /height_of /sizes_of /= (localsize_of l1) (localsize_of l2) /localsize z.
  by rewrite maxn0 !maxnn.
by case=> _ _ _ e1; move: pm; rewrite -e1.
Qed.

(* ---- Lemma 4.7: the rising edge ----                                         *)
Definition flat_steps w : Prop :=
  [/\ all is_flat (labels w), size w <= 2 & count (fun p => if p is Alltoall then true else false) (labels w) <= 1].

Theorem lemma_4_7_rising i p s0 s1 s2 : typed H (allgather i) s0 s1 -> typed H p s1 s2 ->
  is_flat (op_of p) ->
  exists w i' s, [/\ sequence s0 w s, typed H (allgather i') s s2 & flat_steps w].
Proof.
move=> ty1 ty2 fp; have [_ w0 w1 g1] := typed_wf ty1; have [_ _ w2 g2] := typed_wf ty2.
have eg : globaltype s0 = globaltype s2 by rewrite g2 g1.
have [m st1] := weak_of_gather ty1; have pm := st1.2; rewrite /= in pm.
have direct b : weak1 (globaltype s0) (wgather b m) (localtype s0) (localtype s2) ->
    exists w i' s, [/\ sequence s0 w s, typed H (allgather i') s s2 & flat_steps w].
  move=> sg; rewrite eg in sg; have [t [yg wt gt lt _]] := gather_into w2 sg.
  exists [:: (allpermute t, t)], b, t; split=> //; split=> //.
  by apply: permute_to => //; rewrite gt.
case: p ty2 fp => [?|? ?|kk l|t] ty2 _ //; last first.
  by apply: (direct i); rewrite (typed_permute ty2).
have [y [ys [ex yH fy st2]]] := weak_of_alltoall ty2; rewrite g1 in st2.
have pn := st2.2; rewrite /= in pn; set n := k y in st2 pn.
have [b [e [m' [c3 [c4 [c4' [[en em [b0 e0 m'0] ie] o1 [o2 o3] _]]]]]]] := rising_steps (@prime_dvd) st1 st2.
have kl : kk != l by case/walltoallP: st2.1 => _ _ _ _ [].
case: (altP (i =P l)) => il; last first.
  (* the alltoall leads elsewhere: P A G *)
  have e1 := ie il; rewrite e1 !muln1 in en em.
  move: o3; rewrite e1 /opt_step /= => ec4; subst c4.
  have st3 : weak1 (globaltype s0) (walltoall kk l n) (localtype s0) c3.
    by rewrite en; apply: opt_some; rewrite //= -en.
  have st4 : weak1 (globaltype s0) (wgather i m) c3 (localtype s2).
    by rewrite em; apply: opt_some; rewrite //= -em.
  rewrite eg in st4; have [t [yg wt gt lt et]] := gather_into w2 st4.
  have li : l != i by rewrite eq_sym.
  rewrite -(et l li) in fy; rewrite -lt in st3.
  (* the axis that came to l is still in front there, so the alltoall can be undone *)
  have [r [ty_r lr]] : exists r, typed H (alltoall l kk) t r /\ localtype r = localtype s0.
    have back_st := weak_step_rev st3.1; rewrite /= in back_st.
    case/walltoallP: back_st => _ _ _ dv [ltl ltk lk _].
    rewrite size_map in ltl; rewrite size_map in ltk.
    rewrite nth_localtype in dv; set d := nth no_dim t l; set d' := nth no_dim t kk in dv.
    exists (upd (upd t l (Dim (dim_c d * n) (dim_xs (nth no_dim s1 l)) (dim_s d))) kk
                (Dim (dim_c d' %/ n) (y :: dim_xs d') (dim_s d'))).
    have ty : typed H (alltoall l kk) t (upd (upd t l (Dim (dim_c d * n) (dim_xs (nth no_dim s1 l)) (dim_s d))) kk
                (Dim (dim_c d' %/ n) (y :: dim_xs d') (dim_s d'))).
      by rewrite /typed /apply wH wt /t_alltoall ltl ltk lk fy yH -/d' /= dv.
    split=> //; have [y' [ys' [ex' _ _ [st5 _]]]] := weak_of_alltoall ty.
    have ey : y' = y by move: ex'; rewrite fy => -[].
    by subst y'; apply: weak_step_det st5 _; rewrite gt -eg; apply: (weak_step_rev st3.1).
  have [_ _ wr gr] := typed_wf ty_r.
  exists [:: (allpermute r, r); (alltoall kk l, t)], i, t; split=> //; split=> //.
    by apply: permute_to; rewrite ?lr // gr gt eg.
  by split=> //; apply: (typed_back ty_r).
subst l; have ki : kk != i by [].
have [] := @prime_split m' 1 e n m b pn pm; rewrite ?muln1 //.
- (* different primes: A P G *)
  case=> q1 a1 _ e1; move: o3; rewrite e1 /opt_step /= => ec4; subst c4.
  have st3 : weak1 (globaltype s0) (walltoall kk i n) (localtype s0) c3.
    by rewrite -a1; apply: opt_some; rewrite //= a1.
  have st4 : weak1 (globaltype s0) (wgather i m) c3 (localtype s2).
    by rewrite -q1; apply: opt_some; rewrite //= q1.
  rewrite eg in st4; have [t [yg wt gt lt et]] := gather_into w2 st4.
  have ex0 : nth no_dim s0 kk = nth no_dim s1 kk.
    move: ty1; rewrite /typed /apply; case: ifP => // _; rewrite /t_allgather; case: ifP => // _.
    by case: (dim_xs _) => // z zs; case: ifP => // _ [<-]; rewrite nth_upd_ne.
  rewrite -ex0 in ex; case/walltoallP: (st3.1) => _ _ _ dv [ltk lti _ _].
  rewrite size_map in ltk; rewrite size_map in lti.
  rewrite nth_localtype in dv; set d := nth no_dim s0 kk in ex; set d' := nth no_dim s0 i in dv.
  set r := upd (upd s0 kk (Dim (dim_c d * n) ys (dim_s d))) i (Dim (dim_c d' %/ n) (y :: dim_xs d') (dim_s d')).
  have ty : typed H (alltoall kk i) s0 r.
    by rewrite /typed /apply wH w0 /t_alltoall ltk lti ki -/d ex yH -/d' /= dv.
  have [_ _ wr gr] := typed_wf ty.
  have lr : localtype r = c3.
    have [y' [ys' [ex' _ _ [st5 _]]]] := weak_of_alltoall ty.
    have ey : y' = y by move: ex'; rewrite -/d ex => -[].
    by subst y'; apply: weak_step_det st5 st3.1.
  exists [:: (alltoall kk i, r); (allpermute t, t)], i, t; split=> //; split=> //; split=> //.
  by apply: permute_to; rewrite ?lr // gr gt eg.
- by case=> _ _ e1 _; move: pm; rewrite -e1.
(* equal primes: P G *)
case=> q1 a1 _ ee; apply: (direct kk); move: o1 o2 o3; rewrite /opt_step /= a1 q1 /= => -> -> o3.
by move: o3; rewrite ee; case: eqP => // m1 _; move: pm; rewrite m1.
Qed.

(* ---- Lemma 4.7: the falling edge, which is a rising edge seen from its end   *)
Theorem lemma_4_7_falling p j x s0 s1 s2 : typed H p s0 s1 -> typed H (dynslice j x) s1 s2 ->
  is_flat (op_of p) ->
  exists w j' x' s, [/\ typed H (dynslice j' x') s0 s, sequence s w s2 & flat_steps w].
Proof.
move=> ty1 ty2 fp.
have fb : is_flat (op_of (back s0 p)) by rewrite back_opE; case: (op_of p) fp.
have [w [i' [s [sq ty [fw zw cw]]]]] := lemma_4_7_rising (typed_back ty2) (typed_back ty1) fb.
have [w' [sq' lw' _]] := sequence_rev localsize (@typed_back H) (fun t q => back_opE t q) sq.
exists w', i', (head 0 (dim_xs (nth no_dim s i'))), s; split=> //; first exact: (typed_back ty).
have fl : map back_op (labels w) = labels w.
  by elim: (labels w) fw => //= -[] l IH // /IH ->.
split; [by rewrite lw' fl all_rev| |by rewrite lw' fl count_rev].
by rewrite -(size_map (fun q => op_of q.1)) -/(labels w') lw' fl size_rev size_map.
Qed.

(* ---- Theorem 4.8 ----                                                        *)
(* The measure: the sum of 3^localsize over the states behind the steps.        *)
Definition measure w : nat := \sum_(q <- w) 3 ^ localsize q.2.

Lemma localsize_rises i s0 s1 : typed H (allgather i) s0 s1 -> localsize s0 < localsize s1.
Proof.
move=> ty; have [n [st pn]] := weak_of_gather ty; have /= e := weak_size st.
rewrite /localsize e -[X in X < _]muln1 ltn_pmul2l ?(prime_gt1 pn) //.
exact: (localtype_prod_pos (weak_step_from st)).
Qed.

Lemma localsize_falls i x s0 s1 : typed H (dynslice i x) s0 s1 -> localsize s1 < localsize s0.
Proof. by move=> ty; apply: localsize_rises (typed_back ty). Qed.

Lemma pow_two a b c : a < c -> b < c -> 3 ^ a + 3 ^ b < 3 ^ c.
Proof.
move=> ac bc; case: c ac bc => // c; rewrite !ltnS => ac bc.
have ha : 3 ^ a <= 3 ^ c by rewrite leq_exp2l.
have hb : 3 ^ b <= 3 ^ c by rewrite leq_exp2l.
by rewrite expnS; have : 0 < 3 ^ c by [rewrite expn_gt0]; lia.
Qed.

(* Every pattern of two steps that is no normal form has a replacement of       *)
(* smaller measure.                                                             *)
Lemma pattern_falls p q s0 s1 s2 : typed H p s0 s1 -> typed H q s1 s2 ->
  bad (op_of p) (op_of q) ->
  exists r, sequence s0 r s2 /\ measure r < 3 ^ localsize s1 + 3 ^ localsize s2.
Proof.
have flat_states s w t : sequence s w t -> all is_flat (labels w) -> forall u, u \in map snd w -> localsize u = localsize t.
  move=> sq fw u uw; apply: (sequence_constant sq fw); rewrite /sizes_of inE.
  by apply/orP; right; rewrite (map_comp localsize snd) map_f.
have flat_start s w t : sequence s w t -> all is_flat (labels w) -> localsize s = localsize t.
  by move=> sq fw; apply: (sequence_constant sq fw); apply: mem_head.
move=> ty1 ty2; case: p ty1 => [i|i x|i j|t] ty1; case: q ty2 => [i'|j' x'|i' j'|t'] ty2 //= _.
- have [w [sq zw hw]] := lemma_4_6 ty1 ty2; exists w; split=> //.
  have l1 : maxn (localsize s0) (localsize s2) < localsize s1.
    by rewrite gtn_max (localsize_rises ty1) (localsize_falls ty2).
  move: w zw sq hw => [|[p1 t1] [|[p2 t2] [|[p3 t3] [|? ?]]]] //= _ [_ [_ [_ e3]]].
  rewrite /height_of /sizes_of /= !geq_max => /and5P[_ h1 h2 _ _].
  rewrite /measure !big_cons big_nil /= e3 addn0 addnA ltn_add2r.
  by apply: pow_two; apply: leq_ltn_trans l1.
- have [w [a [s [sq ty [fw zw _]]]]] := lemma_4_7_rising ty1 ty2 isT.
  exists (rcons w (allgather a, s2)); split; first by rewrite -cats1; apply: sequence_join sq _.
  have l1 : localsize s0 < localsize s1 by apply: localsize_rises ty1.
  have ls : localsize s = localsize s0 by rewrite (flat_start _ _ _ sq fw).
  rewrite /measure -cats1 big_cat big_seq1 /= ltn_add2r; move: (flat_states _ _ _ sq fw) zw.
  case: (w) => [|[p1 t1] [|[p2 t2] [|? ?]]] //= fl _; rewrite ?big_cons ?big_nil ?addn0 /=.
  + by rewrite expn_gt0.
  + by rewrite ltn_exp2l // fl ?inE ?eqxx // ls.
  by apply: pow_two; rewrite fl ?inE ?eqxx ?orbT // ls.
- have [w [a [s [sq ty [fw zw _]]]]] := lemma_4_7_rising ty1 ty2 isT.
  exists (rcons w (allgather a, s2)); split; first by rewrite -cats1; apply: sequence_join sq _.
  have l1 : localsize s0 < localsize s1 by apply: localsize_rises ty1.
  have ls : localsize s = localsize s0 by rewrite (flat_start _ _ _ sq fw).
  rewrite /measure -cats1 big_cat big_seq1 /= ltn_add2r; move: (flat_states _ _ _ sq fw) zw.
  case: (w) => [|[p1 t1] [|[p2 t2] [|? ?]]] //= fl _; rewrite ?big_cons ?big_nil ?addn0 /=.
  + by rewrite expn_gt0.
  + by rewrite ltn_exp2l // fl ?inE ?eqxx // ls.
  by apply: pow_two; rewrite fl ?inE ?eqxx ?orbT // ls.
all: have [w [a [y [s [ty sq [fw zw _]]]]]] := lemma_4_7_falling ty1 ty2 isT.
all: exists ((dynslice a y, s) :: w); split=> //.
all: have l1 : localsize s2 < localsize s1 by apply: localsize_falls ty2.
all: have ls : localsize s = localsize s2 by apply: flat_start sq fw.
all: rewrite /measure big_cons ls; move: (flat_states _ _ _ sq fw) zw.
all: case: (w) => [|[p1 t1] [|[p2 t2] [|? ?]]] //= fl _; rewrite ?big_cons ?big_nil ?addn0 /=.
all: try have ft1 := fl t1 (mem_head _ _); try rewrite ft1.
all: try have ft2 : localsize t2 = localsize s2 by [apply: fl; rewrite !inE eqxx orbT].
all: try rewrite ft2.
all: rewrite ?addnA ?ltn_add2r; try exact: pow_two.
all: by [rewrite -[X in X < _]add0n ltn_add2r expn_gt0 | rewrite ltn_exp2l].
Qed.

Theorem theorem_4_8 s w t : sequence s w t ->
  exists w', sequence s w' t /\ normal_form (labels w').
Proof.
have [m] := ubnP (measure w); elim: m w => // m IH w lt sq.
case nf: (normal_form (labels w)); first by exists w.
have [u [a [a' [v [elab b]]]]] := not_normal (negbT nf).
have [u' [p [c1 [p' [c2 [v' [ew ea ea']]]]]]] : exists u' p c1 p' c2 v',
    [/\ w = u' ++ (p, c1) :: (p', c2) :: v', op_of p = a & op_of p' = a'].
  move: elab; elim: u (w) {sq nf lt IH} => [|y u IHu] [|[p c1] w'] //=.
    by case: w' => [|[p' c2] w'] //= [h1 h2 _]; exists [::], p, c1, p', c2, w'.
  by case=> _ /IHu[u' [d [b' [d' [e [v' [-> <- <-]]]]]]]; exists ((p, c1) :: u'), d, b', d', e, v'.
subst w a a'; have [s0 [squ /= [ty1 [ty2 sqv]]]] := sequence_split sq.
have [r [sqr mr]] := pattern_falls ty1 ty2 b.
apply: (IH (u' ++ r ++ v')).
  rewrite ltnS in lt; apply: leq_trans lt; rewrite /measure !big_cat !big_cons /=.
  rewrite -/(measure u') -/(measure r) -/(measure v'); lia.
by apply: sequence_join squ _; apply: sequence_join sqr sqv.
Qed.

(* Normal forms solve the memory-constrained problem (4).                       *)
Lemma typed_sized p tau sigma : typed H p tau sigma -> sized op_of localsize p tau sigma.
Proof.
rewrite /sized; case: p => [i|i x|i j|t] ty /=.
- by apply: ltnW; apply: localsize_rises ty.
- by apply: ltnW; apply: localsize_falls ty.
- by have [x [xs [_ _ _ [st _]]]] := weak_of_alltoall ty; apply: (weak_size st).
by apply: localsize_of; apply: typed_permute ty.
Qed.

Corollary theorem_4_8_constrained s w t : sequence s w t ->
  exists w', [/\ sequence s w' t, normal_form (labels w') & memory_constrained (sizes_of localsize s w')].
Proof.
case/theorem_4_8 => w' [sq nf]; exists w'; split=> //.
exact: (normal_form_constrained typed_sized sq nf).
Qed.

End NormalForm.
