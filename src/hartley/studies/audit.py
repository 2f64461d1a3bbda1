"""Audit a table: what a released column tells about a secret one."""

from __future__ import annotations

import html
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import ColumnError, OptionError
from hartley.exact import log_ratio
from hartley.measures.guessing import worst_attribute
from hartley.measures.hypothesis import analyse_hypothesis
from hartley.numerals import two_decimals_up, unit_of, value_text
from hartley.ranges.relations.people import FEW, PeopleCounts, check_k
from hartley.ranges.relations.relation import ROW, Relation, RowType
from hartley.readable import ReadableResult
from hartley.studies.findings import MeasureFinding, find_all
from hartley.studies.sweep import Sweep, SweepPoint, people_of, sweep_steps
from hartley.wording import listed, verb_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hartley.engines.tables.table import Table
    from hartley.ranges.schema.roles import Roles, RolesSource

    Progress = Callable[[str, float], None]
    """Called with the name of the current step and the share of it that is done."""

NARROWEST = 10


@dataclass(frozen=True)
class Narrowing:
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
class AuditReport(ReadableResult):
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
    narrowest: tuple[Narrowing, ...]
    worst_attribute: str
    hypothesis: HypothesisFinding | None
    sweep: tuple[SweepPoint, ...]
    sweep_column: str | None
    notes: tuple[str, ...]
    people: PeopleCounts
    """How many people the release gives away or leaves among few, beside the worst case."""

    @property
    def headline(self) -> str:
        """The audit in one sentence, and one more where rows are left out of it."""
        return f"{self._sentence} {self.left_out}".rstrip()

    @property
    def _sentence(self) -> str:
        leaked = two_decimals_up(self["nonstochastic_leakage"].value)
        total = two_decimals_up(self["hartley_entropy"].value)
        fewest = self.narrowest[0].secrets_left
        secret = "the record" if self.secret_is_record else _columns(self.secret)
        released = _columns(self.released)
        noun = "record" if self.secret_is_record else "value"
        if fewest == self.secret_values:
            tell = verb_for(len(self.released), "tells")
            return f"{released} {tell} nothing about {secret}: every {noun} stays possible."
        return (
            f"{released} can tell up to {leaked} of the {total} {self.unit} of {secret}: "
            f"at worst {fewest:,} of {self.secret_values:,} {noun}s "
            f"{verb_for(fewest, 'stays')} possible."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """The measures one by one, the worst attribute, and notes about how they came about."""
        measured = (
            f"{one.title}: {one.in_words} {self.unit}. {one.sentence}" for one in self.findings
        )
        tested = () if self.hypothesis is None else (self.hypothesis.sentence,)
        return (*measured, f"Worst attribute: {self.worst_attribute}", *tested, *self.notes)

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

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON; infinity becomes text."""
        head = {"format": 1, "headline": self.headline, "unit": self.unit}
        fields = {name: _plain(value) for name, value in asdict(self).items()}
        return head | fields | {"people": self.people.to_dict()}

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(finding.title)}</td><td>{html.escape(finding.symbol)}</td>"
            f"<td style='text-align:right'>{finding.marked}</td>"
            f"<td style='text-align:left'>{html.escape(finding.sentence)}</td></tr>"
            for finding in self.findings
        )
        return (
            f"<p><b>{html.escape(self.headline)}</b></p><table><thead><tr><th>Measure</th>"
            f"<th></th><th>{self.unit}</th><th>Meaning</th></tr></thead><tbody>{rows}</tbody>"
            "</table>"
        )


def audit(  # noqa: PLR0913 - each is one choice of the user's
    table: object,
    *,
    secret: str | Sequence[str] | RowType | None = None,
    released: str | Sequence[str] | None = None,
    bins: Mapping[str, object] | None = None,
    missing: str = "released",
    hypothesis: str | None = None,
    sweep: Mapping[str, str | Sequence[object]] | None = None,
    base: float = 2,
    k: int = FEW,
    roles: RolesSource | None = None,
    memory_limit: int | str | None = None,
    progress: Progress | None = None,
) -> AuditReport:
    """Measure what released columns tell about secret ones.

    Args:
        table: anything that ``Relation.from_table`` reads, or a table already open.
        secret: the column or columns that should stay secret, or ``hartley.ROW``; with roles, by
            default the confidential ones.
        released: the column or columns that are released; with roles, by default the keys.
        bins: for numeric columns, the width of the bins in which they are released; for dates a
            period such as "month" or "year".
        missing: "released" makes missing a released value, since a reader of the release sees it,
            and leaves out rows whose secret is missing; "value" makes it a value of both sides;
            "drop" leaves out every row with a missing value.
        hypothesis: a condition over the secret columns, such as "age >= 50".
        sweep: for one released numeric column the steps to try, as "1:50" or as a list.
        base: of the logarithms; 2 counts bits.
        k: people who share their released values with fewer, themselves included, are counted.
        roles: the confirmed roles of the columns: ``Roles``, a dict or a TOML file. With a
            household or a sampling weight among them, people are counted by these too, and the
            columns are held in memory.
        memory_limit: above this, for example "1GB", the engine counts and spills to disk.
        progress: called with the name of the current step and the share of it that is done.

    Example:
        >>> people = {"age": [31, 32, 47, 48], "sex": ["F", "F", "M", "M"]}
        >>> report = audit(people, secret="age", released="sex")
        >>> print(report.headline)
        sex can tell up to 1.00 of the 2.00 bits of age: at worst 2 of 4 values stay possible.
        >>> report["maximin_information"].value
        1.0
    """
    from hartley.engines.tables.sources import open_table

    named: Roles | None = None
    if roles is None and secret is not None and released is not None:
        opened = open_table(table)
    else:  # an audit of named columns needs no code of roles
        from hartley.ranges.schema.roles import chosen_columns, open_for

        opened, named = open_for(table, roles)
        if not isinstance(secret, RowType):
            secret = chosen_columns(named, secret, "confidential", what="secret")
        released = chosen_columns(named, released, "key", what="released")
    wish = Sweep.parse(sweep)

    def relate(steps: dict[str, object]) -> Relation:
        return Relation.from_table(
            opened,
            secret=secret,
            released=released,
            bins=steps,
            missing=missing,
            memory_limit=memory_limit,
        )

    check_k(k)
    relation = relate(dict(bins or {}))
    _check_sweep(relation, wish)
    summary = relation.compute(None if progress is None else lambda share: progress("count", share))
    if summary.secrets == 1:
        what = f"'{_columns(relation.secret_names)}' holds one value only, so there is nothing to "
        if secret is ROW:
            what = "is the record, of which the table holds one only, so there is nothing left to "
        raise ColumnError(f"The secret {what}tell about it", hint="choose another secret")
    findings, notes = find_all(relation, base=base)
    points: tuple[SweepPoint, ...] = ()
    if wish is not None:
        others = {name: step for name, step in (bins or {}).items() if name != wish.column}
        points = sweep_steps(
            lambda steps: relate(others | steps), wish, base=base, k=k, progress=progress
        )
    view = relation.view
    assert view is not None
    people = people_of(relation, k)
    if named is not None:
        people = _by_roles(people, opened, relation, named, bins or {}, missing)
    return AuditReport(
        table=opened.name,
        secret=relation.secret_names,
        secret_is_record=secret is ROW,
        released=relation.released_names,
        bins={name: str(step) for name, step in (bins or {}).items()},
        missing=missing,
        rows=summary.rows,
        rows_dropped=view.dropped,
        left_out=view.left_out_sentence,
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
        notes=(*_notes(relation), *notes),
        people=people,
    )


def _by_roles(  # noqa: PLR0913, PLR0917 - what the audit was given
    people: PeopleCounts,
    table: Table,
    relation: Relation,
    roles: Roles,
    bins: Mapping[str, object],
    missing: str,
) -> PeopleCounts:
    """Count people by households and sampling weights too, over the same rows as the audit."""
    from hartley.studies.record_exposure import counts_more, record_exposure, with_exposure

    if not counts_more(roles):
        return people
    secret = tuple(name for name in relation.secret_names if name in table.columns)
    needed = {"released": secret, "value": (), "drop": (*secret, *relation.released_names)}
    steps = {name: str(step) for name, step in bins.items()}
    exposure = record_exposure(
        table, relation.released_names, bins=steps, roles=roles, needed=needed[missing]
    )
    return with_exposure(people, exposure)


def _check_sweep(relation: Relation, wish: Sweep | None) -> None:
    if wish is not None and wish.column not in relation.released_names:
        raise ColumnError(
            f"The sweep names column '{wish.column}', which is not released",
            hint=f"sweep one of {', '.join(relation.released_names)}",
        )


def _narrowest(relation: Relation, base: float) -> tuple[Narrowing, ...]:
    """Return the released values that leave fewest secrets possible, the rarest rows first."""
    summary = relation.summary
    key = summary.secret_sizes * (summary.rows + 1) + summary.released_rows
    last = min(NARROWEST, key.size) - 1
    order = np.flatnonzero(key <= np.partition(key, last)[last])
    order = order[np.argsort(key[order], kind="stable")][:NARROWEST]
    values = relation.released_values.take(order)
    return tuple(
        Narrowing(
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
            f"Warning: {_columns(tuple(both))} {verb_for(len(both), 'is')} secret and also "
            "released, so the release gives it away; hint: leave it out of one side."
        )
    if view is not None:
        notes += view.missing_notes
    if summary.released == 1:
        notes.append(
            f"The released side '{_columns(relation.released_names)}' holds one value only, so it "
            "tells nothing; hint: check that this is the column you mean to release."
        )
    if relation.note:
        notes.append(relation.note)
    return notes


def _columns(names: tuple[str, ...]) -> str:
    if len(names) > 5:
        return f"the {len(names)} columns {value_text(names[0])} to {value_text(names[-1])}"
    return listed(map(value_text, names))


def _plain(value: Any) -> Any:  # noqa: ANN401 - nested plain values
    """Turn nested values into what JSON holds."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
