"""Classifies by their footers files that a client registered and that have not been read yet.

A version is published once, so what belongs to it must be known then.
"""

import structlog

from dataplane.registration import registered_facts, segment_facts
from meta.v1 import common_pb2
from segments.errors import CorruptObject, ObjectMissing
from segments.foreign.opening import claims_to_be_segment, reason_of
from segments.keys import join_key
from segments.parquet.content import read_content
from segments.parquet.footer import differences
from segments.store.interface import ObjectStore

log = structlog.get_logger()


def told_apart(segment: common_pb2.SegmentInfo, store: ObjectStore) -> common_pb2.SegmentInfo:
    """Return a segment with the facts of its footer, or as what readers leave out.

    One that claims to be a segment and is damaged is neither: its table is refused. Raises
    StoreError.
    """
    if segment.foreign.state != common_pb2.FOREIGN_STATE_UNREAD or segment.facts.format_version:
        return segment
    known = common_pb2.SegmentInfo()
    known.CopyFrom(segment)
    at = segment.cloud_object_key
    key = join_key(at.prefix.prefix, at.key)
    try:
        if claims_to_be_segment(lambda: store.open_input(key)):
            known.ClearField("foreign")
            _take_facts(known, key, store)
        else:
            known.foreign.state = common_pb2.FOREIGN_STATE_MAPPED
    except (CorruptObject, ObjectMissing) as error:
        known.foreign.state = common_pb2.FOREIGN_STATE_UNREADABLE
        known.foreign.reason = reason_of(error)
    return known


def _take_facts(segment: common_pb2.SegmentInfo, key: str, store: ObjectStore) -> None:
    """Add the facts of a footer that agrees with the registration."""
    try:
        read = read_content(store, key)
    except CorruptObject as error:
        log.error("segment_damaged", segment_id=segment.id, object_key=key, error=str(error))
        return
    is_registered = not any(differences(read.stored, registered_facts(segment)))
    if is_registered and read.content is not None and read.content.sections:
        segment.facts.CopyFrom(segment_facts(read.content))
