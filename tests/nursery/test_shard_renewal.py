"""A lease of shards that is short: renewed while a cycle takes its time."""

import time
from dataclasses import replace
from datetime import datetime
from typing import cast

import psycopg
import pytest

from meta import config
from meta.client import MetaClient
from nursery.shards import LeasedShards
from tests.support.waiting import wait_until

LEASE_SECS = 1.0


@pytest.fixture
def meta_settings(meta_settings: config.Settings) -> config.Settings:
    """The shortest lease."""
    lifetimes = replace(meta_settings.lifetimes, nursery_lease=LEASE_SECS)
    return replace(meta_settings, lifetimes=lifetimes)


def test_a_lease_is_renewed_while_a_cycle_takes_its_time(
    meta_client: MetaClient, database_url: str
) -> None:
    busy = LeasedShards(meta_client, "busy", time.monotonic)
    assert len(busy.acquire().indexes) == 64

    def lease_until() -> datetime:
        with psycopg.connect(database_url) as connection:
            row = connection.execute("SELECT lease_until FROM nurseries").fetchone()
        assert row is not None
        return cast(datetime, row[0])

    first = lease_until()
    wait_until(
        lambda: (lease_until() - first).total_seconds() > 2 * LEASE_SECS, "the lease is renewed"
    )

    assert busy.acquire().indexes == tuple(range(64))
    busy.release()
