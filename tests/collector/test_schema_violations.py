"""Collectors reject the records that violate a bound schema, and say which and why."""

import json
from collections.abc import Callable
from itertools import count

import grpc
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsPartialSuccess,
    ExportLogsServiceResponse,
)

from collector.intake.conformity import NAMED_MAX, RecordRules, reject_schema_violations
from collector.otlp.export import JUDGED_OTHERWISE
from meta.v1 import operations_pb2 as pb
from segments.parquet.spec import PromotedColumn
from tests.support.collector.ground import Ground, GroundToken
from tests.support.collector.http import post_to
from tests.support.collector.process import CollectorProcess, StartCollector
from tests.support.schema_violations import NULL, QUARANTINE, REJECT, bind, choose, correct, orders
from tests.support.waiting import wait_until

pytestmark = pytest.mark.one_meta
PRICES = (1, "two", 3, "4", "five")
CONFORMING = ["0: 1", "2: 3", "3: 4"]
WHY = (
    "2 log records were not stored: not of the schema of the dataset (record 1, price: a text that"
    " is no long; record 4, price: a text that is no long)"
)


def export(
    collector: CollectorProcess, token: GroundToken, payload: bytes
) -> ExportLogsPartialSuccess:
    reply = collector.export(token, payload)
    return ExportLogsServiceResponse.FromString(reply).partial_success


def refusal(collector: CollectorProcess, token: GroundToken, payload: bytes) -> str:
    with collector.stub() as stub:
        error = stub.start(token.token_secret, payload).exception()
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    details: str = error.details()
    return details


def test_the_sender_learns_which_record_which_column_and_why_and_the_others_are_stored(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    bind(ground.client, token.dataset_id, REJECT)
    collector = start_collector()

    partial = export(collector, token, orders(*PRICES))
    again = export(collector, token, orders(*PRICES))

    assert (partial.rejected_log_records, partial.error_message) == (2, WHY)
    assert again.rejected_log_records == 2
    assert "count once" in again.error_message
    assert ground.committed_ids() == CONFORMING


def test_an_export_of_which_nothing_conforms_is_answered_and_not_stored(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    schema = bind(ground.client, token.dataset_id, REJECT)
    collector = start_collector()

    assert export(collector, token, orders("one", "two")).rejected_log_records == 2
    assert ground.committed_ids() == []

    correct(ground.client, schema)
    _until_it_changed(lambda: export(collector, token, orders("probe")).rejected_log_records == 0)
    assert export(collector, token, orders("one", "two")).rejected_log_records == 0
    assert ground.committed_ids() == ["0: one", "0: probe", "1: two"]


@pytest.mark.long
@pytest.mark.parametrize(
    "restarts",
    [False, pytest.param(True, marks=pytest.mark.one_meta(False))],
    ids=["running", "restarted"],
)
def test_a_resend_that_is_judged_by_another_schema_is_refused_and_nothing_is_doubled(
    ground: Ground, start_collector: StartCollector, restarts: bool
) -> None:
    token = ground.new_token()
    schema = bind(ground.client, token.dataset_id, REJECT)
    collector = start_collector()
    whole = orders(7, 8)
    export(collector, token, orders(*PRICES))
    export(collector, token, whole)
    correct(ground.client, schema)
    if restarts:
        collector.kill()
        collector = start_collector()
    _until_it_changed(lambda: export(collector, token, orders("probe")).rejected_log_records == 0)

    assert refusal(collector, token, orders(*PRICES)) == JUDGED_OTHERWISE
    assert "count once" in export(collector, token, whole).error_message
    assert export(collector, token, orders("five")).rejected_log_records == 0
    stored = sorted([*CONFORMING, "0: 7", "1: 8", "0: probe", "0: five"])
    assert ground.committed_ids() == stored


def test_an_export_that_was_stored_whole_stays_a_repeat_under_a_stricter_schema(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    bind(ground.client, token.dataset_id, NULL)
    collector = start_collector()
    assert export(collector, token, orders(*PRICES)).rejected_log_records == 0
    choose(ground.client, token.dataset_id, REJECT)
    numbers = count()
    _until_it_changed(
        lambda: export(collector, token, orders(f"x{next(numbers)}")).rejected_log_records == 1
    )

    again = export(collector, token, orders(*PRICES))

    assert again.rejected_log_records == 0
    assert "count once" in again.error_message


@pytest.mark.parametrize("choice", [NULL, QUARANTINE], ids=["null", "quarantine"])
def test_only_a_dataset_that_rejects_has_records_rejected(
    ground: Ground, start_collector: StartCollector, choice: pb.SchemaViolations.ValueType
) -> None:
    token = ground.new_token()
    bind(ground.client, token.dataset_id, choice)
    collector = start_collector()

    assert export(collector, token, orders(*PRICES)).rejected_log_records == 0
    assert len(ground.committed_ids()) == len(PRICES)


def test_json_records_are_answered_with_their_place_in_the_request(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    bind(ground.client, token.dataset_id, REJECT)
    collector = start_collector()
    records = [{"price": 1}, {"price": 2, "": "no name"}, {"price": "three"}, {"price": None}]

    answer = post_to(
        f"/v1/datasets/{token.dataset_name}/records",
        collector,
        json.dumps({"records": records}).encode(),
        {"Authorization": f"Bearer {token.token_secret}", "Content-Type": "application/json"},
    )

    assert answer.status == 200, answer.body
    read = json.loads(answer.body)
    assert (read["accepted"], read["rejected"]) == (2, 2)
    assert [(error["index"], error["field"]) for error in read["errors"]] == [(1, ""), (2, "price")]
    assert read["errors"][1]["message"] == "a text that is no long"


@pytest.mark.parametrize("number", [NAMED_MAX, NAMED_MAX + 1])
def test_the_answer_names_a_bounded_number_of_records(number: int) -> None:
    rules = RecordRules((PromotedColumn("price", "long", "record", "price"),))

    judged = reject_schema_violations("logs", orders(*["x"] * number), rules)

    assert judged.num_rejected == number
    assert judged.cause.count("price") == NAMED_MAX
    assert ("and 1 further records" in judged.cause) == (number > NAMED_MAX)


def _until_it_changed(has_changed: Callable[[], bool]) -> None:
    """Wait for the collector's next answer of meta about the dataset."""
    wait_until(has_changed, "the columns of the dataset as they are now", poll_secs=0.2)
