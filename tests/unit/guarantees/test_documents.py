"""What the sentences of a certificate rest on."""

import math
from fractions import Fraction

import pytest
from certified_policies import BMI, HEIGHT, TALL, WEIGHT, consequence, ellipse, mean_of

from hartley import Relation, maximal_leakage, maximin_information
from hartley.guarantees.promise import UNRELATED
from hartley.guarantees.verify import certify
from hartley.measures import symmetric_leakage
from hartley.policies import LineColumn
from hartley.policies.document import PolicyDocument
from hartley.policies.quantizer import UniformQuantizer

# --- what the words rest on ----------------------------------------------------------------------


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
