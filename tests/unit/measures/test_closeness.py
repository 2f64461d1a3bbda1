import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley import JointDistribution, Relation, mutual_information
from hartley.errors import OptionError
from hartley.kernels.classes import ClassCounts
from hartley.measures import (
    delta_disclosure,
    equal_closeness,
    hierarchical_closeness,
    ordered_closeness,
    t_closeness,
)
from hartley.ranges.classes import KeyClasses

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


def earth_movers(after, before, ground):
    """The distance as the transport problem that defines it."""
    from scipy.optimize import linprog

    m = before.size
    rows = [np.kron(np.eye(m)[i], np.ones(m)) for i in range(m)]
    columns = [np.kron(np.ones(m), np.eye(m)[i]) for i in range(m)]
    right = np.concatenate([after, before])
    return linprog(ground.ravel(), A_eq=np.array(rows + columns), b_eq=right).fun


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


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(COUNTS)
def test_the_earth_movers_distances_solve_their_transport_problems(columns):
    joint, _ = both(columns)
    before = joint.matrix.sum(axis=1)
    after = joint.matrix / joint.matrix.sum(axis=0)
    m = before.size
    places = np.arange(m)
    groups = places // 2
    apart = (places[:, None] != places).astype(float)
    lifted = np.where(groups[:, None] == groups, apart / 2, 1.0)
    for measured, ground in (
        (equal_closeness(joint), apart),
        (ordered_closeness(joint), np.abs(places[:, None] - places) / (m - 1)),
        (hierarchical_closeness(joint, [groups]), lifted),
    ):
        worst = max(earth_movers(column, before, ground) for column in after.T)
        assert measured == pytest.approx(worst, abs=1e-9)


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
