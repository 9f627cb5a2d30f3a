"""Child processes: restarts, crash loops, and the end of their parent."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dataplane.processes import children
from dataplane.processes.children import Child, ChildFailed, ChildSpec
from tests.support.process_tree import is_alive
from tests.support.waiting import wait_until

WAITS = "import time; print('child_started', flush=True); time.sleep(600)"
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "print('child_started', flush=True); time.sleep(600)"
)
PARENT = """
import sys, time
from pathlib import Path
from dataplane.processes.children import Child, ChildSpec
folder = Path(sys.argv[1])
child = Child(ChildSpec("child", "child_module", {"PYTHONPATH": sys.argv[1]}, lambda _: True),
              folder / "child.log")
child.start()
while not child.has_logged("child_started"):
    time.sleep(0.01)
print(child.pid, flush=True)
sys.stdin.read()
"""
MakeChild = Callable[[str], Child]


@pytest.fixture
def make_child(tmp_path: Path) -> Iterator[MakeChild]:
    """Give a function that makes a child out of a module's source."""
    made: list[Child] = []

    def make(source: str) -> Child:
        (tmp_path / "child_module.py").write_text(source)
        spec = ChildSpec("child", "child_module", {"PYTHONPATH": str(tmp_path)}, lambda _: True)
        made.append(Child(spec, tmp_path / "child.log"))
        return made[-1]

    yield make
    for child in made:
        child.wait_stopped(0)


def test_a_child_that_dies_is_started_again(
    make_child: MakeChild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "BACKOFF_FIRST_SECS", 0.01)
    child = make_child(WAITS)
    child.start()
    first = child.pid
    assert first is not None
    os.kill(first, 9)

    events = _watch(child, lambda: child.restarts == 1)

    assert events == ["child died (signal SIGKILL), starting it again in 0 s"]
    assert child.pid not in (None, first)


@pytest.mark.parametrize("exit_code", [0, 1])
def test_a_crash_loop_ends_with_the_last_log_lines(
    make_child: MakeChild, monkeypatch: pytest.MonkeyPatch, exit_code: int
) -> None:
    monkeypatch.setattr(children, "BACKOFF_FIRST_SECS", 0.01)
    monkeypatch.setattr(children, "BACKOFF_MAX_SECS", 0.01)
    child = make_child(f"print('no such luck'); raise SystemExit({exit_code})")
    child.start()

    with pytest.raises(ChildFailed, match="died 6 times in a row") as failed:
        _watch(child, lambda: False)

    assert failed.value.log_tail.endswith("no such luck")


def test_a_wrong_setting_is_not_tried_again(make_child: MakeChild) -> None:
    child = make_child("import sys; sys.exit('error: X is 7, not a colour' and 2)")
    child.log_path.write_text("error: X is 7, not a colour\n")
    child.start()

    with pytest.raises(ChildFailed, match="child: X is 7, not a colour"):
        _watch(child, lambda: False)


def test_a_child_that_does_not_stop_is_killed(make_child: MakeChild) -> None:
    child = make_child(STUBBORN)
    child.start()
    _watch(child, lambda: child.has_logged("child_started"))

    child.stop()

    assert not child.wait_stopped(time.monotonic() + 0.2)
    assert child.pid is None


def test_a_child_dies_with_a_killed_parent(make_child: MakeChild, tmp_path: Path) -> None:
    make_child(WAITS)
    parent = subprocess.Popen(
        [sys.executable, "-P", "-c", PARENT, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())

    parent.kill()
    parent.wait()

    wait_until(lambda: not is_alive(pid), "the child to end")


def test_a_log_that_grew_large_is_kept_once(
    make_child: MakeChild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "LOG_BYTES_MAX", 1000)
    child = make_child(WAITS)
    child.log_path.write_text("x" * 2000)

    child.start()

    assert child.log_path.with_suffix(".log.1").stat().st_size == 2000
    _watch(child, lambda: child.has_logged("child_started"))
    assert child.log_path.stat().st_size < 100


def _watch(child: Child, is_done: Callable[[], bool]) -> list[str]:
    """Check on a child until it is done; returns the events that it was told of."""
    events: list[str | None] = []
    wait_until(is_done, "the child to be done", tick=lambda: events.append(child.check()))
    return [event for event in events if event]
