"""Reads a task's baby segments: fetched ahead, decoded in order."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Protocol

from dataplane.babies.reads import TaskRead
from segments.baby import Baby, IsWanted, decode_baby
from segments.corrected_baby import correct_baby
from segments.damaged_baby import recover_baby
from segments.errors import CorruptObject, SegmentsError
from segments.keys import baby_key
from segments.store.interface import ObjectStore

PREFETCH = 4


class BabyQuarantine(Protocol):
    """Takes payloads that no dataset gets."""

    def put_baby(self, stream_id: str, offset: int, body: bytes, error: Exception) -> None:
        """Put a whole baby segment that cannot be decoded."""
        ...


class BabyReader:
    """Fetches and decodes baby segments; of a corrupt one only the damage is skipped."""

    def __init__(self, store: ObjectStore, quarantine: BabyQuarantine) -> None:
        self._store = store
        self._quarantine = quarantine
        self.bytes_read = 0

    def fetch(self, reads: Sequence[TaskRead]) -> Iterator[tuple[TaskRead, bytes | SegmentsError]]:
        """Yield bodies, or the store's errors, in order; PREFETCH of them are read ahead."""
        with ThreadPoolExecutor(PREFETCH) as pool:
            ahead = [pool.submit(self._get, read) for read in reads[:PREFETCH]]
            for index, read in enumerate(reads):
                body = ahead.pop(0).result()
                if index + PREFETCH < len(reads):
                    ahead.append(pool.submit(self._get, reads[index + PREFETCH]))
                yield read, body

    def decode(
        self, read: TaskRead, body: bytes | SegmentsError, is_wanted: IsWanted
    ) -> tuple[Baby, int]:
        """Decode a fetched body into a baby and the time it was received.

        Parts of datasets that are not wanted may be skipped: a baby of many datasets is read by
        several tasks. A flipped bit is corrected. Of a baby with more damage the parts name the
        damaged slices; one whose stamps or framing are damaged counts as empty, once its bytes are
        in the quarantine. Raises SegmentsError if the store did, then or now.
        """
        if isinstance(body, SegmentsError):
            raise body
        self.bytes_read += len(body)
        baby = self._decoded(read, body, is_wanted)
        if baby.received_at or not baby.parts:
            return baby, baby.received_at
        return baby, self._store.head(baby_key(read.stream_id, read.offset)).modified_at_nanos

    def _get(self, read: TaskRead) -> bytes | SegmentsError:
        try:
            return self._store.get(baby_key(read.stream_id, read.offset))
        except SegmentsError as error:
            return error

    def _decoded(self, read: TaskRead, body: bytes, is_wanted: IsWanted) -> Baby:
        try:
            return _decode_checked(read, body, is_wanted)
        except CorruptObject:
            # Read again: damage on the network must not send acknowledged records to the
            # quarantine.
            again = self._store.get(baby_key(read.stream_id, read.offset))
        try:
            return _decode_checked(read, again, is_wanted)
        except CorruptObject as error:
            with suppress(CorruptObject):
                return _decode_checked(read, correct_baby(again), is_wanted)
            with suppress(CorruptObject):
                return recover_baby(again)
            if read.is_owner:
                self._quarantine.put_baby(read.stream_id, read.offset, again, error)
            return Baby(is_stamped=False)


def _decode_checked(read: TaskRead, body: bytes, is_wanted: IsWanted) -> Baby:
    baby = decode_baby(body, is_wanted)
    if read.dataset_ids and not baby.is_stamped:
        raise CorruptObject("the commit announced stamps, the baby segment has none")
    return baby
