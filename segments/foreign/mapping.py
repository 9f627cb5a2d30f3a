"""The mapping of a foreign file's columns to those of a segment: by name, with wider types.

A column that the format has under its name and whose values all fit its type is that column. Every
other one is an attribute of its records, unless they have one of its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from segments.errors import CorruptObject
from segments.foreign import attributes
from segments.foreign.attributes import AnyArray, is_attribute_type, is_text
from segments.otlp.arrow import make
from segments.parquet.columns.readable import READABLE_COLUMNS
from segments.parquet.schema import (
    DICTIONARY,
    TIMESTAMP,
    Column,
    section_columns,
)
from segments.signals import SIGNALS, Signal

TIME_COLUMN = "timestamp"
COLUMNS_MAX = 10_000
# Their text is JSON that readers and merges parse.
_OBJECTS = ("resource_attributes", "scope_attributes", "metric_metadata")
_LISTS = ("resource_entity_refs", "exemplars", "events", "links")
# Columns that only one signal has and that its records need.
_TELLING: tuple[tuple[str, Signal], ...] = (
    ("metric_name", "metrics"),
    ("parent_span_id", "traces"),
    ("end_timestamp", "traces"),
    ("duration_ns", "traces"),
)
_NANOS = pa.timestamp("ns", "UTC")
_INTEGERS: dict[pa.DataType, tuple[pa.DataType, ...]] = {
    pa.int32(): (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16()),
    pa.int64(): (
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
        *(pa.uint8(), pa.uint16(), pa.uint32()),
    ),
    pa.float64(): (
        *(pa.float16(), pa.float32(), pa.float64()),
        *(pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16(), pa.uint32()),
    ),
    pa.bool_(): (pa.bool_(),),
}


class NotMappable(CorruptObject):
    """The file's rows cannot be read as records; the message says why."""


@dataclass(frozen=True, slots=True)
class ForeignMapping:
    """The columns of a file that become columns of a segment, for all its signals.

    `signal` is None if a column of that name gives it by row.
    """

    time_column: str
    signal: Signal | None
    columns: dict[Signal, frozenset[str]]

    def times(self, batch: pa.RecordBatch) -> AnyArray:
        """Return the times of rows, which have the columns of times at least."""
        by_name = dict(zip(batch.schema.names, batch.columns, strict=True))
        return _time(by_name, self.time_column, {})

    def batch(self, batch: pa.RecordBatch, signal: Signal) -> pa.RecordBatch:
        """Return rows of one signal as a section's columns in memory. Raises NotMappable."""
        by_name = dict(zip(batch.schema.names, batch.columns, strict=True))
        rows = batch.num_rows
        # Values that are left are attributes.
        unmapped = {name: column for name, column in by_name.items() if name != self.time_column}
        arrays: list[AnyArray] = []
        others: dict[str, list[Any]] = {}
        for column in section_columns(signal):
            if column.name == "signal":
                array: AnyArray = pa.array([signal] * rows, pa.string())
                if self.signal is None:
                    unmapped.pop("signal", None)
            elif column.name == TIME_COLUMN:
                array = _time(by_name, self.time_column, unmapped)
            elif column.name not in self.columns[signal] or column.name == "attributes":
                array = make.nulls(rows, column.type)
            else:
                array = self._column(column, by_name, unmapped, others)
            arrays.append(array)
        format_columns = dict(zip((c.name for c in section_columns(signal)), arrays, strict=True))
        format_columns["attributes"] = self._attributes(format_columns, unmapped, others, rows)
        fields = [
            pa.field(c.name, c.type, nullable=not c.is_required) for c in section_columns(signal)
        ]
        return pa.record_batch(
            [_as(format_columns[f.name], f.type) for f in fields], schema=pa.schema(fields)
        )

    def _column(
        self,
        column: Column,
        by_name: dict[str, AnyArray],
        unmapped: dict[str, AnyArray],
        others: dict[str, list[Any]],
    ) -> AnyArray:
        source = by_name[column.name]
        unmapped.pop(column.name, None)
        if column.name in _OBJECTS or column.name in _LISTS:
            kind: type[Any] = dict if column.name in _OBJECTS else list
            parsed, others[column.name] = attributes.parsed_values(source, kind)
            return attributes.json_texts(parsed)
        if column.type == TIMESTAMP:
            return _time(by_name, column.name, unmapped)
        if not attributes.is_valid_text(source):
            raise NotMappable(f"column {column.name} holds text that is not UTF-8")
        return source

    def _attributes(
        self,
        format_columns: dict[str, AnyArray],
        unmapped: dict[str, AnyArray],
        others: dict[str, list[Any]],
        rows: int,
    ) -> AnyArray:
        objects = None
        if (file_attributes := unmapped.pop("attributes", None)) is not None:
            objects, others["attributes"] = attributes.parsed_values(file_attributes, dict)
        for name, column in unmapped.items():
            if not attributes.is_valid_text(column):
                raise NotMappable(f"column {name} holds text that is not UTF-8")
            others[name] = attributes.json_values(column)
        for words in READABLE_COLUMNS:
            if words.name in others and words.source in format_columns:
                numbers = _as(format_columns[words.source], pa.int32())
                others[words.name] = attributes.null_where(others[words.name], words.read(numbers))
        return attributes.merged_texts(rows, objects, others)


def check_names(schema: pa.Schema) -> None:
    """Refuse columns with equal names, before rows are read by it. Raises NotMappable."""
    names = schema.names
    if len(names) > COLUMNS_MAX or len(set(names)) < len(names):
        raise NotMappable(f"it has {len(names)} columns, or two of one name")


def mapping_of(
    schema: pa.Schema, time_column: str, signals: Sequence[Signal] = ()
) -> ForeignMapping:
    """Return the mapping of a file's columns; `signals` are those that its column `signal` names.

    Raises NotMappable.
    """
    names = schema.names
    time = time_column if time_column in names else TIME_COLUMN
    if time not in names:
        asked = "" if time_column in ("", TIME_COLUMN) else f" and no column {time_column!r}"
        raise NotMappable(f"it has no column 'timestamp'{asked}")
    if not _is_time(schema.field(time).type):
        raise NotMappable(f"its column {time!r} is {schema.field(time).type}, not a timestamp")
    for item in schema:
        if not is_attribute_type(item.type):
            raise NotMappable(f"its column {item.name!r} is {item.type}, which no attribute can be")
    telling: Signal = next((signal for name, signal in _TELLING if name in names), "logs")
    signal = None if signals else telling
    columns: dict[Signal, frozenset[str]] = {
        each: frozenset(
            column.name
            for column in section_columns(each)
            if column.name in names
            and column.name not in (TIME_COLUMN, "signal")
            and _fits(schema.field(column.name).type, column)
        )
        for each in (signals or (telling,))
    }
    return ForeignMapping(time, signal, columns)


def signal_values(column: AnyArray) -> list[Signal]:
    """Return the signals that a column names, in the order of a file. Raises NotMappable."""
    values = set(pc.unique(column).to_pylist())
    unknown = sorted(map(repr, values.difference(SIGNALS)))
    if unknown:
        raise NotMappable(f"its column 'signal' holds {unknown[0][:80]}, not one of {SIGNALS}")
    return [signal for signal in SIGNALS if signal in values]


def _fits(type_: pa.DataType, column: Column) -> bool:
    """Return true if all values of a type are values of a column."""
    if isinstance(type_, pa.DictionaryType):
        type_ = type_.value_type
    if column.name in _LISTS:
        return is_text(type_)
    if column.name in (*_OBJECTS, "attributes"):
        return is_text(type_) or pa.types.is_map(type_) or pa.types.is_struct(type_)
    target = column.type
    if target == TIMESTAMP:
        return _is_time(type_)
    if pa.types.is_dictionary(target) or pa.types.is_string(target):
        return is_text(type_)
    if isinstance(target, pa.ListType):
        if not isinstance(type_, pa.ListType | pa.LargeListType):
            return False
        element: pa.DataType = type_.value_type
        return element in _INTEGERS.get(target.value_type, ())
    return type_ in _INTEGERS.get(target, ())


def _is_time(type_: pa.DataType) -> bool:
    return pa.types.is_timestamp(type_) or pa.types.is_date(type_)


def _time(by_name: dict[str, AnyArray], name: str, unmapped: dict[str, AnyArray]) -> AnyArray:
    """Return times as nanoseconds of UTC, with the remainder of an export of ours added."""
    unmapped.pop(name, None)
    column = by_name[name]
    try:
        nanos = (
            column.cast(pa.timestamp("us")).cast(pa.timestamp("ns"))
            if pa.types.is_date(column.type)
            else column.cast(pa.timestamp("ns", getattr(column.type, "tz", None)))
        )
        times = nanos.cast(pa.int64())
        remainder = by_name.get(f"{name}_nanos")
        if remainder is not None and pa.types.is_integer(remainder.type):
            bounds: Any = pc.min_max(remainder).as_py()
            if bounds["min"] is None or 0 <= bounds["min"] <= bounds["max"] < 1_000:
                unmapped.pop(f"{name}_nanos", None)
                added = pc.fill_null(remainder.cast(pa.int64()), 0)
                times = pc.add_checked(times, added)
    except pa.ArrowInvalid as error:
        raise NotMappable(f"column {name!r} holds a time beyond 64 bits of nanoseconds") from error
    return times.cast(_NANOS)


def _as(column: AnyArray, type_: pa.DataType) -> AnyArray:
    if column.type == type_:
        return column
    if type_ == DICTIONARY:
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        return column.cast(pa.string()).dictionary_encode()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(type_)
