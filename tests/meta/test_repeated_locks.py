"""LockResource, repeated after an answer that was lost."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from meta.client import MetaClient
from meta.errors import InvalidArgument, Locked
from meta.v1 import operations_pb2 as ops
from meta.v1 import resources_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.cut_proxy import Fault, cut_proxy
from tests.support.meta.resource_locks import REASON, LockDriver, digest_of, ref
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

TOKEN = "lock_of the caller"


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


def request_for(dataset: str, token: str = TOKEN, **fields: int) -> pb.LockResourceRequest:
    return pb.LockResourceRequest(
        resource=ref("dataset", dataset), reason=REASON, token_digest=digest_of(token), **fields
    )


def locks_noted(client: MetaClient) -> int:
    request = ops.ListAuditRecordsRequest(rpc="LockResource")
    return len(client.operations.ListAuditRecords(request).records)


def test_a_lock_whose_answer_is_lost_is_set_by_the_same_request(
    meta_server: MetaServer, dataset: str
) -> None:
    locks = LockDriver(meta_server.client)
    with (
        cut_proxy(meta_server.address) as proxy,
        MetaClient(proxy.address) as client,
        ThreadPoolExecutor(1) as threads,
    ):
        assert not locks.read("dataset", dataset).HasField("locked_at")
        client.resources.GetResource(pb.GetResourceRequest(resource=ref("dataset", dataset)))
        proxy.fail(Fault.CUT_ONE_WAY)
        answer = threads.submit(client.resources.LockResource, request_for(dataset))
        wait_until(lambda: locks.read("dataset", dataset).HasField("locked_at"), "the lock is set")
        proxy.fail(None)

        again = answer.result()

    assert again.resource == locks.read("dataset", dataset)
    assert (again.token, again.resource.lock_reason) == ("", REASON)
    assert locks_noted(meta_server.client) == 1
    assert not locks.unlock("dataset", dataset, TOKEN).resource.HasField("locked_at")


def test_requests_that_overlap_set_one_lock(meta_client: MetaClient, dataset: str) -> None:
    with ThreadPoolExecutor(8) as threads:
        requests = [request_for(dataset)] * 8
        answers = list(threads.map(meta_client.resources.LockResource, requests))

    assert len({answer.SerializeToString(deterministic=True) for answer in answers}) == 1
    assert locks_noted(meta_client) == 1
    LockDriver(meta_client).unlock("dataset", dataset, TOKEN)


def test_another_token_reason_or_end_is_no_repetition(
    meta_client: MetaClient, dataset: str
) -> None:
    send = meta_client.resources.LockResource
    send(request_for(dataset))
    other_reason = request_for(dataset)
    other_reason.reason = "another"

    for request in (
        other_reason,
        request_for(dataset, "another"),
        request_for(dataset, ends_at_nanos=4 * 10**18),
        pb.LockResourceRequest(resource=ref("dataset", dataset), reason=REASON),
    ):
        with pytest.raises(Locked):
            send(request)
    assert send(request_for(dataset)).resource.lock_reason == REASON


@pytest.mark.parametrize("digest", ["", "ab", "g" * 64, "A" * 64, "a" * 63, "a" * 65])
def test_a_digest_is_64_digits(meta_client: MetaClient, dataset: str, digest: str) -> None:
    request = request_for(dataset)
    request.token_digest = digest

    with pytest.raises(InvalidArgument, match="token_digest is not a SHA-256"):
        meta_client.resources.LockResource(request)
