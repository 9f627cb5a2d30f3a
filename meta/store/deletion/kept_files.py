"""Deleted datasets whose objects stay: their segments leave the catalog, nothing is condemned.

The bucket notes each of them once it cannot be undeleted, so that a catalog that is rebuilt from
the bucket leaves the objects out too. Its rows go after that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from uuid import UUID

from sqlalchemy import TextClause, text

from meta.store.catalog import shown_names
from meta.store.deletion import tombstones
from meta.store.deletion.due import GRACE_BEFORE
from meta.store.engine import pg_arrays, scope
from meta.store.engine.pool import Transaction
from meta.store.pins import pins
from meta.store.segments import object_keys, stats
from meta.store.versions.clock import NOW
from segments.keys import AttemptKey, MergedKey, join_key, parse_key

SEGMENTS_AT_ONCE = 1_000
DATASETS_AT_ONCE = 100


class KeptFilesState(IntEnum):
    """State of a dataset's objects once it is deleted."""

    # They are deleted with it.
    NONE = 0
    # They stay.
    REQUESTED = 1
    # The bucket says so.
    NOTED = 2
    # No row of a segment is left.
    FORGOTTEN = 3


@dataclass(frozen=True, slots=True)
class KeptDataset:
    """A deleted dataset whose objects stay."""

    dataset_id: UUID
    name: str


_UNNOTED = scope.statement(f"""
    SELECT id, {shown_names.of("datasets")} FROM datasets
    WHERE kept_files IN (1, 2) AND kept_files = {KeptFilesState.REQUESTED:d}
      AND purged_at IS NOT NULL
    ORDER BY key LIMIT :most
""")  # noqa: S608
_NOTE = text(f"""
    UPDATE datasets SET kept_files = {KeptFilesState.NOTED:d}
    WHERE id = :dataset AND kept_files = {KeptFilesState.REQUESTED:d} AND purged_at IS NOT NULL
""")  # noqa: S608
# Readers of versions that show it have their grace, and pins their time, as if it were buried.
_NEXT = text(f"""
    SELECT d.key, (SELECT max(to_version) FROM dataset_visibility WHERE dataset_key = d.key)
    FROM datasets d
    WHERE d.kept_files IN (1, 2) AND d.kept_files = {KeptFilesState.NOTED:d}
      AND d.purged_at < {GRACE_BEFORE}
      AND NOT EXISTS (SELECT FROM pins p WHERE p.dataset_key = d.key AND p.expires_at > {NOW})
    ORDER BY d.key LIMIT 1 FOR UPDATE OF d SKIP LOCKED
""")  # noqa: S608
# Hidden ones too. Others with a tombstone were merged or expired before: their objects are deleted.
_SEGMENTS = text("""
    SELECT id, prefix, object_name, size_bytes, compressed_size_bytes, number_of_events,
           tombstone_version IS NULL AS is_live
    FROM segments
    WHERE dataset_key = :key AND (tombstone_version IS NULL OR tombstone_at = 'infinity')
    ORDER BY id LIMIT :most FOR UPDATE
""")
_EXPIRE = text("""
    UPDATE datasets SET deletion_horizon = greatest(deletion_horizon, :horizon),
                        pins_horizon = greatest(deletion_horizon, :horizon)
    WHERE key = :key
""")
_FINISH = text("UPDATE datasets SET kept_files = :state WHERE key = :key")
_KEPT = text(f"""
    SELECT id::text FROM datasets
    WHERE id = ANY(cast(:ids AS uuid[])) AND purged_at IS NOT NULL
      AND kept_files <> {KeptFilesState.NONE:d}
""")  # noqa: S608


def list_unnoted(tx: Transaction) -> list[KeptDataset]:
    """Some datasets that cannot be undeleted and that the bucket does not note yet."""
    return [KeptDataset(*row) for row in tx.execute(_UNNOTED, {"most": DATASETS_AT_ONCE})]


def mark_noted(tx: Transaction, dataset_id: UUID) -> None:
    """Record that the bucket notes a dataset; its rows are deleted from then on."""
    tx.execute(_NOTE, {"dataset": dataset_id})


def forget(tx: Transaction, grace_secs: float) -> bool:
    """Forget some segments of one dataset; False if no dataset is due.

    Versions that show the dataset expire with the first of them.
    """
    row = tx.execute(_NEXT, {"grace": grace_secs}).one_or_none()
    if row is None:
        return False
    key, horizon = row
    # Under the lock no pin can be taken at a version that expires here.
    if pins.lock_horizons(tx, [key]):
        return False
    tx.execute(_EXPIRE, {"key": key, "horizon": horizon})
    rows = tx.execute(_SEGMENTS, {"key": key, "most": SEGMENTS_AT_ONCE}).all()
    # Nothing says that the objects were deleted, or may be.
    object_keys.forget(tx, [join_key(row.prefix, row.object_name) for row in rows])
    tombstones.remove_rows(tx, [row.id for row in rows])
    stats.add(
        tx,
        [
            stats.Change(
                key,
                live_segments=-int(row.is_live),
                live_size_bytes=-row.size_bytes * row.is_live,
                live_compressed_size_bytes=-row.compressed_size_bytes * row.is_live,
                all_segments=-1,
                live_records=-row.number_of_events * row.is_live,
            )
            for row in rows
        ],
    )
    if len(rows) < SEGMENTS_AT_ONCE:
        tx.execute(_FINISH, {"key": key, "state": int(KeptFilesState.FORGOTTEN)})
    return True


def keys_among(tx: Transaction, keys: Sequence[str]) -> set[str]:
    """The keys of merged segments that belong to a dataset whose objects stay permanently."""
    return keys_of(tx, keys, _KEPT)


def keys_of(tx: Transaction, keys: Sequence[str], datasets: TextClause) -> set[str]:
    """The keys of merged segments of those datasets that a statement selects of some ids."""
    owners = {
        key: name.dataset_id
        for key in keys
        if isinstance(name := parse_key(key), MergedKey | AttemptKey)
    }
    ids = pg_arrays.uuids([UUID(dataset_id) for dataset_id in sorted(set(owners.values()))])
    selected = set(tx.execute(datasets, {"ids": ids}).scalars()) if owners else set()
    return {key for key, dataset_id in owners.items() if dataset_id in selected}
