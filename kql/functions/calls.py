"""Typing of function calls: by the signature that the arguments choose, or by a rule."""

from collections.abc import Callable

from kql.catalog.signatures import Parameter, Signature, signature
from kql.errors import KqlError, suggestion
from kql.functions import composed, dynamics, rules, spans
from kql.functions.arguments import Arguments, constant_text, need, one_type, pattern
from kql.functions.arithmetic import convert, text, widen
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
    """Return the call of a function by the first signature that takes the arguments."""
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


_FORMAT = {
    "yyyy": (1, 4),
    "MM": (6, 2),
    "dd": (9, 2),
    "HH": (12, 2),
    "mm": (15, 2),
    "ss": (18, 2),
    **{"f" * n: (21, n) for n in range(1, 8)},
    "yy": (3, 2),
}
# Parts without a zero before a digit, and those of a clock of twelve hours.
_SHORT = {"M": "MM", "d": "dd", "H": "HH", "m": "mm", "s": "ss"}
_PIECES = sorted([*_FORMAT, *_SHORT, "h", "hh", "tt"], key=len, reverse=True)
_FORMAT_SIGNS = frozenset(" -/:,._[]TZ")
_DIFFERENCES = {
    "day": DAY_NANOS,
    "hour": 3_600 * 10**9,
    "minute": 60 * 10**9,
    "second": 10**9,
    "millisecond": 10**6,
    "microsecond": 10**3,
    "week": 7 * DAY_NANOS,
}


def typed(name: str, rule: str, arguments: Arguments, offset: int) -> Expression:
    """Return the call of a function by its rule."""
    if rule.startswith("to "):
        need(name, arguments, offset, 1)
        return convert(arguments[0].value, ALIASES[rule[3:]], arguments[0].offset, name)
    return _RULES[rule](name, arguments, offset)


def _iff(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 3)
    return _case(name, arguments, offset)


def _case(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 3, 101)
    if len(arguments) % 2 == 0:
        raise KqlError(offset, f"{name} has no last value", "end it with a value for all else")
    conditions, values = arguments[:-1:2], [*arguments[1::2], arguments[-1]]
    for condition in conditions:
        if condition.value.type != "bool":
            condition.fail(f"a condition is needed, this is {condition.value.type}", "compare it")
    unified_values = one_type(name, values)
    branches = zip((c.value for c in conditions), unified_values[:-1], strict=True)
    return Choice(tuple(branches), unified_values[-1], unified_values[-1].type)


def _coalesce(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2, 64)
    values = one_type(name, arguments)
    if values[0].type == "string":
        *first, last = values
        values = [*(Apply("null_if_empty", (v,), "string", offset, name) for v in first), last]
    return Apply("coalesce", tuple(values), values[-1].type, offset, name)


def _is_null(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 1)
    value = arguments[0].value
    if value.type == "string":
        instead = "isempty" if name == "isnull" else "isnotempty"
        arguments[0].fail("no string is null", f"write {instead}(...)")
    if value.type == "dynamic":
        value = convert(value, "string", offset, name)
    return Apply("isnull" if name == "isnull" else "isnotnull", (value,), "bool", offset, name)


def _delimited(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2, 64)
    return composed.delimited(arguments, offset)


def _part_of_date(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 1)
    time = convert(arguments[0].value, "datetime", arguments[0].offset, name)
    return composed.part_of_date(name, time, offset)


def _attribute(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2)
    attributes = arguments[0]
    if attributes.value.type != "dynamic":
        attributes.fail(
            f"attributes are dynamic, this is {attributes.value.type}",
            "write attribute(attributes, 'user.id')",
        )
    key = dynamics.member_key(constant_text(arguments[1]), arguments[1].offset)
    return dynamics.as_text(Member(attributes.value, (key,)), offset, name)


def _strcat(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 1, 64)
    values = tuple(text(a.value, a.offset, name) for a in arguments)
    return Apply("strcat", values, "string", offset, name)


def _trim(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2)
    given, subject = arguments
    if not isinstance(given.value, Constant) or given.value.type != "string":
        given.fail("the pattern has to be known before the query runs", "write a text in quotes")
    pattern(str(given.value.value), given)
    inside = f"(?:{given.value.value})+"
    ends = {"trim": rf"\A{inside}|{inside}\z", "trim_start": rf"\A{inside}"}
    whole = pattern(ends.get(name, rf"{inside}\z"), given)
    value = convert(subject.value, "string", subject.offset, name)
    rewrite = Constant("", "string", "rewrite")
    return Apply("replace_regex", (value, whole, rewrite), "string", offset, name)


def _datetime_diff(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 3)
    part = constant_text(arguments[0]).lower()
    times = [convert(a.value, "datetime", a.offset, name) for a in arguments[1:]]
    if part in _CALENDAR:
        numbers = [Apply(f"{part}_number", (t,), "long", offset, name) for t in times]
    elif part in _DIFFERENCES or part == "nanosecond":
        if part == "week":
            times = [Apply("startofweek", (t,), "datetime", offset, name) for t in times]
        width = Constant(_DIFFERENCES.get(part, 1_000) // 1_000, "long")
        numbers = [Apply("unit_number", (t, width), "long", offset, name) for t in times]
    else:
        hint = suggestion(part, [*_CALENDAR, *_DIFFERENCES], "write 'hour', 'day', 'month'")
        arguments[0].fail(f"there is no part of a time {part[:40]!r}", hint)
    difference = Apply("subtract", tuple(numbers), "long", offset, name)
    if part != "nanosecond":
        return difference
    return Apply("multiply", (difference, Constant(1_000, "long")), "long", offset, name)


def _format_datetime(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2)
    time = convert(arguments[0].value, "datetime", arguments[0].offset, name)
    whole = convert(time, "string", offset, name)
    layout, pieces, position = constant_text(arguments[1]), list[Expression](), 0
    while position < len(layout):
        piece = next((p for p in _PIECES if layout.startswith(p, position)), "")
        if piece:
            pieces.append(_formatted(piece, whole, time))
        elif layout[position] in _FORMAT_SIGNS:
            pieces.append(Constant(layout[position], "string"))
        else:
            hint = f"formats are made of {', '.join(_PIECES)} and signs between them"
            arguments[1].fail(f"{layout[position]!r} is no part of a format", hint)
        position += len(piece) or 1
    if not 0 < len(pieces) <= 64:
        arguments[1].fail("a format has 1 to 64 parts", "write 'yyyy-MM-dd HH:mm:ss'")
    shown = Apply("strcat", tuple(pieces), "string", offset, name)
    is_null = Apply("isnull", (time,), "bool", offset, name)
    return Choice(((is_null, Constant("", "string")),), shown, "string")


def _formatted(piece: str, whole: Expression, time: Expression) -> Expression:
    """Return a part of a time: cut out of its text, or of twelve hours."""
    if piece in ("h", "hh", "tt"):
        hour = Apply("to_long", (composed.part_of_date("hourofday", time, 0),), "long")
        is_before_noon = Apply("lt", (hour, Constant(12, "long")), "bool")
        if piece == "tt":
            return Choice(((is_before_noon, Constant("AM", "string")),), Constant("PM", "string"),
                          "string")  # fmt: skip
        shifted = Apply("add", (hour, Constant(11, "long")), "long")
        twelfth = Apply("remainder", (shifted, Constant(12, "long")), "long")
        return spans.padded(Apply("add", (twelfth, Constant(1, "long")), "long"), len(piece))
    start, length = (Constant(n, "long") for n in _FORMAT[_SHORT.get(piece, piece)])
    cut = Apply("slice", (whole, start, length), "string")
    if piece not in _SHORT:
        return cut
    zero = (Constant(r"\A0", "string", "regex"), Constant("", "string", "rewrite"))
    return Apply("replace_regex", (cut, *zero), "string")


def _percentile(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2)
    value, rank = arguments
    if value.value.type not in (*NUMBERS, "timespan", "datetime"):
        value.fail(f"{value.value.type} has no percentiles", "convert it to a number first")
    percent = rank.value.value if isinstance(rank.value, Constant) else None
    if not isinstance(percent, int | float) or not 0 <= percent <= 100:
        rank.fail("a percentile is a constant from 0 to 100", "write percentile(x, 95)")
    share = Constant(percent / 100, "real")
    subject = value.value
    if subject.type == "int":
        subject = convert(subject, "long", value.offset, name)
    template = "percentile_real" if subject.type == "real" else "percentile"
    return Apply(template, (subject, share), subject.type, offset, name)


def _percentiles_array(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2, 21)
    value, *ranks = arguments
    if len(ranks) == 1 and ranks[0].value.type == "dynamic":
        listed = rules.texts.constant_list(ranks[0])
        ranks = [Argument(_rank(each), ranks[0].offset) for each in listed[:21]]
    percentiles = [
        Argument(_percentile("percentile", [value, rank], offset), offset) for rank in ranks
    ]
    return rules.arrays.pack_array("", percentiles, offset)


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


_RULES: dict[str, Callable[[str, Arguments, int], Expression]] = {
    "iff": _iff,
    "case": _case,
    "coalesce": _coalesce,
    "isnull": _is_null,
    "isnotnull": _is_null,
    "attribute": _attribute,
    "strcat_delim": _delimited,
    "part_of_date": _part_of_date,
    "strcat": _strcat,
    "trim": _trim,
    "datetime_diff": _datetime_diff,
    "format_datetime": _format_datetime,
    "percentile": _percentile,
    "percentiles_array": _percentiles_array,
    **rules.RULES,
}
