"""Authentication of callers by bearer token, and authorization by the role's row."""

import asyncio
import hmac
import time
from collections.abc import Callable
from typing import Any

import grpc

from meta import access
from meta.access import ANONYMOUS, HEALTH_METHODS, SHARED_TOKEN, Principal, Role
from meta.errors import RoleRefused, Unauthenticated
from meta.store import access_tokens, token_secrets
from meta.store.engine import Transaction
from meta.store.token_secrets import TokenHasher
from meta.transactions import Transactions

# A revocation holds within this time.
SNAPSHOT_SECS = 3.0
# Unknown tokens make the server look again, but no more often than this.
RENEW_SECS_MIN = 0.5
# One text for unknown, expired and revoked: a reply does not reveal which tokens existed.
REFUSED = "the call needs `authorization: Bearer <token>` with a valid access token"


class AccessTokens:
    """The valid access tokens, read again every few seconds; used on the event loop."""

    def __init__(
        self,
        transactions: Transactions,
        hasher: TokenHasher,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transactions = transactions
        self._hasher = hasher
        self._clock = clock
        self._lock = asyncio.Lock()
        self._read_at = float("-inf")
        self._principals: dict[bytes, Principal] = {}
        self._digest: Callable[[str], bytes] | None = None

    async def find(self, plaintext: str) -> Principal | None:
        """The principal of a token, None if it is not valid. Raises Unavailable."""
        if not token_secrets.is_well_formed(plaintext, token_secrets.ACCESS_PREFIX):
            return None
        if self._digest is None or self._clock() - self._read_at >= SNAPSHOT_SECS:
            await self._renew(SNAPSHOT_SECS)
        principal = self._look_up(plaintext)
        if principal is None:
            # It may be new.
            await self._renew(RENEW_SECS_MIN)
            principal = self._look_up(plaintext)
        return principal

    def _look_up(self, plaintext: str) -> Principal | None:
        assert self._digest is not None
        return self._principals.get(self._digest(plaintext))

    async def _renew(self, secs: float) -> None:
        """Read the tokens unless that was done within `secs`; one caller reads for all."""
        async with self._lock:
            now = self._clock()
            if self._digest is not None and now - self._read_at < secs:
                return
            self._digest, valid = await asyncio.to_thread(self._transactions.read, self._read)
            self._principals = {
                digest: Principal(subject, Role(role)) for digest, (subject, role) in valid.items()
            }
            self._read_at = now

    def _read(self, tx: Transaction) -> tuple[Callable[[str], bytes], dict[bytes, tuple[str, str]]]:
        return self._hasher.hash_function(tx), access_tokens.list_valid(tx)


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

    async def _principal(self, context: "grpc.aio.ServicerContext[Any, Any]") -> Principal:
        header = ""
        for key, value in context.invocation_metadata() or ():
            if key == "authorization":
                header = str(value)
                if self._expected and hmac.compare_digest(header.encode(), self._expected):
                    return SHARED_TOKEN
        if header.startswith(f"Bearer {token_secrets.ACCESS_PREFIX}"):
            principal = await self._tokens.find(header.removeprefix("Bearer "))
            # Somebody who shows a token is never taken for one who needs none.
            if principal is None:
                raise Unauthenticated(REFUSED)
            return principal
        if self._is_required:
            raise Unauthenticated(REFUSED)
        return ANONYMOUS
