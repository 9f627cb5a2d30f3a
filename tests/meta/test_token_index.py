"""The place of a token index: checked, kept with the segment, and in replies of lookups."""

import pytest

from meta.client import MetaClient
from meta.errors import InvalidArgument
from meta.v1.common_pb2 import CreateSegment
from segments.token_index.place import BLOCK_BYTES_MAX, KIND_BLOCKS, NUM_BLOCKS
from segments.v1.written_facts_pb2 import TokenIndex
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import Writer, segment_of

pytestmark = pytest.mark.one_meta

SIZE = 10 * NUM_BLOCKS


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("indexed")


@pytest.fixture
def writer(meta_client: MetaClient) -> Writer:
    return Writer(meta_client)


def indexed(dataset: str, index: TokenIndex, size: int = SIZE, key: str = "") -> CreateSegment:
    segment = segment_of(dataset, compressed=size, key=key)
    segment.written_facts.token_index.CopyFrom(index)
    return segment


@pytest.mark.one_meta(False)
@pytest.mark.parametrize("kind", [KIND_BLOCKS, KIND_BLOCKS + 1])
def test_the_place_is_returned_as_it_was_registered(
    writer: Writer, dataset: str, kind: int
) -> None:
    index = TokenIndex(kind=kind, offset=7, length=2 * NUM_BLOCKS)
    plain, sized = writer.save(segment_of(dataset), indexed(dataset, index))

    for segments in (writer.find("indexed").segments, writer.get(plain, sized)):
        by_id = {segment.id: segment for segment in segments}
        assert by_id[sized].written_facts.token_index == index
        assert not by_id[plain].HasField("written_facts")


def test_a_repeated_registration_is_not_compared_by_it(writer: Writer, dataset: str) -> None:
    index = TokenIndex(kind=KIND_BLOCKS, offset=1, length=NUM_BLOCKS)
    first = indexed(dataset, index, key="again.parquet")
    again = segment_of(dataset, compressed=SIZE, key="again.parquet")

    assert writer.save(first) == writer.save(again)


@pytest.mark.parametrize(
    ("kind", "offset", "length"),
    [
        (0, 1, NUM_BLOCKS),
        (-1, 1, NUM_BLOCKS),
        (KIND_BLOCKS, 0, NUM_BLOCKS),
        (KIND_BLOCKS, -1, NUM_BLOCKS),
        (KIND_BLOCKS, 1, 0),
        (KIND_BLOCKS, 1, NUM_BLOCKS + 1),
        (KIND_BLOCKS, SIZE - NUM_BLOCKS + 1, NUM_BLOCKS),
        (KIND_BLOCKS + 1, 1, SIZE),
        (KIND_BLOCKS + 1, 2**63 - 1, 1),
    ],
)
def test_a_place_outside_the_object_is_refused(
    writer: Writer, dataset: str, kind: int, offset: int, length: int
) -> None:
    index = TokenIndex(kind=kind, offset=offset, length=length)

    with pytest.raises(InvalidArgument, match=r"segments\[0\]\.written_facts\.token_index"):
        writer.save(indexed(dataset, index))


def test_an_index_has_at_most_so_many_bytes(writer: Writer, dataset: str) -> None:
    index = TokenIndex(kind=KIND_BLOCKS, offset=1, length=BLOCK_BYTES_MAX * NUM_BLOCKS)
    size = index.length + NUM_BLOCKS + 1
    assert writer.save(indexed(dataset, index, size))

    index.length += NUM_BLOCKS
    with pytest.raises(InvalidArgument, match="too large"):
        writer.save(indexed(dataset, index, size))
