"""WatchDataset: a stream of changes from any version on, for many readers at once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import grpc
import pytest

from meta.client import MetaClient, typed_error
from meta.config import Settings
from meta.errors import (
    InvalidArgument,
    NotFound,
    Overloaded,
    Unauthenticated,
    Unavailable,
)
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.followers import Follower
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import WorkerDriver, Writer
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

WATCHERS_MAX = 12


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    lifetimes = replace(meta_settings.lifetimes, watch_heartbeat=0.5)
    return replace(meta_settings, lifetimes=lifetimes, watchers_max=WATCHERS_MAX)


@pytest.fixture
def start(catalog: CatalogDriver, writer: Writer) -> int:
    """Give the version at which the dataset is empty."""
    catalog.dataset("web")
    return int(writer.find("web").snapshot_version)


@pytest.fixture
def dataset(catalog: CatalogDriver, start: int) -> str:
    return catalog.dataset("web")


@pytest.fixture
def followers(meta_client: MetaClient, start: int) -> Iterator[list[Follower]]:
    """Give three followers that are up to date."""
    made = [Follower(meta_client, start) for _ in range(3)]
    for follower in made:
        follower.receive()
    yield made
    for follower in made:
        follower.call.cancel()


def test_every_follower_shows_what_a_read_at_the_version_shows(
    writer: Writer, worker: WorkerDriver, dataset: str, followers: list[Follower]
) -> None:
    for _ in range(3):
        writer.save_many(dataset, 4)
        worker.plan()
        worker.merge_all()
        reply = writer.find("web")
        expected = {one.id for one in reply.segments}

        assert all(f.follow(reply.snapshot_version) == expected for f in followers)


def test_a_follower_resumes_where_it_was(
    meta_client: MetaClient, writer: Writer, dataset: str, followers: list[Follower]
) -> None:
    writer.save_many(dataset, 2)
    first = followers[0]
    first.follow(writer.find("web").snapshot_version)
    first.call.cancel()
    missed = writer.save_many(dataset, 3)

    again = Follower(meta_client, first.through)

    assert again.follow(writer.find("web").snapshot_version) == set(missed)
    again.call.cancel()


def test_nothing_is_missed_while_a_follower_catches_up(
    meta_client: MetaClient, writer: Writer, dataset: str, start: int
) -> None:
    """Several pages behind, while more comes and another follower is live."""
    for _ in range(25):
        writer.save_many(dataset, 100)
    live = Follower(meta_client, writer.find("web").snapshot_version)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: [writer.save_many(dataset, 1) for _ in range(20)])
        late = [Follower(meta_client, start) for _ in range(4)]
        for follower in late:
            follower.receive()
    reply = writer.find("web", limit=10_000)

    for follower in late:
        assert follower.follow(reply.snapshot_version) == {one.id for one in reply.segments}
    for follower in (*late, live):
        follower.call.cancel()


def test_heartbeats_move_the_place_to_resume(
    meta_client: MetaClient, catalog: CatalogDriver, writer: Writer, start: int
) -> None:
    follower = Follower(meta_client, start)
    writer.save_many(catalog.dataset("other"), 1)
    version = writer.find("other").snapshot_version

    assert follower.follow(version) == set()
    follower.call.cancel()


def test_one_watcher_more_than_there_may_be_is_refused(
    meta_server: MetaServer, meta_client: MetaClient, start: int
) -> None:
    watching = [Follower(meta_client, start) for _ in range(WATCHERS_MAX)]
    for follower in watching:
        follower.receive()
    # Without the retries of our client.
    with grpc.insecure_channel(
        meta_server.address, options=[("grpc.enable_retries", 0)]
    ) as channel:
        method = "/meta.v1.OperationsService/WatchDataset"
        raw = pb.WatchDatasetRequest(dataset_name="web", since_version=start).SerializeToString()
        call: Any = channel.unary_stream(method)
        stream = call(raw, timeout=30)
        with pytest.raises(grpc.RpcError) as refused:
            next(stream)

    assert isinstance(typed_error(refused.value), Overloaded)
    watching.pop().call.cancel()
    # Neither health nor other streams share the places.
    meta_client.operations.GetServerState(pb.GetServerStateRequest())
    assert list(meta_client.operations.CheckConsistency(iter([_END]), timeout=60))

    def is_free() -> bool:
        follower = Follower(meta_client, start)
        try:
            follower.receive()
        except Overloaded:
            return False
        watching.append(follower)
        return True

    wait_until(is_free, "a place", seconds=20)
    for follower in watching:
        follower.call.cancel()


_END = pb.CheckConsistencyRequest(end_of_listing=True)


def test_the_deletion_of_the_dataset_ends_its_streams(
    meta_client: MetaClient, dataset: str, followers: list[Follower]
) -> None:
    meta_client.catalog.DeleteDataset(catalog_pb2.DeleteDatasetRequest(id=dataset))

    assert {type(follower.end()) for follower in followers} == {NotFound}


def test_draining_ends_all_streams_at_once(
    meta_server: MetaServer, followers: list[Follower]
) -> None:
    with ThreadPoolExecutor(len(followers)) as pool:
        ended = [pool.submit(follower.end) for follower in followers]
        meta_server.running.loop.run(meta_server.running.feed.close())

    assert {type(one.result()) for one in ended} == {Unavailable}


def test_a_server_that_drains_begins_no_stream(
    meta_server: MetaServer, meta_client: MetaClient, start: int
) -> None:
    meta_server.running.loop.run(meta_server.running.feed.close())
    follower = Follower(meta_client, start)

    with pytest.raises(Unavailable):
        follower.receive()


def test_what_cannot_be_watched_is_refused(meta_client: MetaClient, start: int) -> None:
    assert isinstance(Follower(meta_client, start, "nobody").end(), NotFound)
    assert isinstance(Follower(meta_client, start + 100).end(), InvalidArgument)
    assert isinstance(Follower(meta_client, -1).end(), InvalidArgument)


class TestWithToken:
    """A server that needs a token."""

    @pytest.fixture
    def meta_settings(self, meta_settings: Settings) -> Settings:
        return replace(meta_settings, auth_token="secret")

    def test_a_watcher_without_the_token_is_refused(self, meta_server: MetaServer) -> None:
        with MetaClient(meta_server.address) as client:
            error = Follower(client, 0).end()

        assert isinstance(error, Unauthenticated)

    @pytest.mark.long
    def test_a_revoked_token_ends_its_streams(self, meta_server: MetaServer) -> None:
        with MetaClient(meta_server.address, auth_token="secret") as admin:
            CatalogDriver(admin).dataset("web")
            request = pb.CreateAccessTokenRequest(subject="spark", role="reader")
            made = admin.operations.CreateAccessToken(request)
            with MetaClient(meta_server.address, auth_token=made.plaintext_token) as reader:
                follower = Follower(reader, Writer(admin).find("web").snapshot_version)
                follower.receive()
                revoke = pb.RevokeAccessTokenRequest(token_id=made.token.id)
                admin.operations.RevokeAccessToken(revoke)

                assert isinstance(follower.end(), Unauthenticated)
