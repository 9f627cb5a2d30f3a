"""Facts of a request that hold for all its records: its trace, the unit of times, repeats."""

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from collector.otlp.attribute_bounds import AttributeBounds
from collector.records.json_records import RecordOptions, to_logs
from collector.servers.records_http import digest_of_records

TRACE, SPAN = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"
TIMED, UNTIMED = b'{"records": [{"timestamp": 5}]}', b'{"records": [{"event": "click"}]}'


def log_of(traceparent: str) -> LogRecord:
    options = RecordOptions("json", 1, AttributeBounds(), traceparent=traceparent)
    converted = to_logs("logs", b'{"records": [{"a": 1}]}', options)
    (resource,) = ExportLogsServiceRequest.FromString(converted.payload).resource_logs
    (log,) = resource.scope_logs[0].log_records
    return log


def test_a_trace_of_zeros_is_none() -> None:
    """An id of zeros alone is invalid, and so is the whole header."""
    valid = log_of(f"00-{TRACE}-{SPAN}-01")

    assert (valid.trace_id.hex(), valid.span_id.hex()) == (TRACE, SPAN)
    for header in (f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{'0' * 16}-01"):
        assert (log_of(header).trace_id, log_of(header).span_id) == (b"", b"")


@pytest.mark.parametrize(
    ("first", "second", "is_repeat"),
    [
        ((TIMED, "", "ms"), (TIMED, "", "ms"), True),
        ((TIMED, "", "s"), (TIMED, "", "ms"), False),
        ((TIMED, "k", "s"), (TIMED, "k", "ms"), True),
        ((TIMED, "", "s"), (TIMED, "k", "s"), False),
        ((UNTIMED, "", "s"), (UNTIMED, "", "s"), False),
    ],
)
def test_equal_bytes_repeat_a_request_if_their_times_are_equal(
    first: tuple[bytes, str, str], second: tuple[bytes, str, str], is_repeat: bool
) -> None:
    """The same number is another time in another unit."""

    def digest(body: bytes, key: str, unit: str) -> bytes:
        options = RecordOptions("json", 1, AttributeBounds(), "s" if unit == "s" else "ms")
        converted = to_logs("logs", body, options)
        return digest_of_records("token", key, body, converted, options.unit)

    assert (digest(*first) == digest(*second)) is is_repeat
