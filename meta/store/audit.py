"""The audit log: what an operator or administrator changed, kept for 90 days."""

from sqlalchemy import insert

from meta.store.engine import Transaction
from meta.store.tables import audit_log

_DETAIL_CHARACTERS_MAX = 1_000
_NOTE = insert(audit_log)


def note(tx: Transaction, rpc: str, subject_id: object, detail: str = "") -> None:
    """Write one line, in the transaction of the change itself. Never a secret."""
    values = {
        "rpc": rpc,
        "subject_id": str(subject_id),
        "detail": detail[:_DETAIL_CHARACTERS_MAX],
    }
    tx.execute(_NOTE, values)
