"""What a check of published tables found, in numbers and in sentences."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from fractions import Fraction
from itertools import product
from math import log2, prod
from typing import TYPE_CHECKING, Any

from hartley.inputs import formerly
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
)
from hartley.tables.crosstab import Rounding
from hartley.tables.described import contributions
from hartley.tables.view import condition_columns, evaluate_condition
from hartley.text import bits_down, bits_up, conjugate, count_of, listed, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hartley.knowledge.cover import Cover, Selections
    from hartley.knowledge.hidden_sums import Change, HullPoint, OneTable
    from hartley.knowledge.table_bounds import Contributors, Inference
    from hartley.knowledge.table_system import Multipliers
    from hartley.report import Row
    from hartley.schema.schema import Schema
    from hartley.tables.crosstab import Crosstab, PublishedCell
    from hartley.tables.described import CategoryTree


# --- check report ---------------------------------------------------------------------------------


VERDICTS = ("disclosed", "open", "protected", "safe")
"""From the worst to the best."""
MEANINGS = (
    "Disclosed: no table that fits everything published is outside the interval, which exact "
    "multipliers prove, and the rule does not allow it. Protected: whole tables that fit keep the "
    "cell as uncertain as the rule asks. Open: neither is proved. Not covered: what somebody knows "
    "beside these outputs, earlier publications that are not listed, and an algorithm that hid or "
    "rounded cells, known and run backwards."
)
MOST_DRAWN = 3_000
"""A larger table is listed, not drawn."""
KNOWN = {
    "sole": "the hidden cells that they have alone",
    "holdings": "their own part of every sum",
    "all": "their own part of every sum, and where they are alone",
}
"""What each kind of insider knows."""


@dataclass(frozen=True)
class PlacedCell:
    """Where a cell is published: the output, its line, its text there."""

    output: str
    path: str | None
    line: int
    text: str


@dataclass(frozen=True)
class CheckedCell:
    """A cell: what is stated about it, what follows, and the verdict."""

    system: int
    """Which statistic it belongs to, by its place among those of the report."""
    cell: int
    keys: dict[str, str]
    """Its categories; dimensions that are not named are totals."""
    stated: tuple[int | None, int | None]
    outer: tuple[int | None, int | None]
    inner: tuple[int | None, int | None]
    verdict: str
    rule: str
    """The rule that decides; empty for a cell that no rule is about."""
    why: str
    places: tuple[PlacedCell, ...]
    """Where it is published; empty for a derived cell."""
    singled_out: bool = False
    """Whether it is derived and certainly one person."""
    certain: bool = True
    """Whether it follows from what is declared, and from no assumption about the outputs."""
    suspected: bool = False
    """Whether it is open, and an assumption about the outputs that fits discloses it."""

    @property
    def name(self) -> str:
        """Its categories in words."""
        return ", ".join(f"{dim} {key}" for dim, key in self.keys.items()) or "everything"

    @property
    def derived(self) -> bool:
        """Whether nobody published it."""
        return not self.places

    @property
    def exact(self) -> bool:
        """Whether both ends of the outer interval are attained."""
        return self.outer == self.inner

    def interval(self, places: int = 0) -> str:
        """Write the outer interval in the unit of the publication."""
        low, high = (None if end is None else decimal(end, places) for end in self.outer)
        if low is None or high is None:
            if low is None:
                return "any number" if high is None else f"{high} or less"
            return f"{low} or more"
        return f"exactly {low}" if low == high else f"{low} to {high}"

    def attained(self) -> str:
        """Say how far the interval is attained."""
        if self.exact:
            return "both ends are attained"
        least, most = self.inner
        if least is None or most is None:
            return "no whole table was found"
        return "one number was attained" if least == most else f"{least:,} to {most:,} are attained"

    def row(self, places: int) -> Row:
        """Return it as a line of the list of bad cells."""
        where = (
            "published nowhere"
            if self.derived
            else ", ".join(dict.fromkeys(place.output for place in self.places))
        )
        verdict = Cell(self.verdict, good=False if self.verdict == "disclosed" else None)
        who = "one person; " if self.singled_out else ""
        bounds = Cell(self.interval(places), self.attained())
        return Cell(self.name, where), verdict, self.rule, bounds, f"{who}{self.why}"

    def to_dict(self, *, values: bool = True) -> dict[str, Any]:
        """Return it as plain values; without numbers on request."""
        numbers = {"stated": self.stated, "outer": self.outer, "inner": self.inner}
        return {
            "keys": self.keys,
            **({name: list(ends) for name, ends in numbers.items()} if values else {}),
            "verdict": self.verdict,
            "rule": self.rule,
            "derived": self.derived,
            "singled_out": self.singled_out,
            "suspected": self.suspected,
            "why": self.why if values else self.verdict,
            "places": [{"output": place.output, "line": place.line} for place in self.places],
        }


def decimal(number: int, places: int) -> str:
    """Write units of the last digit as a number.

    Example:
        >>> decimal(1250, 2), decimal(7, 0), decimal(-1250, 2)
        ('12.50', '7', '-12.50')
    """
    if not places:
        return f"{number:,}"
    sign, size = "-" if number < 0 else "", abs(number)
    return f"{sign}{size // 10**places:,}.{size % 10**places:0{places}d}"


@dataclass(frozen=True)
class CheckedStatistic:
    """All outputs of one statistic about one set of rows, and the cells that were judged."""

    statistic: str
    outputs: tuple[str, ...]
    places: int
    dims: tuple[str, ...]
    cells: tuple[CheckedCell, ...]
    joint: Cover
    views: tuple[CheckedView, ...]
    """What anybody sees, and then what each insider does."""
    known: Contributors | None = None
    """What the microdata say, where they were given."""
    tables: tuple[Crosstab, ...] = ()
    selections: Selections | None = None
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)
    assumed: bool = False
    """Whether it rests on an assumption about the outputs that nobody declared."""

    @property
    def inference(self) -> Inference:
        """What anybody can work out."""
        return self.views[0].inference


@dataclass(frozen=True)
class CheckReport(Readable):
    """What anybody can work out from published tables together."""

    outputs: tuple[tuple[str, str], ...]
    """Each: its name and the SHA-256 of its file."""
    rules: tuple[str, ...]
    insider: str
    left: int
    statistics: tuple[CheckedStatistic, ...]
    notes: tuple[str, ...]
    guesses: tuple[str, ...]
    effects: int | None = None
    """How many different publications one person can cause; None without a schema."""
    bits: float | None = None
    now: EffectsNow | None = None
    """The same for the people of these data; None without microdata."""
    trees: tuple[CategoryTree, ...] = ()
    contributor: str | None = None
    schema: Schema | None = None
    questions: tuple[str, ...] = ()
    """All that the publication reads, as questions to an agent."""
    conditions: Mapping[str, Any] | None = None
    """The conditions of answers of a ledger, as its agent resolved them; None without a ledger."""
    publication: str | None = None
    """The number under which it is booked in a ledger."""

    @property
    def cells(self) -> tuple[CheckedCell, ...]:
        """All cells that were judged, the worst first."""
        every = [cell for statistic in self.statistics for cell in statistic.cells]
        return tuple(sorted(every, key=lambda cell: (VERDICTS.index(cell.verdict), cell.system)))

    @property
    def counts(self) -> dict[str, int]:
        """How many cells have each verdict."""
        return {v: sum(cell.verdict == v for cell in self.cells) for v in VERDICTS}

    @property
    def singled_out(self) -> int:
        """How many derived cells are certainly one person."""
        return sum(cell.singled_out and cell.certain for cell in self.cells)

    @property
    def verdict(self) -> str:
        """The worst verdict of all cells."""
        return next((v for v in VERDICTS if self.counts[v]), "safe")

    @property
    def headline(self) -> str:
        """The check in one sentence."""
        if not self.outputs:
            return f"The publication {self.publication} is reserved, and no output was checked."
        counts, tables = self.counts, count_of(len(self.outputs), "output")
        if counts["disclosed"]:
            disclosed = count_of(counts["disclosed"], "cell")
            derived = sum(c.verdict == "disclosed" and c.derived for c in self.cells)
            by = f", {derived:,} of them published nowhere" if derived else ""
            verb = conjugate(counts["disclosed"], "is")
            more = ""
            if one := self.singled_out:
                more = (
                    f" {count_of(one, 'derived cell')} {conjugate(one, 'is')} exactly one person."
                )
            return f"{disclosed} of {tables} {verb} disclosed{by}.{more}"
        if counts["open"]:
            verb = conjugate(counts["open"], "is")
            suspected = sum(cell.suspected for cell in self.cells)
            by = f", {suspected:,} of them disclosed under an assumption that fits"
            return (
                f"No cell of {tables} is proved to be disclosed; "
                f"{count_of(counts['open'], 'cell')} {verb} open{by if suspected else ''}."
            )
        return f"No cell of {tables} is disclosed, and every protected one has its witnesses."

    @property
    def sentences(self) -> list[str]:
        """What else there is to say."""
        lines = [f"Rules: {listed(self.rules)}." if self.rules else "No rule was applied."]
        lines.append("Only what is certain is judged; a guess can be better than the verdicts say.")
        if self.insider != "none":
            lines.append(f"Contributors are taken to know {KNOWN[self.insider]}.")
        if self.effects is not None and self.bits is not None:
            # Only a power of two has a whole number of bits.
            at_most = "at most " if self.effects & (self.effects - 1) else ""
            lines.append(
                f"One person can cause {self.effects:,} different publications: "
                f"{at_most}{bits_up(self.bits)} about a person, whatever the data are."
            )
        if self.now is not None and self.effects is not None:
            about = "" if self.now.exact else "at least "
            lines.append(
                f"Of these data, not a promise: with its pattern held fixed, one person can cause "
                f"{about}{self.now.fewest:,} to {self.now.most:,} of {self.effects:,} publications "
                f"({bits_down(log2(self.now.fewest))} to {bits_up(log2(self.now.most))})."
            )
        return [*lines, *(f"Guessed: {guess}." for guess in self.guesses), *self.notes]

    def report(self, *, show_values: bool = False) -> Report:
        """Return the check in sections; pages always show numbers, terminals only on request."""
        counts = self.counts
        outputs = f"published {plural(len(self.outputs), 'output')}"
        people = f"{plural(self.singled_out, 'person')} singled out"
        return Report(
            f"Check of {len(self.outputs)} {outputs}",
            self.headline,
            (
                Tile(f"{counts['disclosed']:,}", "disclosed", counts["disclosed"] > 0),
                Tile(f"{counts['open']:,}", "open"),
                Tile(f"{counts['protected']:,}", "protected, with witnesses"),
                Tile(f"{self.singled_out:,}", people, self.singled_out > 0),
            ),
            tuple(self._sections(show_values)),
            "This page holds numbers of the publication and what follows from them: treat it as "
            "confidential as the table behind it.",
        )

    def _sections(self, show_values: bool) -> Iterator[Section]:  # noqa: FBT001 - as in report
        yield Section("What was checked", points=tuple(self.sentences))
        cells = Series(
            "",
            tuple(self.counts),
            tuple(map(float, self.counts.values())),
            "bars",
            tones=(1, 2, 0, 9),
            labels=tuple(f"{number:,}" for number in self.counts.values()),
        )
        yield Section(
            "The verdicts",
            chart=Chart(
                "",
                (Panel("cells", "verdict", (cells,), sideways=True, size=(7.2, 2.2)),),
                reading="The tables below are in these colours. A number is known exactly; a range "
                "holds every table that fits.",
            ),
            page_only=True,
        )
        for part in self.statistics:
            yield from _drawn(part)
        bad = [
            (part, cell)
            for part in self.statistics
            for cell in part.cells
            if cell.verdict in {"disclosed", "open"}
        ]
        bad.sort(key=lambda found: (found[1].verdict != "disclosed", not found[1].singled_out))
        headings = (
            Heading("cell", "name"),
            Heading("verdict", "word"),
            Heading("rule", "text"),
            Heading("can be", "amount", page_only=not show_values),
            Heading("why", "meaning"),
        )
        if bad:
            yield Section(
                "Disclosed and open cells",
                table=Grid(headings, tuple(cell.row(part.places) for part, cell in bad), most=40),
            )
        yield Section("What the verdicts mean", (MEANINGS,), page_only=True)

    @formerly(show_values="values")
    def to_dict(self, *, show_values: bool = True) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON."""
        return {
            "format": 1,
            "headline": self.headline,
            "verdict": self.verdict,
            "outputs": [{"name": name, "sha256": digest} for name, digest in self.outputs],
            "rules": list(self.rules),
            "insider": self.insider,
            "counts": self.counts,
            "singled_out": self.singled_out,
            "effects": self.effects,
            "bits": self.bits,
            "publication": self.publication,
            "here_and_now": None if self.now is None else asdict(self.now) | {"promise": False},
            "notes": list(self.notes),
            "guesses": list(self.guesses),
            "statistics": [
                {
                    "statistic": part.statistic,
                    "outputs": list(part.outputs),
                    "decimals": part.places,
                    "cells": [cell.to_dict(values=show_values) for cell in part.cells],
                }
                for part in self.statistics
            ],
        }


def _drawn(part: CheckedStatistic) -> Iterator[Section]:
    """Lay every output out as it was published; the last dimension makes the columns."""
    by_place = {
        (place.output, place.line, place.text, tuple(sorted(cell.keys.items()))): cell
        for cell in part.cells
        for place in cell.places
    }
    for table in part.tables if not part.assumed else ():
        cells = {}
        for stated in table.cells:
            keys = {d: k for d, k in zip(table.dims, stated.keys, strict=True) if k is not None}
            if table.where:
                keys["selection"] = table.where
            place = (table.name, stated.line, stated.text, tuple(sorted(keys.items())))
            if place in by_place:
                cells[stated.keys] = by_place[place]
        if not cells or not table.dims or len(cells) > MOST_DRAWN:
            continue
        *above, last = zip(*cells, strict=True)
        rows = list(dict.fromkeys(zip(*above, strict=True))) if above else [(key,) for key in last]
        columns = list(dict.fromkeys(last)) if above else ["n"]
        head = " / ".join(table.dims[:-1] if above else table.dims)
        lines: list[Row] = []
        for row in rows:
            found = (cells.get((*row, column) if above else row) for column in columns)
            shown = (_shown(cell, part.places) for cell in found)
            lines.append((" / ".join("Total" if key is None else key for key in row), *shown))
        names = ("Total" if column is None else str(column) for column in columns)
        yield Section(
            f"{table.name}{f', where {table.where}' if table.where else ''}",
            table=Grid(
                (Heading(head, "data"), *(Heading(name, "cell") for name in names)), tuple(lines)
            ),
            page_only=True,
        )


def _shown(cell: CheckedCell | None, places: int) -> Cell:
    """Return a cell as a published table shows it: its interval and its verdict."""
    if cell is None:
        return Cell("")
    text = cell.interval(places).removeprefix("exactly ")
    text = text.replace(" to ", "\N{EN DASH}").replace(" or more", "+")
    small = cell.verdict if cell.verdict in {"disclosed", "open"} else ""
    return Cell(text, small, cell.verdict, hint=f"{cell.verdict}: {cell.why}")


# --- check effects --------------------------------------------------------------------------------
# How many publications one person can cause here and now: of these data, not a promise.

MOST_RECORDS = 100_000
"""Records of the schema that are looked at, over the columns that the outputs use."""
MOST_PAIRS = 300_000
"""Pairs of a person and a record that could be in the place of theirs."""


@dataclass(frozen=True)
class EffectsNow:
    """How many publications a person of these data can cause: fewest and most over all people."""

    fewest: int
    most: int
    exact: bool
    """Whether the publication is a known function of the data: nothing is hidden in it."""


def effects_now(
    tables: Sequence[Crosstab], trees: Sequence[CategoryTree], schema: Schema, data: object
) -> EffectsNow | None:
    r"""Put every possible record in the place of every person's, and count the publications.

    .. math:: B_i = \log_2 |\{ f(D \text{ with } i\text{'s record replaced by } r) : r \in R_i \}|

    with the records of the schema that have the person's public columns. Numbers, nearest and
    midpoint rounding and marks are functions of the true cell and are followed. How cells were
    chosen to be hidden, and random or controlled rounding, is not known: such cells are held
    fixed, so that the counts are lower bounds then. Exact otherwise. The cost grows with the
    kinds of people times the kinds of records; None if there are too many.
    """
    conditions = list(dict.fromkeys(t.where for t in tables if t.where))
    looked_at = {name for text in conditions for name in condition_columns(text)}
    sums = {t.statistic[4:-1] for t in tables if t.statistic != "count"}
    dims = {dim for table in tables for dim in table.dims}
    names = sorted(looked_at | sums | dims)
    public = [n for n, column in schema.columns.items() if column.kind == "public"]
    if not schema.columns.keys() >= set(names):
        return None
    values = [_values(schema, name) for name in names]
    if any(v is None for v in values) or prod(len(v or ()) for v in values) > MOST_RECORDS:
        return None
    columns = dict(zip(names, zip(*product(*(v or () for v in values)), strict=True), strict=True))
    held = [evaluate_condition(c, {n: list(v) for n, v in columns.items()}) for c in conditions]
    truths = list(zip(*(truth.tolist() for truth in held), strict=True))
    possible = _kinds(columns, truths, tables, trees, public)
    listed = contributions(data, names, conditions)
    present = {name: [part.keys[at] for part in listed] for at, name in enumerate(names)}
    people = _kinds(present, [part.held for part in listed], tables, trees, public)
    if len(set(people)) * len(set(possible)) > MOST_PAIRS:
        return None
    truth: dict[tuple[int, int], Fraction] = {}
    for kind, part in zip(people, listed, strict=True):
        for cell, amount in kind.cells:
            truth[cell] = truth.get(cell, Fraction(0)) + part.rows * amount
    by_public: dict[tuple[str, ...], set[_Kind]] = {}
    for kind in possible:
        by_public.setdefault(kind.public, set()).add(kind)
    functions = [_functions(table) for table in tables]

    def shown(cell: tuple[int, int], value: Fraction) -> object:
        return functions[cell[0]](tables[cell[0]].cells[cell[1]], value)

    counts = [
        len({_change(shown, truth, kind, other) for other in by_public.get(kind.public, {kind})})
        for kind in set(people)
    ]
    hidden = any(
        cell.kind == "hidden" or (cell.kind == "rounded" and not _follows(table))
        for table in tables
        for cell in table.cells
    )
    return EffectsNow(min(counts, default=1), max(counts, default=1), exact=not hidden)


@dataclass(frozen=True)
class _Kind:
    """Records that the outputs treat alike: the cells they count in, and how much."""

    cells: tuple[tuple[tuple[int, int], Fraction], ...]
    public: tuple[str, ...]


def _values(schema: Schema, name: str) -> list[Any] | None:
    """Return the finite values of a column, as they are written in tables; None without them."""
    column = schema.columns[name]
    if column.values is not None:
        return list(column.values)
    if column.low is None or column.high is None or not column.step:
        return None
    count = int((column.high - column.low) / column.step) + 1
    numbers = [column.low + i * column.step for i in range(min(count, MOST_RECORDS + 1))]
    return [int(n) if Fraction(n).denominator == 1 else Fraction(n) for n in numbers]


def _kinds(
    columns: Mapping[str, Sequence[Any]],
    held: Sequence[tuple[bool, ...]],
    tables: Sequence[Crosstab],
    trees: Sequence[CategoryTree],
    public: Sequence[str],
) -> list[_Kind]:
    """Return for each record the published cells that it counts in."""
    size = len(next(iter(columns.values()), ()))
    conditions = list(dict.fromkeys(table.where for table in tables if table.where))
    places = [{cell.keys: at for at, cell in enumerate(table.cells)} for table in tables]
    above = {
        (tree.dim, part): parent
        for tree in trees
        for parent, parts in tree.parents.items()
        for part in parts
    }
    kinds = []
    for row in range(size):
        cells: list[tuple[tuple[int, int], Fraction]] = []
        for number, table in enumerate(tables):
            if table.where and not held[row][conditions.index(table.where)]:
                continue
            amount = Fraction(1)
            if table.statistic != "count":
                text = str(columns[table.statistic[4:-1]][row])
                amount = Fraction(0 if text == "missing" else text) * 10**table.places
            sets = [_sets(above, dim, str(columns[dim][row]).strip()) for dim in table.dims]
            cells += [
                ((number, places[number][keys]), amount)
                for keys in product(*sets)
                if keys in places[number]
            ]
        fixed = tuple(str(columns[name][row]).strip() for name in public if name in columns)
        kinds.append(_Kind(tuple(cells), fixed))
    return kinds


def _sets(above: Mapping[tuple[str, str], str], dim: str, key: str) -> list[str | None]:
    sets: list[str | None] = [None, key]
    while (dim, key) in above:
        key = above[dim, key]
        sets.append(key)
    return sets


def _change(
    shown: Callable[[tuple[int, int], Fraction], object],
    truth: Mapping[tuple[int, int], Fraction],
    kind: _Kind,
    other: _Kind,
) -> frozenset[tuple[tuple[int, int], object]]:
    """Return what a publication shows differently if one record takes the place of another."""
    changes: dict[tuple[int, int], Fraction] = {}
    for cell, amount in kind.cells:
        changes[cell] = changes.get(cell, Fraction(0)) - amount
    for cell, amount in other.cells:
        changes[cell] = changes.get(cell, Fraction(0)) + amount
    different = set()
    for cell, change in changes.items():
        before = truth.get(cell, Fraction(0))
        text = shown(cell, before + change)
        if change and text != shown(cell, before):
            different.add((cell, text))
    return frozenset(different)


def _follows(table: Crosstab) -> bool:
    rounding = table.described.get("rounding")
    return rounding is None or Rounding.parse(str(rounding)).kind in {"nearest", "midpoint"}


def _functions(table: Crosstab) -> Callable[[PublishedCell, Fraction], object]:
    """Return what a cell would show for a true value, its treatment held fixed."""
    follows, written = _follows(table), table.described.get("rounding")
    rounding = None if written is None else Rounding.parse(str(written))
    marks = sorted({(c.low, c.high) for c in table.cells if c.kind == "mark"}, key=str)

    def shown(cell: PublishedCell, value: Fraction) -> object:
        if cell.kind == "hidden" or not follows:
            return None
        if cell.kind == "rounded" and rounding is not None:
            return rounding.round(int(value // 10**table.places))
        for low, high in marks:
            if (low is None or low <= value) and (high is None or value <= high):
                return low, high
        return value

    return shown


# --- check views ----------------------------------------------------------------------------------
# What each attacker knows of published tables, and what the rules say about the cells then.


@dataclass(frozen=True)
class Opinion:
    """What one rule says about one cell."""

    cell: int
    verdict: str
    rule: str
    why: str
    line: int | None = None
    """The relation of a line in which everybody has one category."""


@dataclass
class CheckedView:
    """What one attacker knows, and what each rule says about the cells then."""

    inference: Inference
    opinions: Mapping[int, Opinion]
    knows: tuple[tuple[int, int], ...] = ()
    """Cells and their numbers, which a sole contributor knows; none for anybody."""
    unions: Mapping[str, OneTable] = field(default_factory=dict)
    """What was asked about sums of hidden cells under each rule, for all attackers."""
    means: dict[int, tuple[int, HullPoint]] = field(default_factory=dict)
    """For cells whose marks say that they are small, a threshold and a mean of tables with it."""
    changes: dict[Change, int] = field(default_factory=dict)
    """The changes of the first table that these means are made of, numbered."""
    known_unions: list[Multipliers] = field(default_factory=list)
    """Combinations of relations that tell a small sum of cells."""
