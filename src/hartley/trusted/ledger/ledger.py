"""The Ledger class: charges, answers and balances, safe against crashes and concurrent use.

This is the ledger that an agent needs. ``auditable_ledger.py`` adds what checks and keeps one.
"""

from __future__ import annotations

import os
import re
import weakref
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from hartley.errors import OptionError, Pending
from hartley.trusted.ledger.chain import add_event, add_population, find, schema_of
from hartley.trusted.ledger.charging import (
    BatchPrices,
    ChargePlan,
    Offer,
    Reservation,
    as_prices,
    charge,
    check_charge,
    keep,
    offer,
    plan,
    read_batch,
)
from hartley.trusted.ledger.rows import (
    FORMAT,
    STRANGE,
    canonical,
    check_name,
    question_digest,
    unreadable,
)
from hartley.trusted.ledger.state import MAY_SAY, Balance, read_standing
from hartley.trusted.ledger.store import (
    StoreFailed,
    keep_digest,
    read_digest,
    read_secret,
    replaced,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from fractions import Fraction

    from hartley.errors import Refused
    from hartley.trusted.ledger.chain import RowPlace
    from hartley.trusted.ledger.rows import Entry, Head
    from hartley.trusted.ledger.state import Period, Population
    from hartley.trusted.ledger.store import LedgerStore, Secret, Transaction


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


# --- ledger ---------------------------------------------------------------------------------------


T = TypeVar("T")
SETTINGS = re.compile(r"(?i)(?:^|\s)(?:dbname|host|hostaddr|passfile|password|service|user)\s*=")
"""How libpq writes an address beside its URLs; as the name of a file it would show a password."""

__all__ = ["Ledger", "Reservation", "State", "open_ledger", "open_store"]


class Ledger:
    """A durable, append-only, hash-chained record, used by many threads and processes at once.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> ledger = open_ledger(folder.name + "/ledger.db")
        >>> about = {"bits": 3, "schema": {"name": "people"}, "rows": 5000}
        >>> _ = ledger.record("people", "created", about)
        >>> paid = ledger.reserve("people", "ann", [{"count": "all"}], lambda new: 2)
        >>> _ = ledger.commit(paid, ["7"])
        >>> ledger.reserve("people", "bob", [{"count": "all"}], lambda new: 2).answers
        ('7',)
        >>> ledger.state("people").spent, ledger.state("people").remaining
        (2, 2.0)
        >>> ledger.close(); folder.cleanup()
    """

    def __init__(self, store: LedgerStore) -> None:
        self._store = store
        self.seen: Head | None = None
        """A row that was in the ledger: one that lacks it is older, and takes no charge."""
        self._last_durable = ""
        """The hash of the last row of answers that is known to be on disk."""
        self._end = weakref.finalize(self, store.close)

    @property
    def name(self) -> str:
        """The name of the ledger for messages."""
        return self._store.name

    @property
    def path(self) -> Path | None:
        """The file that holds the ledger; None if a server does."""
        return self._store.path

    @property
    def store(self) -> LedgerStore:
        """The database of the ledger, for tables that a service keeps beside it."""
        return self._store

    @property
    def only_reads(self) -> bool:
        """Whether nothing can be recorded or charged from here."""
        return not self._store.may_append()

    def close(self) -> None:
        """Close every connection."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- writing ---

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

        Args:
            dataset: the name of the dataset or of the population.
            kind: created (bits, schema, rows, open_factor, rules), version (rows), erasure of a
                person (rows), schema (schema, open_factor, open_charge; for new data also rows and
                version), budget (bits), allowance (analyst, bits), period (per: year, quarter or
                month, and the bits of each; both None to end it) or population (bits, shared by
                all datasets whose schema names it). Versions have random names, drawn if not
                given.
            content: the fields of the event, only public things.
            schema: the version of the schema that the event is based on; an error is raised if it
                is not the present one.
            copy_digest: the digest of the coded copy of a new version; it is never in the row.
            check: called while nobody else writes; if it raises an error, nothing is recorded.

        The factor of the open columns is charged when a dataset is created, with every version
        and with a changed schema, unless its open_charge says less.
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
                keep_digest(self._store, transaction, content["version"], copy_digest)
            return entry

        # Not repeated if it may already be done: it could be recorded twice, and open columns
        # charged twice, or it would be refused although it is recorded.
        entry, self.seen = self._store.write(self._following(work), again=False)
        return entry

    def reserve(  # noqa: PLR0913 - what a charge rests on, each by name
        self,
        dataset: str,
        analyst: str | None,
        questions: Sequence[Mapping[str, Any]],
        price: Callable[[list[int]], int] | BatchPrices,
        *,
        note: str | None = None,
        version: str | None = None,
        schema: str | None = None,
        rules: str | None = None,
        check: Callable[[Transaction, int], None] | None = None,
    ) -> Reservation:
        """Charge for the questions that were not paid for; durable when this returns.

        Args:
            dataset: the name of the dataset.
            analyst: the analyst who asks; None if nobody is named.
            questions: resolved questions as plain values; equal ones are the same question.
            price: a function from places in the batch to cells, of questions and schema alone; or
                the prices of rules that look at earlier rows too.
            note: stored with the charge, for example the question as it was typed.
            version: the version of the data; an error is raised if it is not the present one.
            schema: the version of the schema, checked in the same way.
            rules: the version of the pricing rules, if it has changed.
            check: called with the charge to the account, in cells, inside the transaction that
                writes it; if it raises an error, nothing is charged. Not called for repeats.

        Raises Refused if the price exceeds the budget or the allowance; then nothing is recorded.
        Questions that were paid for are free: for the owner's budget if anybody paid, for an
        allowance if the same account paid. Costs one transaction, or none for a repeat.
        """
        given = {"note": note, "version": version, "schema": schema, "rules": rules}
        batch = read_batch(dataset, analyst, questions, **given)
        planned = self.read(lambda t: plan(t, batch))
        return self.reserve_planned(planned, as_prices(price), check)

    def reserve_planned(
        self,
        planned: ChargePlan,
        prices: BatchPrices,
        check: Callable[[Transaction, int], None] | None = None,
    ) -> Reservation:
        """Do the same for a batch that was looked up already, see ``plan`` in ``charging.py``."""
        if not planned.unpaid:
            return planned.reservation()
        check_charge(planned, prices)  # computes prices and refuses before the ledger is locked
        # One transaction at a time, which plans and checks again, so that under any concurrency the
        # product of charges never exceeds 2^B. It is on disk before the caller may read any data.
        work = self._following(lambda t: charge(t, planned.batch, prices, check))
        reserved, self.seen = self._store.write_with_others(work)
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
                raise replaced(self.name)
            return work(transaction)

        return follow

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run work that only reads, unless the ledger lacks the row that was seen last."""
        return self._store.read(self._after_seen(work))

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
            entry, self.seen = self._store.write_with_others(work, durable=durable)
        except StoreFailed as error:
            raise Pending(
                f"The answer could not be recorded, because {error.reason}",
                hint="ask the same again later; it is paid for already, so that is free",
            ) from None
        if entry is not None and durable:
            self._last_durable = entry.hash
        return entry

    # --- coded copies ---

    def secret(self) -> Secret:
        """Return the random name of the ledger and the key of its copies' digests: for its owner.

        Both are drawn when they are first asked for. They are in no row, export or backup.
        """
        return read_secret(self._store)

    def copy_digest(self, version: str) -> str | None:
        """Return the digest of the coded copy of a version, None if none was kept."""
        return read_digest(self._store, version)

    def keep_copy_digest(self, version: str, digest: str) -> None:
        """Record the digest of a coded copy that was compared with its table."""
        self._store.write(lambda t: keep_digest(self._store, t, version, digest))

    def making(self) -> AbstractContextManager[None]:
        """Prevent clean-ups by others while a coded copy is made and recorded."""
        return self._store.making()

    def sweep(self, work: Callable[[dict[str, list[str]]], None]) -> bool:
        """Call a function with all versions by dataset, unless a copy is being made right now.

        Nothing is recorded meanwhile. Returns whether the function was called.
        """
        return self._store.sweep(lambda t: work(t.all_versions()))

    def versions(self) -> dict[str, list[str]]:
        """Return all versions of each dataset, the present one last."""
        return self._store.read(lambda t: t.all_versions())

    # --- reading ---

    def datasets(self) -> list[str]:
        """Name the datasets."""
        return self._store.read(lambda t: t.datasets())

    def state(self, dataset: str) -> State:
        """Return the state of a dataset with all allowances, for its owner."""
        return self.read(lambda t: read_state(t, dataset))

    def balance(self, dataset: str, analyst: str | None = None) -> Balance:
        """Return the balance of an analyst: the account's allowance, or the part that all share."""
        return self.read_as(dataset, analyst, lambda _, place: place.balance)

    def answers(self, dataset: str, questions: Sequence[Mapping[str, Any]]) -> list[str | None]:
        """Return the answers that are known for the present version of the data.

        Each is a cell index as text, 'null' for NULL, or None if there is no answer yet.
        """
        texts = [canonical(question) for question in questions]
        return self.read(lambda t: known_answers(t, dataset, texts))

    def unpaid(
        self, dataset: str, analyst: str | None, questions: Sequence[Mapping[str, Any]]
    ) -> list[int]:
        """Return the places of the questions that an analyst's account would be charged for."""
        batch = read_batch(dataset, analyst, questions)
        return list(self.read(lambda t: plan(t, batch)).unpaid)

    def affords(
        self,
        dataset: str,
        analyst: str | None,
        questions: Sequence[Mapping[str, Any]],
        price: Callable[[list[int]], int] | BatchPrices,
    ) -> bool:
        """Tell whether ``reserve`` would accept the same now; nothing is charged."""
        return self.offer(dataset, analyst, questions, price).refusal is None

    def offer(
        self,
        dataset: str,
        analyst: str | None,
        questions: Sequence[Mapping[str, Any]],
        price: Callable[[list[int]], int] | BatchPrices,
    ) -> Offer:
        """Return what ``reserve`` would charge for the same just now; nothing is charged."""
        batch = read_batch(dataset, analyst, questions)
        planned = self.read(lambda t: plan(t, batch))
        return offer(planned, as_prices(price))

    def refusal(
        self,
        dataset: str,
        analyst: str | None,
        questions: Sequence[Mapping[str, Any]],
        price: Callable[[list[int]], int] | BatchPrices,
    ) -> Refused | None:
        """Return why ``reserve`` would refuse the same now; None if it would accept it."""
        return self.offer(dataset, analyst, questions, price).refusal

    def read_as(
        self, dataset: str, analyst: str | None, work: Callable[[Transaction, RowPlace], T]
    ) -> T:
        """Run work that only reads, with the account that an analyst's questions are charged to.

        All of it is from one state of the ledger; it may be called again if a store is busy.
        """
        return self.read(lambda t: work(t, find(t, dataset, analyst or "")))

    def holder(self, dataset: str, analyst: str | None = None) -> str:
        """Return whose account an analyst's questions are charged to; empty without allowance."""
        return self.read_as(dataset, analyst, lambda _, place: place.holder)

    def charged_rows(self, dataset: str) -> list[ChargedRow]:
        """Return the rows that charged for questions about the present version."""
        return self.read_as(dataset, None, list_charged_rows)

    def entries(self, dataset: str | None = None) -> list[Entry]:
        """Return the rows."""
        return self._store.read(lambda t: list(t.entries(dataset=dataset)))

    def head(self) -> Head | None:
        """Return the end of the chain, which is on disk by then; None if it is empty."""

        def work(transaction: Transaction) -> str | None:
            last = transaction.head()
            return None if last is None else transaction.kind_of(last.sequence)

        kind, head = self._store.read(self._following(work))
        self.seen = head
        # Rows of other kinds were on disk before they could be seen, with all rows before them.
        if head is not None and kind in {"commit", None} and head.hash != self._last_durable:
            self._store.flush()
            self._last_durable = head.hash
        return head

    def first_hash(self) -> str | None:
        """Return the hash of the first row, which every copy of this chain shares."""
        first = self._store.read(lambda t: t.entry(1))
        return None if first is None else first.hash

    def contains(self, head: Head) -> bool:
        """Tell whether the chain has the row that a saved head names."""
        return self._store.read(lambda t: hash_at(t, head)) == head.hash


def open_ledger(address: str | os.PathLike[str], *, create: bool = True) -> Ledger:
    """Open a ledger that charges and answers; ``hartley.open_ledger`` opens one to verify, too.

    Args:
        address: as of ``open_store``.
        create: whether to create the ledger if it does not exist.
    """
    return Ledger(open_store(address, create=create))


def open_store(address: str | os.PathLike[str], *, create: bool = True) -> LedgerStore:
    """Open the database of a ledger: a file or a database of PostgreSQL.

    Args:
        address: a file, ``sqlite:///file`` or ``postgresql://user@host/database``; a path after
            three slashes is relative, after four absolute.
        create: whether to create the ledger if it does not exist.
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
