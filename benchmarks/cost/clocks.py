"""CPU seconds of a stack's processes by part, read from /proc while they run."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.harness.processes import tree

_TICKS_PER_SEC = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class PartClocks:
    """CPU by part of the stack; `roots` are process ids by name.

    A process of Spark is counted apart from the JVM that it serves. PySpark's daemon ignores
    SIGCHLD, so the kernel forgets the time of its workers when they end. The time of each process
    at the last reading stays counted, so read several times a second.
    """

    roots: Mapping[str, int]
    _used: dict[tuple[str, int], int] = field(default_factory=dict)

    def read(self) -> dict[str, float]:
        """Return CPU seconds so far, user and system, by part."""
        for name, root in self.roots.items():
            for pid in tree(root):
                with suppress(OSError, ValueError):
                    text = Path(f"/proc/{pid}/stat").read_text()
                    fields = text.rpartition(")")[2].split()
                    part = _part(name, text)
                    self._used[part, pid] = int(fields[11]) + int(fields[12])
        seconds = defaultdict[str, float](float)
        for (part, _), ticks in self._used.items():
            seconds[part] += ticks / _TICKS_PER_SEC
        return dict(seconds)


def _part(name: str, stat: str) -> str:
    if name not in ("nursery", "merge_worker", "pipeline"):
        return name
    command = stat[stat.index("(") + 1 : stat.rindex(")")]
    return "JVM" if command == "java" else name
