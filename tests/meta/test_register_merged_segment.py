"""RegisterMergedSegment: fences, retries, several segments, offsets only."""

from uuid import UUID, uuid4

import pytest

from meta.client import MetaClient
from meta.errors import (
    InvalidArgument,
    KeyTaken,
    NotFound,
    ObjectCondemned,
    OffsetConflict,
    OffsetNotCommitted,
)
from meta.store.registration.calls import Merge
from meta.store.registration.registrations import register_batch
from meta.store.streams.stream_datasets import EntryMove
from meta.v1 import operations_pb2
from segments.offsets import OffsetSpan
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.server import MetaServer

pytestmark = pytest.mark.one_meta


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset()


@pytest.fixture
def stream(catalog: CatalogDriver, collector: IngestionDriver, dataset: str) -> str:
    """Give a stream with ten committed babies."""
    stream_id = collector.register(catalog.token(dataset)).stream_id
    for offset in range(10):
        collector.commit(stream_id, offset, dataset)
    return stream_id


def test_a_registration_moves_the_offset_and_leaves_a_checkpoint(
    nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    reply = nursery.register(dataset, (stream, -1, 4), segment=nursery.segment(dataset))

    entry = nursery.stream(stream).datasets[0]
    assert entry.merged_offset == 4
    assert entry.merged_ingest_time_nanos == 7_000_000_000
    assert [(c.segment_offset, c.stream_offset) for c in entry.offset_checkpoints] == [
        (reply.segment_version, 4)
    ]
    assert [s.stream_id for s in reply.streams] == [stream]
    assert reply.streams[0].datasets[0].merged_offset == 4
    assert reply.response_seq >= reply.segment_version


def test_a_second_nursery_loses_the_race_and_learns_the_offset(
    nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    nursery.merge(dataset, stream, -1, 4)

    with pytest.raises(OffsetConflict) as refused:
        nursery.merge(dataset, stream, -1, 6)

    assert refused.value.metadata[f"merged_offset.{stream}"] == "4"
    assert nursery.merged_offset(stream, dataset) == 4


def test_a_refused_call_leaves_its_key_free(
    nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    segment = nursery.segment(dataset)
    with pytest.raises(OffsetConflict):
        nursery.register(dataset, (stream, 3, 4), segment=segment)

    nursery.register(dataset, (stream, -1, 4), segment=segment)

    assert nursery.merged_offset(stream, dataset) == 4


def test_offsets_that_are_not_committed_cannot_be_merged(
    nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    with pytest.raises(OffsetNotCommitted) as refused:
        nursery.merge(dataset, stream, -1, 10)

    assert refused.value.metadata["committed_offset"] == "9"


def test_the_same_call_again_answers_the_first_version(
    nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    segment, more = nursery.segment(dataset), [nursery.segment(dataset)]
    first = nursery.register(dataset, (stream, -1, 4), segment=segment, more=more)
    nursery.merge(dataset, stream, 4, 7)

    again = nursery.register(dataset, (stream, -1, 4), segment=segment, more=more)

    assert again.segment_version == first.segment_version
    assert again.streams[0].datasets[0].merged_offset == 7


def test_a_known_key_with_other_offsets_or_other_segments_is_taken(
    nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    segment = nursery.segment(dataset)
    more = [nursery.segment(dataset)]
    nursery.register(dataset, (stream, -1, 4), segment=segment, more=more)

    with pytest.raises(KeyTaken):
        nursery.register(dataset, (stream, 4, 7), segment=segment, more=more)
    with pytest.raises(KeyTaken):
        nursery.register(dataset, (stream, -1, 4), segment=segment)
    with pytest.raises(KeyTaken):
        nursery.register(
            dataset, (stream, -1, 4), segment=segment, more=[*more, nursery.segment(dataset)]
        )


def test_a_segment_that_is_refused_moves_no_offset(
    meta_client: MetaClient, nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    condemned, other = nursery.segment(dataset), nursery.segment(dataset)
    nursery.register(dataset, (stream, -1, 4), segment=other)
    key = f"dataset/{dataset}/merged/{condemned.cloud_object_key.key}"
    request = operations_pb2.CondemnObjectsRequest(object_keys=[key], written_by_caller=True)
    assert meta_client.operations.CondemnObjects(request).condemned_keys == [key]
    other.number_of_events += 1

    for segment, refusal in ((condemned, ObjectCondemned), (other, KeyTaken)):
        with pytest.raises(refusal):
            nursery.register(dataset, (stream, 4, 7), segment=segment)

    assert nursery.merged_offset(stream, dataset) == 4


def test_without_a_segment_only_offsets_move_and_a_retry_is_recognised(
    nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    first = nursery.register(dataset, (stream, -1, 4))

    again = nursery.register(dataset, (stream, -1, 4))

    assert again.segment_version == first.segment_version
    with pytest.raises(OffsetConflict):
        nursery.register(dataset, (stream, 2, 4))


def test_a_retry_of_high_offsets_is_recognised(
    nursery: NurseryDriver, collector: IngestionDriver, stream: str, dataset: str
) -> None:
    """Python keeps one object of each number below 257, and offsets rise beyond."""
    for offset in range(10, 300):
        collector.commit(stream, offset, dataset)
    first = nursery.register(dataset, (stream, -1, 299))

    again = nursery.register(dataset, (stream, -1, 299))

    assert again.segment_version == first.segment_version


def test_all_streams_of_a_call_move_or_none(
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    stream: str,
    dataset: str,
) -> None:
    other = IngestionDriver(collector.client, "another").register(catalog.token(dataset)).stream_id
    collector.commit(other, 0, dataset)

    with pytest.raises(OffsetConflict):
        nursery.register(dataset, (stream, -1, 4), (other, 0, 1), segment=nursery.segment(dataset))

    assert nursery.merged_offset(stream, dataset) == -1
    nursery.register(dataset, (stream, -1, 4), (other, -1, 0), segment=nursery.segment(dataset))
    assert nursery.merged_offset(other, dataset) == 0


def test_unknown_datasets_and_streams_are_not_found(
    nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    unknown = str(uuid4())

    with pytest.raises(NotFound):
        nursery.merge(unknown, stream, -1, 4)
    with pytest.raises(NotFound):
        nursery.merge(dataset, unknown, -1, 4)


def test_malformed_registrations_are_refused(
    catalog: CatalogDriver, nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    segment = nursery.segment(dataset)
    other = nursery.segment(catalog.dataset())

    with pytest.raises(InvalidArgument):
        nursery.register(dataset, segment=segment)
    with pytest.raises(InvalidArgument):
        nursery.register(dataset, (stream, -1, 4), (stream, -1, 4), segment=segment)
    with pytest.raises(InvalidArgument):
        nursery.register(dataset, (stream, 4, 4), segment=segment)
    with pytest.raises(InvalidArgument):
        nursery.register(dataset, (stream, -2, 4), segment=segment)
    with pytest.raises(InvalidArgument):
        nursery.register(dataset, (stream, -1, 4), segment=other)
    with pytest.raises(InvalidArgument):
        nursery.register(dataset, (stream, -1, 4), segment=segment, more=[segment])
    with pytest.raises(InvalidArgument):
        nursery.register(dataset, (stream, -1, 4), more=[segment])


def test_a_registration_of_a_dataset_that_is_gone_refuses_no_other_of_its_batch(
    meta_server: MetaServer, nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    def merge_of(dataset_id: str) -> Merge:
        move = EntryMove(UUID(dataset_id), OffsetSpan(stream, 0, 4), ingest_time_nanos=1)
        return Merge(UUID(dataset_id), (), (move,))

    with meta_server.running.database.write() as tx:
        gone, registered = register_batch(tx, [merge_of(str(uuid4())), merge_of(dataset)])

    assert isinstance(gone, NotFound)
    assert isinstance(registered, int)
    assert nursery.merged_offset(stream, dataset) == 4
