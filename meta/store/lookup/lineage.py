"""Lineage of records: from a baby through its registration and all merges to live segments.

Registrations and (input, output) pairs are kept while a descendant lives, so the offsets of old
versions are known as well: right before a registration its entry stood at the registration's start.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.errors import InvalidArgument, NotFound, VersionExpired
from meta.store.engine import scope
from meta.store.engine.pool import Transaction
from meta.store.segments import segments
from meta.store.segments.segments import SegmentRow
from meta.store.streams import merged_offsets
from meta.store.streams.stream_reads import BabyRow, make_baby
from meta.store.versions import versions
from segments.offsets import OffsetSpan


@dataclass(frozen=True, slots=True)
class Place:
    """The segments that hold one dataset's records of a baby."""

    dataset_id: UUID
    is_merged: bool
    segments: tuple[SegmentRow, ...]


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """The segments that hold a baby's records; `baby` is None once its row is pruned."""

    is_committed: bool
    is_reaped: bool
    baby: BabyRow | None
    places: tuple[Place, ...]


_STATE = scope.statement(
    "SELECT m.history_floor, d.deletion_horizon"  # noqa: S608
    " FROM meta_state m LEFT JOIN datasets d ON d.id = :dataset AND d.deleted_at IS NULL"
    f" AND {scope.reaches('d')}"
)
# The first registration after the version gives its entry's offset then. Without one, the entry is
# still there, or above if nothing between is its own. A removed entry's streams have no babies
# left.
_OFFSETS_AT = text(f"""
    SELECT coalesce(e.stream_id, r.stream_id) AS stream_id,
           coalesce(r.start_offset, e.merged_offset) AS stream_offset
    FROM (SELECT n.stream_id, {merged_offsets.of_entry("n", "s", "h")} AS merged_offset
          FROM stream_datasets n JOIN ingest_streams s ON s.id = n.stream_id
            JOIN stream_heads h ON h.stream_id = n.stream_id WHERE n.dataset_id = :dataset) e
    FULL JOIN (SELECT DISTINCT ON (stream_id) stream_id, start_offset FROM registrations
      WHERE dataset_id = :dataset AND version > :version ORDER BY stream_id, version) r
    ON r.stream_id = e.stream_id ORDER BY 1
""")  # noqa: S608
_STREAM = text(
    "SELECT h.committed_offset, s.deleted_offset"
    " FROM ingest_streams s JOIN stream_heads h ON h.stream_id = s.id WHERE s.id = :stream"
)
_BABY = text(
    'SELECT stream_id, "offset", start_ns, end_ns, size_bytes, num_records,'
    " (extract(epoch FROM committed_at) * 1000000)::bigint * 1000, dataset_ids"
    ' FROM baby_segments WHERE stream_id = :stream AND "offset" = :offset'
)
_ENTRIES = text(
    "SELECT dataset_id FROM stream_datasets WHERE stream_id = :stream AND base_offset < :offset"
)
_DESCENDANTS = text(
    "WITH RECURSIVE held AS ("
    " SELECT dataset_id, segment_id FROM registrations"
    "  WHERE stream_id = :stream AND start_offset < :offset AND end_offset >= :offset),"
    " chain (dataset_id, id) AS ((SELECT dataset_id, segment_id FROM held"
    "  UNION SELECT h.dataset_id, f.segment_id FROM held h JOIN registration_segments f"
    "   ON f.first_segment_id = h.segment_id)"
    " UNION SELECT c.dataset_id, l.output_id FROM chain c JOIN segment_lineage l"
    "  ON l.input_id = c.id)"
    " SELECT dataset_id, id FROM chain ORDER BY dataset_id, id"
)
_SPANS = text("""
    WITH RECURSIVE sources (id) AS (
      SELECT cast(:id AS uuid)
      UNION SELECT l.input_id FROM segment_lineage l JOIN sources s ON l.output_id = s.id
    ), firsts AS (
      SELECT id FROM sources
      UNION SELECT first_segment_id FROM registration_segments f JOIN sources s
        ON f.segment_id = s.id
    )
    SELECT DISTINCT r.stream_id::text, r.start_offset + 1, r.end_offset
    FROM registrations r JOIN firsts f ON r.segment_id = f.id
""")


def offsets_at(tx: Transaction, dataset_id: UUID, version: int) -> tuple[int, dict[UUID, int]]:
    """The offset per stream up to which exactly a dataset is visible at a version (0 = current).

    Raises NotFound, or VersionExpired if its history is deleted.
    """
    scope.require(dataset_id)
    current = versions.current(tx)
    state = tx.execute(_STATE, {"dataset": dataset_id}).one()
    if state.deletion_horizon is None:
        raise NotFound("there is no such dataset", dataset_id=dataset_id)
    if version > current:
        raise InvalidArgument(
            f"version is {version}, the current version is {current}", field="version"
        )
    read_version = version or current
    is_expired = read_version < max(state.deletion_horizon, state.history_floor)
    if is_expired or versions.is_lost(tx, read_version):
        raise VersionExpired("the version has expired", version=read_version)
    rows = tx.execute(_OFFSETS_AT, {"dataset": dataset_id, "version": read_version})
    return read_version, {row.stream_id: row.stream_offset for row in rows}


def locate(tx: Transaction, stream_id: UUID, offset: int) -> Whereabouts:
    """Locate the records of one baby. Raises NotFound for an unknown stream."""
    key = {"stream": stream_id, "offset": offset}
    stream = tx.execute(_STREAM, key).one_or_none()
    chain = [(row.dataset_id, row.id) for row in tx.execute(_DESCENDANTS, key)]
    held = [(dataset_id, i) for dataset_id, i in chain if i is not None]
    if stream is None and not chain:
        raise NotFound("there is no such stream", stream_id=stream_id)
    baby = next(map(make_baby, tx.execute(_BABY, key)), None)
    entries = tx.execute(_ENTRIES, key).scalars().all()
    ends = merged_offsets.of_stream(tx, stream_id, entries) if entries else {}
    merged = {dataset_id: end >= offset for dataset_id, end in ends.items()}
    merged |= {dataset_id: True for dataset_id, _ in chain}
    rows = segments.get_many(tx, [segment_id for _, segment_id in held])
    live = {UUID(row.id): row for row in rows if row.tombstone_version is None}
    return Whereabouts(
        # A stream whose row is pruned was committed and reaped to its end.
        is_committed=stream is None or offset <= stream.committed_offset,
        is_reaped=stream is None or offset <= stream.deleted_offset,
        baby=baby,
        places=_places(merged, held, live, baby.dataset_ids if baby else None),
    )


def spans_of(tx: Transaction, segment_id: UUID) -> list[OffsetSpan]:
    """The babies of a segment, by the registrations of it and of all that was merged into it."""
    return [OffsetSpan(*row) for row in tx.execute(_SPANS, {"id": segment_id})]


def _places(
    merged: Mapping[UUID, bool],
    chain: list[tuple[UUID, UUID]],
    live: Mapping[UUID, SegmentRow],
    stamps: tuple[UUID, ...] | None,
) -> tuple[Place, ...]:
    """One place per dataset; one that the baby's stamps do not name holds nothing of it."""
    return tuple(
        Place(
            dataset_id,
            is_merged,
            tuple(
                live[segment_id]
                for owner, segment_id in chain
                if segment_id in live
                and owner == dataset_id
                and (stamps is None or dataset_id in stamps)
            ),
        )
        for dataset_id, is_merged in sorted(merged.items())
    )
