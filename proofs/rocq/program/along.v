(* Steps along several dimensions at once, and certificates among these.        *)
(*                                                                              *)
(* The steps are those of spec/search/along_dims.h as a relation on tile maps,  *)
(* and the certifier is that of spec/program/certify_along.h in the language of *)
(* the kernel.  That it is sound is along_sound.v.  It has no limits on its     *)
(* work: it answers yes or no.                                                  *)
From mathcomp Require Import all_ssreflect.
Require Import notation fig06_syntax def5_weak fig10_low_level moves table.
Require certify.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* ---- the steps ----                                                          *)
(* A digit that an alltoall moves: off dimension i and onto j, of size n.       *)
Definition moved := (nat * nat * nat)%type.
Implicit Types (ds : seq moved).

(* What the digits cover of the dimension k that they leave, or enter.          *)
Definition off_size ds (k : nat) : nat := prodn [seq q.2 | q <- ds & q.1.1 == k].
Definition onto_size ds (k : nat) : nat := prodn [seq q.2 | q <- ds & q.1.2 == k].

(* Digits of tile `before` onto t, one after the other, the slowest first: those*)
(* behind it say where a digit stands.                                          *)
Fixpoint digits_onto ds (before t : seq nat) : seq nat :=
  if ds is (i, j, n) :: ds' then
    digits_onto ds' before (upd t j (nth 0 t j * n + nth 0 before i %/ off_size ds' i %% n))
  else t.

(* t_i := t_i div n_i; and t_i := t_i div (what it loses), then the digits.     *)
Definition gather_along (ns t : seq nat) : seq nat := [seq p.1 %/ p.2 | p <- zip t ns].
Definition alltoall_along ds (t : seq nat) : seq nat :=
  digits_onto ds t [seq nth 0 t k %/ off_size ds k | k <- iota 0 (size t)].

Inductive along :=
  | along_slice of nat & nat          (* dynslice(i, n)                         *)
  | along_gather of seq nat           (* an allgather by n_i along dimension i  *)
  | along_alltoall of seq moved       (* the slowest digit first                *)
  | along_permute.                    (* a permutation of tiles                 *)

Definition along_op (p : along) : op :=
  match p with
  | along_slice _ _ => Dynslice
  | along_gather _ => Allgather
  | along_alltoall _ => Alltoall
  | along_permute => Allpermute
  end.

(* The digits can be moved: off and onto dimensions that there are, off no one  *)
(* onto which others go, where there are as many tiles to gather and elements   *)
(* to cut.                                                                      *)
Definition can_move (g c : seq nat) ds : bool :=
  all (fun q => [&& q.1.1 < size g, q.1.2 < size g & 0 < q.2]) ds &&
  all (fun k => [&& (off_size ds k == 1) || (onto_size ds k == 1),
                    off_size ds k %| nth 0 g k %/ nth 0 c k & onto_size ds k %| nth 0 c k]) (iota 0 (size g)).
Definition after_moving (c : seq nat) ds : seq nat :=
  [seq nth 0 c k * off_size ds k %/ onto_size ds k | k <- iota 0 (size c)].

Section Steps.
Variables (D : finType) (g : seq nat).
Definition along_step (p : along) (s s' : tilemap D) : Prop :=
  match p with
  | along_slice i n => phys_step g (pweak (wslice i n)) s s'
  | along_gather ns =>
      [/\ balanced g s, size ns = size g, s'.1 = [seq p.1 * p.2 | p <- zip s.1 ns], divides s'.1 g
        & s'.2 =1 gather_along ns \o s.2]
  | along_alltoall ds =>
      [/\ balanced g s, can_move g s.1 ds, s'.1 = after_moving s.1 ds & s'.2 =1 alltoall_along ds \o s.2]
  | along_permute => phys_step g ppermute s s'
  end.
End Steps.

(* ---- the certifier ----                                                      *)
(* All c with c_i | g_i and prod g_i / c_i | left, from the divisors of left.   *)
Fixpoint localtypes_of (ns : seq nat) (left : nat) (g : seq nat) : seq (seq nat) :=
  if g is m :: g' then
    flatten [seq [seq m %/ n :: c | c <- localtypes_of ns (left %/ n) g'] | n <- ns & (n %| left) && (n %| m)]
  else [:: [::]].

Definition is_prime (n : nat) : bool := (1 < n) && all (fun d => ~~ (d %| n)) (iota 2 (n - 2)).

(* How many rows there are in a sorted list, of one kind each.                  *)
Fixpoint kinds (s : seq (seq nat)) : nat :=
  if s is u :: s' then (if s' is v :: _ then nat_of_bool (u != v) else 1) + kinds s' else 0.

Section Certify.
Variables (delta : nat) (g c1 c2 : seq nat).
Variable rows : seq (seq nat).    (* the offsets of each device in f_1 and f_2, sorted *)
Let r := size g.

Definition divisors_of : seq nat := [seq n <- iota 1 delta | n %| delta].
Variables (all_c : seq (seq nat)) (ps : seq nat) (held : nat).  (* localtypes; primes; kinds of rows *)

(* Whether each device has its new tile already.                                *)
Definition are_slices : bool :=
  all (fun uv => all (fun k => (nth 0 uv k <= nth 0 uv (r + k)) && (nth 0 uv (r + k) + nth 0 c2 k <= nth 0 uv k + nth 0 c1 k))
                     (iota 0 r)) rows.

(* Whether f_2 comes out when tile o of b becomes tile after(o) of t, and all is*)
(* gathered.                                                                    *)
Definition made (b t : seq nat) (after : seq nat -> seq nat) : seq (seq nat) :=
  flatten (nseq (delta %/ prodn (tile_counts g b))
    [seq certify.offsets c1 (up b c1 o) ++ certify.offsets c2 (up t c2 (after o)) | o <- tiles (tile_counts g b)]).
Definition is_exact b t after : bool := sort lex_row (made b t after) == rows.
Definition tells_apart (b : seq nat) : bool := held <= prodn (tile_counts g b).

(* Of each dimension, one of both divides the other; by how much.               *)
Definition comparable (b t : seq nat) : bool :=
  all (fun k => (nth 0 b k %| nth 0 t k) || (nth 0 t k %| nth 0 b k)) (iota 0 r).
Definition loses (b t : seq nat) : seq nat :=
  [seq if nth 0 b k < nth 0 t k then nth 0 t k %/ nth 0 b k else 1 | k <- iota 0 r].
Definition gains (b t : seq nat) : seq nat :=
  [seq if nth 0 b k < nth 0 t k then 1 else nth 0 b k %/ nth 0 t k | k <- iota 0 r].

(* The digits that may come next, and whether some of what then follows passes. *)
Definition next_digits (lost won : seq nat) : seq moved :=
  flatten [seq flatten [seq [seq (i, j, n) | n <- ps & (n %| nth 0 lost i) && (n %| nth 0 won j)] | j <- iota 0 r]
          | i <- iota 0 r].
Fixpoint digits_lead (fuel : nat) (test : seq moved -> bool) (lost won : seq nat) (before : seq moved) : bool :=
  let next := next_digits lost won in
  if fuel is f.+1 then
    if nilp next then test (rev before)
    else has (fun q => let: (i, j, n) := q in
           digits_lead f test (upd lost i (nth 0 lost i %/ n)) (upd won j (nth 0 won j %/ n)) (q :: before)) next
  else test (rev before).
Definition alltoall_leads (b t : seq nat) : bool :=
  [&& prodn b == prodn t, comparable b t, tells_apart b &
      digits_lead (prodn (loses b t)) (fun ds => is_exact b t (alltoall_along ds)) (loses b t) (gains b t) [::]].

Definition no_one_step : bool :=
  ~~ divides c2 c1 &&
  all (fun b =>
         if divides b c1 then
           ~~ [&& divides b c2, tells_apart b & is_exact b b id] && ~~ ((prodn b == prodn c2) && alltoall_leads b c2)
         else true) all_c.
Definition no_two_steps (v : nat) : bool :=
  all (fun b =>
         if divides b c1 && (prodn b == v) then
           ~~ divides b c2 && ~~ (tells_apart b && has (fun t => divides t c2 && alltoall_leads b t) all_c)
         else true) all_c.
(* spec/ asks this of the b and t of v elements alone.  It is the same: where a *)
(* larger pair is comparable, slices of both are.                               *)
Definition no_alltoall_and_permute : bool :=
  all (fun b =>
         if divides b c1 then ~~ tells_apart b && ~~ has (fun t => divides t c2 && comparable b t) all_c
         else true) all_c.

(* v divides the size of every localtype: always so, but looked at here.        *)
Definition is_least (v : nat) : bool := (0 < v) && all (fun c => v %| prodn c) all_c.

Definition bound_holds (C v : nat) : bool :=
  let L := prodn c2 in
  (C == 0) ||
  (~~ are_slices &&
   ((C <= L) ||
    (is_least v && no_one_step &&
     ((C - L <= v) ||
      (if v < L
       then no_two_steps v && ((C - L - v <= v) || (no_alltoall_and_permute && (C - L <= 3 * v)))
       else no_alltoall_and_permute && (C - L <= 2 * v)))))).
End Certify.

Definition certify_along (delta : nat) (g c1 c2 : seq nat) (rows : seq (seq nat)) (C : nat) : bool :=
  let ns := divisors_of delta in
  let all_c := localtypes_of ns delta g in
  let sorted := sort lex_row rows in
  bound_holds delta g c1 c2 sorted all_c [seq n <- ns | is_prime n] (kinds sorted) C
    (foldr minn (prodn g) (map prodn all_c)).
