"""Verify a saved certificate: compute everything in it again from its policy file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from hartley.errors import CertificateError, HartleyError
from hartley.guarantees.certificate import Certificate
from hartley.guarantees.documents import promise_document
from hartley.guarantees.hypotheses import STEPLESS
from hartley.guarantees.promise import Promise
from hartley.policies.document import PolicyDocument

if TYPE_CHECKING:
    import os

FORMER = "(of rounded values the release shows the side)", STEPLESS
"""What version 0.1 said of stretched values, and what is said now: certificates of it hold."""

__all__ = ["Certificate", "verify", "verify_certificate"]


def verify(
    policy: str | os.PathLike[str], certificate: Certificate | str | os.PathLike[str]
) -> Certificate:
    """Compute a certificate again from its policy file; refuse one that cannot be relied on.

    Everything is recomputed: the certificate must belong to the file, every byte of it, what it
    says must hold, and it must promise what was asked for.

    Args:
        policy: the policy file.
        certificate: the certificate, or its file.

    Returns:
        The certificate, which holds.

    Raises:
        CertificateError: it belongs to another policy, does not hold, or promises nothing.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from hartley import PolicyDocument, UniformQuantizer, certify
        >>> from hartley.policies.kinds import QuantizedColumn
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "policy.toml")
        ...     ages = QuantizedColumn("age", UniformQuantizer(0, 100, 10))
        ...     _ = PolicyDocument((ages,)).save(path)
        ...     print(verify(path, certify(PolicyDocument.load(path)).bind(path)).sound)
        True
    """
    if isinstance(certificate, Certificate):
        known, name = certificate, "The certificate"
    else:
        known, name = Certificate.load(certificate), f"The certificate {certificate}"
    verify_certificate(known, policy)
    try:
        known.refuse_unsound()
    except CertificateError as error:
        raise CertificateError(
            f"{name} of the policy {policy} is nothing to rely on: "
            f"{error.problem[0].lower()}{error.problem[1:]}",
            hint=error.hint,
        ) from None
    return known


def verify_certificate(certificate: Certificate, path: str | os.PathLike[str]) -> None:
    """Verify that a certificate belongs to a policy file and that all it says holds.

    The fingerprint covers every byte of the file. Everything else is computed again from the
    policy; only the budget that it is held against is taken from the certificate, which says
    it in its claim too.

    Raises:
        CertificateError: the certificate is of another file, or something in it does not hold.

    Example:
        >>> import tempfile
        >>> from hartley.policies.kinds import QuantizedColumn
        >>> from hartley.policies.quantizers.quantizer import UniformQuantizer
        >>> ages = PolicyDocument((QuantizedColumn("age", UniformQuantizer(0, 100, 7)),))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = ages.save(Path(folder, "ages.toml"))
        ...     certificate = Certificate.of(promise_document(ages)).bind(path)
        ...     verify_certificate(certificate, path)
        ...     _ = path.write_text(path.read_text() + " ")
        ...     verify_certificate(certificate, path)
        Traceback (most recent call last):
            ...
        hartley.errors.CertificateError: The certificate belongs to another policy file than ...
    """
    try:
        content = Path(path).read_bytes()
    except OSError:
        raise CertificateError(
            f"The policy file {path} cannot be read", hint="check the path"
        ) from None
    if certificate.policy_digest is None:
        raise CertificateError(
            "The certificate belongs to no policy file",
            hint="bind it to one when it is made: certify(policy).bind(path)",
        )
    if certificate.policy_digest != hashlib.sha256(content).hexdigest():
        raise CertificateError(
            f"The certificate belongs to another policy file than {path}",
            hint="the policy was changed or mistaken; certify it again",
        )
    _compare(certificate, _recompute(content, path, certificate.parameters.get("budget")))


def _recompute(content: bytes, path: str | os.PathLike[str], budget: object) -> Promise:
    """Compute the promise from the bytes that were compared: the file may change meanwhile."""
    try:
        document = PolicyDocument.from_toml(
            content.decode("utf-8-sig"), name=f"the policy file {path}"
        )
        return promise_document(document, budget)
    except (HartleyError, UnicodeDecodeError) as error:
        problem = getattr(error, "problem", "it is not text")
        raise CertificateError(
            f"Nothing can be certified of the policy file {path}: {problem}",
            hint=getattr(error, "hint", "certify a policy that hartley has written"),
        ) from None


def _compare(certificate: Certificate, promise: Promise) -> None:
    """Refuse a certificate of which a field comes out differently when it is computed again."""
    saved, recomputed = certificate.to_dict(), Certificate.of(promise).to_dict()
    for name in (field.name for field in fields(Promise)):
        before, now = (json.dumps(each[name], sort_keys=True) for each in (saved, recomputed))
        if before.replace(*FORMER) == now.replace(*FORMER):
            continue
        raise CertificateError(
            f"The {name} of the certificate {'do' if name.endswith('s') else 'does'} not hold: "
            "recomputed from the policy, the result differs",
            hint="it was edited, or made by another version; certify the policy again",
        )


# ``Certificate.check`` is public and calls this; certificates themselves import no policies.
Certificate.verifier = verify_certificate
