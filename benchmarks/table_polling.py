"""Fifty clients that poll a table against one, by what they cost meta.

Each asks twice a second and names what it has; a segment is committed twice a second meanwhile, so
that every description that is asked for is a new one. Counted are meta's calls and CPU seconds.
"""

import tempfile
import threading
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.request import urlopen

from benchmarks.harness.gateway import BenchGateway, bench_gateway, segment_of
from benchmarks.harness.processes import cpu_seconds
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import BenchServer, bench_postgres, bench_server
from meta.v1 import catalog_pb2, ingestion_pb2
from segplane.stack.preflight import claim_ports

CLIENTS = 50
SEGMENTS = 2_000
PAGE = 500
SECONDS = 20.0
POLL_SECS = 0.5
_TABLE = "web"


def run() -> list[Result]:
    """One client, then fifty; the work of meta for the commits themselves is in both."""
    port = claim_ports({"metrics": 0})["metrics"]
    with tempfile.TemporaryDirectory() as folder, bench_postgres() as postgres:
        settings = {"META_METRICS_PORT": str(port), "META_OBJECT_STORE_URL": Path(folder).as_uri()}
        with bench_server(postgres.url, settings) as server, bench_gateway(server.address) as gate:
            dataset = _fill(server)
            one_calls, one_cpu, _ = _measure(server, gate, port, dataset, 1)
            all_calls, all_cpu, answers = _measure(server, gate, port, dataset, CLIENTS)
    print(f"{answers / SECONDS:.0f} answers a second, {all_calls / SECONDS:.2f} calls of meta")
    return [
        compare(
            "table_polling_calls",
            all_calls / SECONDS,
            one_calls / SECONDS,
            reference_name="1 polling client",
            unit="calls of meta/s",
            bar=1.25,
            higher_is_better=False,
        ),
        compare(
            "table_polling_cpu",
            1_000 * all_cpu / SECONDS,
            1_000 * one_cpu / SECONDS,
            reference_name="1 polling client",
            unit="ms of meta's CPU/s",
            higher_is_better=False,
        ),
    ]


def _fill(server: BenchServer) -> str:
    with server.client() as client:
        made = client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=_TABLE))
        for start in range(0, SEGMENTS, PAGE):
            segments = [segment_of(made.id, number) for number in range(start, start + PAGE)]
            client.ingestion.SaveSegments(ingestion_pb2.SaveSegmentsRequest(segments=segments))
    return str(made.id)


def _measure(
    server: BenchServer, gateway: BenchGateway, metrics_port: int, dataset: str, clients: int
) -> tuple[float, float, int]:
    """Calls of the gateway at meta, CPU seconds of meta, and answers to the clients."""
    until = time.monotonic() + SECONDS
    answers = [0] * clients

    def poll(number: int) -> None:
        connection, etag = gateway.connect(), ""
        while time.monotonic() < until:
            etag, _ = gateway.load(_TABLE, connection, etag)
            answers[number] += 1
            time.sleep(POLL_SECS)

    threads = [threading.Thread(target=poll, args=(number,)) for number in range(clients)]
    warm: HTTPConnection = gateway.connect()
    gateway.load(_TABLE, warm)
    calls, cpu = _calls(metrics_port), cpu_seconds(server.pid)
    for thread in threads:
        thread.start()
    with server.client() as client:
        while time.monotonic() < until:
            request = ingestion_pb2.SaveSegmentsRequest(segments=[segment_of(dataset, 0)])
            client.ingestion.SaveSegments(request)
            time.sleep(POLL_SECS)
    for thread in threads:
        thread.join()
    return _calls(metrics_port) - calls, cpu_seconds(server.pid) - cpu, sum(answers)


def _calls(metrics_port: int) -> float:
    """Calls that meta has answered, but those of the writer."""
    with urlopen(f"http://127.0.0.1:{metrics_port}/metrics", timeout=10) as reply:
        lines = reply.read().decode().splitlines()
    counts = [line for line in lines if line.startswith("segplane_rpc_seconds_count{")]
    assert counts, "meta shows no calls"
    return sum(float(line.split()[-1]) for line in counts if "SaveSegments" not in line)
