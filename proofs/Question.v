(** What a question is, what everybody else can do to its answer, and how many boundaries of cells
    one record can cross.

    THE MODEL. [R] is what one row can be (its private columns; the public ones are fixed).

    - A question counts some records ([counts]: the filter is TRUE and every column of the form is
      present) and looks at a linear form of them, [scale * dir + shift].
    - Its answer is the cell of a grid of step over/under that begins at [least]. The statistic lies
      between [least] and [most] by the schema alone.
    - Everybody else adds a number [rest] to a count, a sum or a sum of squares, and puts any values
      beside that of the record for an order statistic. [rank n] is the place, from 0, that is asked
      for where n rows count. An order statistic of no row is NULL.

    Outside the model: the snapped and clamped table is the truth, and the engine computes it. *)
From Coq Require Import List Arith Lia ZArith Bool.
From Hartley Require Import Cells Grid Order Line.
Import ListNotations.
Local Open Scope Z_scope.

Inductive statistic := Count | Sum | Squares | Order.

Record question {R : Type} := Question {
  stat : statistic;
  counts : R -> bool;
  dir : R -> Z;
  scale : Z;
  shift : Z;
  over : Z;
  under : Z;
  least : Z;
  most : Z;
  rank : nat -> nat;
  coefs : list Z  (* of [dir], column by column; read by the geometry of several columns alone *)
}.
Arguments question : clear implicits.
Record others := Others { rest : Z; values : list Z }.

Section Question.
Context {R : Type}.
Notation question := (question R).

Definition value (q : question) (x : R) : Z := scale q * dir q x + shift q.
Definition place (q : question) (v : Z) : Z := cell (over q) (under q) (v - least q).
Definition adds (q : question) (x : R) : Z :=
  if counts q x then
    match stat q with
    | Count => 1 | Sum => value q x | Squares => value q x * value q x | Order => 0
    end
  else 0.
(** The values of all rows that count, in order. *)
Definition rows (q : question) (o : others) (x : R) : list Z :=
  if counts q x then insert (value q x) (values o) else values o.

Definition answer (q : question) (o : others) (x : R) : option Z :=
  match stat q with
  | Order =>
      match rows q o x with
      | [] => None
      | l => Some (place q (nth (rank q (length l)) l 0))
      end
  | _ => Some (place q (rest o + adds q x))
  end.

(** What the schema says of the statistic. *)
Definition declared (q : question) (o : others) (x : R) : Prop :=
  match stat q with
  | Order => forall v, In v (rows q o x) -> least q <= v <= most q
  | _ => least q <= rest o + adds q x <= most q
  end.

Definition valid (q : question) : Prop :=
  0 < over q /\ 0 < under q /\ scale q <> 0 /\ forall n, (0 < n)%nat -> (rank q n < n)%nat.
Definition fair (dom : list R) (qo : question * others) : Prop :=
  valid (fst qo) /\ rising (values (snd qo)) /\ forall x, In x dom -> declared (fst qo) (snd qo) x.

(** One cell holds every value: such a question is silent, unless it still tells whether there are
    rows. *)
Definition constant (q : question) : bool := (most q - least q) * under q <? over q.
Definition is_order (q : question) : bool := match stat q with Order => true | _ => false end.
Definition is_sum (q : question) : bool :=
  match stat q with Sum | Squares => true | _ => false end.
Definition silent (q : question) : bool := constant q && negb (is_order q).

Lemma constant_place : forall q v, valid q -> constant q = true -> least q <= v <= most q ->
  place q v = 0.
Proof.
  intros q v [O [U _]] C H. unfold constant in C. apply Z.ltb_lt in C.
  unfold place, cell. apply Z.div_small. nia.
Qed.

Lemma place_rises : forall q v w, valid q -> v <= w -> place q v <= place q w.
Proof. intros q v w [O [U _]] L. unfold place. apply cell_rises; auto. lia. Qed.

Lemma silent_answer : forall q o x, valid q -> silent q = true -> declared q o x ->
  answer q o x = Some 0.
Proof.
  intros q o x V S I. unfold silent in S. apply andb_true_iff in S. destruct S as [C N].
  unfold answer, declared, is_order in *.
  destruct (stat q); try discriminate; f_equal; now apply constant_place.
Qed.

(** ** Ranges *)
Definition low (u : R -> Z) (l : list R) : Z :=
  match l with [] => 0 | x :: xs => fold_right (fun y m => Z.min (u y) m) (u x) xs end.
Definition high (u : R -> Z) (l : list R) : Z :=
  match l with [] => 0 | x :: xs => fold_right (fun y m => Z.max (u y) m) (u x) xs end.

Lemma low_high : forall u l x, In x l -> low u l <= u x <= high u l.
Proof.
  intros u [|y l] x H; [destruct H|]. cbn [low high]. revert y x H.
  induction l as [|z l IH]; intros y x [<-|H]; cbn [fold_right]; try lia; try now destruct H.
  - specialize (IH y y (or_introl eq_refl)). lia.
  - destruct H as [<-|H]; [lia|]. specialize (IH y x (or_intror H)). lia.
Qed.

Definition gaps (q : question) (l : list R) : Z := high (dir q) l - low (dir q) l.
Definition first (q : question) (l : list R) : Z :=
  scale q * (if 0 <? scale q then low (dir q) l else high (dir q) l) + shift q.
Definition last (q : question) (l : list R) : Z :=
  scale q * (if 0 <? scale q then high (dir q) l else low (dir q) l) + shift q.

Lemma value_between : forall q l x, In x l -> first q l <= value q x <= last q l.
Proof.
  intros q l x H. pose proof (low_high (dir q) l x H). unfold first, last, value.
  destruct (Z.ltb_spec 0 (scale q)); nia.
Qed.

Lemma last_first : forall q l, last q l - first q l = Z.abs (scale q) * gaps q l.
Proof.
  intros. unfold first, last, gaps. destruct (Z.ltb_spec 0 (scale q)).
  - rewrite Z.abs_eq by lia. ring.
  - rewrite Z.abs_neq by lia. ring.
Qed.

Lemma gaps_nonneg : forall q l x, In x l -> 0 <= gaps q l.
Proof. intros q l x H. pose proof (low_high (dir q) l x H). unfold gaps. lia. Qed.

Lemma value_follows : forall q l, follows (dir q) l (value q).
Proof.
  intros q l. unfold value. destruct (Z_le_gt_dec 0 (scale q)); [left|right];
    intros x y _ _ L; nia.
Qed.

Lemma cells_gaps : forall q l, (cells Z.eq_dec (dir q) l <= 1 + Z.to_nat (gaps q l))%nat.
Proof.
  intros q [|x l]; [cbn; lia|].
  pose proof (gaps_nonneg q (x :: l) x (or_introl eq_refl)) as G.
  eapply Nat.le_trans; [apply cells_range; intros y Hy; apply low_high; exact Hy|].
  unfold gaps in *. lia.
Qed.

(** ** Boundaries *)
(** At most how many lie inside a length. *)
Definition crossed (q : question) (length : Z) : Z := ceil (length * under q) (over q).

Lemma crossed_bound : forall q T v w, valid q -> v <= w ->
  place q (T + w) - place q (T + v) <= crossed q (w - v).
Proof.
  intros q T v w [O [U _]] L. unfold place, crossed.
  pose proof (cell_length (over q) (under q) O (T + v - least q) (T + w - least q)) as H.
  replace (T + w - least q - (T + v - least q)) with (w - v) in H by lia. apply H. lia.
Qed.

Lemma crossed_nonneg : forall q n, valid q -> 0 <= n -> 0 <= crossed q n.
Proof. intros q n [O [U _]] L. apply ceil_nonneg; nia. Qed.

(** Between the contributions of one atom, all of whose records count. *)
Definition crossings (q : question) (l : list R) : nat :=
  if constant q then 0%nat else
  match stat q with
  | Count => 0%nat
  | Sum => Z.to_nat (Z.min (crossed q (Z.abs (scale q) * gaps q l)) (gaps q l))
  | Order => Z.to_nat (Z.min (place q (last q l) - place q (first q l)) (gaps q l))
  | Squares =>
      let f := first q l in let h := last q l in
      Z.to_nat (Z.min (if (f <? 0) && (0 <? h) then crossed q (f * f) + crossed q (h * h)
                       else crossed q (Z.abs (h * h - f * f))) (gaps q l))
  end.

(** Between the contributions of an atom and no contribution. *)
Definition hull_crossings (q : question) (l : list R) : nat :=
  if constant q then 0%nat else
  let f := first q l in let h := last q l in
  match stat q with
  | Sum =>
      if (f <=? 0) && (0 <=? h)
      then Z.to_nat (Z.min (crossed q (h - f))
                           (if f mod scale q =? 0 then gaps q l else gaps q l + 1))
      else Z.to_nat (Z.min (crossed q (if 0 <? f then h else - f)) (gaps q l + 1))
  | Squares => Z.to_nat (Z.min (crossed q (Z.max (f * f) (h * h))) (gaps q l + 1))
  | _ => 0%nat
  end.

(** The same along the form itself: a square that changes sign counts on both sides. *)
Definition zero_crossings (q : question) (l : list R) : nat :=
  let f := first q l in let h := last q l in
  match stat q with
  | Squares =>
      if constant q then 0%nat else
      if (f <? 0) && (0 <? h)
      then Z.to_nat (Z.min (crossed q (f * f) + crossed q (h * h)) (gaps q l + 1))
      else hull_crossings q l
  | _ => hull_crossings q l
  end.

Lemma to_nat_min_cut : forall {X A} (u : X -> Z) (f : X -> A) xs a b,
  cut u f xs (Z.to_nat a) -> cut u f xs (Z.to_nat b) -> cut u f xs (Z.to_nat (Z.min a b)).
Proof. intros. rewrite Z2Nat.inj_min. now apply cut_min. Qed.

Lemma squares_rise : forall q T, valid q -> forall a b, 0 <= a -> a <= b ->
  place q (T + a * a) <= place q (T + b * b).
Proof. intros q T V a b A B. apply place_rises; auto. nia. Qed.

Lemma squares_fall : forall q T, valid q -> forall a b, a <= b -> b <= 0 ->
  place q (T + b * b) <= place q (T + a * a).
Proof. intros q T V a b A B. apply place_rises; auto. nia. Qed.

Lemma squares_follow : forall {X} q T (v : X -> Z) xs f h, valid q ->
  (forall x, In x xs -> f <= v x <= h) -> 0 <= f \/ h <= 0 ->
  follows v xs (fun x => place q (T + v x * v x)).
Proof.
  intros X q T v xs f h V B [P|N]; [left|right]; intros x y Hx Hy L;
    pose proof (B x Hx); pose proof (B y Hy).
  - apply squares_rise; auto; lia.
  - apply squares_fall; auto; lia.
Qed.

(** [v] runs from f to h, and the answer is the cell of its square. *)
Lemma cut_squares : forall {X} q T (v : X -> Z) xs f h, valid q ->
  (forall x, In x xs -> f <= v x <= h) -> f <= h ->
  cut v (fun x => place q (T + v x * v x)) xs
    (Z.to_nat (if (f <? 0) && (0 <? h) then crossed q (f * f) + crossed q (h * h)
               else crossed q (Z.abs (h * h - f * f)))).
Proof.
  intros X q T v xs f h V B L.
  destruct (Z.ltb_spec f 0), (Z.ltb_spec 0 h); cbn [andb].
  - rewrite Z2Nat.inj_add by (apply crossed_nonneg; auto; nia).
    apply cut_valley with (lo := f) (hi := h) (phi := fun z => place q (T + z * z)); auto; try lia.
    + intros a b Ha Hab Hb. now apply squares_fall.
    + intros a b Ha Hab Hb. now apply squares_rise.
    + pose proof (crossed_bound q T 0 (f * f) V ltac:(nia)) as K. rewrite Z.sub_0_r in K.
      rewrite Z2Nat.id by (apply crossed_nonneg; auto; nia). exact K.
    + pose proof (crossed_bound q T 0 (h * h) V ltac:(nia)) as K. rewrite Z.sub_0_r in K.
      rewrite Z2Nat.id by (apply crossed_nonneg; auto; nia). exact K.
  - apply cut_follows; [apply squares_follow with (f := f) (h := h); auto|].
    eapply Nat.le_trans; [apply cells_range with (lo := place q (T + h * h)) (hi := place q (T + f * f))|].
    + intros x Hx. pose proof (B x Hx). split; apply squares_fall; auto; lia.
    + pose proof (crossed_bound q T (h * h) (f * f) V ltac:(nia)).
      replace (Z.abs (h * h - f * f)) with (f * f - h * h) by nia. lia.
  - apply cut_follows; [apply squares_follow with (f := f) (h := h); auto|].
    eapply Nat.le_trans; [apply cells_range with (lo := place q (T + f * f)) (hi := place q (T + h * h))|].
    + intros x Hx. pose proof (B x Hx). split; apply squares_rise; auto; lia.
    + pose proof (crossed_bound q T (f * f) (h * h) V ltac:(nia)).
      replace (Z.abs (h * h - f * f)) with (h * h - f * f) by nia. lia.
  - apply cut_follows; [apply squares_follow with (f := f) (h := h); auto; lia|].
    eapply Nat.le_trans; [apply cells_range with (lo := place q (T + f * f)) (hi := place q (T + h * h))|].
    + intros x Hx. pose proof (B x Hx). split; apply squares_rise; auto; lia.
    + pose proof (crossed_bound q T (f * f) (h * h) V ltac:(nia)).
      replace (Z.abs (h * h - f * f)) with (h * h - f * f) by nia. lia.
Qed.

Lemma sum_answer : forall q o x, is_order q = false -> answer q o x = Some (place q (rest o + adds q x)).
Proof. intros q o x H. unfold answer, is_order in *. destruct (stat q); auto; discriminate. Qed.

Lemma order_answer : forall q o x, valid q -> stat q = Order -> rows q o x <> [] ->
  exists v, answer q o x = Some (place q v) /\ In v (rows q o x) /\
    v = nth (rank q (length (rows q o x))) (rows q o x) 0.
Proof.
  intros q o x [_ [_ [_ Rank]]] St N. unfold answer. rewrite St.
  destruct (rows q o x) as [|w l] eqn:E; [congruence|].
  eexists. split; [reflexivity|]. split; [|reflexivity].
  apply nth_In. apply Rank. simpl. lia.
Qed.

(** Every answer is cut by as many thresholds as it has crossings. *)
Theorem crossings_cut : forall q o l, fair l (q, o) -> (forall x, In x l -> counts q x = true) ->
  cut (dir q) (answer q o) l (crossings q l).
Proof.
  intros q o l [V [Rise Range]] All. simpl in *.
  destruct l as [|x0 l'] eqn:El. { exists []. split; [simpl; lia|]. intros x y []. }
  rewrite <- El in *. assert (In x0 l) as H0 by (rewrite El; now left). clear El.
  assert (FL : first q l <= last q l) by (pose proof (value_between q l x0 H0); lia).
  assert (G : 0 <= gaps q l) by now apply gaps_nonneg with x0.
  assert (Byv : forall x y, In x l -> In y l -> dir q x = dir q y -> answer q o x = answer q o y).
  { intros x y Hx Hy E. assert (value q x = value q y) by (unfold value; now rewrite E).
    unfold answer, adds, rows. now rewrite (All x Hx), (All y Hy), H. }
  assert (Points : cut (dir q) (answer q o) l (Z.to_nat (gaps q l))).
  { apply cut_points; auto. apply cells_gaps. }
  unfold crossings. destruct (constant q) eqn:C.
  { apply cut_constant. intros x y Hx Hy.
    destruct (is_order q) eqn:Ord.
    - assert (St : stat q = Order) by (unfold is_order in Ord; destruct (stat q); auto; discriminate).
      assert (K : forall z, In z l -> answer q o z = Some 0).
      { intros z Hz. pose proof (Range z Hz) as I. unfold declared in I. rewrite St in I.
        destruct (order_answer q o z V St) as [v [E [Hv _]]].
        - unfold rows. rewrite (All z Hz). intros F. apply (f_equal (@length Z)) in F.
          rewrite insert_length in F. discriminate.
        - rewrite E. f_equal. apply constant_place; auto. }
      now rewrite !K.
    - assert (silent q = true) as S by (unfold silent; now rewrite C, Ord).
      now rewrite !silent_answer by auto. }
  destruct (stat q) eqn:St.
  - apply cut_constant. intros x y Hx Hy. unfold answer, adds. rewrite St.
    now rewrite (All x Hx), (All y Hy).
  - apply to_nat_min_cut; auto.
    apply cut_decided with (g := fun x => place q (rest o + value q x)).
    { intros x y Hx Hy E. unfold answer, adds. rewrite St, (All x Hx), (All y Hy). now rewrite E. }
    apply cut_follows.
    + destruct (value_follows q l) as [F|F]; [left|right]; intros x y Hx Hy L;
        specialize (F x y Hx Hy L); apply place_rises; auto; lia.
    + eapply Nat.le_trans.
      * apply cells_range with (lo := place q (rest o + first q l)) (hi := place q (rest o + last q l)).
        intros x Hx. pose proof (value_between q l x Hx). split; apply place_rises; auto; lia.
      * pose proof (crossed_bound q (rest o) (first q l) (last q l) V FL) as B.
        rewrite last_first in B. lia.
  - cbn zeta. apply to_nat_min_cut; auto.
    apply cut_along with (v := value q); [apply value_follows|].
    apply cut_decided with (g := fun x => place q (rest o + value q x * value q x)).
    { intros x y Hx Hy E. unfold answer, adds. rewrite St, (All x Hx), (All y Hy). now rewrite E. }
    apply cut_squares; auto. intros x Hx. now apply value_between.
  - apply to_nat_min_cut; auto.
    destruct (order_statistic (values o) (rank q (S (length (values o)))) (first q l) (last q l) 0)
      as [b [a [BA K]]]; auto.
    { destruct V as [_ [_ [_ Rank]]]. specialize (Rank (S (length (values o)))). lia. }
    assert (Ans : forall x, In x l -> answer q o x = Some (place q (clamp b a (value q x)))).
    { intros x Hx. destruct (order_answer q o x V St) as [v [E [_ Ev]]].
      - unfold rows. rewrite (All x Hx). intros F. apply (f_equal (@length Z)) in F.
        rewrite insert_length in F. discriminate.
      - rewrite E, Ev. unfold rows. rewrite (All x Hx), insert_length.
        rewrite K by now apply value_between. reflexivity. }
    apply cut_decided with (g := fun x => place q (clamp b a (value q x))).
    { intros x y Hx Hy E. rewrite (Ans x Hx), (Ans y Hy). now rewrite E. }
    apply cut_follows.
    + destruct (value_follows q l) as [F|F]; [left|right]; intros x y Hx Hy L;
        specialize (F x y Hx Hy L); apply place_rises; auto; now apply clamp_rises.
    + eapply Nat.le_trans.
      * apply cells_range with (lo := place q (clamp b a (first q l)))
          (hi := place q (clamp b a (last q l))).
        intros x Hx. pose proof (value_between q l x Hx).
        split; apply place_rises; auto; apply clamp_rises; lia.
      * destruct V as [O [U _]].
        pose proof (clamp_crosses (over q) (under q) (least q) b a (first q l) (last q l) O U BA FL).
        unfold place in *. lia.
Qed.

(** ** An imagined record that adds nothing: [None] *)
Definition lift (q : question) (p : option R) : Z :=
  match p with None => 0 | Some x => value q x end.
Definition lifted_answer (q : question) (o : others) (p : option R) : option Z :=
  Some (place q (rest o + match p with None => 0 | Some x => adds q x end)).
Definition with_zero (l : list R) : list (option R) := None :: map Some l.

Lemma in_with_zero : forall l p, In p (with_zero l) <-> p = None \/ exists x, p = Some x /\ In x l.
Proof.
  intros l p. unfold with_zero. simpl. rewrite in_map_iff. intuition.
  - right. destruct H0 as [x [<- H]]. eauto.
  - destruct H0 as [x [-> H]]. eauto.
Qed.

Lemma lift_between : forall q l p, In p (with_zero l) -> l <> [] ->
  Z.min (first q l) 0 <= lift q p <= Z.max (last q l) 0.
Proof.
  intros q l p H N. apply in_with_zero in H. destruct H as [->|[x [-> Hx]]]; simpl.
  - lia.
  - pose proof (value_between q l x Hx). lia.
Qed.

Lemma cells_lift : forall q l, l <> [] ->
  (cells Z.eq_dec (lift q) (with_zero l) <= 1 + Z.to_nat (gaps q l + 1))%nat.
Proof.
  intros q l N. destruct l as [|x0 l'] eqn:El; [congruence|]. rewrite <- El in *.
  assert (0 <= gaps q l) by (apply gaps_nonneg with x0; rewrite El; now left).
  unfold with_zero. change (None :: map Some l) with ([None] ++ map Some l).
  eapply Nat.le_trans; [apply cells_app|].
  assert ((cells Z.eq_dec (lift q) (@map R _ Some l) <= 1 + Z.to_nat (gaps q l))%nat).
  { rewrite cells_map. simpl. eapply Nat.le_trans; [|apply cells_gaps].
    apply cells_decided. intros x y _ _ E. unfold value. now rewrite E. }
  assert ((cells Z.eq_dec (lift q) [@None R] <= 1)%nat) by (apply (cells_points Z.eq_dec (lift q) [None])).
  lia.
Qed.

(** Zero is a value of the form itself. *)
Lemma cells_lift_exact : forall q l, valid q -> l <> [] -> first q l <= 0 <= last q l ->
  first q l mod scale q = 0 ->
  (cells Z.eq_dec (lift q) (with_zero l) <= 1 + Z.to_nat (gaps q l))%nat.
Proof.
  intros q l V N Z0 Dv. destruct l as [|x0 l'] eqn:El; [congruence|]. rewrite <- El in *.
  assert (G : 0 <= gaps q l) by (apply gaps_nonneg with x0; rewrite El; now left).
  destruct V as [_ [_ [S _]]].
  apply Nat.le_trans with (length (map (fun u => scale q * u + shift q)
    (range (low (dir q) l) (high (dir q) l)))).
  - apply cells_within. intros p Hp. apply in_map_iff. apply in_with_zero in Hp.
    destruct Hp as [->|[x [-> Hx]]]; simpl lift.
    + apply Z.mod_divide in Dv; auto. destruct Dv as [m Em].
      unfold first, last in *.
      destruct (Z.ltb_spec 0 (scale q)).
      * exists (low (dir q) l - m). split; [lia|]. apply in_range. nia.
      * exists (high (dir q) l - m). split; [lia|]. apply in_range. nia.
    + exists (dir q x). split; [reflexivity|]. apply in_range. now apply low_high.
  - rewrite map_length, range_length. unfold gaps in *. lia.
Qed.

Definition counted (q : question) (l : list R) := forall x, In x l -> counts q x = true.

Lemma lifted_sum : forall q o l p, stat q = Sum -> counted q l -> In p (with_zero l) ->
  lifted_answer q o p = Some (place q (rest o + lift q p)).
Proof.
  intros q o l p St All H. apply in_with_zero in H. unfold lifted_answer.
  destruct H as [->|[x [-> Hx]]]; simpl; auto. unfold adds. now rewrite St, (All x Hx).
Qed.

Lemma lifted_square : forall q o l p, stat q = Squares -> counted q l -> In p (with_zero l) ->
  lifted_answer q o p = Some (place q (rest o + lift q p * lift q p)).
Proof.
  intros q o l p St All H. apply in_with_zero in H. unfold lifted_answer.
  destruct H as [->|[x [-> Hx]]]; simpl; auto. unfold adds. now rewrite St, (All x Hx).
Qed.

(** The hull bound of one sum along its form. *)
Lemma hull_cut_sum : forall q o l, valid q -> l <> [] -> stat q = Sum -> constant q = false ->
  counted q l -> cut (lift q) (lifted_answer q o) (with_zero l) (hull_crossings q l).
Proof.
  intros q o l V N St C All.
  assert (By : forall x y, In x (with_zero l) -> In y (with_zero l) -> lift q x = lift q y ->
    lifted_answer q o x = lifted_answer q o y).
  { intros x y Hx Hy E. rewrite !(lifted_sum q o l) by auto. now rewrite E. }
  assert (Hull : forall H, (forall p, In p (with_zero l) -> exists a, a <= lift q p <= a + H /\
      a = Z.min (first q l) 0) -> 0 <= H ->
    cut (lift q) (lifted_answer q o) (with_zero l) (Z.to_nat (crossed q H))).
  { intros H B H0. apply cut_decided with (g := fun p => place q (rest o + lift q p)).
    { intros x y Hx Hy E. rewrite !(lifted_sum q o l) by auto. now rewrite E. }
    apply cut_follows.
    - left. intros x y _ _ L. apply place_rises; auto. lia.
    - set (a := Z.min (first q l) 0) in *. eapply Nat.le_trans.
      + apply cells_range with (lo := place q (rest o + a)) (hi := place q (rest o + (a + H))).
        intros p Hp. destruct (B p Hp) as [a' [B' ->]]. split; apply place_rises; auto; lia.
      + pose proof (crossed_bound q (rest o) a (a + H) V ltac:(lia)) as K.
        replace (a + H - a) with H in K by lia. lia. }
  unfold hull_crossings. rewrite C, St. cbn zeta.
  assert (FL : first q l <= last q l).
  { destruct l as [|x0 l']; [congruence|].
    pose proof (value_between q (x0 :: l') x0 (or_introl eq_refl)). lia. }
  destruct (Z.leb_spec (first q l) 0), (Z.leb_spec 0 (last q l)); cbn [andb].
  - apply to_nat_min_cut.
    + apply Hull; [|lia]. intros p Hp. eexists. split; [|reflexivity].
      pose proof (lift_between q l p Hp N). lia.
    + destruct (Z.eqb_spec (first q l mod scale q) 0).
      * apply cut_points; auto. apply cells_lift_exact; auto.
      * apply cut_points; auto. now apply cells_lift.
  - apply to_nat_min_cut.
    + assert (Z.ltb 0 (first q l) = false) as -> by (apply Z.ltb_ge; lia).
      apply Hull; [|lia]. intros p Hp. eexists. split; [|reflexivity].
      pose proof (lift_between q l p Hp N). lia.
    + apply cut_points; auto. now apply cells_lift.
  - apply to_nat_min_cut.
    + assert (Z.ltb 0 (first q l) = true) as -> by (apply Z.ltb_lt; lia).
      apply Hull; [|lia]. intros p Hp. eexists. split; [|reflexivity].
      pose proof (lift_between q l p Hp N). lia.
    + apply cut_points; auto. now apply cells_lift.
  - lia.
Qed.

Lemma hull_squares : forall q o l, valid q -> l <> [] -> stat q = Squares -> counted q l ->
  let m := Z.max (first q l * first q l) (last q l * last q l) in
  (cells Z.eq_dec (fun p => place q (rest o + lift q p * lift q p)) (with_zero l)
    <= 1 + Z.to_nat (crossed q m))%nat.
Proof.
  intros q o l V N St All m. eapply Nat.le_trans.
  - apply cells_range with (lo := place q (rest o + 0)) (hi := place q (rest o + m)).
    intros p Hp. pose proof (lift_between q l p Hp N).
    split; apply place_rises; auto; [nia|].
    apply Z.add_le_mono_l. unfold m.
    apply in_with_zero in Hp. destruct Hp as [->|[x [-> Hx]]]; simpl lift; [nia|].
    pose proof (value_between q l x Hx).
    destruct (Z_le_gt_dec 0 (value q x)).
    + apply Z.le_trans with (last q l * last q l); nia.
    + apply Z.le_trans with (first q l * first q l); nia.
  - pose proof (crossed_bound q (rest o) 0 m V ltac:(unfold m; nia)) as K.
    rewrite Z.sub_0_r in K. lia.
Qed.

Lemma zero_cut : forall q o l, valid q -> l <> [] -> is_sum q = true -> constant q = false ->
  counted q l -> cut (lift q) (lifted_answer q o) (with_zero l) (zero_crossings q l).
Proof.
  intros q o l V N S C All. unfold zero_crossings. unfold is_sum in S.
  destruct (stat q) eqn:St; try discriminate; [now apply hull_cut_sum|].
  assert (By : forall x y, In x (with_zero l) -> In y (with_zero l) -> lift q x = lift q y ->
    lifted_answer q o x = lifted_answer q o y).
  { intros x y Hx Hy E. rewrite !(lifted_square q o l) by auto. now rewrite E. }
  cbn zeta. rewrite C.
  destruct (Z.ltb_spec (first q l) 0), (Z.ltb_spec 0 (last q l)); cbn [andb].
  { apply to_nat_min_cut; [|apply cut_points; auto; now apply cells_lift].
    apply cut_decided with (g := fun p => place q (rest o + lift q p * lift q p)).
    { intros x y Hx Hy E. rewrite !(lifted_square q o l) by auto. now rewrite E. }
    pose proof (cut_squares q (rest o) (lift q) (with_zero l) (first q l) (last q l) V) as K.
    assert ((first q l <? 0) && (0 <? last q l) = true) as E
      by (apply andb_true_iff; split; apply Z.ltb_lt; lia).
    rewrite E in K. apply K; [|lia]. intros p Hp. pose proof (lift_between q l p Hp N). lia. }
  all: unfold hull_crossings; rewrite C, St; cbn zeta;
    apply to_nat_min_cut; [|apply cut_points; auto; now apply cells_lift];
    apply cut_decided with (g := fun p => place q (rest o + lift q p * lift q p));
    [intros x y Hx Hy E; rewrite !(lifted_square q o l) by auto; now rewrite E|];
    apply cut_follows;
    [apply squares_follow with (f := Z.min (first q l) 0) (h := Z.max (last q l) 0); auto;
      [intros p Hp; now apply lift_between|lia]
    |now apply hull_squares].
Qed.

(** The price of one sum alone, seen with its hull. *)
Lemma hull_cells : forall q o l (da : decidable_equality (option Z)), valid q -> l <> [] ->
  is_sum q = true -> constant q = false -> counted q l ->
  (cells da (lifted_answer q o) (with_zero l) <= 1 + hull_crossings q l)%nat.
Proof.
  intros q o l da V N S C All. unfold is_sum in S.
  destruct (stat q) eqn:St; try discriminate.
  - destruct (hull_cut_sum q o l V N St C All) as [ts [L D]].
    eapply Nat.le_trans; [exact (pieces (lift q) _ da _ ts D)|]. lia.
  - unfold hull_crossings. rewrite C, St. cbn zeta. rewrite Z2Nat.inj_min.
    assert ((cells da (lifted_answer q o) (with_zero l)
      <= cells Z.eq_dec (fun p => place q (rest o + lift q p * lift q p)) (with_zero l))%nat).
    { apply cells_decided. intros x y Hx Hy E. rewrite !(lifted_square q o l) by auto. now rewrite E. }
    assert ((cells da (lifted_answer q o) (with_zero l) <= cells Z.eq_dec (lift q) (with_zero l))%nat).
    { apply cells_decided. intros x y Hx Hy E. rewrite !(lifted_square q o l) by auto. now rewrite E. }
    pose proof (hull_squares q o l V N St All). pose proof (cells_lift q l N). cbn zeta in *. lia.
Qed.
End Question.
