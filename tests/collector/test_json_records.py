"""JSON records become log records with nothing lost, or are rejected with the place."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from collector.otlp.attribute_bounds import AttributeBounds
from collector.otlp.export import TooManyRecords
from collector.records.json_records import ERRORS_MAX, ConvertedRecords, RecordOptions, to_logs
from collector.records.json_values import DEPTH_MAX
from collector.refusal import Refused

ARRIVED = 1_764_063_000_000_000_000
TRACE, SPAN = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"


def convert(body: str | bytes, **options: Any) -> ConvertedRecords:
    """Convert a body of `{"records": [...]}` unless another form is asked."""
    given_options = {"form": "json", "arrived_at": ARRIVED, "bounds": AttributeBounds(), **options}
    text = body.encode() if isinstance(body, str) else body
    return to_logs("logs", text, RecordOptions(**given_options))


def logs_of(converted: ConvertedRecords) -> list[LogRecord]:
    """The log records of a conversion."""
    request = ExportLogsServiceRequest.FromString(converted.payload)
    return [
        log for r in request.resource_logs for scope in r.scope_logs for log in scope.log_records
    ]


def one_log(record: str, **options: Any) -> LogRecord:
    """The log record of the one record of a request, which is accepted."""
    converted = convert(f'{{"records": [{record}]}}', **options)
    assert not converted.errors
    (log,) = logs_of(converted)
    return log


def refusal_of(record: str, **options: Any) -> tuple[str, str]:
    """The field and the reason of the one record of a request, which is rejected."""
    converted = convert(f'{{"records": [{record}]}}', **options)
    assert (converted.num_accepted, converted.num_rejected) == (0, 1)
    (error,) = converted.errors
    assert error.index == 0
    return error.field, error.message


def value_of(value: AnyValue) -> Any:
    """An OTLP value as Python's."""
    kind = value.WhichOneof("value")
    if kind == "kvlist_value":
        return {each.key: value_of(each.value) for each in value.kvlist_value.values}
    if kind == "array_value":
        return [value_of(each) for each in value.array_value.values]
    return getattr(value, kind) if kind else None


def fields_of(log: LogRecord) -> dict[str, Any]:
    """The attributes of a log record."""
    return {each.key: value_of(each.value) for each in log.attributes}


def test_fields_become_attributes_of_their_types() -> None:
    log = one_log(
        '{"event": "signup", "n": 9007199254740993, "price": 1.5, "ok": true, "none": null,'
        ' "tags": ["a", 1], "cart": {"items": [], "note": {}}}'
    )

    assert fields_of(log) == {
        "event": "signup",
        "n": 9007199254740993,
        "price": 1.5,
        "ok": True,
        "none": None,
        "tags": ["a", 1],
        "cart": {"items": [], "note": {}},
    }
    assert (log.time_unix_nano, log.observed_time_unix_nano) == (0, ARRIVED)


def test_fields_with_a_meaning_are_read() -> None:
    log = one_log(
        f'{{"timestamp": "2025-11-25T10:30:00.000000001+01:00", "trace_id": "{TRACE.upper()}",'
        f' "span_id": "{SPAN}", "id": "e-1", "context": {{"b": 1.50, "a": ["é"]}}}}'
    )

    assert log.time_unix_nano == 1_764_063_000 * 10**9 + 1
    assert (log.trace_id.hex(), log.span_id.hex()) == (TRACE, SPAN)
    assert fields_of(log) == {"id": "e-1", "context": '{"b":1.50,"a":["é"]}'}


def test_the_request_s_trace_is_that_of_records_without_their_own() -> None:
    header = f"00-{TRACE}-{SPAN}-01"
    body = '{"records": [{"a": 1}, {"trace_id": "' + "ab" * 16 + '"}]}'

    first, second = logs_of(convert(body, traceparent=header))
    (untraced,) = logs_of(convert('{"records": [{"a": 1}]}', traceparent=f"ff-{TRACE}-{SPAN}-01"))

    assert (first.trace_id.hex(), first.span_id.hex()) == (TRACE, SPAN)
    assert (second.trace_id.hex(), second.span_id) == ("ab" * 16, b"")
    assert untraced.trace_id == b""


@pytest.mark.parametrize(
    ("record", "field", "reason"),
    [
        ('{"a": 9223372036854775808}', "a", "64 bits"),
        ('{"a": [0, ' + "9" * 5_000 + "]}", "a[1]", "64 bits"),
        ('{"a": {"b": 1e400}}', "a.b", "range of a double"),
        ('{"a": 1e-400}', "a", "range of a double"),
        ('{"a": 9007199254740993.5}', "a", "more digits"),
        ('{"a": NaN}', "a", "not JSON"),
        ('{"a": -Infinity}', "a", "not JSON"),
        ('{"a": 1, "a": 1}', "a", "twice"),
        ('{"a": {"b": 1, "b": 2}}', "a.b", "twice"),
        ('{"a": "\\ud800"}', "a", "surrogate"),
        ('{"\\ud800": 1}', "\ud800", "surrogate"),
        ('{"": 1}', "", "no name"),
        ('{"id": 1.5}', "id", "neither text"),
        ('{"id": true}', "id", "neither text"),
        ('{"context": "x"}', "context", "not an object"),
        ('{"context": {"a": {"b": 1, "b": 2}}}', "context.a.b", "twice"),
        ('{"trace_id": "' + "0" * 32 + '"}', "trace_id", "hexadecimal"),
        ('{"span_id": 7}', "span_id", "hexadecimal"),
        ("[1]", "", "not an object"),
        ("null", "", "not an object"),
    ],
)
def test_a_record_that_would_change_is_rejected_with_the_place(
    record: str, field: str, reason: str
) -> None:
    refused_field, message = refusal_of(record)

    assert refused_field == field
    assert reason in message


def test_nesting_is_bounded() -> None:
    deepest = "[" * DEPTH_MAX + "]" * DEPTH_MAX

    assert fields_of(one_log(f'{{"a": {deepest}}}')).keys() == {"a"}
    assert refusal_of(f'{{"a": [{deepest}]}}')[1].startswith(f"more than {DEPTH_MAX} objects")
    with pytest.raises(Refused, match="nested too deeply"):
        convert('{"records": [' + "[" * 100_000)


def test_fields_beyond_the_bounds_are_refused_and_not_cut() -> None:
    bounds = AttributeBounds(attributes_max=2, name_bytes_max=4, value_bytes_max=10)

    assert one_log('{"name": "12345678", "b": 1}', bounds=bounds)
    assert refusal_of('{"name": "123456789"}', bounds=bounds) == (
        "name",
        "the value is over 10 bytes",
    )
    assert refusal_of('{"names": 1}', bounds=bounds) == ("names", "the name is over 4 bytes")
    assert refusal_of('{"a": 1, "b": 1, "c": 1}', bounds=bounds)[1].endswith("more than 2 fields")


def test_rejected_records_do_not_affect_the_others() -> None:
    converted = convert('{"records": [{"a": 1}, 7, {"a": NaN}, {"a": 2}]}')

    assert [fields_of(log) for log in logs_of(converted)] == [{"a": 1}, {"a": 2}]
    assert (converted.num_accepted, converted.num_rejected) == (2, 2)
    assert [(error.index, error.field) for error in converted.errors] == [(1, ""), (2, "a")]


def test_the_first_hundred_errors_are_listed_and_all_are_counted() -> None:
    exactly = convert('{"records": [' + ",".join("7" * ERRORS_MAX) + "]}")
    beyond = convert('{"records": [' + ",".join("7" * (ERRORS_MAX + 1)) + "]}")

    assert (len(exactly.errors), exactly.num_rejected) == (ERRORS_MAX, ERRORS_MAX)
    assert (len(beyond.errors), beyond.num_rejected) == (ERRORS_MAX, ERRORS_MAX + 1)


def test_each_line_is_its_own_record() -> None:
    converted = convert(b'{"a": 1}\r\n\n{"a": \n \xff\n{"a": 2}', form="ndjson")

    assert [fields_of(log) for log in logs_of(converted)] == [{"a": 1}, {"a": 2}]
    assert [(error.index, error.message.partition(" (")[0]) for error in converted.errors] == [
        (1, "the line is not JSON"),
        (2, "the line is not JSON"),
    ]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        '[{"a": 1}]',
        '{"a": 1}',
        '{"records": {}}',
        '{"records": [], "more": 1}',
        '{"records": [{"a": 1}], "records": []}',
        '{"records": [{"a": 1}',
        b'{"records": ["\xff"]}',
    ],
)
def test_a_body_without_a_list_of_records_is_refused_as_a_whole(body: str | bytes) -> None:
    with pytest.raises(Refused, match="body is not"):
        convert(body)


def test_the_number_of_records_is_bounded_before_they_are_read() -> None:
    body = '{"records": [' + ",".join(["{}"] * 18) + "]}"

    assert convert(body, records_max=10).num_accepted == 18
    with pytest.raises(TooManyRecords):
        convert(body.replace("{},", "{},{},", 1), records_max=10)


def test_records_are_distinguishable_only_by_an_id_or_a_time_each() -> None:
    def are_distinguishable(*records: str) -> bool:
        return convert(f'{{"records": [{",".join(records)}]}}').are_distinguishable

    assert are_distinguishable('{"id": 7}', '{"timestamp": 1764063000}')
    assert not are_distinguishable('{"id": 7}', '{"a": 1}')
    assert not are_distinguishable('{"id": null}')


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.text(min_size=1).filter(
    lambda name: name not in {"timestamp", "trace_id", "span_id", "id", "context"}
)


@given(st.lists(st.dictionaries(NAMES, VALUES, max_size=4), max_size=4), st.booleans())
def test_any_record_that_is_accepted_has_the_values_that_were_sent(
    records: list[dict[str, Any]], is_by_line: bool
) -> None:
    lines = [json.dumps(record) for record in records]
    body = "\n".join(lines) if is_by_line else f'{{"records": [{",".join(lines)}]}}'

    converted = convert(body, form="ndjson" if is_by_line else "json")

    assert not converted.errors
    # As text, where 1 and 1.0 and true differ.
    assert [json.dumps(fields_of(log)) for log in logs_of(converted)] == lines


@given(
    st.binary(max_size=60) | st.text(alphabet='{}[]":,\\ue0-9.NaI \n', max_size=60).map(str.encode)
)
def test_any_body_is_converted_or_refused(body: bytes) -> None:
    for form in ("json", "ndjson"):
        try:
            converted = convert(b'{"records": [' + body + b"]}", form=form)
        except Refused:
            continue
        assert len(logs_of(converted)) == converted.num_accepted


@pytest.mark.parametrize("form", ["json", "ndjson"])
def test_a_byte_order_mark_is_skipped(form: str) -> None:
    line = b'\xef\xbb\xbf{"event": "a"}\n'
    text = b'\xef\xbb\xbf{"records": [{"event": "a"}]}' if form == "json" else line * 2

    converted = convert(text, form=form)

    assert converted.num_rejected == 0
    assert {log.attributes[0].value.string_value for log in logs_of(converted)} == {"a"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"datasetId": "web", "records": [{}]}', ""),
        (b'{"records": [{}], "datasetId": "4711"}', ""),
        (b'{"datasetId": "other", "records": [{}]}', "datasetId is another one"),
        (b'{"datasetId": ["web"], "records": [{}]}', "datasetId is another one"),
        (b'{"datasetId": null, "records": [{}]}', "nothing beside the list"),
        (b'{"datasetId": "web"}', "nothing beside the list"),
        (b'{"datasetId": "web", "records": [{}], "x": 1}', "nothing beside the list"),
        (b'{"datasetId": "x", "datasetId": "web", "records": [{}]}', "nothing beside the list"),
        (b'{"records": [], "records": [{}]}', "nothing beside the list"),
    ],
)
def test_a_body_may_repeat_the_dataset_of_its_path(body: bytes, message: str) -> None:
    names = ("web", "4711")

    if not message:
        assert convert(body, dataset_names=names).num_accepted == 1
        return
    with pytest.raises(Refused, match=message):
        convert(body, dataset_names=names)
