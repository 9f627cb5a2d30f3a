"""A meta of a few lines on a real port, for answers that the real one gives only rarely."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import grpc

from meta.v1.operations_pb2 import (
    ExpireTableObjectsRequest,
    ExpireTableObjectsResponse,
    GetServerStateRequest,
    GetServerStateResponse,
)
from meta.v1.operations_pb2_grpc import (
    OperationsServiceServicer,
    add_OperationsServiceServicer_to_server,
)
from meta.v1.segment_deletion_pb2 import (
    ConfirmTombstoneDeletionError,
    ConfirmTombstoneDeletionRequest,
    ConfirmTombstoneDeletionResponse,
    ConfirmTombstoneDeletionSuccess,
    GetTombstonedSegmentsForDeletionRequest,
    GetTombstonedSegmentsForDeletionResponse,
    TombstonedSegmentInfo,
)
from meta.v1.segment_deletion_pb2_grpc import (
    SegmentDeletionServiceServicer,
    add_SegmentDeletionServiceServicer_to_server,
)

Context = grpc.ServicerContext


@dataclass
class Deletion(SegmentDeletionServiceServicer):
    """Hands out tombstoned segments in order and forgets the confirmed ones."""

    tombstoned: list[TombstonedSegmentInfo] = field(default_factory=list)
    confirms: list[Sequence[str]] = field(default_factory=list)
    polls: int = 0
    refusal: str = ""
    is_away: bool = False
    table_keys: list[str] = field(default_factory=list)
    # A restore is found after the table's objects were named: deletion is held from then on.
    is_held_after_naming: bool = False
    is_held: bool = False

    def GetTombstonedSegmentsForDeletion(  # noqa: N802
        self, request: GetTombstonedSegmentsForDeletionRequest, context: Context
    ) -> GetTombstonedSegmentsForDeletionResponse:
        self.polls += 1
        return GetTombstonedSegmentsForDeletionResponse(segments=self.tombstoned[:1_000])

    def ConfirmTombstoneDeletion(  # noqa: N802
        self, request: ConfirmTombstoneDeletionRequest, context: Context
    ) -> ConfirmTombstoneDeletionResponse:
        if self.is_away:
            context.abort(grpc.StatusCode.INTERNAL, "away")
        if self.refusal:
            error = ConfirmTombstoneDeletionError(reason=self.refusal)
            return ConfirmTombstoneDeletionResponse(error=error)
        self.confirms.append(list(request.segment_ids))
        ids = set(request.segment_ids)
        kept = [segment for segment in self.tombstoned if segment.segment_id not in ids]
        gone, self.tombstoned = len(self.tombstoned) - len(kept), kept
        success = ConfirmTombstoneDeletionSuccess(deleted_count=gone)
        return ConfirmTombstoneDeletionResponse(success=success)


class Operations(OperationsServiceServicer):
    """The state, without deletion brakes, and objects of tables' metadata."""

    def __init__(self, deletion: Deletion) -> None:
        self._deletion = deletion

    def GetServerState(  # noqa: N802
        self, request: GetServerStateRequest, context: Context
    ) -> GetServerStateResponse:
        return GetServerStateResponse(deletion_held=self._deletion.is_held)

    def ExpireTableObjects(  # noqa: N802
        self, request: ExpireTableObjectsRequest, context: Context
    ) -> ExpireTableObjectsResponse:
        self._deletion.is_held = self._deletion.is_held_after_naming
        return ExpireTableObjectsResponse(object_keys=self._deletion.table_keys)


@contextmanager
def serve(deletion: Deletion) -> Iterator[str]:
    """Serve on a free port; gives the address."""
    server = grpc.server(ThreadPoolExecutor(4))
    add_SegmentDeletionServiceServicer_to_server(deletion, server)
    add_OperationsServiceServicer_to_server(Operations(deletion), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()
