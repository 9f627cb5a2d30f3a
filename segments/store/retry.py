"""Repeats a request that a store did not answer well, with jitter, until a deadline."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from segments.store.timeouts import RequestTimeouts

T = TypeVar("T")
F = TypeVar("F", bound=Exception)


@dataclass(frozen=True, slots=True)
class Failures(Generic[F]):
    """The failures of a store's client, and whether to repeat a request after them."""

    classes: tuple[type[F], ...]
    # True if a retry may succeed.
    is_transient: Callable[[F], bool]
    # True if the store did nothing because another request for the same key was under way.
    is_conflict: Callable[[F], bool]


class Tries(Generic[F]):
    """The tries of one request.

    `may_have_won` is true if one before the last failed in a way that leaves open whether the
    store carried it out.
    """

    def __init__(self, timeouts: RequestTimeouts, failures: Failures[F]) -> None:
        self.may_have_won = False
        self._failures = failures
        self._timeouts = timeouts
        self._wait_secs = timeouts.wait_secs_min
        self._end = time.monotonic() + timeouts.deadline_secs

    def run(self, request: Callable[[], T], repeats: Callable[[F], bool] | None = None) -> T:
        """Make the request until it is answered; raises the last try's failure.

        `repeats` says which failures another try may change, by default those that are transient.
        """
        repeats = repeats or self._failures.is_transient
        while True:
            try:
                return request()
            except self._failures.classes as error:
                if not repeats(error):
                    raise
                self.may_have_won = self.may_have_won or not self._failures.is_conflict(error)
                # Jitter over the whole wait: clients that failed together must not return together.
                wait_secs = random.uniform(0, self._wait_secs)
                if time.monotonic() + wait_secs > self._end:
                    raise
            time.sleep(wait_secs)
            self._wait_secs = min(2 * self._wait_secs, self._timeouts.wait_secs_max)
