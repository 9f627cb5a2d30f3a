"""Launcher of query processes, by fork: `python -m ...queries.processes.launcher FD`.

Libraries are imported and a database is opened once, here, which takes longer than most queries do.
This process has one thread of Python, and its database has none. The gateway alone talks
to it, over the socket FD: each message is a process to start, with the ends of its connections, or
one to wait for. It ends with the gateway.
"""

from __future__ import annotations

import ctypes
import errno
import gc
import os
import shutil
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from dataplane.processes.child_process import parent_socket
from dataplane.processes.parent_death import PR_SET_PDEATHSIG
from segplane.gateway.queries.processes import prepared, sandbox
from segplane.gateway.queries.processes.child import run_query
from segplane.gateway.queries.processes.wire import MESSAGE, START

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

FOLDER_PREFIX = "query-"
_FDS_MAX = 16


def main() -> None:
    """Serve the gateway until it ends."""
    # No thread waits for the gateway's end: this process forks.
    control = parent_socket(ends_with_parent=False)
    _import_all()
    prepared.rehearse()
    database = prepared.open_database()
    # Objects of now are never collected in a fork, so their memory stays shared.
    gc.freeze()
    while True:
        message, fds, *_ = socket.recv_fds(control, MESSAGE.size, _FDS_MAX)
        if len(message) < MESSAGE.size:
            return
        kind, pid = MESSAGE.unpack(message)
        answer = _start(database, control, fds) if kind == START else _wait(pid)
        control.sendall(MESSAGE.pack(kind, answer))


def _import_all() -> None:
    # Queries import them on first use.
    import pyarrow.dataset
    import pyarrow.parquet  # noqa: F401

    import segplane.query.sql.sql
    import segplane.read.files.term_lookup
    import segplane.read.rows.arrow_source
    import segplane.read.rows.duckdb_functions
    import segplane.read.rows.newest  # noqa: F401


def _start(database: DuckDBPyConnection, control: socket.socket, fds: list[int]) -> int:
    """Fork; returns the process's id, or an error's number below 0."""
    launcher = os.getpid()
    try:
        pid = os.fork()
    except OSError as error:
        # Processes that run are not to end for one that cannot be started.
        pid = -(error.errno or errno.EAGAIN)
    if pid:
        for fd in fds:
            os.close(fd)
        return pid
    try:
        control.close()
        os.setpgid(0, 0)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == launcher:
            # Lowered only now, because libraries are imported while the first query waits.
            sandbox.lower_priority()
            folder = _folder(os.getpid())
            folder.mkdir(mode=0o700)
            os.environ["TMPDIR"] = os.environ["HOME"] = str(folder)
            output, *lanes = fds
            run_query(database, [socket.socket(fileno=lane) for lane in lanes], output)
    finally:
        os._exit(1)


def _wait(pid: int) -> int:
    """Wait for a process that was killed or ends; remove its files."""
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    shutil.rmtree(_folder(pid), ignore_errors=True)
    return code


def _folder(pid: int) -> Path:
    return Path(os.environ["TMPDIR"], f"{FOLDER_PREFIX}{pid}")


if __name__ == "__main__":
    main()
