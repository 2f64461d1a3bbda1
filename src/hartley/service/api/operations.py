"""The routes for operators: health, readiness and metrics."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request, Response, Security

from hartley.service.accounts import Role
from hartley.service.api.access import SCHEME, Host, identity_of, is_local
from hartley.service.envelope import not_found
from hartley.service.readiness import readiness

router = APIRouter(tags=["operations"])


@router.get("/healthz")
async def healthz() -> dict[str, Any]:
    """Tell that the worker answers."""
    return {"status": "ok"}


@router.get("/readyz")
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


@router.get("/metrics", response_class=Response)
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
