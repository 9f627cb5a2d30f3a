"""Inputs of unions that conditions exclude, such as one on the dataset: none of them is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kql.pushdown.passing import passed
from kql.typed import (
    Among,
    Apply,
    ColumnValue,
    Constant,
    Expression,
    Logic,
    Not,
    Relation,
    Scan,
    Union,
    rebuilt,
)
from kql.walks import references, with_inputs


@dataclass(frozen=True, slots=True)
class _Conditions:
    """Conditions of which each row that matters meets every one."""

    parts: tuple[Expression, ...] = ()

    def filtered(self, condition: Expression) -> "_Conditions":
        match condition:
            case Logic(operator="and", parts=parts):
                together = self
                for part in parts:
                    together = together.filtered(part)
                return together
            case _:
                return _Conditions((*self.parts, condition))

    def renamed(self, values: Mapping[str, Expression]) -> "_Conditions":
        """Keep those on columns that pass, or are constants: no expression is written out twice."""
        passing = {n: v for n, v in values.items() if _is_plain(v)}
        kept = (part for part in self.parts if references(part) <= passing.keys())
        return _Conditions(tuple(_with_values(part, passing) for part in kept))

    @property
    def are_false(self) -> bool:
        """Whether no row meets them."""
        return any(_value(part) is False for part in self.parts)


def without_excluded(relation: Relation, needed: _Conditions = _Conditions()) -> Relation:
    """Return a relation without inputs of unions that have no row which matters, but one of all."""
    below = passed(relation, needed)
    if isinstance(relation, Union):
        below = [pair for pair in below if not _is_excluded(*pair)] or below[:1]
    return with_inputs(relation, [without_excluded(each, passed_on) for each, passed_on in below])


def _is_excluded(relation: Relation, needed: _Conditions) -> bool:
    if needed.are_false or isinstance(relation, Scan):
        return needed.are_false
    below = passed(relation, needed)
    return len(below) == 1 and _is_excluded(*below[0])


def _is_plain(value: Expression) -> bool:
    if isinstance(value, Apply) and value.template == "or_empty":
        (value,) = value.arguments
    return isinstance(value, Constant | ColumnValue)


def _with_values(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    if isinstance(expression, ColumnValue):
        return values[expression.name]
    return rebuilt(expression, lambda part: _with_values(part, values))


def _value(expression: Expression) -> object:
    """Return the value of a condition over constants, None if it is not known or null."""
    match expression:
        case Constant(value=value):
            return value
        case Logic(operator=operator, parts=parts):
            decisive = operator == "or"
            values = [_value(part) for part in parts]
            return decisive if decisive in values else None if None in values else not decisive
        case Not(operand=operand) | Apply(template="not", arguments=(operand,)):
            is_met = _value(operand)
            return not is_met if isinstance(is_met, bool) else None
        case Among(value=Constant(value=str() as text), options=options):
            return any(isinstance(o, Constant) and o.value == text for o in options)
        case Apply(template="or_empty", arguments=(inner,)):
            return _value(inner)
        case Apply(template="tolower", arguments=(Constant(value=str() as text),)):
            return text.lower() if text.isascii() else None
        case Apply(template=template, arguments=(left, right)) if template in _TESTS:
            first, second = _value(left), _value(right)
            are_texts = isinstance(first, str) and isinstance(second, str)
            return _TESTS[template](first, second) if are_texts else None
        case _:
            return None


_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": str.__eq__,
    "ne": str.__ne__,
    "startswith": str.startswith,
    "endswith": str.endswith,
    "contains": str.__contains__,
}
