"""Notes in the bucket, beside the marks: revoked tokens, locks with their ends, and tenants."""

from collections.abc import Callable, Sequence
from uuid import UUID

from meta.errors import Unavailable
from meta.watches.tenant_notes import TenantNotes
from meta.watches.witness_log import WitnessLog
from segments.noted_names import DATASET, TENANT


class WitnessNotes:
    """One server's notes; each is followed by a tick, so that a restore from before is noticed.

    `has_begun` says whether the database has a witness.
    """

    def __init__(
        self,
        log: WitnessLog,
        tenants: TenantNotes,
        has_begun: Callable[[], bool],
        tick: Callable[[float], bool],
    ) -> None:
        self._log = log
        self._tenants = tenants
        self._has_begun = has_begun
        self._tick = tick

    def note_revoked(self, kind: str, token_id: str) -> None:
        """Note a revocation that is committed."""
        self._note_committed(
            "the token is revoked, but a restored backup would not know it",
            lambda: self._log.note_revoked(kind, token_id),
        )

    def note_lock(self, lock_id: str, content: bytes) -> bool:
        """Note a lock before it is committed; False if the database has no witness."""
        if not self._has_begun():
            return False
        self._log.note_lock(lock_id, content)
        return True

    def note_lock_ended(self, lock_id: str) -> None:
        """Note the end of a lock that is committed."""
        self._note_committed(
            "the lock has ended, but a restored backup would set it again",
            lambda: self._log.note_lock_ended(lock_id),
        )

    def note_tenant(self, tenant_id: UUID) -> None:
        """Note a change of a tenant that is committed."""
        self._note_committed(
            "the tenant has changed, but a restored backup would not know it",
            lambda: self._tenants.write(TENANT, tenant_id),
        )

    def begin_move(self, dataset_id: UUID) -> None:
        """Mark a dataset before it is moved to another tenant."""
        if self._has_begun():
            self._tenants.mark_moved(dataset_id)

    def note_moved(self, dataset_id: UUID) -> None:
        """Note a move of a dataset that is committed."""
        self._note_committed(
            "the dataset has moved, but a restored backup would not know it",
            lambda: self._tenants.write(DATASET, dataset_id),
        )

    def forget_locks(self, lock_ids: Sequence[UUID]) -> None:
        """Remove what is noted of locks that ended long ago."""
        self._log.forget_locks(lock_ids)

    def _note_committed(self, failure: str, note: Callable[[], None]) -> None:
        if not self._has_begun():
            return
        try:
            note()
        except Unavailable as error:
            raise Unavailable(f"{failure}: {error.message}; repeat the call") from error
        self._tick(0.0)
