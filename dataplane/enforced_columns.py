"""Columns that records have to fit, and the window of their times, read from meta's messages.

Needs no pyarrow: collectors have none.
"""

from collections.abc import Iterable

from meta.v1 import common_pb2 as pb
from segments.deduplication import EventWindow
from segments.parquet.spec import PromotedColumn

KQL_NAMES = {
    pb.KQL_TYPE_BOOL: "bool",
    pb.KQL_TYPE_INT: "int",
    pb.KQL_TYPE_LONG: "long",
    pb.KQL_TYPE_REAL: "real",
    pb.KQL_TYPE_STRING: "string",
    pb.KQL_TYPE_DATETIME: "datetime",
    pb.KQL_TYPE_TIMESPAN: "timespan",
    pb.KQL_TYPE_GUID: "guid",
    pb.KQL_TYPE_DYNAMIC: "dynamic",
}
SCOPE_NAMES = {
    pb.ATTRIBUTE_SCOPE_RECORD: "record",
    pb.ATTRIBUTE_SCOPE_RESOURCE: "resource",
    pb.ATTRIBUTE_SCOPE_SCOPE: "scope",
    # Scope of columns that follow from the way a record was received; none is enforced.
    pb.ATTRIBUTE_SCOPE_RECEIPT: "receipt",
}


def read_enforced(columns: Iterable[pb.PromotedColumn]) -> tuple[PromotedColumn, ...]:
    """Read enforced columns; those of a type of a later release are left to its nurseries."""
    return tuple(
        PromotedColumn(column.name, KQL_NAMES[column.type], scope, column.attribute)
        for column in columns
        if column.type in KQL_NAMES and (scope := SCOPE_NAMES.get(column.scope))
    )


def read_window(deduplication: pb.Deduplication) -> EventWindow | None:
    """Read the window of a dataset that refuses events outside; None = it keeps them."""
    if not deduplication.HasField("window"):
        return None
    return EventWindow(deduplication.window.first_day, deduplication.window.last_day)
