"""Choice of the attributes of a dataset that become automatic columns. Pure.

Records are counted by period, signal and attribute; a period is named by its first hour, counted
from 1970. An attribute that enough records of a signal had for a day becomes a column, and one that
few had for a week is none any more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

PERIOD_HOURS = 6
DAY_HOURS = 24
WEEK_HOURS = 7 * DAY_HOURS
# Older counts are forgotten. Those beyond a week tell that the dataset has been counted for one.
KEPT_HOURS = 2 * WEEK_HOURS
# Of the records of one signal.
CHOSEN_SHARE_MIN = 0.10
KEPT_SHARE_MIN = 0.02
# Of the records with the attribute: a file with a single value of another type uses no column.
TYPE_SHARE_MIN = 0.99
CHOSEN_MAX = 32
# Attributes of a signal and period that are remembered.
ATTRIBUTES_MAX = 300

# An attribute and a type, "string" or "long".
Column: TypeAlias = tuple[str, str]
_TYPES = ("string", "long")


class AttributeSum(NamedTuple):
    """Records with an attribute, and how many of the values are text and whole numbers."""

    records: int
    strings: int
    longs: int

    def of_type(self, kql_type: str) -> int:
        """Records whose value is of a type."""
        return self.strings if kql_type == "string" else self.longs


_NONE = AttributeSum(0, 0, 0)


@dataclass(slots=True)
class SignalSums:
    """Records of a signal, and those with each attribute."""

    records: int = 0
    attributes: dict[str, AttributeSum] = field(default_factory=dict)

    def add(self, other: SignalSums) -> None:
        """Add other counts of the signal."""
        self.records += other.records
        for attribute, count in other.attributes.items():
            own = self.attributes.get(attribute, _NONE)
            self.attributes[attribute] = AttributeSum(*map(sum, zip(own, count, strict=True)))

    def share(self, column: Column) -> float:
        """The part of the records that has a value of the column."""
        attribute, kql_type = column
        count = self.attributes.get(attribute, _NONE).of_type(kql_type)
        return count / self.records if self.records else 0.0

    def cut(self) -> None:
        """Forget all but the most frequent attributes."""
        if len(self.attributes) > ATTRIBUTES_MAX:
            ordered = sorted(self.attributes.items(), key=lambda item: (-item[1].records, item[0]))
            self.attributes = dict(ordered[:ATTRIBUTES_MAX])


# By signal.
Sums: TypeAlias = dict[int, SignalSums]


def period_of(hour: int) -> int:
    """The period that an hour belongs to."""
    return hour - hour % PERIOD_HOURS


def add(sums: Sums, counts: Sums) -> None:
    """Add counts to sums."""
    for signal, own in counts.items():
        sums.setdefault(signal, SignalSums()).add(own)


def choose(
    periods: Mapping[int, Sums], hour: int, chosen: Sequence[Column], listed: Collection[str]
) -> tuple[Column, ...]:
    """Return the columns from now on: those of `chosen` that stay, then others by their share.

    `hour` is that of now. Attributes that people `listed` are left to them.
    """
    day_start, week_start = (period_of(hour) - length for length in (DAY_HOURS, WEEK_HOURS))
    counted_since = min(periods, default=hour)
    day, week = _sum(periods, day_start), _sum(periods, week_start)
    is_week_over = counted_since < week_start and any(own.records for own in week.values())
    kept = [
        column
        for column in chosen
        if column[0] not in listed and not (is_week_over and _share(week, column) < KEPT_SHARE_MIN)
    ]
    if counted_since >= day_start:
        return tuple(kept[:CHOSEN_MAX])
    taken = {attribute for attribute, _ in kept}.union(listed)
    shares = {
        column: _share(day, column)
        for attribute in sorted({a for own in day.values() for a in own.attributes} - taken)
        for column in [(attribute, kql_type) for kql_type in _TYPES]
        if _is_of_type(day, column)
    }
    frequent = sorted(
        (column for column, share in shares.items() if share >= CHOSEN_SHARE_MIN),
        key=lambda column: (-shares[column], column),
    )
    return tuple([*kept, *frequent][:CHOSEN_MAX])


def _sum(periods: Mapping[int, Sums], since: int) -> Sums:
    sums: Sums = {}
    for period, counts in periods.items():
        if period >= since:
            add(sums, counts)
    return sums


def _share(sums: Sums, column: Column) -> float:
    return max((own.share(column) for own in sums.values()), default=0.0)


def _is_of_type(sums: Sums, column: Column) -> bool:
    """Whether nearly all values of the attribute, in any signal, are of the column's type."""
    attribute, kql_type = column
    own = [of_signal.attributes.get(attribute, _NONE) for of_signal in sums.values()]
    exact = sum(count.of_type(kql_type) for count in own)
    return exact >= TYPE_SHARE_MIN * sum(count.records for count in own)
