"""Checker of union, join and lookup."""

from collections.abc import Callable
from typing import Literal

from segplane.kql import syntax
from segplane.kql.conversions import convert, or_empty
from segplane.kql.errors import KqlError, quoted, suggestion
from segplane.kql.state import CheckedQuery, Context, check_names, fresh
from segplane.kql.typed import (
    Columns,
    ColumnValue,
    Constant,
    Distinct,
    Expression,
    Join,
    Relation,
    Select,
    Union,
)
from segplane.kql.types import NUMBERS, KqlType

Check = Callable[[syntax.QueryPipeline, Context], CheckedQuery]
Side = Literal["left", "right"]
_KINDS = (
    "innerunique", "inner", "leftouter", "rightouter", "fullouter",
    "leftsemi", "leftanti", "anti", "rightsemi", "rightanti",
)  # fmt: skip
_SWAPPED = {"rightsemi": "leftsemi", "rightanti": "leftanti"}


def union(
    operator: syntax.Operator, state: CheckedQuery | None, context: Context, check: Check
) -> CheckedQuery:
    """Return the rows of all inputs: columns by name, null where an input lacks one."""
    unknown = set(operator.parameters) - {"kind", "isfuzzy"}
    if unknown:
        raise KqlError(operator.offset, f"union has no {min(unknown)}", "leave it out")
    kind = operator.parameters.get("kind", "outer")
    if kind not in ("outer", "inner"):
        raise KqlError(operator.offset, f"union has no kind {quoted(kind)}", "write outer or inner")
    inputs = [*([state] if state else []), *(check(s, context) for s in operator.sources)]
    columns: dict[str, KqlType] = {}
    for each in inputs:
        for name, type_ in each.columns.items():
            columns[name] = _wider(columns.get(name, type_), type_, name, operator.offset)
    if kind == "inner":
        columns = {n: t for n, t in columns.items() if all(n in i.columns for i in inputs)}
        if not columns:
            raise KqlError(operator.offset, "the inputs have no column in common", "use kind=outer")
    check_names(columns, operator.offset)
    relation = Union(tuple(_with_columns(i, columns) for i in inputs), columns)
    return CheckedQuery(relation, columns)


def _wider(left: KqlType, right: KqlType, name: str, offset: int) -> KqlType:
    if left == right:
        return left
    if left in NUMBERS and right in NUMBERS:
        return max(left, right, key=NUMBERS.index)
    what = f"column {quoted(name)} is {left} in one input and {right} in another"
    raise KqlError(offset, what, "convert or rename one of them first")


def _with_columns(state: CheckedQuery, columns: Columns) -> Relation:
    values: dict[str, Expression] = {}
    for name, type_ in columns.items():
        if name in state.columns:
            values[name] = convert(ColumnValue(name, state.columns[name]), type_, 0, "union")
        else:
            values[name] = Constant(None, type_)
    return Select(state.relation, values, columns)


def join(
    operator: syntax.Operator, state: CheckedQuery, context: Context, check: Check
) -> CheckedQuery:
    """Return pairs of rows with equal keys."""
    is_lookup = operator.name == "lookup"
    kind = operator.parameters.get("kind", "leftouter" if is_lookup else "innerunique")
    if kind not in (("leftouter", "inner") if is_lookup else _KINDS):
        hint = suggestion(kind, _KINDS, f"write one of {', '.join(_KINDS)}")
        raise KqlError(operator.offset, f"{operator.name} has no kind {quoted(kind)}", hint)
    left, right = state, check(operator.sources[0], context)
    keys = [_key(item.expression, left, right) for item in operator.items]
    kind = "leftanti" if kind == "anti" else kind
    if kind in _SWAPPED:
        kind, left, right = _SWAPPED[kind], right, left
        keys = [(b, a) for a, b in keys]
    relation = left.relation
    if kind == "innerunique":
        names = tuple(a.name for a, _ in keys)
        texts = {n: or_empty(v) if n in names and v.type == "string" else v
                 for n, v in left.everything().items()}  # fmt: skip
        relation = Select(relation, texts, left.columns)
        relation, kind = Distinct(relation, names, left.columns), "inner"
    outputs: dict[str, tuple[Side, str]] = {name: ("left", name) for name in left.columns}
    if kind not in ("leftsemi", "leftanti"):
        dropped = {b.name for _, b in keys} if is_lookup else set()
        for name in right.columns:
            if name not in dropped:
                outputs[fresh(name, outputs)] = ("right", name)
    sides = {"left": left.columns, "right": right.columns}
    columns = {name: sides[side][column] for name, (side, column) in outputs.items()}
    check_names(columns, operator.offset)
    typed_keys = tuple(_one_type(a, b, operator.offset) for a, b in keys)
    joined = Join(relation, right.relation, kind, typed_keys, outputs, columns)
    return CheckedQuery(joined, columns)


def _key(
    expression: syntax.Expression, left: CheckedQuery, right: CheckedQuery
) -> tuple[ColumnValue, ColumnValue]:
    if isinstance(expression, syntax.Name):
        pattern = syntax.NamePattern(expression.offset, expression.name)
        return _column(left, pattern), _column(right, pattern)
    if isinstance(expression, syntax.Infix) and expression.operator == "==":
        sides = {
            path.base.name: syntax.NamePattern(path.offset, str(path.key))
            for path in (expression.left, *expression.right)
            if isinstance(path, syntax.Path) and isinstance(path.base, syntax.Name)
        }
        if set(sides) == {"$left", "$right"}:
            return _column(left, sides["$left"]), _column(right, sides["$right"])
    hint = "write a column's name, or $left.a == $right.b"
    raise KqlError(expression.offset, "this is no key of a join", hint)


def _column(state: CheckedQuery, pattern: syntax.NamePattern) -> ColumnValue:
    name = state.column(pattern)
    if state.columns[name] == "dynamic":
        hint = "extend it as tostring(...) first"
        raise KqlError(pattern.offset, f"{quoted(name)} is dynamic and no key", hint)
    return ColumnValue(name, state.columns[name])


def _one_type(left: ColumnValue, right: ColumnValue, offset: int) -> tuple[Expression, Expression]:
    if left.type == right.type:
        # A text that is null equals an empty one.
        return (or_empty(left), or_empty(right)) if left.type == "string" else (left, right)
    if left.type not in NUMBERS or right.type not in NUMBERS:
        what = f"key {quoted(left.name)} is {left.type}, {quoted(right.name)} is {right.type}"
        raise KqlError(offset, what, "convert one of them with extend first")
    type_ = max(left.type, right.type, key=NUMBERS.index)
    return convert(left, type_, offset, "join"), convert(right, type_, offset, "join")
