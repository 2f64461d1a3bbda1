(** Outputs of one atom: questions along linear forms, parallel ones added first, cut the atom into
    at most e_0 + .. + e_d regions, d the rank of the directions. *)
From Coq Require Import List Arith Lia ZArith QArith Lqa Bool.
From Hartley Require Import Cells Line Regions Span.
Import ListNotations.
Local Open Scope nat_scope.

(** ** Groups of items that are the same as their first member *)
Section Groups.
Context {I : Type} (same : I -> I -> bool).

Fixpoint put (a : I) (gs : list (I * list I)) : list (I * list I) :=
  match gs with
  | [] => [(a, [])]
  | (h, t) :: rest => if same a h then (h, a :: t) :: rest else (h, t) :: put a rest
  end.
Definition groups (l : list I) : list (I * list I) := fold_right put [] l.
Definition members (g : I * list I) : list I := fst g :: snd g.

Lemma put_members : forall a gs b,
  In b (flat_map members (put a gs)) <-> b = a \/ In b (flat_map members gs).
Proof.
  intros a gs b. induction gs as [|[h t] gs IH]; simpl; [intuition|].
  destruct (same a h); simpl; rewrite ?in_app_iff, ?IH; intuition.
Qed.

Lemma groups_members : forall l b,
  (exists g, In g (groups l) /\ In b (members g)) <-> In b l.
Proof.
  intros l b. rewrite <- in_flat_map. induction l as [|a l IH]; simpl; [intuition|].
  rewrite put_members, IH. intuition.
Qed.

Lemma groups_same : forall l g b, In g (groups l) -> In b (snd g) -> same b (fst g) = true.
Proof.
  induction l as [|a l IH]; simpl; [intros g b []|].
  intros g b. revert IH. generalize (groups l). induction l0 as [|[h t] gs IHg]; simpl; intros IH.
  - intros [<-|[]] [].
  - destruct (same a h) eqn:E.
    + intros [<-|Hg] Hb; simpl in *.
      * destruct Hb as [<-|Hb]; [exact E|]. apply (IH (h, t) b); [now left|exact Hb].
      * apply (IH g b); [now right|exact Hb].
    + intros [<-|Hg] Hb.
      * apply (IH (h, t) b); [now left|exact Hb].
      * apply IHg; [|exact Hg|exact Hb]. intros g' b' H1 H2. apply IH; [now right|exact H2].
Qed.

Lemma total_put : forall (f : I -> nat) a gs,
  total (fun g => total f (members g)) (put a gs) = f a + total (fun g => total f (members g)) gs.
Proof.
  intros f a gs. unfold total. induction gs as [|[h t] gs IH]; simpl; [lia|].
  destruct (same a h); simpl in *; lia.
Qed.

Lemma total_groups : forall (f : I -> nat) l,
  total (fun g => total f (members g)) (groups l) = total f l.
Proof.
  intros f l. induction l as [|a l IH]; simpl; auto. rewrite total_put, IH. reflexivity.
Qed.
End Groups.

Lemma groups_map : forall {I J} (same : I -> I -> bool) (same' : J -> J -> bool) (m : I -> J) l,
  (forall a b, same' (m a) (m b) = same a b) ->
  groups same' (map m l) = map (fun g => (m (fst g), map m (snd g))) (groups same l).
Proof.
  intros I J same same' m l H. induction l as [|a l IH]; simpl; auto. rewrite IH.
  generalize (groups same l). induction l0 as [|[h t] gs IHg]; simpl; auto.
  rewrite H. destruct (same a h); simpl; auto. now rewrite IHg.
Qed.

(** Parallel questions: their thresholds add up. *)
Lemma cut_vector : forall {X A I} (u : X -> Z) (f : I -> X -> A) (amount : I -> nat) xs items,
  (forall i, In i items -> cut u (f i) xs (amount i)) ->
  cut u (vector (map f items)) xs (total amount items).
Proof.
  intros X A I u f amount xs items H. induction items as [|i items IH].
  - apply cut_constant. reflexivity.
  - destruct (H i (or_introl eq_refl)) as [ts [L D]].
    destruct IH as [ss [Ls Ds]]. { intros j Hj. apply H. now right. }
    exists (ts ++ ss). split.
    { rewrite app_length. unfold total in *. simpl. lia. }
    intros x y Hx Hy S. unfold vector. simpl. f_equal.
    + apply D; auto. intros t Ht. apply S, in_app_iff. auto.
    + apply Ds; auto. intros t Ht. apply S, in_app_iff. auto.
Qed.

Lemma elementary_mono : forall bs cs d,
  Forall2 le bs cs -> elementary d bs <= elementary d cs.
Proof.
  intros bs cs d F. revert d. induction F as [|b c bs cs L F IH]; intros d; simpl; auto.
  destruct d as [|d].
  - specialize (IH 0). lia.
  - pose proof (IH (S d)). pose proof (IH d).
    assert (b * elementary d bs <= c * elementary d cs) by now apply Nat.mul_le_mono. lia.
Qed.

(** On a line: all along one number. *)
Lemma atom_line : forall {X A I} (da : decidable_equality A) (u : X -> Z) (f : I -> X -> A)
    (amount : I -> nat) xs items,
  (forall i, In i items -> cut u (f i) xs (amount i)) ->
  cells (list_eq_dec da) (vector (map f items)) xs <= min (length xs) (1 + total amount items).
Proof.
  intros X A I da u f amount xs items H. apply Nat.min_glb; [apply cells_points|].
  destruct (cut_vector u f amount xs items H) as [ts [L D]].
  eapply Nat.le_trans; [exact (pieces u xs _ _ ts D)|]. lia.
Qed.

Section Atom.
Context {X A I P : Type} (da : decidable_equality A) (between : Q -> P -> P -> P).
Variables (place : X -> P) (number : I -> X -> Z) (along : I -> P -> Q).
Variables (f : I -> X -> A) (amount : I -> nat) (same : I -> I -> bool).
Variables (xs : list X) (items : list I).

(** The number of an item is its form at the place of the record; items of one group rise or fall
    together; every answer is cut by so many thresholds of its number. *)
Hypothesis along_affine : forall i, In i items -> affine between (along i).
Hypothesis along_number : forall i x, In i items -> In x xs -> (along i (place x) == inject_Z (number i x))%Q.
Hypothesis same_follows : forall i j, In i items -> In j items -> same i j = true ->
  follows (number j) xs (number i).
Hypothesis answers_cut : forall i, In i items -> cut (number i) (f i) xs (amount i).

Lemma side_number : forall i x t, In i items -> In x xs ->
  side (along i) (place x) (inject_Z t) = (t <=? number i x)%Z.
Proof.
  intros i x t Hi Hx. unfold side. apply eq_true_iff_eq.
  rewrite Qle_bool_iff, Z.leb_le, (along_number i x Hi Hx). unfold Qle. simpl. lia.
Qed.

Lemma group_cut : forall g, In g (groups same items) ->
  cut (number (fst g)) (vector (map f (members g))) xs (total amount (members g)).
Proof.
  intros g Hg. apply cut_vector. intros i Hi.
  assert (In i items) as Ii by (apply (groups_members same); eauto).
  assert (In (fst g) items) as Ig by (apply (groups_members same); exists g; split; auto; now left).
  destruct Hi as [<-|Hi]; auto.
  apply cut_along with (v := number i); auto. apply same_follows; auto.
  now apply (groups_same same items).
Qed.

Theorem atom_outputs : forall d,
  rank_le (map (fun g => along (fst g)) (groups same items)) d (fun _ => True) ->
  cells (list_eq_dec da) (vector (map f items)) xs
    <= elementary d (map (fun g => total amount (members g)) (groups same items)).
Proof.
  intros d R.
  set (gs := groups same items) in *.
  assert (Heads : forall g, In g gs -> In (fst g) items).
  { intros g Hg. apply (groups_members same). exists g. split; auto. now left. }
  assert (exists fams : list (family (P := P)),
    map fst fams = map (fun g => along (fst g)) gs /\
    Forall2 le (map (fun fam => length (snd fam)) fams) (map (fun g => total amount (members g)) gs) /\
    forall x y, In x xs -> In y xs -> region fams (place x) = region fams (place y) ->
      forall g, In g gs -> vector (map f (members g)) x = vector (map f (members g)) y)
    as [fams [E [L D]]].
  { assert (Sub : forall g, In g gs -> In g (groups same items)) by auto.
    clearbody gs. clear R. induction gs as [|g gs IH].
    - exists []. split; [reflexivity|]. split; [constructor|]. intros x y _ _ _ g [].
    - destruct IH as [fams [E [L D]]].
      { intros g' H'. apply Heads. now right. } { intros g' H'. apply Sub. now right. }
      destruct (group_cut g (Sub g (or_introl eq_refl))) as [ts [Lt Dt]].
      exists ((along (fst g), map inject_Z ts) :: fams). split; [|split].
      + simpl. now rewrite E.
      + simpl. constructor; auto. now rewrite map_length.
      + intros x y Hx Hy F g' [<-|H'].
        * assert (F' := f_equal (hd []) F). simpl in F'. clear F. rename F' into F.
          apply Dt; auto.
          assert (In (fst g) items) as Ig by (apply Heads; now left).
          unfold sides in F. simpl in F. rewrite !map_map in F.
          clear -F Ig Hx Hy along_number. intros t Ht.
          rewrite <- !(side_number (fst g)) by auto.
          induction ts as [|s ts IH]; [destruct Ht|]. simpl in F. injection F as F1 F2.
          destruct Ht as [<-|Ht]; auto.
        * apply D; auto. exact (f_equal (@tl _) F). }
  apply Nat.le_trans with (cells region_dec (fun x => region fams (place x)) xs).
  { apply cells_decided. intros x y Hx Hy Er. unfold vector.
    rewrite !map_map. apply map_ext_in. intros i Hi.
    apply (groups_members same) in Hi. destruct Hi as [g [Hg Hi]].
    specialize (D x y Hx Hy Er g Hg). unfold vector in D. rewrite !map_map in D.
    clear -D Hi. induction (members g) as [|j l IH]; [destruct Hi|].
    simpl in D. injection D as D1 D2. destruct Hi as [<-|Hi]; auto. }
  rewrite <- cells_map.
  eapply Nat.le_trans; [apply regions with (between := between) (d := d) (C := fun _ => True)|].
  - intros fam Hfam. assert (In (fst fam) (map fst fams)) as Hf by now apply in_map.
    rewrite E in Hf. apply in_map_iff in Hf. destruct Hf as [g [<- Hg]]. apply along_affine. auto.
  - intros t x y _ _ _ _. exact Logic.I.
  - rewrite E. exact R.
  - auto.
  - now apply elementary_mono.
Qed.
End Atom.
