"""What the pages get from the service about a dataset and a question: its curve, its answer."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.agent.answers.quote import ErrorsIf
from hartley.agent.ledger.rows.entries import read_integer
from hartley.agent.price_curve import PriceCurve, PricePoint, bits_for
from hartley.agent.questions.question import parse
from hartley.agent.quotes import Wish
from hartley.errors import HartleyError, Refused, Stale
from hartley.exact import floor_power
from hartley.service.console.answers import answer_tables
from hartley.service.console.dataset_card import DatasetCard, dataset_card
from hartley.service.console.refusals import PRICE
from hartley.service.envelope import ServiceError
from hartley.service.own_rows import own_balance
from hartley.wording import decimals_up

if TYPE_CHECKING:
    from hartley.ranges.schema.schema import Schema
    from hartley.service.accounts import Identity
    from hartley.service.console.answers import AnswerTable
    from hartley.service.hosted_dataset import OpenVersion
    from hartley.service.own_rows import OwnBalance
    from hartley.service.service import Service

LONGEST_CURVE = 12
"""Bits at which the curve beside the slider ends."""
LONGEST_QUESTION = 20_000
BITS = re.compile(r"\d{1,4}(?:\.\d{1,9})?", re.ASCII)
DUE = re.compile(r"\d{1,6}(?:\.\d{1,20})?(?:e-\d{1,3})?", re.ASCII)
ROW = re.compile(r"[0-9a-zA-Z_-]{1,32}", re.ASCII)
MOST_EXACT = 30
"""Bits up to which a double says how many cells they are."""
SLACK = 1e-3
MOST_GIVEN = 500
"""Rows of a quote that a form sends back; with more of them, what is due is enough."""


@dataclass(frozen=True)
class OpenDataset:
    """What the pages of a dataset need: its card, its schema and the account's balance."""

    card: DatasetCard
    schema: Schema
    rows: int
    own: OwnBalance
    today: int | None
    """What the daily cap of the account leaves, in cells; None without a cap."""


async def open_dataset(service: Service, identity: Identity, name: str) -> OpenDataset:
    """Return a dataset as its pages show it; one that is not granted is not found."""
    hosted = service.dataset(identity, name)

    def work(opened: OpenVersion) -> OpenDataset:
        schema = opened.agent.schema
        state = service.ledger.state(name)
        own = own_balance(hosted.own(identity.account))
        return OpenDataset(
            dataset_card(schema, state.rows),
            schema,
            state.rows or schema.max_rows or 0,
            own,
            service.accounts.left_today(identity.account),
        )

    return await service.lanes.quick(lambda: hosted.run(work))


def read_bits(text: str) -> str | None:
    """Return a number of bits that a form sent; None for anything else."""
    return text if BITS.fullmatch(text) else None


@dataclass(frozen=True)
class SentQuote:
    """What a form sends back of the price that its page shows."""

    wish: str
    """The bits to ask for."""
    most_bits: float
    """What the page said would be charged; nothing is charged if more is due by now."""
    given: tuple[str, ...] = ()
    """The rows that the price rests on."""

    @classmethod
    def read(cls, spend: str, given: str = "") -> SentQuote | None:
        """Read the button and the rows of a form; None for anything that no page of ours sends.

        Example:
            >>> SentQuote.read("3 1.5849625007211563")
            SentQuote(wish='3', most_bits=1.5849625007211563, given=())
            >>> SentQuote.read("3")
        """
        wish, _, due = spend.partition(" ")
        rows = given.split()
        known = BITS.fullmatch(wish) and DUE.fullmatch(due) and len(rows) <= MOST_GIVEN
        if not known or not all(ROW.fullmatch(row) for row in rows):
            return None
        return cls(wish, float(due), tuple(rows))


@dataclass(frozen=True)
class PricedCurve:
    """The curve of a question, where it is shown, and the rows that the price there rests on."""

    curve: PriceCurve
    wish: str | None
    given: tuple[str, ...]


def wish_for(bits: float) -> str:
    """Return the shortest number of bits that buys what a charge has bought.

    Example:
        >>> wish_for(4.584962500721157), wish_for(0.0)
        ('4.6', '0')
    """
    if bits > MOST_EXACT:
        return decimals_up(bits, 9).replace(",", "")
    return bits_for(math.ceil(2**bits - SLACK))


async def price_points(
    service: Service, identity: Identity, name: str, text: str, bits: str | None
) -> PricedCurve:
    """Return the curve of a question, and the bits to show it at.

    A price at which nothing can be answered is replaced by the next one that the service proposes.
    """
    wish = bits
    check_length(text)
    try:
        content = await _priced(service, identity, name, text, wish)
    except Refused as refused:
        proposed = PRICE.search(refused.hint)
        if proposed is None or refused.place is not None:
            raise
        wish = proposed["bits"]
        content = await _priced(service, identity, name, text, wish)
    given = tuple(content["given"])
    return PricedCurve(
        read_curve(content["curves"][0]), wish, given if len(given) <= MOST_GIVEN else ()
    )


async def _priced(
    service: Service, identity: Identity, name: str, text: str, bits: str | None
) -> dict[str, Any]:
    return await service.price(
        identity, name, [Wish(text, bits=bits)], curve=True, most=LONGEST_CURVE
    )


def read_curve(content: dict[str, Any]) -> PriceCurve:
    """Return the curve that a reply of the API describes.

    Example:
        >>> from hartley.agent.price_curve import price_curve
        >>> age = {"age": {"kind": "private", "range": [0, 4], "step": 1}}
        >>> people = {"table": {"name": "people"}, "columns": age}
        >>> curve = price_curve("SELECT MEDIAN(age) FROM people", people, rows=9)
        >>> read_curve(curve.to_dict()) == curve
        True
    """
    return PriceCurve(
        text=content["question"],
        points=tuple(_point(point) for point in content["points"]),
        rows=content["rows"],
        complete=content["complete"],
        asked=round(2 ** content["asked_bits"]),
    )


def _point(content: dict[str, Any]) -> PricePoint:
    due, charged = content["due_cells"], content["charged_cells"]
    return PricePoint(
        limit=floor_power(content["wish_bits"]),
        cells=read_integer(content["cells"]),
        errors=_errors(content["worst_errors"]),
        full_errors=_errors(content["errors_if_all_rows_count"]),
        vacuous=tuple(content["vacuous"]),
        due=None if due is None else Fraction(due),
        errors_if=tuple(
            ErrorsIf(int(rows), _errors(errors))
            for rows, errors in content["errors_if_rows_count"].items()
        ),
        paid=content["paid"],
        charged=None if charged is None else read_integer(charged),
    )


def _errors(content: dict[str, str]) -> tuple[tuple[str, Fraction], ...]:
    return tuple((label, Fraction(error)) for label, error in content.items())


async def ask_question(
    service: Service, identity: Identity, name: str, text: str, quote: SentQuote
) -> dict[str, Any]:
    """Ask what a page has priced, and return the reply of the API."""
    check_length(text)
    return await service.ask(
        identity,
        name,
        [Wish(text, bits=quote.wish)],
        given=quote.given,
        most_bits=quote.most_bits,
    )


def check_length(text: str) -> None:
    """Refuse a question that the API would not take either."""
    if len(text) > LONGEST_QUESTION:
        raise Refused(
            f"The question has more than {LONGEST_QUESTION:,} characters",
            hint="ask about fewer values at once",
        )


def tables_of(opened: OpenDataset, reply: dict[str, Any]) -> tuple[AnswerTable, ...]:
    """Return the tables of one answer of a reply."""
    return answer_tables(reply["table"], parse(reply["question"], opened.schema, opened.rows))


def is_pending(error: Exception) -> bool:
    """Tell whether a question is paid for and not finished."""
    return isinstance(error, ServiceError) and error.code == "pending"


def is_stale(error: Exception) -> bool:
    """Tell whether more is due than a page said; nothing was charged then."""
    return isinstance(error, Stale)


async def is_paid(service: Service, identity: Identity, name: str, text: str, bits: str) -> bool:
    """Tell whether a question is certainly charged; a queue can be longer than the time limit."""
    try:
        priced = await service.price(identity, name, [Wish(text, bits=bits)])
    except HartleyError:
        return False
    return bool(priced["bits"] == 0)
