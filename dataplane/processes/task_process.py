"""`python -m dataplane.processes.task_process FD`: runs tasks of its parent until that ends.

FD is a socket. A message is a pickled function and its argument, and is answered with a pair:
whether the function succeeded, and its result or the error as text. The first answer comes
unasked, with the versions that are installed.
"""

import os
import pickle
import select
import signal
import sys
import threading
from multiprocessing.connection import Connection
from typing import NoReturn

from segments.spark.versions import survey

# Arrow's allocator else gives every freed block back at once: 8 % of a merge's time.
ALLOCATOR = {"MIMALLOC_PURGE_DELAY": "10000"}


def installed_versions() -> tuple[str, ...]:
    """The versions of Python, our packages and pyarrow that are installed here now."""
    (versions,) = survey()(())
    _, python, _, segplane, pyarrow = versions
    return python, segplane, pyarrow


def main(fd: int) -> None:
    """Run tasks until the parent closes the socket or ends."""
    # The parent decides: a signal to the group or the container must not end a task in its drain.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    for name, value in ALLOCATOR.items():
        os.environ.setdefault(name, value)
    threading.Thread(target=_end_with_parent, args=(fd,), daemon=True).start()
    connection: Connection[object, object] = Connection(fd)
    connection.send(installed_versions())
    while True:
        connection.send_bytes(_answer(connection.recv_bytes()))


def _answer(message: bytes) -> bytes:
    try:
        # The message is as trustworthy as the parent that sent it.
        function, item = pickle.loads(message)  # noqa: S301
        return pickle.dumps((True, function(item)))
    except Exception as error:  # noqa: BLE001 - the top of a task: its error is its outcome
        return pickle.dumps((False, f"{type(error).__name__}: {error}"[:500]))


def _end_with_parent(fd: int) -> NoReturn:
    """End this process as soon as the other side of the socket is closed, in a task as well."""
    poller = select.poll()
    # No event but the hang-up, which is always reported.
    poller.register(fd, 0)
    poller.poll()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
