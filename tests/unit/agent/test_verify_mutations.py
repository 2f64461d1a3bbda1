"""Every value of a real ledger is forged, with hashes that fit: what is accepted is documented."""

import json
import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hartley.agent.replay import may_answer, open_cells, replay, reprice_by_public
from hartley.trusted.ledger.rows import FIELDS, canonical
from hartley.trusted.precision import questions_of
from hartley.trusted.pricing.conditional_price import RULES
from hartley.trusted.questions.batch import to_plain

sys.path.insert(0, str(Path(__file__).parent / "ledger"))  # modules beside the tests

from forgeries import problem_of, rechained

NOT_CHECKED = {
    ("any", "note"),
    ("any", "promise"),
    ("reserve", "analyst"),  # without an allowance
    ("commit", "analyst"),
    ("commit", "answers"),  # another cell of the range
    ("reserve", "questions"),  # without an answer: another question of the same price
    ("reserve", "rules"),  # of the last row: older ones by which it costs the same
}
"""As docs/ledger.md lists it, "What `verify` does not check"."""
WRONG = (None, True, 0, 1, -1, 7, "", "0", "1", "2", "99", "x", [], {})


def leaves(plain, path=()):
    yield path
    if isinstance(plain, (dict, list)):
        for word in plain if isinstance(plain, dict) else range(len(plain)):
            yield from leaves(plain[word], (*path, word))


def put(plain, path, value):
    if not path:
        return value
    copied = plain.copy()
    copied[path[0]] = put(plain[path[0]], path[1:], value)
    return copied


def forgeries(entry):
    """Yield the name of a value, and the row with another one."""
    for name in FIELDS[1:-2]:
        text = getattr(entry, name)
        if name not in {"content", "state"}:
            for other in ("", "0", "1", "2", "99", "ann", "x", text + "0"):
                yield name, replace(entry, **{name: other})
            continue
        plain = json.loads(text)
        for path in leaves(plain):
            for other in WRONG:
                word = path[0] if name == "content" and path else name
                yield word, replace(entry, **{name: canonical(put(plain, path, other))})


@pytest.fixture
def rows(agent, people):
    agent.ask("SELECT COUNT(*) FROM people WHERE age >= 50")
    agent.allow("ann", 3)
    agent.ask("SELECT AVG(age) FROM people", bits=2, analyst="ann")
    agent.set_budget(16)
    agent.update(people)
    agent.ask(["SELECT COUNT(*) FROM people", "SELECT MEDIAN(age) FROM people"], bits=1)
    desk = agent.desk  # a publication is charged, and its answer is not in the ledger
    questions = questions_of(desk.plan(["SELECT SUM(age) FROM people WHERE pay = 1"], 40, None))
    plain = [to_plain(question) for question in questions]
    agent.ledger.reserve(
        "people", None, plain, desk.prices(questions), note="publication", rules=RULES
    )
    return agent.ledger.entries()


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.15, pytest.param(1, marks=pytest.mark.long)])
def test_what_is_accepted_of_forged_rows_is_what_is_documented(rows, share):
    order = random.Random(29)  # noqa: S311 - nothing secret
    checks = (reprice_by_public, open_cells, None, may_answer)
    assert replay(rows, *checks)[1].holds
    assert problem_of(rows) is None
    accepted, tried = set(), 0
    for at, entry in enumerate(rows):
        for name, forged in forgeries(entry):
            if forged == entry or order.random() >= share:
                continue
            tried += 1
            if replay(rechained([*rows[:at], forged, *rows[at + 1 :]]), *checks)[1].holds:
                accepted.add(("any" if name in {"time", "note", "promise"} else entry.kind, name))
    assert tried > 3000 * share
    assert accepted <= NOT_CHECKED, accepted - NOT_CHECKED
    assert share < 1 or accepted == NOT_CHECKED, NOT_CHECKED - accepted
