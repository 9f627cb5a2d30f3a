"""Automatic columns as messages."""

from collections.abc import Iterable

from meta.store.catalog.automatic_columns import AutomaticColumnRow
from meta.v1 import common_pb2


def automatic_messages(
    columns: Iterable[AutomaticColumnRow],
) -> list[common_pb2.AutomaticColumn]:
    """Automatic columns."""
    return [
        common_pb2.AutomaticColumn(
            attribute=column.attribute,
            type=common_pb2.KqlType.ValueType(column.kql_type),
            field_id=column.field_id,
            written=column.is_written,
        )
        for column in columns
    ]
