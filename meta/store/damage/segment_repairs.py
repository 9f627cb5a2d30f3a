"""Ways out of a live segment that is missing or damaged: hide it, or replace its object.

A hidden segment has a tombstone whose grace never ends: no version from then on shows it, no server
hands out its object for deletion, and it can be replaced, by its own object too (undo).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Row, insert, text

from meta.errors import InvalidArgument, NotFound, NothingToRepair, RecordsAltered
from meta.store.access import audit
from meta.store.catalog import datasets
from meta.store.damage import losses
from meta.store.damage.losses import Acceptance, Loss, LossKind, Lost
from meta.store.engine.pool import Conflict, Transaction
from meta.store.lookup import lineage
from meta.store.merging import merge_tasks
from meta.store.segments import burial, segments, stats
from meta.store.segments.segments import NewSegment, SegmentRow
from meta.store.tables.segments import segment_lineage
from meta.store.versions import versions
from meta.store.versions.versions import Version
from segments.keys import join_key
from segments.offsets import OffsetSpan, coalesce


@dataclass(frozen=True, slots=True)
class Replacement:
    """A segment that took another one's place."""

    segment_id: UUID
    version: Version


_LOCK = text("""
    SELECT merge_count, tombstone_version IS NULL AS is_live,
           coalesce(tombstone_at = 'infinity', false) AS is_hidden
    FROM segments WHERE id = :segment FOR UPDATE
""")
_TASK = text("SELECT task_id FROM merge_task_inputs WHERE segment_id = :segment")
HIDE = text("UPDATE segments SET tombstone_at = 'infinity' WHERE id = :segment")
_END_HIDING = text("UPDATE segments SET tombstone_at = clock_timestamp() WHERE id = :segment")
# An altered replacement stays apart from other records as long as it may be reverted:
# `meta.store.deletion.tombstones` releases it once its original is deleted.
_EXCLUDE = text("UPDATE segments SET quarantined_at = clock_timestamp() WHERE id = :segment")
_REPLACED_BY = text("SELECT output_id FROM segment_lineage WHERE input_id = :segment")
_LINK = insert(segment_lineage)


def hide(tx: Transaction, segment_id: UUID, acceptance: Acceptance) -> tuple[SegmentRow, Loss]:
    """Hide a live segment and cancel the open task over it; returns it with its loss.

    A repetition returns the first call's entry. Raises NotFound, NothingToRepair.
    """
    segment = get(tx, segment_id)
    cancelled = cancel_task(tx, segment_id)
    row = lock(tx, segment_id)
    recorded = losses.of_segment(tx, segment_id)
    if row.is_hidden and recorded:
        return segment, recorded[-1]
    if not row.is_live:
        raise _not_live(segment_id)
    audit.note(tx, "HideSegment", segment_id, f"{acceptance.actor}: {acceptance.reason}")
    version = versions.allocate(tx)
    burial.bury(tx, [segment_id], version)
    tx.execute(HIDE, {"segment": segment_id})
    losses.write(tx, [lost(segment)], version, acceptance)
    stats.add(tx, cancelled)
    return get(tx, segment_id), losses.of_segment(tx, segment_id)[-1]


def replace(
    tx: Transaction,
    segment_id: UUID,
    new: NewSegment,
    ranges: Sequence[OffsetSpan],
    acceptance: Acceptance,
    *,
    accepts_altered: bool = False,
) -> Replacement:
    """Let a new object of the same records take the place of a live or hidden segment.

    `ranges` is the lineage in the file's footer. The old object is deleted after its grace. Raises
    NotFound, NothingToRepair, InvalidArgument for other records, RecordsAltered for another
    checksum without consent, and the errors of a registration.
    """
    segment = get(tx, segment_id)
    datasets.lock_shared(tx, [UUID(segment.dataset_id)])
    cancelled = cancel_task(tx, segment_id)
    row = lock(tx, segment_id)
    _check_same(tx, segment, new, ranges)
    if not accepts_altered:
        _check_checksum(segment, new)
    claims = segments.claim(tx, [new])
    segments.raise_refusal(claims)
    (claimed,) = claims
    if claimed.registered_at is not None:
        if row.is_hidden:
            raise NothingToRepair("this replacement was reverted", segment_id=claimed.segment_id)
        if claimed.segment_id in tx.execute(_REPLACED_BY, {"segment": segment_id}).scalars().all():
            return Replacement(claimed.segment_id, claimed.registered_at)
        raise InvalidArgument("the object is registered as a separate segment", field="segment")
    if not (row.is_live or row.is_hidden):
        raise _not_live(segment_id)
    altered = f"checksum {_hex(new.crc32c)} for {_hex(segment.crc32c)}, "
    detail = f"{altered if accepts_altered else ''}{acceptance.actor}: {acceptance.reason}"
    audit.note(tx, "ReplaceSegment", segment_id, detail)
    version = versions.allocate(tx)
    segments.insert(tx, claims, version, merge_count=row.merge_count)
    tx.execute(_LINK, {"input_id": segment_id, "output_id": claimed.segment_id})
    if row.is_live:
        # The ledger also has the damage that readers of earlier versions meet.
        losses.write(tx, [lost(segment)], version, acceptance)
        burial.bury(tx, [segment_id], version)
    else:
        tx.execute(_END_HIDING, {"segment": segment_id})
    if accepts_altered:
        tx.execute(_EXCLUDE, {"segment": claimed.segment_id})
    losses.withdraw(tx, segment_id, version)
    stats.add(tx, cancelled)
    return Replacement(claimed.segment_id, version)


def get(tx: Transaction, segment_id: UUID) -> SegmentRow:
    """The segment, tombstoned or not. Raises NotFound."""
    for segment in segments.get_many(tx, [segment_id]):
        return segment
    raise NotFound("there is no such segment", segment_id=segment_id)


def lock(tx: Transaction, segment_id: UUID) -> Row[*tuple[Any, ...]]:
    """Lock a segment that is in no task. Raises NotFound, Conflict."""
    row = tx.execute(_LOCK, {"segment": segment_id}).one_or_none()
    if row is None:
        raise NotFound("there is no such segment", segment_id=segment_id)
    # A planner that held the segment before may have put it into a task.
    if tx.execute(_TASK, {"segment": segment_id}).scalar_one_or_none() is not None:
        raise Conflict("40001")
    return row


def cancel_task(tx: Transaction, segment_id: UUID) -> list[stats.Change]:
    """Cancel the open task over a segment, which frees its other inputs."""
    task_id = tx.execute(_TASK, {"segment": segment_id}).scalar_one_or_none()
    if task_id is None:
        return []
    task = merge_tasks.lock(tx, task_id)
    # Closed while its lock was waited for: the segment may be in another task by now.
    if task is None or tx.execute(_TASK, {"segment": segment_id}).scalar_one_or_none() != task_id:
        raise Conflict("40001")
    return merge_tasks.cancel(tx, [task])


def _check_same(
    tx: Transaction, segment: SegmentRow, new: NewSegment, ranges: Iterable[OffsetSpan]
) -> None:
    pairs = (
        ("dataset_id", str(new.dataset_id), segment.dataset_id),
        ("number_of_events", new.number_of_events, segment.number_of_events),
        ("time_range.start_time", new.start_ns, segment.start_ns),
        ("time_range.end_time", new.end_ns, segment.end_ns),
    )
    for name, given, registered in pairs:
        if given != registered:
            raise InvalidArgument(
                f"it is {given}, that of the segment is {registered}", field=f"segment.{name}"
            )
    registered_spans = coalesce(lineage.spans_of(tx, UUID(segment.id)))
    # A segment that was registered without offsets has no lineage in meta.
    if not registered_spans:
        return
    for span in ranges:
        if not any(_covers(span_of_row, span) for span_of_row in registered_spans):
            raise InvalidArgument(
                f"offsets {span.start} to {span.end} of stream {span.stream_id} are"
                " not the segment's",
                field="ranges",
            )


def _check_checksum(segment: SegmentRow, new: NewSegment) -> None:
    if segment.crc32c is not None and new.crc32c != segment.crc32c:
        raise RecordsAltered(
            f"its checksum is {_hex(new.crc32c)}, that of the segment is {_hex(segment.crc32c)}",
            segment_id=segment.id,
        )


def _covers(outer: OffsetSpan, span: OffsetSpan) -> bool:
    return outer.stream_id == span.stream_id and outer.start <= span.start and span.end <= outer.end


def lost(segment: SegmentRow) -> Lost:
    """The entry of the ledger for a segment."""
    return Lost(
        LossKind.SEGMENT,
        dataset_id=UUID(segment.dataset_id),
        segment_id=UUID(segment.id),
        object_key=join_key(segment.prefix, segment.object_name),
        records=segment.number_of_events,
    )


def _hex(checksum: int | None) -> str:
    return "unknown" if checksum is None else f"{checksum:08x}"


def _not_live(segment_id: UUID) -> NothingToRepair:
    return NothingToRepair(
        "the segment is not live: it was merged or deleted", segment_id=segment_id
    )
