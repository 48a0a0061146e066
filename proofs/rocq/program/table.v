(* Tables: lists of entries (key, value), sorted into a tree where a key is     *)
(* found fast.  Of entries with one key the last counts, as in a std::map that  *)
(* is written line by line.                                                     *)
(*                                                                              *)
(* Nothing is proved of the order: that a key is found fast, and that it is     *)
(* found at all, no statement rests on.  What is found is an entry of the list. *)
From mathcomp Require Import all_ssreflect.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* Lists compared entry by entry; a beginning comes before what it begins.      *)
Section Lex.
Variables (T : eqType) (le : rel T).
Fixpoint lex (s t : seq T) : bool :=
  match s, t with
  | [::], _ => true
  | _ :: _, [::] => false
  | a :: s', b :: t' => if a == b then lex s' t' else le a b
  end.

Hypothesis le_total : total le.
Hypothesis le_trans : transitive le.
Hypothesis le_anti : antisymmetric le.

Lemma lex_total : total lex.
Proof.
elim=> [|a s IH] [|b t] //=; rewrite (eq_sym b); case: eqP => // _; exact: le_total.
Qed.

Lemma lex_trans : transitive lex.
Proof.
move=> t s u; elim: t s u => [|b t IH] [|a s] [|c u] //=.
case: (a =P b) => [->|ab]; case: (b =P c) => [ebc|bc] //.
- exact: IH.
- by rewrite -ebc; case: (a =P b).
case: (a =P c) => [e|_] h1 h2; last exact: le_trans h1 h2.
by case: ab; apply: le_anti; rewrite h1 e h2.
Qed.

Lemma lex_anti : antisymmetric lex.
Proof.
elim=> [|a s IH] [|b t] //=; rewrite (eq_sym b).
by case: (a =P b) => [-> /IH ->|ne /le_anti].
Qed.
End Lex.

Definition lex_row : rel (seq nat) := lex leq.
Definition lex_rows : rel (seq (seq nat)) := lex lex_row.

Lemma lex_row_total : total lex_row.
Proof. exact: lex_total leq_total. Qed.
Lemma lex_row_trans : transitive lex_row.
Proof. exact: lex_trans leq_trans anti_leq. Qed.
Lemma lex_row_anti : antisymmetric lex_row.
Proof. exact: lex_anti anti_leq. Qed.

(* Two lists of rows hold the same rows equally often iff they are equal when   *)
(* sorted.                                                                      *)
Lemma sort_rowsP s t : perm_eq s t -> sort lex_row s = sort lex_row t.
Proof. by move/(perm_sortP lex_row_total lex_row_trans lex_row_anti). Qed.

Section Table.
Variables (K : eqType) (le : rel K) (V : Type).
Implicit Types (e : K * V) (l : seq (K * V)).

Fixpoint last_wins l : seq (K * V) :=
  if l is e :: l' then
    if l' is e' :: _ then if e.1 == e'.1 then last_wins l' else e :: last_wins l' else [:: e]
  else [::].

Definition entries l : seq (K * V) := last_wins (sort (fun e e' => le e.1 e'.1) l).

Inductive tree := Leaf | Node of tree & K * V & tree.

(* At most 2^h - 1 entries as a tree, and what is left.                         *)
Fixpoint build (h : nat) l : tree * seq (K * V) :=
  if h is h'.+1 then
    let: (t1, l1) := build h' l in
    if l1 is e :: l2 then let: (t2, l3) := build h' l2 in (Node t1 e t2, l3) else (t1, [::])
  else (Leaf, l).

Definition table l : tree := (build (trunc_log 2 (size l)).+1 l).1.

Fixpoint find (t : tree) (k : K) : option V :=
  if t is Node t1 (k', v) t2 then
    if k == k' then Some v else if le k k' then find t1 k else find t2 k
  else None.

Fixpoint all_tree (a : pred (K * V)) (t : tree) : bool :=
  if t is Node t1 e t2 then [&& all_tree a t1, a e & all_tree a t2] else true.

Lemma all_build a h l : all a l -> all_tree a (build h l).1 /\ all a (build h l).2.
Proof.
elim: h l => //= h IH l al; have := IH l al; case: (build h l) => t1 [|e l2] /= [a1 a2] //.
have [ae al2] := andP a2; have := IH l2 al2; case: (build h l2) => t2 l3 /= [b1 b2].
by rewrite a1 ae b1.
Qed.

(* What is found is an entry of the list: it has what all entries have.         *)
Lemma find_table a l k v : all a l -> find (table l) k = Some v -> a (k, v).
Proof.
move=> /(all_build (trunc_log 2 (size l)).+1)[+ _]; rewrite -/(table l).
elim: (table l) => //= t1 IH1 [k' w] t2 IH2 /and3P[a1 ae a2].
by case: eqP => [-> [<-]|_] //; case: ifP => _; auto.
Qed.
End Table.
