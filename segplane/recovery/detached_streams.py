"""Streams that a restore detached from their collectors: each is attached again, or ended.

A stream whose collector has begun another one is ended behind the babies that were acknowledged in
it. Any other continues behind the babies that are gone.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

from meta.commits.transactions import Transactions
from meta.errors import RaceLost
from meta.store.recovery import detached_streams, lost_segments
from meta.store.recovery.detached_streams import DetachedStream
from meta.store.recovery.lost_segments import ReturnedStream, StreamState
from segments.inventory.contents import read_babies
from segments.inventory.streams import BabyFound
from segments.store.interface import ObjectStore
from segplane.recovery.unknown_babies import UnknownBabies, UnknownTail, created_nanos

STREAMS_AT_ONCE = 1_000
PROGRESS_EVERY = 100
# A running collector commits, and its nursery merges, while a stream is being attached.
ATTEMPTS_MAX = 10
LEFT = "a segment that may hold records of it is left"
BUSY = "it was changed while it was being attached: run again"


@dataclass(frozen=True, slots=True)
class SettledStream:
    """A stream that was ended with its babies, or is left with a reason; attached ones move on."""

    stream_id: str
    tail: UnknownTail
    is_ended: bool = True
    new_dataset_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DetachedStreams:
    """Settles the streams that are detached, one transaction each.

    `waiting` are streams of segments that are left. None stands for all streams.
    """

    transactions: Transactions
    store: ObjectStore
    waiting: Collection[str] | None
    is_dry_run: bool
    progress: Callable[[str], None]

    def settle(self) -> Iterator[SettledStream]:
        """Attach or end every detached stream that may be; yields what there is to report.

        All segments are back by now. Raises MetaError, StoreError.
        """
        total = self.transactions.read(detached_streams.count)
        self.progress(f"{total} detached streams")
        after, settled_streams = UUID(int=0), 0
        while streams := self.transactions.read(
            partial(detached_streams.page, after=after, most=STREAMS_AT_ONCE)
        ):
            after = UUID(streams[-1].stream_id)
            ended = [stream for stream in streams if stream.successor]
            babies = self._babies(ended) if ended else None
            for stream in streams:
                settled = self._settle(stream, babies)
                settled_streams += 1
                if settled_streams % PROGRESS_EVERY == 0:
                    self.progress(f"{settled_streams} of {total} detached streams")
                if settled.is_ended or settled.new_dataset_ids or settled.tail.reason:
                    yield settled

    def _babies(self, ended: Sequence[DetachedStream]) -> UnknownBabies:
        """The digests since the first successor began, which an earlier restore may have been."""
        since = min(created_nanos(stream.successor) for stream in ended)
        return UnknownBabies(self.transactions, self.store, (), since)

    def _settle(self, stream: DetachedStream, babies: UnknownBabies | None) -> SettledStream:
        stream_id = stream.stream_id
        if self.waiting is None or stream_id in self.waiting:
            return _left(stream_id, LEFT)
        for _ in range(ATTEMPTS_MAX):
            states = partial(lost_segments.read_states, stream_ids=[stream_id])
            state = self.transactions.read(states)[stream_id]
            if state.stopped is not None:
                break
            try:
                if stream.successor and babies is not None:
                    return self._end(stream_id, state, babies)
                return self._attach(stream_id, state)
            except RaceLost:
                continue
        return _left(stream_id, BUSY if state.stopped is None else "")

    def _end(self, stream_id: str, state: StreamState, babies: UnknownBabies) -> SettledStream:
        tail = babies.read(stream_id, state.committed + 1)
        settled = SettledStream(stream_id, tail)
        if tail.reason or self.is_dry_run:
            return settled
        stream = _moved(stream_id, state, tail.babies)
        new = self.transactions.write(partial(detached_streams.end, stream=stream))
        return replace(settled, new_dataset_ids=tuple(map(str, new)))

    def _attach(self, stream_id: str, state: StreamState) -> SettledStream:
        settled = SettledStream(stream_id, UnknownTail(()), is_ended=False)
        if self.is_dry_run:
            return settled
        later = [baby for baby, _ in read_babies(self.store, stream_id, state.committed + 1)]
        gone = later[0].offset - 1 if later else state.committed
        stream = replace(_moved(stream_id, state, later), committed=gone, babies=())
        stamps = {UUID(d) for baby in later for d in baby.dataset_ids or ()}
        attach = partial(detached_streams.attach, stream=stream, stamps=stamps)
        new = self.transactions.write(attach)
        return replace(settled, new_dataset_ids=tuple(map(str, new)))


def _left(stream_id: str, reason: str) -> SettledStream:
    return SettledStream(stream_id, UnknownTail((), reason=reason), is_ended=False)


def _moved(stream_id: str, state: StreamState, babies: Sequence[BabyFound]) -> ReturnedStream:
    """The stream with its babies, behind those that are gone."""
    gone = babies[0].offset - 1 if babies else state.committed
    committed = babies[-1].offset if babies else state.committed
    deleted = gone if gone > state.committed else state.deleted
    return ReturnedStream(UUID(stream_id), state, committed, deleted, tuple(babies), {})
