"""What an account may see of the ledger: its own balance and its own charges, nothing of others."""

from __future__ import annotations

import hashlib
import hmac
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.agent.ledger.rows.entries import canonical, question_digest, read_integer
from hartley.agent.ledger.rows.state import read_standing
from hartley.agent.ledger.stores.chain import find
from hartley.errors import Refused
from hartley.exact import bits_at_least, bits_at_most

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.agent.ledger.ledger import Ledger
    from hartley.agent.ledger.rows.balances import Balance
    from hartley.agent.ledger.rows.entries import Entry
    from hartley.agent.ledger.stores.chain import RowPlace
    from hartley.agent.ledger.stores.store import Transaction

LAST = 2**62
"""Beyond the number of every row."""
HALF = 32
MASK = (1 << HALF) - 1
ROUNDS = 4


@dataclass(frozen=True)
class OwnBalance:
    """How the account of one analyst stands: the account's allowance, and what was spent of it."""

    bits: str
    spent: float
    remaining: float

    @classmethod
    def of(cls, balance: Balance) -> OwnBalance:
        """Return a balance without what a population has left, which others spend too."""
        left = balance.limit // balance.spent
        return cls(str(balance.bits), balance.spent_bits, bits_at_most(left))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return {
            "allowance_bits": self.bits,
            "spent_bits": self.spent,
            "remaining_bits": self.remaining,
        }


class _AllowanceThere(Refused):
    """The account has an allowance already."""


def own_place(ledger: Ledger, dataset: str, analyst: str) -> RowPlace:
    """Return the state of a dataset and of the asking account, which gets an allowance of 0 bits.

    An account without an allowance would share what no allowance sets aside: it would see what
    others spent, and pay for questions without anybody's decision.
    """
    place = ledger.store.read(lambda t: find(t, dataset, analyst))
    if place.holder == analyst:
        return place

    def check() -> None:
        # Nobody else writes now: an allowance that an owner set meanwhile is not replaced.
        if ledger.holder(dataset, analyst) == analyst:
            raise _AllowanceThere("The account has an allowance", hint="use it")

    with suppress(_AllowanceThere):
        ledger.record(dataset, "allowance", {"analyst": analyst, "bits": "0"}, check=check)
    return ledger.store.read(lambda t: find(t, dataset, analyst))


def own_balance(place: RowPlace) -> OwnBalance:
    """Return the balance of the account's allowance."""
    return OwnBalance.of(place.standing.balance_of(place.account))


@dataclass(frozen=True)
class OwnCharge:
    """One batch that the account paid for."""

    sequence: int
    time: str
    version: str
    schema: str
    note: str
    questions: tuple[Any, ...]
    answers: tuple[str | None, ...]
    cells: int
    """The charge to the account after its earlier rows, for the type of the public columns that
    costs most."""
    added: Fraction
    """By which factor it let grow what the account has spent. Types that different questions are
    about share an allowance, so this may be less than the charge."""

    @property
    def answered(self) -> bool:
        """Whether every answer is recorded."""
        return None not in self.answers

    @property
    def bits(self) -> float:
        """The charge in bits."""
        return bits_at_least(self.cells)

    @property
    def added_bits(self) -> float:
        """What it added to what the account has spent, in bits: the ``bits`` of its answer."""
        return bits_at_least(self.added.numerator, self.added.denominator)


def own_charges(  # noqa: PLR0913 - what a page is, each by name
    ledger: Ledger,
    dataset: str,
    analyst: str,
    *,
    after: int | None = None,
    limit: int = 50,
    newest: bool = False,
) -> list[OwnCharge]:
    """Return a page of the charges of an account, after a row in the chosen order.

    Costs the rows of the page, however long the ledger is.
    """
    start = after if after is not None else (LAST if newest else 0)

    def work(transaction: Transaction) -> list[OwnCharge]:
        rows = transaction.reserved_by(dataset, analyst, start, limit=limit, newest=newest)
        added = _added(transaction, rows)
        return [_own_charge(transaction, row, added[row.sequence]) for row in rows]

    return ledger.store.read(work)


def own_charge(ledger: Ledger, dataset: str, analyst: str, sequence: int) -> OwnCharge | None:
    """Return one charge; None if there is no such row, or it is not the account's own."""
    charges = own_charges(ledger, dataset, analyst, after=sequence - 1, limit=1)
    return charges[0] if charges and charges[0].sequence == sequence else None


def _added(transaction: Transaction, rows: Sequence[Entry]) -> dict[int, Fraction]:
    """Return by which factor each of some successive charges let the account's spending grow.

    Every row holds what its account has spent after it, so rows of other accounts are not read.
    """
    factors: dict[int, Fraction] = {}
    before = None
    for row in sorted(rows, key=lambda each: each.sequence):
        if before is None:  # of a page, only the row before it is missing
            earlier = transaction.latest(row.dataset, row.account, until=row.sequence - 1)
            before = 1 if earlier is None else read_standing(earlier)[1].spent
        after = read_standing(row)[1].spent
        factors[row.sequence] = Fraction(after, before)
        before = after
    return factors


def _own_charge(transaction: Transaction, entry: Entry, added: Fraction) -> OwnCharge:
    content = entry.told
    version, questions = content["version"], tuple(content["questions"])
    digests = [
        question_digest(entry.dataset, version, entry.schema, canonical(question))
        for question in questions
    ]
    known = transaction.paid(digests).answers
    return OwnCharge(
        sequence=entry.sequence,
        time=entry.time,
        version=version,
        schema=entry.schema,
        note=content.get("note") or "",
        questions=questions,
        answers=tuple(known.get(digest) for digest in digests),
        cells=read_integer(entry.account_cells),
        added=added,
    )


class RowIds:
    """Names of rows for analysts: a row's own number would count the rows of everybody.

    A keyed permutation of 64-bit numbers (four Feistel rounds), so a name says nothing about how
    many rows lie between two, and needs no table.

    Example:
        >>> ids = RowIds(b"key of the ledger")
        >>> ids.number(ids.name(17)), ids.number("not a name")
        (17, None)
    """

    def __init__(self, key: bytes) -> None:
        self._key = hashlib.sha256(b"hartley row ids" + key).digest()

    def _mixed(self, number: int, place: int) -> int:
        text = bytes([place]) + number.to_bytes(4, "big")
        return int.from_bytes(hmac.digest(self._key, text, "sha256")[:4], "big")

    def name(self, sequence: int) -> str:
        """Return the name of a row."""
        high, low = sequence >> HALF, sequence & MASK
        for place in range(ROUNDS):
            high, low = low, high ^ self._mixed(low, place)
        return f"{high << HALF | low:016x}"

    def number(self, name: str) -> int | None:
        """Return the number of a row, None for what is no name of a row."""
        if len(name) != 16 or not all(c in "0123456789abcdef" for c in name):
            return None
        value = int(name, 16)
        high, low = value >> HALF, value & MASK
        for place in reversed(range(ROUNDS)):
            high, low = low ^ self._mixed(high, place), high
        sequence = high << HALF | low
        # A name that was guessed would be a number beyond every ledger.
        return sequence if 0 < sequence < LAST else None
