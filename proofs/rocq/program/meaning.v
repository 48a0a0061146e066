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

(* A shape, and at each local index inside it an element: the index of one of   *)
(* the array, or with addends a sum.                                            *)
Record tile (V : Type) := Tile { shape : seq nat; elem : seq nat -> V }.

(* What each device holds.                                                      *)
Definition state (V : Type) := nat -> tile V.

Definition same (V : Type) (a b : tile V) : Prop :=
  shape a = shape b /\ forall l, inside (shape a) l -> elem a l = elem b l.

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

(* The extents of the whole array.                                              *)
Definition global_of (T : tiling) : seq nat :=
  match T with Grid es _ _ _ => map whole es | Rooted ns _ => ns | Listed ns _ _ => ns | Viewed v _ => v end.

(* ---- views ----                                                              *)
(* The dimensions that a dimension of extent n becomes: as many of a view as    *)
(* multiply to n, one at least.                                                 *)
Fixpoint becomes (n : nat) (view : seq nat) : seq nat :=
  if view is e :: view' then e :: (if n %/ e <= 1 then [::] else becomes (n %/ e) view') else [::].
Fixpoint all_become (global view : seq nat) : seq (seq nat) :=
  if global is n :: global' then let es := becomes n view in es :: all_become global' (drop (size es) view)
  else [::].

(* Index i has there the digits of i, the slowest first.                        *)
Definition side_in (es : seq nat) (s : side) : seq side :=
  if size es == 1 then [:: s]
  else [seq let e := nth 0 es k in let w := prodn (drop k.+1 es) in
            let ds := [seq i %/ w %% e | i <- indices s] in These [seq x <- iota 0 e | x \in ds]
       | k <- iota 0 (size es)].
Definition in_view (global view : seq nat) (h : holding) : holding :=
  match h with
  | Sides ss => Sides (flatten [seq side_in p.1 p.2 | p <- zip (all_become global view) ss])
  | Nothing _ => Nothing (size view)
  end.

Fixpoint holding_of (T : tiling) (d : nat) : holding :=
  match T with
  | Viewed v T' => in_view (global_of T') v (holding_of T' d)
  | Grid es P order _ =>
      if position P order d is Some p then Sides [seq side_of e p | e <- es] else Nothing (size es)
  | Rooted ns root => if d == root then Sides [seq Run 0 n | n <- ns] else Nothing (size ns)
  | Listed _ at_ cs => Sides [seq Run p.1 p.2 | p <- zip (nth [::] at_ d) (shape_in cs d)]
  end.

Definition tile_of (h : holding) : tile (seq nat) :=
  match h with
  | Sides ss => Tile (tidy (map side_size ss)) (fun l => [seq side_at p.1 p.2 | p <- zip ss l])
  | Nothing r => Tile (nseq r 0) id
  end.
Definition tiles_of (T : tiling) : state (seq nat) := fun d => tile_of (holding_of T d).

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

Section After.
(* The sum of elements.  Those that are indices are not added: it is the one.   *)
Variables (V : Type) (total : seq V -> V).
Implicit Types (a : tile V) (s : state V).
Definition nowhere : tile V := Tile [::] (fun=> total [::]).

(* Piece q of the n pieces of tile a along j.                                   *)
Definition piece (c : cut) (n q j : nat) a : tile V :=
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
Definition joined (i : nat) (tiles : seq (tile V)) : tile V :=
  Tile (joined_shape i (map (@shape V) tiles))
       (fun l => let: (p, y) := locate [seq nth 0 (shape a) i | a <- tiles] (nth 0 l i) in
                 elem (nth nowhere tiles p) (upd l i y)).

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
Definition piece_along (splits counts : seq nat) (q : nat) a : tile V :=
  let w := extents_along splits counts (shape a) in
  Tile w (fun l => elem a [seq part_along splits counts q i * nth 0 w i + nth 0 l i | i <- iota 0 (size w)]).

(* Tiles of one shape w: that of position p lies, in each dimension, at the     *)
(* part of p.                                                                   *)
Definition side_by_side (dims counts : seq nat) (tiles : seq (tile V)) : tile V :=
  let w := shape (head nowhere tiles) in
  let each (f : nat -> nat) := [seq f i | i <- iota 0 (size w)] in
  Tile (each (fun i => nth 0 w i * parts_along dims counts i))
       (fun l => let p := index (each (fun i => nth 0 l i %/ nth 0 w i))
                                [seq each (part_along dims counts p) | p <- iota 0 (prodn counts)] in
                 elem (nth nowhere tiles p) (each (fun i => nth 0 l i %% nth 0 w i))).

(* Tiles of one shape, added.                                                   *)
Definition added (tiles : seq (tile V)) : tile V :=
  Tile (shape (head nowhere tiles)) (fun l => total [seq elem a l | a <- tiles]).
(* A tile as piece q of n along i, and zeros around it.                         *)
Definition embedded (n q i : nat) a : tile V :=
  let m := nth 0 (shape a) i in
  Tile (upd (shape a) i (n * m))
       (fun l => if nth 0 l i %/ m == q then elem a (upd l i (nth 0 l i %% m)) else total [::]).

(* The row of device d, and its position there.                                 *)
Definition row_of (G : seq (seq nat)) (d : nat) : seq nat := nth [::] G (find (fun g => d \in g) G).
Definition seat_of (G : seq (seq nat)) (d : nat) : nat := index d (row_of G d).
Definition row_length (G : seq (seq nat)) : nat := size (head [::] G).

(* Whether a transfer writes index l of the new tile of device t.               *)
Definition writes (t : nat) (l : seq nat) (x : transfer) : bool :=
  [&& target x == t, all2 leq (put x) l & all2 ltn l (plus (put x) (box x))].

(* What device d holds afterwards.                                              *)
Definition after s (m : move) : state V := fun d =>
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
                     then elem (s (source x)) (plus (got x) (minus l (put x))) else total [::])
  | Adding (Reducescatter c i) _ t =>
      let G := rows_of t in piece c (row_length G) (seat_of G d) i (added [seq s e | e <- row_of G d])
  | Adding Allreduce _ t => added [seq s e | e <- row_of (rows_of t) d]
  | Adding Unreduce _ t => if seat_of (rows_of t) d == 0 then s d else Tile (shape (s d)) (fun=> total [::])
  | Adding (Embed i) _ t => let G := rows_of t in embedded (row_length G) (seat_of G d) i (s d)
  | Exchange_add _ ts new =>
      Tile (shape_in new d)
           (fun l => total [seq elem (s (source x)) (plus (got x) (minus l (put x))) | x <- ts & writes d l x])
  end.
End After.

(* ---- why a step may be wrong ----                                            *)

Inductive reason := Groups | Bijection | Indivisible | Ragged | Transfers | Addends | Tile_claim | Map_claim
                  | Not_a_box | Replicas | End.
(* Their order.                                                                 *)
Definition number (r : reason) : nat :=
  match r with
  | Groups => 0 | Bijection => 1 | Indivisible => 2 | Ragged => 3 | Transfers => 4 | Addends => 5
  | Tile_claim => 6 | Map_claim => 7 | Not_a_box => 8 | Replicas => 9 | End => 10
  end.

(* How a step adds.                                                             *)
Definition add_of (m : move) : option addition :=
  match m with Adding _ a _ | Exchange_add a _ _ => Some a | _ => None end.

Section Steps.
Variables (D rank : nat).   (* rank: of the array *)
Variables (V : Type) (total : seq V -> V).
Implicit Types (s : state V) (m : move).

(* Every device once.                                                           *)
Definition each_once (ds : seq nat) : Prop := perm_eq ds (iota 0 D).

Definition groups_of m : option (seq (seq nat)) :=
  match m with
  | Dynslice _ _ t | Allgather _ t | Alltoall _ _ _ t
  | Allgather_dims _ _ t | Alltoall_dims _ _ _ t | Adding _ _ t => Some (rows_of t)
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
  | Alltoall Equal j _ t | Adding (Reducescatter Equal j) _ t => Some (row_length (rows_of t), j)
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
  | Adding Unreduce _ _ => True
  | Adding _ _ t => one_shape s (rows_of t)
  | _ => True
  end.

(* Boxes lie inside both tiles, and write every element once, unless they add.  *)
Definition within s (ts : seq transfer) (new : shapes) : bool :=
  all (fun x => all2 leq (plus (put x) (box x)) (shape_in new (target x)) &&
                all2 leq (plus (got x) (box x)) (shape (s (source x)))) ts.
Definition good_transfers s m : Prop :=
  match m with
  | Exchange ts new =>
      within s ts new /\ (forall t l, t < D -> inside (shape_in new t) l -> count (writes t l) ts = 1)
  | Exchange_add _ ts new => within s ts new
  | _ => True
  end.

(* The largest extent in each dimension.                                        *)
Definition largest_extents s : seq nat := [seq \max_(d < D) nth 0 (shape (s d)) i | i <- iota 0 rank].

(* How the Program adds, and what is to be said of elements: that one is, or is *)
(* all terms of it are, of an index, and that devices hold what a tiling says.  *)
Variables (way : option addition) (is_of : V -> seq nat -> Prop) (agrees : state V -> tiling -> Prop).

Definition adds_alike m : Prop := if add_of m is Some a then way = Some a else True.

(* Base + l at every local index l.                                             *)
Definition box_at (a : tile V) (base : seq nat) : Prop :=
  forall l, inside (shape a) l -> is_of (elem a l) (plus base l).

Definition good_tile_claim s (st : step) : Prop :=
  if tile_claim st is Some c then c = largest_extents s else True.
Definition good_map_claim s (st : step) : Prop :=
  (if map_claim st is Some T then agrees s T else True) /\
  (if at_claim st is Some rows then
     forall d, d < D ->
       (if shapes_claim st is Some cs then nth [::] cs d = shape (s d) else True) /\
       box_at (s d) (nth [::] rows d)
   else True).

(* What holds unless the step cannot be taken for this reason.                  *)
Definition applies s m (r : reason) : Prop :=
  match r with
  | Groups => good_groups m
  | Bijection => good_permutation m
  | Indivisible => divisible s m
  | Ragged => not_ragged s m
  | Transfers => good_transfers s m
  | Addends => adds_alike m
  | _ => True
  end.
(* .. or unless the step is wrong for this reason.                              *)
Definition condition s (st : step) (r : reason) : Prop :=
  match r with
  | Tile_claim => good_tile_claim (after total s (move_of st)) st
  | Map_claim => good_map_claim (after total s (move_of st)) st
  | _ => applies s (move_of st) r
  end.

Definition passes s st : Prop := forall r, condition s st r.
(* The first reason that applies.                                               *)
Definition blames s st (r : reason) : Prop :=
  ~ condition s st r /\ forall r', number r' < number r -> condition s st r'.

(* ---- figures ----                                                            *)

Definition largest s : nat := \max_(d < D) prodn (shape (s d)).
(* The most elements that transfers write to one device.                        *)
Definition most_written (ts : seq transfer) : nat :=
  \max_(d < D) sumn [seq prodn (box x) | x <- ts & target x == d].

Definition moves m : bool :=
  match m with
  | Dynslice _ _ t | Allgather _ t | Alltoall _ _ _ t
  | Allgather_dims _ _ t | Alltoall_dims _ _ _ t | Adding _ _ t => 1 < row_length (rows_of t)
  | Dynslice_part _ _ n _ => 1 < n
  | Allpermute P => row_of_one P != iota 0 D
  | Pairs ps => has (fun p => p.1 != p.2) ps
  | Exchange ts _ | Exchange_add _ ts _ => has (fun x => target x != source x) ts
  end.
Definition price s m : nat :=
  if moves m then
    match m with
    | Dynslice _ _ _ | Dynslice_part _ _ _ _ => 0
    | Allgather _ _ | Allgather_dims _ _ _ | Exchange _ _ => largest (after total s m)
    | Alltoall _ _ _ _ | Alltoall_dims _ _ _ _ | Allpermute _ | Pairs _ => largest s
    | Adding (Reducescatter _ _) _ _ => largest s
    | Adding Allreduce _ _ => 2 * largest s
    | Adding Unreduce _ _ | Adding (Embed _) _ _ => 0
    | Exchange_add _ ts _ => most_written ts
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
  | Grid es _ _ _ => size es == rank
  | Rooted ns _ => fits ns
  | Listed ns at_ cs => [&& fits ns, size at_ == D, all fits at_ & fits_shapes cs]
  | Viewed v T' => [&& fits v, fits (flatten (all_become (global_of T') v)) & if T' is Grid _ _ _ _ then true else false]
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
  | Adding (Reducescatter _ i) _ _ | Adding (Embed i) _ _ => i < rank
  | Adding _ _ _ => true
  | Exchange ts new | Exchange_add _ ts new =>
      fits_shapes new &&
      all (fun x => [&& target x < D, source x < D, fits (put x), fits (got x) & fits (box x)]) ts
  end.
End Known.

Definition rank_of (T : tiling) : nat :=
  match T with Grid es _ _ _ => size es | Rooted ns _ => size ns | Listed ns _ _ => size ns | Viewed v _ => size v end.

Definition known_program (P : program) : bool :=
  let rank := rank_of (from P) in
  [&& 0 < devices P, known_tiling (devices P) rank (from P), known_tiling (devices P) rank (to P)
    & all (fun st => known (devices P) rank (move_of st) &&
                     (if map_claim st is Some T then known_tiling (devices P) rank T else true)) (steps P)].

(* ---- what makes a Program right ----                                         *)

Definition no_step : step := Step (Pairs [::]) None None None None.
Definition step_at (P : program) (k : nat) : step := nth no_step (steps P) k.
Definition bound (P : program) : nat :=
  maxn (largest (devices P) (tiles_of (from P))) (largest (devices P) (tiles_of (to P))).
(* How many steps the figures of a wrong Program count.                         *)
Definition counted (P : program) (k : nat) (r : reason) : nat :=
  match r with Not_a_box | End => size (steps P) | _ => k end.

Section Replay.
Variables (V : Type) (total : seq V -> V) (way : option addition).
Variables (is_of : V -> seq nat -> Prop) (agrees : state V -> tiling -> Prop).
Variables (start : state V) (P : program).
Let D := devices P.
Let rank := rank_of (from P).
(* The state after k steps.                                                     *)
Definition state_at (k : nat) : state V :=
  foldl (fun s st => after total s (move_of st)) start (take k (steps P)).
(* The first k steps can be taken, and their claims hold.                       *)
Definition goes_to (k : nat) : Prop :=
  forall j, j < k -> passes D rank total way is_of agrees (state_at j) (step_at P j).
(* Step k is the first that is wrong, and why.                                  *)
Definition stops_at (k : nat) (r : reason) : Prop :=
  [/\ k < size (steps P), goes_to k & blames D rank total way is_of agrees (state_at k) (step_at P k) r].
(* Of the first k steps.                                                        *)
Definition height_of (k : nat) : nat := maxn (bound P) (\max_(j < k.+1) largest D (state_at j)).
Definition cost_of (k : nat) : nat := \sum_(j < k) price D total (state_at j) (move_of (step_at P j)).
End Replay.

(* ---- without addends ----                                                    *)
Section Whole.
Variable P : program.
Let D := devices P.
Let n := size (steps P).
Definition the_one (vs : seq (seq nat)) : seq nat := head [::] vs.
Definition holds_tiles (s : state (seq nat)) (T : tiling) : Prop := forall d, d < D -> same (s d) (tiles_of T d).

Definition whole_at : nat -> state (seq nat) := state_at the_one (tiles_of (from P)) P.
Definition whole_goes_to : nat -> Prop := goes_to the_one None eq holds_tiles (tiles_of (from P)) P.
Definition whole_stops_at : nat -> reason -> Prop := stops_at the_one None eq holds_tiles (tiles_of (from P)) P.
Definition arrived : Prop := holds_tiles (whole_at n) (to P).
Definition whole_right : Prop := whole_goes_to n /\ arrived.

(* After k steps every device holds one box in order.                           *)
Definition boxes (k : nat) : Prop := forall d, d < D -> exists base, box_at eq (whole_at k d) base.

(* Whether an end or a claim cuts N > 1 tiles in sections, or deals out more    *)
(* than one round of blocks: in a view, along a dimension that stays one.       *)
Definition deals_dim (e : dim) : bool :=
  let N := tile_count (digits e) in
  (1 < N) && match cut_by e with
             | Dealt c => c * N < whole e
             | Section_blocks _ | Section_dealt _ _ => true
             | _ => false
             end.
Definition deals (T : tiling) : bool :=
  match T with
  | Grid es _ _ _ => has deals_dim es
  | Viewed v (Grid es _ _ _) => has (fun p => (size p.1 == 1) && deals_dim p.2) (zip (all_become (map whole es) v) es)
  | _ => false
  end.
Definition deals_somewhere : bool :=
  [|| deals (from P), deals (to P) | has (fun st => if map_claim st is Some T then deals T else false) (steps P)].

(* The first wrong step, and why it is wrong.                                   *)
Definition whole_wrong (k : nat) (r : reason) : Prop :=
  whole_stops_at k r \/
  (whole_goes_to n /\ ~ arrived /\
   let at_fault j := [/\ j < n, ~ boxes j.+1, ~~ deals_somewhere & forall i, i < j -> boxes i.+1] in
   (at_fault k /\ r = Not_a_box \/ (forall j, ~ at_fault j) /\ k = n /\ r = End)).
End Whole.

(* ---- addends ----                                                            *)

(* A term is an addend and an index of the array, and a sum is a list of terms, *)
(* each as often as it is added.                                                *)
Definition term := (nat * seq nat)%type.
Definition sum := seq term.

Definition adds_in (T : tiling) : option addition :=
  match T with Grid _ _ _ (Some (a, _)) | Viewed _ (Grid _ _ _ (Some (a, _))) => Some a | _ => None end.
(* As `from` says, otherwise `to`, otherwise the first claim that says it,      *)
(* otherwise the first step that adds.                                          *)
Definition addition_of (P : program) : option addition :=
  ohead (pmap id ([:: adds_in (from P); adds_in (to P)] ++
                  [seq obind adds_in (map_claim st) | st <- steps P] ++ [seq add_of (move_of st) | st <- steps P])).

Definition addend_count (T : tiling) : nat :=
  match T with Grid _ _ _ (Some (_, zs)) | Viewed _ (Grid _ _ _ (Some (_, zs))) => tile_count zs | _ => 1 end.
(* The number of the tile of device d and that of its addend, if it stands at a *)
(* position.  Where no digits count tiles, the box stands for its number.       *)
Fixpoint share_of (T : tiling) (d : nat) : option (seq nat * nat) :=
  match T with
  | Viewed _ T' => share_of T' d
  | Grid es P order adds =>
      if position P order d is Some p
      then Some ([seq tile_number (digits e) p | e <- es], if adds is Some (_, zs) then tile_number zs p else 0)
      else None
  | Rooted _ root => Some ([:: nat_of_bool (d == root)], 0)
  | Listed _ at_ cs => Some (nth [::] at_ d ++ shape_in cs d, 0)
  end.

Section Sums.
Variables (way : addition) (D : nat).
Variable K : nat.   (* the addends of `from` *)
Implicit Types (s : state sum) (T : tiling) (v : sum).

(* How often a term occurs.                                                     *)
Definition times (x : term) v : nat :=
  match way with Max | Min => x \in v : bool | Sum | Stack => count_mem x v end.

(* All terms are of this index.                                                 *)
Definition all_of v (i : seq nat) : Prop := forall x, x \in v -> x.2 = i.

(* The four conditions under which devices agree with a layout.                 *)
(* 1. The tiles have the shapes of its boxes.                                   *)
Definition shapes_agree s T : Prop := forall d, d < D -> shape (s d) = shape (tiles_of T d).
(* 2. Every term in a place is of the index that lies there.                    *)
Definition indices_agree s T : Prop :=
  forall d l, d < D -> inside (shape (s d)) l -> all_of (elem (s d) l) (elem (tiles_of T d) l).
(* 3. Devices of one tile number and one addend hold the same sums.             *)
Definition replicas_agree s T : Prop :=
  forall d e l, d < D -> e < D -> share_of T d -> share_of T d = share_of T e -> inside (shape (s d)) l ->
  forall x, times x (elem (s d) l) = times x (elem (s e) l).

(* 4. For every tile, the sums of all addends together hold each addend of      *)
(* `from` once, or at least once; in a stack addend k holds k alone.            *)
(* The devices of which none below has the same tile and the same addend.       *)
Definition firsts T : seq nat :=
  let shares := [seq share_of T d | d <- iota 0 D] in [seq d <- iota 0 D | index (share_of T d) shares == d].
(* .. those of tile t: one for each addend.                                     *)
Definition holders T (t : seq nat) : seq nat :=
  [seq e <- firsts T | if share_of T e is Some (t', _) then t' == t else false].
(* How often term x occurs in the sums of all addends of the layout together.   *)
Definition together s T (t l : seq nat) (x : term) : nat :=
  sumn [seq times x (elem (s e) l) | e <- holders T t].
Definition complete s T : Prop :=
  forall d l k t j, d < D -> inside (shape (s d)) l -> k < K -> share_of T d = Some (t, j) ->
  let x := (k, elem (tiles_of T d) l) in
  match way with
  | Sum => together s T t l x = 1
  | Max | Min => 0 < together s T t l x
  | Stack => times x (elem (s d) l) = (k == j)
  end.

(* Why devices do not agree with a layout: the first condition that fails.      *)
Definition disagrees s T (r : reason) : Prop :=
  match r with
  | End => ~ (shapes_agree s T /\ indices_agree s T)
  | Replicas => [/\ shapes_agree s T, indices_agree s T & ~ replicas_agree s T]
  | Addends => [/\ shapes_agree s T, indices_agree s T, replicas_agree s T & ~ complete s T]
  | _ => False
  end.
Definition sums_agree s T : Prop := [/\ shapes_agree s T, indices_agree s T, replicas_agree s T & complete s T].
End Sums.

Section Added.
Variables (way : addition) (P : program).
Let n := size (steps P).
Let K := addend_count (from P).
Let agrees := sums_agree way (devices P) K.
(* Device d holds its tile of the addend that its digits say.                   *)
Definition terms_of (T : tiling) : state sum := fun d =>
  let a := tiles_of T d in
  Tile (shape a) (fun l => [:: (if share_of T d is Some (_, k) then k else 0, elem a l)]).

Definition sums_at : nat -> state sum := state_at (@flatten term) (terms_of (from P)) P.
Definition sums_go_to : nat -> Prop := goes_to (@flatten term) (Some way) all_of agrees (terms_of (from P)) P.
Definition sums_stop_at : nat -> reason -> Prop :=
  stops_at (@flatten term) (Some way) all_of agrees (terms_of (from P)) P.
Definition sums_right : Prop := sums_go_to n /\ agrees (sums_at n) (to P).
Definition sums_wrong (k : nat) (r : reason) : Prop :=
  sums_stop_at k r \/ [/\ sums_go_to n, k = n & disagrees way (devices P) K (sums_at n) (to P) r].
End Added.

(* ---- all Programs ----                                                       *)
Definition right (P : program) : Prop :=
  if addition_of P is Some way then sums_right way P else whole_right P.
(* The first wrong step, and why it is wrong.                                   *)
Definition wrong (P : program) : nat -> reason -> Prop :=
  if addition_of P is Some way then sums_wrong way P else whole_wrong P.
(* Of the first k steps.                                                        *)
Definition height (P : program) : nat -> nat :=
  if addition_of P is Some way then height_of (@flatten term) (terms_of (from P)) P
  else height_of the_one (tiles_of (from P)) P.
Definition cost (P : program) : nat -> nat :=
  if addition_of P is Some way then cost_of (@flatten term) (terms_of (from P)) P
  else cost_of the_one (tiles_of (from P)) P.
