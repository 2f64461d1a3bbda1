"""Columns of a policy file that are moved so that a hypothesis stays open."""

from fractions import Fraction

import pytest

from hartley import HartleyError, InputError, OptionError, PolicyDocument, certify, open_table
from hartley.policies import KeptColumn, LineColumn, MeetColumn, read_column
from hartley.policies.kinds import kind_of
from hartley.tables.column_map import apply_map

FIELDS = {
    "name": "kg",
    "kind": "meet",
    "hypothesis": "kg >= 30*(cm/100)**2",
    "low": "30",
    "high": "200",
    "step": "0.1",
    "reach": "5",
    "others": {"cm": ["120", "220", "1"]},
}
SUM = {
    "name": "x",
    "kind": "meet",
    "hypothesis": "x + y >= 10",
    "move": ["x", "y"],
    "low": "0",
    "high": ["10", "12"],
    "step": "1",
    "reach": ["1", "2"],
}


ONE = {"high": "10", "others": {"y": ["0", "12", "1"]}}


@pytest.mark.parametrize(
    "fields",
    [
        FIELDS,
        FIELDS | {"known_within": "2.5", "round": "down"},
        SUM,
        SUM | {"reach": "2", "norm": "l1"},
        SUM | {"known_within": ["1", "3"]},
        FIELDS | {"others": {"cm": ["120", "220"]}},
        SUM | {"hypothesis": ["x >= 3", "x + y >= 9"], "move": ["x"], "reach": "2"} | ONE,
        SUM | {"possible": "x + y <= 15 and x != 4", "move": ["x"], "reach": "2"} | ONE,
        SUM | {"hypothesis": "x == y", "released": [[*range(143)]]},
        SUM | {"move": ["x"], "reach": "1", "released": [[*range(11)]] * 13} | ONE,
    ],
)
def test_a_file_says_what_the_column_says(fields):
    document = PolicyDocument((read_column(fields, 1),))
    again = PolicyDocument.from_toml(document.to_toml())
    assert again == document
    assert again.digest == document.digest
    assert kind_of("meet") is MeetColumn


def test_one_kind_releases_several_names():
    column = read_column(SUM, 1)
    assert column.columns == ("x", "y")
    assert [rule.column for rule in column.to_rules()] == ["x", "y"]
    assert (column.error, column.error_of("x"), column.error_of("y")) == (2, 1, 2)
    assert column.range is None
    table = open_table({"x": [4.0, 6.0], "y": [5, 5]})
    released = apply_map(table, PolicyDocument((column,)).to_map()).expression.to_pyarrow()
    assert released.to_pydict() == {"x": [5.0, 5.0], "y": [7.0, 3.0]}


def test_a_file_may_name_the_column_of_a_reach():
    named = read_column(
        SUM | {"reach": {"y": "2", "x": "1"}, "known_within": {"y": "3", "x": 2}}, 1
    )
    assert named == read_column(SUM | {"known_within": ["2", "3"]}, 1)
    assert named.to_fields()["reach"] == SUM["reach"]


def test_whole_numbers_come_out_as_the_same_double():
    column = read_column(FIELDS, 1)
    pairs = [(i / 10, (i + 100) / 10) for i in range(718, 768)]  # 5 kg on either side of 76.8
    table = {"kg": [x for x, _ in pairs] + [x for _, x in pairs], "cm": [160] * 100}
    rules = PolicyDocument((column,)).to_map()
    released = apply_map(open_table(table), rules).expression.to_pyarrow()["kg"].to_pylist()
    assert released[:50] == released[50:]


def test_none_of_the_pairs_that_doubles_would_tell_apart_is_told_apart():
    pairs = [(i / 10, (i + 100) / 10) for i in range(300, 1900)]
    assert sum(low + 5.0 != high - 5.0 for low, high in pairs) == 40  # of 1,600
    column = read_column(
        FIELDS | {"hypothesis": "kg >= line", "others": {"line": ["30", "200", "0.1"]}}, 1
    )
    table = {
        "kg": [low for low, _ in pairs] + [high for _, high in pairs],
        "line": [(i + 50) / 10 for i in range(300, 1900)] * 2,
    }
    rules = PolicyDocument((column,)).to_map()
    released = apply_map(open_table(table), rules).expression.to_pyarrow()["kg"].to_pylist()
    assert released[:1600] == released[1600:] == [(i + 50) / 10 for i in range(300, 1900)]


REFUSED = [
    ({"hypothesis": 3}, "'hypothesis' is not text"),
    ({"hypothesis": "kg == cm"}, "too large to be looked for"),
    ({"hypothesis": "kg == cm", "round": "down"}, "not monotone"),
    ({"hypothesis": "kg >= weight"}, "'weight', whose range"),
    ({"move": ["cm", "kg"]}, "do not begin with 'kg'"),
    ({"move": "kg"}, "not a list"),
    ({"move": ["kg", "cm"], "low": ["1"]}, "1 numbers for 2 columns"),
    ({"others": ["cm"]}, "not a table"),
    ({"others": {"cm": ["120"]}}, "low, high and step"),
    ({"others": {"kg": ["30", "200", "1"], "cm": ["120", "220", "1"]}}, "low, high and step"),
    ({"step": "0"}, "not a positive number"),
    ({"step": "1000"}, "no whole step"),
    ({"reach": "0.01"}, "below one step"),
    ({"reach": {"cm": "5"}}, "does not name the moved columns"),
    ({"low": {"kg": "30"}}, "'low' is not a number"),
    ({"norm": "l9"}, "'norm' is unknown"),
    ({"round": "up"}, "'round' is unknown"),
    ({"hypothesis": "kg**9 >= 30*cm"}, "53 binary digits"),
    ({"hypothesis": []}, "'hypothesis' is not text"),
    ({"hypothesis": ["kg >= cm", 3]}, "'hypothesis' is not text"),
    ({"hypothesis": ["kg >= cm", "kg >= 2*cm"], "known_within": "3"}, "'known_within' is for one"),
    ({"possible": 3}, "'possible' is not text"),
    ({"possible": "kg >= 40", "round": "down"}, "'round' is for one"),
    ({"released": 3}, "'released' is not a list"),
    ({"released": [["a"]]}, "lists of whole numbers"),
    ({"released": [[-1]]}, "lists of whole numbers"),
]


def test_tables_for_several_columns_are_part_of_the_file():
    with pytest.raises(InputError, match="which the policy does not hold") as caught:
        read_column(SUM | {"hypothesis": "x == y"}, 1)
    assert "hartley design" in caught.value.hint


@pytest.mark.parametrize(("change", "problem"), REFUSED)
def test_fields_that_make_no_sense_are_refused(change, problem):
    with pytest.raises(InputError, match=problem) as caught:
        read_column(FIELDS | change, 1)
    assert caught.value.hint


@pytest.mark.parametrize("field", ["hypothesis", "low", "high", "step", "reach"])
def test_a_field_that_is_needed(field):
    fields = {name: value for name, value in FIELDS.items() if name != field}
    with pytest.raises(HartleyError, match=f"has no '{field}'"):
        read_column(fields, 1)


BLUR = {
    "name": "kg",
    "kind": "blur",
    "line": "30*(cm/100)**2",
    "reach": "4.3",
    "low": "30",
    "high": "200",
    "step": "1",
    "others": {"cm": ["120", "220", "1"]},
}
KEPT = {"name": "cm", "kind": "keep", "low": "120", "high": "220"}


def test_a_blurred_column_counts_open_records_where_steps_are_declared():
    document = PolicyDocument((read_column(BLUR, 1), read_column(KEPT, 2)))
    assert PolicyDocument.from_toml(document.to_toml()) == document
    opened = document.columns[0].all_left_open()[0]
    assert (opened.counts.records, opened.counts.open, opened.counts.outputs) == (17271, 872, 101)
    assert document.lines == {}
    assert list(document.stepped) == ["kg"]


def test_a_value_at_the_very_end_of_the_reach_is_blurred_exactly():
    line = BLUR | {"line": "0.1*cm", "reach": "0.3", "step": "0.1", "low": "0", "high": "40"}
    document = PolicyDocument((read_column(line, 1), read_column(KEPT, 2)))
    records = [(Fraction(k, 10), cm) for cm in range(120, 221) for k in range(cm - 5, cm + 6)]
    table = {"kg": [float(kg) for kg, _ in records], "cm": [cm for _, cm in records]}
    out = apply_map(open_table(table), document.to_map()).expression.to_pyarrow()["kg"].to_pylist()
    for (kg, cm), value in zip(records, out, strict=True):
        near = abs(kg - Fraction(cm, 10)) <= Fraction(3, 10)
        assert (value == 0.1 * cm) if near else (value == float(kg))


def test_a_line_with_a_root_leaves_open_what_squares_say():
    document = PolicyDocument((read_column(BLUR | {"line": "10*sqrt(cm)"}, 1),))
    expected = 0
    for cm in range(120, 221):
        # 10 x - 43 <= 100 sqrt(cm) <= 10 x + 43, compared by their squares
        band = [x for x in range(30, 201) if (10 * x - 43) ** 2 <= 10**4 * cm <= (10 * x + 43) ** 2]
        above = [x for x in band if x * x >= 100 * cm]
        expected += len(band) if 0 < len(above) < len(band) else 0
    assert document.columns[0].all_left_open()[0].counts.open == expected == 868


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"kind": "stretch"}, "may hide none"),
        ({"others": {}}, "takes low, high and step of cm"),
        ({"line": "exp(cm/50)"}, "exp"),
        ({"line": "(cm/7)**9"}, "53 binary digits"),
    ],
)
def test_a_line_on_a_step_that_makes_no_sense_is_refused(change, problem):
    with pytest.raises(InputError, match=problem):
        read_column(BLUR | change, 1)


def test_steps_of_other_columns_alone_are_refused():
    fields = {name: value for name, value in BLUR.items() if name != "step"}
    with pytest.raises(InputError, match="has none"):
        read_column(fields, 1)


# --- columns moved near a line: as defined, never further than their reach ------------------------


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
