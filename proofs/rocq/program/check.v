(* Whether a Program is right, decided.                                         *)
(*                                                                              *)
(* The state is not written out: what a device holds at a local index is traced *)
(* back through the steps to the start, or to the last claim by `map` that held.*)
(* Where blocks of elements move whole, one of each is traced.                  *)
(* check_correct.v proves that this is what meaning.v says.                     *)
From mathcomp Require Import all_ssreflect.
Require Import notation program meaning lookup.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* ---- where an element comes from ----                                        *)

(* A row of groups: its devices, and the shapes of their tiles before the step; *)
(* whether these are alike.                                                     *)
Record row := Row { members : tree nat; member_shapes : seq (seq nat); alike : bool }.

(* How tiles are cut before they are joined, if they are: along j, in n pieces. *)
Record cutting := Cutting { how : cut; pieces : nat; along : nat }.

(* A device in a step along several dimensions: the devices of its row, the     *)
(* shape of the pieces that it gets, and where they begin in their tiles.       *)
Record spot := Spot { partners : tree nat; piece_extents : seq nat; piece_begin : seq nat }.

(* The position with these parts along dims, and by how much they are too       *)
(* large.                                                                       *)
Fixpoint position_at (dims counts parts : seq nat) : nat * seq nat :=
  match dims, counts with
  | i :: dims', m :: counts' =>
      let: (p, rest) := position_at dims' counts' parts in
      let: (more, k) := edivn (nth 0 rest i) m in (k * prodn counts' + p, upd rest i more)
  | _, _ => (0, parts)
  end.

(* A step seen backwards.                                                       *)
Inductive hop :=
  | Hop_cut of nat & tree nat    (* along; by device, where its piece begins    *)
  | Hop_join of nat & option cutting & tree (option (row * nat))
                                 (* along; by device, its row and its position there *)
  | Hop_along of seq nat & seq nat & tree (option spot)   (* concats, counts    *)
  | Hop_permute of tree (option nat)   (* by device, the source, if another     *)
  | Hop_exchange of tree (seq transfer).  (* by device, the transfers to it     *)

Definition part_shape (k : option cutting) (q : nat) (m : seq nat) : seq nat :=
  if k is Some (Cutting c n j) then piece_shape c n q j m else m.
Definition part_index (k : option cutting) (q : nat) (m l : seq nat) : seq nat :=
  if k is Some (Cutting c n j) then upd l j ((bounds c n (nth 0 m j) q).1 + nth 0 l j) else l.

(* Element l of what device d holds after the step was element k of what e held.*)
Definition fetch (h : hop) (d : nat) (l : seq nat) : nat * seq nat :=
  match h with
  | Hop_cut j begins => (d, upd l j (get 0 begins d + nth 0 l j))
  | Hop_join i k seats =>
      if get None seats d is Some (Row es ms like, q) then
        let x := nth 0 l i in
        let m := head [::] ms in
        let: (p, y) :=
          if like then edivn x (nth 0 (part_shape k q m) i)
          else locate [seq nth 0 (part_shape k q m) i | m <- ms] x in
        (get 0 es p, part_index k q (if like then m else nth [::] ms p) (upd l i y))
      else (d, l)
  | Hop_along dims counts spots =>
      if get None spots d is Some (Spot es w b) then
        let each (f : nat -> nat) := [seq f i | i <- iota 0 (size w)] in
        let p := (position_at dims counts (each (fun i => nth 0 l i %/ nth 0 w i))).1 in
        (get 0 es p, each (fun i => nth 0 b i + nth 0 l i %% nth 0 w i))
      else (d, l)
  | Hop_permute sources => (if get None sources d is Some e then e else d, l)
  | Hop_exchange transfers =>
      if first (writes d l) (get [::] transfers d) is Some x
      then (source x, plus (got x) (minus l (put x))) else (d, l)
  end.

(* A step that moves elements, or one that adds: the places of what is added.   *)
Inductive turn := Moved of hop | Summed of (nat -> seq nat -> seq (nat * seq nat)).

(* ---- states ----                                                             *)
Record run := Run {
  run_shapes : tree (seq nat);   (* of the tiles, by device                     *)
  hops : seq turn;               (* the last step first                         *)
  base : tree holding            (* what devices held before them               *)
}.

Definition shape_at (s : run) (d : nat) : seq nat := get [::] (run_shapes s) d.

Section Elements.
Variables (V : Type) (total : seq V -> V) (start : tree holding -> nat -> seq nat -> V).
Fixpoint trace (hs : seq turn) (b : tree holding) (d : nat) (l : seq nat) : V :=
  match hs with
  | [::] => start b d l
  | Moved h :: hs' => let: (e, k) := fetch h d l in trace hs' b e k
  | Summed from_ :: hs' => total [seq trace hs' b p.1 p.2 | p <- from_ d l]
  end.
Definition elem_at (s : run) (d : nat) (l : seq nat) : V := trace (hops s) (base s) d l.
End Elements.

(* ---- blocks that move whole ----                                             *)

(* What the numbers are multiples of that a step adds to indices along dimension*)
(* i, or divides them by, or compares them with; 1 where that is not looked at. *)
Section Grain.
Variable rank : nat.
Implicit Types (i : nat) (k : option cutting).

Definition cut_grain k (q i : nat) (m : seq nat) : nat :=
  if k is Some (Cutting c n j) then if j == i then (bounds c n (nth 0 m j) q).1 else 0 else 0.
Definition seat_grain (joins : nat) k i (x : option (row * nat)) : nat :=
  if x is Some (Row _ ms like, q) then
    let m := head [::] ms in
    if like then gcdn (if joins == i then nth 0 (part_shape k q m) i else 0) (cut_grain k q i m) else 1
  else 0.
Definition spot_grain i (x : option spot) : nat :=
  if x is Some (Spot _ w b) then if size w == rank then gcdn (nth 0 w i) (nth 0 b i) else 1 else 0.
Definition transfer_grain i (x : transfer) : nat :=
  if [&& size (put x) == rank, size (got x) == rank & size (box x) == rank]
  then gcdn (nth 0 (put x) i) (gcdn (nth 0 (got x) i) (nth 0 (box x) i)) else 1.
Definition hop_grain (h : hop) i : nat :=
  match h with
  | Hop_cut j begins => if j == i then tree_gcd id begins else 0
  | Hop_join j k seats => tree_gcd (seat_grain j k i) seats
  | Hop_along _ _ spots => tree_gcd (spot_grain i) spots
  | Hop_permute _ => 0
  | Hop_exchange transfers => tree_gcd (foldr (fun x g => gcdn (transfer_grain i x) g) 0) transfers
  end.
Definition turn_grain i (t : turn) : nat := if t is Moved h then hop_grain h i else 1.

(* Where indices are listed, blocks are single ones.                            *)
Definition holding_grain i (h : holding) : nat :=
  if h is Sides ss then if nth (meaning.Run 0 0) ss i is These _ then 1 else 0 else 0.
Definition held_grain (h : tree holding) i : nat := tree_gcd (holding_grain i) h.
Definition run_grain (s : run) i : nat :=
  gcdn (held_grain (base s) i) (foldr (fun t g => gcdn (turn_grain i t) g) 0 (hops s)).
Definition grain (s : run) : seq nat := mkseq (run_grain s) rank.
Definition grain_beside (h : tree holding) (s : run) : seq nat := mkseq (fun i => gcdn (held_grain h i) (run_grain s i)) rank.
End Grain.

Definition same_way (a b : addition) : bool :=
  match a, b with Sum, Sum | Max, Max | Min, Min | Stack, Stack => true | _, _ => false end.

Section Check.
Variables (D rank : nat) (way : option addition).
Implicit Types (s : run) (G : seq (seq nat)).

Definition held (T : tiling) : tree holding := of_seq (Nothing 0) (mkseq (holding_of T) D).
Definition begin (T : tiling) : run :=
  let h := held T in
  Run (of_seq [::] (mkseq (fun d => shape (tile_of (get (Nothing 0) h d))) D)) [::] h.

Fixpoint most (a : nat) (f : nat -> nat) (n : nat) : nat :=
  if n is m.+1 then most (maxn a (f m)) f m else a.
Definition run_largest s : nat := most 0 (fun d => prodn (shape_at s d)) D.

(* ---- conditions ----                                                         *)

Definition once (ds : seq nat) : bool :=
  [&& all (gtn D) ds, size ds == D &
      let marks := fill false D [seq (d, true) | d <- ds] in below D (fun d => get false marks d)].
Definition groups_ok G : bool := all (fun g => size g == row_length G) G && once (flatten G).

Definition permutation_ok (ps : seq (nat * nat)) : bool :=
  [&& uniq (map fst ps), uniq (map snd ps) & perm_eq (map fst ps) (map snd ps)].

Definition divides_ok s (k : option cutting) : bool :=
  if k is Some (Cutting Equal n j) then below D (fun d => n %| nth 0 (shape_at s d) j) else true.

(* All that hold something have the shape of the first of them, but for i.      *)
Definition agree (i : nat) (ms : seq (seq nat)) : bool :=
  if [seq m <- ms | ~~ empty m] is m :: ms' then
    let c := upd m i 0 in all (fun m' => upd m' i 0 == c) ms'
  else true.
Definition joins_ok s i G : bool := all (fun g => agree i [seq shape_at s e | e <- g]) G.

Definition divides_along_ok s (splits counts : seq nat) : bool :=
  all (fun i => let n := parts_along splits counts i in below D (fun d => n %| nth 0 (shape_at s d) i)) (iota 0 rank).
Definition one_shape_ok s G : bool := all (fun g => constant [seq shape_at s e | e <- g]) G.

Definition by_target (ts : seq transfer) : tree (seq transfer) :=
  foldl (fun t x => set t (target x) (x :: get [::] t (target x))) (blank [::] (room D)) (rev ts).
Definition within_ok s (ts : seq transfer) (new : shapes) : bool :=
  all (fun x => all2 leq (plus (put x) (box x)) (shape_in new (target x)) &&
                all2 leq (plus (got x) (box x)) (shape_at s (source x))) ts.
Definition transfers_ok s (ts : seq transfer) (new : shapes) (sorted : tree (seq transfer)) : bool :=
  within_ok s ts new &&
  below D (fun t => let mine := get [::] sorted t in
                    every (shape_in new t) (fun l => count (writes t l) mine == 1)).

(* ---- steps ----                                                              *)

(* The devices of G with their seats.                                           *)
Definition row_with s (g : seq nat) : row :=
  let ms := [seq shape_at s e | e <- g] in
  Row (of_seq 0 g) ms (if ms is m :: ms' then all (pred1 m) ms' else true).
Definition seats s G : tree (option (row * nat)) :=
  fill None D (flatten [seq let r := row_with s g in
                            [seq (p.2, Some (r, p.1)) | p <- zip (iota 0 (size g)) g] | g <- G]).

Definition joined_alike (i n : nat) (c : seq nat) : seq nat :=
  if empty c then zeros c else upd c i (n * nth 0 c i).
Definition joined_at (i n : nat) (k : option cutting) (at_ : tree (option (row * nat))) (d : nat) : seq nat :=
  if get None at_ d is Some (Row _ ms like, q) then
    if like then joined_alike i n (part_shape k q (head [::] ms))
    else joined_shape i [seq part_shape k q m | m <- ms]
  else [::].

Definition places (G : seq (seq nat)) : tree nat :=
  fill 0 D (flatten [seq [seq (p.2, p.1) | p <- zip (iota 0 (size g)) g] | g <- G]).

Inductive outcome := Stuck of reason | Goes of run & nat.   (* and the price    *)

Definition add_hop s (new : nat -> seq nat) (h : hop) : run :=
  Run (of_seq [::] (mkseq new D)) (Moved h :: hops s) (base s).
Definition add_sums s (new : nat -> seq nat) (from_ : nat -> seq nat -> seq (nat * seq nat)) : run :=
  Run (of_seq [::] (mkseq new D)) (Summed from_ :: hops s) (base s).

Definition add_cut s c n j (place : nat -> nat) : run :=
  add_hop s (fun d => piece_shape c n (place d) j (shape_at s d))
    (Hop_cut j (of_seq 0 (mkseq (fun d => (bounds c n (nth 0 (shape_at s d) j) (place d)).1) D))).
Definition cut_run s c n j (place : nat -> nat) : outcome :=
  if ~~ divides_ok s (Some (Cutting c n j)) then Stuck Indivisible else Goes (add_cut s c n j place) 0.

(* A step in rows of one device moves nothing.                                  *)
Definition toll G (costs : nat) : nat := if 1 < row_length G then costs else 0.

Definition join_run s i (k : option cutting) G (costs : run -> nat) : outcome :=
  if ~~ groups_ok G then Stuck Groups
  else if ~~ divides_ok s k then Stuck Indivisible
  else if ~~ joins_ok s i G then Stuck Ragged
  else
    let at_ := seats s G in
    let s' := add_hop s (joined_at i (row_length G) k at_) (Hop_join i k at_) in
    Goes s' (toll G (costs s')).

(* Without splits pieces are whole tiles.                                       *)
Definition spots s G (splits counts : seq nat) : tree (option spot) :=
  fill None D (flatten [seq let es := of_seq 0 g in
                            let w := extents_along splits counts (shape_at s (head 0 g)) in
                            [seq (p.2, Some (Spot es w [seq part_along splits counts p.1 i * nth 0 w i | i <- iota 0 (size w)]))
                               | p <- zip (iota 0 (size g)) g] | g <- G]).
Definition along_shape (dims counts : seq nat) (at_ : tree (option spot)) (d : nat) : seq nat :=
  if get None at_ d is Some (Spot _ w _) then [seq nth 0 w i * parts_along dims counts i | i <- iota 0 (size w)]
  else [::].
Definition along_run s (splits dims counts : seq nat) G (costs : run -> nat) : outcome :=
  if ~~ (groups_ok G && (prodn counts == row_length G)) then Stuck Groups
  else if ~~ divides_along_ok s splits counts then Stuck Indivisible
  else if ~~ one_shape_ok s G then Stuck Ragged
  else
    let at_ := spots s G splits counts in
    let s' := add_hop s (along_shape dims counts at_) (Hop_along dims counts at_) in
    Goes s' (toll G (costs s')).

Definition permute_run s (sources : tree (option nat)) (moved : bool) : outcome :=
  Goes (add_hop s (fun d => shape_at s (if get None sources d is Some e then e else d)) (Hop_permute sources))
       (if moved then run_largest s else 0).

Definition add_row s G : run :=
  let rows := fill [::] D (flatten [seq [seq (p.2, g) | p <- zip (iota 0 (size g)) g] | g <- G]) in
  add_sums s (shape_at s) (fun d l => [seq (e, l) | e <- get [::] rows d]).
Definition cut_in (a : adding) (n : nat) : option cutting :=
  if a is Reducescatter c i then Some (Cutting c n i) else None.
Definition rows_ok s (a : adding) G : bool := if a is Unreduce then true else one_shape_ok s G.
Definition adds_ok (how : addition) : bool := if way is Some a then same_way a how else false.
Definition adding_run s (a : adding) (how : addition) G : outcome :=
  let n := row_length G in
  if ~~ groups_ok G then Stuck Groups
  else if ~~ divides_ok s (cut_in a n) then Stuck Indivisible
  else if ~~ rows_ok s a G then Stuck Ragged
  else if ~~ adds_ok how then Stuck Addends
  else
    let at_ := places G in
    match a with
    | Reducescatter c i => Goes (add_cut (add_row s G) c n i (fun d => get 0 at_ d)) (toll G (run_largest s))
    | Allreduce => Goes (add_row s G) (toll G (2 * run_largest s))
    | Unreduce => Goes (add_sums s (shape_at s) (fun d l => if get 0 at_ d == 0 then [:: (d, l)] else [::])) 0
    | Embed i =>
        Goes (add_sums s (fun d => upd (shape_at s d) i (n * nth 0 (shape_at s d) i))
                (fun d l => let m := nth 0 (shape_at s d) i in
                            if nth 0 l i %/ m == get 0 at_ d then [:: (d, upd l i (nth 0 l i %% m))] else [::])) 0
    end.

(* How many elements are written to each device.                                *)
Definition written (ts : seq transfer) : tree nat :=
  foldl (fun t x => set t (target x) (get 0 t (target x) + prodn (box x))) (blank 0 (room D)) ts.

Definition move_run s (m : move) : outcome :=
  match m with
  | Dynslice c j t =>
      let G := rows_of t in
      if ~~ groups_ok G then Stuck Groups
      else let at_ := places G in cut_run s c (row_length G) j (fun d => get 0 at_ d)
  | Dynslice_part c j n L =>
      let at_ := of_seq 0 (row_of_one L) in cut_run s c n j (fun d => get 0 at_ d)
  | Allgather i t => join_run s i None (rows_of t) run_largest
  | Alltoall c j i t =>
      let G := rows_of t in join_run s i (Some (Cutting c (row_length G) j)) G (fun=> run_largest s)
  | Allgather_dims dims ms t => along_run s [::] dims ms (rows_of t) run_largest
  | Alltoall_dims splits concats ms t => along_run s splits concats ms (rows_of t) (fun=> run_largest s)
  | Allpermute P =>
      let ds := row_of_one P in
      if ~~ once ds then Stuck Bijection
      else permute_run s (of_seq None (map Some ds)) (ds != iota 0 D)
  | Pairs ps =>
      if ~~ permutation_ok ps then Stuck Bijection
      else permute_run s (fill None D [seq (p.2, Some p.1) | p <- ps]) (has (fun p => p.1 != p.2) ps)
  | Exchange ts new =>
      let sorted := by_target ts in
      if ~~ transfers_ok s ts new sorted then Stuck Transfers
      else let s' := add_hop s (shape_in new) (Hop_exchange sorted) in
           Goes s' (if has (fun x => target x != source x) ts then run_largest s' else 0)
  | Adding a how t => adding_run s a how (rows_of t)
  | Exchange_add how ts new =>
      if ~~ within_ok s ts new then Stuck Transfers
      else if ~~ adds_ok how then Stuck Addends
      else
        let sorted := by_target ts in
        Goes (add_sums s (shape_in new) (fun d l =>
                [seq (source x, plus (got x) (minus l (put x))) | x <- get [::] sorted d & writes d l x]))
             (if has (fun x => target x != source x) ts
              then let w := written ts in most 0 (fun d => get 0 w d) D else 0)
  end.

(* ---- claims ----                                                             *)

Definition extents s : seq nat := [seq most 0 (fun d => nth 0 (shape_at s d) i) D | i <- iota 0 rank].
Definition tile_claim_ok s (st : step) : bool := if tile_claim st is Some c then c == extents s else true.

Section Claims.
(* Whether an element is of an index; and the state from here on, if devices    *)
(* hold what a tiling says.                                                     *)
Variables (V : Type) (total : seq V -> V) (start : tree holding -> nat -> seq nat -> V).
Variables (is_of : V -> seq nat -> bool) (agrees : run -> tiling -> option run).
Variable blocks_of : run -> seq nat.   (* blocks of elements that go by index *)
Local Notation elem_at := (elem_at total start).

Definition at_claim_ok s (st : step) : bool :=
  if at_claim st is Some rows then
    let bases := of_seq [::] rows in
    let cs := of_seq [::] (if shapes_claim st is Some cs then cs else [::]) in
    let g := blocks_of s in
    below D (fun d =>
      let c := shape_at s d in let b := get [::] bases d in
      (if shapes_claim st is Some _ then get [::] cs d == c else true) &&
      every_block g c (fun l => is_of (elem_at s d l) (plus b l)))
  else true.

Definition step_run s (st : step) : outcome :=
  match move_run s (move_of st) with
  | Stuck r => Stuck r
  | Goes s' price =>
      if ~~ tile_claim_ok s' st then Stuck Tile_claim
      else if map_claim st is Some T then
        if agrees s' T is Some s'' then if ~~ at_claim_ok s' st then Stuck Map_claim else Goes s'' price
        else Stuck Map_claim
      else if ~~ at_claim_ok s' st then Stuck Map_claim else Goes s' price
  end.
End Claims.
End Check.

(* ---- the verdict ----                                                        *)
Record verdict := Verdict { first_wrong : option (nat * reason); v_height : nat; v_cost : nat }.

Section Go.
Variables (D : nat) (one_step : run -> step -> outcome) (finish : run -> seq run -> option (nat * reason)).
(* k steps are done, with these figures; ss are the states after them, the last *)
(* first.                                                                       *)
Fixpoint go (sts : seq step) (s : run) (ss : seq run) (k height cost : nat) : verdict :=
  if sts is st :: sts' then
    match one_step s st with
    | Stuck r => Verdict (Some (k, r)) height cost
    | Goes s' price => go sts' s' (s' :: ss) k.+1 (maxn height (run_largest D s')) (cost + price)
    end
  else Verdict (finish s ss) height cost.
End Go.

Definition check_bound (P : program) : nat :=
  let D := devices P in maxn (run_largest D (begin D (from P))) (run_largest D (begin D (to P))).

(* ---- without addends ----                                                    *)
Definition index_at (b : tree holding) (d : nat) (l : seq nat) : seq nat := elem (tile_of (get (Nothing 0) b d)) l.

Section Whole.
Variables (D rank : nat).
Local Notation elem_at := (elem_at the_one index_at).

(* Whether every device holds what it should.                                   *)
Definition holds (s : run) (h : tree holding) : bool :=
  let g := grain_beside rank h s in
  below D (fun d =>
    let a := tile_of (get (Nothing 0) h d) in
    let c := shape_at s d in
    (c == shape a) && every_block g c (fun l => elem_at s d l == elem a l)).
Definition rests_at (s : run) (T : tiling) : option run :=
  let h := held D T in if holds s h then Some (Run (run_shapes s) [::] h) else None.

(* Whether every device holds one box in order: base is what it holds at 0.     *)
Definition boxes_ok (s : run) : bool :=
  let g := grain rank s in
  below D (fun d => let c := shape_at s d in let b := elem_at s d (zeros c) in
                    every_block g c (fun l => elem_at s d l == plus b l)).

(* After how many of these states not all devices hold boxes.                   *)
Fixpoint first_unboxed (k : nat) (ss : seq run) : option nat :=
  if ss is s :: ss' then if boxes_ok s then first_unboxed k.+1 ss' else Some k else None.

Definition whole_step : run -> step -> outcome := step_run D rank None the_one index_at (fun v i => v == i) rests_at (grain rank).
End Whole.

Definition check_whole (P : program) : verdict :=
  let D := devices P in
  let rank := rank_of (from P) in
  let finish s ss :=
    if holds D rank s (held D (to P)) then None
    else if deals_somewhere P then Some (size (steps P), End)
    else if first_unboxed D rank 0 (rev ss) is Some k then Some (k, Not_a_box)
    else Some (size (steps P), End) in
  go D (whole_step D rank) finish (steps P) (begin D (from P)) [::] 0 (check_bound P) 0.

(* ---- addends ----                                                            *)
Section Sums.
Variables (way : addition) (D K : nat) (addends : tree nat).   (* by device, that of `from` *)
Definition term_at (b : tree holding) (d : nat) (l : seq nat) : sum := [:: (get 0 addends d, index_at b d l)].
Local Notation elem_at := (elem_at (@flatten term) term_at).
Implicit Types (s : run) (T : tiling).

Definition all_of_ok (v : sum) (i : seq nat) : bool := all (fun x => x.2 == i) v.
Definition equal_sums (v w : sum) : bool :=
  match way with Max | Min => all (mem w) v && all (mem v) w | Sum | Stack => (v == w) || perm_eq v w end.

Definition shapes_ok s (h : tree holding) : bool :=
  below D (fun d => shape_at s d == shape (tile_of (get (Nothing 0) h d))).
Definition indices_ok s (h : tree holding) : bool :=
  below D (fun d => every (shape_at s d) (fun l => all_of_ok (elem_at s d l) (index_at h d l))).
Definition replicas_ok s T : bool :=
  let shares := [seq share_of T d | d <- iota 0 D] in
  let at_ := of_seq None shares in
  below D (fun d =>
    let mine := get None at_ d in
    if mine is Some _ then
      let e := index mine shares in
      (e == d) || every (shape_at s d) (fun l => equal_sums (elem_at s d l) (elem_at s e l))
    else true).
Definition complete_ok s T (h : tree holding) : bool :=
  let at_ := of_seq None [seq share_of T d | d <- iota 0 D] in
  let fs := firsts D T in
  below D (fun d =>
    if get None at_ d is Some (t, j) then
      let es := if way is Stack then [:: d]
                else [seq e <- fs | if get None at_ e is Some (t', _) then t' == t else false] in
      every (shape_at s d) (fun l =>
        let i := index_at h d l in
        let vs := [seq elem_at s e l | e <- es] in
        below K (fun k =>
          let n := sumn [seq times way (k, i) v | v <- vs] in
          match way with Sum => n == 1 | Max | Min => 0 < n | Stack => n == (k == j) end))
    else true).

Definition differs s T : option reason :=
  let h := held D T in
  if ~~ (shapes_ok s h && indices_ok s h) then Some End
  else if ~~ replicas_ok s T then Some Replicas
  else if ~~ complete_ok s T h then Some Addends
  else None.
Definition still_at s T : option run := if differs s T is None then Some s else None.
Definition sums_step rank : run -> step -> outcome :=
  step_run D rank (Some way) (@flatten term) term_at all_of_ok still_at (fun=> [::]).
End Sums.

Definition check_sums (way : addition) (P : program) : verdict :=
  let D := devices P in
  let K := addend_count (from P) in
  let addends := of_seq 0 (mkseq (fun d => if share_of (from P) d is Some (_, k) then k else 0) D) in
  let finish s (ss : seq run) := if differs way D K addends s (to P) is Some r then Some (size (steps P), r) else None in
  go D (sums_step way D K addends (rank_of (from P))) finish (steps P) (begin D (from P)) [::] 0 (check_bound P) 0.

Definition check (P : program) : verdict :=
  if addition_of P is Some way then check_sums way P else check_whole P.
