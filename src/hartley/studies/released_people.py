"""How many people a written release singles out, leaves among few, or gives away."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.counting.classes import released_sizes, secrets_by_class
from hartley.engines.tables.reading_options import ReadingOptions
from hartley.engines.tables.sources import open_table
from hartley.engines.tables.table import Kind
from hartley.engines.tables.view import as_texts
from hartley.errors import EngineError, TableError
from hartley.files import content_of
from hartley.numerals import percent_at_most
from hartley.ranges.relations.people import PeopleCounts, check_k
from hartley.wording import counted

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from hartley.engines.tables.table import Table

DRAWN = (
    "Values that were drawn at random count as they were drawn: who is found by them may be "
    "somebody else."
)


@dataclass(frozen=True)
class ReleasedPeople:
    """Whom the rows of a release single out, counted in the file that was written."""

    counts: PeopleCounts
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
            f"The other released columns give away {column} for {counted(people, 'person')} "
            f"({percent_at_most(Fraction(people, rows))})."
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

    Args:
        out: the Parquet or CSV file, also while it waits for others to be written.
        k: people who share their released values with fewer, themselves included, are counted.
        confidential: columns by which nobody is looked for.
        drawn: columns whose values were drawn at random: of a confidential one nothing is certain.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     out = Path(folder, "out.csv")
        ...     _ = out.write_text("sex,ill\nF,flu\nF,flu\nM,hiv\nM,flu\n")
        ...     released_people(out, 3, confidential=["ill"]).to_dict()["sentences"][1]
        'The other released columns give away ill for 2 people (50 %).'
    """
    check_k(k)
    try:
        return _counted(out, k, confidential, drawn)
    except (TableError, EngineError):  # what was written stays right, if it cannot be read back
        return None


def _counted(
    out: str | os.PathLike[str], k: int, confidential: Sequence[str], drawn: Sequence[str]
) -> ReleasedPeople | None:
    rows = _as_written(out)
    if any(rows.kind(name) is Kind.NESTED or name in rows.blunt for name in rows.columns):
        return None
    keys = [name for name in rows.columns if name not in confidential]
    sizes = released_sizes(rows, keys) if keys else {_rows(rows): 1}
    each = np.repeat([*sizes.keys()], [*sizes.values()]).astype(np.int64)
    certain = [name for name in confidential if name in rows.columns and name not in drawn]
    return ReleasedPeople(
        PeopleCounts.of_classes(each, k),
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


def _as_written(out: str | os.PathLike[str]) -> Table:
    """Open a release; a reader of a CSV file sees texts."""
    path = content_of(out)
    with path.open("rb") as file:
        is_parquet = file.read(4) == b"PAR1"
    if is_parquet:
        return open_table(path)
    table = open_table(path, reading=ReadingOptions(header=1, delimiter=","))
    return as_texts(table, table.columns)


def _rows(table: Table) -> int:
    from hartley.engines.tables.failures import run

    return int(run(table, table.expression.count().to_pyarrow).as_py())
