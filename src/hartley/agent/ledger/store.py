"""What the ledger needs of a database, in statements that SQLite and PostgreSQL both run.

Beside the rows there are two tables that only index them, by the digest of a question: who was
charged for it, and what was answered. They can be made again from the rows at any time.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

from hartley.agent.ledger.entries import FIELDS, FORMAT, Entry, Head
from hartley.errors import EngineError, HartleyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from hartley.agent.ledger.connections import Pool

T = TypeVar("T")

PAGE = 500
"""Rows read at once, and questions looked up at once."""
COLUMNS = ", ".join(FIELDS)
FIRST = -(2**63)
"""The smallest number that a row can have in a database, whoever wrote it."""
ATTEMPTS = 5


def broken(problem: str) -> EngineError:
    """Return the error for a ledger that does not hold together; nothing is written to it."""
    return EngineError(
        f"The ledger cannot be used: {problem}",
        hint="run 'hartley ledger verify' on it, and restore a backup",
    )


class Transaction:
    """Reading and appending inside one transaction; statements have question marks for values."""

    def __init__(
        self,
        run: Callable[[str, Sequence[Any]], list[Any]],
        run_many: Callable[[str, list[tuple[Any, ...]]], None],
    ) -> None:
        self.run, self.run_many = run, run_many

    # --- rows ---

    def head(self) -> Head | None:
        """Return where the chain ends by the note that is kept beside it."""
        found = self.run("SELECT sequence, hash, format FROM hartley_head", ())
        return Head(*found[0]) if found and found[0][0] else None

    def last(self) -> Entry | None:
        """Return the last row, after a look that it is the one that was written last."""
        entry = self._one("ORDER BY sequence DESC LIMIT 1")
        head = self.head()
        if (head is None) != (entry is None):
            raise broken("its last rows are missing")
        if entry is not None and head is not None:
            if (entry.sequence, entry.hash) != (head.sequence, head.hash):
                raise broken(f"row {head.sequence} was written last and is not the last")
            check(entry)
        return entry

    def latest(self, dataset: str, account: str | None = None) -> Entry | None:
        """Return the last row of a dataset, or of one account in it."""
        if account is None:
            return self._one("WHERE dataset = ? ORDER BY sequence DESC LIMIT 1", dataset)
        return self._one(
            "WHERE dataset = ? AND account = ? ORDER BY sequence DESC LIMIT 1", dataset, account
        )

    def entry(self, sequence: int) -> Entry | None:
        """Return one row."""
        return self._one("WHERE sequence = ?", sequence)

    def _one(self, where: str, *values: object) -> Entry | None:
        found = self.run(f"SELECT {COLUMNS} FROM hartley_entries {where}", values)  # noqa: S608 - our own words
        return Entry(*found[0]) if found else None

    def entries(self, start: int = FIRST, *, dataset: str | None = None) -> Iterator[Entry]:
        """Yield rows in order, a page at a time, even those before the first that are no rows."""
        chosen = "sequence >= ?" if dataset is None else "dataset = ? AND sequence >= ?"
        kept = () if dataset is None else (dataset,)
        while True:
            found = self.run(
                f"SELECT {COLUMNS} FROM hartley_entries WHERE {chosen} "  # noqa: S608 - our own words
                f"ORDER BY sequence LIMIT {PAGE}",
                (*kept, start),
            )
            for row in found:
                yield Entry(*row)
            if len(found) < PAGE:
                return
            start = found[-1][0] + 1

    def append(self, entry: Entry) -> None:
        """Add a row and move the note where the chain ends."""
        marks = ", ".join("?" * len(FIELDS))
        self.run(f"INSERT INTO hartley_entries ({COLUMNS}) VALUES ({marks})", entry.fields)  # noqa: S608 - our own words
        self.run("UPDATE hartley_head SET sequence = ?, hash = ?", (entry.sequence, entry.hash))

    def hash_before_migration(self, found: int, sequence: int) -> str | None:
        """Return the hash that a row had in an older format, where it is still known."""
        marks = self.run("SELECT content FROM hartley_entries WHERE kind = 'migrated'", ())
        if not any(json.loads(row[0])["format"] == found for row in marks):
            return None
        rows = self.run(f"SELECT hash FROM hartley_entries_{found} WHERE sequence = ?", (sequence,))  # noqa: S608 - a number
        return rows[0][0] if rows else None

    # --- datasets and accounts ---

    def datasets(self) -> list[str]:
        """Name the datasets."""
        return self._distinct("dataset", "TRUE", ())

    def accounts(self, dataset: str) -> list[str]:
        """Name the accounts of a dataset."""
        return self._distinct("account", "dataset = ?", (dataset,))

    def _distinct(self, column: str, where: str, values: tuple[str, ...]) -> list[str]:
        """Hop along the index from one value to the next, whatever the number of rows."""
        found = self.run(
            f"WITH RECURSIVE hop(name) AS (SELECT min({column}) FROM hartley_entries WHERE {where} "  # noqa: S608 - our own words
            f"UNION ALL SELECT (SELECT min({column}) FROM hartley_entries WHERE {where} "
            f"AND {column} > hop.name) FROM hop WHERE hop.name IS NOT NULL) "
            "SELECT name FROM hop WHERE name IS NOT NULL",
            (*values, *values),
        )
        return [row[0] for row in found]

    def versions(self, dataset: str) -> list[str]:
        """Name every version that the data of a dataset had, the present one last."""
        found = self.run(
            "SELECT content FROM hartley_entries WHERE dataset = ? "
            "AND kind IN ('created', 'version', 'erasure', 'schema') ORDER BY sequence",
            (dataset,),
        )
        told = [json.loads(row[0]) for row in found]
        return [content["version"] for content in told if "version" in content]

    def all_versions(self) -> dict[str, list[str]]:
        """Name the versions of every dataset."""
        return {dataset: self.versions(dataset) for dataset in self.datasets()}

    # --- questions ---

    def asked(self, digests: Sequence[str]) -> dict[str, set[str]]:
        """Return the accounts that were charged for questions, by digest."""
        rows = self._by_digest("digest, account", "hartley_asked", digests)
        return {key: {row[1] for row in group} for key, group in groupby(rows, lambda row: row[0])}

    def answers(self, digests: Sequence[str]) -> dict[str, str]:
        """Return the answers that are known, by digest."""
        return dict(self._by_digest("digest, answer", "hartley_answers", digests))

    def _by_digest(self, columns: str, table: str, digests: Sequence[str]) -> list[Any]:
        wanted, found = sorted(set(digests)), []
        for start in range(0, len(wanted), PAGE):
            page = wanted[start : start + PAGE]
            marks = ", ".join("?" * len(page))
            statement = f"SELECT {columns} FROM {table} WHERE digest IN ({marks}) ORDER BY digest"  # noqa: S608 - our own words
            found += self.run(statement, page)
        return found

    def note_asked(self, digests: Sequence[str], account: str, sequence: int) -> None:
        """Index the questions that a row charges an account for."""
        self.run_many(
            "INSERT INTO hartley_asked (digest, account, sequence) VALUES (?, ?, ?)",
            [(digest, account, sequence) for digest in digests],
        )

    def note_answers(self, answers: Mapping[str, str], sequence: int) -> None:
        """Index the answers that a row holds."""
        self.run_many(
            "INSERT INTO hartley_answers (digest, answer, sequence) VALUES (?, ?, ?)",
            [(digest, answer, sequence) for digest, answer in answers.items()],
        )

    def unanswered(self, dataset: str) -> list[int]:
        """Return the rows with a question that was charged and never answered."""
        found = self.run(
            "SELECT DISTINCT a.sequence FROM hartley_asked a "
            "JOIN hartley_entries e ON e.sequence = a.sequence "
            "LEFT JOIN hartley_answers w ON w.digest = a.digest "
            "WHERE w.digest IS NULL AND e.dataset = ? ORDER BY a.sequence",
            (dataset,),
        )
        return [row[0] for row in found]

    def indexed(self) -> tuple[list[Any], list[Any]]:
        """Return both tables that index the rows, in order, whole."""
        asked = "SELECT digest, account, sequence FROM hartley_asked ORDER BY digest, account"
        answers = "SELECT digest, answer, sequence FROM hartley_answers ORDER BY digest"
        return self.run(asked, ()), self.run(answers, ())


class Store(ABC):
    """A database that keeps a ledger."""

    name: str
    """How to call it in a sentence; holds no password."""
    path: Path | None = None
    """The file, where it is one."""
    pool: Pool

    @abstractmethod
    def read(self, work: Callable[[Transaction], T]) -> T:
        """Do something that only reads, all of it at one moment of the ledger."""

    @abstractmethod
    def write(self, work: Callable[[Transaction], T], *, again: bool = True) -> T:
        """Do something as if nobody else wrote; durable when this returns, else without trace.

        Args:
            work: called again where the store could not finish it.
            again: whether that is right even if it may have been finished.
        """

    @abstractmethod
    def wipe(self, transaction: Transaction) -> None:
        """Remove every row, for a restore that replaces them."""

    @abstractmethod
    def copy_to(self, path: Path) -> None:
        """Write a copy of one moment of the ledger to a file, without what is private."""

    @abstractmethod
    def holds_table(self, transaction: Transaction, name: str) -> bool:
        """Tell whether there is a table of this name."""

    @abstractmethod
    def shield(self, transaction: Transaction, name: str) -> None:
        """Keep a table from the eyes of others, as far as the store can."""

    @abstractmethod
    def making(self) -> AbstractContextManager[None]:
        """Say, while a coded copy is made and recorded, that somebody is at it."""

    @abstractmethod
    def sweep(self, work: Callable[[Transaction], None]) -> bool:
        """Do something while nobody makes a copy or writes; tell whether that was possible now."""

    def close(self) -> None:
        """Close every connection."""
        self.pool.close()


def check(entry: Entry) -> Entry:
    """Refuse to build on a row that was changed."""
    if entry.hash != entry.expected_hash:
        raise broken(f"row {entry.sequence} was changed")
    return entry


def check_format(found: int | None, name: str) -> bool:
    """Tell whether a store is of the present format; refuse one that is newer."""
    if found is not None and found > FORMAT:
        raise EngineError(
            f"The ledger {name} has format {found}, newer than format {FORMAT} of this program",
            hint="use the version of Hartley that wrote it, or a newer one",
        )
    return found == FORMAT


def lasting(error: Exception, name: str) -> HartleyError:
    """Return the error for a store that does not do what it should, without its own words."""
    return EngineError(
        f"The ledger {name} does not answer ({type(error).__name__})",
        hint="look whether the disk is full, the file writable or the server up; nothing is lost",
    )
