"""Streams as nurseries see them, compared with the model."""

from dataclasses import dataclass

from meta.v1 import nursery_pb2, operations_pb2
from tests.property.instances import Instances
from tests.property.model import Model
from tests.property.model_streams import Stream
from tests.property.new_segments import full_key


@dataclass
class StreamView:
    """A stream as a nursery remembers it; `entries` are merged offsets."""

    committed: int
    deleted: int
    stopped: int | None
    entries: dict[str, int]

    @classmethod
    def of(cls, info: nursery_pb2.IngestStreamInfo) -> "StreamView":
        """The view that a reply gives; checks I8 on the way."""
        merged = [entry.merged_offset for entry in info.datasets]
        low, high = min(merged, default=info.committed_offset), max(merged, default=-1)
        assert info.deleted_offset <= low
        assert high <= info.committed_offset
        stopped = info.stopped_offset if info.HasField("stopped_offset") else None
        assert stopped is None or stopped == info.committed_offset
        entries = {entry.dataset_id: entry.merged_offset for entry in info.datasets}
        return cls(info.committed_offset, info.deleted_offset, stopped, entries)

    def is_like(self, now: "StreamView") -> bool:
        """True if this is how it is now; without a backlog commits alone are not told."""
        same = (self.deleted, self.stopped, self.entries)
        if same != (now.deleted, now.stopped, now.entries):
            return False
        has_backlog = min(now.entries.values(), default=now.committed) < now.committed
        return self.committed == now.committed or not has_backlog


def expected_view(model: Model) -> dict[str, StreamView]:
    """Expected view of every stream that has not retired."""
    return {s.id: _view(s) for s in model.streams.values() if not s.is_retired}


def check_poll(model: Model, reply: nursery_pb2.GetIngestStreamsResponse) -> None:
    """A full poll says what the model says, of streams, datasets and tokens."""
    assert {i.stream_id: StreamView.of(i) for i in reply.streams} == expected_view(model)
    live = {d.id for d in model.live_datasets()}
    assert {d.id for d in reply.datasets if d.name != "default"} == live
    assert {
        (r.token_id, r.logs_dataset_id, r.traces_dataset_id, r.metrics_dataset_id)
        for r in reply.token_routing
    } == {(t.id, t.logs, t.traces, t.metrics) for t in model.tokens.values() if not t.is_revoked}
    for info in reply.streams:
        for entry in info.datasets:
            _check_checkpoints(model, info.stream_id, entry)


def check_babies(model: Model, reply: nursery_pb2.GetIngestStreamsResponse) -> None:
    """I15: of each unmerged baby a nursery learns where its records go, decided at its commit."""
    for info in reply.streams:
        stream = model.streams[info.stream_id]
        wanted = range(stream.merged + 1, stream.committed + 1)
        assert [baby.offset for baby in info.unmerged_babies] == list(wanted)
        for baby in info.unmerged_babies:
            known = stream.babies[baby.offset]
            assert tuple(baby.dataset_ids) == known.stamps
            if known.stamps or not known.facts[2]:
                continue
            for token_id, datasets in known.routing.items():
                assert _routing(reply, stream.id, token_id, baby.offset) == datasets
            assert frozenset[str]().union(*known.routing.values()) <= stream.entries.keys()


def check_whereabouts(model: Model, meta: Instances) -> None:
    """LocateOffset finds a baby's records in the segments that hold them now."""
    for stream in model.streams.values():
        for offset in range(max(0, stream.committed - 2), stream.committed + 1):
            request = operations_pb2.LocateOffsetRequest(stream_id=stream.id, offset=offset)
            reply = meta.call(lambda c, r=request: c.operations.LocateOffset(r))  # type: ignore[misc]
            assert reply.committed
            assert reply.reaped == (offset <= stream.deleted)
            baby = stream.babies[offset]
            told = {full_key(info) for place in reply.locations for info in place.segments}
            assert told == {
                segment.key
                for segment in model.segments.values()
                if segment.is_live and (stream.id, offset) in segment.contents
                if baby.has_object and (not baby.stamps or segment.dataset_id in baby.stamps)
            }


def _routing(
    reply: nursery_pb2.GetIngestStreamsResponse, stream_id: str, token_id: str, offset: int
) -> frozenset[str]:
    """The routing in force for an offset: of the last period that began at or below it."""
    periods = [
        (period.from_offset, period.routing)
        for period in reply.routing_history
        if (period.stream_id, period.token_id) == (stream_id, token_id)
        and period.from_offset <= offset
    ]
    _, routing = max(periods, key=lambda period: period[0])
    named = {routing.logs_dataset_id, routing.traces_dataset_id, routing.metrics_dataset_id}
    return frozenset(named - {""})


def _check_checkpoints(
    model: Model, stream_id: str, entry: nursery_pb2.IngestStreamDatasetInfo
) -> None:
    """I14 and I7: an entry's checkpoints are its registrations, one after the other."""
    told = [(one.segment_offset, one.stream_offset) for one in entry.offset_checkpoints]
    known = [
        (move.version, move.end)
        for move in model.moves
        if (move.stream_id, move.dataset_id) == (stream_id, entry.dataset_id)
    ]
    # Those of an entry that was removed went with it.
    assert told == known[len(known) - len(told) :]
    assert told == sorted(told)
    # Beyond its last registration an entry has merged what holds nothing of it.
    assert not told or told[-1][1] <= entry.merged_offset
    stream = model.streams[stream_id]
    first = (told[-1][1] if told else stream.entries[entry.dataset_id].base) + 1
    between = stream.babies[first : entry.merged_offset + 1]
    assert not any(baby.is_for(entry.dataset_id) for baby in between)


def _view(stream: Stream) -> StreamView:
    merged = {dataset_id: stream.merged_of(dataset_id) for dataset_id in stream.entries}
    return StreamView(stream.committed, stream.deleted, stream.stopped, merged)
