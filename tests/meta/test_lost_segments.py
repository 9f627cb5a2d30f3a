"""Segments that come back into a restored database, and the streams that they are of."""

from uuid import UUID

import pytest

from meta.client import MetaClient
from meta.store.recovery import lost_segments
from meta.store.recovery.lost_segments import Returned, ReturnedStream
from meta.store.recovery.rebuild import RestoredSegment
from meta.store.segments.segments import NewSegment
from meta.v1 import operations_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.server import MetaServer

pytestmark = pytest.mark.one_meta
LAST = 1


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset()


@pytest.fixture
def streams(meta_client: MetaClient, catalog: CatalogDriver, dataset: str) -> list[str]:
    """Give two streams in the order of their ids, with two committed babies each."""
    token = catalog.token(dataset)
    drivers = [IngestionDriver(meta_client, f"{dataset}-{number}") for number in range(2)]
    made = sorted((driver.register(token).stream_id, driver) for driver in drivers)
    for stream_id, driver in made:
        for offset in range(LAST + 1):
            driver.commit(stream_id, offset, dataset)
    return [stream_id for stream_id, _ in made]


def bring_back(meta_server: MetaServer, dataset: str, streams: list[str]) -> None:
    """Bring a segment of all babies of the streams back, whose babies are gone."""
    prefix, name = f"dataset/{dataset}/merged", "lost.parquet"
    new = NewSegment(UUID(dataset), 1_000, 2_000, 100, 10, 40, prefix, name, f"{prefix}/{name}")
    spans = tuple((UUID(stream_id), 0, LAST) for stream_id in streams)
    with meta_server.running.database.write() as tx:
        states = lost_segments.read_states(tx, streams)
        planned = tuple(
            ReturnedStream(UUID(stream_id), state, LAST, LAST, (), {dataset: LAST})
            for stream_id, state in sorted(states.items())
        )
        restored = RestoredSegment(new, 1, 1_000, spans)
        lost_segments.bring_back(tx, Returned((restored,), planned, (), ()))


def test_a_returned_segment_is_located_for_each_stream_that_it_moves(
    meta_server: MetaServer, nursery: NurseryDriver, dataset: str, streams: list[str]
) -> None:
    merged, moved = streams
    nursery.merge(dataset, merged, -1, LAST)

    bring_back(meta_server, dataset, streams)

    request = pb.LocateOffsetRequest(stream_id=moved, offset=LAST)
    (place,) = meta_server.client.operations.LocateOffset(request).locations
    (segment,) = place.segments
    assert segment.cloud_object_key.key == "lost.parquet"
    assert [nursery.merged_offset(s, dataset) for s in streams] == [LAST, LAST]


def test_gone_babies_that_another_dataset_has_not_merged_are_not_passed_for_it(
    meta_server: MetaServer, catalog: CatalogDriver, nursery: NurseryDriver, dataset: str
) -> None:
    """Its nursery finds them gone and parks the stream, so that an operator decides."""
    other = catalog.dataset()
    collector = IngestionDriver(meta_server.client, f"{dataset}-both")
    stream_id = collector.register(catalog.token(dataset)).stream_id
    collector.register(catalog.token(other))
    for offset in range(LAST + 1):
        collector.commit(stream_id, offset, dataset, other)
    nursery.merge(other, stream_id, -1, 0)

    bring_back(meta_server, dataset, [stream_id])

    assert nursery.merged_offset(stream_id, dataset) == LAST
    assert nursery.merged_offset(stream_id, other) == 0
    assert nursery.stream(stream_id).deleted_offset == 0
    unmerged = nursery.stream(stream_id).unmerged_babies
    assert [baby.offset for baby in unmerged] == [LAST]
