"""Background merges of runs of deduplication keys, and removal of those that no dataset retains."""

from collections.abc import Callable

import structlog

from meta.commits.transactions import Transactions
from meta.process import Shutdown
from meta.store.engine.pool import Transaction
from meta.store.registration import deduplication_runs, staged_deduplication_keys
from meta.store.registration.deduplication_runs import MergedRuns

log = structlog.get_logger()
PAUSE_SECS = 5.0
# While no runs are due, as long as no dataset is deduplicated.
IDLE_SECS_MAX = 15.0
# In every twelfth round expired runs are removed, and days that are over are merged.
SLOW_EVERY_ROUNDS = 12


class DeduplicationWatch:
    """Keeps the runs few and the days within their windows; servers take turns."""

    def __init__(self, transactions: Transactions, shutdown: Shutdown) -> None:
        self._transactions = transactions
        self._shutdown = shutdown
        self._rounds = 0

    def run_round(self) -> bool:
        """Merge all runs that are due, each merge in a transaction of its own; False if none is."""
        if self._rounds % SLOW_EVERY_ROUNDS == 0:
            self._expire()
            self._merge_all(deduplication_runs.merge_over)
        self._rounds += 1
        return self._merge_all(deduplication_runs.merge_due)

    def _merge_all(self, merge: Callable[[Transaction], MergedRuns | None]) -> bool:
        is_any = False
        while not self._shutdown.is_requested:
            merged = self._transactions.write(lambda tx: merge(tx))
            if merged is None or not merged.runs:
                break
            is_any = True
        return is_any

    def _expire(self) -> None:
        removed = deduplication_runs.EXPIRED_MAX
        while removed == deduplication_runs.EXPIRED_MAX and not self._shutdown.is_requested:
            removed = self._transactions.write(deduplication_runs.expire)
            if removed:
                log.info("deduplication_keys_expired", runs=removed)
        self._transactions.write(staged_deduplication_keys.expire)
