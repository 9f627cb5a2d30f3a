"""Queries and projections, checked: text in, typed relation out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from segplane.kql import relations
from segplane.kql.arithmetic import convert
from segplane.kql.catalog import OPERATORS
from segplane.kql.errors import KqlError
from segplane.kql.parser import parse_projection, parse_query
from segplane.kql.scope import CheckedQuery, Context
from segplane.kql.syntax import ParsedQuery
from segplane.kql.typed import Columns, ColumnValue, Scan, Select, Table, Union
from segplane.kql.types import fits


def compile_query(text: str, tables: Mapping[str, Table | CheckedQuery], now: int) -> CheckedQuery:
    """Return what a query yields; `now` is microseconds since 1970. Raises KqlError."""
    query = parse_query(text)
    context = Context(tables, now, query.scalars, query.tables)
    return _located(text, lambda: relations.check(query.pipeline, context))


def compile_projection(text: str, table: Table) -> CheckedQuery:
    """Return what a projection yields over a table. Raises KqlError."""
    query = _row_by_row(text)
    start = CheckedQuery(Scan(table, table.columns), table.columns, promoted=table.promoted)
    context = Context({}, None)
    return _located(text, lambda: relations.check(query.pipeline, context, start))


def check_projection(text: str, schema: Columns, table: Table) -> None:
    """Check what is decidable of a projection over a table that may have further columns.

    Raises KqlError; a name that is unknown ends the check without one.
    """
    query = _row_by_row(text)
    start = CheckedQuery(Scan(table, table.columns), table.columns)
    try:
        state = relations.check(query.pipeline, Context({}, None), start)
    except KqlError as error:
        if error.is_unknown_column:
            return
        raise error.at(text) from None
    check_output(text, state.columns, schema)


def check_output(text: str, columns: Columns, schema: Columns) -> None:
    """Check that columns are there for a schema's, of the same or a narrower type."""
    for name, type_ in schema.items():
        if name not in columns:
            yielded = ", ".join(columns)
            hint = f"add it: project {name} = ...; it yields {yielded[:200]}"
            raise KqlError(len(text), f"the schema has {name!r} ({type_})", hint).at(text)
        if not fits(columns[name], type_):
            what = f"column {name!r} is {columns[name]}, the schema says {type_}"
            raise KqlError(len(text), what, f"convert it: to{type_}(...)").at(text)


def _row_by_row(text: str) -> ParsedQuery:
    """Parse a projection, all operators of which look at one row at a time."""
    query = parse_projection(text)
    for operator in query.pipeline.operators:
        if not OPERATORS[operator.name].is_row_by_row:
            allowed = ", ".join(name for name, o in OPERATORS.items() if o.is_row_by_row)
            what = f"a projection has no {operator.name}: it maps row by row"
            raise KqlError(operator.offset, what, f"use {allowed}").at(text)
    return query


def _located(text: str, check: Callable[[], CheckedQuery]) -> CheckedQuery:
    try:
        return check()
    except KqlError as error:
        raise error.at(text) from None


def only_columns(state: CheckedQuery, names: Sequence[str]) -> CheckedQuery:
    """Return some columns of a view, in this order."""
    columns = {name: state.columns[name] for name in names}
    values = {name: ColumnValue(name, type_) for name, type_ in columns.items()}
    return CheckedQuery(Select(state.relation, values, columns, is_named=True), columns)


def links_of(view: CheckedQuery) -> Iterator[CheckedQuery]:
    """Yield what each link of a compiled view gives, with the view's columns."""
    match view.relation:
        case Union(inputs=links):
            yield from (replace(view, relation=link) for link in links)
        case Select(input=Union(inputs=links)) as chosen:
            yield from (replace(view, relation=replace(chosen, input=link)) for link in links)
        case relation:
            raise AssertionError(f"no view is a {type(relation).__name__}")


def compile_view(branches: Iterable[CheckedQuery], schema: Columns) -> CheckedQuery:
    """Return a view: the rows of all branches, with a schema's columns and types.

    Without a schema, with the columns that all branches have with one type, in the first's order.
    """
    states = list(branches)
    if not schema:
        first, *rest = (state.columns for state in states)
        schema = {n: t for n, t in first.items() if all(c.get(n) == t for c in rest)}
    relations_ = []
    for state in states:
        values = {
            name: convert(ColumnValue(name, state.columns[name]), type_, 0, "view")
            for name, type_ in schema.items()
        }
        relations_.append(Select(state.relation, values, schema, is_named=True))
    return CheckedQuery(Union(tuple(relations_), schema), schema)
