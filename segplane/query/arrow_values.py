"""Python values of a result's columns, and names for columns that have equal ones.

Times beyond the years of Python become texts, such as `10000-01-01T00:00:00.000000Z` and
`infinity`, if DuckDB has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_DAY_MICROS = 86_400 * 10**6
_MICROS = {"s": 10**6, "ms": 1_000, "us": 1}
_INFINITE = {2**63 - 1: "infinity", -(2**63) + 1: "-infinity"}
_INFINITE_DAYS = {2**31 - 1: "infinity", -(2**31) + 1: "-infinity"}


def unique_names(names: Sequence[str]) -> list[str]:
    """Return a name for each column, of equal ones the later with a number: a, a1, a2."""
    taken = set(names)
    unique: list[str] = []
    for name in names:
        if name in unique:
            number = next(n for n in range(1, len(names) + 1) if f"{name}{n}" not in taken)
            name = f"{name}{number}"
            taken.add(name)
        unique.append(name)
    return unique


def with_unique_names(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Return the same rows with a different name for each column."""
    import pyarrow as pa

    names = unique_names(reader.schema.names)
    if names == reader.schema.names:
        return reader
    schema = pa.schema(
        field.with_name(name) for field, name in zip(reader.schema, names, strict=True)
    )
    batches = (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in reader)
    return pa.RecordBatchReader.from_batches(schema, batches)


def python_rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Yield the rows of a batch whose columns have different names."""
    columns = [python_values(column) for column in batch.columns]
    for row in zip(*columns, strict=True):
        yield dict(zip(batch.schema.names, row, strict=True))


def python_values(column: pa.Array[Any]) -> list[Any]:
    """Return a column's values as Python has them, and other times as texts."""
    try:
        return column.to_pylist()
    except (ValueError, OverflowError):
        return _readable(column)


def _readable(column: Any) -> list[Any]:
    import pyarrow as pa

    type_ = column.type
    if pa.types.is_date32(type_):
        days = column.cast(pa.int32()).to_pylist()
        return [None if day is None else _date(day) for day in days]
    if pa.types.is_timestamp(type_) and type_.unit in _MICROS:
        scale, zone = _MICROS[type_.unit], "" if type_.tz is None else "Z"
        counts = column.cast(pa.int64()).to_pylist()
        return [None if count is None else _time(count, scale, zone) for count in counts]
    if pa.types.is_struct(type_):
        names = [field.name for field in type_]
        fields = [python_values(column.field(name)) for name in names]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*fields, strict=True)]
        return [row if is_valid else None for row, is_valid in
                zip(rows, column.is_valid().to_pylist(), strict=True)]  # fmt: skip
    if pa.types.is_map(type_):
        keys, items = python_values(column.keys), python_values(column.items)
        return _spans(column, list(zip(keys, items, strict=True)))
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return _spans(column, python_values(column.values))
    return [value.as_py() for value in column]


def _spans(column: Any, elements: list[Any]) -> list[Any]:
    """Return the elements of each list."""
    ends = column.offsets.to_pylist()
    lists = (elements[start:end] for start, end in pairwise(ends))
    valid = column.is_valid().to_pylist()
    return [list_ if is_valid else None for list_, is_valid in zip(lists, valid, strict=True)]


def _date(days: int) -> str:
    return _INFINITE_DAYS.get(days) or _civil(days)


def _time(count: int, scale: int, zone: str) -> str:
    if count in _INFINITE:
        return _INFINITE[count]
    days, micros = divmod(count * scale, _DAY_MICROS)
    seconds, fraction = divmod(micros, 10**6)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}"
    return f"{_civil(days)}T{clock}{zone}"


def _civil(days: int) -> str:
    """Return the date that many days after 1970-01-01, in eras of 400 years from March 1 on."""
    era, day = divmod(days + 719_468, 146_097)
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    number = month + 3 if month < 10 else month - 9
    full_year = year + era * 400 + (number <= 2)
    return f"{full_year:04}-{number:02}-{day - (153 * month + 2) // 5 + 1:02}"
