"""Costs of datasets in a month, from meta's ledger."""

from calendar import monthrange
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from meta.client import MetaClient
from meta.v1 import costs_pb2 as pb
from segplane.health.prices import Prices

KINDS: Mapping[int, str] = {
    pb.COST_KIND_STORED: "stored",
    pb.COST_KIND_INGEST: "ingest",
    pb.COST_KIND_NURSERY: "nursery",
    pb.COST_KIND_MERGE: "merge",
    pb.COST_KIND_QUERY: "query",
    pb.COST_KIND_UPKEEP: "upkeep",
    pb.COST_KIND_META: "meta",
    pb.COST_KIND_POSTGRES: "postgres",
}
IDLE = "(idle)"
_PAGE = 500


@dataclass(slots=True)
class CostsOfDataset:
    """Amounts of a dataset by kind; `dataset_id` "" = of no dataset."""

    dataset_id: str
    dataset_name: str
    kinds: dict[int, pb.CostAmounts] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name that people see; that of a dataset without a row any more is its id."""
        return self.dataset_name or self.dataset_id or IDLE

    def size_bytes(self, kind: int) -> int:
        """Return the bytes of a kind."""
        return self.kinds[kind].bytes if kind in self.kinds else 0

    def total(self, name: str) -> int:
        """Return the sum over all kinds of one of the amounts but bytes."""
        return sum(int(getattr(amounts, name)) for amounts in self.kinds.values())


@dataclass(frozen=True, slots=True)
class MonthCosts:
    """Rows of a month, YYYY-MM; `days` of it have passed."""

    month: str
    days: int
    rows: Sequence[pb.DatasetCost]

    @property
    def month_days(self) -> int:
        """The days of the whole month."""
        year, month = map(int, self.month.split("-"))
        return monthrange(year, month)[1]

    def datasets(self) -> list[CostsOfDataset]:
        """Return the datasets with most stored bytes first, and what is of no dataset last."""
        by_id: dict[str, CostsOfDataset] = {}
        for row in self.rows:
            costs = by_id.setdefault(
                row.dataset_id, CostsOfDataset(row.dataset_id, row.dataset_name)
            )
            amounts = costs.kinds.setdefault(row.kind, pb.CostAmounts())
            for number in pb.CostAmounts.DESCRIPTOR.fields:
                total = getattr(amounts, number.name) + getattr(row.amounts, number.name)
                setattr(amounts, number.name, total)
        return sorted(
            by_id.values(),
            key=lambda costs: (
                not costs.dataset_id,
                -costs.size_bytes(pb.COST_KIND_STORED),
                -costs.total("cpu_micros"),
                costs.name,
            ),
        )

    def stored_bytes(self, byte_days: int) -> int:
        """Return the bytes that byte-days are on average over the days that have passed."""
        return byte_days // max(1, self.days)

    def price(self, prices: Prices, costs: CostsOfDataset) -> Decimal:
        """Return the price of a dataset."""
        parts = (
            prices.cost(kind, amounts, self.month_days) for kind, amounts in costs.kinds.items()
        )
        return sum(parts, Decimal(0))


def read_costs(
    client: MetaClient, month: str = "", dataset_id: str = "", *, by_day: bool = False
) -> MonthCosts:
    """Read the rows of a month, of one dataset or of all; "" = of the present month."""
    request = pb.ListCostsRequest(
        month=month, dataset_id=dataset_id or None, by_day=by_day, limit=_PAGE
    )
    pages = list(_pages(client, request))
    rows = [row for page in pages for row in page.costs]
    return MonthCosts(pages[0].month, pages[0].days, rows)


def _pages(client: MetaClient, request: pb.ListCostsRequest) -> Iterator[pb.ListCostsResponse]:
    while True:
        reply = client.operations.ListCosts(request)
        yield reply
        if not reply.next_cursor:
            return
        request.after = reply.next_cursor
