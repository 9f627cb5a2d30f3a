"""Protobuf exports of another signal are refused, and faults are named with their paths."""

from collections.abc import Callable
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from collector.otlp.export import read_facts, require_signal
from collector.otlp.faults import FAULTS_MAX
from collector.otlp.partial_success import reject_damaged
from collector.refusal import Refused
from collector.servers.otlp_grpc import MESSAGE_CHARS_MAX
from segments.signals import Signal
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground
from tests.support.collector.http import PROTOBUF, post
from tests.support.collector.process import LOGS_METHOD, StartCollector
from tests.support.collector.refusals import refusal

MARK, BAD = b"<bad>", b"\xff\xfe\xfd\xfc\xfb"


def logs(**members: Any) -> bytes:
    """An export whose second scope has a record with these members."""
    data = LogsData()
    resource = data.resource_logs.add()
    resource.scope_logs.add().scope.name = "without records"
    resource.scope_logs.add().log_records.add(**members)
    return data.SerializeToString()


def spans(**members: Any) -> bytes:
    """An export of one span."""
    data = TracesData()
    data.resource_spans.add().scope_spans.add().spans.add(**members)
    return data.SerializeToString()


def metrics(kind: str) -> bytes:
    """An export of one metric with a data point."""
    data = MetricsData()
    metric = data.resource_metrics.add().scope_metrics.add().metrics.add(name="m")
    getattr(metric, kind).data_points.add(time_unix_nano=5)
    return data.SerializeToString()


def required(signal: Signal, payload: bytes) -> None:
    """Read an export as the collector does."""
    require_signal(signal, payload, read_facts(signal, payload))


@pytest.mark.parametrize(
    ("signal", "payload"),
    [
        ("traces", logs(time_unix_nano=5)),
        ("traces", logs(observed_time_unix_nano=5, body={"string_value": "x"})),
        ("traces", logs(severity_number=9, attributes=[{"key": "a"}])),
        ("metrics", logs(time_unix_nano=5)),
        ("logs", spans(trace_id=bytes(16), span_id=bytes(8), name="n")),
        ("logs", spans(start_time_unix_nano=5, name="n")),
        ("metrics", spans(trace_id=bytes(16), start_time_unix_nano=5)),
        ("logs", metrics("sum")),
        ("logs", metrics("gauge")),
        ("traces", metrics("sum")),
    ],
)
def test_an_export_of_another_signal_is_refused(signal: Signal, payload: bytes) -> None:
    with pytest.raises(Refused, match=r"\[0\].* other wire types|not an OTLP"):
        required(signal, payload)


@pytest.mark.parametrize(
    ("signal", "payload"),
    [
        ("logs", logs(time_unix_nano=5, body={"string_value": "x"}, trace_id=bytes(16))),
        ("logs", logs() + b"\xa2\x06\x01x"),
        ("traces", spans(name="n", start_time_unix_nano=5, kind=2)),
        ("metrics", metrics("summary")),
        ("metrics", metrics("exponential_histogram")),
        ("logs", b""),
    ],
)
def test_an_export_of_the_signal_is_taken(signal: Signal, payload: bytes) -> None:
    required(signal, payload)


def test_fields_that_the_schema_does_not_know_are_of_no_other_signal() -> None:
    data = LogsData()
    record = data.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=5)
    record.MergeFromString(b"\xf8\x07\x01")

    required("logs", data.SerializeToString())


def test_an_export_without_a_field_of_the_request_is_refused() -> None:
    with pytest.raises(Refused, match="expected resourceLogs"):
        required("logs", b"\x12\x02hi")


def test_ids_of_hexadecimal_letters_are_found_in_the_first_record() -> None:
    hexadecimal = read_facts("logs", logs(trace_id=b"5b8efff798038103d269b633813fc60c"))
    span = read_facts("traces", spans(trace_id=bytes(16), span_id=b"eee19b7ec3c1b174"))
    binary = read_facts("logs", logs(trace_id=bytes(range(16)), span_id=bytes(8)))
    other = read_facts("logs", logs(trace_id=b"x" * 32, span_id=b"y" * 16))

    assert hexadecimal.hex_id == "resourceLogs[0].scopeLogs[1].logRecords[0].traceId"
    assert span.hex_id == "resourceSpans[0].scopeSpans[0].spans[0].spanId"
    assert (binary.hex_id, other.hex_id) == ("", "")


def _bad_record(data: LogsData) -> None:
    attribute = data.resource_logs[0].scope_logs[0].log_records.add().attributes.add(key="k")
    attribute.value.array_value.values.add()
    attribute.value.array_value.values.add(string_value="<bad>")


def _bad_scope(data: LogsData) -> None:
    data.resource_logs[0].scope_logs[0].scope.name = "<bad>"


def _bad_resource(data: LogsData) -> None:
    data.resource_logs[0].resource.attributes.add(key="<bad>")


@pytest.mark.parametrize(
    ("damage", "path"),
    [
        (
            _bad_record,
            "resourceLogs[0].scopeLogs[0].logRecords[1].attributes[0].value.arrayValue.values[1]"
            ".stringValue",
        ),
        (_bad_scope, "resourceLogs[0].scopeLogs[0].scope.name"),
        (_bad_resource, "resourceLogs[0].resource.attributes[0].key"),
    ],
)
def test_a_text_that_is_not_utf_8_is_named(damage: Callable[[LogsData], None], path: str) -> None:
    data = LogsData()
    data.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=5)
    damage(data)

    valid = reject_damaged("logs", data.SerializeToString().replace(MARK, BAD))

    assert valid.num_rejected == 1
    assert valid.cause == f"not valid OTLP ({path}: found text that is not UTF-8, expected UTF-8)"


def test_a_hundred_damaged_records_are_named_and_the_others_counted() -> None:
    payload = log_export("kept", *["<bad>"] * (FAULTS_MAX + 1)).replace(MARK, BAD)

    valid = reject_damaged("logs", payload)

    assert valid.num_rejected == FAULTS_MAX + 1
    assert valid.cause.count("logRecords[") == FAULTS_MAX
    assert valid.cause.endswith("; and 1 more)")


@pytest.mark.long
@pytest.mark.one_meta
def test_both_protocols_name_the_same_fault(
    ground: Ground, start_collector: StartCollector
) -> None:
    token, collector = ground.new_token(), start_collector()
    headers = {"X-Ingest-Token": token.token_secret, "Content-Type": PROTOBUF}
    many = log_export(*["<bad>"] * FAULTS_MAX).replace(MARK, BAD)
    foreign = spans(trace_id=bytes(16), start_time_unix_nano=5)
    hexadecimal = logs(trace_id=b"5b8efff798038103d269b633813fc60c", body={"string_value": "h"})

    http = [post(collector, payload, headers) for payload in (many, foreign)]
    with collector.stub() as stub:
        secret = ("x-ingest-token", token.token_secret)
        calls = [refusal(stub.call(LOGS_METHOD, each, (secret,))) for each in (many, foreign)]
    hint = ExportLogsServiceResponse.FromString(collector.export(token, hexadecimal))

    assert [answer.status for answer in http] == [400, 400]
    assert {call[0] for call in calls} == {grpc.StatusCode.INVALID_ARGUMENT}
    assert "logRecords[99].body.stringValue: found text that is not UTF-8" in http[0].error.message
    assert calls[0][1][:MESSAGE_CHARS_MAX] == http[0].error.message[:MESSAGE_CHARS_MAX]
    assert calls[1][1] == http[1].error.message
    assert "scopeLogs[0].logRecords[0] has fields of other wire types" in http[1].error.message
    assert hint.partial_success.rejected_log_records == 0
    assert "logRecords[0].traceId is hexadecimal letters" in hint.partial_success.error_message
    assert ground.committed_ids() == ["h"]
