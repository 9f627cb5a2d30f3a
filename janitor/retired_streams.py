"""Lets meta forget retired streams of which nothing is listed any more."""

import itertools

from janitor.jobs import Tools
from meta.v1.operations_pb2 import ForgetStreamsRequest
from segments.inventory.listing import list_objects, stream_ids
from segments.keys import BABIES_ROOT

LISTED_MAX = 1_000


def forget_streams(tools: Tools) -> None:
    """Report to meta the streams that have an object, by interval; it forgets the others."""
    # Any object of a stream counts, whatever its name.
    streams = stream_ids(list_objects(tools.store, BABIES_ROOT))
    after = ""
    while not tools.shutdown.is_requested:
        listed = list(itertools.islice(streams, LISTED_MAX))
        through = listed[-1] if len(listed) == LISTED_MAX else ""
        request = ForgetStreamsRequest(
            after_stream_id=after, through_stream_id=through, listed_stream_ids=listed
        )
        _forget(tools, request)
        if not through:
            return
        after = through


def _forget(tools: Tools, request: ForgetStreamsRequest) -> None:
    """Repeat a request until an interval has no more to forget; meta forgets a bounded number."""
    is_full = True
    while is_full and not tools.shutdown.is_requested:
        is_full = tools.meta.operations.ForgetStreams(request).forgotten >= LISTED_MAX
