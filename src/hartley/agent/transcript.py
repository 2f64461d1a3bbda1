"""All answers of an agent so far, as linear statements about the records of a table."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hartley.engines.coded_table import code_table
from hartley.errors import HartleyError, InputError, OptionError
from hartley.files import parse_toml
from hartley.knowledge.transcript import (
    ABSENT,
    ANY_TYPE,
    FAR,
    MISSING,
    AnswerCell,
    Group,
    Transcript,
    name_of_type,
)
from hartley.schema.schema import Schema
from hartley.tables.opening import open_table
from hartley.trusted.cells import cell_bounds
from hartley.trusted.ledger.rows import NULL, STRANGE
from hartley.trusted.questions.batch import All, Statistic, Test, columns_of, from_plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from hartley.agent.ledger import Charge, Ledger
    from hartley.engines.coded_table import CodedTable
    from hartley.schema.schema import Column
    from hartley.trusted.questions.batch import Condition, Question


@dataclass(frozen=True)
class ColumnCuts:
    """A column cut into pieces of codes that no question distinguishes."""

    column: Column
    starts: tuple[int, ...]
    """The first code of each piece, from 0; a missing value is one more piece, the last."""

    @property
    def size(self) -> int:
        """How many pieces there are."""
        return len(self.starts) + self.column.nullable

    @property
    def widths(self) -> NDArray[np.int64]:
        """How many values each piece has."""
        widths = np.diff([*self.starts, self.column.points]).tolist()
        return np.array(widths + [1] * self.column.nullable, np.int64)

    @property
    def codes(self) -> NDArray[np.int64]:
        """One code of each piece."""
        return np.array([*self.starts, *[MISSING] * self.column.nullable], np.int64)

    def pieces(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the piece of each code; a missing value is given as the number of points."""
        pieces: NDArray[np.int64] = np.searchsorted(self.starts, codes, side="right") - 1
        pieces[codes == self.column.points] = len(self.starts)
        return pieces


def cut_column(column: Column, questions: Iterable[Question]) -> ColumnCuts:
    """Cut a column where questions do; a summed or ranked column is cut into single codes.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.trusted.questions.batch import Question
        >>> from hartley.schema.schema import Column
        >>> age = Column("age", "private", low=Fraction(0), high=Fraction(99), step=Fraction(1))
        >>> old = Question(Statistic.COUNT, Test("age", ((65, 99),)), None, None, 0, 10)
        >>> cut_column(age, [old]).starts
        (0, 65)
    """
    starts = {0}
    for question in questions:
        if question.form is not None and column.name in dict(question.form.terms):
            return ColumnCuts(column, tuple(range(column.points)))
        for test in _tests(question.where):
            if test.column == column.name:
                starts |= {end for low, high in test.codes for end in (low, high + 1)}
    return ColumnCuts(
        column, tuple(sorted(start for start in starts if 0 <= start < column.points))
    )


def _tests(condition: Condition) -> list[Test]:
    if isinstance(condition, Test):
        return [condition]
    return [test for part in condition.parts for test in _tests(part)]


class Domain:
    """All records of some columns, numbered; the last one may be the record of an absent row."""

    def __init__(self, cuts: Iterable[ColumnCuts], *, absent: bool, opened: bool = False) -> None:
        self.cuts, self.absent, self.opened = tuple(cuts), absent, opened
        sizes = [cut.size for cut in self.cuts]
        self._pieces = np.indices(sizes or [1]).reshape(max(len(sizes), 1), -1)[: len(sizes)].T
        self.records = self._spread([cut.codes for cut in self.cuts], ABSENT)
        self.widths = self._spread([cut.widths for cut in self.cuts], 1)
        self._places = {cut.column.name: i for i, cut in enumerate(self.cuts)}

    def _spread(self, listed: list[NDArray[np.int64]], nobody: int) -> NDArray[np.int64]:
        """Return for each record the values of its pieces."""
        spread = np.zeros(self._pieces.shape, np.int64)
        for i, each in enumerate(listed):
            spread[:, i] = each[self._pieces[:, i]]
        if self.absent:
            spread = np.concatenate([spread, np.full((1, len(listed)), nobody, np.int64)])
        return spread

    @cached_property
    def multiplicity(self) -> NDArray[np.int64]:
        """How many records of private values each record represents."""
        private = [i for i, cut in enumerate(self.cuts) if cut.column.kind == "private"]
        products: NDArray[np.int64] = np.prod(self.widths[:, private], axis=1, dtype=np.int64)
        return products

    def _codes(self, column: str) -> NDArray[np.int64]:
        codes: NDArray[np.int64] = self.records[:, self._places[column]]
        return codes

    def passing(self, condition: Condition) -> NDArray[np.bool_]:
        """Tell for each record whether a row with it passes a condition."""
        if isinstance(condition, Test):
            codes = self._codes(condition.column)
            passing: NDArray[np.bool_] = (codes == MISSING) & condition.missing
            for low, high in condition.codes:
                passing |= (codes >= low) & (codes <= high)
            return passing
        every = isinstance(condition, All)
        passing = np.full(len(self.records), every)
        for part in condition.parts:
            mine = self.passing(part)
            passing = passing & mine if every else passing | mine
        if self.absent:
            passing[-1] = False
        return passing

    def statement(self, question: Question, cell: int | None, text: str) -> AnswerCell:
        """Return an answer as a statement about records."""
        inside = self.passing(question.where)
        values = inside.astype(np.int64)
        if question.form is not None:
            values *= question.form.constant
            for name, factor in question.form.terms:
                values += factor * np.where(inside, self._codes(name), 0)
        if question.statistic is Statistic.SQUARES:
            values **= 2
        return AnswerCell(
            text,
            inside,
            values,
            cell,
            (0, 0) if cell is None else cell_bounds(question, cell),
            least=question.least,
            step=question.step,
            quantile=question.quantile,
        )

    @property
    def known(self) -> list[int]:
        """The columns that are public or open."""
        return [i for i, cut in enumerate(self.cuts) if cut.column.kind != "private"]

    # --- who has which record -----------------------------------------------------------------

    def types(self) -> NDArray[np.int64]:
        """Number the public and open values of each record.

        An absent row can have any of them. If a column is open, it gets a number of its own: open
        columns reveal, and are charged for, that a row is absent.
        """
        _, types = np.unique(self.records[:, self.known], axis=0, return_inverse=True)
        numbers = types.reshape(-1).astype(np.int64)
        if self.absent:
            numbers[-1] = int(numbers.max()) + 1 if self.opened else ANY_TYPE
        return numbers

    def groups(self, rows: int, truth: NDArray[np.int64] | None) -> tuple[Group, ...]:
        """Return the groups of rows that known public and open columns distinguish."""
        if truth is None or self.absent:
            return (Group(rows, np.arange(len(self.records))),)
        types, names = self.types(), [self.cuts[i].column.name for i in self.known]
        people: Counter[int] = Counter()
        for place in np.flatnonzero(truth).tolist():
            people[int(types[place])] += int(truth[place])
        return tuple(
            Group(
                number,
                np.flatnonzero(types == kind),
                name_of_type(kind, int(types.max()) + 1, names),
            )
            for kind, number in sorted(people.items())
        )

    def count(self, coded: CodedTable, rows: int) -> NDArray[np.int64]:
        """Count how many rows of a table have each record, and how many are absent."""
        from hartley.engines.coded_table import CodeStatement, Part

        truth = np.zeros(len(self.records), np.int64)
        keys = tuple([coded.column(cut.column.name) for cut in self.cuts])
        if keys:
            counts = coded.run(CodeStatement(keys, (Part("count rows"),)))
            place = np.zeros(counts.num_rows, np.int64)
            for i, cut in enumerate(self.cuts):
                codes = counts.column(i).fill_null(cut.column.points).to_numpy().astype(np.int64)
                place = place * cut.size + cut.pieces(codes)
            np.add.at(truth, place, counts.column(len(keys)).to_numpy().astype(np.int64))
        else:
            truth[0] = coded.rows
        if self.absent:
            truth[-1] += rows - coded.rows
        return truth


def domain_size(cuts: Iterable[ColumnCuts]) -> int:
    """Return how many records there would be."""
    return math.prod(cut.size for cut in cuts)


MOST_RECORDS = 1_000_000
"""Answers whose columns have more records than this are left out."""


def transcripts_of(
    ledger: Ledger,
    dataset: str | None = None,
    *,
    schema: Schema | None = None,
    data: object = None,
) -> tuple[Transcript, ...]:
    """Return all answers about the present version of a dataset as statements about its records.

    Every kind of question is a statement about how many rows have which record: counts, sums and
    sums of squares are totals, an order statistic is a count on either side. Answers that share
    no private column, directly or through others, say nothing about each other: each such part
    is a transcript of its own. Questions without an answer, answers about an older version, and
    answers that depend on too many values at once are left out, so an attack learns less. With
    the table, public and open columns are known row by row; otherwise they count as unknown.

    Args:
        ledger: the ledger of the agent.
        dataset: the name of the dataset; needed only if the ledger has several.
        schema: the public schema. By default, the one in the ledger.
        data: the true table: anything that ``open_table`` takes.

    Example:
        >>> import tempfile
        >>> from hartley.agent.agent import Agent
        >>> age = {"age": {"kind": "private", "range": [0, 3], "step": 1}}
        >>> table = {"age": [2, 3]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Agent(table, {"table": {"name": "t"}, "columns": age}, budget=4,
        ...                ledger=folder + "/ledger.db") as agent:
        ...         _ = agent.ask("SELECT SUM(age) FROM t", error=0)
        ...         (found,) = transcripts_of(agent.ledger, data=table)
        >>> found.answers[0].ends, found.charged, found.truth
        ((5, 5), 4, array([0, 0, 1, 1]))
    """
    name = _dataset(ledger, dataset)
    state = ledger.state(name)
    known = _schema(name, state.schema)
    if schema is not None and schema.to_toml() != known.to_toml():
        raise InputError(
            f"The schema of '{name}' differs from the one in the ledger",
            hint="give the schema that the agent was asked under, or leave it out",
        )
    rows = known.max_rows if known.rows == "private" else state.rows
    charges = ledger.history(name)
    present = [charge for charge in charges if charge.version == state.version]
    try:
        heard = _heard(present)
    except STRANGE:
        raise _no_agents(name) from None
    if rows is None:
        raise _no_agents(name)
    given = data is not None and known.rows == "public"
    shown = {n for n, column in known.columns.items() if given and column.kind != "private"}
    parts, left_out = _parts(list(heard), known, rows, shown)
    old = sum(len(charge.questions) for charge in charges if charge not in present)
    left_out += old + len({str(q) for charge in present for q in charge.questions}) - len(heard)
    book = _Book(known, rows, math.prod(charge.cells for charge in present), left_out, heard)
    if data is None:
        return tuple(book.part(questions, cuts, None) for questions, cuts in parts)
    coded = code_table(
        open_table(data), known.codings, unit=known.unit,
        rows_per_unit=known.rows_per_unit, max_rows=known.max_rows,
    )  # fmt: skip
    try:
        if known.rows == "public" and coded.rows != rows:
            raise InputError(
                f"The table has {coded.rows:,} rows, but the ledger records {rows:,}",
                hint="give the table of the version that was asked",
            )
        return tuple(book.part(questions, cuts, coded) for questions, cuts in parts)
    finally:
        coded.close()


def _dataset(ledger: Ledger, dataset: str | None) -> str:
    names = ledger.datasets()
    if dataset is not None and dataset in names:
        return dataset
    if dataset is not None:
        raise OptionError(
            f"The ledger has no dataset '{dataset}'",
            hint=f"it has {', '.join(names) or 'none'}",
        )
    if len(names) != 1:
        raise OptionError(
            f"The ledger has {len(names)} datasets", hint="name the one that you mean"
        )
    return names[0]


def _schema(dataset: str, recorded: object) -> Schema:
    """Return the schema that an agent recorded, as the text of a TOML file."""
    try:
        return Schema.read(parse_toml(recorded, what="recorded schema"))  # type: ignore[arg-type]  # refused below
    except (*STRANGE, HartleyError):
        raise _no_agents(dataset) from None


def _no_agents(dataset: str) -> InputError:
    return InputError(
        f"No agent answered questions about the dataset '{dataset}' of the ledger",
        hint="name the ledger of an agent; 'hartley ledger verify' says whether it was changed",
    )


def _heard(charges: Iterable[Charge]) -> dict[Question, tuple[int | None, str]]:
    """Return every answered question once, with its cell and the text that it was asked in."""
    return {
        from_plain(plain): (None if answer == NULL else int(answer), charge.note or "")
        for charge in charges
        for plain, answer in zip(charge.questions, charge.answers, strict=True)
        if answer is not None
    }


@dataclass(frozen=True)
class _Book:
    """The data that all parts of a transcript share."""

    schema: Schema
    rows: int
    charged: int
    left_out: int
    heard: dict[Question, tuple[int | None, str]]

    def part(
        self, questions: Sequence[Question], cuts: Sequence[ColumnCuts], coded: CodedTable | None
    ) -> Transcript:
        """Return the transcript of one part of the questions."""
        opened = any(column.kind == "open" for column in self.schema.columns.values())
        domain = Domain(cuts, absent=self.schema.rows == "private", opened=opened)
        truth = None if coded is None else domain.count(coded, self.rows)
        return Transcript(
            tuple(cut.column.name for cut in cuts),
            domain.records,
            tuple(domain.statement(question, *self.heard[question]) for question in questions),
            domain.groups(self.rows, truth),
            charged=self.charged,
            left_out=self.left_out,
            types=domain.types() if domain.known or domain.absent else None,
            truth=truth,
            widths=domain.widths,
            multiplicity=domain.multiplicity,
            private=tuple(cut.column.kind == "private" for cut in cuts),
            people=self.schema.unit is None and self.schema.rows == "public",
        )


# --- which answers belong together --------------------------------------------------------------


def _parts(
    questions: Sequence[Question], schema: Schema, rows: int, known: set[str]
) -> tuple[list[tuple[list[Question], list[ColumnCuts]]], int]:
    """Group questions that share unknown columns; also count those that are left out.

    Sharing a column that is known row by row does not link questions.
    """
    parts: list[tuple[set[str], list[Question]]] = []
    left_out = 0
    for question in sorted(questions, key=lambda asked: len(_touched(asked))):
        names = _touched(question)
        near = parts if schema.rows == "private" else [p for p in parts if p[0] & names - known]
        merged = [question, *(earlier for part in near for earlier in part[1])]
        wider = names.union(*(part[0] for part in near))
        cuts = [cut_column(schema.columns[name], merged) for name in wider]
        if domain_size(cuts) > MOST_RECORDS or _largest(question, schema) * rows >= FAR // 8:
            left_out += 1
            continue
        parts = [part for part in parts if part not in near]
        parts.append((wider, merged))
    every = [question for _, listed in parts for question in listed]
    shared = known & {name for question in every for name in _touched(question)}
    sorted_parts = []
    for names, listed in parts:
        # Parts that use a known column use all of its cuts, so that their groups are the same.
        wider = names | shared if names & known else names
        columns = [column for name, column in schema.columns.items() if name in wider]
        cuts = [cut_column(column, every if column.name in known else listed) for column in columns]
        if domain_size(cuts) > MOST_RECORDS:
            left_out += len(listed)
            continue
        order = {question: i for i, question in enumerate(questions)}
        sorted_parts.append((sorted(listed, key=order.__getitem__), cuts))
    return sorted_parts, left_out


def _touched(question: Question) -> set[str]:
    terms = () if question.form is None else question.form.terms
    return {*columns_of(question.where), *(name for name, _ in terms)}


def _largest(question: Question, schema: Schema) -> int:
    """Return the largest number of a row, or the largest factor of an order statistic."""
    form = question.form
    if form is None:
        return 1
    most = abs(form.constant) + sum(abs(c) * schema.columns[n].points for n, c in form.terms)
    if question.quantile is not None:
        most = max(most, 2 * question.quantile.denominator)
    return most**2 if question.statistic is Statistic.SQUARES else most
