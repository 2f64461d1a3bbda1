"""The body mass example: who is obese, and the two policies that should hide it."""

from __future__ import annotations

from fractions import Fraction  # noqa: TC003 - the example uses it
from typing import TYPE_CHECKING

from hartley.boxes.box import Box, Interval
from hartley.policies.hypotheses.lines import BlurringPolicy, StretchPolicy, Threshold

if TYPE_CHECKING:
    from collections.abc import Callable

LINE = "30*(height/100)**2"
PEOPLE = Box({"weight": Interval.of((0, 200)), "height": Interval.of((0, 250))})
"""Kilograms and centimetres."""
OBESE_TEXT = f"weight >= {LINE}"
OBESE = Threshold.parse(OBESE_TEXT)
POLICIES: dict[str, Callable[..., BlurringPolicy | StretchPolicy]] = {
    "blur": BlurringPolicy,
    "stretch": StretchPolicy,
}


def policy_for(kind: str, accuracy: Fraction) -> BlurringPolicy | StretchPolicy:
    """Return the printed policy ("blur") or the corrected one ("stretch") of an accuracy.

    Example:
        >>> policy_for("stretch", Fraction(1, 5)).release({"weight": 120, "height": 200})["weight"]
        Fraction(115, 1)
    """
    return POLICIES[kind](OBESE, 1 / accuracy, PEOPLE)
