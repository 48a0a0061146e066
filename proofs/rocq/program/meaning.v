(* What the steps of a Program do, and when it is right.                        *)
(*                                                                              *)
(* docs/reference/program.md as definitions, in its order and its words.  They  *)
(* are what check_correct.v is about, and are written to be read, not to be     *)
(* fast: check.v computes the same otherwise.                                   *)
From mathcomp Require Import all_ssreflect.
Require Import notation program.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* ---- indices ----                                                            *)

(* l is a local index of a tile of shape c: it has as many entries, each below  *)
(* that of c.                                                                   *)
Definition inside (c l : seq nat) : bool := all2 ltn l c.

(* The first entry of which p is true.                                          *)
Fixpoint first (T : Type) (p : T -> bool) (s : seq T) : option T :=
  if s is x :: s' then if p x then Some x else first p s' else None.

(* Entry by entry; lists of one length.                                         *)
Definition plus (s t : seq nat) : seq nat := [seq p.1 + p.2 | p <- zip s t].
Definition minus (s t : seq nat) : seq nat := [seq p.1 - p.2 | p <- zip s t].

(* The row-major number of index l in an array of shape c, and back.            *)
Fixpoint flat (c l : seq nat) : nat :=
  match c, l with
  | _ :: c', x :: l' => x * prodn c' + flat c' l'
  | _, _ => 0
  end.
Fixpoint unflat (c : seq nat) (f : nat) : seq nat :=
  if c is _ :: c' then f %/ prodn c' :: unflat c' (f %% prodn c') else [::].

(* ---- iotas ----                                                              *)

(* A stage reads an array of its shape with new dimension k = old dimension     *)
(* T_k.  Entry f of what it gives is this entry of what stands to its right.    *)
Definition stage_entry (f : nat) (st : stage) : nat :=
  let: Stage c T := st in
  let l := unflat [seq nth 0 c t | t <- T] f in
  flat c [seq nth 0 l (index k T) | k <- iota 0 (size c)].

(* The last stage reads 0, 1, 2..                                               *)
Definition rows_of (t : table) : seq (seq nat) :=
  match t with
  | Rows rs => rs
  | Iota count length stages =>
      [seq [seq foldl stage_entry (r * length + q) stages | q <- iota 0 length] | r <- iota 0 count]
  end.
Definition row_of_one (t : table) : seq nat := head [::] (rows_of t).

(* ---- what devices hold ----                                                  *)

(* A shape, and at each local index inside it the index of an element of the    *)
(* array.                                                                       *)
Record tile := Tile { shape : seq nat; elem : seq nat -> seq nat }.

(* What each device holds.                                                      *)
Definition state := nat -> tile.

Definition same (a b : tile) : Prop :=
  shape a = shape b /\ forall l, inside (shape a) l -> elem a l = elem b l.

(* Base + l at every local index l.                                             *)
Definition box_at (a : tile) (base : seq nat) : Prop :=
  forall l, inside (shape a) l -> elem a l = plus base l.

(* All empty tiles have zeros for their shape.                                  *)
Definition empty (c : seq nat) : bool := 0 \in c.
Definition zeros (c : seq nat) : seq nat := nseq (size c) 0.
Definition tidy (c : seq nat) : seq nat := if empty c then zeros c else c.

(* ---- tilings ----                                                            *)

(* What a tile holds in one dimension: w indices from b on, or listed ones.     *)
Inductive side := Run of nat & nat | These of seq nat.
Definition side_size (s : side) : nat := match s with Run _ w => w | These ls => size ls end.
Definition side_at (s : side) (x : nat) : nat := match s with Run b _ => b + x | These ls => nth 0 ls x end.

(* Tile t of N of n indices.                                                    *)
Definition blocks (c n t : nat) : side := Run (minn (c * t) n) (minn (c * t.+1) n - minn (c * t) n).
Definition dealt (c N n t : nat) : seq nat := [seq i <- iota 0 n | i %/ c %% N == t].
Definition indices (s : side) : seq nat := match s with Run b w => iota b w | These ls => ls end.

(* Each section cut by itself; what stands before it shifts its indices.        *)
Fixpoint sections (cut : nat -> seq nat) (begin : nat) (ns : seq nat) : seq nat :=
  if ns is n :: ns' then [seq begin + i | i <- cut n] ++ sections cut (begin + n) ns' else [::].

Definition ceil_of (n N : nat) : nat := n %/ N + (n %% N != 0).

Definition cut_tile (C : cuts) (N n t : nat) : side :=
  match C with
  | Blocks c => blocks c n t
  | Balanced => Run (t * (n %/ N) + minn t (n %% N)) (n %/ N + (t < n %% N))
  | Bounds o => Run (nth 0 o t) (nth 0 o t.+1 - nth 0 o t)
  | Dealt c => These (dealt c N n t)
  | Section_blocks ns => These (sections (fun m => indices (blocks (ceil_of m N) m t)) 0 ns)
  | Section_dealt c ns => These (sections (fun m => dealt c N m t) 0 ns)
  end.

(* A halo adds indices before and behind those of a tile that has any.          *)
Definition with_halo (n lo hi : nat) (s : side) : side :=
  if s is Run b w then
    if w == 0 then s else Run (b - lo) (minn n (b + w + hi) - (b - lo))
  else s.

(* The number of a tile: the first digit is the fastest.                        *)
Fixpoint tile_number (xs : seq digit) (p : nat) : nat :=
  if xs is x :: xs' then p %/ stride x %% radix x + radix x * tile_number xs' p else 0.
Definition tile_count (xs : seq digit) : nat := prodn (map radix xs).

Definition side_of (e : dim) (p : nat) : side :=
  with_halo (whole e) (before e) (behind e)
    (cut_tile (cut_by e) (tile_count (digits e)) (whole e) (tile_number (digits e) p)).

(* The sides of what device d holds; None: it holds nothing of an array of this *)
(* rank.                                                                        *)
Inductive holding := Sides of seq side | Nothing of nat.

(* Device order[p] stands at position p; without an order, device p.            *)
Definition position (P : nat) (order : option table) (d : nat) : option nat :=
  if order is Some t then
    let ds := row_of_one t in if d \in ds then Some (index d ds) else None
  else if d < P then Some d else None.

Definition shape_in (cs : shapes) (d : nat) : seq nat :=
  match cs with Alike c => c | Each rs => nth [::] rs d end.

Definition holding_of (T : tiling) (d : nat) : holding :=
  match T with
  | Grid es P order =>
      if position P order d is Some p then Sides [seq side_of e p | e <- es] else Nothing (size es)
  | Rooted ns root => if d == root then Sides [seq Run 0 n | n <- ns] else Nothing (size ns)
  | Listed _ at_ cs => Sides [seq Run p.1 p.2 | p <- zip (nth [::] at_ d) (shape_in cs d)]
  end.

Definition tile_of (h : holding) : tile :=
  match h with
  | Sides ss => Tile (tidy (map side_size ss)) (fun l => [seq side_at p.1 p.2 | p <- zip ss l])
  | Nothing r => Tile (nseq r 0) id
  end.
Definition tiles_of (T : tiling) : state := fun d => tile_of (holding_of T d).

(* ---- steps ----                                                              *)

(* Of an extent m in n pieces, where piece q begins and how long it is.         *)
Definition bounds (c : cut) (n m q : nat) : nat * nat :=
  match c with
  | Equal => (q * (m %/ n), m %/ n)
  | Extent s => (minn (q * s) m, minn (q.+1 * s) m - minn (q * s) m)
  | Even => (q * (m %/ n) + minn q (m %% n), m %/ n + (q < m %% n))
  end.

Definition piece_shape (c : cut) (n q j : nat) (m : seq nat) : seq nat :=
  tidy (upd m j (bounds c n (nth 0 m j) q).2).

(* Piece q of the n pieces of tile a along j.                                   *)
Definition piece (c : cut) (n q j : nat) (a : tile) : tile :=
  Tile (piece_shape c n q j (shape a))
       (fun l => elem a (upd l j ((bounds c n (nth 0 (shape a) j) q).1 + nth 0 l j))).

(* Of parts with these extents, one behind the other: that in which x lies, and *)
(* where.                                                                       *)
Fixpoint locate (ws : seq nat) (x : nat) : nat * nat :=
  if ws is w :: ws' then
    if x < w then (0, x) else let: (p, y) := locate ws' (x - w) in (p.+1, y)
  else (0, x).

Definition joined_shape (i : nat) (cs : seq (seq nat)) : seq nat :=
  if [seq c <- cs | ~~ empty c] is c :: _ then upd c i (sumn [seq nth 0 c' i | c' <- cs])
  else zeros (head [::] cs).

(* The tiles concatenated along i, empty ones passed over.                      *)
Definition joined (i : nat) (tiles : seq tile) : tile :=
  Tile (joined_shape i (map shape tiles))
       (fun l => let: (p, y) := locate [seq nth 0 (shape a) i | a <- tiles] (nth 0 l i) in
                 elem (nth (Tile [::] id) tiles p) (upd l i y)).

(* Each digit of a position in a row belongs to a dimension: of a list with an  *)
(* entry for each digit, the slowest first, those of dimension i.               *)
Definition those_of (dims : seq nat) (i : nat) (s : seq nat) : seq nat := mask [seq j == i | j <- dims] s.

(* Into how many parts dimension i is cut, and which of them is that of         *)
(* position p: the number in all digits of p that belong to i.                  *)
Definition parts_along (dims counts : seq nat) (i : nat) : nat := prodn (those_of dims i counts).
Definition part_along (dims counts : seq nat) (p i : nat) : nat :=
  flat (those_of dims i counts) (those_of dims i (unflat counts p)).

(* Every extent cut into equal parts.                                           *)
Definition extents_along (splits counts c : seq nat) : seq nat :=
  [seq nth 0 c i %/ parts_along splits counts i | i <- iota 0 (size c)].
(* The piece of tile a that position q gets.                                    *)
Definition piece_along (splits counts : seq nat) (q : nat) (a : tile) : tile :=
  let w := extents_along splits counts (shape a) in
  Tile w (fun l => elem a [seq part_along splits counts q i * nth 0 w i + nth 0 l i | i <- iota 0 (size w)]).

(* Tiles of one shape w: that of position p lies, in each dimension, at the     *)
(* part of p.                                                                   *)
Definition side_by_side (dims counts : seq nat) (tiles : seq tile) : tile :=
  let w := shape (head (Tile [::] id) tiles) in
  let each (f : nat -> nat) := [seq f i | i <- iota 0 (size w)] in
  Tile (each (fun i => nth 0 w i * parts_along dims counts i))
       (fun l => let p := index (each (fun i => nth 0 l i %/ nth 0 w i))
                                [seq each (part_along dims counts p) | p <- iota 0 (prodn counts)] in
                 elem (nth (Tile [::] id) tiles p) (each (fun i => nth 0 l i %% nth 0 w i))).

(* The row of device d, and its position there.                                 *)
Definition row_of (G : seq (seq nat)) (d : nat) : seq nat := nth [::] G (find (fun g => d \in g) G).
Definition seat_of (G : seq (seq nat)) (d : nat) : nat := index d (row_of G d).
Definition row_length (G : seq (seq nat)) : nat := size (head [::] G).

(* Whether a transfer writes index l of the new tile of device t.               *)
Definition writes (t : nat) (l : seq nat) (x : transfer) : bool :=
  [&& target x == t, all2 leq (put x) l & all2 ltn l (plus (put x) (box x))].

(* What device d holds afterwards.                                              *)
Definition after (s : state) (m : move) : state := fun d =>
  match m with
  | Dynslice c j t => let G := rows_of t in piece c (row_length G) (seat_of G d) j (s d)
  | Dynslice_part c j n L => piece c n (nth 0 (row_of_one L) d) j (s d)
  | Allgather i t => joined i [seq s e | e <- row_of (rows_of t) d]
  | Alltoall c j i t =>
      let G := rows_of t in
      joined i [seq piece c (row_length G) (seat_of G d) j (s e) | e <- row_of G d]
  | Allgather_dims dims ms t => side_by_side dims ms [seq s e | e <- row_of (rows_of t) d]
  | Alltoall_dims splits concats ms t =>
      let G := rows_of t in
      side_by_side concats ms [seq piece_along splits ms (seat_of G d) (s e) | e <- row_of G d]
  | Allpermute P => s (nth 0 (row_of_one P) d)
  | Pairs ps => if first (fun p => p.2 == d) ps is Some p then s p.1 else s d
  | Exchange ts new =>
      Tile (shape_in new d)
           (fun l => if first (writes d l) ts is Some x
                     then elem (s (source x)) (plus (got x) (minus l (put x))) else [::])
  end.

(* ---- why a step may be wrong ----                                            *)

Inductive reason := Groups | Bijection | Indivisible | Ragged | Transfers | Tile_claim | Map_claim
                  | Not_a_box | End.
(* Their order.                                                                 *)
Definition number (r : reason) : nat :=
  match r with
  | Groups => 0 | Bijection => 1 | Indivisible => 2 | Ragged => 3 | Transfers => 4
  | Tile_claim => 5 | Map_claim => 6 | Not_a_box => 7 | End => 8
  end.

Section Steps.
Variables (D rank : nat).   (* rank: of the array *)
Implicit Types (s : state) (m : move).

(* Every device once.                                                           *)
Definition each_once (ds : seq nat) : Prop := perm_eq ds (iota 0 D).

Definition groups_of m : option (seq (seq nat)) :=
  match m with
  | Dynslice _ _ t | Allgather _ t | Alltoall _ _ _ t
  | Allgather_dims _ _ t | Alltoall_dims _ _ _ t => Some (rows_of t)
  | _ => None
  end.
(* The digits of positions in a row, where a step says what they are.           *)
Definition counts_of m : option (seq nat) :=
  match m with Allgather_dims _ ms _ | Alltoall_dims _ _ ms _ => Some ms | _ => None end.
Definition good_groups m : Prop :=
  if groups_of m is Some G then
    [/\ forall g, g \in G -> size g = row_length G, each_once (flatten G) &
        if counts_of m is Some ms then prodn ms = row_length G else True]
  else True.

Definition good_permutation m : Prop :=
  match m with
  | Allpermute P => each_once (row_of_one P)
  | Pairs ps => [/\ uniq (map fst ps), uniq (map snd ps) & perm_eq (map fst ps) (map snd ps)]
  | _ => True
  end.

(* n and j where a tile is cut into n equal pieces along j.                     *)
Definition equal_cut m : option (nat * nat) :=
  match m with
  | Dynslice Equal j t => Some (row_length (rows_of t), j)
  | Dynslice_part Equal j n _ => Some (n, j)
  | Alltoall Equal j _ t => Some (row_length (rows_of t), j)
  | _ => None
  end.
Definition divisible s m : Prop :=
  if equal_cut m is Some (n, j) then forall d, d < D -> n %| nth 0 (shape (s d)) j
  else if m is Alltoall_dims splits _ ms _ then
    forall d i, d < D -> i < rank -> parts_along splits ms i %| nth 0 (shape (s d)) i
  else True.

(* The others of a row agree in all extents but that of i.                      *)
Definition joinable s (i : nat) (G : seq (seq nat)) : Prop :=
  forall g d e, g \in G -> d \in g -> e \in g ->
    ~~ empty (shape (s d)) -> ~~ empty (shape (s e)) -> upd (shape (s d)) i 0 = upd (shape (s e)) i 0.
(* All tiles of a row have one shape.                                           *)
Definition one_shape s (G : seq (seq nat)) : Prop :=
  forall g d e, g \in G -> d \in g -> e \in g -> shape (s d) = shape (s e).
Definition not_ragged s m : Prop :=
  match m with
  | Allgather i t | Alltoall _ _ i t => joinable s i (rows_of t)
  | Allgather_dims _ _ t | Alltoall_dims _ _ _ t => one_shape s (rows_of t)
  | _ => True
  end.

Definition good_transfers s m : Prop :=
  if m is Exchange ts new then
    all (fun x => all2 leq (plus (put x) (box x)) (shape_in new (target x)) &&
                  all2 leq (plus (got x) (box x)) (shape (s (source x)))) ts /\
    (forall t l, t < D -> inside (shape_in new t) l -> count (writes t l) ts = 1)
  else True.

(* The largest extent in each dimension.                                        *)
Definition largest_extents s : seq nat := [seq \max_(d < D) nth 0 (shape (s d)) i | i <- iota 0 rank].

Definition good_tile_claim s (st : step) : Prop :=
  if tile_claim st is Some c then c = largest_extents s else True.
Definition good_map_claim s (st : step) : Prop :=
  (if map_claim st is Some T then forall d, d < D -> same (s d) (tiles_of T d) else True) /\
  (if at_claim st is Some rows then
     forall d, d < D ->
       (if shapes_claim st is Some cs then nth [::] cs d = shape (s d) else True) /\
       box_at (s d) (nth [::] rows d)
   else True).

(* What holds unless the step is wrong for this reason.                         *)
Definition condition s (st : step) (r : reason) : Prop :=
  match r with
  | Groups => good_groups (move_of st)
  | Bijection => good_permutation (move_of st)
  | Indivisible => divisible s (move_of st)
  | Ragged => not_ragged s (move_of st)
  | Transfers => good_transfers s (move_of st)
  | Tile_claim => good_tile_claim (after s (move_of st)) st
  | Map_claim => good_map_claim (after s (move_of st)) st
  | Not_a_box | End => True
  end.

Definition passes s st : Prop := forall r, condition s st r.
(* The first reason that applies.                                               *)
Definition blames s st (r : reason) : Prop :=
  ~ condition s st r /\ forall r', number r' < number r -> condition s st r'.

(* ---- figures ----                                                            *)

Definition largest s : nat := \max_(d < D) prodn (shape (s d)).

Definition moves m : bool :=
  match m with
  | Dynslice _ _ t | Allgather _ t | Alltoall _ _ _ t
  | Allgather_dims _ _ t | Alltoall_dims _ _ _ t => 1 < row_length (rows_of t)
  | Dynslice_part _ _ n _ => 1 < n
  | Allpermute P => row_of_one P != iota 0 D
  | Pairs ps => has (fun p => p.1 != p.2) ps
  | Exchange ts _ => has (fun x => target x != source x) ts
  end.
Definition price s m : nat :=
  if moves m then
    match m with
    | Dynslice _ _ _ | Dynslice_part _ _ _ _ => 0
    | Allgather _ _ | Allgather_dims _ _ _ | Exchange _ _ => largest (after s m)
    | Alltoall _ _ _ _ | Alltoall_dims _ _ _ _ | Allpermute _ | Pairs _ => largest s
    end
  else 0.
End Steps.

(* ---- what a reader sees to ----                                              *)

(* Devices are below D, dimensions below the rank, and rows have an entry for   *)
(* each.  What is not so is no Program (docs/reference/program.md).             *)
Section Known.
Variables (D rank : nat).

Definition fits (c : seq nat) : bool := size c == rank.
(* An extent for each dimension, all zeros for an empty tile.                   *)
Definition fits_shape (c : seq nat) : bool := fits c && (tidy c == c).
Definition fits_shapes (cs : shapes) : bool :=
  match cs with Alike c => fits_shape c | Each rs => (size rs == D) && all fits_shape rs end.

Definition known_tiling (T : tiling) : bool :=
  match T with
  | Grid es _ _ => size es == rank
  | Rooted ns _ => fits ns
  | Listed ns at_ cs => [&& fits ns, size at_ == D, all fits at_ & fits_shapes cs]
  end.

(* A dimension and a number, not 0, for each digit of a position.               *)
Definition known_digits (dims counts : seq nat) : bool :=
  [&& size dims == size counts, all (gtn rank) dims & all (leq 1) counts].

Definition known (m : move) : bool :=
  match m with
  | Dynslice _ j _ => j < rank
  | Dynslice_part _ j n L => [&& j < rank, 0 < n & all (gtn n) (row_of_one L)]
  | Allgather i _ => i < rank
  | Alltoall _ j i _ => (j < rank) && (i < rank)
  | Allgather_dims dims ms _ => known_digits dims ms
  | Alltoall_dims splits concats ms _ => known_digits splits ms && known_digits concats ms
  | Allpermute _ => true
  | Pairs ps => all (fun p => (p.1 < D) && (p.2 < D)) ps
  | Exchange ts new =>
      fits_shapes new &&
      all (fun x => [&& target x < D, source x < D, fits (put x), fits (got x) & fits (box x)]) ts
  end.
End Known.

Definition rank_of (T : tiling) : nat :=
  match T with Grid es _ _ => size es | Rooted ns _ => size ns | Listed ns _ _ => size ns end.

Definition known_program (P : program) : bool :=
  let rank := rank_of (from P) in
  [&& 0 < devices P, known_tiling (devices P) rank (from P), known_tiling (devices P) rank (to P)
    & all (fun st => known (devices P) rank (move_of st)) (steps P)].

(* ---- what makes a Program right ----                                         *)

Section Right.
Variable P : program.
Let D := devices P.
Let rank := rank_of (from P).
Let n := size (steps P).
Definition no_step : step := Step (Pairs [::]) None None None None.
Definition start : state := tiles_of (from P).
Definition goal : state := tiles_of (to P).
(* The state after k steps.                                                     *)
Definition state_at (k : nat) : state := foldl (fun s st => after s (move_of st)) start (take k (steps P)).
Definition step_at (k : nat) : step := nth no_step (steps P) k.
(* The first k steps can be applied, and their claims hold.                     *)
Definition goes_to (k : nat) : Prop := forall j, j < k -> passes D rank (state_at j) (step_at j).
Definition arrived : Prop := forall d, d < D -> same (state_at n d) (goal d).
Definition right : Prop := goes_to n /\ arrived.

(* After k steps every device holds one box in order.                           *)
Definition boxes (k : nat) : Prop := forall d, d < D -> exists base, box_at (state_at k d) base.

(* Whether an end or a claim cuts N > 1 tiles in sections, or deals out more    *)
(* than one round of blocks.                                                    *)
Definition deals_dim (e : dim) : bool :=
  let N := tile_count (digits e) in
  (1 < N) && match cut_by e with
             | Dealt c => c * N < whole e
             | Section_blocks _ | Section_dealt _ _ => true
             | _ => false
             end.
Definition deals (T : tiling) : bool := if T is Grid es _ _ then has deals_dim es else false.
Definition deals_somewhere : bool :=
  [|| deals (from P), deals (to P) | has (fun st => if map_claim st is Some T then deals T else false) (steps P)].

(* The first wrong step, and why it is wrong.                                   *)
Definition wrong (k : nat) (r : reason) : Prop :=
  (k < n /\ goes_to k /\ blames D rank (state_at k) (step_at k) r) \/
  (goes_to n /\ ~ arrived /\
   let at_fault j := [/\ j < n, ~ boxes j.+1, ~~ deals_somewhere & forall i, i < j -> boxes i.+1] in
   (at_fault k /\ r = Not_a_box \/ (forall j, ~ at_fault j) /\ k = n /\ r = End)).

(* Of the first k steps.                                                        *)
Definition bound : nat := maxn (largest D start) (largest D goal).
Definition height (k : nat) : nat := maxn bound (\max_(j < k.+1) largest D (state_at j)).
Definition cost (k : nat) : nat := \sum_(j < k) price D (state_at j) (move_of (step_at j)).
(* How many steps the figures of a wrong Program count.                         *)
Definition counted (k : nat) (r : reason) : nat :=
  match r with Not_a_box | End => n | _ => k end.
End Right.
