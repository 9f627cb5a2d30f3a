"""Registrations of finished moves, together in calls within their limits."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from uuid import uuid4

import grpc
import pytest

from meta.client import MetaClient
from meta.metrics import META
from meta.v1 import common_pb2, nursery_pb2, operations_pb2, operations_pb2_grpc
from nursery.planning.planner import DatasetMove, MergedSpan
from nursery.registration.move_tracker import FinishedMove
from nursery.registration.registration import REGISTRATIONS_MAX, Registered, Registrations
from nursery.results import DatasetResult
from segments.keys import new_merged_key
from segments.offsets import OffsetSpan
from segments.parquet.footer import SegmentContent, SegmentFacts
from segments.parquet.upload import WrittenSegment
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver

BUCKET = common_pb2.CloudBucket()


class RecordingMeta(operations_pb2_grpc.OperationsServiceServicer):
    """A meta that keeps the calls and lets every registration succeed."""

    def __init__(self) -> None:
        self.calls: list[list[nursery_pb2.RegisterMergedSegmentRequest]] = []

    def RegisterMergedSegments(  # noqa: N802
        self, request: operations_pb2.RegisterMergedSegmentsRequest, context: grpc.ServicerContext
    ) -> operations_pb2.RegisterMergedSegmentsResponse:
        self.calls.append(list(request.registrations))
        result = operations_pb2.RegistrationResult(segment_version=7)
        return operations_pb2.RegisterMergedSegmentsResponse(
            results=[result] * len(request.registrations)
        )


@contextmanager
def serving(servicer: RecordingMeta) -> Iterator[MetaClient]:
    server = grpc.server(ThreadPoolExecutor(4))
    operations_pb2_grpc.add_OperationsServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with MetaClient(f"127.0.0.1:{port}") as client:
        yield client
    server.stop(None).wait()


def move(stream_id: str, dataset_id: str, first: int, last: int) -> FinishedMove:
    """A move of offsets that held nothing for the dataset."""
    span = MergedSpan(OffsetSpan(stream_id, first, last), 1)
    return FinishedMove(DatasetMove(dataset_id, (span,)))


def answered(rpc: str) -> float:
    labels = {"rpc": rpc, "code": "OK"}
    return META.get_sample_value("segplane_rpc_seconds_count", labels) or 0.0


def test_moves_that_are_due_together_are_registered_in_one_call(meta_client: MetaClient) -> None:
    catalog, nursery = CatalogDriver(meta_client), NurseryDriver(meta_client)
    collector = IngestionDriver(meta_client, f"collector-{uuid4().hex}")
    first, second = catalog.dataset(), catalog.dataset()
    token = catalog.token(first)
    catalog.route(token, logs=first, traces=second)
    stream = collector.register(token).stream_id
    for offset in range(5):
        collector.commit(stream, offset, first, second)
    registrations = Registrations(meta_client)
    before = answered("RegisterMergedSegments"), answered("RegisterMergedSegment")

    done = registrations.register(
        lambda _: BUCKET,
        [move(stream, first, 0, 4), move(stream, second, 3, 4), move(stream, second, 0, 2)],
    )

    assert [one.response_seq is None for one in done] == [False, True, False]
    after = answered("RegisterMergedSegments"), answered("RegisterMergedSegment")
    assert (after[0] - before[0], after[1] - before[1]) == (1, 0)
    assert nursery.merged_offset(stream, first) == 4
    assert nursery.merged_offset(stream, second) == 2


@pytest.mark.parametrize(("moves", "calls"), [(0, 0), (1, 1), (1_002, 3)])
def test_calls_are_divided_by_their_limits(meta_client: MetaClient, moves: int, calls: int) -> None:
    assert REGISTRATIONS_MAX == 500
    registrations = Registrations(meta_client)
    unknown = [move(str(uuid4()), str(uuid4()), 0, 1) for _ in range(moves)]
    before = answered("RegisterMergedSegments")

    done = registrations.register(lambda _: BUCKET, unknown)

    assert done == [Registered()] * moves
    assert answered("RegisterMergedSegments") - before == calls


def test_a_call_has_at_most_as_many_segments_as_meta_takes() -> None:
    recording = RecordingMeta()
    dataset = str(uuid4())
    facts = SegmentFacts(1, {}, 1, 1, 0, 0, 0, SegmentContent(2, {}))
    segment = WrittenSegment(new_merged_key(dataset), facts)
    span = MergedSpan(OffsetSpan(str(uuid4()), 5, 9), 7_999_999_999)
    result = DatasetResult(dataset, (segment,) * 3)
    moves = [FinishedMove(DatasetMove(dataset, (span,)), [result])] * REGISTRATIONS_MAX
    with serving(recording) as client:
        Registrations(client).register(lambda _: BUCKET, moves)

    assert sorted(map(len, recording.calls)) == [REGISTRATIONS_MAX - 333, 333]
    (offsets,) = recording.calls[0][0].stream_offsets
    assert (offsets.start_merged_offset, offsets.new_merged_offset) == (4, 9)
    assert offsets.ingest_time_nanos == 7_000_000_000
