(* Steps of version 1 are read as they are printed, and so are Programs of it:  *)
(* header, ends in digits, and steps with rows of devices.                      *)
From Coq Require Import Ascii String.
From mathcomp Require Import all_ssreflect.
Require Import notation program meaning check reader printer.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* ---- steps of version 1 ----                                                 *)

(* A key, what is printed behind its `=`, and what that is read as.             *)
Record key := Key { key_word : string; key_tokens : seq token; key_value : value }.
Definition move_keys (m : move) : string * seq key :=
  match m with
  | Dynslice Equal j (Rows G) =>
      ("dynslice", [:: Key "dim" [:: Number j] (V_number j); Key "groups" (rows_tokens G) (V_table (Rows G))])
  | Dynslice_part Equal j n (Rows [:: l]) =>
      ("dynslice", [:: Key "dim" [:: Number j] (V_number j); Key "parts" [:: Number n] (V_number n);
                       Key "part" (ints_tokens l) (V_table (Rows [:: l]))])
  | Allgather i (Rows G) =>
      ("allgather", [:: Key "dim" [:: Number i] (V_number i); Key "groups" (rows_tokens G) (V_table (Rows G))])
  | Alltoall Equal j i (Rows G) =>
      ("alltoall", [:: Key "split" [:: Number j] (V_number j); Key "concat" [:: Number i] (V_number i);
                       Key "groups" (rows_tokens G) (V_table (Rows G))])
  | Allpermute (Rows [:: l]) => ("allpermute", [:: Key "source" (ints_tokens l) (V_table (Rows [:: l]))])
  | Pairs ps =>
      let rs := [seq [:: p.1; p.2] | p <- ps] in ("allpermute", [:: Key "pairs" (rows_tokens rs) (V_rows rs)])
  | _ => ("", [::])
  end%string.
Definition claim_keys (st : step) : seq key :=
  (if tile_claim st is Some c then [:: Key "tile" (ints_tokens c) (V_ints c)] else [::]) ++
  (if map_claim st is Some (Grid es D o zs) then [:: Key "map" (grid_tokens es) (V_tiling (Grid es D o zs))] else [::]) ++
  (if at_claim st is Some rs then [:: Key "at" (rows_tokens rs) (V_rows rs)] else [::]).
Definition step_keys (st : step) : seq key := (move_keys (move_of st)).2 ++ claim_keys st.
Definition keys_tokens (ks : seq key) : seq token :=
  flatten [seq Word (codes (key_word k)) :: Sign (code "=") :: key_tokens k | k <- ks].
Definition step_tokens (st : step) : seq token :=
  Word (codes (move_keys (move_of st)).1) :: keys_tokens (step_keys st).

Section Good_steps.
Variables (D : nat) (g : seq nat).
Let rank := size g.
(* The limit of numbers is a variable here, so that nothing computes it.        *)
Section Limit.
Variable below_limit : pred nat.
Definition listed_in (l : seq nat) : bool := all below_limit l && all (gtn D) l.
Definition good_move_in (m : move) : bool :=
  match m with
  | Dynslice Equal j (Rows G) | Allgather j (Rows G) => [&& below_limit j, j < rank & all listed_in G]
  | Dynslice_part Equal j n (Rows [:: l]) =>
      [&& below_limit j && (j < rank), (0 < n) && below_limit n, all below_limit l & (size l == D) && all (gtn n) l]
  | Alltoall Equal j i (Rows G) =>
      [&& below_limit j && (j < rank), below_limit i && (i < rank) & all listed_in G]
  | Allpermute (Rows [:: l]) => listed_in l
  | Pairs ps => all (fun p => listed_in [:: p.1; p.2]) ps
  | _ => false
  end.
Inductive plain_move : move -> Prop :=
  | Plain_dynslice j G of below_limit j & j < rank & all listed_in G : plain_move (Dynslice Equal j (Rows G))
  | Plain_part j n l of below_limit j & j < rank & 0 < n & below_limit n & all below_limit l & (size l == D) && all (gtn n) l :
      plain_move (Dynslice_part Equal j n (Rows [:: l]))
  | Plain_allgather i G of below_limit i & i < rank & all listed_in G : plain_move (Allgather i (Rows G))
  | Plain_alltoall j i G of below_limit j & j < rank & below_limit i & i < rank & all listed_in G :
      plain_move (Alltoall Equal j i (Rows G))
  | Plain_source l of listed_in l : plain_move (Allpermute (Rows [:: l]))
  | Plain_pairs ps of all (fun p => listed_in [:: p.1; p.2]) ps : plain_move (Pairs ps).
Lemma plain m : good_move_in m -> plain_move m.
Proof.
case: m => //.
- by case=> // j [] // G /and3P[]; constructor.
- by case=> // j n [] // [|l []] // /and4P[/andP[? ?] /andP[? ?] ? ?]; constructor.
- by move=> i [] // G /and3P[]; constructor.
- by case=> // j i [] // G /and3P[/andP[? ?] /andP[? ?] ?]; constructor.
- by case=> // -[|l []] // ?; constructor.
by move=> ps ?; constructor.
Qed.
End Limit.
Local Notation good_move := (good_move_in small).
Definition good_step (st : step) : bool :=
  [&& good_move (move_of st),
      if tile_claim st is Some c then all small c else true,
      if map_claim st is Some T then
        if T is Grid es P None None then [&& P == D, good_end D es & map whole es == g] else false
      else true,
      if at_claim st is Some rs then all (all small) rs && ((size rs == D) && all (fun b => size b == rank) rs) else true
    & is_none (shapes_claim st)].
End Good_steps.
Local Notation devices_listed D := (listed_in D small).
Local Notation good_move D g := (good_move_in D g small).

Section Steps.
Variables (D : nat) (F T : seq dim) (from_ to_ : option tiling) (ss : seq step).
Let h := header_of D from_ to_.
Let P := Program D (on_all D F) (on_all D T) ss.
Let g := map whole F.

(* Behind a value stands another key, or nothing.                               *)
Definition quiet (ts : seq token) : bool := if ts is [::] then true else if ts is Word _ :: _ then true else false.
Definition key_reads (k : key) : Prop := forall rest, quiet rest ->
  read_value h P (codes (key_word k)) (key_tokens k ++ rest) = Some (key_value k, rest).

Lemma keys_in_step fuel w ts : keys_in h P fuel.+1 (Word w :: Sign (code "=") :: ts) =
  if read_value h P w ts is Some (v, ts') then
    if keys_in h P fuel ts' is Some kvs then Some ((w, v) :: kvs) else None
  else None.
Proof. by rewrite /= /and_then /equals /and_then /=; case: (read_value h P w ts) => [[v ts']|]. Qed.

Lemma keys_read ks fuel : size ks <= fuel -> (forall k, List.In k ks -> key_reads k) ->
  keys_in h P fuel (keys_tokens ks) = Some [seq (codes (key_word k), key_value k) | k <- ks].
Proof.
elim: ks fuel => [|k ks IH] [|fuel] //; rewrite [size _]/= ltnS => le reads_.
have q : quiet (keys_tokens ks) by case: (ks).
rewrite -[keys_tokens (k :: ks)]/(Word (codes (key_word k)) :: Sign (code "=") :: key_tokens k ++ keys_tokens ks).
rewrite keys_in_step (reads_ k (or_introl erefl) _ q) IH //.
by move=> k' in_; apply: reads_; right.
Qed.

Lemma devices_in_listed G : all (devices_listed D) G -> devices_in h P G = Some G.
Proof.
have one l : devices_listed D l -> sequence_of [seq device h P d | d <- l] = Some l.
  case/andP=> _; elim: l => // d l IH; rewrite [all _ _]/= => /andP[dD /IH e].
  rewrite -[LHS]/(if (device h P d, sequence_of [seq device h P d | d <- l]) is (Some a, Some r) then Some (a :: r) else None) e.
  by rewrite -[device h P d]/(if d < D then Some d else None) dD.
elim: G => // l G IH; rewrite [all _ _]/= => /andP[gl /IH e].
by rewrite -[LHS]/(if (sequence_of [seq device h P d | d <- l], devices_in h P G) is (Some a, Some r)
                   then Some (a :: r) else None) e one.
Qed.

(* Which value stands behind a key: comparisons of closed words.                *)
Ltac decide_key := rewrite /read_value;
  repeat match goal with |- context [if ?b then _ else _] =>
    first [have -> : b = true by vm_compute | have -> : b = false by vm_compute] end.
Definition below_rank : parser value := and_then number (fun i => and_then (need (i < size g)) (fun=> give (V_number i))).
Lemma dim_value : read_value h P (codes "dim") = below_rank. Proof. decide_key; reflexivity. Qed.
Lemma split_value : read_value h P (codes "split") = below_rank. Proof. decide_key; reflexivity. Qed.
Lemma concat_value : read_value h P (codes "concat") = below_rank. Proof. decide_key; reflexivity. Qed.
Lemma parts_value : read_value h P (codes "parts") = and_then (number_from 1) (fun n => give (V_number n)).
Proof. decide_key; reflexivity. Qed.
Lemma groups_value : read_value h P (codes "groups") = and_then (device_table h P (table_2 D)) (fun t => give (V_table t)).
Proof. decide_key; reflexivity. Qed.
Lemma source_value : read_value h P (codes "source") = and_then (device_table h P (table_1 D)) (fun t => give (V_table t)).
Proof. decide_key; reflexivity. Qed.
Lemma part_value : read_value h P (codes "part") = and_then (table_1 D) (fun t => give (V_table t)).
Proof. decide_key; reflexivity. Qed.
Lemma pairs_value : read_value h P (codes "pairs") = and_then rows (fun rs => give (V_rows rs)).
Proof. decide_key; reflexivity. Qed.
Lemma at_value : read_value h P (codes "at") =
  and_then rows (fun rs => and_then (need ((size rs == D) && all (fun b => size b == size g) rs)) (fun=> give (V_rows rs))).
Proof. decide_key; reflexivity. Qed.
Lemma tile_value : read_value h P (codes "tile") = and_then ints (fun c => give (V_ints c)).
Proof. decide_key; reflexivity. Qed.
Lemma map_value : read_value h P (codes "map") = and_then (map_tiling h P) (fun T => give (V_tiling T)).
Proof. decide_key; reflexivity. Qed.

Lemma below_rank_reads w i : read_value h P (codes w) = below_rank -> small i -> i < size g -> key_reads (Key w [:: Number i] (V_number i)).
Proof. by move=> e sm lt rest _; rewrite [key_word _]/= [key_tokens _]/= e /below_rank /and_then (number_reads _ sm) /need lt. Qed.
Lemma parts_reads n : 0 < n -> small n -> key_reads (Key "parts" [:: Number n] (V_number n)).
Proof. by move=> n0 sn rest _; rewrite [key_word _]/= [key_tokens _]/= parts_value /and_then number_from_here. Qed.

Lemma small_rows G : all (devices_listed D) G -> all (all small) G.
Proof. by elim: G => //= l G IH /andP[/andP[-> _] /IH->]. Qed.
Lemma table_2_rows most G rest : all (all small) G ->
  table_2 most (rows_tokens G ++ rest) = Some (Rows G, rest).
Proof.
move=> sm; have -> : table_2 most (rows_tokens G ++ rest) = and_then rows (fun rs => give (Rows rs)) (rows_tokens G ++ rest).
  by case: (G).
by rewrite /and_then rows_reads.
Qed.
Lemma table_1_row most l rest : quiet rest -> all small l -> table_1 most (ints_tokens l ++ rest) = Some (Rows [:: l], rest).
Proof.
move=> q sm; rewrite /table_1 /and_then ints_reads //.
by have -> : stages (prodn l) rest = Some ([::], rest) by case: (rest) q => [|[]].
Qed.

Lemma groups_reads G : all (devices_listed D) G -> key_reads (Key "groups" (rows_tokens G) (V_table (Rows G))).
Proof.
move=> gG rest _; rewrite [key_word _]/= [key_tokens _]/= groups_value /and_then /device_table /and_then.
by rewrite table_2_rows ?small_rows // devices_in_listed.
Qed.
Lemma source_reads l : devices_listed D l -> key_reads (Key "source" (ints_tokens l) (V_table (Rows [:: l]))).
Proof.
move=> gl rest q; have [sm _] := andP gl; rewrite [key_word _]/= [key_tokens _]/= source_value /and_then /device_table /and_then.
by rewrite table_1_row // devices_in_listed // all_seq1.
Qed.
Lemma part_reads l : all small l -> key_reads (Key "part" (ints_tokens l) (V_table (Rows [:: l]))).
Proof. by move=> sm rest q; rewrite [key_word _]/= [key_tokens _]/= part_value /and_then table_1_row. Qed.
Lemma pairs_reads rs : all (all small) rs -> key_reads (Key "pairs" (rows_tokens rs) (V_rows rs)).
Proof. by move=> sm rest _; rewrite [key_word _]/= [key_tokens _]/= pairs_value /and_then rows_reads. Qed.
Lemma tile_reads c : all small c -> key_reads (Key "tile" (ints_tokens c) (V_ints c)).
Proof. by move=> sm rest _; rewrite [key_word _]/= [key_tokens _]/= tile_value /and_then ints_reads. Qed.
Lemma at_reads rs : all (all small) rs -> (size rs == D) && all (fun b => size b == size g) rs ->
  key_reads (Key "at" (rows_tokens rs) (V_rows rs)).
Proof. by move=> sm ok rest _; rewrite [key_word _]/= [key_tokens _]/= at_value /and_then rows_reads // /need ok. Qed.
Lemma map_reads es : good_end D es -> map whole es == g ->
  key_reads (Key "map" (grid_tokens es) (V_tiling (on_all D es))).
Proof.
case/and3P=> ge le tE same_ rest _; rewrite [key_word _]/= [key_tokens _]/= map_value /and_then /map_tiling /and_then.
have -> : bracket (version h) (mesh_now h) (grid_tokens es ++ rest) = Some (Grid es 0 None None, rest).
  exact: (tiling_read rest ge le).
clear le ge; have -> : renamed (names h) (Grid es 0 None None) = Some (Grid es 0 None None) by [].
have -> : placed (devices P) (Grid es 0 None None) = on_all D es by [].
have -> : [&& good_tiling (version h) (devices P) (on_all D es), global_of (Grid es 0 None None) == global_of (from P)
            & adds_well (adds_as h) (from P) (Grid es 0 None None)] = true.
  by apply/and3P; split; [exact: tE|exact: same_|].
reflexivity.
Qed.

Lemma in_cat (A : Type) (a : A) s t : List.In a (s ++ t) -> List.In a s \/ List.In a t.
Proof. by elim: s => [|b s IH] /=; [right|case=> [->|/IH[]]; [left; left|left; right|right]]. Qed.

Lemma number_key_reads w i : read_value h P (codes w) = below_rank -> small i -> i < size g ->
  forall k, k = Key w [:: Number i] (V_number i) -> key_reads k.
Proof. by move=> e sm lt k ->; exact: below_rank_reads. Qed.
Lemma pair_rows_small (lim : pred nat) ps : all (fun p => listed_in D lim [:: p.1; p.2]) ps ->
  all (all lim) [seq [:: p.1; p.2] | p <- ps].
Proof. by rewrite /listed_in; elim: ps => //= p ps IH /andP[/andP[/and3P[-> -> _] _] /IH->]. Qed.
Lemma pairs_keys_read ps : good_move D g (Pairs ps) -> forall k, List.In k (move_keys (Pairs ps)).2 -> key_reads k.
Proof. by move=> gp k [<-|[]]; apply: pairs_reads; exact: (pair_rows_small gp). Qed.
Lemma source_keys_read l : devices_listed D l -> forall k, List.In k (move_keys (Allpermute (Rows [:: l]))).2 -> key_reads k.
Proof. by move=> gl k [<-|[]]; exact: source_reads gl. Qed.

Lemma move_keys_read m : good_move D g m -> forall k, List.In k (move_keys m).2 -> key_reads k.
Proof.
case/plain => [j G sj lj gG|j n l sj lj n0 sn sl _|i G si li gG|j i G sj lj si li gG|l gl|ps gp] k.
- case=> [<-|[<-|[]]]; [exact: below_rank_reads dim_value sj lj|exact: groups_reads gG].
- case=> [<-|[<-|[<-|[]]]]; [exact: below_rank_reads dim_value sj lj|exact: parts_reads n0 sn|exact: part_reads sl].
- case=> [<-|[<-|[]]]; [exact: below_rank_reads dim_value si li|exact: groups_reads gG].
- case=> [<-|[<-|[<-|[]]]]; [exact: below_rank_reads split_value sj lj|exact: below_rank_reads concat_value si li|exact: groups_reads gG].
- exact: source_keys_read gl k.
exact: pairs_keys_read gp k.
Qed.

Lemma claim_keys_read st : good_step D g st -> forall k, List.In k (claim_keys st) -> key_reads k.
Proof.
case: st => m tc mc ac sc /and5P[_ gt gmap ga _] k ik; case: (in_cat ik) => {ik} [|ik]; last case: (in_cat ik) => {ik}.
- clear gmap ga; case: tc gt => [c|_ []]; rewrite [tile_claim _]/= => sm [<-|[]]; exact: tile_reads sm.
- clear gt ga; case: mc gmap => [T'|_ []]; rewrite [map_claim _]/=; case: T' => [es Q [o|] [zs|]|ns d|ns us cs|v T'];
    try by move=> ng; discriminate ng.
  by move=> /and3P[/eqP-> ge e] [<-|[]]; exact: map_reads ge e.
clear gt gmap; case: ac ga => [rs|_ []]; rewrite [at_claim _]/= => /andP[sm ok] [<-|[]]; exact: at_reads sm ok.
Qed.

Lemma all_keys_read st : good_step D g st -> forall k, List.In k (step_keys st) -> key_reads k.
Proof.
move=> gs k ik; case: (in_cat ik) => {ik} [ik|]; last exact: claim_keys_read gs k.
by case/and5P: gs => gm _ _ _ _; exact: move_keys_read gm k ik.
Qed.

Lemma size_keys ks : size ks <= size (keys_tokens ks).
Proof. by elim: ks => //= k ks IH; rewrite ltnS size_cat; apply: leq_trans IH _; apply: leq_trans (leq_addl _ _) (leqnSn _). Qed.

(* Keys and values to a step: by computation, one kind of move at a time.       *)
Definition plain_map (mc : option (seq dim)) : option tiling := omap (on_all D) mc.
Definition keys_of (st : step) : seq (word * value) := [seq (codes (key_word k), key_value k) | k <- step_keys st].
Local Notation kind m tc mc ac := (let st := Step m tc (plain_map mc) ac None in
  step_of h P (keys_of st) (codes (move_keys m).1) = Some st).
Ltac compute_step tc mc ac := by case: tc; case: mc; case: ac; vm_compute.

Lemma dynslice_keys j G tc mc ac : kind (Dynslice Equal j (Rows G)) tc mc ac.
Proof. compute_step tc mc ac. Qed.
Lemma allgather_keys i G tc mc ac : kind (Allgather i (Rows G)) tc mc ac.
Proof. compute_step tc mc ac. Qed.
Lemma alltoall_keys j i G tc mc ac : kind (Alltoall Equal j i (Rows G)) tc mc ac.
Proof. compute_step tc mc ac. Qed.
Lemma source_keys l tc mc ac : kind (Allpermute (Rows [:: l])) tc mc ac.
Proof. compute_step tc mc ac. Qed.

Lemma part_keys j n l tc mc ac : (size l == D) && all (gtn n) l -> kind (Dynslice_part Equal j n (Rows [:: l])) tc mc ac.
Proof.
move=> part; have ok : is_part P n (Rows [:: l]) by [].
pose st := Step (Dynslice_part Equal j n (Rows [:: l])) tc (plain_map mc) ac None.
have e : step_of h P (keys_of st) (codes "dynslice") = if is_part P n (Rows [:: l]) then Some st else None.
  rewrite /st {st}; compute_step tc mc ac.
by rewrite ok in e; exact: e.
Qed.

Lemma pair_sequence (lim : pred nat) ps : all (fun p => listed_in D lim [:: p.1; p.2]) ps ->
  sequence_of (map (pair_of h P) [seq [:: p.1; p.2] | p <- ps]) = Some ps.
Proof.
elim: ps => [|p ps IH]; first by [].
rewrite [all _ _]/= => /andP[/andP[_ /and3P[d1 d2 _]] /IH e].
have {}d1 : p.1 < D := d1; have {}d2 : p.2 < D := d2.
rewrite -[LHS]/(if (pair_of h P [:: p.1; p.2], sequence_of (map (pair_of h P) [seq [:: p.1; p.2] | p <- ps]))
  is (Some a, Some r) then Some (a :: r) else None) e.
by rewrite -[pair_of _ _ _]/(if (if p.1 < D then Some p.1 else None, if p.2 < D then Some p.2 else None) is (Some s', Some t')
  then Some (s', t') else None) d1 d2; case: (p).
Qed.

Lemma pairs_keys ps tc mc ac : all (fun p => devices_listed D [:: p.1; p.2]) ps -> kind (Pairs ps) tc mc ac.
Proof.
move=> gp; pose rs := [seq [:: p.1; p.2] | p <- ps].
have pE : sequence_of (map (pair_of h P) rs) = Some ps := (@pair_sequence small ps gp).
pose st := Step (Pairs ps) tc (plain_map mc) ac None.
have e : step_of h P (keys_of st) (codes "allpermute") =
    if sequence_of (map (pair_of h P) rs) is Some qs then Some (Step (Pairs qs) tc (plain_map mc) ac None) else None.
  rewrite /st /rs {st rs pE gp}; compute_step tc mc ac.
by rewrite pE in e; exact: e.
Qed.

Lemma step_of_keys st : good_step D g st -> step_of h P (keys_of st) (codes (move_keys (move_of st)).1) = Some st.
Proof.
case: st => m tc mc ac [sc|]; first by case/and5P.
case/and5P=> gm _ gmap _ _; have {}gm : good_move D g m := gm.
have [es ->] : exists es, mc = plain_map es.
  case: mc gmap => [T'|_]; last by exists None.
  rewrite [map_claim _]/=; case: T' => [es Q [o|] [zs|]|ns d|ns us cs|v T'] ng; try by discriminate ng.
  by case/and3P: ng => [/eqP-> _ _]; exists (Some es).
case/plain: gm {gmap} => [j G _ _ _|j n l _ _ _ _ _ part|i G _ _ _|j i G _ _ _ _ _|l _|ps gp].
- exact: dynslice_keys.
- exact: part_keys.
- exact: allgather_keys.
- exact: alltoall_keys.
- exact: source_keys.
exact: pairs_keys.
Qed.

Lemma step_reads st : good_step D g st ->
  read_step h P (codes (move_keys (move_of st)).1) (keys_tokens (step_keys st)) = Some st.
Proof.
move=> good; rewrite /read_step keys_read ?size_keys //; first exact: step_of_keys.
exact: all_keys_read.
Qed.
End Steps.

(* ---- whole Programs ----                                                     *)
Definition dims_of (T : tiling) : seq dim := if T is Grid es _ _ _ then es else [::].
Definition in_digits (D : nat) (T : tiling) : bool := if T is Grid _ P None None then P == D else false.
Definition printable (P : program) : bool :=
  let D := devices P in
  [&& in_digits D (from P), in_digits D (to P), good_header D (dims_of (from P)) (dims_of (to P))
    & all (good_step D (global_of (from P))) (steps P)].
Definition program_tokens (P : program) : seq (seq token) :=
  header_tokens (devices P) (dims_of (from P)) (dims_of (to P)) ++ [seq step_tokens st | st <- steps P].
Definition print (P : program) : seq byte := text_bytes (program_tokens P).

Lemma in_digitsP D T : in_digits D T -> T = on_all D (dims_of T).
Proof. by case: T => // es Q [|] // [|] // /eqP->. Qed.

(* Lines of steps.                                                              *)
Definition with_step (P : program) (st : step) : program := Program (devices P) (from P) (to P) (st :: steps P).
Lemma step_line k h P out w rest ls st : read_step h P w rest = Some st ->
  read_lines k (In_steps h P) out ((Word w :: rest) :: ls) = read_lines k.+1 (In_steps (claimed h st) (with_step P st)) out ls.
Proof. by move=> e; rewrite [read_lines _ _ _ _]/= e. Qed.
Lemma first_step_line k h h' P out w rest ls st : version h = 1 ->
  w \notin map codes [:: "mesh"; "devices"; "from"; "to"]%string -> complete h = Some (h', P) -> read_step h' P w rest = Some st ->
  read_lines k (In_header h) out ((Word w :: rest) :: ls) =
  read_lines k.+1 (In_steps (claimed h' st) (Program (devices P) (from P) (to P) [:: st])) out ls.
Proof. by move=> v /negbTE nw c e; rewrite [read_lines _ _ _ _]/= nw v [1 == 2]/= andFb orbF c e. Qed.

Definition move_words : seq string := [:: "dynslice"; "allgather"; "alltoall"; "allpermute"]%string.
Lemma move_word D g m : good_move D g m -> codes (move_keys m).1 \in map codes move_words.
Proof. by case/plain. Qed.
Lemma no_header_word : all (fun w => w \notin map codes [:: "mesh"; "devices"; "from"; "to"]%string) (map codes move_words).
Proof. by []. Qed.

Section Read.
Variables (D : nat) (F T : seq dim).
Let h := header_of D (Some (Grid F 0 None None)) (Some (Grid T 0 None None)).
Let P ss := Program D (on_all D F) (on_all D T) ss.
Let g := map whole F.

Lemma claimed_same st : good_step D g st -> claimed h st = h.
Proof.
case: st => m tc [T'|] ac sc; last by [].
case/and5P=> _ _ gm _ _; case: T' gm => [es Q [o|] [zs|]|ns d|ns us cs|v T'] ng; try by discriminate ng.
reflexivity.
Qed.

Lemma steps_read k ss sts : all (good_step D g) sts ->
  read_lines k (In_steps h (P ss)) [::] (map step_tokens sts ++ [:: [::]]) = Programs [:: ([::], P (rev ss ++ sts))].
Proof.
elim: sts k ss => [|st sts IH] k ss; first by rewrite cats0.
rewrite [all _ _]/= => /andP[gs gss].
rewrite [map _ _]/= cat_cons /step_tokens (step_line _ _ _ (step_reads _ _ _ _ gs)) (claimed_same gs).
by rewrite -[with_step _ _]/(P (st :: ss)) IH // rev_cons cat_rcons.
Qed.

Lemma all_steps_read k sts : good_header D F T -> all (good_step D g) sts ->
  read_lines k (In_header h) [::] (map step_tokens sts ++ [:: [::]]) = Programs [:: ([::], P sts)].
Proof.
move=> good; case: sts => [_|st sts].
  by rewrite [map _ _]/= cat0s /read_lines /finished complete_header.
rewrite [all _ _]/= => /andP[gs gss]; have/and5P[gm _ _ _ _] := gs.
have nw := allP no_header_word _ (move_word gm).
rewrite [map _ _]/= cat_cons /step_tokens.
rewrite (first_step_line _ _ _ (erefl : version h = 1) nw (complete_header good) (step_reads _ _ _ _ gs)) (claimed_same gs).
by rewrite -[Program _ _ _ _]/(P [:: st]) steps_read.
Qed.
End Read.

(* ---- bytes ----                                                              *)
Lemma good_ints l : all good_token (ints_tokens l).
Proof. by apply: (good_signs (good := predT)) => //; exact: all_predT. Qed.
Lemma good_rows G : all good_token (rows_tokens G).
Proof. by apply: (good_signs (good := predT)) => //; [move=> l _; exact: good_ints|exact: all_predT]. Qed.

Definition step_words : seq string :=
  move_words ++ [:: "dim"; "groups"; "parts"; "part"; "split"; "concat"; "source"; "pairs"; "tile"; "map"; "at"]%string.
Lemma good_words : all (fun w => good_token (Word w)) (map codes step_words).
Proof. by []. Qed.

Lemma good_key w ts ks : codes w \in map codes step_words -> all good_token ts -> all good_token (keys_tokens ks) ->
  forall v, all good_token (keys_tokens (Key w ts v :: ks)).
Proof.
move=> /(allP good_words) gw gt gk v.
rewrite -[keys_tokens _]/([:: Word (codes w); Sign (code "=")] ++ (ts ++ keys_tokens ks)) !all_cat gt gk /= andbT.
by apply/andP; split.
Qed.

Lemma good_step_tokens D g st : good_step D g st -> all good_token (step_tokens st).
Proof.
case: st => m tc mc ac sc /and5P[gm _ gmap _ _]; have {}gm : good_move D g m := gm.
have claims_good : all good_token (keys_tokens (claim_keys (Step m tc mc ac sc))).
  have at_good : all good_token (keys_tokens (if ac is Some rs then [:: Key "at" (rows_tokens rs) (V_rows rs)] else [::])).
    by case: (ac) => [rs|]; [apply: good_key; [reflexivity|exact: good_rows|reflexivity]|reflexivity].
  have map_good : all good_token (keys_tokens ((if mc is Some (Grid es D o zs) then [:: Key "map" (grid_tokens es) (V_tiling (Grid es D o zs))] else [::]) ++
      (if ac is Some rs then [:: Key "at" (rows_tokens rs) (V_rows rs)] else [::]))).
    case: mc gmap => [T'|_]; last exact: at_good.
    case: T' => [es Q [o|] [zs|]|ns d|ns us cs|v T'] ng; try by discriminate ng.
    by case/and3P: ng => [_ /andP[ge _] _]; apply: good_key at_good _; [reflexivity|exact: good_grid].
  rewrite /claim_keys; case: (tc) => [c|]; last exact: map_good.
  by apply: good_key map_good _; [reflexivity|exact: good_ints].
rewrite -[step_tokens _]/([:: Word (codes (move_keys m).1)] ++ keys_tokens (step_keys (Step m tc mc ac sc))) all_cat.
have sub : codes (move_keys m).1 \in map codes step_words.
  by rewrite map_cat mem_cat (move_word gm).
rewrite all_seq1 (allP good_words _ sub) /= /step_keys [move_of _]/=.
case/plain: gm {sub gmap} => [j G _ _ _|j n l _ _ _ _ _ _|i G _ _ _|j i G _ _ _ _ _|l _|ps _];
  rewrite [move_keys _]/= ?cat_cons cat0s; repeat (apply: good_key; [reflexivity| |]);
  first [exact: claims_good | exact: good_ints | exact: good_rows | reflexivity].
Qed.

Theorem program_reads P : printable P -> read (print P) = Programs [:: ([::], P)].
Proof.
case: P => D F0 T0 sts /and4P[/in_digitsP eF /in_digitsP eT good gs].
move: eF eT good gs; rewrite [devices _]/= [from _]/= [to _]/= [steps _]/=.
move: (dims_of F0) (dims_of T0) => F T -> -> good gs.
have good_line w es : good_token (Word w) -> all good_dim es -> all good_token (Word w :: grid_tokens es).
  by move=> gw ge; apply/andP; split=> //; apply: good_grid.
have good_lines : all (all good_token) (program_tokens (Program D (on_all D F) (on_all D T) sts)).
  have/and5P[_ _ /andP[gF _] /andP[gT _] _] := good.
  rewrite /program_tokens all_cat; apply/andP; split.
    by apply/and5P; split; [reflexivity|reflexivity|exact: good_line gF|exact: good_line gT|reflexivity].
  rewrite all_map; apply: sub_all gs => st gst; exact: good_step_tokens gst.
rewrite /print /read (lines_of_text good_lines) -cats1 /program_tokens -catA (read_header _ good).
exact: all_steps_read.
Qed.

(* ---- a Program that is printable ----                                        *)
Lemma few n : n <= 8 -> small n.
Proof. by move=> le; apply: leq_ltn_trans le _; rewrite (@ltn_exp2l 2 3 63). Qed.
Lemma few_devices n : n <= 8 -> n <= most_devices.
Proof. by move=> le; apply: leq_trans le _; rewrite (@leq_exp2l 2 3 31). Qed.

Definition halves : seq dim := [:: Dim (Blocks 1) [:: Digit 1 2] 2 0 0].
Definition wholes : seq dim := [:: Dim (Blocks 2) [::] 2 0 0].
Definition gathering : program :=
  Program 2 (on_all 2 halves) (on_all 2 wholes)
    [:: Step (Allgather 0 (Rows [:: [:: 0; 1]])) (Some [:: 2]) (Some (on_all 2 wholes)) None None].
Lemma halves_good : good_end 2 halves.
Proof.
apply/and3P; split; [|exact: (@few 2)|reflexivity].
apply/andP; split; last reflexivity.
apply/and5P; split; [reflexivity|exact: few| |reflexivity|apply/andP; split; [reflexivity|exact: few]].
apply/andP; split; last reflexivity.
by apply/and4P; split; [reflexivity|exact: few|reflexivity|exact: few].
Qed.
Lemma wholes_good : good_end 2 wholes.
Proof.
apply/and3P; split; [|exact: (@few 2)|reflexivity].
apply/andP; split; last reflexivity.
by apply/and5P; split; [reflexivity|exact: few|reflexivity|reflexivity|apply/andP; split; [reflexivity|exact: few]].
Qed.
Theorem a_printable : printable gathering.
Proof.
apply/and4P; split; [reflexivity|reflexivity| |].
  apply/and5P; split; [apply/andP; split; [reflexivity|exact: few_devices]|exact: few|exact: halves_good|exact: wholes_good|reflexivity].
apply/andP; split; last reflexivity.
apply/and5P; split; [|apply/andP; split; [exact: few|reflexivity]| |reflexivity|reflexivity].
  apply/and3P; split; [exact: few|reflexivity|].
  apply/andP; split; last reflexivity.
  by apply/andP; split; [apply/and3P; split; [exact: few|exact: few|reflexivity]|reflexivity].
by apply/and3P; split; [reflexivity|exact: wholes_good|reflexivity].
Qed.
