"""Reads the footers of segments whose writers did not send meta their facts.

These are segments of release 0.1.0, and those of clients that know the published contract only.
Each is read once: meta lists it no more, even if its footer has no facts. An object that a client
registered and that is not a segment is read whole, once; later, readers map it or skip it.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import structlog

from dataplane.registration import registered_facts, segment_facts
from janitor.jobs import Tools
from meta.client import location
from meta.v1.common_pb2 import (
    FOREIGN_STATE_MAPPED,
    FOREIGN_STATE_UNREAD,
    FOREIGN_STATE_UNREADABLE,
    ForeignFile,
    SegmentInfo,
)
from meta.v1.operations_pb2 import ListUnreadSegmentsRequest, ReadSegment, SetSegmentFactsRequest
from segments.errors import CorruptObject, ObjectMissing
from segments.foreign.opening import examined
from segments.foreign.origin import RegisteredFile
from segments.keys import join_key
from segments.parquet.content import read_content
from segments.parquet.footer import SegmentContent, differences

log = structlog.get_logger()
SEGMENTS_PAGE = 100
READS_AT_ONCE = 4


def read_footers(tools: Tools) -> None:
    """Report to meta the content of all segments that it does not know, page by page."""
    after = ""
    with ThreadPoolExecutor(READS_AT_ONCE) as pool:
        while not tools.shutdown.is_requested:
            page = tools.meta.operations.ListUnreadSegments(
                ListUnreadSegmentsRequest(after_segment_id=after, limit=SEGMENTS_PAGE)
            )
            _report(tools, list(pool.map(partial(_read, tools), page.segments)))
            after = page.next_after_segment_id
            if not after:
                return


def _report(tools: Tools, read: Sequence[ReadSegment]) -> None:
    if not read:
        return
    reply = tools.meta.operations.SetSegmentFacts(SetSegmentFactsRequest(segments=read))
    untold = sum(not segment.HasField("facts") for segment in read)
    log.info("footers_read", segments=len(read), recorded=reply.recorded, untold=untold)


def _read(tools: Tools, segment: SegmentInfo) -> ReadSegment:
    """Read one file; without facts if it is not one of ours or disagrees with meta."""
    if segment.foreign.state == FOREIGN_STATE_UNREAD:
        read = _read_foreign(tools, segment)
        if read is not None:
            return read
    try:
        content = _content(tools, segment)
    except (CorruptObject, ObjectMissing, ValueError) as error:
        log.info("footer_unreadable", segment_id=segment.id, error=str(error))
        content = None
    facts = segment_facts(content) if content and content.sections else None
    return ReadSegment(segment_id=segment.id, facts=facts)


def _read_foreign(tools: Tools, segment: SegmentInfo) -> ReadSegment | None:
    """Read an object that a client registered; None for a segment, sound or damaged."""
    at, times = segment.cloud_object_key, segment.time_range
    key = join_key(at.prefix.prefix, at.key)
    registered = RegisteredFile(
        segment.id,
        segment.dataset_id,
        segment.number_of_events,
        times.start_time,
        times.end_time,
        segment.foreign.time_column,
    )
    try:
        read = examined(lambda: tools.store.open_input(key), registered)
    except ObjectMissing:
        read = "there is no such object"
    if isinstance(read, str):
        log.warning("segment_unreadable", segment_id=segment.id, object_key=key, reason=read)
        foreign = ForeignFile(state=FOREIGN_STATE_UNREADABLE, reason=read)
        foreign.time_column = segment.foreign.time_column
        return ReadSegment(segment_id=segment.id, foreign=foreign)
    if read is None:
        return None
    log.info("segment_mapped", segment_id=segment.id, object_key=key)
    foreign = ForeignFile(state=FOREIGN_STATE_MAPPED, time_column=segment.foreign.time_column)
    return ReadSegment(segment_id=segment.id, facts=segment_facts(read.content), foreign=foreign)


def _content(tools: Tools, segment: SegmentInfo) -> SegmentContent | None:
    at = segment.cloud_object_key
    key = join_key(at.prefix.prefix, at.key)
    if location(at.prefix.bucket) != tools.meta_stores.of_key(key):
        return None
    read = read_content(tools.store, key)
    for difference in differences(read.stored, registered_facts(segment)):
        raise CorruptObject(difference)
    return read.content
