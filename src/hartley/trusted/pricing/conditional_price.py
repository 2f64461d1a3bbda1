"""What a batch costs after earlier batches were charged: rules S, O, W and N of docs/accountant.md.

An earlier charge paid for telling some things about a person apart. A later question costs only
what is still unknown. Everything is a function of the schema and of questions; no answer is ever
looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, prod
from typing import TYPE_CHECKING, TypeAlias

from hartley.exact import bits_at_least
from hartley.text import bits_up, count_of, join_first, plural
from hartley.trusted.pricing.after_answers import PartPricing, cells_in_parts, known_counts
from hartley.trusted.pricing.price import price, price_both_ways, price_by_public
from hartley.trusted.pricing.regions import PublicParts
from hartley.trusted.questions.batch import COUNT, columns_named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from hartley.trusted.pricing.after_answers import EarlierAnswer, EarlierAnswers
    from hartley.trusted.pricing.price import Price
    from hartley.trusted.questions.batch import Question

RULES = "3"
"""The version of the pricing rules, as a ledger keeps it beside every charge.

A charge is priced again by the rules that it was made under. Version 1 knew no earlier rows,
version 2 one price for all types of the public columns.
"""
KNOWN_RULES = ("1", "2", RULES)
"""The versions that a charge can be computed again by."""


# --- rule S: the same statistic in other cells ----------------------------------------------------


def cells_in_cell(told: Fraction, asked: Fraction) -> int:
    r"""Return how many new cells an old cell of the same statistic meets, at most.

    .. math:: S = \min\{1 + \lfloor (a + b - \gcd(a, b) - 1) / b \rfloor,
        1 + \lceil (\lceil w \rceil - 1) / w' \rceil\}

    of the old step w = a/q and the new one w' = b/q. Cells of both begin at one place, so an old
    cell begins at a multiple of gcd(a, b) within a new one.

    Proved: proofs/Grid.v, rule_S. Proved: proofs/Grid.v, rule_S_whole.

    Example:
        >>> from fractions import Fraction
        >>> cells_in_cell(Fraction(30), Fraction(10)), cells_in_cell(Fraction(2), Fraction(3))
        (3, 2)
    """
    common = told.denominator * asked.denominator
    a, b = int(told * common), int(asked * common)
    # An old cell holds ceil(w) whole numbers at most: their ends lie ceil(w) - 1 apart.
    whole = -(-told.numerator // told.denominator) - 1
    return min(1 + (a + b - gcd(a, b) - 1) // b, 1 - (-whole * common // b))


# --- the price given what was told ----------------------------------------------------------------


@dataclass(frozen=True)
class ConditionalPrice:
    """What a batch costs after earlier ones, beside what it costs alone."""

    cells: int
    by_itself: Price
    rows: tuple[int, ...] = ()
    """The rows of the ledger that it was priced from; empty where they did not lower it."""
    parts: PublicParts | None = None
    """The price for every type of the public columns, where it was asked for."""

    @property
    def alone(self) -> int:
        """The cells that the batch would cost if nothing had been asked before."""
        return self.by_itself.cells

    def explain(self) -> str:
        """Say in words what the price is made of, and which earlier rows lower it."""
        words = self.by_itself.explain()
        return words if not self.rows else f"{words}\n{discount_sentence(self)}"


def discount_sentence(priced: ConditionalPrice, *, name_rows: bool = True) -> str:
    """Say which earlier rows lower a price, and from what to what."""
    rows = join_first([str(row) for row in priced.rows], 12, rest="...")
    named = f" ({plural(len(priced.rows), 'row')} {rows})" if name_rows else ""
    before, now = (bits_up(bits_at_least(cells)) for cells in (priced.alone, priced.cells))
    # Where it is less only for types that do not cost most, the price is as before.
    lower = "less for some values of the public columns"
    if priced.cells < priced.alone:
        lower = f"{now} instead of {before}"
    return f"Given {count_of(len(priced.rows), 'earlier answer')}{named}: {lower}."


def conditional_price(questions: Sequence[Question], told: EarlierAnswers) -> ConditionalPrice:
    """Return how many cells a batch costs where earlier batches were charged.

    At most so many answers can one person's data cause among the data that agree with everything
    that the earlier charges paid for. Never more than the price alone. Exact integers.

    The same rows always give the same price, so that a ledger can be checked.

    Proved: proofs/Refined.v, promise_refined, for rule S over several private columns.
    Proved: proofs/Told.v, promise_told, for rules O and W. Rule N, runs of classes and an absent
    record are proved on paper and enumerated.
    """
    asked = list(dict.fromkeys(questions))
    return _given(asked, told, price(asked, told.schema), {})


_Pricings: TypeAlias = "dict[tuple[Question, ...], PartPricing]"
"""What was computed with rules O and W for some questions, with all that was told."""


def _given(
    asked: list[Question], told: EarlierAnswers, by_itself: Price, pricings: _Pricings
) -> ConditionalPrice:
    """Return what distinct questions cost, where their price alone is known."""
    alone = by_itself.cells
    ratios = _ratios(asked, told)
    # A question whose cell is known is no question any more.
    settled = {row for ratio, row in ratios.values() if ratio == 1}
    unknown = [question for question in asked if question not in ratios or ratios[question][0] > 1]
    rest = [question for question in unknown if question not in ratios]
    best, rows = _cells(unknown, told, alone if len(unknown) == len(asked) else None, pricings)
    if len(rest) < len(unknown):
        refined = [ratios[question] for question in unknown if question in ratios]
        others, used = _cells(rest, told, None, pricings)
        if prod([ratio for ratio, _ in refined]) * others < best:
            best = prod([ratio for ratio, _ in refined]) * others
            rows = used | {row for _, row in refined}
    if best >= alone:
        return ConditionalPrice(alone, by_itself)
    return ConditionalPrice(best, by_itself, tuple(sorted(rows | settled)))


def _ratios(asked: Sequence[Question], told: EarlierAnswers) -> dict[Question, tuple[int, int]]:
    """Return into how many cells rule S says that a known cell falls, and the row that told it."""
    ratios: dict[Question, tuple[int, int]] = {}
    for question in asked:
        steps = told.steps(question)
        if steps:
            ratios[question] = min((cells_in_cell(step, question.step), row) for step, row in steps)
    return ratios


def price_paths(questions: Sequence[Question], told: EarlierAnswers) -> ConditionalPrice:
    """Return what a batch costs after earlier ones, for every type of the public columns.

    A person's public columns are known, so every rule may be used for each type by itself: the
    smallest number that any rule gives for the type. ``cells`` is the largest of these prices, and
    never above that of ``conditional_price``.

    Proved: proofs/Paths.v, promise_paths, for prices and charges by part, one row per person.
    """
    asked = list(dict.fromkeys(questions))
    if not _by_public(asked, told):
        priced = conditional_price(questions, told)
        return replace(priced, parts=PublicParts((), (priced.cells,)))
    by_itself, alone = price_both_ways(asked, told.schema)
    pricings: _Pricings = {}
    priced = _given(asked, told, by_itself, pricings)
    ratios = _ratios(asked, told)
    rows = {row for ratio, row in ratios.values() if ratio == 1}
    unknown = [question for question in asked if question not in ratios or ratios[question][0] > 1]
    parts, used = _cells_by_public(
        unknown, told, alone if len(unknown) == len(asked) else None, pricings
    )
    rows |= used
    rest = [question for question in unknown if question not in ratios]
    if len(rest) < len(unknown):
        refined, used = _cells_by_public(rest, told, None, pricings)
        for question in unknown:
            if question in ratios:
                # Nobody of a type that the question is not about is told apart by it.
                ratio = PublicParts((), (ratios[question][0],))
                refined = refined.times(price_by_public([question], told.schema).smaller(ratio))
        smallest = parts.smaller(refined)
        if smallest != parts:
            parts, rows = smallest, rows | used | {row for _, row in ratios.values()}
    parts = parts.smaller(alone).smaller(PublicParts((), (priced.cells,)))
    given = () if parts == alone else tuple(sorted(rows | {*priced.rows}))
    return ConditionalPrice(parts.most, priced.by_itself, given, parts)


def _by_public(asked: Sequence[Question], told: EarlierAnswers) -> bool:
    """Whether a price may depend on public columns: of the questions, or of what was told."""
    columns = told.schema.columns
    public = {name for name, column in columns.items() if column.kind == "public"}
    if not public:
        return False
    touched: frozenset[str] = frozenset().union(*map(columns_named, asked))
    private = frozenset(c for c in touched if columns[c].kind == "private")
    near = [*told.filters(private, touched - private), *told.sums(private)]
    return not public.isdisjoint(touched.union(*[entry.known for entry in near]))


def _cells_by_public(
    questions: Sequence[Question],
    told: EarlierAnswers,
    alone: PublicParts | None,
    pricings: _Pricings,
) -> tuple[PublicParts, set[int]]:
    """Return the price of some questions by public type, and the rows that it rests on."""
    if not questions:
        return PublicParts(), set()
    if alone is None:
        alone = price_by_public(questions, told.schema)
    if told.schema.rows_per_unit > 1:
        counts = _exact_counts(questions, told)
        rows = {entry.row for entry in counts}
        known = known_counts(questions, [entry.question for entry in counts], told.schema)
        rest = [question for question in questions if question not in known]
        parts = price_by_public(rest, told.schema) if rest else PublicParts()
    else:
        pricing = pricings.get(tuple(questions)) or PartPricing(questions, told)
        priced = pricing.by_public()
        parts, rows = priced or alone, pricing.rows
    parts = parts.smaller(alone)
    return (parts, rows) if parts != alone else (alone, set())


def _cells(
    questions: Sequence[Question], told: EarlierAnswers, alone: int | None, pricings: _Pricings
) -> tuple[int, set[int]]:
    """Return the price of some questions, and the rows that it rests on."""
    if not questions:
        return 1, set()
    if alone is None:
        alone = price(questions, told.schema).cells
    if told.schema.rows_per_unit > 1:
        return _several_rows(questions, told, alone)
    pricing = PartPricing(questions, told)
    told_of = pricing.told_of
    cells = pricing.cells()
    if told_of == pricing.told_of:
        pricings[tuple(questions)] = pricing  # else a cap was met: prices by type begin anew
    return (alone, set()) if cells is None or cells >= alone else (cells, pricing.rows)


def _several_rows(
    questions: Sequence[Question], told: EarlierAnswers, alone: int
) -> tuple[int, set[int]]:
    """Rule N: what exact counts told before leave of a price, where a person has several rows."""
    schema = told.schema
    counts = _exact_counts(questions, told)
    if not counts:
        return alone, set()
    earlier = [entry.question for entry in counts]
    known = known_counts(questions, earlier, schema)
    rest = [question for question in questions if question not in known]
    cells = price(rest, schema).cells if rest else 1
    if rest and (parted := cells_in_parts(rest, earlier, schema, told.memory)) is not None:
        cells = min(cells, parted)
    return (cells, {entry.row for entry in counts}) if cells < alone else (alone, set())


def _exact_counts(questions: Sequence[Question], told: EarlierAnswers) -> list[EarlierAnswer]:
    touched: frozenset[str] = frozenset().union(*map(columns_named, questions))
    return [entry for entry in told.filters(touched, touched) if entry.question.statistic is COUNT]
