"""Time by the database's clock, and how far other clocks are from it.

Ages of what meta records are differences of the database's times. A process's own clock may be
hours off: it is only measured, for operators.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog
from prometheus_client import Gauge

from meta.client import MetaClient
from meta.errors import MetaError
from meta.process.shutdown import Shutdown, every
from meta.v1.operations_pb2 import GetServerStateRequest

log = structlog.get_logger()
SKEW_INTERVAL_SECS = 60.0


@dataclass(frozen=True, slots=True)
class Clock:
    """This process's clocks, replaceable in tests."""

    now_nanos: Callable[[], int] = time.time_ns
    monotonic: Callable[[], float] = time.monotonic


class DatabaseClock:
    """The database's time: as the last reply stated it, plus the time elapsed since."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # Database time minus monotonic time.
        self._offset_nanos: int | None = None

    def observe(self, database_time_nanos: int, sent_at: float) -> None:
        """Take the time of a reply whose call was sent at `sent_at`, by the monotonic clock."""
        midpoint = (sent_at + self._clock.monotonic()) / 2
        self._offset_nanos = database_time_nanos - int(midpoint * 1e9)

    def now_nanos(self) -> int:
        """The database's time, or this process's as long as no reply has stated it."""
        if self._offset_nanos is None:
            return self._clock.now_nanos()
        return self._offset_nanos + int(self._clock.monotonic() * 1e9)

    def skew_secs(self) -> float:
        """Seconds by which this process's clock is ahead of the database's; negative = behind."""
        return (self._clock.now_nanos() - self.now_nanos()) / 1e9


def read_database_clock(meta: MetaClient, clock: Clock | None = None) -> DatabaseClock:
    """Ask meta for the database's time; raises MetaError."""
    clock = clock or Clock()
    database_clock = DatabaseClock(clock)
    sent_at = clock.monotonic()
    state = meta.operations.GetServerState(GetServerStateRequest())
    database_clock.observe(state.database_time_nanos, sent_at)
    return database_clock


def watch_skew(meta: MetaClient, gauge: Gauge, shutdown: Shutdown) -> threading.Thread:
    """Start to measure this process's skew once a minute, until shutdown."""
    thread = threading.Thread(
        target=_measure_repeatedly, args=(meta, gauge, shutdown), name="clock-skew", daemon=True
    )
    thread.start()
    return thread


def _measure_repeatedly(meta: MetaClient, gauge: Gauge, shutdown: Shutdown) -> None:
    for _ in every(SKEW_INTERVAL_SECS, shutdown):
        try:
            gauge.set(read_database_clock(meta).skew_secs())
        except MetaError as error:
            log.debug("clock_skew_unknown", error=str(error))
        except ValueError:
            # A client that is closed takes no calls; it is closed at the end of the process.
            if not shutdown.is_requested:
                raise
