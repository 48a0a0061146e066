(* check says what meaning.v does, of all Programs.                             *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation vectors program meaning lookup check check_steps.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section States.
Variables D rank : nat.
Implicit Types (s : run) (S : state).
Local Notation stands := (stands rank D).
Local Notation fits_shape := (fits_shape rank).

(* ---- claims ----                                                             *)
Lemma get_held T d : d < D -> get (Nothing 0) (held D T) d = holding_of T d.
Proof. exact: get_mkseq. Qed.

Lemma holdsP s S T : stands s S ->
  reflect (forall d, d < D -> same (S d) (tiles_of T d)) (holds D s (held D T)).
Proof.
move=> st; apply: (iffP (belowP _ _)) => h d lt; have := h d lt; have [es _ el] := st d lt.
  rewrite get_held // es => /andP[/eqP e /everyP ev]; split=> // l il.
  by rewrite -(el l il); apply/eqP/ev.
case=> e ev; rewrite get_held // es /= e eqxx /=; apply/everyP => l; rewrite -e => il.
by rewrite (el l il); apply/eqP/ev.
Qed.

Lemma plus_zeros b l : plus (plus b (nseq (size l) 0)) l = plus b l.
Proof. by rewrite /plus; elim: l b => [|x u IH] [|y v] //=; rewrite addn0 IH. Qed.

Lemma boxes_okP s S : stands s S ->
  reflect (forall d, d < D -> exists b, box_at (S d) b) (boxes_ok D s).
Proof.
move=> st; apply: (iffP (belowP _ _)) => h d lt; have := h d lt; have [es _ el] := st d lt.
  rewrite es => /everyP ev; exists (elem_at s d (zeros (shape (S d)))) => l il.
  by rewrite -(el l il); apply/eqP/ev.
case=> b bx; rewrite es; apply/everyP => l il.
have iz : inside (shape (S d)) (zeros (shape (S d))).
  by apply: inside_zeros; apply/negP => em; move: il; rewrite inside_empty.
rewrite (el l il) (el _ iz) (bx _ il) (bx _ iz); apply/eqP.
rewrite /zeros; have <- : size l = size (shape (S d)) by have /insideP[] := il.
by rewrite plus_zeros.
Qed.

Lemma extentsE s S : stands s S -> extents D rank s = largest_extents D rank S.
Proof.
move=> st; apply: eq_map => i; rewrite mostE max0n; apply: eq_bigr => d _.
by rewrite (stands_shape st).
Qed.

Lemma at_claimP s S st0 : stands s S ->
  reflect (if at_claim st0 is Some rows then
     forall d, d < D ->
       (if shapes_claim st0 is Some cs then nth [::] cs d = shape (S d) else True) /\
       box_at (S d) (nth [::] rows d)
   else True) (at_claim_ok D s st0).
Proof.
move=> st; rewrite /at_claim_ok; case: (at_claim st0) => [rows|]; last by left.
apply: (iffP (belowP _ _)) => h d lt; have := h d lt; have [es _ el] := st d lt.
  rewrite !get_of_seq es; case: (shapes_claim st0) => [cs|] /andP[ec /everyP ev].
    by split; [apply/eqP|move=> l il; rewrite -(el l il); apply/eqP/ev].
  by split=> // l il; rewrite -(el l il); apply/eqP/ev.
rewrite !get_of_seq es => -[ec bx]; apply/andP; split; first by case: (shapes_claim st0) ec => // cs ->.
by apply/everyP => l il; rewrite (el l il) bx.
Qed.

Theorem step_correct s S st0 : known D rank (move_of st0) -> stands s S ->
  match step_run D rank s st0 with
  | Stuck r => blames D rank S st0 r
  | Goes s' p => [/\ passes D rank S st0, stands s' (after S (move_of st0)) & p = price D S (move_of st0)]
  end.
Proof.
move=> kn st; have := move_correct kn st; rewrite /moves_to /step_run.
case: (move_run D rank s (move_of st0)) => [r|s' p]; first by case=> lr no yes; split; [exact: no|move=> r'; exact: yes].
case=> basic st' ep; set S' := after S (move_of st0) in st' *.
have low r : number r < 5 -> condition D rank S st0 r by exact: basic.
have tc : tile_claim_ok D rank s' st0 = true <-> condition D rank S st0 Tile_claim.
  rewrite /= /good_tile_claim /tile_claim_ok (extentsE st'); case: (tile_claim st0) => [c|] //.
  by split=> [/eqP//|->]; rewrite eqxx.
case ok: (tile_claim_ok _ _ _ _) tc => tc /=; last by split=> [/tc//|r' lr]; apply: low.
have {}tc : condition D rank S st0 Tile_claim by apply/tc.
have six r : number r < 6 -> condition D rank S st0 r.
  by rewrite ltnS leq_eqVlt => /orP[/eqP|/low//]; case: r.
have all_of : condition D rank S st0 Map_claim -> passes D rank S st0.
  by move=> mc r; case: r => //; exact: six.
have ac := at_claimP st0 st'.
case em: (map_claim st0) => [T|]; last first.
  case: ac => ac /=; last by split=> [|r' /six//]; rewrite /= /good_map_claim => -[_].
  by split=> //; apply: all_of; rewrite /= /good_map_claim em.
case: (holdsP T st') => hd /=; last by split=> [|r' /six//]; rewrite /= /good_map_claim em => -[].
case: ac => ac /=; last by split=> [|r' /six//]; rewrite /= /good_map_claim => -[_].
split=> //; first by apply: all_of; rewrite /= /good_map_claim em.
move=> d lt; have [es fs el] := st' d lt; split=> // l il.
by rewrite /elem_at /= get_held //; have [_ ->] := hd d lt.
Qed.

Lemma begin_stands T : known_tiling D rank T -> stands (begin D T) (tiles_of T).
Proof.
move=> kn d lt; rewrite /shape_at /elem_at /= get_mkseq ?get_held //; split=> //.
have : match holding_of T d with Sides ss => size ss = rank | Nothing r => r = rank end.
  case: T kn => [es P o|ns root|ns at_ cs] /=.
  - by move/eqP => <-; case: position => [p|]; rewrite ?size_map.
  - by move/eqP => <-; case: ifP => _; rewrite ?size_map.
  - case/and4P=> _ /eqP sa /(all_nthP [::]) fa fc; rewrite size_map size_zip.
    rewrite (eqP (fa d _)) ?sa //; case: cs fc => [c|rs] /=; first by move=> fc; rewrite (fits_size fc) minnn.
    by case/andP=> /eqP sr /(all_nthP [::]) fr; rewrite (fits_size (fr d _)) ?sr // minnn.
rewrite /tiles_of; case: (holding_of T d) => [ss|r] /= e; first by apply: fits_of_tidy; rewrite size_map.
rewrite /meaning.fits_shape /fits size_nseq e eqxx /= /tidy.
by case: ifP => //; rewrite /zeros size_nseq.
Qed.
End States.

(* ---- whole Programs ----                                                     *)

Lemma number_inj r r' : number r = number r' -> r = r'.
Proof. by case: r; case: r'. Qed.

Section Whole.
Variable P : program.
Hypothesis known_P : known_program P.
Let D := devices P.
Let rank := rank_of (from P).
Let n := size (steps P).
Local Notation stands := (stands rank D).

Let known_from : known_tiling D rank (from P). Proof. by case/and4P: known_P. Qed.
Let known_to : known_tiling D rank (to P). Proof. by case/and4P: known_P. Qed.
Let known_step k : k < n -> known D rank (move_of (step_at P k)).
Proof. by move=> lt; case/and4P: known_P => _ _ _ /(all_nthP (no_step)) h; exact: h. Qed.

Lemma state_after k : k < n -> state_at P k.+1 = after (state_at P k) (move_of (step_at P k)).
Proof.
by move=> lt; rewrite /state_at (take_nth no_step lt) -cats1 foldl_cat.
Qed.

(* Two faults of one Program are one.                                           *)
Lemma wrong_unique k r k' r' : wrong P k r -> wrong P k' r' -> k = k' /\ r = r'.
Proof.
have blame_k a b x y : a < n -> goes_to P b -> blames D rank (state_at P a) (step_at P a) x -> b <= a \/ y.
  by move=> la go [no _]; left; rewrite leqNgt; apply/negP => /go; exact.
have same_k a b x y : a < n -> goes_to P a -> blames D rank (state_at P a) (step_at P a) x ->
    b < n -> goes_to P b -> blames D rank (state_at P b) (step_at P b) y -> a = b.
  move=> la ga ba lb gb bb; apply/eqP; rewrite eqn_leq; apply/andP; split.
    by have [|//] := blame_k b a y False lb ga bb.
  by have [|//] := blame_k a b x False la gb ba.
have never a x : a < n -> goes_to P n -> blames D rank (state_at P a) (step_at P a) x -> False.
  by move=> la gn ba; have [|//] := blame_k a n x False la gn ba; rewrite leqNgt la.
move=> [[lk [gk bk]]|[gn [na fault]]] [[lk' [gk' bk']]|[gn' [na' fault']]].
- have ek := same_k _ _ _ _ lk gk bk lk' gk' bk'; split=> //; rewrite -ek in bk'.
  have [no yes] := bk; have [no' yes'] := bk'; apply: number_inj; apply/eqP; rewrite eqn_leq.
  by apply/andP; split; rewrite leqNgt; apply/negP => lt; [apply: no'; exact: yes|apply: no; exact: yes'].
- by case: (never _ _ lk gn' bk).
- by case: (never _ _ lk' gn bk').
- case: fault fault' => [[[lk bk dk fk] ->]|[none [-> ->]]] [[[lk' bk' dk' fk'] ->]|[none' [-> ->]]] //.
  + split=> //; apply/eqP; rewrite eqn_leq; apply/andP.
    by split; rewrite leqNgt; apply/negP => lt; [apply: bk'; exact: fk|apply: bk; exact: fk'].
  + by case: (none' k).
  + by case: (none k').
Qed.

Lemma wrong_not_right k r : wrong P k r -> ~ right P.
Proof.
case=> [[lk [_ [no _]]] [go _]|[_ [na _]] [_ ar]]; last exact: na.
by apply: no; exact: go.
Qed.

(* States that were kept, from step k on.                                       *)
Lemma unboxedP ss k : (forall j, j < size ss -> stands (nth (begin D (from P)) ss j) (state_at P (k + j).+1)) ->
  match first_unboxed D k ss with
  | Some j => [/\ k <= j < k + size ss, ~ boxes P j.+1 & forall i, k <= i < j -> boxes P i.+1]
  | None => forall i, k <= i < k + size ss -> boxes P i.+1
  end.
Proof.
elim: ss k => [|s ss IH] k st /=; first by move=> i; lia.
have st0 : stands s (state_at P k.+1) by have := st 0 isT; rewrite addn0.
case: (boxes_okP st0) => b.
  have {}/IH : forall j, j < size ss -> stands (nth (begin D (from P)) ss j) (state_at P (k.+1 + j).+1).
    by move=> j lj; have := st j.+1 lj; rewrite addSnnS.
  rewrite addSnnS; case: (first_unboxed D k.+1 ss) => [j|].
    case=> /andP[lk lt] no yes; split=> //; first by rewrite (ltnW lk) lt.
    by move=> i /andP[]; rewrite leq_eqVlt => /orP[/eqP<-//|li lj]; apply: yes; rewrite li.
  by move=> yes i /andP[]; rewrite leq_eqVlt => /orP[/eqP<-//|li lj]; apply: yes; rewrite li.
by split=> //; [lia|move=> i; lia].
Qed.
Lemma goes_to_next k : goes_to P k -> passes D rank (state_at P k) (step_at P k) -> goes_to P k.+1.
Proof. by move=> g p j; rewrite ltnS leq_eqVlt => /orP[/eqP->|/g]. Qed.

Lemma height_next k : height P k.+1 = maxn (height P k) (largest D (state_at P k.+1)).
Proof. by rewrite /height big_ord_recr /= maxnA. Qed.

Lemma height_0 : height P 0 = bound P.
Proof. by rewrite /height big_ord_recr big_ord0 /= max0n /state_at take0 /bound /=; lia. Qed.

Lemma cost_next k : cost P k.+1 = cost P k + price D (state_at P k) (move_of (step_at P k)).
Proof. by rewrite /cost big_ord_recr. Qed.

Let kept (k : nat) (ss : seq run) : Prop :=
  size ss = k /\ forall j, j < k -> stands (nth (begin D (from P)) (rev ss) j) (state_at P j.+1).

(* The replay ends at a step that is wrong, or at the end.                      *)
Lemma go_correct finish k s ss : k <= n -> stands s (state_at P k) -> goes_to P k -> kept k ss ->
  let v := go D rank finish (drop k (steps P)) s ss k (height P k) (cost P k) in
  (exists j r, [/\ first_wrong v = Some (j, r), j < n, goes_to P j & blames D rank (state_at P j) (step_at P j) r]
               /\ v_height v = height P j /\ v_cost v = cost P j) \/
  (exists s' ss', [/\ first_wrong v = finish s' ss', goes_to P n, stands s' (state_at P n) & kept n ss']
               /\ v_height v = height P n /\ v_cost v = cost P n).
Proof.
move e: (n - k) => m; elim: m k s ss e => [|m IH] k s ss e le st gk kp.
  have ek : k = n by apply/eqP; rewrite eqn_leq le -subn_eq0 e.
  by rewrite ek drop_size in st gk kp *; right; exists s, ss.
have lt : k < n by rewrite -subn_gt0 e.
rewrite (drop_nth no_step lt) /= -/(step_at P k).
have := step_correct (known_step lt) st; case: (step_run D rank s (step_at P k)) => [r|s' p] /=.
  by move=> bl; left; exists k, r.
rewrite -(state_after lt) => -[ps st' ->]; rewrite (largestE st') -cost_next -height_next.
apply: IH => //; first by rewrite subnS e.
  exact: goes_to_next.
case: kp => es kp; split=> /=; first by rewrite es.
move=> j; rewrite ltnS leq_eqVlt rev_cons nth_rcons size_rev es => /orP[/eqP->|lj]; first by rewrite ltnn eqxx.
by rewrite lj; exact: kp.
Qed.

(* The verdict is right iff the Program is; the first wrong step and the reason *)
(* are those of the definition; so are height and cost.                         *)
Theorem check_correct_at :
  let v := check P in
  [/\ first_wrong v = None <-> right P,
      forall k r, first_wrong v = Some (k, r) <-> wrong P k r
    & let k := if first_wrong v is Some (k, r) then counted P k r else n in
      v_height v = height P k /\ v_cost v = cost P k].
Proof.
set v := check P.
suff: (first_wrong v = None /\ right P \/ exists k r, first_wrong v = Some (k, r) /\ wrong P k r) /\
      let k := if first_wrong v is Some (k, r) then counted P k r else n in
      v_height v = height P k /\ v_cost v = cost P k.
  case=> verdict figures; split=> //.
    case: verdict => [[-> rt]|[k [r [-> wr]]]]; first by split.
    by split=> // /(wrong_not_right wr).
  move=> k r; case: verdict => [[-> rt]|[k' [r' [-> wr]]]].
    by split=> // /wrong_not_right/(_ rt).
  split=> [[<- <-] //|wr']; by have [-> ->] := wrong_unique wr' wr.
have st0 : stands (begin D (from P)) (state_at P 0).
  by rewrite /state_at take0; exact: begin_stands.
have := @go_correct (fun s ss => if holds D s (base (begin D (to P))) then None
    else if deals_somewhere P then Some (size (steps P), End)
    else if first_unboxed D 0 (rev ss) is Some k then Some (k, Not_a_box) else Some (size (steps P), End))
  0 _ [::] (leq0n _) st0.
have -> : height P 0 = maxn (run_largest D (begin D (from P))) (run_largest D (begin D (to P))).
  by rewrite height_0 /bound (largestE (begin_stands known_from)) (largestE (begin_stands known_to)).
have -> : cost P 0 = 0 by rewrite /cost big_ord0.
rewrite drop0; have g0 : goes_to P 0 by []; have k0 : kept 0 [::] by [].
move=> /(_ g0 k0); cbv zeta; rewrite -/(check P) -/v; case.
  case=> j [r [[e lj gj bl] figures]]; have wr : wrong P j r by left.
  split; first by right; exists j, r.
  by rewrite e /=; have -> : counted P j r = j by case: (r) bl => // -[no _]; case: no.
case=> s' [ss' [[e gn st' [es kp]] figures]].
have ends : holds D s' (base (begin D (to P))) <-> arrived P.
  have := holdsP (to P) st'; rewrite -/(base (begin D (to P))) => h; split; [move/h|move=> a; apply/h]; exact.
have many : forall j, j < size (rev ss') -> stands (nth (begin D (from P)) (rev ss') j) (state_at P (0 + j).+1).
  by move=> j; rewrite size_rev es; exact: kp.
have := unboxedP many; rewrite size_rev es add0n.
move: e; case ok: (holds _ _ _) ends => ends.
  by move=> e _; split; [left; split=> //; split=> //; apply/ends|rewrite e].
have na : ~ arrived P by move/ends.
case dl: (deals_somewhere P) => e.
  move=> _; split; last by rewrite e.
  by right; exists n, End; split=> //; right; split=> //; split=> //; right; split=> // j [_ _]; rewrite dl.
case: (first_unboxed _ _ _) e => [k|] e.
  case=> /andP[_ lk] no yes; split; last by rewrite e.
  have at_fault : [/\ k < n, ~ boxes P k.+1, ~~ deals_somewhere P & forall i, i < k -> boxes P i.+1].
    by split=> //; by [rewrite dl | move=> i li; exact: yes].
  by right; exists k, Not_a_box; split=> //; right; split=> //; split=> //; left.
move=> all_b; split; last by rewrite e.
right; exists n, End; split=> //; right; split=> //; split=> //; right; split=> // j [lj nb _ _].
by apply: nb; exact: all_b.
Qed.

Theorem check_bound_at : check_bound P = bound P.
Proof.
by rewrite /check_bound (largestE (begin_stands known_from)) (largestE (begin_stands known_to)).
Qed.
End Whole.

Theorem check_sound_and_complete P : known_program P -> (first_wrong (check P) = None <-> right P).
Proof. by move/check_correct_at; case. Qed.

Theorem check_first_wrong P k r : known_program P -> (first_wrong (check P) = Some (k, r) <-> wrong P k r).
Proof. by move/check_correct_at; case. Qed.

Theorem check_figures P : known_program P ->
  let k := if first_wrong (check P) is Some (k, r) then counted P k r else size (steps P) in
  [/\ v_height (check P) = height P k, v_cost (check P) = cost P k & check_bound P = bound P].
Proof. by move=> kn; have [_ _ [-> ->]] := check_correct_at kn; rewrite check_bound_at. Qed.
