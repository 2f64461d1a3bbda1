"""The page of a dataset for its owner: all charges, allowances, the budget and versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi import APIRouter
from fastapi.responses import Response  # noqa: TC002 - FastAPI reads the types of routes
from starlette.requests import Request  # noqa: TC002 - likewise

from hartley.errors import HartleyError
from hartley.service.accounts import Role
from hartley.service.console.budget_page import budget_view
from hartley.service.console.pages import PREFIX
from hartley.service.console.questions import open_dataset
from hartley.service.console.roundings import bits_due, bits_left, exact_bits
from hartley.service.console.visits import (
    PageRoute,
    page,
    parse_bits,
    require_again,
    see_other,
    visit_of,
)
from hartley.service.envelope import ServiceError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hartley.service.console.visits import Visit

router = APIRouter(prefix=f"{PREFIX}/owner", include_in_schema=False, route_class=PageRoute)


@router.get("/datasets/{name}")
async def dataset_page(request: Request, name: str) -> Response:
    """Show a dataset to its owner: all charges, allowances, versions."""
    return await _dataset(await visit_of(request), name)


async def _dataset(
    visit: Visit, name: str, *, status: int = 200, failed: str | None = None
) -> Response:
    acts, identity = visit.administration, visit.identity
    acts.require(identity, Role.OWNER)
    opened = await open_dataset(visit.service, identity, name)

    def work() -> tuple[dict[str, Any], list[str]]:
        return acts.totals(identity, name), acts.versions(identity, name)["versions"]

    totals, versions = await visit.service.lanes.quick(work)
    view = budget_view(
        opened.schema,
        spent=totals["spent_bits"],
        remaining=totals["remaining_bits"],
        bits=parse_bits(totals["budget_bits"]),
        paid=(),
        own=False,
    )
    shares = [
        {
            "name": account,
            "spent": bits_due(balance["spent_bits"]),
            "bits": bits_left(parse_bits(balance["allowance_bits"])),
        }
        for account, balance in sorted(totals["allowances"].items())
    ]
    problems = [totals["broken"], totals["uncovered"]]
    return page(
        "dataset.html",
        await visit.frame("Owner"),
        status,
        dataset=opened.card,
        summary=view.promise,
        budget=view,
        budget_text=exact_bits(totals["budget_bits"]),
        shares=shares,
        free=bits_left(parse_bits(totals["free_bits"])),
        versions=versions,
        may_replace=visit.service.settings.datasets[name].data is not None,
        said=None,
        failed=failed or next((f"Look at this: {each}." for each in problems if each), None),
    )


@router.post("/datasets/{name}/budget")
async def change_budget(request: Request, name: str) -> Response:
    """Change the budget of a dataset, if its name was written again."""
    return await _change_dataset(
        request,
        name,
        lambda visit, fields: visit.administration.set_budget(
            visit.identity, name, fields.get("bits", "").strip()
        ),
    )


@router.post("/datasets/{name}/versions")
async def add_version(request: Request, name: str) -> Response:
    """Read the configured table again as a new version, if the name was written again."""
    return await _change_dataset(
        request, name, lambda visit, _: visit.administration.add_version(visit.identity, name)
    )


async def _change_dataset(
    request: Request, name: str, act: Callable[[Visit, Mapping[str, str]], object]
) -> Response:
    visit = await visit_of(request)
    fields = await visit.form()

    def work() -> None:
        require_again(fields, name, "dataset")
        act(visit, fields)

    try:
        await visit.service.lanes.engine(work)
    except HartleyError as error:
        if isinstance(error, ServiceError) and error.status in {403, 404}:
            raise
        return await _dataset(visit, name, status=422, failed=f"{error.problem}; {error.hint}.")
    return see_other(f"{PREFIX}/owner/datasets/{quote(name, safe='')}")
