"""Locks of resources: set with a token, ended by it, or broken by an admin."""

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import UUID

from meta import access
from meta.errors import InvalidArgument, LockTokenWrong, MetaError, NotFound
from meta.secrets import is_same, token_name
from meta.services.messages import checks
from meta.services.resources.resources import checked_kind, message
from meta.services.server_parts import ServerParts
from meta.store.access import audit, token_secrets
from meta.store.catalog import resources
from meta.store.catalog.resources import ResourceKind
from meta.store.engine.pool import Transaction
from meta.store.locks import lock_notes, resource_locks
from meta.store.locks.resource_locks import ResourceLock
from meta.store.versions import clock
from meta.store.versions.upgrades import require_finished
from meta.v1 import resources_pb2 as pb
from segments.ids import new_uuid7

REASON_CHARACTERS_MAX = 1_000
ENDS_SECS_MAX = 100 * 366 * 86_400
_EPOCH = datetime.fromtimestamp(0, UTC)
_DIGEST = re.compile("[0-9a-f]{64}")


def lock_resource(server: ServerParts, request: pb.LockResourceRequest) -> pb.LockResourceResponse:
    """Refuse every change and deletion of a resource.

    A token that is made here is in this reply only. A repetition with the caller's own is answered
    as the first call.
    """
    kind, identifier = _target(request.resource)
    reason, ends_nanos = _reason(request.reason), checks.optional_count(request, "ends_at_nanos")
    plaintext, digest = _token(request)

    def prepare(tx: Transaction) -> ResourceLock:
        require_finished(tx, "the first lock")
        resource_id = resources.id_of(tx, kind, identifier)
        now = _moment(clock.now_nanos(tx))
        new_lock = ResourceLock(
            new_uuid7(),
            kind,
            resource_id,
            digest,
            reason,
            access.caller().subject,
            now,
            _end(ends_nanos, now),
        )
        return resource_locks.repeated(tx, new_lock) or new_lock

    def work(tx: Transaction) -> tuple[pb.Resource, bool]:
        is_new = resource_locks.set_lock(tx, lock)
        if is_new:
            ends = "" if lock.ends_at is None else f" until {lock.ends_at.isoformat()}"
            audit.note(tx, "LockResource", lock.resource_id, f"{kind.noun}{ends}: {reason}")
        return message(resources.get(tx, kind, lock.resource_id)), is_new

    lock = server.transactions.read(prepare)
    continuity = server.transactions.database.continuity
    # Before the commit: a lock that was answered is never unknown to a restored database.
    is_witnessed = continuity.note_lock(str(lock.id), lock_notes.encode(lock))
    try:
        locked, is_new = server.transactions.write(work)
    except MetaError:
        with suppress(MetaError):
            _withdraw(server, lock)
        raise
    if not is_new:
        _withdraw(server, lock)
    with suppress(MetaError):
        # The watch makes the tick within seconds if this one fails.
        continuity.tick()
    return pb.LockResourceResponse(resource=locked, token=plaintext, is_witnessed=is_witnessed)


def unlock_resource(
    server: ServerParts, request: pb.UnlockResourceRequest
) -> pb.UnlockResourceResponse:
    """End a lock by its token; a repeated call notes its end in the bucket again."""
    kind, identifier = _target(request.resource)
    shown = _digest(checks.some(request.token, "token", lines=False))

    def work(tx: Transaction) -> tuple[ResourceLock, pb.Resource | None]:
        lock = _last(tx, kind, identifier)
        if not is_same(shown, lock.digest):
            raise LockTokenWrong("the token is not that of the lock", resource_id=lock.resource_id)
        if resource_locks.end(tx, lock):
            audit.note(tx, "UnlockResource", lock.resource_id, f"{kind.noun}, {lock.reason}")
        return lock, _read(tx, lock)

    lock, resource = server.transactions.write(work)
    server.transactions.database.continuity.note_lock_ended(str(lock.id))
    return pb.UnlockResourceResponse(resource=resource)


def break_lock(server: ServerParts, request: pb.BreakLockRequest) -> pb.BreakLockResponse:
    """End a lock without its token; the audit log has who did it, and whose lock it was."""
    kind, identifier = _target(request.resource)
    reason = _reason(request.reason)

    def work(tx: Transaction) -> tuple[ResourceLock, pb.Resource | None]:
        lock = _last(tx, kind, identifier)
        if resource_locks.end(tx, lock):
            whose = f"lock of {access.shown_subject(lock.locked_by)!r}: {lock.reason}"
            audit.note(tx, "BreakLock", lock.resource_id, f"{reason}; {kind.noun}, {whose}")
        return lock, _read(tx, lock)

    lock, resource = server.transactions.write(work)
    server.transactions.database.continuity.note_lock_ended(str(lock.id))
    return pb.BreakLockResponse(resource=resource)


def _target(ref: pb.ResourceRef) -> tuple[ResourceKind, UUID | str]:
    return checked_kind(ref.kind, "resource.kind"), checks.identifier(ref)


def _reason(value: str) -> str:
    checks.some(value, "reason")
    return checks.text(value, "reason", characters_max=REASON_CHARACTERS_MAX, lines=True)


def _digest(token: str) -> bytes:
    """SHA-256 of a token: it has 256 random bits, and outlives the database and its peppers."""
    return bytes.fromhex(token_name(token))


def _token(request: pb.LockResourceRequest) -> tuple[str, bytes]:
    """A new token and its digest; "" if the caller made one."""
    if not request.HasField("token_digest"):
        plaintext = token_secrets.new_plaintext(token_secrets.LOCK_PREFIX)
        return plaintext, _digest(plaintext)
    text = request.token_digest
    if not _DIGEST.fullmatch(text):
        raise InvalidArgument(
            "token_digest is not a SHA-256: expected 64 hexadecimal digits in lower case",
            field="token_digest",
        )
    return "", bytes.fromhex(text)


def _end(nanos: int | None, now: datetime) -> datetime | None:
    """The end of a lock that is set now. Raises InvalidArgument unless it is to come."""
    if nanos is None:
        return None
    latest = now + timedelta(seconds=ENDS_SECS_MAX)
    if nanos // 1_000 > (latest - _EPOCH) // timedelta(microseconds=1):
        raise InvalidArgument(
            f"ends_at is after {latest.date()}: leave it out for a lock without an end",
            field="ends_at_nanos",
        )
    ends_at = _moment(nanos)
    if ends_at <= now:
        raise InvalidArgument(
            f"ends_at is {ends_at.isoformat()}, which has passed", field="ends_at_nanos"
        )
    return ends_at


def _moment(nanos: int) -> datetime:
    return _EPOCH + timedelta(microseconds=nanos // 1_000)


def _last(tx: Transaction, kind: ResourceKind, target: UUID | str) -> ResourceLock:
    """The lock of a resource, or its last one; the database may not know the resource itself."""
    resource_id = target if isinstance(target, UUID) else resources.id_of(tx, kind, target)
    lock = resource_locks.last(tx, kind, resource_id)
    if lock is None:
        raise NotFound(f"the {kind.noun} has no lock", resource_id=resource_id)
    return lock


def _read(tx: Transaction, lock: ResourceLock) -> pb.Resource | None:
    try:
        return message(resources.get(tx, lock.kind, lock.resource_id))
    except NotFound:
        return None


def _withdraw(server: ServerParts, lock: ResourceLock) -> None:
    """End the note of a lock that is not a row: it would be set after a restore."""
    if not server.transactions.read(lambda tx: resource_locks.exists(tx, lock.id)):
        server.transactions.database.continuity.note_lock_ended(str(lock.id))
