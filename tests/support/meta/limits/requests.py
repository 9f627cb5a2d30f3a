"""Texts, sizes and totals at a limit: accepted there, refused beyond it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import grpc

from meta.v1 import catalog_pb2 as cat
from meta.v1 import common_pb2, ingestion_pb2, merge_task_pb2, nursery_pb2
from meta.v1 import costs_pb2 as pb_costs
from meta.v1 import operations_pb2 as ops
from segments.keys import quarantine_key
from segments.protowire import length_prefix
from tests.support.costs import entry
from tests.support.meta.limits.world import Case, World, case_of, ids

REQUESTS: dict[str, Case] = {}
of = case_of(REQUESTS)


def _send_bytes(world: World, request: bytes) -> None:
    with grpc.insecure_channel(world.client.target) as channel:
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
            "/meta.v1.OperationsService/GetServerState"
        )
        call(request, timeout=60)


@of("bytes of a request")
def _(world: World, n: int) -> None:
    # An unknown field of bytes; its tag takes one byte, its length four.
    head = length_prefix(15, n - 5)
    _send_bytes(world, head + bytes(n - len(head)))


@of("fields of a request of more than 256 KiB")
def _(world: World, n: int) -> None:
    # Unknown fields of number 1,000, each a varint.
    _send_bytes(world, b"\xc0\x3e\x01" * n)


@of("characters of a name")
def _(world: World, n: int) -> None:
    world.catalog.dataset(uuid4().hex.ljust(n, "n"))


@of("characters of a description or expression")
def _(world: World, n: int) -> None:
    name = uuid4().hex
    world.client.catalog.CreateView(cat.CreateViewRequest(name=name, description="d" * n))
    world.client.catalog.CreateProjection(
        cat.CreateProjectionRequest(name=name, projection="where true".ljust(n))
    )


@of("characters of `RegisterForStream.collector_string`")
def _(world: World, n: int) -> None:
    world.client.ingestion.RegisterForStream(
        ingestion_pb2.RegisterForStreamRequest(
            collector_id=uuid4().hex, ingest_token=world.token.plaintext, collector_string="c" * n
        )
    )


@of("characters of a reason")
def _(world: World, n: int) -> None:
    stream, _ = committed(world)
    request = ops.ParkStreamRequest(stream_id=stream, offset=0, reason="r" * n)
    world.client.operations.ParkStream(request)


def committed(world: World, offsets: int = 1) -> tuple[str, str]:
    """Give a stream with committed babies of a dataset, and the dataset."""
    collector = world.collector()
    stream = collector.register(world.token).stream_id
    for offset in range(offsets):
        collector.commit(stream, offset, world.dataset, num_records=10_000)
    return stream, world.dataset


@of("characters of `ReportObjectChecks.checks.damage`")
def _(world: World, n: int) -> None:
    report(world, ops.ObjectCheck(object_key=key_of(world), damage="d" * n))


@of("characters of an object key that is listed or checked")
def _(world: World, n: int) -> None:
    report(world, ops.ObjectCheck(object_key="k" * n))
    list_bucket(world, [ops.ListedObject(object_key="k" * n, size_bytes=1)])


def key_of(world: World) -> str:
    return f"dataset/{world.dataset}/merged/{uuid4()}.parquet"


def report(world: World, *checks: ops.ObjectCheck) -> None:
    world.client.operations.ReportObjectChecks(ops.ReportObjectChecksRequest(checks=checks))


def list_bucket(
    world: World, objects: list[ops.ListedObject], orphan_age_secs: int | None = None
) -> None:
    request = ops.CheckConsistencyRequest(
        objects=objects, end_of_listing=True, orphan_age_secs=orphan_age_secs
    )
    list(world.client.operations.CheckConsistency(iter([request])))


@of("bytes of a segment or baby segment")
def _(world: World, n: int) -> None:
    stream, _ = committed(world)
    world.collector().commit(stream, 1, world.dataset, size_bytes=n)
    segment = world.segment()
    segment.size_bytes = segment.compressed_size_bytes = n
    world.writer.save(segment)


@of("events of a segment, records of a baby segment")
def _(world: World, n: int) -> None:
    stream, _ = committed(world)
    world.collector().commit(stream, 1, world.dataset, num_records=n)
    segment = world.segment()
    segment.number_of_events = n
    world.writer.save(segment)


@contextmanager
def live_datasets(world: World, n: int) -> Iterator[None]:
    """Let there be so many datasets, in the rows alone."""
    made = "FROM datasets WHERE name LIKE 'filler %'"
    try:
        world.execute(
            "INSERT INTO datasets (id, name) SELECT gen_random_uuid(), 'filler ' || k"
            " FROM generate_series(1, :n - (SELECT count(*) FROM datasets"
            " WHERE deleted_at IS NULL)) k",
            n=n,
        )
        yield
    finally:
        world.execute("DELETE " + made)


@of("`GetUsage.dataset_ids`")
def _(world: World, n: int) -> None:
    with live_datasets(world, min(n, 1_000)):
        everything = world.client.operations.GetUsage(ops.GetUsageRequest()).usage
        asked = [usage.dataset_id for usage in everything] + ids(n - len(everything))
        world.client.operations.GetUsage(ops.GetUsageRequest(dataset_ids=asked))


@of("`CreateAccessToken.expires_secs`")
def _(world: World, n: int) -> None:
    request = ops.CreateAccessTokenRequest(subject="reader", role="reader", expires_secs=n)
    world.client.operations.CreateAccessToken(request)


@of("`CreateAccessToken.dataset_names`")
def _(world: World, n: int) -> None:
    names = [world.catalog.dataset_name(world.catalog.dataset()) for _ in range(n)]
    request = ops.CreateAccessTokenRequest(subject="reader", role="reader", dataset_names=names)
    world.client.operations.CreateAccessToken(request)


@of("`CreateRewriteJob.tasks_max`")
def _(world: World, n: int) -> None:
    request = ops.CreateRewriteJobRequest(
        id=str(uuid4()), dataset_id=world.catalog.dataset(), tasks_max=n
    )
    world.client.operations.CreateRewriteJob(request)


@of("`PollForSegmentMergeTask.dataset_ids`")
def _(world: World, n: int) -> None:
    request = merge_task_pb2.PollForSegmentMergeTaskRequest(worker_id="w", dataset_ids=ids(n))
    world.client.merge_task.PollForSegmentMergeTask(request)


def _set_worker(world: World, **fields: Any) -> None:
    request = ops.SetWorkerSettingsRequest(
        name="limits", settings=common_pb2.WorkerSettings(**fields)
    )
    world.client.operations.SetWorkerSettings(request)


def _report(world: World, entries: list[pb_costs.CostEntry]) -> None:
    request = pb_costs.ReportCostsRequest(reporter_id=uuid4().bytes, number=1, entries=entries)
    world.client.operations.ReportCosts(request)


@of("`ReportCosts.entries`")
def _(world: World, n: int) -> None:
    _report(world, [entry(world.dataset, pb_costs.COST_KIND_MERGE, bytes=1)] * n)


@of("each amount of `ReportCosts.entries`")
def _(world: World, n: int) -> None:
    _report(world, [entry(world.dataset, pb_costs.COST_KIND_MERGE, cpu_micros=n)])


@of("`SetWorkerSettings.settings.datasets.ids`")
def _(world: World, n: int) -> None:
    datasets = [world.catalog.dataset(uuid4().hex) for _ in range(n)]
    _set_worker(world, datasets=common_pb2.WorkerDatasets(ids=datasets))


@of("`SetWorkerSettings.removed`")
def _(world: World, n: int) -> None:
    request = ops.SetWorkerSettingsRequest(name="limits", removed=["datasets"] * n)
    world.client.operations.SetWorkerSettings(request)


@of("`SetWorkerSettings.settings.concurrent_tasks`")
def _(world: World, n: int) -> None:
    _set_worker(world, concurrent_tasks=n)


@of("`SetWorkerSettings.settings.batch_babies_max`")
def _(world: World, n: int) -> None:
    _set_worker(world, batch_babies_max=n)


@of("workers and classes with settings")
def _(world: World, n: int) -> None:
    world.execute(
        "DELETE FROM worker_settings",
        "INSERT INTO worker_settings (name, settings) SELECT 'n' || k, '{\"concurrent_tasks\": 1}'"
        " FROM generate_series(1, :n - 1) k",
        n=n,
    )
    _set_worker(world, concurrent_tasks=1)
    world.execute("DELETE FROM worker_settings")


@of("`CheckQuarantined.object_keys`")
def _(world: World, n: int) -> None:
    (some_id,) = ids(1)
    key = quarantine_key(some_id, 0, some_id, "logs", 0)
    world.client.operations.CheckQuarantined(ops.CheckQuarantinedRequest(object_keys=[key] * n))


@of("parts of deduplication keys (`StageDeduplicationKeys`)")
def _(world: World, n: int) -> None:
    (staged_id,) = ids(1)
    for part in range(n):
        world.client.operations.StageDeduplicationKeys(
            ops.StageDeduplicationKeysRequest(staged_id=staged_id, part=part)
        )


@of("deduplication keys of a registration")
def _(world: World, n: int) -> None:
    stream, dataset = committed(world)
    own = uuid4().bytes[:8]
    day = nursery_pb2.DayKeys(
        day=20_000, hashes=b"".join([own + k.to_bytes(8, "big") for k in range(n)])
    )
    request = nursery_pb2.RegisterMergedSegmentRequest(
        stream_offsets=[
            nursery_pb2.StreamOffsetInfo(
                stream_id=stream,
                dataset_id=dataset,
                start_merged_offset=-1,
                new_merged_offset=0,
            )
        ],
        deduplication_keys=nursery_pb2.DeduplicationKeys(rule=1, days=[day]),
    )
    world.execute(
        "UPDATE datasets SET deduplication_rule = 1 WHERE id = cast(:dataset AS uuid)",
        "INSERT INTO dataset_deduplication (dataset_key, days) SELECT key, 7 FROM datasets"
        " WHERE id = cast(:dataset AS uuid) ON CONFLICT DO NOTHING",
        dataset=dataset,
    )
    try:
        world.client.nursery.RegisterMergedSegment(request)
    finally:
        world.execute(
            "UPDATE datasets SET deduplication_rule = NULL WHERE id = cast(:dataset AS uuid)",
            dataset=dataset,
        )
