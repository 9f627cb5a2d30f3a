"""Rules over times: starts and ends of days and months, parts, moved times, timespans as texts."""

from collections.abc import Callable

from kql.errors import KqlError, suggestion
from kql.functions import composed, spans
from kql.functions.arguments import Arguments, CheckedCall, constant_text, time, whole_number
from kql.functions.arithmetic import convert
from kql.scope import Argument
from kql.typed import Apply, Choice, Constant, Expression, Logic
from kql.types import DAY_NANOS, NUMBERS

_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_LENGTHS = {
    "week": 7 * DAY_NANOS, "day": DAY_NANOS, "hour": 3_600 * 10**9, "minute": 60 * 10**9,
    "second": 10**9, "millisecond": 10**6, "microsecond": 10**3, "nanosecond": 1,
}  # fmt: skip


def moved(part: str, count: Expression, time: Expression, offset: int, name: str) -> Expression:
    """Return a time that many parts later."""
    if part in _MONTHS:
        months = Apply("multiply", (count, Constant(_MONTHS[part], "long")), "long", offset, name)
        return Apply("add_months", (time, months), "datetime", offset, name)
    span = Apply("multiply", (Constant(_LENGTHS[part], "timespan"), count), "timespan")
    return Apply("add_datetime", (time, span), "datetime", offset, name)


def _start(call: CheckedCall) -> Expression:
    start = call.apply(call.name, "datetime", call.arguments[0].value)
    if len(call.arguments) == 1:
        return start
    part = call.name.removeprefix("startof")
    return moved(part, call.arguments[1].value, start, call.offset, call.name)


def _end(call: CheckedCall) -> Expression:
    part = call.name.removeprefix("endof")
    count: Expression = Constant(1, "long")
    if len(call.arguments) == 2:
        count = call.apply("add", "long", call.arguments[1].value, count)
    start = call.apply(f"startof{part}", "datetime", call.arguments[0].value)
    microsecond = Constant(1_000, "timespan")
    if part in _LENGTHS:
        # The last day and week of the year 9999 have an end, but no next one.
        length = Apply("multiply", (Constant(_LENGTHS[part], "timespan"), count), "timespan")
        span = Apply("subtract", (length, microsecond), "timespan")
        return call.apply("add_datetime", "datetime", start, span)
    following = moved(part, count, start, call.offset, call.name)
    return call.apply("subtract_datetime", "datetime", following, microsecond)


def _datetime_add(call: CheckedCall) -> Expression:
    part = _part(call.arguments[0], (*_MONTHS, *_LENGTHS))
    return moved(part, call.arguments[1].value, call.arguments[2].value, call.offset, call.name)


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


def _datetime_part(call: CheckedCall) -> Expression:
    part, time = _part(call.arguments[0], _PARTS), call.arguments[1].value
    if part in _NAMED:
        return composed.part_of_date(_NAMED[part], time, call.offset)
    if part == "week_of_year":
        return call.apply("week_of_year", "int", time)
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
    return call.apply("long_to_int", "int", number)


def _month(time: Expression) -> Expression:
    return Apply("to_long", (composed.part_of_date("monthofyear", time, 0),), "long")


def _units(time: Expression, micros: int) -> Expression:
    return Apply("unit_number", (time, Constant(micros, "long")), "long")


def _remainder(value: Expression, divisor: int) -> Expression:
    return Apply("remainder", (value, Constant(divisor, "long")), "long")


def _make_datetime(call: CheckedCall) -> Expression:
    if len(call.arguments) not in (1, 3, 5, 6):
        raise KqlError(
            call.offset, f"{call.name} has {len(call.arguments)} arguments",
            "write make_datetime(year, month, day), with hour and minute, and with second",
        )  # fmt: skip
    if len(call.arguments) == 1:
        return time(call.name, call.arguments[0])
    year, month, day = (whole_number(call.name, a) for a in call.arguments[:3])
    dash = Constant("-", "string")
    pieces = (spans.padded(year, 4), dash, spans.padded(month, 2), dash, spans.padded(day, 2))
    date = convert(Apply("strcat", pieces, "string"), "datetime", call.offset, call.name)
    if len(call.arguments) == 3:
        return date
    clock = _clock(call.name, call.arguments[3:])
    return call.apply("add_datetime", "datetime", date, clock)


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
    """Return a number of units in ticks, rounded: 55.123 seconds are not a fraction of a tick."""
    product = Apply("multiply_real", (value, Constant(float(ticks), "real")), "real")
    return Apply("round_whole", (product,), "real")


def _make_timespan(call: CheckedCall) -> Expression:
    if len(call.arguments) == 1:
        return convert(call.arguments[0].value, "timespan", call.arguments[0].offset, call.name)
    if len(call.arguments) < 4:
        return _clock(call.name, call.arguments)
    days = Apply(
        "multiply",
        (Constant(DAY_NANOS, "timespan"), whole_number(call.name, call.arguments[0])),
        "timespan",
    )
    return call.apply("add", "timespan", days, _clock(call.name, call.arguments[1:]))


def _unixtime(call: CheckedCall) -> Expression:
    argument = call.arguments[0]
    unit = call.name.split("_")[1].removesuffix("s")
    value = argument.value
    if value.type not in NUMBERS:
        argument.fail(f"a number is needed, this is {value.type}", "use tolong()")
    micros: Expression
    if value.type == "real":
        factor = _LENGTHS[unit] / 1_000
        micros = Apply("multiply_real", (value, Constant(factor, "real")), "real")
        micros = Apply("real_to_long", (Apply("round_whole", (micros,), "real"),), "long")
    elif unit == "nanosecond":
        whole = convert(value, "long", call.offset, call.name)
        micros = Apply("bin_whole", (whole, Constant(1_000, "long")), "long")
        micros = Apply("divide", (micros, Constant(1_000, "long")), "long")
    else:
        factor_whole = Constant(_LENGTHS[unit] // 1_000, "long")
        whole = convert(value, "long", call.offset, call.name)
        micros = Apply("multiply", (whole, factor_whole), "long")
    return call.apply("micros_to_datetime", "datetime", micros)


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


def _laid_out(
    call: CheckedCall,
    piece_at: Callable[[str, int], tuple[str, Expression | None]],
    hint: str,
    example: str,
) -> Expression:
    """Return a value by a layout: what `piece_at` reads at a place of it, and signs between."""
    layout, pieces, position = constant_text(call.arguments[1]), list[Expression](), 0
    while position < len(layout):
        written, piece = piece_at(layout, position)
        if piece is None:
            hints = f"formats are made of {hint} and signs between them"
            call.arguments[1].fail(f"{written!r} is not part of a format", hints)
        pieces.append(piece)
        position += len(written)
    if not 0 < len(pieces) <= 64:
        call.arguments[1].fail("a format has 1 to 64 parts", f"write {example!r}")
    shown = call.apply("strcat", "string", *pieces)
    is_null = call.apply("isnull", "bool", call.arguments[0].value)
    return Choice(((is_null, Constant("", "string")),), shown, "string")


def _format_datetime(call: CheckedCall) -> Expression:
    time = call.arguments[0].value
    whole = convert(time, "string", call.offset, call.name)

    def piece_at(layout: str, position: int) -> tuple[str, Expression | None]:
        sign = layout[position]
        piece = next((p for p in _PIECES if layout.startswith(p, position)), "")
        if piece:
            return piece, _formatted(piece, whole, time)
        return sign, Constant(sign, "string") if sign in _FORMAT_SIGNS else None

    return _laid_out(call, piece_at, ", ".join(_PIECES), "yyyy-MM-dd HH:mm:ss")


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


def _format_timespan(call: CheckedCall) -> Expression:
    def piece_at(layout: str, position: int) -> tuple[str, Expression | None]:
        letter = layout[position]
        if letter in _SIGNS:
            return letter, Constant(letter, "string")
        length = len(layout[position:]) - len(layout[position:].lstrip(letter))
        return letter * length, _span_piece(call.arguments[0].value, letter, length)

    return _laid_out(call, piece_at, "d, h, hh, m, mm, s, ss, f, F", "d.hh:mm:ss")


_SIGNS = frozenset(" -/:,._[]")


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


RULES: dict[str, Callable[[CheckedCall], Expression]] = {
    "startof": _start,
    "endof": _end,
    "datetime_add": _datetime_add,
    "datetime_part": _datetime_part,
    "make_datetime": _make_datetime,
    "make_timespan": _make_timespan,
    "unixtime": _unixtime,
    "format_datetime": _format_datetime,
    "format_timespan": _format_timespan,
}
