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
