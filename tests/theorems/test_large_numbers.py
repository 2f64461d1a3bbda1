"""Whole numbers near and beyond 2^53 come out exactly, within the promised error, or not at all.

The oracle is Python's own integers and fractions.
"""

import csv
import itertools
import random
from decimal import Decimal
from fractions import Fraction

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hartley import Agent, Relation, microaggregate, release
from hartley.errors import HartleyError
from hartley.policies import CutColumn, KeptColumn, QuantizedColumn
from hartley.policies.document import PolicyDocument
from hartley.policies.optimal import optimal_quantizer
from hartley.policies.quantizer import UniformQuantizer


def listed_cuts(values, error):
    """Return cells that are designed for listed values."""
    return CutColumn.cut("x", optimal_quantizer(None, list(values), error))


NEAR = [2**53, 2**60, 2**63 - 2**12]
TYPES = [pa.int64(), pa.uint64(), pa.float64(), pa.decimal128(30, 0), pa.decimal128(38, 4)]


def column_of(numbers, dtype):
    """Return a column of a type, and the numbers that it holds exactly."""
    if pa.types.is_floating(dtype):
        held = [float(number) for number in numbers]
        return pa.array(held, dtype), [Fraction(value) for value in held]
    if pa.types.is_decimal(dtype):
        held = [Decimal(number) for number in numbers]
        return pa.array(held, dtype), [Fraction(value) for value in held]
    return pa.array(numbers, dtype), [Fraction(number) for number in numbers]


def released(column, policy, path):
    """Release a column and read it as exact numbers."""
    release(pa.table({"x": column}), policy, path, few=None, strict=True)
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            texts = [row[0] for row in list(csv.reader(file))[1:]]
        is_text = policy.columns[0].range is None and not pa.types.is_floating(column.type)
        return [Fraction(text if is_text else float(text)) for text in texts]
    return [Fraction(value) for value in pq.read_table(path)["x"].to_pylist()]


def policies(rng, low, high):
    """Yield ways to release numbers of a range, each made when it is called."""
    levels = rng.choice([1, 3, 8, 16, 50])
    edges = sorted({low, high, *(rng.randint(low, high) for _ in range(3))})
    middles = [Fraction(a + b, 2) for a, b in itertools.pairwise(edges)]
    yield lambda: KeptColumn("x")
    yield lambda: KeptColumn("x", Fraction(low), Fraction(high))
    yield lambda: KeptColumn.read("x", low=low, high=high, step=1)
    yield lambda: QuantizedColumn("x", UniformQuantizer(low, high, levels))
    yield lambda: CutColumn("x", tuple(map(Fraction, edges)), tuple(middles))


def judge(rng, folder):
    """Release numbers near a power of two in several ways; return how many were not refused."""
    middle, length = rng.choice(NEAR), rng.choice([8, 1000, 1024, 2**13])
    low = middle - rng.choice([0, length // 2, length])
    numbers = sorted({low, *(rng.randint(low, low + length) for _ in range(20))})
    dtype = rng.choice(TYPES[1:] if low + length >= 2**63 else TYPES)
    column, held = column_of(numbers, dtype)
    inside = [i for i, value in enumerate(held) if low <= value <= low + length]
    column, held = column.take(pa.array(inside)), [held[i] for i in inside]
    accepted = 0
    for make in policies(rng, low, low + length):
        path = folder / rng.choice(["out.csv", "out.parquet"])
        try:
            policy = make()
            found = released(column, PolicyDocument((policy,)), path)
        except HartleyError:
            continue
        accepted += 1
        wrong = [abs(y - x) for x, y in zip(held, found, strict=True)]
        assert max(wrong) <= policy.error, (policy, column.type)
    return accepted


def tried(seed, folder, cases):
    rng = random.Random(seed)  # noqa: S311 - cases of a test
    return sum(judge(rng, folder) for _ in range(cases))


def test_what_is_released_of_large_numbers_is_within_its_error(tmp_path):
    accepted = tried(1, tmp_path, 12)
    assert 12 < accepted < 60  # a column without a range is always kept; others are refused too


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 30))
def test_what_is_released_of_many_large_numbers_is_within_its_error(tmp_path, seed):
    assert tried(seed, tmp_path, 50) > 50


BIG = 2**60


def test_large_numbers_that_would_come_out_as_one_are_refused_and_kept_exactly(tmp_path):
    table = {"id": [BIG + 1, BIG + 25]}
    ranged = PolicyDocument((KeptColumn("id", Fraction(BIG), Fraction(BIG + 1024)),))
    with pytest.raises(HartleyError, match="holds whole numbers or decimals, which a release"):
        release(table, ranged, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
    release(table, PolicyDocument((KeptColumn("id"),)), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().split() == ['"id"', str(BIG + 1), str(BIG + 25)]
    with pytest.raises(HartleyError, match="beyond 2\\^48 and would be rounded"):
        PolicyDocument((QuantizedColumn("id", UniformQuantizer(BIG, BIG + 1000, 8)),))
    mean = QuantizedColumn("m", UniformQuantizer(BIG, BIG + 2**20, 2), of="mean(id)")
    design = {"people": 2, "columns": {"id": [str(BIG), str(BIG + 2**20)]}}
    with pytest.raises(HartleyError, match="holds whole numbers or decimals, which a release"):
        release(table, PolicyDocument((mean,), design=design), tmp_path / "mean.csv")


def test_long_decimals_are_not_kept_within_a_range_that_rounds_them(tmp_path):
    values = [Decimal("100000000000000.001"), Decimal("100000000000000.002")]
    table = pa.table({"x": pa.array(values, pa.decimal128(20, 3))})
    ranged = PolicyDocument((KeptColumn("x", Fraction(0), Fraction(10**15)),))
    with pytest.raises(HartleyError, match="holds whole numbers or decimals"):
        release(table, ranged, tmp_path / "out.csv")
    release(table, PolicyDocument((KeptColumn("x"),)), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().split()[1:] == list(map(str, values))
    few = PolicyDocument((KeptColumn("x", Fraction(0), Fraction(10**12)),))
    small = pa.table({"x": pa.array([Decimal("1.001")], pa.decimal128(20, 3))})
    assert release(small, few, tmp_path / "few.csv", few=None).columns[0].error == 0


def test_large_numbers_are_neither_grouped_nor_counted_as_one():
    table = {"id": [BIG + i for i in range(12)], "s": [i % 3 for i in range(12)]}
    with pytest.raises(HartleyError, match="whole numbers beyond 2\\^53, which would be rounded"):
        microaggregate(table, 3, ["id"], keep=["s"])
    assert len(Relation.from_table(table, secret="id", released="s").secret_range) == 12


@pytest.mark.parametrize("dtype", [pa.int64(), pa.decimal128(38, 2), pa.float64()])
def test_an_agent_does_not_snap_large_numbers_to_a_wrong_step(tmp_path, dtype):
    numbers = [BIG + 412, BIG + 511, BIG + 512, BIG + 1424]
    column, held = column_of(numbers, dtype)
    counted = {"kind": "private", "range": [str(BIG), str(BIG + 8192)], "step": "1024"}
    schema = {"table": {"name": "t"}, "columns": {"x": counted}}
    options = {"budget": 9, "ledger": tmp_path / "ledger.db"}
    if not pa.types.is_floating(dtype):
        with pytest.raises(HartleyError, match=r"x' of .* holds whole numbers or decimals, which"):
            Agent(pa.table({"x": column}), schema, **options)
        return
    with Agent(pa.table({"x": column}), schema, **options) as agent:
        answer = agent.ask(f"SELECT COUNT(*) FROM t WHERE x >= {BIG + 1024}", error=0)  # noqa: S608 - a number
    assert answer.value == sum(value >= BIG + 512 for value in held)


def test_values_off_the_step_of_a_kept_column_are_counted_said_and_refused_if_strict(tmp_path):
    values = [i / 10 for i in range(1001)]
    policy = PolicyDocument((KeptColumn.read("x", 0, 100, "25"),))
    report = release({"x": values}, policy, tmp_path / "out.csv", few=None)
    off = sum(value % 25 != 0 for value in values)
    assert report.columns[0].between == off == 996
    assert report.sentences[:2] == (
        "x is released as it is where it lies on its declared step or list.",
        "996 values of x are off the declared step or list and were released as if on it.",
    )
    with pytest.raises(HartleyError, match="996 values of column 'x' are off the declared step"):
        release({"x": values}, policy, tmp_path / "strict.csv", strict=True)
    tenths = PolicyDocument((KeptColumn.read("x", 0, 100, "0.1"),))
    assert release({"x": values}, tenths, tmp_path / "out.csv", strict=True).columns[0].between == 0
    unfit = {"x": [None, -20.0, 120.0, 50.0, 50.5]}
    counts = release(unfit, policy, tmp_path / "out.csv", few=None).columns[0]
    assert (counts.missing, counts.below, counts.above, counts.between) == (1, 1, 1, 1)


CELLS_OF_LISTS = {
    "exact cells": (QuantizedColumn("x", UniformQuantizer(0, 6, 9), step=Fraction(1)), range(7)),
    "a few": (listed_cuts([0, 1, 4, 5, 6, 7], "1.5"), [(0, 1), (4, 7)]),
    "exactly": (listed_cuts([0, 1, 4, 7], "0.1"), [0, 1, 4, 7]),
    "many": (listed_cuts(range(0, 30, 3), 1), range(0, 30, 3)),
}


@pytest.mark.parametrize("kind", CELLS_OF_LISTS)
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_values_between_those_that_cells_were_designed_for_are_counted(tmp_path, kind, engine):
    column, listed = CELLS_OF_LISTS[kind]
    spans = [(span, span) if isinstance(span, int) else span for span in listed]
    low, high = column.range
    numbers = [Fraction(k, 4) for k in range(int(low) * 4, int(high) * 4 + 1)]
    off = sum(not any(a <= x <= b for a, b in spans) for x in numbers)
    values = [*map(float, numbers), None, float(low) - 1, float(high) + 1]
    data = {"x": values} if engine == "duckdb" else pl.LazyFrame({"x": values})
    report = release(data, PolicyDocument((column,)), tmp_path / "out.csv", few=None)
    counts = report.columns[0]
    assert (counts.missing, counts.below, counts.above, counts.between) == (1, 1, 1, off)
    on = [float(x) for x in numbers if any(a <= x <= b for a, b in spans)]
    policy = PolicyDocument((column,))
    release({"x": on}, policy, tmp_path / "out.csv", few=None, strict=True)
    if off:
        with pytest.raises(HartleyError, match="off the declared step or list; hint: declare"):
            release({"x": values[:-3]}, policy, tmp_path / "strict.csv", strict=True)
