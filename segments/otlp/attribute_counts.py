"""Counts of records by the attributes that they have, for the choice of automatic columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from segments.otlp.arrow import Array, field, make, pc
from segments.signals import SIGNALS, Signal

# Attributes that a registration names.
ATTRIBUTES_MAX = 100
# Attributes of one piece of rows that are looked at: senders may have as many as they like.
_PIECE_MAX = 1_000


class AttributeCount(NamedTuple):
    """Records with an attribute, and how many of the values are text and whole numbers."""

    records: int = 0
    strings: int = 0
    longs: int = 0


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

    def add(self, signal: Signal, lists: Array) -> None:
        """Count rows of one signal; `lists` are their attributes, as KeyValue."""
        self._add(signal, len(lists), _counted(lists))

    def add_counts(self, counts: Iterable[SignalCounts]) -> None:
        """Add sums of other rows."""
        for own in counts:
            self._add(own.signal, own.records, own.attributes)

    def most_frequent(self) -> tuple[SignalCounts, ...]:
        """The sums of each signal with the attributes that most records have, of all signals."""
        order = sorted(self._attributes.items(), key=lambda item: (-item[1].records, item[0]))
        kept = dict(order[:ATTRIBUTES_MAX])
        return tuple(
            SignalCounts(
                signal,
                self._records[signal],
                {attribute: own for (of, attribute), own in kept.items() if of == signal},
            )
            for signal in SIGNALS
            if signal in self._records
        )

    def _add(self, signal: Signal, records: int, attributes: Mapping[str, AttributeCount]) -> None:
        self._records[signal] = self._records.get(signal, 0) + records
        for attribute, count in attributes.items():
            own = self._attributes.get((signal, attribute), AttributeCount())
            self._attributes[signal, attribute] = AttributeCount(
                *map(sum, zip(own, count, strict=True))
            )


def _counted(lists: Array) -> dict[str, AttributeCount]:
    """Count the entries of some rows by attribute; the most frequent ones alone."""
    entries = lists.flatten()
    if len(entries) == 0:
        return {}
    keys, values = field(entries, "key"), field(entries, "value")
    codes, records = _most_frequent(keys.indices)
    of_type = [
        _counts_of(keys.indices.filter(pc.is_valid(field(values, member))), codes)
        for member in ("string_value", "int_value")
    ]
    names = keys.dictionary.take(codes).to_pylist()
    counts = zip(records, *of_type, strict=True)
    return {name: AttributeCount(*own) for name, own in zip(names, counts, strict=True) if name}


def _most_frequent(codes: Array) -> tuple[Array, Sequence[int]]:
    counts = pc.value_counts(codes)
    values, numbers = counts.field("values"), counts.field("counts")
    if len(values) > _PIECE_MAX:
        order = pc.array_sort_indices(numbers, order="descending").slice(0, _PIECE_MAX)
        values, numbers = values.take(order), numbers.take(order)
    return values, numbers.to_pylist()


def _counts_of(codes: Array, counted: Array) -> list[int]:
    """Count how often each of some codes occurs among others."""
    counts = pc.value_counts(codes)
    places = pc.index_in(counted, value_set=counts.field("values"))
    return pc.coalesce(counts.field("counts").take(places), make.scalar(0, pa.int64())).to_pylist()
