"""A task's memory depends on its budget, not on what the babies expand to."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_an_export_of_millions_of_empty_records_is_written_in_bounded_memory(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-m", "tests.support.nursery.hostile_task", str(tmp_path / "x"), "3"]

    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert child.returncode == 0, child.stderr[-2_000:]
    said = json.loads(child.stdout)
    assert said["error"] == ""
    assert said["rows"] == 3_000_000
    assert said["files"] > 1
    # All at once it would be 700.
    assert said["grown_mb"] < 350
