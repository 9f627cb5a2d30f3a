"""The nursery and a merge worker on a Spark standalone cluster, unchanged."""

import pytest

from tests.support.cluster.stack import MERGE_INPUTS, ClusterScene
from tests.support.waiting import wait_until

pytestmark = pytest.mark.spark


@pytest.mark.slow
def test_a_batch_and_a_merge_on_a_cluster_leave_every_record_exactly_once(
    scene: ClusterScene,
) -> None:
    collector = scene.add_dataset()
    scene.save_segments(collector, MERGE_INPUTS - 1)
    with scene.running("nursery") as nursery, scene.running("merge_worker") as worker:
        scene.send(collector, "merged on the cluster", padding=1_000)

        scene.wait(nursery, scene.is_merged, "the batch is merged")
        assert scene.plan_merges() == 1
        scene.wait(worker, lambda: len(scene.find()) == 1, "the segments are merged")

        (merged,) = scene.find()
        assert merged.merge_count == 1
        assert scene.read() == scene.sent
        assert len(scene.cluster.executors()) == 2
        assert (nursery.restarts, worker.restarts) == (0, 0)
    wait_until(lambda: not scene.cluster.executors(), "the executors end with their drivers")
