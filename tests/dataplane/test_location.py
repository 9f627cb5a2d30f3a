"""Location of the objects: asked once, and again when meta's configuration has changed."""

from dataclasses import replace
from pathlib import Path

import pytest

from dataplane.location import ASK_EVERY_SECS, Locator, ask_location
from dataplane.readiness import MetaReadiness
from meta import config
from meta.client import MetaClient
from meta.errors import Unauthenticated, Unavailable
from meta.process.shutdown import Shutdown
from meta.server.server import start
from meta.v1 import catalog_pb2, ingestion_pb2
from segments.location import StoreLocation
from tests.support.clock import SettableClock
from tests.support.meta.server import MetaServer

NOBODY = "127.0.0.1:1"


def test_the_reply_names_no_datasets_and_the_same_place(meta_client: MetaClient) -> None:
    meta_client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="web"))
    whole = meta_client.ingestion.DownloadConfig(ingestion_pb2.DownloadConfigRequest())
    short = meta_client.ingestion.DownloadConfig(
        ingestion_pb2.DownloadConfigRequest(omit_datasets=True)
    )

    assert len(short.config_version) == len(whole.config_version) == 64
    assert short.cloud_object_prefix == whole.cloud_object_prefix
    assert not short.HasField("default_dataset")
    assert not short.other_datasets


def test_a_location_stays_the_same_while_datasets_come(meta_client: MetaClient) -> None:
    clock = SettableClock(0.0)
    locator = Locator(meta_client, "test", monotonic=clock)
    locator.refresh()
    first = locator.known
    meta_client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="web"))

    clock.now += ASK_EVERY_SECS
    locator.refresh()

    assert locator.known is first
    assert ask_location(meta_client, "test") == first


def test_objects_that_were_moved_are_found_where_they_are_now(
    meta_settings: config.Settings, tmp_path: Path
) -> None:
    clock = SettableClock(0.0)
    elsewhere = StoreLocation.from_url((tmp_path / "elsewhere").as_uri())
    running = start(meta_settings)
    address = f"127.0.0.1:{running.port}"
    with MetaClient(address) as client:
        locator = Locator(client, "test", monotonic=clock)
        locator.ask()
        assert locator.store_location == meta_settings.location
        running.stop(0)

        running = start(replace(meta_settings, bind=address, location=elsewhere))
        try:
            clock.now += ASK_EVERY_SECS
            locator.refresh()
        finally:
            running.stop(0)

    assert locator.store_location == elsewhere


def test_the_processs_own_setting_wins_and_needs_no_meta() -> None:
    own = StoreLocation.from_url("s3://bucket")
    with MetaClient(NOBODY) as client:
        assert Locator(client, "test", own).store_location == own


def test_a_shutdown_ends_the_wait_for_meta() -> None:
    shutdown = Shutdown()
    shutdown.request()
    with MetaClient(NOBODY) as client:
        assert not Locator(client, "test").wait(shutdown)


def test_a_process_waits_until_meta_answers(meta_client: MetaClient) -> None:
    locator = Locator(meta_client, "test")

    assert locator.wait(Shutdown())

    assert locator.store_location == locator.known.store


def test_a_refused_token_is_not_ready_though_health_serves(
    meta_settings: config.Settings,
) -> None:
    running = start(replace(meta_settings, auth_token="right"))
    try:
        address = f"127.0.0.1:{running.port}"
        with MetaClient(address, auth_token="wrong") as wrong:
            with pytest.raises(Unauthenticated):
                ask_location(wrong, "test")
            assert wrong.find_health(1.0)
            assert not MetaReadiness(wrong, Locator(wrong, "test")).check()
        with MetaClient(address, auth_token="right") as right:
            assert MetaReadiness(right, Locator(right, "test")).check()
    finally:
        running.stop(0)


def test_a_meta_that_is_away_is_not_ready() -> None:
    with MetaClient(NOBODY) as client:
        with pytest.raises(Unavailable):
            ask_location(client, "test")
        assert not MetaReadiness(client, Locator(client, "test")).check()


class CountedLocator(Locator):
    """Counts authenticated calls."""

    calls = 0

    def ask(self, deadline_secs: float = 10.0) -> None:
        """Ask, and count."""
        self.calls += 1
        super().ask(deadline_secs)


def test_readiness_makes_one_authenticated_call_while_meta_stays(meta_server: MetaServer) -> None:
    clock = SettableClock(0.0)
    locator = CountedLocator(meta_server.client, "test", monotonic=clock)
    readiness = MetaReadiness(meta_server.client, locator)

    assert all(readiness.check() for _ in range(5))
    assert locator.calls == 1
    clock.now += ASK_EVERY_SECS
    assert readiness.check()
    assert locator.calls == 2


def test_readiness_asks_again_when_meta_comes_back(meta_server: MetaServer) -> None:
    answers = iter([True, False, True])
    locator = CountedLocator(meta_server.client, "test")
    readiness = MetaReadiness(meta_server.client, locator, lambda: next(answers))

    assert [readiness.check() for _ in range(3)] == [True, False, True]
    assert locator.calls == 2


def test_a_server_without_health_is_asked_by_the_call_alone(meta_server: MetaServer) -> None:
    locator = CountedLocator(meta_server.client, "test")
    readiness = MetaReadiness(meta_server.client, locator, lambda: None)

    assert all(readiness.check() for _ in range(3))
    assert locator.calls == 3
