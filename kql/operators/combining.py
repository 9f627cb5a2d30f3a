"""Checker of the operators that make columns of texts or combine tables: parse and join."""

from dataclasses import replace
from typing import Literal

from kql import regex
from kql.errors import KqlError, quoted, suggestion
from kql.functions.arithmetic import convert, or_empty
from kql.functions.scalars import argument
from kql.scope import CheckedQuery, Context, check_names, fresh
from kql.syntax import tree as syntax
from kql.typed import (
    Apply,
    ColumnValue,
    Constant,
    Distinct,
    Expression,
    Join,
    RowFilter,
    Select,
)
from kql.types import NUMBERS, KqlType

_NUMBER: dict[KqlType, str] = {
    "int": r"\s*([+-]?[0-9]+)",
    "long": r"\s*([+-]?[0-9]+)",
    "real": r"\s*([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)",
}


def parse(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    """Return the columns of a text that matches the parts, one after the other."""
    subject = argument(operator.items[0].expression, state.scope(context))
    text = convert(subject.value, "string", subject.offset, operator.name)
    captures = [part for part in operator.parts if isinstance(part, syntax.Capture)]
    if not captures:
        hint = "write parse body with 'GET ' path:string ' ' *"
        raise KqlError(operator.offset, "parse reads no column", hint)
    pattern, groups = _pattern(operator)
    values: dict[str, Expression] = {}
    for group, capture in zip(groups, captures, strict=True):
        if capture.name in values:
            what = f"column {quoted(capture.name)} is named twice"
            raise KqlError(capture.offset, what, "rename one of them")
        number = Constant(group, "long")
        captured = Apply(
            "extract", (pattern, number, text), "string", capture.offset, operator.name
        )
        values[capture.name] = converted(captured, capture.type, capture.offset, operator.name)
    if operator.name == "parse-where":
        tested = Apply("match", (text, pattern), "bool", operator.offset, operator.name)
        state = state.over(RowFilter(state.relation, tested, state.relation.columns))
    # A column of the same name is replaced, as in Kusto.
    others = {n: v for n, v in state.everything().items() if n not in values}
    return state.select({**others, **values}, operator.offset)


def converted(value: Expression, type_: KqlType | None, offset: int, source: str) -> Expression:
    """Return a text or dynamic value as the type that a query names for it."""
    if type_ is None or value.type == type_:
        return value
    if type_ == "dynamic":
        return Apply("parse_json", (value,), "dynamic", offset, source)
    return convert(value, type_, offset, source)


def _pattern(operator: syntax.Operator) -> tuple[Constant, list[int]]:
    """Return the pattern of all parts, and the group of each column."""
    kind = operator.parameters.get("kind", "simple")
    if kind not in ("simple", "relaxed", "regex"):
        hint = "write simple, relaxed or regex"
        raise KqlError(operator.offset, f"{operator.name} has no kind {quoted(kind)}", hint)
    pieces, groups, number = [], [], 0
    last = len(operator.parts) - 1
    try:
        for index, part in enumerate(operator.parts):
            if part is None:
                pieces.append("" if index == last else ".*?")
            elif isinstance(part, str):
                pieces.append(f"(?:{part})" if kind == "regex" else regex.escape(part))
                number += regex.group_count(part) if kind == "regex" else 0
            else:
                number += 1
                groups.append(number)
                any_text = "(.*)" if index == last else "(.*?)"
                pieces.append(any_text if kind == "relaxed" else _NUMBER.get(part.type, any_text))
        end = "" if operator.parts[-1] is None else r"\z"
        pattern = f"(?{_flags(operator, kind)}s)\\A{''.join(pieces)}{end}"
        regex.group_count(pattern)
    except ValueError as error:
        what = "the parts are too long, or no regular expressions"
        raise KqlError(operator.offset, what, str(error)) from None
    return replace(Constant(pattern, "string"), role="regex"), groups


def _flags(operator: syntax.Operator, kind: str) -> str:
    """Return the flags of a regular expression."""
    flags = operator.parameters.get("flags", "")
    if flags and kind != "regex":
        raise KqlError(operator.offset, "flags are of kind=regex", "write kind=regex flags=i")
    # Columns match as little as they can, whether U is there or not.
    texts = "".join(part for part in operator.parts if isinstance(part, str))
    if "U" in flags and set(texts) & set("*+?{"):
        hint = "leave U out, and write *? where as little as possible is meant"
        raise KqlError(operator.offset, "U turns the repetitions in the texts", hint)
    if set(flags) - set("Uism"):
        raise KqlError(operator.offset, f"there are no flags {quoted(flags)}", "write i, s, m or U")
    return "".join(sorted(set(flags) - set("Us")))


Side = Literal["left", "right"]
_KINDS = (
    "innerunique", "inner", "leftouter", "rightouter", "fullouter",
    "leftsemi", "leftanti", "anti", "rightsemi", "rightanti",
)  # fmt: skip
_SWAPPED = {"rightsemi": "leftsemi", "rightanti": "leftanti"}


def join(operator: syntax.Operator, state: CheckedQuery, context: Context) -> CheckedQuery:
    """Return pairs of rows with equal keys."""
    is_lookup = operator.name == "lookup"
    kind = operator.parameters.get("kind", "leftouter" if is_lookup else "innerunique")
    if kind not in (("leftouter", "inner") if is_lookup else _KINDS):
        hint = suggestion(kind, _KINDS, f"write one of {', '.join(_KINDS)}")
        raise KqlError(operator.offset, f"{operator.name} has no kind {quoted(kind)}", hint)
    left, right = state, context.pipeline(operator.sources[0])
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
    raise KqlError(expression.offset, "this is not a key of a join", hint)


def _column(state: CheckedQuery, pattern: syntax.NamePattern) -> ColumnValue:
    name = state.column(pattern)
    if state.columns[name] == "dynamic":
        hint = "extend it as tostring(...) first"
        raise KqlError(pattern.offset, f"{quoted(name)} is dynamic and no key", hint)
    return ColumnValue(name, state.columns[name])


def _one_type(left: ColumnValue, right: ColumnValue, offset: int) -> tuple[Expression, Expression]:
    if left.type == right.type:
        # A text that is null equals an empty one.
        if left.type == "real":
            return _without_nan(left), _without_nan(right)
        return (or_empty(left), or_empty(right)) if left.type == "string" else (left, right)
    if left.type not in NUMBERS or right.type not in NUMBERS:
        what = f"key {quoted(left.name)} is {left.type}, {quoted(right.name)} is {right.type}"
        raise KqlError(offset, what, "convert one of them with extend first")
    type_ = max(left.type, right.type, key=NUMBERS.index)
    sides = convert(left, type_, offset, "join"), convert(right, type_, offset, "join")
    return (_without_nan(sides[0]), _without_nan(sides[1])) if type_ == "real" else sides


def _without_nan(key: Expression) -> Expression:
    """Return a key that is null for NaN: it equals nothing in KQL, and itself in SQL."""
    return Apply("without_nan", (key,), "real")
