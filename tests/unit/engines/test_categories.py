"""Labels of categories against a dictionary, on the embedded engine."""

import pyarrow as pa
import pytest

from hartley.errors import ColumnError
from hartley.tables.column_map import apply_map
from hartley.tables.opening import open_table
from hartley.tables.release_rules import Lookup

WORDS = ["", " ", "a", "A", "ä", "Zürich", "日本", "😀", "it's", '"', "\\", "%", "NULL", "None"]


@pytest.mark.parametrize("other", [None, "rest"])
@pytest.mark.parametrize("size", [1, 5, 32, 33, 500])
def test_labels_of_text_are_those_of_a_dictionary(released, size, other):
    keys = (WORDS + [f"code {k}" for k in range(600)])[:size]
    labels = {key: f"label {k % 7}" for k, key in enumerate(keys)}
    values = [*keys, *reversed(keys), None]
    if other is not None:
        values += ["b", "a ", "ZÜRICH", "code 9999", "日"]
    found = released([Lookup("x", tuple(labels.items()), other)], x=pa.array(values))["x"]
    assert found == [None if value is None else labels.get(value, other) for value in values]


@pytest.mark.parametrize("kind", [pa.int64(), pa.int16(), pa.float64()])
@pytest.mark.parametrize("size", [4, 200])
def test_labels_of_numbers_are_those_of_a_dictionary(released, kind, size):
    labels = {3 * k - 50: k % 5 for k in range(size)}
    values = [*range(-60, 60), None]
    found = released([Lookup("x", tuple(labels.items()), 99)], x=pa.array(values, kind))["x"]
    assert found == [None if value is None else labels.get(value, 99) for value in values]


WHOLE = [-(2**63), -61, -60, -59, 0, 39, 40, 41, 2**63 - 1, None]


@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("other", [None, "rest"])
def test_integers_that_lie_close_together_have_their_labels_by_place(hold, step, other):
    labels = {key: f"{key % 7}" for key in range(-60, 41, step)}
    rule = Lookup("x", tuple(labels.items()), other)
    values = WHOLE if other else [value for value in WHOLE if value is None or value in labels]
    mapped = apply_map(hold(x=pa.array(values, pa.int64())), [rule])
    found = mapped.expression.to_pyarrow()["x"].to_pylist()
    assert found == [None if value is None else labels.get(value, other) for value in values]
    unknown = sum(value is not None and value not in labels for value in values)
    assert mapped.counts.columns[0].unknown == unknown
    assert mapped.counts.columns[0].missing == 1


def test_integers_without_a_sign_are_looked_up_too(released):
    labels = tuple((key, key % 5) for key in range(100))
    column = pa.array([0, 99, 100, 2**64 - 1, None], pa.uint64())
    assert released([Lookup("x", labels, 9)], x=column)["x"] == [0, 4, 9, 9, None]


def test_truth_values_have_labels_too(released):
    rule = Lookup("x", ((True, "yes"), (False, "no")))
    found = released([rule], x=pa.array([True, False, None]))["x"]
    assert found == ["yes", "no", None]


@pytest.mark.parametrize("keys", [range(50), range(0, 100, 2), range(0, 10**6, 10**4)])
def test_a_number_in_no_group_is_refused_however_it_is_looked_up(hold, keys):
    rule = Lookup("x", tuple((key, "a") for key in keys))
    column = pa.array([0, 4, 9_999_999], pa.int64())
    with pytest.raises(ColumnError, match=r"^\d values? of column 'x' (is|are) in no group"):
        _ = apply_map(hold(x=column), [rule]).counts


def test_a_value_in_no_group_is_refused_where_there_is_no_label_for_others():
    table = open_table({"job": ["nurse", "spy", "spy"]})
    mapped = apply_map(table, [Lookup("job", (("nurse", "health"),))])
    with pytest.raises(
        ColumnError, match=r"^2 values of column 'job' are in no group; hint: "
    ) as e:
        _ = mapped.counts
    assert "spy" not in str(e.value)
