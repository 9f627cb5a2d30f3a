"""Time bounds of a query's reads: conservative, so that leaving out the rest changes nothing."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from segplane.kql.typed import (
    Aggregate,
    Among,
    Apply,
    ColumnValue,
    Constant,
    ConstantRows,
    Distinct,
    Expand,
    Expression,
    Join,
    Limit,
    Logic,
    Numbered,
    Relation,
    RowFilter,
    Scan,
    Select,
    Union,
)


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
class _Read:
    table: str
    interval: Interval


def time_bounds(
    relation: Relation, time_column: str, needed: Intervals | None = None
) -> dict[str, Interval]:
    """Return, for each table that is read, the times outside which no row matters.

    `needed` are times of the relation's own columns, outside of which none of its rows matters.
    """
    bounds: dict[str, Interval] = {}
    for read in _reads(relation, needed or {}, time_column):
        known = bounds.get(read.table)
        bounds[read.table] = read.interval if known is None else known.hull(read.interval)
    return bounds


def _reads(relation: Relation, needed: Intervals, time_column: str) -> Iterator[_Read]:
    """Yield the reads below a relation, of which only rows within `needed` matter."""
    if isinstance(relation, Scan):
        yield _Read(relation.table.name, needed.get(time_column, ANY))
        return
    for below, passed in _passed(relation, needed):
        yield from _reads(below, passed, time_column)


def _passed(relation: Relation, needed: Intervals) -> list[tuple[Relation, Intervals]]:
    """Return the inputs of a relation, each with the intervals that hold for it as well."""
    match relation:
        case Union():
            return [(each, needed) for each in relation.inputs]
        case Join():
            return _joined(relation, needed)
        case Scan() | ConstantRows():
            return []
        case _:
            return [(relation.input, _below(relation, needed))]


def _below(
    relation: RowFilter | Select | Numbered | Aggregate | Distinct | Limit | Expand,
    needed: Intervals,
) -> Intervals:
    match relation:
        case RowFilter():
            return _met(needed, intervals(relation.condition))
        case Numbered() | Select(is_windowed=True):
            # Rows outside of a bound count as well.
            return {}
        case Select():
            return _renamed(needed, relation.values)
        case Aggregate():
            return _renamed(needed, relation.by)
        case Distinct():
            # With keys, some row of each is kept: a bound would change which.
            return {n: i for n, i in needed.items() if not relation.on or n in relation.on}
        case Limit():
            return needed if relation.count is None else {}
        case Expand():
            return {n: i for n, i in needed.items() if n != relation.name}


def _joined(join: Join, needed: Intervals) -> list[tuple[Relation, Intervals]]:
    """Pass bounds to the sides whose rows stand for themselves: not to one filled with nulls."""
    sides = {"left": dict[str, Interval](), "right": dict[str, Interval]()}
    for name, interval in needed.items():
        side, column = join.outputs[name]
        sides[side][column] = interval
    left = sides["left"] if join.kind not in ("rightouter", "fullouter") else {}
    right = sides["right"] if join.kind in ("inner", "rightouter") else {}
    return [(join.left, left), (join.right, right)]


def _renamed(needed: Intervals, values: Mapping[str, Expression]) -> Intervals:
    passed: dict[str, Interval] = {}
    for name, interval in needed.items():
        value = values.get(name)
        if isinstance(value, ColumnValue):
            passed[value.name] = passed.get(value.name, ANY).meet(interval)
    return passed


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
            first, *rest = (intervals(part) for part in condition.parts)
            for other in rest:
                first = {n: i.hull(other[n]) for n, i in first.items() if n in other}
            return first
        case Among(value=ColumnValue(name=name, type="datetime")):
            times = [o.value for o in condition.options if isinstance(o, Constant)]
            known = [t for t in times if isinstance(t, int)]
            return {name: Interval(min(known), max(known))} if known else {}
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
    known = [value for value in (left, right) if value is not None]
    return choose(known) if known else None
