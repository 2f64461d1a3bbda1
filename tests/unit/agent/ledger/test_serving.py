"""What the ledger serves is what its chain holds: every edit behind its back is noticed in use."""

from dataclasses import replace

import pytest

from hartley.agent.ledger import open_ledger
from hartley.errors import EngineError
from hartley.trusted.ledger.rows import (
    BEFORE_THE_FIRST,
    FIELDS,
    canonical,
    question_digest,
)

MARKS = ", ".join("?" * len(FIELDS))
INSERT = f"INSERT INTO hartley_entries ({', '.join(FIELDS)}) VALUES ({MARKS})"  # noqa: S608 - our own words


def q(*keys):
    return [{"q": key} for key in keys]


def forbidden(_):
    raise AssertionError("the price was asked for")


@pytest.fixture
def used(place, about):
    """A ledger in which two analysts asked, and one question waits; its triggers gone."""
    address = place.fresh()
    with open_ledger(address) as ledger:
        ledger.record("people", "created", about(12))
        ledger.record("people", "allowance", {"analyst": "ann", "bits": 4})
        ledger.commit(ledger.reserve("people", "ann", q(1, 2), lambda _: 4), ["5", None])
        ledger.commit(ledger.reserve("people", "bob", q(3), lambda _: 2), ["7"])
        ledger.reserve("people", "bob", q(4), lambda _: 2)
        ledger.record("other", "created", about(3))
        place.unlock(address)
        yield address, ledger


def uses(ledger):
    """Everything that serves something of the dataset 'people', by name."""
    return {
        "repeat": lambda: ledger.reserve("people", "ann", q(1), forbidden),
        "answers": lambda: ledger.answers("people", q(1, 2, 3)),
        "uncharged": lambda: ledger.uncharged_questions("people", "ann", q(1)),
        "balance": lambda: ledger.balance("people", "ann"),
        "state": lambda: ledger.state("people"),
        "history": lambda: ledger.history("people"),
        "pending": lambda: ledger.pending("people"),
        "overview": lambda: ledger.overview("people"),
    }


def noticed(ledger):
    """Name the uses that notice that something was changed."""
    found = set()
    for name, use in uses(ledger).items():
        try:
            use()
        except EngineError:
            found.add(name)
    return found


def test_an_untouched_ledger_serves_everything(used):
    assert noticed(used[1]) == set()


def test_an_answer_that_was_changed_is_not_served(place, used):
    address, ledger = used
    place.run(address, ("UPDATE hartley_answers SET answer = '17' WHERE answer = '5'", ()))
    assert {"repeat", "answers"} <= noticed(ledger)
    assert ledger.history("people")[0].answers == ("5", "null")  # read from the chain itself


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE hartley_answers SET sequence = 6 WHERE answer = '5'",  # another commit
        "UPDATE hartley_answers SET sequence = 3 WHERE answer = '5'",  # no commit
        "UPDATE hartley_answers SET sequence = 99 WHERE answer = '5'",
        "DELETE FROM hartley_answers WHERE answer = '5'",
        "UPDATE hartley_asked SET sequence = 5",  # another charge
        "UPDATE hartley_asked SET sequence = 1",
        "UPDATE hartley_asked SET account = 'ann' WHERE account = ''",
        "DELETE FROM hartley_asked",
        "DELETE FROM hartley_head",
    ],
)
def test_an_index_that_was_changed_is_not_believed(place, used, statement):
    address, ledger = used
    place.run(address, (statement, ()))
    with pytest.raises(EngineError, match="cannot be used"):
        ledger.reserve("people", "ann", q(1, 2, 3), lambda new: 2 ** len(new))
    with pytest.raises(EngineError, match="cannot be used"):
        ledger.answers("people", q(1, 2, 3))


def test_a_question_that_was_never_paid_is_not_free(place, used):
    """Whoever writes to the index alone gets nothing, and no answer to commit."""
    address, ledger = used
    paid = ledger.reserve("people", "bob", q(3), forbidden)
    digest = question_digest("people", paid.version, paid.schema, canonical({"q": 99}))
    for row in (1, 3, 4, 5, 99):
        place.run(
            address,
            ("DELETE FROM hartley_asked WHERE digest = ?", (digest,)),
            ("INSERT INTO hartley_asked VALUES (?, '', ?)", (digest, row)),
        )
        with pytest.raises(EngineError, match="cannot be used"):
            ledger.reserve("people", "bob", q(99), forbidden)
        with pytest.raises(EngineError, match="cannot be used"):
            ledger.uncharged_questions("people", "bob", q(99))
        forged = replace(paid, digests=(digest,), questions=(canonical({"q": 99}),))
        with pytest.raises(EngineError, match="cannot be used"):
            ledger.commit(forged, ["1"])


def test_an_answer_to_a_waiting_question_cannot_be_slipped_in(place, used):
    address, ledger = used
    (waiting,) = ledger.pending("people")
    for row in (4, 6, 7):
        place.run(
            address,
            ("DELETE FROM hartley_answers WHERE digest = ?", (waiting.digests[0],)),
            ("INSERT INTO hartley_answers VALUES (?, '1', ?)", (waiting.digests[0], row)),
        )
        with pytest.raises(EngineError, match="cannot be used"):
            ledger.reserve("people", "bob", q(4), forbidden)


def change(place, address, ledger, row, **values):
    """Change a row and compute its hash anew, as far as that alone goes."""
    entry = replace(ledger.entries()[row - 1], **values)
    entry = replace(entry, hash=entry.expected_hash)
    place.run(
        address,
        ("DELETE FROM hartley_entries WHERE sequence = ?", (row,)),
        (INSERT, entry.fields),
    )


def test_a_row_with_a_hash_of_its_own_is_noticed_where_it_counts(place, used):
    address, ledger = used
    entries = ledger.entries()
    cases = {
        4: (entries[3].content.replace('"5"', '"9"'), {"repeat", "answers", "history"}),
        3: (entries[2].content.replace('"q":1', '"q":5'), {"repeat", "uncharged", "history"}),
        7: (entries[6].content.replace('"q":4', '"q":6'), {"pending", "history", "balance"}),
    }
    for row, (content, expected) in cases.items():
        assert content != entries[row - 1].content
        change(place, address, ledger, row, content=content)
        assert expected <= noticed(ledger), row
        place.run(
            address,
            ("DELETE FROM hartley_entries WHERE sequence = ?", (row,)),
            (INSERT, entries[row - 1].fields),
        )
    assert noticed(ledger) == set()


@pytest.mark.parametrize("row", [4, 7])  # the last of the account 'ann', and of the dataset
def test_a_balance_that_was_changed_is_not_served(place, used, row):
    address, ledger = used
    state = ledger.entries()[row - 1].state
    lower = state.replace('"spent":"4"', '"spent":"1"').replace('"spent":"16"', '"spent":"1"')
    assert lower != state
    for recompute in (False, True):
        if recompute:
            change(place, address, ledger, row, state=lower)
        else:
            statement = "UPDATE hartley_entries SET state = ? WHERE sequence = ?"
            place.run(address, (statement, (lower, row)))
        assert {"balance", "state", "repeat", "overview"} <= noticed(ledger)
        with pytest.raises(EngineError, match="cannot be used"):
            ledger.reserve("people", "ann", q(50), lambda _: 2)


def test_a_charge_that_was_removed_is_missed(place, used):
    address, ledger = used
    place.run(address, ("DELETE FROM hartley_entries WHERE sequence = 7", ()))
    assert {"balance", "state", "repeat", "history"} <= noticed(ledger)


def test_words_that_no_ledger_writes_are_a_sentence_even_with_hashes_that_fit(place, about):
    """Whoever computes all hashes anew still gets no traceback."""
    for state in ("{}", "[]", "null", "x", '{"account":{"bits":"1/0","spent":"1"}}'):
        address = place.fresh()
        with open_ledger(address) as ledger:
            ledger.record("people", "created", about())
            place.unlock(address)
            change(place, address, ledger, 1, state=state, previous=BEFORE_THE_FIRST)
            hash_of = place.run(address, ("SELECT hash FROM hartley_entries", ()))[0][0]
            place.run(address, ("UPDATE hartley_head SET hash = ?", (hash_of,)))
            ledger.trusted.seen = None  # as for another process
            for name in ("balance", "state", "repeat", "overview", "answers"):
                with pytest.raises(EngineError, match="cannot be used"):
                    uses(ledger)[name]()
            assert not ledger.verify().holds
