(** Families of parallel hyperplanes cut a convex set of rank d into at most
    e_0 + .. + e_d regions, e_i the elementary symmetric sums of the sizes of the families. *)
From Coq Require Import List Arith Lia QArith Lqa Bool.
From Hartley Require Import Cells.
Import ListNotations.
Local Open Scope Q_scope.

(** e_0 + .. + e_d of some amounts. *)
Fixpoint elementary (d : nat) (amounts : list nat) : nat :=
  match amounts with
  | [] => 1
  | b :: bs => elementary d bs + match d with O => 0 | S e => b * elementary e bs end
  end.

Lemma elementary_none : forall bs, elementary 0 bs = 1%nat.
Proof. induction bs; simpl; lia. Qed.

Lemma elementary_positive : forall d bs, (1 <= elementary d bs)%nat.
Proof. intros d bs. revert d. induction bs as [|b bs IH]; intros d; simpl; [lia|]. specialize (IH d). lia. Qed.

Section Space.
(** A space is a type of points with segments: [between t x y] lies t of the way from x to y. *)
Context {P : Type} (between : Q -> P -> P -> P).
Definition affine (f : P -> Q) := forall t x y, f (between t x y) == (1 - t) * f x + t * f y.
Definition convex (C : P -> Prop) :=
  forall t x y, 0 <= t -> t <= 1 -> C x -> C y -> C (between t x y).
Definition constant (C : P -> Prop) (f : P -> Q) := forall x y, C x -> C y -> f x == f y.

(** Forms have rank at most d on C: each is constant there, or has rank one less where it is fixed. *)
Fixpoint rank_le (forms : list (P -> Q)) (d : nat) (C : P -> Prop) : Prop :=
  match d with
  | O => forall f, In f forms -> constant C f
  | S e => forall f, In f forms ->
      constant C f \/ forall t, rank_le forms e (fun p => C p /\ f p == t)
  end.

Lemma rank_le_weaker : forall d forms forms' (C C' : P -> Prop),
  incl forms' forms -> (forall p, C' p -> C p) -> rank_le forms d C -> rank_le forms' d C'.
Proof.
  induction d as [|d IH]; intros forms forms' C C' I S R f Hf; simpl in R.
  - intros x y Hx Hy. apply (R f); auto.
  - destruct (R f (I f Hf)) as [H|H]; [left|right].
    + intros x y Hx Hy. apply H; auto.
    + intros t. apply IH with (forms := forms) (C := fun p => C p /\ f p == t); auto.
      intros p [Hp E]. auto.
Qed.

(** A family: a form and the values at which it is cut. *)
Definition family := ((P -> Q) * list Q)%type.
Definition side (f : P -> Q) (p : P) (t : Q) : bool := Qle_bool t (f p).
Definition sides (fam : family) (p : P) : list bool := map (side (fst fam) p) (snd fam).
Definition region (fams : list family) (p : P) : list (list bool) :=
  map (fun fam => sides fam p) fams.
Definition region_dec : decidable_equality (list (list bool)) := list_eq_dec (list_eq_dec bool_dec).

Lemma side_between : forall f t s x y, affine f -> 0 <= s -> s <= 1 ->
  side f x t = side f y t -> side f (between s x y) t = side f x t.
Proof.
  intros f t s x y A S0 S1 E. unfold side in *.
  destruct (Qle_bool t (f x)) eqn:Ex; symmetry in E.
  - apply Qle_bool_iff in Ex, E. apply Qle_bool_iff. rewrite (A s x y). nra.
  - apply not_true_iff_false. intros C. apply Qle_bool_iff in C.
    assert (f x < t) by (apply Qnot_le_lt; intros B; apply Qle_bool_iff in B; congruence).
    assert (f y < t) by (apply Qnot_le_lt; intros B; apply Qle_bool_iff in B; congruence).
    rewrite (A s x y) in C.
    destruct (Qlt_le_dec 0 s) as [L|L]; nra.
Qed.

Lemma region_between : forall fams s x y,
  (forall fam, In fam fams -> affine (fst fam)) -> 0 <= s -> s <= 1 ->
  region fams x = region fams y -> region fams (between s x y) = region fams x.
Proof.
  intros fams s x y A S0 S1. induction fams as [|[f ts] fams IH]; intros E; [reflexivity|].
  simpl in E. injection E as E1 E2. simpl. f_equal.
  - unfold sides in *. simpl in *.
    assert (affine f) as Af by (apply (A (f, ts)); now left).
    clear -E1 Af S0 S1. induction ts as [|t ts IH]; [reflexivity|].
    simpl in *. injection E1 as E1 E2. f_equal; auto. now apply side_between.
  - apply IH; auto. intros fam H. apply A. now right.
Qed.

(** Where a segment meets a hyperplane. *)
Definition meet (f : P -> Q) (t : Q) (x y : P) : P := between ((t - f x) / (f y - f x)) x y.

Lemma meet_spec : forall f t x y, affine f -> f x < t -> t <= f y ->
  let s := (t - f x) / (f y - f x) in 0 <= s /\ s <= 1 /\ f (meet f t x y) == t.
Proof.
  intros f t x y A L H s.
  assert (D : 0 < f y - f x) by lra.
  assert (E : s * (f y - f x) == t - f x) by (unfold s; field; lra).
  assert (0 <= s) by (unfold s; apply Qle_shift_div_l; lra).
  assert (s <= 1) by (unfold s; apply Qle_shift_div_r; lra).
  repeat split; auto. unfold meet. fold s. rewrite (A s x y). lra.
Qed.

Theorem regions : forall fams d C xs,
  (forall fam, In fam fams -> affine (fst fam)) -> convex C -> rank_le (map fst fams) d C ->
  (forall x, In x xs -> C x) ->
  (cells region_dec (region fams) xs <= elementary d (map (fun fam => length (snd fam)) fams))%nat.
Proof.
  induction fams as [|[f ts] fams IH]; intros d C xs A Conv R In_C.
  { apply cells_constant. reflexivity. }
  assert (A' : forall fam, In fam fams -> affine (fst fam)) by (intros; apply A; now right).
  assert (Af : affine f) by (apply (A (f, ts)); now left).
  assert (Whole : forall ys C' e, convex C' -> (forall x, In x ys -> C' x) ->
    rank_le (map fst fams) e C' ->
    (cells region_dec (region fams) ys <= elementary e (map (fun fam => length (snd fam)) fams))%nat).
  { intros. now apply IH with (C := C'). }
  assert (Rest : rank_le (map fst fams) d C).
  { apply rank_le_weaker with (forms := map fst ((f, ts) :: fams)) (C := C); auto.
    intros g Hg. now right. }
  (* where the new form is constant, it adds no region *)
  assert (Flat : forall ys us, constant (fun p => In p ys) f ->
    (cells region_dec (region ((f, us) :: fams)) ys <= cells region_dec (region fams) ys)%nat).
  { intros ys us K. apply cells_decided. intros x y Hx Hy E. simpl. f_equal; auto.
    unfold sides. apply map_ext. intros t. unfold side. simpl.
    apply eq_true_iff_eq. rewrite !Qle_bool_iff. now rewrite (K x y Hx Hy). }
  simpl map. simpl elementary.
  assert (Case : constant C f \/ exists e, d = S e /\ forall t,
    rank_le (map fst ((f, ts) :: fams)) e (fun p => C p /\ f p == t)).
  { destruct d as [|e].
    - left. apply R. now left.
    - destruct (R f (or_introl eq_refl)) as [K|K]; [now left|right]. eauto. }
  destruct Case as [K|[e [-> Slice]]].
  - eapply Nat.le_trans; [apply Flat; intros x y Hx Hy; apply K; auto|].
    eapply Nat.le_trans; [apply (Whole xs C d)|]; auto. lia.
  - assert (A2 : forall us fam, In fam ((f, us) :: fams) -> affine (fst fam)).
    { intros us fam [<-|H]; auto. }
    clear R A. induction ts as [|t ts IHt].
    + simpl. apply Nat.le_trans with (cells region_dec (region fams) xs).
      * apply cells_decided. intros x y _ _ E. simpl. f_equal; auto.
      * rewrite Nat.add_0_r. now apply (Whole xs C).
    + assert (IHt' : (cells region_dec (region ((f, ts) :: fams)) xs <=
        elementary (S e) (map (fun fam => length (snd fam)) fams)
        + length ts * elementary e (map (fun fam => length (snd fam)) fams))%nat).
      { apply IHt. exact Slice. }
      clear IHt.
      set (zs := flat_map (fun x => flat_map (fun y =>
         if region_dec (region ((f, ts) :: fams) x) (region ((f, ts) :: fams) y)
         then if side f x t then [] else if side f y t then [meet f t x y] else []
         else []) xs) xs).
      assert (Zin : forall z, In z zs -> C z /\ f z == t).
      { intros z Hz. apply in_flat_map in Hz. destruct Hz as [x [Hx Hz]].
        apply in_flat_map in Hz. destruct Hz as [y [Hy Hz]].
        destruct (region_dec _ _); [|destruct Hz].
        destruct (side f x t) eqn:Sx; [destruct Hz|]. destruct (side f y t) eqn:Sy; [|destruct Hz].
        destruct Hz as [<-|[]]. unfold side in Sx, Sy. apply Qle_bool_iff in Sy.
        assert (f x < t) as Lx by (apply Qnot_le_lt; intros B; apply Qle_bool_iff in B; congruence).
        destruct (meet_spec f t x y Af Lx Sy) as [S0 [S1 E]]. split; auto.
        apply Conv; auto. }
      apply Nat.le_trans with (cells (pair_dec region_dec bool_dec)
        (fun x => (region ((f, ts) :: fams) x, side f x t)) xs).
      { apply cells_decided. intros x y _ _ E. injection E as E1 E2 E3. simpl.
        f_equal; [|exact E2]. unfold sides in *. simpl in *. f_equal; assumption. }
      eapply Nat.le_trans; [apply (cells_split region_dec _ _ xs zs)|].
      { intros x y Hx Hy E Sx Sy.
        pose proof Sx as Sx'. pose proof Sy as Sy'. unfold side in Sx', Sy'.
        apply Qle_bool_iff in Sy'.
        assert (f x < t) as Lx by (apply Qnot_le_lt; intros B; apply Qle_bool_iff in B; congruence).
        destruct (meet_spec f t x y Af Lx Sy') as [S0 [S1 _]].
        exists (meet f t x y). split.
        - apply in_flat_map. exists x. split; auto. apply in_flat_map. exists y. split; auto.
          destruct (region_dec _ _) as [_|N]; [|contradiction]. rewrite Sx, Sy. now left.
        - apply region_between; auto. exact (A2 ts). }
      assert ((cells region_dec (region ((f, ts) :: fams)) zs <=
               elementary e (map (fun fam => length (snd fam)) fams))%nat) as L.
      { eapply Nat.le_trans.
        - apply Flat. intros x y Hx Hy. destruct (Zin x Hx) as [_ ->], (Zin y Hy) as [_ ->]. reflexivity.
        - apply (Whole zs (fun p => C p /\ f p == t)); auto.
          + intros s x y S0 S1 [Cx Ex] [Cy Ey]. split; [apply Conv; auto|].
            rewrite (Af s x y), Ex, Ey. lra.
          + apply rank_le_weaker with (forms := map fst ((f, t :: ts) :: fams))
              (C := fun p => C p /\ f p == t); auto. intros g Hg. now right. }
      change (length (snd (f, t :: ts))) with (S (length ts)). simpl in IHt'. simpl. lia.
Qed.
End Space.
