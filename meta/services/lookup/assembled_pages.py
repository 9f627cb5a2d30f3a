"""Pages of FindSegments, put together by the database.

The reply is the database's bytes with the cursor and the layouts behind them. A page of very many
datasets is read in parts, at one version; one that is too long ends once the reply has no room.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from meta.commits.transactions import Transactions
from meta.errors import CursorInvalid, Unavailable, VersionNotReached
from meta.services.lookup import segment_layouts
from meta.services.lookup.checked_lookup import CheckedLookup, LookupCursor
from meta.services.lookup.segment_layouts import KnownLayouts
from meta.services.messages.convert import REPLY_BYTES_MAX
from meta.store.engine.pool import Conflict, TimelineChanged, Transaction
from meta.store.lookup import held_classes, lookup
from meta.store.lookup.held_classes import NONE_KNOWN, HeldClasses, KnownClasses
from meta.store.lookup.lookup import Position
from meta.store.lookup.page_statement import (
    BEFORE_ALL,
    DATASETS_PROBED_MAX,
    AssembledPage,
    PageQuery,
    SegmentStatements,
)
from meta.store.lookup.segment_frames import HEAD_BYTES, SEGMENT_TAG
from meta.store.segments import object_stores
from meta.store.segments.segments import duration_class
from meta.store.versions import versions
from meta.v1 import segment_lookup_pb2
from meta.v1.common_pb2 import SegmentInfo

# The cursor and the version of a reply, at most.
_REST_BYTES = 256


@dataclass(slots=True)
class _Page:
    """The segments of a page, part by part.

    `frames` begin without a tag; `last_bytes` is the length of the last segment. `keys` has for
    each segment that of its layout, None for one without; `datasets` is as in `AssembledPage`.
    """

    frames: memoryview = memoryview(b"")  # noqa: RUF009  # never written
    last_bytes: int = 0
    keys: list[bytes | None] = field(default_factory=list)
    datasets: bytes = b""
    has_more: bool = False

    def add(self, part: AssembledPage, limit: int) -> None:
        """Add at most `limit` segments of a part."""
        shown = min(part.num_found, limit)
        self.has_more = part.num_found > shown
        self.datasets += part.datasets or b""
        if not shown:
            return
        frames = memoryview(part.frames or b"")
        if part.last_bytes:
            self.last_bytes = part.last_bytes[0]
            if self.has_more:
                frames = frames[: -part.last_bytes[-1] - HEAD_BYTES]
        # Nearly always there is one part, whose bytes are not copied.
        if self.keys:
            frames = memoryview(SEGMENT_TAG.join((self.frames, frames)))
        self.frames = frames
        keys = part.layout_keys
        self.keys += [None] * shown if keys is None else keys[:shown]

    def layout_keys(self) -> dict[bytes, segment_layouts.Key]:
        """The keys of layouts, with ids of datasets, in the order of the page."""
        distinct = [key for key in dict.fromkeys(self.keys) if key is not None]
        if not distinct:
            return {}
        ids = {
            self.datasets[at : at + 4]: self.datasets[at + 4 : at + 20]
            for at in range(0, len(self.datasets), 20)
        }
        return {key: (str(UUID(bytes=ids[key[:4]])), key[4:]) for key in distinct}

    def cut(self, layouts: Mapping[bytes, segment_lookup_pb2.SegmentLayout]) -> int:
        """End the page once the reply has no room, or a layout is missing, but not empty.

        Returns how many of the layouts it has.
        """
        size_bytes, num_layouts, shown, end = _REST_BYTES, 0, 0, 0
        used: set[bytes] = set()
        for (start, next_end), key in zip(_bounds(self.frames), self.keys, strict=True):
            if key is not None and key not in used:
                if key not in layouts:
                    break
                size_bytes += segment_layouts.size_bytes([layouts[key]])
                used.add(key)
            if shown and size_bytes + next_end > REPLY_BYTES_MAX:
                break
            self.last_bytes = next_end - start
            shown, end, num_layouts = shown + 1, next_end, len(used)
        self.has_more = self.has_more or shown < len(self.keys)
        self.frames, self.keys = self.frames[:end], self.keys[:shown]
        return num_layouts

    def number(self, numbers: Mapping[bytes, int]) -> None:
        """Write the numbers of layouts, which stand at the ends of the frames."""
        written = bytearray(self.frames)
        for (_, end), key in zip(_bounds(self.frames), self.keys, strict=True):
            if key is not None and (number := numbers[key]):
                written[end - 2] = number & 127 | 128
                written[end - 1] = number >> 7
        self.frames = memoryview(written)

    def position(self) -> Position:
        """The position behind the last segment."""
        segment = SegmentInfo.FromString(bytes(self.frames[-self.last_bytes :]))
        dataset_id = UUID(segment.dataset_id).bytes
        at = self.datasets.index(dataset_id)
        while at % 20 != 4:
            at = self.datasets.index(dataset_id, at + 1)
        key = int.from_bytes(self.datasets[at - 4 : at])
        start_ns, end_ns = segment.time_range.start_time, segment.time_range.end_time
        return Position(key, duration_class(start_ns, end_ns), start_ns, UUID(segment.id))


class AssembledPages:
    """Reads pages of one location; for all threads."""

    def __init__(
        self, transactions: Transactions, statements: SegmentStatements, cursor_secs_max: float
    ) -> None:
        self._transactions = transactions
        self._statements = statements
        self._cursor_secs_max = cursor_secs_max
        self._held_classes = HeldClasses()
        self._layouts = KnownLayouts()

    def find(self, checked: CheckedLookup) -> bytes:
        """The serialized reply. Raises what refuses a lookup."""
        page = _Page()
        query = self.query(checked)
        part = first = self._read_part(checked, query)
        page.add(part, query.limit)
        while part.last_key is not None and not page.has_more:
            known = self._known(checked, part.last_key)
            query = query.behind_dataset(part, part.num_found, known)
            part = self._read_part(checked, query)
            page.add(part, query.limit)
        return self._reply(checked, page, first)

    def query(self, checked: CheckedLookup) -> PageQuery:
        """The values of the first part's statement."""
        cursor = checked.cursor
        return PageQuery(
            start_ns=checked.start_ns,
            last_ns=checked.latest_ns,
            limit=checked.limit,
            behind=cursor.position if cursor else BEFORE_ALL,
            signals=checked.signals,
            requested=cursor.version if cursor else checked.as_of,
            min_version=checked.min_version,
            names=checked.names,
            known=self._known(checked, cursor.position.dataset_key if cursor else 0),
        )

    def _read_part(self, checked: CheckedLookup, query: PageQuery) -> AssembledPage:
        """Read a part of a page, and remember the classes of datasets that it shows."""

        def read() -> AssembledPage:
            part = self._statements.read_page(self._transactions.database, query)
            if not part.is_current:
                raise TimelineChanged
            if not part.is_readable or self._is_over(checked, part.now_secs):
                self._transactions.read(lambda tx: self._refuse(tx, checked, query))
                # It has become readable since.
                raise Conflict("40001")
            return part

        part = self._transactions.read_again(read)
        if _is_wide(checked):
            new = [(packed >> 18, packed & (1 << 18) - 1) for packed in part.new_masks]
            if part.unknown_keys:
                new += self._transactions.read(
                    lambda tx: held_classes.read(tx, part.unknown_keys).items()
                )
            self._held_classes.learn(new, part.counter)
        return part

    def _refuse(self, tx: Transaction, checked: CheckedLookup, query: PageQuery) -> None:
        """Raise why a page cannot be read."""
        snapshot = versions.snapshot(tx)
        if snapshot.version < checked.min_version:
            raise VersionNotReached(
                f"the version is {snapshot.version}, not yet {checked.min_version}"
            )
        if self._is_over(checked, snapshot.now_secs):
            raise CursorInvalid("the cursor is too old", field="cursor")
        version = lookup.readable_version(tx, snapshot, query.requested)
        lookup.visible_datasets(tx, checked.names, version)
        for name in object_stores.unknown(tx, self._statements.store_names):
            raise Unavailable(f"object store {name!r} is not configured at this server")

    def _is_over(self, checked: CheckedLookup, now_secs: int) -> bool:
        cursor = checked.cursor
        return cursor is not None and not 0 <= now_secs - cursor.began_secs <= self._cursor_secs_max

    def _known(self, checked: CheckedLookup, first_key: int) -> KnownClasses:
        return self._held_classes.known(first_key) if _is_wide(checked) else NONE_KNOWN

    def _reply(self, checked: CheckedLookup, page: _Page, first: AssembledPage) -> bytes:
        keys = page.layout_keys()
        layouts: Sequence[segment_lookup_pb2.SegmentLayout] = ()
        if keys:
            layouts = self._layouts.find(self._transactions, list(keys.values()), first.counter)
        size_bytes = _REST_BYTES + len(page.frames) + segment_layouts.size_bytes(layouts)
        if len(layouts) < len(keys) or size_bytes > REPLY_BYTES_MAX:
            layouts = layouts[: page.cut(dict(zip(keys, layouts, strict=False)))]
        if len(layouts) > 1:
            page.number({key: number for number, key in enumerate(keys)})
        next_cursor = None
        if page.has_more:
            began_secs = checked.cursor.began_secs if checked.cursor else first.now_secs
            next_cursor = checked.encode(LookupCursor(first.version, began_secs, page.position()))
        rest = segment_lookup_pb2.FindSegmentsResponse(
            page=segment_lookup_pb2.PagedResponse(next_cursor=next_cursor),
            snapshot_version=first.version,
            layouts=layouts,
        ).SerializeToString()
        return b"".join((SEGMENT_TAG, page.frames, rest)) if page.keys else rest


def _is_wide(checked: CheckedLookup) -> bool:
    """True for a lookup in perhaps more datasets than all classes are probed of."""
    return not 0 < len(checked.names) <= DATASETS_PROBED_MAX


def _bounds(frames: memoryview) -> Iterator[tuple[int, int]]:
    """The start and the end of each segment; the first has no tag."""
    end = -1
    while end < len(frames):
        # The tag, and two bytes of the length.
        start = end + HEAD_BYTES
        end = start + (frames[start - 2] & 127 | frames[start - 1] << 7)
        yield start, end
