(** A computed price for several private columns, one row per person: atoms over all columns, regions
    with the rank of the forms, components and groups without a common column multiplied.

    THE MODEL. A row holds one code a column, or none where the value is missing; where the number of
    rows is private, the row may be absent. A filter is an OR of conjunctions of tests on single
    columns; a form is scale * (coefficients times codes) + shift, and counts where all its columns are
    present. The rest of a question is as in Batch.v. *)
From Coq Require Import List Arith Lia ZArith Bool.
From Hartley Require Import Cells Accountant Grid Order Line Regions Atom Question Families Batch Hartley
  Vectors.
Import ListNotations.
Local Open Scope nat_scope.

Definition row := option (list (option Z)).
Definition cell_at (k : nat) (x : row) : option Z :=
  match x with Some l => nth k l None | None => None end.
Definition code_at (x : row) (k : nat) : Z :=
  match cell_at k x with Some c => c | None => 0%Z end.
Definition row_dec : decidable_equality row.
Proof.
  unfold decidable_equality. intros a b. decide equality. apply list_eq_dec. apply answer_dec.
Defined.

(** All rows of some columns, each with its number of codes and whether values may be missing. *)
Fixpoint grid (sizes : list (nat * bool)) : list (list (option Z)) :=
  match sizes with
  | [] => [[]]
  | (points, nullable) :: rest =>
      flat_map (fun c => map (cons c) (grid rest))
        (map (fun n => Some (Z.of_nat n)) (seq 0 points) ++ (if nullable then [None] else []))
  end.
Definition all_rows (sizes : list (nat * bool)) : list row := map Some (grid sizes).

(** ** The geometry *)
Notation question := (question row).
Definition on_columns (q : question) : Prop :=
  valid q /\ forall x, dir q x = dot (coefs q) 0 (code_at x).
(** How many values a column takes on some rows, a missing one counted. *)
Definition distinct (l : list row) (k : nat) : nat := cells answer_dec (cell_at k) l.
Definition columns_spots (q : question) (l : list row) : nat :=
  product (distinct l) (support (coefs q)).
Definition supports (vs : list (list Z)) : list nat := nodup Nat.eq_dec (concat (map support vs)).
Definition columns_outputs (qs : list question) (l : list row) : nat :=
  min (length l)
    (all_regions coefs (fun q => crossings q l)
      (fun comp => product (distinct l) (supports (map coefs comp))) qs).
(** The constant is one more coordinate: 1 for a row, 0 for the imagined record. *)
Definition lifted_coefs (q : question) : list Z := shift q :: map (Z.mul (scale q)) (coefs q).
Definition columns_beyond (qs : list question) (l : list row) : nat :=
  all_regions lifted_coefs (fun q => zero_crossings q l)
    (component_regions lifted_coefs (fun q => zero_crossings q l)) qs - 1.

Lemma dot_ext : forall v j (p r : nat -> Z),
  (forall k, k < length v -> nth k v 0%Z <> 0%Z -> p (j + k) = r (j + k)) -> dot v j p = dot v j r.
Proof.
  induction v as [|c v IH]; intros j p r H; simpl; auto. f_equal.
  - destruct (Z.eq_dec c 0) as [->|N]; auto. f_equal.
    specialize (H 0). simpl in H. rewrite Nat.add_0_r in H. apply H; auto. lia.
  - apply IH. intros k Hk N. specialize (H (S k)). simpl in H.
    replace (S j + k) with (j + S k) by lia. apply H; auto. lia.
Qed.

Lemma in_support : forall v k, In k (support v) <-> k < length v /\ nth k v 0%Z <> 0%Z.
Proof.
  intros v k. unfold support. rewrite filter_In, in_seq, negb_true_iff, Z.eqb_neq. unfold at_place.
  intuition lia.
Qed.

Lemma dir_decided : forall q x y, on_columns q ->
  (forall k, In k (support (coefs q)) -> cell_at k x = cell_at k y) -> dir q x = dir q y.
Proof.
  intros q x y [_ D] H. rewrite !D. apply dot_ext. intros k Hk N. simpl.
  unfold code_at. rewrite H; auto. apply in_support. auto.
Qed.

Lemma cells_columns : forall {A} (da : decidable_equality A) (f : row -> A) ks l,
  (forall x y, In x l -> In y l -> (forall k, In k ks -> cell_at k x = cell_at k y) -> f x = f y) ->
  cells da f l <= product (distinct l) ks.
Proof.
  intros A da f ks l H.
  apply Nat.le_trans with (cells (list_eq_dec answer_dec) (vector (map cell_at ks)) l).
  - apply cells_decided. intros x y Hx Hy E. apply H; auto. intros k Hk.
    unfold vector in E. rewrite !map_map in E. exact (map_eq_In _ _ ks k E Hk).
  - eapply Nat.le_trans; [apply cells_vector|]. clear H.
    induction ks as [|k ks IH]; simpl; auto. now apply Nat.mul_le_mono_l.
Qed.

Lemma columns_spots_sound : forall q l, on_columns q -> counted q l ->
  cells Z.eq_dec (dir q) l <= columns_spots q l.
Proof.
  intros q l On _. apply cells_columns. intros x y _ _ H. now apply dir_decided.
Qed.

(** The same numbers, whether others are named beside a question or not. *)
Lemma product_map : forall {A C} (f : C -> nat) (m : A -> C) l,
  product f (map m l) = product (fun a => f (m a)) l.
Proof. intros. unfold product. induction l; simpl; auto. Qed.

Lemma product_ext_in : forall {A} (f g : A -> nat) l, (forall a, In a l -> f a = g a) ->
  product f l = product g l.
Proof.
  intros A f g l. unfold product. induction l as [|a l IH]; simpl; intros H; [reflexivity|].
  f_equal; auto.
Qed.

Lemma component_regions_map : forall {I J} (vec : J -> list Z) (amount : J -> nat) (m : I -> J) l,
  component_regions vec amount (map m l)
  = component_regions (fun i => vec (m i)) (fun i => amount (m i)) l.
Proof.
  intros I J vec amount m l. unfold component_regions, bundles.
  rewrite (groups_map (fun i j => parallel (vec (m i)) (vec (m j)))) by reflexivity.
  rewrite !map_map. f_equal. apply map_ext. intros g. unfold members. simpl.
  change (m (fst g) :: map m (snd g)) with (map m (fst g :: snd g)). now rewrite total_map.
Qed.

Lemma all_regions_map : forall {I J} (vec : J -> list Z) (amount : J -> nat) cap (m : I -> J) l,
  all_regions vec amount cap (map m l)
  = all_regions (fun i => vec (m i)) (fun i => amount (m i)) (fun c => cap (map m c)) l.
Proof.
  intros I J vec amount cap m l. unfold all_regions, loud_items.
  assert (filter (fun i => negb (amount i =? 0)) (map m l)
    = map m (filter (fun i => negb (amount (m i) =? 0)) l)) as ->.
  { induction l as [|i l IH]; simpl; auto. destruct (amount (m i) =? 0); simpl; congruence. }
  rewrite components_map, product_map. apply product_ext_in. intros c _.
  now rewrite component_regions_map.
Qed.

Lemma cut_same : forall {X A} (u v : X -> Z) (f : X -> A) xs n,
  (forall x, In x xs -> u x = v x) -> cut v f xs n -> cut u f xs n.
Proof.
  intros X A u v f xs n E C. apply cut_along with (v := v); auto.
  left. intros x y Hx Hy L. now rewrite <- !E.
Qed.

Lemma columns_outputs_sound : forall (qos : list (question * others)) l
    (f : question * others -> row -> option Z),
  (forall qo, In qo qos -> on_columns (fst qo) /\ counted (fst qo) l) ->
  (forall qo, In qo qos -> cut (dir (fst qo)) (f qo) l (crossings (fst qo) l)) ->
  cells (list_eq_dec answer_dec) (vector (map f qos)) l <= columns_outputs (map fst qos) l.
Proof.
  intros qos l f On C. unfold columns_outputs. apply Nat.min_glb; [apply cells_points|].
  rewrite all_regions_map. apply (all_regions_sound _ _ answer_dec code_at f l).
  - intros qo Hq. destruct (On qo Hq) as [[_ D] _].
    apply cut_same with (v := dir (fst qo)); auto. intros x _. unfold height. now rewrite D.
  - intros c Hc. apply cells_columns. intros x y Hx Hy H.
    unfold vector. rewrite !map_map. apply map_ext_in. intros qo Hq.
    destruct (C qo (Hc qo Hq)) as [ts [_ D]]. apply D; auto.
    assert (E : dir (fst qo) x = dir (fst qo) y).
    { apply dir_decided; [apply On; auto|]. intros k Hk. apply H. unfold supports.
      apply nodup_In, in_concat. exists (support (coefs (fst qo))). split; auto.
      rewrite !map_map. apply in_map_iff. exists qo. auto. }
    intros t _. now rewrite E.
Qed.

Definition lifted_code (p : option row) (k : nat) : Z :=
  match p with None => 0%Z | Some x => match k with O => 1%Z | S j => code_at x j end end.

Lemma dot_zero : forall v k, dot v k (fun _ => 0%Z) = 0%Z.
Proof. induction v as [|c v IH]; intros k; simpl; auto. rewrite IH. lia. Qed.

Lemma dot_times : forall s v k (p : nat -> Z), dot (map (Z.mul s) v) k p = (s * dot v k p)%Z.
Proof. intros s. induction v as [|c v IH]; intros k p; cbn [map dot]; [lia|]. rewrite IH. lia. Qed.

Lemma dot_tail : forall v k (p : nat -> Z), dot v (S k) p = dot v k (fun i => p (S i)).
Proof. induction v as [|c v IH]; intros k p; simpl; auto. now rewrite IH. Qed.

Lemma lift_dot : forall q p, on_columns q -> lift q p = dot (lifted_coefs q) 0 (lifted_code p).
Proof.
  intros q [x|] [_ D]; unfold lifted_coefs; cbn [dot]; rewrite dot_times, dot_tail; simpl lift.
  - unfold value. rewrite D.
    change (fun i => lifted_code (Some x) (S i)) with (code_at x).
    change (lifted_code (Some x) 0) with 1%Z. ring.
  - unfold lifted_code. rewrite dot_zero. ring.
Qed.

Lemma columns_beyond_sound : forall (qos : list (question * others)) l
    (f : question * others -> option row -> option Z),
  (forall qo, In qo qos -> on_columns (fst qo) /\ counted (fst qo) l) ->
  (forall qo, In qo qos -> cut (lift (fst qo)) (f qo) (with_zero l) (zero_crossings (fst qo) l)) ->
  cells (list_eq_dec answer_dec) (vector (map f qos)) (with_zero l)
    <= 1 + columns_beyond (map fst qos) l.
Proof.
  intros qos l f On C. unfold columns_beyond. rewrite all_regions_map.
  match goal with |- _ <= 1 + (?n - 1) => apply Nat.le_trans with n; [|lia] end.
  assert (H : forall qo, In qo qos -> cut (height (fun i => lifted_coefs (fst i)) lifted_code qo)
    (f qo) (with_zero l) (zero_crossings (fst qo) l)).
  { intros qo Hq. apply cut_same with (v := lift (fst qo)); auto.
    intros p _. unfold height. symmetry. apply lift_dot. now apply On. }
  apply (all_regions_sound _ _ answer_dec lifted_code f (with_zero l)); auto.
  intros c Hc. rewrite component_regions_map.
  apply (component_sound _ _ answer_dec lifted_code f (with_zero l)). auto.
Qed.

(** The price of questions that may share columns. *)
Definition columns_part : list question -> list row -> nat :=
  price columns_spots columns_outputs columns_beyond.

(** ** Questions as plain data *)
Definition leaf := (nat * (list (Z * Z) * bool))%type.
Record query := Query {
  s_stat : statistic;
  s_terms : list (list leaf);
  s_coefs : list Z;
  s_scale : Z;
  s_shift : Z;
  s_over : Z;
  s_under : Z;
  s_least : Z;
  s_most : Z;
  s_num : Z;
  s_den : Z
}.
Definition leaf_dec : decidable_equality leaf.
Proof.
  unfold decidable_equality. intros a b. decide equality; [|apply Nat.eq_dec].
  decide equality; [apply bool_dec|]. apply list_eq_dec. intros u v. decide equality; apply Z.eq_dec.
Defined.
Definition query_dec : decidable_equality query.
Proof.
  unfold decidable_equality. intros a b. decide equality; try apply Z.eq_dec.
  - apply list_eq_dec, Z.eq_dec.
  - apply list_eq_dec, list_eq_dec, leaf_dec.
  - decide equality.
Defined.

Definition leaf_holds (x : row) (t : leaf) : bool :=
  match cell_at (fst t) x with
  | Some c => existsb (fun r => (fst r <=? c)%Z && (c <=? snd r)%Z) (fst (snd t))
  | None => snd (snd t)
  end.
Definition present (x : row) (k : nat) : bool :=
  match cell_at k x with Some _ => true | None => false end.
Definition query_counts (s : query) (x : row) : bool :=
  match x with
  | None => false
  | Some _ => existsb (forallb (leaf_holds x)) (s_terms s) && forallb (present x) (support (s_coefs s))
  end.
Definition sense (s : query) : question :=
  Question row (s_stat s) (query_counts s) (fun x => dot (s_coefs s) 0 (code_at x)) (s_scale s)
    (s_shift s) (s_over s) (s_under s) (s_least s) (s_most s) (place_of (s_num s) (s_den s)) (s_coefs s).
Definition well_formed_query (s : query) : Prop :=
  (0 < s_over s /\ 0 < s_under s /\ s_scale s <> 0 /\ 0 < s_den s /\ 0 <= s_num s <= s_den s)%Z.

Lemma well_formed_sense : forall s, well_formed_query s -> on_columns (sense s).
Proof.
  intros s (O & U & S & D & N). split; [|reflexivity]. repeat split; simpl; auto.
  intros n Hn. unfold place_of.
  assert (ceil (s_num s * Z.of_nat n) (s_den s) <= Z.of_nat n)%Z by (apply ceil_least; nia). lia.
Qed.

(** The columns that a question looks at; nothing else of a row matters to it. *)
Definition touched (s : query) : list nat := map fst (concat (s_terms s)) ++ support (s_coefs s).
Definition project (ks : list nat) (x : row) : row :=
  match x with
  | None => None
  | Some l => Some (map (fun k => if in_dec Nat.eq_dec k ks then nth k l None else None)
                        (seq 0 (length l)))
  end.

Lemma cell_project : forall ks x k, In k ks -> cell_at k (project ks x) = cell_at k x.
Proof.
  intros ks [l|] k H; simpl; auto.
  destruct (le_lt_dec (length l) k) as [G|L].
  - rewrite !nth_overflow; auto. now rewrite map_length, seq_length.
  - rewrite (nth_indep _ None ((fun k => if in_dec Nat.eq_dec k ks then nth k l None else None) 0))
      by (rewrite map_length, seq_length; lia).
    rewrite (map_nth (fun k => if in_dec Nat.eq_dec k ks then nth k l None else None)).
    rewrite seq_nth by lia. simpl. destruct (in_dec Nat.eq_dec k ks); tauto.
Qed.

Lemma project_counts : forall s ks x, incl (touched s) ks ->
  query_counts s (project ks x) = query_counts s x.
Proof.
  intros s ks x I. destruct x as [l|]; [|reflexivity].
  change (query_counts s (project ks (Some l))) with
    (existsb (forallb (leaf_holds (project ks (Some l)))) (s_terms s)
      && forallb (present (project ks (Some l))) (support (s_coefs s))).
  unfold query_counts. f_equal.
  - assert (H : forall ts, incl ts (s_terms s) -> existsb (forallb (leaf_holds (project ks (Some l)))) ts
      = existsb (forallb (leaf_holds (Some l))) ts).
    { induction ts as [|t ts IH]; intros It; cbn [existsb]; auto. f_equal.
      - assert (Ht : incl t (concat (s_terms s))).
        { intros e He. apply in_concat. exists t. split; auto. apply It. now left. }
        clear -Ht I. induction t as [|e t IH]; cbn [forallb]; auto. f_equal.
        + unfold leaf_holds. rewrite cell_project; auto. apply I. unfold touched. apply in_app_iff.
          left. apply in_map. apply Ht. now left.
        + apply IH. intros d Hd. apply Ht. now right.
      - apply IH. intros t' H'. apply It. now right. }
    apply H. intros t Ht. exact Ht.
  - assert (H : forall js, incl js (support (s_coefs s)) ->
      forallb (present (project ks (Some l))) js = forallb (present (Some l)) js).
    { induction js as [|j js IH]; intros Ij; cbn [forallb]; auto. f_equal.
      - unfold present. rewrite cell_project; auto. apply I. unfold touched. apply in_app_iff.
        right. apply Ij. now left.
      - apply IH. intros i Hi. apply Ij. now right. }
    apply H. intros k Hk. exact Hk.
Qed.

Lemma project_value : forall s ks x, incl (touched s) ks ->
  value (sense s) (project ks x) = value (sense s) x.
Proof.
  intros s ks x I. unfold value. simpl. do 2 f_equal. apply dot_ext. intros k Hk N.
  unfold code_at. rewrite cell_project; auto. apply I. unfold touched. apply in_app_iff. right.
  apply in_support. auto.
Qed.

Lemma project_same : forall s o ks x, incl (touched s) ks ->
  output (sense s, o) (project ks x) = output (sense s, o) x /\
  (declared (sense s) o x -> declared (sense s) o (project ks x)).
Proof.
  intros s o ks x I. pose proof (project_counts s ks x I) as C. pose proof (project_value s ks x I) as V.
  assert (Cn : counts (sense s) (project ks x) = counts (sense s) x) by exact C.
  assert (A : adds (sense s) (project ks x) = adds (sense s) x) by (unfold adds; now rewrite Cn, V).
  assert (W : rows (sense s) o (project ks x) = rows (sense s) o x) by (unfold rows; now rewrite Cn, V).
  split.
  - unfold output, truth, answer. cbn [fst snd]. now rewrite Cn, A, W.
  - unfold declared. now rewrite A, W.
Qed.

(** ** The price: groups without a common column multiply *)
(** Coordinate 0 stands for "no column", so that such questions form one group. *)
Definition marks (s : query) : list Z :=
  match touched s with
  | [] => [1%Z]
  | t => map (fun k => match k with
                       | O => 0%Z
                       | S j => if in_dec Nat.eq_dec j t then 1%Z else 0%Z
                       end) (seq 0 (2 + fold_right max 0 t))
  end.
Definition group_columns (c : list query) : list nat := concat (map touched c).
Definition group_domain (c : list query) (dom : list row) : list row :=
  nodup row_dec (map (project (group_columns c)) dom).
Definition group_price (c : list query) (dom : list row) : nat :=
  columns_part (map sense c) (group_domain c dom).
(** Silent questions are left out first; they would only link others. *)
Definition heard (b : list query) : list query := filter (fun s => negb (silent (sense s))) b.
Definition columns_price (b : list query) (dom : list row) : nat :=
  product (fun c => group_price c dom) (components marks (heard b)).
Definition columns_price_absent (b : list query) (dom : list row) : nat :=
  min (1 + columns_price b dom) (columns_price b (dom ++ [None])).

Definition fair_query (dom : list row) (so : query * others) : Prop :=
  well_formed_query (fst so) /\ fair dom (sense (fst so), snd so).
Definition queries_outputs (sos : list (query * others)) (x : row) : list (bool * option Z) :=
  outputs (map (fun so => (sense (fst so), snd so)) sos) x.
Definition queries_answers (sos : list (query * others)) (x : row) : list (option Z) :=
  map (fun so => answer (sense (fst so)) (snd so) x) sos.

Lemma group_sound : forall sos dom, (forall so, In so sos -> fair_query dom so) ->
  cells outputs_dec (queries_outputs sos) dom <= group_price (map fst sos) dom.
Proof.
  intros sos dom H. unfold group_price, columns_part.
  set (ks := group_columns (map fst sos)). set (dom' := group_domain (map fst sos) dom).
  set (qos := map (fun so => (sense (fst so), snd so)) sos).
  replace (map sense (map fst sos)) with (map fst qos) by (unfold qos; rewrite !map_map; reflexivity).
  assert (I : forall so, In so sos -> incl (touched (fst so)) ks).
  { intros so Hs k Hk. unfold ks, group_columns. apply in_concat. exists (touched (fst so)).
    split; auto. rewrite map_map. apply in_map_iff. exists so. auto. }
  apply Nat.le_trans with (cells outputs_dec (fun x => queries_outputs sos (project ks x)) dom).
  { apply cells_decided. intros x y _ _ E. unfold queries_outputs, outputs in *.
    rewrite !map_map in *. apply map_ext_in. intros so Hs.
    pose proof (map_eq_In _ _ sos so E Hs) as K. simpl in K.
    destruct (project_same (fst so) (snd so) ks x (I so Hs)) as [Ex _].
    destruct (project_same (fst so) (snd so) ks y (I so Hs)) as [Ey _]. congruence. }
  rewrite <- (cells_map outputs_dec (queries_outputs sos) (project ks)).
  apply Nat.le_trans with (cells outputs_dec (outputs qos) dom').
  { apply cells_incl. intros x Hx. unfold dom', group_domain. now apply nodup_In. }
  apply (price_tells columns_spots columns_outputs columns_beyond on_columns).
  - apply columns_spots_sound.
  - apply columns_outputs_sound.
  - apply columns_beyond_sound.
  - intros qo Hq. unfold qos in Hq. apply in_map_iff in Hq. destruct Hq as [so [<- Hs]].
    destruct (H so Hs) as [W [V [Rs Rg]]]. split; [now apply well_formed_sense|].
    split; [|split]; auto. intros x Hx. unfold dom', group_domain in Hx. apply nodup_In in Hx.
    apply in_map_iff in Hx. destruct Hx as [y [<- Hy]]. simpl.
    apply project_same; auto.
Qed.

Theorem columns_told : forall sos dom, (forall so, In so sos -> fair_query dom so) ->
  cells outputs_dec (queries_outputs sos) dom <= columns_price (map fst sos) dom.
Proof.
  intros sos dom H. unfold columns_price.
  set (some := filter (fun so => negb (silent (sense (fst so)))) sos).
  assert (heard (map fst sos) = map fst some) as ->
    by (unfold heard, some; symmetry; exact (filter_fst (fun s => negb (silent (sense s))) sos)).
  rewrite components_map, product_map.
  set (comps := components (fun so : query * others => marks (fst so)) some).
  assert (Sub : forall c so, In c comps -> In so c -> In so sos).
  { intros c so Hc Hs. assert (In so some) as K
      by (apply (components_all (fun so : query * others => marks (fst so))); exists c; auto).
    unfold some in K. apply filter_In in K. tauto. }
  apply Nat.le_trans with (cells (list_eq_dec outputs_dec) (vector (map queries_outputs comps)) dom).
  - apply cells_decided. intros x y Hx Hy E. unfold queries_outputs at 1 2. unfold outputs.
    rewrite !map_map. apply map_ext_in. intros [s o] Hs. simpl.
    destruct (silent (sense s)) eqn:Si.
    + destruct (H _ Hs) as [_ [V [_ Rg]]]. simpl in *. unfold output, truth. cbn [fst snd].
      rewrite !silent_answer by auto. f_equal.
      unfold tells, silent, is_order in *. destruct (stat (sense s)); auto.
      * destruct (constant (sense s)); auto. discriminate.
      * destruct (constant (sense s)); discriminate.
    + assert (In (s, o) some) as K by (apply filter_In; simpl; rewrite Si; auto).
      apply (components_all (fun so : query * others => marks (fst so))) in K.
      destruct K as [c [Hc Hi]]. fold comps in Hc. unfold vector in E. rewrite !map_map in E.
      pose proof (map_eq_In _ _ comps c E Hc) as Ec. simpl in Ec.
      unfold queries_outputs, outputs in Ec. rewrite !map_map in Ec.
      exact (map_eq_In _ _ c (s, o) Ec Hi).
  - eapply Nat.le_trans; [apply (cells_vector outputs_dec)|].
    clearbody comps. induction comps as [|c comps IH]; simpl; auto.
    apply Nat.mul_le_mono.
    + apply group_sound. intros so Hs. apply H. apply (Sub c); auto. now left.
    + apply IH. intros d so Hd. apply Sub. now right.
Qed.

Theorem columns_sound : forall sos dom, (forall so, In so sos -> fair_query dom so) ->
  cells answers_dec (queries_answers sos) dom <= columns_price (map fst sos) dom.
Proof.
  intros sos dom H. eapply Nat.le_trans; [|now apply columns_told].
  apply cells_decided. intros x y _ _ E. unfold queries_answers, queries_outputs, outputs in *.
  rewrite !map_map in E. apply map_ext_in. intros so Hs.
  pose proof (map_eq_In _ _ sos so E Hs) as K. unfold output in K. simpl in K. congruence.
Qed.

Theorem columns_absent_sound : forall sos dom,
  (forall so, In so sos -> fair_query (dom ++ [None]) so) ->
  cells answers_dec (queries_answers sos) (dom ++ [None]) <= columns_price_absent (map fst sos) dom.
Proof.
  intros sos dom H. unfold columns_price_absent. apply Nat.min_glb; [|now apply columns_sound].
  eapply Nat.le_trans; [apply cells_app|].
  assert (cells answers_dec (queries_answers sos) [None] <= 1) by (apply (cells_points answers_dec _ [None])).
  assert (cells answers_dec (queries_answers sos) dom <= columns_price (map fst sos) dom); [|lia].
  apply columns_sound. intros so Hs. destruct (H so Hs) as [W Fr]. split; auto.
  apply fair_incl with (dom ++ [None]); auto. intros x Hx. apply in_app_iff. auto.
Qed.

(** ** The promise for several private columns *)
Section Promise.
Variable dom : list row.
Variable everybody : query -> others.
Variable ask : unit -> history query (option Z) -> list query.
Variable admit : unit -> history query (option Z) -> list query -> bool.
Variable K : nat.
Definition reply_row (s : query) (x : row) : option Z := answer (sense s) (everybody s) x.
Definition columns_due (h : history query (option Z)) (b : list query) : nat :=
  fresh_price query_dec (fun b => columns_price b dom) h b.
Hypothesis positive : 1 <= K.
Hypothesis within : forall o h b, admit o h b = true -> paid h * columns_due h b <= K.
Hypothesis checked : forall o h b s, admit o h b = true -> In s b -> fair_query dom (s, everybody s).

Theorem promise_columns : forall n,
  cells (seen_dec unit_dec query_dec answer_dec)
        (seen (fun _ => tt) reply_row ask columns_due admit n) dom <= K.
Proof.
  intros n.
  apply (accountant unit_dec query_dec answer_dec dom (fun _ => tt) reply_row ask
           (fun b => columns_price b dom) admit (fun s => fair_query dom (s, everybody s)) 1 K).
  - apply cells_constant. reflexivity.
  - exact positive.
  - intros o h b Ad. rewrite Nat.mul_1_l. now apply within with o.
  - exact checked.
  - intros b o Legal. set (sos := map (fun s => (s, everybody s)) b).
    assert (map fst sos = b) as E by (unfold sos; rewrite map_map; apply map_id).
    apply Nat.le_trans with (cells answers_dec (queries_answers sos) dom).
    + apply Nat.le_trans with (cells answers_dec (queries_answers sos) (part unit_dec (fun _ => tt) o dom)).
      * apply cells_decided. intros x y _ _ F. unfold Accountant.answers, queries_answers, sos in *.
        rewrite !map_map in F. exact F.
      * apply cells_incl. intros x Hx. apply in_part in Hx. tauto.
    + rewrite <- E. apply columns_sound. intros so Hs. unfold sos in Hs.
      apply in_map_iff in Hs. destruct Hs as [s [<- Hs]]. now apply Legal.
Qed.
End Promise.

(** ** Types: public and open columns beside the private ones *)
Section Types.
(** As in Hartley.v: a question leaves another question of the private columns at each type. *)
Context {T : Type} (dt : decidable_equality T).
Variables (types own : list T) (dom : list row).
Hypothesis own_types : incl own types.
Context {Q : Type} (dq : decidable_equality Q).
Variable at_type : T -> Q -> query.
Variable everybody : Q -> others.
Definition reply_of_type (q : Q) (p : T * row) : option Z :=
  answer (sense (at_type (fst p) q)) (everybody q) (snd p).
Definition types_price (b : list Q) : nat :=
  largest (fun t => columns_price (map (at_type t) b) dom) types.
Variable ask : T -> history Q (option Z) -> list Q.
Variable admit : T -> history Q (option Z) -> list Q -> bool.
Variables M K : nat.
Definition legal_of_type (q : Q) : Prop :=
  forall t, In t own -> fair_query dom (at_type t q, everybody q).
Hypothesis open_paid : length own <= M.
Hypothesis open_fits : M <= K.
Hypothesis within : forall t h b, admit t h b = true ->
  M * (paid h * fresh_price dq types_price h b) <= K.
Hypothesis checked : forall t h b q, admit t h b = true -> In q b -> legal_of_type q.

Theorem promise_columns_types : forall n,
  cells (seen_dec dt dq answer_dec)
        (seen fst reply_of_type ask (fresh_price dq types_price) admit n) (list_prod own dom) <= K.
Proof.
  intros n.
  apply (accountant dt dq answer_dec (list_prod own dom) fst reply_of_type ask types_price admit
           legal_of_type M K).
  - eapply Nat.le_trans; [|exact open_paid]. apply cells_within.
    intros [t x] H. apply in_prod_iff in H. tauto.
  - exact open_fits.
  - exact within.
  - exact checked.
  - intros b t Legal. set (here := part dt fst t (list_prod own dom)).
    destruct here as [|[t' x0] here'] eqn:Eh; [rewrite cells_nil; lia|]. rewrite <- Eh.
    assert (In t own) as Ht.
    { assert (In (t', x0) here) as Hp by (rewrite Eh; now left).
      apply in_part in Hp. destruct Hp as [Hp Es]. simpl in Es. subst. apply in_prod_iff in Hp. tauto. }
    set (sos := map (fun q => (at_type t q, everybody q)) b).
    apply Nat.le_trans with (cells answers_dec (queries_answers sos) dom).
    + apply Nat.le_trans with (cells answers_dec (fun p : T * row => queries_answers sos (snd p)) here).
      * apply cells_decided. intros x y Hx Hy F. apply in_part in Hx, Hy.
        destruct x as [s x], y as [r y], Hx as [_ Ex], Hy as [_ Ey]. simpl in Ex, Ey. subst s r.
        unfold Accountant.answers, queries_answers, sos, reply_of_type in *. rewrite !map_map in F.
        exact F.
      * rewrite <- (cells_map answers_dec (queries_answers sos) (fun p : T * row => snd p)).
        apply cells_incl. intros x Hx. apply in_map_iff in Hx. destruct Hx as [[s y] [<- Hp]].
        apply in_part in Hp. destruct Hp as [Hp _]. apply in_prod_iff in Hp. tauto.
    + eapply Nat.le_trans; [apply columns_sound|].
      * intros so Hs. unfold sos in Hs. apply in_map_iff in Hs. destruct Hs as [q [<- Hq]].
        now apply (Legal q).
      * assert (map fst sos = map (at_type t) b) as -> by (unfold sos; now rewrite map_map).
        apply (largest_le (fun t => columns_price (map (at_type t) b) dom)). auto.
Qed.
End Types.
