"""`python -m dataplane.processes.task_process FD`: runs tasks of its parent until that ends.

FD is a socket. A message is a function and its argument, and is answered with a pair: whether the
function succeeded, and its result or the error as text. The first answer comes unasked, with the
versions that are installed.
"""

import os
import pickle
import signal

from dataplane.processes.child_process import parent_socket, send_value, serve
from segments.spark.versions import survey

# Arrow's allocator else gives every freed block back at once: 8 % of a merge's time.
ALLOCATOR = {"MIMALLOC_PURGE_DELAY": "10000"}


def installed_versions() -> tuple[str, ...]:
    """The versions of Python, our packages and pyarrow that are installed here now."""
    (versions,) = survey()(())
    _, python, _, segplane, pyarrow = versions
    return python, segplane, pyarrow


def main() -> None:
    """Run tasks until the parent closes the socket or ends."""
    # The parent decides: a signal to the container must not end a task in its drain.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    for name, value in ALLOCATOR.items():
        os.environ.setdefault(name, value)
    parent = parent_socket()
    send_value(parent, installed_versions())
    serve(parent, _answer)


def _answer(message: bytearray) -> bytes:
    try:
        # The message is as trustworthy as the parent that sent it.
        function, item = pickle.loads(message)  # noqa: S301
        return pickle.dumps((True, function(item)))
    except Exception as error:  # noqa: BLE001 - the top of a task: its error is its outcome
        return pickle.dumps((False, f"{type(error).__name__}: {error}"[:500]))


if __name__ == "__main__":
    main()
