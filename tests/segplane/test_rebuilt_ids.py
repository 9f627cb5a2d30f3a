"""Ids and times of receipt after the catalog is rebuilt from the bucket."""

from meta.config import Settings
from meta.v1 import operations_pb2
from tests.segplane.test_catalog_rebuild import on, rebuild, running
from tests.support.meta.dataset_life import get_settings, set_settings
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery


def test_a_rebuild_brings_back_ids_of_records(
    meta_settings: Settings, empty_database_url: str
) -> None:
    with running(meta_settings) as client:
        collector = CollectorDriver(client, dataset(client))
        set_settings(client, collector.dataset_id, operations_pb2.DatasetSettings(record_ids=True))
        collector.send("a")
        nursery(client).cycle()
        before = get_settings(client, collector.dataset_id)

    rebuild(meta_settings, "--apply", "--database-url", empty_database_url)

    with running(on(meta_settings, empty_database_url)) as client:
        rebuilt = get_settings(client, collector.dataset_id)
    assert rebuilt.record_ids
    assert rebuilt.promoted_columns == before.promoted_columns
