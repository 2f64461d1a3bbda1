(** The promise, both ends joined: with the computed price of one private column, however questions
    are chosen, at most K transcripts; also with types and open columns. *)
From Coq Require Import List Arith Lia ZArith Bool.
From Hartley Require Import Cells Kraft Accountant Question Families Batch.
Import ListNotations.

Definition unit_dec : decidable_equality unit.
Proof. unfold decidable_equality. decide equality. Defined.

(** ** One private column *)
Section Promise.
(** What the record can be (missing and absent values included), and everybody else's data: what they
    add to every question. *)
Variable dom : list record.
Variable everybody : asked -> others.
Definition fair_to_all (a : asked) : Prop := fair_asked dom (a, everybody a).
Definition reply (a : asked) (x : record) : option Z := answer (meaning a) (everybody a) x.

Variable ask : unit -> history asked (option Z) -> list asked.
Variable admit : unit -> history asked (option Z) -> list asked -> bool.
Variable K : nat.
Definition due (h : history asked (option Z)) (b : list asked) : nat :=
  fresh_price asked_dec (fun b => batch_price b dom) h b.

(** A batch is answered only if its questions are well formed, their ranges hold by the schema, and the
    product of all prices stays within K. *)
Hypothesis positive : 1 <= K.
Hypothesis within : forall o h b, admit o h b = true -> paid h * due h b <= K.
Hypothesis checked : forall o h b a, admit o h b = true -> In a b -> fair_to_all a.

Theorem promise : forall n,
  cells (seen_dec unit_dec asked_dec answer_dec)
        (seen (fun _ => tt) reply ask due admit n) dom <= K.
Proof.
  intros n.
  apply (accountant unit_dec asked_dec answer_dec dom (fun _ => tt) reply ask
           (fun b => batch_price b dom) admit fair_to_all 1 K).
  - apply cells_constant. reflexivity.
  - exact positive.
  - intros o h b Ad. rewrite Nat.mul_1_l. now apply within with o.
  - exact checked.
  - intros b o Legal.
    set (aos := map (fun a => (a, everybody a)) b).
    assert (map fst aos = b) as E by (unfold aos; rewrite map_map; apply map_id).
    apply Nat.le_trans with (cells answers_dec (batch_answers aos) dom).
    + apply Nat.le_trans with (cells answers_dec (batch_answers aos) (part unit_dec (fun _ => tt) o dom)).
      * apply cells_decided. intros x y _ _ F. unfold answers, batch_answers, aos in *.
        rewrite !map_map in F. exact F.
      * apply cells_incl. intros x Hx. apply in_part in Hx. tauto.
    + rewrite <- E. apply price_sound. intros ao Ha. unfold aos in Ha.
      apply in_map_iff in Ha. destruct Ha as [a [<- Ha]]. now apply Legal.
Qed.
End Promise.

(** ** Types: public and open columns beside the private one *)
Section Types.
(** A type is a value of the public and open columns of the row; a question leaves another question of
    the private column at each. The person's types are those with the person's public values. *)
Context {T : Type} (dt : decidable_equality T).
Variables (types own : list T) (dom : list record).
Hypothesis own_types : incl own types.
Context {Q : Type} (dq : decidable_equality Q).
Variable at_type : T -> Q -> asked.
Variable everybody : Q -> others.

Notation person := (T * record)%type.
Definition people : list person := list_prod own dom.
Definition reply_typed (q : Q) (p : person) : option Z :=
  answer (meaning (at_type (fst p) q)) (everybody q) (snd p).

(** The price is the largest over all types, so that it tells nothing. *)
Definition largest {A} (f : A -> nat) (l : list A) : nat := fold_right (fun a m => max (f a) m) 0 l.
Definition typed_price (b : list Q) : nat :=
  largest (fun t => batch_price (map (at_type t) b) dom) types.

Lemma largest_le : forall {A} (f : A -> nat) l a, In a l -> f a <= largest f l.
Proof.
  intros A f l a. induction l as [|c l IH]; intros H; [destruct H|].
  simpl. destruct H as [<-|H]; [lia|]. specialize (IH H). lia.
Qed.

Variable ask : T -> history Q (option Z) -> list Q.
Variable admit : T -> history Q (option Z) -> list Q -> bool.
Variables M K : nat.
Definition legal_typed (q : Q) : Prop :=
  forall t, In t own -> fair_asked dom (at_type t q, everybody q).

Hypothesis open_paid : length own <= M.
Hypothesis open_fits : M <= K.
Hypothesis within : forall t h b, admit t h b = true ->
  M * (paid h * fresh_price dq typed_price h b) <= K.
Hypothesis checked : forall t h b q, admit t h b = true -> In q b -> legal_typed q.

Theorem promise_types : forall n,
  cells (seen_dec dt dq answer_dec)
        (seen fst reply_typed ask (fresh_price dq typed_price) admit n) people <= K.
Proof.
  intros n.
  apply (accountant dt dq answer_dec people fst reply_typed ask typed_price admit legal_typed M K).
  - eapply Nat.le_trans; [|exact open_paid]. apply cells_within.
    intros [t x] H. apply in_prod_iff in H. tauto.
  - exact open_fits.
  - exact within.
  - exact checked.
  - intros b t Legal.
    destruct (in_dec dt t own) as [Ht|Nt].
    + set (aos := map (fun q => (at_type t q, everybody q)) b).
      apply Nat.le_trans with (cells answers_dec (batch_answers aos) dom).
      * apply Nat.le_trans with (cells answers_dec (fun p : person => batch_answers aos (snd p))
          (part dt fst t people)).
        { apply cells_decided. intros x y Hx Hy F. apply in_part in Hx, Hy.
          destruct x as [s x], y as [r y], Hx as [_ Ex], Hy as [_ Ey]. simpl in Ex, Ey. subst s r.
          unfold answers, batch_answers, aos, reply_typed in *. rewrite !map_map in F.
          exact F. }
        rewrite <- (cells_map answers_dec (batch_answers aos) (fun p : person => snd p)).
        apply cells_incl. intros x Hx. apply in_map_iff in Hx. destruct Hx as [[s y] [<- Hp]].
        apply in_part in Hp. destruct Hp as [Hp _]. apply in_prod_iff in Hp. tauto.
      * eapply Nat.le_trans; [apply price_sound|].
        { intros ao Ha. unfold aos in Ha. apply in_map_iff in Ha. destruct Ha as [q [<- Hq]].
          now apply (Legal q). }
        assert (map fst aos = map (at_type t) b) as -> by (unfold aos; now rewrite map_map).
        apply (largest_le (fun t => batch_price (map (at_type t) b) dom)). auto.
    + assert (part dt fst t people = []) as ->; [|rewrite cells_nil; lia].
      destruct (part dt fst t people) as [|[s y] l] eqn:E; auto. exfalso.
      assert (In (s, y) (part dt fst t people)) as Hp by (rewrite E; now left).
      apply in_part in Hp. destruct Hp as [Hp Es]. simpl in Es. subst.
      apply in_prod_iff in Hp. tauto.
Qed.
End Types.
