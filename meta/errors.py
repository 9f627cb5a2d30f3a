"""One class per reaction a caller of meta can have; no grpc in here.

`meta.rpc.status` turns them into a status, and `meta.client` back; docs/contract.md lists them.
"""

import re
from collections.abc import Sequence
from enum import Enum

DOMAIN = "meta.v1"


class Code(Enum):
    """The gRPC status codes that meta answers with, by number."""

    INVALID_ARGUMENT = 3
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DEADLINE_EXCEEDED = 4
    UNAUTHENTICATED = 16
    CANCELLED = 1


class MetaError(Exception):
    """A refusal by meta. `metadata` carries ids and current values, as text.

    A subclass has the code of its class statement, or that of its base. Its reason is its name in
    capitals, unless it sets another one; `docs/contract.md` has them all.
    """

    code = Code.INTERNAL
    reason: str = "INTERNAL"

    def __init_subclass__(cls, code: Code | None = None) -> None:
        cls.code = code or cls.code
        if "reason" not in cls.__dict__:
            cls.reason = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).upper()

    def __init__(self, message: str, **metadata: object) -> None:
        super().__init__(message)
        self.message = message
        self.metadata = {key: str(value) for key, value in metadata.items()}


class InvalidArgument(MetaError, code=Code.INVALID_ARGUMENT):
    """The request can never succeed. Correct it."""

    def __init__(self, message: str, *, field: str = "", **metadata: object) -> None:
        super().__init__(message, **metadata)
        self.field = field


class CursorInvalid(InvalidArgument):
    """The cursor is malformed, too old or of another list or filter. Start from the first page."""


class NotFound(MetaError, code=Code.NOT_FOUND):
    """The requested dataset, segment, token, stream or task does not exist."""


class NameTaken(MetaError, code=Code.ALREADY_EXISTS):
    """The name belongs to something with other content. Choose another."""


class KeyTaken(MetaError, code=Code.ALREADY_EXISTS):
    """The object key is registered with other content. Write under a new key."""


class OffsetTaken(MetaError, code=Code.ALREADY_EXISTS):
    """The offset was committed by another flush. Take `next_offset`."""


class OffsetConflict(MetaError, code=Code.ABORTED):
    """Another nursery merged these babies first. Read the stream again and plan again."""


class RaceLost(MetaError, code=Code.ABORTED):
    """Concurrent calls changed the same rows. Read again and try again."""


class LayoutChanged(RaceLost):
    """The dataset has been bound to other columns. Read its layout, and write again."""


class EventsClaimed(RaceLost):
    """Events are rows already. Write the segments without those at `positions`, and repeat.

    Positions are those of the identities of the call, in order.
    """

    reason = "DUPLICATE_EVENTS"
    positions: Sequence[int] = ()


class EventsOutsideWindow(LayoutChanged):
    """Events are outside the window of their dataset. Read it, and write without those outside."""


class OffsetGap(MetaError, code=Code.FAILED_PRECONDITION):
    """An earlier offset is not committed yet. List the store from `expected_offset` and adopt."""


class OffsetNotCommitted(MetaError, code=Code.FAILED_PRECONDITION):
    """The merge reaches past the committed offset. Merge only committed babies."""


class ExcessEvents(MetaError, code=Code.FAILED_PRECONDITION):
    """Segments hold more events than their baby segments hold records. An operator may allow it."""


class StreamStopped(MetaError, code=Code.FAILED_PRECONDITION):
    """The stream is stopped. Register for a new one."""


class StopMismatch(MetaError, code=Code.FAILED_PRECONDITION):
    """The stream ends at another offset. Read the stream again."""


class NotDrained(MetaError, code=Code.FAILED_PRECONDITION):
    """Records or rows that depend on it are not merged or deleted yet. Try again later."""


class NothingToRepair(MetaError, code=Code.FAILED_PRECONDITION):
    """Not in the state that the repair is for: it can be read, was merged, replaced or deleted."""


class DeletesUnconfirmed(MetaError, code=Code.FAILED_PRECONDITION):
    """The retention deletes more segments than were confirmed. Look at it, then confirm them."""


class RecordsAltered(MetaError, code=Code.FAILED_PRECONDITION):
    """The object's checksum is not the registered one. Compare them; accept_altered is consent."""


class RewriteUnfinished(MetaError, code=Code.FAILED_PRECONDITION):
    """The dataset has another unfinished rewrite; the metadata names it."""


class StillReferenced(MetaError, code=Code.FAILED_PRECONDITION):
    """Other rows refer to it; the metadata names them. Remove those first."""


class SchemaFrozen(MetaError, code=Code.FAILED_PRECONDITION):
    """The schema is frozen: only a revision makes another version of it."""


class ForeignRefused(MetaError, code=Code.FAILED_PRECONDITION):
    """The dataset takes no object without facts. Send them, or change the dataset's settings."""


class DeduplicationKeysRequired(MetaError, code=Code.FAILED_PRECONDITION):
    """The dataset is deduplicated; this call names no identities. Send the records again."""


class ReleaseTooLow(MetaError, code=Code.FAILED_PRECONDITION):
    """The database needs a later release than this one. Install it."""


class UpgradeUnfinished(MetaError, code=Code.FAILED_PRECONDITION):
    """A meta of an earlier release may serve the database. Run `segplane migrate --finish`."""


class CallerRoleRequired(MetaError, code=Code.FAILED_PRECONDITION):
    """Only one tenant can exist without the role of callers. Set META_DATABASE_CALLER_ROLE."""


class DatasetProtected(MetaError, code=Code.FAILED_PRECONDITION):
    """The default dataset cannot be deleted."""


class Locked(MetaError, code=Code.FAILED_PRECONDITION):
    """A lock refuses the change; the metadata has its holder and reason. Unlock the resource."""


class UndeleteExpired(MetaError, code=Code.FAILED_PRECONDITION):
    """The grace of the deleted dataset or tenant is over. Its data is being deleted."""


class ObjectCondemned(MetaError, code=Code.FAILED_PRECONDITION):
    """The object key is condemned and its object deleted. Write again under a new key."""


class VersionExpired(MetaError, code=Code.FAILED_PRECONDITION):
    """Objects of this version may already be deleted. Read at a newer version."""


class TokenRevoked(MetaError, code=Code.FAILED_PRECONDITION):
    """The token is revoked; its routing cannot change."""


class DeletionHeld(MetaError, code=Code.FAILED_PRECONDITION):
    """Deletion is held after a failover or restore. Run fsck, then release it."""


class TokenUnknown(MetaError, code=Code.UNAUTHENTICATED):
    """The ingest token is unknown or revoked, or its tenant suspended; the reply does not say."""


class LockTokenWrong(MetaError, code=Code.PERMISSION_DENIED):
    """The token is not that of the lock. Show the one that was printed, or break the lock."""


class Unauthenticated(MetaError, code=Code.UNAUTHENTICATED):
    """The call carries no valid credential."""


class RoleRefused(MetaError, code=Code.PERMISSION_DENIED):
    """The caller's role may not make this call. Use a credential of another role."""


class TenantSuspended(RoleRefused):
    """An operator has suspended the tenant: it can neither send nor read until it is resumed."""


class QuotaExceeded(MetaError, code=Code.RESOURCE_EXHAUSTED):
    """A documented limit is reached. Raise the limit or remove something."""


class ReplyTooLarge(MetaError, code=Code.RESOURCE_EXHAUSTED):
    """The reply would exceed its size limit. Ask for less: `shard_count`."""


class Overloaded(MetaError, code=Code.RESOURCE_EXHAUSTED):
    """The server sheds load. Try again after the delay in RetryInfo."""


class Unavailable(MetaError, code=Code.UNAVAILABLE):
    """Postgres or the server does not answer. Always safe to retry."""


class VersionNotReached(Unavailable):
    """The version of the server is still below min_version. Try again."""


class Unimplemented(MetaError, code=Code.UNIMPLEMENTED):
    """This server does not have the call."""


class OutcomeUnknown(MetaError, code=Code.UNAVAILABLE):
    """A call that is sent once may have been executed. Look for its result first."""


class DeadlineExceeded(MetaError, code=Code.DEADLINE_EXCEEDED):
    """The deadline passed; the outcome is unknown. Every call but two may be repeated."""


class StatementTimeout(DeadlineExceeded):
    """A query took longer than the server allows; nothing was changed. Ask for less, or later."""
