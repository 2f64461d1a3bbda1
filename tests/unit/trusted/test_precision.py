"""Wishes: errors, bits, least numbers of rows, and answers that would say nothing."""

# ruff: noqa: S311 - random cases, not secrets
# ruff: noqa: S608 - texts of questions

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import hartley
from hartley import Agent, Schema, Wish
from hartley.agent.quoting import quote, quote as quote_plans
from hartley.errors import Refused
from hartley.exact import floor_power
from hartley.results.plan import bits_for
from hartley.results.quote import NextPrices
from hartley.trusted.cells import cell_of, read_cells
from hartley.trusted.precision import PriceDesk, questions_of, vacuous_labels
from hartley.trusted.pricing.price import open_factor, price
from hartley.trusted.questions.batch import Statistic
from hartley.trusted.questions.question import NumberKind

PEOPLE = Schema.read(
    {
        "table": {"name": "people"},
        "columns": {
            "age": {"kind": "private", "range": [0, 100], "step": 1},
            "income": {"kind": "private", "range": [0, 5000], "step": 10, "nullable": True},
            "sex": {"kind": "public", "values": ["F", "M"]},
        },
    }
)
TEXTS = (
    "SELECT AVG(age) FROM people",
    "SELECT SUM(income) FROM people WHERE age >= 50",
    "SELECT MEDIAN(age), COUNT(*) FROM people WHERE income > 100",
    "SELECT VAR_POP(age), SUM(income) FROM people",
)


@pytest.mark.slow
@given(st.sampled_from(TEXTS), st.fractions(Fraction(1, 10), 2000, max_denominator=10))
@settings(max_examples=60)
def test_an_error_buys_the_finest_steps_of_its_price(text, error):
    from hartley.trusted.precision import steps_for_error, worst_errors
    from hartley.trusted.questions.question import parse

    desk = PriceDesk(PEOPLE, 1000)
    (told,) = desk.plan(Wish(text, error=error), None, None)
    plain = parse(text, PEOPLE, 1000)
    coarse = plain.with_steps(steps_for_error(plain, error))
    assert price(told.questions, PEOPLE).cells <= price(coarse.questions, PEOPLE).cells
    assert all(
        new <= old for new, old in zip(worst_errors(told), worst_errors(coarse), strict=True)
    )
    assert all(found <= error for found in worst_errors(told))


@pytest.mark.parametrize("error", ["0.5", "0.2", 3])
def test_wishes_of_the_same_price_are_the_same_question(error):
    desk = PriceDesk(PEOPLE, 1000)
    plans = desk.plan([Wish(TEXTS[0], error=error), Wish(TEXTS[0], bits=1)], None, None)
    assert len(questions_of(plans)) == 1


# --- min rows ---

SAMPLE = "examples/people.schema.toml"
OFFICE = "SELECT AVG(income) FROM people WHERE job = 'office'"
SMALL = Schema.read(
    {
        "table": {"name": "people"},
        "columns": {
            "x": {"kind": "private", "range": [-3, 9], "step": 0.5},
            "job": {"kind": "private", "values": ["care", "office"]},
            "area": {"kind": "public", "values": ["north", "south"]},
        },
    }
)
BY_AREA = "SELECT area, AVG(x) AS y FROM people WHERE job = 'office' GROUP BY area"
AGGREGATES = ("AVG", "VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP")


@pytest.mark.parametrize(("rows", "cells"), [(1000, 3), (500, 3), (100, 4), (20, 12), (1, 184)])
def test_fewer_rows_cost_more(rows, cells):
    quote = hartley.price(OFFICE, SAMPLE, rows=5000, error=500, min_rows=rows)
    assert quote.cells == cells
    desk = PriceDesk(Schema.read(SAMPLE), 5000)
    (plan,) = desk.plan(OFFICE, 500, None, rows)
    assert dict(desk.errors(plan, at_least=rows))["AVG(income)"] <= 500


def test_without_rows_the_error_is_promised_for_one_row():
    plain = hartley.price(OFFICE, SAMPLE, rows=5000, error=500)
    assert plain.cells == 184
    assert plain.errors == ((("AVG(income)", Fraction(500)),),)


@pytest.mark.parametrize("wrong", [0, -1, "1.5", "many", True])
def test_a_least_number_of_rows_is_a_whole_number(wrong):
    with pytest.raises(hartley.OptionError, match="least number of rows"):
        hartley.price(OFFICE, SAMPLE, rows=5000, error=500, min_rows=wrong)


def test_a_least_number_of_rows_goes_with_an_error():
    for wish in ({}, {"bits": 2}):
        with pytest.raises(hartley.OptionError, match="without an error"):
            hartley.price(OFFICE, SAMPLE, rows=5000, min_rows=10, **wish)
    with pytest.raises(hartley.Refused, match="At most 50 rows can count"):
        hartley.price(OFFICE, SAMPLE, rows=50, error=500, min_rows=51)


def test_what_needs_no_rows_is_promised_for_any_number():
    desk = PriceDesk(SMALL, 100)
    texts = (
        "SELECT COUNT(*), SUM(x), MEDIAN(x) FROM people WHERE job = 'care'",
        "SELECT AVG(x), STDDEV(x) FROM people",  # all rows, whose number is public
    )
    for text in texts:
        plain, enough = (
            desk.plan(Wish(text, error=1, min_rows=rows), None, None)[0] for rows in (None, 50)
        )
        assert plain == enough
    (wide,) = desk.plan(Wish(OFFICE.replace("income", "x"), error=6, min_rows=3), None, None)
    assert wide.items[0].min_rows is None  # the range alone keeps this error


def test_the_wish_of_a_question_counts_before_that_of_the_call():
    desk = PriceDesk(SMALL, 100)
    text = OFFICE.replace("income", "x")
    own = Wish(text, error=1, min_rows=20)
    by_call = desk.plan([own, Wish(text, min_rows=20), text], 1, None, 10)
    assert [plan.items[0].min_rows for plan in by_call] == [20, 20, 10]
    assert desk.plan([Wish(text, bits=3)], 1, None, 10)[0].items[0].min_rows is None


def test_a_price_without_the_table_is_not_exceeded_where_public_columns_choose_the_rows(tmp_path):
    # A price from the schema and the ledger does not know how many rows are in the north.
    values = {"x": [9.0, *[1.0] * 99], "job": ["care"] * 100, "area": ["north", *["south"] * 99]}
    ledger, wish = tmp_path / "ledger.db", {"error": "0.5", "min_rows": 80}
    for aggregate in AGGREGATES:
        text = "SELECT AVG(x) FROM people WHERE area = 'north'".replace("AVG", aggregate)
        with hartley.Agent(values, SMALL, ledger=ledger, budget=60) as agent:
            without = hartley.price(text, SMALL, ledger=ledger, vacuous=True, **wish)
            planned = hartley.plan([Wish(text, **wish)], SMALL, ledger=ledger, vacuous=True)
            within = agent.price(text, vacuous=True, **wish)
            answer = agent.ask(planned.wishes, vacuous=True)[0]
        assert answer.bits <= within.bits <= without.bits == planned.bits


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_more_rows_that_public_columns_choose_make_a_promised_error_cheaper(aggregate, tmp_path):
    values = {"x": [9.0, *[1.0] * 99], "job": ["care"] * 100, "area": ["north", *["south"] * 99]}
    text = "SELECT AVG(x) FROM people WHERE area = 'south'".replace("AVG", aggregate)
    with hartley.Agent(values, SMALL, ledger=tmp_path / "ledger.db", budget=60) as agent:
        counted = agent.price(text, error="0.5", vacuous=True)
        few = agent.price(text, error="0.5", min_rows=4, vacuous=True)
        many = agent.price(text, error="0.5", min_rows=100, vacuous=True)
        answer = agent.ask(text, error="0.5", min_rows=4, vacuous=True)
    assert few.cells == counted.cells >= many.cells
    assert answer.promised


# --- the promise ---------------------------------------------------------------------------------


def truth(aggregate, values):
    """Return the number in plain fractions; a root as its square."""
    n = len(values)
    if n < (2 if aggregate.endswith("SAMP") else 1):
        return None
    mean = sum(values, Fraction(0)) / n
    if aggregate == "AVG":
        return mean
    variance = sum((value - mean) ** 2 for value in values) / n
    return variance * n / (n - 1) if aggregate.endswith("SAMP") else variance


def totals(questions, codes):
    """Return the integer statistics of rows whose column x has these codes."""
    known = {
        Statistic.COUNT: len(codes),
        Statistic.SUM: sum(codes),
        Statistic.SQUARES: sum(code * code for code in codes),
    }
    return [known[question.statistic] for question in questions]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(AGGREGATES),
    st.fractions(Fraction(1, 20), 4, max_denominator=20),
    st.integers(1, 40),
    st.integers(0, 60),
    st.randoms(use_true_random=False),
)
def test_the_error_is_kept_if_enough_rows_count(aggregate, error, least, rows, rng):
    desk = PriceDesk(SMALL, 60)
    text = "SELECT AVG(x) FROM people WHERE job = 'office'".replace("AVG", aggregate)
    (plan,) = desk.plan(Wish(text, error=error, min_rows=least), None, None)
    ends = rng.random() < 0.5
    codes = [rng.choice([0, 24]) if ends else rng.randrange(25) for _ in range(rows)]
    forms = [question.form.constant for question in plan.questions if question.form]
    assert set(forms) <= {0}
    cells = [
        cell_of(question, total)
        for question, total in zip(plan.questions, totals(plan.questions, codes), strict=True)
    ]
    reading = read_cells(plan, cells)
    estimate = reading.only
    true = truth(aggregate, [Fraction(code, 2) - 3 for code in codes])
    assert estimate.promised is (rows >= least or plan.items[0].min_rows is None)
    if true is None:
        assert estimate.is_null or estimate.may_be_null
        return
    if aggregate.startswith("STDDEV"):
        assert max(estimate.low, 0) ** 2 <= true <= estimate.high**2
    else:
        assert estimate.low <= true <= estimate.high
    if estimate.promised:
        assert estimate.error <= error
    at_least = dict(desk.errors(plan, at_least=max(rows, 1)))
    assert estimate.error <= next(iter(at_least.values()))


@pytest.mark.slow
def test_a_real_agent_keeps_the_promise(tmp_path):
    rng = np.random.default_rng(5)
    n, least = 300, 40
    table = {
        "x": rng.integers(-3, 10, n).astype(float),
        "job": np.where(rng.random(n) < 0.3, "office", "care"),
        "area": np.where(rng.random(n) < 0.9, "north", "south"),
    }
    with hartley.Agent(table, SMALL, ledger=tmp_path / "ledger.db", budget=200) as agent:
        kept = []
        for aggregate in AGGREGATES:
            text = BY_AREA.replace("AVG", aggregate)
            answer = agent.ask(text, error="0.8", min_rows=least)
            for keys, (estimate,) in zip(answer.reading.groups, answer.reading.rows, strict=True):
                chosen = (table["job"] == "office") & (table["area"] == keys[0].value)
                kept.append(estimate.promised)
                # The number of rows by area alone is public; by job it is not.
                assert estimate.promised is bool(chosen.sum() >= least)
                true = truth(aggregate, [Fraction(int(2 * v), 2) for v in table["x"][chosen]])
                root = aggregate.startswith("STDDEV")
                true = Fraction(math.sqrt(true)) if root else true
                slack = Fraction(1, 10**9) if root else 0
                assert estimate.low - slack <= true <= estimate.high + slack
                assert not estimate.promised or estimate.error <= Fraction("0.8")
            assert answer.promised is False
        assert {*kept} == {True, False}
        # The steps do not depend on the data: neither does the price.
        again = agent.price(text, error="0.8", min_rows=least)
        assert (again.bits, agent.ask(text, error="0.8", min_rows=least).bits) == (0, 0)


def test_what_is_not_promised_is_shown(tmp_path):
    table = {"x": [1.0, 2.0, 3.0], "job": ["office"] * 3, "area": ["north"] * 3}
    text = "SELECT AVG(x) AS y FROM people WHERE job = 'office'"
    with hartley.Agent(table, SMALL, ledger=tmp_path / "ledger.db", budget=20) as agent:
        few, enough, plain = (
            agent.ask(text, error=1, min_rows=3),
            agent.ask("SELECT AVG(x) AS y FROM people WHERE job = 'care'", error=1, min_rows=2),
            agent.ask(text, bits=4),
        )
    assert (few.promised, enough.promised, plain.promised) == (True, False, True)
    assert enough.to_dict()["rows"][0]["y"]["promised"] is False
    assert few.to_dict()["rows"][0]["y"]["promised"] is True
    assert "promised" not in plain.to_dict()["rows"][0]["y"]
    assert few.to_arrow().column_names[-1] == "y_promised"
    assert few.to_arrow()["y_promised"].to_pylist() == [True]
    assert "not promised" in str(enough)
    assert "not promised" not in str(few)


# --- errors of a quote, by the number of rows ---------------------------------------------------


def test_a_quote_names_the_errors_of_a_private_number_of_rows():
    quote = hartley.price(OFFICE, SAMPLE, rows=5000, bits=2)
    errors = [(some.rows, dict(some.errors)["AVG(income)"]) for some in quote.errors_if[0]]
    assert errors == [(10, 4995), (100, Fraction("499.5")), (1000, Fraction("49.95"))]
    assert "4,995 if at least 10 rows count, 499.5 if 100, 49.95 if 1,000" in str(quote)
    plain = quote.to_dict()["questions"][0]["errors_if_rows_count"]
    assert plain == {
        "10": {"AVG(income)": "4995"},
        "100": {"AVG(income)": "999/2"},
        "1000": {"AVG(income)": "999/20"},
    }


def test_a_quote_names_no_more_rows_than_there_can_be():
    quote = hartley.price(OFFICE, SAMPLE, rows=500, bits=2)
    assert [some.rows for some in quote.errors_if[0]] == [10, 100]
    (few,) = hartley.price(OFFICE, SAMPLE, rows=7, bits=2).errors_if[0]
    assert few.rows == 7
    certain = hartley.price("SELECT AVG(age), COUNT(*) FROM people", SAMPLE, rows=500, bits=3)
    assert certain.errors_if == ((),)


# --- the next useful prices ----------------------------------------------------------------------

TINY = {
    "table": {"name": "t"},
    "columns": {
        "a": {"kind": "private", "range": [0, 8], "step": 1},
        "g": {"kind": "private", "values": ["u", "v", "w"]},
    },
}
SEVERAL = {**TINY, "table": {"name": "t", "unit": "who", "rows_per_unit": 4}}
DIVIDED = (
    "SELECT MEDIAN(a) FROM t",
    "SELECT SUM(a) FROM t WHERE g = 'u'",
    "SELECT AVG(a) FROM t WHERE g = 'u'",
    "SELECT AVG(a), COUNT(*) FROM t WHERE g = 'u'",
    "SELECT g, COUNT(*) FROM t GROUP BY g",
    "SELECT g, SUM(a) FROM t GROUP BY g",
    "SELECT MAX(a) FROM t WHERE g = 'u'",
    "SELECT COUNT(*) FROM t WHERE g = 'u'",
    "SELECT COUNT(*), SUM(a) FROM t WHERE g = 'u'",
)
MOST = 40


def errors_by_limit(desk, text):
    """Return, for each number of cells, the errors of the answer that it buys."""
    table = {}
    for limit in range(1, MOST + 1):
        try:
            (plan,) = desk.plan(Wish(text, bits=bits_for(limit)), None, None)
        except hartley.Refused:
            table[limit] = None
            continue
        shown = [desk.errors(plan, rows) for rows in desk.some_rows(plan)]
        errors = (*shown, desk.errors(plan))
        cells = price(plan.questions, desk.schema).cells
        table[limit] = errors, cells, bool(vacuous_labels(plan))
    return table


@pytest.mark.slow
@pytest.mark.parametrize("schema", [TINY, SEVERAL], ids=["one row", "several rows"])
@pytest.mark.parametrize("text", DIVIDED)
def test_the_next_prices_are_those_of_all_prices(schema, text):
    desk = PriceDesk(Schema.read(schema), 50)
    table = errors_by_limit(desk, text)
    named = 0
    for limit in range(1, 20):
        if table[limit] is None or table[limit][2]:
            continue
        errors, cells, _ = table[limit]
        quote = quote_plans(desk, desk.plan(Wish(text, bits=bits_for(limit)), None, None))
        near = quote.next_prices[0]
        below, above = near.below, near.above
        # "Changes" counts for numbers that say something.
        more = [
            k
            for k in range(cells + 1, MOST + 1)
            if table[k] is not None and not table[k][2] and table[k][0] != errors
        ]
        if more:
            assert above is not None, (limit, more[0])
            assert above.cells == table[more[0]][1]
            assert above.errors == table[more[0]][0][0]
            named += 1
        elif above is not None:
            assert above.cells > MOST
        less = [k for k in range(1, cells) if table[k] is not None and table[k][0] != errors]
        if less and not table[less[-1]][2]:
            assert below is not None, (limit, less[-1])
            assert (below.cells, below.errors) == (table[less[-1]][1], table[less[-1]][0][0])
            named += 1
        else:
            assert below is None
    assert named or text.endswith("GROUP BY g") or "COUNT(*) FROM" in text


def test_a_vacuous_wish_names_its_first_useful_price():
    text = "SELECT diagnosis, COUNT(*) FROM people GROUP BY diagnosis"
    for bits in (1, 2, "2.5"):
        quote = hartley.price(text, SAMPLE, rows=5000, bits=bits)
        assert (quote.bits, quote.next_prices[0].above.cells) == (0, 6)
        assert "First useful price: ≤ 2.585 bits." in str(quote)
        assert quote.to_dict()["questions"][0]["next_prices"]["below"] is None
    offered = hartley.price(OFFICE, SAMPLE, rows=5000, bits=1).next_prices[0]
    assert offered.above.cells == 3  # a sum and its count


def test_an_exact_answer_has_no_next_price():
    quote = hartley.price("SELECT COUNT(*) FROM people WHERE age >= 65", SAMPLE, rows=5000)
    assert quote.next_prices == (NextPrices(),)
    assert "Next useful" not in str(quote)


def test_a_long_batch_has_no_next_prices():
    texts = ["SELECT MEDIAN(a) FROM t"] * 17
    quote = hartley.price(texts, TINY, rows=50, bits=2)
    assert {*quote.next_prices} == {NextPrices()}
    few = hartley.price(texts[:16], TINY, rows=50, bits=2)
    assert any(prices != NextPrices() for prices in few.next_prices)


def test_the_next_prices_start_from_what_is_known(tmp_path):
    table = {"a": [1, 2, 3], "g": list("uvw")}
    with hartley.Agent(table, TINY, ledger=tmp_path / "ledger.db", budget=20) as agent:
        agent.ask("SELECT MEDIAN(a) FROM t", bits=2)
        quote = agent.price("SELECT MEDIAN(a) FROM t", bits=1)
    assert quote.bits == 0
    assert quote.next_prices[0].below is None
    assert quote.next_prices[0].above.cells == 5


BY_JOB = "SELECT job, AVG(height) FROM people GROUP BY job"


def test_a_hint_quotes_errors_that_a_group_can_have_and_the_option_to_paste():
    height = "4.585 bits (--bits 4.585) give ±0.0392 in an average group (625 rows or more), "
    assert f"{height}±0.245 in one of 100" in str(hartley.price(BY_JOB, SAMPLE, rows=5000, bits=5))
    asked = hartley.price(BY_JOB, SAMPLE, rows=5000, bits=5).next_prices[0].above
    again = hartley.price(BY_JOB, SAMPLE, rows=5000, bits="5.322")
    assert (asked.rows, asked.errors) in again.errors_if[0]
    (some,) = hartley.price(BY_JOB, SAMPLE, rows=5000, bits=5).errors_if
    (in_average,) = (dict(each.errors) for each in some if each.rows == 625)
    assert in_average["AVG(height)"] == Fraction("16.5") / 625
    filtered = hartley.price(
        f"{BY_JOB[:-12]} WHERE age < 40 GROUP BY job", SAMPLE, rows=5000, bits=5
    )
    assert "if 100 rows count, " in str(filtered)
    assert "average group" not in str(filtered)
    assert "all 5,000 rows" not in str(filtered)


@pytest.mark.parametrize("bits", range(1, 9))
def test_what_an_average_group_cannot_tell_is_not_charged_without_asking(bits):
    """The wide cell of a group of 1/8 of the rows holds all that the schema allows."""
    quote = hartley.price(BY_JOB, SAMPLE, rows=5000, bits=bits)
    desk = PriceDesk(Schema.read(SAMPLE), 5000)
    (plan,) = desk.plan(BY_JOB, None, bits)
    steps = {question.step for question in plan.questions if question.statistic is Statistic.SUM}
    tells = any(step <= 625 * 100 for step in steps)  # sums of 625 heights over 100 cm
    assert bool(quote.vacuous[0]) is not tells


def test_hints_do_not_depend_on_the_data(tmp_path):
    told = set()
    for number, value in enumerate((0, 3, 7)):
        data = {"a": [value] * 40, "g": ["u"] * 40}
        ledger = tmp_path / f"{number}.db"
        with hartley.Agent(data, TINY, ledger=ledger, budget=20) as agent:
            texts = (DIVIDED[0], "SELECT AVG(a) FROM t WHERE a < 4", "SELECT MEDIAN(a) FROM t")
            told.add(tuple(str(agent.price(text, bits=2)) for text in texts))
    assert len(told) == 1


def test_a_cheaper_price_that_is_almost_as_good_is_named_first():
    text = "SELECT AVG(income) FROM people"
    quote = hartley.price(text, SAMPLE, rows=5000, bits=4)
    near = quote.next_prices[0]
    certain = dict(hartley.price(text, SAMPLE, rows=5000, bits="3.907").errors[0])
    assert certain["AVG(income)"] <= Fraction(11, 10) * quote.errors[0][0][1]
    assert near.as_good_below
    assert near.sentence().startswith("Cheaper, and almost as good: 3.907 bits (--bits 3.907) give")
    coarse = hartley.price(text, SAMPLE, rows=5000, bits=3).next_prices[0]
    assert not coarse.as_good_below
    assert coarse.sentence().startswith("Next useful prices: 2.808 bits")


# --- vacuous ---

SCHEMA = Schema.read(
    {
        "table": {"name": "people"},
        "columns": {
            "age": {"kind": "private", "range": [0, 100], "step": 1},
            "income": {"kind": "private", "range": [0, 200_000], "step": 100, "nullable": True},
            "sex": {"kind": "private", "values": ["Male", "Female"]},
            "area": {"kind": "public", "values": ["north", "south", "nowhere"]},
        },
    }
)
PRIVATE_ROWS = Schema.read(
    {
        "table": {"name": "people", "rows": "private", "max_rows": 50},
        "columns": {"age": {"kind": "private", "range": [0, 100], "step": 1}},
    }
)


def data(rows=200):
    order = random.Random(3)
    return {
        "age": [order.randint(0, 100) for _ in range(rows)],
        "income": [None if order.random() < 0.1 else order.randint(0, 90_000) for _ in range(rows)],
        "sex": [order.choice(["Male", "Female"]) for _ in range(rows)],
        "area": [order.choice(["north", "south"]) for _ in range(rows)],
    }


@pytest.fixture
def agent(tmp_path):
    with Agent(data(), SCHEMA, ledger=tmp_path / "l.db", budget=400) as opened:
        yield opened


MALE = "SELECT MEDIAN(age) FROM people WHERE sex = 'Male'"
VACUOUS = [
    (MALE, {}, "1.585 bits (--bits 1.585) give ±25; 2 bits (--bits 2) give ±16.5"),
    (
        "SELECT AVG(income) FROM people",
        {"bits": 1},
        "2 bits (--bits 2) give ±500 if 100 rows count",
    ),
    ("SELECT BIN(age, 10), COUNT(*) FROM people GROUP BY BIN(age, 10)", {"bits": 3}, "3.46 bits"),
    ("SELECT AVG(age) FROM people", {"bits": 0}, "1 bit (--bits 1) gives ±0.248"),
    ("SELECT AVG(age) FROM people", {"error": 50}, "1 bit (--bits 1) gives ±0.248"),
    ("SELECT SUM(age) FROM people", {"bits": 0}, "1 bit (--bits 1) gives ±49.5"),
    (
        "SELECT COUNT(*) FROM people WHERE age > 9",
        {"bits": 0},
        "1 bit (--bits 1) gives the exact number",
    ),
    ("SELECT VAR_POP(age) FROM people", {"bits": 1}, "1.585 bits (--bits 1.585) give"),
    ("SELECT STDDEV(income) FROM people", {"bits": 1.6}, "2 bits (--bits 2) give"),
    ("SELECT MIN(age), MAX(age) FROM people", {"bits": 0}, "give MIN(age)"),
    (
        "SELECT MEDIAN(age) FROM people WHERE age < 30",
        {"error": 40},
        "1.585 bits (--bits 1.585) give ±14",
    ),
    (
        "SELECT area, MEDIAN(age) FROM people GROUP BY area",
        {"bits": 0},
        "1 bit (--bits 1) gives ±25",
    ),
    (
        "SELECT SUM(age), COUNT(income), MAX(age) FROM people",
        {"bits": 2},
        "2.585 bits (--bits 2.585) give",
    ),
]


@pytest.mark.parametrize(("text", "wish", "next_price"), VACUOUS)
def test_a_vacuous_answer_is_refused_with_the_next_useful_price(agent, text, wish, next_price):
    head = agent.ledger.head()
    with pytest.raises(Refused, match="no narrower than the schema") as refused:
        agent.ask(text, **wish)
    assert next_price in refused.value.hint
    assert "vacuous=True (--vacuous)" in refused.value.hint
    assert refused.value.text == text
    start, end = refused.value.place
    assert text[start:end] in refused.value.problem
    assert agent.ledger.head() == head
    shown = agent.price(text, **wish)
    assert shown.vacuous[0]
    assert next_price in str(shown)
    assert agent.price(text, **wish, vacuous=True).vacuous == ((),)
    answer = agent.ask(text, **wish, vacuous=True)
    assert agent.ask(text, **wish).bits == 0  # paid for, so it is served
    assert answer.reading.rows == agent.ask(text, **wish).reading.rows


@pytest.mark.parametrize(("text", "wish", "_"), VACUOUS)
def test_the_price_that_is_named_is_useful_and_none_below_it_is(text, wish, _):
    desk = PriceDesk(SCHEMA, 200)
    prices = quote(desk, desk.plan(text, wish.get("error"), wish.get("bits"))).useful[0]
    for useful in prices:
        (plan,) = desk.plan(text, None, useful.bits_alone)
        assert vacuous_labels(plan) == ()
    for cells in range(1, min(prices[0].cells, 40)):
        bits = next(Fraction(k, 64) for k in range(400) if floor_power(Fraction(k, 64)) == cells)
        try:
            (plan,) = desk.plan(text, None, bits)
        except Refused:
            continue
        assert vacuous_labels(plan), cells


NOT_VACUOUS = [
    ("SELECT COUNT(*) FROM people", {"bits": 0}),
    ("SELECT COUNT(*), SUM(age), MEDIAN(age), AVG(age) FROM people WHERE FALSE", {"bits": 0}),
    ("SELECT AVG(income) FROM people WHERE income IS NULL", {"bits": 0}),
    ("SELECT AVG(age) FROM people WHERE age = 30", {"bits": 0}),
    ("SELECT MEDIAN(age) FROM people WHERE area = 'nowhere'", {"bits": 0}),
    ("SELECT AVG(age) FROM people WHERE area = 'nowhere'", {"bits": 0}),
    ("SELECT area, COUNT(*) FROM people GROUP BY area", {"bits": 0}),
    ("SELECT AVG(age) FROM people WHERE sex = 'Male'", {"bits": 2}),
    ("SELECT COUNT(income), SUM(income) FROM people", {"bits": 2}),
]


@pytest.mark.parametrize(("text", "wish"), NOT_VACUOUS)
def test_what_the_schema_settles_and_what_is_told_is_answered(agent, text, wish):
    assert agent.ask(text, **wish) is not None
    assert agent.price(text, **wish).vacuous == ((),)


def test_an_empty_table_and_private_rows_are_judged_by_what_is_public(tmp_path):
    (plan,) = PriceDesk(SCHEMA, 0).plan(
        "SELECT AVG(age), SUM(income), COUNT(*) FROM people", None, 0
    )
    assert vacuous_labels(plan) == ()
    ages = {"age": [1, 2, 3]}
    with Agent(ages, PRIVATE_ROWS, ledger=tmp_path / "p.db", budget=90) as agent:
        for text in ("SELECT AVG(age) FROM people", "SELECT COUNT(*) FROM people"):
            with pytest.raises(Refused, match="no narrower"):
                agent.ask(text, bits=0)
        with pytest.raises(Refused, match="Even the coarsest") as refused:
            agent.ask("SELECT MEDIAN(age) FROM people", bits=0)
        assert "1.585 bits (--bits 1.585) give ±25" in refused.value.hint
        assert agent.ask("SELECT MEDIAN(age) FROM people", bits=2).bits <= 2


def test_one_vacuous_question_refuses_its_batch_and_a_paid_one_does_not(agent):
    count = "SELECT COUNT(*) FROM people WHERE age > 50"
    with pytest.raises(Refused) as refused:
        agent.ask([count, Wish(MALE, bits=1)])
    assert refused.value.text == MALE
    assert agent.history() == []
    agent.ask(MALE, bits=1, vacuous=True)
    assert agent.ask([count, Wish(MALE, bits=1)]).bits == 1


def test_a_label_that_is_told_in_some_group_is_not_vacuous():
    """The bins of a median differ in width: some are cut by a coarse step, others are not."""
    text = "SELECT BIN(age, 40), MEDIAN(age) FROM people GROUP BY BIN(age, 40)"
    (plan,) = PriceDesk(SCHEMA, 200).plan(text, 20, None)
    steps = [question.step for question in plan.questions]
    whole = plan.with_steps([Fraction(101)] * len(steps))
    part = plan.with_steps([Fraction(101), *[Fraction(5)] * (len(steps) - 1)])
    assert vacuous_labels(whole) == ("MEDIAN(age)",)
    assert vacuous_labels(part) == ()


def test_a_quote_without_an_agent_says_the_same():
    shown = hartley.price(MALE, SCHEMA, rows=200)
    assert shown.vacuous == (("MEDIAN(age)",),)
    assert shown.to_dict()["questions"][0]["vacuous"] == ["MEDIAN(age)"]
    assert shown.to_dict()["questions"][0]["useful_prices"][1]["bits_alone"] == 2
    assert "Vacuous: MEDIAN(age)" in shown._repr_html_()
    assert hartley.price(MALE, SCHEMA, rows=200, vacuous=True).vacuous == ((),)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_vacuous_answer_is_what_the_schema_tells_whatever_the_data(seed):
    """Every cell is read: where a label is named none is narrower, and else one of them is."""
    order = random.Random(seed)
    desk = PriceDesk(PRIVATE_ROWS, 50)
    named = told = 0
    for _ in range(150):
        shape = order.choice(["COUNT(*)", "SUM(age)", "AVG(age)", "MEDIAN(age)", "MAX(age)"])
        where = order.choice(["", f" WHERE age < {order.randint(1, 100)}", " WHERE age > 90"])
        bits = Fraction(order.randint(0, 20), 8)
        try:
            (plan,) = desk.plan(f"SELECT {shape} FROM people{where}", None, bits)
        except Refused:
            continue
        if len(plan.questions) > 1:  # an average with its count: both have to be told
            continue
        (question,), (item,) = plan.questions, plan.items
        levels = int((question.most - question.least) / question.step) + 1
        shown = [read_cells(plan, [cell]).only for cell in range(levels)]
        schema_tells = item.bounds or item.rows
        narrower = {
            (one.low, one.high)
            for one in shown
            if one.low is not None and one.high - one.low < schema_tells[1] - schema_tells[0]
        }
        vacuous = vacuous_labels(plan)
        named, told = named + bool(vacuous), told + (not vacuous)
        if item.kind is not NumberKind.SUM:
            assert bool(vacuous) is not bool(narrower) or schema_tells[0] == schema_tells[1]
        elif vacuous:
            assert levels == 1
    assert named > 5
    assert told > 5


# --- exact answers ---

EXACT_AGGREGATES = {
    "COUNT({})": len,
    "SUM({})": sum,
    "AVG({})": lambda values: Fraction(sum(values), len(values)) if values else None,
    "VAR_POP({})": lambda values: spread(values, 0),
    "VAR_SAMP({})": lambda values: spread(values, 1),
    "MIN({})": lambda values: min(values, default=None),
    "MAX({})": lambda values: max(values, default=None),
    "MEDIAN({})": lambda values: sorted(values)[math.ceil(len(values) / 2) - 1] if values else None,
}
FORMS = {
    "a": lambda row: row["a"],
    "2 * a - 1": lambda row: None if row["a"] is None else 2 * row["a"] - 1,
    "a - b": lambda row: None if None in (row["a"], row["b"]) else row["a"] - row["b"],
}
FILTERS = {
    "": lambda _: True,
    " WHERE a >= 1": lambda row: row["a"] is not None and row["a"] >= 1,
    " WHERE b IS NULL OR a = 0": lambda row: row["b"] is None or row["a"] == 0,
    " WHERE g = 'x'": lambda row: row["g"] == "x",
    " WHERE b = 0 AND NOT g = 'y'": lambda row: (
        row["b"] == 0 and row["g"] is not None and row["g"] != "y"
    ),
}


def spread(values, sample):
    if len(values) <= sample:
        return None
    mean = Fraction(sum(values), len(values))
    return sum((value - mean) ** 2 for value in values) / (len(values) - sample)


class World:
    """A random schema, the rows of the others, and every set of rows that one person may have."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        pick = self.random.choice
        self.private, per = pick([True, False]), pick([1, 1, 2])
        group = "private" if self.private else pick(["private", "open", "public"])
        null = pick([True, True, False])
        columns = {
            "a": {"kind": "private", "range": [0, pick([1, 2, 3])], "step": 1, "nullable": null},
            "b": {"kind": "private", "range": [-1, 0], "step": 1, "nullable": pick([True, False])},
            "g": {"kind": group, "values": ["x", "y"], "nullable": pick([True, False])},
        }
        table = {"name": "people"}
        if per > 1:
            table |= {"unit": "who", "rows_per_unit": per}
        if self.private:
            table |= {"rows": "private", "max_rows": 6}
        self.schema = Schema.read({"table": table, "columns": columns})
        everybody = [
            dict(zip("abg", record, strict=True))
            for record in itertools.product(
                *(
                    [*values, *([None] if columns[name]["nullable"] else [])]
                    for name, values in zip(
                        "abg",
                        (range(columns["a"]["range"][1] + 1), (-1, 0), "xy"),
                        strict=True,
                    )
                )
            )
        ]
        self.others = [pick(everybody) for _ in range(self.random.randint(0, 3))]
        public = pick(everybody)["g"]
        of_one = [row for row in everybody if group != "public" or row["g"] == public]
        numbers = range(per + 1) if self.private else [per]
        self.people = [
            [*self.others, *own]
            for number in numbers
            for own in itertools.combinations_with_replacement(of_one, number)
        ]
        rows = 6 if self.private else len(self.others) + per
        self.desk = PriceDesk(self.schema, rows)

    def question(self):
        """Return a text, and a function from rows to the values of each number, in its order."""
        choose = self.random.choice
        aggregate, form, where = (choose(list(all_)) for all_ in (EXACT_AGGREGATES, FORMS, FILTERS))
        grouped = choose([True, False])
        column = self.schema.columns["g"]
        groups = [*column.values, *([None] if column.nullable else [])] if grouped else ["all"]
        number = aggregate.format("a" if aggregate.startswith("COUNT") else form)
        value_of = FORMS["a" if aggregate.startswith("COUNT") else form]
        keys = ("g, ", " GROUP BY g") if grouped else ("", "")
        text = f"SELECT {keys[0]}{number} FROM people{where}{keys[1]}"

        def values(rows):
            for group in groups:
                kept = (row for row in rows if FILTERS[where](row))
                found = (value_of(row) for row in kept if group in ("all", row["g"]))
                yield [value for value in found if value is not None]

        return text, EXACT_AGGREGATES[aggregate], lambda rows: list(values(rows))


def world_totals(plan, values):
    """Return the total of each question of a plan from the values that count."""
    found = {}
    for item, some in zip(plan.items, values, strict=True):
        forms = [(value - item.shift) / item.scale for value in some]
        if item.count is not None:
            found[item.count] = len(some)
        if item.sum is not None:
            found[item.sum] = int(sum(forms))
        if item.squares is not None:
            found[item.squares] = int(sum(form**2 for form in forms))
        if item.order is not None:
            truth = EXACT_AGGREGATES["MEDIAN({})"](some)
            if "MEDIAN" not in item.label:
                truth = (min if "MIN" in item.label else max)(some, default=None)
            found[item.order] = None if truth is None else int((truth - item.shift) / item.scale)
    return [found.get(place) for place in range(len(plan.questions))]


def check_world(seed):
    """Check some questions of one world; return how many answers were compared."""
    world, compared = World(seed), 0
    for _ in range(4):
        text, truth_of, values_of = world.question()
        error = world.random.choice([0, 0, 0, Fraction(1, 4), Fraction(1, 2), 1])
        (plan,) = world.desk.plan(text, error, None)
        cells = price(plan.questions, world.schema).cells * open_factor(world.schema)
        seen = set()
        for rows in world.people:
            values = values_of(rows)
            told = [
                None if total is None and not_asked(plan, place) else cell_of(question, total)
                for place, (question, total) in enumerate(
                    zip(plan.questions, world_totals(plan, values), strict=True)
                )
            ]
            seen.add(tuple(told))
            for (estimate,), some in zip(read_cells(plan, told).rows, values, strict=True):
                truth, compared = truth_of(some), compared + 1
                if truth is None:
                    assert estimate.is_null or estimate.may_be_null
                else:
                    assert estimate.low <= truth <= estimate.high
                    assert estimate.error <= error
        assert len(seen) <= cells, (text, error, seed)
    return compared


def not_asked(plan, place):
    return not any(place in item.parts for item in plan.items) or any(
        item.order == place for item in plan.items
    )


def test_a_seeded_part_of_all_worlds():
    assert sum(map(check_world, range(60))) > 3_000


@pytest.mark.long
def test_many_worlds():
    for seed in range(60, 3000):
        check_world(seed)


def test_the_enumeration_notices_a_sum_that_is_too_coarse(monkeypatch):
    def coarse(plan, steps):
        pairs = zip(plan.questions, steps, strict=True)
        wide = {item.sum for item in plan.items if item.kind is NumberKind.AVERAGE}
        return whole(
            plan,
            [step + (place in wide and q.most > q.least) for place, (q, step) in enumerate(pairs)],
        )

    kind = type(World(0).desk.plan("SELECT AVG(a) FROM people", 0, None)[0])
    whole = kind.with_steps
    monkeypatch.setattr(kind, "with_steps", coarse)
    with pytest.raises(AssertionError):
        sum(map(check_world, range(60)))


def test_an_average_of_a_nullable_column_is_exact_if_that_is_wished(tmp_path):
    column = {"kind": "private", "range": [0, 5], "step": 1, "nullable": True}
    schema = {"table": {"name": "people"}, "columns": {"a": column}}
    people = {"a": [1, None, 5, 2, 5, None]}
    with hartley.Agent(people, schema, ledger=tmp_path / "ledger.db", budget=40) as agent:
        quote = agent.price("SELECT AVG(a) FROM people", error=0)
        answer = agent.ask("SELECT AVG(a) FROM people", error=0)
        assert quote.cells == 7  # six values, or none
        assert answer.low == answer.high == Fraction(13, 4)
        assert answer.bits == quote.bits < 2.81
        assert answer.promised
        for text in ("VAR_POP(a)", "VAR_SAMP(a)", "AVG(3 * a - 1)", "MEDIAN(a)", "COUNT(a)"):
            assert agent.ask(f"SELECT {text} FROM people", error=0).error == 0
        rough = agent.ask("SELECT STDDEV(a) FROM people", error="0.000001")
        assert float(rough.low) == pytest.approx(4.25**0.5)
        with pytest.raises(hartley.Refused, match="rounding of square roots"):
            agent.ask("SELECT STDDEV(a) FROM people", error=0)
