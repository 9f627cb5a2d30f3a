"""Segments that a client registers by SaveSegments."""

import json
from collections.abc import Sequence
from uuid import UUID

from meta.errors import InvalidArgument
from meta.services.messages import deduplication_keys
from meta.store.access import audit
from meta.store.engine.pool import Transaction
from meta.store.registration import deduplication, registrations
from meta.store.registration.calls import Merge
from meta.store.registration.deduplication import DeduplicatedEvents, EventClaims
from meta.store.segments import foreign_files, segments
from meta.store.segments.segments import Claim, NewSegment
from meta.store.versions import versions
from meta.v1 import ingestion_pb2


def checked_claims(
    request: ingestion_pb2.SaveSegmentsRequest, new: Sequence[NewSegment]
) -> EventClaims | None:
    """Check the deduplication keys of segments; None if the call names none.

    Raises InvalidArgument.
    """
    if not request.HasField("deduplication_keys"):
        return None
    claims = deduplication_keys.checked_claims(request.deduplication_keys, "deduplication_keys")
    if claims.duplicates:
        raise InvalidArgument("no baby segment has them", field="deduplication_keys.duplicates")
    if len({segment.dataset_id for segment in new}) > 1:
        raise InvalidArgument("the segments are of several datasets", field="deduplication_keys")
    return claims


def save(tx: Transaction, new: Sequence[NewSegment], events: EventClaims | None) -> list[UUID]:
    """Register segments that are not registered, with the deduplication keys of their events.

    A repetition claims nothing. Raises the refusals of keys, ForeignRefused, LayoutChanged,
    EventsClaimed, DeduplicationKeysRequired.
    """
    stated = {} if events is None else {deduplication.FIELD: events}
    by_dataset: dict[UUID, list[NewSegment]] = {}
    for segment in new:
        by_dataset.setdefault(segment.dataset_id, []).append(segment)
    merges = [Merge(key, tuple(group), (), stated=stated) for key, group in by_dataset.items()]
    claims = registrations.register_alone(tx, merges, [DeduplicatedEvents])
    if saved := [claimed for claimed in claims if claimed.registered_at is None]:
        segments.insert(tx, claims, versions.allocate(tx))
        note(tx, saved)
    ids = {claimed.new.object_key: claimed.segment_id for claimed in claims}
    return [ids[segment.object_key] for segment in new]


def note(tx: Transaction, saved: list[Claim]) -> None:
    """Note the caller that registered segments, and that nobody has read those without facts.

    No worker of ours makes this call. Raises ForeignRefused.
    """
    unread = {c.segment_id: c.new.dataset_id for c in saved if c.new.facts is None}
    foreign_files.mark_unread(tx, unread)
    for dataset_id in dict.fromkeys(c.new.dataset_id for c in saved):
        claims = [c for c in saved if c.new.dataset_id == dataset_id]
        detail = {
            "segments": len(claims),
            "without_facts": sum(c.segment_id in unread for c in claims),
            "first": {"id": str(claims[0].segment_id), "object_key": claims[0].new.object_key},
        }
        audit.note(tx, "SaveSegments", dataset_id, json.dumps(detail))
