"""Checker of evaluate: bag_unpack and pivot, whose columns a query declares.

In Kusto they follow from the data unless they are declared. Here a query's columns are known before
it runs, so the declaration is needed.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

from kql.catalog.table import FUNCTIONS
from kql.errors import KqlError, quoted, suggestion
from kql.functions.scalars import argument
from kql.operators import columns, combining
from kql.scope import CheckedQuery, Context, Scope
from kql.syntax import tree as syntax
from kql.syntax.tree import Call, Capture, Infix, Item, Literal, Name, Path, TableCall
from kql.typed import ColumnValue, Constant, Expression
from kql.types import KqlType


def evaluate(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    """Return the output of a plugin."""
    call = operator.call
    assert call is not None
    if call.name not in _PLUGINS:
        hint = suggestion(call.name, _PLUGINS, f"there are {', '.join(_PLUGINS)}")
        raise KqlError(call.offset, f"there is no plugin {quoted(call.name)}", hint)
    if not operator.parts:
        hint = f"write evaluate {call.name}(...) : (name:long)"
        raise KqlError(call.offset, f"{call.name} needs the columns that it yields", hint)
    return _PLUGINS[call.name](operator, call, state, context)


def _bag_unpack(
    operator: syntax.Operator, call: TableCall, state: CheckedQuery, context: Context
) -> CheckedQuery:
    """Return members of an object as columns."""
    bag, *others = call.arguments or (_refuse(call, "bag_unpack(column, 'prefix')"),)
    prefix = ""
    if others:
        written = argument(others[0].expression, Scope({}, context)).value
        if not isinstance(written, Constant) or written.type != "string" or len(others) > 1:
            _refuse(call, "bag_unpack(column, 'prefix')")
        prefix = str(written.value)
    value = argument(bag.expression, state.scope(context))
    if value.value.type != "dynamic":
        value.fail(f"bag_unpack takes a dynamic value, this is {value.value.type}", "parse_json()")
    bag_name = bag.expression.name if isinstance(bag.expression, Name) else ""
    kept = {n: v for n, v in state.everything().items() if n != bag_name}
    values: dict[str, Expression] = {}
    for part in operator.parts:
        if not isinstance(part, Capture):
            values.update({n: v for n, v in kept.items() if n not in values})
        elif part.name in kept:
            values[part.name] = _declared(part, state.columns[part.name])
        else:
            member = Path(part.offset, bag.expression, part.name.removeprefix(prefix))
            converted = Call(part.offset, f"to{part.type}", (member,))
            read = member if part.type == "dynamic" else converted
            values[part.name] = argument(read, state.scope(context)).value
    return state.select(values, operator.offset, is_named=True)


def _pivot(
    operator: syntax.Operator, call: TableCall, state: CheckedQuery, context: Context
) -> CheckedQuery:
    """Return an aggregate of each value of a column, by the other columns."""
    hint = "pivot(column, count(), key)"
    column, *others = call.arguments or (_refuse(call, hint),)
    aggregate = others[0].expression if others else Call(call.offset, "count", ())
    if not isinstance(column.expression, Name) or not isinstance(aggregate, Call):
        _refuse(call, hint)
    keys = [item.expression for item in others[1:]]
    if not all(isinstance(key, Name) for key in keys):
        _refuse(call, hint)
    names = [key.name for key in keys if isinstance(key, Name)]
    if not names:
        used = {a.name for a in aggregate.arguments if isinstance(a, Name)}
        used.add(column.expression.name)
        names = [n for n in state.columns if n not in used]
    items: list[Item] = []
    for part in operator.parts:
        if part is None or isinstance(part, str):
            what = "pivot has no * among its columns"
            raise KqlError(operator.offset, what, "declare each by its name")
        if part.name not in names:
            items.append(Item(_for_value(aggregate, column.expression, part.name), part.name))
    by = tuple(Item(Name(call.offset, name), name) for name in names)
    summarized = replace(operator, name="summarize", items=tuple(items), by=by)
    grouped = columns.summarize(summarized, state, context)
    parts = [part for part in operator.parts if isinstance(part, Capture)]
    values = {part.name: _declared(part, grouped.columns[part.name]) for part in parts}
    return grouped.select(values, operator.offset, is_named=True)


def _for_value(aggregate: Call, column: Name, value: str) -> Call:
    """Return an aggregate over the rows in which a column has a value."""
    conditional = f"{aggregate.name}if"
    if conditional not in FUNCTIONS:
        hint = "use count(), sum(), avg(), min(), max(), dcount() or take_any()"
        raise KqlError(aggregate.offset, f"pivot has no {aggregate.name}()", hint)
    text = Call(aggregate.offset, "tostring", (column,))
    literal = Literal(aggregate.offset, value, "string")
    condition = Infix(aggregate.offset, "==", text, (literal,))
    return Call(aggregate.offset, conditional, (*aggregate.arguments, condition))


def _declared(part: Capture, type_: KqlType) -> Expression:
    value = ColumnValue(part.name, type_)
    return combining.converted(value, part.type, part.offset, "evaluate")


def _refuse(call: TableCall, hint: str) -> NoReturn:
    raise KqlError(call.offset, f"{call.name} does not take these arguments", f"write {hint}")


_PLUGINS: dict[str, Callable[[syntax.Operator, TableCall, CheckedQuery, Context], CheckedQuery]] = {
    "bag_unpack": _bag_unpack,
    "pivot": _pivot,
}
