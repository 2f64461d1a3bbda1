"""What a batch costs, known before any data is touched."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import comb, prod
from typing import TYPE_CHECKING

from hartley.agent.pricing.finest_steps import finest_steps
from hartley.agent.pricing.regions import Grid
from hartley.agent.pricing.worst_case import Case, Pricer
from hartley.agent.questions.batch import Statistic
from hartley.errors import Refused
from hartley.exact import bits_at_least, floor_power
from hartley.guarantees.promise import up_bits

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from hartley.agent.pricing.one_row import Part
    from hartley.agent.questions.batch import Question
    from hartley.ranges.schema.schema import Schema


MOST_LISTED = 12
"""Atoms beyond this many are counted, not listed."""


def explain(cells: int, bits: float, questions: int, case: Case) -> str:
    """Say in words which atoms and factors a price is made of."""
    asked, answers = _number(questions, "question"), _number(cells, "different answer")
    lines = [f"{asked}: one person's data can lead to at most {answers}, {up_bits(bits)}."]
    for part in case.parts:
        lines += _part(part)
    if case.absence:
        lines.append("Being absent from the table adds one output.")
    lines += [f"Further questions, bounded apart: {_number(f, 'output')}." for f in case.factors]
    factors = [*(part.cells for part in case.parts), *case.factors]
    if len(factors) > 1:
        lines.append(f"Parts without a common private column multiply to {cells}.")
    return "\n".join(lines)


def _part(part: Part) -> Iterator[str]:
    columns = ", ".join(part.columns) or "no private column"
    yield f"{_questions(part.questions)} ({columns}): {_number(part.cells, 'output')}."
    bounds = {
        "the records of these columns": part.points,
        "the questions one by one, multiplied": part.singles,
        "all kinds of records together": part.joint,
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
        yield f"  records {whom}: {_number(outputs, 'output')}"
    if len(part.atoms) > MOST_LISTED:
        yield f"  and {len(part.atoms) - MOST_LISTED} more kinds of records"


def _questions(numbers: Sequence[int]) -> str:
    shown = ", ".join(str(number + 1) for number in numbers[:MOST_LISTED])
    rest = len(numbers) - MOST_LISTED
    word = "Question" if len(numbers) == 1 else "Questions"
    return f"{word} {shown}" + (f" and {rest} more" if rest > 0 else "")


def _number(amount: int, noun: str) -> str:
    return f"{amount} {noun}" + ("" if amount == 1 else "s")


RULE_VERSION = 1
"""Of the rules of pricing; a ledger keeps it beside every charge."""


@dataclass(frozen=True)
class Price:
    """How many different answers a batch can get as one person's data varies, at most."""

    cells: int
    questions: int
    """How many different questions were priced."""
    case: Case = field(repr=False)
    """The type of the public and open columns that costs most, and its factors."""

    @property
    def bits(self) -> float:
        """The charge in bits, never below the truth: log2 of the cells."""
        return bits_at_least(self.cells)

    def explain(self) -> str:
        """Say in words which atoms and factors the price is made of."""
        return explain(self.cells, self.bits, self.questions, self.case)


def price(questions: Sequence[Question], schema: Schema) -> Price:
    r"""Return how many cells a batch costs: at most so many answers can one person's data cause.

    .. math:: c = \max_\theta \min\{P, \prod_q c(q), \sum_a F_a - (\text{shared outputs})\}

    Over the types :math:`\theta` of the public and open columns; atoms :math:`a` are the records
    that make the same questions count them, :math:`F_a` the regions that the boundaries of cells
    cut an atom into (docs/accountant.md states the theorem and its proof). A sound bound in exact
    integers, attained for most batches of one row a person. Costs grow with the number of atoms
    times the questions that count their records.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.agent.questions.batch import Question, Statistic, Test
        >>> from hartley.ranges.schema.schema import Column, Schema
        >>> age = Column("age", "private", low=Fraction(0), high=Fraction(99), step=Fraction(1))
        >>> people = Schema("people", {"age": age})
        >>> adults = Test("age", ((18, 99),))
        >>> price([Question(Statistic.COUNT, adults, None, None, 0, 50)], people).bits
        1.0
    """
    return _price(questions, schema)


def _price(questions: Sequence[Question], schema: Schema, known: Pricer | None = None) -> Price:
    """Price a batch; a pricer that knows it at other steps spares to take it apart again."""
    asked = tuple(dict.fromkeys(questions))
    grids = [Grid.of(question) for question in asked]
    # An order statistic of one cell still tells whether there are rows.
    silent = [
        k
        for k, (question, grid) in enumerate(zip(asked, grids, strict=True))
        if grid.constant and question.statistic is not Statistic.ORDER
    ]
    if known is None or len(known.questions) != len(asked) or known.silent != silent:
        known = Pricer(asked, schema, silent)
    case = known.worst(grids)
    return Price(case.cells, len(asked), case)


def open_factor(schema: Schema) -> int:
    r"""Return how many values the open columns of one person have, paid for once.

    .. math:: M = \binom{m + r - 1}{r}, \text{ with private rows } \binom{m + r}{r}

    m counts the joint values of all open columns, missing and other values included: multisets of
    each column alone would be fewer than there are. Without an open column nothing is paid.

    Example:
        >>> from hartley.ranges.schema.schema import Column, Schema
        >>> sex = Column("sex", "open", ("F", "M"), other=True)
        >>> open_factor(Schema("people", {"sex": sex}))
        3
    """
    sizes = [column.size for column in schema.columns.values() if column.kind == "open"]
    if not sizes:
        return 1
    r = schema.rows_per_unit
    return comb(prod(sizes) + r - (schema.rows == "public"), r)


def refined_cells(
    questions: Sequence[Question], answered: Collection[Question], schema: Schema
) -> int:
    r"""Return the charge of a batch of which some questions refine what was answered before.

    .. math:: \min\{c(\text{batch}), c(\text{the rest}) \prod w / w'\}

    A question refines another where the new step w' divides the old step w and everything else is
    the same, so that cells begin at the same place: each old cell holds w / w' new ones. Those in
    ``answered`` are about the same version of the data. Repeats are refinements by 1.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.agent.questions.batch import All, Form, Question, Statistic
        >>> from hartley.ranges.schema.schema import Column, Schema
        >>> age = Column("age", "private", low=Fraction(0), high=Fraction(90), step=Fraction(1))
        >>> form = Form((("age", 1),), 0, Fraction(1))
        >>> coarse = Question(Statistic.SUM, All(), form, None, 0, 900, Fraction(30))
        >>> fine = replace(coarse, step=Fraction(10))
        >>> people = Schema("people", {"age": age})
        >>> price([fine], people).cells, refined_cells([fine], [coarse], people)
        (10, 3)
    """
    steps: dict[Question, list[Fraction]] = {}
    for old in answered:
        steps.setdefault(replace(old, step=Fraction(1)), []).append(old.step)
    rest, ratios = [], 1
    for question in dict.fromkeys(questions):
        known = steps.get(replace(question, step=Fraction(1)), ())
        whole = [w / question.step for w in known if (w / question.step).denominator == 1]
        if whole:
            ratios *= int(min(whole))
        else:
            rest.append(question)
    return min(price(questions, schema).cells, price(rest, schema).cells * ratios)


def steps_for_bits(
    questions: Sequence[Question], bits: object, schema: Schema
) -> tuple[Fraction, ...]:
    """Return the finest steps at which a batch costs at most so many bits: floor(2^bits) cells.

    Counts stay exact or become constant; sums and order statistics share one scale, each in
    proportion to what one person can move it, found by an exact search over the places where the
    price jumps. A lone unfiltered sum gets S / (K - 1), a filtered one the smaller of H / (K - 1)
    and S / (K - 2). The price of the result is computed again. Costs a few dozen evaluations of
    the price.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.agent.questions.batch import All, Form, Question, Statistic
        >>> from hartley.ranges.schema.schema import Column, Schema
        >>> age = Column("age", "private", low=Fraction(0), high=Fraction(90), step=Fraction(1))
        >>> form = Form((("age", 1),), 0, Fraction(1))
        >>> total = Question(Statistic.SUM, All(), form, None, 0, 900)
        >>> steps_for_bits([total], 2, Schema("people", {"age": age}))
        (Fraction(30, 1),)
    """
    return steps_within(questions, floor_power(bits, what="wished price"), schema)


def steps_within(questions: Sequence[Question], limit: int, schema: Schema) -> tuple[Fraction, ...]:
    """Return the finest steps at which a batch costs at most so many cells."""
    for steps, pricer in finest_steps(questions, limit, schema):
        chosen = [replace(q, step=step) for q, step in zip(questions, steps, strict=True)]
        if _price(chosen, schema, pricer).cells <= limit:
            return steps
    raise Refused(
        f"Even the coarsest answer to these questions can be told in more than {limit} ways",
        hint="allow more bits, or ask for an order statistic of rows that are certainly there",
    )
