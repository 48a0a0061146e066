(* Matching by counting: where two functions take each value equally often,     *)
(* one of them is the other after a bijection.  Lemma 5.1, the choice of device *)
(* maps, of digits of a dynslice, and S4 all rest on this.                      *)
From mathcomp Require Import all_ssreflect zify.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Lemma count_map_enum (D : finType) (T : eqType) (f : D -> T) (P : pred T) :
  count P (map f (enum D)) = #|[pred d | P (f d)]|.
Proof. by rewrite count_map cardE -size_filter enumT. Qed.

Lemma count_enum (D : finType) (P : pred D) : count P (enum D) = #|[pred d | P d]|.
Proof. by rewrite -(map_id (enum D)) count_map_enum. Qed.

Section Match.
Variables (D : finType) (T K : eqType) (F : D -> K) (G : T -> K).

Lemma match_perm (t0 : T) (L : seq T) : perm_eq (map F (enum D)) (map G L) ->
  exists p : {ffun D -> T}, (forall d, G (p d) = F d) /\ perm_eq (map p (enum D)) L.
Proof.
case/(perm_iotaP (G t0)) => Is pIs eF; rewrite size_map in pIs.
have sz : size Is = size (enum D) by rewrite -(size_map F) eF size_map.
pose p := [ffun d => nth t0 L (nth 0 Is (index d (enum D)))].
have ltI : forall d, index d (enum D) < size Is by move=> d; rewrite sz index_mem mem_enum.
have ltL : forall d, nth 0 Is (index d (enum D)) < size L.
  move=> d; have := mem_nth 0 (ltI d); by rewrite (perm_mem pIs) mem_iota.
exists p; split=> [d|].
  rewrite ffunE; have := congr1 (fun s => nth (G t0) s (index d (enum D))) eF.
  rewrite (nth_map d) ?index_mem ?mem_enum // nth_index ?mem_enum // => ->.
  by rewrite (nth_map 0 _ _ (ltI d)) (nth_map t0 _ _ (ltL d)).
have -> : map p (enum D) = map (nth t0 L) Is.
  have e1 : size (map p (enum D)) = size (enum D) by exact: size_map.
  have e2 : size (map (nth t0 L) Is) = size Is by exact: size_map.
  apply: (@eq_from_nth _ t0) => [|k]; rewrite e1 ?e2 // => lt.
  have [d0 ->] : exists d, k = index d (enum D).
    have d : D by move: lt; case: (enum D).
    by exists (nth d (enum D) k); rewrite index_uniq ?enum_uniq.
  by rewrite (nth_map d0) ?index_mem ?mem_enum // nth_index ?mem_enum // ffunE (nth_map 0).
rewrite -{2}[L](mkseq_nth t0); exact: perm_map.
Qed.

Lemma match_count (t0 : T) (L : seq T) :
  (forall k, #|[pred d | F d == k]| = count (fun t => G t == k) L) ->
  exists p : {ffun D -> T}, [/\ forall d, G (p d) = F d, forall d, p d \in L
    & forall t, #|[pred d | p d == t]| = count_mem t L].
Proof.
move=> eq; have [] := @match_perm t0 L.
  rewrite /perm_eq; apply/allP => k _; apply/eqP => /=.
  by rewrite count_map_enum count_map eq.
move=> p [gp pp]; exists p; split=> // [d|t].
  by rewrite -(perm_mem pp) map_f // mem_enum.
by rewrite -(permP pp) count_map_enum.
Qed.

(* The same with every member of L taken h times.                               *)
Lemma match_times (t0 : T) (L : seq T) h :
  (forall k, #|[pred d | F d == k]| = h * count (fun t => G t == k) L) ->
  exists p : {ffun D -> T}, [/\ forall d, G (p d) = F d, forall d, p d \in L
    & forall t, #|[pred d | p d == t]| = h * count_mem t L].
Proof.
have cf (P : pred T) : count P (flatten (nseq h L)) = h * count P L.
  by rewrite count_flatten map_nseq sumn_nseq mulnC.
move=> eq; have [|p [gp pL cp]] := @match_count t0 (flatten (nseq h L)).
  by move=> k; rewrite cf eq.
exists p; split=> // [d|t]; last by rewrite cp cf.
have := pL d; elim: (h) => //= n IH; by rewrite mem_cat => /orP[].
Qed.

End Match.

(* Equal fibre counts give a bijection.                                         *)
Lemma match_bijection (A B : finType) (K : eqType) (F : A -> K) (G : B -> K) :
  (forall k, #|[pred a | F a == k]| = #|[pred b | G b == k]|) ->
  exists p : {ffun A -> B}, bijective p /\ forall a, G (p a) = F a.
Proof.
move=> eq; case: (pickP (mem B)) => [b0 _|noB]; last first.
  have noA : forall a : A, False.
    move=> a; have := eq (F a); rewrite [RHS]eq_card0 => [|b]; last by have := noB b.
    by move/card0_eq/(_ a); rewrite !inE eqxx.
  exists [ffun a => match noA a with end]; split; last by move=> a; case: (noA a).
  apply: inj_card_bij; first by move=> a; case: (noA a).
  by rewrite (eq_card0 (_ : B =i pred0)).
have [|p [gp _ cp]] := @match_count A B K F G b0 (enum B).
  by move=> k; rewrite eq count_enum.
exists p; split=> //.
have one b : #|[pred a | p a == b]| = 1 by rewrite cp count_uniq_mem ?enum_uniq // mem_enum.
apply: inj_card_bij => [a a' e|].
  have /card_le1_eqP := eq_leq (one (p a)); by apply; rewrite !inE // e.
rewrite -!sum1_card (partition_big p predT) //= leq_sum // => b _.
by rewrite sum1_card (eq_card (_ : _ =i [pred a | p a == b])) // one.
Qed.

(* And conversely.                                                              *)
Lemma bijection_fibres (A B : finType) (K : eqType) (F : A -> K) (G : B -> K) (p : A -> B) :
  bijective p -> (forall a, G (p a) = F a) ->
  forall k, #|[pred a | F a == k]| = #|[pred b | G b == k]|.
Proof.
move=> bp gp k; rewrite -(on_card_preimset (f := p) (R := [pred b | G b == k])); last first.
  exact: onW_bij.
by apply: eq_card => a; rewrite !inE gp.
Qed.
