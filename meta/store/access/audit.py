"""The audit log: changes by operators and administrators, kept for 90 days."""

import json
from dataclasses import asdict, dataclass, is_dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Select, insert, select, text

from meta import access
from meta.access import AuditCaller
from meta.store.access import catalog_authors
from meta.store.engine import continuity, scope
from meta.store.engine.pool import Transaction
from meta.store.engine.row_columns import row_columns
from meta.store.tables.server import audit_log

_DETAIL_CHARACTERS_MAX = 1_000
_NOTE = insert(audit_log)
# Characters that are kept of a value, tried in order until the state is short enough.
_SHORTENED = (200, 50, 10, 0)


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One change: its time, call and subject, and the caller's name and host."""

    id: int
    at: datetime
    rpc: str
    subject_id: str
    detail: str
    principal: str
    host: str
    request_id: str


_ALL: Select[*tuple[Any, ...]] = select(*row_columns(AuditRecord, audit_log))
# The tenant of a record about nothing that a tenant has: operators alone read it.
_OPERATORS = -1
_TENANT_OF = text("SELECT tenant_key FROM resources WHERE id = :id LIMIT 1")


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Conditions of a list of records: "" and None = any. `since` is included, `until` is not."""

    rpc: str = ""
    subject_id: str = ""
    principal: str = ""
    host: str = ""
    request_id: str = ""
    since: datetime | None = None
    until: datetime | None = None


def note(
    tx: Transaction,
    rpc: str,
    subject_id: object,
    detail: str = "",
    caller: AuditCaller | None = None,
) -> None:
    """Write one line, in the transaction of the change itself. Never a secret.

    `caller` is the author of the change, if its transaction serves several callers.
    """
    caller = caller or access.caller()
    values = {
        "host": caller.host,
        "request_id": caller.request_id,
        "rpc": rpc,
        "subject_id": str(subject_id),
        "detail": detail[:_DETAIL_CHARACTERS_MAX],
        "principal": caller.subject,
        "tenant_key": _tenant_of(tx, subject_id),
    }
    tx.execute(_NOTE, values)
    continuity.note_change(tx.info)
    catalog_authors.note(tx, rpc, subject_id, caller.subject)


def _tenant_of(tx: Transaction, subject_id: object) -> int:
    """The tenant that a record belongs to: the caller's, or that of what an operator changed."""
    key = scope.tenant_key()
    if key is None and isinstance(subject_id, UUID):
        key = tx.execute(_TENANT_OF, {"id": subject_id}).scalar_one_or_none()
    return _OPERATORS if key is None else key


def states(before: Any, after: Any) -> str:
    """Return a change as one JSON object with its states `before` and `after`.

    Of two states of one dataclass only the fields that differ. Values that are too long for a
    record are shortened, so that it stays JSON.
    """
    old, new = _fields(before), _fields(after)
    if isinstance(old, dict) and isinstance(new, dict):
        changed = [name for name in new if old.get(name) != new[name]]
        old, new = ({name: state.get(name) for name in changed} for state in (old, new))
    text = json.dumps({"before": old, "after": new}, default=str)
    for length in _SHORTENED:
        if len(text) <= _DETAIL_CHARACTERS_MAX:
            break
        pair = {"before": _short(old, length), "after": _short(new, length), "shortened": True}
        text = json.dumps(pair, default=str)
    return text


def _fields(state: Any) -> Any:
    if isinstance(state, tuple):
        return [_fields(item) for item in state]
    return asdict(state) if is_dataclass(state) and not isinstance(state, type) else state


def _short(state: Any, length: int) -> Any:
    if isinstance(state, dict):
        return {name: _short(value, length) for name, value in state.items()}
    text = json.dumps(state, default=str)
    return state if len(text) <= length else text[:length]


def list_newest(
    tx: Transaction, filters: AuditFilter, before_id: int, limit: int
) -> list[AuditRecord]:
    """Records older than `before_id` (0 = from the newest), newest first."""
    statement = _filtered(filters).order_by(audit_log.c.id.desc()).limit(limit)
    if before_id:
        statement = statement.where(audit_log.c.id < before_id)
    return [AuditRecord(*row) for row in tx.execute(statement)]


def list_after(
    tx: Transaction, filters: AuditFilter, after_id: int, limit: int
) -> list[AuditRecord]:
    """Committed records newer than `after_id`, oldest first; older ids may be committed later."""
    statement = _filtered(filters).where(audit_log.c.id > after_id)
    return [
        AuditRecord(*row) for row in tx.execute(statement.order_by(audit_log.c.id).limit(limit))
    ]


def _filtered(filters: AuditFilter) -> Select[*tuple[Any, ...]]:
    statement = scope.of_tenant(_ALL, audit_log.c.tenant_key)
    for name in ("rpc", "subject_id", "principal", "host", "request_id"):
        if value := getattr(filters, name):
            statement = statement.where(audit_log.c[name] == value)
    if filters.since is not None:
        statement = statement.where(audit_log.c.at >= filters.since)
    if filters.until is not None:
        statement = statement.where(audit_log.c.at < filters.until)
    return statement
