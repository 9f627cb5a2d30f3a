"""100,000 datasets and tokens of which 100 send, against 100 of which all do, by CPU.

Each figure is the CPU time of Postgres, meta and collector together with that of this process, in
which the nursery, the janitor's calls and the senders run. The two installations take turns, and
each has its own Postgres.

- *poll*: a nursery's poll for changes while nothing changed.
- *start*: the reads of processes at their start: the poll of everything, and the configuration.
- *registration*: a collector that was restarted registers its tokens again.
- *export*: one export for each dataset that sends, up to its acknowledgement, and the nursery's
  cycles that merge and reap them.
- *idle*: ten seconds without exports, with a cycle of the nursery each second, and one call of the
  janitor that plans merges.
"""

import random
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import grpc

from benchmarks.harness.crowded import Crowded, crowded, register_all
from benchmarks.harness.otlp_load import EXPORT, log_payload
from benchmarks.harness.processes import cpu_seconds
from benchmarks.harness.results import Result, compare
from dataplane.location import ask_location
from dataplane.stream_poll import read_unmerged
from meta.v1.janitor_pb2 import CreateMergeTasksRequest
from nursery.config import Settings
from nursery.execution.execute import Budget, execute
from nursery.execution.job import TaskOutcome
from nursery.loop import Nursery
from nursery.planning.tasks import Task
from segments.location import Stores
from segments.store.open import open_stores

FEW, MANY = 100, 100_000
SENDING = 100
ROUNDS = 3
POLLS, STARTS, EXPORTS, IDLE_SECS = 50, 4, 2, 10.0
EXPORT_BYTES = 4_096
SENDERS = 16
BAR = 1.3
_BUDGET = Budget(64 * 2**20, 256 * 2**20)
_NURSERY = Settings(wait_secs=0.0, batch_bytes_min=1, reap_interval_secs=0.0)


class _Installation:
    """One installation and the processes that work on it."""

    def __init__(self, stack: ExitStack, total: int) -> None:
        self._crowded: Crowded = stack.enter_context(crowded(total, SENDING))
        client = self._crowded.client
        self._nursery = Nursery(client, _NURSERY, _run_here, 1)
        # As in production, where streams are tended each ten seconds.
        self._idling = Nursery(client, Settings(), _run_here, 1)
        channel = stack.enter_context(grpc.insecure_channel(self._crowded.otlp_address))
        self._export: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(EXPORT)
        self._senders = stack.enter_context(ThreadPoolExecutor(SENDERS))
        self._seen = 0
        self._random = random.Random(7)

    def cpu(self) -> float:
        """CPU seconds of everything that works for this installation."""
        return sum(map(cpu_seconds, self._crowded.pids)) + time.process_time()

    def poll(self) -> None:
        """Poll for changes."""
        for _ in range(POLLS):
            self._seen = read_unmerged(self._crowded.client, self._seen).response_seq

    def start(self) -> None:
        """Read what a nursery, a collector and a worker read at their start."""
        for _ in range(STARTS):
            read_unmerged(self._crowded.client, 0)
            ask_location(self._crowded.client, "bench")

    def register(self) -> None:
        """Register the tokens that send."""
        register_all(self._crowded.client, self._crowded.secrets)

    def export(self) -> None:
        """Send to each dataset, merge and reap."""
        for _ in range(EXPORTS):
            list(self._senders.map(self._send, self._crowded.secrets))
            while self._nursery.cycle():
                pass
        # Reaps what the cycle before it merged.
        self._nursery.cycle()

    def idle(self) -> None:
        """Let time pass."""
        until = time.monotonic() + IDLE_SECS
        self._crowded.client.janitor.CreateMergeTasks(CreateMergeTasksRequest())
        ask_location(self._crowded.client, "bench")
        while time.monotonic() < until:
            self._idling.cycle()
            time.sleep(1.0)

    def _send(self, secret: str) -> None:
        payload = log_payload(EXPORT_BYTES, self._random)
        headers = (("authorization", f"Bearer {secret}"),)
        self._export(payload, timeout=60, metadata=headers, wait_for_ready=True)


@dataclass(frozen=True, slots=True)
class _Line:
    """One figure: its name, a unit, and the call that is measured."""

    name: str
    unit: str
    call: Callable[[_Installation], None]


_LINES = (
    _Line("poll", f"CPU ms of {POLLS} polls", _Installation.poll),
    _Line("start", f"CPU ms of {STARTS} starts", _Installation.start),
    _Line("registration", f"CPU ms of {SENDING} registrations", _Installation.register),
    _Line("export", f"CPU ms of {EXPORTS} exports a dataset, merged", _Installation.export),
    _Line("idle", f"CPU ms of {IDLE_SECS:g} s", _Installation.idle),
)


def run() -> list[Result]:
    """Measure both installations in turn."""
    with ExitStack() as stack:
        few, many = (_Installation(stack, total) for total in (FEW, MANY))
        return [_measured(line, few, many) for line in _LINES]


def _measured(line: _Line, few: _Installation, many: _Installation) -> Result:
    times: dict[int, list[float]] = {0: [], 1: []}
    for round_number in range(ROUNDS + 1):
        for index, one in enumerate((few, many)):
            began = one.cpu()
            line.call(one)
            if round_number:
                times[index].append(1e3 * (one.cpu() - began))
    in_few, in_many = (min(times[index]) for index in (0, 1))
    print(f"  {line.name}: {in_few:.0f} and {in_many:.0f} {line.unit}", flush=True)
    return compare(
        f"many_datasets_{line.name}",
        in_many,
        in_few,
        reference_name=f"{FEW} datasets and tokens",
        unit=f"{line.unit}, {MANY:,} datasets and tokens",
        bar=BAR,
        higher_is_better=False,
    )


def _run_here(tasks: Sequence[Task], where: Stores) -> Iterable[TaskOutcome]:
    """Run a nursery's tasks in this process: Spark is the same however many datasets there are."""
    for index, task in enumerate(tasks):
        with tempfile.TemporaryDirectory() as folder:
            yield index, execute(task, open_stores(where), _BUDGET, Path(folder))
