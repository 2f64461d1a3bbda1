"""A relation is the same whether its pairs are listed, streamed through the kernel or spilled."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import fields
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from hartley import OptionError, Relation, worst_attribute
from hartley.ranges import counting as origin, overlap_partition
from hartley.ranges.counting import Summary
from hartley.tables import counts as counting

ROWS = 240
POOLS = {
    "integer": [-5, -1, 0, 3, None],
    "wide": [-(10**12), 7, 10**15, None],
    "real": [0.0, -0.0, 1.5, -2.25, 1e300, math.inf, math.nan, None],
    "tenths": [0.1, 0.2, 0.3, 0.1 + 0.2, -0.3, 0.7, 0.9999999999999999, math.nan],
    "text": ["", "a", "A", "ä", "日本", None],
    "flag": [True, False, None],
    "day": [dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2024, 2, 29), None],
    "money": [Decimal("-0.10"), Decimal("0.00"), Decimal("2.50"), None],
    "code": [b"", b"\x00", b"\xff", None],
}
KINDS = {name: ({}, name) for name in POOLS} | {
    "binned integer": ({"integer": 2}, "integer"),
    "binned wide": ({"wide": 10**6}, "wide"),
    "binned real": ({"tenths": 0.1}, "tenths"),
    "binned money": ({"money": "2.5"}, "money"),
}


def draw_column(name: str, pool: list[object], *, holes: bool) -> list[object]:
    random = np.random.default_rng(sum(name.encode()))
    values = [value for value in pool if holes or not pd.isna(value)]
    return [values[at] for at in random.integers(len(values), size=ROWS)]


FULL = {name: draw_column(name, pool, holes=False) for name, pool in POOLS.items()}
HOLES = {name: draw_column(name, pool, holes=True) for name, pool in POOLS.items()}


@pytest.fixture(params=["kernel", "spill"])
def route(request, monkeypatch):
    """Make even small tables take the route of large ones; return the limit that forces it."""
    monkeypatch.setattr(origin, "TALLY_FROM", 0)
    monkeypatch.setattr(counting, "BATCH", 50)  # several batches
    return 1 if request.param == "spill" else None


def assert_route(relation: Relation, limit: int | None) -> None:
    relation.compute()
    if limit is None:
        assert relation.note is None
    else:
        assert "spilled to disk" in relation.note


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["released", "drop", "value"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_column_is_counted_as_in_plain_python(
    kind, missing, route, oracle, assert_is
):
    bins, name = KINDS[kind]
    for sides in (["integer", "flag"], [name]), ([name], ["text", "day"]):
        if name in sides[0] and name in sides[1]:
            continue
        relation = Relation.from_table(
            HOLES,
            secret=sides[0],
            released=sides[1],
            bins=bins,
            missing=missing,
            memory_limit=route,
        )
        assert_route(relation, route)
        assert_is(relation, oracle(HOLES, *sides, bins, missing))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_summaries_of_all_routes_are_equal(kind, route, monkeypatch):
    bins, name = KINDS[kind]
    options = {"secret": "money", "released": [name], "bins": bins, "missing": "value"}
    streamed = Relation.from_table(HOLES, **options, memory_limit=route)
    assert_route(streamed, route)
    found = streamed.summary
    monkeypatch.setattr(origin, "TALLY_FROM", ROWS)
    listed = Relation.from_table(HOLES, **options).summary
    for field in fields(Summary):
        one, other = getattr(found, field.name), getattr(listed, field.name)
        np.testing.assert_allclose(one, other, rtol=1e-12 if isinstance(one, float) else 0)


SIDES = [
    (["integer"], ["text"], {}),
    (["tenths", "flag"], ["integer", "money"], {"tenths": 0.1, "money": 1}),
    (["real"], ["real", "day"], {}),
    (["tenths"], ["tenths"], {"tenths": 0.5}),
]


@pytest.mark.slow
@pytest.mark.parametrize("sides", SIDES, ids=str)
def test_conditional_ranges_and_classes_are_those_of_plain_python(sides, route, oracle):
    secret, released, bins = sides
    relation = Relation.from_table(
        HOLES, secret=secret, released=released, bins=bins, missing="value", memory_limit=route
    )
    assert_route(relation, route)
    plain = oracle(HOLES, secret, released, bins, "value")
    for value, left in plain.conditional().items():
        assert relation.conditional_range(released=value) == left
    for value, left in list(plain.swap().conditional().items())[:3]:  # each counts anew
        assert relation.conditional_range(secret=value) == left
    partition = overlap_partition(relation)
    assert partition.classes() == plain.classes()
    for number, (secrets, shown) in enumerate(plain.classes()):
        assert {partition.secret_class(value) for value in secrets} == {number}
        assert {partition.released_class(value) for value in shown} == {number}


@pytest.mark.slow
@pytest.mark.parametrize("sides", SIDES, ids=str)
def test_swapped_and_joint_relations_are_those_of_plain_python(
    sides, route, oracle, assert_is, pairs_of
):
    secret, released, bins = sides
    relation = Relation.from_table(
        FULL, secret=secret, released=released, bins=bins, memory_limit=route
    )
    plain = oracle(FULL, secret, released, bins)
    swapped = relation.swap()
    assert_route(swapped, route)
    assert_is(swapped, plain.swap())
    assert_is(swapped.swap(), plain)
    joint = {((x, y), y): times for (x, y), times in plain.counts.items()}
    assert pairs_of(relation.joint()) == joint
    assert relation.joint().summary.secrets == len(plain.counts)


def test_the_worst_attribute_does_not_depend_on_the_route(route, oracle):
    relation = Relation.from_table(FULL, secret="real", released="tenths", memory_limit=route)
    worst = worst_attribute(relation)
    left = oracle(FULL, ["real"], ["tenths"]).conditional()
    assert worst.merged == left[worst.released]
    assert worst.merged_count == min(map(len, left.values()))


cell = st.one_of(st.none(), st.integers(-3, 3))


@pytest.mark.slow
@settings(
    max_examples=15,  # each opens two engines
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # the route is the same for all
)
@given(st.lists(st.tuples(cell, cell, cell), min_size=1, max_size=30))
def test_any_table_of_integers_is_counted_as_in_plain_python(route, oracle, assert_is, rows):
    rows = [(0, 0, 0), *rows]  # a column of nothing is refused
    columns = dict(zip("abc", map(list, zip(*rows, strict=True)), strict=True))
    for missing in ("released", "drop", "value"):
        relation = Relation.from_table(
            columns, secret="a", released=["b", "c"], missing=missing, memory_limit=route
        )
        assert_is(relation, oracle(columns, ["a"], ["b", "c"], {}, missing))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([2**64 - 1, 2**64 - 2, 5], pa.uint64()),
        pa.array([2**63 - 1, -(2**63), 0], pa.int64()),
        pa.array([127, -128, None], pa.int8()),
        pa.array([0.5, None, -0.0], pa.float32()),
        pa.array([dt.datetime(2020, 1, 1), None, dt.datetime(2021, 1, 1)]),  # noqa: DTZ001 - no zone is meant
        pa.array(["x", "y", None]).dictionary_encode(),
        pa.array(["x", "y", None], pa.large_string()),
    ],
    ids=lambda column: str(column.type).split("<")[0],
)
def test_types_of_every_width_keep_their_values(column, route, monkeypatch):
    table = pa.table({"row": [1, 2, 3], "column": column})
    options = {"secret": "row", "released": "column", "missing": "value"}
    streamed = Relation.from_table(table, **options, memory_limit=route)
    assert_route(streamed, route)
    found = streamed.released_range
    pairs = [streamed.conditional_range(released=value) for value in found]
    monkeypatch.setattr(origin, "TALLY_FROM", ROWS)
    listed = Relation.from_table(table, **options)
    assert found == listed.released_range
    assert pairs == [listed.conditional_range(released=value) for value in found]
    assert pd.Series(found, dtype=object).isna().sum() == column.null_count


def test_too_many_pairs_are_summarised_but_not_listed(route, monkeypatch):
    monkeypatch.setattr(origin, "LARGEST_LIST", 10)
    relation = Relation.from_table(FULL, secret="integer", released="real", memory_limit=route)
    assert relation.summary.pairs > 10
    with pytest.raises(OptionError, match=r"integer and real has \d+ distinct pairs.*; hint: "):
        relation.pairs()
