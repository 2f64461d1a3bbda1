"""The Gaussian rule for a table or for given covariances: what it tells, distorts and proves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hartley.engines.table import names_of
from hartley.errors import ColumnError, OptionError
from hartley.exact import check_base, parse_step
from hartley.policies.distortion.problem import as_number
from hartley.policies.gaussian.bound import (
    GaussianFrontier,
    mutual_information_bound,
    quadratic_gaussian_bound,
    six_decimals,
)
from hartley.policies.gaussian.model import (
    NamedCovariance,
    check_names,
    moments,
    read_gaussian,
    read_numeric,
)
from hartley.policies.gaussian.rule import GaussianRule, check_seed
from hartley.ranges.classes import single_out
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
    plain_values,
)
from hartley.studies.release.disclosure import SORTED, in_order
from hartley.tables.opening import open_table
from hartley.tables.writing import output_format, refuse_overwriting, write_arrow
from hartley.text import conjugate, few_digits, listed

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from hartley.engines.table import Table
    from hartley.inputs import Columns, Document, OutputFile, PythonOnly, Rows, Settings
    from hartley.policies.gaussian.bound import GaussianBound
    from hartley.policies.gaussian.model import NumericColumns
    from hartley.ranges.classes import Singling

    Floats = NDArray[np.float64]


# --- gaussian report ------------------------------------------------------------------------------
# What is known about a Gaussian rule: numbers, and what is proved for which data, in words.

NEARLY_ALL = 0.99
"""A combination that keeps this share of its variance is released with hardly any noise."""
BARE = (
    "Some combination of the key columns keeps more than 99 % of its variance: with so little "
    "noise it can point to a person whose key is known."
)
SEEDED = (
    "The seed was chosen, so that the noise can be drawn again: anybody who knows or guesses it "
    "can take the noise away; draw no other table by it."
)
UNSEEDED = "The noise was drawn with fresh random bytes of the system and cannot be repeated."
ONE_DRAW = "Another draw of the same rows tells as much again: release one draw only."
LINEAR = (
    "The release is the best linear estimate of the key from itself, and if both are Gaussian the "
    "best of all (E[X|X^] = X^): no reconstruction would distort less."
)
LAST_DIGITS = (
    "The released numbers are doubles; what is proved is about real numbers, and the last digits "
    "of doubles may tell more: round them (--round)."
)


@dataclass(frozen=True)
class FrontierPoint:
    """The best Gaussian rule at one distortion, between its two proofs."""

    distortion: float
    low: float
    """No rule of this distortion tells less, if both sides are Gaussian."""
    high: float
    """The best rule tells at most this, likewise."""
    mixture: float | None
    """What the key itself or its mean tells at most, drawn by lot; None where that is infinite."""


@dataclass(frozen=True)
class NoisyRelease:
    """A table whose key columns were released with noise."""

    path: str
    rows: int
    kept: tuple[str, ...]
    """The columns that are released as they are."""
    seeded: bool
    measured: float
    """The mean squared distance of key and release in this draw, known to the owner alone."""
    singling: Singling
    """How many records the columns that are kept single out."""
    steps: tuple[tuple[str, Fraction], ...] = ()
    """The columns that were rounded, and to multiples of what."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        rounded = [
            f"{name} was rounded to multiples of {few_digits(float(step))}, which moves it by at "
            "most half of that and tells no more."
            for name, step in self.steps
        ]
        kept = (
            (f"Released as they are, and no part of this proof: {listed(self.kept)}.",)
            if self.kept
            else ()
        )
        return (
            SEEDED if self.seeded else UNSEEDED,
            ONE_DRAW,
            *(rounded or (LAST_DIGITS,)),
            *kept,
            *self.singling.sentences,
            SORTED,
        )


@dataclass(frozen=True, eq=False)
class GaussianReport(Readable):
    """The Gaussian rule of two sides: what it tells and distorts, and what is proved about it."""

    table: str | None
    rows: int | None
    confidential: tuple[str, ...]
    key: tuple[str, ...]
    rule: GaussianRule
    frontier: tuple[FrontierPoint, ...]
    """The best rules from no distortion to that of releasing the mean."""
    entropy: float | None = None
    """The differential entropy of the confidential side, where it was given."""
    entropy_bound: GaussianBound | None = None
    """What is then proved from below for a confidential side that is not Gaussian."""
    release: NoisyRelease | None = None
    notes: tuple[str, ...] = ()

    @property
    def bound(self) -> GaussianBound:
        """What is proved about the rule, if both sides are Gaussian."""
        return self.rule.bound

    @property
    def unit(self) -> str:
        """The unit of risk."""
        return self.bound.unit

    @property
    def share(self) -> float:
        """The distortion as a share of the key's total variance."""
        return self.rule.distortion / self.bound.variance

    @property
    def measure(self) -> str:
        """What the distortion counts in."""
        return "in variances of the key columns" if self.rule.units is not None else "in all"

    @property
    def headline(self) -> str:
        """The rule in one sentence, and one more where columns that are kept undo it."""
        bound = self.bound
        w, x = listed(self.confidential), listed(self.key)
        tells = conjugate(len(self.key), "tells")
        it = "it" if len(self.key) == 1 else "they"
        risk = (
            f"{tells} nothing"
            if bound.high == 0
            else f"{tells} without end"
            if math.isinf(bound.high)
            else f"{tells} at most {six_decimals(bound.high, round='up')} {self.unit}"
        )
        itself = (
            f"without noise {it} {tells} without end"
            if math.isinf(bound.largest_risk)
            else f"without noise {it} {tells} {six_decimals(bound.largest_risk, round='up')}"
        )
        units = "" if self.rule.units is None else " (standardised)"
        columns = tuple(dict.fromkeys((*self.confidential, *self.key)))
        are = "is Gaussian" if len(columns) == 1 else "are jointly Gaussian"
        made = (
            f"If {listed(columns)} {are}, {x} with noise of a mean squared distortion of "
            f"{few_digits(self.rule.distortion, 6)}{units} {risk} about {w}; {itself}."
        )
        warning = "" if self.release is None else self.release.singling.warning
        return f"{made} {warning}".rstrip()

    @property
    def proved(self) -> tuple[str, ...]:
        """What is proved, and for which data, in plain words."""
        bound = self.bound
        low = six_decimals(bound.low, round="down")
        gaussian = (
            f"If both sides are Gaussian with these covariances, no rule of any kind with this "
            f"distortion tells less than {low} {self.unit}, and this one tells at most "
            f"{six_decimals(bound.high, round='up')}: proved in exact arithmetic ({bound.method})."
        )
        distortion = (
            f"Whatever the distribution: if the key has these means and covariances, the mean "
            f"squared distance of key and release is {few_digits(self.rule.distortion, 6)} "
            f"({self.measure}), {100 * self.share:.4g} % of its variance."
        )
        information = self.rule.key_information
        most = (
            "For data that is not Gaussian nothing is proved from above, since some combination of "
            "the key columns is released without noise."
            if math.isinf(information)
            else "For any such key, discrete ones too, the release tells at most "
            f"{six_decimals(information, round='up')} {self.unit} about the key on average, and no "
            "more about anything else, since it is computed from the key and noise alone."
        )
        bare = (BARE,) if self.rule.shares.max(initial=0.0) > NEARLY_ALL else ()
        return gaussian, distortion, most, *bare, self._from_below, LINEAR

    @property
    def _from_below(self) -> str:
        if self.entropy_bound is None:
            return (
                "For a confidential side that is not Gaussian nothing is proved from below. If it "
                "has a density, give its differential entropy (--entropy); a discrete one has none."
            )
        low = six_decimals(self.entropy_bound.low, round="down")
        return (
            f"For a confidential side with a density of the entropy {few_digits(self.entropy or 0)}"
            f" {self.unit} and these covariances, no rule with this distortion tells less than "
            f"{low} {self.unit}."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        released = () if self.release is None else self.release.sentences
        return (*self.proved, *released, *self.notes)

    def report(self) -> Report:
        """Return the rule in sections: what is proved, the best rules beside it, what it does."""
        information = six_decimals(self.rule.key_information, round="up")
        unbounded = math.isinf(self.rule.key_information)
        share = f"{100 * self.share:.4g} % of the variance"
        return Report(
            f"{listed(self.key)} with Gaussian noise",
            self.headline,
            (
                Tile(
                    six_decimals(self.bound.high, round="up"),
                    f"{self.unit} at most, if all is Gaussian",
                ),
                Tile(
                    six_decimals(self.bound.largest_risk, round="up"),
                    f"{self.unit} without noise, likewise",
                ),
                Tile(
                    few_digits(self.rule.distortion, 6),
                    f"mean squared distortion, {share}",
                ),
                Tile(
                    information,
                    f"{self.unit} at most about any key of these covariances",
                    warn=unbounded,
                ),
            ),
            tuple(self._sections()),
            "What is proved for Gaussian data is rounded to the safe side. Means, covariances and "
            "the measured distance are those of the table: the page is for its owner.",
        )

    def _sections(self) -> Iterator[Section]:
        yield Section("What is proved, and for which data", points=self.proved)
        points = tuple(
            (
                few_digits(point.distortion, 6),
                six_decimals(point.low, round="down"),
                six_decimals(point.high, round="up"),
                "-" if point.mixture is None else f"{point.mixture:.6f}",
            )
            for point in self.frontier
        )
        headings = (
            Heading("distortion", "number"),
            Heading(f"no rule less than ({self.unit})", "number"),
            Heading("the best rule at most", "number"),
            Heading("the key or its mean by lot", "number"),
        )
        yield Section(
            "Risk against distortion, for Gaussian data",
            chart=self._chart(),
            table=Grid(headings, points, folded="The numbers", steps=True),
            page_only=True,
        )
        several = (
            "The noises of several columns are correlated, and a column of the release may draw on "
            "several of the key."
        )
        drawn = (
            "The release is the key drawn towards its mean, plus Gaussian noise: "
            "X\u0302 = (I − A) X + A Z."  # noqa: RUF001 - a minus sign
        )
        headings = (
            Heading("key column", "data"),
            Heading("times", "number"),
            Heading("deviation of the noise", "number"),
            Heading("off by (root mean square)", "number"),
        )
        sentences = (drawn, several) if len(self.key) > 1 else (drawn,)
        yield Section("The rule", sentences, table=Grid(headings, tuple(self._rule_rows())))
        released = () if self.release is None else self.release.sentences
        if released or self.notes:
            yield Section("What else a reader should know", points=(*released, *self.notes))
        if self.release is not None:
            measured = (
                f"{self.release.rows:,} rows were released; in this draw the mean squared distance "
                f"of key and release is {self.release.measured:.6g}."
            )
            yield Section("This draw", (measured,), page_only=True)

    def _rule_rows(self) -> Iterator[tuple[str, ...]]:
        """Return what the rule does to every key column."""
        rule = self.rule
        noise, distortions = rule.noise_covariance.diagonal(), rule.distortions
        places = {place: at for at, place in enumerate(rule.kept)}
        for place, name in enumerate(self.key):
            own = rule.gain[place, places[place]] if place in places else None
            yield (
                name,
                "from the others" if own is None else few_digits(float(own)),
                few_digits(math.sqrt(max(float(noise[place]), 0.0))),
                few_digits(math.sqrt(float(distortions[place]))),
            )

    def _chart(self) -> Chart:
        """Return what the best rules tell against their distortion, and this one among them."""
        drawn = [point for point in self.frontier if math.isfinite(point.high)]
        at = tuple(point.distortion for point in drawn)
        low, high = tuple(point.low for point in drawn), tuple(point.high for point in drawn)
        proved = "no rule lies below, likewise (proved)"
        series = [
            Series("", at, low, "band", low=(0.0,) * len(at), high=low, tone=1),
            Series("best rules, if both sides are Gaussian", at, high, tone=0, width=2.2),
            Series(proved, at, low, dash="dashed", tone=1, width=1.1),
        ]
        mixed = [(point.distortion, point.mixture) for point in drawn if point.mixture is not None]
        if mixed:
            x, y = (tuple(numbers) for numbers in zip(*mixed, strict=True))
            label = "the key itself or its mean, by lot"
            series.append(Series(label, x, y, dash="dashed", tone=2, width=1.4))
        if math.isfinite(self.bound.high):
            this = (self.rule.distortion,), (self.bound.high,)
            series.append(Series("this rule", *this, "points", tone=4))
        units = ", standardised" if self.rule.units is not None else ""
        panel = Panel(
            f"mean squared distortion of {', '.join(self.key)}{units}",
            f"told about {', '.join(self.confidential)} ({self.unit})",
            tuple(series),
            from_zero=True,
        )
        reading = (
            "Further right is less useful, further down is more private. Between the blue line and "
            "the dashed red one lies what no proof settles, which is less than the lines are wide."
        )
        return Chart("", (panel,), reading=reading)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON; infinite numbers become text."""
        rule = self.rule
        release = self.release
        return {
            "format": 1,
            "headline": self.headline,
            "sentences": list(self.sentences),
            "table": self.table,
            "rows": self.rows,
            "confidential": list(self.confidential),
            "key": list(self.key),
            "unit": self.unit,
            "distortion": rule.distortion,
            "share": self.share,
            "standardised": rule.units is not None,
            "key_information": plain_values(rule.key_information, endless=str),
            "certificate": self.bound.to_dict(),
            "entropy": self.entropy,
            "entropy_bound": None if self.entropy_bound is None else self.entropy_bound.to_dict(),
            "rule": {
                "mean": (rule.mean if rule.units is None else rule.mean * rule.units).tolist(),
                "gain": rule.gain.tolist(),
                "gain_columns": [self.key[place] for place in rule.kept],
                "noise_covariance": rule.noise_covariance.tolist(),
                "distortions": rule.distortions.tolist(),
            },
            "frontier": [plain_values(point, endless=str) for point in self.frontier],
            "release": None
            if release is None
            else {
                "path": release.path,
                "rows": release.rows,
                "kept": list(release.kept),
                "seeded": release.seeded,
                "measured_distortion": release.measured,
                "rounded": {name: str(step) for name, step in release.steps},
                "singled_out": release.singling.to_dict(),
            },
            "notes": list(self.notes),
        }


# --- gaussian -------------------------------------------------------------------------------------


FROM_TABLE = (
    "The rule was computed from the means and covariances of the table: anybody who sees it learns "
    "something about them."
)


def gaussian(  # noqa: PLR0913 - each is one choice of the user's
    table: Rows | None = None,
    *,
    confidential: Columns,
    key: Columns,
    distortion: float | None = None,
    share: float | None = None,
    covariance: Document | None = None,
    standardise: bool = False,
    entropy: float | None = None,
    missing: Literal["refuse", "drop"] = "refuse",
    out: OutputFile | None = None,
    keep: Columns = (),
    seed: int | None = None,
    steps: Settings | None = None,
    points: PythonOnly[int] = 17,
    base: PythonOnly[float] = 2,
    spreadsheet_safe: bool = False,
) -> GaussianReport:
    r"""Return the Gaussian rule that tells least about confidential columns, with its certificate.

    .. math:: \hat X = (I - A) X + A Z, \qquad A = \Sigma \Sigma_X^{-1}

    Rebollo-Monedero, Forne and Domingo-Ferrer 2010, Theorem 2. The means and covariances are those
    of a table's rows, or given. For Gaussian data both sides of the risk are proved in exact
    arithmetic. For other data the distortion is still right and the information about the key is
    bounded from above; from below there is a bound for a confidential side with a density of a
    given entropy (eq. 7, never below 0), and none for a discrete one. The report says which is
    which. A column may be on both sides.

    Args:
        table: Parquet or CSV files; several are read as one table. Not needed with covariances. In
            Python, whatever ``open_table`` takes.
        confidential: The numeric columns to protect.
        key: The numeric columns to release with noise.
        distortion: The mean squared distance of key and release, all key columns together. In
            Python, in variances where they are standardised.
        share: The same as a share of the key's variance, from 0 to 1.
        covariance: A CSV file of covariances to use instead of the table's: columns in the first
            line and the first column; a row called mean holds means. In Python, also a mapping from
            each column to its covariances; a table needs means.
        standardise: Give every key column the variance 1 first, whatever its unit.
        entropy: The differential entropy of the confidential columns in bits, if they have a
            density that is not Gaussian.
        missing: Refuse missing and infinite numbers (refuse), or leave out their rows (drop).
        out: Also write the table with noise: a .parquet or .csv file.
        keep: Columns to release unchanged; columns that are not named are not released.
        seed: Make the noise repeatable; anybody who knows N can remove it. Default: fresh random
            bytes.
        steps: Round a released key column to multiples of this step.
        points: how many rules to compute for the curve beside it.
        base: of the logarithms.
        spreadsheet_safe: Put a single quote before texts in a CSV file that a spreadsheet would run
            as a formula.

    Example:
        >>> known = {"w": {"w": 1, "x": 0.95}, "x": {"w": 0.95, "x": 1}}
        >>> report = gaussian(
        ...     confidential="w", key="x", covariance=known, distortion=0.25, base=math.e
        ... )
        >>> round(report.bound.high, 6), round(report.rule.key_information, 6)  # and ln(4) / 2
        (0.564858, 0.693147)
    """
    check_base(base)
    hidden, keys = names_of(confidential), names_of(key)
    check_names(hidden, keys)
    _check_choices(table, covariance, out, distortion, share, points)
    check_seed(seed)
    _refuse_open_secrets(hidden, keys, names_of(keep))
    rounding = _steps(steps, keys)
    opened = None if table is None else open_table(table)
    if out is not None:
        output_format(out, spreadsheet_safe=spreadsheet_safe)
        refuse_overwriting({"table": () if opened is None else opened.paths}, out)
    columns = None
    if opened is not None:
        needed = keys if covariance is not None else (*hidden, *keys)
        columns = read_numeric(opened, needed, names_of(keep), missing=missing)
    mean, joint = _moments(columns, covariance, (*hidden, *keys), len(hidden))
    variance = float(joint.diagonal()[len(hidden) :].sum())
    if standardise:
        variance = float((joint.diagonal()[len(hidden) :] > 0).sum())
    wanted = distortion if share is None else as_number(share) * variance
    rule = GaussianRule.best_in_units(
        joint,
        len(hidden),
        standardise=standardise,
        distortion=wanted if wanted is not None else math.nan,
        mean=mean,
        columns=keys,
        base=base,
    )
    scaled = _scaled(joint, len(hidden), rule)
    release = None
    if columns is not None and out is not None and opened is not None:
        release = _released(
            rule, columns, opened, out, seed=seed, steps=rounding, safe=spreadsheet_safe
        )
    left_out = "" if columns is None else columns.left_out_sentence
    origin = FROM_TABLE if covariance is None else ""
    return GaussianReport(
        table=None if opened is None else opened.name,
        rows=None if columns is None else len(columns.values),
        confidential=hidden,
        key=keys,
        rule=rule,
        frontier=_frontier(scaled, points, base),
        entropy=entropy,
        entropy_bound=None
        if entropy is None
        else quadratic_gaussian_bound(
            **scaled, distortion=rule.bound.distortion, entropy=entropy, base=base
        ),
        release=release,
        notes=tuple(note for note in (*rule.bound.notes, left_out, origin) if note),
    )


def _check_choices(  # noqa: PLR0913, PLR0917 - what ``gaussian`` was given
    table: object,
    covariance: object,
    out: object,
    distortion: object,
    share: object,
    points: object,
) -> None:
    """Refuse, before any work, choices that do not fit together."""
    if table is None and covariance is None:
        raise OptionError(
            "Neither a table nor covariances are given", hint="name a table, or give covariance="
        )
    if table is None and out is not None:
        raise OptionError("There is no table to perturb", hint="name one, or leave out the file")
    if (distortion is None) == (share is None):
        raise OptionError(
            "Exactly one of distortion and share is needed",
            hint="for example share=0.25 for a quarter of the key's variance",
        )
    if share is not None and not 0 <= as_number(share) <= 1:
        raise OptionError(
            f"The share {share} is not from 0 to 1",
            hint="0 releases the key as it is, 1 its mean; write for example 0.25",
        )
    if not (isinstance(points, (int, np.integer)) and points >= 2):
        raise OptionError(f"A curve needs more points than {points}", hint="give 2 or more")


def _refuse_open_secrets(hidden: Sequence[str], keys: Sequence[str], keep: Sequence[str]) -> None:
    """Raise ColumnError if a secret column would be released unchanged."""
    for name in keep:
        if name in keys:
            raise ColumnError(
                f"The key column '{name}' would be released with noise and as it is",
                hint="leave it out of the columns to keep",
            )
        if name in hidden:
            raise ColumnError(
                f"The confidential column '{name}' would be released as it is",
                hint="leave it out of the columns to keep",
            )


def _steps(steps: Mapping[str, object] | None, keys: Sequence[str]) -> dict[str, Fraction]:
    """Read to what key columns are rounded."""
    for name in steps or {}:
        if name not in keys:
            raise ColumnError(
                f"Column '{name}' is to be rounded but is no key column",
                hint=f"choose from {', '.join(keys)}",
            )
    return {name: parse_step(step, column=name) for name, step in (steps or {}).items()}


def _moments(
    columns: NumericColumns | None, covariance: object, names: Sequence[str], size: int
) -> tuple[Floats | None, Floats]:
    """Return the means of the key columns and the covariances of all, given or of the rows."""
    if covariance is None:
        assert columns is not None  # checked before: there is a table
        centre, joint = moments(columns.of(names))
        return centre[size:], joint
    known = NamedCovariance.of(covariance)  # type: ignore[arg-type]  # it refuses what it is not
    mean = known.mean_of(names[size:])
    if columns is not None and mean is None:
        raise OptionError(
            "The covariances come without the means of the columns, which a table needs",
            hint="add a row called mean",
        )
    return mean, known.covariance_of(names)


def _scaled(joint: Floats, size: int, rule: GaussianRule) -> dict[str, Floats]:
    """Return the covariances that the rule was made for, in its units."""
    scale = np.concatenate([np.ones(size), _units(rule)])
    inner = joint / np.outer(scale, scale)
    return {
        "confidential": inner[:size, :size],
        "key": inner[size:, size:],
        "cross": inner[:size, size:],
    }


def _units(rule: GaussianRule) -> Floats:
    return np.ones(len(rule.mean)) if rule.units is None else rule.units


def _frontier(
    covariances: dict[str, Floats], points: int, base: float
) -> tuple[FrontierPoint, ...]:
    """Return the best rules at equidistant distortions, with the mixture beside them."""
    model = read_gaussian(**covariances)
    frontier = GaussianFrontier(model)
    traced = []
    for distortion in np.linspace(0, model.variance, points):
        bound = frontier.bound(float(distortion), base=base)
        finite = math.isfinite(bound.largest_risk)
        mixture = (
            mutual_information_bound(
                information=bound.largest_risk,
                constant_distortion=bound.variance,
                distortion=float(distortion),
            )
            if finite
            else None
        )
        traced.append(FrontierPoint(float(distortion), bound.low, bound.high, mixture))
    return tuple(traced)


def _released(  # noqa: PLR0913 - what ``gaussian`` was given
    rule: GaussianRule,
    columns: NumericColumns,
    table: Table,
    out: str | os.PathLike[str],
    *,
    seed: int | None,
    steps: Mapping[str, Fraction],
    safe: bool,
) -> NoisyRelease:
    """Draw and write the rows, and measure what became of them."""
    import pyarrow as pa

    released = rule.apply_to(columns, seed=seed)
    for name, step in steps.items():
        unit = float(step)
        rounded = np.rint(released.column(name).to_numpy() / unit) * unit
        place = released.column_names.index(name)
        released = released.set_column(place, name, pa.array(rounded + 0.0))
    kept = tuple(columns.beside.column_names)
    drawn = np.column_stack([released.column(name).to_numpy() for name in rule.columns])
    apart = (drawn - columns.of(rule.columns)) / _units(rule)
    rows = in_order(released, released.column_names)
    write_arrow(rows, out, table.paths, spreadsheet_safe=safe)
    return NoisyRelease(
        path=str(out),
        rows=released.num_rows,
        kept=kept,
        seeded=seed is not None,
        measured=float(np.square(apart).sum(axis=1).mean()),
        singling=single_out(released, (), kept),
        steps=tuple(steps.items()),
    )
