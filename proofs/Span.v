(** Rank by certificate: forms that are combinations of d forms have rank at most d. *)
From Coq Require Import List Arith Lia QArith Lqa Bool.
From Hartley Require Import Cells Regions.
Import ListNotations.
Local Open Scope Q_scope.

Section Span.
Context {P : Type}.

Fixpoint combination (cs : list Q) (gs : list (P -> Q)) (p : P) : Q :=
  match cs, gs with
  | c :: cs', g :: gs' => c * g p + combination cs' gs' p
  | _, _ => 0
  end.

Definition combines (gs : list (P -> Q)) (C : P -> Prop) (f : P -> Q) :=
  exists cs c, length cs = length gs /\ forall p, C p -> f p == c + combination cs gs p.

Lemma combination_app : forall cs gs cs' gs' p, length cs = length gs ->
  combination (cs ++ cs') (gs ++ gs') p == combination cs gs p + combination cs' gs' p.
Proof.
  induction cs as [|c cs IH]; intros [|g gs] cs' gs' p E; try discriminate; simpl; [lra|].
  rewrite IH by (simpl in E; lia). lra.
Qed.

Lemma combination_zero : forall cs gs p, (forall c, In c cs -> c == 0) -> combination cs gs p == 0.
Proof.
  induction cs as [|c cs IH]; intros [|g gs] p H; simpl; try lra.
  rewrite IH by (intros; apply H; now right). rewrite (H c) by now left. lra.
Qed.

Definition less (r : Q) (cs ds : list Q) : list Q :=
  map (fun cd => fst cd - r * snd cd) (combine cs ds).

Lemma combination_less : forall r gs cs ds p, length cs = length gs -> length ds = length gs ->
  combination (less r cs ds) gs p == combination cs gs p - r * combination ds gs p.
Proof.
  intros r. induction gs as [|g gs IH]; intros [|c cs] [|d ds] p E F; try discriminate; simpl; [lra|].
  unfold less in IH. rewrite IH by (simpl in *; lia). lra.
Qed.

Lemma less_length : forall r cs ds, length cs = length ds -> length (less r cs ds) = length cs.
Proof. intros. unfold less. rewrite map_length, combine_length. lia. Qed.

Lemma all_zero_or_pivot : forall cs : list Q,
  (forall c, In c cs -> c == 0) \/ exists ks c ls, cs = ks ++ c :: ls /\ ~ c == 0.
Proof.
  induction cs as [|c cs [H|[ks [d [ls [-> N]]]]]].
  - left. intros c [].
  - destruct (Qeq_dec c 0) as [E|N].
    + left. intros d [<-|Hd]; auto.
    + right. exists [], c, cs. auto.
  - right. exists (c :: ks), d, ls. auto.
Qed.

Lemma split_at : forall {A B} (ks : list A) (k : A) ls (gs : list B), length (ks ++ k :: ls) = length gs ->
  exists hs g is, gs = hs ++ g :: is /\ length hs = length ks /\ length is = length ls.
Proof.
  intros A B ks k ls. induction ks as [|k' ks IH]; intros gs E; destruct gs as [|g gs]; try discriminate.
  - exists [], g, gs. simpl in E. repeat split; auto; lia.
  - destruct (IH gs) as [hs [g' [is [-> [E1 E2]]]]]. { simpl in E. lia. }
    exists (g :: hs), g', is. simpl. repeat split; auto.
Qed.

Theorem rank_le_span : forall d (gs forms : list (P -> Q)) C,
  length gs = d -> (forall f, In f forms -> combines gs C f) -> rank_le forms d C.
Proof.
  induction d as [|d IH]; intros gs forms C L H f Hf; destruct (H f Hf) as [cs [c [Lc E]]].
  - destruct gs; [|discriminate]. destruct cs; [|discriminate].
    intros x y Hx Hy. rewrite (E x Hx), (E y Hy). reflexivity.
  - destruct (all_zero_or_pivot cs) as [Z|[ks [k [ls [-> N]]]]].
    { left. intros x y Hx Hy. rewrite (E x Hx), (E y Hy), !combination_zero; auto. reflexivity. }
    right. intros t.
    destruct (split_at ks k ls gs Lc) as [hs [g [is [-> [Lh Li]]]]].
    apply IH with (gs := hs ++ is).
    { rewrite app_length in *. simpl in L. lia. }
    intros f' Hf'. destruct (H f' Hf') as [cs' [c' [Lc' E']]].
    destruct (split_at hs g is cs') as [ks' [k' [ls' [-> [Lh' Li']]]]]; [now symmetry|].
    exists (less (k' / k) ks' ks ++ less (k' / k) ls' ls), (c' + (k' / k) * (t - c)). split.
    { rewrite !app_length, !less_length; lia. }
    intros p [Hp Ep]. rewrite (E' p Hp). rewrite (E p Hp) in Ep.
    pose proof (combination_app ks hs (k :: ls) (g :: is) p ltac:(lia)) as A1.
    pose proof (combination_app ks' hs (k' :: ls') (g :: is) p ltac:(lia)) as A2.
    pose proof (combination_app (less (k' / k) ks' ks) hs (less (k' / k) ls' ls) is p
      ltac:(rewrite less_length; lia)) as A3.
    pose proof (combination_less (k' / k) hs ks' ks p ltac:(lia) ltac:(lia)) as A4.
    pose proof (combination_less (k' / k) is ls' ls p ltac:(lia) ltac:(lia)) as A5.
    simpl in A1, A2. rewrite A2, A3, A4, A5. rewrite A1 in Ep.
    set (u := combination ks hs p) in *. set (v := combination ls is p) in *.
    set (r := k' / k) in *. assert (R : k' == r * k) by (unfold r; field; auto).
    assert (T : t - c == u + (k * g p + v)) by lra.
    assert (T' : r * (t - c) == r * u + r * k * g p + r * v) by (rewrite T; ring).
    rewrite T'. rewrite <- R. lra.
Qed.
End Span.
