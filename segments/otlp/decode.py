"""OTLP payloads into the columns of a merged segment.

The work is columnar: no Python runs per record, but for nested values, which cost one more pass a
level. Payloads that the columnar decoder cannot take are first rewritten by the official classes.
Slices that those refuse are reported one by one, and do not hold up their neighbours.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from segments.otlp import metrics, wire
from segments.otlp.arrow import Array, constant, make, pc
from segments.otlp.columns import ATTRIBUTE_LISTS, SLICE_OF_ROW, Columns, log_columns, span_columns
from segments.otlp.split import UNCHECKED_BYTES_MAX
from segments.otlp.wire import TooManyElements, UndecodableSlice
from segments.parquet.schema import section_schema
from segments.signals import Signal


@dataclass(frozen=True, slots=True)
class FailedSlice:
    """A payload that will not decode, by its index in the input, and the reason."""

    index: int
    error: str


@dataclass(frozen=True, slots=True)
class Decoded:
    """The rows of some payloads; `table` is None if they held no records.

    `slices` says for each row of the table which payload it came from. Log records and spans come
    in the order of the payloads, data points so within each kind of metric. `attributes` are the
    lists that the JSON of the rows' attributes was made of, one array for each of `slices`.
    """

    table: pa.Table | None = None
    slices: tuple[Array, ...] = ()
    attributes: tuple[Array, ...] = ()
    failed: tuple[FailedSlice, ...] = ()


def decode(
    signal: Signal,
    slices: Sequence[bytes],
    received_at: Sequence[int],
    *,
    are_checked: bool = False,
) -> Decoded:
    """Turn payloads of one signal into one table with exactly `section_schema(signal)`.

    `received_at` (nanoseconds) is each payload's time for records that carry none. `are_checked`
    says that the slices have gone through `segments.otlp.split.cut`: any larger one could otherwise
    hold groups nested so deep that they end the process.
    """
    if not are_checked and any(len(payload) > UNCHECKED_BYTES_MAX for payload in slices):
        return _decode_canonical(signal, slices, received_at)
    try:
        return _decode(signal, slices, received_at, range(len(slices)))
    except TooManyElements as error:
        if len(slices) == 1:
            return Decoded(failed=(FailedSlice(0, str(error)),))
        return _decode_halves(signal, slices, received_at)
    except UndecodableSlice:
        return _decode_canonical(signal, slices, received_at)


def _decode_halves(signal: Signal, slices: Sequence[bytes], received_at: Sequence[int]) -> Decoded:
    middle = len(slices) // 2
    first = decode(signal, slices[:middle], received_at[:middle], are_checked=True)
    second = decode(signal, slices[middle:], received_at[middle:], are_checked=True)
    shifted = tuple(pc.add(piece, make.scalar(middle, pa.int32())) for piece in second.slices)
    failed = (replace(failure, index=failure.index + middle) for failure in second.failed)
    joined = _joined([first, replace(second, slices=shifted)])
    return replace(joined, failed=(*first.failed, *failed))


def _decode_canonical(
    signal: Signal, slices: Sequence[bytes], received_at: Sequence[int]
) -> Decoded:
    """The slow path: each payload by the official classes first."""
    good: list[int] = []
    payloads: list[bytes] = []
    failed: list[FailedSlice] = []
    for index, payload in enumerate(slices):
        try:
            payloads.append(wire.canonical(signal, payload))
            good.append(index)
        except UndecodableSlice as error:
            failed.append(FailedSlice(index, str(error)))
    try:
        decoded = _decode(signal, payloads, [received_at[i] for i in good], good)
    except UndecodableSlice:
        # Nested too deep, for example: it must not take the others with it.
        return _decode_apart(signal, payloads, good, received_at, failed)
    return replace(decoded, failed=tuple(failed))


def _decode_apart(
    signal: Signal,
    payloads: Sequence[bytes],
    indices: Sequence[int],
    received_at: Sequence[int],
    failed: Sequence[FailedSlice],
) -> Decoded:
    all_failed = list(failed)
    decoded: list[Decoded] = []
    for index, payload in zip(indices, payloads, strict=True):
        try:
            decoded.append(_decode(signal, [payload], [received_at[index]], [index]))
        except UndecodableSlice as error:
            all_failed.append(FailedSlice(index, str(error)))
    return replace(_joined(decoded), failed=tuple(sorted(all_failed, key=lambda f: f.index)))


def _decode(
    signal: Signal, payloads: Sequence[bytes], received_at: Sequence[int], indices: Sequence[int]
) -> Decoded:
    """Decode payloads of which each is fine; `indices` are their places in the caller's list."""
    if not payloads:
        return Decoded()
    parsed = wire.frame(signal, payloads)
    if len(parsed.records) == 0:
        return Decoded()
    if signal == "logs":
        parts = [log_columns(parsed, received_at)]
    elif signal == "traces":
        parts = [span_columns(parsed, received_at)]
    else:
        parts = metrics.metric_columns(parsed, received_at)
    places = make.array(indices, pa.int32())
    return _joined([_as_section(signal, columns, places) for columns in parts])


def _as_section(signal: Signal, columns: Columns, places: Array) -> Decoded:
    schema = section_schema(signal)
    rows = len(columns["timestamp"])
    columns["signal"] = constant(signal, rows)
    arrays: list[Any] = []
    for column in schema:
        array = columns.get(column.name)
        if array is None:
            array = make.nulls(rows, column.type)
        arrays.append(array if array.type == column.type else array.cast(column.type))
    table = pa.Table.from_arrays(arrays, schema=schema)
    return Decoded(table, (places.take(columns[SLICE_OF_ROW]),), (columns[ATTRIBUTE_LISTS],))


def _joined(parts: Sequence[Decoded]) -> Decoded:
    tables = [part.table for part in parts if part.table is not None]
    if not tables:
        return Decoded()
    slices = tuple(piece for part in parts for piece in part.slices)
    attributes = tuple(lists for part in parts for lists in part.attributes)
    if len(tables) == 1:
        return Decoded(tables[0], slices, attributes)
    return Decoded(pa.concat_tables(tables).unify_dictionaries(), slices, attributes)
