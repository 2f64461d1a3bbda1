"""The price of a batch, known before any data is read, and the finest steps for a price.

The theorem and its proof are in docs/accountant.md; the agent uses them through this module.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb, inf, prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from hartley.errors import Refused, printable
from hartley.exact import bits_at_least, write_integer
from hartley.guarantees.promise import UNRELATED, Certificate
from hartley.results.codec import LONG
from hartley.text import bits_up, count_of, number, plural
from hartley.trusted.pricing.atoms import form_atoms
from hartley.trusted.pricing.one_row import (
    PartPrice,
    Resolved,
    independent,
    price_part,
    prices_absence,
    signature_of,
    silent_of,
)
from hartley.trusted.pricing.regions import (
    CellGrid,
    PublicParts,
    drop_implied_counts,
    product_within,
    with_exact_counts,
)
from hartley.trusted.pricing.several_rows import SeveralRowsPricer, TypedRows
from hartley.trusted.questions.batch import COUNT, ORDER, SQUARES, columns_named

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from hartley.schema.schema import Schema
    from hartley.trusted.pricing.atoms import Asked, Atoms
    from hartley.trusted.pricing.one_row import KnownType
    from hartley.trusted.questions.batch import Question


# --- worst case -----------------------------------------------------------------------------------
# The worst case of a batch: the type of the public and open columns that costs most.
#
# "Everything below is for one type, and the price is the maximum over types" (docs/accountant.md,
# "One batch, one row per person"; for multisets of types "Several rows per person"). Beyond a cap
# of the section "Caps", questions are priced apart and multiplied: larger, and still a bound.

MOST_TYPES = 512
"""Beyond this many multisets of types of rows, questions are priced type by type."""


@dataclass(frozen=True, slots=True)
class PriceCase:
    """The factors of a price; their product, plus 1 if absence adds an output."""

    parts: tuple[PartPrice, ...] = ()
    absence: bool = False
    """Whether being absent adds one output to the product of the parts."""
    factors: tuple[int, ...] = ()
    """Prices of questions that were not examined, or of further groups of them."""

    @property
    def cells(self) -> int:
        """The number of outputs."""
        return (prod([p.cells for p in self.parts]) + self.absence) * prod(self.factors)


class _Group(NamedTuple):
    """Questions that share private columns with each other, and with no other question."""

    pairs: Sequence[tuple[int, Asked]]
    numbers: tuple[int, ...]
    asked: tuple[Asked, ...]
    atoms: Atoms | None

    @property
    def silent(self) -> bool:
        """Whether a present record can be counted by no question, like an absent one."""
        return self.atoms is not None and any(not atom.alive for atom in self.atoms.atoms)


_Priced: TypeAlias = dict[tuple[int, bool], PartPrice]
"""The groups that were priced at some steps, by their names and whether the row may be absent."""


class Pricer:
    """Prices one batch at any steps; atoms are formed once."""

    def __init__(
        self, questions: Sequence[Question], schema: Schema, silent: Sequence[int] = ()
    ) -> None:
        """Split a batch; silent questions are those that have one answer at every step."""
        self.questions, self.schema, self.silent = questions, schema, list(silent)
        self._resolved = Resolved(questions, schema, silent)
        ignored = {*silent, *self._resolved.opaque}
        self._asked = [number for number in range(len(questions)) if number not in ignored]
        self._absent = prices_absence(schema)
        self._atoms: dict[tuple[int, ...], Atoms | None] = {}
        self._groups: dict[tuple[int, ...], _Group] = {}
        self._parts_of: dict[int, list[_Group]] = {}
        self._types: list[list[_Group]] | None = None
        self._joints: dict[object, int | None] = {}

    def worst(self, grids: Sequence[CellGrid]) -> PriceCase:
        """Return the case that costs most at some steps."""
        several = self.schema.rows_per_unit > 1
        case = self._several_rows(grids) if several else self._one_row(grids)
        # A vector of answers is a vector of its parts, so any bound of a part may be multiplied.
        blind = tuple([self._blind(n, grids[n]) for n in self._resolved.opaque])
        return replace(case, factors=case.factors + blind) if blind else case

    def by_public(self, grids: Sequence[CellGrid]) -> PublicParts | None:
        """Return the price for every type of the public columns; None beyond a cap."""
        blind = prod([self._blind(n, grids[n]) for n in self._resolved.opaque])
        named: dict[object, int] = {}
        priced: _Priced = {}
        several = self.schema.rows_per_unit > 1

        def cells_of(public: KnownType) -> int | None:
            types = self._resolved.refine(public, ("open",), apart=several)
            if types is None:
                return None
            if several:
                return self._of_types(types, grids).cells * blind
            most = 1
            for known in types:
                members = independent(self._resolved.asked(known))
                groups = [self._group(each) for each in members]
                # Types that are asked the same cost the same.
                key = tuple([(*map(id, g.asked), *[grids[n] for n in g.numbers]) for g in groups])
                if key not in named:
                    named[key] = self._of_type(groups, grids, priced).cells
                most = max(most, named[key])
            return most * blind

        return self._resolved.by_public(cells_of)

    # --- one row per person ---------------------------------------------------------------------

    def signature(self) -> object:
        """Return all that prices at any steps depend on; None where it is not worked out.

        Batches that differ in which codes pass their filters often have the same.
        """
        types = self._row_types() if self.schema.rows_per_unit == 1 else None
        if types is None or self._resolved.opaque:
            return None
        listed = []
        for groups in types:
            if any(group.atoms is None for group in groups):
                return None
            listed.append(tuple([(g.numbers, signature_of(g.atoms)) for g in groups if g.atoms]))
        return tuple(listed)

    def _row_types(self) -> list[list[_Group]] | None:
        """Return the groups of every type of a row; None if there are too many."""
        if self._types is None:
            row_types = self._resolved.refine(self._resolved.start(), ("public", "open"))
            if row_types is not None:
                self._types = [
                    [self._group(members) for members in independent(self._resolved.asked(known))]
                    for known in row_types
                ]
        return self._types

    def _one_row(self, grids: Sequence[CellGrid]) -> PriceCase:
        types = self._row_types()
        if types is None:
            return PriceCase(factors=tuple(self._apart(self._asked, grids)))
        worst, most = PriceCase(), 1
        priced: _Priced = {}
        for groups in self._distinct(types, grids):
            case = self._of_type(groups, grids, priced)
            cells = case.cells
            if cells > most:
                worst, most = case, cells
        return worst

    @staticmethod
    def _distinct(types: list[list[_Group]], grids: Sequence[CellGrid]) -> Iterable[list[_Group]]:
        """Return one type for each set of remaining questions; equal sets cost the same."""
        if len(types) == 1:
            return types
        # ``asked`` makes equal questions one object, so that their ids name them.
        first: dict[CellGrid, int] = {}
        names = [first.setdefault(grid, number) for number, grid in enumerate(grids)]
        distinct: dict[object, list[_Group]] = {}
        for groups in types:
            key = tuple([(*map(id, g.asked), *[names[n] for n in g.numbers]) for g in groups])
            distinct.setdefault(key, groups)
        return distinct.values()

    def _group(self, pairs: Sequence[tuple[int, Asked]]) -> _Group:
        """Return questions as a group; equal groups are the same object."""
        key = tuple(map(id, pairs))  # ``Resolved.asked`` makes equal pairs one object
        group = self._groups.get(key)
        if group is None:
            numbers: tuple[int, ...]
            asked: tuple[Asked, ...]
            numbers, asked = zip(*pairs, strict=True)
            names = tuple(map(id, asked))
            if names not in self._atoms:
                self._atoms[names] = form_atoms(asked, self.schema)
            group = self._groups[key] = _Group(pairs, numbers, asked, self._atoms[names])
        return group

    def _of_type(
        self, groups: Sequence[_Group], grids: Sequence[CellGrid], priced: _Priced
    ) -> PriceCase:
        present = PriceCase(tuple([self._part(g, grids, priced, absent=False) for g in groups]))
        # Where some present record is counted by nothing, the absent one has its output. Else it
        # "adds one output to the product, at most"; as a point of every group it may add less.
        if not self._absent or all(group.silent for group in groups):
            return present
        apart = PriceCase(present.parts, absence=True)
        joined = PriceCase(tuple(self._part(g, grids, priced, absent=True) for g in groups))
        return min(apart, joined, key=lambda case: case.cells)

    def _part(
        self, group: _Group, grids: Sequence[CellGrid], priced: _Priced, *, absent: bool
    ) -> PartPrice:
        """Price a group, once for all types that have it."""
        key = (id(group), absent)
        if key not in priced:
            if group.atoms is not None:
                group_grids = [grids[number] for number in group.numbers]
                priced[key] = price_part(
                    group.numbers, group.atoms, group_grids, absent=absent, whole=True
                )
            else:
                priced[key] = self._unseen(group, grids, priced, absent=absent)
        return priced[key]

    def _unseen(
        self, group: _Group, grids: Sequence[CellGrid], priced: _Priced, *, absent: bool
    ) -> PartPrice:
        """Price a group with too many atoms: questions with the same filter columns together."""
        numbers = group.numbers
        if len(numbers) == 1:
            return PartPrice(
                numbers, (), None, self._blind(numbers[0], grids[numbers[0]]), None, None
            )
        if id(group) not in self._parts_of:
            self._parts_of[id(group)] = [self._group(pairs) for pairs in _buckets(group.pairs)]
        columns = sorted(frozenset().union(*[asked.columns for asked in group.asked]))
        points = prod([self.schema.columns[c].size for c in columns]) + absent

        def price(part: _Group) -> int:
            return self._part(part, grids, priced, absent=absent).cells

        # Where lengths are collected, all of them are needed.
        limit = points if grids[numbers[0]].lengths is None else inf
        singles = product_within(price, self._parts_of[id(group)], limit)
        return PartPrice(numbers, tuple(columns), points, singles, None, None)

    # --- several rows per person ----------------------------------------------------------------

    def _several_rows(self, grids: Sequence[CellGrid]) -> PriceCase:
        worst = PriceCase()
        publics = self._resolved.refine(self._resolved.start(), ("public",))
        for public in publics or ():
            types = self._resolved.refine(public, ("open",), apart=True)
            if types is None:
                publics = None
                break
            case = self._of_types(types, grids)
            worst = max(worst, case, key=lambda each: each.cells)
        return (
            PriceCase(factors=tuple(self._apart(self._asked, grids))) if publics is None else worst
        )

    def _of_types(self, types: Sequence[KnownType], grids: Sequence[CellGrid]) -> PriceCase:
        r = self.schema.rows_per_unit
        asked = [dict(self._resolved.asked(known)) for known in types]
        # "The maximum over multisets of r types with one public value". The maximum over single
        # types is too small: one row in each of two open groups gives 4 pairs of counts, and two
        # rows in one group 3.
        several = comb(len(types) + r - 1, r)
        listed = several if several <= MOST_TYPES else r * len(types)
        pricing = SeveralRowsPricer(
            self.schema,
            grids,
            absent=self._absent,
            listed=listed,
            joints=self._joints,
        )
        if several <= MOST_TYPES:
            rows = [
                [TypedRows(asked[t], n) for t, n in Counter(chosen).items()]
                for chosen in combinations_with_replacement(range(len(types)), r)
            ]
            return PriceCase(tuple(pricing.parts(max(rows, key=pricing.cells))))
        # Too many multisets. A question that only one type asks depends on the rows of that type
        # alone, so the rows are shared out exactly; the others are priced apart and multiplied.
        homes = Counter(number for of_type in asked for number in of_type)
        local = [{n: q for n, q in of_type.items() if homes[n] == 1} for of_type in asked]
        spanning = sorted(number for number, types_of in homes.items() if types_of > 1)
        return PriceCase(factors=(self._knapsack(local, pricing), *self._apart(spanning, grids)))

    def _knapsack(self, local: Sequence[dict[int, Asked]], pricing: SeveralRowsPricer) -> int:
        """Share r rows among types so that the product of their prices is largest."""
        r = self.schema.rows_per_unit
        best = [1] * (r + 1)
        for asked in local:
            if asked:
                own = [1] + [pricing.cells([TypedRows(asked, n)]) for n in range(1, r + 1)]
                best = [max(best[k - n] * own[n] for n in range(k + 1)) for k in range(r + 1)]
        return best[r]

    def _apart(self, numbers: Sequence[int], grids: Sequence[CellGrid]) -> list[int]:
        """Price questions separately, except those that use the same known columns."""
        if not numbers:
            return []
        if len(numbers) < len(self._asked):  # fewer questions may keep within the caps
            return [self._again(numbers, grids)]
        if len(numbers) == 1:
            return [self._blind(numbers[0], grids[numbers[0]])]
        buckets: dict[frozenset[str], list[int]] = {}
        for asked in numbers:
            buckets.setdefault(self._resolved.known_columns(asked), []).append(asked)
        split = list(buckets.values()) if len(buckets) > 1 else [[asked] for asked in numbers]
        return [self._again(together, grids) for together in split]

    def _again(self, numbers: Sequence[int], grids: Sequence[CellGrid]) -> int:
        pricer = Pricer([self.questions[n] for n in numbers], self.schema)
        return pricer.worst([grids[n] for n in numbers]).cells

    def _blind(self, number: int, grid: CellGrid) -> int:
        """Return the price of a question without examining its filter."""
        question, r = self.questions[number], self.schema.rows_per_unit
        if question.statistic is ORDER:
            return grid.levels + 1  # one more: there may be no row
        if grid.constant:
            return 1
        if question.form is None:
            return 1 + grid.counted(r)
        # Each row adds something between low and high, zero included for a row that is filtered
        # out, so r rows move the total by no more than r times the length.
        low, high = contributions(question, self.schema)
        return 1 + grid.crossed(r * (high - low))


def _buckets(asked: Sequence[tuple[int, Asked]]) -> list[list[tuple[int, Asked]]]:
    """Group questions that filter by the same columns; each is alone if all would be together."""
    buckets: dict[frozenset[str], list[tuple[int, Asked]]] = {}
    for pair in asked:
        buckets.setdefault(pair[1].filtered, []).append(pair)
    if len(buckets) == 1:  # the columns do not help: only single questions are smaller
        return [[pair] for pair in asked]
    return [*independent(buckets.pop(frozenset(), [])), *buckets.values()]


def contributions(question: Question, schema: Schema) -> tuple[int, int]:
    """Return the range in which one row moves a sum or an order statistic, zero included."""
    assert question.form is not None
    low = high = question.form.constant
    for column, times in question.form.terms:
        ends = (0, times * (schema.columns[column].points - 1))
        low, high = low + min(ends), high + max(ends)
    if question.statistic is SQUARES:
        return 0, max(low * low, high * high)
    return min(low, 0), max(high, 0)


# --- price ----------------------------------------------------------------------------------------


ONE = Fraction(1)
MOST_KNOWN = 1024
"""Batches whose steps are kept for those with the same prices."""
MOST_LISTED = 12
"""At most this many atoms are listed; the others are only counted."""


def _part(part: PartPrice) -> Iterator[str]:
    columns = ", ".join(part.columns) or "no private column"
    yield f"{_questions(part.questions)} ({columns}): {count_of(part.cells, 'output')}."
    bounds = {
        "the records of these columns": part.points,
        "the questions one by one, multiplied": part.singles,
        "all kinds of records together": part.joint,
        "coarse counts that share the rows, times the rest": part.coarse,
    }
    for words, bound in bounds.items():
        if bound is not None:
            won = ", the smallest" if bound == part.cells else ""
            yield f"  {words}: {bound}{won}"
    if part.atoms is None:
        return
    for alive, outputs in part.atoms[:MOST_LISTED]:
        numbers = [part.questions[place] for place in alive]
        whom = f"counted by {_questions(numbers).lower()}" if alive else "counted by no question"
        yield f"  records {whom}: {count_of(outputs, 'output')}"
    if len(part.atoms) > MOST_LISTED:
        yield f"  and {len(part.atoms) - MOST_LISTED} more kinds of records"


def _questions(numbers: Sequence[int]) -> str:
    shown = ", ".join(str(number + 1) for number in numbers[:MOST_LISTED])
    rest = len(numbers) - MOST_LISTED
    return f"{plural(len(numbers), 'Question')} {shown}" + (f" and {rest} more" if rest > 0 else "")


BATCH_RULES = "1"
"""The version of the rules that price a batch alone, as certificates of answers name it."""


def certificate_of(
    texts: Sequence[str], questions: Iterable[Question], cells: int, schema: Schema
) -> Certificate:
    """Return the promise of a batch: how many answers one person's data can produce.

    Example:
        >>> from hartley.schema.schema import Schema
        >>> sex = {"sex": {"kind": "private", "values": ["F", "M"]}}
        >>> people = Schema.read({"table": {"name": "people"}, "columns": sex})
        >>> text = "SELECT COUNT(*) FROM people WHERE sex = 'F'"
        >>> print(certificate_of([text], [], 2, people).claim)
        Whatever the data of one person is, the answers take one of at most 2 values.
    """
    who = "one row is one person" if schema.unit is None else f"'{schema.unit}' names the person"
    rows = schema.rows_per_unit
    named = {name for question in questions for name in columns_named(question)}
    grids = [
        f"{printable(name)} ({printable(column.grid)})"
        for name, column in schema.columns.items()
        if name in named and column.numeric
    ]
    about = [", ".join(grids)] if grids else []
    values = (
        f"{cells:,}" if cells < LONG else f"2^{number(bits_at_least(cells), round='up', places=3)}"
    )
    return Certificate(
        kind="noiseless privacy",
        claim=(
            "Whatever the data of one person is, the answers take one of at most "
            f"{values} value{'s' if cells != 1 else ''}."
        ),
        value=bits_at_least(cells),
        unit="bits",
        theorem="Farokhi 2019 (Noiseless Privacy), Definition 1, with the accountant's theorem",
        rule="corrected",
        sound=True,
        certainty="bound",
        assumptions=(
            f"{who}, who has at most {rows} row{'s' if rows != 1 else ''}",
            "everybody else's data stays fixed",
            UNRELATED,
            "the schema, public columns and the number of rows are known to everybody"
            if schema.rows == "public"
            else "the schema and public columns are known to everybody",
            ": ".join(
                ["the truth is the table clamped to its ranges and snapped to its steps", *about]
            ),
        ),
        parameters={
            "questions": list(texts),
            "cells": write_integer(cells),
            "rules": BATCH_RULES,
            "certain_for": grids,
        },
    )


@dataclass(frozen=True)
class Price:
    """A bound on the different answers to a batch as one person's data varies."""

    cells: int
    questions: int
    """How many different questions were priced."""
    case: PriceCase = field(repr=False)
    """The type of the public and open columns that costs most, and its factors."""

    @property
    def bits(self) -> float:
        """The charge in bits, never below the truth: log2 of the cells."""
        return bits_at_least(self.cells)

    def explain(self) -> str:
        """Explain in words the atoms and factors of the price."""
        case, asked = self.case, count_of(self.questions, "question")
        answers = count_of(self.cells, "different answer")
        lines = [f"{asked}: one person's data can lead to at most {answers}, {bits_up(self.bits)}."]
        for part in case.parts:
            lines += _part(part)
        if case.absence:
            lines.append("Being absent from the table adds one output.")
        lines += [
            f"Further questions, bounded apart: {count_of(f, 'output')}." for f in case.factors
        ]
        if len(case.parts) + len(case.factors) > 1:
            lines.append(f"Parts without a common private column multiply to {self.cells}.")
        return "\n".join(lines)


def price(questions: Sequence[Question], schema: Schema) -> Price:
    r"""Return the price of a batch in cells: a bound on the answers one person's data can cause.

    .. math:: c = \max_\theta \min\{P, \prod_q c(q), \sum_a F_a - (\text{shared outputs})\}

    Over the types :math:`\theta` of the public and open columns; atoms :math:`a` are the records
    that make the same questions count them, :math:`F_a` the regions that the boundaries of cells
    cut an atom into (docs/accountant.md states the theorem and its proof). A sound bound in exact
    integers, attained for most batches of one row per person. Costs grow with the number of atoms
    times the questions that count their records.

    Proved: proofs/Columns.v, columns_sound, for one row per person and below the caps; the rest is
    proved on paper and enumerated.
    """
    return _price(questions, schema)


def _price(questions: Sequence[Question], schema: Schema, known: Pricer | None = None) -> Price:
    """Price a batch; a pricer that knows it at other steps saves time."""
    asked, grids, silent = _steps_of(questions)
    if known is None or len(known.questions) != len(asked) or known.silent != silent:
        known = Pricer(asked, schema, silent)
    case = known.worst(grids)
    alone = Price(case.cells, len(asked), case)
    exact = with_exact_counts(asked)
    return alone if exact is None else min(alone, _price(exact, schema), key=lambda p: p.cells)


def _steps_of(
    questions: Sequence[Question],
) -> tuple[tuple[Question, ...], list[CellGrid], list[int]]:
    asked = drop_implied_counts(dict.fromkeys(questions))  # repeats do not branch
    grids = [CellGrid.of(question) for question in asked]
    return asked, grids, silent_of(asked, grids)


def price_by_public(questions: Sequence[Question], schema: Schema) -> PublicParts:
    """Return the price of a batch for every type of the public columns, alone.

    The largest price for all of them where there are too many.
    """
    return price_both_ways(questions, schema)[1]


def price_both_ways(questions: Sequence[Question], schema: Schema) -> tuple[Price, PublicParts]:
    """Return the price of a batch alone, and for every type; atoms are formed once."""
    asked, grids, silent = _steps_of(questions)
    pricer = Pricer(asked, schema, silent)
    priced = _price(questions, schema, pricer)
    most = PublicParts((), (priced.cells,))
    parts = pricer.by_public(grids)
    return priced, most if parts is None else parts.smaller(most)


def open_factor(schema: Schema) -> int:
    r"""Return the number of values of one person's open columns, which are charged once.

    .. math:: M = \binom{m + r - 1}{r}, \text{ with private rows } \binom{m + r}{r}

    m counts the joint values of all open columns, including missing and other values; counting each
    column alone would give too few. Without an open column nothing is charged.

    Proved: proofs/Columns.v, promise_columns_types.

    Example:
        >>> from hartley.schema.schema import Column, Schema
        >>> sex = Column("sex", "open", ("F", "M"), other=True)
        >>> open_factor(Schema("people", {"sex": sex}))
        3
    """
    sizes = [column.size for column in schema.columns.values() if column.kind == "open"]
    if not sizes:
        return 1
    r = schema.rows_per_unit
    # Two open bits in two rows have 10 multisets of pairs, but only 9 pairs of multisets.
    return comb(prod(sizes) + r - (schema.rows == "public"), r)


def steps_within(
    questions: Sequence[Question],
    limit: int,
    schema: Schema,
    coarse: Collection[Question] = (),
    known: dict[object, tuple[Fraction, ...]] | None = None,
) -> tuple[Fraction, ...]:
    """Return the finest steps at which a batch costs at most a limit of K cells.

    Counts stay exact or become constant; those in ``coarse`` may also have cells of several rows,
    where a person has several. Sums and order statistics share one scale, each in
    proportion to what one person can move it, found by an exact search over the places where the
    price jumps. A lone unfiltered sum gets S / (K - 1), a filtered one the smaller of H / (K - 1)
    and S / (K - 2), a lone coarse count of r rows ceil(r / (K - 1)). The price of the result is
    computed again. Costs a few dozen evaluations of the price.

    ``known`` keeps steps for further batches, which get the same where all prices are the same. It
    belongs to one agent: how fast a search ends shows no question of another one.
    """
    exact = _Search(questions, schema, limit)
    name = None if known is None else exact.name
    steps_before = None if known is None else known.get(name)
    if steps_before is not None:
        return steps_before
    for steps, pricer in finest_steps(questions, limit, schema, coarse, exact):
        # The search ignores where cells begin; only the price of the result counts.
        chosen = [replace(q, step=step) for q, step in zip(questions, steps, strict=True)]
        if _price(chosen, schema, pricer).cells <= limit:
            # Where a step is constant, the batch was priced as a smaller one that has no name.
            constant = any(CellGrid.of(question).constant for question in chosen)
            if known is not None and name and pricer is exact.pricer and not constant:
                if len(known) >= MOST_KNOWN:
                    known.clear()
                known[name] = steps
            return steps
    raise Refused(
        f"Even the coarsest answer to these questions has more than {limit} possible outcomes",
        hint="allow more bits, or ask for an order statistic of rows that are certainly there",
    )


# --- the finest steps within a limit: an exact search over the places where the price jumps -------


def finest_steps(
    questions: Sequence[Question],
    limit: int,
    schema: Schema,
    coarse: Collection[Question] = (),
    exact: _Search | None = None,
) -> Iterator[tuple[tuple[Fraction, ...], Pricer | None]]:
    """Yield steps within a limit of cells, the finest first.

    With exact counts; with coarse ones, where a person has several rows; with constant ones; and
    last with constant steps, at which an answer may still differ from an answer about no rows. With
    the steps comes the pricer that has priced the questions at other steps.
    """
    searches = [exact or _Search(questions, schema, limit)]
    if any(question in coarse for question in questions) and schema.rows_per_unit > 1:
        searches.append(_coarse_search(searches[0], schema.rows_per_unit, coarse))
    for search in searches:
        if (scale := search.finest()) is not None:
            yield search.steps(scale), search.pricer
    if any(question.statistic is COUNT for question in questions):
        search = _Search(questions, schema, limit, constant=True)
        if (scale := search.finest()) is not None:
            yield search.steps(scale), search.pricer
    yield tuple(Fraction(question.most - question.least + 1) for question in questions), None


def _coarse_search(exact: _Search, rows: int, coarse: Collection[Question]) -> _Search:
    """Return the search with the finest cells of counts that leave room for the other questions.

    In proportion to what one row can move, a count in cells of w rows stands beside sums of scale
    w. Cells of more rows than a person has cost no less: they are passed once, as well.
    """

    def search(step: int) -> _Search:
        return exact.with_counts(dict.fromkeys(coarse, Fraction(step)))

    steps = range(2, rows + 1)
    place = bisect_left(
        steps, x=True, key=lambda step: search(step).cells(Fraction(step)) <= exact.limit
    )
    return search(steps[min(place, len(steps) - 1)])


def cells_within(
    questions: Sequence[Question], coarsest: Sequence[Fraction | None], schema: Schema
) -> int:
    """Return the least limit within which ``finest_steps`` has no step above given ones.

    Counts without a step are exact; another question without one may become constant.
    """
    pairs = zip(questions, coarsest, strict=True)
    given = {question: step for question, step in pairs if step is not None}
    counts = {q: step for q, step in given.items() if q.statistic is COUNT}
    finest = min(counts.values(), default=Fraction(1))
    search = _Search(questions, schema, 1).with_counts(dict.fromkeys(counts, finest))
    scales = [step / size_of(q, schema) for q, step in given.items() if q not in counts]
    widest = Fraction(max((q.most - q.least + 1 for q in questions), default=1))
    return search.cells(min(scales, default=widest))


def next_limits(
    questions: Sequence[Question], schema: Schema, coarse: Collection[Question] = ()
) -> tuple[int, int | None]:
    """Return the limits next to the price of a batch at which its steps change.

    The first is the largest number of cells that the present widths of cells do not fit in, 0 if
    there is none; the second the least number of cells above the price that allows narrower cells
    of some question, None if all are exact. Costs a few evaluations of the price.
    """
    counts = {q: q.step for q in questions if q.statistic is COUNT}
    silent = {q for q, step in counts.items() if step > q.most - q.least}
    search = _Search(questions, schema, 1, constant=bool(silent)).with_counts(
        {q: step for q, step in counts.items() if step > 1}
    )
    # A cell of step w is ceil(w) - 1 wide, so all scales up to ceil(w) per size are as good.
    scales, narrower = [], []
    for q in questions:
        if q not in counts and q.step <= q.most - q.least:
            scales.append(Fraction(math.ceil(q.step), size_of(q, schema)))
        width = min(math.ceil(q.step) - 1, q.most - q.least)
        if q not in counts and width:
            narrower.append(Fraction(width, size_of(q, schema)))
    widest = Fraction(max((q.most - q.least + 1 for q in questions), default=1))
    here = search.cells(min(scales, default=widest))
    above = [search.cells(max(narrower))] if narrower else []
    exact = _Search(questions, schema, 1)
    cells = {q: q.step for q in coarse if q not in silent and q.step > 1}
    if silent or cells:
        above.append(exact.cells(widest))
    if silent and coarse and schema.rows_per_unit > 1:
        most = Fraction(schema.rows_per_unit)
        above.append(exact.with_counts(dict.fromkeys(coarse, most)).cells(widest))
    if cells:
        finer = max(cells.values()) - 1
        above.append(exact.with_counts(dict.fromkeys(coarse, finer)).cells(finer))
    now = _price(questions, schema).cells
    more = [limit for limit in above if limit > now]
    return min(here, now) - 1, min(more, default=None)


class _Search:
    """The price of a batch as a function of one common scale of its steps."""

    def __init__(
        self, questions: Sequence[Question], schema: Schema, limit: int, *, constant: bool = False
    ) -> None:
        """Begin with exact counts, or with constant ones."""
        self.questions, self.limit, self.constant = questions, limit, constant
        distinct = dict.fromkeys(questions)
        self._distinct = list(distinct)
        counts = [k for k, q in enumerate(distinct) if q.statistic is COUNT]
        self.pricer = Pricer(self._distinct, schema, counts if constant else ())
        self._sizes = [size_of(question, schema) for question in self._distinct]
        self._size_of = dict(zip(self._distinct, self._sizes, strict=True))
        self.counts: Mapping[Question, Fraction] = {}
        self.seen: dict[tuple[int, int], int] = {}
        self._lengths: dict[int, set[int]] = {k: set() for k in range(len(self._distinct))}

    @property
    def name(self) -> object:
        """What a search with exact counts depends on; None where it is not worked out."""
        questions = self.questions
        if len(self._distinct) < len(questions) or any(q.step != 1 for q in questions):
            return None
        signature = self.pricer.signature()
        ends = tuple([(q.statistic, q.least, q.most) for q in questions])
        return None if signature is None else (self.limit, ends, tuple(self._sizes), signature)

    def with_counts(self, steps: Mapping[Question, Fraction]) -> _Search:
        """Return the same search with coarse counts; lengths do not depend on them."""
        other = copy(self)
        other.counts, other.seen = steps, {}
        return other

    def step(self, question: Question, scale: Fraction) -> Fraction:
        """Return the step of a question at a scale, at least 1."""
        if question.statistic is COUNT:
            most = question.most - question.least
            if self.constant:
                return Fraction(most + 1)
            given = self.counts.get(question)
            return ONE if given is None else max(min(given, Fraction(most)), ONE)
        return max(scale * self._size_of[question], ONE)

    def steps(self, scale: Fraction) -> tuple[Fraction, ...]:
        """Return all steps at a scale."""
        return tuple(self.step(question, scale) for question in self.questions)

    def cells(self, scale: Fraction) -> int:
        """Return the price at a scale, which never grows with it."""
        key = scale.numerator, scale.denominator  # hashing a fraction takes long
        cells = self.seen.get(key)
        if cells is None:
            grids = [self._grid(number, scale) for number in range(len(self._distinct))]
            cells = self.seen[key] = self.pricer.worst(grids).cells
        return cells

    def _grid(self, number: int, scale: Fraction) -> CellGrid:
        question = self._distinct[number]
        least, most, constant = question.least, question.most, False
        if question.statistic is COUNT:
            step = self.step(question, scale)
            over, under, constant = step.numerator, step.denominator, step > most - least
        else:
            # The step as above, in integers. A sum in one cell is not called constant here. Its
            # price would drop to 1 where the step passes the whole range, which is no length
            # divided by a whole number; and the scale where the search ends must be one.
            over, under = scale.numerator * self._sizes[number], scale.denominator
            common = math.gcd(over, under)
            over, under = (over // common, under // common) if over > under else (1, 1)
        lengths = self._lengths[number]
        return CellGrid(over, under, least, most, constant, anchored=False, lengths=lengths)

    def _fits(self, scale: Fraction) -> bool:
        return self.cells(scale) <= self.limit

    def finest(self) -> Fraction | None:
        """Return the smallest scale within the limit; None if there is none."""
        finest = Fraction(1, max(self._sizes, default=1))
        if self._fits(finest):
            return finest
        # The price at the finest scale has measured every length that matters.
        jumps = {
            Fraction(length, size)
            for k, size in enumerate(self._sizes)
            for length in self._lengths[k]
            if length > 0
        }
        # A lone question gets as many cells as allowed, or one fewer if it may be empty.
        ways = [n for n in (self.limit - 1, self.limit - 2) if n > 0]
        likely = {jump / n for jump in jumps for n in ways}
        scales = sorted(scale for scale in jumps | likely | {finest} if scale >= finest)
        place = bisect_left(scales, x=True, key=self._fits)
        if place == len(scales):
            return None
        return smallest(self._fits, jumps, scales[place - 1], scales[place])


def smallest(
    fits: Callable[[Fraction], bool], jumps: Collection[Fraction], low: Fraction, high: Fraction
) -> Fraction:
    """Return the smallest scale that fits, between one that does not and one that does.

    What fits depends on ceil(jump / scale) alone, and only ever stops fitting below; so the answer
    is a jump divided by a whole number. Halving finds it: a middle of few digits, within an eighth
    of the distance, always lies between both, however near they are.

    Example:
        >>> smallest(lambda w: -(-10 // w) <= 3, [Fraction(10)], Fraction(1, 9), Fraction(10))
        Fraction(10, 3)
    """
    while True:
        high = max(jump / -(-jump // high) for jump in jumps)
        following = max(jump / (jump // high + 1) for jump in jumps)
        if following <= low or not fits(following):
            return high
        high = following
        middle = ((low + high) / 2).limit_denominator(math.ceil(4 / (high - low)))
        if fits(middle):
            high = middle
        else:
            low = middle


def size_of(question: Question, schema: Schema) -> int:
    """Return how far one row can move the statistic; steps are scaled by it."""
    if question.statistic is COUNT:
        return 1
    if question.statistic is ORDER:
        return max(question.most - question.least, 1)
    low, high = contributions(question, schema)
    return max(high - low, 1)
