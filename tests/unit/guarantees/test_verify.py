"""What ``hartley verify`` refuses, Python refuses too."""

import pytest

from hartley.errors import CertificateError
from hartley.guarantees.promise import Certificate
from hartley.guarantees.verify import certify, verify
from hartley.policies import KeptColumn, QuantizedColumn
from hartley.policies.document import PolicyDocument
from hartley.policies.quantizer import UniformQuantizer

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
