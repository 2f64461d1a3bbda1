"""Results travel as JSON: what is read from a reply is the result, and nothing else can be read."""

import copy
import datetime as dt
import json
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

import hartley
from hartley import Answer, BatchAnswer, Estimate, Plan, PriceCurve, Quote, Schema, Wish
from hartley.errors import ReplyError
from hartley.results.answer import NULL, Key, Reading
from hartley.results.plan import PeriodLeft
from hartley.service.replies import shown_answer
from hartley.trusted.pricing.price import certificate_of

SCHEMA = Schema.read(
    {
        "table": {"name": "people"},
        "columns": {
            "age": {"kind": "private", "range": [0, 90], "step": 3},
            "tall": {"kind": "public", "range": ["100", "102"], "step": "1/3"},
            "born": {"kind": "private", "range": [dt.date(2000, 1, 1), dt.date(2000, 1, 29)]},
            "ward": {"kind": "public", "values": ["a", "(other)"], "other": True, "nullable": True},
            "well": {"kind": "private", "values": [True, False]},
        },
    }
)
QUESTIONS = (
    "SELECT AVG(age) AS x, COUNT(*) AS x_low FROM people WHERE well",
    "SELECT ward, well, SUM(age), MAX(born) FROM people GROUP BY ward, well",
    "SELECT tall, COUNT(*) FROM people\nGROUP BY tall",
    "SELECT BIN(born,14), FLOOR(age/40), MIN(age) FROM people GROUP BY BIN(born,14), FLOOR(age/40)",
)


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    table = {
        "age": [3, 30, 60, 9],
        "tall": [100, 101, 101, 102],
        "born": [dt.date(2000, 1, day) for day in (1, 8, 9, 29)],
        "ward": ["a", None, "b", "(other)"],
        "well": [True, False, True, False],
    }
    ledger = tmp_path_factory.mktemp("agent") / "ledger.db"
    with hartley.Agent(table, SCHEMA, ledger=ledger, budget=99) as opened:
        yield opened


@pytest.fixture(scope="module")
def answers(agent):
    wishes = [Wish(text, bits=6) for text in QUESTIONS[1:]]
    wishes.append(Wish(QUESTIONS[0], error=30, min_rows=4))
    return agent.ask(wishes, vacuous=True)


def again(result, content=None):
    """Return a result after its way through a reply."""
    return type(result).from_dict(json.loads(json.dumps(content or result.to_dict())))


def looks(result):
    return str(result), getattr(result, "_repr_html_", str)(), result.to_dict()


def test_answers_are_read_as_they_are(answers):
    kinds = {
        type(key.value) for answer in answers for keys in answer.reading.groups for key in keys
    }
    assert kinds >= {str, bool, int, Fraction, dt.date, type(None)}
    content = {"bits": answers.bits, "answers": list(map(shown_answer, answers))}
    found = again(answers, content)
    assert found == answers
    assert looks(found) == looks(answers)
    for answer, other in zip(found, answers, strict=True):
        assert answer.to_arrow().equals(other.to_arrow())
    assert "x_low_promised" in found[-1].to_arrow().column_names


NUMBERS = st.fractions() | st.integers().map(Fraction) | st.integers(0, 2**200).map(Fraction)
DAYS = st.integers(-700_000, 2_000_000).map(Fraction)
KEYS = st.sampled_from(
    [
        *(Key(None, "(missing)"), Key(None, "(other)"), Key("(other)", "(other)"), Key(7, "7")),
        *(
            Key("a", "a"),
            Key(value=True, shown="True"),
            Key(Fraction(5, 2), "2.5"),
            Key(Fraction(1, 3), "1/3"),
        ),
        *(Key(dt.date(2001, 2, 3), "2001-02-03"), Key("2001-02-03", "2001-02-03")),
    ]
)


@st.composite
def estimates(draw, *, date):
    if draw(st.integers(0, 5)) == 0:
        return NULL
    low, high = sorted(draw(st.tuples(*[DAYS if date else NUMBERS] * 2)))
    found = Estimate.within(low, high, may_be_null=draw(st.booleans()), date=date)
    return replace(found, promised=draw(st.booleans()))


@st.composite
def readings(draw):
    keys, labels = draw(st.sampled_from([((), ("n",)), (("k",), ("n",)), (("k", "l"), ("n", "m"))]))
    dates = draw(st.booleans())
    rows = draw(st.integers(1, 4)) if keys else 1
    return Reading(
        keys=keys,
        groups=tuple(tuple(draw(KEYS) for _ in keys) for _ in range(rows)),
        labels=labels,
        rows=tuple(tuple(draw(estimates(date=dates)) for _ in labels) for _ in range(rows)),
        conditional=draw(st.booleans()),
    )


@settings(max_examples=60)
@given(readings(), st.integers(1, 2**60), st.floats(0, 500))
def test_any_answer_is_read_as_it_is(reading, cells, spent):
    certificate = certificate_of(["SELECT\n1"], [], cells, SCHEMA)
    bits = min(spent, certificate.value)
    answer = Answer("SELECT\n1", reading, bits, spent, 3.5, certificate, "ab", bits / 2)
    assert again(answer, shown_answer(answer)) == answer
    assert again(reading) == reading


def test_prices_are_read_as_they_are(agent):
    wishes = [Wish(QUESTIONS[0], bits=1), Wish(QUESTIONS[1], bits=3), Wish(QUESTIONS[2], bits=20)]
    for quote in (
        *(agent.price(wish, vacuous=vacuous) for wish in wishes for vacuous in (False, True)),
        agent.price(wishes),
        hartley.price(wishes, SCHEMA, rows=9),
        hartley.price(Wish(QUESTIONS[0], error=30, min_rows=4), SCHEMA, rows=9),
    ):
        unexplained = replace(quote, explanation="")
        assert again(unexplained) == unexplained
        assert again(quote, quote.to_dict() | {"explanation": quote.explanation}) == quote
        assert looks(again(quote)) == looks(quote)
    refused = replace(quote, affordable=False, refusal="no", exceeded=True, given=("a1",))
    assert again(refused) == replace(refused, explanation="")
    assert again(replace(quote, given=(3, 4))).given == (3, 4)


@pytest.mark.parametrize("question", QUESTIONS)
def test_curves_are_read_as_they_are(agent, question):
    for curve in (
        agent.curve(question, bits=5, most=6),
        hartley.price_curve(question, SCHEMA, rows=9, most=6, bits="5.5"),
    ):
        assert again(curve) == curve
        assert looks(again(curve)) == looks(curve)
        assert again(curve).csv() == curve.csv()


def test_plans_are_read_as_they_are(agent):
    workload = [QUESTIONS[0], Wish(QUESTIONS[1], error="10"), "SELECT AVG(salary) FROM people"]
    text = [Wish(QUESTIONS[0], error="20", min_rows="2"), QUESTIONS[1], QUESTIONS[2]]
    for planned in (
        hartley.plan(text, SCHEMA, rows=9),
        hartley.plan(text, SCHEMA, rows=9, budget=9, weights=[1, "1/3", 2], absolute=True),
        hartley.plan(text, agent, ledger=agent.ledger, budget=2),
        replace(
            hartley.plan(text, agent, ledger=agent.ledger),
            period=PeriodLeft("year", "2027", 1.5, "2028-01-01"),
            refusal="no",
        ),
    ):
        assert again(planned) == planned
        assert looks(again(planned)) == looks(planned)
        assert not planned.questions or again(planned).to_sql() == planned.to_sql()
    with pytest.raises(hartley.Refused):
        hartley.plan(workload, SCHEMA, rows=9)


def test_a_wish_of_any_type_is_read_as_it_is_written(agent):
    planned = hartley.plan([Wish(QUESTIONS[0], bits=2.5), Wish(QUESTIONS[1], error=7)], agent)
    assert again(planned).to_dict() == planned.to_dict()
    assert [wish.bits for wish in again(planned).wishes] == ["2.5", None]


# --- what no service replies ----------------------------------------------------------------------

GONE = object()


def changed(content, path, value):
    content = copy.deepcopy(content)
    inside = content
    for name in path[:-1]:
        inside = inside[name]
    if value is GONE:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    return content


def lies(answer, quote, curve, planned):
    """Yield replies that contradict themselves, by the class that reads them."""
    number = ("table", "rows", 0, "numbers", 0)
    for path, value in (
        ((*number, "low"), "99999"),
        ((*number, "low"), None),
        ((*number, "high"), None),
        ((*number, "shown"), ["1", "exact", "0"]),
        ((*number, "shown"), ["1", "2"]),
        (("table", "rows", 0, "keys", 0), "b"),
        (("table", "rows", 0, "values"), []),
        (("table", "conditional"), True),
        (("table", "labels"), []),
        (("rows",), answer["rows"][:1]),
        (("rows", 0, "ward"), "b"),
        (("rows", 0, "SUM(age)", "low"), 1e9),
        (("rows", 0, "MAX(born)", "low"), "1999-01-01"),
        (("bits",), 98.0),
        (("bits",), -1.0),
        (("bits",), GONE),
        (("certificate", "sound"), False),
        (("certificate", "value"), 1.0),
        (("certificate", "claim"), "It takes one of 9 values."),
        (("certificate", "parameters", "cells"), "1"),
        (("certificate", "paragraph"), "Nothing is told."),
    ):
        yield Answer, changed(answer, path, value)
    yield Quote, quote | {"bits_alone": 500.0, "cells": str(2**500), "due_bits": 9.0, "bits": 9.0}
    for path, value in (
        (("bits",), 50.0),
        (("bits_alone",), 9.0),
        (("certificate", "value"), 9.0),
        (("affordable",), False),
        (("due_bits",), 9.0),
        (("due_bits",), -0.0),
        (("refusal",), "no"),
        (("questions", 0, "vacuous"), ["y"]),
        (("questions", 0, "errors_if_rows_count"), {"3": {"y": "1"}}),
        (("questions", 0, "levels"), ["0"]),
        (("certificate", "parameters", "questions"), []),
    ):
        yield Quote, changed(quote, path, value)
    for path, value in (
        (("points", 0, "bits"), 50.0),
        (("points", 0, "wish_bits"), "9" * 40),
        (("points", 0, "worst_errors"), {}),
        (("asked_cells",), "3"),
        (("next_useful",), None),
    ):
        yield PriceCurve, changed(curve, path, value)
    yield Plan, planned | {"batch_alone_cells": "1/2", "batch_alone_bits": -1.0}
    for path, value in (
        (("batch_bits",), 1.0),
        (("fits",), None),
        (("best_order", "places"), [1, 1]),
        (("best_order", "cells"), ["1"]),
        (("questions", 0, "bits"), "-2"),
        (("largest_weighted_error",), "0"),
        (("sharing_proved",), None),
    ):
        yield Plan, changed(planned, path, value)


def test_what_contradicts_itself_is_refused(agent, answers):
    planned = hartley.plan(QUESTIONS[:2], SCHEMA, rows=9, budget=5)
    replies = lies(
        shown_answer(answers[0]),
        agent.price(QUESTIONS[0], bits=1).to_dict(),
        agent.curve(QUESTIONS[0], most=3).to_dict(),
        planned.to_dict(),
    )
    for number, (kind, reply) in enumerate(replies):
        with pytest.raises(ReplyError, match="not in the form that this version of Hartley reads"):
            pytest.fail(f"believed number {number}: {kind.from_dict(reply)}")
    reply = shown_answer(answers[0])
    for wrong in ([], [reply, reply | {"bits": 0.0}]):
        with pytest.raises(ReplyError):
            BatchAnswer.from_dict({"bits": answers.bits, "answers": wrong})
