"""A database that goes back by pg_dump and pg_restore, and what brings its losses back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from click.testing import CliRunner, Result

from dataplane.location import ask_location
from janitor import jobs
from janitor.config import Settings as JanitorSettings
from janitor.jobs import Tools
from meta.client import MetaClient
from meta.config import Settings
from meta.process.shutdown import Shutdown
from meta.server import server
from meta.store.engine.pool import Database, DatabaseSettings
from meta.v1.operations_pb2 import ReleaseDeletionHoldRequest
from segments.store.open import open_stores
from segplane.__main__ import app
from segplane.fsck import catalog_check
from segplane.recovery import reconcile
from segplane.recovery.reconcile import ReconcileReport


def with_lifetimes(settings: Settings, **changes: float) -> Settings:
    """Let every object be old enough for an orphan, and change other ages."""
    lifetimes = replace(settings.lifetimes, orphan_min_age=0.0, **changes)
    return replace(settings, lifetimes=lifetimes)


@contextmanager
def running(settings: Settings, database_url: str = "") -> Iterator[Tools]:
    """Run a meta in this process; gives a janitor's tools."""
    url = database_url or settings.database.url
    Path("/", settings.location.path).mkdir(exist_ok=True)
    started = server.start(replace(settings, database=replace(settings.database, url=url)))
    try:
        address = f"127.0.0.1:{started.port}"
        with MetaClient(address) as client:
            stores = ask_location(client, "test").stores
            store = open_stores(stores)
            yield Tools(client, store, stores, JanitorSettings(address), Shutdown(), "test")
    finally:
        started.stop(2.0)


def command(settings: Settings, database_url: str, *arguments: str) -> Result:
    """Run the command beside the servers."""
    options = ("--database-url", database_url, "--object-store-url", settings.location.url())
    stores = ",".join(f"{store.name}={store.location.url()}" for store in settings.named_stores)
    named = ("--object-stores", stores)
    return CliRunner().invoke(app, ["catalog", "reconcile", *options, *named, *arguments])


def run(
    tools: Tools, database_url: str, progress: Callable[[str], None] = lambda _: None
) -> ReconcileReport:
    """Bring back what is unknown."""
    database = Database(DatabaseSettings(url=database_url))
    try:
        return reconcile.run(database, tools.store, is_dry_run=False, progress=progress)
    finally:
        database.close()


def assert_sound(tools: Tools) -> None:
    """No invariant is violated."""
    report = catalog_check.check(tools.meta, is_deep=True, orphan_age_secs=86_400)
    assert report.violations == [], report.violations


def release_and_collect(tools: Tools) -> None:
    """Let everything be deleted that may be."""
    tools.meta.operations.ReleaseDeletionHold(ReleaseDeletionHoldRequest())
    for _ in range(2):
        jobs.delete_tombstoned(tools)
        jobs.collect_orphans(tools)
