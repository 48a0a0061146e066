(* What steps do to localtypes and tile numbers: words that S4, its lemmas and  *)
(* the certifier share.  There is no theorem here, so that the certifier can be *)
(* compiled without proofs.                                                     *)
From mathcomp Require Import all_ssreflect.
Require Import notation fig06_syntax fig07_base_offsets fig08_typing def5_weak def6_devices fig10_low_level.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* The step back.                                                               *)
Definition weak_rev (p : weak) : weak :=
  match p with
  | wgather i n => wslice i n
  | wslice i n => wgather i n
  | walltoall i j n => walltoall j i n
  end.

(* Every tile when there are N_i along dimension i.                             *)
Fixpoint tiles (N : seq nat) : seq (seq nat) :=
  if N is n :: N' then [seq a :: t | a <- iota 0 n, t <- tiles N'] else [:: [::]].

(* The tile of localtype c in which tile t of the finer localtype b lies.       *)
Definition up (b c t : seq nat) : seq nat :=
  [seq nth 0 t k * nth 0 b k %/ nth 0 c k | k <- iota 0 (size t)].

(* Where alltoalls and allgathers bring a tile.                                 *)
Definition move (q : weak) (t : seq nat) : seq nat :=
  match q with
  | wgather i n => gather_tile i n t
  | walltoall i j n => alltoall_tile i j n t
  | wslice _ _ => t
  end.
Definition moves (w : seq (weak * seq nat)) (t : seq nat) : seq nat :=
  foldl (fun t q => move q.1 t) t w.
