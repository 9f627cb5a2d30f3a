"""Reads of meta that viewers with the same rights share: one each five seconds and kind of page.

A page whose read costs more shares it for longer, and says so.
"""

import asyncio
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from meta.client import MetaClient
from meta.errors import NotFound
from segplane.gateway.console.viewer import Viewer
from segplane.gateway.http.refusals import NotAllowed, NotThere
from segplane.gateway.management.times import text_of
from segplane.gateway.queries.service import QueryService

SHARED_SECS = 5.0
READINGS_MAX = 64
# The page shows how old its content may be, and htmx asks for it again while it is visible.
REFRESH_SECS = 10
Value = TypeVar("Value")
_NANOS = 10**9


@dataclass(frozen=True, slots=True)
class Reading(Generic[Value]):
    """Answer of meta, and the time of the call: by a monotonic clock, and as text.

    A personal one is of one person's rights alone.
    """

    value: Value
    read_at: float
    time: str
    kept_secs: float = SHARED_SECS
    is_personal: bool = False


class SharedReads:
    """Readings of the last seconds by page, rights and parameters; used on the event loop."""

    def __init__(
        self, queries: QueryService, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._queries = queries
        self._monotonic = monotonic
        self._readings: dict[Hashable, Reading[Any]] = {}
        self._running: dict[Hashable, asyncio.Task[Reading[Any]]] = {}

    async def read(
        self,
        viewer: Viewer,
        key: Hashable,
        read: Callable[[MetaClient], Value],
        *,
        is_personal: bool = False,
        kept_secs: float = SHARED_SECS,
    ) -> Reading[Value]:
        """Return what `read` returned within the last seconds for the key. Raises QueryRefusal.

        A personal read is shared with the same person alone.
        """
        whole_key = key, viewer.caller.name if is_personal else viewer.shared_rights
        reading = self._readings.get(whole_key)
        if reading is not None and self._monotonic() - reading.read_at < reading.kept_secs:
            return reading
        task = self._running.get(whole_key)
        if task is None:
            task = asyncio.create_task(self._ask(viewer, read, kept_secs, is_personal))
            self._running[whole_key] = task
            task.add_done_callback(lambda done: self._end(whole_key, done))
        return await asyncio.shield(task)

    async def _ask(
        self,
        viewer: Viewer,
        read: Callable[[MetaClient], Value],
        kept_secs: float,
        is_personal: bool,
    ) -> Reading[Value]:
        def checked(client: MetaClient) -> Value:
            try:
                return read(client)
            except NotFound as error:
                raise NotThere(str(error)) from None

        read_at, now_nanos = self._monotonic(), time.time_ns()
        try:
            value = await self._queries.read_catalog(viewer.caller, checked)
        except NotAllowed as refusal:
            message = f"{refusal}: this page needs the role operator-read or admin"
            raise NotAllowed(message) from None
        read_time = text_of(now_nanos // _NANOS * _NANOS)
        return Reading(value, read_at, read_time, kept_secs, is_personal)

    def _end(self, key: Hashable, task: "asyncio.Task[Reading[Any]]") -> None:
        del self._running[key]
        now = self._monotonic()
        self._readings = {k: r for k, r in self._readings.items() if now - r.read_at < r.kept_secs}
        # The error is read even if all waiting viewers have left.
        if not task.cancelled() and task.exception() is None:
            self._readings[key] = task.result()
            while len(self._readings) > READINGS_MAX:
                del self._readings[next(iter(self._readings))]
