"""Charges, allowances, versions, and events that make no sense."""

import json
import math
import pickle
from fractions import Fraction

import pytest
from forgeries import forbidden, q

from hartley import open_ledger
from hartley.errors import EngineError, InputError, OptionError, Refused, Stale
from hartley.exact import floor_power
from hartley.trusted.ledger.rows import NULL, schema_version
from hartley.trusted.ledger.state import Balance

# --- charges and repeats --------------------------------------------------------------------------


def test_charges_multiply_and_a_repeat_is_free(ledger):
    first = ledger.reserve("people", "ann", q(1, 2), lambda _: 3)
    ledger.commit(first, ["4", "0"])
    second = ledger.reserve("people", "bob", q(3), lambda _: 5)
    again = ledger.reserve("people", "bob", q(2, 1), forbidden)
    assert (first.cells, second.cells, again.cells) == (3, 5, 1)
    assert again.answers == ("0", "4")
    assert None not in again.answers
    assert again.sequence is None
    assert ledger.state("people").spent == 15
    assert ledger.state("people").balance.left == 256 // 15


def test_only_the_new_questions_of_a_batch_are_priced(ledger, two):
    ledger.reserve("people", "ann", q(1, 2), two)
    seen = []
    batch = ledger.reserve(
        "people", "ann", q(5, 1, 6, 5, 2), lambda new: seen.append(new) or len(new)
    )
    assert seen == [[0, 2]]
    assert batch.cells == 2
    assert batch.answers == (None,) * 5


def test_the_same_question_twice_in_a_batch_counts_once(ledger, two):
    paid = ledger.reserve("people", "ann", q(1, 1, 1), two)
    assert paid.cells == 2
    ledger.commit(paid, ["3", "3", "3"])
    assert ledger.answers("people", q(1, 9, 1)) == ["3", None, "3"]


def test_equal_questions_are_the_same_however_they_are_written(ledger, two):
    ledger.reserve("people", "ann", [{"a": 1, "b": [2, None]}], two)
    assert ledger.reserve("people", "ann", [{"b": (2, None), "a": 1}], forbidden).sequence is None


def test_a_refused_charge_leaves_nothing_behind(ledger):
    before = ledger.head()
    with pytest.raises(Refused) as caught:
        ledger.reserve("people", "ann", q(1), lambda _: 257)
    assert caught.value.requested == pytest.approx(math.log2(257))
    assert caught.value.remaining == 8.0
    assert "hint" in str(caught.value)
    assert ledger.head() == before
    assert ledger.reserve("people", "ann", q(1), lambda _: 256).balance.left == 1
    assert ledger.reserve("people", "ann", q(2), lambda _: 1).balance.remaining == 0.0


@pytest.mark.parametrize("cells", [0, -1, 2.0, True, None])
def test_a_price_that_is_none_is_refused(ledger, cells):
    with pytest.raises(OptionError, match="A price is not a whole number"):
        ledger.reserve("people", "ann", q(1), lambda _: cells)


def test_a_failing_price_leaves_nothing_behind(ledger):
    before = ledger.head()
    with pytest.raises(ZeroDivisionError):
        ledger.reserve("people", "ann", q(1), lambda _: 1 // 0)
    assert ledger.head() == before
    assert ledger.verify().holds


def test_the_price_is_computed_before_the_ledger_is_locked(ledger):
    def price(new):
        # Another one asks meanwhile: were the ledger locked, this would wait for ever.
        ledger.reserve("people", "bob", q(2), lambda _: 2)
        return 2 ** len(new)

    paid = ledger.reserve("people", "ann", q(1, 2), price)
    assert paid.cells == 2  # the other question was paid for meanwhile
    assert ledger.state("people").spent == 4
    assert ledger.verify().holds


@pytest.mark.parametrize("bits", ["7/3", "0.5", "1.58", 3, 0, "100.25"])
def test_a_budget_of_a_fraction_of_bits_is_the_floor_of_its_power(place, about, bits):
    limit = floor_power(bits)
    with open_ledger(place.fresh()) as ledger:
        ledger.record("people", "created", about(bits))
        with pytest.raises(Refused):
            ledger.reserve("people", None, q(1), lambda _: limit + 1)
        assert ledger.reserve("people", None, q(1), lambda _: limit).cells == limit


def test_products_of_any_size_are_exact(place, about):
    with open_ledger(place.fresh()) as ledger:
        ledger.record("people", "created", about(50_000))
        huge = 3**25_000
        ledger.reserve("people", None, q(1), lambda _: huge)
        left = 2**50_000 // huge
        with pytest.raises(Refused):
            ledger.reserve("people", None, q(2), lambda _: left + 1)
        ledger.reserve("people", None, q(2), lambda _: left)
        assert ledger.state("people").spent == huge * left
        assert ledger.verify().holds


# --- answers --------------------------------------------------------------------------------------


def test_committing_the_same_again_does_nothing(ledger, two):
    paid = ledger.reserve("people", "ann", q(1, 2), two)
    assert ledger.commit(paid, ["7", None]).kind == "commit"
    head = ledger.head()
    assert ledger.commit(paid, ["7", None]) is None
    assert ledger.commit(ledger.reserve("people", "bob", q(2), two), [NULL]) is None
    assert ledger.head() == head
    assert ledger.answers("people", q(1, 2)) == ["7", NULL]


def test_another_answer_to_the_same_question_is_an_error_that_shows_neither(ledger, two):
    paid = ledger.reserve("people", "ann", q(1), two)
    ledger.commit(paid, ["7341"])
    with pytest.raises(EngineError, match="differs from the one") as caught:
        ledger.commit(paid, ["9182"])
    assert not {"7341", "9182"} & set(str(caught.value).split())
    assert ledger.answers("people", q(1)) == ["7341"]


def test_an_answer_of_a_reservation_that_was_not_made_is_refused(ledger, place, about, two):
    with open_ledger(place.fresh()) as other:
        other.record("people", "created", about())
        paid = other.reserve("people", "ann", q(1), two)
    with pytest.raises(OptionError, match="not reserved"):
        ledger.commit(paid, ["1"])


@pytest.mark.parametrize("answers", [["1"], ["1", "-1"], ["1", "x"], ["1", 2], ["1", "01"], []])
def test_answers_are_cell_indices_one_a_question(ledger, answers, two):
    paid = ledger.reserve("people", "ann", q(1, 2), two)
    with pytest.raises(OptionError):
        ledger.commit(paid, answers)


def test_one_question_has_one_answer_in_a_batch(ledger, two):
    paid = ledger.reserve("people", "ann", q(1, 1), two)
    with pytest.raises(OptionError, match="two answers"):
        ledger.commit(paid, ["1", "2"])


def test_what_was_reserved_and_not_answered_is_found_again_and_not_charged_again(ledger, two):
    ledger.reserve("people", "ann", q(1, 2), two, note="SELECT 1")
    answered = ledger.reserve("people", "ann", q(3), two)
    ledger.commit(answered, ["3"])
    (left,) = ledger.pending("people")
    assert [json.loads(text) for text in left.questions] == q(1, 2)
    assert left.analyst == "ann"
    again = ledger.reserve("people", "ann", q(1, 2), forbidden)
    assert None in again.answers
    ledger.commit(left, ["1", "2"])
    assert ledger.commit(again, ["1", "2"]) is None
    assert ledger.pending("people") == []
    assert ledger.state("people").spent == 8


def test_a_reservation_travels_between_processes(ledger, two):
    paid = ledger.reserve("people", "ann", q(1), two)
    ledger.commit(pickle.loads(pickle.dumps(paid)), ["1"])  # noqa: S301 - our own bytes
    assert ledger.answers("people", q(1)) == ["1"]


# --- allowances ---


def test_raising_the_budget_shows_the_new_promise(ledger):
    entry = ledger.record("people", "budget", {"bits": 10})
    assert entry.told["before"] == "8"
    assert "at most 1,024 different transcripts" in entry.told["promise"]
    assert ledger.reserve("people", None, q(1), lambda _: 1024).balance.left == 1


def test_a_budget_is_never_lowered_below_what_is_spent_or_allotted(ledger):
    ledger.reserve("people", None, q(1), lambda _: 9)
    with pytest.raises(OptionError, match="exceed the budget") as refused:
        ledger.record("people", "budget", {"bits": 3})
    assert refused.value.hint == "give more bits"
    ledger.record("people", "allowance", {"analyst": "ann", "bits": 5})
    with pytest.raises(OptionError, match="allowances together") as refused:
        ledger.record("people", "budget", {"bits": 4})
    assert refused.value.hint == "give more bits, or lower the allowances first"
    ledger.record("people", "budget", {"bits": 5})


def test_allowances_are_hard_parts_of_the_budget(ledger, two):
    ledger.record("people", "allowance", {"analyst": "ann", "bits": "2.5"})
    ledger.record("people", "allowance", {"analyst": "bob", "bits": 5})
    with pytest.raises(OptionError, match="allowances together") as too_many:
        ledger.record("people", "allowance", {"analyst": "eve", "bits": "0.6"})
    assert too_many.value.hint == "give fewer bits, or raise the budget first"
    with pytest.raises(Refused):
        ledger.reserve("people", "ann", q(1), lambda _: 6)
    ledger.reserve("people", "ann", q(1), lambda _: 5)
    with pytest.raises(Refused) as caught:  # half a bit is left for all others
        ledger.reserve("people", "eve", q(2), two)
    assert caught.value.remaining == 0.0
    state = ledger.state("people")
    assert state.allowances["ann"] == Balance(Fraction(5, 2), 5)
    assert state.allowances["bob"] == Balance(Fraction(5), 1)
    assert state.free == Balance(Fraction(1, 2), 1)
    with pytest.raises(OptionError, match="spent more"):
        ledger.record("people", "allowance", {"analyst": "ann", "bits": 2})


def test_a_repeat_that_another_paid_is_charged_to_the_asker_and_not_to_the_owner(ledger, two):
    for name in ("ann", "bob"):
        ledger.record("people", "allowance", {"analyst": name, "bits": 3})
    ledger.commit(ledger.reserve("people", "ann", q(1), lambda _: 4), ["1"])
    again = ledger.reserve("people", "bob", q(1), lambda _: 4)
    assert again.answers == ("1",)
    assert (again.cells, again.account_cells) == (1, 4)
    assert ledger.state("people").spent == 4
    assert ledger.balance("people", "bob").left == 2
    mixed = ledger.reserve("people", "bob", q(1, 2), two)
    assert (mixed.cells, mixed.account_cells) == (2, 2)
    assert ledger.reserve("people", "bob", q(2, 1), forbidden).sequence is None
    with pytest.raises(Refused):
        ledger.reserve("people", "bob", q(3), two)
    assert ledger.verify().holds


def test_unpaid_names_what_the_account_of_an_analyst_would_be_charged_for(ledger, two):
    ledger.record("people", "allowance", {"analyst": "bob", "bits": 3})
    ledger.reserve("people", "ann", q(1, 2), two)
    assert ledger.uncharged_questions("people", "ann", q(3, 2, 1, 4, 3)) == [0, 3]
    assert ledger.uncharged_questions("people", None, q(1, 2)) == []
    assert ledger.uncharged_questions("people", "bob", q(1, 2)) == [0, 1]


def test_an_analyst_sees_only_the_own_balance(ledger, two):
    ledger.record("people", "allowance", {"analyst": "ann", "bits": 3})
    ledger.reserve("people", "eve", q(1), lambda _: 32)
    with pytest.raises(Refused) as caught:
        ledger.reserve("people", "ann", q(2), lambda _: 9)
    assert caught.value.remaining == 3.0
    assert ledger.balance("people", "ann") == Balance(Fraction(3), 1)
    paid = ledger.reserve("people", "ann", q(1), two)
    (own,) = ledger.history("people", "ann")
    assert own.cells == 2  # not that another one had paid for it
    assert paid.balance == Balance(Fraction(3), 2)


def test_where_open_columns_eat_into_allowances_the_budget_still_holds(place, about, two):
    with open_ledger(place.fresh()) as ledger:
        ledger.record("people", "created", about(3, open_factor=3))
        ledger.record("people", "allowance", {"analyst": "ann", "bits": 3})
        ledger.reserve("people", "ann", q(1), two)
        with pytest.raises(Refused, match="budget of the dataset"):
            ledger.reserve("people", "ann", q(2), two)
        with pytest.raises(Refused):
            ledger.reserve("people", "eve", q(2), two)
        assert ledger.verify().holds


def test_datasets_of_one_ledger_do_not_mix(ledger, about, two):
    ledger.record("other", "created", about(1))
    ledger.commit(ledger.reserve("people", "ann", q(1), two), ["1"])
    assert ledger.answers("other", q(1)) == [None]
    assert ledger.reserve("other", "ann", q(1), two).cells == 2
    assert ledger.datasets() == ["other", "people"]
    assert ledger.state("people").spent == 2
    assert [charge.analyst for charge in ledger.history("other")] == ["ann"]


def test_history_tells_what_was_asked_and_answered(ledger, two):
    paid = ledger.reserve("people", "ann", q(1, 2), lambda _: 3, note="SELECT AVG(age)")
    ledger.commit(paid, ["1", None])
    ledger.reserve("people", "bob", q(3), two)
    first, second = ledger.history("people")
    assert (first.note, first.answers, first.cells) == ("SELECT AVG(age)", ("1", NULL), 3)
    assert first.questions == tuple(q(1, 2))
    assert second.answers == (None,)
    assert [charge.analyst for charge in ledger.history("people", "bob")] == ["bob"]


# --- versions ---


@pytest.mark.parametrize(("kind", "content"), [("version", {"rows": 7}), ("erasure", {"rows": 7})])
def test_a_new_version_is_random_and_its_questions_are_new(ledger, kind, content, two):
    old = ledger.state("people").version
    ledger.commit(ledger.reserve("people", "ann", q(1), two), ["1"])
    ledger.reserve("people", "ann", q(2), two)
    ledger.record("people", kind, content)
    state = ledger.state("people")
    assert state.version != old
    assert len(state.version) == 16
    assert state.rows == 7
    assert ledger.answers("people", q(1)) == [None]
    assert ledger.pending("people") == []  # the data of the unanswered question are gone
    assert ledger.reserve("people", "ann", q(1), two).cells == 2
    assert ledger.state("people").spent == 8


def test_a_random_name_may_be_given_to_a_version_once(ledger):
    for kind in ("version", "erasure"):
        ledger.record("people", kind, {"rows": 1, "version": kind[0].replace("v", "a") * 16})
    assert ledger.state("people").version == "e" * 16
    for used in ("a" * 16, "e" * 16):  # or its questions would seem to be paid for
        with pytest.raises(OptionError, match="used before"):
            ledger.record("people", "version", {"rows": 1, "version": used})


def test_an_answer_may_come_after_the_next_version(ledger, two):
    paid = ledger.reserve("people", "ann", q(1), two)
    ledger.record("people", "version", {"rows": 9})
    ledger.commit(paid, ["1"])
    assert ledger.answers("people", q(1)) == [None]
    assert ledger.verify().holds


def test_under_another_schema_the_same_codes_are_another_question(ledger, about, two):
    ledger.commit(ledger.reserve("people", "ann", q(1), two), ["1"])
    changed = {**about()["schema"], "default_bits": 2}
    ledger.record("people", "schema", {"schema": changed})
    assert ledger.answers("people", q(1)) == [None]
    assert ledger.reserve("people", "ann", q(1), two).cells == 2
    assert ledger.state("people").schema == changed
    backwards = dict(reversed(changed.items()))
    assert ledger.state("people").schema_version == schema_version(backwards)


def test_who_holds_old_data_or_an_old_schema_is_told_to_open_them_again(ledger, two):
    state = ledger.state("people")
    good = {"version": state.version, "schema": state.schema_version}
    ledger.reserve("people", "ann", q(1), two, **good)
    for wrong in ({"version": "0" * 16}, {"schema": "0" * 16}):
        with pytest.raises(Stale, match="in the meantime"):
            ledger.reserve("people", "ann", q(2), two, **{**good, **wrong})
        with pytest.raises(Refused, match="in the meantime"):
            ledger.reserve("people", "ann", q(1), two, **{**good, **wrong})  # a repeat too


def test_open_columns_are_paid_with_every_version_and_changed_schema(place, about, two):
    with open_ledger(place.fresh()) as ledger:
        ledger.record("people", "created", about(5, open_factor=3))
        assert ledger.state("people").open_factor == 3
        ledger.record("people", "version", {"rows": 1})
        assert ledger.state("people").open_factor == 9
        changed = {"schema": about()["schema"], "open_factor": 2, "open_charge": 1}
        ledger.record("people", "schema", changed)
        assert ledger.state("people").open_factor == 9
        ledger.record("people", "erasure", {"rows": None})
        assert ledger.state("people").open_factor == 18
        assert ledger.state("people").rows is None
        head = ledger.head()
        with pytest.raises(Refused, match="open columns") as caught:
            ledger.record("people", "version", {"rows": 1})
        assert caught.value.remaining == 0.0
        assert ledger.head() == head
        with pytest.raises(Refused):
            ledger.reserve("people", None, q(1), two)


def test_a_dataset_whose_open_columns_cost_more_than_its_budget_is_not_created(place, about):
    with open_ledger(place.fresh()) as ledger:
        with pytest.raises(Refused):
            ledger.record("people", "created", about(1, open_factor=3))
        assert ledger.datasets() == []


# --- refusals ---


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("created", {"bits": 1}),
        ("created", {"schema": {}}),
        ("version", {"rows": -1}),
        ("version", {"rows": True}),
        ("version", {"rows": 1, "fingerprint": "ab"}),
        ("version", {"rows": 1, "version": "mine"}),
        ("version", {"rows": 1, "version": "A" * 16}),
        ("erasure", {"rows": 1, "note": "Ann Smith"}),
        ("schema", {}),
        ("schema", {"schema": {1, 2}}),
        ("schema", {"schema": {}, "open_factor": 0}),
        ("schema", {"schema": {}, "open_factor": 1.5}),
        ("budget", {"bits": "many"}),
        ("budget", {"bits": -1}),
        ("budget", {"bits": 1e9}),
        ("budget", {}),
        ("allowance", {"bits": 1}),
        ("allowance", {"bits": 1, "analyst": "a\0b"}),
        ("allowance", {"bits": 1, "analyst": ""}),
        ("reserve", {}),
        ("migrated", {}),
    ],
)
def test_an_event_that_makes_no_sense_is_refused_without_trace(ledger, kind, content):
    head = ledger.head()
    with pytest.raises(OptionError, match="; hint: "):
        ledger.record("people", kind, content)
    assert ledger.head() == head


def test_a_dataset_is_created_once_and_before_anything_else(ledger, about, two):
    with pytest.raises(OptionError, match="already"):
        ledger.record("people", "created", about())
    for act in (
        lambda: ledger.record("x", "version", {"rows": 1}),
        lambda: ledger.reserve("x", None, q(1), two),
        lambda: ledger.state("x"),
        lambda: ledger.answers("x", q(1)),
        lambda: ledger.history("x"),
        lambda: ledger.pending("x"),
        lambda: ledger.balance("x"),
    ):
        with pytest.raises(OptionError, match="no dataset 'x'"):
            act()


def test_a_batch_holds_questions_that_can_be_written(ledger, two):
    for questions in ([], [{"x": {1}}], [{"x": math.nan}], [{(1, 2): 3}]):
        with pytest.raises(OptionError):
            ledger.reserve("people", None, questions, two)
    for name in ("a\nb", "x" * 201, "\ud800"):
        with pytest.raises(OptionError):
            ledger.reserve("people", name, q(1), two)


def test_names_of_any_script_are_kept(ledger, two):
    name = "Zoë 日本 😀 'x' \"%s?"
    ledger.record("people", "allowance", {"analyst": name, "bits": 1})
    ledger.reserve("people", name, [{"ä": "\0\ud800"}], two, note="SELECT 'ß'")
    assert list(ledger.state("people").allowances) == [name]
    assert ledger.verify().holds


@pytest.mark.parametrize("prefix", ["", "sqlite:///"])
@pytest.mark.parametrize("create", [True, False])
def test_a_folder_is_no_ledger(tmp_path, prefix, create):
    with pytest.raises(InputError, match="is a folder, not a file; hint: add the name"):
        open_ledger(f"{prefix}{tmp_path}", create=create)
    assert not [*tmp_path.iterdir()]
