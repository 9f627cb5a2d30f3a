"""Time bounds of a query's reads: conservative, so that skipping the rest changes nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kql.pushdown.passing import reads
from kql.typed import Among, Apply, ColumnValue, Constant, Expression, Logic, Relation


class Interval(NamedTuple):
    """Microseconds since 1970, both ends included; None = no bound."""

    low: int | None = None
    high: int | None = None

    def meet(self, other: "Interval") -> "Interval":
        """Return the part that both have."""
        return Interval(_of(max, self.low, other.low), _of(min, self.high, other.high))

    def hull(self, other: "Interval") -> "Interval":
        """Return the least interval with both."""
        low = None if None in (self.low, other.low) else _of(min, self.low, other.low)
        high = None if None in (self.high, other.high) else _of(max, self.high, other.high)
        return Interval(low, high)


ANY = Interval()
Intervals = Mapping[str, Interval]


@dataclass(frozen=True, slots=True)
class _Times:
    """Times of columns, outside of which no row matters."""

    intervals: Intervals

    def filtered(self, condition: Expression) -> "_Times":
        return _Times(_met(self.intervals, intervals(condition)))

    def renamed(self, values: Mapping[str, Expression]) -> "_Times":
        passed: dict[str, Interval] = {}
        for name, interval in self.intervals.items():
            value = values.get(name)
            if isinstance(value, ColumnValue):
                passed[value.name] = passed.get(value.name, ANY).meet(interval)
        return _Times(passed)


def time_bounds(
    relation: Relation, time_column: str, needed: Intervals | None = None
) -> dict[str, Interval]:
    """Return, for each table that is read, the times outside which no row matters.

    `needed` are times of the relation's own columns, outside of which none of its rows matters.
    """
    bounds: dict[str, Interval] = {}
    for table, times in reads(relation, _Times(needed or {})):
        interval = times.intervals.get(time_column, ANY)
        table_bounds = bounds.get(table.name)
        bounds[table.name] = interval if table_bounds is None else table_bounds.hull(interval)
    return bounds


def _met(left: Intervals, right: Intervals) -> Intervals:
    names = {*left, *right}
    return {name: left.get(name, ANY).meet(right.get(name, ANY)) for name in names}


def intervals(condition: Expression) -> Intervals:
    """Return the times of each column for which a condition can be true."""
    match condition:
        case Logic(operator="and"):
            bounds: Intervals = {}
            for part in condition.parts:
                bounds = _met(bounds, intervals(part))
            return bounds
        case Logic(operator="or"):
            first, *others = (intervals(part) for part in condition.parts)
            for other in others:
                first = {n: i.hull(other[n]) for n, i in first.items() if n in other}
            return first
        case Among(value=ColumnValue(name=name, type="datetime")):
            times = [o.value for o in condition.options if isinstance(o, Constant)]
            whole_times = [t for t in times if isinstance(t, int)]
            return {name: Interval(min(whole_times), max(whole_times))} if whole_times else {}
        case Apply(arguments=(left, right)):
            return _compared(condition.template, left, right)
        case _:
            return {}


def _compared(template: str, left: Expression, right: Expression) -> Intervals:
    if isinstance(left, Constant) and isinstance(right, ColumnValue):
        left, right, template = right, left, _TURNED.get(template, template)
    if (
        not isinstance(left, ColumnValue)
        or left.type != "datetime"
        or not isinstance(right, Constant)
    ):
        return {}
    time = right.value
    if not isinstance(time, int):
        return {}
    interval = {
        "eq": Interval(time, time),
        "gt": Interval(time + 1, None),
        "ge": Interval(time, None),
        "lt": Interval(None, time - 1),
        "le": Interval(None, time),
    }.get(template)
    return {} if interval is None else {left.name: interval}


_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _of(choose: Callable[[list[int]], int], left: int | None, right: int | None) -> int | None:
    """Return the one that is known, or the choice of two."""
    values = [value for value in (left, right) if value is not None]
    return choose(values) if values else None
