"""Reading a ledger for an answer: the state of a dataset, charged rows and known answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from hartley.agent.ledger.rows.balances import Balance
from hartley.agent.ledger.rows.entries import (
    FORMAT,
    STRANGE,
    question_digest,
    unreadable,
)
from hartley.agent.ledger.rows.state import read_standing
from hartley.agent.ledger.stores.chain import find, schema_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from hartley.agent.ledger.rows.balances import Period, Population
    from hartley.agent.ledger.rows.entries import Entry, Head
    from hartley.agent.ledger.stores.chain import RowPlace
    from hartley.agent.ledger.stores.store import Transaction


@dataclass(frozen=True)
class State:
    """The state of a dataset: its budget, its charges, its schema and its version."""

    dataset: str
    budget: Fraction
    """In bits."""
    open_factor: int
    """The product of the factors of the open columns, over all versions of the data."""
    spent: int
    """The product of all charges, for the type of the public columns that was charged most."""
    version: str
    rows: int | None
    """The public number of rows; None if it is private."""
    schema_version: str
    rule_version: str
    schema: Any
    """The recorded present schema."""
    allowances: Mapping[str, Balance]
    """By analyst."""
    free: Balance
    """The part of the budget outside allowances: all others share it, and it pays open columns."""
    head: Head
    population: Population | None = None
    """The population with its datasets and its balance, if the schema names one."""
    period: Period | None = None
    """The part of the budget for the present year, quarter or month, if the budget has parts."""

    @property
    def balance(self) -> Balance:
        """The balance of all analysts together, the open columns included."""
        return Balance(self.budget, self.open_factor * self.spent, self.population)

    @property
    def remaining(self) -> float:
        """What is left of the budget, in bits."""
        return self.balance.remaining


class ChargedRow(NamedTuple):
    """A row that charged an account for questions: what it told, whatever the answers are."""

    sequence: int
    account: str
    version: str
    schema: str
    questions: tuple[dict[str, Any], ...]


def known_answers(transaction: Transaction, dataset: str, texts: Sequence[str]) -> list[str | None]:
    """Return the answers to questions about the present version of the data, None where unknown."""
    standing = find(transaction, dataset).standing
    digests = [question_digest(dataset, standing.version, standing.schema, text) for text in texts]
    known = transaction.paid(digests).answers
    return [known.get(digest) for digest in digests]


def read_state(transaction: Transaction, dataset: str) -> State:
    """Return the state of a dataset."""
    place, head = find(transaction, dataset), transaction.head()
    assert head is not None  # there is a row
    standing = place.standing
    balances = {
        holder: replace(standing.balance_of(read_standing(row)[1]), population=place.population)
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
        schema=schema_of(transaction, dataset, standing),
        free=balances.pop(""),
        allowances=balances,
        head=head,
        population=place.population,
        period=standing.period,
    )


def list_charged_rows(
    transaction: Transaction, place: RowPlace, after: int = 0
) -> list[ChargedRow]:
    """Return the rows after one that charged for questions about the present version, in order."""
    standing = place.standing
    rows = []
    # A schema that comes back on the same data starts with nothing told, like any other.
    for entry in transaction.reserved(place.dataset, max(after, standing.schema_row)):
        row = charged_row(entry)
        if (row.version, row.schema) == (standing.version, standing.schema):
            rows.append(row)
    return rows


def charged_row(entry: Entry) -> ChargedRow:
    """Read what a row charged for."""
    try:
        content = entry.told
        return ChargedRow(
            entry.sequence,
            entry.account,
            content["version"],
            entry.schema,
            tuple(content["questions"]),
        )
    except STRANGE:
        raise unreadable(entry) from None


def hash_at(transaction: Transaction, head: Head) -> str | None:
    """Return the hash of the row that a saved head names; None if there is no such row."""
    if head.format != FORMAT:
        return transaction.hash_before_migration(head.format, head.sequence)
    return transaction.hash_of(head.sequence)
