"""One OTLP export: validated by parsing once, counted, and known by its digest.

The bytes that came are the bytes that are stored: nothing here serializes. The official classes
decide what is valid and count; times are read through `otlp_times.proto`, at a third of the cost of
a walk. (Of a payload where one record has its time twice and another has none, which no library
writes, the hull is that of the times on the wire. It is advice to the nursery's planner.)
"""

from collections.abc import Callable
from dataclasses import dataclass

from blake3 import blake3
from google.protobuf.message import DecodeError
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from collector.refusal import malformed
from segments.combined import Signal
from segments.v1.otlp_times_pb2 import LogTimes, SpanTimes

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
    # A collision would be a loss, so it is cryptographic; BLAKE3 takes a quarter of SHA-256's time.
    digest = blake3(f"{token_id}\0{signal}\0".encode())
    digest.update(payload)
    return digest.digest(DIGEST_BYTES)


def _read_logs(payload: bytes) -> Content:
    scopes = [
        scope
        for resource in LogsData.FromString(payload).resource_logs
        for scope in resource.scope_logs
    ]
    num_records = sum(len(scope.log_records) for scope in scopes)
    content = _content(num_records, _merged_log_times(payload))
    if not content.has_untimed:
        return content
    return _content(
        num_records, [_event_time(record) for scope in scopes for record in scope.log_records]
    )


def _merged_log_times(payload: bytes) -> list[int]:
    try:
        return LogTimes.FromString(payload).resource_logs.scope_logs.log_records.time_unix_nano[:]
    except DecodeError:
        # Legal where the official classes see an unknown field and this schema a damaged list.
        return []


def _event_time(record: LogRecord) -> int:
    """When a log happened; one that does not say so happened when it was observed."""
    if 0 < record.time_unix_nano < _TIME_END:
        return record.time_unix_nano
    return record.observed_time_unix_nano


def _read_traces(payload: bytes) -> Content:
    scopes = [
        scope
        for resource in TracesData.FromString(payload).resource_spans
        for scope in resource.scope_spans
    ]
    num_records = sum(len(scope.spans) for scope in scopes)
    content = _content(num_records, _merged_span_times(payload))
    if not content.has_untimed:
        return content
    return _content(
        num_records, [span.start_time_unix_nano for scope in scopes for span in scope.spans]
    )


def _merged_span_times(payload: bytes) -> list[int]:
    try:
        spans = SpanTimes.FromString(payload).resource_spans.scope_spans.spans
        return spans.start_time_unix_nano[:]
    except DecodeError:
        return []


def _read_metrics(payload: bytes) -> Content:
    times = [
        time
        for resource in MetricsData.FromString(payload).resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for time in _point_times(metric)
    ]
    return _content(len(times), times)


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


def _content(num_records: int, times: list[int]) -> Content:
    """Span times that may be unordered, absent, or not as many as there are records."""
    # Sorted rather than min and max: records come mostly in order, and that is three times faster.
    times.sort()
    if times and (times[0] == 0 or times[-1] >= _TIME_END):
        times = [time for time in times if 0 < time < _TIME_END]
    hull = (times[0], times[-1]) if times else None
    return Content(num_records, hull, len(times) != num_records)


_READERS: dict[Signal, Callable[[bytes], Content]] = {
    "logs": _read_logs,
    "metrics": _read_metrics,
    "traces": _read_traces,
}
