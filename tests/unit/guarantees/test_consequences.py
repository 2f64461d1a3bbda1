"""Every consequence that a certificate lists holds for every person and all data of the others."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise, product

import pytest
from hypothesis import given, settings, strategies as st

from hartley import (
    PolicyDocument,
    Relation,
    UniformQuantizer,
    analyse_hypothesis,
    certify,
    maximal_leakage,
    maximin_information,
    nonstochastic_leakage,
)
from hartley.guarantees.consequences import estimation_error, of_hypothesis_privacy
from hartley.measures import symmetric_leakage, zero_error_capacity_bound
from hartley.policies import QuantizedColumn

POINTS = 7


def mean_policy(people, *levels):
    """Return a policy that releases the mean of people in [0, 1], once or several times."""
    return PolicyDocument(
        tuple(
            QuantizedColumn(f"m{k}", UniformQuantizer(0, 1, n), of="mean(x)")
            for k, n in enumerate(levels)
        ),
        design={"people": people, "columns": {"x": ["0", "1"]}},
    )


def neighbourhoods(people, release):
    """Yield, for all data of the others, what each value of one person is released as."""
    grid = [Fraction(k, POINTS - 1) for k in range(POINTS)]
    for others in product(grid, repeat=people - 1):
        yield [(x, release((x + sum(others)) / people)) for x in grid]


def numbers(certificate):
    return {consequence.name: consequence.value for consequence in certificate.consequences}


@pytest.mark.slow
@given(
    people=st.integers(1, 3),
    levels=st.integers(1, 8),
    after=st.lists(st.integers(0, 2), min_size=8, max_size=8),
)
@settings(max_examples=25, deadline=None)
def test_no_person_and_no_data_of_the_others_exceed_what_is_listed(people, levels, after):
    found = numbers(certify(mean_policy(people, levels)))
    cell = UniformQuantizer(0, 1, levels).cell
    for pairs in neighbourhoods(people, cell):
        relation = Relation.from_pairs(pairs)
        # Theorem 1: maximin information, symmetrised leakage, leakage from the output's side.
        for told in (maximin_information, symmetric_leakage):
            assert told(relation) <= found["information leakage"] + 1e-12
        assert nonstochastic_leakage(relation.swap()) <= found["information leakage"] + 1e-12
        # Theorem 2 and Theorem 5.
        assert zero_error_capacity_bound(relation) <= found["zero-error capacity"] + 1e-9
        assert maximal_leakage(relation) <= found["stochastic maximal leakage"] + 1e-12
        # Theorem 7.
        processed = {(x, after[y]) for x, y in pairs}
        outputs = len({y for _, y in processed})
        assert math.log2(outputs) <= found["post-processing"] + 1e-12
        # Theorem 3, for the first value against every other.
        for pair in pairs[1:]:
            bound = analyse_hypothesis(
                Relation.from_pairs([pairs[0], pair]), {pairs[0][0]}
            ).performance_bound
            assert bound in (1.0, -math.inf)
            assert bound <= found["hypothesis tests"]


def test_the_listed_numbers_do_not_bound_the_other_direction_of_the_leakage():
    # Two outputs, one bit; but one of them leaves a tenth of the person's values.
    certificate = certify(mean_policy(1, 2))
    (leakage,) = (
        consequence
        for consequence in certificate.consequences
        if consequence.name == "information leakage"
    )
    rare = Relation.from_pairs([(x, x == 0) for x in range(10)])
    assert nonstochastic_leakage(rare.swap()) == leakage.value == 1
    assert nonstochastic_leakage(rare) == pytest.approx(math.log2(10))
    assert "This does not bound L₀(Xᵢ;Y)" in leakage.sentence


@pytest.mark.slow
@given(people=st.integers(1, 3), one=st.integers(1, 6), other=st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_two_releases_together_tell_no_more_than_their_sum(people, one, other):
    first, second = (numbers(certify(mean_policy(people, n))) for n in (one, other))
    both = certify(mean_policy(people, one, other))
    cells = [UniformQuantizer(0, 1, n).cell for n in (one, other)]
    for pairs in neighbourhoods(people, lambda mean: tuple(cell(mean) for cell in cells)):
        told = math.log2(len({y for _, y in pairs}))
        assert told <= both.value + 1e-12
        assert told <= (first["composition"] + second["composition"]) / 2 + 1e-12


@pytest.mark.slow
@given(
    people=st.integers(1, 4), levels=st.integers(1, 9), others=st.fractions(0, 1, max_denominator=9)
)
@settings(max_examples=100, deadline=None)
def test_nobody_estimates_a_person_better_than_the_corrected_theorem_allows(people, levels, others):
    # The others' mean is known; the cells cut the person's range, and medians and means are best.
    found = numbers(certify(mean_policy(people, levels)))["estimation error"]
    shift = others * (people - 1)
    places = (people * Fraction(k, levels) - shift for k in range(levels + 1))
    cuts = sorted({Fraction(0), Fraction(1), *(place for place in places if 0 < place < 1)})
    lengths = [b - a for a, b in pairwise(cuts)]
    assert Fraction(found) <= sum(n**2 for n in lengths) / 4
    assert Fraction(found) ** 2 * Fraction(4, 3) <= sum(n**3 for n in lengths) / 12 + 1e-15


@given(length=st.fractions(Fraction(1, 50), 50, max_denominator=60), outputs=st.integers(1, 60))
def test_equal_cells_attain_the_corrected_estimation_error(length, outputs):
    found = estimation_error(length, outputs)
    truth = length / (4 * outputs)  # what the middles of equal cells achieve
    assert Fraction(found.value) <= truth
    assert found.value == pytest.approx(float(truth), rel=1e-15)
    shown = found.sentence.split(" errs by ")[1].split(" on average")[0]
    assert 0 <= 1 - Fraction(shown.replace(",", "")) / truth < Fraction(1, 1000)
    root = found.sentence.split(", and by ")[1].split(" in the root")[0]
    square = length**2 / (12 * outputs**2)
    assert 0 <= 1 - Fraction(root.replace(",", "")) ** 2 / square < Fraction(2, 1000)


@pytest.mark.parametrize("levels", [2, 3, 4, 7])
def test_the_mean_of_two_has_the_numbers_of_paper_a(levels):
    policy = PolicyDocument(
        (QuantizedColumn("m", UniformQuantizer(-2, 2, levels), of="mean(x)"),),
        design={"people": 2, "columns": {"x": ["-2", "2"]}},
    )
    found = numbers(certify(policy))
    assert found["maximin information"] == pytest.approx(math.log2(levels))
    assert found["leakage"] == pytest.approx(math.log2(levels**2 / 2))
    assert found["reconstruction error"] == pytest.approx(4 * math.sqrt(2) / levels)
    assert found["indistinguishability"] == pytest.approx(
        math.log2(min(levels, levels // 2 + -(-levels // 2) - 1))
    )


@pytest.mark.slow
@given(
    epsilon=st.fractions(Fraction(1, 1000), 1000, max_denominator=1000),
    right=st.fractions(Fraction(1, 2), 1, max_denominator=1000),
)
def test_the_numbers_of_a_hypothesis_are_rounded_to_the_safe_side(epsilon, right):
    leak, success, _ = of_hypothesis_privacy(epsilon, right)
    with localcontext(prec=50):
        ratio = 1 + 1 / epsilon
        truth = (Decimal(ratio.numerator) / ratio.denominator).ln() / Decimal(2).ln()
        assert 0 <= Decimal(leak.value) - truth < truth * Decimal("1e-14")
    assert Fraction(success.value) <= right
    assert success.value == pytest.approx(float(right))


def test_an_open_and_a_hidden_hypothesis_have_the_ends_of_the_numbers():
    nothing = [one.value for one in of_hypothesis_privacy(Fraction(0), Fraction(1))[:2]]
    everything = [one.value for one in of_hypothesis_privacy(None, Fraction(1, 2))[:2]]
    assert (nothing, everything) == ([math.inf, 1.0], [0.0, 0.5])
