(* One move of a Program: check.v does what meaning.v says.                     *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation vectors program meaning lookup check check_along.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* ---- shapes and indices ----                                                 *)

Lemma insideP c l :
  reflect (size l = size c /\ forall k, k < size c -> nth 0 l k < nth 0 c k) (inside c l).
Proof. by apply: (iffP (all2P _ _ _)) => -[e lt]; split=> // k lk; apply: lt; rewrite ?e // -e. Qed.

Lemma size_tidy c : size (tidy c) = size c.
Proof. by rewrite /tidy; case: ifP => // _; rewrite size_nseq. Qed.

Lemma emptyP c : reflect (exists2 k, k < size c & nth 0 c k = 0) (empty c).
Proof. exact: (nthP 0). Qed.

Lemma empty_zeros c : 0 < size c -> empty (zeros c).
Proof. by move=> gt; rewrite /empty /zeros mem_nseq gt eqxx. Qed.

Lemma zerosK c : zeros (zeros c) = zeros c.
Proof. by rewrite /zeros size_nseq. Qed.

Lemma tidyK c : tidy (tidy c) = tidy c.
Proof.
case e: (empty c); last by rewrite /tidy e e.
by rewrite /tidy e empty_zeros ?zerosK //; case: c e.
Qed.

Lemma empty_tidy c : empty (tidy c) = empty c.
Proof.
rewrite /tidy; case: ifP => // e; rewrite empty_zeros //.
by case: c e.
Qed.

Lemma inside_empty c l : empty c -> inside c l = false.
Proof. by case/emptyP=> k lk e; apply/negP => /insideP[_ /(_ k lk)]; rewrite e. Qed.

Lemma inside_tidy c l : inside (tidy c) l = inside c l.
Proof.
case e: (empty c); last by rewrite /tidy e.
by rewrite !inside_empty ?empty_tidy.
Qed.

Lemma inside_zeros c : ~~ empty c -> inside c (zeros c).
Proof.
move=> ne; apply/insideP; rewrite size_nseq; split=> // k lk.
rewrite nth_nseq lk lt0n; apply: contraNneq ne => e; apply/emptyP; by exists k.
Qed.

(* A tidy shape is empty in one dimension iff it is in all.                     *)
Lemma tidy_nth c k : tidy c = c -> k < size c -> empty c = (nth 0 c k == 0).
Proof.
move=> t lk; apply/idP/eqP => [e|e]; last by apply/emptyP; exists k.
by rewrite -t /tidy e nth_nseq lk.
Qed.

Section Fits.
Variable rank : nat.
Local Notation fits_shape := (fits_shape rank).

Lemma fits_size c : fits_shape c -> size c = rank.
Proof. by case/andP=> /eqP. Qed.
Lemma fits_tidy c : fits_shape c -> tidy c = c.
Proof. by case/andP=> _ /eqP. Qed.
Lemma fits_of_tidy c : size c = rank -> fits_shape (tidy c).
Proof. by move=> e; rewrite /fits_shape /fits size_tidy e tidyK !eqxx. Qed.

(* ---- pieces ----                                                             *)

Lemma bounds_le c n m q : q < n -> (bounds c n m q).1 + (bounds c n m q).2 <= m.
Proof.
move=> lt; have n0 : 0 < n by case: n lt.
have ed := divn_eq m n; have lm := ltn_pmod m n0.
have le : q.+1 * (m %/ n) <= m %/ n * n by rewrite mulnC leq_mul2l lt orbT.
case: c => [|s|] /=; last 1 first.
- move: ed lm le; rewrite mulSn; move: (m %/ n) (m %% n) => a b -> lb le.
  by rewrite -addnA; case: (ltnP q b) => h /=; lia.
- by rewrite -mulSnr [X in _ <= X]ed; apply: leq_trans le (leq_addr _ _).
- by rewrite subnKC ?geq_minr //; rewrite leq_min geq_minr andbT geq_min leq_mul2r leqnSn orbT.
Qed.

Lemma size_piece_shape c n q j m : size (piece_shape c n q j m) = size m.
Proof. by rewrite size_tidy size_upd. Qed.

Lemma fits_piece c n q j m : size m = rank -> fits_shape (piece_shape c n q j m).
Proof. by move=> e; apply: fits_of_tidy; rewrite size_upd. Qed.

Lemma piece_inside c n q j m l : q < n -> inside (piece_shape c n q j m) l ->
  inside m (upd l j ((bounds c n (nth 0 m j) q).1 + nth 0 l j)).
Proof.
move=> lq; rewrite inside_tidy => /insideP; rewrite size_upd => -[e lt].
apply/insideP; rewrite size_upd; split=> // k lk; move: (lt k lk); rewrite !nth_upd e.
case: (k =P j) => [->|_] //=; case: ifP => // lj.
by have := bounds_le c (nth 0 m j) lq; lia.
Qed.
(* ---- joins ----                                                              *)

Lemma locate_lt ws x : x < sumn ws ->
  (locate ws x).1 < size ws /\ (locate ws x).2 < nth 0 ws (locate ws x).1.
Proof.
elim: ws x => [|w ws IH] x //= lt; case: ifP => //= lw.
have {}/IH : x - w < sumn ws by lia.
by case: (locate ws (x - w)) => p y /= [].
Qed.

Lemma locate_nseq n w x : x < n * w -> locate (nseq n w) x = edivn x w.
Proof.
move=> lt; rewrite edivn_def; elim: n x lt => [|n IH] x //= lt.
case: ifP => lw; first by rewrite divn_small ?modn_small.
have w0 : 0 < w by case: w lt {IH lw}; rewrite ?muln0.
have le : w <= x by rewrite leqNgt lw.
rewrite IH; last by rewrite mulSn in lt; lia.
have -> : x %/ w = ((x - w) %/ w).+1 by rewrite -{1}(subnK le) divnDr ?dvdnn // divnn w0 addn1.
by have -> : x %% w = (x - w) %% w by rewrite -{1}(subnK le) modnDr.
Qed.

(* All shapes that are not empty have the same extents but for i.               *)
Definition alike_but (i : nat) (cs : seq (seq nat)) : Prop :=
  forall c c', c \in cs -> c' \in cs -> ~~ empty c -> ~~ empty c' -> upd c i 0 = upd c' i 0.

Section Join.
Variables (i : nat) (cs : seq (seq nat)).
Hypotheses (lti : i < rank) (fit : all fits_shape cs).

Let fits_in c : c \in cs -> fits_shape c. Proof. exact: (allP fit). Qed.

Lemma first_full : [seq c <- cs | ~~ empty c] = [::] \/
  exists c s, [/\ [seq c <- cs | ~~ empty c] = c :: s, c \in cs & ~~ empty c].
Proof.
case e: [seq c <- cs | ~~ empty c] => [|c s]; first by left.
have : c \in [seq c <- cs | ~~ empty c] by rewrite e mem_head.
by rewrite mem_filter => /andP[ne ic]; right; exists c, s.
Qed.

Lemma fits_joined : 0 < size cs -> fits_shape (joined_shape i cs).
Proof.
move=> gt; rewrite /joined_shape; case: first_full => [->|[c [s [-> ic ne]]]].
  have ih : head [::] cs \in cs by case: cs gt => //= *; rewrite mem_head.
  have e := fits_size (fits_in ih).
  rewrite /fits_shape /fits size_nseq e eqxx /= /tidy empty_zeros ?e; last by case: rank lti.
  by rewrite zerosK.
have [e t] := (fits_size (fits_in ic), fits_tidy (fits_in ic)).
rewrite /fits_shape /fits size_upd e eqxx /tidy ifN ?eqxx //.
apply/negP => /emptyP[k]; rewrite size_upd e nth_upd e lti andbT => lk.
have pos j : j < rank -> nth 0 c j != 0 by move=> lj; rewrite -(tidy_nth t) ?e.
case: (k =P i) => [_|_ z]; last by move: (pos k lk); rewrite z.
have : nth 0 c i <= sumn [seq nth 0 c' i | c' <- cs].
  elim: (cs) ic => //= c' cs' IH; rewrite inE => /orP[/eqP<-|/IH]; first exact: leq_addr.
  by move/leq_trans; apply; exact: leq_addl.
by move: (pos i lti) => /eqP; lia.
Qed.

Lemma joined_inside l : 0 < size cs -> alike_but i cs -> inside (joined_shape i cs) l ->
  let: (p, y) := locate [seq nth 0 c i | c <- cs] (nth 0 l i) in
  p < size cs /\ inside (nth [::] cs p) (upd l i y).
Proof.
move=> gt al; rewrite /joined_shape; case: first_full => [->|[c [s [-> ic ne]]]].
  move=> il; exfalso; move: il; rewrite inside_empty //.
  have ih : head [::] cs \in cs by case: cs gt => //= *; rewrite mem_head.
  by apply: empty_zeros; rewrite (fits_size (fits_in ih)); case: rank lti.
have e := fits_size (fits_in ic).
move=> /insideP; rewrite size_upd e => -[el lt].
have := lt i lti; rewrite nth_upd_eq ?e // => /locate_lt.
case: (locate _ _) => p y /=; rewrite size_map => -[lp]; rewrite (nth_map [::]) // => ly.
split=> //; have ip : nth [::] cs p \in cs by rewrite mem_nth.
have ep := fits_size (fits_in ip); apply/insideP; rewrite size_upd ep; split=> // k lk.
rewrite nth_upd el lti andbT; case: (k =P i) => [->|/eqP nk] //.
have np : ~~ empty (nth [::] cs p) by rewrite (@tidy_nth _ i (fits_tidy (fits_in ip))) ?ep //; lia.
have := congr1 (fun c' => nth 0 c' k) (al _ _ ic ip ne np); rewrite !nth_upd_ne // => <-.
by have := lt k lk; rewrite nth_upd_ne.
Qed.
End Join.

(* ---- what is found in trees ----                                             *)

Lemma In_mem (T : eqType) (x : T) s : List.In x s <-> x \in s.
Proof.
elim: s => //= y s IH; rewrite inE; split=> [[->|/IH->]|/orP[/eqP->|/IH]]; rewrite ?eqxx ?orbT //; auto.
Qed.

Lemma In_map (T U : Type) (f : T -> U) s y : List.In y (map f s) -> exists2 x, List.In x s & y = f x.
Proof.
elim: s => [|x s IH] /=; first by [].
case=> [<-|iy]; first by exists x; [left|].
by have [x' ix ->] := IH iy; exists x'; [right|].
Qed.

Lemma map_In (T U : Type) (f : T -> U) s x : List.In x s -> List.In (f x) (map f s).
Proof. by elim: s => [|x' s IH] //= [->|/IH]; [left|right]. Qed.

Lemma In_flatten (T : Type) (x : T) ss : List.In x (flatten ss) -> exists2 s, List.In s ss & List.In x s.
Proof.
elim: ss => //= s ss IH /(@List.in_app_or _ _ _ _)[ix|/IH[s' is' ix]]; first by exists s; auto.
by exists s'; auto.
Qed.

Section Devices.
Variable D : nat.

Lemma onceP ds : reflect (each_once D ds) (once D ds).
Proof.
have lt_all : (forall p, List.In p [seq (d, true) | d <- ds] -> p.1 < D) <-> all (gtn D) ds.
  split=> [h|/allP h p /(@In_map _ _ _ _ _)[d /In_mem/h lt ->] //].
  by apply/allP => d /In_mem id; apply: (h (d, true)); apply: (map_In (fun d => (d, true))).
have keys : map fst [seq (d, true) | d <- ds] = ds by rewrite -map_comp map_id.
apply: (iffP and3P) => [[all_lt /eqP es /belowP marked]|p].
  have sub : {subset iota 0 D <= ds}.
    move=> d; rewrite mem_iota add0n => /marked; apply: contraTT => out.
    by rewrite get_fill_none ?keys //; apply/lt_all.
  rewrite /each_once perm_sym; apply: uniq_perm; rewrite ?iota_uniq //.
    by apply: (leq_size_uniq (iota_uniq 0 D) sub); rewrite size_iota es.
  by have [] := uniq_min_size (iota_uniq 0 D) sub _; rewrite ?size_iota ?es.
have all_lt : all (gtn D) ds by apply/allP => d; rewrite (perm_mem p) mem_iota.
split=> //; first by rewrite (perm_size p) size_iota.
apply/belowP => d lt; rewrite (@fillP _ _ _ _ (fun=> true)) // ?keys ?(perm_mem p) ?mem_iota //.
by move=> q iq; split; [exact: (lt_all.2 all_lt)|by move: iq => /(@In_map _ _ _ _ _)[e _ ->]].
Qed.

Section Rows.
Variable G : seq (seq nat).
Hypothesis once_each : each_once D (flatten G).

Let uniq_G : uniq (flatten G).
Proof. by rewrite (perm_uniq once_each) iota_uniq. Qed.
Let lt_of g e : g \in G -> e \in g -> e < D.
Proof.
move=> ig ie; have : e \in flatten G by apply/flattenP; exists g.
by rewrite (perm_mem once_each) mem_iota.
Qed.

Lemma row_of_in g e : g \in G -> e \in g -> row_of G e = g.
Proof.
move: uniq_G; clear; rewrite /row_of; elim: G => //= g' G' IH; rewrite cat_uniq => /and3P[_ /hasPn out u].
rewrite inE => /orP[/eqP-> ->|ig ie] //; case: ifP => [ie'|_]; last exact: IH.
by have /out/negP[] : e \in flatten G' by apply/flattenP; exists g.
Qed.

Lemma row_of_mem d : d < D -> row_of G d \in G /\ d \in row_of G d.
Proof.
move=> lt; have : d \in flatten G by rewrite (perm_mem once_each) mem_iota.
by case/flattenP=> g ig id; rewrite (row_of_in ig id).
Qed.

Lemma uniq_row g : g \in G -> uniq g.
Proof.
move: uniq_G; clear; elim: G => //= g' G' IH; rewrite cat_uniq inE => /and3P[u _ /IH h] /orP[/eqP->|/h] //.
Qed.

(* An entry for each device, made of its row and its position there.            *)
Lemma get_rows (V : Type) (none : V) (f : seq nat -> nat -> V) d : d < D ->
  get none (fill none D (flatten [seq [seq (p.2, f g p.1) | p <- zip (iota 0 (size g)) g] | g <- G])) d =
  f (row_of G d) (seat_of G d).
Proof.
move=> lt; apply: (@fillP _ _ _ _ (fun d => f (row_of G d) (seat_of G d))).
  move=> p /(@In_flatten _ _ _)[s /(@In_map _ _ _ _ _)[g /In_mem ig ->] /(@In_map _ _ _ _ _)[[q e] /(in_zip_iota 0)]].
  rewrite subn0 add0n => -[/andP[_ lq] ee] -> /=.
  have ie : e \in g by rewrite ee mem_nth.
  split; first exact: (lt_of ig ie).
  by rewrite /seat_of (row_of_in ig ie) ee index_uniq ?uniq_row.
have -> : map fst (flatten [seq [seq (p.2, f g p.1) | p <- zip (iota 0 (size g)) g] | g <- G]) = flatten G.
  rewrite map_flatten -map_comp; congr flatten; rewrite -[RHS]map_id; apply: eq_map => g /=.
  by rewrite -map_comp -[LHS]/(unzip2 _) unzip2_zip ?size_iota.
by rewrite (perm_mem once_each) mem_iota.
Qed.
End Rows.

(* The transfers to a device, in their order.                                   *)
Lemma get_by_target ts d : d < D -> all (fun x => target x < D) ts ->
  get [::] (by_target D ts) d = [seq x <- ts | target x == d].
Proof.
move=> lt; rewrite /by_target foldl_rev.
pose step x t := set t (target x) (x :: get [::] t (target x)).
rewrite -/step; set none := blank _ _.
have ft us : full (room D) (foldr step none us).
  by elim: us => [|x us IH]; [exact: full_blank|exact: full_set].
elim: ts => [_|x ts IH]; first exact: get_blank.
case/andP=> lx /IH {}IH; rewrite [foldr _ _ _]/= [filter _ _]/= {1}/step (get_set _ _ _ (ft ts) (room_lt lx)).
by case: eqP => [->|_]; rewrite IH.
Qed.
End Devices.
(* ---- states ----                                                             *)

Section States.
Variables (D : nat) (way : option addition).
Variables (V : Type) (total : seq V -> V) (start : tree holding -> nat -> seq nat -> V).
Implicit Types (s : run) (S : state V).
Hypothesis total_one : forall v, total [:: v] = v.
Local Notation elem_at := (elem_at total start).
Local Notation applies := (applies D rank way).
Local Notation after := (after total).

(* The run says of every device what the state does.                            *)
Definition stands s S : Prop := forall d, d < D ->
  [/\ shape_at s d = shape (S d), fits_shape (shape (S d)) &
      forall l, inside (shape (S d)) l -> elem_at s d l = elem (S d) l].

Lemma stands_shape s S d : stands s S -> d < D -> shape_at s d = shape (S d).
Proof. by move=> st lt; have [] := st d lt. Qed.
Lemma stands_fits s S d : stands s S -> d < D -> fits_shape (shape (S d)).
Proof. by move=> st lt; have [] := st d lt. Qed.

Lemma stands_hop s S new h S' : stands s S ->
  (forall d, d < D -> new d = shape (S' d) /\ fits_shape (shape (S' d))) ->
  (forall d l, d < D -> inside (shape (S' d)) l ->
     let: (e, k) := fetch h d l in [/\ e < D, inside (shape (S e)) k & elem (S' d) l = elem (S e) k]) ->
  stands (add_hop D s new h) S'.
Proof.
move=> st shp el d lt; have [en fn] := shp d lt; split=> [|//|l il].
  by rewrite /shape_at get_mkseq.
have := el d l lt il; rewrite /elem_at /=; case: (fetch h d l) => e k [le ik ->].
by have [_ _] := st e le; apply.
Qed.

Lemma stands_sums s S new from_ S' : stands s S ->
  (forall d, d < D -> new d = shape (S' d) /\ fits_shape (shape (S' d))) ->
  (forall d l, d < D -> inside (shape (S' d)) l ->
     elem (S' d) l = total [seq elem (S p.1) p.2 | p <- from_ d l] /\
     forall p, p \in from_ d l -> p.1 < D /\ inside (shape (S p.1)) p.2) ->
  stands (add_sums D s new from_) S'.
Proof.
move=> st shp el d lt; have [en fn] := shp d lt; split=> [|//|l il].
  by rewrite /shape_at get_mkseq.
have [-> all_in] := el d l lt il; rewrite /elem_at /=; congr total; apply/eq_in_map => p ip.
by have [le ik] := all_in p ip; have [_ _] := st _ le; apply.
Qed.

(* What the conditions and the price of a move are, and where it leads.         *)
Definition moves_to s S m : Prop :=
  match move_run D rank way s m with
  | Stuck r => [/\ number r < 6, ~ applies S m r & forall r', number r' < number r -> applies S m r']
  | Goes s' p => [/\ forall r', number r' < 6 -> applies S m r', stands s' (after S m) & p = price D total S m]
  end.

Lemma mostE a f n : most a f n = maxn a (\max_(d < n) f d).
Proof. by elim: n a => [|n IH] a /=; rewrite ?big_ord0 ?maxn0 // IH big_ord_recr /= maxnAC maxnA. Qed.

Lemma largestE s S : stands s S -> run_largest D s = largest D S.
Proof.
move=> st; rewrite /run_largest mostE max0n; apply: eq_bigr => d _.
by rewrite (stands_shape st).
Qed.

Lemma all_apply S m : good_groups D m -> good_permutation D m -> divisible D rank S m -> not_ragged S m ->
  good_transfers D S m -> adds_alike way m -> forall r, applies S m r.
Proof. by move=> gg gp dv rg gt aa []. Qed.

Lemma divides_okP s S c n j : stands s S -> c = Equal ->
  reflect (forall d, d < D -> n %| nth 0 (shape (S d)) j) (divides_ok D s (Some (Cutting c n j))).
Proof.
move=> st -> /=; apply: (iffP (belowP _ _)) => h d lt; have := h d lt; by rewrite (stands_shape st).
Qed.

Lemma groups_okP G : reflect ((forall g, g \in G -> size g = row_length G) /\ each_once D (flatten G))
  (groups_ok D G).
Proof.
apply: (iffP andP) => [[/allP h /onceP o]|[h /onceP o]].
  by split=> // g /h /eqP.
by split=> //; apply/allP => g /h ->.
Qed.

Lemma good_groupsP m G : groups_of m = Some G -> counts_of m = None -> (good_groups D m <-> groups_ok D G).
Proof. by rewrite /good_groups => -> ->; split=> [[h o _]|/groups_okP[h o]]; [apply/groups_okP|]. Qed.

(* ---- cuts ----                                                               *)
Lemma cut_stands s S c n j (place : nat -> nat) S' : j < rank -> stands s S ->
  (forall d, d < D -> place d < n /\ S' d = piece c n (place d) j (S d)) ->
  stands (add_hop D s (fun d => piece_shape c n (place d) j (shape_at s d))
            (Hop_cut j (of_seq 0 (mkseq (fun d => (bounds c n (nth 0 (shape_at s d) j) (place d)).1) D)))) S'.
Proof.
move=> lj st cut; apply: (stands_hop st) => [d lt|d l lt].
  have [_ ->] := cut d lt; rewrite /= (stands_shape st) //; split=> //.
  exact/fits_piece/fits_size/(stands_fits st).
have [lp ->] := cut d lt; rewrite /= get_mkseq // (stands_shape st) // => il; split=> //.
exact: piece_inside.
Qed.
(* ---- joins ----                                                              *)
Definition part (k : option cutting) (q : nat) (a : tile V) : tile V :=
  if k is Some (Cutting c n j) then piece c n q j a else a.

Lemma shape_part k q a : shape (part k q a) = part_shape k q (shape a).
Proof. by case: k => [[c n j]|]. Qed.

Lemma elem_part k q a l : elem (part k q a) l = elem a (part_index k q (shape a) l).
Proof. by case: k => [[c n j]|]. Qed.

Definition good_cutting (n : nat) (k : option cutting) : Prop :=
  if k is Some (Cutting _ n' j) then n' = n /\ j < rank else True.

Lemma fits_part n k q m : good_cutting n k -> fits_shape m -> fits_shape (part_shape k q m).
Proof. by case: k => [[c n' j]|] //= _ fm; exact/fits_piece/fits_size. Qed.

Lemma part_inside n k q m l : good_cutting n k -> q < n -> inside (part_shape k q m) l ->
  inside m (part_index k q m l).
Proof. by case: k => [[c n' j]|] //= [-> _] lq; exact: piece_inside. Qed.

Lemma alike_parts n i k q ms : good_cutting n k -> all fits_shape ms -> alike_but i ms ->
  alike_but i [seq part_shape k q m | m <- ms].
Proof.
case: k => [[c n' j]|] /=; last by rewrite map_id.
case=> _ lj fit al _ _ /mapP[m im ->] /mapP[m' im' ->].
have full_of m0 : m0 \in ms -> ~~ empty (piece_shape c n' q j m0) ->
    piece_shape c n' q j m0 = upd m0 j (bounds c n' (nth 0 m0 j) q).2 /\ ~~ empty m0.
  move=> i0; rewrite /piece_shape empty_tidy => ne; rewrite /tidy ifN //; split=> //.
  have [e0 t0] := (fits_size (allP fit _ i0), fits_tidy (allP fit _ i0)).
  apply: contra ne => em; have z : nth 0 m0 j = 0 by apply/eqP; rewrite -(tidy_nth t0) ?e0.
  apply/emptyP; exists j; rewrite ?size_upd ?e0 // nth_upd_eq ?e0 // z.
  by case: (c) => [|s|] /=; rewrite ?div0n ?mod0n ?minn0 ?ltn0.
move=> /(full_of _ im)[-> ne] /(full_of _ im')[-> ne']; have em := al _ _ im im' ne ne'.
case: (altP (j =P i)) => [ej|nji]; first by rewrite ej !upd_upd.
rewrite !(updC _ _ _ nji) em; congr (upd _ j (bounds _ _ _ _).2).
by have := congr1 (fun c => nth 0 c j) em; rewrite !nth_upd_ne.
Qed.

Lemma joined_shape_nseq i n c : 0 < n -> joined_shape i (nseq n c) = joined_alike i n c.
Proof.
move=> n0; rewrite /joined_shape /joined_alike; case: ifP => ec.
  have -> : [seq c' <- nseq n c | ~~ empty c'] = [::].
    by elim: (n) => //= k ->; rewrite ec.
  by case: n n0.
have -> : [seq c' <- nseq n c | ~~ empty c'] = nseq n c.
  by elim: (n) => //= k ->; rewrite ec.
case: n n0 => //= n _; congr upd; rewrite mulSn; congr (_ + _).
by elim: n => //= n ->; rewrite mulSn.
Qed.

Lemma row_with_alike s g : alike (row_with s g) ->
  member_shapes (row_with s g) = nseq (size g) (head [::] (member_shapes (row_with s g))).
Proof.
rewrite /row_with /=; rewrite -(size_map (shape_at s) g); case: [seq _ | e <- g] => //= m ms /all_pred1P ->.
by rewrite size_nseq.
Qed.

Lemma join_stands s S i k G S' : i < rank -> good_cutting (row_length G) k -> stands s S ->
  (forall g, g \in G -> size g = row_length G) -> each_once D (flatten G) -> joinable S i G ->
  (forall d, d < D -> S' d = joined total i [seq part k (seat_of G d) (S e) | e <- row_of G d]) ->
  stands (add_hop D s (joined_at i (row_length G) k (seats D s G)) (Hop_join i k (seats D s G))) S'.
Proof.
move=> li gk st len once_each jn joins.
have rows d : d < D -> let g := row_of G d in
    [/\ d \in g, size g = row_length G, seat_of G d < row_length G, 0 < row_length G &
        forall e, e \in g -> e < D] /\
    let cs := [seq part_shape k (seat_of G d) (shape (S e)) | e <- g] in
    [/\ all fits_shape cs, 0 < size cs & alike_but i cs].
  move=> lt /=; have [ig id] := row_of_mem once_each lt.
  have mem_lt e : e \in row_of G d -> e < D.
    move=> ie; have : e \in flatten G by apply/flattenP; exists (row_of G d).
    by rewrite (perm_mem once_each) mem_iota.
  have lq : seat_of G d < row_length G by rewrite -(len _ ig) index_mem.
  split; first by split=> //; [exact: len|exact: leq_trans lq].
  have fit : all fits_shape [seq shape (S e) | e <- row_of G d].
    by apply/allP => _ /mapP[e ie ->]; exact: stands_fits st (mem_lt e ie).
  rewrite size_map (len _ ig); split; last 1 first.
  - rewrite (map_comp (part_shape k (seat_of G d))); apply: alike_parts gk fit _.
    by move=> _ _ /mapP[e ie ->] /mapP[e' ie' ->]; exact: jn ig ie ie'.
  - apply/allP => _ /mapP[e ie ->]; apply: fits_part gk _; exact: stands_fits st (mem_lt e ie).
  - exact: leq_trans lq.
have found d : d < D -> get None (seats D s G) d = Some (row_with s (row_of G d), seat_of G d).
  by move=> lt; rewrite /seats (get_rows once_each _ (fun g q => Some (row_with s g, q))).
have shapes_of d : d < D -> [seq shape_at s e | e <- row_of G d] = [seq shape (S e) | e <- row_of G d].
  by move=> lt; have [[_ _ _ _ mem_lt] _] := rows d lt; apply/eq_in_map => e ie; exact: stands_shape st (mem_lt e ie).
apply: (stands_hop st) => [d lt|d l lt].
  have [[id sz lq n0 mem_lt] [fit gt al]] := rows d lt.
  have map_shape : map (@shape V) [seq part k (seat_of G d) (S e) | e <- row_of G d] =
      [seq part_shape k (seat_of G d) (shape (S e)) | e <- row_of G d].
    by rewrite -map_comp; apply: eq_map => e /=; exact: shape_part.
  rewrite (joins d lt) /= map_shape; split; last exact: fits_joined.
  rewrite /joined_at (found d lt).
  case e: (row_with s (row_of G d)) => [es ms like].
  have ems : ms = [seq shape (S e) | e <- row_of G d] by rewrite -(shapes_of d lt); case: e.
  case el: like; last by rewrite ems -map_comp.
  have := @row_with_alike s (row_of G d); rewrite e /= el => /(_ isT) am.
  by rewrite -joined_shape_nseq // -map_nseq -sz -am ems -map_comp.
have [[id sz lq n0 mem_lt] [fit gt al]] := rows d lt.
set cs := [seq part_shape k (seat_of G d) (shape (S e)) | e <- row_of G d].
have map_shape : map (@shape V) [seq part k (seat_of G d) (S e) | e <- row_of G d] = cs.
  by rewrite -map_comp; apply: eq_map => e /=; exact: shape_part.
rewrite (joins d lt) /= map_shape => il; rewrite (found d lt).
have widths : [seq nth 0 (shape a) i | a <- [seq part k (seat_of G d) (S e) | e <- row_of G d]] =
    [seq nth 0 c i | c <- cs].
  by rewrite -map_shape -[RHS]map_comp.
rewrite widths; have := joined_inside li fit gt al il; rewrite -/cs.
case e: (row_with s (row_of G d)) => [es ms like].
have ems : ms = [seq shape (S e) | e <- row_of G d] by rewrite -(shapes_of d lt); case: e.
have ees : es = of_seq 0 (row_of G d) by case: e.
have -> : (if like then edivn (nth 0 l i) (nth 0 (part_shape k (seat_of G d) (head [::] ms)) i)
           else locate [seq nth 0 (part_shape k (seat_of G d) m) i | m <- ms] (nth 0 l i)) =
          locate [seq nth 0 c i | c <- cs] (nth 0 l i).
  case el: like; last by rewrite ems /cs -!map_comp.
  have := @row_with_alike s (row_of G d); rewrite e /= el => /(_ isT) am.
  have ecs : cs = nseq (size (row_of G d)) (part_shape k (seat_of G d) (head [::] ms)).
    by rewrite -map_nseq -am ems /cs -map_comp.
  rewrite ecs map_nseq locate_nseq //.
  have fh : fits_shape (part_shape k (seat_of G d) (head [::] ms)).
    by apply: (allP fit); rewrite -/cs ecs mem_nseq eqxx sz n0.
  move: il; rewrite ecs joined_shape_nseq sz // /joined_alike; case: ifP => em.
    by rewrite inside_empty // empty_zeros // (fits_size fh); apply: leq_trans li.
  by move=> /insideP; rewrite size_upd (fits_size fh) => -[_ /(_ i li)]; rewrite nth_upd_eq ?(fits_size fh).
case: (locate _ _) => p y; rewrite size_map => -[lp]; rewrite {1}/cs (nth_map 0) // => ik.
have ie : nth 0 (row_of G d) p \in row_of G d by rewrite mem_nth.
have -> : (if like then head [::] ms else nth [::] ms p) = shape (S (nth 0 (row_of G d) p)).
  have -> : shape (S (nth 0 (row_of G d) p)) = nth [::] ms p by rewrite ems (nth_map 0).
  case el: like => //; have := @row_with_alike s (row_of G d); rewrite e /= el => /(_ isT) am.
  by rewrite {2}am nth_nseq lp.
rewrite ees get_of_seq; split; first exact: mem_lt.
  exact: part_inside gk lq ik.
by rewrite (nth_map 0) // elem_part.
Qed.
Lemma first_filter (T : Type) (p q : T -> bool) (u : seq T) : (forall x, p x -> q x) ->
  first p [seq x <- u | q x] = first p u.
Proof.
move=> pq; elim: u => //= x u IH; case qx: (q x) => /=; first by rewrite IH.
by case: ifP => // /pq; rewrite qx.
Qed.

Lemma count_filter (T : Type) (p q : T -> bool) (u : seq T) : (forall x, p x -> q x) ->
  count p [seq x <- u | q x] = count p u.
Proof.
move=> pq; elim: u => //= x u IH; case qx: (q x) => /=; first by rewrite IH.
by case px: (p x); rewrite ?IH //; move: qx; rewrite pq.
Qed.

Lemma first_has (T : Type) (p : T -> bool) (u : seq T) : 0 < count p u ->
  exists x, [/\ first p u = Some x, List.In x u & p x].
Proof.
elim: u => //= x u IH; case px: (p x) => /=; first by exists x; split; auto.
by rewrite add0n => /IH[y [fy iy py]]; exists y; split; auto.
Qed.

Lemma all_In (T : Type) (p : T -> bool) (u : seq T) x : all p u -> List.In x u -> p x.
Proof. by elim: u => //= y u IH /andP[py /IH h] [<-|/h]. Qed.

Lemma agreeP s S i (G : seq (seq nat)) : (forall g e, g \in G -> e \in g -> e < D) -> stands s S ->
  reflect (joinable S i G) (joins_ok s i G).
Proof.
move=> lt st; apply: (iffP allP) => [h g d e ig id ie nd ne|h g ig].
  have := h g ig; rewrite /agree.
  have is_in x : x \in g -> ~~ empty (shape (S x)) -> shape (S x) \in [seq m <- [seq shape_at s e | e <- g] | ~~ empty m].
    by move=> ix nx; rewrite mem_filter nx -(stands_shape st (lt _ _ ig ix)) map_f.
  case: [seq m <- _ | _] (is_in d id nd) (is_in e ie ne) => // m ms; rewrite !inE => md me /allP all_m.
  have is_m x : (shape (S x) == m) || (shape (S x) \in ms) -> upd (shape (S x)) i 0 = upd m i 0.
    by case/orP=> [/eqP->|/all_m/eqP].
  by rewrite (is_m d) ?(is_m e).
rewrite /agree; case e: [seq m <- _ | _] => [|m ms] //.
have shape_of m' : m' \in m :: ms -> exists x, [/\ x \in g, m' = shape (S x) & ~~ empty (shape (S x))].
  rewrite -e mem_filter => /andP[ne /mapP[x ix em]]; exists x.
  by rewrite -(stands_shape st (lt _ _ ig ix)) -em.
have [x [ix -> nx]] := shape_of m (mem_head _ _).
apply/allP => m' im'; have [|y [iy -> ny]] := shape_of m'; first by rewrite inE im' orbT.
by apply/eqP; exact: h ig iy ix ny nx.
Qed.

(* Moves in rows, of which groups, then equal pieces, then ragged rows are      *)
(* looked at.                                                                   *)
Lemma join_moves s S i k m G costs : i < rank -> good_cutting (row_length G) k -> stands s S ->
  groups_of m = Some G -> counts_of m = None -> good_permutation D m -> good_transfers D S m -> adds_alike way m ->
  (divisible D rank S m <-> divides_ok D s k) -> (not_ragged S m <-> joinable S i G) ->
  (forall d, d < D -> after S m d = joined total i [seq part k (seat_of G d) (S e) | e <- row_of G d]) ->
  (forall s', stands s' (after S m) -> (if 1 < row_length G then costs s' else 0) = price D total S m) ->
  move_run D rank way s m = join_run D s i k G costs -> moves_to s S m.
Proof.
move=> li gk st gm cm gp gt aa dv rg joins pr; rewrite /moves_to /join_run => ->.
have cg := good_groupsP gm cm.
case og: (groups_ok D G) cg => /= cg; last by split=> // /cg.
have gg : good_groups D m by apply/cg.
case od: (divides_ok D s k) dv => /= dv.
  have [len once_each] := groups_okP _ og.
  have lt g e : g \in G -> e \in g -> e < D.
    move=> ig ie; have : e \in flatten G by apply/flattenP; exists g.
    by rewrite (perm_mem once_each) mem_iota.
  case: (agreeP i lt st) => [jn|njn] /=.
    have st' := join_stands li gk st len once_each jn joins.
    split=> //; last exact: pr.
    by move=> r _; apply: all_apply => //; [exact/dv|exact/rg].
  by split=> // [/rg|[]] // _; exact/dv.
by split=> // [/dv|[]].
Qed.

Lemma cut_moves s S c n j (place : nat -> nat) m : j < rank -> stands s S ->
  good_groups D m -> good_permutation D m -> not_ragged S m -> good_transfers D S m -> adds_alike way m ->
  (divisible D rank S m <-> divides_ok D s (Some (Cutting c n j))) -> price D total S m = 0 ->
  (forall d, d < D -> place d < n /\ after S m d = piece c n (place d) j (S d)) ->
  move_run D rank way s m = cut_run D s c n j place -> moves_to s S m.
Proof.
move=> lj st gg gp gr gt aa dv pr cut; rewrite /moves_to /cut_run => ->.
case od: (divides_ok D s _) dv => dv.
  have st' := cut_stands lj st cut; split=> //.
  by move=> r _; apply: all_apply => //; exact/dv.
by split=> // [/dv|[]].
Qed.

Lemma permute_moves s S (sources : tree (option nat)) moved m : stands s S ->
  good_groups D m -> good_permutation D m -> divisible D rank S m -> not_ragged S m -> good_transfers D S m ->
  adds_alike way m -> (forall d, d < D -> let e := if get None sources d is Some e then e else d in
     e < D /\ after S m d = S e) ->
  price D total S m = (if moved then largest D S else 0) ->
  move_run D rank way s m = permute_run D s sources moved -> moves_to s S m.
Proof.
move=> st gg gp dv gr gt aa perm pr; rewrite /moves_to /permute_run => ->; split.
- by move=> r _; exact: all_apply.
- apply: (stands_hop st) => [d lt|d l lt]; have [le ->] := perm d lt.
    by split; [exact: stands_shape st le|exact: stands_fits st le].
  by move=> il.
- by rewrite pr (largestE st).
Qed.

(* ---- along several dimensions ----                                           *)
Lemma size_extents js ms c : size (extents_along js ms c) = size c.
Proof. by rewrite size_map size_iota. Qed.

Lemma nth_each (f : nat -> nat) n i : i < n -> nth 0 [seq f i | i <- iota 0 n] i = f i.
Proof. by move=> lt; rewrite (nth_map 0) ?size_iota // nth_iota. Qed.

(* Extents above 0, or zeros.                                                   *)
Lemma fits_each (c : seq nat) (f : nat -> nat) : fits_shape c ->
  (forall i, i < rank -> (f i == 0) = (nth 0 c i == 0)) -> fits_shape [seq f i | i <- iota 0 rank].
Proof.
move=> fc z; have [e t] := (fits_size fc, fits_tidy fc).
rewrite /meaning.fits_shape /fits size_map size_iota eqxx /= /tidy; case: ifP => // /emptyP[k].
rewrite size_map size_iota => lk; rewrite nth_each // => /eqP; rewrite z // -(tidy_nth t) ?e // => em.
rewrite /zeros size_map size_iota; apply/eqP/(@eq_nth _ 0); first by rewrite size_nseq size_map size_iota.
rewrite size_nseq => i li; rewrite nth_each // nth_nseq li; apply/esym/eqP.
by rewrite z // -(tidy_nth t) ?e.
Qed.

Lemma extents_0 js ms c i : all (leq 1) ms -> (forall i, i < size c -> parts_along js ms i %| nth 0 c i) ->
  i < size c -> (nth 0 (extents_along js ms c) i == 0) = (nth 0 c i == 0).
Proof.
move=> pos dv li; rewrite nth_each //; have n0 := parts_gt0 js i pos.
rewrite -{2}(divnK (dv i li)) muln_eq0; by case: eqP => //= _; rewrite eqn0Ngt n0.
Qed.

(* Without splits a piece is the tile.                                          *)
Lemma piece_whole ms q (a : tile V) : same (piece_along [::] ms q a) a.
Proof.
have e : extents_along [::] ms (shape a) = shape a.
  apply: (@eq_nth _ 0); rewrite size_extents // => i li.
  by rewrite nth_each // /parts_along /= divn1.
split; rewrite /= e // => l /insideP[el _]; congr (elem a _).
apply: (@eq_nth _ 0); rewrite size_map size_iota // => i li.
by rewrite nth_each // /part_along /= add0n.
Qed.

Lemma along_stands s S splits dims ms G S' (taken : nat -> tile V -> tile V) : all (leq 1) ms -> size dims = size ms -> all (gtn rank) dims ->
  stands s S -> (forall g, g \in G -> size g = row_length G) -> each_once D (flatten G) -> prodn ms = row_length G ->
  (forall d i, d < D -> i < rank -> parts_along splits ms i %| nth 0 (shape (S d)) i) -> one_shape S G ->
  (forall d a, same (taken d a) (piece_along splits ms (seat_of G d) a)) ->
  (forall d, d < D -> S' d = side_by_side total dims ms [seq taken d (S e) | e <- row_of G d]) ->
  stands (add_hop D s (along_shape dims ms (spots D s G splits ms)) (Hop_along dims ms (spots D s G splits ms))) S'.
Proof.
move=> pos es ld st len once_each pm dv one pieces joins.
have found d : d < D -> get None (spots D s G splits ms) d =
    let w := extents_along splits ms (shape_at s (head 0 (row_of G d))) in
    Some (Spot (of_seq 0 (row_of G d)) w [seq part_along splits ms (seat_of G d) i * nth 0 w i | i <- iota 0 (size w)]).
  move=> lt; exact: (get_rows once_each None (fun g q =>
    let w := extents_along splits ms (shape_at s (head 0 g)) in
    Some (Spot (of_seq 0 g) w [seq part_along splits ms q i * nth 0 w i | i <- iota 0 (size w)]))).
have mem_lt d e : d < D -> e \in row_of G d -> e < D.
  move=> lt ie; have [ig _] := row_of_mem once_each lt.
  have : e \in flatten G by apply/flattenP; exists (row_of G d).
  by rewrite (perm_mem once_each) mem_iota.
have head_in d : d < D -> head 0 (row_of G d) \in row_of G d.
  by move=> lt; have [_] := row_of_mem once_each lt; case: (row_of G d) => //= *; rewrite mem_head.
have shape_of d e : d < D -> e \in row_of G d -> shape (S e) = shape (S d).
  by move=> lt ie; have [ig id] := row_of_mem once_each lt; exact: one ig ie id.
have joined_w d (w := extents_along splits ms (shape (S d))) : d < D ->
    shape (head (nowhere total) [seq taken d (S e) | e <- row_of G d]) = w.
  move=> lt; have := head_in d lt; have := shape_of d (head 0 (row_of G d)) lt.
  by case: (row_of G d) => [|e g] //= h ie; have [-> _] := pieces d (S e); rewrite /= h.
have size_w d : d < D -> size (extents_along splits ms (shape (S d))) = rank.
  by move=> lt; rewrite size_extents (fits_size (stands_fits st lt)).
have head_shape d : d < D -> shape_at s (head 0 (row_of G d)) = shape (S d).
  move=> lt; have ih := head_in d lt.
  by rewrite (stands_shape st (mem_lt d _ lt ih)) (shape_of d).
apply: (stands_hop st) => [d lt|d l lt]; rewrite (joins d lt); have fd := stands_fits st lt.
  rewrite /= joined_w // /along_shape found // head_shape //=; split=> //.
  rewrite size_w //; apply: (fits_each fd) => i li.
  rewrite muln_eq0 [X in _ || X]eqn0Ngt parts_gt0 // orbF extents_0 ?(fits_size fd) // => k lk; exact: dv.
rewrite [fetch _ _ _]/= found // head_shape //= joined_w // => il.
set w := extents_along splits ms (shape (S d)) in il *.
have sw : size w = rank by exact: size_w.
rewrite sw in il *.
have [el lt_l] := insideP _ _ il; rewrite size_map size_iota in el lt_l.
have w0 i : i < rank -> 0 < nth 0 w i.
  by move=> li; have := lt_l i li; rewrite nth_each //; case: (nth 0 w i).
set xs := [seq nth 0 l i %/ nth 0 w i | i <- iota 0 rank].
have [||lp ei] := @position_index rank dims ms xs _ es ld pos; first by rewrite size_map size_iota.
  by move=> i li; rewrite nth_each // ltn_divLR ?w0 // mulnC; have := lt_l i li; rewrite nth_each.
set p := (position_at dims ms xs).1 in lp ei *.
have [ig id] := row_of_mem once_each lt.
have lq : p < size (row_of G d) by rewrite (len _ ig) -pm.
have ie : nth 0 (row_of G d) p \in row_of G d by rewrite mem_nth.
rewrite get_of_seq ei (nth_map 0) //.
set k := [seq nth 0 l i %% nth 0 w i | i <- iota 0 rank].
have esh := shape_of d _ lt ie; have [sp ->] := pieces d (S (nth 0 (row_of G d) p)); last first.
  rewrite sp /= esh -/w; apply/insideP; rewrite size_map size_iota sw; split=> // i li.
  by rewrite nth_each // ltn_mod w0.
rewrite /= esh -/w sw.
have ew i : i < rank -> nth 0 (shape (S d)) i = parts_along splits ms i * nth 0 w i.
  by move=> li; rewrite /w nth_each ?(fits_size fd) // mulnC divnK ?dv.
clearbody w; have idx : [seq nth 0 [seq part_along splits ms (seat_of G d) i * nth 0 w i | i <- iota 0 rank] i + nth 0 l i %% nth 0 w i | i <- iota 0 rank] =
    [seq part_along splits ms (seat_of G d) i * nth 0 w i + nth 0 k i | i <- iota 0 rank].
  by apply: (@eq_nth _ 0); rewrite !size_map // size_iota => i li; rewrite /k !nth_each.
split; first exact: mem_lt ie.
  apply/insideP; rewrite size_map size_iota (fits_size fd); split=> // i li; rewrite !nth_each //.
  have lq' : seat_of G d < prodn ms by rewrite pm -(len _ ig) index_mem.
  rewrite ew //.
  apply: (@leq_trans ((part_along splits ms (seat_of G d) i).+1 * nth 0 w i)); last first.
    by rewrite leq_mul2r part_lt ?orbT.
  by rewrite mulSn addnC ltn_add2r ltn_mod w0.
by rewrite idx.
Qed.

Lemma one_shapeP s S (G : seq (seq nat)) : (forall g e, g \in G -> e \in g -> e < D) -> stands s S ->
  reflect (one_shape S G) (one_shape_ok s G).
Proof.
move=> lt st; apply: (iffP allP) => [h g d e ig id ie|h g ig].
  have := h g ig; case: g ig id ie => // a g ig id ie /= /allP all_a.
  have is_a x : x \in a :: g -> shape (S x) = shape_at s a.
    move=> ix; rewrite -(stands_shape st (lt _ _ ig ix)); move: ix; rewrite inE => /orP[/eqP->//|ix].
    by apply/eqP/all_a/map_f.
  by rewrite !is_a.
case: g ig => //= a g ig; apply/allP => _ /mapP[x ix ->]; have ix' : x \in a :: g by rewrite inE ix orbT.
rewrite /= (stands_shape st (lt _ _ ig ix')) (stands_shape st (lt _ _ ig (mem_head _ _))).
by apply/eqP/(h (a :: g)); rewrite ?mem_head.
Qed.

Lemma divides_alongP s S splits ms : stands s S ->
  reflect (forall d i, d < D -> i < rank -> parts_along splits ms i %| nth 0 (shape (S d)) i)
          (divides_along_ok D rank s splits ms).
Proof.
move=> st; apply: (iffP allP) => [h d i lt li|h i].
  by have := h i; rewrite mem_iota => /(_ li)/belowP/(_ d lt); rewrite (stands_shape st lt).
by rewrite mem_iota => /andP[_ li]; apply/belowP => d lt; rewrite (stands_shape st lt) h.
Qed.

Lemma along_moves s S splits dims ms G m (taken : nat -> tile V -> tile V) costs : all (leq 1) ms -> size dims = size ms -> all (gtn rank) dims ->
  stands s S -> groups_of m = Some G -> counts_of m = Some ms -> good_permutation D m -> good_transfers D S m ->
  adds_alike way m ->
  (divisible D rank S m <->
     forall d i, d < D -> i < rank -> parts_along splits ms i %| nth 0 (shape (S d)) i) ->
  (not_ragged S m <-> one_shape S G) ->
  (forall d a, same (taken d a) (piece_along splits ms (seat_of G d) a)) ->
  (forall d, d < D -> after S m d = side_by_side total dims ms [seq taken d (S e) | e <- row_of G d]) ->
  (forall s', stands s' (after S m) -> (if 1 < row_length G then costs s' else 0) = price D total S m) ->
  move_run D rank way s m = along_run D rank s splits dims ms G costs -> moves_to s S m.
Proof.
move=> pos es ld st gm cm gp gt aa dv rg pieces joins pr; rewrite /moves_to /along_run => ->.
have cg : good_groups D m <-> groups_ok D G && (prodn ms == row_length G).
  rewrite /good_groups gm cm; split=> [[h o e]|/andP[/groups_okP[h o] /eqP e]] //.
  by rewrite e eqxx andbT; apply/groups_okP.
case og: (_ && _) cg => /= cg; last by split=> // /cg.
have gg : good_groups D m by apply/cg.
have [/groups_okP[len once_each] /eqP em] := andP og.
have lt g e : g \in G -> e \in g -> e < D.
  move=> ig ie; have : e \in flatten G by apply/flattenP; exists g.
  by rewrite (perm_mem once_each) mem_iota.
case: (divides_alongP splits ms st) dv => /= dok dv; last first.
  by split=> // [/dv|[]].
case: (one_shapeP lt st) => [jn|njn] /=; last first.
  by split=> // [/rg|[]] // _; exact/dv.
have st' := along_stands pos es ld st len once_each em dok jn pieces joins.
split=> //; last exact: pr.
by move=> r _; apply: all_apply => //; [exact/dv|exact/rg].
Qed.

Lemma place_lt G d : groups_ok D G -> d < D ->
  get 0 (places D G) d = seat_of G d /\ seat_of G d < row_length G.
Proof.
move=> /groups_okP[len once_each] lt; rewrite /places (get_rows once_each 0 (fun _ q => q)) //; split=> //.
by have [ig id] := row_of_mem once_each lt; rewrite -(len _ ig) index_mem.
Qed.

Lemma first_pair ps d : uniq (map snd ps) ->
  match first (fun p => p.2 == d) ps with
  | Some p => p \in ps /\ p.2 = d
  | None => d \notin map snd ps
  end /\
  forall q, q \in ps -> q.2 = d -> first (fun p => p.2 == d) ps = Some q :> option (nat * nat).
Proof.
elim: ps => //= p ps IH /andP[out /IH[]]; rewrite !inE; case: (p.2 =P d) => [e _ _|ne].
  split; first by rewrite mem_head.
  move=> q; rewrite inE => /orP[/eqP-> //|iq eq].
  by move: out; rewrite e -eq map_f.
move=> h1 h2; split.
  case: first h1 => [q [iq eq]|]; first by rewrite inE iq orbT.
  by rewrite negb_or eq_sym; case: eqP.
by move=> q; rewrite inE => /orP[/eqP-> //|]; exact: h2.
Qed.

Lemma withinE s S ts new : stands s S -> all (fun x => source x < D) ts -> within_ok s ts new = within S ts new.
Proof.
move=> st; rewrite /within_ok /within; elim: ts => //= x us IH /andP[lx /IH->].
by rewrite (stands_shape st lx).
Qed.

(* ---- addends ----                                                            *)
Lemma row_stands s S G : stands s S -> each_once D (flatten G) -> one_shape S G ->
  stands (add_row D s G) (fun d => added total [seq S e | e <- row_of G d]).
Proof.
move=> st once_each one.
have mem_lt d e : d < D -> e \in row_of G d -> e < D.
  move=> lt ie; have [ig _] := row_of_mem once_each lt.
  have : e \in flatten G by apply/flattenP; exists (row_of G d).
  by rewrite (perm_mem once_each) mem_iota.
have same_shape d e : d < D -> e \in row_of G d -> shape (S e) = shape (S d).
  by move=> lt ie; have [ig id] := row_of_mem once_each lt; exact: one ig ie id.
have shape_of d : d < D -> shape (head (nowhere total) [seq S e | e <- row_of G d]) = shape (S d).
  move=> lt; have := same_shape d (head 0 (row_of G d)) lt; have [_] := row_of_mem once_each lt.
  by case: (row_of G d) => //= e g _; apply; rewrite mem_head.
apply: (stands_sums st) => [d lt|d l lt] /=; rewrite shape_of //.
  by rewrite (stands_shape st lt); split=> //; exact: stands_fits st lt.
move=> il; rewrite (get_rows once_each [::] (fun g _ => g)) // -!map_comp; split=> // p /mapP[e ie ->] /=.
by rewrite (same_shape d) // (mem_lt d).
Qed.

Lemma adding_moves s S a how t : known D rank (Adding a how t) -> stands s S -> moves_to s S (Adding a how t).
Proof.
move=> kn st; rewrite /moves_to /move_run /adding_run; cbv zeta; set G := rows_of t.
have cg := @good_groupsP (Adding a how t) G erefl erefl.
case og: (groups_ok D G) cg => /= cg; last by split=> // /cg.
have gg : good_groups D (Adding a how t) by apply/cg.
have [len once_each] := groups_okP _ og.
have lt g e : g \in G -> e \in g -> e < D.
  move=> ig ie; have : e \in flatten G by apply/flattenP; exists g.
  by rewrite (perm_mem once_each) mem_iota.
have dv : divisible D rank S (Adding a how t) <->
    divides_ok D s (cut_in a (row_length G)).
  case: (a) => //= c i; case: c => //=; by split=> [h|/(divides_okP _ _ st erefl)//]; apply/(divides_okP _ _ st erefl).
case od: (divides_ok _ _ _) dv => dv /=; last by split=> // [/dv|[]].
have rg : not_ragged S (Adding a how t) <-> rows_ok s a G.
  by case: (a) => [c i|||i] //=; split=> /(one_shapeP lt st).
case ok: (rows_ok s a G) rg => rg /=; last first.
  by split=> // [/rg|[]] // _; exact/dv.
have aw : adds_alike way (Adding a how t) <-> adds_ok way how.
  by rewrite /adds_alike /adds_ok /=; case: way => [[]|]; case: (how); split.
case oa: (adds_ok way how) aw => aw /=; last first.
  by split=> // [/aw|[]] // _; [exact/dv|exact/rg].
have all r : applies S (Adding a how t) r by apply: all_apply => //; [exact/dv|exact/rg|exact/aw].
have one : one_shape_ok s G -> one_shape S G by move/(one_shapeP lt st).
case: a kn ok all {gg cg dv rg aw od oa} => [c i|||i] kn ok all.
- split=> //; last by rewrite /price /= (largestE st).
  have st1 := row_stands st once_each (one ok).
  by apply: (cut_stands kn st1) => d ld; have [-> ls] := place_lt og ld.
- split=> //; last by rewrite /price /= (largestE st).
  exact: row_stands st once_each (one ok).
- split=> //; last by rewrite /price /=; case: ifP.
  apply: (stands_sums st) => [d ld|d l ld /=].
    by rewrite (stands_shape st ld) /=; case: ifP => _; split=> //; exact: stands_fits st ld.
  have [-> _] := place_lt og ld; rewrite -/G; case: ifP => e il.
    by split=> [|p]; [rewrite /= total_one|rewrite inE => /eqP->].
  by split=> // p.
- split=> //; last by rewrite /price /=; case: ifP.
  have li : i < rank := kn.
  have n0 d : d < D -> 0 < row_length G by move=> ld; have [_] := place_lt og ld; case: row_length.
  have f d : d < D -> fits_shape (shape (S d)) := fun ld => stands_fits st ld.
  apply: (stands_sums st) => [d ld|d l ld /=].
    rewrite (stands_shape st ld) /=; split=> //; have fd := f d ld.
    have -> : upd (shape (S d)) i (row_length G * nth 0 (shape (S d)) i) =
        [seq nth 0 (upd (shape (S d)) i (row_length G * nth 0 (shape (S d)) i)) k | k <- iota 0 rank].
      by apply: (@eq_nth _ 0) => [|k]; rewrite size_upd ?size_map ?size_iota (fits_size fd) // => lk; rewrite nth_each.
    apply: (fits_each fd) => k lk; rewrite nth_upd (fits_size fd) li andbT.
    by case: (k =P i) => [->|//]; rewrite muln_eq0 eqn0Ngt (n0 d ld).
  have [-> ls] := place_lt og ld; rewrite (stands_shape st ld) -/G => il; set m := nth 0 (shape (S d)) i in il *.
  case: ifP => e; last by split=> // p.
  split=> [|p]; first by rewrite /= total_one.
  rewrite inE => /eqP-> /=; split=> //; have fd := f d ld.
  have [el lt_l] := insideP _ _ il; rewrite size_upd (fits_size fd) in el lt_l.
  have m0 : 0 < m by have := lt_l i li; rewrite nth_upd_eq ?(fits_size fd) //; case: (m); rewrite ?muln0.
  apply/insideP; rewrite size_upd el (fits_size fd); split=> // k lk.
  rewrite nth_upd el li andbT; case: (altP (k =P i)) => [->|ne]; first by rewrite ltn_mod.
  by have := lt_l k lk; rewrite nth_upd_ne.
Qed.

Lemma get_written ts d : d < D -> all (fun x => target x < D) ts ->
  get 0 (written D ts) d = sumn [seq prodn (box x) | x <- ts & target x == d].
Proof.
move=> ld; rewrite /written.
suff h us u : full (room D) u -> all (fun x => target x < D) us ->
    get 0 (foldl (fun t x => set t (target x) (get 0 t (target x) + prodn (box x))) u us) d =
    get 0 u d + sumn [seq prodn (box x) | x <- us & target x == d].
  by move=> al; rewrite h ?full_blank // get_blank.
elim: us u => [|x us IH] u fu /=; first by rewrite addn0.
case/andP=> lx al; rewrite IH ?full_set // (get_set _ _ _ fu (room_lt lx)).
by case: eqP => [->|_] //=; rewrite addnA.
Qed.

(* What a transfer writes comes from inside the old tile.                       *)
Lemma transfer_inside s S ts new d l x : stands s S -> known D rank (Exchange ts new) -> within S ts new ->
  d < D -> inside (shape_in new d) l -> List.In x ts -> writes d l x ->
  source x < D /\ inside (shape (S (source x))) (plus (got x) (minus l (put x))).
Proof.
move=> st /andP[fn kx] inb lt il ix wx.
have fit_new : fits_shape (shape_in new d).
  case: (new) fn => //= rs /andP[/eqP e /(all_nthP [::]) h]; apply: h; by rewrite e.
have /and5P[_ lx /eqP fp /eqP fg /eqP fb] := all_In kx ix; split=> //.
have /andP[_ inS] := all_In inb ix.
case/and3P: wx => _ lo hi.
have fS := fits_size (stands_fits st lx).
have fl : size l = rank by have /insideP[-> _] := il; exact: fits_size fit_new.
apply/insideP; rewrite /plus /minus size_map size_zip size_map size_zip fl fp fg fS !minnn; split=> // k lk.
have lo_k : nth 0 (put x) k <= nth 0 l k by have [_ h] := all2P _ _ _ lo; apply: h; rewrite fp.
have hi_k : nth 0 l k < nth 0 (plus (put x) (box x)) k by have [_ h] := all2P _ _ _ hi; apply: h; rewrite fl.
have in_k : nth 0 (plus (got x) (box x)) k <= nth 0 (shape (S (source x))) k.
  by have [_ h] := all2P _ _ _ inS; apply: h; rewrite size_map size_zip fg fb minnn.
have nth_zip2 (f : nat -> nat -> nat) u v : size u = rank -> size v = rank ->
    nth 0 [seq f p.1 p.2 | p <- zip u v] k = f (nth 0 u k) (nth 0 v k).
  by move=> eu ev; rewrite (nth_map (0, 0)) ?size_zip ?eu ?ev ?minnn // nth_zip ?eu ?ev.
have ez : size [seq p.1 - p.2 | p <- zip l (put x)] = rank by rewrite size_map size_zip fl fp minnn.
rewrite (nth_zip2 addn) // (nth_zip2 subn) //.
move: lo_k hi_k in_k; rewrite /plus !(nth_zip2 addn) //.
move: (nth 0 l k) (nth 0 (put x) k) (nth 0 (box x) k) (nth 0 (got x) k) (nth 0 (shape _) k) => a p b e c.
by clear; lia.
Qed.

Theorem move_correct s S m : known D rank m -> stands s S -> moves_to s S m.
Proof.
move=> kn st; case: m kn => [c j t|c j n L|i t|c j i t|dims ms t|splits concats ms t|P|ps|ts new|a how t|how ts new] kn.
- have cg := @good_groupsP (Dynslice c j t) (rows_of t) erefl erefl.
  case og: (groups_ok _ _) cg => cg; last first.
    by rewrite /moves_to /move_run og; split=> // /cg.
  apply: (@cut_moves s S c (row_length (rows_of t)) j (fun d => get 0 (places D (rows_of t)) d)) => //.
    + exact/cg.
    + by case: (c) => //=; split=> [h|/(divides_okP _ _ st erefl)//]; apply/(divides_okP _ _ st erefl).
    + by rewrite /price; case: ifP.
    + by move=> d lt; have [-> ls] := place_lt og lt.
    + by rewrite /move_run og.
- case/and3P: kn => lj n0 /(all_nthP 0) lL.
  apply: (@cut_moves s S c n j (fun d => get 0 (of_seq 0 (row_of_one L)) d)) => //.
  + by case: (c) => //=; split=> [h|/(divides_okP _ _ st erefl)//]; apply/(divides_okP _ _ st erefl).
  + by rewrite /price; case: ifP.
  + move=> d lt; rewrite get_of_seq; split=> //.
    by case: (ltnP d (size (row_of_one L))) => h; [exact: lL|rewrite nth_default].
- apply: (@join_moves s S i None (Allgather i t) (rows_of t) (run_largest D)) => // s' st'.
  by rewrite /price /= (largestE st').
- case/andP: kn => lj li.
  apply: (@join_moves s S i (Some (Cutting c (row_length (rows_of t)) j)) (Alltoall c j i t) (rows_of t)
            (fun=> run_largest D s)) => //.
  + by case: (c) => //=; split=> [h|/(divides_okP _ _ st erefl)//]; apply/(divides_okP _ _ st erefl).
  + by move=> s' _; rewrite /price /= (largestE st).
- case/and3P: kn => /eqP es ld pos.
  apply: (@along_moves s S [::] dims ms (rows_of t) (Allgather_dims dims ms t) (fun=> id) (run_largest D)) => //.
  + by move=> d a; have [e el] := piece_whole ms (seat_of (rows_of t) d) a; rewrite e in el; split=> [|l il]; [rewrite e|rewrite el].
  + by move=> s' st'; rewrite /price /= (largestE st').
- case/andP: kn => /and3P[/eqP ejs ljs pos] /and3P[/eqP es ld _].
  apply: (@along_moves s S splits concats ms (rows_of t) (Alltoall_dims splits concats ms t)
            (fun d => @piece_along V splits ms (seat_of (rows_of t) d)) (fun=> run_largest D s)) => //.
  by move=> s' _; rewrite /price /= (largestE st).
- case og: (once D (row_of_one P)); last first.
    by rewrite /moves_to /move_run og; split=> // [/onceP|[]]; rewrite ?og.
  have o := onceP _ _ og.
  apply: (@permute_moves s S (of_seq None (map Some (row_of_one P))) (row_of_one P != iota 0 D)) => //; last first.
    by rewrite /move_run og.
  move=> d lt; rewrite get_of_seq.
  have ld : d < size (row_of_one P) by rewrite (perm_size o) size_iota.
  rewrite (nth_map 0) //; split=> //.
  by have : nth 0 (row_of_one P) d \in row_of_one P by [rewrite mem_nth]; rewrite (perm_mem o) mem_iota.
- have good : good_permutation D (Pairs ps) <-> permutation_ok ps.
    by rewrite /= /permutation_ok; split=> [[-> -> ->]|/and3P[]].
  case ok: (permutation_ok ps) good => good; last first.
    by rewrite /moves_to /move_run ok; split=> // [/good|[]].
  have /= [us ut pst] : good_permutation D (Pairs ps) by apply/good.
  apply: (@permute_moves s S (fill None D [seq (p.2, Some p.1) | p <- ps]) (has (fun p => p.1 != p.2) ps)) => //; last first.
    by rewrite /move_run ok.
  move=> d lt.
  have keys : map fst [seq (p.2, Some p.1) | p <- ps] = map snd ps by rewrite -map_comp.
  have [+ uni] := first_pair d ut; rewrite /after; case e: first => [p|].
    case=> ip ep; have -> : get None (fill None D [seq (p.2, Some p.1) | p <- ps]) d =
        if first (fun p => p.2 == d) ps is Some p then Some p.1 else None.
      apply: (@fillP _ _ _ _ (fun d => if first (fun p => p.2 == d) ps is Some p then Some p.1 else None)) => [q iq|].
        have [r ir ->] := In_map iq; rewrite /=.
        have {}ir : r \in ps by apply/In_mem.
        by have [_ /(_ r ir erefl)->] := first_pair r.2 ut; have /andP[] := allP kn r ir.
      by rewrite keys -ep map_f.
    by rewrite e; split=> //; have /andP[] := allP kn p ip.
  move=> out; rewrite get_fill_none ?keys // => q iq.
  have [r ir ->] := In_map iq; have {}ir : r \in ps by apply/In_mem.
  by have /andP[] := allP kn r ir.
- have kn' := kn; case/andP: kn => fn kx; rewrite /moves_to /move_run.
  have lt_t : all (fun x => target x < D) ts.
    by apply: sub_all kx => x /and5P[].
  have lt_s : all (fun x => source x < D) ts.
    by apply: sub_all kx => x /and5P[].
  have fit_new d : d < D -> fits_shape (shape_in new d).
    case: (new) fn => //= rs /andP[/eqP e /(all_nthP [::]) h] lt; apply: h; by rewrite e.
  have cover l t x : writes t l x -> target x == t by case/and3P.
  have okP : good_transfers D S (Exchange ts new) <-> transfers_ok D s ts new (by_target D ts).
    rewrite /= /transfers_ok (withinE new st lt_s).
    split=> [[-> h] /=|/andP[-> /belowP h]].
      apply/belowP => d ld; apply/everyP => l il; rewrite get_by_target // count_filter ?(h d l) // => x.
      exact: cover.
    split=> // d l ld il; have /everyP/(_ l il) := h d ld; rewrite get_by_target // count_filter; first by move/eqP.
    by move=> x; exact: cover.
  case ok: (transfers_ok _ _ _ _ _) okP => okP /=; last first.
    by split=> // [/okP|[]].
  have [inb once_each] : good_transfers D S (Exchange ts new) by apply/okP.
  have st' : stands (add_hop D s (shape_in new) (Hop_exchange (by_target D ts))) (after S (Exchange ts new)).
    apply: (stands_hop st) => [d lt|d l lt il]; first by split=> //; exact: fit_new.
    have := once_each d l lt il => one; rewrite /= get_by_target // first_filter; last by move=> x; exact: cover.
    have [x [-> ix wx]] : exists x, [/\ first (writes d l) ts = Some x, List.In x ts & writes d l x].
      by apply: first_has; rewrite one.
    by have [] := transfer_inside st kn' inb lt il ix wx.
  split=> //.
    by move=> r _; apply: all_apply => //; exact/okP.
  by rewrite /price /= (largestE st').
- exact: adding_moves.
- have kn' : known D rank (Exchange ts new) := kn; case/andP: kn => fn kx; rewrite /moves_to /move_run.
  have lt_t : all (fun x => target x < D) ts by apply: sub_all kx => x /and5P[].
  have lt_s : all (fun x => source x < D) ts by apply: sub_all kx => x /and5P[].
  have fit_new d : d < D -> fits_shape (shape_in new d).
    case: (new) fn => //= rs /andP[/eqP e /(all_nthP [::]) h] lt; apply: h; by rewrite e.
  rewrite (withinE new st lt_s); case ok: (within S ts new) => /=; last by split=> // [|[]] //=; rewrite ok.
  have aw : adds_alike way (Exchange_add how ts new) <-> adds_ok way how.
    by rewrite /adds_alike /adds_ok /=; case: way => [[]|]; case: (how); split.
  case oa: (adds_ok way how) aw => /= aw; last by split=> // [/aw|[]].
  split.
  + by move=> r _; apply: all_apply => //; exact/aw.
  + apply: (stands_sums st) => [d lt|d l lt il] /=; first by split=> //; exact: fit_new.
    have cover x : writes d l x -> target x == d by case/and3P.
    rewrite get_by_target // -filter_predI.
    have -> : [seq x <- ts | predI (writes d l) (fun x => target x == d) x] = [seq x <- ts | writes d l x].
      by apply: eq_filter => x /=; case w: (writes d l x); rewrite ?(cover x w).
    rewrite -map_comp; split=> // p /In_mem/(@In_map _ _ _ _ _)[x ix ->] /=.
    have [ix' wx] : List.In x ts /\ writes d l x.
      by elim: (ts) ix => //= y us IH; case: ifP => [w [<-|/IH[]]|_ /IH[]]; auto.
    exact: transfer_inside st kn' ok lt il ix' wx.
  + rewrite /price /=; case: ifP => // _; rewrite mostE max0n; apply: eq_bigr => d _.
    by rewrite get_written.
Qed.
End States.
End Fits.
