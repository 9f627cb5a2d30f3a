"""Authentication of callers by token or certificate, authorization by the role's row."""

from typing import Any

import grpc

from meta import access
from meta.access import ANONYMOUS, SHARED_TOKEN, Origin, Principal
from meta.client.addresses import host_of
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import RoleRefused, Unauthenticated
from meta.rpc import json_web_tokens, request_id
from meta.rpc.access_token_cache import AccessTokens
from meta.rpc.json_web_tokens import JsonWebTokens
from meta.rpc.request_id import Metadata
from meta.secrets import is_same
from meta.store.access import token_secrets
from meta.store.access.token_secrets import TokenHasher

# One text for unknown, expired and revoked: a reply does not reveal which tokens existed.
REFUSED = "the call needs `authorization: Bearer <token>` with a valid access token"


class Authentication:
    """Checks the `authorization` header, and the permissions of the caller's role."""

    def __init__(self, settings: Settings, transactions: Transactions) -> None:
        token = settings.auth_token
        self._expected = f"Bearer {token}".encode() if token else None
        self._tokens = AccessTokens(transactions, TokenHasher(settings.peppers))
        self._web_tokens = None if settings.oidc is None else JsonWebTokens(settings.oidc)
        self._certificates = settings.certificate_rules
        self._is_required = settings.requires_authentication or bool(token)

    async def check(self, method: str, context: "grpc.aio.ServicerContext[Any, Any]") -> Principal:
        """Note and return the caller, from the headers of a call alone.

        Raises Unauthenticated or RoleRefused unless the call is allowed, and Unavailable if a token
        cannot be looked up now.
        """
        # Read now: the call's memory is freed when its handler ends, and a thread may outlive that.
        peer, sent = context.peer(), context.invocation_metadata() or ()
        principal = await self._principal(context, sent)
        if principal is not ANONYMOUS:
            access.current.set(principal)
        if not principal.may_call(method):
            raise RoleRefused(
                f"the role {principal.role.value} may not call {method.rpartition('/')[2]}",
                role=principal.role.value,
            )
        access.origin.set(lambda: Origin(host_of(peer), request_id.sent_in(sent)))
        return principal

    async def _principal(
        self, context: "grpc.aio.ServicerContext[Any, Any]", sent: Metadata
    ) -> Principal:
        header = ""
        for key, value in sent:
            if key == "authorization":
                header = str(value)
                if self._expected and is_same(header.encode(), self._expected):
                    return SHARED_TOKEN
        bearer = header.removeprefix("Bearer ")
        if bearer.startswith(token_secrets.ACCESS_PREFIX):
            principal = self._tokens.shown(bearer)
            if principal is None:
                principal = await self._tokens.find(bearer)
        elif self._web_tokens is not None and json_web_tokens.is_well_formed(bearer):
            principal = await self._web_tokens.find(bearer)
        else:
            return self._without_token(context)
        # A caller that shows a token is never treated as one that needs none.
        if principal is None:
            raise Unauthenticated(REFUSED)
        return principal

    def _without_token(self, context: "grpc.aio.ServicerContext[Any, Any]") -> Principal:
        if self._certificates.rules:
            principal = self._certificates.principal(context.auth_context())
            if principal is not None:
                return principal
        if self._is_required:
            raise Unauthenticated(REFUSED)
        return ANONYMOUS
