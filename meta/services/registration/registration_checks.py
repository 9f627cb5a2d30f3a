"""Checks of registrations: at first sight if nothing is unusual, else field by field.

Bulk calls bring thousands a second: the check at first sight takes a third of the time of
`convert.new_segment`, which decides about all that it does not take.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from uuid import UUID

from meta import access
from meta.access import AuditCaller, Role
from meta.errors import InvalidArgument
from meta.services.messages import checks, convert, event_identities, segment_facts
from meta.store.registration.registrations import Merge
from meta.store.segments.segments import NewSegment
from meta.store.streams.stream_datasets import EntryMove
from meta.v1 import common_pb2, nursery_pb2
from segments.ids import UUID_CHARACTERS, canonical_uuid, parse_uuid
from segments.keys import merged_prefix
from segments.location import StoreLocation
from segments.named_stores import Stores
from segments.offsets import OffsetSpan
from segments.store_names import store_folder

MOVES_MAX = 10_000
SEGMENTS_MAX = 100
# The largest object that any store can hold, in one part.
_PLAIN_NAME = re.compile(r"[0-9A-Za-z_-][0-9A-Za-z._-]{0,254}")
_VERDICT = re.compile(r"[0-9a-f]{16}")


def checked_merge(
    request: nursery_pb2.RegisterMergedSegmentRequest, stores: Stores, caller: AuditCaller
) -> Merge:
    """Check a registration by `caller`. Raises InvalidArgument."""
    offsets, further = request.stream_offsets, request.more_segments
    if not offsets:
        raise InvalidArgument("stream_offsets must not be empty", field="stream_offsets")
    checks.at_most(offsets, "stream_offsets", MOVES_MAX)
    moves = tuple([_move(info, n) for n, info in enumerate(offsets)])
    if len(moves) > 1:
        checks.distinct([(m.stream_id, m.dataset_id) for m in moves], "stream_offsets")
    new: tuple[NewSegment, ...] = ()
    if request.HasField("segment"):
        new = (new_segment(stores, request.segment, "segment"),)
    elif further:
        raise InvalidArgument("more_segments without a segment", field="segment")
    if further:
        named = [(f"more_segments[{n}]", s) for n, s in enumerate(further)]
        checks.at_most([*new, *named], "more_segments", SEGMENTS_MAX)
        new += tuple([new_segment(stores, s, name) for name, s in named])
        checks.distinct([segment.object_key for segment in new], "more_segments")
    dataset_id = (new[0] if new else moves[0]).dataset_id
    named_ids = {*[s.dataset_id for s in new], *[m.dataset_id for m in moves]}
    if named_ids != {dataset_id}:
        raise InvalidArgument(f"not everything is of dataset {dataset_id}", field="stream_offsets")
    quarantined = _quarantined(request, moves) if request.quarantined else {}
    claims = None
    if request.HasField("identities"):
        claims = event_identities.checked_claims(request.identities, "identities")
    return Merge(
        dataset_id,
        new,
        moves,
        caller,
        is_audited=_is_person(),
        quarantined=quarantined,
        event_claims=claims,
    )


def _quarantined(
    request: nursery_pb2.RegisterMergedSegmentRequest, moves: Sequence[EntryMove]
) -> dict[UUID, str]:
    """Check the verdicts on records of streams, each of them one of the moves'."""
    checks.at_most(request.quarantined, "quarantined", len(moves))
    verdicts: dict[UUID, str] = {}
    moved = {move.stream_id for move in moves}
    for index, item in enumerate(request.quarantined):
        field = f"quarantined[{index}]"
        stream_id = checks.uuid(item.stream_id, f"{field}.stream_id")
        if stream_id not in moved:
            raise InvalidArgument("it is none of stream_offsets", field=f"{field}.stream_id")
        if not _VERDICT.fullmatch(item.verdict):
            raise InvalidArgument("it is not 16 hexadecimal digits", field=f"{field}.verdict")
        verdicts[stream_id] = item.verdict
    checks.distinct([item.stream_id for item in request.quarantined], "quarantined")
    return verdicts


def _is_person() -> bool:
    """Return true for a caller that is no nursery; a shared credential may be one."""
    principal = access.current.get()
    return principal.role is not Role.NURSERY and not principal.is_shared


def _move(info: nursery_pb2.StreamOffsetInfo, index: int) -> EntryMove:
    start, end = info.start_merged_offset, info.new_merged_offset
    if not -1 <= start < end or info.ingest_time_nanos < 0:
        return _move_by_field(info, index)
    try:
        return EntryMove(
            dataset_id=parse_uuid(info.dataset_id),
            offsets=OffsetSpan(canonical_uuid(info.stream_id), start + 1, end),
            ingest_time_nanos=info.ingest_time_nanos,
        )
    except ValueError:
        return _move_by_field(info, index)


def _move_by_field(info: nursery_pb2.StreamOffsetInfo, index: int) -> EntryMove:
    field = f"stream_offsets[{index}]"
    start = checks.count(info.start_merged_offset, f"{field}.start_merged_offset", low=-1)
    end = checks.count(info.new_merged_offset, f"{field}.new_merged_offset", low=start + 1)
    stream_id = checks.uuid(info.stream_id, f"{field}.stream_id")
    return EntryMove(
        dataset_id=checks.uuid(info.dataset_id, f"{field}.dataset_id"),
        offsets=OffsetSpan(str(stream_id), start + 1, end),
        ingest_time_nanos=checks.count(info.ingest_time_nanos, f"{field}.ingest_time_nanos"),
    )


def new_segment(stores: Stores, message: common_pb2.CreateSegment, field: str) -> NewSegment:
    """Check a new segment; its object must be under the prefix of its dataset."""
    return at_first_sight(stores, message) or convert.new_segment(stores, message, field)


def at_first_sight(stores: Stores, message: common_pb2.CreateSegment) -> NewSegment | None:
    """Check a message as nearly all are; None = `convert.new_segment` has to look at it."""
    dataset_id, own_prefix = _dataset(message.dataset_id)
    times, key = message.time_range, message.cloud_object_key
    start_ns, end_ns = times.start_time, times.end_time
    size_bytes, compressed_size_bytes = message.size_bytes, message.compressed_size_bytes
    events, prefix, name = message.number_of_events, key.prefix.prefix, key.key
    location = stores.default if prefix == own_prefix else _placed(stores, own_prefix, prefix)
    if (
        dataset_id is None
        or location is None
        or not message.HasField("time_range")
        or not 0 <= start_ns <= end_ns
        or not 0 <= size_bytes <= checks.SIZE_BYTES_MAX
        or not 0 <= compressed_size_bytes <= checks.SIZE_BYTES_MAX
        or not 0 <= events <= checks.EVENTS_MAX
        or _PLAIN_NAME.fullmatch(name) is None
        or (key.prefix.HasField("bucket") and key.prefix.bucket != convert.bucket(location))
    ):
        return None
    facts = signals = format_version = None
    field_ids: tuple[int, ...] = ()
    if message.HasField("facts"):
        signals = _signals(message.facts, (events, start_ns, end_ns))
        if signals is None:
            return None
        facts = message.facts.SerializeToString(deterministic=True)
        format_version = message.facts.format_version
        if message.facts.promoted_field_ids:
            field_ids = tuple(message.facts.promoted_field_ids)
    return NewSegment(
        dataset_id,
        start_ns,
        end_ns,
        size_bytes,
        compressed_size_bytes,
        events,
        prefix,
        name,
        f"{prefix}/{name}",
        facts,
        signals,
        format_version,
        message.crc32c if message.HasField("crc32c") else None,
        field_ids,
    )


def _signals(facts: common_pb2.SegmentFacts, whole: tuple[int, int, int]) -> int | None:
    """The mask of the signals of facts; None = they are none, or not in order.

    `whole` are the events, start and end of the segment, which the signals together must be.
    """
    mask, previous, total, starts, ends = 0, 0, 0, [], []
    for item in facts.signals:
        signal, events, times = item.signal, item.number_of_events, item.time_range
        start_ns, end_ns = times.start_time, times.end_time
        if not previous < signal <= segment_facts.SIGNAL_MAX or events < 1 or start_ns > end_ns:
            return None
        mask, previous, total = mask | 1 << signal, signal, total + events
        starts.append(start_ns)
        ends.append(end_ns)
    if not mask or (total, min(starts), max(ends)) != whole:
        return None
    ids = facts.promoted_field_ids
    if len(ids) and (
        len(ids) > segment_facts.FIELD_IDS_MAX or ids[0] < 1 or list(ids) != sorted(set(ids))
    ):
        return None
    return mask if 1 <= facts.format_version <= segment_facts.FORMAT_MAX else None


def _placed(stores: Stores, own_prefix: str, prefix: str) -> StoreLocation | None:
    """The store of a dataset's segments below a prefix; None for any other prefix."""
    for name, location in stores.named:
        if prefix == f"{own_prefix}/{store_folder(name)}"[:-1]:
            return location
    return None


# The same datasets come again and again. Texts of another length are not kept.
def _dataset(text: str) -> tuple[UUID | None, str]:
    return _known_dataset(text) if len(text) == UUID_CHARACTERS else (None, "")


@lru_cache(maxsize=16_384)
def _known_dataset(text: str) -> tuple[UUID | None, str]:
    """The id in a text, and the prefix of its objects without the last slash."""
    try:
        dataset_id = parse_uuid(text)
    except ValueError:
        return None, ""
    return dataset_id, merged_prefix(str(dataset_id)).rstrip("/")
