"""Layout of a dataset's segments, read from meta's messages.

A later release may know layouts that this one does not. Their datasets wait for it: written without
the unknown part, segments would lack columns that queries were promised.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dataplane.enforced_columns import KQL_NAMES, SCOPE_NAMES, read_window
from meta.v1 import common_pb2 as pb
from segments.deduplication import Deduplication
from segments.keys import store_of
from segments.parquet.spec import (
    AUTOMATIC_TYPES,
    PromotedColumn,
    SegmentSpec,
    automatic_name,
)


class UnknownLayout(Exception):
    """The layout names a type or scope that this release does not know; the message says which."""


@dataclass(frozen=True, slots=True)
class Layouts:
    """Layouts by dataset id, and why the other datasets have to wait."""

    specs: Mapping[str, SegmentSpec]
    waiting: Mapping[str, str]


def read_layout(
    sharding_fields: Iterable[pb.ShardingField],
    promoted_columns: Iterable[pb.PromotedColumn],
    prefix: pb.CloudObjectPrefix | None = None,
    deduplication: pb.Deduplication | None = None,
    automatic: Iterable[pb.AutomaticColumn] = (),
) -> SegmentSpec:
    """Read one dataset's layout; `prefix` is that of new segments. Raises UnknownLayout.

    Automatic columns of a type that this release does not know are skipped: the JSON has all.
    """
    # Stable, so that fields of one weight keep their order in every segment of the dataset.
    heaviest_first = sorted(sharding_fields, key=lambda field: -field.weight)
    columns = tuple(promoted_columns)
    taken = {column.name for column in columns}
    hidden = [c for c in map(_automatic, automatic) if c is not None and c.name not in taken]
    return SegmentSpec(
        tuple(field.field_name for field in heaviest_first),
        (*map(_promoted, columns), *hidden),
        frozenset(column.name for column in columns if column.enforced),
        store_of(f"{prefix.prefix}/") if prefix is not None else "",
        _deduplication(deduplication, columns) if deduplication is not None else None,
    )


def read_layouts(datasets: Iterable[pb.DatasetInfo]) -> Layouts:
    """Read every dataset's layout; a dataset that has to wait delays no other."""
    specs: dict[str, SegmentSpec] = {}
    waiting: dict[str, str] = {}
    for dataset in datasets:
        try:
            specs[dataset.id] = read_layout(
                dataset.sharding_fields,
                dataset.promoted_columns,
                dataset.cloud_object_prefix,
                dataset.deduplication if dataset.HasField("deduplication") else None,
                dataset.automatic_columns,
            )
        except UnknownLayout as error:
            waiting[dataset.id] = str(error)
    return Layouts(specs, waiting)


def _automatic(column: pb.AutomaticColumn) -> PromotedColumn | None:
    kql_type = KQL_NAMES.get(column.type, "")
    if kql_type not in AUTOMATIC_TYPES:
        return None
    name = automatic_name(column.field_id)
    return PromotedColumn(
        name, kql_type, "record", column.attribute, column.field_id, is_automatic=True
    )


def _deduplication(
    deduplication: pb.Deduplication, columns: Iterable[pb.PromotedColumn]
) -> Deduplication:
    if deduplication.column not in {column.name for column in columns}:
        raise UnknownLayout(
            f"the deduplication key of events is {deduplication.column}, which is not a column"
        )
    return Deduplication(deduplication.rule, deduplication.column, read_window(deduplication))


def _promoted(column: pb.PromotedColumn) -> PromotedColumn:
    kql_type, scope = KQL_NAMES.get(column.type), SCOPE_NAMES.get(column.scope)
    if kql_type is None or scope is None:
        raise UnknownLayout(
            f"promoted column {column.name} has type {column.type} and scope {column.scope}, "
            "which this release does not know"
        )
    field_id = column.field_id if column.HasField("field_id") else None
    return PromotedColumn(
        column.name,
        kql_type,
        scope,
        column.attribute,
        field_id,
        is_bound=column.bound,
        name_id=column.name_id if column.HasField("name_id") else None,
    )
