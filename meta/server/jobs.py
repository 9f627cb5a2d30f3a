"""The background jobs of a server."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from meta.commits.process_reports import SAVED_EVERY_SECS, ProcessReports
from meta.commits.server_costs import CHARGED_EVERY_SECS
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.metrics import FREE_PLACES
from meta.process.shutdown import Shutdown
from meta.store.engine.pool import Database
from meta.watches import background
from meta.watches.background import BackgroundJob
from meta.watches.clock_watch import OBSERVE_PAUSE_SECS, ClockWatch
from meta.watches.dataset_gauges import DatasetGauges
from meta.watches.expiry import Expiry
from meta.watches.health import HealthWatch, Report
from meta.watches.installation_gauges import InstallationGauges
from meta.watches.name_notes import NameNotes
from meta.watches.release_watch import ReleaseWatch
from meta.watches.rounds import Rounds
from meta.watches.tenant_purge import TenantPurge
from meta.watches.witness_watch import WitnessWatch

# Of any job: half of the time after which SegplaneMetaJobHangs takes it for hanging.
LONGEST_IDLE_SECS = 300.0


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
    database: Database,
    report: Report,
    settings: Settings,
    shutdown: Shutdown,
    reports: ProcessReports,
) -> RunningJobs:
    """Start the jobs of one server; `report` sets its health."""
    # Read when it is asked for: every call changes it.
    FREE_PLACES["meta"].labels("database_connections").set_function(database.free_connections)
    releases = ReleaseWatch(Transactions(database), shutdown)
    # A server stops within a minute after an operator has raised the least release.
    watch = BackgroundJob("release", 30.0, releases.run_round)
    saved = BackgroundJob("processes", SAVED_EVERY_SECS, reports.save)
    costs = BackgroundJob("server_costs", CHARGED_EVERY_SECS, reports.costs.run_round)
    gauges = InstallationGauges(Transactions(database), settings, reports)
    shown = BackgroundJob("installation_gauges", 60.0, gauges.run_round)
    of_datasets = BackgroundJob(
        "dataset_gauges", 60.0, DatasetGauges(Transactions(database)).run_round
    )
    optional = (of_datasets,) if settings.has_dataset_metrics else ()
    others = _jobs(database, report, settings, shutdown)
    running = background.start((*others, *optional, watch, saved, costs, shown), shutdown)
    return RunningJobs(running, releases)


def _jobs(
    database: Database, report: Report, settings: Settings, shutdown: Shutdown
) -> tuple[BackgroundJob, ...]:
    """The other jobs: the pause between two runs, and the longest one while nothing is to do."""
    transactions = Transactions(database)
    rounds = Rounds(database, settings, shutdown)
    return (
        BackgroundJob("health", 2.0, HealthWatch(database, report).check),
        BackgroundJob("clock", OBSERVE_PAUSE_SECS, ClockWatch(transactions).observe),
        BackgroundJob("expiry", 15.0, Expiry(transactions, settings, shutdown).run_round),
        # Its idle pause is below the time of a tick, so that less than one can be lost.
        BackgroundJob("witness", 2.0, WitnessWatch(database).run_round, 4.0),
        BackgroundJob("rewrites", 1.0, rounds.advance_rewrites, 8.0),
        # A change of a routing counts as left after a minute.
        BackgroundJob("routing", 1.0, rounds.finish_routing, 8.0),
        BackgroundJob("deduplication", 5.0, rounds.merge_deduplication_keys, 15.0),
        # As often as runs are merged, by this server or another.
        BackgroundJob("deduplication_filters", 5.0, rounds.make_filters, 15.0),
        BackgroundJob("kept_files", 60.0, rounds.note_kept_files),
        BackgroundJob("pins", 15.0, rounds.count_pins),
        BackgroundJob("backups", 60.0, rounds.end_backups),
        BackgroundJob("visibility", 60.0, rounds.count_visibility),
        BackgroundJob("locks", 60.0, rounds.forget_locks),
        BackgroundJob("tenants", 60.0, TenantPurge(database, settings, shutdown).run_round),
        # Far shorter than the six hours between two samples.
        BackgroundJob("costs", 60.0, rounds.keep_costs, LONGEST_IDLE_SECS),
        # Its pauses double while the bucket does not answer, too.
        BackgroundJob("names", 1.0, NameNotes(database, settings, shutdown).run_round, 8.0),
    )
