"""Migrations of a ledger from an older format to the present one.

Format 1 had one dataset per ledger: rows without dataset, account and state, and answers in the
order of the questions of the row that reserved them. Its chain is checked first, its rows stay
next to the new ones under another name, and the last new row contains the hash of its last row, so
that a head saved before the migration can still be checked.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hartley.agent.ledger.rows.balances import one_part, promise
from hartley.agent.ledger.rows.entries import (
    BEFORE_THE_FIRST,
    NULL,
    broken,
    canonical,
    digest,
    question_digest,
    read_integer,
)
from hartley.agent.ledger.rows.state import Account
from hartley.agent.ledger.stores.chain import add_row, add_settled, find
from hartley.exact import parse_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from hartley.agent.ledger.stores.store import Transaction

COLUMNS = "sequence, time, analyst, kind, content, cells, schema, rules, previous, hash"


@dataclass(frozen=True)
class OldEntry:
    """A row of format 1."""

    sequence: int
    time: str
    analyst: str
    kind: str
    content: str
    cells: str
    schema: str
    rules: str
    previous: str
    hash: str

    @property
    def expected_hash(self) -> str:
        """The hash of the row's fields."""
        values = [getattr(self, name) for name in COLUMNS.split(", ")[:-1]]
        return digest("hartley ledger 1", *map(str, values))


def migrate(
    transaction: Transaction, version: int, create_tables: Callable[[Transaction], None]
) -> None:
    """Migrate a store from an older format to the present one, inside one transaction."""
    if version != 1:
        raise broken(f"its format {version} is unknown")
    rows = transaction.run(f"SELECT {COLUMNS} FROM hartley_entries ORDER BY sequence", ())  # noqa: S608 - our own words
    entries = [OldEntry(*row) for row in rows]
    head = transaction.run("SELECT sequence, hash FROM hartley_head", ())[0]
    _check_chain(entries, head)
    for table in ("entries", "head"):
        transaction.run(f"ALTER TABLE hartley_{table} RENAME TO hartley_{table}_1", ())
    create_tables(transaction)
    if not entries:
        return
    dataset = json.loads(entries[0].content)["dataset"]
    reserved: dict[int, list[str]] = {}
    for entry in entries:
        _carry_over(transaction, dataset, entry, reserved)
    place = find(transaction, dataset)
    content = {"format": 1, "hash": entries[-1].hash, "sequence": entries[-1].sequence}
    add_row(transaction, place, "migrated", content)


def _check_chain(entries: list[OldEntry], head: tuple[int, str]) -> None:
    previous = BEFORE_THE_FIRST
    for number, entry in enumerate(entries, 1):
        if (entry.sequence, entry.previous) != (number, previous):
            raise broken(f"row {number} is missing")
        if entry.hash != entry.expected_hash:
            raise broken(f"row {number} was changed")
        previous = entry.hash
    if tuple(head) != ((len(entries), previous) if entries else (0, "")):
        raise broken("its last rows are missing")


def _carry_over(
    transaction: Transaction, dataset: str, entry: OldEntry, reserved: dict[int, list[str]]
) -> None:
    """Write an old row as a new one, and remember the questions that it reserves."""
    old_content = json.loads(entry.content)
    if entry.kind == "reserve":
        reserved[entry.sequence] = _carry_reserve(transaction, dataset, entry, old_content)
    elif entry.kind == "commit":
        texts = [NULL if answer is None else answer for answer in old_content["answers"]]
        answers = dict(zip(reserved[old_content["reserve"]], texts, strict=True))
        place = find(transaction, dataset, entry.analyst)
        content = {"answers": answers, "version": place.standing.version}
        row = add_row(transaction, place, "commit", content, time=entry.time)
        transaction.note_answers(answers, row.sequence)
    else:
        before = None if entry.kind == "created" else find(transaction, dataset)
        standing, account = (before.standing, before.account) if before else (None, Account())
        old_content.pop("dataset", None)
        if entry.kind in {"created", "budget"}:
            old_content |= {
                "before": None if standing is None else str(standing.budget),
                "promise": promise(parse_number(old_content["bits"], name="the budget")),
            }
        else:
            old_content["rules"] = entry.rules
        old_content["open_charge"] = old_content.get("open_factor", "1")
        add_settled(
            transaction, dataset, "", entry.kind, old_content, standing, account, entry.time
        )


def _carry_reserve(
    transaction: Transaction, dataset: str, entry: OldEntry, old_content: dict[str, Any]
) -> list[str]:
    place = find(transaction, dataset, entry.analyst)
    standing, cells = place.standing, read_integer(entry.cells)
    after = replace(
        place,
        standing=standing.after(one_part(cells), standing.rules),
        account=place.account.charged(one_part(cells)),
    )
    content = {
        "fresh": list(range(len(old_content["questions"]))),
        "version": standing.version,
        **old_content,
    }
    row = add_row(
        transaction, after, "reserve", content, cells=cells, account_cells=cells, time=entry.time
    )
    digests = [
        question_digest(dataset, standing.version, standing.schema, canonical(question))
        for question in old_content["questions"]
    ]
    transaction.note_asked(digests, place.holder, row.sequence)
    return digests
