"""Make a table k-anonymous: by one level of each key for all records, or by Mondrian boxes."""

from __future__ import annotations

import bisect
import itertools
import math
import operator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.inputs import formerly
from hartley.kernels.classes import mondrian_boxes
from hartley.policies.hierarchy import hierarchies_of, key_levels
from hartley.ranges.classes import (
    combine_codes,
    encode_column,
    rows_as_counted,
    single_out,
)
from hartley.ranges.relation import household_codes, is_missing
from hartley.report import Cell, Grid, Heading, Readable, Report, Section, Tile
from hartley.schema.roles import chosen_columns
from hartley.studies.look.anonymity import (
    count_again,
    few_tile,
    measured,
    release_chart,
    risk_measures,
    table_measures,
    tried,
)
from hartley.studies.look.exposure import check_unit, open_people, repeated_identifiers
from hartley.studies.release.disclosure import (
    SORTED,
    Disclosing,
    find_undone,
    in_order,
    refuse_people,
    refuse_told,
    refuse_unreleased,
    verdicts_on,
)
from hartley.tables.view import keep_texts, prepare, run
from hartley.tables.writing import write_arrow
from hartley.text import conjugate, count_of, plural

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hartley.engines.table import Table
    from hartley.inputs import Column, Columns, Groups, Lists, Number, Progress, Rows
    from hartley.policies.hierarchy import Hierarchy, Level
    from hartley.schema.roles import RolesSource
    from hartley.studies.look.anonymity import AnonymityReport


METHODS = ("full-domain", "mondrian")
ONE_LEVEL = (
    "Every key has one level for all records; among all choices of levels, these lose the least."
)
BOXES = "The keys were cut into boxes of at least {k:,} records, always near the middle (Mondrian)."
NOTHING_AND_EVERYTHING = (
    "A key loses nothing if its values are released unchanged, and everything if they are "
    "suppressed."
)
MOST_NODES = 200_000
"""More combinations of levels than this are refused."""


# --- the lattice of levels of several keys --------------------------------------------------------


@dataclass(frozen=True)
class KeyPoints:
    """The distinct combinations of keys of a table."""

    codes: NDArray[np.int64]
    """One row a combination, one column a key."""
    counts: NDArray[np.int64]
    members: NDArray[np.int64]
    """The combination of every record."""
    values: list[list[Any]]
    """The values of every key, by code."""
    people: dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]] = field(default_factory=dict)
    """Every combination with every person who has it, where a record is none, and with every
    household."""

    def lost(self, large: NDArray[np.bool_]) -> int:
        """Return how many people lose a record if some combinations alone are released."""
        if "person" not in self.people:
            return int(self.counts[~large].sum())
        members, people = self.people["person"]
        loses = np.zeros(int(people.max()) + 1, bool)
        loses[people[~large[members]]] = True
        return int(loses.sum())


@dataclass(frozen=True)
class BestNode:
    """The levels that lose least, and which combinations of keys are released."""

    node: tuple[int, ...]
    large: NDArray[np.bool_]
    """Which combinations are in classes of k or more people, or households."""
    classes: int
    losses: tuple[Fraction, ...]
    """What every key loses, from 0 to 1."""


class _Losses:
    """Losses as integers over one common denominator, so that they compare exactly."""

    def __init__(self, points: KeyPoints, levels: Sequence[Sequence[Level]]) -> None:
        self._points, self._levels = points, levels
        spans = [max(len(values) - 1, 1) for values in points.values]
        self.unit = math.lcm(*spans)
        self.scale = self.unit * int(points.counts.sum())
        self._weights = [self.unit // span for span in spans]

    def of_level(self, key: int, level: int, counts: NDArray[np.int64]) -> int:
        """Return the loss of one key at one level, over records counted by combination."""
        lost = self._levels[key][level].group_sizes - 1
        return self._weights[key] * int(counts @ lost[self._points.codes[:, key]])

    def of_node(self, node: Sequence[int], large: NDArray[np.bool_]) -> list[int]:
        """Return the loss of every key of a node; a suppressed record loses all of each key."""
        counts = np.where(large, self._points.counts, 0)
        gone = int(self._points.counts.sum() - counts.sum())
        return [
            self.of_level(key, level, counts) + gone * self.unit for key, level in enumerate(node)
        ]


def search_lattice(
    points: KeyPoints,
    levels: Sequence[Sequence[Level]],
    k: int,
    suppressible: int,
    tell: Progress = lambda _what, _share: None,
) -> BestNode:
    """Return the node of the lattice of levels with the least loss, exactly; ties go to the lower.

    Nodes are tried in the order of their loss without suppression, which bounds their loss from
    below, until that bound exceeds the best loss; a node below one that suppresses too many
    suppresses too many as well (Samarati 2001; Iyengar 2002) and is not tried. So a node of which
    nothing is known is tried with those above it, by halves (Kohlmayer et al. 2012): the highest
    one that suppresses too many rules out all below it. Costs one grouping of the distinct
    combinations for each node that is tried. Where people with several records are counted, or
    households, a class has to hold k of them; parts of a class hold no more than the class, so
    that the same order works.
    """
    shape = [len(of_key) for of_key in levels]
    if math.prod(shape) > MOST_NODES:
        raise OptionError(
            f"The hierarchies allow {math.prod(shape):,} combinations of levels",
            hint=f"use fewer keys or levels, {MOST_NODES:,} combinations at most",
        )
    losses = _Losses(points, levels)
    bounds = [  # the loss of every key and level if no record had to be left out
        [losses.of_level(key, level, points.counts) for level in range(len(of_key))]
        for key, of_key in enumerate(levels)
    ]
    nodes = sorted(
        (sum(bound[at] for bound, at in zip(bounds, node, strict=True)), sum(node), node)
        for node in itertools.product(*map(range, shape))
    )
    tried = _TriedNodes(points, levels, k, suppressible)
    best: tuple[int, BestNode] | None = None
    at_most = len(nodes)
    for decided, (bound, _, node) in enumerate(nodes):
        if best is not None and bound >= best[0]:
            break
        tell("search", decided / at_most)
        if tried.fails(node, bounds):
            continue
        large, classes = tried.group(node)
        lost = losses.of_node(node, large)
        if best is None or sum(lost) < best[0]:
            shares = tuple(Fraction(amount, losses.scale) for amount in lost)
            best = sum(lost), BestNode(node, large, classes, shares)
            at_most = bisect.bisect_left(nodes, best[0], key=operator.itemgetter(0))
    assert best is not None  # one class of everybody is large enough
    tell("search", 1.0)
    return best[1]


class _TriedNodes:
    """Which nodes suppress too many, and which do not.

    Finer levels split classes: what is below a node that suppresses too many does so too, and what
    is above one that does not never does.
    """

    def __init__(
        self, points: KeyPoints, levels: Sequence[Sequence[Level]], k: int, suppressible: int
    ) -> None:
        self._points, self._levels, self._k, self._most = points, levels, k, suppressible
        shape = [len(of_key) for of_key in levels]
        self._failed, self._fits = np.zeros(shape, bool), np.zeros(shape, bool)
        self._last: tuple[tuple[int, ...], NDArray[np.bool_], int] | None = None

    def group(self, node: tuple[int, ...]) -> tuple[NDArray[np.bool_], int]:
        """Return which combinations lie in large classes, and how many those are."""
        if self._last is None or self._last[0] != node:
            self._last = node, *_group(self._points, self._levels, node, self._k)
        return self._last[1:]

    def fails(self, node: tuple[int, ...], bounds: Sequence[Sequence[int]]) -> bool:
        """Tell whether a node suppresses too many."""
        if self._failed[node] or self._fits[node]:
            return bool(self._failed[node])
        path = _path_up(node, bounds)
        below, above = -1, len(path) - 1  # one class of everybody suppresses nobody
        while above - below > 1:
            middle = (below + above) // 2
            at = path[middle]
            if self._failed[at] or (
                not self._fits[at] and self._points.lost(self.group(at)[0]) > self._most
            ):
                below = middle
            else:
                above = middle
        self._fits[tuple(slice(at, None) for at in path[above])] = True
        if below >= 0:
            self._failed[tuple(slice(at + 1) for at in path[below])] = True
        return below >= 0


def _path_up(node: tuple[int, ...], bounds: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return nodes from one to the highest, each with one level more where that loses least."""
    path = [node]
    while True:
        steps = [
            (bound[at + 1] - bound[at], key)
            for key, (bound, at) in enumerate(zip(bounds, path[-1], strict=True))
            if at + 1 < len(bound)
        ]
        if not steps:
            return path
        key = min(steps)[1]
        path.append((*path[-1][:key], path[-1][key] + 1, *path[-1][key + 1 :]))


def _group(
    points: KeyPoints, levels: Sequence[Sequence[Level]], node: Sequence[int], k: int
) -> tuple[NDArray[np.bool_], int]:
    """Return which combinations lie in classes of k or more, and how many those classes are."""
    chosen = [of_key[at] for of_key, at in zip(levels, node, strict=True)]
    columns = [level.groups[points.codes[:, i]] for i, level in enumerate(chosen)]
    classes, width = combine_codes(columns, [len(level.labels) for level in chosen])
    if width > 4 * classes.size + 1024:
        distinct, classes = np.unique(classes, return_inverse=True)
        width = distinct.size
    sizes = np.bincount(classes, weights=points.counts, minlength=width)
    for members, people in points.people.values():
        amount = int(people.max()) + 1
        together = np.unique(classes[members] * amount + people)
        sizes = np.minimum(sizes, np.bincount(together // amount, minlength=width))
    return sizes[classes] >= k, int((sizes >= k).sum())


# --- generalisation -------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnonymizedTable(Disclosing, Readable):
    """A k-anonymous table and what it cost."""

    table: Any
    """The released rows as an Arrow table: the keys, and the columns released as they are."""
    name: str
    keys: tuple[str, ...]
    kept: tuple[str, ...]
    """The columns that are released as they are, the confidential ones last."""
    confidential: tuple[str, ...]
    """The kept columns that an adversary who knows the keys should not learn."""
    withheld: int
    """How many columns of the table are not released."""
    k: int
    method: str
    levels: tuple[tuple[int, int], ...] | None
    """For every key its level and the highest one; None for Mondrian."""
    rows: int
    suppressed: int
    """Records that were left out."""
    classes: int
    losses: tuple[Fraction, ...]
    """For every key the average over all records of (values possible - 1) / (all values - 1)."""
    sources: tuple[str, ...] = ()
    """The files of the table, which nothing may overwrite."""
    unit: str | None = None
    """The column that says whose row it is; None: a row is a person."""
    household: str | None = None
    """The column that says who lives together."""
    counted: Any = field(default=None, repr=False)
    """The released rows with a number for whose each is, where a column says so."""
    units: int | None = None
    """How many people there are, where a column says whose row it is; None: a row is a person."""
    units_suppressed: int = 0
    """People who lost a row, where a column says whose row it is."""
    households: int | None = None
    """How many households there are, where k counts these; None: k counts people."""
    linked: Mapping[str, int] = field(default_factory=dict)
    """For confidential columns, the people with a value that several rows have, all theirs."""

    @property
    def loss(self) -> Fraction:
        """What the keys lose on average, from 0 to 1."""
        return sum(self.losses, Fraction(0)) / len(self.losses)

    @property
    def made(self) -> str:
        """The release in one sentence."""
        counted = {"people": self.units, "households": self.households}
        units = " and in ".join(name for name, number in counted.items() if number is not None)
        return (
            f"{self.rows - self.suppressed:,} of {self.rows:,} rows of {self.name} were made "
            f"{self.k:,}-anonymous over {', '.join(self.keys)}"
            + (f", counted in {units}." if units else ".")
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        level_sentences = [
            f"{key} is released at level {level} of {top}"
            + (", suppressed." if level == top else ", as it is." if not level else ".")
            for key, (level, top) in zip(self.keys, self.levels or (), strict=False)
        ]
        homes = self.households is not None and (
            f"Everybody shares their keys with people of {self.k - 1:,} or more other households, "
            f"of {self.households:,}: a class of one family would give it away."
        )
        people = self.units is not None and (
            f"Everybody shares their keys with {self.k - 1:,} or more other people, of "
            f"{self.units:,}, however many rows each has; {self.units_suppressed:,} "
            f"{conjugate(self.units_suppressed, 'was')} left out with a row."
        )
        linked = (
            f"{count_of(people, 'person')} can be followed from row to row by {name}: some value "
            "of it occurs in their rows alone."
            for name, people in self.linked.items()
            if people
        )
        withheld = (
            f"{count_of(self.withheld, 'column')} of the table {conjugate(self.withheld, 'was')} "
            "named as neither key nor kept: not released."
        )
        return (
            *level_sentences,
            (
                f"The keys lose {float(100 * self.loss):.2f} % of what they could tell; there are "
                f"{self.classes:,} classes."
            ),
            *filter(None, (people, homes)),
            *linked,
            *self.judgements,
            *((withheld,) if self.withheld else ()),
            SORTED,
        )

    @cached_property
    def checked(self) -> AnonymityReport:
        """The released rows, counted again; kept, for it takes a pass for each column."""
        return count_again(self.counted, self.keys, self.confidential, self.unit, self.household)

    def report(self) -> Report:
        """Return what was done and what counting again gives; its picture shows the classes."""
        losses = [(key, float(loss)) for key, loss in zip(self.keys, self.losses, strict=True)]
        again = self.checked
        levels = [f"{level} of {top}" for level, top in self.levels or ()]
        lost = [Cell(f"{100 * loss:.2f} %", share=loss) for _, loss in losses]
        cells = [self.keys, levels, lost] if levels else [self.keys, lost]
        headings = Heading("key", "name"), Heading("level", "amount"), Heading("lost", "amount")
        how = ONE_LEVEL if levels else BOXES.format(k=self.k)
        headline, lead = self.said
        return Report(
            f"{self.name}, made {self.k}-anonymous",
            headline,
            (
                Tile(
                    f"{again.k:,}",
                    f"{'records' if self.units is None else 'people'} in the smallest class, "
                    "counted again",
                ),
                Tile(f"{float(100 * self.loss):.2f} %", "of the keys' detail lost"),
                Tile(f"{self.suppressed:,}", f"{plural(self.suppressed, 'row')} left out"),
                *(self.verdict_tiles or (few_tile(again.people),)),
            ),
            (
                Section(
                    "What was coarsened",
                    (how, NOTHING_AND_EVERYTHING),
                    chart=release_chart(again.sizes, losses, lost="of what it could reveal"),
                    table=Grid(
                        headings if levels else (headings[0], headings[2]),
                        tuple(zip(*cells, strict=True)),
                    ),
                ),
                Section(
                    "What the release reveals, counted again",
                    (again.people.sentence,),
                    table=measured((*table_measures(again), *risk_measures(again))),
                ),
                *tried(again, "What the keys reveal about confidential columns"),
                Section(
                    "What else a reader should know",
                    (f"Released unchanged: {', '.join(self.kept)}.",) if self.kept else (),
                    self.sentences[len(levels) :],
                ),
            ),
            "Counts are exact; risks and leakage are rounded up. The loss of a key is the average "
            "over all records of (values that stay possible - 1) / (all values - 1); a record that "
            "is left out counts as 1.",
            lead,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what was done as plain values, ready for JSON; no row of the table."""
        return {
            "format": 1,
            "headline": self.headline,
            "sentences": list(self.sentences),
            "table": self.name,
            "keys": list(self.keys),
            "kept": list(self.kept),
            "confidential": list(self.confidential),
            "withheld_columns": self.withheld,
            "k": self.k,
            **{
                name: getattr(self, name)
                for name in ("units", "units_suppressed", "households")
                if getattr(self, name.removesuffix("_suppressed")) is not None
            },
            **self.disclosed(),
            "method": self.method,
            "levels": None
            if self.levels is None
            else {key: level for key, (level, _) in zip(self.keys, self.levels, strict=True)},
            "rows": self.rows,
            "suppressed": self.suppressed,
            "classes": self.classes,
            "loss": float(self.loss),
            "losses": dict(zip(self.keys, map(float, self.losses), strict=True)),
            "check": self.checked.to_dict(),
        }

    def write(self, path: str | os.PathLike[str], *, spreadsheet_safe: bool = False) -> Path:
        """Write the released rows as Parquet or CSV, by the ending of the path."""
        return write_arrow(self.table, path, self.sources, spreadsheet_safe=spreadsheet_safe)


@formerly(hierarchy="hierarchies")
def anonymize(  # noqa: PLR0913, PLR0915 - each is one choice of the user's, and one course
    table: Rows,
    keys: Columns | None = None,
    k: int = 0,
    *,
    keep: Columns | None = None,
    confidential: Columns | None = None,
    bins: Lists | None = None,
    hierarchy: Groups | None = None,
    method: Literal["full-domain", "mondrian"] = "full-domain",
    suppress: Number = 0,
    unit: Column | None = None,
    allow_dependence: Columns | None = None,
    roles: RolesSource | None = None,
    progress: Progress | None = None,
) -> AnonymizedTable:
    r"""Coarsen the keys of a table until everybody shares them with k - 1 others.

    .. math:: \text{loss} = \frac{1}{n K} \sum_{\text{records, keys}}
        \frac{|\text{values that stay possible}| - 1}{|\text{all values}| - 1}

    "full-domain" (Samarati 2001; Iyengar 2002 for the loss) gives every key one level of its
    hierarchy for all records and leaves out those whose class stays smaller than k, up to the
    share that may be suppressed, each at a loss of 1 a key: of all levels the least loss,
    exactly. "mondrian" (LeFevre, DeWitt and Ramakrishnan 2006) cuts the keys, ordered as their
    values are, into boxes of k or more: usually a smaller loss, not the least one. The table is
    held in memory. The search is over distinct key combinations; it stops at the first level
    whose loss, even if nothing had to be left out, exceeds the best one found.

    Where a column says whose row it is, k counts people: a class of one person's rows hides nobody.
    Where the roles name a household, k counts households as well: people who live together are
    found together. A class then holds k or more of both; who has none counts as one. A
    column that tells whose row it is cannot be released. The rows are sorted by what is released.

    Args:
        table: a table, in all forms that ``open_table`` takes, or one already open.
        keys: The columns by which a person could be recognised. In Python, by default the keys of
            the roles.
        k: The least number of people who share their keys. In Python, of people of different
            households where the roles name a household.
        keep: Columns to release unchanged; columns that are not named are not released. In Python,
            by default those whose role is "kept".
        confidential: Columns to release unchanged although they are sensitive; the report measures
            what the keys reveal about them.
        bins: Widths of nested bins of a numeric key, or periods of dates: month,quarter,year.
        hierarchy: A CSV file: each line has a key value and its groups, from narrow to wide. In
            Python, for a key the groups of every value; a key without bins or a hierarchy is
            released unchanged or suppressed. With roles, by default those of the roles.
        method: Give each key one level for everybody (full-domain), or form boxes of similar
            people (mondrian).
        suppress: The share of people who may lose a row, all rows of a class together. In Python,
            with the method "full-domain" alone.
        unit: The column that says whose row it is, if a person may have several; never released.
            In Python, by default the unit of the roles.
        allow_dependence: Columns to release unchanged although they tell a key that is coarsened.
        roles: the confirmed roles of the columns: ``Roles``, a dict or a TOML file. An identifier
            is never released.
        progress: called with the name of the current step and the share of it that is done.

    Example:
        >>> people = {"age": [31, 38, 45, 46], "ill": ["a", "b", "a", "b"]}
        >>> groups = anonymize(people, "age", 2, bins={"age": [10]})
        >>> groups.table["age"].to_pylist(), groups.loss
        (['[30, 40)', '[30, 40)', '[40, 50)', '[40, 50)'], Fraction(1, 3))
        >>> boxes = anonymize(people, "age", 2, method="mondrian", keep="ill")
        >>> boxes.table["age"].to_pylist(), boxes.singling.together
        (['[31 .. 38]', '[31 .. 38]', '[45 .. 46]', '[45 .. 46]'], 4)
    """
    import pyarrow as pa

    opened, known_roles, unit = open_people(table, roles, unit)
    named = chosen_columns(known_roles, keys, "key", what="key")
    hidden = chosen_columns(known_roles, confidential, "confidential", what="")
    unchanged = (*chosen_columns(known_roles, keep, "kept", what=""), *hidden)
    for name in {*(bins or ())} & {*(hierarchy or ())}:
        raise OptionError(
            f"Column '{name}' has bins and a hierarchy", hint="give --bins or --hierarchy, not both"
        )
    levels_of: Mapping[str, Hierarchy] = {**(bins or {}), **(hierarchy or {})}
    if known_roles is not None and bins is None and hierarchy is None and method == "full-domain":
        levels_of = hierarchies_of(opened, known_roles, named)
    homes = () if known_roles is None else known_roles.named("household")
    identifiers = () if known_roles is None else known_roles.named("identifier")
    units = () if unit is None else (unit,)
    if method == "mondrian":
        refuse_people("Mondrian", units, homes)
    if known_roles is not None:
        refuse_unreleased(table, known_roles, (*named, *unchanged))
    share = _check(opened, named, unchanged, k, levels_of, method, suppress)
    for name in units:
        check_unit(opened, name, (*named, *unchanged))
    opened.require(homes)
    ordered = {*(named if method == "mondrian" else levels_of)}
    opened = keep_texts(opened, sorted({*named, *unchanged} - ordered), exact=True)
    tell = progress or (lambda _what, _share: None)
    tell("read", 0.0)
    wanted = opened.expression.select(*named, *unchanged, *units, *homes)
    rows = rows_as_counted(run(opened, wanted.to_pyarrow))
    tell("read", 1.0)
    _refuse_fewer(rows.num_rows, "row", k, opened.name)
    tell("count", 0.0)
    points, people = _points(rows, named), {}
    for noun, columns in (("person", units), ("household", homes)):
        if columns:
            codes = household_codes([encode_column(rows.column(name)) for name in columns])
            codes = np.unique(codes, return_inverse=True)[1]
            people[noun] = amount = int(codes.max()) + 1
            _refuse_fewer(amount, noun, k, opened.name)
            points.people[noun] = np.divmod(np.unique(points.members * amount + codes), amount)
            rows = rows.set_column(rows.column_names.index(columns[0]), columns[0], pa.array(codes))
    tell("count", 1.0)
    best, finer = None, rows
    if method == "mondrian":
        released, changed, fields = _in_boxes(rows, points, named, k, tell)
    else:
        levels = [
            key_levels(name, values, levels_of.get(name), opened)
            for name, values in zip(named, points.values, strict=True)
        ]
        suppressible = int(share * people.get("person", rows.num_rows))
        best = search_lattice(points, levels, k, suppressible, tell)
        finer = _finer(rows, points, named, levels, best)
        released, changed, fields = _at_levels(rows, points, named, levels, best)
    tell("write", 0.0)
    undone = find_undone(rows, unchanged, dict.fromkeys(changed, "coarsened"), allow_dependence)
    # What tells no key as it was may tell one at a level that is finer than the released one.
    others = [name for name in unchanged if name not in {one.column for one in undone}]
    further = dict.fromkeys({*finer.column_names} - {*rows.column_names}, "coarsened further")
    allows = (
        {allow_dependence} if isinstance(allow_dependence, str) else {*(allow_dependence or ())}
    )
    allowed = [name for name in others if name in allows]
    undone += find_undone(finer, others, further, allowed)
    if known_roles is not None:
        raw = [name for name in named if name not in changed]
        refuse_unreleased(table, known_roles, (), (*unchanged, *raw))
    refuse_told(released, [*named, *unchanged], units, "says whose row it is")
    released = in_order(released, [*named, *unchanged])
    made = AnonymizedTable(
        table=released.select([*named, *unchanged]),
        name=opened.name,
        keys=named,
        kept=unchanged,
        confidential=hidden,
        withheld=len({*opened.columns, *identifiers} - {*named, *unchanged}),
        k=int(k),
        method=method,
        rows=rows.num_rows,
        suppressed=rows.num_rows - released.num_rows,
        sources=opened.paths,
        unit=unit,
        household=next(iter(homes), None),
        repeated=""
        if known_roles is None or unit is not None
        else repeated_identifiers(table, known_roles),
        counted=released,
        units=people.get("person"),
        units_suppressed=points.lost(best.large) if units and best is not None else 0,
        households=people.get("household"),
        linked={} if unit is None else _linked(released, hidden, unit),
        verdicts=verdicts_on(released, named, hidden, unit, known_roles),
        undone=undone,
        singling=single_out(released, named, unchanged, hidden, unit, next(iter(homes), None)),
        **fields,
    )
    tell("write", 1.0)
    return made


def _check(  # noqa: PLR0913, PLR0917 - one parameter a thing to check
    table: Table,
    keys: tuple[str, ...],
    kept: tuple[str, ...],
    k: int,
    hierarchies: Mapping[str, object],
    method: str,
    suppress: object,
) -> Fraction:
    """Refuse what makes no sense, and return the share that may be suppressed."""
    if not keys or len(set(keys)) < len(keys):
        raise OptionError("A key column is missing or named twice", hint="name each key once")
    for i, name in enumerate(kept):
        if name in keys or name in kept[:i]:
            raise OptionError(
                f"Column '{name}' is named twice",
                hint="name it once: as a key, to keep or as confidential",
            )
    table.require((*keys, *kept))
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise OptionError("k is not a whole number of 1 or more", hint="write for example k=5")
    if method not in METHODS:
        raise OptionError(
            f"The method '{method}' is unknown", hint=f"choose {' or '.join(METHODS)}"
        )
    share = parse_number(suppress, name="the share to suppress")
    if not 0 <= share < 1:
        raise OptionError(
            "The share to suppress is not between 0 and 1", hint="write for example suppress=0.05"
        )
    if method == "mondrian" and (hierarchies or share):
        raise OptionError(
            "Mondrian uses no bins, hierarchies or suppression", hint="leave them out"
        )
    for name in hierarchies:
        if name not in keys:
            raise OptionError(
                f"Column '{name}' has a hierarchy but is not a key", hint="name it as a key"
            )
    prepare(table, keys, missing="value")
    return share


def _points(rows: Any, keys: tuple[str, ...]) -> KeyPoints:  # noqa: ANN401 - Arrow carries no types
    """Find the distinct combinations of keys."""
    encoded = [encode_column(rows.column(name)) for name in keys]
    columns = [codes for codes, _ in encoded]
    combined, width = combine_codes(columns, [len(values) for _, values in encoded])
    if width > max(4 * combined.size, 2**16):
        _, first, members, counts = np.unique(
            combined, return_index=True, return_inverse=True, return_counts=True
        )
    else:  # few enough to count without sorting
        times = np.bincount(combined, minlength=width)
        present = np.flatnonzero(times)
        counts, members = times[present], (np.cumsum(times > 0) - 1)[combined]
        first = np.empty(present.size, np.int64)
        first[members] = np.arange(members.size)  # any record of a combination will do
    codes = np.stack([column[first] for column in columns], axis=1)
    return KeyPoints(codes, counts, members, [values for _, values in encoded])


def _refuse_fewer(amount: int, noun: str, k: int, name: str) -> None:
    if amount < k:
        raise OptionError(
            f"k = {k:,} is larger than the {count_of(amount, noun)} of {name}",
            hint="choose a smaller k",
        )


def _linked(rows: Any, columns: Sequence[str], unit: str) -> dict[str, int]:  # noqa: ANN401 - Arrow carries no types
    """Count for columns the people with a value that several rows have, all of them theirs."""
    persons, linked = rows.column(unit).to_numpy(), {}
    for name in columns:
        codes, values = encode_column(rows.column(name))
        amount, present = int(persons.max()) + 1, ~is_missing(codes, values)
        held, times = np.unique((codes * amount + persons)[present], return_counts=True)
        alone = np.bincount(held // amount)[held // amount] == 1
        linked[name] = int(np.unique((held % amount)[alone & (times > 1)]).size)
    return linked


def _replace(rows: Any, name: str, labels: Sequence[Any], codes: NDArray[np.int64]) -> Any:  # noqa: ANN401 - Arrow carries no types
    """Replace a column by labels, as text."""
    import pyarrow as pa

    texts = pa.array([None if label is None else str(label) for label in labels], pa.string())
    at = rows.column_names.index(name)
    return rows.set_column(at, name, texts.take(pa.array(codes)))


def _finer(
    rows: Any,  # noqa: ANN401 - Arrow carries no types
    points: KeyPoints,
    keys: Sequence[str],
    levels: Sequence[Sequence[Level]],
    best: BestNode,
) -> Any:  # noqa: ANN401 - as above
    """Add to rows, by names of their own, each key at the levels finer than the released one."""
    import pyarrow as pa

    for i, (name, of_key, at) in enumerate(zip(keys, levels, best.node, strict=True)):
        for finer in range(1, at):
            level, added = of_key[finer], f"{name} (level {finer})"
            codes = level.groups[points.codes[:, i]][points.members]
            rows = _replace(rows.append_column(added, pa.array(codes)), added, level.labels, codes)
    return rows


def _at_levels(
    rows: Any,  # noqa: ANN401 - Arrow carries no types
    points: KeyPoints,
    keys: Sequence[str],
    levels: Sequence[Sequence[Level]],
    best: BestNode,
) -> tuple[Any, list[str], dict[str, Any]]:
    """Return the rows that stay with each key at its level, the changed keys, and what was done."""
    import pyarrow as pa

    changed = []
    for i, (name, of_key, at) in enumerate(zip(keys, levels, best.node, strict=True)):
        if at:
            changed.append(name)
            codes = of_key[at].groups[points.codes[:, i]][points.members]
            rows = _replace(rows, name, of_key[at].labels, codes)
    levels_of = tuple((at, len(of) - 1) for at, of in zip(best.node, levels, strict=True))
    done = {"levels": levels_of, "classes": best.classes, "losses": best.losses}
    return rows.filter(pa.array(best.large[points.members])), changed, done


def _in_boxes(
    rows: Any,  # noqa: ANN401 - Arrow carries no types
    points: KeyPoints,
    keys: Sequence[str],
    k: int,
    tell: Progress,
) -> tuple[Any, list[str], dict[str, Any]]:
    """Return the rows with each key as the span of its box, the changed keys, and what was done."""
    tell("search", 0.0)
    boxes = mondrian_boxes(points.codes, points.counts, k)
    order = np.argsort(boxes, kind="stable")
    starts = np.flatnonzero(np.diff(boxes[order], prepend=-1))
    sizes = np.add.reduceat(points.counts[order], starts)
    losses, changed = [], []
    tell("search", 1.0)
    for i, key in enumerate(keys):
        low = np.minimum.reduceat(points.codes[order, i], starts)
        high = np.maximum.reduceat(points.codes[order, i], starts)
        values = points.values[i]
        spread = int(((high - low) * sizes).sum())
        losses.append(Fraction(spread, max(len(values) - 1, 1) * rows.num_rows))
        if not spread:
            continue
        changed.append(key)
        spans, which = np.unique(low * len(values) + high, return_inverse=True)
        ends = [(values[n // len(values)], values[n % len(values)]) for n in spans.tolist()]
        labels = [  # a missing value comes last in the order of values
            end if end == start else f"[{start} .. {'missing' if end is None else end}]"
            for start, end in ends
        ]
        rows = _replace(rows, key, labels, which[boxes][points.members])
    return rows, changed, {"levels": None, "classes": starts.size, "losses": tuple(losses)}
