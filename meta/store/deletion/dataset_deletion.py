"""Dataset deletion: a grace during which it can be undone, then the segments are tombstoned."""

from uuid import UUID

from sqlalchemy import text

from meta.errors import (
    DatasetProtected,
    NotFound,
    QuotaExceeded,
    StillReferenced,
    UndeleteExpired,
)
from meta.store.access import audit, creator_quotas, tenant_shares
from meta.store.catalog import datasets, links, shown_names
from meta.store.catalog.datasets import Dataset
from meta.store.deletion import kept_files
from meta.store.engine import scope
from meta.store.engine.pool import Transaction
from meta.store.locks.held_datasets import is_held
from meta.store.merging import merge_tasks
from meta.store.segments import burial, stats
from meta.store.versions import versions
from meta.store.versions.clock import ago

# The counter is held while they are tombstoned.
SEGMENTS_AT_ONCE = 200
TASKS_AT_ONCE = 200
_SHOWN_BLOCKERS = 10

_LOCK = scope.statement(
    f"SELECT id, key, {shown_names.of('datasets')} AS name, is_default, store FROM datasets"  # noqa: S608
    f" WHERE id = :dataset AND deleted_at IS NULL AND {scope.reaches('datasets')} FOR UPDATE"
)
_BLOCKERS = text("""
    (SELECT 'token ' || name FROM ingest_tokens
     WHERE revoked_at IS NULL
       AND :dataset IN (logs_dataset_id, traces_dataset_id, metrics_dataset_id)
     ORDER BY id LIMIT :most)
    UNION ALL
    (SELECT 'stream ' || stream_id FROM stream_datasets WHERE dataset_id = :dataset
     ORDER BY stream_id LIMIT :most)
""")
_DELETE = text(
    "UPDATE datasets SET deleted_at = clock_timestamp(), kept_files = :kept_files"
    " WHERE id = :dataset"
)
_HIDE = text(
    "UPDATE dataset_visibility SET to_version = :version"
    " WHERE dataset_key = :key AND to_version IS NULL"
)
# A dataset of a deleted tenant has no grace of its own.
_IS_OVER = f"""
    (deleted_at <= {ago(":grace")} OR deleted_at IS NOT NULL
       AND tenant_key IN (SELECT key FROM tenants WHERE purged_at IS NOT NULL))
    AND NOT {is_held("datasets")}
"""  # noqa: S608
_LOCK_DELETED = scope.statement(f"""
    SELECT id, key, {shown_names.of("datasets")} AS name, is_default, store,
           deleted_at IS NULL AS is_live,
           purged_at IS NOT NULL OR {_IS_OVER} AS is_over
    FROM datasets WHERE id = :dataset AND {scope.reaches("datasets")} FOR UPDATE
""")  # noqa: S608
_RESTORE = text(
    "UPDATE datasets SET deleted_at = NULL, kept_files = :kept_files WHERE id = :dataset"
)
_SHOW = text("INSERT INTO dataset_visibility (dataset_key, from_version) VALUES (:key, :version)")
_PURGE = text(f"""
    UPDATE datasets SET purged_at = clock_timestamp() WHERE id = ANY(ARRAY(
        SELECT id FROM datasets
        WHERE purged_at IS NULL AND deleted_at IS NOT NULL AND {_IS_OVER}
          AND NOT EXISTS (SELECT FROM merge_tasks WHERE dataset_key = datasets.key AND state = 1)
        ORDER BY deleted_at LIMIT 100 FOR UPDATE SKIP LOCKED))
""")  # noqa: S608
_PURGED_SEGMENTS = text("""
    SELECT s.id FROM datasets d CROSS JOIN LATERAL (
        SELECT id FROM segments
        WHERE dataset_key = d.key AND tombstone_version IS NULL
        ORDER BY created_at, id LIMIT :most) s
    WHERE d.purged_at IS NOT NULL AND d.kept_files = 0 LIMIT :most
""")
# Nobody can put a hidden segment of a purged dataset back.
_END_HIDING = text("""
    UPDATE segments SET tombstone_at = clock_timestamp() WHERE id = ANY(ARRAY(
        SELECT s.id FROM datasets d JOIN segments s ON s.dataset_key = d.key
        WHERE d.purged_at IS NOT NULL AND d.kept_files = 0 AND s.tombstone_version IS NOT NULL
          AND s.tombstone_at = 'infinity' ORDER BY s.id LIMIT :most FOR UPDATE OF s SKIP LOCKED))
""")


def delete(tx: Transaction, identifier: UUID | str, *, keeps_files: bool = False) -> bool:
    """Delete a dataset; False if there is none. Raises StillReferenced, DatasetProtected.

    With `keeps_files` its objects stay once it is purged, else they go. One row hides all its
    segments: nothing of it is read at versions from now on. Its tasks are dead from then on too,
    and are closed in pages by `cancel_tasks`.
    """
    matching = datasets.find_either(tx, identifier)
    if matching is None:
        return False
    row = tx.execute(_LOCK, {"dataset": matching.id}).one_or_none()
    if row is None:
        return False
    dataset = Dataset(*row)
    _check_deletable(tx, dataset)
    detail = f"name {dataset.name!r}{', files kept' if keeps_files else ''}"
    audit.note(tx, "DeleteDataset", dataset.id, detail)
    links.remove_of_dataset(tx, dataset.id)
    version = versions.allocate(tx)
    state = kept_files.KeptFilesState.REQUESTED if keeps_files else kept_files.KeptFilesState.NONE
    tx.execute(_DELETE, {"dataset": dataset.id, "kept_files": int(state)})
    tx.execute(_HIDE, {"key": dataset.key, "version": version})
    return True


def cancel_tasks(tx: Transaction) -> int:
    """Cancel some open tasks of deleted datasets; returns how many.

    Nobody sees them as open since the deletion. Those that are left when the dataset is undeleted
    are open again.
    """
    tasks = merge_tasks.lock_some_of_deleted(tx, TASKS_AT_ONCE)
    stats.add(tx, merge_tasks.cancel(tx, tasks))
    return len(tasks)


def undelete(
    tx: Transaction, dataset_id: UUID, *, grace_secs: float, live_max: int, creator_max: int = 0
) -> tuple[Dataset, bool]:
    """Bring a dataset back while its grace lasts; the second value is False if it was live.

    Visibility is a second interval, so the versions between show the same as before. Raises
    NotFound, UndeleteExpired, NameTaken, QuotaExceeded.
    """
    values = {"dataset": dataset_id, "grace": grace_secs}
    row = tx.execute(_LOCK_DELETED, values).one_or_none()
    if row is None:
        raise NotFound("there is no such dataset", dataset_id=dataset_id)
    dataset = Dataset(row.id, row.key, row.name, row.is_default, row.store)
    if row.is_live:
        return dataset, False
    if row.is_over:
        raise UndeleteExpired("the time in which it can come back is over", dataset_id=dataset_id)
    audit.note(tx, "UndeleteDataset", dataset_id, f"name {dataset.name!r}")
    state = kept_files.KeptFilesState.NONE
    tx.execute(_RESTORE, {"dataset": dataset_id, "kept_files": int(state)})
    version = versions.allocate(tx)
    tx.execute(_SHOW, {"key": dataset.key, "version": version})
    datasets.stamp(tx, dataset.id, version)
    if datasets.count_live(tx) > live_max:
        raise QuotaExceeded(f"there are {live_max} datasets already", limit=live_max)
    tenant_shares.check(tx, "datasets", live_max)
    creator_quotas.check_datasets(tx, dataset.id, creator_max)
    return dataset, True


def purge(tx: Transaction, grace_secs: float) -> int:
    """End the grace of deleted datasets and bury some of their segments; returns how many.

    From the first step on they cannot be undeleted. Their objects are deleted like any other's,
    but for those of datasets that keep them, which `kept_files` forgets.
    """
    tx.execute(_PURGE, {"grace": grace_secs})
    tx.execute(_END_HIDING, {"most": SEGMENTS_AT_ONCE})
    ids = list(tx.execute(_PURGED_SEGMENTS, {"most": SEGMENTS_AT_ONCE}).scalars())
    if not ids:
        return 0
    return burial.bury(tx, sorted(ids), versions.allocate(tx))


def _check_deletable(tx: Transaction, dataset: Dataset) -> None:
    if dataset.is_default:
        raise DatasetProtected("the default dataset cannot be deleted", dataset_id=dataset.id)
    values = {"dataset": dataset.id, "most": _SHOWN_BLOCKERS}
    blockers = list(tx.execute(_BLOCKERS, values).scalars())
    if blockers:
        raise StillReferenced(
            "tokens route to the dataset or streams hold records for it",
            dataset_id=dataset.id,
            blockers=", ".join(blockers),
        )
