"""The cores of a container, by its affinity and its quota."""

import os
from pathlib import Path

import pytest

from dataplane.task_runner import usable_cores

CORES = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, CORES),
        ({"cpu.max": "max 100000\n"}, CORES),
        ({"cpu.max": "100000 100000\n"}, 1),
        ({"cpu.max": "10000 100000\n"}, 1),
        ({"cpu.max": "9900000 100000\n"}, CORES),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, CORES),
        ({"cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1),
    ],
    ids=["no cgroup", "no quota", "a core", "a tenth", "many", "v1 no quota", "v1 a core"],
)
def test_a_quota_bounds_the_cores(tmp_path: Path, files: dict[str, str], expected: int) -> None:
    (tmp_path / "cpu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    assert usable_cores(tmp_path) == expected
