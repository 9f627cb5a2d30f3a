"""Choice of the attributes of a dataset that become automatic columns. Pure.

Records are counted by period, signal and attribute; a period is named by its first hour, counted
from 1970. An attribute that enough records of a signal had for a day becomes a column, and one that
few had for a week is none any more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from segments.attribute_counts import NO_RECORDS, AttributeCount

PERIOD_HOURS = 6
DAY_HOURS = 24
WEEK_HOURS = 7 * DAY_HOURS
# Older counts are forgotten. Those beyond a week tell that the dataset has been counted for one.
KEPT_HOURS = 2 * WEEK_HOURS
# Of the records of one signal.
CHOSEN_SHARE_MIN = 0.10
KEPT_SHARE_MIN = 0.02
# Of the records with the attribute: a file with a single value of another type uses no column.
CHOSEN_TYPE_SHARE_MIN = 0.99
KEPT_TYPE_SHARE_MIN = 0.90
# Fewer records of a signal tell nothing.
RECORDS_MIN = 1_000
CHOSEN_MAX = 32
# Attributes of a period that are remembered.
ATTRIBUTES_MAX = 200

# An attribute and a type, "string" or "long".
Column: TypeAlias = tuple[str, str]
_TYPES = ("string", "long")


@dataclass(slots=True)
class SignalSums:
    """Records of a signal, and those with each attribute."""

    records: int = 0
    attributes: dict[str, AttributeCount] = field(default_factory=dict)

    def add(self, other: SignalSums) -> None:
        """Add other counts of the signal."""
        self.records += other.records
        for attribute, count in other.attributes.items():
            own = self.attributes.get(attribute, NO_RECORDS)
            self.attributes[attribute] = own.plus(count)

    def share(self, column: Column) -> float:
        """The part of the records that has a value of the column; 0 if there are too few."""
        attribute, kql_type = column
        count = self.attributes.get(attribute, NO_RECORDS).of_type(kql_type)
        return count / self.records if self.records >= RECORDS_MIN else 0.0


# By signal.
Sums: TypeAlias = dict[int, SignalSums]


def period_of(hour: int) -> int:
    """The period that an hour belongs to."""
    return hour - hour % PERIOD_HOURS


def add(sums: Sums, counts: Sums) -> None:
    """Add counts to sums."""
    for signal, own in counts.items():
        sums.setdefault(signal, SignalSums()).add(own)


def cut(sums: Sums) -> None:
    """Forget all but the most frequent attributes of a period."""
    counts = [
        (count.records, signal, attribute)
        for signal, own in sums.items()
        for attribute, count in own.attributes.items()
    ]
    for _, signal, attribute in sorted(counts, reverse=True)[ATTRIBUTES_MAX:]:
        del sums[signal].attributes[attribute]


@dataclass(frozen=True, slots=True)
class CurrentColumns:
    """The columns of a dataset: those that meta chose, and the attributes that people listed.

    `numbered` are all that have a field id, and `new_max` the number of those that may get one.
    """

    chosen: Sequence[Column] = ()
    listed: Collection[str] = ()
    numbered: Collection[Column] = ()
    new_max: int = CHOSEN_MAX


def choose(periods: Mapping[int, Sums], hour: int, current: CurrentColumns) -> tuple[Column, ...]:
    """Return the columns from now on: the chosen ones that stay, then others by their share.

    `hour` is that of now. Attributes that people listed are left to them.
    """
    now = period_of(hour)
    periods = {period: sums for period, sums in periods.items() if period <= now}
    counted_since = min(periods, default=now)
    day, week = (_sum(periods, now - length) for length in (DAY_HOURS, WEEK_HOURS))
    is_week_over = counted_since < now - WEEK_HOURS
    is_week_over = is_week_over and any(own.records >= RECORDS_MIN for own in week.values())

    def is_useful(column: Column) -> bool:
        share = max(_share(day, column), _share(week, column))
        return share >= KEPT_SHARE_MIN and _is_of_type(week, column, KEPT_TYPE_SHARE_MIN)

    kept = [
        column
        for column in current.chosen
        if column[0] not in current.listed and (not is_week_over or is_useful(column))
    ][:CHOSEN_MAX]
    if counted_since >= now - DAY_HOURS:
        return tuple(kept)
    taken = {attribute for attribute, _ in kept}.union(current.listed)
    new_left = current.new_max
    for column in _frequent(day, taken):
        if len(kept) == CHOSEN_MAX:
            break
        if column not in current.numbered:
            if not new_left:
                continue
            new_left -= 1
        kept.append(column)
    return tuple(kept)


def _frequent(day: Sums, taken: Collection[str]) -> list[Column]:
    """The columns over attributes that are not taken, those that most records have first."""
    attributes = {attribute for own in day.values() for attribute in own.attributes}
    shares = {
        (attribute, kql_type): _share(day, (attribute, kql_type))
        for attribute in attributes.difference(taken)
        for kql_type in _TYPES
        if _is_of_type(day, (attribute, kql_type), CHOSEN_TYPE_SHARE_MIN)
    }
    return sorted(
        (column for column, share in shares.items() if share >= CHOSEN_SHARE_MIN),
        key=lambda column: (-shares[column], column),
    )


def _sum(periods: Mapping[int, Sums], since: int) -> Sums:
    sums: Sums = {}
    for period, counts in periods.items():
        if period >= since:
            add(sums, counts)
    return sums


def _share(sums: Sums, column: Column) -> float:
    return max((own.share(column) for own in sums.values()), default=0.0)


def _is_of_type(sums: Sums, column: Column, share_min: float) -> bool:
    """Whether so many values of the attribute, in any signal, are of the column's type."""
    attribute, kql_type = column
    own = [of_signal.attributes.get(attribute, NO_RECORDS) for of_signal in sums.values()]
    exact = sum(count.of_type(kql_type) for count in own)
    return exact >= share_min * sum(count.records for count in own)
