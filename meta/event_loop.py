"""The event loop of a server, in its own thread, and its pool of worker threads.

Calls that wait (for a group commit, for the next message of a stream) wait on the loop and occupy
no thread. Computation and queries run in worker threads, because they would block every call.
"""

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import uvloop

Result = TypeVar("Result")
Item = TypeVar("Item")


class EventLoop:
    """A running event loop; `asyncio.to_thread` has `threads` threads on it."""

    def __init__(self, threads: int) -> None:
        # An empty RPC costs a seventh less CPU on it, a registration a sixth.
        self._loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self._loop.set_default_executor(ThreadPoolExecutor(threads, thread_name_prefix="rpc"))
        self._loop.set_exception_handler(_report)
        self._thread = threading.Thread(target=self._loop.run_forever, name="loop", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine on the loop; the calling thread waits for its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """Wait for the tasks and threads that run, then stop the loop."""
        self.run(self._finish())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _finish(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)
        await self._loop.shutdown_default_executor()


async def stepped(items: Iterator[Item]) -> AsyncIterator[Item]:
    """Yield the items of a blocking iterator, each step in a thread."""
    while True:
        step = await asyncio.to_thread(_next, items)
        if not step:
            return
        yield step[0]


async def in_thread(
    work: Callable[..., Result], *arguments: Any, on_cancel: Callable[[], None]
) -> Result:
    """Run a function in a thread, to its end; a cancelled one still occupies its thread."""
    run = contextvars.copy_context().run
    loop = asyncio.get_running_loop()
    return await to_its_end(loop.run_in_executor(None, run, work, *arguments), on_cancel)


async def to_its_end(
    work: "Coroutine[Any, Any, Result] | asyncio.Future[Result]",
    on_cancel: Callable[[], None] = lambda: None,
) -> Result:
    """Await work to its end, also if the caller is cancelled; the cancellation follows.

    `on_cancel` is called at once, so that it can shorten the work.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        on_cancel()
        await asyncio.wait((task,))
        # Nobody awaits the error of the work any more; unread, it would be logged.
        _ = task.cancelled() or task.exception()
        raise
    finally:
        # A traceback holds this frame, and the task holds the error: a reference cycle.
        del task, work


def _next(items: Iterator[Item]) -> tuple[Item, ...]:
    """Return the next item, or nothing: StopIteration cannot pass through a future."""
    for item in items:
        return (item,)
    return ()


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report errors of the loop, without those of gRPC's poller in a process with two loops.

    Both loops are woken for each event, and one finds nothing to read (grpc issue 25364).
    """
    if not isinstance(context.get("exception"), BlockingIOError):
        loop.default_exception_handler(context)
