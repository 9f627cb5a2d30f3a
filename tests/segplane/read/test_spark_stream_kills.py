"""A stream whose processes are killed in the middle of a batch goes on without a gap or a copy."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meta.config import Settings
from tests.segplane.read.conftest import delete_due
from tests.segplane.read.test_spark_stream import merge
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

# Two starts of Spark.
pytestmark = [pytest.mark.spark, pytest.mark.slow]
DEADLINE_SECS = 250.0


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """A deletion grace that is over at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
    return replace(meta_settings, lifetimes=lifetimes)


@contextmanager
def running(address: str, folder: Path, hang_at: int) -> Iterator["subprocess.Popen[bytes]"]:
    """Run the stream in its own processes; what is left of them is killed at the end."""
    command = [sys.executable, "-m", "tests.support.stream_script", address, folder, hang_at]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            list(map(str, command)), stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        kill(process)


def kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill the driver and its JVM as a power cut would."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(DEADLINE_SECS)


def rows_of(path: Path) -> Counter[tuple[str, int]]:
    table = pq.read_table(path)
    micros = table["timestamp"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    rows = zip(table["signal"], micros, table["timestamp_nanos"], strict=True)
    return Counter((str(name), int(us.as_py()) * 1000 + int(ns.as_py())) for name, us, ns in rows)


def test_a_stream_killed_in_the_middle_of_a_batch_reads_each_record_once(
    meta_server: MetaServer, segments: SegmentWriter, tmp_path: Path
) -> None:
    folder = tmp_path / "stream"
    folder.mkdir()
    for _ in range(5):
        segments.write(signals=("logs", "traces"))

    with running(meta_server.address, folder, 1) as process:
        wait_until(
            lambda: (folder / "reached").exists() or process.poll() is not None,
            "the second batch is being written",
            seconds=DEADLINE_SECS,
        )
        assert process.poll() is None, (folder / "log").read_text()[-4_000:]
        kill(process)
    interrupted = rows_of(folder / "rows" / "batch=1")
    merge(meta_server)
    delete_due(meta_server)
    segments.write()
    with running(meta_server.address, folder, -1) as process:
        assert process.wait(DEADLINE_SECS) == 0, (folder / "log").read_text()[-4_000:]

    # The batch that was not committed came again, with the same rows.
    assert rows_of(folder / "rows" / "batch=1") == interrupted
    assert sum(interrupted.values()) == 80
    assert rows_of(folder / "rows") == Counter(segments.rows)
