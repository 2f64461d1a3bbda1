"""Daily caps: what an account has spent on the present UTC day, from the rows of the ledger."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from hartley.agent.ledger.rows.entries import read_integer
from hartley.errors import Refused
from hartley.exact import bits_at_least, bits_at_most, floor_power
from hartley.wording import bits_down, bits_up

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction
    from typing import Any

    from hartley.agent.ledger.stores.store import Transaction

PAGE = 500
"""Rows read at once."""
COLUMNS = "sequence, time, analyst, kind, account_cells, hash"


class DailyCharges:
    """The charges of one UTC day by analyst, over all datasets, as products of cells.

    Only the rows since the last look are read. Their hashes are not checked again: no promise to
    people in the data rests on a cap, and verifying the ledger finds a changed row.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin("")

    def _begin(self, day: str) -> None:
        self._day, self._last, self._hash = day, 0, ""
        self._products: dict[str, int] = {}

    def of(self, transaction: Transaction, analyst: str, day: str) -> int:
        """Return the product of an analyst's charges on a day, written like 2026-03-01.

        Exact: the bits spent are its logarithm, so B more bits fit below a cap of C if the product
        times 2^B is at most 2^C.
        """
        with self._lock:
            # A ledger that was restored from a backup continues with other rows.
            same = not self._last or transaction.hash_of(self._last) == self._hash
            if day != self._day or not same:
                self._begin(day)
            # Read to the end before anything is noted: a store that fails on the way would leave
            # a part of the day's charges, which reads as less than was spent.
            rows = [*(self._rows_after if self._last else self._rows_of_day)(transaction)]
            products = dict(self._products)
            for _, time, name, kind, cells, _ in rows:
                if kind == "reserve" and time[: len(day)] >= day:
                    products[name] = products.get(name, 1) * read_integer(cells)
            self._products = products
            if rows:
                self._last, *_, self._hash = max(rows)
            return products.get(analyst, 1)

    def _rows_after(self, transaction: Transaction) -> list[Any]:
        return transaction.run(
            f"SELECT {COLUMNS} FROM hartley_entries WHERE sequence > ? ORDER BY sequence",  # noqa: S608 - our own words
            (self._last,),
        )

    def _rows_of_day(self, transaction: Transaction) -> Iterator[Any]:
        """Yield the rows of the day from the last one backwards, and one row before them."""
        statement = (
            f"SELECT {COLUMNS} FROM hartley_entries WHERE sequence < ? "  # noqa: S608 - our own words
            f"ORDER BY sequence DESC LIMIT {PAGE}"
        )
        before = 2**62
        while page := transaction.run(statement, (before,)):
            for row in page:
                yield row
                if row[1][: len(self._day)] < self._day:
                    return
            before = page[-1][0]


def check_cap(cap: Fraction, spent: int, cells: int) -> None:
    """Raise an error if a charge exceeds what a daily cap has left; all in exact integers.

    Example:
        >>> from fractions import Fraction
        >>> check_cap(Fraction(2), spent=2, cells=2)  # one bit of two spent, and one more
        >>> check_cap(Fraction(2), spent=2, cells=3)
        Traceback (most recent call last):
            ...
        hartley.errors.Refused: The question costs 1.585 bits and the account may spend 1 bit \
more today; hint: ask for a coarser answer, or again after midnight UTC
    """
    most = floor_power(cap, what="daily cap")
    if spent * cells <= most:
        return
    bits, remaining = bits_at_least(cells), max(0.0, bits_at_most(most, spent))
    raise Refused(
        f"The question costs {bits_up(bits)} and the account may spend {bits_down(remaining)} "
        "more today",
        hint="ask for a coarser answer, or again after midnight UTC",
        requested=bits,
        remaining=remaining,
    )
