"""Reads of promoted columns in place of the attributes that they repeat, where both are alike.

A promoted column is null for an attribute that is no value of its type. Of the conversions, those
to whole numbers and reals take the same texts; a promoted text is null for arrays and objects, so
it stands only where it is compared with a constant that is no beginning of either. One value is
known to differ: the text "5.0", which is a whole number to a query and none to a column.
"""

import re
from dataclasses import replace

from segplane.kql.typed import (
    Among,
    Apply,
    ColumnValue,
    Constant,
    Expression,
    Member,
    Promoted,
    rebuilt,
)
from segplane.kql.types import KqlType

# Conversions stand at most that far below the operator or function that asked for them.
_DEPTH = 3
_NUMBERS = frozenset(["string_to_int", "string_to_long", "string_to_real"])
_TEXTS = frozenset(["eq", "ne", "startswith"])
_PLAIN = re.compile(r"[A-Za-z/_]")


def with_promoted(
    expression: Expression, promoted: tuple[Promoted, ...], depth: int = _DEPTH
) -> Expression:
    """Return an expression that reads promoted columns where their values are the same."""
    if not promoted:
        return expression
    substitute = _substitute(expression, promoted)
    if substitute is not None:
        return substitute
    if depth == 0:
        return expression
    return rebuilt(expression, lambda part: with_promoted(part, promoted, depth - 1))


def _substitute(expression: Expression, promoted: tuple[Promoted, ...]) -> Expression | None:
    match expression:
        case Apply(template=template, arguments=(text, *_)) if template in _NUMBERS:
            return _number(expression, text, promoted)
        case Apply(template=template, arguments=(text, constant)) if template in _TEXTS:
            column = _column(text, "string", promoted) if _is_plain(constant) else None
            return column and replace(expression, arguments=(column, constant))
        case Among(value=text, options=options) if all(map(_is_plain, options)):
            column = _column(text, "string", promoted)
            return column and replace(expression, value=column)
        case _:
            return None


def _number(call: Apply, text: Expression, promoted: tuple[Promoted, ...]) -> Expression | None:
    column = _column(text, call.type, promoted)
    if column is None and call.type == "int" and (wide := _column(text, "long", promoted)):
        return Apply("long_to_int", (wide,), "int", call.offset, call.source)
    return column


def _column(text: Expression, type_: KqlType, promoted: tuple[Promoted, ...]) -> ColumnValue | None:
    """Return the promoted column of the attribute that a text is taken from."""
    match text:
        case Apply(
            template="dynamic_to_string",
            arguments=(Member(base=ColumnValue(name=base), keys=(key,)),),
        ):
            wanted = (base, key, type_)
            names = (p.name for p in promoted if (p.base, p.attribute, p.type) == wanted)
            name = next(names, None)
            return None if name is None else ColumnValue(name, type_)
        case _:
            return None


def _is_plain(constant: Expression) -> bool:
    """Tell whether a constant is neither a number nor the beginning of an array or object."""
    return (
        isinstance(constant, Constant)
        and isinstance(constant.value, str)
        and _PLAIN.match(constant.value) is not None
    )
