"""The promise of whole agents, ledger and all: a seeded part of what transcripts.py enumerates."""

from dataclasses import replace
from fractions import Fraction
from unittest import mock

import pytest
from sessions import floor_power
from transcripts import Tally, enumerate_world
from worlds import draw_world

from hartley.trusted import cells as answer
from hartley.trusted.pricing import price

pytestmark = pytest.mark.xdist_group("transcripts")


FIRST = 9_000_000
WORLDS = (2, 3, 4, 5, 13, 18, 19, 21, 23, 24, 27, 28, 30, 31, 34, 36, 38, 39)
"""Of the first forty worlds those that together have everything listed below, those that are
charged most, and those in which people are told apart most often."""
SQL = {
    *("COUNT(*)", "COUNT(column)", "SUM", "AVG", "MIN", "MAX", "MEDIAN", "QUANTILE"),
    *("QUANTILE_DISC", "PERCENTILE_DISC", "VAR_POP", "VAR_SAMP", "VARIANCE"),
    *("STDDEV_POP", "STDDEV_SAMP", "STDDEV", "several aggregates", "batch of several"),
    *("linear form", "scaled or shifted form", "aggregate of dates", "no WHERE"),
    *("GROUP BY values", "GROUP BY BIN", "GROUP BY FLOOR", "GROUP BY several keys"),
    *("GROUP BY public column", "GROUP BY open column", "GROUP BY private column"),
    *(f"compare {operator}" for operator in ("=", "<>", "<", "<=", ">", ">=")),
    *("compare a date", "compare a linear form", "compare outside the range"),
    *("category =", "category <>", "FLAG", "IS TRUE", "IN", "NOT IN", "BETWEEN", "NOT BETWEEN"),
    *("MISSING", "IS NOT NULL", "AND", "OR", "NOT", "TRUE or FALSE"),
    *("contradiction", "tautology", "error=", "bits=", "default wish"),
}
ACTS = {
    *("version", "erasure", "schema", "set_budget", "allow", "reopen", "engine fails", "refused"),
    *("repeat", "repeat in other words", "repeat inside a batch", "duplicate in a batch"),
    "everybody and nobody in a batch",
}
SCHEMAS = {
    *("public", "open", "private", "nullable", "other", "unit", "no unit"),
    *("rows public", "rows private", "rows_per_unit 1", "rows_per_unit 2", "rows_per_unit 3"),
}


def enumerate_worlds(seeds):
    tried = Tally()
    for seed in seeds:
        world = draw_world(seed, most=8)
        tried.add(world, *enumerate_world(world))
    return tried


@pytest.fixture(scope="module")
def tally():
    return enumerate_worlds(FIRST + place for place in WORLDS)


def test_no_person_makes_more_transcripts_than_were_charged_and_every_interval_is_true(tally):
    assert not tally.problems, "\n".join(tally.problems.values())
    assert tally.strategies == len(WORLDS)
    assert tally.transcripts > 3 * len(WORLDS)  # strategies that see nothing would prove nothing


@pytest.mark.long
def test_the_same_of_many_more_agents():
    many = enumerate_worlds(range(20_000_000, 20_000_400))
    assert not many.problems, "\n".join(many.problems.values())


@pytest.mark.parametrize("worlds", [3, pytest.param(60, marks=pytest.mark.long)])
def test_answers_and_publications_together_stay_within_their_charges(worlds):
    tried = Tally()
    for seed in range(40_000_000, 40_000_000 + worlds):
        world = draw_world(seed, most=8, publishes=True)
        tried.add(world, *enumerate_world(world))
    assert not tried.problems, "\n".join(tried.problems.values())
    assert tried.acts["publication"] > 3 * worlds
    assert tried.acts["publication refused"]


def test_every_part_of_sql_every_act_and_every_kind_of_schema_was_met(tally):
    assert not SQL - set(tally.features)
    assert not ACTS - set(tally.acts)
    assert not SCHEMAS - set(+tally.schemas)


# --- the enumerator finds what is planted -------------------------------------------------------

honest_price, honest_bounds = price._price, answer.cell_bounds


def one_cell_less(questions, schema, known=None):
    honest = honest_price(questions, schema, known)
    return replace(honest, cells=honest.cells - (honest.cells > 2))


def nothing_is_missing(questions, schema, _=None):
    """Atoms that forget missing values."""
    columns = {name: replace(one, nullable=False) for name, one in schema.columns.items()}
    return honest_price(questions, replace(schema, columns=columns))


def high_is_one_short(question, cell):
    low, high = honest_bounds(question, cell)
    return low, max(low, high - 1)


@pytest.mark.parametrize(
    ("place", "name", "planted", "kind", "world"),
    [
        (price, "_price", one_cell_less, "too many answers", 19),
        (price, "_price", nothing_is_missing, "too many answers", 2),
        (answer, "cell_bounds", high_is_one_short, "the truth is outside", 3),
    ],
)
def test_the_enumerator_finds_a_planted_leak(place, name, planted, kind, world):
    """In the first of the worlds in which it shows."""
    assert world in WORLDS
    with mock.patch.object(place, name, planted):
        _, problems = enumerate_world(draw_world(FIRST + world, most=8))
    assert any(problem.startswith(kind) for problem in problems)


def test_powers_of_two_are_rounded_down_in_whole_numbers():
    assert floor_power(Fraction(3)) == 8
    assert floor_power(Fraction("1.585")) == 3
    assert floor_power(Fraction("1.584")) == 2
    assert floor_power(Fraction(0)) == 1
