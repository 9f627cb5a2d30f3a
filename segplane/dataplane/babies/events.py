"""Leaves repeats of an event out of decoded log records, and keeps the identities of the others."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from hashlib import blake2b
from typing import Any, cast

import pyarrow as pa

from segments.event_identity import HASH_BYTES, EventIdentity
from segments.otlp.arrow import Array
from segments.parquet.lineage import day_of

# A baby by stream id and offset.
BabyId = tuple[str, int]


class TooManyEvents(Exception):
    """A dataset has more events in a task than one registration may claim."""


def hashes_of(values: pa.Array[Any] | pa.ChunkedArray[Any]) -> list[bytes | None]:
    """Hash the identities in a column; null is none."""
    texts = values.cast(pa.string()).to_pylist()
    return [
        None if text is None else blake2b(text.encode(), digest_size=HASH_BYTES).digest()
        for text in texts
    ]


class SeenEvents:
    """Identities of the log records of one dataset that were decoded so far, each with its place.

    Rows come in the order of their babies, so of equal identities the first one is the lowest by
    stream, offset and place. `repeats` are those that were left out, `without` have no identity.
    """

    def __init__(self, identity: EventIdentity, claimed: Collection[bytes] = ()) -> None:
        """Leave `claimed` events out from the beginning: they are rows already."""
        self.identity = identity
        self._claimed = claimed
        self.repeats = 0
        self.without = 0
        self.days = array("i")
        # For each identity, the place of its baby among `baby_ids`.
        self.babies = array("i")
        self._hashes: dict[bytes, None] = {}
        self._baby_places: dict[BabyId, int] = {}

    def __len__(self) -> int:
        return len(self._hashes)

    @property
    def hashes(self) -> bytes:
        """The identities, HASH_BYTES each."""
        return b"".join(self._hashes)

    @property
    def baby_ids(self) -> tuple[BabyId, ...]:
        """The babies that hold events."""
        return tuple(self._baby_places)

    def distinct(
        self, rows: pa.RecordBatch, payloads: Array, babies: Sequence[BabyId]
    ) -> pa.RecordBatch:
        """Return the rows whose events were not seen; `payloads` names each row's in `babies`."""
        hashes = hashes_of(rows.column(self.identity.column))
        times: list[int] = cast("Any", rows.column("timestamp").cast(pa.int64())).to_pylist()
        mask = [True] * rows.num_rows
        for place, (digest, time, payload) in enumerate(
            zip(hashes, times, payloads.to_pylist(), strict=True)
        ):
            if digest is None:
                self.without += 1
            elif digest in self._hashes or digest in self._claimed:
                mask[place] = False
                self.repeats += 1
            else:
                self._hashes[digest] = None
                self.days.append(day_of(time))
                baby = babies[payload]
                self.babies.append(self._baby_places.setdefault(baby, len(self._baby_places)))
        return rows if all(mask) else rows.filter(pa.array(mask, pa.bool_()))
