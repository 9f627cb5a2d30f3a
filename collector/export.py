"""One OTLP export: validated by parsing once, counted, and known by its digest.

The bytes that came are the bytes that are stored: nothing here serializes.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from google.protobuf.message import DecodeError
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from collector.refusal import malformed
from segments.combined import Signal

DIGEST_BYTES = 16
# A time of 0 or from here on counts as absent: it would not fit a signed column.
_TIME_END = 1 << 63


@dataclass(frozen=True, slots=True)
class Content:
    """What an export holds: its records and the hull of their event times in nanoseconds.

    (start_time, end_time) is None where no record has a time of its own.
    """

    num_records: int
    times: tuple[int, int] | None
    has_untimed: bool

    def hull(self, received_at: int) -> tuple[int, int]:
        """The hull, with records that carry no time placed at the time of arrival."""
        if self.times is None:
            return received_at, received_at
        if not self.has_untimed:
            return self.times
        return min(self.times[0], received_at), max(self.times[1], received_at)


def read_content(signal: Signal, payload: bytes) -> Content:
    """Parse an export request; raises Refused where the official classes refuse it."""
    try:
        return _READERS[signal](payload)
    except DecodeError as error:
        raise malformed(f"payload is not an OTLP {signal} export request") from error


def digest_of(token_id: str, signal: Signal, payload: bytes) -> bytes:
    """What two sends of one export have in common and no other export has."""
    digest = hashlib.sha256(f"{token_id}\0{signal}\0".encode())
    digest.update(payload)
    return digest.digest()[:DIGEST_BYTES]


class _Tally:
    """Counts records and spans their times."""

    __slots__ = ("end", "num_records", "num_timed", "start")

    def __init__(self) -> None:
        self.num_records = 0
        self.num_timed = 0
        self.start = _TIME_END
        self.end = 0

    def add(self, times: list[int]) -> None:
        """Add one record per time; absent times count as records only."""
        if not times:
            return
        self.num_records += len(times)
        if min(times) == 0 or max(times) >= _TIME_END:
            times = [time for time in times if 0 < time < _TIME_END]
        if times:
            self.num_timed += len(times)
            self.start = min(self.start, min(times))
            self.end = max(self.end, max(times))

    def content(self) -> Content:
        times = (self.start, self.end) if self.num_timed else None
        return Content(self.num_records, times, self.num_timed < self.num_records)


def _read_logs(payload: bytes) -> Content:
    tally = _Tally()
    for resource in LogsData.FromString(payload).resource_logs:
        for scope in resource.scope_logs:
            times = [record.time_unix_nano for record in scope.log_records]
            if times and (min(times) == 0 or max(times) >= _TIME_END):
                times = _observed_times(scope.log_records)
            tally.add(times)
    return tally.content()


def _observed_times(records: Iterable[LogRecord]) -> list[int]:
    """Event times where some are absent: a log then happened when it was observed."""
    return [
        record.time_unix_nano
        if 0 < record.time_unix_nano < _TIME_END
        else record.observed_time_unix_nano
        for record in records
    ]


def _read_traces(payload: bytes) -> Content:
    tally = _Tally()
    for resource in TracesData.FromString(payload).resource_spans:
        for scope in resource.scope_spans:
            tally.add([span.start_time_unix_nano for span in scope.spans])
    return tally.content()


def _read_metrics(payload: bytes) -> Content:
    tally = _Tally()
    for resource in MetricsData.FromString(payload).resource_metrics:
        for scope in resource.scope_metrics:
            # One list for all: most metrics hold a point or two.
            tally.add([time for metric in scope.metrics for time in _point_times(metric)])
    return tally.content()


def _point_times(metric: Metric) -> list[int]:
    match metric.WhichOneof("data"):
        case "gauge":
            return [point.time_unix_nano for point in metric.gauge.data_points]
        case "sum":
            return [point.time_unix_nano for point in metric.sum.data_points]
        case "histogram":
            return [point.time_unix_nano for point in metric.histogram.data_points]
        case "exponential_histogram":
            return [point.time_unix_nano for point in metric.exponential_histogram.data_points]
        case "summary":
            return [point.time_unix_nano for point in metric.summary.data_points]
        case _:
            return []


_READERS: dict[Signal, Callable[[bytes], Content]] = {
    "logs": _read_logs,
    "metrics": _read_metrics,
    "traces": _read_traces,
}
