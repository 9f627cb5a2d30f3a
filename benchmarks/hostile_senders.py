"""A small sender beside a hostile one: how long its exports take, and the collector's memory.

Each kind meets its own collector. The small sender is measured alone first, so both figures
are of the same collector within the same minute.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from benchmarks.harness import hostile_load, otlp_load
from benchmarks.harness.memory import PeakMemory
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import BenchServer, bench_postgres, bench_server
from benchmarks.harness.waiting import wait_until_serving
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest
from segplane.stack.preflight import claim_ports

# Sixteen in flight give some 80 exports a second, enough for a 99th percentile.
SMALL_BYTES, SMALL_IN_FLIGHT, SMALL_SECS = 200, 16, 10.0
P99_RATIO_MAX = 3.0
# As docs/collector.md states them: twice the total bound plus 150 MB, and the conversion process.
MEMORY_MB_MAX = 2 * 256 + 150
CONVERSION_MB_MAX = 2048


@dataclass(frozen=True, slots=True)
class BenchCollector:
    """A collector, and the tokens of two senders."""

    pid: int
    grpc_address: str
    http_address: str
    small_token: str
    hostile_token: str

    def small(self) -> otlp_load.Accepted:
        """Let the small sender export for a while."""
        accepted = otlp_load.run(
            otlp_load.OtlpLoad(
                self.grpc_address, self.small_token, SMALL_BYTES, SMALL_IN_FLIGHT, SMALL_SECS
            )
        )
        assert accepted.refused == 0, f"{accepted.refused} exports of the small sender were refused"
        return accepted


def run() -> list[Result]:
    """Measure each kind in turn."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-bench-"))
    settings = {"META_OBJECT_STORE_URL": (folder / "objects").as_uri()}
    measured: list[Result] = []
    try:
        with bench_postgres() as postgres, bench_server(postgres.url, settings) as server:
            for kind in hostile_load.KINDS:
                with _collector(server) as collector:
                    measured += _measure(kind, collector)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return measured


def _measure(kind: str, collector: BenchCollector) -> list[Result]:
    alone = collector.small()
    load = hostile_load.HostileLoad(
        kind, collector.grpc_address, collector.http_address, collector.hostile_token
    )
    with PeakMemory(collector.pid) as memory, hostile_load.running(load):
        beside = collector.small()
    return [
        compare(
            f"hostile_{kind}_p99",
            _p99_ms(beside),
            _p99_ms(alone),
            reference_name="the same sender alone",
            unit=f"ms at the 99th percentile of a small sender, beside {hostile_load.KINDS[kind]}"
            f" connections of {kind}",
            bar=P99_RATIO_MAX,
            higher_is_better=False,
        ),
        compare(
            f"hostile_{kind}_memory",
            memory.peak_bytes / 1e6,
            MEMORY_MB_MAX + (CONVERSION_MB_MAX if kind in hostile_load.CONVERTED else 0),
            reference_name="the stated bound",
            unit="MB of all processes of the collector",
            bar=1.0,
            higher_is_better=False,
        ),
    ]


def _p99_ms(accepted: otlp_load.Accepted) -> float:
    """The 99th percentile; at least the whole time where no export was answered within it."""
    return accepted.p99_ms or 1e3 * SMALL_SECS


@contextmanager
def _collector(server: BenchServer) -> Iterator[BenchCollector]:
    """Run `python -m collector` with an id, its own dataset and tokens."""
    name = f"bench-{uuid4().hex}"
    with server.client() as client:
        client.catalog.CreateDataset(CreateDatasetRequest(name=name))
        small, hostile = (
            client.ingest_token.CreateIngestToken(
                CreateIngestTokenRequest(name=f"{name}-{sender}", dataset_name=name)
            ).plaintext_token
            for sender in ("small", "hostile")
        )
    ports = claim_ports({"grpc": 0, "http": 0})
    grpc_address, http_address = (f"127.0.0.1:{ports[port]}" for port in ("grpc", "http"))
    environment = {
        **os.environ,
        "COLLECTOR_META_ADDRESS": server.address,
        "COLLECTOR_GRPC_BIND": grpc_address,
        "COLLECTOR_HTTP_BIND": http_address,
        "COLLECTOR_ID": name,
    }
    command = [sys.executable, "-P", "-m", "collector"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        wait_until_serving(process, grpc_address)
        yield BenchCollector(process.pid, grpc_address, http_address, small, hostile)
    finally:
        process.terminate()
        process.wait()
