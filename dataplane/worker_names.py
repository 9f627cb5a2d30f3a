"""Names of processes, which are part of the worker_id under which they ask meta for settings."""

import os
import socket
from uuid import uuid4


def process_name() -> str:
    """A name for this process: one that comes back must not be taken for the one that died."""
    return f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:8]}"
