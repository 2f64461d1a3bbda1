"""Noiseless privacy of functions, channels, arrays, tables and relations."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from hartley import Channel, OptionError, Relation, TableError, noiseless_privacy

TWINS = [(value, value) for value in range(4)]
EVEN = [bits for bits in product((0, 1), repeat=3) if sum(bits) % 2 == 0]
EQUAL = [(Fraction(k, 20),) * 10 for k in range(21)]
FEW = [counts for counts in product(range(3), repeat=3) if sum(counts) <= 2]


def mean_in_ten_cells(values):
    return min(int(sum(values)), 9)  # ten people: a tenth of the sum, in cells of a tenth


def first(values):
    return values[0]


def median(values):
    return sorted(values)[1]


@pytest.mark.parametrize(
    ("mechanism", "joint", "outputs", "to_anyone", "as_one"),
    [
        (first, TWINS, 1, 4, 4),
        (first, EVEN, 1, 2, 2),
        (mean_in_ten_cells, EQUAL, 1, 10, 10),
    ],
    ids=["twins", "parity", "ten equal people"],
)
def test_related_people_tell_more_than_given_the_others(
    mechanism, joint, outputs, to_anyone, as_one
):
    alone = noiseless_privacy(mechanism, joint)
    assert (alone.outputs, alone.unrelated) == (outputs, False)
    assert alone.learned_by_anyone(0).classes == to_anyone
    everybody = tuple(range(len(joint[0])))
    together = noiseless_privacy(mechanism, joint, people=[everybody])
    assert (together.outputs, together.unrelated, together.others) == (as_one, True, ())
    assert together.person == everybody


@pytest.mark.parametrize(
    ("mechanism", "values", "people", "outputs"),
    [
        (lambda bits: sum(bits) >= 3, (0, 1), 5, 2),
        (max, range(5), 3, 5),
        (median, range(5), 3, 5),
    ],
    ids=["majority", "max", "median"],
)
def test_unrelated_people(mechanism, values, people, outputs):
    result = noiseless_privacy(mechanism, product(values, repeat=people))
    assert (result.outputs, result.unrelated) == (outputs, True)
    assert result.by_person == tuple((person, outputs) for person in range(people))
    # What the others' data is said to allow, it allows.
    mine = {
        mechanism((*result.others[: result.person], v, *result.others[result.person :]))
        for v in values
    }
    assert len(mine) == outputs


def test_a_total_that_is_bounded_leaves_most_to_the_one_beside_zeros():
    result = noiseless_privacy(sum, FEW)
    assert (result.outputs, result.others, result.unrelated) == (3, (0, 0), False)
    assert result.bits == pytest.approx(1.584962500721156)
    assert result.bits >= 1.584962500721156


def test_somebody_who_knows_less_may_learn_more_than_the_number():
    # x1 in 0..3 with x2 = x1 + 1, both in cells of two: two rows tell x1.
    joint = [(x, x + 1) for x in range(4)]
    result = noiseless_privacy(lambda pair: (pair[0] // 2, pair[1] // 2), joint)
    learned = result.learned_by_anyone(0)
    # The outputs are 00, 01, 11 and 12.
    assert (result.outputs, learned.classes, learned.known, learned.bits) == (1, 4, (), 2.0)
    assert "none of the other data" in str(learned)


def test_what_is_known_is_named_with_its_values():
    # The exclusive or tells the first bit to somebody who knows the second, and else nothing.
    result = noiseless_privacy(lambda x: x[0] ^ x[1], product((0, 1), repeat=2))
    learned = result.learned_by_anyone(0)
    assert (learned.classes, learned.known, len(learned.values)) == (2, (1,), 1)
    assert "coordinate 1 can tell 2 sets of values of coordinate 0 apart" in str(learned)


@pytest.mark.parametrize(
    "channel",
    [
        {(0,): {"a"}, (1,): {"a", "b"}, (2,): "c"},
        {(0,): {"a": 1}, (1,): {"a": 0.5, "b": Fraction(1, 2), "d": 0}, (2,): {"c": 1}},
    ],
    ids=["sets", "distributions"],
)
def test_a_channel_counts_every_output_that_is_possible(channel):
    assert noiseless_privacy(channel).outputs == 3
    assert noiseless_privacy(channel, [(0,), (1,)]).outputs == 2
    assert noiseless_privacy(channel.__getitem__, list(channel)).outputs == 3


def test_a_matrix_is_a_channel_with_a_row_a_dataset():
    channel = Channel.of([[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]])
    assert noiseless_privacy(channel, [(0, 0), (0, 1), (1, 0)]).by_person == ((0, 2), (1, 2))


@pytest.mark.slow
def test_relations_arrays_and_tables_count_alike():
    joint = np.array([x for x in product(range(-2, 3), repeat=3) if sum(x) <= 2])
    outputs = joint.sum(axis=1) // 2
    expected = noiseless_privacy(lambda x: sum(x) // 2, map(tuple, joint.tolist()))
    columns = {name: joint[:, place] for place, name in enumerate("abc")}
    relation = Relation.from_pairs(zip(map(tuple, joint.tolist()), outputs.tolist(), strict=True))
    counted = [
        noiseless_privacy(outputs, joint),
        noiseless_privacy(outputs.astype(float), joint.astype(float)),
        noiseless_privacy(outputs.astype(object), joint.astype(object)),
        noiseless_privacy(outputs.astype(str), joint.astype(str)),
        noiseless_privacy(np.stack([outputs % 2, outputs // 2], axis=1), joint),
        noiseless_privacy("out", columns | {"out": outputs}),
        noiseless_privacy(["low", "high"], columns | {"low": outputs % 2, "high": outputs // 2}),
        noiseless_privacy(relation),
        noiseless_privacy(
            Relation.from_table(columns | {"out": outputs}, secret=list("abc"), released="out")
        ),
    ]
    for result in counted:
        assert [n for _, n in result.by_person] == [n for _, n in expected.by_person]
        assert result.unrelated is expected.unrelated is False
        assert len(result.others) == 2
    assert counted[5].person in ("a", "b", "c")
    assert (
        counted[5].learned_by_anyone("b").classes
        == expected.learned_by_anyone(1).classes
        == counted[0].learned_by_anyone(1).classes
    )


def test_a_missing_value_is_a_value_of_a_table():
    table = {"x": [0, 0, None, None], "y": [0, 1, 0, 1], "out": ["a", "b", None, "b"]}
    result = noiseless_privacy("out", table)
    assert dict(result.by_person) == {"x": 2, "y": 2}
    assert result.unrelated


@pytest.mark.parametrize("people", [2, 4, 6, 8])
def test_codes_of_any_width_count_alike(people):
    """Few pairs are marked in a table, more are sorted, and what does not fit is numbered anew."""
    rng = np.random.default_rng(people)
    base = rng.integers(0, 3_000, (20, people))
    joint = np.repeat(base, 20, axis=0)
    rows = np.arange(len(joint))
    joint[rows, rng.integers(0, people, len(joint))] = rng.integers(0, 3_000, len(joint))
    outputs = joint.sum(axis=1) // 3 % 2_900
    expected = noiseless_privacy(lambda x: sum(x) // 3 % 2_900, joint)
    assert expected.outputs > 2
    spread = outputs * 2**50, (joint - 1_500) * 2**49
    for result in (noiseless_privacy(outputs, joint), noiseless_privacy(*spread)):
        assert result.by_person == expected.by_person
        assert result.unrelated is expected.unrelated
    halves = noiseless_privacy(outputs / 7, joint / 3, people=[(0, 1), *range(2, people)])
    pairs = noiseless_privacy(outputs, joint, people=[(0, 1), *range(2, people)])
    assert halves.by_person == pairs.by_person


def test_sentences_say_what_holds_with_and_without_the_others():
    unrelated = noiseless_privacy(max, product(range(5), repeat=3))
    given, leakage, less, random = unrelated.sentences
    assert given.startswith("Given everybody else's data, the output is one of at most 5 values")
    assert "does not bound L₀(Xᵢ;Y)" in leakage
    assert "does not depend on the others' data" in less
    assert "independent of the others" in random
    related = noiseless_privacy(first, TWINS)
    _, _, less, random = related.sentences
    assert less.startswith("People are related")
    assert "nothing follows from this number" in less
    assert "may be more" in random
    grouped = noiseless_privacy(first, TWINS, people=[(0, 1)])
    assert "listed together count as one person" in str(grouped)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((max,), "The possible datasets are missing"),
        ((max, []), "none, empty or not all of one length"),
        ((max, [(1, 2), (1,)]), "none, empty or not all of one length"),
        ((max, [1, 2]), "not a list of tuples"),
        ((max, ["01", "10"]), "not a list of tuples"),
        ((max, {"x": [1, 2]}), "are not named"),
        ((lambda _: [], [(1,)]), "cannot be compared"),
        ((lambda _: set(), [(1,)]), "has no possible output"),
        (({(1,): {0: -1}},), "negative"),
        (({(1,): {0: float("nan")}},), "negative or not a number"),
        (({(1,): 0}, [(1,), (2,)]), "says nothing about one"),
        ((3, [(1,)]), "is not a mechanism"),
        ((np.zeros(2), np.zeros((3, 2))), "not one output for every row"),
        ((np.zeros(3), np.zeros(3)), "one row a dataset"),
        ((Channel.of([[1.0]]), [(1,), (2,)]), "one row for every possible dataset"),
        ((Relation.from_pairs([((0,), 1)]), [(0,)]), "lists its own datasets"),
        ((max, [(1, 2)], [0]), "Coordinate 1 belongs to nobody"),
        ((max, [(1, 2)], [(0, 1), 1]), "Coordinate 1 belongs to two people"),
        ((max, [(1, 2)], [0, 2]), "There is no coordinate 2"),
        ((max, [(1, 2)], [(), 0, 1]), "no coordinate, or one twice"),
        ((max, [(1, 2)], "01"), "The people are not a list"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, problem):
    with pytest.raises(OptionError, match=problem):
        noiseless_privacy(*arguments)


def test_a_table_needs_data_beside_its_outputs():
    with pytest.raises(TableError, match="No column of the table is left"):
        noiseless_privacy("out", {"out": [1, 2]})


def test_what_anyone_learns_is_refused_of_many_coordinates():
    result = noiseless_privacy(max, [(0,) * 13, (1,) * 13])
    with pytest.raises(OptionError, match="up to 12 coordinates"):
        result.learned_by_anyone(0)
