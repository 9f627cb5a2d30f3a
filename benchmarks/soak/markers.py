"""Export sent -> visible through FindSegments: markers, and a watcher that looks for them.

A marker is one log record with its own time, the moment it was sent, in its own dataset.
They go one after the other through one collector, whose stream keeps their order, so a segment
whose time bounds cover a marker's time holds the marker; `count_is_right` says so once more.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import grpc
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from benchmarks.soak.load import METHODS
from meta.client import MetaClient
from meta.errors import MetaError
from meta.v1.common_pb2 import TimeRange
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest
from segplane.read.lookup import find_all

DATASET = "markers"
SEND_EVERY_SECS = 1.0
LOOK_EVERY_SECS = 0.05
EXPORT_TIMEOUT_SECS = 40.0


@dataclass(frozen=True, slots=True)
class Freshness:
    """Seconds from sent to visible; `unseen` markers were acknowledged and never found."""

    seen: int
    unseen: int
    p50_secs: float
    p99_secs: float
    worst_secs: float


class Markers:
    """Sends markers and looks for them, from enter until `stop_sending` and exit."""

    def __init__(self, client: MetaClient, collector: str, token: str) -> None:
        self._client = client
        self._channel = grpc.insecure_channel(collector)
        self._metadata = (("authorization", f"Bearer {token}"),)
        self._lock = threading.Lock()
        self._pending: list[int] = []
        self._delays: list[float] = []
        self._sent = 0
        self._failed: list[str] = []
        self._is_sending = threading.Event()
        self._is_looking = threading.Event()
        self._threads = (
            threading.Thread(target=self._send_all, daemon=True),
            threading.Thread(target=self._look, daemon=True),
        )

    def __enter__(self) -> Self:
        self._is_sending.set()
        self._is_looking.set()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_sending.clear()
        self._is_looking.clear()
        for thread in self._threads:
            thread.join()
        self._channel.close()

    @property
    def sent(self) -> int:
        """Markers sent and acknowledged."""
        return self._sent

    @property
    def failed(self) -> list[str]:
        """Reasons for which markers were not acknowledged."""
        return self._failed

    def stop_sending(self) -> None:
        """Send no more, go on looking."""
        self._is_sending.clear()
        self._threads[0].join()

    def is_all_seen(self) -> bool:
        """True once no marker is missing."""
        with self._lock:
            return not self._pending

    def count_is_right(self) -> bool:
        """True if the dataset's live segments hold as many records as markers were acknowledged."""
        request = FindSegmentsRequest(dataset_names=[DATASET])
        found = sum(info.number_of_events for info in find_all(self._client, request))
        return found == self._sent

    def result(self) -> Freshness:
        """Result until now."""
        with self._lock:
            delays, unseen = sorted(self._delays), len(self._pending)
        if not delays:
            return Freshness(0, unseen, 0.0, 0.0, 0.0)
        p99 = delays[min(len(delays) - 1, len(delays) * 99 // 100)]
        return Freshness(len(delays), unseen, delays[len(delays) // 2], p99, delays[-1])

    def _send_all(self) -> None:
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(
            METHODS["logs"]
        )
        answers: list[grpc.Future[bytes]] = []
        while self._is_sending.is_set():
            now_nanos = time.time_ns()
            with self._lock:
                self._pending.append(now_nanos)
            future = call.future(
                _marker(now_nanos), timeout=EXPORT_TIMEOUT_SECS, metadata=self._metadata
            )
            future.add_done_callback(self._noted(now_nanos))
            answers.append(future)
            # Neither in step with the collector's flushes nor with the nursery's cycles.
            time.sleep(random.uniform(0.5, 1.5) * SEND_EVERY_SECS)
            answers = [answer for answer in answers if not answer.done()]
        for answer in answers:
            answer.exception()

    def _noted(self, time_nanos: int) -> Callable[[grpc.Future[bytes]], None]:
        def note(future: grpc.Future[bytes]) -> None:
            error = future.exception()
            with self._lock:
                if error is None:
                    self._sent += 1
                    return
                self._failed.append(str(error))
                self._pending = [t for t in self._pending if t != time_nanos]

        return note

    def _look(self) -> None:
        while self._is_looking.is_set():
            time.sleep(LOOK_EVERY_SECS)
            with self._lock:
                pending = list(self._pending)
            if not pending:
                continue
            times = TimeRange(start_time=pending[0], end_time=pending[-1] + 1)
            request = FindSegmentsRequest(time_range=times, dataset_names=[DATASET])
            try:
                bounds = [info.time_range for info in find_all(self._client, request)]
            except MetaError:
                continue
            now_nanos = time.time_ns()
            seen = {t for t in pending if any(h.start_time <= t <= h.end_time for h in bounds)}
            with self._lock:
                self._pending = [t for t in self._pending if t not in seen]
                self._delays += [(now_nanos - t) / 1e9 for t in sorted(seen)]


def _marker(time_nanos: int) -> bytes:
    data = LogsData()
    record = data.resource_logs.add().scope_logs.add().log_records.add()
    record.time_unix_nano = time_nanos
    record.body.string_value = "marker"
    return data.SerializeToString()
