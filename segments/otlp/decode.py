"""OTLP payloads into the columns of a merged segment.

The work is columnar: no Python runs per record, but for nested values, which cost one more pass a
level. Payloads that the columnar decoder cannot take are first rewritten by the official classes.
Slices that those refuse are reported one by one, and do not hold up their neighbours.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from segments.otlp import metrics, wire
from segments.otlp.arrow import Array, constant, make
from segments.otlp.columns import ATTRIBUTE_LISTS, SLICE_OF_ROW, Columns, log_columns, span_columns
from segments.otlp.split import UNCHECKED_BYTES_MAX
from segments.otlp.wire import UndecodableSlice
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
    if are_checked or all(len(payload) <= UNCHECKED_BYTES_MAX for payload in slices):
        with suppress(UndecodableSlice):
            return _decode(signal, slices, received_at, range(len(slices)))
    good: list[tuple[int, bytes]] = []
    failed: list[FailedSlice] = []
    for index, payload in enumerate(slices):
        try:
            good.append((index, wire.canonical(signal, payload)))
        except UndecodableSlice as error:
            failed.append(FailedSlice(index, str(error)))
    decoded = _isolated(signal, good, received_at)
    failed += decoded.failed
    return replace(decoded, failed=tuple(sorted(failed, key=lambda failure: failure.index)))


def _isolated(
    signal: Signal, payloads: Sequence[tuple[int, bytes]], received_at: Sequence[int]
) -> Decoded:
    """Decode payloads by their indices; one that is refused does not take the others with it.

    It may be nested too deep, or all together may have too many elements.
    """
    indices = [index for index, _ in payloads]
    times = [received_at[index] for index in indices]
    try:
        return _decode(signal, [payload for _, payload in payloads], times, indices)
    except UndecodableSlice as error:
        if len(payloads) == 1:
            return Decoded(failed=(FailedSlice(indices[0], str(error)),))
    middle = len(payloads) // 2
    first = _isolated(signal, payloads[:middle], received_at)
    second = _isolated(signal, payloads[middle:], received_at)
    return replace(_joined([first, second]), failed=(*first.failed, *second.failed))


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
