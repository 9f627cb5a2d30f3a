"""The audit log: what an operator or administrator changed, kept for 90 days."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, insert, select

from meta import access
from meta.store.engine import Transaction
from meta.store.tables import audit_log

_DETAIL_CHARACTERS_MAX = 1_000
_NOTE = insert(audit_log)
_ALL: Select[*tuple[Any, ...]] = select(
    audit_log.c.id,
    audit_log.c.at,
    audit_log.c.rpc,
    audit_log.c.subject_id,
    audit_log.c.detail,
    audit_log.c.principal,
    audit_log.c.host,
    audit_log.c.request_id,
).order_by(audit_log.c.id.desc())


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One change: when, by which call, of what, who called and from where."""

    id: int
    at: datetime
    rpc: str
    subject_id: str
    detail: str
    principal: str
    host: str
    request_id: str


def note(tx: Transaction, rpc: str, subject_id: object, detail: str = "") -> None:
    """Write one line, in the transaction of the change itself. Never a secret."""
    origin = access.origin.get()()
    values = {
        "host": origin.host,
        "request_id": origin.request_id,
        "rpc": rpc,
        "subject_id": str(subject_id),
        "detail": detail[:_DETAIL_CHARACTERS_MAX],
        "principal": access.current.get().subject,
    }
    tx.execute(_NOTE, values)


def list_newest(
    tx: Transaction, before_id: int, rpc: str, subject_id: str, principal: str, limit: int
) -> list[AuditRecord]:
    """Records older than `before_id` (0 = from the newest), newest first; "" = any."""
    statement = _ALL.limit(limit)
    if before_id:
        statement = statement.where(audit_log.c.id < before_id)
    for column, value in (("rpc", rpc), ("subject_id", subject_id), ("principal", principal)):
        if value:
            statement = statement.where(audit_log.c[column] == value)
    return [AuditRecord(*row) for row in tx.execute(statement)]
