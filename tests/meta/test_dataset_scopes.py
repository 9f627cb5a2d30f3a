"""A token that is limited to datasets shows no other, by name, id, total or error."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from uuid import uuid4

import grpc
import pytest

from meta import access
from meta import roles as role_calls
from meta.client import MetaClient, typed_error
from meta.config import Settings
from meta.errors import InvalidArgument, MetaError, NotFound, RoleRefused
from meta.roles import SCOPED_ROLES, Role
from meta.services.access.access_tokens import DATASETS_MAX
from meta.v1 import catalog_pb2, ingestion_pb2, janitor_pb2, segment_lookup_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.meta.segments import Writer, segment_of

UNKNOWN_ID = "01890000-0000-7000-8000-000000000000"


@dataclass(frozen=True)
class Scene:
    """Two datasets with a segment each, and a reader of the first."""

    guard: GuardedServer
    reader: MetaClient
    mine: str
    other: str
    my_segment: str
    other_segment: str
    other_pin: str


@pytest.fixture
def scene(meta_settings: Settings) -> Iterator[Scene]:
    with guarded(meta_settings) as guard:
        catalog = CatalogDriver(guard.admin)
        mine, other = catalog.dataset("mine"), catalog.dataset("other")
        writer = Writer(guard.admin)
        segments = writer.save(segment_of(mine), segment_of(other))
        pin = str(uuid4())
        guard.admin.operations.PinVersion(
            pb.PinVersionRequest(pin_id=pin, owner="o", dataset_name="other")
        )
        with guard.client(Role.READER, dataset_names=["mine"]) as reader:
            yield Scene(guard, reader, mine, other, segments[0], segments[1], pin)


def _refusal(call: Callable[[], object]) -> tuple[str, str, dict[str, str]]:
    try:
        call()
    except grpc.RpcError as error:
        refused = typed_error(error)
    except MetaError as error:
        refused = error
    else:
        pytest.fail("it was answered")
    return refused.reason, refused.message, dict(refused.metadata)


def test_lists_and_totals_hold_the_own_datasets_alone(scene: Scene) -> None:
    listed = scene.reader.catalog.ListDatasets(catalog_pb2.ListDatasetsRequest())
    found = scene.reader.segment_lookup.FindSegments(segment_lookup_pb2.FindSegmentsRequest())
    totals = scene.reader.janitor.GetJanitorStats(janitor_pb2.GetJanitorStatsRequest())
    sizes = scene.reader.janitor.GetSegmentSizeStats(janitor_pb2.GetSegmentSizeStatsRequest())
    config = scene.reader.ingestion.DownloadConfig(
        ingestion_pb2.DownloadConfigRequest(worker_id="w")
    )
    by_ids = scene.reader.segment_lookup.GetSegmentsByIds(
        segment_lookup_pb2.GetSegmentsByIdsRequest(
            segment_ids=[scene.my_segment, scene.other_segment]
        )
    )
    pins = scene.reader.operations.ListPins(pb.ListPinsRequest())

    assert [d.id for d in listed.items] == [scene.mine]
    assert listed.pagination.total == 1
    assert [s.id for s in found.segments] == [scene.my_segment]
    assert totals.segment_count == 1
    assert sum(tier.segment_count for tier in sizes.tiers) == 1
    assert [d.id for d in config.other_datasets] == [scene.mine]
    assert not config.HasField("default_dataset")
    assert config.cloud_object_prefix.HasField("bucket")
    assert [s.id for s in by_ids.segments] == [scene.my_segment]
    assert (list(pins.pins), pins.pagination.total) == ([], 0)


def _calls_by_name(client: MetaClient, name: str) -> list[Callable[[], object]]:
    return [
        lambda: client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=name)),
        lambda: client.catalog.GetShardingFields(catalog_pb2.GetShardingFieldsRequest(name=name)),
        lambda: client.segment_lookup.FindSegments(
            segment_lookup_pb2.FindSegmentsRequest(dataset_names=[name])
        ),
        lambda: client.janitor.GetJanitorStats(
            janitor_pb2.GetJanitorStatsRequest(dataset_name=name)
        ),
        lambda: client.janitor.GetSegmentSizeStats(
            janitor_pb2.GetSegmentSizeStatsRequest(dataset_name=name)
        ),
        lambda: client.operations.ListDatasetChanges(
            pb.ListDatasetChangesRequest(dataset_name=name)
        ),
        lambda: next(client.operations.WatchDataset(pb.WatchDatasetRequest(dataset_name=name))),
        lambda: client.operations.PinVersion(
            pb.PinVersionRequest(pin_id=str(uuid4()), owner="o", dataset_name=name)
        ),
    ]


def _calls_by_id(client: MetaClient, dataset_id: str) -> list[Callable[[], object]]:
    return [
        lambda: client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(id=dataset_id)),
        lambda: client.catalog.GetShardingFields(
            catalog_pb2.GetShardingFieldsRequest(id=dataset_id)
        ),
        lambda: client.operations.GetDatasetSettings(
            pb.GetDatasetSettingsRequest(dataset_id=dataset_id)
        ),
        lambda: client.operations.GetOffsetsAt(pb.GetOffsetsAtRequest(dataset_id=dataset_id)),
        lambda: client.operations.GetSegmentFormats(
            pb.GetSegmentFormatsRequest(dataset_id=dataset_id)
        ),
    ]


@pytest.mark.parametrize("number", range(8))
def test_another_dataset_is_refused_by_name_like_one_that_does_not_exist(
    scene: Scene, number: int
) -> None:
    other = _refusal(_calls_by_name(scene.reader, "other")[number])
    missing = _refusal(_calls_by_name(scene.reader, "missing")[number])

    assert other[0] == NotFound.reason
    assert repr(other).replace("'other'", "'missing'") == repr(missing)
    _calls_by_name(scene.reader, "mine")[number]()


@pytest.mark.parametrize("number", range(5))
def test_another_dataset_is_refused_by_id_like_one_that_does_not_exist(
    scene: Scene, number: int
) -> None:
    other = _refusal(_calls_by_id(scene.reader, scene.other)[number])
    missing = _refusal(_calls_by_id(scene.reader, UNKNOWN_ID)[number])

    assert other[0] == NotFound.reason
    assert repr(other).replace(scene.other, UNKNOWN_ID) == repr(missing)
    _calls_by_id(scene.reader, scene.mine)[number]()


def test_pins_of_other_datasets_are_neither_renewed_nor_released(scene: Scene) -> None:
    with pytest.raises(NotFound):
        scene.reader.operations.RenewPin(pb.RenewPinRequest(pin_id=scene.other_pin))
    released = scene.reader.operations.ReleasePin(pb.ReleasePinRequest(pin_id=scene.other_pin))

    assert not released.success
    assert scene.guard.admin.operations.ListPins(pb.ListPinsRequest()).pagination.total == 1


def test_every_other_call_of_its_role_is_refused(scene: Scene) -> None:
    for service, rpc, roles in role_calls.rows():
        principal = access.Principal("x", Role.READER, access.TenantScope(dataset_ids=frozenset()))
        allowed = Role.READER in roles and role_calls.is_scoped(service, rpc)
        assert principal.may_call(f"/meta.v1.{service}/{rpc}") is allowed, rpc
    with pytest.raises(RoleRefused):
        scene.reader.operations.ListUnmergedBabies(
            pb.ListUnmergedBabiesRequest(dataset_id=scene.mine)
        )


def test_a_deleted_dataset_does_not_come_back_under_its_name(scene: Scene) -> None:
    scene.guard.admin.catalog.DeleteDataset(catalog_pb2.DeleteDatasetRequest(id=scene.mine))
    CatalogDriver(scene.guard.admin).dataset("mine")

    with pytest.raises(NotFound):
        scene.reader.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name="mine"))
    assert not scene.reader.catalog.ListDatasets(catalog_pb2.ListDatasetsRequest()).items


def test_a_limit_is_for_roles_that_read_and_names_what_exists(scene: Scene) -> None:
    for role in Role:
        if role not in SCOPED_ROLES:
            with pytest.raises(InvalidArgument, match="cannot be limited"):
                scene.guard.token(role, dataset_names=["mine"])
    with pytest.raises(NotFound):
        scene.guard.token(Role.READER, dataset_names=["missing"])
    with pytest.raises(InvalidArgument):
        scene.guard.token(Role.READER, dataset_names=["mine", "mine"])
    catalog = CatalogDriver(scene.guard.admin)
    names = [catalog.dataset_name(catalog.dataset()) for _ in range(DATASETS_MAX)]
    assert len(scene.guard.token(Role.READER, dataset_names=names).token.dataset_ids) == 100
    with pytest.raises(InvalidArgument):
        scene.guard.token(Role.READER, dataset_names=[*names, "mine"])


def test_a_limited_watcher_does_not_limit_others(scene: Scene) -> None:
    """The feed that both share begins with the limited one's call."""
    request = pb.WatchDatasetRequest(dataset_name="mine")
    limited = scene.reader.operations.WatchDataset(request)
    next(limited)
    everyone = scene.guard.admin.operations.WatchDataset(
        pb.WatchDatasetRequest(dataset_name="other")
    )
    first = next(everyone).through_version
    Writer(scene.guard.admin).save(segment_of(scene.other))

    deadline = time.monotonic() + 30
    for message in everyone:
        if message.changes and message.through_version > first:
            break
        assert time.monotonic() < deadline
    limited.cancel()
    everyone.cancel()
