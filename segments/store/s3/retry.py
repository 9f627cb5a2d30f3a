"""Repeats a request that the store did not answer well, with jitter, until a deadline."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

from segments.store.s3.client import RequestTimeouts
from segments.store.s3.errors import FAILURES, Failure, is_conflict, is_transient

T = TypeVar("T")


class Tries:
    """The tries of one request.

    `may_have_won` tells whether one before the last failed in a way that leaves open whether the
    store did what was asked.
    """

    def __init__(self, timeouts: RequestTimeouts) -> None:
        self.may_have_won = False
        self._timeouts = timeouts
        self._wait_secs = timeouts.wait_secs_min
        self._end = time.monotonic() + timeouts.deadline_secs

    def run(self, request: Callable[[], T], repeats: Callable[[Failure], bool] = is_transient) -> T:
        """Make the request until it is answered; raises the last try's failure, one of FAILURES."""
        while True:
            try:
                return request()
            except FAILURES as error:
                if not repeats(error):
                    raise
                self.may_have_won = self.may_have_won or not is_conflict(error)
                # Jitter over the whole wait: clients that failed together must not return together.
                wait_secs = random.uniform(0, self._wait_secs)
                if time.monotonic() + wait_secs > self._end:
                    raise
            time.sleep(wait_secs)
            self._wait_secs = min(2 * self._wait_secs, self._timeouts.wait_secs_max)
