"""Parquet field ids: the number of every column, list element and struct member of the format.

Engines match columns by id if a table format gives them, so an id never changes its column and is
never given to another. `segments.parquet.schema` and `segments.parquet.columns.readable` have the
ids beside the columns: a new one takes the next free number below PROMOTED_FIELD_ID_MIN. Elements
and members follow their list, and a time's remainder follows the time. The ids of promoted columns
are allocated by meta, per dataset, in pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from segments.parquet.columns.readable import READABLE_COLUMNS
from segments.parquet.schema import TIMESTAMP, format_columns

PROMOTED_FIELD_ID_MIN = 1_000

_METADATA_KEY = b"PARQUET:field_id"


def with_field_ids(type_: pa.DataType, path: str) -> pa.DataType:
    """Return a nested type with the ids of its elements and members; any other type as it is."""
    if pa.types.is_list(type_):
        return pa.list_(_numbered(type_.value_field, f"{path}.element"))
    if pa.types.is_struct(type_):
        return pa.struct([_numbered(member, f"{path}.{member.name}") for member in type_])
    return type_


def id_metadata(field_id: int | None) -> dict[bytes, bytes] | None:
    """Return the field metadata by which Arrow writes an id; None for a column without one."""
    return None if field_id is None else {_METADATA_KEY: str(field_id).encode()}


def field_id_of(field: pa.Field[Any]) -> int | None:
    """Return the id that a field read from a file has; None without one."""
    text = (field.metadata or {}).get(_METADATA_KEY)
    return None if text is None else int(text)


def _numbered(field: pa.Field[Any], path: str) -> pa.Field[Any]:
    return pa.field(
        field.name,
        with_field_ids(field.type, path),
        nullable=field.nullable,
        metadata=id_metadata(FIELD_IDS[path]),
    )


def _ids() -> Iterator[tuple[str, int]]:
    for column in format_columns():
        assert column.field_id is not None
        yield column.name, column.field_id
        if column.type == TIMESTAMP:
            yield f"{column.name}_nanos", column.field_id + 1
        yield from _nested(column.name, column.type, column.field_id)
    yield from ((words.name, words.field_id) for words in READABLE_COLUMNS)


def _nested(path: str, type_: pa.DataType, field_id: int) -> Iterator[tuple[str, int]]:
    members = [type_.value_field] if pa.types.is_list(type_) else []
    for number, member in enumerate(type_ if pa.types.is_struct(type_) else members, field_id + 1):
        yield f"{path}.{member.name}", number
        yield from _nested(f"{path}.{member.name}", member.type, number)


# Ids by name; elements and members by their path. Names that signals share have one id.
FIELD_IDS: dict[str, int] = dict(sorted(_ids(), key=lambda item: item[1]))
