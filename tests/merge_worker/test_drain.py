"""SIGTERM in the middle of a merge: it gets a while to finish, then the task is given back."""

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from segments.parquet.reader import read_segment
from tests.support.merge_worker.case import Case, Signalling
from tests.support.meta.server import MetaServer
from tests.support.parquet.rows import Row, plain
from tests.support.process_tree import newest_python
from tests.support.waiting import wait_until
from tests.support.worker_process import MASTERS, WorkerProcess

pytestmark = pytest.mark.spark

INPUTS = 16
LONG_SECS = 100.0
# What is not the drain: the cancelling, giving back, and Spark's own end.
REST_SECS = 15.0
# Meta's, after a beat: the task must be free sooner.
LEASE_SECS = 60.0


@dataclass
class MergeDrainScene:
    """A merge task that is to be made, and a worker that takes it."""

    meta: MetaServer
    case: Case
    work_dir: Path
    rows: Counter[Row]
    master: str

    @contextmanager
    def worker(self, drain_secs: float) -> Iterator[WorkerProcess]:
        """Start a merge worker."""
        process = WorkerProcess(
            "merge_worker",
            {
                "MERGE_WORKER_META_ADDRESS": self.meta.address,
                "MERGE_WORKER_SPARK_MASTER": self.master,
                "MERGE_WORKER_INTERVAL_SECS": "0.1",
                "MERGE_WORKER_WORK_DIR": str(self.work_dir),
                "MERGE_WORKER_DRAIN_SECS": str(drain_secs),
            },
        )
        try:
            process.wait_for("merge_worker_started")
            yield process
        finally:
            process.close()

    def read(self) -> Counter[Row]:
        """Read the visible records."""
        found: Counter[Row] = Counter()
        for segment in self.case.find():
            (table,) = read_segment(self.case.store, self.case.key(segment)).values()
            found.update(plain(table))
        return found


@pytest.fixture(params=[MASTERS[0], pytest.param(MASTERS[1], marks=pytest.mark.slow)])
def scene(
    request: pytest.FixtureRequest, meta_server: MetaServer, tmp_path: Path
) -> MergeDrainScene:
    (tmp_path / "work").mkdir()
    case = Case(meta_server.client, tmp_path)
    rows = Counter(row for seed in range(INPUTS) for row in case.save(seed))
    return MergeDrainScene(meta_server, case, tmp_path / "work", rows, request.param)


@pytest.mark.long
def test_a_merge_that_outlasts_the_drain_is_given_back_at_once(scene: MergeDrainScene) -> None:
    case = scene.case
    path = Path("/", scene.meta.settings.location.path, case.key(case.find()[7]))
    body = path.read_bytes()
    path.unlink()
    # Who opens it waits for somebody who writes: a store that does not answer.
    os.mkfifo(path)
    with scene.worker(drain_secs=0.3) as process:
        assert case.plan() == 1
        wait_until(lambda: any(scene.work_dir.glob("segplane-merge-*")), "the merge has begun")
        asked = time.monotonic()
        assert process.terminate() == 0

        assert time.monotonic() - asked < REST_SECS
        process.wait_for('"event": "merge_task_given_up"')
    assert not process.has_logged("merge_task_failed")
    path.unlink()
    path.write_bytes(body)
    merger = Signalling()
    case.work_until(merger, merger.is_reported, within_secs=LEASE_SECS / 2)
    (merged,) = case.find()
    assert merged.merge_count == 1
    assert scene.read() == scene.rows


@pytest.mark.slow
def test_a_merge_that_ends_within_the_drain_is_completed(
    scene: MergeDrainScene, tmp_path: Path
) -> None:
    (tmp_path / "before").mkdir()
    before = Case(scene.meta.client, tmp_path / "before")
    for seed in range(INPUTS):
        before.save(seed)
    with scene.worker(drain_secs=LONG_SECS) as process:
        # A first merge starts the process that runs the second.
        assert before.plan() == 1
        process.wait_for("merge_task_completed")
        runner = newest_python(process.pid)
        os.kill(runner, signal.SIGSTOP)
        assert scene.case.plan() == 1
        process.wait_for(f'"dataset_id": "{scene.case.dataset_id}", "attempt": 1, "event": "merge_')
        process.ask_to_end()
        os.kill(runner, signal.SIGCONT)

        assert process.exit_code(LONG_SECS) == 0
    (merged,) = scene.case.find()
    assert merged.merge_count == 1
    assert scene.read() == scene.rows
