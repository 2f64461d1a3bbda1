"""The numbers of the papers on finite ranges, as corrected, each also found by plain counting."""

import csv
import math
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path

import pytest

from hartley import (
    ROW,
    Channel,
    JointDistribution,
    Relation,
    guessing_leakage,
    maximal_guessing_leakage,
    maximal_leakage,
    maximin_information,
    nonstochastic_leakage,
    worst_attribute,
)
from hartley.measures import nonstochastic_information, symmetric_leakage, zero_error_capacity_bound

HEART = Path(__file__).parents[2].parent / "shared" / "data" / "heart" / "processed.hungarian.data"
COLUMNS = (
    *("age", "sex", "cp", "trestbps", "chol", "fbs", "restecg"),
    *("thalach", "exang", "oldpeak", "slope", "ca", "thal", "num"),
)
HEART_IS_HERE = pytest.mark.skipif(
    not HEART.is_file(), reason="the heart data is not committed; it stands in ../shared"
)


def printed(value):
    """Compare with a number that was printed to six decimals."""
    return pytest.approx(value, abs=5e-7)


# --- Farokhi and Ding 2021, Example 1: majority vote, ties count as 1 ---------------------------

VOTES = [
    # voters, L(X->Y), L*(X->Y), L(Xi->Y)
    (1, 1, 1, 1),
    (2, 2, 2, 1),
    (3, 1, 2.321928, 0),
    (4, 1.678072, 3.584963, 0),
    (5, 1, 4.087463, 0),
    (6, 1.540568, 5.426265, 0),
    (7, 1, 6.022368, 0),
    (8, 1.460841, 7.357552, 0),
]


def majority_vote(voters):
    votes = product((0, 1), repeat=voters)
    return Relation.from_pairs((vote, int(2 * sum(vote) >= voters)) for vote in votes)


@pytest.mark.parametrize(("voters", "everything", "worst", "one"), VOTES)
def test_majority_vote_leaks_the_numbers_of_example_1(voters, everything, worst, one):
    relation = majority_vote(voters)
    assert guessing_leakage(relation) == printed(everything)
    assert nonstochastic_leakage(relation) == printed(everything)
    assert maximal_guessing_leakage(relation) == printed(worst)
    assert maximin_information(relation) == 1
    for voter in range(voters):
        assert guessing_leakage(relation, lambda vote, voter=voter: vote[voter]) == one


@pytest.mark.parametrize(("voters", "everything", "worst"), [row[:3] for row in VOTES])
def test_the_numbers_of_example_1_follow_from_binomial_coefficients(voters, everything, worst):
    fewest = sum(math.comb(voters, k) for k in range((voters + 1) // 2))
    assert voters - math.log2(fewest) == printed(everything)
    assert math.log2(2**voters - fewest + 1) == printed(worst)
    attribute = worst_attribute(majority_vote(voters))
    assert (attribute.merged_count, attribute.values) == (fewest, 2**voters - fewest + 1)
    if 2 * fewest < 2**voters:
        assert attribute.released == 0  # a tie makes "no" the rarer outcome


# --- channels -----------------------------------------------------------------------------------


def test_the_binary_symmetric_channel_leaks_by_chance_and_never_for_certain():
    matrix = [[0.9, 0.1], [0.1, 0.9]]
    assert maximal_leakage(matrix) == printed(0.847997)
    assert maximal_leakage(Channel.of(matrix)) == printed(0.847997)
    joint = JointDistribution.of([[0.45, 0.05], [0.05, 0.45]])
    assert maximal_leakage(joint) == printed(0.847997)
    support = Relation.from_pairs(product((0, 1), repeat=2))
    assert maximin_information(support) == maximal_guessing_leakage(support) == 0


def test_the_pentagon_has_the_numbers_of_the_corrected_remark_2():
    pairs = [(x, y % 5) for x in range(5) for y in (x, x + 1)]
    relation = Relation.from_pairs(pairs)
    assert zero_error_capacity_bound(relation) == printed(1.321928)  # log2 of 5/2
    two_apart = Relation.from_pairs([(x, y) for x, y in pairs if x in (0, 2)])
    assert maximin_information(two_apart) == 1
    words = [(x, 2 * x % 5) for x in range(5)]  # Shannon's code: five words, two uses
    outputs = [set(product((a, (a + 1) % 5), (b, (b + 1) % 5))) for a, b in words]
    assert all(not one & other for one in outputs for other in outputs if one is not other)
    assert math.log2(len(words)) / 2 == printed(1.160964)
    assert 1.160964 < zero_error_capacity_bound(relation) <= maximal_guessing_leakage(relation)


def test_one_value_in_a_hundred_costs_one_bit_in_one_direction_only():
    relation = Relation.from_pairs([(x, int(x == 1)) for x in range(1, 101)])
    assert nonstochastic_leakage(relation.swap()) == symmetric_leakage(relation) == 1
    assert nonstochastic_leakage(relation) == printed(6.643856)


def test_three_pairs_show_that_the_maximal_leakage_has_a_direction():
    relation = Relation.from_pairs([("x1", "y1"), ("x2", "y1"), ("x3", "y2")])
    assert maximal_guessing_leakage(relation) == printed(1.584963)
    assert maximal_guessing_leakage(relation.swap()) == 1


# --- Farokhi and Ding 2021, Section VI: heart data ----------------------------------------------


@pytest.fixture(scope="module")
def heart():
    with HEART.open(newline="") as file:
        rows = [[None if cell == "?" else float(cell) for cell in row] for row in csv.reader(file)]
    return dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))


def pairs_present(heart, secret, released, step):
    """Return (secret, centre of the bin) of the rows in which both are present."""
    rows = enumerate(zip(heart["age"], heart[released], strict=True))
    return [
        (number if secret is ROW else age, step * (math.floor(value / step) + 0.5))
        for number, (age, value) in rows
        if value is not None and (secret is ROW or age is not None)
    ]


def counted(pairs):
    """Return sizes, L, L*, I0 and I* in bits by counting with sets."""
    ranges = defaultdict(set)
    for x, y in pairs:
        ranges[y].add(x)
    secrets, left = len({x for x, _ in pairs}), [len(xs) for xs in ranges.values()]
    classes = []
    for xs in ranges.values():
        meeting = [block for block in classes if block & xs]
        classes = [block for block in classes if not block & xs] + [xs.union(*meeting)]
    return {
        "sizes": (len(pairs), secrets, len(ranges)),
        "L": math.log2(secrets / min(left)),
        "L*": math.log2(secrets - min(left) + 1),
        "I0": math.log2(secrets / max(left)),
        "I*": math.log2(len(classes)),
    }


def measured(relation):
    return {
        "sizes": (relation.rows, len(relation.secret_range), len(relation.released_range)),
        "L": guessing_leakage(relation),
        "L*": maximal_guessing_leakage(relation),
        "I0": nonstochastic_information(relation),
        "I*": maximin_information(relation),
    }


AGE = "age"
ORACLES = [
    pytest.param(
        *(AGE, "chol", 10),
        {"sizes": (271, 37, 37), "L": 5.209453, "L*": 5.209453, "I*": 1, "I0": 1.121991},
        id="age-cholesterol-10",
    ),
    pytest.param(
        *(AGE, "trestbps", 50), {"sizes": (293, 38, 4), "I0": 0.078003}, id="age-pressure-50"
    ),
    pytest.param(*(ROW, "chol", 10), {"L": 8.082149}, id="record-cholesterol-10"),
]


def within(heart, secret, released, bins):
    """Relate columns as the paper does: people without a value are left out."""
    return Relation.from_table(heart, secret=secret, released=released, bins=bins, missing="drop")


@HEART_IS_HERE
@pytest.mark.parametrize(("secret", "released", "step", "wanted"), ORACLES)
def test_the_heart_data_leak_the_numbers_on_record(heart, secret, released, step, wanted):
    relation = within(heart, secret, released, {released: step})
    found, expected = measured(relation), counted(pairs_present(heart, secret, released, step))
    for name, value in wanted.items():
        assert found[name] == printed(value)
        assert expected[name] == printed(value)


@HEART_IS_HERE
@pytest.mark.parametrize("secret", [AGE, ROW], ids=["age", "record"])
@pytest.mark.parametrize("released", ["chol", "trestbps"])
@pytest.mark.parametrize("step", [1, 7, 10, 25, 50])
def test_the_heart_data_leak_what_counting_finds_at_every_resolution(heart, secret, released, step):
    relation = within(heart, secret, released, {released: step})
    pairs = pairs_present(heart, secret, released, step)
    assert set(relation.released_range) == {y for _, y in pairs}
    expected = counted(pairs)
    for name, value in measured(relation).items():
        assert value == pytest.approx(expected[name], abs=1e-12)


@HEART_IS_HERE
def test_only_the_record_as_secret_reaches_the_published_axis(heart):
    # Figure 4 shows L* from 8 to 8.2; the age has 38 values, so it stays below log2 38 = 5.25.
    for released, step in product(("chol", "trestbps"), (5, 20, 50)):
        bins = {released: step}
        record = within(heart, ROW, released, bins)
        assert 8 <= maximal_guessing_leakage(record) <= 8.2
        k = min(Counter(y for _, y in pairs_present(heart, ROW, released, step)).values())
        assert min(record.summary.secret_sizes) == k
        assert guessing_leakage(record) == pytest.approx(math.log2(record.rows / k), abs=1e-12)
        age = within(heart, AGE, released, bins)
        assert maximal_guessing_leakage(age) <= math.log2(38)


@HEART_IS_HERE
@pytest.mark.parametrize("released", ["chol", "trestbps"])
def test_stochastic_leakage_of_the_heart_data_is_above_the_maximin_information(heart, released):
    relation = within(heart, AGE, released, {released: 10})
    pairs = pairs_present(heart, AGE, released, 10)
    together, alone = Counter(pairs), Counter(x for x, _ in pairs)
    peaks = defaultdict(float)
    for (x, y), number in together.items():
        peaks[y] = max(peaks[y], number / alone[x])
    leakage = maximal_leakage(relation)
    assert leakage == pytest.approx(math.log2(math.fsum(peaks.values())), abs=1e-9)
    assert maximin_information(relation) < leakage < math.log2(min(len(alone), len(peaks)))
