"""One query under way: its process, its limits, the pieces of its result."""

import asyncio
import os
import socket
import time
from contextvars import Context, copy_context
from functools import partial

import structlog

from dataplane.costs.charges import charge_query
from segplane.gateway.http.refusals import Broken, QueryRefusal, Stopped
from segplane.gateway.queries.broker import Broker
from segplane.gateway.queries.processes.process import QueryProcess
from segplane.gateway.queries.processes.wire import QueryTask
from segplane.gateway.queries.settings import QuerySettings

log = structlog.get_logger()
# A failure in the first bytes of a result is answered with its own status.
HEAD_BYTES = 256 * 1024
_PIECE_BYTES = 64 * 1024
_WATCH_SECS = 0.1
# Then a query is not a short one, and lets others go first.
_FIRST_CPU_SECS = 3.0
_LESS = "ask for less time, fewer columns or groups"


class DiedWaiting(Stopped):
    """The process died before it began with the query, so another one may run it."""


class QueryRun:
    """A query in its process, watched from its start on; closed at the end."""

    def __init__(
        self,
        process: QueryProcess,
        broker: Broker,
        settings: QuerySettings,
        scanned_bytes_max: int,
        deadline: float,
    ) -> None:
        self._process = process
        self._broker = broker
        self._settings = settings
        self._scanned_bytes_max = scanned_bytes_max
        self._deadline = deadline
        self._started_at = time.monotonic()
        # The earlier reads of the process are those of its libraries.
        self._read_before: int | None = None
        self._scanned = 0
        self._cpu_secs = 0.0
        self._stopped: QueryRefusal | None = None
        self._written = 0
        self._reader = asyncio.StreamReader(limit=_PIECE_BYTES)
        self._transport: asyncio.BaseTransport | None = None
        self._watch: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """The id of its process."""
        return self._process.pid

    @property
    def warnings(self) -> list[str]:
        """Sentences for the caller in addition to the result, known once it has begun."""
        return self._broker.warnings

    async def start(self, task: QueryTask) -> None:
        """Begin; the time has begun before."""
        protocol = asyncio.StreamReaderProtocol(self._reader)
        loop = asyncio.get_running_loop()
        output = os.fdopen(self._process.output, "rb", 0)
        self._transport, _ = await loop.connect_read_pipe(lambda: protocol, output)
        self._broker.on_begin = self._begin
        # It is there until it is answered; a short query may have ended between two looks.
        self._broker.on_end = self._count
        # Calls of meta for the query belong to the trace of its caller.
        self._process.start(task, partial(_serve_within, copy_context(), self._broker))
        self._watch = asyncio.create_task(self._watched())
        self._watch.add_done_callback(lambda _: self._process.kill())

    def _begin(self) -> None:
        self._read_before = self._process.read_bytes()

    async def head(self, bytes_min: int = HEAD_BYTES) -> bytes:
        """Return the first bytes of the result, all if they are few. Raises QueryRefusal."""
        head = bytearray()
        while len(head) < bytes_min and (piece := await self.piece()):
            head += piece
        return bytes(head)

    async def piece(self) -> bytes:
        """Return more bytes of the result, b"" at its end. Raises QueryRefusal if it has none."""
        piece = await self._reader.read(_PIECE_BYTES)
        self._written += len(piece)
        if self._written > self._settings.result_bytes:
            self.stop(
                f"the result has more than {self._settings.result_bytes:,} bytes: take fewer rows"
                " or columns"
            )
        refusal = self._stopped if piece else await self._refusal()
        if refusal is not None:
            raise refusal
        return piece

    def stop(self, reason: str) -> None:
        """End the process; the rest of the result is lost."""
        self._stopped = self._stopped or Stopped(reason)
        self._process.kill()

    async def close(self) -> tuple[int, float]:
        """End the query under way; returns the bytes that were scanned and the seconds it took."""
        if self._watch is not None:
            self._watch.cancel()
        self._count()
        charge_query(self._broker.opened_bytes, self._scanned, self._cpu_secs)
        secs = time.monotonic() - self._started_at
        self._process.kill()
        if self._transport is not None:
            self._transport.close()
        else:
            os.close(self._process.output)
        await asyncio.to_thread(self._process.close)
        await asyncio.to_thread(self._broker.close)
        return self._scanned, secs

    async def _refusal(self) -> QueryRefusal | None:
        outcome = self._broker.outcome
        if self._stopped is not None:
            return self._stopped
        if outcome is None:
            code = await asyncio.to_thread(self._process.close)
            log.warning("query_process_died", exit_code=code)
            ended = f"the query's process ended with code {code} and said nothing"
            kind = DiedWaiting if self._read_before is None else Stopped
            return kind(f"{ended}: most likely it needs more memory than it is allowed; {_LESS}")
        if outcome["kind"] == "done":
            return self._too_much() if self._scanned > self._scanned_bytes_max else None
        if self._broker.failure is not None:
            return self._broker.failure
        return _refusal_of(outcome)

    async def _watched(self) -> None:
        while True:
            self._count()
            if time.monotonic() > self._deadline:
                secs = self._settings.secs
                self.stop(f"the query took longer than {secs:g} s: {_LESS}")
            elif self._scanned > self._scanned_bytes_max:
                self.stop(str(self._too_much()))
            elif lost := self._broker.check():
                self.stop(lost)
            elif self._cpu_secs > _FIRST_CPU_SECS:
                self._process.yield_to_others()
            await asyncio.sleep(_WATCH_SECS)

    def _too_much(self) -> Stopped:
        return Stopped(f"the query read more than {self._scanned_bytes_max:,} bytes: {_LESS}")

    def _count(self) -> None:
        before, now = self._read_before, self._process.read_bytes()
        used = 0 if before is None else now - before
        # Nothing can be read of a process that has ended.
        self._scanned = max(self._scanned, used + self._broker.read_bytes)
        self._cpu_secs = max(self._cpu_secs, self._process.cpu_secs())


def _serve_within(context: Context, broker: Broker, lane: socket.socket) -> None:
    """Serve a lane in a copy of a context, since two threads cannot be in one."""
    context.copy().run(broker.serve, lane)


def _refusal_of(outcome: dict[str, str]) -> QueryRefusal:
    """Return a process's own report, which only its caller sees."""
    message = outcome["message"]
    match outcome["kind"]:
        case "refused":
            return QueryRefusal(message, outcome["excerpt"])
        case "stopped":
            return Stopped(message)
        case "memory":
            return Stopped(f"the query needs more memory than it is allowed: {_LESS}")
    log.error("query_failed", error=message)
    return Broken("the gateway made a mistake: its log says more")
