"""The order of questions: what each costs after the others, and the cheapest order.

A price depends on the schema, the questions and what the asking account was charged for before.
No data and no answer is ever looked at.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from hartley.agent.pricing.given_price import price_paths
from hartley.agent.pricing.public_parts import PublicParts
from hartley.agent.pricing.told import MOST_FILTERS, ToldBefore
from hartley.agent.questions.batch import columns_named
from hartley.agent.quotes import in_known_cells, questions_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from hartley.agent.questions.batch import Question
    from hartley.agent.questions.selection import Selection
    from hartley.ranges.schema.schema import Schema

    Row: TypeAlias = tuple[Question, ...]
    """The questions that one row of a ledger charges for."""

NOTHING = PublicParts()
"""Nothing is spent on any type of the public columns."""
MOST_ORDERED = 8
"""Up to this many questions the best order is found over all sets of questions."""
MOST_LISTED_ORDERS = 5
"""The same where prices depend on the order of earlier rows: all orders are tried."""
MOST_PASSES = 4
"""Passes of moves of single questions, for more questions than that."""
MOST_MOVED = 24
"""Up to this many questions, each is tried at every place; beyond, beside its neighbours."""


class Ordering(NamedTuple):
    """An order of questions, what each costs after those before it, and whether none is cheaper."""

    places: tuple[int, ...]
    cells: tuple[Fraction, ...]
    """What is due for each, in this order: the factor by which the largest number spent grows."""
    best: bool = False

    @property
    def total(self) -> Fraction:
        """The product of what is due."""
        return prod(self.cells, start=Fraction(1))


class _Way(NamedTuple):
    """Some questions in an order, the rows that they add, and what is spent after them."""

    places: tuple[int, ...]
    rows: tuple[Row, ...]
    spent: PublicParts


@dataclass(frozen=True)
class Charges:
    """What ``ask`` charges an account for questions after some rows, without asking them."""

    schema: Schema
    plans: tuple[Selection, ...]
    own: tuple[Row, ...] = ()
    """The rows that the account was charged before."""
    spent: PublicParts = NOTHING
    """What the account spent before, for every type of the public columns."""
    _known: dict[Hashable, tuple[PublicParts, Row]] = field(
        default_factory=dict, repr=False, compare=False
    )
    _equal: dict[Row, Row] = field(default_factory=dict, repr=False, compare=False)
    _about: dict[int, tuple[Row, frozenset[str], bool]] = field(
        default_factory=dict, repr=False, compare=False
    )
    _columns: dict[int, frozenset[str]] = field(default_factory=dict, repr=False, compare=False)

    def charge(
        self, places: Sequence[int], rows: Sequence[Row] = (), *, ordered: bool = True
    ) -> tuple[PublicParts, Row]:
        """Return what a batch of these plans costs every type after rows, and the row it adds.

        The same steps as ``Agent.ask`` takes: cells that are known in finer ones come from there,
        what the account was charged for is free, and the rest is priced from earlier rows. Without
        ``ordered``, a price after the same rows in another order may be used.
        """
        columns = frozenset().union(*(self._columns_of(place) for place in places))
        near = tuple(row for row in (*self.own, *rows) if self._is_near(row, columns))
        # By identity: hashing the questions of every row would take longer than most prices.
        numbers = [id(row) for row in near]
        key = tuple(places), tuple(numbers) if ordered else frozenset(numbers)
        if key not in self._known:
            cells, row = self._charge([self.plans[place] for place in places], near)
            self._known[key] = cells, self._equal.setdefault(row, row)
        return self._known[key]

    def _is_near(self, row: Row, columns: frozenset[str]) -> bool:
        """Whether a price about some private columns looks at a row.

        It looks at rows with a question about one of these columns, or about no private column:
        COUNT(*) says who is in the table.
        """
        if id(row) not in self._about:  # the row is kept too, so that its identity stays its own
            about = [self._private(question) for question in row]
            union = frozenset[str]().union(*about)
            self._about[id(row)] = row, union, frozenset() in about
        _, union, anybody = self._about[id(row)]
        return anybody or bool(union & columns)

    def _columns_of(self, place: int) -> frozenset[str]:
        if place not in self._columns:
            about = [self._private(question) for question in self.plans[place].questions]
            self._columns[place] = frozenset[str]().union(*about)
        return self._columns[place]

    @cached_property
    def depends_on_sets(self) -> bool:
        """Whether the order of earlier rows plays no part in a price.

        With several rows per person, nested counts are taken in the order of the ledger (rule N).
        Beyond the cap on earlier filters, the first ones are taken.
        """
        if self.schema.rows_per_unit > 1:
            return False
        every = {question for row in self.own for question in row} | {*questions_of(self.plans)}
        about = [self._private(question) for question in every]
        return all(
            sum(not columns or bool(columns & self._columns_of(place)) for columns in about)
            <= MOST_FILTERS
            for place in range(len(self.plans))
        )

    def due(self, places: Sequence[int]) -> Fraction:
        """Return what is due for a batch of these plans."""
        after = self.spent.times(self.charge(places)[0])
        return Fraction(after.most, self.spent.most)

    def _charge(self, plans: Sequence[Selection], rows: Sequence[Row]) -> tuple[PublicParts, Row]:
        earlier = told_before(self.schema, rows)
        refined = [in_known_cells(plan, earlier) for plan in plans]
        paid = {question for row in rows for question in row}
        unpaid = tuple(q for q in questions_of(refined) if q not in paid)
        if not unpaid:
            return NOTHING, ()
        priced = price_paths(unpaid, earlier)
        if priced.rows:
            # The ledger keeps the rows that a price rests on, and the price is that of these rows.
            resting = [rows[number - 1] for number in priced.rows]
            priced = price_paths(unpaid, told_before(self.schema, resting))
        return priced.parts or NOTHING, unpaid

    def _private(self, question: Question) -> frozenset[str]:
        columns = self.schema.columns
        return frozenset(c for c in columns_named(question) if columns[c].kind == "private")

    def in_order(self, places: Sequence[int], *, ordered: bool = True) -> Ordering:
        """Return what each plan costs if they are asked one by one in this order."""
        rows: list[Row] = []
        cells = []
        spent = self.spent
        for place in places:
            charged, row = self.charge([place], rows, ordered=ordered)
            after = spent.times(charged)
            cells.append(Fraction(after.most, spent.most))
            spent = after
            rows += [row] if row else []
        return Ordering(tuple(places), tuple(cells))

    def best_order(self) -> Ordering:
        """Return the cheapest order of all plans, one by one; beyond the limits, a cheap one.

        Dynamic programming over the sets of questions that were asked, up to 8 questions: a price
        depends on which questions were charged before, not on their order. Where it does depend on
        the order, all orders are tried, up to 5 questions. Beyond, single questions are moved as
        long as that helps, and the result is only the best that was found.
        """
        start = min(
            (self.in_order(places) for places in self._likely_orders()),
            key=lambda ordering: ordering.total,
        )
        limit = MOST_ORDERED if self.depends_on_sets else MOST_LISTED_ORDERS
        if len(self.plans) <= limit:
            return self._over_sets(start)
        # Priced again in its own order, as it will be charged.
        moved = self.in_order(self._moved(start).places)
        return min(start, moved, key=lambda ordering: ordering.total)

    def _likely_orders(self) -> list[tuple[int, ...]]:
        """Return the given order, which wins ties, and the costly questions first or last."""
        places = tuple(range(len(self.plans)))
        alone = [self.charge([place])[0].most for place in places]
        costly = tuple(sorted(places, key=lambda place: -alone[place]))
        return [places, costly, costly[::-1]]

    def _over_sets(self, start: Ordering) -> Ordering:
        """Find the best order: the cheapest ways to each set of questions and of rows.

        One way is kept unless another has spent no more on any type of the public columns.
        """
        ordered = not self.depends_on_sets
        most = start.total * self.spent.most
        ways: dict[Hashable, list[_Way]] = {(): [_Way((), (), self.spent)]}
        for _ in self.plans:
            longer: dict[Hashable, list[_Way]] = {}
            for way in itertools.chain.from_iterable(ways.values()):
                for place in range(len(self.plans)):
                    if place in way.places:
                        continue
                    parts, row = self.charge([place], way.rows, ordered=ordered)
                    spent = way.spent.times(parts)
                    if spent.most >= most:
                        continue  # what is spent never falls, so this way ends no cheaper
                    added = (*way.rows, row) if row else way.rows
                    numbers = [id(each) for each in added]
                    key = (
                        frozenset((*way.places, place)),
                        tuple(numbers) if ordered else frozenset(numbers),
                    )
                    known = longer.setdefault(key, [])
                    if not any(other.spent.smaller(spent) == other.spent for other in known):
                        known[:] = [o for o in known if spent.smaller(o.spent) != spent]
                        known.append(_Way((*way.places, place), added, spent))
            ways = longer
        found = [way for listed in ways.values() for way in listed]
        if not found:
            return self.in_order(start.places)._replace(best=True)
        best = min(found, key=lambda way: way.spent.most)
        # Priced again in its own order: a cap that was reached after all would show here.
        charged = self.in_order(best.places)
        if charged.total * self.spent.most == best.spent.most:
            return charged._replace(best=True)
        return min(start, charged, key=lambda ordering: ordering.total)

    def _moved(self, start: Ordering) -> Ordering:
        """Move single questions to other places as long as that lowers the total."""
        best = start
        number = len(self.plans)
        far = number if number <= MOST_MOVED else 1
        for _ in range(MOST_PASSES):
            before = best.total
            for place in range(number):
                at = best.places.index(place)
                for to in range(max(at - far, 0), min(at + far + 1, number)):
                    others = [other for other in best.places if other != place]
                    moved = self.in_order([*others[:to], place, *others[to:]], ordered=False)
                    best = min(best, moved, key=lambda ordering: ordering.total)
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
