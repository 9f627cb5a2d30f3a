"""Merges over several days: divided by the worker, accepted by meta, safe at every crash."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from merge_worker.job import merge
from merge_worker.tasks import ClaimedTask, Failed, Merged, Outcome
from meta.client import MetaClient
from meta.config import Settings
from meta.v1 import janitor_pb2
from segments.location import Stores
from segments.parquet.lineage import day_of
from segments.parquet.reader import read_segment
from segments.rebuild.inventory import read_inventory
from segments.store.folder import FolderStore
from segments.store.interface import ObjectStore
from tests.support.inventories import planned
from tests.support.merge_worker.case import Case, Signalling
from tests.support.merge_worker.scripted import Here
from tests.support.parquet.rows import Row, plain

DAYS = 3
FILES = 17


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """Failed tasks come back at once."""
    return replace(meta_settings, lifetimes=replace(meta_settings.lifetimes, fail_backoff=0.0))


@pytest.fixture
def case(meta_client: MetaClient, tmp_path: Path) -> Case:
    return Case(meta_client, tmp_path)


@pytest.fixture
def saved(case: Case) -> Counter[Row]:
    """Rows of as many files of several days as one more than may wait."""
    return Counter(row for seed in range(FILES) for row in case.save(seed, DAYS))


def visible(case: Case) -> Counter[Row]:
    return rows_in(case.store, [case.key(segment) for segment in case.find()])


def rows_in(store: ObjectStore, keys: list[str]) -> Counter[Row]:
    tables = (table for key in keys for table in read_segment(store, key).values())
    return Counter(row for table in tables for row in plain(table))


def rebuilt(case: Case) -> Counter[Row]:
    """Rows that readers would see if the catalog came from the bucket now."""
    inventory = read_inventory(case.store)
    own = [s for s in inventory.segments if s.footer.dataset_id == case.dataset_id]
    answer = planned(own)
    assert not answer.warnings
    return rows_in(case.store, [one.key for one in answer.segments])


def test_readers_see_a_segment_a_day_in_the_place_of_the_inputs(
    case: Case, saved: Counter[Row]
) -> None:
    assert case.plan() == 1
    merger = Signalling()

    case.work_until(merger, merger.is_reported)

    outputs = [segment for segment in case.find() if segment.merge_count]
    assert len(outputs) == DAYS
    assert len({segment.created_version for segment in outputs}) == 1
    for segment in outputs:
        times = segment.time_range
        assert day_of(times.start_time) == day_of(times.end_time)
        assert segment.facts.signals[0].number_of_events == segment.number_of_events
    assert visible(case) == rebuilt(case) == saved


def test_divided_segments_are_not_merged_again(case: Case, saved: Counter[Row]) -> None:
    """One file a day is few enough, now and once the days are quiet."""
    assert case.plan() == 1
    merger = Signalling()
    case.work_until(merger, merger.is_reported)

    assert case.plan() == 0
    tasks = case.client.janitor.ListMergeTasks(janitor_pb2.ListMergeTasksRequest()).tasks
    assert [task for task in tasks if task.dataset_id == case.dataset_id] == []


@dataclass(frozen=True)
class DyingFolder(FolderStore):
    """A folder that takes some objects; before the next one its process dies."""

    puts_left: list[int]

    def put_file_if_absent(self, key: str, path: Path) -> None:
        if self.puts_left[0] == 0:
            raise MemoryError("killed")
        self.puts_left[0] -= 1
        FolderStore.put_file_if_absent(self, key, path)


class DyingAfter(Here):
    """A worker that dies after some puts of its first task, and then lives."""

    def __init__(self, puts: int) -> None:
        super().__init__()
        self.puts = puts
        self.died: list[Outcome] = []

    def run(self, task: ClaimedTask) -> Outcome:
        puts_left = [self.puts]

        def open_dying(stores: Stores) -> ObjectStore:
            return DyingFolder(stores.default, puts_left)

        self.died.append(merge(task, open_dying))
        self.cancelled.set()
        return Failed("dead before its report")


@pytest.mark.parametrize("puts", range(DAYS + 1))
def test_a_death_after_any_put_hides_and_doubles_nothing(
    case: Case, saved: Counter[Row], puts: int
) -> None:
    assert case.plan() == 1
    dying = DyingAfter(puts)
    before = len(read_inventory(case.store).segments)
    case.work_until(dying, dying.cancelled)

    assert [isinstance(outcome, Merged) for outcome in dying.died] == [puts == DAYS]
    left = len(read_inventory(case.store).segments) - before
    assert left == puts
    assert visible(case) == rebuilt(case) == saved


def test_the_next_claim_after_a_death_completes_the_merge(case: Case, saved: Counter[Row]) -> None:
    assert case.plan() == 1
    dying = DyingAfter(1)
    case.work_until(dying, dying.cancelled)
    tasks = case.client.janitor.ListMergeTasks(
        janitor_pb2.ListMergeTasksRequest(dataset_name=case.name)
    )
    assert len(tasks.tasks) == 1

    merger = Signalling()
    case.work_until(merger, merger.is_reported)

    assert len([segment for segment in case.find() if segment.merge_count]) == DAYS
    assert visible(case) == rebuilt(case) == saved
