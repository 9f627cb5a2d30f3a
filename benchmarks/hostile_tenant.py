"""A tenant beside a hostile one that is at every bound at once: its calls, exports and queries.

Rounds alone and beside the hostile tenant take turns, on one meta, collector and gateway. A call of
the neighbour costs the CPU time that it cost alone, so its number of calls tells the CPU time that
it had. Its fair share is half of what a process used, or all that it used alone, if that is less.
The hostile senders give way to other processes (nice 19), as they have their own machines.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
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
CALLERS, EXPORT_BYTES, EXPORTS_IN_FLIGHT, QUERIES_IN_FLIGHT = 32, 200, 64, 8
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
    hostile: BenchTenant


@dataclass(frozen=True, slots=True)
class Served:
    """Work of a process for the neighbour in one phase; times in seconds."""

    calls: float
    p99_ms: float
    cpu_secs: float


def run() -> list[Result]:
    """Measure five rounds, of two phases each."""
    with _scene() as scene:
        _phase(scene)
        alone, beside = list[dict[str, Served]](), list[dict[str, Served]]()
        for _ in range(ROUNDS):
            alone.append(_phase(scene))
            with _under_attack(scene):
                beside.append(_phase(scene))
    return [
        result
        for name in ("meta", "collector", "gateway")
        for result in _results(name, [a[name] for a in alone], [b[name] for b in beside])
    ]


def _results(name: str, alone: Sequence[Served], beside: Sequence[Served]) -> Iterator[Result]:
    shares = []
    for quiet, busy in zip(alone, beside, strict=True):
        used_secs = busy.calls * quiet.cpu_secs / quiet.calls
        shares.append(used_secs / min(quiet.cpu_secs, busy.cpu_secs / 2))
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


def _phase(scene: Scene) -> dict[str, Served]:
    """Let the neighbour call, export and query at once; a refused call is an error."""
    works = {"meta": _find, "collector": _export, "gateway": _query}
    clocks: dict[str, Callable[[], float]] = {
        "meta": TreeClock(scene.server.pid),
        # The neighbour has no use for the processes that convert JSON.
        "collector": partial(own_cpu_seconds, scene.collector.pid),
        "gateway": TreeClock(scene.gateway.pid),
    }
    before = {name: clock() for name, clock in clocks.items()}
    with ThreadPoolExecutor(len(works)) as pool:
        begun = {name: pool.submit(work, scene) for name, work in works.items()}
        rates = {name: future.result() for name, future in begun.items()}
    return {name: Served(*rates[name], clocks[name]() - before[name]) for name in works}


def _find(scene: Scene) -> tuple[float, float]:
    security = CallSecurity(auth_tokens=scene.neighbour.readers)
    load = CallLoad(scene.server.address, FIND, [[_GOOD]] * CALLERS, SECS, security=security)
    rates = call_load.run(load)
    return rates.calls, rates.p99_ms


def _export(scene: Scene) -> tuple[float, float]:
    accepted = otlp_load.run(
        otlp_load.OtlpLoad(
            scene.collector.grpc_address,
            scene.neighbour.senders[0],
            EXPORT_BYTES,
            EXPORTS_IN_FLIGHT,
            SECS,
        )
    )
    assert accepted.refused == 0, f"{accepted.refused} exports of the neighbour were refused"
    return accepted.total_bytes, accepted.p99_ms or 1e3 * SECS


def _query(scene: Scene) -> tuple[float, float]:
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
        readers = scene.neighbour.readers
        tokens = [readers[n % len(readers)] for n in range(QUERIES_IN_FLIGHT)]
        times = sorted(each for part in pool.map(ask, tokens) for each in part)
    return len(times), times[len(times) * 99 // 100]


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
def _under_attack(scene: Scene) -> Iterator[None]:
    """Keep the hostile tenant at all of its bounds while the block runs."""
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
        for token, kind in zip(hostile.senders, KINDS, strict=True):
            collector = scene.collector
            busy = HostileLoad(kind, collector.grpc_address, collector.http_address, token)
            stack.enter_context(hostile_load.running(busy))
        stack.enter_context(_hostile_queries(scene))
        time.sleep(START_SECS)
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
    }
    access = {"GATEWAY_AUTH_TOKEN": ADMIN_TOKEN, "GATEWAY_META_AUTH_TOKEN": ADMIN_TOKEN}
    try:
        with bench_postgres() as postgres, bench_server(postgres.url, settings) as server:
            neighbour, hostile = (_tenant(server, name) for name in ("neighbour", "hostile"))
            segment_rows.load(server.database_url, SEGMENTS)
            token = {"COLLECTOR_META_AUTH_TOKEN": ADMIN_TOKEN, "COLLECTOR_ID": "bench"}
            with (
                running_collector(server.address, **token) as collector,
                bench_gateway(server.address, access) as gateway,
            ):
                yield Scene(server, collector, gateway, neighbour, hostile)
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
