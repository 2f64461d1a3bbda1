"""A claim about a policy, its number, the theorem behind it, its assumptions, exact or bound."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from hartley.wording import (
    at_most as few,
    bits_down as down_bits,
    bits_up as up_bits,
    counted,
    decimals_down as shown_down,
    decimals_up as shown_up,
    digits_down,
    exactly,
    exactly_or_up as within,
    plain_decimal as plain,
)

if TYPE_CHECKING:
    from fractions import Fraction

# Numbers in sentences live in hartley.wording. Their old names stay here until no room uses them.
__all__ = [
    "UNRELATED",
    "A",
    "B",
    "Consequence",
    "D",
    "Promise",
    "counted",
    "down",
    "down_bits",
    "exactly",
    "few",
    "plain",
    "shown_down",
    "shown_up",
    "up_bits",
    "within",
]

A = "Farokhi 2019"
B = "Farokhi 2019 (Noiseless Privacy)"
D = "Farokhi 2021"
"""The papers, as certificates name them."""
UNRELATED = (
    "what is possible for one person does not depend on the others' data; people who are related, "
    "such as a household, count together as one person"
)
"""Without it a bound holds to whoever knows everybody else's data, and to nobody else."""


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
        told = "That is judged" if nothing else f"The number is {number},"
        text.append(f"{told} by {self.theorem}, {rule}.")
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


def down(value: float | Fraction) -> str:
    """Show a number with four digits, rounded down, and nothing below zero.

    Example:
        >>> from fractions import Fraction
        >>> down(0.29999), down(57869.2), down(0.0), down(Fraction(3, 10)), down(2.5e-12)
        ('0.2999', '57,860', '0', '0.3', '2.499e-12')
    """
    return "0" if value <= 0 else digits_down(value, 4)
