"""Tenants of a benchmark over all servers, and a hostile one that is at every bound.

Hostile senders give way to other processes (nice 19), as they have their own machines.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness import call_load, hostile_load, segment_rows
from benchmarks.harness.call_load import CallLoad, CallSecurity
from benchmarks.harness.collectors import RunningCollector, running_collector
from benchmarks.harness.gateway import BenchGateway, bench_gateway
from benchmarks.harness.hostile_load import NICENESS, HostileLoad
from benchmarks.harness.server import BenchServer, bench_postgres, bench_server
from meta.client import MetaClient
from meta.roles import Role
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest
from meta.v1.operations_pb2 import CreateAccessTokenRequest
from meta.v1.resources_pb2 import CreateTenantRequest
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest

SEGMENTS, DATASETS = 20_000, 5
# Tokens of the hostile tenant, by each of which it sends; its calls and queries at a time.
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


@contextmanager
def running_scene() -> Iterator[Scene]:
    """Run the servers with three tenants, who have the same."""
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


@contextmanager
def under_attack(scene: Scene, names: Iterable[str]) -> Iterator[None]:
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
    command = [sys.executable, "-m", "benchmarks.harness.tenants", question]
    with subprocess.Popen(command, preexec_fn=lambda: os.nice(NICENESS)) as process:
        try:
            yield
        finally:
            process.kill()


def _ask_for_ever(port: int, tokens: Sequence[str]) -> None:
    gateway = BenchGateway(port, 0)

    def ask(number: int) -> None:
        while True:
            status, _ = asked(gateway, tokens[number % len(tokens)], HOSTILE_QUERY)
            if status != 200:
                time.sleep(0.1)

    for number in range(HOSTILE_QUERIES):
        threading.Thread(target=ask, args=(number,), daemon=True).start()
    threading.Event().wait()


def asked(gateway: BenchGateway, token: str, question: dict[str, str]) -> tuple[int, bytes]:
    """Send a query; return the status and the answer."""
    connection = gateway.connect()
    try:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        connection.request("POST", "/v1/query", json.dumps(question), headers)
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


if __name__ == "__main__":
    _ask_for_ever(*json.loads(sys.argv[1]))
