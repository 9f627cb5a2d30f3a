"""Background job that sets the gauges of the measured datasets, and of all others together."""

from collections import defaultdict

from meta import status_metrics as metrics
from meta.commits.transactions import Transactions
from meta.store.engine.pool import Transaction
from meta.store.status import dataset_gauges, freshness
from meta.store.status.dataset_gauges import OTHER
from meta.store.versions import clock

# Those that have waited longest; of the others nothing is read.
WAITING_MAX = 1_000


class DatasetGauges:
    """Reads once a round what all gauges show, in one transaction."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def run_round(self) -> None:
        """Set the gauges; those of a round that fails are absent."""
        try:
            self._transactions.read(_set)
        except Exception:
            for gauge in metrics.OF_DATASETS:
                gauge.clear()
            raise


def _set(tx: Transaction) -> None:
    totals = dataset_gauges.totals(tx)
    # A dataset of which nothing waits has gauges of 0.
    names = {OTHER, *(each.name for each in totals)}
    ages: defaultdict[str, float] = defaultdict(float, dict.fromkeys(names, 0.0))
    babies = defaultdict[str, int](int, dict.fromkeys(names, 0))
    sizes = defaultdict[str, int](int, dict.fromkeys(names, 0))
    now = clock.now_nanos(tx)
    for row in freshness.read(tx, WAITING_MAX, include_fresh=False).datasets:
        name = row.dataset_name if row.dataset_name in names else OTHER
        ages[name] = max(ages[name], (now - row.oldest_committed_at_nanos) / 1e9)
        babies[name] += row.babies
        sizes[name] += row.size_bytes
    metrics.show(metrics.DATASET_FRESHNESS, {(name,): secs for name, secs in ages.items()})
    metrics.show(metrics.DATASET_UNMERGED_BABIES, {(name,): n for name, n in babies.items()})
    metrics.show(metrics.DATASET_UNMERGED_BYTES, {(name,): n for name, n in sizes.items()})
    metrics.show(metrics.DATASET_SEGMENTS, {(each.name,): each.segments for each in totals})
    metrics.show(metrics.DATASET_BYTES, {(each.name,): each.size_bytes for each in totals})
