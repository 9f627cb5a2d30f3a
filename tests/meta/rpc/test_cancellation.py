"""Calls whose callers have left give back their thread and their connection."""

import time
from dataclasses import replace

import grpc
import psycopg
import pytest

from meta import config
from meta.rpc.decoding import LARGE_BYTES
from meta.rpc.execution import VERSION_WAIT_SECS
from meta.store.engine.call_scope import CallerLeft, CallScope
from meta.v1 import (
    catalog_pb2,
    catalog_pb2_grpc,
    ingest_token_pb2,
    ingestion_pb2,
    ingestion_pb2_grpc,
    operations_pb2,
    operations_pb2_grpc,
    segment_lookup_pb2,
    segment_lookup_pb2_grpc,
)
from tests.support.meta.busy_database import held_head, locked_table, waiting_backends
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.segments import segment_of
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

# A statement that nothing ends lasts longer than any wait of these tests, on a busy machine too.
LONG_MS = 300_000
PROMPT_SECS = 90.0
DEADLINE_SECS = 60.0


@pytest.fixture
def meta_settings(meta_settings: config.Settings) -> config.Settings:
    """Settings by which a statement waits for longer than the test."""
    database = replace(
        meta_settings.database, lock_timeout_ms=LONG_MS, statement_timeout_ms=LONG_MS, pool_size=4
    )
    return replace(meta_settings, database=database, threads=4)


def nobody_waits(database_url: str) -> None:
    wait_until(
        lambda: waiting_backends(database_url) == 0, "no statement waits", seconds=PROMPT_SECS
    )


def test_a_deadline_ends_the_statement(meta_server: MetaServer, database_url: str) -> None:
    request = catalog_pb2.GetDatasetRequest(name="default")
    with grpc.insecure_channel(meta_server.address) as channel:
        stub = catalog_pb2_grpc.CatalogServiceStub(channel)
        with locked_table(database_url, "datasets"):
            with pytest.raises(grpc.RpcError) as refused:
                stub.GetDataset(request, timeout=0.5)

            nobody_waits(database_url)

    assert refused.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


def test_a_deadline_ends_the_statement_of_a_large_request(
    meta_server: MetaServer, database_url: str, catalog: CatalogDriver
) -> None:
    dataset_id = catalog.dataset()
    request = ingestion_pb2.SaveSegmentsRequest(
        segments=[segment_of(dataset_id, key=f"{n:0240}") for n in range(1_000)]
    )
    assert request.ByteSize() > LARGE_BYTES
    with grpc.insecure_channel(meta_server.address) as channel:
        stub = ingestion_pb2_grpc.IngestionServiceStub(channel)
        with locked_table(database_url, "segments"):
            with pytest.raises(grpc.RpcError) as refused:
                stub.SaveSegments(request, timeout=2)

            nobody_waits(database_url)

    assert refused.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


def test_callers_that_have_left_keep_no_connection(
    meta_server: MetaServer, database_url: str
) -> None:
    request = catalog_pb2.GetDatasetRequest(name="default")
    pool_size = meta_server.settings.database.pool_size
    with grpc.insecure_channel(meta_server.address) as channel:
        stub = catalog_pb2_grpc.CatalogServiceStub(channel)
        with locked_table(database_url, "datasets"):
            calls = [stub.GetDataset.future(request) for _ in range(10 * pool_size)]
            wait_until(lambda: waiting_backends(database_url) == pool_size, "the pool is used up")
            for call in calls:
                call.cancel()

            tokens = meta_server.client.ingest_token.ListIngestTokens(
                ingest_token_pb2.ListIngestTokensRequest(), timeout=PROMPT_SECS
            )

    assert not tokens.tokens


def test_a_commit_that_waits_by_itself_ends_with_its_caller(
    meta_server: MetaServer, database_url: str, catalog: CatalogDriver, collector: IngestionDriver
) -> None:
    stream_id = collector.register(catalog.token(catalog.dataset())).stream_id
    request = ingestion_pb2.CommitOffsetRequest(stream_id=stream_id, start_time=1, end_time=2)
    with grpc.insecure_channel(meta_server.address) as channel:
        stub = ingestion_pb2_grpc.IngestionServiceStub(channel)
        with held_head(meta_server, stream_id):
            with pytest.raises(grpc.RpcError):
                stub.CommitOffset(request, timeout=1)

            nobody_waits(database_url)

    assert collector.commit(stream_id, 0).committed_offset == 0


def test_a_consistency_check_whose_caller_has_left_ends_its_statement(
    meta_server: MetaServer, database_url: str
) -> None:
    with grpc.insecure_channel(meta_server.address) as channel:
        stub = operations_pb2_grpc.OperationsServiceStub(channel)
        with locked_table(database_url, "segments"):
            request = operations_pb2.CheckConsistencyRequest(end_of_listing=True)
            replies = stub.CheckConsistency(iter([request]))
            wait_until(lambda: waiting_backends(database_url) == 1, "the check waits")
            replies.cancel()

            nobody_waits(database_url)


def test_callers_that_wait_for_a_version_occupy_no_thread(meta_server: MetaServer) -> None:
    request = segment_lookup_pb2.FindSegmentsRequest(min_version=10**12)
    rounds = 20
    with grpc.insecure_channel(meta_server.address) as channel:
        stub = segment_lookup_pb2_grpc.SegmentLookupServiceStub(channel)
        began = time.monotonic()
        calls = [
            stub.FindSegments.future(request, timeout=DEADLINE_SECS)
            for _ in range(rounds * meta_server.settings.threads)
        ]
        codes = {call.code() for call in calls}
        took_secs = time.monotonic() - began

    assert codes == {grpc.StatusCode.UNAVAILABLE}
    # In threads they would wait one after the other.
    assert took_secs < rounds * VERSION_WAIT_SECS / 2


def test_a_call_whose_caller_has_left_runs_no_further_statement(database_url: str) -> None:
    scope = CallScope()
    scope.check()
    with psycopg.connect(database_url) as connection:
        with scope.using(connection):
            scope.cancel()

        with pytest.raises(CallerLeft):
            scope.check()
        with pytest.raises(CallerLeft), scope.using(connection):
            pass
