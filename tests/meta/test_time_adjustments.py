"""The time adjustment of a dataset: its limits, and a meta of the release before beside."""

import pytest
from sqlalchemy import text

from meta.client import MetaClient
from meta.errors import InvalidArgument, UpgradeUnfinished
from meta.v1 import operations_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import set_settings
from tests.support.meta.server import MetaServer

NANOS_MAX = 3_660 * 86_400 * 10**9


def adjust(client: MetaClient, dataset: str, nanos: int) -> int:
    """Set the adjustment; returns the stored one."""
    settings = pb.DatasetSettings(time_adjustment_nanos=nanos)
    return set_settings(client, dataset, settings).time_adjustment_nanos


def test_an_adjustment_has_a_limit_either_way(
    meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    dataset = catalog.dataset()
    for nanos in (NANOS_MAX, -NANOS_MAX, 0):
        assert adjust(meta_client, dataset, nanos) == nanos
    for nanos in (NANOS_MAX + 1, -NANOS_MAX - 1):
        with pytest.raises(InvalidArgument, match=r"settings\.time_adjustment_nanos"):
            adjust(meta_client, dataset, nanos)


def test_it_is_refused_until_the_upgrade_is_finished(
    meta_server: MetaServer, meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    """A meta of 0.3.0 would answer no adjustment, and readers of it would add none."""
    dataset = catalog.dataset()
    with meta_server.running.database.write() as tx:
        tx.execute(text("UPDATE meta_state SET least_release = '0.3.0'"))

    with pytest.raises(UpgradeUnfinished, match="a time adjustment"):
        adjust(meta_client, dataset, 1)

    assert adjust(meta_client, dataset, 0) == 0
