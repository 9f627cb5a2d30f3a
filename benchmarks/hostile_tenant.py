"""A tenant beside a hostile one that is at every bound at once: its calls, exports and queries.

Latencies and refusals are those of all processes at once. Shares of CPU time are measured process
by process, since a neighbour that waits for another process asks for less. Each has three phases:
the neighbour alone, beside a twin that does the same, and beside the hostile tenant. Beside the
twin half of the process's CPU time is the neighbour's, which tells the CPU time of a call; the
number of its calls then tells what it had beside the hostile tenant. Its fair share is half of what
the process used, or what its calls alone take, if that is less: it asks for no more.

Hostile senders give way to other processes (nice 19), as they have their own machines.
"""

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from benchmarks.harness import call_load, hostile_load, otlp_load, segment_rows
from benchmarks.harness.call_load import CallLoad, CallSecurity
from benchmarks.harness.collectors import RunningCollector, running_collector
from benchmarks.harness.gateway import BenchGateway, bench_gateway
from benchmarks.harness.hostile_load import NICENESS, HostileLoad
from benchmarks.harness.processes import TreeClock, own_cpu_seconds
from benchmarks.harness.results import Result, compare
from benchmarks.harness.segment_rows import DAY_NANOS, NEWEST_NANOS
from benchmarks.harness.server import BenchServer, bench_postgres, bench_server
from meta.client import MetaClient
from meta.roles import Role
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.common_pb2 import TimeRange
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest
from meta.v1.operations_pb2 import CreateAccessTokenRequest
from meta.v1.resources_pb2 import CreateTenantRequest
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest

ROUNDS, SECS = 5, 4.0
SHARE_MIN, P99_RATIO_MAX = 0.8, 2.5
SEGMENTS, DATASETS = 20_000, 5
# Of the neighbour: enough that something of it waits at any time, for fair shares to show.
CALLERS, QUERIES_IN_FLIGHT = 128, 8
EXPORT_BYTES, EXPORTS_IN_FLIGHT, EXPORTS_OF_CALLER = 200, 256, 120
# Tokens of the hostile tenant, by each of which it sends; its queries, and bytes of an export.
HOSTILE_TOKENS, HOSTILE_CALLS, HOSTILE_QUERIES = 4, 512, 80
START_SECS = 4.0
KINDS = ("busy", "busy", "json", "compressed")
ADMIN_TOKEN = "the admin token of this benchmark"
FIND = "/meta.v1.SegmentLookupService/FindSegments"
CREATE = "/meta.v1.CatalogService/CreateDataset"
_SUM = "SELECT sum(i) FROM range({}) t(i)"
QUERY, HOSTILE_QUERY = (
    {"query": _SUM.format(number), "language": "sql"} for number in (1_000, 100_000_000)
)
_WINDOW = TimeRange(start_time=NEWEST_NANOS - DAY_NANOS // 24, end_time=NEWEST_NANOS)
_GOOD = FindSegmentsRequest(time_range=_WINDOW).SerializeToString()
_WIDEST = FindSegmentsRequest(limit=10_000).SerializeToString()


@dataclass(frozen=True, slots=True)
class BenchTenant:
    """Tokens of a tenant: of its readers, of its senders, and of its administrator."""

    readers: Sequence[str]
    senders: Sequence[str]
    admin: str


@dataclass(frozen=True, slots=True)
class Scene:
    """The processes, and the two tenants."""

    server: BenchServer
    collector: RunningCollector
    gateway: BenchGateway
    neighbour: BenchTenant
    twin: BenchTenant
    hostile: BenchTenant


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
    with _scene() as scene:
        _phase(scene, [scene.neighbour], WORKS)
        for _ in range(ROUNDS):
            for name in WORKS:
                shares[name].append(_share(scene, name))
            alone.append(_phase(scene, [scene.neighbour], WORKS))
            with _under_attack(scene, WORKS):
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
    with _under_attack(scene, [name]):
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
            status, body = _asked(scene.gateway, token, QUERY)
            assert status == 200, body
            times.append(1e3 * (time.perf_counter() - began))
        return times

    with ThreadPoolExecutor(QUERIES_IN_FLIGHT) as pool:
        tokens = [tenant.readers[n % len(tenant.readers)] for n in range(QUERIES_IN_FLIGHT)]
        times = sorted(each for part in pool.map(ask, tokens) for each in part)
    return len(times), times[len(times) * 99 // 100]


WORKS = {"meta": _find, "collector": _export, "gateway": _query}


def _asked(gateway: BenchGateway, token: str, question: dict[str, str]) -> tuple[int, bytes]:
    connection = gateway.connect()
    try:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        connection.request("POST", "/v1/query", json.dumps(question), headers)
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


@contextmanager
def _under_attack(scene: Scene, names: Iterable[str]) -> Iterator[None]:
    """Keep the hostile tenant at all of its bounds in processes while the block runs."""
    attacks = {
        "meta": _hostile_calls,
        "collector": _hostile_exports,
        "gateway": _hostile_queries,
    }
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(attacks[name](scene))
        time.sleep(START_SECS)
        yield


@contextmanager
def _hostile_calls(scene: Scene) -> Iterator[None]:
    """Make more of the widest calls at a time than a tenant has, and create datasets."""
    hostile, address = scene.hostile, scene.server.address
    names = [CreateDatasetRequest(name=f"more-{n}").SerializeToString() for n in range(1_000)]
    loads = [
        (FIND, [[_WIDEST]] * HOSTILE_CALLS, hostile.readers),
        (CREATE, [names[n::4] for n in range(4)], [hostile.admin]),
    ]
    with ExitStack() as stack:
        for method, requests, tokens in loads:
            security = CallSecurity(auth_tokens=tokens)
            load = CallLoad(
                address, method, requests, 3_600.0, security=security, may_be_refused=True
            )
            stack.enter_context(call_load.sending(load, NICENESS))
        yield


@contextmanager
def _hostile_exports(scene: Scene) -> Iterator[None]:
    """Send exports of all kinds, each by a token."""
    collector = scene.collector
    with ExitStack() as stack:
        for token, kind in zip(scene.hostile.senders, KINDS, strict=True):
            load = HostileLoad(kind, collector.grpc_address, collector.http_address, token)
            stack.enter_context(hostile_load.running(load))
        yield


@contextmanager
def _hostile_queries(scene: Scene) -> Iterator[None]:
    """Ask for more queries at a time than a tenant has, and than may wait."""
    question = json.dumps([scene.gateway.port, list(scene.hostile.readers)])
    command = [sys.executable, "-m", "benchmarks.hostile_tenant", question]
    with subprocess.Popen(command, preexec_fn=lambda: os.nice(NICENESS)) as process:
        try:
            yield
        finally:
            process.kill()


def _ask_for_ever(port: int, tokens: Sequence[str]) -> None:
    gateway = BenchGateway(port, 0)

    def ask(number: int) -> None:
        while True:
            status, _ = _asked(gateway, tokens[number % len(tokens)], HOSTILE_QUERY)
            if status != 200:
                time.sleep(0.1)

    for number in range(HOSTILE_QUERIES):
        threading.Thread(target=ask, args=(number,), daemon=True).start()
    threading.Event().wait()


@contextmanager
def _scene() -> Iterator[Scene]:
    folder = Path(tempfile.mkdtemp(prefix="segplane-bench-"))
    settings = {
        "META_OBJECT_STORE_URL": (folder / "objects").as_uri(),
        "META_AUTH_TOKEN": ADMIN_TOKEN,
        "META_REQUIRE_AUTHENTICATION": "true",
        "META_DATABASE_CALLER_ROLE": "segplane_callers",
        # Otherwise exports wait for the time of a flush, not for the collector.
        "META_FLUSH_TIMEOUT_MS": "50",
    }
    access = {"GATEWAY_AUTH_TOKEN": ADMIN_TOKEN, "GATEWAY_META_AUTH_TOKEN": ADMIN_TOKEN}
    try:
        with bench_postgres() as postgres, bench_server(postgres.url, settings) as server:
            tenants = [_tenant(server, name) for name in ("neighbour", "twin", "hostile")]
            segment_rows.load(server.database_url, SEGMENTS)
            token = {"COLLECTOR_META_AUTH_TOKEN": ADMIN_TOKEN, "COLLECTOR_ID": "bench"}
            with (
                running_collector(server.address, **token) as collector,
                bench_gateway(server.address, access) as gateway,
            ):
                yield Scene(server, collector, gateway, *tenants)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _tenant(server: BenchServer, name: str) -> BenchTenant:
    """Create a tenant with datasets, and tokens of its people and senders."""

    def token(client: MetaClient, role: Role, subject: str) -> str:
        request = CreateAccessTokenRequest(subject=subject, role=role.value)
        return client.operations.CreateAccessToken(request).plaintext_token

    with server.client() as admin:
        admin.resources.CreateTenant(CreateTenantRequest(name=name))
    with MetaClient(server.address, auth_token=ADMIN_TOKEN, tenant=name) as client:
        senders = []
        for number in range(DATASETS):
            client.catalog.CreateDataset(CreateDatasetRequest(name=f"bench-{number}"))
        for number in range(HOSTILE_TOKENS):
            request = CreateIngestTokenRequest(name=f"t{number}", dataset_name=f"bench-{number}")
            senders.append(client.ingest_token.CreateIngestToken(request).plaintext_token)
        readers = [token(client, Role.TENANT_READER, f"r{n}") for n in range(HOSTILE_TOKENS)]
        return BenchTenant(readers, senders, token(client, Role.TENANT_ADMIN, "boss"))


if __name__ == "__main__":
    _ask_for_ever(*json.loads(sys.argv[1]))
