"""Times as format 2 stores them: whole microseconds, and the remaining nanoseconds.

Columns are arrays or chunked arrays; compute functions take and return either.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from segments.errors import CorruptObject
from segments.parquet.schema import TIMESTAMP

STORED_TIME = pa.timestamp("us", "UTC")
REMAINDER = pa.int32()

_NANOS_PER_MICRO = 1_000
# Bounds of the times that 64 bits of nanoseconds hold.
_MICROS_MIN = -(2**63) // _NANOS_PER_MICRO
_MICROS_MAX = (2**63 - 1) // _NANOS_PER_MICRO

_AnyColumn = Any


def split_time(times: _AnyColumn) -> tuple[_AnyColumn, _AnyColumn]:
    """Split times into microseconds, rounded down, and the nanoseconds that are left."""
    if times.null_count == len(times):
        return times.cast(STORED_TIME), pa.nulls(len(times), REMAINDER)
    nanos = times.cast(pa.int64())
    micros = pc.divide(nanos, _NANOS_PER_MICRO)
    remainder = pc.subtract(nanos, pc.multiply(micros, _NANOS_PER_MICRO))
    # Division rounds towards zero, which is up before 1970.
    if pc.min(nanos).as_py() < 0:
        is_early = pc.less(remainder, pa.scalar(0)).cast(pa.int64())
        micros = pc.subtract(micros, is_early)
        remainder = pc.add(remainder, pc.multiply(is_early, _NANOS_PER_MICRO))
    return micros.cast(STORED_TIME), remainder.cast(REMAINDER, safe=False)


def join_time(micros: _AnyColumn, remainder: _AnyColumn, name: str) -> _AnyColumn:
    """Put a time together again; raises CorruptObject for a pair that is not a time."""
    check_time(micros, remainder, name)
    # Unchecked: before the remainder is added, the first microsecond of the range is outside of it.
    whole = pc.multiply(micros.cast(pa.int64()), _NANOS_PER_MICRO)
    return pc.add(whole, remainder.cast(pa.int64())).cast(TIMESTAMP)


def check_time(micros: _AnyColumn, remainder: _AnyColumn, name: str) -> None:
    """Raise CorruptObject for a pair of columns, called `name`, that is not a time."""
    nulls, rows = micros.null_count, len(micros)
    if nulls == remainder.null_count == rows:
        return
    # Read as unsigned numbers, so that the largest decides: a negative one is larger still.
    largest: Any = pc.max(_unsigned(remainder)).as_py()
    if largest is not None and largest >= _NANOS_PER_MICRO:
        _check_bounds(remainder, 0, _NANOS_PER_MICRO - 1, f"remainders of {name}")
    _check_bounds(_whole(micros), _MICROS_MIN, _MICROS_MAX, f"microseconds of {name}")
    is_same = nulls == remainder.null_count
    if not is_same or (nulls and not pc.is_null(micros).equals(pc.is_null(remainder))):
        raise CorruptObject(f"values of {name} and of its remainder are not present together")


def widened_bounds(
    bounds: tuple[int, int] | None, times: _AnyColumn, remainder: _AnyColumn | None = None
) -> tuple[int, int]:
    """Widen time bounds in nanoseconds by a column; `remainder` is that of stored times.

    There is at least one time, and none is null.
    """
    whole = _whole(times)
    extremes: Any = pc.min_max(whole)
    low, high = extremes["min"].as_py(), extremes["max"].as_py()
    if remainder is not None:
        low, high = _exact_bounds(bounds, whole, remainder, low, high)
    return (low, high) if bounds is None else (min(bounds[0], low), max(bounds[1], high))


def _exact_bounds(
    bounds: tuple[int, int] | None, whole: _AnyColumn, remainder: _AnyColumn, low: int, high: int
) -> tuple[int, int]:
    """Add remainders to the first and the last microsecond, if they can widen the bounds."""
    first, last = low * _NANOS_PER_MICRO, high * _NANOS_PER_MICRO
    if bounds is None or first < bounds[0]:
        first += pc.min(remainder.filter(pc.equal(whole, pa.scalar(low)))).as_py()
    if bounds is None or last + _NANOS_PER_MICRO > bounds[1]:
        last += pc.max(remainder.filter(pc.equal(whole, pa.scalar(high)))).as_py()
    return first, last


def _whole(times: _AnyColumn) -> _AnyColumn:
    """Return times as numbers; of an array without a call, which takes as long as a small batch."""
    return times.view(pa.int64()) if isinstance(times, pa.Array) else times.cast(pa.int64())


def _unsigned(remainder: _AnyColumn) -> _AnyColumn:
    if isinstance(remainder, pa.Array):
        return remainder.view(pa.uint32())
    return pa.chunked_array([chunk.view(pa.uint32()) for chunk in remainder.chunks], pa.uint32())


def _check_bounds(values: _AnyColumn, lowest: int, highest: int, what: str) -> None:
    bounds: Any = pc.min_max(values)
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    if low is not None and (low < lowest or high > highest):
        raise CorruptObject(f"{what} lie in {low}..{high}, expected {lowest}..{highest}")
