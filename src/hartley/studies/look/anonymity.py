"""Report how anonymous the records of a table are, and which attacks still succeed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.table import Kind
from hartley.errors import OptionError
from hartley.exact import check_base, log_ratio
from hartley.inputs import formerly
from hartley.kernels.classes import ClassCounts
from hartley.measures import anonymity as measures
from hartley.measures.registry import MEASURES
from hartley.ranges.classes import count_classes, population_sizes
from hartley.ranges.relation import FEW, ExposureCounts, check_group_size
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
from hartley.schema.roles import ColumnRole, Roles, chosen_columns
from hartley.studies.look.exposure import (
    Judge,
    check_unit,
    key_risks,
    open_people,
    record_exposure,
    repeated_identifiers,
)
from hartley.studies.look.verdict import (
    ONE_ROW,
    Verdict,
    groups_of,
    levels_of,
    verdict_tiles,
    worst,
)
from hartley.tables.opening import open_table
from hartley.tables.view import OF_COLUMN, left_out_sentence, missing_note, prepare
from hartley.text import (
    conjugate,
    count_of,
    number,
    percent,
    plural,
    unit_of,
    value_text,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from fractions import Fraction
    from pathlib import Path

    from numpy.typing import NDArray

    from hartley.inputs import (
        Column,
        Columns,
        Few,
        Groups,
        MoreRows,
        Number,
        Progress,
        PythonOnly,
        Rows,
    )
    from hartley.measures.anonymity import SizeBand
    from hartley.policies.hierarchy import Level
    from hartley.ranges.classes import KeyClasses
    from hartley.report import Row
    from hartley.schema.roles import RolesSource
    from hartley.tables.view import View, ViewColumn


# --- anonymity findings ---------------------------------------------------------------------------
# The report on anonymity: numbers and plain sentences, never a value of the table.

ROUNDED = 1e-9
"""Far more than the rounding error of a logarithm, far less than the digits shown."""
IDENTITY_ALONE = (
    "Sharing the keys with k - 1 others protects the identity of a person, not the person's "
    "confidential values. For example, k equal records can be released unchanged next to a "
    "k-anonymous release of all others: the whole release is k-anonymous, and yet everything about "
    "these k people is known."
)
MISSING = "missing"
SKEWED = 2
"""A skewness attack succeeds if some value is more than so many times as likely."""


two_decimals = partial(number, places=2, zeros=True, slack=ROUNDED, infinite="inf")


@dataclass(frozen=True)
class ConfidentialFindings:
    """How much the keys tell about one confidential column: counts and shares, never a value."""

    column: str
    rows: int
    """Records that have a value of the column; all numbers are about these."""
    left_out: int
    """Records in which the value is missing."""
    classes: int
    """Classes that hold a record with a value."""
    values: int
    distinct: int
    """The l of distinct l-diversity and the p of p-sensitive k-anonymity."""
    entropy: float
    """The l of entropy l-diversity."""
    recursive: tuple[tuple[int, Fraction | None], ...]
    """For some l, the c above which recursive (c, l)-diversity holds; None if it holds for no c."""
    alpha: Fraction
    equal_closeness: Fraction
    ordered_closeness: Fraction | None
    hierarchical_closeness: Fraction | None
    kullback_leibler: float
    delta: float
    delta_of_present: float
    homogeneous_classes: int
    homogeneous_rows: int
    skewed_classes: int
    skewed_rows: int
    verdict: Verdict
    """What the keys make certain about it, and nearly certain."""

    @property
    def attacks(self) -> tuple[tuple[str, int, str], ...]:
        """Every attack on the column, for how many rows it succeeds, and why.

        None where people have several rows: what is certain of them is the verdict's.
        """
        if self.verdict.people < self.rows:
            return ()
        alike, classes = self.homogeneous_classes, count_of(self.classes, "class")
        same = "No class has one value only."
        if self.values == 1:
            same = "The table has one value only, so there is nothing to learn."
        elif alike:
            same = f"{alike:,} of {classes} {conjugate(alike, 'has')} one value only."
        likelier = f"more than {SKEWED} times as likely as in the table."
        skewed = f"In {self.skewed_classes:,} of {classes} some value is {likelier}"
        return (
            ("homogeneity", self.homogeneous_rows if self.values > 1 else 0, same),
            (
                "skewness",
                self.skewed_rows,
                skewed if self.skewed_rows else f"No class makes a value {likelier}",
            ),
        )


@dataclass(frozen=True)
class SampledPopulation:
    """The population that a table is a sample of: its size and its smallest class."""

    table: str
    rows: int
    k: int
    """The smallest size in the population of a class that the table has: the k of a k-map."""


@dataclass(frozen=True)
class AnonymityReport(Readable):
    """How anonymous the records of a table are, in numbers and in plain sentences.

    It contains only counts and shares, never a value of the table.
    """

    table: str
    keys: tuple[str, ...]
    rows: int
    classes: int
    k: int
    unique: int
    leakage: float
    """Non-stochastic leakage with the record as the secret: log of rows over k."""
    prosecutor: Fraction
    journalist: Fraction
    """Without a population, the prosecutor's risk as an upper bound."""
    marketer: Fraction
    """Over the population if there is one, else over the table."""
    population: SampledPopulation | None
    base: float
    sizes: tuple[SizeBand, ...]
    """How many classes and records there are of each size, in bands."""
    confidential: tuple[ConfidentialFindings, ...]
    notes: tuple[str, ...]
    people: ExposureCounts
    """How many people are unique or stand among few."""
    unit_column: str | None = None
    """The column that says whose row it is; without one a row is a person."""
    repeated: str = ""
    """Which identifiers have fewer values than rows, where a row counts as a person."""

    @property
    def verdict(self) -> Verdict | None:
        """The strongest verdict on a confidential column; None where none is named."""
        return worst([one.verdict for one in self.confidential]) if self.confidential else None

    @property
    def unit(self) -> str:
        """What the logarithms count."""
        return unit_of(self.base)

    @property
    def p_sensitive(self) -> int | None:
        """The p of p-sensitive k-anonymity over all confidential columns."""
        return min((findings.distinct for findings in self.confidential), default=None)

    @property
    def headline(self) -> str:
        """The report in one sentence, the verdict, what to do, and which values are missing."""
        return f"{self._made} {self._lead}".rstrip()

    @property
    def _made(self) -> str:
        """How anonymous the table is, and the first sentence of the verdict."""
        people, verdict = self.people, self.verdict
        alone = (f"{count_of(people.unique, 'person')} unique",) if people.unique else ()
        few = f"{count_of(people.among_few, 'person')} among fewer than {people.k}"
        stand = ", ".join((*alone, *((few,) if people.among_few else ())))
        made = f"{self.table} is {self.k:,}-anonymous over {', '.join(self.keys)}"
        judged = "No confidential column was named, so nothing is said about what the keys tell."
        return f"{made}{': ' * bool(stand)}{stand}. {verdict.sentences[0] if verdict else judged}"

    @property
    def _lead(self) -> str:
        left_out = (
            left_out_sentence(findings.left_out, [findings.column], of=OF_COLUMN)
            for findings in self.confidential
            if findings.left_out
        )
        judged = (*self.verdict.sentences[1:], self.verdict.next) if self.verdict else ()
        return " ".join(filter(None, (*judged, *left_out, self.repeated)))

    def nouns(self, number: int) -> str:
        """Return what is counted: people where a unit is named, else records."""
        return plural(number, "person" if self.unit_column else "record")

    @property
    def _rows(self) -> str:
        people = f" of {count_of(self.people.rows, 'person')}" if self.unit_column else ""
        falls = conjugate(self.rows, "falls")
        classes = count_of(self.classes, "class")
        return f"{count_of(self.rows, 'row')}{people} {falls} into {classes} of equal keys"

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know, in plain words; the measures stand in tables."""
        attacks = (
            f"{attack.capitalize()} attack on {findings.column}: "
            + (f"succeeds for {rows:,} of {findings.rows:,} rows. " if rows else "fails. ")
            + why
            for findings in self.confidential
            for attack, rows, why in findings.attacks
        )
        return (f"{self._rows}.", self.people.sentence, *attacks, *self.notes)

    def __getitem__(self, column: str) -> ConfidentialFindings:
        for findings in self.confidential:
            if findings.column == column:
                return findings
        raise OptionError(
            f"The report has no confidential column '{column}'",
            hint=f"it has {', '.join(findings.column for findings in self.confidential) or 'none'}",
        )

    def report(self) -> Report:
        """Return the report in sections; its picture shows how many records are alike."""
        verdict = self.verdict
        return Report(
            f"Anonymity of {self.table}",
            self._made,
            (
                Tile(f"{self.k:,}", f"{self.nouns(self.k)} in the smallest class (k)", self.k == 1),
                few_tile(self.people),
                Tile(
                    f"{self.unique:,}",
                    f"unique {self.nouns(self.unique)} of {self.people.rows:,}",
                    self.unique > 0,
                ),
                *(
                    (Tile(f"{self.classes:,}", "classes of equal keys"),)
                    if verdict is None
                    else verdict_tiles(verdict)
                ),
            ),
            tuple(self._sections()),
            "Counts and shares are exact; risks, leakage and distances are rounded up, diversity "
            "is rounded down. A value that does not occur in a class has the share zero there. "
            f"Logarithms count {self.unit}.",
            self._lead,
        )

    def _sections(self) -> Iterator[Section]:
        hidden = ", ".join(findings.column for findings in self.confidential)
        yield Section(
            "What was measured",
            (
                f"Keys, by which a person could be recognised: {', '.join(self.keys)}.",
                *((f"Confidential: {hidden}.",) if hidden else ()),
                f"{self._rows}.",
                self.people.sentence,
            ),
            self.notes,
        )
        alike = Chart(
            "",
            (measures.sizes_panel(self.sizes),),
            reading="The numbers above the bars count the classes.",
        )
        yield Section(
            f"How many {self.nouns(2)} are alike", chart=alike, table=measured(table_measures(self))
        )
        yield Section("Who can be found", table=measured(risk_measures(self)))
        yield from tried(self, "Which attacks succeed")
        for findings in self.confidential:
            yield Section(
                f"What the keys reveal about {findings.column}",
                ("These measures count rows, not people.",) if self.unit_column else (),
                table=measured(column_measures(findings, self.unit)),
            )
        yield Section("What this does not say", (IDENTITY_ALONE,), page_only=True)

    def write_risks(
        self,
        path: str | os.PathLike[str],
        table: object,
        roles: RolesSource | None = None,
    ) -> Path:
        """Write the risk of every record of the table that was measured."""
        return key_risks(table, self.keys, roles=roles, unit=self.unit_column).write(path)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON; infinity becomes text."""
        head = {"format": 1, "headline": self.headline, "unit": self.unit}
        tail = {
            "p_sensitive": self.p_sensitive,
            "people": self.people.to_dict(),
            "sentences": list(self.sentences),
        }
        fields: dict[str, Any] = plain_values(self, endless=lambda _: "Infinity")
        for column, one in zip(fields["confidential"], self.confidential, strict=True):
            column["verdict"] = one.verdict.to_dict()
        judged = {"verdict": None if self.verdict is None else self.verdict.to_dict()}
        return head | fields | tail | judged


# --- anonymity ------------------------------------------------------------------------------------


@formerly(few="k")
def anonymity(  # noqa: PLR0913 - each is one choice of the user's
    table: Rows,
    *,
    keys: Columns | None = None,
    confidential: Columns | None = None,
    ordered: Columns | Mapping[str, Sequence[object]] | None = None,
    hierarchy: Groups | None = None,
    population: MoreRows | None = None,
    base: PythonOnly[float] = 2,
    few: Few = FEW,
    certainty: Number = "0.95",
    unit: Column | None = None,
    roles: RolesSource | None = None,
    progress: Progress | None = None,
) -> AnonymityReport:
    r"""Measure k-anonymity and its refinements, and say which attacks still succeed.

    .. math:: k = \min_i n_i, \quad L_0 = \log_2 \frac{n}{k}

    Records with equal keys form a class; a missing key is a value of its own. Each confidential
    column is measured by itself, over the records that have a value of it: distinct, entropy and
    recursive l-diversity, p-sensitivity, alpha, t-closeness by the earth mover's distance (equal,
    ordered, hierarchical) and by KL, delta-disclosure; values absent from a class count zero
    there. Fractions are exact, logarithms rounded. One pass over the rows per confidential column.
    A large table is never loaded: memory grows with the number of cells, classes times values, not
    with the number of rows.

    Args:
        table: a table, in all forms that ``open_table`` takes, or one already open.
        keys: The columns by which a person could be recognised. In Python, by default the keys of
            the roles.
        confidential: The confidential columns. In Python, by default those of the roles.
        ordered: Confidential columns whose values have an order; default: numbers and times. In
            Python, also a mapping from such a column to its values in order.
        hierarchy: A CSV file: each line has a confidential value and its groups, from narrow to
            wide. In Python, for a column the groups of every value.
        population: Parquet or CSV file of everybody who could be in the table, with the same key
            columns. In Python, any table; without one the journalist's risk is bounded by the
            prosecutor's.
        base: of the logarithms, 2 counts bits; also that of delta-disclosure.
        few: Count the people in groups of fewer than this many with the same values.
        certainty: Count the people whose confidential value is known with at least this certainty,
            a share between 0.5 and 1.
        unit: The column that says whose row it is: people are counted instead of rows; default: the
            unit of the roles.
        roles: the confirmed roles of the columns: ``Roles``, a dict or a TOML file. With a
            household or a sampling weight among them, people are counted by these too, and the keys
            are held in memory.
        progress: called with the name of the current step and the share of it that is done.

    Example:
        >>> ill = ["flu", "flu", "flu", "flu", "hiv", "flu"]
        >>> ward = {"age": ["20-29"] * 3 + ["30-39"] * 3, "ill": ill}
        >>> report = anonymity(ward, keys="age", confidential="ill")
        >>> report["ill"].verdict.word, report["ill"].verdict.told
        ('tells', 3)
        >>> report.leakage, report["ill"].equal_closeness
        (1.0, Fraction(1, 6))
    """
    check_base(base)
    check_group_size(few)
    opened, known_roles, unit = open_people(table, roles, unit)
    named = (
        _names(chosen_columns(known_roles, keys, "key", what="key"), "keys"),
        _names(chosen_columns(known_roles, confidential, "confidential", what=""), "confidential"),
    )
    if hierarchy is None:
        hierarchy = groups_of(known_roles, named[1], opened)
    _check_roles(*named, ordered, hierarchy)
    if unit is not None:
        check_unit(opened, unit, (*named[0], *named[1]))
        if population is not None:
            raise OptionError(
                "People of a unit are not compared with a population", hint="leave one of them out"
            )
    judge = Judge(opened, named[0], unit=unit, groups=hierarchy, certainty=certainty)
    view = prepare(opened, [*named[0], *named[1]], missing="value")
    tell = progress or (lambda _what, _share: None)
    at = list(range(len(named[0])))
    tell("count", 0.0)
    findings = []
    first: ClassCounts | None = None
    for i, column in enumerate(named[1]):
        tally = count_classes(view, at, len(at) + i)
        known = view.columns[len(at) + i]
        first = first or (None if known.missing else tally.counts)
        ordering = _ordering(column, known.kind, tally, ordered)
        groups = hierarchy.get(column)
        levels = None if groups is None else levels_of(column, tally.values, groups, view.table)
        verdict = judge.verdict((column,), tally, tally.list_values)
        findings.append(_findings(known, tally, ordering, levels, base, verdict))
        tell("count", (i + 1) / len(named[1]))
    classes = first or count_classes(view, at).counts
    sampled, held, everybody = _population(view, named[0], classes, population)
    people = ExposureCounts.of_classes(classes.sizes, few)
    if unit is not None or (known_roles and known_roles.named("household", "weight")):
        exposure = record_exposure(opened, named[0], roles=known_roles, unit=unit)
        assert exposure.sizes is not None
        people = exposure.people(few)
        alike = np.arange(exposure.sizes.size)
        classes = ClassCounts.from_cells(alike, np.zeros_like(alike), exposure.sizes)
        if population is None:
            sampled, held = classes, classes.sizes
    tell("count", 1.0)
    return AnonymityReport(
        table=opened.name,
        keys=named[0],
        rows=view.rows,
        classes=len(classes),
        k=measures.k_anonymity(classes),
        unique=people.unique,
        leakage=log_ratio(people.rows, measures.k_anonymity(classes), base=base),
        prosecutor=measures.prosecutor_risk(classes),
        journalist=measures.journalist_risk(held),
        marketer=measures.marketer_risk(sampled, None if everybody is None else held),
        population=everybody,
        base=base,
        sizes=measures.size_bands(classes.sizes),
        confidential=tuple(findings),
        people=people,
        unit_column=unit,
        repeated=""
        if known_roles is None or unit is not None
        else repeated_identifiers(table, known_roles),
        notes=(
            *(missing_note(c.name, c.missing) for c in view.columns[: len(at)] if c.missing),
            *(() if unit is not None else (ONE_ROW,)),
        ),
    )


def leaking_release(records: Sequence[object], k: int) -> list[object]:
    r"""Release records k-anonymously and reveal k of them: Farokhi's counterexample.

    .. math:: \tilde f(x) = (x_1, \dots, x_k, f(x)_{k+1}, \dots, f(x)_n)

    Farokhi 2019, Proposition V.1 (corrected: over continuous records d0 is minus infinity, and
    L0 and the maximin information are infinite): where the first k records are equal, they may
    be released as they are, beside any k-anonymous release f of the others, here one that
    suppresses them. Everybody is indistinguishable from at least k - 1 others, and yet the values
    of k people are revealed: over records with v possible values L0 = I* = log2 v, the largest
    possible, which grows with v without bound. Exact. Linear in the number of records.

    Args:
        records: the records, of which the first k are equal.
        k: how many must be alike; no others, or at least k, may follow the first k.

    Example:
        >>> leaking_release([7, 7, 1, 2], 2)
        [7, 7, '*', '*']
        >>> from hartley.measures.leakage import nonstochastic_leakage
        >>> from hartley.ranges.relation import Relation
        >>> worlds = [[x, x, y, z] for x in range(8) for y in range(8) for z in range(8)]
        >>> relation = Relation.from_pairs((w[0], tuple(leaking_release(w, 2))) for w in worlds)
        >>> nonstochastic_leakage(relation)
        3.0
    """
    n = len(records)
    if k < 1 or n < k or k < n < 2 * k:
        raise OptionError(
            f"{count_of(n, 'record')} cannot be released this way with k = {k}",
            hint="give k records, or at least 2k, and a k of 1 or more",
        )
    if any(record != records[0] for record in records[:k]):
        raise OptionError(f"The first {k} records are not equal", hint="put k equal records first")
    return [*records[:k], *["*"] * (n - k)]


# --- input ------------------------------------------------------------------------------------


def _names(names: str | Sequence[str], what: str) -> tuple[str, ...]:
    listed = (names,) if isinstance(names, str) else tuple(names)
    if what == "keys" and not listed:
        raise OptionError("There is no key column", hint="name at least one column as a key")
    for i, name in enumerate(listed):
        if name in listed[:i]:
            raise OptionError(f"Column '{name}' is named twice", hint="name it once")
    return listed


def _check_roles(
    keys: Sequence[str],
    confidential: Sequence[str],
    ordered: Sequence[str] | Mapping[str, Sequence[object]] | None,
    hierarchy: Mapping[str, object] | None,
) -> None:
    if isinstance(ordered, str):
        raise OptionError("The ordered columns are not a list", hint="put the name in a list")
    for column in confidential:
        if column in keys:
            raise OptionError(
                f"Column '{column}' is both a key and confidential", hint="give it one role"
            )
    for column in (*(ordered or ()), *(hierarchy or ())):
        if column not in confidential:
            raise OptionError(
                f"Column '{column}' has an order or a hierarchy but is not confidential",
                hint="name it under confidential, or leave it out",
            )


def _ordering(
    column: str,
    kind: Kind,
    tally: KeyClasses,
    ordered: Sequence[str] | Mapping[str, Sequence[object]] | None,
) -> NDArray[np.int64] | None:
    """Return the place of every value in the order; None of values that have none."""
    natural = kind.numeric or kind is Kind.TIME if ordered is None else column in ordered
    if not natural:
        return None
    if not isinstance(ordered, Mapping):
        return np.arange(tally.counts.width)  # the values are listed in their order
    places = {value: place for place, value in enumerate(ordered[column])}
    if len(places) < len(ordered[column]) or any(value not in places for value in tally.values):
        raise OptionError(
            f"The order of column '{column}' lacks a value that the table has, or has one twice",
            hint="list every value once",
        )
    return np.argsort(np.argsort([places[value] for value in tally.values]))


# --- what is found ----------------------------------------------------------------------------


def _population(
    view: View, keys: tuple[str, ...], classes: ClassCounts, population: object
) -> tuple[ClassCounts, NDArray[np.int64], SampledPopulation | None]:
    """Return classes, how large they are among everybody, and who that is; or the table itself."""
    if population is None:
        return classes, classes.sizes, None
    everybody = prepare(open_table(population), keys, missing="value")
    at = {f"c{i}": f"c{i}" for i in range(len(keys))}
    narrow = replace(
        view, expression=view.expression.select(**at), columns=view.columns[: len(keys)]
    )
    sizes, held = population_sizes(narrow, everybody)
    sampled = ClassCounts.from_cells(np.arange(sizes.size), np.zeros_like(sizes), sizes)
    return sampled, held, SampledPopulation(everybody.table.name, everybody.rows, int(held.min()))


def _findings(  # noqa: PLR0913, PLR0917 - what is counted, and how
    column: ViewColumn,
    tally: KeyClasses,
    ordering: NDArray[np.int64] | None,
    levels: list[Level] | None,
    base: float,
    verdict: Verdict,
) -> ConfidentialFindings:
    classes = tally.counts
    distinct = measures.distinct_diversity(classes)
    alike, skewed = measures.homogeneous_rows(classes), measures.skewed_rows(classes, SKEWED)
    moved = ordering is not None and bool((np.diff(ordering) < 0).any())
    placed = tally.in_order(ordering) if moved and ordering is not None else tally
    return ConfidentialFindings(
        column=column.name,
        rows=classes.rows,
        left_out=column.missing,
        classes=len(classes),
        values=classes.width,
        distinct=distinct,
        entropy=measures.entropy_diversity(classes),
        recursive=tuple(
            (length, measures.recursive_diversity(classes, length))
            for length in sorted({2, max(distinct, 2)})
        ),
        alpha=measures.alpha_share(classes),
        equal_closeness=measures.equal_closeness(tally),
        ordered_closeness=None if ordering is None else measures.ordered_closeness(placed),
        hierarchical_closeness=None
        if levels is None
        else measures.hierarchical_closeness(tally, [level.groups for level in levels]),
        kullback_leibler=measures.t_closeness(tally, base=base),
        delta=measures.delta_disclosure(tally, base=base),
        delta_of_present=measures.delta_of_present(classes, base=base),
        homogeneous_classes=alike[0],
        homogeneous_rows=alike[1],
        skewed_classes=skewed[0],
        skewed_rows=skewed[1],
        verdict=verdict,
    )


# --- anonymity measures ---------------------------------------------------------------------------
# The measures of a report on anonymity as lines of a table: name, number, meaning.


def table_measures(report: AnonymityReport) -> tuple[Row, ...]:
    """Return the measures of the classes, which do not depend on confidential columns."""
    whole, one = math.log(report.people.rows, report.base), report.nouns(1)
    return (
        _line(
            "k_anonymity",
            f"{report.k:,}",
            f"Every {one} shares its keys with at least {count_of(report.k - 1, 'other')}."
            if report.k > 1
            else f"Some {one} shares its keys with no other.",
        ),
        _line(
            "record_leakage",
            f"{two_decimals(report.leakage, round='up', mark='sign')} {report.unit}",
            "About which record is whose; "
            f"{two_decimals(whole, round='up', mark='words')} {report.unit} would settle it.",
            report.leakage / whole if whole else 0.0,
        ),
        _line(
            "unique_records",
            f"{report.unique:,}",
            f"{report.unique:,} of {report.people.rows:,} share their keys with no other."
            if report.unique
            else f"Every {one} shares its keys with another.",
            report.unique / report.people.rows,
        ),
    )


def risk_measures(report: AnonymityReport) -> tuple[Row, ...]:
    """Return the chances of finding a person's record by the keys."""
    everybody = report.population
    journalist = (
        "Finds a person who may or may not be in the table. No population is given, so the "
        "prosecutor's risk is the upper bound."
        if everybody is None
        else f"Finds a person who is known to be among the {everybody.rows:,} people of "
        f"{everybody.table}, of whom {everybody.k:,} or more share every released key."
    )
    return (
        _risk(
            "prosecutor_risk",
            report.prosecutor,
            "Finds a person who is known to be in the table, in the worst case.",
        ),
        _risk("journalist_risk", report.journalist, journalist),
        # Without a population the sizes N of its classes are those of the table, n.
        _risk(
            "marketer_risk",
            report.marketer,
            "Looks for everybody at once: the share of the records found on average.",
            symbol=None if everybody else "mean 1/nᵢ",
        ),
    )


def _risk(name: str, risk: Fraction, sentence: str, *, symbol: str | None = None) -> Row:
    return _line(name, percent(risk, round="up", mark="sign"), sentence, float(risk), symbol=symbol)


def _line(  # noqa: PLR0913 - each is one part of the line
    name: str,
    shown: str,
    sentence: str,
    share: float | None = None,
    *,
    title: str | None = None,
    symbol: str | None = None,
) -> Row:
    """Return the line of a measure, with its title and symbol from the registry."""
    entry = MEASURES[name]
    return Cell(title or entry.title, symbol or entry.symbol), Cell(shown, share=share), sentence


def column_measures(findings: ConfidentialFindings, unit: str) -> tuple[Row, ...]:
    """Return the measures of one confidential column."""
    closeness = (
        ("equal_closeness", findings.equal_closeness, "values equally far apart"),
        ("ordered_closeness", findings.ordered_closeness, "values as far apart as in their order"),
        (
            "hierarchical_closeness",
            findings.hierarchical_closeness,
            "values as far apart as their groups",
        ),
    )
    return (
        _line(
            "distinct_diversity",
            f"{findings.distinct:,}",
            f"Different values in every class, of {findings.values:,} in all; also the p of "
            "p-sensitive k-anonymity.",
        ),
        _line(
            "entropy_diversity",
            two_decimals(findings.entropy, round="down", mark="sign"),
            "The least diverse class is as diverse as this many equally frequent values.",
        ),
        *(_recursive(length, least) for length, least in findings.recursive),
        _line(
            "alpha_share",
            percent(findings.alpha, round="up", mark="sign"),
            "The largest share of one value in a class.",
            float(findings.alpha),
        ),
        *(
            _line(
                name,
                number(t, round="up", places=4, zeros=True, mark="sign"),
                f"Earth mover's distance of the worst class to the table, {words}.",
                float(t),
            )
            for name, t, words in closeness
            if t is not None
        ),
        _line(
            "t_closeness",
            f"{two_decimals(findings.kullback_leibler, round='up', mark='sign')} {unit}",
            "Kullback-Leibler divergence of the worst class from the table.",
        ),
        _delta(findings, unit),
    )


def _recursive(length: int, least: Fraction | None) -> Row:
    return _line(
        "recursive_diversity",
        "none" if least is None else f"> {two_decimals(float(least), round='up')}",
        f"No c is enough: a class has fewer than {length} values."
        if least is None
        else "It holds for every c above this number, which is rounded up.",
        title=MEASURES["recursive_diversity"].title.replace("(c, l)", f"(c, {length})"),
    )


def _delta(findings: ConfidentialFindings, unit: str) -> Row:
    if math.isinf(findings.delta):
        return _line(
            "delta_disclosure",
            "∞",
            "Some class excludes a value; over the values that occur in a class it is "
            f"{two_decimals(findings.delta_of_present, round='up', mark='words')} {unit}.",
            1.0,
        )
    return _line(
        "delta_disclosure",
        f"{two_decimals(findings.delta, round='up', mark='sign')} {unit}",
        "The largest log ratio of the share of a value in a class to that in the table.",
    )


def attacks(report: AnonymityReport) -> tuple[Row, ...]:
    """Return every attack on every confidential column, and for how many rows it succeeds."""
    return tuple(
        (
            Cell(attack, f"on {findings.column}"),
            Cell("succeeds" if rows else "fails", f"{rows:,} of {findings.rows:,}", good=not rows),
            why,
        )
        for findings in report.confidential
        for attack, rows, why in findings.attacks
    )


def measured(rows: Sequence[Row]) -> Grid:
    """Return a table of measures."""
    headings = Heading("measure", "name"), Heading("value", "amount")
    return Grid((*headings, Heading("what it means", "meaning")), tuple(rows))


def tried(report: AnonymityReport, title: str, *sentences: str) -> tuple[Section, ...]:
    """Return the section on all attacks, if there is a column to attack."""
    headings = Heading("attack", "name"), Heading("rows", "amount"), Heading("why", "meaning")
    grid = Grid(headings, attacks(report))
    return (Section(title, sentences, table=grid),) if grid.rows else ()


def few_tile(people: ExposureCounts) -> Tile:
    """Return the tile of those who stand among few."""
    stand = "person stands" if people.among_few == 1 else "people stand"
    few = f"{stand} among fewer than {people.k}"
    return Tile(f"{people.among_few:,}", few, people.among_few > 0)


def release_chart(
    bands: Sequence[SizeBand],
    losses: Sequence[tuple[str, float]],
    *,
    noun: str = "class",
    lost: str = "of its variation",
) -> Chart:
    """Return the picture of a release of records: the sizes, and the loss of every column."""
    height = max(3.4, 0.34 * len(losses) + 1.2)
    bars = Series(
        "",
        tuple(value_text(name, 18) for name, _ in losses),
        tuple(100 * loss for _, loss in losses),
        "bars",
        tone=2,
        labels=tuple(f"{100 * loss:.3g} %" for _, loss in losses),
    )
    return Chart(
        "",
        (
            measures.sizes_panel(bands, noun, (4.5, height)),
            Panel(f"lost {lost} (%)", "key", (bars,), sideways=True, size=(3.1, height)),
        ),
        reading=f"The numbers above the bars on the left count the {plural(2, noun)}.",
    )


# --- a release of records, counted again ----------------------------------------------------------


def count_again(
    rows: Any,  # noqa: ANN401 - an Arrow table
    keys: Sequence[str],
    confidential: Sequence[str],
    unit: str | None = None,
    household: str | None = None,
) -> AnonymityReport:
    """Count released rows again: nothing that the method claims is trusted.

    The columns that were coarsened or averaged are the keys: an adversary who knows somebody's true
    values finds their class.
    """
    import pyarrow as pa

    for name in keys:
        if rows.column(name).null_count == rows.num_rows:  # one value would tell just as little
            at = rows.column_names.index(name)
            rows = rows.set_column(at, name, pa.array([MISSING] * rows.num_rows))
    present = [
        name
        for name in confidential
        if name not in rows.column_names or rows.column(name).null_count < rows.num_rows
    ]
    columns = {} if household is None else {household: ColumnRole(household, "household")}
    roles = Roles(confirmed=True, columns=columns)
    report = anonymity(rows, keys=keys, confidential=present, unit=unit, roles=roles)
    return replace(report, table="the release")
