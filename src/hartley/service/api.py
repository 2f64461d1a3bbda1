"""The routes of the API, and the bodies of their requests."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import APIRouter, Header, Path, Query, Request, Response, Security
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
)
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from hartley.results.quote import Wish
from hartley.service.administration import readiness
from hartley.service.identity import LONGEST_KEY, Role
from hartley.service.replies import ServiceError, busy, not_found
from hartley.service.service import (
    SCHEME,
    Acts,
    Caller,
    Host,
    current_identity,
    identity_of,
    is_local,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")
UNWATCHED = 0.05
"""Seconds before anybody looks whether the client is still there: most replies take less."""
LONGEST_NAME, KEY = 100, "Idempotency-Key"
datasets_router, administration_router = APIRouter(prefix="/v1"), APIRouter(prefix="/v1")
operations_router = APIRouter(tags=["operations"])

Number = Annotated[
    StrictInt | StrictFloat | Annotated[StrictStr, Field(max_length=100)],
    Field(description="A number, or a text such as '0.5' or '1/3' for an exact one."),
]
LargestError = Annotated[Number | None, Field(description="The largest error, instead of bits.")]
LeastRows = Annotated[
    Number | None,
    Field(description="The least number of rows from which averages and spreads keep the error."),
]
QuestionText = Annotated[
    StrictStr,
    Field(
        min_length=1,
        max_length=20_000,
        description="SQL: one SELECT over the table of the schema.",
        examples=["SELECT AVG(age) FROM people"],
    ),
]
Name = Annotated[
    str, Path(max_length=LONGEST_NAME, description="The dataset.", examples=["people"])
]
Account = Annotated[str, Path(max_length=64, description="The account.", examples=["ana"])]
Row = Annotated[str, Path(max_length=16)]
Key = Annotated[
    str | None, Header(alias=KEY, max_length=LONGEST_KEY, description="Kept for 24 hours.")
]

# --- the bodies of requests and errors, with examples for the OpenAPI description ---


class Body(BaseModel):
    """A body in which no unknown field is accepted."""

    model_config = ConfigDict(extra="forbid")


class AskedQuestion(Body):
    """A question with a wish of its own."""

    question: QuestionText
    bits: Number | None = Field(default=None, description="The price, in bits.")
    error: LargestError = None
    min_rows: LeastRows = None


class QuestionBody(Body):
    """One question, or several as a batch that is priced together."""

    question: QuestionText | None = None
    questions: list[QuestionText | AskedQuestion] | None = Field(
        default=None, description="A batch, instead of question."
    )
    bits: Number | None = Field(
        default=None, description="The price of each question without a wish of its own, in bits."
    )
    error: LargestError = None
    min_rows: LeastRows = None
    vacuous: bool = Field(
        default=False, description="Also accept answers that say no more than the schema."
    )

    @property
    def batch(self) -> bool:
        """Whether the reply is a list."""
        return self.questions is not None

    @property
    def wishes(self) -> list[Wish]:
        """The questions, each with its wish."""
        if (self.question is None) == (self.questions is None):
            raise ServiceError(
                422,
                "invalid",
                "The body does not have exactly one of the fields question and questions",
                hint='send {"question": "SELECT ..."}',
            )
        listed = [self.question] if self.questions is None else self.questions
        wishes = []
        for asked in listed:
            assert asked is not None
            if isinstance(asked, str):
                wishes.append(Wish(asked, self.error, self.bits, self.min_rows))
            elif asked.bits is None and asked.error is None:
                least = self.min_rows if asked.min_rows is None else asked.min_rows
                wishes.append(Wish(asked.question, self.error, self.bits, least))
            else:
                wishes.append(Wish(asked.question, asked.error, asked.bits, asked.min_rows))
        return wishes


class PriceBody(QuestionBody):
    """What to price."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"question": "SELECT AVG(age) FROM people", "bits": 2, "curve": True}]
        }
    )

    curve: bool = Field(default=False, description="Also return prices and errors by bits.")
    most: Number = Field(default=16, description="Where the curve ends, in bits.")
    explain: bool = Field(default=False, description="Also return what the price rests on.")


class AskBody(QuestionBody):
    """What to ask."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"question": "SELECT AVG(age) FROM people", "bits": 2}]}
    )

    given: list[Annotated[StrictStr, Field(max_length=16)]] | None = Field(
        default=None,
        max_length=10_000,
        description="The field given of a price: rows that the new one may rest on.",
    )
    most_bits: Annotated[float, Field(ge=0, strict=True)] | None = Field(
        default=None,
        description="The field bits of a price: if more is due by now, nothing is charged.",
    )


class PlanBody(QuestionBody):
    """A workload to plan."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "questions": ["SELECT AVG(age) FROM people", "SELECT MAX(age) FROM people"],
                    "budget": 4,
                }
            ]
        }
    )

    budget: Number | None = Field(default=None, description="The bits that the batch may cost.")
    weights: list[Number] | None = Field(
        default=None, max_length=10_000, description="How much the error of each question matters."
    )
    absolute: bool = Field(
        default=False, description="Compare errors as numbers, not as shares of ranges."
    )


class AccountBody(Body):
    """An account to add."""

    name: Annotated[StrictStr, Field(max_length=64, examples=["ana"])]
    role: Annotated[StrictStr, Field(max_length=20, examples=["analyst"])] = "analyst"


class TokenBody(Body):
    """A token to issue."""

    account: Annotated[StrictStr, Field(max_length=64, examples=["ana"])]
    scope: Annotated[StrictStr, Field(max_length=20, examples=["ask"])]
    days: Annotated[float | None, Field(description="Valid for so many days; default: no end.")] = (
        None
    )
    label: Annotated[StrictStr | None, Field(max_length=100)] = None


class CapBody(Body):
    """A daily cap."""

    bits: Number | None = Field(
        description="The most that may be spent in a UTC day; null: no cap."
    )


class AllowanceBody(Body):
    """An allowance."""

    dataset: Annotated[StrictStr, Field(max_length=100, examples=["people"])]
    account: Annotated[StrictStr, Field(max_length=64, examples=["ana"])]
    bits: Number


class BudgetBody(Body):
    """A budget."""

    bits: Number


class VersionBody(Body):
    """A new version of a table."""

    data: Annotated[
        StrictStr | None,
        Field(max_length=255, description="A file next to the configured one; default: that one."),
    ] = None
    schema_file: Annotated[
        StrictStr | None,
        Field(alias="schema", max_length=255, description="A changed schema next to the old one."),
    ] = None
    erasure: bool = Field(default=False, description="Whether a person was removed.")


class ErrorContent(BaseModel):
    """What went wrong."""

    code: str = Field(examples=["budget"])
    message: str = Field(examples=["The question costs 4 bits and the allowance has 3 bits left"])
    hint: str
    place: tuple[int, int] | None = Field(description="From where to where in the question.")
    requested_bits: float | None
    remaining_bits: float | None = Field(description="Of the account's own allowance.")
    request_id: str


class ErrorEnvelope(BaseModel):
    """The reply to everything that goes wrong."""

    error: ErrorContent


# --- datasets: prices, questions, and what was asked ---


class AskRoute(APIRoute):
    """The route of questions, whose parameters are read here where they are as usual.

    The framework takes as long for them as a repeat takes for everything else. What is not as usual
    is left to it, with the errors that it finds.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        of_framework = super().get_route_handler()

        async def handle(request: Request) -> Response:
            body = await _usual_body(request)
            if body is None:
                return await of_framework(request)
            caller = await current_identity(request, await SCHEME(request))
            name, key = request.path_params["name"], request.headers.get(KEY)
            reply: Response = await ask(request, caller, name, body, key)
            return reply

        return handle


async def _usual_body(request: Request) -> AskBody | None:
    """Return the questions of a request; None if something in it is not as usual."""
    keys = request.headers.getlist(KEY)
    if (
        request.headers.get("content-type") != "application/json"
        or len(request.path_params["name"]) > LONGEST_NAME
        or len(keys) > 1
        or any(len(key) > LONGEST_KEY for key in keys)
    ):
        return None
    try:
        return AskBody.model_validate(json.loads(await request.body()))
    except HTTPException:  # the body is too large
        raise
    except (ValidationError, ValueError, RecursionError, ClientDisconnect):
        return None


# The routes that are asked most stand first, since a request is compared with one after another.


async def ask(request: Request, caller: Caller, name: Name, body: AskBody, key: Key = None) -> Any:  # noqa: ANN401 - rendered here, once
    """Answer a question or a batch, if the account's allowance covers its price; repeats are free.

    A list of questions is replied to with a list of answers. With a token of the scope `repeat`,
    only what the account has paid for is answered.
    """
    work = request.app.state.service.ask(  # a dependency less: this route is asked most
        caller,
        name,
        body.wishes,
        batch=body.batch,
        vacuous=body.vacuous,
        given=body.given,
        most_bits=body.most_bits,
        key=key,
    )
    content = await while_attended(request, work)
    if not content["bits"]:  # a repeat, whose rendered reply may be sent again
        request.scope["state"]["repeat"] = (caller, name)
    return JSONResponse(content)


datasets_router.add_api_route(
    "/datasets/{name}/ask",
    ask,
    methods=["POST"],
    tags=["questions"],
    route_class_override=AskRoute,
)


@datasets_router.post("/datasets/{name}/price", tags=["questions"])
async def price(
    request: Request, caller: Caller, host: Host, name: Name, body: PriceBody
) -> dict[str, Any]:
    """Return what questions would cost now and the largest errors of answers; nothing is spent."""
    work = host.price(
        caller,
        name,
        body.wishes,
        curve=body.curve,
        most=body.most,
        explain=body.explain,
        vacuous=body.vacuous,
    )
    return await while_attended(request, work)


@datasets_router.get("/me", tags=["accounts"])
async def me(caller: Caller, host: Host) -> dict[str, Any]:
    """Return the account, the role and the scope of the token, and the datasets that it sees."""
    return {
        "account": caller.account,
        "role": caller.role.value,
        "scope": caller.scope.value,
        "datasets": host.visible(caller),
    }


@datasets_router.get("/datasets", tags=["datasets"])
async def list_datasets(caller: Caller, host: Host) -> dict[str, Any]:
    """Name the datasets that the account sees."""
    return {"datasets": host.visible(caller)}


@datasets_router.get("/datasets/{name}", tags=["datasets"])
async def describe_dataset(caller: Caller, host: Host, name: Name) -> dict[str, Any]:
    """Describe a dataset: its version, number of rows, size of a record, columns in words."""
    return await host.describe(caller, name)


@datasets_router.get("/datasets/{name}/schema", tags=["datasets"], response_class=Response)
async def schema(caller: Caller, host: Host, name: Name) -> Response:
    """Return the public schema as TOML."""
    return Response(await host.schema_text(caller, name), media_type="application/toml")


@datasets_router.get("/datasets/{name}/dummy", tags=["datasets"])
async def dummy(
    caller: Caller,
    host: Host,
    name: Name,
    rows: Annotated[int, Query(description="How many invented rows.")] = 100,
    seed: Annotated[int, Query(ge=0, lt=2**32)] = 0,
) -> dict[str, Any]:
    """Return invented rows over the schema's domain, to write questions on."""
    return {"columns": await host.dummy_rows(caller, name, rows, seed)}


@datasets_router.post("/datasets/{name}/plan", tags=["questions"])
async def plan(
    request: Request, caller: Caller, host: Host, name: Name, body: PlanBody
) -> dict[str, Any]:
    """Plan a workload: its price as one batch and one by one, and how to share a budget."""
    work = host.plan(
        caller,
        name,
        body.wishes,
        budget=body.budget,
        weights=body.weights,
        absolute=body.absolute,
        vacuous=body.vacuous,
    )
    return await while_attended(request, work)


@datasets_router.get("/datasets/{name}/budget", tags=["questions"])
async def budget(caller: Caller, host: Host, name: Name) -> dict[str, Any]:
    """Return the account's allowance, what was spent of it, and the daily cap."""
    return await host.budget(caller, name)


@datasets_router.get("/datasets/{name}/history", tags=["questions"])
async def history(  # noqa: PLR0913, PLR0917 - parts of a request
    caller: Caller,
    host: Host,
    name: Name,
    after: Annotated[str | None, Query(max_length=16, description="The field next.")] = None,
    limit: Annotated[int, Query(description="Rows of a page.")] = 50,
    newest: Annotated[bool, Query(description="Newest first.")] = False,  # noqa: FBT002 - a query parameter
    find: Annotated[
        str | None, Query(max_length=200, description="Only questions that contain this text.")
    ] = None,
) -> dict[str, Any]:
    """Return what the account paid for, in pages; the rows of others do not exist here."""
    return await host.history(caller, name, after=after, limit=limit, newest=newest, find=find)


@datasets_router.get("/datasets/{name}/answers/{row}", tags=["questions"])
async def answer(caller: Caller, host: Host, name: Name, row: Row) -> dict[str, Any]:
    """Return the answers of a row of the history again, for free, with their certificate."""
    return await host.answer(caller, name, row)


@datasets_router.get("/datasets/{name}/answers/{row}/certificate", tags=["questions"])
async def certificate(caller: Caller, host: Host, name: Name, row: Row) -> dict[str, Any]:
    """Return the certificate of a row of the history: what is promised of its answers."""
    return await host.certificate(caller, name, row)


async def while_attended(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Run work, and cancel it as soon as the client closes its connection."""
    task = asyncio.ensure_future(work)
    listening: asyncio.Task[None] | None = None
    try:
        await asyncio.sleep(0)  # a repeat from a file is done by then
        if not task.done():
            await asyncio.wait({task}, timeout=UNWATCHED)
        if not task.done():
            listening = asyncio.ensure_future(_gone(request))
            await asyncio.wait({task, listening}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
        if task.cancelled():
            raise busy("The request was given up", "ask the same again; it is charged once")
        return task.result()
    finally:
        task.cancel()  # without effect if it is done
        if listening is not None:
            listening.cancel()


async def _gone(request: Request) -> None:
    """Return when the client has closed its connection; its request was read to the end."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


# --- owners and auditors: accounts, tokens, allowances, versions, ledger, audit log ---


@administration_router.get("/accounts", tags=["accounts"])
def list_accounts(caller: Caller, acts: Acts) -> dict[str, Any]:
    """List the accounts. For owners."""
    return {"accounts": acts.accounts(caller)}


@administration_router.post("/accounts", tags=["accounts"], status_code=201)
def add_account(caller: Caller, acts: Acts, body: AccountBody) -> dict[str, Any]:
    """Add an account, which sees no dataset yet. For owners."""
    return acts.add_account(caller, body.name, body.role)


@administration_router.get("/accounts/{account}", tags=["accounts"])
def show_account(caller: Caller, acts: Acts, account: Account) -> dict[str, Any]:
    """Return an account with its tokens. For owners."""
    return acts.account(caller, account)


@administration_router.delete("/accounts/{account}", tags=["accounts"])
def revoke_account(caller: Caller, acts: Acts, account: Account) -> dict[str, Any]:
    """Revoke an account with its tokens and sessions, for good. For owners."""
    acts.revoke_account(caller, account)
    return {"revoked": account}


@administration_router.put("/accounts/{account}/datasets/{name}", tags=["accounts"])
def grant(caller: Caller, acts: Acts, account: Account, name: Name) -> dict[str, Any]:
    """Let an account see a dataset; its allowance is 0 bits until it is set. For owners."""
    acts.grant(caller, account, name)
    return {"account": account, "dataset": name, "granted": True}


@administration_router.delete("/accounts/{account}/datasets/{name}", tags=["accounts"])
def withdraw(caller: Caller, acts: Acts, account: Account, name: Name) -> dict[str, Any]:
    """Withdraw a dataset from an account. For owners."""
    acts.withdraw(caller, account, name)
    return {"account": account, "dataset": name, "granted": False}


@administration_router.put("/accounts/{account}/daily_cap", tags=["accounts"])
def set_daily_cap(caller: Caller, acts: Acts, account: Account, body: CapBody) -> dict[str, Any]:
    """Set the most that an account may spend in a day, in all datasets. For owners."""
    acts.set_daily_cap(caller, account, body.bits)
    return {"account": account, "daily_cap_bits": None if body.bits is None else str(body.bits)}


@administration_router.get("/tokens", tags=["accounts"])
def list_tokens(
    caller: Caller, acts: Acts, account: Annotated[str, Query(max_length=64)]
) -> dict[str, Any]:
    """List the tokens of an account, without their texts. For owners."""
    content = acts.account(caller, account)
    return {"tokens": content["tokens"]}


@administration_router.post("/tokens", tags=["accounts"], status_code=201)
def issue_token(caller: Caller, acts: Acts, body: TokenBody) -> dict[str, Any]:
    """Issue a token; its text is in this reply and kept nowhere. For owners."""
    return acts.issue_token(
        caller, body.account, scope=body.scope, days=body.days, label=body.label
    )


@administration_router.delete("/tokens/{token_id}", tags=["accounts"])
def revoke_token(
    caller: Caller, acts: Acts, token_id: Annotated[str, Path(max_length=64)]
) -> dict[str, Any]:
    """Revoke a token; every worker refuses it within a second. For owners."""
    acts.revoke_token(caller, token_id)
    return {"revoked": token_id}


@administration_router.get("/allowances", tags=["budgets"])
def show_allowances(
    caller: Caller, acts: Acts, dataset: Annotated[str, Query(max_length=100)]
) -> dict[str, Any]:
    """Return the budget of a dataset, all charges and all allowances. For owners."""
    return acts.totals(caller, dataset)


@administration_router.put("/allowances", tags=["budgets"])
def set_allowance(caller: Caller, acts: Acts, body: AllowanceBody) -> dict[str, Any]:
    """Set the part of a budget that one account may spend. For owners."""
    return acts.set_allowance(caller, body.dataset, body.account, body.bits)


@administration_router.put("/datasets/{name}/budget", tags=["budgets"])
def set_budget(caller: Caller, acts: Acts, name: Name, body: BudgetBody) -> dict[str, Any]:
    """Change the budget of a dataset, which changes its promise. For owners."""
    return acts.set_budget(caller, name, body.bits)


@administration_router.get("/datasets/{name}/versions", tags=["versions"])
def list_versions(caller: Caller, acts: Acts, name: Name) -> dict[str, Any]:
    """Name the versions of a dataset, the present one last. For owners."""
    return acts.versions(caller, name)


@administration_router.post("/datasets/{name}/versions", tags=["versions"], status_code=201)
def add_version(caller: Caller, acts: Acts, name: Name, body: VersionBody) -> dict[str, Any]:
    """Replace the table by a new version; earlier charges stay. For owners."""
    return acts.add_version(
        caller, name, data=body.data, schema=body.schema_file, erasure=body.erasure
    )


@administration_router.get("/audit", tags=["ledger"])
def audit(
    caller: Caller,
    acts: Acts,
    after: Annotated[int, Query(description="The field next.")] = 0,
    limit: int = 100,
) -> dict[str, Any]:
    """Return the audit log in pages: every act of an owner. For owners and auditors."""
    return acts.audit(caller, after=after, limit=limit)


@administration_router.get("/ledger/head", tags=["ledger"])
def ledger_head(caller: Caller, acts: Acts) -> dict[str, Any]:
    """Return the end of the ledger's chain, to be kept elsewhere. For owners and auditors."""
    return acts.head(caller)


@administration_router.post("/ledger/verify", tags=["ledger"], status_code=202)
def begin_verification(caller: Caller, acts: Acts) -> dict[str, Any]:
    """Begin to replay the whole ledger: hashes, balances, prices. For owners and auditors."""
    return acts.begin_verification(caller)


@administration_router.get("/ledger/verify/{job}", tags=["ledger"])
def show_verification(
    caller: Caller, acts: Acts, job: Annotated[str, Path(max_length=32)]
) -> dict[str, Any]:
    """Return how far a verification is, or what it found. For owners and auditors."""
    return acts.verification(caller, job)


# --- operators ---


@operations_router.get("/healthz")
async def healthz() -> dict[str, Any]:
    """Tell that the worker answers."""
    return {"status": "ok"}


@operations_router.get("/readyz")
async def readyz(request: Request, host: Host, response: Response) -> dict[str, Any]:
    """Tell whether questions can be answered: ledger writable, copies open, engine exact.

    From this machine also what is wrong; from elsewhere only whether something is.
    """
    checks = await host.lanes.quick(lambda: readiness(host))
    ready = all(problem is None for problem in checks.values())
    response.status_code = 200 if ready else 503
    content: dict[str, Any] = {"status": "ready" if ready else "not ready"}
    if is_local(request):
        content["checks"] = {name: problem or "ok" for name, problem in checks.items()}
    return content


@operations_router.get("/metrics", response_class=Response)
async def metrics(
    request: Request, host: Host, bearer: Annotated[object, Security(SCHEME)]
) -> Response:
    """Return the counters of all workers for Prometheus: to this machine, and to owners."""
    if not is_local(request):
        identity = await identity_of(request, bearer)  # type: ignore[arg-type]
        if identity is None or identity.role is not Role.OWNER:
            raise not_found("route")
    host.metrics.gauge("engine_admitted", host.lanes.admitted)
    return Response(host.metrics.text(), media_type="text/plain; version=0.0.4")
