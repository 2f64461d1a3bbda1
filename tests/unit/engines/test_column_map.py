"""Maps against oracles in exact arithmetic and plain Python, on the embedded engine."""

import math
import struct
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings, strategies as st

from hartley.engines.cells import Grid
from hartley.engines.column_map import (
    ColumnCounts,
    CutCells,
    Formula,
    Keep,
    Lookup,
    UniformCells,
    apply_map,
)
from hartley.engines.sources import open_table
from hartley.errors import ColumnError, HartleyError, OptionError, TableError

SPECIALS = [math.nan, math.inf, -math.inf, None, 0.0, -0.0, 5e-324, 1e308, -1e308]


def released(rules, **columns):
    mapped = apply_map(open_table(pa.table(columns)), rules)
    return mapped.expression.to_pyarrow().to_pydict()


def bits(values):
    return [None if value is None else struct.pack(">d", value).hex() for value in values]


def beside(number):
    return [math.nextafter(number, -math.inf), number, math.nextafter(number, math.inf)]


def doubles(values):
    return pa.array(values, pa.float64())


# --- oracles ------------------------------------------------------------------------------------


def oracle_uniform(low, high, levels, value):
    """Find the cell among its exact neighbours, every edge rounded to the nearest double."""
    if value is None or math.isnan(value):
        return None
    width = (high - low) / levels
    first, last = float(low), float(high)
    value = min(max(value, first), last)
    if width == 0:
        return float(low)
    near = int((Fraction(value) - low) // width)
    inside = [
        k
        for k in range(max(near - 3, 0), min(near + 4, levels))
        if float(low + k * width) <= value
        and (value < float(low + (k + 1) * width) or k == levels - 1)
    ]
    return float(low + (2 * inside[-1] + 1) * width / 2)


def oracle_cuts(edges, values, value):
    if value is None or math.isnan(value):
        return None
    rounded = [float(edge) for edge in edges]
    value = min(max(value, rounded[0]), rounded[-1])
    return [out for edge, out in zip(rounded, values, strict=False) if edge <= value][-1]


class UndefinedError(Exception):
    pass


def oracle_truth(condition, record):
    try:
        return oracle_formula(condition, record)
    except UndefinedError:
        return None


def oracle_formula(tree, record):  # noqa: C901 - a line an operation
    operation, *parts = tree
    if operation == "const":
        return float(Fraction(parts[0]))
    if operation == "var":
        if record[parts[0]] is None:
            raise UndefinedError
        return record[parts[0]]
    if operation == "if":
        return oracle_formula(parts[1 if oracle_formula(parts[0], record) else 2], record)
    if operation == "pow":
        base = oracle_formula(parts[0], record)
        result = 1.0 if parts[1] == 0 else base
        for _ in range(parts[1] - 1):
            result *= base
        return result
    if operation == "and":
        known = [truth for part in parts if (truth := oracle_truth(part, record)) is not None]
        if len(known) < len(parts) and all(known):
            raise UndefinedError
        return all(known)
    values = [oracle_formula(part, record) for part in parts]
    if operation == "/" and values[1] == 0:
        raise UndefinedError
    if operation == "sqrt" and values[0] < 0:
        raise UndefinedError
    return {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b,
        "neg": lambda a: -a,
        "abs": abs,
        "sqrt": math.sqrt,
        "min": lambda a, b: a if a <= b else b,  # noqa: FURB136 - which zero it is matters
        "max": lambda a, b: a if a >= b else b,  # noqa: FURB136 - likewise
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
    }[operation](*values)


# --- equal cells --------------------------------------------------------------------------------

ends = st.one_of(
    st.integers(-(10**6), 10**6).map(Fraction),
    st.builds(Fraction, st.integers(-(10**6), 10**6), st.sampled_from([3, 7, 10, 100, 1000, 4096])),
)


@st.composite
def uniform_cells(draw):
    low, high = sorted([draw(ends), draw(ends)])
    levels = draw(st.one_of(st.integers(1, 40), st.integers(1, 10**6)))
    return low, high, levels


def is_feasible(low, high, levels):
    """Tell whether cells may be asked for, and are not listed one by one in thousands."""
    try:
        return UniformCells("x", low, high, levels).fits or levels <= 1000
    except OptionError:
        return False


@settings(max_examples=70)
@given(uniform_cells(), st.data())
def test_equal_cells_are_those_of_exact_arithmetic_bit_for_bit(cells, data):
    low, high, levels = cells
    assume(is_feasible(low, high, levels))
    width = (high - low) / levels
    drawn = data.draw(st.lists(st.integers(0, levels), min_size=1, max_size=12))
    values = [near for k in (0, levels, *drawn) for near in beside(float(low + k * width))]
    inside = st.floats(float(low), float(high))
    values += data.draw(st.lists(inside, max_size=20)) + SPECIALS
    found = released([UniformCells("x", low, high, levels)], x=doubles(values))["x"]
    assert bits(found) == bits([oracle_uniform(low, high, levels, value) for value in values])


@pytest.mark.parametrize(
    ("low", "high", "levels"),
    [
        (0, 2**48, 2**48),
        (-(2**48), 2**48, 2**49),
        (-(2**46), 2**46, 3),
        (2**48 - 7, 2**48, 7),
        (Fraction(1, 2**48), Fraction(1000, 2**48), 999),
        (Fraction("0.1"), Fraction("0.7"), 6),
        (Fraction(-1, 3), Fraction(2, 3), 10**12),
        (5, 5, 3),
    ],
)
def test_equal_cells_are_exact_at_the_limit_of_their_integers(low, high, levels):
    low, high = Fraction(low), Fraction(high)
    numbers = [0, 1, levels // 3, levels // 2, levels - 1, levels]
    values = [near for k in numbers for near in beside(float(low + k * (high - low) / levels))]
    rule = UniformCells("x", low, high, levels)
    assert rule.fits
    found = released([rule], x=doubles(values))["x"]
    assert bits(found) == bits([oracle_uniform(low, high, levels, value) for value in values])


def test_cells_beyond_the_limit_are_listed_and_exact_all_the_same():
    low, high = Fraction("3.141592653589793"), Fraction("314.1592653589793238")
    rule = UniformCells("x", low, high, 500)
    assert not rule.fits
    values = [near for k in range(501) for near in beside(float(low + k * (high - low) / 500))]
    found = released([rule], x=doubles([*values, *SPECIALS]))["x"]
    expected = [oracle_uniform(low, high, 500, value) for value in [*values, *SPECIALS]]
    assert bits(found) == bits(expected)


def test_a_value_on_an_edge_lies_in_the_upper_cell_and_the_last_edge_in_the_last():
    found = released([UniformCells("x", 0, Fraction(3, 10), 3)], x=doubles([0.1, 0.2, 0.3]))["x"]
    assert found == [0.15, 0.25, 0.25]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([-5, 0, 4, 5, 99, 100, 250, None], pa.int64()),
        pa.array([-5, 0, 4, 5, 99, 100, 120, None], pa.int8()),
        pa.array([0, 4, 5, 99, 100, 250, None], pa.uint64()),
        pa.array([-5, 0, 4.5, 5, math.nan, 1e30, None], pa.float32()),
        pa.array([Decimal("-0.01"), Decimal("4.99"), Decimal("5.00"), None], pa.decimal128(10, 2)),
    ],
    ids=lambda column: str(column.type),
)
def test_numbers_of_every_type_lie_in_the_cells_of_their_doubles(column):
    found = released([UniformCells("x", 0, 100, 20)], x=column)["x"]
    plain = [None if value is None else float(value) for value in column.to_pylist()]
    assert found == [oracle_uniform(Fraction(0), Fraction(100), 20, value) for value in plain]


@pytest.mark.parametrize("scale", [1, 5, 9, 15])
def test_long_decimals_become_the_nearest_double(scale):
    random = np.random.default_rng(scale)
    digits = random.integers(10**16, 10**18, size=3000).tolist()
    values = [Decimal(number).scaleb(-scale) for number in digits]
    found = released([Keep("x", 0, 10**20)], x=pa.array(values, pa.decimal128(18, scale)))["x"]
    assert bits(found) == bits([float(value) for value in values])


# --- cuts ---------------------------------------------------------------------------------------


@st.composite
def cut_cells(draw):
    size = draw(st.sampled_from([2, 3, 5, 6, 9, 40, 130]))
    numbers = st.one_of(ends, st.integers(0, 40).map(lambda k: Fraction(2) ** -k))
    edges = tuple(sorted(draw(st.lists(numbers, min_size=size, max_size=size, unique=True))))
    return edges, tuple(float(k * k) for k in range(len(edges) - 1))


@settings(max_examples=40)
@given(cut_cells(), st.data())
def test_cuts_are_those_of_plain_comparisons_however_they_are_spread(cuts, data):
    edges, outs = cuts
    values = [near for edge in edges for near in beside(float(edge))] + SPECIALS
    values += data.draw(st.lists(st.floats(float(edges[0]), float(edges[-1])), max_size=20))
    found = released([CutCells("x", edges, outs)], x=doubles(values))["x"]
    assert found == [oracle_cuts(edges, outs, value) for value in values]


def test_thousands_of_cuts_are_found_exactly():
    edges = tuple(Fraction(k**3, 7) for k in range(5001))
    outs = tuple(float(k) for k in range(5000))
    values = [near for edge in edges[::17] for near in beside(float(edge))]
    found = released([CutCells("x", edges, outs)], x=doubles(values))["x"]
    assert found == [oracle_cuts(edges, outs, value) for value in values]


def test_cuts_whose_doubles_coincide_are_told_apart_by_order_alone():
    edges = (Fraction(0), Fraction(1), 1 + Fraction(1, 2**80), Fraction(2), 3, 4, 5, 6)
    outs = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    values = [0.5, *beside(1.0), 1.5, 2.0, 6.0]
    found = released([CutCells("x", edges, outs)], x=doubles(values))["x"]
    assert found == [oracle_cuts(edges, outs, value) for value in values]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, unique=True))
def test_a_grid_parts_the_edges_by_their_buckets(drawn):
    edges = sorted(drawn)
    grid = Grid.over(edges)
    for value in [near for edge in edges for near in beside(edge) if edges[0] <= near <= edges[-1]]:
        start = grid.starts[math.floor(value * grid.slope + grid.shift)]
        cell = sum(edge <= value for edge in edges[1:-1]) + 1
        assert start <= cell <= start + grid.most


# --- categories ---------------------------------------------------------------------------------

WORDS = ["", " ", "a", "A", "ä", "Zürich", "日本", "😀", "it's", '"', "\\", "%", "NULL", "None"]


@pytest.mark.parametrize("other", [None, "rest"])
@pytest.mark.parametrize("size", [1, 5, 32, 33, 500])
def test_labels_of_text_are_those_of_a_dictionary(size, other):
    keys = (WORDS + [f"code {k}" for k in range(600)])[:size]
    labels = {key: f"label {k % 7}" for k, key in enumerate(keys)}
    values = [*keys, *reversed(keys), None]
    if other is not None:
        values += ["b", "a ", "ZÜRICH", "code 9999", "日"]
    found = released([Lookup("x", tuple(labels.items()), other)], x=pa.array(values))["x"]
    assert found == [None if value is None else labels.get(value, other) for value in values]


@pytest.mark.parametrize("kind", [pa.int64(), pa.int16(), pa.float64()])
@pytest.mark.parametrize("size", [4, 200])
def test_labels_of_numbers_are_those_of_a_dictionary(kind, size):
    labels = {3 * k - 50: k % 5 for k in range(size)}
    values = [*range(-60, 60), None]
    found = released([Lookup("x", tuple(labels.items()), 99)], x=pa.array(values, kind))["x"]
    assert found == [None if value is None else labels.get(value, 99) for value in values]


def test_truth_values_have_labels_too():
    rule = Lookup("x", ((True, "yes"), (False, "no")))
    found = released([rule], x=pa.array([True, False, None]))["x"]
    assert found == ["yes", "no", None]


def test_a_value_in_no_group_is_refused_where_there_is_no_label_for_others():
    table = open_table({"job": ["nurse", "spy", "spy"]})
    mapped = apply_map(table, [Lookup("job", (("nurse", "health"),))])
    with pytest.raises(
        ColumnError, match=r"^2 values of column 'job' are in no group; hint: "
    ) as e:
        _ = mapped.counts
    assert "spy" not in str(e.value)


# --- formulas -----------------------------------------------------------------------------------

constants = st.sampled_from(["0", "1", "-1", "1/3", "0.1", "2.5", "1000", "-7/9"])
leaves = st.one_of(
    constants.map(lambda text: ("const", text)),
    st.sampled_from(["x", "y"]).map(lambda name: ("var", name)),
)


def branches(children):
    compared = st.tuples(st.sampled_from(["<", "<="]), children, children)
    condition = st.one_of(compared, st.tuples(st.just("and"), compared, compared))
    return st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "/", "min", "max"]), children, children),
        st.tuples(st.sampled_from(["neg", "abs", "sqrt"]), children),
        st.tuples(st.just("pow"), children, st.integers(0, 5)),
        st.tuples(st.just("if"), condition, children, children),
    )


trees = st.recursive(leaves, branches, max_leaves=10)
numbers = st.one_of(
    st.floats(-1000, 1000), st.integers(-3, 3).map(float), st.sampled_from([-0.0, None, 1 / 3])
)


def oracle_result(tree, record):
    try:
        result = oracle_formula(tree, record)
    except UndefinedError:
        return None
    return result if math.isfinite(result) else None


def parts_of(tree):
    yield tree
    for part in tree[1:]:
        if isinstance(part, tuple):
            yield from parts_of(part)


def is_tame(tree, record):
    """Tell whether no part of a formula leaves the finite numbers, where comparisons differ."""
    for part in parts_of(tree):
        try:
            if not math.isfinite(oracle_formula(part, record)):
                return False
        except UndefinedError:
            continue
    return True


@settings(max_examples=60)
@given(trees, st.lists(st.tuples(numbers, numbers), min_size=1, max_size=15))
def test_formulas_are_ieee_arithmetic_in_the_order_written(tree, drawn):
    records = [{"x": x, "y": y} for x, y in drawn]
    assume(all(is_tame(tree, record) for record in records))
    columns = {name: doubles([record[name] for record in records]) for name in "xy"}
    rules = [Formula("x", tree, -1000, 1000), Keep("y", -1000, 1000)]
    found = released(rules, **columns)["x"]
    assert bits(found) == bits([oracle_result(tree, record) for record in records])


def test_a_formula_reads_columns_as_their_rules_clamp_them_and_withheld_ones_as_they_are():
    tree = ("+", ("var", "x"), ("+", ("var", "y"), ("var", "z")))
    columns = {"x": doubles([50.0]), "y": doubles([50.0]), "z": doubles([50.0])}
    found = released([Formula("x", tree, 0, 10), UniformCells("y", 0, 20, 1)], **columns)
    assert found == {"x": [80.0], "y": [10.0]}


def test_infinite_inputs_without_a_range_leave_a_formula_undefined():
    tree = ("-", ("var", "x"), ("-", ("var", "y"), ("var", "y")))
    columns = {"x": doubles([1.0] * 4), "y": doubles([2.0, math.inf, math.nan, None])}
    assert released([Formula("x", tree, 0, 10)], **columns)["x"] == [1.0, None, None, None]


def test_a_result_that_is_not_finite_is_undefined():
    tree = ("pow", ("var", "x"), 3)
    found = released([Formula("x", tree, 0, 10**200)], x=doubles([2.0, 1e150]))
    assert found["x"] == [8.0, None]


def test_a_formula_that_uses_its_parts_very_often_stays_small():
    tree = ("var", "x")
    for _ in range(12):
        tree = ("max", ("pow", tree, 2), ("*", tree, ("const", "0.5")))
    found = released([Formula("x", tree, 0, 1)], x=doubles([0.5, 1.0]))
    record = [oracle_result(tree, {"x": value}) for value in (0.5, 1.0)]
    assert found["x"] == record


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (("exp", ("var", "x")), "uses exp, whose last digit differs"),
        (("+", ("var", "x"), ("log", ("var", "x"))), "uses log, whose last digit differs"),
        (("sin", ("var", "x")), "not known"),
        (("+", ("var", "x")), "not known"),
        (("pow", ("var", "x"), -1), "not known"),
        (("pow", ("var", "x"), 2.5), "not known"),
        (("if", ("var", "x"), ("var", "x"), ("var", "x")), "not known"),
        (("+", ("<", ("var", "x"), ("var", "x")), ("var", "x")), "not known"),
        (("and", ("var", "x"), ("var", "x")), "not known"),
        (("const", "one"), "is not a .*number"),
        (("const", "1e400"), "too large"),
        ("x", "not known"),
        ((), "not known"),
    ],
)
def test_a_formula_that_engines_would_not_execute_alike_is_refused(tree, words):
    with pytest.raises(OptionError, match=words) as refused:
        Formula("x", tree, 0, 1)
    assert "column 'x'" in str(refused.value)
    assert "; hint: " in str(refused.value)


# --- what is kept, counted and refused ----------------------------------------------------------


def test_columns_that_no_rule_names_are_not_released_and_the_order_is_that_of_the_rules():
    mapped = apply_map(open_table({"a": [1], "b": [2], "c": [3]}), [Keep("c"), Keep("a")])
    assert mapped.expression.to_pyarrow().to_pydict() == {"c": [3], "a": [1]}


def test_a_kept_column_keeps_its_type_and_loses_its_nan_only():
    table = pa.table(
        {"t": ["x", None], "r": doubles([math.nan, -0.0]), "i": pa.array([1, 2], "i2")}
    )
    found = apply_map(open_table(table), [Keep("t"), Keep("r"), Keep("i")]).expression.to_pyarrow()
    assert found.to_pydict() == {"t": ["x", None], "r": [None, 0.0], "i": [1, 2]}
    assert math.copysign(1, found["r"].to_pylist()[1]) == -1
    assert found.schema.field("i").type == pa.int16()


def test_rows_keep_their_order_in_every_kind_of_rule(tmp_path):
    size = 400_000
    numbered = pa.array(range(size))
    table = pa.table(
        {"i": numbered, "x": numbered, "k": pa.array(f"{k % 300}" for k in range(size))}
    )
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=20_000)
    edges = tuple(Fraction(k * size, 100) for k in range(101))
    rules = [
        Keep("i"),
        CutCells("x", edges, tuple(map(float, range(100)))),
        Lookup("k", tuple((f"{k}", k) for k in range(300))),
    ]
    found = apply_map(open_table(tmp_path / "t.parquet"), rules).expression.to_pyarrow()
    assert found["i"].equals(table["i"])
    assert found["k"].to_numpy().tolist() == [k % 300 for k in range(size)]


def test_everything_that_a_map_meets_is_counted():
    table = pa.table(
        {
            "x": doubles([math.nan, None, -1.0, 11.0, math.inf, -math.inf, 5.0, 0.0, 10.0]),
            "k": pa.array(["a", None, "b", "c", "c", "a", "a", "a", "a"]),
            "t": pa.array(["t", None, None, "t", "t", "t", "t", "t", "t"]),
        }
    )
    rules = [UniformCells("x", 0, 10, 5), Lookup("k", (("a", "A"), ("b", "B")), "O"), Keep("t")]
    counts = apply_map(open_table(table), rules).counts
    assert counts.rows == 9
    assert counts.columns == (
        ColumnCounts("x", missing=2, below=2, above=2, unknown=0, undefined=0),
        ColumnCounts("k", missing=1, below=0, above=0, unknown=2, undefined=0),
        ColumnCounts("t", missing=2, below=0, above=0, unknown=0, undefined=0),
    )


@settings(max_examples=40)
@given(st.lists(st.one_of(st.floats(), st.none()), min_size=1, max_size=60))
def test_counts_are_those_of_plain_python(values):
    rules = [CutCells("x", (Fraction(-2), Fraction("0.1"), Fraction(3)), (0.0, 1.0))]
    (found,) = apply_map(open_table(pa.table({"x": doubles(values)})), rules).counts.columns
    present = [value for value in values if value is not None and not math.isnan(value)]
    assert found.missing == len(values) - len(present)
    assert found.below == sum(value < -2 for value in present)
    assert found.above == sum(value > 3 for value in present)


def test_nan_is_missing_even_where_the_statistics_of_a_file_leave_it_out(tmp_path):
    path = tmp_path / "nan.parquet"
    pq.write_table(pa.table({"x": doubles([1.0, 2.0, math.nan, None])}), path)
    assert pq.read_metadata(path).row_group(0).column(0).statistics.max == 2.0
    for rule in (
        UniformCells("x", 0, 4, 4),
        Keep("x"),
        Keep("x", 0, 4),
        CutCells("x", (0, 4), (2.0,)),
    ):
        mapped = apply_map(open_table(path), [rule])
        assert mapped.expression.to_pyarrow()["x"].to_pylist()[2:] == [None, None]
        assert mapped.counts.columns[0].missing == 2
        assert mapped.counts.columns[0].above == 0
    tree = ("+", ("var", "x"), ("const", "1"))
    found = apply_map(open_table(path), [Formula("x", tree, 0, 4)]).expression.to_pyarrow()
    assert found["x"].to_pylist() == [2.0, 3.0, None, None]


@pytest.mark.parametrize(
    ("rule", "values", "sentence"),
    [
        (UniformCells("x", 0, 10, 5), [1.0, None, 3.0], "1 value of column 'x' is missing"),
        (UniformCells("x", 0, 10, 5), [1.0, math.nan], "1 value of column 'x' is missing"),
        (
            CutCells("x", (Fraction(0), Fraction(7)), (3.0,)),
            [8.125, 9.125, -8.125],
            "3 values of column 'x' are outside the declared range",
        ),
        (Keep("x", 0, 7), [math.inf], "1 value of column 'x' is outside the declared range"),
        (Lookup("x", ((1, "one"),), "other"), [1.0, 8.125], "1 value of column 'x' is in no group"),
    ],
)
def test_a_strict_map_refuses_with_the_column_and_the_number_of_rows_but_no_value(
    rule, values, sentence
):
    mapped = apply_map(open_table(pa.table({"x": doubles(values)})), [rule], strict=True)
    with pytest.raises(ColumnError) as refused:
        _ = mapped.counts
    assert refused.value.problem == sentence
    assert "8.125" not in str(refused.value)
    assert apply_map(mapped.table, [rule]).counts.rows == len(values)


def test_a_strict_map_accepts_values_on_the_ends_of_their_ranges():
    table = open_table({"x": [0.1, 0.7], "k": ["a", "b"]})
    rules = [
        UniformCells("x", Fraction("0.1"), Fraction("0.7"), 3),
        Lookup("k", (("a", 1), ("b", 2))),
    ]
    assert apply_map(table, rules, strict=True).counts.rows == 2


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: UniformCells("x", 2, 1, 3), "'x' ends before it begins"),
        (lambda: UniformCells("x", 0, 1, 0), "levels for column 'x'"),
        (lambda: UniformCells("x", 0, 1, levels=True), "levels for column 'x'"),
        (lambda: UniformCells("x", 0, "ten", 1), "'x' is not a .*number"),
        (lambda: UniformCells("x", 0, Fraction(1, 3), 10**15), "too fine"),
        (lambda: UniformCells("x", 0, 10**400, 1), "too large"),
        (lambda: CutCells("x", (0,), ()), "1 edges and 0 values"),
        (lambda: CutCells("x", (0, 1), (1.0, 2.0)), "2 edges and 2 values"),
        (lambda: CutCells("x", (0, 2, 1), (1.0, 2.0)), "do not increase"),
        (lambda: CutCells("x", (0, 1, 1), (1.0, 2.0)), "do not increase"),
        (lambda: CutCells("x", (0, 1), (math.nan,)), "not a finite number"),
        (lambda: CutCells("x", (0, 1), ("one",)), "not a finite number"),
        (lambda: Keep("x", 3, 2), "ends before it begins"),
        (lambda: Keep("x", 3), "is not a .*number"),
        (lambda: Formula("x", ("var", "x"), 1, 0), "ends before it begins"),
        (lambda: Lookup("x", ()), "values of the groups"),
        (lambda: Lookup("x", (("a", 1), (2, 2))), "values of the groups"),
        (lambda: Lookup("x", (("a", 1), ("b", "two"))), "labels of the groups"),
        (lambda: Lookup("x", (("a", 1),), "rest"), "labels of the groups"),
        (lambda: Lookup("x", ((1.5, "a"),)), "values of the groups"),
        (lambda: Lookup("x", (("a", "A"), ("a", "B"))), "stands in two groups"),
        (lambda: Lookup("x", ((2**60, "A"),)), "too large to be exact"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused_in_one_sentence(make, words):
    with pytest.raises(OptionError, match=words) as refused:
        make()
    assert "; hint: " in str(refused.value)


@pytest.mark.parametrize(
    ("rules", "error", "words"),
    [
        ([], OptionError, "names no column"),
        ([Keep("age"), Keep("AGE")], OptionError, "name one column"),
        ([Keep("agee")], ColumnError, "'agee' is not in .*did you mean 'age'"),
        ([UniformCells("name", 0, 1, 2)], ColumnError, "'name' .* holds text values, not numbers"),
        ([Formula("age", ("var", "name"), 0, 1)], ColumnError, "'name' .* holds text values"),
        ([Formula("age", ("var", "height"), 0, 1)], ColumnError, "'height' is not in"),
        ([Lookup("age", (("a", "b"),))], ColumnError, "'age' .* holds integer values, unlike"),
        ([Lookup("name", ((1, "b"),))], ColumnError, "'name' .* holds text values, unlike"),
        ([Lookup("name", ((True, "b"),))], ColumnError, "'name' .* holds text values, unlike"),
        ([Keep("list")], ColumnError, "holds lists"),
    ],
)
def test_a_map_that_does_not_fit_its_table_is_refused_in_one_sentence(rules, error, words):
    table = open_table({"age": [30, 40], "name": ["A", "B"], "list": [[1], [2]]})
    with pytest.raises(error, match=words) as refused:
        apply_map(table, rules)
    assert "; hint: " in str(refused.value)


def test_a_table_without_rows_is_refused():
    with pytest.raises(TableError, match="has no rows"):
        _ = apply_map(open_table(pa.table({"x": doubles([])})), [Keep("x")]).counts


def test_a_column_of_nothing_but_missing_values_is_released_as_such():
    assert released([UniformCells("x", 0, 1, 2)], x=pa.array([None, None]))["x"] == [None, None]
    empty = pa.array([None, None], pa.string())
    assert released([Lookup("x", (("a", "b"),))], x=empty)["x"] == [None, None]


def test_what_an_engine_says_of_the_data_is_not_repeated():
    table = open_table({"x": ["1", "private"]})
    broken = type(table)(table.expression.mutate(x=table.expression.x.cast("int64")), "broken")
    with pytest.raises(HartleyError) as refused:
        _ = apply_map(broken, [Keep("x")]).counts
    assert "private" not in str(refused.value)
