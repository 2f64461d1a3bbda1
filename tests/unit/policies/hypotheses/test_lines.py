"""Blurring and stretching, and policies compared."""

import random
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from hartley import BlurringPolicy, Box, MeetPolicy, OptionError, StretchPolicy, Threshold
from hartley.policies import LatticeColumn, compare_policies

PEOPLE = Box({"weight": (0, 200), "height": (0, 250)})
OBESE = Threshold.parse("weight >= 30 * (height/100)**2")
EXAMPLE_3 = {
    "0.05": 0.216321901,
    "0.1": 0.101688002,
    "0.2": 0.049624509,
    "0.5": 0.019691746,
    "1": 0.009852696,
    "2": 0.004938200,
    "5": 0.001982148,
}
HEIGHTS = st.fractions(min_value=0, max_value=250, max_denominator=50)
REACHES = st.fractions(min_value=Fraction(1, 10), max_value=60, max_denominator=20)
SHARES = st.fractions(min_value=0, max_value=1, max_denominator=100)


def ends(policy, height):
    line = 30 * (height / 100) ** 2
    return max(line - policy.reach, 0), line, min(line + policy.reach, 200)


def weight_of(policy, weight, height):
    return policy.release({"weight": weight, "height": height})["weight"]


@pytest.mark.slow
@given(height=HEIGHTS, reach=REACHES, weight=st.fractions(0, 200, max_denominator=40))
def test_no_value_moves_further_than_the_reach_or_leaves_its_range(height, reach, weight):
    policy = StretchPolicy(OBESE, reach, PEOPLE)
    moved = weight_of(policy, weight, height)
    assert abs(moved - weight) <= reach
    assert 0 <= moved <= 200


@pytest.mark.slow
@given(height=HEIGHTS, reach=REACHES, share=SHARES)
def test_every_value_of_the_band_comes_from_either_side_of_the_line(height, reach, share):
    policy = StretchPolicy(OBESE, reach, PEOPLE)
    low, line, high = ends(policy, height)
    if not low < line < high:
        return
    wanted = low + share * (high - low)
    above = line + (wanted - low) * (high - line) / (high - low)
    assert weight_of(policy, above, height) == wanted
    below = low + (wanted - low) * (line - low) / (high - low)
    if below < line:
        assert weight_of(policy, below, height) == wanted


@pytest.mark.slow
@given(height=HEIGHTS, reach=REACHES, weight=st.fractions(0, 200, max_denominator=40))
def test_values_outside_of_the_band_stay_and_show_their_side(height, reach, weight):
    policy = StretchPolicy(OBESE, reach, PEOPLE)
    low, line, high = ends(policy, height)
    if low < line < high and low <= weight <= high:
        return
    assert weight_of(policy, weight, height) == weight


@pytest.mark.parametrize("rho", EXAMPLE_3)
def test_the_band_of_example_3_has_the_verified_volume(rho):
    band = StretchPolicy(OBESE, 1 / Fraction(rho), PEOPLE).band(gap=1e-5)
    total = PEOPLE.volume
    low, high = (float(end / (total - end)) for end in (band.low, band.high))
    assert low <= EXAMPLE_3[rho] + 5e-10
    assert high >= EXAMPLE_3[rho] - 5e-10
    assert high - low < 1e-4 * high


@pytest.mark.parametrize(
    "line", ["max(height - 150, 0)", "min(height, 200)", "max(height - 150, min(height, 0))"]
)
def test_fibres_on_which_the_line_is_an_end_of_the_range_do_not_count(line):
    # One half of the heights or so has its line at 0 or 200, where nothing is moved.
    box = Box({"weight": (0, 200), "height": (100, 250)})
    policy = StretchPolicy(Threshold.parse(f"weight >= {line}"), 5, box)
    if "200" in line:
        truth = 100 * 10 - Fraction(25, 2)  # heights 100 to 200: the line comes up to the high end
        still = {"weight": Fraction(198), "height": Fraction(220)}
    else:
        truth = 100 * 10 - Fraction(25, 2)  # heights 150 to 250: it leaves the low end
        still = {"weight": Fraction(2), "height": Fraction(120)}
    assert policy.release(still) == still
    band = policy.band(gap=1e-4)
    assert band.low <= truth <= band.high
    assert band.high - band.low <= truth / 1000


def test_the_papers_policy_releases_the_line_for_everything_close_to_it():
    policy = BlurringPolicy(OBESE, 5, PEOPLE)
    assert weight_of(policy, Fraction(118), Fraction(200)) == 120
    assert weight_of(policy, Fraction(126), Fraction(200)) == 126


@pytest.mark.parametrize(
    ("text", "column"),
    [("weight >= 2*height", "weight"), ("2*height <= weight", "weight"), ("x < y + 1", "x")],
)
def test_a_hypothesis_compares_a_column_with_others(text, column):
    assert Threshold.parse(text).column == column


@pytest.mark.parametrize("text", ["weight", "weight >= weight + 1", "weight/height >= 3", "a = b"])
def test_another_hypothesis_is_refused_with_a_hint(text):
    with pytest.raises(OptionError, match=r"; hint: write it as column >= expression"):
        Threshold.parse(text)


@pytest.mark.parametrize("reach", [0, -1, "nan"])
def test_an_error_that_is_not_positive_is_refused(reach):
    with pytest.raises(OptionError, match="; hint: "):
        StretchPolicy(OBESE, reach, PEOPLE)


def test_a_column_without_a_range_is_refused():
    with pytest.raises(OptionError, match="'height', which has no declared range"):
        StretchPolicy(OBESE, 5, Box({"weight": (0, 200)}))


def sides_by_output(policy, step):
    side, line = policy.box["x"], policy.hypothesis.line.at({})
    values = [side.low + step * k for k in range(int((side.high - side.low) / step) + 1)]
    sides = {}
    for x in values:
        is_above = x > line or (x == line and policy.hypothesis.line_is_above)
        sides.setdefault(policy.release({"x": x})["x"], []).append(is_above)
    return sides


def left_open(policy, step):
    """Count the values on a step that come out like one from the other side of the line."""
    outputs = sides_by_output(policy, step).values()
    return sum(len(sides) for sides in outputs if len(set(sides)) == 2)


def test_of_rounded_values_stretching_hides_what_the_documents_say():
    """In every range: at most what blurring hides; where the band lies within it, all or none."""
    rng, seen = random.Random(29), Counter()  # noqa: S311 - not secret
    for _ in range(400):
        step, reach = Fraction(1, rng.choice([1, 2, 5])), Fraction(rng.randint(1, 24), 4)
        low = Fraction(rng.randint(-4, 4), 2)
        high = low + step * rng.randint(2, 20) + rng.choice([0, step / 3])
        line = low + (high - low) * Fraction(rng.randint(1, 23), 24)
        if rng.random() < 1 / 2:
            line = low + step * rng.randint(1, int((high - low) / step) - 1)
        hypothesis = Threshold.parse(f"x {rng.choice(['>=', '>', '<=', '<'])} {line}")
        box = Box({"x": (low, high)})
        stretched = left_open(StretchPolicy(hypothesis, reach, box), step)
        blurred = left_open(BlurringPolicy(hypothesis, reach, box), step)
        assert stretched <= blurred
        within, whole = low <= line - reach < line + reach <= high, reach % step == 0
        if within:
            assert blurred - 1 <= stretched if whole else stretched == 0
        seen[within, whole, stretched > 0, 0 < stretched < blurred - 1] += 1
    assert seen.keys() >= {(True, True, True, False), (True, False, False, False)}
    # Where an end of the range cuts the band off: some or none, in whole steps or not.
    for whole in (True, False):
        assert min(seen[False, whole, False, False], seen[False, whole, True, True]) > 0


# --- blurring, stretching and meeting on whole kilograms and centimetres --------------------------


WHOLE_BMI = "w >= 30*(h/100)**2"


def compared(step, cm, reach, within=()):
    columns = {"w": LatticeColumn(30, 200, step), "h": LatticeColumn(120, 220, cm)}
    rows = compare_policies(WHOLE_BMI, columns, reach, within)
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
    line = Threshold.parse(WHOLE_BMI)
    policies = {
        "blur": BlurringPolicy(line, Fraction(reach), box),
        "stretch": StretchPolicy(line, Fraction(reach), box),
        "meet": MeetPolicy(WHOLE_BMI, columns, ["w"], reach),
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
