"""Health tells within five seconds that Postgres is away, hangs, or is back."""

import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from meta.config import Settings
from meta.process.shutdown import Shutdown
from meta.server import server
from segplane.stack.postgres import EmbeddedPostgres
from segplane.stack.preflight import claim_ports
from tests.support.process_tree import children_of
from tests.support.waiting import wait_until

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
NOTICE_SECS = 5.0


@dataclass(frozen=True)
class WatchedHealth:
    """A server with its background jobs, over its own Postgres."""

    postgres: EmbeddedPostgres
    stub: health_pb2_grpc.HealthStub

    def status(self) -> int:
        request = health_pb2.HealthCheckRequest(service="meta.v1.IngestionService")
        return int(self.stub.Check(request, timeout=10).status)


@pytest.fixture
def watched(meta_settings: Settings) -> Iterator[WatchedHealth]:
    folder = Path(tempfile.mkdtemp(prefix="segplane-health-"))
    folder.chmod(0o711)
    port = claim_ports({"meta": 0})["meta"]
    shutdown = Shutdown()
    try:
        with EmbeddedPostgres(folder / "postgres", settings={"fsync": "off"}) as postgres:
            settings = replace(
                meta_settings,
                bind=f"127.0.0.1:{port}",
                database=replace(meta_settings.database, url=postgres.url),
                drain_secs=1.0,
            )
            thread = threading.Thread(target=server.run, args=(settings, shutdown))
            thread.start()
            with grpc.insecure_channel(settings.bind) as channel:
                grpc.channel_ready_future(channel).result(60)
                yield WatchedHealth(postgres, health_pb2_grpc.HealthStub(channel))
            shutdown.request()
            thread.join()
    finally:
        shutdown.request()
        shutil.rmtree(folder, ignore_errors=True)


def seconds_until(watched: WatchedHealth, status: int) -> float:
    began = time.monotonic()
    wait_until(lambda: watched.status() == status, f"status {status}", seconds=30, poll_secs=0.05)
    return time.monotonic() - began


@pytest.mark.long
def test_health_follows_postgres_down_and_up_again(watched: WatchedHealth) -> None:
    seconds_until(watched, SERVING)

    watched.postgres.stop()
    assert seconds_until(watched, NOT_SERVING) < NOTICE_SECS

    watched.postgres.start()
    assert seconds_until(watched, SERVING) < NOTICE_SECS


@pytest.mark.long
def test_health_notices_a_postgres_that_hangs(watched: WatchedHealth) -> None:
    seconds_until(watched, SERVING)
    assert watched.postgres.pid is not None
    processes = [watched.postgres.pid, *children_of(watched.postgres.pid)]
    try:
        for pid in processes:
            os.kill(pid, signal.SIGSTOP)

        assert seconds_until(watched, NOT_SERVING) < NOTICE_SECS
    finally:
        for pid in processes:
            os.kill(pid, signal.SIGCONT)

    assert seconds_until(watched, SERVING) < NOTICE_SECS
