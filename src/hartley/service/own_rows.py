"""What an account may see of the ledger: its own balance and its own charges, nothing of others.

Whether a budget covers all allowances, so that no refusal shows an analyst what others spent.

A charge is refused if the account's allowance is too small, or if the budget of the dataset or of
its population is. The second kind would tell an analyst with enough allowance left that others have
spent much. It never happens while

    (charges outside allowances) <= floor(2^(budget - allowances)),

because then all charges together are at most floor(2^(budget - allowances)) times the product of
floor(2^allowance), which is at most floor(2^budget). Charges outside allowances are those of open
columns, which every new version pays again, and those of analysts without an account. A budget by
period covers no allowance: what one analyst asks in a year is refused to the others.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import mmap
import struct
import time
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.errors import OptionError, Refused
from hartley.exact import bits_at_least, bits_at_most, floor_power, parse_number, read_integer
from hartley.service.replies import went_back
from hartley.trusted.ledger.chain import find
from hartley.trusted.ledger.rows import canonical, question_digest
from hartley.trusted.ledger.state import read_state

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hartley.agent.ledger import Ledger
    from hartley.service.accounts import Accounts
    from hartley.trusted.data import LedgerHeadFile
    from hartley.trusted.ledger.chain import RowPlace
    from hartley.trusted.ledger.rows import Entry
    from hartley.trusted.ledger.store import Transaction

LAST = 2**62
"""Beyond the number of every row."""
HALF = 32
MASK = (1 << HALF) - 1
ROUNDS = 4


@dataclass(frozen=True)
class OwnBalance:
    """The allowance of one account and what was spent of it, without what others can change."""

    bits: str
    spent: float
    remaining: float

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
        if ledger.trusted.read_as(dataset, analyst, lambda _, now: now.holder) == analyst:
            raise _AllowanceThere("The account has an allowance", hint="use it")

    with suppress(_AllowanceThere):
        ledger.record(dataset, "allowance", {"analyst": analyst, "bits": "0"}, check=check)
    return ledger.store.read(lambda t: find(t, dataset, analyst))


def own_balance(place: RowPlace) -> OwnBalance:
    """Return the balance of the account's allowance."""
    balance = place.state.balance_of(place.account)
    left = bits_at_most(balance.limit // balance.spent)  # not what a population has left
    return OwnBalance(str(balance.bits), balance.spent_bits, left)


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
    """Return a page of an account's charges after a row in the chosen order; reads no more."""
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
    """Return by which factor each of some successive charges let the account's spending grow."""
    factors: dict[int, Fraction] = {}
    before = None  # a row holds what its account has spent after it
    for row in sorted(rows, key=lambda each: each.sequence):
        if before is None:  # of a page, only the row before it is missing
            earlier = transaction.latest(row.dataset, row.account, until=row.sequence - 1)
            before = 1 if earlier is None else read_state(earlier)[1].spent
        after = read_state(row)[1].spent
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


# --- coverage ---


def uncovered(
    ledger: Ledger, dataset: str, *, more_bits: Fraction = Fraction(0), more_charges: int = 1
) -> str | None:
    """Return which budget does not cover its allowances, in words; None if all do.

    ``more_bits`` of allowances and a charge outside them, of ``more_charges`` cells, are to come.
    """
    state = ledger.state(dataset)
    if state.period is not None and state.allowances:
        return f"the part of every {state.period.per} of the dataset '{dataset}'"
    if not _covers(state.free.bits - more_bits, state.free.spent * more_charges):
        return f"the budget of the dataset '{dataset}'"
    population = state.population
    if population is None:
        return None
    states = [ledger.state(member) for member in population.datasets]
    # What was charged to the population itself, without its datasets.
    within = math.prod(member.open_factor * member.spent for member in states)
    outside = math.prod(member.free.spent for member in states) * more_charges
    allotted = sum((member.budget - member.free.bits for member in states), Fraction(0))
    bits = population.balance.bits - allotted - more_bits
    if not _covers(bits, population.balance.spent // within * outside):
        return f"the budget of the population '{population.name}'"
    return None


def _covers(bits: Fraction, cells: int) -> bool:
    return bits >= 0 and cells <= floor_power(bits)


def require_covered(
    ledger: Ledger, dataset: str, *, more_bits: Fraction = Fraction(0), more_charges: int = 1
) -> None:
    """Raise an error if a change would leave allowances without cover."""
    problem = uncovered(ledger, dataset, more_bits=more_bits, more_charges=more_charges)
    if problem is not None:
        raise OptionError(
            f"Not enough of {problem} would be left for all allowances and open columns",
            hint="lower an allowance or raise the budget first: otherwise a refusal would show an "
            "analyst what others spent",
        )


def set_allowance(  # noqa: PLR0913 - what an allowance is made of, each by name
    ledger: Ledger, accounts: Accounts, *, dataset: str, account: str, bits: object, by: str
) -> Fraction:
    """Set the part of a budget that one account may spend; return it in bits.

    Raises OptionError if the budget would not cover all allowances. The allowance of a revoked
    account can only be lowered, so that its bits are free for others.
    """
    wanted = parse_number(bits, name="the allowance")
    revoked = accounts.get(account).revoked is not None

    def check() -> None:  # while nobody else writes
        known = ledger.state(dataset).allowances.get(account)
        more = wanted - (Fraction(0) if known is None else known.bits)
        if more > 0 and revoked:
            raise OptionError(
                f"The account '{account}' is revoked, so its allowance can only be lowered",
                hint="give the bits to an account that is in use",
            )
        if more > 0:
            require_covered(ledger, dataset, more_bits=more)

    ledger.record(dataset, "allowance", {"analyst": account, "bits": str(wanted)}, check=check)
    accounts.note(by, "set allowance", account, f"{dataset} {wanted}")
    return wanted


# --- whether the ledger still has the rows that this service has seen ---

RECORD = struct.Struct("<8sq64s")
"""A checksum, the number of a row, and its hash."""
LOOK_SECONDS = 0.25
"""How long a worker relies on its last look before it only reads."""


def shared_memory(folder: Path | None, name: str, size: int) -> mmap.mmap:
    """Return memory that the workers of a service share through a file; its own without one."""
    if folder is None:
        return mmap.mmap(-1, size)
    with (folder / name).open("a+b") as file:
        file.truncate(size)  # what others have written stays
        return mmap.mmap(file.fileno(), size)


class LedgerGuard:
    """Compares the ledger with the last row that a worker of this service has seen.

    A ledger that went back, such as a restored backup, has lost charges and answers that analysts
    have seen. Everything would be charged again from there, and the promise would not cover what
    was shown. So nothing is asked, repeated or changed until the newest ledger is back, or the
    operator has accepted the loss.
    """

    def __init__(
        self,
        ledger: Ledger,
        folder: Path | None = None,
        *,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ledger, self._steady = ledger, steady
        self._looked = float("-inf")
        self._memory = shared_memory(folder, "head", RECORD.size)

    def check(self) -> None:
        """Raise an error if the ledger went back; looks at it every quarter of a second."""
        begun = self._steady()
        if begun - self._looked >= LOOK_SECONDS:
            self._ledger.store.read(self.check_in)
            self._looked = begun

    def check_in(self, transaction: Transaction, *, note: bool = True) -> None:
        """Raise an error if the ledger went back, as a transaction sees it; note its last row.

        Inside a transaction that writes, ``note`` must be False: its last row may not be committed,
        and workers that do not see it yet would miss it.
        """
        seen = self._seen()  # before the row is read: others may note newer ones meanwhile
        head = transaction.head()
        if seen is not None:
            sequence, known = seen
            if head is None or transaction.hash_of(sequence) != known:
                self._looked = float("-inf")  # the next request looks again
                raise went_back()
        if note and head is not None and (seen is None or head.sequence > seen[0]):
            number, text = head.sequence, head.hash
            RECORD.pack_into(self._memory, 0, _checksum(number, text), number, text.encode())

    def _seen(self) -> tuple[int, str] | None:
        """Return the last row that was noted; None before the first, or while one is written."""
        checksum, sequence, digest = RECORD.unpack_from(self._memory, 0)
        known = digest.rstrip(b"\0").decode("ascii", "replace")
        return (sequence, known) if _checksum(sequence, known) == checksum else None

    def close(self) -> None:
        """Close the file."""
        self._memory.close()


def _checksum(sequence: int, digest: str) -> bytes:
    return hashlib.sha256(struct.pack("<q64s", sequence, digest.encode())).digest()[:8]


class LaterNote:
    """A note of where the ledger ends that is written every second, and not for every question.

    Writing it takes longer than a charge, and workers remember the last row themselves. Answers do
    not wait for the disk either: they are on it before the note that names them.
    """

    at_once = False

    def __init__(self, note: LedgerHeadFile) -> None:
        self._note, self._due = note, False

    def save(self) -> None:
        """Note that the ledger has grown."""
        self._due = True

    def write(self) -> None:
        """Write the note, if the ledger has grown since."""
        if self._due:
            self._due = False
            try:
                self._note.save()
            except BaseException:
                self._due = True  # the answers that it names still have to get to the disk
                raise
