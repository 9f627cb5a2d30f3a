"""A registration of several segments: each is stored once, and so is each offset span."""

from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from meta.commits.transactions import Transactions
from meta.errors import KeyTaken
from meta.process.shutdown import Shutdown
from meta.store.deletion import lifetimes
from meta.store.deletion.lifetimes import Ages
from meta.v1 import common_pb2, operations_pb2
from meta.watches import expiry
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.server import MetaServer

KEPT = Ages(1e6, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6)
DAYS = 3
Days = list[common_pb2.CreateSegment]


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset()


@pytest.fixture
def streams(meta_server: MetaServer, catalog: CatalogDriver, dataset: str) -> list[str]:
    """Give two streams with ten committed babies each."""
    token = catalog.token(dataset)
    collectors = [IngestionDriver(meta_server.client, f"collector-{uuid4().hex}") for _ in range(2)]
    found = []
    for collector in collectors:
        found.append(collector.register(token).stream_id)
        for offset in range(10):
            collector.commit(found[-1], offset, dataset)
    return found


@pytest.fixture
def days(nursery: NurseryDriver, dataset: str) -> list[common_pb2.CreateSegment]:
    return [nursery.segment(dataset) for _ in range(DAYS)]


def count(server: MetaServer, table: str) -> int:
    with server.running.database.read() as tx:
        return int(tx.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())  # noqa: S608


def located(server: MetaServer, stream: str) -> int:
    """Count the segments that hold the stream's third baby."""
    request = operations_pb2.LocateOffsetRequest(stream_id=stream, offset=2)
    (location,) = server.client.operations.LocateOffset(request).locations
    return len(location.segments)


def test_spans_and_segments_are_stored_once_each(
    meta_server: MetaServer, nursery: NurseryDriver, streams: list[str], dataset: str, days: Days
) -> None:
    spans = [(stream, -1, 4) for stream in streams]

    nursery.register(dataset, *spans, segment=days[0], more=days[1:])

    assert count(meta_server, "registrations") == len(spans)
    assert count(meta_server, "registration_segments") == DAYS - 1
    assert [located(meta_server, stream) for stream in streams] == [DAYS, DAYS]


def test_the_same_call_is_recognised_by_all_of_its_segments(
    nursery: NurseryDriver, streams: list[str], dataset: str, days: Days
) -> None:
    spans = [(stream, -1, 4) for stream in streams]
    first = nursery.register(dataset, *spans, segment=days[0], more=days[1:])
    nursery.register(dataset, (streams[0], 4, 5))

    again = nursery.register(dataset, *spans, segment=days[0], more=days[1:])

    assert again.segment_version == first.segment_version
    with pytest.raises(KeyTaken):
        nursery.register(dataset, *spans, segment=days[0], more=days[1:2])


def end(server: MetaServer, segment_id: UUID) -> None:
    """Do what a confirmed deletion of a segment without a successor leaves."""
    with server.running.database.write() as tx:
        tx.execute(text("DELETE FROM segments WHERE id = :id"), {"id": segment_id})
        tx.execute(text("INSERT INTO lineage_ends VALUES (:id)"), {"id": segment_id})
    transactions = Transactions(server.running.database)
    rule = next(rule for rule in lifetimes.SLOW if rule.name == "lineages")
    expiry.sweep(transactions, rule, KEPT, Shutdown())


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)], ids=str)
def test_a_registration_is_kept_until_the_last_of_its_segments_is_gone(
    meta_server: MetaServer,
    nursery: NurseryDriver,
    streams: list[str],
    dataset: str,
    days: Days,
    order: tuple[int, ...],
) -> None:
    nursery.register(dataset, (streams[0], -1, 4), segment=days[0], more=days[1:])
    with meta_server.running.database.read() as tx:
        names = {r.object_name: r.id for r in tx.execute(text("SELECT * FROM segments"))}
    ids = [names[day.cloud_object_key.key] for day in days]

    for left, index in zip((2, 1, 0), order, strict=True):
        end(meta_server, ids[index])
        assert count(meta_server, "registrations") == min(left, 1)
        if left:
            assert located(meta_server, streams[0]) == left

    assert count(meta_server, "registration_segments") == 0
