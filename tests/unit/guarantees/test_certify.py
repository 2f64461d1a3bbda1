"""Certificates are recomputed from the finished policy, and hold when everything is tried."""

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from hartley.errors import OptionError, TableError
from hartley.exact import floor_power
from hartley.guarantees.certificate import Certificate
from hartley.guarantees.certify import certify, verify_exhaustively
from hartley.policies.allocation import allocate_bits
from hartley.policies.blurring import BlurringPolicy, StretchPolicy, Threshold
from hartley.policies.calibration import cells_met, cells_reached
from hartley.policies.quantizer import UniformQuantizer
from hartley.ranges.box import Box
from hartley.ranges.expression import mean, variables

TWO = Box.cube(0, 1, size=2)
MEAN = "(x1 + x2)/2"
PEOPLE = Box({"weight": (0, 200), "height": (0, 250)})
OBESE = Threshold.parse("weight >= 30 * (height/100)**2")


def mean_of(people):
    return mean(variables(*(f"x{i}" for i in range(1, people + 1))))


@given(people=st.integers(1, 3), bits=st.integers(0, 3), points=st.integers(2, 9))
@settings(max_examples=60, deadline=None)
def test_the_sound_rule_is_never_broken_by_trying_everything(people, bits, points):
    quantizer = UniformQuantizer.for_bits(low=0, high=1, sensitivity=Fraction(1, people), bits=bits)
    certificate = certify(quantizer, query=mean_of(people), box=Box.cube(0, 1, size=people))
    grid = [Fraction(k, points - 1) for k in range(points)]
    tried = verify_exhaustively(
        quantizer, mean_of(people), {f"x{i}": grid for i in range(1, people + 1)}
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
    assert cells_met(quantizer.edges, sensitivity) == cells_reached(
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


@given(points=st.integers(2, 40), outputs=st.integers(1, 6))
def test_no_estimate_from_so_many_outputs_beats_the_corrected_error(points, outputs):
    # The best an adversary can do against a uniform value is to cut its range into equal parts.
    from hartley.guarantees.consequences import of_noiseless_privacy

    (found,) = (
        c for c in of_noiseless_privacy(outputs, Fraction(1)) if c.name == "estimation error"
    )
    values = [(k + 0.5) / (points * outputs) for k in range(points * outputs)]
    middles = [(j + 0.5) / outputs for j in range(outputs)]
    best = sum(min(abs(v - m) for m in middles) for v in values) / len(values)
    assert found.value <= best + 1 / (4 * points * outputs)


def test_a_record_of_several_columns_is_certified_by_the_product_of_its_levels():
    shared = allocate_bits({"age": (0, 120), "height": (100, 250)}, 5)
    certificate = certify(shared, budget=5)
    assert certificate.sound
    assert 2**certificate.value == pytest.approx(shared.outputs)
    assert not certify(shared, budget=2).sound


def test_the_stretch_policy_keeps_what_the_paper_claims_and_the_papers_own_does_not():
    stretch = certify(StretchPolicy(OBESE, 20, PEOPLE))
    blur = certify(BlurringPolicy(OBESE, 20, PEOPLE))
    assert stretch.sound
    assert 2**stretch.value - 1 == pytest.approx(0.216321901, rel=1e-5)
    assert (blur.sound, blur.value) == (False, 0.0)
    names = {consequence.name for consequence in stretch.consequences}
    assert names == {"information leakage", "success of a test"}


def test_a_certificate_survives_being_saved_and_a_broken_one_is_refused(tmp_path):
    quantizer = UniformQuantizer.for_bits(low=0, high=1, sensitivity="0.5", bits=1)
    certificate = certify(quantizer, query=MEAN, box=TWO)
    path = tmp_path / "certificate.json"
    path.write_text(certificate.to_json())
    assert Certificate.load(path) == certificate
    path.write_text("{}")
    with pytest.raises(TableError, match=r"is not a certificate; hint: "):
        Certificate.load(path)
    newer = json.loads(certificate.to_json()) | {"format": 2}
    with pytest.raises(Exception, match="does not know"):
        Certificate.from_json(json.dumps(newer))


def test_what_cannot_be_tried_or_known_is_refused():
    with pytest.raises(OptionError, match="cases"):
        verify_exhaustively(UniformQuantizer(0, 1, 2), MEAN, {"x1": range(9999), "x2": range(9999)})
    with pytest.raises(OptionError, match="sensitivity="):
        certify(UniformQuantizer(0, 1, 2), query="x1*x2", box=TWO)


def test_numbers_in_a_certificate_are_rounded_so_that_they_stay_true():
    seven = certify(UniformQuantizer(0, 1, 7))  # log2 7 = 2.80735...
    assert "2.808 bits" in seven.claim
    stretch = certify(StretchPolicy(OBESE, 20, PEOPLE))
    band = StretchPolicy(OBESE, 20, PEOPLE).band()
    promised = float(stretch.claim.split("It is ")[1].split("-private")[0])
    assert promised <= band.low / (PEOPLE.volume - band.low)


def test_the_estimation_error_is_that_of_the_person_of_the_smallest_range():
    box = Box({"x1": (0, 100), "x2": (0, 1)})
    certificate = certify(UniformQuantizer(0, 101, 2), query="x1 + x2", box=box)
    (error,) = (c for c in certificate.consequences if c.name == "estimation error")
    assert error.value <= 1 / 8
