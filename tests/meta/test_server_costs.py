"""Costs of meta and Postgres: divided by what processes report, once, and never lost."""

import os
import time
from collections.abc import Iterator
from uuid import UUID, uuid4

import psycopg
import pytest
from sqlalchemy.exc import SQLAlchemyError

from meta.commits.server_costs import ServerCosts
from meta.commits.transactions import Transactions
from meta.costs.cpu_time import cpu_micros_of, postgres_micros
from meta.store.costs.ledger import Amounts, CostKey
from meta.v1 import costs_pb2 as pb
from tests.support.costs import costs, entry, report
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

TICK_MICROS = 1_000_000 // os.sysconf("SC_CLK_TCK")
SPENT_SECS = 1.0
META, POSTGRES = pb.COST_KIND_META, pb.COST_KIND_POSTGRES


@pytest.fixture
def backend(database_url: str) -> "Iterator[psycopg.Connection[tuple[int, float]]]":
    """A connection of a test to the Postgres of meta."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def server_of(backend: "psycopg.Connection[tuple[int, float]]") -> tuple[int, float]:
    """Return the process of a connection, and the start of its server."""
    statement = "SELECT pg_backend_pid(), extract(epoch FROM pg_postmaster_start_time())::float8"
    row = backend.execute(statement).fetchone()
    assert row is not None
    return row


def spend_in_postgres(backend: "psycopg.Connection[tuple[int, float]]") -> int:
    """Let Postgres spend CPU time; returns how much, in microseconds."""
    pid = backend.info.backend_pid
    before = cpu_micros_of(pid) or 0
    while (spent := (cpu_micros_of(pid) or 0) - before) < SPENT_SECS * 1e6:
        backend.execute("SELECT count(*) FROM generate_series(1, 300000)")
    return spent


def spent_on(server: MetaServer, kind: int, *dataset_ids: str) -> int:
    """Return the CPU time of a kind in the ledger, of datasets or of none ("")."""
    rows = (costs(server.client, each).get(kind, pb.CostAmounts()) for each in dataset_ids)
    return sum(row.cpu_micros for row in rows)


def test_the_shares_add_up_to_what_meta_and_postgres_spent(
    meta_server: MetaServer, backend: "psycopg.Connection[tuple[int, float]]"
) -> None:
    catalog, server_costs = CatalogDriver(meta_server.client), meta_server.running.reports.costs
    web, app = (catalog.dataset(name) for name in ("web", "app"))
    of_postgres = server_of(backend)
    # Its rounds have not begun.
    server_costs.end()
    assert spent_on(meta_server, META, "") == 0
    server_costs.run_round()
    # Without work, so that nearly nothing of the next round counts as idle.
    time.sleep(0.3)
    server_costs.run_round()
    ledger = {kind: spent_on(meta_server, kind, "", web, app) for kind in (META, POSTGRES)}
    begin = {META: time.process_time_ns() // 1_000, POSTGRES: postgres_micros(*of_postgres) or 0}
    for dataset_id, size in ((web, 3_000), (app, 1_000)):
        report(
            meta_server.client, uuid4().bytes, 1, entry(dataset_id, pb.COST_KIND_MERGE, bytes=size)
        )
    until = time.process_time() + SPENT_SECS
    while time.process_time() < until:
        pass
    spend_in_postgres(backend)

    end = {META: time.process_time_ns() // 1_000, POSTGRES: postgres_micros(*of_postgres) or 0}
    server_costs.run_round()

    for kind, tolerance in ((META, 0), (POSTGRES, 3 * TICK_MICROS)):
        spent = end[kind] - begin[kind]
        shares = spent_on(meta_server, kind, "", web, app) - ledger[kind]
        assert abs(shares - spent) <= 0.02 * spent + tolerance
        of_web, of_app = (spent_on(meta_server, kind, each) for each in (web, app))
        assert of_web == pytest.approx(3 * of_app, abs=3)
        assert of_web + of_app > 0.8 * shares
    assert costs(meta_server.client, web)[META].bytes == 0


def test_servers_divide_postgres_once(
    meta_server: MetaServer, backend: "psycopg.Connection[tuple[int, float]]"
) -> None:
    web = CatalogDriver(meta_server.client).dataset("web")
    transactions = Transactions(meta_server.running.database)
    busy, idle = (ServerCosts(transactions) for _ in range(2))
    for server in (busy, idle):
        server.run_round()
    spent = spend_in_postgres(backend)
    busy.charge({CostKey(UUID(web), pb.COST_KIND_INGEST): Amounts(bytes=1)})

    for server in (idle, busy, idle):
        server.run_round()

    shares = spent_on(meta_server, POSTGRES, "", web)
    assert spent - TICK_MICROS <= spent_on(meta_server, POSTGRES, web) <= shares
    assert shares < 1.5 * spent


def test_shares_that_could_not_be_written_are_written_later_once(meta_server: MetaServer) -> None:
    database, server_costs = meta_server.running.database, meta_server.running.reports.costs
    server_costs.run_round()
    with database.write() as tx:
        tx.exec_driver_sql("ALTER TABLE costs RENAME TO costs_away")
    with pytest.raises(SQLAlchemyError):
        server_costs.run_round()
    with database.write() as tx:
        tx.exec_driver_sql("ALTER TABLE costs_away RENAME TO costs")

    server_costs.run_round()

    total = spent_on(meta_server, META, "")
    assert 0 <= time.process_time_ns() // 1_000 - total < SPENT_SECS * 1e6


def test_postgres_counts_with_its_processes_that_have_ended(
    database_url: str, backend: "psycopg.Connection[tuple[int, float]]"
) -> None:
    pid, started_at_secs = server_of(backend)
    before = postgres_micros(pid, started_at_secs)
    with psycopg.connect(database_url, autocommit=True) as other:
        spent = spend_in_postgres(other)
        other_pid = other.info.backend_pid
    wait_until(lambda: cpu_micros_of(other_pid) is None, "the end of a backend")

    after = postgres_micros(pid, started_at_secs)

    assert before is not None
    assert after is not None
    assert after - before >= spent - TICK_MICROS


def test_a_postgres_of_another_machine_is_not_counted(
    backend: "psycopg.Connection[tuple[int, float]]",
) -> None:
    pid, started_at_secs = server_of(backend)

    # Another process has the number, or there is none.
    assert postgres_micros(os.getpid(), started_at_secs) is None
    assert postgres_micros(pid, started_at_secs - 60) is None
    assert postgres_micros(2**31 - 1, started_at_secs) is None
