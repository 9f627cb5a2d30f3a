"""Counting of calls, and tracing that is off, by themselves: best of 200 runs of 10,000 calls.

    a CommitOffset: counted by the collector and by meta     an export: by the collector, with its
                                                             costs

The old names of the metrics are included.
"""

import time
from collections.abc import Callable
from uuid import uuid4

from benchmarks.harness.results import Result, compare
from dataplane.costs.process import charge
from meta import telemetry
from meta.call_metrics import ClientCalls, HttpRequests, MethodCalls
from meta.costs.accumulator import Work
from meta.rpc.call_counts import RpcCalls

RUNS, CALLS = 200, 10_000
METRICS_US_BAR, TRACING_US_BAR = 4.5, 0.4
_COMMIT = "/meta.v1.IngestionService/CommitOffset"
_EXPORT = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
_ROUTE = ("POST", "/v1/logs", 200)


def run() -> list[Result]:
    """Count and trace in turn, each by itself."""
    commit, export = metrics_us()
    return [
        _result("commit_offset", commit, METRICS_US_BAR, "counting a CommitOffset"),
        _result("export", export, METRICS_US_BAR, "counting an export and its costs"),
        _result("tracing_off", best_us(_untraced()), TRACING_US_BAR, "tracing that is off"),
    ]


def metrics_us() -> tuple[float, float]:
    """Return the microseconds of counting a CommitOffset, and of an export over gRPC or HTTP."""
    commit = best_us(_commit_in_meta()) + best_us(_commit_in_collector())
    export = max(best_us(_export_over_grpc()), best_us(_export_over_http()))
    return commit, export + best_us(_cost_of_export())


def best_us(act: Callable[[], object]) -> float:
    """Return the microseconds of an act in the best run, less those of the loop."""
    return max(0.0, _best_us(act) - _best_us(lambda: None))


def _best_us(act: Callable[[], object]) -> float:
    best_ns = min(_run_ns(act) for _ in range(RUNS))
    return best_ns / CALLS / 1e3


def _run_ns(act: Callable[[], object]) -> int:
    began = time.process_time_ns()
    for _ in range(CALLS):
        act()
    return time.process_time_ns() - began


def _commit_in_meta() -> Callable[[], object]:
    calls = RpcCalls(_COMMIT)
    return lambda: calls.succeed(calls.begin(), None)


def _commit_in_collector() -> Callable[[], object]:
    calls = ClientCalls("127.0.0.1:9500")
    return lambda: calls.end(_COMMIT, calls.begin(_COMMIT), "OK")


def _export_over_grpc() -> Callable[[], object]:
    calls = MethodCalls(_EXPORT)
    return lambda: calls.end(calls.begin(), "OK")


def _export_over_http() -> Callable[[], object]:
    requests = HttpRequests()

    def count() -> None:
        began = time.perf_counter()
        requests.end(_ROUTE, time.perf_counter() - began)

    return count


def _cost_of_export() -> Callable[[], object]:
    dataset_id = str(uuid4())
    return lambda: charge(Work.INGEST, dataset_id, 1_000)


def _untraced() -> Callable[[], object]:
    def trace() -> None:
        with telemetry.served("CommitOffset", tuple) as span:
            telemetry.exemplar(span)

    return trace


def _result(name: str, ours: float, bar_us: float, what: str) -> Result:
    return compare(
        f"status_metrics_{name}",
        ours,
        bar_us,
        reference_name=f"the most that {what} may take",
        unit=f"us of CPU, best of {RUNS} runs of {CALLS:,}",
        bar=1.0,
        higher_is_better=False,
    )
