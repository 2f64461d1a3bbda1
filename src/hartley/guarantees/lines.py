"""What is promised against a hypothesis about somebody: how much leaves it open."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.errors import OptionError, printable
from hartley.exact import bits_at_most
from hartley.guarantees.consequences import of_hypothesis_privacy
from hartley.guarantees.promise import D, Promise, down, within
from hartley.guarantees.records import INSIDE
from hartley.policies.blurring import LinePolicy, StretchPolicy
from hartley.ranges.enclosure import range_bounds, shown
from hartley.ranges.expression import variables

if TYPE_CHECKING:
    from hartley.ranges.box import Box

NOTHING_ELSE = (
    "whoever tests the hypothesis knows the declared ranges and what is released, and nothing else "
    "about the record"
)
POSSIBLE = "every combination of values in the declared ranges is possible"


def promise_line(policy: LinePolicy) -> Promise:
    """Certify a policy against a hypothesis by the volume of records that it leaves open.

    Priv = log(mu(Y) / mu(deciding outputs)) (Farokhi 2021, eq. 9 and Theorem 4, corrected). The
    policy as printed collapses its band onto a curve, which has no volume: Priv = 0.
    """
    refuse_certain(policy)
    total, band = policy.box.volume, policy.band()
    stretched = isinstance(policy, StretchPolicy)
    hidden = Fraction(band.low) if stretched else Fraction(0)
    epsilon = None if hidden == total else hidden / (total - hidden)
    privacy = math.inf if epsilon is None else bits_at_most(*(1 + epsilon).as_integer_ratio())
    return Promise(
        kind="hypothesis privacy",
        claim=(
            f"{_stretched(policy, hidden / total) if stretched else _blurred(policy, band.high)} "
            f"It is {_epsilon(epsilon)}-private, Priv = {down(privacy)} bits, and no value is "
            f"moved further than {within(policy.reach)}."
        ),
        value=privacy,
        unit="bits",
        theorem=f"{D}, Theorem 4",
        rule="corrected" if stretched else "printed",
        sound=stretched,
        certainty="exact" if band.exact or not stretched else "bound",
        assumptions=(INSIDE, "no value is missing", POSSIBLE, NOTHING_ELSE),
        consequences=of_hypothesis_privacy(epsilon, (total - Fraction(band.high)) / total),
        parameters={
            "hypothesis": printable(f"{policy.hypothesis.column} >= {policy.hypothesis.line}"),
            "box": plain_box(policy.box),
            "error": str(policy.error),
        },
    )


def _stretched(policy: LinePolicy, share: Fraction) -> str:
    return (
        f"Within {within(policy.reach)} of the line {_line(policy)} the release does not show on "
        f"which side of it a record lies: that is {down(100 * share)} % of all that records could "
        "be. Elsewhere it does show."
    )


def _blurred(policy: LinePolicy, band: Fraction) -> str:
    total = policy.box.volume
    claimed = _epsilon(None if band >= total else band / (total - band))
    return (
        f"Within {within(policy.reach)} of the line {_line(policy)} the line itself is released. "
        "A line has no volume among all that can be released, so the policy does not hide by "
        f"volume what its theorem claims ({claimed}-private)."
    )


def _line(policy: LinePolicy) -> str:
    return printable(f"{policy.column} = {shown(policy.hypothesis.line)}")


def refuse_certain(policy: LinePolicy) -> None:
    """Refuse a hypothesis that the declared ranges alone decide."""
    (column,) = variables(policy.column)
    above, _ = range_bounds(column - policy.hypothesis.line, policy.box)
    if above.low >= 0 or above.high <= 0:
        raise OptionError(
            f"The declared ranges decide whether {policy.column} >= "
            f"{shown(policy.hypothesis.line)}: it is {'' if above.low >= 0 else 'not '}so "
            "everywhere",
            hint="there is nothing to hide; check the ranges and the units of the columns",
        )


def plain_box(box: Box) -> dict[str, list[str]]:
    """Return a box as plain values."""
    return {printable(n): [str(side.low), str(side.high)] for n, side in box.sides.items()}


def _epsilon(epsilon: Fraction | None) -> str:
    return "infinitely" if epsilon is None else down(epsilon)
