(* Reads one batch a line, in whole numbers, and writes its price.
   "price" points nullable absent questions, then for each question: statistic (0 count, 1 sum, 2 squares,
   3 order) missing scale shift over under least most, number of ranges, and their ends.
   "columns" number of columns, points and nullable of each, absent, questions, then for each question:
   statistic scale shift over under least most, a coefficient a column, number of conjunctions, and for each
   of them its number of tests: column missing, number of ranges, and their ends.
   "given" a batch as after "columns", then the number of told questions and these, and 0 or 1 told sum whose
   window is used (rules O and W).
   "held" over and under of a told step, then of an asked one (rule S).
   "coarse" rows of a person, and the steps of counts of disjoint filters.
   "multisets" points and rows.
   "elementary" most, and the amounts. *)
open Price

let () =
  try
    while true do
      let words = ref (List.filter (( <> ) "") (String.split_on_char ' ' (input_line stdin))) in
      let word () =
        match !words with
        | [] -> failwith "a line ends too early"
        | first :: rest -> words := rest; first in
      let number () = int_of_string (word ()) in
      let flag () = number () = 1 in
      let times count read = List.init count (fun _ -> ()) |> List.map (fun () -> read ()) in
      let range () = let low = number () in let high = number () in (low, high) in
      let statistic = function 0 -> Count | 1 -> Sum | 2 -> Squares | _ -> Order in
      let answer =
        match word () with
        | "elementary" -> let most = number () in elementary most (times (List.length !words) number)
        | "coarse" -> let rows = number () in coarse_price (times (List.length !words) number) rows
        | "multisets" -> let points = number () in multichoose points (number ())
        | "price" ->
          let points = number () in
          let nullable = number () = 1 in
          let absent = number () = 1 in
          let question () =
            let a_stat = statistic (number ()) in
            let a_missing = number () = 1 in
            let a_scale = number () in
            let a_shift = number () in
            let a_over = number () in
            let a_under = number () in
            let a_least = number () in
            let a_most = number () in
            let a_codes = times (number ()) range in
            { a_stat; a_codes; a_missing; a_scale; a_shift; a_over; a_under; a_least; a_most;
              a_num = 0; a_den = 1 } in
          let batch = times (number ()) question in
          let records = domain points nullable in
          if absent then batch_price_absent batch records else batch_price batch records
        | ("columns" | "given") as kind ->
          let columns = number () in
          let size () = let points = number () in let nullable = flag () in (points, nullable) in
          let sizes = times columns size in
          let absent = flag () in
          let question () =
            let s_stat = statistic (number ()) in
            let s_scale = number () in
            let s_shift = number () in
            let s_over = number () in
            let s_under = number () in
            let s_least = number () in
            let s_most = number () in
            let s_coefs = times columns number in
            let test () =
              let column = number () in
              let missing = flag () in
              let codes = times (number ()) range in
              (column, (codes, missing)) in
            let s_terms = times (number ()) (fun () -> times (number ()) test) in
            { s_stat; s_terms; s_coefs; s_scale; s_shift; s_over; s_under; s_least; s_most;
              s_num = 0; s_den = 1 } in
          let batch = times (number ()) question in
          let rows = all_rows sizes in
          if kind = "given" then
            let told = times (number ()) question in
            let window = match times (number ()) question with [] -> None | sum :: _ -> Some sum in
            given_price rows window told batch
          else if absent then columns_price_absent batch rows
          else columns_price batch rows
        | "held" ->
          (* How many cells of the second step one cell of the first can hold. *)
          let step () =
            let s_over = number () in
            let s_under = number () in
            { s_stat = Sum; s_terms = []; s_coefs = []; s_scale = 1; s_shift = 0; s_over; s_under;
              s_least = 0; s_most = 0; s_num = 0; s_den = 1 } in
          let told = step () in
          held_cells told (step ())
        | other -> failwith ("unknown word " ^ other) in
      print_endline (string_of_int answer)
    done
  with End_of_file -> ()
