"""The pages of owners and auditors: datasets, accounts, tokens, the ledger and the audit log."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi import APIRouter
from fastapi.responses import Response  # noqa: TC002 - FastAPI reads the types of routes
from starlette.requests import Request  # noqa: TC002 - likewise

from hartley.errors import HartleyError
from hartley.service.console.pages import (
    PREFIX,
    bits_number,
    draw_gauge,
    exact_bits,
    left_number,
    parse_bits,
)
from hartley.service.console.visits import (
    PageRoute,
    carry_out,
    page,
    require_again,
    see_other,
    visit_of,
)
from hartley.service.identity import Role
from hartley.service.replies import ServiceError, not_found
from hartley.text import bits_up

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hartley.service.administration import Administration
    from hartley.service.console.visits import Act, Visit
    from hartley.service.identity import Identity

owner_router = APIRouter(prefix=f"{PREFIX}/owner", include_in_schema=False, route_class=PageRoute)
PAGE = 20
"""Rows of a page of the audit log."""
SHORT_VERSION = 12
LOOK_AGAIN = "1"
"""Seconds after which a running verification is looked at again."""


# --- the overview ---


@owner_router.get("")
async def owner_page(request: Request, job: str = "", before: int | None = None) -> Response:
    """Show datasets, accounts, the ledger and the audit log; auditors see the last two."""
    return await _overview(await visit_of(request), job, before)


async def _overview(
    visit: Visit, job: str = "", before: int | None = None, *, failed: str | None = None
) -> Response:
    acts, identity = visit.administration, visit.identity
    acts.require(identity, Role.OWNER, Role.AUDITOR)
    may_change = identity.role is Role.OWNER

    def work() -> dict[str, Any]:
        content: dict[str, Any] = {"head": None, "datasets": [], "accounts": []}
        with suppress(ServiceError):  # an empty ledger has none
            content["head"] = acts.head(identity)
        if may_change:
            content["datasets"] = [_dataset_line(visit, name) for name in visit.dataset_names]
            content["accounts"] = acts.accounts(identity)
        return content | _audit_page(visit, before)

    content = await visit.service.lanes.quick(work)
    verification = None
    if job:
        begun = await visit.service.lanes.quick(lambda: acts.verification(identity, job))
        verification = _shown_verification(begun)
    response = page(
        "owner.html",
        await visit.frame("Owner" if may_change else "Audit"),
        422 if failed else 200,
        may_change=may_change,
        verification=verification,
        failed=failed,
        **content,
    )
    if verification is not None and verification["state"] == "running":
        # With a place after '#' in the address, a browser would scroll there and load nothing.
        response.headers["Refresh"] = f"{LOOK_AGAIN}; url={PREFIX}/owner?job={quote(job, safe='')}"
    return response


def _dataset_line(visit: Visit, name: str) -> dict[str, Any]:
    totals = visit.administration.totals(visit.identity, name)
    state = visit.service.ledger.state(name)
    budget, spent = parse_bits(totals["budget_bits"]), totals["spent_bits"]
    return {
        "name": name,
        "version": state.version[:SHORT_VERSION],
        "rows": "private" if state.rows is None else f"{state.rows:,}",
        "spent": bits_number(spent),
        "budget": left_number(budget),
        "gauge": draw_gauge(spent, budget, budget, height=12),
    }


def _audit_page(visit: Visit, before: int | None) -> dict[str, Any]:
    """Return a page of the audit log, newest first, and where the older rows end."""

    def rows_after(number: int, limit: int) -> list[dict[str, Any]]:
        page_of = visit.administration.audit(visit.identity, after=number, limit=limit)
        return list(page_of["rows"])

    if before is None:  # the log is read by ascending number: double, then halve
        high = 1
        while rows_after(high, 1):
            high *= 2
        end = high // 2
        while end < high:
            middle = (end + high) // 2
            end, high = (middle + 1, high) if rows_after(middle, 1) else (end, middle)
    else:
        end = min(max(before - 1, 0), 2**61)
    start = max(end - PAGE, 0)
    rows = [row for row in rows_after(start, PAGE) if row["sequence"] <= end]
    return {
        "audit": [*reversed(rows)],
        "audit_older": start + 1 if start and rows else None,
        "audit_newest": before is None,
    }


def _shown_verification(job: Mapping[str, Any]) -> dict[str, Any]:
    if job["status"] == "running":
        return {"state": "running", "tag": "", "words": "This page looks again.", "problems": ()}
    if job["status"] == "failed":
        words = f"The verification did not end: {job['problem']}."
        return {"state": "failed", "tag": "bad", "words": words, "problems": ()}
    head = job["head"]
    words = job["sentence"] + ("" if head is None else f" It ends at row {head['sequence']}.")
    if job["holds"]:
        return {"state": "holds", "tag": "good", "words": words, "problems": ()}
    problems = (f"The first row that does not fit is row {job['first_bad_row']}.",)
    return {"state": "does not hold", "tag": "bad", "words": words, "problems": problems}


@owner_router.post("/verify")
async def verify(request: Request) -> Response:
    """Begin to compute the whole ledger again."""
    visit = await visit_of(request)
    await visit.form()
    begun = await visit.service.lanes.quick(
        lambda: visit.administration.begin_verification(visit.identity)
    )
    return see_other(f"{PREFIX}/owner?job={begun['job']}")


# --- accounts ---


@owner_router.post("/accounts")
async def add_account(request: Request) -> Response:
    """Add an account."""
    visit = await visit_of(request)
    fields = await visit.form()
    name = fields.get("name", "").strip()
    try:
        await visit.service.lanes.quick(
            lambda: visit.administration.add_account(visit.identity, name, fields.get("role", ""))
        )
    except HartleyError as error:
        if isinstance(error, ServiceError):
            raise
        return await _overview(visit, failed=f"{error.problem}; {error.hint}.")
    return see_other(_account_address(name))


@owner_router.get("/accounts/{name}")
async def account_page(request: Request, name: str) -> Response:
    """Show an account: tokens, datasets, allowances."""
    return await _account(await visit_of(request), name=name)


def _account_address(name: str) -> str:
    return f"{PREFIX}/owner/accounts/{quote(name, safe='')}"


async def _account(
    visit: Visit, failed: str | None = None, *, name: str, token: str | None = None
) -> Response:
    acts, identity = visit.administration, visit.identity

    def work() -> tuple[dict[str, Any], list[dict[str, Any]]]:
        account = acts.account(identity, name)
        lines = []
        for dataset in visit.service.visible(identity):
            allowance = acts.totals(identity, dataset)["allowances"].get(name)
            granted = account["role"] == "owner" or dataset in account["datasets"]
            if granted or account["role"] == "analyst":
                lines.append(_allowance_line(dataset, allowance, granted=granted))
        return account, lines

    account, allowances = await visit.service.lanes.quick(work)
    cap = account["daily_cap_bits"]
    return page(
        "account.html",
        await visit.frame("Owner"),
        422 if failed else 200,
        account=account | {"daily_cap": "" if cap is None else exact_bits(cap)},
        allowances=allowances,
        token=token,
        failed=failed,
    )


def _allowance_line(
    dataset: str, allowance: Mapping[str, Any] | None, *, granted: bool
) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "granted": granted,
        "bits": "0" if allowance is None else exact_bits(allowance["allowance_bits"]),
        "spent": bits_up(0.0 if allowance is None else allowance["spent_bits"]),
    }


async def _change(request: Request, name: str, act: Act) -> Response:
    """Carry out an act about an account, and show the account with what came of it."""
    return await carry_out(request, act, partial(_account, name=name), _account_address(name))


@owner_router.post("/accounts/{name}/tokens")
async def issue_token(request: Request, name: str) -> Response:
    """Issue a token and show it this once: it is in no address and no log."""
    visit = await visit_of(request)
    fields = await visit.form()
    days = fields.get("days", "").strip()
    if days and not (days.isascii() and days.isdecimal() and len(days) < 6 and int(days)):
        problem = f"'{days[:20]}' is not a number of days; write a whole number, or nothing."
        return await _account(visit, problem, name=name)

    def work() -> dict[str, Any]:
        return visit.administration.issue_token(
            visit.identity,
            name,
            scope=fields.get("scope", ""),
            days=int(days) if days else None,
            label=fields.get("label", "").strip() or None,
        )

    try:
        issued = await visit.service.lanes.quick(work)
    except HartleyError as error:
        if isinstance(error, ServiceError):
            raise
        return await _account(visit, f"{error.problem}; {error.hint}.", name=name)
    return await _account(visit, name=name, token=issued["token"])


ACTS: dict[str, Callable[[Administration, Identity, str, Mapping[str, str]], object]] = {
    "grant": lambda acts, who, name, form: acts.grant(who, name, form.get("dataset", "")),
    "withdraw": lambda acts, who, name, form: acts.withdraw(who, name, form.get("dataset", "")),
    "allowance": lambda acts, who, name, form: acts.set_allowance(
        who, form.get("dataset", ""), name, form.get("bits", "").strip()
    ),
    "cap": lambda acts, who, name, form: acts.set_daily_cap(
        who, name, form.get("bits", "").strip() or None
    ),
    "revoke": lambda acts, who, name, _: acts.revoke_account(who, name),
}
"""What the forms of an account ask for, by the ends of their addresses."""


@owner_router.post("/accounts/{name}/{act}")
async def change_account(request: Request, name: str, act: str) -> Response:
    """Carry out an act about an account; before it is revoked, its name was written again."""

    def work(acts: Administration, who: Identity, form: Mapping[str, str]) -> None:
        if act not in ACTS:
            raise not_found("page")
        if act == "revoke":
            require_again(form, name, "account")
        ACTS[act](acts, who, name, form)

    return await _change(request, name, work)


@owner_router.post("/tokens/{token_id}/revoke")
async def revoke_token(request: Request, token_id: str) -> Response:
    """Revoke a token, if the name of its account was written again."""
    visit = await visit_of(request)
    visit.administration.require(visit.identity, Role.OWNER)
    name = (await visit.form()).get("account", "")

    def act(acts: Administration, who: Identity, form: Mapping[str, str]) -> None:
        # The account comes from the form: the name that is written again must be the token's own.
        if token_id not in {token["token_id"] for token in acts.account(who, name)["tokens"]}:
            raise not_found("token")
        require_again(form, name, "account")
        acts.revoke_token(who, token_id)

    return await _change(request, name, act)
