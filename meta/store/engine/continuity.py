"""One process's memory of its database, and the guard that compares it with the witness.

Postgres may be put back to an older state under a running server. A process remembers the highest
version and tick that it saw committed, and refuses lower ones until the database was compared with
the witness in the bucket.
"""

from collections.abc import MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from meta.errors import MetaError, RoleRefused, Unavailable

# Keys of a connection's info.
_CONTINUITY = "continuity"
_DRAWN = "drawn_version"
_CHANGED = "has_changed"


class Notes(Protocol):
    """Notes that a restored database is given again."""

    def note_revoked(self, kind: str, token_id: str) -> None:
        """Note a revocation that is committed outside the database; raises Unavailable."""
        ...

    def note_lock(self, lock_id: str, content: bytes) -> bool:
        """Note a lock that is about to be committed; raises Unavailable."""
        ...

    def note_lock_ended(self, lock_id: str) -> None:
        """Note the end of a lock that is committed; raises Unavailable."""
        ...

    def forget_locks(self, lock_ids: Sequence[UUID]) -> None:
        """Remove the notes of locks that ended long ago; raises Unavailable."""
        ...

    def note_tenant(self, tenant_id: UUID) -> None:
        """Note a change of a tenant that is committed; raises Unavailable."""
        ...

    def begin_move(self, dataset_id: UUID) -> None:
        """Note that a dataset is about to have another tenant; raises Unavailable."""
        ...

    def note_moved(self, dataset_id: UUID) -> None:
        """Note a move of a dataset that is committed; raises Unavailable."""
        ...


class Guard(Protocol):
    """Compares the database with its witness; only `meta.watches` talks to the bucket."""

    @property
    def notes(self) -> Notes:
        """The notes beside the witness."""
        ...

    def renew(self) -> None:
        """Let versions be drawn again, or raise Unavailable."""
        ...

    def look(self, age_secs_max: float = 0.0) -> None:
        """Compare a running database, unless that was done lately; raises Unavailable."""
        ...

    def tick(self, secs: float) -> bool:
        """Commit and copy a tick, unless the last one is younger; raises Unavailable."""
        ...

    def check(self) -> None:
        """Compare the database with this process's memory; raises Unavailable."""
        ...

    def take_over(self) -> bool:
        """Begin a history with a database that was superseded; False if it was not."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


# A database that names objects for deletion was compared with the witness so short a time ago.
LOOK_SECS = 10.0
NO_BUCKET = (
    "the database has a witness in its bucket, which this process has no setting for: set"
    " META_OBJECT_STORE_URL"
)

INSPECTS = "this meta shows a restored backup for inspection: it changes nothing"
WENT_BACK = (
    "the database went back to an older state while this server was running, and it keeps no"
    " witness: set META_OBJECT_STORE_URL and start it again"
)


@dataclass(slots=True)
class Continuity:
    """One process's memory; numbers only rise, but for `forget`."""

    # None = a process without a bucket, or a tool.
    guard: Guard | None = None
    seen_version: int = 0
    seen_tick: int = 0
    # Something was committed that a tick has to cover; set after the commit, cleared before a tick.
    has_changed: bool = True
    # The database showed less than this process has seen: compare before anything is drawn.
    is_suspect: bool = False
    # Something hints at a change: a lost connection, a number of a client. It proves nothing.
    must_look: bool = False
    # Why nothing is written, "" = it is.
    refusal: str = ""
    # The database is a private copy, which nobody changes.
    is_inspection: bool = False

    def renew(self) -> None:
        """Let versions be drawn again, or raise Unavailable."""
        if self.guard is None:
            raise Unavailable(WENT_BACK if self.is_suspect else NO_BUCKET)
        self.guard.renew()

    def compare(self) -> None:
        """Compare with the witness, if it can be read; without it no version is drawn."""
        with suppress(MetaError):
            self.renew()

    def look(self, age_secs_max: float = LOOK_SECS) -> None:
        """Before something is named for deletion, make sure that no other database took over.

        An idle server may not have looked for long. Raises Unavailable.
        """
        if self.guard is not None:
            self.guard.look(age_secs_max)

    def note_revoked(self, kind: str, token_id: str) -> None:
        """Note a revocation that is committed outside the database; raises Unavailable."""
        if self.guard is not None:
            self.guard.notes.note_revoked(kind, token_id)

    def note_lock(self, lock_id: str, content: bytes) -> bool:
        """Note a lock that is about to be committed; False without a witness.

        Raises Unavailable.
        """
        return self.guard is not None and self.guard.notes.note_lock(lock_id, content)

    def note_lock_ended(self, lock_id: str) -> None:
        """Note the end of a lock that is committed; raises Unavailable."""
        if self.guard is not None:
            self.guard.notes.note_lock_ended(lock_id)

    def note_tenant(self, tenant_id: UUID) -> None:
        """Note a change of a tenant that is committed; raises Unavailable."""
        if self.guard is not None:
            self.guard.notes.note_tenant(tenant_id)

    def begin_move(self, dataset_id: UUID) -> None:
        """Note that a dataset is about to have another tenant; raises Unavailable."""
        if self.guard is not None:
            self.guard.notes.begin_move(dataset_id)

    def note_moved(self, dataset_id: UUID) -> None:
        """Note a move of a dataset that is committed; raises Unavailable."""
        if self.guard is not None:
            self.guard.notes.note_moved(dataset_id)

    def tick(self) -> None:
        """Commit and copy a tick at once; raises Unavailable."""
        if self.guard is not None:
            self.guard.tick(0.0)

    def forget_locks(self, lock_ids: Sequence[UUID]) -> None:
        """Remove the notes of locks that ended long ago; raises Unavailable."""
        if self.guard is not None:
            self.guard.notes.forget_locks(lock_ids)

    def attach(self, info: MutableMapping[Any, Any]) -> None:
        """Let statements on a connection find this memory."""
        info[_CONTINUITY] = self

    def check_writable(self) -> None:
        """Raise Unavailable if another database has taken over, RoleRefused in an inspection."""
        if self.is_inspection:
            raise RoleRefused(INSPECTS)
        if self.refusal:
            raise Unavailable(self.refusal)

    def committed(self, info: MutableMapping[Any, Any]) -> None:
        """Remember the versions of a transaction that is committed by now."""
        self.seen_version = max(self.seen_version, info.pop(_DRAWN, 0))
        if info.pop(_CHANGED, 0):
            self.has_changed = True

    def look_soon(self) -> None:
        """Compare with the witness within seconds."""
        self.must_look = True

    def floor(self) -> tuple[int, int]:
        """The version and tick that a statement after this call must not show less than."""
        return self.seen_version, self.seen_tick

    def is_below(self, floor: tuple[int, int], version: int, tick: int) -> bool:
        """Return whether the database shows less than was seen before, and remember its state."""
        if version < floor[0] or tick < floor[1]:
            self.is_suspect = True
        self.seen_version = max(self.seen_version, version)
        self.seen_tick = max(self.seen_tick, tick)
        return self.is_suspect

    def forget(self, version: int, tick: int) -> None:
        """Adopt the result of a comparison with the witness."""
        self.seen_version, self.seen_tick, self.is_suspect = version, tick, False


def note_change(info: MutableMapping[Any, Any]) -> None:
    """Note that the transaction changes a state that a restore must not lose unnoticed."""
    info[_CHANGED] = 1


def note_drawn(info: MutableMapping[Any, Any], version: int) -> bool:
    """Note the version that the transaction has drawn; False if it was seen before.

    The counter's row is locked until the commit, so every version seen so far is lower.
    """
    memory = info.get(_CONTINUITY)
    if memory is not None and version <= memory.seen_version:
        memory.is_suspect = True
        return False
    info[_DRAWN] = version
    note_change(info)
    return True


def begin(info: MutableMapping[Any, Any]) -> None:
    """Forget the notes of an earlier transaction on the connection that did not commit."""
    info.pop(_DRAWN, None)
    info.pop(_CHANGED, None)


def look_soon(info: MutableMapping[Any, Any]) -> None:
    """Compare with the witness within seconds: a caller showed a number from the future."""
    memory = info.get(_CONTINUITY)
    if memory is not None:
        memory.look_soon()
