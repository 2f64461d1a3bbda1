(** The theorems are about something: prices that are attained, an agent that keeps the promise and
    attains it, and two wrong rules shown wrong by computing. *)
From Coq Require Import List Arith Lia ZArith Bool.
From Hartley Require Import Cells Accountant Grid Order Question Families Batch Hartley Columns.
Import ListNotations.

Definition zero : others := Others 0 [].
Definition count_of (codes : list (Z * Z)) : asked := Asked Count codes false 1 0 1 1 0 9 0 1.
Definition sum_of (codes : list (Z * Z)) (over : Z) : asked := Asked Sum codes false 1 0 over 1 0 99 0 1.
Definition median_of (codes : list (Z * Z)) : asked := Asked Order codes false 1 0 1 1 0 9 1 2.
Definition answers_to (b : list asked) (x : record) : list (option Z) :=
  batch_answers (map (fun a => (a, zero)) b) x.
Definition kinds (b : list asked) (dom : list record) : nat := cells answers_dec (answers_to b) dom.

(** A count costs two cells, a sum of 0..5 in steps of 2 costs four, and both are attained. *)
Example count_attained :
  let b := [count_of [(2, 3)]%Z] in (batch_price b (domain 4 false), kinds b (domain 4 false)) = (2, 2).
Proof. reflexivity. Qed.

Example sum_attained :
  let b := [sum_of [(0, 5)]%Z 2] in batch_price b (domain 6 false) = 4 /\
  cells answers_dec (batch_answers (map (fun a => (a, Others 1 [])) b)) (domain 6 false) = 4.
Proof. split; reflexivity. Qed.

Example median_attained :
  let b := [median_of [(0, 5)]%Z] in (batch_price b (domain 6 false), kinds b (domain 6 false)) = (6, 6).
Proof. reflexivity. Qed.

(** Missing and absent values are points of their own. *)
Example missing_attained :
  let b := [count_of [(0, 1)]%Z; count_of [(2, 3)]%Z] in
  (batch_price b (domain 4 true), kinds b (domain 4 true)) = (3, 3).
Proof. reflexivity. Qed.

Example absent_attained :
  let b := [count_of [(0, 1)]%Z; count_of [(2, 3)]%Z] in
  (batch_price_absent b (domain 4 false), kinds b (domain 4 false ++ [Absent])) = (3, 3).
Proof. reflexivity. Qed.

(** Wrong: "a sum tells its filter". The sum costs 2; with its filter free there are 3 transcripts. *)
Example a_sum_does_not_tell_its_filter :
  let s := sum_of [(1, 2)]%Z 2 in let c := count_of [(1, 2)]%Z in
  batch_price [s] (domain 3 false) = 2 /\ kinds [s; c] (domain 3 false) = 3.
Proof. split; reflexivity. Qed.

(** Wrong: charge price(told and asked) / price(told). Every path is then priced 3, but the second
    question is chosen by the first answer, and there are 4 transcripts. *)
Definition chosen (x : record) : list (option Z) :=
  match answers_to [count_of [(2, 3)]%Z] x with
  | [Some 1%Z] => answers_to [count_of [(2, 3)]%Z; count_of [(3, 3)]%Z] x
  | _ => answers_to [count_of [(2, 3)]%Z; count_of [(1, 3)]%Z] x
  end.
Example a_ratio_of_prices_is_no_price :
  batch_price [count_of [(2, 3)]%Z; count_of [(3, 3)]%Z] (domain 4 false) = 3 /\
  batch_price [count_of [(2, 3)]%Z; count_of [(1, 3)]%Z] (domain 4 false) = 3 /\
  cells answers_dec chosen (domain 4 false) = 4.
Proof. repeat split; reflexivity. Qed.

(** Rule S is attained for every pair of steps up to 12: some old cell meets that many new ones. *)
Definition new_cells (a b k : Z) : nat :=
  cells Z.eq_dec (fun v => Z.div v b) (range (k * a) (k * a + a - 1)).
Definition rule_S_number (a b : Z) : nat := Z.to_nat (1 + (a + b - Z.gcd a b - 1) / b).
Example rule_S_attained :
  forallb (fun a => forallb (fun b =>
    existsb (fun k => Nat.eqb (new_cells a b k) (rule_S_number a b)) (range 0 12))
    (range 1 12)) (range 1 12) = true.
Proof. vm_compute. reflexivity. Qed.

(** ** An agent: the hypotheses of the promise can be met, and its number is attained *)
Definition above (k : Z) : query := Query Count [[(0, ([(k, 3%Z)], false))]] [0%Z] 1 0 1 1 0 9 0 1.
Definition menu : list query := [above 1; above 2; above 3].
Definition four_rows : list row := all_rows [(4, false)].
Definition nobody (_ : query) : others := zero.
(** A search by halves: is the code at least 2, then 3 or 1, then the same again for nothing. *)
Definition halves (_ : unit) (h : history query (option Z)) : list query :=
  match h with
  | [] => [above 2]
  | e :: _ => match outcome e with Some [Some 1%Z] => [above 3] | _ => [above 1] end
  end.
Definition cautious (_ : unit) (h : history query (option Z)) (b : list query) : bool :=
  forallb (fun s => if in_dec query_dec s menu then true else false) b
  && (paid h * columns_due four_rows h b <=? 4).

Example the_agent_keeps_its_promise : forall n,
  cells (seen_dec unit_dec query_dec answer_dec)
    (seen (fun _ => tt) (reply_row nobody) halves (columns_due four_rows) cautious n) four_rows <= 4.
Proof.
  apply promise_columns.
  - lia.
  - intros o h b H. apply andb_true_iff in H. destruct H as [_ H]. now apply Nat.leb_le in H.
  - intros o h b s H Hs. apply andb_true_iff in H. destruct H as [H _].
    rewrite forallb_forall in H. specialize (H s Hs).
    destruct (in_dec query_dec s menu) as [I|]; [|discriminate]. clear -I.
    assert (W : well_formed_query s).
    { repeat destruct I as [<-|I]; try destruct I; unfold well_formed_query; simpl; lia. }
    split; [exact W|]. split; [now apply well_formed_sense|]. split; [constructor|].
    intros x Hx. repeat destruct I as [<-|I]; try destruct I;
      repeat destruct Hx as [<-|Hx]; try destruct Hx; cbn; lia.
Qed.

Example and_attains_it :
  cells (seen_dec unit_dec query_dec answer_dec)
    (seen (fun _ => tt) (reply_row nobody) halves (columns_due four_rows) cautious 3) four_rows = 4.
Proof. vm_compute. reflexivity. Qed.

(** A budget of three cells refuses the second question: the transcripts are two. *)
Definition poor (o : unit) (h : history query (option Z)) (b : list query) : bool :=
  cautious o h b && (paid h * columns_due four_rows h b <=? 3).
Example a_smaller_budget_refuses :
  cells (seen_dec unit_dec query_dec answer_dec)
    (seen (fun _ => tt) (reply_row nobody) halves (columns_due four_rows) poor 3) four_rows = 2.
Proof. vm_compute. reflexivity. Qed.
