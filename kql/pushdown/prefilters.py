"""Cheap conditions that hold for every row that a filter keeps, and are evaluated before it.

A condition on a member of a JSON text parses the text once for each time that it names the member.
Most rows can be skipped by a search in the text, or after parsing it once. Regular expressions are
searched for a part of their term first. In DuckDB, a filter evaluates its conditions on the rows
that are left.
"""

import re
from math import isfinite

from kql.pushdown.promotion import is_text
from kql.regex import escape, plainly_folded
from kql.typed import Among, Apply, ColumnValue, Constant, Expression, Logic, Member

# Texts of which a JSON text has every character, unless it has a backslash: neither quotes nor
# control characters, and no beginning of a number, an array or an object.
_LITERAL = re.compile(r'[A-Za-z/_][^"\\\x00-\x1f]*\Z')
_OPTIONS_MAX = 8
# The first whole number that a real shares with its neighbour.
_EXACT_MAX = 2**53
_CONVERSIONS = frozenset(
    ["dynamic_to_int", "dynamic_to_long", "dynamic_to_number", "dynamic_to_real"]
)
# A value that is rounded may equal a bound that it is below or above.
_ROUNDED = {"eq": "eq", "lt": "le", "le": "le", "gt": "ge", "ge": "ge"}


def prefilter(condition: Expression) -> Expression | None:
    """Return a cheap condition that is true wherever the given one is; None if there is none."""
    match condition:
        case Among(value=value, options=options):
            return _among(value, options)
        case Apply(template="eq", arguments=(Apply(template="dynamic_to_string") as text, other)):
            return _among(text, (other,))
        case Apply(
            template="contains",
            arguments=(
                Apply(template="tolower", arguments=(value,)),
                Constant(value=str() as text),
            ),
        ):
            return _folded(value, text)
        case Apply(template=template, arguments=(value, Constant() as constant)):
            comparison = _ROUNDED.get(template.removesuffix("_real").removesuffix("_pair"))
            whole, bound = _whole(value), _truncated(constant)
            if comparison is None or whole is None or bound is None:
                return None
            return Apply(comparison, (whole, bound), "bool")
        case _:
            return None


def _folded(value: Expression, text: str) -> Expression | None:
    """Return a search without regard to case, which makes no text in lower case."""
    part = plainly_folded(text)
    if not (isinstance(value, ColumnValue) and part):
        return None
    return Apply("match", (value, Constant(f"(?i){escape(part)}", "string", "regex")), "bool")


def _among(value: Expression, options: tuple[Expression, ...]) -> Expression | None:
    match value:
        case Apply(
            template="dynamic_to_string",
            arguments=(Member(base=ColumnValue() as base),),
        ) if len(options) <= _OPTIONS_MAX and all(is_text(o, _LITERAL) for o in options):
            searches = (*options, Constant("\\", "string"))
            return Logic("or", tuple(Apply("contains", (base, s), "bool") for s in searches))
    whole, bounds = _whole(value), [_truncated(option) for option in options]
    bounded = tuple(bound for bound in bounds if bound is not None)
    return Among(whole, bounded) if whole is not None and len(bounded) == len(bounds) else None


def _whole(value: Expression) -> Expression | None:
    """Return the text of the member that a number is made of, as a real without its fraction."""
    match value:
        case Apply(template="to_long", arguments=(Apply(template="dynamic_to_int") as number,)):
            return _whole(number)
        case Apply(template=template, arguments=(Member(base=ColumnValue()) as member,)) if (
            template in _CONVERSIONS
        ):
            text = Apply("dynamic_to_string", (member,), "string")
            return Apply("text_whole", (text,), "real")
        case _:
            return None


def _truncated(constant: Expression) -> Constant | None:
    match constant:
        case Constant(value=int() | float() as value, type="int" | "long" | "real") if (
            isfinite(value) and abs(value) < _EXACT_MAX
        ):
            return Constant(float(int(value)), "real")
        case _:
            return None
