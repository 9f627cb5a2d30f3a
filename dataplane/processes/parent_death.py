"""Runs a command that dies with its parent.

Usage: `python -I -S parent_death.py PARENT SIGNUM UID GID COMMAND`.

The kernel sends the command SIGNUM when PARENT dies, even of SIGKILL. Done by its own program,
not between fork and exec: in a process with gRPC threads, Python code that runs there can crash.
UID and GID "-" keep the current ones. Imports no other module of Segplane, so that it starts in
milliseconds.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

PR_SET_PDEATHSIG = 1


def tied_command(
    command: Sequence[str | Path],
    signum: signal.Signals,
    uid: int | None = None,
    gid: int | None = None,
) -> list[str]:
    """Command line that runs `command` tied to this process's life, as another user if given."""
    ids = ["-" if value is None else str(value) for value in (uid, gid)]
    prefix = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(int(signum)), *ids]
    return [*prefix, *map(str, command)]


def main(parent: str, signum: str, uid: str, gid: str, *command: str) -> None:
    """Change to the user, set the death signal, execute the command."""
    if uid != "-":
        os.setgroups([])
        os.setgid(int(gid))
        os.setuid(int(uid))
    # Set after the change of user, which would clear it.
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(signum))
    if os.getppid() != int(parent):
        sys.exit(1)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
