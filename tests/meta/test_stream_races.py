"""Calls about one stream at the same time: one order or the other, never a mixture."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from threading import Barrier
from typing import Any
from uuid import uuid4

import pytest

from meta import config
from meta.client import MetaClient
from meta.errors import (
    MetaError,
    NotDrained,
    ObjectCondemned,
    OffsetConflict,
    StopMismatch,
    StreamStopped,
)
from meta.server import server
from meta.v1 import operations_pb2
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.server import MetaServer

pytestmark = pytest.mark.one_meta

ROUNDS = 12


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset()


def together(*calls: Callable[[], object]) -> list[Any]:
    """Start all calls at once; answers what each returned or was refused with."""
    barrier = Barrier(len(calls))

    def run(call: Callable[[], object]) -> object:
        barrier.wait(10)
        try:
            return call()
        except MetaError as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def new_stream(
    catalog: CatalogDriver, collector: IngestionDriver, dataset: str, babies: int
) -> str:
    named = IngestionDriver(collector.client, str(uuid4()))
    stream = named.register(catalog.token(dataset)).stream_id
    for offset in range(babies):
        named.commit(stream, offset, dataset)
    return stream


def test_of_two_registrations_of_one_span_one_wins(
    catalog: CatalogDriver, collector: IngestionDriver, nursery: NurseryDriver, dataset: str
) -> None:
    for _ in range(ROUNDS):
        stream = new_stream(catalog, collector, dataset, 2)

        answers = together(*[partial(nursery.merge, dataset, stream, -1, 1)] * 3)

        versions = [a for a in answers if isinstance(a, int)]
        assert len(versions) == 1
        assert sum(isinstance(a, OffsetConflict) for a in answers) == 2


def test_the_same_registration_twice_at_once_is_one(
    catalog: CatalogDriver, collector: IngestionDriver, nursery: NurseryDriver, dataset: str
) -> None:
    for _ in range(ROUNDS):
        stream = new_stream(catalog, collector, dataset, 2)
        segment = nursery.segment(dataset)

        answers = together(
            *[partial(nursery.register, dataset, (stream, -1, 1), segment=segment)] * 3
        )

        assert len({answer.segment_version for answer in answers}) == 1


def test_a_commit_and_a_stop_agree_on_the_last_offset(
    catalog: CatalogDriver, collector: IngestionDriver, nursery: NurseryDriver, dataset: str
) -> None:
    for _ in range(ROUNDS):
        stream = new_stream(catalog, collector, dataset, 1)

        committed, stopped = together(
            partial(collector.commit, stream, 1, dataset),
            partial(nursery.stop, stream, 0),
        )

        if isinstance(committed, StreamStopped):
            assert stopped is None
            assert nursery.stream(stream).stopped_offset == 0
        else:
            assert isinstance(stopped, StopMismatch)
            assert nursery.stream(stream).committed_offset == 1


def test_a_key_is_registered_or_condemned_never_both(
    catalog: CatalogDriver, collector: IngestionDriver, nursery: NurseryDriver, dataset: str
) -> None:
    client = collector.client
    for _ in range(ROUNDS):
        stream = new_stream(catalog, collector, dataset, 1)
        segment = nursery.segment(dataset)
        key = f"{segment.cloud_object_key.prefix.prefix}/{segment.cloud_object_key.key}"
        condemn = operations_pb2.CondemnObjectsRequest(object_keys=[key], written_by_caller=True)

        registered, condemned = together(
            partial(nursery.register, dataset, (stream, -1, 0), segment=segment),
            partial(client.operations.CondemnObjects, condemn),
        )

        if isinstance(registered, ObjectCondemned):
            assert list(condemned.condemned_keys) == [key]
        else:
            assert registered.segment_version > 0
            assert list(condemned.condemned_keys) == []


def test_a_baby_below_the_beginning_of_its_entry_is_said_to_be_foreign(
    catalog: CatalogDriver, collector: IngestionDriver, nursery: NurseryDriver, dataset: str
) -> None:
    """A collector that knows of the route stamps after it, so its babies are never foreign."""
    for _ in range(ROUNDS):
        token = catalog.token(dataset)
        named = IngestionDriver(collector.client, str(uuid4()))
        stream = named.register(token).stream_id
        other = catalog.dataset()

        committed, _ = together(
            partial(named.commit, stream, 0, other),
            partial(catalog.route, token, logs=other),
        )

        is_foreign = other in committed.foreign_dataset_ids
        assert nursery.merged_offset(stream, other) == (0 if is_foreign else -1)


def test_an_entry_is_not_removed_under_a_commit_for_it(
    catalog: CatalogDriver, collector: IngestionDriver, nursery: NurseryDriver, dataset: str
) -> None:
    for _ in range(ROUNDS):
        token = catalog.token(dataset)
        named = IngestionDriver(collector.client, str(uuid4()))
        stream = named.register(token).stream_id
        catalog.revoke(token)

        committed, removed = together(
            partial(named.commit, stream, 0, dataset),
            partial(nursery.remove_entry, stream, dataset, -1),
        )

        assert committed.committed_offset == 0
        assert removed is None or isinstance(removed, NotDrained)
        assert nursery.merged_offset(stream, dataset) == -1


def test_one_collector_registering_at_once_gets_one_stream(
    catalog: CatalogDriver, collector: IngestionDriver, dataset: str
) -> None:
    token = catalog.token(dataset)
    for _ in range(ROUNDS):
        named = IngestionDriver(collector.client, str(uuid4()))

        replies = together(*[partial(named.register, token)] * 4)

        assert len({reply.stream_id for reply in replies}) == 1
        assert sum(reply.created for reply in replies) == 1


@pytest.mark.one_meta(False)
def test_many_streams_committing_at_once_lose_nothing(
    catalog: CatalogDriver, collector: IngestionDriver, nursery: NurseryDriver, dataset: str
) -> None:
    streams = [new_stream(catalog, collector, dataset, 0) for _ in range(16)]

    def commit_all(stream: str) -> None:
        for offset in range(20):
            assert collector.commit(stream, offset, dataset).committed_offset == offset

    answers = together(*[partial(commit_all, s) for s in streams])

    assert answers == [None] * 16
    assert {s.committed_offset for s in nursery.poll().streams} == {19}


def test_two_servers_over_one_database_are_one(
    meta_server: MetaServer,
    meta_settings: config.Settings,
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    dataset: str,
) -> None:
    second = server.start(replace(meta_settings, bind="127.0.0.1:0"))
    with MetaClient(f"127.0.0.1:{second.port}") as client:
        streams = [new_stream(catalog, collector, dataset, 0) for _ in range(4)]

        def work(stream: str, through: MetaClient) -> None:
            for offset in range(10):
                IngestionDriver(through, "").commit(stream, offset, dataset)

        together(*[partial(work, s, c) for s in streams for c in (meta_server.client, client)])
        versions = together(
            *[
                partial(NurseryDriver(c).merge, dataset, s, -1, 9)
                for s in streams
                for c in (meta_server.client, client)
            ]
        )

        assert sum(isinstance(v, int) for v in versions) == 4
        assert sum(isinstance(v, OffsetConflict) for v in versions) == 4
        assert nursery.poll().response_seq == NurseryDriver(client).poll().response_seq
    second.stop(2.0)


def test_the_same_commit_twice_at_once_is_one(
    catalog: CatalogDriver, collector: IngestionDriver, nursery: NurseryDriver, dataset: str
) -> None:
    for _ in range(ROUNDS):
        stream = new_stream(catalog, collector, dataset, 0)
        commit = partial(collector.commit, stream, 0, dataset, flush_id=b"0123456789abcdef")

        replies = together(*[commit] * 3)

        assert [reply.committed_offset for reply in replies] == [0, 0, 0]
        assert len(nursery.stream(stream).unmerged_babies) == 1


def test_a_stop_repeated_at_once_is_one(
    catalog: CatalogDriver, collector: IngestionDriver, nursery: NurseryDriver, dataset: str
) -> None:
    for _ in range(ROUNDS):
        stream = new_stream(catalog, collector, dataset, 1)

        answers = together(*[partial(nursery.stop, stream, 1)] * 3)

        assert answers == [None, None, None]
        assert nursery.stream(stream).committed_offset == 1
