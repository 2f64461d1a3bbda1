"""What is promised against a hypothesis is what the outputs of a line leave open."""

import math
from fractions import Fraction

import pytest
from certified_policies import BMI, TALL, mean_of
from hypothesis import given, settings, strategies as st

from hartley.errors import OptionError
from hartley.guarantees.exhaustive import verify_exhaustively
from hartley.guarantees.verify import certify
from hartley.policies import LineColumn, QuantizedColumn
from hartley.policies.document import PolicyDocument
from hartley.policies.quantizer import UniformQuantizer
from hartley.tables.column_map import apply_map
from hartley.tables.opening import open_table

# --- lines ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_line_is_certified_by_what_the_columns_say_and_not_by_the_design():
    stretch = LineColumn.read("stretch", "weight", **BMI)
    plain = certify(PolicyDocument((stretch, TALL)))
    assert 2**plain.value - 1 == pytest.approx(0.216321901, rel=1e-5)
    assert plain.sound
    lying = {"columns": {"weight": ["0", "1"], "height": ["0", "1"]}, "bits": "0", "epsilon": "9"}
    assert certify(PolicyDocument((stretch, TALL), design=lying)) == plain


@pytest.mark.slow
def test_the_blurring_policy_is_certified_by_its_records_and_not_by_volume():
    blur = certify(PolicyDocument((LineColumn.read("blur", "weight", **BMI), TALL)))
    assert 2**blur.value - 1 == pytest.approx(0.216321901, rel=1e-5)
    assert (blur.sound, blur.rule) == (True, "corrected")
    assert "Counted in records it is 0.2163-private" in blur.claim
    assert "lie no further apart than 20" in blur.assumptions[0]


@pytest.mark.slow
def test_a_column_computed_from_the_hidden_one_takes_the_promise_away():
    stretch = LineColumn.read("stretch", "weight", **BMI)
    leak = QuantizedColumn("bmi", UniformQuantizer(0, 60, 10), of="weight/(height/100 + 1)**2")
    certificate = certify(PolicyDocument((stretch, TALL, leak)))
    assert (certificate.value, certificate.sound) == (0.0, False)
    assert "shows in bmi" in certificate.claim
    harmless = QuantizedColumn("age", UniformQuantizer(0, 100, 10))
    assert certify(PolicyDocument((stretch, TALL, harmless))).sound


@pytest.mark.slow
def test_of_two_lines_the_weaker_promise_counts():
    stretch = LineColumn.read("stretch", "weight", **BMI)
    other = LineColumn.read("stretch", "income", line="50", reach=1, low=0, high=100)
    both = certify(PolicyDocument((stretch, TALL, other)))
    alone = certify(PolicyDocument((other,)))
    assert both.value == alone.value == pytest.approx(math.log2(100 / 98))
    assert both.sound
    assert len(both.consequences) == 6
    leak = QuantizedColumn("half", UniformQuantizer(0, 50, 5), of="income/2")
    assert not certify(PolicyDocument((stretch, TALL, other, leak))).sound


@pytest.mark.slow
@given(
    line=st.integers(1, 9),
    reach=st.integers(1, 12),
    low=st.integers(-1, 0),
    high=st.integers(10, 11),
)
@settings(max_examples=30, deadline=None)
def test_the_numbers_of_a_stretched_line_are_those_of_its_outputs(line, reach, low, high):
    # One column, x >= line: below it come out [low, b], above it [a, high], both over [a, b].
    column = LineColumn.read("stretch", "x", line=str(line), reach=reach, low=low, high=high)
    certificate = certify(PolicyDocument((column,)))
    a, b = max(line - reach, low), min(line + reach, high)
    everything, open_ones = Fraction(high - low), Fraction(b - a)
    grid = [low + Fraction(k * (high - low), 24) for k in range(25)]
    for x, moved in zip(grid, release_all(column, grid), strict=True):
        assert low <= moved <= b if x < line else a <= moved <= high
    if everything == open_ones:
        assert certificate.value == math.inf
        return
    assert certificate.value == pytest.approx(math.log2(everything / (everything - open_ones)))
    found = {c.name: c.value for c in certificate.consequences}
    told = math.log2(everything / min(b - low, high - a))  # L0(Y;H) of these outputs
    assert told <= found["information leakage"] + 1e-12
    densities = [Fraction(1, line - low), Fraction(1, high - line)]
    inside = [
        d * Fraction(side, b - a) for d, side in zip(densities, (line - a, b - line), strict=True)
    ]
    best = (densities[0] * (a - low) + densities[1] * (high - b) + max(inside) * (b - a)) / 2
    assert Fraction(1, 2) <= Fraction(found["success of a test"]) <= best


def release_all(column, values):
    table = open_table({column.name: [float(x) for x in values]})
    released = apply_map(table, [column.to_rule()]).expression.to_pyarrow()
    return released.to_pydict()[column.name]


@pytest.mark.slow
def test_a_hypothesis_has_no_outputs_to_count():
    with pytest.raises(OptionError, match="promises no number of outputs"):
        verify_exhaustively(
            PolicyDocument((LineColumn.read("stretch", "weight", **BMI), TALL)),
            people={"weight": [1], "height": [1]},
        )
    with pytest.raises(OptionError, match="cases"):
        verify_exhaustively(mean_of(50, 4), people={"x": [2**k for k in range(60)]})
    with pytest.raises(OptionError, match="no values"):
        verify_exhaustively(mean_of(2, 4), people={"y": [0, 1]})
    with pytest.raises(OptionError, match="No values"):
        verify_exhaustively(mean_of(2, 4))
