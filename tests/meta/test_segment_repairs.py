"""OperationsService: live segments that are hidden, and objects that are replaced."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from uuid import UUID

import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import InvalidArgument, MetaError, NotFound, NothingToRepair
from meta.services.damage.damage import RANGES_MAX
from meta.store.deletion import dataset_deletion
from meta.store.merging import merge_tasks
from meta.store.merging.merge_tasks import TaskKind
from meta.v1 import catalog_pb2, common_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.pins import PinDriver
from tests.support.meta.segments import EPOCH, WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

CONSENT = pb.LossAcceptance(accept_loss=True, actor="op", reason="flipped bytes")
UNKNOWN = "00000000-0000-7000-8000-000000000000"


@dataclass(frozen=True)
class Scene:
    """A dataset with segments."""

    client: MetaClient
    writer: Writer
    worker: WorkerDriver
    dataset: str

    def hide(self, segment_id: str) -> pb.HideSegmentResponse:
        return self.client.operations.HideSegment(
            pb.HideSegmentRequest(segment_id=segment_id, acceptance=CONSENT)
        )

    def replace(
        self,
        segment_id: str,
        new: common_pb2.CreateSegment,
        *ranges: tuple[str, int, int],
        accept_altered: bool = False,
    ) -> pb.ReplaceSegmentResponse:
        spans = [pb.OffsetRange(stream_id=s, first_offset=a, last_offset=b) for s, a, b in ranges]
        return self.client.operations.ReplaceSegment(
            pb.ReplaceSegmentRequest(
                segment_id=segment_id,
                segment=new,
                ranges=spans,
                acceptance=CONSENT,
                accept_altered=accept_altered,
            )
        )

    def losses(self) -> list[pb.Loss]:
        return list(self.client.operations.ListLosses(pb.ListLossesRequest()).losses)


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """A deletion grace that is over at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
    return replace(meta_settings, lifetimes=lifetimes)


@pytest.fixture
def scene(meta_client: MetaClient) -> Scene:
    """Give the dataset."""
    dataset = CatalogDriver(meta_client).dataset("web")
    return Scene(meta_client, Writer(meta_client), WorkerDriver(meta_client), dataset)


def test_a_hidden_segment_is_in_no_list_from_its_version_on(scene: Scene) -> None:
    first, second = scene.writer.save_many(scene.dataset, 2)
    before = scene.writer.find("web").snapshot_version

    reply = scene.hide(first)

    assert scene.writer.find_ids("web") == [second]
    assert sorted(scene.writer.find_ids("web", as_of_version=before)) == sorted([first, second])
    (loss,) = scene.losses()
    assert loss == reply.loss
    assert (loss.segment_id, loss.records, loss.dataset_id) == (first, 10, scene.dataset)
    assert loss.object_key.endswith(reply.segment.cloud_object_key.key)
    assert scene.hide(first) == reply
    assert len(scene.losses()) == 1


def test_a_repeated_hide_tells_its_own_loss_though_another_segment_was_hidden_since(
    scene: Scene,
) -> None:
    first, second = sorted(scene.writer.save_many(scene.dataset, 2))

    reply = scene.hide(first)
    scene.hide(second)

    assert reply.loss.segment_id == first
    assert scene.hide(first) == reply


def test_a_hidden_segment_is_never_handed_out_for_deletion(scene: Scene) -> None:
    (hidden,) = scene.writer.save(segment_of(scene.dataset))

    scene.hide(hidden)

    assert scene.writer.due() == []
    assert scene.writer.confirm(hidden).error.reason == "GRACE_NOT_OVER"


def test_the_open_task_over_a_hidden_segment_is_cancelled_and_the_rest_merged(
    scene: Scene,
) -> None:
    ids = scene.writer.save_many(scene.dataset, 8)
    scene.worker.plan()
    task = scene.worker.poll()

    scene.hide(ids[3])
    late = scene.worker.complete(task.task_id, scene.worker.output(task))
    scene.worker.plan()
    rest = scene.worker.poll()

    assert late.error.reason == "TASK_NOT_OPEN"
    assert {segment.id for segment in rest.segments} == set(ids) - {ids[3]}


def test_a_replacement_takes_the_place_at_one_version_and_the_old_object_goes(
    scene: Scene,
) -> None:
    (damaged,) = scene.writer.save(segment_of(scene.dataset))
    new = segment_of(scene.dataset, compressed=2_000)

    reply = scene.replace(damaged, new)

    assert scene.writer.find_ids("web") == [reply.segment_id]
    assert scene.replace(damaged, new) == reply
    assert [segment.segment_id for segment in scene.writer.due()] == [damaged]
    (loss,) = scene.losses()
    assert (loss.version, loss.withdrawn_version) == (reply.version, reply.version)


def test_a_hidden_segment_is_replaced_and_its_loss_withdrawn(scene: Scene) -> None:
    (damaged,) = scene.writer.save(segment_of(scene.dataset))
    hidden = scene.hide(damaged)

    reply = scene.replace(damaged, segment_of(scene.dataset))

    assert scene.writer.find_ids("web", as_of_version=hidden.version) == []
    assert scene.writer.find_ids("web") == [reply.segment_id]
    (loss,) = scene.losses()
    assert (loss.version, loss.withdrawn_version) == (hidden.version, reply.version)
    with pytest.raises(NothingToRepair):
        scene.hide(damaged)
    with pytest.raises(NothingToRepair):
        scene.replace(damaged, segment_of(scene.dataset))


def test_the_lineage_of_a_replacement_is_that_of_the_segment(scene: Scene) -> None:
    catalog, nursery = CatalogDriver(scene.client), NurseryDriver(scene.client)
    collector = IngestionDriver(scene.client, "collector")
    stream = collector.register(catalog.token(scene.dataset)).stream_id
    for offset in range(4):
        collector.commit(stream, offset, scene.dataset)
    segments = [nursery.segment(scene.dataset) for _ in range(2)]
    nursery.register(scene.dataset, (stream, -1, 1), segment=segments[0], more=[segments[1]])
    first, second = scene.writer.find_ids("web")
    copy = nursery.segment(scene.dataset)

    with pytest.raises(InvalidArgument, match="not the segment's"):
        scene.replace(first, copy, (stream, 0, 2))
    with pytest.raises(InvalidArgument, match="not the segment's"):
        scene.replace(second, copy, (UNKNOWN, 0, 1))
    reply = scene.replace(second, copy, (stream, 1, 1))

    assert set(scene.writer.find_ids("web")) == {first, reply.segment_id}
    located = scene.client.operations.LocateOffset(
        pb.LocateOffsetRequest(stream_id=stream, offset=1)
    )
    assert {s.id for s in located.locations[0].segments} == {first, reply.segment_id}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"events": 11}, id="records"),
        pytest.param({"start": EPOCH - 1, "end": EPOCH}, id="start"),
        pytest.param({"start": EPOCH, "end": EPOCH + 1}, id="end"),
    ],
)
def test_a_file_of_other_records_is_refused(scene: Scene, changes: dict[str, int]) -> None:
    (damaged,) = scene.writer.save(segment_of(scene.dataset))

    with pytest.raises(InvalidArgument):
        scene.replace(damaged, segment_of(scene.dataset, **changes))  # type: ignore[arg-type]

    assert scene.writer.find_ids("web") == [damaged]
    assert scene.losses() == []


def test_a_file_of_another_dataset_or_segment_is_refused(scene: Scene) -> None:
    other = CatalogDriver(scene.client).dataset("other")
    taken = segment_of(scene.dataset)
    damaged, _ = scene.writer.save(segment_of(scene.dataset), taken)

    with pytest.raises(InvalidArgument, match="that of the segment is"):
        scene.replace(damaged, segment_of(other))
    with pytest.raises(InvalidArgument, match="a separate segment"):
        scene.replace(damaged, taken)
    with pytest.raises(InvalidArgument, match="more than"):
        scene.replace(damaged, segment_of(scene.dataset), *[(UNKNOWN, 0, 0)] * (RANGES_MAX + 1))

    assert damaged in scene.writer.find_ids("web")


def test_merged_and_unknown_segments_are_not_hidden(scene: Scene) -> None:
    ids = scene.writer.save_many(scene.dataset, 4)
    scene.worker.plan()
    scene.worker.merge_all()
    refusals: list[tuple[str, type[MetaError]]] = [(ids[0], NothingToRepair), (UNKNOWN, NotFound)]

    for segment_id, refusal in refusals:
        with pytest.raises(refusal):
            scene.hide(segment_id)
        with pytest.raises(refusal):
            scene.replace(segment_id, segment_of(scene.dataset))

    assert scene.losses() == []


def test_a_segment_that_is_being_planned_is_hidden_without_its_task(
    meta_server: MetaServer, scene: Scene
) -> None:
    ids = scene.writer.save_many(scene.dataset, 4)
    database = meta_server.running.database

    with ThreadPoolExecutor(1) as pool:
        with database.write() as tx:
            inputs = merge_tasks.lock_candidates(tx, [UUID(one) for one in ids])
            merge_tasks.create(tx, TaskKind.MERGE, [list(inputs.values())])
            hiding = pool.submit(scene.hide, ids[0])
            wait_until(lambda: is_waiting(meta_server), "the hide waits for the planner")
        hiding.result()

    with database.read() as tx:
        assert tx.exec_driver_sql("SELECT count(*) FROM merge_task_inputs").scalar_one() == 0
    assert set(scene.writer.find_ids("web")) == set(ids[1:])


def is_waiting(meta_server: MetaServer) -> bool:
    with meta_server.running.database.read() as tx:
        return bool(
            tx.exec_driver_sql("SELECT count(*) FROM pg_locks WHERE NOT granted").scalar_one()
        )


def test_the_object_of_a_hidden_segment_goes_with_its_purged_dataset(
    meta_server: MetaServer, scene: Scene
) -> None:
    (hidden,) = scene.writer.save(segment_of(scene.dataset))
    scene.hide(hidden)
    scene.client.catalog.DeleteDataset(catalog_pb2.DeleteDatasetRequest(id=scene.dataset))

    with meta_server.running.database.write() as tx:
        dataset_deletion.purge(tx, 0.0)

    assert [due.segment_id for due in scene.writer.due()] == [hidden]


def test_a_version_from_before_a_segment_was_hidden_can_be_pinned(scene: Scene) -> None:
    first, _ = scene.writer.save_many(scene.dataset, 2)
    before = scene.writer.find("web").snapshot_version
    scene.hide(first)

    pin = PinDriver(scene.client).take(version=before)

    assert (pin.version, pin.held_segments) == (before, 1)
    assert len(scene.writer.find("web", as_of_version=before).segments) == 2
