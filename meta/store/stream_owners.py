"""Owners of streams: the principal whose collector registered a stream, and no other, writes it.

A stream that a caller without a role of its own registered (an admin, or anyone on a server that
needs no credential) has no owner: who knows its id may go on with it.
"""

from uuid import UUID

from sqlalchemy import bindparam, select

from meta import access
from meta.access import Principal, Role
from meta.errors import NotFound, RoleRefused
from meta.store.engine import Transaction
from meta.store.tables import ingest_streams

# Names hold no control characters, so no owner can spell another's collector.
_SEPARATOR = "\x1f"
# The collector's own name in the column that `key_of` fills.
COLLECTOR_ID_SQL = "substr(s.collector_id, strpos(s.collector_id, chr(31)) + 1)"
_OWNER = select(ingest_streams.c.principal).where(ingest_streams.c.id == bindparam("id"))


def of(caller: Principal) -> str:
    """The owner of streams that a caller registers; "" = nobody."""
    return caller.subject if caller.role is Role.INGEST else ""


def key_of(owner: str, collector_id: str) -> str:
    """Key that is unique among active streams: the collector's name, in its owner's own space.

    One column of 0.1.0, whose servers find streams without an owner in it as before.
    """
    return f"{owner}{_SEPARATOR}{collector_id}" if owner else collector_id


def check(tx: Transaction, stream_id: UUID) -> None:
    """Raise NotFound or RoleRefused unless the caller may write to a stream."""
    caller = access.current.get()
    if caller.role is not Role.INGEST:
        return
    owner = tx.execute(_OWNER, {"id": stream_id}).scalar_one_or_none()
    if owner is None:
        raise NotFound("there is no such stream", stream_id=stream_id)
    if owner not in ("", caller.subject):
        raise RoleRefused("the stream belongs to another principal", role=caller.role.value)
