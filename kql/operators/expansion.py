"""Checker of mv-expand: a row for each element of an array, or of several arrays side by side."""

from collections.abc import Iterator
from dataclasses import replace

from kql.errors import KqlError, quoted
from kql.functions.scalars import argument
from kql.implied_names import ItemNames, implied_name
from kql.operators import columns, combining
from kql.scope import Argument, CheckedQuery, Context, check_names, fresh
from kql.syntax import tree as syntax
from kql.syntax.tree import Call, Infix, Item, Literal, Name
from kql.typed import ColumnValue, Expand, Expression
from kql.types import KqlType


def expand(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    """Make a row for each element; of an object, for each property."""
    kind = operator.parameters.get("bagexpansion", operator.parameters.get("kind", "bag"))
    if kind != "bag":
        hint = "read the pairs of an object by bag_keys()"
        raise KqlError(operator.offset, f"mv-expand has no expansion {quoted(kind)}", hint)
    if len(operator.items) > 1 or "with_itemindex" in operator.parameters or operator.keys:
        return _together(operator, state, context)
    (item,), (part,) = operator.items, operator.parts
    type_ = part.type if isinstance(part, syntax.Capture) else None
    array = _array(item, state, context)
    name = item.name or implied_name(item.expression) or "Column1"
    state = _expanded(state, name, array.value, operator.offset)
    if type_ in (None, "dynamic"):
        return state
    typed = combining.converted(ColumnValue(name, "dynamic"), type_, array.offset, "mv-expand")
    return state.select({**state.everything(), name: typed}, operator.offset)


def _array(item: Item, state: CheckedQuery, context: Context) -> Argument:
    array = argument(item.expression, state.scope(context))
    if array.value.type != "dynamic":
        what = f"mv-expand takes a dynamic value, this is {array.value.type}"
        array.fail(what, "split(...) gives one")
    return array


def _expanded(state: CheckedQuery, name: str, array: Expression, offset: int) -> CheckedQuery:
    every: dict[str, KqlType] = {**state.relation.columns, name: "dynamic"}
    visible: dict[str, KqlType] = {**state.columns, name: "dynamic"}
    check_names(visible, offset)
    expanded = Expand(state.relation, name, array, every, offset)
    return replace(state, relation=expanded, columns=visible, promoted=())


def _together(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    """Make a row for each place of the longest array, with null where another one has ended.

    Written from operators: the numbers of the places are expanded, and the elements read there.
    """
    offset, shown = operator.offset, state.columns
    arrays = {fresh(f"$array{n}", shown): item for n, item in enumerate(operator.items)}
    for item in operator.items:
        _array(item, state, context)
    items = tuple(Item(item.expression, name) for name, item in arrays.items())
    state = columns.extend(replace(operator, name="extend", items=items), state, context)
    places = argument(_places(list(arrays), operator), state.scope(context)).value
    index = operator.parameters.get("with_itemindex", _INDEX)
    state = _expanded(state, index, places, offset)
    index_column = combining.converted(ColumnValue(index, "dynamic"), "long", offset, "mv-expand")
    state = state.select({**state.everything(), index: index_column}, offset)
    elements = replace(operator, name="extend", items=tuple(_elements(arrays, index, offset)))
    state = columns.extend(elements, state, context)
    values = state.everything()
    for item, part in zip(elements.items, operator.parts, strict=True):
        assert item.name is not None
        type_ = part.type if isinstance(part, syntax.Capture) else None
        element = ColumnValue(item.name, "dynamic")
        values[item.name] = combining.converted(element, type_, offset, "mv-expand")
    hidden = {*arrays, *([] if index in operator.parameters.values() else [index])}
    return state.select({n: v for n, v in values.items() if n not in hidden}, offset)


_INDEX = "$index"


def _places(arrays: list[str], operator: syntax.Operator) -> syntax.Expression:
    """Return the numbers of the places, of which there is at least one."""
    offset = operator.offset
    none, unit = Literal(offset, 0, "long"), Literal(offset, 1, "long")
    lengths = tuple(
        Call(offset, "coalesce", (Call(offset, "array_length", (Name(offset, a),)), none))
        for a in arrays
    )
    count: syntax.Expression = Call(offset, "max_of", (*lengths, unit))
    if operator.keys:
        count = Call(offset, "min_of", (count, operator.keys[0].expression))
    return Call(offset, "range", (none, Infix(offset, "-", count, (unit,))))


def _elements(arrays: dict[str, Item], index: str, offset: int) -> Iterator[Item]:
    names = ItemNames()
    for array, item in arrays.items():
        index_name = Name(offset, index)
        part = Call(offset, "array_slice", (Name(offset, array), index_name, index_name))
        yield Item(syntax.Path(offset, part, 0), names.of(item))
