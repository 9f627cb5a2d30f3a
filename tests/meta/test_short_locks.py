"""Nothing unbounded happens while the counter, a head or a statistics row is held."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Thread
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import text

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import MetaError
from meta.store.catalog import datasets
from meta.store.deletion import dataset_deletion
from meta.store.deletion.lifetimes import LOCK_KEY
from meta.store.engine.pool import Transaction
from meta.store.merging import merge_completions
from meta.store.merging.merge_completions import Completion, Done, Rejected
from meta.store.registration import registration_rows, registrations
from meta.store.registration.calls import Merge
from meta.store.segments import stats
from meta.store.segments.segments import NewSegment
from meta.store.streams import commits, stream_datasets, streams
from meta.store.streams.commits import Committed
from meta.store.streams.stream_datasets import EntryMove, NewEntry
from meta.store.versions import versions
from meta.store.versions.versions import Version
from meta.v1 import janitor_pb2, merge_task_pb2, operations_pb2
from segments.keys import join_key
from segments.offsets import OffsetSpan
from tests.support.interleaving.in_process_calls import InProcessScene, baby, new_segment
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import undelete
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.segments import DAY, EPOCH, WorkerDriver, Writer
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

TASKS = dataset_deletion.TASKS_AT_ONCE + 1
WAIT_SECS = 30.0


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """Batches side by side, which may wait for one another's locks."""
    return replace(meta_settings, database=replace(meta_settings.database, commit_batches=2))


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


@pytest.fixture
def transactions(meta_server: MetaServer, meta_settings: Settings) -> Iterator[Transactions]:
    """Give transactions beside a server whose expiry rules are kept from running."""
    with psycopg.connect(meta_settings.database.url, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", (LOCK_KEY,))
        yield Transactions(meta_server.running.database)


def open_rows(transactions: Transactions) -> int:
    statement = text("SELECT count(*) FROM merge_tasks WHERE state = 1")
    return transactions.read(lambda tx: int(tx.execute(statement).scalar_one()))


def rewrite(writer: Writer) -> int:
    request = janitor_pb2.RewriteAllSegmentsRequest()
    return writer.client.janitor.RewriteAllSegments(request).tasks_created


def num_open(worker: WorkerDriver) -> int:
    reply = worker.client.janitor.ListMergeTasks(janitor_pb2.ListMergeTasksRequest())
    return len(reply.tasks)


def delete(transactions: Transactions, dataset: str) -> None:
    assert transactions.write(lambda tx: dataset_deletion.delete(tx, UUID(dataset)))


def test_tasks_of_a_deleted_dataset_are_dead_before_their_rows_are_closed(
    transactions: Transactions, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, TASKS)
    assert rewrite(writer) == TASKS
    claimed = worker.poll()

    delete(transactions, dataset)

    assert open_rows(transactions) == TASKS
    assert worker.find_task() is None
    assert num_open(worker) == 0
    answer = worker.complete(claimed.task_id, worker.output(claimed))
    assert answer.error.reason == "TASK_NOT_OPEN"
    request = operations_pb2.HeartbeatMergeTaskRequest(task_id=claimed.task_id)
    assert not worker.client.operations.HeartbeatMergeTask(request).still_yours
    task = janitor_pb2.GetMergeTaskRequest(task_id=claimed.task_id)
    state = worker.client.janitor.GetMergeTask(task).state
    assert state == janitor_pb2.MERGE_TASK_STATE_CANCELLED
    taken = [transactions.write(dataset_deletion.cancel_tasks) for _ in range(3)]
    assert taken == [TASKS - 1, 1, 0]
    assert open_rows(transactions) == 0


def test_an_undelete_half_way_brings_the_open_tasks_back(
    meta_server: MetaServer,
    transactions: Transactions,
    writer: Writer,
    worker: WorkerDriver,
    dataset: str,
) -> None:
    writer.save_many(dataset, TASKS)
    rewrite(writer)
    delete(transactions, dataset)
    transactions.write(dataset_deletion.cancel_tasks)

    undelete(meta_server.client, dataset)

    assert transactions.write(dataset_deletion.cancel_tasks) == 0
    assert num_open(worker) == 1
    assert worker.merge_all() == 1
    assert rewrite(writer) == TASKS - 1
    request = janitor_pb2.GetJanitorStatsRequest()
    totals = worker.client.janitor.GetJanitorStats(request)
    assert totals.outstanding_merge_tasks == TASKS - 1


def test_a_completion_holds_no_statistics_while_it_waits_for_its_version(
    transactions: Transactions,
    catalog: CatalogDriver,
    writer: Writer,
    worker: WorkerDriver,
    dataset: str,
) -> None:
    """Registrations take the counter, then the statistics: the other order is a deadlock."""
    lost, whole = claim_two(catalog, writer, worker, dataset)
    statement = text("DELETE FROM merge_task_inputs WHERE task_id = :task AND position = 0")
    transactions.write(lambda tx: tx.execute(statement, {"task": lost.task_id}))
    answers: list[object] = []

    def complete() -> None:
        batch = [completion(worker, task) for task in (lost, whole)]
        answers.extend(transactions.write(lambda tx: merge_completions.complete_batch(tx, batch)))

    other = Thread(target=complete)
    with transactions.database.write() as tx:
        versions.allocate(tx)
        other.start()
        wait_until(lambda: is_waiting(transactions), "the completion waits for the counter")
        key = datasets.get(tx, UUID(lost.dataset_id)).key
        tx.execute(text("SET LOCAL lock_timeout = '1s'"))
        stats.add(tx, [stats.Change(key, open_tasks=0)])
    other.join()

    assert [type(answer) for answer in answers] == [Rejected, Done]


def claim_two(
    catalog: CatalogDriver, writer: Writer, worker: WorkerDriver, dataset: str
) -> tuple[merge_task_pb2.SegmentMergeTaskInfo, merge_task_pb2.SegmentMergeTaskInfo]:
    writer.save_many(dataset, 20)
    writer.save_many(catalog.dataset("other"), 20, EPOCH + DAY)
    worker.plan()
    first, second = worker.poll(), worker.poll()
    assert first.dataset_id != second.dataset_id
    return first, second


def completion(worker: WorkerDriver, task: merge_task_pb2.SegmentMergeTaskInfo) -> Completion:
    message = worker.output(task)
    prefix, name = message.cloud_object_key.prefix.prefix, message.cloud_object_key.key
    output = NewSegment(
        dataset_id=UUID(task.dataset_id),
        start_ns=message.time_range.start_time,
        end_ns=message.time_range.end_time,
        size_bytes=message.size_bytes,
        compressed_size_bytes=message.compressed_size_bytes,
        number_of_events=message.number_of_events,
        prefix=prefix,
        object_name=name,
        object_key=join_key(prefix, name),
    )
    return Completion(UUID(task.task_id), (output,))


def is_waiting(transactions: Transactions) -> bool:
    return num_waiting(transactions) > 0


def num_waiting(transactions: Transactions) -> int:
    statement = text(
        "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
        " WHERE NOT l.granted AND a.datname = current_database()"
    )
    return transactions.read(lambda tx: int(tx.execute(statement).scalar_one()))


def test_batches_of_commits_side_by_side_wait_for_no_row_of_one_dataset(
    meta_server: MetaServer, transactions: Transactions, dataset: str
) -> None:
    scene, dataset_id = InProcessScene(meta_server), UUID(dataset)
    streams_of = [scene.stream(dataset_id) for _ in range(2)]
    first, second = (baby(stream_id, 0, dataset_id) for stream_id in streams_of)

    with (
        ThreadPoolExecutor(1) as one,
        ThreadPoolExecutor(1) as other,
        transactions.database.write() as tx,
    ):
        one.submit(commits.commit_batch, tx.exec_driver_sql, [first]).result(WAIT_SECS)
        answers = other.submit(scene.commit_batch, second).result(WAIT_SECS)

    assert answers == [Committed(0)]
    (records,) = scene.rows(
        "SELECT sum(records) FROM dataset_usage WHERE dataset_id = :d", d=dataset
    )
    assert records == (first.num_records + second.num_records,)


def test_a_batch_of_registrations_prepares_while_the_one_before_waits_for_the_counter(
    meta_server: MetaServer,
    transactions: Transactions,
    catalog: CatalogDriver,
    nursery: NurseryDriver,
) -> None:
    scene = InProcessScene(meta_server)
    datasets_of = [catalog.dataset(name) for name in ("web", "api")]
    streams_of = [str(scene.stream(UUID(d), committed=0)) for d in datasets_of]
    calls = list(zip(datasets_of, streams_of, strict=True))

    with ThreadPoolExecutor(2) as callers:
        with transactions.database.write() as tx:
            drawn = versions.allocate(tx)
            replies = []
            for number, (dataset, stream) in enumerate(calls, start=1):
                replies.append(callers.submit(nursery.register, dataset, (stream, -1, 0)))
                wait_until(
                    lambda n=number: num_waiting(transactions) == n,  # type: ignore[misc]
                    "a batch waits for the counter",
                    seconds=WAIT_SECS,
                )
        shown = [reply.result(WAIT_SECS).segment_version for reply in replies]

    assert sorted(shown) == [drawn + 1, drawn + 2]


def test_a_large_registration_writes_its_rows_before_it_takes_the_counter(
    transactions: Transactions, catalog: CatalogDriver, dataset: str
) -> None:
    merge = large_merge(transactions, dataset)
    done: list[Version] = []

    def register() -> None:
        (version,) = transactions.write(lambda tx: registrations.register_batch(tx, [merge]))
        assert not isinstance(version, MetaError)
        done.append(version)

    other = Thread(target=register)
    with transactions.database.write() as tx:
        drawn = versions.allocate(tx)
        other.start()
        wait_until(lambda: is_waiting(transactions), "the registration waits for the counter")
        tables = tables_written_by_waiting(transactions)
    other.join()

    assert {"segments", "registrations", "offset_checkpoints", "stream_datasets"} <= tables
    assert "dataset_stats" not in tables
    assert done[0] > drawn


def large_merge(transactions: Transactions, dataset: str) -> Merge:
    """Describe a merge of one baby of each of many streams."""
    count = registration_rows.MOVES_UNDER_COUNTER_MAX + 1
    dataset_id = UUID(dataset)

    def make(tx: Transaction) -> list[UUID]:
        ids = [streams.find_or_create(tx, f"collector {n}", "")[0] for n in range(count)]
        stream_datasets.create_missing(tx, [NewEntry(i, dataset_id, -1) for i in ids])
        for stream_id in ids:
            streams.advance(tx, stream_id, 0)
        return ids

    ids = transactions.write(make)
    moves = tuple(EntryMove(dataset_id, OffsetSpan(str(i), 0, 0), 1) for i in ids)
    return Merge(dataset_id, (new_segment(dataset_id),), moves)


def tables_written_by_waiting(transactions: Transactions) -> set[str]:
    statement = text(
        "SELECT DISTINCT relation::regclass::text FROM pg_locks WHERE mode = 'RowExclusiveLock'"
        " AND relation IS NOT NULL AND pid IN (SELECT pid FROM pg_locks WHERE NOT granted)"
    )
    return transactions.read(lambda tx: set(tx.execute(statement).scalars()))
