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
# Bytes of the name of an attribute: longer ones are not counted.
NAME_BYTES_MAX = 128
# Attributes that are kept while rows are counted: senders may have as many as they like.
_KEPT_MAX = 200


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

    def _add(self, signal: Signal, records: int, attributes: Mapping[str, AttributeCount]) -> None:
        self._records[signal] = self._records.get(signal, 0) + records
        for attribute, count in attributes.items():
            own = self._attributes.get((signal, attribute), AttributeCount())
            self._attributes[signal, attribute] = AttributeCount(
                *map(sum, zip(own, count, strict=True))
            )
        if len(self._attributes) > 2 * _KEPT_MAX:
            self._attributes = self._most(_KEPT_MAX)

    def _most(self, number: int) -> dict[tuple[Signal, str], AttributeCount]:
        ordered = sorted(self._attributes.items(), key=lambda item: (-item[1].records, item[0]))
        return dict(ordered[:number])


def _counted(lists: Array) -> dict[str, AttributeCount]:
    """Count the records by attribute; the most frequent ones alone.

    An attribute that a record has twice counts as one without values of a type.
    """
    entries = lists.flatten()
    if len(entries) == 0:
        return {}
    keys, values = field(entries, "key"), field(entries, "value")
    lengths = pc.binary_length(keys.dictionary)
    is_counted = pc.and_(pc.greater(lengths, 0), pc.less_equal(lengths, NAME_BYTES_MAX))
    places = pc.indices_nonzero(is_counted.take(keys.indices))
    codes = keys.indices.take(places)
    own, occurrences = _most_frequent(codes)
    rows = pc.list_parent_indices(lists).take(places)
    records = _counts_of(_codes_by_row(codes, rows, len(keys.dictionary)), own)
    of_types = [
        _counts_of(codes.filter(pc.is_valid(field(values, member).take(places))), own)
        for member in ("string_value", "int_value")
    ]
    names = keys.dictionary.take(own).to_pylist()
    return {
        name: AttributeCount(number, *(of_type if number == occurring else (0, 0)))
        for name, number, occurring, *of_type in zip(
            names, records, occurrences, *of_types, strict=True
        )
    }


def _most_frequent(codes: Array) -> tuple[Array, Sequence[int]]:
    counts = pc.value_counts(codes)
    values, numbers = counts.field("values"), counts.field("counts")
    if len(values) > _KEPT_MAX:
        order = pc.array_sort_indices(numbers, order="descending").slice(0, _KEPT_MAX)
        values, numbers = values.take(order), numbers.take(order)
    return values, numbers.to_pylist()


def _codes_by_row(codes: Array, rows: Array, number: int) -> Array:
    """Return the codes, each once a row; all are below a number."""
    divisor = make.scalar(number, pa.int64())
    pairs = pc.unique(pc.add(pc.multiply(rows.cast(pa.int64()), divisor), codes))
    return pc.subtract(pairs, pc.multiply(pc.divide(pairs, divisor), divisor)).cast(pa.int32())


def _counts_of(codes: Array, counted: Array) -> list[int]:
    """Count how often each of some codes occurs among others."""
    counts = pc.value_counts(codes)
    places = pc.index_in(counted, value_set=counts.field("values"))
    return pc.coalesce(counts.field("counts").take(places), make.scalar(0, pa.int64())).to_pylist()
