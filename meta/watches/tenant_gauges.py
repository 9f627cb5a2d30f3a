"""Gauges of the usage of tenants; an installation with one tenant has none."""

from collections import defaultdict

from meta import status_metrics as metrics
from meta.store.engine.pool import Transaction
from meta.store.status.dataset_gauges import OTHER, TENANTS_MAX
from meta.store.tenancy import usage


def show(tx: Transaction) -> None:
    """Set the gauges: of the oldest tenants, and of the others together."""
    sums = [defaultdict[tuple[str], float](float) for _ in metrics.OF_TENANTS]
    rows = usage.of_all(tx)
    for number, row in enumerate(rows, 1):
        labels = (row.tenant_name if number <= TENANTS_MAX else OTHER,)
        numbers = (row.records, row.bytes_ingested, row.bytes_stored, row.live_datasets)
        for total, value in zip(sums, numbers, strict=True):
            total[labels] += value or 0
    for gauge, total in zip(metrics.OF_TENANTS, sums, strict=True):
        metrics.show(gauge, total if len(rows) > 1 else {})
