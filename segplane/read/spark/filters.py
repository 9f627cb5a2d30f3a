"""Spark's filters as bounds of time, signals, and an expression of Arrow.

They only narrow the read: Spark applies each of them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from segments.signals import Signal
from segplane.read.bounds import NANOS_MAX, NANOS_MIN, TimeBounds

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)
_NANOS_PER_MICRO = 1_000
_NO_END = NANOS_MAX + 1
_OPERATORS: dict[type[Filter], str] = {
    EqualTo: "==",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    LessThan: "<",
    LessThanOrEqual: "<=",
}


@dataclass(frozen=True, slots=True)
class Term:
    """One comparison with a value, or with several for `in`."""

    column: str
    operator: str
    value: Any


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Part of a dataset that can hold rows for which all terms are true; None = nothing."""

    bounds: TimeBounds | None
    signals: tuple[Signal, ...]


def terms_of(filters: Sequence[Filter], schema: pa.Schema) -> tuple[Term, ...]:
    """The filters that Arrow decides as Spark does.

    Not floating point: of Spark's NaNs each equals the other and is above every number.
    """
    return tuple(term for filter_ in filters if (term := _term(filter_, schema)) is not None)


def narrow(terms: Sequence[Term], bounds: TimeBounds, signals: tuple[Signal, ...]) -> Narrowing:
    """Bounds of time and signals within which all terms can be true."""
    first = NANOS_MIN if bounds.start is None else bounds.start
    after = _NO_END if bounds.end is None else bounds.end
    for term in terms:
        if term.column == "signal" and term.operator in ("==", "in"):
            requested = {term.value} if term.operator == "==" else set(term.value)
            signals = tuple(signal for signal in signals if signal in requested)
        if term.column == "timestamp" and term.operator != "in":
            micros = _micros(term.value)
            if term.operator in ("==", ">", ">="):
                first = max(first, micros * _NANOS_PER_MICRO)
            if term.operator in ("==", "<", "<="):
                after = min(after, (micros + 1) * _NANOS_PER_MICRO)
    if first >= after or not signals:
        return Narrowing(None, ())
    narrowed = replace(
        bounds,
        start=bounds.start if first == NANOS_MIN else first,
        end=None if after > NANOS_MAX else after,
    )
    return Narrowing(narrowed, signals)


def expression(terms: Sequence[Term], schema: pa.Schema) -> pc.Expression | None:
    """All terms as one expression over stored columns; None = no term."""
    where: pc.Expression | None = None
    for term in terms:
        field, type_ = pc.field(term.column), schema.field(term.column).type
        comparison = _compare(field, term.operator, term.value, type_)
        where = comparison if where is None else where & comparison
    return where


def _compare(field: pc.Expression, operator: str, value: Any, type_: pa.DataType) -> pc.Expression:
    if operator == "in":
        return field.isin(pa.array(list(value), type_))
    scalar = pa.scalar(value, type_)
    if operator == "==":
        return field == scalar
    if operator == ">":
        return field > scalar
    if operator == ">=":
        return field >= scalar
    return field < scalar if operator == "<" else field <= scalar


def _term(filter_: Filter, schema: pa.Schema) -> Term | None:
    operator = "in" if isinstance(filter_, In) else _OPERATORS.get(type(filter_))
    if operator is None or len(filter_.attribute) != 1:  # type: ignore[attr-defined]
        return None
    name: str = filter_.attribute[0]  # type: ignore[attr-defined]
    value: Any = filter_.value  # type: ignore[attr-defined]
    if name not in schema.names:
        return None
    type_ = schema.field(name).type
    if operator == "in":
        # Null is in no list.
        values = tuple(v for v in value if v is not None)
        is_known = all(_is_comparable(v, type_) for v in values)
        return Term(name, operator, values) if is_known else None
    return Term(name, operator, value) if _is_comparable(value, type_) else None


def _is_comparable(value: Any, type_: pa.DataType) -> bool:
    if pa.types.is_boolean(type_):
        return isinstance(value, bool)
    if pa.types.is_integer(type_):
        bits = type_.bit_width - 1
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        return is_integer and -(2**bits) <= value < 2**bits
    if pa.types.is_timestamp(type_):
        return isinstance(value, datetime) and value.tzinfo is not None
    return pa.types.is_string(type_) and isinstance(value, str)


def _micros(value: datetime) -> int:
    return (value - _EPOCH) // _MICRO
