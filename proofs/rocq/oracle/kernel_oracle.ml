(* kernel_oracle: the extracted definitions and the extracted certifier, asked line by line.

   usage: kernel_oracle < QUERIES > ANSWERS

   A query is a line of numbers, a list being its length and its elements; queries.cpp writes them. An answer is a line.

     0 MESH TYPE                   whether mesh and type are well-formed, and if so what is read off them
     1 MESH TYPE STEPS             where the collectives lead, with height, cost, ..; none if one cannot be applied
     2 DELTA g STEP c TILES        where a weak step leads: the localtype and each tile; none
     3 OPS SIZES                   cost, height, valley, (4), normal form
     5 MESH STEP ENDS              whether a step of Fig. 10, over several axes, leads from one assignment to the other
     4 DELTA FROM TO CERTIFICATE   1 if the certifier accepts, 0 if it does not

   The time that the certifier took goes to standard error. *)

(* ---- reading ---- *)
let line = ref ""
let at = ref 0

let next () =
  let n = String.length !line in
  while !at < n && !line.[!at] = ' ' do incr at done;
  let start = !at in
  while !at < n && !line.[!at] <> ' ' do incr at done;
  if start = !at then failwith "a line ends too early";
  if !at - start <= 18 then begin
    let value = ref 0 in
    for k = start to !at - 1 do
      let digit = Char.code !line.[k] - 48 in
      if digit < 0 || digit > 9 then failwith "not a number";
      value := !value * 10 + digit
    done;
    Z.of_int !value
  end
  else Z.of_string (String.sub !line start (!at - start))

let int () = Z.to_int (next ())

(* in order, without recursion as deep as the list *)
let list element =
  let out = ref [] in
  for _ = 1 to int () do out := element () :: !out done;
  List.rev !out

let numbers () = list next
let pair a b = let x = a () in let y = b () in (x, y)
let mesh () = list (fun () -> pair next next)

let dim () =
  let c = next () in
  let xs = numbers () in
  let s = next () in
  { Kernel.dim_c = c; dim_xs = xs; dim_s = s }

let typ () = list dim

let collective () =
  match int () with
  | 0 -> Kernel.Allgather0 (next ())
  | 1 -> let i = next () in Kernel.Dynslice0 (i, next ())
  | 2 -> let i = next () in Kernel.Alltoall0 (i, next ())
  | _ -> Kernel.Allpermute0 (typ ())

let op () =
  match int () with
  | 0 -> Kernel.Allgather
  | 1 -> Kernel.Dynslice
  | 2 -> Kernel.Alltoall
  | _ -> Kernel.Allpermute

let op_of = function
  | Kernel.Allgather0 _ -> Kernel.Allgather
  | Kernel.Dynslice0 _ -> Kernel.Dynslice
  | Kernel.Alltoall0 _ -> Kernel.Alltoall
  | Kernel.Allpermute0 _ -> Kernel.Allpermute

let tiling () =
  let tile = numbers () in
  let global = numbers () in
  let digit () = let stride = next () in { Kernel.stride; digit_size = next () } in
  { Kernel.tile; global; digits = list (fun () -> list digit) }

(* ---- writing ---- *)
let out = Buffer.create 65536
let word text = Buffer.add_char out ' '; Buffer.add_string out text
let number n = word (Z.to_string n)
let truth b = word (if b then "1" else "0")
let write_list element l = word (string_of_int (List.length l)); List.iter element l

let write_type =
  write_list (fun d -> number d.Kernel.dim_c; write_list number d.Kernel.dim_xs; number d.Kernel.dim_s)

(* ---- answers ---- *)

(* Every point of |H|, the last axis fastest: an association list of coordinates. *)
let rec points = function
  | [] -> [ [] ]
  | (x, k) :: rest ->
    let behind = points rest in
    List.concat_map (fun i -> List.map (fun p -> (x, Z.of_int i) :: p) behind) (List.init (Z.to_int k) Fun.id)

let describe () =
  let h = mesh () in
  let tau = typ () in
  let wf = Kernel.wf_mesh h && Kernel.wf_type h tau in
  truth (Kernel.wf_mesh h);
  truth (Kernel.wf_type h tau);
  if wf then begin
    truth (Kernel.prime_mesh h);
    number (Kernel.device_count h);
    write_list number (Kernel.globaltype tau);
    write_list number (Kernel.localtype tau);
    number (Kernel.globalsize tau);
    number (Kernel.localsize tau);
    write_list number (Kernel.axes tau);
    let coordinate p x = match List.find_opt (fun (y, _) -> Z.equal x y) p with Some (_, v) -> v | None -> Z.zero in
    List.iter (fun p -> List.iter number (Kernel.base_offsets h tau (coordinate p))) (points h)
  end

let summary ops sizes =
  number (Kernel.cost ops sizes);
  number (Kernel.height sizes);
  number (Kernel.valley sizes);
  truth (Kernel.memory_constrained sizes);
  truth (Kernel.normal_form ops)

let follow () =
  let h = mesh () in
  let tau = typ () in
  let steps = list collective in
  let rec go tau sizes = function
    | [] -> Some (tau, List.rev sizes)
    | p :: rest -> (
      match Kernel.apply0 h p tau with
      | None -> None
      | Some sigma -> go sigma (Kernel.localsize sigma :: sizes) rest)
  in
  match go tau [ Kernel.localsize tau ] steps with
  | None -> word "none"
  | Some (sigma, sizes) ->
    write_type sigma;
    summary (List.map op_of steps) sizes

let weak () =
  let delta = next () in
  let g = numbers () in
  let kind = int () in
  let i = next () in
  let j = next () in
  let n = next () in
  let c = numbers () in
  let tiles = list (fun () -> pair next numbers) in
  let step, moved =
    match kind with
    | 0 -> (Kernel.Wgather (i, n), fun (_, t) -> Kernel.gather_tile i n t)
    | 1 -> (Kernel.Wslice (i, n), fun (digit, t) -> Kernel.slice_tile i n digit t)
    | _ -> (Kernel.Walltoall (i, j, n), fun (_, t) -> Kernel.alltoall_tile i j n t)
  in
  truth (Kernel.is_localtype delta g c);
  match Kernel.weak_apply delta g step c with
  | None -> word "none"
  | Some after ->
    write_list number after;
    List.iter (fun t -> List.iter number (moved t)) tiles

let literal () =
  let h = mesh () in
  let p =
    match int () with
    | 0 -> let i = next () in Kernel.Multi_allgather (i, numbers ())
    | 1 -> let i = next () in Kernel.Multi_dynslice (i, numbers ())
    | 2 ->
      let i = next () in
      let j = next () in
      Kernel.Multi_alltoall (i, j, numbers ())
    | _ -> Kernel.Multi_allpermute
  in
  let points_1 = list numbers in
  let tau_1 = typ () in
  let points_2 = list numbers in
  truth (Kernel.multi_check h p points_1 tau_1 points_2 (typ ()))

let seconds = ref 0.

let certify () =
  let devices = next () in
  let from = tiling () in
  let to0 = tiling () in
  let lower_bound = next () in
  let potentials = list (fun () -> pair numbers (fun () -> pair next next)) in
  let step () = let i = next () in let j = next () in ((i, j), next ()) in
  let refutations = list (fun () -> pair numbers (fun () -> list step)) in
  let start = Sys.time () in
  let yes = Kernel.certify { Kernel.devices; from; to0 } { Kernel.lower_bound; potentials; refutations } in
  seconds := !seconds +. (Sys.time () -. start);
  truth yes

let () =
  (try
     while true do
       line := input_line stdin;
       at := 0;
       (match int () with
        | 0 -> describe ()
        | 1 -> follow ()
        | 2 -> weak ()
        | 3 -> let ops = list op in summary ops (numbers ())
        | 4 -> certify ()
        | _ -> literal ());
       Buffer.add_char out '\n';
       if Buffer.length out > 60000 then begin print_string (Buffer.contents out); Buffer.clear out end
     done
   with End_of_file -> ());
  print_string (Buffer.contents out);
  Printf.eprintf "certifier_seconds %.6f\n" !seconds
