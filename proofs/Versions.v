(** Several versions of the data and several datasets: each priced by its own schema, open columns paid
    when they appear, all charges multiplied: at most K transcripts of all of them together.

    THE MODEL, beside that of Accountant.v.

    - [V]: the versions of all datasets of a population. [view v x] is what a person [x] holds in version
      [v], a member of [domain v]. The parts may depend on each other in any way.
    - An act opens a version, so that [opened v] of its open columns is seen, or asks a question about one.
      A version is opened before anything is asked about it, at the price [open_price v].
    - A batch is about one version; its price is sound for that version alone. A question that was answered
      before is free.
    - An act is admitted only if the product of all charges, this one included, is at most K. *)
From Coq Require Import List Arith Lia Bool.
From Hartley Require Import Cells Kraft Accountant.
Import ListNotations.

Section Versions.
Context {X V D O Q A : Type} (dv : decidable_equality V) (dopen : decidable_equality O)
  (dq : decidable_equality Q) (da : decidable_equality A).
Variables (people : list X) (view : V -> X -> D) (domain : V -> list D).
Variables (opened : V -> D -> O) (answer : Q -> D -> A) (about : Q -> V).

Inductive act := Open (v : V) | Ask (q : Q).
Definition act_dec : decidable_equality act.
Proof. unfold decidable_equality in *. decide equality. Defined.
Definition reply_dec : decidable_equality (O + A).
Proof. unfold decidable_equality in *. decide equality. Defined.
Definition reply (a : act) (x : X) : O + A :=
  match a with
  | Open v => inl (opened v (view v x))
  | Ask q => inr (answer q (view (about q) x))
  end.

Notation chronicle := (history act (O + A)).
Variable ask : unit -> chronicle -> list act.
Variable admit : unit -> chronicle -> list act -> bool.
Variable open_price : V -> nat.
Variable batch_price : list Q -> nat.
(** Questions that the agent accepts at all. *)
Variable legal : Q -> Prop.
Variable K : nat.

Definition asked (b : list act) : list Q :=
  flat_map (fun a => match a with Ask q => [q] | Open _ => [] end) b.
Definition charge (h : chronicle) (b : list act) : nat :=
  match fresh act_dec h b with
  | [] => 1
  | Open v :: _ => open_price v
  | new => batch_price (asked new)
  end.

Notation run := (run (fun _ : X => tt) reply ask charge admit).
Notation seen := (seen (fun _ : X => tt) reply ask charge admit).
Definition unit_dec : decidable_equality unit.
Proof. unfold decidable_equality. decide equality. Defined.
Notation node := (node unit_dec act_dec reply_dec people (fun _ : X => tt) reply ask charge admit).

Hypothesis positive : 1 <= K.
Hypothesis within_budget : forall h b, admit tt h b = true -> paid h * charge h b <= K.
Hypothesis one_version : forall h b, admit tt h b = true ->
  (exists v, b = [Open v]) \/
  (exists v, In (Open v) (answered h) /\
    forall a, In a b -> exists q, a = Ask q /\ about q = v /\ legal q).
Hypothesis views : forall v x, In x people -> In (view v x) (domain v).
Hypothesis open_sound : forall v, cells dopen (opened v) (domain v) <= open_price v.
Hypothesis price_sound : forall v b o, (forall q, In q b -> about q = v /\ legal q) ->
  cells (list_eq_dec da) (answers answer b) (part dopen (opened v) o (domain v)) <= batch_price b.

(** Those of one node answered alike whatever was answered before. *)
Lemma node_known : forall n x y a, In y (node n x) -> In a (answered (run n x)) -> reply a y = reply a x.
Proof.
  intros n x y a Hy Ha. apply in_part in Hy. destruct Hy as [_ E]. injection E as E.
  symmetry. apply (answered_known (fun _ : X => tt) reply ask charge admit n); auto.
Qed.

Lemma fresh_decides : forall n x y z b, In y (node n x) -> In z (node n x) ->
  (forall a, In a (fresh act_dec (run n x) b) -> reply a y = reply a z) ->
  answers reply b y = answers reply b z.
Proof.
  intros n x y z b Hy Hz Same. apply map_ext_in. intros a Ha.
  destruct (in_dec act_dec a (answered (run n x))) as [I|N].
  - transitivity (reply a x); [|symmetry]; now apply (node_known n).
  - apply Same. unfold fresh. apply nodup_In, filter_In. split; auto.
    destruct (in_dec act_dec a (answered (run n x))); tauto.
Qed.

Lemma charge_pays : forall n x, In x people ->
  let b := ask tt (run n x) in
  admit tt (run n x) b = true ->
  cells (list_eq_dec reply_dec) (answers reply b) (node n x) <= charge (run n x) b.
Proof.
  intros n x Hx b Ad.
  assert (Within : forall v y, In y (node n x) -> In (view v y) (domain v)).
  { intros v y Hy. apply in_part in Hy. now apply views. }
  assert (charge (run n x) b = match fresh act_dec (run n x) b with
    | [] => 1 | Open v :: _ => open_price v | new => batch_price (asked new) end) as -> by reflexivity.
  destruct (fresh act_dec (run n x) b) as [|first new] eqn:F.
  { apply cells_constant. intros y z Hy Hz. apply (fresh_decides n x); auto.
    rewrite F. intros a []. }
  assert (In first b) as Hf.
  { assert (In first (fresh act_dec (run n x) b)) as I by (rewrite F; now left).
    unfold fresh in I. apply nodup_In, filter_In in I. tauto. }
  destruct (one_version _ _ Ad) as [[v E]|[v [Opened Asks]]].
  - assert (first = Open v) as -> by (rewrite E in Hf; destruct Hf as [<-|[]]; auto).
    apply Nat.le_trans with (cells dopen (fun y => opened v (view v y)) (node n x)).
    + apply cells_decided. intros y z _ _ H. rewrite E. simpl. now rewrite H.
    + eapply Nat.le_trans; [|apply (open_sound v)].
      rewrite <- cells_map. apply cells_incl. intros d Hd. apply in_map_iff in Hd.
      destruct Hd as [y [<- Hy]]. now apply Within.
  - assert (Each : forall a, In a (first :: new) -> exists q, a = Ask q /\ about q = v /\ legal q).
    { intros a Ha. apply Asks. rewrite <- F in Ha. unfold fresh in Ha.
      apply nodup_In, filter_In in Ha. tauto. }
    destruct (Each first (or_introl eq_refl)) as [q [-> _]].
    set (questions := asked (Ask q :: new)).
    assert (Legal : forall r, In r questions -> about r = v /\ legal r).
    { intros r Hr. unfold questions, asked in Hr. apply in_flat_map in Hr.
      destruct Hr as [a [Ha Hr]]. destruct (Each a Ha) as [s [-> S]].
      destruct Hr as [<-|[]]. exact S. }
    apply Nat.le_trans with
      (cells (list_eq_dec da) (fun y => answers answer questions (view v y)) (node n x)).
    + apply cells_decided. intros y z Hy Hz H. apply (fresh_decides n x); auto.
      rewrite F. intros a Ha. destruct (Each a Ha) as [r [-> [Hv _]]]. simpl. f_equal. rewrite Hv.
      assert (In r questions) as Hr.
      { unfold questions, asked. apply in_flat_map. exists (Ask r). split; auto. now left. }
      clear -H Hr. induction questions as [|s l IH]; [destruct Hr|].
      simpl in H. injection H as H1 H2. destruct Hr as [<-|Hr]; auto.
    + eapply Nat.le_trans; [|apply (price_sound v _ (opened v (view v x)) Legal)].
      rewrite <- cells_map. apply cells_incl. intros d Hd. apply in_map_iff in Hd.
      destruct Hd as [y [<- Hy]]. apply in_part. split; [now apply Within|].
      pose proof (node_known n x y (Open v) Hy Opened) as E. simpl in E. now injection E.
Qed.

Theorem accountant_versions : forall n,
  cells (seen_dec unit_dec act_dec reply_dec) (seen n) people <= K.
Proof.
  intros n. apply accountant_nodes with (M := 1); auto.
  - apply cells_constant. reflexivity.
  - intros [] h b Ad. rewrite Nat.mul_1_l. now apply within_budget.
  - intros k x Hx b Ad. now apply charge_pays.
Qed.
End Versions.
