"""JanitorService: size tiers, their filters, statistics of a dataset."""

from dataclasses import replace

import pytest

from meta.config import Settings
from meta.errors import InvalidArgument, NotFound
from meta.store.merging import size_tiers
from meta.store.merging.merge_planning import SegmentFilter
from meta.store.merging.size_tiers import SizeTier
from meta.v1 import janitor_pb2
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.janitor import MIB, age, explain, janitor_stats, rewrite, sizes
from tests.support.meta.segments import EPOCH, WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """Failed tasks come back at once."""
    return replace(meta_settings, lifetimes=replace(meta_settings.lifetimes, fail_backoff=0.0))


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


def test_size_tiers_are_powers_of_four_mebibytes_with_empty_ones_between(
    writer: Writer, dataset: str
) -> None:
    writer.save(
        segment_of(dataset, EPOCH, compressed=0),
        segment_of(dataset, EPOCH + 1, compressed=MIB - 1),
        segment_of(dataset, EPOCH + 2, compressed=MIB),
        segment_of(dataset, EPOCH + 3, EPOCH + 9, compressed=17 * MIB),
    )

    tiers = sizes(writer)

    assert [(t.tier, t.tier_min, t.tier_max, t.segment_count) for t in tiers] == [
        (0, "0", str(MIB), 2),
        (1, str(MIB), str(4 * MIB), 1),
        (2, str(4 * MIB), str(16 * MIB), 0),
        (3, str(16 * MIB), str(64 * MIB), 1),
    ]
    assert (tiers[0].smallest, tiers[0].largest, tiers[0].avg_size) == (0, MIB - 1, (MIB - 1) // 2)
    assert (tiers[2].earliest_time, tiers[2].avg_size) == ("", 0)
    assert tiers[3].earliest_time == "2024-10-04T00:00:00.000000Z"


def test_size_tiers_count_what_passes_all_filters(
    meta_server: MetaServer,
    catalog: CatalogDriver,
    writer: Writer,
    worker: WorkerDriver,
    dataset: str,
) -> None:
    other = catalog.dataset("other")
    old, young = writer.save(segment_of(dataset), segment_of(dataset, compressed=2 * MIB))
    writer.save(segment_of(other))
    age(meta_server, old, 100)

    assert sum(t.segment_count for t in sizes(writer)) == 3
    assert sum(t.segment_count for t in sizes(writer, dataset_name="web")) == 2
    assert sum(t.segment_count for t in sizes(writer, max_compressed_size=MIB)) == 2
    assert sum(t.segment_count for t in sizes(writer, min_age_secs=100)) == 1
    assert sum(t.segment_count for t in sizes(writer, max_age_secs=50)) == 2
    assert sum(t.segment_count for t in sizes(writer, min_age_secs=50, max_age_secs=200)) == 1
    assert sizes(writer, min_age_secs=1_000) == []
    assert young


def test_size_tiers_are_the_same_whatever_a_page_holds(
    meta_server: MetaServer, catalog: CatalogDriver, writer: Writer, dataset: str
) -> None:
    for name in (dataset, catalog.dataset("other")):
        sizes_of_one = [0, MIB, 2 * MIB, 5 * MIB, 70 * MIB]
        writer.save(*(segment_of(name, EPOCH + n, compressed=n) for n in sizes_of_one))

    def tiers(rows_at_once: int, **filters: int) -> list[SizeTier]:
        with meta_server.running.database.read() as tx:
            return size_tiers.read(tx, None, SegmentFilter(**filters), rows_at_once=rows_at_once)

    assert [tier.segment_count for tier in tiers(10_000)] == [2, 4, 2, 2]
    for filters in ({}, {"max_compressed_size": MIB}, {"min_age_secs": 0, "max_age_secs": 900}):
        assert tiers(1, **filters) == tiers(2, **filters) == tiers(10_000, **filters)
        assert tiers(1, **filters)


@pytest.mark.parametrize(
    "filters",
    [
        {"max_compressed_size": -1},
        {"min_age_secs": -1},
        {"max_age_secs": -1},
        {"min_age_secs": 9, "max_age_secs": 8},
        {"dataset_name": ""},
    ],
)
def test_filters_that_make_no_sense_are_refused(
    writer: Writer, worker: WorkerDriver, dataset: str, filters: dict[str, object]
) -> None:
    with pytest.raises(InvalidArgument):
        sizes(writer, **filters)
    with pytest.raises(InvalidArgument):
        worker.plan(**filters)


def test_an_unknown_dataset_is_not_found(writer: Writer, worker: WorkerDriver) -> None:
    for call in (
        lambda: sizes(writer, dataset_name="nope"),
        lambda: worker.plan(dataset_name="nope"),
        lambda: rewrite(writer, dataset_name="nope"),
        lambda: explain(writer, dataset_name="nope"),
        lambda: writer.client.janitor.GetJanitorStats(
            janitor_pb2.GetJanitorStatsRequest(dataset_name="nope")
        ),
        lambda: writer.client.janitor.ListMergeTasks(
            janitor_pb2.ListMergeTasksRequest(dataset_name="nope")
        ),
    ):
        with pytest.raises(NotFound):
            call()


def test_stats_of_one_dataset_are_its_own(
    catalog: CatalogDriver, writer: Writer, dataset: str
) -> None:
    writer.save_many(dataset, 2)
    writer.save_many(catalog.dataset("other"), 3)

    def count(**fields: str) -> int:
        request = janitor_pb2.GetJanitorStatsRequest(**fields)
        return writer.client.janitor.GetJanitorStats(request).segment_count

    assert (count(), count(dataset_name="web"), count(dataset_name="other")) == (5, 2, 3)


def test_statistics_follow_a_merge(writer: Writer, worker: WorkerDriver, dataset: str) -> None:
    writer.save_many(dataset, 4)
    worker.plan()

    planned = janitor_stats(worker.client)
    worker.merge_all()
    merged = janitor_stats(worker.client)

    assert (planned.segment_count, planned.outstanding_merge_tasks) == (4, 1)
    assert planned.total_compressed_size_bytes == 4_000
    assert (merged.segment_count, merged.outstanding_merge_tasks) == (1, 0)
    assert merged.total_size_bytes == 20_000
    assert merged.segments_incl_tombstoned == 5
