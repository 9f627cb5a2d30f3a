"""Reads every live segment's footer and compares it with its registration and with the others.

Violations are those of docs/invariants.md. I1 to I3 need a log of sent records; the end-to-end
tests and the demo keep one and check these. I1 and I2 hold less the loss ledger.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from dataplane.object_checks import list_stored
from dataplane.registration import registered_facts
from meta.client import MetaClient
from meta.v1 import common_pb2, segment_lookup_pb2
from segments.errors import CorruptObject, ObjectMissing
from segments.parquet.footer import RegisteredFacts, StoredFooter, differences
from segments.parquet.lineage import BatchPart
from segments.store.interface import ObjectStore
from segplane.read.lookup import object_key

PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Violation:
    """One violated invariant, by its number in docs/invariants.md."""

    invariant: str
    subject: str
    message: str


@dataclass(frozen=True, slots=True)
class SegmentState:
    """One live segment as meta reports it; `object_key` is the full key."""

    segment_id: str
    object_key: str
    registered: RegisteredFacts
    # A client registered it without facts: it need not be a segment.
    is_foreign: bool = False


@dataclass(slots=True)
class FootersRead:
    """The number of footers, and the columns by which their datasets had deduplication."""

    number: int = 0
    deduplication_columns: dict[str, str] = field(default_factory=dict)


def check_footers(
    client: MetaClient, store: ObjectStore, add: Callable[[Iterator[Violation]], None]
) -> FootersRead:
    """Check page by page, and give the violations to `add`."""
    footers, after = FootersRead(), ""
    with closing(BatchParts(lambda ids: len(list(_segments(client, ids))))) as parts:
        while True:
            page = list_stored(client, after, limit=PAGE)
            ids = [stored.segment_id for stored in page.objects if stored.segment_id]
            unread: dict[str, str] = {}
            for segment in _segments(client, ids):
                if segment.is_foreign and _is_of_others(store, segment.object_key):
                    continue
                try:
                    stored = _read_footer(store, segment.object_key)
                except (ObjectMissing, CorruptObject) as error:
                    unread[segment.segment_id] = str(error)
                    continue
                footers.number += 1
                if stored.footer.deduplication:
                    dataset_id = stored.footer.dataset_id
                    footers.deduplication_columns[dataset_id] = stored.footer.deduplication
                add(footer_matches(segment, stored))
                add(parts.held_twice(segment, stored))
            add(_unreadable(client, unread))
            after = page.next_after_key
            if not after or (page.objects and not ids):
                return footers


class BatchParts:
    """The parts of nursery batches and their segments, on disk: there may be very many.

    `count_live` answers how many of some segments are live now.
    """

    def __init__(self, count_live: Callable[[Sequence[str]], int]) -> None:
        self._count_live = count_live
        # The empty name is a temporary file of SQLite's.
        self._database = sqlite3.connect("")
        self._database.execute(
            "CREATE TABLE parts (digest BLOB, first_day INTEGER, last_day INTEGER, segment_id TEXT)"
        )
        self._database.execute("CREATE INDEX parts_digest ON parts (digest)")

    def close(self) -> None:
        """Delete them."""
        self._database.close()

    def held_twice(self, segment: SegmentState, stored: StoredFooter) -> Iterator[Violation]:
        """I2, from lineage: each day of a part of a batch is in one live segment of its dataset."""
        for batch in stored.footer.batches:
            name = f"{segment.registered.dataset_id} {batch.batch_id} {batch.part}"
            digest = hashlib.blake2b(name.encode(), digest_size=16).digest()
            for holder in self._holders(digest, batch):
                # A segment that was read before may have been merged into this one since.
                if self._count_live([holder, segment.segment_id]) == 2:
                    text = (
                        f"part {batch.part} of batch {batch.batch_id} is also in segment {holder}"
                    )
                    yield Violation("I2", segment.segment_id, text)
            self._database.execute(
                "INSERT INTO parts VALUES (?, ?, ?, ?)",
                (digest, batch.first_day, batch.last_day, segment.segment_id),
            )

    def _holders(self, digest: bytes, batch: BatchPart) -> list[str]:
        """Segments read before that hold the part for some of the same days."""
        rows = self._database.execute(
            "SELECT segment_id FROM parts WHERE digest = ? AND first_day <= ? AND last_day >= ?",
            (digest, batch.last_day, batch.first_day),
        )
        return [row[0] for row in rows.fetchall()]


def footer_matches(segment: SegmentState, stored: StoredFooter) -> Iterator[Violation]:
    """I6: rows, times and dataset are as registered."""
    for text in differences(stored, segment.registered):
        yield Violation("I6", segment.segment_id, text)


def _read_footer(store: ObjectStore, key: str) -> StoredFooter:
    # pyarrow is not part of a light install; only a deep check needs it.
    from segments.parquet.reader import read_footer

    return read_footer(store, key)


def _is_of_others(store: ObjectStore, key: str) -> bool:
    """Return true for what readers map or skip, which `segments find --unreadable` names."""
    from segments.foreign.opening import claims_to_be_segment

    try:
        return not claims_to_be_segment(lambda: store.open_input(key))
    except (ObjectMissing, CorruptObject):
        return True


def _unreadable(client: MetaClient, unread: dict[str, str]) -> Iterator[Violation]:
    """Skip segments that were tombstoned since; their objects may be deleted."""
    for segment in _segments(client, list(unread)):
        text = f"object cannot be read: {unread[segment.segment_id]}"
        yield Violation("I9", segment.segment_id, text)


def _segments(client: MetaClient, segment_ids: Sequence[str]) -> Iterator[SegmentState]:
    """The segments that are live now."""
    if not segment_ids:
        return
    request = segment_lookup_pb2.GetSegmentsByIdsRequest(segment_ids=segment_ids)
    for info in client.segment_lookup.GetSegmentsByIds(request).segments:
        if not info.HasField("tombstone_version"):
            yield _segment(info)


def _segment(info: common_pb2.SegmentInfo) -> SegmentState:
    return SegmentState(
        info.id,
        object_key(info),
        registered_facts(info),
        bool(info.foreign.state) and not info.facts.format_version,
    )
