"""Streams by id for people, each with some of its datasets."""

from collections.abc import Sequence
from uuid import UUID

from meta.errors import NotFound
from meta.services.messages import checks, cursors
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.damage import parked_streams
from meta.store.damage.parked_streams import ParkedStream
from meta.store.engine.pool import Transaction
from meta.store.streams import stream_list
from meta.store.streams.stream_list import EntryFacts, StreamFacts, StreamFilter
from meta.store.versions import clock
from meta.v1 import status_pb2 as pb

LIMIT_DEFAULT, LIMIT_MAX = 50, 200
DATASETS_DEFAULT, DATASETS_MAX = 5, 1_000
REASON_CHARACTERS_MAX = 1_000
_NONE = UUID(int=0)
# Of the others, those that are parked are among them.
_FILTERS: dict[int, StreamFilter] = {
    pb.STREAM_STATE_UNSPECIFIED: StreamFilter.ALL,
    pb.STREAM_STATE_ACTIVE: StreamFilter.ACTIVE,
    pb.STREAM_STATE_STOPPED: StreamFilter.STOPPED,
    pb.STREAM_STATE_AWAITS_RECONCILE: StreamFilter.DETACHED,
}


def list_streams(server: ServerParts, request: pb.ListStreamsRequest) -> pb.ListStreamsResponse:
    """One page of the streams, or one stream."""
    limit = checks.limit(request.limit, default=LIMIT_DEFAULT, most=LIMIT_MAX)
    datasets = checks.limit(
        request.datasets_limit, "datasets_limit", default=DATASETS_DEFAULT, most=DATASETS_MAX
    )
    stream_id = checks.filter_uuid(request, "stream_id")
    state = request.state if request.state in pb.StreamState.values() else 0
    after = _position(request.after, state)

    def work(tx: Transaction) -> pb.ListStreamsResponse:
        ids = [stream_id] if stream_id else _ids(tx, state, after, limit + 1)
        listed = stream_list.read(tx, ids[:limit])
        if stream_id is not None and not listed:
            raise NotFound("there is no such stream, or it has retired", stream_id=stream_id)
        most = min(datasets, DATASETS_MAX // max(1, len(listed)))
        floors = {stream.stream_id: stream.merged_offset for stream in listed}
        entries = stream_list.entries(tx, floors, most)
        parked = {each.stream_id: each for each in parked_streams.among(tx, list(floors))}
        return pb.ListStreamsResponse(
            streams=[
                _message(stream, entries.get(stream.stream_id, ()), most, parked)
                for stream in listed
            ],
            next_cursor=_cursor(ids[limit - 1], state) if len(ids) > limit else "",
            database_time_nanos=clock.now_nanos(tx),
        )

    return server.transactions.read(work)


def _ids(tx: Transaction, state: int, after: UUID, most: int) -> Sequence[UUID]:
    if state == pb.STREAM_STATE_PARKED:
        return parked_streams.ids(tx, after, most)
    return stream_list.ids(tx, _FILTERS[state], after, most)


def _message(
    stream: StreamFacts,
    entries: Sequence[EntryFacts],
    most: int,
    parked: dict[UUID, ParkedStream],
) -> pb.ListedStream:
    parking = parked.get(stream.stream_id)
    return filled(
        pb.ListedStream,
        stream,
        state=_state(stream, is_parked=parking is not None),
        datasets=[filled(pb.StreamDatasetOffset, entry) for entry in entries[:most]],
        has_more_datasets=len(entries) > most,
        parked_offset=parking.offset if parking else None,
        parked_reason=parking.reason[:REASON_CHARACTERS_MAX] if parking else "",
        parked_at_nanos=parking.parked_at_nanos if parking else 0,
    )


def _state(stream: StreamFacts, *, is_parked: bool) -> "pb.StreamState.ValueType":
    if is_parked:
        return pb.STREAM_STATE_PARKED
    if stream.is_detached:
        return pb.STREAM_STATE_AWAITS_RECONCILE
    is_active = stream.stopped_offset is None
    return pb.STREAM_STATE_ACTIVE if is_active else pb.STREAM_STATE_STOPPED


def _cursor(stream_id: UUID, state: int) -> str:
    return cursors.encode(stream_id.bytes, _bound_to(stream_id.bytes, state))


def _position(cursor: str, state: int) -> UUID:
    if not cursor:
        return _NONE
    size = len(_NONE.bytes)
    raw = cursors.decode(cursor, size, lambda position: _bound_to(position, state), "after")
    return UUID(bytes=raw)


def _bound_to(position: bytes, state: int) -> bytes:
    return position + f"ListStreams/{state}".encode()
