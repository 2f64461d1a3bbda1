"""A claim about a policy, its number, the theorem behind it, its assumptions, exact or bound."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_DOWN, Context, Decimal
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from fractions import Fraction

A = "Farokhi 2019"
B = "Farokhi 2019 (Noiseless Privacy)"
D = "Farokhi 2021"
"""The papers, as certificates name them."""
UNRELATED = (
    "what is possible for one person does not depend on the others' data; people who are related, "
    "such as a household, count together as one person"
)
"""Without it a bound holds to whoever knows everybody else's data, and to nobody else."""
THOUSANDTH = Decimal("0.001")


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


# --- numbers in sentences, rounded so that the sentence stays true --------------------------------


def up_bits(value: float) -> str:
    """Show a number of bits, rounded up.

    Example:
        >>> up_bits(1.0), up_bits(2.80735492), up_bits(5792.4324100)
        ('1 bit', '2.808 bits', '5,792.433 bits')
    """
    if math.isinf(value):
        return "any number of bits"
    return _counted_bits(shown_up(value))


def down_bits(value: float) -> str:
    """Show a number of bits, rounded down.

    Example:
        >>> down_bits(1.0), down_bits(2.80735492)
        ('1 bit', '2.807 bits')
    """
    return _counted_bits(shown_down(value))


def shown_up(bits: float) -> str:
    """Show bits with three decimals and without the word, rounded up."""
    return plain(Decimal(bits).quantize(THOUSANDTH, ROUND_CEILING, Context(prec=400)))


def shown_down(bits: float) -> str:
    """Show bits with three decimals and without the word, rounded down."""
    return plain(Decimal(bits).quantize(THOUSANDTH, ROUND_DOWN, Context(prec=400)))


def _counted_bits(shown: str) -> str:
    return f"{shown} bit" if shown == "1" else f"{shown} bits"


def down(value: float | Fraction) -> str:
    """Show a number with four digits, rounded down; an exact one as it is where that is short.

    Example:
        >>> from fractions import Fraction
        >>> down(0.29999), down(57869.2), down(0.0), down(Fraction(3, 10)), down(2.5e-12)
        ('0.2999', '57,860', '0', '0.3', '2.499e-12')
    """
    if value <= 0 or value == math.inf:
        return "0" if value <= 0 else "infinite"
    numerator, denominator = value.as_integer_ratio()
    rounding = Context(prec=4, rounding=ROUND_DOWN)
    return plain(rounding.divide(Decimal(numerator), Decimal(denominator)))


def plain(number: Decimal) -> str:
    """Show a decimal without zeros behind, and with an exponent only where it is far from one."""
    if number and not -6 <= number.adjusted() <= 15:
        return f"{number.normalize(Context(prec=400)):g}".replace("E", "e").replace("e+", "e")
    text = f"{number:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def exactly(number: Fraction) -> str:
    """Show an exact number as a decimal where that is exact and short, else as a fraction.

    Example:
        >>> from fractions import Fraction
        >>> exactly(Fraction(1, 2)), exactly(Fraction(5000)), exactly(Fraction(1, 3))
        ('0.5', '5,000', '1/3')
    """
    scaled = number * 10**9
    if scaled.denominator != 1:
        return str(number)
    return plain(Decimal(int(scaled)).scaleb(-9, Context(prec=400)))


def within(number: Fraction) -> str:
    """Show an exact number as a decimal: exactly where that is short, else rounded up.

    Example:
        >>> from fractions import Fraction
        >>> within(Fraction(1, 2)), within(Fraction(75, 7))
        ('0.5', '10.72')
    """
    shown = exactly(number)
    if "/" not in shown:
        return shown
    rounding = Context(prec=4, rounding=ROUND_CEILING)
    return plain(rounding.divide(Decimal(number.numerator), Decimal(number.denominator)))


def counted(number: int, what: str) -> str:
    """Show a number of things.

    Example:
        >>> counted(1, "value"), counted(1500, "value")
        ('1 value', '1,500 values')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def few(number: int) -> str:
    """Show how many at most.

    Example:
        >>> few(0), few(1200)
        ('none', 'at most 1,200')
    """
    return f"at most {number:,}" if number else "none"
