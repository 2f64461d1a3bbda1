(** Regions of forms that are given by their coefficients: the rank is computed by elimination, forms
    without a common column multiply, and no component has more outputs than points. *)
From Coq Require Import List Arith Lia ZArith QArith Lqa Bool.
From Hartley Require Import Cells Line Regions Span Atom.
Import ListNotations.
Local Open Scope nat_scope.

(** ** Forms by coefficients, from coordinate [k] on *)
Fixpoint dot (v : list Z) (k : nat) (p : nat -> Z) : Z :=
  match v with [] => 0%Z | c :: v' => (c * p k + dot v' (S k) p)%Z end.
Definition point := (nat -> Q)%type.
Definition between (t : Q) (p r : point) : point := fun k => ((1 - t) * p k + t * r k)%Q.
Fixpoint form (v : list Z) (k : nat) (p : point) : Q :=
  match v with [] => 0%Q | c :: v' => (inject_Z c * p k + form v' (S k) p)%Q end.

Lemma form_affine : forall v k, affine between (form v k).
Proof.
  induction v as [|c v IH]; intros k t x y; simpl; [lra|].
  rewrite (IH (S k) t x y). unfold between. ring.
Qed.

Lemma form_dot : forall v k (p : nat -> Z),
  (form v k (fun i => inject_Z (p i)) == inject_Z (dot v k p))%Q.
Proof.
  induction v as [|c v IH]; intros k p; simpl; [reflexivity|].
  rewrite (IH (S k) p), inject_Z_plus, inject_Z_mult. reflexivity.
Qed.

(** ** Rank by elimination *)
Definition is_zero (v : list Z) : bool := forallb (Z.eqb 0) v.
(** The first coordinate that is not zero, and the coordinate itself at a place. *)
Fixpoint leading (v : list Z) : nat :=
  match v with [] => 0 | c :: v' => if Z.eqb c 0 then S (leading v') else 0 end.
Definition at_place (v : list Z) (k : nat) : Z := nth k v 0%Z.
(** a w - b v, of equal or different lengths. *)
Fixpoint mix (a : Z) (w : list Z) (b : Z) (v : list Z) : list Z :=
  match w with
  | [] => map (Z.mul (- b)) v
  | c :: w' =>
      match v with
      | [] => map (Z.mul a) w
      | d :: v' => (a * c - b * d)%Z :: mix a w' b v'
      end
  end.

Fixpoint pivots (fuel : nat) (vs : list (list Z)) : list (list Z) :=
  match fuel, vs with
  | O, _ => vs
  | S n, [] => []
  | S n, v :: rest =>
      if is_zero v then pivots n rest
      else let k := leading v in
           v :: pivots n (map (fun w => mix (at_place v k) w (at_place w k) v) rest)
  end.
Definition rank_of (vs : list (list Z)) : nat := length (pivots (length vs) vs).

Lemma times_form : forall a w k p, (form (map (Z.mul a) w) k p == inject_Z a * form w k p)%Q.
Proof.
  intros a. induction w as [|c w IH]; intros k p; cbn [map form]; [ring|].
  rewrite (IH (S k) p), inject_Z_mult. ring.
Qed.

Lemma mix_form : forall a b w v k p,
  (form (mix a w b v) k p == inject_Z a * form w k p - inject_Z b * form v k p)%Q.
Proof.
  intros a b. induction w as [|c w IH]; intros v k p.
  - cbn [mix]. rewrite times_form, inject_Z_opp. simpl. ring.
  - destruct v as [|d v]; cbn [mix].
    + rewrite times_form. simpl. ring.
    + cbn [form]. rewrite (IH v (S k) p).
      unfold Z.sub. rewrite inject_Z_plus, inject_Z_opp, !inject_Z_mult. ring.
Qed.

Lemma zero_form : forall v k p, is_zero v = true -> (form v k p == 0)%Q.
Proof.
  induction v as [|c v IH]; intros k p H; cbn [form]; [reflexivity|].
  unfold is_zero in *. cbn [forallb] in H.
  apply andb_true_iff in H. destruct H as [H1 H2]. apply Z.eqb_eq in H1. subst c.
  rewrite (IH (S k) p H2). change (inject_Z 0) with 0%Q. ring.
Qed.

Lemma leading_nonzero : forall v, is_zero v = false -> at_place v (leading v) <> 0%Z.
Proof.
  unfold is_zero, at_place. induction v as [|c v IH]; intros H; [discriminate|].
  cbn [forallb] in H. cbn [leading].
  destruct (Z.eqb_spec c 0) as [->|N]; cbn [nth]; auto.
Qed.

(** Linear combinations without a constant. *)
Definition spanned (gs : list (list Z)) (v : list Z) : Prop :=
  exists cs, length cs = length gs /\
    forall p, (form v 0 p == combination cs (map (fun g => form g 0) gs) p)%Q.

Lemma combination_scale : forall r cs (gs : list (point -> Q)) p,
  (combination (map (Qmult r) cs) gs p == r * combination cs gs p)%Q.
Proof.
  intros r. induction cs as [|c cs IH]; intros [|g gs] p; simpl; try ring.
  rewrite (IH gs p). ring.
Qed.

Lemma combination_zeros : forall n (gs : list (point -> Q)) p,
  (combination (repeat 0%Q n) gs p == 0)%Q.
Proof.
  intros n gs p. apply combination_zero. intros c Hc. apply repeat_spec in Hc. now subst.
Qed.

Lemma spanned_member : forall gs v, In v gs -> spanned gs v.
Proof.
  induction gs as [|g gs IH]; intros v Hv; [destruct Hv|]. destruct Hv as [->|H].
  - exists (1%Q :: repeat 0%Q (length gs)). split; [simpl; now rewrite repeat_length|].
    intros p. simpl. rewrite combination_zeros. ring.
  - destruct (IH v H) as [cs [L E]]. exists (0%Q :: cs). split; [simpl; congruence|].
    intros p. simpl. rewrite (E p). ring.
Qed.

Lemma pivots_span : forall fuel vs v, length vs <= fuel -> In v vs -> spanned (pivots fuel vs) v.
Proof.
  induction fuel as [|n IH]; intros vs v L H.
  - destruct vs; [destruct H|simpl in L; lia].
  - destruct vs as [|w rest]; [destruct H|]. simpl in L. simpl.
    destruct (is_zero w) eqn:Z.
    + destruct H as [->|H]; [|apply IH; auto; lia].
      exists (repeat 0%Q (length (pivots n rest))). split; [apply repeat_length|].
      intros p. rewrite combination_zeros. now apply zero_form.
    + cbn zeta. set (k := leading w). set (a := at_place w k).
      set (rest' := map (fun u => mix a u (at_place u k) w) rest).
      destruct H as [->|H]; [apply spanned_member; now left|].
      destruct (IH rest' (mix a v (at_place v k) w)) as [cs [Lc E]].
      { unfold rest'. rewrite map_length. lia. }
      { unfold rest'. apply in_map_iff. eauto. }
      assert (A : ~ (inject_Z a == 0)%Q).
      { intros C. apply (leading_nonzero w Z). fold k. fold a. unfold inject_Z, Qeq in C. simpl in C. lia. }
      exists ((inject_Z (at_place v k) / inject_Z a)%Q :: map (Qmult (/ inject_Z a)) cs). split.
      { simpl. now rewrite map_length, Lc. }
      intros p. simpl. rewrite combination_scale, <- (E p), mix_form. field. exact A.
Qed.

Lemma rank_of_sound : forall (vs : list (list Z)),
  rank_le (map (fun v => form v 0) vs) (rank_of vs) (fun _ => True).
Proof.
  intros vs. apply rank_le_span with (gs := map (fun g => form g 0) (pivots (length vs) vs)).
  - now rewrite map_length.
  - intros f Hf. apply in_map_iff in Hf. destruct Hf as [v [<- Hv]].
    destruct (pivots_span (length vs) vs v (Nat.le_refl _) Hv) as [cs [L E]].
    exists cs, 0%Q. split; [now rewrite map_length|]. intros p _. rewrite (E p). ring.
Qed.

(** ** Forms that are multiples of each other *)
Fixpoint multiples (a : Z) (v : list Z) (b : Z) (w : list Z) : bool :=
  match v, w with
  | [], [] => true
  | c :: v', d :: w' => (a * c =? b * d)%Z && multiples a v' b w'
  | _, _ => false
  end.
(** [v] is a multiple of [w], which is not zero. *)
Definition parallel (v w : list Z) : bool :=
  negb (is_zero w) && multiples (at_place w (leading w)) v (at_place v (leading w)) w.

Lemma multiples_dot : forall a b v w k p, multiples a v b w = true ->
  (a * dot v k p = b * dot w k p)%Z.
Proof.
  intros a b. induction v as [|c v IH]; intros [|d w] k p H; simpl in *; try discriminate; [lia|].
  apply andb_true_iff in H. destruct H as [H1 H2]. apply Z.eqb_eq in H1.
  rewrite !Z.mul_add_distr_l, (IH w (S k) p H2), !Z.mul_assoc, H1. reflexivity.
Qed.

Lemma parallel_follows : forall {X} (pos : X -> nat -> Z) v w xs, parallel v w = true ->
  follows (fun x => dot w 0 (pos x)) xs (fun x => dot v 0 (pos x)).
Proof.
  intros X pos v w xs H. unfold parallel in H. apply andb_true_iff in H. destruct H as [N H].
  apply negb_true_iff in N. pose proof (leading_nonzero w N) as A.
  set (a := at_place w (leading w)) in *. set (b := at_place v (leading w)) in *.
  assert (P : forall x, (a * dot v 0 (pos x) = b * dot w 0 (pos x))%Z)
    by (intros; now apply multiples_dot).
  assert (G : forall d e, (a * d = b * e -> 0 <= e -> (a * b < 0 -> d <= 0) /\ (0 <= a * b -> 0 <= d))%Z).
  { clear -A. intros d e E He. split; intros S; destruct (Z_lt_le_dec 0 a).
    - assert (b < 0)%Z by nia. assert (b * e <= 0)%Z by nia. nia.
    - assert (a < 0)%Z by lia. assert (0 < b)%Z by nia. assert (0 <= b * e)%Z by nia. nia.
    - assert (0 <= b)%Z by nia. assert (0 <= b * e)%Z by nia. nia.
    - assert (a < 0)%Z by lia. assert (b <= 0)%Z by nia. assert (b * e <= 0)%Z by nia. nia. }
  assert (D : forall x y, (a * (dot v 0 (pos y) - dot v 0 (pos x))
    = b * (dot w 0 (pos y) - dot w 0 (pos x)))%Z).
  { intros x y. pose proof (P x). pose proof (P y). lia. }
  destruct (Z_lt_le_dec (a * b) 0) as [S|S]; [right|left]; intros x y _ _ L;
    destruct (G _ _ (D x y)) as [G1 G2]; try lia.
Qed.

(** ** Components *)
Definition support (v : list Z) : list nat :=
  filter (fun k => negb (Z.eqb (at_place v k) 0)) (seq 0 (length v)).
Definition meets (v w : list Z) : bool :=
  existsb (fun k => if in_dec Nat.eq_dec k (support w) then true else false) (support v).

Section Components.
Context {I : Type} (vec : I -> list Z).
Definition touches (i : I) (comp : list I) : bool := existsb (fun j => meets (vec i) (vec j)) comp.
Definition join (i : I) (comps : list (list I)) : list (list I) :=
  (i :: concat (filter (touches i) comps)) :: filter (fun c => negb (touches i c)) comps.
Definition components (items : list I) : list (list I) := fold_right join [] items.

Lemma components_all : forall items i,
  In i items <-> exists c, In c (components items) /\ In i c.
Proof.
  induction items as [|j items IH]; intros i; simpl.
  - split; [intros []|intros [c [[] _]]].
  - split.
    + intros [->|H].
      * eexists. split; [left; reflexivity|]. now left.
      * apply IH in H. destruct H as [c [Hc Hi]]. destruct (touches j c) eqn:T.
        { eexists. split; [left; reflexivity|]. right. apply in_concat. exists c.
          split; auto. apply filter_In. auto. }
        { exists c. split; auto. right. apply filter_In. rewrite T. auto. }
    + intros [c [[<-|Hc] Hi]].
      * destruct Hi as [->|Hi]; [now left|right]. apply in_concat in Hi.
        destruct Hi as [c [Hc Hi]]. apply filter_In in Hc. apply IH. exists c. tauto.
      * apply filter_In in Hc. right. apply IH. exists c. tauto.
Qed.
End Components.

Lemma components_map : forall {I J} (vec : J -> list Z) (m : I -> J) items,
  components vec (map m items) = map (map m) (components (fun i => vec (m i)) items).
Proof.
  intros I J vec m items. induction items as [|i items IH]; simpl; auto. rewrite IH.
  set (comps := components (fun i => vec (m i)) items).
  assert (T : forall c, touches vec (m i) (map m c) = touches (fun i => vec (m i)) i c).
  { intros c. unfold touches. induction c; simpl; auto. now rewrite IHc. }
  unfold join. simpl. f_equal.
  - f_equal. clear IH. induction comps as [|c comps IHc]; simpl; auto.
    rewrite T. destruct (touches _ i c); simpl; auto. now rewrite map_app, IHc.
  - clear IH. induction comps as [|c comps IHc]; simpl; auto.
    rewrite T. destruct (touches _ i c); simpl; auto. now rewrite IHc.
Qed.

(** ** The regions of items with coefficients and amounts *)
Section Regions.
Context {I : Type} (vec : I -> list Z) (amount : I -> nat).
Definition loud_items (items : list I) : list I := filter (fun i => negb (amount i =? 0)) items.
Definition bundles (items : list I) : list (I * list I) :=
  groups (fun i j => parallel (vec i) (vec j)) items.
Definition component_regions (items : list I) : nat :=
  elementary (rank_of (map (fun g => vec (fst g)) (bundles items)))
    (map (fun g => total amount (members g)) (bundles items)).
(** [cap] bounds the outputs of a component by its points. *)
Definition all_regions (cap : list I -> nat) (items : list I) : nat :=
  product (fun c => min (component_regions c) (cap c)) (components vec (loud_items items)).

Context {X A : Type} (da : decidable_equality A).
Variables (pos : X -> nat -> Z) (f : I -> X -> A) (xs : list X).
Definition height (i : I) (x : X) : Z := dot (vec i) 0 (pos x).

Lemma component_sound : forall items,
  (forall i, In i items -> cut (height i) (f i) xs (amount i)) ->
  cells (list_eq_dec da) (vector (map f items)) xs <= component_regions items.
Proof.
  intros items C. unfold component_regions, bundles.
  apply (atom_outputs da between (fun x k => inject_Z (pos x k)) height
    (fun i => form (vec i) 0) f amount (fun i j => parallel (vec i) (vec j)) xs items).
  - intros i _. apply form_affine.
  - intros i x _ _. apply form_dot.
  - intros i j _ _ P. now apply parallel_follows.
  - exact C.
  - pose proof (rank_of_sound (map (fun g => vec (fst g))
      (groups (fun i j => parallel (vec i) (vec j)) items))) as H.
    rewrite map_map in H. exact H.
Qed.

Lemma all_regions_sound : forall cap items,
  (forall i, In i items -> cut (height i) (f i) xs (amount i)) ->
  (forall c, incl c items -> cells (list_eq_dec da) (vector (map f c)) xs <= cap c) ->
  cells (list_eq_dec da) (vector (map f items)) xs <= all_regions cap items.
Proof.
  intros cap items C Cap. unfold all_regions.
  set (comps := components vec (loud_items items)).
  assert (Sub : forall c i, In c comps -> In i c -> In i items).
  { intros c i Hc Hi. assert (In i (loud_items items)) as H
      by (apply (components_all vec); exists c; auto).
    unfold loud_items in H. apply filter_In in H. tauto. }
  apply Nat.le_trans with (cells (list_eq_dec (list_eq_dec da))
    (vector (map (fun c => vector (map f c)) comps)) xs).
  - apply cells_decided. intros x y Hx Hy E. unfold vector. rewrite !map_map.
    apply map_ext_in. intros i Hi. destruct (amount i =? 0) eqn:Z.
    + apply Nat.eqb_eq in Z. destruct (C i Hi) as [ts [L D]]. rewrite Z in L.
      destruct ts; [|simpl in L; lia]. apply D; auto. intros t [].
    + assert (In i (loud_items items)) as H by (apply filter_In; rewrite Z; auto).
      apply (components_all vec) in H. destruct H as [c [Hc Hi']]. fold comps in Hc.
      unfold vector in E. rewrite !map_map in E.
      assert (map (fun g => g x) (map f c) = map (fun g => g y) (map f c)) as Ec.
      { clear -E Hc. induction comps as [|d comps IH]; [destruct Hc|].
        simpl in E. injection E as E1 E2. destruct Hc as [->|Hc]; auto. }
      rewrite !map_map in Ec. clear -Ec Hi'. induction c as [|j c IH]; [destruct Hi'|].
      simpl in Ec. injection Ec as E1 E2. destruct Hi' as [->|H]; auto.
  - eapply Nat.le_trans; [apply cells_vector|].
    clearbody comps. induction comps as [|c comps IH]; simpl; auto.
    apply Nat.mul_le_mono.
    + apply Nat.min_glb.
      * apply component_sound. intros i Hi. apply C. apply (Sub c); auto. now left.
      * apply Cap. intros i Hi. apply (Sub c); auto. now left.
    + apply IH. intros d i Hd. apply Sub. now right.
Qed.
End Regions.
