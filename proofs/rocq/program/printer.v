(* Tokens as bytes, and lists of numbers as tokens: what a printer of texts      *)
(* writes, and that the reader reads the same.                                  *)
From Coq Require Import Ascii String.
From mathcomp Require Import all_ssreflect.
Require Import notation program meaning check reader.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* ---- printing ----                                                           *)

(* In decimal digits.                                                           *)
Fixpoint decimal_in (fuel n : nat) : word :=
  if fuel is fuel'.+1 then
    if n < ten then [:: digit_0 + n] else rcons (decimal_in fuel' (n %/ ten)) (digit_0 + n %% ten)
  else [::].
Definition decimal (n : nat) : word := decimal_in n.+1 n.

Definition token_bytes (t : token) : word :=
  match t with
  | Number n => decimal n
  | Word w => w
  | Quoted w => quote :: rcons w quote
  | Header v => rcons (rcons program_word slash) (digit_0 + v)
  | Le => [:: less; equal]
  | Dots => [:: dot; dot]
  | Sign b => [:: b]
  | Bad => [::]
  end.
Definition good_token (t : token) : bool :=
  match t with
  | Word w => if w is c :: w' then starts_word c && all goes_on w' else false
  | Quoted w => ~~ has_control w && (quote \notin w)
  | Header v => (v == 1) || (v == 2)
  | Sign b => (b \in signs) || (b == less)
  | Bad => false
  | _ => true
  end.

(* A space behind every token, and a line feed behind every line.               *)
Definition line_bytes (ts : seq token) : word := flatten [seq rcons (token_bytes t) space | t <- ts] ++ [:: line_feed].
Definition text_bytes (ls : seq (seq token)) : seq byte := flatten (map line_bytes ls).

(* ---- reading it ----                                                         *)

(* A byte that is neither the end of a line nor part of one.                    *)
Lemma lex_byte m out lines c s : c != line_feed -> c != return_ ->
  lex m out lines (c :: s) = lex (read_byte m c out).1 (read_byte m c out).2 lines s.
Proof. by move=> lf cr; rewrite /= (negbTE lf) (negbTE cr) /=; case: (read_byte m c out). Qed.

Lemma lex_inside m out lines c s : space <= c ->
  lex m out lines (c :: s) = lex (read_byte m c out).1 (read_byte m c out).2 lines s.
Proof. by move=> le; apply: lex_byte; case: eqP le => // ->. Qed.

Lemma digit_is r : r < ten -> is_digit (digit_0 + r) /\ digit_0 + r - digit_0 = r.
Proof. by do 10 case: r => [//|r]. Qed.

Lemma lex_decimal_in fuel n m out lines s : n < fuel -> m = Free ->
  lex m out lines (decimal_in fuel n ++ s) = lex (In_number n) out lines s.
Proof.
move=> + ->; elim: fuel n s => // fuel IH n s lt; rewrite [decimal_in _ _]/=; case: ltnP => [n10|n10].
  have [dg sub] := digit_is n10; rewrite cat1s lex_inside //; rewrite /read_byte /free dg sub.
  by have -> : is_blank (digit_0 + n) = false by move: n10; do 10 case: (n) => [//|?].
rewrite cat_rcons IH; last first.
  by apply: leq_trans (lt : n <= fuel); apply: ltn_Pdiv => //; apply: leq_trans n10.
have [dg sub] := digit_is (ltn_pmod n (isT : 0 < ten)); rewrite lex_inside //.
by rewrite /read_byte dg sub -divn_eq.
Qed.

Lemma lex_space m out lines s : lex m out lines (space :: s) = lex (read_byte m space out).1 (read_byte m space out).2 lines s.
Proof. exact: lex_inside. Qed.

Lemma goes_on_large c : goes_on c -> space <= c.
Proof.
rewrite /goes_on /starts_word /is_digit /between.
by case/or4P=> [/or3P[/andP[le _]|/andP[le _]|/eqP->]|/andP[le _]|/eqP->|/eqP->] //; apply: leq_trans le.
Qed.
Lemma starts_goes_on c : starts_word c -> goes_on c.
Proof. by rewrite /goes_on => ->. Qed.

Lemma lex_word_in w v out lines s : all goes_on w ->
  lex (In_word v) out lines (w ++ s) = lex (In_word (catrev w v)) out lines s.
Proof.
elim: w v => // c w IH v; rewrite [all _ _]/= => /andP[c_ w_].
by rewrite cat_cons lex_inside ?goes_on_large // /read_byte c_ IH.
Qed.

Lemma lex_quoted_in w v out lines s : ~~ has_control w -> quote \notin w ->
  lex (In_quotes v) out lines (w ++ s) = lex (In_quotes (catrev w v)) out lines s.
Proof.
elim: w v => // c w IH v; rewrite [has_control _]/= inE !negb_or => /and4P[c32 _ _ w_] /andP[cq q].
rewrite cat_cons lex_inside; last by rewrite leqNgt.
by rewrite /read_byte eq_sym (negbTE cq) IH.
Qed.

Lemma starts_word_free c out : starts_word c -> free c out = (In_word [:: c], out).
Proof.
move=> sw; rewrite /free sw; have -> : is_blank c = false.
  by apply/negbTE; apply: contraL sw => /orP[] /eqP->.
suff -> : is_digit c = false by [].
apply/negbTE; apply: contraL sw; rewrite /is_digit /between => /andP[lo hi].
rewrite /starts_word /between !negb_or !negb_and -!ltnNge.
by rewrite (leq_ltn_trans hi) // (leq_ltn_trans hi) //= neq_ltn (leq_ltn_trans hi).
Qed.

Lemma sign_free b out : b \in signs -> free b out = (Free, Sign b :: out).
Proof. by rewrite !inE => /orP[/eqP->//|]; do 11 (case/orP=> [/eqP->//|]); move/eqP->. Qed.
Lemma sign_large b : b \in signs -> space <= b.
Proof. by rewrite !inE => /orP[/eqP->//|]; do 11 (case/orP=> [/eqP->//|]); move/eqP->. Qed.

Lemma lex_token t out lines s : good_token t ->
  lex Free out lines (rcons (token_bytes t) space ++ s) = lex Free (t :: out) lines s.
Proof.
rewrite cat_rcons; case: t => [n|w|w|v|||b|] //.
- by rewrite /= => _; rewrite /decimal lex_decimal_in // lex_space.
- case: w => // c w; rewrite [good_token _]/= => /andP[sw w_]; rewrite [token_bytes _]/= cat_cons.
  rewrite lex_inside ?goes_on_large ?starts_goes_on // [read_byte Free _ _]/= starts_word_free // [_.1]/= [_.2]/=.
  by rewrite lex_word_in // lex_space [read_byte _ _ _]/= catrevE rev_cat revK.
- rewrite [good_token _]/= => /andP[ctl q]; rewrite [token_bytes _]/= cat_cons cat_rcons lex_inside //.
  rewrite [read_byte Free _ _]/= [_.1]/= [_.2]/= lex_quoted_in // lex_inside //.
  rewrite [read_byte _ _ _]/= [_.1]/= [_.2]/= lex_space [read_byte _ _ _]/= [_.1]/= [_.2]/=.
  by rewrite catrevE cats0 /quoted revK (negbTE ctl).
- by case/orP=> /eqP->.
- rewrite [good_token _]/= => /orP[b_|/eqP->//]; rewrite [token_bytes _]/= cat_cons cat0s lex_inside ?sign_large //.
  by rewrite [read_byte Free _ _]/= sign_free // [_.1]/= [_.2]/= lex_space.
Qed.

Lemma lex_line ts out lines s : all good_token ts ->
  lex Free out lines (line_bytes ts ++ s) = lex Free [::] (rev (catrev ts out) :: lines) s.
Proof.
rewrite /line_bytes; elim: ts out => //= t ts IH out /andP[gt gts].
by rewrite -!catA lex_token // catA IH.
Qed.

Lemma lex_text ls lines : all (all good_token) ls ->
  lex Free [::] lines (text_bytes ls) = rev lines ++ rcons ls [::].
Proof.
elim: ls lines => [|ts ls IH] lines; first by move=> _; rewrite /= rev_cons cats1.
rewrite [all _ _]/= => /andP[gts gls]; rewrite /text_bytes [flatten _]/= lex_line // -/(text_bytes ls) IH //.
by rewrite catrevE cats0 revK rev_cons cat_rcons rcons_cons.
Qed.

(* What is printed is read as the same tokens, line by line; the last line has  *)
(* nothing behind its line feed.                                                *)
Theorem lines_of_text ls : all (all good_token) ls -> lines_of (text_bytes ls) = rcons ls [::].
Proof. by move=> good; rewrite /lines_of lex_text. Qed.

(* ---- lists ----                                                              *)

(* item {"," item}                                                              *)
Fixpoint separated (A : Type) (f : A -> seq token) (l : seq A) : seq token :=
  if l is a :: l' then f a ++ (if l' is [::] then [::] else Sign (code ",") :: separated f l') else [::].
Definition in_signs (A : Type) (open close : ascii) (f : A -> seq token) (l : seq A) : seq token :=
  Sign (code open) :: rcons (separated f l) (Sign (code close)).
Definition ints_tokens : seq nat -> seq token := in_signs "[" "]" (fun n => [:: Number n]).
Definition rows_tokens : seq (seq nat) -> seq token := in_signs "[" "]" ints_tokens.

Lemma sign_here c ts : sign c (Sign (code c) :: ts) = Some (tt, ts).
Proof. by rewrite /sign eqxx. Qed.

Lemma not_sign c ts : ~~ at_sign c ts -> sign c ts = None.
Proof. by case: ts => [|[]] //= b ts /negbTE->. Qed.

Section Lists.
Variables (A : Type) (p : parser A) (f : A -> seq token) (good : pred A).
(* What is printed of an item is read as it, whatever stands behind.            *)
Definition reads : Prop := forall a rest, good a -> p (f a ++ rest) = Some (a, rest).
Hypothesis read_item : reads.

Lemma items_in_separated fuel l rest : 0 < size l <= fuel -> all good l -> ~~ at_sign "," rest ->
  items_in fuel p (separated f l ++ rest) = Some (l, rest).
Proof.
elim: l fuel => [|a l IH] [|fuel] //; rewrite [size _]/= ltnS => /andP[_ lf].
rewrite [all _ _]/= => /andP[ga gl] no_comma; rewrite [separated _ _]/= -catA [items_in _ _ _]/= read_item //.
case: l IH lf gl => [|b l] IH lf gl.
  by rewrite cat0s not_sign.
have -> : (Sign (code ",") :: separated f (b :: l)) ++ rest = Sign (code ",") :: (separated f (b :: l) ++ rest) by [].
by rewrite sign_here IH.
Qed.

Lemma size_separated l : (forall a, good a -> 0 < size (f a)) -> all good l -> size l <= size (separated f l).
Proof.
move=> some; elim: l => // a l IH /= /andP[ga /IH le]; rewrite size_cat -add1n; apply: leq_add; first exact: some.
by case: l le {IH} => // b l le; apply: leq_trans le _; rewrite [X in _ <= X]/= ltnW.
Qed.

Lemma list_in_signs (open close : ascii) l rest : (forall a, good a -> 0 < size (f a)) ->
  (forall a more, good a -> ~~ at_sign close (f a ++ more)) -> code close != code "," -> all good l ->
  list_in open close p (in_signs open close f l ++ rest) = Some (l, rest).
Proof.
move=> some other not_comma gl; rewrite /list_in /in_signs cat_cons cat_rcons /and_then sign_here /if_sign.
case: l gl => [|a l] gl; first by rewrite [separated _ _]/= cat0s sign_here.
have close_now : sign close (separated f (a :: l) ++ Sign (code close) :: rest) = None.
  have/andP[ga _] := gl; rewrite [separated _ _]/= -catA.
  by apply: not_sign; apply: other.
rewrite close_now /items items_in_separated ?sign_here //.
by rewrite /= size_cat; apply: leq_trans (size_separated some gl) (leq_addr _ _).
Qed.
End Lists.

(* Numbers, lists and rows of numbers below 2^63 are read as printed.           *)
Definition small (n : nat) : bool := n < two_63.
Lemma number_reads : reads number (fun n => [:: Number n]) small.
Proof. by move=> n rest; rewrite /small /number /= => ->. Qed.
Theorem ints_reads : reads ints ints_tokens (all small).
Proof. by move=> l rest gl; apply: (list_in_signs number_reads). Qed.
Theorem rows_reads : reads rows rows_tokens (all (all small)).
Proof. by move=> l rest gl; apply: (list_in_signs ints_reads). Qed.

(* ---- ends of version 1 ----                                                  *)
Lemma number_from_reads lo : reads (number_from lo) (fun n => [:: Number n]) (fun n => (lo <= n) && small n).
Proof. by move=> n rest /andP[le sm]; rewrite /number_from /and_then (number_reads _ sm) /need le. Qed.

Lemma number_from_here lo n rest : lo <= n -> small n -> number_from lo (Number n :: rest) = Some (n, rest).
Proof. by move=> le sm; apply: (@number_from_reads lo n rest); rewrite le. Qed.

(* s:k                                                                          *)
Definition digit_tokens (x : digit) : seq token := [:: Number (stride x); Sign (code ":"); Number (radix x)].
Definition good_digit (x : digit) : bool := [&& 0 < stride x, small (stride x), 1 < radix x & small (radix x)].
Lemma read_digit_number H s ts : read_digit 1 H (Number s :: ts) =
  and_then (number_from 1) (fun s => and_then (sign ":") (fun=> and_then (number_from 1) (fun k => give (Digit s k)))) (Number s :: ts).
Proof. by []. Qed.
Lemma digit_reads : reads (read_digit 1 no_mesh) digit_tokens good_digit.
Proof.
case=> s k rest /and4P[s0 ss k1 sk].
rewrite -[digit_tokens _ ++ _]/(Number s :: Sign (code ":") :: Number k :: rest) read_digit_number /and_then.
by rewrite number_from_here // sign_here number_from_here // ltnW.
Qed.

Lemma braces_read xs rest : all good_digit xs ->
  braces 1 no_mesh (in_signs "{" "}" digit_tokens xs ++ rest) = Some (xs, rest).
Proof.
move=> gx; rewrite /braces /and_then (list_in_signs digit_reads) //.
rewrite /give; congr (Some (_, _)); apply/all_filterP.
by elim: xs gx => //= x xs IH /andP[/and4P[_ _ k1 _] /IH->]; rewrite neq_ltn k1 orbT.
Qed.

(* c{s:k,..}n                                                                   *)
Definition tile_of_blocks (e : dim) : nat := if cut_by e is Blocks c then c else 0.
Definition dim_tokens (e : dim) : seq token :=
  Number (tile_of_blocks e) :: in_signs "{" "}" digit_tokens (digits e) ++ [:: Number (whole e)].
Definition good_dim (e : dim) : bool :=
  if e is Dim (Blocks c) xs n 0 0 then
    [&& 0 < c, small c, all good_digit xs, c * tile_count xs == n & (0 < n) && small n]
  else false.
Lemma dim_reads : reads (dim_1 no_mesh) dim_tokens good_dim.
Proof.
case=> [[c|?|?|?|?|?] xs n [|?] [|?]] rest // /and5P[c0 sc gx /eqP en gn].
rewrite -[dim_tokens _ ++ _]/(Number c :: (in_signs "{" "}" digit_tokens xs ++ [:: Number n]) ++ rest) -catA.
rewrite /dim_1 /and_then number_from_here //.
have -> : at_sign "{" (in_signs "{" "}" digit_tokens xs ++ [:: Number n] ++ rest) by [].
have/andP[n0 sn] := gn.
by rewrite braces_read // cat1s number_from_here // /need en eqxx.
Qed.

(* [..]                                                                         *)
Definition grid_tokens : seq dim -> seq token := in_signs "[" "]" dim_tokens.
Lemma tiling_read es rest : all good_dim es -> prodn (map whole es) < two_63 ->
  read_tiling 1 no_mesh (grid_tokens es ++ rest) = Some (Grid es 0 None None, rest).
Proof.
move=> ge le; rewrite /read_tiling.
have -> : at_sign "[" (grid_tokens es ++ rest) by [].
by rewrite orTb /bracket [1 == 2]/= andFb /and_then /give (list_in_signs dim_reads) // /need le.
Qed.

(* ---- a header of version 1 ----                                              *)
Definition header_tokens (D : nat) (F T : seq dim) : seq (seq token) :=
  [:: [:: Header 1]; [:: Word (codes "devices"); Number D];
      Word (codes "from") :: grid_tokens F; Word (codes "to") :: grid_tokens T].
Definition on_all (D : nat) (es : seq dim) : tiling := Grid es D None None.
Definition good_end (D : nat) (es : seq dim) : bool :=
  [&& all good_dim es, prodn (map whole es) < two_63 & good_tiling 1 D (on_all D es)].
Definition good_header (D : nat) (F T : seq dim) : bool :=
  [&& (0 < D) && (D <= most_devices), small D, good_end D F, good_end D T & map whole F == map whole T].
Definition header_of (D : nat) (F T : option tiling) : header := Head 1 [::] (Some D) [::] [::] F T None None.

Lemma read_devices_number D : D <= most_devices -> small D ->
  read_devices [:: Number D] = Some ((D, [::]), [::]).
Proof. by rewrite /small => le sm; rewrite /read_devices [at_sign _ _]/= /and_then /number sm /need le. Qed.

Lemma header_line k h out w rest ls h' :
  w \in map codes [:: "mesh"; "devices"; "from"; "to"]%string -> read_header_line h w rest = Some (h', [::]) ->
  read_lines k (In_header h) out ((Word w :: rest) :: ls) = read_lines k.+1 (In_header h') out ls.
Proof. by move=> wh e; rewrite [read_lines _ _ _ _]/= wh orTb e. Qed.

Lemma begin_line k v out ls :
  read_lines k Nowhere out ([:: Header v] :: ls) = read_lines k.+1 (In_header (new_header v)) out ls.
Proof. by []. Qed.

Lemma devices_line ts : read_header_line (new_header 1) (codes "devices") ts =
  and_then read_devices (fun nd => give (Head 1 nd.2 (Some nd.1) [::] [::] None None None None)) ts.
Proof. by []. Qed.
Lemma from_line_read D ts : read_header_line (header_of D None None) (codes "from") ts =
  and_then (read_tiling 1 no_mesh) (fun T => give (Head 1 [::] (Some D) (row_count T ++ [::]) [::] (Some T) None None None)) ts.
Proof. by []. Qed.
Lemma to_line_read D F ts : read_header_line (header_of D (Some F) None) (codes "to") ts =
  and_then (read_tiling 1 no_mesh) (fun T => give (Head 1 [::] (Some D) (row_count T ++ [::]) [::] (Some F) (Some T) None None)) ts.
Proof. by []. Qed.

Lemma read_header D F T ls : good_header D F T ->
  read_lines 1 Nowhere [::] (header_tokens D F T ++ ls) =
  read_lines 5 (In_header (header_of D (Some (Grid F 0 None None)) (Some (Grid T 0 None None)))) [::] ls.
Proof.
case/and5P=> /andP[D0 Dm] sD /and3P[gF pF _] /and3P[gT pT _] _; rewrite /header_tokens !cat_cons cat0s.
have from_read := tiling_read [::] gF pF; have to_read := tiling_read [::] gT pT; rewrite !cats0 in from_read to_read.
rewrite begin_line (@header_line _ _ _ _ _ _ (header_of D None None)) //; last first.
  by rewrite devices_line /and_then read_devices_number.
rewrite (@header_line _ _ _ _ _ _ (header_of D (Some (Grid F 0 None None)) None)) //; last first.
  by rewrite from_line_read /and_then from_read.
rewrite (@header_line _ _ _ _ _ _ (header_of D (Some (Grid F 0 None None)) (Some (Grid T 0 None None)))) //.
by rewrite to_line_read /and_then to_read.
Qed.

Lemma complete_header D F T : good_header D F T ->
  complete (header_of D (Some (Grid F 0 None None)) (Some (Grid T 0 None None))) =
  Some (header_of D (Some (Grid F 0 None None)) (Some (Grid T 0 None None)), Program D (on_all D F) (on_all D T) [::]).
Proof.
case/and5P=> /andP[D0 Dm] sD /and3P[gF pF tF] /and3P[gT pT tT] /eqP wE; rewrite /complete.
have -> : device_count (header_of D (Some (Grid F 0 None None)) (Some (Grid T 0 None None))) = Some D.
  by rewrite /device_count /= D0 Dm eqxx.
have same_global : global_of (on_all D F) == global_of (on_all D T) by rewrite /= wE.
rewrite -[LHS]/(if [&& good_tiling 1 D (on_all D F), good_tiling 1 D (on_all D T), global_of (on_all D F) == global_of (on_all D T) & true]
  then Some (header_of D (Some (Grid F 0 None None)) (Some (Grid T 0 None None)), Program D (on_all D F) (on_all D T) [::]) else None).
by rewrite tF tT same_global.
Qed.

Lemma good_signs (A : Type) (f : A -> seq token) (good : pred A) (open close : ascii) l :
  (forall a, good a -> all good_token (f a)) -> code open \in signs -> code close \in signs -> all good l ->
  all good_token (in_signs open close f l).
Proof.
move=> each o c gl; rewrite /in_signs /= o all_rcons /= c /=.
elim: l gl => //= a l IH /andP[ga gl]; rewrite all_cat each //.
by case: l IH gl => // b l IH gl; rewrite /= -/(separated f (b :: l)) IH.
Qed.
Lemma good_grid es : all good_dim es -> all good_token (grid_tokens es).
Proof.
move=> ge; apply: (good_signs (good := good_dim)) => //.
case=> C xs n lo hi; rewrite /good_dim; case: C => // c; case: lo => //; case: hi => // /and5P[_ _ gx _ _].
rewrite -[dim_tokens _]/([:: Number c] ++ in_signs "{" "}" digit_tokens xs ++ [:: Number n]) !all_cat.
by rewrite (@good_signs _ digit_tokens good_digit "{" "}" xs).
Qed.

(* A Program without steps is read as it is printed.                            *)
Theorem header_reads D F T : good_header D F T ->
  read (text_bytes (header_tokens D F T)) = Programs [:: ([::], Program D (on_all D F) (on_all D T) [::])].
Proof.
move=> good; have/and5P[_ _ /andP[gF _] /andP[gT _] _] := good.
rewrite /read lines_of_text; last first.
  have good_line w es : good_token (Word w) -> all good_dim es -> all good_token (Word w :: grid_tokens es).
    by move=> gw ge; apply/andP; split=> //; apply: good_grid.
  by apply/and5P; split=> //; apply: good_line.
rewrite -cats1 read_header // /read_lines /finished complete_header //.
Qed.
