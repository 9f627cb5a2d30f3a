"""The soak's exports are what they say: valid OTLP whose records are numbered."""

from collections.abc import Callable, Iterable, Sequence

import pytest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from benchmarks.soak.load import NUMBER, templates

NOW_NANOS = 1_780_056_000 * 10**9
EXPORT_BYTES = 16 * 1024
Record = tuple[int, Sequence[KeyValue]]


def _logs(payload: bytes) -> Iterable[Record]:
    scope = LogsData.FromString(payload).resource_logs[0].scope_logs[0]
    return [(r.time_unix_nano, r.attributes) for r in scope.log_records]


def _spans(payload: bytes) -> Iterable[Record]:
    scope = TracesData.FromString(payload).resource_spans[0].scope_spans[0]
    return [(r.end_time_unix_nano, r.attributes) for r in scope.spans]


def _points(payload: bytes) -> Iterable[Record]:
    scope = MetricsData.FromString(payload).resource_metrics[0].scope_metrics[0]
    return [(r.time_unix_nano, r.attributes) for r in scope.metrics[0].gauge.data_points]


@pytest.mark.parametrize(
    ("signal", "read"), [("logs", _logs), ("traces", _spans), ("metrics", _points)]
)
def test_records_are_numbered_on_from_the_first(
    signal: str, read: Callable[[bytes], Iterable[Record]]
) -> None:
    template = templates(EXPORT_BYTES)[signal]

    payload = template.fill(5_000, NOW_NANOS)

    assert len(payload) == pytest.approx(EXPORT_BYTES, rel=0.05)
    numbers, times = [], []
    for time_nanos, attributes in read(payload):
        by_key = {a.key: a.value.string_value for a in attributes}
        numbers.append(int(by_key[NUMBER]))
        times.append(time_nanos)
    assert numbers == list(range(5_000, 5_000 + template.records))
    assert all(0 <= t - NOW_NANOS < 10**9 for t in times)


def test_no_two_exports_are_alike() -> None:
    template = templates(EXPORT_BYTES)["metrics"]

    assert template.fill(0, NOW_NANOS) != template.fill(template.records, NOW_NANOS)
