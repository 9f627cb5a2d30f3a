"""The records of one run in a folder, and a process that sends them over OTLP/gRPC.

`exports.bin` has, for each export, its signal (0 = logs, 1 = traces; one byte), its length (four
bytes, little-endian) and its bytes.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import grpc

from benchmarks.cost.clickhouse_rows import ClickHouseRows
from benchmarks.cost.records import LOGS_OF_EXPORT, exports
from segments.signals import TRAITS

_METHODS = [TRAITS[signal].grpc_method for signal in sorted(TRAITS) if signal in ("logs", "traces")]
_HEAD = struct.Struct("<BI")
_EXPORT_BYTES = 236_000
_RETRIED = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED}
_RETRY_SECS = 0.2
_PAUSE_POLL_SECS = 0.01


@dataclass(frozen=True, slots=True)
class Corpus:
    """Records that were written: exports, records and bytes of OTLP."""

    exports: int
    logs: int
    spans: int
    otlp_bytes: int

    @property
    def gigabytes(self) -> float:
        """Bytes of OTLP, in units of 10^9."""
        return self.otlp_bytes / 1e9


@dataclass(frozen=True, slots=True)
class SendOrder:
    """Order to send the records; `mb_per_sec` 0 = as fast as `in_flight` exports are answered."""

    path: str
    target: str
    token: str
    in_flight: int
    mb_per_sec: float = 0.0


@dataclass(frozen=True, slots=True)
class Sent:
    """Acknowledged exports and bytes, and the seconds that they took."""

    exports: int
    otlp_bytes: int
    seconds: float
    retries: int


def write_corpus(folder: Path, megabytes: float, start_nanos: int, span_nanos: int) -> Corpus:
    """Write `exports.bin` and the Arrow streams for ClickHouse; the same seed for every run."""
    count = max(60, int(megabytes * 1e6 / _EXPORT_BYTES))
    logs = spans = size_bytes = 0
    with (folder / "exports.bin").open("wb") as file, ClickHouseRows(folder) as rows:
        for export in exports(count, start_nanos, span_nanos):
            payload = export.payload()
            file.write(_HEAD.pack(0 if export.logs else 1, len(payload)))
            file.write(payload)
            rows.add(export)
            logs, spans = logs + len(export.logs), spans + len(export.spans)
            size_bytes += len(payload)
    assert logs > LOGS_OF_EXPORT
    return Corpus(count, logs, spans, size_bytes)


def send(order: SendOrder, tick: Callable[[], object]) -> Sent:
    """Send all exports from its own process; `tick` is called while it runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.cost.load"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(asdict(order)))
    process.stdin.close()
    while process.poll() is None:
        tick()
        time.sleep(_PAUSE_POLL_SECS * 10)
    if process.returncode:
        raise RuntimeError(f"the sender ended with code {process.returncode}")
    return Sent(**json.loads(process.stdout.read()))


def payloads(path: Path) -> Iterator[tuple[int, bytes]]:
    """Read the exports: the number of the signal, and its bytes."""
    with path.open("rb") as file:
        while head := file.read(_HEAD.size):
            signal, length = _HEAD.unpack(head)
            yield signal, file.read(length)


class _Sender:
    def __init__(self, order: SendOrder) -> None:
        self._order = order
        self._free = threading.Semaphore(order.in_flight)
        self._lock = threading.Lock()
        self._error: BaseException | None = None
        self._exports = self._bytes = self._retries = 0

    def run(self) -> Sent:
        headers = (("authorization", f"Bearer {self._order.token}"),)
        began, sent_bytes = time.monotonic(), 0
        with grpc.insecure_channel(self._order.target) as channel:
            calls: list[grpc.UnaryUnaryMultiCallable[bytes, bytes]] = [
                channel.unary_unary(method) for method in _METHODS
            ]
            for signal, payload in payloads(Path(self._order.path)):
                if rate := self._order.mb_per_sec:
                    # The schedule of an open load, not a wait for an event.
                    time.sleep(max(0.0, began + sent_bytes / (1e6 * rate) - time.monotonic()))
                sent_bytes += len(payload)
                self._free.acquire()
                threading.Thread(
                    target=self._send, args=(calls[signal], payload, headers), daemon=True
                ).start()
            for _ in range(self._order.in_flight):
                self._free.acquire()
        if self._error is not None:
            raise self._error
        return Sent(self._exports, self._bytes, time.monotonic() - began, self._retries)

    def _send(
        self,
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes],
        payload: bytes,
        headers: tuple[tuple[str, str], ...],
    ) -> None:
        try:
            while True:
                try:
                    call(payload, timeout=60, metadata=headers)
                    break
                except grpc.RpcError as error:
                    if error.code() not in _RETRIED:
                        raise
                    with self._lock:
                        self._retries += 1
                    time.sleep(_RETRY_SECS)
            with self._lock:
                self._exports += 1
                self._bytes += len(payload)
        except grpc.RpcError as error:
            self._error = error
        finally:
            self._free.release()


if __name__ == "__main__":
    print(json.dumps(asdict(_Sender(SendOrder(**json.load(sys.stdin))).run())))
