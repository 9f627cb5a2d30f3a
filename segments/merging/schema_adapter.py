"""Brings a section's rows, written by any release and settings, to the columns wanted today."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from segments.errors import CorruptObject
from segments.foreign.file import ForeignFile
from segments.foreign.opening import Rows
from segments.parquet.columns.automatic import automatic_columns
from segments.parquet.columns.promoted import promote
from segments.parquet.columns.stored_columns import section_stored
from segments.parquet.footer import FORMAT_VERSION
from segments.parquet.schema import section_schema, sort_columns
from segments.parquet.spec import REQUEST, SegmentSpec
from segments.signals import Signal


class SectionAdapter:
    """Turns batches of one input's section into batches of `schema`.

    Columns are as `format_version` stores them, on both sides: times are not put together to be
    split again. Automatic columns that are `unusable`, or become so, are null: the caller names
    those that are so in any input, and gives the set to the writer.
    """

    def __init__(
        self,
        segment: Rows,
        spec: SegmentSpec,
        signal: Signal,
        format_version: int = FORMAT_VERSION,
        unusable: set[str] | None = None,
    ) -> None:
        self._stored = section_stored(signal, spec.promoted, format_version)
        self.schema = self._stored.schema
        self._order = sort_columns(spec, signal)
        self.keys = self._stored.order(self._order)
        self._own_remainders = segment.columns(signal, format_version).remainders
        # A declared column with the name of an automatic one has other values, and both ways round.
        present = {(column.definition, column.is_automatic) for column in segment.stored.promoted}
        former = {c.values: c.name for c in segment.stored.promoted if c.field_id is not None}
        # Names of today by those that the segment has for the same columns.
        self._renamed = {
            former[c.values]: c.name
            for c in spec.promoted
            if former.get(c.values, c.name) != c.name
        }
        # A bound column that a segment lacks is null permanently; files of others have attributes,
        # of which none is a batch id.
        computes_bound = isinstance(segment, ForeignFile)
        self._computed = tuple(
            column
            for column in spec.promoted
            if (column.definition, column.is_automatic) not in present
            and column.name not in self._renamed.values()
            and column.scope != REQUEST
            and (computes_bound or not column.is_bound)
        )
        self._unconverted = 0
        self._unusable = set[str]() if unusable is None else unusable
        self._automatic = {column.name for column in automatic_columns(spec.promoted)}
        self.is_sorted = self._is_sorted(segment, signal)

    @property
    def unconverted(self) -> int:
        """Attribute values that did not fit their promoted column's type so far."""
        return self._unconverted

    def remainder(self, name: str) -> str | None:
        """Return the name of a time's remainder, if the format has one."""
        return self._stored.remainders.get(name)

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Adapt one batch: absent columns become null, newly promoted ones are computed."""
        names = [self._renamed.get(name, name) for name in batch.schema.names]
        columns: dict[str, pa.Array[Any]] = dict(zip(names, batch.columns, strict=True))
        # Their names depend on the promoted columns, which may differ between input and output.
        taken = {
            time: columns.pop(name)
            for time, name in self._own_remainders.items()
            if name in columns
        }
        renamed = {
            self._stored.remainders.get(self._renamed.get(time, time)): column
            for time, column in taken.items()
        }
        columns.update({name: column for name, column in renamed.items() if name is not None})
        unusable = self._unusable & self._automatic
        missing = [column for column in self._computed if column.name not in unusable]
        if missing:
            values, failures = promote(batch, missing)
            computed = dict(zip((c.name for c in missing), values, strict=True))
            columns.update(self._stored.split(computed))
            failed = {name for name, number in failures.items() if number}
            self._unusable |= failed & self._automatic
            self._unconverted += sum(n for c, n in failures.items() if c not in self._automatic)
        for name in self._unusable & self._automatic:
            columns.pop(name, None)
        arrays = [_fit(columns.get(field.name), field, batch.num_rows) for field in self.schema]
        return pa.record_batch(arrays, schema=self.schema)

    def _is_sorted(self, segment: Rows, signal: Signal) -> bool:
        """Return whether the input is in today's order already.

        Its order counts only as far as its section has the columns: the others are null there.
        """
        stored = segment.stored
        present = set(section_schema(signal, stored.promoted).names)
        order = tuple(self._renamed.get(n, n) for n in stored.sort_order if n in present)
        computed = {c.name for c in self._computed}
        return order == self._order and not computed.intersection(order)


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
