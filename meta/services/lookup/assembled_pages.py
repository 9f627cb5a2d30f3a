"""Checked requests of FindSegments, and their pages, nearly all put together by the database.

The reply is the database's bytes with the cursor and the layouts behind them. A page that its
statement does not answer, or that its size may cut short, is None and is read row by row.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from meta.commits.transactions import Transactions
from meta.services.lookup import segment_bytes, segment_layouts
from meta.services.lookup.segment_bytes import SegmentFrames
from meta.services.lookup.segment_layouts import KnownLayouts
from meta.services.messages import checks, cursors, segment_facts
from meta.services.messages.convert import REPLY_BYTES_MAX
from meta.store.engine.pool import Conflict
from meta.store.lookup import lookup
from meta.store.lookup.held_classes import HeldClasses, KnownClasses
from meta.store.lookup.lookup import DATASETS_PROBED_MAX, INT64_MIN, Position, Query
from meta.store.lookup.page_statement import (
    HEAD_BYTES,
    SEGMENT_TAG,
    AssembledPage,
    PageQuery,
    PageStatement,
)
from meta.v1 import segment_lookup_pb2

PAGE_DEFAULT = 1_000
PAGE_MAX = 10_000
NAMES_MAX = 10_000
# Version, second of the first page, position.
_CURSOR = struct.Struct(">qqihq16s")


@dataclass(frozen=True, slots=True)
class LookupCursor:
    """Position after a page: its version, the second of the first page, its last segment."""

    version: int
    began_secs: int
    position: Position


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


class AssembledPages:
    """Reads pages by one statement each; of one location, for all threads."""

    def __init__(
        self,
        transactions: Transactions,
        frames: SegmentFrames,
        held_classes: HeldClasses,
        cursor_secs_max: float,
    ) -> None:
        self._transactions = transactions
        self._held_classes = held_classes
        self._cursor_secs_max = cursor_secs_max
        self.statement = PageStatement(frames.bucket)
        self._layouts = KnownLayouts()

    def find(self, checked: CheckedLookup) -> bytes | None:
        """The serialized reply; None where the page has to be read row by row."""
        query = self.query(checked)
        try:
            page = self.statement.read(self._transactions.database, query)
        except Conflict:
            return None
        if _is_wide(checked):
            self._learn(page)
        cursor = checked.cursor
        if cursor and not 0 <= page.now_secs - cursor.began_secs <= self._cursor_secs_max:
            return None
        has_more = page.num_found > checked.limit
        is_complete = has_more or page.has_all_datasets
        if not page.is_regular or page.num_framed < page.num_found or not is_complete:
            return None
        return self._reply(checked, page, has_more=has_more)

    def query(self, checked: CheckedLookup) -> PageQuery:
        """The values of the statement."""
        cursor = checked.cursor
        return PageQuery(
            Query(
                checked.start_ns,
                checked.last_ns,
                INT64_MIN,
                cursor.position if cursor else None,
                checked.signals,
            ),
            cursor.version if cursor else checked.as_of,
            checked.min_version,
            checked.names,
            checked.limit,
            self._known(checked),
        )

    def _known(self, checked: CheckedLookup) -> KnownClasses:
        if not _is_wide(checked):
            return KnownClasses()
        first_key = checked.cursor.position.dataset_key if checked.cursor else 0
        return self._held_classes.known(first_key)

    def _learn(self, page: AssembledPage) -> None:
        """Remember the classes of datasets that have new segments, and of those not known yet."""
        if page.is_regular and page.new_masks:
            self._held_classes.learn(
                [(packed >> 18, packed & (1 << 18) - 1) for packed in page.new_masks], page.counter
            )
        if page.unknown_keys:
            self._transactions.read(
                lambda tx: self._held_classes.find(tx, page.unknown_keys, page.counter)
            )

    def _reply(
        self, checked: CheckedLookup, page: AssembledPage, *, has_more: bool
    ) -> bytes | None:
        frames = memoryview(page.frames or b"")
        layouts: Sequence[segment_lookup_pb2.SegmentLayout] = ()
        if has_more:
            assert page.surplus_bytes is not None
            frames = frames[: -page.surplus_bytes - HEAD_BYTES]
        if page.layout_keys is not None:
            keys = page.layout_keys[: checked.limit]
            numbers = {key: n for n, key in enumerate(k for k in dict.fromkeys(keys) if k)}
            known = self._layouts.find(
                self._transactions, _with_ids(list(numbers), page.datasets or b""), page.counter
            )
            if known is None:
                return None
            layouts = known
            if len(numbers) > 1:
                frames = _numbered(frames, [None if k is None else numbers[k] for k in keys])
        num_shown = min(page.num_found, checked.limit)
        own_bytes = len(frames) + num_shown * segment_bytes.FRAME_BYTES
        if own_bytes + segment_layouts.size_bytes(layouts) > REPLY_BYTES_MAX:
            return None
        began_secs = checked.cursor.began_secs if checked.cursor else page.now_secs
        next_cursor = None
        if has_more:
            next_cursor = checked.encode(LookupCursor(page.version, began_secs, page.position()))
        rest = segment_lookup_pb2.FindSegmentsResponse(
            page=segment_lookup_pb2.PagedResponse(next_cursor=next_cursor),
            snapshot_version=page.version,
            layouts=layouts,
        ).SerializeToString()
        return b"".join((SEGMENT_TAG, frames, rest)) if num_shown else rest


def _is_wide(checked: CheckedLookup) -> bool:
    """True for a lookup in perhaps more datasets than all classes are probed of."""
    return not 0 < len(checked.names) <= DATASETS_PROBED_MAX


def _with_ids(keys: Sequence[bytes], datasets: bytes) -> list[segment_layouts.Key]:
    """Keys of layouts by dataset ids instead of keys."""
    ids = {datasets[at : at + 4]: datasets[at + 4 : at + 20] for at in range(0, len(datasets), 20)}
    return [(str(UUID(bytes=ids[key[:4]])), key[4:]) for key in keys]


def _numbered(frames: memoryview, numbers: Sequence[int | None]) -> memoryview:
    """Frames with the numbers of their layouts, which stand at their ends."""
    written = bytearray(frames)
    end = -1
    for number in numbers:
        # The tag, which the first frame does not have, and two bytes of its length.
        start = end + HEAD_BYTES
        end = start + (written[start - 2] & 127 | written[start - 1] << 7)
        if number:
            written[end - 2] = number & 127 | 128
            written[end - 1] = number >> 7
    return memoryview(written)
