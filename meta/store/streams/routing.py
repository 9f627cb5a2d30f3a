"""Routing of tokens on streams: admissions, changes, and the datasets of unstamped babies.

A period gives the datasets of a token's signals for babies of a stream from an offset on, until the
next period of the pair begins. It is the routing in force when those offsets were committed.

A token itself changes in one short transaction, and stamped babies follow it at once. Unstamped
ones follow the periods of their stream, which begin page by page: each page locks the heads of its
streams, so no baby at or below their offsets can hold records for the new datasets, and none above
is committed before the entries are there. A call works on its change for a while and then leaves
it; a server carries on changes that were left, or that nobody has worked on for a minute.
"""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import text

from meta.store.engine import pg_arrays
from meta.store.engine.pool import Conflict, Transaction
from meta.store.streams import merged_offsets, stream_datasets, streams, tokens
from meta.store.streams.stream_datasets import NewEntry
from meta.store.streams.streams import Head
from meta.store.streams.tokens import IngestToken, TokenRouting
from meta.store.versions import versions
from meta.store.versions.clock import ago

STREAMS_AT_ONCE = 200
# The caller of an unfinished change has left by then, or its server has stopped.
ABANDONED_SECS = 60.0
_ADD_TOKEN = text(
    "INSERT INTO stream_tokens (stream_id, token_id) VALUES (:stream, :token)"
    " ON CONFLICT DO NOTHING"
)
_CARRIERS = text("""
    SELECT t.stream_id FROM stream_tokens t JOIN ingest_streams s ON s.id = t.stream_id
    WHERE t.token_id = :token AND t.stream_id > :after AND s.stopped_offset IS NULL
    ORDER BY t.stream_id LIMIT :most
""")
_BEGIN = text("""
    INSERT INTO routing_periods (stream_id, token_id, from_offset, logs_dataset_id,
      traces_dataset_id, metrics_dataset_id)
    SELECT s, :token, o, cast(:logs AS uuid), cast(:traces AS uuid), cast(:metrics AS uuid)
    FROM unnest(cast(:streams AS uuid[]), cast(:offsets AS bigint[])) AS new (s, o)
    ON CONFLICT (stream_id, token_id, from_offset) DO UPDATE SET
      logs_dataset_id = excluded.logs_dataset_id, traces_dataset_id = excluded.traces_dataset_id,
      metrics_dataset_id = excluded.metrics_dataset_id
""")
# Only streams with unmerged babies of the token; the others stay drained.
_NOTE_REVOKED = text(
    "UPDATE stream_tokens t SET revoked_offset = h.committed_offset FROM stream_heads h"
    " WHERE t.token_id = :token AND h.stream_id = t.stream_id AND t.revoked_offset IS NULL"
)
_UNDRAINED = text(f"""
    SELECT t.stream_id FROM stream_tokens t
    WHERE t.token_id = :token AND {merged_offsets.lowest("t.stream_id")} < t.revoked_offset
    ORDER BY t.stream_id LIMIT 1
""")  # noqa: S608
# A token whose change has not reached the stream still routes there as before.
_ROUTES_TO = text(
    "SELECT EXISTS (SELECT FROM stream_tokens t JOIN ingest_tokens i ON i.id = t.token_id"
    " LEFT JOIN routing_changes c ON c.token_id = i.id AND c.last_stream_id < t.stream_id"
    " WHERE t.stream_id = :stream AND i.revoked_at IS NULL AND (c.token_id IS NOT NULL"
    " OR :dataset IN (i.logs_dataset_id, i.traces_dataset_id, i.metrics_dataset_id)))"
)


def add_token(tx: Transaction, stream_id: UUID, token_id: UUID) -> bool:
    """Admit a token on a stream; false if it was admitted before."""
    return tx.execute(_ADD_TOKEN, {"stream": stream_id, "token": token_id}).rowcount > 0


def carriers(tx: Transaction, token_id: UUID, after: UUID, most: int) -> list[UUID]:
    """Active streams that carry a token, by id, behind `after`."""
    values = {"token": token_id, "after": after, "most": most}
    return list(tx.execute(_CARRIERS, values).scalars())


def begin_period(
    tx: Transaction, token_id: UUID, routing: TokenRouting, heads: Sequence[Head]
) -> None:
    """Route what streams with locked heads commit from now on."""
    values = {
        "token": token_id,
        "logs": routing.logs,
        "traces": routing.traces,
        "metrics": routing.metrics,
        "streams": pg_arrays.uuids([head.stream_id for head in heads]),
        "offsets": pg_arrays.numbers([head.committed_offset + 1 for head in heads]),
    }
    tx.execute(_BEGIN, values)


def note_revoked(tx: Transaction, token_id: UUID) -> None:
    """Remember how far each stream had committed when its token was revoked."""
    tx.execute(_NOTE_REVOKED, {"token": token_id})


def find_undrained(tx: Transaction, token_id: UUID) -> UUID | None:
    """A stream that has not merged past the token's revocation."""
    return tx.execute(_UNDRAINED, {"token": token_id}).scalar_one_or_none()


def routes_to(tx: Transaction, stream_id: UUID, dataset_id: UUID) -> bool:
    """True while an active token of the stream sends something to the dataset."""
    values = {"stream": stream_id, "dataset": dataset_id}
    return bool(tx.execute(_ROUTES_TO, values).scalar_one())


_BEGIN_CHANGE = text(f"""
    INSERT INTO routing_changes (token_id, last_stream_id) VALUES (:token, '{UUID(int=0)}')
    ON CONFLICT (token_id) DO UPDATE
    SET last_stream_id = excluded.last_stream_id, changed_at = now()
""")  # noqa: S608
_LOCK = text("SELECT last_stream_id FROM routing_changes WHERE token_id = :token FOR UPDATE")
_MOVE = text(
    "UPDATE routing_changes SET last_stream_id = :stream, changed_at = now()"
    " WHERE token_id = :token"
)
_LEAVE = text("UPDATE routing_changes SET changed_at = '-infinity' WHERE token_id = :token")
# Only the position: the change stays left.
_MOVE_LEFT = text("UPDATE routing_changes SET last_stream_id = :stream WHERE token_id = :token")
_END = text("DELETE FROM routing_changes WHERE token_id = :token")
# Any number, the same in every release: one server works on left changes.
LEFT_LOCK_KEY = 7_310_579_241_902_117
_TRY_LOCK = text("SELECT pg_try_advisory_xact_lock(:key)")
_ABANDONED = text(f"""
    SELECT token_id FROM routing_changes WHERE changed_at < {ago(":age")}
    ORDER BY changed_at, token_id LIMIT 1
""")  # noqa: S608


def begin_change(tx: Transaction, token_id: UUID) -> None:
    """Note that the streams of a locked token have to follow its routing."""
    tx.execute(_BEGIN_CHANGE, {"token": token_id})


def carry_on(tx: Transaction, token_id: UUID, *, is_left: bool = False) -> bool:
    """Let one page of streams follow a token's routing; False once all have."""
    token = tokens.find(tx, token_id)
    token = None if token is None else lock_token(tx, token)
    last = tx.execute(_LOCK, {"token": token_id}).scalar_one_or_none()
    if last is None:
        return False
    if token is None or token.revoked_at is not None:
        tx.execute(_END, {"token": token_id})
        return False
    page = carriers(tx, token_id, last, STREAMS_AT_ONCE)
    if len(page) < STREAMS_AT_ONCE:
        tx.execute(_END, {"token": token_id})
    else:
        tx.execute(_MOVE_LEFT if is_left else _MOVE, {"token": token_id, "stream": page[-1]})
    _follow(tx, token, page)
    return len(page) == STREAMS_AT_ONCE


def leave(tx: Transaction, token_id: UUID) -> None:
    """Leave the rest of a change to a server."""
    tx.execute(_LEAVE, {"token": token_id})


def carry_on_left(tx: Transaction) -> bool:
    """Do a page of a change that no call works on; False if there is none, or another server is."""
    if not tx.execute(_TRY_LOCK, {"key": LEFT_LOCK_KEY}).scalar_one():
        return False
    token_id = tx.execute(_ABANDONED, {"age": ABANDONED_SECS}).scalar_one_or_none()
    if token_id is not None:
        carry_on(tx, token_id, is_left=True)
    return token_id is not None


def lock_token(tx: Transaction, token: IngestToken) -> IngestToken | None:
    """Keep the token and the datasets of its routing as they are; None if it is deleted.

    The order of locks is datasets before tokens, so the routing is read again under the lock.
    """
    stream_datasets.lock_live_datasets(tx, token.routing.datasets())
    locked = tokens.find(tx, token.id, "FOR SHARE")
    if locked is not None and locked.routing != token.routing:
        raise Conflict("40001")
    return locked


def _follow(tx: Transaction, token: IngestToken, stream_ids: list[UUID]) -> None:
    heads = streams.lock_heads(tx, stream_ids)
    active = [head for head in heads.values() if not head.is_stopped]
    if not active:
        return
    begin_period(tx, token.id, token.routing, active)
    created = stream_datasets.create_missing(
        tx,
        [
            NewEntry(head.stream_id, dataset_id, head.committed_offset)
            for head in active
            for dataset_id in token.routing.datasets()
        ],
    )
    stream_datasets.stamp(tx, created, versions.allocate(tx))
