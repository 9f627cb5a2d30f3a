"""Nurseries poll entries that have something to merge, and skip the others."""

from collections.abc import Sequence

from dataplane.stream_poll import read_pages
from meta.v1 import nursery_pb2
from nursery.planning.tasks import Task
from segments.location import Stores
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery, run_here, texts


def unmerged(collector: CollectorDriver) -> nursery_pb2.IngestStreamInfo:
    """The stream as a nursery polls it."""
    request = nursery_pb2.GetIngestStreamsRequest(omit_merged_entries=True)
    (page,) = read_pages(collector.client, request)
    return next(s for s in page.streams if s.stream_id == collector.stream_id)


def listed(collector: CollectorDriver) -> set[str]:
    return {entry.dataset_id for entry in unmerged(collector).datasets}


def test_a_poll_skips_entries_that_have_merged_everything(collector: CollectorDriver) -> None:
    first, second = collector.dataset_id, dataset(collector.client)
    collector.send("one")
    collector.route(second)
    assert listed(collector) == {first}
    assert unmerged(collector).merged_entries_omitted
    nursery(collector.client).cycle()
    assert listed(collector) == set()

    collector.send("two")

    assert listed(collector) == {second}
    assert [b.offset for b in unmerged(collector).unmerged_babies] == [1]


def test_a_poll_has_every_entry_while_a_baby_without_stamps_is_unmerged(
    collector: CollectorDriver,
) -> None:
    first, second = collector.dataset_id, dataset(collector.client)
    collector.route(second)
    collector.send("unstamped", is_stamped=False)

    assert listed(collector) == {first, second}
    assert not unmerged(collector).merged_entries_omitted


def test_records_of_an_omitted_entry_are_merged_once(collector: CollectorDriver) -> None:
    """A baby that another dataset waits for is read again, for that one alone."""
    first, second = collector.dataset_id, dataset(collector.client)
    driver = nursery(collector.client)
    for text in ("one", "two", "three"):
        collector.route(first)
        collector.send(f"{text} of first")
        collector.route(second)
        collector.send(f"{text} of second")
        driver.cycle()

    assert texts(collector, first) == sorted(f"{t} of first" for t in ("one", "two", "three"))
    assert texts(collector, second) == sorted(f"{t} of second" for t in ("one", "two", "three"))
    assert not list(collector.store.list("quarantine/"))


def test_merged_babies_are_reaped_without_a_visit_to_the_quarantine(
    collector: CollectorDriver,
) -> None:
    collector.send("one")
    driver = nursery(collector.client)
    driver.cycle()
    assert listed(collector) == set()

    driver.cycle()

    info = collector.info()
    assert info is not None
    assert info.deleted_offset == 0
    assert not list(collector.store.list("quarantine/"))


def test_idle_entries_of_a_stream_are_retired_once_it_is_over(
    collector: CollectorDriver,
) -> None:
    collector.route(dataset(collector.client))
    collector.send("one")
    collector.stop()
    driver = nursery(collector.client)
    for _ in range(4):
        driver.cycle()

    assert collector.info() is None


def test_a_dataset_that_receives_nothing_is_never_registered(collector: CollectorDriver) -> None:
    first = collector.dataset_id
    collector.route(dataset(collector.client))
    tasks = 0

    def count(own: Sequence[Task], where: Stores) -> object:
        nonlocal tasks
        tasks += len(own)
        return run_here(own, where)

    driver = nursery(collector.client, count)  # type: ignore[arg-type]
    for number in range(3):
        collector.send(str(number))
        driver.cycle()

    info = collector.info()
    assert info is not None
    (idle,) = [entry for entry in info.datasets if entry.dataset_id == first]
    assert idle.merged_offset == 2
    assert not idle.offset_checkpoints
    assert tasks == 3
