(* Certificates in text, read, and what is certified of a Program.              *)
(*                                                                              *)
(* The lines of spec/program/certify_text.h stand with one Program.  What they  *)
(* claim of the paper's steps the certifier decides; that its yes is right is   *)
(* certified.v.  What no theorem is about gets no answer.                       *)
From Coq Require Import Ascii String.
From mathcomp Require Import all_ssreflect.
Require Import notation program meaning check reader.
Require certify along.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Local Notation "'bind' x <- p ;; q" := (and_then p (fun x => q)) (at level 200, x name, p at level 100, q at level 200).
Local Notation "'do' p ;; q" := (and_then p (fun=> q)) (at level 200, p at level 100, q at level 200).

(* ---- what the lines say ----                                                 *)
Record claims := Claims {
  on_cost : bool;       (* a line says something of what sequences cost         *)
  bounded : bool;       (* lower_bound stands there                             *)
  several : bool;       (* scope several_dims                                   *)
  of_sums : bool;       (* a line `addends`                                     *)
  fact_count : nat;
  ended : bool;
  lines : certify.certificate   (* the last line first                          *)
}.
Definition no_claims : claims := Claims false false false false 0 false (certify.Certificate 0 [::] [::]).

Definition with_lines (c : claims) (ls : certify.certificate) : claims :=
  Claims true (bounded c) (several c) (of_sums c) (fact_count c) (ended c) ls.

Definition claim_words : seq word :=
  map codes [:: "end"; "fact"; "scope"; "lower_bound"; "potential"; "refuted"; "addends"]%string.

Definition three : parser (nat * nat * nat) :=
  bind s <- ints ;; if s is [:: i; j; n] then give (i, j, n) else fail.

(* A line that begins with this word.                                           *)
Definition claim (w : word) (c : claims) : parser claims :=
  let ls := lines c in
  let C := certify.lower_bound ls in let pi := certify.potentials ls in let rs := certify.refutations ls in
  if w == codes "end" then
    give (Claims (on_cost c) (bounded c) (several c) (of_sums c) (fact_count c) true ls)
  else if w == codes "fact" then
    do bare ;; do ints ;;
    give (Claims (on_cost c) (bounded c) (several c) (of_sums c) (fact_count c).+1 (ended c) ls)
  else if w == codes "scope" then
    do need (~~ several c) ;; do keyword "several_dims" ;;
    give (Claims true (bounded c) true (of_sums c) (fact_count c) (ended c) ls)
  else if w == codes "lower_bound" then
    do need (~~ bounded c) ;; bind n <- number ;;
    give (Claims true true (several c) (of_sums c) (fact_count c) (ended c) (certify.Certificate n pi rs))
  else if w == codes "potential" then
    bind b <- ints_from 1 ;; bind p <- number ;; bind p' <- number ;;
    give (with_lines c (certify.Certificate C ((b, (p, p')) :: pi) rs))
  else if w == codes "refuted" then
    bind b <- ints_from 1 ;; bind ps <- list_in "[" "]" three ;;
    give (with_lines c (certify.Certificate C pi ((b, ps) :: rs)))
  else if w == codes "addends" then
    do ints_from 1 ;; do number_from 1 ;; do number ;;
    give (Claims true (bounded c) (several c) true (fact_count c) (ended c) ls)
  else fail.

(* The lines of the Program, empty ones in place of the others; and the claims. *)
(* begun: a Program has.                                                        *)
Inductive parted := Parted of seq (seq token) & claims | Bad_line of nat.
Definition claim_in (ts : seq token) : option (word * seq token) :=
  if ts is Word w :: rest then if w \in claim_words then Some (w, rest) else None else None.
Fixpoint part (k : nat) (begun : bool) (c : claims) (out : seq (seq token)) (ls : seq (seq token)) : parted :=
  if ls is ts :: ls' then
    if claim_in ts is Some (w, rest) then
      if begun && ~~ ended c then
        if claim w c rest is Some (c', [::]) then part k.+1 begun c' ([::] :: out) ls' else Bad_line k
      else Bad_line k
    else if ended c && ~~ nilp ts then Bad_line k
    else part k.+1 (begun || (if ts is Header _ :: _ then true else false)) c (ts :: out) ls'
  else Parted (rev out) c.

Fixpoint version_of (ls : seq (seq token)) : nat :=
  match ls with (Header v :: _) :: _ => v | _ :: ls' => version_of ls' | [::] => 0 end.

(* Which claims may stand together, and with what Program.                      *)
Definition claims_fit (version : nat) (P : program) (c : claims) : bool :=
  let ls := lines c in
  let adds := if adds_in (from P) is Some _ then true else false in
  [&& several c ==> [&& nilp (certify.potentials ls), nilp (certify.refutations ls) & ~~ of_sums c],
      (version == 2) ==> [&& (if from P is Viewed _ _ then false else true), ~~ (several c && adds),
                              several c || adds & fact_count c == 0],
      on_cost c ==> bounded c
    & (on_cost c || (0 < fact_count c)) ==> ended c].

Inductive certificate_reading :=
  | Certificate_of of nat & program & claims    (* version                      *)
  | No_certificate of nat.                      (* for what stands in this line *)

Definition in_order (c : claims) : claims :=
  let ls := lines c in
  Claims (on_cost c) (bounded c) (several c) (of_sums c) (fact_count c) (ended c)
    (certify.Certificate (certify.lower_bound ls) (rev (certify.potentials ls)) (rev (certify.refutations ls))).

Definition read_certificate (s : seq byte) : certificate_reading :=
  let ls := lines_of s in
  match part 1 false no_claims [::] ls with
  | Bad_line k => No_certificate k
  | Parted program_lines c =>
      match read_lines 1 Nowhere [::] program_lines with
      | Programs [:: (_, P)] =>
          if claims_fit (version_of ls) P c then Certificate_of (version_of ls) P (in_order c)
          else No_certificate (size ls)
      | Programs _ => No_certificate (size ls)
      | Refused k => No_certificate k
      end
  end.

(* ---- what is certified ----                                                  *)

(* A tiling as the certifier takes it: over all devices, blocks that are all    *)
(* alike.  Of another it says nothing.                                          *)
Definition even_dim (e : dim) : bool :=
  if cut_by e is Blocks c then
    [&& 0 < whole e, c * tile_count (digits e) == whole e, before e == 0 & behind e == 0]
  else false.
Definition tile_extent (e : dim) : nat := if cut_by e is Blocks c then c else 0.
Definition even_tiling (D : nat) (T : tiling) : option certify.tiling :=
  if T is Grid es P None None then
    if (P == D) && all even_dim es then
      Some (certify.Tiling (map tile_extent es) (map whole es)
              [seq [seq certify.Digit (stride x) (radix x) | x <- digits e] | e <- es])
    else None
  else None.
Definition ends_of (P : program) : option certify.program :=
  if (even_tiling (devices P) (from P), even_tiling (devices P) (to P)) is (Some F, Some T)
  then Some (certify.Program (devices P) F T) else None.

(* An end among steps along several dimensions: over all devices, in any order, *)
(* tiles that are one box each, all alike.  The shape, and where each begins.   *)
Definition block_extent (e : dim) : option nat :=
  let N := tile_count (digits e) in
  let even c := if [&& 0 < whole e, c * N == whole e, before e == 0 & behind e == 0] then Some c else None in
  match cut_by e with
  | Blocks c | Dealt c => even c
  | Balanced => even (whole e %/ N)
  | _ => None
  end.
Definition one_run (s : side) : bool := if s is These ls then ls == iota (head 0 ls) (size ls) else true.
Definition is_box (c : seq nat) (h : holding) : bool :=
  if h is Sides ss then all one_run ss && (map side_size ss == c) else false.
Definition begins (h : holding) : seq nat := if h is Sides ss then [seq side_at s 0 | s <- ss] else [::].
Definition boxes_of (D : nat) (T : tiling) : option (seq nat * seq (seq nat)) :=
  if T is Grid es P order _ then
    let cs := map block_extent es in
    let c := pmap id cs in
    let hs := [seq holding_of T d | d <- iota 0 D] in
    if [&& P == D, all isSome cs & all (is_box c) hs] then Some (c, map begins hs) else None
  else None.

Inductive silence := Of_sums | Of_facts.
Inductive certified :=
  | Nothing_claimed
  | No_theorem of silence
  | Not_certified
  | Is_certified of seq nat & seq nat & seq nat.   (* global shape, tiles of both ends *)
Definition certify_claims (version : nat) (P : program) (c : claims) : certified :=
  if ~~ on_cost c && (fact_count c == 0) then Nothing_claimed
  else if 0 < fact_count c then No_theorem Of_facts
  else if several c then
    if (boxes_of (devices P) (from P), boxes_of (devices P) (to P)) is (Some (c1, us), Some (c2, vs)) then
      let g := global_of (from P) in
      if along.certify_along (devices P) g c1 c2 [seq p.1 ++ p.2 | p <- zip us vs] (certify.lower_bound (lines c))
      then Is_certified g c1 c2 else Not_certified
    else Not_certified
  else if version == 2 then No_theorem Of_sums
  else if ends_of P is Some E then
    if certify.certify E (lines c)
    then Is_certified (certify.global (certify.from E)) (certify.tile (certify.from E)) (certify.tile (certify.to E))
    else Not_certified
  else Not_certified.

(* Steps that are among those of the scope: these of Fig. 10, and with `wide`   *)
(* those along several dimensions.                                              *)
Definition in_scope (wide : bool) (st : step) : bool :=
  match move_of st with
  | Allgather_dims _ _ _ | Alltoall_dims _ _ _ _ => wide
  | Dynslice _ _ _ | Dynslice_part _ _ _ _ | Allgather _ _ | Alltoall _ _ _ _ | Allpermute _ | Pairs _ => true
  | _ => false
  end.

Inductive optimality := Not_claimed | Not_comparable | Optimal | Not_optimal.
(* Of a Program that is right, with this verdict.                               *)
Definition optimality_of (P : program) (v : verdict) (c : claims) : optimality :=
  let C := certify.lower_bound (lines c) in
  if ~~ on_cost c then Not_claimed
  else if ~~ ((C <= v_cost v) && all (in_scope (several c)) (steps P)) then Not_comparable
  else if (v_height v <= check_bound P) && (v_cost v == C) then Optimal
  else Not_optimal.
