"""Processes of the installation, as they report themselves with DownloadConfig."""

from meta.services.messages import checks, cursors
from meta.services.server_parts import ServerParts
from meta.store.engine.pool import Transaction
from meta.store.status.processes import FIRST, ProcessKey, ReportedProcess
from meta.store.versions import clock
from meta.v1 import status_pb2 as pb

LIMIT_DEFAULT, LIMIT_MAX = 100, 1_000
_CURSOR = b"ListProcesses"


def list_processes(
    server: ServerParts, request: pb.ListProcessesRequest
) -> pb.ListProcessesResponse:
    """One page of the processes."""
    limit = checks.limit(request.limit, default=LIMIT_DEFAULT, most=LIMIT_MAX)
    after = _position(request.after)

    def work(tx: Transaction) -> tuple[list[ReportedProcess], int]:
        return server.reports.page(tx, after, limit + 1), clock.now_nanos(tx)

    listed, now = server.transactions.read(work)
    cursor = _cursor(listed[limit - 1].key) if len(listed) > limit else ""
    return pb.ListProcessesResponse(
        processes=map(_message, listed[:limit]), next_cursor=cursor, database_time_nanos=now
    )


def _message(process: ReportedProcess) -> pb.Process:
    return pb.Process(
        report=pb.ProcessReport.FromString(process.report),
        subject=process.subject,
        first_seen_nanos=process.first_seen_nanos,
        last_seen_nanos=process.last_seen_nanos,
        clock_skew_nanos=process.clock_skew_nanos,
        credential_ends_at_nanos=process.credential_ends_at_nanos,
    )


def _cursor(key: ProcessKey) -> str:
    position = "\n".join(map(str, key)).encode()
    return cursors.encode(position, _bound_to(position))


def _position(cursor: str) -> ProcessKey:
    if not cursor:
        return FIRST
    position = cursors.decode(cursor, None, _bound_to, "after").decode()
    kind, name, started, subject = position.split("\n")
    return ProcessKey(kind, name, int(started), subject)


def _bound_to(position: bytes) -> bytes:
    return _CURSOR + position
