"""Messages of meta as JSON and back, and what is no such JSON."""

import json
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message

from meta.v1 import catalog_pb2, common_pb2, ingest_token_pb2
from meta.v1 import operations_pb2 as ops
from segplane.gateway.http.refusals import QueryRefusal
from segplane.gateway.management import times
from segplane.gateway.management.json_messages import Exact, fill, json_text, parse, shown

MESSAGES: tuple[Message, ...] = (
    common_pb2.Column(name="a", type=common_pb2.KQL_TYPE_BOOL),
    catalog_pb2.CreateViewRequest(name="v", description="text"),
    ops.SchemaBinding(
        schema_id="x",
        version=3,
        attributes=[ops.BoundAttribute(column="c", scope=common_pb2.ATTRIBUTE_SCOPE_SCOPE)],
    ),
    ops.DatasetSettings(
        event_retention=Duration(seconds=90, nanos=500_000_000),
        records_per_month=-1,
        promoted_columns=ops.PromotedColumns(columns=[]),
        timestamp_unit=ops.TIMESTAMP_UNIT_NANOSECONDS,
        record_ids=False,
    ),
    ops.RewriteJob(
        id="r",
        state=ops.REWRITE_JOB_STATE_PAUSED,
        time_range=common_pb2.TimeRange(start_time=0, end_time=1_700_000_000_123_456_789),
        bytes_total=2**63 - 1,
    ),
    common_pb2.ShardingField(field_name="host", weight=0.1),
    ops.Pin(id="p", created_at_nanos=1_700_000_000_000_001_000),
    ops.CommittedFlush(offset=1, flush_id=b"\x00\xff"),
    ingest_token_pb2.IngestTokenRouting(logs_dataset_id="d"),
)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_is_the_same_after_json_and_back(message: Message) -> None:
    text = json_text(shown(message))
    back = type(message)()

    fill(back, parse(text.encode()))

    assert back == message, text


def test_members_are_named_after_fields_and_absent_values_are_null() -> None:
    pin = shown(ops.Pin(id="p", expires_at_nanos=1_700_000_000_000_000_500, left_secs=7))

    assert (pin["expires_at"], pin["created_at"]) == ("2023-11-14T22:13:20.000000500Z", None)
    assert (pin["left_secs"], pin["owner"], pin["holds_changes"]) == (7, None, False)
    rewrite = shown(ops.RewriteJob(state=ops.REWRITE_JOB_STATE_DONE))
    assert (rewrite["state"], rewrite["time_range"], rewrite["store"]) == ("done", None, None)
    assert shown(ops.Loss())["kind"] is None
    settings = shown(ops.DatasetSettings(event_retention=Duration(seconds=60)))
    assert (settings["event_retention"], settings["schema_violations"]) == ("60s", None)


def test_authors_are_members_of_what_they_made() -> None:
    authors = common_pb2.Authors(created_by="me", created_at="2026-01-01T00:00:00Z")

    token = shown(
        ingest_token_pb2.IngestTokenInfo(created_at="2026-01-02T00:00:00Z", authors=authors)
    )
    schema = shown(catalog_pb2.Schema(id="s", authors=authors))

    assert (token["created_by"], token["created_at"]) == ("me", "2026-01-02T00:00:00Z")
    assert (schema["created_at"], schema["updated_by"]) == ("2026-01-01T00:00:00Z", None)
    assert "authors" not in schema


def test_null_clears_in_a_change_and_is_absent_elsewhere() -> None:
    content = {"event_retention": None, "records_per_month": None, "binding": None}
    change, creation = ops.DatasetSettings(), ops.DatasetSettings()

    fill(change, content, clears=True)
    fill(creation, content)

    assert change.HasField("event_retention")
    assert change.HasField("records_per_month")
    assert (change.binding.schema_id, change.HasField("binding")) == ("", True)
    assert creation == ops.DatasetSettings()


MISFITS: tuple[tuple[Message, Any, str], ...] = (
    (ops.SchemaBinding(), [], "the body is not an object"),
    (ops.SchemaBinding(), {"attributes": [7]}, r"attributes\[0\] is not an object"),
    (
        ops.SchemaBinding(),
        {"attributes": [{"colum": "x"}]},
        r"'attributes\[0\].colum' is not known",
    ),
    (ops.SchemaBinding(), {"version": 2**31}, "version is not a whole number"),
    (ops.SchemaBinding(), {"version": Exact("1.0")}, "version is not a whole number"),
    (ops.SchemaBinding(), {"version": True}, "version is not a whole number"),
    (ops.SchemaBinding(), {"schema_id": "\ud800"}, "schema_id is not valid Unicode"),
    (common_pb2.Column(), {"name": "a"}, "type is missing: expected bool, int, long"),
    (common_pb2.Column(), {"name": "a", "type": 0}, "type is not one of bool"),
    (common_pb2.ShardingField(), {"weight": "1"}, "weight is not a whole number"),
    (ops.CommittedFlush(), {"flush_id": "?"}, "flush_id is not base64"),
    (ops.Pin(), {"created_at": "2026-13-01T00:00:00Z"}, "created_at: month must be"),
    (ops.Pin(), {"created_at": "9999-01-01T00:00:00Z"}, "created_at is not a whole number"),
    (ops.Pin(), {"created_at_nanos": 1}, "'created_at_nanos' is not known"),
    (ops.DatasetSettings(), {"event_retention": "1h"}, "event_retention is not a number of"),
)


@pytest.mark.parametrize(("message", "content", "refusal"), MISFITS)
def test_a_misfit_is_refused_with_its_path(message: Message, content: Any, refusal: str) -> None:
    with pytest.raises(QueryRefusal, match=refusal):
        fill(message, content)


def test_numbers_and_kept_objects_stay_as_they_are_written() -> None:
    text = '{"a":1.10,"b":[1e400,-0.0],"c":{"\\u00fc":12345678901234567890}}'

    assert json_text(parse(text.encode())) == text
    assert json_text({"context": Exact('{"x": 1.50}')}) == '{"context":{"x": 1.50}}'


@pytest.mark.parametrize(
    "text", ['{"a": NaN}', '{"a": 1, "a": 2}', "[", "[" * 100_000, "1" * 5_000]
)
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        parse(text.encode())


TIMES = {
    "1970-01-01T00:00:00.000000Z": 0,
    "2026-11-25T09:30:00.500000Z": 1_795_599_000_500_000_000,
    "2026-11-25T09:30:00.000000001Z": 1_795_599_000_000_000_001,
    "1969-12-31T23:59:59.999999999Z": -1,
}


def test_times_have_nanoseconds_and_any_zone() -> None:
    for text, nanos in TIMES.items():
        assert (times.nanos_of(text), times.text_of(nanos)) == (nanos, text)
    assert times.nanos_of("2026-11-25t10:30:00.5+01:00") == TIMES["2026-11-25T09:30:00.500000Z"]
    for nanos in (-(2**63), 2**63 - 1):
        assert times.nanos_of(times.text_of(nanos)) == nanos
    for text in ("2026-11-25", "2026-11-25T09:30:00", "1700000000", "now", "", "2026-11-25T09:30Z"):
        with pytest.raises(ValueError, match="is not an RFC 3339 time"):
            times.nanos_of(text)


def test_an_answer_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(json_text({"a": ["x", None, True, 7]})) == {"a": ["x", None, True, 7]}
