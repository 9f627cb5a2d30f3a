"""All that metas serve at once: exports through a collector, merges, queries and a pin."""

import itertools
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self
from uuid import uuid4

from meta.client import MetaClient
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.common_pb2 import SegmentInfo
from meta.v1.ingest_token_pb2 import CreateIngestTokenRequest
from meta.v1.operations_pb2 import PinVersionRequest, ReleasePinRequest, RenewPinRequest
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest
from segments.keys import join_key
from segments.parquet.reader import read_segment
from segments.store.interface import ObjectStore
from tests.support.collector.exports import log_export
from tests.support.collector.process import CollectorProcess, Stub
from tests.support.nursery.drivers import nursery
from tests.support.waiting import wait_until

SENDERS = 2
PIN_SECS = 60
DATASET = "web"


@contextmanager
def collector_process(**settings: str) -> Iterator[CollectorProcess]:
    """Run a collector until it is ready, and kill it at the end."""
    environment = {
        **os.environ,
        "COLLECTOR_GRPC_BIND": "127.0.0.1:0",
        "COLLECTOR_HTTP_BIND": "127.0.0.1:0",
        **settings,
    }
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "collector"],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    running = CollectorProcess(process)
    threading.Thread(target=running.read_log, daemon=True).start()
    try:
        running.wait_for("ready")
        yield running
    finally:
        running.kill()


class Traffic:
    """Callers that go on from `with` to its end, each in a thread; keeps every failure."""

    def __init__(self, client: MetaClient, collector: CollectorProcess, store: ObjectStore) -> None:
        self._client = client
        self._collector = collector
        self._store = store
        self._stop = threading.Event()
        self._acknowledged: list[list[str]] = [[] for _ in range(SENDERS)]
        self._done = Counter[str]()
        self.slowest_secs: dict[str, float] = {}
        self.failures: list[str] = []
        client.catalog.CreateDataset(CreateDatasetRequest(name=DATASET))
        self._secret = client.ingest_token.CreateIngestToken(
            CreateIngestTokenRequest(name="t", dataset_name=DATASET)
        ).plaintext_token
        self._pin_id = str(uuid4())
        client.operations.PinVersion(
            PinVersionRequest(
                pin_id=self._pin_id, owner="traffic", dataset_name=DATASET, lease_secs=PIN_SECS
            )
        )
        self._nursery = nursery(client)
        self._threads = [
            threading.Thread(target=self._send, args=(number,), daemon=True)
            for number in range(SENDERS)
        ]
        for name, call in (
            ("query", lambda: self.segments()),
            ("lease", self._renew),
            ("merge", self._nursery.cycle),
        ):
            thread = threading.Thread(target=self._repeat, args=(name, call), daemon=True)
            self._threads.append(thread)

    def go_on(self, exports: int, secs: float = 0.0) -> None:
        """Wait until each sender had so many exports acknowledged, and each other call one more."""
        counts = [len(sent) for sent in self._acknowledged]
        done, until = Counter(self._done), time.monotonic() + secs

        def is_done() -> bool:
            pairs = zip(counts, self._acknowledged, strict=True)
            have_sent = all(len(sent) >= count + exports for count, sent in pairs)
            names = ("query", "lease", "merge")
            have_called = all(self._done[name] > done[name] for name in names)
            is_over = time.monotonic() >= until and have_sent and have_called
            return bool(self.failures) or is_over

        wait_until(is_done, f"{exports} exports of each sender, and a call of each other")
        assert not self.failures, self.failures

    def read_all(self) -> Counter[str]:
        """Merge what was sent and read it."""
        expected = sum(len(sent) for sent in self._acknowledged)

        def read() -> Counter[str]:
            self._nursery.cycle()
            bodies: Counter[str] = Counter()
            for segment in self.segments():
                where = segment.cloud_object_key
                key = join_key(where.prefix.prefix, where.key)
                for table in read_segment(self._store, key).values():
                    bodies.update(map(str, table["body"].to_pylist()))
            return bodies

        wait_until(lambda: read().total() >= expected, "all is merged", poll_secs=0.5)
        return read()

    def sent(self) -> Counter[str]:
        """The bodies of all acknowledged records."""
        return Counter(itertools.chain.from_iterable(self._acknowledged))

    def segments(self) -> list[SegmentInfo]:
        """Every segment of the dataset."""
        request = FindSegmentsRequest(dataset_names=[DATASET], limit=1_000)
        found: list[SegmentInfo] = []
        while True:
            reply = self._client.segment_lookup.FindSegments(request)
            found += reply.segments
            if not reply.page.next_cursor:
                return found
            request.cursor = reply.page.next_cursor

    def _renew(self) -> None:
        self._client.operations.RenewPin(RenewPinRequest(pin_id=self._pin_id, lease_secs=PIN_SECS))

    def _send(self, number: int) -> None:
        with self._collector.stub() as stub:
            self._repeat("export", lambda: self._export(stub, number))

    def _export(self, stub: Stub, number: int) -> None:
        body = f"{number}-{len(self._acknowledged[number])}"
        # Once more after each answer that tells to, as senders do.
        stub.send(self._secret, log_export(body))
        self._acknowledged[number].append(body)

    def _repeat(self, name: str, call: Callable[[], object]) -> None:
        while not self._stop.wait(0.05):
            began = time.monotonic()
            try:
                call()
            except Exception as error:  # noqa: BLE001 - whatever it is, the test shows it
                self.failures.append(f"{name} after {time.monotonic() - began:.1f} s: {error!r}")
                return
            self._done[name] += 1
            took_secs = time.monotonic() - began
            self.slowest_secs[name] = max(self.slowest_secs.get(name, 0.0), took_secs)

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(120)
        if error is None:
            assert not self.failures, self.failures
            self._client.operations.ReleasePin(ReleasePinRequest(pin_id=self._pin_id))
