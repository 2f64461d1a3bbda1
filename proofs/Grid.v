(** Cells of a grid: how many of them a range meets (lone sum), how many new cells an old one holds
    (rule S), how far values in one cell lie apart (rule W), and an order statistic as a clamp. *)
From Coq Require Import List Arith Lia ZArith Bool.
From Hartley Require Import Cells.
Import ListNotations.
Local Open Scope Z_scope.

(** The cell of [v] in a grid of step over/under that begins at 0. *)
Definition cell (over under v : Z) : Z := v * under / over.
(** The smallest whole number at or above n/d. *)
Definition ceil (n d : Z) : Z := - (- n / d).

Lemma ceil_spec : forall n d, 0 < d -> n <= d * ceil n d < n + d.
Proof.
  intros n d H. unfold ceil.
  pose proof (Z.div_mod (- n) d). pose proof (Z.mod_pos_bound (- n) d). lia.
Qed.

Lemma ceil_least : forall n d k, 0 < d -> n <= d * k -> ceil n d <= k.
Proof. intros n d k H L. pose proof (ceil_spec n d H). nia. Qed.

Lemma ceil_nonneg : forall n d, 0 < d -> 0 <= n -> 0 <= ceil n d.
Proof. intros n d H L. pose proof (ceil_spec n d H). nia. Qed.

Section Step.
Variables over under : Z.
Hypothesis over_pos : 0 < over.
Hypothesis under_pos : 0 < under.

Lemma cell_rises : forall v w, v <= w -> cell over under v <= cell over under w.
Proof. intros. unfold cell. apply Z.div_le_mono; nia. Qed.

(** Over a length S lie at most ceil(S/w) boundaries, wherever it begins. *)
Lemma cell_length : forall v w, v <= w ->
  cell over under w - cell over under v <= ceil ((w - v) * under) over.
Proof.
  intros v w L. unfold cell.
  pose proof (ceil_spec ((w - v) * under) over over_pos).
  pose proof (Z.div_mod (w * under) over). pose proof (Z.mod_pos_bound (w * under) over).
  pose proof (Z.div_mod (v * under) over). pose proof (Z.mod_pos_bound (v * under) over).
  assert (over * (w * under / over - v * under / over) < over * (ceil ((w - v) * under) over + 1)) by nia.
  nia.
Qed.

(** Whole numbers in one cell are fewer than a step apart. *)
Lemma cell_apart : forall v w, cell over under v = cell over under w -> v <= w ->
  w - v <= ceil over under - 1.
Proof.
  intros v w E L. unfold cell in E.
  pose proof (ceil_spec over under under_pos).
  pose proof (Z.div_mod (w * under) over). pose proof (Z.mod_pos_bound (w * under) over).
  pose proof (Z.div_mod (v * under) over). pose proof (Z.mod_pos_bound (v * under) over).
  assert ((w - v) * under < over) by nia. nia.
Qed.

(** ** A lone sum: 1 + ceil(S/w) cells, wherever everybody else puts it. *)
Theorem lone_sum : forall {X} (V : X -> Z) (T lo S : Z) xs,
  (forall x, In x xs -> lo <= V x <= lo + S) ->
  (cells Z.eq_dec (fun x => cell over under (T + V x)) xs
    <= Z.to_nat (1 + ceil (S * under) over))%nat.
Proof.
  intros X V T lo S [|x0 xs] H; [rewrite cells_nil; lia|].
  assert (0 <= S) by (specialize (H x0 (or_introl eq_refl)); lia).
  eapply Nat.le_trans.
  - apply cells_range with (lo := cell over under (T + lo)) (hi := cell over under (T + lo + S)).
    intros x Hx. specialize (H x Hx). split; apply cell_rises; lia.
  - pose proof (cell_length (T + lo) (T + lo + S)) as L.
    replace (T + lo + S - (T + lo)) with S in L by lia. lia.
Qed.

(** A filtered sum: the hull of what it adds and of nothing. *)
Corollary lone_filtered_sum : forall {X} (counts : X -> bool) (V : X -> Z) (T lo hi : Z) xs,
  (forall x, In x xs -> counts x = true -> lo <= V x <= hi) ->
  (cells Z.eq_dec (fun x => cell over under (T + if counts x then V x else 0)) xs
    <= Z.to_nat (1 + ceil ((Z.max hi 0 - Z.min lo 0) * under) over))%nat.
Proof.
  intros X counts V T lo hi xs H.
  apply (lone_sum (fun x => if counts x then V x else 0) T (Z.min lo 0)).
  intros x Hx. specialize (H x Hx). destruct (counts x); [specialize (H eq_refl)|]; lia.
Qed.
End Step.

(** ** Rule S: told at step a, asked at step b (both in units of a common denominator). *)
Theorem rule_S : forall {X} (v : X -> Z) (a b : Z) xs, 0 < a -> 0 < b ->
  (forall x y, In x xs -> In y xs -> v x / a = v y / a) ->
  (cells Z.eq_dec (fun x => (v x / b)%Z) xs
    <= Z.to_nat (1 + (a + b - Z.gcd a b - 1) / b))%nat.
Proof.
  intros X v a b [|x0 xs] Ha Hb Same; [rewrite cells_nil; lia|].
  set (k := v x0 / a). set (g := Z.gcd a b).
  assert (Gpos : 0 < g).
  { pose proof (Z.gcd_nonneg a b). assert (g <> 0); [|unfold g in *; lia].
    intros E. apply Z.gcd_eq_0_l in E. lia. }
  destruct (Z.gcd_divide_l a b) as [a' Ea]. destruct (Z.gcd_divide_r a b) as [b' Eb].
  fold g in Ea, Eb.
  set (r := (k * a) mod b). set (q := (k * a) / b).
  assert (Er : k * a = b * q + r) by apply (Z.div_mod (k * a) b ltac:(lia)).
  assert (Br : 0 <= r < b) by (apply Z.mod_pos_bound; lia).
  (* the place is a multiple of g, so at most b - g *)
  assert (R : r <= b - g).
  { assert (r = g * (k * a' - b' * q)) as E2 by nia.
    set (m := k * a' - b' * q) in *. assert (g * m < g * b') by nia.
    assert (m < b') by nia. nia. }
  eapply Nat.le_trans.
  - apply cells_range with (lo := q) (hi := q + (a + b - g - 1) / b).
    intros x Hx. assert (v x / a = k) as E by (apply Same; simpl; auto).
    pose proof (Z.div_mod (v x) a ltac:(lia)) as D. pose proof (Z.mod_pos_bound (v x) a Ha) as B.
    rewrite E in D. split.
    + apply Z.div_le_lower_bound; nia.
    + replace (q + (a + b - g - 1) / b) with ((q * b + (a + b - g - 1)) / b)
        by (rewrite Z.div_add_l; lia).
      apply Z.div_le_mono; nia.
  - lia.
Qed.

(** Its second number: an old cell holds at most ceil(w) whole numbers. *)
Theorem rule_S_whole : forall {X} (v : X -> Z) (over under over' under' : Z) xs,
  0 < over -> 0 < under -> 0 < over' -> 0 < under' ->
  (forall x y, In x xs -> In y xs -> cell over under (v x) = cell over under (v y)) ->
  (cells Z.eq_dec (fun x => cell over' under' (v x)) xs
    <= Z.to_nat (1 + ceil ((ceil over under - 1) * under') over'))%nat.
Proof.
  intros X v over under over' under' xs H1 H2 H3 H4 Same.
  destruct xs as [|x0 xs']; [rewrite cells_nil; lia|]. set (xs := x0 :: xs') in *.
  assert (exists lo, In lo (map v xs) /\ forall x, In x xs -> lo <= v x) as [lo [Hl Least]].
  { clear. subst xs. revert x0. induction xs' as [|y l IH]; intros x0.
    - exists (v x0). split; [now left|]. intros x [<-|[]]. lia.
    - destruct (IH y) as [lo [I L]]. destruct (Z_le_gt_dec lo (v x0)).
      + exists lo. split; [now right|]. intros x [<-|Hx]; auto.
      + exists (v x0). split; [now left|]. intros x [<-|Hx]; [lia|]. specialize (L x Hx). lia. }
  apply in_map_iff in Hl. destruct Hl as [z [<- Hz]].
  pose proof (lone_sum over' under' H3 H4 v 0 (v z) (ceil over under - 1) xs) as L.
  apply L. intros x Hx. specialize (Least x Hx). split; auto.
  pose proof (cell_apart over under H1 H2 (v z) (v x) (Same z x Hz Hx) Least). lia.
Qed.

(** ** Rule W: the windows that a told sum leaves. *)
Theorem rule_W : forall {X} (d : X -> Z) (s c T over under : Z) xs,
  0 < over -> 0 < under -> s <> 0 ->
  (forall x y, In x xs -> In y xs ->
    cell over under (T + (s * d x + c)) = cell over under (T + (s * d y + c))) ->
  forall x y, In x xs -> In y xs -> d x - d y <= (ceil over under - 1) / Z.abs s.
Proof.
  intros X d s c T over under xs Ho Hu Hs Same x y Hx Hy.
  apply Z.div_le_lower_bound; [lia|].
  assert (0 <= ceil over under - 1) by (pose proof (ceil_spec over under Hu); nia).
  destruct (Z_le_gt_dec (d x) (d y)) as [L|G]; [nia|].
  destruct (Z_lt_le_dec 0 s) as [P|N].
  - assert (s * d y <= s * d x) by nia.
    pose proof (cell_apart over under Ho Hu _ _ (Same y x Hy Hx) ltac:(lia)). nia.
  - assert (s * d x <= s * d y) by nia.
    pose proof (cell_apart over under Ho Hu _ _ (Same x y Hx Hy) ltac:(lia)). nia.
Qed.

Theorem rule_W_squares : forall {X} (d : X -> Z) (s c T over under : Z) xs,
  0 < over -> 0 < under -> s <> 0 ->
  (forall x, In x xs -> 0 <= s * d x + c) ->
  (forall x y, In x xs -> In y xs ->
    cell over under (T + (s * d x + c) * (s * d x + c))
    = cell over under (T + (s * d y + c) * (s * d y + c))) ->
  forall x y, In x xs -> In y xs ->
    d x - d y <= Z.sqrt (ceil over under - 1) / Z.abs s.
Proof.
  intros X d s c T over under xs Ho Hu Hs Pos Same x y Hx Hy.
  pose proof (ceil_spec over under Hu) as C. assert (0 <= ceil over under - 1) as C0 by nia.
  pose proof (Z.sqrt_nonneg (ceil over under - 1)) as R0.
  apply Z.div_le_lower_bound; [lia|].
  assert (G : forall u w, In u xs -> In w xs -> s * d u + c <= s * d w + c ->
    s * d w - s * d u <= Z.sqrt (ceil over under - 1)).
  { intros u w Iu Iw L. pose proof (Pos u Iu). pose proof (Pos w Iw).
    set (p := s * d u + c) in *. set (q := s * d w + c) in *.
    assert (p * p <= q * q) by nia.
    pose proof (cell_apart over under Ho Hu _ _ (Same u w Iu Iw)) as D. fold p q in D.
    assert (T + q * q - (T + p * p) <= ceil over under - 1) as D' by (apply D; lia).
    replace (s * d w - s * d u) with (q - p) by (unfold p, q; lia).
    assert ((q - p) * (q - p) <= ceil over under - 1) by nia.
    apply Z.sqrt_le_square; lia. }
  destruct (Z_le_gt_dec (d x) (d y)) as [L|Gt]; [nia|].
  destruct (Z_lt_le_dec 0 s) as [P|N].
  - assert (s * d y <= s * d x) by nia. pose proof (G y x Hy Hx ltac:(lia)). nia.
  - assert (s * d x <= s * d y) by nia. pose proof (G x y Hx Hy ltac:(lia)). nia.
Qed.

(** ** An order statistic is a clamp *)
Definition clamp (below above v : Z) : Z := Z.max below (Z.min above v).

Fixpoint insert (v : Z) (l : list Z) : list Z :=
  match l with
  | [] => [v]
  | w :: l' => if v <=? w then v :: l else w :: insert v l'
  end.

Inductive rising : list Z -> Prop :=
  | rising_nil : rising []
  | rising_cons : forall w l, (forall u, In u l -> w <= u) -> rising l -> rising (w :: l).

(** With one more value, place k + 1 holds that value, clamped between places k and k + 1 of the
    others. Beyond the last of them there is no upper bound. *)
Theorem order_clamp : forall l v k d, rising l -> (k < length l)%nat ->
  nth (S k) (insert v l) d = clamp (nth k l d) (nth (S k) l v) v.
Proof.
  induction l as [|w l IH]; intros v k d R K; [simpl in K; lia|].
  inversion R as [|? ? Least R']; subst. simpl insert.
  destruct (Z.leb_spec v w).
  - cbn [nth]. unfold clamp. destruct k as [|k]; cbn [nth].
    + lia.
    + assert (In (nth k l d) l) as I by (apply nth_In; simpl in K; lia).
      specialize (Least _ I). lia.
  - destruct k as [|k]; cbn [nth].
    + destruct l as [|u l']; cbn [insert nth]; unfold clamp; [lia|].
      specialize (Least u (or_introl eq_refl)). destruct (Z.leb_spec v u); cbn [nth]; lia.
    + simpl in K. rewrite IH by (auto; lia). reflexivity.
Qed.

Lemma clamp_rises : forall b a v w, v <= w -> clamp b a v <= clamp b a w.
Proof. intros. unfold clamp. lia. Qed.

(** Its boundaries are boundaries of the value itself, in their real place. *)
Theorem clamp_crosses : forall over under least b a v w,
  0 < over -> 0 < under -> b <= a -> v <= w ->
  cell over under (clamp b a w - least) - cell over under (clamp b a v - least)
  <= cell over under (w - least) - cell over under (v - least).
Proof.
  intros over under least b a v w Ho Hu L H. unfold clamp.
  assert (Mono : forall p q, p <= q -> cell over under p <= cell over under q)
    by (intros; now apply cell_rises).
  pose proof (Mono (v - least) (w - least)).
  destruct (Z_le_gt_dec w b); [|destruct (Z_le_gt_dec a v)].
  - replace (Z.max b (Z.min a w)) with b by lia. replace (Z.max b (Z.min a v)) with b by lia. lia.
  - replace (Z.max b (Z.min a w)) with a by lia. replace (Z.max b (Z.min a v)) with a by lia. lia.
  - pose proof (Mono (Z.max b (Z.min a w) - least) (w - least)).
    pose proof (Mono (v - least) (Z.max b (Z.min a v) - least)). lia.
Qed.
