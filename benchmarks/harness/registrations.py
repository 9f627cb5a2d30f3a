"""Prepares registrations of merged segments: datasets, streams with a backlog, and requests.

Every entry has 120 checkpoints of earlier merges, and its stream stamped and counted baby segments
that are not merged yet, as in production.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

import psycopg

from meta.v1 import common_pb2, nursery_pb2
from segments.keys import new_merged_key, split_key

CHECKPOINTS = 120
EVENTS = 10_000
_DATASETS = """
    WITH made AS (
      INSERT INTO datasets (id, name, is_default)
      SELECT id, id::text, false FROM unnest(%(ids)s::uuid[]) id RETURNING key)
    INSERT INTO dataset_visibility (dataset_key, from_version)
    SELECT key, (SELECT version FROM meta_state) FROM made RETURNING dataset_key
"""
_COUNTERS = "INSERT INTO dataset_stats (dataset_key) SELECT unnest(%(keys)s::int[])"
_STREAMS = """
    WITH of AS (SELECT * FROM unnest(%(streams)s::uuid[], %(datasets)s::uuid[]) AS k (s, d)),
    streams AS (
      INSERT INTO ingest_streams (id, collector_id, collector_string, shard_hash)
      SELECT s, s::text, '', 1 FROM of),
    heads AS (
      INSERT INTO stream_heads (stream_id, committed_offset, is_pending)
      SELECT s, %(committed)s, true FROM of),
    entries AS (
      INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, base_offset,
        changed_version) SELECT s, d, -1, -1, 0 FROM of),
    babies AS (
      INSERT INTO baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes, num_records,
        dataset_ids) SELECT s, n, 1, 2, 1000000, %(events)s, ARRAY[d]
      FROM of, generate_series(0, %(committed)s) n)
    INSERT INTO offset_checkpoints (stream_id, dataset_id, version, stream_offset,
      ingest_timestamp_nanos) SELECT s, d, -n, -n, n FROM of, generate_series(1, %(checkpoints)s) n
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A dataset's entry in its own stream, with nothing merged."""

    stream_id: str
    dataset_id: str


def entries(
    database_url: str, count: int, backlog: int, *, streams_of_each: int = 1
) -> list[Entry]:
    """Make datasets, each with so many streams of `backlog` baby segments; its entries follow."""
    ids = [str(uuid4()) for _ in range(count)]
    made = [Entry(str(uuid4()), dataset_id) for dataset_id in ids for _ in range(streams_of_each)]
    values = {
        "ids": ids,
        "datasets": [entry.dataset_id for entry in made],
        "streams": [entry.stream_id for entry in made],
        "committed": backlog - 1,
        "events": EVENTS,
        "checkpoints": CHECKPOINTS,
    }
    with psycopg.connect(database_url, autocommit=True) as connection:
        keys = [row[0] for row in connection.execute(_DATASETS, values)]
        connection.execute(_COUNTERS, {"keys": keys})
        connection.execute(_STREAMS, values)
        connection.execute("VACUUM ANALYZE")
        # Dirty pages would be flushed while the benchmark runs.
        connection.execute("CHECKPOINT")
    return made


def request(
    entry: Entry, offset: int, *, omit_streams: bool = True
) -> nursery_pb2.RegisterMergedSegmentRequest:
    """The registration of one baby segment of an entry as one segment."""
    times = common_pb2.TimeRange(
        start_time=1_790_000_000_000_000_000, end_time=1_790_000_000_999_999_999
    )
    prefix, name = split_key(new_merged_key(entry.dataset_id))
    segment = common_pb2.CreateSegment(
        dataset_id=entry.dataset_id,
        time_range=times,
        size_bytes=5_000_000,
        compressed_size_bytes=1_000_000,
        number_of_events=EVENTS,
        cloud_object_key=common_pb2.CloudObjectKey(
            prefix=common_pb2.CloudObjectPrefix(prefix=prefix), key=name
        ),
        facts=common_pb2.SegmentFacts(
            format_version=2,
            signals=[
                common_pb2.SignalFacts(
                    signal=common_pb2.SIGNAL_LOGS, number_of_events=EVENTS, time_range=times
                )
            ],
        ),
        crc32c=UUID(entry.stream_id).int % 2**32,
    )
    move = nursery_pb2.StreamOffsetInfo(
        stream_id=entry.stream_id,
        dataset_id=entry.dataset_id,
        start_merged_offset=offset - 1,
        new_merged_offset=offset,
        ingest_time_nanos=1_790_000_000_000_000_000,
    )
    return nursery_pb2.RegisterMergedSegmentRequest(
        segment=segment, stream_offsets=[move], omit_streams=omit_streams
    )


def requests(
    entries: Sequence[Entry], offsets: range, *, omit_streams: bool = True
) -> list[list[bytes]]:
    """Serialized registrations, a list for each entry."""
    return [
        [request(e, n, omit_streams=omit_streams).SerializeToString() for n in offsets]
        for e in entries
    ]
