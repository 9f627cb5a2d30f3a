"""Removal of table metadata that nobody was handed for a grace, nor reads at a pinned version."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import text

from meta.store.access.server_state import check_deletion_allowed
from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction
from meta.store.iceberg import table_metadata
from meta.store.versions.clock import NOW, ago

# Longer than a day: only then may the orphan of a key that was never registered be deleted.
ORPHAN_AGE_SECS = 86_400


@dataclass(frozen=True, slots=True)
class TableObjectAmount:
    """Number and bytes of objects of table metadata."""

    objects: int = 0
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Expired:
    """Keys without a row of one dataset, their sizes in bytes, and whether there may be more."""

    object_keys: tuple[str, ...]
    has_more: bool
    dataset_key: int = 0
    sizes: tuple[int, ...] = ()


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
# A dataset's grace, or the server's if that is longer; a vacuum shortens it.
_KEPT_AGO = ago("greatest(:grace, coalesce(d.tombstone_grace_secs, 0))")


def _kept_before(vacuum_before: str) -> str:
    """The time before which what was handed out of a dataset `d` is not kept."""
    return f"greatest({_KEPT_AGO}, {vacuum_before})"


def _is_expired_snapshot(vacuum_before: str) -> str:
    """True of a snapshot `s` of a dataset `d`.

    The newest one stays while the dataset lives: the next reader needs most of its manifests.
    """
    return f"""(s.gap_end <> (SELECT gap_end FROM meta_state)
      OR s.handed_out_at < {_kept_before(vacuum_before)}
        AND NOT EXISTS (SELECT FROM pins p WHERE p.dataset_key = d.key AND p.version = s.version
                          AND p.expires_at > {NOW})
        AND NOT (s.version = (SELECT max(version) FROM table_snapshots WHERE dataset_key = d.key)
                 AND d.deleted_at IS NULL))"""  # noqa: S608


def _is_expired_object(vacuum_before: str) -> str:
    """True of an object `o` of a dataset `d` that no snapshot names.

    A pin that was taken while the grace lasted also keeps the documents that it was taken by.
    """
    return f"""(o.gap_end <> (SELECT gap_end FROM meta_state)
      OR o.handed_out_at < {_kept_before(vacuum_before)}
        AND NOT EXISTS (SELECT FROM pins p WHERE p.dataset_key = d.key AND p.expires_at > {NOW}
                          AND p.created_at <= o.handed_out_at + make_interval(secs => :grace)))"""  # noqa: S608


_REMOVE_SNAPSHOTS = text(f"""
    DELETE FROM table_snapshots s USING datasets d
    WHERE s.dataset_key = :key AND d.key = :key AND {_is_expired_snapshot("d.vacuum_before")}
""")  # noqa: S608
_REMOVE_OBJECTS = text(f"""
    DELETE FROM table_objects WHERE id = ANY(ARRAY(
      SELECT o.id FROM table_objects o JOIN datasets d ON d.key = o.dataset_key
      WHERE o.dataset_key = :key AND {_is_expired_object("d.vacuum_before")}
        AND o.id NOT IN (SELECT unnest(object_ids) FROM table_snapshots WHERE dataset_key = :key)
      ORDER BY o.id LIMIT :most))
    RETURNING object_key, size_bytes
""")  # noqa: S608
_COUNT_EXPIRED = text(f"""
    SELECT o.dataset_key, count(*), sum(o.size_bytes)::bigint
    FROM datasets d CROSS JOIN (SELECT {ago(":older_than")} AS at) m
      JOIN table_objects o ON o.dataset_key = d.key
    WHERE d.key = ANY(cast(:keys AS integer[])) AND {_is_expired_object("m.at")}
      AND o.id NOT IN (
        SELECT unnest(s.object_ids) FROM table_snapshots s
        WHERE s.dataset_key = d.key AND NOT {_is_expired_snapshot("m.at")})
    GROUP BY o.dataset_key
""")  # noqa: S608
_IS_CHOSEN = "(cast(:only AS integer) IS NULL OR d.key = :only)"
_USE = text(f"""
    WITH named AS MATERIALIZED (
      SELECT DISTINCT unnest(s.object_ids) AS id
      FROM table_snapshots s JOIN datasets d ON d.key = s.dataset_key
      WHERE {_IS_CHOSEN} AND NOT {_is_expired_snapshot("d.vacuum_before")})
    SELECT is_due, count(*), sum(size_bytes)::bigint FROM (
      SELECT {_is_expired_object("d.vacuum_before")} AND n.id IS NULL AS is_due, o.size_bytes
      FROM table_objects o JOIN datasets d ON d.key = o.dataset_key LEFT JOIN named n ON n.id = o.id
      WHERE {_IS_CHOSEN}) u
    GROUP BY is_due
""")  # noqa: S608
# One row of a dataset lets all of its rows be examined.
_REOPEN = tuple(
    text(f"""
        UPDATE {table} SET examined_at = '-infinity' WHERE ctid = ANY(ARRAY(
          SELECT (SELECT ctid FROM {table} WHERE dataset_key = k LIMIT 1)
          FROM unnest(cast(:keys AS integer[])) k))
    """)  # noqa: S608
    for table in ("table_snapshots", "table_objects")
)
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
    removed = tx.execute(_REMOVE_OBJECTS, values).all()
    if len(removed) < most:
        for statement in _EXAMINED:
            tx.execute(statement, values)
    is_due = tx.execute(_DUE, {"grace": grace_secs}).scalar_one_or_none() is not None
    keys, sizes = tuple(row[0] for row in removed), tuple(row[1] for row in removed)
    return Expired(keys, is_due, dataset_key, sizes)


def reopen(tx: Transaction, dataset_keys: Sequence[int]) -> None:
    """Let the next call examine the metadata of datasets, though it was examined lately."""
    for statement in _REOPEN:
        tx.execute(statement, {"keys": pg_arrays.numbers(dataset_keys)})


def count_expired(tx: Transaction, values: dict[str, object]) -> dict[int, tuple[int, int]]:
    """Objects and bytes that a vacuum of some datasets would remove, by their keys.

    `values` are the keys, the age in seconds and the server's grace.
    """
    rows = tx.execute(_COUNT_EXPIRED, values)
    return {key: (objects, size_bytes) for key, objects, size_bytes in rows}


def count_use(
    tx: Transaction, dataset_key: int | None, grace_secs: float
) -> tuple[TableObjectAmount, TableObjectAmount]:
    """Objects of one dataset or of all that may be deleted now, and those that stay."""
    rows = tx.execute(_USE, {"only": dataset_key, "grace": grace_secs})
    amounts = {is_due: TableObjectAmount(*amount) for is_due, *amount in rows}
    return amounts.get(True, TableObjectAmount()), amounts.get(False, TableObjectAmount())


def orphans(tx: Transaction, epochs: dict[str, int]) -> set[str]:
    """Keys, given with their epochs, that no row names and that nothing registers any more."""
    keys = list(epochs)
    values = {"epochs": [epochs[key] for key in keys], "age": ORPHAN_AGE_SECS}
    old = {keys[index - 1] for index in tx.execute(_OLD, values).scalars()}
    return old - set(tx.execute(_REGISTERED, {"keys": list(old)}).scalars())
