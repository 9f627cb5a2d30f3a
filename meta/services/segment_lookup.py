"""SegmentLookupService: pages of segments at one version."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import grpc

from meta.config import Settings
from meta.errors import CursorInvalid, VersionNotReached
from meta.services import checks, convert, cursors, segment_facts, segment_layouts
from meta.services.convert import REPLY_BYTES_MAX
from meta.services.segment_layouts import PageLayouts
from meta.store import lookup, segments
from meta.store.engine import Transaction
from meta.store.lookup import Position, Query
from meta.store.segment_rows import SegmentRow
from meta.transactions import Transactions
from meta.v1 import segment_lookup_pb2, segment_lookup_pb2_grpc

PAGE_DEFAULT = 1_000
PAGE_MAX = 10_000
IDS_MAX = 1_000
NAMES_MAX = 10_000
# Upper bound of the size of a segment's message without its texts.
SEGMENT_BYTES = 200
# Version, second of the first page, position.
_CURSOR = struct.Struct(">qqihq16s")


@dataclass(frozen=True, slots=True)
class LookupCursor:
    """Position after a page: its version, the second of the first page, its last segment."""

    version: int
    began_secs: int
    position: Position


@dataclass(frozen=True, slots=True)
class _Page:
    segments: list[SegmentRow]
    layouts: PageLayouts
    version: int
    next_cursor: str | None


class SegmentLookupServicer(segment_lookup_pb2_grpc.SegmentLookupServiceServicer):
    """SegmentLookupService; see docs/contract.md."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings
        self._bucket_bytes = convert.bucket(settings.location).ByteSize()

    def FindSegments(
        self, request: segment_lookup_pb2.FindSegmentsRequest, context: grpc.ServicerContext
    ) -> segment_lookup_pb2.FindSegmentsResponse:
        """Page through the segments that overlap a range, all at the first page's version.

        Raises VersionNotReached below `min_version`; the pipeline waits and calls again.
        """
        checked = CheckedLookup.of(request)
        page = self._transactions.read(lambda tx: self._page(tx, checked))
        location = self._settings.location
        reply = segment_lookup_pb2.FindSegmentsResponse(
            page=segment_lookup_pb2.PagedResponse(next_cursor=page.next_cursor),
            snapshot_version=page.version,
        )
        convert.add_segments(reply.segments, location, page.segments)
        page.layouts.add_to(reply)
        return reply

    def GetSegmentsByIds(
        self, request: segment_lookup_pb2.GetSegmentsByIdsRequest, context: grpc.ServicerContext
    ) -> segment_lookup_pb2.GetSegmentsByIdsResponse:
        """Read segments by id, in the order of the request."""
        checks.at_most(request.segment_ids, "segment_ids", IDS_MAX)
        ids = dict.fromkeys(
            checks.uuid(text, f"segment_ids[{index}]")
            for index, text in enumerate(request.segment_ids)
        )
        rows = self._transactions.read(lambda tx: segments.get_many(tx, list(ids)))
        by_id = {UUID(row.id): row for row in rows}
        existing = [by_id[segment_id] for segment_id in ids if segment_id in by_id]
        reply = segment_lookup_pb2.GetSegmentsByIdsResponse()
        convert.add_segments(reply.segments, self._settings.location, existing)
        return reply

    def _page(self, tx: Transaction, checked: "CheckedLookup") -> _Page:
        snapshot = lookup.snapshot(tx)
        if snapshot.version < checked.min_version:
            raise VersionNotReached(
                f"the version is {snapshot.version}, not yet {checked.min_version}"
            )
        began_secs, cursor = snapshot.now_secs, checked.cursor
        if cursor is not None:
            began_secs = cursor.began_secs
            if not 0 <= snapshot.now_secs - began_secs <= self._settings.lifetimes.cursor:
                raise CursorInvalid("the cursor is too old", field="cursor")
        version = lookup.readable_version(tx, snapshot, cursor.version if cursor else checked.as_of)
        datasets = lookup.visible_datasets(tx, checked.names, version)
        query = Query(
            checked.start_ns,
            checked.last_ns,
            version,
            cursor.position if cursor else None,
            checked.signals,
        )
        matches = lookup.find(tx, query, datasets, checked.limit + 1)
        rows = [match.segment for match in matches[: checked.limit]]
        layouts = segment_layouts.read(tx, rows, list(map(self._size, rows)), REPLY_BYTES_MAX)
        shown = len(layouts.numbers)
        next_cursor = None
        if shown < len(matches):
            position = matches[shown - 1].position()
            next_cursor = checked.encode(LookupCursor(version, began_secs, position))
        return _Page(rows[:shown], layouts, version, next_cursor)

    def _size(self, segment: SegmentRow) -> int:
        """Upper bound of the bytes of a segment's message."""
        texts = len(segment.prefix) + len(segment.object_name)
        return SEGMENT_BYTES + self._bucket_bytes + 4 * texts + len(segment.facts or b"")


@dataclass(frozen=True, slots=True)
class CheckedLookup:
    """A checked FindSegmentsRequest."""

    start_ns: int
    last_ns: int
    names: tuple[str, ...]
    limit: int
    as_of: int | None
    min_version: int
    signals: int | None
    cursor: LookupCursor | None

    @classmethod
    def of(cls, request: segment_lookup_pb2.FindSegmentsRequest) -> "CheckedLookup":
        """Check a request. Raises InvalidArgument or CursorInvalid."""
        start_ns, last_ns = lookup.INT64_MIN, lookup.INT64_MAX
        if request.HasField("time_range"):
            start_ns, end_ns = checks.half_open_range(request.time_range, "time_range")
            last_ns = end_ns - 1
        checks.at_most(request.dataset_names, "dataset_names", NAMES_MAX)
        names = {
            checks.name(name, f"dataset_names[{index}]")
            for index, name in enumerate(request.dataset_names)
        }
        as_of = checks.count(request.as_of_version, "as_of_version")
        checked = cls(
            start_ns=start_ns,
            last_ns=last_ns,
            names=tuple(sorted(names)),
            limit=checks.limit(request.limit, default=PAGE_DEFAULT, most=PAGE_MAX),
            as_of=as_of if request.HasField("as_of_version") else None,
            min_version=checks.count(request.min_version, "min_version"),
            signals=_signal_mask(request.signals),
            cursor=None,
        )
        if not request.cursor:
            return checked
        return replace(checked, cursor=checked.decode(request.cursor))

    def encode(self, cursor: LookupCursor) -> str:
        """The cursor as opaque text, bound to the filter."""
        position = cursor.position
        packed = _CURSOR.pack(
            cursor.version,
            cursor.began_secs,
            position.dataset_key,
            position.dur_class,
            position.start_ns,
            position.segment_id.bytes,
        )
        return cursors.encode(packed, self._bound_to(packed))

    def decode(self, text: str) -> LookupCursor:
        """Decode a cursor. Raises CursorInvalid for the cursor of another filter."""
        packed, digest = cursors.split(text, _CURSOR.size, "cursor")
        cursors.check(digest, self._bound_to(packed), "cursor")
        version, began, key, dur_class, start_ns, segment_id = _CURSOR.unpack(packed)
        position = Position(key, dur_class, start_ns, UUID(bytes=segment_id))
        return LookupCursor(version, began, position)

    def _bound_to(self, packed: bytes) -> bytes:
        bound: tuple[object, ...] = (self.start_ns, self.last_ns, self.names)
        # Cursors of servers that know no signals stay valid.
        if self.signals is not None:
            bound = (*bound, self.signals)
        return packed + repr(bound).encode()


def _signal_mask(signals: Sequence[int]) -> int | None:
    checks.at_most(signals, "signals", segment_facts.SIGNAL_MAX)
    for index, signal in enumerate(signals):
        checks.count(signal, f"signals[{index}]", low=1, high=segment_facts.SIGNAL_MAX)
    return segment_facts.signal_mask(signals) if signals else None
