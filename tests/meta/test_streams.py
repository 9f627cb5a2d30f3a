"""Streams from registration to retirement."""

from uuid import uuid4

import pytest

from meta.client import MetaClient
from meta.errors import (
    InvalidArgument,
    NotDrained,
    NotFound,
    StopMismatch,
    StreamStopped,
    TokenUnknown,
)
from meta.v1 import nursery_pb2
from tests.support.meta.catalog import CatalogDriver, Token
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver

pytestmark = pytest.mark.one_meta


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset()


@pytest.fixture
def token(catalog: CatalogDriver, dataset: str) -> Token:
    return catalog.token(dataset)


@pytest.fixture
def stream(collector: IngestionDriver, token: Token) -> str:
    return collector.register(token).stream_id


def drain(nursery: NurseryDriver, stream_id: str, dataset_id: str, seen: int, last: int) -> None:
    """Merge, reap and remove the entry of a stream with one dataset."""
    nursery.merge(dataset_id, stream_id, seen, last)
    nursery.reap(stream_id, last)
    nursery.remove_entry(stream_id, dataset_id, last)


def test_a_collector_has_one_stream_for_all_its_tokens(
    catalog: CatalogDriver, collector: IngestionDriver, dataset: str, token: Token
) -> None:
    first = collector.register(token)
    again = collector.register(token)
    second = collector.register(catalog.token(dataset))

    assert first.stream_id == again.stream_id == second.stream_id
    assert [first.created, again.created, second.created] == [True, False, False]
    assert first.config.cloud_object_prefix.prefix == f"ingest-stream/{first.stream_id}"
    assert first.routing.logs_dataset_id == dataset


def test_entries_begin_at_the_committed_offset(
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    stream: str,
    dataset: str,
) -> None:
    for offset in range(3):
        collector.commit(stream, offset, dataset)
    other = catalog.dataset()

    reply = collector.register(catalog.token(other))

    assert reply.next_offset == 3
    assert nursery.merged_offset(stream, dataset) == -1
    assert nursery.merged_offset(stream, other) == 2


def test_unknown_and_revoked_tokens_cannot_be_told_apart(
    catalog: CatalogDriver, collector: IngestionDriver, token: Token
) -> None:
    messages = set()
    catalog.revoke(token)
    unknown = token.plaintext[:-6] + "AAAAAA"
    for plaintext in ("", "nonsense", unknown, token.plaintext, "it_" + "é" * 49):
        with pytest.raises(TokenUnknown) as refused:
            collector.register(Token(token.id, plaintext))
        messages.add((refused.value.message, str(refused.value.metadata)))

    assert len(messages) == 1


def test_a_stop_at_the_committed_offset_ends_the_stream(
    collector: IngestionDriver, nursery: NurseryDriver, token: Token, stream: str
) -> None:
    collector.commit(stream, 0)

    nursery.stop(stream, 0)

    with pytest.raises(StreamStopped):
        collector.commit(stream, 1)
    assert collector.commit(stream, 0).committed_offset == 0
    assert nursery.stream(stream).stopped_offset == 0
    assert nursery.stream(stream).stopped_at_nanos > 0
    assert collector.register(token).stream_id != stream


def test_a_stop_commits_the_stop_message_behind_the_committed_offset(
    collector: IngestionDriver, nursery: NurseryDriver, stream: str
) -> None:
    collector.commit(stream, 0)

    nursery.stop(stream, 1)

    assert nursery.stream(stream).committed_offset == 1


def test_the_same_stop_again_is_ok_and_another_tells_the_offset(
    collector: IngestionDriver, nursery: NurseryDriver, stream: str
) -> None:
    collector.commit(stream, 0)
    with pytest.raises(StopMismatch) as refused:
        nursery.stop(stream, 2)
    assert refused.value.metadata["committed_offset"] == "0"

    nursery.stop(stream, 0)
    nursery.stop(stream, 0)

    with pytest.raises(StopMismatch) as refused:
        nursery.stop(stream, 1)
    assert refused.value.metadata["stopped_offset"] == "0"


@pytest.mark.parametrize("reason", [nursery_pb2.STOP_REASON_UNSPECIFIED, 9])
def test_a_stop_needs_a_reason(
    meta_client: MetaClient, stream: str, reason: nursery_pb2.StopReason.ValueType
) -> None:
    request = nursery_pb2.MarkStreamStoppedRequest(stream_id=stream, final_offset=-1, reason=reason)

    with pytest.raises(InvalidArgument):
        meta_client.nursery.MarkStreamStopped(request)


def test_unknown_streams_are_not_found(nursery: NurseryDriver, dataset: str) -> None:
    unknown = str(uuid4())

    with pytest.raises(NotFound):
        nursery.stop(unknown, -1)
    with pytest.raises(NotFound):
        nursery.reap(unknown, 0)
    nursery.remove_entry(unknown, dataset, 0)


def test_reaping_ends_at_the_smallest_merged_offset(
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    stream: str,
    dataset: str,
) -> None:
    other = catalog.dataset()
    collector.register(catalog.token(other))
    for offset in range(4):
        collector.commit(stream, offset, dataset, other)
    nursery.merge(dataset, stream, -1, 3)
    nursery.merge(other, stream, -1, 1)

    with pytest.raises(NotDrained) as refused:
        nursery.reap(stream, 2)
    assert refused.value.metadata["merged_offset"] == "1"

    nursery.reap(stream, 1)
    nursery.reap(stream, 0)
    assert nursery.stream(stream).deleted_offset == 1
    assert nursery.stream(stream).datasets[0].deleted_offset == 1


def test_reaping_a_stream_reaps_no_other(
    collector: IngestionDriver, nursery: NurseryDriver, token: Token, stream: str, dataset: str
) -> None:
    other = IngestionDriver(collector.client, f"collector-{uuid4().hex}").register(token).stream_id
    collector.commit(stream, 0, dataset)
    nursery.merge(dataset, stream, -1, 0)

    nursery.reap(stream, 0)

    assert [nursery.stream(s).deleted_offset for s in (stream, other)] == [0, -1]


def test_a_stopped_and_drained_stream_retires(
    collector: IngestionDriver, nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    collector.commit(stream, 0, dataset)
    nursery.stop(stream, 1)
    before = nursery.poll().response_seq

    drain(nursery, stream, dataset, -1, 1)

    assert stream not in [s.stream_id for s in nursery.poll().streams]
    changes = nursery.poll(since_seq=before)
    assert list(changes.removed_stream_ids) == [stream]
    assert [(e.stream_id, e.dataset_id) for e in changes.removed_entries] == [(stream, dataset)]


def test_an_empty_stream_retires_with_its_last_entry(
    nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    nursery.stop(stream, -1)

    nursery.remove_entry(stream, dataset, -1)

    assert stream not in [s.stream_id for s in nursery.poll().streams]


def test_an_entry_stays_while_a_token_routes_to_it(
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    token: Token,
    stream: str,
    dataset: str,
) -> None:
    collector.commit(stream, 0, dataset)
    nursery.merge(dataset, stream, -1, 0)
    with pytest.raises(NotDrained):
        nursery.remove_entry(stream, dataset, 0)
    nursery.reap(stream, 0)
    with pytest.raises(NotDrained):
        nursery.remove_entry(stream, dataset, 0)

    catalog.revoke(token)
    nursery.remove_entry(stream, dataset, 0)
    nursery.remove_entry(stream, dataset, 0)

    assert list(nursery.stream(stream).datasets) == []


def test_an_entry_stays_while_a_baby_for_it_waits(
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    token: Token,
    stream: str,
    dataset: str,
) -> None:
    collector.commit(stream, 0, dataset)
    nursery.merge(dataset, stream, -1, 0)
    nursery.reap(stream, 0)
    collector.commit(stream, 1, dataset)
    catalog.revoke(token)

    with pytest.raises(NotDrained):
        nursery.remove_entry(stream, dataset, 0)


def test_an_entry_stays_while_an_unstamped_baby_was_routed_to_it(
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    token: Token,
    dataset: str,
) -> None:
    stream = collector.register(token).stream_id
    other = catalog.dataset()
    collector.commit(stream, 0)
    catalog.route(token, logs=other)
    collector.commit(stream, 1)

    with pytest.raises(NotDrained):
        nursery.remove_entry(stream, dataset, -1)

    nursery.register(dataset, (stream, -1, 0))
    nursery.reap(stream, 0)
    nursery.remove_entry(stream, dataset, 0)


def test_a_later_stamped_commit_brings_an_entry_back_below_its_offset(
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    token: Token,
    stream: str,
    dataset: str,
) -> None:
    catalog.route(token, logs=catalog.dataset())
    collector.commit(stream, 0)
    nursery.register(dataset, (stream, -1, 0))
    other = nursery.stream(stream).datasets
    for entry in other:
        if entry.dataset_id != dataset:
            nursery.register(entry.dataset_id, (stream, -1, 0))
    nursery.reap(stream, 0)
    nursery.remove_entry(stream, dataset, 0)
    before = nursery.poll().response_seq

    collector.commit(stream, 1, dataset)

    assert nursery.merged_offset(stream, dataset) == 0
    assert nursery.poll().response_seq > before
