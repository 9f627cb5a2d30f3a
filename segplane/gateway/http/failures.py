"""Refusals of meta and of the object store, as refusals of the request that met them."""

from meta.errors import (
    Code,
    DeadlineExceeded,
    InvalidArgument,
    LockTokenWrong,
    MetaError,
    NotFound,
    OutcomeUnknown,
    Overloaded,
    QuotaExceeded,
    RoleRefused,
    Unauthenticated,
    Unavailable,
)
from segments.errors import SegmentsError
from segplane.gateway.http.refusals import (
    CatalogConflict,
    NotAllowed,
    NotKnown,
    NotNow,
    NotThere,
    QueryRefusal,
)

RETRY_SECS = 2
_CONFLICTS = (Code.ALREADY_EXISTS, Code.ABORTED, Code.FAILED_PRECONDITION)


def failure_of(error: Exception) -> QueryRefusal | None:
    """Return the refusal of a request that failed for a reason beyond the query."""
    cause = error if isinstance(error, MetaError) else error.__cause__
    match cause if isinstance(cause, MetaError) else error:
        case Unavailable() | Overloaded() | DeadlineExceeded():
            return NotNow(f"the metadata server cannot answer now: {error}", "", RETRY_SECS)
        case Unauthenticated():
            return NotKnown("the token is unknown, expired or revoked: create another one")
        case RoleRefused() | LockTokenWrong():
            return NotAllowed(str(error))
        case SegmentsError():
            return NotNow(f"the object store cannot be used now: {error}", "", RETRY_SECS)
    return None


def refusal_of(error: MetaError) -> QueryRefusal:
    """Return meta's refusal of a call about the catalog, with its reason and metadata."""
    refusal = _refusal(error)
    refusal.reason, refusal.metadata = error.reason, error.metadata
    return refusal


def _refusal(error: MetaError) -> QueryRefusal:
    field = f"{error.field}: " if isinstance(error, InvalidArgument) and error.field else ""
    if field and error.message.startswith(field.removesuffix(": ")):
        field = ""
    blockers = error.metadata.get("blockers")
    text = f"{field}{error.message}{f': {blockers}' if blockers else ''} ({error.reason})"
    if isinstance(error, NotFound):
        return NotThere(text)
    if isinstance(error, OutcomeUnknown):
        return NotNow(f"whether the change was made is not known: {text}", "", RETRY_SECS)
    if isinstance(error, QuotaExceeded) or error.code in _CONFLICTS:
        return CatalogConflict(text)
    return failure_of(error) or QueryRefusal(text)
