"""OTLP/JSON is read strictly: a value of another type is never stored as something else."""

import base64
import json
import random
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from collector.otlp.faults import FAULTS_MAX, PATH_CHARS_MAX, TEXT_CHARS_MAX
from collector.otlp.json import to_protobuf
from collector.refusal import Refused
from segments.otlp.official import OFFICIAL_CLASSES
from segments.signals import SIGNALS, Signal
from tests.support.otlp.messages import fill

KEPT = {"body": {"stringValue": "kept"}}
RECORD = "resourceLogs[0].scopeLogs[0].logRecords[0]"
SPAN = "resourceSpans[0].scopeSpans[0].spans[0]"
POINT = "resourceMetrics[0].scopeMetrics[0].metrics[0].gauge.dataPoints[0]"
IDS = ("traceId", "spanId", "parentSpanId")


def logs(*records: Any, **resource: Any) -> bytes:
    tree = {"resourceLogs": [{"scopeLogs": [{"logRecords": list(records)}], **resource}]}
    return json.dumps(tree).encode()


def spans(*records: Any) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(records)}]}]}).encode()


def points(*records: Any) -> bytes:
    metrics = [{"name": "m", "gauge": {"dataPoints": list(records)}}]
    return json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]}).encode()


def attribute(value: Any) -> dict[str, Any]:
    return {"attributes": [{"key": "user", "value": value}]}


WRONG_IN_RECORDS = [
    pytest.param(attribute("jane"), ".attributes[0].value: found text", id="text for a value"),
    pytest.param(attribute(""), ".attributes[0].value: found an empty text", id="empty text"),
    pytest.param(attribute([]), ".attributes[0].value: found an empty list", id="empty list"),
    pytest.param(attribute(5), ".attributes[0].value: found a whole number", id="number"),
    pytest.param(attribute({"stringValue": 5}), ".stringValue: found a whole", id="5 as text"),
    pytest.param(attribute({"boolValue": "true"}), ".boolValue: found text", id="text for true"),
    pytest.param(attribute({"boolValue": 1}), ".boolValue: found a whole number", id="1 for true"),
    pytest.param(attribute({"intValue": "1_000"}), ".intValue: found text", id="underscore"),
    pytest.param(attribute({"intValue": "\u0663"}), ".intValue: found text", id="Arabic digit"),
    pytest.param(attribute({"intValue": " 5"}), ".intValue: found text", id="space"),
    pytest.param(attribute({"intValue": ""}), ".intValue: found an empty text", id="no digits"),
    pytest.param(attribute({"intValue": True}), ".intValue: found a boolean", id="true"),
    pytest.param(attribute({"intValue": 1.5}), ".intValue: found a number", id="fraction"),
    pytest.param(attribute({"intValue": 1e17}), ".intValue: found a number with a", id="inexact"),
    pytest.param(attribute({"intValue": 2**63}), ".intValue: found a whole number", id="2^63"),
    pytest.param(attribute({"intValue": "9" * 19}), ".intValue: found a whole number", id="10^19"),
    pytest.param(attribute({"intValue": "1e999"}), ".intValue: found text", id="exponent"),
    pytest.param(attribute({"doubleValue": "nan"}), ".doubleValue: found text", id="nan"),
    pytest.param(attribute({"doubleValue": "inf"}), ".doubleValue: found text", id="inf"),
    pytest.param(attribute({"doubleValue": "1_0.5"}), ".doubleValue: found text", id="1_0.5"),
    pytest.param(attribute({"doubleValue": "1e400"}), ".doubleValue: found a number", id="1e400"),
    pytest.param(attribute({"doubleValue": False}), ".doubleValue: found a boolean", id="false"),
    pytest.param(attribute({"bytesValue": "not base64!"}), ".bytesValue: found text", id="base64"),
    pytest.param(attribute({"bytesValue": "abcde"}), ".bytesValue: found base64", id="length"),
    pytest.param(attribute({"bytesValue": [1]}), ".bytesValue: found a list", id="bytes as a list"),
    pytest.param(attribute({"arrayValue": []}), ".arrayValue: found an empty list", id="array"),
    pytest.param(attribute({"kvlistValue": {"values": {}}}), ".values: found an empty", id="map"),
    pytest.param(attribute({"arrayValue": {"values": [None]}}), "[0]: found null", id="null"),
    pytest.param(
        attribute({"stringValue": "a", "intValue": 1}),
        ".value: found several kinds",
        id="two kinds",
    ),
    pytest.param({"attributes": {"user": "jane"}}, ".attributes: found an object", id="plain map"),
    pytest.param({"attributes": "jane"}, ".attributes: found text", id="text for attributes"),
    pytest.param({"attributes": [{"key": 5}]}, ".attributes[0].key: found a whole", id="key"),
    pytest.param({"body": "hello"}, ".body: found text", id="text for a body"),
    pytest.param({"severityNumber": "LOUD"}, ".severityNumber: found text", id="word"),
    pytest.param({"severityNumber": "info"}, ".severityNumber: found text", id="other case"),
    pytest.param({"severityNumber": 2**31}, ".severityNumber: found a whole", id="beyond 32 bits"),
    pytest.param({"severityText": 9}, ".severityText: found a whole number", id="number for text"),
    pytest.param({"timeUnixNano": "2026-11-28T09:30:00Z"}, ".timeUnixNano: found text", id="ISO"),
    pytest.param({"timeUnixNano": -1}, ".timeUnixNano: found a whole number", id="negative time"),
    pytest.param({"timeUnixNano": 2**64}, ".timeUnixNano: found a whole", id="beyond 64 bits"),
    pytest.param({"traceId": "W47/95gDgQPSabYzgT/GDA=="}, ".traceId: found text", id="base64 id"),
    pytest.param({"traceId": "abc"}, ".traceId: found text", id="odd digits"),
    pytest.param({"traceId": "ab cd"}, ".traceId: found text", id="space in an id"),
    pytest.param({"spanId": 5}, ".spanId: found a whole number", id="number for an id"),
    pytest.param({"flags": -1}, ".flags: found a whole number", id="negative flags"),
    pytest.param({"timeUnixNano": 1, "time_unix_nano": 2}, ": found timeUnixNano", id="two names"),
    pytest.param({"body": {"stringValue": "\ud800"}}, ".stringValue: found text", id="surrogate"),
    pytest.param("a record", ": found text", id="text for a record"),
    pytest.param([], ": found an empty list", id="list for a record"),
    pytest.param(None, ": found null", id="null record"),
]


@pytest.mark.parametrize(("wrong", "reason"), WRONG_IN_RECORDS)
def test_a_record_with_a_value_of_another_type_is_rejected_with_its_path(
    wrong: Any, reason: str
) -> None:
    converted = to_protobuf("logs", logs(wrong, KEPT))

    records = LogsData.FromString(converted.payload).resource_logs[0].scope_logs[0].log_records
    assert [record.body.string_value for record in records] == ["kept"]
    assert converted.num_rejected == 1
    assert f"({RECORD}" in converted.cause
    assert reason in converted.cause


@pytest.mark.parametrize(("wrong", "reason"), WRONG_IN_RECORDS)
def test_an_export_of_which_nothing_is_left_is_refused(wrong: Any, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        to_protobuf("logs", logs(wrong))

    assert f"({RECORD}" in refused.value.refusal.message
    assert reason in refused.value.refusal.message


@pytest.mark.parametrize(
    ("signal", "body", "place"),
    [
        ("traces", spans({"kind": "SERVER"}), f"{SPAN}.kind"),
        ("traces", spans({"status": "ok"}), f"{SPAN}.status"),
        ("traces", spans({"status": {"code": "ERROR"}}), f"{SPAN}.status.code"),
        ("traces", spans({"events": [{"timeUnixNano": "soon"}]}), f"{SPAN}.events[0].timeUnixNano"),
        ("traces", spans({"links": [{"traceId": "?"}]}), f"{SPAN}.links[0].traceId"),
        ("metrics", points({"asInt": "many"}), f"{POINT}.asInt"),
        ("metrics", points({"asInt": 1, "asDouble": 1.0}), POINT),
        ("metrics", points({"exemplars": [{"asDouble": ""}]}), f"{POINT}.exemplars[0].asDouble"),
    ],
)
def test_spans_and_points_are_read_as_strictly(signal: Signal, body: bytes, place: str) -> None:
    with pytest.raises(Refused, match="found") as refused:
        to_protobuf(signal, body)

    assert f"({place}: found " in refused.value.refusal.message


@pytest.mark.parametrize(
    "wrong",
    [
        {"resource": "x"},
        {"resource": ""},
        {"resource": []},
        {"resource": {"attributes": "x"}},
        {"schemaUrl": 5},
    ],
    ids=repr,
)
def test_a_wrong_resource_rejects_the_records_below_it(wrong: dict[str, Any]) -> None:
    good = json.loads(logs(KEPT))["resourceLogs"][0]
    bad = json.loads(logs({}, {}, **wrong))["resourceLogs"][0]
    body = json.dumps({"resourceLogs": [good, bad]}).encode()

    converted = to_protobuf("logs", body)

    assert len(LogsData.FromString(converted.payload).resource_logs) == 1
    assert converted.num_rejected == 2
    assert f"resourceLogs[1].{next(iter(wrong))}" in converted.cause


def test_a_wrong_scope_rejects_the_records_below_it() -> None:
    scopes = [{"scope": "x", "logRecords": [{}, {}, {}]}, {"logRecords": [KEPT]}]

    converted = to_protobuf("logs", json.dumps({"resourceLogs": [{"scopeLogs": scopes}]}).encode())

    assert len(LogsData.FromString(converted.payload).resource_logs[0].scope_logs) == 1
    assert converted.num_rejected == 3
    assert "resourceLogs[0].scopeLogs[0].scope: found text, expected an object" in converted.cause


def test_a_wrong_data_point_leaves_the_others_of_its_metric() -> None:
    converted = to_protobuf("metrics", points({"asInt": 1}, {"asInt": "x"}, {"asInt": 3}))

    metrics = OFFICIAL_CLASSES["metrics"].FromString(converted.payload)
    found = metrics.resource_metrics[0].scope_metrics[0].metrics[0].gauge.data_points  # type: ignore[attr-defined]
    assert [point.as_int for point in found] == [1, 3]
    assert converted.num_rejected == 1


def test_a_number_of_too_many_digits_rejects_its_record() -> None:
    body = logs(KEPT, {"body": {"intValue": 0}}).replace(b": 0", b": " + b"9" * 5_000)

    converted = to_protobuf("logs", body)

    assert converted.num_rejected == 1
    assert ".logRecords[1].body.intValue: found a number" in converted.cause


def test_a_member_that_comes_twice_rejects_its_record() -> None:
    twice = b'{"body": {"stringValue": "a", "stringValue": "b"}}'
    body = logs(KEPT, {}).replace(b"{}", twice)

    converted = to_protobuf("logs", body)

    assert converted.num_rejected == 1
    assert ".logRecords[1].body: found an object that has a member twice" in converted.cause


@pytest.mark.parametrize(
    ("written", "number"),
    [("SPAN_KIND_SERVER", 2), ("2", 2), (2, 2), (2.0, 2), (77, 77), (-1, -1)],
)
def test_enumerations_are_numbers_or_exact_names(written: Any, number: int) -> None:
    payload = to_protobuf("traces", spans({"kind": written})).payload

    span: Span = TracesData.FromString(payload).resource_spans[0].scope_spans[0].spans[0]
    assert span.kind == number


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("-9223372036854775808", -(2**63)),
        (2**63 - 1, 2**63 - 1),
        ("1e3", 1000),
        ("5.0", 5),
        (4.0, 4),
    ],
)
def test_whole_numbers_are_taken_in_every_form_of_proto3_json(written: Any, number: int) -> None:
    payload = to_protobuf("logs", logs({"body": {"intValue": written}})).payload

    record = LogsData.FromString(payload).resource_logs[0].scope_logs[0].log_records[0]
    assert record.body.int_value == number


@pytest.mark.parametrize("written", ["/+8=", "_-8=", "/+8", "_-8"])
def test_bytes_are_base64_of_either_alphabet(written: str) -> None:
    payload = to_protobuf("logs", logs({"body": {"bytesValue": written}})).payload

    record = LogsData.FromString(payload).resource_logs[0].scope_logs[0].log_records[0]
    assert record.body.bytes_value == b"\xff\xef"


def _as_otlp_json(tree: Any) -> Any:
    """Write ids in hexadecimal, as OTLP/JSON asks."""
    if isinstance(tree, list):
        return [_as_otlp_json(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    return {
        name: base64.b64decode(value).hex() if name in IDS else _as_otlp_json(value)
        for name, value in tree.items()
    }


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize("as_numbers", [True, False], ids=["numbers", "words"])
def test_what_the_protobuf_library_writes_is_read_back_to_the_byte(
    signal: Signal, as_numbers: bool
) -> None:
    for seed in range(150):
        message = fill(OFFICIAL_CLASSES[signal](), random.Random(seed))
        tree = _as_otlp_json(MessageToDict(message, use_integers_for_enums=as_numbers))
        if not tree or not any(tree.values()):
            continue
        try:
            converted = to_protobuf(signal, json.dumps(tree).encode())
        except Refused as refused:
            # Containers without records, of which nothing is rejected.
            raise AssertionError(seed, refused.refusal.message) from refused
        assert converted.num_rejected == 0, converted.cause
        assert converted.payload == message.SerializeToString(), seed


def test_the_first_hundred_records_are_named_and_all_others_counted() -> None:
    wrong_scope = {"scope": "x", "logRecords": [KEPT] * 7}
    records = [KEPT, *[{"traceId": "x"}] * (FAULTS_MAX + 1)]
    scopes = [{"logRecords": records}, wrong_scope]

    converted = to_protobuf("logs", json.dumps({"resourceLogs": [{"scopeLogs": scopes}]}).encode())

    assert converted.num_rejected == FAULTS_MAX + 1 + 7
    assert converted.cause.count("logRecords[") == FAULTS_MAX
    assert converted.cause.endswith("; and 8 more)")


def test_the_text_of_many_faults_is_bounded_and_counts_all_others() -> None:
    value: dict[str, Any] = {"stringValue": 5}
    for _ in range(20):
        value = {"arrayValue": {"values": [value]}}
    num_records = 5 * FAULTS_MAX

    converted = to_protobuf("logs", logs(KEPT, *[{"body": value}] * num_records))

    num_named = converted.cause.count("logRecords[")
    assert len(converted.cause) < TEXT_CHARS_MAX + 2 * PATH_CHARS_MAX
    assert 0 < num_named < FAULTS_MAX
    assert converted.num_rejected == num_records
    assert converted.cause.endswith(f"; and {num_records - num_named} more)")
