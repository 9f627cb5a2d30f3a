"""Processes of this machine, as /proc shows them."""

from contextlib import suppress
from pathlib import Path


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


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not, for a container's init may never reap it."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
