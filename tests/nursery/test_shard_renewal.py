"""A lease of shards that is short: renewed while a cycle takes its time."""

import time
from dataclasses import replace
from datetime import datetime
from typing import cast

import psycopg
import pytest

from meta import config
from meta.client import MetaClient
from nursery.lifecycle.shards import LeasedShards
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

    wait_until_renewed(database_url, "busy")

    assert busy.acquire().indexes == tuple(range(64))
    busy.release()


def test_a_renewal_gives_no_shard_away_while_a_cycle_works_on_it(
    meta_client: MetaClient, database_url: str
) -> None:
    busy, other = (LeasedShards(meta_client, name, time.monotonic) for name in ("busy", "other"))
    busy.acquire()
    assert not other.acquire().indexes

    wait_until_renewed(database_url, "busy")

    assert not other.acquire().indexes
    assert len(busy.acquire().indexes) == 32
    assert len(other.acquire().indexes) == 32
    other.release()
    busy.release()


def wait_until_renewed(database_url: str, nursery_id: str) -> None:
    """Wait until a nursery's lease ends at least two leases later than now."""

    def lease_until() -> datetime:
        with psycopg.connect(database_url) as connection:
            row = connection.execute(
                "SELECT lease_until FROM nurseries WHERE id = %s", (nursery_id,)
            ).fetchone()
        assert row is not None
        return cast(datetime, row[0])

    first = lease_until()
    wait_until(
        lambda: (lease_until() - first).total_seconds() > 2 * LEASE_SECS, "the lease is renewed"
    )
