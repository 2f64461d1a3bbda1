"""Sizes, diversity and closeness of classes, against counting and moving earth."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

from hartley import JointDistribution, Relation, mutual_information
from hartley.errors import OptionError
from hartley.kernels.classes import ClassCounts
from hartley.measures import (
    anonymity as measures,
    delta_disclosure,
    equal_closeness,
    hierarchical_closeness,
    ordered_closeness,
    t_closeness,
)
from hartley.ranges.classes import KeyClasses

TREE = {0: (0, 0), 1: (0, 0), 2: (1, 0), 3: (2, 1), 4: (2, 1)}
"""The groups of five values on two levels below the whole."""
ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=40)


def counted(rows):
    values = sorted({value for _, value in rows})
    cells = Counter(rows)
    columns = [(key, values.index(value), n) for (key, value), n in cells.items()]
    return ClassCounts.from_cells(*np.array(columns).T), values


def shares(rows):
    """Return the shares of every class and those of the table, as fractions by value."""
    classes = defaultdict(list)
    for key, value in rows:
        classes[key].append(value)
    values = sorted({value for _, value in rows})

    def of(some):
        return [Fraction(some.count(value), len(some)) for value in values]

    return [of(found) for found in classes.values()], of([value for _, value in rows]), values


def moved(p, q, distance):
    """Return the least cost of moving earth, by linear programming."""
    m = len(p)
    costs = [float(distance(i, j)) for i in range(m) for j in range(m)]
    leave = np.kron(np.eye(m), np.ones(m))
    arrive = np.kron(np.ones(m), np.eye(m))
    found = linprog(
        costs, A_eq=np.vstack([leave, arrive]), b_eq=[float(share) for share in (*p, *q)]
    )
    return found.fun


@given(ROWS)
@settings(max_examples=80, deadline=None)
def test_sizes_and_risks_are_what_counting_people_gives(rows):
    classes, _ = counted(rows)
    sizes = Counter(key for key, _ in rows).values()
    assert measures.k_anonymity(classes) == min(sizes)
    assert measures.unique_records(classes) == sum(size == 1 for size in sizes)
    assert measures.record_leakage(classes) == pytest.approx(math.log2(len(rows) / min(sizes)))
    assert measures.prosecutor_risk(classes) == Fraction(1, min(sizes))
    assert measures.journalist_risk(classes.sizes * 3) == Fraction(1, 3 * min(sizes))
    assert measures.marketer_risk(classes) == Fraction(len(sizes), len(rows))
    population = classes.sizes + np.arange(len(classes))
    pairs = zip(classes.sizes.tolist(), population.tolist(), strict=True)
    assert measures.marketer_risk(classes, population) == sum(
        Fraction(n, of) for n, of in pairs
    ) / len(rows)


@pytest.mark.slow
@given(st.lists(st.one_of(st.integers(1, 40), st.integers(1, 10**9)), min_size=1, max_size=60))
@settings(max_examples=200, deadline=None)
def test_bands_hold_every_class_once_and_are_few(sizes):
    bands = measures.size_bands(np.array(sizes))
    assert len(bands) <= 32
    assert bands[0].low <= min(sizes) <= bands[0].high
    assert bands[-1].low <= max(sizes) <= bands[-1].high
    for before, band in itertools.pairwise(bands):
        assert before.high + 1 == band.low <= band.high
    for band in bands:
        inside = [size for size in sizes if band.low <= size <= band.high]
        assert (band.classes, band.records) == (len(inside), sum(inside))


def test_unique_records_have_a_band_of_their_own():
    for largest in (1, 5, 60, 10**6):
        assert measures.size_bands(np.array([1, largest]))[0].high == 1


@pytest.mark.parametrize(
    ("least", "largest", "edges"),
    [
        (5, 5, "5 6"),
        (1, 14, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15"),  # fourteen sizes: each by itself
        (1, 15, "1 2 3 5 7 10 15 20"),  # one more: bands that widen
        (3, 16, "3 4 5 6 7 8 9 10 11 12 13 14 15 16 17"),
        (3, 17, "2 4 6 8 10 12 14 16 18"),  # one more, and alike: bands of one width
        (3, 23, "2 4 6 8 10 12 14 16 18 20 22 24"),  # just less than eight times as large
        (3, 24, "3 5 7 10 15 20 30"),  # eight times as large: bands that widen
        (10, 79, "10 15 20 25 30 35 40 45 50 55 60 65 70 75 80"),
        (100, 127, "100 102 104 106 108 110 112 114 116 118 120 122 124 126 128"),
        (100, 128, "100 105 110 115 120 125 130"),  # fourteen times two no longer suffice
        (100, 129, "100 105 110 115 120 125 130"),
        (100, 130, "100 105 110 115 120 125 130 135"),  # an edge is the first of its band
        (41, 327, "1 50 100 150 200 250 300 350"),  # no band holds classes of nobody
        (9, 100, "7 10 15 20 30 50 70 100 150"),
        (10, 99, "10 15 20 30 50 70 100"),
        (10, 100, "10 15 20 30 50 70 100 150"),
        (1, 199, "1 2 3 5 7 10 15 20 30 50 70 100 150 200"),  # fourteen edges: the fine ladder
        (1, 200, "1 2 5 10 20 50 100 200 500"),  # one more: the coarse one
        (1, 9999, "1 2 5 10 20 50 100 200 500 1000 2000 5000 10000"),
    ],
)
def test_bands_begin_and_end_where_they_are_said_to(least, largest, edges):
    bands = measures.size_bands(np.array([largest, least, least]))
    expected = list(map(int, edges.split()))
    assert [band.low for band in bands] == expected[:-1]
    assert [band.high + 1 for band in bands] == expected[1:]
    assert bands[0].classes == (3 if least == largest else 2)
    assert bands[-1].records == (3 * least if least == largest else largest)
    assert bands[0].label == (
        f"{expected[0]:,}" if expected[1] == expected[0] + 1 else f"{expected[0]}-{expected[1] - 1}"
    )


def test_records_are_summed_exactly():
    sizes = np.array([2**60 + 1, 2**60 + 3, 1])
    assert measures.size_bands(sizes)[-1].records == 2**61 + 4


@pytest.mark.slow
@given(ROWS, st.integers(2, 4))
@settings(max_examples=80, deadline=None)
def test_diversity_is_what_the_definitions_say(rows, length):
    classes, _ = counted(rows)
    by_class, _, _ = shares(rows)
    present = [[share for share in found if share] for found in by_class]
    assert measures.distinct_diversity(classes) == min(map(len, present))
    entropies = [-sum(float(p) * math.log2(p) for p in found) for found in present]
    assert measures.entropy_diversity(classes) == pytest.approx(2 ** min(entropies))
    assert measures.alpha_share(classes) == max(map(max, present))
    ranked = [sorted(found, reverse=True) for found in present]
    if min(map(len, ranked)) < length:
        assert measures.recursive_diversity(classes, length) is None
    else:
        worst = max(found[0] / sum(found[length - 1 :]) for found in ranked)
        assert measures.recursive_diversity(classes, length) == worst


@pytest.mark.slow
@given(ROWS)
@settings(max_examples=60, deadline=None)
def test_closeness_is_the_least_cost_of_moving_earth(rows):
    classes, values = counted(rows)
    by_class, whole, _ = shares(rows)
    m = len(values)
    steps = max(m - 1, 1)
    paths = [(value, *TREE[value], "all") for value in values]

    def joined(i, j):
        return Fraction(next(h for h in range(4) if paths[i][h] == paths[j][h]), 3)

    levels = [np.array([TREE[value][h] for value in values]) for h in range(2)]
    for found, distance in (
        (equal_closeness(KeyClasses.of(classes)), lambda i, j: i != j),
        (ordered_closeness(KeyClasses.of(classes)), lambda i, j: Fraction(abs(i - j), steps)),
        (hierarchical_closeness(KeyClasses.of(classes), levels), joined),
    ):
        costs = [moved(p, whole, distance) for p in by_class]
        assert float(found) == pytest.approx(max(costs), abs=1e-9)


@pytest.mark.slow
@given(ROWS)
@settings(max_examples=80, deadline=None)
def test_closeness_is_exact(rows):
    classes, _ = counted(rows)
    by_class, whole, _ = shares(rows)
    equal = [sum(abs(a - b) for a, b in zip(p, whole, strict=True)) / 2 for p in by_class]
    assert equal_closeness(KeyClasses.of(classes)) == max(equal)
    ordered = [
        sum(abs(sum(p[: j + 1]) - sum(whole[: j + 1])) for j in range(len(p))) / max(len(p) - 1, 1)
        for p in by_class
    ]
    assert ordered_closeness(KeyClasses.of(classes)) == max(ordered)
    with pytest.MonkeyPatch.context() as patch:  # as where one machine word is too short
        patch.setattr("hartley.ranges.distribution.LARGEST", 0)
        assert ordered_closeness(KeyClasses.of(classes)) == max(ordered)


@pytest.mark.slow
@given(ROWS, st.sampled_from([2, math.e, 10]))
@settings(max_examples=80, deadline=None)
def test_delta_and_divergence_count_absent_values_as_zero(rows, base):
    classes, _ = counted(rows)
    table = KeyClasses.of(classes)
    by_class, whole, _ = shares(rows)
    divergence = max(
        sum(float(a) * math.log(a / b, base) for a, b in zip(p, whole, strict=True) if a)
        for p in by_class
    )
    assert t_closeness(table, base=base) == pytest.approx(divergence, abs=1e-12)
    ratios = [a / b for p in by_class for a, b in zip(p, whole, strict=True)]
    present = max(abs(math.log(ratio, base)) for ratio in ratios if ratio)
    assert measures.delta_of_present(classes, base=base) == pytest.approx(present, abs=1e-12)
    expected = math.inf if 0 in ratios else present
    assert delta_disclosure(table, base=base) == pytest.approx(expected, abs=1e-12)


@given(ROWS, st.integers(1, 4))
@settings(max_examples=80, deadline=None)
def test_attacks_succeed_exactly_where_a_class_shows_it(rows, times):
    classes, _ = counted(rows)
    whole = Counter(value for _, value in rows)
    groups = defaultdict(list)
    for key, value in rows:
        groups[key].append(value)
    alike = [group for group in groups.values() if len(set(group)) == 1]
    assert measures.homogeneous_rows(classes) == (len(alike), sum(map(len, alike)))
    skewed = [
        group
        for group in groups.values()
        if any(
            Fraction(group.count(value), len(group)) > times * Fraction(whole[value], len(rows))
            for value in group
        )
    ]
    assert measures.skewed_rows(classes, times) == (len(skewed), sum(map(len, skewed)))


def test_counts_of_billions_stay_exact():
    big = 2**30
    classes = ClassCounts.from_cells(*np.array([[0, 0, 1], [0, 1, 1], [big - 1, 1, big - 1]]))
    n = 2 * big - 1
    assert equal_closeness(KeyClasses.of(classes)) == Fraction(big - 1, n)
    assert ordered_closeness(KeyClasses.of(classes)) == Fraction(big - 1, n)
    wide = ClassCounts(classes.starts, classes.codes * 999, classes.counts, 1000)
    assert ordered_closeness(KeyClasses.of(wide)) == Fraction(big - 1, n)


def test_many_classes_of_a_long_order_are_measured_at_once():
    classes, width = 20_000, 2**16
    cells = np.arange(classes), np.arange(classes) % width, np.ones(classes, np.int64)
    crowd = [classes], [width - 1], [2**31 - 1 - classes]
    found = ClassCounts.from_cells(*map(np.append, cells, crowd))
    steps = Fraction((2**31 - 1 - classes) * (width - 1) + sum(range(classes)), 2**31 - 1)
    assert ordered_closeness(KeyClasses.of(found)) == steps / (width - 1)


def test_a_recursive_diversity_of_one_makes_no_sense():
    classes, _ = counted([(0, 0)])
    with pytest.raises(OptionError, match="recursive diversity is 1"):
        measures.recursive_diversity(classes, 1)


# --- closeness of distributions -------------------------------------------------------------------

COUNTS = st.integers(2, 5).flatmap(
    lambda rows: st.lists(
        st.lists(st.integers(0, 6), min_size=rows, max_size=rows), min_size=1, max_size=5
    ).filter(
        # No confidential value and no class is missing altogether.
        lambda table: (
            all(sum(column) for column in table)
            and all(sum(column[row] for column in table) for row in range(rows))
        )
    )
)


def both(columns):
    """The same table as a distribution and as classes of counted records."""
    counts = np.array(columns).T
    cells = np.argwhere(counts.T > 0)
    classes = ClassCounts.from_cells(cells[:, 0], cells[:, 1], counts.T[counts.T > 0])
    return JointDistribution(counts / counts.sum()), KeyClasses.of(classes)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(COUNTS)
def test_a_distribution_measures_what_its_counted_records_do(columns):
    joint, classes = both(columns)
    groups = np.arange(joint.matrix.shape[0]) // 2
    for mine, theirs in (
        (t_closeness(joint), t_closeness(classes)),
        (delta_disclosure(joint), delta_disclosure(classes)),
        (equal_closeness(joint), equal_closeness(classes)),
        (ordered_closeness(joint), ordered_closeness(classes)),
        (
            hierarchical_closeness(joint, [groups]),
            hierarchical_closeness(classes, [groups]),
        ),
    ):
        assert mine == pytest.approx(float(theirs), abs=1e-12)


@settings(max_examples=80, deadline=None)
@given(COUNTS, st.sampled_from([2, math.e, 10]))
def test_an_average_is_below_the_worst_class_and_that_below_the_worst_pair(columns, base):
    joint, _ = both(columns)
    average = mutual_information(joint, base=base)
    worst = t_closeness(joint, base=base)
    assert average <= worst + 1e-12
    assert worst <= delta_disclosure(joint, base=base) + 1e-12


def test_a_relation_is_measured_from_its_counts():
    relation = Relation.from_pairs([(3, "a"), (1, "a"), (1, "b"), (1, "b"), (2, "b")])
    joint = JointDistribution.from_relation(relation)
    assert t_closeness(relation) == pytest.approx(t_closeness(joint))
    assert delta_disclosure(relation) == delta_disclosure(joint) == math.inf
    assert equal_closeness(relation) == pytest.approx(equal_closeness(joint))
    order = np.argsort(relation.secret_range)
    sorted_rows = JointDistribution(joint.matrix[order])
    assert ordered_closeness(relation) == pytest.approx(ordered_closeness(sorted_rows))
    levels = [[0, 0, 1]]
    assert hierarchical_closeness(relation, levels) == pytest.approx(
        hierarchical_closeness(joint, levels)
    )


def test_what_never_occurs_does_not_count():
    joint = [[0.25, 0.0, 0.25], [0.25, 0.0, 0.25], [0.0, 0.0, 0.0]]
    assert t_closeness(joint) == delta_disclosure(joint) == 0


def test_one_confidential_value_cannot_be_told():
    assert ordered_closeness([[0.5, 0.5]]) == equal_closeness([[0.5, 0.5]]) == 0


def test_bases_are_units():
    joint = [[0.4, 0.1], [0.1, 0.4]]
    for measure in (t_closeness, delta_disclosure):
        assert measure(joint, base=4) == pytest.approx(measure(joint) / 2)
        with pytest.raises(OptionError, match="base 1"):
            measure(joint, base=1)


@pytest.mark.parametrize("level", [[0, 1], [0, -1, 1], [0.5, 1, 2], "abc"])
def test_levels_that_group_something_else_are_refused(level):
    joint = np.full((3, 2), 1 / 6)
    with pytest.raises(OptionError, match="3 confidential values"):
        hierarchical_closeness(joint, [level])


def test_values_that_do_not_compare_have_no_order():
    with pytest.raises(OptionError, match="no order"):
        ordered_closeness(Relation.from_pairs([(1, "a"), ("x", "b")]))


def test_what_is_no_distribution_is_refused():
    with pytest.raises(OptionError, match="does not add up to 1"):
        t_closeness([[0.5, 0.2], [0.1, 0.1]])
