"""OperationsService: streams that cannot pass a baby segment, skips, and the loss ledger."""

from dataclasses import dataclass

import pytest

from meta.client import MetaClient
from meta.errors import (
    InvalidArgument,
    MetaError,
    NotDrained,
    NotFound,
    NothingToRepair,
    OffsetConflict,
    OffsetNotCommitted,
)
from meta.v1 import operations_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver

UNKNOWN = "00000000-0000-7000-8000-000000000000"


@dataclass(frozen=True)
class Scene:
    """A stream of two datasets; offsets 0 to 2 are committed, 1 of the first dataset only."""

    client: MetaClient
    nursery: NurseryDriver
    stream: str
    web: str
    app: str

    def park(self, offset: int, reason: str = "gone", stream: str = "") -> pb.ParkStreamResponse:
        return self.client.operations.ParkStream(
            pb.ParkStreamRequest(stream_id=stream or self.stream, offset=offset, reason=reason)
        )

    def parked(self) -> list[tuple[int, str]]:
        reply = self.client.operations.ListParkedStreams(pb.ListParkedStreamsRequest())
        return [(stream.offset, stream.reason) for stream in reply.streams]

    def skip(self, offset: int, *, accept_loss: bool = True) -> pb.SkipOffsetResponse:
        acceptance = pb.LossAcceptance(accept_loss=accept_loss, actor="op", reason="disk died")
        return self.client.operations.SkipOffset(
            pb.SkipOffsetRequest(stream_id=self.stream, offset=offset, acceptance=acceptance)
        )

    def losses(self) -> list[pb.Loss]:
        return list(self.client.operations.ListLosses(pb.ListLossesRequest()).losses)

    def merge(self, dataset: str, seen: int, merged: int) -> None:
        self.nursery.merge(dataset, self.stream, seen, merged)


@pytest.fixture
def scene(meta_client: MetaClient) -> Scene:
    """Give the stream."""
    catalog = CatalogDriver(meta_client)
    web, app = catalog.dataset("web"), catalog.dataset("app")
    collector = IngestionDriver(meta_client, "collector")
    token = catalog.token(web)
    catalog.route(token, logs=web, traces=app)
    stream = collector.register(token).stream_id
    collector.commit(stream, 0, web, app)
    collector.commit(stream, 1, web)
    collector.commit(stream, 2, web, app)
    return Scene(meta_client, NurseryDriver(meta_client), stream, web, app)


def test_a_parked_stream_is_listed_until_its_baby_is_merged(scene: Scene) -> None:
    first = scene.park(0, "ObjectMissing: no such object")
    again = scene.park(0, "StoreError: denied")

    assert (first.retry_secs, again.retry_secs) == (10, 10)
    assert scene.parked() == [(0, "StoreError: denied")]
    scene.merge(scene.web, -1, 1)
    assert scene.parked() == [(0, "StoreError: denied")]
    scene.merge(scene.app, -1, 1)
    assert scene.parked() == []
    assert scene.park(1).merged


def test_of_several_unreadable_babies_the_lowest_counts(scene: Scene) -> None:
    scene.park(1, "second")
    scene.park(0, "first")
    scene.park(1, "second")

    assert scene.parked() == [(0, "first")]
    for dataset in (scene.web, scene.app):
        scene.merge(dataset, -1, 0)
    assert scene.parked() == []
    scene.park(1, "second")
    assert scene.parked() == [(1, "second")]


def test_a_skip_moves_every_entry_at_one_version_and_writes_the_loss(scene: Scene) -> None:
    for dataset in (scene.web, scene.app):
        scene.merge(dataset, -1, 0)
    scene.park(1)

    reply = scene.skip(1)

    merged = {e.dataset_id: e.merged_offset for e in scene.nursery.stream(scene.stream).datasets}
    assert merged == {scene.web: 1, scene.app: 1}
    (loss,) = scene.losses()
    assert list(reply.losses) == [loss]
    assert (loss.dataset_id, loss.offset, loss.records) == (scene.web, 1, 10)
    assert (loss.actor, loss.reason, loss.version) == ("op", "disk died", reply.version)
    assert scene.parked() == []
    for dataset in (scene.web, scene.app):
        offsets = scene.client.operations.GetOffsetsAt(
            pb.GetOffsetsAtRequest(dataset_id=dataset, version=reply.version)
        )
        assert [o.stream_offset for o in offsets.offsets] == [1]


def test_a_repeated_skip_answers_the_first_one_and_writes_nothing(scene: Scene) -> None:
    for dataset in (scene.web, scene.app):
        scene.merge(dataset, -1, 0)
    scene.park(1)

    assert scene.skip(1) == scene.skip(1)

    assert len(scene.losses()) == 1
    assert scene.park(1).skipped


def test_a_nursery_that_read_the_baby_after_all_is_refused_after_the_skip(scene: Scene) -> None:
    for dataset in (scene.web, scene.app):
        scene.merge(dataset, -1, 0)
    scene.park(1)
    scene.skip(1)

    with pytest.raises(OffsetConflict):
        scene.merge(scene.web, 0, 1)
    with pytest.raises(OffsetConflict):
        scene.merge(scene.web, 0, 2)
    scene.merge(scene.web, 1, 2)


def test_only_datasets_that_have_not_merged_the_baby_lose_records(scene: Scene) -> None:
    scene.merge(scene.web, -1, 0)
    scene.park(0)

    (loss,) = scene.skip(0).losses

    assert loss.dataset_id == scene.app
    assert not loss.HasField("records")
    assert scene.nursery.merged_offset(scene.stream, scene.web) == 0
    # Nothing of the next one is its own.
    assert scene.nursery.merged_offset(scene.stream, scene.app) == 1


def test_a_skip_waits_until_all_that_lies_below_is_merged(scene: Scene) -> None:
    scene.merge(scene.web, -1, 0)
    scene.park(1)

    with pytest.raises(NotDrained, match="has merged up to -1"):
        scene.skip(1)

    assert scene.losses() == []
    assert scene.nursery.merged_offset(scene.stream, scene.web) == 0


def test_a_stream_whose_datasets_are_gone_is_skipped_too(scene: Scene) -> None:
    stream = (
        IngestionDriver(scene.client, "other")
        .register(CatalogDriver(scene.client).token(scene.web))
        .stream_id
    )
    IngestionDriver(scene.client, "other").commit(stream, 0, UNKNOWN)
    scene.park(0, stream=stream)

    acceptance = pb.LossAcceptance(accept_loss=True, actor="op")
    request = pb.SkipOffsetRequest(stream_id=stream, offset=0, acceptance=acceptance)
    (loss,) = scene.client.operations.SkipOffset(request).losses

    assert (loss.dataset_id, loss.records) == (UNKNOWN, 10)
    assert scene.park(0, stream=stream).skipped


@pytest.mark.parametrize(
    ("offset", "accept_loss", "error", "text"),
    [
        pytest.param(0, False, InvalidArgument, "accept_loss", id="no consent"),
        pytest.param(1, True, NothingToRepair, "parked at offset 0, so", id="parked elsewhere"),
        pytest.param(3, True, OffsetNotCommitted, "offset is 2", id="beyond the committed"),
        pytest.param(-1, True, InvalidArgument, "offset", id="negative"),
    ],
)
def test_a_skip_is_refused(
    scene: Scene, offset: int, accept_loss: bool, error: type[MetaError], text: str
) -> None:
    scene.park(0)

    with pytest.raises(error, match=text):
        scene.skip(offset, accept_loss=accept_loss)

    assert scene.losses() == []


def test_unknown_streams_and_uncommitted_offsets_are_not_parked(scene: Scene) -> None:
    with pytest.raises(NotFound):
        scene.park(0, stream=UNKNOWN)
    with pytest.raises(OffsetNotCommitted):
        scene.park(3)
    with pytest.raises(InvalidArgument):
        scene.park(0, "x" * 1_001)

    assert scene.parked() == []
    scene.park(0, "x" * 1_000)
    assert len(scene.parked()) == 1


def test_the_loss_ledger_is_paged_and_filtered(scene: Scene) -> None:
    for dataset in (scene.web, scene.app):
        scene.merge(dataset, -1, 0)
    for offset in (1, 2):
        scene.park(offset)
        scene.skip(offset)

    def read(**filters: str) -> list[str]:
        request, found = pb.ListLossesRequest(**filters), list[str]()  # type: ignore[arg-type]
        request.pagination.limit = 1
        while True:
            reply = scene.client.operations.ListLosses(request)
            found += [f"{loss.dataset_id}/{loss.offset}" for loss in reply.losses]
            if not reply.pagination.next_cursor:
                return found
            request.pagination.after = reply.pagination.next_cursor

    assert sorted(read()) == sorted(
        f"{d}/{o}" for d, o in [(scene.web, 1), (scene.web, 2), (scene.app, 2)]
    )
    assert read(dataset_id=scene.app) == [f"{scene.app}/2"]
    assert len(read(stream_id=scene.stream)) == 3
    assert read(stream_id=UNKNOWN) == []
