"""Ingest of a dataset: a sender, a collector process and a nursery that merges what arrives."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from meta.client import MetaClient
from meta.process.shutdown import Shutdown
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest
from meta.v1.nursery_pb2 import GetIngestStreamsRequest, IngestStreamInfo
from nursery.loop import RunTasks
from nursery.serving import Cycles
from segments.signals import SIGNALS, Signal
from tests.support.collector.process import CollectorProcess
from tests.support.gateway.shop import DAY_0
from tests.support.meta.segments import DAY
from tests.support.nursery.drivers import nursery
from tests.support.pipeline.sending import GrpcSender, Record, exports, make_records
from tests.support.waiting import wait_until

RECORDS_EACH = 20
PAUSE_SECS = 0.1
DRAIN_SECS = 60.0


@dataclass
class Ingest:
    """Records that were acknowledged so far; `error` is what ended the sender before its time."""

    client: MetaClient
    collector: CollectorProcess
    cycles: Cycles
    acknowledged: list[Record] = field(default_factory=list)
    error: BaseException | None = None
    sender: threading.Thread = field(default_factory=threading.Thread)
    _is_over: threading.Event = field(default_factory=threading.Event)

    def check(self) -> None:
        """Raise what went wrong in the sender, the collector or the nursery."""
        error = self.error or self.cycles.error
        if error is not None:
            raise error

    def has_failed(self) -> bool:
        """Whether `check` would raise."""
        return bool(self.error or self.cycles.error)

    def merged(self) -> int:
        """Count the baby segments whose records are visible."""
        return sum(d.merged_offset + 1 for one in self._streams() for d in one.datasets)

    def send(self, address: str, token: str) -> None:
        """Export records of all signals until stopped, each until it is acknowledged."""
        try:
            sender = GrpcSender(address, token)
            for signal, part, payload in _batches():
                wait_until(partial(sender.send, signal, payload), "an export is acknowledged")
                self.acknowledged += part
                if self._is_over.wait(PAUSE_SECS):
                    return
        except BaseException as error:  # noqa: BLE001 - shown by the test's own thread
            self.error = error

    def end(self) -> None:
        """End the sender and the collector; return when the nursery has merged all they sent."""
        self.stop_sending()
        self.check()
        assert self.collector.terminate() == 0, self.collector.lines
        wait_until(lambda: self.has_failed() or self._is_merged(), "every baby segment is merged")
        self.check()

    def stop_sending(self) -> None:
        """Let the sender end after its current export, and wait for it."""
        self._is_over.set()
        self.sender.join()

    def _is_merged(self) -> bool:
        return all(
            dataset.merged_offset >= stream.committed_offset
            for stream in self._streams()
            for dataset in stream.datasets
        )

    def _streams(self) -> list[IngestStreamInfo]:
        return list(
            self.client.nursery.GetIngestStreamsForNursery(GetIngestStreamsRequest()).streams
        )


@contextmanager
def ingest(address: str, dataset: str, run_tasks: RunTasks) -> Iterator[Ingest]:
    """Send records to a dataset of the meta at an address, and merge them, from enter to exit."""
    with MetaClient(address) as client, _collector(address) as collector:
        created = client.ingest_token.CreateIngestToken(
            CreateIngestTokenRequest(name="sender", dataset_name=dataset)
        )
        merger, shutdown = nursery(client, run_tasks), Shutdown()
        state = Ingest(client, collector, Cycles(merger, _no_check, PAUSE_SECS, shutdown))
        target = (f"127.0.0.1:{collector.grpc_port}", created.plaintext_token)
        state.sender = threading.Thread(target=state.send, args=target, name="sender")
        state.cycles.start()
        state.sender.start()
        try:
            yield state
        finally:
            state.stop_sending()
            shutdown.request()
            has_ended = state.cycles.end(DRAIN_SECS, _no_check)
            merger.close()
        assert has_ended, f"the nursery runs {DRAIN_SECS:.0f} s after its end"
    state.check()


def _batches() -> Iterator[tuple[Signal, list[Record], bytes]]:
    """Exports of all signals without end, on days that the questions ask about."""
    for number in count():
        start = DAY_0 + number % 3 * DAY
        for signal in SIGNALS:
            records = make_records(signal, RECORDS_EACH, f"sent-{number}", start)
            for part, payload in exports(records):
                yield signal, part, payload


def _no_check() -> None:
    """Do nothing for a session that the tests' own fixture ends."""


@contextmanager
def _collector(meta_address: str) -> Iterator[CollectorProcess]:
    environment = {
        **os.environ,
        "COLLECTOR_META_ADDRESS": meta_address,
        "COLLECTOR_GRPC_BIND": "127.0.0.1:0",
        "COLLECTOR_HTTP_BIND": "127.0.0.1:0",
        "COLLECTOR_ID": "collector-of-the-shop",
    }
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "collector"],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    collector = CollectorProcess(process)
    threading.Thread(target=collector.read_log, daemon=True).start()
    try:
        collector.wait_for("ready")
        yield collector
    finally:
        if process.poll() is None:
            collector.kill()
