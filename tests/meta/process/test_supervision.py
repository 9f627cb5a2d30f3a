"""Supervision of child processes: restarts, their pauses, the ends of parent and children."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from meta.process.exits import CONFIG_EXIT_CODE
from meta.process.shutdown import Shutdown
from meta.process.supervision import (
    RESTART_MAX_SECS,
    STEADY_SECS,
    ChildCommand,
    RestartBackoff,
    SupervisedChild,
    supervise,
)

DEADLINE_SECS = 30.0


def child_that(program: str) -> ChildCommand:
    return ChildCommand((sys.executable, "-I", "-S", "-c", program), {})


def exit_code_at(child: SupervisedChild, now: float) -> int | None:
    """Let the running child end, then check it."""
    assert child.process is not None
    child.process.wait(DEADLINE_SECS)
    return child.check(now)


@contextmanager
def first_run_of(program: str) -> Iterator[SupervisedChild]:
    """A child that was started at 0 s."""
    child = SupervisedChild(0, child_that(program))
    child.check(0.0)
    yield child
    if child.process is not None:
        child.process.kill()
        child.process.wait()


@pytest.mark.parametrize("exit_code", [0, 1], ids=["clean", "failed"])
def test_a_child_that_ends_at_once_is_restarted_after_growing_pauses(exit_code: int) -> None:
    with first_run_of(f"raise SystemExit({exit_code})") as child:
        assert exit_code_at(child, 10.0) == exit_code
        child.check(10.9)
        assert child.process is None
        child.check(11.0)

        assert exit_code_at(child, 12.0) == exit_code
        child.check(13.9)
        assert child.process is None
        child.check(14.0)
        assert child.process is not None


def test_pauses_are_bounded_and_short_again_after_a_steady_run() -> None:
    backoff = RestartBackoff()

    pauses = [backoff.next_pause(0.0) for _ in range(7)]

    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, RESTART_MAX_SECS, RESTART_MAX_SECS]
    assert backoff.next_pause(STEADY_SECS) == 1.0


def test_a_child_that_refuses_its_settings_ends_its_siblings_and_the_parent() -> None:
    waits_for_its_parent = "import sys; sys.stdin.read()"
    commands = [child_that(waits_for_its_parent), child_that("raise SystemExit(2)")]

    assert supervise(commands, Shutdown()) == CONFIG_EXIT_CODE
