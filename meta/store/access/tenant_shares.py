"""Stored shares of tenants, and counts of what a tenant has.

The row of `default`, which has no share itself, is the default of the other tenants.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import text

from meta import access
from meta.access import DEFAULT_TENANT, PERCENT_DEFAULT, WHOLE, TenantShares
from meta.errors import QuotaExceeded
from meta.store.access import audit
from meta.store.access.tenants import Tenant
from meta.store.engine import scope
from meta.store.engine.pool import Transaction

# Of advisory locks, each with the key of a tenant.
_LOCK_KEY = 731_057_924


@dataclass(frozen=True, slots=True)
class StoredShares:
    """Shares as they were set: 0 = the default of tenants, -1 = no quota."""

    percent: int = 0
    datasets: int = 0
    records_per_month: int = 0
    bytes_per_sec: int = 0


def in_force(key: str) -> str:
    """The SQL of an array with the fields of TenantShares; null for `default`."""
    quotas = ", ".join(
        f"greatest(coalesce(nullif(own.{name}, 0), common.{name}), 0)"
        for name in ("datasets", "records_per_month", "bytes_per_sec")
    )
    return f"""
        CASE WHEN {key} <> {DEFAULT_TENANT} THEN (
          SELECT ARRAY[coalesce(nullif(own.percent, 0), nullif(common.percent, 0),
                                {PERCENT_DEFAULT}), {quotas}]
          FROM (VALUES ({key})) AS asked (key)
          LEFT JOIN tenant_shares own ON own.tenant_key = asked.key
          LEFT JOIN tenant_shares common ON common.tenant_key = {DEFAULT_TENANT}) END
    """  # noqa: S608


_FIELDS = "percent, datasets, records_per_month, bytes_per_sec"
_FIND = text(f"SELECT {_FIELDS} FROM tenant_shares WHERE tenant_key = :key")  # noqa: S608
_IN_FORCE = text(f"SELECT {in_force('cast(:key AS integer)')}")
_SET = text(f"""
    INSERT INTO tenant_shares (tenant_key, {_FIELDS})
    VALUES (:key, :percent, :datasets, :records_per_month, :bytes_per_sec)
    ON CONFLICT (tenant_key) DO UPDATE SET percent = excluded.percent,
      datasets = excluded.datasets, records_per_month = excluded.records_per_month,
      bytes_per_sec = excluded.bytes_per_sec
""")  # noqa: S608
_LOCK = text("LOCK TABLE tenant_shares IN SHARE ROW EXCLUSIVE MODE")
_TAKE_TURNS = text("SELECT pg_advisory_xact_lock(:lock, :key)")
_COUNTS = {
    noun: scope.statement(
        f"SELECT count(*) FROM {table} WHERE tenant_key = :naming_tenant{condition}"  # noqa: S608
    )
    for noun, table, condition in (
        ("datasets", "datasets", " AND deleted_at IS NULL"),
        ("ingest tokens", "ingest_tokens", ""),
        ("schemas", "schemas", ""),
        ("views", "views", ""),
        ("projections", "projections", ""),
    )
}
# Of all datasets of the tenants, deleted ones too, so that none gets more by deleting them.
_RECORDS = text("""
    SELECT d.tenant_key, sum(u.records)::bigint FROM datasets d
    JOIN dataset_usage u ON u.dataset_id = d.id
      AND u.month = to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM')
    WHERE d.tenant_key = ANY(:keys) GROUP BY 1
""")


def made(values: Sequence[int] | None) -> TenantShares:
    """The shares of the array of `in_force`."""
    return WHOLE if values is None else TenantShares(*values)


def read(tx: Transaction, tenant: Tenant) -> tuple[StoredShares, TenantShares]:
    """The shares of a tenant as they were set, and those in force."""
    row = tx.execute(_FIND, {"key": tenant.key}).one_or_none()
    stored = StoredShares() if row is None else StoredShares(*row)
    return stored, made(tx.execute(_IN_FORCE, {"key": tenant.key}).scalar_one())


def change(tx: Transaction, tenant: Tenant, values: Mapping[str, int]) -> None:
    """Set shares of a tenant by the names of StoredShares; a repeated call changes nothing."""
    tx.execute(_LOCK)
    before, _ = read(tx, tenant)
    after = StoredShares(**{**asdict(before), **values})
    if after != before:
        tx.execute(_SET, {"key": tenant.key, **asdict(after)})
        audit.note(tx, "SetTenantShares", tenant.id, audit.states(before, after))


def check(tx: Transaction, noun: str, bound: int) -> None:
    """Raise QuotaExceeded if the tenant of names has more entries than its share of a bound.

    After the insert of one: creations of a tenant take turns from here on.
    """
    shares = access.current_shares()
    if shares == WHOLE:
        return
    most = shares.of(bound)
    if noun == "datasets" and shares.datasets:
        most = min(most, shares.datasets)
    tx.execute(_TAKE_TURNS, {"lock": _LOCK_KEY, "key": scope.naming_key()})
    if tx.execute(_COUNTS[noun]).scalar_one() > most:
        raise QuotaExceeded(f"the tenant has {most} {noun}, its share", limit=most)


def read_records(tx: Transaction, tenant_keys: set[int]) -> dict[int, int]:
    """The records of tenants in this month; 0 for those that are missing."""
    return {row[0]: row[1] for row in tx.execute(_RECORDS, {"keys": list(tenant_keys)})}
