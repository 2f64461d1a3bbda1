"""What is promised of data with a step: counted, recomputed, and not where something leaks."""

import math
from dataclasses import replace

import pytest

from hartley.errors import CertificateError, InputError, OptionError
from hartley.guarantees.verify import certify, verify
from hartley.policies import read_column
from hartley.policies.document import PolicyDocument
from hartley.policies.hypotheses.hypothesis import LatticeColumn
from hartley.policies.hypotheses.meeting import MeetPolicy

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
