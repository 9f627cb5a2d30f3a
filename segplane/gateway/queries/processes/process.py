"""Processes of queries: each runs one, and can be killed at any time."""

import os
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dataplane.processes.child_process import ChildProcess, send_value
from segplane.gateway.queries.processes import wire
from segplane.gateway.queries.processes.wire import MESSAGE, START, WAIT

# Reads of files at a time.
LANES = 4
# Upper bound of an answer of the launcher; the first one waits for the import of its libraries.
_ANSWER_SECS = 120.0
_LOWEST_PRIORITY = 19
_TICKS = os.sysconf("SC_CLK_TCK")


class QueryProcess:
    """A process that waits for its one query, and is there until it is closed."""

    def __init__(self, launcher: "Launcher", limits: wire.ProcessLimits) -> None:
        self.limits = limits
        pairs = [socket.socketpair() for _ in range(LANES)]
        self.output, output = os.pipe()
        self._lanes = [end for end, _ in pairs]
        self._launcher = launcher
        self._code: int | None = None
        self._closing = threading.Lock()
        try:
            self.pid = launcher.start([output, *(other.fileno() for _, other in pairs)])
        except OSError:
            os.close(self.output)
            for lane in self._lanes:
                lane.close()
            raise
        finally:
            os.close(output)
            for _, other in pairs:
                other.close()
        self._send(limits)

    def is_waiting(self) -> bool:
        """True unless it has ended: it says nothing before it has a query."""
        try:
            return self._launcher.is_alive() and bool(
                self._lanes[0].recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            )
        except BlockingIOError:
            return True
        except OSError:
            return False

    def start(self, task: wire.QueryTask, serve: Callable[[socket.socket], None]) -> None:
        """Hand it its query, and serve its requests in threads."""
        self._send(task)
        for lane in self._lanes:
            threading.Thread(target=serve, args=(lane,), name="segplane-lane", daemon=True).start()

    def _send(self, value: wire.ProcessLimits | wire.QueryTask) -> None:
        with suppress(OSError):
            send_value(self._lanes[0], value)

    def read_bytes(self) -> int:
        """Return the bytes it has read of files by itself, without those from the gateway."""
        with suppress(OSError, ValueError):
            for line in Path(f"/proc/{self.pid}/io").read_text().splitlines():
                if line.startswith("rchar:"):
                    return int(line.split()[1])
        return 0

    def cpu_secs(self) -> float:
        """Return the time that processors spent on it."""
        with suppress(OSError, ValueError, IndexError):
            stat = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(stat[11]) + int(stat[12])) / _TICKS
        return 0.0

    def yield_to_others(self) -> None:
        """Let every other query go first."""
        with suppress(OSError):
            os.setpriority(os.PRIO_PGRP, self.pid, _LOWEST_PRIORITY)

    def kill(self) -> None:
        """End it at once. Its id is its own until it is closed."""
        if self._code is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
                return
            with suppress(ProcessLookupError):
                # It has not yet made its group.
                os.kill(self.pid, signal.SIGKILL)

    def discard(self) -> None:
        """End it without a query."""
        os.close(self.output)
        self.close()

    def close(self) -> int:
        """Kill it if it runs, wait, remove its files; returns its exit code."""
        with self._closing:
            if self._code is None:
                self.kill()
                self._code = self._launcher.wait(self.pid)
                for lane in self._lanes:
                    # Wakes the thread that waits there.
                    with suppress(OSError):
                        lane.shutdown(socket.SHUT_RDWR)
                    lane.close()
            return self._code


class Launcher(ChildProcess):
    """The process that starts those of queries; made in a thread that lives as long as it may."""

    def __init__(self, threads: int, answer_secs: float = _ANSWER_SECS) -> None:
        self._folder = tempfile.mkdtemp(prefix="segplane-queries-")
        self._lock = threading.Lock()
        environment = _environment(self._folder, threads)
        super().__init__(
            "segplane.gateway.queries.processes.launcher", environment, is_tied=True, is_silent=True
        )
        self.socket.settimeout(answer_secs)

    def start(self, fds: list[int]) -> int:
        """Start a process with these file descriptors; returns its id. Raises OSError."""
        pid = self._ask(START, 0, fds)
        if pid < 0:
            raise OSError(-pid, os.strerror(-pid))
        return pid

    def wait(self, pid: int) -> int:
        """Wait until a process has ended; returns its exit code."""
        try:
            return self._ask(WAIT, pid, [])
        except OSError:
            # All end with the launcher.
            return -signal.SIGKILL

    def _ask(self, kind: bytes, pid: int, fds: list[int]) -> int:
        with self._lock:
            try:
                socket.send_fds(self.socket, [MESSAGE.pack(kind, pid)], fds)
                reply = self.socket.recv(MESSAGE.size, socket.MSG_WAITALL)
            except TimeoutError:
                # The process is replaced, because its next answer would be taken for that to
                # another question.
                self.kill()
                raise
        if len(reply) < MESSAGE.size:
            raise ConnectionResetError("the launcher of queries has ended")
        return int(MESSAGE.unpack(reply)[1])

    def close(self) -> None:
        """End it and every process that it started, wait, and remove their files."""
        self.end()
        shutil.rmtree(self._folder, ignore_errors=True)


def _environment(folder: str, threads: int) -> dict[str, str]:
    """Return all variables of a process: none of ours, which hold credentials."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return kept | {
        "LANG": "C.UTF-8",
        "TMPDIR": folder,
        "HOME": folder,
        # Arrow's own allocator and glibc's arenas take far more of the limit than they use.
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "MALLOC_ARENA_MAX": "2",
        "OMP_NUM_THREADS": str(threads),
        "OPENBLAS_NUM_THREADS": "1",
        "ARROW_IO_THREADS": str(LANES),
    }
