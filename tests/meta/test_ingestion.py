"""DownloadConfig and SaveSegments."""

from uuid import uuid4

import pytest

from meta.client import MetaClient
from meta.errors import InvalidArgument, KeyTaken, NotFound, ObjectCondemned
from meta.v1 import common_pb2, ingestion_pb2, operations_pb2, segment_lookup_pb2
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.nursery import NurseryDriver


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset()


def download(client: MetaClient, worker_id: str = "w") -> ingestion_pb2.DownloadConfigResponse:
    return client.ingestion.DownloadConfig(ingestion_pb2.DownloadConfigRequest(worker_id=worker_id))


def save(client: MetaClient, *segments: common_pb2.CreateSegment) -> list[str]:
    request = ingestion_pb2.SaveSegmentsRequest(segments=segments)
    return list(client.ingestion.SaveSegments(request).ids)


def found(client: MetaClient) -> list[str]:
    request = segment_lookup_pb2.FindSegmentsRequest()
    return [s.id for s in client.segment_lookup.FindSegments(request).segments]


def test_the_default_dataset_is_there_from_the_start(meta_client: MetaClient) -> None:
    config = download(meta_client)

    default = config.default_dataset
    assert default.name == "default"
    assert config.cloud_object_prefix.prefix == f"dataset/{default.id}/merged"
    assert config.cloud_object_prefix.bucket.provider == "file"
    assert list(config.other_datasets) == []


def test_every_worker_gets_the_same_config(meta_client: MetaClient) -> None:
    assert download(meta_client, "") == download(meta_client, "never seen")


def test_the_version_of_the_config_changes_with_its_content(
    meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    first = download(meta_client).config_version
    assert download(meta_client).config_version == first

    made = catalog.dataset()

    assert download(meta_client).config_version != first
    assert [d.id for d in download(meta_client).other_datasets] == [made]


def test_saved_segments_are_found_under_ids_in_the_order_of_the_request(
    meta_client: MetaClient, nursery: NurseryDriver, catalog: CatalogDriver, dataset: str
) -> None:
    ids = save(
        meta_client,
        nursery.segment(dataset),
        nursery.segment(catalog.dataset()),
        nursery.segment(dataset),
    )

    assert len(set(ids)) == 3
    assert set(found(meta_client)) == set(ids)


def test_saving_again_answers_the_same_ids_whatever_the_order(
    meta_client: MetaClient, nursery: NurseryDriver, dataset: str
) -> None:
    first, second, third = (nursery.segment(dataset) for _ in range(3))
    ids = save(meta_client, first, second)

    again = save(meta_client, second, third, first)

    assert [again[2], again[0]] == ids
    assert len(found(meta_client)) == 3


def test_a_known_key_with_other_facts_saves_nothing(
    meta_client: MetaClient, nursery: NurseryDriver, dataset: str
) -> None:
    known = nursery.segment(dataset)
    save(meta_client, known)
    other = common_pb2.CreateSegment()
    other.CopyFrom(known)
    other.number_of_events += 1

    with pytest.raises(KeyTaken):
        save(meta_client, nursery.segment(dataset), other)

    assert len(found(meta_client)) == 1


def test_a_condemned_key_is_refused(
    meta_client: MetaClient, nursery: NurseryDriver, dataset: str
) -> None:
    segment = nursery.segment(dataset)
    key = f"dataset/{dataset}/merged/{segment.cloud_object_key.key}"
    meta_client.operations.CondemnObjects(
        operations_pb2.CondemnObjectsRequest(object_keys=[key], written_by_caller=True)
    )

    with pytest.raises(ObjectCondemned):
        save(meta_client, segment)


def test_segments_of_unknown_datasets_are_not_found(
    meta_client: MetaClient, nursery: NurseryDriver
) -> None:
    with pytest.raises(NotFound):
        save(meta_client, nursery.segment(str(uuid4())))


@pytest.mark.one_meta
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"size_bytes": -1}, "segments[0].size_bytes"),
        ({"compressed_size_bytes": -1}, "segments[0].compressed_size_bytes"),
        ({"number_of_events": -1}, "segments[0].number_of_events"),
        ({"dataset_id": "x"}, "segments[0].dataset_id"),
        (
            {"time_range": common_pb2.TimeRange(start_time=2, end_time=1)},
            "segments[0].time_range",
        ),
        (
            {"cloud_object_key": common_pb2.CloudObjectKey(key="")},
            "segments[0].cloud_object_key.key",
        ),
        (
            {"cloud_object_key": common_pb2.CloudObjectKey(key="../elsewhere")},
            "segments[0].cloud_object_key",
        ),
        (
            {"cloud_object_key": common_pb2.CloudObjectKey(key="elsewhere.parquet")},
            "segments[0].cloud_object_key",
        ),
    ],
    ids=str,
)
def test_malformed_segments_are_refused_by_field(
    meta_client: MetaClient,
    nursery: NurseryDriver,
    dataset: str,
    change: dict[str, object],
    field: str,
) -> None:
    good = nursery.segment(dataset)
    facts = {descriptor.name: value for descriptor, value in good.ListFields()}
    wrong = common_pb2.CreateSegment(**facts | change)

    with pytest.raises(InvalidArgument) as refused:
        save(meta_client, wrong)

    assert refused.value.field == field


def test_empty_doubled_and_too_many_segments_are_refused(
    meta_client: MetaClient, nursery: NurseryDriver, dataset: str
) -> None:
    segment = nursery.segment(dataset)

    with pytest.raises(InvalidArgument):
        save(meta_client)
    with pytest.raises(InvalidArgument):
        save(meta_client, segment, segment)
    with pytest.raises(InvalidArgument):
        save(meta_client, *[nursery.segment(dataset) for _ in range(1_001)])
