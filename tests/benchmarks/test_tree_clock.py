"""CPU time of a process tree whose members end."""

import subprocess
import sys

import pytest

from benchmarks.harness.processes import TreeClock

BUSY_SECS = 0.3
# Starts a child that uses CPU, and ends it when told; says so each time.
PARENT = f"""
import os, signal, sys, time
if sys.argv[1] == "ignores":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
child = os.fork()
if not child:
    while time.process_time() < {BUSY_SECS}:
        pass
    os.write(1, b"busy\\n")
    time.sleep(60)
    os._exit(0)
signal.alarm(60)
sys.stdin.readline()
os.kill(child, signal.SIGKILL)
try:
    os.waitpid(child, 0)
except ChildProcessError:
    pass
os.write(1, b"over\\n")
sys.stdin.readline()
"""


@pytest.mark.parametrize("parent", ["ignores", "waits"])
def test_time_of_a_child_that_ended_is_counted_once(parent: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, parent],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            clock = TreeClock(process.pid)
            assert process.stdout.readline() == "busy\n"
            before = clock()
            print(file=process.stdin, flush=True)
            assert process.stdout.readline() == "over\n"

            after = clock()
        finally:
            process.kill()

    # The kernel rounds each time down to a tick.
    assert before == pytest.approx(BUSY_SECS, abs=0.2)
    assert after == pytest.approx(before, abs=0.1)
