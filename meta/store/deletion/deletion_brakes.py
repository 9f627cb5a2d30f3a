"""The deletion brake: deleting much of a dataset at once needs an operator's approval.

It counts segments that were tombstoned without a successor and that the dataset's baseline does
not expire: by a retention that was shortened, or by mistake. Records of a replaced segment are in
the merge's output, and the deletion of a dataset had an operator's approval, so neither is held. A
brake stays until it is released. The release lets through segments that were tombstoned up to its
version, and takes the retention as the baseline.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.store.access import audit
from meta.store.catalog import datasets, shown_names
from meta.store.deletion import baselines
from meta.store.deletion.baselines import SEGMENTS_FLOOR, UNAPPROVED
from meta.store.deletion.due import due_before
from meta.store.engine import scope
from meta.store.engine.pool import Transaction
from meta.store.versions import versions

LISTED_MAX = 100
_LOST = text(f"""
    SELECT DISTINCT s.dataset_key FROM segments s JOIN datasets d ON d.key = s.dataset_key
    LEFT JOIN deletion_brakes b ON b.dataset_key = s.dataset_key
    WHERE s.id = ANY(:ids) AND d.deleted_at IS NULL AND {UNAPPROVED}
""")  # noqa: S608


def _beyond(chosen: str) -> str:
    """Chosen datasets `d` that lose more than the brake lets through."""
    # Includes segments that are due within the next hour: retention tombstones in batches, and the
    # first one alone would be small.
    return f"""
    SELECT d.key, now(), lost.segments, lost.size_bytes, t.live_compressed_size_bytes
    FROM datasets d JOIN dataset_stats t ON t.dataset_key = d.key CROSS JOIN LATERAL (
        SELECT count(*) AS segments, coalesce(sum(s.compressed_size_bytes), 0) AS size_bytes
        FROM segments s LEFT JOIN deletion_brakes b ON b.dataset_key = s.dataset_key
        WHERE s.dataset_key = d.key AND s.tombstone_version IS NOT NULL
          AND s.tombstone_at < {due_before()} + interval '1 hour'
          AND {UNAPPROVED}) lost
    WHERE {chosen} AND lost.segments > :floor
      AND lost.size_bytes * 100 > :percent * (lost.size_bytes + t.live_compressed_size_bytes)
    ORDER BY d.key
"""  # noqa: S608


_BRAKE = text(f"""
    INSERT INTO deletion_brakes AS held (dataset_key, braked_at, segments, size_bytes,
      live_size_bytes) {_beyond("d.key = ANY(:keys)")}
    ON CONFLICT (dataset_key) DO UPDATE SET braked_at = coalesce(held.braked_at, now()),
      segments = excluded.segments, size_bytes = excluded.size_bytes,
      live_size_bytes = excluded.live_size_bytes
    RETURNING dataset_key
""")
_FORESEE = scope.statement(f"""
    SELECT d.id, {shown_names.of("d")}, f.segments, f.size_bytes::bigint
    FROM ({_beyond("d.id = ANY(:ids) AND d.deleted_at IS NULL")}) f JOIN datasets d ON d.key = f.key
    WHERE NOT EXISTS (SELECT FROM deletion_brakes b
                      WHERE b.dataset_key = f.key AND b.braked_at IS NOT NULL)
    ORDER BY f.size_bytes DESC, f.key
""")  # noqa: S608
_HELD = text(f"""
    SELECT s.id FROM segments s JOIN deletion_brakes b ON b.dataset_key = s.dataset_key
    WHERE s.id = ANY(:ids) AND s.dataset_key = ANY(:keys) AND {UNAPPROVED}
""")  # noqa: S608
_BRAKES = f"""
    SELECT d.id, {shown_names.of("d")}, b.segments, b.size_bytes, b.live_size_bytes,
           (extract(epoch FROM b.braked_at) * 1000000000)::bigint
    FROM deletion_brakes b JOIN datasets d ON d.key = b.dataset_key
    WHERE b.braked_at IS NOT NULL AND d.deleted_at IS NULL
"""  # noqa: S608
_LIST = scope.statement(f"""
    {_BRAKES} AND {scope.reaches("d")}
      AND (cast(:visible AS uuid[]) IS NULL OR d.id = ANY(:visible))
    ORDER BY b.braked_at, b.dataset_key LIMIT {LISTED_MAX}
""")
_FIND = scope.statement(f"{_BRAKES} AND b.dataset_key = :key")
_RELEASE = text("""
    UPDATE deletion_brakes SET braked_at = NULL, released_version = :version
    WHERE dataset_key = :key AND braked_at IS NOT NULL
    RETURNING segments, size_bytes
""")


@dataclass(frozen=True, slots=True)
class DeletionBrake:
    """A dataset of which nothing more is deleted, and its held segments; sizes compressed."""

    dataset_id: UUID
    dataset_name: str
    segments: int
    size_bytes: int
    live_size_bytes: int
    braked_at_nanos: int


@dataclass(frozen=True, slots=True)
class ForeseenBrake:
    """A dataset that the next deletion brakes, and the segments that it then holds."""

    dataset_id: UUID
    dataset_name: str
    segments: int
    size_bytes: int


def brake(
    tx: Transaction,
    segment_ids: Sequence[UUID],
    dataset_keys: Collection[int],
    *,
    grace_secs: float,
    percent_max: int,
) -> Collection[int]:
    """Brake the datasets that would lose more than `percent_max` percent; returns their keys.

    `segment_ids` are due for deletion, held by no brake so far, and all of these datasets, whose
    rows the caller holds.
    """
    if not segment_ids:
        return ()
    baselines.settle(tx, dataset_keys, percent_max)
    if percent_max >= 100:
        return ()
    keys = list(tx.execute(_LOST, {"ids": list(segment_ids)}).scalars())
    if not keys:
        return ()
    values = {"keys": keys, **_bounds(grace_secs, percent_max)}
    return set(tx.execute(_BRAKE, values).scalars())


def foresee(
    tx: Transaction, dataset_ids: Collection[UUID], *, grace_secs: float, percent_max: int
) -> Sequence[ForeseenBrake]:
    """Return the brakes to come, of datasets with segments without a successor that fall due.

    A baseline that `brake` settles before it counts lets nothing of them through, because a dataset
    beyond the bound is not settled.
    """
    if percent_max >= 100 or not dataset_ids:
        return ()
    values = {"ids": list(dataset_ids), **_bounds(grace_secs, percent_max)}
    return [ForeseenBrake(*row) for row in tx.execute(_FORESEE, values)]


def _bounds(grace_secs: float, percent_max: int) -> dict[str, float]:
    return {"grace": grace_secs, "percent": percent_max, "floor": SEGMENTS_FLOOR}


def unapproved(tx: Transaction, segment_ids: Sequence[UUID], keys: Collection[int]) -> set[UUID]:
    """Of some segments, those that the brakes of these datasets hold."""
    return set(tx.execute(_HELD, {"ids": list(segment_ids), "keys": list(keys)}).scalars())


def list_visible(tx: Transaction) -> list[DeletionBrake]:
    """The brakes of datasets that the caller may see, the first ones first."""
    rows = tx.execute(_LIST, {"visible": scope.visible_ids()})
    return [DeletionBrake(*row) for row in rows]


def find(tx: Transaction, dataset_key: int) -> DeletionBrake | None:
    """The brake of a dataset, None without one."""
    row = tx.execute(_FIND, {"key": dataset_key}).one_or_none()
    return None if row is None else DeletionBrake(*row)


def release(tx: Transaction, dataset_name: str) -> bool:
    """Let through all segments tombstoned by now; False without a brake. Raises NotFound."""
    dataset = datasets.get(tx, dataset_name)
    values = {"key": dataset.key, "version": versions.current(tx)}
    row = tx.execute(_RELEASE, values).one_or_none()
    if row is None:
        return False
    baselines.accept(tx, dataset.key)
    detail = f"{row.segments} segments of {row.size_bytes} bytes of dataset {dataset.name!r}"
    audit.note(tx, "ReleaseDeletionHold", dataset.id, detail)
    return True
