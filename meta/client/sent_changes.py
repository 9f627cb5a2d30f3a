"""Progress of a stream of changes that continues at another server."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from meta.v1 import operations_pb2


class SentChanges:
    """The progress of a stream of changes.

    A stream may end inside of a large version. The next one begins with that version again, and the
    changes that were received are skipped.
    """

    def __init__(self) -> None:
        self._of_version: set[tuple[str, bool]] = set()
        self._has_replies = False

    def __bool__(self) -> bool:
        return self._has_replies

    def receive(self, request: Any, reply: Any) -> "operations_pb2.WatchDatasetRequest":
        """Skip changes that were received before; returns the request for the rest."""
        self._has_replies = True
        changes = [
            change
            for change in reply.changes
            if (change.segment.id, change.is_removed) not in self._of_version
        ]
        if len(changes) < len(reply.changes):
            del reply.changes[:]
            reply.changes.extend(changes)
        if reply.through_version > request.since_version:
            self._of_version.clear()
        self._of_version.update(
            (change.segment.id, change.is_removed)
            for change in changes
            if change.version > reply.through_version
        )
        remainder: operations_pb2.WatchDatasetRequest = type(request)()
        remainder.CopyFrom(request)
        remainder.since_version = max(request.since_version, reply.through_version)
        return remainder
