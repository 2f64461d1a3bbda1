"""An error that is promised if at least so many rows count, and errors of quotes by rows."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import hartley
from hartley.agent.quoting import quote as quote_plans
from hartley.results.plan import bits_for
from hartley.results.quote import Wish
from hartley.schema.schema import Schema
from hartley.trusted.cells import cell_of, read_cells
from hartley.trusted.precision import PriceDesk, vacuous_labels
from hartley.trusted.pricing.price import price
from hartley.trusted.questions.batch import Statistic

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
TEXTS = (
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
        errors = desk.errors(plan, fullest=True), desk.errors(plan)
        cells = price(plan.questions, desk.schema).cells
        table[limit] = errors, cells, bool(vacuous_labels(plan))
    return table


@pytest.mark.slow
@pytest.mark.parametrize("schema", [TINY, SEVERAL], ids=["one row", "several rows"])
@pytest.mark.parametrize("text", TEXTS)
def test_the_next_prices_are_those_of_all_prices(schema, text):
    desk = PriceDesk(Schema.read(schema), 50)
    table = errors_by_limit(desk, text)
    named = 0
    for limit in range(1, 20):
        if table[limit] is None or table[limit][2]:
            continue
        errors, cells, _ = table[limit]
        quote = quote_plans(desk, desk.plan(Wish(text, bits=bits_for(limit)), None, None))
        below, above = quote.next_prices[0]
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
    assert quote.next_prices == ((None, None),)
    assert "Next useful" not in str(quote)


def test_a_long_batch_has_no_next_prices():
    texts = ["SELECT MEDIAN(a) FROM t"] * 17
    quote = hartley.price(texts, TINY, rows=50, bits=2)
    assert {*quote.next_prices} == {(None, None)}
    few = hartley.price(texts[:16], TINY, rows=50, bits=2)
    assert any(any(prices) for prices in few.next_prices)


def test_the_next_prices_start_from_what_is_known(tmp_path):
    table = {"a": [1, 2, 3], "g": list("uvw")}
    with hartley.Agent(table, TINY, ledger=tmp_path / "ledger.db", budget=20) as agent:
        agent.ask("SELECT MEDIAN(a) FROM t", bits=2)
        quote = agent.price("SELECT MEDIAN(a) FROM t", bits=1)
    assert quote.bits == 0
    below, above = quote.next_prices[0]
    assert below is None
    assert above.cells == 5
