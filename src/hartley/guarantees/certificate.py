"""A claim, its number, the theorem behind it, its assumptions, exact or bound."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hartley.errors import InputError, TableError

if TYPE_CHECKING:
    import os

FORMAT = 1


@dataclass(frozen=True)
class Consequence:
    """Something that follows from a certified claim, with its number."""

    name: str
    value: float | None
    sentence: str
    theorem: str


@dataclass(frozen=True)
class Certificate:
    """What a finished policy promises: one claim, recomputed and never taken on trust.

    It prints as a short paragraph that a data-protection officer can read, and saves as JSON.
    """

    kind: str
    claim: str
    value: float
    unit: str
    theorem: str
    rule: Literal["corrected", "printed"]
    sound: bool
    """Whether the promise holds; a rule as printed in a paper may break it."""
    certainty: Literal["exact", "bound"]
    assumptions: tuple[str, ...]
    consequences: tuple[Consequence, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)
    """What the promise was computed from, so that it can be computed again."""
    policy_digest: str | None = None
    """The fingerprint of the policy file that the certificate belongs to."""

    def paragraph(self) -> str:
        """Return the certificate in a few sentences."""
        text = [self.claim]
        if not self.sound:
            text.append("Warning: this does not keep what was promised; do not rely on it.")
        exactly = "The number is exact" if self.certainty == "exact" else "The number is a bound"
        rule = "corrected" if self.rule == "corrected" else "as printed"
        text.append(f"{exactly}, by {self.theorem}, {rule}.")
        if self.assumptions:
            text.append("It assumes that " + "; ".join(self.assumptions) + ".")
        return " ".join(text)

    def __str__(self) -> str:
        return self.paragraph()

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, ready for JSON."""
        return {"format": FORMAT, "paragraph": self.paragraph()} | asdict(self)

    def to_json(self) -> str:
        """Return the certificate as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, *, name: str = "the certificate") -> Certificate:
        """Read a certificate; nothing in it is believed before it is checked."""
        try:
            content = json.loads(text)
            if content.pop("format") != FORMAT:
                raise InputError(
                    f"{name} has a format that this version does not know",
                    hint="use the version of Hartley that wrote it, or a newer one",
                )
            content.pop("paragraph", None)
            content["consequences"] = tuple(Consequence(**c) for c in content["consequences"])
            content["assumptions"] = tuple(content["assumptions"])
            return cls(**content)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise TableError(
                f"{name} is not a certificate", hint="pass a file that hartley has written"
            ) from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Read a certificate from a file."""
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            raise TableError(
                f"The certificate {path} cannot be read", hint="check the path and the file"
            ) from None
        return cls.from_json(text, name=f"The file {path}")
