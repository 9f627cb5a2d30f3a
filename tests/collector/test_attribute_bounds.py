"""Attributes without end: what is beyond the bounds is cut, counted and told; no record is lost."""

from typing import Any
from urllib.request import urlopen

import pytest
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from collector.otlp.attribute_bounds import AttributeBounds, cut, may_exceed
from segments.otlp.content import read_facts
from segments.otlp.official import OFFICIAL_CLASSES
from segments.signals import Signal
from tests.support.collector.ground import Ground
from tests.support.collector.process import StartCollector

BOUNDS = AttributeBounds(attributes_max=16, name_bytes_max=32, value_bytes_max=64)


def text(name: str, value: str = "v") -> KeyValue:
    return KeyValue(key=name, value=AnyValue(string_value=value))


def logs(*attributes: KeyValue) -> LogsData:
    data = LogsData()
    record = data.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=5)
    record.body.string_value = "b" * 500
    record.attributes.extend(attributes)
    return data


def within(data: Message, signal: Signal = "logs", bounds: AttributeBounds = BOUNDS) -> Any:
    """Return what a collector keeps of an export, by the same checks."""
    payload = data.SerializeToString()
    if read_facts(signal, payload).part_bytes_max <= bounds.part_bytes_min:
        return data
    if not may_exceed(signal, payload, bounds):
        return data
    return OFFICIAL_CLASSES[signal].FromString(cut(signal, payload, bounds).payload)


def record_of(data: LogsData) -> LogRecord:
    return data.resource_logs[0].scope_logs[0].log_records[0]


@pytest.mark.parametrize(
    "attributes",
    [
        [text(f"name-{number}") for number in range(16)],
        [text("n" * 32)],
        # Text of 62 bytes and its frame.
        [text("n", "v" * 62)],
    ],
    ids=["as many", "as long a name", "as long a value"],
)
def test_what_is_at_the_bounds_keeps_its_bytes(attributes: list[KeyValue]) -> None:
    data = logs(*attributes)

    kept = cut("logs", data.SerializeToString(), BOUNDS)

    assert kept.payload == data.SerializeToString()
    assert (kept.cut, kept.warning) == ((0, 0), "")


def test_attributes_beyond_the_number_are_dropped_and_counted_in_the_record() -> None:
    data = logs(*(text(f"name-{number}") for number in range(17)))
    record_of(data).dropped_attributes_count = 3

    kept = record_of(within(data))

    assert [each.key for each in kept.attributes] == [f"name-{number}" for number in range(16)]
    assert kept.dropped_attributes_count == 4
    assert kept.body == record_of(data).body


def test_an_attribute_with_too_long_a_name_is_dropped_and_counted() -> None:
    kept = record_of(within(logs(text("n" * 33), text("kept"))))

    assert [each.key for each in kept.attributes] == ["kept"]
    assert kept.dropped_attributes_count == 1


def test_a_long_text_is_shortened_between_characters_and_not_counted_as_dropped() -> None:
    kept = record_of(within(logs(text("n", "ä" * 40 + "x"), text("odd", "x" + "ä" * 40))))

    assert [each.value.string_value for each in kept.attributes] == ["ä" * 32, "x" + "ä" * 31]
    assert kept.dropped_attributes_count == 0


def test_bytes_are_shortened_and_a_long_list_is_dropped() -> None:
    values = AnyValue()
    values.array_value.values.extend([AnyValue(string_value="v" * 10)] * 10)
    raw = KeyValue(key="raw", value=AnyValue(bytes_value=b"\xff" * 65))

    kept = record_of(within(logs(raw, KeyValue(key="list", value=values))))

    assert [(each.key, len(each.value.bytes_value)) for each in kept.attributes] == [("raw", 64)]
    assert kept.dropped_attributes_count == 1


def test_resources_and_scopes_have_the_same_bounds() -> None:
    data = logs()
    resource = data.resource_logs[0]
    resource.resource.attributes.extend([text("r" * 33), text("kept")])
    resource.scope_logs[0].scope.attributes.extend([text("s" * 33), text("kept")])

    kept = within(data).resource_logs[0]

    for part in (kept.resource, kept.scope_logs[0].scope):
        assert [each.key for each in part.attributes] == ["kept"]
        assert part.dropped_attributes_count == 1


def test_events_and_links_of_spans_have_the_same_bounds() -> None:
    data = TracesData()
    span = data.resource_spans.add().scope_spans.add().spans.add(name="s" * 100)
    for part in (span.events.add(), span.links.add()):
        part.attributes.extend([text("n" * 33), text("kept", "v" * 100)])

    (kept,) = within(data, "traces").resource_spans[0].scope_spans[0].spans

    for part in (kept.events[0], kept.links[0]):
        assert [(each.key, len(each.value.string_value)) for each in part.attributes] == [
            ("kept", 64)
        ]
        assert part.dropped_attributes_count == 1


def test_data_points_and_exemplars_have_the_same_bounds_and_stay() -> None:
    data = MetricsData()
    metric = data.resource_metrics.add().scope_metrics.add().metrics.add(name="m")
    point = metric.gauge.data_points.add(as_int=7)
    point.attributes.extend([text("n" * 33), text("kept", "v" * 100)])
    point.exemplars.add().filtered_attributes.append(text("n" * 33))

    (kept,) = within(data, "metrics").resource_metrics[0].scope_metrics[0].metrics

    (point,) = kept.gauge.data_points
    assert point.as_int == 7
    assert [(each.key, len(each.value.string_value)) for each in point.attributes] == [("kept", 64)]
    assert not point.exemplars[0].filtered_attributes


def test_records_within_the_bounds_keep_their_bytes_beside_one_that_is_cut() -> None:
    data = logs(text("n" * 33))
    small = data.resource_logs[0].scope_logs[0].log_records.add(time_unix_nano=6)
    small.attributes.append(text("kept"))

    kept = within(data).resource_logs[0].scope_logs[0].log_records

    assert kept[1] == small
    assert not kept[0].attributes


@pytest.mark.parametrize("signal", ["logs", "traces"])
def test_a_large_record_with_few_attributes_takes_no_process(signal: Signal) -> None:
    if signal == "logs":
        data: Message = logs(text("kept"))
    else:
        traces = TracesData()
        span = traces.resource_spans.add().scope_spans.add().spans.add(name="s" * 100)
        span.events.add(name="e").attributes.append(text("kept"))
        data = traces

    payload = data.SerializeToString()

    assert read_facts(signal, payload).part_bytes_max > BOUNDS.part_bytes_min
    assert not may_exceed(signal, payload, BOUNDS)


def test_without_bounds_nothing_is_examined() -> None:
    unbounded, data = AttributeBounds(), logs(*[text("n" * 9_000, "v" * 90_000)] * 3)

    assert within(data, bounds=unbounded) == data
    assert cut("logs", data.SerializeToString(), unbounded).cut == (0, 0)


def test_a_collector_cuts_counts_and_tells_and_stores_every_record(
    ground: Ground, start_collector: StartCollector, free_tcp_port: int
) -> None:
    data = logs(*(text(f"name-{number:05}") for number in range(10_000)))
    scope = data.resource_logs[0].scope_logs[0]
    scope.log_records.add().attributes.append(text("long", "v" * 1_000_000))
    scope.log_records.add().attributes.append(text("n" * 65_536))
    scope.log_records.add().attributes.append(text("kept"))
    collector = start_collector(COLLECTOR_METRICS_PORT=str(free_tcp_port))

    reply = collector.export(ground.new_token(), data.SerializeToString())

    told = ExportLogsServiceResponse.FromString(reply).partial_success
    assert told.rejected_log_records == 0
    assert told.error_message == (
        "8977 attributes were dropped and 1 values shortened: the collector keeps 1024 attributes"
        " of a record, names of 8192 bytes and values of 65536 bytes"
    )
    (baby,) = ground.committed_babies()
    stored = LogsData.FromString(b"".join(baby.parts[0].slices))
    records = stored.resource_logs[0].scope_logs[0].log_records
    assert [len(record.attributes) for record in records] == [1024, 1, 0, 1]
    assert [record.dropped_attributes_count for record in records] == [8976, 0, 1, 0]
    assert len(records[1].attributes[0].value.string_value) == 65_536
    assert records[3] == scope.log_records[3]
    page = urlopen(f"http://127.0.0.1:{free_tcp_port}/metrics", timeout=5).read().decode()
    assert 'segplane_collector_cut_attributes_total{cut="dropped",signal="logs"} 8977.0' in page
    assert 'segplane_collector_cut_attributes_total{cut="shortened",signal="logs"} 1.0' in page
