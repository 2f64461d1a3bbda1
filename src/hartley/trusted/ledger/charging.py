"""Inside a transaction: charge for a batch of questions, and record their answers."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from hartley.errors import EngineError, OptionError, Refused, Stale
from hartley.exact import bits_at_least
from hartley.text import bits_down, bits_up, conjugate
from hartley.trusted.ledger.chain import RowPlace, add_row, check_current, find
from hartley.trusted.ledger.rows import (
    CELL_INDEX,
    NULL,
    canonical,
    check_name,
    question_digest,
)
from hartley.trusted.ledger.state import one_part, write_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hartley.trusted.ledger.rows import Entry
    from hartley.trusted.ledger.state import Balance, DatasetState, Period
    from hartley.trusted.ledger.store import Transaction
    from hartley.trusted.pricing.regions import PublicParts


@dataclass(frozen=True)
class Batch:
    """Resolved questions, each as canonical JSON."""

    dataset: str
    analyst: str
    texts: tuple[str, ...]
    note: str | None = None
    version: str | None = None
    schema: str | None = None
    rules: str | None = None


@dataclass(frozen=True)
class Reservation:
    """Questions that are paid for: they may now be run on the data and their answers recorded."""

    dataset: str
    analyst: str
    version: str
    schema: str
    questions: tuple[str, ...]
    """Canonical JSON."""
    digests: tuple[str, ...]
    answers: tuple[str | None, ...]
    """The cell index of each as text, 'null' for NULL; None if it is not known yet."""
    sequence: int | None
    """The row that charges them; None if all of them were paid for before."""
    cells: int
    """The charge to the dataset just now; 1 if nothing was charged."""
    account_cells: int
    """The charge to the analyst's account."""
    balance: Balance
    """The balance of the analyst's account now."""
    due: Fraction = Fraction(1)
    """By which factor the largest product of charges to the account grew."""
    open_cells: int = 1
    """The part of it for open columns; 1 for an allowance, which pays nothing for them."""


@dataclass(frozen=True)
class ChargePlan:
    """The questions of a batch that must be paid for, and by whom."""

    batch: Batch
    place: RowPlace
    digests: tuple[str, ...]
    answers: tuple[str | None, ...]
    unpaid: tuple[int, ...]
    """Questions that the account was never charged for, each once."""
    fresh: tuple[int, ...]
    """The questions among them that nobody was charged for."""

    @property
    def complete(self) -> bool:
        """Whether the account paid for all of it, and every answer is known already."""
        return not self.unpaid and None not in self.answers

    def reservation(self, row: int | None = None, terms: ChargeTerms | None = None) -> Reservation:
        """Return the reservation for the caller."""
        return Reservation(
            self.batch.dataset,
            self.batch.analyst,
            self.place.state.version,
            self.place.state.schema,
            self.batch.texts,
            self.digests,
            self.answers,
            row,
            1 if terms is None else terms.cells,
            1 if terms is None else terms.account_cells,
            self.place.balance,
            Fraction(1) if terms is None else terms.due,
            self.place.state.open if self.place.account.bits is None else 1,
        )


class RowPrice(NamedTuple):
    """What some questions cost, and the earlier rows that this was computed from."""

    cells: int
    given: tuple[int, ...] | None = None
    """None by pricing rules that do not look at earlier rows."""
    parts: PublicParts | None = None
    """The price for every type of the public columns, by rules that tell them apart."""
    alone: int | None = None
    """The price by rules that look at no earlier row, where it was computed too."""

    @property
    def by_public(self) -> PublicParts:
        """The price for every type of the public columns."""
        return one_part(self.cells) if self.parts is None else self.parts


class BatchPrices(ABC):
    """Prices of parts of a batch, each computed once: before the ledger is locked, if possible.

    A price that looks at earlier rows stays right where rows are added meanwhile: fewer earlier
    rows leave more data possible, so the price is no smaller.
    """

    by_holder = False
    """Whether a price depends on whose earlier rows count."""
    most_bits: float | None = None
    """What may be due at most, by a quote; then nothing is charged instead."""

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[int, ...], str | None], RowPrice] = {}

    def __call__(self, indices: tuple[int, ...], holder: str | None = None) -> RowPrice:
        """Return the price of the questions at some places of the batch.

        ``holder`` is the account whose earlier rows count; None where those of all accounts do.
        """
        if not indices:
            return RowPrice(1, ())
        key = (indices, holder if self.by_holder else None)
        if key not in self._known:
            priced = self.compute(list(indices), holder)
            cells = priced.cells
            if not isinstance(cells, int) or isinstance(cells, bool) or cells < 1:
                raise OptionError(
                    "A price is not a whole number of 1 or more",
                    hint="give the number of cells, which is 1 for a constant answer",
                )
            self._known[key] = priced
        return self._known[key]

    @abstractmethod
    def compute(self, indices: list[int], holder: str | None) -> RowPrice:
        """Compute a price that was not asked for before."""


class PlainPrices(BatchPrices):
    """Prices by rules that look at no earlier rows: a function of places in the batch."""

    def __init__(self, price: Callable[[list[int]], int]) -> None:
        super().__init__()
        self._price = price

    def compute(self, indices: list[int], holder: str | None) -> RowPrice:  # noqa: ARG002 - of no account
        """Call the function."""
        return RowPrice(self._price(indices))


def as_prices(price: Callable[[list[int]], int] | BatchPrices) -> BatchPrices:
    """Return prices as they are, or a function as prices."""
    return price if isinstance(price, BatchPrices) else PlainPrices(price)


class ChargeTerms(NamedTuple):
    """What a row charges every type, and the earlier rows that both prices were computed from."""

    parts: PublicParts
    account_parts: PublicParts
    given: tuple[int, ...] | None
    account_given: tuple[int, ...] | None
    after: RowPlace
    """The states after the charge."""
    due: Fraction
    """By which factor the largest product of charges to the account grows."""

    @property
    def cells(self) -> int:
        """The charge to the dataset, for the type that costs most."""
        return self.parts.most

    @property
    def account_cells(self) -> int:
        """The charge to the account, for the type that costs most."""
        return self.account_parts.most

    @property
    def content(self) -> dict[str, Any]:
        """The earlier rows, as the row names them, and prices that depend on public columns."""
        if self.given is None or self.account_given is None:
            return {}
        given = {"given": list(self.given), "account_given": list(self.account_given)}
        own = write_parts(self.account_parts, "account_parts")
        return {**given, **write_parts(self.parts), **own}


def read_batch(
    dataset: str, analyst: str | None, questions: Sequence[Mapping[str, Any]], **given: str | None
) -> Batch:
    """Write resolved questions in their canonical form, so that equal ones are equal texts."""
    return batch_of(dataset, analyst, tuple(map(canonical, questions)), **given)


def batch_of(
    dataset: str, analyst: str | None, texts: tuple[str, ...], **given: str | None
) -> Batch:
    """Return a batch of questions that are written in their canonical form already."""
    if not texts:
        raise OptionError("A batch has no question", hint="ask at least one")
    if given.get("rules") is not None:
        check_name(given["rules"], what="pricing rules")
    name = check_name(analyst or "", what="analyst", empty=True)
    return Batch(check_name(dataset, what="dataset"), name, texts, **given)


def plan(transaction: Transaction, batch: Batch, place: RowPlace | None = None) -> ChargePlan:
    """Determine which questions of a batch are paid for, and which answers are known.

    ``place`` is that of its analyst, if this transaction has found it already.
    """
    place = place or find(transaction, batch.dataset, batch.analyst)
    state = place.state
    check_current(state, batch.version, batch.schema)
    digests = tuple(
        question_digest(batch.dataset, state.version, state.schema, text) for text in batch.texts
    )
    paid = transaction.paid(digests)
    asked, answers = paid.accounts, paid.answers
    # Repeats are free: among equal questions of a batch, only the first is charged. For the owner's
    # budget a question is new if nobody paid for it; for an allowance, if that account did not.
    first = {digest: place for place, digest in reversed(list(enumerate(digests)))}
    unpaid = sorted(at for digest, at in first.items() if place.holder not in asked.get(digest, ()))
    return ChargePlan(
        batch,
        place,
        digests,
        tuple(answers.get(digest) for digest in digests),
        tuple(unpaid),
        tuple(at for at in unpaid if digests[at] not in asked),
    )


def check_given(rows: set[int], state: DatasetState) -> None:
    """Refuse a price from rows that lie before the present schema.

    An agent that was open while the schema changed and changed back remembers such rows, but a
    schema starts with nothing told; verifying the ledger would refuse them.
    """
    if rows and min(rows) <= state.schema_row:
        raise Stale(
            "Nothing was charged, because the schema was changed since the price was computed",
            hint="open the dataset again, and repeat the call",
        )


def charge_terms(
    charge_plan: ChargePlan, prices: BatchPrices, rules: str | None = None
) -> ChargeTerms:
    """Return what a plan charges the dataset and the account."""
    place = charge_plan.place
    account = prices(charge_plan.unpaid, place.holder)
    whole = prices(charge_plan.fresh, None)
    # The account pays for what its own rows leave unknown, the dataset for what all rows do. What
    # bounds the one bounds the other, so a budget never runs out before its allowances do.
    own, parts = account.by_public, whole.by_public
    if account.given is not None:
        parts = parts.smaller(own)
    check_given({*(whole.given or ()), *(account.given or ())}, place.state)
    after = place.charged(parts, own, rules or place.state.rules)
    due = Fraction(own.most)
    if place.account.parts.cuts or own.cuts:
        due = Fraction(after.account.spent, place.account.spent)
    return ChargeTerms(parts, own, whole.given, account.given, after, due)


@dataclass(frozen=True)
class Offer:
    """What ``reserve`` would do just now: what it would charge, or why it would refuse."""

    terms: ChargeTerms
    balance: Balance
    """How the asker's account stands."""
    unpaid: tuple[int, ...]
    """The places of the questions that the account would be charged for."""
    refusal: Refused | None


def offer(charge_plan: ChargePlan, prices: BatchPrices) -> Offer:
    """Return what a plan would charge; a repeat is free, whatever remains of the budget."""
    refusal = None
    if charge_plan.unpaid:
        try:
            check_charge(charge_plan, prices)
        except Refused as refused:
            refusal = refused
    terms = charge_terms(charge_plan, prices)
    return Offer(terms, charge_plan.place.balance, charge_plan.unpaid, refusal)


def check_charge(
    charge_plan: ChargePlan, prices: BatchPrices, rules: str | None = None
) -> ChargeTerms:
    """Return what a plan charges the dataset and the account; refuse what is too much.

    Proved: proofs/Paths.v, promise_paths, that the largest product over all parts is to be bounded.
    """
    place = charge_plan.place
    # A refusal depends only on public things (prices and balances), so it reveals nothing.
    terms = charge_terms(charge_plan, prices, rules)
    after = terms.after
    due = bits_at_least(terms.due.numerator, terms.due.denominator)
    if prices.most_bits is not None and due > prices.most_bits:
        raise Stale(
            "Nothing was charged, because more is due now than the quote said",
            hint="price the question again, and ask with the new quote",
        )
    own, shared = place.state.balance_of(place.account), None
    if place.population is not None:
        shared = place.population.balance
    fits_own = after.state.balance_of(after.account).holds(1)
    fits_whole = after.state.balance.holds(1)
    if fits_own and fits_whole and (after.population is None or after.population.balance.holds(1)):
        _check_period(place.state.period, after.state.period)
        return terms
    bits, remaining = due, own.remaining
    if fits_own and fits_whole and shared is not None and place.population is not None:
        remaining = shared.remaining
        problem = (
            f"the budget of the population '{place.population.name}', which its datasets share, "
            f"has {bits_down(remaining)} left"
        )
    elif fits_own:  # open columns and allowances together exceed the budget
        problem = "the budget of the dataset no longer covers that"
    elif place.account.bits is None:
        problem = f"{bits_down(remaining)} {conjugate(remaining, 'is')} left"
    else:
        problem = f"the analyst's allowance has {bits_down(remaining)} left"
    raise Refused(
        f"The question costs {bits_up(bits)} and {problem}",
        hint="ask for a coarser answer, with a larger error= or fewer bits=, or give min_rows= "
        "(--min-rows) if that many rows surely count",
        requested=bits,
        remaining=remaining,
    )


def _check_period(before: Period | None, after: Period | None) -> None:
    """Refuse what exceeds the part of the present year, quarter or month."""
    if before is None or after is None or after.balance.holds(1):
        return
    bits = bits_at_least(after.parts.most, before.parts.most)
    remaining = before.balance.remaining
    raise Refused(
        f"The question costs {bits_up(bits)} and the part of {before.words} has "
        f"{bits_down(remaining)} left",
        hint=f"ask from {before.following} on, when the next {before.per} begins, or for a "
        "coarser answer",
        requested=bits,
        remaining=remaining,
    )


def charge(
    transaction: Transaction,
    batch: Batch,
    prices: BatchPrices,
    check: Callable[[Transaction, int], None] | None = None,
) -> Reservation:
    """Append the row that charges for the unpaid questions of a batch."""
    # Planned again inside the transaction that writes: before the lock was taken, others may have
    # spent what was left, or paid for the same questions.
    charge_plan = plan(transaction, batch)
    if not charge_plan.unpaid:
        return charge_plan.reservation()
    terms = check_charge(charge_plan, prices, batch.rules)
    if check is not None:
        check(transaction, terms.account_cells)
    place = charge_plan.place
    content: dict[str, Any] = {
        "fresh": [charge_plan.unpaid.index(at) for at in charge_plan.fresh],
        "questions": [json.loads(batch.texts[at]) for at in charge_plan.unpaid],
        "version": place.state.version,
        **terms.content,
    }
    if batch.note is not None:
        content["note"] = str(batch.note)
    entry = add_row(
        transaction,
        terms.after,
        "reserve",
        content,
        cells=terms.cells,
        account_cells=terms.account_cells,
    )
    digests = [charge_plan.digests[at] for at in charge_plan.unpaid]
    transaction.note_asked(digests, place.holder, entry.sequence)
    return replace(charge_plan, place=terms.after).reservation(entry.sequence, terms)


def keep(
    transaction: Transaction, reservation: Reservation, answers: Sequence[str | None]
) -> Entry | None:
    """Append the answers that are not known yet; raise an error if one differs from a known one."""
    # An answer is a function of the version, so two processes that finish one reservation agree.
    # If they do not, the data of the version have changed, and nothing more is answered.
    given = check_answers(reservation, answers)
    paid = transaction.paid(list(given))
    known = paid.answers
    if any(known[digest] != answer for digest, answer in given.items() if digest in known):
        raise EngineError(
            "The answer to a question differs from the one that was given before",
            hint="the data of a version must not change; record changed data as a new version",
        )
    missing = {digest: answer for digest, answer in given.items() if digest not in known}
    if not missing:
        return None
    if not missing.keys() <= paid.accounts.keys():
        raise OptionError(
            "There is an answer to a question that was not reserved", hint="reserve it first"
        )
    place = find(transaction, reservation.dataset, reservation.analyst)
    content = {"answers": missing, "version": reservation.version}
    entry = add_row(transaction, place, "commit", content)
    transaction.note_answers(missing, entry.sequence)
    return entry


def check_answers(reservation: Reservation, answers: Sequence[str | None]) -> dict[str, str]:
    """Return answers by the digest of their question, each a cell index as text or NULL."""
    texts = [NULL if answer is None else answer for answer in answers]
    if len(texts) != len(reservation.digests):
        raise OptionError(
            f"There are {len(texts)} answers to {len(reservation.digests)} questions",
            hint="give one answer per question, in the same order",
        )
    if not all(isinstance(text, str) and CELL_INDEX.fullmatch(text) for text in texts):
        raise OptionError(
            "An answer is not a cell index", hint="give whole numbers from 0 as text, or None"
        )
    by_digest: dict[str, str] = {}
    for digest, text in zip(reservation.digests, texts, strict=True):
        if by_digest.setdefault(digest, text) != text:
            raise OptionError(
                "The same question has two answers in one batch",
                hint="give the same answer for both",
            )
    return by_digest
