"""Log records with fields of a test's choice, as a segment of a dataset."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from segments.parquet.schema import section_schema
from tests.support.gateway.segments import SegmentWriter

# A time of all records that have none of their own.
NOON = 1_767_268_800_000_000_000
Record = Mapping[str, Any]


def write_logs(segments: SegmentWriter, *records: Record) -> None:
    """Write records; attributes are objects, and columns that are left out are null."""
    spec = segments.spec()
    schema = section_schema("logs", spec.promoted)
    rows = [_row(record, schema) for record in records]
    columns = []
    for field in schema:
        is_dictionary = pa.types.is_dictionary(field.type)
        values = [row.get(field.name) for row in rows]
        column = pa.array(values, pa.string() if is_dictionary else field.type)
        columns.append(column.dictionary_encode() if is_dictionary else column)
    segments.register({"logs": pa.table(columns, schema=schema)}, spec)


def several(count: int, **values: Any) -> Sequence[Record]:
    """Return records of equal values, a second apart, the first one at noon."""
    return [{"timestamp": NOON + n * 10**9, "body": f"line {n}", **values} for n in range(count)]


def _row(record: Record, schema: pa.Schema) -> Record:
    required = {"signal": "logs", "timestamp": NOON, "service_name": "web"}
    texts = {
        name: json.dumps(value) if isinstance(value, dict) else value
        for name, value in record.items()
    }
    assert not set(texts) - set(schema.names), set(texts) - set(schema.names)
    return required | texts
