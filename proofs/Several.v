(** Several rows per person: sums and counts in cells, coarse counts of disjoint filters, counts that
    follow from told ones (rule N), and how many multisets of rows there are.

    THE MODEL. A person's data are a list of at most [r] rows, absent ones may be among them. A sum adds
    up what each row adds (0 where a row does not count); a count adds 1 for every row of its filter. [T]
    is what everybody else adds. The order of rows is never seen. *)
From Coq Require Import List Arith Lia ZArith Bool Permutation.
From Hartley Require Import Cells Grid.
Import ListNotations.
Local Open Scope Z_scope.

Section Rows.
Context {R : Type}.

Definition adds_up (V : R -> Z) (x : list R) : Z := fold_right (fun row sum => V row + sum) 0 x.
Definition one_if (f : R -> bool) (row : R) : Z := if f row then 1 else 0.
Definition number (f : R -> bool) (x : list R) : Z := adds_up (one_if f) x.

Lemma adds_up_between : forall V lo hi r x, lo <= 0 <= hi ->
  (forall row, In row x -> lo <= V row <= hi) -> (length x <= r)%nat ->
  Z.of_nat r * lo <= adds_up V x <= Z.of_nat r * hi.
Proof.
  intros V lo hi r x. revert r. induction x as [|row x IH]; intros r Around Each Few; [simpl; nia|].
  destruct r as [|r]; [simpl in Few; lia|].
  assert (lo <= V row <= hi) by (apply Each; now left).
  assert (Z.of_nat r * lo <= adds_up V x <= Z.of_nat r * hi).
  { apply IH; [auto| |simpl in Few; lia]. intros other Ho. apply Each. now right. }
  simpl adds_up. rewrite Nat2Z.inj_succ. lia.
Qed.

Lemma number_between : forall f x, 0 <= number f x <= Z.of_nat (length x).
Proof.
  intros f x. pose proof (adds_up_between (one_if f) 0 1 (length x) x). unfold number.
  assert (0 <= 0 <= 1) by lia. assert (forall row, In row x -> 0 <= one_if f row <= 1).
  { intros row _. unfold one_if. destruct (f row); lia. }
  specialize (H H0 H1 (le_n _)). lia.
Qed.

(** A sum of at most [r] rows: the hull of what a row adds and of nothing, [r] times. *)
Theorem several_sum : forall (V : R -> Z) T lo hi over under r people, 0 < over -> 0 < under ->
  (forall x row, In x people -> In row x -> lo <= V row <= hi) ->
  (forall x, In x people -> (length x <= r)%nat) ->
  (cells Z.eq_dec (fun x => cell over under (T + adds_up V x)) people
    <= Z.to_nat (1 + ceil (Z.of_nat r * (Z.max hi 0 - Z.min lo 0) * under) over))%nat.
Proof.
  intros V T lo hi over under r people Over Under Each Few.
  apply lone_sum with (lo := Z.of_nat r * Z.min lo 0); auto. intros x Hx.
  pose proof (adds_up_between V (Z.min lo 0) (Z.max hi 0) r x) as Between.
  assert (forall row, In row x -> Z.min lo 0 <= V row <= Z.max hi 0).
  { intros row Hr. pose proof (Each x row Hx Hr). lia. }
  specialize (Between ltac:(lia) H (Few x Hx)). nia.
Qed.

(** ** Coarse counts *)
(** How many rows a count needs at least to cross [j] boundaries of cells of [w]. *)
Definition need (w j : nat) : nat := match j with O => 0 | S k => 1 + k * w end.

(** A count in cells of [w]: 1 + ceil(r/w). *)
Theorem coarse_count : forall (f : R -> bool) T w r people, 0 < w ->
  (forall x, In x people -> (length x <= r)%nat) ->
  (cells Z.eq_dec (fun x => cell w 1 (T + number f x)) people <= Z.to_nat (1 + ceil (Z.of_nat r) w))%nat.
Proof.
  intros f T w r people Step Few.
  replace (Z.of_nat r) with (Z.of_nat r * 1) by lia. apply lone_sum with (lo := 0); try lia.
  intros x Hx. pose proof (number_between f x). specialize (Few x Hx). lia.
Qed.

(** What one counted question is: its filter, its step and the rows of everybody else. *)
Definition counted := ((R -> bool) * nat * Z)%type.
Definition filter_of (q : counted) : R -> bool := fst (fst q).
Definition step_of (q : counted) : nat := snd (fst q).
Definition count_cell (q : counted) (x : list R) : Z :=
  cell (Z.of_nat (step_of q)) 1 (snd q + number (filter_of q) x).
Definition crossed (q : counted) (x : list R) : nat :=
  Z.to_nat (count_cell q x - cell (Z.of_nat (step_of q)) 1 (snd q)).

(** All (j_1, .., j_m) that [room] rows can cross together. *)
Fixpoint coarse_vectors (steps : list nat) (room : nat) : list (list nat) :=
  match steps with
  | [] => [[]]
  | w :: others =>
      flat_map (fun j => map (cons j) (coarse_vectors others (room - need w j)))
        (filter (fun j => need w j <=? room)%nat (seq 0 (S room)))
  end.
Definition coarse_price (steps : list nat) (r : nat) : nat := length (coarse_vectors steps r).

Lemma count_rises : forall q x, (0 < step_of q)%nat ->
  cell (Z.of_nat (step_of q)) 1 (snd q) <= count_cell q x.
Proof.
  intros q x W. unfold count_cell. apply cell_rises; try lia.
  pose proof (number_between (filter_of q) x). lia.
Qed.

Lemma crossed_needs : forall q x, (0 < step_of q)%nat ->
  Z.of_nat (need (step_of q) (crossed q x)) <= number (filter_of q) x.
Proof.
  intros q x W. pose proof (number_between (filter_of q) x).
  pose proof (count_rises q x W). unfold crossed.
  remember (Z.to_nat (count_cell q x - cell (Z.of_nat (step_of q)) 1 (snd q))) as j eqn:J.
  destruct j as [|k]; [simpl; lia|]. unfold need.
  assert (count_cell q x = cell (Z.of_nat (step_of q)) 1 (snd q) + Z.of_nat (S k)) as E by lia.
  unfold count_cell, cell in E. set (w := Z.of_nat (step_of q)) in *. assert (0 < w) by lia.
  pose proof (Z.div_mod ((snd q + number (filter_of q) x) * 1) w).
  pose proof (Z.mod_pos_bound ((snd q + number (filter_of q) x) * 1) w).
  pose proof (Z.div_mod (snd q * 1) w). pose proof (Z.mod_pos_bound (snd q * 1) w). nia.
Qed.

Lemma need_at_least : forall w j, (0 < w)%nat -> (j <= need w j)%nat.
Proof. intros w [|k] W; simpl; nia. Qed.

Definition all_numbers (qs : list counted) (x : list R) : Z :=
  fold_right (fun q sum => number (filter_of q) x + sum) 0 qs.

Lemma crossed_fits : forall x qs room, (forall q, In q qs -> (0 < step_of q)%nat) ->
  all_numbers qs x <= Z.of_nat room ->
  In (map (fun q => crossed q x) qs) (coarse_vectors (map step_of qs) room).
Proof.
  intros x qs. induction qs as [|q qs IH]; intros room Steps Room; [now left|].
  change (number (filter_of q) x + all_numbers qs x <= Z.of_nat room) in Room.
  cbn [map coarse_vectors].
  assert (W : (0 < step_of q)%nat) by (apply Steps; now left).
  pose proof (crossed_needs q x W) as Needs. pose proof (need_at_least (step_of q) (crossed q x) W).
  assert (0 <= all_numbers qs x).
  { clear. induction qs as [|q qs IH]; simpl; [lia|].
    pose proof (number_between (filter_of q) x). lia. }
  apply in_flat_map. exists (crossed q x). split.
  - apply filter_In. split; [apply in_seq; lia|apply Nat.leb_le; lia].
  - apply in_map. apply IH; [intros p Hp; apply Steps; now right|lia].
Qed.

(** Filters of which a row satisfies one at most share the person's rows. *)
Lemma disjoint_numbers : forall qs x,
  (forall row, In row x -> fold_right (fun q sum => one_if (filter_of q) row + sum) 0 qs <= 1) ->
  all_numbers qs x <= Z.of_nat (length x).
Proof.
  intros qs x. induction x as [|row x IH]; intros Once.
  - clear. induction qs as [|q qs IH]; simpl in *; [lia|]. unfold number in *. simpl. lia.
  - assert (all_numbers qs (row :: x)
      = fold_right (fun q sum => one_if (filter_of q) row + sum) 0 qs + all_numbers qs x) as ->.
    { clear. induction qs as [|q qs IH]; simpl; [reflexivity|]. rewrite IH. unfold number. simpl. lia. }
    specialize (IH (fun other Ho => Once other (or_intror Ho))).
    pose proof (Once row (or_introl eq_refl)). simpl length. lia.
Qed.

Definition counts_dec : decidable_equality (list Z) := list_eq_dec Z.eq_dec.
Theorem coarse_counts : forall (qs : list counted) r people,
  (forall q, In q qs -> (0 < step_of q)%nat) ->
  (forall x row, In x people -> In row x ->
    fold_right (fun q sum => one_if (filter_of q) row + sum) 0 qs <= 1) ->
  (forall x, In x people -> (length x <= r)%nat) ->
  (cells counts_dec (fun x => map (fun q => count_cell q x) qs) people
    <= coarse_price (map step_of qs) r)%nat.
Proof.
  intros qs r people Steps Once Few.
  apply Nat.le_trans with
    (cells (list_eq_dec Nat.eq_dec) (fun x => map (fun q => crossed q x) qs) people).
  - apply cells_decided. intros x y _ _ E. apply map_ext_in. intros q Hq.
    assert (crossed q x = crossed q y) as C.
    { clear -E Hq. induction qs as [|p qs IH]; [destruct Hq|].
      simpl in E. injection E as E1 E2. destruct Hq as [<-|Hq]; auto. }
    pose proof (count_rises q x (Steps q Hq)). pose proof (count_rises q y (Steps q Hq)).
    unfold crossed in C. lia.
  - apply cells_within. intros x Hx. apply crossed_fits; auto.
    pose proof (disjoint_numbers qs x (fun row => Once x row Hx)). specialize (Few x Hx). lia.
Qed.

(** ** Rule N: a count whose filter is a combination of told ones is known. *)
Definition combined (terms : list (Z * (R -> bool))) (row : R) : Z :=
  fold_right (fun term sum => fst term * one_if (snd term) row + sum) 0 terms.

Lemma combined_numbers : forall terms x,
  adds_up (combined terms) x = fold_right (fun term sum => fst term * number (snd term) x + sum) 0 terms.
Proof.
  induction terms as [|[c f] terms IH]; intros x.
  - simpl. induction x as [|row x IHx]; simpl in *; auto.
  - simpl. rewrite <- IH. unfold number. induction x as [|row x IHx]; simpl in *; [lia|].
    rewrite IHx. ring.
Qed.

Theorem linear_count : forall d f terms x y, d <> 0 ->
  (forall row, In row x \/ In row y -> d * one_if f row = combined terms row) ->
  (forall term, In term terms -> number (snd term) x = number (snd term) y) ->
  number f x = number f y.
Proof.
  intros d f terms x y D Row Told.
  assert (Along : forall z, (forall row, In row z -> d * one_if f row = combined terms row) ->
    d * number f z = adds_up (combined terms) z).
  { intros z. unfold number. induction z as [|row z IH]; intros H; simpl; [lia|].
    rewrite <- H by now left. rewrite <- IH by (intros other Ho; apply H; now right). ring. }
  assert (d * number f x = d * number f y) as E; [|nia].
  rewrite !Along by (intros row Hr; apply Row; tauto). rewrite !combined_numbers.
  clear -Told. induction terms as [|term terms IH]; simpl; auto.
  rewrite (Told term) by now left. rewrite IH by (intros other Ho; apply Told; now right). reflexivity.
Qed.

(** ** Multisets of rows *)
Local Open Scope nat_scope.
Variable same_row : decidable_equality R.

Fixpoint multisets (points : list R) : nat -> list (list R) :=
  match points with
  | [] => fun r => match r with O => [[]] | S _ => [] end
  | p :: others => fix of_size (r : nat) : list (list R) :=
      match r with
      | O => [[]]
      | S k => map (cons p) (of_size k) ++ multisets others (S k)
      end
  end.
(** C(p + r - 1, r) by its recursion. *)
Fixpoint multichoose (p : nat) : nat -> nat :=
  match p with
  | O => fun r => match r with O => 1 | S _ => 0 end
  | S q => fix of_size (r : nat) : nat :=
      match r with O => 1 | S k => of_size k + multichoose q (S k) end
  end.

Lemma multisets_length : forall points r, length (multisets points r) = multichoose (length points) r.
Proof.
  induction points as [|p points IH]; intros r; [now destruct r|].
  induction r as [|k IHk]; [reflexivity|].
  change (multisets (p :: points) (S k))
    with (map (cons p) (multisets (p :: points) k) ++ multisets points (S k)).
  rewrite app_length, map_length, IHk, IH. reflexivity.
Qed.

Lemma multisets_all : forall points r x, length x = r -> incl x points ->
  exists sorted, In sorted (multisets points r) /\ Permutation x sorted.
Proof.
  induction points as [|p points IH]; intros r x L I.
  - destruct x as [|row x]; [|destruct (I row (or_introl eq_refl))].
    subst r. exists []. split; [now left|constructor].
  - revert x L I. induction r as [|k IHk]; intros x L I.
    { destruct x; [|discriminate]. exists []. split; [now left|constructor]. }
    change (multisets (p :: points) (S k))
      with (map (cons p) (multisets (p :: points) k) ++ multisets points (S k)).
    destruct (in_dec same_row p x) as [Hp|Np].
    + apply in_split in Hp. destruct Hp as [before [after ->]].
      destruct (IHk (before ++ after)) as [sorted [Hs Ps]].
      { rewrite app_length in *. simpl in L. lia. }
      { intros row Hr. apply I. apply in_app_iff in Hr. apply in_app_iff. simpl. tauto. }
      exists (p :: sorted). split.
      { apply in_app_iff. left. now apply in_map. }
      transitivity (p :: before ++ after); [symmetry; apply Permutation_middle|now constructor].
    + destruct (IH (S k) x L) as [sorted [Hs Ps]].
      { intros row Hr. destruct (I row Hr) as [<-|]; auto. contradiction. }
      exists sorted. split; auto. apply in_app_iff. now right.
Qed.

(** Whatever does not look at the order of rows has at most as many values as there are multisets. *)
Theorem several_points : forall {A} (da : decidable_equality A) (f : list R -> A) points r people,
  (forall x y, Permutation x y -> f x = f y) ->
  (forall x, In x people -> length x = r /\ incl x points) ->
  cells da f people <= multichoose (length points) r.
Proof.
  intros A da f points r people Order Each. rewrite <- multisets_length.
  rewrite <- (map_length f). apply cells_within. intros x Hx. destruct (Each x Hx) as [L I].
  destruct (multisets_all points r x L I) as [sorted [Hs Ps]].
  rewrite (Order x sorted Ps). now apply in_map.
Qed.
End Rows.
