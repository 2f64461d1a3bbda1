"""A file of questions: SQL statements, each with its wish and its weight written in comments.

``-- bits=2``, ``-- error=0.5``, ``-- min_rows=100`` and ``-- weight=3`` may stand before a
statement, inside it, or after its semicolon on the same line. Comments that begin otherwise are
remarks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.files import one_line, read_text_file
from hartley.results.plan import Ordering, WorkloadEntry, without_comments
from hartley.results.quote import Wish
from hartley.trusted.precision import questions_of, refine_to_known_cells
from hartley.trusted.pricing.after_answers import EarlierAnswers
from hartley.trusted.pricing.conditional_price import price_paths
from hartley.trusted.pricing.regions import PublicParts
from hartley.trusted.questions.batch import columns_named
from hartley.trusted.questions.parsing import DIALECT

if TYPE_CHECKING:
    import os
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from hartley.schema.schema import Schema
    from hartley.trusted.questions.batch import Question
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
# The order of questions: what each costs after the others, and a cheap order.
#
# A price depends on the schema, the questions and what the asking account was charged for before.
# No data and no answer is ever looked at.

NOTHING = PublicParts()
"""Nothing is spent on any type of the public columns."""
MOST_PASSES = 4
"""Passes of moves of single questions, to find a cheap order."""
MOST_MOVED = 24
"""Up to this many questions, each is tried at every place; beyond, beside its neighbours."""


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
        """Return whether a price about some private columns looks at a row.

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

    def batch_charge(self, places: Sequence[int]) -> Fraction:
        """Return the charge for asking these questions as one batch."""
        after = self.spent.times(self.charge(places)[0])
        return Fraction(after.most, self.spent.most)

    def _charge(self, plans: Sequence[Selection], rows: Sequence[Row]) -> tuple[PublicParts, Row]:
        earlier = self._told_before(rows)
        refined = [refine_to_known_cells(plan, earlier) for plan in plans]
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

    def _told_before(self, rows: Sequence[Row]) -> EarlierAnswers:
        told = earlier_answers(self.schema, rows)
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
        """Return a cheap order of all plans, one by one; of two, the cheapest.

        Single questions are moved as long as that lowers the total.
        """
        start = min(
            (self.in_order(places) for places in self._likely_orders()),
            key=lambda ordering: ordering.total,
        )
        # Priced again in its own order, as it will be charged.
        moved = self.in_order(self._moved(start).places)
        best = min(start, moved, key=lambda ordering: ordering.total)
        return replace(best, best=len(self.plans) <= 2)

    def _likely_orders(self) -> list[tuple[int, ...]]:
        """Return the given order, which wins ties, and the costly questions first or last."""
        places = tuple(range(len(self.plans)))
        alone = [self.charge([place])[0].most for place in places]
        costly = tuple(sorted(places, key=lambda place: -alone[place]))
        return [places, costly, costly[::-1]]

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


def earlier_answers(schema: Schema, rows: Iterable[Row]) -> EarlierAnswers:
    """Return what rows told, numbered from 1 in their order."""
    earlier = EarlierAnswers(schema)
    for number, row in enumerate(rows, start=1):
        for question in row:
            earlier.add(question, number)
    return earlier
