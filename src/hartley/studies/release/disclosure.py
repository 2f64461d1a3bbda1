"""What a release still tells: verdicts on confidential columns, and columns that undo its work."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.kernels.dependence import is_foretold
from hartley.ranges.classes import encode_column
from hartley.ranges.counting import Pairs, Summary
from hartley.ranges.relation import is_missing
from hartley.report import Tile
from hartley.studies.look.exposure import class_codes
from hartley.studies.look.verdict import Verdict, worst
from hartley.tables.counts import distinct_values
from hartley.tables.opening import open_table
from hartley.text import join_first, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Codes = NDArray[np.int64]

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

    if TYPE_CHECKING:
        # Fields of the results, which stand at different places.
        @property
        def verdicts(self) -> Mapping[str, Verdict]:
            """The verdict on each confidential column."""

        @property
        def undone(self) -> tuple[Undone, ...]:
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
        """The people of whom a confidential value is certain, and nearly certain."""
        if self.verdict is None:
            return ()
        told, known = self.verdict.told, self.verdict.known[self.verdict.certainty]
        people = plural(known, "person")
        return (
            Tile(
                f"{told:,}",
                f"{plural(told, 'person')} whose {self.verdict.secret[0]} is certain",
                told > 0,
            ),
            Tile(f"{known:,}", f"{people} of whom it is nearly certain", known > 0),
        )

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
    persons: Codes | None = None,
) -> dict[str, Verdict]:
    """Return what keys as they are released tell about each confidential column.

    Without the codes of persons a row is a person; with them the rows are held in memory, in their
    order. A column without any value has no verdict.
    """
    opened, verdicts = open_table(released), {}
    for name in confidential:
        if persons is None:
            columns = distinct_values(opened, [*keys, name])
            *known, secret = (encode_column(columns.column(i)) for i in range(len(keys) + 1))
            rows = columns.column("n").to_numpy()
        else:
            *known, secret = (encode_column(released.column(each)) for each in (*keys, name))
        present = ~is_missing(*secret)
        if not present.any():
            continue
        classes, secrets = class_codes(known)[present], secret[0][present]
        if persons is not None:
            verdicts[name] = Verdict.of_people(persons[present], classes, secrets, keys, [name])
            continue
        _, classes = np.unique(classes, return_inverse=True)
        sizes = len(secret[1]) - (not present.all()), int(classes.max()) + 1
        pairs = Pairs.gather(secrets, classes, rows[present].astype(np.int64), sizes)
        verdicts[name] = Verdict.of_summary(Summary.of_pairs(pairs), keys, [name])
    return verdicts


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
    counted = {
        name: -np.sort(-distinct_values(opened, [name]).column("n").to_numpy())
        for name in dict.fromkeys([*columns, *keys] if columns and keys else ())
    }
    for name in columns:
        for key in keys:
            of_first, of_second = counted[name], counted[key]
            rows, commonest = int(of_second.sum()), int(of_second[0]) if of_second.size else 0
            # Each value of the first column foretells one of the second, and so no more rows.
            right = int(of_second[: of_first.size].sum())
            if 20 * (right - commonest) < 19 * (rows - commonest) or 2 * of_first.size > rows:
                continue
            pairs = distinct_values(opened, [name, key])
            first, second = (encode_column(pairs.column(i))[0] for i in range(2))
            if is_foretold(first, second, pairs.column("n").to_numpy().astype(np.int64)):
                yield name, key
