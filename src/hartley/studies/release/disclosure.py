"""What a release still tells: verdicts on confidential columns, and columns that undo its work."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import chain, product
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.kernels.dependence import find_dependences
from hartley.ranges.classes import encode_column
from hartley.studies.look.exposure import Judge
from hartley.studies.look.verdict import Verdict, groups_of, verdict_tiles, worst
from hartley.tables.counts import distinct_values
from hartley.tables.opening import open_table
from hartley.tables.view import clean_column, run
from hartley.text import join_first

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hartley.report import Tile
    from hartley.schema.roles import Roles

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


class Disclosing:
    """A result that knows what its release tells."""

    verdicts: Mapping[str, Verdict]
    """The verdict on each confidential column."""
    undone: tuple[Undone, ...]
    """The columns that undo what was done to a key, which the owner allowed."""

    @property
    def verdict(self) -> Verdict | None:
        """The worst of the verdicts; None where no column is confidential."""
        return worst([*self.verdicts.values()]) if self.verdicts else None

    @property
    def told(self) -> str:
        """What the release tells, for a headline."""
        said = NOT_ASKED if self.verdict is None else self.verdict.sentence
        return " ".join((said, *(undone.sentence for undone in self.undone)))

    @property
    def judgements(self) -> tuple[str, ...]:
        """What the release tells about each confidential column, and what to do, in sentences."""
        others = (v.sentence for v in self.verdicts.values() if v is not self.verdict)
        following = self.verdict.next if self.verdict is not None else ""
        return (*others, *((following,) if following else ()))

    @property
    def verdict_tiles(self) -> tuple[Tile, ...]:
        """The cards of the verdict."""
        return () if self.verdict is None else verdict_tiles(self.verdict)

    def disclosed(self) -> dict[str, Any]:
        """Return the verdicts as plain values, ready for JSON."""
        return {
            "verdict": None if self.verdict is None else self.verdict.to_dict(),
            "verdicts": {name: verdict.to_dict() for name, verdict in self.verdicts.items()},
            "undone": [asdict(undone) for undone in self.undone],
        }


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
    pairs = telling_columns(table, kept, [*changed])
    found = tuple(Undone(name, key, changed[key]) for name, key in pairs)
    for undone in found:
        if undone.column not in wanted:
            raise OptionError(
                f"Column '{undone.column}' {undone.sentence[len(undone.column) + 1 : -1]}",
                hint="make it a key, or leave it out",
            )
    return found


def telling_columns(
    table: object, columns: Sequence[str], keys: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield each column with a key that follows, or nearly follows, from it.

    The engine groups the rows once a column, and once for each pair that could be one.
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
        if 20 * (rows - right) > rows - int(second[:1].sum()) or 2 * first.size > rows:
            continue
        counts = distinct_values(opened, [name, key])
        codes = [
            np.repeat(encode_column(counts.column(i))[0], counts.column("n")) for i in range(2)
        ]
        if any(find_dependences(codes, lambda a, _: a == 0)):
            yield name, key
