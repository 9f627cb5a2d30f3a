"""segplane fsck --data: progress, findings and advice of the check of stored bytes."""

import random
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from dataplane.location import ask_location
from meta.client import MetaClient
from segments.store.interface import ObjectStore
from segments.store.open import open_stores
from segplane.cli.connection import EXIT_REFUSED
from segplane.cli.output import Answer, size_text, table
from segplane.fsck import check_cursor
from segplane.fsck.check_cursor import DataCursor
from segplane.fsck.data_check import DataProgress, check_data
from segplane.fsck.repair import advice
from segplane.fsck.withheld import Withheld, find_withheld, summary
from segplane.read.lookup import find_unreadable
from segplane.recovery.losses import list_losses, list_parked

PROGRESS_EVERY_SECS = 2.0


def run(
    client: MetaClient, sample: float, since: int, cursor_path: Path | None
) -> tuple[Answer, dict[str, int]]:
    """Check the bytes of the stored objects; returns the number of problems by kind, too.

    Raises CursorRefused, StoreError.
    """
    cursor = DataCursor(sample=sample, since=since, seed=random.getrandbits(32))
    if cursor_path is not None:
        cursor = check_cursor.load(cursor_path, cursor, ("sample", "since"))
    pace = ProgressPace()

    def keep(cursor: DataCursor, progress: DataProgress) -> None:
        if cursor_path is not None:
            check_cursor.save(cursor_path, cursor)
        if pace.is_due():
            _show(progress)

    store = open_stores(ask_location(client, "fsck").stores)
    check_data(client, store, cursor, keep)
    withheld = all_withheld(client, store)
    if cursor_path is not None:
        cursor_path.unlink(missing_ok=True)
    problems = {"damaged": cursor.num_damaged, "unread": cursor.num_unread}
    document, lines = _document(cursor) | {"withheld": withheld}, _lines(cursor, withheld)
    exit_code = EXIT_REFUSED if any(problems.values()) else 0
    return Answer(document, lines, exit_code=exit_code), problems


def all_withheld(client: MetaClient, store: ObjectStore) -> list[Withheld]:
    """Count the acknowledged records that readers do not see. Raises StoreError, MetaError."""
    return find_withheld(
        client, store, list_parked(client), list_losses(client), find_unreadable(client)
    )


class ProgressPace:
    """Tells when it is time for progress: every few seconds."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def is_due(self) -> bool:
        """True unless that was said just now."""
        now = time.monotonic()
        is_due = now - self._last >= PROGRESS_EVERY_SECS
        self._last = now if is_due else self._last
        return is_due


def _show(progress: DataProgress) -> None:
    eta = "" if progress.left_secs is None else f", about {progress.left_secs:.0f} s left"
    print(
        f"{progress.objects} of {progress.total_objects} objects,"
        f" {size_text(progress.size_bytes)} of {size_text(progress.total_size_bytes)},"
        f" {progress.damaged} damaged{eta}",
        file=sys.stderr,
    )


def _document(cursor: DataCursor) -> dict[str, object]:
    document = asdict(cursor)
    for name in ("damaged", "unread"):
        document[name] = [
            {"object_key": key, "segment_id": segment_id, "message": text, "advice": advice(key)}
            for key, segment_id, text in getattr(cursor, name)
        ]
    for name in ("after_key", "seed"):
        del document[name]
    return document


def _lines(cursor: DataCursor, withheld: list[Withheld]) -> Iterator[str]:
    if cursor.damaged:
        yield from table(("object", "segment", "damage"), cursor.damaged)
        for key, segment_id, _ in cursor.damaged:
            yield f"{segment_id or key}: {advice(key, segment_id)}"
    if cursor.unread:
        yield from table(("object", "segment", "the store gives no answer"), cursor.unread)
    for kind in withheld:
        yield from kind.lines()
    yield (
        f"{cursor.objects} objects, {size_text(cursor.size_bytes)}: {cursor.num_damaged} damaged,"
        f" {cursor.num_unread} not read{summary(withheld)}"
    )
