"""One point of a tradeoff for a hypothesis: how well stretching and blurring hide it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from hartley.exact import bits_at_most
from hartley.policies.hypotheses.blurring import StretchPolicy
from hartley.ranges.boxes.box import Interval
from hartley.ranges.boxes.enclosure import range_bounds
from hartley.ranges.boxes.expression import variables
from hartley.ranges.boxes.volume import volume

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.ranges.boxes.volume import Volume
    from hartley.studies.specification import Specification


@dataclass(frozen=True)
class LineFacts:
    """How well one policy hides the side of a line on which a value lies, by Farokhi 2021."""

    kind: Literal["stretch", "blur"]
    claimed: float | None
    """The epsilon of Theorem 4: true for stretching; for blurring true of records, not outputs."""
    epsilon: float | None
    """Epsilon by the volume of outputs, eq. 9: the volume that leaves the hypothesis open over the
    rest."""
    privacy: float | None
    """Priv, in bits: log2 of all outputs over those that decide."""
    deciding: float
    """mu(Delta): the volume of the outputs that decide the hypothesis."""
    deciding_share: float
    """The part of the outputs that decide it."""
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LinePoint:
    """An error that is allowed, and how well stretching and blurring hide a hypothesis."""

    error: Fraction
    chosen: bool
    """Whether it is what the design asks for."""
    accuracy: float
    """rho = 1/error."""
    stretch: LineFacts
    blur: LineFacts
    certainty: Literal["exact", "bound"]
    reached: bool = True
    """Whether the volume of the band is known as closely as was wished; else more may be hidden."""


def line_point(
    spec: Specification, error: Fraction, *, chosen: bool = False, gap: float = 1e-6
) -> LinePoint:
    """Measure how well the two policies against a hypothesis hide it within an error.

    Farokhi 2021, Theorem 4, corrected: stretching keeps the epsilon that is claimed there,
    blurring leaves no output of positive volume open, though the records in its band are left
    open. Certified: epsilon and Priv are never above the truth, mu(Delta) never below it.

    Example:
        >>> from hartley.studies.specification import Specification
        >>> spec = Specification.read({
        ...     "objective": "hypothesis", "hypothesis": "x >= 1", "error": "0.5",
        ...     "columns": {"x": {"range": [0, 4]}},
        ... })
        >>> point = line_point(spec, spec.error)
        >>> round(point.stretch.epsilon, 9), point.stretch.deciding, point.blur.epsilon
        (0.333333333, 3.0, 0.0)
    """
    threshold = spec.threshold
    assert threshold is not None  # a design against a hypothesis
    policy = StretchPolicy(threshold, error, spec.box)
    band, total = policy.band(gap=gap), spec.box.volume
    (value,) = variables(threshold.column)
    side, plain = spec.box[threshold.column], band
    line, _ = range_bounds(threshold.line, spec.box) if threshold.line.names else (None, None)
    if line is None or not (side.low < line.low and line.high < side.high):
        # The paper's band also counts where the line runs outside the column's range.
        far = abs(value - threshold.line)
        plain = volume(spec.box, far, Interval(Fraction(-1), error), gap=gap)
    return LinePoint(
        error=error,
        chosen=chosen,
        accuracy=float(1 / error),
        stretch=_stretch_facts(band, total),
        blur=_blur_facts(plain, total),
        certainty="exact" if band.exact else "bound",
        reached=band.reached and plain.reached,
    )


def _stretch_facts(band: Volume, total: Fraction) -> LineFacts:
    """Return what stretching keeps: the band is open, everything else decides."""
    rest = total - band.low
    if rest == 0:
        why = dict.fromkeys(
            ("claimed", "epsilon", "privacy"), "infinite, since no output decides the hypothesis"
        )
        return LineFacts("stretch", math.inf, math.inf, math.inf, 0.0, 0.0, why)
    epsilon = _below(band.low / rest)
    return LineFacts(
        "stretch",
        claimed=epsilon,
        epsilon=epsilon,
        privacy=bits_at_most(*(total / rest).as_integer_ratio()),
        deciding=_above(rest),
        deciding_share=min(_above(rest / total), 1.0),
    )


def _blur_facts(band: Volume, total: Fraction) -> LineFacts:
    """Return what blurring keeps: the band becomes a line without volume, and the rest decides."""
    rest = total - band.low
    if rest == 0:
        why = "the policy as printed leaves no output of positive volume"
        reasons = dict.fromkeys(("claimed", "epsilon", "privacy"), why)
        return LineFacts("blur", math.inf, None, None, 0.0, 0.0, reasons)
    return LineFacts("blur", _below(band.low / rest), 0.0, 0.0, _above(rest), 1.0)


def _below(number: Fraction) -> float:
    double = float(number)
    return double if double <= number else math.nextafter(double, -math.inf)


def _above(number: Fraction) -> float:
    return -_below(-number)
