"""Locks of resources: each refuses every change of what it is on.

A lock is in force until it is ended by its token, broken by an admin, or its end has come. Setting
one takes the row of the resource FOR UPDATE; a change of the resource takes it FOR NO KEY UPDATE
before anything else, and then reads the lock. The order is that of all locks: datasets, groups,
schemas, views, projections, tokens, those of a kind by id.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Row, TextClause, Uuid, bindparam, text

from meta import access
from meta.errors import Locked, NotFound
from meta.store.catalog.resources import ResourceKind
from meta.store.engine import scope
from meta.store.engine.pool import Transaction
from meta.store.versions.clock import NOW, ago

_IDS = bindparam("ids", type_=ARRAY(Uuid))
_ID = bindparam("id", type_=Uuid)


@dataclass(frozen=True, slots=True)
class ResourceLock:
    """A lock; `digest` is that of its token, and `ends_at` None if it has no end."""

    id: UUID
    kind: ResourceKind
    resource_id: UUID
    digest: bytes
    reason: str
    locked_by: str
    locked_at: datetime
    ends_at: datetime | None


# Kinds in the order of locks. Of a purged dataset only its row remains.
_TABLES: Mapping[ResourceKind, tuple[str, str]] = {
    ResourceKind.DATASET: ("datasets", "purged_at IS NULL"),
    ResourceKind.GROUP: ("groups", "deleted_at IS NULL"),
    ResourceKind.SCHEMA: ("schemas", "true"),
    ResourceKind.VIEW: ("views", "true"),
    ResourceKind.PROJECTION: ("projections", "true"),
    ResourceKind.INGEST_TOKEN: ("ingest_tokens", "true"),
}


def _rows(locking: str) -> Mapping[ResourceKind, TextClause]:
    return {
        kind: scope.statement(
            f"SELECT id FROM {table} WHERE id = ANY(:ids) AND {exists}"  # noqa: S608
            f" AND {scope.reaches(table)} ORDER BY id {locking}"
        ).bindparams(_IDS)
        for kind, (table, exists) in _TABLES.items()
    }


# Compatible with registrations, and not with a lock that is being set.
_KEEP = _rows("FOR NO KEY UPDATE")
_TAKE = _rows("FOR UPDATE")
_FIND = _rows("")
_COLUMNS = "id, kind, resource_id, token_digest, reason, locked_by, locked_at, ends_at"
_IN_FORCE = f"ended_at IS NULL AND (ends_at IS NULL OR ends_at > {NOW})"
_READ = text(f"""
    SELECT {_COLUMNS} FROM resource_locks
    WHERE kind = :kind AND resource_id = ANY(:ids) AND {_IN_FORCE} ORDER BY resource_id
""").bindparams(_IDS)  # noqa: S608
_LAST = text(f"""
    SELECT {_COLUMNS} FROM resource_locks WHERE kind = :kind AND resource_id = :id
    ORDER BY ended_at IS NULL DESC, locked_at DESC LIMIT 1
""").bindparams(_ID)  # noqa: S608
_INSERT = text("""
    INSERT INTO resource_locks
      (id, kind, resource_id, token_digest, reason, locked_by, locked_at, ends_at, is_awaited)
    VALUES (:lock, :kind, :id, :digest, :reason, :locked_by, :locked_at, :ends_at,
      :kind = 1 AND NOT EXISTS (SELECT FROM datasets WHERE id = :id))
    ON CONFLICT DO NOTHING
""").bindparams(_ID, bindparam("lock", type_=Uuid))
# One whose end has come is over, and another one may take its place.
_END_PAST = text(f"""
    UPDATE resource_locks SET ended_at = ends_at
    WHERE kind = :kind AND resource_id = :id AND ended_at IS NULL AND ends_at <= {NOW}
""").bindparams(_ID)  # noqa: S608
_END = text("""
    UPDATE resource_locks SET ended_at = now(), is_awaited = false
    WHERE id = ANY(:ids) AND ended_at IS NULL RETURNING kind, resource_id
""").bindparams(_IDS)
# The end of the newest lock, of those that are known.
_HOLD = text("""
    UPDATE datasets d SET hold_ends_at = (
      SELECT max(coalesce(l.ended_at, l.ends_at, 'infinity')) FROM resource_locks l
      WHERE l.kind = 1 AND l.resource_id = d.id)
    WHERE id = ANY(:ids)
""").bindparams(_IDS)
_UNKNOWN = text("""
    SELECT i FROM unnest(cast(:ids AS uuid[])) AS i
    WHERE NOT EXISTS (SELECT FROM resource_locks WHERE id = i)
""").bindparams(_IDS)
_EXISTS = text("SELECT EXISTS (SELECT FROM resource_locks WHERE id = :id)").bindparams(_ID)
_ARRIVED = text("UPDATE resource_locks SET is_awaited = false WHERE is_awaited")
_OVER = text(f"""
    SELECT id FROM (SELECT id, coalesce(ended_at, ends_at) AS over_at FROM resource_locks) l
    WHERE over_at < {ago(":age")} ORDER BY over_at LIMIT :most
""")  # noqa: S608
_FORGET = text("DELETE FROM resource_locks WHERE id = ANY(:ids)").bindparams(_IDS)
_DATASETS_OF = text("""
    SELECT resource_id FROM resource_locks WHERE id = ANY(:ids) AND kind = 1
""").bindparams(_IDS)


def in_force(
    tx: Transaction, kind: ResourceKind, resource_ids: Collection[UUID]
) -> dict[UUID, ResourceLock]:
    """The locks that are in force among some resources of a kind, by their ids."""
    if not resource_ids:
        return {}
    rows = tx.execute(_READ, {"kind": int(kind), "ids": list(resource_ids)})
    return {row.resource_id: _made(row) for row in rows}


def last(tx: Transaction, kind: ResourceKind, resource_id: UUID) -> ResourceLock | None:
    """The lock that a resource has, or had last."""
    row = tx.execute(_LAST, {"kind": int(kind), "id": resource_id}).one_or_none()
    return None if row is None else _made(row)


def exists(tx: Transaction, lock_id: UUID) -> bool:
    """Return whether a lock is a row, in force or ended."""
    return bool(tx.execute(_EXISTS, {"id": lock_id}).scalar_one())


def keep(tx: Transaction, resources: Mapping[ResourceKind, Collection[UUID]]) -> None:
    """Keep resources from being locked until the commit. Raises Locked if one is.

    First in a transaction, since nothing that it holds may be waited for.
    """
    for kind in _TABLES:
        if ids := sorted(resources.get(kind, ())):
            tx.execute(_KEEP[kind], {"ids": ids})
    for kind in _TABLES:
        for lock in in_force(tx, kind, resources.get(kind, ())).values():
            raise refusal(lock)


def refusal(lock: ResourceLock) -> Locked:
    """The refusal of a change of a locked resource."""
    noun, ends, locked_by = lock.kind.noun, "", access.shown_subject(lock.locked_by)
    if lock.ends_at is not None:
        ends = f" until {lock.ends_at.isoformat()}"
    return Locked(
        f"{noun} {lock.resource_id} is locked by {locked_by!r}{ends}: {lock.reason}",
        resource_kind=noun,
        resource_id=lock.resource_id,
        locked_by=locked_by,
        lock_reason=lock.reason,
        lock_ends_at="" if lock.ends_at is None else lock.ends_at.isoformat(),
    )


def repeated(tx: Transaction, lock: ResourceLock) -> ResourceLock | None:
    """The lock that an earlier call with the same token has set, None if there is none.

    Raises NotFound for a resource that is deleted, and Locked for one with another lock.
    """
    return _repeated(tx, lock, _FIND)


def set_lock(tx: Transaction, lock: ResourceLock) -> bool:
    """Lock a resource that exists; False if a call with the same token has, as `repeated` says."""
    if _repeated(tx, lock, _TAKE) is not None:
        return False
    return _insert(tx, lock)


def end(tx: Transaction, lock: ResourceLock) -> bool:
    """End a lock now; False if it had ended."""
    tx.execute(_KEEP[lock.kind], {"ids": [lock.resource_id]})
    return _end(tx, [lock.id]) > 0


def unknown(tx: Transaction, lock_ids: Sequence[UUID]) -> list[UUID]:
    """The locks that are not rows."""
    return list(tx.execute(_UNKNOWN, {"ids": list(lock_ids)}).scalars())


def set_again(
    tx: Transaction, locks: Sequence[ResourceLock], ended_ids: Sequence[UUID]
) -> tuple[int, int]:
    """Set locks that the database has forgotten, and end those whose end it has; returns both.

    A lock of a dataset that is not known is awaited: nothing is deleted until it is back.
    """
    dataset_ids = set(tx.execute(_DATASETS_OF, {"ids": list(ended_ids)}).scalars())
    dataset_ids |= {lock.resource_id for lock in locks if lock.kind is ResourceKind.DATASET}
    tx.execute(_TAKE[ResourceKind.DATASET], {"ids": sorted(dataset_ids)})
    ended = _end(tx, ended_ids)
    return sum(_insert(tx, lock) for lock in locks), ended


def hold_again(tx: Transaction, dataset_ids: Sequence[UUID]) -> None:
    """Let datasets that have come back be held by their locks."""
    tx.execute(_HOLD, {"ids": list(dataset_ids)})


def over(tx: Transaction, age_secs: float, most: int) -> list[UUID]:
    """Some locks that ended so long ago, the oldest first."""
    return list(tx.execute(_OVER, {"age": age_secs, "most": most}).scalars())


def forget(tx: Transaction, lock_ids: Sequence[UUID]) -> None:
    """Remove the rows of locks that ended."""
    tx.execute(_FORGET, {"ids": list(lock_ids)})


def end_waiting(tx: Transaction) -> None:
    """Await no dataset any more: all that the bucket has is back."""
    tx.execute(_ARRIVED)


def _repeated(
    tx: Transaction, lock: ResourceLock, rows: Mapping[ResourceKind, TextClause]
) -> ResourceLock | None:
    if tx.execute(rows[lock.kind], {"ids": [lock.resource_id]}).one_or_none() is None:
        raise NotFound(f"there is no such {lock.kind.noun}", id=lock.resource_id)
    for present in in_force(tx, lock.kind, [lock.resource_id]).values():
        if replace(present, id=lock.id, locked_at=lock.locked_at) == lock:
            return present
        raise refusal(present)
    return None


def _insert(tx: Transaction, lock: ResourceLock) -> bool:
    tx.execute(_END_PAST, {"kind": int(lock.kind), "id": lock.resource_id})
    values = {
        "lock": lock.id,
        "kind": int(lock.kind),
        "id": lock.resource_id,
        "digest": lock.digest,
        "reason": lock.reason,
        "locked_by": lock.locked_by,
        "locked_at": lock.locked_at,
        "ends_at": lock.ends_at,
    }
    is_new = tx.execute(_INSERT, values).rowcount > 0
    if is_new and lock.kind is ResourceKind.DATASET:
        hold_again(tx, [lock.resource_id])
    return is_new


def _end(tx: Transaction, lock_ids: Sequence[UUID]) -> int:
    rows = tx.execute(_END, {"ids": list(lock_ids)}).all()
    hold_again(tx, sorted(row.resource_id for row in rows if row.kind == ResourceKind.DATASET))
    return len(rows)


def _made(row: Row[*tuple[Any, ...]]) -> ResourceLock:
    return ResourceLock(row[0], ResourceKind(row[1]), row[2], bytes(row[3]), *row[4:])
