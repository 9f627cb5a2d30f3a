"""Plans of vacuums: per dataset the versions that expire, what is deleted and what stays."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.store.catalog import shown_names
from meta.store.deletion.due import HAS_SUCCESSOR, due_before, is_due
from meta.store.deletion.holds import IS_BACKED_UP, IS_BRAKED, IS_HIDDEN, is_holder
from meta.store.engine import pg_arrays, scope
from meta.store.engine.pool import Transaction
from meta.store.iceberg import table_expiry
from meta.store.locks.held_datasets import is_held
from meta.store.versions.clock import NOW, ago

DATASETS_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class VacuumPlan:
    """A request, for a page of datasets; `only` is the key of the one that was named."""

    older_than_secs: int
    grace_secs: float
    after_key: int = 0
    only: int | None = None

    def has_more(self, keys: Sequence[object]) -> bool:
        """Return true if there may be datasets behind a page."""
        return self.only is None and len(keys) == DATASETS_AT_ONCE


@dataclass(frozen=True, slots=True)
class DatasetPlan:
    """Effect of a vacuum on a dataset: compressed bytes, and numbers of segments and objects.

    Readers of versions below `horizon` are refused. Pinned and braked segments stay, those that a
    backup keeps, those without a successor of a locked dataset, and hidden ones, which an operator
    may bring back.
    """

    key: int
    dataset_id: UUID
    dataset_name: str
    horizon: int
    segments: int
    segment_bytes: int
    pinned_segments: int
    pinned_bytes: int
    braked_segments: int
    braked_bytes: int
    hidden_segments: int
    hidden_bytes: int
    locked_segments: int
    locked_bytes: int
    backup_segments: int
    backup_bytes: int
    table_objects: int = 0
    table_bytes: int = 0


_KEY = text("SELECT key FROM datasets WHERE id = cast(:id AS uuid)")
# Deleted datasets, as long as they have tombstones.
_KEYS = text(f"""
    SELECT d.key FROM datasets d
    WHERE d.key > :after AND (cast(:only AS integer) IS NULL OR d.key = :only)
      AND (d.deleted_at IS NULL OR EXISTS (
        SELECT FROM segments s WHERE s.dataset_key = d.key AND s.tombstone_version IS NOT NULL))
    ORDER BY d.key LIMIT {DATASETS_AT_ONCE}
""")  # noqa: S608
# The version that a dataset had at the time; versions below it are older. A pin of changes keeps
# the horizon at its version.
_AT_TIME = f"""
    SELECT greatest(d.vacuum_version, d.deletion_horizon, CASE WHEN past.version IS NOT NULL
      THEN least(past.version, (SELECT min(version) FROM pins WHERE dataset_key = d.key
                                AND holds_changes AND expires_at > {NOW})) END) AS horizon,
      past.version AS unpinned
    FROM (SELECT greatest(
      (SELECT created_version FROM segments
       WHERE dataset_key = d.key AND tombstone_version IS NULL AND created_at <= m.at
       ORDER BY created_at DESC, id DESC LIMIT 1),
      (SELECT max(CASE WHEN tombstone_at <= m.at THEN tombstone_version
                       WHEN created_at <= m.at THEN created_version END)
       FROM segments WHERE dataset_key = d.key AND tombstone_version IS NOT NULL)) AS version) past
"""  # noqa: S608
_PAGE = f"""
    datasets d CROSS JOIN (SELECT {ago(":older_than")} AS at) m
    CROSS JOIN LATERAL ({_AT_TIME}) v
"""
_EXPIRE = text(f"""
    WITH planned AS MATERIALIZED (
      SELECT d.key, m.at, v.horizon FROM {_PAGE} WHERE d.key = ANY(cast(:keys AS integer[])))
    UPDATE datasets d SET
      vacuum_before = greatest(d.vacuum_before, p.at),
      vacuum_version = p.horizon,
      deletion_horizon = greatest(d.deletion_horizon, p.horizon),
      pins_horizon = greatest(d.deletion_horizon, p.horizon)
    FROM planned p WHERE d.key = p.key
""")  # noqa: S608
_IS_PINNED = f"EXISTS (SELECT FROM pins p WHERE {is_holder()})"
_IS_LOCKED = f"{is_held('d')} AND NOT {HAS_SUCCESSOR}"
_IS_FREE = "NOT s.is_hidden AND NOT s.is_pinned AND NOT s.is_backed_up"
_READ = scope.statement(f"""
    SELECT d.key, d.id, {shown_names.of("d")}, coalesce(v.horizon, 0), {
    ", ".join(
        f"count(s.id) FILTER (WHERE {condition}),"
        f" coalesce(sum(s.compressed_size_bytes) FILTER (WHERE {condition}), 0)::bigint"
        for condition in (
            f"{_IS_FREE} AND NOT s.is_braked AND NOT s.is_locked",
            "NOT s.is_hidden AND s.is_pinned",
            f"{_IS_FREE} AND s.is_braked",
            "s.is_hidden",
            f"{_IS_FREE} AND NOT s.is_braked AND s.is_locked",
            "NOT s.is_hidden AND NOT s.is_pinned AND s.is_backed_up",
        )
    )
}
    FROM {_PAGE} LEFT JOIN LATERAL (
      SELECT s.id, s.compressed_size_bytes, {IS_HIDDEN} AS is_hidden, {_IS_PINNED} AS is_pinned,
             {IS_BRAKED} AS is_braked, {_IS_LOCKED} AS is_locked,
             {IS_BACKED_UP} AS is_backed_up
      FROM segments s LEFT JOIN deletion_brakes b ON b.dataset_key = s.dataset_key
      WHERE s.dataset_key = d.key AND s.tombstone_version IS NOT NULL AND (
        {IS_HIDDEN} OR s.tombstone_at < {due_before("m.at")} AND {
    is_due("m.at", "greatest(v.horizon, v.unpinned)")
})
    ) s ON true
    WHERE d.key = ANY(cast(:keys AS integer[]))
    GROUP BY d.key, d.id, d.name, v.horizon ORDER BY d.key
""")  # noqa: S608


def keys(tx: Transaction, plan: VacuumPlan) -> list[int]:
    """The keys of a page of datasets that a vacuum takes."""
    return list(tx.execute(_KEYS, {"after": plan.after_key, "only": plan.only}).scalars())


def key_of(tx: Transaction, dataset_id: UUID | None) -> int:
    """The key of a dataset, deleted ones too, behind which a page begins; 0 for none."""
    return int(tx.execute(_KEY, {"id": dataset_id}).scalar_one_or_none() or 0)


def expire(tx: Transaction, dataset_keys: Sequence[int], plan: VacuumPlan) -> None:
    """Expire the versions of datasets older than the time; the caller holds their horizons."""
    values = {"keys": pg_arrays.numbers(dataset_keys), "older_than": plan.older_than_secs}
    tx.execute(_EXPIRE, values)


def read(tx: Transaction, dataset_keys: Sequence[int], plan: VacuumPlan) -> list[DatasetPlan]:
    """The plans of a vacuum of this moment for some datasets."""
    values = {
        "keys": pg_arrays.numbers(dataset_keys),
        "older_than": plan.older_than_secs,
        "grace": plan.grace_secs,
    }
    tables = table_expiry.count_expired(tx, values)
    rows = tx.execute(_READ, values).all()
    return [DatasetPlan(*(*row, *tables.get(row[0], (0, 0)))) for row in rows]
