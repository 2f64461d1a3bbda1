"""The pages of an analyst: ask, budget, history, one answer."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response  # noqa: TC002 - FastAPI reads types of routes
from starlette.requests import Request  # noqa: TC002 - likewise

from hartley.errors import HartleyError, Refused, Stale
from hartley.results.plan import PriceCurve, bits_for
from hartley.results.quote import Wish
from hartley.service.console.cards import (
    DatasetCard,
    answer_tables,
    answer_words,
    budget_view,
    caption,
    dataset_card,
    priced_question,
)
from hartley.service.console.pages import (
    PREFIX,
    PRICE,
    bits_number,
    copied_texts,
    left_number,
    parse_bits,
    shown_refusal,
)
from hartley.service.console.visits import PageRoute, page, see_other, visit_of
from hartley.service.identity import Role, TokenScope
from hartley.service.own_rows import own_balance
from hartley.service.replies import ServiceError, as_service_error
from hartley.text import bits_down, bits_up, decimal_text, listed, number
from hartley.trusted.questions.question import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.schema.schema import Schema
    from hartley.service.console.cards import AnswerTable
    from hartley.service.console.visits import Visit
    from hartley.service.hosting import OpenVersion
    from hartley.service.own_rows import OwnBalance

ask_router = APIRouter(prefix=PREFIX, include_in_schema=False, route_class=PageRoute)
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
PAGE = 20
"""Rows of a page of the history."""
MOST_ROWS = 1000
"""Rows behind the timeline of a budget."""
CHANGED_QUESTION = (
    "The question was changed after it was priced, so nothing was asked or charged. This is its "
    "price now."
)
CHANGED_PRICE = (
    "More is due now than the page said, so nothing was asked or charged. This is the price now."
)


# --- what the pages get from the service about a dataset and a question ---


@dataclass(frozen=True)
class OpenDataset:
    """What the pages of a dataset need: its card, its schema and the account's balance."""

    card: DatasetCard
    schema: Schema
    rows: int
    own: OwnBalance
    today: int | None
    """What the daily cap of the account leaves, in cells; None without a cap."""


async def open_dataset(visit: Visit, name: str) -> OpenDataset:
    """Return a dataset as its pages show it; one that is not granted is not found."""
    service, account = visit.service, visit.identity.account
    hosted = service.dataset(visit.identity, name)

    def work(opened: OpenVersion) -> OpenDataset:
        schema, rows = opened.agent.schema, service.ledger.state(name).rows
        own, today = own_balance(hosted.own(account)), service.accounts.left_today(account)
        card = dataset_card(schema, rows)
        return OpenDataset(card, schema, rows or schema.max_rows or 0, own, today)

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
        return number(bits, round="up", places=9).replace(",", "")
    return bits_for(math.ceil(2**bits - SLACK))


async def price_points(visit: Visit, name: str, text: str, wish: str | None) -> PricedCurve:
    """Return the curve of a question, and the bits to show it at.

    A price at which nothing can be answered is replaced by the next one that the service proposes.
    """
    check_length(text)

    async def priced(bits: str | None) -> dict[str, Any]:
        wishes = [Wish(text, bits=bits)]
        return await visit.service.price(
            visit.identity, name, wishes, curve=True, most=LONGEST_CURVE
        )

    try:
        content = await priced(wish)
    except Refused as refused:
        proposed = PRICE.search(refused.hint)
        if proposed is None or refused.place is not None:
            raise
        wish = proposed["bits"]
        content = await priced(wish)
    given = tuple(content["given"])
    return PricedCurve(
        PriceCurve.from_dict(content["curves"][0]), wish, given if len(given) <= MOST_GIVEN else ()
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


# --- asking ---


@ask_router.get("")
async def home(request: Request) -> Response:
    """Go to the owner's page, to a dataset with an allowance, or say whom to ask for one."""
    visit = await visit_of(request)
    if visit.identity.role is not Role.ANALYST:
        return see_other(f"{PREFIX}/owner")
    names, account = visit.dataset_names, visit.identity.account

    def work() -> tuple[list[str], list[str]]:
        hosted = ((name, visit.service.dataset(visit.identity, name)) for name in names)
        able = [name for name, each in hosted if parse_bits(own_balance(each.own(account)).bits)]
        accounts = visit.service.accounts.list()
        return able, [a.name for a in accounts if a.role is Role.OWNER and not a.revoked]

    able, owners = await visit.service.lanes.quick(work)
    if able:
        return await priced_page(request, able[0])
    share = f"a part of the budget of {listed(names)}" if names else "a dataset, and bits to spend"
    return page(
        "message.html",
        await visit.frame(""),
        title="No allowance yet" if names else "No dataset yet",
        problem="You may price questions, and spend nothing so far."
        if names
        else "The owner has not granted you a dataset.",
        hint=f"ask {listed(owners, joint='or')}, who can give the account {account} {share}",
        request_id=None,
        back=PREFIX,
        back_words="Look again",
    )


@ask_router.get("/choose")
async def choose(request: Request, dataset: str = "") -> Response:
    """Open another dataset."""
    return await priced_page(request, dataset)


@ask_router.get("/d/{name}/ask")
async def ask_page(request: Request, name: str) -> Response:
    """Show the empty editor, with three questions to begin with."""
    visit = await visit_of(request)
    opened = await open_dataset(visit, name)
    return await _show(visit, opened, "", examples=opened.card.examples)


@ask_router.get("/d/{name}/price")
async def priced_page(request: Request, name: str) -> Response:
    """Go back to the editor: a price is the reply to a form."""
    opened = await open_dataset(await visit_of(request), name)
    return see_other(f"{opened.card.address}/ask")


@ask_router.post("/d/{name}/price")
async def price(request: Request, name: str) -> Response:
    """Price a question; nothing is spent."""
    visit = await visit_of(request)
    fields = await visit.form()
    opened = await open_dataset(visit, name)
    text = (fields.get("example") or fields.get("question", "")).strip()
    return await _show_priced(visit, opened, text, _wished(fields, text))


@ask_router.post("/d/{name}/ask")
async def ask(request: Request, name: str) -> Response:
    """Ask what was priced; a question that was changed since is priced again instead."""
    visit = await visit_of(request)
    fields = await visit.form()
    opened = await open_dataset(visit, name)
    text = fields.get("question", "").strip()
    quote = SentQuote.read(fields.get("spend", ""), fields.get("given", ""))
    if quote is None or text != fields.get("quoted", "").strip():
        return await _show_priced(visit, opened, text, None, notice=CHANGED_QUESTION)
    try:
        check_length(text)
        answer = await visit.service.ask(
            visit.identity,
            name,
            [Wish(text, bits=quote.wish)],
            given=quote.given,
            most_bits=quote.most_bits,
        )
    except HartleyError as error:
        if isinstance(error, ServiceError) and error.code == "pending":
            return await _show_pending(visit, name, text, quote, error.problem)
        if isinstance(error, Stale):  # more is due than the page said, and nothing was charged
            opened = await open_dataset(visit, name)
            return await _show_priced(visit, opened, text, quote.wish, notice=CHANGED_PRICE)
        return await _show_refused(visit, opened, text, error)
    opened = await open_dataset(visit, name)
    return await _show_priced(visit, opened, text, quote.wish, answer)


async def _show_pending(
    visit: Visit, name: str, text: str, quote: SentQuote, problem: str
) -> HTMLResponse:
    """Show a question that was not answered in time, and say so only where it is charged."""
    try:  # a queue can be longer than the time limit
        wishes = [Wish(text, bits=quote.wish)]
        paid = not (await visit.service.price(visit.identity, name, wishes))["bits"]
    except HartleyError:
        paid = False
    opened = await open_dataset(visit, name)
    spend = f"{quote.wish} {0 if paid else quote.most_bits!r}"
    pending = {"problem": problem, "spend": spend, "paid": paid}
    return await _show(visit, opened, text, status=503, pending=pending)


def _wished(fields: Mapping[str, str], text: str) -> str | None:
    """Return the bits that a form wishes: a button's, or those of the slider's position."""
    if fields.get("wish"):
        return read_bits(fields["wish"])
    wishes, place = fields.get("wishes", "").split(), fields.get("place", "")
    same = text == fields.get("quoted", "").strip()  # a slider is of one question
    if same and place.isdecimal() and len(place) < 6 and int(place) < len(wishes):
        return read_bits(wishes[int(place)])
    return None


async def _show_priced(  # noqa: PLR0913 - what a page shows beside the price, each by name
    visit: Visit,
    opened: OpenDataset,
    text: str,
    bits: str | None,
    answer: dict[str, Any] | None = None,
    *,
    notice: str | None = None,
) -> Response:
    if not text:
        return await _show(visit, opened, text, examples=opened.card.examples)
    name = opened.schema.name
    shown = None if answer is None else _shown_answer(visit, opened, answer, bits or "1")
    try:
        points = await price_points(visit, name, text, bits)
        chosen = points.wish or decimal_text(opened.schema.default_bits)
        may_spend = visit.identity.scope.includes(TokenScope.ASK)
        priced = priced_question(
            points.curve, chosen, opened.own.remaining, may_spend=may_spend, today=opened.today
        )
        if priced is None:
            raise Refused(
                "No price up to 12 bits reveals more than the schema",
                hint="ask about fewer groups or fewer numbers at once",
            )
    except HartleyError as error:
        return await _show_refused(visit, opened, text, error, answer=shown)
    return await _show(
        visit,
        opened,
        text,
        priced=priced,
        positions=json.dumps([position.plain() for position in priced.positions]),
        wishes=" ".join(position.wish for position in priced.positions),
        given=" ".join(points.given),
        notice=notice,
        answer=shown,
    )


def _shown_answer(
    visit: Visit, opened: OpenDataset, reply: dict[str, Any], bits: str
) -> dict[str, Any]:
    return {
        "tables": tables_of(opened, reply),
        "caption": caption(reply),
        "certificate": reply["certificate"],
        "copies": copied_texts(reply["question"], bits, opened.schema.name, visit.here),
    }


async def _show_refused(
    visit: Visit,
    opened: OpenDataset,
    text: str,
    error: HartleyError,
    **content: Any,  # noqa: ANN401 - the values of the template
) -> Response:
    reply = as_service_error(error)
    if reply.status >= 500 and reply.code not in {"busy", "unavailable"}:
        raise error
    refusal = shown_refusal(
        text,
        reply.problem,
        reply.hint,
        address=opened.card.address,
        place=reply.place,
        requested=reply.requested,
    )
    return await _show(visit, opened, text, status=reply.status, refusal=refusal, **content)


async def _show(
    visit: Visit,
    opened: OpenDataset,
    question: str,
    status: int = 200,
    **content: Any,  # noqa: ANN401 - the values of the template
) -> HTMLResponse:
    shown: dict[str, Any] = {
        "refusal": None,
        "pending": None,
        "priced": None,
        "answer": None,
        "examples": (),
        "positions": "[]",
        "wishes": "",
        "given": "",
        "notice": None,
    }
    return page(
        "ask.html",
        await visit.frame("Ask", opened.schema.name),
        status,
        dataset=opened.card,
        datasets=visit.dataset_names,
        question=question,
        may_ask=visit.identity.scope.includes(TokenScope.REPEAT),
        may_spend=visit.identity.scope.includes(TokenScope.ASK),
        **shown | content,
    )


# --- budget and history ---


@ask_router.get("/d/{name}/budget")
async def budget(request: Request, name: str) -> Response:
    """Show the account's allowance: what is spent of it, by day, and what is promised."""
    visit = await visit_of(request)
    opened = await open_dataset(visit, name)
    content = await visit.service.budget(visit.identity, name)
    limit = min(MOST_ROWS, visit.service.settings.limits.rows)
    rows = await visit.service.history(visit.identity, name, limit=limit, newest=True)
    remarks = []
    if content["daily_cap_bits"] is not None:
        cap = bits_down(parse_bits(content["daily_cap_bits"]))
        today = bits_up(content["spent_today_bits"])
        remarks.append(f"At most {cap} in a day (UTC), by the prices; {today} of that today.")
    rest = parse_bits(opened.own.bits) - opened.own.spent
    if bits_down(rest) != bits_down(opened.own.remaining):
        # What is left is a whole number of cells: of 4,096 / 384, ten.
        remarks.append(
            f"Of the remaining {bits_down(rest)}, {left_number(opened.own.remaining)} can be "
            "spent: charges multiply whole numbers of possible answers."
        )
    view = budget_view(
        opened.schema,
        spent=opened.own.spent,
        remaining=opened.own.remaining,
        bits=parse_bits(opened.own.bits),
        paid=[(row["time"][:10], row["added_bits"]) for row in rows["rows"]],
        remarks=remarks,
    )
    return page("budget.html", await visit.frame("Budget", name), dataset=opened.card, budget=view)


@ask_router.get("/d/{name}/history")
async def history(
    request: Request, name: str, after: str | None = None, find: str = ""
) -> Response:
    """Show what was paid for, newest first, in pages; all of it, or what contains a text."""
    visit = await visit_of(request)
    opened = await open_dataset(visit, name)
    rows = await visit.service.history(
        visit.identity, name, after=after or None, limit=PAGE, newest=True, find=find[:200] or None
    )
    answers = {row["id"]: await _answer_words(visit, name, row) for row in rows["rows"]}
    return page(
        "history.html",
        await visit.frame("History", name),
        dataset=opened.card,
        charges=[_shown_charge(row) | {"answer": answers[row["id"]]} for row in rows["rows"]],
        first_page=not after,
        find=find[:200],
        next_page=rows["next"],
    )


async def _answer_words(visit: Visit, name: str, row: Mapping[str, Any]) -> str:
    """Return a paid answer in a few words; empty where there is none to show."""
    may_see = visit.identity.scope.includes(TokenScope.REPEAT)
    if not (may_see and row["answered"] and row["present"]):
        return ""
    content = await visit.service.answer(visit.identity, name, row["id"])
    return answer_words(content["answers"] or ())


def _shown_charge(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the history; ``added`` is empty where the price is what it added."""
    state = "answered" if row["answered"] else "pending"
    less = row["added_bits"] < row["bits"]
    return {
        "id": row["id"],
        "text": row["question"],
        "bits": bits_number(row["bits"]),
        "added": bits_number(row["added_bits"]) if less else "",
        "time": row["time"][:16].replace("T", " "),
        "answered": row["answered"],
        "present": row["present"],
        "state": state if row["present"] else "earlier version",
    }


@ask_router.get("/d/{name}/answers/{row}")
async def answer_page(request: Request, name: str, row: str) -> Response:
    """Show a paid answer again, with its certificate; free."""
    visit = await visit_of(request)
    opened = await open_dataset(visit, name)
    content = await visit.service.answer(visit.identity, name, row)
    answers = content["answers"] or ()
    # A wish of the charge alone is enough to finish it: what the account paid for is known.
    charge = _shown_charge(content) | {"wish": wish_for(content["bits"])}
    return page(
        "answer.html",
        await visit.frame("History", name),
        dataset=opened.card,
        charge=charge,
        answers=[tables_of(opened, answer) for answer in answers],
        promise=answers[0]["certificate"] if answers else None,
        texts=copied_texts(charge["text"], charge["wish"], name, visit.here),
        gone="Its data was replaced by a newer version, so the answer is not shown any more. "
        "What it cost stays charged.",
    )
