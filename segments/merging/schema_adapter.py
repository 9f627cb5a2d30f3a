"""Brings a section's rows, written by any release and settings, to the columns wanted today."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from segments.errors import CorruptObject
from segments.parquet.footer import StoredFooter
from segments.parquet.promoted import promote
from segments.parquet.schema import SegmentSpec, section_schema, sort_columns
from segments.signals import Signal


class SectionAdapter:
    """Turns batches of one input's section into batches of `section_schema(signal, promoted)`."""

    def __init__(self, stored: StoredFooter, spec: SegmentSpec, signal: Signal) -> None:
        self.schema = section_schema(signal, spec.promoted)
        self.keys = sort_columns(spec, signal)
        present = {column.definition for column in stored.promoted}
        self._computed = tuple(c for c in spec.promoted if c.definition not in present)
        self._unconverted = 0
        self.is_sorted = self._is_sorted(stored, signal)

    @property
    def unconverted(self) -> int:
        """Attribute values that did not fit their promoted column's type so far."""
        return self._unconverted

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Adapt one batch: absent columns become null, newly promoted ones are computed."""
        columns: dict[str, pa.Array[Any]] = dict(
            zip(batch.schema.names, batch.columns, strict=True)
        )
        if self._computed:
            values, failures = promote(batch, self._computed)
            columns.update(zip((c.name for c in self._computed), values, strict=True))
            self._unconverted += failures
        arrays = [_fit(columns.get(field.name), field, batch.num_rows) for field in self.schema]
        return pa.record_batch(arrays, schema=self.schema)

    def _is_sorted(self, stored: StoredFooter, signal: Signal) -> bool:
        """Say whether the input is in today's order already.

        Its order counts only as far as its section has the columns: the others are null there.
        """
        present = set(section_schema(signal, stored.promoted).names)
        order = tuple(name for name in stored.sort_order if name in present)
        computed = {c.name for c in self._computed}
        return order == self.keys and not computed.intersection(order)


def _fit(column: pa.Array[Any] | None, field: pa.Field[Any], rows: int) -> pa.Array[Any]:
    if column is None:
        nulls: pa.Array[Any] = pa.nulls(rows, field.type)
        return nulls
    if column.type == field.type:
        return column
    try:
        fitted: pa.Array[Any] = column.cast(field.type)
    except pa.ArrowException as error:
        raise CorruptObject(
            f"column {field.name} is {column.type}, expected {field.type}"
        ) from error
    return fitted
