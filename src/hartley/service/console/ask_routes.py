"""The pages of an analyst: ask, budget, history, one answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response  # noqa: TC002 - FastAPI reads the types of routes
from starlette.requests import Request  # noqa: TC002 - likewise

from hartley.errors import HartleyError, Refused
from hartley.service.accounts import TokenScope
from hartley.service.console.answers import answer_words, caption
from hartley.service.console.budget_page import PaidQuestion, budget_view
from hartley.service.console.copies import copied_texts
from hartley.service.console.pages import PREFIX
from hartley.service.console.prices import priced_question
from hartley.service.console.questions import (
    SentQuote,
    ask_question,
    is_paid,
    is_pending,
    is_stale,
    open_dataset,
    price_points,
    read_bits,
    tables_of,
    wish_for,
)
from hartley.service.console.refusals import shown_refusal
from hartley.service.console.roundings import bits_due, bits_left, due_number, left_number
from hartley.service.console.visits import PageRoute, page, parse_bits, see_other, visit_of
from hartley.service.envelope import as_service_error
from hartley.wording import decimal_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.service.console.questions import OpenDataset
    from hartley.service.console.visits import Visit

router = APIRouter(prefix=PREFIX, include_in_schema=False, route_class=PageRoute)
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


@router.get("")
async def home(request: Request) -> Response:
    """Go to the first page that the visitor has."""
    visit = await visit_of(request)
    frame = await visit.frame("")
    if frame.pages:
        return see_other(frame.pages[0].address)
    return page(
        "message.html",
        frame,
        title="No dataset yet",
        problem="The owner has not granted you a dataset.",
        hint="ask the owner of the service",
        request_id=None,
        back=PREFIX,
        back_words="Look again",
    )


@router.get("/choose")
async def choose(request: Request, dataset: str = "") -> Response:
    """Open another dataset."""
    visit = await visit_of(request)
    visit.service.dataset(visit.identity, dataset)
    opened = await open_dataset(visit.service, visit.identity, dataset)
    return see_other(f"{opened.card.address}/ask")


@router.get("/d/{name}/ask")
async def ask_page(request: Request, name: str) -> Response:
    """Show the empty editor, with three questions to begin with."""
    visit = await visit_of(request)
    opened = await open_dataset(visit.service, visit.identity, name)
    return await _show(visit, opened, "", examples=opened.card.examples)


@router.get("/d/{name}/price")
async def priced_page(request: Request, name: str) -> Response:
    """Go back to the editor: a price is the reply to a form."""
    return await _to_editor(request, name)


@router.post("/d/{name}/price")
async def price(request: Request, name: str) -> Response:
    """Price a question; nothing is spent."""
    visit = await visit_of(request)
    fields = await visit.form()
    opened = await open_dataset(visit.service, visit.identity, name)
    text = (fields.get("example") or fields.get("question", "")).strip()
    return await _show_priced(visit, opened, text, _wished(fields, text))


@router.post("/d/{name}/ask")
async def ask(request: Request, name: str) -> Response:
    """Ask what was priced; a question that was changed since is priced again instead."""
    visit = await visit_of(request)
    fields = await visit.form()
    opened = await open_dataset(visit.service, visit.identity, name)
    text = fields.get("question", "").strip()
    quote = SentQuote.read(fields.get("spend", ""), fields.get("given", ""))
    if quote is None or text != fields.get("quoted", "").strip():
        return await _show_priced(visit, opened, text, None, notice=CHANGED_QUESTION)
    try:
        answer = await ask_question(visit.service, visit.identity, name, text, quote)
    except HartleyError as error:
        if is_pending(error):
            return await _show_pending(visit, name, text, quote, as_service_error(error).problem)
        if is_stale(error):
            opened = await open_dataset(visit.service, visit.identity, name)
            return await _show_priced(visit, opened, text, quote.wish, notice=CHANGED_PRICE)
        return await _show_refused(visit, opened, text, error)
    opened = await open_dataset(visit.service, visit.identity, name)
    return await _show_priced(visit, opened, text, quote.wish, answer)


async def _show_pending(
    visit: Visit, name: str, text: str, quote: SentQuote, problem: str
) -> HTMLResponse:
    """Show a question that was not answered in time, and say so only where it is charged."""
    paid = await is_paid(visit.service, visit.identity, name, text, quote.wish)
    opened = await open_dataset(visit.service, visit.identity, name)
    spend = f"{quote.wish} {0 if paid else quote.most_bits!r}"
    pending = {"problem": problem, "spend": spend, "paid": paid}
    return await _show(visit, opened, text, status=503, pending=pending)


async def _to_editor(request: Request, name: str) -> Response:
    visit = await visit_of(request)
    opened = await open_dataset(visit.service, visit.identity, name)
    return see_other(f"{opened.card.address}/ask")


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
    identity, name = visit.identity, opened.schema.name
    shown = None if answer is None else _shown_answer(visit, opened, answer, bits or "1")
    try:
        points = await price_points(visit.service, identity, name, text, bits)
        chosen = points.wish or decimal_text(opened.schema.default_bits)
        may_spend = identity.scope.includes(TokenScope.ASK)
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
        datasets=await visit.dataset_names(),
        question=question,
        may_ask=visit.identity.scope.includes(TokenScope.REPEAT),
        may_spend=visit.identity.scope.includes(TokenScope.ASK),
        **shown | content,
    )


# --- budget and history ---------------------------------------------------------------------------


@router.get("/d/{name}/budget")
async def budget(request: Request, name: str) -> Response:
    """Show the account's allowance: what is spent of it, by day, and what is promised."""
    visit = await visit_of(request)
    opened = await open_dataset(visit.service, visit.identity, name)
    content = await visit.service.budget(visit.identity, name)
    limit = min(MOST_ROWS, visit.service.settings.limits.rows)
    rows = await visit.service.history(visit.identity, name, limit=limit, newest=True)
    remarks = []
    if content["daily_cap_bits"] is not None:
        cap = bits_left(parse_bits(content["daily_cap_bits"]))
        today = bits_due(content["spent_today_bits"])
        remarks.append(f"At most {cap} in a day (UTC), by the prices; {today} of that today.")
    rest = parse_bits(opened.own.bits) - opened.own.spent
    if bits_left(rest) != bits_left(opened.own.remaining):
        # What is left is a whole number of cells: of 4,096 / 384, ten.
        remarks.append(
            f"Of the remaining {bits_left(rest)}, {left_number(opened.own.remaining)} can be "
            "spent: charges multiply whole numbers of possible answers."
        )
    view = budget_view(
        opened.schema,
        spent=opened.own.spent,
        remaining=opened.own.remaining,
        bits=parse_bits(opened.own.bits),
        paid=[PaidQuestion(row["time"][:10], row["added_bits"]) for row in rows["rows"]],
        remarks=remarks,
    )
    return page("budget.html", await visit.frame("Budget", name), dataset=opened.card, budget=view)


@router.get("/d/{name}/history")
async def history(
    request: Request, name: str, after: str | None = None, find: str = ""
) -> Response:
    """Show what was paid for, newest first, in pages; all of it, or what contains a text."""
    visit = await visit_of(request)
    opened = await open_dataset(visit.service, visit.identity, name)
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
        "bits": due_number(row["bits"]),
        "added": due_number(row["added_bits"]) if less else "",
        "time": row["time"][:16].replace("T", " "),
        "answered": row["answered"],
        "present": row["present"],
        "state": state if row["present"] else "earlier version",
    }


@router.get("/d/{name}/answers/{row}")
async def answer_page(request: Request, name: str, row: str) -> Response:
    """Show a paid answer again, with its certificate; free."""
    visit = await visit_of(request)
    opened = await open_dataset(visit.service, visit.identity, name)
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
