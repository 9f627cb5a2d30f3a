"""A restored database gets back the segments that it lost, from every store."""

from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from click.testing import CliRunner

from janitor import jobs
from janitor.jobs import Tools
from meta import config
from meta.process.exits import ConfigError
from meta.server import server
from meta.v1 import operations_pb2 as pb
from segments.keys import baby_prefix, store_of
from segments.location import NamedStore, StoreLocation
from segplane.__main__ import app
from segplane.recovery import lost_segments, unknown_babies
from tests.support.meta import backups
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery
from tests.support.placement.two_stores import COLD
from tests.support.reconciling import (
    assert_sound,
    command,
    release_and_collect,
    running,
    with_lifetimes,
)
from tests.support.visible_segments import texts


@pytest.fixture(params=["versitygw", pytest.param("gcs", marks=pytest.mark.slow), "azure"])
def cloud(request: pytest.FixtureRequest) -> StoreLocation:
    """Name a bucket of each cloud in turn."""
    location: StoreLocation = request.getfixturevalue(f"{request.param}_location")
    return location


@pytest.fixture(autouse=True)
def _no_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collectors of these tests do not write by themselves."""
    monkeypatch.setattr(unknown_babies, "QUIET_SECS", 0.0)
    monkeypatch.setattr(lost_segments, "_SKEW_NANOS", 0)


def send_and_reap(tools: Tools, collector: CollectorDriver, text: str) -> None:
    """Have a record merged and its baby deleted, so that its segment alone has it."""
    collector.send(text)
    for _ in range(2):
        nursery(tools.meta).cycle()
    jobs.delete_tombstoned(tools)
    assert list(tools.store.list(baby_prefix(collector.stream_id))) == []


def move(tools: Tools, collector: CollectorDriver) -> None:
    tools.meta.operations.CreateRewriteJob(
        pb.CreateRewriteJobRequest(id=str(uuid4()), dataset_id=collector.dataset_id, store=COLD)
    )


def stores_of_segments(tools: Tools) -> list[str]:
    return sorted(store_of(info.key) for info in tools.store.list("dataset/"))


def lose_segments(settings: config.Settings, path: Path) -> CollectorDriver:
    """Move a dataset, then write segments to both stores that the backup does not know."""
    with running(settings) as tools:
        known = CollectorDriver(tools.meta, dataset(tools.meta))
        other = CollectorDriver(tools.meta, dataset(tools.meta))
        send_and_reap(tools, known, "before")
        move(tools, known)
        send_and_reap(tools, known, "before, in the cold")
        backups.dump(settings.database.url, path)
        send_and_reap(tools, known, "lost in the cold")
        send_and_reap(tools, other, "lost here")
        assert stores_of_segments(tools) == ["", "", COLD, COLD]
    return known


@pytest.mark.long
def test_segments_of_a_cloud_come_back_beside_those_of_the_default_store(
    meta_settings: config.Settings, cloud: StoreLocation, empty_database_url: str, tmp_path: Path
) -> None:
    settings = replace(with_lifetimes(meta_settings), named_stores=(NamedStore(COLD, cloud),))
    known = lose_segments(settings, tmp_path / "dump")
    backups.restore(tmp_path / "dump", empty_database_url)
    expected = ["before", "before, in the cold", "lost here", "lost in the cold"]

    with running(settings, empty_database_url) as tools:
        assert texts(tools.meta, tools.store) == expected[:2]
        result = command(settings, empty_database_url)
        assert result.exit_code == 0, result.output
        assert texts(tools.meta, tools.store) == expected
        assert_sound(tools)
        release_and_collect(tools)
        known.client = tools.meta
        known.send("next")
        nursery(tools.meta).cycle()

        assert texts(tools.meta, tools.store) == sorted([*expected, "next"])
        assert stores_of_segments(tools) == ["", "", COLD, COLD, COLD]
        assert_sound(tools)


@pytest.mark.long
def test_a_run_without_a_store_of_meta_is_refused(
    meta_settings: config.Settings, empty_database_url: str, tmp_path: Path
) -> None:
    """It would call complete a restore that has left the lost segments of that store out."""
    settings = with_lifetimes(meta_settings)
    lose_segments(settings, tmp_path / "dump")
    backups.restore(tmp_path / "dump", empty_database_url)

    with running(settings, empty_database_url) as tools:
        for stores in ((), (NamedStore("warm", settings.location), *settings.named_stores)):
            result = command(replace(settings, named_stores=stores), empty_database_url)
            assert result.exit_code == 1
            assert "give --object-stores as meta has META_OBJECT_STORES" in result.output
        assert texts(tools.meta, tools.store) == ["before", "before, in the cold"]


@pytest.mark.long
def test_a_meta_over_a_rebuilt_catalog_needs_the_stores_of_its_segments(
    meta_settings: config.Settings, empty_database_url: str, tmp_path: Path
) -> None:
    settings = with_lifetimes(meta_settings)
    lose_segments(settings, tmp_path / "dump")
    at = ["--database-url", empty_database_url, "--object-store-url", settings.location.url()]
    cold = f"{COLD}={settings.named_stores[0].location.url()}"

    rebuilt = ["catalog", "rebuild", "--from-bucket", "--apply", *at, "--object-stores", cold]
    result = CliRunner().invoke(app, rebuilt)

    assert result.exit_code == 0, result.output
    database = replace(settings.database, url=empty_database_url)
    with pytest.raises(ConfigError, match="META_OBJECT_STORES does not name cold"):
        server.start(replace(settings, database=database, named_stores=()))
    with running(settings, empty_database_url) as tools:
        assert len(texts(tools.meta, tools.store)) == 4
