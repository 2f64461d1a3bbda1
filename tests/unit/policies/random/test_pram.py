"""PRAM: exact matrices, draws with their frequencies, invariance, policy files."""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from hartley import (
    ColumnError,
    InputError,
    OptionError,
    PolicyDocument,
    Pram,
    PrivacyDistortion,
    certify,
)
from hartley.policies import KeptColumn
from hartley.policies.random.matrix import ExactMatrix
from hartley.policies.random.pram import TableDraw, guessing_gain, odds_factor

RULE = Pram([["0.7", "0.2", "0.1"], ["0.25", "0.5", "0.25"], ["0", "0.1", "0.9"]])


@st.composite
def shares(draw, columns=None):
    """Rows of whole numbers, none all zero."""
    width = columns or draw(st.integers(1, 6))
    row = st.lists(st.integers(0, 50), min_size=width, max_size=width).filter(any)
    return draw(st.lists(row, min_size=1, max_size=6))


@st.composite
def matrices(draw, columns=None):
    return [[Fraction(part, sum(row)) for part in row] for row in draw(shares(columns))]


# --- matrices -----------------------------------------------------------------------------------


@pytest.mark.slow
@given(matrices())
def test_fractions_are_kept_as_they_are(rows):
    exact = ExactMatrix.of(rows)
    assert [[Fraction(part, exact.whole) for part in row] for row in exact.parts.tolist()] == rows
    assert ExactMatrix.of(exact.texts()) == exact


@given(shares())
def test_doubles_become_rows_that_add_up_to_one(rows):
    doubles = np.array(rows) / np.sum(rows, axis=1, keepdims=True)
    exact = ExactMatrix.of(doubles)
    assert (exact.parts.sum(axis=1) == exact.whole).all()
    assert np.abs(exact.doubles - doubles).max() <= 1e-14
    assert ((exact.parts > 0) == (doubles > 0)).all()


@given(matrices())
def test_a_draw_has_the_support_of_the_matrix_and_tells_no_more_than_rounding(rows):
    exact = ExactMatrix.of(rows)
    assert [sum(row) for row in exact.weights.tolist()] == [2**62] * len(rows)
    assert ((exact.weights > 0) == (exact.parts > 0)).all()
    wanted = [[part * 2**62 for part in row] for row in rows]
    assert all(
        abs(found - want) <= len(rows[0])
        for ours, theirs in zip(exact.weights.tolist(), wanted, strict=True)
        for found, want in zip(ours, theirs, strict=True)
    )
    gain = sum(max(column) for column in zip(*rows, strict=True))
    assert gain <= guessing_gain(exact) <= gain + Fraction(len(rows[0]) ** 2, 2**62)


def test_what_a_matrix_excludes_is_never_drawn_for_what_rounding_leaves():
    rows = [
        [Fraction(part, 31191160) for part in row]
        for row in ([7368725, 13151775, 10670660], [13780624, 16541096, 869440])
    ]
    last = [Fraction(part, 31191160) for part in (19194560, 0, 11996600)]
    assert ExactMatrix.of([*rows, last]).weights[2, 1] == 0


@pytest.mark.parametrize(
    ("matrix", "told"),
    [
        ([["0.9", "0.2"], ["0.5", "0.5"]], "Row 1 of the matrix adds up to 1.1, not to 1"),
        ([[0.5, 0.5], [0.9, 0.0999]], "Row 2 of the matrix adds up to 0.9999, not to 1"),
        ([[1.5, -0.5], [0.5, 0.5]], "Row 1 of the matrix holds a negative probability"),
        ([["1", "0"], ["0", "0"]], "Row 2 of the matrix is all zeros"),
        ([[0.0, 0.0]], "Row 1 of the matrix is all zeros"),
        ([[float("nan"), 1.0]], "Row 1 of the matrix contains an entry that is not a number"),
        ([["0.5", "x"]], "A probability is not a number"),
        ([[1.0], [0.5, 0.5]], "all of the same length"),
        ([], "all of the same length"),
        (7, "all of the same length"),
        (np.zeros((2, 2, 2)), "not a table of probabilities"),
        (np.full((1, 5000), 1 / 5000), "A matrix over 5,000 values is too large"),
    ],
)
def test_what_is_no_matrix_of_probabilities_is_refused_in_a_sentence(matrix, told):
    with pytest.raises(OptionError, match=told):
        Pram(matrix)


@pytest.mark.parametrize(
    ("values", "options", "told"),
    [
        (["a"], {}, "The matrix has 2 rows for 1 values"),
        (["a", "a"], {}, "A value of the matrix is named twice"),
        (["a", 1], {}, "not all text, all numbers"),
        ([b"a", b"b"], {}, "not all text, all numbers"),
        ([1.0, float("inf")], {}, "not a finite number"),
        (["a", "b"], {"released": ["x"]}, "The matrix has 2 columns for 1 values"),
        (["a", "b"], {"column": ["x", "y"]}, "does not have 2 parts"),
    ],
)
def test_values_that_fit_no_matrix_are_refused(values, options, told):
    with pytest.raises(OptionError, match=told):
        Pram([[0.5, 0.5], [0.5, 0.5]], values, **options)


def test_the_probability_to_keep_is_exact_and_the_rest_is_shared():
    rule = Pram.retaining("1/3", ["a", "b", "c", "d"])
    assert rule.matrix.texts()[1] == ["2/9", "1/3", "2/9", "2/9"]
    for wrong in ("1.1", -0.1, "x"):
        with pytest.raises(OptionError):
            Pram.retaining(wrong, ["a", "b"])
    with pytest.raises(OptionError, match="only one value"):
        Pram.retaining("0.5", ["a"])


def test_the_solver_gives_a_rule():
    model = PrivacyDistortion(np.diag([0.25] * 4), "zero_one", values=list("abcd"))
    rule = Pram.of_result(model.solve(distortion=0.3), column="letter")
    assert rule.values == ("a", "b", "c", "d")
    assert np.trace(rule.matrix.doubles) / 4 == pytest.approx(0.7, abs=1e-9)


@pytest.mark.parametrize("wish", [{"distortion": 0.2}, {"distortion": 0.4}, {"lam": 5.0}])
@pytest.mark.parametrize("distance", ["zero_one", "squared", "absolute"])
def test_the_rule_of_the_solver_holds_no_dust_and_promises_what_it_is(wish, distance):
    joint = np.random.default_rng(4).dirichlet(np.ones(18)).reshape(3, 6)
    result = PrivacyDistortion(joint, distance, values=range(6)).solve(**wish)
    assert ((result.matrix > 0) & (result.matrix < 1e-8)).any()  # what is to be swept away
    rule = Pram.of_result(result, range(6), column="key").matrix
    exact = [[Fraction(part, rule.whole) for part in row] for row in rule.parts.tolist()]
    assert all(sum(row) == 1 for row in exact)
    assert min(entry for row in exact for entry in row if entry) > Fraction(1, 10**7)
    assert np.abs(rule.doubles - result.matrix).max() < 1e-6
    # The odds by their definition, from the exact numbers.
    columns = [column for column in zip(*exact, strict=True) if any(column)]
    unbounded = any(min(column) == 0 for column in columns)
    odds = None if unbounded else max(max(column) / min(column) for column in columns)
    assert odds_factor(rule) == odds
    assert odds is None or odds < 10**7
    certificate = certify(Pram(rule, range(6), column="key"))
    assert certificate.sound
    gain = sum(max(column) for column in zip(*exact, strict=True))
    assert certificate.value == pytest.approx(math.log2(gain), abs=1e-9)


# --- invariance ---------------------------------------------------------------------------------


@pytest.mark.slow
@given(st.integers(1, 5), st.data())
def test_an_invariant_rule_preserves_frequencies(size, data):
    row = data.draw(matrices(columns=size))
    rule = Pram([row[place % len(row)] for place in range(size)])
    counts = data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any))
    kept = rule.invariant(counts)
    shares_before = np.array(counts) / sum(counts)
    assert np.abs(shares_before @ kept.matrix.doubles - shares_before).max() < 1e-12
    assert (kept.matrix.parts.sum(axis=1) == kept.matrix.whole).all()


def test_large_and_small_counts_are_frequencies_too():
    rule = Pram.retaining("0.8", ["a", "b"])
    for scale in (1e307, 1e-300):
        found = rule.invariant([9 * scale, scale])
        assert found.matrix == rule.invariant([9, 1]).matrix


def test_invariance_by_hand():
    # Two values at 0.9 and 0.1, kept with 0.8: R(1|1) = 0.8 * 0.72/0.74 + 0.2 * 0.18/0.26.
    kept = Pram.retaining("0.8", ["a", "b"]).invariant([9, 1])
    assert kept.matrix.doubles[0, 0] == pytest.approx(0.8 * 0.72 / 0.74 + 0.2 * 0.18 / 0.26)
    for wrong in ([1], [1, -1], [0, 0], ["x", 1]):
        with pytest.raises(OptionError):
            Pram.retaining("0.8", ["a", "b"]).invariant(wrong)


# --- draws --------------------------------------------------------------------------------------


def test_frequencies_of_draws_are_within_four_standard_errors():
    # 40 seeds, 8 possible transitions: a true generator leaves four standard errors somewhere with
    # a chance of 320 * 6.4e-5 = 2 %, once and for all, since the seeds are fixed.
    rows, worst, squares = 20_000, 0.0, []
    codes = np.repeat(np.arange(3), rows)
    for seed in range(40):
        drawn = RULE.draw(codes, seed=seed)
        for value, row in enumerate(RULE.matrix.doubles):
            found = np.bincount(drawn[codes == value], minlength=3)
            assert (found[row == 0] == 0).all()
            live = row > 0
            errors = np.sqrt(rows * row[live] * (1 - row[live]))
            scores = (found[live] - rows * row[live]) / errors
            worst = max(worst, float(np.abs(scores).max()))
            squares += (scores**2).tolist()
    assert worst <= 4
    assert len(squares) == 320
    assert 0.75 <= np.mean(squares) <= 1.25  # neither too wild nor too even


def test_equal_seeds_draw_equally_and_others_otherwise():
    codes = np.arange(300) % 3
    one = RULE.on("a").draw(codes, seed=1)
    assert (one == RULE.on("a").draw(codes, seed=1)).all()
    for other in (RULE.on("a").draw(codes, seed=2), RULE.on("b").draw(codes, seed=1)):
        assert (one != other).any()
    assert (RULE.draw(codes) != RULE.draw(codes)).any()  # fresh entropy: equal with chance < 2^-200
    assert (RULE.draw(codes, seed=b"1") != RULE.draw(codes, seed=1)).any()
    assert (RULE.draw(codes, seed=10**5000) != RULE.draw(codes, seed=1 - 10**5000)).any()


def test_rules_that_differ_draw_independently_by_one_seed():
    # Two draws by one keystream would tell more together than the sum of what each tells.
    codes = np.zeros(20_000, int)
    even = [["1/2", "1/2"]]
    known = {"values": ["a"], "released": ["b", "c"]}
    first = Pram(even, **known, column="x").draw(codes, seed=7)
    others = [
        Pram([["1/3", "2/3"]], **known, column="x"),
        Pram(even, ["d"], released=["b", "c"], column="x"),
        Pram(even, ["a"], released=["c", "b"], column="x"),
        Pram(even, **known, column="y"),
    ]
    for other in others:
        drawn = other.draw(codes, seed=7)
        assert abs(np.corrcoef(first, drawn)[0, 1]) < 0.04  # more than 5 standard errors


@given(st.integers(0, 400), st.integers(0, 2**40))
def test_a_row_is_drawn_by_its_number_alone(cut, seed):
    codes = np.arange(400) % 3
    whole = RULE.draw(codes, seed=seed)
    parts = [RULE.draw(codes[:cut], seed=seed), RULE.draw(codes[cut:], seed=seed, first=cut)]
    assert np.concatenate(parts).tolist() == whole.tolist()


@pytest.mark.parametrize(
    ("codes", "options"),
    [
        ([3], {}),
        ([-1], {}),
        ([0.5], {}),
        ([[0]], {}),
        ([0], {"seed": "x"}),
        ([0], {"seed": True}),
        ([0], {"seed": b""}),
        ([0], {"first": -1}),
        ([0], {"first": 0.5}),
    ],
)
def test_codes_and_seeds_that_make_no_sense_are_refused(codes, options):
    with pytest.raises(OptionError):
        RULE.draw(codes, **options)


# --- chunks of tables ---------------------------------------------------------------------------


def test_columns_can_be_drawn_together():
    values = [("n", 1), ("n", 2), ("s", 1)]
    move = Pram([[0, 1, 0], [0, 0, 1], [1, 0, 0]], values, column=["side", "size"])
    chunk = pa.table({"size": [1, 2, 1], "side": ["n", "n", "s"]})
    assert TableDraw([move])(chunk).to_pydict() == {"size": [2, 1, 1], "side": ["n", "s", "n"]}
    with pytest.raises(ColumnError, match="no row for"):
        TableDraw([move])(pa.table({"size": [2], "side": ["s"]}))
    narrow = Pram([["1/2", "1/2"]] * 2, [("n", 1), ("n", 2)], column=["side", "size"])
    with pytest.raises(ColumnError, match="no row for"):
        TableDraw([narrow])(pa.table({"size": [3], "side": ["s"]}))


def test_other_values_can_be_released_than_there_are():
    rule = Pram([[1, 0, 0], [0, 0, 1]], [1, 2], released=["low", "mid", "high"], column="x")
    draw = TableDraw([rule])
    assert draw(pa.table({"x": [1, 2, 2]})).to_pydict() == {"x": ["low", "high", "high"]}
    assert draw.changed == [3]


def test_numbers_of_numpy_are_values_and_seeds():
    rule = Pram.retaining("0.5", [np.int64(1), np.int64(2)], column="x")
    assert rule.values == (1, 2)
    drawn = [rule.draw([0] * 40, seed=seed).tolist() for seed in (np.int64(5), 5)]
    assert drawn[0] == drawn[1]


def test_values_may_be_an_array_and_no_set():
    assert Pram(np.eye(2), np.array(["a", "b"])).values == ("a", "b")
    assert Pram(np.eye(2), np.array([1, 2])).values == (1, 2)
    with pytest.raises(OptionError, match="not a list"):
        Pram(np.eye(2), {"a", "b"})


def test_equal_values_are_released_in_the_form_of_the_values():
    rule = Pram([[0, 1], [1, 0]], [0, 1], released=[False, True], column="x")
    assert repr(rule.released) == "(0, 1)"
    assert PolicyDocument.from_toml(PolicyDocument((rule,)).to_toml()).prams == (rule,)


def test_a_missing_value_needs_a_row_of_its_own():
    chunk = pa.table({"x": pa.array(["a", None])})
    flip = Pram([[0, 1], [1, 0]], ["a", None], column="x")
    assert TableDraw([flip])(chunk).to_pydict() == {"x": [None, "a"]}
    with pytest.raises(ColumnError, match="is missing, for which the matrix has no row"):
        TableDraw([Pram([[1]], ["a"], column="x")])(chunk)
    with pytest.raises(ColumnError, match="different kind"):
        TableDraw([Pram([[1]], ["a"], column="x")])(pa.table({"x": [1]}))


# --- files --------------------------------------------------------------------------------------

parts = st.one_of(
    st.lists(st.text(st.characters(exclude_categories=["Cs"])), unique=True),
    st.lists(st.integers(-(2**40), 2**40), unique=True),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), unique=True),
    st.just([True, False]),
)


@pytest.mark.slow
@given(parts.filter(bool), st.booleans(), st.data())
def test_a_rule_in_a_policy_file_is_read_back_as_it_is(values, holes, data):
    listed = [*values, None] if holes else values
    matrix = data.draw(matrices(columns=len(listed)))
    rows = [matrix[place % len(matrix)] for place in range(len(listed))]
    policy = PolicyDocument((Pram(rows, listed, column="x"), KeptColumn("y")))
    again = PolicyDocument.from_toml(policy.to_toml())
    assert again == policy
    assert again.digest == policy.digest


def test_long_matrices_over_names_with_odd_line_ends_are_read_back():
    values = [f"line{sign}{place}" * 4 for sign in "\u2028\x85\x0c\n" for place in range(5)]
    both = [(value, "x" * 90) for value in values]
    for listed, names in ((values, "v"), (both, ["v", "w"])):
        policy = PolicyDocument((Pram.retaining("0.5", listed, column=names),))
        assert PolicyDocument.from_toml(policy.to_toml()) == policy


def test_a_joint_rule_with_other_released_values_is_read_back():
    rule = Pram([[0.5, 0.5], [1, 0]], [("a", 1), ("b", None)], released=[("c", 1), ("d", 2)])
    policy = PolicyDocument((rule.on(["x", "y"]),))
    assert PolicyDocument.from_toml(policy.to_toml()) == policy


HEAD = 'format = 1\n[[columns]]\nname = "x"\nkind = "pram"\n'


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ('values = ["a"]', "has no 'matrix'"),
        ('values = ["a", "b"]\nmatrix = [["1", "0"], ["0.5", "0.4"]]', "adds up to 0.9"),
        ('values = ["a", "b"]\nmatrix = [[0.5, 0.5], [0.25, 0.7]]', "adds up to 0.95"),
        ('values = "a"\nmatrix = [["1"]]', "'values' is not a list"),
        ('values = [{many = true}]\nmatrix = [["1"]]', "unknown form"),
        ('values = [[1, 2]]\nmatrix = [["1"]]\ncolumns = ["y", "x"]', "do not begin with 'x'"),
        ('values = [[1, 2]]\nmatrix = [["1"]]\ncolumns = ["x", "x"]', "named twice"),
        ('values = ["a"]\nmatrix = [["1"]]\nlevels = 3', "unknown field 'levels'"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_in_a_sentence(fields, told):
    with pytest.raises(InputError, match=told):
        PolicyDocument.from_toml(HEAD + fields + "\n")


def test_bare_decimals_of_a_file_are_exact():
    text = HEAD + 'values = ["a", "b"]\nmatrix = [[0.1, 0.9], [0.30, 0.70]]\n'
    (rule,) = PolicyDocument.from_toml(text).prams
    assert rule.matrix.texts() == [["0.1", "0.9"], ["0.3", "0.7"]]


def test_a_rule_for_no_column_stands_in_no_policy():
    with pytest.raises(InputError, match="releases no column"):
        PolicyDocument((RULE,))
    with pytest.raises(OptionError, match="has no column yet"):
        _ = RULE.name
    with pytest.raises(InputError, match="names column 'y' twice"):
        PolicyDocument((Pram([[1]], [(1, 2)], column=["x", "y"]), KeptColumn("Y")))


def test_odds_are_unbounded_where_a_released_value_excludes_one():
    assert odds_factor(RULE.matrix) is None
    assert odds_factor(Pram.retaining("0.9", range(3)).matrix) == 18


@pytest.mark.parametrize("entry", ["9" * 400, "1e400", "-1e399"])
def test_an_entry_beyond_every_double_is_refused_in_a_sentence(entry):
    with pytest.raises(OptionError, match="Row 1 of the matrix"):
        ExactMatrix.of([[entry, "0.5"], ["0.5", "0.5"]])
