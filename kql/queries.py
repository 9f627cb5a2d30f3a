"""Queries and projections, checked: text in, a pipeline's typed relation out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kql.catalog.table import OPERATORS
from kql.dataset_table import SIGNAL_COLUMNS
from kql.errors import KqlError, UnknownColumn, located, quoted, suggestion
from kql.functions import user_functions
from kql.functions.arithmetic import convert
from kql.functions.scalars import check as check_value
from kql.functions.scalars import condition
from kql.operators import (
    columns,
    combining,
    constants,
    expansion,
    make_series,
    nested_tops,
    plugins,
    rowsets,
    searching,
    subqueries,
    unions,
    windows,
)
from kql.scope import CheckedQuery, Context, rows_of
from kql.syntax import tree as syntax
from kql.syntax.parser import parse_projection, parse_query
from kql.syntax.tree import ParsedQuery
from kql.typed import (
    Apply,
    Columns,
    ColumnValue,
    Constant,
    ConstantRows,
    RowFilter,
    Select,
    Table,
    Union,
)
from kql.types import fits
from kql.walks import levels

# Engines and generators recurse over nested SELECTs.
LEVELS_MAX = 45


def compile_query(
    text: str, tables: Mapping[str, Table | CheckedQuery], now: int, group: str = ""
) -> CheckedQuery:
    """Check a query; `now` is microseconds since 1970. Raises KqlError.

    `group` is that of datasets which are named without one, "" the default group.
    """
    query = parse_query(text)
    context = Context(tables, now, check_pipeline, query.names, group=group)
    with located(text):
        return check_pipeline(query.pipeline, context)


def compile_projection(text: str, table: Table) -> CheckedQuery:
    """Check a projection over a table. Raises KqlError."""
    query = _row_by_row(text)
    with located(text):
        # The rows of a view do not change with the name of a dataset.
        rows = replace(rows_of(table), constants={})
        return check_pipeline(query.pipeline, Context({}, None, check_pipeline), rows)


def check_projection(text: str, schema: Columns, table: Table) -> None:
    """Check a projection as far as possible, over a table that may have further columns.

    Raises KqlError; a name that is unknown ends the check without one.
    """
    try:
        state = compile_projection(text, replace(table, promoted=()))
    except UnknownColumn:
        return
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


def only_columns(state: CheckedQuery, names: Sequence[str]) -> CheckedQuery:
    """Return some columns of a view, in this order."""
    columns = {name: state.columns[name] for name in names}
    values = {name: ColumnValue(name, type_) for name, type_ in columns.items()}
    return CheckedQuery(Select(state.relation, values, columns, is_named=True), columns)


def links_of(view: CheckedQuery) -> Iterator[CheckedQuery]:
    """Yield the output of each link of a compiled view, with the view's columns."""
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
        first, *others = (state.columns for state in states)
        schema = {n: t for n, t in first.items() if all(c.get(n) == t for c in others)}
    relations_ = []
    for state in states:
        values = {
            name: convert(ColumnValue(name, state.columns[name]), type_, 0, "view")
            for name, type_ in schema.items()
        }
        relations_.append(Select(state.relation, values, schema, is_named=True))
    return CheckedQuery(Union(tuple(relations_), schema), schema)


def check_pipeline(
    pipeline: syntax.QueryPipeline, context: Context, start: CheckedQuery | None = None
) -> CheckedQuery:
    """Check a pipeline; `start` is the input of one without a source."""
    with context.budget.level(pipeline.offset):
        state = _checked(pipeline, context, start)
    if levels(state.relation) > LEVELS_MAX:
        hint = "join fewer steps: put several columns into one extend"
        raise KqlError(pipeline.offset, f"the query has more than {LEVELS_MAX} steps at most", hint)
    return state


def _checked(
    pipeline: syntax.QueryPipeline, context: Context, start: CheckedQuery | None
) -> CheckedQuery:
    state = start if pipeline.source is None else _source(pipeline.source, context)
    for operator in pipeline.operators:
        state = _beginning(operator, context) if state is None else _over(operator, state, context)
    assert state is not None
    return state


def _over(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    """Return the output of an operator, with the queries in its expressions joined before it."""
    check = _CHECKS[operator.name]
    if operator.name in _WINDOWED and windows.are_in(operator):
        remaining, with_values = windows.computed(operator, state, context)
        return _shown(_over(remaining, with_values, context), with_values, state)
    if not subqueries.are_in(operator, state, context):
        return check(operator, state, context)
    if operator.name == "where":
        plain, operator = subqueries.split(operator, state, context)
        state = state if plain is None else check(plain, state, context)
    operator, with_values = subqueries.joined(operator, state, context)
    return _shown(check(operator, with_values, context), with_values, state)


def _shown(query: CheckedQuery, inner: CheckedQuery, state: CheckedQuery) -> CheckedQuery:
    """Return the output of an operator, without the columns that were added for it."""
    hidden = set(inner.columns) - set(state.columns)
    return replace(query, columns={n: t for n, t in query.columns.items() if n not in hidden})


def scan(table: syntax.Name, context: Context) -> CheckedQuery:
    """Return all rows of a dataset or view, or of a pipeline that let named."""
    if table.database is None and table.name in context.names.tables:
        inner = replace(context, names=context.names.tables_before(table.name))
        return inner.pipeline(context.names.tables[table.name])
    table = _with_group(table, context)
    if table.name not in context.tables:
        if (records := _of_signal(table, context)) is not None:
            return records
        hint = _missing(table.name, context)
        raise KqlError(table.offset, f"there is no dataset or view {quoted(table.name)}", hint)
    table_or_view = context.tables[table.name]
    if isinstance(table_or_view, CheckedQuery):
        return table_or_view
    return rows_of(table_or_view)


def _with_group(table: syntax.Name, context: Context) -> syntax.Name:
    """Return a table by its whole name: that of a dataset, group/name, or of a view."""
    group = context.group_of(table.database)
    if not group:
        return table
    whole = replace(table, name=f"{group}/{table.name}")
    if table.database is None and isinstance(context.tables.get(table.name), CheckedQuery):
        is_dataset = whole.name in context.tables or _of_signal(whole, context) is not None
        return whole if is_dataset else table
    return whole


def _missing(name: str, context: Context) -> str:
    """Return a hint for a table that is not there."""
    dataset = name.rpartition(".")[0]
    if dataset and dataset in context.tables:
        return f"there are {', '.join(f'{dataset}.{signal}' for signal in SIGNAL_COLUMNS)}"
    return suggestion(name, [*context.tables, *context.names.tables], "segplane datasets list")


def _of_signal(name: syntax.Name, context: Context) -> CheckedQuery | None:
    """Return the records of one signal of a dataset, with its columns: web.logs."""
    dataset, _, signal = name.name.rpartition(".")
    if signal not in SIGNAL_COLUMNS or dataset not in context.tables:
        return None
    table = context.tables[dataset]
    if isinstance(table, CheckedQuery):
        return None
    of_signal = SIGNAL_COLUMNS[signal]
    of_others = set().union(*SIGNAL_COLUMNS.values()) - of_signal
    every = rows_of(table)
    tested = Apply("eq", (ColumnValue("signal", "string"), Constant(signal, "string")), "bool")
    records = every.over(RowFilter(every.relation, tested, table.columns))
    promoted = {p.name for p in table.promoted}
    values = {n: v for n, v in records.everything().items() if n in promoted or n not in of_others}
    return records.select(values, name.offset)


def _source(source: syntax.TableSource, context: Context) -> CheckedQuery:
    match source:
        case syntax.GroupTables():
            hint = f"write union database('{source.database}').*"
            raise KqlError(source.offset, "only a union reads all datasets of a group", hint)
        case syntax.Name():
            return scan(source, context)
        case syntax.TableCall():
            return user_functions.table(source, context, check_value)
        case _:
            return check_pipeline(source, context)


def _invoke(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    assert operator.call is not None
    return user_functions.table(operator.call, context, check_value, state)


def _beginning(operator: syntax.Operator, context: Context) -> CheckedQuery:
    if operator.name == "print" and subqueries.are_in(operator, _NOTHING, context):
        return _over(replace(operator, name="project"), _NOTHING, context)
    return _BEGINNINGS[operator.name](operator, None, context)


# One row without a column that a query sees.
_ROW: Columns = {"$row": "long"}
_NOTHING = CheckedQuery(ConstantRows(((Constant(0, "long"),),), _ROW), {})


def _where(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    tested = condition(operator.items[0].expression, state.scope(context))
    return state.over(RowFilter(state.relation, tested, state.relation.columns))


def _ignored(_operator: syntax.Operator, state: CheckedQuery, _context: Context) -> CheckedQuery:
    return state


def _misplaced(operator: syntax.Operator, _state: CheckedQuery, _context: Context) -> CheckedQuery:
    hint = "begin a query with it, and name no table before it"
    raise KqlError(operator.offset, f"{operator.name} stands alone", hint)


# Operators that keep the order of their rows, so that it is there to look at.
_WINDOWED = frozenset(["extend", "project", "where"])
Check = Callable[[syntax.Operator, Any, Context], CheckedQuery]
_BEGINNINGS: dict[str, Check] = {
    "print": constants.print_row,
    "datatable": constants.datatable,
    "range": constants.value_range,
    "union": unions.union,
    "search": searching.search,
}
_CHECKS: dict[str, Check] = {
    "where": _where,
    "extend": columns.extend,
    "project": columns.project,
    "project-away": columns.keep,
    "project-keep": columns.keep,
    "project-reorder": columns.keep,
    "project-rename": columns.rename,
    "parse": combining.parse,
    "parse-where": combining.parse,
    "mv-expand": expansion.expand,
    "summarize": columns.summarize,
    "sort": rowsets.sort,
    "top": rowsets.top,
    "top-nested": nested_tops.top_nested,
    "take": rowsets.take,
    "sample": rowsets.take,
    "sample-distinct": rowsets.sample_distinct,
    "make-series": make_series.make_series,
    "distinct": rowsets.distinct,
    "count": rowsets.count,
    "union": unions.union,
    "search": searching.search,
    "join": combining.join,
    "lookup": combining.join,
    **dict.fromkeys(("print", "datatable", "range"), _misplaced),
    "getschema": rowsets.get_schema,
    "render": _ignored,
    "serialize": windows.serialize,
    "as": _ignored,
    "invoke": _invoke,
    "evaluate": plugins.evaluate,
}


assert set(_CHECKS) == set(OPERATORS)
