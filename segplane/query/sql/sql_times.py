"""Time bounds of a query in SQL: constant conditions on a table that are joined by AND."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
from sqlglot import exp

from kql.dataset_table import TIME_COLUMN
from kql.pushdown.bounds import ANY, Interval
from segplane.query.sql.sql_parser import parser

# Constants that are made of these alone are folded; of others nothing is known.
_FOLDABLE = (
    exp.Literal, exp.Cast, exp.DataType, exp.DataTypeParam, exp.Interval, exp.Var, exp.Add, exp.Sub,
    exp.Paren, exp.Neg, exp.CurrentTimestamp, exp.Identifier,
)  # fmt: skip
_TURNED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.EQ: exp.EQ,
}  # fmt: skip


def where_times(tree: exp.Query, table: str) -> Interval:
    """Return the times outside of which no record of a table matters.

    Only a SELECT from that table alone says so; its rows do not depend on the statement around it.
    """
    span: Interval | None = None
    for reference in tree.find_all(exp.Table):
        # A signal's table is named behind its dataset: web.logs.
        name = reference.db or reference.name
        if name == table and isinstance(reference.this, exp.Identifier):
            interval = _bounds_of(reference)
            span = interval if span is None else span.hull(interval)
    return span or ANY


def _bounds_of(reference: exp.Table) -> Interval:
    select = reference.parent_select
    if not isinstance(select, exp.Select) or select.args.get("joins"):
        return ANY
    source = select.args.get("from_") or select.args.get("from")
    where = select.args.get("where")
    if source is None or source.this is not reference or where is None:
        return ANY
    interval = ANY
    for condition in where.this.flatten() if isinstance(where.this, exp.And) else [where.this]:
        for part in _parts(condition):
            interval = interval.meet(_compared(part, reference.alias_or_name))
    return interval


def _parts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Yield comparisons that all have to hold."""
    if isinstance(condition, exp.Paren):
        yield from _parts(condition.this)
    elif isinstance(condition, exp.And):
        yield from _parts(condition.left)
        yield from _parts(condition.right)
    elif isinstance(condition, exp.Between) and not condition.args.get("symmetric"):
        yield exp.GTE(this=condition.this, expression=condition.args["low"])
        yield exp.LTE(this=condition.this, expression=condition.args["high"])
    else:
        yield condition


def _compared(condition: exp.Expr, alias: str) -> Interval:
    kind = type(condition)
    if kind not in _TURNED:
        return ANY
    left, right = condition.args["this"], condition.args["expression"]
    if _is_time(right, alias):
        left, right, kind = right, left, _TURNED[kind]
    if not _is_time(left, alias):
        return ANY
    micros = _folded(right)
    if micros is None:
        return ANY
    # The clock continues until the query runs.
    high = None if right.find(exp.CurrentTimestamp) else micros
    # Both ends are kept: half a microsecond more or less is cut by the query itself.
    if kind in (exp.GT, exp.GTE):
        return Interval(micros, None)
    return Interval(None, high) if kind in (exp.LT, exp.LTE) else Interval(micros, high)


def _is_time(node: exp.Expr, alias: str) -> bool:
    return (
        isinstance(node, exp.Column)
        and node.name.lower() == TIME_COLUMN
        and node.table.lower() in ("", alias.lower())
    )


def _folded(constant: exp.Expr) -> int | None:
    """Return a constant as microseconds since 1970, as DuckDB reads it; None for another."""
    if not all(isinstance(node, _FOLDABLE) for node in constant.walk()):
        return None
    sql = f"SELECT epoch_us(CAST({constant.sql('duckdb')} AS TIMESTAMPTZ))"
    try:
        with parser().cursor() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            row = connection.execute(sql).fetchone()
    except duckdb.Error:
        return None
    return None if row is None or row[0] is None else int(row[0])
