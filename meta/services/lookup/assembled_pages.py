"""Pages of FindSegments, put together of what rows keep.

A page of very many datasets is read in parts, at one version; one that is too long ends once the
reply has no room.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from meta.commits.transactions import Transactions
from meta.errors import CursorInvalid, Unavailable, VersionNotReached
from meta.services.lookup import segment_bytes, segment_layouts
from meta.services.lookup.checked_lookup import CheckedLookup, LookupCursor
from meta.services.lookup.segment_bytes import PIECES, SegmentEncoder
from meta.services.lookup.segment_layouts import KnownLayouts
from meta.services.messages.convert import REPLY_BYTES_MAX
from meta.store.engine.pool import Conflict, TimelineChanged, Transaction
from meta.store.lookup import held_classes, lookup
from meta.store.lookup.held_classes import NONE_KNOWN, HeldClasses, KnownClasses
from meta.store.lookup.lookup import Position
from meta.store.lookup.page_parts import PagePart
from meta.store.lookup.page_statement import (
    BEFORE_ALL,
    DATASETS_PROBED_MAX,
    PageQuery,
    SegmentStatements,
)
from meta.store.segments import object_stores
from meta.store.versions import versions
from meta.v1 import segment_lookup_pb2
from meta.v1.common_pb2 import SegmentInfo

# The cursor and the version of a reply, at most.
_REST_BYTES = 256


@dataclass(slots=True)
class _Page:
    """The segments of a page, part by part.

    `pieces` are those of its segments (`SegmentEncoder`), `pairs` as in `PagePart`. `layouts` has
    the field of each layout's number, `first_uses` the index of the first segment of each.
    """

    pieces: list[bytes] = field(default_factory=list)
    pairs: list[int] = field(default_factory=list)
    layouts: dict[segment_layouts.Key, bytes] = field(default_factory=dict)
    first_uses: dict[segment_layouts.Key, int] = field(default_factory=dict)
    has_more: bool = False

    def add(self, part: PagePart, limit: int, encoder: SegmentEncoder) -> None:
        """Add at most `limit` segments of a part."""
        self.pieces += encoder.encode(part.columns, self._facts(part, limit))
        self.pairs += part.pairs[:limit]
        self.has_more = len(part.pairs) > limit

    def _facts(self, part: PagePart, limit: int) -> Iterator[bytes]:
        """The facts of each segment without the ids of its columns, which are in its layout."""
        first = len(self.pairs)
        for index, facts, pair in zip(range(limit), part.columns.facts, part.pairs, strict=False):
            start = segment_bytes.ids_start(facts) if facts else None
            if not facts:
                yield b""
            elif start is None:
                yield segment_bytes.facts_field(facts)
            else:
                key = pair >> 5, facts[start:]
                number = self.layouts.get(key) or self._add_layout(key, first + index)
                yield segment_bytes.facts_field(facts[:start]) + number

    def _add_layout(self, key: segment_layouts.Key, first_use: int) -> bytes:
        number = self.layouts[key] = segment_bytes.layout_field(len(self.layouts))
        self.first_uses[key] = first_use
        return number

    def cut(self, layouts: Sequence[segment_lookup_pb2.SegmentLayout]) -> int:
        """End the page once the reply has no room, or a layout is missing, but not empty.

        Returns how many of the layouts it has.
        """
        size_bytes, num_layouts, shown = _REST_BYTES, 0, 0
        first_uses = set(self.first_uses.values())
        for index in range(len(self.pairs)):
            used = num_layouts + (index in first_uses)
            if used > len(layouts):
                break
            size_bytes += segment_layouts.size_bytes(layouts[num_layouts:used])
            size_bytes += sum(map(len, self._pieces(index)))
            if index and size_bytes > REPLY_BYTES_MAX:
                break
            num_layouts, shown = used, index + 1
        self.has_more = self.has_more or shown < len(self.pairs)
        del self.pairs[shown:], self.pieces[shown * PIECES :]
        return num_layouts

    def position(self) -> Position:
        """The position behind the last segment."""
        pair, segment = self.pairs[-1], self._segment(len(self.pairs) - 1)
        return Position(pair >> 5, pair & 31, segment.time_range.start_time, UUID(segment.id))

    def dataset_id(self, layout: segment_layouts.Key) -> str:
        """The dataset of a layout."""
        return self._segment(self.first_uses[layout]).dataset_id

    def _segment(self, index: int) -> SegmentInfo:
        reply = b"".join(self._pieces(index))
        return segment_lookup_pb2.FindSegmentsResponse.FromString(reply).segments[0]

    def _pieces(self, index: int) -> Sequence[bytes]:
        return self.pieces[index * PIECES : (index + 1) * PIECES]


class AssembledPages:
    """Reads pages; for all threads."""

    def __init__(
        self,
        transactions: Transactions,
        statements: SegmentStatements,
        encoder: SegmentEncoder,
        cursor_secs_max: float,
    ) -> None:
        self._transactions = transactions
        self._statements = statements
        self._encoder = encoder
        self._cursor_secs_max = cursor_secs_max
        self._held_classes = HeldClasses()
        self._layouts = KnownLayouts()

    def find(self, checked: CheckedLookup) -> bytes:
        """The serialized reply. Raises what refuses a lookup."""
        page = _Page()
        query = self.query(checked)
        part = first = self._read_part(checked, query)
        page.add(part, query.limit, self._encoder)
        while part.last_key is not None and not page.has_more:
            known_classes = self._known(checked, part.last_key)
            query = query.behind_dataset(part, known_classes)
            part = self._read_part(checked, query)
            page.add(part, query.limit, self._encoder)
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
            classes=self._known(checked, cursor.position.dataset_key if cursor else 0),
        )

    def _read_part(self, checked: CheckedLookup, query: PageQuery) -> PagePart:
        """Read a part of a page, and remember the classes of datasets that it shows."""

        def read() -> PagePart:
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

    def _reply(self, checked: CheckedLookup, page: _Page, first: PagePart) -> bytes:
        layouts: Sequence[segment_lookup_pb2.SegmentLayout] = ()
        if page.layouts:
            layouts = self._layouts.find(
                self._transactions, list(page.layouts), page.dataset_id, first.counter
            )
        segments = b"".join(page.pieces)
        size_bytes = _REST_BYTES + len(segments) + segment_layouts.size_bytes(layouts)
        if len(layouts) < len(page.layouts) or size_bytes > REPLY_BYTES_MAX:
            layouts = layouts[: page.cut(layouts)]
            segments = b"".join(page.pieces)
        next_cursor = None
        if page.has_more:
            began_secs = checked.cursor.began_secs if checked.cursor else first.now_secs
            next_cursor = checked.encode(LookupCursor(first.version, began_secs, page.position()))
        return (
            segments
            + segment_lookup_pb2.FindSegmentsResponse(
                page=segment_lookup_pb2.PagedResponse(next_cursor=next_cursor),
                snapshot_version=first.version,
                layouts=layouts,
            ).SerializeToString()
        )


def _is_wide(checked: CheckedLookup) -> bool:
    """True for a lookup in perhaps more datasets than all classes are probed of."""
    return not 0 < len(checked.names) <= DATASETS_PROBED_MAX
