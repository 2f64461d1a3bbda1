"""What is promised about records is what a release, tried with everything, gives out."""

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from certified_policies import HEIGHT, WEIGHT, consequence, ellipse
from hypothesis import given, settings, strategies as st

from hartley.errors import InputError, OptionError
from hartley.guarantees.exhaustive import verify_exhaustively
from hartley.guarantees.verify import certify
from hartley.policies import CutColumn, KeptColumn, MergedColumn, QuantizedColumn
from hartley.policies.document import PolicyDocument
from hartley.policies.quantizer import UniformQuantizer
from hartley.tables.column_map import apply_map
from hartley.tables.opening import open_table

# --- records -------------------------------------------------------------------------------------

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


# --- expressions over a row ----------------------------------------------------------------------


@pytest.mark.slow
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


@pytest.mark.parametrize(
    ("levels", "alone", "jointly"), [((4, 6), 24, 8), ((4, 8), 32, 8), ((5, 5), 25, 5)]
)
def test_one_query_released_twice_has_the_cells_of_the_common_refinement(levels, alone, jointly):
    columns = tuple(
        QuantizedColumn(f"sum{k}", UniformQuantizer(0, 2, count), of="a + b")
        for k, count in enumerate(levels)
    )
    other = QuantizedColumn("gap", UniformQuantizer(-1, 1, 2), of="a - b")
    ranges = {"columns": {"a": ["0", "1"], "b": ["0", "1"]}}
    document = PolicyDocument(columns, design=ranges)
    assert jointly < alone
    assert 2 ** certify(document).value == pytest.approx(jointly + 1)
    grid = [k / 60 for k in range(61)]
    assert verify_exhaustively(document, people={"a": grid, "b": [0, 1]}) == jointly
    assert verify_exhaustively(document, people={"a": [*grid, None], "b": [0, 1]}) == jointly + 1
    # A budget that is kept without missing values alone, by the joint count.
    tight = certify(document, math.log2(jointly) + 1e-9)
    assert (tight.sound, tight.needs_strict) == (True, True)
    assert certify(document, math.log2(jointly + 1) + 1e-9).needs_strict is False
    # Another query multiplies, as ever.
    both = PolicyDocument((*columns, other), design=ranges)
    assert 2 ** certify(both).value == pytest.approx((jointly + 1) * 3)


def test_a_column_and_a_query_of_the_same_text_are_multiplied():
    """An infinite value is clamped in one and missing in the other, where no range is declared."""
    columns = (
        QuantizedColumn("a", UniformQuantizer(0, 1, 4)),
        QuantizedColumn("again", UniformQuantizer(0, 1, 4), of="a"),
    )
    assert 2 ** certify(PolicyDocument(columns)).value == pytest.approx(25)


@pytest.mark.slow
def test_a_declared_sensitivity_counts_cells_and_is_never_below_what_one_column_moves():
    three = certify(ellipse(levels=6, sensitivity="3"), 3)
    nine = certify(ellipse(levels=6, sensitivity="9", columns={}), 3)  # no ranges to compute from
    assert nine.kind == three.kind == "noiseless privacy"
    assert 2**nine.value == pytest.approx(6)  # 9 of 12 in 6 cells: ceil(4.5) + 1
    assert "moves x1**2 + 2*x2**2 by 9 at most, as declared" in nine.paragraph()
    # 2*x2**2 alone moves by exactly 8: 4 cells and one more.
    assert 2**three.value == pytest.approx(5)
    assert three.sound
    assert three.needs_strict
    with pytest.raises(InputError, match="negative"):
        certify(ellipse(sensitivity="-1"))
