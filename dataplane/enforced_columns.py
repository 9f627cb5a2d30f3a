"""Columns that records have to fit, and the window of their times, read from meta's messages.

Needs no pyarrow: collectors have none.
"""

from collections.abc import Iterable

from meta.v1 import common_pb2 as pb
from segments.deduplication import EventWindow
from segments.parquet.spec import PromotedColumn

KQL_NAMES = {value: name.removeprefix("KQL_TYPE_").lower() for name, value in pb.KqlType.items()}
# None is enforced of the scopes `receipt` and `request`: how a record was received.
SCOPE_NAMES = {
    value: name.removeprefix("ATTRIBUTE_SCOPE_").lower()
    for name, value in pb.AttributeScope.items()
    if value != pb.ATTRIBUTE_SCOPE_UNSPECIFIED
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
