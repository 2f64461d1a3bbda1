"""Every kind of range answers the questions of the measures; codes stand for values in order."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from hartley import (
    ROW,
    Box,
    Channel,
    ColumnError,
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
from hartley.engines.table import Kind
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
from hartley.ranges.joint_range import (
    GuessedSide,
    JointFrequencies,
    Size,
    encode_arrow,
    encode_list,
)
from hartley.tables.view import ViewColumn

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


# --- codes stand for values, in the order of the values, and back ---------------------------------

PLAIN = ViewColumn("x", Kind.REAL, None, None, None, 0)


@pytest.mark.slow
@given(st.lists(st.one_of(st.integers(-9, 9), st.text(max_size=2), st.none()), max_size=20))
def test_a_list_is_numbered_in_the_order_of_first_appearance(values):
    codes, kept = encode_list(values, "x")
    assert kept.all() == list(dict.fromkeys(values))
    assert kept.take(codes) == values
    assert [kept.code(value) for value in values] == codes.tolist()


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False)), min_size=1))
def test_numbers_are_coded_in_their_order_and_minus_zero_is_zero(values):
    codes, kept = encode_arrow(pa.table({"c0": pa.array(values, pa.float64())}), [PLAIN])
    numbers = sorted({value + 0.0 for value in values if value is not None})
    assert kept.all() == [*numbers, *([None] if None in values else [])]
    assert kept.take(codes) == values
    assert "-0.0" not in map(repr, kept.all())


rows = st.tuples(
    st.one_of(st.none(), st.integers(-2, 2)),
    st.one_of(st.none(), st.sampled_from(["", "a", "A", "é", "z"])),
    st.one_of(st.none(), st.booleans()),
)


def missing_last(row):
    return [(value is None, 0 if value is None else value) for value in row]


@pytest.mark.slow
@given(st.lists(rows, min_size=1, max_size=40))
def test_rows_are_coded_in_their_order_a_missing_value_last(drawn):
    columns = dict(zip(("c0", "c1", "c2"), zip(*drawn, strict=True), strict=True))
    types = {"c0": pa.int64(), "c1": pa.string(), "c2": pa.bool_()}
    table = pa.table({name: pa.array(side, types[name]) for name, side in columns.items()})
    codes, kept = encode_arrow(table, [PLAIN] * 3)
    expected = sorted(set(drawn), key=missing_last)
    assert kept.all() == expected
    assert kept.take(codes) == drawn
    assert kept.code(drawn[0]) == codes[0]


def test_values_of_numbers_are_numbers_and_others_are_refused():
    table = {"age": [31, 32], "job": ["SECRET-7741", "y"], "real": [0.5, math.inf]}
    relation = Relation.from_table(table, secret="age", released="job", bins={"age": 10})
    assert relation.secret_values.numbers().tolist() == [35.0]
    reals = Relation.from_table(table, secret="real", released="job").secret_values
    assert reals.numbers().tolist() == [0.5, math.inf]
    with pytest.raises(ColumnError, match=r"^The values of job are not numbers; hint: "):
        relation.released_values.numbers()
    both = Relation.from_table(table, secret=["age", "real"], released="job")
    with pytest.raises(ColumnError, match=r"^The values of age and real are not numbers; hint: "):
        both.secret_values.numbers()


def test_records_are_their_own_numbers():
    relation = Relation.from_table({"job": ["x", "y", "x"]}, secret=ROW, released="job")
    records = relation.secret_values
    assert len(records) == 3
    assert records.take(np.array([2, 0])) == [2, 0]
    assert [records.code(i) for i in range(3)] == [0, 1, 2]


def test_a_binned_side_shows_the_middles_of_its_bins():
    table = {"age": [1, 2], "height": [0.29999999999999993, 0.3]}
    relation = Relation.from_table(table, secret="age", released="height", bins={"height": 0.1})
    assert relation.released_range == [0.25, 0.35]
    assert relation.conditional_range(released=0.35) == [2]
