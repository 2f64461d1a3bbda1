"""Noiseless privacy over any joint range: every mechanism of small ranges, by definition."""

import random
from itertools import combinations, product

import pytest

from hartley import Relation, maximin_information, noiseless_privacy, nonstochastic_leakage
from hartley.measures import symmetric_leakage

PAIRS = list(product(range(2), range(3)))
"""Two people, one of two values and one of three."""


def outputs_given_the_others(mechanism, joint, group):
    """Definition 1, as it stands: for all data of the others, the outputs of one person."""
    others = {tuple(v for k, v in enumerate(x) if k not in group) for x in joint}
    return max(
        len(
            {
                y
                for x in joint
                if tuple(v for k, v in enumerate(x) if k not in group) == rest
                for y in mechanism[x]
            }
        )
        for rest in others
    )


def classes_of(pairs):
    """The overlap partition: sets of values joined as long as they share an output."""
    classes = [({x}, {y}) for x, y in pairs]
    merged = True
    while merged:
        merged = False
        for one, other in combinations(classes, 2):
            if one[0] & other[0] or one[1] & other[1]:
                classes = [c for c in classes if c is not one and c is not other]
                classes.append((one[0] | other[0], one[1] | other[1]))
                merged = True
                break
    return len(classes)


def learned_by_anyone(mechanism, joint, group):
    """The most classes over every set of known coordinates and every value of them."""
    rest = [k for k in range(len(joint[0])) if k not in group]
    most = 0
    for size in range(len(rest) + 1):
        for known in combinations(rest, size):
            for values in {tuple(x[k] for k in known) for x in joint}:
                pairs = {
                    (tuple(x[k] for k in group), y)
                    for x in joint
                    if tuple(x[k] for k in known) == values
                    for y in mechanism[x]
                }
                most = max(most, classes_of(pairs))
    return most


def is_product(joint, groups):
    possible = 1
    for group in groups:
        possible *= len({tuple(x[k] for k in group) for x in joint})
    return possible == len(set(joint))


def check(mechanism, joint, groups):
    """Compare everything with its definition; return whether anyone learns more than N."""
    people = [group[0] if len(group) == 1 else group for group in groups]
    result = noiseless_privacy(mechanism, joint, people)
    counts = [outputs_given_the_others(mechanism, joint, group) for group in groups]
    assert [count for _, count in result.by_person] == counts
    assert result.outputs == max(counts)
    assert result.unrelated == is_product(joint, groups)
    exceeded = False
    for person, group in zip(people, groups, strict=True):
        learned = result.learned_by_anyone(person).classes
        assert learned == learned_by_anyone(mechanism, joint, group)
        exceeded |= learned > result.outputs
        if result.unrelated:
            # Section: unrelated people or groups; nobody learns more, whatever they know.
            assert learned <= result.outputs
            for k in group:
                assert result.learned_by_anyone(k).classes <= result.outputs
    return exceeded


@pytest.mark.slow
def test_every_mechanism_of_two_people():
    exceeded = 0
    for outputs in product(range(3), repeat=len(PAIRS)):
        mechanism = {x: {y} for x, y in zip(PAIRS, outputs, strict=True)}
        exceeded += check(mechanism, PAIRS, [(0,), (1,)])
    assert exceeded == 0


@pytest.mark.slow
def test_every_mechanism_of_every_joint_range_of_two_bits():
    exceeded = 0
    square = list(product((0, 1), repeat=2))
    for size in range(1, 5):
        for joint in combinations(square, size):
            for outputs in product(range(3), repeat=size):
                mechanism = {x: {y} for x, y in zip(joint, outputs, strict=True)}
                exceeded += check(mechanism, list(joint), [(0,), (1,)])
    assert exceeded > 0, "related people must break the number without everybody else's data"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_random_channels_on_random_joint_ranges_with_groups(seed):
    draw = random.Random(seed)  # noqa: S311 - seeded, so that it can be repeated
    for _ in range(25):
        size = draw.randint(2, 4)
        box = list(product(range(draw.randint(2, 3)), repeat=size))
        joint = draw.sample(box, draw.randint(2, min(len(box), 14)))
        mechanism = {x: set(draw.choices(range(4), k=draw.choice((1, 1, 2)))) for x in joint}
        places = list(range(size))
        draw.shuffle(places)
        cut = draw.randint(1, size)
        groups = [tuple(places[:cut]), *((k,) for k in places[cut:])]
        check(mechanism, joint, groups)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_related_pair_counts_together_beside_an_unrelated_person(seed):
    """[X] = [X_G] x [X_-G]: what the pair can produce bounds what is told about each of it."""
    draw = random.Random(seed)  # noqa: S311 - seeded, so that it can be repeated
    for _ in range(25):
        pair = draw.sample(list(product(range(3), repeat=2)), 4)
        joint = [(*two, third) for two in pair for third in range(2)]
        mechanism = {x: {draw.randrange(4)} for x in joint}
        check(mechanism, joint, [(0, 1), (2,)])


def test_without_the_others_data_the_maximin_information_alone_is_bounded():
    """Y = 0 if x = 0 else v: two values of the person who sets x, given v; eight without it."""
    joint = list(product(range(8), range(1, 8)))
    result = noiseless_privacy(lambda pair: pair[1] if pair[0] else 0, joint)
    assert dict(result.by_person) == {0: 2, 1: 7}
    assert result.unrelated
    assert result.learned_by_anyone(0).classes == 2
    without = Relation.from_pairs([(x, v if x else 0) for x, v in joint])
    assert maximin_information(without) == 1.0
    assert symmetric_leakage(without) == nonstochastic_leakage(without.swap()) == 3.0
