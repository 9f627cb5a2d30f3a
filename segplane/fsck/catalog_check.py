"""Compares meta's catalog with the bucket: a stream of the listing against rows, both in key order.

meta does the comparison (CheckConsistency). This side lists the bucket page by page, keeps the
position and a bounded number of findings, and reads footers if it is asked to.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields

from dataplane.location import ask_location
from meta.client import MetaClient
from meta.v1 import operations_pb2 as pb
from segments.errors import StoreError
from segments.inventory.findings import FINDINGS
from segments.inventory.listing import batches, list_objects
from segments.keys import BABIES_ROOT, DATASETS_ROOT, check_key
from segments.store.interface import ObjectInfo, ObjectStore
from segments.store.open import open_stores
from segplane.fsck.check_cursor import CatalogCursor, CatalogTotals, keep_row
from segplane.fsck.footer_check import Violation, check_footers
from segplane.fsck.kept_files import is_kept, kept_ids
from segplane.fsck.lost_deduplication_keys import LostDeduplicationKeys, find_lost

OBJECTS_PER_MESSAGE = 1_000


@dataclass(slots=True)
class Report(CatalogTotals):
    """Result of a check. Orphans are not violations: the janitor deletes them in time.

    At most KEPT_MAX violations and orphans are kept; `num_violations` and `num_orphans` count all.
    """

    footers: int = 0
    num_violations: int = 0
    # Datasets that had deduplication, as their footers say, and have no such setting.
    lost_deduplication_keys: list[LostDeduplicationKeys] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)

    def add(self, violations: Iterator[Violation]) -> None:
        """Add violations to those of the catalog."""
        for violation in violations:
            self.num_violations += 1
            keep_row(self.violations, violation)


def check(client: MetaClient, *, is_deep: bool, orphan_age_secs: float) -> Report:
    """Check everything that can be seen from outside; `is_deep` reads every segment's footer."""
    store = open_stores(ask_location(client, "fsck").stores)
    cursor = CatalogCursor(orphan_age_secs=int(orphan_age_secs))
    check_catalog(client, store, cursor, lambda _: None)
    report = report_of(cursor)
    if is_deep:
        check_deep(client, store, report)
    return report


def check_deep(client: MetaClient, store: ObjectStore, report: Report) -> None:
    """Read every segment's footer, and add what they tell to the report."""
    footers = check_footers(client, store, report.add)
    report.footers = footers.number
    report.lost_deduplication_keys = find_lost(
        client, sorted(footers.deduplication_columns.items())
    )


def check_catalog(
    client: MetaClient,
    store: ObjectStore,
    cursor: CatalogCursor,
    keep: Callable[[CatalogCursor], None],
) -> None:
    """Check all keys behind the cursor, which moves on, then the rows by themselves.

    `keep` is called as its key moves; an interrupted check repeats the findings since then. Raises
    StoreError, grpc.RpcError, MetaError.
    """
    kept = kept_ids(client, store)
    listing = _Listing(store, cursor.after_key, cursor.orphan_age_secs)
    try:
        for reply in client.operations.CheckConsistency(listing.requests()):
            listing.is_answered.set()
            is_further = reply.checked_through != cursor.after_key
            _advance(cursor, reply, kept)
            if is_further:
                keep(cursor)
    finally:
        listing.is_over = True
        listing.is_answered.set()
        if listing.error is not None:
            raise listing.error
    if not cursor.is_complete:
        raise StoreError("the check ended before its end")


def report_of(cursor: CatalogCursor) -> Report:
    """Give the findings their invariants."""
    totals = {total.name: getattr(cursor, total.name) for total in fields(CatalogTotals)}
    report = Report(**totals, num_violations=cursor.num_findings)
    for kind, key, subject, message, _ in cursor.findings:
        text = f"{key}: {message}" if key else message
        report.violations.append(Violation(_invariant(kind), subject or key, text))
    return report


def _invariant(kind: str) -> str:
    """The invariant of a finding's kind; of a kind that is younger than this release, its name."""
    return FINDINGS[kind].invariant if kind in FINDINGS else kind


def _advance(
    cursor: CatalogCursor, reply: pb.CheckConsistencyResponse, kept: frozenset[str]
) -> None:
    for finding in reply.findings:
        kind = pb.FindingKind.Name(finding.kind).removeprefix("FINDING_KIND_")
        if kind in ("OBJECT_UNKNOWN", "OBJECT_UNREGISTERED") and is_kept(finding.object_key, kept):
            continue
        if kind == "OBJECT_UNKNOWN":
            cursor.num_unknown += 1
            keep_row(cursor.unknown, finding.object_key)
        elif kind != "OBJECT_UNREGISTERED":
            cursor.num_findings += 1
            row = [kind, finding.object_key, finding.subject_id, finding.message, finding.repair]
            keep_row(cursor.findings, row)
        elif finding.repair:
            cursor.num_orphans += 1
            keep_row(cursor.orphans, finding.object_key)
        else:
            cursor.foreign += 1
    cursor.after_key = reply.checked_through
    cursor.objects += reply.num_objects
    cursor.segments += reply.num_segments
    cursor.babies += reply.num_babies
    cursor.streams += reply.num_streams
    cursor.duplicates += reply.duplicates
    cursor.is_complete = reply.complete


class _Listing:
    """The requests of a check: the bucket's listing from a key on, in messages.

    gRPC reads them in its own thread, as fast as meta takes them.
    """

    def __init__(self, store: ObjectStore, after_key: str, orphan_age_secs: int) -> None:
        self.is_answered = threading.Event()
        self.is_over = False
        self.error: StoreError | None = None
        self._store = store
        self._after_key = after_key
        self._orphan_age_secs = orphan_age_secs

    def requests(self) -> Iterator[pb.CheckConsistencyRequest]:
        """The messages; the listing begins once meta has answered the first of them."""
        yield pb.CheckConsistencyRequest(
            resume_after=self._after_key,
            orphan_age_secs=self._orphan_age_secs,
            name_unknown=True,
        )
        # Objects registered before meta's clock was read, and only those, must be in the listing.
        self.is_answered.wait()
        objects = list_objects(self._store, DATASETS_ROOT, BABIES_ROOT, after=self._after_key)
        try:
            for batch in batches(filter(_is_sendable, objects), OBJECTS_PER_MESSAGE):
                if self.is_over:
                    return
                yield pb.CheckConsistencyRequest(objects=map(_message, batch))
        except StoreError as error:
            # Raised while the replies are read; without an end the check is not complete.
            self.error = error
            return
        yield pb.CheckConsistencyRequest(end_of_listing=True)


def _message(info: ObjectInfo) -> pb.ListedObject:
    return pb.ListedObject(
        object_key=info.key,
        size_bytes=info.size_bytes,
        modified_at_nanos=info.modified_at_nanos,
    )


def _is_sendable(info: ObjectInfo) -> bool:
    """False for a name that no writer of ours gives and that meta would refuse to look up."""
    try:
        check_key(info.key)
    except ValueError:
        return False
    return True
