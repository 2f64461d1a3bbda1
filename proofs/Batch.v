(** A computed price for one private column, with missing values and rows that may be absent, sound
    for COUNT, SUM, sums of squares and order statistics, any filters, any other people.

    THE MODEL. One private column of codes 0 .. points - 1; the value may be missing; where the number
    of rows is private, the row may be absent. A question ([asked]) is plain data: which codes pass
    its filter, whether a missing value does, a form scale * code + shift, a step over/under, the
    range of its statistic, and for an order statistic the quantile num/den: the ceil(p n)-th
    smallest, 0 is the smallest itself. *)
From Coq Require Import List Arith Lia ZArith QArith Lqa Bool.
From Hartley Require Import Cells Grid Order Line Regions Span Atom Question Families.
Import ListNotations.
Local Open Scope nat_scope.

Inductive record := Code (c : Z) | Missing | Absent.
Definition code (x : record) : Z := match x with Code c => c | _ => 0%Z end.

Record asked := Asked {
  a_stat : statistic;
  a_codes : list (Z * Z);
  a_missing : bool;
  a_scale : Z;
  a_shift : Z;
  a_over : Z;
  a_under : Z;
  a_least : Z;
  a_most : Z;
  a_num : Z;
  a_den : Z
}.

Definition asked_dec : decidable_equality asked.
Proof.
  unfold decidable_equality. intros a b. decide equality; try apply Z.eq_dec; try apply bool_dec.
  - apply list_eq_dec. intros p r. decide equality; apply Z.eq_dec.
  - decide equality.
Defined.

Definition passes (a : asked) (x : record) : bool :=
  match x with
  | Code c => existsb (fun r => (fst r <=? c)%Z && (c <=? snd r)%Z) (a_codes a)
  | Missing => a_missing a && match a_stat a with Count => true | _ => false end
  | Absent => false
  end.

(** The place, from 0, of the ceil(p n)-th smallest of n. *)
Definition place_of (num den : Z) (n : nat) : nat :=
  Z.to_nat (Z.max 1 (ceil (num * Z.of_nat n) den) - 1).

Definition meaning (a : asked) : question record :=
  Question record (a_stat a) (passes a) code (a_scale a) (a_shift a) (a_over a) (a_under a)
    (a_least a) (a_most a) (place_of (a_num a) (a_den a)) [1%Z].

(** A question that the package can build: positive step, a form that looks at the column, a quantile
    between 0 and 1. *)
Definition well_formed (a : asked) : Prop :=
  (0 < a_over a /\ 0 < a_under a /\ a_scale a <> 0 /\ 0 < a_den a /\ 0 <= a_num a <= a_den a)%Z.

Lemma well_formed_valid : forall a, well_formed a -> valid (meaning a).
Proof.
  intros a (O & U & S & D & N). repeat split; simpl; auto. intros n Hn. unfold place_of.
  assert (ceil (a_num a * Z.of_nat n) (a_den a) <= Z.of_nat n)%Z by (apply ceil_least; nia). lia.
Qed.

(** ** The geometry of one column *)
Section Line.
Context {R : Type} (u : R -> Z).
Notation question := (question R).

Definition on_line (q : question) : Prop := valid q /\ forall x, dir q x = u x.
Definition line_spots (q : question) (l : list R) : nat := length l.
Definition line_outputs (qs : list question) (l : list R) : nat :=
  min (length l) (1 + total (fun q => crossings q l) qs).
(** Forms with a common zero are one direction of the space with the constant as coordinate. *)
Definition common_zero (q r : question) : bool := (scale q * shift r =? scale r * shift q)%Z.
Definition line_beyond (qs : list question) (l : list R) : nat :=
  elementary 2 (map (fun g => total (fun q => zero_crossings q l) (members g))
                    (groups common_zero qs)) - 1.

Lemma line_spots_sound : forall q l, on_line q -> counted q l ->
  cells Z.eq_dec (dir q) l <= line_spots q l.
Proof. intros. apply cells_points. Qed.

Lemma line_outputs_sound : forall (qos : list (question * others)) l
    (f : question * others -> R -> option Z),
  (forall qo, In qo qos -> on_line (fst qo) /\ counted (fst qo) l) ->
  (forall qo, In qo qos -> cut (dir (fst qo)) (f qo) l (crossings (fst qo) l)) ->
  cells (list_eq_dec answer_dec) (vector (map f qos)) l <= line_outputs (map fst qos) l.
Proof.
  intros qos l f H C. unfold line_outputs. rewrite total_map.
  apply (atom_line answer_dec u f (fun qo => crossings (fst qo) l) l qos).
  intros qo Hq. destruct (H qo Hq) as [[_ E] _].
  apply cut_along with (v := dir (fst qo)); auto.
  left. intros x y _ _ L. now rewrite !E.
Qed.

(** The plane of the column and the constant: a record lies at (code, 1), the imagined one at (0, 0). *)
Definition plane := (Q * Q)%type.
Definition between (t : Q) (p r : plane) : plane :=
  ((1 - t) * fst p + t * fst r, (1 - t) * snd p + t * snd r)%Q.
Definition at_plane (p : option R) : plane :=
  match p with None => (0, 0)%Q | Some x => (inject_Z (u x), 1)%Q end.
Definition plane_form (qo : question * others) (p : plane) : Q :=
  (inject_Z (scale (fst qo)) * fst p + inject_Z (shift (fst qo)) * snd p)%Q.

Lemma line_beyond_sound : forall (qos : list (question * others)) l
    (f : question * others -> option R -> option Z),
  (forall qo, In qo qos -> on_line (fst qo) /\ counted (fst qo) l) ->
  (forall qo, In qo qos -> cut (lift (fst qo)) (f qo) (with_zero l) (zero_crossings (fst qo) l)) ->
  cells (list_eq_dec answer_dec) (vector (map f qos)) (with_zero l)
    <= 1 + line_beyond (map fst qos) l.
Proof.
  intros qos l f H C. unfold line_beyond.
  rewrite (groups_map (fun a b : question * others => common_zero (fst a) (fst b))) by reflexivity.
  rewrite map_map.
  set (gs := groups (fun a b : question * others => common_zero (fst a) (fst b)) qos).
  assert (E : map (fun g => total (fun q => zero_crossings q l)
                (members (fst (fst g), map fst (snd g)))) gs
            = map (fun g => total (fun qo : question * others => zero_crossings (fst qo) l) (members g)) gs).
  { apply map_ext. intros g. unfold members. simpl.
    change (fst (fst g) :: map fst (snd g)) with (map fst (fst g :: snd g)). now rewrite total_map. }
  rewrite E. clear E.
  match goal with |- _ <= 1 + (elementary 2 ?amounts - 1) =>
    apply Nat.le_trans with (elementary 2 amounts); [|pose proof (elementary_positive 2 amounts); lia]
  end.
  apply (atom_outputs answer_dec between at_plane (fun qo => lift (fst qo)) plane_form f
    (fun qo => zero_crossings (fst qo) l)
    (fun a b : question * others => common_zero (fst a) (fst b)) (with_zero l) qos).
  - intros qo _ t p r. unfold plane_form, between. simpl. ring.
  - intros qo x Hq Hx. destruct (H qo Hq) as [[_ D] _]. unfold plane_form.
    destruct x as [x|]; simpl at_plane; simpl lift; cbn [fst snd].
    + unfold value. rewrite D, inject_Z_plus, inject_Z_mult. ring.
    + unfold inject_Z at 3. ring.
  - intros i j Hi Hj S. apply Z.eqb_eq in S.
    destruct (H i Hi) as [[[_ [_ [Si _]]] Di] _]. destruct (H j Hj) as [[[_ [_ [Sj _]]] Dj] _].
    assert (P : forall p, (scale (fst j) * lift (fst i) p = scale (fst i) * lift (fst j) p)%Z).
    { intros [x|]; simpl; [|lia]. unfold value. rewrite Di, Dj. nia. }
    destruct (Z_lt_le_dec 0 (scale (fst i) * scale (fst j))); [left|right];
      intros x y _ _ L; pose proof (P x); pose proof (P y).
    + assert (scale (fst j) * (lift (fst i) y - lift (fst i) x)
              = scale (fst i) * (lift (fst j) y - lift (fst j) x))%Z by nia.
      destruct (Z_lt_le_dec 0 (scale (fst j))); nia.
    + assert (scale (fst j) * (lift (fst i) y - lift (fst i) x)
              = scale (fst i) * (lift (fst j) y - lift (fst j) x))%Z by nia.
      destruct (Z_lt_le_dec 0 (scale (fst j))); nia.
  - exact C.
  - apply rank_le_span with (gs := [fst; snd]); [reflexivity|].
    intros g Hg. apply in_map_iff in Hg. destruct Hg as [g' [<- _]].
    exists [inject_Z (scale (fst (fst g'))); inject_Z (shift (fst (fst g')))], 0%Q.
    split; [reflexivity|]. intros p _. unfold plane_form. simpl. ring.
Qed.

Definition line_price : list question -> list R -> nat := price line_spots line_outputs line_beyond.
End Line.

(** ** The price of a batch *)
Definition domain (points : nat) (nullable : bool) : list record :=
  map (fun n => Code (Z.of_nat n)) (seq 0 points) ++ (if nullable then [Missing] else []).
Definition batch_price (b : list asked) (dom : list record) : nat :=
  line_price (map meaning b) dom.
(** Where the row may be absent: one output more, or one more record in the batch. *)
Definition batch_price_absent (b : list asked) (dom : list record) : nat :=
  min (1 + batch_price b dom) (batch_price b (dom ++ [Absent])).

Definition fair_asked (dom : list record) (ao : asked * others) : Prop :=
  well_formed (fst ao) /\ fair dom (meaning (fst ao), snd ao).
Definition batch_answers (aos : list (asked * others)) (x : record) : list (option Z) :=
  map (fun ao => answer (meaning (fst ao)) (snd ao) x) aos.
Definition answers_dec : decidable_equality (list (option Z)) := list_eq_dec answer_dec.
(** What a batch is charged for: its answers, and who counts for its counts and order statistics. *)
Definition batch_outputs (aos : list (asked * others)) (x : record) : list (bool * option Z) :=
  outputs (map (fun ao => (meaning (fst ao), snd ao)) aos) x.

Theorem price_told : forall aos dom, (forall ao, In ao aos -> fair_asked dom ao) ->
  cells outputs_dec (batch_outputs aos) dom <= batch_price (map fst aos) dom.
Proof.
  intros aos dom H. unfold batch_price, line_price.
  set (qos := map (fun ao => (meaning (fst ao), snd ao)) aos).
  replace (map meaning (map fst aos)) with (map fst qos).
  2: { unfold qos. rewrite !map_map. reflexivity. }
  apply (price_tells line_spots line_outputs line_beyond (on_line code)).
  - apply line_spots_sound.
  - apply line_outputs_sound.
  - apply line_beyond_sound.
  - intros qo Hq. unfold qos in Hq. apply in_map_iff in Hq. destruct Hq as [ao [<- Ha]].
    destruct (H ao Ha) as [W Fr]. split; [|exact Fr]. split; [|reflexivity].
    now apply well_formed_valid.
Qed.

Theorem price_sound : forall aos dom, (forall ao, In ao aos -> fair_asked dom ao) ->
  cells answers_dec (batch_answers aos) dom <= batch_price (map fst aos) dom.
Proof.
  intros aos dom H. eapply Nat.le_trans; [|now apply price_told].
  apply cells_decided. intros x y _ _ E. unfold batch_answers, batch_outputs, outputs in *.
  rewrite !map_map in E. apply map_ext_in. intros ao Ha.
  pose proof (map_eq_In _ _ aos ao E Ha) as K. unfold output in K. simpl in K. congruence.
Qed.

Theorem price_absent_sound : forall aos dom,
  (forall ao, In ao aos -> fair_asked (dom ++ [Absent]) ao) ->
  cells answers_dec (batch_answers aos) (dom ++ [Absent]) <= batch_price_absent (map fst aos) dom.
Proof.
  intros aos dom H. unfold batch_price_absent. apply Nat.min_glb; [|now apply price_sound].
  eapply Nat.le_trans; [apply cells_app|].
  assert (cells answers_dec (batch_answers aos) [Absent] <= 1) by (apply (cells_points answers_dec _ [Absent])).
  assert (cells answers_dec (batch_answers aos) dom <= batch_price (map fst aos) dom); [|lia].
  apply price_sound. intros ao Ha. destruct (H ao Ha) as [W Fr]. split; auto.
  apply fair_incl with (dom ++ [Absent]); auto. intros x Hx. apply in_app_iff. auto.
Qed.
