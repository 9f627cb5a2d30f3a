"""CommitOffset: the order of its checks, replays, entries, usage."""

from uuid import uuid4

import pytest

from meta.client import MetaClient
from meta.errors import InvalidArgument, NotFound, OffsetGap, OffsetTaken
from meta.v1 import ingestion_pb2
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver

pytestmark = pytest.mark.one_meta
FLUSH = b"0123456789abcdef"


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset()


@pytest.fixture
def stream(catalog: CatalogDriver, collector: IngestionDriver, dataset: str) -> str:
    return collector.register(catalog.token(dataset)).stream_id


def test_offsets_are_committed_one_after_the_other(
    collector: IngestionDriver, stream: str, dataset: str
) -> None:
    replies = [collector.commit(stream, offset, dataset) for offset in range(3)]

    assert [reply.committed_offset for reply in replies] == [0, 1, 2]


def test_the_same_commit_again_is_ok_at_any_later_offset(
    collector: IngestionDriver, stream: str, dataset: str
) -> None:
    for offset in range(3):
        collector.commit(stream, offset, dataset, flush_id=FLUSH)

    reply = collector.commit(stream, 1, dataset, flush_id=FLUSH)

    assert reply.committed_offset == 2


def test_a_replay_without_flush_id_goes_by_the_four_facts(
    collector: IngestionDriver, stream: str, dataset: str
) -> None:
    collector.commit(stream, 0, dataset, flush_id=FLUSH)

    assert collector.commit(stream, 0).committed_offset == 0


@pytest.mark.parametrize("other", [{"size_bytes": 1}, {"num_records": 11}, {"flush_id": b"f" * 16}])
def test_another_commit_of_a_committed_offset_is_told_the_next_one(
    collector: IngestionDriver, stream: str, dataset: str, other: dict[str, int]
) -> None:
    collector.commit(stream, 0, dataset, flush_id=FLUSH)
    collector.commit(stream, 1, dataset)

    with pytest.raises(OffsetTaken) as refused:
        collector.commit(stream, 0, dataset, **{"flush_id": FLUSH} | other)  # type: ignore[arg-type]

    assert refused.value.metadata["next_offset"] == "2"


def test_a_gap_is_told_the_expected_offset(collector: IngestionDriver, stream: str) -> None:
    collector.commit(stream, 0)

    with pytest.raises(OffsetGap) as refused:
        collector.commit(stream, 2)

    assert refused.value.metadata["expected_offset"] == "1"


def test_an_unknown_stream_is_not_found(collector: IngestionDriver) -> None:
    with pytest.raises(NotFound):
        collector.commit(str(uuid4()), 0)


def test_a_stamped_dataset_that_does_not_exist_is_named_also_on_replay(
    collector: IngestionDriver, stream: str, dataset: str
) -> None:
    gone = str(uuid4())

    first = collector.commit(stream, 0, dataset, gone)
    again = collector.commit(stream, 0, dataset, gone)

    assert list(first.deleted_dataset_ids) == [gone]
    assert list(again.deleted_dataset_ids) == [gone]


@pytest.mark.parametrize(
    "wrong",
    [
        {"stream_id": "x"},
        {"committed_offset": -1},
        {"start_time": 2, "end_time": 1},
        {"start_time": -1},
        {"size_bytes": -1},
        {"num_records": -1},
        {"flush_id": b"short"},
        {"dataset_ids": ["x"]},
        {"dataset_ids": ["0198a7c0-0000-7000-8000-00000000000d"] * 2},
        {"dataset_records": [1]},
    ],
    ids=str,
)
def test_malformed_commits_are_refused(
    meta_client: MetaClient, stream: str, wrong: dict[str, object]
) -> None:
    request = ingestion_pb2.CommitOffsetRequest(**{"stream_id": stream} | wrong)  # type: ignore[arg-type]

    with pytest.raises(InvalidArgument) as refused:
        meta_client.ingestion.CommitOffset(request)

    assert refused.value.field
