(* check says what meaning.v does, of all Programs.                             *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation vectors program meaning lookup check check_steps check_blocks.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section States.
Variables (D rank : nat) (way : option addition).
Variables (V : Type) (total : seq V -> V) (start : tree holding -> nat -> seq nat -> V).
Variables (is_of : V -> seq nat -> Prop) (is_of_ok : V -> seq nat -> bool).
Variables (agrees : state V -> tiling -> Prop) (rests : run -> tiling -> option run) (blocks_of : run -> seq nat).
Implicit Types (s : run) (S : state V).
Local Notation stands := (stands rank D total start).
Local Notation elem_at := (elem_at total start).
Local Notation condition := (condition D rank total way is_of agrees).
Hypothesis total_one : forall v, total [:: v] = v.
Hypothesis is_ofP : forall v i, reflect (is_of v i) (is_of_ok v i).
Hypothesis blocksP : forall s d b c, size c = rank ->
  every_block (blocks_of s) c (fun l => is_of_ok (elem_at s d l) (plus b l)) = every c (fun l => is_of_ok (elem_at s d l) (plus b l)).
Hypothesis agreesP : forall s S T, known_tiling D rank T -> stands s S ->
  match rests s T with Some s' => agrees S T /\ stands s' S | None => ~ agrees S T end.

(* ---- claims ----                                                             *)
Lemma extentsE s S : stands s S -> extents D rank s = largest_extents D rank S.
Proof.
move=> st; apply: eq_map => i; rewrite mostE max0n; apply: eq_bigr => d _.
by rewrite (stands_shape st).
Qed.

Lemma at_claimP s S st0 : stands s S ->
  reflect (if at_claim st0 is Some rows then
     forall d, d < D ->
       (if shapes_claim st0 is Some cs then nth [::] cs d = shape (S d) else True) /\
       box_at is_of (S d) (nth [::] rows d)
   else True) (at_claim_ok D total start is_of_ok blocks_of s st0).
Proof.
move=> st; rewrite /at_claim_ok; case: (at_claim st0) => [rows|]; last by left.
apply: (iffP (belowP _ _)) => h d lt; have := h d lt; have [es fs el] := st d lt; have zs := fits_size fs.
  rewrite !get_of_seq es blocksP //; case: (shapes_claim st0) => [cs|] /andP[ec /everyP ev].
    by split; [apply/eqP|move=> l il; rewrite -(el l il); exact/is_ofP/ev].
  by split=> // l il; rewrite -(el l il); exact/is_ofP/ev.
rewrite !get_of_seq es blocksP // => -[ec bx]; apply/andP; split; first by case: (shapes_claim st0) ec => // cs ->.
by apply/everyP => l il; rewrite (el l il); exact/is_ofP/bx.
Qed.

Theorem step_correct s S st0 : known D rank (move_of st0) ->
  (if map_claim st0 is Some T then known_tiling D rank T else true) -> stands s S ->
  match step_run D rank way total start is_of_ok rests blocks_of s st0 with
  | Stuck r => blames D rank total way is_of agrees S st0 r
  | Goes s' p => [/\ passes D rank total way is_of agrees S st0, stands s' (after total S (move_of st0)) &
                     p = price D total S (move_of st0)]
  end.
Proof.
move=> kn kt st; have := move_correct way total_one kn st; rewrite /moves_to /step_run.
have low_r r : number r < 6 -> condition S st0 r = applies D rank way S (move_of st0) r by case: r.
case: (move_run D rank way s (move_of st0)) => [r|s' p].
  case=> lr no yes; split; first by rewrite low_r.
  by move=> r' lr'; have l6 := ltn_trans lr' lr; rewrite low_r //; exact: yes.
case=> basic st' ep; set S' := after total S (move_of st0) in st' *.
have low r : number r < 6 -> condition S st0 r by move=> lr; rewrite low_r //; exact: basic.
have tc : tile_claim_ok D rank s' st0 = true <-> condition S st0 Tile_claim.
  rewrite /= /good_tile_claim /tile_claim_ok (extentsE st'); case: (tile_claim st0) => [c|] //.
  by split=> [/eqP//|->]; rewrite eqxx.
case ok: (tile_claim_ok _ _ _ _) tc => tc /=; last by split=> [/tc//|r' lr]; apply: low.
have {}tc : condition S st0 Tile_claim by apply/tc.
have seven r : number r < 7 -> condition S st0 r.
  by rewrite ltnS leq_eqVlt => /orP[/eqP|/low//]; case: r.
have all_of : condition S st0 Map_claim -> passes D rank total way is_of agrees S st0.
  by move=> mc r; case: r => //; exact: seven.
have ac := at_claimP st0 st'.
case em: (map_claim st0) kt => [T|] kt; last first.
  case: ac => ac /=; last by split=> [|r' /seven//]; rewrite /= /good_map_claim => -[_].
  by split=> //; apply: all_of; rewrite /= /good_map_claim em.
have := agreesP kt st'; case: (rests s' T) => [s''|] ag /=; last first.
  by split=> [|r' /seven//]; rewrite /= /good_map_claim em => -[].
case: ac => ac /=; last by split=> [|r' /seven//]; rewrite /= /good_map_claim => -[_].
by have [hd st''] := ag; split=> //; apply: all_of; rewrite /= /good_map_claim em.
Qed.
End States.

(* ---- the start ----                                                          *)
Lemma size_side_in es s : size (side_in es s) = size es.
Proof. by rewrite /side_in; case: eqP => [->|_] //; rewrite size_map size_iota. Qed.

Lemma size_all_become global view : size (all_become global view) = size global.
Proof. by elim: global view => //= n global IH view; rewrite IH. Qed.

Lemma size_in_view gs ss : size gs = size ss -> size (flatten [seq side_in q.1 q.2 | q <- zip gs ss]) = size (flatten gs).
Proof. by elim: gs ss => [|g gs IH] [|s ss] //= [/IH e]; rewrite !size_cat size_side_in e. Qed.

Section Start.
Variables (D rank : nat).
Implicit Types (s : run) (T : tiling).

Lemma get_held T d : d < D -> get (Nothing 0) (held D T) d = holding_of T d.
Proof. exact: get_mkseq. Qed.

Lemma fits_tile T d : known_tiling D rank T -> d < D -> fits_shape rank (shape (tiles_of T d)).
Proof.
move=> kn lt.
have : match holding_of T d with Sides ss => size ss = rank | Nothing r => r = rank end.
  case: T kn => [es P o a|ns root|ns at_ cs|v T'] /=.
  - by move/eqP => <-; case: position => [p|]; rewrite ?size_map.
  - by move/eqP => <-; case: ifP => _; rewrite ?size_map.
  - case/and4P=> _ /eqP sa /(all_nthP [::]) fa fc; rewrite size_map size_zip.
    rewrite (eqP (fa d _)) ?sa //; case: cs fc => [c|rs] /=; first by move=> fc; rewrite (fits_size fc) minnn.
    by case/andP=> /eqP sr /(all_nthP [::]) fr; rewrite (fits_size (fr d _)) ?sr // minnn.
  - case/and3P=> /eqP sv /eqP sf; case: T' sf => //= es P o a sf _; case: position => [p|] //=.
    by rewrite size_in_view // size_all_become !size_map.
rewrite /tiles_of; case: (holding_of T d) => [ss|r] /= e; first by apply: fits_of_tidy; rewrite size_map.
rewrite /meaning.fits_shape /fits size_nseq e eqxx /= /tidy.
by case: ifP => //; rewrite /zeros size_nseq.
Qed.

(* The start of a run, with any elements that go by index.                      *)
Lemma begin_stands (V : Type) (total : seq V -> V) (start : tree holding -> nat -> seq nat -> V) T (S : state V) :
  known_tiling D rank T -> (forall d, d < D -> shape (S d) = shape (tiles_of T d)) ->
  (forall d l, d < D -> inside (shape (S d)) l -> start (held D T) d l = elem (S d) l) ->
  stands rank D total start (begin D T) S.
Proof.
move=> kn sh el d lt; rewrite /shape_at /elem_at /= get_mkseq ?get_held // sh //; split=> //.
  exact: fits_tile.
by move=> l il; rewrite el // sh.
Qed.
End Start.

(* ---- whole Programs ----                                                     *)

Lemma number_inj r r' : number r = number r' -> r = r'.
Proof. by case: r; case: r'. Qed.

Lemma check_bound_at P : known_program P -> check_bound P = bound P.
Proof.
case/and4P=> _ kf kt _; rewrite /check_bound /bound.
have same_most T : known_tiling (devices P) (rank_of (from P)) T ->
    run_largest (devices P) (begin (devices P) T) = largest (devices P) (tiles_of T).
  move=> kn; have st : stands (rank_of (from P)) (devices P) the_one index_at (begin (devices P) T) (tiles_of T).
    by apply: begin_stands => // d l lt _; rewrite /index_at get_held.
  exact: largestE st.
by rewrite !same_most.
Qed.

Section Replay.
Variables (P : program) (way : option addition).
Hypothesis known_P : known_program P.
Let D := devices P.
Let rank := rank_of (from P).
Let n := size (steps P).
Variables (V : Type) (total : seq V -> V) (start : tree holding -> nat -> seq nat -> V).
Variables (is_of : V -> seq nat -> Prop) (is_of_ok : V -> seq nat -> bool).
Variables (agrees : state V -> tiling -> Prop) (rests : run -> tiling -> option run) (blocks_of : run -> seq nat) (first : state V).
Local Notation stands := (stands rank D total start).
Local Notation state_at := (state_at total first P).
Local Notation goes_to := (goes_to total way is_of agrees first P).
Local Notation stops_at := (stops_at total way is_of agrees first P).
Local Notation height_of := (height_of total first P).
Local Notation cost_of := (cost_of total first P).
Local Notation blames := (blames D rank total way is_of agrees).
Hypothesis total_one : forall v, total [:: v] = v.
Hypothesis is_ofP : forall v i, reflect (is_of v i) (is_of_ok v i).
Hypothesis blocksP : forall s d b c, size c = rank ->
  every_block (blocks_of s) c (fun l => is_of_ok (elem_at total start s d l) (plus b l)) =
  every c (fun l => is_of_ok (elem_at total start s d l) (plus b l)).
Hypothesis agreesP : forall s S T, known_tiling D rank T -> stands s S ->
  match rests s T with Some s' => agrees S T /\ stands s' S | None => ~ agrees S T end.
Hypothesis begins : stands (begin D (from P)) first.
Hypothesis shapes : forall d, d < D -> shape (first d) = shape (tiles_of (from P) d).

Let known_step k : k < n -> known D rank (move_of (step_at P k)) &&
  (if map_claim (step_at P k) is Some T then known_tiling D rank T else true).
Proof. by move=> lt; case/and4P: known_P => _ _ _ /(all_nthP (no_step)) h; exact: h. Qed.

Lemma state_after k : k < n -> state_at k.+1 = after total (state_at k) (move_of (step_at P k)).
Proof.
by move=> lt; rewrite /meaning.state_at (take_nth no_step lt) -cats1 foldl_cat.
Qed.

Lemma stop_not_through k r : stops_at k r -> ~ goes_to n.
Proof. by case=> lk _ [no _] /(_ k lk) ps; apply: no; exact: ps. Qed.

(* Two faults of one Program are one.                                           *)
Lemma stops_unique k r k' r' : stops_at k r -> stops_at k' r' -> k = k' /\ r = r'.
Proof.
have before a x b y : stops_at a x -> stops_at b y -> b <= a.
  by case=> la ga [no _] [lb gb _]; rewrite leqNgt; apply/negP => /gb ps; apply: no; exact: ps.
move=> st st'; have ek : k = k' by apply/eqP; rewrite eqn_leq (before _ _ _ _ st st') (before _ _ _ _ st' st).
split=> //; rewrite -ek in st'; case: st st' => _ _ [no yes] [_ _ [no' yes']].
apply: number_inj; apply/eqP; rewrite eqn_leq.
by apply/andP; split; rewrite leqNgt; apply/negP => lt; [apply: no'; exact: yes|apply: no; exact: yes'].
Qed.

Lemma goes_to_next k : goes_to k -> passes D rank total way is_of agrees (state_at k) (step_at P k) -> goes_to k.+1.
Proof. by move=> g p j; rewrite ltnS leq_eqVlt => /orP[/eqP->|/g]. Qed.

Lemma height_next k : height_of k.+1 = maxn (height_of k) (largest D (state_at k.+1)).
Proof. by rewrite /meaning.height_of big_ord_recr /= maxnA. Qed.

Lemma height_0 : height_of 0 = bound P.
Proof.
rewrite /meaning.height_of big_ord_recr big_ord0 /= max0n /meaning.state_at take0 /bound /=.
have -> : largest (devices P) first = largest (devices P) (tiles_of (from P)).
  by apply: eq_bigr => d _; rewrite shapes.
lia.
Qed.

Lemma cost_next k : cost_of k.+1 = cost_of k + price D total (state_at k) (move_of (step_at P k)).
Proof. by rewrite /meaning.cost_of big_ord_recr. Qed.

Definition kept (k : nat) (ss : seq run) : Prop :=
  size ss = k /\ forall j, j < k -> stands (nth (begin D (from P)) (rev ss) j) (state_at j.+1).

(* The replay ends at a step that is wrong, or at the end.                      *)
Lemma go_from finish k s ss : k <= n -> stands s (state_at k) -> goes_to k -> kept k ss ->
  let v := go D (step_run D rank way total start is_of_ok rests blocks_of) finish (drop k (steps P)) s ss k (height_of k) (cost_of k) in
  (exists j r, [/\ first_wrong v = Some (j, r), stops_at j r, v_height v = height_of j & v_cost v = cost_of j]) \/
  (exists s' ss', [/\ first_wrong v = finish s' ss', goes_to n, stands s' (state_at n) & kept n ss']
               /\ v_height v = height_of n /\ v_cost v = cost_of n).
Proof.
move e: (n - k) => m; elim: m k s ss e => [|m IH] k s ss e le st gk kp.
  have ek : k = n by apply/eqP; rewrite eqn_leq le -subn_eq0 e.
  by rewrite ek drop_size in st gk kp *; right; exists s, ss.
have lt : k < n by rewrite -subn_gt0 e.
rewrite (drop_nth no_step lt) /= -/(step_at P k).
have /andP[kn kt] := known_step lt.
have := step_correct way total_one is_ofP blocksP agreesP kn kt st.
case: (step_run _ _ _ _ _ _ _ _ s (step_at P k)) => [r|s' p] /=.
  by move=> bl; left; exists k, r.
rewrite -(state_after lt) => -[ps st' ->]; rewrite (largestE st') -cost_next -height_next.
apply: IH => //; first by rewrite subnS e.
  exact: goes_to_next.
case: kp => es kp; split=> /=; first by rewrite es.
move=> j; rewrite ltnS leq_eqVlt rev_cons nth_rcons size_rev es => /orP[/eqP->|lj]; first by rewrite ltnn eqxx.
by rewrite lj; exact: kp.
Qed.

Lemma go_correct finish :
  let v := go D (step_run D rank way total start is_of_ok rests blocks_of) finish (steps P) (begin D (from P)) [::] 0 (check_bound P) 0 in
  (exists j r, [/\ first_wrong v = Some (j, r), stops_at j r, v_height v = height_of j & v_cost v = cost_of j]) \/
  (exists s' ss', [/\ first_wrong v = finish s' ss', goes_to n, stands s' (state_at n) & kept n ss']
               /\ v_height v = height_of n /\ v_cost v = cost_of n).
Proof.
have st0 : stands (begin D (from P)) (state_at 0) by rewrite /meaning.state_at take0.
have g0 : goes_to 0 by []. have k0 : kept 0 [::] by [].
have := go_from finish (leq0n _) st0 g0 k0.
by rewrite drop0 height_0 check_bound_at // /meaning.cost_of big_ord0.
Qed.
End Replay.

(* What is to be proved of a verdict, where `wrong` and `right` are of a kind   *)
(* of Program.                                                                  *)
Definition says (v : verdict) (P : program) (right : Prop) (wrong : nat -> reason -> Prop) (height cost : nat -> nat) : Prop :=
  [/\ first_wrong v = None <-> right,
      forall k r, first_wrong v = Some (k, r) <-> wrong k r
    & let k := if first_wrong v is Some (k, r) then counted P k r else size (steps P) in
      v_height v = height k /\ v_cost v = cost k].

Lemma says_of v P (right : Prop) (wrong : nat -> reason -> Prop) (height cost : nat -> nat) :
  (forall k r, wrong k r -> ~ right) -> (forall k r k' r', wrong k r -> wrong k' r' -> k = k' /\ r = r') ->
  (first_wrong v = None /\ right \/ exists k r, first_wrong v = Some (k, r) /\ wrong k r) ->
  (let k := if first_wrong v is Some (k, r) then counted P k r else size (steps P) in
   v_height v = height k /\ v_cost v = cost k) ->
  says v P right wrong height cost.
Proof.
move=> no_right unique verdict figures; split=> //.
  case: verdict => [[-> rt]|[k [r [-> wr]]]]; first by split.
  by split=> // /(no_right _ _ wr).
move=> k r; case: verdict => [[-> rt]|[k' [r' [-> wr]]]].
  by split=> // /no_right/(_ rt).
split=> [[<- <-] //|wr']; by have [-> ->] := unique _ _ _ _ wr' wr.
Qed.

(* ---- without addends ----                                                    *)
Section Whole.
Variable P : program.
Hypothesis known_P : known_program P.
Let D := devices P.
Let rank := rank_of (from P).
Let n := size (steps P).
Local Notation stands := (stands rank D the_one index_at).

Lemma held_test s (S : state (seq nat)) h d : shape_at s d = shape (S d) -> size (shape (S d)) = rank ->
  every_block (grain_beside rank h s) (shape_at s d) (fun l => elem_at the_one index_at s d l == elem (tile_of (get (Nothing 0) h d)) l) =
  every (shape_at s d) (fun l => elem_at the_one index_at s d l == elem (tile_of (get (Nothing 0) h d)) l).
Proof. by move=> es zs; apply: held_blocks; rewrite es. Qed.

Lemma box_test s (S : state (seq nat)) b d : shape_at s d = shape (S d) -> size (shape (S d)) = rank ->
  every_block (grain rank s) (shape_at s d) (fun l => elem_at the_one index_at s d l == plus b l) =
  every (shape_at s d) (fun l => elem_at the_one index_at s d l == plus b l).
Proof. by move=> es zs; apply: box_blocks; rewrite es. Qed.

Lemma holdsP s S T : stands s S -> reflect (holds_tiles P S T) (holds D rank s (held D T)).
Proof.
move=> st; apply: (iffP (belowP _ _)) => h d lt; have := h d lt; have [es fs el] := st d lt; have zs := fits_size fs.
  cbv zeta; rewrite (held_test _ es zs) get_held // es => /andP[/eqP e /everyP ev]; split=> // l il.
  by rewrite -(el l il); apply/eqP/ev.
case=> e ev; cbv zeta; rewrite (held_test _ es zs) get_held // es /= e eqxx /=; apply/everyP => l; rewrite -e => il.
by rewrite (el l il); apply/eqP/ev.
Qed.

Lemma rests_atP s S T : known_tiling D rank T -> stands s S ->
  match rests_at D rank s T with Some s' => holds_tiles P S T /\ stands s' S | None => ~ holds_tiles P S T end.
Proof.
move=> _ st; rewrite /rests_at; case: (holdsP T st) => h //; split=> // d lt.
have [es fs el] := st d lt; split=> // l il.
by rewrite /elem_at /= /index_at get_held //; have [_ ->] := h d lt.
Qed.

Lemma begin_whole T : known_tiling D rank T -> stands (begin D T) (tiles_of T).
Proof. by move=> kn; apply: begin_stands => // d l lt _; rewrite /index_at get_held. Qed.

Lemma plus_zeros b l : plus (plus b (nseq (size l) 0)) l = plus b l.
Proof. by rewrite /plus; elim: l b => [|x u IH] [|y v] //=; rewrite addn0 IH. Qed.

Lemma boxes_okP s S : stands s S ->
  reflect (forall d, d < D -> exists b, box_at eq (S d) b) (boxes_ok D rank s).
Proof.
move=> st; apply: (iffP (belowP _ _)) => h d lt; have := h d lt; have [es fs el] := st d lt; have zs := fits_size fs.
  cbv zeta; rewrite (box_test _ es zs) es => /everyP ev; exists (elem_at the_one index_at s d (zeros (shape (S d)))) => l il.
  by rewrite -(el l il); apply/eqP/ev.
case=> b bx; cbv zeta; rewrite (box_test _ es zs) es; apply/everyP => l il.
have iz : inside (shape (S d)) (zeros (shape (S d))).
  by apply: inside_zeros; apply/negP => em; move: il; rewrite inside_empty.
rewrite (el l il) (el _ iz) (bx _ il) (bx _ iz); apply/eqP.
rewrite /zeros; have <- : size l = size (shape (S d)) by have /insideP[] := il.
by rewrite plus_zeros.
Qed.

(* States that were kept, from step k on.                                       *)
Lemma unboxedP ss k : (forall j, j < size ss -> stands (nth (begin D (from P)) ss j) (whole_at P (k + j).+1)) ->
  match first_unboxed D rank k ss with
  | Some j => [/\ k <= j < k + size ss, ~ boxes P j.+1 & forall i, k <= i < j -> boxes P i.+1]
  | None => forall i, k <= i < k + size ss -> boxes P i.+1
  end.
Proof.
elim: ss k => [|s ss IH] k st /=; first by move=> i; lia.
have st0 : stands s (whole_at P k.+1) by have := st 0 isT; rewrite addn0.
case: (boxes_okP st0) => b.
  have {}/IH : forall j, j < size ss -> stands (nth (begin D (from P)) ss j) (whole_at P (k.+1 + j).+1).
    by move=> j lj; have := st j.+1 lj; rewrite addSnnS.
  rewrite addSnnS; case: (first_unboxed D rank k.+1 ss) => [j|].
    case=> /andP[lk lt] no yes; split=> //; first by rewrite (ltnW lk) lt.
    by move=> i /andP[]; rewrite leq_eqVlt => /orP[/eqP<-//|li lj]; apply: yes; rewrite li.
  by move=> yes i /andP[]; rewrite leq_eqVlt => /orP[/eqP<-//|li lj]; apply: yes; rewrite li.
by split=> //; [lia|move=> i; lia].
Qed.

Lemma whole_not_right k r : whole_wrong P k r -> ~ whole_right P.
Proof.
case=> [st [go _]|[_ [na _]] [_ ar]]; last exact: na.
exact: (stop_not_through st).
Qed.

Lemma whole_unique k r k' r' : whole_wrong P k r -> whole_wrong P k' r' -> k = k' /\ r = r'.
Proof.
move=> [st|[gn [na fault]]] [st'|[gn' [na' fault']]].
- exact: stops_unique st st'.
- by case: (stop_not_through st).
- by case: (stop_not_through st').
- case: fault fault' => [[[lk bk dk fk] ->]|[none [-> ->]]] [[[lk' bk' dk' fk'] ->]|[none' [-> ->]]] //.
  + split=> //; apply/eqP; rewrite eqn_leq; apply/andP.
    by split; rewrite leqNgt; apply/negP => lt; [apply: bk'; exact: fk|apply: bk; exact: fk'].
  + by case: (none' k).
  + by case: (none k').
Qed.

Lemma whole_says : says (check_whole P) P (whole_right P) (whole_wrong P)
  (height_of the_one (tiles_of (from P)) P) (cost_of the_one (tiles_of (from P)) P).
Proof.
have known_from : known_tiling D rank (from P) by case/and4P: known_P.
have eqP' (v i : seq nat) : reflect (v = i) (v == i) by exact: eqP.
set v := check_whole P.
suff: (first_wrong v = None /\ whole_right P \/ exists k r, first_wrong v = Some (k, r) /\ whole_wrong P k r) /\
      let k := if first_wrong v is Some (k, r) then counted P k r else n in
      v_height v = height_of the_one (tiles_of (from P)) P k /\ v_cost v = cost_of the_one (tiles_of (from P)) P k.
  by case=> verdict figures; apply: says_of figures => //; [exact: whole_not_right|exact: whole_unique].
have := @go_correct P None known_P _ the_one index_at eq _ (holds_tiles P) (rests_at D rank) (grain rank) (tiles_of (from P))
  (fun=> erefl) eqP' (fun s d b c fits => box_blocks fits s b d) rests_atP (begin_whole known_from) (fun d _ => erefl)
  (fun s ss => if holds D rank s (held D (to P)) then None
    else if deals_somewhere P then Some (size (steps P), End)
    else if first_unboxed D rank 0 (rev ss) is Some k then Some (k, Not_a_box) else Some (size (steps P), End)).
cbv zeta; rewrite -/rank -/D -/(whole_step D rank) -/(check_whole P) -/v; case.
  case=> j [r [e st eh ec]]; have wr : whole_wrong P j r by left.
  split; first by right; exists j, r.
  by rewrite e /=; have -> : counted P j r = j by case: (r) st => // -[_ _ [no _]]; case: no.
case=> s' [ss' [[e gn st' [es kp]] figures]].
have ends : holds D rank s' (held D (to P)) <-> arrived P.
  have h := holdsP (to P) st'; split; [move/h|move=> a; apply/h]; exact.
have many : forall j, j < size (rev ss') -> stands (nth (begin D (from P)) (rev ss') j) (whole_at P (0 + j).+1).
  by move=> j; rewrite size_rev es; exact: kp.
have := unboxedP many; rewrite size_rev es add0n.
move: e; case ok: (holds _ _ _ _) ends => ends.
  by move=> e _; split; [left; split=> //; split=> //; apply/ends|rewrite e].
have na : ~ arrived P by move/ends.
case dl: (deals_somewhere P) => e.
  move=> _; split; last by rewrite e.
  by right; exists n, End; split=> //; right; split=> //; split=> //; right; split=> // j [_ _]; rewrite dl.
case: (first_unboxed _ _ _ _) e => [k|] e.
  case=> /andP[_ lk] no yes; split; last by rewrite e.
  have at_fault : [/\ k < n, ~ boxes P k.+1, ~~ deals_somewhere P & forall i, i < k -> boxes P i.+1].
    by split=> //; by [rewrite dl | move=> i li; exact: yes].
  by right; exists k, Not_a_box; split=> //; right; split=> //; split=> //; left.
move=> all_b; split; last by rewrite e.
right; exists n, End; split=> //; right; split=> //; split=> //; right; split=> // j [lj nb _ _].
by apply: nb; exact: all_b.
Qed.
End Whole.

(* ---- addends ----                                                            *)
Section Sums.
Variables (P : program) (way : addition).
Hypothesis known_P : known_program P.
Let D := devices P.
Let rank := rank_of (from P).
Let n := size (steps P).
Let K := addend_count (from P).
Let addends : tree nat := of_seq 0 (mkseq (fun d => if share_of (from P) d is Some (_, k) then k else 0) D).
Local Notation stands := (stands rank D (@flatten term) (term_at addends)).
Local Notation elem_at := (elem_at (@flatten term) (term_at addends)).
Implicit Types (s : run) (S : state sum) (T : tiling).

Lemma all_ofP (v : sum) i : reflect (all_of v i) (all_of_ok v i).
Proof. by apply: (iffP allP) => h x ix; apply/eqP/h. Qed.

Lemma equal_sumsP (v w : sum) : reflect (forall x, times way x v = times way x w) (equal_sums way v w).
Proof.
have sets : reflect (forall x, (x \in v : nat) = (x \in w)) (all (mem w) v && all (mem v) w).
  apply: (iffP andP) => [[/allP vw /allP wv] x|h].
    by congr nat_of_bool; apply/idP/idP => [/vw|/wv].
  by split; apply/allP => x ix /=; have := h x; rewrite ix; case: (x \in _).
have lists : reflect (forall x, count_mem x v = count_mem x w) ((v == w) || perm_eq v w).
  apply: (iffP orP) => [[/eqP->|/permP h x]|h] //.
  by right; apply/allP => x _ /=; rewrite h.
by rewrite /times /equal_sums; case: way.
Qed.

Lemma get_shares T d : d < D -> get None (of_seq None [seq share_of T d | d <- iota 0 D]) d = share_of T d.
Proof. by move=> lt; rewrite get_of_seq (nth_map 0) ?size_iota // nth_iota. Qed.

Lemma grid_shape es p o a d e t j j' (T := Grid es p o a) :
  share_of T d = Some (t, j) -> share_of T e = Some (t, j') -> holding_of T d = holding_of T e.
Proof.
rewrite /T /=; case: position => // x [<- _]; case: position => // y [ey _].
by congr Sides; elim: es ey {T} => //= f es IH [e1 /IH->]; rewrite /side_of e1.
Qed.

(* Devices of one tile number have tiles of one shape, at the same indices.     *)
Lemma share_shape T d e t j j' : known_tiling D rank T -> d < D -> e < D ->
  share_of T d = Some (t, j) -> share_of T e = Some (t, j') -> holding_of T d = holding_of T e.
Proof.
case: T => [es p o a|ns root|ns at_ cs|v T'].
- by move=> _ _ _; exact: grid_shape.
- by move=> _ _ _ [<- _] [e' _]; move: e'; rewrite /=; do 2 case: eqP.
- case/and4P=> _ /eqP sa /(all_nthP [::]) fa fc ld le [<- _] [ec _].
  rewrite /=; move/eqP: ec; rewrite eqseq_cat; first by case/andP=> /eqP-> /eqP->.
  by rewrite !(eqP (fa _ _)) ?sa.
- case: T' => // [es p o a|ns root|ns at_ cs|v' T'] kn; try by case/and3P: kn.
  by move=> _ _ sd se; rewrite [LHS]/= [RHS]/=; congr (in_view _ _ _); exact: grid_shape sd se.
Qed.

Lemma shapes_okP s S T : stands s S -> reflect (shapes_agree D S T) (shapes_ok D s (held D T)).
Proof.
move=> st; apply: (iffP (belowP _ _)) => h d lt; have := h d lt; rewrite get_held // (stands_shape st) //; first by move/eqP.
by move=> ->; rewrite eqxx.
Qed.

Lemma indices_okP s S T : stands s S -> reflect (indices_agree D S T) (indices_ok D addends s (held D T)).
Proof.
move=> st; apply: (iffP (belowP _ _)) => [h d l lt il|h d lt].
  have := h d lt; rewrite (stands_shape st) // => /everyP/(_ l il)/all_ofP.
  by have [_ _ ->] := st d lt; rewrite // /index_at get_held.
apply/everyP => l; rewrite (stands_shape st) // => il; apply/all_ofP.
by have [_ _ ->] := st d lt; rewrite // /index_at get_held //; exact: h.
Qed.

Lemma first_share T d : d < D -> let e := index (share_of T d) [seq share_of T d | d <- iota 0 D] in
  e < D /\ share_of T e = share_of T d.
Proof.
move=> lt; set s := [seq _ | _ <- _]; have id : share_of T d \in s by apply: map_f; rewrite mem_iota.
have le : index (share_of T d) s < D by have := id; rewrite -index_mem size_map size_iota.
split=> //; have := nth_index None id; rewrite (nth_map 0) ?size_iota // nth_iota //.
Qed.

(* Devices of one tile hold elements at the same local indices.                 *)
Lemma inside_share S T d e t j j' l : known_tiling D rank T -> shapes_agree D S T -> d < D -> e < D ->
  share_of T d = Some (t, j) -> share_of T e = Some (t, j') -> inside (shape (S d)) l -> inside (shape (S e)) l.
Proof.
by move=> kn sh ld le sd se; rewrite !sh // /tiles_of (share_shape kn ld le sd se).
Qed.

Lemma replicas_okP s S T : known_tiling D rank T -> stands s S -> shapes_agree D S T ->
  reflect (replicas_agree way D S T) (replicas_ok way D addends s T).
Proof.
move=> kn st sh; have el d l : d < D -> inside (shape (S d)) l -> elem_at s d l = elem (S d) l.
  by move=> lt; have [_ _] := st d lt; apply.
apply: (iffP (belowP _ _)) => [h d e l ld le so se il x|h d ld]; last first.
  have [lf sf] := first_share T ld; rewrite get_shares //; case so: (share_of T d) lf sf => [[t j]|] lf sf //=.
  set f := index _ _ in lf sf *; apply/orP; right; apply/everyP => l; rewrite (stands_shape st) // => il.
  have ilf := inside_share kn sh ld lf so sf il.
  by rewrite !el //; apply/equal_sumsP; apply: h; rewrite ?so ?sf.
have [lf sf] := first_share T ld.
have same_as_first a : a < D -> share_of T a = share_of T d ->
    times way x (elem (S a) l) = times way x (elem (S (index (share_of T d) [seq share_of T d | d <- iota 0 D])) l).
  move=> la sa; have := h a la; rewrite get_shares // sa; case sd: (share_of T d) so lf sf sa => [[t j]|] // _ lf sf sa.
  set f := index _ _ in lf sf *; case/orP=> [/eqP<- //|/everyP/(_ l)]; rewrite (stands_shape st) // => /(_ (inside_share kn sh ld la sd sa il)).
  by rewrite !el ?(inside_share kn sh ld la sd sa il) ?(inside_share kn sh ld lf sd sf il) // => /equal_sumsP.
by rewrite (same_as_first d) // (same_as_first e).
Qed.

Lemma complete_okP s S T : known_tiling D rank T -> stands s S -> shapes_agree D S T ->
  reflect (complete way D K S T) (complete_ok way D K addends s T (held D T)).
Proof.
move=> kn st sh; have el d l : d < D -> inside (shape (S d)) l -> elem_at s d l = elem (S d) l.
  by move=> lt; have [_ _] := st d lt; apply.
have lt_first e : e \in firsts D T -> e < D by rewrite mem_filter mem_iota => /andP[_].
have es_of t : [seq e <- firsts D T | if get None (of_seq None [seq share_of T d | d <- iota 0 D]) e is Some (t', _)
                                      then t' == t else false] = holders D T t.
  by apply: eq_in_filter => e /lt_first le; rewrite get_shares.
have sums d t j l x : d < D -> share_of T d = Some (t, j) -> inside (shape (S d)) l ->
    sumn [seq times way x v | v <- [seq elem_at s e l | e <- holders D T t]] = together way D S T t l x.
  move=> ld sd il; rewrite -map_comp /together; congr sumn; apply/eq_in_map => e /=.
  rewrite mem_filter => /andP[+ /lt_first le]; case se: (share_of T e) => [[t' j']|] // /eqP et.
  by rewrite et in se; rewrite el // (inside_share kn sh ld le sd se il).
apply: (iffP (belowP _ _)) => [h d l k t j ld il lk sd|h d ld].
  have := h d ld; rewrite get_shares // sd => /everyP/(_ l); rewrite (stands_shape st) // => /(_ il)/belowP/(_ k lk).
  rewrite /index_at get_held // es_of -/(tiles_of T d); set x := (k, _).
  by case: way sums => sums /=; rewrite ?(sums d t j) //; [move/eqP|rewrite el // addn0 => /eqP].
rewrite get_shares //; case sd: (share_of T d) => [[t j]|] //; apply/everyP => l; rewrite (stands_shape st) // => il.
apply/belowP => k lk; have := h d l k t j ld il lk sd.
rewrite /index_at get_held // es_of -/(tiles_of T d); set x := (k, _).
by case: way sums => sums /=; rewrite ?(sums d t j) //; [move/eqP|rewrite el // addn0 => /eqP].
Qed.

Lemma differsP s S T : known_tiling D rank T -> stands s S ->
  match differs way D K addends s T with Some r => disagrees way D K S T r | None => sums_agree way D K S T end.
Proof.
move=> kn st; rewrite /differs.
case: (shapes_okP T st) => [sh|nsh] /=; last by case.
case: (indices_okP T st) => [ix|nix] /=; last by case.
case: (replicas_okP kn st sh) => [rp|nrp] //=.
by case: (complete_okP kn st sh) => [cp|ncp].
Qed.

Lemma still_atP s S T : known_tiling D rank T -> stands s S ->
  match still_at way D K addends s T with
  | Some s' => sums_agree way D K S T /\ stands s' S
  | None => ~ sums_agree way D K S T
  end.
Proof.
move=> kn st; rewrite /still_at; have := differsP kn st; case: (differs _ _ _ _ _ _) => [r|] //.
by case: r => //= h [a b c e]; [case: h => _ _ _; exact|case: h => _ _; exact|exact: h].
Qed.

Lemma disagrees_unique S T r r' : disagrees way D K S T r -> disagrees way D K S T r' -> r = r'.
Proof.
case: r => //=; case: r' => //=.
- by move=> [_ _ rp _] [_ _ no]; case: no.
- by move=> [sh ix _ _] no; case: no.
- by move=> [_ _ no] [_ _ rp _]; case: no.
- by move=> [sh ix _] no; case: no.
- by move=> no [sh ix _ _]; case: no.
- by move=> no [sh ix _]; case: no.
Qed.

Lemma sums_not_right k r : sums_wrong way P k r -> ~ sums_right way P.
Proof.
case=> [st [go _]|[_ _ no] [_ [a b c e]]]; first exact: (stop_not_through st).
by case: r no => //= h; [case: h => _ _ _; exact|case: h => _ _; exact|exact: h].
Qed.

Lemma sums_unique k r k' r' : sums_wrong way P k r -> sums_wrong way P k' r' -> k = k' /\ r = r'.
Proof.
move=> [st|[gn -> no]] [st'|[gn' -> no']].
- exact: stops_unique st st'.
- by case: (stop_not_through st).
- by case: (stop_not_through st').
- by split=> //; exact: disagrees_unique no no'.
Qed.

Lemma sums_says : says (check_sums way P) P (sums_right way P) (sums_wrong way P)
  (height_of (@flatten term) (terms_of (from P)) P) (cost_of (@flatten term) (terms_of (from P)) P).
Proof.
have known_from : known_tiling D rank (from P) by case/and4P: known_P.
have known_to : known_tiling D rank (to P) by case/and4P: known_P.
have begins : stands (begin D (from P)) (terms_of (from P)).
  apply: begin_stands => // d l lt _; rewrite /term_at /addends get_mkseq // /index_at get_held //.
set v := check_sums way P.
suff: (first_wrong v = None /\ sums_right way P \/ exists k r, first_wrong v = Some (k, r) /\ sums_wrong way P k r) /\
      let k := if first_wrong v is Some (k, r) then counted P k r else n in
      v_height v = height_of (@flatten term) (terms_of (from P)) P k /\
      v_cost v = cost_of (@flatten term) (terms_of (from P)) P k.
  by case=> verdict figures; apply: says_of figures => //; [exact: sums_not_right|exact: sums_unique].
have := @go_correct P (Some way) known_P _ (@flatten term) (term_at addends) all_of _ (sums_agree way D K)
  (still_at way D K addends) (fun=> [::]) (terms_of (from P)) (@cats0 term) all_ofP (fun s d b c _ => every_block_none c _) still_atP begins (fun d _ => erefl)
  (fun s ss => if differs way D K addends s (to P) is Some r then Some (size (steps P), r) else None).
cbv zeta; rewrite -/rank -/D -/(sums_step way D K addends rank) -/(check_sums way P) -/v; case.
  case=> j [r [e st eh ec]]; have wr : sums_wrong way P j r by left.
  split; first by right; exists j, r.
  by rewrite e /=; have -> : counted P j r = j by case: (r) st => // -[_ _ [no _]]; case: no.
case=> s' [ss' [[e gn st' _] figures]]; rewrite e; have := differsP known_to st'.
case: (differs _ _ _ _ _ _) => [r|] df; split=> //.
- by right; exists n, r; split=> //; right.
- by have -> : counted P (size (steps P)) r = n by case: (r).
- by left.
Qed.
End Sums.

Lemma check_says P : known_program P -> says (check P) P (right P) (wrong P) (height P) (cost P).
Proof.
move=> kn; rewrite /check /right /wrong /height /cost.
by case: (addition_of P) => [way|]; [exact: sums_says|exact: whole_says].
Qed.

Theorem check_sound_and_complete P : known_program P -> (first_wrong (check P) = None <-> right P).
Proof. by move/check_says; case. Qed.

Theorem check_first_wrong P k r : known_program P -> (first_wrong (check P) = Some (k, r) <-> wrong P k r).
Proof. by move/check_says; case. Qed.

Theorem check_figures P : known_program P ->
  let k := if first_wrong (check P) is Some (k, r) then counted P k r else size (steps P) in
  [/\ v_height (check P) = height P k, v_cost (check P) = cost P k & check_bound P = bound P].
Proof. by move=> kn; have [_ _ [-> ->]] := check_says kn; rewrite check_bound_at. Qed.
