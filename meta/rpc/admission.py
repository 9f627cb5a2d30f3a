"""A bound on the calls that run at once, with a refusal that says when to try again.

gRPC has such a bound too, but its refusal carries neither a reason nor a delay.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from meta.access import HEALTH_METHODS
from meta.errors import Overloaded


class CallAdmission:
    """Counts the unary calls that run; used on the event loop only."""

    def __init__(self, calls_max: int) -> None:
        self._calls_max = calls_max
        self._running = 0

    @contextmanager
    def admit(self, method: str) -> Iterator[None]:
        """Count a call while it runs. Raises Overloaded at the bound, but not for health checks."""
        if self._running >= self._calls_max and method not in HEALTH_METHODS:
            raise Overloaded(f"the server runs {self._running} calls at once, its maximum")
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
