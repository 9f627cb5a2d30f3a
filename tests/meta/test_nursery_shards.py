"""Shards of streams, leased to nurseries: one holder each, in even shares, until a lease ends."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psycopg
import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import InvalidArgument
from meta.v1.nursery_pb2 import GetIngestStreamsRequest
from meta.v1.operations_pb2 import LeaseNurseryShardsRequest
from tests.support.nursery.drivers import CollectorDriver, dataset

LEASE_SECS = 600.0
ALL = list(range(64))


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """A lease that no test outlives by accident."""
    lifetimes = replace(meta_settings.lifetimes, nursery_lease=LEASE_SECS)
    return replace(meta_settings, lifetimes=lifetimes)


def lease(client: MetaClient, nursery_id: str, *, renew_only: bool = False) -> list[int]:
    request = LeaseNurseryShardsRequest(nursery_id=nursery_id, renew_only=renew_only)
    reply = client.operations.LeaseNurseryShards(request)
    assert (reply.shard_count, reply.lease_secs) == (64, LEASE_SECS)
    return list(reply.shard_indexes)


def settle(client: MetaClient, nursery_ids: Sequence[str]) -> dict[str, list[int]]:
    """The shards of each after everybody has called twice."""
    for _ in range(2):
        for nursery_id in nursery_ids:
            lease(client, nursery_id)
    return {nursery_id: lease(client, nursery_id, renew_only=True) for nursery_id in nursery_ids}


def expire(database_url: str, nursery_id: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "UPDATE nurseries SET lease_until = now() - interval '1 second' WHERE id = %s",
            (nursery_id,),
        )


def test_a_nursery_alone_gets_all_shards(meta_client: MetaClient) -> None:
    assert lease(meta_client, "a") == ALL
    assert lease(meta_client, "a") == ALL


@pytest.mark.parametrize("count", [2, 3, 5, 70])
def test_nurseries_that_join_get_even_shares(meta_client: MetaClient, count: int) -> None:
    lease(meta_client, "0")

    held = settle(meta_client, [str(number) for number in range(count)])

    assert sorted(shard for shards in held.values() for shard in shards) == ALL
    assert max(map(len, held.values())) == -(-64 // count)


def test_a_renewal_changes_no_assignment(meta_client: MetaClient) -> None:
    lease(meta_client, "a")
    assert lease(meta_client, "b") == []

    assert lease(meta_client, "a", renew_only=True) == ALL
    assert lease(meta_client, "b", renew_only=True) == []


def test_shards_of_a_nursery_that_leaves_are_free_at_once(meta_client: MetaClient) -> None:
    settle(meta_client, ["a", "b"])

    for _ in range(2):
        request = LeaseNurseryShardsRequest(nursery_id="a", leave=True)
        meta_client.operations.LeaseNurseryShards(request)

    assert lease(meta_client, "b") == ALL


def test_shards_of_a_nursery_that_died_are_free_once_its_lease_is_over(
    meta_client: MetaClient, database_url: str
) -> None:
    settle(meta_client, ["a", "b"])
    assert len(lease(meta_client, "b")) == 32

    expire(database_url, "a")

    assert lease(meta_client, "b") == ALL
    assert lease(meta_client, "a", renew_only=True) == []


def test_no_shard_has_two_holders_when_nurseries_call_at_the_same_time(
    meta_client: MetaClient, database_url: str
) -> None:
    names = [str(number) for number in range(6)]
    with ThreadPoolExecutor(len(names)) as pool:
        for _ in range(5):
            list(pool.map(lambda name: lease(meta_client, name), names))
    held = [shard for name in names for shard in lease(meta_client, name, renew_only=True)]

    assert sorted(held) == ALL


def test_a_poll_reads_the_shards_that_it_names(meta_client: MetaClient) -> None:
    def streams(*indexes: int) -> set[str]:
        request = GetIngestStreamsRequest(shard_indexes=indexes, shard_count=64)
        return {
            s.stream_id for s in meta_client.nursery.GetIngestStreamsForNursery(request).streams
        }

    made = {CollectorDriver(meta_client, dataset(meta_client)).stream_id for _ in range(8)}

    assert streams(*ALL) == made
    assert streams(*ALL[:32]) | streams(*ALL[32:]) == made
    assert not streams(*ALL[:32]) & streams(*ALL[32:])


@pytest.mark.parametrize(
    "request_",
    [
        LeaseNurseryShardsRequest(nursery_id=""),
        LeaseNurseryShardsRequest(nursery_id="x", leave=True, renew_only=True),
    ],
    ids=["no name", "leave and stay"],
)
def test_a_lease_that_makes_no_sense_is_refused(
    meta_client: MetaClient, request_: LeaseNurseryShardsRequest
) -> None:
    with pytest.raises(InvalidArgument):
        meta_client.operations.LeaseNurseryShards(request_)


@pytest.mark.parametrize(
    "request_",
    [
        GetIngestStreamsRequest(shard_indexes=[64], shard_count=64),
        GetIngestStreamsRequest(shard_indexes=[1, 1], shard_count=64),
        GetIngestStreamsRequest(shard_indexes=[1], shard_index=2, shard_count=64),
    ],
    ids=["beyond", "twice", "both forms"],
)
def test_shards_that_make_no_sense_are_refused(
    meta_client: MetaClient, request_: GetIngestStreamsRequest
) -> None:
    with pytest.raises(InvalidArgument):
        meta_client.nursery.GetIngestStreamsForNursery(request_)
