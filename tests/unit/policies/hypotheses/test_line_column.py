"""Columns moved near a line: as defined, never further than their reach."""

from fractions import Fraction

import pytest

from hartley.errors import HartleyError, OptionError
from hartley.guarantees.verify import certify
from hartley.policies import KeptColumn, LineColumn
from hartley.policies.document import PolicyDocument
from hartley.tables.column_map import apply_map
from hartley.tables.opening import open_table


def moved(kind, x, g):
    """Move one value by the policies' definitions, exactly."""
    r, low, high = Fraction(5), 30, 200
    if kind == "blur":
        return g if g - r <= x <= g + r else x
    a, b = max(g - r, low), min(g + r, high)
    if not (a < g < b and a <= x <= b):
        return x
    if x >= g:
        return a + (x - g) * (b - a) / (b - g)
    return a + (x - a) * (b - a) / (g - a)


@pytest.mark.parametrize("kind", ["stretch", "blur"])
def test_lines_move_values_as_defined_and_never_further_than_their_reach(kind):
    line = {"line": "30*(height/100)**2", "reach": "5", "low": "30", "high": "200"}
    policy = PolicyDocument(
        (
            LineColumn.read(kind, "weight", **line),
            KeptColumn("height", Fraction(100), Fraction(250)),
        )
    )
    heights = [100, 120, 141.5, 180.25, 200, 226, 250, 257, 90]
    records = [(h, w / 4) for h in heights for w in range(100, 840, 11)]
    table = {"height": [float(h) for h, _ in records], "weight": [w for _, w in records]}
    found = apply_map(open_table(table), policy.to_map()).expression.to_pyarrow()
    for (h, w), out in zip(records, found["weight"].to_pylist(), strict=True):
        height = Fraction(min(max(h, 100), 250))
        weight = Fraction(min(max(w, 30), 200))
        exact = moved(kind, weight, 30 * (height / 100) ** 2)
        assert out == pytest.approx(float(exact), rel=1e-13)
        assert abs(Fraction(out) - weight) <= 5 + Fraction(1, 10**12)


def test_a_stretch_covers_its_whole_band_from_either_side():
    line = {"line": "height", "reach": "5", "low": "0", "high": "100"}
    policy = PolicyDocument(
        (
            LineColumn.read("stretch", "weight", **line),
            KeptColumn("height", Fraction(0), Fraction(100)),
        )
    )
    weights = [45.0 + k / 64 for k in range(641)]
    table = {"height": [50.0] * 641, "weight": weights}
    found = apply_map(open_table(table), policy.to_map()).expression.to_pyarrow()
    out = found["weight"].to_pylist()
    below, above = out[:320], out[320:]
    assert (below[0], below[-1], above[0], above[-1]) == (45.0, 55 - 1 / 32, 45.0, 55.0)
    assert below == sorted(below)
    assert above == sorted(above)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"line": "weight + 1"}, "depends on the column itself"),
        ({"line": "exp(height)"}, "uses exp, whose last digit"),
        ({"line": "height ++"}, "cannot be read"),
        ({"line": 3}, "'line' is not text"),
        ({"reach": "0"}, "reach 0 is not positive"),
        ({"low": "300"}, "ends before it begins"),
    ],
)
def test_a_line_that_makes_no_sense_is_refused(fields, words):
    line = {"line": "height", "reach": "5", "low": "30", "high": "200"} | fields
    with pytest.raises(OptionError, match=words):
        LineColumn.read("stretch", "weight", **line)


def test_blurring_on_a_step_needs_no_range_of_the_columns_that_are_kept():
    text = """
format = 1

[[columns]]
name = "kg"
kind = "blur"
line = "cm/2"
reach = "4"
low = "30"
high = "200"
step = "1"
others = {cm = ["120", "220", "1"]}

[[columns]]
name = "cm"
kind = "keep"
"""
    policy = PolicyDocument.from_toml(text)
    assert certify(policy).claim.startswith("859 of the 17,271 possible records")  # 51 * 9 + 50 * 8
    with pytest.raises(HartleyError, match="which has no declared range"):
        PolicyDocument.from_toml(text.replace('step = "1"\n', "").replace("others", "# others"))


def test_a_value_at_the_end_of_the_band_is_in_it_whatever_doubles_make_of_it():
    column = LineColumn.read("blur", "w", line="30*(h/100)**2", reach="4.3", low=30, high=200)
    assert 30 * (170 / 100) ** 2 + 4.3 < 91  # in doubles; 86.7 + 4.3 is 91
    table = open_table({"w": [91.0, 91.0001, 82.4, 82.3999], "h": [170.0] * 4})
    released = apply_map(table, column.to_rules(), ranges={"h": (120, 220)})
    values = released.expression.to_pyarrow().to_pydict()["w"]
    line = 30 * (170 / 100) ** 2
    assert values == [line, 91.0001, line, 82.3999]
