"""Processes of this machine, as /proc shows them."""

import os
import signal
from contextlib import suppress
from pathlib import Path

from tests.support.waiting import wait_until

# Its shell scripts name the class too, but no Java.
_JVM = "java -cp"


def children_of(pid: int) -> list[int]:
    """Process ids of the children of all of a process's threads."""
    children: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        # A thread may end while we look at it.
        with suppress(OSError):
            children += map(int, path.read_text().split())
    return children


def command_of(pid: int) -> str:
    """A process's command line; "" once it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


def name_of(pid: int) -> str:
    """A process's own name; "" once it is gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def kill_starting_jvm(pid: int) -> None:
    """Kill the JVM that a process starts for Spark, long before Spark has started in it."""

    def jvms() -> list[int]:
        return [child for child in children_of(pid) if _JVM in command_of(child)]

    wait_until(lambda: bool(jvms()), "a JVM", poll_secs=0.005)
    for child in jvms():
        os.kill(child, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not, for a container's init may never reap it."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
