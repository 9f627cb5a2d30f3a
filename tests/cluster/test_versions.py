"""Executors of another release are refused at the start, before anything is claimed."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.support.cluster.versions import pretend_python, pretend_release

pytestmark = pytest.mark.spark


def refusal(packages: Path) -> str:
    """Start a nursery whose executors find these packages; returns its line for the operator.

    Spark's own cluster may log what it stopped too late behind it.
    """
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "nursery"],
        env={
            **os.environ,
            "NURSERY_META_ADDRESS": "127.0.0.1:9",
            "NURSERY_SPARK_MASTER": "local-cluster[1,1,1024]",
            "NURSERY_SPARK_CONF": f"spark.executorEnv.PYTHONPATH={packages}",
        },
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert ended.returncode == 2, ended.stderr
    assert "nursery_started" not in ended.stderr
    assert "Traceback" not in ended.stderr
    (said,) = (line for line in ended.stderr.splitlines() if line.startswith("error: "))
    return said


@pytest.mark.slow
def test_an_executor_of_another_release_ends_the_start_in_one_line(tmp_path: Path) -> None:
    with pretend_release(tmp_path):
        said = refusal(tmp_path)

    assert said.startswith("error: the executor on ")
    assert f"has segplane 9.9 (here {version('segplane')}):" in said


@pytest.mark.slow
def test_an_executor_of_another_python_ends_the_start_in_one_line(tmp_path: Path) -> None:
    with pretend_python(tmp_path):
        said = refusal(tmp_path)

    assert said.startswith("error: an executor has python 3.8 (here 3.")
