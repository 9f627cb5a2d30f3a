"""The jobs in processes and on a real Spark session, over a folder store."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from dataplane.babies.reads import DatasetWork, Routes, TaskRead
from dataplane.task_runner import TaskRunner
from meta.costs.accumulator import Work
from nursery.execution import job
from nursery.execution.execute import Budget
from nursery.planning.tasks import Task
from nursery.results import TaskResult
from segments.baby import Baby, BabyKind, TokenPart, encode_baby
from segments.errors import RunnerUnusable, TaskFailed
from segments.keys import baby_key
from segments.location import StoreLocation, Stores
from segments.offsets import OffsetSpan
from segments.parquet.reader import read_segment
from segments.parquet.spec import SegmentSpec
from segments.spark.java import check_java
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from tests.support.costs import charged

pytestmark = pytest.mark.spark
BUDGET = Budget(1 << 26, 1 << 28)


@dataclass
class _Slow:
    """Not a task: what `execute` reads of it waits for a file."""

    released: Path
    works: tuple[()] = ()

    @property
    def reads(self) -> tuple[TaskRead, ...]:
        deadline = time.monotonic() + 60.0
        while not self.released.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        raise TimeoutError("released")


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    (tmp_path / "objects").mkdir()
    return open_store(StoreLocation.from_url((tmp_path / "objects").as_uri()))


def baby_task(store: ObjectStore, text: str) -> Task:
    """Put a baby with one log record into its own stream."""
    stream, dataset = str(uuid4()), str(uuid4())
    data = LogsData()
    record = data.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=1)
    record.body.string_value = text
    part = TokenPart(str(uuid4()), "logs", (data.SerializeToString(),), dataset, 1, 1, 1)
    baby = Baby((part,), BabyKind.DATA, b"f" * 16, 1)
    store.put_if_absent(baby_key(stream, 0), encode_baby(baby))
    return Task(
        works=(DatasetWork(dataset, SegmentSpec(), (OffsetSpan(stream, 0, 0),)),),
        reads=(TaskRead(stream, 0, is_owner=True),),
        routes=(Routes(stream, {dataset: -1}, ()),),
    )


def test_every_task_writes_its_segments_and_names_its_index(
    runner: TaskRunner, store: ObjectStore
) -> None:
    tasks = [baby_task(store, f"task {i}") for i in range(5)]

    outcomes = dict(job.run(runner, BUDGET, tasks, Stores(store.location)))

    found = []
    for index in range(5):
        result = outcomes[index]
        assert isinstance(result, TaskResult)
        (segment,) = result.datasets[0].segments
        found.extend(read_segment(store, segment.key)["logs"]["body"].to_pylist())
    assert found == [f"task {i}" for i in range(5)]


def test_a_task_is_charged_to_its_dataset(runner: TaskRunner, store: ObjectStore) -> None:
    task = baby_task(store, "charged")
    charged(Work.NURSERY)

    ((_, result),) = job.run(runner, BUDGET, [task], Stores(store.location))

    assert isinstance(result, TaskResult)
    ((dataset_id, amounts),) = charged(Work.NURSERY).items()
    (segment,) = result.datasets[0].segments
    assert (dataset_id, amounts.bytes) == (
        task.works[0].dataset_id,
        segment.facts.compressed_size_bytes,
    )
    # In another process, also where Spark runs it.
    assert amounts.cpu_micros > 0
    assert amounts.read_requests >= 1
    assert amounts.write_requests == 1


def test_a_plan_without_tasks_starts_no_job(runner: TaskRunner, store: ObjectStore) -> None:
    assert list(job.run(runner, BUDGET, [], Stores(store.location))) == []


def test_a_task_that_kills_its_worker_fails_alone(runner: TaskRunner, store: ObjectStore) -> None:
    tasks: list[Any] = [_Suicide(), baby_task(store, "beside")]

    outcomes = dict(job.run(runner, BUDGET, tasks, Stores(store.location)))

    assert isinstance(outcomes[0], TaskFailed)
    assert re.search("Python worker exited|process ended: SIGKILL", str(outcomes[0]))
    assert isinstance(outcomes[1], TaskResult)
    runner.check()


def test_an_outcome_is_there_before_a_slow_task_has_finished(
    runner: TaskRunner, store: ObjectStore, tmp_path: Path
) -> None:
    released = tmp_path / "released"
    tasks: list[Any] = [_Slow(released), baby_task(store, "fast")]

    outcomes = job.run(runner, BUDGET, tasks, Stores(store.location))

    assert next(outcomes)[0] == 1
    released.touch()
    assert next(outcomes)[0] == 0


class _Suicide:
    """Ends the Python process that reads its babies."""

    works = ()

    def __getattr__(self, name: str) -> object:
        if name == "reads":
            os.kill(os.getpid(), signal.SIGKILL)
        raise AttributeError(name)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (None, "no java found"),
        ("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2", "is Java 11"),
        ("#!/bin/sh\nexit 3", "does not say its version"),
        ("#!/bin/sh\necho 'openjdk'", "does not say its version"),
        ("#!/bin/sh\necho 'openjdk version \"21.0.2\"'\nexit 3", "does not say its version"),
    ],
    ids=["missing", "old", "broken", "of no version", "failing"],
)
def test_a_machine_without_a_fit_java_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, expected: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if script:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "java").write_text(script)
        (tmp_path / "bin" / "java").chmod(0o755)

    with pytest.raises(RunnerUnusable, match=expected):
        check_java()


def test_the_process_says_in_one_line_what_is_missing(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "JAVA_HOME": str(tmp_path),
        "NURSERY_SPARK_MASTER": "spark://127.0.0.1:9",
    }

    ended = subprocess.run(
        [sys.executable, "-P", "-m", "nursery"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert ended.returncode == 2
    assert ended.stderr.startswith("error: no java found")
    assert ended.stderr.count("\n") == 1
