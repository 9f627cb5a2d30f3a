"""A steady OTLP load over gRPC from its own process: all signals, every record numbered.

Told what to do as JSON on stdin; writes how far it is as one line of JSON every few seconds, the
last of them with `is_done`. Records of one dataset and signal are numbered 0, 1, 2, ...; an export
without an answer is sent again, byte for byte, until it is acknowledged.
"""

from __future__ import annotations

import json
import os
import queue
import re
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field

import grpc
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData, SeverityNumber
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData, NumberDataPoint
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from segments.signals import TRAITS

METHODS = {str(signal): row.grpc_method for signal, row in TRAITS.items()}
NUMBER = "soak.number"
RETRY_CODES = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}
RETRY_SECS = 0.5
LAST_ANSWERS_SECS = 120.0
REPORT_SECS = 2.0
IN_FLIGHT_MAX = 512
_MARKS = {"number": b"<number 12b>", "time": b"<time 8>", "id": b"<trace id 16 b.>"}
_ROUTES = [f"/{part}/{n}" for part in ("items", "carts", "orders", "users") for n in range(8)]


@dataclass(frozen=True, slots=True)
class SoakLoad:
    """Records to send; `tokens` are by dataset."""

    target: str
    tokens: Mapping[str, str]
    mb_per_sec: float
    seconds: float
    export_bytes: int = 64 * 1024


@dataclass(slots=True)
class Progress:
    """Progress until now; `records` are by "dataset/signal"."""

    records: dict[str, int] = field(default_factory=dict)
    exports: int = 0
    acknowledged: int = 0
    acknowledged_bytes: int = 0
    resent: int = 0
    refused: list[str] = field(default_factory=list)
    # How far behind its schedule the load was at worst.
    late_secs: float = 0.0
    is_done: bool = False


class Template:
    """An export with holes: number, times and ids of each record."""

    def __init__(self, payload: bytes) -> None:
        holes = b"|".join(re.escape(mark) for mark in _MARKS.values())
        self._parts = re.split(b"(" + holes + b")", payload)
        self._holes = {
            name: [i for i, part in enumerate(self._parts) if part == mark]
            for name, mark in _MARKS.items()
        }
        self.records = len(self._holes["number"])

    def fill(self, first: int, now_nanos: int) -> bytes:
        """The export whose records are numbered from `first`."""
        parts = self._parts.copy()
        for number, place in enumerate(self._holes["number"], start=first):
            parts[place] = b"%012d" % number
        for number, place in enumerate(self._holes["time"]):
            parts[place] = struct.pack("<Q", now_nanos + 1_000 * number)
        noise = os.urandom(16 * len(self._holes["id"]))
        for number, place in enumerate(self._holes["id"]):
            parts[place] = noise[16 * number : 16 * number + 16]
        return b"".join(parts)


def templates(size_bytes: int) -> dict[str, Template]:
    """One export of about this size for each signal."""
    made: dict[str, Template] = {}
    for signal, make in (("logs", _logs), ("traces", _spans), ("metrics", _points)):
        # Each kind's records differ in size: ask for one, then for as many as fit.
        count = max(1, size_bytes // (len(make(65)) - len(make(64))))
        made[signal] = Template(make(count))
    return made


def _attributes(number: int) -> list[KeyValue]:
    texts = {
        NUMBER: _MARKS["number"].decode(),
        "http.route": _ROUTES[number % len(_ROUTES)],
        "http.method": ("GET", "PUT", "POST")[number % 3],
    }
    made = []
    for key, text in texts.items():
        made.append(KeyValue(key=key))
        made[-1].value.string_value = text
    return made


_TIME = int.from_bytes(_MARKS["time"], "little")


def _logs(count: int) -> bytes:
    data = LogsData()
    resource = data.resource_logs.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "checkout"
    records = [
        LogRecord(
            time_unix_nano=_TIME,
            severity_number=SeverityNumber.SEVERITY_NUMBER_INFO,
            severity_text="INFO",
            trace_id=_MARKS["id"],
            attributes=_attributes(number),
        )
        for number in range(count)
    ]
    for number, record in enumerate(records):
        record.body.string_value = f"GET {_ROUTES[number % 7]} took {number * 37 % 4001} us"
    resource.scope_logs.add().log_records.extend(records)
    return data.SerializeToString()


def _spans(count: int) -> bytes:
    data = TracesData()
    resource = data.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "cart"
    spans = [
        Span(
            name=f"GET {_ROUTES[number % len(_ROUTES)]}",
            trace_id=_MARKS["id"],
            span_id=struct.pack("<Q", number + 1),
            start_time_unix_nano=_TIME,
            end_time_unix_nano=_TIME,
            attributes=_attributes(number),
        )
        for number in range(count)
    ]
    resource.scope_spans.add().spans.extend(spans)
    return data.SerializeToString()


def _points(count: int) -> bytes:
    data = MetricsData()
    resource = data.resource_metrics.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "billing"
    metric = resource.scope_metrics.add().metrics.add(name="requests", unit="1")
    points = [
        NumberDataPoint(time_unix_nano=_TIME, as_int=number, attributes=_attributes(number))
        for number in range(count)
    ]
    metric.gauge.data_points.extend(points)
    return data.SerializeToString()


@dataclass(frozen=True, slots=True)
class _Export:
    dataset: str
    signal: str
    payload: bytes


class _Sender:
    def __init__(self, load: SoakLoad) -> None:
        self._load = load
        self._templates = templates(load.export_bytes)
        self._free = threading.Semaphore(IN_FLIGHT_MAX)
        self._lock = threading.Lock()
        self._again: queue.SimpleQueue[_Export] = queue.SimpleQueue()
        self._reported = 0.0
        self.progress = Progress()

    def run(self) -> None:
        with grpc.insecure_channel(self._load.target) as channel:
            calls: dict[str, grpc.UnaryUnaryMultiCallable[bytes, bytes]] = {
                signal: channel.unary_unary(method) for signal, method in METHODS.items()
            }
            self._send_all(calls)
            deadline = time.monotonic() + LAST_ANSWERS_SECS
            while not self._is_answered() and time.monotonic() < deadline:
                self._resend(calls)
                self._report()
                time.sleep(0.1)
        self.progress.is_done = True
        self._report(is_forced=True)

    def _send_all(self, calls: Mapping[str, grpc.UnaryUnaryMultiCallable[bytes, bytes]]) -> None:
        kinds = [(dataset, signal) for dataset in self._load.tokens for signal in METHODS]
        began, sent_bytes = time.monotonic(), 0
        while True:
            due = began + sent_bytes / (1e6 * self._load.mb_per_sec)
            if due >= began + self._load.seconds:
                return
            now = time.monotonic()
            if due > now:
                time.sleep(due - now)
            else:
                self.progress.late_secs = max(self.progress.late_secs, now - due)
            dataset, signal = kinds[self.progress.exports % len(kinds)]
            name = f"{dataset}/{signal}"
            first = self.progress.records.get(name, 0)
            template = self._templates[signal]
            export = _Export(dataset, signal, template.fill(first, time.time_ns()))
            self.progress.records[name] = first + template.records
            self.progress.exports += 1
            sent_bytes += len(export.payload)
            self._send(calls, export)
            self._resend(calls)
            self._report()

    def _send(
        self, calls: Mapping[str, grpc.UnaryUnaryMultiCallable[bytes, bytes]], export: _Export
    ) -> None:
        self._free.acquire()
        headers = (("authorization", f"Bearer {self._load.tokens[export.dataset]}"),)
        future = calls[export.signal].future(export.payload, timeout=40, metadata=headers)
        future.add_done_callback(self._noted(export))

    def _noted(self, export: _Export) -> Callable[[grpc.Future[bytes]], None]:
        def note(future: grpc.Future[bytes]) -> None:
            error = future.exception()
            with self._lock:
                if error is None:
                    self.progress.acknowledged += 1
                    self.progress.acknowledged_bytes += len(export.payload)
                elif isinstance(error, grpc.RpcError) and error.code() in RETRY_CODES:
                    self.progress.resent += 1
                    self._again.put(export)
                else:
                    self.progress.refused.append(f"{export.dataset}/{export.signal}: {error}")
            self._free.release()

        return note

    def _resend(self, calls: Mapping[str, grpc.UnaryUnaryMultiCallable[bytes, bytes]]) -> None:
        if self._again.empty():
            return
        time.sleep(RETRY_SECS)
        for _ in range(self._again.qsize()):
            self._send(calls, self._again.get())

    def _is_answered(self) -> bool:
        with self._lock:
            answered = self.progress.acknowledged + len(self.progress.refused)
        return answered == self.progress.exports

    def _report(self, is_forced: bool = False) -> None:
        now = time.monotonic()
        if is_forced or now - self._reported >= REPORT_SECS:
            self._reported = now
            with self._lock:
                print(json.dumps(asdict(self.progress)), flush=True)


if __name__ == "__main__":
    _Sender(SoakLoad(**json.loads(sys.stdin.readline()))).run()
