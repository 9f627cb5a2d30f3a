"""Counts of decoded rows by their attributes, for the choice of automatic columns."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from segments.attribute_counts import KEPT_MAX, NAME_BYTES_MAX, AttributeCount, SignalCounts
from segments.otlp.arrow import Array, field, make, pc
from segments.signals import Signal


def count_attributes(signal: Signal, lists: Array) -> SignalCounts:
    """Count rows by attribute, the most frequent ones alone; `lists` are their KeyValue.

    An attribute that a record has twice counts as one without values of a type.
    """
    entries = lists.flatten()
    if len(entries) == 0:
        return SignalCounts(signal, len(lists), {})
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
    attributes = {
        name: AttributeCount(number, *(of_type if number == occurring else (0, 0)))
        for name, number, occurring, *of_type in zip(
            names, records, occurrences, *of_types, strict=True
        )
    }
    return SignalCounts(signal, len(lists), attributes)


def _most_frequent(codes: Array) -> tuple[Array, Sequence[int]]:
    counts = pc.value_counts(codes)
    values, numbers = counts.field("values"), counts.field("counts")
    if len(values) > KEPT_MAX:
        order = pc.array_sort_indices(numbers, order="descending").slice(0, KEPT_MAX)
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
