"""One class per reaction a caller of meta can have; no grpc in here.

`meta.rpc.status` turns them into a status, and `meta.client` back; docs/contract.md lists them.
"""

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
    """A refusal by meta. `metadata` carries ids and current values, as text."""

    code = Code.INTERNAL
    reason: str = "INTERNAL"

    def __init__(self, message: str, **metadata: object) -> None:
        super().__init__(message)
        self.message = message
        self.metadata = {key: str(value) for key, value in metadata.items()}


class InvalidArgument(MetaError):
    """The request can never succeed. Correct it."""

    code = Code.INVALID_ARGUMENT
    reason = "INVALID_ARGUMENT"

    def __init__(self, message: str, *, field: str = "", **metadata: object) -> None:
        super().__init__(message, **metadata)
        self.field = field


class CursorInvalid(InvalidArgument):
    """The cursor is malformed, too old or of another list or filter. Start from the first page."""

    reason = "CURSOR_INVALID"


class NotFound(MetaError):
    """The requested dataset, segment, token, stream or task does not exist."""

    code = Code.NOT_FOUND
    reason = "NOT_FOUND"


class NameTaken(MetaError):
    """The name belongs to something with other content. Choose another."""

    code = Code.ALREADY_EXISTS
    reason = "NAME_TAKEN"


class KeyTaken(MetaError):
    """The object key is registered with other content. Write under a new key."""

    code = Code.ALREADY_EXISTS
    reason = "KEY_TAKEN"


class OffsetTaken(MetaError):
    """The offset was committed by another flush. Take `next_offset`."""

    code = Code.ALREADY_EXISTS
    reason = "OFFSET_TAKEN"


class OffsetConflict(MetaError):
    """Another nursery merged these babies first. Read the stream again and plan again."""

    code = Code.ABORTED
    reason = "OFFSET_CONFLICT"


class RaceLost(MetaError):
    """Concurrent calls changed the same rows. Read again and try again."""

    code = Code.ABORTED
    reason = "RACE_LOST"


class LayoutChanged(RaceLost):
    """The dataset has been bound to other columns. Read its layout, and write again."""

    reason = "LAYOUT_CHANGED"


class EventsClaimed(RaceLost):
    """Events are rows already. Write the segments without those at `positions`, and repeat.

    Positions are those of the identities of the call, in order.
    """

    reason = "DUPLICATE_EVENTS"
    positions: Sequence[int] = ()


class EventsOutsideWindow(LayoutChanged):
    """Events are outside the window of their dataset. Read it, and write without those outside."""

    reason = "EVENTS_OUTSIDE_WINDOW"


class OffsetGap(MetaError):
    """An earlier offset is not committed yet. List the store from `expected_offset` and adopt."""

    code = Code.FAILED_PRECONDITION
    reason = "OFFSET_GAP"


class OffsetNotCommitted(MetaError):
    """The merge reaches past the committed offset. Merge only committed babies."""

    code = Code.FAILED_PRECONDITION
    reason = "OFFSET_NOT_COMMITTED"


class ExcessEvents(MetaError):
    """Segments hold more events than their baby segments hold records. An operator may allow it."""

    code = Code.FAILED_PRECONDITION
    reason = "EXCESS_EVENTS"


class StreamStopped(MetaError):
    """The stream is stopped. Register for a new one."""

    code = Code.FAILED_PRECONDITION
    reason = "STREAM_STOPPED"


class StopMismatch(MetaError):
    """The stream ends at another offset. Read the stream again."""

    code = Code.FAILED_PRECONDITION
    reason = "STOP_MISMATCH"


class NotDrained(MetaError):
    """Records or rows that depend on it are not merged or deleted yet. Try again later."""

    code = Code.FAILED_PRECONDITION
    reason = "NOT_DRAINED"


class NothingToRepair(MetaError):
    """Not in the state that the repair is for: it can be read, was merged, replaced or deleted."""

    code = Code.FAILED_PRECONDITION
    reason = "NOTHING_TO_REPAIR"


class DeletesUnconfirmed(MetaError):
    """The retention deletes more segments than were confirmed. Look at it, then confirm them."""

    code = Code.FAILED_PRECONDITION
    reason = "DELETES_UNCONFIRMED"


class RecordsAltered(MetaError):
    """The object's checksum is not the registered one. Compare them; accept_altered is consent."""

    code = Code.FAILED_PRECONDITION
    reason = "RECORDS_ALTERED"


class RewriteUnfinished(MetaError):
    """The dataset has another unfinished rewrite; the metadata names it."""

    code = Code.FAILED_PRECONDITION
    reason = "REWRITE_UNFINISHED"


class StillReferenced(MetaError):
    """Other rows refer to it; the metadata names them. Remove those first."""

    code = Code.FAILED_PRECONDITION
    reason = "STILL_REFERENCED"


class SchemaFrozen(MetaError):
    """The schema is frozen: only a revision makes another version of it."""

    code = Code.FAILED_PRECONDITION
    reason = "SCHEMA_FROZEN"


class ForeignRefused(MetaError):
    """The dataset takes no object without facts. Send them, or change the dataset's settings."""

    code = Code.FAILED_PRECONDITION
    reason = "FOREIGN_REFUSED"


class DeduplicationKeysRequired(MetaError):
    """The dataset is deduplicated; this call names no identities. Send the records again."""

    code = Code.FAILED_PRECONDITION
    reason = "DEDUPLICATION_KEYS_REQUIRED"


class ReleaseTooLow(MetaError):
    """The database needs a later release than this one. Install it."""

    code = Code.FAILED_PRECONDITION
    reason = "RELEASE_TOO_LOW"


class DatasetProtected(MetaError):
    """The default dataset cannot be deleted."""

    code = Code.FAILED_PRECONDITION
    reason = "DATASET_PROTECTED"


class UndeleteExpired(MetaError):
    """The grace of the deleted dataset is over. Its data is being deleted."""

    code = Code.FAILED_PRECONDITION
    reason = "UNDELETE_EXPIRED"


class ObjectCondemned(MetaError):
    """The object key is condemned and its object deleted. Write again under a new key."""

    code = Code.FAILED_PRECONDITION
    reason = "OBJECT_CONDEMNED"


class VersionExpired(MetaError):
    """Objects of this version may already be deleted. Read at a newer version."""

    code = Code.FAILED_PRECONDITION
    reason = "VERSION_EXPIRED"


class TokenRevoked(MetaError):
    """The token is revoked; its routing cannot change."""

    code = Code.FAILED_PRECONDITION
    reason = "TOKEN_REVOKED"


class DeletionHeld(MetaError):
    """Deletion is held after a failover or restore. Run fsck, then release it."""

    code = Code.FAILED_PRECONDITION
    reason = "DELETION_HELD"


class TokenUnknown(MetaError):
    """The ingest token is unknown or revoked; the reply does not say which."""

    code = Code.UNAUTHENTICATED
    reason = "TOKEN_UNKNOWN"


class Unauthenticated(MetaError):
    """The call carries no valid credential."""

    code = Code.UNAUTHENTICATED
    reason = "UNAUTHENTICATED"


class RoleRefused(MetaError):
    """The caller's role may not make this call. Use a credential of another role."""

    code = Code.PERMISSION_DENIED
    reason = "ROLE_REFUSED"


class QuotaExceeded(MetaError):
    """A documented limit is reached. Raise the limit or remove something."""

    code = Code.RESOURCE_EXHAUSTED
    reason = "QUOTA_EXCEEDED"


class ReplyTooLarge(MetaError):
    """The reply would exceed its size limit. Ask for less: `shard_count`."""

    code = Code.RESOURCE_EXHAUSTED
    reason = "REPLY_TOO_LARGE"


class Overloaded(MetaError):
    """The server sheds load. Try again after the delay in RetryInfo."""

    code = Code.RESOURCE_EXHAUSTED
    reason = "OVERLOADED"


class Unavailable(MetaError):
    """Postgres or the server does not answer. Always safe to retry."""

    code = Code.UNAVAILABLE
    reason = "UNAVAILABLE"


class VersionNotReached(Unavailable):
    """The version of the server is still below min_version. Try again."""

    reason = "VERSION_NOT_REACHED"


class Unimplemented(MetaError):
    """This server does not have the call."""

    code = Code.UNIMPLEMENTED
    reason = "UNIMPLEMENTED"


class OutcomeUnknown(MetaError):
    """A call that is sent once may have been executed. Look for its result first."""

    code = Code.UNAVAILABLE
    reason = "OUTCOME_UNKNOWN"


class DeadlineExceeded(MetaError):
    """The deadline passed; the outcome is unknown. Every call but two may be repeated."""

    code = Code.DEADLINE_EXCEEDED
    reason = "DEADLINE_EXCEEDED"


class StatementTimeout(DeadlineExceeded):
    """A query took longer than the server allows; nothing was changed. Ask for less, or later."""

    reason = "STATEMENT_TIMEOUT"
