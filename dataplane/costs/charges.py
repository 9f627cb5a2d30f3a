"""Charges of the work of processes: what each kind of it is divided by."""

from collections.abc import Collection, Mapping

from dataplane.costs.process import charge, charge_task
from meta.costs.accumulator import NO_DATASET, Work
from meta.costs.shares import shares_of
from meta.costs.spent import Spent
from segments.baby import Baby


def charge_flush(baby: Baby, without: Collection[str]) -> None:
    """Charge a committed flush by the payloads of its datasets, but those that took no records."""
    for part in baby.parts:
        if part.dataset_id not in without:
            charge(Work.INGEST, part.dataset_id or NO_DATASET, sum(map(len, part.slices)))


def charge_query(opened_bytes: Mapping[str, int], scanned_bytes: int, cpu_secs: float) -> None:
    """Charge a query by the files that it opened of each dataset."""
    ids = list(opened_bytes) or [NO_DATASET]
    weights = [opened_bytes.get(dataset_id, 0) for dataset_id in ids]
    sizes = shares_of(scanned_bytes, weights if any(weights) else [1] * len(ids))
    spent = Spent(cpu_micros=int(cpu_secs * 1e6))
    charge_task(Work.QUERY, dict(zip(ids, sizes, strict=True)), spent)
