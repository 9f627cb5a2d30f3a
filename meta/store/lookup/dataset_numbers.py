"""Live numbers of a dataset: those of the segments that FindSegments returns at a version."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.store.engine import pg_arrays, scope
from meta.store.engine.pool import Transaction
from meta.store.lookup import lookup
from meta.store.versions import versions


@dataclass(frozen=True, slots=True)
class DatasetNumbers:
    """Numbers of a dataset at a version; sizes in bytes, times in nanoseconds.

    `record_count` is None before the upgrade from 0.3.0 is finished, which counts records. The
    times are None if no segment is live.
    """

    version: int
    record_count: int | None
    record_size: int
    segment_count: int
    segment_size: int
    start_time_nanos: int | None
    end_time_nanos: int | None


# The first and the last time cannot be counted down. Each is the end of an index of live segments;
# their conditions are those of the indexes.
_NUMBERS = """CASE WHEN k.records_counted THEN k.live_records END AS records,
      k.live_size_bytes, k.live_segments, k.live_compressed_size_bytes,
      least((SELECT start_ns FROM segments
             WHERE dataset_key = k.dataset_key AND tombstone_version IS NULL
               AND quarantined_at IS NULL AND compressed_size_bytes < 268435456
             ORDER BY dataset_key, start_ns, id LIMIT 1),
            (SELECT start_ns FROM segments
             WHERE dataset_key = k.dataset_key AND tombstone_version IS NULL
               AND (quarantined_at IS NOT NULL OR compressed_size_bytes >= 268435456)
             ORDER BY dataset_key, start_ns, id LIMIT 1)) AS start_ns,
      (SELECT end_ns FROM segments
       WHERE dataset_key = k.dataset_key AND tombstone_version IS NULL
       ORDER BY dataset_key DESC, end_ns DESC, id DESC LIMIT 1) AS end_ns"""
_CURRENT = text(f"SELECT {_NUMBERS} FROM dataset_stats k WHERE k.dataset_key = :key")  # noqa: S608
# Each dataset is looked up, so that the ids lead.
_OF_SEVERAL = scope.statement(f"""
    SELECT d.id, {_NUMBERS}
    FROM unnest(cast(:ids AS uuid[])) AS w (id)
      CROSS JOIN LATERAL (
        SELECT id, key FROM datasets
        WHERE id = w.id AND deleted_at IS NULL AND {scope.reaches("datasets")} OFFSET 0) d
      CROSS JOIN LATERAL (SELECT * FROM dataset_stats WHERE dataset_key = d.key OFFSET 0) k
    ORDER BY d.id
""")  # noqa: S608
_AT_VERSION = text("""
    SELECT coalesce(sum(number_of_events), 0)::bigint, coalesce(sum(size_bytes), 0)::bigint,
      count(*), coalesce(sum(compressed_size_bytes), 0)::bigint, min(start_ns), max(end_ns)
    FROM segments
    WHERE dataset_key = :key AND created_version <= :version
      AND (tombstone_version IS NULL OR tombstone_version > :version)
""")


def read(tx: Transaction, identifier: UUID | str, requested: int | None) -> DatasetNumbers:
    """The numbers of a dataset at a version, None for the current one; `tx` is a snapshot.

    A dataset is named as it was named then. Raises NotFound, VersionExpired.
    """
    snapshot = versions.snapshot(tx)
    version = lookup.readable_version(tx, snapshot, requested, field="version")
    key = lookup.visible_dataset(tx, identifier, version).key
    statement = _CURRENT if version == snapshot.version else _AT_VERSION
    row = tx.execute(statement, {"key": key, "version": version}).one()
    return DatasetNumbers(version, *row)


def read_several(tx: Transaction, dataset_ids: Sequence[UUID]) -> dict[UUID, DatasetNumbers]:
    """The current numbers of those of some datasets that are live and that the caller may see."""
    version = versions.snapshot(tx).version
    visible = [each for each in dataset_ids if scope.is_visible(each)]
    rows = tx.execute(_OF_SEVERAL, {"ids": pg_arrays.uuids(visible)})
    return {row[0]: DatasetNumbers(version, *row[1:]) for row in rows}
