"""Collectors as real processes before a real meta and a folder as object store."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from collector.otlp.export import CommittedDigests
from meta import config
from meta.process.environment import Environment
from segments.store.open import open_store
from segplane.stack.postgres import EmbeddedPostgres
from tests.support.collector.ground import Ground
from tests.support.collector.process import CollectorProcess, StartCollector
from tests.support.collector.seat import Seat
from tests.support.meta.server import MetaServer
from tests.support.meta.shared import shared_meta, shares_meta


@pytest.fixture
def flush_timeout_ms() -> int:
    """Flush timeout; a test overrides it to hold flushes back."""
    return 40


@pytest.fixture
def meta_settings(
    request: pytest.FixtureRequest, database_url: str, tmp_path: Path, flush_timeout_ms: int
) -> config.Settings:
    """Settings of the meta under test: flushes are quick."""
    if shares_meta(request):
        shared: MetaServer = request.getfixturevalue("module_meta")
        return shared.settings
    return config.load(
        Environment(
            "META_",
            {
                "META_BIND": "127.0.0.1:0",
                "META_DATABASE_URL": database_url,
                "META_OBJECT_STORE_URL": (tmp_path / "objects").as_uri(),
                "META_FLUSH_TIMEOUT_MS": str(flush_timeout_ms),
            },
        )
    )


@pytest.fixture(scope="module")
def module_meta(
    postgres: EmbeddedPostgres, template_database: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MetaServer]:
    """Run the meta that all tests with `one_meta` of the module use."""
    folder, quick = tmp_path_factory.mktemp("meta") / "objects", {"META_FLUSH_TIMEOUT_MS": "40"}
    with shared_meta(postgres, template_database, folder, quick) as meta:
        yield meta


@pytest.fixture(scope="module")
def module_database_url(module_meta: MetaServer) -> str:
    """Name the database of that meta."""
    return module_meta.settings.database.url


@pytest.fixture(scope="module")
def module_collector(module_meta: MetaServer) -> Iterator[CollectorProcess]:
    """Run the collector that all tests with `one_meta` of the module use."""
    running = start_process(module_meta)
    try:
        running.wait_for("ready")
        yield running
    finally:
        running.kill()


@pytest.fixture
def ground(request: pytest.FixtureRequest, meta_server: MetaServer, database_url: str) -> Ground:
    """Give a meta with an empty object store; with `one_meta`, what the test's tokens bring."""
    store = open_store(meta_server.settings.location)
    store.probe()
    is_shared = shares_meta(request)
    return Ground(meta_server, database_url, store, set() if is_shared else None)


@pytest.fixture
def start_collector(request: pytest.FixtureRequest, ground: Ground) -> Iterator[StartCollector]:
    """Give a function that starts a collector with extra settings, and end them all afterwards.

    With `one_meta`, it gives the collector of the module.
    """
    started: list[CollectorProcess] = []

    def start(
        *, is_ready: bool = True, program: Sequence[str] = ("-m", "collector"), **settings: str
    ) -> CollectorProcess:
        if ground.dataset_ids is not None:
            assert not settings, "the collector of the module has its own settings"
            shared: CollectorProcess = request.getfixturevalue("module_collector")
            return shared
        running = start_process(ground.meta, program, **settings)
        started.append(running)
        if is_ready:
            running.wait_for("ready")
        return running

    yield start
    for running in started:
        if running.process.poll() is None:
            running.kill()


def start_process(
    meta: MetaServer, program: Sequence[str] = ("-m", "collector"), **settings: str
) -> CollectorProcess:
    """Start a collector and follow its log."""
    environment = {
        **os.environ,
        "COLLECTOR_META_ADDRESS": meta.address,
        "COLLECTOR_GRPC_BIND": "127.0.0.1:0",
        "COLLECTOR_HTTP_BIND": "127.0.0.1:0",
        "COLLECTOR_ID": "collector-1",
        **settings,
    }
    process = subprocess.Popen(
        [sys.executable, "-P", *program], env=environment, stderr=subprocess.PIPE, text=True
    )
    running = CollectorProcess(process)
    threading.Thread(target=running.read_log, daemon=True).start()
    return running


@pytest.fixture
def seat(ground: Ground) -> Iterator[Seat]:
    """Give a seat at the streams of `collector-1`."""
    with ThreadPoolExecutor(8) as threads:
        yield Seat(ground, ground.new_token(), CommittedDigests(600.0), threads)
