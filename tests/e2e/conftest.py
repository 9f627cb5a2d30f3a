"""A whole Segplane per test: real processes over a database and their own folder."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from segplane.stack.config import StackSettings
from segplane.stack.dev import Stack

# Short enough to see deletion happen, long enough to read a version while merges replace it.
PACE = {
    "META_FLUSH_TIMEOUT_MS": "400",
    "NURSERY_INTERVAL_SECS": "0.5",
    "NURSERY_WAIT_SECS": "1",
    "NURSERY_IDLE_ADVANCE_SECS": "2",
    # Two segments of a day are enough for a merge task, whatever their sizes are.
    "META_MERGE_FILES_QUIET": "1",
    "META_MERGE_QUIET_SECS": "0",
    "META_UNSAFE_SHORT_GRACE": "true",
    "META_CURSOR_LIFETIME_SECS": "10",
    "META_TOMBSTONE_GRACE_SECS": "15",
    "META_CLAIM_LEASE_SECS": "5",
    "META_BEAT_LEASE_SECS": "5",
    "NURSERY_REAP_INTERVAL_SECS": "5",
    "MERGE_WORKER_INTERVAL_SECS": "0.15",
    "JANITOR_MERGE_INTERVAL_SECS": "5",
    "JANITOR_DELETION_INTERVAL_SECS": "5",
    "NURSERY_SPARK_MASTER": "processes[2]",
    "MERGE_WORKER_SPARK_MASTER": "processes[2]",
}


@pytest.fixture
def master() -> str:
    """Run tasks without Spark; a test of what runs them names another master."""
    return "processes[2]"


@pytest.fixture
def stack(database_url: str, master: str) -> Iterator[Stack]:
    """Start meta, a collector, the nursery, a merge worker and the janitor."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-e2e-"))
    settings = StackSettings(
        data_dir=folder,
        meta_port=0,
        otlp_grpc_port=0,
        otlp_http_port=0,
        gateway_port=0,
        database_url=database_url,
        inherited={
            **os.environ,
            **PACE,
            "NURSERY_SPARK_MASTER": master,
            "MERGE_WORKER_SPARK_MASTER": master,
        },
    )
    lines: list[str] = []
    try:
        with Stack(settings, lines.append) as running:
            yield running
    finally:
        print("\n".join(lines))
        _show_logs(folder / "logs")
        shutil.rmtree(folder, ignore_errors=True)


def _show_logs(folder: Path) -> None:
    """Print what pytest shows when the test fails."""
    for path in sorted(folder.glob("*.log")):
        print(f"--- {path.name}")
        print("\n".join(path.read_text(errors="replace").splitlines()[-60:]))
