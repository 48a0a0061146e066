(* The weak interpretation: base offset maps up to permutation.                 *)
(*                                                                              *)
(* Paper: Defs. 5.2, 5.3, Sec. 7.1.  Errata: E11 (Def. 5.3 is meant             *)
(* existentially: some representatives are related by ->).                      *)
(*                                                                              *)
(* For one mesh with delta devices and one globaltype g a weak type is its      *)
(* localtype c (Lemma 5.1), and N_i = g_i / c_i is the number of tiles along    *)
(* dimension i.  A weak step moves a factor n: a prime for the rules with one   *)
(* axis, any n >= 2 for those with several.                                     *)
From mathcomp Require Import all_ssreflect.
Require Import notation fig06_syntax fig07_base_offsets fig08_typing.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* Def. 5.2: beta_1 ~ beta_2 iff beta_2 = beta_1 o pi for a permutation pi.     *)
Definition equivalent (A : finType) (B : Type) (b1 b2 : A -> B) : Prop :=
  exists2 pi : A -> A, bijective pi & b2 =1 b1 \o pi.

(* N_i = g_i / c_i                                                              *)
Definition tile_counts (g c : seq nat) : seq nat := [seq p.1 %/ p.2 | p <- zip g c].

(* Whether c is the localtype of some type: c_i | g_i, prod N_i | delta.        *)
Definition is_localtype (delta : nat) (g c : seq nat) : bool :=
  [&& all (leq 1) g, all (leq 1) c, divides c g & prodn (tile_counts g c) %| delta].

(* allgather(i), dynslice(i) or alltoall(i, j) of a factor n.                   *)
Inductive weak :=
  | wgather of nat & nat          (* allgather(i, n)    *)
  | wslice of nat & nat           (* dynslice(i, n)     *)
  | walltoall of nat & nat & nat. (* alltoall(i, j, n)  *)

Definition weak_op (p : weak) : op :=
  match p with wgather _ _ => Allgather | wslice _ _ => Dynslice | walltoall _ _ _ => Alltoall end.
Definition factor (p : weak) : nat :=
  match p with wgather _ n => n | wslice _ n => n | walltoall _ _ n => n end.

(* |>: the localtype to which p leads from c, or None when a premise fails.     *)
(*   allgather(i,n):   n | N_i                      c_i := c_i * n              *)
(*   dynslice(i,n):    n | c_i, n * prod N | delta  c_i := c_i / n              *)
(*   alltoall(i,j,n):  i <> j, n | N_i, n | c_j     both                        *)
Definition weak_apply (delta : nat) (g : seq nat) (p : weak) (c : seq nat) : option (seq nat) :=
  if is_localtype delta g c && (2 <= factor p) then
    match p with
    | wgather i n =>
        if (i < size c) && (n %| nth 0 g i %/ nth 0 c i)
        then Some (upd c i (nth 0 c i * n)) else None
    | wslice i n =>
        let c' := upd c i (nth 0 c i %/ n) in
        if [&& i < size c, n %| nth 0 c i & is_localtype delta g c'] then Some c' else None
    | walltoall i j n =>
        if [&& i < size c, j < size c, i != j, n %| nth 0 g i %/ nth 0 c i & n %| nth 0 c j]
        then Some (upd (upd c i (nth 0 c i * n)) j (nth 0 c j %/ n)) else None
    end
  else None.

Definition weak_step (delta : nat) (g : seq nat) (p : weak) (c c' : seq nat) : Prop :=
  weak_apply delta g p c = Some c'.
