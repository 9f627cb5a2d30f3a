"""Streams by id for people: their offsets, their state, and how far some of their datasets are.

ids of a page --> heads and floors --> some entries of each stream, those that are behind first
  --> merged offsets of these entries
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from uuid import UUID

from sqlalchemy import text

from meta.store.catalog import shown_names
from meta.store.engine import pg_arrays, scope
from meta.store.engine.pool import Transaction
from meta.store.streams import merged_offsets
from meta.store.streams.detached_streams import IS_DETACHED
from meta.store.streams.merged_offsets import Backlogs
from meta.store.streams.streams import COLLECTOR_ID_SQL

# Unmerged baby segments of a stream, and stamps of each, that decide which entries are behind.
BABIES_MAX, STAMPS_MAX = 1_000, 100
_BEHIND_MAX = 100
STREAMS_MAX = 100_000


class StreamFilter(Enum):
    """Condition of the streams that are listed."""

    ALL = "true"
    ACTIVE = f"s.stopped_offset IS NULL AND NOT {IS_DETACHED.format('s')}"
    STOPPED = "s.stopped_offset IS NOT NULL"
    DETACHED = f"s.stopped_offset IS NULL AND {IS_DETACHED.format('s')}"


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """One stream that has not retired; offsets -1 and times 0 = none, in nanoseconds."""

    stream_id: UUID
    collector_id: str
    principal: str
    is_detached: bool
    deleted_offset: int
    merged_offset: int
    committed_offset: int
    stopped_offset: int | None
    stopped_at_nanos: int
    stop_reason: int
    last_activity_nanos: int
    oldest_committed_at_nanos: int


@dataclass(frozen=True, slots=True)
class EntryFacts:
    """A dataset of a stream, and how far it has merged."""

    dataset_id: UUID
    dataset_name: str
    merged_offset: int


@dataclass(frozen=True, slots=True)
class StreamCounts:
    """Numbers of streams, each up to a bound."""

    active: int
    stopped: int
    detached: int


_NANOS = "(extract(epoch FROM {}) * 1000000)::bigint * 1000"
_IDS = {
    choice: text(
        f"SELECT s.id FROM ingest_streams s WHERE s.retired_at IS NULL AND s.id > :after"  # noqa: S608
        f" AND {choice.value} ORDER BY s.id LIMIT :most"
    )
    for choice in StreamFilter
}
_STREAMS = text(f"""
    SELECT f.id, f.collector, f.principal, f.is_detached, f.deleted_offset, f.merged,
      f.committed_offset, f.stopped_offset, coalesce(f.stopped_at_nanos, 0),
      coalesce(f.stop_reason, 0), f.active_nanos,
      coalesce((SELECT {_NANOS.format("b.committed_at")} FROM baby_segments b
                WHERE b.stream_id = f.id AND b."offset" = f.merged + 1
                  AND f.merged < f.committed_offset), 0)
    FROM (
      SELECT s.*, {COLLECTOR_ID_SQL} AS collector, h.committed_offset,
        {IS_DETACHED.format("s")} AND s.stopped_offset IS NULL AS is_detached,
        {_NANOS.format("h.last_activity_at")} AS active_nanos,
        coalesce({merged_offsets.lowest_in("s", "h")}, h.committed_offset) AS merged
      FROM unnest(cast(:ids AS uuid[])) AS w (id)
        CROSS JOIN LATERAL (
          SELECT * FROM ingest_streams WHERE id = w.id AND retired_at IS NULL OFFSET 0) s
        CROSS JOIN LATERAL (SELECT * FROM stream_heads WHERE stream_id = w.id OFFSET 0) h) f
    ORDER BY f.id
""")  # noqa: S608
# One more than asked for, which tells that there are more.
_ENTRIES = scope.statement(f"""
    WITH w AS MATERIALIZED (
      SELECT * FROM unnest(cast(:ids AS uuid[]), cast(:floors AS bigint[])) AS w (id, floor)
    ), behind AS MATERIALIZED (
      SELECT DISTINCT b.stream_id, e.dataset_id
      FROM w CROSS JOIN LATERAL (
          SELECT stream_id, "offset", dataset_ids[1:{STAMPS_MAX}] AS stamps FROM baby_segments
          WHERE stream_id = w.id AND "offset" > w.floor ORDER BY "offset" LIMIT {_BEHIND_MAX}) b
        CROSS JOIN LATERAL unnest(b.stamps) AS stamp (id)
        CROSS JOIN LATERAL (
          SELECT dataset_id, merged_offset FROM stream_datasets
          WHERE stream_id = b.stream_id AND dataset_id = stamp.id
            AND base_offset < b."offset" OFFSET 0) e
      WHERE e.merged_offset < b."offset"
    )
    SELECT c.stream_id, c.dataset_id, {shown_names.of("d")}
    FROM w CROSS JOIN LATERAL (
        SELECT w.id AS stream_id, u.dataset_id, min(u.rank) AS rank FROM (
          (SELECT dataset_id, 0 AS rank FROM behind WHERE stream_id = w.id
           ORDER BY dataset_id LIMIT :most)
          UNION ALL
          (SELECT dataset_id, 1 FROM stream_datasets WHERE stream_id = w.id
           ORDER BY dataset_id LIMIT :most)) u
        GROUP BY u.dataset_id ORDER BY min(u.rank), u.dataset_id LIMIT :most) c
      CROSS JOIN LATERAL (SELECT * FROM datasets WHERE id = c.dataset_id OFFSET 0) d
    ORDER BY c.stream_id, c.rank, c.dataset_id
""")  # noqa: S608
_COUNTS = text(f"""
    SELECT count(*) FILTER (WHERE {StreamFilter.ACTIVE.value}),
      count(*) FILTER (WHERE {StreamFilter.STOPPED.value}),
      count(*) FILTER (WHERE {StreamFilter.DETACHED.value})
    FROM (SELECT * FROM ingest_streams WHERE retired_at IS NULL LIMIT {STREAMS_MAX}) s
""")  # noqa: S608


def ids(tx: Transaction, choice: StreamFilter, after: UUID, most: int) -> list[UUID]:
    """Return the ids of a page of streams."""
    return list(tx.execute(_IDS[choice], {"after": after, "most": most}).scalars())


def read(tx: Transaction, stream_ids: Sequence[UUID]) -> list[StreamFacts]:
    """Return those of some streams that have not retired, by id."""
    rows = tx.execute(_STREAMS, {"ids": pg_arrays.uuids(stream_ids)})
    return [StreamFacts(*row) for row in rows]


def entries(tx: Transaction, floors: Mapping[UUID, int], most: int) -> dict[UUID, list[EntryFacts]]:
    """Return some datasets of streams with their floors, up to one more than `most` of each."""
    values = {
        "ids": pg_arrays.uuids(floors),
        "floors": pg_arrays.numbers(floors.values()),
        "most": most + 1,
    }
    listed = tx.execute(_ENTRIES, values).all()
    dataset_ids = sorted({dataset_id for _, dataset_id, _ in listed})
    merged = {
        (entry.stream_id, entry.dataset_id): entry.merged_offset
        for entry in merged_offsets.read(tx, Backlogs(floors, BABIES_MAX), dataset_ids)
    }
    of_streams: dict[UUID, list[EntryFacts]] = {}
    for stream_id, dataset_id, name in listed:
        entry = EntryFacts(dataset_id, name, merged[stream_id, dataset_id])
        of_streams.setdefault(stream_id, []).append(entry)
    return of_streams


def counts(tx: Transaction) -> StreamCounts:
    """Count the streams that have not retired."""
    return StreamCounts(*tx.execute(_COUNTS).one())
