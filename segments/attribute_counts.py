"""Counts of records by the attributes that they have. This module is imported without Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from segments.signals import SIGNALS, Signal

# Attributes that a registration names.
ATTRIBUTES_MAX = 100
# Bytes of the name of an attribute: longer ones are not counted.
NAME_BYTES_MAX = 128
# Attributes that are kept while rows are counted: senders may have as many as they like.
KEPT_MAX = 200


class AttributeCount(NamedTuple):
    """Records with an attribute, and how many of the values are text and whole numbers."""

    records: int = 0
    strings: int = 0
    longs: int = 0

    def plus(self, other: AttributeCount) -> AttributeCount:
        """The sum of two counts."""
        return AttributeCount(*map(sum, zip(self, other, strict=True)))

    def of_type(self, kql_type: str) -> int:
        """Records whose value is of a type, "string" or "long"."""
        return self.strings if kql_type == "string" else self.longs


NO_RECORDS = AttributeCount()


@dataclass(frozen=True, slots=True)
class SignalCounts:
    """Records of a signal, and those with each attribute."""

    signal: Signal
    records: int
    attributes: Mapping[str, AttributeCount]


class AttributeCounts:
    """Sums over the rows of a dataset."""

    def __init__(self) -> None:
        self._records: dict[Signal, int] = {}
        self._attributes: dict[tuple[Signal, str], AttributeCount] = {}

    def add(self, counts: SignalCounts) -> None:
        """Add counts of rows of one signal."""
        signal = counts.signal
        self._records[signal] = self._records.get(signal, 0) + counts.records
        for attribute, count in counts.attributes.items():
            own = self._attributes.get((signal, attribute), NO_RECORDS)
            self._attributes[signal, attribute] = own.plus(count)
        if len(self._attributes) > 2 * KEPT_MAX:
            self._attributes = self._most(KEPT_MAX)

    def most_frequent(self) -> tuple[SignalCounts, ...]:
        """The sums of each signal with the attributes that most records have, of all signals."""
        kept = self._most(ATTRIBUTES_MAX)
        return tuple(
            SignalCounts(
                signal,
                self._records[signal],
                {attribute: own for (of, attribute), own in kept.items() if of == signal},
            )
            for signal in SIGNALS
            if signal in self._records
        )

    def _most(self, number: int) -> dict[tuple[Signal, str], AttributeCount]:
        ordered = sorted(self._attributes.items(), key=lambda item: (-item[1].records, item[0]))
        return dict(ordered[:number])
