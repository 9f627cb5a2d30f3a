"""CatalogService's datasets over the real server."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psycopg
import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import CursorInvalid, InvalidArgument, NotFound, QuotaExceeded
from meta.v1.catalog_pb2 import (
    CreateDatasetRequest,
    GetDatasetRequest,
    ListDatasetsRequest,
    PaginationRequest,
)


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """Allow few datasets, so that the limit is near."""
    return replace(meta_settings, datasets_max=12)


def test_the_same_name_again_is_the_same_dataset(meta_client: MetaClient) -> None:
    first = meta_client.catalog.CreateDataset(CreateDatasetRequest(name="web"))

    again = meta_client.catalog.CreateDataset(CreateDatasetRequest(name="web"))

    assert (again.id, again.name) == (first.id, "web")


def test_many_that_create_one_name_get_one_dataset(meta_client: MetaClient) -> None:
    def create(_: int) -> str:
        return str(meta_client.catalog.CreateDataset(CreateDatasetRequest(name="web")).id)

    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(create, range(16)))

    assert len(ids) == 1


BLANK_NAMES = (" ", " web", "web ", "web\u00a0", "\u3000web")


@pytest.mark.parametrize(
    "name",
    ["", "x" * 256, "tab\there", "nul\0", "c1\u0085", "a\u2028b", "a\u202eb", *BLANK_NAMES],
)
def test_a_bad_name_is_refused_by_field(meta_client: MetaClient, name: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        meta_client.catalog.CreateDataset(CreateDatasetRequest(name=name))

    assert refused.value.field == "name"


@pytest.mark.parametrize("name", ["x" * 255, "web shop", "Überblick", "日本", "a.b:c-d_e"])
def test_an_ordinary_name_is_taken(meta_client: MetaClient, name: str) -> None:
    assert meta_client.catalog.CreateDataset(CreateDatasetRequest(name=name)).name == name


@pytest.mark.parametrize("name", BLANK_NAMES)
def test_a_dataset_of_an_earlier_release_keeps_its_name(
    meta_client: MetaClient, database_url: str, name: str
) -> None:
    made = meta_client.catalog.CreateDataset(CreateDatasetRequest(name="web"))
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE datasets SET name = %s WHERE id = %s", (name, made.id))

    again = meta_client.catalog.CreateDataset(CreateDatasetRequest(name=name))
    found = meta_client.catalog.GetDataset(GetDatasetRequest(name=name))

    assert made.id == again.id == found.id


def test_a_dataset_is_read_by_id_in_any_form_and_by_name(meta_client: MetaClient) -> None:
    made = meta_client.catalog.CreateDataset(CreateDatasetRequest(name="web"))

    by_name = meta_client.catalog.GetDataset(GetDatasetRequest(name="web"))
    by_id = meta_client.catalog.GetDataset(GetDatasetRequest(id=made.id.upper()))

    assert by_name.id == by_id.id == made.id
    with pytest.raises(NotFound):
        meta_client.catalog.GetDataset(GetDatasetRequest(name="Web"))
    with pytest.raises(InvalidArgument):
        meta_client.catalog.GetDataset(GetDatasetRequest())
    with pytest.raises(InvalidArgument):
        meta_client.catalog.GetDataset(GetDatasetRequest(id="7"))


def test_one_dataset_more_than_the_limit_is_refused(meta_client: MetaClient) -> None:
    for number in range(11):
        meta_client.catalog.CreateDataset(CreateDatasetRequest(name=f"d{number}"))

    with pytest.raises(QuotaExceeded):
        meta_client.catalog.CreateDataset(CreateDatasetRequest(name="one more"))


def test_pages_follow_one_another_both_ways_and_count_exactly(meta_client: MetaClient) -> None:
    names = ["default", *(f"d{number}" for number in range(6))]
    for name in names[1:]:
        meta_client.catalog.CreateDataset(CreateDatasetRequest(name=name))

    def page(**pagination: object) -> tuple[list[str], str, str]:
        reply = meta_client.catalog.ListDatasets(
            ListDatasetsRequest(pagination=PaginationRequest(limit=3, **pagination))  # type: ignore[arg-type]
        )
        assert reply.pagination.total == 7
        return (
            [d.name for d in reply.items],
            reply.pagination.next_cursor,
            reply.pagination.prev_cursor,
        )

    first, next1, prev1 = page()
    second, next2, prev2 = page(after=next1)
    third, next3, prev3 = page(after=next2)
    assert first + second + third == names
    assert (prev1, next3) == ("", "")
    back, _, before_back = page(before=prev3)
    assert back == second
    assert page(before=before_back) == (first, next1, "")
    assert prev2


def test_a_cursor_of_another_list_is_invalid(meta_client: MetaClient) -> None:
    meta_client.catalog.CreateDataset(CreateDatasetRequest(name="web"))
    one = meta_client.catalog.ListDatasets(
        ListDatasetsRequest(pagination=PaginationRequest(limit=1))
    )
    cursor = one.pagination.next_cursor

    for broken in (cursor[:-2], "?", cursor[::-1], "AAAA"):
        with pytest.raises(CursorInvalid):
            meta_client.catalog.ListDatasets(
                ListDatasetsRequest(pagination=PaginationRequest(after=broken))
            )
    with pytest.raises(InvalidArgument):
        meta_client.catalog.ListDatasets(
            ListDatasetsRequest(pagination=PaginationRequest(after=cursor, before=cursor))
        )
