"""Collectors as real processes before a real meta and a folder as object store."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from collector.export import CommittedDigests
from meta import config
from meta.process import Environment
from segments.store.open import open_store
from tests.support.collector.ground import Ground
from tests.support.collector.process import CollectorProcess, StartCollector
from tests.support.collector.seat import Seat
from tests.support.meta.server import MetaServer


@pytest.fixture
def flush_timeout_ms() -> int:
    """Flush timeout; a test overrides it to hold flushes back."""
    return 40


@pytest.fixture
def meta_settings(database_url: str, tmp_path: Path, flush_timeout_ms: int) -> config.Settings:
    """Settings of the meta under test: flushes are quick."""
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


@pytest.fixture
def ground(meta_server: MetaServer, database_url: str, tmp_path: Path) -> Ground:
    """Give a meta with an empty object store."""
    store = open_store(meta_server.settings.location)
    store.probe()
    return Ground(meta_server, database_url, store)


@pytest.fixture
def start_collector(ground: Ground, tmp_path: Path) -> Iterator[StartCollector]:
    """Give a function that starts a collector with extra settings, and end them all afterwards."""
    started: list[CollectorProcess] = []

    def start(
        *, is_ready: bool = True, program: Sequence[str] = ("-m", "collector"), **settings: str
    ) -> CollectorProcess:
        environment = {
            **os.environ,
            "COLLECTOR_META_ADDRESS": ground.meta.address,
            "COLLECTOR_GRPC_BIND": "127.0.0.1:0",
            "COLLECTOR_HTTP_BIND": "127.0.0.1:0",
            "COLLECTOR_ID": "collector-1",
            **settings,
        }
        process = subprocess.Popen(
            [sys.executable, "-P", *program],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        running = CollectorProcess(process)
        threading.Thread(target=running.read_log, daemon=True).start()
        started.append(running)
        if is_ready:
            running.wait_for("ready")
        return running

    yield start
    for running in started:
        if running.process.poll() is None:
            running.kill()


@pytest.fixture
def seat(ground: Ground) -> Iterator[Seat]:
    """Give a seat at the streams of `collector-1`."""
    with ThreadPoolExecutor(8) as threads:
        yield Seat(ground, ground.new_token(), CommittedDigests(600.0), threads)
