"""TrustedLedger: charges, answers and balances, safe against crashes and concurrent use."""

from __future__ import annotations

import os
import re
import weakref
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from hartley.errors import OptionError, Pending
from hartley.trusted.ledger.chain import add_event, add_population, find, schema_of
from hartley.trusted.ledger.charging import (
    BatchPrices,
    ChargePlan,
    Reservation,
    charge,
    check_charge,
    keep,
)
from hartley.trusted.ledger.rows import (
    FORMAT,
    STRANGE,
    check_name,
    unreadable,
)
from hartley.trusted.ledger.state import MAY_SAY, Balance, read_state
from hartley.trusted.ledger.store import (
    StoreFailed,
    keep_digest,
    replaced,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from hartley.trusted.ledger.chain import RowPlace
    from hartley.trusted.ledger.rows import Entry, Head
    from hartley.trusted.ledger.state import Period, Population
    from hartley.trusted.ledger.store import LedgerStore, Transaction


# --- reading --------------------------------------------------------------------------------------
# Reading a ledger for an answer: the state of a dataset, charged rows and known answers.


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


def owner_state(transaction: Transaction, dataset: str) -> State:
    """Return the state of a dataset."""
    place, head = find(transaction, dataset), transaction.head()
    assert head is not None  # there is a row
    state = place.state
    balances = {
        holder: replace(state.balance_of(read_state(row)[1]), population=place.population)
        for holder in transaction.accounts(dataset)
        if (row := transaction.latest(dataset, holder)) is not None
    }
    return State(
        dataset=dataset,
        budget=state.budget,
        open_factor=state.open,
        spent=state.spent,
        version=state.version,
        rows=state.rows,
        schema_version=state.schema,
        rule_version=state.rules,
        schema=schema_of(transaction, dataset, state),
        free=balances.pop(""),
        allowances=balances,
        head=head,
        population=place.population,
        period=state.period,
    )


def list_charged_rows(
    transaction: Transaction, place: RowPlace, after: int = 0
) -> list[ChargedRow]:
    """Return the rows after one that charged for questions about the present version, in order."""
    state = place.state
    rows = []
    # A schema that comes back on the same data starts with nothing told, like any other.
    for entry in transaction.reserved(place.dataset, max(after, state.schema_row)):
        row = charged_row(entry)
        if (row.version, row.schema) == (state.version, state.schema):
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


# --- ledger ---------------------------------------------------------------------------------------


T = TypeVar("T")
SETTINGS = re.compile(r"(?i)(?:^|\s)(?:dbname|host|hostaddr|passfile|password|service|user)\s*=")
"""How libpq writes an address beside its URLs; as the name of a file it would show a password."""


class TrustedLedger:
    """A durable, append-only, hash-chained record, used by many threads and processes at once."""

    def __init__(self, store: LedgerStore) -> None:
        self.store = store
        """The database, in which a service keeps tables beside the ledger's."""
        self.seen: Head | None = None
        """A row that was in the ledger: one that lacks it is older, and takes no charge."""
        self._last_durable = ""
        """The hash of the last row of answers that is known to be on disk."""
        self.close = weakref.finalize(self, store.close)
        """Closes every connection."""

    def record(  # noqa: PLR0913 - what an event rests on, each by name
        self,
        dataset: str,
        kind: str,
        content: Mapping[str, Any],
        *,
        schema: str | None = None,
        copy_digest: str | None = None,
        check: Callable[[], None] | None = None,
    ) -> Entry:
        """Record an event; raise an error if a promise would not hold afterwards.

        ``hartley.Ledger.record`` describes the arguments. ``copy_digest`` is the digest of the
        coded copy of a new version; it is never in the row.
        """
        check_name(dataset, what="population" if kind == "population" else "dataset")
        if kind not in MAY_SAY:
            raise OptionError(
                f"There is no event of the kind '{kind}'", hint=f"use {', '.join(MAY_SAY)}"
            )

        def work(transaction: Transaction) -> Entry:
            if check is not None:
                check()
            if kind == "population":
                return add_population(transaction, dataset, content)
            entry = add_event(transaction, dataset, kind, content, schema)
            if copy_digest is not None:
                keep_digest(self.store, transaction, content["version"], copy_digest)
            return entry

        # Not repeated if it may already be done: it could be recorded twice, and open columns
        # charged twice, or it would be refused although it is recorded.
        entry, self.seen = self.store.write(self._following(work), again=False)
        return entry

    def reserve(
        self,
        planned: ChargePlan,
        prices: BatchPrices,
        check: Callable[[Transaction, int], None] | None = None,
    ) -> Reservation:
        """Charge for the questions of a batch that were not paid for; durable when this returns.

        Raises Refused if the price exceeds the budget or the allowance; then nothing is recorded.
        Questions that were paid for are free: for the owner's budget if anybody paid, for an
        allowance if the same account paid. ``check`` is called with the charge to the account, in
        cells, inside the transaction that writes it; if it raises an error, nothing is charged.
        """
        if not planned.unpaid:
            return planned.reservation()
        check_charge(planned, prices)  # computes prices and refuses before the ledger is locked
        # One transaction at a time, which plans and checks again, so that under any concurrency the
        # product of charges never exceeds 2^B. It is on disk before the caller may read any data.
        work = self._following(lambda t: charge(t, planned.batch, prices, check))
        reserved, self.seen = self.store.write_with_others(work)
        return reserved

    def _following(
        self, work: Callable[[Transaction], T]
    ) -> Callable[[Transaction], tuple[T, Head | None]]:
        """Let work follow the row that was seen last, and return where the chain ends after it."""
        return self._after_seen(lambda transaction: (work(transaction), transaction.head()))

    def _after_seen(self, work: Callable[[Transaction], T]) -> Callable[[Transaction], T]:
        seen = self.seen  # before a transaction begins, which may not have newer rows

        def follow(transaction: Transaction) -> T:
            if seen is not None and transaction.hash_of(seen.sequence) != seen.hash:
                raise replaced(self.store.name)
            return work(transaction)

        return follow

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run work that only reads, unless the ledger lacks the row that was seen last."""
        return self.store.read(self._after_seen(work))

    def commit(
        self, reservation: Reservation, answers: Sequence[str | None], *, durable: bool = True
    ) -> Entry | None:
        """Record the answers of a reservation: cell indices as text, None for NULL.

        Known answers must be the same, and are not written again. Returns the new row, or None
        if there was nothing to write. With ``durable=False`` a file does not wait for the disk:
        after a power failure the questions may be pending again, but no charge is lost.
        """
        work = self._following(lambda t: keep(t, reservation, answers))
        try:
            entry, self.seen = self.store.write_with_others(work, durable=durable)
        except StoreFailed as error:
            raise Pending(
                f"The answer could not be recorded, because {error.reason}",
                hint="ask the same again later; it is paid for already, so that is free",
            ) from None
        if entry is not None and durable:
            self._last_durable = entry.hash
        return entry

    def datasets(self) -> list[str]:
        """Name the datasets."""
        return self.store.read(lambda t: t.datasets())

    def state(self, dataset: str) -> State:
        """Return the state of a dataset with all allowances, for its owner."""
        return self.read(lambda t: owner_state(t, dataset))

    def read_as(
        self, dataset: str, analyst: str | None, work: Callable[[Transaction, RowPlace], T]
    ) -> T:
        """Run work that only reads, with the account that an analyst's questions are charged to.

        All of it is from one state of the ledger; it may be called again if a store is busy.
        """
        return self.read(lambda t: work(t, find(t, dataset, analyst or "")))

    def head(self) -> Head | None:
        """Return the end of the chain, which is on disk by then; None if it is empty."""

        def work(transaction: Transaction) -> str | None:
            last = transaction.head()
            return None if last is None else transaction.kind_of(last.sequence)

        kind, head = self.store.read(self._following(work))
        self.seen = head
        # Rows of other kinds were on disk before they could be seen, with all rows before them.
        if head is not None and kind in {"commit", None} and head.hash != self._last_durable:
            self.store.flush()
            self._last_durable = head.hash
        return head


def open_store(address: str | os.PathLike[str], *, create: bool = True) -> LedgerStore:
    """Open the database of a ledger: a file or a database of PostgreSQL.

    A path after the three slashes of ``sqlite:///`` is relative, after four absolute.
    """
    text = os.fspath(address)
    if text.startswith(("postgresql://", "postgres://")):
        from hartley.trusted.ledger.postgres import PostgresLedgerStore

        return PostgresLedgerStore(text, create=create)
    path = text.removeprefix("sqlite:///")
    if not path or "://" in path or "\0" in path or path == ":memory:" or SETTINGS.search(path):
        raise OptionError(
            "The address of the ledger is neither a file nor a database",
            hint="name a file, postgresql://user@host/database or sqlite:///file",
        )
    from hartley.trusted.ledger.sqlite import SqliteLedgerStore

    return SqliteLedgerStore(Path(path), create=create)
