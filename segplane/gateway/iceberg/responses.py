"""Answers of the catalog in the form that Iceberg's REST specification gives them."""

from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from meta.errors import (
    DeadlineExceeded,
    InvalidArgument,
    MetaError,
    NotFound,
    Overloaded,
    RaceLost,
    Unavailable,
)
from segments.errors import StoreError
from segplane.gateway.http.bodies import answer, read_json
from segplane.gateway.http.refusals import NotAllowed, NotKnown, NotNow, QueryRefusal
from segplane.gateway.iceberg.refusals import (
    AccessRefused,
    ObjectGone,
    PlanTaskMissing,
    RequestRefused,
    TableMissing,
    TableRefused,
)

RETRY_AFTER_SECS = 2
BODY_BYTES_MAX = 2**17
READ_ONLY = (
    "this catalog is read-only: records come in over OTLP, and datasets are managed by the segplane"
    " command line"
)


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """A status and the name of the exception by which Iceberg's clients know it."""

    status: int
    type: str


BAD_REQUEST = ErrorKind(400, "BadRequestException")
UNAUTHORIZED = ErrorKind(401, "NotAuthorizedException")
FORBIDDEN = ErrorKind(403, "ForbiddenException")
NO_NAMESPACE = ErrorKind(404, "NoSuchNamespaceException")
NO_TABLE = ErrorKind(404, "NoSuchTableException")
NO_VIEW = ErrorKind(404, "NoSuchViewException")
NO_PLAN = ErrorKind(404, "NoSuchPlanIdException")
NO_PLAN_TASK = ErrorKind(404, "NoSuchPlanTaskException")
NOT_FOUND = ErrorKind(404, "NotFoundException")
UNSUPPORTED = ErrorKind(501, "UnsupportedOperationException")
UNAVAILABLE = ErrorKind(503, "ServiceUnavailableException")
SERVER_ERROR = ErrorKind(500, "InternalServerError")


NO_TOKEN = (
    "the request has no valid token: set `token` in the catalog's properties to the gateway's"
    " token, or to one that `segplane access create --role reader` made"
)
_META_AWAY = "the metadata server cannot answer now: "
# Errors, their answers to a client, and the beginning of the sentence; the first that fits.
_REFUSALS: tuple[tuple[tuple[type[Exception], ...], ErrorKind, str], ...] = (
    ((TableMissing, NotFound), NO_TABLE, ""),
    ((PlanTaskMissing,), NO_PLAN_TASK, ""),
    ((ObjectGone,), NOT_FOUND, ""),
    ((TableRefused, RequestRefused, InvalidArgument), BAD_REQUEST, ""),
    ((AccessRefused, NotAllowed), FORBIDDEN, ""),
    ((NotNow,), UNAVAILABLE, ""),
    ((Unavailable, Overloaded, DeadlineExceeded, RaceLost), UNAVAILABLE, _META_AWAY),
    ((MetaError,), SERVER_ERROR, "the metadata server refuses this gateway: "),
    ((StoreError,), UNAVAILABLE, "the object store cannot be used now: "),
    ((QueryRefusal,), BAD_REQUEST, ""),
)


def refuse(kind: ErrorKind, message: str) -> Response:
    """An error, which clients show as an exception with this message."""
    headers = {}
    if kind is UNAVAILABLE:
        headers["Retry-After"] = str(RETRY_AFTER_SECS)
    if kind is UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    error = {"message": message, "type": kind.type, "code": kind.status}
    return answer({"error": error}, kind.status, headers)


def refusal(error: Exception) -> Response | None:
    """The answer to a request that met this error; None for one of our own mistakes."""
    if isinstance(error, NotKnown):
        # One text for unknown, expired and revoked tokens, and for none.
        return refuse(UNAUTHORIZED, NO_TOKEN)
    for classes, kind, begin in _REFUSALS:
        if isinstance(error, classes):
            return refuse(kind, f"{begin}{error}")
    return None


async def read_object(request: Request) -> dict[str, Any]:
    """Read a JSON object. Raises RequestRefused, QueryRefusal."""
    value = await read_json(request, BODY_BYTES_MAX)
    if not isinstance(value, dict):
        raise RequestRefused("the body is not a JSON object")
    return value
