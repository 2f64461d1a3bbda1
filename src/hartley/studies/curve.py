"""What a perturbed key tells about a confidential side, against how far it is from the truth."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hartley.engines.sources import open_table
from hartley.policies.tradeoff import PrivacyDistortion
from hartley.policies.tradeoff_result import unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hartley.policies.tradeoff_curve import TradeoffCurve

CSV_COLUMNS = ("distortion", "risk", "lower", "lam", "gap", "live", "gaussian")


@dataclass(frozen=True)
class CurveReport:
    """The privacy-distortion curve of two sides of a table."""

    table: str
    rows: int
    confidential: tuple[str, ...]
    key: tuple[str, ...]
    distortion: str
    confidential_values: int
    key_values: int
    curve: TradeoffCurve
    notes: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """What the risks count."""
        return unit_of(self.curve.base)

    @property
    def headline(self) -> str:
        """The curve in one sentence."""
        first, last = self.curve.points[0], self.curve.points[-1]
        half = self.half
        return (
            f"Released as it is, {_listed(self.key)} tells {first.risk:.4f} {self.unit} about "
            f"{_listed(self.confidential)} on average; half of that at a mean {self.distortion} "
            f"distortion of {half:.4g}, nothing at {last.distortion:.4g}."
        )

    @property
    def half(self) -> float:
        """The distortion at which a mixture of the rules tells half of what the key tells."""
        points = self.curve.points
        wanted = points[0].risk / 2
        for one, other in pairwise(points):
            if other.risk <= wanted < one.risk:
                share = (one.risk - wanted) / (one.risk - other.risk)
                return one.distortion + share * (other.distortion - one.distortion)
        return points[0].distortion

    def csv(self) -> str:
        """Return the points as lines of comma-separated values."""
        lines = [",".join(CSV_COLUMNS)]
        for point in self.curve.points:
            numbers = (
                *(point.distortion, point.risk, point.lower),
                *(point.lam, point.gap, point.live),
                "" if point.limit is None else point.limit,
            )
            lines.append(",".join(str(number) for number in numbers))
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON."""
        return {
            "format": 1,
            "headline": self.headline,
            "unit": self.unit,
            "table": self.table,
            "rows": self.rows,
            "confidential": list(self.confidential),
            "key": list(self.key),
            "distortion": self.distortion,
            "confidential_values": self.confidential_values,
            "key_values": self.key_values,
            "notes": list(self.notes),
            **self.curve.to_dict(),
        }


def privacy_curve(  # noqa: PLR0913 - each is one choice of the user's
    table: object,
    *,
    confidential: str | Sequence[str],
    key: str | Sequence[str],
    distortion: str = "squared",
    bins: Mapping[str, object] | None = None,
    missing: str = "drop",
    points: int = 24,
    base: float = 2,
    tolerance: float = 1e-6,
    progress: Callable[[str, float], None] | None = None,
) -> CurveReport:
    """Return how little a perturbed key can tell about a confidential side, for every distortion.

    Every point is certified: no rule of its distortion tells less than the lower bound beside it.

    Args:
        table: whatever ``hartley.open_table`` takes.
        confidential: the column or columns to protect.
        key: the column or columns that are released perturbed.
        distortion: "squared", "absolute" or "zero_one".
        bins: the width of the bins of numeric columns, by name.
        missing: "drop" leaves out rows with a missing value, "value" makes it a value.
        points: how many rules to compute.
        base: of the logarithms.
        tolerance: of each rule, as a share of the distortion of a constant release.
        progress: told which share of the points is done.

    Example:
        >>> people = {"age": [30, 30, 40, 40], "sick": ["yes", "no", "no", "no"]}
        >>> report = privacy_curve(people, confidential="sick", key="age", points=5)
        >>> round(report.curve.points[0].risk, 4), report.curve.points[-1].risk
        (0.3113, 0.0)
    """
    opened = open_table(table)
    model = PrivacyDistortion.from_table(
        opened,
        confidential=confidential,
        key=key,
        distortion=distortion,
        base=base,
        bins=bins,
        missing=missing,
    )
    notes = list(model.notes)
    if model.reference is not None:
        notes.append(
            "The Gaussian of the same covariance is drawn for comparison; "
            "for discrete data it is no bound."
        )
    return CurveReport(
        table=opened.name,
        rows=model.rows or 0,
        confidential=_names(confidential),
        key=_names(key),
        distortion=distortion.replace("_", "-"),
        confidential_values=model.joint.matrix.shape[0],
        key_values=len(model.values),
        curve=model.curve(points=points, tolerance=tolerance, progress=progress),
        notes=tuple(notes),
    )


def _names(columns: str | Sequence[str]) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else tuple(columns)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
