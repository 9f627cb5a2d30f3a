"""Figures of a load of calls: rate, latencies, and the server's CPU."""

import statistics
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from grpc_health.v1 import health_pb2

from benchmarks.harness import call_load
from benchmarks.harness.call_load import CallLoad
from benchmarks.harness.processes import cpu_seconds
from benchmarks.harness.server import BenchServer

# The empty RPC: a health check.
ECHO = "/grpc.health.v1.Health/Check"
EMPTY = health_pb2.HealthCheckRequest().SerializeToString()


@dataclass(frozen=True, slots=True)
class CallFigures:
    """One run of calls; rate and CPU are of what the calls did, `per_call` in each."""

    per_second: float
    p50_ms: float
    p99_ms: float
    meta_cpu_ms: float
    postgres_cpu_ms: float


def measure(
    server: BenchServer, postgres_pid: int, load: CallLoad, per_call: int = 1
) -> tuple[CallFigures, Sequence[bytes]]:
    """Run a load; returns its figures and the replies that it keeps."""
    pids = (server.pid, postgres_pid)
    before = [cpu_seconds(pid) for pid in pids]
    rates = call_load.run(load)
    used = [cpu_seconds(pid) - began for pid, began in zip(pids, before, strict=True)]
    done = rates.calls * per_call
    cpu = (1e3 * secs / done for secs in used)
    return CallFigures(done / rates.seconds, rates.p50_ms, rates.p99_ms, *cpu), rates.replies


def median(runs: Sequence[CallFigures]) -> CallFigures:
    """The median of each figure."""
    return CallFigures(*map(statistics.median, zip(*map(astuple, runs), strict=True)))
