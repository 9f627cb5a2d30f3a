"""Rounds of background jobs on the database; servers on one database take turns."""

from collections.abc import Callable
from functools import partial

import structlog

from meta import metrics
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import Unavailable
from meta.process.shutdown import Shutdown
from meta.store.backups import backups
from meta.store.costs import months, reports, samples
from meta.store.deduplication import run_filters, sorted_runs, staging
from meta.store.deduplication.sorted_runs import MergedRuns
from meta.store.deletion import kept_files
from meta.store.deletion.kept_files import KeptDataset
from meta.store.engine.pool import Database, Transaction
from meta.store.locks import resource_locks
from meta.store.pins import pin_lists
from meta.store.rewrites import rewrite_advance
from meta.store.status import visibility_counts
from meta.store.streams import routing
from segments.errors import StoreError
from segments.markers import mark_kept
from segments.store.open import open_store

log = structlog.get_logger()
# Steps of one round of rewrites, so that a shutdown does not wait for many.
REWRITE_STEPS_MAX = 200
REWRITES_EXPIRE_EVERY = 600
# In every twelfth round expired runs are removed, and days that are over are merged.
RUNS_EXPIRE_EVERY = 12
# The datasets whose times to visibility are counted change as slowly as their sizes.
DATASETS_CHOSEN_EVERY = 10
# Ends of locks are known longer than they delay a deletion.
LOCK_KEPT_SECS_MIN = 2 * 86_400
LOCKS_AT_ONCE = 1_000
# Filters of the processes of a server together: of 134 million keys.
FILTER_BYTES_MAX = 256 * 1024 * 1024


class Rounds:
    """The jobs of one server, a method each: one round, which ends early at a shutdown.

    A method that returns False had nothing to do.
    """

    def __init__(self, database: Database, settings: Settings, shutdown: Shutdown) -> None:
        self._database = database
        self._transactions = Transactions(database)
        self._settings = settings
        self._shutdown = shutdown
        self._rewrite_rounds = 0
        self._deduplication_rounds = 0
        self._visibility_rounds = 0

    def advance_rewrites(self) -> bool:
        """Advance each rewrite that is due once, in a transaction each; now and then expire."""
        if self._rewrite_rounds % REWRITES_EXPIRE_EVERY == 0:
            age_secs = self._settings.lifetimes.finished_task
            self._transactions.write(lambda tx: rewrite_advance.expire(tx, age_secs))
        self._rewrite_rounds += 1
        for step in range(REWRITE_STEPS_MAX):
            if self._shutdown.is_requested or not self._transactions.write(rewrite_advance.advance):
                return step > 0
        return True

    def finish_routing(self) -> bool:
        """Finish the routing changes that their calls have left, a page of streams at a time."""
        return self._repeat(lambda: self._transactions.write(routing.carry_on_left))

    def merge_deduplication_keys(self) -> bool:
        """Merge all runs of keys that are due, each merge in its own transaction."""
        if self._deduplication_rounds % RUNS_EXPIRE_EVERY == 0:
            self._repeat(self._expire_page)
            self._transactions.write(staging.expire)
            self._merge_all(sorted_runs.merge_over)
        self._deduplication_rounds += 1
        return self._merge_all(sorted_runs.merge_due)

    def make_filters(self) -> bool:
        """Make the filters of large new runs in this process, and drop those of deleted runs."""
        bytes_max = FILTER_BYTES_MAX // self._settings.processes
        return (
            run_filters.FILTERS.refresh(
                self._database, bytes_max, lambda: self._shutdown.is_requested
            )
            > 0
        )

    def note_kept_files(self) -> None:
        """Note deleted datasets whose objects stay in the bucket, then forget their rows.

        Raises Unavailable while the bucket does not answer.
        """
        while unnoted := self._transactions.read(kept_files.list_unnoted):
            # Another database that has taken over the bucket may have the datasets.
            self._database.continuity.look()
            for dataset in unnoted:
                self._note(dataset)
        grace_secs = self._settings.lifetimes.tombstone_grace
        self._repeat(
            lambda: bool(self._transactions.write(lambda tx: kept_files.forget(tx, grace_secs)))
        )

    def forget_locks(self) -> bool:
        """Remove locks that ended long ago, first from the bucket, so that none is set again.

        Raises Unavailable while the bucket does not answer.
        """
        age_secs = max(self._settings.lifetimes.audit, LOCK_KEPT_SECS_MIN)
        ids = self._transactions.read(lambda tx: resource_locks.over(tx, age_secs, LOCKS_AT_ONCE))
        if not ids:
            return False
        # Another database that has taken over the bucket may have the locks.
        self._database.continuity.look()
        self._database.continuity.forget_locks(ids)
        self._transactions.write(lambda tx: resource_locks.forget(tx, ids))
        return True

    def count_visibility(self) -> None:
        """Count how long the flushes of the last minute took to be visible."""
        if self._visibility_rounds % DATASETS_CHOSEN_EVERY == 0:
            self._transactions.write(visibility_counts.choose)
        self._visibility_rounds += 1
        self._transactions.write(visibility_counts.count)

    def keep_costs(self) -> bool:
        """Sample the stored bytes that are due, roll days up to months, forget what is old."""
        is_any = False
        for step in (samples.take_page, months.roll_up, months.expire, reports.expire):
            is_any = self._repeat(partial(self._transactions.write, step)) or is_any
        return is_any

    def end_backups(self) -> None:
        """End the backups whose time is over."""
        ended = self._transactions.write(backups.end_over)
        if ended:
            log.info("backups_ended", backups=ended)

    def count_pins(self) -> None:
        """Remove expired pins and set the gauges of the others."""
        removed = self._transactions.write(pin_lists.forget_expired)
        if removed:
            log.info("pins_expired", pins=removed)
        totals = self._transactions.read(pin_lists.totals)
        metrics.PINS.set(totals.number)
        metrics.FREE_PLACES["meta"].labels("pins").set(self._settings.pins.total - totals.number)
        metrics.PIN_HELD_BYTES.set(totals.held_bytes)
        metrics.PIN_AGE_SECONDS.set(totals.oldest_secs)

    def _repeat(self, step: Callable[[], bool]) -> bool:
        """Repeat a step while it has something to do; False if it never had."""
        is_any = False
        while not self._shutdown.is_requested and step():
            is_any = True
        return is_any

    def _merge_all(self, merge: Callable[[Transaction], MergedRuns | None]) -> bool:
        def step() -> bool:
            merged = self._transactions.write(merge)
            return merged is not None and bool(merged.runs)

        return self._repeat(step)

    def _expire_page(self) -> bool:
        """Remove one page of expired runs; True if it was full, so that there may be more."""
        removed = self._transactions.write(sorted_runs.expire)
        if removed:
            log.info("deduplication_keys_expired", runs=removed)
        return removed == sorted_runs.EXPIRED_MAX

    def _note(self, dataset: KeptDataset) -> None:
        try:
            store = open_store(self._settings.location, is_brief=True)
            mark_kept(store, str(dataset.dataset_id), dataset.name)
        except StoreError as error:
            raise Unavailable(f"the kept files cannot be noted in the bucket: {error}") from error
        self._transactions.write(lambda tx: kept_files.mark_noted(tx, dataset.dataset_id))
