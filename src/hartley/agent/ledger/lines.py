"""A ledger as JSON lines: one that says the format and the end, then one a row; all public."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hartley.agent.ledger.entries import FIELDS, FORMAT, Entry, Head, canonical
from hartley.agent.ledger.store import check_format
from hartley.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hartley.agent.ledger.store import Transaction


def write_lines(transaction: Transaction, path: Path) -> int:
    """Write every row to a file; return how many."""
    rows = 0
    last = transaction.last()
    end = {"sequence": 0, "hash": ""} if last is None else vars(Head(last.sequence, last.hash))
    with path.open("x", encoding="ascii", newline="\n") as file:
        file.write(canonical({"ledger": "hartley", "format": FORMAT, **end}) + "\n")
        for entry in transaction.entries():
            file.write(canonical(dict(zip(FIELDS, entry.fields, strict=True))) + "\n")
            rows += 1
    return rows


def read_lines(path: Path) -> Iterator[Entry]:
    """Read the rows that were written."""
    with path.open(encoding="ascii") as file:
        try:
            first = json.loads(file.readline())
            if first["ledger"] != "hartley":
                raise _unreadable(path)
            found, end = int(first["format"]), (first["sequence"], first["hash"])
        except (ValueError, KeyError, TypeError):
            raise _unreadable(path) from None
        if not check_format(found, f"'{path}'"):
            raise _unreadable(path)
        last: tuple[int, str] = (0, "")
        for line in file:
            entry = _read(line, path)
            last = (entry.sequence, entry.hash)
            yield entry
        if last != end:
            raise InputError(
                f"The file '{path}' does not end with row {end[0]} as it says",
                hint="it was cut off or changed; give another copy",
            )


def _read(line: str, path: Path) -> Entry:
    try:
        content = json.loads(line)
        entry = Entry(**content)
    except (ValueError, TypeError):
        raise _unreadable(path) from None
    if type(entry.sequence) is not int or not all(isinstance(v, str) for v in entry.fields[1:]):
        raise _unreadable(path)
    return entry


def _unreadable(path: Path) -> InputError:
    return InputError(
        f"The file '{path}' is not an exported ledger",
        hint="give a file that 'hartley ledger export' or 'hartley ledger backup' wrote",
    )
