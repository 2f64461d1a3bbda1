"""The routes of datasets: what there is, prices, questions, and what was asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from hartley.service.api.access import SCHEME, Caller, Host, current_identity, service_of
from hartley.service.api.attention import while_attended
from hartley.service.api.models import AskBody, PlanBody, PriceBody

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

router = APIRouter(prefix="/v1")
LONGEST_NAME, LONGEST_KEY, KEY = 100, 200, "Idempotency-Key"
Name = Annotated[
    str, Path(max_length=LONGEST_NAME, description="The dataset.", examples=["people"])
]
Key = Annotated[
    str | None,
    Header(alias=KEY, max_length=LONGEST_KEY, description="Kept for 24 hours."),
]


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
    work = service_of(request).ask(  # a dependency less: this route is asked most
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


router.add_api_route(
    "/datasets/{name}/ask",
    ask,
    methods=["POST"],
    tags=["questions"],
    route_class_override=AskRoute,
)


@router.post("/datasets/{name}/price", tags=["questions"])
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


@router.get("/me", tags=["accounts"])
async def me(caller: Caller, host: Host) -> dict[str, Any]:
    """Return the account, the role and the scope of the token, and the datasets that it sees."""
    return {
        "account": caller.account,
        "role": caller.role.value,
        "scope": caller.scope.value,
        "datasets": host.visible(caller),
    }


@router.get("/datasets", tags=["datasets"])
async def list_datasets(caller: Caller, host: Host) -> dict[str, Any]:
    """Name the datasets that the account sees."""
    return {"datasets": host.visible(caller)}


@router.get("/datasets/{name}", tags=["datasets"])
async def describe_dataset(caller: Caller, host: Host, name: Name) -> dict[str, Any]:
    """Describe a dataset: its version, number of rows, size of a record, columns in words."""
    return await host.describe(caller, name)


@router.get("/datasets/{name}/schema", tags=["datasets"], response_class=Response)
async def schema(caller: Caller, host: Host, name: Name) -> Response:
    """Return the public schema as TOML."""
    return Response(await host.schema_text(caller, name), media_type="application/toml")


@router.get("/datasets/{name}/dummy", tags=["datasets"])
async def dummy(
    caller: Caller,
    host: Host,
    name: Name,
    rows: Annotated[int, Query(description="How many invented rows.")] = 100,
    seed: Annotated[int, Query(ge=0, lt=2**32)] = 0,
) -> dict[str, Any]:
    """Return invented rows over the schema's domain, to write questions on."""
    return {"columns": await host.dummy_rows(caller, name, rows, seed)}


@router.post("/datasets/{name}/plan", tags=["questions"])
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


@router.get("/datasets/{name}/budget", tags=["questions"])
async def budget(caller: Caller, host: Host, name: Name) -> dict[str, Any]:
    """Return the account's allowance, what was spent of it, and the daily cap."""
    return await host.budget(caller, name)


@router.get("/datasets/{name}/history", tags=["questions"])
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


@router.get("/datasets/{name}/answers/{row}", tags=["questions"])
async def answer(
    caller: Caller, host: Host, name: Name, row: Annotated[str, Path(max_length=16)]
) -> dict[str, Any]:
    """Return the answers of a row of the history again, for free, with their certificate."""
    return await host.answer(caller, name, row)


@router.get("/datasets/{name}/answers/{row}/certificate", tags=["questions"])
async def certificate(
    caller: Caller, host: Host, name: Name, row: Annotated[str, Path(max_length=16)]
) -> dict[str, Any]:
    """Return the certificate of a row of the history: what is promised of its answers."""
    return await host.certificate(caller, name, row)
