"""What is promised of records, hypotheses and open records."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from certified_policies import BMI, HEIGHT, TALL, WEIGHT, consequence, ellipse, mean_of
from hypothesis import given, settings, strategies as st

from hartley import (
    CertificateError,
    InputError,
    MeetPolicy,
    OptionError,
    PolicyDocument,
    UniformQuantizer,
    certify,
    open_table,
    verify,
    verify_exhaustively,
)
from hartley.policies import (
    CutColumn,
    KeptColumn,
    LatticeColumn,
    LineColumn,
    MergedColumn,
    QuantizedColumn,
    read_column,
)
from hartley.tables.column_map import apply_map

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


# --- what is promised against a hypothesis is what the outputs of a line leave open ---------------


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


MEET = {
    "name": "kg",
    "kind": "meet",
    "hypothesis": "kg >= 30*(cm/100)**2",
    "low": "30",
    "high": "200",
    "step": "1",
    "reach": "5",
    "others": {"cm": ["120", "220", "1"]},
}
KEPT = {"name": "cm", "kind": "keep", "low": "120", "high": "220"}
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


def document(*columns):
    return PolicyDocument(tuple(read_column(fields, i) for i, fields in enumerate(columns, 1)))


def test_the_claim_counts_the_records_that_are_left_open():
    promise = certify(document(MEET, KEPT))
    assert promise.claim.startswith(
        "2,020 of the 17,271 possible records (11.69 %) are left open: somebody who knows the "
        "policy, the steps and ranges, every other column and every other record finds a possible "
        "record on each side of kg >= 30*(cm/100)**2."
    )
    assert "Elsewhere the release decides." in promise.claim
    assert "10 steps of kg apart" in promise.claim
    assert "moves kg by at most 5." in promise.claim
    assert promise.sound
    assert promise.certainty == "exact"
    assert promise.value == pytest.approx(math.log2(17271 / 15251), abs=1e-12)
    assert promise.value <= math.log2(17271 / 15251)
    names = [consequence.name for consequence in promise.consequences]
    assert names == ["success of a test", "Priv by outputs"]
    assert promise.consequences[0].value == pytest.approx(1 - 1010 / 17271, abs=1e-9)
    assert promise.consequences[1].value == pytest.approx(math.log2(1 + 1010 / 15251), abs=1e-9)
    assumed = " ".join(promise.assumptions)
    for words in (
        "every combination of values on the declared steps is possible",
        "kg from 30 to 200 in steps of 1 and cm from 120 to 220 in steps of 1",
        "no value is missing, outside its range or off its step",
        "nothing else that is computed from kg is released, and no other version of it",
        "to within less than 10",
    ):
        assert words in assumed


def test_side_knowledge_is_named():
    promise = certify(document(MEET | {"known_within": "3"}, KEPT))
    assert promise.claim.startswith("606 of the 17,271")
    assert "and kg to within 3 finds" in promise.claim
    assert "3 steps of kg apart" in promise.claim


def test_blurring_counts_records_where_steps_are_declared():
    promise = certify(document(BLUR, KEPT))
    assert promise.claim.startswith("872 of the 17,271 possible records (5.048 %) are left open")
    assert promise.sound
    assert promise.consequences[1].value == pytest.approx(0.008858, abs=1e-6)


def test_a_policy_made_in_python_is_certified_too():
    promise = certify(MeetPolicy("x >= 5", {"x": LatticeColumn(0, 10, 1)}, ["x"], 1))
    assert promise.claim.startswith("4 of the 11 possible records (36.36 %) are left open")


def test_knowing_either_of_two_moved_columns_is_named():
    columns = {"x": LatticeColumn(0, 10, 1), "y": LatticeColumn(0, 10, "1/2")}
    promise = certify(MeetPolicy("x + y >= 10", columns, ["x", "y"], [2, 1]))
    assert "x to within less than 4 or y to within less than 2" in " ".join(promise.assumptions)
    assert "The release moves x by at most 2 and y by at most 1." in promise.claim


def test_everything_open_is_infinitely_private():
    promise = certify(MeetPolicy("x >= 1", {"x": LatticeColumn(0, 1, 1)}, ["x"], 1))
    assert promise.claim.startswith("2 of the 2 possible records (100 %)")
    assert promise.value == math.inf


@pytest.mark.parametrize("fields", [MEET, BLUR])
def test_a_certificate_is_computed_again_from_its_file(tmp_path, fields):
    path = document(fields, KEPT).save(tmp_path / "policy.toml")
    certificate = certify(PolicyDocument.load(path)).bind(path)
    certificate.save(tmp_path / "certificate.json")
    assert verify(path, tmp_path / "certificate.json").sound
    more = certificate.parameters | {"open": certificate.parameters["open"] + 1}
    for forged in (
        replace(certificate, value=certificate.value * 2),
        replace(certificate, claim=certificate.claim.replace("of the 17,271", "of the 17,270")),
        replace(certificate, parameters=more),
    ):
        with pytest.raises(CertificateError, match="of the certificate do"):
            verify(path, forged)


def test_what_another_column_shows_is_not_promised():
    shown = {"name": "heavy", "kind": "quantizer", "of": "2*kg", "low": "60", "high": "400"}
    promise = certify(document(MEET, KEPT, shown | {"levels": 10}))
    assert not promise.sound
    assert "shows in heavy" in promise.claim


def test_two_hypotheses_on_one_column_need_two_names_and_promise_nothing():
    other = MEET | {
        "name": "cm",
        "hypothesis": "cm >= kg + 100",
        "low": "120",
        "high": "220",
        "others": {"kg": ["30", "200", "1"]},
    }
    promise = certify(document(MEET, other))
    assert not promise.sound
    assert promise.value == 0.0


def test_lines_over_unmoved_columns_only_are_promised_side_by_side():
    other = {
        "name": "age",
        "kind": "meet",
        "hypothesis": "age >= 65",
        "low": "0",
        "high": "110",
        "step": "1",
        "reach": "2",
    }
    promise = certify(document(MEET, KEPT, other))
    assert promise.sound
    assert "2,020 of the 17,271" in promise.claim
    assert "8 of the 111" in promise.claim
    assert promise.value == pytest.approx(math.log2(111 / 103), abs=1e-9)  # the weakest


def test_a_height_that_is_not_released_as_it_is_is_named():
    coarse = {"name": "cm", "kind": "quantizer", "low": "120", "high": "220", "levels": 10}
    promise = certify(document(MEET, coarse))
    assert promise.sound
    assert any("no more is decided" in words for words in promise.assumptions)


def test_a_line_out_of_reach_is_refused():
    far = MEET | {"hypothesis": "kg >= 500 + cm"}
    with pytest.raises(OptionError, match="No possible record leaves open"):
        certify(document(far, KEPT))


def test_perturbed_columns_are_certified_apart():
    coin = {"name": "sex", "kind": "pram", "values": ["F", "M"], "matrix": [["1", "0"], ["0", "1"]]}
    with pytest.raises(InputError, match="moves 'kg' near a line and perturbs 'sex'"):
        certify(document(MEET, KEPT, coin))
