"""Parts of dates, which are made of the patterns of others."""

from collections.abc import Callable

from kql.typed import Apply, Constant, Expression
from kql.types import DAY_NANOS

_HOUR_MICROS = 3_600 * 10**6
_DAY_MICROS = DAY_NANOS // 1_000


def part_of_date(name: str, time: Expression, offset: int) -> Expression:
    """Return a part of a time: an int, or for dayofweek the timespan since Sunday."""
    value = _PARTS[name](time)
    if name == "dayofweek":
        nanos = Constant(DAY_NANOS, "timespan")
        return Apply("multiply", (nanos, value), "timespan", offset, name)
    return Apply("long_to_int", (value,), "int", offset, name)


def _call(template: str, left: Expression, right: Expression) -> Expression:
    return Apply(template, (left, right), "long")


def _whole(number: int) -> Constant:
    return Constant(number, "long")


def _units(time: Expression, micros: int) -> Expression:
    """Return how many hours or days lie between the year 1 and a time."""
    return _call("unit_number", time, _whole(micros))


def _day_within(start: str) -> Callable[[Expression], Expression]:
    def day(time: Expression) -> Expression:
        first = Apply(start, (time,), "datetime")
        days = _call("subtract", _units(time, _DAY_MICROS), _units(first, _DAY_MICROS))
        return _call("add", days, _whole(1))

    return day


def _month(time: Expression) -> Expression:
    # Months are counted as 12 a year and the month's number.
    before = _call("subtract", Apply("month_number", (time,), "long"), _whole(1))
    return _call("add", _call("remainder", before, _whole(12)), _whole(1))


_PARTS: dict[str, Callable[[Expression], Expression]] = {
    "hourofday": lambda time: _call("remainder", _units(time, _HOUR_MICROS), _whole(24)),
    "dayofmonth": _day_within("startofmonth"),
    "dayofyear": _day_within("startofyear"),
    # The first day of the year 1 is a Monday.
    "dayofweek": lambda time: _call(
        "remainder", _call("add", _units(time, _DAY_MICROS), _whole(1)), _whole(7)
    ),
    "monthofyear": _month,
    "getyear": lambda time: Apply("year_number", (time,), "long"),
}
