"""Hypotheses that stay open beside columns without a step."""

import math
from fractions import Fraction

import numpy as np
import pytest

from hartley import HartleyError, InputError, Interval, PolicyDocument, certify, open_table
from hartley.policies import ContinuousMeetPolicy, LatticeColumn, read_column
from hartley.policies.hypotheses.open_records import OpenShare
from hartley.tables.column_map import apply_map

FIELDS = {
    "name": "kg",
    "kind": "meet",
    "hypothesis": "kg >= 30*(cm/100)**2",
    "low": "30",
    "high": "200",
    "step": "0.1",
    "reach": "2",
    "others": {"cm": ["120", "220"]},
}
KEPT = {"name": "cm", "kind": "keep", "low": "120", "high": "220"}


def document(**change):
    return PolicyDocument((read_column(FIELDS | change, 1), read_column(KEPT, 2)))


def released(policy, table):
    mapped = apply_map(open_table(table), policy.to_map())
    assert mapped.counts.rows == len(table["kg"])
    return mapped.expression.to_pyarrow().to_pydict()["kg"]


# Heights whose line is a tenth of a kilogram exactly (160: 76.8, 200: 120), and some that are not.
HEIGHTS = [160.0, 200.0, 220.0, 120.0, 170.1, 183.33333333333334, 150 * math.sqrt(1.1), 1e2 + 79.9]


@pytest.mark.parametrize("hypothesis", ["kg >= 30*(cm/100)**2", "30*(cm/100)**2 >= kg"])
@pytest.mark.parametrize("height", HEIGHTS)
def test_every_moved_record_has_partners_on_either_side(hypothesis, height):
    policy = document(hypothesis=hypothesis)
    weights = [(300 + k) / 10 for k in range(1701)]
    outputs = released(policy, {"kg": weights, "cm": [height] * len(weights)})
    line = 30 * (Fraction(height) / 100) ** 2
    above = [Fraction(300 + k, 10) >= line for k in range(1701)]
    if not hypothesis.startswith("kg"):
        above = [Fraction(300 + k, 10) <= line for k in range(1701)]
    sides = {}
    for output, side in zip(outputs, above, strict=True):
        sides.setdefault(output, set()).add(side)
    moved = [k for k, output in enumerate(outputs) if output != weights[k]]
    assert all(len(sides[outputs[k]]) == 2 for k in moved)
    assert all(abs(outputs[k] - weights[k]) < 2.0000001 for k in moved)
    opened = sum(len(sides[output]) == 2 for output in outputs)
    # D = 40 steps: 80 records, two fewer where the line may lie on a value.
    assert opened in ((78, 79, 80) if line * 10 == int(line * 10) else (80,))


def test_the_share_is_a_bound_from_below_that_counts_full_fibres():
    policy = read_column(FIELDS, 1).policy
    share = policy.count_open().share
    heights = np.linspace(120, 220, 20001)
    lines = (30 * (heights / 100) ** 2 - 30) * 10
    full = np.mean((np.ceil(lines) >= 40) & (1701 - np.ceil(lines) >= 40))
    assert share <= Fraction(80, 1701) * Fraction(float(full)) * Fraction(10001, 10000)
    assert share >= Fraction(80, 1701) * Fraction(float(full)) * Fraction(999, 1000)


def test_a_line_along_a_value_costs_two_records_of_every_fibre():
    """max(h, 5) lies on the value 5 for half of the heights, where doubles decide nothing."""
    policy = ContinuousMeetPolicy(
        "x >= max(h, 5)", {"x": LatticeColumn(0, 20, 1)}, {"h": Interval(0, 10)}, ["x"], 2
    )
    share = policy.count_open().share  # D = 4: lines between 3 and 17, 8 or 6 of 21 values
    assert share == Fraction(6, 21)
    assert policy.line_error < Fraction(1, 10**9)


def test_a_file_says_what_the_column_says_and_the_certificate_is_a_bound():
    policy = document(known_within="1.5")
    assert PolicyDocument.from_toml(policy.to_toml()) == policy
    promise = certify(policy)
    assert promise.certainty == "bound"
    assert promise.sound
    assert promise.claim.startswith("At least 1.76")  # 30 of 1701
    assert "cm from 120 to 220, any number between" in promise.assumptions[0]
    assert isinstance(policy.columns[0].all_left_open()[0].counts, OpenShare)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"kg": [70.0], "cm": [250.0]}, "1 value of column 'cm' is outside the declared range"),
        ({"kg": [70.0, 71.0], "cm": [150.0, None]}, "1 value of column 'cm' is missing"),
        ({"kg": [70.05], "cm": [150.0]}, "off the declared step"),
    ],
)
def test_a_release_refuses_what_the_promise_leaves_out(table, problem):
    with pytest.raises(HartleyError, match=problem) as caught:
        released(document(), table)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"hypothesis": ["kg >= cm/2", "kg >= cm"]}, "no rule for several hypotheses"),
        ({"possible": "kg >= 35"}, "no rule for the field 'possible'"),
        ({"round": "down"}, "no rule for the field 'round'"),
        ({"norm": "l1"}, "no rule for the field 'norm'"),
        ({"hypothesis": "kg + cm >= 200"}, "does not compare the moved column"),
        ({"hypothesis": "kg >= sqrt(cm)"}, "uses sqrt"),
        ({"hypothesis": "kg >= 1/(cm - 150)"}, "not defined everywhere"),
        ({"hypothesis": "kg >= 1e14*cm - 1e14*cm + 70"}, "not known well enough"),
        ({"reach": "0.01"}, "below one step"),
        ({"known_within": "0.01"}, "below one step"),
        ({"others": {"cm": ["120", "120"]}}, "single number"),
        ({"others": {"cm": ["220", "120"]}}, "empty"),
    ],
)
def test_what_makes_no_sense_is_refused(change, problem):
    with pytest.raises(InputError, match=problem) as caught:
        read_column(FIELDS | change, 1)
    assert caught.value.hint
