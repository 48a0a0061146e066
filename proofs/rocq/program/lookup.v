(* Lists as trees, in which the entry of a number is found fast, and tests of   *)
(* all indices of a tile, or of one in a block, that make no list of them.      *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation program meaning.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* ---- trees ----                                                              *)
Section Tree.
Variables (V : Type) (none : V).

(* Entry 0 stands at the top, odd numbers on the left, even ones on the right.  *)
Inductive tree := Leaf | Node of V & tree & tree.

Fixpoint blank (h : nat) : tree := if h is h'.+1 then let t := blank h' in Node none t t else Leaf.

Fixpoint get (t : tree) (i : nat) : V :=
  if t is Node v l r then
    if i is j.+1 then if odd i then get l j./2 else get r j./2 else v
  else none.

Fixpoint set (t : tree) (i : nat) (w : V) : tree :=
  if t is Node v l r then
    if i is j.+1 then if odd i then Node v (set l j./2 w) r else Node v l (set r j./2 w) else Node w l r
  else Leaf.

Fixpoint full (h : nat) (t : tree) : bool :=
  match h, t with
  | 0, Leaf => true
  | h'.+1, Node _ l r => full h' l && full h' r
  | _, _ => false
  end.

Lemma full_blank h : full h (blank h).
Proof. by elim: h => //= h ->. Qed.

Lemma full_set h t i w : full h t -> full h (set t i w).
Proof.
elim: h t i => [|h IH] [|v l r] //= [|i] //= /andP[fl fr].
by case: ifP => _ /=; rewrite ?(IH _ _ fl) ?(IH _ _ fr) ?fl ?fr.
Qed.

Lemma get_blank h i : get (blank h) i = none.
Proof. by elim: h i => //= h IH [|i] //=; case: ifP => _; exact: IH. Qed.

Lemma odd_halfK i j : odd i = odd j -> (i./2 == j./2) = (i == j).
Proof.
move=> o; apply/eqP/eqP => [e|-> //].
by rewrite -(odd_double_half i) -(odd_double_half j) o e.
Qed.

Lemma half_lt h i : i.+2 < 2 ^ h.+1 -> (i./2).+1 < 2 ^ h.
Proof. by rewrite expnS; move: (2 ^ h) => m; have := odd_double_half i; case: (odd i) => /=; lia. Qed.

Lemma get_set h t i w j : full h t -> i.+1 < 2 ^ h -> get (set t i w) j = if i == j then w else get t j.
Proof.
elim: h t i j => [|h IH] [|v l r] //= [|i] [|j] //= /andP[fl fr] lt; try by case: ifP.
have lh := half_lt lt; rewrite eqSS; case oi: (odd i); case oj: (odd j); rewrite /= ?oi ?oj /=.
- by rewrite (IH _ _ _ fr lh) odd_halfK ?oi ?oj.
- by case: (i =P j) => // e; rewrite -e oi in oj.
- by case: (i =P j) => // e; rewrite -e oi in oj.
- by rewrite (IH _ _ _ fl lh) odd_halfK ?oi ?oj.
Qed.

(* The last of several entries with one number counts.                          *)
Definition room (n : nat) : nat := (trunc_log 2 n.+1).+1.
Definition fill (n : nat) (s : seq (nat * V)) : tree :=
  foldl (fun t p => set t p.1 p.2) (blank (room n)) s.

Lemma room_lt n i : i < n -> i.+1 < 2 ^ room n.
Proof. by move=> lt; have := @trunc_log_ltn 2 n.+1 isT; rewrite /room; move: (2 ^ _) => m; lia. Qed.

Lemma full_foldl h t (s : seq (nat * V)) : full h t -> full h (foldl (fun t p => set t p.1 p.2) t s).
Proof. by elim: s t => //= p s IH t ft; apply: IH; apply: full_set. Qed.

(* What is found, where all entries are those of a function.                    *)
Lemma fillP n s f i : (forall p, List.In p s -> p.1 < n /\ p.2 = f p.1) ->
  i \in map fst s -> get (fill n s) i = f i.
Proof.
rewrite /fill; move: (blank _) (full_blank (room n)) => t ft all_f is_in.
suff: i \in map fst s \/ get t i = f i -> get (foldl (fun t p => set t p.1 p.2) t s) i = f i.
  by apply; left.
elim: s t ft all_f {is_in} => [|p s IH] t ft all_f /=; first by case.
have [lp ep] : p.1 < n /\ p.2 = f p.1 by apply: all_f; left.
move=> has_i; apply: IH; first exact: full_set.
  by move=> q iq; apply: all_f; right.
case is_in: (i \in map fst s); first by left.
right; rewrite (get_set _ _ ft (room_lt lp)); case: eqP => [<- //|ne].
by case: has_i => //; rewrite inE is_in orbF eq_sym => /eqP.
Qed.

(* .. and what no entry is of.                                                  *)
Lemma get_fill_none n s i : (forall p, List.In p s -> p.1 < n) -> i \notin map fst s -> get (fill n s) i = none.
Proof.
rewrite /fill => below_n out; move: (full_blank (room n)) (get_blank (room n) i).
move: (blank _) => t; elim: s t below_n out => [|p s IH] t; first by [].
move=> below_n; rewrite [map _ _]/= inE negb_or => /andP[ne out] ft g; apply: IH => //; first by move=> q iq; apply: below_n; right.
  exact: full_set.
have lp : p.1 < n by apply: below_n; left.
by rewrite (get_set _ _ ft (room_lt lp)) eq_sym (negPf ne).
Qed.

Definition of_seq (s : seq V) : tree := fill (size s) (zip (iota 0 (size s)) s).

Lemma in_zip_iota (s : seq V) b k v :
  List.In (k, v) (zip (iota b (size s)) s) -> b <= k < b + size s /\ v = nth none s (k - b).
Proof.
elim: s b => //= w s IH b [[<- <-]|/IH].
  by rewrite leqnn subnn /= -[X in X < _]addn0 ltn_add2l.
by case=> /andP[lk ltk] ->; rewrite addnS -addSn ltk (ltnW lk) -[k - b](@subnSK b k).
Qed.

Lemma get_of_seq s i : get (of_seq s) i = nth none s i.
Proof.
rewrite /of_seq; have keys : map fst (zip (iota 0 (size s)) s) = iota 0 (size s).
  by rewrite -/unzip1 unzip1_zip ?size_iota.
case: (ltnP i (size s)) => lt.
  apply: (@fillP _ _ (nth none s)); last by rewrite keys mem_iota.
  by move=> [k v] /in_zip_iota; rewrite subn0.
rewrite nth_default //; apply: get_fill_none; last by rewrite keys mem_iota -leqNgt.
by move=> [k v] /in_zip_iota[/andP[_]].
Qed.
End Tree.

Lemma get_mkseq (V : Type) (none : V) f n i : i < n -> get none (of_seq none (mkseq f n)) i = f i.
Proof. by move=> lt; rewrite get_of_seq nth_mkseq. Qed.

(* ---- all numbers below, all indices inside ----                              *)
Fixpoint below (n : nat) (p : nat -> bool) : bool :=
  if n is m.+1 then if p m then below m p else false else true.

Lemma belowP n (p : nat -> bool) : reflect (forall i, i < n -> p i) (below n p).
Proof.
elim: n => [|n IH] /=; first by left.
case pn: (p n); last by right=> all_p; move: (all_p n); rewrite pn ltnSn => /(_ isT).
apply: (iffP IH) => all_p i; last by move=> lt; apply: all_p; apply: ltnW.
by rewrite ltnS leq_eqVlt => /orP[/eqP->|/all_p].
Qed.

Fixpoint every (c : seq nat) (p : seq nat -> bool) : bool :=
  if c is n :: c' then below n (fun x => every c' (fun l => p (x :: l))) else p [::].

Lemma everyP c (p : seq nat -> bool) : reflect (forall l, inside c l -> p l) (every c p).
Proof.
elim: c p => [|n c IH] p /=.
  by apply: (iffP idP) => [h [|]|/(_ [::])] //; apply.
apply: (iffP (belowP _ _)) => [h [|x l] //= /andP[lt il]|h x lt].
  by move/(_ x lt)/IH: h; apply.
by apply/IH => l il; apply: h; rewrite /inside /= lt.
Qed.

(* ---- one index for many ----                                                 *)

(* The indices of blocks: blocks have g_i indices along dimension i, all if g_i *)
(* is 0, and one where g has no entry.                                          *)
Fixpoint block_start (g l : seq nat) : seq nat :=
  if l is x :: l' then x %/ head 1 g * head 1 g :: block_start (behead g) l' else [::].

(* All first indices of blocks inside.                                          *)
Fixpoint every_block (g c : seq nat) (p : seq nat -> bool) : bool :=
  if c is n :: c' then
    let b := head 1 g in below (ceil_of n b) (fun x => every_block (behead g) c' (fun l => p (x * b :: l)))
  else p [::].

Lemma every_blockP g c (p : seq nat -> bool) :
  reflect (forall l, inside c l -> p (block_start g l)) (every_block g c p).
Proof.
elim: c g p => [|n c IH] g p /=.
  by apply: (iffP idP) => [h [|]|/(_ [::])] //; apply.
have lt_ceil b x : (0 < b) || (x == 0) -> (x < ceil_of n b) = (x * b < n).
  case: b => [/eqP->|b _]; first by rewrite muln0 /ceil_of divn0 modn0 add0n; case: n.
  rewrite /ceil_of {3}(divn_eq n b.+1); set q := n %/ _; have := ltn_pmod n (ltn0Sn b); set m := n %% _ => lm.
  case: eqP => [->|/eqP ne]; first by rewrite !addn0 ltn_pmul2r.
  rewrite /= addn1 ltnS; case: (leqP x q) => [le|gt]; apply/esym.
    by apply: (@leq_ltn_trans (q * b.+1)); [rewrite leq_mul2r le orbT|rewrite -[X in X < _]addn0 ltn_add2l lt0n].
  apply/negbTE; rewrite -leqNgt; apply: (@leq_trans (q.+1 * b.+1)); last by rewrite leq_mul2r gt orbT.
  by rewrite mulSn addnC leq_add2r ltnW.
apply: (iffP (belowP _ _)) => [h [|x l] //= /andP[lt il]|h x lt].
  have le : x %/ head 1 g * head 1 g < n by exact: leq_ltn_trans (leq_trunc_div _ _) lt.
  have ok : (0 < head 1 g) || (x %/ head 1 g == 0) by case: (head 1 g) => //; rewrite divn0.
  by move: le; rewrite -(lt_ceil _ _ ok) => /h/IH; apply.
apply/IH => l il.
have ok : (0 < head 1 g) || (x == 0).
  by case: (head 1 g) lt => //; rewrite /ceil_of divn0 modn0; case: (n != 0); case: (x).
rewrite (lt_ceil _ _ ok) in lt.
have := h (x * head 1 g :: l); rewrite /inside /= -/(inside c l) lt il => /(_ isT).
by case: (head 1 g) => [|b]; rewrite ?muln0 ?mulnK.
Qed.

Lemma every_block_none c (p : seq nat -> bool) : every_block [::] c p = every c p.
Proof.
by elim: c p => //= n c IH p; rewrite /ceil_of divn1 modn1 addn0; elim: n => //= n ->; rewrite IH muln1.
Qed.

(* What all entries of a tree are multiples of, of numbers that go with them.   *)
Fixpoint tree_gcd (V : Type) (f : V -> nat) (t : tree V) : nat :=
  if t is Node v l r then gcdn (f v) (gcdn (tree_gcd f l) (tree_gcd f r)) else 0.

Lemma tree_gcd_dvd (V : Type) (none : V) (f : V -> nat) t i : f none = 0 -> tree_gcd f t %| f (get none t i).
Proof.
move=> z; elim: t i => [|v l IHl r IHr] i /=; first by rewrite z.
case: i => [|i]; first exact: dvdn_gcdl.
by case: ifP => _; apply: dvdn_trans (dvdn_gcdr _ _) _; [apply: dvdn_trans (dvdn_gcdl _ _) _|apply: dvdn_trans (dvdn_gcdr _ _) _].
Qed.
