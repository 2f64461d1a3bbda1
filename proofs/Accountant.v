(** The theorem of docs/accountant.md for any data, analysts and rules: at most K transcripts.

    THE MODEL, which a reader has to judge (everything below it is checked).

    - [X]: what one person's data can be; [xs] lists the domain. Everybody else's data are fixed.
    - [opened x]: what the open columns say of the person. [M] bounds how many values it has.
    - [answer q x]: the cell in which the answer to question [q] lies, as the ledger keeps it.
    - A batch is a list of questions. Analysts together are one function [ask]: the next batch
      depends on everything seen before, and on the open columns. Random choices are fixed in
      advance, so the bound holds for each of them.
    - An [event] is what is seen of a batch: the batch itself, its answers or a refusal, its price.
    - [price h b] and [admit o h b] are public: functions of what was seen, never of [x]. [admit]
      may refuse for any further public reason (an allowance, a limit of the service).
    - A batch is answered only if M times the prices of all answered batches times its own price is
      at most K. Balances are functions of the events (see [accountant_shown]).

    Several versions are the subject of Versions.v. A late answer is covered: [ask] need not look at it
    before it is shown, and what is shown meanwhile is a function of the events.

    Outside the model: M <= K is assumed, time. *)
From Coq Require Import List Arith Lia Bool.
From Hartley Require Import Cells Kraft.
Import ListNotations.

Record event {Q A : Type} := Event { batch : list Q; outcome : option (list A); shown : nat }.
Arguments event : clear implicits.
Arguments Event {Q A}.
Definition history (Q A : Type) := list (event Q A).

Section Transcripts.
Context {X O Q A : Type}.
Variables (opened : X -> O) (answer : Q -> X -> A).
Variable ask : O -> history Q A -> list Q.
Variable price : history Q A -> list Q -> nat.
Variable admit : O -> history Q A -> list Q -> bool.

(** What happens at history [h] to person [x]. *)
Definition happens (x : X) (h : history Q A) : event Q A :=
  let b := ask (opened x) h in
  Event b
    (if admit (opened x) h b then Some (map (fun q => answer q x) b) else None)
    (price h b).

Fixpoint run (n : nat) (x : X) : history Q A :=
  match n with
  | 0 => []
  | S m => run m x ++ [happens x (run m x)]
  end.

(** All that analysts see in [n] batches. *)
Definition seen (n : nat) (x : X) : O * history Q A := (opened x, run n x).

(** The product of the prices of all answered batches. *)
Definition cost (e : event Q A) : nat := match outcome e with Some _ => shown e | None => 1 end.
Definition paid (h : history Q A) : nat := product cost h.

(** The questions that were answered; with the same history they had the same answers. *)
Definition answered (h : history Q A) : list Q :=
  flat_map (fun e => match outcome e with Some _ => batch e | None => [] end) h.

Lemma answered_known : forall n x y q,
  opened x = opened y -> run n x = run n y -> In q (answered (run n x)) -> answer q x = answer q y.
Proof.
  induction n as [|n IH]; intros x y q Eo E Hq; [destruct Hq|].
  simpl in E. apply app_inj_tail in E. destruct E as [E F].
  simpl in Hq. unfold answered in Hq. rewrite flat_map_app in Hq. apply in_app_iff in Hq.
  destruct Hq as [Hq|Hq]; [now apply (IH x y q)|].
  simpl in Hq. rewrite app_nil_r in Hq. unfold happens in F. rewrite <- Eo, <- E in F.
  injection F as F. unfold happens in Hq. simpl in Hq.
  destruct (admit _ _ _); [|destruct Hq].
  injection F as F. clear -F Hq.
  induction (ask (opened x) (run n x)) as [|r b IHb]; simpl in *; [destruct Hq|].
  injection F as F1 F2. destruct Hq as [<-|Hq]; auto.
Qed.
End Transcripts.

(** ** The lemma of telling *)
Section Telling.
Context {X O G S : Type} (dopen : decidable_equality O) (dg : decidable_equality G)
  (ds : decidable_equality S).
Variables (xs : list X) (opened : X -> O) (told : nat -> X -> G) (sight : nat -> X -> S).
Variables (charged : nat -> X -> nat) (M K : nat).

(** What is told before step [n], the open columns first. *)
Definition past (n : nat) (x : X) : O * list G := (opened x, map (fun i => told i x) (seq 0 n)).
Definition past_dec : decidable_equality (O * list G) := pair_dec dopen (list_eq_dec dg).
Definition agreeing (n : nat) (x : X) : list X := part past_dec (past n) (past n x) xs.

(** What is told decides what is seen. It may be finer, and its charge may depend on the part. *)
Hypothesis decides : forall n x y,
  In x xs -> In y xs -> past n x = past n y -> sight n x = sight n y.
Hypothesis charge_told : forall n x y,
  In x xs -> In y xs -> past n x = past n y -> charged n x = charged n y.
Hypothesis charge_pays : forall n x,
  In x xs -> cells dg (told n) (agreeing n x) <= charged n x.
Hypothesis open_pays : cells dopen opened xs <= M.

Definition label (n : nat) (x : X) : O + G :=
  match n with 0 => inl (opened x) | Datatypes.S m => inr (told m x) end.
Definition label_dec : decidable_equality (O + G).
Proof. unfold decidable_equality in *. decide equality. Defined.
Definition label_charge (n : nat) (x : X) : nat :=
  match n with 0 => M | Datatypes.S m => charged m x end.

Lemma labels_past : forall n x y,
  labs label (Datatypes.S n) x = labs label (Datatypes.S n) y <-> past n x = past n y.
Proof.
  intros n x y. unfold labs, past. simpl.
  rewrite <- seq_shift, !map_map. simpl. split.
  - intros E. injection E as E F. f_equal; auto.
    revert F. generalize (seq 0 n). induction l as [|i l IH]; simpl; auto.
    intros F. injection F as F1 F2. f_equal; auto.
  - intros E. injection E as E F. f_equal; [now f_equal|].
    revert F. generalize (seq 0 n). induction l as [|i l IH]; simpl; auto.
    intros F. injection F as F1 F2. f_equal; [now f_equal|auto].
Qed.

Lemma cells_inr : forall n l,
  cells label_dec (label (Datatypes.S n)) l <= cells dg (told n) l.
Proof. intros. apply cells_decided. intros x y _ _ E. simpl. now f_equal. Qed.

Theorem telling : forall n,
  (forall x, In x xs -> M * product (fun i => charged i x) (seq 0 n) <= K) ->
  cells ds (sight n) xs <= K.
Proof.
  intros n Bound.
  apply Nat.le_trans with (cells (dls label_dec) (labs label (Datatypes.S n)) xs).
  - apply cells_decided. intros x y Hx Hy E. apply decides; auto. now apply labels_past.
  - apply kraft with (charge := label_charge).
    + intros [|k] x y Hx Hy E; simpl; auto. apply charge_told; auto. now apply labels_past.
    + intros [|k] x Hx; simpl label_charge.
      * apply Nat.le_trans with (cells dopen opened xs); auto.
        apply Nat.le_trans with (cells label_dec (label 0) xs).
        { apply cells_incl. intros y Hy. apply in_part in Hy. tauto. }
        apply cells_decided. intros y z _ _ E. simpl. now f_equal.
      * apply Nat.le_trans with (cells dg (told k) (agreeing k x)); auto.
        eapply Nat.le_trans; [apply cells_inr|]. apply cells_incl.
        intros y Hy. apply in_part in Hy. destruct Hy as [Hy E]. apply in_part.
        split; auto. now apply labels_past.
    + intros x Hx. unfold spent. simpl. rewrite <- seq_shift.
      specialize (Bound x Hx). revert Bound.
      assert (forall l, product (fun i => label_charge i x) (map Datatypes.S l)
                      = product (fun i => charged i x) l) as ->; auto.
      induction l; simpl; auto.
Qed.
End Telling.

(** ** Prices that are functions of the transcript *)
Section Nodes.
Context {X O Q A : Type} (dopen : decidable_equality O) (dq : decidable_equality Q)
  (da : decidable_equality A).
Variables (xs : list X) (opened : X -> O) (answer : Q -> X -> A).
Variable ask : O -> history Q A -> list Q.
Variable price : history Q A -> list Q -> nat.
Variable admit : O -> history Q A -> list Q -> bool.
Variables (M K : nat).

Notation run := (run opened answer ask price admit).
Notation seen := (seen opened answer ask price admit).
Notation happens := (happens opened answer ask price admit).
Definition answers (b : list Q) (x : X) : list A := map (fun q => answer q x) b.

Definition event_dec : decidable_equality (event Q A).
Proof.
  unfold decidable_equality in *. decide equality; [apply Nat.eq_dec| |now apply list_eq_dec].
  destruct outcome0 as [l|], outcome1 as [m|]; try (now right); [|now left].
  destruct (list_eq_dec da l m) as [->|N]; [now left | right; congruence].
Defined.
Definition seen_dec : decidable_equality (O * history Q A) := pair_dec dopen (list_eq_dec event_dec).
(** Those of whom the same was seen so far. *)
Definition node (n : nat) (x : X) : list X := part seen_dec (seen n) (seen n x) xs.

Hypothesis open_pays : cells dopen opened xs <= M.
Hypothesis open_fits : M <= K.
Hypothesis admitted : forall o h b, admit o h b = true -> M * (paid h * price h b) <= K.
Hypothesis price_pays : forall n x, In x xs ->
  let b := ask (opened x) (run n x) in
  admit (opened x) (run n x) b = true ->
  cells (list_eq_dec da) (answers b) (node n x) <= price (run n x) b.

Definition told_event (n : nat) (x : X) : event Q A := happens x (run n x).
Definition event_charge (n : nat) (x : X) : nat := cost (told_event n x).

Lemma run_events : forall n x, run n x = map (fun i => told_event i x) (seq 0 n).
Proof.
  induction n as [|n IH]; intros x; [reflexivity|].
  rewrite seq_S, map_app, <- IH. reflexivity.
Qed.

Lemma seen_past : forall n x y,
  past opened told_event n x = past opened told_event n y <-> seen n x = seen n y.
Proof. intros. unfold past, Accountant.seen. rewrite !run_events. reflexivity. Qed.

Lemma paid_run : forall n x, paid (run n x) = product (fun i => event_charge i x) (seq 0 n).
Proof.
  intros. rewrite run_events. unfold paid, event_charge, product.
  generalize (seq 0 n). induction l; simpl; auto.
Qed.

Lemma paid_fits : forall n x, M * paid (run n x) <= K.
Proof.
  induction n as [|n IH]; intros x; [unfold paid; simpl; lia|].
  simpl. unfold paid. rewrite product_app. fold (paid (run n x)).
  simpl. rewrite Nat.mul_1_r. unfold cost, Accountant.happens. simpl.
  destruct (admit _ _ _) eqn:E.
  - now apply admitted in E.
  - rewrite Nat.mul_1_r. apply IH.
Qed.

Theorem accountant_nodes : forall n, cells seen_dec (seen n) xs <= K.
Proof.
  intros n. apply telling with (dopen := dopen) (dg := event_dec) (opened := opened)
    (told := told_event) (charged := event_charge) (M := M); auto.
  - intros k x y _ _ E. now apply seen_past.
  - intros k x y _ _ E. apply seen_past in E. unfold Accountant.seen in E. injection E as E F.
    unfold event_charge, told_event, Accountant.happens, cost. simpl. rewrite E, F.
    destruct (admit (opened y) (run k y)); reflexivity.
  - intros k x Hx. unfold event_charge, cost, told_event at 2, Accountant.happens. simpl.
    set (b := ask (opened x) (run k x)).
    destruct (admit (opened x) (run k x) b) eqn:E.
    + eapply Nat.le_trans; [|now apply price_pays]. fold b.
      apply Nat.le_trans with (cells (list_eq_dec da) (answers b)
        (agreeing dopen event_dec xs opened told_event k x)).
      * apply cells_decided. intros y z Hy Hz F.
        apply in_part in Hy, Hz. destruct Hy as [_ Ey], Hz as [_ Ez].
        apply seen_past in Ey, Ez. injection Ey as Ey1 Ey2. injection Ez as Ez1 Ez2.
        unfold told_event, Accountant.happens. rewrite Ey1, Ez1, Ey2, Ez2. fold b. rewrite E.
        unfold answers in F. now rewrite F.
      * apply cells_incl. intros y Hy. apply in_part in Hy. destruct Hy as [Hy Ey].
        apply in_part. split; auto. now apply seen_past.
    + apply cells_constant. intros y z Hy Hz.
      apply in_part in Hy, Hz. destruct Hy as [_ Ey], Hz as [_ Ez].
      apply seen_past in Ey, Ez. injection Ey as Ey1 Ey2. injection Ez as Ez1 Ez2.
      unfold told_event, Accountant.happens. rewrite Ey1, Ez1, Ey2, Ez2. fold b. now rewrite E.
  - intros x Hx. rewrite <- paid_run. apply paid_fits.
Qed.
End Nodes.

(** ** The theorem of the page: a price by the questions alone, repeats free *)
Section Repeats.
Context {X O Q A : Type} (dopen : decidable_equality O) (dq : decidable_equality Q)
  (da : decidable_equality A).
Variables (xs : list X) (opened : X -> O) (answer : Q -> X -> A).
Variable ask : O -> history Q A -> list Q.
Variable batch_price : list Q -> nat.
Variable admit : O -> history Q A -> list Q -> bool.
(** Questions that the agent accepts at all. *)
Variable legal : Q -> Prop.
Variables (M K : nat).

(** The questions of a batch that were not answered before, each once. *)
Definition fresh (h : history Q A) (b : list Q) : list Q :=
  nodup dq (filter (fun q => if in_dec dq q (answered h) then false else true) b).
Definition fresh_price (h : history Q A) (b : list Q) : nat := batch_price (fresh h b).

Notation run := (run opened answer ask fresh_price admit).
Notation seen := (seen opened answer ask fresh_price admit).

Hypothesis open_pays : cells dopen opened xs <= M.
Hypothesis open_fits : M <= K.
Hypothesis admitted : forall o h b, admit o h b = true -> M * (paid h * fresh_price h b) <= K.
Hypothesis admitted_legal : forall o h b q, admit o h b = true -> In q b -> legal q.
(** Prices are sound: of the people whom the open columns do not tell apart, a batch tells apart at
    most as many kinds as it costs. *)
Hypothesis price_sound : forall b o, (forall q, In q b -> legal q) ->
  cells (list_eq_dec da) (answers answer b) (part dopen opened o xs) <= batch_price b.

Theorem accountant : forall n, cells (seen_dec dopen dq da) (seen n) xs <= K.
Proof.
  intros n. apply accountant_nodes with (M := M); auto.
  clear n. intros n x Hx b Ad.
  apply Nat.le_trans with (cells (list_eq_dec da) (answers answer (fresh (run n x) b))
                                 (part dopen opened (opened x) xs)).
  2: { apply price_sound. intros q Hq. apply (admitted_legal _ _ _ q Ad).
       unfold fresh in Hq. apply nodup_In, filter_In in Hq. tauto. }
  apply Nat.le_trans with (cells (list_eq_dec da) (answers answer (fresh (run n x) b))
    (node dopen dq da xs opened answer ask fresh_price admit n x)).
  2: { apply cells_incl. intros y Hy. apply in_part in Hy. destruct Hy as [Hy E].
       injection E as E _. apply in_part. auto. }
  apply cells_decided. intros y z Hy Hz E.
  apply in_part in Hy, Hz. destruct Hy as [_ Ey], Hz as [_ Ez].
  injection Ey as Ey1 Ey2. injection Ez as Ez1 Ez2.
  unfold answers in *. apply map_ext_in. intros q Hq.
  destruct (in_dec dq q (answered (run n x))) as [I|N].
  - transitivity (answer q x); [|symmetry];
      apply (answered_known opened answer ask fresh_price admit n); congruence.
  - assert (In q (fresh (run n x) b)) as I.
    { unfold fresh. apply nodup_In, filter_In. split; auto. destruct (in_dec _ _ _); tauto. }
    clear -E I. induction (fresh (run n x) b) as [|r l IH]; [destruct I|].
    simpl in E. injection E as E F. destruct I as [<-|I]; auto.
Qed.

(** Whatever is shown of it (balances, what remains, intervals) has no more values. *)
Corollary accountant_shown : forall {B} (db : decidable_equality B) (display : O * history Q A -> B) n,
  cells db (fun x => display (seen n x)) xs <= K.
Proof.
  intros. eapply Nat.le_trans; [|apply (accountant n)].
  apply cells_decided. intros x y _ _ E. now rewrite E.
Qed.
End Repeats.
