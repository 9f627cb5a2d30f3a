"""Rows and duplicates of datasets."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction


@dataclass(frozen=True, slots=True)
class RecordCounts:
    """Rows in the live segments of a dataset, and records that were no row for a second time."""

    rows: int
    duplicates: int


# The sum of bigint is numeric.
_READ = text("""
    SELECT d.id,
           coalesce((SELECT sum(s.number_of_events) FROM segments s
                     WHERE s.dataset_key = d.key AND s.tombstone_version IS NULL), 0)::bigint,
           coalesce((SELECT r.records FROM dataset_duplicates r WHERE r.dataset_key = d.key), 0)
    FROM datasets d WHERE d.id = ANY(cast(:datasets AS uuid[]))
""")


def read(tx: Transaction, dataset_ids: Iterable[UUID]) -> dict[UUID, RecordCounts]:
    """Count the rows and duplicates of datasets; reads the rows of all their live segments."""
    rows = tx.execute(_READ, {"datasets": pg_arrays.uuids(dataset_ids)})
    return {dataset_id: RecordCounts(*counts) for dataset_id, *counts in rows}
