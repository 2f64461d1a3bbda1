"""Covariances of named columns: read by name, refused in a sentence."""

import numpy as np
import pytest

from hartley import ColumnError, HartleyError, InputError, OptionError
from hartley.policies.gaussian.model import NamedCovariance


def test_a_file_is_read_by_name_whatever_the_order(tmp_path):
    path = tmp_path / "known.csv"
    path.write_text(",b, a\n\na,1/2,1\nmean, 7,-1e1\nb,2,0.5\n")
    known = NamedCovariance.of(path)
    assert known.covariance_of(["a", "b", "a"]).tolist() == [
        [1, 0.5, 1],
        [0.5, 2, 0.5],
        [1, 0.5, 1],
    ]
    assert known.mean_of(["a", "b"]).tolist() == [-10, 7]


def test_a_mapping_is_read_like_a_file():
    known = NamedCovariance.of({"a": {"a": 4, "b": 1}, "b": {"a": 1, "b": np.float64(9)},
                                "mean": {"a": 1, "b": 2}})  # fmt: skip
    assert known.matrix.tolist() == [[4, 1], [1, 9]]
    assert known.mean.tolist() == [1, 2]
    assert NamedCovariance.of({"a": {"a": 4}}).mean_of(["a"]) is None


def test_a_column_may_be_called_mean():
    known = NamedCovariance.of({"mean": {"mean": 4, "b": 1}, "b": {"mean": 1, "b": 9}})
    assert known.covariance_of(["mean"]).tolist() == [[4]]
    assert known.mean is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "contains no covariances"),
        (",a\n", "contains no covariances"),
        (",a,b\na,1,2\n", "one row and one column per name"),
        (",a,a\na,1,2\na,1,2\n", "one row and one column per name"),
        (",a\na,1\na,1\n", "one row and one column per name"),
        (",a\na,1,2\n", "different lengths"),
        (",a\na,1\nmean,1,2\n", "different lengths"),
        (",a\na,many\n", "not a number"),
        (",a\na,\n", "not a number"),
        (",a\na,1e999\n", "not a number"),
        ("," + ",".join(f"c{k}" for k in range(300)) + "\nc0,1\n", "300 columns, too many"),
    ],
)
def test_what_holds_no_covariances_is_refused_in_a_sentence(tmp_path, text, sentence):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=sentence) as refused:
        NamedCovariance.of(path)
    assert refused.value.hint


@pytest.mark.parametrize(
    "mapping", [{"a": {"b": 1}}, {"a": 3}, {"a": {"a": "x"}}, {"a": {"a": None}}, {"a": {"a": []}}]
)
def test_a_mapping_that_is_none_is_refused(mapping):
    with pytest.raises(HartleyError) as refused:
        NamedCovariance.of(mapping)
    assert refused.value.hint


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(ColumnError, match="do not name the column 'c'"):
        NamedCovariance.of({"a": {"a": 1}}).covariance_of(["c"])
    with pytest.raises(OptionError, match="lacks an entry of column 'b'"):
        NamedCovariance.of({"a": {"a": 1, "b": 1}, "b": {"a": 1}})
