"""ListUnmergedBabies: the routing that decides about baby segments without stamps."""

import pytest
from sqlalchemy import text

from meta.client import MetaClient
from meta.errors import ReplyTooLarge
from meta.services.lookup import unmerged_babies
from meta.v1 import operations_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.server import MetaServer


def page(client: MetaClient, dataset: str) -> pb.ListUnmergedBabiesResponse:
    return client.operations.ListUnmergedBabies(pb.ListUnmergedBabiesRequest(dataset_id=dataset))


def test_routing_is_that_of_tokens_which_sent_to_the_dataset(
    meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    dataset, other = catalog.dataset(), catalog.dataset("other")
    stream = IngestionDriver(meta_client, "a").register(catalog.token(dataset)).stream_id
    IngestionDriver(meta_client, "a").register(catalog.token(other))
    for offset in range(2):
        IngestionDriver(meta_client, "").commit(stream, offset)

    own, others = page(meta_client, dataset), page(meta_client, other)

    assert [baby.offset for baby in own.streams[0].babies] == [0, 1]
    assert {one.routing.logs_dataset_id for one in own.routing_history} == {dataset}
    assert {one.routing.logs_dataset_id for one in others.routing_history} <= {other}
    assert {one.stream_id for one in own.routing_history} == {stream}


def test_stamped_babies_need_no_routing(meta_client: MetaClient, catalog: CatalogDriver) -> None:
    dataset = catalog.dataset()
    stream = IngestionDriver(meta_client, "a").register(catalog.token(dataset)).stream_id
    IngestionDriver(meta_client, "").commit(stream, 0, dataset)

    reply = page(meta_client, dataset)

    assert len(reply.streams) == 1
    assert not reply.routing_history


def test_one_period_more_than_a_page_holds_is_refused(
    meta_server: MetaServer, meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    dataset = catalog.dataset()
    stream = IngestionDriver(meta_client, "a").register(catalog.token(dataset)).stream_id
    IngestionDriver(meta_client, "").commit(stream, 0)
    own = len(page(meta_client, dataset).routing_history)

    def add(count: int) -> None:
        statement = text(
            "INSERT INTO routing_periods (stream_id, token_id, from_offset, logs_dataset_id)"
            " SELECT :stream, gen_random_uuid(), 0, :dataset FROM generate_series(1, :count)"
        )
        with meta_server.running.database.write() as tx:
            tx.execute(statement, {"stream": stream, "dataset": dataset, "count": count})

    add(unmerged_babies.PERIODS_MAX - own)
    assert len(page(meta_client, dataset).routing_history) == unmerged_babies.PERIODS_MAX
    add(1)
    with pytest.raises(ReplyTooLarge, match="routing periods"):
        page(meta_client, dataset)
