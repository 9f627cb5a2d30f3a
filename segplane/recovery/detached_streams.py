"""Streams that a restore detached from their collectors: each is attached again, or ended.

A stream whose collector has begun another one is ended behind the babies that were acknowledged in
it. Any other continues behind the babies that are gone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from meta.commits.transactions import Transactions
from meta.store.recovery import detached_streams, lost_segments
from meta.store.recovery.detached_streams import DetachedStream
from meta.store.recovery.lost_segments import ReturnedStream, StreamState
from segments.inventory.contents import read_babies
from segments.inventory.streams import BabyFound
from segments.store.interface import ObjectStore
from segplane.recovery.unknown_babies import UnknownBabies, UnknownTail

STREAMS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class EndedTail:
    """A stream whose collector has begun another one, and the babies that were committed in it."""

    stream_id: str
    tail: UnknownTail
    new_dataset_ids: tuple[str, ...] = ()


def settle(
    transactions: Transactions, store: ObjectStore, babies: UnknownBabies, *, is_dry_run: bool
) -> list[EndedTail]:
    """Attach or end every detached stream; answers those that are ended, or left with a reason.

    All segments are back by now. Raises MetaError (RaceLost: run it again), StoreError.
    """
    ended: list[EndedTail] = []
    for streams in _pages(transactions):
        ids = [stream.stream_id for stream in streams]
        states = transactions.read(partial(lost_segments.read_states, stream_ids=ids))
        for stream in streams:
            state = states[stream.stream_id]
            if stream.has_successor:
                ended.append(_end(transactions, babies, stream.stream_id, state, is_dry_run))
            elif not is_dry_run:
                first = next(_later(store, stream.stream_id, state), None)
                moved = _moved(stream.stream_id, state, () if first is None else (first,))
                behind = moved.committed - len(moved.babies)
                attached = ReturnedStream(moved.id, state, behind, moved.deleted, (), {})
                transactions.write(partial(detached_streams.attach, stream=attached))
    return ended


def _end(
    transactions: Transactions,
    babies: UnknownBabies,
    stream_id: str,
    state: StreamState,
    is_dry_run: bool,
) -> EndedTail:
    tail = babies.read(stream_id, state.committed + 1)
    if tail.reason or is_dry_run:
        return EndedTail(stream_id, tail)
    stream = _moved(stream_id, state, tail.babies)
    new = transactions.write(partial(detached_streams.end, stream=stream))
    return EndedTail(stream_id, tail, tuple(map(str, new)))


def _moved(stream_id: str, state: StreamState, babies: Sequence[BabyFound]) -> ReturnedStream:
    """The stream with its babies, behind those that are gone."""
    gone = babies[0].offset - 1 if babies else state.committed
    committed = babies[-1].offset if babies else state.committed
    deleted = gone if gone > state.committed else state.deleted
    return ReturnedStream(UUID(stream_id), state, committed, deleted, tuple(babies), {})


def _later(store: ObjectStore, stream_id: str, state: StreamState) -> Iterator[BabyFound]:
    return (baby for baby, _ in read_babies(store, stream_id, state.committed + 1))


def _pages(transactions: Transactions) -> Iterator[list[DetachedStream]]:
    after = UUID(int=0)
    while streams := transactions.read(
        partial(detached_streams.page, after=after, most=STREAMS_AT_ONCE)
    ):
        yield streams
        after = UUID(streams[-1].stream_id)
