"""Segments that a client registers by SaveSegments."""

import json

from meta.store.access import audit
from meta.store.engine.pool import Transaction
from meta.store.segments import foreign_files
from meta.store.segments.segments import Claim


def note(tx: Transaction, saved: list[Claim]) -> None:
    """Note who registered segments, and that nobody has read those without facts.

    No worker of ours makes this call. Raises ForeignRefused.
    """
    unread = {c.segment_id: c.new.dataset_id for c in saved if c.new.facts is None}
    foreign_files.mark_unread(tx, unread)
    for dataset_id in dict.fromkeys(c.new.dataset_id for c in saved):
        own = [c for c in saved if c.new.dataset_id == dataset_id]
        detail = {
            "segments": len(own),
            "without_facts": sum(c.segment_id in unread for c in own),
            "first": {"id": str(own[0].segment_id), "object_key": own[0].new.object_key},
        }
        audit.note(tx, "SaveSegments", dataset_id, json.dumps(detail))
