"""CPU time of other processes of this machine: a child, and Postgres with all of its own."""

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_MICROS_OF_TICK = 1_000_000 // os.sysconf("SC_CLK_TCK")
# A server notes its start after the kernel does.
_START_SECS_MAX = 5.0
_PROC = Path("/proc")


class _Stat(NamedTuple):
    """A process, as the kernel counts it; children are those that have ended."""

    parent: int
    cpu_micros: int
    children_micros: int
    started_at_ticks: int


def cpu_micros_of(process_id: int) -> int | None:
    """Return the CPU time of a process of this machine; None if it has ended."""
    stat = _stat(process_id)
    return stat.cpu_micros if stat is not None else None


def postgres_micros(backend_id: int, started_at_secs: float) -> int | None:
    """Return the CPU time of the Postgres server of a backend since its start.

    None if it does not run on this machine: another process may have the number of the backend, and
    its parent then has another start than the server, which is given in seconds since 1970.
    """
    backend = _stat(backend_id)
    server = _stat(backend.parent) if backend is not None else None
    boot_secs = _boot_secs()
    if backend is None or server is None or boot_secs is None:
        return None
    seen_secs = boot_secs + server.started_at_ticks * _MICROS_OF_TICK / 1e6
    if abs(seen_secs - started_at_secs) > _START_SECS_MAX:
        return None
    # A child that ends now is missing, until the next time.
    return sum(
        stat.cpu_micros + stat.children_micros
        for stat in (server, *map(_stat, _children(backend.parent)))
        if stat is not None
    )


def _stat(process_id: int) -> _Stat | None:
    with suppress(OSError, ValueError, IndexError):
        # The name of a process may have blanks and parentheses.
        values = (_PROC / str(process_id) / "stat").read_text().rpartition(")")[2].split()
        user, system, user_children, system_children = map(int, values[11:15])
        return _Stat(
            int(values[1]),
            (user + system) * _MICROS_OF_TICK,
            (user_children + system_children) * _MICROS_OF_TICK,
            int(values[19]),
        )
    return None


def _children(process_id: int) -> list[int]:
    with suppress(OSError, ValueError):
        text = (_PROC / str(process_id) / "task" / str(process_id) / "children").read_text()
        return list(map(int, text.split()))
    return []


def _boot_secs() -> float | None:
    with suppress(OSError, ValueError, IndexError):
        lines = (_PROC / "stat").read_text().splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith("btime "))
    return None
