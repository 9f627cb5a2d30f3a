"""Usage: records committed per dataset and calendar month (UTC), for quotas."""

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, bindparam, text

from meta.access import DEFAULT_TENANT
from meta.store.access import creator_quotas, tenant_shares
from meta.store.catalog import shown_names
from meta.store.catalog.dataset_settings import INGEST_LIMITS
from meta.store.engine import pg_arrays, scope
from meta.store.engine.pool import COMMIT_BATCHES_MAX, Transaction

SLOTS = 64
# A value of datasets.schema_violations.
REJECT = 3
# Threads of a process that add to their own rows.
LANES = COMMIT_BATCHES_MAX


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Records of a live dataset in one month, written YYYY-MM, and its own limits.

    `limit` is -1 for unlimited and 0 for the server's default. `ingest_limits` are those of
    DatasetSettings, in their order.
    """

    dataset_id: UUID
    month: str
    records: int
    limit: int
    name: str
    ingest_limits: Sequence[int]
    # The version of its last change if it rejects records that violate the schema, else 0.
    rejects_since: int = 0
    # A number of TimestampUnit.
    timestamp_unit: int = 0
    # The key of a dataset whose events have a deduplication key.
    deduplication_key: int | None = None
    # The limit of all datasets of its creator, -1 = unlimited or no known creator.
    creator_limit: int = -1
    creator: str | None = None
    # Of the dataset's tenant: its key, its id, and its shares; None = `default`.
    tenant_key: int = 0
    tenant_id: UUID | None = None
    shares: Sequence[int] | None = None


_ADD = text(
    "INSERT INTO dataset_usage (dataset_id, month, slot, records)"
    " SELECT d, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM'), :slot, n"
    " FROM unnest(cast(:datasets AS uuid[]), cast(:counts AS bigint[])) AS new (d, n) ORDER BY d"
    " ON CONFLICT (dataset_id, month, slot)"
    " DO UPDATE SET records = dataset_usage.records + excluded.records"
)
_LIMITS = ", ".join(f"d.{name}" for name in INGEST_LIMITS)
# The fields of TokenUsage.
_READ = f"""
    SELECT d.id, m, coalesce((
             SELECT sum(u.records) FROM dataset_usage u WHERE u.dataset_id = d.id AND u.month = m
           ), 0)::bigint, d.records_per_month, {shown_names.of("d")}, ARRAY[{_LIMITS}],
           CASE WHEN d.schema_violations = {REJECT} THEN d.changed_version ELSE 0 END,
           d.timestamp_unit, CASE WHEN d.deduplication_rule IS NOT NULL THEN d.key END,
           CASE WHEN a.created_by IS NULL THEN -1
                ELSE {creator_quotas.in_force("records_per_month", "a.created_by")} END,
           a.created_by, d.tenant_key,
           CASE WHEN d.tenant_key <> {DEFAULT_TENANT}
                THEN (SELECT t.id FROM tenants t WHERE t.key = d.tenant_key) END,
           {tenant_shares.in_force("d.tenant_key")}
    FROM datasets d LEFT JOIN catalog_authors a ON a.entry_id = d.id
    CROSS JOIN to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM') AS m
    WHERE d.deleted_at IS NULL AND {scope.reaches("d")}
"""  # noqa: S608
_lanes, _lane = count(), threading.local()
_READ_ALL = scope.statement(f"{_READ} ORDER BY d.id")
_READ_SOME = scope.statement(f"{_READ} AND d.id = ANY(:datasets) ORDER BY d.id").bindparams(
    bindparam("datasets", type_=ARRAY(Uuid))
)


def add(tx: Transaction, records: Mapping[UUID, int]) -> None:
    """Count records in the current month."""
    counted = {dataset_id: n for dataset_id, n in records.items() if n}
    if counted:
        tx.execute(
            _ADD,
            {
                "slot": slot(),
                "datasets": pg_arrays.uuids(counted),
                "counts": pg_arrays.numbers(counted.values()),
            },
        )


def slot() -> int:
    """This process's row of each dataset, so that committers do not wait for one another's."""
    return os.getpid() * LANES % SLOTS


def lane_slot() -> int:
    """This thread's row of each dataset: batches that run side by side wait for no row.

    For the few threads of a committer, because every row is read by each call that asks for usage.
    """
    if not hasattr(_lane, "number"):
        _lane.number = next(_lanes) % LANES
    return slot() + int(_lane.number)


def read(tx: Transaction, dataset_ids: Sequence[UUID]) -> dict[UUID, TokenUsage]:
    """This month's records of those datasets that are live; of all live ones if none is named.

    Every collector asks this every few seconds, so it is one statement that reads only the named
    rows.
    """
    if dataset_ids:
        rows = tx.execute(_READ_SOME, {"datasets": list(dataset_ids)})
    else:
        rows = tx.execute(_READ_ALL)
    return {row[0]: TokenUsage(*row) for row in rows}
