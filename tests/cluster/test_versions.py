"""Executors of another release are refused at the start, before anything is claimed."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark


def test_an_executor_of_another_release_ends_the_start_in_one_line(tmp_path: Path) -> None:
    other = tmp_path / "segplane-9.9.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: segplane\nVersion: 9.9\n")

    ended = subprocess.run(
        [sys.executable, "-P", "-m", "nursery"],
        env={
            **os.environ,
            "NURSERY_META_ADDRESS": "127.0.0.1:9",
            "NURSERY_SPARK_MASTER": "local[1]",
            "NURSERY_SPARK_CONF": f"spark.executorEnv.PYTHONPATH={tmp_path}",
        },
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert ended.returncode == 2, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "nursery_started" not in ended.stderr
    said = ended.stderr.splitlines()[-1]
    assert said.startswith("error: the executor on ")
    assert f"has segplane 9.9 (here {version('segplane')}):" in said
