"""Collectors reject events outside the window of a dataset that refuses them, and say which."""

import json
import time

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsPartialSuccess,
    ExportLogsServiceResponse,
)

from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.collector.ground import Ground, GroundToken
from tests.support.collector.http import post_to
from tests.support.collector.process import CollectorProcess, StartCollector
from tests.support.events_once import DAY_NANOS, bind_once, orders
from tests.support.meta.dataset_life import set_settings
from tests.support.schema_violations import REJECT, choose
from tests.support.waiting import wait_until

pytestmark = pytest.mark.one_meta


def set_outside(
    ground: Ground, token: GroundToken, choice: common_pb2.OutsideWindow.ValueType
) -> None:
    deduplication = common_pb2.Deduplication(
        column="order_id", window_days=3, outside_window=choice
    )
    change = pb.DatasetSettings(deduplication=deduplication)
    set_settings(ground.client, token.dataset_id, change)


def refusing(ground: Ground) -> GroundToken:
    token = ground.new_token()
    bind_once(ground.client, token.dataset_id)
    set_outside(ground, token, common_pb2.OUTSIDE_WINDOW_REFUSE)
    return token


def export(
    collector: CollectorProcess, token: GroundToken, payload: bytes
) -> ExportLogsPartialSuccess:
    reply = collector.export(token, payload)
    return ExportLogsServiceResponse.FromString(reply).partial_success


def test_the_sender_learns_which_event_is_outside_and_the_others_are_stored(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = refusing(ground)
    collector = start_collector()
    payload = orders("a") + orders("old", "", days_ago=9) + orders("early", days_ago=-3)

    partial = export(collector, token, payload)
    again = export(collector, token, payload)

    assert partial.rejected_log_records == 2
    assert partial.error_message.startswith(
        "2 log records were not stored: outside the window of the dataset's events (record 1,"
        " timestamp: "
    )
    assert "; record 3, timestamp: " in partial.error_message
    assert again.rejected_log_records == 2
    assert "count once" in again.error_message
    assert ground.committed_ids() == ["", "a"]


def test_both_rules_are_named(ground: Ground, start_collector: StartCollector) -> None:
    token = refusing(ground)
    choose(ground.client, token.dataset_id, REJECT)
    collector = start_collector()

    payload = orders("a", price="high") + orders("b", days_ago=9) + orders("c")
    partial = export(collector, token, payload)

    assert partial.rejected_log_records == 2
    assert "not of the schema of the dataset, or outside the window" in partial.error_message
    assert "record 0, price: a text that is no long; record 1, timestamp" in partial.error_message
    assert ground.committed_ids() == ["c"]


def test_json_records_outside_are_listed_among_the_errors(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = refusing(ground)
    collector = start_collector()
    now = time.time_ns()
    records = [
        {"order_id": "a", "timestamp": now // 10**6},
        {"order_id": "b", "timestamp": (now - 9 * DAY_NANOS) // 10**6},
        {"order_id": "c"},
    ]

    answer = post_to(
        f"/v1/datasets/{token.dataset_name}/records",
        collector,
        json.dumps({"records": records}).encode(),
        {"Authorization": f"Bearer {token.token_secret}", "Content-Type": "application/json"},
    )

    assert answer.status == 200, answer.body
    read = json.loads(answer.body)
    assert (read["accepted"], read["rejected"]) == (2, 1)
    (error,) = read["errors"]
    assert (error["index"], error["field"]) == (1, "timestamp")
    assert "is not in the window, " in error["message"]


def test_the_setting_takes_effect_while_the_collector_runs(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = refusing(ground)
    collector = start_collector()
    assert export(collector, token, orders("a", days_ago=9)).rejected_log_records == 1
    set_outside(ground, token, common_pb2.OUTSIDE_WINDOW_KEEP)

    wait_until(
        lambda: export(collector, token, orders("a", days_ago=9)).rejected_log_records == 0,
        "the window of the dataset as it is now",
        poll_secs=0.2,
    )

    assert ground.committed_ids() == ["a"]
