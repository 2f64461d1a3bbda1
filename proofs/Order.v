(** An order statistic of some values and one more is that one, clamped: for every rank, the first,
    the last and a lone row included. *)
From Coq Require Import List Arith Lia ZArith Bool.
From Hartley Require Import Cells Grid.
Import ListNotations.
Local Open Scope Z_scope.

Lemma insert_first : forall l v d, rising l ->
  nth 0 (insert v l) d = Z.min (nth 0 l v) v.
Proof.
  intros [|w l] v d R; cbn [insert nth]; [lia|]. destruct (Z.leb_spec v w); cbn [nth]; lia.
Qed.

Theorem order_statistic : forall l k lo hi d,
  rising l -> (k <= length l)%nat -> lo <= hi ->
  exists below above, below <= above /\
    forall v, lo <= v <= hi -> nth k (insert v l) d = clamp below above v.
Proof.
  intros l k lo hi d R K L. destruct k as [|k].
  - exists (Z.min lo (nth 0 l hi)), (nth 0 l hi). split; [lia|]. intros v Hv.
    rewrite insert_first by auto. unfold clamp. destruct l as [|w l]; cbn [nth]; lia.
  - destruct (Nat.eq_dec (S k) (length l)) as [E|N].
    + exists (nth k l d), (Z.max hi (nth k l d)). split; [lia|]. intros v Hv.
      rewrite order_clamp by (auto; lia).
      rewrite (nth_overflow l v) by lia. unfold clamp. lia.
    + exists (nth k l d), (nth (S k) l d). split.
      * clear -R K N. revert k K N. induction R as [|w l Least R IH]; intros k K N; simpl in *; [lia|].
        destruct k as [|k]; cbn [nth].
        { apply Least. apply nth_In. lia. }
        { apply IH; lia. }
      * intros v Hv. rewrite order_clamp by (auto; lia).
        now rewrite (nth_indep l v d) by lia.
Qed.

Lemma insert_length : forall v l, length (insert v l) = S (length l).
Proof. induction l as [|w l IH]; simpl; auto. destruct (v <=? w); simpl; congruence. Qed.

Lemma insert_In : forall v l u, In u (insert v l) <-> u = v \/ In u l.
Proof.
  induction l as [|w l IH]; intros u; simpl; [intuition|].
  destruct (v <=? w); simpl; [intuition|]. rewrite IH. intuition.
Qed.
