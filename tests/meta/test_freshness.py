"""StatusService: datasets by the age of what is committed and not visible to readers yet."""

from collections.abc import Iterable

import pytest

from meta.errors import NotFound
from meta.services.status.freshness import GATHERING_NANOS
from meta.store.streams import detached_streams
from meta.v1 import catalog_pb2, ingestion_pb2
from meta.v1 import operations_pb2 as ops
from meta.v1 import status_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer
from tests.support.meta.two_datasets import TwoDatasets

SECOND = 10**9
# Without an entry anywhere.
DEFAULT = "default"


@pytest.fixture
def scene(meta_server: MetaServer) -> TwoDatasets:
    """Give the stream; nothing is committed yet."""
    return TwoDatasets.create(meta_server)


def ask(scene: TwoDatasets, **fields: object) -> pb.ListFreshnessResponse:
    request = pb.ListFreshnessRequest(**fields)  # type: ignore[arg-type]
    return scene.server.client.status.ListFreshness(request)


def waiting(reply: pb.ListFreshnessResponse) -> list[tuple[str, int, int]]:
    """Name, offset of the oldest, and number of the baby segments of each dataset."""
    return [(one.dataset_name, one.offset, one.babies) for one in reply.datasets]


def commit(scene: TwoDatasets, *stamps: Iterable[str]) -> None:
    for offset, datasets in enumerate(stamps):
        scene.collector.commit(scene.stream, offset, *datasets)


def stages(scene: TwoDatasets) -> dict[str, str]:
    return {
        one.dataset_name: pb.MergeStage.Name(one.stage).removeprefix("MERGE_STAGE_")
        for one in ask(scene).datasets
    }


def age(scene: TwoDatasets, seconds: int, condition: str = "true") -> None:
    """Let committed baby segments be older."""
    scene.execute(
        f"UPDATE baby_segments SET committed_at = committed_at - interval '{seconds} s'"  # noqa: S608
        f" WHERE {condition}"
    )


def test_a_dataset_waits_from_its_first_baby_that_is_not_merged(scene: TwoDatasets) -> None:
    commit(scene, [scene.web], [scene.app], [scene.web, scene.app], [scene.web])
    age(scene, 60, '"offset" <= 1')

    reply = ask(scene)

    assert waiting(reply) == [("web", 0, 3), ("app", 1, 2)]
    assert (reply.waiting_datasets, reply.live_datasets, reply.streams_cut) == (2, 3, 0)
    (web, app) = reply.datasets
    assert (web.stream_id, web.collector_id, web.size_bytes) == (scene.stream, "collector", 3_000)
    assert 60 <= (reply.database_time_nanos - web.oldest_committed_at_nanos) / SECOND < 120
    assert not web.is_at_least
    assert web.registered_at_nanos == 0

    scene.nursery.merge(scene.web, scene.stream, -1, 2)
    merged = ask(scene)

    assert waiting(merged) == [("app", 1, 2), ("web", 3, 1)]
    assert merged.datasets[1].registered_at_nanos > web.oldest_committed_at_nanos
    assert merged.datasets[0] == app

    scene.nursery.merge(scene.web, scene.stream, 2, 3)
    scene.nursery.merge(scene.app, scene.stream, 0, 2)
    over = ask(scene)

    assert (waiting(over), over.waiting_datasets, over.live_datasets) == ([], 0, 3)
    scene.sweep()
    assert waiting(ask(scene)) == []


def test_datasets_of_which_nothing_waits_come_last_and_by_name(scene: TwoDatasets) -> None:
    commit(scene, [scene.web])

    assert waiting(ask(scene, include_fresh=True)) == [
        ("web", 0, 1),
        ("app", 0, 0),
        (DEFAULT, 0, 0),
    ]
    assert waiting(ask(scene, include_fresh=True, limit=2)) == [("web", 0, 1), ("app", 0, 0)]
    (fresh,) = ask(scene, name="app").datasets
    assert (fresh.oldest_committed_at_nanos, fresh.stage, fresh.stream_id) == (0, 0, "")


def test_a_limit_keeps_the_oldest_and_counts_the_others(scene: TwoDatasets) -> None:
    commit(scene, [scene.web], [scene.app])
    age(scene, 60, '"offset" = 1')

    first, both = ask(scene, limit=1), ask(scene, limit=2)

    assert (waiting(first), first.waiting_datasets) == ([("app", 1, 1)], 2)
    assert waiting(both) == [("app", 1, 1), ("web", 0, 1)]


def test_a_baby_without_stamps_counts_for_each_entry_that_has_not_passed_it(
    scene: TwoDatasets,
) -> None:
    commit(scene, [], [scene.web], [])
    # Its commit says that it has no record.
    scene.collector.commit(scene.stream, 3, num_records=0)

    assert waiting(ask(scene)) == [("app", 0, 2), ("web", 0, 3)]

    scene.nursery.merge(scene.app, scene.stream, -1, 0)
    scene.nursery.merge(scene.web, scene.stream, -1, 1)
    passed = ask(scene)

    assert sorted(waiting(passed)) == [("app", 2, 1), ("web", 2, 1)]
    assert [one.size_bytes for one in passed.datasets] == [1_000, 1_000]
    assert [waiting(ask(scene, name=name)) for name in ("web", "app")] == [
        [("web", 2, 1)],
        [("app", 2, 1)],
    ]


def test_a_dataset_without_an_entry_waits_for_nothing(scene: TwoDatasets) -> None:
    other = CatalogDriver(scene.server.client).dataset("other")
    commit(scene, [scene.web, other])

    assert waiting(ask(scene)) == [("web", 0, 1)]
    assert waiting(ask(scene, id=other)) == [("other", 0, 0)]


def test_a_deleted_dataset_is_not_listed(scene: TwoDatasets) -> None:
    # One with records that wait is not deleted.
    catalog = CatalogDriver(scene.server.client)
    other = catalog.dataset("other")
    commit(scene, [scene.web])
    before = ask(scene, include_fresh=True)
    scene.server.client.catalog.DeleteDataset(catalog_pb2.DeleteDatasetRequest(id=other))

    after = ask(scene, include_fresh=True)

    assert (before.live_datasets, after.live_datasets) == (4, 3)
    assert {one.dataset_id for one in before.datasets if one not in after.datasets} == {other}
    for identifier in ({"id": other}, {"name": "other"}):
        with pytest.raises(NotFound):
            ask(scene, **identifier)


def test_the_stage_is_that_of_the_oldest_baby(scene: TwoDatasets) -> None:
    commit(scene, [scene.web], [scene.app])
    assert stages(scene) == {"web": "GATHERING", "app": "GATHERING"}

    age(scene, GATHERING_NANOS // SECOND, '"offset" = 0')
    assert stages(scene) == {"web": "WAITING", "app": "GATHERING"}

    scene.server.client.operations.ParkStream(
        ops.ParkStreamRequest(stream_id=scene.stream, offset=1, reason="gone")
    )
    # The offsets below it are merged as ever.
    assert stages(scene) == {"web": "WAITING", "app": "PARKED"}

    with scene.server.running.database.write() as tx:
        detached_streams.detach_all(tx)
    assert stages(scene) == {"web": "AWAITS_RECONCILE", "app": "PARKED"}
    assert ask(scene).datasets[0].collector_id == "collector"


def test_a_baby_that_was_skipped_waits_no_longer(scene: TwoDatasets) -> None:
    commit(scene, [scene.web], [scene.web])
    scene.server.client.operations.ParkStream(
        ops.ParkStreamRequest(stream_id=scene.stream, offset=0, reason="gone")
    )
    acceptance = ops.LossAcceptance(accept_loss=True, actor="op", reason="disk died")
    scene.server.client.operations.SkipOffset(
        ops.SkipOffsetRequest(stream_id=scene.stream, offset=0, acceptance=acceptance)
    )

    assert waiting(ask(scene)) == [("web", 1, 1)]
    assert stages(scene) == {"web": "GATHERING"}


def test_a_nursery_was_seen_while_one_reports(scene: TwoDatasets) -> None:
    assert ask(scene).nursery_seen_nanos == 0

    def report(kind: str, *, is_ending: bool = False) -> None:
        said = pb.ProcessReport(kind=kind, name="h", started_at_nanos=1, is_ending=is_ending)
        scene.server.client.ingestion.DownloadConfig(
            ingestion_pb2.DownloadConfigRequest(report=said)
        )

    report("janitor")
    report("nurseryman")
    assert ask(scene).nursery_seen_nanos == 0
    report("nursery")
    seen = ask(scene)
    assert 0 <= seen.database_time_nanos - seen.nursery_seen_nanos < 60 * SECOND
    report("nursery", is_ending=True)
    assert ask(scene).nursery_seen_nanos == 0
