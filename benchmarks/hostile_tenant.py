"""A tenant beside a hostile one that is at every bound at once: its calls, exports and queries.

Latencies and refusals are those of all processes at once. Shares of CPU time are measured process
by process, since a neighbour that waits for another process asks for less. Each has three phases:
the neighbour alone, beside a twin that does the same, and beside the hostile tenant. Beside the
twin half of the process's CPU time is the neighbour's, which tells the CPU time of a call; the
number of its calls then tells what it had beside the hostile tenant. Its fair share is half of what
the process used, or what its calls alone take, if that is less: it asks for no more.
"""

import os
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from benchmarks.harness import call_load, otlp_load
from benchmarks.harness.call_load import CallLoad, CallSecurity
from benchmarks.harness.processes import TreeClock, own_cpu_seconds
from benchmarks.harness.results import Result, compare
from benchmarks.harness.segment_rows import DAY_NANOS, NEWEST_NANOS
from benchmarks.harness.tenants import (
    FIND,
    QUERY,
    BenchTenant,
    Scene,
    asked,
    running_scene,
    under_attack,
)
from meta.v1.common_pb2 import TimeRange
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest

ROUNDS, SECS = 5, 4.0
SHARE_MIN, P99_RATIO_MAX = 0.8, 2.5
# Of the neighbour: enough that something of it waits at any time, for fair shares to show.
CALLERS, QUERIES_IN_FLIGHT = 128, 8
EXPORT_BYTES, EXPORTS_IN_FLIGHT, EXPORTS_OF_CALLER = 200, 256, 120
_WINDOW = TimeRange(start_time=NEWEST_NANOS - DAY_NANOS // 24, end_time=NEWEST_NANOS)
_GOOD = FindSegmentsRequest(time_range=_WINDOW).SerializeToString()


@dataclass(frozen=True, slots=True)
class Served:
    """Work of a process for a tenant in one phase, and the CPU time of the process."""

    calls: float
    p99_ms: float
    cpu_secs: float


@dataclass(frozen=True, slots=True)
class ShareRound:
    """Work of one process for the neighbour: alone, beside its twin, beside the hostile tenant."""

    alone: Served
    beside_twin: Served
    beside: Served

    @property
    def share(self) -> float:
        """The CPU time that the neighbour had beside the hostile tenant, of its fair share."""
        call_secs = self.beside_twin.cpu_secs / 2 / self.beside_twin.calls
        fair_secs = min(self.alone.calls * call_secs, self.beside.cpu_secs / 2)
        return self.beside.calls * call_secs / fair_secs


def run() -> list[Result]:
    """Measure five rounds of shares, and of latencies."""
    shares: dict[str, list[float]] = {name: [] for name in WORKS}
    alone, beside = list[dict[str, Served]](), list[dict[str, Served]]()
    with running_scene() as scene:
        _phase(scene, [scene.neighbour], WORKS)
        for _ in range(ROUNDS):
            for name in WORKS:
                shares[name].append(_share(scene, name))
            alone.append(_phase(scene, [scene.neighbour], WORKS))
            with under_attack(scene, WORKS):
                beside.append(_phase(scene, [scene.neighbour], WORKS))
            for name in WORKS:
                times = f"{alone[-1][name].p99_ms:.0f}, {beside[-1][name].p99_ms:.0f} ms"
                print(f"  {name}: p99 alone and beside the hostile tenant {times}", flush=True)
    return [
        result
        for name in WORKS
        for result in _results(name, shares[name], *([p[name] for p in q] for q in (alone, beside)))
    ]


def _share(scene: Scene, name: str) -> float:
    """Measure the neighbour's share of one process, with the hostile tenant at its bounds."""
    alone = _phase(scene, [scene.neighbour], [name])
    beside_twin = _phase(scene, [scene.neighbour, scene.twin], [name])
    with under_attack(scene, [name]):
        beside = _phase(scene, [scene.neighbour], [name])
    measured = ShareRound(alone[name], beside_twin[name], beside[name])
    print(f"  {name}: {measured.share:.2f} of the fair share; {measured}", flush=True)
    return measured.share


def _results(
    name: str, shares: Sequence[float], alone: Sequence[Served], beside: Sequence[Served]
) -> Iterator[Result]:
    yield compare(
        f"hostile_tenant_{name}_share",
        min(shares),
        1.0,
        reference_name="its fair share of the CPU time",
        unit=f"of the fair share, the least of {ROUNDS} rounds"
        f" ({', '.join(f'{share:.2f}' for share in sorted(shares))})",
        bar=SHARE_MIN,
    )
    ours, reference = (statistics.median(s.p99_ms for s in rounds) for rounds in (beside, alone))
    yield compare(
        f"hostile_tenant_{name}_p99",
        ours,
        reference,
        reference_name="the same tenant alone",
        unit="ms, the median p99 beside a hostile tenant at every bound",
        bar=P99_RATIO_MAX,
        higher_is_better=False,
    )


def _phase(scene: Scene, tenants: Sequence[BenchTenant], names: Iterable[str]) -> dict[str, Served]:
    """Let tenants give processes work at once; a refused call is an error.

    Returns the mean of the tenants' calls, and the p99 of the first tenant.
    """
    clocks: dict[str, Callable[[], float]] = {
        "meta": TreeClock(scene.server.pid),
        # The neighbour has no use for the processes that convert JSON.
        "collector": partial(own_cpu_seconds, scene.collector.pid),
        "gateway": TreeClock(scene.gateway.pid),
    }
    with ThreadPoolExecutor() as pool:
        before = {name: clock() for name, clock in clocks.items()}
        begun = {
            name: [pool.submit(WORKS[name], scene, tenant) for tenant in tenants] for name in names
        }
        served = {}
        for name, futures in begun.items():
            rates = [future.result() for future in futures]
            calls = statistics.mean(rate[0] for rate in rates)
            served[name] = calls, rates[0][1]
    return {name: Served(*served[name], clocks[name]() - before[name]) for name in served}


def _find(scene: Scene, tenant: BenchTenant) -> tuple[float, float]:
    return _rates(CallLoad(scene.server.address, FIND, [[_GOOD]] * CALLERS, SECS), tenant.readers)


def _export(scene: Scene, tenant: BenchTenant) -> tuple[float, float]:
    """Export again and again, each time something else."""
    payload, seed = otlp_load.log_payload(EXPORT_BYTES, random.Random(7)), os.urandom(4).hex()
    exports = [
        [
            payload.replace(otlp_load.MARK, f"{seed}{caller:04x}{number:04x}".encode())
            for number in range(EXPORTS_OF_CALLER)
        ]
        for caller in range(EXPORTS_IN_FLIGHT)
    ]
    load = CallLoad(scene.collector.grpc_address, otlp_load.EXPORT, exports, SECS)
    return _rates(load, tenant.senders)


def _rates(load: CallLoad, tokens: Sequence[str]) -> tuple[float, float]:
    rates = call_load.run(replace(load, security=CallSecurity(auth_tokens=tokens)))
    return rates.calls, rates.p99_ms


def _query(scene: Scene, tenant: BenchTenant) -> tuple[float, float]:
    """Ask again and again, some at a time."""
    until = time.perf_counter() + SECS

    def ask(token: str) -> list[float]:
        times = []
        while (began := time.perf_counter()) < until:
            status, body = asked(scene.gateway, token, QUERY)
            assert status == 200, body
            times.append(1e3 * (time.perf_counter() - began))
        return times

    with ThreadPoolExecutor(QUERIES_IN_FLIGHT) as pool:
        tokens = [tenant.readers[n % len(tenant.readers)] for n in range(QUERIES_IN_FLIGHT)]
        times = sorted(each for part in pool.map(ask, tokens) for each in part)
    return len(times), times[len(times) * 99 // 100]


WORKS = {"meta": _find, "collector": _export, "gateway": _query}
