(* Points of |H| and the offsets of a list of axes.                             *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig06_syntax fig07_base_offsets vectors fibres.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Offsets.
Variable H : mesh.
Local Notation k := (axis_size H).
Local Notation offset := (offset H).
Implicit Types (xs ys : seq name) (i j : name -> nat).

(* prod k over the axes xs                                                      *)
Definition size_of_axes xs : nat := prodn (map k xs).

Lemma size_of_axes_cons x xs : size_of_axes (x :: xs) = k x * size_of_axes xs.
Proof. by []. Qed.
Lemma size_of_axes_cat xs ys : size_of_axes (xs ++ ys) = size_of_axes xs * size_of_axes ys.
Proof. by rewrite /size_of_axes map_cat prodn_cat. Qed.
Lemma size_of_axes_perm xs ys : perm_eq xs ys -> size_of_axes xs = size_of_axes ys.
Proof. by move=> p; apply: prodn_perm; apply: perm_map. Qed.

Lemma offsetM c d xs i : offset (c * d) xs i = c * offset d xs i.
Proof. by elim: xs d => [|x xs IH] d /=; rewrite ?muln0 // mulnDr mulnA -(mulnA c d (k x)) IH. Qed.

Lemma offset1 c xs i : offset c xs i = c * offset 1 xs i.
Proof. by rewrite -offsetM muln1. Qed.

Lemma offset_cons x xs i : offset 1 (x :: xs) i = i x + k x * offset 1 xs i.
Proof. by rewrite /= !mul1n (offset1 (k x)). Qed.

Lemma offset_cat c xs ys i :
  offset c (xs ++ ys) i = offset c xs i + offset (c * size_of_axes xs) ys i.
Proof.
elim: xs c => [|x xs IH] c /=; first by rewrite muln1.
by rewrite IH addnA size_of_axes_cons mulnA.
Qed.

Lemma offset_eq c xs i j : {in xs, i =1 j} -> offset c xs i = offset c xs j.
Proof.
elim: xs c => //= x xs IH c e; rewrite e ?mem_head // (IH (c * k x)) // => y yx.
by rewrite e // inE yx orbT.
Qed.

(* Coordinates below the sizes of their axes.                                   *)
Definition bounded xs i : Prop := forall x, x \in xs -> i x < k x.

Lemma bounded_cons x xs i : bounded (x :: xs) i <-> i x < k x /\ bounded xs i.
Proof.
split=> [b|[b1 b2] y]; first by split=> [|y yx]; apply: b; rewrite inE ?eqxx ?yx ?orbT.
by rewrite inE => /predU1P[->|/b2].
Qed.

Lemma offset_lt xs i : bounded xs i -> offset 1 xs i < size_of_axes xs.
Proof.
elim: xs => // x xs IH /bounded_cons[lt /IH].
by rewrite offset_cons size_of_axes_cons; move: lt; nia.
Qed.

Lemma offset_inj xs i j : bounded xs i -> bounded xs j ->
  offset 1 xs i = offset 1 xs j -> {in xs, i =1 j}.
Proof.
elim: xs => // x xs IH /bounded_cons[li bi] /bounded_cons[lj bj]; rewrite !offset_cons => e.
have k0 : 0 < k x by apply: leq_ltn_trans li.
have ex : i x = j x.
  have := congr1 (modn^~ (k x)) e; rewrite !(addnC (_ x)) !(mulnC (k x)) !modnMDl.
  by rewrite !modn_small.
have eo : offset 1 xs i = offset 1 xs j.
  by move/eqP: e; rewrite ex eqn_add2l eqn_pmul2l // => /eqP.
by move=> y; rewrite inE => /predU1P[->//|]; apply: IH.
Qed.

Lemma offset_surj xs v : uniq xs -> v < size_of_axes xs ->
  exists i, bounded xs i /\ offset 1 xs i = v.
Proof.
elim: xs v => [|x xs IH] v /=.
  by rewrite /size_of_axes /= ltnS leqn0 => _ /eqP->; exists (fun=> 0).
case/andP=> nx ux; rewrite size_of_axes_cons => lt.
have k0 : 0 < k x by case: (k x) lt.
have [|i [bi ei]] := IH (v %/ k x) ux; first by rewrite ltn_divLR // mulnC.
exists (fun y => if y == x then v %% k x else i y); split.
  apply/bounded_cons; rewrite eqxx ltn_mod; split=> // y yx.
  by case: eqP => [->|_]; [rewrite ltn_mod | apply: bi].
rewrite mul1n eqxx (offset1 (1 * k x)) mul1n (@offset_eq 1 xs _ i) => [|y yx].
  by rewrite ei addnC mulnC -divn_eq.
by case: eqP => // e; rewrite -e yx in nx.
Qed.

(* ---- points ----                                                             *)
Hypothesis uH : uniq (names H).

Lemma size_names : size (names H) = size H.
Proof. exact: size_map. Qed.
Lemma size_sizes : size (unzip2 H) = size H.
Proof. exact: size_map. Qed.

Lemma axis_size_nth (a : nat) : a < size H -> k (nth 0 (names H) a) = nth 1 (unzip2 H) a.
Proof. by move=> lt; rewrite /axis_size index_uniq // size_names. Qed.

Lemma coordinate_nth (p : point H) (a : 'I_(size H)) : coordinate p (nth 0 (names H) a) = p a.
Proof.
rewrite /coordinate index_uniq ?size_names // (insubT (fun n => n < size H) (ltn_ord a)).
by rewrite (_ : Sub _ _ = a) //; apply: val_inj.
Qed.

Lemma names_nth x : x \in names H -> exists a : 'I_(size H), x = nth 0 (names H) a.
Proof.
move=> xH; have lt : index x (names H) < size H by rewrite -size_names index_mem.
by exists (Ordinal lt); rewrite nth_index.
Qed.

Lemma coordinate_lt (p : point H) x : x \in names H -> coordinate p x < k x.
Proof. by case/names_nth=> a ->; rewrite coordinate_nth axis_size_nth. Qed.

Lemma bounded_point (p : point H) xs : {subset xs <= names H} -> bounded xs (coordinate p).
Proof. by move=> sub x /sub; apply: coordinate_lt. Qed.

Lemma point_of (i : name -> nat) : bounded (names H) i ->
  exists p : point H, {in names H, coordinate p =1 i}.
Proof.
move=> b; have lt (a : 'I_(size H)) : i (nth 0 (names H) a) < nth 1 (unzip2 H) a.
  by rewrite -axis_size_nth //; apply: b; rewrite mem_nth // size_names.
exists [ffun a => Ordinal (lt a)] => x /names_nth[a ->].
by rewrite coordinate_nth ffunE.
Qed.

Lemma point_ext (p q : point H) : {in names H, coordinate p =1 coordinate q} -> p = q.
Proof.
move=> e; apply/ffunP => a; apply: val_inj => /=; rewrite -!coordinate_nth; apply: e.
by rewrite mem_nth // size_names.
Qed.

Lemma prod_axes (G : name -> nat) :
  \prod_(a < size H) G (nth 0 (names H) a) = \prod_(x <- names H) G x.
Proof. by rewrite (big_nth 0) size_names big_mkord. Qed.

Lemma device_count_axes : device_count H = \prod_(x <- names H) k x.
Proof.
rewrite -prod_axes /device_count prodn_big (big_nth 1) size_sizes big_mkord.
by apply: eq_bigr => a _; rewrite axis_size_nth.
Qed.

Lemma device_count_size : device_count H = size_of_axes (names H).
Proof. by rewrite device_count_axes /size_of_axes prodn_big big_map. Qed.

(* As many points have given coordinates on xs as there are off xs.             *)
Lemma card_points xs (i : name -> nat) : uniq xs -> {subset xs <= names H} -> bounded xs i ->
  #|[pred p : point H | all (fun x => coordinate p x == i x) xs]| * size_of_axes xs =
  device_count H.
Proof.
move=> ux sub b.
pose F (a : 'I_(size H)) : pred 'I_(nth 1 (unzip2 H) a) :=
  fun v => (nth 0 (names H) a \in xs) ==> (v == i (nth 0 (names H) a) :> nat).
have <- : #|(family F : simpl_pred (point H))| = #|[pred p : point H | all (fun x => coordinate p x == i x) xs]|.
  apply: eq_card => p; rewrite !inE; apply/familyP/allP => [e x xx|e a]; last first.
    by rewrite /F; apply/implyP => ax; rewrite -coordinate_nth; apply: e.
  have [a ea] := names_nth (sub _ xx); have := e a; rewrite /in_mem /= /F -ea xx /=.
  by rewrite ea coordinate_nth.
rewrite card_family (_ : foldr _ _ _ = \prod_(a < size H) #|F a|); last first.
  by rewrite -[LHS]/(prodn _) prodn_big big_map big_enum.
pose G x := if x \in xs then 1 else k x.
rewrite (eq_bigr (fun a : 'I_(size H) => G (nth 0 (names H) a))) => [|a _]; last first.
  rewrite /G /F; case: ifP => ax /=.
    have lt : i (nth 0 (names H) a) < nth 1 (unzip2 H) a by rewrite -axis_size_nth //; apply: b.
    rewrite (eq_card (_ : _ =i pred1 (Ordinal lt))) ?card1 // => v; by rewrite !inE.
  by rewrite (eq_card (_ : _ =i predT)) // card_ord axis_size_nth.
rewrite prod_axes device_count_axes.
have pe : perm_eq [seq x <- names H | x \in xs] xs.
  apply: uniq_perm => //; first exact: filter_uniq.
  by move=> x; rewrite mem_filter; case xx: (x \in xs) => //=; apply: sub.
rewrite -(size_of_axes_perm pe) /size_of_axes prodn_big big_map big_filter.
rewrite [X in _ * X]big_mkcond -big_split; apply: eq_bigr => x _.
by rewrite /= /G; case: ifP => _; rewrite ?mul1n ?muln1.
Qed.

Lemma card_point : #|{: point H}| = device_count H.
Proof.
rewrite -(@card_points [::] (fun=> 0)) // muln1; by apply: eq_card => p; rewrite !inE.
Qed.

End Offsets.
