"""Every kind of range answers the questions of the measures, and refuses what is not defined."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hartley import (
    Box,
    Channel,
    CutBox,
    JointDistribution,
    Relation,
    hartley_entropy,
    maximal_guessing_leakage,
    maximal_leakage,
    maximin_information,
    mutual_information,
    nonstochastic_leakage,
)
from hartley.errors import UndefinedMeasure
from hartley.kernels.classes import ClassCounts
from hartley.measures import (
    alpha_share,
    conditional_entropy,
    distinct_diversity,
    equal_closeness,
    homogeneous_rows,
    information_transmission,
    k_anonymity,
    marketer_risk,
    nonstochastic_information,
    ordered_closeness,
    relative_disarray,
    symmetric_leakage,
    t_closeness,
    zero_error_capacity_bound,
)
from hartley.ranges.classes import KeyClasses
from hartley.ranges.joint_range import GuessedSide, JointFrequencies, Size

SIZES = (
    hartley_entropy,
    conditional_entropy,
    relative_disarray,
    nonstochastic_information,
    nonstochastic_leakage,
    information_transmission,
    maximin_information,
)
COUNTS = (symmetric_leakage, maximal_guessing_leakage, zero_error_capacity_bound)
FREQUENCIES = (mutual_information, maximal_leakage, t_closeness)
HALVES = CutBox(Box.cube(0, 1, size=1), "x1", [0, "0.5", 1])
ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=20)


def classes_of(rows):
    """Return a class table whose codes are without gaps, as counted ones are."""
    secret, released = (np.unique(side, return_inverse=True)[1] for side in zip(*rows, strict=True))
    return KeyClasses.of(ClassCounts.from_cells(released, secret, np.ones_like(secret)))


@pytest.mark.slow
@given(ROWS)
def test_a_class_table_is_the_relation_of_its_confidential_value_to_its_keys(rows):
    relation, classes = Relation.from_pairs(rows), classes_of(rows)
    for measure in (*SIZES, *COUNTS):
        assert measure(classes) == measure(relation)
    for measure in FREQUENCIES:
        assert measure(classes) == pytest.approx(measure(relation), abs=1e-12)


@pytest.mark.slow
@given(ROWS)
def test_distances_are_exact_fractions_of_a_class_table_and_doubles_of_a_relation(rows):
    relation, classes = Relation.from_pairs(rows), classes_of(rows)
    for measure in (equal_closeness, ordered_closeness):
        exact, rounded = measure(classes), measure(relation)
        assert type(exact) is Fraction
        assert type(rounded) is float
        assert rounded == float(exact)


def test_a_class_table_can_be_put_in_another_order():
    classes = classes_of([("a", 0), ("b", 1), ("c", 1)])
    moved = classes.in_order(np.array([1, 0, 2]))
    assert moved.values == [1, 0, 2]
    assert ordered_closeness(classes) != ordered_closeness(moved)


@pytest.mark.parametrize("measure", COUNTS)
def test_a_box_refuses_what_counts_secrets_in_one_sentence_with_a_hint(measure):
    with pytest.raises(UndefinedMeasure, match="uncountably many; hint: use a measure of volumes"):
        measure(HALVES)


def test_a_box_refuses_pairs_of_a_point_and_a_cell():
    with pytest.raises(UndefinedMeasure, match="to 2 cells is undefined, since pairs"):
        information_transmission(HALVES)


def test_who_answers_which_questions():
    joint = JointDistribution.of([[0.5, 0.0], [0.0, 0.5]])
    relation = Relation.from_pairs([(0, 0), (1, 1)])
    for source in (joint, relation, classes_of([(0, 0), (1, 1)])):
        assert isinstance(source, JointFrequencies)
    channel = Channel.of([[1.0]])
    assert isinstance(channel, GuessedSide)
    assert not isinstance(channel, JointFrequencies)
    assert not isinstance(HALVES, GuessedSide)


def test_asking_who_answers_counts_nothing():
    class Uncounted(Relation):
        @property
        def summary(self):
            raise AssertionError("counted")

    assert isinstance(Uncounted(None), JointFrequencies)


@given(st.fractions(min_value=0, max_value=8), st.fractions(min_value=0, max_value=8))
def test_logarithms_of_a_bounded_size_never_err_on_the_wrong_side(one, other):
    low, high = sorted((one, other))
    size, whole = Size(low, high), Size.of(8)
    for truth in (low, high):
        exact = Size.of(truth)
        assert size.log_from_below() <= exact.log_from_below()
        assert size.log_narrowing(whole) >= exact.log_narrowing(whole)


def test_models_of_anonymity_take_a_relation_and_a_class_table_alike():
    rows = [("flu", "young"), ("flu", "young"), ("cold", "old"), ("flu", "old"), ("flu", "old")]
    for classes in (Relation.from_pairs(rows), classes_of(rows), classes_of(rows).counts):
        assert k_anonymity(classes) == 2
        assert distinct_diversity(classes) == 1
        assert alpha_share(classes) == 1
        assert homogeneous_rows(classes) == (1, 2)
        assert marketer_risk(classes) == Fraction(2, 5)
