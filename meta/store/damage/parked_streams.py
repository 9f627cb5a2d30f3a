"""Streams that cannot pass a committed baby segment, and the way past it.

A row has an effect only while its baby segment is not merged everywhere: nothing has to remove it
when the object can be read again.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Select, bindparam, func, select, text

from meta.errors import NotDrained, NotFound, NothingToRepair, OffsetNotCommitted
from meta.store.access import audit
from meta.store.damage import losses
from meta.store.damage.losses import Acceptance, Loss, LossKind, Lost
from meta.store.engine import keyset
from meta.store.engine.keyset import Page, Window
from meta.store.engine.pool import Transaction
from meta.store.registration import registration_rows
from meta.store.streams import merged_offsets, stream_datasets, stream_ends, streams
from meta.store.streams.stream_datasets import EntryMove
from meta.store.tables.damage import parked_streams
from meta.store.tables.streams import ingest_streams
from meta.store.versions import versions
from segments.offsets import OffsetSpan

# A stream is tried again after as long as it has been parked, within these bounds.
RETRY_SECS_MIN = 10
RETRY_SECS_MAX = 300


@dataclass(frozen=True, slots=True)
class ParkedStream:
    """A stream and the lowest baby segment that it cannot pass."""

    stream_id: UUID
    offset: int
    reason: str
    parked_at_nanos: int


@dataclass(frozen=True, slots=True)
class Parking:
    """Answer to a nursery: when to read the baby segment again, or why it need not be read."""

    retry_secs: int
    is_merged: bool = False
    is_skipped: bool = False


_IS_PARKED = (
    'parked_streams."offset" > coalesce('
    f"{merged_offsets.lowest('parked_streams.stream_id')}, ingest_streams.deleted_offset)"
)
_ACTIVE: Select[*tuple[Any, ...]] = (
    select(
        parked_streams.c.stream_id,
        parked_streams.c.offset,
        parked_streams.c.reason,
        text("(extract(epoch FROM parked_streams.parked_at) * 1000000)::bigint * 1000"),
    )
    .join(ingest_streams, ingest_streams.c.id == parked_streams.c.stream_id)
    .where(ingest_streams.c.retired_at.is_(None), text(_IS_PARKED))
)
_LISTED = _ACTIVE.with_only_columns(
    parked_streams.c.stream_id, func.octet_length(parked_streams.c.reason)
)
_IDS = (
    _ACTIVE.with_only_columns(parked_streams.c.stream_id)
    .where(parked_streams.c.stream_id > bindparam("after"))
    .order_by(parked_streams.c.stream_id)
    .limit(bindparam("most"))
)
_BY_IDS = _ACTIVE.where(parked_streams.c.stream_id == func.any(bindparam("ids")))
_STATE = text(f"""
    SELECT h.committed_offset, s.retired_at IS NOT NULL AS is_retired,
      coalesce({merged_offsets.lowest_in("s", "h")}, s.deleted_offset) AS floor
    FROM ingest_streams s JOIN stream_heads h ON h.stream_id = s.id WHERE s.id = :stream
""")  # noqa: S608
# The lowest of several offsets counts, and a merged one no longer does.
_PARK = text("""
    INSERT INTO parked_streams AS p (stream_id, "offset", reason, parked_at)
    VALUES (:stream, :offset, :reason, clock_timestamp())
    ON CONFLICT (stream_id) DO UPDATE SET "offset" = excluded."offset", reason = excluded.reason,
        parked_at = CASE WHEN p."offset" = excluded."offset" THEN p.parked_at
                         ELSE excluded.parked_at END
    WHERE p."offset" >= excluded."offset" OR p."offset" <= :floor
    RETURNING extract(epoch FROM clock_timestamp() - parked_at)
""")
_BABY = text("""
    SELECT num_records, dataset_ids,
      (extract(epoch FROM committed_at) * 1000000)::bigint * 1000 AS committed_at_nanos
    FROM baby_segments WHERE stream_id = :stream AND "offset" = :offset
""")


def park(tx: Transaction, stream_id: UUID, offset: int, reason: str) -> Parking:
    """Record that a stream cannot pass a baby segment. Raises NotFound, OffsetNotCommitted."""
    state = tx.execute(_STATE, {"stream": stream_id}).one_or_none()
    if state is None:
        raise NotFound("there is no such stream", stream_id=stream_id)
    _check_committed(stream_id, offset, state.committed_offset)
    if losses.of_baby(tx, stream_id, offset):
        return Parking(0, is_skipped=True)
    if state.is_retired or offset <= state.floor:
        return Parking(0, is_merged=True)
    values = {"stream": stream_id, "offset": offset, "reason": reason, "floor": state.floor}
    age_secs = tx.execute(_PARK, values).scalar_one_or_none() or 0
    return Parking(int(min(max(age_secs, RETRY_SECS_MIN), RETRY_SECS_MAX)))


def list_page(tx: Transaction, window: Window) -> Page[ParkedStream]:
    """A page of the parked streams by id."""
    return keyset.read_rows(tx, _LISTED, window, _BY_IDS, ParkedStream)


def ids(tx: Transaction, after: UUID, most: int) -> list[UUID]:
    """Return the ids of some parked streams behind an id."""
    return list(tx.execute(_IDS, {"after": after, "most": most}).scalars())


def offsets_among(tx: Transaction, stream_ids: Collection[UUID]) -> dict[UUID, int]:
    """The offsets at which some streams are parked; those that are not parked are left out."""
    return {stream.stream_id: stream.offset for stream in among(tx, stream_ids)}


def among(tx: Transaction, stream_ids: Collection[UUID]) -> list[ParkedStream]:
    """Return those of some streams that are parked, those that wait longest first."""
    parked = [ParkedStream(*row) for row in tx.execute(_BY_IDS, {"ids": list(stream_ids)})]
    return sorted(parked, key=lambda stream: (stream.parked_at_nanos, stream.stream_id))


def skip(tx: Transaction, stream_id: UUID, offset: int, acceptance: Acceptance) -> list[Loss]:
    """Move every entry past the baby segment that a stream is parked at; returns the loss.

    A repetition returns the first call's entry. Raises NotFound, OffsetNotCommitted,
    NothingToRepair, and NotDrained as long as a dataset has not merged all babies below it.
    """
    head, _ = stream_ends.lock(tx, stream_id)
    if skipped := losses.of_baby(tx, stream_id, offset):
        return skipped
    _check_committed(stream_id, offset, head.committed_offset)
    keys = [(stream_id, dataset_id) for dataset_id in stream_datasets.of_stream(tx, stream_id)]
    stream_datasets.lock(tx, keys)
    merged = merged_offsets.of_stream(tx, stream_id)
    # Checked under the lock: a nursery that could read the baby segment may have merged it by now.
    _check_parked(tx, stream_id, offset)
    for dataset_id, merged_offset in merged.items():
        if merged_offset < offset - 1:
            raise NotDrained(
                f"dataset {dataset_id} has merged up to {merged_offset}, not yet all below"
                f" {offset}",
                stream_id=stream_id,
                dataset_id=dataset_id,
                merged_offset=merged_offset,
            )
    moved = [dataset_id for dataset_id, end in merged.items() if end < offset]
    baby = tx.execute(_BABY, {"stream": stream_id, "offset": offset}).one()
    audit.note(
        tx, "SkipOffset", f"{stream_id}/{offset}", f"{acceptance.actor}: {acceptance.reason}"
    )
    if moved:
        span = OffsetSpan(str(stream_id), offset, offset)
        moves = [EntryMove(dataset_id, span, baby.committed_at_nanos) for dataset_id in moved]
        version = registration_rows.write(tx, [((move,), ()) for move in moves])
    else:
        version = versions.allocate(tx)
    streams.stamp(tx, [stream_id], version)
    merged_ids = {dataset_id for dataset_id, end in merged.items() if end >= offset}
    losses.write(tx, _lost(stream_id, offset, baby, merged_ids), version, acceptance)
    return losses.of_baby(tx, stream_id, offset)


def _check_committed(stream_id: UUID, offset: int, committed_offset: int) -> None:
    if offset > committed_offset:
        raise OffsetNotCommitted(
            f"the committed offset is {committed_offset}, below {offset}",
            stream_id=stream_id,
            committed_offset=committed_offset,
        )


def _check_parked(tx: Transaction, stream_id: UUID, offset: int) -> None:
    row = tx.execute(_BY_IDS, {"ids": [stream_id]}).one_or_none()
    if row is None or row[1] != offset:
        state = "not parked" if row is None else f"parked at offset {row[1]}"
        raise NothingToRepair(
            f"the stream is {state}, so the baby segment at {offset} is not skipped",
            stream_id=stream_id,
        )


def _lost(
    stream_id: UUID, offset: int, baby: Row[*tuple[Any, ...]], merged_ids: set[UUID]
) -> list[Lost]:
    """One row per dataset that has not merged the baby segment; one in all if it has no stamps."""
    stamps = frozenset[UUID](baby.dataset_ids or ())
    dataset_ids: list[UUID | None] = [*sorted(stamps - merged_ids)]
    is_whole = not stamps & merged_ids
    # A count is of all datasets of the baby segment together.
    records = baby.num_records if len(dataset_ids) <= 1 and is_whole else None
    return [
        Lost(LossKind.BABY, stream_id, offset, dataset_id, records=records)
        for dataset_id in dataset_ids or [None]
    ]
