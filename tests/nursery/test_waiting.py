"""A dataset whose layout a nursery does not know waits, and no other dataset with it."""

from uuid import UUID

import pytest
from structlog.testing import capture_logs

from meta.metrics import NURSERY
from meta.store.catalog import datasets
from meta.store.versions import versions
from meta.v1 import nursery_pb2
from segments.baby import Baby, BabyKind, TokenPart, encode_baby
from segments.keys import baby_key
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import NOW, CollectorDriver, dataset, logs, nursery, texts

LATER = 99
STAMPED = pytest.mark.parametrize("is_stamped", [True, False], ids=["stamped", "unstamped"])


@pytest.fixture
def other(collector: CollectorDriver) -> CollectorDriver:
    """Give a token of another dataset on the same stream."""
    return CollectorDriver(collector.client, dataset(collector.client), collector.collector_id)


def promote_later_type(server: MetaServer, dataset_id: str, kql_type: int = LATER) -> None:
    """Give the dataset a promoted column as a later release may make one."""
    with server.running.database.write() as tx:
        tx.exec_driver_sql(
            "INSERT INTO promoted_columns VALUES (%s, 0, 'status', %s, 1, 'http.status')"
            " ON CONFLICT (dataset_id, position) DO UPDATE SET type = excluded.type",
            (UUID(dataset_id), kql_type),
        )
        datasets.stamp(tx, UUID(dataset_id), versions.allocate(tx))


def send_both(
    collector: CollectorDriver, other: CollectorDriver, text: str, *, is_stamped: bool
) -> None:
    """Commit one baby with a record for each of the two datasets."""
    parts = tuple(
        TokenPart(
            sender.token_id,
            "logs",
            (logs(f"{text} {name}"),),
            *((sender.dataset_id, 1, NOW, NOW) if is_stamped else ()),
        )
        for name, sender in (("own", collector), ("other", other))
    )
    kind, flush_id = (BabyKind.DATA, b"f" * 16) if is_stamped else (BabyKind.UNSPECIFIED, b"")
    baby = Baby(parts, kind, flush_id, NOW if is_stamped else 0, is_stamped)
    collector.store.put_if_absent(
        baby_key(collector.stream_id, collector.next_offset), encode_baby(baby)
    )
    collector.next_offset += 1
    collector.commit(baby)


def quarantined(collector: CollectorDriver) -> list[str]:
    return [info.key for info in collector.store.list("quarantine/")]


@STAMPED
def test_a_layout_of_a_later_release_makes_its_dataset_wait_and_no_other(
    meta_server: MetaServer, collector: CollectorDriver, other: CollectorDriver, is_stamped: bool
) -> None:
    promote_later_type(meta_server, collector.dataset_id)
    for text in ("a", "b"):
        send_both(collector, other, text, is_stamped=is_stamped)

    with capture_logs() as events:
        driver = nursery(collector.client)
        for _ in range(3):
            driver.cycle()

    assert texts(other) == ["a other", "b other"]
    assert texts(collector) == []
    assert collector.merged() == {collector.dataset_id: -1, other.dataset_id: 1}
    assert quarantined(collector) == []
    waits = [e for e in events if e["event"] == "dataset_waiting"]
    assert [(e["dataset_id"], "type 99" in e["reason"]) for e in waits] == [
        (collector.dataset_id, True)
    ]
    assert NURSERY.get_sample_value("segplane_nursery_waiting_datasets") == 1


@STAMPED
def test_a_dataset_that_waited_is_merged_once_its_layout_is_known(
    meta_server: MetaServer, collector: CollectorDriver, other: CollectorDriver, is_stamped: bool
) -> None:
    promote_later_type(meta_server, collector.dataset_id)
    for text in ("a", "b"):
        send_both(collector, other, text, is_stamped=is_stamped)
    driver = nursery(collector.client)
    driver.cycle()

    promote_later_type(meta_server, collector.dataset_id, kql_type=1)
    for _ in range(3):
        driver.cycle()

    assert texts(collector) == ["a own", "b own"]
    assert texts(other) == ["a other", "b other"]
    assert quarantined(collector) == []
    assert NURSERY.get_sample_value("segplane_nursery_waiting_datasets") == 0


def test_a_stream_of_a_waiting_dataset_alone_is_left_as_it_is(
    meta_server: MetaServer, collector: CollectorDriver
) -> None:
    promote_later_type(meta_server, collector.dataset_id)
    collector.send("a")
    collector.stop()

    driver = nursery(collector.client)
    for _ in range(3):
        driver.cycle()

    assert collector.merged() == {collector.dataset_id: -1}
    assert isinstance(collector.info(), nursery_pb2.IngestStreamInfo)
