"""Reads every stored object whole and compares it with its checksum, pages and messages included.

Works page by page in key order, so that it can be interrupted at any object and needs no more
memory for more objects.
"""

import time
from collections.abc import Callable, Iterator

import google_crc32c

from dataplane.object_checks import CheckedObject, check_each, list_stored, report
from meta.client import MetaClient
from meta.v1 import operations_pb2 as pb
from segments.store.interface import ObjectStore
from segplane.fsck.check_cursor import DataCursor, keep_row

PAGE_OBJECTS = 1_000
# Reported and kept at least so often, however large the objects are.
KEEP_EVERY_SECS = 10.0


# Called with the position, and with the totals of all objects as the first page had them.
Keep = Callable[[DataCursor, pb.ListStoredObjectsResponse], None]


def check_data(
    client: MetaClient,
    store: ObjectStore,
    cursor: DataCursor,
    keep: Keep,
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
            keep(cursor, totals)
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
