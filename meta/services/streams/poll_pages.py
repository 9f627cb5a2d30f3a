"""Pages of a nursery's poll: streams with their routing history, datasets, routing of tokens.

A poll that omits merged entries has the datasets of the entries on the page, and nothing else
of the catalog: it costs what there is to merge, not what exists.

Each page is read in its own snapshot. All carry the version of the first as response_seq: the
content of a later page is of that version or newer, so a poll for changes since then misses
nothing. The catalog is read after the streams, so the dataset of an entry is never missing.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from meta.errors import VersionExpired
from meta.services.messages import cursors
from meta.services.streams import poll_reply as replies
from meta.services.streams.poll_page import PollPage, StreamItem
from meta.services.streams.poll_reply import BABIES_MAX, Detail
from meta.store.catalog import datasets
from meta.store.engine import continuity
from meta.store.engine.pool import Transaction
from meta.store.streams import merged_offsets, stream_reads, tokens
from meta.store.streams.merged_offsets import Backlogs, EntryRow, Passed
from meta.store.streams.removable_entries import RemovableEntries
from meta.store.streams.stream_reads import NO_ID, StreamRow, StreamScope
from meta.store.versions import versions
from meta.v1 import nursery_pb2
from meta.v1.common_pb2 import DatasetInfo
from segments.location import Stores

# Nurseries need no checkpoints; the newest says when an entry moved last.
DETAIL = Detail(checkpoints=1, babies=BABIES_MAX)
UNMERGED_DETAIL = Detail(checkpoints=0, babies=BABIES_MAX)
STREAMS_PER_READ = 2_000
# As many datasets with 100 promoted columns each fill a page.
DATASETS_PER_READ = 500
TOKENS_PER_READ = 5_000
_POSITION = struct.Struct("!qB16s")
# Beside the section.
_HAS_WHOLE = 0x80
_FIELD = "page_cursor"


class PagePosition(NamedTuple):
    """The start of a page: a section, and the last item before it."""

    seq: int
    section: int = 0
    last_id: UUID = NO_ID
    # Whether a page before has a stream with all its entries, whose datasets follow.
    has_whole: bool = False


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A poll in pages; `cursor` is "" for the first page."""

    scope: StreamScope
    catalog_since: int
    cursor: str


class Pages:
    """Reads pages of polls."""

    def __init__(self, stores: Stores, grace_secs: float) -> None:
        self._stores = stores
        self._grace_secs = grace_secs
        self._removable = RemovableEntries()
        self._sections: tuple[Callable[..., PagePosition | None], ...] = (
            self._add_streams,
            self._add_datasets,
            self._add_tokens,
        )

    def read(
        self, tx: Transaction, asked: PageRequest, reply: nursery_pb2.GetIngestStreamsResponse
    ) -> None:
        """Fill `reply`, which holds what stands on every page. Raises CursorInvalid."""
        current = reply.response_seq
        start = _decode(asked) if asked.cursor else PagePosition(seq=current)
        if start.seq != current and (start.seq > current or versions.is_lost(tx, start.seq)):
            continuity.look_soon(tx.info)
            raise VersionExpired("the poll began before a failover; start again with since_seq 0")
        reply.response_seq = start.seq
        page = PollPage(reply)
        while start.section < len(self._sections):
            next_place = self._sections[start.section](tx, asked, start, page)
            has_whole = start.has_whole or page.has_whole
            if next_place is not None:
                reply.next_page_cursor = _encode(next_place._replace(has_whole=has_whole), asked)
                return
            start = PagePosition(start.seq, start.section + 1, has_whole=has_whole)

    def _add_streams(
        self,
        tx: Transaction,
        asked: PageRequest,
        position: PagePosition,
        page: PollPage,
    ) -> PagePosition | None:
        """Add streams; returns the beginning of the next page, None once all are there."""
        after = position.last_id
        while True:
            rows = stream_reads.read_streams(
                tx, asked.scope, self._grace_secs, after, STREAMS_PER_READ
            )
            if not rows:
                return None
            # Baby segments alone may fill the page, so entries are read of no more streams.
            first = rows[: self._fitting(rows, (), page.room_bytes)]
            entries, passed = self._entries(tx, first, asked.scope)
            fitting = self._fitting(first, entries, page.room_bytes)
            added = self._add_fitting(tx, first[:fitting], entries, passed, page)
            if added:
                after = rows[added - 1].id
            if added < len(rows):
                return position._replace(last_id=after)
            if len(rows) < STREAMS_PER_READ:
                return None

    def _entries(
        self, tx: Transaction, rows: Sequence[StreamRow], scope: StreamScope
    ) -> tuple[Sequence[EntryRow], Passed | None]:
        """The entries of streams, and what all of them have to pass; None = all are asked for."""
        backlogs = _backlogs(rows, scope)
        if not scope.omits_merged:
            return merged_offsets.read(tx, backlogs), None
        behind = [row for row in rows if row.merged_floor < row.committed_offset]
        passed = Passed()
        if behind:
            passed = merged_offsets.read_passed(tx, _backlogs(behind, scope))
        removable = self._removable.find(tx, backlogs.floors)
        return merged_offsets.read_unmerged(tx, backlogs, removable), passed

    def _fitting(
        self, rows: Sequence[StreamRow], entries: Sequence[EntryRow], room_bytes: int
    ) -> int:
        """The number of streams that fit by estimate, at least one."""
        entries_of: dict[UUID, int] = {}
        for entry in entries:
            entries_of[entry.stream_id] = entries_of.get(entry.stream_id, 0) + 1
        for count, row in enumerate(rows):
            num_entries = entries_of.get(row.id, 0)
            room_bytes -= replies.estimate(self._stores.default, row, num_entries, DETAIL)
            if room_bytes < 0:
                return max(1, count)
        return len(rows)

    def _add_fitting(
        self,
        tx: Transaction,
        rows: Sequence[StreamRow],
        entries: Sequence[EntryRow],
        passed: Passed | None,
        page: PollPage,
    ) -> int:
        """Add streams until the page is full; returns how many.

        `passed` is None if all entries are asked for.
        """
        ids = {row.id for row in rows}
        chosen = [entry for entry in entries if entry.stream_id in ids]
        detail = DETAIL if passed is None else UNMERGED_DETAIL
        infos = replies.build_streams(tx, self._stores, rows, chosen, detail)
        history: dict[str, list[nursery_pb2.RoutingPeriod]] = {}
        for period in replies.periods(stream_reads.read_periods(tx, rows, BABIES_MAX)):
            history.setdefault(period.stream_id, []).append(period)
        facts: dict[str, DatasetInfo] = {}
        if passed is not None:
            own_ids = {entry.dataset_id for entry in chosen if entry.stream_id not in passed.whole}
            facts = replies.dataset_infos(tx, self._stores, datasets.list_some(tx, own_ids))
        for count, (row, info) in enumerate(zip(rows, infos, strict=True)):
            if passed is not None and row.has_entries and row.id not in passed.whole:
                info.merged_entries_omitted = True
                info.foreign_dataset_ids.extend(map(str, passed.foreign.get(row.id, ())))
            is_whole = passed is not None and row.id in passed.whole
            item = StreamItem(info, history.get(info.stream_id, []), {} if is_whole else facts)
            if not page.has_room(*item.messages()):
                if page.reply.streams:
                    return count
                # One stream above the bound: its first babies do for now.
                while not page.has_room(*item.messages()) and item.shorten():
                    pass
            item.add_to(page)
            page.has_whole |= is_whole
        return len(infos)

    def _add_datasets(
        self,
        tx: Transaction,
        asked: PageRequest,
        position: PagePosition,
        page: PollPage,
    ) -> PagePosition | None:
        after = position.last_id
        if asked.scope.omits_merged and not position.has_whole:
            return None
        # -1: also what never changed since it was created by release 0.1.0.
        since = -1 if asked.scope.omits_merged else asked.catalog_since or -1
        while True:
            rows = datasets.list_changed(tx, since, after, DATASETS_PER_READ)
            infos = replies.dataset_infos(tx, self._stores, rows)
            for row, info in zip(rows, infos.values(), strict=True):
                if not page.has_room(info):
                    return position._replace(last_id=after)
                page.add(page.reply.datasets, info)
                after = row.id
            if len(rows) < DATASETS_PER_READ:
                return None

    def _add_tokens(
        self,
        tx: Transaction,
        asked: PageRequest,
        position: PagePosition,
        page: PollPage,
    ) -> PagePosition | None:
        after = position.last_id
        if asked.scope.omits_merged:
            return None
        while True:
            rows = tokens.list_routed(tx, asked.catalog_since, after, TOKENS_PER_READ)
            for row, message in zip(rows, replies.token_routing(rows), strict=True):
                if not page.has_room(message):
                    return position._replace(last_id=after)
                page.add(page.reply.token_routing, message)
                after = row.id
            if len(rows) < TOKENS_PER_READ:
                return None


def _backlogs(rows: Sequence[StreamRow], scope: StreamScope) -> Backlogs:
    """The search for what the entries of a page have to merge: among the babies that it lists.

    Entries of waiting datasets may be far below the first baby that is listed.
    """
    if scope.waiting:
        return Backlogs.whole(row.id for row in rows)
    return Backlogs({row.id: row.merged_floor for row in rows}, BABIES_MAX)


def _encode(position: PagePosition, asked: PageRequest) -> str:
    section = position.section | (_HAS_WHOLE if position.has_whole else 0)
    packed = _POSITION.pack(position.seq, section, position.last_id.bytes)
    return cursors.encode(packed, _bound_to(packed, asked))


def _decode(asked: PageRequest) -> PagePosition:
    packed = cursors.decode(asked.cursor, _POSITION.size, lambda raw: _bound_to(raw, asked), _FIELD)
    seq, section, last_id = _POSITION.unpack(packed)
    has_whole = bool(section & _HAS_WHOLE)
    return PagePosition(seq, section & ~_HAS_WHOLE, UUID(bytes=last_id), has_whole)


def _bound_to(packed: bytes, asked: PageRequest) -> bytes:
    return repr((packed, "GetIngestStreamsForNursery", asked.scope, asked.catalog_since)).encode()
