"""ListMergeAttempts: claims of merge tasks over time."""

from meta.services.messages import checks
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.merging import merge_attempts
from meta.store.versions import clock
from meta.v1 import status_pb2 as pb

LIMIT_DEFAULT, LIMIT_MAX = 100, 500


def list_merge_attempts(
    server: ServerParts, request: pb.ListMergeAttemptsRequest
) -> pb.ListMergeAttemptsResponse:
    """The newest attempts."""
    limit = checks.limit(request.limit, default=LIMIT_DEFAULT, most=LIMIT_MAX)
    attempts, now = server.transactions.read(
        lambda tx: (merge_attempts.newest(tx, limit), clock.now_nanos(tx))
    )
    return pb.ListMergeAttemptsResponse(
        attempts=[filled(pb.ListedMergeAttempt, attempt) for attempt in attempts],
        database_time_nanos=now,
    )
