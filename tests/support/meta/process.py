"""A meta as its own process, which a test may suspend or kill."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def meta_process(
    address: str, database_url: str, objects: Path, **settings: str
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run `python -m meta`; it is starting when this returns, and is killed at the end."""
    environment = {
        **os.environ,
        "META_BIND": address,
        "META_DATABASE_URL": database_url,
        "META_OBJECT_STORE_URL": objects.as_uri(),
        "META_THREADS": "4",
        **settings,
    }
    with subprocess.Popen([sys.executable, "-P", "-m", "meta"], env=environment) as process:
        try:
            yield process
        finally:
            process.kill()
