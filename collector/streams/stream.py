"""Writer of one ingest stream: overlapping puts, ordered commits, recovery of its tail.

Each baby takes the next offset and is put there if the key is free; its commit waits for the one
before it. If another baby has the key, that baby is committed and the own one is returned to be
stamped again, without the exports that the other baby holds.

The tail of a stream are the babies that were put but not committed. Such a baby belongs to a flush
whose collector died, or to another incarnation that is alive. Either way it is committed as it is,
in order of offsets; a hole below it is filled first. No object is ever overwritten.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from os import urandom
from time import time_ns
from typing import TypeVar

import structlog

from collector.ingestion import Ingestion
from collector.otlp.export import CommittedDigests
from collector.retry import Backoff
from collector.streams.babies import ListedBaby, StreamBabies
from dataplane.baby_facts import CommitFacts, FoundBaby
from meta.errors import (
    DeadlineExceeded,
    MetaError,
    NotFound,
    OffsetGap,
    OffsetTaken,
    Overloaded,
    RaceLost,
    StopMismatch,
    StreamStopped,
    Unavailable,
)
from meta.metrics import ADOPTED_BABIES, FLUSH_SECONDS
from segments.baby import Baby, BabyKind, crc32c, encode_baby, pieces_crc32c

log = structlog.get_logger()
FLUSH_ID_BYTES = 16
# No collector has as many puts under way, so a baby further off is not part of the tail.
HOLE_OFFSETS_MAX = 1000
# Meta forgets a baby's commit 24 h after its deletion. A flush as old as this (a process that was
# stopped for hours) might have been committed and forgotten, so it is not written a second time.
REWRITE_AGE_NANOS_MAX = 12 * 3600 * 10**9
TRANSIENT = (Unavailable, DeadlineExceeded, Overloaded, RaceLost)
# The part of the work that fails while meta does not answer.
META = "meta"

_T = TypeVar("_T")


class StreamEnded(Exception):
    """The stream takes no more babies. Register for a new one and write there."""


@dataclass(frozen=True, slots=True)
class StreamTail:
    """The end of one stream, over which store and meta may disagree after a crash."""

    stream_id: str
    ingestion: Ingestion
    babies: StreamBabies
    digests: CommittedDigests

    async def commit(self, offset: int, facts: CommitFacts) -> frozenset[str]:
        """Commit one baby, after the missing ones below it; returns stamped datasets now deleted.

        Raises StreamEnded if the baby is not committed and never will be, OffsetTaken if another
        flush was committed at this offset.
        """
        while True:
            try:
                return await self.answer(
                    "CommitOffset", lambda: self.ingestion.commit(self.stream_id, offset, facts)
                )
            except (StreamStopped, NotFound) as error:
                raise StreamEnded(self.stream_id) from error
            except OffsetGap as gap:
                expected = int(gap.metadata["expected_offset"])
                log.warning("offset_gap", stream_id=self.stream_id, expected=expected, mine=offset)
                await self.adopt(range(expected, offset))

    async def answer(self, rpc: str, call: Callable[[], Awaitable[_T]]) -> _T:
        """Repeat a call until meta answers; raises its refusals."""
        backoff = Backoff()
        try:
            while True:
                try:
                    return await call()
                except TRANSIENT as error:
                    log.warning(
                        "commit_delayed", rpc=rpc, stream_id=self.stream_id, reason=error.reason
                    )
                    self.babies.progress.failed(f"{rpc}: {error}", META)
                    await backoff.wait()
        finally:
            if backoff.failures:
                self.babies.progress.recovered(META)

    async def adopt_all(self, next_offset: int) -> int:
        """Commit every baby from `next_offset` on; returns the offset after the last."""
        end = end_of_tail(next_offset, await self.babies.listed(next_offset))
        await self.adopt(range(next_offset, end))
        return end

    async def adopt(self, offsets: range) -> None:
        """Commit the baby at each offset, in order; a hole gets a filler.

        Raises StreamEnded at a stop message: the stream ends there, and no export beyond it was
        acknowledged.
        """
        for offset in offsets:
            await self.commit_found(offset)

    async def commit_found(self, offset: int) -> None:
        """Commit the baby at one offset, whichever incarnation wrote it.

        If meta has committed another flush there, the object was put after that flush was reaped
        and holds nothing acknowledged: neither its digests nor its stop count. The janitor deletes
        it as an orphan.
        """
        baby = await self._found(offset)
        try:
            await self.commit(offset, baby.facts)
        except OffsetTaken:
            log.warning("late_baby_ignored", stream_id=self.stream_id, offset=offset)
            return
        ADOPTED_BABIES.inc()
        log.info("baby_adopted", stream_id=self.stream_id, offset=offset, stop=baby.is_stop)
        self.digests.add(baby.digests)
        if baby.is_stop:
            await self.mark_stopped(offset)
            raise StreamEnded(self.stream_id)

    async def mark_stopped(self, offset: int) -> None:
        """End the stream at its committed stop message."""
        try:
            await self.answer(
                "MarkStreamStopped", lambda: self.ingestion.mark_stopped(self.stream_id, offset)
            )
        except (StopMismatch, NotFound, StreamStopped) as error:
            # It ended elsewhere already, or another incarnation continues with it.
            log.warning("stream_not_stopped", stream_id=self.stream_id, reason=error.reason)

    async def _found(self, offset: int) -> FoundBaby:
        filler = Baby((), BabyKind.FILLER, urandom(FLUSH_ID_BYTES), time_ns())
        body = encode_baby(filler)
        while True:
            baby = await self.babies.read(offset)
            if baby is not None:
                return baby
            if await self.babies.put(offset, (body,)):
                return FoundBaby(CommitFacts.of_stamps(filler, len(body), crc32c(body)))


async def read_recent_digests(
    tail: StreamTail, next_offset: int, read_bytes_max: int, now_nanos: int
) -> None:
    """Read the digests of the stream's latest committed babies, the newest first.

    Bounded in bytes: resends are of the exports just before a crash. An object counts only if meta
    has committed its flush id at its offset: an object that was put after its offset was committed
    and reaped holds nothing acknowledged.
    """
    window_nanos = int(tail.digests.keep_secs * 1e9)
    first = max(0, next_offset - HOLE_OFFSETS_MAX)
    recent = [
        listed
        for listed in await tail.babies.listed(first)
        if listed.offset < next_offset and listed.info.modified_at_nanos > now_nanos - window_nanos
    ]
    committed = await _committed_flush_ids(tail, first, next_offset - 1) if recent else {}
    read: list[tuple[float, tuple[bytes, ...]]] = []
    for listed in reversed(recent):
        if listed.offset not in committed:
            continue
        read_bytes_max -= listed.info.size_bytes
        if read_bytes_max < 0:
            break
        baby = await tail.babies.read(listed.offset)
        if baby is None:
            continue
        if baby.facts.flush_id != committed[listed.offset]:
            log.warning("late_baby_ignored", stream_id=tail.stream_id, offset=listed.offset)
            continue
        age_secs = (now_nanos - listed.info.modified_at_nanos) / 1e9
        read.append((age_secs, baby.digests))
    for age_secs, digests in reversed(read):
        tail.digests.add(digests, max(0.0, age_secs))


async def _committed_flush_ids(
    tail: StreamTail, first_offset: int, last_offset: int
) -> Mapping[int, bytes]:
    """Read the committed flush ids of a range; none from a meta that does not know the call."""
    try:
        flushes = await tail.answer(
            "GetCommittedFlushes",
            lambda: tail.ingestion.committed_flushes(tail.stream_id, first_offset, last_offset),
        )
    except MetaError as error:
        log.warning("digests_not_read", stream_id=tail.stream_id, reason=error.reason)
        return {}
    if flushes.kept_secs < tail.digests.keep_secs:
        log.warning(
            "digests_outlive_commits",
            dedupe_secs=tail.digests.keep_secs,
            commits_kept_secs=flushes.kept_secs,
        )
    return {flush.offset: flush.flush_id for flush in flushes.flushes}


def end_of_tail(next_offset: int, listed: list[ListedBaby]) -> int:
    """The offset after the last baby that can be this stream's tail."""
    end = next_offset
    for baby in listed:
        if baby.offset - end > HOLE_OFFSETS_MAX:
            log.error("baby_out_of_place", key=baby.info.key, expected_offset=end)
            break
        end = max(end, baby.offset + 1)
    return end


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
            # It is done even after a failure: the next commit then finds a gap and adopts this
            # offset.
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


def stop_baby(received_at: int) -> Baby:
    """Build the last message of a stream."""
    return Baby((), BabyKind.STOP, urandom(FLUSH_ID_BYTES), received_at)
