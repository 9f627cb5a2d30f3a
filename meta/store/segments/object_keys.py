"""Object identities: the state of every object key that was ever used.

One unique index over all keys, live, deleted or condemned. Every registration and every
condemnation inserts into it, so that the second of two waits for the first and finds its row; two
separate checks would be a write skew (a live segment whose object is being deleted).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from uuid import UUID

from sqlalchemy import text

from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction


class State(IntEnum):
    """State of an object key."""

    REGISTERED = 1
    CONDEMNED = 2
    DELETED = 3


@dataclass(frozen=True, slots=True)
class Identity:
    """A known object key; a condemned one never had a segment."""

    object_key: str
    state: State
    segment_id: UUID | None


# Arrays travel as literals: see meta.store.engine.pg_arrays.
# Ordered by key, so that two calls over the same keys wait for one another and do not deadlock.
_INSERT = text(
    "INSERT INTO object_identities (object_key, state, segment_id)"
    " SELECT k, :state, s FROM unnest(cast(:keys AS text[]), cast(:ids AS uuid[])) AS new (k, s)"
    ' ORDER BY k COLLATE "C" ON CONFLICT DO NOTHING RETURNING object_key'
)
_SELECT = text(
    "SELECT object_key, state, segment_id FROM object_identities"
    " WHERE object_key = ANY(cast(:keys AS text[]))"
)
_DELETE = text("DELETE FROM object_identities WHERE object_key = ANY(cast(:keys AS text[]))")
_MARK_DELETED = text(
    "UPDATE object_identities SET state = :state, changed_at = now()"
    " WHERE object_key = ANY(cast(:keys AS text[]))"
)


def register(tx: Transaction, keys: Sequence[str], segment_ids: Sequence[UUID]) -> frozenset[str]:
    """Insert keys for new segments; returns the new ones, locked until the commit."""
    return _insert(tx, State.REGISTERED, keys, segment_ids)


def condemn(tx: Transaction, keys: Sequence[str]) -> frozenset[str]:
    """Declare keys garbage; returns the new ones."""
    return _insert(tx, State.CONDEMNED, keys, [None] * len(keys))


def find(tx: Transaction, keys: Sequence[str]) -> dict[str, Identity]:
    """The keys that are known, as this statement sees them."""
    if not keys:
        return {}
    rows = tx.execute(_SELECT, {"keys": list(keys)})
    return {key: Identity(key, State(state), segment) for key, state, segment in rows}


def forget(tx: Transaction, keys: Sequence[str]) -> None:
    """Delete keys that this transaction has registered."""
    if keys:
        tx.execute(_DELETE, {"keys": list(keys)})


def mark_deleted(tx: Transaction, keys: Sequence[str]) -> None:
    """Remember keys whose objects are deleted, so that a late registration is refused."""
    if keys:
        tx.execute(_MARK_DELETED, {"keys": list(keys), "state": int(State.DELETED)})


def _insert(
    tx: Transaction, state: State, keys: Sequence[str], ids: Sequence[UUID | None]
) -> frozenset[str]:
    values = {"state": int(state), "keys": pg_arrays.quoted(keys), "ids": pg_arrays.uuids(ids)}
    return frozenset(tx.execute(_INSERT, values).scalars())
