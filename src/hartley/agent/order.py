"""The order of questions: what each costs after the others, and the cheapest order.

A price depends on the schema, on the questions and on what the own account was charged for before.
No data and no answer is ever looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from hartley.agent.pricing.given_price import price_given
from hartley.agent.pricing.told import ToldBefore
from hartley.agent.questions.batch import columns_named
from hartley.agent.quotes import questions_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from hartley.agent.questions.batch import Question
    from hartley.agent.questions.selection import Selection
    from hartley.ranges.schema.schema import Schema

    Row: TypeAlias = tuple[Question, ...]
    """The questions that one row of a ledger charges for."""

MOST_ORDERED = 8
"""Up to this many questions the best order is found over all sets of questions."""
MOST_LISTED_ORDERS = 5
"""The same where prices depend on the order of earlier rows: all orders are tried."""
MOST_PASSES = 4
"""Passes of exchanges of neighbours, for more questions than that."""


class Ordering(NamedTuple):
    """An order of questions, what each costs after those before it, and whether none is cheaper."""

    places: tuple[int, ...]
    cells: tuple[int, ...]
    """The charge for each, in this order."""
    best: bool = False

    @property
    def total(self) -> int:
        """The product of the charges, in cells."""
        return prod(self.cells)


@dataclass(frozen=True)
class Charges:
    """What ``ask`` charges an account for questions after some rows, without asking them."""

    schema: Schema
    plans: tuple[Selection, ...]
    own: tuple[Row, ...] = ()
    """The rows that the account was charged before."""
    _known: dict[Hashable, tuple[int, Row]] = field(default_factory=dict, repr=False, compare=False)

    def charge(self, places: Sequence[int], rows: Sequence[Row] = ()) -> tuple[int, Row]:
        """Return what a batch of these plans costs after some rows, and the row it adds.

        The same steps as ``Agent.ask`` takes: cells that are known in finer ones come from there,
        what the account was charged for is free, and the rest is priced from earlier rows.
        """
        questions = questions_of([self.plans[place] for place in places])
        columns = frozenset().union(*(self._private(question) for question in questions))
        # A price looks only at rows with a question about a private column of the batch, or about
        # none: COUNT(*) says who is in the table.
        near = tuple(row for row in (*self.own, *rows) if self._is_near(row, columns))
        key = tuple(places), self._as_key(near)
        if key not in self._known:
            self._known[key] = self._charge([self.plans[place] for place in places], near)
        return self._known[key]

    def _as_key(self, rows: Sequence[Row]) -> Hashable:
        return frozenset(rows) if self.depends_on_sets else tuple(rows)

    @property
    def depends_on_sets(self) -> bool:
        """Whether the order of earlier rows plays no part in a price, below the caps.

        With several rows per person, nested counts are taken in the order of the ledger (rule N).
        """
        return self.schema.rows_per_unit == 1

    def _charge(self, plans: Sequence[Selection], rows: Sequence[Row]) -> tuple[int, Row]:
        earlier = told_before(self.schema, rows)
        refined = [in_known_cells(plan, earlier) for plan in plans]
        paid = {question for row in rows for question in row}
        unpaid = tuple(q for q in questions_of(refined) if q not in paid)
        if not unpaid:
            return 1, ()
        priced = price_given(unpaid, earlier)
        if not priced.rows:
            return priced.cells, unpaid
        # The ledger keeps the rows that a price rests on, and the price is that of these rows.
        resting = [rows[number - 1] for number in priced.rows]
        return price_given(unpaid, told_before(self.schema, resting)).cells, unpaid

    def _is_near(self, row: Row, columns: frozenset[str]) -> bool:
        return any(not (about := self._private(asked)) or about & columns for asked in row)

    def _private(self, question: Question) -> frozenset[str]:
        columns = self.schema.columns
        return frozenset(c for c in _columns(question) if columns[c].kind == "private")

    def in_order(self, places: Sequence[int]) -> Ordering:
        """Return what each plan costs if they are asked one by one in this order."""
        rows: list[Row] = []
        cells = []
        for place in places:
            charged, row = self.charge([place], rows)
            cells.append(charged)
            rows += [row] if row else []
        return Ordering(tuple(places), tuple(cells))

    def best_order(self) -> Ordering:
        """Return the cheapest order of all plans, one by one; beyond the limits, a cheap one.

        Exact by dynamic programming over sets of questions, as long as no cap on earlier filters
        is reached: a price depends on which questions were charged before, not on their order.
        """
        number = len(self.plans)
        start = min(
            (self.in_order(places) for places in self._likely_orders()),
            key=lambda ordering: ordering.total,
        )
        limit = MOST_ORDERED if self.depends_on_sets else MOST_LISTED_ORDERS
        return self._over_sets(start) if number <= limit else self._exchanged(start)

    def _likely_orders(self) -> list[tuple[int, ...]]:
        """Return the given order, which wins ties, and the costly questions first or last."""
        places = tuple(range(len(self.plans)))
        alone = [self.charge([place])[0] for place in places]
        costly = tuple(sorted(places, key=lambda place: -alone[place]))
        return [places, costly, costly[::-1]]

    def _over_sets(self, start: Ordering) -> Ordering:
        """Find the best order: the cheapest way to each set of questions and of rows."""
        ways: dict[Hashable, tuple[Ordering, tuple[Row, ...]]] = {(): (Ordering((), ()), ())}
        for _ in self.plans:
            longer: dict[Hashable, tuple[Ordering, tuple[Row, ...]]] = {}
            for ordering, rows in ways.values():
                for place in range(len(self.plans)):
                    if place in ordering.places:
                        continue
                    cells, row = self.charge([place], rows)
                    extended = Ordering((*ordering.places, place), (*ordering.cells, cells))
                    if extended.total >= start.total:
                        continue  # no charge is below 1, so this way ends no cheaper
                    added = (*rows, row) if row else rows
                    key = frozenset(extended.places), self._as_key(added)
                    known = longer.get(key)
                    if known is None or extended.total < known[0].total:
                        longer[key] = extended, added
            ways = longer
        orderings = [ordering for ordering, _ in ways.values()]
        best = min(orderings, key=lambda ordering: ordering.total, default=start)
        return best._replace(best=True)

    def _exchanged(self, start: Ordering) -> Ordering:
        """Exchange neighbours as long as that lowers the total."""
        best = start
        for _ in range(MOST_PASSES):
            before = best.total
            for at in range(len(self.plans) - 1):
                places = list(best.places)
                places[at], places[at + 1] = places[at + 1], places[at]
                best = min(best, self.in_order(places), key=lambda ordering: ordering.total)
            if best.total == before:
                break
        return best


def told_before(schema: Schema, rows: Iterable[Row]) -> ToldBefore:
    """Return what rows told, numbered from 1 in their order."""
    earlier = ToldBefore(schema)
    for number, row in enumerate(rows, start=1):
        for question in row:
            earlier.add(question, number)
    return earlier


def in_known_cells(plan: Selection, earlier: ToldBefore) -> Selection:
    """Return a plan in the cells that were told before, where these are finer: free, and better."""
    return plan.with_steps([earlier.finest(asked) or asked.step for asked in plan.questions])


@lru_cache(maxsize=4096)
def _columns(question: Question) -> frozenset[str]:
    return columns_named(question)
