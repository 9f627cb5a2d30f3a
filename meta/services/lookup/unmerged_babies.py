"""Committed babies that a version does not show yet."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from meta.errors import CursorInvalid, ReplyTooLarge
from meta.services.messages import checks, convert, cursors
from meta.services.messages.convert import REPLY_BYTES_MAX
from meta.services.server_parts import ServerParts
from meta.services.streams import poll_reply
from meta.store.catalog import datasets
from meta.store.engine.pool import Transaction
from meta.store.lookup import unmerged_babies
from meta.store.lookup.unmerged_babies import OffsetCut
from meta.store.streams import stream_reads
from meta.store.streams.stream_reads import BabyRow
from meta.store.versions import versions
from meta.v1 import nursery_pb2
from meta.v1 import operations_pb2 as pb

PAGE_DEFAULT = 1_000
PAGE_MAX = 10_000
# They are all in the cursor: a MiB of text.
STREAMS_MAX = 20_000
# A page of them takes at most 4 MiB.
PERIODS_MAX = 20_000
# Version, second of the first page; then stream, after, last for each that is left.
_CURSOR = struct.Struct(">qq")
_CUT = struct.Struct(">16sqq")


@dataclass(frozen=True, slots=True)
class BabyCursor:
    """Rest of a cut, and the second in which the cut was made."""

    version: int
    began_secs: int
    cuts: tuple[OffsetCut, ...]


def list_unmerged_babies(
    server: ServerParts, request: pb.ListUnmergedBabiesRequest
) -> pb.ListUnmergedBabiesResponse:
    """Page through babies beyond a version that were committed at the first page."""
    dataset_id = checks.uuid(request.dataset_id, "dataset_id")
    version = checks.count(request.version, "version")
    limit = checks.limit(request.limit, default=PAGE_DEFAULT, most=PAGE_MAX)
    cursor = _decode(request.cursor, dataset_id) if request.cursor else None
    return server.transactions.read(
        lambda tx: _page(server, tx, dataset_id, version, cursor, limit)
    )


def _page(
    server: ServerParts,
    tx: Transaction,
    dataset_id: UUID,
    version: int,
    cursor: BabyCursor | None,
    limit: int,
) -> pb.ListUnmergedBabiesResponse:
    lifetimes, now_secs = server.settings.lifetimes, versions.snapshot(tx).now_secs
    if cursor is None:
        version, cuts = unmerged_babies.cut(tx, dataset_id, version)
        listed = datasets.list_some(tx, [dataset_id])
        if any(dataset.deduplication_rule is not None for dataset in listed):
            return pb.ListUnmergedBabiesResponse(version=version, merged_only=True)
        if len(cuts) > STREAMS_MAX:
            raise ReplyTooLarge(f"{len(cuts)} streams exceed the {STREAMS_MAX} of one cursor")
        cursor = BabyCursor(version, now_secs, tuple(cuts))
    elif not 0 <= now_secs - cursor.began_secs <= lifetimes.cursor:
        raise CursorInvalid("the cursor is too old", field="cursor")
    unmerged_babies.check_not_reapable(tx, dataset_id, cursor.version, lifetimes.tombstone_grace)
    babies = unmerged_babies.read(tx, dataset_id, cursor.cuts, limit + 1)
    reply = _reply(server, dataset_id, cursor, babies, limit)
    reply.routing_history.extend(_routing(tx, dataset_id, reply))
    return reply


def _reply(
    server: ServerParts, dataset_id: UUID, cursor: BabyCursor, babies: Sequence[BabyRow], limit: int
) -> pb.ListUnmergedBabiesResponse:
    reply = pb.ListUnmergedBabiesResponse(version=cursor.version)
    size_bytes, location = _encoded_bytes(cursor), server.settings.location
    for index, row in enumerate(babies):
        info = convert.baby_info(row)
        stream_id = str(row.stream_id)
        if not reply.streams or reply.streams[-1].stream_id != stream_id:
            prefix = convert.stream_place(location, row.stream_id)
            size_bytes += prefix.ByteSize() + 64
        size_bytes += info.ByteSize() + 8
        if index == limit or (index and size_bytes > REPLY_BYTES_MAX):
            last = babies[index - 1]
            reply.next_cursor = _encode(_behind(cursor, last), dataset_id)
            break
        if not reply.streams or reply.streams[-1].stream_id != stream_id:
            reply.streams.add(stream_id=stream_id, cloud_object_prefix=prefix)
        reply.streams[-1].babies.append(info)
    return reply


def _routing(
    tx: Transaction, dataset_id: UUID, reply: pb.ListUnmergedBabiesResponse
) -> Sequence[nursery_pb2.RoutingPeriod]:
    """Routing of the page's unstamped babies, of tokens that had a route to the dataset."""
    floors = {
        UUID(stream.stream_id): min(unstamped) - 1
        for stream in reply.streams
        if (unstamped := [baby.offset for baby in stream.babies if not baby.dataset_ids])
    }
    if not floors:
        return ()
    own_floors = {"streams": list(floors), "floors": list(floors.values())}
    rows = stream_reads.read_periods_of(tx, own_floors)
    sending = {
        (row.stream_id, row.token_id)
        for row in rows
        if dataset_id in (row.routing.logs, row.routing.traces, row.routing.metrics)
    }
    periods = [row for row in rows if (row.stream_id, row.token_id) in sending]
    if len(periods) > PERIODS_MAX:
        raise ReplyTooLarge(f"{len(periods)} routing periods exceed the {PERIODS_MAX} of one page")
    return poll_reply.periods(periods)


def _behind(cursor: BabyCursor, last: BabyRow) -> BabyCursor:
    """The rest of a cut behind a baby."""
    index = next(n for n, cut in enumerate(cursor.cuts) if cut.stream_id == last.stream_id)
    begun = cursor.cuts[index]
    cuts = (OffsetCut(begun.stream_id, last.offset, begun.last), *cursor.cuts[index + 1 :])
    return BabyCursor(cursor.version, cursor.began_secs, cuts)


def _encoded_bytes(cursor: BabyCursor) -> int:
    """Upper bound of the text of a cursor."""
    return 2 * (64 + _CUT.size * len(cursor.cuts))


def _encode(cursor: BabyCursor, dataset_id: UUID) -> str:
    parts = [_CURSOR.pack(cursor.version, cursor.began_secs)]
    parts += [_CUT.pack(cut.stream_id.bytes, cut.after, cut.last) for cut in cursor.cuts]
    position = b"".join(parts)
    return cursors.encode(position, _bound_to(position, dataset_id))


def _decode(text: str, dataset_id: UUID) -> BabyCursor:
    position = cursors.decode(text, None, lambda raw: _bound_to(raw, dataset_id), "cursor")
    version, began_secs = _CURSOR.unpack_from(position)
    cuts = _CUT.iter_unpack(position[_CURSOR.size :])
    return BabyCursor(
        version, began_secs, tuple(OffsetCut(UUID(bytes=i), after, last) for i, after, last in cuts)
    )


def _bound_to(position: bytes, dataset_id: UUID) -> bytes:
    return position + f"ListUnmergedBabies {dataset_id}".encode()
