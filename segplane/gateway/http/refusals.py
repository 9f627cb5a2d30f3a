"""Refusals of requests: each is one sentence, a status, and a name that a program can compare."""

from collections.abc import Mapping, Sequence


class QueryRefusal(Exception):
    """A request that is not answered; `retry_secs` says when it is worth another try.

    `reason` and `metadata` are those of meta's refusal, if it is one.
    """

    status = 400
    type = "BadRequest"
    reason = ""
    metadata: Mapping[str, str] = {}

    def __init__(self, message: str, excerpt: str = "", retry_secs: int = 0) -> None:
        super().__init__(message)
        self.excerpt = excerpt
        self.retry_secs = retry_secs

    def headers(self) -> dict[str, str]:
        """Return the headers of its answer."""
        return {"Retry-After": str(self.retry_secs)} if self.retry_secs else {}


class TenantNeeded(QueryRefusal):
    """The caller has roles in several tenants and named none; `tenants` are some of them."""

    def __init__(self, message: str, subject: str, tenants: Sequence[str]) -> None:
        super().__init__(message)
        self.subject = subject
        self.tenants = tenants


class NotKnown(QueryRefusal):
    """The caller has no valid token."""

    status = 401
    type = "Unauthenticated"

    def headers(self) -> dict[str, str]:
        """Return the headers of its answer."""
        return {**super().headers(), "WWW-Authenticate": "Bearer"}


class NotAllowed(QueryRefusal):
    """The caller's role may not do this."""

    status = 403
    type = "Forbidden"


class NotThere(QueryRefusal):
    """There is no such route."""

    status = 404
    type = "NotFound"


class MethodRefused(QueryRefusal):
    """The route has other methods."""

    status = 405
    type = "MethodNotAllowed"

    def __init__(self, method: str, methods: str) -> None:
        super().__init__(f"the route has no {method}: it has {methods}")
        self._methods = methods

    def headers(self) -> dict[str, str]:
        """Return the headers of its answer."""
        return {"Allow": self._methods}


class CatalogConflict(QueryRefusal):
    """The catalog is not in the state that the change needs."""

    status = 409
    type = "Conflict"


class Outdated(QueryRefusal):
    """The resource has changed since the version that `If-Match` names."""

    status = 412
    type = "PreconditionFailed"


class WrongMediaType(QueryRefusal):
    """A change, or a request without a bearer token, is not sent as JSON."""

    status = 415
    type = "UnsupportedMediaType"


class Misdirected(QueryRefusal):
    """The request names a host that the gateway is not."""

    status = 421
    type = "MisdirectedRequest"


class TooLong(QueryRefusal):
    """The request is larger than any that makes sense."""

    status = 413
    type = "RequestTooLarge"


class Stopped(QueryRefusal):
    """The query took longer or more than it was allowed."""

    status = 422
    type = "QueryStopped"


class Busy(QueryRefusal):
    """The caller has too many queries, or has used up its hourly budget."""

    status = 429
    type = "TooManyQueries"


class NotNow(QueryRefusal):
    """Meta or the object store does not answer."""

    status = 503
    type = "Unavailable"


class Broken(QueryRefusal):
    """A mistake of ours, of which the log says more."""

    status = 500
    type = "InternalError"


class CallerGone(Exception):
    """The caller has left; nobody reads an answer."""
