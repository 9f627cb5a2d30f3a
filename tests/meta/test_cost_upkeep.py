"""Samples of stored bytes, days that become months, and rows that are forgotten."""

from datetime import UTC, date, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from meta.config import Settings
from meta.process.shutdown import Shutdown
from meta.store.costs import months, reports, samples
from meta.store.costs.months import DAYS_KEPT, MONTHS_KEPT
from meta.v1 import costs_pb2 as pb
from meta.watches.rounds import Rounds
from tests.support.costs import costs, entry, report
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer

Rows = list[tuple[date, int, int]]


def execute(server: MetaServer, statement: str) -> None:
    with server.running.database.write() as tx:
        tx.exec_driver_sql(statement)


def rows(server: MetaServer, table: str = "costs", period: str = "day") -> Rows:
    statement = f"SELECT {period}, kind, bytes FROM {table} ORDER BY 1, 2"  # noqa: S608
    with server.running.database.read() as tx:
        return [tuple(row) for row in tx.exec_driver_sql(statement)]


def upkeep(server: MetaServer, settings: Settings) -> bool:
    return Rounds(server.running.database, settings, Shutdown()).keep_costs()


def stored(server: MetaServer, sizes: list[int]) -> list[str]:
    """Create datasets whose live segments have these compressed bytes,."""
    catalog = CatalogDriver(server.client)
    ids = [catalog.dataset(f"web-{uuid4()}") for _ in sizes]
    for dataset_id, size in zip(ids, sizes, strict=True):
        execute(
            server,
            f"UPDATE dataset_stats SET live_compressed_size_bytes = {size} WHERE dataset_key ="  # noqa: S608
            f" (SELECT key FROM datasets WHERE id = '{dataset_id}')",
        )
    return ids


def test_a_sample_is_a_quarter_of_a_day(meta_server: MetaServer, meta_settings: Settings) -> None:
    large, empty = stored(meta_server, [4_000, 0])

    assert upkeep(meta_server, meta_settings)
    assert not upkeep(meta_server, meta_settings)

    assert costs(meta_server.client, large) == {pb.COST_KIND_STORED: pb.CostAmounts(bytes=1_000)}
    assert costs(meta_server.client, empty) == {}
    for _ in range(3):
        # As in the next period.
        execute(meta_server, "DELETE FROM cost_samples")
        upkeep(meta_server, meta_settings)
    assert costs(meta_server.client, large)[pb.COST_KIND_STORED].bytes == 4_000


def test_a_sample_goes_on_where_another_server_ended(
    meta_server: MetaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = stored(meta_server, [400] * 5)
    monkeypatch.setattr(samples, "DATASETS_AT_ONCE", 2)

    pages = 0
    while True:
        with meta_server.running.database.write() as tx:
            if not samples.take_page(tx):
                break
        pages += 1

    # The catalog has a default dataset too, whose page is counted.
    assert pages in {3, 4}
    assert [costs(meta_server.client, each)[pb.COST_KIND_STORED].bytes for each in ids] == [100] * 5


def test_days_become_months_after_62_days(meta_server: MetaServer, meta_settings: Settings) -> None:
    today = datetime.now(UTC).date()
    dataset_id = CatalogDriver(meta_server.client).dataset("web")
    days = [today - timedelta(days=age) for age in range(DAYS_KEPT - 2, DAYS_KEPT + 40)]
    values = ", ".join(f"('{day}', 0, '{dataset_id}', 2, 1, 0, 0, 0)" for day in days)
    execute(meta_server, f"INSERT INTO costs VALUES {values}")  # noqa: S608
    upkeep(meta_server, meta_settings)

    kept = [row for row in rows(meta_server) if row[1] == pb.COST_KIND_INGEST]
    assert [day for day, _, _ in kept] == sorted(days)[-3:]
    summed = rows(meta_server, "cost_months", "month")
    assert sum(size for _, _, size in summed) == len(days) - 3
    assert all(month.day == 1 for month, _, _ in summed)
    # A month that is half days and half a month is one sum.
    for month in {day.replace(day=1) for day in days}:
        request = pb.ListCostsRequest(month=f"{month:%Y-%m}", dataset_id=dataset_id)
        (row,) = meta_server.client.operations.ListCosts(request).costs
        expected = sum(1 for day in days if day.replace(day=1) == month)
        assert (row.day, row.amounts.bytes) == (month.isoformat(), expected)


def test_months_are_forgotten_after_three_years(
    meta_server: MetaServer, meta_settings: Settings
) -> None:
    today = datetime.now(UTC).date()
    old, new = (
        date(year, month + 1, 1)
        for year, month in (
            divmod(today.year * 12 + today.month - 1 - age, 12)
            for age in (MONTHS_KEPT + 1, MONTHS_KEPT - 1)
        )
    )
    values = ", ".join(f"('{month}', 0, '{uuid4()}', 2, 1, 0, 0, 0)" for month in (old, new))
    execute(meta_server, f"INSERT INTO cost_months VALUES {values}")  # noqa: S608

    upkeep(meta_server, meta_settings)

    assert [month for month, _, _ in rows(meta_server, "cost_months", "month")] == [new]


def test_old_and_excess_reports_are_forgotten(
    meta_server: MetaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "REPORTERS_MAX", 3)
    reporters = [UUID(int=number) for number in range(1, 6)]
    for age_days, reporter in enumerate(reporters):
        report(meta_server.client, reporter.bytes, 1)
        execute(
            meta_server,
            f"UPDATE cost_reports SET reported_at = now() - interval '{2 * age_days} days'"  # noqa: S608
            f" WHERE reporter = '{reporter}'",
        )

    with meta_server.running.database.write() as tx:
        reports.expire(tx)

    web = CatalogDriver(meta_server.client).dataset("web")
    added = entry(web, pb.COST_KIND_MERGE, bytes=1)
    taken = [report(meta_server.client, each.bytes, 1, added) for each in reporters]
    # The fourth is beyond the bound, the fifth is eight days old.
    assert taken == [False, False, False, True, True]


@pytest.mark.parametrize("rows_at_once", [1, 7])
def test_days_are_moved_by_pages(
    meta_server: MetaServer, monkeypatch: pytest.MonkeyPatch, rows_at_once: int
) -> None:
    monkeypatch.setattr(months, "ROWS_AT_ONCE", rows_at_once)
    values = ", ".join(
        f"('2024-02-0{day}', 0, '{UUID(int=7)}', 2, 1, 0, 0, 0)" for day in range(1, 9)
    )
    execute(meta_server, f"INSERT INTO costs VALUES {values}")  # noqa: S608

    moved = list[bool]()
    while not moved or moved[-1]:
        with meta_server.running.database.write() as tx:
            moved.append(months.roll_up(tx))

    assert len(moved) == {1: 9, 7: 2}[rows_at_once]
    assert rows(meta_server, "cost_months", "month") == [(date(2024, 2, 1), 2, 8)]
