"""Damaged exports: what is whole in them is kept as it came, the rest is counted and told."""

import json

import grpc
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from collector.otlp.partial_success import FIELDS_MAX, PartialSuccess, json_answer, reject_damaged
from collector.refusal import Refused
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground
from tests.support.collector.process import StartCollector
from tests.support.collector.refusals import refusal

# Text of this content is made bad UTF-8 of the same length.
MARK = b"<bad>"
BAD = b"\xff\xfe\xfd\xfc\xfb"


def damaged(payload: bytes) -> bytes:
    return payload.replace(MARK, BAD)


def logs(*resources: list[str]) -> LogsData:
    """One resource a list, one scope in it, one record a body."""
    data = LogsData()
    for bodies in resources:
        scope = data.resource_logs.add().scope_logs.add()
        for body in bodies:
            scope.log_records.add(time_unix_nano=5).body.string_value = body
    return data


def test_a_bad_record_is_skipped_and_the_others_keep_their_bytes() -> None:
    data = logs(["a", "<bad>", "b"], ["c"])

    valid = reject_damaged("logs", damaged(data.SerializeToString()))

    del data.resource_logs[0].scope_logs[0].log_records[1]
    assert valid.payload == data.SerializeToString()
    assert valid.num_rejected == 1


def test_a_bad_resource_takes_its_records_along() -> None:
    data = logs(["a", "b"], ["c"])
    data.resource_logs[0].resource.attributes.add(key="<bad>")

    valid = reject_damaged("logs", damaged(data.SerializeToString()))

    assert LogsData.FromString(valid.payload) == logs(["c"])
    assert valid.num_rejected == 2


def test_a_bad_scope_takes_its_spans_along() -> None:
    data = TracesData()
    resource = data.resource_spans.add(schema_url="kept")
    for name in ("<bad>", "fine"):
        scope = resource.scope_spans.add()
        scope.scope.name = name
        scope.spans.add(name="s1")
        scope.spans.add(name="s2")

    valid = reject_damaged("traces", damaged(data.SerializeToString()))

    del resource.scope_spans[0]
    assert TracesData.FromString(valid.payload) == data
    assert valid.num_rejected == 2


def test_of_a_bad_metric_the_data_points_are_counted() -> None:
    data = MetricsData()
    scope = data.resource_metrics.add().scope_metrics.add()
    for name, points in (("<bad>", 3), ("fine", 2)):
        metric = scope.metrics.add(name=name)
        for n in range(points):
            metric.sum.data_points.add(time_unix_nano=n + 1, as_int=n)

    valid = reject_damaged("metrics", damaged(data.SerializeToString()))

    del scope.metrics[0]
    assert MetricsData.FromString(valid.payload) == data
    assert valid.num_rejected == 3


@pytest.mark.parametrize("cut", [1, 3, 8])
def test_broken_frames_are_refused_as_a_whole(cut: int) -> None:
    payload = damaged(logs(["<bad>", "b" * 40]).SerializeToString())

    with pytest.raises(Refused):
        reject_damaged("logs", payload[:-cut])


def test_a_damaged_export_of_too_many_records_is_refused() -> None:
    data = logs(["<bad>"])
    data.resource_logs[0].scope_logs[0].log_records.extend([LogRecord()] * FIELDS_MAX)

    with pytest.raises(Refused, match="more than 100000 fields"):
        reject_damaged("logs", damaged(data.SerializeToString()))


def test_the_exporter_is_told_of_both_protocols_and_again_when_it_resends(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    collector = start_collector()
    payload = damaged(log_export("kept", "<bad>", "kept too"))

    replies = [collector.export(token, payload) for _ in range(2)]
    with collector.stub() as stub:
        nothing_left = refusal(stub.start(token.token_secret, damaged(log_export("<bad>"))))

    for reply in replies:
        partial = ExportLogsServiceResponse.FromString(reply).partial_success
        assert partial.rejected_log_records == 1
        assert partial.error_message.startswith("1 log records were not stored: not valid OTLP")
    assert (
        json.loads(json_answer("logs", PartialSuccess(b"", 1)))["partialSuccess"][
            "rejectedLogRecords"
        ]
        == "1"
    )
    assert nothing_left[0] is grpc.StatusCode.INVALID_ARGUMENT
    assert ground.committed_ids() == ["kept", "kept too"]
