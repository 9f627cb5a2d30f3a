"""Callers without a credential: what they hold open keeps nobody else from an answer."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from benchmarks.harness import strangers
from benchmarks.harness.strangers import Attack, attacking
from meta.client import MetaClient
from meta.config import Settings
from meta.roles import Role
from meta.v1 import catalog_pb2, operations_pb2
from segplane.stack.preflight import claim_ports
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

SERVING = health_pb2.HealthCheckResponse.SERVING
ROUNDS = 3
ANSWER_SECS = 10.0
# What 400 messages of 4 MiB are is 1,600.
MEMORY_MB_MAX = 300
# Refusals a second are 100; without a pace they were thousands.
REFUSED_PER_SEC_MAX = 250
REFUSED = 150
SLOW = pytest.mark.slow
CALLS = [
    pytest.param(strangers.HEADERS, id="headers of calls without messages"),
    pytest.param(strangers.BODIES, id="messages without their ends"),
    pytest.param(strangers.WATCHES, id="health watches"),
    pytest.param(strangers.REFLECTIONS, id="reflection streams", marks=SLOW),
    pytest.param(strangers.CHECKS, id="health checks without messages", marks=SLOW),
]
OPEN_CALLS = [
    pytest.param(strangers.HEADERS, id="headers of calls without messages", marks=SLOW),
    pytest.param(strangers.BODIES, id="messages without their ends", marks=SLOW),
    pytest.param(strangers.WATCHES, id="health watches"),
    pytest.param(strangers.REFLECTIONS, id="reflection streams"),
    pytest.param(strangers.CHECKS, id="health checks without messages", marks=SLOW),
]


@pytest.fixture
def health_address() -> str:
    return f"127.0.0.1:{claim_ports({'health': 0})['health']}"


@pytest.fixture
def guard(meta_settings: Settings, health_address: str) -> Iterator[GuardedServer]:
    with guarded(replace(meta_settings, health_bind=health_address)) as running:
        yield running


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


def memory_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def is_serving(address: str) -> bool:
    """Ask once, as a probe does."""
    with grpc.insecure_channel(address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        reply = stub.Check(health_pb2.HealthCheckRequest(), timeout=ANSWER_SECS)
    return bool(reply.status == SERVING)


def require_answers(client: MetaClient, address: str) -> None:
    """Calls of each kind, of which none is refused."""
    page = operations_pb2.CheckConsistencyRequest()
    for _ in range(ROUNDS):
        client.catalog.ListDatasets(catalog_pb2.ListDatasetsRequest(), timeout=ANSWER_SECS)
        for _ in client.operations.CheckConsistency(iter([page]), timeout=ANSWER_SECS):
            pass
        assert is_serving(address)


def wait_for(attack: Attack, progress: strangers.Progress) -> None:
    """Wait until all calls of an attack have come."""
    wait_until(lambda: progress.begun >= min(attack.calls, 600), "the calls", seconds=60)


@pytest.mark.parametrize("attack", CALLS)
def test_strangers_keep_nobody_from_a_server_that_asks_for_credentials(
    guard: GuardedServer, attack: Attack
) -> None:
    before_mb = memory_mb()

    with attacking(port_of(guard.address), attack) as progress:
        wait_for(attack, progress)
        require_answers(guard.admin, guard.address)
        assert memory_mb() < before_mb + MEMORY_MB_MAX
        # A credential that was made a moment ago is taken as well.
        with guard.client(Role.CATALOG) as client:
            client.catalog.ListDatasets(catalog_pb2.ListDatasetsRequest(), timeout=ANSWER_SECS)


@pytest.mark.parametrize("attack", OPEN_CALLS)
def test_strangers_keep_nobody_from_a_server_without_authentication(
    meta_server: MetaServer, attack: Attack
) -> None:
    before_mb = memory_mb()

    with attacking(port_of(meta_server.address), attack) as progress:
        wait_for(attack, progress)
        require_answers(meta_server.client, meta_server.address)
        assert memory_mb() < before_mb + MEMORY_MB_MAX


@pytest.mark.long
@pytest.mark.parametrize("attack", [strangers.CHECKS, replace(strangers.WATCHES, calls=300)])
def test_probes_are_answered_while_strangers_hold_the_port_of_health_checks(
    guard: GuardedServer, health_address: str, attack: Attack
) -> None:
    with attacking(port_of(health_address), attack) as progress:
        wait_for(attack, progress)
        for _ in range(ROUNDS):
            assert is_serving(health_address)
        assert is_serving(guard.address)


@pytest.mark.long
@pytest.mark.parametrize("attack", [strangers.HEADERS, strangers.CHECKS], ids=["calls", "checks"])
def test_strangers_who_begin_again_are_refused_at_a_pace(
    guard: GuardedServer, attack: Attack
) -> None:
    with attacking(port_of(guard.address), attack) as progress:
        wait_until(lambda: progress.ended >= REFUSED, "the first refusals", seconds=60)
        began, refused = time.monotonic(), progress.ended
        wait_until(lambda: progress.ended >= refused + REFUSED, "more refusals", seconds=60)
        per_sec = (progress.ended - refused) / (time.monotonic() - began)

    assert per_sec < REFUSED_PER_SEC_MAX
