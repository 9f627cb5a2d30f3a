"""Checker of the operators that choose, compute and name columns."""

import re
from dataclasses import replace

from segplane.kql import syntax
from segplane.kql.errors import KqlError, quoted
from segplane.kql.scalars import argument
from segplane.kql.scope import CheckedQuery, Context, Scope, fresh, implied_name
from segplane.kql.typed import Expression
from segplane.kql.walks import references


def values(items: tuple[syntax.Item, ...], scope: Scope) -> dict[str, Expression]:
    """Return the columns of a list of items, each named once."""
    values: dict[str, Expression] = {}
    nameless = 0
    for item in items:
        checked = argument(item.expression, scope)
        if item.name is not None and item.name in values:
            checked.fail(f"column {quoted(item.name)} is named twice", "rename one of them")
        name = item.name or implied_name(item.expression)
        nameless += not name
        values[fresh(name or f"Column{nameless}", values)] = checked.value
    return values


def project(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    """Keep columns, in their order."""
    named = values(operator.items, state.scope(context))
    return state.select(named, operator.offset, is_named=True)


def extend(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    """Add columns; those that need a new one of the same operator go into a further SELECT.

    A name that the input has means the input's column, whatever the operator makes of it.
    """
    given = state.columns
    pending: dict[str, Expression] = {}
    replaced: set[str] = set()
    nameless = 0
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
            raise KqlError(item.expression.offset, what, "put this into an extend of its own")
        name = item.name or implied_name(item.expression)
        nameless += not name
        pending[name or f"Column{nameless}"] = checked
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
    """Rename columns where they stand."""
    new_names = {state.column(old): new for new, old in operator.renames}
    values: dict[str, Expression] = {}
    for name, value in state.everything().items():
        new = new_names.get(name, name)
        if new in values or (new != name and new in state.columns and new not in new_names):
            hint = "drop or rename the other column first"
            raise KqlError(operator.offset, f"there would be two columns {quoted(new)}", hint)
        values[new] = value
    return state.select(values, operator.offset)
