"""Intervals of cells, compared with the enumeration of every table."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley.kernels.sums import FAR
from hartley.knowledge.cover import cover
from hartley.knowledge.table_bounds import Inference
from hartley.knowledge.table_system import HIGH, LOW, LinearSystem, NoTableFits
from hartley.tables.crosstab import Crosstab, PublishedCell, Rounding
from hartley.tables.described import CategoryTree


def published(dims, cells, name="a", where=None):
    return Crosstab(
        name,
        None,
        "",
        tuple(dims),
        "count",
        where,
        tuple(
            PublishedCell(keys, low, high, "number", "", 1) for keys, (low, high) in cells.items()
        ),
        0,
        (),
    )


def with_margins(table):
    """Return every cell of an array with all of its totals, by keys; None is a total."""
    cells = {}
    for keys in itertools.product(*([None, *map(str, range(n))] for n in table.shape)):
        index = tuple(slice(None) if key is None else int(key) for key in keys)
        cells[keys] = int(table[index].sum())
    return cells


def every_table(shape, stated):
    """Enumerate the arrays that fit, from the definition alone: try every one, add it up.

    The number of people is published, so a table is a way to put them into cells.
    """
    people, cells = stated[(None,) * len(shape)][0], int(np.prod(shape))
    for places in itertools.combinations_with_replacement(range(cells), people):
        sums = with_margins(np.bincount(places, minlength=cells).reshape(shape))
        if all(
            low <= sums[k] and (high is None or sums[k] <= high)
            for k, (low, high) in stated.items()
        ):
            yield sums


def check_against_enumeration(shape, stated):
    dims = [f"d{i}" for i in range(len(shape))]
    joint = cover([published(dims, stated)])
    tables = list(every_table(shape, stated))
    assert tables
    found = Inference(joint.system)
    found.widen(range(joint.system.size))
    for cell in range(joint.system.size):
        values = [sums[joint.keys(cell)] for sums in tables]
        result = found.range(cell)
        assert result.low <= min(values)
        assert result.high is None or result.high >= max(values)
        if result.least is not None:
            assert {result.least, result.most} <= set(values)
        if len(shape) <= 2:  # totally unimodular: both are the truth
            assert (result.low, result.high) == (min(values), max(values))
            assert (result.least, result.most) == (min(values), max(values))
        for side, end in ((LOW, result.low), (HIGH, result.high)):
            proved = joint.system.bound(cell, found.proof(cell, side), side)
            assert proved is not None
            assert (proved > end - 1) if side == LOW else (proved < end + 1)
            witness = found.table(cell, side)
            if witness is not None:
                assert joint.system.fits(witness)
                assert witness[cell] == (result.least, result.most)[side]


@st.composite
def small_tables(draw, shapes, most):
    shape = draw(st.sampled_from(shapes))
    cells = int(np.prod(shape))
    people = draw(st.lists(st.integers(0, cells - 1), min_size=1, max_size=most))
    sums = with_margins(np.bincount(people, minlength=cells).reshape(shape))
    stated = {}
    for keys, value in sums.items():
        kind = draw(st.sampled_from(["number", "hidden", "hidden", "mark", "rounded"]))
        if kind == "number" or all(key is None for key in keys):
            stated[keys] = value, value
        elif kind == "mark" and 0 < value < 4:
            stated[keys] = 1, 3
        elif kind == "rounded":
            stated[keys] = Rounding("nearest", 3).interval((value + 1) // 3 * 3)
        else:
            stated[keys] = 0, None
    return shape, stated


@pytest.mark.slow
@settings(max_examples=60)
@given(small_tables([(2, 2), (2, 3), (3, 2), (4,), (1, 3)], 5))
def test_two_dimensions_are_exact(drawn):
    check_against_enumeration(*drawn)


@pytest.mark.slow
@settings(max_examples=30)
@given(small_tables([(2, 2, 2), (3, 2, 2), (3, 3, 2)], 3))
def test_three_dimensions_are_sound_on_both_sides(drawn):
    check_against_enumeration(*drawn)


def intervals(dims, stated, trees=()):
    joint = cover([published(dims, stated)], trees)
    found = Inference(joint.system)
    found.widen(range(joint.system.size))

    def of(*keys):
        result = found.range(joint.cell(dict(zip(dims, keys, strict=True))))
        assert result.exact
        return result.low, result.high

    return of


def line(values, total):
    stated = {(str(i),): ends for i, ends in enumerate(values)}
    return stated | {(None,): total}


def test_four_hidden_cells_of_a_square():
    table = np.array([[20, 50, 10], [8, 19, 22], [17, 32, 12]])
    stated = {keys: (value, value) for keys, value in with_margins(table).items()}
    for keys in [("1", "0"), ("1", "2"), ("2", "0"), ("2", "2")]:
        stated[keys] = 0, None
    of = intervals(["r", "c"], stated)
    ends = [of(*keys) for keys in [("1", "0"), ("1", "2"), ("2", "0"), ("2", "2")]]
    assert ends == [(0, 25), (5, 30), (0, 25), (4, 29)]


@pytest.mark.parametrize(
    ("rounding", "values", "total", "cell", "everything"),
    [
        (Rounding("nearest", 3), [0, 0], 3, (1, 1), (2, 2)),
        (Rounding("nearest", 5), [0, 0, 0, 0], 10, (2, 2), (8, 8)),
        (Rounding("midpoint", 6), [3] * 6, 3, (1, 1), (6, 6)),
        (Rounding("midpoint", 6), [3] * 3, 3, (1, 4), (3, 6)),
    ],
)
def test_rounded_lines(rounding, values, total, cell, everything):
    stated = line(map(rounding.interval, values), rounding.interval(total))
    of = intervals(["r"], stated)
    assert [of(str(i)) for i in range(len(values))] == [cell] * len(values)
    assert of(None) == everything


def test_marks_and_hidden_cells_of_a_line():
    of = intervals(["r"], line([(4, 4), (1, 4), (1, 4)], (12, 12)))
    assert of("1") == of("2") == (4, 4)
    of = intervals(["r"], line([(15, 15), (0, None), (0, None)], (23, 23)))
    assert of("1") == of("2") == (0, 8)
    of = intervals(["r"], line([(0, None)] * 3, (23, 23)))
    assert of("0") == (0, 23)


LINKED = {"A": 2, "B": 2, "I": 8, "J": 8, "K": 3, "L": 3, "M": 3, "N": 7}
TREES = (
    CategoryTree("town", {"c1": ("A", "B", "I", "J"), "c2": ("K", "L", "M", "N")}),
    CategoryTree("town", {"BIG": ("L", "M"), "small": ("A", "B", "I", "J", "K", "N")}),
)


@pytest.mark.parametrize(
    ("hidden", "expected"),
    [
        ("ABKLM", {"K": (3, 3), "A": (0, 4), "L": (0, 6)}),
        (
            "ABKLMN",
            {"K": (0, 10), "N": (0, 10), "A": (0, 4), "B": (0, 4), "L": (0, 6), "M": (0, 6)},
        ),
    ],
)
def test_linked_trees(hidden, expected):
    stated = {(k,): (0, None) if k in hidden else (v, v) for k, v in LINKED.items()}
    for tree in TREES:
        for parent, parts in tree.parents.items():
            total = sum(LINKED[part] for part in parts)
            stated[parent,] = total, total
    stated[None,] = sum(LINKED.values()), sum(LINKED.values())
    of = intervals(["town"], stated, TREES)
    assert {key: of(key) for key in expected} == expected


def test_seven_hidden_cells():
    table = np.array([[1, 1, 7, 1, 0], [1, 0, 0, 2, 8]])
    stated = {
        keys: (0, None) if 0 < value <= 2 else (value, value)
        for keys, value in with_margins(table).items()
    }
    joint = cover([published(["r", "c"], stated)])
    found = Inference(joint.system)
    found.widen(range(joint.system.size))
    hidden = [joint.cell({"r": r, "c": c}) for (r, c), ends in stated.items() if ends[1] is None]
    assert len(hidden) == 7
    assert {(found.range(cell).low, found.range(cell).high) for cell in hidden} == {(0, 3)}
    assert all(found.range(cell).exact for cell in hidden)


def test_elimination_settles_what_no_single_relation_does():
    # x+y=5, y+z=7, x+z=6: no relation alone says anything, together x=2, y=3, z=4
    system = LinearSystem.of(
        [(3, [0, 1]), (4, [1, 2]), (5, [0, 2])], [0, 0, 0, 5, 7, 6], [FAR] * 3 + [5, 7, 6]
    )
    found = Inference(system)
    assert [found.range(cell).low for cell in range(3)] == [2, 3, 4]
    assert all(found.range(cell).settled for cell in range(3))
    proof = found.proof(0, LOW)
    assert system.bound(0, proof, LOW) == system.bound(0, proof, HIGH) == 2
    assert any(y.denominator == 2 for y in proof.values())


def test_half_a_person_fits_no_table():
    system = LinearSystem.of(
        [(3, [0, 1]), (4, [1, 2]), (5, [0, 2])], [0, 0, 0, 5, 7, 7], [FAR] * 3 + [5, 7, 7]
    )
    with pytest.raises(NoTableFits):
        Inference(system)


@settings(max_examples=40)
@given(st.data())
def test_any_multipliers_are_sound(data):
    numbers = data.draw(st.lists(st.integers(0, 9), min_size=6, max_size=6))
    table = np.array(numbers).reshape(2, 3)
    stated = {keys: (max(v - 2, 0), v + 1) for keys, v in with_margins(table).items()}
    joint = cover([published(["d0", "d1"], stated)])
    truth = np.array([with_margins(table)[joint.keys(c)] for c in range(joint.system.size)])
    rationals = st.fractions(-3, 3, max_denominator=7)
    y = {r: data.draw(rationals) for r in range(joint.system.relations)}
    for cell in range(joint.system.size):
        low, high = (joint.system.bound(cell, y, side) for side in (LOW, HIGH))
        assert low is None or low <= truth[cell]
        assert high is None or truth[cell] <= high
        assert isinstance(low, (Fraction, type(None)))


def test_without_highspy_the_ends_are_the_same(monkeypatch):
    table = np.array([[20, 50, 10], [8, 19, 22], [17, 32, 12]])
    stated = {keys: (value, value) for keys, value in with_margins(table).items()}
    for keys in [("1", "0"), ("1", "2"), ("2", "0"), ("2", "2")]:
        stated[keys] = 0, None
    monkeypatch.setattr("hartley.knowledge.table_system.find_spec", lambda _: None)
    of = intervals(["r", "c"], stated)
    ends = [of(*keys) for keys in [("1", "0"), ("1", "2"), ("2", "0"), ("2", "2")]]
    assert ends == [(0, 25), (5, 30), (0, 25), (4, 29)]
