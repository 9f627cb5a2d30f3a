"""A case of the corpus: a query, and the columns and rows that Kusto documents for it."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from kql.types import KqlType, literal, timespan

_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Case:
    """A query with its documented result; `unsupported` is the reason why it does not hold.

    Times are ISO texts or datetimes, timespans Kusto's texts or timedeltas, dynamic values Python's
    objects. Rows are compared in their order only where the case is `ordered`.
    """

    name: str
    query: str
    columns: Mapping[str, KqlType]
    rows: Sequence[tuple[Any, ...]]
    ordered: bool = False
    unsupported: str = ""


def scalar(name: str, expression: str, type_: KqlType, value: Any, unsupported: str = "") -> Case:
    """Return the case of one expression, which `print` gives as the column x."""
    return Case(name, f"print x = {expression}", {"x": type_}, [(value,)], unsupported=unsupported)


def assert_rows(case: Case, found: Sequence[tuple[Any, ...]]) -> None:
    """Compare rows as DuckDB gives them with those of a case."""
    types = list(case.columns.values())
    expected = [
        tuple(_expected(v, t) for v, t in zip(row, types, strict=True)) for row in case.rows
    ]
    rows = [tuple(_found(v, t) for v, t in zip(row, types, strict=True)) for row in found]
    if not case.ordered:
        expected, rows = sorted(expected, key=_sort_key), sorted(rows, key=_sort_key)
    assert len(rows) == len(expected), f"{rows}, expected {expected}"
    for row, expected_row in zip(rows, expected, strict=True):
        assert _alike(row, expected_row), f"{row}, expected {expected_row}"


def _expected(value: Any, type_: KqlType) -> Any:
    """Return a documented value as it compares."""
    if value is None:
        return "" if type_ == "string" else None
    if type_ == "datetime":
        micros = value if isinstance(value, datetime) else literal("datetime", value)
        return _moment(micros) if isinstance(micros, int) else value.astimezone(UTC)
    if type_ == "timespan":
        if isinstance(value, timedelta):
            return (value // timedelta(microseconds=1)) * 1_000
        return timespan(value)
    return float(value) if type_ == "real" else value


def _found(value: Any, type_: KqlType) -> Any:
    """Return a value of DuckDB as it compares."""
    if value is None:
        return "" if type_ == "string" else None
    if type_ == "dynamic":
        return json.loads(value)
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def _moment(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def _sort_key(row: tuple[Any, ...]) -> str:
    return repr([f"{v:.6g}" if isinstance(v, float) else v for v in row])


def _alike(value: Any, expected: Any) -> bool:
    if isinstance(expected, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(expected)
            and all(_alike(a, b) for a, b in zip(value, expected, strict=True))
        )
    if isinstance(expected, dict):
        return (
            isinstance(value, dict)
            and value.keys() == expected.keys()
            and all(_alike(value[key], expected[key]) for key in expected)
        )
    if isinstance(expected, bool) or isinstance(value, bool):
        return value is expected
    if isinstance(expected, float) and isinstance(value, int | float):
        both_nan = math.isnan(expected) and math.isnan(value)
        return both_nan or math.isclose(value, expected, rel_tol=_TOLERANCE, abs_tol=1e-12)
    return bool(value == expected)
