"""Checker of the operators that make columns: project, extend, summarize and their like."""

import re
from dataclasses import replace

from kql.catalog.table import FUNCTIONS
from kql.errors import KqlError, quoted
from kql.functions import calls as functions
from kql.functions.arguments import taken
from kql.functions.arithmetic import or_empty
from kql.functions.scalars import argument
from kql.implied_names import ItemNames, implied_name, rank_name
from kql.scope import (
    CheckedQuery,
    Context,
    Scope,
    check_names,
    fresh,
)
from kql.syntax import tree as syntax
from kql.typed import Aggregate, Apply, ColumnValue, Expression, rebuilt
from kql.walks import references


def values(items: tuple[syntax.Item, ...], scope: Scope) -> dict[str, Expression]:
    """Return the columns of a list of items, each named once."""
    values: dict[str, Expression] = {}
    names = ItemNames()
    for item in items:
        checked = argument(item.expression, scope)
        if item.name is not None and item.name in values:
            checked.fail(f"column {quoted(item.name)} is named twice", "rename one of them")
        values[fresh(names.of(item), values)] = checked.value
    return values


def project(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    """Keep columns, in their order."""
    columns = values(operator.items, state.scope(context))
    return state.select(columns, operator.offset, is_named=True)


def extend(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    """Add columns; those that need a new one of the same operator go into a further SELECT.

    A name that the input has means the input's column, whatever the operator makes of it.
    """
    given = state.columns
    pending: dict[str, Expression] = {}
    replaced: set[str] = set()
    names = ItemNames()
    for item in operator.items:
        columns = {**{n: v.type for n, v in pending.items()}, **given}
        checked = argument(item.expression, replace(state.scope(context), columns=columns)).value
        if (references(checked) & set(pending)) - set(given):
            state = _extended(state, pending, operator)
            replaced |= set(pending) & set(given)
            pending = {}
            checked = argument(item.expression, state.scope(context)).value
        if unclear := references(checked) & replaced:
            what = f"column {quoted(min(unclear))} was replaced before"
            raise KqlError(item.expression.offset, what, "put this into its own extend")
        pending[names.of(item)] = checked
    return _extended(state, pending, operator)


def _extended(
    state: CheckedQuery, values: dict[str, Expression], operator: syntax.Operator
) -> CheckedQuery:
    return state.select({**state.everything(), **values}, operator.offset)


def keep(operator: syntax.Operator, state: CheckedQuery, _: Context) -> CheckedQuery:
    """Keep, drop or move columns by their names."""
    names = _matching(operator, state)
    kept = {
        "project-away": [c for c in state.columns if c not in names],
        "project-keep": [c for c in state.columns if c in names],
        "project-reorder": [*names, *(c for c in state.columns if c not in names)],
    }[operator.name]
    if not kept:
        raise KqlError(operator.offset, "no column would stay", "keep at least one")
    everything = state.everything()
    mentions = tuple(p.text for p in operator.patterns if "*" not in p.text)
    return state.select({c: everything[c] for c in kept}, operator.offset, mentions=mentions)


def _matching(operator: syntax.Operator, state: CheckedQuery) -> list[str]:
    """Return the columns that patterns name, in the patterns' order."""
    names: dict[str, None] = {}
    for pattern in operator.patterns:
        if "*" not in pattern.text:
            names[state.column(pattern)] = None
            continue
        # No more than this many stars, so that no pattern takes long to be matched.
        if pattern.text.count("*") > 4:
            raise KqlError(pattern.offset, "a pattern has too many *", "write at most four")
        regex = re.compile(".*".join(re.escape(p) for p in pattern.text.split("*")), re.DOTALL)
        names.update(dict.fromkeys(c for c in state.columns if regex.fullmatch(c)))
    return list(names)


def rename(operator: syntax.Operator, state: CheckedQuery, _: Context) -> CheckedQuery:
    """Rename columns in place."""
    new_names = {state.column(old): new for new, old in operator.renames}
    values: dict[str, Expression] = {}
    for name, value in state.everything().items():
        new = new_names.get(name, name)
        if new in values or (new != name and new in state.columns and new not in new_names):
            hint = "drop or rename the other column first"
            raise KqlError(operator.offset, f"there would be two columns {quoted(new)}", hint)
        values[new] = value
    return state.select(values, operator.offset)


Values = dict[str, Expression]


def summarize(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    """Return a row for each group."""
    by = _groups(operator, state.scope(context))
    values: Values = {}
    scope = state.scope(context, is_aggregated=True)
    names = ItemNames(sum(not _name(item) for item in operator.by))
    for item in operator.items:
        for name, value in _aggregates(item, scope, by):
            if item.name is not None and name in {**by, **values}:
                what = f"column {quoted(name)} is named twice"
                raise KqlError(item.expression.offset, what, "rename one of them")
            values[fresh(name or names.numbered(), {**by, **values})] = value
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
    """Return an expression over aggregates, which become their own columns.

    Engines take no aggregate within TRY, and no window or path around one.
    """
    if _is_aggregate(value):
        name = fresh("$aggregate", {**by, **aggregates})
        aggregates[name] = value
        return ColumnValue(name, value.type)
    return rebuilt(value, lambda part: _outside(part, by, aggregates))


def _groups(operator: syntax.Operator, scope: Scope) -> Values:
    by: Values = {}
    names = ItemNames()
    for item in operator.by:
        checked = argument(item.expression, scope)
        if checked.value.type == "dynamic":
            checked.fail("rows are not grouped by a dynamic value", "convert it: tostring(...)")
        value = checked.value
        by[fresh(names.of(item), by)] = or_empty(value) if value.type == "string" else value
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
    arguments = [argument(a, scope) for a in call.arguments]
    value, *ranks = taken(FUNCTIONS[call.name], arguments, call.offset)
    columns: list[tuple[str, Expression]] = []
    for rank, written in zip(ranks, call.arguments[1:], strict=True):
        typed = functions.typed(FUNCTIONS["percentile"], [value, rank], call.offset)
        base = f"percentile_{implied_name(call.arguments[0])}_{rank_name(written)}"
        # A name is that of the first column alone, as in Kusto.
        columns.append((base if columns or name is None else name, typed))
    return columns


def _extremes(
    call: syntax.Call, name: str | None, scope: Scope, by: Values
) -> list[tuple[str, Expression]]:
    if not 1 <= len(call.arguments) <= 101:
        raise KqlError(call.offset, f"{call.name} has no key", f"write {call.name}(key, *)")
    key = argument(call.arguments[0], scope)
    of_key = implied_name(call.arguments[0])
    prefix = call.name.removeprefix("arg_")
    key_name = name or of_key or f"{prefix}_"
    columns = [(key_name, functions.extreme(call.name, key.value, key.value, call.offset))]
    for number, operand in enumerate(call.arguments[1:], 1):
        for column, value in _wanted(operand, scope, key.value, by):
            column = column or f"{prefix}_{of_key}_arg{number}"
            columns.append((column, functions.extreme(call.name, key.value, value, call.offset)))
    return columns


def _wanted(
    expression: syntax.Expression, scope: Scope, key: Expression, by: Values
) -> list[tuple[str, Expression]]:
    if not isinstance(expression, syntax.Star):
        checked = argument(expression, scope)
        return [(implied_name(expression), checked.value)]
    source = key.name if isinstance(key, ColumnValue) else ""
    return [(n, ColumnValue(n, t)) for n, t in scope.columns.items() if n != source and n not in by]
