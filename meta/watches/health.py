"""grpc.health.v1: SERVING while Postgres answers as a primary."""

import threading
from collections.abc import Callable, Iterable

import structlog
from grpc_health.v1 import health_pb2
from grpc_health.v1.health import aio as health_aio

from meta.errors import Unavailable
from meta.store.engine.database_probe import DatabaseProbe

log = structlog.get_logger()
CHECK_PAUSE_SECS = 2.0
ANSWER_SECS = 2.0


class HealthWatch:
    """Reports whenever Postgres stops or begins to answer; a hung Postgres does not answer."""

    def __init__(self, probe: DatabaseProbe, report: Callable[[bool], None]) -> None:
        self._probe = probe
        self._report = report
        self._was_up = True
        self._answered = False
        self._question: threading.Thread | None = None

    def check(self) -> None:
        """Ask Postgres once and report a change."""
        is_up = self._is_answering()
        if is_up != self._was_up:
            log.warning("database_state_changed", is_up=is_up)
            self._report(is_up)
            self._was_up = is_up

    def _is_answering(self) -> bool:
        # No timeout of the client or the server ends the wait for a Postgres that hangs, so the
        # question is asked in a thread, and again only once the one before has been answered.
        if self._question is None or not self._question.is_alive():
            self._answered = False
            self._question = threading.Thread(target=self._ask, name="health-probe", daemon=True)
            self._question.start()
        self._question.join(ANSWER_SECS)
        return not self._question.is_alive() and self._answered

    def _ask(self) -> None:
        try:
            self._probe.check()
            self._answered = True
        except Unavailable:
            pass


async def report(checker: health_aio.HealthServicer, names: Iterable[str], *, is_up: bool) -> None:
    """Set the status of the server as a whole and of each of its services."""
    status = health_pb2.HealthCheckResponse.ServingStatus
    value = status.SERVING if is_up else status.NOT_SERVING
    for name in ("", *names):
        await checker.set(name, value)
