(* Certificates: no sequence from f_1 to f_2 costs less than C.                 *)
(*                                                                              *)
(* The certifier of spec/program/certify.h in the language of the kernel; what  *)
(* a line means stands there.  That it is sound is certify_sound.v.  It has no  *)
(* limits on its work: it answers yes or no.                                    *)
From mathcomp Require Import all_ssreflect.
Require Import notation fig06_syntax fig11_cost def5_weak fig10_low_level moves table.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* ---- what a Program says of its ends (spec/program/program.h) ----           *)
(* The digit (d div stride) mod size of a device number d.                      *)
Record digit := Digit { stride : nat; digit_size : nat }.
Record tiling := Tiling { tile : seq nat; global : seq nat; digits : seq (seq digit) }.
Record program := Program { devices : nat; from : tiling; to : tiling }.

(* The base offset of device d: a digit counts in units of what the ones before *)
(* it cover.                                                                    *)
Fixpoint digits_offset (c : nat) (xs : seq digit) (d : nat) : nat :=
  if xs is x :: xs' then
    c * (d %/ stride x %% digit_size x) + digits_offset (c * digit_size x) xs' d
  else 0.
Definition tiling_offset (T : tiling) (d : nat) : seq nat :=
  [seq digits_offset p.1 p.2 d | p <- zip (tile T) (digits T)].

(* ---- what the lines say ----                                                 *)
Record certificate := Certificate {
  lower_bound : nat;
  potentials : seq (seq nat * (nat * nat));       (* pi and pi' by localtype    *)
  refutations : seq (seq nat * seq (nat * nat * nat)) (* b and steps [i,j,n]    *)
}.

(* Sliced to localtype b, and after steps of this cost: the localtype c, and    *)
(* where each tile of b is now.                                                 *)
Record state := State { bottom : seq nat; now : seq nat; spent : nat; places : seq (seq nat) }.

(* Tile numbers as offsets.                                                     *)
Definition offsets (c t : seq nat) : seq nat := [seq p.1 * p.2 | p <- zip c t].

Section Certify.
Variables (delta : nat) (g c1 c2 : seq nat).
Variable rows : seq (seq nat).    (* the offsets of each device in f_1 and f_2, sorted *)
Variables (C : nat) (known : seq (seq nat * (nat * nat))).
Variable known_tree : tree [eqType of seq nat] (nat * nat).
Let r := size g.
Let limit := maxn (prodn c1) (prodn c2).

(* c is a localtype within the bound (4).                                       *)
Definition allowed (c : seq nat) : bool := is_localtype delta g c && (prodn c <= limit).

Definition factors : seq nat := [seq n <- iota 2 delta.-1 | n %| delta].
Definition onward : seq weak :=
  [seq wgather i n | i <- iota 0 r, n <- factors] ++
  flatten [seq [seq walltoall i j n | j <- iota 0 r, n <- factors] | i <- iota 0 r].
Definition all_steps : seq weak := [seq wslice i n | i <- iota 0 r, n <- factors] ++ onward.

(* c |> within the bound.                                                       *)
Definition next (q : weak) (c : seq nat) : option (seq nat) :=
  if weak_apply delta g q c is Some c' then if prodn c' <= limit then Some c' else None else None.
Definition price (q : weak) (c c' : seq nat) : nat := step_cost (weak_op q) (prodn c) (prodn c').

(* pi and pi' of c; what is not listed costs at least C.                        *)
Definition pi (c : seq nat) : nat * nat :=
  if find lex_row known_tree c is Some p then p else (C, C).

(* No step to c, and no allpermute at c, lowers the potential by more than its  *)
(* cost.                                                                        *)
Definition potential_holds (all_q : seq weak) (e : seq nat * (nat * nat)) : bool :=
  let: (c, (p, p')) := e in
  [&& allowed c, p <= C, p' <= C, p' <= p + prodn c &
    all (fun q =>
      if next q c is Some before then
        let k := price (weak_rev q) before c in
        let: (b, b') := pi before in (b <= p + k) && (b' <= p' + k)
      else true) all_q].

Definition start (b : seq nat) : state := State b b 0 (tiles (tile_counts g b)).
Definition advance (f : state) (q : weak) (c' : seq nat) : state :=
  State (bottom f) c' (spent f + price q (now f) c') [seq move q t | t <- places f].

(* A line: slicing to b and the steps behind it, each within C.                 *)
Definition line_step (p : nat * nat * nat) : weak :=
  let: (i, j, n) := p in if j == r then wgather i n else walltoall i j n.
Fixpoint run (f : state) (p : seq (nat * nat * nat)) : option state :=
  if p is ijn :: p' then
    let q := line_step ijn in
    if next q (now f) is Some c' then
      if spent f + price q (now f) c' < C then run (advance f q c') p' else None
    else None
  else Some f.
Definition line_state (l : seq nat * seq (nat * nat * nat)) : option state :=
  if allowed l.1 && divides l.1 c1 then run (start l.1) l.2 else None.

Variable refuted_tree : tree [eqType of seq (seq nat)] (seq nat * nat).

(* There is a line for f, unless what must follow makes it C or more.           *)
Definition refuted (f : state) : bool :=
  (C <= spent f + (pi (now f)).1) ||
  (if find lex_rows refuted_tree (bottom f :: places f) is Some (c, k)
   then (c == now f) && (k <= spent f) else false).

(* The offsets in f_1 and f_2 of the devices when they hold these tiles.        *)
Definition made (b : seq nat) (s : seq (seq nat)) : seq (seq nat) :=
  flatten (nseq (delta %/ prodn (tile_counts g b))
    [seq offsets c1 (up b c1 p.1) ++ offsets c2 p.2 | p <- zip (tiles (tile_counts g b)) s]).

(* f is not f_2, however the slices are chosen, and every way on is refuted.    *)
Definition refutation_holds (on : seq weak) (f : state) : bool :=
  ((now f != c2) || (sort lex_row (made (bottom f) (places f)) != rows)) &&
  all (fun q =>
    if next q (now f) is Some c' then
      (C <= spent f + price q (now f) c') || refuted (advance f q c')
    else true) on.

Definition entry_holds (on : seq weak) (e : seq (seq nat) * (seq nat * nat)) : bool :=
  let: (bs, (c, k)) := e in refutation_holds on (State (head [::] bs) c k (behead bs)).

End Certify.

Definition entry_of (f : state) : seq (seq nat) * (seq nat * nat) :=
  (bottom f :: places f, (now f, spent f)).

(* The devices as they stand, whatever says where they are.                     *)
Definition certify_rows (delta : nat) (g c1 c2 : seq nat) (rows : seq (seq nat))
    (lines : certificate) : bool :=
  let C := lower_bound lines in
  let known := entries lex_row (potentials lines) in
  let kt := table known in
  let all_q := all_steps delta g in
  let on := onward delta g in
  let states := [seq line_state delta g c1 c2 C l | l <- refutations lines] in
  let lists := entries lex_rows [seq entry_of f | f <- pmap id states] in
  let rt := table lists in
  let sorted_rows := sort lex_row rows in
  [&& (pi C kt c2).1 == 0, (pi C kt c1).2 == C,
      all (potential_holds delta g c1 c2 C kt all_q) known,
      all isSome states,
      all (fun e => divides e.1 c1 ==> refuted C kt rt (start g e.1)) known
    & all (entry_holds delta g c1 c2 sorted_rows C kt rt on) lists].

Definition certify (P : program) (lines : certificate) : bool :=
  certify_rows (devices P) (global (from P)) (tile (from P)) (tile (to P))
    [seq tiling_offset (from P) d ++ tiling_offset (to P) d | d <- iota 0 (devices P)] lines.
