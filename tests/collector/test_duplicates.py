"""An export that comes twice: its sender is told that it counted once."""

import structlog
from google.protobuf.json_format import MessageToJson, Parse
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsPartialSuccess,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from collector.otlp.export import LOG_PAUSE_SECS, RepeatLog, warning
from tests.support.clock import SettableClock
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground
from tests.support.collector.http import JSON, PROTOBUF, post
from tests.support.collector.process import StartCollector

WARNED = ExportLogsPartialSuccess(error_message=warning("logs", 2, 600))


def test_who_resends_one_example_is_told_that_it_counted_once(
    ground: Ground, start_collector: StartCollector
) -> None:
    """By the answer, on every protocol, and the operator by one line of the log."""
    token = ground.new_token()
    collector = start_collector()
    payload = log_export("a", "b")
    as_json = MessageToJson(LogsData.FromString(payload)).encode()
    headers = {"Authorization": f"Bearer {token.token_secret}"}

    first = collector.export(token, payload)
    over_grpc = collector.export(token, payload)
    over_http = post(collector, payload, {**headers, "Content-Type": PROTOBUF})
    over_json = post(collector, as_json, {**headers, "Content-Type": JSON})
    with_other_times = collector.export(token, log_export("a", "b", time_nanos=1))

    assert first == with_other_times == b""
    assert read(over_grpc) == read(over_http.body) == WARNED
    assert (over_http.status, over_json.status) == (200, 200)
    reply = Parse(over_json.body, ExportLogsServiceResponse())
    assert reply.partial_success == WARNED
    assert "2 log records" in WARNED.error_message
    assert ground.committed_ids() == ["a", "a", "b", "b"]
    logged = [event for event in collector.events if event["event"] == "exports_repeated"]
    assert [(event["count"], event["token_id"]) for event in logged] == [(1, token.token_id)]


def test_a_repeated_export_that_is_damaged_is_told_of_both(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    collector = start_collector()
    payload = log_export("kept", "<bad>").replace(b"<bad>", b"\xff\xfe\xfd\xfc\xfb")

    first, again = (read(collector.export(token, payload)) for _ in range(2))

    assert first.rejected_log_records == again.rejected_log_records == 1
    assert again.error_message == f"{first.error_message}; {warning('logs', 1, 600)}"


def test_repeats_are_logged_once_a_minute_with_their_number() -> None:
    clock = SettableClock(0.0)
    repeats = RepeatLog(clock)

    with structlog.testing.capture_logs() as lines:
        for _ in range(5):
            repeats.add("logs", "one")
        clock.now += LOG_PAUSE_SECS
        repeats.add("traces", "other")

    assert [(line["count"], line["token_id"]) for line in lines] == [(1, "one"), (5, "other")]


def read(reply: bytes) -> ExportLogsPartialSuccess:
    return ExportLogsServiceResponse.FromString(reply).partial_success
