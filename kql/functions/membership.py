"""Membership in a list: `in` and its variants, over constants, arrays and values of the row."""

import json
from dataclasses import replace
from math import isnan

from kql.catalog.table import FUNCTIONS
from kql.functions import calls as functions
from kql.functions import dynamics
from kql.functions.arithmetic import Operands, convert, equal, or_empty, unequal, unified
from kql.functions.folding import folded_constant, folded_value
from kql.scope import Argument
from kql.typed import Among, Apply, Constant, Expression, Logic, Not
from kql.types import LONG_MAX, NUMBERS, Value


def among(left: Argument, options: list[Argument], operator: str, offset: int) -> Expression:
    """Return `left in (options)`, with the variants of `in`.

    A single option that is an array stands for its elements.
    """
    ignores_case, is_not = operator.endswith("~"), operator.startswith("!")
    if len(options) == 1 and options[0].value.type == "dynamic":
        array = options[0]
        if not isinstance(array.value, Constant) and not ignores_case:
            is_member = functions.typed(FUNCTIONS["set_has_element"], [array, left], offset)
            return Not(is_member) if is_not else is_member
        options = _elements(array)
    is_mixed = left.value.type == "dynamic" and len({o.value.type for o in options}) > 1
    is_known = all(isinstance(option.value, Constant) for option in options)
    if not is_known or (is_mixed and not _are_numbers(options)):
        return _any_equal(left, options, operator, offset)
    if not options:
        return Constant(is_not, "bool")
    is_member = _among_constants(left, options, operator, offset)
    return Not(is_member) if is_not else is_member


def _among_constants(
    left: Argument, options: list[Argument], operator: str, offset: int
) -> Expression:
    ignores_case = operator.endswith("~")
    if left.value.type == "dynamic" and not ignores_case and _are_numbers(options):
        return _number_among(left, options, operator, offset)
    values: list[Expression] = []
    subject: Expression = left.value
    for option in options:
        operands = Operands(left, option, operator, offset)
        subject, value, _ = unified(operands)
        values.append(value)
    if ignores_case:
        if subject.type != "string":
            left.fail(f"{operator} compares texts, not {subject.type}", "use in")
        texts = [str(_value(value) or "") for value in values]
        subject = folded_value(subject, "".join(texts), offset, operator)
        values = [folded_constant(text) for text in texts]
    subject, values = _same_type(subject, values)
    if subject.type == "string" and any(_value(v) == "" for v in values):
        subject = or_empty(subject)
    return _one_of(subject, values)


def _one_of(subject: Expression, values: list[Expression]) -> Expression:
    """Return a test of constants; NaN equals nothing in KQL, and itself in SQL."""
    numbers = tuple(value for value in values if not _is_nan(value))
    return Among(subject, numbers) if numbers else Constant(value=False, type="bool")


def _is_nan(expression: Expression) -> bool:
    value = _value(expression)
    return isinstance(value, float) and isnan(value)


def listed(options: list[Argument]) -> list[Argument]:
    """Return the terms of a list: the elements of a constant array that is alone in it."""
    is_array = len(options) == 1 and options[0].value.type == "dynamic"
    return _elements(options[0]) if is_array else options


def _elements(array: Argument) -> list[Argument]:
    """Return the elements of a constant array, or a value that is none by itself."""
    if not isinstance(array.value, Constant):
        array.fail("this list has to be known before the query runs", "write its elements")
    text = array.value.value
    parsed = json.loads(str(text)) if text is not None else []
    elements = parsed if isinstance(parsed, list) else [parsed]
    return [replace(array, value=_constant(e, array)) for e in elements if e is not None]


def _constant(element: object, array: Argument) -> Constant:
    if isinstance(element, bool):
        return Constant(element, "bool")
    if isinstance(element, int) and -LONG_MAX <= element <= LONG_MAX:
        return Constant(element, "long")
    if isinstance(element, int | float):
        return Constant(float(element), "real")
    if not isinstance(element, str):
        array.fail("an element of the array is an array or an object", "leave it out")
    return Constant(element, "string")


def _any_equal(left: Argument, options: list[Argument], operator: str, offset: int) -> Expression:
    is_not = operator.startswith("!")
    if operator.endswith("~"):
        left.fail(f"{operator} takes constants", "write a condition with =~ and or")
    compare = unequal if is_not else equal
    tests = tuple(compare(Operands(left, option, operator, offset)) for option in options)
    return tests[0] if len(tests) == 1 else Logic("and" if is_not else "or", tests)


def _are_numbers(options: list[Argument]) -> bool:
    return all(option.value.type in NUMBERS for option in options)


def _number_among(
    left: Argument, options: list[Argument], operator: str, offset: int
) -> Expression:
    """Return `left in (options)` for a dynamic value: as reals if one of them is a real."""
    values = [option.value for option in options]
    if any(value.type == "real" for value in values):
        reals = [convert(value, "real", offset, operator) for value in values]
        return _one_of(dynamics.as_number(left.value, "real", offset, operator), reals)
    if all(dynamics.is_small(value) for value in values):
        number = Apply("dynamic_to_number", (left.value,), "real", offset, operator)
        return Among(number, tuple(Constant(float(_value(v) or 0), "real") for v in values))
    return Logic("or", tuple(equal(Operands(left, o, operator, offset)) for o in options))


def _same_type(
    subject: Expression, values: list[Expression]
) -> tuple[Expression, list[Expression]]:
    """Bring the numbers of a list to the widest type among them."""
    types = {value.type for value in (subject, *values)}
    if len(types) == 1:
        return subject, values
    widest = max(types, key=NUMBERS.index)
    return convert(subject, widest, 0, "in"), [convert(v, widest, 0, "in") for v in values]


def _value(expression: Expression) -> Value:
    return expression.value if isinstance(expression, Constant) else None
