"""ListLineage: what the records of a baby segment and of a segment have come through."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import InvalidArgument, NotFound
from meta.roles import Role
from meta.v1 import janitor_pb2
from meta.v1 import status_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.segments import WorkerDriver, Writer
from tests.support.meta.server import MetaServer

pytestmark = pytest.mark.one_meta


def lineage(
    client: MetaClient,
    segment_id: str | None = None,
    stream_id: str | None = None,
    offset: int = 0,
    limit: int = 0,
) -> pb.ListLineageResponse:
    request = pb.ListLineageRequest(
        segment_id=segment_id, stream_id=stream_id, offset=offset, limit=limit
    )
    return client.status.ListLineage(request)


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset(f"web {uuid4()}")


@pytest.fixture
def stream(catalog: CatalogDriver, collector: IngestionDriver, dataset: str) -> str:
    """Give a stream with eight committed babies."""
    stream_id = collector.register(catalog.token(dataset)).stream_id
    for offset in range(8):
        collector.commit(stream_id, offset, dataset)
    return stream_id


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    with guarded(meta_settings) as server:
        yield server


def merge(client: MetaClient, worker_id: str = "worker-1") -> str:
    """Merge four segments; returns the id of the new one."""
    worker = WorkerDriver(client, worker_id)
    worker.plan()
    task = worker.poll()
    assert len(task.segments) == 4
    worker.complete(task.task_id, worker.output(task))
    request = janitor_pb2.GetMergeTaskRequest(task_id=task.task_id)
    return client.janitor.GetMergeTask(request).output_segment_id


def test_a_baby_segment_is_listed_with_its_registration_and_every_later_merge(
    meta_client: MetaClient, nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    waiting = lineage(meta_client, stream_id=stream)
    first, *_, last = (nursery.merge(dataset, stream, n, n + 2) for n in range(-1, 7, 2))
    output = merge(meta_client)

    reply = lineage(meta_client, stream_id=stream, offset=1)

    assert not waiting.registrations
    assert not waiting.segments
    (registration,) = reply.registrations
    assert (registration.first_offset, registration.last_offset) == (0, 1)
    assert (registration.version, registration.dataset_id) == (first, dataset)
    assert [segment.id for segment in reply.segments] == [registration.segment_id, output]
    merged, live = reply.segments
    assert merged.tombstone_version == live.created_version == reply.version > last
    assert (live.dataset_id, live.merge_count, live.number_of_events) == (dataset, 1, 40)
    assert live.dataset_name.startswith("web ")
    assert not live.HasField("tombstone_version")
    assert list(live.input_ids) == [merged.id]
    assert not merged.HasField("merge")
    assert (live.merge.worker_id, live.merge.attempt) == ("worker-1", 1)
    assert live.merge.segment_count == 4
    times = (live.merge.planned_at_nanos, live.merge.claimed_at_nanos, live.merge.finished_at_nanos)
    assert 0 < times[0] <= times[1] <= times[2] <= reply.database_time_nanos
    assert registration.registered_at_nanos <= times[1]


def test_a_segment_is_listed_with_what_was_merged_into_it_and_after_it(
    meta_client: MetaClient, nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    for first in range(-1, 7, 2):
        nursery.merge(dataset, stream, first, first + 2)
    output = merge(meta_client)

    of_output = lineage(meta_client, output)
    inputs = [each.segment_id for each in of_output.registrations]
    of_input = lineage(meta_client, inputs[1])

    offsets = [(each.first_offset, each.last_offset) for each in of_output.registrations]
    assert offsets == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert [segment.id for segment in of_output.segments] == [*inputs, output]
    assert list(of_output.segments[4].input_ids) == inputs
    assert [segment.id for segment in of_input.segments] == [inputs[1], output]
    assert [r.segment_id for r in of_input.registrations] == [inputs[1]]


def test_a_merge_is_known_after_the_rows_of_its_segments_are_deleted(
    meta_client: MetaClient,
    meta_server: MetaServer,
    nursery: NurseryDriver,
    stream: str,
    dataset: str,
) -> None:
    for first in range(-1, 7, 2):
        nursery.merge(dataset, stream, first, first + 2)
    output = merge(meta_client, "worker-7")
    with meta_server.running.database.write() as tx:
        tx.exec_driver_sql("DELETE FROM segments")

    reply = lineage(meta_client, output)

    assert [segment.HasField("dataset_id") for segment in reply.segments] == [False] * 5
    assert reply.segments[4].merge.worker_id == "worker-7"
    assert len(reply.registrations) == 4


def test_segments_of_one_registration_of_several_days_are_all_listed(
    meta_client: MetaClient, nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    further = [nursery.segment(dataset)]
    nursery.register(dataset, (stream, -1, 7), segment=nursery.segment(dataset), more=further)
    reply = lineage(meta_client, stream_id=stream)
    second = reply.segments[1].id

    assert len(reply.segments) == 2
    assert [r.version for r in lineage(meta_client, second).registrations] == [
        reply.registrations[0].version
    ]


def test_an_open_task_of_a_segment_is_named(
    meta_client: MetaClient, dataset: str, writer: Writer
) -> None:
    first, *_ = writer.save_many(dataset, 4)
    worker = WorkerDriver(meta_client)
    worker.plan()
    task = worker.poll()

    (segment,) = lineage(meta_client, first).segments

    assert segment.open_task_id == task.task_id
    worker.complete(task.task_id, worker.output(task))


def test_beyond_its_limit_a_list_says_that_it_is_cut(
    meta_client: MetaClient, nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    for first in range(-1, 3):
        nursery.merge(dataset, stream, first, first + 1)
    output = merge(meta_client)

    whole, cut = lineage(meta_client, output, limit=5), lineage(meta_client, output, limit=3)

    assert (len(whole.segments), len(whole.registrations), whole.is_cut) == (5, 4, False)
    assert (len(cut.segments), cut.is_cut) == (3, True)
    assert output in [segment.id for segment in cut.segments]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"segment_id": str(uuid4()), "stream_id": str(uuid4())},
        {"segment_id": "x"},
        {"stream_id": ""},
        {"stream_id": str(uuid4()), "offset": -1},
        {"segment_id": str(uuid4()), "limit": -1},
    ],
)
def test_malformed_requests_are_refused(meta_client: MetaClient, fields: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument):
        lineage(meta_client, **fields)  # type: ignore[arg-type]


def test_unknown_streams_and_segments_are_not_found(meta_client: MetaClient) -> None:
    with pytest.raises(NotFound):
        lineage(meta_client, str(uuid4()))
    with pytest.raises(NotFound):
        lineage(meta_client, stream_id=str(uuid4()))


@pytest.mark.one_meta(False)
def test_readers_are_not_told_names_of_workers(guard: GuardedServer) -> None:
    dataset = CatalogDriver(guard.admin).dataset("web")
    Writer(guard.admin).save_many(dataset, 4)
    output = merge(guard.admin)

    with guard.client(Role.READER) as reader, guard.client(Role.OPERATOR_READ) as operator:
        replies = [lineage(client, output).segments[-1].merge for client in (reader, operator)]

    assert [(merge.attempt, merge.worker_id) for merge in replies] == [(1, ""), (1, "worker-1")]
