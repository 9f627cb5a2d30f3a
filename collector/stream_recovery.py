"""Recovery of a stream's tail: commits the babies that were put but not committed.

Such a baby belongs to a flush whose collector died, or to another incarnation that is alive. Either
way it is committed as it is, in order of offsets; a hole below it is filled first. No object is
ever overwritten.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from os import urandom
from time import time_ns

import structlog

from collector.babies import ListedBaby, StreamBabies
from collector.dedupe import CommittedDigests
from collector.ingestion import Ingestion
from collector.retry import Backoff
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
from meta.metrics import ADOPTED_BABIES
from segments.baby import Baby, BabyKind, crc32c, encode_baby
from segplane.dataplane.baby_facts import CommitFacts, FoundBaby

log = structlog.get_logger()

FLUSH_ID_BYTES = 16
# More than any collector has puts under way: a baby further off is not part of the tail.
HOLE_OFFSETS_MAX = 1000
TRANSIENT = (Unavailable, DeadlineExceeded, Overloaded, RaceLost)


class StreamEnded(Exception):
    """The stream takes no more babies. Register for a new one and write there."""


@dataclass(frozen=True, slots=True)
class StreamTail:
    """The end of one stream, where store and meta may disagree after a crash."""

    stream_id: str
    ingestion: Ingestion
    babies: StreamBabies
    digests: CommittedDigests

    async def commit(self, offset: int, facts: CommitFacts) -> frozenset[str]:
        """Commit one baby, after what is missing below it; returns stamped datasets now deleted.

        Raises StreamEnded if the baby is not committed and never will be, OffsetTaken if another
        flush was committed at this offset.
        """
        backoff = Backoff()
        while True:
            try:
                return await self.ingestion.commit(self.stream_id, offset, facts)
            except (StreamStopped, NotFound) as error:
                raise StreamEnded(self.stream_id) from error
            except OffsetGap as gap:
                expected = int(gap.metadata["expected_offset"])
                log.warning("offset_gap", stream_id=self.stream_id, expected=expected, mine=offset)
                await self.adopt(range(expected, offset))
            except TRANSIENT as error:
                log.warning("commit_delayed", stream_id=self.stream_id, reason=error.reason)
                await backoff.wait()

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

        Where meta has committed another flush there, the object was put after that flush was reaped
        and holds nothing acknowledged: neither its digests nor its stop count. The janitor deletes
        it as an orphan.
        """
        found = await self._found(offset)
        try:
            await self.commit(offset, found.facts)
        except OffsetTaken:
            log.warning("late_baby_ignored", stream_id=self.stream_id, offset=offset)
            return
        ADOPTED_BABIES.inc()
        log.info("baby_adopted", stream_id=self.stream_id, offset=offset, stop=found.is_stop)
        self.digests.add(found.digests)
        if found.is_stop:
            await self.mark_stopped(offset)
            raise StreamEnded(self.stream_id)

    async def mark_stopped(self, offset: int) -> None:
        """End the stream at its committed stop message."""
        backoff = Backoff()
        while True:
            try:
                return await self.ingestion.mark_stopped(self.stream_id, offset)
            except TRANSIENT:
                await backoff.wait()
            except (StopMismatch, NotFound, StreamStopped) as error:
                # It ended elsewhere already, or another incarnation goes on with it.
                log.warning("stream_not_stopped", stream_id=self.stream_id, reason=error.reason)
                return None

    async def _found(self, offset: int) -> FoundBaby:
        filler = Baby((), BabyKind.FILLER, urandom(FLUSH_ID_BYTES), time_ns())
        body = encode_baby(filler)
        while True:
            found = await self.babies.read(offset)
            if found is not None:
                return found
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
        found = await tail.babies.read(listed.offset)
        if found is None:
            continue
        if found.facts.flush_id != committed[listed.offset]:
            log.warning("late_baby_ignored", stream_id=tail.stream_id, offset=listed.offset)
            continue
        age_secs = (now_nanos - listed.info.modified_at_nanos) / 1e9
        read.append((age_secs, found.digests))
    for age_secs, digests in reversed(read):
        tail.digests.add(digests, max(0.0, age_secs))


async def _committed_flush_ids(
    tail: StreamTail, first_offset: int, last_offset: int
) -> Mapping[int, bytes]:
    """Read the committed flush ids of a range; none from a meta that does not know the call."""
    backoff = Backoff()
    while True:
        try:
            flushes = await tail.ingestion.committed_flushes(
                tail.stream_id, first_offset, last_offset
            )
        except TRANSIENT:
            await backoff.wait()
        except MetaError as error:
            log.warning("digests_not_read", stream_id=tail.stream_id, reason=error.reason)
            return {}
        else:
            break
    if flushes.kept_secs < tail.digests.keep_secs:
        log.warning(
            "digests_outlive_commits",
            dedupe_secs=tail.digests.keep_secs,
            commits_kept_secs=flushes.kept_secs,
        )
    return flushes.flush_ids


def end_of_tail(next_offset: int, listed: list[ListedBaby]) -> int:
    """The offset after the last baby that can be this stream's tail."""
    end = next_offset
    for baby in listed:
        if baby.offset - end > HOLE_OFFSETS_MAX:
            log.error("baby_out_of_place", key=baby.info.key, expected_offset=end)
            break
        end = max(end, baby.offset + 1)
    return end
