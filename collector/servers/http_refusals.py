"""Refusals as answers over HTTP: the google.rpc.Status in the form of the request."""

import math
from http import HTTPStatus

from aiohttp import web
from google.protobuf.json_format import MessageToJson

from collector.refusal import TOKEN_LIMIT, Refusal
from meta.errors import Code, QuotaExceeded

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
# OTLP/HTTP clients send a 429 again. Longer than they commonly try, so that they give up at once
# rather than come back for nothing; short enough that a raised limit is noticed by the others.
QUOTA_RETRY_AFTER_SECS = 3600
_STATUSES = {
    Code.INVALID_ARGUMENT: HTTPStatus.BAD_REQUEST,
    Code.UNAUTHENTICATED: HTTPStatus.UNAUTHORIZED,
    Code.PERMISSION_DENIED: HTTPStatus.FORBIDDEN,
    Code.NOT_FOUND: HTTPStatus.NOT_FOUND,
    Code.RESOURCE_EXHAUSTED: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    Code.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
}


def _status_of(refusal: Refusal) -> HTTPStatus:
    if refusal.reason in (QuotaExceeded.reason, TOKEN_LIMIT):
        return HTTPStatus.TOO_MANY_REQUESTS
    return _STATUSES[refusal.code]


def answer_refusal(
    refusal: Refusal, content_type: str, status: HTTPStatus | None = None
) -> web.Response:
    """Answer with a refusal, in the form that the request had; None = the status of its code."""
    status = status or _status_of(refusal)
    message = refusal.status()
    body = message.SerializeToString()
    if content_type == JSON:
        body = MessageToJson(message, indent=None).encode()
    response = web.Response(body=body, status=status, content_type=content_type)
    if status is HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = 'Bearer realm="segplane"'
    if refusal.reason == QuotaExceeded.reason:
        response.headers["Retry-After"] = str(QUOTA_RETRY_AFTER_SECS)
    if refusal.retry_after_secs is not None:
        response.headers["Retry-After"] = str(math.ceil(refusal.retry_after_secs))
    return response
