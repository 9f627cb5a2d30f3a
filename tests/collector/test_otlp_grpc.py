"""OTLP over gRPC: who may send what, and what is answered otherwise."""

import gzip
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from meta.v1 import ingest_token_pb2
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground
from tests.support.collector.process import (
    LOGS_METHOD,
    CollectorProcess,
    StartCollector,
    Stub,
    impatient,
)
from tests.support.collector.refusals import refusal, retry_after_secs
from tests.support.waiting import wait_until

pytestmark = pytest.mark.one_meta
MIB = 1024 * 1024
CODES = grpc.StatusCode
DEADLINE_SECS = 10.0


def send(stub: Stub, payload: bytes, *metadata: tuple[str, str]) -> Any:
    """Export logs with any headers."""
    return stub.call(LOGS_METHOD, payload, metadata)


def test_tokens_are_taken_from_either_header_and_bad_ones_refused(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    collector = start_collector()

    with collector.stub() as stub:
        send(stub, log_export("a"), ("authorization", f"bearer {token.token_secret}")).result()
        send(stub, log_export("b"), ("x-ingest-token", token.token_secret)).result()
        refused = [
            send(stub, log_export("c")),
            send(stub, log_export("c"), ("authorization", f"Basic {token.token_secret}")),
            send(stub, log_export("c"), ("x-ingest-token", token.token_secret[:-1] + "x")),
            send(stub, log_export("c"), ("x-ingest-token", "x" * 5000)),
        ]
        codes = [refusal(call)[0] for call in refused]

    assert codes == [CODES.UNAUTHENTICATED] * 4
    assert ground.committed_ids() == ["a", "b"]
    assert not any(token.token_secret in line for line in collector.lines)


def test_a_malformed_export_is_invalid_and_not_retryable(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    collector = start_collector()

    with collector.stub() as stub:
        for _ in range(2):  # Before the token is known and after: both ways of reading.
            call = stub.start(token.token_secret, b"\xff\xff\xff")
            assert refusal(call)[0] is CODES.INVALID_ARGUMENT
            assert retry_after_secs(call) is None
        assert stub.export(token.token_secret, b"") == b"", "an export of nothing is fine"

    assert ground.commits() == []


@pytest.mark.long
@pytest.mark.one_meta(False)
def test_sizes_count_decompressed_bytes(ground: Ground, start_collector: StartCollector) -> None:
    token = ground.new_token()
    collector = start_collector(COLLECTOR_EXPORT_SIZE_BYTES_MAX=str(MIB))
    bomb = log_export("bomb", padding_bytes=64 * MIB)
    assert len(gzip.compress(bomb)) < 100_000
    small = log_export("small")

    with collector.stub() as stub:
        for _ in range(2):
            headers = (("x-ingest-token", token.token_secret),)
            call = stub.call(LOGS_METHOD, bomb, headers, compression=grpc.Compression.Gzip)
            assert refusal(call)[0] is CODES.RESOURCE_EXHAUSTED
            stub.export(token.token_secret, small)

    assert peak_megabytes(collector) < 250
    assert ground.committed_ids() == ["small"]


def test_a_revoked_token_is_refused_within_five_seconds(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    collector = start_collector()
    with collector.stub() as stub:
        stub.export(token.token_secret, log_export("before"))
        ground.client.ingest_token.RevokeIngestToken(
            ingest_token_pb2.RevokeIngestTokenRequest(token_id=token.token_id)
        )

        took_secs = wait_until(
            lambda: stub.start(token.token_secret, log_export("after")).exception() is not None,
            "the revoked token to be refused",
        )
        call = stub.start(token.token_secret, log_export("after"))

        assert refusal(call)[0] is CODES.UNAUTHENTICATED
        assert took_secs < 5.0


def test_a_signal_that_goes_nowhere_is_refused(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    ground.client.ingest_token.UpdateIngestTokenRouting(
        ingest_token_pb2.UpdateIngestTokenRoutingRequest(
            token_id=token.token_id,
            routing=ingest_token_pb2.IngestTokenRouting(traces_dataset_id=token.dataset_id),
        )
    )
    collector = start_collector()

    with collector.stub() as stub:
        call = stub.start(token.token_secret, log_export("a"))
        assert refusal(call)[0] is CODES.PERMISSION_DENIED
        assert retry_after_secs(call) is None
        stub.export(token.token_secret, b"", "traces")


@pytest.mark.one_meta(False)
@pytest.mark.parametrize("flush_timeout_ms", [600_000])
def test_a_full_buffer_turns_exports_away_until_there_is_room(
    ground: Ground, start_collector: StartCollector, flush_timeout_ms: int
) -> None:
    token, other = ground.new_token(), ground.new_token()
    collector = start_collector(
        COLLECTOR_BUFFER_SIZE_BYTES_MAX=str(2 * MIB),
    )
    with collector.stub() as stub:
        # The first flush brings the stream's flush timeout, which then holds everything back.
        stub.export(token.token_secret, log_export("first"))
        # Known from here on, so that its exports are taken in the order in which they were sent.
        stub.export(other.token_secret, b"")
        held = stub.start(token.token_secret, log_export("held", padding_bytes=900_000))
        turned_away = log_export("turned away", padding_bytes=900_000)

        wait_until(
            lambda: refused_with(stub, token.token_secret, turned_away, "too many bytes"),
            "the token's memory to be full",
        )
        call = stub.start(token.token_secret, turned_away)
        assert refusal(call)[0] is CODES.RESOURCE_EXHAUSTED
        assert retry_after_secs(call) == 1.0
        elsewhere = stub.start(other.token_secret, log_export("room left", padding_bytes=900_000))
        wait_until(
            lambda: refused_with(stub, other.token_secret, turned_away, "too many bytes"),
            "the token's memory to be full",
        )

        assert collector.terminate() in (0, 1)
        assert held.exception() is None
        assert elsewhere.exception() is None
    assert ground.committed_ids() == ["first", "held", "room left"]


@pytest.mark.long
@pytest.mark.one_meta(False)
def test_no_answer_from_meta_means_unavailable_and_nothing_is_acknowledged(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    collector = start_collector(program=impatient(), COLLECTOR_EXPORT_TIMEOUT_SECS="2")
    with collector.stub() as stub:
        stub.export(token.token_secret, log_export("before"))
        ground.stop_meta()

        calls = [stub.start(token.token_secret, log_export(f"during {n}")) for n in range(3)]

        assert {refusal(call)[0] for call in calls} == {CODES.UNAVAILABLE}
        assert {retry_after_secs(call) for call in calls} == {1.0}
        collector.wait_for("meta_health")
        health = health_pb2_grpc.HealthStub(stub.channel).Check(health_pb2.HealthCheckRequest())
        assert health.status == health_pb2.HealthCheckResponse.NOT_SERVING
    assert ground.committed_ids() == ["before"]


def test_health_and_unknown_methods_are_answered(
    ground: Ground, start_collector: StartCollector
) -> None:
    collector = start_collector()

    with collector.stub() as stub:
        health = health_pb2_grpc.HealthStub(stub.channel)
        names = ("", "opentelemetry.proto.collector.logs.v1.LogsService")
        statuses = {
            health.Check(health_pb2.HealthCheckRequest(service=name)).status for name in names
        }
        unknown = stub.call("/some.Service/Export", b"")

        assert statuses == {health_pb2.HealthCheckResponse.SERVING}
        assert refusal(unknown)[0] is CODES.UNIMPLEMENTED


def refused_with(stub: Stub, token_secret: str, payload: bytes, text: str) -> bool:
    """Whether an export is refused for this reason; one that would be held is cancelled."""
    call = stub.start(token_secret, payload, timeout=0.5)
    error = call.exception()
    return error is not None and text in error.details()


def peak_megabytes(collector: CollectorProcess) -> float:
    """Peak resident memory of the process."""
    with open(f"/proc/{collector.process.pid}/status") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
