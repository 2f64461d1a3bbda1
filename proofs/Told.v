(** A price given what was told (rules O and W), free repeats, any chosen subset of earlier questions:
    the largest price over all parts is charged, and at most K transcripts are seen. *)
From Coq Require Import List Arith Lia ZArith Bool.
From Hartley Require Import Cells Kraft Accountant Question Families Batch Hartley Columns Paths.
Import ListNotations.

Section Told.
Variable dom : list row.
Variable everybody : query -> others.
Notation chronicle := (history query (option Z)).
Variable ask : unit -> chronicle -> list query.
Variable admit : unit -> chronicle -> list query -> bool.
Variable given : chronicle -> list query -> list query.
Variable window : chronicle -> list query -> option query.
Variable K : nat.

(** c(b | told) = the largest over the parts that the given questions leave. *)
Definition told_price (h : chronicle) (b : list query) : nat := largest (charge dom given window h b) dom.

(** It is the function that is extracted and compared with the package. *)
Lemma told_price_given : forall h b,
  told_price h b = given_price dom (window h b) (given h b) (fresh query_dec h b).
Proof. reflexivity. Qed.

Hypothesis positive : 1 <= K.
Hypothesis given_answered : forall h b, incl (given h b) (answered h).
Hypothesis window_answered : forall h b t, window h b = Some t ->
  In t (answered h) /\ well_formed_query t.
Hypothesis checked : forall o h b a, admit o h b = true -> In a b -> fair_query dom (a, everybody a).
Hypothesis within : forall o h b, admit o h b = true -> paid h * told_price h b <= K.

Notation run := (run (fun _ : row => tt) (reply_row everybody) ask told_price admit).

Lemma spent_paid : forall n x y, In y dom -> spent_on dom given window (run n x) y <= paid (run n x).
Proof.
  induction n as [|n IH]; intros x y Hy; [apply Nat.le_refl|].
  rewrite spent_step. simpl run. unfold paid. rewrite product_app. fold (paid (run n x)).
  apply Nat.mul_le_mono; auto. simpl. rewrite Nat.mul_1_r. unfold cost, happens. simpl.
  unfold now. destruct (admit tt (run n x) (ask tt (run n x))); auto.
  apply (largest_le (charge dom given window (run n x) (ask tt (run n x)))). exact Hy.
Qed.

Theorem promise_told : forall n,
  cells (seen_dec unit_dec query_dec answer_dec)
        (seen (fun _ => tt) (reply_row everybody) ask told_price admit n) dom <= K.
Proof.
  intros n. apply promise_paths with (given := given) (window := window); auto.
  intros o h b x [k [z [Hz ->]]] Hx Ad. eapply Nat.le_trans; [|apply (within o _ _ Ad)].
  apply Nat.mul_le_mono; [now apply spent_paid|].
  apply (largest_le (charge dom given window (run k z) b)). exact Hx.
Qed.
End Told.
