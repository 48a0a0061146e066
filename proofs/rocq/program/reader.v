(* The text form of docs/reference/program.md, read.                            *)
(*                                                                              *)
(* A text is a list of bytes.  First lines of tokens are made of it, then       *)
(* Programs of the lines.  What breaks a rule of the page is refused, with the  *)
(* number of a line.                                                            *)
From Coq Require Import Ascii String.
From mathcomp Require Import all_ssreflect.
Require Import notation program meaning check.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Definition byte := nat.
Definition word := seq byte.

(* Numbers that are named are made once where this runs.                        *)
Definition b1 := 1. Definition b2 := 2. Definition b4 := 4. Definition b8 := 8.
Definition b16 := 16. Definition b32 := 32. Definition b64 := 64. Definition b128 := 128.
Definition bit (b : bool) (n : nat) : nat := if b then n else 0.
Definition code (a : ascii) : byte :=
  let: Ascii a0 a1 a2 a3 a4 a5 a6 a7 := a in
  bit a0 b1 + (bit a1 b2 + (bit a2 b4 + (bit a3 b8 + (bit a4 b16 + (bit a5 b32 + (bit a6 b64 + bit a7 b128)))))).
Definition codes (s : string) : word := [seq code a | a <- list_ascii_of_string s].
Lemma code_is_nat_of_ascii a : code a = nat_of_ascii a.
Proof. by case: a => [[] [] [] [] [] [] [] []]. Qed.

(* ---- tokens ----                                                             *)
Inductive token :=
  | Number of nat
  | Word of word           (* [A-Za-z_][A-Za-z0-9_.-]*                           *)
  | Quoted of word
  | Header of nat          (* retile.program/1 or /2                             *)
  | Le                     (* <=                                                 *)
  | Dots                   (* ..                                                 *)
  | Sign of byte
  | Bad.                   (* what stands in no Program                          *)

Definition digit_0 : byte := code "0".  Definition digit_9 : byte := code "9".
Definition capital_A : byte := code "A".  Definition capital_Z : byte := code "Z".
Definition small_a : byte := code "a".  Definition small_z : byte := code "z".
Definition underscore : byte := code "_".  Definition dot : byte := code ".".
Definition minus_sign : byte := code "-".  Definition slash : byte := code "/".
Definition hash : byte := code "#".  Definition quote : byte := code """".
Definition less : byte := code "<".  Definition equal : byte := code "=".
Definition digit_1 : byte := code "1".  Definition digit_2 : byte := code "2".
Definition tab : byte := 9.  Definition line_feed : byte := 10.  Definition return_ : byte := 13.
Definition space : byte := 32.  Definition ten : nat := 10.
Definition delete : byte := 127.  Definition lead_C2 : byte := 194.  Definition last_C1 : byte := 159.

Definition between (lo hi : byte) (c : byte) : bool := (lo <= c) && (c <= hi).
Definition is_digit (c : byte) : bool := between digit_0 digit_9 c.
Definition starts_word (c : byte) : bool :=
  [|| between capital_A capital_Z c, between small_a small_z c | c == underscore].
Definition goes_on (c : byte) : bool := [|| starts_word c, is_digit c, c == dot | c == minus_sign].
Definition is_blank (c : byte) : bool := (c == space) || (c == tab).
(* [ ] { } ( ) , : = @ ~ + / *)
Definition signs : seq byte := [:: 91; 93; 123; 125; 40; 41; 44; 58; 61; 64; 126; 43; 62].

(* U+0000 to U+001F and U+007F to U+009F, the latter as C2 80 to C2 9F.         *)
Fixpoint has_control (s : word) : bool :=
  if s is c :: s' then
    [|| c < space, c == delete, (c == lead_C2) && (if s' is d :: _ then between b128 last_C1 d else false)
      | has_control s']
  else false.

Inductive mode :=
  | Free
  | In_number of nat
  | In_word of word        (* its bytes, the last first                          *)
  | In_quotes of word
  | In_comment
  | After_less             (* < *)
  | After_dot              (* . *)
  | After_slash.           (* retile.program/ *)

Definition program_word : word := codes "retile.program".

(* A byte where no token is begun; out has the tokens of the line, the last     *)
(* first.                                                                       *)
Definition free (c : byte) (out : seq token) : mode * seq token :=
  if is_blank c then (Free, out)
  else if is_digit c then (In_number (c - digit_0), out)
  else if starts_word c then (In_word [:: c], out)
  else if c == quote then (In_quotes [::], out)
  else if c == hash then (In_comment, out)
  else if c == less then (After_less, out)
  else if c == dot then (After_dot, out)
  else if c \in signs then (Free, Sign c :: out)
  else (Free, Bad :: out).

Definition quoted (w : word) : token := if has_control w then Bad else Quoted w.

Definition read_byte (m : mode) (c : byte) (out : seq token) : mode * seq token :=
  match m with
  | Free => free c out
  | In_number n => if is_digit c then (In_number (n * ten + (c - digit_0)), out) else free c (Number n :: out)
  | In_word w =>
      if goes_on c then (In_word (c :: w), out)
      else if (c == slash) && (rev w == program_word) then (After_slash, out)
      else free c (Word (rev w) :: out)
  | In_quotes w => if c == quote then (Free, quoted (rev w) :: out) else (In_quotes (c :: w), out)
  | In_comment => (In_comment, out)
  | After_less => if c == equal then (Free, Le :: out) else free c (Sign less :: out)
  | After_dot => if c == dot then (Free, Dots :: out) else free c (Bad :: out)
  | After_slash => if (c == digit_1) || (c == digit_2) then (Free, Header (c - digit_0) :: out) else free c (Bad :: out)
  end.

(* The tokens of a line that ends here.                                         *)
Definition finish (m : mode) (out : seq token) : seq token :=
  rev match m with
      | Free | In_comment => out
      | In_number n => Number n :: out
      | In_word w => Word (rev w) :: out
      | After_less => Sign less :: out
      | In_quotes _ | After_dot | After_slash => Bad :: out
      end.

(* A line ends with LF or CRLF, the last one perhaps with CR or nothing.        *)
Fixpoint lex (m : mode) (out : seq token) (lines : seq (seq token)) (s : seq byte) : seq (seq token) :=
  match s with
  | [::] => rev (finish m out :: lines)
  | c :: s' =>
      if c == line_feed then lex Free [::] (finish m out :: lines) s'
      else if (c == return_) && (if s' is d :: _ then d == line_feed else true) then lex m out lines s'
      else let: (m', out') := read_byte m c out in lex m' out' lines s'
  end.
Definition lines_of (s : seq byte) : seq (seq token) := lex Free [::] [::] s.

(* ---- reading tokens ----                                                     *)

(* What is read and what is left, or nothing.                                   *)
Definition parser (A : Type) := seq token -> option (A * seq token).

Definition give (A : Type) (a : A) : parser A := fun ts => Some (a, ts).
Definition and_then (A B : Type) (p : parser A) (f : A -> parser B) : parser B :=
  fun ts => if p ts is Some (a, ts') then f a ts' else None.
Local Notation "'bind' x <- p ;; q" := (and_then p (fun x => q)) (at level 200, x name, p at level 100, q at level 200).
Local Notation "'do' p ;; q" := (and_then p (fun=> q)) (at level 200, p at level 100, q at level 200).
Definition need (b : bool) : parser unit := fun ts => if b then Some (tt, ts) else None.
Definition fail {A : Type} : parser A := fun=> None.

Definition sign (c : ascii) : parser unit := fun ts =>
  if ts is Sign b :: ts' then if b == code c then Some (tt, ts') else None else None.
Definition at_sign (c : ascii) (ts : seq token) : bool := if ts is Sign b :: _ then b == code c else false.
(* q if the sign stands here and is taken, else r.                              *)
Definition if_sign (A : Type) (c : ascii) (q r : parser A) : parser A := fun ts =>
  if sign c ts is Some (_, ts') then q ts' else r ts.

Definition two_63 : nat := 2 ^ 63.
Definition number : parser nat := fun ts =>
  if ts is Number n :: ts' then if n < two_63 then Some (n, ts') else None else None.
Definition number_from (lo : nat) : parser nat := bind n <- number ;; do need (lo <= n) ;; give n.
Definition bare : parser word := fun ts => if ts is Word w :: ts' then Some (w, ts') else None.
Definition name_ : parser word := fun ts =>
  match ts with Word w :: ts' | Quoted w :: ts' => Some (w, ts') | _ => None end.
Definition keyword (w : string) : parser unit := fun ts =>
  if ts is Word v :: ts' then if v == codes w then Some (tt, ts') else None else None.

(* item {"," item}.  There are no more items than tokens.                       *)
Fixpoint items_in (A : Type) (fuel : nat) (p : parser A) : parser (seq A) := fun ts =>
  if fuel is fuel'.+1 then
    if p ts is Some (a, ts') then
      if sign "," ts' is Some (_, ts'') then
        if items_in fuel' p ts'' is Some (s, rest) then Some (a :: s, rest) else None
      else Some ([:: a], ts')
    else None
  else None.
Definition items (A : Type) (p : parser A) : parser (seq A) := fun ts => items_in (size ts) p ts.
Definition list_in (A : Type) (open close : ascii) (p : parser A) : parser (seq A) :=
  do sign open ;; if_sign close (give [::]) (bind s <- items p ;; do sign close ;; give s).
Definition ints : parser (seq nat) := list_in "[" "]" number.
Definition ints_from (lo : nat) : parser (seq nat) := list_in "[" "]" (number_from lo).
Definition rows : parser (seq (seq nat)) := list_in "[" "]" ints.
Definition equals (A : Type) (p : parser A) : parser A := do sign "=" ;; p.

(* ---- tables ----                                                             *)
Definition is_order (T : seq nat) (m : nat) : bool := perm_eq T (iota 0 m).

(* ints ["T" "(" INT {"," INT} ")"]                                             *)
Definition stage_of (entries : nat) : parser stage :=
  bind c <- ints_from 1 ;;
  do need (prodn c == entries) ;;
  fun ts =>
    if keyword "T" ts is Some (_, ts') then
      (do sign "(" ;; bind T <- items number ;; do sign ")" ;;
       do need (is_order T (size c)) ;; give (Stage c T)) ts'
    else Some (Stage c (iota 0 (size c)), ts).
Fixpoint stages_in (fuel entries : nat) : parser (seq stage) := fun ts =>
  if fuel is fuel'.+1 then
    if ts is Le :: ts' then
      (bind st <- stage_of entries ;; bind sts <- stages_in fuel' entries ;; give (st :: sts)) ts'
    else Some ([::], ts)
  else None.
Definition stages (entries : nat) : parser (seq stage) := fun ts => stages_in (size ts).+1 entries ts.

(* An iota has at most `most` entries.                                          *)
Definition table_1 (most : nat) : parser table :=
  bind left <- ints ;; bind sts <- stages (prodn left) ;;
  if sts is [::] then give (Rows [:: left])
  else do need ((size left == 1) && (prodn left <= most)) ;; give (Iota 1 (head 0 left) sts).
Definition table_2 (most : nat) : parser table := fun ts =>
  if ts is Sign b :: Number _ :: _ then
    (bind left <- ints ;; bind sts <- stages (prodn left) ;;
     do need [&& ~~ nilp sts, size left == 2 & prodn left <= most] ;;
     give (Iota (nth 0 left 0) (nth 0 left 1) sts)) ts
  else (bind rs <- rows ;; give (Rows rs)) ts.

(* ---- meshes and tilings ----                                                 *)
Definition most_devices : nat := 2 ^ 31.

(* Axes as digits of positions.                                                 *)
Record mesh := Mesh { axes : seq (word * digit); points : nat; order_of : option table }.
Definition no_mesh : mesh := Mesh [::] 0 None.

Fixpoint digits_of (H : seq (word * nat)) : seq (word * digit) :=
  if H is (x, k) :: H' then (x, Digit (prodn (map snd H')) k) :: digits_of H' else [::].

Definition read_mesh (version : nat) : parser mesh :=
  bind H <- items (bind x <- name_ ;; do sign ":" ;; bind k <- number_from 1 ;; do need (k <= most_devices) ;; give (x, k)) ;;
  let P := prodn (map snd H) in
  do need (uniq (map fst H) && (P <= most_devices)) ;;
  fun ts =>
    if (version == 2) && (if ts is Word _ :: _ then true else false) then
      (do keyword "order" ;; bind o <- equals (table_1 P) ;;
       let ds := row_of_one o in
       do need [&& uniq ds, size ds == P & all (gtn most_devices) ds] ;;
       give (Mesh (digits_of H) P (Some o))) ts
    else Some (Mesh (digits_of H) P None, ts).

(* s:k, x, x:k, and in version 2 x:(m)k                                         *)
Definition read_digit (version : nat) (H : mesh) : parser digit := fun ts =>
  if ts is Number _ :: _ then
    (bind s <- number_from 1 ;; do sign ":" ;; bind k <- number_from 1 ;; give (Digit s k)) ts
  else
    (bind x <- name_ ;;
     if first (fun a => a.1 == x) (axes H) is Some (_, Digit s n) then
       if_sign ":" (fun ts' =>
         if (version == 2) && at_sign "(" ts' then
           (do sign "(" ;; bind m <- number_from 1 ;; do sign ")" ;; bind k <- number_from 1 ;;
            do need (m * k %| n) ;; give (Digit (s * (n %/ (m * k))) k)) ts'
         else (bind k <- number ;; do need (k == n) ;; give (Digit s n)) ts')
       (give (Digit s n))
     else fail) ts.

Definition braces (version : nat) (H : mesh) : parser (seq digit) :=
  bind xs <- list_in "{" "}" (read_digit version H) ;; give [seq x <- xs | radix x != 1].

Definition dim_1 (H : mesh) : parser dim :=
  bind c <- number_from 1 ;; fun ts =>
  if at_sign "{" ts then
    (bind xs <- braces 1 H ;; bind n <- number_from 1 ;;
     do need (c * tile_count xs == n) ;; give (Dim (Blocks c) xs n 0 0)) ts
  else Some (Dim (Blocks c) [::] c 0 0, ts).

Definition is_ceil (c N n : nat) : bool := [&& 0 < c, c.-1 * N < n & n <= c * N].

(* {"+" INT} *)
Fixpoint more_sections (fuel : nat) : parser (seq nat) := fun ts =>
  if fuel is fuel'.+1 then
    if sign "+" ts is Some (_, ts') then
      (bind n <- number_from 1 ;; bind ns <- more_sections fuel' ;; give (n :: ns)) ts'
    else Some ([::], ts)
  else None.

Definition halo (n : nat) (C : cuts) (xs : seq digit) : parser dim := fun ts =>
  if at_sign "<" ts then
    (do sign "<" ;; bind lo <- number ;; do sign "," ;; bind hi <- number ;; do sign ">" ;;
     do need ((lo <= n) && (hi <= n)) ;; give (Dim C xs n lo hi)) ts
  else Some (Dim C xs n 0 0, ts).

Definition sum_below (ns : seq nat) : bool := sumn ns < two_63.

Definition dim_2 (H : mesh) : parser dim := fun ts =>
  if at_sign "(" ts then
    (do sign "(" ;; bind o <- items number ;; do sign ")" ;; bind xs <- braces 2 H ;; bind n <- number_from 1 ;;
     do need [&& size o == (tile_count xs).+1, nth 1 o 0 == 0, last 0 o == n & sorted leq o] ;;
     do need (tile_count xs < two_63) ;;
     halo n (Bounds o) xs) ts
  else
    (bind c <- number_from 1 ;; fun ts =>
     let cut (mark : byte) : parser dim :=
       bind xs <- braces 2 H ;; bind n1 <- number_from 1 ;; bind ns <- (fun ts => more_sections (size ts).+1 ts) ;;
       let N := tile_count xs in let n := sumn (n1 :: ns) in
       do need ((N < two_63) && sum_below (n1 :: ns)) ;;
       if ns is _ :: _ then
         if mark == code "@" then give (Dim (Section_dealt c (n1 :: ns)) xs n 0 0)
         else do need ((mark == 0) && (c == sumn [seq ceil_of m N | m <- n1 :: ns])) ;;
              give (Dim (Section_blocks (n1 :: ns)) xs n 0 0)
       else if mark == code "@" then give (Dim (Dealt c) xs n 0 0)
       else if mark == code "~" then do need (n <= c * N) ;; halo n (Blocks c) xs
       else do need (is_ceil c N n) ;; halo n (if mark == code "=" then Balanced else Blocks c) xs in
     if at_sign "~" ts then (do sign "~" ;; cut (code "~")) ts
     else if at_sign "=" ts then (do sign "=" ;; cut (code "=")) ts
     else if at_sign "@" ts then (do sign "@" ;; cut (code "@")) ts
     else if at_sign "{" ts then cut 0 ts
     else Some (Dim (Blocks c) [::] c 0 0, ts)) ts.

(* sum, max, min or stack.                                                      *)
Definition addition_in (w : word) : option addition :=
  if w == codes "sum" then Some Sum else if w == codes "max" then Some Max
  else if w == codes "min" then Some Min else if w == codes "stack" then Some Stack else None.
Definition at_addition (ts : seq token) : bool :=
  if ts is Word w :: _ then if addition_in w is Some _ then true else false else false.

(* A prefix whose digits all have size 1 is none.                               *)
Definition prefix (H : mesh) : parser (option (addition * seq digit)) :=
  bind w <- bare ;; do sign "{" ;; bind xs <- items (read_digit 2 H) ;; do sign "}" ;;
  let zs := [seq x <- xs | radix x != 1] in
  if addition_in w is Some a then give (if zs is [::] then None else Some (a, zs)) else fail.

Definition bracket (version : nat) (H : mesh) : parser tiling := fun ts0 =>
  let adds := (version == 2) && at_addition ts0 in
  (bind zs <- (if adds then prefix H else give None) ;;
  bind es <- list_in "[" "]" (if version == 2 then dim_2 H else dim_1 H) ;;
  do need (prodn (map whole es) < two_63) ;;
  fun ts =>
    if [&& version == 2, ~~ adds & at_sign "@" ts] then
      (do sign "@" ;; bind d <- number ;; do need ((d < most_devices) && all (fun e => size (digits e) == 0) es) ;;
       (* what is cut though nothing counts its tiles is whole *)
       give (Rooted (map whole es) d)) ts
    else Some (Grid es (points H) (order_of H) zs, ts)) ts0.

Definition all_or_none (c : seq nat) : bool := (0 \notin c) || all (pred1 0) c.
Definition zeros_agree (at_ cs : seq (seq nat)) : bool :=
  all2 (fun b c => all (pred1 0) c ==> all (pred1 0) b) at_ cs.
Definition in_array (n b c : seq nat) : bool := all2 leq (plus b c) n.

Definition explicit (version : nat) : parser tiling :=
  do keyword "tile" ;; bind c <- equals (ints_from 1) ;;
  do keyword "global" ;; bind n <- equals (ints_from 1) ;;
  do keyword "at" ;; bind at_ <- equals rows ;;
  let rank := size n in
  do need [&& size c == rank, prodn n < two_63 & all (fun b => size b == rank) at_] ;;
  fun ts =>
    if (version == 2) && (if keyword "shapes" ts is Some _ then true else false) then
      (do keyword "shapes" ;; bind cs <- equals rows ;;
       do need [&& size cs == size at_, all (fun m => (size m == rank) && all_or_none m) cs,
                   c == [seq foldl maxn 0 [seq nth 0 m i | m <- cs] | i <- iota 0 rank],
                   all2 (in_array n) at_ cs & zeros_agree at_ cs] ;;
       give (Listed n at_ (Each cs))) ts
    else (do need (all (fun b => in_array n b c) at_) ;; give (Listed n at_ (Alike c))) ts.

Definition read_tiling (version : nat) (H : mesh) : parser tiling := fun ts =>
  if at_sign "[" ts || ((version == 2) && at_addition ts) then bracket version H ts else explicit version ts.

(* ---- digits of positions ----                                                *)
(* Sorted by stride, s*k divides the next s, and the last s*k divides P.        *)
Fixpoint chain (xs : seq digit) (P : nat) : bool :=
  if xs is x :: xs' then
    (stride x * radix x %| (if xs' is y :: _ then stride y else P)) && chain xs' P
  else true.
Definition are_digits_of (P : nat) (xs : seq digit) : bool :=
  chain (sort (fun x y => stride x <= stride y) xs) P.

(* What can only be said when the number of devices is known.                   *)
Definition placed (D : nat) (T : tiling) : tiling :=
  if T is Grid es 0 o zs then Grid es D o zs else T.
(* No order, or an iota that leaves all in their places.                        *)
Definition keeps_order (o : option table) (D : nat) : bool :=
  match o with None => true | Some (Rows _) => false | Some t => row_of_one t == iota 0 D end.
Definition good_tiling (version D : nat) (T : tiling) : bool :=
  match T with
  | Grid es P o adds =>
      are_digits_of P (flatten (map digits es) ++ (if adds is Some (_, zs) then zs else [::])) &&
      ((size es != 0) || (D <= P)) && (if adds is Some _ then (D <= P) && keeps_order o D else true)
  | Rooted ns d => (size ns != 0) && (d < D)
  | Listed _ at_ _ => size at_ == D
  | Viewed _ _ => false   (* is made of tilings that are good                     *)
  end.

(* ---- the header of a Program ----                                            *)

(* How many devices a line means, and whether there may be more than positions  *)
(* of its mesh.                                                                 *)
Record header := Head {
  version : nat;
  names : seq nat;                 (* numbers of devices, if they are listed     *)
  said : option nat;               (* by the line `devices`                      *)
  counts : seq nat;                (* rows of `at`                               *)
  meshes : seq mesh;               (* the last first                             *)
  from_line : option tiling;
  to_line : option tiling;
  view_line : option (seq nat);
  adds_as : option addition        (* of the tilings up to here                  *)
}.
Definition new_header (v : nat) : header := Head v [::] None [::] [::] None None None None.
Definition mesh_now (h : header) : mesh := head no_mesh (meshes h).

Definition called (ns : seq nat) (d : nat) : option nat :=
  if ns is [::] then Some d else if d \in ns then Some (index d ns) else None.

Definition read_devices : parser (nat * seq nat) := fun ts =>
  if at_sign "[" ts then
    (bind ns <- ints ;; do need (uniq ns && all (gtn most_devices) ns) ;; give (size ns, ns)) ts
  else
    (bind a <- number ;; do need (a <= most_devices) ;; fun ts =>
     if ts is Dots :: ts' then
       (bind b <- number ;; do need [&& a <= b, b < most_devices & b - a < 2 ^ 26] ;;
        give ((b - a).+1, iota a (b - a).+1)) ts'
     else Some ((a, [::]), ts)) ts.

Definition is_none (A : Type) (o : option A) : bool := if o is None then true else false.
Definition row_count (T : tiling) : seq nat := if T is Listed _ at_ _ then [:: size at_] else [::].


Definition read_header_line (h : header) (w : word) : parser header :=
  if w == codes "mesh" then
    do need (size (meshes h) < 2) ;; bind H <- read_mesh (version h) ;;
    give (Head (version h) (names h) (said h) (counts h) (H :: meshes h) (from_line h) (to_line h) (view_line h) None)
  else if w == codes "devices" then
    do need (is_none (said h)) ;; bind nd <- read_devices ;;
    give (Head (version h) nd.2 (Some nd.1) (counts h) (meshes h) (from_line h) (to_line h) (view_line h) None)
  else if w == codes "from" then
    do need (is_none (from_line h)) ;; bind T <- read_tiling (version h) (mesh_now h) ;;
    give (Head (version h) (names h) (said h) (row_count T ++ counts h) (meshes h) (Some T) (to_line h) (view_line h) None)
  else if w == codes "to" then
    do need (is_none (to_line h)) ;; bind T <- read_tiling (version h) (mesh_now h) ;;
    give (Head (version h) (names h) (said h) (row_count T ++ counts h) (meshes h) (from_line h) (Some T) (view_line h) None)
  else if w == codes "view" then
    do need (is_none (view_line h)) ;; bind v <- ints_from 1 ;;
    give (Head (version h) (names h) (said h) (counts h) (meshes h) (from_line h) (to_line h) (Some v) None)
  else fail.

(* D, or nothing where lines disagree.                                          *)
Definition device_count (h : header) : option nat :=
  let points_ := map points (meshes h) in
  let loose := (version h == 2) && ~~ is_none (said h) in
  let all_counts := (if said h is Some n then [:: n] else [::]) ++ counts h ++ (if loose then [::] else points_) in
  let D := head 0 all_counts in
  let order_ok H := if order_of H is Some o
                    then (size (names h) == 0) && all (gtn D) (row_of_one o) else true in
  if [&& 0 < D, D <= most_devices, all (pred1 D) all_counts, all (fun P => P <= D) points_
       & all order_ok (meshes h)] then Some D else None.

(* The devices of a rooted tiling have their numbers.                           *)
Definition renamed (ns : seq nat) (T : tiling) : option tiling :=
  if T is Rooted n d then if called ns d is Some e then Some (Rooted n e) else None else Some T.

(* All tilings add in one way, and of stacks all are, and of as many arrays.    *)
Definition adds_now (O : option addition) (T : tiling) : option addition := if O is Some _ then O else adds_in T.
Definition adds_well (O : option addition) (F T : tiling) : bool :=
  if adds_now O T is Some a then
    (if adds_in T is Some b then same_way a b else true) &&
    (if a is Stack then addend_count T == addend_count F else true)
  else true.
Definition add_as (h : header) (T : tiling) : header :=
  Head (version h) (names h) (said h) (counts h) (meshes h) (from_line h) (to_line h) (view_line h)
    (adds_now (adds_as h) T).

(* Of a dimension that is cut evenly, or dealt out in whole rounds: how long    *)
(* blocks and rounds are.                                                       *)
Definition rounds (e : dim) : option (nat * nat) :=
  let N := tile_count (digits e) in let n := whole e in
  let of_blocks b (ok : bool) := if [&& 0 < b, b * N < two_63 & ok] then Some (b, b * N) else None in
  if N == 1 then Some (n, n)
  else if (before e != 0) || (behind e != 0) then None
  else match cut_by e with
       | Blocks c => of_blocks c (n == c * N)
       | Balanced => let b := n %/ N in of_blocks b (n == b * N)
       | Bounds o => let b := nth 0 o 1 in of_blocks b ((n == b * N) && all (fun t => nth 0 o t == b * t) (iota 0 (size o)))
       | Dealt c => of_blocks c (c * N %| n)
       | Section_blocks ns => let b := head 0 ns %/ N in of_blocks b (all (pred1 (b * N)) ns)
       | Section_dealt c ns => of_blocks c (all (dvdn (c * N)) ns)
       end.
(* Of extents, the fastest first, one begins at b.                              *)
Fixpoint begins_at (below : nat) (es : seq nat) (b : nat) : bool :=
  if es is e :: es' then ~~ ((below < b) && (b < below * e)) && begins_at (below * e) es' b else true.
(* WF-VIEW *)
Definition good_view (v : seq nat) (T : tiling) : bool :=
  if T is Grid ds _ _ _ then
    let gs := all_become (map whole ds) v in
    [&& map prodn gs == map whole ds, flatten gs == v, [::] \notin gs &
        all (fun p => if size p.1 == 1 then true
                      else if rounds p.2 is Some (b, r) then begins_at 1 (rev p.1) b && begins_at 1 (rev p.1) r
                      else false) (zip gs ds)]
  else false.
Definition seen (v : option (seq nat)) (T : tiling) : tiling := if v is Some w then Viewed w T else T.

Definition complete (h : header) : option (header * program) :=
  if device_count h is Some D then
    if (from_line h, to_line h) is (Some F, Some T) then
      if (renamed (names h) F, renamed (names h) T) is (Some F', Some T') then
        let F'' := placed D F' in let T'' := placed D T' in
        if [&& good_tiling (version h) D F'', good_tiling (version h) D T'', global_of F'' == global_of T''
             & [&& adds_well None F'' F'', adds_well (adds_in F'') F'' T''
                 & if view_line h is Some v then good_view v F'' && good_view v T'' else true]]
        then Some (add_as (add_as h F'') T'', Program D (seen (view_line h) F'') (seen (view_line h) T'') [::]) else None
      else None
    else None
  else None.

(* ---- steps ----                                                              *)
Inductive value :=
  | V_number of nat
  | V_table of table
  | V_rows of seq (seq nat)
  | V_ints of seq nat
  | V_tiling of tiling
  | V_cut of cut
  | V_add of addition.

Section Steps.
Variables (h : header) (P : program).
Let D := devices P.
Let g := global_of (from P).
Let rank := size g.
Let ns := names h.

Definition sequence_of (A : Type) (s : seq (option A)) : option (seq A) :=
  foldr (fun o t => if (o, t) is (Some a, Some l) then Some (a :: l) else None) (Some [::]) s.

Definition device (d : nat) : option nat :=
  if called ns d is Some e then if e < D then Some e else None else None.
Definition devices_in (rs : seq (seq nat)) : option (seq (seq nat)) :=
  sequence_of [seq sequence_of (map device r) | r <- rs].
Definition device_table (p : parser table) : parser table :=
  bind t <- p ;;
  match t with
  | Rows rs => if devices_in rs is Some rs' then give (Rows rs') else fail
  | Iota _ _ _ => give t
  end.

Definition map_tiling : parser tiling :=
  bind T <- bracket (version h) (mesh_now h) ;;
  match renamed ns T with
  | Some T' => do need [&& good_tiling (version h) D (placed D T'), global_of T' == g & adds_well (adds_as h) (from P) T'] ;;
               give (placed D T')
  | None => fail
  end.

Definition read_value (k : word) : parser value :=
  if k \in map codes [:: "dim"; "split"; "concat"]%string then
    bind i <- number ;; do need (i < rank) ;; give (V_number i)
  else if k == codes "parts" then bind n <- number_from 1 ;; give (V_number n)
  else if k == codes "groups" then bind t <- device_table (table_2 D) ;; give (V_table t)
  else if k == codes "source" then bind t <- device_table (table_1 D) ;; give (V_table t)
  else if k == codes "part" then bind t <- table_1 D ;; give (V_table t)
  else if k \in map codes [:: "pairs"; "transfers"]%string then bind rs <- rows ;; give (V_rows rs)
  else if k == codes "at" then
    bind rs <- rows ;; do need ((size rs == D) && all (fun b => size b == rank) rs) ;; give (V_rows rs)
  else if k == codes "tile" then bind c <- ints ;; give (V_ints c)
  else if k == codes "map" then bind T <- map_tiling ;; give (V_tiling T)
  else if (version h == 2) && (k == codes "shapes") then
    bind rs <- rows ;; do need ((size rs == D) && all (fun c => (size c == rank) && all_or_none c) rs) ;; give (V_rows rs)
  else if k \in map codes [:: "dims"; "splits"; "concats"]%string then
    bind dims <- ints ;; do need (all (gtn rank) dims) ;; give (V_ints dims)
  else if k == codes "counts" then
    bind ms <- ints_from 1 ;; do need (prodn ms < two_63) ;; give (V_ints ms)
  else if (version h == 2) && (k == codes "add") then
    bind w <- bare ;;
    if addition_in w is Some a then if a is Stack then fail else give (V_add a) else fail
  else if (version h == 2) && (k == codes "piece") then fun ts =>
    if keyword "balanced" ts is Some (_, ts') then Some (V_cut Even, ts')
    else (bind s <- number_from 1 ;; give (V_cut (Extent s))) ts
  else fail.

Fixpoint keys_in (fuel : nat) (ts : seq token) : option (seq (word * value)) :=
  if ts is [::] then Some [::]
  else if fuel is fuel'.+1 then
    if (bind k <- bare ;; bind v <- equals (read_value k) ;; give (k, v)) ts is Some (kv, ts') then
      if keys_in fuel' ts' is Some kvs then Some (kv :: kvs) else None
    else None
  else None.

Definition transfer_of (r : seq nat) : option transfer :=
  if r is t :: e :: r' then
    if (device t, device e) is (Some t', Some e') then
      let p := take rank r' in let q := take rank (drop rank r') in let b := drop (2 * rank) r' in
      if (size r' == 3 * rank) && (0 \notin b) then Some (Transfer t' e' p q b) else None
    else None
  else None.
Definition pair_of (r : seq nat) : option (nat * nat) :=
  if r is [:: s; t] then if (device s, device t) is (Some s', Some t') then Some (s', t') else None else None.

Definition is_part (n : nat) (L : table) : bool :=
  match L with
  | Iota _ length _ => (length == D) && (D <= n)
  | Rows rs => (size (head [::] rs) == D) && all (gtn n) (head [::] rs)
  end.

Section Keys.
Variable kvs : seq (word * value).
Definition value_of (k : string) : option value :=
  if first (fun kv => kv.1 == codes k) kvs is Some kv then Some kv.2 else None.
Definition number_at k := if value_of k is Some (V_number n) then n else 0.
Definition table_at k := if value_of k is Some (V_table t) then t else Rows [::].
Definition rows_at k := if value_of k is Some (V_rows rs) then Some rs else None.
Definition ints_at k := if value_of k is Some (V_ints c) then Some c else None.
Definition add_at := if value_of "add" is Some (V_add a) then a else Sum.
Definition cut_at := if value_of "piece" is Some (V_cut c) then c else Equal.
Definition list_at k := if ints_at k is Some c then c else [::].
(* A dimension for each digit, and a digit.                                     *)
Definition one_for_each (k : string) : bool :=
  (size (list_at k) == size (list_at "counts")) && ~~ nilp (list_at "counts").
(* Exactly these keys, and perhaps those.                                       *)
Definition keys_are (must may : seq string) : bool :=
  let ks := map fst kvs in
  [&& uniq ks, all (fun k => codes k \in ks) must & all (fun k => k \in map codes (must ++ may)) ks].

Definition claims : seq string := [:: "tile"; "map"; "at"; "shapes"]%string.
Definition with_claims (m : move) : option step :=
  let at_ := rows_at "at" in let cs := rows_at "shapes" in
  let exchanges := match m with Exchange _ _ | Exchange_add _ _ _ => true | _ => false end in
  if (if (at_, cs) is (Some a, Some c) then zeros_agree a c else true) &&
     (is_none cs || ~~ is_none at_ || exchanges)
  then Some (Step m (if exchanges then None else ints_at "tile")
                  (if value_of "map" is Some (V_tiling T) then Some T else None) at_
                  (if is_none at_ then None else cs))
  else None.

Definition exchange_of (ts : seq transfer) (new : shapes) : move :=
  if value_of "add" is Some (V_add a) then Exchange_add a ts new else Exchange ts new.
(* A step that adds, with these keys.                                           *)
Definition adding_of (must may : seq string) (a : adding) : option step :=
  if (version h == 2) && keys_are must ("add"%string :: may ++ claims)
  then with_claims (Adding a add_at (table_at "groups")) else None.

Definition step_of (op : word) : option step :=
  if op == codes "dynslice" then
    if keys_are [:: "dim"; "groups"]%string ("piece"%string :: claims) then
      with_claims (Dynslice cut_at (number_at "dim") (table_at "groups"))
    else if keys_are [:: "dim"; "parts"; "part"]%string ("piece"%string :: claims) then
      if is_part (number_at "parts") (table_at "part") then
        with_claims (Dynslice_part cut_at (number_at "dim") (number_at "parts") (table_at "part"))
      else None
    else None
  else if op == codes "allgather" then
    if keys_are [:: "dim"; "groups"]%string claims then
      with_claims (Allgather (number_at "dim") (table_at "groups"))
    else None
  else if op == codes "alltoall" then
    if keys_are [:: "split"; "concat"; "groups"]%string ("piece"%string :: claims) then
      with_claims (Alltoall cut_at (number_at "split") (number_at "concat") (table_at "groups"))
    else None
  else if (version h == 2) && (op == codes "allgather_dims") then
    if keys_are [:: "dims"; "counts"; "groups"]%string claims && one_for_each "dims" then
      with_claims (Allgather_dims (list_at "dims") (list_at "counts") (table_at "groups"))
    else None
  else if (version h == 2) && (op == codes "alltoall_dims") then
    if [&& keys_are [:: "splits"; "concats"; "counts"; "groups"]%string claims, one_for_each "splits" & one_for_each "concats"] then
      with_claims (Alltoall_dims (list_at "splits") (list_at "concats") (list_at "counts") (table_at "groups"))
    else None
  else if op == codes "allpermute" then
    if keys_are [:: "source"]%string claims then with_claims (Allpermute (table_at "source"))
    else if keys_are [:: "pairs"]%string claims then
      if obind (fun rs => sequence_of (map pair_of rs)) (rows_at "pairs") is Some ps
      then with_claims (Pairs ps) else None
    else None
  else if op == codes "reducescatter" then
    adding_of [:: "dim"; "groups"]%string [:: "piece"]%string (Reducescatter cut_at (number_at "dim"))
  else if op == codes "allreduce" then adding_of [:: "groups"]%string [::] Allreduce
  else if op == codes "unreduce" then adding_of [:: "groups"]%string [::] Unreduce
  else if op == codes "embed" then adding_of [:: "dim"; "groups"]%string [::] (Embed (number_at "dim"))
  else if op == codes "exchange" then
    if obind (fun rs => sequence_of (map transfer_of rs)) (rows_at "transfers") is Some ts then
      if keys_are [:: "transfers"; "tile"]%string [:: "add"; "map"; "at"]%string then
        if ints_at "tile" is Some c then
          if (size c == rank) && (0 \notin c) then with_claims (exchange_of ts (Alike c)) else None
        else None
      else if keys_are [:: "transfers"; "shapes"]%string [:: "add"; "map"; "at"]%string then
        if rows_at "shapes" is Some cs then with_claims (exchange_of ts (Each cs)) else None
      else None
    else None
  else None.
End Keys.

Definition read_step (op : word) (ts : seq token) : option step :=
  if keys_in (size ts) ts is Some kvs then step_of kvs op else None.
End Steps.

(* ---- texts ----                                                              *)

Inductive reading :=
  | Programs of seq (seq nat * program)   (* with the numbers of listed devices  *)
  | Refused of nat.                       (* in this line, from 1                *)

(* Steps are put in front; a Program that is done has them in order.            *)
Definition done_with (hp : header * program) : seq nat * program :=
  (names hp.1, Program (devices hp.2) (from hp.2) (to hp.2) (rev (steps hp.2))).

Inductive place :=
  | Nowhere
  | In_header of header
  | In_steps of header & program.

(* A claim may be the first that says how addends are added.                    *)
Definition claimed (h : header) (st : step) : header := if map_claim st is Some T then add_as h T else h.

Definition finished (p : place) : option (seq (seq nat * program)) :=
  match p with
  | Nowhere => Some [::]
  | In_header h => if complete h is Some hp then Some [:: done_with hp] else None
  | In_steps h P => Some [:: done_with (h, P)]
  end.

Fixpoint read_lines (k : nat) (p : place) (out : seq (seq nat * program)) (ls : seq (seq token)) : reading :=
  if ls is ts :: ls' then
    match ts with
    | [::] => read_lines k.+1 p out ls'
    | Header v :: rest =>
        if rest is [::] then
          if finished p is Some one then read_lines k.+1 (In_header (new_header v)) (one ++ out) ls' else Refused k
        else Refused k
    | Word w :: rest =>
        match p with
        | Nowhere => Refused k
        | In_header h =>
            if (w \in map codes [:: "mesh"; "devices"; "from"; "to"]%string) || (version h == 2) && (w == codes "view") then
              if read_header_line h w rest is Some (h', [::]) then read_lines k.+1 (In_header h') out ls'
              else Refused k
            else if complete h is Some (h', P) then
              if read_step h' P w rest is Some st then
                read_lines k.+1 (In_steps (claimed h' st) (Program (devices P) (from P) (to P) [:: st])) out ls'
              else Refused k
            else Refused k
        | In_steps h P =>
            if read_step h P w rest is Some st then
              read_lines k.+1 (In_steps (claimed h st) (Program (devices P) (from P) (to P) (st :: steps P))) out ls'
            else Refused k
        end
    | _ => Refused k
    end
  else
    if finished p is Some one then
      let all_ := one ++ out in if all_ is [::] then Refused k else Programs (rev all_)
    else Refused k.

Definition read (s : seq byte) : reading := read_lines 1 Nowhere [::] (lines_of s).
