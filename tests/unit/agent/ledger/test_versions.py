"""New data and schemas make old questions new; open columns are paid for with each."""

import pytest

from hartley.agent.ledger import open_ledger
from hartley.errors import OptionError, Refused, Stale
from hartley.trusted.ledger.rows import schema_version


@pytest.mark.parametrize(("kind", "content"), [("version", {"rows": 7}), ("erasure", {"rows": 7})])
def test_a_new_version_is_random_and_its_questions_are_new(ledger, kind, content, q, two):
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


def test_an_answer_may_come_after_the_next_version(ledger, q, two):
    paid = ledger.reserve("people", "ann", q(1), two)
    ledger.record("people", "version", {"rows": 9})
    ledger.commit(paid, ["1"])
    assert ledger.answers("people", q(1)) == [None]
    assert ledger.verify().holds


def test_under_another_schema_the_same_codes_are_another_question(ledger, about, q, two):
    ledger.commit(ledger.reserve("people", "ann", q(1), two), ["1"])
    changed = {**about()["schema"], "default_bits": 2}
    ledger.record("people", "schema", {"schema": changed})
    assert ledger.answers("people", q(1)) == [None]
    assert ledger.reserve("people", "ann", q(1), two).cells == 2
    assert ledger.state("people").schema == changed
    backwards = dict(reversed(changed.items()))
    assert ledger.state("people").schema_version == schema_version(backwards)


def test_who_holds_old_data_or_an_old_schema_is_told_to_open_them_again(ledger, q, two):
    state = ledger.state("people")
    good = {"version": state.version, "schema": state.schema_version}
    ledger.reserve("people", "ann", q(1), two, **good)
    for wrong in ({"version": "0" * 16}, {"schema": "0" * 16}):
        with pytest.raises(Stale, match="in the meantime"):
            ledger.reserve("people", "ann", q(2), two, **{**good, **wrong})
        with pytest.raises(Refused, match="in the meantime"):
            ledger.reserve("people", "ann", q(1), two, **{**good, **wrong})  # a repeat too


def test_open_columns_are_paid_with_every_version_and_changed_schema(place, about, q, two):
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
