"""Exports made to cost much more than they weigh: memory and others' latency stay bounded."""

import time
from pathlib import Path

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse

from collector.intake.reading import AT_ONCE_BYTES_MAX
from collector.otlp.export import TooManyRecords, read_facts
from collector.otlp.json import to_protobuf
from collector.refusal import Refused
from meta.errors import Code
from segments.signals import Signal
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground
from tests.support.collector.process import StartCollector
from tests.support.otlp.messages import tagged

SIZE_BYTES = 4 * 1024 * 1024
GROWTH_BYTES_MAX = 150 * 1024 * 1024
# Half of what an export may take; `benchmarks hostile_senders` measures what they do take.
LATENCY_SECS_MAX = 15.0
RESOURCE, SCOPE, RECORD, GAUGE, POINT, ATTRIBUTE = 0x0A, 0x12, 0x12, 0x2A, 0x0A, 0x32


def many(tag: int, *around: int, beside: bytes = b"") -> bytes:
    """As many empty messages as fit, within messages of the given tags, outermost first."""
    body = tagged(tag, b"") * (SIZE_BYTES // 2) + beside
    for outer in reversed(around):
        body = tagged(outer, body)
    return body


HOSTILE: dict[str, tuple[Signal, bytes]] = {
    "resources": ("logs", many(RESOURCE)),
    "scopes": ("traces", many(SCOPE, RESOURCE)),
    "records": ("logs", many(RECORD, RESOURCE, SCOPE)),
    "metrics": ("metrics", many(RECORD, RESOURCE, SCOPE)),
    "points": ("metrics", many(POINT, RESOURCE, SCOPE, RECORD, GAUGE)),
    "damaged records": ("logs", many(RECORD, RESOURCE, SCOPE, beside=b"\x1a\x01\xff")),
}
# One record each, so there is nothing to refuse.
HEAVY: dict[str, tuple[Signal, bytes]] = {
    "attributes": ("logs", many(ATTRIBUTE, RESOURCE, SCOPE, RECORD)),
    "damaged attributes": (
        "logs",
        many(ATTRIBUTE, RESOURCE, SCOPE, RECORD, beside=b"\x1a\x01\xff"),
    ),
}


@pytest.mark.long
def test_hostile_exports_cost_others_neither_time_nor_memory(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    collector = start_collector()
    collector.export(token, log_export("warm"))
    before = peak_bytes(collector.process.pid)

    with collector.stub() as stub:
        for signal, payload in (HOSTILE | HEAVY).values():
            hostile = stub.start(token.token_secret, payload, signal)
            slowest = 0.0
            while not hostile.done():
                began = time.perf_counter()
                stub.send(token.token_secret, log_export(str(began)))
                slowest = max(slowest, time.perf_counter() - began)
            assert slowest < LATENCY_SECS_MAX

    assert peak_bytes(collector.process.pid) - before < GROWTH_BYTES_MAX


@pytest.mark.parametrize(("signal", "payload"), HOSTILE.values(), ids=HOSTILE)
def test_an_export_of_too_many_records_is_refused_for_good(signal: Signal, payload: bytes) -> None:
    with pytest.raises(Refused) as caught:
        read_facts(signal, payload, 500_000)

    assert caught.value.refusal.code is Code.RESOURCE_EXHAUSTED
    assert caught.value.refusal.retry_after_secs is None


def test_json_of_too_many_objects_is_refused_before_it_is_parsed() -> None:
    empty = b'{"resourceLogs":[' + b"{}," * (SIZE_BYTES // 3) + b"{}]}"

    with pytest.raises(TooManyRecords):
        to_protobuf("logs", empty, 500_000)


def peak_bytes(pid: int) -> int:
    """Most memory that a process ever had."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def test_a_large_export_is_validated_apart_and_its_damaged_record_rejected(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    collector = start_collector()
    ids = [f"r{n}" for n in range(3)]
    sound = log_export(*ids, padding_bytes=SIZE_BYTES // 4)
    damaged = log_export("a", "bad", "c", padding_bytes=SIZE_BYTES // 4)
    assert min(map(len, (sound, damaged))) > AT_ONCE_BYTES_MAX

    with collector.stub() as stub:
        stub.send(token.token_secret, sound)
        reply = stub.send(token.token_secret, damaged.replace(b"bad", b"b\xffd"))

    answer = ExportLogsServiceResponse.FromString(reply)
    assert answer.partial_success.rejected_log_records == 1
    assert sorted(ground.committed_ids()) == ["a", "c", *ids]
