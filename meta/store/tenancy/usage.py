"""Usage of tenants: the sum of that of their datasets, deleted ones too.

The rows are those of datasets, so a dataset that was moved counts for the tenant that has it now.
Ingested bytes are those of the ledger, which has the tenant of the day.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, bindparam, text

from meta.store.engine.pool import Transaction

INT64_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class TenantUsage:
    """Records of a tenant in a month, written YYYY-MM; the others are None but for the current one.

    `bytes_stored` are those of objects of live segments.
    """

    tenant_id: UUID
    tenant_name: str
    month: str
    records: int
    bytes_stored: int | None
    live_datasets: int | None
    bytes_ingested: int


# The number of CostKind of ingestion.
INGEST = 2
_THIS_MONTH = "to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM')"
_RECORDS = f"least(coalesce(sum(u.records), 0), {INT64_MAX})::bigint"
_NOW = f"""
    CASE WHEN m.month = {_THIS_MONTH} THEN (
      SELECT least(coalesce(sum(k.live_compressed_size_bytes), 0), {INT64_MAX})::bigint
      FROM datasets d JOIN dataset_stats k ON k.dataset_key = d.key
      WHERE d.tenant_key = t.key) END AS bytes_stored,
    CASE WHEN m.month = {_THIS_MONTH} THEN (
      SELECT count(*) FROM datasets d
      WHERE d.tenant_key = t.key AND d.deleted_at IS NULL) END AS live_datasets,
    (SELECT least(coalesce(sum(c.bytes), 0), {INT64_MAX})::bigint
     FROM (SELECT s.bytes
           FROM generate_series(m.first, m.first + interval '1 month' - interval '1 day',
                                interval '1 day') AS d (day)
             JOIN costs s ON s.day = d.day::date AND s.tenant_key = t.key AND s.kind = {INGEST}
           UNION ALL SELECT bytes FROM cost_months s
           WHERE s.month = m.first AND s.tenant_key = t.key AND s.kind = {INGEST}) c
    ) AS bytes_ingested
"""  # noqa: S608
# No date is in the year 0.
_FIRST = "CASE WHEN m.month >= '0001' THEN (m.month || '-01')::date END AS first"
_OF_MONTH = text(f"""
    SELECT t.id, t.name, m.month, (
      SELECT {_RECORDS} FROM datasets d JOIN dataset_usage u ON u.dataset_id = d.id
      WHERE d.tenant_key = t.key AND u.month = m.month) AS records, {_NOW}
    FROM tenants t
    CROSS JOIN (SELECT coalesce(cast(:month AS text), {_THIS_MONTH}) AS month) n
    CROSS JOIN LATERAL (SELECT m.month, {_FIRST} FROM (SELECT n.month) m) m
    WHERE t.id = ANY(:tenants) ORDER BY t.id
""").bindparams(bindparam("tenants", type_=ARRAY(Uuid)))  # noqa: S608
# A pass over the datasets, in place of some look-ups for each of 10,000 tenants.
_OF_ALL = text(f"""
    WITH used AS (
      SELECT dataset_id, sum(records) AS records FROM dataset_usage
      WHERE month = {_THIS_MONTH} GROUP BY dataset_id
    ), of_datasets AS (
      SELECT d.tenant_key, sum(u.records) AS records, sum(k.live_compressed_size_bytes) AS stored,
        count(*) FILTER (WHERE d.deleted_at IS NULL) AS live
      FROM datasets d LEFT JOIN used u ON u.dataset_id = d.id
        LEFT JOIN dataset_stats k ON k.dataset_key = d.key
      GROUP BY d.tenant_key
    ), ingested AS (
      SELECT tenant_key, sum(bytes) AS bytes
      FROM (SELECT tenant_key, bytes FROM costs
            WHERE kind = {INGEST} AND day >= date_trunc('month', now() AT TIME ZONE 'UTC')::date
            UNION ALL SELECT tenant_key, bytes FROM cost_months
            WHERE kind = {INGEST}
              AND month = date_trunc('month', now() AT TIME ZONE 'UTC')::date) c
      GROUP BY tenant_key
    )
    SELECT t.id, t.name, {_THIS_MONTH}, least(coalesce(d.records, 0), {INT64_MAX})::bigint,
      least(coalesce(d.stored, 0), {INT64_MAX})::bigint, coalesce(d.live, 0)::bigint,
      least(coalesce(i.bytes, 0), {INT64_MAX})::bigint
    FROM tenants t LEFT JOIN of_datasets d ON d.tenant_key = t.key
      LEFT JOIN ingested i ON i.tenant_key = t.key
    WHERE t.purged_at IS NULL AND (SELECT count(*) > 1 FROM tenants WHERE purged_at IS NULL)
    ORDER BY t.key
""")  # noqa: S608
# The current month has a row even without records.
_OF_TENANT = text(f"""
    WITH months AS (
      SELECT u.month, u.records FROM tenants t JOIN datasets d ON d.tenant_key = t.key
      JOIN dataset_usage u ON u.dataset_id = d.id WHERE t.id = :tenant
      UNION ALL SELECT {_THIS_MONTH}, 0),
    used AS (SELECT u.month, {_RECORDS} AS records FROM months u GROUP BY u.month),
    m AS (SELECT m.month, m.records, {_FIRST} FROM used m)
    SELECT t.id, t.name, m.month, m.records, {_NOW}
    FROM tenants t CROSS JOIN m WHERE t.id = :tenant ORDER BY m.month DESC
""").bindparams(bindparam("tenant", type_=Uuid))  # noqa: S608


def of_month(
    tx: Transaction, tenant_ids: Sequence[UUID], month: str | None = None
) -> list[TenantUsage]:
    """The usage of some tenants in one month, None = the current one; by id."""
    values = {"tenants": list(tenant_ids), "month": month}
    return [TenantUsage(*row) for row in tx.execute(_OF_MONTH, values)]


def of_all(tx: Transaction) -> list[TenantUsage]:
    """The usage of all tenants in the current month, the oldest first; none without a second."""
    return [TenantUsage(*row) for row in tx.execute(_OF_ALL)]


def of_tenant(tx: Transaction, tenant_id: UUID) -> list[TenantUsage]:
    """The usage of one tenant in all months that are kept, the newest first."""
    return [TenantUsage(*row) for row in tx.execute(_OF_TENANT, {"tenant": tenant_id})]
