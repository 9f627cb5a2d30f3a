"""GetIngestStreamsForNursery: a steady poll costs what changed, not what exists."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from uuid import UUID

import psycopg

from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import bench_postgres, bench_server
from benchmarks.harness.timing import interleaved
from meta.client import MetaClient
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest
from meta.v1.ingestion_pb2 import CommitOffsetRequest
from meta.v1.nursery_pb2 import GetIngestStreamsRequest, GetIngestStreamsResponse

FEW, MANY = 1_000, 10_000
CHANGED = 100
SHARDS = 4
CHECKPOINTS = 5
ROUNDS = 15
# Streams as they are after a day of work: all merged, nothing pending.
_FILL = """
WITH made AS (
    INSERT INTO ingest_streams (id, collector_id, collector_string, shard_hash)
    SELECT gen_random_uuid(), 'bench-' || n, 'bench', (n::bigint * 48271) %% 2147483648
    FROM generate_series(1, %(streams)s) n RETURNING id
), heads AS (
    INSERT INTO stream_heads (stream_id, committed_offset)
    SELECT id, %(checkpoints)s FROM made
), entries AS (
    INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, base_offset, changed_version)
    SELECT made.id, d.id, %(checkpoints)s, -1, 0 FROM made, datasets d WHERE d.is_default
), checkpoints AS (
    INSERT INTO offset_checkpoints (stream_id, dataset_id, version, stream_offset,
        ingest_timestamp_nanos)
    SELECT made.id, d.id, v, v, v FROM made, datasets d, generate_series(1, %(checkpoints)s) v
    WHERE d.is_default
)
SELECT id FROM made
"""


@dataclass(frozen=True, slots=True)
class _Fleet:
    """A served database with streams, `CHANGED` of which have one baby to merge."""

    streams: int
    client: MetaClient
    seq: int

    def steady(self) -> GetIngestStreamsResponse:
        """Poll for changes since the last poll, and babies to be merged."""
        return self._poll(GetIngestStreamsRequest(since_seq=self.seq))

    def full(self) -> int:
        """Everything, shard by shard, as a nursery does that starts."""
        return sum(
            len(self._poll(GetIngestStreamsRequest(shard_index=n, shard_count=SHARDS)).streams)
            for n in range(SHARDS)
        )

    def _poll(self, request: GetIngestStreamsRequest) -> GetIngestStreamsResponse:
        return self.client.nursery.GetIngestStreamsForNursery(request)


def run() -> list[Result]:
    """Poll a small and a large fleet in turn."""
    with ExitStack() as stack:
        postgres = stack.enter_context(bench_postgres())
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE many")
        few = stack.enter_context(_fleet(postgres.url, FEW))
        many = stack.enter_context(_fleet(postgres.url_of("many"), MANY))
        for fleet in (few, many):
            assert len(fleet.steady().streams) == CHANGED
            assert fleet.full() == fleet.streams
        in_few, in_many, full = interleaved([few.steady, many.steady, many.full], ROUNDS)
    unit = f"ms a poll, {CHANGED} of {MANY:,} streams changed"
    return [
        compare(
            "nursery_poll_steady_by_fleet",
            in_many,
            in_few,
            reference_name=f"{CHANGED} of {FEW:,} streams changed",
            unit=unit,
            bar=1.5,
            higher_is_better=False,
        ),
        compare(
            "nursery_poll_steady_against_full",
            in_many,
            full,
            reference_name=f"full poll of {MANY:,} streams in {SHARDS} shards",
            unit=unit,
            bar=0.1,
            higher_is_better=False,
        ),
    ]


@contextmanager
def _fleet(url: str, streams: int) -> Iterator[_Fleet]:
    with bench_server(url) as server, server.client() as client:
        client.ingest_token.CreateIngestToken(
            CreateIngestTokenRequest(name="bench", dataset_name="default")
        )
        for stream_id in _fill(url, streams)[:CHANGED]:
            request = CommitOffsetRequest(
                stream_id=str(stream_id),
                committed_offset=CHECKPOINTS + 1,
                start_time=1,
                end_time=2,
                size_bytes=1_000_000,
                num_records=1_000,
            )
            client.ingestion.CommitOffset(request)
        first = GetIngestStreamsRequest(shard_count=SHARDS)
        seq = client.nursery.GetIngestStreamsForNursery(first).response_seq
        yield _Fleet(streams, client, seq)


def _fill(url: str, streams: int) -> list[UUID]:
    values = {"streams": streams, "checkpoints": CHECKPOINTS}
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE meta_state SET version = version + %s", (CHECKPOINTS,))
        found = [row[0] for row in connection.execute(_FILL, values)]
        connection.execute("VACUUM ANALYZE")
    return found
