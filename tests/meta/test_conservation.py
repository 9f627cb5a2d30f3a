"""A registration holds no more events than its baby segments hold records, or is allowed."""

import pytest

from meta import metrics
from meta.client import MetaClient
from meta.errors import ExcessEvents, InvalidArgument
from meta.v1 import common_pb2
from meta.v1.operations_pb2 import DatasetSettings
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import get_settings, set_settings
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.server import MetaServer

pytestmark = pytest.mark.one_meta


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset()


@pytest.fixture
def stream(catalog: CatalogDriver, collector: IngestionDriver, dataset: str) -> str:
    """Give a stream whose babies are still to come."""
    return collector.register(catalog.token(dataset)).stream_id


def segment(nursery: NurseryDriver, dataset: str, events: int) -> common_pb2.CreateSegment:
    made = nursery.segment(dataset)
    made.number_of_events = events
    return made


def test_more_events_than_stamped_records_are_refused(
    nursery: NurseryDriver, collector: IngestionDriver, stream: str, dataset: str
) -> None:
    for offset in range(2):
        collector.commit(stream, offset, dataset, num_records=1)

    with pytest.raises(ExcessEvents, match="999 events, their baby segments 2 records"):
        nursery.register(dataset, (stream, -1, 1), segment=segment(nursery, dataset, 999))

    assert nursery.merged_offset(stream, dataset) == -1
    more = [segment(nursery, dataset, 1)]
    nursery.register(dataset, (stream, -1, 1), segment=segment(nursery, dataset, 1), more=more)


def test_records_of_other_datasets_do_not_count(
    nursery: NurseryDriver,
    collector: IngestionDriver,
    catalog: CatalogDriver,
    stream: str,
    dataset: str,
) -> None:
    collector.commit(stream, 0, catalog.dataset(), num_records=5)
    collector.commit(stream, 1, dataset, num_records=5)

    with pytest.raises(ExcessEvents):
        nursery.register(dataset, (stream, -1, 1), segment=segment(nursery, dataset, 6))

    nursery.register(dataset, (stream, -1, 1), segment=segment(nursery, dataset, 5))


@pytest.mark.parametrize("is_stamped", [False, True], ids=["unstamped", "uncounted"])
def test_where_a_count_may_be_missing_the_excess_is_counted(
    nursery: NurseryDriver, collector: IngestionDriver, stream: str, dataset: str, is_stamped: bool
) -> None:
    """A collector that states neither stamps nor records keeps working."""
    collector.commit(stream, 0, *[dataset] * is_stamped, num_records=0 if is_stamped else 2)
    before = metrics.REGISTRATION_EXCESS_EVENTS._value.get()

    nursery.register(dataset, (stream, -1, 0), segment=segment(nursery, dataset, 7))

    counted = metrics.REGISTRATION_EXCESS_EVENTS._value.get() - before
    assert counted == (7 if is_stamped else 5)


def allow(client: MetaClient, dataset: str, events: int) -> DatasetSettings:
    return set_settings(client, dataset, DatasetSettings(excess_events_allowed=events))


def allowed(client: MetaClient, dataset: str) -> int:
    return get_settings(client, dataset).excess_events_allowed


def test_an_allowance_lets_in_so_many_excess_events_and_not_one_more(
    nursery: NurseryDriver, collector: IngestionDriver, stream: str, dataset: str
) -> None:
    for offset in range(2):
        collector.commit(stream, offset, dataset, num_records=1)
    client = nursery.client
    counted = metrics.ALLOWED_EXCESS_EVENTS._value.get()
    allow(client, dataset, 5)

    with pytest.raises(ExcessEvents) as refused:
        nursery.register(dataset, (stream, -1, 0), segment=segment(nursery, dataset, 7))
    assert (refused.value.metadata["excess_events"], allowed(client, dataset)) == ("6", 5)
    first = segment(nursery, dataset, 6)
    reply = nursery.register(dataset, (stream, -1, 0), segment=first)
    again = nursery.register(dataset, (stream, -1, 0), segment=first)
    with pytest.raises(ExcessEvents):
        nursery.register(dataset, (stream, 0, 1), segment=segment(nursery, dataset, 2))

    assert again.segment_version == reply.segment_version
    assert allowed(client, dataset) == 0
    assert metrics.ALLOWED_EXCESS_EVENTS._value.get() - counted == 5


def test_an_allowance_is_of_one_dataset_and_revoked_by_zero(
    nursery: NurseryDriver,
    collector: IngestionDriver,
    catalog: CatalogDriver,
    stream: str,
    dataset: str,
) -> None:
    collector.commit(stream, 0, dataset, num_records=1)
    allow(nursery.client, catalog.dataset(), 100)

    with pytest.raises(ExcessEvents):
        nursery.register(dataset, (stream, -1, 0), segment=segment(nursery, dataset, 2))
    allow(nursery.client, dataset, 100)
    assert set_settings(nursery.client, dataset, DatasetSettings()).excess_events_allowed == 100
    allow(nursery.client, dataset, 0)
    with pytest.raises(ExcessEvents):
        nursery.register(dataset, (stream, -1, 0), segment=segment(nursery, dataset, 2))
    with pytest.raises(InvalidArgument):
        allow(nursery.client, dataset, -1)
    assert allowed(nursery.client, dataset) == 0


def test_an_allowance_and_each_of_its_uses_are_in_the_audit_log(
    meta_server: MetaServer,
    nursery: NurseryDriver,
    collector: IngestionDriver,
    stream: str,
    dataset: str,
) -> None:
    collector.commit(stream, 0, dataset, num_records=1)
    allow(nursery.client, dataset, 5)
    allow(nursery.client, dataset, 5)
    nursery.register(dataset, (stream, -1, 0), segment=segment(nursery, dataset, 4))

    with meta_server.running.database.read() as tx:
        rows = tx.exec_driver_sql(
            "SELECT rpc, subject_id, detail FROM audit_log"
            " WHERE subject_id = %s AND rpc <> 'CreateDataset' ORDER BY id",
            (dataset,),
        )
        assert [tuple(row) for row in rows] == [
            ("SetDatasetSettings", dataset, "5 excess events are allowed"),
            ("RegisterMergedSegment", dataset, "3 excess events of the 5 allowed"),
        ]
