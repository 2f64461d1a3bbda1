"""Whom a release exposes, record by record."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.table import Kind, Table, run
from hartley.errors import ColumnError, EngineError, OptionError, TableError
from hartley.exact import parse_step
from hartley.files import content_of
from hartley.ranges.classes import combine_codes, encode_column
from hartley.ranges.counting import Pairs, Summary, distinct, numbered, sum_by
from hartley.ranges.distribution import largest_ratio
from hartley.ranges.relation import (
    ROW,
    ExposureCounts,
    Relation,
    check_group_size,
    household_codes,
    is_missing,
)
from hartley.studies.look.verdict import (
    CERTAINTY,
    MANY_VALUES,
    NearbyPeople,
    Verdict,
    levels_of,
    told_rows,
    worst,
)
from hartley.tables.counts import released_sizes, secrets_by_class
from hartley.tables.opening import open_table
from hartley.tables.reading import ReadingOptions, in_periods, is_period
from hartley.tables.view import as_texts, clean_column, prepare
from hartley.tables.writing import write_arrow
from hartley.text import count_of, share_text

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hartley.ranges.counting import CountedRange
    from hartley.schema.roles import Roles, RolesSource
    from hartley.studies.look.audit import AuditReport

    _Encoded = tuple[NDArray[np.int64], list[Any]]

LARGEST_REGROUPED = 5_000_000
"""Up to so many distinct pairs are regrouped in memory; beyond, the engine counts anew."""


# --- record exposure ------------------------------------------------------------------------------
# How exposed every record is: by itself, with its household, and estimated by sampling weights.


@dataclass(frozen=True, eq=False)
class RecordExposure:
    """How exposed every row is: by itself, with its household, and estimated by weights."""

    alike: NDArray[np.int64]
    """How many people share what is known about each."""
    household_alike: NDArray[np.int64] | None = None
    """The least such number in the household: who finds one member finds the others."""
    estimated_risk: NDArray[np.float64] | None = None
    """The chance to be found in the population: see ``population_risk``. With households, the
    chance that one member at least is found, each independently of the others."""
    expected: float | None = None
    """The estimated number of people who are found, if everybody is looked for."""
    persons: NDArray[np.int64] | None = None
    """Whose row each is; None where each is a person."""
    sizes: NDArray[np.int64] | None = None
    """How many people each class has."""

    def least(self, alike: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the least number of each person's rows."""
        return alike if self.persons is None else _least(alike, self.persons)

    def people(self, k: int) -> ExposureCounts:
        """Count the people who are unique or among few, and what households and weights add."""
        each, home = self.least(self.alike), self.household_alike
        return ExposureCounts(
            rows=int(each.size),
            k=k,
            unique=int((each == 1).sum()),
            among_few=int((each < k).sum()),
            household_among_few=None if home is None else int((self.least(home) < k).sum()),
            expected=self.expected,
        )


def record_exposure(  # noqa: PLR0913 - each is one choice of the user's
    table: object,
    columns: Sequence[str],
    *,
    bins: Mapping[str, object] | None = None,
    roles: RolesSource | None = None,
    needed: Sequence[str] = (),
    unit: str | None = None,
) -> RecordExposure:
    """Return how exposed every record is by some columns, a missing value being a value.

    With a unit, the different people of a class are counted, and with a household the different
    households where these are fewer. With a household in the roles, a record is as exposed as the
    most exposed member of its household; somebody whose household is missing lives alone. With a
    sampling weight, the first one of the roles, the risk that somebody in the population is the one
    in the table is estimated: see ``population_risk``; in a household it is the chance that one
    member at least is found. That is an estimate, never a bound. The columns are held in memory;
    linear in the rows, but for sorting.
    """
    opened, confirmed, unit = open_people(table, roles, unit)
    household = () if confirmed is None else confirmed.named("household")
    # The first sampling weight of the file: a survey may have weights of households too.
    weight = None if confirmed is None else next(iter(confirmed.named("weight")), None)
    asked = [[*columns], [*household], [weight] if weight else [], [unit] if unit else [], needed]
    encoded = encoded_columns(opened, [name for part in asked for name in part], bins or {})
    present = ~_any_missing(encoded[len(encoded) - len(needed) :], encoded[0][0].size)
    places = iter([(codes[present], values) for codes, values in encoded])
    known, homed, weighed, units, _ = ([next(places) for _ in part] for part in asked)
    classes = class_codes(known)
    homes = household_codes(homed) if homed else None
    persons = household_codes(units) if units else None
    people = np.bincount(classes) if persons is None else members(classes, persons)
    sizes = people if homes is None else np.minimum(people, members(classes, homes))
    alike = sizes[classes]
    estimated, household_alike, expected = None, None, None
    if weighed:
        weights = _weights(*weighed[0], str(weight), opened)
        if persons is not None:  # each person once
            first = np.unique(classes * (int(persons.max()) + 1) + persons, return_index=True)[1]
            once = np.zeros(weights.size, bool)
            once[first] = True
            weights = weights * once
        mass = np.bincount(classes, weights).astype(float)
        estimated = chances = population_risk(people, mass)[classes]
        if persons is not None:
            chances = np.zeros(int(persons.max()) + 1)
            np.maximum.at(chances, persons, estimated)
        expected = float(chances.sum())
    if homes is not None:
        household_alike = _least(alike, homes)[homes]
        if estimated is not None:
            with np.errstate(divide="ignore"):  # who is certainly found
                hidden = np.bincount(homes, np.log1p(-estimated))
            estimated = -np.expm1(hidden)[homes]
    return RecordExposure(alike, household_alike, estimated, expected, persons, sizes)


def _least(numbers: NDArray[np.int64], groups: NDArray[np.int64]) -> NDArray[np.int64]:
    least = np.full(int(groups.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, groups, numbers)
    return least


def members(
    classes: NDArray[np.int64], persons: NDArray[np.int64], groups: int = 0
) -> NDArray[np.int64]:
    """Return how many different people have a row in each class."""
    width = int(persons.max(initial=0)) + 1
    return np.bincount(distinct(classes * width + persons) // width, minlength=groups)


def open_people(
    source: object, roles: RolesSource | None, unit: str | None = None
) -> tuple[Table, Roles | None, str | None]:
    """Open a table by its roles, with the column that says whose row it is, if one is named."""
    if roles is None:
        return open_table(source), None, unit
    from hartley.schema.roles import Roles, open_with_roles

    confirmed = Roles.confirmed_by_owner(roles)
    unit = unit or next(iter(confirmed.named("unit")), None)
    return *open_with_roles(source, confirmed, unit=unit), unit


def check_unit(table: Table, unit: str, columns: Sequence[str]) -> None:
    """Raise an error for a unit that is released or secret, or that tells nobody apart."""
    table.require([unit])
    if unit in columns:
        raise OptionError(
            f"Column '{unit}' says whose row it is, so it cannot be released or secret",
            hint="leave it out, or name another unit",
        )
    present, different, rows = _different(table, unit)
    if not present:
        raise ColumnError(
            f"The unit '{unit}' names nobody in any row of {table.name}",
            hint="name the column that says whose row it is",
        )
    if different == 1 and present == rows > 1:
        raise ColumnError(
            f"The unit '{unit}' has one value only, so that all rows are of one person",
            hint="name a column that tells people apart, or leave the unit out",
        )


def _different(table: Table, column: str) -> tuple[int, int, int]:
    """Count the values of a column, the different ones, and the rows."""
    values = clean_column(table, column) if table.texts is None else table.texts[column]
    query = {"present": values.count(), "different": values.nunique()}
    rows = table.expression if table.texts is None else table.texts
    (row,) = run(table, rows.aggregate(**query, rows=rows.count()).to_pyarrow).to_pylist()
    return int(row["present"]), int(row["different"]), int(row["rows"])


def repeated_identifiers(source: object, roles: Roles) -> str:
    """Say which identifiers repeat, for a table whose rows count as people; empty where none do."""
    table = source if isinstance(source, Table) else open_table(source, reading=roles.reading)
    sentences = []
    for name in roles.named("identifier"):
        if name in table.columns:
            present, different, _ = _different(table, name)
            if 0 < different < present:
                sentences.append(
                    f"{name} has {different:,} values in {count_of(present, 'row')}: give it the "
                    "role unit if it names people."
                )
    return " ".join(sentences)


@dataclass(frozen=True, eq=False)
class Judge:
    """Judges what released columns of a table tell about secret ones, and whom they single out.

    Where a unit is named people are counted, and the columns are held in memory.
    """

    table: Table
    released: Sequence[str]
    bins: Mapping[str, object] = field(default_factory=dict)
    missing: str = "released"
    """How missing values are treated, as an audit does."""
    memory_limit: int | str | None = None
    roles: Roles | None = None
    """Name households and sampling weights, by which people are counted too."""
    unit: str | None = None
    groups: Mapping[str, Mapping[Any, object]] = field(default_factory=dict)
    """Of secrets that are judged at each level of their groups."""
    certainty: object = CERTAINTY
    width: Fraction | None = None
    """Within which a number counts as known; chosen by its range if None."""
    nearby: bool = True
    """Whether to count who is known within it."""

    def relate(self, secret: Any, missing: str | None = None) -> Relation:  # noqa: ANN401 - columns or ROW
        """Return the relation of the released columns to a secret; to the record if it is none."""
        return Relation.from_table(
            self.table,
            secret=ROW if secret == () else secret,
            released=self.released,
            bins=self.bins,
            missing=missing or self.missing,
            memory_limit=self.memory_limit,
        )

    def people(self, k: int, sizes: NDArray[np.int64] | None = None) -> ExposureCounts:
        """Count the people whom the released columns single out, whether or not a secret is known.

        ``sizes`` are the classes of all rows, where these are counted.
        """
        if self.unit is not None or (self.roles and self.roles.named("household", "weight")):
            needed = self.released if self.missing == "drop" else ()
            return record_exposure(
                self.table,
                self.released,
                bins=self.bins,
                roles=self.roles,
                needed=needed,
                unit=self.unit,
            ).people(k)
        sizes = self.relate(()).summary.released_rows if sizes is None else sizes
        return ExposureCounts.of_classes(sizes, k)

    def verdicts(self, secret: Sequence[str], relation: Relation) -> tuple[Verdict, ...]:
        """Judge each secret column, and all together at the end; the record if there are none."""
        alone = [((name,), self.relate(name)) for name in secret if len(secret) > 1]
        judged = *alone, (secret, relation)
        return tuple(self.verdict(name, one, one.secret_values.all) for name, one in judged)

    def verdict(
        self, secret: Sequence[str], counted: CountedRange, values: Callable[[], Sequence[Any]]
    ) -> Verdict:
        """Judge a secret that was counted, at the strongest level of its groups."""
        if self.unit is not None:
            return self._verdict_by_people(secret)

        def judge(names: Sequence[str], groups: NDArray[np.int64] | None = None) -> Verdict:
            summary = counted.summary
            if groups is not None:
                pairs = counted.pairs()
                sizes = int(groups.max()) + 1, pairs.sizes[1]
                merged = Pairs.gather(groups[pairs.secret], pairs.released, pairs.counts, sizes)
                summary = Summary.of_pairs(merged)
            released, record = tuple(self.released), not secret
            return Verdict.of_summary(
                summary, released, names, self.certainty, secret_is_record=record
            )

        verdict = self._strongest(judge, secret, values)
        if self.nearby and len(secret) == 1:
            verdict = replace(verdict, within=self._within(secret[0], counted, values, verdict))
        if verdict.word != "nothing" or not secret:
            return verdict
        relation = self.relate(secret, "value")
        pairs, each = relation.pairs(), relation.secret_range
        absent = [None in one if isinstance(one, tuple) else one is None for one in each]
        lacking = pairs.counts * np.array(absent)[pairs.secret]
        return with_absent(
            verdict,
            sum_by(pairs.released, lacking, pairs.sizes[1]),
            relation.summary.released_rows,
            int(lacking.sum()),
        )

    def _verdict_by_people(self, secret: Sequence[str]) -> Verdict:
        units, *known = encoded_columns(self.table, [str(self.unit), *self.released], self.bins)
        # What is released in bins stays a secret of its own.
        own = encoded_columns(self.table, secret, {}) if secret else []
        persons, classes = household_codes([units]), class_codes(known)
        absent, left_out = _any_missing(own, persons.size), _any_missing([], persons.size)
        if self.missing != "value":
            left_out = absent | _any_missing(known if self.missing == "drop" else (), persons.size)
        there = ~left_out
        if not secret:
            return Verdict.of_records(persons[there], classes[there], self.released, self.certainty)
        secrets = own[0][0] if len(own) == 1 else class_codes(own)

        def judge(names: Sequence[str], groups: NDArray[np.int64] | None = None) -> Verdict:
            ours = (secrets if groups is None else groups[secrets])[there]
            people = persons[there], classes[there]
            return Verdict.of_people(*people, ours, self.released, names, self.certainty)

        verdict = self._strongest(judge, secret, lambda: own[0][1])
        sizes = members(classes, persons)
        lacking = members(classes[absent], persons[absent], sizes.size)
        return with_absent(verdict, lacking, sizes, int(absent.sum()))

    def _strongest(
        self,
        judge: Callable[..., Verdict],
        secret: Sequence[str],
        values: Callable[[], Sequence[Any]],
    ) -> Verdict:
        """Return the strongest verdict at any level of the groups of a secret."""
        verdicts = [judge(secret or ("ROW",))]
        groups = self.groups.get(secret[0]) if len(secret) == 1 else None
        levels = levels_of(secret[0], values(), groups, self.table) if groups is not None else []
        for i, level in enumerate(levels, 1):
            if len(level.labels) > 1:
                verdicts.append(judge((f"{secret[0]} (level {i} of its groups)",), level.groups))
        return worst(verdicts)

    def _within(
        self,
        secret: str,
        counted: CountedRange,
        values: Callable[[], Sequence[Any]],
        verdict: Verdict,
    ) -> NearbyPeople | None:
        """Count who is known within a distance, if the secret is made of many numbers."""
        summary, width = counted.summary, self.width
        many = MANY_VALUES[0] < summary.secrets <= MANY_VALUES[1]
        many = many and summary.pairs <= LARGEST_REGROUPED
        if not self.table.kind(secret).numeric or not (width or many):
            return None
        width = usual_width(values()) if width is None else width
        if width is None:
            return None
        return NearbyPeople.of_pairs(counted.pairs(), values(), width, verdict.known)


def _any_missing(encoded: Sequence[_Encoded], rows: int) -> NDArray[np.bool_]:
    """Tell which of some rows lack a value in any of some columns."""
    lacking = np.zeros(rows, bool)
    for codes, values in encoded:
        lacking |= is_missing(codes, values)
    return lacking


def usual_width(values: Sequence[Any]) -> Fraction | None:
    """Return within which distance numbers in their order count as known, chosen by their range."""
    from hartley.studies.look.scanned_column import nested_widths

    numbers = [one for one in values if one is not None and math.isfinite(one)]
    if len(numbers) < 2:
        return None
    whole = all(float(one).is_integer() for one in numbers)
    return Fraction(str(nested_widths(numbers[0], numbers[-1], whole=whole)[0]))


def with_absent(
    verdict: Verdict, lacking: NDArray[np.int64], sizes: NDArray[np.int64], rows: int
) -> Verdict:
    """Add to a verdict that nothing is told how many people of each class lack the secret."""
    if verdict.word != "nothing":
        return verdict
    shares = 1 - largest_ratio(sizes - lacking, sizes), largest_ratio(lacking, sizes)
    return replace(verdict, absent=shares, left_out=rows)


def population_risk(alike: NDArray[np.int64], mass: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Estimate each class's risk of being found in the population, from its sampling weights.

    f records are alike and their weights sum to F, so that a share of p = f / F was sampled. How
    many are alike in the population is then f and a negative binomial number, and the risk is the
    mean of one over it,

    .. math:: r_f = \frac{p}{f} \sum_{k \ge 0} (1 - p)^k \Big/ \binom{f + k}{k}

    Benedetti and Franconi 1998: an estimate. It is at most 1/f, which it is where the weights sum
    to f or less. Accurate to 13 digits; linear in the number of classes.
    """
    f = alike.astype(float)
    p = f / np.maximum(mass, f)
    q = 1 - p
    term: NDArray[np.float64] = p / f
    risk = term
    for k in range(1, 60):  # the terms of many records, or of a large share, vanish soon
        term = term * (q * k / (f + k))
        risk = risk + term
    slow = (alike < 40) & (q > 0.5)
    odds = p[slow] / q[slow]
    step = -odds * np.log(p[slow])  # r_1; r_f+1 = (1/f - r_f) p / (1 - p), which damps errors
    few = risk[slow]
    for size in range(1, 40):
        few = np.where(alike[slow] == size, step, few)
        step = odds * (1 / size - step)
    risk[slow] = few
    return risk


def _weights(
    codes: NDArray[np.int64], values: Sequence[Any], column: str, table: Table
) -> NDArray[np.float64]:
    """Return the weight of every record; raise an error if one is no positive number."""
    if not table.kind(column).numeric:
        raise ColumnError(
            f"Column '{column}' of {table.name} is a sampling weight, but holds no numbers",
            hint='give it another role than "weight"',
        )
    numbers = np.array([np.nan if value is None else float(value) for value in values])
    weights = numbers[codes]
    wrong = int((~(np.isfinite(weights) & (weights > 0))).sum())
    if wrong:
        raise ColumnError(
            f"The sampling weight '{column}' of {table.name} is missing or not positive in "
            f"{count_of(wrong, 'row')}",
            hint='correct it, or give it another role than "weight"',
        )
    return weights


def encoded_columns(
    table: Table, columns: Sequence[str], bins: Mapping[str, object]
) -> list[_Encoded]:
    """Return for every column the codes of the records, and the values in order."""
    periods = {name: str(step) for name, step in bins.items() if is_period(step)}
    steps = {name: parse_step(s, column=name) for name, s in bins.items() if name not in periods}
    binned = in_periods(table, {n: p for n, p in periods.items() if n in columns})
    view = prepare(binned, columns, steps=[steps.get(name) for name in columns], missing="value")
    data = run(table, view.expression.to_pyarrow)
    return [encode_column(data.column(f"c{i}")) for i in range(len(columns))]


def class_codes(encoded: Sequence[_Encoded]) -> NDArray[np.int64]:
    """Return one code a record, equal exactly where all columns are."""
    return numbered(combine_codes([codes for codes, _ in encoded], [len(v) for _, v in encoded])[0])


# --- record risks ---------------------------------------------------------------------------------
# How easily each record is found or given away, as a table to keep beside the data.


@dataclass(frozen=True, eq=False)
class RecordRisks:
    """One line for every record, in the order of the table; rows are counted from 1.

    No value of a record is in it. It is as confidential as the table: it names whom to look for.
    """

    table: Any
    """An Arrow table."""
    sources: tuple[str, ...] = ()
    """The files of the table, which nothing may overwrite."""

    @classmethod
    def of_classes(
        cls,
        sizes: NDArray[np.int64],
        sources: tuple[str, ...] = (),
        **more: Any,  # noqa: ANN401 - further columns
    ) -> RecordRisks:
        """Return the risks of records, given how many share what is known about each."""
        return cls.of_exposure(RecordExposure(sizes), sources, **more)

    @classmethod
    def of_exposure(
        cls,
        exposure: RecordExposure,
        sources: tuple[str, ...] = (),
        **more: Any,  # noqa: ANN401 - further columns
    ) -> RecordRisks:
        """Return the risks of records, those of their households and those estimated by weights."""
        import pyarrow as pa

        columns: dict[str, Any] = {
            "row": np.arange(1, exposure.alike.size + 1),
            "alike": exposure.alike,
        }
        if exposure.household_alike is not None:
            columns["household_alike"] = exposure.household_alike
        # Of the most exposed row of a person, and member of a household.
        alike = exposure.alike if exposure.household_alike is None else exposure.household_alike
        if exposure.persons is not None:
            alike = exposure.least(alike)[exposure.persons]
        columns["risk"] = 1 / alike
        if exposure.estimated_risk is not None:
            columns["estimated_risk"] = exposure.estimated_risk
        return cls(pa.table(columns | more), sources)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the risks as Parquet or CSV, by the ending of the path."""
        return write_arrow(self.table, path, self.sources)


def key_risks(
    table: object,
    keys: Sequence[str],
    *,
    roles: RolesSource | None = None,
    unit: str | None = None,
) -> RecordRisks:
    """Return for every record how many people share its keys, a missing key being a value."""
    opened = open_table(table)
    exposure = record_exposure(opened, keys, roles=roles, unit=unit)
    return RecordRisks.of_exposure(exposure, opened.paths)


def audit_risks(
    table: object, report: AuditReport, *, roles: RolesSource | None = None
) -> RecordRisks:
    """Return for every record how many share its released values, and how many secrets they leave.

    Records that the audit left out because a value is missing count as they would with missing as
    a value. The columns are held in memory. Exact, but for the estimate by sampling weights.
    """
    opened = open_table(table)
    unit = report.unit_column
    exposure = record_exposure(opened, report.released, bins=report.bins, roles=roles, unit=unit)
    if report.secret_is_record:
        secrets_left = exposure.alike
        given_away = secrets_left == 1
    else:
        released = class_codes(encoded_columns(opened, report.released, report.bins))
        secret = class_codes(encoded_columns(opened, report.secret, {}))
        secrets_left = members(released, secret)[released]
        given_away = secrets_left == 1
        if exposure.persons is not None:
            told = told_rows(exposure.persons, released, secret)
            given_away = np.isin(exposure.persons, exposure.persons[told])
    return RecordRisks.of_exposure(
        exposure, opened.paths, secrets_left=secrets_left, given_away=given_away
    )


# --- released people ------------------------------------------------------------------------------
# How many people a written release singles out, leaves among few, or gives away.

ORDER = "The rows keep their order: if that tells something, the release tells it too."
"""What every release of rows says."""
DRAWN = (
    "Values that were drawn at random count as they were drawn: who is found by them may be "
    "somebody else."
)


@dataclass(frozen=True)
class ReleasedPeople:
    """Whom the rows of a release single out, counted in the file that was written."""

    counts: ExposureCounts
    """By all released columns but the confidential ones."""
    given_away: Mapping[str, int] = field(default_factory=dict)
    """For each confidential column that is released as it is, the people whose value the other
    columns give away."""
    drawn: bool = False
    """Whether some of the values were drawn at random."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The counts in sentences."""
        rows = max(self.counts.rows, 1)
        given = (
            f"The other released columns give away {column} for {count_of(people, 'person')} "
            f"({share_text(Fraction(people, rows))})."
            for column, people in self.given_away.items()
        )
        drawn = (DRAWN,) if self.drawn else ()
        return (f"By what is released, {self.counts.sentence}", *given, *drawn)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain values, ready for JSON."""
        return self.counts.to_dict() | {
            "given_away": dict(self.given_away) or None,
            "sentences": list(self.sentences),
        }


def released_people(
    out: str | os.PathLike[str],
    k: int,
    *,
    confidential: Sequence[str] = (),
    drawn: Sequence[str] = (),
) -> ReleasedPeople | None:
    r"""Count the people of a release in the file that was written; None if it cannot be read back.

    People are alike if all their released values but the confidential ones are, as they stand in
    the file: missing is a value. Exact. The file is read once, and once more for every confidential
    column.
    """
    check_group_size(k)
    try:
        return _counted(out, k, confidential, drawn)
    except (TableError, EngineError):  # what was written stays right, if it cannot be read back
        return None


def _counted(
    out: str | os.PathLike[str], k: int, confidential: Sequence[str], drawn: Sequence[str]
) -> ReleasedPeople | None:
    rows = as_written(out)
    if any(rows.kind(name) is Kind.NESTED or name in rows.blunt for name in rows.columns):
        return None
    keys = [name for name in rows.columns if name not in confidential]
    everybody = rows.expression.count().to_pyarrow
    sizes = released_sizes(rows, keys) if keys else {int(run(rows, everybody).as_py()): 1}
    each = np.repeat([*sizes.keys()], [*sizes.values()]).astype(np.int64)
    certain = [name for name in confidential if name in rows.columns and name not in drawn]
    return ReleasedPeople(
        ExposureCounts.of_classes(each, k),
        {
            name: sum(
                size * classes
                for size, secrets, classes in secrets_by_class(rows, keys, name)
                if secrets == 1
            )
            for name in certain
        },
        drawn=any(name in keys for name in drawn),
    )


def as_written(out: str | os.PathLike[str]) -> Table:
    """Open a release; a reader of a CSV file sees texts."""
    path = content_of(out)
    with path.open("rb") as file:
        is_parquet = file.read(4) == b"PAR1"
    if is_parquet:
        return open_table(path)
    table = open_table(path, reading=ReadingOptions(header=1, delimiter=","))
    return as_texts(table, table.columns)
