(* Low-level collectives, as relations on device assignments and as functions   *)
(* of tile maps.                                                                *)
(*                                                                              *)
(* Paper: Fig. 10, Sec. 6.  Errata: E4 (i <> j in ALLTOALL), E12 (ALLGATHER:    *)
(* beta' o phi'^-1 in the third premise; PERMUTE: one mesh, equal globaltypes), *)
(* E14 (phi' is not unique under replication).  Repair (R): we work modulo Def. *)
(* 6.2, that is on f = beta o phi^-1.  There allgather and alltoall are         *)
(* functions (S1), and => is the physical form in the second half of this file. *)
(* That both halves agree is a theorem: fig10_physical.v.                       *)
(*                                                                              *)
(* As for Fig. 8 only well-formed types count.                                  *)
From mathcomp Require Import all_ssreflect.
Require Import notation fig06_syntax fig07_base_offsets fig08_typing def5_weak def6_devices.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* ---- Fig. 10 as it stands: on <phi, T[tau]> ----                             *)
Inductive low :=
  | low_allgather of nat & name       (* allgather(x), x in dimension i    *)
  | low_alltoall of nat & nat & name  (* alltoall(x, j), x in dimension i  *)
  | low_dynslice of nat & name        (* dynslice(i, x)                    *)
  | low_allpermute.                   (* allpermute                        *)

Definition low_op (p : low) : op :=
  match p with
  | low_allgather _ _ => Allgather
  | low_alltoall _ _ _ => Alltoall
  | low_dynslice _ _ => Dynslice
  | low_allpermute => Allpermute
  end.

Section Literal.
Variables (H : mesh) (D : finType).

(* <phi, T[tau]>                                                                *)
Record assignment := Assignment { map_of : device_map H D; type_of : type }.
Definition beta (a : assignment) : device_assignment H D :=
  (map_of a, @base_offset_map H (type_of a)).
Definition same_tiles (a b : assignment) : Prop := equivalent_assignments (beta a) (beta b).
Definition is_assignment (a : assignment) : bool := wf_mesh H && wf_type H (type_of a).
Definition assignment_size (a : assignment) : nat := localsize (type_of a).

Definition low_step (p : low) (a a'' : assignment) : Prop :=
  let e := type_of a in
  is_assignment a /\
  match p with
  | low_allgather i x =>
      (* e_i = c_i{ys,x,xs}s_i, e'_i = c_i{x,ys,xs}s_i, e''_i = (c_i * n){ys,xs}s_i,
         beta' o phi'^-1 = beta o phi^-1 with phi' that of the result *)
      exists ys xs, let d := nth no_dim e i in
      [/\ i < rank e, x \in names H, dim_xs d = ys ++ x :: xs,
          same_tiles (Assignment (map_of a'') (upd e i (Dim (dim_c d) (x :: ys ++ xs) (dim_s d)))) a
        & type_of a'' = upd e i (Dim (dim_c d * axis_size H x) (ys ++ xs) (dim_s d))]
  | low_alltoall i j x =>
      (* and e''_j = (c_j div n){x,xs_j}s_j with c_j mod n = 0 *)
      exists ys xs, let d := nth no_dim e i in let d' := nth no_dim e j in
      [/\ [/\ i < rank e, j < rank e & i != j],
          x \in names H /\ axis_size H x %| dim_c d', dim_xs d = ys ++ x :: xs,
          same_tiles (Assignment (map_of a'') (upd e i (Dim (dim_c d) (x :: ys ++ xs) (dim_s d)))) a
        & type_of a'' = upd (upd e i (Dim (dim_c d * axis_size H x) (ys ++ xs) (dim_s d))) j
                            (Dim (dim_c d' %/ axis_size H x) (x :: dim_xs d') (dim_s d'))]
  | low_dynslice i x =>
      (* strong dynslice, phi unchanged *)
      map_of a'' = map_of a /\ t_dynslice H i x e = Some (type_of a'')
  | low_allpermute =>
      (* beta' o phi'^-1 = beta o phi^-1 o pi, pi a bijection of D; equal globaltypes (E12) *)
      [/\ is_assignment a'', globaltype (type_of a'') = globaltype e
        & exists2 pi : D -> D, bijective pi & tile_map (beta a'') =1 tile_map (beta a) \o pi]
  end.

End Literal.

(* ---- The physical form: on tile maps f : D -> tiles ----                     *)
(* Device d holds tile t = f(d), 0 <= t_i < N_i = g_i / c_i.                    *)
Inductive phys :=
  | pweak of weak                     (* allgather, dynslice, alltoall by n *)
  | ppermute.                         (* allpermute                         *)

Definition phys_op (p : phys) : op := if p is pweak q then weak_op q else Allpermute.

(* t_i := t_i div n                                                             *)
Definition gather_tile (i n : nat) (t : seq nat) : seq nat := upd t i (nth 0 t i %/ n).
(* t_j := t_j * n + (t_i mod n); t_i := t_i div n                               *)
Definition alltoall_tile (i j n : nat) (t : seq nat) : seq nat :=
  upd (upd t i (nth 0 t i %/ n)) j (nth 0 t j * n + nth 0 t i %% n).
(* t_i := t_i * n + digit                                                       *)
Definition slice_tile (i n digit : nat) (t : seq nat) : seq nat :=
  upd t i (nth 0 t i * n + digit).

(* t is a tile when there are N_i tiles along dimension i.                      *)
Definition is_tile (N t : seq nat) : bool := all2 ltn t N.

Section Physical.
Variables (D : finType) (g : seq nat).

(* A tile map f with its localtype c.                                           *)
Definition tilemap := (seq nat * {ffun D -> seq nat})%type.
Definition tilemap_size (s : tilemap) : nat := prodn s.1.

(* How many devices hold tile t.                                                *)
Definition holders (f : D -> seq nat) (t : seq nat) : nat := #|[pred d | f d == t]|.

(* c is a localtype, and each of the prod N_i tiles has delta / prod N_i        *)
(* holders.                                                                     *)
Definition balanced (s : tilemap) : Prop :=
  let N := tile_counts g s.1 in
  [/\ is_localtype #|D| g s.1, forall d, is_tile N (s.2 d)
    & forall t, is_tile N t -> holders s.2 t = #|D| %/ prodn N].

Definition phys_step (p : phys) (s s' : tilemap) : Prop :=
  balanced s /\
  match p with
  | pweak q =>
      weak_step #|D| g q s.1 s'.1 /\
      match q with
      | wgather i n => s'.2 =1 gather_tile i n \o s.2
      | walltoall i j n => s'.2 =1 alltoall_tile i j n \o s.2
      | wslice i n =>
          (* digits e : D -> {0..n-1}, each equally often on each tile *)
          balanced s' /\
          exists e : D -> nat, (forall d, e d < n) /\
            forall d, s'.2 d = slice_tile i n (e d) (s.2 d)
      end
  | ppermute =>
      s'.1 = s.1 /\ exists2 pi : D -> D, bijective pi & s'.2 =1 s.2 \o pi
  end.

End Physical.
