"""Checker of parse: a text's pattern, and the columns that are read out of it."""

from dataclasses import replace

from segplane.kql import regex, syntax
from segplane.kql.conversions import convert
from segplane.kql.errors import KqlError, quoted
from segplane.kql.scalars import argument
from segplane.kql.state import CheckedQuery, Context
from segplane.kql.typed import Apply, Constant, Expression, RowFilter
from segplane.kql.types import KqlType

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
    pattern = _pattern(operator)
    values: dict[str, Expression] = {}
    for group, capture in enumerate(captures, 1):
        if capture.name in values:
            what = f"column {quoted(capture.name)} is named twice"
            raise KqlError(capture.offset, what, "rename one of them")
        number = Constant(group, "long")
        found = Apply("extract", (pattern, number, text), "string", capture.offset, operator.name)
        values[capture.name] = converted(found, capture.type, capture.offset, operator.name)
    if operator.name == "parse-where":
        tested = Apply("match", (text, pattern), "bool", operator.offset, operator.name)
        state = state.over(RowFilter(state.relation, tested, state.relation.columns))
    # A column of the same name gives way, as in Kusto.
    others = {n: v for n, v in state.everything().items() if n not in values}
    return state.select({**others, **values}, operator.offset)


def converted(value: Expression, type_: KqlType | None, offset: int, source: str) -> Expression:
    """Return a text or dynamic value as the type that a query names for it."""
    if type_ is None or value.type == type_:
        return value
    if type_ == "dynamic":
        return Apply("parse_json", (value,), "dynamic", offset, source)
    return convert(value, type_, offset, source)


def _pattern(operator: syntax.Operator) -> Constant:
    pieces = []
    last = len(operator.parts) - 1
    for index, part in enumerate(operator.parts):
        if part is None:
            pieces.append("" if index == last else ".*?")
        elif isinstance(part, str):
            pieces.append(regex.escape(part))
        else:
            any_text = "(.*)" if index == last else "(.*?)"
            pieces.append(_NUMBER.get(part.type, any_text))
    end = "" if operator.parts[-1] is None else r"\z"
    pattern = f"(?s)\\A{''.join(pieces)}{end}"
    try:
        regex.group_count(pattern)
    except ValueError as error:
        raise KqlError(operator.offset, "the parts are too long", str(error)) from None
    return replace(Constant(pattern, "string"), role="regex")
