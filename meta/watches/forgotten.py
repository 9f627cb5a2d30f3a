"""Things that a restored database has forgotten: revocations, locks, tenants, offsets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog

from meta.store.access import audit
from meta.store.engine.pool import Transaction
from meta.store.locks import lock_notes, resource_locks
from meta.store.locks.resource_locks import ResourceLock
from meta.store.recovery import returned_tenants
from meta.store.streams import detached_streams
from meta.store.tenancy import repeated_moves
from meta.store.versions.witness import Verdict
from meta.watches import revocations
from meta.watches.tenant_notes import LaterTenants, TenantNotes
from meta.watches.witness_log import WitnessLog
from segments.keys import RevokedKey

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ForgottenChanges:
    """The revoked tokens, the locks that the database does not know, and the ended ones.

    `later` are tenants, and datasets that were moved, as they were after the backup.
    """

    revoked: Sequence[RevokedKey]
    locks: Sequence[ResourceLock]
    ended_ids: Sequence[UUID]
    later: LaterTenants


def read(
    witness: WitnessLog,
    tenants: TenantNotes,
    write: Callable[[Callable[[Transaction], Any]], Any],
) -> ForgottenChanges:
    """Read the notes of the bucket; of locks those that the database does not know."""
    notes = witness.locks()
    unknown: list[UUID] = []
    if notes.held:
        unknown = write(lambda tx: resource_locks.unknown(tx, sorted(notes.held)))
    locks = [lock_notes.decode(lock_id, witness.read_lock(lock_id)) for lock_id in unknown]
    later = tenants.read(write)
    return ForgottenChanges(witness.revoked(), locks, sorted(notes.ended), later)


def repeat(
    tx: Transaction, verdict: Verdict, changes: ForgottenChanges, *, revokes_all: bool
) -> None:
    """Repeat the changes before the term's first call is answered."""
    again = revocations.revoke_again(tx, changes.revoked)
    everything = revocations.revoke_all(tx) if verdict.is_restored and revokes_all else 0
    if again or everything:
        log.warning("tokens_revoked_after_restore", again=again, all=everything)
    locked, ended = resource_locks.set_again(tx, changes.locks, changes.ended_ids)
    if locked or ended:
        log.warning("locks_changed_after_restore", locked_again=locked, ended_again=ended)
    changed = returned_tenants.repeat(tx, changes.later.tenants)
    moved = repeated_moves.repeat(tx, changes.later.datasets)
    if changed or moved:
        log.warning("tenants_changed_after_restore", tenants=changed, moved_again=moved)
    if verdict.is_restored:
        detached = detached_streams.detach_all(tx)
        log.warning("streams_detached_after_restore", streams=detached)
        detail = (
            f"{verdict.reason}; revoked again: {again}, because of the setting: {everything};"
            f" locked again: {locked}, ended again: {ended};"
            f" tenants changed again: {changed}, datasets moved again: {moved}"
        )
        audit.note(tx, "RestoredDatabase", "", detail)
