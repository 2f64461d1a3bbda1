"""Columns moved near a line: as defined, never further than their reach."""

from fractions import Fraction

import pytest

from hartley.engines.maps.column_map import apply_map
from hartley.engines.tables.sources import open_table
from hartley.errors import OptionError
from hartley.policies.document import PolicyDocument
from hartley.policies.kinds import KeptColumn, LineColumn


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
