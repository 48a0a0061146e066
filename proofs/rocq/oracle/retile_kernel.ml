(* retile-kernel: whether Programs are right, and whether nothing is cheaper, by a check and a certifier that are proved
   (theorems/check_correct.v, theorems/certified.v).

   usage: retile-kernel check [--seconds S] [FILE | -]
          retile-kernel check [--seconds S] --batch
          retile-kernel certify [--optimal] [--seconds S] [FILE | -]
          retile-kernel certify [--optimal] [--seconds S] --batch

   check reads a text of Programs and prints a verdict for each, in the fields of retile-oracle check without witnesses. Ends with
   0 if all are right, 1 if one is wrong, 2 if the text is refused, and 3 if nothing is decided: the text has more than 65,536
   devices, or takes more than S seconds or 2 GiB.

   certify reads a Program with its certificate, and prints the fields of retile-oracle certify without why and where a proof fails.
   Ends with 0 if the Program is right and the certificate proves its claim, 1 if not, 2 if the text is refused, and 3 if nothing
   is claimed or decided. No theorem is about facts or sums; of these nothing is decided. With --optimal it ends with 0 only if the
   Program is proved to be optimal.

   With --batch standard input holds texts, each behind a line with the number of its bytes; the answer to each is what the other
   form prints, then `exit: N` and an empty line.

   Reading, checking and certifying are extracted from Rocq; what stands here opens files, and prints. *)

let number = Z.to_string

let reason = function
  | Checker.Groups -> "groups"
  | Checker.Bijection -> "bijection"
  | Checker.Indivisible -> "indivisible"
  | Checker.Ragged -> "ragged"
  | Checker.Transfers -> "transfers"
  | Checker.Addends -> "addends"
  | Checker.Tile_claim -> "tile_claim"
  | Checker.Map_claim -> "map_claim"
  | Checker.Not_a_box -> "not_a_box"
  | Checker.Replicas -> "replicas"
  | Checker.End -> "end"

let codes text =
  let out = ref [] in
  for k = String.length text - 1 downto 0 do out := Z.of_int (Char.code text.[k]) :: !out done;
  !out

exception Limit of string

(* Some lists of devices are made by recursion as deep as they are long. *)
let most_devices = Z.of_int 65536

let line out field value = Buffer.add_string out (field ^ ": " ^ value ^ "\n")

(* The verdict, what it comes to, and the exit code. The proof is about Programs that are known; the reader makes no others. *)
let judge out program =
  if Z.gt program.Checker.devices most_devices then raise (Limit "more than 65536 devices");
  if not (Checker.known_program program) then failwith "the reader made a Program that is not known";
  let line = line out in
  let verdict = Checker.check program in
  let bound = Checker.check_bound program in
  let right = verdict.Checker.first_wrong = None in
  line "right" (string_of_bool right);
  line "within_bound" (string_of_bool (Z.leq verdict.Checker.v_height bound));
  line "height" (number verdict.Checker.v_height);
  line "bound" (number bound);
  line "cost" (number verdict.Checker.v_cost);
  line "steps" (string_of_int (List.length program.Checker.steps));
  (match verdict.Checker.first_wrong with
   | None -> ()
   | Some (step, why) ->
     line "first_wrong_step" (number step);
     line "reason" (reason why));
  verdict, if right then 0 else 1

let refuse out source k what = Printf.bprintf out "error: %s:%s: %s\n" source (number k) what; 2

(* What is said of a text, and the exit code. *)
let check_text out source text =
  match Checker.read (codes text) with
  | Checker.Refused k -> refuse out source k "this is no Program"
  | Checker.Programs programs ->
    let code = ref 0 in
    List.iteri
      (fun k (_, program) ->
        if k > 0 then Buffer.add_char out '\n';
        code := max !code (snd (judge out program)))
      programs;
    !code

let silence = function
  | Checker.Of_sums -> "sums"
  | Checker.Of_facts -> "facts"

let scope several =
  "allgather, dynslice, alltoall, allpermute (Fig. 10), "
  ^ (if several then "allgathers and alltoalls along several dimensions, tiles of any size" else "tiles within the bound (4)")
  ^ ", cost in elements per device (Fig. 11)"

let certify_text must_be_optimal out source text =
  match Checker.read_certificate (codes text) with
  | Checker.No_certificate k -> refuse out source k "this is no certificate of one Program"
  | Checker.Certificate_of (version, program, claims) -> (
    let verdict, code = judge out program in
    if code <> 0 then code
    else
      let line = line out in
      let ends claimed =
        let answer = Checker.optimality_of program verdict claims in
        let words =
          match answer with
          | Checker.Not_claimed -> "not claimed"
          | Checker.Not_comparable -> "not comparable"
          | Checker.Optimal -> "true"
          | Checker.Not_optimal -> "false"
        in
        if must_be_optimal || answer <> Checker.Not_claimed then line "optimal" words;
        if answer = Checker.Not_comparable then Buffer.add_string out "# the Program has steps outside of this scope\n";
        if must_be_optimal then if answer = Checker.Optimal then 0 else 1 else if claimed then 0 else 3
      in
      match Checker.certify_claims version program claims with
      | Checker.Nothing_claimed -> line "certified" "nothing"; ends false
      | Checker.No_theorem what ->
        line "certified" "undecided";
        line "reason" "no_theorem";
        Printf.bprintf out "# undecided: no theorem of the kernel is about %s\n" (silence what);
        3
      | Checker.Not_certified -> line "certified" "false"; 1
      | Checker.Is_certified (global, from, to_) ->
        let list ns = "[" ^ String.concat "," (List.map number ns) ^ "]" in
        line "certified" "true";
        line "devices" (number program.Checker.devices);
        line "global" (list global);
        line "from" (list from);
        line "to" (list to_);
        line "scope" (scope claims.Checker.several);
        line "lower_bound" (number claims.Checker.lines.Checker.lower_bound);
        ends true)

let read_all channel =
  let out = Buffer.create 65536 in
  (try while true do Buffer.add_channel out channel 1 done with End_of_file -> ());
  Buffer.contents out

(* Nothing is decided where work takes too long, or too much memory. *)
let most_words = (2 lsl 30) / (Sys.word_size / 8)

let within_limits seconds out work =
  let start = Buffer.length out in
  let undecided why =
    Buffer.truncate out start;
    Printf.bprintf out "right: undecided\nreason: limit\n# undecided: %s\n" why;
    3
  in
  let clock value = ignore (Unix.setitimer Unix.ITIMER_REAL { Unix.it_interval = 0.; it_value = value }) in
  Sys.set_signal Sys.sigalrm (Sys.Signal_handle (fun _ -> raise (Limit "time")));
  let alarm = Gc.create_alarm (fun () -> if (Gc.quick_stat ()).Gc.heap_words > most_words then raise (Limit "memory")) in
  let ends () = clock 0.; Gc.delete_alarm alarm in
  match clock seconds; work () with
  | code -> ends (); code
  | exception Limit why -> ends (); undecided why
  | exception (Stack_overflow | Out_of_memory) -> ends (); undecided "memory"
  | exception other -> ends (); raise other

let batch answer seconds =
  let out = Buffer.create 65536 in
  (try
     while true do
       let size = int_of_string (input_line stdin) in
       let text = really_input_string stdin size in
       Buffer.clear out;
       let code = within_limits seconds out (fun () -> answer out "<stdin>" text) in
       Printf.bprintf out "exit: %d\n\n" code;
       print_string (Buffer.contents out)
     done
   with End_of_file -> ());
  0

let usage =
  String.concat ""
    (List.map
       (fun verb -> Printf.sprintf "usage: retile-kernel %s [--seconds S] [FILE | -]\n       retile-kernel %s [--seconds S] --batch\n" verb verb)
       [ "check"; "certify [--optimal]" ])

let one answer seconds source text =
  let out = Buffer.create 4096 in
  let code = within_limits seconds out (fun () -> answer out source text) in
  (if code = 2 then prerr_string else print_string) (Buffer.contents out);
  code

let cannot_read why = prerr_string ("error: " ^ why ^ "\n"); 2

let rec work answer seconds = function
  | "--seconds" :: s :: rest when (match float_of_string_opt s with Some v -> v > 0. && v < 1e9 | None -> false) ->
    work answer (float_of_string s) rest
  | [ "--batch" ] -> batch answer seconds
  | [] | [ "-" ] -> one answer seconds "<stdin>" (read_all stdin)
  | [ path ] when path <> "" && path.[0] <> '-' -> (
    match open_in_bin path with
    | exception Sys_error why -> cannot_read why
    | channel -> (match read_all channel with exception Sys_error why -> cannot_read why | text -> one answer seconds path text))
  | _ -> prerr_string usage; 2

let () =
  set_binary_mode_in stdin true;
  let most_seconds = 3600. in
  match Array.to_list Sys.argv with
  | _ :: "check" :: rest -> exit (work check_text most_seconds rest)
  | _ :: "certify" :: rest ->
    let others = List.filter (fun word -> word <> "--optimal") rest in
    exit (work (certify_text (others <> rest)) most_seconds others)
  | [ _; "--help" ] -> print_string usage; exit 0
  | _ -> prerr_string usage; exit 2
