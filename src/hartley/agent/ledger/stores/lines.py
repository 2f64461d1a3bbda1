"""The rows of a ledger as a file of JSON lines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TextIO

from hartley.agent.ledger.rows.entries import FIELDS, FORMAT, STRANGE, Entry, Head, canonical
from hartley.agent.ledger.stores.store import check_format
from hartley.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hartley.agent.ledger.stores.store import Transaction

LONGEST_LINE = 2**28
"""The longest line in characters; a row holds a batch of questions and a few large numbers."""


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
    with path.open(
        encoding="ascii", errors="replace"
    ) as file:  # rows never contain invalid characters
        first = _parsed(_line(file, path), path)
        try:
            if first["ledger"] != "hartley" or type(first["format"]) is not int:
                raise _unreadable(path)
            end = Head(first["sequence"], first["hash"]) if first["sequence"] != 0 else None
        except (*STRANGE, InputError):
            raise _unreadable(path) from None
        if not check_format(first["format"], f"'{path}'"):
            raise _unreadable(path)
        last = None
        while line := _line(file, path):
            last = _entry(line, path)
            yield last
        if (last and (last.sequence, last.hash)) != (end and (end.sequence, end.hash)):
            raise InputError(
                f"The file '{path}' does not end with the row that it names as its last",
                hint="it was cut off or changed; give another copy",
            )


def _line(file: TextIO, path: Path) -> str:
    line = file.readline(LONGEST_LINE)
    if len(line) == LONGEST_LINE:
        raise _unreadable(path)
    return line


def _parsed(line: str, path: Path) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise _unreadable(path) from None


def _entry(line: str, path: Path) -> Entry:
    try:
        entry = Entry(**_parsed(line, path))
    except TypeError:
        raise _unreadable(path) from None
    if type(entry.sequence) is not int or not all(isinstance(v, str) for v in entry.fields[1:]):
        raise _unreadable(path)
    return entry


def _unreadable(path: Path) -> InputError:
    return InputError(
        f"The file '{path}' is not an exported ledger",
        hint="give a file that 'hartley ledger export' or 'hartley ledger backup' wrote",
    )
