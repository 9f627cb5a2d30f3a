"""A load of OTLP log exports from its own process: unique payloads, n in flight."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass

import grpc
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData, SeverityNumber

EXPORT = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
WARM_UP_SECS = 1.0
MARK = b"<16 bytes apart>"


@dataclass(frozen=True, slots=True)
class OtlpLoad:
    """OTLP to send: exports of about `export_bytes`, `in_flight` at once over all connections.

    Each `sampled_every`-th export is of a trace that its sender records; 0 = none is.
    """

    target: str
    token: str
    export_bytes: int
    in_flight: int
    seconds: float
    connections: int = 1
    sampled_every: int = 0
    warm_up_secs: float = WARM_UP_SECS


@dataclass(frozen=True, slots=True)
class Accepted:
    """Exports acknowledged after the warm-up.

    `refused`, `total_bytes` and `total_exports` count the whole run.
    """

    megabytes_per_second: float
    refused: int
    p99_ms: float
    total_bytes: int
    total_exports: int


def run(load: OtlpLoad) -> Accepted:
    """Run the load in a child process."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.harness.otlp_load"],
        input=json.dumps(asdict(load)),
        capture_output=True,
        text=True,
        check=True,
    )
    return Accepted(**json.loads(done.stdout))


def log_payload(size_bytes: int, rnd: random.Random) -> bytes:
    """An export of ordinary log records, with one place to make copies differ."""
    data = LogsData()
    resource = data.resource_logs.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "checkout"
    scope = resource.scope_logs.add()
    written = 0
    while written < size_bytes:
        record = scope.log_records.add()
        record.time_unix_nano = time.time_ns()
        record.observed_time_unix_nano = record.time_unix_nano
        record.severity_number = SeverityNumber.SEVERITY_NUMBER_INFO
        record.severity_text = "INFO"
        record.body.string_value = (
            f"GET /items/{rnd.randrange(10**6)} took {written} us " + "-" * 60
        )
        for key in ("http.method", "http.route", "user.id", "request.id"):
            record.attributes.add(key=key).value.string_value = rnd.randbytes(8).hex()
        record.trace_id, record.span_id = rnd.randbytes(16), rnd.randbytes(8)
        written += record.ByteSize() + 3
    scope.log_records[0].body.string_value = MARK.decode()
    return data.SerializeToString()


class _Sender:
    def __init__(self, load: OtlpLoad) -> None:
        self._load = load
        rnd = random.Random(7)
        payloads = [log_payload(load.export_bytes, rnd) for _ in range(8)]
        self._halves = [payload.split(MARK, 1) for payload in payloads]
        self._free = threading.Semaphore(load.in_flight)
        self._lock = threading.Lock()
        self._counted_from = 0.0
        self._until = 0.0
        self._bytes = self._total_bytes = self._refused = self._accepted = 0
        self._latencies: list[float] = []

    def send(self) -> Accepted:
        options = [("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
        seed = os.urandom(4).hex().encode()
        with ExitStack() as stack:
            calls: list[grpc.UnaryUnaryMultiCallable[bytes, bytes]] = [
                stack.enter_context(
                    grpc.insecure_channel(self._load.target, options=options)
                ).unary_unary(EXPORT)
                for _ in range(self._load.connections)
            ]
            headers = (("authorization", f"Bearer {self._load.token}"),)
            self._counted_from = time.perf_counter() + self._load.warm_up_secs
            self._until = self._counted_from + self._load.seconds
            number = 0
            while (began := time.perf_counter()) < self._until:
                self._free.acquire()
                head, tail = self._halves[number % len(self._halves)]
                payload = b"".join((head, seed, b"%08x" % number, tail))
                call = calls[number % len(calls)]
                future = call.future(payload, timeout=60, metadata=(*headers, *self._trace(number)))
                future.add_done_callback(self._noted(began, len(payload)))
                number += 1
            for _ in range(self._load.in_flight):
                self._free.acquire()
        self._latencies.sort()
        p99 = self._latencies[len(self._latencies) * 99 // 100] if self._latencies else 0.0
        rate = self._bytes / self._load.seconds / 1e6
        return Accepted(rate, self._refused, 1e3 * p99, self._total_bytes, self._accepted)

    def _trace(self, number: int) -> Sequence[tuple[str, str]]:
        if not self._load.sampled_every or number % self._load.sampled_every:
            return ()
        return (("traceparent", f"00-{os.urandom(16).hex()}-{os.urandom(8).hex()}-01"),)

    def _noted(self, began: float, size_bytes: int) -> Callable[[grpc.Future[bytes]], None]:
        def note(future: grpc.Future[bytes]) -> None:
            ended = time.perf_counter()
            with self._lock:
                if future.exception() is not None:
                    self._refused += 1
                else:
                    self._total_bytes += size_bytes
                    self._accepted += 1
                    if self._counted_from <= ended < self._until:
                        self._bytes += size_bytes
                        self._latencies.append(ended - began)
            self._free.release()

        return note


if __name__ == "__main__":
    print(json.dumps(asdict(_Sender(OtlpLoad(**json.load(sys.stdin))).send())))
