"""Background job that sets the gauges of the measured datasets, and of all others together."""

from collections import defaultdict
from collections.abc import Iterable

from meta import status_metrics as metrics
from meta.commits.transactions import Transactions
from meta.store.engine.pool import Transaction
from meta.store.status import dataset_gauges, freshness
from meta.store.status.dataset_gauges import FIRST, OTHERS, GaugeLabels, MeasuredTotals
from meta.store.versions import clock

# Those that have waited longest; of the others nothing is read.
WAITING_MAX = 1_000
# The ledger gets a row a dataset and day, and is read for all of them.
WRITTEN_EVERY = 10
# Segments that a round counts by tier: a pass over ten million takes an hour and 40 minutes.
COUNTED_MAX = 100_000


class DatasetGauges:
    """Reads once a round what all gauges show, in one transaction."""

    def __init__(self, transactions: Transactions, counted_max: int = COUNTED_MAX) -> None:
        self._transactions = transactions
        self._tiers = _TierPass(counted_max)
        self._rounds = 0

    def run_round(self) -> None:
        """Set the gauges; those of a round that fails are absent."""
        try:
            self._transactions.read(self._set)
        except Exception:
            for gauge in metrics.OF_DATASETS:
                gauge.clear()
            self._tiers = _TierPass(self._tiers.counted_max)
            self._rounds = 0
            raise
        self._rounds += 1

    def _set(self, tx: Transaction) -> None:
        totals = dataset_gauges.totals(tx)
        # A dataset of which nothing waits, or was written, has gauges of 0.
        shown = {OTHERS, *(each.labels for each in totals)}
        _set_waiting(tx, shown)
        metrics.show(metrics.DATASET_SEGMENTS, {each.labels: each.segments for each in totals})
        metrics.show(metrics.DATASET_BYTES, {each.labels: each.size_bytes for each in totals})
        if self._rounds % WRITTEN_EVERY == 0:
            _set_amplification(tx, shown)
        self._tiers.carry_on(tx, totals)


class _TierPass:
    """Counts all live segments by tier, a bounded number in a round; again once some changed."""

    def __init__(self, counted_max: int) -> None:
        self.counted_max = counted_max
        # The totals at the beginning of the pass that runs, or ran last.
        self._totals: list[MeasuredTotals] | None = None
        self._behind: dataset_gauges.SegmentPosition | None = None
        self._counts: defaultdict[tuple[GaugeLabels, int], list[int]] = defaultdict(lambda: [0, 0])

    def carry_on(self, tx: Transaction, totals: list[MeasuredTotals]) -> None:
        """Count further, and show the counts of a pass that is over."""
        if self._behind is None:
            if totals == self._totals:
                return
            self._totals, self._behind = totals, FIRST
            self._counts.clear()
        page = dataset_gauges.tiers(tx, self._behind, self.counted_max)
        for key, numbers in page.tiers.items():
            self._counts[key] = [a + b for a, b in zip(self._counts[key], numbers, strict=True)]
        self._behind = page.last
        if page.last is None:
            self._show({each.labels for each in totals})

    def _show(self, labels: set[GaugeLabels]) -> None:
        # A dataset may have got another name, or be one of the others, since it was counted.
        shown = {key: numbers for key, numbers in self._counts.items() if key[0] in labels}
        for index, gauge in enumerate(metrics.OF_TIERS):
            values: dict[tuple[str, ...], float] = {(*OTHERS, "0"): 0.0}
            values |= {(*key, str(tier)): n[index] for (key, tier), n in shown.items()}
            metrics.show(gauge, values)


def _set_waiting(tx: Transaction, shown: set[GaugeLabels]) -> None:
    """Set the gauges of what readers do not see yet."""
    ages: defaultdict[GaugeLabels, float] = defaultdict(float, dict.fromkeys(shown, 0.0))
    sums = [defaultdict[GaugeLabels, int](int, dict.fromkeys(shown, 0)) for _ in metrics.UNMERGED]
    now = clock.now_nanos(tx)
    rows = freshness.read(tx, WAITING_MAX, include_fresh=False).datasets
    labels_of = dataset_gauges.labels_of(tx, [row.dataset_id for row in rows])
    for row in rows:
        labels = labels_of.get(row.dataset_id, OTHERS)
        ages[labels] = max(ages[labels], (now - row.oldest_committed_at_nanos) / 1e9)
        for total, n in zip(sums, (row.babies, row.waiting_records, row.size_bytes), strict=True):
            total[labels] += n
    metrics.show(metrics.DATASET_FRESHNESS, ages)
    for gauge, total in zip(metrics.UNMERGED, sums, strict=True):
        metrics.show(gauge, total)


def _set_amplification(tx: Transaction, shown: Iterable[GaugeLabels]) -> None:
    """Set what is written for each byte that nurseries wrote."""
    ratios = dict.fromkeys(shown, 0.0)
    for writes in dataset_gauges.written(tx):
        if writes.by_nurseries and writes.labels in ratios:
            ratios[writes.labels] = writes.size_bytes / writes.by_nurseries
    metrics.show(metrics.DATASET_AMPLIFICATION, ratios)
