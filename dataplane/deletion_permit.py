"""Permission to delete what meta named a while ago, asked for again shortly before each deletion.

A process may be stopped, for any time, between meta's answer and the deletion that follows from it.
In that time the database may have gone back to an older state, in which the named objects are live.
"""

import time
from collections.abc import Callable

import structlog

from meta.client import MetaClient
from meta.v1.operations_pb2 import GetServerStateRequest, GetServerStateResponse

log = structlog.get_logger()
# An answer may be this old when a deletion begins.
ANSWER_SECS_MAX = 5.0
# It continues while the process is stopped, and while the machine is suspended.
_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_secs() -> float:
    """Seconds of the monotonic clock."""
    return time.clock_gettime(_BOOT_CLOCK)


class DeletionPermit:
    """Passes of deletions: `begin`, ask for objects, check `is_valid` before each deletion.

    A pass without deletions asks nothing after the first: the history that an earlier pass noted is
    still that of its answers, or no deletion is allowed.
    """

    def __init__(self, meta: MetaClient, clock: Callable[[], float] = boot_secs) -> None:
        self._meta = meta
        self._clock = clock
        # None before the first answer, and after one that allowed no deletion.
        self._history: int | None = None
        self._asked_at = float("-inf")

    def begin(self) -> "DeletionPermit":
        """Note the history of the database that is about to be asked. Raises MetaError."""
        if self._history is None:
            self._history = self._ask().witness.history
        return self

    def is_valid(self) -> bool:
        """True if the database that named the objects still allows deletion. Raises MetaError."""
        if self._clock() - self._asked_at <= ANSWER_SECS_MAX:
            return True
        state = self._ask()
        is_allowed = state.witness.history == self._history and not state.deletion_held
        if not is_allowed:
            log.warning("deletion_refused", history=state.witness.history, named_in=self._history)
            self._asked_at, self._history = float("-inf"), None
        return is_allowed

    def _ask(self) -> GetServerStateResponse:
        # The time is that before the call, because the process may also be stopped during the call.
        asked_at = self._clock()
        state = self._meta.operations.GetServerState(GetServerStateRequest())
        self._asked_at = asked_at
        return state
