"""A nursery with nothing to merge: fewer polls, and none of all streams before it is time."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from meta import metrics
from meta.client import MetaClient
from meta.process.shutdown import Shutdown
from nursery.execution.job import TaskOutcome
from nursery.planning.tasks import Task
from nursery.results import DatasetResult, TaskResult
from nursery.serving import IDLE_SECS_MAX, Cycles
from segments.location import Stores
from tests.support.nursery.drivers import CollectorDriver, nursery, run_here, texts


class NotedRests(Shutdown):
    """Notes rests without waiting, and requests the end after three."""

    def __init__(self) -> None:
        super().__init__()
        self.rests: list[float | None] = []

    def wait(self, seconds: float | None = None) -> bool:
        self.rests.append(seconds)
        if len(self.rests) == 3:
            self.request()
        return self.is_requested


@pytest.mark.parametrize(
    ("wait_secs", "rest_secs"), [(0.0, 1.0), (2.0, 4.0), (3_600.0, IDLE_SECS_MAX)]
)
def test_a_nursery_with_nothing_to_merge_rests_longer(
    collector: CollectorDriver, wait_secs: float, rest_secs: float
) -> None:
    shutdown = NotedRests()
    driver = nursery(collector.client)
    cycles = Cycles(driver, lambda: None, 1.0, shutdown, wait_secs)

    cycles.start()

    assert cycles.end(60.0, lambda: None)
    assert shutdown.rests == [rest_secs] * 3


def test_a_nursery_with_something_to_merge_polls_often(collector: CollectorDriver) -> None:
    collector.send("waits")
    shutdown = NotedRests()
    driver = nursery(collector.client, wait_secs=3_600.0)
    cycles = Cycles(driver, lambda: None, 1.0, shutdown, 3_600.0)

    cycles.start()

    assert cycles.end(60.0, lambda: None)
    assert shutdown.rests == [1.0] * 3
    assert texts(collector) == []


@pytest.mark.parametrize(
    ("bytes_min", "records_min", "rest_secs"), [(2**20, 0, 2.5), (1, 0, 1.0), (2**20, 1, 1.0)]
)
def test_a_nursery_that_merged_everything_rests_until_more_is_due(
    collector: CollectorDriver, bytes_min: int, records_min: int, rest_secs: float
) -> None:
    collector.send("merged")
    shutdown = NotedRests()
    driver = nursery(collector.client, batch_bytes_min=bytes_min, batch_records_min=records_min)
    cycles = Cycles(driver, lambda: None, 1.0, shutdown, 2.0, clock=lambda: 0.0)

    cycles.start()

    assert cycles.end(60.0, lambda: None)
    assert texts(collector) == ["merged"]
    assert shutdown.rests == [rest_secs, 4.0, 4.0]


def test_the_time_of_a_job_is_not_part_of_the_rest_that_follows(collector: CollectorDriver) -> None:
    collector.send("merged")
    now, shutdown = [0.0], NotedRests()

    def run_slowly(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
        now[0] += 3.0 if tasks else 0.0
        return run_here(tasks, where)

    driver = nursery(collector.client, run_slowly)
    cycles = Cycles(driver, lambda: None, 1.0, shutdown, 4.0, clock=lambda: now[0])
    cycles.start()

    assert cycles.end(60.0, lambda: None)
    assert shutdown.rests[0] == 2.0


def test_a_nursery_that_failed_to_merge_tries_again_soon(collector: CollectorDriver) -> None:
    collector.send("fails")
    shutdown = NotedRests()

    def fail(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
        return [
            (index, replace(result, datasets=tuple(failed(d) for d in result.datasets)))
            for index, result in run_here(tasks, where)
            if isinstance(result, TaskResult)
        ]

    def failed(dataset: DatasetResult) -> DatasetResult:
        return replace(dataset, segments=(), error="no room")

    driver = nursery(collector.client, fail)
    cycles = Cycles(driver, lambda: None, 1.0, shutdown, 4.0)
    cycles.start()

    assert cycles.end(60.0, lambda: None)
    assert shutdown.rests == [1.0] * 3
    assert texts(collector) == []


@pytest.mark.parametrize("reap_interval_secs", [3_600.0, 0.0])
def test_meta_is_asked_before_deletions_once_while_there_are_none(
    meta_client: MetaClient, reap_interval_secs: float
) -> None:
    driver = nursery(meta_client, reap_interval_secs=reap_interval_secs)
    before = calls("GetServerState")

    for _ in range(5):
        driver.cycle()

    assert calls("GetServerState") == before + 1


def calls(rpc: str) -> float:
    return sum(
        sample.value
        for metric in metrics.RPC_SECONDS.collect()
        for sample in metric.samples
        if sample.name == "segplane_rpc_seconds_count" and sample.labels["rpc"] == rpc
    )
