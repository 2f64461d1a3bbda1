"""What can be read from a ledger: balances, charges, answers, and what waits for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hartley.agent.ledger.appending import find
from hartley.agent.ledger.charging import plan, read_batch
from hartley.agent.ledger.entries import canonical, question_digest, read_integer
from hartley.agent.ledger.standing import Balance, read_standing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from hartley.agent.ledger.charging import Reservation
    from hartley.agent.ledger.entries import Head
    from hartley.agent.ledger.store import Transaction


@dataclass(frozen=True)
class State:
    """How a dataset stands."""

    dataset: str
    budget: Fraction
    """In bits."""
    open_factor: int
    """The product of the factors of the open columns, over all versions of the data."""
    spent: int
    """The product of all charges."""
    version: str
    rows: int | None
    """The public number of rows; None where it is private."""
    schema_version: str
    rule_version: str
    schema: Any
    """The present schema as it was recorded."""
    allowances: Mapping[str, Balance]
    """By analyst."""
    free: Balance
    """What no allowance sets aside: shared by the others, and the open columns are paid from it."""
    head: Head

    @property
    def balance(self) -> Balance:
        """What all analysts together may spend, and have spent, the open columns included."""
        return Balance(self.budget, self.open_factor * self.spent)

    @property
    def remaining(self) -> float:
        """What is left of the budget, in bits."""
        return self.balance.remaining


@dataclass(frozen=True)
class Charge:
    """One batch that was paid for."""

    sequence: int
    time: str
    analyst: str
    version: str
    questions: tuple[Any, ...]
    answers: tuple[str | None, ...]
    """Cell indices as text, 'null' of a NULL; None where it is not answered yet."""
    cells: int
    """Of the dataset; in an analyst's own view, of the analyst's account."""
    note: str | None


def known_answers(transaction: Transaction, dataset: str, texts: Sequence[str]) -> list[str | None]:
    """Return the answers to questions about the present version of the data, None where unknown."""
    standing = find(transaction, dataset).standing
    digests = [question_digest(dataset, standing.version, standing.schema, text) for text in texts]
    known = transaction.answers(digests)
    return [known.get(digest) for digest in digests]


def read_state(transaction: Transaction, dataset: str) -> State:
    """Return how a dataset stands."""
    standing = find(transaction, dataset).standing
    declared, head = transaction.entry(standing.schema_row), transaction.head()
    assert declared is not None  # the row that the standing names
    assert head is not None
    balances = {
        holder: standing.balance_of(read_standing(row)[1])
        for holder in transaction.accounts(dataset)
        if (row := transaction.latest(dataset, holder)) is not None
    }
    return State(
        dataset=dataset,
        budget=standing.budget,
        open_factor=standing.open,
        spent=standing.spent,
        version=standing.version,
        rows=standing.rows,
        schema_version=standing.schema,
        rule_version=standing.rules,
        schema=declared.told["schema"],
        free=balances.pop(""),
        allowances=balances,
        head=head,
    )


def list_pending(transaction: Transaction, dataset: str) -> list[Reservation]:
    """Return what was charged and never answered, of the present version of the data."""
    found = []
    standing = find(transaction, dataset).standing
    for row in transaction.unanswered(dataset):
        entry = transaction.entry(row)
        assert entry is not None
        if (entry.told["version"], entry.schema) != (standing.version, standing.schema):
            continue  # the data that it was about are gone
        batch = read_batch(dataset, entry.analyst, entry.told["questions"])
        found.append(plan(transaction, batch).reservation(batch, row))
    return found


def list_charges(transaction: Transaction, dataset: str, analyst: str | None) -> list[Charge]:
    """Return every batch that was paid for, or those of one analyst."""
    find(transaction, dataset)
    found = []
    for entry in transaction.entries(dataset=dataset):
        if entry.kind != "reserve" or (analyst is not None and entry.analyst != analyst):
            continue
        told = entry.told
        texts = [canonical(question) for question in told["questions"]]
        digests = [question_digest(dataset, told["version"], entry.schema, text) for text in texts]
        known = transaction.answers(digests)
        found.append(
            Charge(
                sequence=entry.sequence,
                time=entry.time,
                analyst=entry.analyst,
                version=told["version"],
                questions=tuple(told["questions"]),
                answers=tuple(known.get(digest) for digest in digests),
                cells=read_integer(entry.cells if analyst is None else entry.account_cells),
                note=told.get("note"),
            )
        )
    return found
