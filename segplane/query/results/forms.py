"""The text form of each type of result: bare for CSV and terminals, and as JSON.

docs/reading/queries.md has the table. A form is a column's Arrow type in which JSON text is
`arrow.json` and a timespan, which is stored as a number of nanoseconds, is a duration. The form
alone decides how a column is written, never its values: a number is a JSON number with all of its
digits, whatever its size.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kql.types import DAY_NANOS, KqlType
from segments.json_objects import first_of_each
from segplane.query.results.civil_times import clock_text, date_text, timestamp_text

if TYPE_CHECKING:
    import pyarrow as pa

Array = Any  # A pa.Array of any type.
_quote = json.JSONEncoder(ensure_ascii=False).encode
_NANOS = {"s": 10**9, "ms": 10**6, "us": 1_000, "ns": 1}


@dataclass(frozen=True, slots=True)
class Style:
    """The details in which commands differ: the form of a UTC time, and of a timespan."""

    zone: str = "Z"
    # A zone of times that have none; DuckDB's TIMESTAMP is UTC by our settings.
    no_zone: str = "Z"
    # A time always has a fraction of a second, not only if it is not zero.
    is_fraction_always: bool = True
    timespan: Callable[[int], str] | None = None


QUERIES = Style()
# The form of `read`, `sql` and `datasets preview`, as release 0.2.0 writes it.
ROW_FILES = Style("+00:00", "", is_fraction_always=False)


def json_texts(column: Array, form: Any, style: Style = QUERIES) -> list[str]:
    """Return each value as JSON, `null` for null; JSON has no NaN and no infinity: texts."""
    import pyarrow as pa

    if _is_json(form):
        return ["null" if text is None else dynamic_json(text) for text in column.to_pylist()]
    if pa.types.is_dictionary(form):
        values = json_texts(column.dictionary, form.value_type, style)
        return ["null" if n is None else values[n] for n in column.indices.to_pylist()]
    if pa.types.is_union(form):
        members = [json_texts(column.field(n), item.type, style) for n, item in _fields(form)]
        return [text or "null" for text in _chosen(column, form, members)]
    texts = bare_texts(column, form, style)
    if pa.types.is_floating(form):
        return ["null" if t is None else _quote(t) if t in _NOT_FINITE else t for t in texts]
    if _is_bare_in_json(form):
        return ["null" if text is None else text for text in texts]
    return ["null" if text is None else _quote(text) for text in texts]


def bare_texts(column: Array, form: Any, style: Style = QUERIES) -> list[str | None]:
    """Return each value as a cell of CSV or of a terminal, None for null; nested ones as JSON."""
    import pyarrow as pa

    types = pa.types
    if isinstance(column, pa.ExtensionArray):
        column, form = column.storage, column.storage.type
    if types.is_dictionary(form):
        values = bare_texts(column.dictionary, form.value_type, style)
        return [None if n is None else values[n] for n in column.indices.to_pylist()]
    if types.is_union(form):
        cells = [bare_texts(column.field(n), item.type, style) for n, item in _fields(form)]
        return _chosen(column, form, cells)
    if types.is_map(form):
        return _maps(column, form, style)
    if types.is_struct(form):
        return _structs(column, form, style)
    if types.is_nested(form):
        return _lists(column, form, style)
    if types.is_temporal(form):
        return _temporal(column, form, style)
    write = _writer(form)
    return [None if value is None else write(value) for value in column.to_pylist()]


def form_of(type_: pa.DataType, kql_type: KqlType | None = None) -> pa.DataType:
    """Return the form of a column that is stored as an Arrow type, by its type in KQL if known."""
    import pyarrow as pa

    if kql_type == "timespan":
        return pa.duration("ns")
    return pa.json_() if kql_type == "dynamic" and not pa.types.is_nested(type_) else type_


def dynamic_json(text: str) -> str:
    """Return JSON of a dynamic value in one line; a text that is not JSON as a JSON string.

    Of duplicate names in an object the first counts, as in every condition. Numbers keep their
    digits; NaN and infinities are texts.
    """
    # A half of a surrogate pair, which only an escape can hold, is not UTF-8.
    is_ascii = "\\u" in text
    try:
        value = json.loads(text, object_pairs_hook=first_of_each, parse_constant=str)
        return json.dumps(value, ensure_ascii=is_ascii, allow_nan=False)
    except RecursionError:
        return _quote(text)
    except ValueError:
        return _exact_json(text)


class _Digits(str):
    """The digits of a JSON number that Python has no number for."""

    __slots__ = ()


def _exact_json(text: str) -> str:
    try:
        value = json.loads(
            text,
            object_pairs_hook=first_of_each,
            parse_constant=str,
            parse_int=_Digits,
            parse_float=_Digits,
        )
        return _digits_json(value)
    except (ValueError, RecursionError):
        # A sender's own text, which need not be JSON.
        return _quote(text)


def _digits_json(value: Any) -> str:
    match value:
        case _Digits():
            return str(value)
        case list():
            return f"[{', '.join(map(_digits_json, value))}]"
        case dict():
            members = (f"{json.dumps(k)}: {_digits_json(v)}" for k, v in value.items())
            return f"{{{', '.join(members)}}}"
    return json.dumps(value)


def _is_json(form: pa.DataType) -> bool:
    return getattr(form, "extension_name", "") == "arrow.json"


def _is_bare_in_json(form: pa.DataType) -> bool:
    import pyarrow as pa

    types = pa.types
    return (
        types.is_boolean(form)
        or types.is_integer(form)
        or types.is_decimal(form)
        or types.is_nested(form)
    )


def _writer(form: pa.DataType) -> Callable[[Any], str]:
    import pyarrow as pa

    types = pa.types
    if types.is_boolean(form):
        return lambda value: "true" if value else "false"
    if types.is_floating(form):
        return float_text
    if types.is_decimal(form):
        # Numbers that Arrow lacks are stored as their digits.
        return lambda value: value if isinstance(value, str) else f"{value:f}"
    if types.is_binary(form) or types.is_large_binary(form) or types.is_fixed_size_binary(form):
        return bytes.hex
    return str


def float_text(value: float) -> str:
    """Return the fewest digits that read back the same; NaN and infinities as Kusto has them."""
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


_NOT_FINITE = frozenset(["NaN", "Infinity", "-Infinity"])


def timespan_text(nanos: int) -> str:
    """Write a timespan as Kusto does, with nanoseconds: [-][d.]hh:mm:ss[.fffffffff]."""
    days, remainder = divmod(abs(nanos), DAY_NANOS)
    text = f"{days}." if days else ""
    return ("-" if nanos < 0 else "") + text + clock_text(remainder, 9, is_fraction_always=False)


def interval_text(months: int, days: int, nanos: int) -> str:
    """Write an interval of SQL as a duration of ISO 8601, each part with its sign: P1M-2DT3.5S."""
    date = (f"{months}M" if months else "") + (f"{days}D" if days else "")
    seconds, fraction = divmod(abs(nanos), 10**9)
    text = f"{seconds}" + (f".{fraction:09}".rstrip("0") if fraction else "")
    clock = f"T{'-' if nanos < 0 else ''}{text}S" if nanos or not date else ""
    return f"P{date}{clock}"


def _temporal(column: Array, form: Any, style: Style) -> list[str | None]:
    import pyarrow as pa

    types = pa.types
    if types.is_interval(form):
        values = column.to_pylist()
        return [None if v is None else interval_text(v.months, v.days, v.nanoseconds)
                for v in values]  # fmt: skip
    write: Callable[[int], str]
    if types.is_date(form):
        column = column.cast(pa.date32()).cast(pa.int32())
        write = date_text
    elif types.is_duration(form):
        scale, span = _NANOS[form.unit], style.timespan or timespan_text
        column, write = column.cast(pa.int64()), lambda count: span(count * scale)
    elif types.is_time(form):
        scale, digits = _NANOS[form.unit], 9 if form.unit == "ns" else 6
        column = column.cast(pa.int32() if form.bit_width == 32 else pa.int64())

        def write(count: int) -> str:
            return clock_text(count * scale, digits, is_fraction_always=False)
    else:
        zone = style.no_zone if form.tz is None else style.zone
        is_always, unit = style.is_fraction_always, form.unit
        column = column.cast(pa.int64())

        def write(count: int) -> str:
            return timestamp_text(count, unit, zone, is_fraction_always=is_always)

    return [None if count is None else write(count) for count in column.to_pylist()]


def _structs(column: Array, form: Any, style: Style) -> list[str | None]:
    names = [f"{_quote(field.name)}: " for _, field in _fields(form)]
    # Members by place: names of a struct may be equal.
    members = [
        [name + text for text in json_texts(column.field(n), form.field(n).type, style)]
        for n, name in enumerate(names)
    ]
    rows: Sequence[Sequence[str]] = list(zip(*members, strict=True)) or [()] * len(column)
    return _where_valid(column, [f"{{{', '.join(row)}}}" for row in rows])


def _lists(column: Array, form: Any, style: Style) -> list[str | None]:
    import pyarrow as pa

    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        column = column.cast(pa.list_(column.type.value_type))
    elements = json_texts(column.values, form.value_type, style)
    return _spans(column, elements, "[]")


def _maps(column: Array, form: Any, style: Style) -> list[str | None]:
    keys = bare_texts(column.keys, form.key_type, style)
    items = json_texts(column.items, form.item_type, style)
    entries = [f"{_quote(key or '')}: {item}" for key, item in zip(keys, items, strict=True)]
    return _spans(column, entries, "{}")


def _spans(column: Array, elements: list[str], brackets: str) -> list[str | None]:
    ends = column.offsets.to_pylist()
    texts = [
        f"{brackets[0]}{', '.join(elements[start:end])}{brackets[1]}"
        for start, end in pairwise(ends)
    ]
    return _where_valid(column, texts)


def _fields(form: Any) -> Iterator[tuple[int, Any]]:
    return ((n, form.field(n)) for n in range(form.num_fields))


def _chosen(column: Array, form: Any, members: Sequence[Sequence[str | None]]) -> list[str | None]:
    """Return the text of each row's member of a sparse union, as DuckDB has them."""
    places = {code: index for index, code in enumerate(form.type_codes)}
    codes = column.type_codes.to_pylist()
    return [members[places[code]][row] for row, code in enumerate(codes)]


def _where_valid(column: Array, texts: list[str]) -> list[str | None]:
    if not column.null_count:
        return list(texts)
    valid = column.is_valid().to_pylist()
    return [text if is_valid else None for text, is_valid in zip(texts, valid, strict=True)]
