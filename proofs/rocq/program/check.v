(* Whether a Program is right, decided.                                         *)
(*                                                                              *)
(* The state is not written out: what a device holds at a local index is traced *)
(* back through the steps to the start, or to the last claim by `map` that held.*)
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

(* ---- states ----                                                             *)
Record run := Run {
  run_shapes : tree (seq nat);   (* of the tiles, by device                     *)
  hops : seq hop;                (* the last step first                         *)
  base : tree holding            (* what devices held before them               *)
}.

Fixpoint trace (hs : seq hop) (b : tree holding) (d : nat) (l : seq nat) : seq nat :=
  if hs is h :: hs' then let: (e, k) := fetch h d l in trace hs' b e k
  else elem (tile_of (get (Nothing 0) b d)) l.

Definition shape_at (s : run) (d : nat) : seq nat := get [::] (run_shapes s) d.
Definition elem_at (s : run) (d : nat) (l : seq nat) : seq nat := trace (hops s) (base s) d l.

Section Check.
Variables (D rank : nat).
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
Definition transfers_ok s (ts : seq transfer) (new : shapes) (sorted : tree (seq transfer)) : bool :=
  all (fun x => all2 leq (plus (put x) (box x)) (shape_in new (target x)) &&
                all2 leq (plus (got x) (box x)) (shape_at s (source x))) ts &&
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
  Run (of_seq [::] (mkseq new D)) (h :: hops s) (base s).

Definition cut_run s c n j (place : nat -> nat) : outcome :=
  if ~~ divides_ok s (Some (Cutting c n j)) then Stuck Indivisible
  else Goes (add_hop s (fun d => piece_shape c n (place d) j (shape_at s d))
               (Hop_cut j (of_seq 0 (mkseq (fun d => (bounds c n (nth 0 (shape_at s d) j) (place d)).1) D)))) 0.

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
  end.

(* ---- claims ----                                                             *)

(* Whether every device holds what it should.                                   *)
Definition holds s (h : tree holding) : bool :=
  below D (fun d =>
    let a := tile_of (get (Nothing 0) h d) in
    let c := shape_at s d in
    (c == shape a) && every c (fun l => elem_at s d l == elem a l)).

Definition extents s : seq nat := [seq most 0 (fun d => nth 0 (shape_at s d) i) D | i <- iota 0 rank].

Definition tile_claim_ok s (st : step) : bool := if tile_claim st is Some c then c == extents s else true.
Definition at_claim_ok s (st : step) : bool :=
  if at_claim st is Some rows then
    let bases := of_seq [::] rows in
    let cs := of_seq [::] (if shapes_claim st is Some cs then cs else [::]) in
    below D (fun d =>
      let c := shape_at s d in let b := get [::] bases d in
      (if shapes_claim st is Some _ then get [::] cs d == c else true) &&
      every c (fun l => elem_at s d l == plus b l))
  else true.

Definition step_run s (st : step) : outcome :=
  match move_run s (move_of st) with
  | Stuck r => Stuck r
  | Goes s' price =>
      if ~~ tile_claim_ok s' st then Stuck Tile_claim
      else if map_claim st is Some T then
        let h := held T in
        if ~~ holds s' h || ~~ at_claim_ok s' st then Stuck Map_claim
        else Goes (Run (run_shapes s') [::] h) price
      else if ~~ at_claim_ok s' st then Stuck Map_claim else Goes s' price
  end.

(* ---- the verdict ----                                                        *)

(* Whether every device holds one box in order: base is what it holds at 0.     *)
Definition boxes_ok s : bool :=
  below D (fun d => let c := shape_at s d in let b := elem_at s d (zeros c) in
                    every c (fun l => elem_at s d l == plus b l)).

(* After how many of these states not all devices hold boxes.                   *)
Fixpoint first_unboxed (k : nat) (ss : seq run) : option nat :=
  if ss is s :: ss' then if boxes_ok s then first_unboxed k.+1 ss' else Some k else None.

Record verdict := Verdict { first_wrong : option (nat * reason); v_height : nat; v_cost : nat }.

(* k steps are done, with these figures; ss are the states after them, the last *)
(* first.                                                                       *)
Fixpoint go (finish : run -> seq run -> option (nat * reason)) (sts : seq step) (s : run)
    (ss : seq run) (k height cost : nat) : verdict :=
  if sts is st :: sts' then
    match step_run s st with
    | Stuck r => Verdict (Some (k, r)) height cost
    | Goes s' price => go finish sts' s' (s' :: ss) k.+1 (maxn height (run_largest s')) (cost + price)
    end
  else Verdict (finish s ss) height cost.
End Check.

Definition check (P : program) : verdict :=
  let D := devices P in
  let s := begin D (from P) in
  let goal := begin D (to P) in
  let finish s ss :=
    if holds D s (base goal) then None
    else if deals_somewhere P then Some (size (steps P), End)
    else if first_unboxed D 0 (rev ss) is Some k then Some (k, Not_a_box)
    else Some (size (steps P), End) in
  go D (rank_of (from P)) finish (steps P) s [::] 0 (maxn (run_largest D s) (run_largest D goal)) 0.

Definition check_bound (P : program) : nat :=
  let D := devices P in maxn (run_largest D (begin D (from P))) (run_largest D (begin D (to P))).
