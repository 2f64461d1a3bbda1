"""A file of questions: SQL statements, each with its wish and its weight written in comments.

``-- bits=2``, ``-- error=0.5``, ``-- min_rows=100`` and ``-- weight=3`` may stand before a
statement, inside it, or after its semicolon on the same line. Comments that begin otherwise are
remarks.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.files import one_line, read_text_file
from hartley.results.plan import Ordering, WorkloadEntry, without_comments
from hartley.results.quote import Wish
from hartley.trusted.precision import in_known_cells, questions_of
from hartley.trusted.pricing.after_answers import MOST_FILTERS, ToldBefore, as_asked, laminar
from hartley.trusted.pricing.atoms import MOST_ATOMS, form_atoms, leaves_of, segments
from hartley.trusted.pricing.conditional_price import price_paths
from hartley.trusted.pricing.one_row import MOST_PUBLIC, memory_of
from hartley.trusted.pricing.regions import MOST_PARTS, PublicParts, apart
from hartley.trusted.questions.batch import COUNT, columns_named
from hartley.trusted.questions.parsing import DIALECT

if TYPE_CHECKING:
    import os
    from collections.abc import Hashable, Iterable, Iterator, Sequence, Set as AbstractSet

    from hartley.schema.schema import Schema
    from hartley.trusted.questions.batch import Condition, Question
    from hartley.trusted.questions.question import Selection

    Row: TypeAlias = tuple[Question, ...]
    """The questions that one row of a ledger charges for."""


# --- workload -------------------------------------------------------------------------------------


MOST_STATEMENTS = 1000
"""A file with more questions is refused before they are read."""
_COMMENT = re.compile(r"--([^\n]*)|/\*(.*?)\*/", re.DOTALL)
_SETTING = re.compile(r"\s*(bits|error|min_rows|weight)\s*=\s*([^\s,;]*)[\s,;]*", re.IGNORECASE)


def read_workload(path: str | os.PathLike[str]) -> list[WorkloadEntry]:
    """Read a file of questions in SQL, separated by semicolons, with wishes in comments.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        ...     print("SELECT COUNT(*) FROM people; -- bits=2", file=file, flush=True)
        ...     read_workload(file.name)[0].wish.bits
        '2'
    """
    return parse_workload(read_text_file(path, what="file of questions"))


def parse_workload(text: str) -> list[WorkloadEntry]:
    r"""Return the questions of a text, with the wishes and weights in its comments.

    Only the text is split here; each question is read, or refused, when it is planned. Linear in
    the text.

    Example:
        >>> text = "-- bits=2\nSELECT COUNT(*) FROM people; SELECT AVG(age) FROM people -- weight=3"
        >>> for entry in parse_workload(text):
        ...     print(entry.wish.text, entry.wish.bits, entry.weight)
        SELECT COUNT(*) FROM people 2 1
        SELECT AVG(age) FROM people None 3
    """
    entries = []
    for statement, settings in _statements(text):
        entries.append(_entry(statement, settings))
        if len(entries) > MOST_STATEMENTS:
            raise OptionError(
                f"The file has more than {MOST_STATEMENTS:,} questions",
                hint="plan it in several parts",
            )
    if not entries:
        raise OptionError(
            "The file of questions has no question",
            hint="write SQL, for example SELECT COUNT(*) FROM people;",
        )
    return entries


def _entry(statement: str, settings: Sequence[tuple[str, str]]) -> WorkloadEntry:
    values: dict[str, str] = {}
    for name, value in settings:
        if name in values:
            raise OptionError(
                f"The question {one_line(statement)} has two comments with {name}=",
                hint="keep one of them",
            )
        values[name] = value
    if {"bits", "error"} <= values.keys():
        raise OptionError(
            f"The question {one_line(statement)} has comments with bits= and with error=",
            hint="keep one of them",
        )
    weight = read_weight(values.pop("weight", "1"))
    return WorkloadEntry(Wish(without_comments(statement), **values), weight)


def read_weight(weight: object) -> Fraction:
    """Return a weight as an exact number, which must be positive.

    Example:
        >>> read_weight("0.5")
        Fraction(1, 2)
    """
    number = parse_number(weight, name="the weight of a question")
    if number <= 0:
        raise OptionError(
            f"The weight {one_line(str(weight))} of a question is not positive",
            hint="write a positive number; leave out questions that do not matter",
        )
    return number


def _statements(text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each statement with the settings in the comments that belong to it."""
    begin = end = None
    settings: list[tuple[str, str]] = []
    place = last = 0
    for start, stop in _words(text):
        after, before = _gap(text, place, start, closed=end is not None)
        place = stop
        if end is not None:
            yield text[begin:end], settings + after
            begin = end = None
            settings, after = before, []
        else:
            settings = settings + after + before
        if text[start:stop] != ";":
            begin = start if begin is None else begin
            last = stop
        elif begin is not None:
            end = last
    after, before = _gap(text, place, len(text), closed=end is not None)
    if begin is not None:
        if end is None:
            end, after, before = last, after + before, []
        yield text[begin:end], settings + after
        settings = []
    if settings + before:
        name, value = (settings + before)[-1]
        raise OptionError(
            f"The comment {one_line(f'{name}={value}')} at the end of the file belongs to no "
            "question",
            hint="write it before its question, or after it on the same line",
        )


def _words(text: str) -> list[tuple[int, int]]:
    """Return the beginning and the end of every word of SQL; comments are no words."""
    from sqlglot import Dialect, errors

    try:
        tokens = Dialect.get_or_raise(DIALECT).tokenize(text)
    except (errors.SqlglotError, ValueError, IndexError):
        raise OptionError(
            "The file of questions cannot be read", hint="close every quotation mark and comment"
        ) from None
    return [(token.start, token.end + 1) for token in tokens]


def _gap(
    text: str, start: int, stop: int, *, closed: bool
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the settings between two words: for the question before, and for the one after.

    What follows a semicolon on its line belongs to the question that it ends.
    """
    before: list[tuple[str, str]] = []
    after: list[tuple[str, str]] = []
    for comment in _COMMENT.finditer(text, start, stop):
        same_line = closed and "\n" not in text[start : comment.start()]
        (after if same_line else before).extend(_settings(comment[1] or comment[2] or ""))
    return after, before


def _settings(comment: str) -> Iterator[tuple[str, str]]:
    """Yield the settings of a comment that begins with one; nothing for a remark."""
    place = 0
    while match := _SETTING.match(comment, place):
        if not match[2]:
            raise OptionError(
                f"The comment {one_line(comment.strip())} gives {match[1].lower()}= no value",
                hint="write for example -- bits=2, -- error=0.5 or -- weight=3",
            )
        yield match[1].lower(), match[2]
        place = match.end()
    if place and comment[place:].strip():
        raise OptionError(
            f"The comment {one_line(comment.strip())} cannot be read as a wish",
            hint="write for example -- bits=2, weight=3, and remarks in a comment of their own",
        )


# --- order ----------------------------------------------------------------------------------------
# The order of questions: what each costs after the others, and the cheapest order.
#
# A price depends on the schema, the questions and what the asking account was charged for before.
# No data and no answer is ever looked at.

NOTHING = PublicParts()
"""Nothing is spent on any type of the public columns."""
MOST_ORDERED = 8
"""Up to this many questions the best order is looked for among all orders."""
MOST_PRICES, MOST_SLOW_PRICES = 8192, 2048
"""Prices that are computed for that, and if they take longer: with one row per person, or where a
cap may be passed. Beyond, the result is only the best that was found."""
MOST_COLUMN_SETS = 4
"""Different sets of columns of the questions of one plan, of which all subsets are looked at."""
MOST_PASSES = 4
"""Passes of moves of single questions, for more questions than that."""
MOST_MOVED = 24
"""Up to this many questions, each is tried at every place; beyond, beside its neighbours."""


class _NearCounts(NamedTuple):
    """Exact counts among which rule N takes some for a price, as bits.

    First those that name fewest columns that the questions do not. Counts that are as near come in
    the order of the ledger.
    """

    nearest: int
    others: tuple[int, ...]
    """The counts that are further away, those that are equally far together."""


class _Taken(NamedTuple):
    """What the order of rows told so far means to a list of near counts.

    Of the nearest counts, which are taken: a later one changes nothing about those before. Of the
    others, the order of those that cross: a later count that is nearer may still push out one of
    them, so that another one is taken instead. Those that cross a taken one are out for good.
    """

    nearest: int = 0
    crossing: frozenset[tuple[int, int]] = frozenset()


class _Way(NamedTuple):
    """Some questions in an order, the rows that they add, and what is spent after them."""

    places: tuple[int, ...]
    rows: tuple[Row, ...]
    spent: PublicParts
    told: int
    """The exact counts that were told, as bits."""
    taken: tuple[_Taken, ...]
    """What their order means, for every list of near counts."""
    pairs: tuple[tuple[int, int, int], ...] = ()
    """Pairs of rows whose order matters, by identity, the earlier first; and to which plans."""


class RowOrder:
    """Says what the order of rows means to the prices of plans that come after them.

    Two lists of the same rows give a plan the same price if this is the same for both. A price is
    computed by ``price_paths``, which looks at earlier rows through ``ToldBefore`` alone, at steps,
    filters and sums, and is computed again from the rows that it rests on. All of these are sets to
    it (they become atoms, ranks, parts and windows), except here:

    - Several rows per person, all columns private: rule N takes exact counts in their order, each
      if it is nested in or disjoint from those before. So which are taken depends only on which of
      two that cross comes first, and ``_Taken`` says what of that is left.
    - A statistic that was told in other steps: of rows whose steps are equally good, or that told
      the same filter, a price rests on the first (rule S). Computed again from the rows that it
      rests on, it may differ, since rule N may take other counts among fewer. Without such a
      statistic, a price rests on no row or on all whose filters and sums it looks at (on counts
      alone, if a person has several rows), and these give it the same again.
    - One row per person: of filters that hold for the same records, the last one is kept, and the
      columns of its form count as points. The filter of a count has no form.
    - Caps: where one may be passed, the first filters are kept, and every pair of rows matters.

    In the last three cases the order of pairs of rows is kept. A list in which these pairs have the
    same order can be reached by swapping neighbours that are no such pair, and no such swap changes
    a price.
    """

    def __init__(self, schema: Schema, plans: Sequence[Selection], own: Sequence[Row]) -> None:
        self._schema, self._plans = schema, plans
        private = all(column.kind == "private" for column in schema.columns.values())
        self._by_rule_n = schema.rows_per_unit > 1 and private
        self._told: dict[int, ToldBefore] = {}
        self._pairs: dict[frozenset[int], int] = {}
        self._cross: dict[frozenset[Question], bool] = {}
        every = told_before(schema, [*own, *[plan.questions for plan in plans]])
        self._beyond_caps = [self._may_pass_caps(plan, every) for plan in plans]
        self._refined = [any(every.steps(q)[1:] for q in plan.questions) for plan in plans]
        """Whether a statistic of a plan is also told in other steps."""
        self._bits: dict[Condition, int] = {}
        self._crossed: dict[int, int] = {}
        self.lists: dict[_NearCounts, int] = {}
        """The lists of near counts, and the plans whose prices look at them, as bits."""
        self._listed = [
            self._by_rule_n
            and not self._beyond_caps[place]
            and not self._refined[place]
            and self._list_counts(place, every)
            for place in range(len(plans))
        ]

    @property
    def most_prices(self) -> int:
        """How many prices may be computed to find the best order."""
        slow = self._schema.rows_per_unit == 1 or any(self._beyond_caps)
        return MOST_SLOW_PRICES if slow else MOST_PRICES

    def _list_counts(self, place: int, every: ToldBefore) -> bool:
        """List the near counts of every group of questions that rule N may price for a plan.

        Which of its questions are left to pay, and to price after those that counts decide, is not
        known yet. False if there are too many possibilities.
        """
        column_sets = {columns_named(question) for question in self._plans[place].questions}
        if len(column_sets) > MOST_COLUMN_SETS:
            return False
        for asked in _subsets(column_sets):
            touched = frozenset[str]().union(*asked)
            near = [entry.question for entry in every.filters(touched, touched)]
            counts = [question for question in near if question.statistic is COUNT]
            self._number(counts)
            parts = [apart([(columns, columns) for columns in left]) for left in _subsets(asked)]
            for group in {frozenset(columns) for groups in parts for _, columns in groups}:
                by_distance: dict[int, int] = {}
                for count in counts:
                    named = columns_named(count)
                    if not group or named & group:
                        distance = len(named - touched)
                        bit = self._bits[count.where]
                        by_distance[distance] = by_distance.get(distance, 0) | bit
                listed = tuple([by_distance[distance] for distance in sorted(by_distance)])
                if any(self._crossed[bit] & some for some in listed for bit in _bits(some)):
                    key = _NearCounts(listed[0], listed[1:])
                    self.lists[key] = self.lists.get(key, 0) | 1 << place
        return True

    def _number(self, counts: Iterable[Question]) -> None:
        """Give counts a bit each, and note which of them cross."""
        for count in counts:
            if count.where not in self._bits:
                bit = self._bits[count.where] = 1 << len(self._bits)
                self._crossed[bit] = 0
                for where, other in self._bits.items():
                    if self._crossing(count, replace(count, where=where)):
                        self._crossed[bit] |= other
                        self._crossed[other] |= bit

    def start(self, own: Sequence[Row], spent: PublicParts) -> _Way:
        """Return the way on which nothing was asked yet, after the rows of an account."""
        way = _Way((), (), spent, 0, (_Taken(),) * len(self.lists))
        for row in own:
            way = self._take(way, row)
        return way

    def after(self, way: _Way, place: int, row: Row, spent: PublicParts) -> _Way:
        """Return a way with one question more, and the row that it adds."""
        way = way._replace(places=(*way.places, place), spent=spent)
        if not row:
            return way
        pairs = [(id(other), id(row), self._plans_for(other, row)) for other in way.rows]
        way = way._replace(
            rows=(*way.rows, row), pairs=(*way.pairs, *[pair for pair in pairs if pair[2]])
        )
        return self._take(way, row)

    def seen_by(self, way: _Way, plans: int, rows: AbstractSet[int]) -> Hashable:
        """Return what the order of some rows of a way, by identity, means to plans, as bits."""
        return (
            rows,
            tuple(
                [
                    taken
                    for looking, taken in zip(self.lists.values(), way.taken, strict=True)
                    if looking & plans
                ]
            ),
            frozenset(
                [
                    (first, second)
                    for first, second, looking in way.pairs
                    if looking & plans and first in rows and second in rows
                ]
            ),
        )

    def _take(self, way: _Way, row: Row) -> _Way:
        """Take the counts of one row more, where rule N does."""
        exact = [question for question in row if _is_exact_count(question)]
        new = [self._bits[count.where] for count in exact if count.where in self._bits]
        lists = []
        for near, (nearest, crossing) in zip(self.lists, way.taken, strict=True):
            taken, pairs, told = nearest, {*crossing}, way.told
            for count in new:
                if count & near.nearest and not self._crossed[count] & taken:
                    taken |= count
                for equally_far in near.others:
                    if count & equally_far:
                        crossed = self._crossed[count] & equally_far & told
                        pairs |= {(other, count) for other in _bits(crossed)}
                told |= count
            undecided = [
                pair for pair in pairs if not any(self._crossed[each] & taken for each in pair)
            ]
            lists.append(_Taken(taken, frozenset(undecided)))
        return way._replace(told=way.told | sum(new), taken=tuple(lists))

    def _plans_for(self, first: Row, second: Row) -> int:
        """Return the plans whose price may depend on which of two rows came first, as bits."""
        key = frozenset((id(first), id(second)))  # of rows that the caller keeps
        if key not in self._pairs:
            together = told_before(self._schema, (first, second))
            self._pairs[key] = sum(
                [
                    1 << place
                    for place in range(len(self._plans))
                    if self._beyond_caps[place]
                    or self._matters(place, self._of(first), self._of(second), together)
                ]
            )
        return self._pairs[key]

    def _of(self, row: Row) -> ToldBefore:
        if id(row) not in self._told:
            self._told[id(row)] = told_before(self._schema, (row,))
        return self._told[id(row)]

    def _matters(
        self, place: int, first: ToldBefore, second: ToldBefore, together: ToldBefore
    ) -> bool:
        plan, several = self._plans[place], self._schema.rows_per_unit > 1
        touched = _columns_of(plan)
        near, others, all_near = (
            [
                entry.question
                for entry in told.filters(touched, touched)
                if entry.question.statistic is COUNT or not several
            ]
            for told in (first, second, together)
        )
        if self._refined[place] or several:
            if len(all_near) < len(near) + len(others):
                return True
            if any(first.steps(question) and second.steps(question) for question in plan.questions):
                return True
        pairs = itertools.product(near, others)
        if several:
            undecided = self._by_rule_n and not self._listed[place]
            return undecided and any(self._crossing(*pair) for pair in pairs)
        common = frozenset.intersection(*map(columns_named, plan.questions))
        return any(self._alike(*pair, common) for pair in pairs)

    def _crossing(self, first: Question, second: Question) -> bool:
        """Whether two counts are neither nested nor disjoint."""
        key = frozenset((first, second))
        if key not in self._cross:
            asked = [as_asked(question, self._schema) for question in (first, second)]
            atoms = form_atoms(tuple([each for each in asked if each]), self._schema)
            if None in asked or atoms is None:
                self._cross[key] = True
            else:
                holding = [
                    frozenset([n for n, atom in enumerate(atoms.atoms) if k in atom.alive])
                    for k in range(2)
                ]
                self._cross[key] = len(laminar(holding)) < len(holding)
        return self._cross[key]

    def _alike(self, first: Question, second: Question, common: frozenset[str]) -> bool:
        """Whether two filters may hold for the same records of some type, but have other forms.

        Forms of columns that are ``common`` to all questions of a plan make no difference to it.
        """
        memory = memory_of(self._schema)
        one, other = memory.split(first), memory.split(second)
        columns = [{column for column, _ in each.direction} - common for each in (one, other)]
        if columns[0] == columns[1]:
            return False
        if one.terms is None or other.terms is None:
            return True
        if any(known for known, _ in (*one.terms, *other.terms)):
            return True  # what is left of a filter depends on the type
        return {*one.terms} == {*other.terms}

    def _may_pass_caps(self, plan: Selection, every: ToldBefore) -> bool:
        """Whether some cap may be passed in the price of a plan, after any of all rows."""
        schema, touched = self._schema, _columns_of(plan)
        filters, sums = every.filters(touched, touched), every.sums(touched)
        if max(len(filters), len(sums)) >= MOST_FILTERS:
            return True
        near = [*plan.questions, *[entry.question for entry in (*filters, *sums)]]
        asked = [as_asked(question, schema) for question in near]
        # A column has no more classes than it has segments, for fewer questions too; and there are
        # no more atoms or types, of any columns in any order, than the product of these.
        private = known = 1
        for name, leaves in leaves_of([each for each in asked if each])[0].items():
            cut, missing = segments(schema.columns[name], leaves, 0)
            size = len(cut) + (missing is not None)
            if schema.columns[name].kind == "private":
                private *= size
            else:
                known *= size
        atoms = private * known if schema.rows_per_unit > 1 else private
        return None in asked or atoms > MOST_ATOMS[0] or known > MOST_PUBLIC


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
    _in_parts: dict[object, int | None] = field(default_factory=dict, repr=False, compare=False)
    """What rule N computed for the counts that it took."""
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

    def due(self, places: Sequence[int]) -> Fraction:
        """Return what is due for a batch of these plans."""
        after = self.spent.times(self.charge(places)[0])
        return Fraction(after.most, self.spent.most)

    def _charge(self, plans: Sequence[Selection], rows: Sequence[Row]) -> tuple[PublicParts, Row]:
        earlier = self._told_before(rows)
        refined = [in_known_cells(plan, earlier) for plan in plans]
        paid = {question for row in rows for question in row}
        unpaid = tuple(q for q in questions_of(refined) if q not in paid)
        if not unpaid:
            return NOTHING, ()
        priced = price_paths(unpaid, earlier)
        if priced.rows:
            # The ledger keeps the rows that a price rests on, and the price is that of these rows.
            resting = [rows[number - 1] for number in priced.rows]
            priced = price_paths(unpaid, self._told_before(resting))
        return priced.parts or NOTHING, unpaid

    def _told_before(self, rows: Sequence[Row]) -> ToldBefore:
        told = told_before(self.schema, rows)
        told.memory = self._in_parts
        return told

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

        Dynamic programming over the sets of questions that were asked, up to 8 questions, and over
        the order of those rows whose order changes a price. Beyond, single questions are moved as
        long as that helps, and the result is only the best that was found.
        """
        start = min(
            (self.in_order(places) for places in self._likely_orders()),
            key=lambda ordering: ordering.total,
        )
        if len(self.plans) <= MOST_ORDERED:
            best = self._among_all_orders(start)
            if best is not None:
                return best
        # Priced again in its own order, as it will be charged.
        moved = self.in_order(self._moved(start).places)
        return min(start, moved, key=lambda ordering: ordering.total)

    def _likely_orders(self) -> list[tuple[int, ...]]:
        """Return the given order, which wins ties, and the costly questions first or last."""
        places = tuple(range(len(self.plans)))
        alone = [self.charge([place])[0].most for place in places]
        costly = tuple(sorted(places, key=lambda place: -alone[place]))
        return [places, costly, costly[::-1]]

    def _among_all_orders(self, start: Ordering) -> Ordering | None:
        """Find the best order: the cheapest ways to each set of questions and of rows.

        Of ways to the same rows, in orders that mean the same to all later plans, one is kept
        unless another has spent no more on any type of the public columns. None beyond a cap.
        """
        order = RowOrder(self.schema, self.plans, self.own)
        most = start.total * self.spent.most
        prices: dict[Hashable, tuple[PublicParts, Row]] = {}
        ways: dict[Hashable, list[_Way]] = {(): [order.start(self.own, self.spent)]}
        for _ in self.plans:
            longer: dict[Hashable, list[_Way]] = {}
            for way in itertools.chain.from_iterable(ways.values()):
                left = [place for place in range(len(self.plans)) if place not in way.places]
                for place in left:
                    near = [row for row in way.rows if self._is_near(row, self._columns_of(place))]
                    seen = order.seen_by(way, 1 << place, frozenset(map(id, near)))
                    if (place, seen) not in prices:
                        prices[place, seen] = self.charge([place], near)
                        if len(prices) > order.most_prices:
                            return None
                    parts, row = prices[place, seen]
                    spent = way.spent.times(parts)
                    if spent.most >= most:
                        continue  # what is spent never falls, so this way ends no cheaper
                    added = order.after(way, place, row, spent)
                    others = sum([1 << other for other in left if other != place])
                    state = (others, order.seen_by(added, others, frozenset(map(id, added.rows))))
                    known = longer.setdefault(state, [])
                    if not any(other.spent.smaller(spent) == other.spent for other in known):
                        known[:] = [o for o in known if spent.smaller(o.spent) != spent]
                        known.append(added)
            ways = longer
        if self._may_merge_types():
            return None
        found = [way for listed in ways.values() for way in listed]
        best = min(found, key=lambda way: way.spent.most, default=None)
        # Priced again in its own order, as it will be charged, from nothing that was kept.
        afresh = Charges(self.schema, self.plans, self.own, self.spent)
        charged = afresh.in_order(best.places if best else start.places)
        least = best.spent.most if best else most
        return charged._replace(best=True) if charged.total * self.spent.most == least else None

    def _may_merge_types(self) -> bool:
        """Whether types of the public columns may be too many to keep what was spent on each.

        Then neighbours are merged, and a way that spent less may not stay the cheaper one.
        """
        starts: dict[str, set[int]] = {}
        for parts in (self.spent, *[parts for parts, _ in self._known.values()]):
            for name, codes in parts.cuts:
                starts.setdefault(name, set()).update(codes)
        return prod(map(len, starts.values())) > MOST_PARTS

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


def _is_exact_count(question: Question) -> bool:
    return question.statistic is COUNT and question.step <= 1


def _bits(some: int) -> Iterator[int]:
    """Yield the bits of a number, each as a number."""
    while some:
        yield some & -some
        some &= some - 1


def _subsets(some: Iterable[frozenset[str]]) -> Iterator[tuple[frozenset[str], ...]]:
    """Yield all subsets but the empty one."""
    listed = tuple(some)
    for size in range(1, len(listed) + 1):
        yield from itertools.combinations(listed, size)


def _columns_of(plan: Selection) -> frozenset[str]:
    return frozenset[str]().union(*map(columns_named, plan.questions))


def told_before(schema: Schema, rows: Iterable[Row]) -> ToldBefore:
    """Return what rows told, numbered from 1 in their order."""
    earlier = ToldBefore(schema)
    for number, row in enumerate(rows, start=1):
        for question in row:
            earlier.add(question, number)
    return earlier
