"""Calls of one subject that run at once are bounded, and leave room for those of others."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any
from uuid import uuid4

import grpc
import pytest

from meta.access import ANONYMOUS, SHARED_TOKEN
from meta.client import MetaClient, typed_error
from meta.config import Settings
from meta.errors import InvalidArgument, Overloaded
from meta.roles import Role
from meta.rpc.admission import CALLS, WATCHES, Admission
from meta.v1 import (
    catalog_pb2,
    catalog_pb2_grpc,
    operations_pb2_grpc,
    segment_lookup_pb2,
    segment_lookup_pb2_grpc,
)
from meta.v1 import operations_pb2 as pb
from tests.support.meta.busy_database import locked_table, waiting_backends
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.waiting import wait_until

MOST = 3
LIST = catalog_pb2.ListDatasetsRequest()


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """Few calls of a subject at once, two of them in threads, two watches, and patient locks."""
    database = replace(meta_settings.database, lock_timeout_ms=60_000, statement_timeout_ms=60_000)
    return replace(
        meta_settings, identity_rpcs_max=MOST, threads=8, watchers_max=4, database=database
    )


@contextmanager
def held(guard: GuardedServer, client: MetaClient, subject: str, url: str) -> Iterator[None]:
    """As many calls of a subject as it may have, of which none is answered meanwhile."""
    request = catalog_pb2.ListSchemasRequest()
    answers: list[Future[catalog_pb2.ListSchemasResponse]] = []
    with ThreadPoolExecutor(MOST) as threads:
        with locked_table(url, "schemas"):
            answers += [threads.submit(client.catalog.ListSchemas, request) for _ in range(MOST)]
            admission = guard.running.pipeline.admission
            wait_until(lambda: admission.running(subject) == MOST, "all calls", seconds=30)
            yield
        for answer in answers:
            # At its limit nothing is refused.
            assert answer.result(30).pagination.total == 0


def list_once(guard: GuardedServer, token: str) -> catalog_pb2.ListDatasetsResponse:
    """Call without the repetitions of our client, which wait for a refusal to end."""
    with grpc.insecure_channel(guard.address) as channel:
        stub = catalog_pb2_grpc.CatalogServiceStub(channel)
        try:
            return stub.ListDatasets(
                LIST, metadata=(("authorization", f"Bearer {token}"),), timeout=30
            )
        except grpc.RpcError as error:
            raise typed_error(error) from None


def test_one_call_beyond_the_limit_is_refused_and_others_are_answered(
    meta_settings: Settings, database_url: str
) -> None:
    with guarded(meta_settings) as guard, guard.client(Role.READER, "analyst") as analyst:
        token = guard.token(Role.CATALOG, "keeper").plaintext_token
        with (
            MetaClient(guard.address, auth_token=token) as keeper,
            held(guard, keeper, "keeper", database_url),
        ):
            with pytest.raises(Overloaded) as refused:
                list_once(guard, token)
            wait_until(lambda: waiting_backends(database_url) == 2, "its threads", seconds=30)
            for client in (analyst, guard.admin):
                for _ in range(20):
                    assert client.catalog.ListDatasets(LIST, timeout=20).pagination.total == 1
            # The third waits for a thread of the subject's, not of the server's.
            assert waiting_backends(database_url) == 2
        assert list_once(guard, token).pagination.total == 1
        assert guard.running.pipeline.admission.running("keeper") == 0

    assert refused.value.message == "'keeper' has 3 calls at once, the most of one subject"


def test_a_subject_has_half_of_the_watches_and_leaves_the_others(meta_settings: Settings) -> None:
    request = pb.WatchDatasetRequest(dataset_name="default")
    with (
        guarded(meta_settings) as guard,
        grpc.insecure_channel(guard.address) as channel,
    ):
        stub = operations_pb2_grpc.OperationsServiceStub(channel)

        def watch_as(token: str) -> Any:
            metadata = (("authorization", f"Bearer {token}"),)
            watch = stub.WatchDataset(request, metadata=metadata, timeout=60)
            next(watch)
            return watch

        token = guard.token(Role.READER, "analyst").plaintext_token
        watches = [watch_as(token) for _ in range(2)]
        with pytest.raises(grpc.RpcError) as refused:
            watch_as(token)
        watch_as(guard.token(Role.READER, "dashboard").plaintext_token)
        for watch in watches:
            watch.cancel()
        admission = guard.running.pipeline.admission
        wait_until(lambda: admission.running("analyst") == 0, "the ends", seconds=30)

    assert "has 2 watches at once" in typed_error(refused.value).message
    assert isinstance(typed_error(refused.value), Overloaded)


def test_callers_that_may_be_anybody_have_the_limits_of_the_server_alone(
    meta_settings: Settings,
) -> None:
    settings = replace(meta_settings, identity_rpcs_max=1, concurrent_rpcs_max=3, watchers_max=1)
    admission = Admission(settings)

    with (
        admission.admit(ANONYMOUS, CALLS),
        admission.admit(ANONYMOUS, CALLS),
        admission.admit(SHARED_TOKEN, CALLS),
        admission.admit(SHARED_TOKEN, WATCHES),
    ):
        assert admission.running(ANONYMOUS.subject) == 0
        for kind in (CALLS, WATCHES):
            with pytest.raises(Overloaded), admission.admit(ANONYMOUS, kind):
                pass
    with admission.admit(ANONYMOUS, WATCHES):
        pass


class Flood:
    """Calls of one subject that are repeated as soon as they are answered."""

    def __init__(self, address: str, token: str) -> None:
        self.answers = 0
        self._is_over = False
        self._channel = grpc.insecure_channel(address)
        self._stub = segment_lookup_pb2_grpc.SegmentLookupServiceStub(self._channel)
        self._metadata = (("authorization", f"Bearer {token}"),)
        self._request = segment_lookup_pb2.GetSegmentsByIdsRequest(
            segment_ids=[str(uuid4()) for _ in range(1_000)]
        )

    def start(self, calls: int) -> None:
        for _ in range(calls):
            self._call()

    def close(self) -> None:
        self._is_over = True
        self._channel.close()

    def _call(self) -> None:
        call: Any = self._stub.GetSegmentsByIds
        answer = call.future(self._request, metadata=self._metadata, timeout=60)
        answer.add_done_callback(self._again)

    def _again(self, _answer: Any) -> None:
        self.answers += 1
        if not self._is_over:
            with suppress(ValueError):
                # The channel may be closed by now.
                self._call()


def test_a_subject_that_uses_the_cpu_gets_few_calls_in_between_those_of_another(
    meta_settings: Settings,
) -> None:
    settings = replace(meta_settings, identity_rpcs_max=64, threads=64)
    with guarded(settings) as guard, guard.client(Role.READER, "good") as good:
        flood = Flood(guard.address, guard.token(Role.READER, "hostile").plaintext_token)
        threads = guard.running.pipeline.threads
        try:
            flood.start(32)
            for _ in range(10):
                good.catalog.ListDatasets(LIST, timeout=30)
            wait_until(lambda: threads.waiting("hostile") > 8, "a line", seconds=30)
            served, calls = 0, 60
            for _ in range(calls):
                # Between its calls the other caller wants nothing, and all may be served.
                before = flood.answers
                good.catalog.ListDatasets(LIST, timeout=30)
                served += flood.answers - before
        finally:
            flood.close()

    # With 16 threads it got 28 times as many; on two cores some 3 times with few.
    assert 0 < served < 5 * calls


@pytest.mark.long
def test_damaged_requests_of_megabytes_are_paced_by_their_cpu_time(
    meta_settings: Settings,
) -> None:
    damaged = b"\x08\x81\x01" * 1_300_000
    roles = {"hostile-reader": Role.READER, "hostile-collector": Role.INGEST}
    # One is handled in a thread, the other on the event loop.
    methods = (
        "/meta.v1.SegmentLookupService/GetSegmentsByIds",
        "/meta.v1.IngestionService/CommitOffset",
    )
    delays = list[float]()
    with guarded(meta_settings) as guard, grpc.insecure_channel(guard.address) as channel:
        for method, (subject, role) in zip(methods, roles.items(), strict=True):
            token = guard.token(role, subject).plaintext_token
            for _ in range(2):
                call: Any = channel.unary_unary(method)
                with pytest.raises(grpc.RpcError) as refused:
                    call(damaged, metadata=(("authorization", f"Bearer {token}"),), timeout=60)
                assert isinstance(typed_error(refused.value), InvalidArgument)
            delays.append(guard.running.pipeline.pace.delay(("subject", subject)))

    # As many that cost nothing would be within the burst.
    assert min(delays) > 0
