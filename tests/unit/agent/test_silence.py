"""Refusals, error texts, prices and quotes are the same whatever the data of one person are."""

# ruff: noqa: S608 - texts of questions
# ruff: noqa: S311 - random questions, not secrets

import random
from collections import Counter

import pytest

from hartley.agent.agent import Agent
from hartley.errors import HartleyError, Refused
from hartley.results.quote import Wish

PUBLIC = {
    "table": {"name": "people"},
    "columns": {
        "age": {"kind": "private", "range": [0, 120], "step": 1},
        "pay": {"kind": "private", "range": [-10, 10], "step": "1/3", "nullable": True},
        "town": {"kind": "private", "values": ["Aa", "Bb"], "other": True, "nullable": True},
        "area": {"kind": "public", "values": ["north", "south", "west"]},
    },
}
PRIVATE = {
    "table": {
        "name": "people",
        "unit": "who",
        "rows_per_unit": 2,
        "rows": "private",
        "max_rows": 60,
    },
    "columns": {
        "age": {"kind": "private", "range": [0, 120], "step": 1},
        "pay": {"kind": "private", "range": [-10, 10], "step": "1/3", "nullable": True},
        "town": {"kind": "private", "values": ["Aa", "Bb"], "other": True, "nullable": True},
    },
}
OTHERS = [
    {"who": 7 + k, "age": k * 5, "pay": k / 2 - 6, "town": "AaBb"[k % 2 :: 2], "area": "south"}
    for k in range(20)
]
MARK = "SECRET-4711"


def person(**values):
    return {"who": 1, "age": 50, "pay": 0.0, "town": "Aa", "area": "north", **values}


WORLDS = {
    "a person who is missing almost everywhere": (
        PUBLIC,
        [person(age=0, pay=None, town=None)],
        [person(age=10**6, pay=1e300, town=MARK)],
    ),
    "a person who holds every extreme": (
        PUBLIC,
        [person(age=120, pay=10.0, town="Bb")],
        [person(age=-5, pay=-10.0, town="Aa")],
    ),
    "a person who is there, or not": (
        PRIVATE,
        [],
        [person(age=120, pay=None, town=MARK), person(age=3, pay=-1e300, town=None)],
    ),
}


def table(rows):
    rows = [*OTHERS, *rows]
    return {name: [row[name] for row in rows] for name in rows[0]}


# --- odd questions ------------------------------------------------------------------------------

ATOMS = [
    *("age", "pay", "town", "area", "AGE", '"age"', "people.age", "p.pay", "who", "wage", "*"),
    *("1", "-1", "0", "1e400", "0.1", "1/0", "NULL", "TRUE", "''", "'Aa'", f"'{MARK}'", "'x''y'"),
    *("DATE '2020-01-31'", "DATE 'soon'", "CURRENT_DATE", "?", ":x", "$1", "0x1F", "1_000"),
    *("(SELECT 1)", "RANDOM()", "age + pay", "2 * age - pay / 3", "age * pay", "age / 0", "- -age"),
]
AGGREGATES = [
    *("COUNT(*)", "COUNT({})", "SUM({})", "AVG({})", "MIN({})", "MAX({})", "MEDIAN({})"),
    *("QUANTILE({}, 0.3)", "QUANTILE({}, 2)", "VAR_POP({})", "STDDEV({})", "COUNT(DISTINCT {})"),
    *("SUM({}) OVER ()", "STRING_AGG({}, ',')", "{}", "SUM(COUNT({}))", "AVG({}) + 1", "MODE({})"),
    *("CORR(age, {})", "SUM({}) FILTER (WHERE age > 3)", "FIRST({})", "ARRAY_AGG({})"),
]
TESTS = [
    *("{0} >= {1}", "{0} = {1}", "{0} <> {1}", "NOT ({0} < {1})", "{0} BETWEEN {1} AND 60"),
    *("{0} IN ({1}, 50)", "{0} IS NULL", "{0} IS NOT NULL", "{0} LIKE '%a'", "{0} NOT IN ({1})"),
    *("{0} = {0}", "{0}", "{0} > ALL (SELECT 1)", "EXISTS (SELECT {1})", "{0} > > 1"),
    *("{0} >= {1} AND pay > 0", "({0} = 1 OR town = 'Aa')", "{0} IS DISTINCT FROM {1}"),
    "CASE WHEN {0} THEN 1 END",
]
SHAPES = [
    *("SELECT {a} FROM people WHERE {w}", "SELECT {a} FROM people"),
    *("SELECT {a}, COUNT(*) FROM people", "SELECT {a} FROM people WHERE {w};"),
    *("SELECT {a} FROM people WHERE {w} GROUP BY {x}", "SELECT {x}, {a} FROM people GROUP BY {x}"),
    *("SELECT {a} FROM people p WHERE {w}", "SELECT {a} FROM people GROUP BY FLOOR(age / 30)"),
    *("SELECT {a} FROM people JOIN people q ON 1=1 WHERE {w}", "{a}", "{w}", ""),
    *("SELECT {a} FROM people WHERE {w} HAVING {w}", "SELECT {a} FROM people LIMIT 1"),
    *("SELECT {a} FROM (SELECT * FROM people)", "SELECT DISTINCT {a} FROM people"),
    *("SELECT {a} FROM people UNION SELECT {a} FROM people", "DROP TABLE people"),
    *("SELECT {a} FROM persons WHERE {w}", "SELECT {a} FROM people -- {w}"),
    *("WITH t AS (SELECT 1) SELECT {a} FROM t", "SELECT {a} /* */ FROM"),
    *("UPDATE people SET age = 1 WHERE {w}", "SELECT {a} FROM people WHERE {w} ORDER BY {x}"),
]
WISHES = [{}, {}, *({"bits": b} for b in (0, 2, 7)), *({"error": e} for e in (0, 5, 0.01))]
BAD_WISHES = [{"error": -1}, {"bits": -1}, {"error": "x"}, {"error": 1, "bits": 1}, {"bits": "1/0"}]


def odd_questions(seed, number=500):
    """Return questions of which no two are alike, with what is wished of them."""
    order, found = random.Random(seed), {}
    while len(found) < number:
        pick = order.choice
        simple = order.random() < 0.6  # a list of nothing but nonsense would only meet the parser
        column = pick(["age", "pay", "age + 2 * pay"] if simple else ATOMS)
        aggregate = pick(AGGREGATES[:12] if simple else AGGREGATES).format(column)
        left = pick(["age", "pay"] if simple else ATOMS)
        right = pick(["50", "0", "-3.5", str(order.randrange(130))] if simple else ATOMS)
        test = pick(TESTS[:10] if simple else TESTS).format(left, right)
        shape = pick(SHAPES[:6] if simple else SHAPES)
        by = pick(["town", "area", "BIN(age, 60)"] if simple else ATOMS)
        text = shape.format(a=aggregate, w=test, x=by)
        wish = pick(BAD_WISHES) if order.random() < 0.05 else pick(WISHES)
        found[text, repr(wish)] = Wish(text, **wish)
    return list(found.values())


def outcome(act):
    """Return what somebody sees who does something: an error in all its parts, or a result."""
    try:
        return "done", act()
    except HartleyError as error:
        assert MARK not in str(error) or MARK in getattr(error, "text", "")  # noqa: PT017 - of all
        parts = [getattr(error, name, None) for name in ("text", "place", "requested", "remaining")]
        return type(error).__name__, str(error), *parts


def paid(answer):
    """Return what an answer says besides its numbers."""
    reading = answer.reading
    content = answer.text, answer.bits, answer.spent, answer.remaining, answer.certificate
    return *content, reading.keys, reading.groups, reading.labels, len(reading.rows)


def behaviour(agent, questions):
    """Price and ask everything, some of it in batches; return all that is not an answer."""
    seen = []
    for number, wish in enumerate(questions):
        asked = [wish, questions[number // 2]] if number % 10 == 9 else wish
        seen.append(outcome(lambda asked=asked: agent.price(asked)))
        vacuous = number % 3 > 0  # some answers that say nothing are refused, some are wished
        kind, *rest = outcome(lambda asked=asked, v=vacuous: agent.ask(asked, vacuous=v))
        if kind == "done":
            answers = rest[0] if isinstance(asked, list) else [rest[0]]
            rest = [paid(answer) for answer in answers]
        seen.append((kind, *rest))
    seen.append(("summary", agent.summary(), agent.spent, agent.remaining))
    charges = [(c.analyst, c.questions, c.cells, c.note) for c in agent.history()]
    return seen, charges


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_two_databases_that_differ_in_one_person_refuse_and_price_alike(world, tmp_path):
    schema, *people = WORLDS[world]
    questions = odd_questions(len(world))
    assert len(questions) == 500
    seen = []
    for number, rows in enumerate(people):
        path = tmp_path / f"{number}.db"
        with Agent(table(rows), schema, ledger=path, budget="20.5") as agent:
            seen.append(behaviour(agent, questions))
    (first, charges), (second, others) = seen
    for one, other in zip(first, second, strict=True):
        assert one == other
    assert charges == others
    kinds = Counter(kind[0] for kind in first)
    assert kinds["Refused"] > 200, "most of the list is odd"
    assert kinds["done"] > 150, "and the rest is answered or priced"
    assert kinds["OptionError"] > 10
    over = [kind for kind in first if kind[0] == "Refused" and kind[4] is not None]
    assert len(over) > 30, "some are refused by the budget"
    assert charges


@pytest.mark.slow
def test_the_two_databases_of_a_world_do_answer_differently(tmp_path):
    """Else the test above would show nothing."""
    for number, (schema, *people) in enumerate(WORLDS.values()):
        answers = []
        for side, rows in enumerate(people):
            path = tmp_path / f"{number}{side}.db"
            with Agent(table(rows), schema, ledger=path, budget=60) as agent:
                text = "SELECT COUNT(pay), SUM(age) FROM people WHERE age <> 50"
                answers.append(agent.ask(text, error=0).reading)
        assert answers[0] != answers[1]


@pytest.mark.slow
def test_a_refusal_after_many_answers_depends_on_what_was_charged_alone(tmp_path):
    """The same sequence of questions ends at the same one, whatever was answered before."""
    schema, *people = WORLDS["a person who holds every extreme"]
    ends = []
    for number, rows in enumerate(people):
        with Agent(table(rows), schema, ledger=tmp_path / f"{number}.db", budget=6) as agent:
            for limit in range(120):
                try:
                    agent.ask(f"SELECT COUNT(*) FROM people WHERE age > {limit}")
                except Refused as refused:
                    ends.append((limit, str(refused), refused.requested, refused.remaining))
                    break
    assert ends[0] == ends[1]
    assert ends[0][0] == 6
