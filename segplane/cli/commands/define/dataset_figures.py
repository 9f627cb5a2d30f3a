"""segplane datasets show and usage: figures of datasets."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from segplane.cli.commands.read.stats import segment_facts
from segplane.cli.messages import (
    MetaClient,
    catalog_pb2,
    janitor_pb2,
    operations_pb2,
    resources_pb2,
)
from segplane.cli.options import Dataset, dataset_id
from segplane.cli.output import (
    NONE,
    Answer,
    Columns,
    Fact,
    author_facts,
    facts,
    listing,
    message_dict,
    size_text,
    time_text,
)
from segplane.cli.parameters import Option, Positional

if TYPE_CHECKING:
    from segplane.health.costs import CostsOfDataset


def usage(
    client: MetaClient,
    names: Annotated[list[str] | None, Positional(metavar="[NAME]...", names_of="datasets")] = None,
    all_tenants: bool = False,
) -> Answer:
    """Count the records that datasets took this month (UTC), with their limit.

    Records are those that were acknowledged; the limit counts them. Rows are in the segments of
    all months. Duplicates are records that were rows already. Ingested, merged and scanned bytes
    and CPU seconds are those of `segplane costs`, of this month.

    Options:
        names: Only these datasets.
        all_tenants: Without names, those of all tenants. For operators.
    """
    from segplane.read.lookup import all_datasets, read_usages

    if names:
        ids = [dataset_id(client, name) for name in names]
    else:
        ids = [dataset.id for dataset in all_datasets(client, all_tenants=all_tenants)]
    costs = _costs(client, ids if names else ())
    usages = list(read_usages(client, ids))
    columns: Columns[operations_pb2.DatasetUsage] = {
        "dataset": "dataset_id",
        "month": "month",
        "records": "records",
        "limit": _limit,
        "rows": lambda usage: _count(usage, "rows"),
        "duplicates": lambda usage: _count(usage, "duplicates"),
        **_cost_columns(costs),
    }
    return Answer([_with_costs(each, costs) for each in usages], listing(usages, columns).text)


def _costs(client: MetaClient, ids: Sequence[str]) -> "dict[str, CostsOfDataset]":
    """Costs of datasets this month, of all without ids; none for who may not read them."""
    from meta.errors import RoleRefused, Unimplemented
    from segplane.health.costs import read_costs

    try:
        reads = [read_costs(client, dataset_id=each) for each in ids] or [read_costs(client)]
    except (RoleRefused, Unimplemented):
        return {}
    return {costs.dataset_id: costs for read in reads for costs in read.datasets()}


def _cost_columns(
    costs: "Mapping[str, CostsOfDataset]",
) -> "Columns[operations_pb2.DatasetUsage]":
    from meta.v1 import costs_pb2 as pb

    def size(kind: int, usage: "operations_pb2.DatasetUsage") -> str:
        of_dataset = costs.get(usage.dataset_id)
        return NONE if of_dataset is None else size_text(of_dataset.size_bytes(kind))

    def cpu_secs(usage: "operations_pb2.DatasetUsage") -> str:
        of_dataset = costs.get(usage.dataset_id)
        return NONE if of_dataset is None else f"{of_dataset.total('cpu_micros') / 1e6:.1f}"

    return {
        "ingested": partial(size, pb.COST_KIND_INGEST),
        "merged": partial(size, pb.COST_KIND_MERGE),
        "scanned": partial(size, pb.COST_KIND_QUERY),
        "cpu_secs": cpu_secs,
    }


def _with_costs(
    usage: "operations_pb2.DatasetUsage", costs: "Mapping[str, CostsOfDataset]"
) -> dict[str, object]:
    from segplane.health.costs import KINDS

    of_dataset = costs.get(usage.dataset_id)
    kinds = {} if of_dataset is None else of_dataset.kinds
    spent = {KINDS.get(kind, str(kind)): message_dict(each) for kind, each in kinds.items()}
    return message_dict(usage) | {"costs": spent}


def show(
    client: MetaClient, name: Dataset, version: Annotated[int | None, Option(min=0)] = None
) -> Answer:
    """Show one dataset with its figures.

    Options:
        version: Show the numbers of the segments that were live at this version instead.
    """
    if version is not None:
        at_version = _numbers(client, name, version)
        return Answer(at_version, facts(_number_facts(at_version)))
    from segplane.read.lookup import read_usages

    dataset = client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=name))
    stats = client.janitor.GetJanitorStats(janitor_pb2.GetJanitorStatsRequest(dataset_name=name))
    (usage,) = read_usages(client, [dataset.id])
    formats = client.operations.GetSegmentFormats(
        operations_pb2.GetSegmentFormatsRequest(dataset_id=dataset.id)
    )
    numbers = _numbers_if_served(client, name)
    texts: Sequence[Fact] = (
        ("id", dataset.id),
        ("name", dataset.name),
        *author_facts(dataset.authors),
        *(_number_facts(numbers) if numbers is not None else ()),
        *segment_facts(stats),
        *((_format_name(f.format_version), f"{f.segments} segments") for f in formats.formats),
        ("rows", _count(usage, "rows")),
        ("duplicates", _count(usage, "duplicates")),
        (f"records accepted in {usage.month}", usage.records),
        ("records a month", _limit(usage)),
        *_merge_debt(usage),
    )
    parts = {"stats": stats, "usage": usage, "formats": formats}
    if numbers is not None:
        parts["numbers"] = numbers
    return Answer(message_dict(dataset) | parts, facts(texts))


def _numbers_if_served(
    client: MetaClient, name: str
) -> "resources_pb2.GetDatasetNumbersResponse | None":
    """The numbers at the current version; None from a meta of 0.3.0."""
    from meta.errors import Unimplemented

    try:
        return _numbers(client, name)
    except Unimplemented:
        return None


def _numbers(
    client: MetaClient, name: str, version: int | None = None
) -> "resources_pb2.GetDatasetNumbersResponse":
    request = resources_pb2.GetDatasetNumbersRequest(name=name, version=version)
    return client.resources.GetDatasetNumbers(request)


def _number_facts(numbers: "resources_pb2.GetDatasetNumbersResponse") -> Iterator[Fact]:
    """The numbers of live segments; the records are not known until an upgrade is finished."""
    yield "version", numbers.version
    yield "live records", _count(numbers, "record_count")
    yield "live record bytes", numbers.record_size
    yield "live segments", numbers.segment_count
    yield "live segment bytes", numbers.segment_size
    has_times = numbers.HasField("start_time_nanos")
    yield "records from", time_text(numbers.start_time_nanos) if has_times else NONE
    yield "records to", time_text(numbers.end_time_nanos) if has_times else NONE


def _limit(usage: "operations_pb2.DatasetUsage") -> object:
    return NONE if usage.limit < 0 else usage.limit


def _count(usage: Any, field: str) -> object:
    return getattr(usage, field) if usage.HasField(field) else NONE


def _merge_debt(usage: "operations_pb2.DatasetUsage") -> Iterator[Fact]:
    """The segments that wait for a merge, while they are beyond meta's bound."""
    if usage.merge_debt:
        is_held = usage.merge_debt >= usage.merge_debt_max
        effect = "exports are held" if is_held else "flushes are larger and later"
        yield "merges behind", f"{usage.merge_debt} segments wait for one: {effect}"


def _format_name(version: int) -> str:
    """A segment's format; that of 0.1.0's segments and of other clients is not known."""
    return f"format {version}" if version else "format not known"
