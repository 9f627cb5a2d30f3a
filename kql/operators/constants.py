"""Tables that a query writes down: print, datatable and range."""

from collections.abc import Sequence
from dataclasses import replace

from kql.errors import KqlError, quoted
from kql.functions.arguments import constant_number
from kql.functions.arithmetic import convert
from kql.functions.scalars import argument
from kql.operators import columns
from kql.scope import Argument, CheckedQuery, Context, Scope, check_names
from kql.syntax import tree as syntax
from kql.syntax.tree import Capture
from kql.typed import Columns, Constant, ConstantRows, Expression, RowFilter
from kql.types import INT_MAX, KqlType, Value, fits

# Each is its own SELECT.
ROWS_MAX = 1_000
_HINT = "write a number, a text or a literal such as datetime(...)"
_STEP_OF: dict[KqlType, KqlType] = {"datetime": "timespan"}


def print_row(operator: syntax.Operator, _: None, context: Context) -> CheckedQuery:
    """Return one row of values."""
    items = tuple(
        replace(item, name=item.name or f"print_{index}")
        for index, item in enumerate(operator.items)
    )
    values = columns.values(items, Scope({}, context))
    types = {name: value.type for name, value in values.items()}
    return CheckedQuery(ConstantRows((tuple(values.values()),), types), types)


def datatable(operator: syntax.Operator, _: None, context: Context) -> CheckedQuery:
    """Return the rows of a datatable."""
    declared = [part for part in operator.parts if isinstance(part, Capture)]
    types: dict[str, KqlType] = {}
    for column in declared:
        if column.name in types:
            raise KqlError(column.offset, f"{quoted(column.name)} is declared twice", "rename one")
        types[column.name] = column.type
    check_names(types, operator.offset)
    if len(operator.items) % len(declared):
        what = f"{len(operator.items)} values do not fill rows of {len(declared)} columns"
        raise KqlError(operator.offset, what, "write a value for each column of each row")
    values = [
        _declared(argument(item.expression, Scope({}, context)), declared[index % len(declared)])
        for index, item in enumerate(operator.items)
    ]
    width = len(declared)
    rows = [tuple(values[start : start + width]) for start in range(0, len(values), width)]
    return _rows(rows, types, operator.offset)


def value_range(operator: syntax.Operator, _: None, context: Context) -> CheckedQuery:
    """Return a row for each value of a range."""
    first, last, step = (argument(i.expression, Scope({}, context)) for i in operator.items)
    type_ = _type_of(first, last, step)
    name = operator.items[0].name or ""
    start, end, width = (constant_number(part, _HINT) for part in (first, last, step))
    if type_ == "datetime":
        # Times have microseconds, timespans nanoseconds.
        width = width / 1_000 if width % 1_000 else width // 1_000
    if not width:
        step.fail("the step is zero", "write another one")
    count = int((end - start) // width) + 1 if start is not None else 0
    if count > ROWS_MAX:
        step.fail(f"the range has {count:,} values", f"at most {ROWS_MAX:,} are written down")
    rows = [(Constant(_value(start + index * width, type_), type_),) for index in range(count)]
    return _rows(rows, {name: type_}, operator.offset)


def _type_of(first: Argument, last: Argument, step: Argument) -> KqlType:
    types: tuple[KqlType, ...] = (first.value.type, last.value.type, step.value.type)
    if set(types) <= {"int", "long"}:
        return "long"
    if set(types) <= {"int", "long", "real"}:
        return "real"
    type_ = types[0]
    if types != (type_, type_, _STEP_OF.get(type_, type_)) or type_ not in ("datetime", "timespan"):
        hint = "write numbers, times with a step of a timespan, or timespans"
        step.fail(f"a range has no {types[0]} to {types[1]} by {types[2]}", hint)
    return type_


def _value(number: float, type_: KqlType) -> Value:
    return float(number) if type_ == "real" else int(number)


def _declared(given: Argument, column: Capture) -> Expression:
    if not isinstance(given.value, Constant):
        given.fail("a constant is needed", _HINT)
    value = given.value.value
    if column.type == "int" and isinstance(value, int) and abs(value) <= INT_MAX:
        return Constant(value, "int")
    if not fits(given.value.type, column.type):
        what = f"column {quoted(column.name)} is {column.type}, this is {given.value.type}"
        given.fail(what, f"write {column.type}(...)")
    return convert(given.value, column.type, given.offset, "datatable")


def _rows(rows: Sequence[tuple[Expression, ...]], types: Columns, offset: int) -> CheckedQuery:
    if len(rows) > ROWS_MAX:
        raise KqlError(
            offset, f"the table has {len(rows):,} rows", f"at most {ROWS_MAX:,} are read"
        )
    if rows:
        return CheckedQuery(ConstantRows(tuple(rows), types), types)
    nulls = tuple(Constant("" if t == "string" else None, t) for t in types.values())
    none = RowFilter(ConstantRows((nulls,), types), Constant(value=False, type="bool"), types)
    return CheckedQuery(none, types)
