"""Planning goes through all segments of a dataset, a window of them a transaction."""

from uuid import UUID

import pytest
from sqlalchemy import text

from meta.commits.transactions import Transactions
from meta.services.merging.janitor import JanitorServicer
from meta.store.merging import merge_planning
from meta.store.merging.merge_planning import CANDIDATES_MAX, DAY_NANOS, CandidateRow
from meta.v1.janitor_pb2 import CreateMergeTasksRequest
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import EPOCH, WorkerDriver, Writer
from tests.support.meta.server import MetaServer

# What a quiet day may keep of small segments.
LEFT_OF_A_DAY = 4
EMPTY = UUID(int=0)
_OLD = text("""
    INSERT INTO segments (id, dataset_key, dur_class, start_ns, end_ns, created_version, created_at,
        size_bytes, compressed_size_bytes, number_of_events, prefix, object_name)
    SELECT gen_random_uuid(), d.key, 0, n / :left * :day, n / :left * :day, 1,
        now() - interval '2 days', 1, 1000, 1, 'dataset', n || '.parquet'
    FROM generate_series(0, :count - 1) n, datasets d WHERE d.name = 'web'
""")


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


def test_a_window_of_old_segments_hides_no_new_ones(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    values = {"left": LEFT_OF_A_DAY, "day": DAY_NANOS, "count": CANDIDATES_MAX}
    with meta_server.running.database.write() as tx:
        tx.execute(_OLD, values)
    assert CANDIDATES_MAX / LEFT_OF_A_DAY * DAY_NANOS < EPOCH
    writer.save_many(dataset, 40)

    planned = worker.plan()

    assert planned.tasks_created > 0
    assert worker.poll().segments[0].time_range.start_time >= EPOCH


def row(start_ns: int) -> CandidateRow:
    return CandidateRow(EMPTY, 1, start_ns, start_ns, 0, 1, 0)


def window(first_ns: int, last_ns: int) -> list[CandidateRow]:
    return [row(first_ns)] * (CANDIDATES_MAX - 1) + [row(last_ns)]


@pytest.mark.parametrize(
    ("rows", "start_ns", "following"),
    [
        ([], 0, None),
        ([row(5)] * 3, 0, None),
        (window(5, 3 * DAY_NANOS + 7), 0, 3 * DAY_NANOS),
        (window(3 * DAY_NANOS + 1, 3 * DAY_NANOS + 7), 3 * DAY_NANOS, 3 * DAY_NANOS + 8),
        (window(-DAY_NANOS - 5, -3), -2 * DAY_NANOS, -DAY_NANOS),
    ],
    ids=["empty", "not full", "several days", "one day", "before 1970"],
)
def test_a_window_ends_before_its_last_day(
    rows: list[CandidateRow], start_ns: int, following: int | None
) -> None:
    assert merge_planning.next_window(rows, start_ns) == following


def test_a_call_that_ends_early_is_carried_on_by_the_next(
    meta_server: MetaServer, catalog: CatalogDriver, writer: Writer
) -> None:
    names = [f"dataset-{number}" for number in range(5)]
    for name in names:
        writer.save_many(catalog.dataset(name), 8)
    # Datasets without segments to merge are passed over.
    catalog.dataset()
    writer.save_many(catalog.dataset("single"), 1)
    transactions = Transactions(meta_server.running.database)
    janitor = JanitorServicer(transactions, meta_server.settings, plan_secs=0.0)

    planned = [
        janitor.CreateMergeTasks(CreateMergeTasksRequest()).tasks_created
        for _ in range(len(names) + 2)
    ]

    # The last ones find that nothing is left.
    assert [tasks > 0 for tasks in planned] == [True] * 5 + [False] * 2


def test_pages_of_datasets_to_plan_are_in_order_and_hold_each_once(
    meta_server: MetaServer, catalog: CatalogDriver, writer: Writer
) -> None:
    for number in range(5):
        writer.save_many(catalog.dataset(f"dataset-{number}"), 2)

    keys: list[int] = []
    with meta_server.running.database.read() as tx:
        while page := merge_planning.plannable_datasets(tx, keys[-1] if keys else 0, 2):
            keys += page

    assert len(keys) == len(set(keys)) == 5
    assert keys == sorted(keys)
