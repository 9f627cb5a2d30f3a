"""A worker of the test run that crashes is replaced, and the rest of the tests still run."""

import subprocess
import sys
from pathlib import Path

import pytest

SUITE = """
import os

import pytest


@pytest.mark.parametrize("number", range(40))
def test_one_of_many(number):
    if number == 10:
        os._exit(3)
"""
# The crash is noted only after a test has been sent to the closed pipe.
CONFTEST = """
import threading

import pytest
from tests.support import scheduling


class NotesCrashesLate(scheduling.SparkTogether):
    is_sent = threading.Event()

    def add_node(self, node):
        notify = node.notify_inproc

        def notify_late(event, **kwargs):
            assert event != "errordown" or self.is_sent.wait(60)
            notify(event, **kwargs)

        node.notify_inproc = notify_late
        super().add_node(node)

    def mark_test_complete(self, node, item_index, duration=0):
        tests = [test for group in self.assigned_work[node].values() for test in group]
        following = tests[tests.index(self.registered_collections[node][item_index]) + 1 :]
        is_crash_next = bool(following) and following[0].endswith("[10]")
        if is_crash_next:
            node.gateway._io.popen.wait(60)
        super().mark_test_complete(node, item_index, duration)
        if is_crash_next:
            self.is_sent.set()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    scheduling.ROOT = config.rootpath
    return NotesCrashesLate(config, log)
"""


@pytest.mark.long
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
