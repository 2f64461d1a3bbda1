"""Exports, saved heads, backups and restores of a ledger."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from hartley.agent.ledger.rows.entries import (
    Entry,
    Head,
    broken,
)
from hartley.agent.ledger.stores.lines import read_lines, write_lines
from hartley.agent.ledger.stores.store import FIRST, PAGE
from hartley.agent.ledger.verification import replay
from hartley.errors import EngineError, InputError, OptionError
from hartley.files import unwritable, whole_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from hartley.agent.ledger.replay import Replay
    from hartley.agent.ledger.stores.store import LedgerStore, Transaction


SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True)
class Restored:
    """What a restore did."""

    rows: int
    """Rows in the ledger now."""
    added: int
    forgotten: int
    """Rows that the ledger lost; more than 0 only if that was forced."""
    head: Head | None


def export(store: LedgerStore, path: Path) -> int:
    """Write every row as JSON lines; return how many."""
    rows_written: list[int] = []
    _whole(path, lambda part: rows_written.append(store.read(lambda t: write_lines(t, part))))
    return rows_written[0]


def back_up(store: LedgerStore, path: Path) -> None:
    """Write a snapshot of the ledger: a file for SQLite, otherwise JSON lines."""

    def write(part: Path) -> None:
        if not store.copy_to(part):
            store.read(lambda transaction: write_lines(transaction, part))

    _whole(path, write, private=True)


def save_head(head: Head | None, path: Path) -> None:
    """Write the head of the chain to a file, to be kept elsewhere; it replaces an older head."""
    if head is None:
        raise OptionError("The ledger is empty and has no head", hint="record something first")
    _whole(path, lambda part: part.write_text(head.to_json() + "\n"), replace=True)


LONGEST_HEAD = 10_000


def read_head(path: Path) -> Head:
    """Read a head that was saved to a file."""
    try:
        with path.open("rb") as file:
            text = file.read(LONGEST_HEAD).decode()
    except (OSError, ValueError):
        raise InputError(f"The head '{path}' cannot be read", hint="check the path") from None
    return Head.from_json(text)


def restore(store: LedgerStore, source: Path, *, force: bool = False) -> Restored:
    """Restore a ledger from a backup or an export.

    The chain of the backup is checked first. Rows are only added: if the ledger has rows that the
    backup lacks, nothing is changed unless forced, since their charges would be forgotten.
    """
    # Checked before the ledger is locked, and compared with a second reading inside.
    state, report = replay(read_backup(source))
    if not report.holds and not (force and report.intact):
        raise EngineError(
            f"The backup '{source}' fails its check: {report.problem}",
            hint="nothing was changed; force it only if there is no other backup, since its "
            "promise is broken"
            if report.intact
            else "give another backup; nothing was changed",
        )

    def work(transaction: Transaction) -> Restored:
        shared_rows, lacking = _compare(transaction.entries(), read_backup(source))
        if lacking and not force:
            raise OptionError(
                f"The ledger has {lacking} rows that the backup lacks",
                hint="their charges would be lost and the promise void; force it only if nobody "
                "saw their answers",
            )
        if lacking:
            store.wipe(transaction)
            shared_rows = 0
        _add(transaction, read_backup(source), state, shared_rows)
        if transaction.head() != report.head:
            raise broken("the backup changed while it was read")
        return Restored(report.rows, report.rows - shared_rows, lacking, report.head)

    return store.write(work)


def read_backup(path: Path) -> Iterator[Entry]:
    """Read the rows of a backup or an export; the file itself is not changed."""
    try:
        with path.open("rb") as file:
            start = file.read(len(SQLITE))
    except OSError:
        raise InputError(f"The file '{path}' cannot be read", hint="check the path") from None
    if start != SQLITE:
        yield from read_lines(path)
        return
    from hartley.agent.ledger.stores.sqlite import SqliteLedgerStore
    from hartley.agent.ledger.stores.write_ahead_log import copy_with_log

    with tempfile.TemporaryDirectory(prefix="hartley-") as folder:
        try:
            copied = copy_with_log(path, Path(folder))
        except OSError as error:
            raise unwritable(f"A copy of '{path}' in {folder}", error) from None
        store = SqliteLedgerStore(Path(copied), create=False)
        try:
            store.read(lambda transaction: transaction.last())
            yield from _pages(store)
        finally:
            store.close()


def _pages(store: LedgerStore) -> Iterator[Entry]:
    start = FIRST
    while page := store.read(partial(_page, start=start)):
        yield from page
        start = page[-1].sequence + 1


def _page(transaction: Transaction, start: int) -> list[Entry]:
    return list(islice(transaction.entries(start), PAGE))


def _compare(present: Iterable[Entry], backup: Iterable[Entry]) -> tuple[int, int]:
    """Return how many first rows are the same, and how many others the present ledger has."""
    same = lacking = 0
    others = iter(backup)
    for entry in present:
        if lacking or entry != next(others, None):
            lacking += 1
        else:
            same += 1
    return same, lacking


def _add(transaction: Transaction, entries: Iterable[Entry], state: Replay, common: int) -> None:
    """Append the missing rows unchanged, and index them."""
    for entry in entries:
        if entry.sequence > common:
            transaction.append(entry)
    for (digest, account), row in state.asked.items():
        if row > common:
            transaction.note_asked([digest], account, row)
    for digest, (answer, row) in state.answers.items():
        if row > common:
            transaction.note_answers({digest: answer}, row)


def _whole(
    path: Path,
    write: Callable[[Path], object],
    *,
    replace: bool = False,
    private: bool = False,
) -> None:
    """Write a file completely or not at all; an existing file is not overwritten by accident."""
    if path.exists() and not replace:
        raise OptionError(f"The file '{path}' exists", hint="give it another name")
    if not path.absolute().parent.is_dir():
        raise OptionError(f"The folder of '{path}' does not exist", hint="create it first")
    with whole_file(path, private=private) as half:
        half.unlink()  # the writer creates the file
        write(half)
