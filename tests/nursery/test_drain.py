"""SIGTERM in the middle of a job: it gets a while to finish, then it is cancelled."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from meta.v1 import operations_pb2
from segments.keys import baby_key
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver, nursery, texts
from tests.support.waiting import wait_until
from tests.support.worker_process import MASTERS, WorkerProcess

pytestmark = pytest.mark.spark

LONG_SECS = 100.0
# What is not the drain: the cancelling, and Spark's own end.
REST_SECS = 15.0


@dataclass
class Scene:
    """Two committed babies: a job writes a file of the first, and hangs in reading the second."""

    meta: MetaServer
    collector: CollectorDriver
    hanging: Path
    body: bytes
    master: str

    @contextmanager
    def busy_nursery(self, drain_secs: float) -> Iterator[WorkerProcess]:
        """Start a nursery and wait until its job hangs."""
        process = WorkerProcess(
            "nursery",
            {
                "NURSERY_META_ADDRESS": self.meta.address,
                "NURSERY_SPARK_MASTER": self.master,
                "NURSERY_INTERVAL_SECS": "0.1",
                "NURSERY_WAIT_SECS": "0",
                # Each baby becomes a file at once.
                "NURSERY_DECODE_BYTES_MAX": "1",
                "NURSERY_TASK_BYTES_MAX": "1",
                "NURSERY_DRAIN_SECS": str(drain_secs),
            },
        )
        try:
            wait_until(lambda: len(self.files()) == 1, "the job has written a file")
            yield process
        finally:
            process.close()

    def answer(self) -> None:
        """Let the read that hangs have what it waits for."""
        self.hanging.write_bytes(self.body)

    def repair(self) -> None:
        """Put the object in the place of what hangs."""
        self.hanging.unlink()
        self.hanging.write_bytes(self.body)

    def files(self) -> list[str]:
        """Every merged file in the store, registered or not."""
        return [found.key for found in self.collector.store.list("dataset/")]


@pytest.fixture(params=MASTERS)
def scene(
    request: pytest.FixtureRequest, meta_server: MetaServer, collector: CollectorDriver
) -> Scene:
    collector.send("first")
    collector.send("second")
    path = Path("/", meta_server.settings.location.path, baby_key(collector.stream_id, 1))
    body = path.read_bytes()
    path.unlink()
    # Who opens it waits for somebody who writes: a store that does not answer.
    os.mkfifo(path)
    return Scene(meta_server, collector, path, body, request.param)


@pytest.mark.long
def test_a_job_that_outlasts_the_drain_is_cancelled_and_leaves_orphans_alone(scene: Scene) -> None:
    with scene.busy_nursery(drain_secs=0.5) as process:
        asked = time.monotonic()
        assert process.terminate() == 0
        took_secs = time.monotonic() - asked

        process.wait_for("nursery_stopped")
    assert took_secs < REST_SECS
    assert process.has_logged("job_given_up")
    assert not process.has_logged("segment_registered")
    assert texts(scene.collector) == []
    (left,) = scene.files()
    request = operations_pb2.CondemnObjectsRequest(
        object_keys=[left], dry_run=True, written_by_caller=True
    )
    condemned = scene.meta.client.operations.CondemnObjects(request)
    assert list(condemned.condemned_keys) == [left]

    scene.repair()
    nursery(scene.meta.client).cycle()
    assert texts(scene.collector) == ["first", "second"]


@pytest.mark.slow
def test_a_job_that_ends_within_the_drain_is_registered(scene: Scene) -> None:
    with scene.busy_nursery(drain_secs=LONG_SECS) as process:
        process.ask_to_end()
        scene.answer()

        assert process.exit_code(LONG_SECS) == 0
    assert process.has_logged("segment_registered")
    assert texts(scene.collector) == ["first", "second"]
