"""What a policy file promises is what its release, tried with everything, can really give out."""

import math
from fractions import Fraction
from itertools import pairwise, product

import pytest
from hypothesis import given, settings, strategies as st

from hartley import Relation, maximal_leakage, maximin_information, symmetric_leakage
from hartley.engines.maps.column_map import apply_map
from hartley.engines.tables.sources import open_table
from hartley.errors import InputError, OptionError
from hartley.guarantees.certify import certify, verify_exhaustively
from hartley.guarantees.promise import UNRELATED
from hartley.policies.document import PolicyDocument
from hartley.policies.kinds import CutColumn, KeptColumn, LineColumn, MergedColumn, QuantizedColumn
from hartley.policies.quantizers.quantizer import UniformQuantizer

HEIGHT = QuantizedColumn("height", UniformQuantizer(100, 250, 64))
WEIGHT = QuantizedColumn("weight", UniformQuantizer(30, 200, 64))
BMI = {"line": "30*(height/100)**2", "reach": 20, "low": 0, "high": 200}
TALL = KeptColumn("height", Fraction(0), Fraction(250))


def mean_of(people, levels, *, low=0, high=1, function="mean", **design):
    """Return a policy that releases the mean or total of x over people, in equal cells."""
    factor = people if function == "total" else 1
    cells = UniformQuantizer(low * factor, high * factor, levels)
    column = QuantizedColumn("answer", cells, of=f"{function}(x)")
    ranges = {"columns": {"x": [str(low), str(high)]}}
    return PolicyDocument((column,), design={"people": people} | ranges | design)


def consequence(certificate, name):
    (found,) = (one for one in certificate.consequences if one.name == name)
    return found


# --- records ------------------------------------------------------------------------------------

QUANTIZED = st.builds(
    lambda low, length, levels: QuantizedColumn("x", UniformQuantizer(low, low + length, levels)),
    st.integers(-2, 2),
    st.integers(0, 4),
    st.integers(1, 6),
)
CUT = st.builds(
    lambda edges, values: CutColumn("y", tuple(edges), tuple(values[: len(edges) - 1])),
    st.sets(st.integers(0, 9).map(Fraction), min_size=2, max_size=5).map(sorted),
    st.lists(st.integers(0, 2).map(Fraction), min_size=4, max_size=4),
)
MERGED = st.builds(
    lambda labels, other: MergedColumn("z", (("a",), ("b", "c"), ("d",)), tuple(labels), other),
    st.lists(st.sampled_from("pqr"), min_size=3, max_size=3),
    st.sampled_from([None, "r", "other"]),
)
TRIED = {
    "x": [*(k / 8 for k in range(-20, 53)), None, math.nan, math.inf],
    "y": [*(k / 4 for k in range(-1, 40)), None],
    "z": ["a", "b", "c", "d", None],
}


@pytest.mark.slow
@given(columns=st.tuples(QUANTIZED, CUT, MERGED), chosen=st.sets(st.integers(0, 2), min_size=1))
@settings(max_examples=25, deadline=None)
def test_a_record_has_as_many_releases_as_certified_when_all_are_tried(columns, chosen):
    document = PolicyDocument(tuple(columns[i] for i in sorted(chosen)))
    unlisted = ["e"] if columns[2].other is not None else []
    values = {c.name: TRIED[c.name] + unlisted * (c.name == "z") for c in document.columns}
    certificate = certify(document)
    assert certificate.certainty == "exact"
    tried = verify_exhaustively(document, people=values)
    assert tried == round(2**certificate.value) == math.prod(outputs(certificate))


def outputs(certificate):
    return certificate.parameters["outputs"].values()


def test_a_missing_value_is_one_more_output_unless_the_budget_allows_a_strict_release_only():
    document = PolicyDocument((HEIGHT, WEIGHT))
    plain, strict, broken = (certify(document, budget) for budget in (None, 12, 11))
    assert (2**plain.value, plain.needs_strict, plain.sound) == (
        pytest.approx(65 * 65),
        False,
        True,
    )
    assert (strict.value, strict.needs_strict, strict.sound) == (12.0, True, True)
    assert "holds for a strict release alone" in strict.paragraph()
    assert (2**broken.value, broken.needs_strict, broken.sound) == (
        pytest.approx(65 * 65),
        False,
        False,
    )
    roomy = certify(document, 13)
    assert (roomy.sound, roomy.needs_strict) == (True, False)


def test_a_strict_release_refuses_the_missing_value_that_its_promise_does_not_count():
    document = PolicyDocument((QuantizedColumn("x", UniformQuantizer(0, 1, 2)),))
    assert certify(document, 1).needs_strict
    table = open_table({"x": [0.1, 0.9, None]})
    with pytest.raises(InputError, match="missing"):
        _ = apply_map(table, document.to_map(), strict=True).counts


def test_the_budget_is_that_of_the_design_unless_another_is_given():
    document = PolicyDocument((HEIGHT,), design={"bits": "5"})
    assert not certify(document).sound
    assert "breaks the budget of 5 bits, which allows 32 values" in certify(document).claim
    assert certify(document, 7).sound
    with pytest.raises(OptionError, match="budget in bits is not a number"):
        certify(PolicyDocument((HEIGHT,), design={"bits": "many"}))


def test_nothing_is_promised_about_a_record_with_a_column_that_is_kept():
    for kept in (KeptColumn("sex"), KeptColumn("age", Fraction(0), Fraction(100))):
        certificate = certify(PolicyDocument((HEIGHT, kept)), 100)
        assert (certificate.value, certificate.sound) == (math.inf, False)
        assert certificate.claim.startswith(f"Nothing is promised about a person: {kept.name} ")
        assert "one of at most 65 values" in certificate.claim
        assert "this is no promise" in certificate.paragraph()
        assert certificate.consequences == ()
    constant = KeptColumn("version", Fraction(3), Fraction(3))
    assert certify(PolicyDocument((constant,))).value == 1  # three, or missing


def test_the_error_about_a_column_counts_everything_that_is_computed_from_it():
    ratio = QuantizedColumn("ratio", UniformQuantizer(0, 1, 3), of="x/4")
    own = QuantizedColumn("x", UniformQuantizer(0, 4, 5))
    alone, both = (
        consequence(certify(PolicyDocument(columns)), "estimation error").value
        for columns in ((own,), (own, ratio))
    )
    assert alone == pytest.approx(4 / (4 * 5))
    assert both == pytest.approx(4 / (4 * 5 * 4))  # the ratio has three values, or is missing
    # What both tell together, cell by cell of [0, 4], is no less.
    cuts = sorted({Fraction(4 * k, 5) for k in range(6)} | {Fraction(4 * k, 3) for k in range(4)})
    truth = sum((b - a) ** 2 for a, b in pairwise(cuts)) / (4 * 4)
    assert both <= truth


def test_a_name_that_would_steer_a_terminal_is_escaped():
    name = "a\x1b[2J\n"
    certificate = certify(PolicyDocument((QuantizedColumn(name, UniformQuantizer(0, 1, 2)),)))
    assert certificate.to_json().isprintable() is False  # line breaks of the JSON itself
    assert certificate.paragraph().isprintable()
    assert "\x1b" not in certificate.to_json()


def test_names_that_are_shown_alike_are_still_two_columns():
    names = ("a\x1b", "a\\x1b")
    columns = tuple(QuantizedColumn(name, UniformQuantizer(0, 1, 2)) for name in names)
    assert 2 ** certify(PolicyDocument(columns)).value == pytest.approx(9)


# --- expressions over a row ---------------------------------------------------------------------


def ellipse(levels=12, **design):
    cells = UniformQuantizer(0, 12, levels)
    ranges = {"columns": {"x1": ["-2", "2"], "x2": ["-2", "2"]}}
    column = QuantizedColumn("radius", cells, of="x1**2 + 2*x2**2")
    return PolicyDocument((column,), design=ranges | design)


def test_an_expression_has_the_numbers_of_paper_a():
    certificate = certify(ellipse())
    assert 2**certificate.value == pytest.approx(13)  # twelve cells, or missing
    nats = {c.name: (c.value or 0) * math.log(2) for c in certificate.consequences}
    assert nats["maximin information"] == pytest.approx(2.484907, abs=1e-6)
    assert nats["leakage"] == pytest.approx(5.478683, abs=1e-5)
    smallest = 0.066797  # its radius as a disc, Theorem II.2
    error = consequence(certificate, "reconstruction error")
    assert error.value == pytest.approx(math.sqrt(smallest / math.pi), rel=1e-4)
    tried = [k / 10 - 2 for k in range(41)]
    assert verify_exhaustively(ellipse(), people={"x1": tried, "x2": tried}) == 12
    assert verify_exhaustively(ellipse(), people={"x1": [*tried, None], "x2": tried}) == 13


def test_an_expression_without_declared_ranges_is_still_counted():
    column = QuantizedColumn("ratio", UniformQuantizer(0, 4, 4), of="a/b")
    certificate = certify(PolicyDocument((column,)))
    assert 2**certificate.value == pytest.approx(5)
    tried = {"a": [0, 1, 2, 3, 9, None], "b": [0, 1, 2]}  # a/0 is released as missing
    assert verify_exhaustively(PolicyDocument((column,)), people=tried) == 5


def test_several_expressions_multiply_and_say_which_number_is_whose():
    columns = tuple(
        QuantizedColumn(name, UniformQuantizer(0, 2, levels), of=query)
        for name, levels, query in (("sum", 4, "a + b"), ("gap", 2, "abs(a - b)"))
    )
    ranges = {"a": ["0", "1"], "b": ["0", "1"]}
    document = PolicyDocument(columns, design={"columns": ranges})
    certificate = certify(document)
    assert 2**certificate.value == pytest.approx(15)
    assert consequence(certificate, "maximin information of sum").value == 2.0
    assert consequence(certificate, "maximin information of gap").value <= 1.0
    grid = [k / 8 for k in range(9)] + [None]
    assert verify_exhaustively(document, people={"a": grid, "b": grid}) <= 15


def test_a_declared_sensitivity_counts_cells_and_is_never_below_what_one_column_moves():
    three = certify(ellipse(levels=6, sensitivity="3"), 3)
    nine = certify(ellipse(levels=6, sensitivity="9", columns={}), 3)  # no ranges to compute from
    assert nine.kind == three.kind == "noiseless privacy"
    assert 2**nine.value == pytest.approx(6)  # 9 of 12 in 6 cells: ceil(4.5) + 1
    assert "moves x1**2 + 2*x2**2 by 9 at most, as declared" in nine.paragraph()
    # 2*x2**2 alone moves by 8, 4 cells and one more; its bound is a hair above, and one more again.
    assert 2**three.value == pytest.approx(6)
    assert three.sound
    assert three.needs_strict
    with pytest.raises(InputError, match="negative"):
        certify(ellipse(sensitivity="-1"))


# --- means and totals ---------------------------------------------------------------------------


@given(
    people=st.integers(1, 3),
    levels=st.integers(1, 9),
    function=st.sampled_from(["mean", "total"]),
    points=st.integers(2, 9),
)
@settings(max_examples=60, deadline=None)
def test_a_mean_or_total_gives_one_person_no_more_outputs_than_certified(
    people, levels, function, points
):
    document = mean_of(people, levels, function=function)
    grid = [Fraction(k, points - 1) for k in range(points)]
    certificate = certify(document)
    tried = verify_exhaustively(document, people={"x": grid})
    assert tried <= round(2**certificate.value) <= min(levels, math.ceil(levels / people) + 1)


def test_the_printed_rule_in_a_file_is_certified_as_unsound():
    # Mean of two, one bit: four cells as printed, and three of them within one person's reach.
    printed = PolicyDocument(
        (QuantizedColumn("m", UniformQuantizer(0, 1, 4, "printed"), of="mean(x)"),),
        design={"people": 2, "bits": "1", "columns": {"x": ["0", "1"]}},
    )
    assert verify_exhaustively(printed, people={"x": [Fraction(k, 8) for k in range(9)]}) == 3
    certificate = certify(printed)
    assert (certificate.sound, certificate.rule) == (False, "printed")
    assert "breaks the budget of 1 bit, which allows 2 values" in certificate.claim
    assert certify(printed, 2).sound


def test_a_mean_of_ten_million_people_is_certified_at_once():
    certificate = certify(mean_of(10_000_000, 150, low=100, high=250), 1)
    assert (certificate.value, certificate.sound) == (1.0, True)
    assert "leakage" not in {c.name for c in certificate.consequences}
    few = certify(mean_of(2, 21, low=100, high=250))
    assert consequence(few, "reconstruction error").value == pytest.approx(10.1015, abs=1e-4)


def test_two_answers_about_the_same_people_multiply():
    both = PolicyDocument(
        tuple(
            QuantizedColumn(name, UniformQuantizer(0, 1, 2), of=f"mean({name[0]})")
            for name in ("x", "y")
        ),
        design={"people": 2, "columns": {"x": ["0", "1"], "y": ["0", "1"]}},
    )
    certificate = certify(both, 2)
    assert (certificate.value, certificate.sound) == (2.0, True)
    grid = [Fraction(k, 4) for k in range(5)]
    assert verify_exhaustively(both, people={"x": grid, "y": grid}) == 4


@pytest.mark.parametrize(
    ("design", "told"),
    [
        ({"columns": {"x": ["0", "1"]}}, "does not say over how many people"),
        ({"people": 0, "columns": {"x": ["0", "1"]}}, "does not say over how many people"),
        ({"people": "5", "columns": {"x": ["0", "1"]}}, "does not say over how many people"),
        ({"people": True, "columns": {"x": ["0", "1"]}}, "does not say over how many people"),
        ({"people": 5}, "declares no range of 'x'"),
    ],
)
def test_a_mean_without_its_people_or_range_is_not_certified(design, told):
    column = QuantizedColumn("m", UniformQuantizer(0, 1, 4), of="mean(x)")
    with pytest.raises(InputError, match=told):
        certify(PolicyDocument((column,), design=design))


# --- lines --------------------------------------------------------------------------------------


def test_a_line_is_certified_by_what_the_columns_say_and_not_by_the_design():
    stretch = LineColumn.read("stretch", "weight", **BMI)
    plain = certify(PolicyDocument((stretch, TALL)))
    assert 2**plain.value - 1 == pytest.approx(0.216321901, rel=1e-5)
    assert plain.sound
    lying = {"columns": {"weight": ["0", "1"], "height": ["0", "1"]}, "bits": "0", "epsilon": "9"}
    assert certify(PolicyDocument((stretch, TALL), design=lying)) == plain


def test_the_blurring_policy_is_certified_by_its_records_and_not_by_volume():
    blur = certify(PolicyDocument((LineColumn.read("blur", "weight", **BMI), TALL)))
    assert 2**blur.value - 1 == pytest.approx(0.216321901, rel=1e-5)
    assert (blur.sound, blur.rule) == (True, "corrected")
    assert "Counted in records it is 0.2163-private" in blur.claim
    assert "lie no further apart than 20" in blur.assumptions[0]


def test_a_column_computed_from_the_hidden_one_takes_the_promise_away():
    stretch = LineColumn.read("stretch", "weight", **BMI)
    leak = QuantizedColumn("bmi", UniformQuantizer(0, 60, 10), of="weight/(height/100 + 1)**2")
    certificate = certify(PolicyDocument((stretch, TALL, leak)))
    assert (certificate.value, certificate.sound) == (0.0, False)
    assert "shows in bmi" in certificate.claim
    harmless = QuantizedColumn("age", UniformQuantizer(0, 100, 10))
    assert certify(PolicyDocument((stretch, TALL, harmless))).sound


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


# --- joint counts -------------------------------------------------------------------------------

EIGHTHS = [Fraction(k, 8) for k in range(9)]


def means(people, *levels, functions=("mean",) * 9):
    """Return a policy that releases the mean or total of one column several times."""
    columns = []
    for k, (count, function) in enumerate(zip(levels, functions, strict=False)):
        high = people if function == "total" else 1
        cells = UniformQuantizer(0, high, count)
        columns.append(QuantizedColumn(f"m{k}", cells, of=f"{function}(x)"))
    return PolicyDocument(tuple(columns), design={"people": people, "columns": {"x": ["0", "1"]}})


@pytest.mark.parametrize(
    ("people", "levels", "alone", "joint"),
    [
        (2, (2, 2), (2, 2), 2),
        (2, (2, 4), (2, 3), 3),
        (2, (2, 3), (2, 3), 4),
        (2, (4, 3), (3, 3), 5),
        (4, (4, 6), (2, 3), 4),
        (4, (3, 5), (2, 3), 4),
        (4, (12, 12), (4, 4), 4),
    ],
)
def test_several_answers_about_one_column_are_counted_together(people, levels, alone, joint):
    one_by_one = tuple(
        verify_exhaustively(means(people, count), people={"x": EIGHTHS}) for count in levels
    )
    assert one_by_one == alone
    document = means(people, *levels)
    assert verify_exhaustively(document, people={"x": EIGHTHS}) == joint
    assert round(2 ** certify(document).value) == joint  # and not the product


def test_a_mean_and_a_total_of_one_column_are_one_answer():
    document = means(5, 20, 20, functions=("mean", "total"))
    assert certify(document).value == certify(means(5, 20)).value
    # So many cells are not listed, and the product is a bound still.
    fine = means(5, 10**6, 10**6)
    alone = Fraction(10**6, 5) + 1
    assert 2 ** certify(fine).value == pytest.approx(float(alone**2))


@given(
    people=st.integers(1, 3),
    queries=st.lists(
        st.tuples(st.sampled_from("xy"), st.sampled_from(["mean", "total"]), st.integers(1, 5)),
        min_size=1,
        max_size=3,
    ),
    points=st.integers(1, 3),
)
@settings(max_examples=40, deadline=None)
def test_the_joint_count_is_that_of_trying_everybody(people, queries, points):
    """The oracle takes every table of people, and every record in the place of the first."""
    grid = [Fraction(k, points) for k in range(points + 1)]
    columns, cuts = [], []
    for k, (name, function, count) in enumerate(queries):
        high = people if function == "total" else 1
        cells = UniformQuantizer(0, high, count)
        columns.append(QuantizedColumn(f"m{k}", cells, of=f"{function}({name})"))
        cuts.append(("xy".index(name), 1 if function == "total" else people, cells))
    names = sorted({name for name, _, _ in queries})
    document = PolicyDocument(
        tuple(columns), design={"people": people, "columns": {n: ["0", "1"] for n in "xy"}}
    )
    most = 0
    for others in product(product(grid, repeat=2), repeat=people - 1):
        answers = set()
        for record in product(grid, repeat=2):
            sums = [sum(row[i] for row in (*others, record)) for i in (0, 1)]
            answers.add(tuple(cells.cell(sums[i] / share) for i, share, cells in cuts))
        most = max(most, len(answers))
    assert verify_exhaustively(document, people=dict.fromkeys(names, grid)) == most
    assert most <= 2 ** certify(document).value + 1e-9


# --- what the words rest on ---------------------------------------------------------------------


def test_a_query_that_nobody_moves_tells_nothing():
    """A declared sensitivity of zero is a declaration, and not a mistake."""
    nothing = certify(ellipse(levels=6, sensitivity="0", columns={}))
    assert (nothing.value, nothing.sound) == (0.0, True)
    assert "moves x1**2 + 2*x2**2 by 0 at most, as declared" in nothing.paragraph()
    assert nothing.parameters["sensitivity"] == "0"
    little = certify(ellipse(levels=6, sensitivity="1/1000", columns={}))
    assert little.value == 1.0  # over one edge at most
    assert little.parameters["sensitivity"] == "1/1000"
    wrong = certify(ellipse(levels=6, sensitivity="3"))  # 2*x2**2 alone moves by 8
    assert 8 <= Fraction(wrong.parameters["sensitivity"]) < Fraction("8.1")  # never below the truth


def test_a_line_says_whether_its_number_is_exact():
    for kind in ("stretch", "blur"):
        flat = LineColumn.read(kind, "income", line="50", reach=1, low=0, high=100)
        curved = LineColumn.read(kind, "weight", **BMI)
        assert certify(PolicyDocument((flat,))).certainty == "exact"
        assert certify(PolicyDocument((curved, TALL))).certainty == "bound"
        assert certify(PolicyDocument((flat, curved, TALL))).certainty == "bound"


@pytest.mark.parametrize("name", ["records", "mean", "sensitivity", "stretch", "blur"])
def test_every_certificate_says_that_people_are_unrelated(name):
    documents = {
        "records": PolicyDocument((HEIGHT, WEIGHT)),
        "mean": mean_of(5, 4),
        "sensitivity": ellipse(sensitivity="9"),
        "stretch": PolicyDocument((LineColumn.read("stretch", "weight", **BMI), TALL)),
        "blur": PolicyDocument((LineColumn.read("blur", "weight", **BMI), TALL)),
    }
    certificate = certify(documents[name])
    assert UNRELATED in certificate.assumptions
    assert "people who are related, such as a household, count together as one person" in str(
        certificate
    )
    for one in certificate.consequences:
        assert "whatever its law" not in one.sentence


def test_related_people_are_told_more_and_the_sentences_leave_room_for_it():
    """Ten equal people: one bit by the certificate, log2 10 of maximal leakage in truth."""
    certificate = certify(mean_of(10, 10))
    assert certificate.value == 1.0
    cells = UniformQuantizer(0, 1, 10)
    joint = {Fraction(k, 20): cells.cell(Fraction(k, 20)) for k in range(21)}
    channel = [[float(cell == y) for y in range(10)] for cell in joint.values()]
    assert maximal_leakage(channel) == pytest.approx(math.log2(10))
    found = consequence(certificate, "stochastic maximal leakage").sentence
    assert "given everybody else's data is at most 1 bit" in found
    assert "where the person is independent of the others" in found
    # Nobody else's data fixed: Y = 0 if x = 0 else v has two values given v, but L0 = 3 bits.
    free = Relation.from_pairs([(x, 0 if x == 0 else v) for x in range(8) for v in range(1, 8)])
    assert symmetric_leakage(free) == pytest.approx(3.0)
    assert maximin_information(free) <= 1.0
    told = consequence(certificate, "information leakage").sentence
    assert told.startswith("To whoever knows everybody else's data")
    assert "I⋆ to whoever knows less as well, where people are unrelated" in told
