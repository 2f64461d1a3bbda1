"""Every engine gives the same relation: the oracle's, number by number."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from hartley import ROW, Relation, worst_attribute
from hartley.ranges import overlap_partition

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa


@dataclass(frozen=True)
class Spec:
    """A relation to be built on an engine; a secret of None stands for ROW."""

    secret: tuple[str, ...] | None
    released: tuple[str, ...]
    bins: dict[str, Any] = field(default_factory=dict)
    table: str = "holes"
    missing: str = "released"

    def __str__(self) -> str:
        sides = ("+".join(self.secret or ("ROW",)), "+".join(self.released))
        bins = "".join(f",{name}/{step}" for name, step in self.bins.items())
        return f"{'-'.join(sides)}{bins}:{self.table}:{self.missing}".replace(" ", "_")


def spec(secret: str | None, released: str, **options: Any) -> Spec:
    hidden = None if secret is None else tuple(secret.split("|"))
    return Spec(hidden, tuple(released.split("|")), **options)


CHOSEN = [
    spec("count", "text", table="full"),
    spec("wide|flag", "small|day", table="few"),
    spec("real", "flag", table="full"),
    spec("real", "real", missing="value"),
    spec("wide|text", "small|day", missing="drop"),
    spec("select", "Blood pressure", bins={"Blood pressure": 10}),
    spec("day|moment", "money", missing="value"),
    spec("count", "tenths", bins={"tenths": 0.1}, table="full"),
    spec("tenths", "tenths", bins={"tenths": "0.1"}),
    spec("tenths", "weight", bins={"tenths": 0.3, "weight": 2.5}, missing="value"),
    spec("weight", "count|small", bins={"weight": "5/3", "small": 7, "count": 2}, missing="value"),
    spec("money", "count", bins={"money": "0.1"}),
    spec(None, "text"),
    spec(None, "tenths|flag", bins={"tenths": 0.1}, missing="value"),
    spec(None, "real|day", table="few", missing="value"),
]
"""One relation for every kind of column and every option."""


def drawn(seed: int) -> Spec:
    """Return a relation drawn at random among all columns and options."""
    random = np.random.default_rng(seed)
    names = random.permutation(
        ["count", "wide", "small", "real", "tenths", "weight", "text", "flag", "day", "money"]
    ).tolist()
    split, total = int(random.integers(1, 3)), int(random.integers(3, 5))
    steps = {"count": 3, "small": 0.5, "tenths": 0.1, "weight": 2.5, "money": "0.25"}
    bins = {name: steps[name] for name in names[:total] if name in steps and random.random() < 0.7}
    treatments = ["released", "drop", "value"]
    table, missing = random.choice(list(product(["full", "holes", "few"], treatments)))
    return Spec(
        tuple(names[:split]), tuple(names[split:total]), bins, str(table), missing=str(missing)
    )


SPECS = [*CHOSEN, *map(drawn, (1, 2, 3, 5, 8, 13))]


@pytest.fixture(scope="session")
def build(tables) -> Callable[..., Relation]:
    """Build the relation of a spec on an engine, once: build(engine, spec)."""
    built: dict[tuple[str, str], Relation] = {}

    def relation(engine: Any, wanted: Spec) -> Relation:
        key = engine.name, str(wanted)
        if key not in built:
            built[key] = Relation.from_table(
                engine.load(wanted.table, tables[wanted.table]),
                secret=ROW if wanted.secret is None else list(wanted.secret),
                released=list(wanted.released),
                bins=wanted.bins,
                missing=wanted.missing,
            )
        return built[key]

    return relation


@pytest.fixture(scope="session")
def expected(tables, oracle) -> Callable[[Spec], Any]:
    """Count the relation of a spec in plain Python."""

    def count(wanted: Spec) -> Any:
        columns = plain_columns(tables[wanted.table])
        secret = None if wanted.secret is None else list(wanted.secret)
        return oracle(columns, secret, list(wanted.released), wanted.bins, wanted.missing)

    return count


def plain_columns(table: pa.Table) -> dict[str, list[Any]]:
    return {name: table[name].to_pylist() for name in table.column_names}


def codes_of(relation: Relation) -> tuple[Any, ...]:
    pairs = relation.pairs()
    return pairs.secret, pairs.released, pairs.counts


each_spec = pytest.mark.parametrize("wanted", SPECS, ids=str)


@each_spec
def test_ranges_pairs_counts_and_measures_are_those_of_plain_python(
    engine, wanted, build, expected, assert_is
):
    assert_is(build(engine, wanted), expected(wanted))


@each_spec
def test_every_number_is_bit_for_bit_that_of_the_embedded_engine(
    engine, embedded, wanted, build, measures_of
):
    here, there = build(engine, wanted), build(embedded, wanted)
    assert measures_of(here) == measures_of(there)
    for one, other in zip(codes_of(here), codes_of(there), strict=True):
        np.testing.assert_array_equal(one, other)
    assert repr(here.secret_range) == repr(there.secret_range)
    assert repr(here.released_range) == repr(there.released_range)
    assert (here.view.rows, here.view.dropped) == (there.view.rows, there.view.dropped)


@each_spec
def test_conditional_ranges_are_those_of_plain_python(engine, wanted, build, expected):
    relation, plain = build(engine, wanted), expected(wanted)
    for released, secrets in plain.conditional().items():
        assert relation.conditional_range(released=released) == secrets
    first = plain.secret_range[0]
    assert relation.conditional_range(secret=first) == plain.swap().conditional()[first]


@each_spec
def test_classes_of_the_overlap_partition_are_those_of_plain_python(
    engine, wanted, build, expected
):
    classes = overlap_partition(build(engine, wanted)).classes()
    assert classes == expected(wanted).classes()


@pytest.mark.parametrize("wanted", [CHOSEN[0], CHOSEN[8], CHOSEN[11]], ids=str)
def test_swapping_exchanges_the_sides(engine, wanted, build, expected, assert_is):
    assert_is(build(engine, wanted).swap(), expected(wanted).swap())


@pytest.mark.parametrize("wanted", [CHOSEN[0], CHOSEN[8], CHOSEN[11]], ids=str)
def test_the_joint_relation_has_the_pairs_as_its_secrets(engine, wanted, build, expected, pairs_of):
    plain = expected(wanted)
    joint = build(engine, wanted).joint()
    assert pairs_of(joint) == {((x, y), y): times for (x, y), times in plain.counts.items()}


def test_the_worst_attribute_merges_what_the_most_telling_value_leaves(
    engine, embedded, build, expected
):
    wanted = CHOSEN[0]
    worst = worst_attribute(build(engine, wanted))
    left = expected(wanted).conditional()
    assert worst.merged == left[worst.released]
    assert worst.merged_count == min(map(len, left.values()))
    assert worst.released == worst_attribute(build(embedded, wanted)).released
