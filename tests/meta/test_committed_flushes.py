"""GetCommittedFlushes: which flush meta committed at each offset."""

from uuid import uuid4

import pytest

from meta.client import MetaClient
from meta.errors import InvalidArgument
from meta.v1 import operations_pb2
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver

pytestmark = pytest.mark.one_meta


def flushes(client: MetaClient, stream_id: str, first: int, last: int) -> dict[int, bytes]:
    request = operations_pb2.GetCommittedFlushesRequest(
        stream_id=stream_id, first_offset=first, last_offset=last
    )
    reply = client.operations.GetCommittedFlushes(request)
    assert reply.kept_secs == 86_400
    return {f.offset: f.flush_id for f in reply.flushes}


def test_a_range_answers_what_was_committed_with_a_flush_id(
    meta_client: MetaClient, catalog: CatalogDriver, collector: IngestionDriver
) -> None:
    dataset = catalog.dataset()
    stream_id = collector.register(catalog.token(dataset)).stream_id
    ids = [uuid4().bytes, b"", uuid4().bytes, uuid4().bytes]
    for offset, flush_id in enumerate(ids):
        collector.commit(stream_id, offset, dataset, flush_id=flush_id)

    assert flushes(meta_client, stream_id, 0, 2) == {0: ids[0], 2: ids[2]}
    assert flushes(meta_client, stream_id, 3, 1_002) == {3: ids[3]}


def test_a_reaped_baby_is_still_known(
    meta_client: MetaClient,
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
) -> None:
    dataset, flush_id = catalog.dataset(), uuid4().bytes
    stream_id = collector.register(catalog.token(dataset)).stream_id
    collector.commit(stream_id, 0, dataset, flush_id=flush_id)
    nursery.merge(dataset, stream_id, -1, 0)
    nursery.reap(stream_id, 0)

    assert flushes(meta_client, stream_id, 0, 0) == {0: flush_id}


def test_an_unknown_stream_has_no_flushes(meta_client: MetaClient) -> None:
    assert flushes(meta_client, str(uuid4()), 0, 0) == {}


@pytest.mark.parametrize(("first", "last"), [(-1, 0), (1, 0), (0, 1_000)])
def test_a_range_of_no_or_too_many_offsets_is_refused(
    meta_client: MetaClient, first: int, last: int
) -> None:
    with pytest.raises(InvalidArgument):
        flushes(meta_client, str(uuid4()), first, last)
