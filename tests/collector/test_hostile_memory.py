"""Memory of all processes of a collector under each kind of hostile sender."""

import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.harness import hostile_load
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground, GroundToken
from tests.support.collector.http import JSON, post
from tests.support.collector.process import CollectorProcess, StartCollector

MIB = 1024 * 1024
TOTAL_BYTES_MAX = 96 * MIB
SECONDS = 2.0
# A conversion takes 30 seconds at most.
TURN_SECS = 90.0
JSON_EXPORT = b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"severityText":"INFO"}]}]}]}'
# As docs/collector.md states them.
PROCESS_BYTES_MAX = 2 * TOTAL_BYTES_MAX + 150 * MIB
CONVERSION_BYTES_MAX = 2048 * MIB


# Like others with what they send, or less of a burden; test_fairness.py stalls bodies as well.
RARE = ("busy", "damaged", "empty_records", "stalled_grpc", "stalled_http")


@pytest.mark.long
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.slow if kind in RARE else ())
        for kind in hostile_load.KINDS
    ],
)
def test_memory_stays_below_its_stated_bound_beside_a_hostile_sender(
    ground: Ground, start_collector: StartCollector, kind: str
) -> None:
    small, hostile = ground.new_token(), ground.new_token()
    collector = start_collector(
        COLLECTOR_BUFFER_SIZE_BYTES_MAX=str(TOTAL_BYTES_MAX),
    )
    load = hostile_load.HostileLoad(
        kind,
        f"127.0.0.1:{collector.grpc_port}",
        f"127.0.0.1:{collector.http_port}",
        hostile.token_secret,
    )

    with collector.stub() as stub, ExitStack() as stack:
        # A host that shows many unknown tokens is not asked for new ones, known ones it may show.
        stub.send(small.token_secret, log_export("first"))
        stack.enter_context(hostile_load.running(load))
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            # A busy machine may take longer to check a token's usage than an export waits.
            stub.send(small.token_secret, log_export(str(until)))
        if kind == "json":
            # Its turn comes once the conversion under way, the hostile sender's, has ended.
            answer = post(collector, JSON_EXPORT, json_headers(small), timeout=TURN_SECS)
            assert answer.status == 200, answer.body
        conversions = [peak_bytes(pid) for pid in children(collector)]
        peak = peak_bytes(collector.process.pid)

    assert peak < PROCESS_BYTES_MAX
    assert all(size_bytes < CONVERSION_BYTES_MAX for size_bytes in conversions)
    assert not conversions or kind in hostile_load.CONVERTED


def json_headers(token: GroundToken) -> dict[str, str]:
    return {"Authorization": f"Bearer {token.token_secret}", "Content-Type": JSON}


def children(collector: CollectorProcess) -> list[int]:
    """List the processes that a collector started."""
    tasks = Path(f"/proc/{collector.process.pid}/task").iterdir()
    return [int(pid) for task in tasks for pid in (task / "children").read_text().split()]


def peak_bytes(pid: int) -> int:
    """Most memory that a process ever had."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024
