"""A lazy frame of Polars over the rows of a dataset.

Polars applies its predicate to every row that is read, so that it means what it means after
`collect`. Arrow, whose rules of NaN, null and rounding differ, gets only conditions that it decides
alike.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from polars.io.plugins import register_io_source

if TYPE_CHECKING:
    from segplane.read.rows.arrow_source import SegmentsDataset

_DEPTH_MAX = 50
_OPERATORS: tuple[Callable[[Any, Any], Any], ...] = (
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
)
_TURNED = {
    operator.lt: operator.gt,
    operator.le: operator.ge,
    operator.gt: operator.lt,
    operator.ge: operator.le,
}
_OPTIONS_MAX = 100
_TIME_UNITS = ("us", "ms")


def lazy_frame(source: SegmentsDataset) -> pl.LazyFrame:
    """Return a lazy frame that reads the columns and rows that its query needs."""
    schema = _frame(source.schema.empty_table()).schema

    def batches(
        columns: list[str] | None,
        predicate: pl.Expr | None,
        rows_max: int | None,
        _batch_rows: int | None,
    ) -> Iterator[pl.DataFrame]:
        shown = list(schema) if columns is None else columns
        needed = set(shown) | set(() if predicate is None else predicate.meta.root_names())
        # A limit counts the rows before the predicate.
        where = None if predicate is None or rows_max is not None else weaker(predicate, source)
        read = [name for name in schema if name in needed]
        for batch in source.scanner(columns=read, filter=where).to_batches():
            frame = _frame(pa.Table.from_batches([batch]))
            if rows_max is not None:
                frame = frame.head(rows_max)
                rows_max -= frame.height
            yield (frame if predicate is None else frame.filter(predicate)).select(shown)
            if rows_max == 0:
                return

    return register_io_source(batches, schema=schema)


def weaker(predicate: pl.Expr, source: SegmentsDataset) -> pc.Expression | None:
    """Return a condition that Arrow finds true wherever the predicate is; None = no condition."""
    return _condition(predicate, source.schema, _DEPTH_MAX)


def _condition(expression: pl.Expr, schema: pa.Schema, depth: int) -> pc.Expression | None:
    inputs = expression.meta.pop()
    if not depth or not 1 <= len(inputs) <= 3:
        return None
    if len(inputs) == 1:
        return _null_test(expression, inputs[0], schema)
    if len(inputs) == 3:
        return _between(expression, inputs, schema)
    right, left = inputs
    for combine in (operator.and_, operator.or_):
        if expression.meta.eq(combine(left, right)):
            sides = [_condition(side, schema, depth - 1) for side in (left, right)]
            conditions = [side for side in sides if side is not None]
            if len(conditions) == 2:
                both: pc.Expression = reduce(combine, conditions)
                return both
            return conditions[0] if conditions and combine is operator.and_ else None
    for compare in _OPERATORS:
        if expression.meta.eq(compare(left, right)):
            if left.meta.is_literal():
                left, right, compare = right, left, _TURNED.get(compare, compare)
            return _comparison(left, right, compare, schema)
    return _membership(expression, left, right, schema)


def _between(expression: pl.Expr, inputs: list[pl.Expr], schema: pa.Schema) -> pc.Expression | None:
    high, low, column = inputs
    if not expression.meta.eq(column.is_between(low, high)):
        return None
    first = _comparison(column, low, operator.ge, schema)
    last = _comparison(column, high, operator.le, schema)
    return None if first is None or last is None else first & last


def _membership(
    expression: pl.Expr, column: pl.Expr, options: pl.Expr, schema: pa.Schema
) -> pc.Expression | None:
    if not options.meta.is_literal() or not expression.meta.eq(column.is_in(options)):
        return None
    values = pl.select(options).to_series()
    if values.dtype == pl.List:
        values = values.explode()
    if not 1 <= len(values) <= _OPTIONS_MAX:
        return None
    equal = [_comparison(column, pl.lit(v), operator.eq, schema) for v in values.to_list()]
    conditions = [condition for condition in equal if condition is not None]
    if len(conditions) < len(equal):
        return None
    any_of: pc.Expression = reduce(operator.or_, conditions)
    return any_of


def _null_test(expression: pl.Expr, column: pl.Expr, schema: pa.Schema) -> pc.Expression | None:
    if not column.meta.is_column() or column.meta.output_name() not in schema.names:
        return None
    field = pc.field(column.meta.output_name())
    if expression.meta.eq(column.is_null()):
        return field.is_null()
    # The stubs take it for a bool.
    is_valid: Any = field.is_valid()
    return is_valid if expression.meta.eq(column.is_not_null()) else None


def _comparison(
    column: pl.Expr, literal: pl.Expr, compare: Callable[[Any, Any], Any], schema: pa.Schema
) -> pc.Expression | None:
    if not column.meta.is_column() or not literal.meta.is_literal():
        return None
    name = column.meta.output_name()
    if name not in schema.names:
        return None
    scalar = _scalar(pl.select(literal).to_series(), schema.field(name).type)
    if scalar is None:
        return None
    condition: pc.Expression = compare(pc.field(name), scalar)
    return condition


def _scalar(values: pl.Series, type_: pa.DataType) -> pa.Scalar[Any] | None:
    """Return a constant of a column's type; None if the engines may compare it differently."""
    if len(values) != 1:
        return None
    value = values.item()
    if pa.types.is_boolean(type_):
        is_same = isinstance(value, bool)
    elif pa.types.is_integer(type_):
        is_same = isinstance(value, int) and not isinstance(value, bool)
    elif pa.types.is_timestamp(type_):
        unit = getattr(values.dtype, "time_unit", "")
        is_same = isinstance(value, datetime) and value.tzinfo is not None and unit in _TIME_UNITS
    else:
        is_same = pa.types.is_string(type_) and isinstance(value, str)
    try:
        return pa.scalar(value, type_) if is_same else None
    except (pa.ArrowException, OverflowError):
        return None


def _frame(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
