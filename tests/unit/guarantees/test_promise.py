"""A certificate is tied to every byte of a policy file, and every word of it is computed again."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from hartley import (
    Certificate,
    CertificateError,
    InputError,
    PolicyDocument,
    UniformQuantizer,
    certify,
)
from hartley.policies import KeptColumn, LineColumn, MergedColumn, QuantizedColumn

POLICY = """\
# Ages in seven classes.   A comment, and spaces at its end.  \t
format = 1
title = "Ages"\t\t

[design]
objective = "bits"
bits = 3

[[columns]]
name = "age"          # in years
kind = "quantizer"
low = "0"
high = "100"
levels = 7
"""
AGE = QuantizedColumn("age", UniformQuantizer(0, 100, 7))
ANSWER = QuantizedColumn("answer", UniformQuantizer(0, 1, 8), of="mean(x)")
KINDS = {
    "records": PolicyDocument((AGE, MergedColumn("job", (("a", "b"), ("c",)), ("x", "y"), "z"))),
    "a budget": PolicyDocument((AGE,), design={"bits": "3"}),
    "a broken budget": PolicyDocument((AGE,), design={"bits": "1"}),
    "a mean": PolicyDocument((ANSWER,), design={"people": 3, "columns": {"x": ["0", "1"]}}),
    "a line": PolicyDocument((LineColumn.read("stretch", "x", line="5", reach=1, low=0, high=9),)),
    "a blurred line": PolicyDocument(
        (LineColumn.read("blur", "x", line="5", reach=1, low=0, high=9),)
    ),
    "nothing": PolicyDocument((AGE, KeptColumn("sex"))),
}


def bound(document, folder):
    """Save a policy and its certificate, and return where they are."""
    policy = document.save(folder / "policy.toml")
    return policy, certify(document).bind(policy).save(folder / "certificate.json")


@pytest.fixture(params=KINDS)
def kind(request, tmp_path):
    return bound(KINDS[request.param], tmp_path)


# --- what is accepted ---------------------------------------------------------------------------


def test_a_certificate_of_every_kind_survives_being_saved_and_is_accepted(kind):
    policy, path = kind
    certificate = Certificate.load(path)
    certificate.check(policy)
    assert Certificate.from_json(certificate.to_json()) == certificate
    json.loads(path.read_text(), parse_constant=lambda _: pytest.fail("not JSON"))


def test_the_layout_of_the_json_does_not_matter(kind):
    policy, path = kind
    content = json.loads(path.read_text())
    shuffled = dict(sorted(content.items(), reverse=True))
    Certificate.from_json(json.dumps(shuffled)).check(policy)


def test_a_certificate_may_name_a_budget_of_its_own(tmp_path):
    policy = PolicyDocument((AGE,)).save(tmp_path / "policy.toml")
    for budget in (1, 3.5, "7/2", Fraction(5, 2)):
        certificate = certify(PolicyDocument((AGE,)), budget).bind(policy)
        Certificate.from_json(certificate.to_json()).check(policy)


# --- what is refused ----------------------------------------------------------------------------


def test_one_byte_of_the_policy_wherever_it_stands_takes_the_certificate_away(tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    content = policy.read_bytes()
    certificate = certify(PolicyDocument.load(policy)).bind(policy)
    certificate.check(policy)
    changed = [
        *(content[:i] + bytes([content[i] ^ 1]) + content[i + 1 :] for i in range(len(content))),
        *(content[:i] + content[i + 1 :] for i in range(len(content))),
        *(content[:i] + b" " + content[i:] for i in range(len(content) + 1)),
        content.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + content,
        b"",
    ]
    for other in changed:
        policy.write_bytes(other)
        with pytest.raises(CertificateError, match=r"another policy file than .*; hint: "):
            certificate.check(policy)
    policy.write_bytes(content)
    certificate.check(policy)


def edits(value):
    """Yield a JSON value with one place edited, for every place and in a few ways."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from (value | {key: edited} for edited in edits(item))
            yield {other: kept for other, kept in value.items() if other != key}
        yield value | {"more": 1}
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from ([*value[:i], edited, *value[i + 1 :]] for edited in edits(item))
            yield [*value[:i], *value[i + 1 :]]
        yield [*value, "more"]
    elif isinstance(value, bool):
        yield from (not value, int(value), None, str(value))
    elif isinstance(value, (int, float)):
        yield from (math.nextafter(value, math.inf), value + 1, -value - 1, None, [value], True)
    elif isinstance(value, str):
        yield from (value + " ", value[1:], value.swapcase(), "", None, {})
        yield value.replace("3", "4").replace("5", "6") + "."
    else:
        yield from (0, "", False)


@pytest.mark.slow
def test_no_place_of_a_certificate_can_be_edited(kind):
    policy, path = kind
    content = json.loads(path.read_text())
    # A text without letters has no other case, and 1 is 1.0 in any JSON.
    tried = [edited for edited in edits(content) if json.dumps(edited) != json.dumps(content)]
    assert len(tried) > 100
    for edited in tried:
        with pytest.raises(CertificateError, match="; hint: "):
            Certificate.from_json(json.dumps(edited)).check(policy)


def test_whoever_edits_a_number_and_the_paragraph_alike_is_told_what_does_not_hold(tmp_path):
    policy, path = bound(KINDS["records"], tmp_path)
    content = json.loads(path.read_text())
    kinder = json.loads(path.read_text().replace("32 values: 5 bits", "2 values: 1 bit"))
    assert kinder != content
    with pytest.raises(CertificateError, match="The claim of the certificate does not hold"):
        Certificate.from_json(json.dumps(kinder)).check(policy)
    sound = content | {"value": 1.0}
    with pytest.raises(CertificateError, match="The value of the certificate does not hold"):
        Certificate.from_json(json.dumps(sound)).check(policy)


def test_a_warning_cannot_be_taken_out(tmp_path):
    policy, path = bound(KINDS["a broken budget"], tmp_path)
    content = json.loads(path.read_text())
    assert content["sound"] is False
    warning = "Warning: this does not keep what was promised; do not rely on it. "
    calmer = content | {"paragraph": content["paragraph"].replace(warning, "")}
    with pytest.raises(CertificateError, match="says in its paragraph what its fields do not say"):
        Certificate.from_json(json.dumps(calmer))
    with pytest.raises(CertificateError, match="The sound of the certificate does not hold"):
        Certificate.from_json(json.dumps(calmer | {"sound": True})).check(policy)


def test_the_certificate_of_another_policy_is_refused_even_with_the_right_fingerprint(tmp_path):
    policy = KINDS["a budget"].save(tmp_path / "policy.toml")
    with pytest.raises(CertificateError, match="claim of the certificate does not hold"):
        certify(KINDS["records"]).bind(policy).check(policy)
    with pytest.raises(CertificateError, match="belongs to no policy file"):
        certify(KINDS["a budget"]).check(policy)
    with pytest.raises(CertificateError, match="cannot be read"):
        certify(KINDS["a budget"]).bind(policy).check(tmp_path / "absent.toml")
    with pytest.raises(InputError, match="cannot be read"):
        certify(KINDS["a budget"]).bind(tmp_path / "absent.toml")


def test_a_file_that_is_no_policy_has_no_certificate(tmp_path):
    for content in (b"\xff\xfe", b"format = 1", b"a = [", b"", POLICY.encode().replace(b"7", b"0")):
        path = tmp_path / "policy.toml"
        path.write_bytes(content)
        with pytest.raises(CertificateError, match=r"Nothing can be certified of .*; hint: "):
            certify(KINDS["a budget"]).bind(path).check(path)


# --- what anybody may have written --------------------------------------------------------------

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def load_or_refuse(text):
    """Return a certificate, or None where it is refused as it should be."""
    try:
        return Certificate.from_json(text)
    except CertificateError as error:
        told = str(error)
    assert "; hint: " in told
    assert told.isprintable()
    return None


@pytest.mark.slow
@given(junk=JUNK)
@settings(max_examples=200, deadline=None)
def test_junk_is_no_certificate(junk):
    assert load_or_refuse(json.dumps(junk)) is None


@given(text=st.text())
@settings(max_examples=100, deadline=None)
def test_text_is_no_certificate(text):
    assert load_or_refuse(text) is None


@pytest.mark.slow
@given(
    field=st.sampled_from(sorted(certify(KINDS["records"]).to_dict())),
    junk=JUNK,
)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_junk_in_one_field_is_refused_or_does_not_hold(field, junk, tmp_path_factory):
    folder = tmp_path_factory.mktemp("policy")
    policy, path = bound(KINDS["records"], folder)
    content = json.loads(path.read_text())
    found = load_or_refuse(json.dumps(content | {field: junk}))
    if found is not None:
        assert found.paragraph().isprintable()
        if found != Certificate.load(path):
            with pytest.raises(CertificateError):
                found.check(policy)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 1_000_000,
        '{"a":' * 300_000,
        "9" * 5_000,
        '{"format": 1, "format": 1}',
        '{"format": 1}',
        '{"format": true}',
        "NaN",
        "Infinity",
        "1e999",
        "null",
        "[]",
        '"' + "a" * 3_000_000 + '"',
    ],
    ids=lambda text: text[:20],
)
def test_hostile_json_is_refused_in_one_sentence(text):
    assert load_or_refuse(text) is None


@pytest.mark.parametrize(
    ("field", "json_value"),
    [
        ("value", "NaN"),
        ("value", "1e400"),
        ("value", "-Infinity"),
        ("value", "9" * 400),
        ("value", '"nan"'),
        ("value", "true"),
        ("sound", "1"),
        ("rule", '"sound"'),
        ("rule", "[]"),
        ("claim", r'"\u001b[2J"'),
        ("claim", r'"\ud800"'),
        ("kind", '{"a": 1}'),
        ("assumptions", '"text"'),
        ("consequences", '[{"name": "x"}]'),
        ("consequences", "[[]]"),
        ("parameters", "[" * 9_000 + "]" * 9_000),
        ("parameters", '{"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": 1}}}}}}}}'),
        ("policy_digest", "12"),
    ],
)
def test_a_field_of_the_wrong_type_is_refused_in_one_sentence(field, json_value):
    content = certify(KINDS["records"]).to_dict()
    others = ", ".join(
        f"{json.dumps(k)}: {json.dumps(v)}" for k, v in content.items() if k != field
    )
    assert load_or_refuse(f'{{{others}, "{field}": {json_value}}}') is None
    assert load_or_refuse(f'{{{others}, "{field}": {json.dumps(content[field])}}}') is not None


def test_a_certificate_of_an_earlier_version_is_told_by_its_format_and_why(tmp_path):
    """Format 1 said "whatever its law"; nobody should go on relying on these words."""
    policy, path = bound(KINDS["a mean"], tmp_path)
    content = json.loads(path.read_text())
    kept = [text for text in content["assumptions"] if "related" not in text]
    path.write_text(json.dumps(content | {"format": 1, "assumptions": kept}))
    with pytest.raises(CertificateError, match="earlier version, whose certificates left out that"):
        Certificate.load(path)
    for odd in (True, 1.0, "1", None):
        path.write_text(json.dumps(content | {"format": odd}))
        with pytest.raises(CertificateError, match="does not know"):
            Certificate.load(path)
    # What is written today says it, and may not be edited out of it.
    changed = Certificate.from_json(json.dumps(content))
    changed.check(policy)
    with pytest.raises(CertificateError, match="assumptions of the certificate do not hold"):
        replace(changed, assumptions=tuple(kept)).check(policy)


def test_a_newer_or_unreadable_file_is_refused(tmp_path):
    path = tmp_path / "certificate.json"
    content = certify(KINDS["records"]).to_dict()
    path.write_text(json.dumps(content | {"format": 3}))
    with pytest.raises(CertificateError, match="does not know"):
        Certificate.load(path)
    path.write_bytes(b"\xff" * 10)
    with pytest.raises(CertificateError, match="cannot be read"):
        Certificate.load(path)
    with pytest.raises(CertificateError, match="cannot be read"):
        Certificate.load(tmp_path)
    path.write_text(" " * 3_000_000 + json.dumps(content))
    with pytest.raises(CertificateError, match="is not a certificate"):
        Certificate.load(path)
    with pytest.raises(InputError, match="cannot be written"):
        certify(KINDS["records"]).save(tmp_path / "absent" / "certificate.json")


def test_a_policy_file_that_begins_with_a_byte_order_mark_is_verified_too(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_bytes(b"\xef\xbb\xbf" + POLICY.encode())
    certify(PolicyDocument.load(path)).bind(path).check(path)


def test_a_certificate_that_is_only_read_says_who_computes_it_again(tmp_path, monkeypatch):
    policy, _ = bound(KINDS["a budget"], tmp_path)
    certificate = certify(KINDS["a budget"]).bind(policy)
    monkeypatch.setattr(Certificate, "verifier", None)  # as where nothing but the agent is imported
    with pytest.raises(CertificateError, match="not computed again") as caught:
        certificate.check(policy)
    assert "hartley.guarantees.verify" in caught.value.hint


@pytest.mark.slow
def test_the_public_certificate_computes_itself_again():
    code = "from hartley import Certificate; print(Certificate.verifier.__name__)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "verify_certificate"
