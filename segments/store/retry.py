"""Repeats a request that a store did not answer well, with jitter, until a deadline."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

from segments.errors import StoreUnavailable
from segments.store.requests import WriteConflict
from segments.store.timeouts import RequestTimeouts

T = TypeVar("T")


class Tries:
    """The tries of one request, which is repeated after StoreUnavailable.

    `may_have_won` is true if one before the last failed in a way that leaves open whether the
    store carried it out.
    """

    def __init__(self, timeouts: RequestTimeouts, *, repeats_conflicts: bool = True) -> None:
        self.may_have_won = False
        self._repeats_conflicts = repeats_conflicts
        self._timeouts = timeouts
        self._wait_secs = timeouts.wait_secs_min
        self._end = time.monotonic() + timeouts.deadline_secs

    def run(self, request: Callable[[], T]) -> T:
        """Make the request until it is answered; raises the last try's failure."""
        while True:
            try:
                return request()
            except StoreUnavailable as error:
                is_conflict = isinstance(error, WriteConflict)
                if is_conflict and not self._repeats_conflicts:
                    raise
                self.may_have_won = self.may_have_won or not is_conflict
                # Jitter over the whole wait: clients that failed together must not return together.
                wait_secs = random.uniform(0, self._wait_secs)
                if time.monotonic() + wait_secs > self._end:
                    raise
            time.sleep(wait_secs)
            self._wait_secs = min(2 * self._wait_secs, self._timeouts.wait_secs_max)
