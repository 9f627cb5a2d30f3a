"""SegmentLookupService: pages of segments at one version."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from operator import add

import grpc

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import CursorInvalid, VersionNotReached
from meta.services.lookup import segment_bytes, segment_layouts
from meta.services.lookup.assembled_pages import AssembledPages, CheckedLookup, LookupCursor
from meta.services.lookup.segment_bytes import SegmentFrames
from meta.services.lookup.segment_layouts import PageLayouts
from meta.services.messages import checks
from meta.services.messages.convert import REPLY_BYTES_MAX
from meta.store.engine.pool import Conflict, Transaction
from meta.store.lookup import lookup
from meta.store.lookup.held_classes import HeldClasses
from meta.store.lookup.lookup import FoundSegment, Query, VisibleDataset
from meta.store.versions import versions
from meta.v1 import segment_lookup_pb2, segment_lookup_pb2_grpc

IDS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class _Page:
    messages: Sequence[bytes]
    tails: Sequence[bytes]
    layouts: PageLayouts
    version: int
    next_cursor: str | None


class SegmentLookupServicer(segment_lookup_pb2_grpc.SegmentLookupServiceServicer):
    """SegmentLookupService; see docs/contract.md."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings
        self._frames = SegmentFrames(settings.location)
        self._held_classes = HeldClasses()
        self.assembled = AssembledPages(
            transactions, self._frames, self._held_classes, settings.lifetimes.cursor
        )

    def FindSegments(  # type: ignore[override]  # serialized: see meta.rpc.execution
        self, request: segment_lookup_pb2.FindSegmentsRequest, context: grpc.ServicerContext
    ) -> bytes:
        """Page through the segments that overlap a range, all at the first page's version.

        The reply is serialized already. Raises VersionNotReached below `min_version`; the pipeline
        waits and calls again.
        """
        checked = CheckedLookup.of(request)
        reply = self.assembled.find(checked)
        return self.by_rows(checked) if reply is None else reply

    def by_rows(self, checked: CheckedLookup) -> bytes:
        """A page that is put together here, of any rows; raises what refuses a lookup."""
        page = self._transactions.read(lambda tx: self._page(tx, checked))
        rest = segment_lookup_pb2.FindSegmentsResponse(
            page=segment_lookup_pb2.PagedResponse(next_cursor=page.next_cursor),
            snapshot_version=page.version,
            layouts=page.layouts.layouts,
        )
        # A page that its size cuts short has more segments than layouts.
        segments = zip(page.messages, page.tails, page.layouts.numbers, strict=False)
        return self._frames.join(segments) + rest.SerializeToString()

    def GetSegmentsByIds(  # type: ignore[override]
        self, request: segment_lookup_pb2.GetSegmentsByIdsRequest, context: grpc.ServicerContext
    ) -> bytes:
        """Read segments by id, in the order of the request; the reply is serialized already."""
        checks.at_most(request.segment_ids, "segment_ids", IDS_MAX)
        ids = list(
            dict.fromkeys(
                checks.uuid(text, f"segment_ids[{index}]")
                for index, text in enumerate(request.segment_ids)
            )
        )
        with suppress(Conflict):
            kept = lookup.kept_by_ids(self._transactions.database, ids)
            if kept is not None:
                return self._joined([segment.message or b"" for segment in kept], kept)

        def read(tx: Transaction) -> bytes:
            found = lookup.found_by_ids(tx, ids)
            return self._joined(lookup.messages(tx, found), found)

        return self._transactions.read(read)

    def _joined(self, messages: Sequence[bytes], found: Sequence[FoundSegment]) -> bytes:
        return self._frames.join(
            (message, segment_bytes.tail(*row[1:6]), None)
            for message, row in zip(messages, found, strict=True)
        )

    def _page(self, tx: Transaction, checked: CheckedLookup) -> _Page:
        snapshot = versions.snapshot(tx)
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
        classes = partial(self._held_classes.find, version=snapshot.version)
        matches = lookup.find(tx, query, datasets, checked.limit + 1, classes)
        rows = matches[: checked.limit]
        messages = lookup.messages(tx, rows)
        tails, keys = self._tails(rows, datasets)
        frame_bytes = self._frames.bucket_bytes + segment_bytes.FRAME_BYTES
        sizes = [frame_bytes + n for n in map(add, map(len, messages), map(len, tails))]
        layouts = segment_layouts.read(tx, keys, sizes, REPLY_BYTES_MAX)
        shown = len(layouts.numbers)
        next_cursor = None
        if shown < len(matches):
            position = matches[shown - 1].position()
            next_cursor = checked.encode(LookupCursor(version, began_secs, position))
        return _Page(messages, tails, layouts, version, next_cursor)

    @staticmethod
    def _tails(
        rows: Sequence[FoundSegment], datasets: Sequence[VisibleDataset]
    ) -> tuple[list[bytes], list[segment_layouts.Key | None]]:
        """The fields behind each segment's message, and the key of its layout."""
        dataset_ids = {dataset.key: str(dataset.id) for dataset in datasets}
        tails: list[bytes] = []
        keys: list[segment_layouts.Key | None] = []
        tail, split_facts = segment_bytes.tail, segment_bytes.split_facts
        # Tuples: a page has a thousand rows, and attributes cost half as much again.
        for _, created, tombstone, facts, crc32c, foreign, _, dataset_key, _, _ in rows:
            key = None
            if facts:
                facts, ids = split_facts(facts)
                if ids is not None:
                    key = dataset_ids[dataset_key], ids
            keys.append(key)
            tails.append(tail(created, tombstone, facts, crc32c, foreign))
        return tails, keys
