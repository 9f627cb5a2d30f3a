"""Two nurseries own a shard at once: the compare-and-move of offsets alone keeps records single.

Real processes over VersityGW behind a proxy. SIGSTOP stops a nursery in the middle of a put or of a
registration, for longer than its lease; the other one merges its streams meanwhile. Then the put
or the registration goes through, and the stopped nursery goes on.
"""

import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from meta import config
from meta.client import MetaClient
from segplane.fsck import catalog_check
from tests.support.meta.gated_proxy import GatedProxy, gated_proxy
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver, dataset, texts
from tests.support.object_store.faulty_proxy import (
    FaultyProxy,
    Forward,
    ProxyAnswer,
    Request,
    running_proxy,
)
from tests.support.object_store.moto import fresh_location
from tests.support.waiting import wait_until
from tests.support.worker_process import WorkerProcess

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow
PATH = {"PYTHONPATH": str(ROOT)}
STREAMS, BABIES = 24, 3
LEASE_SECS = 2.0
DEADLINE = 60.0


@dataclass
class HeldPut:
    """Holds the first put of a merged segment on its way to the store."""

    arrived: threading.Event
    released: threading.Event

    def __call__(self, request: Request, forward: Forward) -> ProxyAnswer:
        is_first = "/merged/" in request.target and not self.arrived.is_set()
        if request.method == "PUT" and is_first:
            self.arrived.set()
            self.released.wait(DEADLINE)
        return forward(request)


@dataclass
class Scene:
    """Many streams, and two nurseries; the first one speaks to meta through a gated proxy."""

    client: MetaClient
    store: FaultyProxy
    gates: GatedProxy
    collectors: list[CollectorDriver]
    first: WorkerProcess
    second: WorkerProcess
    sent: Counter[str]

    def send(self, name: str) -> None:
        for number in range(BABIES):
            for index, collector in enumerate(self.collectors):
                text = f"{name} {index} {number}"
                collector.send(text)
                self.sent[text] += 1

    def is_merged(self) -> bool:
        return all(
            set(collector.merged().values()) == {collector.next_offset - 1}
            for collector in self.collectors
        )

    def await_merged(self, who: str) -> None:
        wait_until(self.is_merged, f"{who} has merged every stream", seconds=DEADLINE)

    def seen(self) -> Counter[str]:
        return Counter(texts(self.collectors[0]))


@pytest.fixture
def store(versitygw_endpoint: str, aws_credentials: None) -> Iterator[FaultyProxy]:
    """Run a proxy in front of VersityGW."""
    with running_proxy(versitygw_endpoint) as server:
        yield server


@pytest.fixture
def meta_settings(meta_settings: config.Settings, store: FaultyProxy) -> config.Settings:
    """A short lease of shards, and objects behind the proxy."""
    lifetimes = replace(meta_settings.lifetimes, nursery_lease=LEASE_SECS)
    return replace(meta_settings, lifetimes=lifetimes, location=fresh_location(store.url))


@pytest.fixture
def scene(meta_server: MetaServer, store: FaultyProxy) -> Iterator[Scene]:
    """Give both nurseries, which have started."""
    client = meta_server.client
    dataset_id = dataset(client)
    collectors = [CollectorDriver(client, dataset_id) for _ in range(STREAMS)]
    with ExitStack() as stack:
        gates = stack.enter_context(gated_proxy(meta_server.address))

        def start(address: str) -> WorkerProcess:
            process = WorkerProcess("tests.support.nursery.contender", PATH, [address])
            stack.callback(process.close)
            return process

        first, second = start(gates.address), start(meta_server.address)
        for process in (first, second):
            process.wait_for("nursery_started")
        yield Scene(client, store, gates, collectors, first, second, Counter())


def owns_every_shard(process: WorkerProcess) -> bool:
    logged = [json.loads(line) for line in process.lines if '"shards_assigned"' in line]
    return bool(logged) and logged[-1]["shards"] == logged[-1]["shard_count"]


def stop(process: WorkerProcess) -> None:
    os.kill(process.pid, signal.SIGSTOP)


def go_on(process: WorkerProcess) -> None:
    os.kill(process.pid, signal.SIGCONT)


def in_a_put(scene: Scene) -> tuple[Callable[[], object], Callable[[], object]]:
    held = HeldPut(threading.Event(), threading.Event())
    scene.store.fault = held
    return lambda: held.arrived.wait(DEADLINE), held.released.set


def in_a_registration(scene: Scene) -> tuple[Callable[[], object], Callable[[], object]]:
    gate = scene.gates.hold("RegisterMergedSegments")
    return gate.wait_for_a_call, gate.open


@pytest.mark.parametrize("hold", [in_a_put, in_a_registration])
def test_a_nursery_that_was_stopped_beyond_its_lease_doubles_and_loses_nothing(
    scene: Scene, hold: Callable[[Scene], tuple[Callable[[], object], Callable[[], object]]]
) -> None:
    wait_for_hold, release = hold(scene)
    stop(scene.second)
    wait_until(
        lambda: owns_every_shard(scene.first),
        "every shard is the first one's once the other's lease is over",
        seconds=DEADLINE,
    )
    scene.send("early")
    wait_for_hold()
    stop(scene.first)
    go_on(scene.second)

    scene.await_merged("the second nursery")
    before = scene.seen()
    release()
    go_on(scene.first)
    wait_until(
        lambda: scene.first.has_logged("race_lost"),
        "a registration is refused",
        seconds=DEADLINE,
    )
    scene.send("late")
    scene.await_merged("one of them")

    assert before == Counter(text for text in scene.sent if text.startswith("early"))
    assert scene.seen() == scene.sent
    assert catalog_check.check(scene.client, is_deep=True, orphan_age_secs=0).violations == []
    for process in (scene.first, scene.second):
        assert process.terminate() == 0
