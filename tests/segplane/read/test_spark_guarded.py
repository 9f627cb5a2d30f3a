"""`format("segplane")` over a bucket, TLS and a scoped token, in one process and on a cluster."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meta.config import Settings
from meta.process.tls import ServerTls
from meta.roles import Role
from segments.location import StoreLocation
from tests.support.certificates import Authority
from tests.support.cluster.standalone import Cluster
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import GuardedServer, guarded

# A start of Spark each.
pytestmark = [pytest.mark.spark, pytest.mark.slow]
DEADLINE_SECS = 300.0


@dataclass(frozen=True)
class GuardedBucket:
    """A guarded meta with a dataset in a bucket, and what a reader of it has."""

    server: GuardedServer
    segments: SegmentWriter
    token: str
    ca_file: Path
    folder: Path


@pytest.fixture
def bucket(
    meta_settings: Settings, s3_location: StoreLocation, tmp_path: Path
) -> Iterator[GuardedBucket]:
    authority = Authority(tmp_path / "tls")
    files = authority.issue("meta")
    settings = replace(
        meta_settings, location=s3_location, tls=ServerTls(files.cert, files.key, None)
    )
    with guarded(settings, str(authority.ca_file)) as server:
        catalog = CatalogDriver(server.admin)
        segments = SegmentWriter(server.admin, catalog.dataset("web"), tmp_path)
        for _ in range(3):
            segments.write(signals=("logs", "traces"))
        catalog.dataset("others")
        token = server.token(Role.READER, dataset_names=["web"]).plaintext_token
        yield GuardedBucket(server, segments, token, authority.ca_file, tmp_path)


@contextmanager
def running(command: list[str], environment: dict[str, str], log: Path) -> Iterator[int]:
    """Run a program to its end, killed with all it started at the deadline; gives its code."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env=environment, start_new_session=True
        )
    try:
        yield process.wait(DEADLINE_SECS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def check_readings(bucket: GuardedBucket, master: str) -> None:
    """Run the script against a master, and expect every row once and every refusal said."""
    folder, others = bucket.folder / "out", Authority(bucket.folder / "others")
    folder.mkdir()
    script = [sys.executable, "-m", "tests.support.spark_reads_script"]
    command = [*script, master, bucket.server.address, str(folder), str(others.ca_file)]
    unset = {name: value for name, value in os.environ.items() if "SEGPLANE" not in name}
    environment = unset | {"READER_TOKEN": bucket.token, "READER_CA": str(bucket.ca_file)}
    with running(command, environment, folder / "log") as code:
        assert code == 0, (folder / "log").read_text()[-4_000:]

    expected = Counter(bucket.segments.rows)
    assert rows_of(folder / "batch") == expected
    assert rows_of(folder / "stream") == expected
    result = json.loads((folder / "result.json").read_text())
    assert [rows for rows in result["batches"] if rows] == [40, 40, 40]
    for name in ("wrong_token", "stream_wrong_token"):
        assert "(UNAUTHENTICATED)" in result[name]
    assert f"{bucket.server.address} is not signed by the CA given" in result["wrong_ca"]
    assert "is no longer kept at version" in result["lost"]


def rows_of(path: Path) -> Counter[tuple[str, int]]:
    table = pq.read_table(path)
    micros = table["timestamp"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    rows = zip(table["signal"], micros, table["timestamp_nanos"], strict=True)
    return Counter((str(name), int(us.as_py()) * 1000 + int(ns.as_py())) for name, us, ns in rows)


def test_a_scoped_token_over_tls_reads_a_bucket(bucket: GuardedBucket) -> None:
    check_readings(bucket, "local[2]")


def test_executors_of_a_cluster_read_with_the_reader_s_token_and_ca(
    bucket: GuardedBucket, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        check_readings(bucket, cluster.master_url)
