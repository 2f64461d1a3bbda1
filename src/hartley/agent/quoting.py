"""Quotes: what questions would cost, from public things alone; price() is ``hartley price``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from hartley.agent.known import known_words
from hartley.agent.ledger import opened_ledger
from hartley.errors import OptionError, Refused
from hartley.exact import bits_at_least
from hartley.results.codec import ratio_bits
from hartley.results.quote import SOME_ROWS, ErrorsAtRows, NextPrices, Quote, UsefulPrice
from hartley.schema.schema import Schema
from hartley.text import bits_down, bits_up, conjugate, count_of
from hartley.trusted.precision import (
    MOST_KEPT,
    PriceDesk,
    check_same_schema,
    questions_of,
    vacuous_labels,
)
from hartley.trusted.pricing.conditional_price import ConditionalPrice, discount_sentence
from hartley.trusted.pricing.price import certificate_of, next_limits, price as price_of
from hartley.trusted.questions.batch import to_plain
from hartley.trusted.questions.question import NumberKind

UNDIVIDED = frozenset({NumberKind.COUNT, NumberKind.SUM, NumberKind.ORDER})
"""Numbers whose error does not depend on how many rows count."""
MOST_NEARBY = 16
"""In a batch of more texts, the next useful prices are not searched for."""

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hartley.agent.agent import Agent
    from hartley.agent.ledger import Ledger
    from hartley.results.quote import Errors, Wish
    from hartley.trusted.ledger.charging import Offer
    from hartley.trusted.pricing.regions import PublicParts
    from hartley.trusted.questions.batch import Question
    from hartley.trusted.questions.question import Selection


def price(  # noqa: PLR0913 - what a price rests on, each by name
    questions: str | Wish | Sequence[str | Wish],
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str],
    *,
    ledger: str | os.PathLike[str] | None = None,
    rows: int | None = None,
    error: object = None,
    bits: object = None,
    min_rows: object = None,
    analyst: str | None = None,
    vacuous: bool = False,
) -> Quote:
    """Return what questions would cost, from the public schema alone; nothing is spent.

    Args:
        questions: SQL, a wish, or a list of them: a batch.
        schema: a ``Schema``, a dict or the path of a TOML file.
        ledger: the ledger, for what would be charged now and the number of rows.
        rows: the public number of rows, if there is no ledger.
        error: the largest error that the answers may have.
        bits: the price of each question, instead of an error. By default, the schema's.
        min_rows: how many rows must count for the error, if their number is private.
        analyst: the analyst who would ask.
        vacuous: whether to accept answers that say no more than the schema; otherwise the quote
            names them, with the next price that reveals more.

    Example:
        >>> age = {"age": {"kind": "private", "range": [0, 100], "step": 1}}
        >>> people = {"table": {"name": "people"}, "columns": age}
        >>> price("SELECT AVG(age) FROM people", people, rows=1000, bits=1).bits
        1.0
    """
    with open_desk(schema, ledger=ledger, rows=rows) as (desk, opened):
        plans = desk.plan(questions, error, bits, min_rows)
        return quote(desk, plans, opened, analyst, vacuous=vacuous)


@contextmanager
def open_desk(
    schema: Agent | Schema | Mapping[str, Any] | str | os.PathLike[str],
    *,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    rows: int | None = None,
) -> Iterator[tuple[PriceDesk, Ledger | None]]:
    """Open what prices are computed from: a desk that knows only what is public, and the ledger.

    An open ``Agent`` has its own. Without a ledger, ``rows`` is the public number of rows.
    """
    if not isinstance(schema, (Schema, Mapping, str, os.PathLike)):
        desk = getattr(schema, "desk", None)
        if not isinstance(desk, PriceDesk):
            raise OptionError(
                "The schema is neither a Schema, a dict or a path, nor an open Agent",
                hint="name the TOML file of the schema",
            )
        yield desk, schema.ledger
        return
    public = Schema.read(schema)
    opened = None if ledger is None else opened_ledger(ledger, create=False)
    try:
        state = None if opened is None else opened.state(public.name)
        if state is not None:
            check_same_schema(public, state)
        public_rows = rows if state is None else state.rows
        most = public.max_rows if public.rows == "private" else public_rows
        if most is None:
            raise OptionError(
                "The number of rows is not known, and errors depend on it",
                hint="give rows= (--rows), or the ledger of the table",
            )
        if most < 1:
            raise OptionError(f"The number of rows {most} is not positive", hint="give at least 1")
        yield PriceDesk(public, most), opened
    finally:
        if opened is not None and opened is not ledger:
            opened.close()


class ChargeLimit(NamedTuple):
    """What a charge must keep beside the budget, and how to say it."""

    holds: Callable[[PublicParts], bool]
    """Whether it leaves room for what a batch costs every type of the public columns."""
    words: str
    """What is left of it, as the end of a sentence."""


def quote(  # noqa: PLR0913 - what a quote rests on, each by name
    desk: PriceDesk,
    plans: Sequence[Selection],
    ledger: Ledger | None = None,
    analyst: str | None = None,
    *,
    vacuous: bool = False,
    name_rows: bool = True,
    limits: Sequence[ChargeLimit] = (),
) -> Quote:
    """Return the price of plans: alone and, with a ledger, what would be charged now.

    Numbers that would say no more than the schema are named with the next price that reveals
    more, unless ``vacuous`` accepts them. With ``name_rows``, the explanation names rows of the
    ledger by their numbers, which count the rows of all accounts. ``limits`` are what a charge must
    keep beside the budgets of the ledger, such as a daily cap.
    """

    def refine_to_known_cells(plan: Selection) -> Selection:
        return plan if ledger is None else desk.known_plans([plan], ledger.trusted, analyst)[0]

    plans = [refine_to_known_cells(plan) for plan in plans]
    questions = questions_of(plans)
    priced = price_of(questions, desk.schema)
    offer = None
    if ledger is not None:
        # The account may have enough left when the dataset or its population has not.
        offer = ledger.offer(
            desk.schema.name,
            analyst,
            [to_plain(question) for question in questions],
            desk.prices(questions),
        )
    beside = None if offer is None else _exceeded(offer, limits)
    refusal = beside if offer is None or offer.refusal is None else offer.refusal.problem
    texts, errors = tuple(plan.text for plan in plans), tuple(map(desk.errors, plans))
    labels = tuple(() if vacuous else desk.vacuous(plan) for plan in plans)
    useful = tuple(
        desk.useful(plan, some, _cells_alone(desk, plan, plans, priced.cells)) if some else ()
        for plan, some in zip(plans, labels, strict=True)
    )
    return Quote(
        texts=texts,
        cells=priced.cells,
        bits_alone=priced.bits,
        bits=priced.bits if offer is None else ratio_bits(offer.terms.due),
        affordable=None if offer is None else refusal is None,
        errors=errors,
        levels=tuple(tuple(map(levels, plan.questions)) for plan in plans),
        remaining=None if offer is None else offer.balance.remaining,
        refusal=refusal,
        exceeded=refusal is not None and refusal is beside,
        explanation="\n".join(
            [priced.explain(), *_told_words(desk, questions, offer, name_rows=name_rows)]
        ),
        given=() if offer is None else offer.terms.account_given or (),
        certificate=certificate_of(texts, questions, priced.cells, desk.schema),
        vacuous=labels,
        useful=useful,
        errors_if=tuple(map(errors_if, repeat(desk), plans, errors)),
        next_prices=tuple(
            _nearby(desk, plan, first, plans, priced.cells, refine_to_known_cells)
            for plan, first in zip(plans, useful, strict=True)
        ),
    )


def _exceeded(offer: Offer, limits: Sequence[ChargeLimit]) -> str | None:
    """Say which limit beside the budgets a charge would exceed; a repeat is not charged."""
    if not offer.unpaid:
        return None
    cost = bits_up(bits_at_least(offer.terms.account_cells))
    words = (each.words for each in limits if not each.holds(offer.terms.account_parts))
    return next((f"The question costs {cost} and {each}" for each in words), None)


def explain(
    desk: PriceDesk, plans: Sequence[Selection], ledger: Ledger, analyst: str | None = None
) -> str:
    """Say in words what an account would be charged now, what is free, and if it is covered."""
    questions = questions_of(desk.known_plans(plans, ledger.trusted, analyst))
    plain = [to_plain(question) for question in questions]
    offer = ledger.offer(desk.schema.name, analyst, plain, desk.prices(questions))
    unpaid = [questions[at] for at in offer.unpaid]
    lines = _told_words(desk, questions, offer)
    if unpaid:
        end = f"It costs {bits_up(ratio_bits(offer.terms.due))}; "
        end += f"{bits_down(offer.balance.remaining)} left, so it is covered."
        if offer.refusal is not None:
            end = f"{offer.refusal.problem}, so it is refused."
        lines = [price_of(unpaid, desk.schema).explain(), *lines, end]
    return "\n".join(lines)


def _cells_alone(
    desk: PriceDesk, plan: Selection, plans: Sequence[Selection], together: int
) -> int:
    """Return the price of one plan of a batch."""
    return together if len(plans) == 1 else price_of(plan.questions, desk.schema).cells


def _told_words(
    desk: PriceDesk, questions: Sequence[Question], offer: Offer | None, *, name_rows: bool = True
) -> list[str]:
    """Say what the asking account was charged for before, and how that lowers the charge."""
    if offer is None:
        return []
    terms, lines = offer.terms, []
    unpaid = [questions[at] for at in offer.unpaid]
    repeated = len(questions) - len(unpaid)
    if repeated:
        verb = conjugate(repeated, "was")
        lines.append(f"{count_of(repeated, 'question')} {verb} charged before: free.")
    if terms.account_given:
        given = ConditionalPrice(
            terms.account_cells, price_of(unpaid, desk.schema), terms.account_given
        )
        rows = desk.earlier.questions(terms.account_given)
        known = known_words(unpaid, rows, desk.schema)
        lines.append(f"{discount_sentence(given, name_rows=name_rows)} {known}".rstrip())
    if terms.due < terms.account_cells:
        lines.append(
            "Charges add up for each value of the public columns, and the largest sum counts: it "
            f"grows by {bits_up(ratio_bits(terms.due))}."
        )
    return lines


def errors_if(desk: PriceDesk, plan: Selection, certain: Errors) -> tuple[ErrorsAtRows, ...]:
    """Return the errors of averages and spreads if at least 10, 100 or 1,000 rows count."""
    if all(item.kind in UNDIVIDED for item in plan.items):
        return ()
    wished = {item.min_rows for item in plan.items if item.min_rows is not None}
    usual = {plan.average} if plan.average is not None and len(plan.groups) > 1 else set()
    numbers = {rows for rows in (*SOME_ROWS, *wished, *usual) if rows <= desk.rows} or {desk.rows}
    table = []
    for rows in sorted(numbers):
        pairs = zip(desk.errors(plan, rows), certain, strict=True)
        errors = tuple(error for error, sure in pairs if error != sure)
        table += [ErrorsAtRows(rows, errors)] if errors else []
    return tuple(table)


def _nearby(  # noqa: PLR0913, PLR0917 - what a search starts from
    desk: PriceDesk,
    plan: Selection,
    first: Sequence[UsefulPrice],
    plans: Sequence[Selection],
    together: int,
    known: Callable[[Selection], Selection],
) -> NextPrices:
    """Return the next prices of one plan of a batch, unless the search takes long."""
    if first:  # vacuous for less: there is no useful price below
        return NextPrices(above=first[0])
    if len(plans) > MOST_NEARBY or len(plan.questions) > MOST_KEPT:  # searches take long
        return NextPrices()
    return _next_prices(desk, plan, _cells_alone(desk, plan, plans, together), known)


def _next_prices(
    desk: PriceDesk, plan: Selection, cells: int, known: Callable[[Selection], Selection]
) -> NextPrices:
    """Return the next prices of a plan at which some error changes, and say more or less."""
    now = desk.useful_price(plan, cells, plan.labels)
    limits = next_limits(plan.questions, desk.schema, plan.coarse_counts)
    below = _price_within(desk, plan, limits[0], known, now) if limits[0] else None
    above = None
    if limits[1] is not None:
        above = _price_within(desk, plan, max(limits[1], cells + 1), known, now)
    as_good = below is not None and all(
        error <= old * Fraction(11, 10)
        for (_, error), (_, old) in zip(below.errors, now.errors, strict=True)
    )
    return NextPrices(below, above, as_good)


def _price_within(
    desk: PriceDesk,
    plan: Selection,
    limit: int,
    known: Callable[[Selection], Selection],
    now: UsefulPrice,
) -> UsefulPrice | None:
    """Return the errors within a limit of cells; None if they stay, or say nothing."""
    try:
        other = plan.with_steps(desk.steps_within(plan, limit))
    except Refused:
        return None
    if vacuous_labels(other, public_count=desk.public_count):
        return None
    cells = price_of(other.questions, desk.schema).cells
    found = desk.useful_price(known(other), cells, plan.labels)
    return None if replace(found, cells=now.cells) == now else found


def levels(question: Question) -> int:
    """Return the number of cells of a statistic."""
    return int((question.most - question.least) / question.step) + 1
