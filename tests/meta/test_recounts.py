"""Recounted statistics are stored without keeping registrations from theirs."""

from collections.abc import Iterator
from dataclasses import replace
from threading import Thread
from uuid import UUID

import pytest
from sqlalchemy import text

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.store.catalog import datasets
from meta.store.checks import recounts
from meta.store.engine.pool import Database, Transaction
from meta.store.segments import stats
from meta.store.segments.stats import Change, DatasetTotals
from tests.support.meta.busy_database import locked_table, waiting_backends
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import Writer
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

DRIFT = text("UPDATE dataset_stats SET live_segments = live_segments + 7, open_tasks = 3")


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


@pytest.fixture
def transactions(meta_server: MetaServer) -> Iterator[Transactions]:
    """Give transactions that wait for a lock as long as a busy machine needs."""
    database = Database(replace(meta_server.settings.database, lock_timeout_ms=120_000))
    yield Transactions(database)
    database.close()


def kept_and_counted(transactions: Transactions, dataset: str) -> tuple[DatasetTotals, ...]:
    def work(tx: Transaction) -> tuple[DatasetTotals, ...]:
        key = datasets.get(tx, UUID(dataset)).key
        return stats.read(tx, key), recounts.count(tx, key, rows_at_once=2)

    return transactions.read(work)


def test_a_recount_counts_every_page(
    transactions: Transactions, writer: Writer, dataset: str
) -> None:
    writer.save_many(dataset, 5)

    kept, counted = kept_and_counted(transactions, dataset)

    assert kept == counted
    assert counted.live_segments == 5


def test_two_repairs_at_once_and_a_registration_leave_true_statistics(
    transactions: Transactions,
    meta_settings: Settings,
    writer: Writer,
    dataset: str,
) -> None:
    writer.save_many(dataset, 5)
    transactions.write(lambda tx: tx.execute(DRIFT))
    answers: list[bool] = []

    def repair() -> None:
        answers.append(transactions.write(lambda tx: recounts.store(tx, UUID(dataset))))

    repairs = [Thread(target=repair) for _ in range(2)]
    url = meta_settings.database.url
    with locked_table(url, "merge_tasks"):
        for thread in repairs:
            thread.start()
        # One waits for the table that it counts, the other for the first.
        wait_until(lambda: waiting_backends(url) >= 2, "both repairs wait")
        with transactions.database.write() as tx:
            tx.execute(text("SET LOCAL lock_timeout = '1s'"))
            stats.add(tx, [Change(datasets.get(tx, UUID(dataset)).key, live_segments=0)])
        writer.save_many(dataset, 2)
    for thread in repairs:
        thread.join()

    kept, counted = kept_and_counted(transactions, dataset)
    assert kept == counted
    assert (counted.live_segments, counted.open_tasks) == (7, 0)
    assert sorted(answers) == [False, True]


def test_a_recount_of_what_does_not_exist_changes_nothing(transactions: Transactions) -> None:
    assert not transactions.write(lambda tx: recounts.store(tx, UUID(int=5)))
