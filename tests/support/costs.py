"""Reports of costs, and what the ledger has of a dataset."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from dataplane.costs.process import COSTS
from meta.client import MetaClient
from meta.costs.accumulator import Work
from meta.costs.spent import Spent
from meta.v1 import costs_pb2 as pb


def entry(dataset_id: str, kind: Any, **amounts: int) -> pb.CostEntry:
    """Give an entry of a report."""
    return pb.CostEntry(dataset_id=dataset_id, kind=kind, amounts=pb.CostAmounts(**amounts))


def report(client: MetaClient, reporter_id: bytes, number: int, *entries: pb.CostEntry) -> bool:
    """Report costs; false if the report was taken before."""
    request = pb.ReportCostsRequest(reporter_id=reporter_id, number=number, entries=entries)
    return client.operations.ReportCosts(request).is_added


def live_costs(client: Any, dataset_id: str) -> None:
    """Report costs once."""
    spent = [entry(dataset_id, pb.COST_KIND_MERGE, bytes=1)]
    request = pb.ReportCostsRequest(reporter_id=uuid4().bytes, number=1, entries=spent)
    client.operations.ReportCosts(request)


def cost(client: MetaClient, month: str = "") -> Iterator[pb.DatasetCost]:
    """Read every row of a month."""
    request = pb.ListCostsRequest(month=month)
    while True:
        reply = client.operations.ListCosts(request)
        yield from reply.costs
        if not reply.next_cursor:
            return
        request.after = reply.next_cursor


def costs(client: MetaClient, dataset_id: str) -> dict[int, pb.CostAmounts]:
    """Read what a dataset cost this month, by kind; of none for ""."""
    if not dataset_id:
        return {row.kind: row.amounts for row in cost(client) if not row.dataset_id}
    reply = client.operations.ListCosts(pb.ListCostsRequest(dataset_id=dataset_id))
    return {row.kind: row.amounts for row in reply.costs}


def charged(work: Work) -> dict[str, pb.CostAmounts]:
    """Take what this process has charged to datasets until now, without shares of its own."""
    COSTS.settle(work, Spent(), 0.0)
    charges: dict[str, pb.CostAmounts] = {}
    while entries := COSTS.take(work, 1_000):
        charges |= {entry.dataset_id: entry.amounts for entry in entries}
    return charges
