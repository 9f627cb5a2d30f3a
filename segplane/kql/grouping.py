"""Checker of summarize: groups, aggregates, and those that give several columns."""

from segplane.kql import rules, syntax
from segplane.kql.catalog import FUNCTIONS
from segplane.kql.conversions import or_empty
from segplane.kql.errors import KqlError, quoted
from segplane.kql.naming import implied_name, rank_name
from segplane.kql.scalars import argument
from segplane.kql.scope import Scope
from segplane.kql.state import CheckedQuery, Context, check_names, fresh
from segplane.kql.typed import Aggregate, Apply, ColumnValue, Expression, rebuilt

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
    rules.need(call.name, [argument(a, scope) for a in call.arguments], call.offset, 2, 21)
    value, *ranks = (argument(a, scope) for a in call.arguments)
    found: list[tuple[str, Expression]] = []
    for rank, written in zip(ranks, call.arguments[1:], strict=True):
        typed = rules.typed("percentile", "percentile", [value, rank], call.offset)
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
    found = [(key_name, rules.extreme(call.name, key.value, key.value, call.offset))]
    for number, wanted in enumerate(call.arguments[1:], 1):
        for column, value in _wanted(wanted, scope, key.value, by):
            column = column or f"{prefix}_{of_key}_arg{number}"
            found.append((column, rules.extreme(call.name, key.value, value, call.offset)))
    return found


def _wanted(
    expression: syntax.Expression, scope: Scope, key: Expression, by: Values
) -> list[tuple[str, Expression]]:
    if not isinstance(expression, syntax.Star):
        checked = argument(expression, scope)
        return [(implied_name(expression), checked.value)]
    own = key.name if isinstance(key, ColumnValue) else ""
    return [(n, ColumnValue(n, t)) for n, t in scope.columns.items() if n != own and n not in by]
