"""Changes of a token's routing, carried to the streams that carry the token.

The token itself changes in one short transaction, and stamped babies follow it at once. Unstamped
ones follow the periods of their stream (meta.store.routing), which begin page by page: each page
locks the heads of its streams, so no baby at or below their offsets can hold records for the new
datasets, and none above is committed before the entries are there. Whoever finds an unfinished
change carries it on.
"""

from uuid import UUID

from sqlalchemy import Uuid, bindparam, text

from meta.store import routing, stream_datasets, streams, tokens, versions
from meta.store.ages import ago
from meta.store.engine import Conflict, Transaction
from meta.store.stream_datasets import NewEntry
from meta.store.tokens import IngestToken

STREAMS_AT_ONCE = 200
# The caller of an unfinished change has left by then, or its server is gone.
ABANDONED_SECS = 60.0
_NIL = UUID(int=0)

_BEGIN = text("""
    INSERT INTO routing_changes (token_id, last_stream_id) VALUES (:token, :nil)
    ON CONFLICT (token_id) DO UPDATE SET last_stream_id = :nil, changed_at = now()
""").bindparams(bindparam("nil", _NIL, type_=Uuid))
_LOCK = text("SELECT last_stream_id FROM routing_changes WHERE token_id = :token FOR UPDATE")
_MOVE = text(
    "UPDATE routing_changes SET last_stream_id = :stream, changed_at = now()"
    " WHERE token_id = :token"
)
_END = text("DELETE FROM routing_changes WHERE token_id = :token")
_ABANDONED = text(f"""
    SELECT token_id FROM routing_changes WHERE changed_at < {ago(":age")}
    ORDER BY changed_at LIMIT 1
""")  # noqa: S608


def begin(tx: Transaction, token_id: UUID) -> None:
    """Note that the streams of a locked token have to follow its routing."""
    tx.execute(_BEGIN, {"token": token_id})


def carry_on(tx: Transaction, token_id: UUID) -> bool:
    """Let one page of streams follow a token's routing; False once all have."""
    token = _lock_token(tx, token_id)
    last = tx.execute(_LOCK, {"token": token_id}).scalar_one_or_none()
    if last is None:
        return False
    if token is None or token.revoked_at is not None:
        tx.execute(_END, {"token": token_id})
        return False
    page = routing.carriers(tx, token_id, last, STREAMS_AT_ONCE)
    if len(page) < STREAMS_AT_ONCE:
        tx.execute(_END, {"token": token_id})
    else:
        tx.execute(_MOVE, {"token": token_id, "stream": page[-1]})
    _follow(tx, token, page)
    return len(page) == STREAMS_AT_ONCE


def carry_on_abandoned(tx: Transaction) -> int:
    """Continue one change that no other call works on; returns 1 if there is more to do."""
    token_id = tx.execute(_ABANDONED, {"age": ABANDONED_SECS}).scalar_one_or_none()
    if token_id is None:
        return 0
    carry_on(tx, token_id)
    return 1


def _lock_token(tx: Transaction, token_id: UUID) -> IngestToken | None:
    """Keep the token and the datasets of its routing as they are, in the order of locks."""
    token = tokens.find(tx, token_id)
    if token is None:
        return None
    stream_datasets.lock_live_datasets(tx, token.routing.datasets())
    locked = tokens.lock_shared(tx, token_id)
    if locked is not None and locked.routing != token.routing:
        raise Conflict("40001")
    return locked


def _follow(tx: Transaction, token: IngestToken, stream_ids: list[UUID]) -> None:
    heads = streams.lock_heads(tx, stream_ids)
    active = [head for head in heads.values() if not head.is_stopped]
    if not active:
        return
    routing.begin_period(tx, token.id, token.routing, active)
    created = stream_datasets.create_missing(
        tx,
        [
            NewEntry(head.stream_id, dataset_id, head.committed_offset)
            for head in active
            for dataset_id in token.routing.datasets()
        ],
    )
    stream_datasets.stamp(tx, created, versions.allocate(tx))
