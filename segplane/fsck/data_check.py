"""Reads every stored object whole and compares it with its checksum, pages and messages included.

Works page by page in key order, so that it can be interrupted at any object and needs no more
memory for more objects.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import google_crc32c

from dataplane.object_checks import CheckedObject, check_each, list_stored, report
from meta.client import MetaClient
from meta.v1 import operations_pb2 as pb
from segments.store.interface import ObjectStore
from segplane.fsck.check_cursor import DataCursor, keep_row

PAGE_OBJECTS = 1_000
# Reported and kept at least so often, however large the objects are.
KEEP_EVERY_SECS = 10.0
# Opening an object and reading its footer takes as long as reading so many bytes: 0.5 MB of a
# folder (3.3 ms at 158 MB/s), some MB of a bucket.
OPENING_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class DataProgress:
    """Progress of a check; totals are estimates, `left_secs` is None until there is one."""

    objects: int
    total_objects: int
    size_bytes: int
    total_size_bytes: int
    damaged: int
    left_secs: float | None


def check_data(
    client: MetaClient,
    store: ObjectStore,
    cursor: DataCursor,
    keep: Callable[[DataCursor, DataProgress], None],
) -> None:
    """Check all objects behind the cursor, which moves on; `keep` is called now and then.

    Findings are reported to meta. Raises StoreError if the store is unreachable, MetaError.
    """
    totals: pb.ListStoredObjectsResponse | None = None
    started, began_secs = time.monotonic(), cursor.secs
    while True:
        page = list_stored(
            client,
            cursor.after_key,
            limit=PAGE_OBJECTS,
            since=cursor.since,
            with_totals=totals is None,
        )
        totals = totals or page
        for checked, is_last in _pieces(store, page, cursor):
            _add(cursor, checked)
            cursor.secs = began_secs + time.monotonic() - started
            report(client, checked)
            if is_last:
                cursor.after_key = page.next_after_key
            keep(cursor, progress_of(cursor, totals))
        if not page.next_after_key:
            return


def is_sampled(key: str, share: float, seed: int) -> bool:
    """True for about this share of all keys, always the same ones for one seed."""
    return int(google_crc32c.value(f"{seed} {key}".encode())) < share * 2**32


def _pieces(
    store: ObjectStore, page: pb.ListStoredObjectsResponse, cursor: DataCursor
) -> Iterator[tuple[list[CheckedObject], bool]]:
    """Check a page in pieces of about KEEP_EVERY_SECS; true comes with its last one."""
    checked: list[CheckedObject] = []
    started = time.monotonic()
    sample = (o for o in page.objects if is_sampled(o.object_key, cursor.sample, cursor.seed))
    for item in check_each(store, sample, read_pages=True):
        checked.append(item)
        if time.monotonic() - started > KEEP_EVERY_SECS:
            yield checked, False
            checked, started = [], time.monotonic()
    yield checked, True


def _add(cursor: DataCursor, checked: list[CheckedObject]) -> None:
    """Count a piece."""
    for item in checked:
        row = [item.stored.object_key, item.stored.segment_id, item.damage]
        if not item.is_read:
            cursor.num_unread += 1
            keep_row(cursor.unread, row)
        elif item.damage:
            cursor.num_damaged += 1
            keep_row(cursor.damaged, row)
        cursor.objects += 1
        cursor.size_bytes += item.size_bytes
        cursor.after_key = item.stored.object_key


def progress_of(cursor: DataCursor, totals: pb.ListStoredObjectsResponse) -> DataProgress:
    """Return the progress of a check, whose totals came with its first page."""
    size_bytes = int(totals.total_size_bytes * cursor.sample)
    objects = int(totals.total_objects * cursor.sample)
    left_secs = None
    if cursor.objects:
        share = _effort(objects, size_bytes) / _effort(cursor.objects, cursor.size_bytes)
        left_secs = max(0.0, cursor.secs * (share - 1))
    return DataProgress(
        cursor.objects,
        objects,
        cursor.size_bytes,
        size_bytes,
        cursor.num_damaged,
        left_secs,
    )


def _effort(objects: int, size_bytes: int) -> int:
    """Return the bytes of objects, and those that could be read while each is opened."""
    return size_bytes + objects * OPENING_BYTES
