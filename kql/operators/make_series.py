"""Checker of make-series: by group, an array with a value for each step of an axis.

Rows are aggregated by group and step; a row without values for every group and step is added to
them, so that the steps without rows have theirs. Both are written from operators that are checked
elsewhere.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from kql.errors import KqlError, quoted
from kql.functions.arguments import constant_number
from kql.functions.arithmetic import convert
from kql.functions.scalars import argument
from kql.implied_names import ItemNames, implied_name
from kql.operators import columns
from kql.operators.combining import Side
from kql.scope import (
    CheckedQuery,
    Context,
    Scope,
    check_names,
    fresh,
)
from kql.syntax import tree as syntax
from kql.syntax.tree import Call, Infix, Item
from kql.typed import (
    Aggregate,
    Apply,
    Choice,
    ColumnValue,
    Constant,
    ConstantRows,
    Distinct,
    Expression,
    Join,
    Relation,
    RowFilter,
    Select,
    Union,
)
from kql.types import KqlType

POINTS_MAX = 5_000
_HINT = "write a time, a number, or ago(1d)"
_VALUES: tuple[KqlType, ...] = ("int", "long", "real", "bool", "string")
_STEP, _HAS, _ONE = "$step", "$has", "$one"
Values = dict[str, Expression]


def make_series(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    """Return a row for each group."""
    axis = operator.axis[0]
    name = axis.name or implied_name(axis.expression) or "Column1"
    points, type_ = _points(operator, context)
    grouped = _grouped(operator, state, context)
    keys = {n: t for n, t in grouped.columns.items() if n in _names(operator.by)}
    if not keys:
        # One group, and none if there are no rows.
        single_group: Values = {**grouped.everything(), _ONE: Constant(1, "long")}
        grouped, keys = grouped.select(single_group, operator.offset), {_ONE: "long"}
    values = {n: t for n, t in grouped.columns.items() if n not in keys and n != _STEP}
    for column, of_value in values.items():
        if of_value not in _VALUES:
            hint = "aggregate numbers, or convert the result"
            what = f"{quoted(column)} is {of_value}, of which there is no series"
            raise KqlError(operator.offset, what, hint)
    defaults = _defaults(operator, values, context)
    filled = _filled(grouped, keys, values, defaults, points)
    arrays: Values = {
        column: Apply(
            "make_series_real" if of_value == "real" else "make_series",
            (ColumnValue(column, of_value), ColumnValue(_STEP, type_)),
            "dynamic",
            operator.offset,
            "make-series",
        )
        for column, of_value in values.items()
    }
    by: Values = {n: ColumnValue(n, t) for n, t in keys.items()}
    types = {n: v.type for n, v in {**by, **arrays}.items()}
    series = CheckedQuery(Aggregate(filled, by, arrays, types), types)
    shown = {n: v for n, v in series.everything().items() if n != _ONE}
    every: Values = {**shown, fresh(name, types): _axis(points, type_)}
    check_names({n: v.type for n, v in every.items()}, operator.offset)
    return series.select(every, operator.offset, is_named=True)


def _names(items: tuple[Item, ...]) -> list[str]:
    names: dict[str, None] = {}
    item_names = ItemNames()
    for item in items:
        names[fresh(item_names.of(item), names)] = None
    return list(names)


def _points(operator: syntax.Operator, context: Context) -> tuple[list[int | float], KqlType]:
    """Return the beginnings of the steps, and their type."""
    scope = Scope({}, context)
    first, end, step = (argument(item.expression, scope) for item in operator.axis[1:])
    type_ = first.value.type
    if type_ not in ("datetime", "timespan", "int", "long", "real"):
        first.fail(f"a series has no axis of {type_}", "write times or numbers")
    start, stop, width = (constant_number(part, _HINT) for part in (first, end, step))
    if type_ == "datetime" and step.value.type == "timespan":
        # Times have microseconds, timespans nanoseconds.
        width = width / 1_000
    if width <= 0:
        step.fail("the step is not above zero", "write a longer one")
    count = int(-((start - stop) // width)) if stop > start else 0
    if not 1 <= count <= POINTS_MAX:
        hint = f"at most {POINTS_MAX:,} and at least one are computed: choose from, to and step"
        step.fail(f"the series has {count:,} steps", hint)
    points = [start + number * width for number in range(count)]
    return points if type_ == "real" else [int(point) for point in points], type_


def _grouped(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    """Return the aggregates of each group and step that has rows."""
    axis, first, end, step = (item.expression for item in operator.axis)
    offset = operator.offset
    inside = Infix(
        offset, "and", Infix(offset, ">=", axis, (first,)), (Infix(offset, "<", axis, (end,)),)
    )
    condition = argument(inside, state.scope(context)).value
    rows = state.over(RowFilter(state.relation, condition, state.relation.columns))
    bin_item = Item(Call(offset, "bin_at", (axis, step, first)), _STEP)
    aggregates = operator.items[::2]
    by = (*operator.by, bin_item)
    return columns.summarize(replace(operator, items=aggregates, by=by), rows, context)


def _defaults(operator: syntax.Operator, values: Mapping[str, KqlType], context: Context) -> Values:
    written = [argument(item.expression, Scope({}, context)) for item in operator.items[1::2]]
    if len(written) != len(values):
        hint = "write one aggregate that gives one column for each"
        raise KqlError(operator.offset, "an aggregate gives several columns", hint)
    defaults: Values = {}
    for (name, type_), default in zip(values.items(), written, strict=True):
        if type_ == "string" and isinstance(default.value, Constant) and default.value.value == 0:
            # Nothing was written.
            defaults[name] = Constant("", "string")
        else:
            defaults[name] = convert(default.value, type_, default.offset, "make-series")
    return defaults


def _filled(
    grouped: CheckedQuery,
    keys: Mapping[str, KqlType],
    values: Mapping[str, KqlType],
    defaults: Values,
    points: list[int | float],
) -> Relation:
    """Return the values of each group and step, with the defaults of those without rows."""
    step = grouped.columns[_STEP]
    types: dict[str, KqlType] = {**keys, _STEP: step, **values, _HAS: "long"}
    base: Values = {n: ColumnValue(n, t) for n, t in grouped.columns.items()}
    existing = Select(grouped.relation, {n: base.get(n, Constant(1, "long")) for n in types}, types)
    steps: Relation = ConstantRows(tuple((Constant(p, step),) for p in points), {_STEP: step})
    groups = Distinct(Select(grouped.relation, {n: base[n] for n in keys}, keys), (), keys)
    outputs: dict[str, tuple[Side, str]] = {n: ("left", n) for n in keys}
    outputs[_STEP] = ("right", _STEP)
    steps = Join(groups, steps, "inner", (), outputs, {**keys, _STEP: step})
    nothing: Values = {n: Constant(None, t) for n, t in values.items()}
    every: Values = {n: ColumnValue(n, t) for n, t in {**keys, _STEP: step}.items()}
    without = Select(steps, {**every, **nothing, _HAS: Constant(0, "long")}, types)
    merged: Values = {n: Apply("max", (ColumnValue(n, t),), t) for n, t in values.items()}
    merged[_HAS] = Apply("max", (ColumnValue(_HAS, "long"),), "long")
    both = Aggregate(Union((existing, without), types), every, merged, types)
    has = Apply("eq", (ColumnValue(_HAS, "long"), Constant(1, "long")), "bool")
    chosen: Values = {
        n: Choice(((has, ColumnValue(n, t)),), defaults[n], t) for n, t in values.items()
    }
    return Select(both, {**every, **chosen}, {n: t for n, t in types.items() if n != _HAS})


def _axis(points: list[int | float], type_: KqlType) -> Constant:
    """Return the beginnings of the steps as an array."""
    shown = [_time_text(int(p)) if type_ == "datetime" else p for p in points]
    return Constant(json.dumps(shown, separators=(",", ":")), "dynamic")


def _time_text(micros: int) -> str:
    """Return a time as tostring() writes it."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    return f"{moment.year:04}-{moment:%m-%dT%H:%M:%S.%f}0Z"
