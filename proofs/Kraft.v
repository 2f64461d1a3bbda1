(** A tree whose nodes have at most c children, the product of c at most K on every path, has at
    most K leaves: in whole numbers, without weights. *)
From Coq Require Import List Arith Lia.
From Hartley Require Import Cells.
Import ListNotations.

Section Kraft.
Context {X L : Type} (dl : decidable_equality L).
Variable xs : list X.
(** What step [n] reveals of [x]; what was revealed before step [n]; who agrees with [x] so far. *)
Variable lab : nat -> X -> L.
Definition labs (n : nat) (x : X) : list L := map (fun i => lab i x) (seq 0 n).
Definition dls : decidable_equality (list L) := list_eq_dec dl.
Definition same (n : nat) (x : X) : list X := part dls (labs n) (labs n x) xs.

(** What step [n] is charged for [x]; the product of the charges before step [n]. *)
Variable charge : nat -> X -> nat.
Definition spent (n : nat) (x : X) : nat := product (fun i => charge i x) (seq 0 n).

(** A charge depends on what was revealed alone, and pays for what its step reveals. *)
Hypothesis charge_told : forall n x y,
  In x xs -> In y xs -> labs n x = labs n y -> charge n x = charge n y.
Hypothesis charge_pays : forall n x, In x xs -> cells dl (lab n) (same n x) <= charge n x.

Lemma labs_step : forall n x, labs (S n) x = labs n x ++ [lab n x].
Proof. intros. unfold labs. rewrite seq_S, map_app. reflexivity. Qed.

Lemma labs_step_eq : forall n x y,
  labs (S n) x = labs (S n) y <-> labs n x = labs n y /\ lab n x = lab n y.
Proof.
  intros. rewrite !labs_step. split.
  - intros E. apply app_inj_tail in E. exact E.
  - intros [-> ->]. reflexivity.
Qed.

Lemma in_same : forall n x y, In y (same n x) <-> In y xs /\ labs n y = labs n x.
Proof. intros. apply in_part. Qed.

Lemma product_app : forall {A} (f : A -> nat) l m, product f (l ++ m) = product f l * product f m.
Proof. intros. unfold product. induction l; simpl; [lia|]. rewrite IHl. lia. Qed.

Definition rest (k m : nat) (x : X) : nat := product (fun i => charge i x) (seq k m).

Lemma subtree : forall m k x K, In x xs ->
  (forall y, In y (same k x) -> rest k m y <= K) ->
  cells dls (labs (k + m)) (same k x) <= K.
Proof.
  induction m as [|m IH]; intros k x K Hx Bound.
  - apply Nat.le_trans with 1.
    + apply cells_constant. intros y z Hy Hz. apply in_same in Hy, Hz.
      rewrite Nat.add_0_r. destruct Hy, Hz. congruence.
    + apply (Bound x). apply in_same. auto.
  - set (c := charge k x).
    assert (Hc : cells dl (lab k) (same k x) <= c) by now apply charge_pays.
    assert (c <> 0).
    { assert (1 <= cells dl (lab k) (same k x)).
      { apply cells_positive with x. apply in_same; auto. }
      lia. }
    apply Nat.le_trans with (cells dl (lab k) (same k x) * (K / c)).
    + apply cells_children. intros y Hy. pose proof Hy as Hy'. apply in_same in Hy'.
      destruct Hy' as [Hyx Ey].
      apply Nat.le_trans with (cells dls (labs (S k + m)) (same (S k) y)).
      * replace (k + S m) with (S k + m) by lia. apply cells_incl. intros z Hz.
        apply in_part in Hz. destruct Hz as [Hz Ez]. apply in_same in Hz. destruct Hz as [Hz Ek].
        apply in_same. split; auto. apply labs_step_eq. split; congruence.
      * apply IH; auto. intros z Hz. apply in_same in Hz. destruct Hz as [Hz Ez].
        apply labs_step_eq in Ez. destruct Ez as [Ez _].
        assert (rest k (S m) z <= K) as B by (apply Bound, in_same; split; congruence).
        unfold rest in B. cbn in B. fold (rest (S k) m z) in B.
        assert (charge k z = c) as Cz by (apply charge_told; auto; congruence).
        rewrite Cz in B. apply Nat.div_le_lower_bound; auto.
    + apply Nat.le_trans with (c * (K / c)).
      * now apply Nat.mul_le_mono_r.
      * now apply Nat.mul_div_le.
Qed.

(** The leaves number at most [K] where every path was charged at most [K]. *)
Theorem kraft : forall n K,
  (forall x, In x xs -> spent n x <= K) -> cells dls (labs n) xs <= K.
Proof.
  intros n K H. destruct xs as [|x0 xs'] eqn:E.
  - rewrite cells_nil. lia.
  - rewrite <- E in *.
    assert (In x0 xs) as H0 by (rewrite E; now left).
    apply Nat.le_trans with (cells dls (labs (0 + n)) (same 0 x0)).
    + apply cells_incl. intros y Hy. apply in_same. auto.
    + apply subtree; auto. intros y Hy. apply in_same in Hy. apply H. tauto.
Qed.
End Kraft.
