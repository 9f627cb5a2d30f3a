"""Authentication of callers by bearer token, and authorization by the role's row."""

import hmac
from typing import Any

import grpc

from meta import access
from meta.access import ANONYMOUS, HEALTH_METHODS, SHARED_TOKEN, Origin, Principal
from meta.errors import RoleRefused, Unauthenticated
from meta.rpc import request_id
from meta.rpc.access_token_cache import AccessTokens
from meta.rpc.denials import host_of
from meta.store import token_secrets

# One text for unknown, expired and revoked: a reply does not reveal which tokens existed.
REFUSED = "the call needs `authorization: Bearer <token>` with a valid access token"


class Authentication:
    """Checks the `authorization` header, and what the caller's role may do."""

    def __init__(self, auth_token: str, tokens: AccessTokens, *, is_required: bool) -> None:
        self._expected = f"Bearer {auth_token}".encode() if auth_token else None
        self._tokens = tokens
        self._is_required = is_required or bool(auth_token)

    async def check(self, method: str, context: "grpc.aio.ServicerContext[Any, Any]") -> None:
        """Note who calls. Raises Unauthenticated or RoleRefused unless the call is allowed."""
        if method in HEALTH_METHODS:
            return
        principal = await self._principal(context)
        if not principal.may_call(method):
            raise RoleRefused(
                f"the role {principal.role.value} may not call {method.rpartition('/')[2]}",
                role=principal.role.value,
            )
        if principal is not ANONYMOUS:
            access.current.set(principal)
        access.origin.set(lambda: _origin(context))

    async def _principal(self, context: "grpc.aio.ServicerContext[Any, Any]") -> Principal:
        header = ""
        for key, value in context.invocation_metadata() or ():
            if key == "authorization":
                header = str(value)
                if self._expected and hmac.compare_digest(header.encode(), self._expected):
                    return SHARED_TOKEN
        if header.startswith(f"Bearer {token_secrets.ACCESS_PREFIX}"):
            principal = await self._tokens.find(
                header.removeprefix("Bearer "), host_of(context.peer())
            )
            # Somebody who shows a token is never taken for one who needs none.
            if principal is None:
                raise Unauthenticated(REFUSED)
            return principal
        if self._is_required:
            raise Unauthenticated(REFUSED)
        return ANONYMOUS


def _origin(context: "grpc.aio.ServicerContext[Any, Any]") -> Origin:
    return Origin(host_of(context.peer()), request_id.sent_by_caller(context))
