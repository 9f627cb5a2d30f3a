"""The merge debt of all datasets, as far as it is beyond the bound, at most some seconds old.

It is counted when nurseries and collectors ask, and not otherwise: an installation that receives
nothing counts nothing.
"""

import threading
import time
from collections.abc import Callable, Mapping

import structlog

from meta import metrics
from meta.commits.transactions import Transactions
from meta.errors import MetaError
from meta.planning.planner import Policy
from meta.store.engine.pool import Transaction
from meta.store.merging import merge_debt
from meta.store.merging.merge_debt import DatasetDebt, DayLimits
from meta.v1.status_pb2 import ProcessCheck

log = structlog.get_logger()
AGE_SECS_MAX = 10.0
# Beyond so many times the bound exports are refused.
HELD_AT = 10


class MergeDebts:
    """Segments awaiting a merge, of datasets that have at least `bound`; 0 = none is reported.

    Called from many threads; one of them counts, the others take the counts of before.
    """

    def __init__(
        self,
        transactions: Transactions,
        bound: int,
        policy: Policy,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.bound = bound
        self._limits = DayLimits(
            policy.files_max, policy.files_quiet, policy.quiet_nanos / 1_000_000_000
        )
        self._transactions = transactions
        self._monotonic = monotonic
        self._counting = threading.Lock()
        self._counted_at = float("-inf")
        self._segments: Mapping[str, int] = {}

    def of_dataset(self, tx: Transaction, dataset_key: int) -> DatasetDebt:
        """Count the segments of one dataset that await a merge, however few."""
        return merge_debt.of_dataset(tx, dataset_key, self._limits)

    def segments(self) -> Mapping[str, int]:
        """Return segments by dataset id."""
        is_old = self._monotonic() - self._counted_at > AGE_SECS_MAX
        if self.bound and is_old and self._counting.acquire(blocking=False):
            try:
                self._count()
            finally:
                self._counting.release()
        return self._segments

    def check(self) -> ProcessCheck:
        """Check whether merges are behind, by the last count, for the report of the server."""
        segments = self._segments
        if not segments:
            return ProcessCheck(name="merges", is_ok=True, text="no dataset is behind")
        worst = max(segments, key=lambda dataset_id: segments[dataset_id])
        text = f"behind: {segments[worst]} small segments of dataset {worst} await a merge"
        if others := len(segments) - 1:
            text += f", and {others} more datasets are behind"
        return ProcessCheck(name="merges", text=text)

    def _count(self) -> None:
        # A failure is not tried again at once either.
        self._counted_at = self._monotonic()
        try:
            segments = self._transactions.read(
                lambda tx: merge_debt.read(tx, self.bound, self._limits)
            )
        except MetaError as error:
            log.warning("merge_debt_not_counted", error=str(error))
            return
        for dataset_id in segments.keys() - self._segments.keys():
            log.warning("merges_behind", dataset_id=dataset_id, segments=segments[dataset_id])
        for dataset_id in self._segments.keys() - segments.keys():
            log.info("merges_caught_up", dataset_id=dataset_id)
        self._segments = segments
        metrics.MERGE_DEBT_SEGMENTS.set(max(segments.values(), default=0))
