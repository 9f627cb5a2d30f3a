"""A batch above a task's budget becomes more files; the memory of its process stays within it."""

import os
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from dataplane.babies.reads import DatasetWork, Routes, TaskRead
from dataplane.processes.task_processes import TaskProcesses
from nursery.execution import job
from nursery.execution.execute import Budget
from nursery.planning.tasks import Task
from nursery.results import TaskResult
from segments.baby import Baby, BabyKind, TokenPart, encode_baby
from segments.keys import baby_key
from segments.location import StoreLocation, Stores
from segments.offsets import OffsetSpan
from segments.parquet.spec import SegmentSpec
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from tests.support.process_tree import children_of, command_of

MIB = 1 << 20
BUDGET = Budget(decode_bytes_max=4 * MIB, held_bytes_max=12 * MIB)
RECORDS = 2_000
TEXT = "x" * 480
# As docs/spark.md tells operators: eight times the columns at worst, and what any task takes.
ALLOWED_MIB = 8 * 12 + 300
# All at once they take 725 MiB, and 1,181 as resources.
BABIES = 120


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    (tmp_path / "objects").mkdir()
    return open_store(StoreLocation.from_url((tmp_path / "objects").as_uri()))


def unlike_bodies(offset: int) -> LogsData:
    """Make a MiB of records of one resource."""
    data = LogsData()
    records = data.resource_logs.add().scope_logs.add().log_records
    for number in range(RECORDS):
        records.add(time_unix_nano=number + 1).body.string_value = f"{offset}.{number} {TEXT}"
    return data


def unlike_resources(offset: int) -> LogsData:
    """Make a MiB of resources with a record each: their columns are dictionaries."""
    data = LogsData()
    for number in range(RECORDS):
        one = data.resource_logs.add()
        one.resource.attributes.add(key="a").value.string_value = f"{offset}.{number} {TEXT}"
        one.scope_logs.add().log_records.add(time_unix_nano=number + 1)
    return data


def task_of(store: ObjectStore, babies: int, export: Callable[[int], LogsData]) -> Task:
    """Put babies of a MiB each into a stream, for one task."""
    stream, dataset, token = (str(uuid4()) for _ in range(3))
    for offset in range(babies):
        body = export(offset).SerializeToString()
        part = TokenPart(token, "logs", (body,), dataset, RECORDS, 1, RECORDS)
        store.put_if_absent(
            baby_key(stream, offset), encode_baby(Baby((part,), BabyKind.DATA, b"f" * 16, 1))
        )
    return Task(
        works=(DatasetWork(dataset, SegmentSpec(), (OffsetSpan(stream, 0, babies - 1),)),),
        reads=tuple(TaskRead(stream, offset, is_owner=True) for offset in range(babies)),
        routes=(Routes(stream, {dataset: -1}, ()),),
    )


def peaks_mib() -> list[float]:
    """The peak of resident memory of every process that runs tasks."""
    children = children_of(os.getpid())
    # Other tests of this process have started a JVM and servers.
    return [_peak_mib(pid) for pid in children if "task_process" in command_of(pid)]


def _peak_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


@pytest.mark.long
@pytest.mark.parametrize(
    "export", [pytest.param(unlike_bodies, marks=pytest.mark.slow), unlike_resources]
)
def test_a_batch_larger_than_the_budget_becomes_more_files_and_not_more_memory(
    store: ObjectStore, export: Callable[[int], LogsData]
) -> None:
    tasks = [task_of(store, BABIES, export)]
    processes = TaskProcesses(1)
    ((_, result),) = job.run(processes, BUDGET, tasks, Stores(store.location))
    peak_mib = max(peaks_mib())
    processes.close()

    assert isinstance(result, TaskResult)
    (found,) = result.datasets
    assert found.error == ""
    assert sum(one.facts.rows for one in found.segments) == BABIES * RECORDS
    assert len(found.segments) >= 5
    assert peak_mib < ALLOWED_MIB
