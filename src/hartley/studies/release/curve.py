"""The privacy-distortion curve of a table: the least that a perturbed key can tell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hartley.engines.table import names_of
from hartley.errors import OptionError
from hartley.policies.distortion.curve import CAVEATS, missed_sentence
from hartley.policies.distortion.model import PrivacyDistortion
from hartley.policies.gaussian.bound import GaussianFrontier, mutual_information_bound
from hartley.policies.gaussian.model import read_gaussian
from hartley.report import (
    Chart,
    Grid,
    Heading,
    Panel,
    Readable,
    Report,
    Section,
    Series,
    Tile,
    csv_text,
)
from hartley.tables.opening import open_table
from hartley.text import listed, number, unit_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hartley.inputs import Columns, Progress, PythonOnly, Rows, Settings
    from hartley.policies.distortion.curve import Objective, TradeoffCurve
    from hartley.policies.distortion.problem import Sees


@dataclass(frozen=True)
class RiskWords:
    """The words for one measure of risk; {w} is the confidential side and {x} the key."""

    name: str
    meaning: str
    axis: str
    faithful: str
    """The effect of releasing the key as it is; {amount} is the risk with its unit."""
    endless: str
    """The same where the risk is infinite."""
    column: str


RISKS: dict[Objective, RiskWords] = {
    "mutual_information": RiskWords(
        name="mutual information of the confidential side and the release",
        meaning="what the release tells about the confidential side on average",
        axis="what the release tells about {w}",
        faithful="{x} {tells} {amount} about {w} on average",
        endless="{x} {tells} infinitely much about {w}",
        column="tells",
    ),
    "t_closeness": RiskWords(
        name="t-closeness",
        meaning="the largest divergence of what is believed about the confidential side, after any "
        "released value, from what was believed before",
        axis="largest divergence of beliefs about {w}",
        faithful="{x} {takes} beliefs about {w} as far as {amount} of divergence",
        endless="{x} {takes} beliefs about {w} infinitely far",
        column="t",
    ),
    "delta_disclosure": RiskWords(
        name="delta-disclosure",
        meaning="how many times likelier or less likely any released value makes any confidential "
        "one, as a logarithm",
        axis="largest change of a likelihood of {w}",
        faithful="{x} {makes} some value of {w} likelier or less likely by {amount}",
        endless="{x} {rules} some value of {w} out, an infinite change of its likelihood",
        column="delta",
    ),
    "maximal_leakage": RiskWords(
        name="maximal leakage",
        meaning="how many times likelier to succeed the release makes a guess of anything about "
        "the confidential side, as a logarithm",
        axis="maximal leakage about {w}",
        faithful="{x} {makes} a guess of anything about {w} up to {amount} likelier to succeed",
        endless="{x} {makes} a guess of anything about {w} infinitely likelier to succeed",
        column="leaks",
    ),
}
VERBS = ("tell", "take", "make", "rule")


def faithful_sentence(
    objective: Objective, w: str, x: str, *, singular: bool, amount: str | None
) -> str:
    """Say what releasing the key as it is would do; without an amount, where there is no end."""
    words = RISKS[objective]
    verbs = {f"{verb}s": f"{verb}s" if singular else verb for verb in VERBS}
    form = words.endless if amount is None else words.faithful
    return form.format(w=w, x=x, amount=amount, **verbs)


CSV_COLUMNS = (
    *("distortion", "risk", "lower", "lam", "gap", "live", "mixture", "gaussian"),
    "reconstructed",
)
COMPARISON = (
    "The quadratic-Gaussian bound of the same covariances is drawn for comparison; for discrete "
    "data it is no bound."
)

BOTH_SIDES = (
    "The rules draw from the key and the confidential side together: releasing a record needs both."
)
MEANS = (
    "The reconstructed distortions are those of releasing the mean of the values behind each "
    "released value, which tells no more. A mean need not be a value of the key; the certified "
    "bounds are about rules that release values of the key."
)


@dataclass(frozen=True)
class CurveReport(Readable):
    """The privacy-distortion curve of two sides of a table."""

    table: str
    rows: int
    confidential: tuple[str, ...]
    key: tuple[str, ...]
    distortion: str
    confidential_values: int
    key_values: int
    curve: TradeoffCurve
    mixture: tuple[float, ...] = ()
    """An upper bound of each point: the risk of a random mixture of the key itself and the best
    constant; empty if the risk is not an average."""
    gaussian: tuple[float, ...] = ()
    """The risk of the best rule for a Gaussian of the same covariances, for each point; empty if
    the columns or the distortion have no such Gaussian. For discrete data it is a comparison and
    not a bound."""
    notes: tuple[str, ...] = ()
    sees: Sees = "key"
    """What the rules draw from: the key alone, or the confidential side too."""

    @property
    def reconstructed(self) -> tuple[float, ...]:
        """The distortions if E[X|Q] is released for Q, point by point; empty where not asked for.

        The means need not be values of the key: they may do better than the bounds, which are
        about rules that release such values.
        """
        after = [point.reconstructed for point in self.curve.points]
        return tuple(distortion for distortion in after if distortion is not None)

    @property
    def unit(self) -> str:
        """What the risks count."""
        return unit_of(self.curve.base)

    @property
    def words(self) -> RiskWords:
        """What the risk measures."""
        return RISKS[self.curve.objective]

    @property
    def headline(self) -> str:
        """The curve in one sentence."""
        largest, singular = self.curve.largest_risk, len(self.key) == 1
        sentence = faithful_sentence(
            self.curve.objective,
            listed(self.confidential),
            listed(self.key),
            singular=singular,
            amount=None if math.isinf(largest) else f"{largest:.4f} {self.unit}",
        )
        mean = f"at a mean {self.distortion} distortion of"
        last = f"{self.curve.points[-1].distortion:.4g}"
        rest = (
            f"half of that {mean} {self.half:.4g}, nothing at {last}"
            if math.isfinite(largest)
            else f"nothing of that {mean} {last}"
        )
        return f"Released as {'it is' if singular else 'they are'}, {sentence}; {rest}."

    @property
    def half(self) -> float:
        """The distortion at which a mixture of the rules tells half of what the key tells."""
        points, wanted = self.curve.points, self.curve.largest_risk / 2
        if self.curve.mixtures:
            return next(at for at, risk in self.curve.mixtures if risk <= wanted)
        for before, after in pairwise(points):
            if after.risk <= wanted < before.risk:
                share = (before.risk - wanted) / (before.risk - after.risk)
                return before.distortion + share * (after.distortion - before.distortion)
        return points[0].distortion

    def csv(self) -> str:
        """Return the points as lines of comma-separated values."""
        nothing = ("",) * len(self.curve.points)
        beside = zip(
            self.mixture or nothing,
            self.gaussian or nothing,
            self.reconstructed or nothing,
            strict=True,
        )
        rows = (
            (point.distortion, point.risk, point.lower, point.lam, point.gap, point.live, *bounds)
            for point, bounds in zip(self.curve.points, beside, strict=True)
        )
        return csv_text([CSV_COLUMNS, *rows])

    def report(self) -> Report:
        """Return the curve in sections: what was compared, its picture, and its points."""
        largest, last = self.curve.largest_risk, self.curve.points[-1].distortion
        hidden, key = ", ".join(self.confidential), ", ".join(self.key)
        compared = (
            f"Confidential: {hidden}, {self.confidential_values:,} values.",
            f"Key, released perturbed: {key}, {self.key_values:,} values.",
            f"Distortion: {self.distortion}, on average.",
            f"Risk: {self.words.name}, in {self.unit}: {self.words.meaning}.",
            f"Certified to {number(self.curve.gap, 2, round='up', short=True)}.",
        )
        finite = math.isfinite(largest)
        half = (Tile(f"{self.half:.4g}", "distortion to halve this"),) if finite else ()
        return Report(
            f"Privacy and distortion of {self.table}",
            self.headline,
            (
                Tile(f"{largest:.4f}" if finite else "∞", f"{self.unit} without distortion"),
                *half,
                Tile(f"{last:.4g}", "distortion to reveal nothing"),
                Tile(f"{self.rows:,}", "rows"),
            ),
            (
                Section("What was compared", compared, self.notes),
                Section("Risk against distortion", chart=self._chart(), table=self._table()),
            ),
            "The relative frequencies of the rows are used as probabilities. "
            f"{CAVEATS[self.curve.objective]}",
        )

    def _table(self) -> Grid:
        columns = [
            (Heading("distortion", "number"), [f"{p.distortion:.6g}" for p in self.curve.points]),
            (
                Heading(f"{self.words.column} ({self.unit}), at most", "number"),
                [number(point.risk, round="up", places=5) for point in self.curve.points],
            ),
            (
                Heading("lower bound", "number"),
                [number(point.lower, round="down", places=5) for point in self.curve.points],
            ),
        ]
        for name, sign, values, digits in (
            ("the key or a constant, at random", "mixture", self.mixture, ".6f"),
            ("a Gaussian", "Gaussian", self.gaussian, ".6f"),
            ("distortion with means", "reconstructed", self.reconstructed, ".6g"),
        ):
            if values:
                shown = [format(value, digits) for value in values]
                columns.append((Heading(name, "number", sign), shown))
        columns += [
            (Heading("lam", "number"), [f"{point.lam:.4g}" for point in self.curve.points]),
            (
                Heading("certified gap", "number", "gap"),
                [number(point.gap, 2, round="up", short=True) for point in self.curve.points],
            ),
            (
                Heading("released values used", "number", "values"),
                [f"{point.live:,}" for point in self.curve.points],
            ),
        ]
        rows = tuple(zip(*(shown for _, shown in columns), strict=True))
        headings = tuple(heading for heading, _ in columns)
        return Grid(headings, rows, folded="The numbers", most=14, steps=True)

    def _chart(self) -> Chart:
        """Return the risk of the release against its distortion, with the certified bounds."""
        curve = self.curve
        at = tuple(point.distortion for point in curve.points)
        risks = tuple(point.risk for point in curve.points)
        places = tuple(at[0] + (at[-1] - at[0]) * step / 240 for step in range(241))
        lower = tuple(curve.lower(distortion) for distortion in places)
        best = "best rules, and mixtures of two (upper bound)"
        series = [Series("", places, lower, "band", low=(0.0,) * 241, high=lower, tone=1)]
        if curve.mixtures:  # they are curved for worst-case risks
            x, y = (tuple(numbers) for numbers in zip(*curve.mixtures, strict=True))
            series += [
                Series(best, x, y, "steps", tone=0, width=2.2),
                Series("", at, risks, "points", tone=0),
            ]
        else:
            series.append(Series(best, at, risks, tone=0, width=2.2))
        proved = "no rule lies below (certified lower bound)"
        series.append(Series(proved, places, lower, dash="dashed", tone=1, width=1.1))
        if self.mixture:
            label = "the key itself or a constant, at random (upper bound)"
            series.append(Series(label, at, self.mixture, dash="dashed", tone=2, width=1.4))
        if self.gaussian:
            label = "a Gaussian with the same covariances (comparison)"
            series.append(Series(label, at, self.gaussian, dash="dotted", tone=5, width=1.4))
        if self.reconstructed:
            label = "the same rules, means released (E[X|Q])"
            series.append(Series(label, self.reconstructed, risks, tone=3, width=1.2))
        drawn_from = "key alone" if self.sees == "key" else "key and the confidential columns"
        reading = (
            "Further right is less useful; further down is more private. No rule that draws from "
            f"the {drawn_from} and releases values of the key reaches below the dashed red line: "
            f"this is proved for every point, to {number(curve.gap, 2, round='up', short=True)}."
        )
        if self.mixture:
            reading += (
                " For comparison, the picture also shows the rule that releases either the key "
                "itself or a constant, at random; the best rule is never worse."
            )
        if self.gaussian:
            reading += (
                " It also shows the best rule for a Gaussian with the same covariances, which is "
                "not a bound, since the data are discrete."
            )
        panel = Panel(
            f"mean {self.distortion} distortion of {', '.join(self.key)}",
            f"{self.words.axis.format(w=', '.join(self.confidential))} ({self.unit})",
            tuple(series),
            from_zero=True,
        )
        return Chart("", (panel,), reading=reading)

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
            "sees": self.sees,
            "notes": list(self.notes),
            "risk": self.words.name,
            "mixture": list(self.mixture),
            "gaussian": ["inf" if math.isinf(bits) else bits for bits in self.gaussian],
            **self.curve.to_dict(),
        }


def curve(  # noqa: PLR0913 - each is one choice of the user's
    table: Rows,
    *,
    confidential: Columns,
    key: Columns,
    distortion: Literal["squared", "absolute", "zero_one"] = "squared",
    objective: Literal[
        "mutual_information", "t_closeness", "delta_disclosure", "maximal_leakage"
    ] = "mutual_information",
    bins: Settings | None = None,
    missing: Literal["released", "value", "drop"] = "released",
    sees: Literal["key", "both"] = "key",
    reconstruct: bool = False,
    points: int = 24,
    base: PythonOnly[float] = 2,
    tolerance: PythonOnly[float] = 1e-6,
    progress: Progress | None = None,
) -> CurveReport:
    """Return the least that a perturbed key can tell about a confidential side, by distortion.

    Every point is certified: no rule of its distortion tells less than its lower bound. The report
    also has the two bounds of the paper: from above a mixture of the key and a constant (eq. 9),
    and, for squared distortion of numeric columns, the quadratic-Gaussian bound (eq. 6) of their
    covariances, which is a comparison for discrete data.

    Args:
        table: a table, in all forms that ``open_table`` takes, or one already open.
        confidential: The confidential columns to protect.
        key: The key columns, to be released perturbed. In Python, they may be confidential, too.
        distortion: How the distance between a released value and the truth is measured.
        objective: The measure of risk: mutual_information averages, the others are worst cases.
        bins: Put a numeric column into bins of this width.
        missing: How to treat missing values. released: a missing released value is a value, rows
            with a missing secret are left out; value: missing is a value on both sides; drop: every
            row with a missing value is left out. In Python, squared and absolute distortion need
            "drop" where a key is missing: a number has no distance to a missing one.
        sees: What a rule draws from: the key alone, or the key and the confidential columns. In
            Python, "both" is never worse, but needs the confidential value of every record when it
            is released.
        reconstruct: Also show the squared distortion of releasing the mean of the values behind
            each released value. In Python, this tells no more.
        points: The number of points to compute.
        base: of the logarithms.
        tolerance: of each rule, as a share of the distortion of a constant release.
        progress: called with the share of the points that is done.

    Example:
        >>> people = {"age": [30, 30, 40, 40], "sick": ["yes", "no", "no", "no"]}
        >>> report = curve(people, confidential="sick", key="age", points=5)
        >>> round(report.curve.points[0].risk, 4), report.curve.points[-1].risk
        (0.3113, 0.0)
    """
    opened = open_table(table)
    model = PrivacyDistortion.from_table(
        opened,
        confidential=confidential,
        key=key,
        distortion=distortion,
        objective=objective,
        base=base,
        bins=bins,
        missing=missing,
        sees=sees,
    )
    curve = model.curve(
        points=points, tolerance=tolerance, reconstruct=reconstruct, progress=progress
    )
    at = [point.distortion for point in curve.points]
    average = objective == "mutual_information"
    gaussian = _gaussian(model, at) if average else ()
    return CurveReport(
        table=opened.name,
        rows=model.rows or 0,
        confidential=names_of(confidential),
        key=names_of(key),
        distortion=distortion.replace("_", "-"),
        confidential_values=model.joint.matrix.shape[0],
        key_values=len(model.values),
        curve=curve,
        mixture=_mixture(model, at) if average else (),
        gaussian=gaussian,
        notes=(
            *model.notes,
            *((COMPARISON,) if gaussian else ()),
            *(() if curve.reached else (missed_sentence(curve.gap, curve.wanted_gap),)),
            *((BOTH_SIDES,) if sees == "both" else ()),
            *((MEANS,) if reconstruct else ()),
        ),
        sees=sees,
    )


def _mixture(model: PrivacyDistortion, distortions: Sequence[float]) -> tuple[float, ...]:
    """Return the upper bounds by a random mixture of the key itself and the best constant."""
    return tuple(
        mutual_information_bound(
            information=model.largest_risk,
            constant_distortion=model.constant_distortion,
            distortion=at,
        )
        for at in distortions
    )


def _gaussian(model: PrivacyDistortion, distortions: Sequence[float]) -> tuple[float, ...]:
    """Return the risks of the best rule for a Gaussian of the same covariances, if there is one."""
    if not model.squared or model.confidential_values is None or model.sees != "key":
        return ()
    secrets, keys = _numbers(model.confidential_values), _numbers(model.values)
    if secrets is None or keys is None:
        return ()
    joint = model.joint.matrix
    secrets = secrets - joint.sum(axis=1) @ secrets
    keys = keys - joint.sum(axis=0) @ keys
    try:
        gaussian = read_gaussian(
            confidential=(secrets.T * joint.sum(axis=1)) @ secrets,
            key=(keys.T * joint.sum(axis=0)) @ keys,
            cross=secrets.T @ joint @ keys,
        )
    except OptionError:  # not representable in doubles: no comparison, and not the user's mistake
        return ()
    frontier = GaussianFrontier(gaussian)
    return tuple(frontier.bound(at, base=model.base).value for at in distortions)


def _numbers(values: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return values as rows of numbers, or None where some are none."""
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    if any(isinstance(entry, (str, bool)) for row in rows for entry in row):
        return None
    try:
        numbers = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return numbers if np.isfinite(numbers).all() else None
