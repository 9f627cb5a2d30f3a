"""The audit log and the numbers of denied calls, read by page."""

from datetime import UTC, datetime, timedelta

from meta import access
from meta.errors import InvalidArgument
from meta.services.messages import checks
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.access import audit, denied_calls
from meta.store.access.audit import AuditFilter, AuditRecord
from meta.store.engine.pool import Transaction
from meta.v1 import operations_pb2 as pb

LIMIT = 100
LIMIT_MAX = 1_000
_TEXTS = ("rpc", "subject_id", "principal", "host", "request_id")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def list_audit_records(
    server: ServerParts, request: pb.ListAuditRecordsRequest
) -> pb.ListAuditRecordsResponse:
    """Read the audit log, newest first, or what followed a record."""
    limit = checks.limit(request.limit, default=LIMIT, most=LIMIT_MAX)
    before_id = checks.count(request.before_id, "before_id")
    after_id = checks.count(request.after_id, "after_id")
    is_following = request.HasField("after_id")
    if is_following and before_id:
        raise InvalidArgument("after_id and before_id exclude each other", field="after_id")
    filters = _filters(request)

    def work(tx: Transaction) -> list[AuditRecord]:
        if is_following:
            return audit.list_after(tx, filters, after_id, limit)
        return audit.list_newest(tx, filters, before_id, limit)

    records = server.transactions.read(work)
    return pb.ListAuditRecordsResponse(records=map(_message, records))


def list_denied_calls(
    server: ServerParts, request: pb.ListDeniedCallsRequest
) -> pb.ListDeniedCallsResponse:
    """Read the numbers of denied calls, newest first."""
    limit = checks.limit(request.limit, default=LIMIT, most=LIMIT_MAX)
    before_id = checks.count(request.before_id, "before_id")
    host, reason = (checks.text(getattr(request, name), name) for name in ("host", "reason"))
    since = _moment(request.since_nanos, "since_nanos")
    rows = server.transactions.read(
        lambda tx: denied_calls.list_newest(
            tx, before_id, host, reason, since and since.replace(second=0, microsecond=0), limit
        )
    )
    messages = [
        filled(pb.DeniedCalls, row, minute=row.minute.astimezone(UTC).isoformat()) for row in rows
    ]
    return pb.ListDeniedCallsResponse(rows=messages)


def _filters(request: pb.ListAuditRecordsRequest) -> AuditFilter:
    texts = {name: checks.text(getattr(request, name), name) for name in _TEXTS}
    texts["principal"] = access.stored_subject(texts["principal"])
    return AuditFilter(
        **texts,
        since=_moment(request.since_nanos, "since_nanos"),
        until=_moment(request.until_nanos, "until_nanos"),
    )


def _moment(nanos: int, field: str) -> datetime | None:
    """A time, None = 0; rounded up to the microseconds of the log."""
    microseconds = -(-checks.count(nanos, field) // 1_000)
    return _EPOCH + timedelta(microseconds=microseconds) if microseconds else None


def _message(record: AuditRecord) -> pb.AuditRecord:
    return filled(
        pb.AuditRecord,
        record,
        principal=access.shown_subject(record.principal),
        at=record.at.astimezone(UTC).isoformat(),
    )
