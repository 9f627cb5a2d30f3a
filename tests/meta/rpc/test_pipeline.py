"""Around every RPC: what refusals carry, streams that hold places, clients that leave, draining."""

import asyncio
import gc
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from meta import config
from meta.client import typed_error
from meta.errors import Overloaded
from meta.event_loop import EventLoop, stepped, to_its_end
from meta.rpc.admission import STREAMS, THREADS_PER_STREAM
from meta.rpc.decoding import LARGE_BYTES, SMALL_BYTES
from meta.server import server
from meta.v1 import (
    catalog_pb2,
    catalog_pb2_grpc,
    ingestion_pb2,
    ingestion_pb2_grpc,
    operations_pb2,
    operations_pb2_grpc,
)
from tests.support.meta.busy_database import held_head
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.server import MetaServer
from tests.support.waiting import let_tasks_run, wait_until

pytestmark = pytest.mark.one_meta

DEADLINE_SECS = 10.0


@contextmanager
def channel_to(meta_server: MetaServer) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(meta_server.address) as channel:
        yield channel


def test_a_refusal_carries_the_callers_request_id_and_its_reason(meta_server: MetaServer) -> None:
    with channel_to(meta_server) as channel, pytest.raises(grpc.RpcError) as refused:
        catalog_pb2_grpc.CatalogServiceStub(channel).GetDataset(
            catalog_pb2.GetDatasetRequest(name="nobody made it"),
            metadata=(("x-request-id", "mine"),),
        )

    trailing: dict[str, object] = {
        pair.key: pair.value for pair in refused.value.trailing_metadata()
    }
    assert trailing["x-request-id"] == "mine"
    status = rpc_status.from_call(refused.value)
    assert status is not None
    info, request = error_details_pb2.ErrorInfo(), error_details_pb2.RequestInfo()
    assert status.details[0].Unpack(info)
    assert info.reason == "NOT_FOUND"
    assert status.details[1].Unpack(request)
    assert request.request_id == "mine"


@pytest.mark.parametrize("size", [1, SMALL_BYTES + 1, LARGE_BYTES + 1])
@pytest.mark.parametrize("method", ["IngestionService/CommitOffset", "CatalogService/CreateView"])
def test_bytes_of_any_size_that_are_not_a_message_are_refused(
    meta_server: MetaServer, method: str, size: int
) -> None:
    with channel_to(meta_server) as channel:
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes]
        call = channel.unary_unary(f"/meta.v1.{method}")

        with pytest.raises(grpc.RpcError) as refused:
            call(b"\x0b" * size, timeout=DEADLINE_SECS)

    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_requests_that_were_refused_are_not_kept_until_a_collection(
    meta_server: MetaServer,
) -> None:
    size_bytes, count = 2 * LARGE_BYTES, 20
    with channel_to(meta_server) as channel:
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes]
        call = channel.unary_unary("/meta.v1.IngestionService/SaveSegments")
        gc.disable()
        tracemalloc.start()
        try:
            for _ in range(count):
                with pytest.raises(grpc.RpcError):
                    call(b"\x0b" * size_bytes, timeout=DEADLINE_SECS)
            kept_bytes, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            gc.enable()

    assert kept_bytes < count * size_bytes / 4


def test_health_of_a_service_that_is_not_there_is_not_found(meta_server: MetaServer) -> None:
    with channel_to(meta_server) as channel, pytest.raises(grpc.RpcError) as refused:
        health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service="nobody"))

    assert refused.value.code() is grpc.StatusCode.NOT_FOUND


@pytest.mark.one_meta(False)
def test_a_health_watch_is_told_that_the_server_drains(meta_settings: config.Settings) -> None:
    running = server.start(meta_settings)
    with grpc.insecure_channel(f"127.0.0.1:{running.port}") as channel:
        watch = health_pb2_grpc.HealthStub(channel).Watch(
            health_pb2.HealthCheckRequest(), timeout=DEADLINE_SECS
        )
        first = next(watch)
        stopping = threading.Thread(target=running.stop, args=(1.0,))
        stopping.start()
        second = next(watch)
        watch.cancel()
        stopping.join()

    status = health_pb2.HealthCheckResponse.ServingStatus
    assert [first.status, second.status] == [status.SERVING, status.NOT_SERVING]


def test_streams_beyond_their_share_are_refused_until_one_ends(meta_server: MetaServer) -> None:
    places = meta_server.settings.threads // THREADS_PER_STREAM
    is_over = threading.Event()
    admission = meta_server.running.pipeline.admission

    def page_and_wait() -> Iterator[operations_pb2.CheckConsistencyRequest]:
        yield operations_pb2.CheckConsistencyRequest()
        is_over.wait()

    with channel_to(meta_server) as channel:
        stub = operations_pb2_grpc.OperationsServiceStub(channel)
        try:
            checks = [stub.CheckConsistency(page_and_wait()) for _ in range(places)]
            for check in checks:
                next(check)
            assert admission._kinds[STREAMS].running == places

            with pytest.raises(grpc.RpcError) as refused:
                next(stub.CheckConsistency(page_and_wait(), timeout=DEADLINE_SECS))
            checks[0].cancel()
            wait_until(lambda: admission._kinds[STREAMS].running < places, "a place")
            again = next(stub.CheckConsistency(page_and_wait(), timeout=DEADLINE_SECS))
        finally:
            is_over.set()

    assert isinstance(typed_error(refused.value), Overloaded)
    assert not again.findings


def commit_request(stream_id: str, offset: int) -> ingestion_pb2.CommitOffsetRequest:
    return ingestion_pb2.CommitOffsetRequest(
        stream_id=stream_id, committed_offset=offset, start_time=1, end_time=2, size_bytes=3
    )


@pytest.fixture
def streams(catalog: CatalogDriver, collector: IngestionDriver) -> list[str]:
    """Three streams of three collectors."""
    token = catalog.token(catalog.dataset())
    return [
        replace(collector, collector_id=f"{collector.collector_id}-{n}").register(token).stream_id
        for n in range(3)
    ]


def test_a_client_that_leaves_hurts_nobody_and_may_repeat_its_commit(
    meta_server: MetaServer, collector: IngestionDriver, streams: list[str]
) -> None:
    first, second, _ = streams
    with channel_to(meta_server) as channel:
        stub = ingestion_pb2_grpc.IngestionServiceStub(channel)
        with held_head(meta_server, first):
            left = stub.CommitOffset.future(commit_request(first, 0))
            assert stub.CommitOffset(commit_request(second, 0)).committed_offset == 0
            left.cancel()
        again = stub.CommitOffset(commit_request(first, 0), timeout=DEADLINE_SECS)

    assert again.committed_offset == 0


def test_a_server_that_drains_answers_who_waits_for_a_commit(
    meta_settings: config.Settings, meta_server: MetaServer, streams: list[str]
) -> None:
    draining = server.start(replace(meta_settings, bind="127.0.0.1:0"))
    with grpc.insecure_channel(f"127.0.0.1:{draining.port}") as channel:
        stub = ingestion_pb2_grpc.IngestionServiceStub(channel)
        stub.CommitOffset(commit_request(streams[1], 0))
        stopping = threading.Thread(target=draining.stop, args=(DEADLINE_SECS,))
        with held_head(meta_server, streams[0]):
            waiting = stub.CommitOffset.future(commit_request(streams[0], 0))
            # Answered after it, so the one before is with the server.
            stub.CommitOffset(commit_request(streams[1], 1))
            stopping.start()
        reply = waiting.result(DEADLINE_SECS)
        stopping.join()

    assert reply.committed_offset == 0


def test_an_iterator_is_stepped_in_threads_to_its_end() -> None:
    main = threading.get_ident()

    async def scenario() -> list[bool]:
        return [item async for item in stepped(threading.get_ident() != main for _ in range(3))]

    assert asyncio.run(scenario()) == [True, True, True]


def test_what_a_cancelled_caller_awaits_is_awaited_to_its_end() -> None:
    async def scenario() -> list[str]:
        ended, done = asyncio.Event(), list[str]()

        async def work() -> None:
            await ended.wait()
            done.append("work")

        async def caller() -> None:
            try:
                await to_its_end(work())
            finally:
                done.append("caller")

        task = asyncio.create_task(caller())
        await let_tasks_run()
        task.cancel()
        await let_tasks_run()
        assert not task.done()
        ended.set()
        await asyncio.wait((task,))
        assert task.cancelled()
        return done

    assert asyncio.run(scenario()) == ["work", "caller"]


def test_a_loop_ends_after_what_has_begun_on_it() -> None:
    loop = EventLoop(2)
    gate, ended = threading.Event(), list[str]()

    async def begin() -> None:
        def work() -> None:
            assert gate.wait(DEADLINE_SECS)
            ended.append("work")

        loop_task.append(asyncio.create_task(asyncio.to_thread(work)))

    loop_task: list[asyncio.Task[None]] = []
    loop.run(begin())
    closing = threading.Thread(target=loop.close)
    closing.start()
    gate.set()
    closing.join(DEADLINE_SECS)

    assert ended == ["work"]
