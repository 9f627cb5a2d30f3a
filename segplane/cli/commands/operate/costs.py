"""segplane costs: what datasets cost in a month, by kind of work."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from segplane.cli.command import command, group
from segplane.cli.connection import usage
from segplane.cli.messages import MetaClient
from segplane.cli.options import given_dataset_id
from segplane.cli.output import NONE, Answer, message_dict, size_text, table
from segplane.cli.parameters import Option, Positional

if TYPE_CHECKING:
    from meta.v1 import costs_pb2 as pb
    from segplane.health.costs import CostsOfDataset, MonthCosts
    from segplane.health.prices import Prices

app = group()
# Datasets without --all.
SHOWN_MAX = 100
_AMOUNTS = ("read requests", "write requests", "CPU s")


@command(app, "costs")
def costs(
    client: MetaClient,
    dataset: Annotated[str | None, Positional(metavar="DATASET")] = None,
    month: Annotated[str, Option(metavar="YYYY-MM")] = "",
    days: Annotated[bool, Option("--days")] = False,
    prices: Annotated[Path | None, Option(metavar="FILE")] = None,
    every: Annotated[bool, Option("--all", help="Show all datasets, not 100.")] = False,
) -> Answer:
    """Show what each dataset cost in a month: bytes, requests to the store, CPU seconds.

    Of one dataset it shows the kinds of work. Stored bytes are the average of the days that have
    passed. Rows come a minute late, those of meta and Postgres five. Idle time, and requests for no
    dataset, are a row of their own.

    Options:
        dataset: Only the one with this name or id, by kind of work.
        month: Another month (UTC) than the present one.
        days: Show one dataset by days; those of 62 days ago and before are together.
        prices: Also show money, by the prices of this file (TOML).
    """
    from segplane.health.costs import read_costs
    from segplane.health.prices import PricesInvalid, read_prices

    if days and not dataset:
        raise usage("--days needs a dataset")
    try:
        priced = None if prices is None else read_prices(prices)
    except PricesInvalid as error:
        raise usage(str(error)) from None
    read = read_costs(client, month, given_dataset_id(client, dataset or ""), by_day=days)
    if dataset:
        return Answer(_row_data(read, priced), _row_lines(read, priced, by_day=days))
    listed = read.datasets()
    shown = [each for each in listed if each.dataset_id]
    shown = [*(shown if every else shown[:SHOWN_MAX]), *(e for e in listed if not e.dataset_id)]
    further = len(listed) - len(shown)
    notes = (
        [f"not shown, with fewer bytes: {further} datasets; --all shows them"] if further else []
    )
    return Answer(_data(read, shown, priced), _lines(read, shown, priced), notes)


def _lines(
    read: "MonthCosts", datasets: "list[CostsOfDataset]", prices: "Prices | None"
) -> Iterator[str]:
    from meta.v1 import costs_pb2 as pb

    def row(each: "CostsOfDataset") -> tuple[object, ...]:
        kinds = (pb.COST_KIND_INGEST, pb.COST_KIND_MERGE, pb.COST_KIND_QUERY)
        return (
            each.name,
            size_text(read.stored_bytes(each.size_bytes(pb.COST_KIND_STORED))),
            *(size_text(each.size_bytes(kind)) for kind in kinds),
            each.total("read_requests"),
            each.total("write_requests"),
            _secs(each.total("cpu_micros")),
            *([] if prices is None else [f"{read.price(prices, each):.2f}"]),
        )

    headers = ("dataset", "stored", "ingested", "merged", "scanned", *_AMOUNTS, *_money(prices))
    yield f"{read.month}, {read.days} of {read.month_days} days"
    yield ""
    yield from table(headers, map(row, datasets))


def _row_lines(read: "MonthCosts", prices: "Prices | None", *, by_day: bool) -> Iterator[str]:
    from meta.v1 import costs_pb2 as pb
    from segplane.health.costs import KINDS

    def row(each: "pb.DatasetCost") -> tuple[object, ...]:
        amounts, size_bytes = each.amounts, each.amounts.bytes
        if each.kind == pb.COST_KIND_STORED and not by_day:
            size_bytes = read.stored_bytes(size_bytes)
        price = None if prices is None else prices.cost(each.kind, amounts, read.month_days)
        return (
            *([each.day] if by_day else []),
            KINDS.get(each.kind, str(each.kind)),
            size_text(size_bytes),
            amounts.read_requests,
            amounts.write_requests,
            _secs(amounts.cpu_micros),
            *([] if price is None else [f"{price:.4f}"]),
        )

    names = ("day", "kind") if by_day else ("kind",)
    yield f"{read.month}, {read.days} of {read.month_days} days"
    yield ""
    yield from table((*names, "bytes", *_AMOUNTS, *_money(prices)), map(row, read.rows))


def _data(
    read: "MonthCosts", datasets: "list[CostsOfDataset]", prices: "Prices | None"
) -> dict[str, object]:
    from segplane.health.costs import KINDS

    def item(each: "CostsOfDataset") -> dict[str, object]:
        kinds = {
            KINDS.get(kind, str(kind)): message_dict(amounts)
            for kind, amounts in each.kinds.items()
        }
        fields: dict[str, object] = {
            "dataset_id": each.dataset_id,
            "dataset_name": each.dataset_name,
            "kinds": kinds,
        }
        return fields if prices is None else fields | {"price": f"{read.price(prices, each):.6f}"}

    return _month(read, prices) | {"datasets": list(map(item, datasets))}


def _row_data(read: "MonthCosts", prices: "Prices | None") -> dict[str, object]:
    from segplane.health.costs import KINDS

    def item(each: "pb.DatasetCost") -> dict[str, object]:
        fields = message_dict(each) | {"kind": KINDS.get(each.kind, str(each.kind))}
        if prices is None:
            return fields
        price = prices.cost(each.kind, each.amounts, read.month_days)
        return fields | {"price": f"{price:.6f}"}

    return _month(read, prices) | {"costs": list(map(item, read.rows))}


def _month(read: "MonthCosts", prices: "Prices | None") -> dict[str, object]:
    month: dict[str, object] = {"month": read.month, "days": read.days}
    return month if prices is None else month | {"currency": prices.currency}


def _money(prices: "Prices | None") -> tuple[str, ...]:
    return () if prices is None else (f"cost {prices.currency}",)


def _secs(micros: int) -> str:
    return f"{micros / 1e6:.1f}" if micros else NONE
