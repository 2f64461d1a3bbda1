"""What follows from a certified claim, with numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hartley.exact import log_ratio, round_up
from hartley.guarantees.certificate import Consequence
from hartley.measures.continuous import (
    maximin_information,
    nonstochastic_leakage,
    smallest_error_bound,
)

if TYPE_CHECKING:
    from fractions import Fraction

    from hartley.ranges.cells import CutBox

A = "Farokhi 2019"
B = "Farokhi 2019 (Noiseless Privacy)"
D = "Farokhi 2021"


def of_noiseless_privacy(outputs: int, person: Fraction | None) -> tuple[Consequence, ...]:
    """Return what follows when one person's data can produce at most so many outputs.

    Args:
        outputs: the number N of outputs.
        person: the length of the range of one person's value, where it is one number.

    Example:
        >>> [found.name for found in of_noiseless_privacy(4, None)][:2]
        ['information leakage', 'zero-error capacity']
    """
    bits = log_ratio(outputs)
    found = [
        Consequence(
            "information leakage",
            bits,
            f"What the release tells about one person, I⋆(Xᵢ;Y) ≤ L₀ˢ(Xᵢ;Y) ≤ L₀(Y;Xᵢ), is at most "
            f"{up_bits(bits)}. This does not bound L₀(Xᵢ;Y): a single rare output may still narrow "
            "the person's value further.",
            f"{B}, Theorem 1",
        ),
        Consequence(
            "zero-error capacity",
            bits,
            f"A stream of such answers carries at most {up_bits(bits)} an answer about one person "
            "without error.",
            f"{B}, Theorem 2",
        ),
        Consequence(
            "hypothesis tests",
            1.0 if outputs > 1 else -math.inf,
            "Whoever tests which of two values a person has, knowing everybody else, "
            + ("decides or does not: 1 bit or nothing." if outputs > 1 else "never decides."),
            f"{B}, Theorem 3, sharpened",
        ),
        *(_estimation(outputs, person) if person is not None else ()),
        Consequence(
            "stochastic maximal leakage",
            bits,
            f"Were the data random, its maximal leakage about one person would be at most "
            f"{up_bits(bits)}.",
            f"{B}, Theorem 5",
        ),
        Consequence(
            "composition",
            bits,
            "Another release about the same people adds its bits, whichever query it answers and "
            "however it was chosen.",
            f"{B}, Theorem 6, also adaptive",
        ),
        Consequence(
            "post-processing",
            bits,
            "Nothing that is computed from the release tells more.",
            f"{B}, Theorem 7",
        ),
    ]
    return tuple(found)


def _estimation(outputs: int, person: Fraction) -> tuple[Consequence, ...]:
    """Return the error of whoever estimates a person's value, were it uniform before.

    E|X - X^|^p >= rho mu^(p+1) / ((p+1) 2^p N^p); uniform means rho = 1/mu.
    """
    absolute = float(person / (4 * outputs))
    root = float(person) / (2 * math.sqrt(3) * outputs)
    return (
        Consequence(
            "estimation error",
            math.nextafter(absolute, 0.0),
            f"Whoever knows everybody else and thinks every value of a person equally likely errs "
            f"by {down(absolute)} on average at least, and by {down(root)} in the root mean "
            "square.",
            f"{B}, Theorem 4, corrected",
        ),
    )


def of_cells(cut: CutBox) -> tuple[Consequence, ...]:
    """Return what the cells of a quantized query tell about everybody's data together."""
    agreed, leaked = maximin_information(cut), nonstochastic_leakage(cut)
    error = smallest_error_bound(cut)
    return (
        Consequence(
            "maximin information",
            agreed,
            f"The answer always tells {up_bits(agreed)} about everybody's data together: which of "
            f"{len(cut.outputs):,} cells it lies in.",
            f"{A}, Theorem IV.2",
        ),
        Consequence(
            "leakage",
            leaked,
            f"The smallest cell narrows everybody's data together by {up_bits(leaked)} at most.",
            f"{A}, Theorem IV.3",
        ),
        Consequence(
            "reconstruction error",
            error,
            "Whoever reconstructs everybody's data from the answer errs by "
            f"{down(error)} at least, whatever the answer is.",
            f"{A}, Theorem II.2",
        ),
    )


def of_hypothesis_privacy(epsilon: float, success: float | None) -> tuple[Consequence, ...]:
    """Return what follows when a release is epsilon-private against a hypothesis."""
    found = []
    if epsilon > 0:
        leak = round_up(math.log1p(1 / epsilon) / math.log(2))
        found.append(
            Consequence(
                "information leakage",
                leak,
                f"What the hypothesis tells about the output, L₀(Y;H), is at most {up_bits(leak)}.",
                f"{D}, Proposition 1, corrected",
            )
        )
    if success is not None:
        found.append(
            Consequence(
                "success of a test",
                success,
                "Were both hypotheses equally likely and the outputs uniform under each, the "
                f"best test would be right with probability {down(success)} or more: this much "
                "is not hidden.",
                f"{D}, Theorem 3, corrected",
            )
        )
    return tuple(found)


def up_bits(value: float) -> str:
    """Show a number of bits, rounded up."""
    shown = math.ceil(value * 1000) / 1000
    return f"{shown:g} bit{'' if shown == 1 else 's'}"


def down(value: float) -> str:
    """Show a number with four digits, rounded down."""
    if value <= 0:
        return "0"
    scale = 10 ** (3 - math.floor(math.log10(value)))
    return f"{math.floor(value * scale) / scale:g}"
