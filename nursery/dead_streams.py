"""Ends streams whose collector died, after committing what it had put and not committed."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import structlog

from meta.client import MetaClient
from meta.errors import StopMismatch
from meta.v1 import ingestion_pb2, nursery_pb2
from nursery.snapshot import StreamInfo
from segments.baby import Baby, TokenPart, decode_baby
from segments.errors import CorruptObject
from segments.keys import BabyKey, baby_key, baby_prefix, parse_key
from segments.otlp.arrow import pc
from segments.otlp.decode import Decoded, FailedSlice, decode
from segments.otlp.split import cut
from segments.otlp.wire import UndecodableSlice
from segments.store.interface import ObjectInfo, ObjectStore

log = structlog.get_logger()


def stop_dead(client: MetaClient, store: ObjectStore, info: StreamInfo, silent_since: int) -> None:
    """End a stream whose collector is silent: commit the tail it left, then mark it stopped.

    The tail ends at the first hole: what lies beyond it was never acknowledged. One that has been
    written to after `silent_since` is its collector's, who only did not reach meta.
    """
    committed = info.stream.committed_offset
    tail = list(_tail(store, info.stream_id, committed + 1))
    if any(found.modified_at_nanos > silent_since for found in tail):
        log.info("silent_stream_written", stream_id=info.stream_id)
        return
    for request in _commits(store, info.stream_id, committed + 1, tail):
        client.ingestion.CommitOffset(request)
        committed = request.committed_offset
    try:
        client.nursery.MarkStreamStopped(
            nursery_pb2.MarkStreamStoppedRequest(
                stream_id=info.stream_id,
                final_offset=committed,
                reason=nursery_pb2.STOP_REASON_TIMEOUT,
            )
        )
    except StopMismatch:
        # Its collector is back, or another nursery was faster.
        return
    log.info(
        "dead_stream_stopped",
        stream_id=info.stream_id,
        adopted=committed - info.stream.committed_offset,
    )


def _tail(store: ObjectStore, stream_id: str, first: int) -> Iterator[ObjectInfo]:
    """The babies from offset `first` to the first hole."""
    start_after = baby_key(stream_id, first - 1) if first > 0 else ""
    for expected, found in enumerate(store.list(baby_prefix(stream_id), start_after), first):
        key = parse_key(found.key)
        if not isinstance(key, BabyKey) or key.offset != expected:
            return
        yield found


def _commits(
    store: ObjectStore, stream_id: str, first: int, tail: Sequence[ObjectInfo]
) -> Iterator[ingestion_pb2.CommitOffsetRequest]:
    """Commits for a tail, in order; a stop message or a baby that cannot be read ends them."""
    for offset, found in enumerate(tail, first):
        body = store.get(found.key)
        try:
            baby = decode_baby(body)
        except CorruptObject:
            return
        facts = _facts(baby, found.modified_at_nanos)
        records = Counter[str]()
        for part in baby.parts:
            if part.dataset_id:
                records[part.dataset_id] += part.num_records
        yield ingestion_pb2.CommitOffsetRequest(
            stream_id=stream_id,
            committed_offset=offset,
            start_time=facts.start_time,
            end_time=facts.end_time,
            size_bytes=len(body),
            num_records=facts.num_records,
            flush_id=baby.flush_id,
            dataset_ids=records.keys(),
            dataset_records=records.values(),
        )
        if baby.is_stop:
            return


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a commit says of its baby."""

    num_records: int
    start_time: int
    end_time: int


def _facts(baby: Baby, modified_at: int) -> _Facts:
    """A baby's facts by its stamps, or by decoding it where it has none."""
    if baby.is_stamped:
        return _Facts(baby.num_records, *baby.time_range())
    rows, times = 0, list[int]()
    for part in baby.parts:
        for decoded in _decoded_in_pieces(part, modified_at):
            # What will not decode counts too: a baby of no records would be taken for empty.
            rows += len(decoded.failed)
            if decoded.table is not None:
                rows += decoded.table.num_rows
                time_bounds = pc.min_max(decoded.table["timestamp"].cast("int64")).as_py()
                times.extend((time_bounds["min"], time_bounds["max"]))
    return _Facts(rows, min(times, default=0), max(times, default=0))


def _decoded_in_pieces(part: TokenPart, received_at: int) -> Iterator[Decoded]:
    for body in part.slices:
        try:
            pieces = cut(part.signal, body, is_validated=False)
        except UndecodableSlice as error:
            yield Decoded(failed=(FailedSlice(0, str(error)),))
            continue
        for piece in pieces:
            yield decode(part.signal, [piece], [received_at], are_checked=True)
