"""Bounds on the calls that run at once, which say when to try again, and on connections.

gRPC has such a bound too, but its refusal carries neither a reason nor a delay.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from meta.access import HEALTH_METHODS, Principal
from meta.errors import Overloaded

# An identity holds at most such a part of what a server has; the rest is for others.
STREAMS_SHARE = 2
CONNECTION_AGE_MS = 3_600_000
# Clients of ours ask every minute whether a silent stream is still there.
PING_MS, PING_MS_MIN = 60_000, 30_000


def connection_options() -> list[tuple[str, int]]:
    """Options of a gRPC server: connections end when they are old or their peer is gone.

    Calls under way go on, and later ones connect anew: to the server, and with the certificates, of
    that time.
    """
    return [
        ("grpc.max_connection_age_ms", CONNECTION_AGE_MS),
        ("grpc.keepalive_time_ms", PING_MS),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", PING_MS_MIN),
    ]


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


class IdentityAdmission:
    """Counts the running calls of each subject; used on the event loop only.

    Those who call without a credential, or with META_AUTH_TOKEN, may be everybody: they have the
    bounds of the server alone.
    """

    def __init__(self, calls_max: int, streams_max: int, watches_max: int) -> None:
        self._most = {
            "calls": calls_max,
            "streams": max(1, streams_max // STREAMS_SHARE),
            "watches": max(1, watches_max // STREAMS_SHARE),
        }
        # By subject, then by kind.
        self._running: dict[str, dict[str, int]] = {}

    def running(self, subject: str) -> int:
        """The calls of a subject that run."""
        return sum(self._running.get(subject, {}).values())

    @contextmanager
    def admit(self, principal: Principal, kind: str = "calls") -> Iterator[None]:
        """Count a call of a kind while it runs. Raises Overloaded at the subject's bound."""
        if principal.is_shared:
            yield
            return
        subject, most = principal.subject, self._most[kind]
        running = self._running.get(subject, {})
        if running.get(kind, 0) >= most:
            raise Overloaded(f"{subject!r} has {most} {kind} at once, the most of one subject")
        self._running[subject] = running
        running[kind] = running.get(kind, 0) + 1
        try:
            yield
        finally:
            running[kind] -= 1
            if not any(running.values()):
                del self._running[subject]
