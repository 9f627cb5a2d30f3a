"""Choice of a signature: which arguments a function takes, and what it makes of them."""

from segplane.kql import catalog, regex
from segplane.kql.catalog import Parameter, Signature
from segplane.kql.conversions import widen
from segplane.kql.errors import KqlError, quoted
from segplane.kql.scope import Argument
from segplane.kql.typed import Apply, Constant, Expression
from segplane.kql.types import ORDERED, TYPES, KqlType

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
    """Return the call of a function by the first signature that takes the arguments."""
    parsed = [catalog.signature(text, name) for text in signatures]
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


def pattern(text: str, argument: Argument) -> Constant:
    """Return a regular expression that every engine evaluates alike."""
    try:
        regex.group_count(text)
    except ValueError as error:
        argument.fail(f"{quoted(text)} is no regular expression of the subset", str(error))
    return Constant(text, "string", "regex")


def _refusal(
    name: str,
    signatures: tuple[str, ...],
    parsed: list[Signature],
    arguments: list[Argument],
    offset: int,
) -> KqlError:
    types = ", ".join(argument.value.type for argument in arguments) or "nothing"
    shown = " or ".join(dict.fromkeys(s.partition(":")[0].strip() for s in signatures))
    if any(a.value.type == "dynamic" for a in arguments):
        hint = f"it takes {shown}: convert the dynamic value first, as tolong(...)"
    else:
        hint = f"it takes {shown}"
    if all(_spread(s.parameters, len(arguments)) is None for s in parsed):
        plural = "" if len(arguments) == 1 else "s"
        what = f"{name} does not take {len(arguments)} argument{plural}"
        return KqlError(offset, what, hint)
    return KqlError(offset, f"{name} does not take {types}", hint)
