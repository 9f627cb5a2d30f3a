"""Rules over times: starts and ends of days and months, parts, moved times, timespans as texts."""

from collections.abc import Callable

from kql.errors import KqlError, suggestion
from kql.functions import composed, spans
from kql.functions.arguments import Arguments, constant_text, need
from kql.functions.arithmetic import convert, widen
from kql.scope import Argument
from kql.typed import Apply, Choice, Constant, Expression, Logic
from kql.types import DAY_NANOS, NUMBERS

_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_LENGTHS = {
    "week": 7 * DAY_NANOS, "day": DAY_NANOS, "hour": 3_600 * 10**9, "minute": 60 * 10**9,
    "second": 10**9, "millisecond": 10**6, "microsecond": 10**3, "nanosecond": 1,
}  # fmt: skip


def _time(argument: Argument) -> Expression:
    time = widen(argument.value, "datetime")
    if time is None:
        argument.fail(f"a time is needed, this is {argument.value.type}", "use todatetime()")
    return time


def _whole(name: str, argument: Argument) -> Expression:
    if argument.value.type not in ("int", "long"):
        argument.fail(f"a whole number is needed, this is {argument.value.type}", "use tolong()")
    return convert(argument.value, "long", argument.offset, name)


def moved(part: str, count: Expression, time: Expression, offset: int, name: str) -> Expression:
    """Return a time that many parts later."""
    if part in _MONTHS:
        months = Apply("multiply", (count, Constant(_MONTHS[part], "long")), "long", offset, name)
        return Apply("add_months", (time, months), "datetime", offset, name)
    span = Apply("multiply", (Constant(_LENGTHS[part], "timespan"), count), "timespan")
    return Apply("add_datetime", (time, span), "datetime", offset, name)


def _start(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 1, 2)
    start = Apply(name, (_time(arguments[0]),), "datetime", offset, name)
    if len(arguments) == 1:
        return start
    part = name.removeprefix("startof")
    return moved(part, _whole(name, arguments[1]), start, offset, name)


def _end(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 1, 2)
    part = name.removeprefix("endof")
    count: Expression = Constant(1, "long")
    if len(arguments) == 2:
        count = Apply("add", (_whole(name, arguments[1]), count), "long", offset, name)
    start = Apply(f"startof{part}", (_time(arguments[0]),), "datetime", offset, name)
    microsecond = Constant(1_000, "timespan")
    if part in _LENGTHS:
        # The last day and week of the year 9999 have an end, but no next one.
        length = Apply("multiply", (Constant(_LENGTHS[part], "timespan"), count), "timespan")
        span = Apply("subtract", (length, microsecond), "timespan")
        return Apply("add_datetime", (start, span), "datetime", offset, name)
    following = moved(part, count, start, offset, name)
    return Apply("subtract_datetime", (following, microsecond), "datetime", offset, name)


def _datetime_add(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 3)
    part = _part(arguments[0], (*_MONTHS, *_LENGTHS))
    return moved(part, _whole(name, arguments[1]), _time(arguments[2]), offset, name)


def _part(argument: Argument, parts: tuple[str, ...]) -> str:
    part = constant_text(argument).lower()
    if part not in parts:
        hint = suggestion(part, parts, f"write one of {', '.join(parts)}")
        argument.fail(f"there is no part of a time {part[:40]!r}", hint)
    return part


_OF_SECOND = {"millisecond": 1_000, "microsecond": 1, "nanosecond": 1}
_NAMED = {
    "year": "getyear", "month": "monthofyear", "day": "dayofmonth", "dayofyear": "dayofyear",
    "hour": "hourofday",
}  # fmt: skip
_PARTS = (*_NAMED, "quarter", "week_of_year", "minute", "second", *_OF_SECOND)


def _datetime_part(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2)
    part, time = _part(arguments[0], _PARTS), _time(arguments[1])
    if part in _NAMED:
        return composed.part_of_date(_NAMED[part], time, offset)
    if part == "week_of_year":
        return Apply("week_of_year", (time,), "int", offset, name)
    if part == "quarter":
        month = Apply("subtract", (_month(time), Constant(1, "long")), "long")
        third = Apply("divide", (month, Constant(3, "long")), "long")
        number: Expression = Apply("add", (third, Constant(1, "long")), "long")
    elif part in _OF_SECOND:
        number = _remainder(_units(time, _OF_SECOND[part]), 10**6 // _OF_SECOND[part])
        if part == "nanosecond":
            number = Apply("multiply", (number, Constant(1_000, "long")), "long")
    else:
        number = _remainder(_units(time, _LENGTHS[part] // 1_000), 60)
    return Apply("long_to_int", (number,), "int", offset, name)


def _month(time: Expression) -> Expression:
    return Apply("to_long", (composed.part_of_date("monthofyear", time, 0),), "long")


def _units(time: Expression, micros: int) -> Expression:
    return Apply("unit_number", (time, Constant(micros, "long")), "long")


def _remainder(value: Expression, divisor: int) -> Expression:
    return Apply("remainder", (value, Constant(divisor, "long")), "long")


def _make_datetime(name: str, arguments: Arguments, offset: int) -> Expression:
    if len(arguments) not in (1, 3, 5, 6):
        raise KqlError(
            offset, f"{name} has {len(arguments)} arguments",
            "write make_datetime(year, month, day), with hour and minute, and with second",
        )  # fmt: skip
    if len(arguments) == 1:
        return _time(arguments[0])
    year, month, day = (_whole(name, a) for a in arguments[:3])
    dash = Constant("-", "string")
    pieces = (spans.padded(year, 4), dash, spans.padded(month, 2), dash, spans.padded(day, 2))
    date = convert(Apply("strcat", pieces, "string"), "datetime", offset, name)
    if len(arguments) == 3:
        return date
    clock = _clock(name, arguments[3:])
    return Apply("add_datetime", (date, clock), "datetime", offset, name)


def _clock(name: str, arguments: Arguments) -> Expression:
    """Return hours, minutes and seconds as a timespan; null if one is out of its range."""
    units = (("hour", 24), ("minute", 60), ("second", 60))
    total: Expression | None = None
    conditions: list[Expression] = []
    for argument, (unit, end) in zip(arguments, units, strict=False):
        if argument.value.type not in NUMBERS:
            argument.fail(f"a number is needed, this is {argument.value.type}", "use tolong()")
        value = convert(argument.value, "real", argument.offset, name)
        conditions.append(Apply("ge_real", (value, Constant(0.0, "real")), "bool"))
        conditions.append(Apply("lt_real", (value, Constant(float(end), "real")), "bool"))
        # Kusto has ticks of 100 ns; the rest is cut off.
        ticks = Apply("real_to_long", (_ticks(value, _LENGTHS[unit] // 100),), "long")
        span = Apply("multiply", (ticks, Constant(100, "long")), "timespan")
        total = span if total is None else Apply("add", (total, span), "timespan")
    assert total is not None
    is_valid = Logic("and", tuple(conditions))
    return Choice(((is_valid, total),), Constant(None, "timespan"), "timespan")


def _ticks(value: Expression, ticks: int) -> Expression:
    """Return a number of units in ticks, rounded: 55.123 seconds are no fraction of a tick."""
    product = Apply("multiply_real", (value, Constant(float(ticks), "real")), "real")
    return Apply("round_whole", (product,), "real")


def _make_timespan(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 1, 4)
    if len(arguments) == 1:
        return convert(arguments[0].value, "timespan", arguments[0].offset, name)
    if len(arguments) < 4:
        return _clock(name, arguments)
    days = Apply(
        "multiply", (Constant(DAY_NANOS, "timespan"), _whole(name, arguments[0])), "timespan"
    )
    return Apply("add", (days, _clock(name, arguments[1:])), "timespan", offset, name)


def _unixtime(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 1)
    argument = arguments[0]
    unit = name.split("_")[1].removesuffix("s")
    value = argument.value
    if value.type not in NUMBERS:
        argument.fail(f"a number is needed, this is {value.type}", "use tolong()")
    micros: Expression
    if value.type == "real":
        factor = _LENGTHS[unit] / 1_000
        micros = Apply("multiply_real", (value, Constant(factor, "real")), "real")
        micros = Apply("real_to_long", (Apply("round_whole", (micros,), "real"),), "long")
    elif unit == "nanosecond":
        whole = convert(value, "long", offset, name)
        micros = Apply("bin_whole", (whole, Constant(1_000, "long")), "long")
        micros = Apply("divide", (micros, Constant(1_000, "long")), "long")
    else:
        factor_whole = Constant(_LENGTHS[unit] // 1_000, "long")
        whole = convert(value, "long", offset, name)
        micros = Apply("multiply", (whole, factor_whole), "long")
    return Apply("micros_to_datetime", (micros,), "datetime", offset, name)


_SIGNS = frozenset(" -/:,._[]")


def _format_timespan(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2)
    value = convert(arguments[0].value, "timespan", arguments[0].offset, name)
    layout, pieces, position = constant_text(arguments[1]), list[Expression](), 0
    while position < len(layout):
        letter = layout[position]
        length = len(layout[position:]) - len(layout[position:].lstrip(letter))
        if letter in _SIGNS:
            length = 1
            pieces.append(Constant(letter, "string"))
        elif (piece := _span_piece(value, letter, length)) is not None:
            pieces.append(piece)
        else:
            hint = "formats are made of d, h, hh, m, mm, s, ss, f, F and signs between them"
            arguments[1].fail(f"{letter * length!r} is no part of a format", hint)
        position += length
    if not 0 < len(pieces) <= 64:
        arguments[1].fail("a format has 1 to 64 parts", "write 'd.hh:mm:ss'")
    shown = Apply("strcat", tuple(pieces), "string", offset, name)
    is_null = Apply("isnull", (value,), "bool", offset, name)
    return Choice(((is_null, Constant("", "string")),), shown, "string")


def _span_piece(value: Expression, letter: str, length: int) -> Expression | None:
    lower = letter.lower()
    most = {"d": 8, "h": 2, "m": 2, "s": 2, "f": 7}.get(lower, 0)
    if length > most or letter in "DMS":
        return None
    number = spans.part(value, lower)
    if lower != "f":
        return spans.padded(number, length)
    digits = spans.padded(number, 7)
    cut = Apply("slice", (digits, Constant(1, "long"), Constant(length, "long")), "string")
    if letter == "f":
        return cut
    zeros = (cut, Constant(r"0+\z", "string", "regex"), Constant("", "string", "rewrite"))
    return Apply("replace_regex", zeros, "string")


RULES: dict[str, Callable[[str, Arguments, int], Expression]] = {
    "startof": _start,
    "endof": _end,
    "datetime_add": _datetime_add,
    "datetime_part": _datetime_part,
    "make_datetime": _make_datetime,
    "make_timespan": _make_timespan,
    "unixtime": _unixtime,
    "format_timespan": _format_timespan,
}
