"""Streams of changes that the server ends: their readers go on elsewhere, and miss nothing."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import grpc
import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import Overloaded, Unavailable
from meta.rpc import pipeline
from meta.server import server
from meta.v1.operations_pb2_grpc import OperationsServiceStub
from tests.support.followers import Follower
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import Writer
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

SEGMENTS, BATCH = 4_000, 200
SILENCE_SECS = 0.5


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """One place for a watcher."""
    return replace(meta_settings, watchers_max=1)


def test_a_server_that_shuts_down_ends_its_streams_and_nothing_is_skipped(
    meta_server: MetaServer, meta_settings: Settings, catalog: CatalogDriver, writer: Writer
) -> None:
    dataset = catalog.dataset("web")
    since = writer.find("web").snapshot_version
    # A second server on the same database.
    leaving = server.start(meta_settings)
    with MetaClient(f"127.0.0.1:{leaving.port}") as there, ThreadPoolExecutor(1) as pool:
        try:
            follower = Follower(there, since)
            writer.save_many(dataset, 5)
            follower.follow(writer.find("web").snapshot_version)
            # Commits go on at the other server while this one leaves.
            committed = pool.submit(lambda: [writer.save_many(dataset, 2) for _ in range(20)])
            follower.receive()
        finally:
            leaving.stop(5.0)
        ended = follower.end()
        committed.result(60)

    again = Follower(meta_server.client, follower.through)
    reply = writer.find("web")

    assert isinstance(ended, Unavailable)
    assert "resume" in ended.message
    # A set that is told of a segment twice holds it once, so the two parts are added up.
    later = again.follow(reply.snapshot_version)
    assert not follower.shown & later
    assert follower.shown | later == {one.id for one in reply.segments}
    again.call.cancel()


def test_a_reader_that_takes_nothing_is_dropped_and_resumes_where_it_is(
    meta_server: MetaServer,
    catalog: CatalogDriver,
    writer: Writer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pipeline, "WRITE_SECS", SILENCE_SECS)
    dataset = catalog.dataset("web")
    since = writer.find("web").snapshot_version
    for _ in range(SEGMENTS // BATCH):
        writer.save_many(dataset, BATCH)
    version = writer.find("web").snapshot_version
    # Otherwise the window of its connection grows, and takes in all there is.
    options = [("grpc.http2.bdp_probe", 0), ("grpc.use_local_subchannel_pool", 1)]
    channel = grpc.insecure_channel(meta_server.address, options)
    stub = OperationsServiceStub(channel)
    idle = Follower(cast(MetaClient, SimpleNamespace(operations=stub)), since)
    idle.receive()
    # The only place is free once the first reader is dropped.
    held: list[Follower] = []

    def has_place() -> bool:
        other = Follower(meta_server.client, version)
        try:
            other.receive()
        except Overloaded:
            return False
        held.append(other)
        return True

    wait_until(has_place, "a place", seconds=20)
    held.pop().call.cancel()

    ended = idle.end()
    rest = Follower(meta_server.client, idle.through)
    later = _followed(rest, version)

    assert isinstance(ended, Overloaded)
    assert "took nothing" in ended.message
    assert idle.through < version
    assert not idle.shown & later
    assert len(idle.shown) + len(later) == SEGMENTS
    channel.close()


def _followed(follower: Follower, version: int) -> set[str]:
    try:
        return follower.follow(version)
    finally:
        follower.call.cancel()
