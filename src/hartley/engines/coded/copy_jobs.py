"""What a coded copy is made of, what has to hold before it counts, and what copies are called."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from hartley.engines.coded.row_sums import read_sums, row_sums_query
from hartley.errors import EngineError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hartley.engines.coded.coded_copy import Store
    from hartley.engines.coded.coding import ColumnCoding
    from hartley.engines.coded.row_sums import RowSums, Seeds
    from hartley.engines.tables.table import Table

    Place: TypeAlias = str | os.PathLike[str]
    Check: TypeAlias = Callable[[Store], str]
    """Looks at the codes, refuses them or returns the note that is kept beside them."""

DATABASE_ENDINGS = (".duckdb", ".ddb")
LONGEST_NAME = 63 - len("_about_owner")


@dataclass(frozen=True)
class CopyJob:
    """What is to be copied, and what has to hold before the copy counts."""

    table: Table
    rows: Any
    """The Ibis expression of the codes."""
    codings: tuple[ColumnCoding, ...]
    check: Check = lambda _: ""
    ledger: str = ""
    """The random name of the ledger that the copy is made for, which an unfinished one carries."""

    def query(self) -> str:
        """Return the statement that computes the codes."""
        self.rows.limit(0).to_pyarrow()  # so that Ibis registers the lists of categories
        return str(self.table.backend.compile(self.rows))

    def sums_query(self, relation: str, seeds: Seeds, copy: Store) -> str:
        """Return the statement that adds up the rows of the table, to be compared with a copy."""
        dialect = {"pyspark": "spark"}.get(self.table.engine, self.table.engine)
        portable = dialect != copy.dialect
        return row_sums_query(self.codings, relation, seeds, dialect, portable=portable)

    def sums_of(self, copy: Store, seeds: Seeds) -> RowSums:
        """Add up the rows of a copy."""
        portable = self.table.engine != copy.engine
        name = relation_of(copy)
        text = row_sums_query(self.codings, name, seeds, copy.dialect, portable=portable)
        return read_sums([column[0].as_py() for column in copy.fetch(text).columns])

    def compare(self, expected: RowSums, copy: Store, seeds: Seeds) -> None:
        """Refuse a copy that does not hold the rows that the coding statement gives."""
        if self.sums_of(copy, seeds) != expected:
            raise EngineError(
                f"The coded copy of {self.table.name} does not hold the rows that the engine "
                f"{self.table.engine} coded, so nothing was recorded",
                hint="if the table changed meanwhile, copy it again; else look at the engine with "
                "hartley doctor",
            )


# --- names ---


def is_database(place: Place | None) -> bool:
    """Tell whether a place is a DuckDB file."""
    return place is not None and os.fspath(place).lower().endswith(DATABASE_ENDINGS)


def is_file(place: Place, near: Table | None) -> bool:
    """Tell whether a copy is a DuckDB file, and not a table of another engine."""
    return near is None or near.engine == "duckdb" or is_database(place)


def is_folder(place: Place) -> bool:
    """Tell whether a copy on Spark is a folder of files, and not a table."""
    return "/" in os.fspath(place)


def sql_name(parts: Sequence[str], *, more: str = "", quote: str = '"') -> str:
    """Write the name of a table.

    Example:
        >>> sql_name(("private", "people"), more="_about")
        '"private"."people_about"'
    """
    return ".".join(f"{quote}{part}{quote}" for part in (*parts[:-1], parts[-1] + more))


def relation_of(store: Store) -> str:
    """Write the name of the table of a store as its engine quotes it."""
    return sql_name(store.relation, quote="`" if store.dialect == "spark" else '"')


def name_parts(place: Place, *, most: int) -> tuple[str, ...]:
    """Split the name of a table; anything but plain letters, digits and underscores is refused."""
    parts = tuple(os.fspath(place).split("."))
    plain = all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", part) for part in parts)
    if not plain or len(parts) > most or len(parts[-1]) > LONGEST_NAME:
        raise InputError(
            f"The place {os.fspath(place)} for the coded copy is no name of a table",
            hint="write for example private.people_coded, in plain letters, digits and underscores",
        )
    return parts


def taken(place: Place) -> InputError:
    """Return the error for a place where something is already."""
    return InputError(
        f"The place {Path(place).name} for the coded copy is taken",
        hint="open the copy that is there, or choose another name for new data",
    )


def unwritable(target: Path) -> InputError:
    """Return the error for a place that cannot be written."""
    return InputError(
        f"The place {target.name} for the coded copy cannot be written",
        hint="check that its folder exists, may be written to and has room",
    )
