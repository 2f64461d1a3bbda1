"""A relation is lazy, exact and says what it refuses, and so is its overlap partition."""

from __future__ import annotations

import copy
import pickle
from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given, strategies as st

import hartley
from hartley import ROW, ColumnError, OptionError, Relation, TableError, open_table
from hartley.ranges import counting as origin, overlap_partition

PEOPLE = {
    "age": [31, 32, 47, 47, None],
    "job": ["x", "x", "y", "z", "y"],
    "height": [171, 178, 183, 184, 190],
}
values = st.one_of(st.integers(-3, 3), st.sampled_from("abc"), st.tuples(st.integers(0, 2)))
listed_pairs = st.lists(st.tuples(values, values), min_size=1, max_size=40)


@pytest.fixture
def _no_counting(monkeypatch):
    """Fail as soon as any pair is counted."""

    def explode(*_: object, **__: object) -> None:
        raise AssertionError("the pairs were counted")

    monkeypatch.setattr("hartley.ranges.counting.distinct_counts", explode)
    monkeypatch.setattr("hartley.ranges.counting.tally_pairs", explode)


@pytest.mark.usefixtures("_no_counting")
@pytest.mark.parametrize("from_rows", [0, 10**6], ids=["tallied", "listed"])
@pytest.mark.parametrize("secret", ["age", ["age", "height"], ROW], ids=["one", "two", "ROW"])
def test_nothing_is_counted_before_a_measure_asks(secret, from_rows, monkeypatch):
    monkeypatch.setattr(origin, "TALLY_FROM", from_rows)
    relation = Relation.from_table(PEOPLE, secret=secret, released="job", bins={})
    assert relation.released_names == ("job",)
    assert relation.view.rows in (4, 5)
    assert relation.note is None
    assert "job" in repr(relation)
    if secret is not ROW:
        assert relation.swap().secret_names == ("job",)
    with pytest.raises(AssertionError, match="the pairs were counted"):
        hartley.hartley_entropy(relation)


def test_pairs_are_counted_once_for_all_measures(monkeypatch, measures_of):
    calls = []
    count = origin.distinct_counts
    monkeypatch.setattr(origin, "distinct_counts", lambda view: calls.append(1) or count(view))
    relation = Relation.from_table(PEOPLE, secret="age", released="job")
    measures_of(relation)
    assert relation.conditional_range(released="x") == [31, 32]
    assert len(calls) == 1


@given(listed_pairs)
def test_listed_pairs_are_the_relation_that_they_list(pairs):
    relation = Relation.from_pairs(pairs)
    assert relation.secret_range == list(dict.fromkeys(x for x, _ in pairs))
    assert relation.released_range == list(dict.fromkeys(y for _, y in pairs))
    assert relation.rows == len(pairs)
    for released in relation.released_range:
        left = relation.conditional_range(released=released)
        assert len(left) == len(set(left))
        assert set(left) == {x for x, y in pairs if y == released}
    for secret in relation.secret_range:
        assert set(relation.conditional_range(secret=secret)) == {
            y for x, y in pairs if x == secret
        }


@given(listed_pairs)
def test_swapping_twice_changes_nothing(pairs):
    relation = Relation.from_pairs(pairs)
    again = relation.swap().swap()
    assert again.secret_range == relation.secret_range
    assert again.released_range == relation.released_range
    for one, other in zip(again.pairs().counts, relation.pairs().counts, strict=True):
        assert one == other
    assert (again.pairs().secret == relation.pairs().secret).all()


@pytest.mark.slow
@given(listed_pairs)
def test_a_relation_is_unrelated_exactly_if_every_pair_occurs(pairs):
    secrets, released = {x for x, _ in pairs}, {y for _, y in pairs}
    everything = {(x, y) for x in secrets for y in released}
    assert Relation.from_pairs(pairs).is_unrelated() == (everything == set(pairs))
    assert Relation.from_pairs(everything).is_unrelated()


@pytest.mark.slow
@given(listed_pairs)
def test_the_joint_relation_determines_what_is_released(pairs):
    joint = Relation.from_pairs(pairs).joint()
    assert set(joint.secret_range) == set(pairs)
    assert all(
        y == released
        for (_, y), released in zip(
            joint.secret_values.take(joint.pairs().secret),
            joint.released_values.take(joint.pairs().released),
            strict=True,
        )
    )
    assert joint.rows == len(pairs)


def test_the_record_as_secret_numbers_the_rows_by_what_they_release():
    relation = Relation.from_table(PEOPLE, secret=ROW, released="job")
    assert relation.secret_names == ("ROW",)
    assert relation.secret_range == [0, 1, 2, 3, 4]
    assert relation.conditional_range(released="x") == [0, 1]
    assert relation.conditional_range(released="y") == [2, 3]
    assert relation.conditional_range(secret=4) == ["z"]
    assert relation.summary.secret_sizes.tolist() == [2, 2, 1]
    assert relation.summary.released_sizes.tolist() == [1] * 5


def test_a_column_on_both_sides_is_binned_where_it_is_released():
    relation = Relation.from_table(
        PEOPLE, secret=["height", "age"], released=["height"], bins={"height": 10, "age": 40}
    )
    assert relation.secret_range == [(171, 20.0), (178, 20.0), (183, 60.0), (184, 60.0)]
    assert relation.released_range == [175.0, 185.0]


def test_missing_values_are_dropped_or_a_value_of_their_own():
    dropped = Relation.from_table(PEOPLE, secret="age", released="job")
    assert (dropped.rows, dropped.view.dropped) == (4, 1)
    relation = Relation.from_table(PEOPLE, secret="age", released="job", missing="value")
    assert (relation.rows, relation.view.dropped) == (5, 0)
    assert relation.secret_range == [31, 32, 47, None]
    assert relation.conditional_range(secret=None) == ["y"]


def test_a_table_is_opened_once_and_used_again():
    table = open_table(PEOPLE)
    relation = Relation.from_table(table, secret="age", released="job")
    other = Relation.from_table(table, secret="job", released="age")
    assert relation.view.table is other.view.table is table
    assert relation.released_range == other.secret_range


def test_progress_ends_at_one(monkeypatch):
    monkeypatch.setattr(origin, "TALLY_FROM", 0)
    told: list[float] = []
    Relation.from_table(PEOPLE, secret="age", released="job").compute(told.append)
    assert told[-1] == 1.0


def test_the_row_is_one_object_everywhere():
    assert hartley.ROW is ROW
    assert type(ROW)() is ROW
    assert repr(ROW) == "hartley.ROW"
    assert copy.copy(ROW) is copy.deepcopy(ROW) is ROW
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(ROW, protocol)) is ROW  # noqa: S301 - our own bytes


@pytest.mark.parametrize("pairs", [[], [(1, 2, 3)], [(1,)], [(1, 2), (3,)], [1, 2]])
def test_what_is_no_list_of_pairs_is_refused(pairs):
    with pytest.raises(TableError, match=r"pairs.*; hint: "):
        Relation.from_pairs(pairs)


@pytest.mark.parametrize("pair", [([1], 2), (1, {2}), ({}, {})])
def test_values_that_cannot_be_compared_are_refused(pair):
    with pytest.raises(TableError, match=r"cannot be compared.*; hint: "):
        Relation.from_pairs([pair])


@pytest.mark.parametrize("given_sides", [{}, {"secret": 1, "released": "a"}, {"other": 1}])
def test_a_conditional_range_is_given_exactly_one_side(given_sides):
    with pytest.raises(OptionError, match="one side; hint: "):
        Relation.from_pairs([(1, "a")]).conditional_range(**given_sides)


@pytest.mark.parametrize("side", ["secret", "released"])
@pytest.mark.parametrize("value", ["SECRET-7741", [], None])
def test_a_value_outside_the_range_is_refused_without_being_repeated(side, value):
    relation = Relation.from_table(PEOPLE, secret="age", released="height")
    with pytest.raises(OptionError, match=r"not in the range of .*; hint: ") as error:
        relation.conditional_range(**{side: value})
    assert "SECRET-7741" not in str(error.value)


@pytest.mark.parametrize("record", [-1, 5, 2.5, "x", None])
def test_a_record_that_does_not_exist_is_refused(record):
    relation = Relation.from_table(PEOPLE, secret=ROW, released="job")
    partition = hartley.ranges.overlap_partition(relation)
    with pytest.raises(OptionError, match="record asked for does not exist; hint: "):
        partition.secret_class(record)


def test_bins_name_columns_that_are_used():
    with pytest.raises(ColumnError, match=r"'height'.*neither secret nor released; hint: "):
        Relation.from_table(PEOPLE, secret="age", released="job", bins={"height": 5})


# --- the overlap partition: the finest one whose classes never overlap ----------------------------

pairs = st.lists(st.tuples(st.integers(0, 7), st.sampled_from("abcdef")), min_size=1, max_size=25)


@given(pairs)
def test_classes_are_the_components_of_the_bipartite_graph(drawn):
    graph = nx.Graph(drawn)
    expected = {
        (
            frozenset(n for n in found if isinstance(n, int)),
            frozenset(n for n in found if isinstance(n, str)),
        )
        for found in nx.connected_components(graph)
    }
    classes = overlap_partition(Relation.from_pairs(drawn)).classes()
    assert {(frozenset(x), frozenset(y)) for x, y in classes} == expected
    assert len(classes) == len(expected)


@given(pairs)
def test_no_two_classes_share_a_value_and_every_pair_lies_in_one(drawn):
    partition = overlap_partition(Relation.from_pairs(drawn))
    for one, other in combinations(partition.classes(), 2):
        assert not set(one[0]) & set(other[0])
        assert not set(one[1]) & set(other[1])
    for secret, released in drawn:
        assert partition.secret_class(secret) == partition.released_class(released)
        assert secret in partition.classes()[partition.secret_class(secret)][0]


@given(pairs)
def test_both_sides_see_the_same_classes(drawn):
    relation = Relation.from_pairs(drawn)
    here, there = overlap_partition(relation), overlap_partition(relation.swap())
    assert len(here) == len(there)
    swapped = {(frozenset(y), frozenset(x)) for x, y in there.classes()}
    assert {(frozenset(x), frozenset(y)) for x, y in here.classes()} == swapped


@given(pairs)
def test_what_never_overlaps_is_never_merged(drawn):
    doubled = [((side, x), (side, y)) for side in (0, 1) for x, y in drawn]
    once = overlap_partition(Relation.from_pairs(drawn))
    assert len(overlap_partition(Relation.from_pairs(doubled))) == 2 * len(once)


def test_one_value_a_side_is_one_class():
    partition = overlap_partition(Relation.from_pairs([(1, "a")] * 3))
    assert len(partition) == 1
    assert partition.classes() == [([1], ["a"])]


def test_records_fall_into_the_classes_of_what_they_release():
    relation = Relation.from_table({"job": ["x", "y", "x"]}, secret=ROW, released="job")
    assert overlap_partition(relation).classes() == [([0, 1], ["x"]), ([2], ["y"])]


def test_a_value_outside_the_range_has_no_class():
    partition = overlap_partition(Relation.from_pairs([(1, "a")]))
    with pytest.raises(OptionError, match="; hint: "):
        partition.secret_class(2)
    with pytest.raises(OptionError, match="; hint: "):
        partition.released_class("b")
