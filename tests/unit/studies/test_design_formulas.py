"""Designs for queries that are not linear: their cells, their certificates, their progress."""

import time
from fractions import Fraction

import numpy as np
import pytest

from hartley.errors import InputError
from hartley.studies.release.design import design


def cells(designed):
    (column,) = designed.document.columns
    return column.quantizer


@pytest.mark.parametrize(
    ("query", "ends", "levels"),
    [
        ("x*(1 - x)", (0, 1), {"1/8": 1, "0.12": 2, "1/16": 2}),
        ("(x**2 - 2)**2", (0, 2), {"1/2": 4}),
        ("x**3 - x", (-1, 1), {"1/5": 2, "1/10": 4}),
    ],
)
def test_the_fewest_cells_of_a_query_of_one_column(query, ends, levels):
    for error, expected in levels.items():
        found = design({
            "objective": "maximin", "query": query, "error": error,
            "columns": {"x": {"range": list(ends)}},
        })  # fmt: skip
        assert cells(found).levels == expected
        assert cells(found).error <= Fraction(error)
        assert any("has fewer cells" in sentence for sentence in found.sentences)


@pytest.mark.slow
def test_cells_of_an_exact_range_are_released_as_their_exact_middles():
    found = design({
        "objective": "maximin", "query": "x*y - x**2", "error": "1/8",
        "columns": {"x": {"range": [0, 1]}, "y": {"range": [0, 1]}},
    })  # fmt: skip
    used = cells(found)
    assert (used.low, used.high, used.levels) == (-1, Fraction(1, 4), 5)
    assert [used.middle(k) for k in range(5)] == [Fraction(k, 8) for k in (-7, -5, -3, -1, 1)]


@pytest.mark.slow
def test_a_range_that_is_known_from_both_sides_names_both_numbers_and_uses_the_larger():
    # exp(x*y) - x^2*y is largest in a corner, at e + 1: a tie that no enclosure can decide.
    query, columns = "exp(x*y) - x**2*y", {"x": {"range": [-1, 1]}, "y": {"range": [-1, 1]}}
    wanted = {"objective": "maximin", "query": query, "columns": columns}
    length = design(wanted | {"error": 1}).specification.known_range
    between = (length.inner.length + length.outer.length) / 2
    assert length.inner.length < length.outer.length
    found = design(wanted | {"error": str(between / 6)})
    assert cells(found).levels == 4
    (sentence,) = [line for line in found.sentences if "fewest" in line]
    assert "fewest cells are 3 or 4" in sentence
    assert not any("has fewer cells" in line for line in found.sentences)


@pytest.mark.slow
def test_exp_and_log_are_designed_released_and_refused_where_they_are_not_computed(tmp_path):
    from hartley.studies.release.release import release

    wanted = {
        "objective": "maximin", "query": "exp(x) - log(y)", "error": "0.25",
        "columns": {"x": {"range": [-1, 2]}, "y": {"range": [1, 100]}},
    }  # fmt: skip
    found = design(wanted)
    found.document.save(tmp_path / "policy.toml")
    xs, ys = np.linspace(-1, 2, 41), np.geomspace(1, 100, 41)
    release({"x": xs, "y": ys}, tmp_path / "policy.toml", tmp_path / "released.csv")
    released = np.loadtxt(tmp_path / "released.csv", skiprows=1)
    assert np.abs(released - (np.exp(xs) - np.log(ys))).max() <= 0.25 + 1e-9
    with pytest.raises(InputError, match=r"takes exp\(40\*x\) of numbers"):
        design(wanted | {"query": "exp(40*x) - log(y)"})


def test_progress_is_told_cell_by_cell():
    told = []
    design(
        {"objective": "maximin", "query": "x1*x2", "error": "0.25",
         "columns": {"x1": {"range": [0, 1]}, "x2": {"range": [0, 1]}}},
        progress=lambda kind, share: told.append((kind, share)),
    )  # fmt: skip
    assert told == [("measure", 0.5), ("measure", 1.0)]


def test_the_search_for_the_least_leakage_is_told_before_the_cells():
    told = []
    design(
        {"objective": "leakage", "query": "x1*x2", "error": "0.25",
         "columns": {"x1": {"range": [0, 1]}, "x2": {"range": [0, 1]}}},
        progress=lambda kind, share: told.append((kind, share)),
    )  # fmt: skip
    searched = [share for kind, share in told if kind == "search"]
    assert told == [("search", s) for s in searched] + [("measure", 0.5), ("measure", 1.0)]
    assert searched == [k / 64 for k in range(1, 65)]


@pytest.mark.long
@pytest.mark.parametrize(("objective", "error", "levels"), [
    ("maximin", "0.01", 50), ("leakage", "0.05", 10),
])  # fmt: skip
def test_six_variables_are_designed_within_a_minute(objective, error, levels):
    begun = time.process_time()  # a busy machine is slow, not wrong
    found = design({
        "objective": objective, "query": "x1*x2*x3*x4*x5*x6", "error": error,
        "columns": {f"x{i}": {"range": [0, 1]} for i in range(1, 7)},
    })  # fmt: skip
    assert cells(found).levels == levels
    assert time.process_time() - begun < 60
    says = {"maximin": "has fewer cells", "leakage": "larger smallest cell is not known"}
    assert says[objective] in " ".join(found.sentences)
