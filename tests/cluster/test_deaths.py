"""Parts of a cluster killed in the middle of a job: every record is there exactly once."""

import os
import shutil
import signal
from collections.abc import Callable

import pytest

from dataplane.processes.children import Child
from tests.support.cluster.stack import MERGE_INPUTS, ClusterScene
from tests.support.cluster.standalone import executors_of
from tests.support.process_tree import children_of, command_of
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow]
# Work for several seconds, so that its end does not come before our kill.
BATCH_PADDING = 100_000
BATCH_BABIES = 10
MERGE_PADDING = 120_000
# What a task makes below its temporary folder while it runs.
NURSERY_BUSY = "segplane-nursery-*"
MERGE_BUSY = "segplane-merge-*"

Kill = Callable[[ClusterScene, Child], None]


def kill_an_executor(scene: ClusterScene, child: Child) -> None:
    os.kill(scene.cluster.executors()[0], signal.SIGKILL)


def kill_a_python(scene: ClusterScene, child: Child) -> None:
    """Kill the Pythons of tasks; their daemon goes on."""
    daemons = [pid for executor in scene.cluster.executors() for pid in children_of(executor)]
    for pid in [python for daemon in daemons for python in children_of(daemon)]:
        os.kill(pid, signal.SIGKILL)


def kill_a_worker(scene: ClusterScene, child: Child) -> None:
    cluster = scene.cluster
    cluster.kill_worker(next(w for w in cluster.workers if executors_of(w)))


def kill_the_drivers_jvm(scene: ClusterScene, child: Child) -> None:
    assert child.pid is not None
    (jvm,) = (pid for pid in children_of(child.pid) if "SparkSubmit" in command_of(pid))
    os.kill(jvm, signal.SIGKILL)


def is_busy(scene: ClusterScene, pattern: str) -> bool:
    return any(scene.cluster.temporary_folder.glob(pattern))


KILLS = pytest.mark.parametrize(
    ("kill", "restarts"),
    [(kill_a_python, 0), (kill_an_executor, 0), (kill_a_worker, 0), (kill_the_drivers_jvm, 1)],
    ids=["Python", "executor", "worker", "driver's JVM"],
)


@KILLS
def test_a_batch_survives_the_death_of(scene: ClusterScene, kill: Kill, restarts: int) -> None:
    collectors = [scene.add_dataset() for _ in range(2)]
    with scene.running("nursery", cores=2) as nursery:
        scene.wait(nursery, lambda: nursery.spec.is_ready(nursery), "the nursery is ready")
        for number in range(BATCH_BABIES):
            for collector in collectors:
                scene.send(collector, f"{collector.dataset_id} {number}", BATCH_PADDING)
        scene.wait(nursery, lambda: is_busy(scene, NURSERY_BUSY), "a task runs")

        seen = len(scene.find())
        kill(scene, nursery)

        assert not scene.is_merged()
        scene.wait(nursery, scene.is_merged, "all batches are merged")
        assert len(scene.find()) > seen
        assert nursery.restarts == restarts
    assert scene.read() == scene.sent


@KILLS
def test_a_merge_survives_the_death_of(scene: ClusterScene, kill: Kill, restarts: int) -> None:
    collector = scene.add_dataset()
    scene.save_segments(collector, MERGE_INPUTS, MERGE_PADDING)
    with scene.running("merge_worker", cores=1) as worker:
        scene.wait(worker, lambda: worker.spec.is_ready(worker), "the merge worker is ready")
        assert scene.plan_merges() == 1
        scene.wait(worker, lambda: is_busy(scene, MERGE_BUSY), "the task runs")

        kill(scene, worker)

        assert len(scene.find()) == MERGE_INPUTS
        scene.wait(worker, lambda: len(scene.find()) == 1, "the segments are merged")
        assert worker.restarts == restarts
    assert scene.read() == scene.sent


@pytest.fixture(autouse=True)
def _no_task_of_before(scene: ClusterScene) -> None:
    """Wait until the executors of the test before are gone, and remove what they left."""
    wait_until(lambda: not scene.cluster.executors(), "the executors end with their driver")
    for pattern in (NURSERY_BUSY, MERGE_BUSY):
        for folder in scene.cluster.temporary_folder.glob(pattern):
            shutil.rmtree(folder)
