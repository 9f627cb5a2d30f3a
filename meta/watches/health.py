"""grpc.health.v1: SERVING while Postgres answers as a primary and takes what meta writes."""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import TypeAlias

import structlog
from grpc_health.v1 import health_pb2
from grpc_health.v1.health import aio as health_aio

from meta import metrics
from meta.errors import Unavailable
from meta.process_metrics import preset
from meta.store.engine.database_probe import DatabaseProbe
from meta.store.engine.operator_causes import Cause, Occurrence
from meta.store.engine.pool import Database

log = structlog.get_logger()
# The service that writes nothing.
READING_SERVICE = "meta.v1.SegmentLookupService"
_WITHOUT_WRITES = frozenset({Cause.DISK_FULL, Cause.READ_ONLY})


class DatabaseState(Enum):
    """The calls that Postgres lets meta answer."""

    UP = "all"
    READS_ONLY = "reads"
    DOWN = "none"


# Sets the health of a server.
Report: TypeAlias = Callable[[DatabaseState], None]


class HealthWatch:
    """Reports whenever Postgres stops or begins to answer; a hung Postgres does not answer.

    A cause that only an operator can mend is logged as an error, once until it is mended.
    """

    def __init__(self, database: Database, report: Report) -> None:
        self._probe = DatabaseProbe(database.url, database.causes)
        self._causes = database.causes
        self._report = report
        self._state = DatabaseState.UP
        self._logged: set[Cause] = set()
        preset(metrics.DATABASE_CAUSES, [cause.value for cause in Cause])

    def check(self) -> None:
        """Ask Postgres once and report a change."""
        state = self._ask()
        if state is not self._state:
            is_up = state is DatabaseState.UP
            log.warning("database_state_changed", is_up=is_up, answered=state.value)
            self._report(state)
            self._state = state

    def _ask(self) -> DatabaseState:
        try:
            self._probe.check()
            is_answering = True
        except Unavailable:
            is_answering = False
        present = self._look_at_causes(is_answering=is_answering)
        if not is_answering or present - _WITHOUT_WRITES:
            return DatabaseState.DOWN
        return DatabaseState.READS_ONLY if present else DatabaseState.UP

    def _look_at_causes(self, *, is_answering: bool) -> set[Cause]:
        """Log and count the causes that were met; returns those that Postgres still has."""
        present = set()
        for occurrence in self._causes.met():
            cause = occurrence.cause
            is_present = is_answering and not self._probe.is_mended(cause)
            # A server in recovery is read-only too; its failover needs no operator.
            if is_present or cause is not Cause.READ_ONLY:
                self._log(occurrence)
            if is_present:
                present.add(cause)
            elif is_answering and self._causes.forget(occurrence):
                self._log_end(cause)
        return present

    def _log(self, occurrence: Occurrence) -> None:
        cause = occurrence.cause
        if cause not in self._logged:
            self._logged.add(cause)
            metrics.DATABASE_CAUSES.labels(cause.value).set(1)
            log.error(
                "database_needs_operator",
                cause=cause.value,
                remedy=cause.remedy,
                error=occurrence.detail,
            )

    def _log_end(self, cause: Cause) -> None:
        if cause in self._logged:
            self._logged.discard(cause)
            metrics.DATABASE_CAUSES.labels(cause.value).set(0)
            log.warning("database_cause_mended", cause=cause.value)


async def report(
    checker: health_aio.HealthServicer, names: Iterable[str], state: DatabaseState
) -> None:
    """Set the status of the server as a whole and of each of its services."""
    status = health_pb2.HealthCheckResponse.ServingStatus
    for name in ("", *names):
        is_serving = state is DatabaseState.UP or (
            state is DatabaseState.READS_ONLY and name == READING_SERVICE
        )
        await checker.set(name, status.SERVING if is_serving else status.NOT_SERVING)
