"""One dataset as its page shows it: what it is, what holds its data, its settings and its columns.

Meta answers each caller as far as its role goes: a part that it refuses is named, and left out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from google.protobuf.descriptor import EnumDescriptor

from meta.client import MetaClient
from meta.errors import RoleRefused
from meta.v1 import catalog_pb2, common_pb2, operations_pb2
from meta.v1 import resources_pb2 as pb
from segplane.gateway.management.times import text_of
from segplane.health.explanation import Explanation, explain
from segplane.health.freshness import read_freshness
from segplane.health.processes import SECOND, span
from segplane.terminal.plain_text import size_text

VIEWS_MAX, COLUMNS_MAX = 20, 200
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """A typed column over an attribute."""

    name: str
    type: str
    source: str
    note: str


@dataclass(frozen=True, slots=True)
class DatasetPage:
    """All that the page shows; None = meta refuses it to the caller."""

    name: str
    resource: pb.Resource
    numbers: Mapping[str, str]
    settings: Mapping[str, str]
    columns: Sequence[ShownColumn]
    more_columns: int
    automatic: Sequence[str]
    views: Sequence[str] | None
    more_views: bool
    usage: Mapping[str, str] | None
    explanation: Explanation | None
    waits: str
    refused: Sequence[str]

    @property
    def lock(self) -> str:
        """Return who has locked it, and why; "" = it is not locked."""
        if not self.resource.HasField("locked_at"):
            return ""
        end = self.resource.lock_ends_at if self.resource.HasField("lock_ends_at") else ""
        text = f"by {self.resource.locked_by} since {self.resource.locked_at}"
        reason = f": {self.resource.lock_reason}" if self.resource.lock_reason else ""
        return f"{text}{f', until {end}' if end else ''}{reason}"


@dataclass(slots=True)
class _Reader:
    """Reads parts of a page, and keeps the names of those that are refused."""

    client: MetaClient
    refused: list[str] = field(default_factory=list)

    def part(self, name: str, read: Callable[[], Value]) -> Value | None:
        try:
            return read()
        except RoleRefused:
            self.refused.append(name)
            return None


def read_dataset(client: MetaClient, name: str) -> DatasetPage:
    """Read the dataset with a name. Raises MetaError."""
    ref = pb.ResourceRef(kind=pb.RESOURCE_KIND_DATASET, name=name)
    resource = client.resources.GetResource(pb.GetResourceRequest(resource=ref)).resource
    reader, key = _Reader(client), resource.id
    numbers = client.resources.GetDatasetNumbers(pb.GetDatasetNumbersRequest(id=key))
    asked = operations_pb2.GetDatasetSettingsRequest(dataset_id=key)
    settings = client.operations.GetDatasetSettings(asked).settings
    binding = settings.binding
    schema = binding.schema_id and reader.part("schema", lambda: _schema(client, settings))
    views = reader.part("views", lambda: _views(client, key))
    columns = settings.promoted_columns.columns
    freshness = reader.part("freshness", lambda: read_freshness(client, key, 1, include_fresh=True))
    waiting = freshness.datasets[0] if freshness and freshness.datasets else None
    return DatasetPage(
        name,
        resource,
        _numbers(numbers),
        {"Schema": schema or "", **_settings(settings)},
        [_column(column) for column in columns[:COLUMNS_MAX]],
        max(0, len(columns) - COLUMNS_MAX),
        [each.attribute for each in settings.automatic_columns.columns if each.written],
        None if views is None else views[:VIEWS_MAX],
        views is not None and len(views) > VIEWS_MAX,
        reader.part("usage", lambda: _usage(client, key)),
        reader.part("what holds its data", lambda: explain(client, key)),
        span(waiting.age_nanos) if waiting and waiting.age_nanos else "",
        reader.refused,
    )


def _numbers(numbers: pb.GetDatasetNumbersResponse) -> dict[str, str]:
    has_times = numbers.HasField("start_time_nanos")
    is_counted = numbers.HasField("record_count")
    return {
        "Records": f"{numbers.record_count:,}" if is_counted else "not counted yet",
        "Segments": f"{numbers.segment_count:,}",
        "Bytes": f"{size_text(numbers.segment_size)}, {size_text(numbers.record_size)} before"
        " compression",
        "First record": text_of(numbers.start_time_nanos) if has_times else "",
        "Last record": text_of(numbers.end_time_nanos) if has_times else "",
        "Version": f"{numbers.version:,}",
    }


def _settings(settings: operations_pb2.DatasetSettings) -> dict[str, str]:
    """Return the settings that are not their default, in words."""
    key = settings.deduplication
    return {
        "Event retention": _duration(settings.event_retention.seconds),
        "Created retention": _duration(settings.created_retention.seconds),
        "Deletion grace": _duration(settings.tombstone_grace.seconds),
        "Schema violations": _word(
            operations_pb2.SchemaViolations.DESCRIPTOR, settings.schema_violations
        ),
        "Deduplication": f"by {key.column}, {key.window_days or 7} days" if key.column else "",
        "Store": settings.store,
        "Record ids": "yes" if settings.record_ids else "",
        "Batch ids": "yes" if settings.batch_ids else "",
        "Duplicates left out": f"{settings.duplicates:,}" if settings.duplicates else "",
    }


def _usage(client: MetaClient, dataset_id: str) -> dict[str, str]:
    request = operations_pb2.GetUsageRequest(dataset_ids=[dataset_id])
    (usage,) = client.operations.GetUsage(request).usage
    debt = f"{usage.merge_debt:,}" if usage.merge_debt else ""
    return {
        f"Records in {usage.month}": f"{usage.records:,}",
        "Limit of records a month": "none" if usage.limit < 0 else f"{usage.limit:,}",
        "Segments that await a merge": debt,
        "Records of its creator": f"{usage.creator_records:,} of {usage.creator_limit:,}"
        if usage.HasField("creator_limit")
        else "",
    }


def _schema(client: MetaClient, settings: operations_pb2.DatasetSettings) -> str:
    request = catalog_pb2.GetSchemaRequest(id=settings.binding.schema_id)
    schema = client.catalog.GetSchema(request)
    return f"{schema.name}, version {settings.binding.version_in_force}"


def _views(client: MetaClient, dataset_id: str) -> list[str]:
    """Return the names of its views, one more than are shown if there are more."""
    listing = catalog_pb2.ListViewDatasetProjectionsRequest(
        dataset_id=dataset_id, pagination=catalog_pb2.PaginationRequest(limit=VIEWS_MAX + 1)
    )
    links = client.catalog.ListViewDatasetProjections(listing).items
    ids = list(dict.fromkeys(link.view_id for link in links))
    names = [client.catalog.GetView(catalog_pb2.GetViewRequest(id=each)).name for each in ids]
    return sorted(names)


def _column(column: common_pb2.PromotedColumn) -> ShownColumn:
    notes = ("of the schema",) * column.bound + ("violations are no rows",) * column.enforced
    return ShownColumn(
        column.name,
        _word(common_pb2.KqlType.DESCRIPTOR, column.type),
        f"{_word(common_pb2.AttributeScope.DESCRIPTOR, column.scope)} {column.attribute}",
        ", ".join(notes),
    )


def _duration(secs: int) -> str:
    return span(secs * SECOND) if secs else ""


def _word(enum: EnumDescriptor, number: int) -> str:
    """Return a value of an enum in lower case; "" = it is not set."""
    values = enum.values_by_number
    if number not in values:
        return "unknown to this release"
    # KQL_TYPE_BOOL of KqlType.
    prefix = "".join(f"_{c}" if c.isupper() else c for c in enum.name).lower()
    text = values[number].name.lower().removeprefix(f"{prefix[1:]}_").replace("_", " ")
    return "" if text == "unspecified" else text
