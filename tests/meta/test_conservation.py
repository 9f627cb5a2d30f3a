"""A registration holds no more events than its baby segments hold records."""

import pytest

from meta import metrics
from meta.errors import InvalidArgument
from meta.v1 import common_pb2
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver


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

    with pytest.raises(InvalidArgument, match="999 events, their baby segments 2 records"):
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

    with pytest.raises(InvalidArgument):
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
