"""Checker of the operators that order, choose, count and multiply rows: sort, take, mv-expand."""

from dataclasses import replace

from kql.functions.arithmetic import or_empty
from kql.functions.scalars import argument
from kql.operators import columns
from kql.scope import CheckedQuery, Context, fresh
from kql.syntax import tree as syntax
from kql.typed import (
    Aggregate,
    Apply,
    Constant,
    ConstantRows,
    Distinct,
    Expression,
    Limit,
    Ordering,
)
from kql.types import KqlType

ROWS_MAX = 10**9


def sort(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    """Order rows; the keys become hidden columns."""
    hidden: dict[str, Expression] = {}
    order: list[Ordering] = []
    state = replace(state, order=())
    for key in operator.keys:
        checked = argument(key.expression, state.scope(context))
        if checked.value.type in ("dynamic", "guid"):
            hint = "convert it first: tostring(...)"
            checked.fail(f"{checked.value.type} has no order", hint)
        nulls_first = not key.is_descending if key.nulls_first is None else key.nulls_first
        value = checked.value
        if value.type == "real":
            # Kusto sorts NaN next to the nulls in both directions; engines take it as greatest.
            rank = Apply("nan_rank", (value,), "int", checked.offset, "sort")
            name = fresh("$order", {**state.columns, **hidden})
            hidden[name] = rank
            order.append(Ordering(name, nulls_first, nulls_first))
        name = fresh("$order", {**state.columns, **hidden})
        hidden[name] = or_empty(value) if value.type == "string" else value
        order.append(Ordering(name, key.is_descending, nulls_first))
    sorted_state = state.select({**state.everything(), **hidden}, operator.offset)
    return replace(sorted_state, columns=state.columns, order=tuple(order))


def take(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    """Keep some rows, or the first of an order."""
    counted = argument(operator.items[0].expression, replace(state.scope(context), columns={}))
    count = counted.value.value if isinstance(counted.value, Constant) else None
    if counted.value.type not in ("int", "long") or not isinstance(count, int):
        counted.fail("a whole number is needed", "write take 10")
    if not 0 <= count <= ROWS_MAX:
        counted.fail(f"{count:,} rows cannot be taken", f"write a number from 0 to {ROWS_MAX:,}")
    return state.over(Limit(state.relation, count, state.order, state.relation.columns))


def top(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    """Keep the first rows of an order."""
    return take(operator, sort(operator, state, context), context)


def distinct(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    """Keep each row once."""
    state = replace(state, order=())
    values = columns.values(operator.items, state.scope(context)) or state.everything()
    cleaned = {n: or_empty(v) if v.type == "string" else v for n, v in values.items()}
    # Rows that are equal otherwise may be of several datasets.
    state = replace(state, constants={})
    state = state.select(cleaned, operator.offset, is_named=bool(operator.items))
    return state.over(Distinct(state.relation, (), state.relation.columns))


def sample_distinct(
    operator: syntax.Operator, state: CheckedQuery, context: Context
) -> CheckedQuery:
    """Keep some of the different values of a column."""
    values = distinct(replace(operator, items=operator.by), state, context)
    return take(operator, values, context)


def count(operator: syntax.Operator, state: CheckedQuery, _: Context) -> CheckedQuery:
    """Count the rows."""
    count = Apply("count_rows", (), "long", operator.offset, "count")
    return CheckedQuery(
        Aggregate(state.relation, {}, {"Count": count}, {"Count": "long"}), {"Count": "long"}
    )


def get_schema(_operator: syntax.Operator, state: CheckedQuery, _context: Context) -> CheckedQuery:
    """Return the columns as rows."""
    columns: dict[str, KqlType] = {
        "ColumnName": "string",
        "ColumnOrdinal": "long",
        "DataType": "string",
        "ColumnType": "string",
    }
    rows = tuple(
        (
            Constant(name, "string"),
            Constant(number, "long"),
            Constant(f"System.{_DATA_TYPES[type_]}", "string"),
            Constant(type_, "string"),
        )
        for number, (name, type_) in enumerate(state.columns.items())
    )
    return CheckedQuery(ConstantRows(rows, columns), columns)


_DATA_TYPES: dict[KqlType, str] = {
    "bool": "SByte",
    "int": "Int32",
    "long": "Int64",
    "real": "Double",
    "string": "String",
    "datetime": "DateTime",
    "timespan": "TimeSpan",
    "guid": "Guid",
    "dynamic": "Object",
}
