"""Authentication of callers by the bearer token META_AUTH_TOKEN."""

import hmac
from typing import Any

import grpc

from meta.errors import Unauthenticated

# A health probe has no credential.
OPEN_METHODS = frozenset({"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"})


class Authentication:
    """Checks the `authorization` header; an empty token admits every caller."""

    def __init__(self, auth_token: str) -> None:
        self._expected = f"Bearer {auth_token}".encode() if auth_token else None

    def check(self, method: str, context: "grpc.aio.ServicerContext[Any, Any]") -> None:
        """Raise Unauthenticated unless the caller may make this call."""
        if self._expected is None or method in OPEN_METHODS:
            return
        for key, value in context.invocation_metadata() or ():
            if key == "authorization" and hmac.compare_digest(str(value).encode(), self._expected):
                return
        raise Unauthenticated("the call needs `authorization: Bearer <META_AUTH_TOKEN>`")
