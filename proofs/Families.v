(** The price of a batch for any geometry: records, questions one by one, and families of atoms with
    an imagined record, given sound bounds F for one atom and B for one atom with that record. *)
From Coq Require Import List Arith Lia ZArith Bool.
From Hartley Require Import Cells Grid Order Line Question.
Import ListNotations.

Definition answer_dec : decidable_equality (option Z).
Proof. unfold decidable_equality. decide equality. apply Z.eq_dec. Defined.

Section Families.
Context {R : Type}.
Notation question := (question R).

(** An exact count and an order statistic are charged as if they told who counts. *)
Definition tells (q : question) : bool :=
  match stat q with Order => true | Count => negb (constant q) | _ => false end.
Definition truth (q : question) (x : R) : bool := tells q && counts q x.
Definition output (qo : question * others) (x : R) : bool * option Z :=
  (truth (fst qo) x, answer (fst qo) (snd qo) x).
Definition output_dec : decidable_equality (bool * option Z) := pair_dec bool_dec answer_dec.
Definition outputs (qos : list (question * others)) (x : R) : list (bool * option Z) :=
  map (fun qo => output qo x) qos.
Definition outputs_dec : decidable_equality (list (bool * option Z)) := list_eq_dec output_dec.
Definition bits_dec : decidable_equality (list bool) := list_eq_dec bool_dec.

(** The geometry: [spots] bounds the values of one direction, [F] the outputs of an atom, [B] what an
    atom adds to the imagined record that adds nothing. *)
Variable spots : question -> list R -> nat.
Variable F : list question -> list R -> nat.
Variable B : list question -> list R -> nat.
(** The questions that the geometry can price, such as those over one column. *)
Variable fits : question -> Prop.

Hypothesis spots_sound : forall q l, fits q -> counted q l -> cells Z.eq_dec (dir q) l <= spots q l.
Hypothesis F_sound : forall (qos : list (question * others)) l (f : question * others -> R -> option Z),
  (forall qo, In qo qos -> fits (fst qo) /\ counted (fst qo) l) ->
  (forall qo, In qo qos -> cut (dir (fst qo)) (f qo) l (crossings (fst qo) l)) ->
  cells (list_eq_dec answer_dec) (vector (map f qos)) l <= F (map fst qos) l.
Hypothesis B_sound : forall (qos : list (question * others)) l
    (f : question * others -> option R -> option Z),
  (forall qo, In qo qos -> fits (fst qo) /\ counted (fst qo) l) ->
  (forall qo, In qo qos -> cut (lift (fst qo)) (f qo) (with_zero l) (zero_crossings (fst qo) l)) ->
  cells (list_eq_dec answer_dec) (vector (map f qos)) (with_zero l) <= 1 + B (map fst qos) l.

(** ** One question alone *)
Definition inside (q : question) (l : list R) : list R := filter (counts q) l.
Definition outside (q : question) (l : list R) : nat := if forallb (counts q) l then 0 else 1.
Definition single (q : question) (l : list R) : nat :=
  let i := inside q l in
  match i with
  | [] => 1
  | _ =>
      match stat q with
      | Count => 1 + outside q l
      | Order => min (spots q i) (1 + crossings q i) + outside q l
      | _ =>
          let within := min (spots q i) (1 + crossings q i) + outside q l in
          match stat q, outside q l with
          | Sum, 0 => within
          | _, _ => min within (1 + hull_crossings q i)
          end
      end
  end.

Lemma fair_incl : forall (l m : list R) qo, incl l m -> fair m qo -> fair l qo.
Proof. intros l m qo I [V [Rs Rg]]. split; auto. Qed.

Lemma inside_counted : forall q l, counted q (inside q l).
Proof. intros q l x H. now apply filter_In in H. Qed.

Lemma outside_same : forall q o l x y, In x l -> In y l ->
  counts q x = false -> counts q y = false -> output (q, o) x = output (q, o) y.
Proof.
  intros q o l x y _ _ Hx Hy. unfold output, truth, answer, adds, rows. simpl. now rewrite Hx, Hy.
Qed.

Lemma outside_cells : forall q o l,
  cells output_dec (output (q, o)) (filter (fun x => negb (counts q x)) l) <= outside q l.
Proof.
  intros q o l. unfold outside. destruct (forallb (counts q) l) eqn:E.
  - assert (filter (fun x => negb (counts q x)) l = []) as ->; [|cbn; lia].
    rewrite forallb_forall in E.
    induction l as [|x l IH]; simpl; auto. rewrite (E x) by now left. simpl. apply IH.
    intros y Hy. apply E. now right.
  - apply cells_constant. intros x y Hx Hy. apply filter_In in Hx, Hy.
    destruct Hx as [Hx Cx], Hy as [Hy Cy]. apply negb_true_iff in Cx, Cy.
    now apply outside_same with l.
Qed.

Lemma inside_cells : forall q o l, fits q -> fair l (q, o) ->
  cells output_dec (output (q, o)) (inside q l)
    <= min (spots q (inside q l)) (1 + crossings q (inside q l)).
Proof.
  intros q o l Fq Fr. set (i := inside q l).
  assert (All : counted q i) by apply inside_counted.
  assert (Fi : fair i (q, o)).
  { apply fair_incl with l; auto. intros x Hx. apply filter_In in Hx. tauto. }
  assert (T : cells output_dec (output (q, o)) i <= cells answer_dec (answer q o) i).
  { apply cells_decided. intros x y Hx Hy E. unfold output, truth. simpl.
    now rewrite (All x Hx), (All y Hy), E. }
  apply Nat.min_glb.
  - eapply Nat.le_trans; [|apply spots_sound; auto].
    apply cells_decided. intros x y Hx Hy E.
    assert (value q x = value q y) as Ev by (unfold value; now rewrite E).
    unfold output, truth, answer, adds, rows. simpl. now rewrite (All x Hx), (All y Hy), Ev.
  - destruct (crossings_cut q o i Fi All) as [ts [L D]].
    eapply Nat.le_trans; [exact T|].
    eapply Nat.le_trans; [exact (pieces (dir q) i answer_dec _ ts D)|]. lia.
Qed.

Lemma split_cells : forall q o l,
  cells output_dec (output (q, o)) l
    <= cells output_dec (output (q, o)) (inside q l) + outside q l.
Proof.
  intros q o l.
  apply Nat.le_trans with (cells output_dec (output (q, o))
    (inside q l ++ filter (fun x => negb (counts q x)) l)).
  - apply cells_incl. intros x Hx. apply in_app_iff. unfold inside. rewrite !filter_In.
    destruct (counts q x); auto.
  - eapply Nat.le_trans; [apply cells_app|]. apply Nat.add_le_mono_l, outside_cells.
Qed.

Lemma single_sound : forall q o l, fits q -> silent q = false -> fair l (q, o) ->
  cells output_dec (output (q, o)) l <= single q l.
Proof.
  intros q o l Fq Sq Fr. unfold single. cbn zeta.
  destruct (inside q l) as [|x0 i'] eqn:Ei.
  { apply cells_constant. intros x y Hx Hy.
    assert (N : forall z, In z l -> counts q z = false).
    { intros z Hz. destruct (counts q z) eqn:E; auto.
      assert (In z []) as []. rewrite <- Ei. apply filter_In. auto. }
    apply outside_same with l; auto. }
  assert (Ne : inside q l <> []) by congruence. rewrite <- Ei in *. clear x0 i' Ei.
  pose proof (split_cells q o l) as Sp. pose proof (inside_cells q o l Fq Fr) as In_.
  assert (Hull : is_sum q = true ->
    cells output_dec (output (q, o)) l <= 1 + hull_crossings q (inside q l)).
  { intros Su. destruct Fr as [V [Rs Rg]]. simpl in *.
    assert (constant q = false) as Nc.
    { unfold silent in Sq. destruct (constant q); auto. unfold is_order, is_sum in *.
      destruct (stat q); discriminate. }
    eapply Nat.le_trans;
      [|apply (hull_cells q o (inside q l) answer_dec); auto; apply inside_counted].
    set (to := fun x => if counts q x then Some x else None).
    apply Nat.le_trans with (cells answer_dec (fun x => lifted_answer q o (to x)) l).
    - apply cells_decided. intros x y Hx Hy E. unfold output, truth, tells. simpl.
      assert (A : forall z, answer q o z = lifted_answer q o (to z)).
      { intros z. rewrite sum_answer.
        - unfold lifted_answer, to, adds. destruct (counts q z) eqn:Cz; auto. now rewrite Cz.
        - unfold is_order, is_sum in *. destruct (stat q); auto; discriminate. }
      rewrite !A, E. f_equal. unfold is_sum in Su. destruct (stat q); auto; discriminate.
    - rewrite <- (cells_map answer_dec (lifted_answer q o) to l). apply cells_incl.
      intros p Hp. apply in_map_iff in Hp. destruct Hp as [x [<- Hx]]. unfold to.
      destruct (counts q x) eqn:E; apply in_with_zero; [right|now left].
      exists x. split; auto. apply filter_In. auto. }
  destruct (stat q) eqn:St.
  - assert (crossings q (inside q l) = 0) as E0.
    { unfold crossings. rewrite St. now destruct (constant q). }
    rewrite E0 in In_. lia.
  - assert (is_sum q = true) as Su by (unfold is_sum; now rewrite St). specialize (Hull Su).
    destruct (outside q l) eqn:Eo; [|apply Nat.min_glb]; lia.
  - assert (is_sum q = true) as Su by (unfold is_sum; now rewrite St). specialize (Hull Su).
    apply Nat.min_glb; lia.
  - lia.
Qed.

(** ** Atoms and families *)
Definition alive (qs : list question) (x : R) : list bool := map (fun q => counts q x) qs.
Definition key (qs : list question) (x : R) : list bool := map (fun q => truth q x) qs.
Definition of_atom (qs : list question) (l : list R) : list question :=
  filter (fun q => forallb (counts q) l) qs.
Definition atoms (qs : list question) (l : list R) : list (list R) :=
  map (fun a => part bits_dec (alive qs) a l) (nodup bits_dec (map (alive qs) l)).
Definition atom_bound (qs : list question) (l : list R) : nat := F (of_atom qs l) l.
Definition sums (qs : list question) (l : list R) : list question := filter is_sum (of_atom qs l).
Definition beyond (qs : list question) (l : list R) : nat :=
  match sums qs l with
  | [q] => hull_crossings q l
  | s => B s l
  end.
Definition orders_agree (qs : list question) (l : list R) : bool :=
  forallb (fun q => negb (is_order q && forallb (counts q) l) || (crossings q l =? 0)) qs.
Definition family_bound (qs : list question) (l : list R) : nat :=
  let plain := total (atom_bound qs) (atoms qs l) in
  if (1 <? length (atoms qs l)) && orders_agree qs l
  then min plain (1 + total (fun a => min (atom_bound qs a) (beyond qs a)) (atoms qs l))
  else plain.
Definition joint (qs : list question) (l : list R) : nat :=
  total (family_bound qs) (map (fun w => part bits_dec (key qs) w l) (nodup bits_dec (map (key qs) l))).

(** The records of an atom count for the same questions. *)
Definition is_atom (qs : list question) (l : list R) :=
  forall x y, In x l -> In y l -> alive qs x = alive qs y.

Lemma map_eq_In : forall {A C} (f g : A -> C) l a, map f l = map g l -> In a l -> f a = g a.
Proof.
  intros A C f g l a. induction l as [|b l IH]; simpl; intros E H; [destruct H|].
  injection E as E1 E2. destruct H as [<-|H]; auto.
Qed.

Lemma atom_dead : forall qs l q x, is_atom qs l -> In q qs -> forallb (counts q) l = false ->
  In x l -> counts q x = false.
Proof.
  intros qs l q x At Hq Nf Hx. destruct (counts q x) eqn:E; auto. exfalso.
  rewrite <- not_true_iff_false in Nf. apply Nf. apply forallb_forall. intros y Hy.
  pose proof (map_eq_In _ _ qs q (At x y Hx Hy) Hq) as H. simpl in H. congruence.
Qed.

Lemma filter_fst : forall {C D} (p : C -> bool) (l : list (C * D)),
  map fst (filter (fun c => p (fst c)) l) = filter p (map fst l).
Proof.
  intros C D p l. induction l as [|[c d] l IH]; simpl; auto. destruct (p c); simpl; congruence.
Qed.

Lemma atom_sound : forall qos l, is_atom (map fst qos) l ->
  (forall qo, In qo qos -> fits (fst qo) /\ fair l qo) ->
  cells outputs_dec (outputs qos) l <= atom_bound (map fst qos) l.
Proof.
  intros qos l At H. unfold atom_bound, of_atom. rewrite <- filter_fst.
  set (live := filter (fun qo => forallb (counts (fst qo)) l) qos).
  assert (Live : forall qo, In qo live -> In qo qos /\ counted (fst qo) l).
  { intros qo Hq. apply filter_In in Hq. destruct Hq as [Hq Fa]. split; auto.
    rewrite forallb_forall in Fa. exact Fa. }
  apply Nat.le_trans with (cells (list_eq_dec answer_dec)
    (vector (map (fun qo => answer (fst qo) (snd qo)) live)) l).
  - apply cells_decided. intros x y Hx Hy E. unfold outputs. apply map_ext_in. intros [q o] Hq.
    destruct (forallb (counts q) l) eqn:Fa.
    + assert (In (q, o) live) as Hl by (apply filter_In; auto).
      unfold vector in E. rewrite !map_map in E. pose proof (map_eq_In _ _ live (q, o) E Hl) as Ea.
      unfold output, truth. simpl in *. rewrite forallb_forall in Fa.
      now rewrite (Fa x Hx), (Fa y Hy), Ea.
    + assert (In q (map fst qos)) as Hm by (apply in_map_iff; exists (q, o); auto).
      apply outside_same with l; auto; eapply atom_dead; eauto.
  - apply F_sound.
    + intros qo Hq. destruct (Live qo Hq) as [Hin C]. split; [apply H; auto|exact C].
    + intros [q o] Hq. destruct (Live _ Hq) as [Hin C]. apply crossings_cut; auto. now apply H.
Qed.

Lemma atoms_cover : forall qs l x, In x l -> exists a, In a (atoms qs l) /\ In x a.
Proof.
  intros qs l x Hx. exists (part bits_dec (alive qs) (alive qs x) l). split.
  - unfold atoms. apply in_map_iff. exists (alive qs x). split; auto.
    apply nodup_In. now apply in_map.
  - now apply in_part.
Qed.

Lemma atoms_spec : forall qs l a, In a (atoms qs l) -> is_atom qs a /\ incl a l /\ a <> [].
Proof.
  intros qs l a H. unfold atoms in H. apply in_map_iff in H. destruct H as [v [<- Hv]].
  split; [|split].
  - intros x y Hx Hy. apply in_part in Hx, Hy. destruct Hx, Hy. congruence.
  - intros x Hx. apply in_part in Hx. tauto.
  - apply nodup_In in Hv. apply in_map_iff in Hv. destruct Hv as [x [Ex Hx]].
    assert (In x (part bits_dec (alive qs) v l)) as I by now apply in_part.
    intros E. rewrite E in I. destruct I.
Qed.

(** What the imagined record would be told in a family of which [x0] is a member. *)
Definition imagined (qos : list (question * others)) (x0 : R) : list (bool * option Z) :=
  map (fun qo => if is_sum (fst qo) then (false, lifted_answer (fst qo) (snd qo) None)
                 else output qo x0) qos.
Definition outputs_or (qos : list (question * others)) (x0 : R) (p : option R) :=
  match p with None => imagined qos x0 | Some x => outputs qos x end.

Section Family.
Variable qos : list (question * others).
Variable l : list R.
Hypothesis good : forall qo, In qo qos -> fits (fst qo) /\ silent (fst qo) = false /\ fair l qo.
Hypothesis one_key : forall x y, In x l -> In y l -> key (map fst qos) x = key (map fst qos) y.

Lemma told_same : forall qo x y, In qo qos -> In x l -> In y l ->
  truth (fst qo) x = truth (fst qo) y.
Proof.
  intros qo x y Hq Hx Hy. pose proof (one_key x y Hx Hy) as E. unfold key in E.
  rewrite !map_map in E. exact (map_eq_In _ _ qos qo E Hq).
Qed.

(** Counts and order statistics have one output in the whole family. *)
Lemma not_sum_same : orders_agree (map fst qos) l = true -> forall qo x y, In qo qos ->
  is_sum (fst qo) = false -> In x l -> In y l -> output qo x = output qo y.
Proof.
  intros Agree [q o] x y Hq Ns Hx Hy. destruct (good _ Hq) as [_ [Sq Fr]].
  pose proof (told_same _ x y Hq Hx Hy) as T. simpl in *.
  assert (tells q = true) as Tq.
  { unfold tells, silent, is_order, is_sum in *. destruct (stat q); auto; try discriminate.
    now destruct (constant q). }
  assert (Cxy : counts q x = counts q y).
  { unfold truth in T. now rewrite Tq in T. }
  destruct (counts q x) eqn:Cx.
  2: { apply outside_same with l; auto. }
  unfold output. simpl. rewrite T. f_equal.
  assert (All : counted q l).
  { intros z Hz. pose proof (told_same _ x z Hq Hx Hz) as Tz. simpl in Tz. unfold truth in Tz.
    rewrite Tq, Cx in Tz. simpl in Tz. now rewrite Tz. }
  destruct (is_order q) eqn:Or.
  - unfold orders_agree in Agree. rewrite forallb_forall in Agree.
    assert (In q (map fst qos)) as Hm by (apply in_map_iff; exists (q, o); auto).
    specialize (Agree q Hm). rewrite Or in Agree.
    assert (forallb (counts q) l = true) as Fa by (apply forallb_forall; exact All).
    rewrite Fa in Agree. simpl in Agree. apply Nat.eqb_eq in Agree.
    destruct (crossings_cut q o l Fr All) as [ts [L D]]. rewrite Agree in L.
    apply D; auto. destruct ts; [|simpl in L; lia]. intros t [].
  - rewrite !sum_answer by auto. f_equal. f_equal. f_equal. unfold adds. rewrite Cx, <- Cxy.
    unfold is_order, is_sum in *. destruct (stat q); auto; discriminate.
Qed.

Lemma beyond_sound : forall a x0, orders_agree (map fst qos) l = true -> In x0 l ->
  is_atom (map fst qos) a -> incl a l -> a <> [] ->
  length (nodup outputs_dec (imagined qos x0 :: map (outputs qos) a)) <= 1 + beyond (map fst qos) a.
Proof.
  intros a x0 Agree H0 At Ia Ne.
  assert (imagined qos x0 :: map (outputs qos) a = map (outputs_or qos x0) (with_zero a)) as ->.
  { unfold with_zero. simpl. now rewrite map_map. }
  change (cells outputs_dec (outputs_or qos x0) (with_zero a) <= 1 + beyond (map fst qos) a).
  set (live := filter (fun qo => is_sum (fst qo))
                 (filter (fun qo => forallb (counts (fst qo)) a) qos)).
  assert (Ls : sums (map fst qos) a = map fst live).
  { unfold sums, of_atom, live. rewrite (filter_fst is_sum).
    now rewrite (filter_fst (fun q => forallb (counts q) a)). }
  assert (Live : forall qo, In qo live -> In qo qos /\ counted (fst qo) a /\ is_sum (fst qo) = true).
  { intros qo Hq. apply filter_In in Hq. destruct Hq as [Hq Su]. apply filter_In in Hq.
    destruct Hq as [Hq Fa]. rewrite forallb_forall in Fa. auto. }
  assert (Nc : forall qo, In qo live -> constant (fst qo) = false).
  { intros qo Hq. destruct (Live qo Hq) as [Hin [_ Su]]. destruct (good qo Hin) as [_ [Sq _]].
    unfold silent, is_order, is_sum in *. destruct (constant (fst qo)); auto.
    destruct (stat (fst qo)); discriminate. }
  set (f := fun qo : question * others => lifted_answer (fst qo) (snd qo)).
  assert (Dec : cells outputs_dec (outputs_or qos x0) (with_zero a)
    <= cells (list_eq_dec answer_dec) (vector (map f live)) (with_zero a)).
  { apply cells_decided. intros p r Hp Hr E.
    (* each component is told by the sums of the atom, or has one value *)
    assert (K : forall s, In s (with_zero a) -> outputs_or qos x0 s =
      map (fun qo => if is_sum (fst qo) then
                       (false, if forallb (counts (fst qo)) a then f qo s
                               else f qo None)
                     else output qo x0) qos).
    { intros s Hs. apply in_with_zero in Hs. destruct Hs as [->|[x [-> Hx]]]; simpl.
      - unfold imagined. apply map_ext. intros qo. destruct (is_sum (fst qo)); auto.
        now destruct (forallb _ _).
      - unfold outputs. apply map_ext_in. intros [q o] Hq. simpl.
        destruct (is_sum q) eqn:Su.
        + unfold output, truth, tells. simpl.
          assert (is_order q = false) as No.
          { unfold is_order, is_sum in *. destruct (stat q); auto; discriminate. }
          rewrite sum_answer by auto.
          f_equal; [unfold is_sum in Su; destruct (stat q); auto; discriminate|].
          destruct (forallb (counts q) a) eqn:Fa; [reflexivity|].
          unfold f, lifted_answer, adds. simpl.
          assert (In q (map fst qos)) as Hm by (apply in_map_iff; exists (q, o); auto).
          now rewrite (atom_dead (map fst qos) a q x At Hm Fa Hx).
        + apply not_sum_same; auto. }
    rewrite (K p Hp), (K r Hr). apply map_ext_in. intros qo Hq.
    destruct (is_sum (fst qo)) eqn:Su; auto.
    destruct (forallb (counts (fst qo)) a) eqn:Fa; auto. f_equal.
    unfold vector in E. rewrite !map_map in E. apply (map_eq_In (fun qo => f qo p) _ live qo E).
    unfold live. apply filter_In. split; auto. apply filter_In. auto. }
  eapply Nat.le_trans; [exact Dec|]. unfold beyond. rewrite Ls.
  assert (Multi : cells (list_eq_dec answer_dec) (vector (map f live)) (with_zero a)
    <= 1 + B (map fst live) a).
  { apply B_sound.
    - intros qo Hq. destruct (Live qo Hq) as [Hin [C _]]. split; auto. now apply good.
    - intros qo Hq. destruct (Live qo Hq) as [Hin [C Su]]. apply zero_cut; auto.
      destruct (good qo Hin) as [_ [_ Fr]]. apply Fr. }
  destruct live as [|qo [|qo' live']] eqn:El; auto.
  simpl map. cbn iota.
  destruct (Live qo (or_introl eq_refl)) as [Hin [C Su]]. destruct (good qo Hin) as [_ [_ [V _]]].
  eapply Nat.le_trans; [|apply (hull_cells (fst qo) (snd qo) a answer_dec); auto].
  - apply cells_decided. intros p r _ _ E. unfold vector. simpl. unfold f. now rewrite E.
  - apply Nc. now left.
Qed.

Lemma family_sound : l <> [] -> cells outputs_dec (outputs qos) l <= family_bound (map fst qos) l.
Proof.
  intros Ne. set (qs := map fst qos) in *.
  assert (Each : forall a, In a (atoms qs l) -> cells outputs_dec (outputs qos) a <= atom_bound qs a).
  { intros a Ha. destruct (atoms_spec qs l a Ha) as [At [Ia _]]. apply atom_sound; auto.
    intros qo Hq. destruct (good qo Hq) as [Fq [_ Fr]]. split; auto. now apply fair_incl with l. }
  assert (Plain : cells outputs_dec (outputs qos) l <= total (atom_bound qs) (atoms qs l)).
  { eapply Nat.le_trans; [apply (cells_union outputs_dec (outputs qos) (fun a => a) (atoms qs l) l)|].
    - intros x Hx. now apply atoms_cover.
    - apply total_le. auto. }
  unfold family_bound. cbn zeta.
  destruct ((1 <? length (atoms qs l)) && orders_agree qs l) eqn:Ag; auto.
  apply andb_true_iff in Ag. destruct Ag as [_ Ag]. apply Nat.min_glb; auto.
  destruct l as [|x0 l'] eqn:El; [congruence|]. rewrite <- El in *.
  assert (In x0 l) as H0 by (rewrite El; now left). clear El.
  eapply Nat.le_trans;
    [apply (cells_imagined outputs_dec (outputs qos) (imagined qos x0) (fun a => a)
              (beyond qs) (atoms qs l) l)|].
  - intros x Hx. now apply atoms_cover.
  - intros a Ha. destruct (atoms_spec qs l a Ha) as [At [Ia Na]]. now apply beyond_sound.
  - apply le_n_S. apply total_le. intros a Ha. apply Nat.min_le_compat_r. auto.
Qed.
End Family.

Lemma joint_sound : forall qos l,
  (forall qo, In qo qos -> fits (fst qo) /\ silent (fst qo) = false /\ fair l qo) ->
  cells outputs_dec (outputs qos) l <= joint (map fst qos) l.
Proof.
  intros qos l good. unfold joint.
  eapply Nat.le_trans;
    [apply (cells_sum_of_parts outputs_dec bits_dec (outputs qos) (key (map fst qos)))|].
  rewrite total_map. apply total_le. intros w Hw. apply family_sound.
  - intros qo Hq. destruct (good qo Hq) as [A1 [A2 A3]]. split; [|split]; auto.
    apply fair_incl with l; auto. intros x Hx. apply in_part in Hx. tauto.
  - intros x y Hx Hy. apply in_part in Hx, Hy. destruct Hx, Hy. congruence.
  - apply nodup_In in Hw. apply in_map_iff in Hw. destruct Hw as [x [Ex Hx]].
    assert (In x (part bits_dec (key (map fst qos)) w l)) as I by now apply in_part.
    intros E. rewrite E in I. destruct I.
Qed.

(** ** The price *)
Definition loud (qs : list question) : list question := filter (fun q => negb (silent q)) qs.
Definition price (qs : list question) (dom : list R) : nat :=
  min (length dom) (min (product (fun q => single q dom) (loud qs)) (joint (loud qs) dom)).

Theorem price_tells : forall qos dom,
  (forall qo, In qo qos -> fits (fst qo) /\ fair dom qo) ->
  cells outputs_dec (outputs qos) dom <= price (map fst qos) dom.
Proof.
  intros qos dom good. unfold price. apply Nat.min_glb; [apply cells_points|].
  set (some := filter (fun qo => negb (silent (fst qo))) qos).
  assert (loud (map fst qos) = map fst some) as -> by (unfold loud, some; symmetry; exact (filter_fst (fun q => negb (silent q)) qos)).
  assert (Some_ : forall qo, In qo some -> fits (fst qo) /\ silent (fst qo) = false /\ fair dom qo).
  { intros qo Hq. apply filter_In in Hq. destruct Hq as [Hq S]. apply negb_true_iff in S.
    destruct (good qo Hq). auto. }
  assert (L : cells outputs_dec (outputs qos) dom <= cells outputs_dec (outputs some) dom).
  { apply cells_decided. intros x y Hx Hy E. unfold outputs in *. apply map_ext_in.
    intros [q o] Hq. destruct (silent q) eqn:S.
    - destruct (good _ Hq) as [_ [V [_ Rg]]]. simpl in *.
      unfold output, truth. simpl. rewrite !silent_answer by auto. f_equal.
      unfold tells, silent, is_order in *. destruct (stat q); auto.
      + destruct (constant q); auto. discriminate.
      + destruct (constant q); discriminate.
    - apply (map_eq_In _ _ some (q, o) E). apply filter_In. simpl. now rewrite S. }
  eapply Nat.le_trans; [exact L|]. apply Nat.min_glb; [|now apply joint_sound].
  eapply Nat.le_trans with (cells outputs_dec (vector (map output some)) dom).
  - apply cells_decided. intros x y _ _ E. unfold vector in E. rewrite !map_map in E. exact E.
  - eapply Nat.le_trans; [apply (cells_vector output_dec)|].
    clear L. induction some as [|[q o] some IH]; simpl; auto.
    apply Nat.mul_le_mono.
    + destruct (Some_ (q, o) (or_introl eq_refl)) as [A1 [A2 A3]]. now apply single_sound.
    + apply IH. intros qo Hq. apply Some_. now right.
Qed.

Definition answers (qos : list (question * others)) (x : R) : list (option Z) :=
  map (fun qo => answer (fst qo) (snd qo) x) qos.

Theorem price_bounds : forall qos dom,
  (forall qo, In qo qos -> fits (fst qo) /\ fair dom qo) ->
  cells (list_eq_dec answer_dec) (answers qos) dom <= price (map fst qos) dom.
Proof.
  intros qos dom good. eapply Nat.le_trans; [|now apply price_tells].
  apply cells_decided. intros x y _ _ E. unfold answers, outputs in *.
  apply map_ext_in. intros qo Hq. pose proof (map_eq_In _ _ qos qo E Hq) as H.
  unfold output in H. congruence.
Qed.
End Families.
