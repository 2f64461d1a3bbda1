"""The promise of a policy: a claim, its number, its theorem, its assumptions, exact or a bound."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

A = "Farokhi 2019"
B = "Farokhi 2019 (Noiseless Privacy)"
D = "Farokhi 2021"
"""The papers, as certificates name them."""
UNRELATED = (
    "what is possible for one person does not depend on the others' data; people who are related, "
    "such as a household, count together as one person"
)
"""Without this assumption a bound only holds for an adversary who knows everybody else's data."""


@dataclass(frozen=True)
class Consequence:
    """Something that follows from a claim, with its number."""

    name: str
    value: float | None
    sentence: str
    theorem: str


@dataclass(frozen=True)
class Promise:
    """What a finished policy promises: one claim, recomputed and never taken on trust."""

    kind: str
    claim: str
    value: float
    unit: str
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
        """The columns that can take any value and are released as they are: nothing is promised."""
        listed = self.parameters.get("gains") or self.parameters.get("outputs") or {}
        return tuple(name for name, count in listed.items() if count is None)

    @property
    def needs_strict(self) -> bool:
        """Whether it holds for a strict release alone, which refuses missing values."""
        return self.parameters.get("missing") == "refused"

    def __str__(self) -> str:
        return self.paragraph()
