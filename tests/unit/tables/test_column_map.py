"""What a map releases, counts and refuses, on the embedded engine."""

import math
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from hartley import open_table
from hartley.boxes import parse_expression
from hartley.engines.cells import CutCells, UniformCells
from hartley.errors import ColumnError, HartleyError, OptionError, TableError
from hartley.tables.column_map import ColumnCounts, IndexFormula, LatticeSide, apply_map
from hartley.tables.release_rules import Formula, Keep, Lookup, Quantized
from hartley.tables.writing import write_table

# --- What a map releases, counts and refuses, on the embedded engine ------------------------------


def doubles(values):
    return pa.array(values, pa.float64())


def test_columns_that_no_rule_names_are_not_released_and_the_order_is_that_of_the_rules():
    mapped = apply_map(open_table({"a": [1], "b": [2], "c": [3]}), [Keep("c"), Keep("a")])
    assert mapped.expression.to_pyarrow().to_pydict() == {"c": [3], "a": [1]}


def test_a_kept_column_keeps_its_type_and_loses_its_nan_and_the_sign_of_zero():
    table = pa.table(
        {"t": ["x", None], "r": doubles([math.nan, -0.0]), "i": pa.array([1, 2], "i2")}
    )
    found = apply_map(open_table(table), [Keep("t"), Keep("r"), Keep("i")]).expression.to_pyarrow()
    assert found.to_pydict() == {"t": ["x", None], "r": [None, 0.0], "i": [1, 2]}
    assert math.copysign(1, found["r"].to_pylist()[1]) == 1
    assert found.schema.field("i").type == pa.int16()


@pytest.mark.slow
def test_rows_keep_their_order_in_every_kind_of_rule(tmp_path):
    size = 150_000
    numbered = pa.array(range(size))
    table = pa.table(
        {"i": numbered, "x": numbered, "k": pa.array(f"{k % 300}" for k in range(size))}
    )
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=10_000)
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


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.one_of(st.floats(), st.none()), min_size=1, max_size=60))
def test_counts_are_those_of_plain_python(hold, values):
    rules = [CutCells("x", (Fraction(-2), Fraction("0.1"), Fraction(3)), (0.0, 1.0))]
    (found,) = apply_map(hold(x=doubles(values)), rules).counts.columns
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


def test_a_column_of_nothing_but_missing_values_is_released_as_such(released):
    assert released([UniformCells("x", 0, 1, 2)], x=pa.array([None, None]))["x"] == [None, None]
    empty = pa.array([None, None], pa.string())
    assert released([Lookup("x", (("a", "b"),))], x=empty)["x"] == [None, None]


def test_what_an_engine_says_of_the_data_is_not_repeated():
    table = open_table({"x": ["1", "private"]})
    broken = type(table)(table.expression.mutate(x=table.expression.x.cast("int64")), "broken")
    with pytest.raises(HartleyError) as refused:
        _ = apply_map(broken, [Keep("x")]).counts
    assert "private" not in str(refused.value)


# --- Expressions put into cells row by row, and what is counted on the way ------------------------


ELLIPSE = parse_expression("x1**2 + 2*x2**2").to_tree()
CELLS = UniformCells("q", Fraction(0), Fraction(12), 12)
BOX = {"x1": (-2, 2), "x2": (-2, 2)}
numbers = st.one_of(st.floats(-3, 3), st.sampled_from([None, math.nan, math.inf, 2.0, -2.0]))


def is_missing(value):
    return value is None or math.isnan(value)


@pytest.mark.slow
@settings(max_examples=12)
@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=30))
def test_a_query_is_computed_over_clamped_columns_and_its_cell_is_released(hold, drawn):
    columns = {f"x{i + 1}": pa.array([row[i] for row in drawn], pa.float64()) for i in (0, 1)}
    cuts = CutCells("c", tuple(Fraction(k, 2) for k in range(25)), tuple(map(float, range(24))))
    rules = [Quantized("q", ELLIPSE, CELLS), Quantized("c", ELLIPSE, cuts)]
    mapped = apply_map(hold(**columns), rules, ranges=BOX)
    found = mapped.expression.to_pyarrow().to_pydict()
    for row, cell, cut in zip(drawn, found["q"], found["c"], strict=True):
        if any(map(is_missing, row)):
            assert cell is cut is None
            continue
        one, other = (min(max(value, -2.0), 2.0) for value in row)
        answer = min(one * one + 2.0 * (other * other), 12.0)
        assert cell == min(math.floor(answer), 11) + 0.5
        assert cut == min(math.floor(2 * answer), 23)
    present = [row for row in drawn if not any(map(is_missing, row))]
    counts = mapped.counts.columns[0]
    assert counts.missing == len(drawn) - len(present)
    assert counts.below == sum(min(row) < -2 for row in present)
    assert counts.above == sum(max(row) > 2 for row in present)


def test_a_value_at_the_corner_of_the_box_is_not_outside_by_rounding(hold):
    cells = UniformCells("q", Fraction(0), Fraction(3, 10), 3)
    ranges = {"x1": (0, Fraction("0.1")), "x2": (0, Fraction("0.2"))}
    rule = Quantized("q", parse_expression("x1 + x2").to_tree(), cells)
    mapped = apply_map(hold(x1=[0.1, 0.0], x2=[0.2, 0.0]), [rule], strict=True, ranges=ranges)
    assert mapped.counts.columns[0].above == 0
    assert 0.1 + 0.2 > 0.3
    assert mapped.expression.to_pyarrow()["q"].to_pylist() == [0.25, 0.05]


def test_without_declared_ranges_the_answer_itself_is_looked_at(hold):
    table = hold(x1=[0.0, 3.0, -9.0, 1e200], x2=[1.0, 1.5, 0.0, 0.0])
    mapped = apply_map(table, [Quantized("q", ELLIPSE, CELLS)])
    assert mapped.expression.to_pyarrow()["q"].to_pylist() == [2.5, 11.5, 11.5, None]
    counts = mapped.counts.columns[0]
    assert (counts.missing, counts.below, counts.above) == (0, 0, 2)
    with pytest.raises(ColumnError, match="2 values of column 'q' are outside"):
        _ = apply_map(table, [Quantized("q", ELLIPSE, CELLS)], strict=True).counts


def test_a_column_that_is_also_kept_is_clamped_for_a_query_by_its_declared_range(released):
    found = released([Quantized("q", ELLIPSE, CELLS), Keep("x2")], ranges=BOX, x1=[0.0], x2=[-3.0])
    assert found == {"q": [8.5], "x2": [-3.0]}


def test_a_query_may_be_released_under_the_name_of_a_column_or_another(hold):
    table = hold(x1=[1.0], x2=[1.0])
    rules = [Quantized("x1", ELLIPSE, CELLS), Keep("x2")]
    assert apply_map(table, rules).expression.to_pyarrow().to_pydict() == {"x1": [3.5], "x2": [1.0]}
    with pytest.raises(ColumnError, match="'x3' is not in"):
        apply_map(table, [Quantized("q", ("var", "x3"), CELLS)])
    with pytest.raises(OptionError, match="uses exp, whose last digit differs"):
        Quantized("q", ("exp", ("var", "x1")), CELLS)


def test_cells_that_are_too_fine_for_integers_are_listed_for_a_query_too(released):
    low, high = Fraction("3.141592653589793"), Fraction("314.1592653589793238")
    cells = UniformCells("q", low, high, 500)
    assert not cells.fits
    values = [float(low + k * (high - low) / 500) for k in range(501)]
    direct = released([UniformCells("x", low, high, 500)], x=values)["x"]
    assert released([Quantized("q", ("var", "x"), cells)], x=values)["q"] == direct


# --- Numbers read as indices on a step: every one of a lattice, and none beside it ----------------


SIDES = [
    LatticeSide("x", Fraction(0), Fraction(1), 100),
    LatticeSide("x", Fraction(-7, 10), Fraction(1, 10), 999),
    LatticeSide("x", Fraction(1, 3), Fraction(1, 7), 500),
    LatticeSide("x", Fraction(10**9), Fraction(1, 1000), 2000),
    LatticeSide("x", Fraction(-5), Fraction("2.5"), 4),
]


def index_rule(side):
    return IndexFormula("x", ("var", "x"), (side,))


@pytest.mark.parametrize("side", SIDES)
def test_every_value_of_a_lattice_has_its_index_and_comes_back(side):
    values = [float(side.low + k * side.step) for k in range(side.last + 1)]
    table = open_table({"x": values})
    indices = apply_map(table, [index_rule(side)])
    assert indices.counts.rows == len(values)
    assert indices.expression.to_pyarrow()["x"].to_pylist() == list(range(side.last + 1))
    back = apply_map(table, [IndexFormula("x", side.value_tree(), (side,))])
    assert back.expression.to_pyarrow()["x"].to_pylist() == values


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("towards", [-math.inf, math.inf])
def test_the_doubles_beside_a_value_are_off_the_step(side, towards):
    middle = float(side.low + (side.last // 2) * side.step)
    beside = math.nextafter(middle, towards)
    with pytest.raises(ColumnError, match="1 value of column 'x' is off the declared step"):
        apply_map(open_table({"x": [middle, beside]}), [index_rule(side)]).counts  # noqa: B018


@pytest.mark.parametrize("rounding", ["nearest", "down"])
def test_numbers_between_steps_are_rounded(rounding):
    side = LatticeSide("x", Fraction(1, 10), Fraction(3, 10), 9, rounding)
    numbers = [k / 1000 for k in range(100, 2801)]
    mapped = apply_map(open_table({"x": numbers}), [index_rule(side)])
    assert mapped.counts.rows == len(numbers)
    for number, index in zip(numbers, mapped.expression.to_pyarrow()["x"].to_pylist(), strict=True):
        place = (Fraction(str(number)) - side.low) / side.step
        expected = math.floor(place + Fraction(1, 2)) if rounding == "nearest" else int(place)
        assert index == expected


def test_a_message_counts_and_never_shows_a_value():
    table = open_table({"x": [0.0, 1.25, 2.75]})
    with pytest.raises(ColumnError) as caught:
        apply_map(table, [index_rule(SIDES[0])]).counts  # noqa: B018 - counting is what refuses
    assert str(caught.value).startswith("2 values of column 'x' are off the declared step of 1")
    assert "1.25" not in str(caught.value)


def test_steps_that_doubles_cannot_tell_apart_are_refused():
    with pytest.raises(OptionError, match="too fine"):
        LatticeSide("x", Fraction(1), Fraction(1, 10**15), 10**15)


def test_a_column_of_text_is_refused():
    with pytest.raises(ColumnError, match="not numbers"):
        apply_map(open_table({"x": ["a"]}), [index_rule(SIDES[0])])


@pytest.mark.parametrize("unfit", [0.25, math.nan, None, math.inf, -math.inf, 11.0, -0.5, 1e308])
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_one_value_without_an_index_leaves_no_file(unfit, ending, tmp_path):
    """Such a table is not counted before it is written: what is written shows it."""
    values = [0.5 * (k % 21) for k in range(5000)]
    values[4321] = unfit
    side = LatticeSide("x", Fraction(0), Fraction(1, 2), 20)
    rule = IndexFormula("x", side.value_tree(), (side,))
    mapped = apply_map(open_table({"x": values}), [rule])
    assert mapped.counts_before_writing.rows == 5000
    with pytest.raises(ColumnError, match=r"1 value of column 'x' is (off|missing|outside)"):
        write_table(mapped, tmp_path / f"out.{ending}")
    assert list(tmp_path.iterdir()) == []


def test_a_value_of_another_column_without_an_index_leaves_no_file(tmp_path):
    sides = (SIDES[0], LatticeSide("y", Fraction(0), Fraction(1), 9))
    rule = IndexFormula("x", ("+", ("var", "x"), ("var", "y")), sides)
    mapped = apply_map(open_table({"x": [1, 2], "y": [3.0, 3.5]}), [rule])
    with pytest.raises(ColumnError, match="1 value of column 'y' is off the declared step of 1"):
        write_table(mapped, tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []


def test_minus_zero_is_released_as_zero():
    side = LatticeSide("x", Fraction(-1), Fraction(1, 2), 4)
    rule = IndexFormula("x", side.value_tree(), (side,))
    released = apply_map(open_table({"x": [-0.0, 0.0]}), [rule]).expression.to_pyarrow()["x"]
    assert [math.copysign(1, value) for value in released.to_pylist()] == [1, 1]
