"""OTLP/JSON becomes the protobuf that the same exporter would have sent."""

import json

import pytest
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from collector.otlp.json import to_protobuf
from collector.refusal import Refused
from meta.errors import Code
from segments.signals import Signal

TRACE_ID = "5b8efff798038103d269b633813fc60c"
SPAN_ID = "eee19b7ec3c1b174"


def test_ids_are_hex_in_either_case_and_enums_are_numbers() -> None:
    span = {
        "traceId": TRACE_ID.upper(),
        "spanId": SPAN_ID,
        "parentSpanId": "",
        "name": "n",
        "kind": 2,
        "startTimeUnixNano": "1544712660000000000",
        "links": [{"traceId": TRACE_ID, "spanId": SPAN_ID}],
    }
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()

    found = TracesData.FromString(to_protobuf("traces", body).payload).resource_spans[0]

    read = found.scope_spans[0].spans[0]
    assert read.trace_id.hex() == TRACE_ID
    assert read.span_id.hex() == SPAN_ID
    assert read.parent_span_id == b""
    assert read.kind == Span.SPAN_KIND_SERVER
    assert read.start_time_unix_nano == 1544712660000000000
    assert read.links[0].trace_id.hex() == TRACE_ID


def test_exemplars_and_bytes_and_numbers_keep_their_values() -> None:
    point = {
        "asInt": "-5",
        "timeUnixNano": 3,
        "exemplars": [{"traceId": TRACE_ID, "spanId": SPAN_ID, "asDouble": "NaN"}],
        "attributes": [{"key": "traceId", "value": {"bytesValue": "AAEC"}}],
    }
    metric = {"name": "m", "gauge": {"dataPoints": [point]}}
    body = json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}).encode()

    found = MetricsData.FromString(to_protobuf("metrics", body).payload).resource_metrics[0]

    read = found.scope_metrics[0].metrics[0].gauge.data_points[0]
    assert read.as_int == -5
    assert read.exemplars[0].trace_id.hex() == TRACE_ID
    assert read.attributes[0].key == "traceId"
    assert read.attributes[0].value.bytes_value == b"\x00\x01\x02"


def test_unknown_members_are_ignored_wherever_they_are() -> None:
    record = {"body": {"stringValue": "x"}, "future": {"traceId": "not hex"}, "severityNumber": 9}
    body = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}], "z": 1})

    found = LogsData.FromString(to_protobuf("logs", body.encode()).payload)

    assert MessageToDict(found.resource_logs[0].scope_logs[0].log_records[0]) == {
        "body": {"stringValue": "x"},
        "severityNumber": "SEVERITY_NUMBER_INFO",
    }


@pytest.mark.parametrize(
    ("signal", "body"),
    [
        pytest.param("logs", b"", id="empty"),
        pytest.param("logs", b"{", id="cut off"),
        pytest.param("logs", b"[]", id="a list"),
        pytest.param("logs", b"null", id="null"),
        pytest.param("logs", b'{"resourceLogs": 5}', id="wrong type"),
        pytest.param("logs", b'{"resourceLogs": [5]}', id="wrong type within"),
        pytest.param("logs", b"\xff\xfe{}", id="no UTF-8"),
        pytest.param("logs", b'{"resourceLogs": [' * 200_000, id="nested too deeply"),
        pytest.param(
            "logs",
            b'{"resourceLogs":[{"schemaUrl":"\\ud800"}]}',
            id="half a surrogate pair",
        ),
        pytest.param(
            "logs",
            b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"xyz"}]}]}]}',
            id="an id that is not a hex",
        ),
        pytest.param(
            "logs",
            b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"1e99"}]}]}]}',
            id="a time out of range",
        ),
    ],
)
def test_what_is_not_an_export_is_malformed(signal: Signal, body: bytes) -> None:
    with pytest.raises(Refused) as caught:
        to_protobuf(signal, body)

    assert caught.value.refusal.code is Code.INVALID_ARGUMENT


def test_values_nested_beyond_the_parsers_limit_are_malformed() -> None:
    value: object = {"stringValue": "x"}
    for _ in range(150):
        value = {"arrayValue": {"values": [value]}}
    record = {"body": value}
    body = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}).encode()

    with pytest.raises(Refused):
        to_protobuf("logs", body)


def test_a_value_nested_too_deeply_is_refused_with_the_limit() -> None:
    value: dict[str, object] = {"stringValue": "x"}
    for _ in range(60):
        value = {"arrayValue": {"values": [value]}}
    records = [{"body": value}, {"body": {"stringValue": "kept"}}]
    body = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).encode()

    converted = to_protobuf("logs", body)

    assert converted.num_rejected == 1
    assert "nested too deeply: more than 100 messages within one another" in converted.cause


@pytest.mark.parametrize("level", ["resourceMetrics", "scopeMetrics"])
def test_each_data_point_of_a_rejected_resource_or_scope_is_counted(level: str) -> None:
    points = {"gauge": {"dataPoints": [{"asInt": "1"}, {"asInt": "2"}]}}
    kept = {"metrics": [points]}
    lost: dict[str, object] = {"metrics": [points, {"name": "without points"}]}
    if level == "resourceMetrics":
        tree = [{"scopeMetrics": [kept]}, {"resource": 5, "scopeMetrics": [lost]}]
    else:
        tree = [{"scopeMetrics": [kept, lost | {"scope": 5}]}]

    converted = to_protobuf("metrics", json.dumps({"resourceMetrics": tree}).encode())

    assert converted.num_rejected == 3
