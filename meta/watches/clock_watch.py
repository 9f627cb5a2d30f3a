"""Watch of the database's clock, by which all ages are measured.

Postgres has no monotonic clock, a server has one: as long as both advance alike, time has passed.
A time that no server has observed, because the clock stepped forward or none ran, is a gap, and no
age counts it: a grace or a retention takes longer, and is never cut short.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from meta import metrics
from meta.commits.transactions import Transactions
from meta.store.engine.pool import Transaction
from meta.store.versions import clock_observations
from meta.store.versions.clock_observations import Gap

log = structlog.get_logger()
OBSERVE_PAUSE_SECS = 5.0
# A restart may take so long unobserved; `meta_ago` counts no more than this either.
UNOBSERVED_SECS_MAX = 60.0
# Clocks that are slewed differ by less.
STEP_SECS_MIN = 5.0
# It continues while a machine is suspended, as a clock that is set from outside does.
_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_secs() -> float:
    """Seconds of the monotonic clock."""
    return time.clock_gettime(_BOOT_CLOCK)


@dataclass(frozen=True, slots=True)
class Sample:
    """The database's clock and this server's at one moment, the latter up to `error_secs` off."""

    database: datetime
    server_secs: float
    error_secs: float


def step_secs(earlier: Sample, later: Sample) -> float:
    """Seconds that the database's clock advanced more than this server's; 0 if alike."""
    advanced = (later.database - earlier.database).total_seconds()
    step = advanced - (later.server_secs - earlier.server_secs)
    tolerance = STEP_SECS_MIN + earlier.error_secs + later.error_secs
    return step if abs(step) > tolerance else 0.0


def gap_before(sample: Sample, previous: Sample | None, observed_at: datetime | None) -> Gap | None:
    """The gap that ends with a sample, if there is one; `observed_at` is of all servers."""
    if observed_at is None or observed_at >= sample.database:
        return None
    if previous is not None:
        is_gap = step_secs(previous, sample) > 0
    else:
        unobserved = sample.database - observed_at
        is_gap = unobserved > timedelta(seconds=UNOBSERVED_SECS_MAX)
    return Gap(observed_at, sample.database) if is_gap else None


class ClockWatch:
    """One server's observations."""

    def __init__(
        self, transactions: Transactions, monotonic: Callable[[], float] = boot_secs
    ) -> None:
        self._transactions = transactions
        self._monotonic = monotonic
        self._previous: Sample | None = None

    def observe(self) -> None:
        """Observe the clock once and note its step."""
        self._previous = self._transactions.write(self._observe)

    def _observe(self, tx: Transaction) -> Sample:
        observed_at = clock_observations.lock(tx)
        before = self._monotonic()
        now = clock_observations.clock(tx)
        after = self._monotonic()
        sample = Sample(now, (before + after) / 2, after - before)
        gap = gap_before(sample, self._previous, observed_at)
        clock_observations.observe(tx, now, gap)
        if gap is not None:
            self._log_step(gap, sample)
        elif observed_at is not None:
            self._follow_back(tx, now, observed_at - now)
        return sample

    def _log_step(self, gap: Gap, sample: Sample) -> None:
        secs = (gap.end - gap.start).total_seconds()
        if self._previous is None:
            log.warning("clock_unobserved", seconds=secs)
            return
        metrics.CLOCK_STEPS.labels("forward").inc()
        log.error("database_clock_stepped", seconds=step_secs(self._previous, sample))

    def _follow_back(self, tx: Transaction, now: datetime, ahead: timedelta) -> None:
        """Shorten leases by a step backward: a server has seen a later time before."""
        if ahead.total_seconds() <= STEP_SECS_MIN:
            return
        clock_observations.move_leases_back(tx, now, ahead)
        metrics.CLOCK_STEPS.labels("backward").inc()
        log.error("database_clock_stepped", seconds=-ahead.total_seconds())
