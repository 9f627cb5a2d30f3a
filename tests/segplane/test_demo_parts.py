"""The demo's parts: log files, and ids."""

from pathlib import Path

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from segplane.cli.demo import RECORD_ID, relay, shop, sources


def test_a_line_has_its_own_time_or_the_one_before(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("2025-06-24 14:36:25 one\n\n  two\nStart-Date: 2025-06-24  14:36:26 three\n")

    lines = sources.find_lines([str(tmp_path)])

    second = 1_750_775_785 * 10**9
    assert [(line.number, line.time_nanos) for line in lines] == [
        (1, second),
        (3, second),
        (4, second + 10**9),
    ]


def test_binary_and_missing_log_files_give_nothing(tmp_path: Path) -> None:
    (tmp_path / "b.log").write_bytes(b"\0\1\2\n")

    assert sources.find_lines([str(tmp_path), str(tmp_path / "missing")]) == []
    assert sources.read_lines(tmp_path / "missing.log") == []


def test_an_export_has_a_resource_for_each_service(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("one\ntwo\n")
    (tmp_path / "b.log").write_text("three\n")

    export = sources.export_of(sources.find_lines([str(tmp_path)]))

    bodies = {
        resource.resource.attributes[0].value.string_value: [
            record.body.string_value for record in resource.scope_logs[0].log_records
        ]
        for resource in export.resource_logs
    }
    assert bodies == {"a": ["one", "two"], "b": ["three"]}


def test_a_line_time_that_cannot_be_is_none() -> None:
    assert sources.line_time("2025-13-41 99:00:00") is None
    assert sources.line_time("no time") is None


def test_the_relay_stamps_every_record_of_every_signal() -> None:
    logs = ExportLogsServiceRequest()
    logs.resource_logs.add().scope_logs.add().log_records.add()
    traces = ExportTraceServiceRequest()
    traces.resource_spans.add().scope_spans.add().spans.add()
    metrics = ExportMetricsServiceRequest()
    scope = metrics.resource_metrics.add().scope_metrics.add()
    scope.metrics.add().gauge.data_points.add()
    scope.metrics.add().sum.data_points.add()
    scope.metrics.add().histogram.data_points.add()
    scope.metrics.add().exponential_histogram.data_points.add()
    scope.metrics.add().summary.data_points.add()
    scope.metrics.add()

    ids = [record_id for request in (logs, traces, metrics) for record_id in relay.stamp(request)]

    assert len(set(ids)) == 7
    record = logs.resource_logs[0].scope_logs[0].log_records[0]
    assert [(a.key, a.value.string_value) for a in record.attributes] == [(RECORD_ID, ids[0])]


def test_the_relay_lets_nothing_through_until_it_is_opened() -> None:
    with relay.Relay() as closed:
        status, _ = closed.forward("/v1/logs", b"")

        assert status == 503
        assert not closed.log.offered


def test_the_relay_discards_what_comes_after_it_was_closed() -> None:
    with relay.Relay() as closed:
        closed.close()

        status, _ = closed.forward("/v1/logs", b"")

        assert status == 200
        assert not closed.log.offered


@pytest.mark.parametrize(
    ("source", "service"),
    [
        ("/var/log/dpkg.log", "dpkg"),
        ("/root/.npm/_logs/2026-11-21T01_07_40_538Z-debug-0.log", "npm"),
        ("/var/log/2026.log", "unknown"),
    ],
)
def test_a_log_is_named_after_what_wrote_it(source: str, service: str) -> None:
    assert sources.service_of(source) == service


def test_the_example_has_an_error_that_belongs_to_a_trace_of_several_spans() -> None:
    traces, logs = shop.exports(10**18)

    records = [
        record
        for resource in logs.resource_logs
        for scope in resource.scope_logs
        for record in scope.log_records
    ]
    spans = [
        span
        for resource in traces.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    (error,) = [record for record in records if record.severity_text == "ERROR"]
    of_trace = [span for span in spans if span.trace_id == error.trace_id]
    assert len(of_trace) == 5
    assert error.span_id in {span.span_id for span in of_trace if span.status.code == 2}
    assert len({span.trace_id for span in spans}) == shop.ORDERS
    assert max(span.end_time_unix_nano for span in spans) <= 10**18
