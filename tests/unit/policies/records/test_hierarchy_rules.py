"""Hierarchies by rule, and releases that use them."""

import datetime as dt
import itertools
from collections import Counter

import numpy as np
import pytest

from hartley import anonymize, microaggregate
from hartley.errors import ColumnError, OptionError
from hartley.policies.hierarchy import key_levels, mask_codes, merge_rare, nested_levels
from hartley.tables.opening import open_table
from hartley.tables.reading import in_periods, period_name


def people(rows=300, seed=4):
    rng = np.random.default_rng(seed)
    first = dt.date(1950, 1, 1)
    return {
        "person": [f"P{i}" for i in range(rows)],
        "birth": [first + dt.timedelta(int(d)) for d in rng.integers(0, 9000, rows)],
        "zip": [f"{z:05d}" for z in rng.integers(1000, 1200, rows)],
        "job": rng.choice(
            ["nurse", "cook", "judge", "smith"], rows, p=[0.6, 0.3, 0.07, 0.03]
        ).tolist(),
        "age": rng.integers(18, 80, rows).tolist(),
        "ill": rng.choice(["flu", "hiv"], rows).tolist(),
    }


ROLES = {
    "confirmed": True,
    "columns": {
        "person": {"role": "identifier"},
        "birth": {"role": "key", "levels": ["month", "quarter", "year", "decade"]},
        "zip": {"role": "key", "mask": 2},
        "job": {"role": "key", "rare": [20, 100]},
        "age": {"role": "key", "levels": [5, 10, 20]},
        "ill": {"role": "confidential"},
    },
}


@pytest.mark.slow
def test_a_release_by_rules_is_anonymous_and_has_no_identifier():
    release = anonymize(people(), k=4, roles=ROLES, suppress="0.1")
    rows = release.table.to_pylist()
    assert release.table.column_names == ["birth", "zip", "job", "age", "ill"]
    times = Counter((row["birth"], row["zip"], row["job"], row["age"]) for row in rows)
    assert min(times.values()) >= 4
    assert len(rows) >= 270


def test_an_identifier_is_refused_and_a_draft_too():
    with pytest.raises(OptionError, match="'person' is an identifier and is never released"):
        anonymize(people(), k=4, roles=ROLES, keep="person")
    with pytest.raises(OptionError, match="draft"):
        anonymize(people(), k=4, roles=ROLES | {"confirmed": False})
    with pytest.raises(OptionError, match="No key column is named"):
        anonymize(people(), k=4)
    with pytest.raises(OptionError, match="k is not a whole number"):
        anonymize(people(), "age")


def test_averages_by_roles_are_of_the_keys_that_hold_numbers():
    averages = microaggregate(people(), 5, roles=ROLES)
    assert averages.released.column_names == ["age", "ill"]


def test_masks_nest_and_hide_everything_at_last():
    codes = ["1010", "1020", "99", None]
    masked = mask_codes(codes, 2)
    assert masked["1010"] == ("10**", "1***", "****")
    assert masked["99"] == ("  **", " ***", "****")
    assert masked[None] == (None, None, None)
    assert nested_levels("zip", codes, masked)[-1].labels == ("****", None)
    assert mask_codes([7], 9) == {7: ("*",)}


def test_rare_values_are_merged_level_by_level():
    groups = merge_rare({"a": 100, "b": 9, "c": 3, None: 1, "other": 50}, [5, 10])
    assert groups["a"] == ("a", "a")
    assert groups["b"] == ("b", "(other)")
    assert groups["c"] == ("(other)", "(other)")
    assert groups["other"] == ("other", "other")
    assert groups[None] == (None, None)
    nested_levels("job", list(groups), groups)  # which refuses what does not nest


DAYS = [dt.date(1, 1, 1), dt.date(1999, 12, 31), dt.date(2000, 1, 1), dt.date(2024, 2, 29), None]


@pytest.mark.parametrize("period", ["day", "week", "month", "quarter", "year", "decade"])
def test_the_engine_names_periods_as_python_does(period):
    days = DAYS[1:]
    table = in_periods(open_table({"day": days}), {"day": period})
    named = [None if day is None else period_name(day, period) for day in days]
    assert table.expression.day.to_pyarrow().to_pylist() == named


def test_levels_of_dates_nest():
    levels = key_levels("birth", DAYS, ["month", "quarter", "year", "decade"])
    assert len(levels) == 6
    for narrow, wide in itertools.pairwise(levels):
        pairs = set(zip(narrow.groups.tolist(), wide.groups.tolist(), strict=True))
        assert len(pairs) == len(set(narrow.groups.tolist()))
    assert levels[3].labels == ("0001", "1999", "2000", "2024", None)
    with pytest.raises(ColumnError, match="does not hold dates and cannot be put into months"):
        key_levels("age", [1, 2], ["month"])
    with pytest.raises(OptionError, match="periods that do not nest"):
        key_levels("birth", DAYS, ["year", "month"])


def test_texts_are_no_dates():
    with pytest.raises(ColumnError, match=r"holds text values, not dates.*--dates day-first"):
        in_periods(open_table({"day": ["31.12.1999"]}), {"day": "month"})
