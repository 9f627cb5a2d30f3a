"""Other callers' latency while the largest legal requests run: nobody waits for a neighbour."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID, uuid4

import psycopg

from benchmarks.harness.bystanders import KINDS, bystanders, segment_of
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import bench_postgres, bench_server
from meta.client import MetaClient
from meta.v1 import catalog_pb2, ingest_token_pb2, ingestion_pb2, nursery_pb2, operations_pb2

TASKS = 30_000
STREAMS = 100_000
BABIES = 500_000
MOVES = 10_000
SEGMENTS = 100
EXPIRED = 20_000
WARM_UP_SECS = 3.0
IDLE_SECS = 15.0
# A request that is over at once is measured with what follows it in the background.
WINDOW_SECS_MIN = 6.0
BAR = 5.0
_TASKS = """
    WITH made AS (
        INSERT INTO merge_tasks (id, dataset_key, output_merge_count, segment_count, smallest_size,
            largest_size, smallest_compressed_size, largest_compressed_size, total_size,
            total_compressed_size, start_ns, end_ns)
        SELECT gen_random_uuid(), d.key, 1, 4, 1, 1, 1, 1, 4, 4, n, n
        FROM generate_series(1, %(count)s) n, datasets d WHERE d.id = %(dataset)s
        RETURNING id, dataset_key),
    counted AS (UPDATE dataset_stats SET open_tasks = %(count)s
        WHERE dataset_key = (SELECT dataset_key FROM made LIMIT 1))
    INSERT INTO merge_task_inputs (segment_id, task_id, position)
    SELECT gen_random_uuid(), id, p FROM made, generate_series(0, 3) p
"""
_STREAMS = """
    WITH made AS MATERIALIZED (
        SELECT gen_random_uuid() AS id FROM generate_series(1, %(count)s)),
    heads AS (INSERT INTO stream_heads (stream_id, committed_offset)
        SELECT id, %(committed)s FROM made),
    carried AS (INSERT INTO stream_tokens (stream_id, token_id) SELECT id, %(token)s FROM made),
    entries AS (INSERT INTO stream_datasets
            (stream_id, dataset_id, merged_offset, base_offset, changed_version)
        SELECT id, %(dataset)s, %(merged)s, -1, 0 FROM made)
    INSERT INTO ingest_streams (id, collector_id, collector_string, shard_hash)
    SELECT id, id::text, '', 1 FROM made RETURNING id
"""
_BABIES = """
    INSERT INTO baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes, num_records)
    SELECT %(stream)s, n, 1, 2, 3, 4 FROM generate_series(0, %(count)s - 1) n
"""
_EXPIRED = """
    WITH made AS (
        INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns, created_version,
            size_bytes, compressed_size_bytes, number_of_events, prefix, object_name)
        SELECT gen_random_uuid(), d.key, 0, n, n, 1, 1, 1, 1, 'dataset', n || '.parquet'
        FROM generate_series(1, %(count)s) n, datasets d WHERE d.id = %(dataset)s
        RETURNING dataset_key)
    UPDATE dataset_stats SET live_segments = %(count)s, all_segments = %(count)s,
        live_size_bytes = %(count)s, live_compressed_size_bytes = %(count)s
    WHERE dataset_key = (SELECT dataset_key FROM made LIMIT 1)
"""


@dataclass(frozen=True, slots=True)
class _Scene:
    """The server under test, and where to prepare what a request needs."""

    client: MetaClient
    database_url: str

    def dataset(self) -> str:
        request = catalog_pb2.CreateDatasetRequest(name=uuid4().hex)
        return self.client.catalog.CreateDataset(request).id

    def token(self, dataset_id: str) -> tuple[str, str]:
        """Create a token; answers its id and plaintext."""
        name = catalog_pb2.GetDatasetRequest(id=dataset_id)
        reply = self.client.ingest_token.CreateIngestToken(
            ingest_token_pb2.CreateIngestTokenRequest(
                name=uuid4().hex, dataset_name=self.client.catalog.GetDataset(name).name
            )
        )
        return reply.token.id, reply.plaintext_token

    def execute(self, statement: str, **values: object) -> list[UUID]:
        with psycopg.connect(self.database_url) as connection:
            cursor = connection.execute(statement, values)
            return [row[0] for row in cursor] if cursor.description else []

    def streams(self, dataset_id: str, count: int, *, committed: int, merged: int) -> list[str]:
        """Make streams with an entry each; answers their ids."""
        token_id, _ = self.token(dataset_id)
        ids = self.execute(
            _STREAMS,
            count=count,
            token=token_id,
            dataset=dataset_id,
            committed=committed,
            merged=merged,
        )
        return [token_id, *map(str, ids)]


Request = Callable[[], object]


def run() -> list[Result]:
    """One window without, then one with each request."""
    requests: dict[str, Callable[[_Scene], Request]] = {
        "delete_dataset": _delete_dataset,
        "register_merged_segment": _register,
        "update_routing": _update_routing,
        "update_deleted_offset": _update_deleted_offset,
        "save_segments": _save_segments,
        "retention": _retention,
    }
    windows: dict[str, tuple[float, float]] = {}
    with (
        bench_postgres() as postgres,
        bench_server(postgres.url) as server,
        MetaClient(server.address, deadline_secs=300) as client,
    ):
        scene = _Scene(client, postgres.url)
        prepared = {name: prepare(scene) for name, prepare in requests.items()}
        _vacuum(postgres.url)
        dataset_id = scene.dataset()
        _, token = scene.token(dataset_id)
        with bystanders(server.address, token, dataset_id) as callers:
            # The first calls of a server are slower: connections, plans.
            time.sleep(WARM_UP_SECS)
            windows["idle"] = _window(lambda: time.sleep(IDLE_SECS))
            for name, request in prepared.items():
                windows[name] = _window(request)
    return [
        compare(
            f"{kind}_p99_during_{name}",
            callers.p99_ms(kind, *windows[name]),
            callers.p99_ms(kind, *windows["idle"]),
            reference_name="the same while nothing else runs",
            unit=f"ms; the request took {windows[name][1] - windows[name][0]:.1f} s",
            bar=BAR,
            higher_is_better=False,
        )
        for name in requests
        for kind in KINDS
    ]


def _window(request: Request) -> tuple[float, float]:
    began = time.monotonic()
    request()
    time.sleep(max(0.0, began + WINDOW_SECS_MIN - time.monotonic()))
    return began, time.monotonic()


def _vacuum(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


def _delete_dataset(scene: _Scene) -> Request:
    dataset_id = scene.dataset()
    scene.execute(_TASKS, dataset=dataset_id, count=TASKS)
    request = catalog_pb2.DeleteDatasetRequest(id=dataset_id)
    return lambda: scene.client.catalog.DeleteDataset(request)


def _register(scene: _Scene) -> Request:
    dataset_id = scene.dataset()
    _, *ids = scene.streams(dataset_id, MOVES, committed=9, merged=-1)
    moves = [
        nursery_pb2.StreamOffsetInfo(
            stream_id=stream_id, dataset_id=dataset_id, start_merged_offset=-1, new_merged_offset=9
        )
        for stream_id in ids
    ]
    first, *more = (segment_of(dataset_id) for _ in range(SEGMENTS))
    request = nursery_pb2.RegisterMergedSegmentRequest(
        segment=first, more_segments=more, stream_offsets=moves
    )
    return lambda: scene.client.nursery.RegisterMergedSegment(request)


def _update_routing(scene: _Scene) -> Request:
    dataset_id, other_id = scene.dataset(), scene.dataset()
    token_id, *_ = scene.streams(dataset_id, STREAMS, committed=9, merged=9)
    request = ingest_token_pb2.UpdateIngestTokenRoutingRequest(
        token_id=token_id,
        routing=ingest_token_pb2.IngestTokenRouting(logs_dataset_id=other_id),
    )
    return lambda: scene.client.ingest_token.UpdateIngestTokenRouting(request)


def _update_deleted_offset(scene: _Scene) -> Request:
    dataset_id = scene.dataset()
    _, stream_id = scene.streams(dataset_id, 1, committed=BABIES - 1, merged=BABIES - 1)
    scene.execute(_BABIES, stream=stream_id, count=BABIES)
    request = nursery_pb2.UpdateDeletedOffsetRequest(
        stream_id=stream_id, deleted_offset=BABIES - 1, deleted_ingest_time_nanos=1
    )
    return lambda: scene.client.nursery.UpdateDeletedOffset(request)


def _save_segments(scene: _Scene) -> Request:
    dataset_id = scene.dataset()
    request = ingestion_pb2.SaveSegmentsRequest(
        segments=[segment_of(dataset_id) for _ in range(1_000)]
    )
    return lambda: scene.client.ingestion.SaveSegments(request)


def _retention(scene: _Scene) -> Request:
    """Not a request: segments that expire while the servers' own loop runs."""
    dataset_id = scene.dataset()
    scene.execute(_EXPIRED, dataset=dataset_id, count=EXPIRED)
    settings = operations_pb2.DatasetSettings()
    settings.event_retention.FromSeconds(86_400)
    request = operations_pb2.SetDatasetSettingsRequest(dataset_id=dataset_id, settings=settings)
    left = "SELECT id FROM segments WHERE tombstone_version IS NULL AND prefix = 'dataset' LIMIT 1"

    def expire() -> None:
        scene.client.operations.SetDatasetSettings(request)
        while scene.execute(left):
            time.sleep(0.5)

    return expire
