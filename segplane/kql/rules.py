"""Typing of the functions that no signature describes."""

from collections.abc import Callable

from segplane.kql.arithmetic import Operands, unified
from segplane.kql.conversions import convert, text
from segplane.kql.errors import KqlError, suggestion
from segplane.kql.scope import Argument
from segplane.kql.signatures import pattern
from segplane.kql.typed import Apply, Choice, Constant, Expression
from segplane.kql.types import ALIASES, DAY_NANOS, NUMBERS, KqlType

Arguments = list[Argument]
_FORMAT = {
    "yyyy": (1, 4),
    "MM": (6, 2),
    "dd": (9, 2),
    "HH": (12, 2),
    "mm": (15, 2),
    "ss": (18, 2),
    **{"f" * n: (21, n) for n in range(1, 7)},
}
_FORMAT_SIGNS = frozenset(" -/:,._[]TZ")
_DIFFERENCES = {
    "day": DAY_NANOS,
    "hour": 3_600 * 10**9,
    "minute": 60 * 10**9,
    "second": 10**9,
    "millisecond": 10**6,
    "microsecond": 10**3,
}
_CALENDAR = ("year", "quarter", "month")


def need(name: str, arguments: Arguments, offset: int, low: int, high: int | None = None) -> None:
    """Check the number of arguments."""
    high = low if high is None else high
    if not low <= len(arguments) <= high:
        expected = str(low) if low == high else f"{low} to {high}"
        raise KqlError(
            offset, f"{name} has {len(arguments)} arguments", f"it takes {expected} of them"
        )


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
    unified_values = _one_type(name, values)
    branches = zip((c.value for c in conditions), unified_values[:-1], strict=True)
    return Choice(tuple(branches), unified_values[-1], unified_values[-1].type)


def _one_type(name: str, arguments: Arguments) -> list[Expression]:
    """Return the arguments as the one type that all of them fit."""
    widest = arguments[0]
    for argument in arguments[1:]:
        left, _, type_ = unified(Operands(widest, argument, name, argument.offset))
        widest = Argument(left if left.type == type_ else argument.value, argument.offset)
    to = widest.value.type
    return [convert(a.value, to, a.offset, name) for a in arguments]


def _coalesce(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2, 64)
    values = _one_type(name, arguments)
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


def _constant_text(argument: Argument) -> str:
    value = argument.value
    if not isinstance(value, Constant) or value.type != "string":
        argument.fail("this has to be known before the query runs", "write a text in quotes")
    return str(value.value)


def _datetime_diff(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 3)
    part = _constant_text(arguments[0]).lower()
    times = [convert(a.value, "datetime", a.offset, name) for a in arguments[1:]]
    if part in _CALENDAR:
        numbers = [Apply(f"{part}_number", (t,), "long", offset, name) for t in times]
    elif part in _DIFFERENCES:
        width = Constant(_DIFFERENCES[part] // 1_000, "long")
        numbers = [Apply("unit_number", (t, width), "long", offset, name) for t in times]
    else:
        hint = suggestion(part, [*_CALENDAR, *_DIFFERENCES], "write 'hour', 'day', 'month'")
        arguments[0].fail(f"there is no part of a time {part[:40]!r}", hint)
    return Apply("subtract", tuple(numbers), "long", offset, name)


def _format_datetime(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2)
    time = convert(arguments[0].value, "datetime", arguments[0].offset, name)
    whole = convert(time, "string", offset, name)
    layout, pieces, position = _constant_text(arguments[1]), list[Expression](), 0
    while position < len(layout):
        piece = next((p for p in sorted(_FORMAT, key=len, reverse=True)
                      if layout.startswith(p, position)), "")  # fmt: skip
        if piece:
            start, length = (Constant(n, "long") for n in _FORMAT[piece])
            pieces.append(Apply("slice", (whole, start, length), "string", offset, name))
        elif layout[position] in _FORMAT_SIGNS:
            pieces.append(Constant(layout[position], "string"))
        else:
            hint = f"formats are made of {', '.join(_FORMAT)} and signs between them"
            arguments[1].fail(f"{layout[position]!r} is no part of a format", hint)
        position += len(piece) or 1
    if not 0 < len(pieces) <= 64:
        arguments[1].fail("a format has 1 to 64 parts", "write 'yyyy-MM-dd HH:mm:ss'")
    shown = Apply("strcat", tuple(pieces), "string", offset, name)
    is_null = Apply("isnull", (time,), "bool", offset, name)
    return Choice(((is_null, Constant("", "string")),), shown, "string")


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
    return Apply("percentile", (subject, share), subject.type, offset, name)


def extreme(name: str, key: Expression, value: Expression, offset: int) -> Expression:
    """Return the value of the row with the greatest or least key."""
    if key.type == "dynamic":
        raise KqlError(offset, "a dynamic value has no order", "convert it first: tolong(...)")
    result: KqlType = value.type
    return Apply(name, (value, key), result, offset, name)


_RULES: dict[str, Callable[[str, Arguments, int], Expression]] = {
    "iff": _iff,
    "case": _case,
    "coalesce": _coalesce,
    "isnull": _is_null,
    "isnotnull": _is_null,
    "strcat": _strcat,
    "trim": _trim,
    "datetime_diff": _datetime_diff,
    "format_datetime": _format_datetime,
    "percentile": _percentile,
}
