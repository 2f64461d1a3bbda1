"""What a release still tells: verdicts on confidential columns, and columns that undo its work."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from itertools import chain, product
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.table import Table
from hartley.errors import OptionError
from hartley.kernels.dependence import find_dependences
from hartley.ranges.classes import encode_column
from hartley.schema.roles import WITHHELD
from hartley.studies.look.exposure import Judge
from hartley.studies.look.verdict import Verdict, groups_of, verdict_tiles, worst
from hartley.tables.counts import distinct_values
from hartley.tables.opening import open_table
from hartley.tables.view import clean_column, run
from hartley.text import join_first

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hartley.ranges.classes import Singling
    from hartley.report import Tile
    from hartley.schema.roles import Roles

ORDERED = 8
"""So many different values are in the order of others, or its reverse, once in 20,000 by chance."""
SORTED = (
    "The rows are written sorted by what is released, so that their order tells nothing of the "
    "table."
)
NOT_ASKED = "What it tells about confidential values was not asked: no column is confidential."


@dataclass(frozen=True)
class Undone:
    """A column that is released as it is, and tells a key that the release changes."""

    column: str
    key: str
    changed: str
    """What the release does to the key, such as "coarsened"."""

    @property
    def sentence(self) -> str:
        """Say that the column undoes the change."""
        return f"{self.column} is released as it is and tells {self.key}, which is {self.changed}."


@dataclass(frozen=True, kw_only=True)
class Disclosing:
    """A result that knows what its release tells."""

    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    """The verdict on each confidential column."""
    undone: tuple[Undone, ...] = ()
    """The columns that undo what was done to a key, which the owner allowed."""
    repeated: str = ""
    """Which identifiers have fewer values than rows, where a row counts as a person."""
    singling: Singling | None = None
    """Whom the columns that are released as they are single out; None where nobody is counted."""

    @property
    def verdict(self) -> Verdict | None:
        """The worst of the verdicts; None where no column is confidential."""
        return worst([*self.verdicts.values()]) if self.verdicts else None

    @property
    def made(self) -> str:
        """What was done to the rows, in one sentence."""
        raise NotImplementedError

    @property
    def told(self) -> tuple[str, ...]:
        """Whom the release singles out, what it tells and what to do, the worst first."""
        singling, verdict = self.singling, self.verdict
        singled = ("",) if singling is None else (singling.warning,)
        said = (NOT_ASKED,) if verdict is None else verdict.sentences
        do = "" if verdict is None or not verdict.nearly_told else verdict.next
        parts = [*singled, *said, do]
        if singling is not None and verdict and verdict.nearly_told > singling.together:
            parts = [*said, do, *singled]
        undone = (undone.sentence for undone in self.undone)
        return tuple(filter(None, (*parts, *undone, self.repeated)))

    @property
    def said(self) -> tuple[str, str]:
        """What was done with the worst that it tells, for a headline, and what stands below."""
        return " ".join((self.made, *self.told[:1])), " ".join(self.told[1:])

    @property
    def headline(self) -> str:
        """What was done, whom it singles out, what it tells and what to do."""
        return " ".join((self.made, *self.told))

    @property
    def judgements(self) -> tuple[str, ...]:
        """What the release tells about the other confidential columns, and whom columns find."""
        others = (v.sentence for v in self.verdicts.values() if v is not self.verdict)
        return (*others, *(() if self.singling is None else self.singling.sentences))

    @property
    def verdict_tiles(self) -> tuple[Tile, ...]:
        """The cards of the verdict."""
        return () if self.verdict is None else verdict_tiles(self.verdict)

    def disclosed(self) -> dict[str, Any]:
        """Return what the release tells as plain values, ready for JSON."""
        return {
            "verdict": None if self.verdict is None else self.verdict.to_dict(),
            "verdicts": {name: verdict.to_dict() for name, verdict in self.verdicts.items()},
            "undone": [asdict(undone) for undone in self.undone],
            "singled_out": None if self.singling is None else self.singling.to_dict(),
        }


def in_order(rows: Any, columns: Sequence[str]) -> Any:  # noqa: ANN401 - Arrow carries no types
    """Return rows sorted by columns."""
    codes = [encode_column(rows.column(name))[0] for name in columns[::-1]]
    return rows.take(np.lexsort(codes))


# --- verdicts -------------------------------------------------------------------------------------


def verdicts_on(
    released: object,
    keys: Sequence[str],
    confidential: Sequence[str],
    unit: str | None = None,
    roles: Roles | None = None,
) -> dict[str, Verdict]:
    """Return what keys as they are released tell about each confidential column.

    A column with groups in the roles is judged at each level; one without any value is not judged.
    """
    opened = open_table(released)
    counts = {name: clean_column(opened, name).count() for name in (*keys, *confidential)}
    present = run(opened, opened.expression.aggregate(**counts).to_pyarrow).to_pylist()[0]
    # A key without any value tells nothing, like one with a single value.
    blank = {name: 0 for name in keys if not present[name]}
    opened = replace(opened, expression=opened.expression.mutate(**blank)) if blank else opened
    named = [name for name in confidential if present[name]]
    judge = Judge(opened, keys, unit=unit, groups=groups_of(roles, named, opened))
    return {name: judge.verdicts((name,), judge.relate(name))[0] for name in named}


# --- columns that undo a release ------------------------------------------------------------------


def find_undone(
    table: object,
    kept: Sequence[str],
    changed: Mapping[str, str],
    allowed: str | Sequence[str] | None = None,
) -> tuple[Undone, ...]:
    """Return the columns, released as they are, that tell a key which the release changes.

    One that was not allowed is refused. ``changed`` says what the release does to each key.
    """
    wanted = {allowed} if isinstance(allowed, str) else {*(allowed or ())}
    for name in wanted - {*kept}:
        raise OptionError(
            f"The dependence of column '{name}' is allowed, which is not released as it is",
            hint=f"choose from {join_first(kept, 12)}" if kept else "leave it out",
        )
    # A column that is released as it is may also go into another one, such as a quotient.
    pairs = telling_columns(table, kept, [name for name in changed if name not in kept])
    found = tuple(Undone(name, key, changed[key]) for name, key in pairs)
    for undone in found:
        if undone.column not in wanted:
            raise OptionError(
                f"Column '{undone.column}' {undone.sentence[len(undone.column) + 1 : -1]}",
                hint="make it a key, or leave it out",
            )
    return found


def refuse_unreleased(
    source: object, roles: Roles, released: Sequence[str], as_they_are: Sequence[str] = ()
) -> None:
    """Refuse to release columns whose roles forbid it, or that tell who somebody is."""
    roles.refuse_identifiers(released, roles=WITHHELD)
    identifiers = roles.named("identifier", "household")
    if identifiers and as_they_are:
        table = source if isinstance(source, Table) else open_table(source, reading=roles.reading)
        hidden = [name for name in identifiers if name in table.columns]
        refuse_told(table, as_they_are, hidden, "is never released")


def refuse_told(table: object, columns: Sequence[str], told: Sequence[str], says: str) -> None:
    """Refuse columns that are released and tell one that is not."""
    for column, tells in telling_columns(table, columns, told):
        raise OptionError(
            f"Column '{column}' is released and tells {tells}, which {says}",
            hint="leave it out, or make it a key that is coarsened further",
        )


def refuse_people(method: str, units: Sequence[str], homes: Sequence[str]) -> None:
    """Refuse columns that say whose rows are whose, where a method counts rows."""
    for name in (*units, *homes):
        says = "whose row it is" if name in units else "which of them are of one household"
        raise OptionError(
            f"{method} counts rows, and '{name}' says {says}",
            hint="use anonymize with full-domain, which counts people and households, or give the "
            'column the role "identifier" to count rows',
        )


def telling_columns(
    table: object, columns: Sequence[str], keys: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield each column with a key that follows, or nearly follows, from it.

    A copy, in other words too, follows in a table of any size. All columns of different values are
    copies of each other in other words: of these, the same texts and the same order or its reverse
    count. The engine groups the rows once a column, and once for each pair that could be one.
    """
    opened = open_table(table)
    pairs = [*product(columns, keys)]
    counted = {
        name: -np.sort(-distinct_values(opened, [name]).column("n").to_numpy())
        for name in dict.fromkeys(chain(*pairs))
    }
    for name, key in pairs:
        first, second = counted[name], counted[key]
        # Each value of the first column foretells one of the second, and so no more rows.
        right, rows = int(second[: first.size].sum()), int(second.sum())
        copies = first.size > 1 and np.array_equal(first, second)
        foretold = 20 * (rows - right) <= rows - int(second[:1].sum()) and 2 * first.size <= rows
        if not copies and not foretold:
            continue
        counts = distinct_values(opened, [name, key])
        if copies and counts.num_rows == first.size and (first[0] > 1 or _same(counts)):
            yield name, key
            continue
        codes = [
            np.repeat(encode_column(counts.column(i))[0], counts.column("n")) for i in range(2)
        ]
        if any(find_dependences(codes, lambda a, _: a == 0)):
            yield name, key


def _same(counts: Any) -> bool:  # noqa: ANN401 - Arrow carries no types
    """Tell whether columns of different values hold the same texts, or have one order."""
    (first, values), (second, others) = (encode_column(counts.column(i)) for i in range(2))
    if all(str(values[a]) == str(others[b]) for a, b in zip(first, second, strict=True)):
        return True
    ordered = np.array_equal(first, second) or np.array_equal(first, first.size - 1 - second)
    return ordered and first.size >= ORDERED
