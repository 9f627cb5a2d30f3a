"""Merges fall behind in a running installation: larger flushes, backpressure, recovery."""

import os
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from urllib.request import urlopen

import grpc
import pytest
from click.testing import CliRunner

from meta.client import MetaClient
from meta.commits.merge_debts import HELD_AT
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest
from segplane.__main__ import app
from segplane.stack.config import StackSettings
from segplane.stack.dev import Stack
from segplane.stack.preflight import claim_ports
from tests.e2e.conftest import PACE
from tests.support.pipeline.reading import find_all, paths, read_records
from tests.support.pipeline.sending import GrpcSender, Record, exports, make_records
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(1_200)]

BOUND = 2
HELD = BOUND * HELD_AT
RECORDS = 10
SEND_EVERY_SECS = 0.2
# A day with two segments waits for a merge, so all segments of the test are debt.
DEBT_PACE = {
    **PACE,
    "META_MERGE_DEBT_SEGMENTS": str(BOUND),
    "META_FLUSH_TIMEOUT_MS": "100",
    "NURSERY_INTERVAL_SECS": "0.1",
    "NURSERY_WAIT_SECS": "1",
    "JANITOR_MERGE_INTERVAL_SECS": "1",
}
# Midday, so that no record crosses into another UTC day.
MIDDAY_NANOS = 1_780_056_000 * 10**9
BEHIND = "segplane_merge_debt_segments"
THROTTLED = 'segplane_collector_throttled_exports_total{limit="merge_debt"}'


@dataclass
class Stream:
    """A sender at an even pace, which repeats an export until it is acknowledged."""

    sender: GrpcSender
    acknowledged: list[Record] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    end: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        number = 0
        while not self.end.is_set():
            records = make_records("logs", RECORDS, f"export {number}", MIDDAY_NANOS)
            number += 1
            for part, payload in exports(records):
                self._send(part, payload)
            self.end.wait(SEND_EVERY_SECS)

    def _send(self, part: list[Record], payload: bytes) -> None:
        # Refused records are sent until they are taken, even after the end, so that none is lost.
        while True:
            try:
                if self.sender.send("logs", payload):
                    self.acknowledged += part
                    return
            except grpc.RpcError as error:
                if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                    raise
                self.refusals.append(error.details() or "")
            self.end.wait(SEND_EVERY_SECS)


@pytest.fixture
def ports() -> dict[str, int]:
    return claim_ports({"meta": 0, "collector": 0})


@pytest.fixture
def stack(database_url: str, ports: dict[str, int]) -> Iterator[Stack]:
    """Start all processes but a merge worker: the janitor plans merges that nobody takes."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-e2e-"))
    metrics = {f"{name.upper()}_METRICS_PORT": str(port) for name, port in ports.items()}
    settings = StackSettings(
        data_dir=folder,
        meta_port=0,
        otlp_grpc_port=0,
        otlp_http_port=0,
        gateway_port=0,
        database_url=database_url,
        inherited={**os.environ, **DEBT_PACE, **metrics},
    )
    try:
        with Stack(settings, print, parts=("collector", "nursery", "janitor")) as running:
            yield running
    finally:
        for path in sorted((folder / "logs").glob("*.log")):
            print(f"--- {path.name}")
            print("\n".join(path.read_text(errors="replace").splitlines()[-30:]))
        shutil.rmtree(folder, ignore_errors=True)


def metric(port: int, name: str) -> float:
    """Read one figure of a process, 0 = not shown yet."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as reply:
        lines = reply.read().decode().splitlines()
    return next((float(line.split()[-1]) for line in lines if line.startswith(f"{name} ")), 0.0)


def shown(stack: Stack) -> str:
    """Run `segplane datasets show`."""
    options = ["datasets", "show", "web", "--meta-address", stack.settings.meta_address]
    done = CliRunner().invoke(app, options)
    assert done.exit_code == 0, done.output
    return done.output


def check_records(stack: Stack, client: MetaClient, stream: Stream) -> None:
    """Each acknowledged record is there once."""
    expected = Counter(stream.acknowledged)
    wait_until(
        lambda: sum(s.number_of_events for s in find_all(client, "web")) >= expected.total(),
        "all records are merged",
        tick=stack.check,
        seconds=500,
    )
    root = stack.settings.data_dir / "objects"
    assert read_records(paths(root, find_all(client, "web"))) == expected


def test_flushes_grow_then_exports_are_held_until_a_merge_worker_runs(
    stack: Stack, ports: dict[str, int]
) -> None:
    wait_for = partial(wait_until, tick=stack.check, seconds=500, poll_secs=0.2)
    # Events of each segment in the order in which they became visible.
    sizes: dict[str, int] = {}
    with MetaClient(stack.settings.meta_address) as client:
        client.catalog.CreateDataset(CreateDatasetRequest(name="web"))
        request = CreateIngestTokenRequest(name="web", dataset_name="web")
        token = client.ingest_token.CreateIngestToken(request).plaintext_token
        stream = Stream(GrpcSender(stack.settings.otlp_grpc_address, token))
        thread = threading.Thread(target=stream.run, daemon=True)

        def look() -> int:
            sizes.update({s.id: s.number_of_events for s in find_all(client, "web")})
            return len(sizes)

        thread.start()
        wait_for(lambda: look() > 0 and metric(ports["meta"], BEHIND) > 0, "merges are behind")
        # Of less than the second bound: this slows no sender.
        assert look() < HELD
        assert stream.refusals == []
        assert "flushes are larger and later" in shown(stack)
        wait_for(lambda: look() >= 0 and stream.refusals != [], "exports are held")

        assert look() >= HELD
        events = list(sizes.values())
        assert median(events[HELD - 5 : HELD]) > 2 * median(events[:7]), events
        assert "segments of dataset web wait for a merge" in stream.refusals[0]
        assert "exports are held" in shown(stack)
        assert metric(ports["meta"], BEHIND) >= HELD
        wait_for(lambda: metric(ports["collector"], THROTTLED) > 0, "the collector counts them")

        stack.start_parts("merge_worker")
        wait_for(lambda: metric(ports["meta"], BEHIND) == 0, "merges have caught up")
        assert "wait for one" not in shown(stack)
        # The collector asks meta some seconds later.
        wait_for(partial(_passes, stream), "exports pass again")
        stream.end.set()
        thread.join(60)
        assert not thread.is_alive()

        check_records(stack, client, stream)
    log = (stack.log_dir / "meta.log").read_text()
    assert "merges_behind" in log
    assert "merges_caught_up" in log


def _passes(stream: Stream) -> bool:
    """Whether twenty exports pass without a refusal."""
    refused, taken = len(stream.refusals), len(stream.acknowledged)
    wait_until(
        lambda: len(stream.refusals) > refused or len(stream.acknowledged) >= taken + 20 * RECORDS,
        "the sender goes on",
        seconds=120,
    )
    return len(stream.refusals) == refused
