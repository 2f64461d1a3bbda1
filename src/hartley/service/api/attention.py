"""Work for a client that may go away: what is not charged by then is stopped."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from hartley.service.envelope import busy

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from starlette.requests import Request

T = TypeVar("T")
UNWATCHED = 0.05
"""Seconds before anybody looks whether the client is still there: most replies take less."""


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
