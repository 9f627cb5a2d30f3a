"""One run of a whole Segplane over the records: CPU by part, until the planner is done."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cost.clocks import PartClocks
from benchmarks.cost.load import SendOrder, Sent, send
from benchmarks.cost.questions import DATASET
from benchmarks.harness.server import bench_postgres
from benchmarks.harness.waiting import wait_until
from benchmarks.soak.markers import Freshness, Markers
from benchmarks.soak.probe import read_backlog
from benchmarks.soak.stack import make_datasets
from meta.client import MetaClient
from meta.v1 import operations_pb2 as ops
from segplane.read import open_dataset
from segplane.stack.config import StackSettings
from segplane.stack.dev import Stack

MARKERS, WARM_UP = "markers", "warm"
DRAIN_SECS_MAX = 900.0
READ_SECS = 0.1
DONE_POLL_SECS = 2.0
PAGE = 10_000


@dataclass(frozen=True, slots=True)
class CostStack:
    """A running Segplane with one dataset, and what reads its clocks."""

    stack: Stack
    client: MetaClient
    tokens: dict[str, str]
    clocks: PartClocks

    def send(
        self, path: Path, in_flight: int, mb_per_sec: float = 0.0, dataset: str = DATASET
    ) -> Sent:
        """Send the records, and return once the last is acknowledged."""
        target = self.stack.settings.otlp_grpc_address
        order = SendOrder(str(path), target, self.tokens[dataset], in_flight, mb_per_sec)
        return send(order, self._tick)

    def await_done(self) -> None:
        """Wait until every baby is merged and the planner neither has a task nor would make one."""
        wait_until(
            self._is_done, "the planner to be done", seconds=DRAIN_SECS_MAX, tick=self.rest_a_while
        )

    def rest(self, seconds: float) -> None:
        """Let it be for a while: the time without exports that is measured."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._tick()
            time.sleep(READ_SECS)

    def rest_a_while(self) -> None:
        """Let it be between two looks, each of which is a call that users do not make."""
        self.rest(DONE_POLL_SECS)

    def _is_done(self) -> bool:
        backlog = read_backlog(self.client)
        return not backlog.babies and not backlog.tasks and not self._is_any_eligible()

    def _is_any_eligible(self) -> bool:
        request = ops.ExplainMergePlanRequest(limit=PAGE)
        reply = self.client.operations.ExplainMergePlan(request)
        return any(row.eligibility == ops.MERGE_ELIGIBILITY_ELIGIBLE for row in reply.segments)

    def _tick(self) -> None:
        self.stack.check()
        # A process that was started again has another id.
        self.clocks.roots = {**self.clocks.roots, **process_ids(self.stack)}
        self.clocks.read()


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds by part, of the bytes that were sent in `sent.seconds`."""

    sent: Sent
    cpu_secs: dict[str, float]
    segment_bytes: int
    segments: int

    @property
    def mb_per_sec(self) -> float:
        """Rate of the acknowledged bytes."""
        return self.sent.otlp_bytes / 1e6 / self.sent.seconds

    def per_gigabyte(self) -> dict[str, float]:
        """CPU seconds for 10^9 bytes of OTLP, by part and in all."""
        gigabytes = self.sent.otlp_bytes / 1e9
        parts = {part: secs / gigabytes for part, secs in sorted(self.cpu_secs.items())}
        return {**parts, "all": sum(parts.values())}


def process_ids(stack: Stack) -> dict[str, int]:
    """Process ids of the stack's processes that run now, by name."""
    pids = {name: child.pid for name, child in stack.children.items()}
    return {name: pid for name, pid in pids.items() if pid is not None}


@contextmanager
def cost_stack(object_store_url: str = "", master: str = "") -> Iterator[CostStack]:
    """Run `segplane dev` with its defaults in a temporary folder; Postgres is durable.

    An empty `master` is that of the environment, or else the default.
    """
    folder = Path(tempfile.mkdtemp(prefix="segplane-cost-"))
    try:
        with bench_postgres() as postgres:
            settings = StackSettings(
                data_dir=folder,
                meta_port=0,
                otlp_grpc_port=0,
                otlp_http_port=0,
                gateway_port=0,
                database_url=postgres.url,
                object_store_url=object_store_url,
                inherited=os.environ | ({"SEGPLANE_SPARK_MASTER": master} if master else {}),
            )
            with (
                Stack(settings, lambda line: print(f"  {line}", flush=True)) as stack,
                stack.connect() as client,
            ):
                assert postgres.pid is not None
                clocks = PartClocks({**process_ids(stack), "Postgres": postgres.pid})
                tokens = make_datasets(client, (DATASET, MARKERS, WARM_UP))
                yield CostStack(stack, client, tokens, clocks)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(cost: CostStack, path: Path, in_flight: int, mb_per_sec: float = 0.0) -> Cost:
    """Send the records; the cost ends when the planner is done."""
    before = cost.clocks.read()
    sent = cost.send(path, in_flight, mb_per_sec)
    cost.await_done()
    used = since(cost.clocks.read(), before)
    with open_dataset(DATASET, meta_address=cost.stack.settings.meta_address) as dataset:
        sizes = [file.size_bytes for file in dataset.files()]
    return Cost(sent, used, sum(sizes), len(sizes))


def freshness(
    cost: CostStack, path: Path, in_flight: int, mb_per_sec: float
) -> tuple[Sent, Freshness]:
    """Send the records with a marker every second, which costs more calls than users make."""
    collector = cost.stack.settings.otlp_grpc_address
    with Markers(cost.client, collector, cost.tokens[MARKERS]) as markers:
        sent = cost.send(path, in_flight, mb_per_sec)
        markers.stop_sending()
        wait_until(markers.is_all_seen, "the last marker", seconds=DRAIN_SECS_MAX)
        return sent, markers.result()


def idle(cost: CostStack, seconds: float) -> dict[str, float]:
    """Cores that each part uses while nothing is received."""
    before = cost.clocks.read()
    cost.rest(seconds)
    return {part: secs / seconds for part, secs in since(cost.clocks.read(), before).items()}


def since(now: dict[str, float], before: dict[str, float]) -> dict[str, float]:
    """CPU seconds of each part between two reads of the clocks."""
    return {part: secs - before.get(part, 0.0) for part, secs in now.items()}
