"""Certificates are computed again, from the policy file alone."""

import math
from fractions import Fraction
from itertools import product

import pytest
from certified_policies import BMI, HEIGHT, TALL, WEIGHT, consequence, ellipse, mean_of
from hypothesis import given, settings, strategies as st

from hartley import (
    BlurringPolicy,
    Box,
    Certificate,
    CertificateError,
    CutQuantizer,
    OptionError,
    PolicyDocument,
    Relation,
    StretchPolicy,
    Threshold,
    UniformQuantizer,
    certify,
    maximal_leakage,
    maximin_information,
    nonstochastic_leakage,
    verify,
    verify_exhaustively,
)
from hartley.boxes import parse_expression, variables
from hartley.boxes.expression import mean
from hartley.exact import bits_at_least, floor_power
from hartley.guarantees.answers import influence
from hartley.guarantees.promise import UNRELATED
from hartley.measures import symmetric_leakage
from hartley.policies import CategoryMerging, KeptColumn, LineColumn, QuantizedColumn, allocate_bits
from hartley.policies.quantizer import cells_met, cells_per_person

CELLS = QuantizedColumn("age", UniformQuantizer(0, 100, 10))


def saved(folder, *columns):
    path, certificate = folder / "policy.toml", folder / "certificate.json"
    PolicyDocument(columns).save(path)
    certify(PolicyDocument.load(path)).bind(path).save(certificate)
    return path, certificate


def test_a_certificate_that_holds_is_returned(tmp_path):
    path, certificate = saved(tmp_path, CELLS)
    known = Certificate.load(certificate)
    assert verify(path, certificate) == verify(path, known) == known


def test_a_certificate_that_promises_nothing_is_refused(tmp_path):
    path, certificate = saved(tmp_path, CELLS, KeptColumn("name"))
    Certificate.load(certificate).check(path)  # it does belong to the policy, and holds
    with pytest.raises(CertificateError, match="nothing to rely on: nothing is promised") as error:
        verify(path, certificate)
    assert str(certificate) in str(error.value)
    with pytest.raises(CertificateError, match=r"^The certificate of the policy"):
        verify(path, Certificate.load(certificate))


def test_a_certificate_of_another_policy_is_refused(tmp_path):
    path, certificate = saved(tmp_path, CELLS)
    path.write_text(path.read_text() + "# changed\n")
    with pytest.raises(CertificateError, match="belongs to another policy file"):
        verify(path, certificate)


# --- certificates are recomputed from the finished policy, and hold when everything is tried ------


TWO = Box.cube(0, 1, size=2)
MEAN = "(x1 + x2)/2"
PEOPLE = Box({"weight": (0, 200), "height": (0, 250)})
OBESE = Threshold.parse("weight >= 30 * (height/100)**2")


def mean_query(people):
    return mean(variables(*(f"x{i}" for i in range(1, people + 1))))


@pytest.mark.slow
@given(people=st.integers(1, 3), bits=st.integers(0, 3), points=st.integers(2, 9))
@settings(max_examples=60, deadline=None)
def test_the_sound_rule_is_never_broken_by_trying_everything(people, bits, points):
    quantizer = UniformQuantizer.for_bits(low=0, high=1, sensitivity=Fraction(1, people), bits=bits)
    certificate = certify(quantizer, query=mean_query(people), box=Box.cube(0, 1, size=people))
    grid = [Fraction(k, points - 1) for k in range(points)]
    tried = verify_exhaustively(
        quantizer, mean_query(people), {f"x{i}": grid for i in range(1, people + 1)}
    )
    assert tried <= 2**certificate.value + 1e-9
    assert 2**certificate.value <= floor_power(bits) + 1e-9
    assert certificate.sound


def test_the_rule_as_printed_is_broken_and_its_certificate_says_so():
    printed = UniformQuantizer.for_bits(low=0, high=1, sensitivity="0.5", bits=1, rule="printed")
    eighths = [Fraction(k, 8) for k in range(9)]
    assert verify_exhaustively(printed, MEAN, {"x1": eighths, "x2": eighths}) == 3 > 2**1
    certificate = certify(printed, query=MEAN, box=TWO, budget=1)
    assert not certificate.sound
    assert "do not rely on it" in certificate.paragraph()
    assert certificate.rule == "printed"


@given(levels=st.integers(1, 12), sensitivity=st.fractions(0, 1, max_denominator=30))
def test_explicit_edges_meet_as_many_cells_as_equal_ones(levels, sensitivity):
    quantizer = UniformQuantizer(0, 1, levels)
    assert cells_met(quantizer.edges, sensitivity) == cells_per_person(
        Fraction(1), sensitivity, levels
    )


def test_a_noiseless_certificate_lists_what_follows_from_it():
    quantizer = UniformQuantizer.for_bits(low=0, high=1, sensitivity="0.5", bits=1)
    certificate = certify(quantizer, query=MEAN, box=TWO)
    found = {consequence.name: consequence for consequence in certificate.consequences}
    assert {
        "information leakage",
        "zero-error capacity",
        "hypothesis tests",
        "estimation error",
        "stochastic maximal leakage",
        "composition",
        "post-processing",
    } <= found.keys()
    assert "does not bound L₀(Xᵢ;Y)" in found["information leakage"].sentence
    assert found["estimation error"].value == pytest.approx(1 / 8)  # mu / (4 N), corrected
    assert found["leakage"].value == 1.0  # two cells of equal area


def test_a_record_of_several_columns_is_certified_by_the_product_of_its_levels():
    shared = allocate_bits({"age": (0, 120), "height": (100, 250)}, 5)
    certificate = certify(shared, budget=5)
    assert certificate.sound
    assert 2**certificate.value == pytest.approx(shared.outputs)
    assert not certify(shared, budget=2).sound


def test_nothing_is_said_about_the_estimates_of_listed_points():
    # Two levels tell the two points of a column in steps of one apart: the error is zero.
    shared = allocate_bits({"flag": {"range": (0, 1), "step": 1}, "age": (0, 100)}, 3)
    sentences = [c.sentence for c in certify(shared).consequences if c.name == "estimation error"]
    assert len(sentences) == 1
    assert "range of age" in sentences[0]


@pytest.mark.slow
def test_both_policies_leave_open_what_the_paper_claims_each_for_its_values():
    stretch = certify(StretchPolicy(OBESE, 20, PEOPLE))
    blur = certify(BlurringPolicy(OBESE, 20, PEOPLE))
    assert stretch.sound
    assert 2**stretch.value - 1 == pytest.approx(0.216321901, rel=1e-5)
    assert (blur.sound, blur.value) == (True, stretch.value)
    assert stretch.claim.startswith("For values of weight that have no step: within 20 of the line")
    assert "by the volume of outputs, of which a line has none, Priv = 0." in blur.claim
    leak = {one.name: one.value for one in blur.consequences}["information leakage"]
    assert leak == math.inf  # Proposition 1 is about Priv, which is 0
    names = {consequence.name for consequence in stretch.consequences}
    assert names == {"information leakage", "success of a test", "limits of Priv"}


@pytest.mark.slow
def test_what_cannot_be_tried_or_known_is_refused():
    with pytest.raises(OptionError, match="cases"):
        verify_exhaustively(UniformQuantizer(0, 1, 2), MEAN, {"x1": range(9999), "x2": range(9999)})
    with pytest.raises(OptionError, match="sensitivity="):
        certify(UniformQuantizer(0, 1, 2), query="x1*x2")
    many = "*".join(f"x{i}" for i in range(1, 9))
    with pytest.raises(OptionError, match="sensitivity="):
        certify(UniformQuantizer(0, 1, 2), query=many, box=Box.cube(0, 1, size=8))
    with pytest.raises(OptionError, match="is negative"):
        certify(UniformQuantizer(0, 1, 2), sensitivity=-1)
    with pytest.raises(OptionError, match="A dict cannot be certified"):
        certify({})
    with pytest.raises(OptionError, match="out of reach"):
        certify(UniformQuantizer(0, 1, 2), -1)


@pytest.mark.slow
def test_numbers_in_a_certificate_are_rounded_so_that_they_stay_true():
    seven = certify(UniformQuantizer(0, 1, 7))  # log2 7 = 2.80735...
    assert "2.808 bits" in seven.claim
    stretch = certify(StretchPolicy(OBESE, 20, PEOPLE))
    band = StretchPolicy(OBESE, 20, PEOPLE).band()
    promised = float(stretch.claim.rsplit("It is ", 1)[1].split("-private")[0])
    assert promised <= band.low / (PEOPLE.volume - band.low)


def test_the_estimation_error_is_that_of_the_person_of_the_smallest_range():
    box = Box({"x1": (0, 100), "x2": (0, 1)})
    certificate = certify(UniformQuantizer(0, 101, 2), query="x1 + x2", box=box)
    (error,) = (c for c in certificate.consequences if c.name == "estimation error")
    assert error.value <= 1 / 8


# --- how far one person moves a query -----------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "reach"), [("x1*x2", 1), ("x1**2 + 2*x2**2", 2), ("max(x1, x2)", 1), ("x1 - x1", 0)]
)
def test_the_reach_of_a_query_is_computed_and_hardly_above_the_truth(query, reach):
    found = influence(parse_expression(query), TWO)
    assert reach <= found <= reach + Fraction(1, 10**5)
    grid = [Fraction(k, 10) for k in range(11)]
    at = parse_expression(query).at
    moved = max(
        abs(at({"x1": one, "x2": v}) - at({"x1": other, "x2": v}))
        for one, other, v in product(grid, repeat=3)
    )
    assert moved <= found


@pytest.mark.slow
def test_a_sensitivity_that_is_too_small_is_not_believed():
    # x1*x2 moves by a whole unit when x2 = 1; who says 1/10 is wrong.
    quantizer = UniformQuantizer(0, 1, 4)
    grid = [Fraction(k, 8) for k in range(9)]
    tried = verify_exhaustively(quantizer, "x1*x2", {"x1": grid, "x2": grid})
    assert tried == 4
    assert certify(quantizer, query="x1*x2", box=TWO, sensitivity="0.1").value == 2.0
    assert certify(quantizer, query="x1*x2", box=TWO).value == 2.0


@pytest.mark.slow
@given(
    weights=st.lists(st.integers(-3, 3), min_size=1, max_size=3).filter(any),
    levels=st.integers(1, 9),
    edges=st.sets(st.integers(-8, 8), min_size=2, max_size=6),
)
@settings(max_examples=60, deadline=None)
def test_no_cells_whatever_their_edges_give_a_person_more_outputs(weights, levels, edges):
    names = [f"x{i}" for i in range(1, len(weights) + 1)]
    query = " + ".join(f"({w})*{name}" for w, name in zip(weights, names, strict=True))
    box, grid = Box.cube(0, 1, size=len(weights)), [Fraction(k, 6) for k in range(7)]
    low, high = sum(w for w in weights if w < 0), sum(w for w in weights if w > 0)
    for policy in (UniformQuantizer(low, high, levels), CutQuantizer(tuple(sorted(edges)))):
        tried = verify_exhaustively(policy, query, dict.fromkeys(names, grid))
        certificate = certify(policy, query=query, box=box)
        assert tried <= round(2**certificate.value)


def test_cells_that_do_not_cover_the_query_are_certified_with_what_is_clamped():
    # The mean lies in [0, 1]; all below 2/5 is clamped into the first cell of [1/5, 2/5, 3/5].
    certificate = certify(CutQuantizer(("0.2", "0.4", "0.6")), query=MEAN, box=TWO)
    found = {c.name: c.value for c in certificate.consequences}
    assert found["maximin information"] == 1.0
    assert found["leakage"] == pytest.approx(-math.log2(0.32))  # area of x1 + x2 < 0.8


# --- categories, and one person's own value -------------------------------------------------------


COUNTS = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 6), min_size=1, max_size=6)


@given(counts=COUNTS, bits=st.sampled_from([0, 1, "1.5", "1.6", 2, 3]))
@settings(max_examples=80, deadline=None)
def test_merged_categories_are_certified_by_the_secrets_that_they_leave_possible(counts, bits):
    merging = CategoryMerging.for_leakage(counts, bits=bits)
    records = [(k, c) for c, times in counts.items() for k in [(c, i) for i in range(times)]]
    released = merging.apply(Relation.from_pairs(records))
    certificate = certify(merging, bits, counted=counts)
    assert certificate.sound
    assert certificate.value == pytest.approx(nonstochastic_leakage(released))
    assert certificate.value <= float(bits) + 1e-12
    assert certify(merging, bits, counted=Relation.from_pairs(records)) == certificate
    finest = CategoryMerging("letter", tuple((c,) for c in counts))
    truth = sum(counts.values()) / min(counts.values()) <= 2 ** float(bits)
    assert certify(finest, bits, counted=counts).sound == truth


def test_merged_categories_without_counts_are_certified_by_their_labels():
    merging = CategoryMerging("job", (("nurse", "doctor"), ("smith",), ("baker", "cook")))
    certificate = certify(merging, 1)
    assert certificate.value == pytest.approx(math.log2(3))
    assert not certificate.sound
    assert certify(merging, 2).sound
    with pytest.raises(OptionError, match="is in no group"):
        certify(merging, counted={"pilot": 3})


def test_one_persons_value_is_certified_by_the_values_that_are_released():
    assert certify(UniformQuantizer(0, 1, 7)).value == pytest.approx(math.log2(7))
    assert certify(UniformQuantizer(5, 5, 7)).value == 0  # all cells are one
    assert certify(CutQuantizer((0, 1, 2, 3), (7, 8, 7))).value == 1  # two cells are released alike


# --- indistinguishability -----------------------------------------------------------------------


def test_indistinguishable_values_are_certified_by_the_outputs_that_tell_them_apart():
    fifths, five = {"coefficients": ["1/5"] * 5, "low": 0, "high": 1}, Box.cube(0, 1, size=5)
    for bits, rule in product((1, 2, 3), ("corrected", "printed")):
        quantizer = UniformQuantizer.for_indistinguishability(**fifths, bits=bits, rule=rule)
        certificate = certify(quantizer, bits, query=mean_query(5), box=five, against="not knowing")
        assert certificate.sound
        assert certificate.rule == rule
        assert certificate.value <= bits
    coarser = UniformQuantizer(0, 1, 15)
    beyond = certify(coarser, 2, query=mean_query(5), box=five, against="not knowing")
    assert (beyond.sound, beyond.value, beyond.certainty) == (False, bits_at_least(5), "exact")


def test_the_outputs_that_tell_are_exact_and_need_a_linear_query_over_its_range():
    box = Box.cube(0, 1, size=2)
    alone = certify(
        UniformQuantizer(0, "1.1", 10), query="x1 + x2/10", box=box, against="not knowing"
    )
    assert (alone.certainty, alone.value) == ("exact", 2.0)  # four outputs: tests/theorems
    unlike = Box({"x1": (0, 10), "x2": (0, 1)})  # by their ranges, both count alike
    scaled = certify(
        UniformQuantizer(0, 2, 4), query="x1/10 + x2", box=unlike, against="not knowing"
    )
    assert scaled.certainty == "exact"
    with pytest.raises(OptionError, match="do not cover exactly"):
        certify(UniformQuantizer(0, 2, 10), query="x1 + x2/10", box=box, against="not knowing")
    with pytest.raises(OptionError, match="linear"):
        certify(UniformQuantizer(0, 1, 10), query="x1*x2", box=box, against="not knowing")
    with pytest.raises(OptionError, match="query= and box="):
        certify(UniformQuantizer(0, 1, 10), query="x1", against="not knowing")


# --- hypotheses ---------------------------------------------------------------------------------


def test_a_hypothesis_that_the_ranges_decide_is_refused():
    for line in ("300", "-1", "0", "200"):
        with pytest.raises(OptionError, match=r"The declared ranges decide .* everywhere"):
            certify(StretchPolicy(Threshold.parse(f"weight >= {line}"), 5, PEOPLE))


def test_a_band_that_covers_everything_decides_nothing():
    everything = certify(StretchPolicy(Threshold.parse("x >= 5"), 10, Box({"x": (0, 10)})))
    assert (everything.value, everything.sound) == (math.inf, True)
    found = {c.name: c.value for c in everything.consequences}
    assert (found["information leakage"], found["success of a test"]) == (0.0, 0.5)


def test_a_certificate_keeps_what_it_was_computed_from():
    quantizer = UniformQuantizer(0, 1, 4)
    square = Box({"x1": (0, 1), "x2": ("0", "1/3")})
    asked = certify(quantizer, 2, query="(x1 + x2)/2", box=square)
    assert asked.parameters == {
        "query": "(x1 + x2)/2",
        "box": {"x1": ["0", "1"], "x2": ["0", "1/3"]},
        "sensitivity": "1/2",
        "budget": "2",
    }
    declared = certify(quantizer, sensitivity="0.25")
    assert declared.parameters == {
        "query": None,
        "box": None,
        "sensitivity": "1/4",
        "budget": None,
    }
    # The sides of many people are not listed, those of twelve are.
    for people, listed in ((12, True), (13, False)):
        mean = " + ".join(f"x{i}/{people}" for i in range(1, people + 1))
        parameters = certify(quantizer, query=mean, box=Box.cube(0, 1, size=people)).parameters
        assert parameters["query"].startswith(f"x1/{people}")
        assert (parameters["box"] is not None) == listed
        assert parameters["sensitivity"] == f"1/{people}"
    nobody = certify(quantizer, sensitivity=0)
    assert (nobody.value, nobody.parameters["sensitivity"]) == (0.0, "0")


# --- what the sentences of a certificate rest on --------------------------------------------------


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_line_says_whether_its_number_is_exact():
    for kind in ("stretch", "blur"):
        flat = LineColumn.read(kind, "income", line="50", reach=1, low=0, high=100)
        curved = LineColumn.read(kind, "weight", **BMI)
        assert certify(PolicyDocument((flat,))).certainty == "exact"
        assert certify(PolicyDocument((curved, TALL))).certainty == "bound"
        assert certify(PolicyDocument((flat, curved, TALL))).certainty == "bound"


@pytest.mark.slow
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
