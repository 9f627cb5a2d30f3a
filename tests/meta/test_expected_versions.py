"""Two people change one catalog entry: the second change is refused, a repetition is not."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from meta.client import MetaClient
from meta.errors import InvalidArgument, RaceLost
from meta.v1 import catalog_pb2 as pb
from meta.v1 import operations_pb2 as ops
from meta.v1.common_pb2 import Column, ShardingField
from tests.meta.test_stream_races import together
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.schemas import make_projection, make_schema, make_view

pytestmark = pytest.mark.one_meta

C, D = Column(name="c"), Column(name="d")


@dataclass(frozen=True)
class Entry:
    """An entry and two changes of it; `read` answers its version and what is set."""

    read: Callable[[], Any]
    change: Callable[..., Any]
    first: dict[str, Any]
    second: dict[str, Any]


def schema(client: MetaClient) -> Entry:
    id_, catalog = make_schema(client), client.catalog
    return Entry(
        lambda: catalog.GetSchema(pb.GetSchemaRequest(id=id_)),
        lambda **change: catalog.UpdateSchema(pb.UpdateSchemaRequest(id=id_, **change)),
        {"new_name": "t", "add_columns": [C], "remove_columns": ["a"]},
        {"add_columns": [D]},
    )


def view(client: MetaClient) -> Entry:
    id_, catalog = make_view(client), client.catalog
    return Entry(
        lambda: catalog.GetView(pb.GetViewRequest(id=id_)),
        lambda **change: catalog.UpdateView(pb.UpdateViewRequest(id=id_, **change)),
        {"new_name": "w"},
        {"description": "of the shop"},
    )


def projection(client: MetaClient) -> Entry:
    id_, catalog = make_projection(client), client.catalog
    return Entry(
        lambda: catalog.GetProjection(pb.GetProjectionRequest(id=id_)),
        lambda **change: catalog.UpdateProjection(pb.UpdateProjectionRequest(id=id_, **change)),
        {"projection": "project body"},
        {"new_name": "q"},
    )


def sharding(client: MetaClient) -> Entry:
    id_, catalog = CatalogDriver(client).dataset(), client.catalog
    fields = [[ShardingField(field_name=name, weight=1)] for name in ("body", "service_name")]
    return Entry(
        lambda: catalog.GetShardingFields(pb.GetShardingFieldsRequest(id=id_)),
        lambda **change: catalog.SetShardingFields(pb.SetShardingFieldsRequest(id=id_, **change)),
        {"fields": fields[0]},
        {"fields": fields[1]},
    )


def settings(client: MetaClient) -> Entry:
    id_, operations = CatalogDriver(client).dataset(), client.operations
    limits = ops.IngestLimits(bytes_per_sec=7)
    return Entry(
        lambda: operations.GetDatasetSettings(ops.GetDatasetSettingsRequest(dataset_id=id_)),
        lambda **change: operations.SetDatasetSettings(
            ops.SetDatasetSettingsRequest(dataset_id=id_, **change)
        ),
        {"settings": ops.DatasetSettings(records_per_month=5)},
        {"settings": ops.DatasetSettings(ingest_limits=limits)},
    )


@pytest.fixture(params=[schema, view, projection, sharding, settings])
def entry(request: pytest.FixtureRequest, meta_client: MetaClient) -> Entry:
    made: Entry = request.param(meta_client)
    return made


@pytest.mark.one_meta(False)
def test_the_second_of_two_changes_for_one_version_is_refused(entry: Entry) -> None:
    version = entry.read().version
    after_first = entry.change(**entry.first, expected_version=version)

    with pytest.raises(RaceLost) as refused:
        entry.change(**entry.second, expected_version=version)

    current = entry.read()
    assert refused.value.metadata == {"expected_version": version, "version": current.version}
    assert after_first.version == current.version != version
    after_second = entry.change(**entry.second, expected_version=current.version)
    assert after_second.version == entry.read().version != current.version


@pytest.mark.one_meta(False)
def test_two_changes_at_the_same_time_are_not_both_made(entry: Entry) -> None:
    version = entry.read().version

    answers = together(
        *(partial(entry.change, **c, expected_version=version) for c in (entry.first, entry.second))
    )

    assert sorted(isinstance(answer, RaceLost) for answer in answers) == [False, True], answers


def test_a_change_that_succeeded_may_be_repeated(entry: Entry) -> None:
    version = entry.read().version
    made = entry.change(**entry.first, expected_version=version)

    again = entry.change(**entry.first, expected_version=version)

    assert again == made
    assert entry.read().version == made.version


@pytest.mark.one_meta(False)
def test_a_change_for_no_version_is_made_whatever_else_was_changed(entry: Entry) -> None:
    entry.change(**entry.first)

    assert entry.change(**entry.second).version == entry.read().version


@pytest.mark.one_meta(False)
@pytest.mark.parametrize("length", [0, 256])
def test_a_version_is_a_bounded_text(entry: Entry, length: int) -> None:
    with pytest.raises(InvalidArgument) as refused:
        entry.change(**entry.first, expected_version="v" * length)

    assert refused.value.field == "expected_version"


@pytest.mark.one_meta(False)
def test_lists_tell_the_versions_that_reads_tell(meta_client: MetaClient) -> None:
    entries = {kind.__name__: kind(meta_client) for kind in (schema, view, projection)}
    catalog = meta_client.catalog

    listed = {
        "schema": catalog.ListSchemas(pb.ListSchemasRequest()).items[0].version,
        "view": catalog.ListViews(pb.ListViewsRequest()).items[0].version,
        "projection": catalog.ListProjections(pb.ListProjectionsRequest()).items[0].version,
    }

    assert listed == {kind: entry.read().version for kind, entry in entries.items()}


def test_an_allowance_that_registrations_use_up_is_not_part_of_the_version(
    meta_client: MetaClient,
) -> None:
    entry = settings(meta_client)
    version = entry.read().version

    entry.change(settings=ops.DatasetSettings(excess_events_allowed=3))

    assert entry.read().version == version


def test_a_schema_change_for_the_present_version_is_checked_like_any_other(
    meta_client: MetaClient,
) -> None:
    entry = schema(meta_client)

    with pytest.raises(InvalidArgument, match="there is no column 'z'"):
        entry.change(remove_columns=["z"], expected_version=entry.read().version)
