"""What more bits buy: the prices of one question at which some error becomes smaller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.agent.quoting import errors_if, open_desk
from hartley.errors import OptionError, Refused
from hartley.exact import floor_power
from hartley.results.plan import PriceCurve, PricePoint
from hartley.results.quote import Wish
from hartley.trusted.ledger.charging import BatchPrices, RowPrice
from hartley.trusted.ledger.ledger import list_charged_rows
from hartley.trusted.precision import coarsest_steps, questions_of, vacuous_labels
from hartley.trusted.pricing.price import cells_within, price as price_of
from hartley.trusted.questions.batch import to_plain

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from hartley.agent.agent import Agent
    from hartley.agent.ledger import Ledger
    from hartley.agent.workload import Row
    from hartley.schema.schema import Schema
    from hartley.trusted.earlier import ChargedRows
    from hartley.trusted.ledger.charging import Offer
    from hartley.trusted.precision import PriceDesk
    from hartley.trusted.questions.batch import Question
    from hartley.trusted.questions.question import Selection

ALL_UP_TO = 32
"""Every number of cells up to this one is tried."""
PARTS_OF_A_BIT = 4
"""Beyond, prices this fraction of a bit apart are tried: the error of a sum falls at every cell."""
MOST_BITS = 64
"""The end of the longest curve."""


def price_curve(  # noqa: PLR0913 - what a price rests on, each by name
    question: str | Wish,
    schema: Agent | Schema | Mapping[str, Any] | str | os.PathLike[str],
    *,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    rows: int | None = None,
    bits: object = None,
    error: object = None,
    min_rows: object = None,
    most: object = 16,
    analyst: str | None = None,
) -> PriceCurve:
    """Return what more bits buy: the prices of a question at which some error becomes smaller.

    Every number of cells up to 32 is tried, and beyond that prices a quarter of a bit apart, since
    the error of a sum falls with every cell. The answer at each price is the one that ``ask`` gives
    for a wish of so many bits, so errors are exact or bounds as in ``price``. Costs one search for
    the finest steps per price.

    Args:
        question: SQL, or a wish.
        schema: an open ``Agent``, a ``Schema``, a dict or the path of a TOML file.
        ledger: the ledger, for what would be charged now and the number of rows.
        rows: the public number of rows, if there is no ledger.
        bits: the price of the question, which the next useful price is compared with. By default,
            the schema's.
        error: the largest error that the answer may have, instead.
        min_rows: how many rows must count for the error, if their number is private.
        most: where the curve ends, in bits.
        analyst: the analyst who would ask.

    Example:
        >>> age = {"age": {"kind": "private", "range": [0, 4], "step": 1}}
        >>> people = {"table": {"name": "people"}, "columns": age}
        >>> curve = price_curve("SELECT MEDIAN(age) FROM people", people, rows=9)
        >>> [(point.cells, str(point.errors[0][1])) for point in curve.points]
        [(1, '2'), (2, '1'), (3, '1/2'), (5, '0')]
    """
    if not isinstance(question, (str, Wish)):
        raise OptionError(
            "A curve is of one question, SQL text or a Wish",
            hint="compute one curve per question; hartley.plan shares bits among several",
        )
    with open_desk(schema, ledger=ledger, rows=rows) as (desk, opened):
        (plan,) = desk.plan(question, error, bits, min_rows)
        limit = floor_power(most, what="end of the curve")
        if limit > 1 << MOST_BITS:
            raise OptionError(
                f"A curve to {most} bits is too long", hint=f"end it at {MOST_BITS} bits or before"
            )
        return curve_of(desk, plan, limit, opened, analyst)


def own_rows(desk: PriceDesk, ledger: Ledger, analyst: str | None) -> tuple[Row, ...]:
    """Return the questions of each row that the analyst's account was charged for."""
    from hartley.trusted.questions.batch import from_plain

    holder, rows = ledger.trusted.read_as(
        desk.schema.name, analyst, lambda t, place: (place.holder, list_charged_rows(t, place))
    )
    return tuple(
        tuple(from_plain(question) for question in row.questions)
        for row in rows
        if row.account == holder and desk.version in {None, row.version}
    )


def curve_of(
    desk: PriceDesk,
    plan: Selection,
    limit: int,
    ledger: Ledger | None = None,
    analyst: str | None = None,
) -> PriceCurve:
    """Return the curve of a plan up to a number of cells; without a ledger, of prices alone."""
    finest = price_of(plan.with_steps([1] * len(plan.questions)).questions, desk.schema).cells
    points: list[PricePoint] = []
    steps = None
    for cells in _grid(desk, plan, min(finest, limit)):
        try:
            finer = desk.steps_within(plan, cells)
        except Refused:
            continue  # even the coarsest answer costs more
        if finer != steps:
            steps = finer
            points.append(_point(desk, plan.with_steps(finer), cells, ledger, analyst))
    return PriceCurve(
        plan.text,
        tuple(_cheapest(points)),
        desk.rows,
        finest <= limit,
        price_of(plan.questions, desk.schema).cells,
    )


def _grid(desk: PriceDesk, plan: Selection, limit: int) -> Iterator[int]:
    """Yield the numbers of cells to try, in order; the limit is the last."""
    useful = cells_within(plan.questions, coarsest_steps(plan, desk.schema), desk.schema)
    steps = PARTS_OF_A_BIT * limit.bit_length()
    # 2^(k/4) for k up to the limit, rounded down; floor_power is exact.
    powers = {floor_power(f"{step / PARTS_OF_A_BIT:.2f}") for step in range(steps + 1)}
    cells = {*range(1, ALL_UP_TO + 1), *powers, useful, limit}
    yield from sorted(number for number in cells if number <= limit)


def _point(
    desk: PriceDesk, plan: Selection, limit: int, ledger: Ledger | None, analyst: str | None
) -> PricePoint:
    # What the account knows in finer cells is answered in these, by the same steps as ``ask``.
    answered = plan if ledger is None else desk.known_plans([plan], ledger.trusted, analyst)[0]
    offer = None if ledger is None else _offer(desk, answered, ledger, analyst)
    cells, errors = price_of(answered.questions, desk.schema).cells, desk.errors(answered)
    return PricePoint(
        limit,
        cells,
        errors,
        desk.errors(answered, desk.rows),
        desk.useful_price(answered, cells, answered.labels),
        vacuous_labels(answered, public_count=desk.public_count),
        None if offer is None else offer.terms.due,
        errors_if(desk, answered, errors),
        paid=offer is not None and not offer.unpaid,
        charged=None if offer is None else offer.terms.account_cells,
    )


class AccountPrices(BatchPrices):
    """Prices after the rows of an account alone; what the dataset is charged is left out."""

    by_holder = True

    def __init__(self, questions: Sequence[Question], earlier: ChargedRows) -> None:
        super().__init__()
        self._questions, self._earlier = questions, earlier

    def compute(self, indices: list[int], holder: str | None) -> RowPrice:
        """Price some questions for the account."""
        if holder is None:
            return RowPrice(1, ())
        return self._earlier.price([self._questions[at] for at in indices], holder)


def _offer(desk: PriceDesk, plan: Selection, ledger: Ledger, analyst: str | None) -> Offer:
    """Return what ``ask`` would charge the account now, and which questions are paid for.

    Charges count for each type of the public columns, so it can be less than the price after the
    account's own rows.
    """
    questions = questions_of([plan])
    plain = [to_plain(question) for question in questions]
    own = AccountPrices(questions, desk.earlier)
    return ledger.offer(desk.schema.name, analyst, plain, own)


def _cheapest(points: list[PricePoint]) -> Iterator[PricePoint]:
    """Yield the points at which some number is better than for the same charge or less."""
    chosen: list[PricePoint] = []
    for point in sorted(points, key=_rank):
        if not any(_as_good(other, point) for other in chosen):
            chosen.append(point)
            yield point


def _rank(point: PricePoint) -> tuple[Any, ...]:
    """Rank points by their charge; for the same charge, one that is as good comes first.

    Of several wishes for an answer that is free, the largest is nearest to what was paid for.
    """
    charge = point.cells if point.due is None else point.due
    errors = [error for _, error in (*point.errors, *point.full_errors)]
    return charge, errors, len(point.vacuous), -point.limit if point.free else point.limit


def _as_good(other: PricePoint, point: PricePoint) -> bool:
    """Return whether no number of a point is better than at another one."""
    errors = [
        zip(getattr(other, name), getattr(point, name), strict=True)
        for name in ("errors", "full_errors")
    ]
    no_larger = all(a <= b for pairs in errors for (_, a), (_, b) in pairs)
    return no_larger and {*other.vacuous} <= {*point.vacuous}
