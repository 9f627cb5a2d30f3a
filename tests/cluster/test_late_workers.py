"""A machine that joins the cluster under a running process, with another release on it."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from dataplane.processes.children import ChildFailed
from tests.support.cluster.stack import MERGE_INPUTS, ClusterScene
from tests.support.cluster.standalone import Cluster, executors_of
from tests.support.cluster.versions import pretend_release

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start a cluster of one worker, whose process asks for two."""
    with Cluster(tmp_path_factory.mktemp("cluster"), workers=1) as cluster:
        yield cluster


def test_a_merge_worker_ends_in_one_line_and_its_tasks_are_not_to_blame(
    scene: ClusterScene, tmp_path: Path
) -> None:
    for _ in range(2):
        scene.save_segments(scene.add_dataset(), MERGE_INPUTS)
    (tmp_path / "packages").mkdir()
    with scene.running("merge_worker", cores=2) as worker, pretend_release(tmp_path / "packages"):
        scene.wait(worker, lambda: worker.spec.is_ready(worker), "the merge worker is ready")
        late = scene.cluster.add_worker({"PYTHONPATH": str(tmp_path / "packages")})
        (first,) = executors_of(scene.cluster.workers[0])
        # It takes one merge task and no second one: that is for the late executor.
        os.kill(first, signal.SIGSTOP)
        assert scene.plan_merges() == 2

        with pytest.raises(ChildFailed, match=r"the executor on \S+ has segplane 9\.9") as refusal:
            scene.wait(worker, lambda: False, "it ends")

        assert str(refusal.value).count("\n") == 0
        assert not worker.has_logged("merge_task_failed")
        os.kill(first, signal.SIGCONT)

    scene.cluster.kill_worker(late)
    with scene.running("merge_worker") as worker:
        scene.wait(worker, lambda: len(scene.find()) == 2, "all segments are merged")
    assert scene.read() == scene.sent
