(** How many different values a function takes on a list, and how such numbers add and multiply. *)
From Coq Require Import List Arith Lia ZArith Bool.
Import ListNotations.

Definition decidable_equality (A : Type) := forall a b : A, {a = b} + {a <> b}.

(** [cells dec f xs]: how many different values [f] has on [xs]. *)
Definition cells {X A : Type} (dec : decidable_equality A) (f : X -> A) (xs : list X) : nat :=
  length (nodup dec (map f xs)).

(** Those of [xs] on which [f] has the value [a]. *)
Definition part {X A : Type} (dec : decidable_equality A) (f : X -> A) (a : A) (xs : list X) :=
  filter (fun x => if dec (f x) a then true else false) xs.

Definition total {A : Type} (f : A -> nat) (l : list A) : nat := list_sum (map f l).
Definition product {A : Type} (f : A -> nat) (l : list A) : nat :=
  fold_right (fun a n => f a * n) 1 l.

Section One.
Context {X A : Type} (dec : decidable_equality A).

Lemma in_part : forall (f : X -> A) a x xs, In x (part dec f a xs) <-> In x xs /\ f x = a.
Proof.
  intros f a x xs. unfold part. rewrite filter_In.
  destruct (dec (f x) a); intuition congruence.
Qed.

(** Values that all lie in a list are no more than the list is long. *)
Lemma cells_within : forall (f : X -> A) xs ys,
  (forall x, In x xs -> In (f x) ys) -> cells dec f xs <= length ys.
Proof.
  intros f xs ys H. apply NoDup_incl_length. { apply NoDup_nodup. }
  intros a Ha. apply nodup_In in Ha. apply in_map_iff in Ha. destruct Ha as [x [E Hx]].
  subst. auto.
Qed.

Lemma cells_points : forall (f : X -> A) xs, cells dec f xs <= length xs.
Proof.
  intros. rewrite <- (map_length f xs). apply cells_within. intros. now apply in_map.
Qed.

Lemma cells_nil : forall f : X -> A, cells dec f [] = 0.
Proof. reflexivity. Qed.

Lemma cells_positive : forall (f : X -> A) x xs, In x xs -> 1 <= cells dec f xs.
Proof.
  intros f x xs H. unfold cells.
  assert (In (f x) (nodup dec (map f xs))) by (apply nodup_In; now apply in_map).
  destruct (nodup dec (map f xs)); simpl in *; [contradiction | lia].
Qed.

Lemma cells_constant : forall (f : X -> A) xs,
  (forall x y, In x xs -> In y xs -> f x = f y) -> cells dec f xs <= 1.
Proof.
  intros f [|x xs] H; [cbn; lia|].
  apply (cells_within f (x :: xs) [f x]). intros y Hy. left. apply H; simpl; auto.
Qed.

Lemma cells_incl : forall (f : X -> A) xs ys, incl xs ys -> cells dec f xs <= cells dec f ys.
Proof.
  intros f xs ys H. apply cells_within. intros x Hx. apply nodup_In, in_map; auto.
Qed.

Lemma cells_app : forall (f : X -> A) xs ys,
  cells dec f (xs ++ ys) <= cells dec f xs + cells dec f ys.
Proof.
  intros. unfold cells at 2 3. rewrite <- app_length. apply cells_within.
  intros x Hx. apply in_app_iff. rewrite !nodup_In. apply in_app_iff in Hx.
  destruct Hx; [left | right]; now apply in_map.
Qed.

Lemma cells_ext : forall (f g : X -> A) xs,
  (forall x, In x xs -> f x = g x) -> cells dec f xs = cells dec g xs.
Proof. intros. unfold cells. f_equal. f_equal. now apply map_ext_in. Qed.

(** A list of representatives: one for every value. *)
Lemma representatives : forall (f : X -> A) xs, exists rs,
  incl rs xs /\ length rs = cells dec f xs /\ map f rs = nodup dec (map f xs).
Proof.
  intros f xs.
  assert (G : forall l, incl l (map f xs) -> exists rs, incl rs xs /\ map f rs = l).
  { induction l as [|a l IH]; intros H.
    - exists []. split; [intros ? [] | reflexivity].
    - destruct IH as [rs [I E]]. { intros b Hb. apply H. now right. }
      assert (In a (map f xs)) as Ha by (apply H; now left).
      apply in_map_iff in Ha. destruct Ha as [x [Ex Hx]].
      exists (x :: rs). split; [|simpl; congruence].
      intros y [<-|Hy]; auto. }
  destruct (G (nodup dec (map f xs))) as [rs [I E]].
  { intros a Ha. now apply nodup_In in Ha. }
  exists rs. repeat split; auto. unfold cells. now rewrite <- E, map_length.
Qed.
End One.

(** A function that another one decides has no more values. *)
Lemma cells_decided : forall {X A B} (da : decidable_equality A) (db : decidable_equality B)
    (f : X -> A) (g : X -> B) xs,
  (forall x y, In x xs -> In y xs -> g x = g y -> f x = f y) -> cells da f xs <= cells db g xs.
Proof.
  intros X A B da db f g xs H.
  destruct (representatives da f xs) as [rs [I [L E]]]. rewrite <- L.
  assert (N : NoDup (map g rs)).
  { assert (NoDup (map f rs)) as F by (rewrite E; apply NoDup_nodup).
    clear L E. induction rs as [|r rs IH]; [constructor|].
    simpl in *. inversion F as [|? ? F1 F2]; subst. constructor.
    - intros Hr. apply F1. apply in_map_iff in Hr. destruct Hr as [s [Es Hs]].
      apply in_map_iff. exists s. split; auto. apply H; auto; apply I; simpl; auto.
    - apply IH; auto. intros y Hy. apply I. now right. }
  rewrite <- (map_length g rs). apply NoDup_incl_length; auto.
  intros b Hb. apply nodup_In. apply in_map_iff in Hb. destruct Hb as [r [<- Hr]].
  apply in_map. auto.
Qed.

(** The same number, whichever way values are compared. *)
Lemma cells_same : forall {X A} (d e : decidable_equality A) (f : X -> A) xs,
  cells d f xs = cells e f xs.
Proof. intros. apply Nat.le_antisymm; apply cells_decided; auto. Qed.

(** Along a map of the points. *)
Lemma cells_map : forall {X Y A} (da : decidable_equality A) (f : Y -> A) (m : X -> Y) xs,
  cells da f (map m xs) = cells da (fun x => f (m x)) xs.
Proof. intros. unfold cells. now rewrite map_map. Qed.

Lemma total_le : forall {A} (f g : A -> nat) l,
  (forall a, In a l -> f a <= g a) -> total f l <= total g l.
Proof.
  intros A f g l. unfold total. induction l as [|a l IH]; simpl; intros H; [lia|].
  pose proof (H a (or_introl eq_refl)). specialize (IH (fun b Hb => H b (or_intror Hb))). lia.
Qed.

Lemma total_const : forall {A} (f : A -> nat) l k,
  (forall a, In a l -> f a <= k) -> total f l <= length l * k.
Proof.
  intros A f l k. unfold total. induction l as [|a l IH]; simpl; intros H; [lia|].
  pose proof (H a (or_introl eq_refl)). specialize (IH (fun b Hb => H b (or_intror Hb))). lia.
Qed.

Lemma total_app : forall {A} (f : A -> nat) l m, total f (l ++ m) = total f l + total f m.
Proof. intros. unfold total. now rewrite map_app, list_sum_app. Qed.

Lemma total_map : forall {A B} (f : B -> nat) (g : A -> B) l,
  total f (map g l) = total (fun a => f (g a)) l.
Proof. intros. unfold total. now rewrite map_map. Qed.

(** A union has no more values than its members together. *)
Lemma cells_union : forall {X A I} (da : decidable_equality A) (f : X -> A)
    (member : I -> list X) (is : list I) xs,
  (forall x, In x xs -> exists i, In i is /\ In x (member i)) ->
  cells da f xs <= total (fun i => cells da f (member i)) is.
Proof.
  intros X A I da f member is xs H.
  apply Nat.le_trans with (cells da f (flat_map member is)).
  - apply cells_incl. intros x Hx. apply in_flat_map. auto.
  - clear H. unfold total. induction is as [|i is IH]; cbn [flat_map map list_sum fold_right].
    + rewrite cells_nil. lia.
    + pose proof (cells_app da f (member i) (flat_map member is)).
      unfold list_sum in *. simpl. lia.
Qed.

(** Atoms add: the values of [f] are at most the sum over the parts that [g] makes. *)
Lemma cells_sum_of_parts : forall {X A B} (da : decidable_equality A) (db : decidable_equality B)
    (f : X -> A) (g : X -> B) xs,
  cells da f xs <= total (fun b => cells da f (part db g b xs)) (nodup db (map g xs)).
Proof.
  intros. apply cells_union. intros x Hx. exists (g x). split.
  - apply nodup_In. now apply in_map.
  - now apply in_part.
Qed.

Definition pair_dec {A B} (da : decidable_equality A) (db : decidable_equality B) :
  decidable_equality (A * B).
Proof. unfold decidable_equality in *. decide equality. Defined.

(** Parts multiply. *)
Lemma cells_product : forall {X A B} (da : decidable_equality A) (db : decidable_equality B)
    (f : X -> A) (g : X -> B) xs,
  cells (pair_dec da db) (fun x => (f x, g x)) xs <= cells da f xs * cells db g xs.
Proof.
  intros. unfold cells at 2 3. rewrite <- prod_length. apply cells_within.
  intros x Hx. apply in_prod; apply nodup_In; now apply in_map.
Qed.

(** The same, read from the parts: [k] values of [g], and at most [m] of [f] in each. *)
Lemma cells_children : forall {X A B} (da : decidable_equality A) (db : decidable_equality B)
    (f : X -> A) (g : X -> B) xs m,
  (forall x, In x xs -> cells da f (part db g (g x) xs) <= m) ->
  cells da f xs <= cells db g xs * m.
Proof.
  intros X A B da db f g xs m H.
  eapply Nat.le_trans; [apply (cells_sum_of_parts da db f g)|].
  unfold cells at 2. apply total_const. intros b Hb. apply nodup_In in Hb.
  apply in_map_iff in Hb. destruct Hb as [x [<- Hx]]. auto.
Qed.

(** The answers to several questions. *)
Definition vector {X A} (fs : list (X -> A)) (x : X) : list A := map (fun f => f x) fs.

Lemma cells_vector : forall {X A} (da : decidable_equality A) (fs : list (X -> A)) xs,
  cells (list_eq_dec da) (vector fs) xs <= product (fun f => cells da f xs) fs.
Proof.
  intros X A da fs xs. induction fs as [|f fs IH]; simpl.
  - apply cells_constant. reflexivity.
  - eapply Nat.le_trans; [|apply Nat.mul_le_mono_l; exact IH].
    eapply Nat.le_trans; [|apply cells_product].
    apply cells_decided. intros x y _ _ E. injection E as E F. unfold vector in *. simpl. congruence.
Qed.

(** Whole numbers in a range. *)
Definition range (lo hi : Z) : list Z :=
  map (fun n => (lo + Z.of_nat n)%Z) (seq 0 (Z.to_nat (hi - lo + 1))).

Lemma in_range : forall lo hi z, In z (range lo hi) <-> (lo <= z <= hi)%Z.
Proof.
  intros. unfold range. rewrite in_map_iff. split.
  - intros [n [<- H]]. apply in_seq in H. lia.
  - intros H. exists (Z.to_nat (z - lo)). split; [lia|]. apply in_seq. lia.
Qed.

Lemma range_length : forall lo hi, length (range lo hi) = Z.to_nat (hi - lo + 1).
Proof. intros. unfold range. now rewrite map_length, seq_length. Qed.

Lemma cells_range : forall {X} (f : X -> Z) lo hi xs,
  (forall x, In x xs -> (lo <= f x <= hi)%Z) ->
  cells Z.eq_dec f xs <= Z.to_nat (hi - lo + 1).
Proof.
  intros. rewrite <- range_length. apply cells_within. intros. apply in_range. auto.
Qed.

(** An imagined value [o] that all members may share: count it once, and of every member only what
    it adds to it. [extra i] bounds the values of member [i] together with the imagined one, less
    one. *)
Lemma cells_imagined : forall {X A I} (da : decidable_equality A) (f : X -> A) (o : A)
    (member : I -> list X) (extra : I -> nat) (is : list I) xs,
  (forall x, In x xs -> exists i, In i is /\ In x (member i)) ->
  (forall i, In i is -> length (nodup da (o :: map f (member i))) <= 1 + extra i) ->
  cells da f xs <= 1 + total (fun i => min (cells da f (member i)) (extra i)) is.
Proof.
  intros X A I da f o member extra is xs Cover H.
  set (add := fun i => filter (fun a => if da a o then false else true)
                              (nodup da (map f (member i)))).
  apply Nat.le_trans with (length (o :: flat_map add is)).
  - apply cells_within. intros x Hx. destruct (da (f x) o) as [->|N]; [now left|right].
    destruct (Cover x Hx) as [i [Hi Hm]]. apply in_flat_map. exists i. split; auto.
    unfold add. apply filter_In. split.
    + apply nodup_In. now apply in_map.
    + now destruct (da (f x) o).
  - cbn [length]. apply le_n_S.
    assert (E : forall i, In i is -> length (add i) <= min (cells da f (member i)) (extra i)).
    { intros i Hi. apply Nat.min_glb.
      - unfold add, cells. apply NoDup_incl_length.
        + apply NoDup_filter, NoDup_nodup.
        + intros a Ha. apply filter_In in Ha. tauto.
      - specialize (H i Hi).
        assert (length (o :: add i) <= length (nodup da (o :: map f (member i)))).
        { apply NoDup_incl_length.
          - constructor.
            + unfold add. rewrite filter_In. destruct (da o o); [intros [_ ?]; discriminate|congruence].
            + unfold add. apply NoDup_filter, NoDup_nodup.
          - intros a [<-|Ha]; apply nodup_In; [now left|right].
            unfold add in Ha. apply filter_In in Ha. destruct Ha as [Ha _].
            now apply nodup_In in Ha. }
        simpl in *. lia. }
    clear Cover H. unfold total. induction is as [|i is IH]; simpl; [lia|].
    rewrite app_length. specialize (IH (fun j Hj => E j (or_intror Hj))).
    pose proof (E i (or_introl eq_refl)). lia.
Qed.

(** A yes or no more: only the values that occur with both answers count twice, and [zs] holds a
    point of each of them. *)
Lemma cells_split : forall {X A} (da : decidable_equality A) (g : X -> A) (b : X -> bool) xs zs,
  (forall x y, In x xs -> In y xs -> g x = g y -> b x = false -> b y = true ->
    exists z, In z zs /\ g z = g x) ->
  cells (pair_dec da bool_dec) (fun x => (g x, b x)) xs <= cells da g xs + cells da g zs.
Proof.
  intros X A da g b xs zs Cross.
  set (yes := nodup da (map g (filter b xs))).
  set (no := nodup da (map g (filter (fun x => negb (b x)) xs))).
  set (twice := filter (fun a => if in_dec da a yes then true else false) no).
  set (once := filter (fun a => if in_dec da a yes then false else true) no).
  assert (Hyes : forall x, In x xs -> b x = true -> In (g x) yes).
  { intros x Hx B. apply nodup_In, in_map, filter_In. auto. }
  assert (Hno : forall x, In x xs -> b x = false -> In (g x) no).
  { intros x Hx B. apply nodup_In, in_map, filter_In. rewrite B. auto. }
  apply Nat.le_trans with (length (map (fun a => (a, true)) yes ++ map (fun a => (a, false)) no)).
  { apply cells_within. intros x Hx. apply in_app_iff.
    destruct (b x) eqn:B; [left|right]; apply in_map_iff; exists (g x); auto. }
  rewrite app_length, !map_length.
  assert (length no = length once + length twice) as ->.
  { unfold once, twice. clear. induction no as [|a l IH]; simpl; auto.
    destruct (in_dec da a yes); simpl; lia. }
  assert (length (once ++ yes) <= cells da g xs) as L1.
  { apply NoDup_incl_length.
    - assert (NoDup once) by apply NoDup_filter, NoDup_nodup.
      assert (NoDup yes) by apply NoDup_nodup.
      assert (forall a, In a once -> ~ In a yes) as D.
      { intros a Ha. apply filter_In in Ha. destruct (in_dec da a yes); tauto || (destruct Ha; discriminate). }
      clear -H H0 D. induction once as [|a l IH]; simpl; auto.
      inversion H; subst. constructor.
      + rewrite in_app_iff. intros [?|?]; [auto|]. apply (D a); simpl; auto.
      + apply IH; auto. intros c Hc. apply D. now right.
    - intros a Ha. apply nodup_In. apply in_app_iff in Ha. destruct Ha as [Ha|Ha].
      + apply filter_In in Ha. destruct Ha as [Ha _]. apply nodup_In in Ha.
        apply in_map_iff in Ha. destruct Ha as [x [<- Hx]]. apply filter_In in Hx. now apply in_map.
      + apply nodup_In in Ha. apply in_map_iff in Ha. destruct Ha as [x [<- Hx]].
        apply filter_In in Hx. now apply in_map. }
  assert (length twice <= cells da g zs) as L2.
  { apply NoDup_incl_length; [apply NoDup_filter, NoDup_nodup|].
    intros a Ha. apply filter_In in Ha. destruct Ha as [Hn Hy].
    destruct (in_dec da a yes) as [Iy|]; [|discriminate].
    apply nodup_In in Hn, Iy. apply in_map_iff in Hn, Iy.
    destruct Hn as [x [Ex Hx]], Iy as [y [Ey Hy']].
    apply filter_In in Hx, Hy'. destruct Hx as [Hx Bx], Hy' as [Hy' By].
    destruct (Cross x y) as [z [Hz Ez]]; auto.
    - congruence.
    - now destruct (b x).
    - apply nodup_In. rewrite <- Ex, <- Ez. now apply in_map. }
  rewrite app_length in L1. lia.
Qed.

(** Every list of points has one of the least number. *)
Lemma least_point : forall {X} (u : X -> Z) x xs,
  exists z, In z (x :: xs) /\ forall y, In y (x :: xs) -> (u z <= u y)%Z.
Proof.
  intros X u x xs. revert x. induction xs as [|x' xs IH]; intros x.
  - exists x. split; [now left|]. intros y [<-|[]]. lia.
  - destruct (IH x') as [z [I L]]. destruct (Z_le_gt_dec (u z) (u x)).
    + exists z. split; [now right|]. intros y [<-|Hy]; auto.
    + exists x. split; [now left|]. intros y [<-|Hy]; [lia|]. specialize (L y Hy). lia.
Qed.
