"""Merge tasks under callers that plan, claim and complete at once."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from meta.config import Settings
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.merge_leases import let_leases_pass
from tests.support.meta.segments import DAY, EPOCH, WorkerDriver, Writer
from tests.support.meta.server import MetaServer


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """Failed tasks come back at once."""
    return replace(meta_settings, lifetimes=replace(meta_settings.lifetimes, fail_backoff=0.0))


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


def test_many_workers_never_get_the_same_task(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    for day in range(30):
        writer.save_many(dataset, 16, EPOCH + day * DAY)
    worker.plan()
    start = threading.Barrier(8)

    def drain(number: int) -> list[str]:
        mine = replace(worker, worker_id=f"worker-{number}")
        start.wait()
        claimed = []
        while (task := mine.find_task()) is not None:
            claimed.append(task.task_id)
        return claimed

    with ThreadPoolExecutor(8) as pool:
        claims = Counter(task for tasks in pool.map(drain, range(8)) for task in tasks)

    assert len(claims) == 30
    assert max(claims.values()) == 1


def test_of_two_attempts_that_complete_at_once_only_the_current_one_wins(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    for _ in range(5):
        writer.save_many(dataset, 4)
        worker.plan()
        old = worker.poll()
        let_leases_pass(meta_server)
        new = worker.poll()

        with ThreadPoolExecutor(2) as pool:
            late = pool.submit(worker.complete, old.task_id, worker.output(old))
            current = pool.submit(worker.complete, new.task_id, worker.output(new))

        assert late.result().error.reason in {"TASK_FENCED", "TASK_NOT_OPEN"}
        assert current.result().WhichOneof("result") == "success"


def test_planning_twice_at_once_puts_no_segment_in_two_tasks(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    for day in range(10):
        writer.save_many(dataset, 12, EPOCH + day * DAY)

    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda _: worker.plan(), range(4)))

    assert sum(reply.tasks_created for reply in replies) == 10
    used = Counter(one.id for _ in range(10) for one in worker.poll().segments)
    assert max(used.values()) == 1
