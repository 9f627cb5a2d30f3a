"""A reference interpreter of expressions over attributes, written against Kusto's rules.

It walks the syntax tree with Python's numbers, which compare exactly, and knows nothing of the
checker, of SQL or of an engine.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kql.syntax import tree as syntax

LONG_MAX = 2**63 - 1
_WHOLE = re.compile(r"[+-]?0*[0-9]{1,30}([.]0{1,30})?", re.ASCII)
_REAL = re.compile(
    r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity|nan)", re.ASCII | re.IGNORECASE
)
Json = Any


@dataclass(frozen=True)
class Dynamic:
    """A JSON value; `is_null` tells JSON's null from no value."""

    value: Json


def evaluate(expression: syntax.Expression, row: Mapping[str, Any]) -> Any:
    """Return a value; None is null, and dynamic values are `Dynamic`."""
    match expression:
        case syntax.Literal():
            return expression.value
        case syntax.Name():
            value = row[expression.name]
            return Dynamic(parsed(value)) if expression.name in row["dynamic"] else value
        case syntax.Path():
            return _at_path(expression, row)
        case syntax.Negation():
            return _negated(evaluate(expression.operand, row))
        case syntax.Call():
            return _FUNCTIONS[expression.name](*(evaluate(a, row) for a in expression.arguments))
        case syntax.Infix():
            return _infix(expression, row)
    raise AssertionError(expression)


def parsed(text: str | None) -> Json:
    """Return a JSON text's value: the first of duplicate keys, huge numbers as infinite."""
    if text is None:
        return None
    return json.loads(text, object_pairs_hook=lambda pairs: dict(reversed(pairs)))


def elements(value: Any) -> list[Dynamic]:
    """Return what mv-expand makes of a value."""
    json_value = value.value
    if isinstance(json_value, list) and json_value:
        return [Dynamic(element) for element in json_value]
    if isinstance(json_value, dict) and json_value:
        return [Dynamic({key: member}) for key, member in json_value.items()]
    return [Dynamic(None)]


def _negated(value: Any) -> Any:
    return None if value is None else -value


def _at_path(path: syntax.Path, row: Mapping[str, Any]) -> Dynamic:
    keys: list[tuple[str | int, bool]] = []
    step: syntax.Expression = path
    while isinstance(step, syntax.Path):
        keys.insert(0, (step.key, step.is_dotted))
        step = step.base
    base = evaluate(step, row)
    found = _nested(base.value, [key for key, _ in keys])
    if found is _ABSENT and len(keys) > 1 and all(is_dotted for _, is_dotted in keys):
        found = _nested(base.value, [".".join(str(key) for key, _ in keys)])
    return Dynamic(None if found is _ABSENT else found)


_ABSENT = object()


def _nested(value: Json, keys: list[str | int]) -> Json:
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key, _ABSENT)
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            return _ABSENT
    return value


def _infix(infix: syntax.Infix, row: Mapping[str, Any]) -> Any:
    left, *right = (evaluate(e, row) for e in (infix.left, *infix.right))
    name = infix.operator
    if name == "and":
        return _and([left, *right])
    if name == "or":
        inverse = _and([_not(value) for value in (left, *right)])
        return _not(inverse)
    if name in ("in", "!in"):
        if any(isinstance(option, float) for option in right):
            right = [float(option) for option in right]
        found = any(compare("==", left, option) is True for option in right)
        return found if name == "in" else not found
    if name == "between":
        return _and([compare(">=", left, right[0]), compare("<=", left, right[1])])
    is_real = any(_is_real(side, row) for side in (infix.left, *infix.right))
    return compare(name, left, right[0], is_real=is_real)


def _is_real(expression: syntax.Expression, row: Mapping[str, Any]) -> bool:
    """Whether this is a column of reals, which a null does not tell."""
    return isinstance(expression, syntax.Name) and expression.name in row["reals"]


def _and(values: list[Any]) -> Any:
    if any(value is False for value in values):
        return False
    return None if any(value is None for value in values) else True


def _not(value: Any) -> Any:
    return None if value is None else not value


def compare(operator: str, left: Any, right: Any, *, is_real: bool = False) -> Any:
    """Compare two values as KQL does; a dynamic one takes the other's type."""
    if isinstance(right, Dynamic):
        return compare(_TURNED[operator], right, left, is_real=is_real)
    if isinstance(left, Dynamic):
        left = _beside(left, 0.0 if is_real and right is None else right)
    if operator in ("==", "!="):
        if left is None and right is None:
            return None
        is_equal = left is not None and right is not None and left == right
        return is_equal if operator == "==" else not is_equal
    if any(isinstance(side, float) and math.isnan(side) for side in (left, right)):
        return False
    if left is None or right is None:
        return None
    return _ORDERED[operator](left, right)


def _beside(value: Dynamic, other: Any) -> Any:
    """Return a dynamic value as what a comparison with another value makes of it."""
    if isinstance(other, str):
        return _text(value)
    if isinstance(other, float):
        return to_real(value)
    if isinstance(value.value, str):
        return to_long(value)
    is_number = isinstance(value.value, int | float) and not isinstance(value.value, bool)
    return value.value if is_number else None


_TURNED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def to_long(value: Any, high: int = LONG_MAX) -> int | None:
    """Convert to a long: numbers are truncated, texts are whole."""
    found = value.value if isinstance(value, Dynamic) else value
    if isinstance(found, str):
        whole = _WHOLE.fullmatch(found)
        found = int(found.partition(".")[0]) if whole else None
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    if isinstance(found, float):
        if not math.isfinite(found):
            return None
        found = int(found)
    return found if -high - 1 <= found <= high else None


def to_real(value: Any) -> float | None:
    """Convert to a real."""
    found = value.value if isinstance(value, Dynamic) else value
    if isinstance(found, str):
        return float(found) if _REAL.fullmatch(found) else None
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    try:
        return float(found)
    except OverflowError:
        return math.inf if found > 0 else -math.inf


def _text(value: Any) -> str:
    """Return a dynamic value as a text; '' is null. Of fractions only that they are not words."""
    found = value.value if isinstance(value, Dynamic) else value
    if found is None:
        return ""
    if isinstance(found, str):
        return found
    if isinstance(found, float):
        return "9.9 (a fraction)"
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False)


def _divide(left: Any, right: Any) -> float | None:
    if left is None or right is None:
        return None
    if right:
        return float(left / right)
    if not left or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "tolong": to_long,
    "toint": lambda value: to_long(value, 2**31 - 1),
    "toreal": to_real,
    "todouble": to_real,
    "isnull": lambda value: (value.value if isinstance(value, Dynamic) else value) is None,
    "not": _not,
    "iff": lambda test, then, otherwise: then if test is True else otherwise,
    "divide": _divide,
}
