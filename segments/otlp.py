"""OTLP payloads into the columns of a merged segment.

The work is columnar: no Python runs per record, but for nested values, which cost one more pass a
level. What the columnar decoder cannot take is written anew by the official classes first; what
those refuse is reported slice by slice, and does not hold up its neighbours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from segments import otlp_columns, otlp_metrics, otlp_wire
from segments.otlp_arrow import constant, make
from segments.otlp_wire import UndecodableSlice
from segments.schema import Signal, section_schema


@dataclass(frozen=True, slots=True)
class FailedSlice:
    """A payload that will not decode, by its index in what was given, and why."""

    index: int
    error: str


@dataclass(frozen=True, slots=True)
class Decoded:
    """What came of some payloads; `table` is None if they held no records."""

    table: pa.Table | None
    failed: tuple[FailedSlice, ...] = ()


def decode(signal: Signal, slices: Sequence[bytes], received_at: Sequence[int]) -> Decoded:
    """Turn payloads of one signal into one table with exactly `section_schema(signal)`.

    `received_at` (nanoseconds) is each payload's time for records that carry none.
    """
    try:
        return Decoded(_table(signal, slices, received_at))
    except UndecodableSlice:
        return _decode_canonical(signal, slices, received_at)


def _decode_canonical(
    signal: Signal, slices: Sequence[bytes], received_at: Sequence[int]
) -> Decoded:
    """The slow path: each payload by the official classes first."""
    good: list[int] = []
    payloads: list[bytes] = []
    failed: list[FailedSlice] = []
    for index, payload in enumerate(slices):
        try:
            payloads.append(otlp_wire.canonical(signal, payload))
            good.append(index)
        except UndecodableSlice as error:
            failed.append(FailedSlice(index, str(error)))
    try:
        table = _table(signal, payloads, [received_at[i] for i in good])
    except UndecodableSlice:
        # Never seen; if a payload beats both decoders it must not take the others with it.
        return _decode_apart(signal, payloads, good, received_at, failed)
    return Decoded(table, tuple(failed))


def _decode_apart(
    signal: Signal,
    payloads: Sequence[bytes],
    indices: Sequence[int],
    received_at: Sequence[int],
    failed: Sequence[FailedSlice],
) -> Decoded:
    all_failed = list(failed)
    tables: list[pa.Table] = []
    for index, payload in zip(indices, payloads, strict=True):
        try:
            table = _table(signal, [payload], [received_at[index]])
        except UndecodableSlice as error:
            all_failed.append(FailedSlice(index, str(error)))
            continue
        if table is not None:
            tables.append(table)
    return Decoded(_concat(tables), tuple(sorted(all_failed, key=lambda f: f.index)))


def _table(signal: Signal, slices: Sequence[bytes], received_at: Sequence[int]) -> pa.Table | None:
    if not slices:
        return None
    parsed = otlp_wire.frame(signal, slices)
    if len(parsed.records) == 0:
        return None
    if signal == "logs":
        return _as_section(signal, otlp_columns.log_columns(parsed, received_at))
    if signal == "traces":
        return _as_section(signal, otlp_columns.span_columns(parsed, received_at))
    kinds = otlp_metrics.metric_columns(parsed, received_at)
    return _concat([_as_section(signal, columns) for columns in kinds])


def _as_section(signal: Signal, columns: otlp_columns.Columns) -> pa.Table:
    schema = section_schema(signal)
    rows = len(columns["timestamp"])
    columns["signal"] = constant(signal, rows)
    arrays: list[Any] = []
    for column in schema:
        array = columns.get(column.name)
        if array is None:
            array = make.nulls(rows, column.type)
        arrays.append(array if array.type == column.type else array.cast(column.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def _concat(tables: Sequence[pa.Table]) -> pa.Table | None:
    if not tables:
        return None
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables).unify_dictionaries()
