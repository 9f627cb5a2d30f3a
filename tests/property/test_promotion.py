"""I5, I13 through promotions of a real hot standby: no version is handed out a second time."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import create_engine, make_url

from meta.client import MetaClient
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import DeletionHeld, Unavailable, VersionExpired
from meta.server import server
from meta.store.engine.pool import Database, DatabaseSettings, TimelineChanged
from meta.store.versions import versions
from meta.v1 import operations_pb2
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.segments import Writer
from tests.support.meta.standby import (
    Pair,
    both_hosts,
    catch_up,
    retried,
    running_pair,
    stop_following,
)


@pytest.fixture
def pair() -> Iterator[Pair]:
    with running_pair() as pair:
        yield pair


def draw(url: str, count: int) -> list[int]:
    """Draw versions over a connection of a process's own pool."""
    database = Database(DatabaseSettings(url=url))
    try:
        transactions = Transactions(database)
        return [transactions.write(versions.allocate) for _ in range(count)]
    finally:
        database.close()


@pytest.mark.long
def test_a_server_in_recovery_is_refused_and_one_that_is_promoted_draws_no_version_twice(
    pair: Pair,
) -> None:
    """The connection is a pooler's: opened to the standby and not checked since."""
    handed_out = draw(pair.primary.url, 3)
    catch_up(pair.primary, pair.standby)
    stop_following(pair.standby)
    handed_out += draw(pair.primary.url, 4)
    url = make_url(pair.standby.url).set(drivername="postgresql+psycopg")
    engine = create_engine(url)
    database = Database(DatabaseSettings(url=pair.standby.url))
    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT 1")
        connection.rollback()
        # A process that is asked while the server is in recovery takes none of its connections.
        with pytest.raises(Unavailable, match="in recovery"):
            database.ping()

        pair.fail_over()

        with pytest.raises(TimelineChanged), connection.begin():
            versions.current(connection)
        with connection.begin():
            drawn = versions.allocate(connection)
        with connection.begin():
            again = versions.allocate(connection)
            is_lost = [versions.is_lost(connection, version) for version in handed_out]
            held = connection.exec_driver_sql("SELECT deletion_held FROM meta_state").scalar_one()
    engine.dispose()
    database.ping()
    database.close()
    assert max(handed_out) < drawn < again
    assert is_lost == [False] * 3 + [True] * 4
    assert held


def test_meta_goes_on_with_a_promoted_standby_that_lagged(
    pair: Pair, meta_settings: Settings
) -> None:
    url = both_hosts(pair)
    settings = replace(meta_settings, database=replace(meta_settings.database, url=url))
    running = server.start(settings)
    try:
        with MetaClient(f"127.0.0.1:{running.port}") as client:
            check_failover(client, pair)
    finally:
        running.stop(2.0)


def check_failover(client: MetaClient, pair: Pair) -> None:
    catalog, nursery, writer = CatalogDriver(client), NurseryDriver(client), Writer(client)
    dataset = catalog.dataset("web")
    collector = IngestionDriver(client, "collector")
    stream = collector.register(catalog.token(dataset)).stream_id
    for offset in range(3):
        collector.commit(stream, offset, dataset)
    kept = nursery.poll().response_seq
    catch_up(pair.primary, pair.standby)
    stop_following(pair.standby)
    # What the standby never hears of: an acknowledged baby, and a registration.
    collector.commit(stream, 3, dataset)
    lost = nursery.merge(dataset, stream, -1, 2)
    polled = nursery.poll().response_seq

    pair.fail_over()

    # The first calls may meet connections that died with the primary.
    again = retried(lambda: nursery.poll())
    assert again.response_seq > max(lost, polled)
    state = client.operations.GetServerState(operations_pb2.GetServerStateRequest())
    assert state.deletion_held
    with pytest.raises(DeletionHeld):
        writer.due()
    with pytest.raises(VersionExpired):
        writer.find("web", as_of_version=lost)
    with pytest.raises(VersionExpired):
        nursery.poll(since_seq=polled)
    assert writer.find("web", as_of_version=kept).snapshot_version == kept
    # The collector repeats what it has no answer for; the nursery merges what is unmerged again.
    assert nursery.merged_offset(stream, dataset) == -1
    collector.commit(stream, 3, dataset)
    assert nursery.merge(dataset, stream, -1, 3) > again.response_seq
    assert len(writer.find("web").segments) == 1
