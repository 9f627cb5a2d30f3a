"""One collector process, durable end to end, against gRPC servers that parse and drop.

Each contender counts at the number of exports in flight that suits it best, since the question is
what it can take. Ours answers after a durable put and a commit, which the others do not do, so it
needs more in flight to have work at all times; the server with threads takes less with more.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

from benchmarks.harness import otlp_load
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import bench_postgres, bench_server
from benchmarks.harness.waiting import wait_until_serving
from benchmarks.peers.otlp_drop import dropping_server
from meta.client import MetaClient
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest
from segplane.preflight import claim_ports

EXPORT_BYTES = 512 * 1024
IN_FLIGHT = (64, 128)
SECONDS = 4.0
ROUNDS = 3


def run() -> list[Result]:
    """Three rounds of each in turn; medians."""
    rates: dict[str, dict[int, list[float]]] = {
        name: {in_flight: [] for in_flight in IN_FLIGHT}
        for name in ("threads", "asyncio", "collector")
    }
    with (
        _collector() as (address, token),
        dropping_server("threads") as threads,
        dropping_server("asyncio") as loop,
    ):
        targets = {"threads": threads, "asyncio": loop, "collector": address}
        for (name, target), in_flight in [*product(targets.items(), IN_FLIGHT)] * ROUNDS:
            load = otlp_load.OtlpLoad(target, token, EXPORT_BYTES, in_flight, SECONDS)
            accepted = otlp_load.run(load)
            assert accepted.refused == 0, f"{name} refused {accepted.refused} exports"
            rates[name][in_flight].append(accepted.megabytes_per_second)
    best = {name: max(map(statistics.median, by.values())) for name, by in rates.items()}
    return [
        compare(
            f"collector_accepted_against_{name}",
            best["collector"],
            best[name],
            reference_name=f"gRPC server ({name}) that parses and drops",
            unit="MB/s of 512 KiB exports",
            bar=0.7,
        )
        for name in ("threads", "asyncio")
    ]


@contextmanager
def _collector() -> Iterator[tuple[str, str]]:
    """Run a collector over a real meta and a folder; gives its address and a token."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-bench-"))
    settings = {"META_OBJECT_STORE_URL": (folder / "objects").as_uri()}
    try:
        with bench_postgres() as postgres, bench_server(postgres.url, settings) as server:
            with server.client() as client:
                token = _token(client)
            address = f"127.0.0.1:{claim_ports({'collector': 0})['collector']}"
            environment = {
                **os.environ,
                "COLLECTOR_META_ADDRESS": server.address,
                "COLLECTOR_GRPC_BIND": address,
                "COLLECTOR_HTTP_BIND": "127.0.0.1:0",
            }
            with _running(environment, address):
                yield address, token
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _running(environment: dict[str, str], address: str) -> Iterator[None]:
    command = [sys.executable, "-P", "-m", "collector"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        wait_until_serving(process, address)
        yield
    finally:
        process.terminate()
        process.wait()


def _token(client: MetaClient) -> str:
    client.catalog.CreateDataset(CreateDatasetRequest(name="bench"))
    request = CreateIngestTokenRequest(name="bench", dataset_name="bench")
    return client.ingest_token.CreateIngestToken(request).plaintext_token
