"""Typing of function calls: by the signature that the arguments choose, or by a rule."""

from collections.abc import Callable

from kql.catalog.signatures import Function, Parameter, Signature, signature
from kql.errors import KqlError, suggestion
from kql.functions import composed, dynamics, rules
from kql.functions.arguments import (
    Arguments,
    CheckedCall,
    as_json,
    constant_text,
    one_type,
    pattern,
    taken,
)
from kql.functions.arithmetic import convert, widen
from kql.scope import Argument
from kql.typed import Apply, Choice, Constant, Expression, Member
from kql.types import ALIASES, DAY_NANOS, NUMBERS, ORDERED, TYPES, KqlType

_CALENDAR = ("year", "quarter", "month")
# Words of a signature that stand for a type with a further condition.
_WORDS: dict[str, KqlType] = {
    "regex": "string",
    "rewrite": "string",
    "separator": "string",
    "width": "timespan",
}


def applied(
    name: str, signatures: tuple[str, ...], arguments: list[Argument], offset: int
) -> Expression:
    """Resolve a function call to the first matching overload."""
    parsed = [signature(text, name) for text in signatures]
    for candidate in parsed:
        values = _accepted(candidate, arguments)
        if values is not None:
            checked = _checked(candidate, values, arguments)
            return Apply(candidate.template, checked, _result(candidate, values), offset, name)
    raise _refusal(name, signatures, parsed, arguments, offset)


def _accepted(candidate: Signature, arguments: list[Argument]) -> list[Expression] | None:
    parameters = _spread(candidate.parameters, len(arguments))
    if parameters is None:
        return None
    values = []
    for parameter, argument in zip(parameters, arguments, strict=True):
        value = _as_parameter(parameter, argument.value)
        if value is None:
            return None
        values.append(value)
    return values


def _as_parameter(parameter: Parameter, value: Expression) -> Expression | None:
    word = parameter.type
    if word == "any":
        return value
    if word == "ordered":
        return value if value.type in ORDERED else None
    type_ = _WORDS.get(word, word)
    assert type_ in TYPES, f"a signature names {word}"
    return widen(value, type_)


def _spread(parameters: tuple[Parameter, ...], count: int) -> tuple[Parameter, ...] | None:
    """Return a parameter for each argument, or None if their number does not fit."""
    needed = sum(not p.is_optional for p in parameters)
    if parameters and parameters[-1].is_repeated and count >= needed:
        return parameters + (parameters[-1],) * (count - len(parameters))
    return parameters[:count] if needed <= count <= len(parameters) else None


def _result(candidate: Signature, values: list[Expression]) -> KqlType:
    if candidate.result == "T":
        return values[0].type
    assert candidate.result in TYPES
    return candidate.result


def _checked(
    candidate: Signature, values: list[Expression], arguments: list[Argument]
) -> tuple[Expression, ...]:
    parameters = _spread(candidate.parameters, len(values)) or ()
    return tuple(
        _constant(parameter, value, argument) if parameter.is_constant else value
        for parameter, value, argument in zip(parameters, values, arguments, strict=True)
    )


def _constant(parameter: Parameter, value: Expression, argument: Argument) -> Expression:
    if not isinstance(value, Constant) or value.value is None:
        argument.fail("this argument has to be known before the query runs", "write a constant")
    if parameter.type == "regex":
        return pattern(str(value.value), argument)
    if parameter.type == "rewrite":
        return Constant(value.value, "string", "rewrite")
    if parameter.type == "separator" and value.value == "":
        argument.fail("the separator is empty", "write at least one character")
    if parameter.type == "width" and (int(value.value) < 1_000 or int(value.value) % 1_000):
        argument.fail(
            "a time is cut to whole microseconds above zero", "write 1microsecond or more"
        )
    return value


def _refusal(
    name: str,
    signatures: tuple[str, ...],
    parsed: list[Signature],
    arguments: list[Argument],
    offset: int,
) -> KqlError:
    types = ", ".join(argument.value.type for argument in arguments) or "nothing"
    shown = " or ".join(dict.fromkeys(s.partition(":")[0].strip() for s in signatures))
    if "timespan" in shown and any(a.value.type == "string" for a in arguments):
        hint = f"it takes {shown}: a timespan has no quotes, as in ago(1h)"
    elif any(a.value.type == "dynamic" for a in arguments):
        hint = f"it takes {shown}: convert the dynamic value first, as tolong(...)"
    else:
        hint = f"it takes {shown}"
    if all(_spread(s.parameters, len(arguments)) is None for s in parsed):
        plural = "" if len(arguments) == 1 else "s"
        what = f"{name} does not take {len(arguments)} argument{plural}"
        return KqlError(offset, what, hint)
    return KqlError(offset, f"{name} does not take {types}", hint)


_DIFFERENCES = {
    "day": DAY_NANOS,
    "hour": 3_600 * 10**9,
    "minute": 60 * 10**9,
    "second": 10**9,
    "millisecond": 10**6,
    "microsecond": 10**3,
    "week": 7 * DAY_NANOS,
}


def typed(function: Function, arguments: Arguments, offset: int) -> Expression:
    """Return the call of a function by its rule, or by the words of its parameters."""
    name, rule = function.name, function.rule
    if function.taken:
        arguments = taken(function, arguments, offset)
    if rule.startswith("to "):
        return convert(arguments[0].value, ALIASES[rule[3:]], arguments[0].offset, name)
    if rule:
        return _RULES[rule](CheckedCall(name, arguments, offset))
    called, values = signature(function.taken, name), [a.value for a in arguments]
    return Apply(called.template, tuple(values), _result(called, values), offset, name)


def _case(call: CheckedCall) -> Expression:
    if len(call.arguments) % 2 == 0:
        raise KqlError(
            call.offset, f"{call.name} has no last value", "end it with a value for all else"
        )
    conditions, values = call.arguments[:-1:2], [*call.arguments[1::2], call.arguments[-1]]
    for condition in conditions:
        if condition.value.type != "bool":
            condition.fail(f"a condition is needed, this is {condition.value.type}", "compare it")
    unified_values = one_type(call.name, values)
    branches = zip((c.value for c in conditions), unified_values[:-1], strict=True)
    return Choice(tuple(branches), unified_values[-1], unified_values[-1].type)


def _coalesce(call: CheckedCall) -> Expression:
    values = one_type(call.name, call.arguments)
    if values[0].type == "string":
        *first, last = values
        values = [*(call.apply("null_if_empty", "string", v) for v in first), last]
    return call.apply("coalesce", values[-1].type, *values)


def _is_null(call: CheckedCall) -> Expression:
    value = call.arguments[0].value
    if value.type == "string":
        instead = "isempty" if call.name == "isnull" else "isnotempty"
        call.arguments[0].fail("no string is null", f"write {instead}(...)")
    if value.type == "dynamic":
        value = convert(value, "string", call.offset, call.name)
    return call.apply(call.name, "bool", value)


def _delimited(call: CheckedCall) -> Expression:
    delimiter, *values = (a.value for a in call.arguments)
    parts = [part for value in values for part in (delimiter, value)]
    return call.apply("strcat", "string", *parts[1:])


def _part_of_date(call: CheckedCall) -> Expression:
    return composed.part_of_date(call.name, call.arguments[0].value, call.offset)


def _attribute(call: CheckedCall) -> Expression:
    attributes = call.arguments[0]
    if attributes.value.type != "dynamic":
        attributes.fail(
            f"attributes are dynamic, this is {attributes.value.type}",
            "write attribute(attributes, 'user.id')",
        )
    key = dynamics.member_key(constant_text(call.arguments[1]), call.arguments[1].offset)
    return dynamics.as_text(Member(attributes.value, (key,)), call.offset, call.name)


def _trim(call: CheckedCall) -> Expression:
    given, subject = call.arguments
    if not isinstance(given.value, Constant) or given.value.type != "string":
        given.fail("the pattern has to be known before the query runs", "write a text in quotes")
    pattern(str(given.value.value), given)
    inside = f"(?:{given.value.value})+"
    ends = {"trim": rf"\A{inside}|{inside}\z", "trim_start": rf"\A{inside}"}
    whole = pattern(ends.get(call.name, rf"{inside}\z"), given)
    rewrite = Constant("", "string", "rewrite")
    return call.apply("replace_regex", "string", subject.value, whole, rewrite)


def _datetime_diff(call: CheckedCall) -> Expression:
    part = constant_text(call.arguments[0]).lower()
    times = [a.value for a in call.arguments[1:]]
    if part in _CALENDAR:
        numbers = [call.apply(f"{part}_number", "long", t) for t in times]
    elif part in _DIFFERENCES or part == "nanosecond":
        if part == "week":
            times = [call.apply("startofweek", "datetime", t) for t in times]
        width = Constant(_DIFFERENCES.get(part, 1_000) // 1_000, "long")
        numbers = [call.apply("unit_number", "long", t, width) for t in times]
    else:
        hint = suggestion(part, [*_CALENDAR, *_DIFFERENCES], "write 'hour', 'day', 'month'")
        call.arguments[0].fail(f"there is no part of a time {part[:40]!r}", hint)
    difference = call.apply("subtract", "long", *numbers)
    if part != "nanosecond":
        return difference
    return call.apply("multiply", "long", difference, Constant(1_000, "long"))


def _percentile(call: CheckedCall) -> Expression:
    value, rank = call.arguments
    if value.value.type not in (*NUMBERS, "timespan", "datetime"):
        value.fail(f"{value.value.type} has no percentiles", "convert it to a number first")
    percent = rank.value.value if isinstance(rank.value, Constant) else None
    if not isinstance(percent, int | float) or not 0 <= percent <= 100:
        rank.fail("a percentile is a constant from 0 to 100", "write percentile(x, 95)")
    share = Constant(percent / 100, "real")
    subject = value.value
    if subject.type == "int":
        subject = convert(subject, "long", value.offset, call.name)
    template = "percentile_real" if subject.type == "real" else "percentile"
    return call.apply(template, subject.type, subject, share)


def _percentiles_array(call: CheckedCall) -> Expression:
    value, *ranks = call.arguments
    if len(ranks) == 1 and ranks[0].value.type == "dynamic":
        listed = rules.texts.constant_list(ranks[0])
        ranks = [Argument(_rank(each), ranks[0].offset) for each in listed[:21]]
    values: Arguments = []
    for rank in ranks:
        percentile = _percentile(CheckedCall("percentile", [value, rank], call.offset))
        values.append(Argument(as_json("", Argument(percentile, call.offset)), call.offset))
    return rules.arrays.pack_array(CheckedCall("", values, call.offset))


def _rank(value: object) -> Constant:
    return (
        Constant(float(value), "real") if isinstance(value, int | float) else Constant("", "string")
    )


def extreme(name: str, key: Expression, value: Expression, offset: int) -> Expression:
    """Return the value of the row with the greatest or least key."""
    if key.type == "dynamic":
        raise KqlError(offset, "a dynamic value has no order", "convert it first: tolong(...)")
    template = f"{name}_real" if key.type == "real" else name
    return Apply(template, (value, key), value.type, offset, name)


_RULES: dict[str, Callable[[CheckedCall], Expression]] = {
    "case": _case,
    "coalesce": _coalesce,
    "isnull": _is_null,
    "isnotnull": _is_null,
    "attribute": _attribute,
    "strcat_delim": _delimited,
    "part_of_date": _part_of_date,
    "trim": _trim,
    "datetime_diff": _datetime_diff,
    "percentile": _percentile,
    "percentiles_array": _percentiles_array,
    **rules.RULES,
}
