"""Calls about single segments: those whose facts are not known yet."""

from meta.services.segments.unread_segments import list_unread_segments, set_segment_facts
from meta.services.server_parts import Operations

OPERATIONS: Operations = {
    "ListUnreadSegments": list_unread_segments,
    "SetSegmentFacts": set_segment_facts,
}
