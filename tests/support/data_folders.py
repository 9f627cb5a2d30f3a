"""Data folders of stacks, in memory: empty, or with a copy of a migrated database.

To make and migrate a database takes 1.5 s of CPU, to copy one 0.1 s.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from meta import migrations
from meta.store.engine.pool import Database, DatabaseSettings
from segplane.stack import config
from segplane.stack.config import StackSettings
from segplane.stack.postgres import EmbeddedPostgres
from tests.support.process_tree import is_alive
from tests.support.waiting import wait_until

MEMORY = Path("/dev/shm")
MEMORY_BYTES_MIN = 6 * 2**30
_NAME = re.compile(r"segplane-test-(\d+)-")


@contextmanager
def open_folder() -> Iterator[Path]:
    """Give a folder that the user whom Postgres runs as can enter.

    It is not under tmp_path: pytest keeps that closed to this user.
    """
    prefix = f"segplane-test-{os.getpid()}-"
    with tempfile.TemporaryDirectory(
        prefix=prefix, dir=_memory(), ignore_cleanup_errors=True
    ) as name:
        Path(name).chmod(0o711)
        yield Path(name)


def remove_left_folders(parent: Path = MEMORY) -> list[str]:
    """Remove the folders of tests that were killed; gives their names.

    They take memory: a killed test of a large database left 9 GB, and the tests after it had too
    little.
    """
    left = []
    for folder in parent.glob("segplane-test-*"):
        owner = _NAME.match(folder.name)
        # Another process of tests may remove it at the same time.
        with suppress(FileNotFoundError):
            if owner and not is_alive(int(owner[1])) and not _postgres_runs(folder):
                shutil.rmtree(folder, ignore_errors=True)
                left.append(folder.name)
    return left


@contextmanager
def made_cluster() -> Iterator[Path]:
    """Make and migrate the database of a stack; gives its folder, to be copied."""
    with open_folder() as folder:
        with EmbeddedPostgres(folder / "postgres") as server:
            database = Database(DatabaseSettings(url=server.url))
            migrations.upgrade(database)
            database.close()
        yield folder / "postgres"


def copy_cluster(made: Path, folder: Path) -> None:
    """Copy a database that is stopped, with its owner."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", made, folder], check=True)


@contextmanager
def stack_settings(made: Path | None = None) -> Iterator[StackSettings]:
    """Give its own data folder, and free ports."""
    with open_folder() as folder:
        if made is not None:
            copy_cluster(made, folder / "data" / "postgres")
        yield StackSettings(
            data_dir=folder / "data",
            meta_port=0,
            otlp_grpc_port=0,
            otlp_http_port=0,
            gateway_port=0,
            inherited=config.inherited_environment(),
        )
        # A killed stack ends its Postgres a little later, which writes until then.
        wait_until(lambda: not _postgres_runs(folder), "the end of its Postgres")


def _postgres_runs(folder: Path) -> bool:
    for file in folder.rglob("postmaster.pid"):
        with suppress(OSError):
            if is_alive(int(file.read_text().partition("\n")[0] or 0)):
                return True
    return False


def _memory() -> Path | None:
    """A folder in memory, if the system has one with room; None = its usual folder."""
    if not os.access(MEMORY, os.W_OK):
        return None
    room = min(shutil.disk_usage(MEMORY).free, _available_bytes())
    return MEMORY if room >= MEMORY_BYTES_MIN else None


def _available_bytes() -> int:
    """Memory that processes can still get. A folder in memory may be as large as all of it."""
    facts = Path("/proc/meminfo").read_text()
    kilobytes = re.search(r"^MemAvailable:\s+(\d+) kB$", facts, re.MULTILINE)
    return int(kilobytes[1]) * 1024 if kilobytes else 0
