(** Rule version 2 for private columns, one row per person: a price given what was told (rules O and W), what is spent kept
    for every part: admitted by the largest path, at most K transcripts.

    Beside the model of Accountant.v: [given h b] is any public choice of questions that were answered
    before. A part is the set of records on which their told filters (exact counts, order statistics)
    have the same truth. [charge h b x] is the price of the new questions of [b] on the part of [x]. *)
From Coq Require Import List Arith Lia ZArith Bool.
From Hartley Require Import Cells Kraft Accountant Grid Question Families Batch Hartley Columns.
Import ListNotations.

Section Paths.
Variable dom : list row.
Variable everybody : query -> others.
Notation chronicle := (history query (option Z)).
Variable ask : unit -> chronicle -> list query.
(** What analysts are shown as due is free to choose, as long as it is public. *)
Variable display : chronicle -> list query -> nat.
Variable admit : unit -> chronicle -> list query -> bool.
Variable given : chronicle -> list query -> list query.
(** Any public choice of a sum that was answered before; it leaves a window on the parts all of whose
    records it counts (rule W). *)
Variable window : chronicle -> list query -> option query.

Notation opened := (fun _ : row => tt).
Notation reply := (reply_row everybody).
Notation run := (run opened reply ask display admit).
Notation seen := (seen opened reply ask display admit).
Notation happens := (happens opened reply ask display admit).

Definition truths (b : list query) (x : row) : list bool := key (map sense b) x.
Definition part_of (b : list query) (x : row) : list row :=
  part bits_dec (truths b) (truths b x) dom.
(** How far the direction of a told sum can vary, and the records within that of [y]. *)
Definition reach (t : query) : Z := ((ceil (s_over t) (s_under t) - 1) / Z.abs (s_scale t))%Z.
Definition near (t : query) (y : row) (l : list row) : list row :=
  filter (fun z => (dir (sense t) y <=? dir (sense t) z)%Z
                   && (dir (sense t) z <=? dir (sense t) y + reach t)%Z) l.
Definition is_plain_sum (t : query) : bool := match s_stat t with Sum => true | _ => false end.
Definition windowed (w : option query) (f : list query) (l : list row) : nat :=
  match w with
  | Some t =>
      if is_plain_sum t && forallb (query_counts t) l
      then min (columns_price f l) (largest (fun y => columns_price f (near t y l)) l)
      else columns_price f l
  | None => columns_price f l
  end.
Definition charge (h : chronicle) (b : list query) (x : row) : nat :=
  windowed (window h b) (fresh query_dec h b) (part_of (given h b) x).

(** The product of the charges of all answered batches, for a row [x]. *)
Definition charge_at (h : chronicle) (x : row) (i : nat) : nat :=
  match nth_error h i with
  | Some e => match outcome e with Some _ => charge (firstn i h) (batch e) x | None => 1 end
  | None => 1
  end.
Definition spent_on (h : chronicle) (x : row) : nat := product (charge_at h x) (seq 0 (length h)).
Definition real (h : chronicle) : Prop := exists n x, In x dom /\ h = run n x.

(** The batch that is query after [n] others. *)
Definition now (n : nat) (x : row) : list query := ask tt (run n x).

Lemma run_length : forall n x, length (run n x) = n.
Proof. induction n; intros x; simpl; auto. rewrite app_length, IHn. simpl. lia. Qed.

Lemma firstn_app_le : forall {A} i (l m : list A), i <= length l -> firstn i (l ++ m) = firstn i l.
Proof.
  intros A i l m H. rewrite firstn_app. replace (i - length l) with 0 by lia.
  simpl. apply app_nil_r.
Qed.

Lemma product_ext : forall {A} (f g : A -> nat) l, (forall a, In a l -> f a = g a) ->
  product f l = product g l.
Proof.
  intros A f g l. unfold product. induction l as [|a l IH]; simpl; intros H; [reflexivity|].
  f_equal; auto.
Qed.

(** What is spent on [y] along the history of [x], one step further. *)
Lemma spent_step : forall n x y, spent_on (run (S n) x) y = spent_on (run n x) y *
  (if admit tt (run n x) (now n x) then charge (run n x) (now n x) y else 1).
Proof.
  intros n x y. unfold spent_on. rewrite !run_length, seq_S. rewrite product_app. f_equal.
  - apply product_ext. intros i Hi. apply in_seq in Hi. unfold charge_at. simpl run.
    rewrite nth_error_app1 by (rewrite run_length; lia).
    now rewrite firstn_app_le by (rewrite run_length; lia).
  - simpl. rewrite Nat.mul_1_r. unfold charge_at. simpl run.
    rewrite nth_error_app2 by (rewrite run_length; lia). rewrite run_length, Nat.sub_diag. simpl.
    rewrite firstn_app_le by (rewrite run_length; lia).
    rewrite firstn_all2 by (rewrite run_length; lia).
    fold (now n x). now destruct (admit tt (run n x) (now n x)).
Qed.

Variable K : nat.
Hypothesis positive : 1 <= K.
Hypothesis given_answered : forall h b, incl (given h b) (answered h).
Hypothesis window_answered : forall h b t, window h b = Some t ->
  In t (answered h) /\ well_formed_query t.
Hypothesis checked : forall o h b a, admit o h b = true -> In a b -> fair_query dom (a, everybody a).
(** Answered only if every path, this batch included, stays within K. *)
Hypothesis within : forall o h b x, real h -> In x dom -> admit o h b = true ->
  spent_on h x * charge h b x <= K.

Lemma truths_In : forall b x y a, truths b x = truths b y -> In a b ->
  truth (sense a) x = truth (sense a) y.
Proof.
  intros b x y a E H. unfold truths, key in E. rewrite !map_map in E.
  exact (map_eq_In _ _ b a E H).
Qed.

(** What a step tells: the event, and who counts for the answered questions. *)
Definition tale (n : nat) (x : row) : event query (option Z) * list bool :=
  (happens x (run n x), if admit tt (run n x) (now n x) then truths (now n x) x else []).
Definition tale_dec : decidable_equality (event query (option Z) * list bool) :=
  pair_dec (event_dec query_dec answer_dec) bits_dec.
Definition tale_charge (n : nat) (x : row) : nat :=
  if admit tt (run n x) (now n x) then charge (run n x) (now n x) x else 1.

Lemma past_run : forall n x y, past opened tale n x = past opened tale n y -> run n x = run n y.
Proof.
  induction n as [|n IH]; intros x y E; auto. unfold past in E.
  rewrite seq_S, !map_app in E. injection E as E. simpl in E. apply app_inj_tail in E.
  destruct E as [E1 E2]. simpl.
  assert (run n x = run n y) as R by (apply IH; unfold past; now f_equal).
  assert (happens x (run n x) = happens y (run n y)) as H by exact (f_equal fst E2).
  rewrite H. now rewrite R.
Qed.

(** Every question that was answered has the same answer and the same truth. *)
Lemma past_known : forall n x y a, past opened tale n x = past opened tale n y ->
  In a (answered (run n x)) -> reply a x = reply a y /\ truth (sense a) x = truth (sense a) y.
Proof.
  induction n as [|n IH]; intros x y a E Ha; [destruct Ha|].
  assert (R : run n x = run n y /\ past opened tale n x = past opened tale n y /\ tale n x = tale n y).
  { unfold past in E. rewrite seq_S, !map_app in E. injection E as E. simpl in E.
    apply app_inj_tail in E. destruct E as [E1 E2].
    assert (past opened tale n x = past opened tale n y) as P by (unfold past; now f_equal).
    split; [now apply past_run|]. auto. }
  destruct R as [R [P T]]. simpl in Ha. unfold answered in Ha. rewrite flat_map_app in Ha.
  apply in_app_iff in Ha. destruct Ha as [Ha|Ha]; [now apply (IH x y a)|].
  simpl in Ha. rewrite app_nil_r in Ha.
  unfold tale, Accountant.happens, now in T. rewrite <- R in T. unfold Accountant.happens in Ha.
  simpl in Ha. destruct (admit tt (run n x) (ask tt (run n x))); [|destruct Ha].
  injection T as T1 T2. split.
  - exact (map_eq_In _ _ _ a T1 Ha).
  - now apply truths_In with (ask tt (run n x)).
Qed.

Lemma charge_same : forall n x y, past opened tale n x = past opened tale n y ->
  tale_charge n x = tale_charge n y.
Proof.
  intros n x y E. pose proof (past_run n x y E) as R. unfold tale_charge, now. rewrite <- R.
  destruct (admit tt (run n x) (ask tt (run n x))); auto. unfold charge, part_of.
  assert (truths (given (run n x) (ask tt (run n x))) x
        = truths (given (run n x) (ask tt (run n x))) y) as ->; auto.
  unfold truths, key. rewrite !map_map. apply map_ext_in. intros a Ha.
  apply (past_known n x y a E). now apply given_answered with (ask tt (run n x)).
Qed.

Lemma charge_enough : forall n x, In x dom ->
  cells tale_dec (tale n) (agreeing unit_dec tale_dec dom opened tale n x) <= tale_charge n x.
Proof.
  intros n x Hx.
  set (here := agreeing unit_dec tale_dec dom opened tale n x).
  assert (Here : forall y, In y here -> In y dom /\ past opened tale n y = past opened tale n x).
  { intros y Hy. now apply in_part in Hy. }
  unfold tale_charge. destruct (admit tt (run n x) (now n x)) eqn:Ad.
  2: { apply cells_constant. intros y z Hy Hz. apply Here in Hy, Hz.
       destruct Hy as [_ Py], Hz as [_ Pz]. apply past_run in Py, Pz.
       unfold tale, Accountant.happens, now in *. rewrite Py, Pz. now rewrite Ad. }
  unfold charge. set (b := now n x) in *. set (fr := fresh query_dec (run n x) b).
  set (aos := map (fun a => (a, everybody a)) fr).
  assert (map fst aos = fr) as Ef by (unfold aos; rewrite map_map; apply map_id).
  assert (priced : forall l, incl l dom ->
    cells outputs_dec (queries_outputs aos) l <= columns_price fr l).
  { intros l Il. rewrite <- Ef. apply columns_told. intros ao Ha. unfold aos in Ha.
    apply in_map_iff in Ha. destruct Ha as [a [<- Ha]].
    unfold fr, fresh in Ha. apply nodup_In, filter_In in Ha. destruct Ha as [Ha _].
    destruct (checked _ _ _ a Ad Ha) as [Wa Fr]. split; auto. now apply fair_incl with dom. }
  assert (Sub : forall y, In y here -> In y (part_of (given (run n x) b) x)).
  { intros y Hy. apply Here in Hy. destruct Hy as [Hy Py].
    apply in_part. split; auto. unfold truths, key. rewrite !map_map. apply map_ext_in.
    intros a Ha. apply (past_known n y x a Py). rewrite (past_run _ _ _ Py).
    now apply given_answered with b. }
  assert (Answers : cells tale_dec (tale n) here <= cells outputs_dec (queries_outputs aos) here).
  { apply cells_decided. intros y z Hy Hz E. apply Here in Hy, Hz.
    destruct Hy as [_ Py], Hz as [_ Pz].
    assert (P : past opened tale n y = past opened tale n z) by congruence.
    pose proof (past_run _ _ _ Py) as Ry. pose proof (past_run _ _ _ Pz) as Rz.
    assert (Both : forall a, In a b -> reply a y = reply a z /\ truth (sense a) y = truth (sense a) z).
    { intros a Ha. destruct (in_dec query_dec a (answered (run n x))) as [I|N].
      - apply (past_known n y z a P). now rewrite Ry.
      - assert (In a fr) as Hf.
        { unfold fr, fresh. apply nodup_In, filter_In. split; auto.
          destruct (in_dec query_dec a (answered (run n x))); tauto. }
        unfold queries_outputs, outputs, aos in E. rewrite !map_map in E.
        pose proof (map_eq_In _ _ fr a E Hf) as O. unfold output in O. simpl in O.
        injection O as O1 O2. auto. }
    unfold tale, Accountant.happens, now. rewrite Ry, Rz. fold (now n x). fold b. rewrite Ad.
    assert (map (fun a => reply a y) b = map (fun a => reply a z) b) as ->
      by (apply map_ext_in; intros a Ha; now apply Both).
    assert (truths b y = truths b z) as ->; auto.
    unfold truths, key. rewrite !map_map. apply map_ext_in. intros a Ha. now apply Both. }
  assert (Plain : cells tale_dec (tale n) here <= columns_price fr (part_of (given (run n x) b) x)).
  { eapply Nat.le_trans; [exact Answers|].
    apply Nat.le_trans with (cells outputs_dec (queries_outputs aos) (part_of (given (run n x) b) x)).
    + now apply cells_incl.
    + apply priced. intros y Hy. apply in_part in Hy. tauto. }
  unfold windowed. destruct (window (run n x) b) as [t|] eqn:W; auto.
  destruct (is_plain_sum t && forallb (query_counts t) (part_of (given (run n x) b) x)) eqn:Pl; auto.
  apply Nat.min_glb; auto. apply andb_true_iff in Pl. destruct Pl as [Sm Fa].
  rewrite forallb_forall in Fa. destruct (window_answered _ _ _ W) as [Wa Wf].
  assert (Hxx : In x here) by (apply in_part; auto).
  assert (exists y0, In y0 here /\ forall y, In y here -> (dir (sense t) y0 <= dir (sense t) y)%Z)
    as [y0 [H0 Least]].
  { destruct here as [|h0 ht]; [destruct Hxx|]. apply least_point. }
  assert (Wide : forall y z, In y here -> In z here ->
    (dir (sense t) y - dir (sense t) z <= reach t)%Z).
  { destruct Wf as (Ov & Un & Sc & _).
    apply (rule_W (dir (sense t)) (s_scale t) (s_shift t) (rest (everybody t) - s_least t)
             (s_over t) (s_under t) here Ov Un Sc).
    intros y z Hy Hz.
    destruct (past_known n y z t) as [Ra _].
    { apply Here in Hy, Hz. destruct Hy, Hz. congruence. }
    { apply Here in Hy. destruct Hy as [_ Py]. now rewrite (past_run _ _ _ Py). }
    unfold reply_row in Ra. rewrite !sum_answer in Ra
      by (unfold is_order, is_plain_sum in *; simpl; destruct (s_stat t); auto; discriminate).
    injection Ra as Ra. unfold adds in Ra. simpl in Ra.
    rewrite (Fa y (Sub y Hy)), (Fa z (Sub z Hz)) in Ra. unfold is_plain_sum in Sm.
    destruct (s_stat t); try discriminate. unfold place, value in Ra. cbn [over under scale shift least dir sense] in Ra |- *.
    assert (Shift : forall v : Z, (rest (everybody t) - s_least t + v)%Z
      = (rest (everybody t) + v - s_least t)%Z) by (intros; lia).
    rewrite !Shift. exact Ra. }
  eapply Nat.le_trans; [|apply (largest_le (fun y => columns_price fr
    (near t y (part_of (given (run n x) b) x))) _ y0); auto].
  eapply Nat.le_trans; [exact Answers|].
  apply Nat.le_trans with (cells outputs_dec (queries_outputs aos)
    (near t y0 (part_of (given (run n x) b) x))).
  - apply cells_incl. intros y Hy. apply filter_In. split; auto.
    apply andb_true_iff. split; apply Z.leb_le; auto. pose proof (Wide y y0 Hy H0). lia.
  - apply priced. intros y Hy. apply filter_In in Hy. destruct Hy as [Hy _].
    apply in_part in Hy. tauto.
Qed.

Lemma spent_charges : forall n x,
  spent_on (run n x) x = product (fun i => tale_charge i x) (seq 0 n).
Proof.
  induction n as [|n IH]; intros x; [reflexivity|].
  rewrite spent_step, IH, seq_S, product_app. simpl. rewrite Nat.mul_1_r. reflexivity.
Qed.

Lemma spent_fits : forall n x, In x dom -> spent_on (run n x) x <= K.
Proof.
  induction n as [|n IH]; intros x Hx; [exact positive|].
  rewrite spent_step. destruct (admit tt (run n x) (now n x)) eqn:Ad.
  - apply within with tt; auto. exists n, x. auto.
  - rewrite Nat.mul_1_r. auto.
Qed.

Theorem promise_paths : forall n,
  cells (seen_dec unit_dec query_dec answer_dec) (seen n) dom <= K.
Proof.
  intros n. apply telling with (dopen := unit_dec) (dg := tale_dec) (opened := opened)
    (told := tale) (charged := tale_charge) (M := 1).
  - intros k x y _ _ E. unfold Accountant.seen. now rewrite (past_run k x y E).
  - intros k x y _ _ E. now apply charge_same.
  - intros k x Hx. now apply charge_enough.
  - apply cells_constant. reflexivity.
  - intros x Hx. rewrite Nat.mul_1_l, <- spent_charges. now apply spent_fits.
Qed.
End Paths.

(** The largest price of questions over the parts that some told questions leave: c(b | told). *)
Definition given_price (dom : list row) (w : option query) (told b : list query) : nat :=
  largest (fun x => windowed w b (part_of dom told x)) dom.
