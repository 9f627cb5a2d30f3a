"""ListStreams: offsets, states and reasons of streams, by pages."""

import pytest

from meta.errors import CursorInvalid, NotFound
from meta.store.streams import detached_streams
from meta.v1 import nursery_pb2
from meta.v1 import operations_pb2 as ops
from meta.v1 import status_pb2 as pb
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.server import MetaServer
from tests.support.meta.two_datasets import TwoDatasets

UNKNOWN = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def scene(meta_server: MetaServer) -> TwoDatasets:
    """Give the stream; nothing is committed yet."""
    return TwoDatasets.create(meta_server)


def ask(scene: TwoDatasets, **fields: object) -> pb.ListStreamsResponse:
    request = pb.ListStreamsRequest(**fields)  # type: ignore[arg-type]
    return scene.server.client.status.ListStreams(request)


def only(scene: TwoDatasets) -> pb.ListedStream:
    (stream,) = ask(scene).streams
    return stream


def park(scene: TwoDatasets, offset: int, reason: str) -> None:
    request = ops.ParkStreamRequest(stream_id=scene.stream, offset=offset, reason=reason)
    scene.server.client.operations.ParkStream(request)


def test_a_stream_has_the_offsets_of_its_datasets_those_that_are_behind_first(
    scene: TwoDatasets,
) -> None:
    fresh = only(scene)
    for offset in range(4):
        scene.collector.commit(scene.stream, offset, scene.web, scene.app)
    scene.nursery.merge(scene.web, scene.stream, -1, 3)
    scene.nursery.merge(scene.app, scene.stream, -1, 1)

    stream = only(scene)

    assert (fresh.committed_offset, fresh.merged_offset, fresh.deleted_offset) == (-1, -1, -1)
    assert not fresh.oldest_committed_at_nanos
    assert (stream.collector_id, stream.state) == ("collector", pb.STREAM_STATE_ACTIVE)
    assert (stream.committed_offset, stream.merged_offset) == (3, 1)
    assert not stream.HasField("stopped_offset")
    assert 0 < stream.oldest_committed_at_nanos <= stream.last_activity_nanos
    offsets = [(each.dataset_name, each.merged_offset) for each in stream.datasets]
    assert offsets == [("app", 1), ("web", 3)]
    assert not stream.has_more_datasets
    (cut,) = ask(scene, datasets_limit=1).streams
    assert [each.dataset_name for each in cut.datasets] == ["app"]
    assert cut.has_more_datasets


def test_a_stopped_stream_has_its_last_offset_and_the_reason(scene: TwoDatasets) -> None:
    scene.collector.commit(scene.stream, 0, scene.web)
    scene.server.client.nursery.MarkStreamStopped(
        nursery_pb2.MarkStreamStoppedRequest(
            stream_id=scene.stream, final_offset=0, reason=nursery_pb2.STOP_REASON_TIMEOUT
        )
    )

    stream = only(scene)

    assert (stream.state, stream.stopped_offset) == (pb.STREAM_STATE_STOPPED, 0)
    assert stream.stop_reason == nursery_pb2.STOP_REASON_TIMEOUT
    assert stream.stopped_at_nanos > 0
    assert not ask(scene, state=pb.STREAM_STATE_ACTIVE).streams
    assert ask(scene, state=pb.STREAM_STATE_STOPPED).streams == [stream]


def test_a_parked_stream_has_its_reason_until_it_passes(scene: TwoDatasets) -> None:
    for offset in range(2):
        scene.collector.commit(scene.stream, offset, scene.web)
    park(scene, 1, "the object is cut off")

    stream = only(scene)

    assert (stream.state, stream.parked_offset) == (pb.STREAM_STATE_PARKED, 1)
    assert stream.parked_reason == "the object is cut off"
    assert stream.parked_at_nanos > 0
    for state in (pb.STREAM_STATE_PARKED, pb.STREAM_STATE_ACTIVE):
        assert ask(scene, state=state).streams == [stream]
    scene.nursery.merge(scene.web, scene.stream, -1, 1)
    passed = only(scene)
    assert (passed.state, passed.parked_reason) == (pb.STREAM_STATE_ACTIVE, "")
    assert not passed.HasField("parked_offset")
    assert not ask(scene, state=pb.STREAM_STATE_PARKED).streams


def test_a_stream_of_a_restored_database_awaits_a_reconciliation(scene: TwoDatasets) -> None:
    with scene.server.running.database.write() as tx:
        detached_streams.detach_all(tx)

    assert only(scene).state == pb.STREAM_STATE_AWAITS_RECONCILE
    assert len(ask(scene, state=pb.STREAM_STATE_AWAITS_RECONCILE).streams) == 1
    assert only(scene).collector_id == "collector"


def test_streams_come_in_pages_and_one_by_its_id(scene: TwoDatasets) -> None:
    others = [
        IngestionDriver(scene.server.client, f"c-{n}").register(scene.token).stream_id
        for n in range(2)
    ]

    first = ask(scene, limit=2)
    second = ask(scene, limit=2, after=first.next_cursor)

    ids = [stream.stream_id for stream in (*first.streams, *second.streams)]
    assert ids == sorted([scene.stream, *others])
    assert not second.next_cursor
    (one,) = ask(scene, stream_id=others[1]).streams
    assert one.collector_id == "c-1"
    with pytest.raises(NotFound):
        ask(scene, stream_id=UNKNOWN)
    with pytest.raises(CursorInvalid):
        ask(scene, after=first.next_cursor, state=pb.STREAM_STATE_PARKED)
