"""What is asked of a table on any engine: unrelatedness, hypotheses, attributes, refusals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from hartley import (
    ColumnError,
    EngineError,
    OptionError,
    Relation,
    TableError,
    analyse_hypothesis,
    guessing_leakage,
    open_table,
)
from hartley.ranges import are_unrelated, is_markov_chain
from hartley.tables.view import prepare

MARKER = "SECRET-7741"
NUMBER = 987_654_321


@pytest.fixture(scope="session")
def dice(engine):
    """Two dice and what is told of them, every throw once."""
    one, two = (side.ravel() for side in np.meshgrid(np.arange(1, 7), np.arange(1, 7)))
    table = {"one": one, "two": two, "sum": one + two, "high": one + two >= 10}
    return engine.load("dice", pa.table({name: pa.array(side) for name, side in table.items()}))


@pytest.fixture(scope="session")
def bad(engine):
    """A table with something wrong in most of its columns."""
    nothing = [None] * 3
    return engine.load(
        "bad",
        pa.table(
            {
                "good": pa.array([1, 2, NUMBER], pa.int64()),
                "text": pa.array([MARKER, "b", None]),
                "empty": pa.array(nothing, pa.int64()),
                "nan": pa.array([math.nan, math.nan, None], pa.float64()),
                "infinite": pa.array([1.0, math.inf, float(NUMBER)], pa.float64()),
                "first": pa.array([NUMBER, None, None], pa.int64()),
                "other": pa.array([None, "b", MARKER]),
            }
        ),
    )


def test_two_dice_are_unrelated_until_their_sum_is_known(dice):
    assert are_unrelated(dice, ["one", "two"])
    assert not are_unrelated(dice, ["one", "two"], given="sum")
    assert not are_unrelated(dice, ["one", "sum"])


def test_what_is_told_of_the_sum_adds_nothing_to_the_sum(dice):
    assert is_markov_chain(dice, [["one", "two"], "sum", "high"])
    assert not is_markov_chain(dice, ["one", "high", "two"])


def test_a_hypothesis_is_decided_by_the_sums_that_prove_it(dice):
    relation = Relation.from_table(dice, secret=["one", "two"], released="sum")
    found = analyse_hypothesis(relation, "one = 6 and two >= 5")
    assert found.decides_true == [12]
    assert found.decides_false == list(range(2, 11))
    assert found.ambiguous == [11]
    assert found.performance_bound == pytest.approx(math.log2(10))


def test_an_attribute_may_be_a_column_of_the_secret_side(dice):
    relation = Relation.from_table(dice, secret=["one", "two"], released="sum")
    assert guessing_leakage(relation, "one") == pytest.approx(math.log2(6))
    assert guessing_leakage(relation, sum) == pytest.approx(math.log2(11))


@pytest.mark.parametrize(
    ("sides", "kind", "named"),
    [
        ({"released": "absent"}, ColumnError, ("'absent'", "bad")),
        ({"released": "empty"}, ColumnError, ("'empty'", "bad")),
        ({"released": "nan"}, ColumnError, ("'nan'", "bad")),
        ({"secret": "first", "released": "other"}, ColumnError, ("'first'", "'other'", "bad")),
        ({"released": "infinite", "bins": {"infinite": 1}}, ColumnError, ("'infinite'", "bad")),
        ({"released": "text", "bins": {"text": 1}}, ColumnError, ("'text'", "bad")),
        ({"released": "text", "bins": {"good": 1e-300}}, OptionError, ("'good'",)),
        ({"released": "text", "bins": {"other": 1}}, ColumnError, ("'other'",)),
    ],
)
def test_a_column_that_cannot_serve_is_refused_by_name(bad, refused, sides, kind, named):
    with refused(kind, *named):
        Relation.from_table(bad, **{"secret": "good", "missing": "drop"} | sides)


def test_a_table_without_rows_is_refused(engine, refused):
    empty = engine.load(
        "nothing", pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())})
    )
    with refused(TableError, "nothing"):
        Relation.from_table(empty, secret="a", released="b")


def test_numbers_on_and_beside_edges_lie_in_the_bin_of_the_rule(engine):
    steps = [Fraction(step) for step in ("0.1", "0.3", "5/3", "7/11")]
    numbers = range(-300, 300)
    columns = {"row": list(range(3 * len(numbers)))}
    for step in steps:
        edges = [float(number * step) for number in numbers]
        aside = [[math.nextafter(edge, way) for edge in edges] for way in (-math.inf, math.inf)]
        columns[f"by {step}"] = [*edges, *aside[0], *aside[1]]
    table = open_table(engine.load("edges", pa.table(columns)))
    view = prepare(table, list(columns), steps=[None, *steps])
    found = view.expression.to_pyarrow().sort_by("c0")
    bins = [*numbers, *(number - 1 for number in numbers), *numbers]
    for at in range(len(steps)):
        assert found[f"c{at + 1}"].to_pylist() == bins


def test_the_smallest_numbers_lie_in_the_bins_beside_zero(engine, oracle, assert_is):
    columns = {"least": [5e-324, -5e-324, 0.0, 2.5], "number": [1, 2, 3, 4]}
    table = engine.load("least", pa.table(columns))
    relation = Relation.from_table(table, secret="number", released="least", bins={"least": 2.5})
    assert_is(relation, oracle(columns, ["number"], ["least"], {"least": 2.5}))


def test_a_derived_table_counts_like_a_stored_one(dice, oracle, assert_is):
    low = dice.filter(dice["sum"] <= 4)
    relation = Relation.from_table(low, secret="one", released="sum")
    columns = {"one": [1, 1, 1, 2, 2, 3], "sum": [2, 3, 4, 3, 4, 4]}
    assert_is(relation, oracle(columns, ["one"], ["sum"]))


def test_a_failing_engine_is_named_without_its_words(engine, bad, refused):
    broken = bad.mutate(number=bad["text"].cast("int64"))
    with refused(EngineError, engine.dialect.name):
        Relation.from_table(broken, secret="number", released="good")
