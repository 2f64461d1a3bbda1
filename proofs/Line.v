(** Answers that rise or fall with one number: their jumps add up, however many there are. *)
From Coq Require Import List Arith Lia ZArith Bool.
From Hartley Require Import Cells.
Import ListNotations.
Local Open Scope Z_scope.

Section Line.
Context {X : Type} (u : X -> Z) (xs : list X).

Definition rises (f : X -> Z) := forall x y, In x xs -> In y xs -> u x <= u y -> f x <= f y.
Definition falls (f : X -> Z) := forall x y, In x xs -> In y xs -> u x <= u y -> f y <= f x.
Definition follows (f : X -> Z) := rises f \/ falls f.

(** Two points lie on the same side of every threshold. *)
Definition same_side (ts : list Z) (x y : X) := forall t, In t ts -> (t <=? u x) = (t <=? u y).

(** An answer of so many cells has one threshold fewer. *)
Lemma thresholds_rising : forall f, rises f -> exists ts,
  (length ts <= cells Z.eq_dec f xs - 1)%nat /\
  forall x y, In x xs -> In y xs -> same_side ts x y -> f x = f y.
Proof.
  intros f R. destruct xs as [|x0 xs'] eqn:E.
  { exists []. split; [cbn; lia|]. intros x y []. }
  rewrite <- E in *.
  assert (exists m, In m xs /\ forall y, In y xs -> f m <= f y) as [m [Hm Least]].
  { rewrite E. apply least_point. }
  set (vals := remove Z.eq_dec (f m) (nodup Z.eq_dec (map f xs))).
  assert (G : forall l, incl l (map f xs) -> exists ts, length ts = length l /\
    forall w, In w l -> exists z, In z xs /\ f z = w /\ In (u z) ts /\
      forall y, In y xs -> f y = w -> u z <= u y).
  { induction l as [|w l IH]; intros I.
    - exists []. split; auto. intros w [].
    - destruct IH as [ts [L H]]. { intros v Hv. apply I. now right. }
      assert (In w (map f xs)) as Hw by (apply I; now left).
      apply in_map_iff in Hw. destruct Hw as [x [Ex Hx]].
      destruct (part Z.eq_dec f w xs) as [|p ps] eqn:Ep.
      { assert (In x []) as []. rewrite <- Ep. apply in_part. auto. }
      destruct (least_point u p ps) as [z [Hz Lz]]. rewrite <- Ep in Hz, Lz.
      apply in_part in Hz. destruct Hz as [Hz Ez].
      exists (u z :: ts). split; [simpl; congruence|].
      intros v [<-|Hv].
      + exists z. repeat split; auto. { now left. } intros y Hy Ey. apply Lz, in_part. auto.
      + destruct (H v Hv) as [z' [A [B [C D]]]]. exists z'. repeat split; auto. now right. }
  destruct (G vals) as [ts [L H]].
  { intros w Hw. apply in_remove in Hw. destruct Hw as [Hw _]. now apply nodup_In in Hw. }
  exists ts. split.
  - rewrite L. unfold vals, cells.
    pose proof (remove_length_lt Z.eq_dec (nodup Z.eq_dec (map f xs)) (f m)) as Lt.
    assert (In (f m) (nodup Z.eq_dec (map f xs))) as I by (apply nodup_In; now apply in_map).
    specialize (Lt I). lia.
  - assert (K : forall x y, In x xs -> In y xs -> same_side ts x y -> ~ f x < f y).
    { intros x y Hx Hy S C. destruct (H (f y)) as [z [Hz [Ez [Ht Lz]]]].
      - apply in_in_remove; [|apply nodup_In; now apply in_map].
        specialize (Least x Hx). lia.
      - specialize (Lz y Hy eq_refl). specialize (S (u z) Ht).
        assert ((u z <=? u y) = true) as T by (apply Z.leb_le; auto).
        rewrite T in S. apply Z.leb_le in S. specialize (R z x Hz Hx S). lia. }
    intros x y Hx Hy S.
    assert (~ f y < f x) by (apply K; auto; intros t Ht; symmetry; auto).
    specialize (K x y Hx Hy S). lia.
Qed.

Lemma thresholds : forall f, follows f -> exists ts,
  (length ts <= cells Z.eq_dec f xs - 1)%nat /\
  forall x y, In x xs -> In y xs -> same_side ts x y -> f x = f y.
Proof.
  intros f [R|F]; [now apply thresholds_rising|].
  destruct (thresholds_rising (fun x => - f x)) as [ts [L D]].
  { intros x y Hx Hy Le. specialize (F x y Hx Hy Le). lia. }
  exists ts. split.
  - eapply Nat.le_trans; [exact L|]. apply Nat.sub_le_mono_r.
    apply cells_decided. intros. lia.
  - intros x y Hx Hy S. specialize (D x y Hx Hy S). lia.
Qed.

(** Thresholds on a line leave one piece more than there are thresholds. *)
Definition passed (ts : list Z) (x : X) : Z := Z.of_nat (length (filter (fun t => t <=? u x) ts)).

Lemma passed_le : forall ts x y, u x <= u y -> passed ts x <= passed ts y.
Proof.
  intros ts x y H. unfold passed. induction ts as [|t ts IH]; simpl; [lia|].
  destruct (Z.leb_spec t (u x)), (Z.leb_spec t (u y)); simpl length; lia.
Qed.

Lemma passed_decides : forall ts x y, passed ts x = passed ts y -> same_side ts x y.
Proof.
  assert (G : forall ts x y, u x <= u y -> passed ts x = passed ts y -> same_side ts x y).
  { intros ts x y H. induction ts as [|t ts IH]; intros E s Hs; [destruct Hs|].
    pose proof (passed_le ts x y H) as L. unfold passed in E, L. simpl in E.
    destruct (Z.leb_spec t (u x)), (Z.leb_spec t (u y)); simpl length in E; try lia;
      (destruct Hs as [<-|Hs]; [|apply IH; auto; unfold passed; lia]).
    - transitivity true; [|symmetry]; apply Z.leb_le; lia.
    - transitivity false; [|symmetry]; apply Z.leb_gt; lia. }
  intros ts x y E. destruct (Z_le_gt_dec (u x) (u y)).
  - auto.
  - intros t Ht. symmetry. apply (G ts y x); auto; lia.
Qed.

Lemma pieces : forall {A} (da : decidable_equality A) (f : X -> A) ts,
  (forall x y, In x xs -> In y xs -> same_side ts x y -> f x = f y) ->
  (cells da f xs <= 1 + length ts)%nat.
Proof.
  intros A da f ts D. apply Nat.le_trans with (cells Z.eq_dec (passed ts) xs).
  - apply cells_decided. intros x y Hx Hy E. apply D; auto. now apply passed_decides.
  - replace (1 + length ts)%nat with (Z.to_nat (Z.of_nat (length ts) - 0 + 1)) by lia.
    apply cells_range. intros x _. unfold passed. split; [lia|].
    apply inj_le. clear. induction ts as [|t ts IH]; simpl; auto.
    destruct (t <=? u x); simpl; lia.
Qed.

Theorem line : forall fs, (forall f, In f fs -> follows f) ->
  (cells (list_eq_dec Z.eq_dec) (vector fs) xs
    <= min (cells Z.eq_dec u xs) (1 + total (fun f => cells Z.eq_dec f xs - 1) fs))%nat.
Proof.
  intros fs F. apply Nat.min_glb.
  - apply cells_decided. intros x y Hx Hy E. unfold vector. apply map_ext_in. intros f Hf.
    destruct (F f Hf) as [R|R]; apply Z.le_antisymm; apply R; auto; lia.
  - assert (exists ts, (length ts <= total (fun f => cells Z.eq_dec f xs - 1) fs)%nat /\
      forall x y, In x xs -> In y xs -> same_side ts x y -> vector fs x = vector fs y) as [ts [L D]].
    { induction fs as [|f fs IH].
      - exists []. split; [cbn; lia|]. reflexivity.
      - destruct IH as [ts [L D]]. { intros g Hg. apply F. now right. }
        destruct (thresholds f) as [ts' [L' D']]. { apply F. now left. }
        exists (ts' ++ ts). split.
        + rewrite app_length. unfold total in *. simpl. lia.
        + intros x y Hx Hy S. unfold vector in *. simpl. f_equal.
          * apply D'; auto. intros t Ht. apply S, in_app_iff. auto.
          * apply D; auto. intros t Ht. apply S, in_app_iff. auto. }
    eapply Nat.le_trans; [apply pieces; exact D|]. lia.
Qed.
End Line.

(** ** Cuts: an answer that so many thresholds of a number decide *)
Section Cuts.
Context {X A : Type}.

Definition cut (u : X -> Z) (f : X -> A) (xs : list X) (n : nat) :=
  exists ts, (length ts <= n)%nat /\
    forall x y, In x xs -> In y xs -> same_side u ts x y -> f x = f y.

Lemma cut_le : forall u f xs n m, (n <= m)%nat -> cut u f xs n -> cut u f xs m.
Proof. intros u f xs n m L [ts [H D]]. exists ts. split; auto. lia. Qed.

Lemma cut_min : forall u f xs n m, cut u f xs n -> cut u f xs m -> cut u f xs (min n m).
Proof. intros u f xs n m Cn Cm. destruct (Nat.min_spec n m) as [[_ ->]|[_ ->]]; auto. Qed.

Lemma cut_constant : forall u f xs n,
  (forall x y, In x xs -> In y xs -> f x = f y) -> cut u f xs n.
Proof. intros u f xs n H. exists []. split; [simpl; lia|]. auto. Qed.

Lemma cut_incl : forall u f xs ys n, incl xs ys -> cut u f ys n -> cut u f xs n.
Proof. intros u f xs ys n I [ts [L D]]. exists ts. split; auto. Qed.

(** What is decided by something that is cut. *)
Lemma cut_decided : forall {B} u (f : X -> A) (g : X -> B) xs n,
  (forall x y, In x xs -> In y xs -> g x = g y -> f x = f y) ->
  (exists ts, (length ts <= n)%nat /\
    forall x y, In x xs -> In y xs -> same_side u ts x y -> g x = g y) -> cut u f xs n.
Proof. intros B u f g xs n H [ts [L D]]. exists ts. split; auto. Qed.

(** The same thresholds seen along another number that it rises or falls with. *)
Lemma cut_along : forall u v f xs n, follows u xs v -> cut v f xs n -> cut u f xs n.
Proof.
  intros u v f xs n F [ts [L D]].
  assert (exists ss, (length ss <= length ts)%nat /\
    forall x y, In x xs -> In y xs -> same_side u ss x y -> same_side v ts x y) as [ss [Ls Ds]].
  { clear L D. induction ts as [|t ts IH].
    - exists []. split; auto. intros x y _ _ _ t [].
    - destruct IH as [ss [L D]].
      destruct (thresholds u xs (fun x => if t <=? v x then 1 else 0)) as [ss' [L' D']].
      { destruct F as [R|R]; [left|right]; intros x y Hx Hy Le; specialize (R x y Hx Hy Le);
          destruct (Z.leb_spec t (v x)), (Z.leb_spec t (v y)); lia. }
      exists (ss' ++ ss). split.
      + rewrite app_length. simpl.
        assert ((cells Z.eq_dec (fun x => (if t <=? v x then 1 else 0)%Z) xs <= 2)%nat).
        { apply (cells_within Z.eq_dec _ xs [0; 1]). intros x _. destruct (t <=? v x); simpl; auto. }
        lia.
      + intros x y Hx Hy S s [<-|Hs].
        * assert ((if t <=? v x then 1 else 0) = (if t <=? v y then 1 else 0)) as E.
          { apply D'; auto. intros r Hr. apply S, in_app_iff. auto. }
          destruct (t <=? v x), (t <=? v y); auto; discriminate.
        * apply (D x y); auto. intros r Hr. apply S, in_app_iff. auto. }
  exists ss. split; [lia|]. intros x y Hx Hy S. apply D; auto.
Qed.

(** A function of the number itself. *)
Lemma cut_points : forall u f xs n,
  (forall x y, In x xs -> In y xs -> u x = u y -> f x = f y) ->
  (cells Z.eq_dec u xs <= 1 + n)%nat -> cut u f xs n.
Proof.
  intros u f xs n D L. destruct (thresholds u xs u) as [ts [Lt Dt]].
  { left. intros x y _ _. auto. }
  exists ts. split; [lia|]. auto.
Qed.
End Cuts.

Lemma cut_follows : forall {X} (u f : X -> Z) xs n,
  follows u xs f -> (cells Z.eq_dec f xs <= 1 + n)%nat -> cut u f xs n.
Proof.
  intros X u f xs n F L. destruct (thresholds u xs f F) as [ts [Lt D]].
  exists ts. split; [lia|]. auto.
Qed.

(** A function that falls up to zero and rises from there: cuts of both sides together. *)
Lemma cut_valley : forall {X} (v : X -> Z) (phi : Z -> Z) xs lo hi n m,
  (forall x, In x xs -> lo <= v x <= hi) -> lo <= 0 <= hi ->
  (forall a b, lo <= a -> a <= b -> b <= 0 -> phi b <= phi a) ->
  (forall a b, 0 <= a -> a <= b -> b <= hi -> phi a <= phi b) ->
  phi lo - phi 0 <= Z.of_nat n -> phi hi - phi 0 <= Z.of_nat m ->
  cut v (fun x => phi (v x)) xs (n + m).
Proof.
  intros X v phi xs lo hi n m Range L Falls Rises Hn Hm.
  assert (cut (fun z => z) phi (range lo 0) n) as [ts [Lt Dt]].
  { apply cut_follows.
    - right. intros a b Ha Hb Le. apply in_range in Ha, Hb. apply Falls; lia.
    - eapply Nat.le_trans; [apply cells_range with (lo := phi 0) (hi := phi lo)|lia].
      intros a Ha. apply in_range in Ha. split; apply Falls; lia. }
  assert (cut (fun z => z) phi (range 0 hi) m) as [ss [Ls Ds]].
  { apply cut_follows.
    - left. intros a b Ha Hb Le. apply in_range in Ha, Hb. apply Rises; lia.
    - eapply Nat.le_trans; [apply cells_range with (lo := phi 0) (hi := phi hi)|lia].
      intros a Ha. apply in_range in Ha. split; apply Rises; lia. }
  (* thresholds of the left side lie at or below zero, those of the right side above *)
  exists (map (Z.min 0) ts ++ map (Z.max 1) ss). split.
  { rewrite app_length, !map_length. lia. }
  assert (K : forall x y, In x xs -> In y xs -> v x <= v y ->
    same_side v (map (Z.min 0) ts ++ map (Z.max 1) ss) x y -> phi (v x) = phi (v y)).
  { intros x y Hx Hy Le S. pose proof (Range x Hx). pose proof (Range y Hy).
    assert (St : forall t, In t ts -> (Z.min 0 t <=? v x) = (Z.min 0 t <=? v y)).
    { intros t Ht. apply S, in_app_iff. left. now apply in_map. }
    assert (Ss : forall t, In t ss -> (Z.max 1 t <=? v x) = (Z.max 1 t <=? v y)).
    { intros t Ht. apply S, in_app_iff. right. now apply in_map. }
    assert (Left : forall a b, lo <= a -> a <= b -> b <= 0 ->
      (forall t, In t ts -> (Z.min 0 t <=? a) = (Z.min 0 t <=? b)) -> phi a = phi b).
    { intros a b A1 A2 A3 E. apply Dt; try (apply in_range; lia). intros t Ht.
      specialize (E t Ht).
      destruct (Z.leb_spec t a), (Z.leb_spec t b), (Z.leb_spec (Z.min 0 t) a),
        (Z.leb_spec (Z.min 0 t) b); try reflexivity; try discriminate; lia. }
    assert (Right : forall a b, 0 <= a -> a <= b -> b <= hi ->
      (forall t, In t ss -> (Z.max 1 t <=? a) = (Z.max 1 t <=? b)) -> phi a = phi b).
    { intros a b A1 A2 A3 E. apply Ds; try (apply in_range; lia). intros t Ht.
      specialize (E t Ht).
      destruct (Z.leb_spec t a), (Z.leb_spec t b), (Z.leb_spec (Z.max 1 t) a),
        (Z.leb_spec (Z.max 1 t) b); try reflexivity; try discriminate; lia. }
    destruct (Z_le_gt_dec (v y) 0); [apply Left; auto; lia|].
    destruct (Z_le_gt_dec 0 (v x)); [apply Right; auto; lia|].
    transitivity (phi 0).
    - apply Left; try lia. intros t Ht. specialize (St t Ht).
      destruct (Z.leb_spec (Z.min 0 t) (v x)), (Z.leb_spec (Z.min 0 t) (v y)),
        (Z.leb_spec (Z.min 0 t) 0); try reflexivity; try discriminate; lia.
    - apply Right; try lia. intros t Ht. specialize (Ss t Ht).
      destruct (Z.leb_spec (Z.max 1 t) (v x)), (Z.leb_spec (Z.max 1 t) (v y)),
        (Z.leb_spec (Z.max 1 t) 0); try reflexivity; try discriminate; lia. }
  intros x y Hx Hy S. destruct (Z_le_gt_dec (v x) (v y)).
  - now apply K.
  - symmetry. apply K; auto; [lia|]. intros t Ht. symmetry. now apply S.
Qed.
