"""Rewrites beside others: merges, other servers, deaths and restarts, limits of speed."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from meta.client import MetaClient
from meta.server import server
from meta.store.rewrites import rewrite_advance
from meta.v1 import operations_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.rewrites import RewriteDriver
from tests.support.meta.segments import EPOCH, WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


@pytest.fixture
def rewrites(meta_server: MetaServer) -> RewriteDriver:
    return RewriteDriver(meta_server.client, meta_server.running.database)


def test_while_merges_wait_all_rewrites_have_one_task_in_turns(
    rewrites: RewriteDriver,
    writer: Writer,
    worker: WorkerDriver,
    dataset: str,
    catalog: CatalogDriver,
) -> None:
    busy, other = catalog.dataset("busy"), catalog.dataset("other")
    writer.save_many(busy, 17)
    worker.plan()
    for name in (dataset, other):
        writer.save_many(name, 3)
    jobs = [rewrites.create(dataset), rewrites.create(other)]

    turns = set()
    for _ in range(4):
        rewrites.advance_all()
        (opened,) = [one for one in rewrites.list() if one.open_tasks]
        assert opened.open_tasks == 1
        turns.add(opened.id)
        rewrites.complete_one(worker, opened.dataset_id)
    worker.merge_all()
    rewrites.advance_all()

    assert turns == {job.id for job in jobs}
    assert {one.open_tasks for one in rewrites.list()} <= {1, 2}
    assert sum(one.open_tasks for one in rewrites.list()) == 2


def test_a_limit_of_bytes_bounds_what_is_planned(
    rewrites: RewriteDriver, writer: Writer, dataset: str
) -> None:
    writer.save(*(segment_of(dataset, EPOCH, compressed=1_000) for _ in range(20)))
    job = rewrites.create(dataset, tasks_max=20, bytes_per_sec=2_000)

    rewrites.let_time_pass(job, secs=0)
    nothing = rewrites.advance(job).open_tasks
    rewrites.let_time_pass(job, secs=1)
    after_a_second = rewrites.advance(job).open_tasks
    rewrites.let_time_pass(job, secs=50)
    after_a_gap = rewrites.advance(job).open_tasks

    assert nothing <= 1
    assert 2 <= after_a_second <= 4
    # Two seconds' worth may be saved up.
    assert 4 <= after_a_gap - after_a_second <= 6


def test_reading_a_rewrite_does_not_lift_its_limit(
    rewrites: RewriteDriver, writer: Writer, dataset: str, meta_client: MetaClient
) -> None:
    writer.save(*(segment_of(dataset, EPOCH, compressed=1_000_000) for _ in range(3)))
    job = rewrites.create(dataset, tasks_max=3, bytes_per_sec=1_000)
    rewrites.let_time_pass(job, secs=1)
    assert rewrites.advance(job).open_tasks == 1

    meta_client.operations.UpdateRewriteJob(pb.UpdateRewriteJobRequest(id=job.id))

    rewrites.let_time_pass(job, secs=1)
    assert rewrites.advance(job).open_tasks == 1


def test_two_servers_that_advance_at_once_open_no_task_twice(
    rewrites: RewriteDriver, writer: Writer, dataset: str
) -> None:
    writer.save_many(dataset, 40)
    job = rewrites.create(dataset, tasks_max=10)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: rewrites.advance(job), range(12)))

    assert rewrites.get(job).open_tasks == 10


class Killed(BaseException):
    """The server's process is gone before the commit."""


def advance_and_die(rewrites: RewriteDriver) -> None:
    with rewrites.database.write() as tx:
        assert rewrite_advance.advance(tx)
        raise Killed


def test_a_server_that_dies_before_its_commit_changes_nothing(
    rewrites: RewriteDriver, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, 4)
    job = rewrites.create(dataset, tasks_max=2)
    rewrites.advance(job)
    worker.merge_all()
    before = rewrites.get(job)

    rewrites.make_due(job)
    with pytest.raises(Killed):
        advance_and_die(rewrites)

    assert rewrites.get(job) == before
    assert rewrites.finish(job, worker.merge_all).segments_done == 4


def test_a_rewrite_survives_a_restart_and_a_dead_worker(
    meta_server: MetaServer,
    rewrites: RewriteDriver,
    writer: Writer,
    worker: WorkerDriver,
    dataset: str,
) -> None:
    writer.save_many(dataset, 4)
    job = rewrites.advance(rewrites.create(dataset, tasks_max=2))
    worker.poll()
    rewrites.let_leases_pass()

    started = server.start(replace(meta_server.settings, bind="127.0.0.1:0"))
    try:
        with MetaClient(f"127.0.0.1:{started.port}") as client:
            later = RewriteDriver(client, started.database)
            finished = later.finish(job, WorkerDriver(client).merge_all)
    finally:
        started.stop(2.0)

    assert (finished.state, finished.segments_done) == (pb.REWRITE_JOB_STATE_DONE, 4)
