"""Lists of lineage: registrations, segments and merges that records have come through.

A segment's row is deleted with its object, while its lineage and its registrations are kept until
no descendant lives. The merge of a segment without a row is found by the time in its id.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.errors import NotFound
from meta.store.catalog import shown_names
from meta.store.engine import pg_arrays, scope
from meta.store.engine.pool import Transaction

# Segments without a row whose merges are looked for; each look-up reads the merges of seconds.
_UNKNOWN_MAX = 100
_NANOS = "(extract(epoch FROM {}) * 1000000)::bigint * 1000"


@dataclass(frozen=True, slots=True)
class LineageRegistration:
    """Baby segments, both ends inclusive, that were merged into a dataset at a version."""

    stream_id: UUID
    dataset_id: UUID
    first_offset: int
    last_offset: int
    version: int
    registered_at_nanos: int
    segment_id: UUID | None


@dataclass(frozen=True, slots=True)
class LineageMerge:
    """A completed merge task and the attempt that completed it."""

    task_id: UUID
    is_rewrite: bool
    segment_count: int
    planned_at_nanos: int
    attempt: int
    worker_id: str | None
    claimed_at_nanos: int | None
    finished_at_nanos: int


@dataclass(frozen=True, slots=True)
class LineageSegment:
    """A segment; what its row says is None once the row is deleted."""

    id: UUID
    dataset_id: UUID | None
    dataset_name: str | None
    created_version: int | None
    created_at_nanos: int | None
    tombstone_version: int | None
    tombstone_at_nanos: int | None
    number_of_events: int | None
    compressed_size_bytes: int | None
    merge_count: int | None
    open_task_id: UUID | None
    is_excluded: bool | None


@dataclass(frozen=True, slots=True)
class Lineage:
    """Registrations by version, segments by id, inputs and merges by the id of their output."""

    registrations: Sequence[LineageRegistration]
    segments: Sequence[LineageSegment]
    inputs: Mapping[UUID, Sequence[UUID]]
    merges: Mapping[UUID, LineageMerge]
    is_cut: bool


_REGISTRATIONS = f"""
    SELECT r.stream_id, r.dataset_id, r.start_offset + 1, r.end_offset, r.version,
           {_NANOS.format("r.created_at")}, r.segment_id
    FROM registrations r WHERE {{condition}}
    ORDER BY r.version, r.dataset_id, r.id LIMIT :most
"""  # noqa: S608
_STREAM = text("SELECT FROM ingest_streams WHERE id = :stream")
_OF_BABY = text(
    _REGISTRATIONS.format(
        condition="r.stream_id = :stream AND r.start_offset < :offset AND r.end_offset >= :offset"
    )
)
_OF_SEGMENTS = text(
    _REGISTRATIONS.format(
        condition="r.segment_id IN (SELECT unnest(cast(:ids AS uuid[])) UNION"
        " SELECT first_segment_id FROM registration_segments WHERE segment_id = ANY(:ids))"
    )
)
# A recursive query without an order stops at its limit.
_FROM_REGISTRATIONS = text("""
    WITH RECURSIVE after (id) AS (
      (SELECT unnest(cast(:ids AS uuid[])) UNION
       SELECT segment_id FROM registration_segments WHERE first_segment_id = ANY(:ids))
      UNION SELECT l.output_id FROM after a JOIN segment_lineage l ON l.input_id = a.id)
    SELECT id FROM after LIMIT :most
""")
_BOTH_WAYS = text("""
    WITH RECURSIVE after (id) AS (
      SELECT cast(:id AS uuid)
      UNION SELECT l.output_id FROM after a JOIN segment_lineage l ON l.input_id = a.id
    ), before (id) AS (
      SELECT cast(:id AS uuid)
      UNION SELECT l.input_id FROM before b JOIN segment_lineage l ON l.output_id = b.id)
    SELECT id FROM after UNION ALL SELECT id FROM before LIMIT :most
""")
_SEGMENTS = scope.statement(f"""
    SELECT n.id, d.id, {shown_names.of("d")}, s.created_version, {_NANOS.format("s.created_at")},
           s.tombstone_version, {_NANOS.format("s.tombstone_at")}, s.number_of_events,
           s.compressed_size_bytes, s.merge_count, i.task_id, s.quarantined_at IS NOT NULL
    FROM unnest(cast(:ids AS uuid[])) AS n (id) LEFT JOIN segments s ON s.id = n.id
      LEFT JOIN datasets d ON d.key = s.dataset_key
      LEFT JOIN merge_task_inputs i ON i.segment_id = n.id
    ORDER BY n.id
""")  # noqa: S608
_INPUTS = text(
    "SELECT output_id, input_id FROM segment_lineage"
    " WHERE input_id = ANY(:ids) AND output_id = ANY(:ids) ORDER BY input_id, output_id"
)
_OUTPUTS = text("SELECT DISTINCT output_id FROM segment_lineage WHERE output_id = ANY(:ids)")
_MERGE_COLUMNS = f"""
    SELECT n.id, t.id, t.kind = 2, t.segment_count, {_NANOS.format("t.created_at")}, t.attempt,
           a.worker_id, {_NANOS.format("a.claimed_at")}, {_NANOS.format("t.finished_at")}
"""
_ATTEMPT = "LEFT JOIN merge_attempts a ON a.task_id = t.id AND a.attempt = t.attempt"
_WROTE = "n.id IN (SELECT t.output_segment_id UNION ALL SELECT unnest(t.more_output_ids))"
# Objects of merges have names below `TASK-ATTEMPT/`.
_TASK = "'/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-[0-9]+/+[^/]+$'"
_MERGES = text(f"""
    {_MERGE_COLUMNS}
    FROM (SELECT id, substring(prefix || '/' || object_name FROM {_TASK})::uuid AS task_id
          FROM segments WHERE id = ANY(:ids)) n
      JOIN merge_tasks t ON t.id = n.task_id AND {_WROTE} {_ATTEMPT}
""")  # noqa: S608
# The id is by meta's clock and made in the transaction that completes the task.
_MERGES_BY_TIME = text(f"""
    {_MERGE_COLUMNS}
    FROM unnest(cast(:ids AS uuid[]), cast(:seconds AS float8[])) AS n (id, seconds)
    CROSS JOIN LATERAL (
      SELECT * FROM merge_tasks t WHERE t.state > 1 AND t.state = 2 AND {_WROTE}
        AND t.finished_at BETWEEN to_timestamp(n.seconds - 5) AND to_timestamp(n.seconds + 30)
      ORDER BY t.finished_at LIMIT 1) t {_ATTEMPT}
""")  # noqa: S608


def of_baby(tx: Transaction, stream_id: UUID, offset: int, most: int) -> Lineage:
    """List the lineage of a baby segment's records. Raises NotFound for an unknown stream."""
    values = {"stream": stream_id, "offset": offset, "most": most + 1}
    registrations = [LineageRegistration(*row) for row in tx.execute(_OF_BABY, values)]
    if not registrations and tx.execute(_STREAM, values).one_or_none() is None:
        raise NotFound("there is no such stream", stream_id=stream_id)
    firsts = [each.segment_id for each in registrations if each.segment_id is not None]
    ids = _ids(tx.execute(_FROM_REGISTRATIONS, {"ids": firsts, "most": most + 1}).scalars())
    return _lineage(tx, registrations, ids, most)


def of_segment(tx: Transaction, segment_id: UUID, most: int) -> Lineage:
    """List the lineage of a segment, in both directions. Raises NotFound for an unknown one."""
    # The segment itself is in both directions.
    ids = _ids(tx.execute(_BOTH_WAYS, {"id": segment_id, "most": most + 2}).scalars())
    values = {"ids": ids[:most], "most": most + 1}
    registrations = [LineageRegistration(*row) for row in tx.execute(_OF_SEGMENTS, values)]
    lineage = _lineage(tx, registrations, ids, most)
    is_known = registrations or len(ids) > 1 or lineage.segments[0].dataset_id is not None
    if not is_known:
        raise NotFound("there is no such segment", segment_id=segment_id)
    return lineage


def _ids(ids: Iterable[UUID]) -> list[UUID]:
    return list(dict.fromkeys(ids))


def _lineage(
    tx: Transaction, registrations: Sequence[LineageRegistration], ids: Sequence[UUID], most: int
) -> Lineage:
    values = {"ids": list(ids[:most])}
    inputs: dict[UUID, list[UUID]] = {}
    for output_id, input_id in tx.execute(_INPUTS, values):
        inputs.setdefault(output_id, []).append(input_id)
    segments = [LineageSegment(*row) for row in tx.execute(_SEGMENTS, values)]
    return Lineage(
        registrations[:most],
        segments,
        inputs,
        _merges(tx, segments),
        len(registrations) > most or len(ids) > most,
    )


def _merges(tx: Transaction, segments: Sequence[LineageSegment]) -> dict[UUID, LineageMerge]:
    outputs = list(tx.execute(_OUTPUTS, {"ids": [segment.id for segment in segments]}).scalars())
    rows = list(tx.execute(_MERGES, {"ids": outputs}))
    deleted = {segment.id for segment in segments if segment.dataset_id is None}
    unknown = [output for output in outputs if output in deleted][:_UNKNOWN_MAX]
    # A UUID of version 7 begins with milliseconds.
    seconds = [(output.int >> 80) / 1_000 for output in unknown]
    by_time = {"ids": pg_arrays.uuids(unknown), "seconds": seconds}
    if unknown:
        rows += tx.execute(_MERGES_BY_TIME, by_time)
    return {row[0]: LineageMerge(*row[1:]) for row in rows}
