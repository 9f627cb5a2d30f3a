"""Usage: records committed per dataset and calendar month (UTC), for quotas."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, bindparam, select, text

from meta.store import literals
from meta.store.engine import Transaction
from meta.store.tables import datasets

SLOTS = 64


@dataclass(frozen=True, slots=True)
class Usage:
    """Records of one dataset in one month, written YYYY-MM."""

    dataset_id: UUID
    month: str
    records: int


_ADD = text(
    "INSERT INTO dataset_usage (dataset_id, month, slot, records)"
    " SELECT d, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM'), :slot, n"
    " FROM unnest(cast(:datasets AS uuid[]), cast(:counts AS bigint[])) AS new (d, n) ORDER BY d"
    " ON CONFLICT (dataset_id, month, slot)"
    " DO UPDATE SET records = dataset_usage.records + excluded.records"
)
_READ = text(
    "SELECT d, m AS month, coalesce((SELECT sum(records) FROM dataset_usage"
    " WHERE dataset_id = d AND month = m), 0)::bigint AS records"
    " FROM unnest(:datasets) WITH ORDINALITY AS wanted (d, n),"
    " to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM') AS m ORDER BY n"
).bindparams(bindparam("datasets", type_=ARRAY(Uuid)))
_LIMITS = select(datasets.c.id, datasets.c.records_per_month).where(datasets.c.deleted_at.is_(None))


def add(tx: Transaction, records: Mapping[UUID, int]) -> None:
    """Count records in the current month."""
    counted = {dataset_id: n for dataset_id, n in records.items() if n}
    if counted:
        tx.execute(
            _ADD,
            {
                "slot": slot(),
                "datasets": literals.uuids(counted),
                "counts": literals.numbers(counted.values()),
            },
        )


def slot() -> int:
    """This process's row of each dataset, so that committers do not wait for one another's."""
    return os.getpid() % SLOTS


def read(tx: Transaction, dataset_ids: Sequence[UUID]) -> list[Usage]:
    """This month's records of each dataset, in order."""
    rows = tx.execute(_READ, {"datasets": list(dataset_ids)})
    return [Usage(row.d, row.month, row.records) for row in rows]


def limits(tx: Transaction) -> dict[UUID, int]:
    """The monthly limit of each live dataset; 0 = the server's default, -1 = unlimited."""
    return {row.id: row.records_per_month for row in tx.execute(_LIMITS)}
