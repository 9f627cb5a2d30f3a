"""Refusals of requests that are legal and extreme, and of a database that is busy or changes."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import grpc
import psycopg
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from meta import config
from meta.client import MetaClient
from meta.errors import InvalidArgument, Overloaded, QuotaExceeded, StatementTimeout
from meta.server import server
from meta.services.messages.checks import INT64_MAX, SIZE_BYTES_MAX
from meta.store.engine.pool import Database
from meta.v1.catalog_pb2 import CreateDatasetRequest, GetDatasetRequest
from meta.v1.common_pb2 import CreateSegment
from meta.v1.janitor_pb2 import GetJanitorStatsRequest, GetSegmentSizeStatsRequest
from tests.support.meta.busy_database import locked_table, waiting_backends
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.segments import Writer, segment_of
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

DEADLINE_SECS = 30.0


@pytest.fixture
def meta_settings(meta_settings: config.Settings) -> config.Settings:
    """Settings with short timeouts and two calls at once."""
    database = replace(
        meta_settings.database, lock_timeout_ms=500, statement_timeout_ms=1_000, pool_size=4
    )
    return replace(meta_settings, database=database, concurrent_rpcs_max=2)


def segment_of_size(dataset_id: str, size_bytes: int) -> CreateSegment:
    segment = segment_of(dataset_id)
    segment.size_bytes = segment.compressed_size_bytes = size_bytes
    return segment


def test_sizes_are_accepted_up_to_their_bound(catalog: CatalogDriver, writer: Writer) -> None:
    dataset_id = catalog.dataset()

    writer.save(segment_of_size(dataset_id, SIZE_BYTES_MAX))

    for size_bytes in (SIZE_BYTES_MAX + 1, INT64_MAX):
        with pytest.raises(InvalidArgument, match="size_bytes"):
            writer.save(segment_of_size(dataset_id, size_bytes))


def test_a_baby_larger_than_any_object_is_refused(
    catalog: CatalogDriver, collector: IngestionDriver
) -> None:
    stream_id = collector.register(catalog.token(catalog.dataset())).stream_id

    with pytest.raises(InvalidArgument) as refused:
        collector.commit(stream_id, 0, size_bytes=SIZE_BYTES_MAX + 1)

    assert refused.value.field == "size_bytes"
    collector.commit(stream_id, 0, size_bytes=SIZE_BYTES_MAX)


def test_totals_beyond_int64_are_answered_and_not_exceeded(
    meta_client: MetaClient, database_url: str, catalog: CatalogDriver, writer: Writer
) -> None:
    ids = [catalog.dataset(), catalog.dataset()]
    for dataset_id in ids:
        writer.save(segment_of(dataset_id))
    with psycopg.connect(database_url) as connection:
        # As release 0.1.0 accepted it.
        connection.execute("UPDATE segments SET size_bytes = %s", (INT64_MAX,))
        connection.execute("UPDATE segments SET compressed_size_bytes = %s", (INT64_MAX,))
        connection.execute("UPDATE dataset_stats SET live_size_bytes = %s", (INT64_MAX,))

    stats = meta_client.janitor.GetJanitorStats(GetJanitorStatsRequest())
    tiers = meta_client.janitor.GetSegmentSizeStats(GetSegmentSizeStatsRequest()).tiers

    assert stats.total_size_bytes == INT64_MAX
    assert tiers[-1].total_size == INT64_MAX
    with pytest.raises(QuotaExceeded):
        writer.save(segment_of(ids[0]))


def test_a_read_during_a_change_of_the_schema_may_be_retried(
    meta_server: MetaServer, database_url: str
) -> None:
    with locked_table(database_url, "datasets"), pytest.raises(grpc.RpcError) as refused:
        call_without_retries(meta_server, GetDatasetRequest(name="default"))

    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    assert reason_of(refused.value) == "UNAVAILABLE"


def test_a_read_after_a_change_of_the_schema_is_answered(
    meta_client: MetaClient, database_url: str
) -> None:
    for _ in range(20):  # By then its statement is prepared.
        meta_client.catalog.GetDataset(GetDatasetRequest(name="default"))
    with psycopg.connect(database_url) as connection:
        # Its statement selects the column.
        connection.execute(
            "ALTER TABLE datasets ALTER COLUMN deduplication_column TYPE varchar(1000)"
        )

    for _ in range(20):
        assert meta_client.catalog.GetDataset(GetDatasetRequest(name="default")).id


def test_a_query_that_takes_too_long_is_not_retried(
    meta_settings: config.Settings, database_url: str
) -> None:
    # The wait for a lock counts as part of the query.
    database = Database(replace(meta_settings.database, lock_timeout_ms=60_000))
    read = "SELECT name FROM datasets"

    with (
        locked_table(database_url, "datasets"),
        pytest.raises(StatementTimeout),
        database.read() as tx,
    ):
        tx.exec_driver_sql(read)

    database.close()


def test_shed_load_says_when_to_try_again_and_is_retried_by_our_client(
    meta_server: MetaServer, database_url: str
) -> None:
    request = GetDatasetRequest(name="default")
    with grpc.insecure_channel(meta_server.address) as channel, ThreadPoolExecutor(1) as pool:
        with locked_table(database_url, "datasets"):
            running = [start_call(channel, request) for _ in range(2)]
            wait_until(lambda: waiting_backends(database_url) >= 2, "two calls wait")
            with pytest.raises(grpc.RpcError) as refused:
                call_without_retries(meta_server, request)
            retried = pool.submit(meta_server.client.catalog.GetDataset, request)
        for call in running:
            call.exception(DEADLINE_SECS)

        assert retried.result(DEADLINE_SECS).name == "default"

    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert reason_of(refused.value) == Overloaded.reason
    assert retry_secs_of(refused.value) == 1


def test_a_quota_is_not_retried(meta_settings: config.Settings) -> None:
    running = server.start(replace(meta_settings, datasets_max=1))
    with MetaClient(f"127.0.0.1:{running.port}") as client:
        began = time.monotonic()
        with pytest.raises(QuotaExceeded):
            client.catalog.CreateDataset(CreateDatasetRequest(name="one more"))
        took_secs = time.monotonic() - began
    running.stop(0)

    # Below the least that four retries wait.
    assert took_secs < 0.5


def start_call(channel: grpc.Channel, request: GetDatasetRequest) -> "grpc.Future[bytes]":
    """Call without the client's retries."""
    call: grpc.UnaryUnaryMultiCallable[GetDatasetRequest, bytes]
    call = channel.unary_unary(
        "/meta.v1.CatalogService/GetDataset", GetDatasetRequest.SerializeToString
    )
    return call.future(request, timeout=DEADLINE_SECS)


def call_without_retries(meta_server: MetaServer, request: GetDatasetRequest) -> None:
    with grpc.insecure_channel(meta_server.address) as channel:
        start_call(channel, request).result()


def details_of(error: grpc.RpcError) -> list[Any]:
    status = rpc_status.from_call(error)
    assert status is not None
    return list(status.details)


def reason_of(error: grpc.RpcError) -> str:
    info = error_details_pb2.ErrorInfo()
    assert details_of(error)[0].Unpack(info)
    return str(info.reason)


def retry_secs_of(error: grpc.RpcError) -> int:
    retry = error_details_pb2.RetryInfo()
    assert details_of(error)[-1].Unpack(retry)
    return int(retry.retry_delay.seconds)
