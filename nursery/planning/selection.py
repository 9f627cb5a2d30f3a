"""Chooses the babies that a cycle reads, and for which datasets. Pure.

A baby is read at most twice. The first time it may be read for some of its datasets only; the task
that reads it a second time merges all the rest of the stream up to it. Reading stays in proportion
to ingest, however many datasets share a stream and however different their pace is. A third read is
left to babies that name a deleted dataset, to failed tasks, and to datasets that had to wait.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nursery.planning.pending import Limits, PendingStream
from nursery.planning.streams import BabyRead, IngestStream

# A dataset without records moves its offset after this many baby segments, of any age.
_ADVANCE_SPAN = 512
# Tasks that may read a baby which no earlier cycle has read, and no later one will.
READERS_MAX = 2
# Records that are read at once for a dataset that is deduplicated: other registrations of the
# dataset wait while these events are looked up, one or two seconds.
EVENTS_MAX = 100_000


@dataclass(slots=True)
class StreamShare:
    """The part of one stream that the cycle merges.

    `due` datasets are merged up to `end`, the others up to `complete_through`, which is `end` if
    the whole stream is merged.
    """

    stream: IngestStream
    due: frozenset[str]
    pending: frozenset[str]
    reads: list[BabyRead]
    end: int
    complete_through: int
    is_cut: bool = False

    def cut(self, end: int) -> None:
        """Merge no further than `end`: a limit is reached."""
        self.end = end
        self.complete_through = min(self.complete_through, end)
        self.reads = [read for read in self.reads if read.baby.offset <= end]
        self.is_cut = True

    def ends(self, limits: Limits, now_nanos: int) -> dict[str, int]:
        """New merged offset of each dataset that moves."""
        holding = frozenset[str]().union(*(read.readers for read in self.reads))
        ends = {d: self.end if d in self.due else self.complete_through for d in holding}
        idle = {
            dataset_id: merged
            for dataset_id, merged in self.stream.mergeable().items()
            if merged < self.end
            and dataset_id not in holding
            and (dataset_id not in self.pending or dataset_id in self.due)
        }
        overdue = {m for m in set(idle.values()) if self._is_overdue(m, limits, now_nanos)}
        ends.update((d, self.end) for d, merged in idle.items() if merged in overdue)
        return ends

    def _is_overdue(self, merged: int, limits: Limits, now_nanos: int) -> bool:
        if self.stream.is_stopped or self.end - merged >= _ADVANCE_SPAN:
            return True
        passed = (b.committed_at for b in self.stream.babies if merged < b.offset <= self.end)
        return now_nanos - min(passed, default=0) >= limits.idle_advance_secs * 1e9


def choose(
    pending: Sequence[PendingStream],
    due: frozenset[str],
    limits: Limits,
    now_nanos: int,
    once: frozenset[str] = frozenset(),
) -> list[StreamShare]:
    """Choose babies, oldest first over all streams, until a limit is reached.

    `once` are datasets that are deduplicated.
    """
    shares = [_share(stream, due) for stream in pending]
    for share, stream in zip(shares, pending, strict=True):
        _add_strays(share, stream, limits, now_nanos)
    _apply_limits(shares, limits, once)
    for share in shares:
        if share.is_cut:
            _drop_strays(share, limits, now_nanos)
    return shares


def _share(stream: PendingStream, due: frozenset[str]) -> StreamShare:
    pending = stream.dataset_ids()
    chosen = pending & due
    # The rest of a truncated list is seen only once its beginning is merged. If most datasets are
    # due, a second read for the others would cost more than their files.
    is_whole = stream.stream.is_stopped or stream.is_truncated or 2 * len(chosen) >= len(pending)
    if is_whole:
        chosen = pending
    complete_through = stream.end if is_whole else _complete_through(stream, chosen)
    reads = []
    for read in stream.reads:
        if read.baby.offset <= complete_through:
            if read.readers:
                is_first = not stream.stream.is_partly_merged(read.baby)
                reads.append(replace(read, readers_max=READERS_MAX if is_first else 1))
        elif readers := read.readers & chosen:
            reads.append(BabyRead(read.baby, readers))
    return StreamShare(stream.stream, chosen, pending, reads, stream.end, complete_through)


def _complete_through(stream: PendingStream, chosen: frozenset[str]) -> int:
    """The last baby that would be read a second time; -1 if there is none."""
    for read in reversed(stream.reads):
        if not read.readers.isdisjoint(chosen) and stream.stream.is_partly_merged(read.baby):
            return read.baby.offset
    return -1


def _add_strays(share: StreamShare, stream: PendingStream, limits: Limits, now_nanos: int) -> None:
    """Read babies without readers, for the quarantine, just before all datasets pass them."""
    strays = [read for read in stream.reads if not read.readers]
    if strays:
        floor = _floor(share, limits, now_nanos)
        share.reads += [read for read in strays if read.baby.offset <= floor]
        share.reads.sort(key=lambda read: read.baby.offset)


def _drop_strays(share: StreamShare, limits: Limits, now_nanos: int) -> None:
    floor = _floor(share, limits, now_nanos)
    share.reads = [read for read in share.reads if read.readers or read.baby.offset <= floor]


def _floor(share: StreamShare, limits: Limits, now_nanos: int) -> int:
    """The lowest merged offset after this cycle."""
    ends = share.ends(limits, now_nanos)
    return min(ends.get(d, merged) for d, merged in share.stream.mergeable().items())


def _apply_limits(shares: Sequence[StreamShare], limits: Limits, once: frozenset[str]) -> None:
    queue = [
        (share.reads[0].baby.committed_at, number, 0)
        for number, share in enumerate(shares)
        if share.reads
    ]
    heapq.heapify(queue)
    bytes_left, babies_left = limits.bytes_max, limits.babies_max
    events_left = dict.fromkeys(once, EVENTS_MAX)
    is_first = True
    while queue:
        _, number, index = heapq.heappop(queue)
        reads = shares[number].reads
        baby = reads[index].baby
        claiming = reads[index].readers & once
        # One baby is always taken, so that one above the limit cannot block the plan.
        is_full = any(events_left[d] < min(EVENTS_MAX, baby.num_records) for d in claiming)
        if not is_first and (bytes_left < baby.size_bytes or babies_left < 1 or is_full):
            shares[number].cut(baby.offset - 1)
            continue
        is_first = False
        bytes_left -= baby.size_bytes
        babies_left -= 1
        for dataset_id in claiming:
            events_left[dataset_id] -= baby.num_records
        if index + 1 < len(reads):
            heapq.heappush(queue, (reads[index + 1].baby.committed_at, number, index + 1))
