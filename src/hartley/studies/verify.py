"""Whether a certificate can be relied on: that it belongs to a policy, holds and promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.errors import CertificateError
from hartley.guarantees.certificate import Certificate

if TYPE_CHECKING:
    import os


def verify(
    policy: str | os.PathLike[str], certificate: Certificate | str | os.PathLike[str]
) -> Certificate:
    """Compute a certificate again from its policy file; refuse one that is not to be relied on.

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
    known.check(policy)
    try:
        known.refuse_unsound()
    except CertificateError as error:
        raise CertificateError(
            f"{name} of the policy {policy} is nothing to rely on: "
            f"{error.problem[0].lower()}{error.problem[1:]}",
            hint=error.hint,
        ) from None
    return known
