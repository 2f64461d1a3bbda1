"""Hierarchies of values, and the rules that build them."""

import datetime as dt
import itertools
from collections import Counter

import numpy as np
import pytest

from hartley import (
    ColumnError,
    HartleyError,
    OptionError,
    anonymity,
    anonymize,
    microaggregate,
    open_table,
)
from hartley.attacks import Similarity
from hartley.policies import read_hierarchy
from hartley.policies.hierarchy import key_levels, mask_codes, merge_rare, nested_levels
from hartley.tables.reading import in_periods, period_name

TABLE = open_table({"job": ["SECRET-cook", "SECRET-nurse", None, "SECRET-smith"]})


@pytest.fixture
def read(tmp_path):
    """Read the lines of a hierarchy of the column of jobs, or of another column."""

    def read_lines(lines, column="job", table=TABLE):
        path = tmp_path / "groups.csv"
        path.write_text(lines, encoding="utf-8")
        return read_hierarchy(path, column, table)

    return read_lines


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("SECRET-a,x\nb,y\nSECRET-a,z\n", "lines 1 and 3 put one value into two"),
        ("SECRET-a,x,p\nb,x,q\n", "lines 1 and 2 put one group of level 1 into two groups of lev"),
        ("a,x,p\n\nb,y,p\nc,y,q\n", "lines 3 and 4 put one group of level 1 into two groups"),
        ("a,x,p,1\nb,y,p,1\nc,z,q,1\nd,y,p,2\n", "lines 1 and 4 put one group of level 2"),
        ("SECRET-a,SECRET-b\nSECRET-b,SECRET-a\n", "runs in a circle: lines 1 and 2 put"),
        ("a,b\nb,c\nc,a\n", "runs in a circle: lines 1, 2 and 3 put"),
        ("a,b,a\n", "runs in a circle: line 1 put"),
        ("a,x\nb\n", "gives line 2 no group, and line 1 1 group"),
        ("a,x,y\nb,x\n", "gives line 2 1 group, and line 1 2 groups"),
        ("a;x;y\n", "gives line 1 no group"),
        ("", "cannot be read or is empty"),
    ],
)
def test_lines_that_cannot_all_be_true_are_refused_by_their_numbers(read, lines, message):
    with pytest.raises((ColumnError, OptionError), match=message) as caught:
        read(lines)
    assert "SECRET" not in str(caught.value)
    assert "groups.csv" in str(caught.value)


def test_a_repeated_line_a_byte_order_mark_and_groups_named_like_values_are_no_mistake(read):
    found = read("\ufeffnurse,health,all\nnurse,health,all\nhealth,health,all\n,none,all\n")
    assert found == {"nurse": ("health", "all"), "health": ("health", "all"), None: ("none", "all")}


def test_one_value_that_is_written_in_two_ways_is_one_value(read):
    ages = open_table({"age": [1, 2]})
    with pytest.raises(ColumnError, match="lines 1 and 2 put one value"):
        read("1,young\n01,old\n", "age", ages)
    with pytest.raises(
        OptionError, match=r"Line 2 of the hierarchy .* does not begin with a value"
    ) as told:
        read("1,young\nSECRET,old\n", "age", ages)
    assert "SECRET" not in str(told.value)
    with pytest.raises(ColumnError, match="circle"):  # the number 1 and the group named 1
        read("1,2\n2,1\n", "age", ages)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"a": ["x", "p"], "b": ["x", "q"]}, "its entries 1 and 2 put one group of level 1"),
        ({"a": ["b"], "b": ["a"]}, "circle: its entries 1 and 2"),
        ({"a": ["x"], "b": ["x", "y"]}, "gives its entry 2 2 groups, and its entry 1 1 group"),
        ({"a": [], "b": []}, "gives its entry 1 no group"),
    ],
)
def test_a_mapping_is_held_to_the_same_even_for_values_that_do_not_occur(groups, message):
    with pytest.raises(ColumnError, match=message):
        nested_levels("job", ["a"], groups)


GROUPS = {"SECRET-cook": ["food"], "SECRET-nurse": ["care"], None: ["none"]}


@pytest.mark.parametrize(
    "use",
    [
        lambda table: anonymize(table, "job", 1, hierarchy={"job": GROUPS}),
        lambda table: anonymity(table, keys="key", confidential="job", hierarchy={"job": GROUPS}),
        lambda table: Similarity(["key"], hierarchy={"job": GROUPS}).attack(table),
    ],
)
def test_a_value_without_groups_is_named_by_its_row(use, tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("key,job\n1,SECRET-cook\n1,\n2,SECRET-smith\n2,SECRET-nurse\n")
    with pytest.raises(
        HartleyError, match=r"Row 3 of .*jobs.csv, column 'job', has a value.*lacks;"
    ) as caught:
        use(path)
    assert "SECRET" not in str(caught.value)


def test_a_missing_key_needs_groups_too():
    present = {value: groups for value, groups in GROUPS.items() if value is not None}
    present["SECRET-smith"] = ["craft"]
    with pytest.raises(ColumnError, match="Row 3 of the dict, column 'job'"):
        anonymize(TABLE, "job", 1, hierarchy={"job": present})


# --- hierarchies by rule, and releases that use them ----------------------------------------------


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
