"""What was charged before about one version of the data, read from the ledger as it grows.

Prices look at it and never at answers. An account's prices look at its own rows alone: otherwise a
price would show an analyst what others asked.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from hartley.errors import EngineError, OptionError
from hartley.trusted.ledger.charging import BatchPrices, RowPrice
from hartley.trusted.ledger.ledger import list_charged_rows
from hartley.trusted.pricing.after_answers import EarlierAnswers, RecordedLookups
from hartley.trusted.pricing.conditional_price import KNOWN_RULES, conditional_price, price_paths
from hartley.trusted.questions.batch import from_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hartley.schema.schema import Schema
    from hartley.trusted.ledger.chain import RowPlace
    from hartley.trusted.ledger.ledger import ChargedRow, TrustedLedger
    from hartley.trusted.ledger.store import Transaction
    from hartley.trusted.pricing.conditional_price import ConditionalPrice
    from hartley.trusted.questions.batch import Question

T = TypeVar("T")


def check_rules(rules: str, what: str) -> None:
    """Raise an error for rules by which no charge can be checked; no answer of theirs is served."""
    if rules not in KNOWN_RULES:
        raise EngineError(
            f"The ledger cannot be used: {what} by the pricing rules '{rules}', which this version "
            "of Hartley does not know, so that it cannot check the charge",
            hint="use the version of Hartley that wrote it; 'hartley ledger verify' names the rows",
        )


class ChargedRows:
    """The rows that charged for questions about one version under one schema.

    Used by many threads at once. It may lag behind the ledger: a price from fewer rows is no
    smaller, so it stays sound.
    """

    def __init__(self, schema: Schema, version: str | None = None) -> None:
        """Begin with nothing; ``version`` is that of the data, the ledger's present one if None."""
        self._schema, self._version = schema, version
        self._lock = threading.Lock()
        self._last, self._last_hash = 0, ""
        self._rows: dict[int, tuple[str, tuple[Question, ...]]] = {}
        self._told: dict[str | None, EarlierAnswers] = {}

    def read(self, ledger: TrustedLedger) -> None:
        """Read the rows that were added since the last time."""
        self.read_as(ledger, None, lambda _, place: place)

    def read_as(
        self, ledger: TrustedLedger, analyst: str | None, work: Callable[[Transaction, RowPlace], T]
    ) -> T:
        """Read them, and run work that reads on, as ``Ledger.read_as`` does.

        It sees the state of the ledger that was read until: others add no row meanwhile.
        """

        def read_first(transaction: Transaction, place: RowPlace) -> T:
            # A hash covers all rows before it: after the same last row, there is nothing to read.
            if place.last_hash != self._last_hash:
                # What earlier versions and other datasets of a population were charged counts too.
                shared = place.population
                for name in (place.dataset,) if shared is None else shared.datasets:
                    for rules, sequence in transaction.rules_of(name, self._last):
                        check_rules(rules, f"row {sequence} charges")
                for row in list_charged_rows(transaction, place, self._last):
                    self._last = row.sequence
                    if self._version in {None, row.version}:
                        self._add(row)
                self._last_hash = place.last_hash
            return work(transaction, place)

        with self._lock:
            return ledger.read_as(self._schema.name, analyst, read_first)

    def _add(self, row: ChargedRow) -> None:
        questions = tuple([from_plain(question) for question in row.questions])
        self._rows[row.sequence] = (row.account, questions)
        for account in (row.account, None):
            told = self._told.setdefault(account, EarlierAnswers(self._schema))
            for question in questions:
                told.add(question, row.sequence)

    def only(self, account: str | None) -> bool:
        """Whether no other account was ever charged: its rows are all rows."""
        return self._told.keys() <= {account, None}

    def told(self, account: str | None) -> EarlierAnswers:
        """Return what was told to an account, or to all of them for None."""
        return self._told.get(account) or EarlierAnswers(self._schema)

    def questions(self, rows: Iterable[int]) -> dict[int, tuple[Question, ...]]:
        """Return what some rows were charged for."""
        with self._lock:
            return {row: self._rows[row][1] for row in rows}

    def priced(self, questions: Sequence[Question]) -> ConditionalPrice:
        """Return the price of questions after the rows of all accounts, with its explanation."""
        with self._lock:
            return conditional_price(questions, self.told(None))

    def price(
        self,
        questions: Sequence[Question],
        account: str | None,
        given: Iterable[int] | None = None,
    ) -> RowPrice:
        """Return what questions cost after the rows of an account, and which rows that rests on.

        ``given`` names rows to price from instead; those that the account may not use are left out.
        """
        with self._lock:
            watched = RecordedLookups(self.told(account))
            priced = None
            if given is None:
                priced = price_paths(questions, watched)
                given = priced.rows
            rows = sorted(row for row in set(given) if self._may_use(row, account))
            told = EarlierAnswers(self._schema)
            for row in rows:
                for question in self._rows[row][1]:
                    told.add(question, row)
            # A price that rests on no row is the one of nothing told. One that would look up the
            # same in its rows alone stays as it is.
            if priced is None or (rows and not watched.same_as(told)):
                # Priced again from these rows alone, as verifying the ledger will.
                priced = price_paths(questions, told)
            return RowPrice(priced.cells, tuple(rows), priced.parts, priced.alone)

    def _may_use(self, row: int, account: str | None) -> bool:
        """Whether a row charged an account for questions about these data."""
        return row in self._rows and account in {None, self._rows[row][0]}

    def check_given(self, given: Iterable[int], account: str | None) -> None:
        """Raise an error if a price of an account is to rest on a row that it may not use."""
        with self._lock:
            usable = all(self._may_use(row, account) for row in given)
        # The same words for rows of others, of earlier data and for rows that do not exist: which
        # of them it is, or the number of the row, would show what others asked.
        if not usable:
            raise OptionError(
                "given= names a row that charged this account for no question about the present "
                "data",
                hint="price the question again, and pass the new quote",
            )


class ConditionalPrices(BatchPrices):
    """Prices of parts of a batch after what was charged before."""

    by_holder = True

    def __init__(
        self,
        questions: Sequence[Question],
        earlier: ChargedRows,
        *,
        given: Sequence[int] | None = None,
        most_bits: float | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Price a batch; ``check`` is called before a price, and what it raises refuses it."""
        super().__init__()
        self.most_bits = most_bits
        listed = isinstance(given, Sequence) and all(type(row) is int for row in given)
        if given is not None and not listed:  # True and 1.0 are no rows, although they equal 1
            raise OptionError(
                "given= does not list the numbers of rows", hint="pass a quote, or its field given"
            )
        self._questions, self._earlier, self._given, self._check = questions, earlier, given, check
        self.alone: int | None = None
        """What the whole batch costs where nothing was asked before, once it was priced."""

    def compute(self, indices: list[int], holder: str | None) -> RowPrice:
        """Price some questions of the batch."""
        if holder is not None and self._earlier.only(holder):
            shared = self(tuple(indices), None)  # once for the account and the dataset
            # Another thread may have read the rows of another account since. Accounts are never
            # forgotten, so if there is none now, the price rests on no row of another.
            if self._earlier.only(holder):
                return shared
        self._check()
        questions = [self._questions[at] for at in indices]
        if self._given is not None and self.most_bits is None:
            # Without these rows more could be due than the quote that named them said. Where the
            # quote itself is given, what is due is compared with it instead.
            self._earlier.check_given(self._given, holder)
        priced = self._earlier.price(questions, holder)
        if len(questions) == len(self._questions):
            self.alone = priced.alone
        if self._given is not None:
            # Telling more can raise a price where bounds and caps are in play; a quote is kept,
            # for every type of the public columns.
            quoted = self._earlier.price(questions, holder, self._given)
            lower = priced.by_public.smaller(quoted.by_public) == priced.by_public
            priced = priced if lower else quoted
        return priced
