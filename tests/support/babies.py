"""The baby segments that the codec's tests are about, as bytes by name."""

from dataclasses import replace

from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from segments.baby import Baby, BabyKind, Export, TokenPart, crc32c, encode_baby
from segments.v1 import combined_signals_pb2 as pb


def logs(*texts: str, time_nanos: int = 0) -> bytes:
    """One log record per text."""
    records = [LogRecord(time_unix_nano=time_nanos) for _ in texts]
    for record, text in zip(records, texts, strict=True):
        record.body.string_value = text
    data = LogsData()
    data.resource_logs.add().scope_logs.add().log_records.extend(records)
    return data.SerializeToString()


def spans(*start_times: int) -> bytes:
    """One span per start time, a second long."""
    data = TracesData()
    scope = data.resource_spans.add().scope_spans.add()
    for start_time in start_times:
        scope.spans.add(start_time_unix_nano=start_time, end_time_unix_nano=start_time + 10**9)
    return data.SerializeToString()


def points(*times: int) -> bytes:
    """One gauge with a data point per time."""
    data = MetricsData()
    gauge = data.resource_metrics.add().scope_metrics.add().metrics.add().gauge
    for time in times:
        gauge.data_points.add(time_unix_nano=time, as_int=1)
    return data.SerializeToString()


def part(token_id: str = "token", signal: str = "logs", n: int = 2) -> TokenPart:
    """A stamped part of `n` exports."""
    return TokenPart(
        token_id=token_id,
        signal=signal,  # type: ignore[arg-type]
        slices=tuple(logs(f"{signal} {i}") for i in range(n)),
        dataset_id="dataset",
        num_records=n,
        start_time=10,
        end_time=20 + n,
        exports=tuple(Export(bytes([i]) * 16, 100 + i) for i in range(n)),
    )


BABY = Baby(
    parts=(part("a", "logs"), part("a", "traces", 1), part("b", "metrics", 3)),
    kind=BabyKind.DATA,
    flush_id=b"f" * 16,
    received_at=1234,
)
LONG_PART = TokenPart("c" * 200, "traces", (b"\x0a\x00" * 9000, b"", b"\x0a\x00"))
UNKNOWN_KIND = 77


def of_unknown_kind() -> bytes:
    """A baby of a later release, of a kind that this one does not know."""
    message = pb.CombinedSignals()
    message.stamp.kind = UNKNOWN_KIND  # type: ignore[assignment]
    body = message.SerializeToString()
    return body + b"\xad\x06" + crc32c(body).to_bytes(4, "little")


def unstamped(*parts: TokenPart) -> bytes:
    """A baby as a collector writes it that knows only the contract."""
    return encode_baby(Baby(parts=parts, is_stamped=False))


def damaged(body: bytes) -> bytes:
    """The same bytes with one bit turned over."""
    return bytes((body[0], body[1] ^ 1)) + body[2:]


BABIES: dict[str, bytes] = {
    "stamped": encode_baby(BABY),
    "stamped without exports": encode_baby(
        replace(BABY, parts=tuple(p._replace(exports=()) for p in BABY.parts))
    ),
    "stamped with a long part": encode_baby(replace(BABY, parts=(*BABY.parts, LONG_PART))),
    "stop": encode_baby(Baby(kind=BabyKind.STOP)),
    "filler": encode_baby(Baby(kind=BabyKind.FILLER)),
    "unknown kind": of_unknown_kind(),
    "damaged": damaged(encode_baby(BABY)),
    "garbage": b"\xff\xff\xff",
    "cut": encode_baby(BABY)[:-3],
    "unstamped and empty": b"",
    "unstamped": unstamped(TokenPart("a", "logs", (logs("x", time_nanos=5000),))),
    "unstamped without times": unstamped(TokenPart("a", "logs", (logs("x"),))),
    "unstamped, one without a time": unstamped(
        TokenPart("a", "logs", (logs("x"), logs("y", time_nanos=5000)))
    ),
    "unstamped, all signals": unstamped(
        TokenPart("a", "logs", (logs("x", time_nanos=4000),)),
        TokenPart("a", "traces", (spans(3000, 5000),)),
        TokenPart("b", "metrics", (points(6000, 0),)),
    ),
    "unstamped, not decodable": unstamped(TokenPart("a", "logs", (b"\xff",))),
    "unstamped, in part decodable": unstamped(
        TokenPart("a", "logs", (b"\xff", logs("x", time_nanos=5000)))
    ),
    "unstamped, long part": unstamped(LONG_PART),
}
