"""What the risk of a privacy-distortion curve measures, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hartley.policies.tradeoff.result import Objective


@dataclass(frozen=True)
class RiskWords:
    """How to speak of one measure of risk; {w} is the confidential side and {x} the key."""

    name: str
    meaning: str
    axis: str
    faithful: str
    """What the key as it is does; {told} is the risk with its unit."""
    endless: str
    """The same where that has no end."""
    column: str


RISKS: dict[Objective, RiskWords] = {
    "mutual_information": RiskWords(
        name="mutual information of the confidential side and the release",
        meaning="what the release tells about the confidential side on average",
        axis="what the release tells about {w}",
        faithful="{x} {tells} {told} about {w} on average",
        endless="{x} {tells} without end about {w}",
        column="tells",
    ),
    "t_closeness": RiskWords(
        name="t-closeness",
        meaning="the largest divergence of what is believed about the confidential side, after any "
        "released value, from what was believed before",
        axis="largest divergence of beliefs about {w}",
        faithful="{x} {takes} beliefs about {w} as far as {told} of divergence",
        endless="{x} {takes} beliefs about {w} away without end",
        column="t",
    ),
    "delta_disclosure": RiskWords(
        name="delta-disclosure",
        meaning="how many times likelier or less likely any released value makes any confidential "
        "one, as a logarithm",
        axis="largest change of a likelihood of {w}",
        faithful="{x} {makes} some value of {w} likelier or less likely by {told}",
        endless="{x} {rules} some value of {w} out, a change of likelihood without end",
        column="delta",
    ),
    "maximal_leakage": RiskWords(
        name="maximal leakage",
        meaning="how many times likelier to succeed the release makes a guess of anything about "
        "the confidential side, as a logarithm",
        axis="maximal leakage about {w}",
        faithful="{x} {makes} a guess of anything about {w} up to {told} likelier to succeed",
        endless="{x} {makes} a guess of anything about {w} likelier without end",
        column="leaks",
    ),
}
VERBS = ("tell", "take", "make", "rule")


def faithful_sentence(objective: Objective, w: str, x: str, *, one: bool, told: str | None) -> str:
    """Say what releasing the key as it is would do; without an amount, where there is no end.

    Example:
        >>> faithful_sentence("mutual_information", "weight", "age", one=True, told="1 bit")
        'age tells 1 bit about weight on average'
    """
    words = RISKS[objective]
    verbs = {f"{verb}s": f"{verb}s" if one else verb for verb in VERBS}
    form = words.endless if told is None else words.faithful
    return form.format(w=w, x=x, told=told, **verbs)


def shown_risk(risk: float, unit: str) -> str | None:
    """Show an amount of risk with its unit, or None where it has no end."""
    return None if math.isinf(risk) else f"{risk:.4f} {unit}"
