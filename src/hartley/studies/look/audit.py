"""Audit a table: what a released column tells about a secret one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hartley.engines.table import names_of
from hartley.errors import ColumnError, OptionError
from hartley.exact import log_ratio, parse_step
from hartley.inputs import formerly
from hartley.measures.guessing import maximal_guessing_leakage, worst_attribute
from hartley.measures.leakage import (
    maximal_leakage,
    maximin_information,
    mutual_information,
    nonstochastic_leakage,
)
from hartley.measures.registry import AUDITED, MEASURES, AuditFacts
from hartley.ranges.joint_range import ListedValues, encode_list
from hartley.ranges.relation import FEW, ROW, ExposureCounts, Relation, RowType, check_group_size
from hartley.report import (
    Cell,
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
from hartley.studies.look.exposure import (
    LARGEST_REGROUPED,
    Judge,
    check_unit,
    open_people,
    repeated_identifiers,
)
from hartley.studies.look.verdict import ONE_ROW, groups_of, parse_width, verdict_tiles, worst
from hartley.tables.opening import open_table
from hartley.tables.view import bin_numbers
from hartley.text import conjugate, direction, listed, number, share_text, unit_of, value_text

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hartley.inputs import (
        Column,
        Columns,
        Condition,
        Few,
        Number,
        Progress,
        PythonOnly,
        Rows,
        Settings,
        Size,
        Sweeps,
    )
    from hartley.measures.registry import Certainty
    from hartley.report import Dash
    from hartley.schema.roles import Roles, RolesSource
    from hartley.studies.look.verdict import Verdict


# --- findings -------------------------------------------------------------------------------------
# Every measure of a relation that an audit reports, with what its number means.

DOUBLES = 1e-9
"""A logarithm may miss a whole number by less than this."""


@dataclass(frozen=True)
class MeasureFinding:
    """One measure: its value, how certain it is and what it means."""

    name: str
    title: str
    symbol: str
    value: float
    certainty: Certainty
    """Exact; an upper bound; or an estimate from the frequencies of the rows."""
    sentence: str

    @property
    def shown(self) -> str:
        """The value with four decimals: leakage is rounded up, remaining uncertainty down."""
        if not math.isfinite(self.value):
            return str(self.value)
        return number(
            Fraction(self.value),
            round="down" if MEASURES[self.name].is_left else "up",
            places=4,
            zeros=True,
        )

    @property
    def marked(self) -> str:
        """The same with a sign where it was rounded: at most (≤), at least (≥)."""
        return direction(self.shown, self.value, DOUBLES) + self.shown


def find_all(
    relation: Relation, *, base: float = 2
) -> tuple[tuple[MeasureFinding, ...], list[str]]:
    """Return every measure that audits report, and notes on how they were computed."""
    facts = AuditFacts.of(relation)
    findings = tuple(
        MeasureFinding(
            entry.name,
            entry.title,
            entry.symbol,
            entry.function(relation, base=base),
            entry.certainty,
            entry.sentence(facts),
        )
        for entry in AUDITED
        if entry.sentence is not None
    )
    return findings, [note for entry in AUDITED if entry.note and (note := entry.note(facts))]


# --- sweep ----------------------------------------------------------------------------------------
# The privacy-utility curve: leakage against distortion for many steps of one column.

MOST_STEPS = 1000
MISSING_BIN = np.iinfo(np.int64).min


@dataclass(frozen=True)
class SweepPoint:
    """What a release in bins of one step tells, and how far it is from the truth."""

    step: str
    distortion: float
    """The largest distance between a value and the middle of its bin."""
    released_values: int
    nonstochastic_leakage: float
    maximal_guessing_leakage: float
    maximin_information: float
    maximal_leakage: float
    mutual_information: float
    given_away: int
    """People of whom a single secret is left possible."""
    among_few: int
    """People who share their released values with fewer than k, themselves included."""
    told: int
    """People whose secret is certain."""
    known: int
    """People whose secret is nearly certain, or certain: by the certainty of the audit."""


@dataclass(frozen=True)
class Sweep:
    """A released column and the steps to try on it."""

    column: str
    steps: tuple[Fraction, ...]

    @classmethod
    def parse(cls, wish: Mapping[str, str | Sequence[object]] | None) -> Sweep | None:
        """Read a wish such as {"age": "1:50"}, {"age": "0.5:5:0.5"} or {"age": [1, 2, 5]}."""
        if not wish:
            return None
        if len(wish) > 1:
            raise OptionError(
                f"The sweep names {len(wish)} columns", hint="sweep one column at a time"
            )
        ((column, steps),) = wish.items()
        if isinstance(steps, str):
            return cls(column, _parse_range(column, steps))
        steps = list(steps)
        if not steps:
            raise OptionError(
                f"The sweep of column '{column}' has no step", hint="write for example 1:50"
            )
        return cls(column, tuple(parse_step(step, column=column) for step in steps))


def _parse_range(column: str, text: str) -> tuple[Fraction, ...]:
    """Read LOW:HIGH or LOW:HIGH:BY."""
    parts = text.split(":")
    if len(parts) not in (2, 3):
        raise OptionError(
            f"The sweep of column '{column}' is not of the form LOW:HIGH",
            hint="write for example 1:50 or 0.5:5:0.5",
        )
    low, high, by = (parse_step(part.strip(), column=column) for part in (*parts, "1")[:3])
    if high < low:
        raise OptionError(
            f"The sweep of column '{column}' ends before it begins",
            hint="write the smaller step first, for example 1:50",
        )
    count = int((high - low) / by) + 1
    if count > MOST_STEPS:
        raise OptionError(
            f"The sweep of column '{column}' has {count:,} steps, more than {MOST_STEPS:,}",
            hint="give a larger increment, LOW:HIGH:BY",
        )
    return tuple(low + i * by for i in range(count))


def sweep_steps(  # noqa: PLR0913 - what a point is made of
    judge: Judge,
    secret: Sequence[str],
    sweep: Sweep,
    *,
    few: int,
    left_out: int,
    base: float = 2,
    progress: Progress | None = None,
) -> tuple[SweepPoint, ...]:
    """Measure the release of one column in bins of every wanted step, and count its people."""

    def at_step(step: Fraction) -> Judge:
        return replace(judge, bins={**judge.bins, sweep.column: step}, nearby=False)

    for step in {min(sweep.steps), max(sweep.steps, key=lambda step: step.denominator)}:
        at_step(step).relate(secret)  # refuses what cannot be binned
    others = {name: step for name, step in judge.bins.items() if name != sweep.column}
    plain = replace(judge, bins=others).relate(secret)
    at = plain.released_names.index(sweep.column)
    columns = plain.released_values.columns()
    numbers = np.array([np.nan if v is None else float(v) for v in columns[at]])
    beside, _ = encode_list(zip(*(c for i, c in enumerate(columns) if i != at), strict=True), "")
    if beside.size == 0:
        beside = np.zeros(numbers.size, np.int64)
    present = ~np.isnan(numbers)
    points: list[SweepPoint] = []
    for step in sweep.steps:
        here = at_step(step)
        if plain.summary.pairs > LARGEST_REGROUPED:
            relation = here.relate(secret)
        else:
            bins = np.full(numbers.size, MISSING_BIN)
            bins[present] = bin_numbers(numbers[present], step)
            _, codes = np.unique(bins, return_inverse=True)
            distinct, groups = np.unique(beside * numbers.size + codes, return_inverse=True)
            values = ListedValues(distinct.tolist(), plain.released_names)
            relation = plain.regroup(groups, values)
        verdict = worst(here.verdicts(secret, relation))
        people = here.people(few, None if left_out else relation.summary.released_rows)
        points.append(
            SweepPoint(
                # Readable as a double, so never a fraction.
                step=str(step.numerator) if step.denominator == 1 else f"{float(step):g}",
                distortion=_distortion(numbers[present], step),
                released_values=relation.summary.released,
                nonstochastic_leakage=nonstochastic_leakage(relation, base=base),
                maximal_guessing_leakage=maximal_guessing_leakage(relation, base=base),
                maximin_information=maximin_information(relation, base=base),
                maximal_leakage=maximal_leakage(relation, base=base),
                mutual_information=mutual_information(relation, base=base),
                given_away=verdict.told,
                among_few=people.among_few,
                told=verdict.told,
                known=verdict.nearly_told,
            )
        )
        if progress is not None:
            progress("sweep", len(points) / len(sweep.steps))
    return tuple(points)


def _distortion(numbers: NDArray[np.float64], step: Fraction) -> float:
    """Return the largest distance between a value and the middle of its bin."""
    middles = (2 * bin_numbers(numbers, step) + 1) * step.numerator / (2 * step.denominator)
    return float(np.abs(numbers - middles).max(initial=0.0))


# --- audit ----------------------------------------------------------------------------------------


NARROWEST = 10
BAR_TONES = {"exact": 0, "bound": 8, "estimate": 9}
SWEPT: tuple[tuple[str, str, int, Dash, float], ...] = (
    ("maximal_guessing_leakage", "maximal guessing leakage L⋆", 1, "solid", 3.6),
    ("nonstochastic_leakage", "leakage L₀", 2, "solid", 2.6),
    ("maximin_information", "maximin information I⋆", 0, "solid", 1.6),
    ("maximal_leakage", "maximal leakage, stochastic", 5, "dashed", 1.6),
    ("mutual_information", "mutual information, stochastic", 9, "dotted", 1.6),
)
"""The lines of the curve, the widest first, so that a line under another one is seen."""


@dataclass(frozen=True)
class NarrowedValue:
    """A released value and how far it narrows the secret."""

    released: Any
    secrets_left: int
    rows: int
    bits: float


@dataclass(frozen=True)
class HypothesisFinding:
    """What can be decided about a hypothesis from the release."""

    hypothesis: str
    decide_true: int
    decide_false: int
    ambiguous: int
    performance_bound: float
    privacy: float
    sentence: str


@dataclass(frozen=True)
class AuditReport(Readable):
    """Everything that an audit found, in numbers and in plain sentences.

    Values that could point at a person do not appear: of the secret side there are only counts.
    """

    table: str
    secret: tuple[str, ...]
    secret_is_record: bool
    released: tuple[str, ...]
    bins: dict[str, str]
    missing: str
    rows: int
    rows_dropped: int
    left_out: str
    """Which rows were left out because a value is missing; empty where none were."""
    secret_values: int
    released_values: int
    pairs: int
    base: float
    findings: tuple[MeasureFinding, ...]
    narrowest: tuple[NarrowedValue, ...]
    worst_attribute: str
    hypothesis: HypothesisFinding | None
    sweep: tuple[SweepPoint, ...]
    sweep_column: str | None
    notes: tuple[str, ...]
    people: ExposureCounts
    """How many people the release gives away or leaves among few, beside the worst case."""
    verdicts: tuple[Verdict, ...]
    """What it makes certain, and nearly certain, about each secret column; about all together,
    where there are several, at the end."""
    unit_column: str | None = None
    """The column that says whose row it is; without one a row is a person."""
    repeated: str = ""
    """Which identifiers have fewer values than rows, where a row counts as a person."""

    @property
    def verdict(self) -> Verdict:
        """The verdict about the secret of which most people are told, then nearly told."""
        return worst(self.verdicts)

    @property
    def headline(self) -> str:
        """The verdict, what to do, and which rows are left out."""
        return f"{self.verdict.sentences[0]} {self._lead}".rstrip()

    @property
    def _lead(self) -> str:
        _, *more = self.verdict.sentences
        return " ".join(filter(None, (*more, self.verdict.next, self.left_out, self.repeated)))

    @property
    def unit(self) -> str:
        """What the numbers count."""
        return unit_of(self.base)

    def __getitem__(self, name: str) -> MeasureFinding:
        for finding in self.findings:
            if finding.name == name:
                return finding
        raise OptionError(
            f"The report has no measure '{name}'",
            hint=f"it has {', '.join(finding.name for finding in self.findings)}",
        )

    def write_risks(
        self,
        path: str | os.PathLike[str],
        table: object,
        roles: RolesSource | None = None,
    ) -> Path:
        """Write the risk of every record of the table that was audited."""
        from hartley.studies.look.exposure import audit_risks

        return audit_risks(table, self, roles=roles).write(path)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON; infinity becomes text."""
        head = {"format": 1, "headline": self.headline, "unit": self.unit}
        fields: dict[str, Any] = plain_values(self, endless=str)
        judged = {
            "verdict": self.verdict.to_dict(),
            "verdicts": {", ".join(one.secret): one.to_dict() for one in self.verdicts},
        }
        return head | fields | {"people": self.people.to_dict()} | judged

    def report(self) -> Report:
        """Return the audit in sections; its picture is the curve, or else the measures."""
        total = self["hartley_entropy"].value
        return Report(
            f"Audit of {self.table}",
            self.verdict.sentences[0],
            (*verdict_tiles(self.verdict), self._bits()),
            tuple(self._sections(total)),
            "Exact measures count which values occur together in this table and assume nothing "
            "else. Values marked bound are never below the truth. Values marked estimate use the "
            "frequencies of the rows as probabilities.",
            self._lead,
        )

    def _bits(self) -> Tile:
        """Say what the release reveals by which values occur, and by how often they do."""
        possible, likely = (
            number(self[name].value, round="up", places=2, zeros=True)
            for name in ("nonstochastic_leakage", "pointwise_leakage")
        )
        return Tile(
            f"{possible} / {likely}", f"{self.unit} by possibility / by likelihood, rounded up"
        )

    def _sections(self, total: float) -> Iterator[Section]:
        secret = "the record itself" if self.secret_is_record else ", ".join(self.secret)
        steps = ", ".join(f"{name} in steps of {step}" for name, step in self.bins.items())
        steps = f" ({steps})" if steps else ""
        yield Section(
            "What was compared",
            (
                f"Secret: {secret}, {self.secret_values:,} values.",
                f"Released: {', '.join(self.released)}, {self.released_values:,} values{steps}.",
                f"{self.pairs:,} distinct pairs occur in {self.rows:,} rows.",
            ),
            self.notes,
        )
        measured = tuple(
            (
                Cell(one.title, one.symbol, "" if one.certainty == "exact" else one.certainty),
                Cell(one.marked, share=one.value / total if total else 0.0),
                one.sentence,
            )
            for one in self.findings
        )
        headings = Heading("measure", "name"), Heading(self.unit, "number")
        yield Section(
            "What the release reveals",
            (self.people.sentence,),
            chart=None if self.sweep else self._measures(),
            table=Grid(
                (*headings, Heading("what it means", "meaning")), measured, folded="All measures"
            ),
        )
        yield Section(
            "Released values that narrow the secret most: as confidential as the table",
            table=Grid(
                (
                    Heading(", ".join(self.released), "data"),
                    Heading("secrets left", "number"),
                    Heading("rows", "number"),
                    Heading(f"{self.unit} revealed, at most", "number"),
                ),
                tuple(
                    (
                        value_text(one.released),
                        f"{one.secrets_left:,}",
                        f"{one.rows:,}",
                        number(one.bits, round="up", places=2, zeros=True),
                    )
                    for one in self.narrowest
                ),
            ),
        )
        yield Section("Worst attribute", (self.worst_attribute,))
        if (tested := self.hypothesis) is not None:
            bound = f"Performance of the best test: {tested.performance_bound:.4f} {self.unit}."
            kept = (
                f"Privacy against it: {tested.privacy:.4f} {self.unit}, which counts outputs only."
            )
            yield Section(f"Hypothesis: {tested.hypothesis}", (tested.sentence, bound, kept))
        if self.sweep:
            yield self._swept(total)

    def _measures(self) -> Chart:
        """Draw every measure as a bar."""
        drawn = [finding for finding in self.findings if math.isfinite(finding.value)]
        bars = Series(
            "",
            tuple(finding.title for finding in drawn),
            tuple(finding.value for finding in drawn),
            "bars",
            tones=tuple(BAR_TONES[finding.certainty] for finding in drawn),
            labels=tuple(
                number(finding.value, round="up", places=2, zeros=True) for finding in drawn
            ),
        )
        return Chart("", (Panel(self.unit, "measure", (bars,), sideways=True, size=(7.2, 4.6)),))

    def _swept(self, total: float) -> Section:
        """Say what coarser steps of one column would reveal, and of how many people."""
        points = sorted(self.sweep, key=lambda point: point.distortion)
        at = tuple(point.distortion for point in points)
        kept = sorted((point.step for point in points), key=float)
        distortion = f"largest distortion of {self.sweep_column} (steps {kept[0]} to {kept[-1]})"
        curves = tuple(
            Series(
                label,
                at,
                tuple(getattr(point, name) for point in points),
                dash=dash,
                tone=tone,
                width=width,
            )
            for name, label, tone, dash, width in SWEPT
        )
        told, known, few = (
            tuple(100 * getattr(point, name) / self.people.rows for point in points)
            for name in ("told", "known", "among_few")
        )
        nearly = f"known ≥ {share_text(self.verdict.certainty)}"
        people = (
            Series("people told", at, told, tone=1),
            Series(f"people {nearly}", at, known, dash="dotted", tone=5),
            Series(f"people among fewer than {self.people.k}", at, few, dash="dashed", tone=0),
        )
        whole = (
            f"all of the secret: {number(total, round='up', places=2, zeros=True)} {self.unit}",
            total,
        )
        revealed = f"what the release reveals ({self.unit})"
        chart = Chart(
            "",
            (
                Panel(
                    distortion, revealed, curves, marks=(whole,), from_zero=True, size=(7.2, 4.1)
                ),
                Panel(distortion, "people (%)", people, from_zero=True, size=(7.2, 2.2)),
            ),
            across=1,
            reading="Further right is less useful; further down is more private. The lower picture "
            "shows how many people it is about.",
        )
        signs = ("L⋆", ""), ("L₀", ""), ("I⋆", ""), ("maximal leakage", "L̃⋆")
        headings = (
            Heading("step"),
            Heading("largest distortion", "number", "distortion"),
            Heading("released values", "number", "values"),
            *(Heading(name, "number", sign) for name, sign in signs),
            Heading("mutual information", "number", "I"),
            Heading("people told", "number", "told"),
            Heading(f"people {nearly}", "number", nearly),
            Heading(f"among fewer than {self.people.k}", "number", f"among < {self.people.k}"),
        )
        table = tuple(
            (
                point.step,
                f"{point.distortion:.4g}",
                f"{point.released_values:,}",
                *(f"{getattr(point, name):.4f}" for name, *_ in SWEPT),
                *(f"{people:,}" for people in (point.told, point.known, point.among_few)),
            )
            for point in self.sweep
        )
        return Section(
            "Privacy against utility",
            (f"What the release would reveal if {self.sweep_column} were in coarser steps.",),
            chart=chart,
            table=Grid(headings, table, folded="The numbers", most=12, steps=True),
        )


@formerly(few="k")
def audit(  # noqa: PLR0913 - each is one choice of the user's
    table: Rows,
    *,
    secret: Columns | RowType | None = None,
    released: Columns | None = None,
    bins: Settings | None = None,
    missing: Literal["released", "value", "drop"] = "released",
    hypothesis: Condition | None = None,
    sweep: Sweeps | None = None,
    base: PythonOnly[float] = 2,
    few: Few = FEW,
    certainty: Number = "0.95",
    within: Number | None = None,
    unit: Column | None = None,
    roles: RolesSource | None = None,
    memory_limit: Size | None = None,
    progress: Progress | None = None,
) -> AuditReport:
    """Measure what released columns tell about secret ones.

    Args:
        table: a table, in all forms that ``open_table`` takes, or one already open.
        secret: The secret columns, or ROW for the record itself; default: the confidential ones of
            the roles.
        released: The released columns; default: the keys of the roles.
        bins: Put a numeric column into bins of this width. In Python, a period such as "month" or
            "year" does the same for dates.
        missing: How to treat missing values. released: a missing released value is a value, rows
            with a missing secret are left out; value: missing is a value on both sides; drop: every
            row with a missing value is left out.
        hypothesis: Also measure for whom the release decides a condition such as "age >= 50".
        sweep: Also trace privacy against utility while a released column is binned in these steps.
            In Python, a mapping from the column to the steps, as "1:50" or as a list.
        base: of the logarithms; 2 counts bits.
        few: Count the people in groups of fewer than this many with the same values.
        certainty: Count the people whose secret is known with at least this certainty, a share
            between 0.5 and 1.
        within: Count a secret number as known within this distance; default: about a sixteenth of
            its range.
        unit: The column that says whose row it is: people are counted instead of rows; default: the
            unit of the roles.
        roles: the confirmed roles of the columns: ``Roles``, a dict or a TOML file. With a
            household or a sampling weight among them, people are counted by these too, and the
            columns are held in memory.
        memory_limit: Use disk above this much memory, for example 1GB.
        progress: called with the name of the current step and the share of it that is done.

    Example:
        >>> people = {"age": [31, 32, 47, 48], "sex": ["F", "F", "M", "M"]}
        >>> report = audit(people, secret="age", released="sex")
        >>> report.verdict.word, report.verdict.left, report.verdict.values
        ('rules out', 2, 4)
        >>> report["maximin_information"].value
        1.0
    """
    named: Roles | None = None
    if roles is None and secret is not None and released is not None:
        opened = open_table(table)
    else:  # an audit of named columns needs no code of roles
        from hartley.schema.roles import chosen_columns

        opened, named, unit = open_people(table, roles, unit)
        if not isinstance(secret, RowType):
            secret = chosen_columns(named, secret, "confidential", what="secret")
        released = chosen_columns(named, released, "key", what="released")
    if secret in ("ROW", ["ROW"]) and "ROW" not in opened.columns:
        secret = ROW
    secrets = () if isinstance(secret, RowType) else tuple(names_of(secret))
    if unit is not None:
        check_unit(opened, unit, (*names_of(released), *secrets))
    wish = Sweep.parse(sweep)
    check_group_size(few)
    judge = Judge(
        opened,
        tuple(names_of(released)),
        dict(bins or {}),
        missing=missing,
        memory_limit=memory_limit,
        roles=named,
        unit=unit,
        certainty=certainty,
        width=None if within is None else parse_width(within),
    )
    relation = judge.relate(secret)
    if wish is not None and wish.column not in relation.released_names:
        raise ColumnError(
            f"The sweep names column '{wish.column}', which is not released",
            hint=f"sweep one of {', '.join(relation.released_names)}",
        )
    summary = relation.compute(None if progress is None else lambda share: progress("count", share))
    if summary.secrets == 1:
        what = f"'{_columns(relation.secret_names)}' holds one value only, so there is nothing to "
        if secret is ROW:
            what = "is the record, of which the table holds one only, so there is nothing left to "
        raise ColumnError(f"The secret {what}tell about it", hint="choose another secret")
    findings, notes = find_all(relation, base=base)
    judge = replace(judge, groups=groups_of(named, secrets, opened))
    verdicts = judge.verdicts(secrets, relation)
    if within is not None and all(verdict.within is None for verdict in verdicts):
        raise OptionError(
            "No distance can be counted between the secrets"
            + (" of people with a unit" if unit else ""),
            hint="leave out --within" + ("" if unit else ", or name a secret column of numbers"),
        )
    people = judge.people(few, None if relation.left_out else summary.released_rows)
    points: tuple[SweepPoint, ...] = ()
    if wish is not None:
        points = sweep_steps(
            judge,
            secrets,
            wish,
            few=few,
            left_out=relation.left_out,
            base=base,
            progress=progress,
        )
    return AuditReport(
        table=opened.name,
        secret=relation.secret_names,
        secret_is_record=secret is ROW,
        released=relation.released_names,
        bins={name: str(step) for name, step in (bins or {}).items()},
        missing=missing,
        rows=summary.rows,
        rows_dropped=relation.left_out,
        left_out=relation.left_out_sentence,
        secret_values=summary.secrets,
        released_values=summary.released,
        pairs=summary.pairs,
        base=base,
        findings=findings,
        narrowest=_narrowest(relation, base),
        worst_attribute=_worst(relation),
        hypothesis=None if hypothesis is None else _test(relation, hypothesis, base),
        sweep=points,
        sweep_column=None if wish is None else wish.column,
        notes=(*_notes(relation), *notes, *([] if unit else [ONE_ROW])),
        people=replace(people, given_away=worst(verdicts).told),
        verdicts=verdicts,
        unit_column=unit,
        repeated="" if named is None or unit else repeated_identifiers(table, named),
    )


def _narrowest(relation: Relation, base: float) -> tuple[NarrowedValue, ...]:
    """Return the released values that leave fewest secrets possible, the rarest rows first."""
    summary = relation.summary
    key = summary.secret_sizes * (summary.rows + 1) + summary.released_rows
    last = min(NARROWEST, key.size) - 1
    order = np.flatnonzero(key <= np.partition(key, last)[last])
    order = order[np.argsort(key[order], kind="stable")][:NARROWEST]
    values = relation.released_values.take(order)
    return tuple(
        NarrowedValue(
            released=value,
            secrets_left=int(summary.secret_sizes[code]),
            rows=int(summary.released_rows[code]),
            bits=log_ratio(summary.secrets, int(summary.secret_sizes[code]), base=base),
        )
        for code, value in zip(order.tolist(), values, strict=True)
    )


def _worst(relation: Relation) -> str:
    """Describe the attribute that leaks most, without naming a secret."""
    worst = worst_attribute(relation)
    if worst.merged_count == relation.summary.secrets:
        return "No attribute of the secret is narrowed at all."
    if worst.merged_count == 1:
        return (
            f"The secret itself: the release of {value_text(worst.released)} leaves one of its "
            f"{worst.values:,} values possible."
        )
    return (
        f"An attribute with {worst.values:,} values: whether the secret is among the "
        f"{worst.merged_count:,} that the release of {value_text(worst.released)} leaves possible, "
        "and otherwise which one it is. That release gives it away in one trial."
    )


def _test(relation: Relation, hypothesis: str, base: float) -> HypothesisFinding:
    from hartley.measures.hypothesis import analyse_hypothesis

    analysis = analyse_hypothesis(relation, hypothesis, base=base)
    counts = analysis.counts
    decided, outputs = counts["true"] + counts["false"], sum(counts.values())
    if decided == 0:
        sentence = f"No released value decides whether {hypothesis}."
    else:
        sentence = (
            f"{decided:,} of {outputs:,} released values decide for certain whether {hypothesis}: "
            f"{counts['true']:,} prove it, {counts['false']:,} refute it."
        )
    return HypothesisFinding(
        hypothesis,
        counts["true"],
        counts["false"],
        counts["ambiguous"],
        analysis.performance_bound,
        analysis.privacy,
        sentence,
    )


def _notes(relation: Relation) -> list[str]:
    """Say what a reader should know about how the numbers came about."""
    view, summary = relation.view, relation.summary
    notes: list[str] = []
    both = [name for name in relation.secret_names if name in relation.released_names]
    if both:
        notes.append(
            f"Warning: {_columns(tuple(both))} {conjugate(len(both), 'is')} secret and also "
            "released, so the release gives it away; hint: leave it out of one side."
        )
    if view is not None:
        notes += view.missing_notes
    if summary.released == 1:
        notes.append(
            f"The released side '{_columns(relation.released_names)}' holds one value only; "
            "hint: check that this is the column you mean to release."
        )
    if relation.note:
        notes.append(relation.note)
    return notes


def _columns(names: tuple[str, ...]) -> str:
    if len(names) > 5:
        return f"the {len(names)} columns {value_text(names[0])} to {value_text(names[-1])}"
    return listed(map(value_text, names))
