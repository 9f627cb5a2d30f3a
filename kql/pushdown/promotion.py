"""Promoted columns, read in place of the attributes that they repeat.

A promoted column is null for an attribute that is not a value of its type. A present number is
the one that a query computes from the attribute, so the attribute is read only if the column is
null. A text is read in place of the attribute. It is null for arrays and objects, so it is used
only in comparisons with a constant that is not a beginning of either, nor of a number.
"""

import re
from dataclasses import replace

from kql.typed import Among, Apply, ColumnValue, Constant, Expression, Member, Promoted, rebuilt
from kql.types import KqlType

# Conversions stand at most that far below the operator or function that asked for them.
_DEPTH = 3
_NUMBERS: dict[str, tuple[KqlType, ...]] = {
    "dynamic_to_int": ("int", "long"),
    "dynamic_to_long": ("long",),
    "dynamic_to_real": ("real",),
    # Texts with a fraction are numbers in a column of reals, but not in one of whole numbers.
    "dynamic_to_number": ("long", "int"),
}
_TEXTS = frozenset(["eq", "ne", "startswith"])
_PLAIN = re.compile(r"[A-Za-z/_]")


def with_promoted(
    expression: Expression, promoted: tuple[Promoted, ...], depth: int = _DEPTH
) -> Expression:
    """Return an expression that reads promoted columns if their values are the same."""
    if not promoted or (isinstance(expression, Apply) and expression.template == "promoted_or"):
        return expression
    substitute = _substitute(expression, promoted)
    if substitute is not None:
        return substitute
    if depth == 0:
        return expression
    return rebuilt(expression, lambda part: with_promoted(part, promoted, depth - 1))


def _substitute(expression: Expression, promoted: tuple[Promoted, ...]) -> Expression | None:
    match expression:
        case Apply(template=template, arguments=(Member() as member,)) if template in _NUMBERS:
            return _number(expression, member, promoted)
        case Apply(template=template, arguments=(text, constant)) if template in _TEXTS:
            column = _column(text, "string", promoted) if is_text(constant) else None
            return column and replace(expression, arguments=(column, constant))
        case Among(value=text, options=options) if all(map(is_text, options)):
            column = _column(text, "string", promoted)
            return column and replace(expression, value=column)
        case _:
            return None


def _number(call: Apply, member: Member, promoted: tuple[Promoted, ...]) -> Expression | None:
    for type_ in _NUMBERS[call.template]:
        column = _column_of(member, type_, promoted)
        if column is not None:
            template = "to_real" if call.type == "real" else f"long_to_{call.type}"
            number = column if type_ == call.type else Apply(template, (column,), call.type)
            return Apply("promoted_or", (number, call), call.type, call.offset, call.source)
    return None


def _column(text: Expression, type_: KqlType, promoted: tuple[Promoted, ...]) -> ColumnValue | None:
    """Return the promoted column of the attribute that a text is taken from."""
    match text:
        case Apply(template="dynamic_to_string", arguments=(Member() as member,)):
            return _column_of(member, type_, promoted)
        case _:
            return None


def _column_of(
    member: Member, type_: KqlType, promoted: tuple[Promoted, ...]
) -> ColumnValue | None:
    """Return the column that repeats an attribute as a type."""
    if not isinstance(member.base, ColumnValue) or len(member.keys) != 1:
        return None
    attribute = (member.base.name, member.keys[0], type_)
    names = (p.name for p in promoted if (p.base, p.attribute, p.type) == attribute)
    name = next(names, None)
    return None if name is None else ColumnValue(name, type_)


def is_text(constant: Expression, plain: re.Pattern[str] = _PLAIN) -> bool:
    """Return whether a constant is not a beginning of a number, an array or an object.

    A number beyond a real's range is "Infinity" in a column.
    """
    return (
        isinstance(constant, Constant)
        and isinstance(constant.value, str)
        and plain.match(constant.value) is not None
        and not "Infinity".startswith(constant.value)
    )
