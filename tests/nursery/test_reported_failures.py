"""A nursery reports the work that fails, until it succeeds again."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dataplane.stream_poll import Shards
from meta.client import MetaClient
from meta.errors import RoleRefused
from nursery.execution.job import TaskOutcome
from nursery.loop import Nursery
from nursery.planning.tasks import Task
from nursery.results import TaskResult
from nursery.serving import Cycles
from segments.errors import TaskFailed
from segments.location import Stores
from tests.nursery.test_withheld_datasets import SteppedShutdown
from tests.support.nursery.drivers import EAGER, CollectorDriver, nursery, run_here, texts

Refusing = Callable[[Sequence[Task], Stores], list[TaskOutcome]]


class RefusingMeta:
    """A client of a meta that registers nothing as long as `refuses`."""

    def __init__(self, client: MetaClient) -> None:
        self.refuses = False
        self._client = client

    def __getattr__(self, name: str) -> Any:
        if name == "RegisterMergedSegments" and self.refuses:
            return self._refuse
        if name == "operations":
            return self
        return getattr(self._client.operations, name, getattr(self._client, name, None))

    def _refuse(self, *_: object, **__: object) -> None:
        raise RoleRefused("the role was taken away")


def fail_tasks(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
    return [(index, TaskFailed("out of memory")) for index in range(len(tasks))]


def fail_puts(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
    return [
        (
            index,
            replace(
                result,
                datasets=tuple(
                    replace(each, segments=(), error="StoreError: AccessDenied")
                    for each in result.datasets
                ),
            ),
        )
        for index, result in run_here(tasks, where)
        if isinstance(result, TaskResult)
    ]


def run_cycles(driver: Nursery, *steps: Callable[[], object]) -> None:
    cycles = Cycles(driver, lambda: None, 1.0, SteppedShutdown(*steps))
    cycles.start()
    assert cycles.end(60.0, lambda: None)
    assert cycles.error is None


@pytest.mark.parametrize(
    ("failing", "failure"),
    [
        (fail_tasks, "merging: out of memory"),
        (fail_puts, "merging: StoreError: AccessDenied"),
        (None, "merging: RoleRefused: the role was taken away"),
    ],
    ids=["job", "put", "registration"],
)
def test_a_merge_that_fails_is_reported_until_one_succeeds(
    collector: CollectorDriver, failing: Refusing | None, failure: str
) -> None:
    collector.send("one")
    collector.send("two")
    meta, is_broken = RefusingMeta(collector.client), [True]
    meta.refuses = failing is None

    def run_tasks(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
        return failing(tasks, where) if failing and is_broken[0] else run_here(tasks, where)

    driver = nursery(meta, run_tasks)  # type: ignore[arg-type]
    reported: list[list[str]] = []
    did: list[str] = []

    def note() -> None:
        reported.append(driver.progress.failures())
        did.append(driver.progress.last[1])

    def mend() -> None:
        note()
        is_broken[0], meta.refuses = False, False

    run_cycles(driver, mend, note)

    assert reported == [[failure], []]
    assert did == ["polled, nothing merged", "merged"]
    assert texts(collector)


def test_a_merge_that_fails_is_reported_while_its_stream_is_parked(
    collector: CollectorDriver,
) -> None:
    collector.send("one")
    driver = nursery(collector.client, fail_tasks)
    reported: list[list[str]] = []

    def note() -> None:
        reported.append(driver.progress.failures())

    # The baby segment that fails alone is parked for minutes: the second cycle has nothing to do.
    run_cycles(driver, note, note)

    assert reported == [["merging: out of memory"]] * 2


def test_baby_segments_that_cannot_be_deleted_are_reported(
    collector: CollectorDriver, tmp_path: Path
) -> None:
    collector.send("one")
    driver = nursery(collector.client)
    reported: list[list[str]] = []

    def unmount() -> None:
        (tmp_path / "objects").rename(tmp_path / "unmounted")

    def mount() -> None:
        reported.append(driver.progress.failures())
        (tmp_path / "unmounted").rename(tmp_path / "objects")

    run_cycles(driver, unmount, mount, lambda: reported.append(driver.progress.failures()))

    assert len(reported[0]) == 1
    assert reported[0][0].startswith("tending streams: StoreUnusable: ")
    assert reported[1] == []


class NoShards:
    """All shards are with other nurseries from the second poll on."""

    def __init__(self) -> None:
        self._polls = 0

    def acquire(self) -> Shards:
        self._polls += 1
        return Shards((0,) if self._polls == 1 else (), 1)

    def release(self) -> None:
        """Nothing to give back."""


def test_a_nursery_without_shards_works_and_fails_at_nothing(collector: CollectorDriver) -> None:
    collector.send("one")
    driver = Nursery(collector.client, EAGER, fail_tasks, 2, shards=NoShards())
    did: list[str] = []

    run_cycles(driver, *[lambda: did.append(driver.progress.last[1])] * 2)

    assert did == ["polled, nothing merged", "polled nothing: others have all shards"]
    assert driver.progress.failures() == []
