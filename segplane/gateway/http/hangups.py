"""Callers that leave before they are answered."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from starlette.requests import Request

from segplane.gateway.http.refusals import CallerGone

Value = TypeVar("Value")


async def gone(request: Request) -> None:
    """Return when the caller has closed its connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def unless(hangup: "asyncio.Task[None]", work: Awaitable[Value]) -> Value:
    """Wait for something, unless the caller leaves before its end; raises CallerGone."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({hangup, task}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        if hangup.done() or not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    if hangup.done():
        raise CallerGone
    return task.result()
