"""Writer of one ingest stream: puts overlap, commits are made in the order of offsets.

Each baby takes the next offset and is put there if the key is free; its commit waits for the one
before it. If another baby has the key, that baby is committed and the own one is returned to be
stamped again, without the exports that the other baby holds.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from collector.stream_recovery import StreamTail
from meta.errors import OffsetTaken
from meta.metrics import FLUSH_SECONDS
from segments.baby import Baby, pieces_crc32c
from segplane.dataplane.baby_facts import CommitFacts

log = structlog.get_logger()

# Meta forgets a baby's commit 24 h after its deletion. A flush as old as this (a process that was
# stopped for hours) might have been committed and forgotten, so it is not written a second time.
REWRITE_AGE_NANOS_MAX = 12 * 3600 * 10**9


class Displaced(Exception):
    """Another baby stands at the offset and is committed; it may hold some of the same exports."""


class FlushTooOld(Exception):
    """It can no longer be decided whether this flush was committed."""


@dataclass(frozen=True, slots=True)
class Written:
    """A committed baby."""

    offset: int
    size_bytes: int
    deleted_dataset_ids: frozenset[str]


@dataclass(slots=True)
class _Slot:
    """One offset; its commit waits until `before` is set and sets `done`."""

    offset: int
    before: asyncio.Event
    done: asyncio.Event


class StreamWriter:
    """The write end of one stream, for many flushes at once on one event loop."""

    def __init__(self, tail: StreamTail, next_offset: int) -> None:
        self.tail = tail
        self.registered_token_ids: set[str] = set()
        self._next_offset = next_offset
        self._last_done = asyncio.Event()
        self._last_done.set()

    @property
    def stream_id(self) -> str:
        """Id of the stream."""
        return self.tail.stream_id

    async def write(self, baby: Baby) -> Written:
        """Put and commit one baby; once this returns it is committed at exactly one offset.

        Raises Displaced or StreamEnded if it is not committed; the caller then stamps its
        exports again, here or for another stream.
        """
        pieces = await self.tail.babies.encode(baby)
        size_bytes = sum(map(len, pieces))
        facts = CommitFacts.of_stamps(baby, size_bytes, pieces_crc32c(pieces))
        slot = self._take_slot()
        try:
            is_own = await self._place(slot.offset, pieces, baby.flush_id)
            await slot.before.wait()
            if is_own:
                deleted = await self._commit(slot.offset, facts)
                return Written(slot.offset, size_bytes, deleted)
            await self.tail.commit_found(slot.offset)
            raise Displaced(f"offset {slot.offset} of stream {self.stream_id}")
        except OffsetTaken as taken:
            raise self._lost(slot.offset, baby, taken) from taken
        finally:
            # Even after a failure: the next commit then finds a gap and adopts this offset.
            slot.done.set()

    def _take_slot(self) -> _Slot:
        slot = _Slot(self._next_offset, self._last_done, asyncio.Event())
        self._next_offset += 1
        self._last_done = slot.done
        return slot

    async def _place(self, offset: int, pieces: Sequence[bytes], flush_id: bytes) -> bool:
        """Put the baby; true if it stands at the offset now, false if another one does."""
        started = time.perf_counter()
        is_own = await self.tail.babies.put(offset, pieces)
        if not is_own:
            # A put is repeated when its answer is lost, so what stands there may be this very baby.
            standing = await self.tail.babies.read(offset)
            is_own = standing is not None and standing.facts.flush_id == flush_id
        FLUSH_SECONDS.labels("put").observe(time.perf_counter() - started)
        return is_own

    async def _commit(self, offset: int, facts: CommitFacts) -> frozenset[str]:
        started = time.perf_counter()
        deleted = await self.tail.commit(offset, facts)
        FLUSH_SECONDS.labels("commit").observe(time.perf_counter() - started)
        return deleted

    def _lost(self, offset: int, baby: Baby, taken: OffsetTaken) -> Exception:
        """Another flush was committed at our offset, and its object deleted before our put."""
        log.warning("flush_moved", stream_id=self.stream_id, offset=offset)
        self._next_offset = max(self._next_offset, int(taken.metadata.get("next_offset", 0)))
        where = f"offset {offset} of stream {self.stream_id}"
        if time.time_ns() - baby.received_at > REWRITE_AGE_NANOS_MAX:
            return FlushTooOld(where)
        return Displaced(where)
