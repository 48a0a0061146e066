(* Facts about lists of numbers: replacing an entry, products, divisibility.    *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig06_syntax def5_weak.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Upd.
Variable T : Type.
Implicit Types (s : seq T) (v : T) (i j : nat).

Lemma size_upd s i v : size (upd s i v) = size s.
Proof. by elim: s i => [|w s IH] [|i] //=; rewrite IH. Qed.

Lemma nth_upd x0 s i v k :
  nth x0 (upd s i v) k = if (k == i) && (i < size s) then v else nth x0 s k.
Proof.
elim: s i k => [|w s IH] [|i] [|k] //=; rewrite ?andbF ?nth_nil //.
by rewrite IH eqSS ltnS.
Qed.

Lemma nth_upd_eq x0 s i v : i < size s -> nth x0 (upd s i v) i = v.
Proof. by move=> lt; rewrite nth_upd eqxx lt. Qed.

Lemma nth_upd_ne x0 s i v k : k != i -> nth x0 (upd s i v) k = nth x0 s k.
Proof. by move/negPf=> ne; rewrite nth_upd ne. Qed.

Lemma upd_upd s i v w : upd (upd s i v) i w = upd s i w.
Proof. by elim: s i => [|u s IH] [|i] //=; rewrite IH. Qed.

Lemma updC s i j v w : i != j -> upd (upd s i v) j w = upd (upd s j w) i v.
Proof. by elim: s i j => [|u s IH] [|i] [|j] //= ne; rewrite IH. Qed.

Lemma upd_nth x0 s i : upd s i (nth x0 s i) = s.
Proof. by elim: s i => [|u s IH] [|i] //=; rewrite IH. Qed.

Lemma upd_default s i v : size s <= i -> upd s i v = s.
Proof. by elim: s i => [|u s IH] [|i] //= le; rewrite IH. Qed.

Lemma upd_cat s1 s2 v : upd (s1 ++ s2) (size s1) v = s1 ++ upd s2 0 v.
Proof. by elim: s1 => [|u s1 IH] //=; rewrite IH. Qed.

End Upd.

Lemma map_upd (T U : Type) (h : T -> U) s i v : map h (upd s i v) = upd (map h s) i (h v).
Proof. by elim: s i => [|u s IH] [|i] //=; rewrite IH. Qed.

(* Two lists of one length are equal when their entries are.                    *)
Lemma eq_nth (T : Type) (x0 : T) (s t : seq T) :
  size s = size t -> (forall k, k < size s -> nth x0 s k = nth x0 t k) -> s = t.
Proof. by move=> es en; apply: (@eq_from_nth _ x0) => // k lt; apply: en. Qed.

(* ---- products ----                                                           *)
Lemma prodn_big s : prodn s = \prod_(a <- s) a.
Proof. by rewrite -foldrE. Qed.

Lemma prodn_cons a s : prodn (a :: s) = a * prodn s.
Proof. by []. Qed.

Lemma prodn_cat s t : prodn (s ++ t) = prodn s * prodn t.
Proof. by elim: s => [|a s IH] /=; rewrite ?mul1n // IH mulnA. Qed.

Lemma prodn_perm s t : perm_eq s t -> prodn s = prodn t.
Proof. by move=> p; rewrite !prodn_big; apply: perm_big. Qed.

Lemma prodn_gt0 s : all (leq 1) s -> 0 < prodn s.
Proof. by elim: s => //= a s IH /andP[a0 /IH]; rewrite muln_gt0 a0. Qed.

Lemma prodn_upd s i v : i < size s -> prodn (upd s i v) * nth 0 s i = prodn s * v.
Proof.
elim: s i => [|a s IH] [|i] //= lt; first by lia.
by rewrite -!mulnA IH.
Qed.

Lemma prodn_pos s : all (leq 1) s = (0 < prodn s).
Proof. by elim: s => //= a s ->; rewrite muln_gt0. Qed.

Lemma prodn_nth_pos s i : 0 < prodn s -> i < size s -> 0 < nth 0 s i.
Proof. by rewrite -prodn_pos => /all_nthP p /(p 0). Qed.

Lemma prodn_dvd (s : seq nat) i : i < size s -> nth 0 s i %| prodn s.
Proof.
elim: s i => [|a s IH] [|i] //= lt; first exact: dvdn_mulr.
by apply: dvdn_mull; apply: IH.
Qed.

(* ---- entry by entry ----                                                     *)
Lemma all2P (r : rel nat) (s t : seq nat) :
  reflect (size s = size t /\ forall k, k < size s -> r (nth 0 s k) (nth 0 t k)) (all2 r s t).
Proof.
elim: s t => [|a s IH] [|b t] /=; try by constructor; case.
  by constructor.
apply: (iffP andP) => [[rab /IH[es rst]]|[[es] rst]].
  by split; [rewrite es | case].
by split; [exact: (rst 0) | apply/IH; split=> // k; apply: (rst k.+1)].
Qed.

Lemma dividesP (t s : seq nat) :
  reflect (size t = size s /\ forall k, nth 0 t k %| nth 0 s k) (divides t s).
Proof.
apply: (iffP (all2P _ _ _)) => -[es d]; split=> // k.
by case: (ltnP k (size t)) => [/d|le] //; rewrite !nth_default // -es.
Qed.

Lemma size_divides t s : divides t s -> size t = size s.
Proof. by case/dividesP. Qed.

Lemma divides_refl s : divides s s.
Proof. by apply/dividesP; split. Qed.

Lemma divides_trans t s u : divides t s -> divides s u -> divides t u.
Proof.
move=> /dividesP[e1 d1] /dividesP[e2 d2]; apply/dividesP; split; first by rewrite e1.
by move=> k; apply: dvdn_trans (d1 k) (d2 k).
Qed.

Lemma divides_prodn t s : divides t s -> prodn t %| prodn s.
Proof.
elim: t s => [|a t IH] [|b s] //= /andP[ab ts].
by apply: dvdn_mul => //; apply: IH.
Qed.

(* ---- the numbers of tiles ----                                               *)
Lemma size_tile_counts g c : size c = size g -> size (tile_counts g c) = size g.
Proof. by move=> e; rewrite size_map size_zip e minnn. Qed.

Lemma nth_tile_counts g c k :
  size c = size g -> nth 0 (tile_counts g c) k = nth 0 g k %/ nth 0 c k.
Proof.
move=> e; case: (ltnP k (size g)) => lt; last first.
  by rewrite !nth_default ?size_tile_counts ?e.
by rewrite (nth_map (0, 0)) ?size_zip ?e ?minnn // nth_zip.
Qed.

Lemma tile_counts_upd g c i v :
  size c = size g -> tile_counts g (upd c i v) = upd (tile_counts g c) i (nth 0 g i %/ v).
Proof.
move=> e; have eu : size (upd c i v) = size g by rewrite size_upd.
apply: (@eq_nth _ 0) => [|k lt]; first by rewrite size_upd !size_tile_counts.
rewrite nth_tile_counts // !nth_upd nth_tile_counts // size_tile_counts // e.
by case: ifP => // /andP[/eqP-> _].
Qed.

Lemma tile_counts_mul g c : divides c g -> prodn (tile_counts g c) * prodn c = prodn g.
Proof.
elim: g c => [|n g IH] [|a c] //= /andP[an cg].
by rewrite -/(tile_counts g c) mulnACA IH // divnK.
Qed.
