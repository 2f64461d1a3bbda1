"""The promise of a policy: a claim, its number, its theorem, its assumptions, exact or a bound."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from hartley.errors import CertificateError, InputError
from hartley.files import as_text, as_truth, each, file_digest, or_none, parse_json, whole_file

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence


# --- promise --------------------------------------------------------------------------------------


A = "Farokhi 2019"
B = "Farokhi 2019 (Noiseless Privacy)"
D = "Farokhi 2021"
"""The papers, as certificates name them."""
UNRELATED = (  # without it a bound only holds against somebody who knows everybody else's data
    "what is possible for one person does not depend on the others' data; people who are related, "
    "such as a household, count together as one person"
)


def nothing_promised(names: Sequence[str]) -> str:
    """Return the sentence that columns without any bound are released, without its end."""
    released = "is released as it is" if len(names) == 1 else "are released as they are"
    return (
        f"Nothing is promised about a person: {' and '.join(names)} can take any value and "
        f"{released}"
    )


@dataclass(frozen=True)
class Consequence:
    """Something that follows from a claim, with its number."""

    name: str
    value: float | None
    sentence: str
    theorem: str

    def about(self, what: str, begin: str = "About") -> Consequence:
        """Return the consequence of one part of a policy, told from those of its other parts."""
        sentence = f"{begin} {what}: {self.sentence}"
        return replace(self, name=f"{self.name} of {what}", sentence=sentence)


@dataclass(frozen=True)
class Promise:
    """What a finished policy promises: one claim, recomputed and never taken on trust."""

    kind: str
    claim: str
    value: float
    unit: str = field(default="bits", kw_only=True)
    theorem: str
    rule: Literal["corrected", "printed"]
    """Whether the theorem is used as a paper prints it, or as it was corrected."""
    sound: bool
    """Whether the promise holds; a rule as printed in a paper may break it."""
    certainty: Literal["exact", "bound"]
    assumptions: tuple[str, ...]
    consequences: tuple[Consequence, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)
    """What the promise was computed from."""

    def paragraph(self) -> str:
        """Return the promise in a few sentences."""
        text = [self.claim]
        nothing = not self.sound and math.isinf(self.value)
        if not self.sound:
            broken = "this is no promise" if nothing else "this does not keep what was promised"
            text.append(f"Warning: {broken}; do not rely on it.")
        number = "exact" if self.certainty == "exact" else "a bound"
        rule = "corrected" if self.rule == "corrected" else "as printed"
        source = "That is judged" if nothing else f"The number is {number},"
        text.append(f"{source} by {self.theorem}, {rule}.")
        if self.assumptions:
            text.append("It assumes that " + "; ".join(self.assumptions) + ".")
        return " ".join(text)

    @property
    def unbounded(self) -> tuple[str, ...]:
        """The columns that can take any value and are released unchanged: nothing is promised."""
        listed = self.parameters.get("gains") or self.parameters.get("outputs") or {}
        return tuple(name for name, count in listed.items() if count is None)

    @property
    def needs_strict(self) -> bool:
        """Whether it holds for a strict release alone, which refuses missing values."""
        return self.parameters.get("missing") == "refused"

    def __str__(self) -> str:
        return self.paragraph()


# --- certificate ----------------------------------------------------------------------------------
# A promise that can be saved and bound to a policy file: data, read and written.
#
# Nothing here computes a promise. The agent writes certificates of its own with this module, so
# it imports neither policies nor measures; ``hartley.guarantees.verify`` computes a certificate
# again.

FORMAT = 2
"""Format 1 did not say that people must be unrelated, nor that stretched values have no step."""
LARGEST = 2_000_000
"""A certificate has a few kilobytes; more characters than these are not read."""
TABLES = "hartley table certificate"
"""The kind of a certificate of checked tables, as its file says."""
DEEPEST = 8
"""How deep parameters may be nested."""
INFINITIES = {"infinity": math.inf, "-infinity": -math.inf}
RULES, CERTAINTIES = ("corrected", "printed"), ("exact", "bound")


def _fields(content: object, place: str) -> dict[str, Any]:
    """Return the fields of a certificate, each of the right type, or refuse it in one sentence."""
    no_certificate = CertificateError(
        f"{place} is not a certificate",
        hint="pass a file that hartley has written, as it was written",
    )
    if not isinstance(content, dict):
        raise no_certificate
    form = repr(content.get("format"))  # neither true nor 1.0
    if form == "1":
        raise CertificateError(
            f"{place} was written by an earlier version, whose certificates left out that people "
            "must be unrelated",
            hint="certify the policy again, with hartley release --certificate",
        )
    if form != repr(FORMAT):
        raise CertificateError(
            f"{place} has a format that this version does not know",
            hint="use the version of Hartley that wrote it, or a newer one",
        )
    try:
        return _read({name: content[name] for name in content.keys() - {"format"}}, FIELDS)
    except (ValueError, TypeError, KeyError):
        raise no_certificate from None


def _read(content: object, readers: dict[str, Callable[[Any], Any]]) -> dict[str, Any]:
    """Read exactly these fields."""
    if not isinstance(content, dict) or content.keys() != readers.keys():
        raise TypeError
    return {key: reader(content[key]) for key, reader in readers.items()}


def _text(value: object) -> str:
    # Characters that do not print could control the terminal that shows the certificate.
    if not isinstance(value, str) or not value.isprintable():
        raise TypeError
    return value


def _number(value: object) -> float:
    if isinstance(value, str):
        return INFINITIES[value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    if isinstance(value, int) and abs(value) > 2**53:
        raise ValueError
    return float(value)


def _choice(choices: tuple[str, ...]) -> Callable[[object], str]:
    def read(value: object) -> str:
        if value not in choices:
            raise ValueError
        return _text(value)

    return read


def _parameters(value: object, depth: int = DEEPEST) -> dict[str, Any]:
    """Read plain values by name, nested a few times."""
    if not isinstance(value, dict):
        raise TypeError
    if depth == 0:
        raise ValueError
    return {_text(key): _plain(item, depth - 1) for key, item in value.items()}


def _plain(value: object, depth: int) -> object:
    if isinstance(value, dict):
        return _parameters(value, depth)
    if isinstance(value, list) and depth:
        return [_plain(item, depth - 1) for item in value]
    if depth == 0:
        raise ValueError
    return as_text(value) if isinstance(value, str) else value  # a question may have several lines


CONSEQUENCE: dict[str, Callable[[Any], Any]] = {
    "name": _text,
    "value": or_none(_number),
    "sentence": _text,
    "theorem": _text,
}
FIELDS: dict[str, Callable[[Any], Any]] = {
    "paragraph": _text,
    "kind": _text,
    "claim": _text,
    "value": _number,
    "unit": _text,
    "theorem": _text,
    "rule": _choice(RULES),
    "sound": as_truth,
    "certainty": _choice(CERTAINTIES),
    "assumptions": each(_text),
    "consequences": each(lambda value: Consequence(**_read(value, CONSEQUENCE))),
    "parameters": _parameters,
    "policy_digest": or_none(_text),
}


@dataclass(frozen=True)
class Certificate(Promise):
    """What a finished policy promises: one claim, recomputed and never taken on trust.

    It prints as a short paragraph that a data-protection officer can read, and saves as JSON.
    ``bind`` ties it to every byte of a policy file, and ``check`` computes all of it again.

    Example:
        >>> certificate = Certificate(
        ...     kind="noiseless privacy", claim="The answer takes one of at most 2 values.",
        ...     value=1.0, unit="bits", theorem="Farokhi 2019 (Noiseless Privacy), Definition 1",
        ...     rule="corrected", sound=True, certainty="bound", assumptions=(),
        ... )
        >>> Certificate.from_json(certificate.to_json()) == certificate
        True
    """

    verifier: ClassVar[Callable[[Certificate, str | os.PathLike[str]], None] | None] = None
    """Computes a certificate again; ``hartley.guarantees.verify`` sets it when it is imported."""
    policy_digest: str | None = None
    """The fingerprint of the policy file that the certificate belongs to."""

    @classmethod
    def of(cls, promise: Promise) -> Certificate:
        """Turn a promise into a certificate."""
        return cls(**{field.name: getattr(promise, field.name) for field in fields(Promise)})

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, ready for JSON; infinity becomes text."""
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        content["consequences"] = [
            {field.name: _finite(getattr(consequence, field.name)) for field in fields(Consequence)}
            for consequence in self.consequences
        ]
        content |= {"value": _finite(self.value), "assumptions": list(self.assumptions)}
        return {"format": FORMAT, "paragraph": self.paragraph()} | content

    def to_json(self) -> str:
        """Return the certificate as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the certificate to a file, whole or not at all."""
        with whole_file(path) as half:
            half.write_text(self.to_json() + "\n", encoding="utf-8", newline="\n")
        return Path(path)

    @classmethod
    def from_json(cls, text: str, *, name: str = "the certificate") -> Certificate:
        """Read a certificate; nothing in it is believed before it is checked."""
        content = None
        if len(text) <= LARGEST:
            with suppress(InputError):
                content = parse_json(text, what="certificate", kind=InputError)
        return cls.from_dict(content, name=name)

    @classmethod
    def from_dict(cls, content: object, *, name: str = "the certificate") -> Certificate:
        """Read the plain values of a certificate, as ``to_dict`` returns them."""
        place = f"{name[0].upper()}{name[1:]}"
        fields = _fields(content, place)
        paragraph = fields.pop("paragraph")
        certificate = cls(**fields)
        if certificate.paragraph() != paragraph:
            raise CertificateError(
                f"{place} says in its paragraph what its fields do not say",
                hint="somebody has edited it; certify the policy again",
            )
        return certificate

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Read a certificate from a file."""
        try:
            with Path(path).open("rb") as file:
                text = file.read(LARGEST + 1).decode("utf-8")
        except (OSError, UnicodeDecodeError):
            raise CertificateError(
                f"The certificate {path} cannot be read", hint="check the path and the file"
            ) from None
        return cls.from_json(text, name=f"the file {path}")

    def refuse_unsound(self) -> None:
        """Refuse a certificate that promises nothing, or not what was asked for, and say why."""
        if self.sound:
            return
        if self.unbounded:
            raise CertificateError(
                nothing_promised(self.unbounded),
                hint="release it in cells, in groups, perturbed or not at all; or leave "
                "out the certificate",
            )
        raise CertificateError(
            "The policy does not keep what was asked for",
            hint="design it again with the corrected rule; hartley design says what is promised",
        )

    def bind(self, path: str | os.PathLike[str]) -> Certificate:
        """Return the certificate tied to a policy file, every byte of it."""
        return replace(self, policy_digest=file_digest(path))

    def check(self, path: str | os.PathLike[str]) -> None:
        """Verify that the certificate belongs to a policy file and that all it says holds.

        The work is done by ``verify_certificate`` of ``hartley.guarantees.verify``.
        """
        if Certificate.verifier is None:
            raise CertificateError(
                "Certificates can be read here, but not computed again",
                hint="import hartley.guarantees.verify, or take Certificate from hartley",
            )
        Certificate.verifier(self, path)


def _finite(value: object) -> object:
    """Write infinite numbers, which JSON does not have, as text."""
    if isinstance(value, float) and math.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    return value


def is_table_certificate(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a certificate of checked tables, and not of a policy."""
    try:
        with Path(path).open("rb") as file:
            return TABLES.encode() in file.read(200)
    except OSError:
        return False
