"""POST /v1/query: a query of one caller, from its request to its answer."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog
from anyio import to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from meta.client import MetaClient
from segments.location import StoreLocation
from segplane.gateway import metrics
from segplane.gateway.queries.broker import Broker
from segplane.gateway.queries.callers import Account, Accounts, Caller, identify
from segplane.gateway.queries.process import ProcessPool
from segplane.gateway.queries.refusals import (
    Broken,
    CallerGone,
    NotNow,
    NotThere,
    QueryRefusal,
    TooLong,
)
from segplane.gateway.queries.responses import ResultResponse, refuse
from segplane.gateway.queries.run import QueryRun
from segplane.gateway.queries.settings import QuerySettings
from segplane.gateway.queries.wire import QueryTask

log = structlog.get_logger()
# 64 Ki characters, each escaped in JSON, and the rest of a request.
BODY_BYTES_MAX = 2**19
MEDIA_TYPES = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
}
_DROPPED_BYTES_MAX = 32 * 2**20
_CALLER_GONE = 499
_RETRY_SECS = 2
_LANGUAGES = (None, "kql", "sql")
# What DuckDB's buffers may take of a query's memory; the rest is for what it does not count.
_BUFFERS_SHARE = 0.6
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class QueryAsk:
    """A query as a caller asks for it."""

    text: str
    language: str | None
    format: str
    media_type: str


class QueryService:
    """Runs queries, each with its caller's rights and within its caller's limits."""

    def __init__(
        self,
        settings: QuerySettings,
        auth_token: str,
        connect: Callable[[str], MetaClient],
        store: StoreLocation | None,
        pool: ProcessPool,
    ) -> None:
        self._settings = settings
        self._auth_token = auth_token
        self._connect = connect
        self._store = store
        self._accounts = Accounts(settings)
        self._pool = pool

    def close(self) -> None:
        """End the process that waits for a query."""
        self._pool.close()

    async def respond(self, request: Request) -> tuple[str, Response]:
        """Answer POST /v1/query; returns the name of its route for metrics too."""
        try:
            caller = self.caller(request)
            if request.method != "POST":
                raise NotThere("a query is sent with POST")
            return "query", await self.run(request, caller, _ask(await body(request)))
        except QueryRefusal as refusal:
            return "query", refuse(refusal)
        except (CallerGone, ClientDisconnect):
            return "query", Response(status_code=_CALLER_GONE)
        except Exception:
            log.exception("query_failed")
            return "query", refuse(Broken("the gateway made a mistake: its log says more"))

    def caller(self, request: Request) -> Caller:
        """Return who asks; raises QueryRefusal."""
        if not self._settings.concurrent:
            raise NotThere("this gateway runs no queries: GATEWAY_QUERY_CONCURRENT is 0")
        return identify(request.headers.get("authorization", ""), self._auth_token)

    async def run(self, request: Request, caller: Caller, ask: QueryAsk) -> Response:
        """Run a query until the first bytes of its result. Raises QueryRefusal, CallerGone."""
        deadline = time.monotonic() + self._settings.secs
        gone = asyncio.create_task(_gone(request))
        outcome = "failed"
        async with AsyncExitStack() as stack:
            stack.callback(gone.cancel)
            try:
                admission = stack.enter_async_context(self._accounts.admitted(caller))
                account = await _unless(gone, admission)
                run = await self._started(stack, caller, account, ask, deadline)
                # Nobody reads the result any more.
                gone.add_done_callback(lambda _: run.stop("the caller has left"))
                head = await run.head()
                finish = _Finish(stack.pop_all())
                return ResultResponse(head, run, ask.media_type, finish)
            except QueryRefusal as refusal:
                outcome = "gone" if gone.done() else refusal.type
                raise
            finally:
                if outcome != "failed":
                    metrics.QUERIES.labels(outcome).inc()

    async def _started(
        self,
        stack: AsyncExitStack,
        caller: Caller,
        account: Account,
        ask: QueryAsk,
        deadline: float,
    ) -> QueryRun:
        broker = await to_thread.run_sync(
            lambda: Broker(lambda: self._connect(caller.token), self._store)
        )
        try:
            process = await self._pool.take()
        except BaseException as error:
            await to_thread.run_sync(broker.close)
            if isinstance(error, OSError):
                message = f"no process can be started for the query now: {error}"
                raise NotNow(message, "", _RETRY_SECS) from error
            raise
        scanned_bytes_max = self._accounts.scanned_bytes_left(account)
        run = QueryRun(process, broker, self._settings, scanned_bytes_max, deadline)
        metrics.RUNNING_QUERIES.inc()

        async def close() -> None:
            scanned_bytes, secs = await run.close()
            self._accounts.use(account, scanned_bytes, secs)
            metrics.RUNNING_QUERIES.dec()
            metrics.SCANNED_BYTES.inc(scanned_bytes)
            metrics.QUERY_SECONDS.observe(secs)

        stack.push_async_callback(lambda: asyncio.shield(asyncio.ensure_future(close())))
        await run.start(self._task(ask))
        return run

    def _task(self, ask: QueryAsk) -> QueryTask:
        settings = self._settings
        return QueryTask(
            ask.text,
            ask.language,
            ask.format,
            int(settings.memory_bytes * _BUFFERS_SHARE),
            settings.memory_bytes,
            settings.spill_bytes,
            settings.threads_each,
        )


class _Finish:
    """Ends what a query holds, and counts how it ended."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack

    async def __call__(self, outcome: str) -> None:
        metrics.QUERIES.labels(outcome).inc()
        await self._stack.aclose()


async def body(request: Request) -> Any:
    """Read a request's JSON; raises QueryRefusal."""
    content = bytearray()
    dropped = 0
    async for piece in request.stream():
        if len(content) + len(piece) > BODY_BYTES_MAX:
            # Most clients read an answer only after they have sent all.
            dropped += len(content) + len(piece)
            content.clear()
        elif not dropped:
            content += piece
        else:
            dropped += len(piece)
        if dropped > _DROPPED_BYTES_MAX:
            break
    if dropped:
        raise TooLong(f"the request has more than {BODY_BYTES_MAX:,} bytes")
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise QueryRefusal(f"the body is no JSON: {error}") from None


def _ask(content: Any) -> QueryAsk:
    """Return what a body asks for; raises QueryRefusal."""
    if not isinstance(content, dict):
        raise QueryRefusal('the body is no object such as {"query": "web | count"}')
    unknown = [str(name) for name in content if name not in ("query", "language", "format")]
    if unknown:
        raise QueryRefusal(f"{unknown[0][:80]!r} is not known: send query, language and format")
    text, language = content.get("query"), content.get("language")
    format_ = content.get("format", "json")
    if not isinstance(text, str) or not text.strip():
        raise QueryRefusal("query is no text: send one in KQL or SQL")
    if language not in _LANGUAGES:
        raise QueryRefusal(f"language is {str(language)[:80]!r}, expected kql or sql")
    if format_ not in MEDIA_TYPES:
        raise QueryRefusal(
            f"format is {str(format_)[:80]!r}, expected one of {', '.join(MEDIA_TYPES)}"
        )
    return QueryAsk(text, language, format_, MEDIA_TYPES[format_])


async def _gone(request: Request) -> None:
    """Return when the caller has closed its connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _unless(gone: "asyncio.Task[None]", work: Awaitable[Value]) -> Value:
    """Wait for something, unless the caller leaves before; raises CallerGone."""
    task = asyncio.ensure_future(work)
    await asyncio.wait({gone, task}, return_when=asyncio.FIRST_COMPLETED)
    if not task.done():
        task.cancel()
        await asyncio.wait({task})
        raise CallerGone
    return task.result()
