"""Reads of a nursery: streams with their entries, checkpoints and unmerged babies.

Set-wise: a handful of statements however many streams. Each runs in one REPEATABLE READ snapshot,
so the version that is read in it labels all of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Row, text

from meta.store.engine.pool import Transaction
from meta.store.engine.timelines import IS_HELD
from meta.store.streams import merged_offsets
from meta.store.streams.detached_streams import IS_DETACHED
from meta.store.streams.stream_ends import WHOLE_STREAM
from meta.store.streams.streams import COLLECTOR_ID_SQL
from meta.store.streams.tokens import TokenRouting
from meta.store.versions.clock import ago

# Below every id.
NO_ID = UUID(int=0)
# Above every version.
VERSION_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class StreamScope:
    """A filter of streams: shards, and only what changed after `since` (0 = everything).

    Entries of `waiting` datasets do not hold back which babies are read. `omits_merged` omits
    entries that have nothing to merge.
    """

    since: int = 0
    shard_indexes: tuple[int, ...] = (0,)
    shard_count: int = 1
    waiting: tuple[UUID, ...] = ()
    omits_merged: bool = False

    def values(self) -> dict[str, object]:
        """The parameters of its conditions."""
        return {
            "since": self.since,
            "shards": self.shard_count,
            "indexes": list(self.shard_indexes),
        }


@dataclass(frozen=True, slots=True)
class StreamRow:
    """One stream that has not retired. Offsets -1 = none; times in nanoseconds."""

    id: UUID
    collector_id: str
    # The owner's principal; "" = it has no owner.
    principal: str
    stopped_at_nanos: int | None
    stopped_offset: int | None
    deleted_offset: int
    deleted_ingest_time_nanos: int
    committed_offset: int
    last_activity_nanos: int
    # Up to here every entry has merged; the deleted offset if there is no entry.
    merged_floor: int
    reapable_offset: int
    has_entries: bool
    is_detached: bool


@dataclass(frozen=True, slots=True)
class BabyRow:
    """One committed baby; `dataset_ids` is None if it has no stamps."""

    stream_id: UUID
    offset: int
    start_ns: int
    end_ns: int
    size_bytes: int
    num_records: int
    committed_at_nanos: int
    dataset_ids: tuple[UUID, ...] | None


@dataclass(frozen=True, slots=True)
class PeriodRow:
    """Routing of a token's signals for babies of a stream from an offset on."""

    stream_id: UUID
    token_id: UUID
    from_offset: int
    routing: TokenRouting


# A baby may be reaped once each entry that it may be of has a checkpoint at or beyond it that is
# older than its dataset's grace, or began there. So entries that receive nothing hold back nothing.
# A poll lists one page of a backlog as reapable, so that it reads a bounded number of rows.
_REAPABLE_AT_ONCE = 2_000
_GRACE = (
    "(SELECT coalesce(nullif(d.tombstone_grace_secs, 0), :grace) FROM datasets d"
    " WHERE d.id = e.dataset_id)"
)
_IS_KEPT = f"""coalesce((SELECT c.stream_offset FROM offset_checkpoints c
    WHERE c.stream_id = e.stream_id AND c.dataset_id = e.dataset_id
      AND c.created_at <= {ago(_GRACE)}
    ORDER BY c.created_at DESC LIMIT 1), e.base_offset) < b."offset\""""  # noqa: S608
_UNREAPED = 'FROM baby_segments WHERE stream_id = s.id AND "offset" > s.deleted_offset'
_FIRST_KEPT = f"""(SELECT b."offset" FROM (
    SELECT * {_UNREAPED} ORDER BY "offset" LIMIT {_REAPABLE_AT_ONCE}) b
  WHERE {merged_offsets.awaited_by(_IS_KEPT)} ORDER BY b."offset" LIMIT 1)"""  # noqa: S608
_LAST_OF_PAGE = f"""(SELECT "offset" {_UNREAPED}
  ORDER BY "offset" OFFSET {_REAPABLE_AT_ONCE} - 1 LIMIT 1)"""
# The reapable offset of stream `s`, with `:grace` as the default; null = all that is committed.
_REAPABLE = f"coalesce({_FIRST_KEPT} - 1, {_LAST_OF_PAGE})"
# Streams are chosen first, so that a page costs no more than its content. While deletion is held,
# nothing may be reaped.
_LOWEST = merged_offsets.lowest_in("s", "h", " AND e.dataset_id <> ALL(cast(:waiting AS uuid[]))")
_SELECT_STREAMS = f"""
SELECT s.id, {COLLECTOR_ID_SQL}, s.principal, s.stopped_at_nanos, s.stopped_offset,
  s.deleted_offset, s.deleted_ingest_time_nanos, h.committed_offset,
  (extract(epoch FROM h.last_activity_at) * 1000000)::bigint * 1000,
  coalesce({_LOWEST}, s.deleted_offset),
  CASE WHEN (SELECT {IS_HELD} FROM meta_state) THEN s.deleted_offset
       ELSE coalesce({_REAPABLE}, h.committed_offset) END,
  {merged_offsets.has_entries("s")},
  {IS_DETACHED.format("s")} AND s.stopped_offset IS NULL
FROM (
  SELECT * FROM ingest_streams WHERE retired_at IS NULL {{chosen}}
) s
-- Not merged into a join, which would read all heads for a page of streams.
CROSS JOIN LATERAL (SELECT * FROM stream_heads WHERE stream_id = s.id OFFSET 0) h
ORDER BY s.id
"""  # noqa: S608
_IN_SHARD = (
    " AND (:shards <= 1 OR shard_hash % :shards = ANY(cast(:indexes AS integer[])))"
    " AND id > :after"
    " ORDER BY id LIMIT :most"
)
_ALL = text(_SELECT_STREAMS.format(chosen=_IN_SHARD))
_COUNT = text(
    "SELECT count(*), coalesce(sum((SELECT count(*) FROM stream_datasets e"
    " WHERE e.stream_id = s.id)), 0)::bigint FROM ingest_streams s WHERE s.retired_at IS NULL"
    " AND (:shards <= 1 OR s.shard_hash % :shards = ANY(cast(:indexes AS integer[])))"
)
# Three small index scans: changed streams, streams with changed entries, streams with a backlog.
_IN_CHANGED = f"""
AND id IN (
  SELECT id FROM ingest_streams WHERE retired_at IS NULL
    AND changed_version > :since AND changed_version <= :end
  UNION SELECT stream_id FROM stream_datasets
    WHERE changed_version > :since AND changed_version <= :end
  UNION SELECT p.stream_id FROM stream_heads p WHERE p.is_pending
    AND p.committed_offset > p.merged_floor
    AND {merged_offsets.first_unmerged("p.stream_id", "p.merged_floor")} IS NOT NULL)
"""  # noqa: S608
_CHANGED = text(_SELECT_STREAMS.format(chosen=_IN_CHANGED + _IN_SHARD))
# With many entries, Postgres would plan the statement for each poll: it does not know how many
# have changed, so a kept plan looks dearer than it is. With a second bound, which excludes nothing,
# it expects few, and takes the indexes.
_KEEP_PLAN = text("SET LOCAL plan_cache_mode = force_generic_plan")
_SOME = text(_SELECT_STREAMS.format(chosen=" AND id = ANY(cast(:streams AS uuid[]))"))
_FLOORED = "unnest(cast(:streams AS uuid[]), cast(:floors AS bigint[])) AS k (s, floor)"
_CHECKPOINTS = text(
    "SELECT c.* FROM stream_datasets e CROSS JOIN LATERAL ("
    " SELECT stream_id, dataset_id, version, stream_offset, ingest_timestamp_nanos"
    " FROM offset_checkpoints c WHERE c.stream_id = e.stream_id AND c.dataset_id = e.dataset_id"
    " ORDER BY version DESC LIMIT :most) c"
    " WHERE e.stream_id = ANY(cast(:streams AS uuid[]))"
    " ORDER BY c.stream_id, c.dataset_id, c.version"
)
_BABIES = text(f"""
    SELECT b.* FROM {_FLOORED} CROSS JOIN LATERAL (
      SELECT stream_id, "offset", start_ns, end_ns, size_bytes, num_records,
        (extract(epoch FROM committed_at) * 1000000)::bigint * 1000, dataset_ids
      FROM baby_segments WHERE stream_id = s AND "offset" > floor
      ORDER BY "offset" LIMIT :most) b
""")  # noqa: S608
# A baby without records has nothing to route.
_PERIODS = text(f"""
    SELECT p.stream_id, p.token_id, p.from_offset, p.logs_dataset_id, p.traces_dataset_id,
      p.metrics_dataset_id
    FROM (
      SELECT s FROM {_FLOORED} WHERE EXISTS (
        SELECT FROM (
          SELECT * FROM baby_segments WHERE stream_id = s AND "offset" > floor
          ORDER BY "offset" LIMIT :most) b
        WHERE b.dataset_ids IS NULL AND b.num_records > 0) OFFSET 0) k
      JOIN routing_periods p ON p.stream_id = s
    ORDER BY p.stream_id, p.token_id, p.from_offset
""")  # noqa: S608
_REMOVED = text(
    "SELECT stream_id, dataset_id FROM stream_removals WHERE version > :since"
    " AND (:shards <= 1 OR shard_hash % :shards = ANY(cast(:indexes AS integer[])))"
    " ORDER BY version, stream_id, dataset_id"
)
_FLOOR = text("SELECT removals_floor FROM meta_state")


def count(tx: Transaction, scope: StreamScope) -> tuple[int, int]:
    """Count the streams of the shards and their entries."""
    streams, entries = tx.execute(_COUNT, scope.values()).one()
    return streams, entries


def read_streams(
    tx: Transaction,
    scope: StreamScope,
    grace_secs: float,
    after: UUID = NO_ID,
    most: int | None = None,
) -> list[StreamRow]:
    """The streams that a poll asks for, by id; `grace_secs` is the default deletion grace.

    At most `most` of them, behind `after`.
    """
    values = {
        **scope.values(),
        "grace": grace_secs,
        "waiting": list(scope.waiting),
        "after": after,
        "most": most,
    }
    if scope.since:
        tx.execute(_KEEP_PLAN)
        rows = tx.execute(_CHANGED, {**values, "end": VERSION_MAX})
        return [StreamRow(*row) for row in rows]
    return [StreamRow(*row) for row in tx.execute(_ALL, values)]


def read_some(tx: Transaction, stream_ids: Iterable[UUID], grace_secs: float) -> list[StreamRow]:
    """The given streams, by id; retired and unknown ones are skipped."""
    values = {"grace": grace_secs, "streams": list(stream_ids), "waiting": []}
    return [StreamRow(*row) for row in tx.execute(_SOME, values)]


def read_checkpoints(
    tx: Transaction, streams: Sequence[StreamRow], most: int
) -> Sequence[Row[*tuple[Any, ...]]]:
    """The newest checkpoints of every entry, at most `most` each, oldest first.

    From `version` on exactly the offsets up to `stream_offset` are visible.
    """
    values = {"streams": [stream.id for stream in streams], "most": most}
    return tx.execute(_CHECKPOINTS, values).all()


def read_babies(tx: Transaction, streams: Sequence[StreamRow], most: int) -> list[BabyRow]:
    """The lowest babies above each stream's smallest merged offset, at most `most` each."""
    rows: Iterable[Any] = tx.execute(_BABIES, {**_floors(streams), "most": most})
    return [make_baby(row) for row in rows]


def make_baby(row: Sequence[Any]) -> BabyRow:
    """A row with the columns of BabyRow in order."""
    stamps = row[7]
    return BabyRow(row[0], row[1], row[2], row[3], row[4], row[5], row[6], stamps and tuple(stamps))


def read_periods(tx: Transaction, streams: Sequence[StreamRow], most: int) -> list[PeriodRow]:
    """Routing of the streams with a baby without stamps among their first `most` unmerged ones."""
    return read_periods_of(tx, _floors(streams), most)


def read_periods_of(
    tx: Transaction, floors: Mapping[str, object], most: int | None = None
) -> list[PeriodRow]:
    """Routing of `streams` with a baby without stamps above the `floors`, one for each.

    Among the first `most` of each stream, or all.
    """
    rows: Iterable[Any] = tx.execute(_PERIODS, {**floors, "most": most})
    return [
        PeriodRow(
            stream_id, token_id, offset, TokenRouting(logs=logs, traces=traces, metrics=metrics)
        )
        for stream_id, token_id, offset, logs, traces, metrics in rows
    ]


def read_removed(tx: Transaction, scope: StreamScope) -> tuple[list[UUID], list[tuple[UUID, UUID]]]:
    """Streams that retired, and entries that went, after `since`."""
    rows = tx.execute(_REMOVED, scope.values()).all()
    return (
        [row.stream_id for row in rows if row.dataset_id == WHOLE_STREAM],
        [(row.stream_id, row.dataset_id) for row in rows if row.dataset_id != WHOLE_STREAM],
    )


def removals_floor(tx: Transaction) -> int:
    """The version below which removals are pruned."""
    return int(tx.execute(_FLOOR).scalar_one())


def _floors(streams: Sequence[StreamRow]) -> dict[str, object]:
    behind = [s for s in streams if s.merged_floor < s.committed_offset]
    return {"streams": [s.id for s in behind], "floors": [s.merged_floor for s in behind]}
