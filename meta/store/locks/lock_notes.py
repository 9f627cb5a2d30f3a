"""The form of a lock in the bucket, from which a restored database has it again."""

import json
from datetime import datetime
from uuid import UUID

from meta.errors import Unavailable
from meta.store.catalog.resources import ResourceKind
from meta.store.locks.resource_locks import ResourceLock

FORMAT = 1


def encode(lock: ResourceLock) -> bytes:
    """The content of a lock's object: the digest of its token, and not the token."""
    body = {
        "format": FORMAT,
        "kind": int(lock.kind),
        "resource_id": str(lock.resource_id),
        "digest": lock.digest.hex(),
        "reason": lock.reason,
        "locked_by": lock.locked_by,
        "locked_at": lock.locked_at.isoformat(),
        "ends_at": None if lock.ends_at is None else lock.ends_at.isoformat(),
    }
    return json.dumps(body).encode()


def decode(lock_id: UUID, content: bytes) -> ResourceLock:
    """Read a lock's object. Raises Unavailable: without it a locked resource could be deleted."""
    try:
        body = json.loads(content)
        ends_at = body["ends_at"]
        return ResourceLock(
            lock_id,
            ResourceKind(body["kind"]),
            UUID(body["resource_id"]),
            bytes.fromhex(body["digest"]),
            body["reason"],
            body["locked_by"],
            datetime.fromisoformat(body["locked_at"]),
            None if ends_at is None else datetime.fromisoformat(ends_at),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unavailable(f"the lock {lock_id} in the bucket cannot be read: {error}") from error
