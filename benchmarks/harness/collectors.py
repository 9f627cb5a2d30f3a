"""A collector process over a running meta."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.harness.waiting import wait_until_serving
from segplane.stack.preflight import claim_ports


@dataclass(frozen=True, slots=True)
class RunningCollector:
    """Addresses of a collector, and its process."""

    grpc_address: str
    http_address: str
    pid: int


@contextmanager
def running_collector(meta_address: str, **settings: str) -> Iterator[RunningCollector]:
    """Run `python -m collector` as users do, on its own ports."""
    ports = claim_ports({"grpc": 0, "http": 0})
    grpc_address, http_address = (f"127.0.0.1:{ports[port]}" for port in ("grpc", "http"))
    environment = {
        **os.environ,
        "COLLECTOR_META_ADDRESS": meta_address,
        "COLLECTOR_GRPC_BIND": grpc_address,
        "COLLECTOR_HTTP_BIND": http_address,
        **settings,
    }
    command = [sys.executable, "-P", "-m", "collector"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        wait_until_serving(process, grpc_address)
        yield RunningCollector(grpc_address, http_address, process.pid)
    finally:
        process.terminate()
        process.wait()
