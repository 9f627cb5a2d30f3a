"""Streams of segments that come back: their new offsets, and the babies to commit up to them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

from meta.commits.transactions import Transactions
from meta.store.recovery import lost_segments
from meta.store.recovery.lost_segments import ReturnedStream, StreamState
from segments.inventory.contents import SegmentFound, read_babies
from segments.rebuild.lineages import Missing, Offsets
from segments.rebuild.lost import LostChoice
from segments.store.interface import ObjectStore
from segplane.recovery.unknown_babies import UnknownTail

# Reads the babies of an unknown stream that come back with it.
TailOf: TypeAlias = Callable[[str], UnknownTail]


@dataclass(frozen=True, slots=True)
class Planned:
    """One dataset's unknown segments and the choice among them."""

    dataset_id: str
    lost: tuple[SegmentFound, ...]
    choice: LostChoice
    live: tuple[SegmentFound, ...]
    # Ids of live segments by key; those whose objects are missing, with their babies.
    live_ids: Mapping[str, UUID]
    missing: Mapping[UUID, Sequence[tuple[str, int, int]]]
    # The same babies, by stream.
    gone: Missing


class _StreamLeft(Exception):
    """A stream cannot be brought to the offsets of its segments; the message is the reason."""


def streams_of(
    transactions: Transactions,
    store: ObjectStore,
    returning: Sequence[Planned],
    tail_of: TailOf,
) -> tuple[list[ReturnedStream], str]:
    """The streams of the segments that come back; a reason if one cannot be brought to it."""
    ends: dict[str, dict[str, int]] = {}
    missing: dict[str, int] = {}
    for dataset in returning:
        for stream_id, end in dataset.choice.ends.items():
            ends.setdefault(stream_id, {})[dataset.dataset_id] = end
            last = dataset.choice.gone.get(stream_id, -1)
            missing[stream_id] = max(missing.get(stream_id, -1), last)
    states = transactions.read(lambda tx: lost_segments.read_states(tx, sorted(ends)))
    try:
        for dataset in returning:
            _check_reaped(dataset, states)
        return [
            _known_stream(store, s, states[s], missing[s], stream_ends)
            if s in states
            else _unknown_stream(s, missing[s], stream_ends, tail_of)
            for s, stream_ends in sorted(ends.items())
        ], ""
    except _StreamLeft as error:
        return [], str(error)


def _check_reaped(dataset: Planned, states: Mapping[str, StreamState]) -> None:
    """Raise _StreamLeft if the backup itself says that records were merged and deleted."""
    lowest: dict[str, int] = {}
    for span in (span for segment in dataset.choice.chosen for span in segment.footer.ranges):
        lowest[span.stream_id] = min(lowest.get(span.stream_id, span.start), span.start)
    live = Offsets(dataset.live, lowest, dataset.gone)
    for segment in dataset.choice.chosen:
        for span in segment.footer.ranges:
            state = states.get(span.stream_id)
            if state is None:
                continue
            reaped = min(state.deleted, state.merged.get(dataset.dataset_id, state.deleted))
            for offset in range(span.start, min(span.end, reaped) + 1):
                if not live.miss(span.stream_id, offset) and not live.hold(span.stream_id, offset):
                    raise _StreamLeft(
                        f"{segment.key} holds baby {offset} of stream {span.stream_id}, which was"
                        " merged and deleted before the backup, and is in no live segment"
                    )


def _known_stream(
    store: ObjectStore, stream_id: str, state: StreamState, missing: int, ends: Mapping[str, int]
) -> ReturnedStream:
    committed = max(state.committed, missing, *ends.values())
    if state.is_retired or committed > (committed if state.stopped is None else state.stopped):
        raise _StreamLeft(f"stream {stream_id} had ended before the backup")
    above = max(state.committed, missing)
    babies = [baby for baby, _ in read_babies(store, stream_id, above + 1, committed)]
    if len(babies) != committed - above:
        raise _StreamLeft(f"stream {stream_id} lacks babies between {above} and {committed}")
    deleted = max(state.deleted, missing)
    return ReturnedStream(UUID(stream_id), state, committed, deleted, tuple(babies), ends)


def _unknown_stream(
    stream_id: str, missing: int, ends: Mapping[str, int], tail_of: TailOf
) -> ReturnedStream:
    tail = tail_of(stream_id)
    if tail.reason:
        raise _StreamLeft(f"stream {stream_id}: {tail.reason}")
    babies = tail.babies
    if babies and babies[0].offset != missing + 1:
        raise _StreamLeft(f"stream {stream_id} lacks the baby {missing + 1}")
    committed = missing + len(babies)
    if committed < max(ends.values()):
        raise _StreamLeft(f"stream {stream_id} ends at {committed}, before its segments do")
    stamped = {d for baby in babies for d in baby.dataset_ids or ()}
    merged = {**dict.fromkeys(sorted(stamped), missing), **ends}
    return ReturnedStream(UUID(stream_id), None, committed, missing, babies, merged)
