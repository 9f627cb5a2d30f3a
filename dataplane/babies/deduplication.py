"""Removes duplicates from decoded log records, and keeps the keys of the others."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, cast

import pyarrow as pa

from segments.deduplication import HASH_BYTES, Deduplication
from segments.otlp.arrow import Array

# A baby by stream id and offset.
BabyId = tuple[str, int]


class TooManyEvents(Exception):
    """A dataset has more events in a task than one registration may claim."""


def hashes_of(values: pa.Array[Any] | pa.ChunkedArray[Any]) -> list[bytes | None]:
    """Hash the deduplication keys in a column; null is none."""
    digest_of = partial(blake2b, digest_size=HASH_BYTES)
    texts = values.cast(pa.string()).cast(pa.binary()).to_pylist()
    return [None if text is None else digest_of(text).digest() for text in texts]


class SeenEvents:
    """Keys of the log records of one dataset that were decoded so far, each with its place.

    Rows come in the order of their babies, so of equal deduplication keys the first one is the
    lowest by stream, offset and place. `duplicates` are those that were skipped, `without` have no
    deduplication key.
    """

    def __init__(self, deduplication: Deduplication, claimed: Collection[bytes] = ()) -> None:
        """Skip `claimed` events from the beginning: they are rows already."""
        self.deduplication = deduplication
        self._claimed = claimed
        self.duplicates = 0
        self.without = 0
        self.days = array("i")
        # For each deduplication key, the place of its baby among `baby_ids`.
        self.babies = array("i")
        self._hashes: dict[bytes, None] = {}
        self._baby_places: dict[BabyId, int] = {}

    def __len__(self) -> int:
        return len(self._hashes)

    @property
    def hashes(self) -> bytes:
        """The deduplication keys, HASH_BYTES each."""
        return b"".join(self._hashes)

    @property
    def baby_ids(self) -> tuple[BabyId, ...]:
        """The babies that hold events."""
        return tuple(self._baby_places)

    def distinct(
        self, rows: pa.RecordBatch, payloads: Array, babies: Sequence[BabyId]
    ) -> pa.RecordBatch:
        """Return the rows whose events were not seen; `payloads` names each row's in `babies`."""
        hashes = hashes_of(rows.column(self.deduplication.column))
        events, event_payloads = rows, cast("Any", payloads)
        first: dict[Any, None] = dict.fromkeys(hashes)
        if not self._are_new(first, len(hashes)):
            mask, first = self._first(hashes)
            is_event: Any = pa.array(
                [m and h is not None for m, h in zip(mask, hashes, strict=True)]
            )
            events, event_payloads = rows.filter(is_event), event_payloads.filter(is_event)
            rows = rows if all(mask) else rows.filter(pa.array(mask, pa.bool_()))
        self._hashes |= first
        self.days += _days(events.column("timestamp"))
        self.babies += self._places(event_payloads, babies)
        return rows

    def _are_new(self, first: dict[Any, None], number: int) -> bool:
        """Whether so many hashes are all different, and none was seen or claimed."""
        return (
            len(first) == number
            and None not in first
            and self._hashes.keys().isdisjoint(first)
            and not any(digest in self._claimed for digest in (first if self._claimed else ()))
        )

    def _first(self, hashes: Sequence[bytes | None]) -> tuple[list[bool], dict[Any, None]]:
        """Mark the rows that stay, and name their deduplication keys; counts the others."""
        mask, first = [True] * len(hashes), dict[Any, None]()
        for index, digest in enumerate(hashes):
            if digest is None:
                self.without += 1
            elif digest in first or digest in self._hashes or digest in self._claimed:
                mask[index] = False
                self.duplicates += 1
            else:
                first[digest] = None
        return mask, first

    def _places(self, payloads: Any, babies: Sequence[BabyId]) -> array[int]:
        """The place of each event's baby."""
        of_payloads = [0] * len(babies)
        for payload in payloads.unique().to_pylist():
            baby = babies[payload]
            of_payloads[payload] = self._baby_places.setdefault(baby, len(self._baby_places))
        return ints_of(pa.array(of_payloads, pa.int32()).take(payloads))


def _days(times: pa.Array[Any]) -> array[int]:
    """The UTC day since 1970 of each time, as `segments.parquet.lineage.day_of` gives it."""
    return ints_of(times.cast(pa.timestamp("ns")).cast(pa.date32()).cast(pa.int32()))


def ints_of(values: pa.Array[Any]) -> array[int]:
    """Copy an array of 32 bits, without nulls."""
    numbers = array("i")
    data = values.buffers()[1]
    if data is not None and len(values):
        start = numbers.itemsize * values.offset
        numbers.frombytes(memoryview(data)[start : start + numbers.itemsize * len(values)])
    return numbers
