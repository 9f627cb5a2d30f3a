"""The background jobs of a server."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.process import Shutdown
from meta.store.engine.pool import Database
from meta.watches import (
    background,
    deduplication_watch,
    filter_watch,
    kept_watch,
    pin_watch,
    release_watch,
    rewrite_watch,
    routing_watch,
    witness_watch,
)
from meta.watches.background import BackgroundJob
from meta.watches.clock_watch import OBSERVE_PAUSE_SECS, ClockWatch
from meta.watches.deduplication_watch import DeduplicationWatch
from meta.watches.expiry import ROUND_PAUSE_SECS, Expiry
from meta.watches.filter_watch import FilterWatch
from meta.watches.health import CHECK_PAUSE_SECS, HealthWatch, Report
from meta.watches.kept_watch import KeptWatch
from meta.watches.pin_watch import PinWatch
from meta.watches.release_watch import ReleaseWatch
from meta.watches.rewrite_watch import RewriteWatch
from meta.watches.routing_watch import RoutingWatch
from meta.watches.witness_watch import WitnessWatch


@dataclass(frozen=True, slots=True)
class RunningJobs:
    """The threads of a server's jobs, which end after its shutdown."""

    threads: Sequence[threading.Thread]
    releases: ReleaseWatch

    def join(self, drain_secs: float) -> None:
        """Wait for the current runs, at most for `drain_secs`."""
        deadline = time.monotonic() + drain_secs
        for thread in self.threads:
            # A hung Postgres holds a thread without limit; the drain is bounded all the same.
            thread.join(max(0.0, deadline - time.monotonic()))


def start(
    database: Database, report: Report, settings: Settings, shutdown: Shutdown
) -> RunningJobs:
    """Start the jobs of one server; `report` sets its health."""
    releases = ReleaseWatch(Transactions(database), shutdown)
    watch = BackgroundJob("release", release_watch.PAUSE_SECS, releases.run_round)
    running = background.start((*_jobs(database, report, settings, shutdown), watch), shutdown)
    return RunningJobs(running, releases)


def _jobs(
    database: Database, report: Report, settings: Settings, shutdown: Shutdown
) -> tuple[BackgroundJob, ...]:
    watch = HealthWatch(database, report)
    transactions = Transactions(database)
    expiry = Expiry(transactions, settings, shutdown)
    rewrites = RewriteWatch(transactions, settings.lifetimes.finished_task, shutdown)
    routings = RoutingWatch(transactions, shutdown)
    deduplication = DeduplicationWatch(transactions, shutdown)
    filters = FilterWatch(database, settings.processes, shutdown)
    kept = KeptWatch(transactions, settings, shutdown)
    return (
        BackgroundJob("health", CHECK_PAUSE_SECS, watch.check),
        BackgroundJob("clock", OBSERVE_PAUSE_SECS, ClockWatch(transactions).observe),
        BackgroundJob("expiry", ROUND_PAUSE_SECS, expiry.run_round),
        BackgroundJob(
            "witness",
            witness_watch.PAUSE_SECS,
            WitnessWatch(database).run_round,
            witness_watch.IDLE_SECS_MAX,
        ),
        BackgroundJob(
            "rewrites", rewrite_watch.PAUSE_SECS, rewrites.run_round, rewrite_watch.IDLE_SECS_MAX
        ),
        BackgroundJob(
            "routing", routing_watch.PAUSE_SECS, routings.run_round, routing_watch.IDLE_SECS_MAX
        ),
        BackgroundJob(
            "deduplication",
            deduplication_watch.PAUSE_SECS,
            deduplication.run_round,
            deduplication_watch.IDLE_SECS_MAX,
        ),
        BackgroundJob(
            "deduplication_filters",
            filter_watch.PAUSE_SECS,
            filters.run_round,
            filter_watch.IDLE_SECS_MAX,
        ),
        BackgroundJob("kept_files", kept_watch.PAUSE_SECS, kept.run_round),
        BackgroundJob("pins", pin_watch.PAUSE_SECS, PinWatch(transactions).run_round),
    )
