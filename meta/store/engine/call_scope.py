"""Cancellation of the statement of a call whose caller has left or whose deadline has passed.

gRPC cancels a call when its caller leaves or its deadline passes. Without this module its thread
would wait for the statement, and hold its connection, until the statement timeout.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar

import psycopg

_CANCEL_SECS = 2.0
# The threads of calls cannot do it: all may wait for the statements that are to be cancelled.
_threads = ThreadPoolExecutor(4, thread_name_prefix="cancel")


class CallerLeft(Exception):
    """The caller left before the call had a connection; no one reads the answer."""


class CallScope:
    """The connection that a call uses, if any; of one call, in whatever threads it runs.

    `time_remaining` returns the seconds until the call's deadline, None without one.
    """

    def __init__(self, time_remaining: Callable[[], float | None] = lambda: None) -> None:
        self.time_remaining = time_remaining
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[object] | None = None
        self._is_cancelled = False

    @classmethod
    def enter(cls, time_remaining: Callable[[], float | None]) -> "CallScope":
        """Create a scope and make it the current one of this task and the threads it starts."""
        scope = cls(time_remaining)
        _current.set(scope)
        return scope

    @contextmanager
    def using(self, connection: "psycopg.Connection[object]") -> Iterator[None]:
        """Make the statements of a block cancellable. Raises CallerLeft if the caller has left.

        The block ends before the transaction: a connection goes back to the pool only when no
        cancellation can reach it any more.
        """
        with self._lock:
            if self._is_cancelled:
                raise CallerLeft
            self._connection = connection
        try:
            yield
        finally:
            with self._lock:
                self._connection = None

    def check(self) -> None:
        """Raise CallerLeft if the caller has left, between two statements."""
        with self._lock:
            if self._is_cancelled:
                raise CallerLeft

    def cancel_soon(self) -> None:
        """Cancel what runs now and refuse what comes; does not wait."""
        _threads.submit(self.cancel)

    def cancel(self) -> None:
        """Cancel what runs now and refuse what comes."""
        with self._lock:
            self._is_cancelled = True
            if self._connection is not None:
                with suppress(psycopg.Error):
                    self._connection.cancel_safe(timeout=_CANCEL_SECS)


_current: ContextVar[CallScope | None] = ContextVar("call_scope", default=None)


@contextmanager
def cancellable(connection: "psycopg.Connection[object]") -> Iterator[None]:
    """Make the statements of a block cancellable by the current call, if there is one."""
    scope = _current.get()
    if scope is None:
        yield
    else:
        with scope.using(connection):
            yield


def cancel_soon() -> None:
    """Cancel the statement of the current call, if there is one; does not wait."""
    scope = _current.get()
    if scope is not None:
        scope.cancel_soon()


def time_remaining() -> float | None:
    """Return the seconds until the deadline of the current call; None without a call or one."""
    scope = _current.get()
    return None if scope is None else scope.time_remaining()


def check_caller() -> None:
    """Raise CallerLeft if the caller of the current call has left.

    For work of many statements: a cancellation between two of them stops neither.
    """
    scope = _current.get()
    if scope is not None:
        scope.check()
