"""Executors whose Python has nothing of ours: refused in one line, or served by spark-env."""

import subprocess
import sys
from pathlib import Path

import pytest

from dataplane.processes.children import ChildFailed
from segplane.cli import spark_archive
from tests.support.cluster.stack import ClusterScene

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def bare_python(tmp_path: Path) -> str:
    """Make a Python of our version without any package."""
    folder = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return str(folder / "bin" / "python")


def test_executors_without_our_packages_are_refused_in_one_line(
    scene: ClusterScene, bare_python: str
) -> None:
    with scene.running("merge_worker", conf=f"spark.pyspark.python={bare_python}") as worker:
        with pytest.raises(ChildFailed, match=r"the executor on .* has segplane none") as refusal:
            scene.wait(worker, lambda: False, "it ends")

        assert str(refusal.value).count("\n") == 0
        assert not worker.has_logged("merge_task_claimed")


def test_executors_run_from_the_archive_of_spark_env(
    scene: ClusterScene, bare_python: str, tmp_path: Path
) -> None:
    archive = tmp_path / "env.tar.gz"
    spark_archive.build(archive)
    conf = (
        f"spark.pyspark.python={bare_python},spark.archives={archive}#segplane-env,"
        "spark.executorEnv.PYTHONPATH=segplane-env"
    )
    collector = scene.add_dataset()
    scene.send(collector, "merged by a bare Python", padding=1_000)

    with scene.running("nursery", conf=conf) as nursery:
        scene.wait(nursery, scene.is_merged, "the batch is merged")
        assert nursery.restarts == 0

    assert scene.read() == scene.sent


def test_a_process_that_no_worker_has_room_for_says_so_in_one_line(scene: ClusterScene) -> None:
    with scene.running("nursery", conf="spark.executor.memory=8g", start_secs=3) as nursery:
        with pytest.raises(ChildFailed, match=r"no executor of .* was free within 3 s"):
            scene.wait(nursery, lambda: False, "it ends")

        assert not nursery.has_logged("nursery_started")
