"""Blurring, stretching and meeting on whole kilograms and centimetres."""

from fractions import Fraction

import pytest

from hartley.boxes.box import Box
from hartley.policies.hypotheses.hypothesis import LatticeColumn
from hartley.policies.hypotheses.lines import (
    BlurringPolicy,
    StretchPolicy,
    Threshold,
    compare_policies,
)
from hartley.policies.hypotheses.meeting import MeetPolicy

OBESE = "w >= 30*(h/100)**2"


def compared(step, cm, reach, within=()):
    columns = {"w": LatticeColumn(30, 200, step), "h": LatticeColumn(120, 220, cm)}
    rows = compare_policies(OBESE, columns, reach, within)
    return {row.name: row for row in rows}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "cm", "reach", "expected"),
    [
        ("1", "1", "4.3", {"blur": (872, 101), "stretch": (0, 0), "meet": (1616, 808)}),
        ("1", "1", "5", {"blur": (1011, 101), "stretch": (1010, 505), "meet": (2020, 1010)}),
        ("0.1", "5", "5", {"blur": (2111, 21), "stretch": (2100, 1050), "meet": (4200, 2100)}),
    ],
)
def test_open_records_and_outputs_of_three_policies(step, cm, reach, expected):
    rows = compared(step, cm, reach)
    for name, counts in expected.items():
        assert (rows[name].counts.open, rows[name].counts.outputs) == counts


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "cm", "reach", "expected"),
    [
        ("1", "1", "4.3", {"blur": 16_399, "stretch": 17_271, "meet": 15_655}),
        ("1", "1", "5", {"blur": 16_260, "stretch": 16_261, "meet": 15_251}),
        ("0.1", "5", "5", {"blur": 33_610, "stretch": 33_621, "meet": 31_521}),
    ],
)
def test_so_many_outputs_decide(step, cm, reach, expected):
    columns = {"w": LatticeColumn(30, 200, step), "h": LatticeColumn(120, 220, cm)}
    box = Box({"w": (30, 200), "h": (120, 220)})
    line = Threshold.parse(OBESE)
    policies = {
        "blur": BlurringPolicy(line, Fraction(reach), box),
        "stretch": StretchPolicy(line, Fraction(reach), box),
        "meet": MeetPolicy(OBESE, columns, ["w"], reach),
    }
    heights = [columns["h"].value(k) for k in range(columns["h"].last + 1)]
    weights = [columns["w"].value(k) for k in range(columns["w"].last + 1)]
    for name, policy in policies.items():
        deciding = 0
        for h in heights:  # heights are released as they are
            sides = {}
            for w in weights:
                released = policy.release({"w": w, "h": h})["w"]
                sides.setdefault(released, set()).add(w >= 30 * (h / 100) ** 2)
            deciding += sum(len(side) == 1 for side in sides.values())
        assert deciding == expected[name]


@pytest.mark.slow
def test_what_stays_open_to_somebody_who_knows_the_weight_roughly():
    rows = compared("1", "1", "5", [1, 2, 3, 5, 9, 10])
    assert rows["blur"].known == (202, 404, 606, 1010, 1011, 1011)
    assert rows["meet"].known == (0, 0, 0, 0, 0, 2020)
    assert rows["meet made for it"].known == (202, 404, 606, 1010, 1818, 2020)


def test_a_small_case_by_hand():
    rows = compare_policies("x >= 5", {"x": LatticeColumn(0, 10, 1)}, 1, [1, 2])
    blur, stretch, meet, made = rows
    assert (blur.counts.open, blur.known) == (3, (2, 3))  # 4, 5 and 6 become 5
    assert (stretch.counts.open, stretch.known) == (2, (2, 2))
    assert (meet.counts.open, meet.known) == (4, (0, 4))
    assert made.known == (2, 4)
