(* Alltoalls along several dimensions: they are made of digits of prime size.   *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig06_syntax def5_weak vectors along.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Implicit Types (ds : seq moved) (b t : seq nat).

Lemma off_cons i j n ds k : off_size ((i, j, n) :: ds) k = (if i == k then n else 1) * off_size ds k.
Proof. by rewrite /off_size /=; case: ifP => _; rewrite ?mul1n. Qed.
Lemma onto_cons i j n ds k : onto_size ((i, j, n) :: ds) k = (if j == k then n else 1) * onto_size ds k.
Proof. by rewrite /onto_size /=; case: ifP => _; rewrite ?mul1n. Qed.

Lemma off_cat ds ds' k : off_size (ds ++ ds') k = off_size ds k * off_size ds' k.
Proof. by rewrite /off_size filter_cat map_cat prodn_cat. Qed.
Lemma onto_cat ds ds' k : onto_size (ds ++ ds') k = onto_size ds k * onto_size ds' k.
Proof. by rewrite /onto_size filter_cat map_cat prodn_cat. Qed.

Lemma off_pos ds k : all (fun q => 0 < q.2) ds -> 0 < off_size ds k.
Proof. by elim: ds => // -[[i j] n] ds IH /= /andP[n0 /IH]; rewrite off_cons; case: ifP; rewrite ?mul1n // muln_gt0 n0. Qed.
Lemma onto_pos ds k : all (fun q => 0 < q.2) ds -> 0 < onto_size ds k.
Proof. by elim: ds => // -[[i j] n] ds IH /= /andP[n0 /IH]; rewrite onto_cons; case: ifP; rewrite ?mul1n // muln_gt0 n0. Qed.

(* What comes onto dimension k, seen by itself.                                 *)
Fixpoint onto_number ds b (k x : nat) : nat :=
  if ds is (i, j, n) :: ds' then
    onto_number ds' b k (if j == k then x * n + nth 0 b i %/ off_size ds' i %% n else x)
  else x.

Lemma size_digits_onto ds b t : size (digits_onto ds b t) = size t.
Proof. by elim: ds t => // -[[i j] n] ds IH t /=; rewrite IH size_upd. Qed.

Lemma nth_digits_onto ds b t k : k < size t -> nth 0 (digits_onto ds b t) k = onto_number ds b k (nth 0 t k).
Proof.
elim: ds t => // -[[i j] n] ds IH t kt /=; rewrite IH ?size_upd // nth_upd.
by rewrite eq_sym; case: eqP => //= ->; rewrite kt.
Qed.

Lemma size_alltoall_along ds t : size (alltoall_along ds t) = size t.
Proof. by rewrite size_digits_onto size_map size_iota. Qed.

Lemma nth_alltoall_along ds t k : k < size t ->
  nth 0 (alltoall_along ds t) k = onto_number ds t k (nth 0 t k %/ off_size ds k).
Proof. by move=> kt; rewrite nth_digits_onto ?size_map ?size_iota // (nth_map 0) ?size_iota // nth_iota. Qed.

(* Digits that do the same.                                                     *)
Definition alike ds ds' : Prop :=
  [/\ forall k, off_size ds k = off_size ds' k, forall k, onto_size ds k = onto_size ds' k
    & forall b k x, onto_number ds b k x = onto_number ds' b k x].

Lemma alike_cons q ds ds' : alike ds ds' -> alike (q :: ds) (q :: ds').
Proof.
case: q => -[i j] n [eo ei en]; split=> [k|k|b k x]; rewrite ?off_cons ?onto_cons ?eo ?ei //=.
by rewrite eo en.
Qed.

Lemma alike_trans ds ds' ds'' : alike ds ds' -> alike ds' ds'' -> alike ds ds''.
Proof. by move=> [a1 b1 c1] [a2 b2 c2]; split=> *; rewrite ?a1 ?b1 ?c1. Qed.

Lemma alike_tile ds ds' t : alike ds ds' -> alltoall_along ds t = alltoall_along ds' t.
Proof.
case=> eo _ en; apply: (@eq_nth _ 0) => [|k]; rewrite !size_alltoall_along // => kt.
by rewrite !nth_alltoall_along // eo en.
Qed.

(* A digit of size n m is one of n and one of m; one of size 1 is none.         *)
Lemma alike_split i j n m ds : alike ((i, j, n * m) :: ds) ((i, j, n) :: (i, j, m) :: ds).
Proof.
split=> [k|k|b k x]; rewrite ?off_cons ?onto_cons; first by case: ifP; rewrite ?mul1n // mulnA.
  by case: ifP; rewrite ?mul1n // mulnA.
rewrite /= off_cons eqxx; case: eqP => // _; congr onto_number.
set a := nth 0 b i; set w := off_size ds i.
rewrite (mulnC m w) divnMA mulnDl -mulnA -addnA; congr (_ + _); set c := a %/ w.
by rewrite {1}(divn_eq (c %% (n * m)) m) -modn_divl modn_dvdm ?dvdn_mull.
Qed.

Lemma alike_one i j ds : alike ((i, j, 1) :: ds) ds.
Proof.
split=> [k|k|b k x]; rewrite ?off_cons ?onto_cons ?if_same ?mul1n //=.
by rewrite modn1 addn0 muln1 if_same.
Qed.

Lemma alike_refl ds : alike ds ds.
Proof. by split. Qed.

(* So every alltoall is one of digits of prime size.                            *)
Lemma prime_digits r ds : all (fun q : moved => [&& q.1.1 < r, q.1.2 < r & 0 < q.2]) ds ->
  exists ds', alike ds ds' /\ all (fun q : moved => [&& q.1.1 < r, q.1.2 < r & prime q.2]) ds'.
Proof.
elim: ds => [|[[i j] n] ds IH] /=; first by exists [::]; split=> //; exact: alike_refl.
case/andP=> /and3P[ir jr n0] /IH[ds' [al pr]].
have [m] := ubnP n; elim: m n n0 => // m IHm n n0 nm.
have [n1|n1] := leqP n 1.
  have -> : n = 1 by lia.
  by exists ds'; split=> //; apply: alike_trans al; apply: alike_one.
have pn := pdiv_prime n1; have [q eq] := dvdnP (pdiv_dvd n).
have q0 : 0 < q by case: (q) eq => // e; rewrite e in n1.
have [|ds'' [al' pr']] := IHm q q0; first by have := prime_gt1 pn; nia.
exists ((i, j, pdiv n) :: ds''); split; last by rewrite /= ir jr pn.
have e : n = pdiv n * q by rewrite mulnC.
apply: alike_trans (alike_cons _ al'); rewrite {1}e; exact: alike_split.
Qed.

(* All that leaves enters.                                                      *)
Lemma prodn_iota_upd f (r i n : nat) : i < r ->
  prodn [seq (if i == k then n else 1) * f k | k <- iota 0 r] = n * prodn [seq f k | k <- iota 0 r].
Proof.
move=> ir; have h m k (lt : i < m + k) (le : m <= i) :
    prodn [seq (if i == x then n else 1) * f x | x <- iota m k] = n * prodn [seq f x | x <- iota m k].
  elim: k m lt le => [|k IH] m lt le /=; first by rewrite addn0 in lt; lia.
  case: (i =P m) => [e|ne]; last by rewrite mul1n IH 1?mulnCA //; lia.
  rewrite mulnA; congr (_ * _); subst m; congr prodn; apply/eq_in_map => x.
  by rewrite mem_iota => /andP[lx _]; case: eqP => [ex|]; [lia|rewrite mul1n].
exact: h.
Qed.

Lemma off_onto r ds : all (fun q : moved => [&& q.1.1 < r, q.1.2 < r & 0 < q.2]) ds ->
  prodn [seq off_size ds k | k <- iota 0 r] = prodn [seq onto_size ds k | k <- iota 0 r].
Proof.
elim: ds => [|[[i j] n] ds IH] //= /andP[/and3P[ir jr _] /IH e].
have E (f h : nat -> nat) : f =1 h -> [seq f k | k <- iota 0 r] = [seq h k | k <- iota 0 r] by move=> fh; apply: eq_map.
rewrite (E _ _ (off_cons i j n ds)) (E _ _ (onto_cons i j n ds)).
by rewrite !prodn_iota_upd // e.
Qed.
