import _thread
import json
import threading
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings, strategies as st

from hartley.errors import ColumnError, InputError, OptionError, TableError
from hartley.studies.release.microaggregation import (
    mdav,
    mu_approx,
    read_records,
    released_groups,
    univariate_microaggregation,
)
from hartley.tables.opening import open_table

METHODS = [
    mdav,
    mu_approx,
    lambda table, k, **options: univariate_microaggregation(table, k, "a", **options),
]
NUMBERS = st.lists(
    st.tuples(st.integers(-50, 50), st.floats(-1e3, 1e3).map(lambda x: round(x, 3))),
    min_size=4,
    max_size=40,
).filter(lambda rows: all(len(set(column)) > 1 for column in zip(*rows, strict=True)))


def table_of(rows):
    return {"a": [row[0] for row in rows], "b": [row[1] for row in rows]}


@pytest.mark.usefixtures("default_interruption")
def test_an_interruption_is_heard_while_groups_are_formed():
    ended = threading.Event()

    def endless(points, _):
        _thread.interrupt_main()
        ended.wait(60)
        return np.zeros(len(points), np.int32)

    records = read_records({"a": [1, 2, 3]}, 2, None, ())
    with pytest.raises(KeyboardInterrupt):
        released_groups("endless", records, 2, endless, standardise=True)
    ended.set()


def test_a_grouping_that_fails_says_so():
    records = read_records({"a": [1, 2, 3]}, 2, None, ())
    with pytest.raises(ZeroDivisionError):
        released_groups("broken", records, 2, lambda _, k: 1 // (k - 2), standardise=True)


@pytest.mark.slow
def test_columns_are_kept_as_they_are_written(tmp_path):
    ids = ["12345678901234567890", "12345678901234567891", "007", "07"]
    path = tmp_path / "ids.csv"
    path.write_text("\n".join(["id,a", *(f"{one},{i}" for i, one in enumerate(ids))]))
    assert mdav(path, 2, "a", keep="id").released["id"].to_pylist() == ids


@pytest.mark.slow
@settings(max_examples=25)  # each opens tables, which takes most of the time
@given(NUMBERS, st.integers(2, 4), st.sampled_from(METHODS))
def test_a_release_holds_the_averages_of_groups_of_k_to_twice_k_less_one(rows, k, method):
    table = table_of(rows)
    averages = method(table, k)
    assert k <= averages.sizes.min() <= averages.sizes.max() < 2 * k
    assert averages.sizes.sum() == averages.rows == len(rows)
    first = [int(np.flatnonzero(averages.groups == g)[0]) for g in range(averages.sizes.size)]
    assert first == sorted(first)
    for name in averages.columns:
        column = np.array(table[name], float)
        means = [column[averages.groups == g].mean() for g in averages.groups]
        assert averages.released[name].to_pylist() == pytest.approx(means, rel=1e-12, abs=1e-9)
    shared = Counter(map(tuple, averages.released.to_pandas().to_numpy().tolist()))
    assert min(shared.values()) >= averages.sizes.min() >= k
    assert averages.leakage >= np.log2(len(rows) / min(shared.values())) - 1e-12


@pytest.mark.slow
@settings(max_examples=25)  # each opens tables, which takes most of the time
@given(NUMBERS, st.integers(2, 4), st.sampled_from(METHODS), st.booleans())
def test_the_loss_is_the_share_of_the_variation_within_groups(rows, k, method, standardise):
    options = {} if method is METHODS[2] else {"standardise": standardise}
    table = table_of(rows)
    averages = method(table, k, **options)
    within = whole = 0.0
    for name in averages.columns:
        column = np.array(table[name], float)
        if averages.standardised:
            column = (column - column.mean()) / column.std()
        whole += ((column - column.mean()) ** 2).sum()
        for g in range(averages.sizes.size):
            block = column[averages.groups == g]
            within += ((block - block.mean()) ** 2).sum()
    assert averages.information_loss == pytest.approx(within / whole, rel=1e-9, abs=1e-12)
    assert 0 <= averages.information_loss <= 1 + 1e-12


@pytest.mark.slow
@settings(max_examples=15)  # each opens tables, which takes most of the time
@given(NUMBERS, st.integers(2, 4), st.sampled_from(METHODS[:2]))
def test_what_a_column_loses_is_measured_by_itself(rows, k, method):
    table = table_of(rows)
    averages = method(table, k, standardise=False)
    for loss in averages.losses:
        column = np.array(table[loss.column], float)
        moved = np.abs(column - averages.released[loss.column].to_numpy())
        variance = ((column - column.mean()) ** 2).sum()
        assert loss.loss == pytest.approx((moved**2).sum() / variance, rel=1e-6, abs=1e-9)
        assert loss.largest_move == pytest.approx(moved.max())
        sure = (moved < 0.0499 * column.std()).sum()
        assert sure <= loss.near <= (moved < 0.0501 * column.std() + 1e-9).sum()
    assert averages.to_dict()["losses"][0]["column"] == "a"


@pytest.mark.slow
@settings(max_examples=25)  # each opens tables, which takes most of the time
@given(NUMBERS, st.integers(2, 4), st.sampled_from(METHODS))
def test_no_method_for_one_column_loses_less_than_the_univariate_optimum(rows, k, method):
    table = {"a": [row[0] for row in rows]}
    best = univariate_microaggregation(table, k)
    assert best.sse <= method(table, k).sse + 1e-9


def test_units_do_not_count_in_standardised_columns_and_do_in_others():
    random = np.random.default_rng(3)
    a, b = random.normal(size=(2, 60))
    metres, feet = {"a": a, "b": b}, {"a": a * 1024, "b": b}
    assert (mdav(metres, 4).groups == mdav(feet, 4).groups).all()
    raw = [mdav(table, 4, standardise=False) for table in (metres, feet)]
    assert (raw[0].groups != raw[1].groups).any()


def test_equal_records_are_released_as_they_are_and_counted():
    averages = mdav({"a": [0.1] * 3 + [7.7] * 3}, 3)
    assert averages.released["a"].to_pylist() == [0.1] * 3 + [7.7] * 3
    assert (averages.unchanged, averages.sse) == (6, 0.0)
    assert "6 records are in groups of equal records" in " ".join(averages.sentences)


def test_only_named_columns_are_released_and_kept_ones_stay_beside_their_rows():
    table = {"a": [1, 2, 9, 8], "name": list("wxyz"), "who": [1, 2, 3, 4]}
    averages = mdav(table, 2, "a", keep="name")
    assert averages.released.to_pydict() == {"a": [1.5, 1.5, 8.5, 8.5], "name": list("wxyz")}
    assert "Released as they are, and no part of this promise: name." in averages.sentences
    assert mdav(table, 2, keep=["name", "who"]).columns == ("a",)


def test_the_numbers_are_told_in_sentences_and_in_plain_values():
    averages = mdav({"a": [1, 2, 9, 8, 7]}, 2)
    assert averages.headline == (
        "5 rows of the dict were made 2-anonymous over a, as averages. What it tells about "
        "confidential values was not asked: no column is confidential."
    )
    assert averages.sentences[0] == (
        "The averages of 2 groups of 2 to 3 lose 4.70 % of the variation."
    )
    assert "at least 2 of 5 records" in averages.sentences[2]
    content = json.loads(json.dumps(averages.to_dict()))
    assert content["group_sizes"] == {"2": 1, "3": 1}
    assert content["leakage_bound"] == pytest.approx(np.log2(5 / 2))


def test_decimals_small_integers_and_single_floats_are_numbers():
    from decimal import Decimal

    columns = {
        "d": pa.array([Decimal("1.5"), Decimal("2.5"), Decimal("9.0")]),
        "i": pa.array([1, 2, 9], pa.int8()),
        "f": pa.array([1, 2, 9], pa.float32()),
    }
    averages = mdav(pa.table(columns), 2)
    assert averages.released["d"].to_pylist() == pytest.approx([13 / 3] * 3)


TEXT = {"a": [1, 2, 3], "t": ["u", "v", "w"]}
BAD = {
    "categories": (TEXT, 2, {}, ColumnError, "Column 't' of the dict holds text"),
    "booleans": ({"a": [True, False]}, 2, {}, ColumnError, "yes and no"),
    "missing": ({"a": [1, None, 3]}, 2, {}, ColumnError, "Column 'a' of the dict has missing"),
    "not a number": ({"a": [1.0, float("nan"), 3.0]}, 2, {}, ColumnError, "missing values"),
    "empty column": ({"a": [None, None]}, 2, {}, ColumnError, "has missing values"),
    "infinite": ({"a": [1.0, float("inf")]}, 2, {}, ColumnError, "infinite or too large"),
    "huge": ({"a": [1.0, 1e300]}, 2, {}, ColumnError, "too large to square"),
    "one value": ({"a": [5, 5, 5]}, 2, {}, ColumnError, "only one value"),
    "k too large": (
        {"a": [1, 2]},
        3,
        {},
        OptionError,
        "k = 3 is larger than the 2 rows of the dict",
    ),
    "k too small": ({"a": [1, 2]}, 1, {}, OptionError, "k = 1 is not a whole number"),
    "k no integer": ({"a": [1, 2]}, 2.5, {}, OptionError, "k = 2.5 is not a whole number"),
    "k a truth": ({"a": [1, 2]}, True, {}, OptionError, "k = True is not a whole number"),
    "no rows": ({"a": pa.array([], pa.int64())}, 2, {}, TableError, "has no rows"),
    "unknown": (TEXT, 2, {"columns": "b"}, ColumnError, "Column 'b' is not in"),
    "twice": (TEXT, 2, {"columns": ["a", "a"]}, ColumnError, "Column 'a' is named twice"),
    "kept too": (TEXT, 2, {"columns": "a", "keep": "a"}, ColumnError, "named twice"),
    "none left": ({"a": [1, 2]}, 2, {"keep": "a"}, ColumnError, "left to group by"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("method", [mdav, mu_approx])
def test_bad_input_is_refused_in_one_sentence_with_a_hint(case, method):
    table, k, options, kind, part = BAD[case]
    with pytest.raises(InputError) as caught:
        method(table, k, **options)
    assert type(caught.value) is kind
    assert part in str(caught.value)
    assert caught.value.hint


def test_numbers_too_close_to_square_are_refused_unless_standardised():
    table = {"a": [0.0, 1e-200, 3e-200, 4e-200]}
    with pytest.raises(OptionError, match="too close"):
        mdav(table, 2, standardise=False)
    assert mdav(table, 2).groups.tolist() == [0, 0, 1, 1]


def test_the_univariate_optimum_is_of_one_column():
    with pytest.raises(OptionError, match="one column, not 2"):
        univariate_microaggregation({"a": [1, 2], "b": [1, 2]}, 2)


def test_a_table_that_is_open_and_a_file_are_read_alike(tmp_path):
    table = {"a": [1, 2, 9, 8, 5, 6]}
    pa.csv.write_csv(pa.table(table), tmp_path / "t.csv")
    groups = [
        mdav(source, 2).groups.tolist() for source in (table, open_table(table), tmp_path / "t.csv")
    ]
    assert groups[0] == groups[1] == groups[2]


def test_kept_values_that_count_as_alike_are_alike_in_the_release():
    kept = pa.array([float("nan"), None, 0.0, -0.0], from_pandas=False)
    averages = mdav(pa.table({"w": [1.0, 2.0, 3.0, 4.0], "s": kept}), 2, "w", keep="s")
    assert [repr(value) for value in averages.released["s"].to_pylist()] == ["None"] * 2 + [
        "0.0"
    ] * 2
    assert averages.singling.together == 0
