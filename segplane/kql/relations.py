"""Checker of pipelines, summarize included: syntax tree to a typed relation."""

from collections.abc import Callable
from dataclasses import replace

from segplane.kql import columns, combining, functions, syntax
from segplane.kql.arithmetic import or_empty
from segplane.kql.catalog import FUNCTIONS, OPERATORS
from segplane.kql.errors import KqlError, quoted, suggestion
from segplane.kql.scalars import argument, condition
from segplane.kql.scope import (
    CheckedQuery,
    Context,
    Scope,
    check_names,
    fresh,
    implied_name,
    rank_name,
)
from segplane.kql.typed import (
    Aggregate,
    Apply,
    ColumnValue,
    Constant,
    ConstantRows,
    Distinct,
    Expand,
    Expression,
    Limit,
    Ordering,
    RowFilter,
    Scan,
    rebuilt,
)
from segplane.kql.types import KqlType
from segplane.kql.walks import levels

Values = dict[str, Expression]


def summarize(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    """Return a row for each group."""
    by = _groups(operator, state.scope(context))
    values: Values = {}
    scope = state.scope(context, is_aggregated=True)
    nameless = sum(not _name(item) for item in operator.by)
    for item in operator.items:
        for name, value in _aggregates(item, scope, by):
            if item.name is not None and name in {**by, **values}:
                what = f"column {quoted(name)} is named twice"
                raise KqlError(item.expression.offset, what, "rename one of them")
            nameless += not name
            values[fresh(name or f"Column{nameless}", {**by, **values})] = value
    if not by and not values:
        raise KqlError(
            operator.offset, "summarize computes nothing", "write summarize count() by x"
        )
    if all(_is_aggregate(value) for value in values.values()):
        columns = {name: value.type for name, value in {**by, **values}.items()}
        check_names(columns, operator.offset)
        return CheckedQuery(Aggregate(state.relation, by, values, columns), columns)
    aggregates: Values = {}
    results = {name: _outside(value, by, aggregates) for name, value in values.items()}
    inner = {name: value.type for name, value in {**by, **aggregates}.items()}
    grouped = CheckedQuery(Aggregate(state.relation, by, aggregates, inner), inner)
    keys: Values = {name: ColumnValue(name, value.type) for name, value in by.items()}
    return grouped.select({**keys, **results}, operator.offset, is_named=True)


def _is_aggregate(value: Expression) -> bool:
    name = value.source if isinstance(value, Apply) else ""
    return name in FUNCTIONS and FUNCTIONS[name].is_aggregate


def _outside(value: Expression, by: Values, aggregates: Values) -> Expression:
    """Return what is computed over aggregates, which become columns of their own.

    Engines take no aggregate within TRY, and no window or path around one.
    """
    if _is_aggregate(value):
        name = fresh("$aggregate", {**by, **aggregates})
        aggregates[name] = value
        return ColumnValue(name, value.type)
    return rebuilt(value, lambda part: _outside(part, by, aggregates))


def _groups(operator: syntax.Operator, scope: Scope) -> Values:
    by: Values = {}
    nameless = 0
    for item in operator.by:
        checked = argument(item.expression, scope)
        if checked.value.type == "dynamic":
            checked.fail("rows are not grouped by a dynamic value", "convert it: tostring(...)")
        value, name = checked.value, _name(item)
        nameless += not name
        by[fresh(name or f"Column{nameless}", by)] = (
            or_empty(value) if value.type == "string" else value
        )
    return by


def _name(item: syntax.Item) -> str:
    return item.name or implied_name(item.expression)


def _aggregates(item: syntax.Item, scope: Scope, by: Values) -> list[tuple[str, Expression]]:
    call = item.expression
    if isinstance(call, syntax.Call) and call.name in ("arg_max", "arg_min"):
        return _extremes(call, item.name, scope.plain(), by)
    if isinstance(call, syntax.Call) and call.name == "percentiles":
        return _percentiles(call, item.name, scope.plain())
    return [(_name(item), argument(call, scope).value)]


def _percentiles(call: syntax.Call, name: str | None, scope: Scope) -> list[tuple[str, Expression]]:
    functions.need(call.name, [argument(a, scope) for a in call.arguments], call.offset, 2, 21)
    value, *ranks = (argument(a, scope) for a in call.arguments)
    found: list[tuple[str, Expression]] = []
    for rank, written in zip(ranks, call.arguments[1:], strict=True):
        typed = functions.typed("percentile", "percentile", [value, rank], call.offset)
        base = f"percentile_{implied_name(call.arguments[0])}_{rank_name(written)}"
        # As in Kusto, a name is that of the first alone.
        found.append((base if found or name is None else name, typed))
    return found


def _extremes(
    call: syntax.Call, name: str | None, scope: Scope, by: Values
) -> list[tuple[str, Expression]]:
    if not 1 <= len(call.arguments) <= 101:
        raise KqlError(call.offset, f"{call.name} has no key", f"write {call.name}(key, *)")
    key = argument(call.arguments[0], scope)
    of_key = implied_name(call.arguments[0])
    prefix = call.name.removeprefix("arg_")
    key_name = name or of_key or f"{prefix}_"
    found = [(key_name, functions.extreme(call.name, key.value, key.value, call.offset))]
    for number, wanted in enumerate(call.arguments[1:], 1):
        for column, value in _wanted(wanted, scope, key.value, by):
            column = column or f"{prefix}_{of_key}_arg{number}"
            found.append((column, functions.extreme(call.name, key.value, value, call.offset)))
    return found


def _wanted(
    expression: syntax.Expression, scope: Scope, key: Expression, by: Values
) -> list[tuple[str, Expression]]:
    if not isinstance(expression, syntax.Star):
        checked = argument(expression, scope)
        return [(implied_name(expression), checked.value)]
    own = key.name if isinstance(key, ColumnValue) else ""
    return [(n, ColumnValue(n, t)) for n, t in scope.columns.items() if n != own and n not in by]


ROWS_MAX = 10**9
# Engines and generators recurse over nested SELECTs.
LEVELS_MAX = 45


def check(
    pipeline: syntax.QueryPipeline, context: Context, start: CheckedQuery | None = None
) -> CheckedQuery:
    """Return what a pipeline yields; `start` is the input of one without a source."""
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
        if state is None:
            state = _beginning(operator, context)
        else:
            state = _CHECKS[operator.name](operator, state, context)
    assert state is not None
    return state


def scan(table: syntax.Name, context: Context) -> CheckedQuery:
    """Return all rows of a dataset or view, or of a pipeline that let named."""
    if table.name in context.pipelines:
        names = list(context.pipelines)
        earlier = {n: context.pipelines[n] for n in names[: names.index(table.name)]}
        return check(context.pipelines[table.name], replace(context, pipelines=earlier))
    if table.name not in context.tables:
        hint = suggestion(
            table.name, [*context.tables, *context.pipelines], "segplane datasets list"
        )
        raise KqlError(table.offset, f"there is no dataset or view {quoted(table.name)}", hint)
    found = context.tables[table.name]
    if isinstance(found, CheckedQuery):
        return found
    return CheckedQuery(Scan(found, found.columns), found.columns, promoted=found.promoted)


def _source(source: syntax.Name | syntax.QueryPipeline, context: Context) -> CheckedQuery:
    return scan(source, context) if isinstance(source, syntax.Name) else check(source, context)


def _beginning(operator: syntax.Operator, context: Context) -> CheckedQuery:
    if operator.name == "union":
        return combining.union(operator, None, context, check)
    assert operator.name == "print"
    items = tuple(
        replace(item, name=item.name or f"print_{index}")
        for index, item in enumerate(operator.items)
    )
    values = columns.values(items, context.scope({}))
    types = {name: value.type for name, value in values.items()}
    return CheckedQuery(ConstantRows((tuple(values.values()),), types), types)


def _where(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    tested = condition(operator.items[0].expression, state.scope(context))
    return state.over(RowFilter(state.relation, tested, state.relation.columns))


def _sort(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
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
            # Kusto keeps NaN beside the nulls, whatever the direction; engines take it as greatest.
            rank = Apply("nan_rank", (value,), "int", checked.offset, "sort")
            name = fresh("$order", {**state.columns, **hidden})
            hidden[name] = rank
            order.append(Ordering(name, nulls_first, nulls_first))
        name = fresh("$order", {**state.columns, **hidden})
        hidden[name] = or_empty(value) if value.type == "string" else value
        order.append(Ordering(name, key.is_descending, nulls_first))
    sorted_state = state.select({**state.everything(), **hidden}, operator.offset)
    return replace(sorted_state, columns=state.columns, order=tuple(order))


def _take(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    counted = argument(operator.items[0].expression, replace(state.scope(context), columns={}))
    count = counted.value.value if isinstance(counted.value, Constant) else None
    if counted.value.type not in ("int", "long") or not isinstance(count, int):
        counted.fail("a whole number is needed", "write take 10")
    if not 0 <= count <= ROWS_MAX:
        counted.fail(f"{count:,} rows cannot be taken", f"write a number from 0 to {ROWS_MAX:,}")
    return state.over(Limit(state.relation, count, state.order, state.relation.columns))


def _top(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    return _take(operator, _sort(operator, state, context), context)


def _distinct(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    state = replace(state, order=())
    values = columns.values(operator.items, state.scope(context)) or state.everything()
    cleaned = {n: or_empty(v) if v.type == "string" else v for n, v in values.items()}
    state = state.select(cleaned, operator.offset, is_named=bool(operator.items))
    return state.over(Distinct(state.relation, (), state.relation.columns))


def _count(operator: syntax.Operator, state: CheckedQuery, _: Context) -> CheckedQuery:
    count = Apply("count_rows", (), "long", operator.offset, "count")
    return CheckedQuery(
        Aggregate(state.relation, {}, {"Count": count}, {"Count": "long"}), {"Count": "long"}
    )


def _expand(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    item = operator.items[0]
    array = argument(item.expression, state.scope(context))
    if array.value.type != "dynamic":
        array.fail(
            f"mv-expand takes a dynamic value, this is {array.value.type}", "split(...) gives one"
        )
    name = item.name or implied_name(item.expression) or "Column1"
    columns = {**state.relation.columns, name: "dynamic"}
    visible = {**state.columns, name: "dynamic"}
    check_names(visible, operator.offset)
    expanded = Expand(state.relation, name, array.value, columns, operator.offset)
    state = replace(state, relation=expanded, columns=visible, promoted=())
    if operator.type in (None, "dynamic"):
        return state
    typed = combining.converted(
        ColumnValue(name, "dynamic"), operator.type, array.offset, "mv-expand"
    )
    return state.select({**state.everything(), name: typed}, operator.offset)


def _get_schema(_operator: syntax.Operator, state: CheckedQuery, _context: Context) -> CheckedQuery:
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


def _combined(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    combine = combining.union if operator.name == "union" else combining.join
    return combine(operator, state, context, check)


def _ignored(_operator: syntax.Operator, state: CheckedQuery, _context: Context) -> CheckedQuery:
    return state


def _misplaced(operator: syntax.Operator, _state: CheckedQuery, _context: Context) -> CheckedQuery:
    hint = "begin a query with it, and name no table before it"
    raise KqlError(operator.offset, "print stands alone", hint)


_CHECKS: dict[str, Callable[[syntax.Operator, CheckedQuery, Context], CheckedQuery]] = {
    "where": _where,
    "extend": columns.extend,
    "project": columns.project,
    "project-away": columns.keep,
    "project-keep": columns.keep,
    "project-reorder": columns.keep,
    "project-rename": columns.rename,
    "parse": combining.parse,
    "parse-where": combining.parse,
    "mv-expand": _expand,
    "summarize": summarize,
    "sort": _sort,
    "top": _top,
    "take": _take,
    "distinct": _distinct,
    "count": _count,
    "union": _combined,
    "join": _combined,
    "lookup": _combined,
    "print": _misplaced,
    "getschema": _get_schema,
    "render": _ignored,
    "serialize": _ignored,
    "as": _ignored,
}
assert set(_CHECKS) == set(OPERATORS)
