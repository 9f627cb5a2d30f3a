"""A worker of the test run that crashes is replaced, and the rest of the tests still run."""

import subprocess
import sys
from pathlib import Path

SUITE = """
import os

import pytest


@pytest.mark.parametrize("number", range(40))
def test_one_of_many(number):
    if number == 10:
        os._exit(3)
"""
CONFTEST = """
import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from tests.support import scheduling

    scheduling.ROOT = config.rootpath
    return scheduling.SparkTogether(config, log)
"""


def test_a_crashed_worker_fails_one_test_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_suite.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-n2", "--dist=loadscope", "--rootdir", tmp_path]

    run = subprocess.run(
        [*map(str, command), "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )

    assert run.returncode == 1, run.stdout + run.stderr
    assert "1 failed, 39 passed" in run.stdout, run.stdout
