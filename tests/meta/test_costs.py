"""Ledger of costs: reports that count once, pages of a month, and who may call."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import CursorInvalid, InvalidArgument, RoleRefused
from meta.roles import Role
from meta.services.costs.costs import AMOUNT_MAX, KINDS, LIMIT_MAX
from meta.store.costs.ledger import TOTAL_MAX
from meta.v1 import costs_pb2 as pb
from tests.support.costs import cost, costs, entry, report
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import guarded
from tests.support.meta.server import MetaServer


def dataset_of(client: MetaClient) -> str:
    return CatalogDriver(client).dataset(f"web-{uuid4()}")


@pytest.mark.one_meta
def test_reports_of_a_day_are_added_up(meta_client: MetaClient) -> None:
    web, app, reporter = dataset_of(meta_client), dataset_of(meta_client), uuid4().bytes
    ingest = entry(web, pb.COST_KIND_INGEST, bytes=10, write_requests=1, cpu_micros=5)

    assert report(meta_client, reporter, 1, ingest, ingest, entry(app, pb.COST_KIND_QUERY, bytes=7))
    assert report(meta_client, reporter, 2, ingest)

    today = datetime.now(UTC).date()
    expected = pb.CostAmounts(bytes=30, write_requests=3, cpu_micros=15)
    assert costs(meta_client, web) == {pb.COST_KIND_INGEST: expected}
    assert costs(meta_client, app) == {pb.COST_KIND_QUERY: pb.CostAmounts(bytes=7)}
    (row,) = meta_client.operations.ListCosts(
        pb.ListCostsRequest(dataset_id=web, by_day=True)
    ).costs
    assert row.day == today.isoformat()
    assert row.dataset_name.startswith("web-")


@pytest.mark.one_meta
def test_a_repeated_report_adds_nothing(meta_client: MetaClient) -> None:
    web, reporter = dataset_of(meta_client), uuid4().bytes
    first, second = (entry(web, pb.COST_KIND_MERGE, bytes=number) for number in (1, 10))

    taken = [
        report(meta_client, reporter, number, each)
        for number, each in ((1, first), (1, first), (2, second), (1, first), (2, second))
    ]

    assert taken == [True, False, True, False, False]
    assert costs(meta_client, web)[pb.COST_KIND_MERGE].bytes == 11
    # Another start of the process counts from 1 again.
    assert report(meta_client, uuid4().bytes, 1, first)
    assert costs(meta_client, web)[pb.COST_KIND_MERGE].bytes == 12


@pytest.mark.one_meta
def test_amounts_of_a_dataset_without_a_row_count_for_none(meta_client: MetaClient) -> None:
    before = costs(meta_client, "").get(pb.COST_KIND_UPKEEP, pb.CostAmounts())
    idle = entry("", pb.COST_KIND_UPKEEP, cpu_micros=3)
    unknown = entry(str(uuid4()), pb.COST_KIND_UPKEEP, cpu_micros=4)

    report(meta_client, uuid4().bytes, 1, idle, unknown)

    after = costs(meta_client, "")[pb.COST_KIND_UPKEEP]
    assert after.cpu_micros - before.cpu_micros == 7


@pytest.mark.one_meta
def test_sums_stay_within_their_columns(meta_server: MetaServer) -> None:
    web, reporter = dataset_of(meta_server.client), uuid4().bytes
    most = entry(web, pb.COST_KIND_QUERY, bytes=AMOUNT_MAX)
    report(meta_server.client, reporter, 1, most)
    with meta_server.running.database.write() as tx:
        tx.exec_driver_sql(f"UPDATE costs SET bytes = {TOTAL_MAX - 1} WHERE dataset_id = '{web}'")  # noqa: S608

    report(meta_server.client, reporter, 2, *[most] * 1_000)

    assert costs(meta_server.client, web)[pb.COST_KIND_QUERY].bytes == TOTAL_MAX


@pytest.mark.one_meta
@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"reporter_id": b"r" * 15}, "reporter_id"),
        ({"number": 0}, "number"),
        ({"entries": [pb.CostEntry(kind=pb.COST_KIND_STORED)]}, "entries[0].kind"),
        ({"entries": [pb.CostEntry()]}, "entries[0].kind"),
        ({"entries": [entry("x", pb.COST_KIND_MERGE)]}, "entries[0].dataset_id"),
        ({"entries": [entry("", pb.COST_KIND_MERGE, bytes=-1)]}, "entries[0].amounts.bytes"),
        (
            {"entries": [entry("", pb.COST_KIND_MERGE, cpu_micros=AMOUNT_MAX + 1)]},
            "entries[0].amounts.cpu_micros",
        ),
    ],
)
def test_a_report_that_makes_no_sense_is_refused(
    meta_client: MetaClient, fields: dict[str, Any], field: str
) -> None:
    given: dict[str, Any] = {"reporter_id": uuid4().bytes, "number": 1} | fields

    with pytest.raises(InvalidArgument) as refused:
        meta_client.operations.ReportCosts(pb.ReportCostsRequest(**given))

    assert refused.value.field == field


@pytest.mark.one_meta
def test_a_month_is_asked_for_by_its_name(meta_client: MetaClient) -> None:
    january = meta_client.operations.ListCosts(pb.ListCostsRequest(month="2025-01"))
    future = meta_client.operations.ListCosts(pb.ListCostsRequest(month="9999-12"))

    assert (january.month, january.days, list(january.costs)) == ("2025-01", 31, [])
    assert (future.month, future.days) == ("9999-12", 0)
    for month in ("2025-13", "2025-1", "0000-01"):
        with pytest.raises(InvalidArgument):
            meta_client.operations.ListCosts(pb.ListCostsRequest(month=month))
    with pytest.raises(InvalidArgument, match="by_day needs dataset_id"):
        meta_client.operations.ListCosts(pb.ListCostsRequest(by_day=True))


def test_datasets_come_by_pages(meta_server: MetaServer) -> None:
    client = meta_server.client
    ids = sorted(dataset_of(client) for _ in range(5))
    first_day = datetime.now(UTC).date().replace(day=1)
    for day in range(3):
        rows = ", ".join(
            f"('{first_day.replace(day=1 + day)}', 0, '{dataset_id}', {kind}, 1, 0, 0, 0)"
            for dataset_id in ids
            for kind in KINDS.values()
        )
        with meta_server.running.database.write() as tx:
            tx.exec_driver_sql(f"INSERT INTO costs VALUES {rows}")  # noqa: S608
    pages, after = list[list[pb.DatasetCost]](), ""
    while True:
        reply = client.operations.ListCosts(pb.ListCostsRequest(limit=2, after=after))
        pages.append(list(reply.costs))
        after = reply.next_cursor
        if not after:
            break

    assert [sorted({row.dataset_id for row in page}) for page in pages] == [
        ids[:2],
        ids[2:4],
        ids[4:],
    ]
    assert {row.amounts.bytes for page in pages for row in page} == {3}
    assert all(len(page) % len(KINDS) == 0 for page in pages)
    assert len(list(cost(client))) == 5 * len(KINDS)
    with pytest.raises(CursorInvalid):
        client.operations.ListCosts(pb.ListCostsRequest(month="2025-01", after="abc"))


def test_a_role_reports_its_work_and_no_other(meta_settings: Settings) -> None:
    with guarded(meta_settings) as guard:
        web = CatalogDriver(guard.admin).dataset("web")
        for role, kind in KINDS.items():
            other = next(each for each in KINDS.values() if each != kind)
            with guard.client(role) as client:
                assert report(client, uuid4().bytes, 1, entry(web, kind, bytes=1))
                with pytest.raises(RoleRefused, match="does no work of"):
                    report(client, uuid4().bytes, 1, entry(web, other, bytes=1))
                with pytest.raises(RoleRefused):
                    costs(client, web)
        for role in (Role.READER, Role.CATALOG, Role.OPERATOR_READ):
            with guard.client(role) as client:
                assert set(costs(client, web)) == set(KINDS.values())
                with pytest.raises(RoleRefused):
                    report(client, uuid4().bytes, 1)


@pytest.mark.one_meta
def test_a_page_has_its_bound(meta_server: MetaServer) -> None:
    with meta_server.running.database.write() as tx:
        tx.exec_driver_sql(
            "INSERT INTO costs SELECT '2024-02-29', 0, gen_random_uuid(), 2, 1, 0, 0, 0"
            " FROM generate_series(1, 501)"
        )

    request = pb.ListCostsRequest(month="2024-02", limit=LIMIT_MAX + 1)
    reply = meta_server.client.operations.ListCosts(request)

    assert len(reply.costs) == LIMIT_MAX == 500
    assert reply.next_cursor
