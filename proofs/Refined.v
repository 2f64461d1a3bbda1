(** Rule S inside the price: a question whose statistic was answered at another step costs only the new
    cells that one old cell can hold, and at most K transcripts are seen. Several private columns. *)
From Coq Require Import List Arith Lia ZArith Bool.
From Hartley Require Import Cells Accountant Grid Question Families Batch Hartley Columns.
Import ListNotations.
Local Open Scope nat_scope.

(** The same question at another step. *)
Definition restep (s : query) (over under : Z) : query :=
  Query (s_stat s) (s_terms s) (s_coefs s) (s_scale s) (s_shift s) over under (s_least s) (s_most s)
    (s_num s) (s_den s).
(** How many cells of [s] one cell of [t] can hold, at most. *)
Definition held_cells (t s : query) : nat :=
  let a := (s_over t * s_under s)%Z in
  let b := (s_over s * s_under t)%Z in
  Z.to_nat (1 + (a + b - Z.gcd a b - 1) / b).

(** The statistic itself; an answer is its cell. *)
Definition statistic_of (q : question) (o : others) (x : row) : option Z :=
  match stat q with
  | Order => match rows q o x with [] => None | l => Some (nth (rank q (length l)) l 0%Z) end
  | _ => Some (rest o + adds q x)%Z
  end.

Lemma answer_statistic : forall q o x, answer q o x = option_map (place q) (statistic_of q o x).
Proof.
  intros q o x. unfold answer, statistic_of. destruct (stat q); auto. now destruct (rows q o x).
Qed.

Lemma held_sound : forall s over under o l,
  let t := restep s over under in
  well_formed_query s -> well_formed_query t ->
  (forall x y, In x l -> In y l -> answer (sense t) o x = answer (sense t) o y) ->
  cells answer_dec (answer (sense s) o) l <= held_cells t s.
Proof.
  intros s over under o l t Ws Wt Same.
  destruct Ws as (Os & Us & _). destruct Wt as (Ot & Ut & _). simpl in Ot, Ut.
  set (a := (over * s_under s)%Z). set (b := (s_over s * under)%Z).
  assert (Ha : (0 < a)%Z) by (unfold a; nia). assert (Hb : (0 < b)%Z) by (unfold b; nia).
  assert (St : forall x, statistic_of (sense t) o x = statistic_of (sense s) o x) by reflexivity.
  set (w := fun x => match statistic_of (sense s) o x with
                     | Some v => ((v - s_least s) * under * s_under s)%Z | None => 0%Z end).
  assert (Old : forall x v, statistic_of (sense s) o x = Some v -> (w x / a = place (sense t) v)%Z).
  { intros x v E. unfold w. rewrite E. unfold place, cell, a. simpl.
    rewrite Z.div_mul_cancel_r; lia. }
  assert (New : forall x v, statistic_of (sense s) o x = Some v -> (w x / b = place (sense s) v)%Z).
  { intros x v E. unfold w. rewrite E. unfold place, cell, b. simpl.
    replace ((v - s_least s) * under * s_under s)%Z with ((v - s_least s) * s_under s * under)%Z by ring.
    rewrite Z.div_mul_cancel_r; lia. }
  assert (Kind : forall x y, In x l -> In y l ->
    (statistic_of (sense s) o x = None <-> statistic_of (sense s) o y = None)).
  { intros x y Hx Hy. pose proof (Same x y Hx Hy) as E. rewrite !answer_statistic, !St in E.
    destruct (statistic_of (sense s) o x), (statistic_of (sense s) o y); simpl in E; try discriminate;
      split; intros; auto; discriminate. }
  apply Nat.le_trans with (cells Z.eq_dec (fun x => (w x / b)%Z) l).
  - apply cells_decided. intros x y Hx Hy E. rewrite !answer_statistic.
    destruct (statistic_of (sense s) o x) as [v|] eqn:Ex.
    + destruct (statistic_of (sense s) o y) as [u|] eqn:Ey.
      * simpl. rewrite <- (New x v Ex), <- (New y u Ey). now f_equal.
      * exfalso. apply (Kind x y Hx Hy) in Ey. congruence.
    + assert (statistic_of (sense s) o y = None) as -> by now apply (Kind x y Hx Hy). reflexivity.
  - unfold held_cells. simpl. fold a. fold b. apply rule_S; auto. intros x y Hx Hy.
    pose proof (Same x y Hx Hy) as E. rewrite !answer_statistic, !St in E.
    destruct (statistic_of (sense s) o x) as [v|] eqn:Ex.
    + destruct (statistic_of (sense s) o y) as [u|] eqn:Ey; [|discriminate].
      simpl in E. injection E as E. rewrite (Old x v Ex), (Old y u Ey). exact E.
    + assert (statistic_of (sense s) o y = None) as Ey by now apply (Kind x y Hx Hy).
      unfold w. now rewrite Ex, Ey.
Qed.

Section Refined.
Variable dom : list row.
Variable everybody : query -> others.
Notation chronicle := (history query (option Z)).
Variable ask : unit -> chronicle -> list query.
Variable admit : unit -> chronicle -> list query -> bool.
(** Any public choice of an earlier answered question of the same statistic. *)
Variable old : chronicle -> query -> option query.
Variable K : nat.
Notation reply := (reply_row everybody).

Definition unrefined (h : chronicle) (b : list query) : list query :=
  filter (fun s => match old h s with Some _ => false | None => true end) b.
Definition held (h : chronicle) (s : query) : nat :=
  match old h s with Some t => held_cells t s | None => 1 end.
(** min{c(new questions), c(the rest) * product of S}. *)
Definition refined_price (h : chronicle) (b : list query) : nat :=
  let f := fresh query_dec h b in
  min (columns_price f dom) (columns_price (unrefined h f) dom * product (held h) f).

Hypothesis positive : 1 <= K.
Hypothesis within : forall o h b, admit o h b = true -> paid h * refined_price h b <= K.
Hypothesis checked : forall o h b s, admit o h b = true -> In s b -> fair_query dom (s, everybody s).
Hypothesis old_answered : forall h s t, old h s = Some t ->
  In t (answered h) /\ t = restep s (s_over t) (s_under t) /\ well_formed_query t.
(** Everybody else's data do not depend on the step that is asked for. *)
Hypothesis same_people : forall s over under, everybody (restep s over under) = everybody s.

Notation run := (run (fun _ : row => tt) reply ask refined_price admit).
Notation seen := (seen (fun _ : row => tt) reply ask refined_price admit).

Lemma batch_cells : forall (b : list query) l,
  (forall s, In s b -> fair_query dom (s, everybody s)) -> incl l dom ->
  cells answers_dec (Accountant.answers reply b) l <= columns_price b dom.
Proof.
  intros b l H I. set (sos := map (fun s => (s, everybody s)) b).
  assert (map fst sos = b) as E by (unfold sos; rewrite map_map; apply map_id).
  apply Nat.le_trans with (cells answers_dec (queries_answers sos) dom).
  - eapply Nat.le_trans; [|apply cells_incl; exact I].
    apply cells_decided. intros x y _ _ F. unfold Accountant.answers, queries_answers, sos in *.
    rewrite !map_map in F. exact F.
  - rewrite <- E. apply columns_sound. intros so Hs. unfold sos in Hs.
    apply in_map_iff in Hs. destruct Hs as [s [<- Hs]]. auto.
Qed.

Lemma split_refined : forall h (b : list query) l,
  (forall s, In s b -> cells answer_dec (reply s) l <= held h s \/ old h s = None) ->
  cells answers_dec (Accountant.answers reply b) l
    <= cells answers_dec (Accountant.answers reply (unrefined h b)) l * product (held h) b.
Proof.
  intros h b l H.
  set (known := filter (fun s => match old h s with Some _ => true | None => false end) b).
  apply Nat.le_trans with (cells (pair_dec answers_dec answers_dec)
    (fun x => (Accountant.answers reply (unrefined h b) x, Accountant.answers reply known x)) l).
  { apply cells_decided. intros x y _ _ E. injection E as E1 E2. unfold Accountant.answers in *.
    apply map_ext_in. intros s Hs. destruct (old h s) eqn:O.
    - apply (map_eq_In (fun q => reply q x) _ known s E2). apply filter_In. rewrite O. auto.
    - apply (map_eq_In (fun q => reply q x) _ (unrefined h b) s E1). apply filter_In. rewrite O. auto. }
  eapply Nat.le_trans; [apply cells_product|]. apply Nat.mul_le_mono_l.
  apply Nat.le_trans with (product (fun s => cells answer_dec (reply s) l) known).
  { eapply Nat.le_trans; [|eapply Nat.le_trans; [apply (cells_vector answer_dec (map reply known) l)|]].
    - apply cells_decided. intros x y _ _ E. unfold vector in E. rewrite !map_map in E. exact E.
    - rewrite product_map. apply Nat.le_refl. }
  unfold known. clear known. induction b as [|s b IH]; simpl; auto.
  assert (IH' := IH (fun r Hr => H r (or_intror Hr))).
  pose proof (H s (or_introl eq_refl)) as [L|N].
  - destruct (old h s) eqn:O.
    + simpl. now apply Nat.mul_le_mono.
    + unfold held at 1. rewrite O. rewrite Nat.mul_1_l. exact IH'.
  - rewrite N. unfold held at 1. rewrite N. rewrite Nat.mul_1_l. exact IH'.
Qed.

Theorem promise_refined : forall n,
  cells (seen_dec unit_dec query_dec answer_dec) (seen n) dom <= K.
Proof.
  intros n. apply accountant_nodes with (M := 1).
  - apply cells_constant. reflexivity.
  - exact positive.
  - intros o h b Ad. rewrite Nat.mul_1_l. now apply within with o.
  - clear n. intros n x Hx b Ad.
    set (here := node unit_dec query_dec answer_dec dom (fun _ => tt) reply ask refined_price admit n x).
    assert (Here : forall y, In y here -> In y dom /\ run n y = run n x).
    { intros y Hy. apply in_part in Hy. destruct Hy as [Hy E]. injection E as E. auto. }
    assert (Known : forall q y z, In q (answered (run n x)) -> In y here -> In z here ->
      reply q y = reply q z).
    { intros q y z Hq Hy Hz. apply Here in Hy, Hz. destruct Hy as [_ Ey], Hz as [_ Ez].
      apply (answered_known (fun _ : row => tt) reply ask refined_price admit n); auto; congruence. }
    assert (Fair : forall s, In s (fresh query_dec (run n x) b) -> fair_query dom (s, everybody s)).
    { intros s Hs. unfold fresh in Hs. apply nodup_In, filter_In in Hs. destruct Hs as [Hs _].
      now apply (checked tt (run n x) b). }
    assert (Id : incl here dom) by (intros y Hy; now apply Here).
    apply Nat.le_trans with (cells answers_dec (Accountant.answers reply (fresh query_dec (run n x) b)) here).
    { apply cells_decided. intros y z Hy Hz E. unfold Accountant.answers in *. apply map_ext_in. intros q Hq.
      destruct (in_dec query_dec q (answered (run n x))) as [I|N]; [now apply Known|].
      apply (map_eq_In (fun q => reply q y) _ _ q E). unfold fresh. apply nodup_In, filter_In.
      split; auto. destruct (in_dec query_dec q (answered (run n x))); tauto. }
    unfold refined_price. cbn zeta. apply Nat.min_glb; [now apply batch_cells|].
    eapply Nat.le_trans; [apply (split_refined (run n x))|].
    + intros s Hs. destruct (old (run n x) s) as [t|] eqn:O; [left|now right].
      unfold held. rewrite O. destruct (old_answered _ _ _ O) as [Ia [Et Wt]].
      destruct (Fair s Hs) as [Ws _].
      apply Nat.le_trans with (held_cells (restep s (s_over t) (s_under t)) s);
        [|rewrite <- Et; apply Nat.le_refl].
      apply (held_sound s (s_over t) (s_under t) (everybody s) here Ws).
      * now rewrite <- Et.
      * intros y z Hy Hz. rewrite <- Et. pose proof (Known t y z Ia Hy Hz) as Kn.
        unfold reply_row in Kn. rewrite Et in Kn at 2 4.
        rewrite same_people in Kn. exact Kn.
    + apply Nat.mul_le_mono_r. apply batch_cells; auto.
      intros s Hs. apply Fair. unfold unrefined in Hs. apply filter_In in Hs. tauto.
Qed.
End Refined.
