"""Validation, counts, time bounds and digests of exports."""

import random
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from collector.otlp.export import count_refused, digest_of, read_facts
from collector.refusal import Refusal, Refused
from meta.errors import Code
from meta.metrics import COLLECTOR
from segments.otlp.content import PayloadFacts
from segments.signals import Signal
from tests.support.otlp.messages import dirty, fill, tagged

MESSAGES: dict[Signal, Any] = {"logs": LogsData, "metrics": MetricsData, "traces": TracesData}
END = 2**63


def logs(*records: LogRecord) -> bytes:
    data = LogsData()
    data.resource_logs.add().scope_logs.add().log_records.extend(records)
    return data.SerializeToString()


@pytest.mark.parametrize(
    ("records", "facts"),
    [
        pytest.param([], PayloadFacts(0, None, False), id="none"),
        pytest.param(
            [LogRecord(time_unix_nano=7), LogRecord(time_unix_nano=3)],
            PayloadFacts(2, (3, 7), False),
            id="out of order",
        ),
        pytest.param(
            [LogRecord(time_unix_nano=7), LogRecord(observed_time_unix_nano=2)],
            PayloadFacts(2, (2, 7), False),
            id="observed stands in",
        ),
        pytest.param(
            [LogRecord(time_unix_nano=END), LogRecord(time_unix_nano=5)],
            PayloadFacts(2, (5, 5), True),
            id="beyond a signed column",
        ),
        pytest.param([LogRecord()], PayloadFacts(1, None, True), id="no time at all"),
    ],
)
def test_logs_are_counted_and_spanned(records: list[LogRecord], facts: PayloadFacts) -> None:
    assert read_facts("logs", logs(*records)) == facts


def test_records_without_a_time_lie_at_their_arrival() -> None:
    assert PayloadFacts(1, None, True).time_bounds(9) == (9, 9)
    assert PayloadFacts(2, (3, 5), True).time_bounds(9) == (3, 9)
    assert PayloadFacts(2, (3, 5), True).time_bounds(1) == (1, 5)
    assert PayloadFacts(2, (3, 5), False).time_bounds(9) == (3, 5)


@given(signal=st.sampled_from(["logs", "metrics", "traces"]), seed=st.integers())
def test_counts_and_hulls_are_those_of_a_walk(signal: Signal, seed: int) -> None:
    message = fill(MESSAGES[signal](), random.Random(seed))
    payload = message.SerializeToString()
    times = [time if time < END else 0 for time in walk(message)]

    facts = read_facts(signal, payload)

    timed = [time for time in times if time]
    assert facts.num_records == len(times)
    assert facts.has_untimed == (len(timed) < len(times))
    assert facts.times == ((min(timed), max(timed)) if timed else None)


@given(signal=st.sampled_from(["logs", "metrics", "traces"]), seed=st.integers())
def test_fields_that_come_twice_or_out_of_order_do_not_change_the_count(
    signal: Signal, seed: int
) -> None:
    rnd = random.Random(seed)
    payload = dirty(fill(MESSAGES[signal](), rnd), rnd)

    assert read_facts(signal, payload).num_records == len(
        walk(MESSAGES[signal].FromString(payload))
    )


@given(signal=st.sampled_from(["logs", "metrics", "traces"]), seed=st.integers())
def test_what_is_taken_is_what_the_official_classes_take(signal: Signal, seed: int) -> None:
    rnd = random.Random(seed)
    payload = dirty(fill(MESSAGES[signal](), rnd), rnd)

    for _ in range(30):
        damaged = mutated(payload, rnd)
        assert is_taken(signal, damaged) == is_official(signal, damaged), damaged.hex()


def test_a_time_of_another_wire_type_is_an_unknown_field() -> None:
    odd = LogsData()
    odd.resource_logs.add().scope_logs.add()
    record = b"\x0a\x03abc"  # Field 1 as three bytes instead of a fixed64.
    scope = b"\x12" + bytes([len(record)]) + record
    resource = b"\x12" + bytes([len(scope)]) + scope
    payload = b"\x0a" + bytes([len(resource)]) + resource

    assert LogsData.FromString(payload).resource_logs[0].scope_logs[0].log_records
    assert read_facts("logs", payload) == PayloadFacts(1, None, True)


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(b"\xff\xff\xff", id="garbage"),
        pytest.param(logs(LogRecord(severity_text="x" * 50))[:-3], id="cut off"),
        pytest.param(
            logs(LogRecord(severity_text="xyz")).replace(b"xyz", b"\xff\xfe\xfd"), id="bad UTF-8"
        ),
    ],
)
def test_what_the_official_classes_refuse_is_malformed(payload: bytes) -> None:
    with pytest.raises(Refused) as caught:
        read_facts("logs", payload)

    assert caught.value.refusal.code is Code.INVALID_ARGUMENT
    assert caught.value.refusal.retry_after_secs is None


def test_nesting_deeper_than_the_official_classes_take_is_malformed() -> None:
    assert read_facts("logs", logs(LogRecord(body=nested(40)))).num_records == 1
    with pytest.raises(Refused):
        read_facts("logs", nested_payload(200))


@pytest.mark.parametrize(("reason", "outcome"), [("", "unavailable"), ("A_REASON", "a_reason")])
def test_a_refused_export_is_counted_by_its_reason_or_its_code(reason: str, outcome: str) -> None:
    def counted() -> float:
        labels = {"signal": "logs", "outcome": outcome}
        return COLLECTOR.get_sample_value("segplane_collector_exports_total", labels) or 0.0

    before = counted()

    count_refused("logs", Refusal(Code.UNAVAILABLE, "not now", reason=reason))

    assert counted() == before + 1


def test_a_digest_tells_token_signal_and_bytes_apart() -> None:
    digests = {
        digest_of("a", "logs", b"x"),
        digest_of("b", "logs", b"x"),
        digest_of("a", "traces", b"x"),
        digest_of("a", "logs", b"y"),
    }

    assert len(digests) == 4
    assert {len(digest) for digest in digests} == {16}
    assert digest_of("a", "logs", b"x") in digests


def mutated(payload: bytes, rnd: random.Random) -> bytes:
    """Overwrite some bytes, or cut some out or off."""
    damaged = bytearray(payload)
    for _ in range(rnd.randint(1, 3)):
        at = rnd.randrange(len(damaged) + 1)
        if rnd.random() < 0.8:
            damaged[at : at + 1] = rnd.randbytes(1)
        else:
            del damaged[at : at + rnd.choice([1, 2, 1000])]
    return bytes(damaged)


def is_taken(signal: Signal, payload: bytes) -> bool:
    try:
        read_facts(signal, payload)
    except Refused:
        return False
    return True


def is_official(signal: Signal, payload: bytes) -> bool:
    try:
        MESSAGES[signal].FromString(payload)
    except DecodeError:
        return False
    return True


def walk(message: Any) -> list[int]:
    """Event times record by record, 0 where there is none."""
    if isinstance(message, LogsData):
        return [
            record.time_unix_nano
            if 0 < record.time_unix_nano < END
            else record.observed_time_unix_nano
            for resource in message.resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ]
    if isinstance(message, TracesData):
        return [
            span.start_time_unix_nano
            for resource in message.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
    assert isinstance(message, MetricsData)
    return [
        point.time_unix_nano
        for resource in message.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if (kind := metric.WhichOneof("data"))
        for point in getattr(metric, kind).data_points
    ]


def nested(depth: int) -> AnyValue:
    value = AnyValue(string_value="x")
    for _ in range(depth):
        outer = AnyValue()
        outer.array_value.values.append(value)
        value = outer
    return value


def nested_payload(depth: int) -> bytes:
    value = AnyValue(string_value="x").SerializeToString()
    for _ in range(depth):
        value = tagged(0x2A, tagged(0x0A, value))
    record = tagged(0x2A, value)
    return tagged(0x0A, tagged(0x12, tagged(0x12, record)))
