"""RegisterMergedSegments: many registrations in one call, each answered as if it had come alone."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from threading import Thread
from uuid import uuid4

import grpc
import pytest
from sqlalchemy import text

from meta.client import MetaClient, refused_part
from meta.config import Settings
from meta.errors import (
    ExcessEvents,
    InvalidArgument,
    KeyTaken,
    MetaError,
    NotFound,
    OffsetConflict,
    OffsetNotCommitted,
)
from meta.v1 import nursery_pb2
from meta.v1.operations_pb2 import RegisterMergedSegmentsRequest, RegistrationResult
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

Request = nursery_pb2.RegisterMergedSegmentRequest


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """Wait for a lock shortly, so that a batch gives up soon."""
    database = replace(meta_settings.database, lock_timeout_ms=2_000)
    return replace(meta_settings, database=database)


@pytest.fixture
def datasets(catalog: CatalogDriver) -> list[str]:
    return [catalog.dataset() for _ in range(3)]


@pytest.fixture
def stream(catalog: CatalogDriver, collector: IngestionDriver, datasets: list[str]) -> str:
    """Give a stream with ten committed babies of all the datasets."""
    token = catalog.token(datasets[0])
    catalog.route(token, logs=datasets[0], traces=datasets[1], metrics=datasets[2])
    stream_id = collector.register(token).stream_id
    for offset in range(10):
        collector.commit(stream_id, offset, *datasets)
    return stream_id


def register(client: MetaClient, requests: Iterable[Request]) -> Sequence[RegistrationResult]:
    request = RegisterMergedSegmentsRequest(registrations=requests)
    return client.operations.RegisterMergedSegments(request).results


def refusals(results: Iterable[RegistrationResult]) -> list[type[MetaError] | None]:
    return [type(refused_part(r.refusal)) if r.HasField("refusal") else None for r in results]


def test_each_dataset_gets_its_segment_and_its_offset(
    meta_client: MetaClient, nursery: NurseryDriver, stream: str, datasets: list[str]
) -> None:
    requests = [
        nursery.request(d, (stream, -1, 4), segment=nursery.segment(d)) for d in datasets[:2]
    ]
    requests.append(nursery.request(datasets[2], (stream, -1, 5)))

    results = register(meta_client, requests)

    assert refusals(results) == [None, None, None]
    assert {r.segment_version for r in results} == {results[0].segment_version}
    assert [nursery.merged_offset(stream, d) for d in datasets] == [4, 4, 5]


def test_each_registration_is_refused_for_its_own_reason_and_no_other(
    meta_client: MetaClient, nursery: NurseryDriver, stream: str, datasets: list[str]
) -> None:
    first, second, third = datasets
    taken = nursery.segment(third)
    nursery.register(third, (stream, -1, 0), segment=taken)
    many = nursery.segment(second)
    many.number_of_events = 1_000_000

    results = register(
        meta_client,
        [
            nursery.request(first, (stream, 3, 4), segment=nursery.segment(first)),
            nursery.request(first, segment=nursery.segment(first)),
            nursery.request(str(uuid4()), (stream, -1, 4)),
            nursery.request(first, (stream, -1, 4), segment=nursery.segment(first)),
            nursery.request(second, (stream, -1, 10), segment=nursery.segment(second)),
            nursery.request(third, (stream, 0, 3), segment=taken),
            nursery.request(second, (stream, -1, 2), segment=many),
        ],
    )

    assert refusals(results) == [
        OffsetConflict,
        InvalidArgument,
        NotFound,
        None,
        OffsetNotCommitted,
        KeyTaken,
        ExcessEvents,
    ]
    assert results[0].refusal.metadata[f"merged_offset.{stream}"] == "-1"
    assert results[0].refusal.code == grpc.StatusCode.ABORTED.value[0]
    assert results[1].refusal.field == "stream_offsets"
    assert [nursery.merged_offset(stream, d) for d in datasets] == [4, -1, 0]


def test_the_same_call_again_answers_the_first_versions(
    meta_client: MetaClient, nursery: NurseryDriver, stream: str, datasets: list[str]
) -> None:
    requests = [nursery.request(d, (stream, -1, 4), segment=nursery.segment(d)) for d in datasets]
    first = register(meta_client, requests)
    nursery.merge(datasets[0], stream, 4, 7)

    again = register(meta_client, requests)

    assert [r.segment_version for r in again] == [r.segment_version for r in first]
    assert [nursery.merged_offset(stream, d) for d in datasets] == [7, 4, 4]


def test_registrations_of_one_entry_or_key_are_answered_one_after_the_other(
    meta_client: MetaClient, nursery: NurseryDriver, stream: str, datasets: list[str]
) -> None:
    dataset, other = datasets[:2]
    shared = nursery.segment(dataset)

    results = register(
        meta_client,
        [
            nursery.request(dataset, (stream, -1, 4), segment=shared),
            nursery.request(dataset, (stream, -1, 4), segment=shared),
            nursery.request(dataset, (stream, 4, 6), segment=nursery.segment(dataset)),
            nursery.request(dataset, (stream, 4, 9), segment=nursery.segment(dataset)),
            nursery.request(other, (stream, -1, 4)),
        ],
    )

    assert refusals(results) == [None, None, None, OffsetConflict, None]
    assert results[1].segment_version == results[0].segment_version
    assert results[2].segment_version > results[0].segment_version
    assert nursery.merged_offset(stream, dataset) == 6


def test_one_whose_rows_are_locked_waits_alone(
    meta_server: MetaServer, nursery: NurseryDriver, stream: str, datasets: list[str]
) -> None:
    locked, *others = datasets
    requests = [nursery.request(d, (stream, -1, 4), segment=nursery.segment(d)) for d in datasets]
    done: list[list[type[MetaError] | None]] = []

    def call() -> None:
        done.append(refusals(register(nursery.client, requests)))

    caller = Thread(target=call)
    lock = text("SELECT FROM datasets WHERE id = :id FOR UPDATE")
    with meta_server.running.database.write() as tx:
        tx.execute(lock, {"id": locked})
        caller.start()
        # Longer than the lock timeout: the batch gives up, and each of its calls runs alone.
        wait_until(
            lambda: all(nursery.merged_offset(stream, d) == 4 for d in others),
            "the others are registered",
        )
    caller.join()

    assert done == [[None, None, None]]
    assert nursery.merged_offset(stream, locked) == 4


def test_a_call_has_limits(
    meta_client: MetaClient, nursery: NurseryDriver, stream: str, datasets: list[str]
) -> None:
    dataset = datasets[0]
    unknown = [nursery.request(dataset, (str(uuid4()), -1, 0)) for _ in range(1_001)]
    segment = nursery.segment(dataset)
    full = nursery.request(dataset, (stream, -1, 4), segment=segment, more=[segment] * 99)
    wide = nursery.request(dataset, *((str(uuid4()), -1, 0) for _ in range(5_000)))

    with pytest.raises(InvalidArgument, match="must not be empty"):
        register(meta_client, [])
    with pytest.raises(InvalidArgument, match="1001 items, more than 1000"):
        register(meta_client, unknown)
    with pytest.raises(InvalidArgument, match="segments is 1001"):
        register(meta_client, [*[full] * 10, nursery.request(dataset, segment=segment)])
    with pytest.raises(InvalidArgument, match="stream_offsets is 10001"):
        register(meta_client, [wide, wide, unknown[0]])

    assert set(refusals(register(meta_client, unknown[:1_000]))) == {NotFound}
    assert set(refusals(register(meta_client, [full] * 10))) == {InvalidArgument}
    assert refusals(register(meta_client, [wide, wide])) == [NotFound, NotFound]


def test_a_registration_may_leave_the_streams_out_of_its_reply(
    nursery: NurseryDriver, stream: str, datasets: list[str]
) -> None:
    request = nursery.request(datasets[0], (stream, -1, 4), segment=nursery.segment(datasets[0]))
    request.omit_streams = True

    reply = nursery.client.nursery.RegisterMergedSegment(request)

    assert not reply.streams
    assert reply.response_seq == reply.segment_version
    assert nursery.poll(reply.response_seq - 1).response_seq >= reply.segment_version
    assert nursery.merged_offset(stream, datasets[0]) == 4
