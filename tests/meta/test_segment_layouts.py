"""Layouts: FindSegments names the promoted columns of its segments once a page."""

from collections.abc import Sequence

import pytest

from meta.client import MetaClient
from meta.services.lookup import segment_layouts
from meta.services.messages import convert
from meta.v1 import operations_pb2, segment_lookup_pb2
from meta.v1.common_pb2 import (
    ATTRIBUTE_SCOPE_RECORD,
    KQL_TYPE_LONG,
    CreateSegment,
    PromotedColumn,
    SegmentFacts,
)
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import set_settings
from tests.support.meta.segments import EPOCH, Writer, segment_of

COLUMNS_A_DATASET = 100
# A character of four bytes: names of 255 of them are the longest definitions there are.
LONG = "\U0001f4a1" * 252


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


@pytest.fixture
def writer(meta_client: MetaClient) -> Writer:
    return Writer(meta_client)


def promote(client: MetaClient, dataset: str, *names: str) -> list[PromotedColumn]:
    """Set the promoted columns; answers them with their field ids."""
    columns = [
        PromotedColumn(name=name, type=KQL_TYPE_LONG, scope=ATTRIBUTE_SCOPE_RECORD, attribute=name)
        for name in names
    ]
    promoted = operations_pb2.PromotedColumns(columns=columns)
    settings = operations_pb2.DatasetSettings(promoted_columns=promoted)
    return list(set_settings(client, dataset, settings).promoted_columns.columns)


def with_ids(
    dataset: str, number: int, field_ids: Sequence[int], version: int = 2
) -> CreateSegment:
    """A segment with promoted columns; `number` tells its place among the others."""
    segment = segment_of(dataset, EPOCH + number)
    segment.facts.CopyFrom(SegmentFacts(format_version=version, promoted_field_ids=field_ids))
    return segment


def columns_of(
    page: segment_lookup_pb2.FindSegmentsResponse,
) -> list[list[PromotedColumn] | None]:
    """The promoted columns of each segment of a page; None where they are not known."""
    assert not any(segment.facts.promoted_field_ids for segment in page.segments)
    return [
        list(page.layouts[segment.layout].promoted_columns) if segment.HasField("layout") else None
        for segment in page.segments
    ]


def test_a_page_names_promoted_columns_once(
    meta_client: MetaClient, writer: Writer, dataset: str
) -> None:
    first, second = promote(meta_client, dataset, "first", "second")
    both = [first.field_id, second.field_id]
    writer.save(
        with_ids(dataset, 0, both), with_ids(dataset, 1, both[:1]), with_ids(dataset, 2, both)
    )

    page = writer.find("web")

    assert columns_of(page) == [[first, second], [first], [first, second]]
    assert len(page.layouts) == 2


def test_a_former_column_is_still_named(
    meta_client: MetaClient, writer: Writer, dataset: str
) -> None:
    (former,) = promote(meta_client, dataset, "former")
    promote(meta_client, dataset, "other")
    writer.save(with_ids(dataset, 0, [former.field_id]))

    assert columns_of(writer.find("web")) == [[former]]


def test_equal_ids_of_two_datasets_are_two_layouts(
    meta_client: MetaClient, writer: Writer, catalog: CatalogDriver, dataset: str
) -> None:
    other = catalog.dataset("shop")
    (own,), (foreign,) = (
        promote(meta_client, dataset, "own"),
        promote(meta_client, other, "foreign"),
    )
    assert own.field_id == foreign.field_id
    writer.save(*(with_ids(one, 0, [own.field_id]) for one in (dataset, other)))

    assert columns_of(writer.find("web", "shop")) == [[own], [foreign]]


def test_a_column_that_the_server_does_not_know_has_its_id_alone(
    writer: Writer, dataset: str
) -> None:
    writer.save(with_ids(dataset, 0, [7_000]))

    assert columns_of(writer.find("web")) == [[PromotedColumn(field_id=7_000)]]


def test_a_segment_of_unknown_columns_has_no_layout(writer: Writer, dataset: str) -> None:
    """Files of format 1 have no field ids, so none says nothing about their columns."""
    writer.save(
        segment_of(dataset, EPOCH), with_ids(dataset, 1, [], version=1), with_ids(dataset, 2, [])
    )

    assert columns_of(writer.find("web")) == [None, None, []]


def test_segments_by_id_carry_their_field_ids(writer: Writer, dataset: str) -> None:
    (segment_id,) = writer.save(with_ids(dataset, 0, [1_000, 1_002]))

    (segment,) = writer.get(segment_id)

    assert list(segment.facts.promoted_field_ids) == [1_000, 1_002]
    assert not segment.HasField("layout")


@pytest.mark.parametrize(("more", "pages"), [(0, [100]), (1, [100, 1])])
def test_a_page_ends_where_it_has_too_many_columns(
    writer: Writer, dataset: str, more: int, pages: list[int]
) -> None:
    count = segment_layouts.COLUMNS_MAX // COLUMNS_A_DATASET + more
    saved = writer.save(
        *(
            with_ids(dataset, n, range(1_000 + n, 1_000 + n + COLUMNS_A_DATASET))
            for n in range(count)
        )
    )

    sizes, ids = _pages(writer)

    assert (sizes, ids) == (pages, saved)


def test_a_page_ends_where_its_layouts_have_no_room(
    meta_client: MetaClient, writer: Writer, dataset: str
) -> None:
    columns = promote(meta_client, dataset, *(f"{LONG}{n:03}" for n in range(COLUMNS_A_DATASET)))
    ids = [column.field_id for column in columns]
    saved = writer.save(
        *(with_ids(dataset, n, [own for own in ids if own != ids[n]]) for n in range(20))
    )

    sizes, found = _pages(writer)

    assert found == saved
    assert len(sizes) == 2
    assert sizes[0] > sizes[1]


def _pages(writer: Writer) -> tuple[list[int], list[str]]:
    """The number of segments of each page, none of which is too large, and all ids."""
    sizes: list[int] = []
    ids: list[str] = []
    cursor: str | None = None
    while True:
        page = writer.find("web", cursor=cursor)
        assert page.ByteSize() <= convert.REPLY_BYTES_MAX
        columns_of(page)
        sizes.append(len(page.segments))
        ids += [segment.id for segment in page.segments]
        cursor = page.page.next_cursor
        if not cursor:
            return sizes, ids
