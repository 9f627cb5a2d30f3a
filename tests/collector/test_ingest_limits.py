"""Limits that a dataset sets for its tokens, and its window of event time."""

import time

import grpc
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from collector.intake.token_limits import TokenActivity, TokenLimits
from collector.otlp.partial_success import reject_outside
from collector.refusal import Refused
from meta.v1.operations_pb2 import IngestLimits
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground
from tests.support.collector.process import StartCollector

HOUR_SECS = 3600
HOUR_NANOS = HOUR_SECS * 10**9


@pytest.mark.one_meta
def test_records_outside_the_datasets_window_are_rejected_and_the_rest_is_stored(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    ground.set_limits(token, event_age_max_secs=HOUR_SECS, event_lead_max_secs=HOUR_SECS)
    collector = start_collector()
    now = time.time_ns()
    payload = b"".join(
        (
            log_export("old", time_nanos=now - 2 * HOUR_NANOS),
            log_export("now", time_nanos=now),
            log_export("ahead", time_nanos=now + 2 * HOUR_NANOS),
        )
    )

    reply = collector.export(token, payload)

    partial = ExportLogsServiceResponse.FromString(reply).partial_success
    assert partial.rejected_log_records == 2
    assert "outside the accepted window" in partial.error_message
    assert ground.committed_ids() == ["now"]


@pytest.mark.one_meta
def test_an_export_outside_the_window_is_answered_and_not_stored(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    ground.set_limits(token, event_age_max_secs=HOUR_SECS)
    collector = start_collector()

    reply = collector.export(token, log_export("old", time_nanos=time.time_ns() - 2 * HOUR_NANOS))

    partial = ExportLogsServiceResponse.FromString(reply).partial_success
    assert partial.rejected_log_records == 1
    assert ground.committed_ids() == []


@pytest.mark.one_meta
def test_a_dataset_limits_the_rate_of_its_tokens(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    ground.set_limits(token, bytes_per_sec=10_000)
    collector = start_collector()
    collector.export(token, log_export("burst", padding_bytes=50_000))

    with collector.stub() as stub:
        error = stub.start(token.token_secret, log_export("too soon")).exception()

    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "more than 10000 bytes a second" in error.details()


def test_data_points_outside_the_window_are_rejected_one_by_one() -> None:
    data = MetricsData()
    gauge = data.resource_metrics.add().scope_metrics.add().metrics.add(name="m").gauge
    for moment in (5, 15, 25, 0):
        gauge.data_points.add(time_unix_nano=moment, as_int=moment)

    result = reject_outside("metrics", data.SerializeToString(), (10, 20))

    points = MetricsData.FromString(result.payload).resource_metrics[0].scope_metrics[0].metrics[0]
    assert [point.time_unix_nano for point in points.gauge.data_points] == [15, 0]
    assert result.num_rejected == 2


def test_a_rate_lets_a_seconds_worth_through_and_tells_when_to_retry() -> None:
    limits, activity = TokenLimits(1_000, 10, 10**6), TokenActivity()
    activity.require(limits, 100.0)
    activity.count(3_000, limits, 100.0)

    with pytest.raises(Refused) as refused:
        activity.require(limits, 100.0)

    assert refused.value.refusal.retry_after_secs == 2.0
    activity.require(limits, 102.5)


def test_limits_of_a_dataset_stand_in_place_of_the_collectors() -> None:
    limits = TokenLimits(0, 1024, 10**8)

    assert limits.overridden(IngestLimits()) is limits
    assert limits.overridden(IngestLimits(memory_bytes=5)) == TokenLimits(0, 1024, 5)
