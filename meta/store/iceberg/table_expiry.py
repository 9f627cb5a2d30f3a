"""Removal of table metadata that nobody was handed for a grace, nor reads at a pinned version."""

from dataclasses import dataclass

from sqlalchemy import text

from meta.store.access.server_state import check_deletion_allowed
from meta.store.engine.pool import Transaction
from meta.store.iceberg import table_metadata
from meta.store.versions.clock import NOW, ago

# Longer than a day: only then may the orphan of a key that was never registered be deleted.
ORPHAN_AGE_SECS = 86_400


@dataclass(frozen=True, slots=True)
class Expired:
    """Keys without a row, and whether there may be more."""

    object_keys: tuple[str, ...]
    has_more: bool


_DUE_BEFORE = ago(":grace")
# Tables that are examined and stay count as examined now, so that every table has its turn.
_DUE = text(f"""
    SELECT dataset_key FROM (
      (SELECT dataset_key, examined_at FROM table_snapshots WHERE examined_at < {_DUE_BEFORE}
       ORDER BY examined_at LIMIT 1)
      UNION ALL
      (SELECT dataset_key, examined_at FROM table_objects WHERE examined_at < {_DUE_BEFORE}
       ORDER BY examined_at LIMIT 1)) due
    ORDER BY examined_at LIMIT 1
""")  # noqa: S608
_KEPT_AGO = ago(
    "greatest(:grace, coalesce((SELECT tombstone_grace_secs FROM datasets WHERE key = :key), 0))"
)
# The newest one stays while the dataset lives: the next reader needs most of its manifests.
_REMOVE_SNAPSHOTS = text(f"""
    DELETE FROM table_snapshots s
    WHERE dataset_key = :key AND (gap_end <> (SELECT gap_end FROM meta_state)
      OR handed_out_at < {_KEPT_AGO}
        AND NOT EXISTS (SELECT FROM pins p WHERE p.dataset_key = :key AND p.version = s.version
                          AND p.expires_at > {NOW})
        AND NOT (version = (SELECT max(version) FROM table_snapshots WHERE dataset_key = :key)
                 AND EXISTS (SELECT FROM datasets WHERE key = :key AND deleted_at IS NULL)))
""")  # noqa: S608
# A pin that was taken while the grace lasted also keeps the documents that it was taken by.
_REMOVE_OBJECTS = text(f"""
    DELETE FROM table_objects WHERE id = ANY(ARRAY(
      SELECT id FROM table_objects o
      WHERE dataset_key = :key AND (gap_end <> (SELECT gap_end FROM meta_state)
        OR handed_out_at < {_KEPT_AGO}
          AND NOT EXISTS (SELECT FROM pins p WHERE p.dataset_key = :key AND p.expires_at > {NOW}
                            AND p.created_at <= o.handed_out_at + make_interval(secs => :grace)))
        AND id NOT IN (SELECT unnest(object_ids) FROM table_snapshots WHERE dataset_key = :key)
      ORDER BY id LIMIT :most))
    RETURNING object_key
""")  # noqa: S608
_EXAMINED = tuple(
    text(
        f"UPDATE {table} SET examined_at = now()"  # noqa: S608
        f" WHERE dataset_key = :key AND examined_at < {_DUE_BEFORE}"
    )
    for table in ("table_snapshots", "table_objects")
)
_REGISTERED = text("SELECT object_key FROM table_objects WHERE object_key = ANY(:keys)")
_OLD = text(f"""
    SELECT place FROM unnest(cast(:epochs AS bigint[])) WITH ORDINALITY AS e (secs, place)
    WHERE to_timestamp(secs) < {ago(":age")}
""")  # noqa: S608


def expire(tx: Transaction, *, grace_secs: float, most: int) -> Expired:
    """Remove expired rows of one table; returns the keys of up to `most` objects to delete."""
    check_deletion_allowed(tx)
    dataset_key = tx.execute(_DUE, {"grace": grace_secs}).scalar_one_or_none()
    if dataset_key is None:
        return Expired((), has_more=False)
    # Under the lock no snapshot can be made of an object that is removed below.
    table_metadata.lock(tx, dataset_key)
    values = {"key": dataset_key, "grace": grace_secs, "most": most}
    tx.execute(_REMOVE_SNAPSHOTS, values)
    keys = tuple(tx.execute(_REMOVE_OBJECTS, values).scalars())
    if len(keys) < most:
        for statement in _EXAMINED:
            tx.execute(statement, values)
    is_due = tx.execute(_DUE, {"grace": grace_secs}).scalar_one_or_none() is not None
    return Expired(keys, has_more=is_due)


def orphans(tx: Transaction, epochs: dict[str, int]) -> set[str]:
    """Keys, given with their epochs, that no row names and that nothing registers any more."""
    keys = list(epochs)
    values = {"epochs": [epochs[key] for key in keys], "age": ORPHAN_AGE_SECS}
    old = {keys[place - 1] for place in tx.execute(_OLD, values).scalars()}
    return old - set(tx.execute(_REGISTERED, {"keys": list(old)}).scalars())
