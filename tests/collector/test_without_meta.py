"""A collector while no meta answers: it keeps accepting within its memory, and stores nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import grpc
import pytest

from meta.client import MetaClient
from meta.server import server
from meta.v1.common_pb2 import OUTSIDE_WINDOW_REFUSE, Deduplication
from meta.v1.ingest_token_pb2 import RevokeIngestTokenRequest
from meta.v1.operations_pb2 import DatasetSettings
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground
from tests.support.collector.process import CollectorProcess, StartCollector, impatient
from tests.support.collector.refusals import refusal
from tests.support.events_once import bind_once, orders
from tests.support.meta.dataset_life import set_settings
from tests.support.waiting import wait_until

CODES = grpc.StatusCode
BUFFER_BYTES = 4 * 1024 * 1024
# Until then a call reserves the largest size.
KNOWN_SIZES = 20


@pytest.fixture
def collector(start_collector: StartCollector) -> CollectorProcess:
    """Give a collector that trusts answers of meta for a short while."""
    return start_collector(
        program=impatient(token_buffer_size_bytes_max=2 * BUFFER_BYTES),
        COLLECTOR_BUFFER_SIZE_BYTES_MAX=str(BUFFER_BYTES),
        COLLECTOR_EXPORT_TIMEOUT_SECS="60",
    )


@contextmanager
def meta_again(ground: Ground, address: str) -> Iterator[None]:
    """Run a meta on the same database."""
    running = server.start(replace(ground.meta.settings, bind=address))
    try:
        yield
    finally:
        running.stop(0)


def test_exports_wait_in_the_buffer_until_a_meta_answers(
    ground: Ground, collector: CollectorProcess
) -> None:
    token, other = ground.new_token(), ground.new_token()
    before = [f"before {number}" for number in range(KNOWN_SIZES)]
    with collector.stub() as stub:
        for body in before:
            stub.export(token.token_secret, log_export(body))
        ground.stop_meta()
        collector.wait_for("meta_health")

        held = [stub.start(token.token_secret, log_export(f"held {n}")) for n in range(3)]
        unknown = stub.start(other.token_secret, log_export("of a token that is not known"))
        assert refusal(unknown)[0] is CODES.UNAVAILABLE
        bodies = [log_export(f"large {n}", padding_bytes=BUFFER_BYTES // 2) for n in range(3)]
        large = [stub.start(token.token_secret, body) for body in bodies]
        wait_until(lambda: any(call.done() for call in large), "the buffer is full", seconds=30)
        refused = [call for call in large if call.done()]
        assert {refusal(call)[0] for call in refused} == {CODES.UNAVAILABLE}
        assert "buffer is full" in refusal(refused[0])[1]
        assert not any(call.done() for call in held)
        assert ground.committed_ids() == sorted(before)

        with meta_again(ground, ground.meta.address):
            for call in held:
                assert call.exception(60) is None
            kept = [f"large {n}" for n, call in enumerate(large) if call.exception(60) is None]

    stored = [*before, *(f"held {n}" for n in range(3)), *kept]
    assert sorted(ground.committed_ids()) == sorted(stored)


@pytest.mark.long
def test_an_export_of_a_token_that_was_revoked_meanwhile_is_not_stored(
    ground: Ground, collector: CollectorProcess
) -> None:
    token = ground.new_token()
    with collector.stub() as stub:
        stub.export(token.token_secret, log_export("before"))
        ground.stop_meta()
        collector.wait_for("meta_health")
        held = stub.start(token.token_secret, log_export("held"))
        elsewhere = server.start(replace(ground.meta.settings, bind="127.0.0.1:0"))
        with MetaClient(f"127.0.0.1:{elsewhere.port}") as client:
            client.ingest_token.RevokeIngestToken(RevokeIngestTokenRequest(token_id=token.token_id))
        elsewhere.stop(0)
        assert not held.done()

        with meta_again(ground, ground.meta.address):
            assert refusal(held)[0] is CODES.UNAUTHENTICATED

    assert ground.committed_ids() == ["before"]


@pytest.mark.long
def test_no_event_is_rejected_by_a_window_of_some_time_ago(
    ground: Ground, collector: CollectorProcess
) -> None:
    """Its days may be over; a nursery quarantines what is outside."""
    token = ground.new_token()
    bind_once(ground.client, token.dataset_id)
    deduplication = Deduplication(
        column="order_id", window_days=3, outside_window=OUTSIDE_WINDOW_REFUSE
    )
    set_settings(ground.client, token.dataset_id, DatasetSettings(deduplication=deduplication))
    with collector.stub() as stub:
        stub.export(token.token_secret, orders("a"))
        ground.stop_meta()
        collector.wait_for("meta_health")
        held = stub.start(token.token_secret, orders("b", days_ago=9))
        # Later ones fill the buffer, so it was judged before.
        bodies = [log_export(f"large {n}", padding_bytes=BUFFER_BYTES // 2) for n in range(3)]
        large = [stub.start(token.token_secret, body) for body in bodies]
        wait_until(lambda: any(call.done() for call in large), "the buffer is full", seconds=30)
        assert not held.done()

        with meta_again(ground, ground.meta.address):
            assert held.exception(60) is None

    assert {"a", "b"} <= set(ground.committed_ids())
