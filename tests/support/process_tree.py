"""Processes of this machine, as /proc shows them."""

import os
import signal
from contextlib import suppress
from pathlib import Path

from tests.support.waiting import wait_until

# Its shell scripts name the class too, but no Java.
_JVM = "java -cp"
# Places in /proc/PID/stat, counted from the process's state.
_PARENT, _START_TIME = 1, 19


def children_of(pid: int) -> list[int]:
    """Process ids of a process's children, the oldest first.

    Each child names its parent. The lists of children that /proc keeps for each thread lack a child
    at times: it moves from a thread that ends to one whose list was read before.
    """
    born = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        # A process may end while we look at it.
        with suppress(OSError):
            # The name before the bracket may hold anything, also spaces and brackets.
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[_PARENT]) == pid:
                born[int(path.parent.name)] = int(fields[_START_TIME])
    return sorted(born, key=lambda child: (born[child], child))


def newest_python(pid: int) -> int:
    """Process id of the Python that runs a worker's tasks, perhaps below its JVM and daemon."""
    children = children_of(pid)
    return newest_python(children[-1]) if children else pid


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
    """Whether a thread of a process runs.

    A zombie does not, for a container's init may never reap it. The first thread of a killed
    process can be a zombie while its others still end and hold its files and its connections.
    """
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    return "\nState:\tZ" not in status or "\nThreads:\t1\n" not in status
