"""Answers to requests below /v1: by one endpoint each, refusals as JSON."""

from collections.abc import Awaitable, Callable

import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from segplane.gateway.http.bodies import answer
from segplane.gateway.http.refusals import Broken, CallerGone, QueryRefusal

log = structlog.get_logger()
_CALLER_GONE = 499
# Answers a request; the name of its route for metrics comes with the answer.
Endpoint = Callable[[Request], Awaitable[tuple[str, Response]]]


def refuse(refusal: QueryRefusal) -> Response:
    """Return a refusal in the form of the gateway's others."""
    error: dict[str, object] = {
        "message": str(refusal),
        "type": refusal.type,
        "code": refusal.status,
    }
    if refusal.excerpt:
        error["excerpt"] = refusal.excerpt
    if refusal.reason:
        error |= {"reason": refusal.reason, "metadata": dict(refusal.metadata)}
    return answer({"error": error}, refusal.status, refusal.headers())


async def answered(
    name: str,
    respond: Callable[[Request], Awaitable[Response]],
    refused: Callable[[QueryRefusal], Response],
    request: Request,
) -> tuple[str, Response]:
    """Answer a request, a refusal in the form of its interface."""
    try:
        return name, await respond(request)
    except QueryRefusal as refusal:
        return name, refused(refusal)
    except (CallerGone, ClientDisconnect):
        return name, Response(status_code=_CALLER_GONE)
    except Exception:
        log.exception("query_failed")
        return name, refused(Broken("the gateway made a mistake: its log says more"))
