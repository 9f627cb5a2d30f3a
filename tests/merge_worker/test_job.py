"""A merge task in its process: the object is written and verified, errors come back as values."""

import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

import pytest

from dataplane.task_runner import open_runner
from merge_worker.job import TaskMerger, merge
from merge_worker.tasks import ClaimedTask, Failed, Merged
from meta.costs.accumulator import Work
from segments.errors import ObjectMissing
from segments.keys import attempt_prefix, new_merged_key, parse_key
from segments.location import StoreLocation, Stores
from segments.merging.inputs import MergeInput
from segments.parquet.footer import SegmentFooter
from segments.parquet.reader import read_footer
from segments.parquet.spec import SegmentSpec
from segments.spark.settings import SparkSettings
from segments.store.folder import FolderStore
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from tests.support.costs import charged
from tests.support.parquet.rows import DATASET, PLAIN, rows_of, write_segment


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    (tmp_path / "store").mkdir()
    return open_store(StoreLocation.from_url(f"file://{tmp_path}/store"))


@pytest.fixture(scope="module")
def merger() -> Iterator[TaskMerger]:
    runner = open_runner(SparkSettings("tests of merge_worker.job", "processes[2]"))
    yield TaskMerger(runner)
    runner.close()


def task_of(store: ObjectStore, folder: Path, seeds: range) -> ClaimedTask:
    """Write segments and describe their merge."""
    inputs: list[MergeInput] = []
    for seed in seeds:
        path, key = folder / f"{seed}.parquet", new_merged_key(DATASET)
        rows = {"logs": rows_of("logs", 100, seed=seed), "traces": rows_of("traces", 50, seed=seed)}
        _, facts = write_segment(path, rows, PLAIN, SegmentFooter(DATASET, "test"))  # type: ignore[arg-type]
        store.put_file_if_absent(key, path)
        inputs.append(MergeInput(str(seed), key, facts.rows, facts.start_time, facts.end_time))
    task_id = str(uuid4())
    return ClaimedTask(
        task_id,
        3,
        DATASET,
        tuple(inputs),
        SegmentSpec(),
        Stores(store.location),
        attempt_prefix(DATASET, task_id, 3),
        "merge_worker test",
        folder,
        2**20,
    )


def test_the_output_lies_under_the_attempts_prefix_and_nothing_else_is_left(
    store: ObjectStore, tmp_path: Path
) -> None:
    task = task_of(store, tmp_path, range(3))
    (tmp_path / "work").mkdir()

    outcome = merge(replace(task, work_dir=tmp_path / "work"))

    assert isinstance(outcome, Merged)
    (output,) = outcome.outputs
    assert output.key.startswith(task.prefix)
    assert parse_key(output.key) is not None
    assert read_footer(store, output.key).rows_by_signal == {"logs": 300, "traces": 150}
    assert list((tmp_path / "work").iterdir()) == []


def test_an_input_that_is_gone_is_named(store: ObjectStore, tmp_path: Path) -> None:
    task = task_of(store, tmp_path, range(2))
    store.delete([task.inputs[1].key])

    outcome = merge(task)

    assert isinstance(outcome, Failed)
    assert outcome.segment_id == task.inputs[1].segment_id
    assert outcome.is_proven


@dataclass(frozen=True)
class _FlakyFolder(FolderStore):
    """A folder that does not find some objects the first time they are opened."""

    missing: set[str] = field(default_factory=set)

    def open_input(self, key: str) -> io.IOBase:
        if key in self.missing:
            self.missing.remove(key)
            raise ObjectMissing(key)
        # Not super(): a slotted dataclass is another class than the one that super() names.
        return FolderStore.open_input(self, key)


def test_an_input_that_is_read_the_second_time_is_not_proven_to_be_damaged(
    store: ObjectStore, tmp_path: Path
) -> None:
    task = task_of(store, tmp_path, range(2))
    bad = task.inputs[1]

    outcome = merge(task, lambda stores: _FlakyFolder(stores.default, {bad.key}))

    assert isinstance(outcome, Failed)
    assert outcome.segment_id == bad.segment_id
    assert not outcome.is_proven


def test_a_folder_that_cannot_be_written_is_nobodys_fault(
    store: ObjectStore, tmp_path: Path
) -> None:
    task = task_of(store, tmp_path, range(2))

    outcome = merge(replace(task, work_dir=tmp_path / "absent"))

    assert isinstance(outcome, Failed)
    assert outcome.segment_id == ""
    assert "FileNotFoundError" in outcome.message


def test_a_poison_task_does_not_hurt_the_one_beside_it(
    store: ObjectStore, tmp_path: Path, merger: TaskMerger
) -> None:
    good, poison = task_of(store, tmp_path, range(2)), task_of(store, tmp_path, range(2, 4))
    store.delete([poison.inputs[0].key])

    with ThreadPoolExecutor(2) as pool:
        merged, failed = pool.map(merger.run, [good, poison])

    assert isinstance(merged, Merged)
    assert isinstance(failed, Failed)
    assert failed.segment_id == poison.inputs[0].segment_id


def test_a_merge_is_charged_to_its_dataset(
    store: ObjectStore, tmp_path: Path, merger: TaskMerger
) -> None:
    charged(Work.MERGE)

    outcome = merger.run(task_of(store, tmp_path, range(2)))

    assert isinstance(outcome, Merged)
    (amounts,) = charged(Work.MERGE).values()
    assert amounts.bytes == outcome.outputs[0].facts.compressed_size_bytes
    assert amounts.cpu_micros > 0
    assert amounts.read_requests >= 2
    assert amounts.write_requests == 1
