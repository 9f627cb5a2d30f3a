"""A dataset's columns as an Iceberg schema, with the field ids that its segments have."""

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from segments.parquet.columns.field_ids import FIELD_IDS
from segments.parquet.columns.stored_columns import FORMAT_MICROSECONDS, StoredColumns
from segments.parquet.schema import Column, wide_columns
from segments.parquet.spec import PromotedColumn
from segments.signals import SIGNALS, Signal

SIGNAL_ID = FIELD_IDS["signal"]
TIMESTAMP_ID = FIELD_IDS["timestamp"]
_TYPES = {
    pa.string(): "string",
    pa.int64(): "long",
    pa.int32(): "int",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.timestamp("us", "UTC"): "timestamptz",
}


@dataclass(frozen=True, slots=True)
class TableSchema:
    """An Iceberg schema and name mapping, as JSON text; equal columns give equal text."""

    json_text: str
    name_mapping: str
    schema_id: int
    last_column_id: int


def table_schema(
    promoted: Sequence[PromotedColumn], signals: Sequence[Signal] = SIGNALS
) -> TableSchema:
    """The schema of a dataset with these promoted columns, or of the records of some signals.

    A column without a field id is skipped: engines read by id.
    """
    numbered = [column for column in promoted if column.field_id is not None]
    stored = StoredColumns(wide_columns(signals, numbered), numbered, FORMAT_MICROSECONDS)
    fields = [_field(column) for column in stored.columns]
    # Any number may be the id of a schema; this one is the same for the same columns.
    schema_id = zlib.crc32(_text(fields).encode()) & 0x7FFFFFFF
    schema = {"type": "struct", "schema-id": schema_id, "fields": fields}
    return TableSchema(
        json_text=_text(schema),
        name_mapping=_text([_mapping(field) for field in fields]),
        schema_id=schema_id,
        last_column_id=max(_ids(fields)),
    )


def _field(column: Column) -> dict[str, Any]:
    assert column.field_id is not None, column.name
    return {
        "id": column.field_id,
        "name": column.name,
        "required": column.is_required,
        "type": _type(column.type, column.name),
    }


def _type(type_: pa.DataType, path: str) -> Any:
    if pa.types.is_dictionary(type_):
        return _type(type_.value_type, path)
    if pa.types.is_list(type_):
        element = f"{path}.element"
        return {
            "type": "list",
            "element-id": FIELD_IDS[element],
            "element-required": False,
            "element": _type(type_.value_type, element),
        }
    if pa.types.is_struct(type_):
        members = [
            {
                "id": FIELD_IDS[f"{path}.{member.name}"],
                "name": member.name,
                "required": False,
                "type": _type(member.type, f"{path}.{member.name}"),
            }
            for member in type_
        ]
        return {"type": "struct", "fields": members}
    return _TYPES[type_]


def _mapping(field: dict[str, Any]) -> dict[str, Any]:
    mapping: dict[str, Any] = {"field-id": field["id"], "names": [field["name"]]}
    nested = _nested(field["type"])
    if nested:
        mapping["fields"] = [_mapping(inner) for inner in nested]
    return mapping


def _nested(type_: Any) -> list[dict[str, Any]]:
    """The fields directly inside a type."""
    if not isinstance(type_, dict):
        return []
    if type_["type"] == "struct":
        return list(type_["fields"])
    return [{"id": type_["element-id"], "name": "element", "type": type_["element"]}]


def _ids(fields: Sequence[dict[str, Any]]) -> list[int]:
    ids = [int(field["id"]) for field in fields]
    for field in fields:
        ids += _ids(_nested(field["type"]))
    return ids


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
