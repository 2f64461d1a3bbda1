"""Every engine finds the same exact totals, and releases the same answer."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pyarrow.compute as pc
import pytest

from hartley import PolicyDocument, UniformQuantizer, open_table, release
from hartley.errors import ColumnError
from hartley.policies import QuantizedColumn
from hartley.tables.counts import TotalsGrid, exact_totals

RANGES = {
    "real": (Fraction("-1.3"), Fraction(2)),
    "tenths": (Fraction(-1, 3), Fraction("0.7")),
    "weight": (Fraction(-8), Fraction(10**15)),
    "wide": (Fraction(-(10**12)), Fraction(9 * 10**15)),
    "small": (Fraction(-300), Fraction(299)),
    "money": (Fraction(0), Fraction("123.4")),
}


def exact_total(values: list[Any], low: Fraction, high: Fraction) -> tuple[int, Fraction]:
    """Add numbers up, each the double nearest to it, clamped and cut off to the grid."""
    step = TotalsGrid.within(low, high).step
    first, last = math.ceil(low / step), math.floor(high / step)
    steps = []
    for value in values:
        number = None if value is None else float(value)
        if number is None or math.isnan(number):
            continue
        if math.isinf(number):
            steps.append(last if number > 0 else first)
            continue
        steps.append(min(max(math.floor(Fraction(number) / step), first), last))
    return len(steps), sum(steps) * step


@pytest.mark.parametrize("table", ["holes", "full"])
def test_totals_are_those_of_exact_arithmetic(engine, tables, table):
    held = open_table(engine.load(f"totals_{table}", tables[table]))
    rows, found = exact_totals(held, RANGES)
    assert rows == tables[table].num_rows
    for name, (low, high) in RANGES.items():
        values = tables[table][name].to_pylist()
        assert (found[name].present, found[name].total) == exact_total(values, low, high)
        numbers = [float(v) for v in values if v is not None and not math.isnan(v)]
        counts = found[name].counts
        assert counts.missing == len(values) - len(numbers)
        assert counts.below == sum(number < float(low) for number in numbers)
        assert counts.above == sum(number > float(high) for number in numbers)


def test_one_answer_is_released_alike_and_byte_for_byte(engine, embedded, tables, tmp_path):
    cells = UniformQuantizer(Fraction(-1, 3), Fraction("0.7"), 31)
    policy = PolicyDocument(
        (
            QuantizedColumn("answer", cells, of="mean(tenths)"),
            QuantizedColumn("money", UniformQuantizer(0, 37020, 100), of="total(money)"),
        ),
        design={"people": 300, "columns": {"tenths": ["-1/3", "0.7"], "money": ["0", "123.4"]}},
    )
    whole = tables["full"].filter(pc.is_finite(tables["full"]["tenths"]))
    present, total = exact_total(whole["tenths"].to_pylist(), Fraction(-1, 3), Fraction("0.7"))
    assert present == whole.num_rows < 300
    for number, one in enumerate((engine, embedded)):
        with pytest.raises(ColumnError, match=r"5 values of 'mean\(tenths\)' are missing"):
            release(one.load("totals_full", tables["full"]), policy, tmp_path / f"{number}.csv")
        held = one.load("totals_whole", whole)
        with pytest.raises(ColumnError, match="over 300 people"):
            release(held, policy, tmp_path / f"{number}.csv")
        fewer = dict(policy.design) | {"people": present}
        mean = PolicyDocument(policy.columns[:1], design=fewer)
        release(held, mean, tmp_path / f"{number}.csv")
    assert (tmp_path / "0.csv").read_bytes() == (tmp_path / "1.csv").read_bytes()
    names, numbers = (tmp_path / "0.csv").read_text().splitlines()
    value, low, high = map(float, numbers.split(","))
    assert names == '"answer","answer_low","answer_high"'
    assert Fraction(low) <= total / present <= Fraction(high)
    assert high - low < 0.04
    assert value == float(cells.middle(cells.cell(total / present)))
