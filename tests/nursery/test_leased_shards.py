"""Nurseries that share the streams by themselves, as meta assigns shards to them."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import psycopg
import pytest

from meta import config, metrics
from meta.client import MetaClient
from nursery.lifecycle.shards import LeasedShards
from nursery.loop import Nursery
from tests.support.nursery.drivers import EAGER, CollectorDriver, dataset, run_here, texts

STREAMS = 12


@pytest.fixture
def meta_settings(meta_settings: config.Settings) -> config.Settings:
    """A lease that only a test ends."""
    lifetimes = replace(meta_settings.lifetimes, nursery_lease=600.0)
    return replace(meta_settings, lifetimes=lifetimes)


@pytest.fixture
def collectors(meta_client: MetaClient) -> list[CollectorDriver]:
    """Streams that all bring records to one dataset."""
    dataset_id = dataset(meta_client)
    return [CollectorDriver(meta_client, dataset_id) for _ in range(STREAMS)]


@pytest.fixture
def leased(meta_client: MetaClient) -> Iterator[Callable[[str], Nursery]]:
    """Start nurseries that ask for their shards before every cycle."""
    with ExitStack() as stack:

        def start(name: str) -> Nursery:
            hours = itertools.count(0.0, 3_600.0)
            shards = LeasedShards(meta_client, name, lambda: next(hours))
            driver = Nursery(meta_client, EAGER, run_here, 2, shards=shards)
            stack.callback(driver.close)
            return driver

        yield start


def send(collectors: list[CollectorDriver], text: str) -> None:
    for number, collector in enumerate(collectors):
        collector.send(f"{text} {number}")


def sent(text: str) -> list[str]:
    return sorted(f"{text} {number}" for number in range(STREAMS))


def merged(collectors: list[CollectorDriver]) -> int:
    """Count the streams that are merged up to their end."""
    return sum(set(c.merged().values()) == {c.next_offset - 1} for c in collectors)


def races_lost() -> float:
    return metrics.NURSERY.get_sample_value("segplane_nursery_races_lost_total") or 0.0


def test_a_nursery_that_joins_takes_over_half_of_the_streams(
    leased: Callable[[str], Nursery], collectors: list[CollectorDriver]
) -> None:
    first, second = leased("first"), leased("second")
    before = races_lost()
    send(collectors, "one")
    first.cycle()
    assert merged(collectors) == STREAMS

    for driver in (second, first, second, first):
        driver.cycle()
    send(collectors, "two")
    first.cycle()
    by_first = merged(collectors)
    second.cycle()

    assert 0 < by_first < STREAMS
    assert merged(collectors) == STREAMS
    assert texts(collectors[0]) == sorted(sent("one") + sent("two"))
    assert races_lost() == before


def test_streams_of_a_nursery_that_was_killed_are_merged_by_the_others(
    leased: Callable[[str], Nursery], collectors: list[CollectorDriver], database_url: str
) -> None:
    killed, survivor = leased("killed"), leased("survivor")
    for driver in (killed, survivor, killed, survivor):
        driver.cycle()
    send(collectors, "one")
    survivor.cycle()
    assert merged(collectors) < STREAMS

    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE nurseries SET lease_until = now() WHERE id = 'killed'")
    survivor.cycle()

    assert texts(collectors[0]) == sent("one")


def test_a_nursery_that_ends_gives_its_streams_back(
    leased: Callable[[str], Nursery], collectors: list[CollectorDriver]
) -> None:
    ending, staying = leased("ending"), leased("staying")
    for driver in (ending, staying, ending, staying):
        driver.cycle()
    send(collectors, "one")

    ending.close()
    staying.cycle()

    assert texts(collectors[0]) == sent("one")
    assert metrics.NURSERY.get_sample_value("segplane_nursery_shards") == 64
