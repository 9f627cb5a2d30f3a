"""Authentication of callers by token or certificate, authorization by the role's row."""

from typing import Any

import grpc

from meta import access
from meta.access import ANONYMOUS, SHARED_TOKEN, Origin, Principal
from meta.client.addresses import host_of
from meta.client.bearer_token import TENANT_KEY
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import RoleRefused, Unauthenticated
from meta.rpc import caller_rights, json_web_tokens, request_id
from meta.rpc.access_token_cache import AccessTokens
from meta.rpc.caller_rights import Rights
from meta.rpc.json_web_tokens import JsonWebTokens
from meta.rpc.request_id import Metadata
from meta.rpc.tenant_cache import TenantCache
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
        self._tenants = TenantCache(transactions)
        self._is_required = settings.requires_authentication or bool(token)

    async def check(self, method: str, context: "grpc.aio.ServicerContext[Any, Any]") -> Principal:
        """Note and return the caller, from the headers of a call alone.

        Raises Unauthenticated, RoleRefused or InvalidArgument unless the call is allowed, and
        Unavailable if its credential cannot be looked up now.
        """
        # Read now: the call's memory is freed when its handler ends, and a thread may outlive that.
        peer, sent = context.peer(), context.invocation_metadata() or ()
        principal = await self._principal(context, sent)
        if not principal.may_call(method):
            raise _refusal(principal, method.rpartition("/")[2])
        principal = principal.calling(method)
        access.current.set(principal)
        access.origin.set(lambda: Origin(host_of(peer), request_id.sent_in(sent)))
        return principal

    async def _principal(
        self, context: "grpc.aio.ServicerContext[Any, Any]", sent: Metadata
    ) -> Principal:
        header, tenant_name = "", ""
        for key, value in sent:
            if key == "authorization":
                header = str(value)
            elif key == TENANT_KEY:
                tenant_name = str(value)
        rights = await self._rights(context, header)
        # Known before the tenant is, so that its refusals are paced.
        access.current.set(rights[0])
        principal = caller_rights.chosen(rights, tenant_name)
        if tenant_name and principal.tenant is None:
            principal = caller_rights.within(principal, await self._tenants.find(tenant_name))
        return principal

    async def _rights(self, context: "grpc.aio.ServicerContext[Any, Any]", header: str) -> Rights:
        if self._expected and is_same(header.encode(), self._expected):
            return (SHARED_TOKEN,)
        bearer = header.removeprefix("Bearer ")
        if bearer.startswith(token_secrets.ACCESS_PREFIX):
            rights = self._tokens.shown(bearer) or await self._tokens.find(bearer)
        elif self._web_tokens is not None and json_web_tokens.is_well_formed(bearer):
            rights = await self._tenants.rights(await self._web_tokens.find(bearer))
        else:
            return await self._without_token(context)
        # A caller that shows a token is never treated as one that needs none.
        if not rights:
            raise Unauthenticated(REFUSED)
        return rights

    async def _without_token(self, context: "grpc.aio.ServicerContext[Any, Any]") -> Rights:
        if self._certificates.rules:
            of_rules = self._certificates.rights(context.auth_context())
            if rights := await self._tenants.rights(of_rules):
                return rights
        if self._is_required:
            raise Unauthenticated(REFUSED)
        return (ANONYMOUS,)


def _refusal(principal: Principal, rpc: str) -> RoleRefused:
    role = principal.role.value
    if principal.is_operator and principal.tenant is not None:
        return RoleRefused(f"{rpc} is for no single tenant: leave {TENANT_KEY} out", role=role)
    return RoleRefused(f"the role {role} may not call {rpc}", role=role)
