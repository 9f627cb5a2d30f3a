"""Lists of what must exist, findings of reads, and the position of the scrub."""

import grpc
import pytest

from meta.client import MetaClient
from meta.errors import InvalidArgument
from meta.v1 import operations_pb2 as pb
from meta.v1 import operations_pb2_grpc
from meta.v1.common_pb2 import CreateSegment
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.pins import PinDriver
from tests.support.meta.segments import WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


def key_of(segment: CreateSegment) -> str:
    return f"dataset/{segment.dataset_id}/merged/{segment.cloud_object_key.key}"


def baby_key(stream: str, offset: int) -> str:
    return f"ingest-stream/{stream}/{offset:020}"


def listed(client: MetaClient, limit: int = 2, since: int = 0) -> list[pb.StoredObject]:
    """Read every page."""
    found: list[pb.StoredObject] = []
    request = pb.ListStoredObjectsRequest(limit=limit, since_version=since)
    while True:
        reply = client.operations.ListStoredObjects(request)
        assert len(reply.objects) <= limit
        found += reply.objects
        if not reply.next_after_key:
            return found
        assert reply.next_after_key > request.after_key
        request.after_key = reply.next_after_key


def report(client: MetaClient, **damage_by_key: str) -> pb.ReportObjectChecksResponse:
    checks = [
        pb.ObjectCheck(object_key=key, damage=damage, crc32c=7)
        for key, damage in damage_by_key.items()
    ]
    return client.operations.ReportObjectChecks(pb.ReportObjectChecksRequest(checks=checks))


def damaged(client: MetaClient) -> dict[str, str]:
    reply = client.operations.ListDamagedObjects(pb.ListDamagedObjectsRequest())
    return {one.object_key: one.damage for one in reply.objects}


@pytest.mark.parametrize("limit", [1, 2, 3, 1_000])
def test_objects_of_live_segments_and_unmerged_babies_are_listed_in_key_order(
    meta_client: MetaClient,
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    writer: Writer,
    worker: WorkerDriver,
    dataset: str,
    limit: int,
) -> None:
    writer.save_many(dataset, 4)
    worker.plan()
    task = worker.poll()
    output = worker.output(task, key="x.parquet")
    worker.complete(task.task_id, output)
    kept = [segment_of(dataset) for _ in range(3)]
    writer.save(*kept)
    streams = [
        IngestionDriver(meta_client, name).register(catalog.token(dataset)).stream_id
        for name in ("a", "b", "c")
    ]
    for stream in (streams[0], streams[2]):
        for offset in range(4):
            collector.commit(stream, offset, dataset)
    nursery.merge(dataset, streams[0], -1, 1)

    keys = [one.object_key for one in listed(meta_client, limit)]

    segments = {segment.id for segment in writer.find("web").segments}
    assert keys == sorted(keys)
    babies = [baby_key(streams[0], n) for n in (2, 3)] + [baby_key(streams[2], n) for n in range(4)]
    assert sorted(key for key in keys if key.startswith("ingest")) == sorted(babies)
    assert {o.segment_id for o in listed(meta_client, limit)} == {*segments, ""}
    assert len(keys) == len(segments) + len(babies)


def test_only_segments_since_a_version_are_listed(
    meta_client: MetaClient, writer: Writer, dataset: str
) -> None:
    writer.save(segment_of(dataset))
    version = writer.find("web").snapshot_version
    (later,) = writer.save(segment_of(dataset))

    found = listed(meta_client, since=version)

    assert [one.segment_id for one in found] == [later]
    request = pb.ListStoredObjectsRequest(since_version=version, with_totals=True)
    reply = meta_client.operations.ListStoredObjects(request)
    assert (reply.total_objects, reply.total_size_bytes) == (1, 1_000)


def test_a_checksum_is_filled_in_once_and_marked_as_read(
    meta_client: MetaClient,
    catalog: CatalogDriver,
    collector: IngestionDriver,
    writer: Writer,
    dataset: str,
) -> None:
    told, untold = segment_of(dataset), segment_of(dataset)
    told.crc32c = 1
    writer.save(told, untold)
    stream = collector.register(catalog.token(dataset)).stream_id
    collector.commit(stream, 0, dataset)

    report(meta_client, **{key_of(told): "", key_of(untold): "", baby_key(stream, 0): ""})

    found = {one.object_key: (one.crc32c, one.is_crc32c_read) for one in listed(meta_client)}
    assert found == {
        key_of(told): (1, False),
        key_of(untold): (7, True),
        baby_key(stream, 0): (7, True),
    }


def test_damage_stands_until_the_object_is_sound_or_not_needed(
    meta_client: MetaClient,
    meta_server: MetaServer,
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    writer: Writer,
    worker: WorkerDriver,
    dataset: str,
) -> None:
    segments = [segment_of(dataset) for _ in range(4)]
    writer.save(*segments)
    stream = collector.register(catalog.token(dataset)).stream_id
    collector.commit(stream, 0, dataset)
    one, other, baby = key_of(segments[0]), key_of(segments[1]), baby_key(stream, 0)

    reply = report(meta_client, **{one: "cut", other: "cut", baby: "gone", "dataset/x": "gone"})

    assert reply.damaged_objects == 3
    assert sorted(reply.damaged_keys) == sorted([one, other, baby])
    assert damaged(meta_client) == {one: "cut", other: "cut", baby: "gone"}
    assert findings(meta_server) == {"OBJECT_DAMAGED": 3}
    assert {o.object_key for o in listed(meta_client) if o.is_damaged} == {one, other, baby}

    assert report(meta_client, **{one: ""}).damaged_objects == 2
    nursery.merge(dataset, stream, -1, 0)
    assert damaged(meta_client) == {other: "cut"}
    worker.plan()
    task = worker.poll()
    worker.complete(task.task_id, worker.output(task, key="x.parquet"))
    assert damaged(meta_client) == {}
    assert findings(meta_server) == {}


def findings(meta_server: MetaServer) -> dict[str, int]:
    """Findings of the last part of CheckConsistency, among the rows alone."""
    found: dict[str, int] = {}
    with grpc.insecure_channel(meta_server.address) as channel:
        stub = operations_pb2_grpc.OperationsServiceStub(channel)
        request = pb.CheckConsistencyRequest(end_of_listing=True, resume_after="z")
        for reply in stub.CheckConsistency(iter([request])):
            for finding in reply.findings:
                name = pb.FindingKind.Name(finding.kind).removeprefix("FINDING_KIND_")
                found[name] = found.get(name, 0) + 1
    return found


def test_the_scrub_goes_on_where_it_was(meta_client: MetaClient) -> None:
    position = pb.ScrubPosition(
        checked_through="dataset/x",
        objects=3,
        size_bytes=9,
        began_at_nanos=1_700_000_000_000_001_000,
    )
    state = meta_client.operations.GetScrubState

    assert not state(pb.GetScrubStateRequest()).HasField("position")
    meta_client.operations.ReportObjectChecks(pb.ReportObjectChecksRequest(position=position))
    assert state(pb.GetScrubStateRequest()).position == position


@pytest.mark.parametrize("name", ["x", "x/00000000000000000000", f"{'0' * 36}/{'9' * 20}"])
def test_damage_of_what_only_looks_like_a_baby_is_not_kept(
    meta_client: MetaClient, name: str
) -> None:
    reply = report(meta_client, **{f"ingest-stream/{name}": "a flipped bit"})

    assert (reply.damaged_objects, list(reply.damaged_keys)) == (0, [])


def test_a_report_is_taken_at_its_limit_and_refused_beyond(meta_client: MetaClient) -> None:
    def send(count: int, damage: str = "") -> None:
        checks = [pb.ObjectCheck(object_key=f"dataset/{n}", damage=damage) for n in range(count)]
        meta_client.operations.ReportObjectChecks(pb.ReportObjectChecksRequest(checks=checks))

    send(1_000)
    send(1, "x" * 1_000)
    with pytest.raises(InvalidArgument):
        send(1_001)
    with pytest.raises(InvalidArgument):
        send(1, "x" * 1_001)


def test_a_segment_that_a_pin_holds_is_listed_and_its_damage_stands_until_the_release(
    meta_client: MetaClient,
    meta_server: MetaServer,
    writer: Writer,
    worker: WorkerDriver,
    dataset: str,
) -> None:
    segments = [segment_of(dataset) for _ in range(4)]
    writer.save(*segments)
    pins = PinDriver(meta_client)
    pin = pins.take()
    worker.plan()
    task = worker.poll()
    output = worker.output(task, key="x.parquet")
    worker.complete(task.task_id, output)
    key = key_of(segments[0])

    report(meta_client, **{key: "cut"})

    assert len(listed(meta_client)) == 5
    assert damaged(meta_client) == {key: "cut"}
    assert findings(meta_server) == {"OBJECT_DAMAGED": 1}
    pins.release(pin)
    assert len(listed(meta_client)) == 1
    assert damaged(meta_client) == {}


def test_a_pin_does_not_bring_an_accepted_loss_back(
    meta_client: MetaClient, writer: Writer, dataset: str
) -> None:
    segment = segment_of(dataset)
    (segment_id,) = writer.save(segment)
    PinDriver(meta_client).take()
    report(meta_client, **{key_of(segment): "gone"})
    acceptance = pb.LossAcceptance(accept_loss=True, actor="op")

    meta_client.operations.HideSegment(
        pb.HideSegmentRequest(segment_id=segment_id, acceptance=acceptance)
    )

    assert listed(meta_client) == []
    assert damaged(meta_client) == {}


def test_the_name_of_a_holder_is_taken_at_its_limit_and_refused_beyond(
    meta_client: MetaClient,
) -> None:
    def hold(holder: str) -> bool:
        request = pb.ReportObjectChecksRequest(position=pb.ScrubPosition(), holder=holder)
        return not meta_client.operations.ReportObjectChecks(request).is_held_by_another

    assert hold("x" * 255)
    assert hold("x" * 255)
    assert not hold("y")
    assert hold("")  # A janitor of the release before, which knows no lease.
    assert not hold("y")
    with pytest.raises(InvalidArgument):
        hold("x" * 256)
