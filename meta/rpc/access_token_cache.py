"""Cache of the valid access tokens that were shown last; the others are looked up.

Of all look-ups one query runs at a time. So guesses cost the database the same however many there
are and wherever they come from, and a token that was created a moment ago is found among them.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from contextvars import Context

import structlog

from meta.access import Principal, TenantScope
from meta.commits.transactions import Transactions
from meta.errors import MetaError, Unavailable
from meta.roles import TENANT_ROLES, Role
from meta.rpc.caller_rights import Rights
from meta.rpc.restrictions import STRANGER, count_restricted
from meta.store.access import access_tokens, token_secrets
from meta.store.access.access_tokens import ValidAccess
from meta.store.access.token_secrets import HashFunction, TokenDigests, TokenHasher
from meta.store.engine.pool import Transaction

log = structlog.get_logger()
# A revocation holds within this time.
SNAPSHOT_SECS = 3.0
# Pause between two queries.
PAUSE_SECS = 0.05
# Tokens that are read again; all of an installation that has no more.
KEPT_MAX = 2_000
WAITING_MAX = 256
_NOT_SHOWN: tuple[bytes, Rights] = b"", ()
_TENANT_ROLES = frozenset(role.value for role in TENANT_ROLES)


class AccessTokens:
    """Valid access tokens, read again every few seconds; used on the event loop."""

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
        self._lookups = TokenLookups(transactions)
        self._read_at = float("-inf")
        # By digest, those that were shown last at the end.
        self._valid: dict[bytes, tuple[ValidAccess, Rights]] = {}
        # Those that were shown since, by plaintext: hashing takes 10 us a call.
        self._shown: dict[str, tuple[bytes, Rights]] = {}
        self._hash: HashFunction | None = None

    def shown(self, plaintext: str) -> Rights:
        """The rights of a token that was found since the tokens were read; () = look it up."""
        if self._clock() - self._read_at >= SNAPSHOT_SECS:
            return ()
        return self._shown.get(plaintext, _NOT_SHOWN)[1]

    async def find(self, plaintext: str) -> Rights:
        """The rights of a token, empty if it is not valid. Raises Unavailable."""
        if not token_secrets.is_well_formed(plaintext, token_secrets.ACCESS_PREFIX):
            return ()
        if self._hash is None or self._clock() - self._read_at >= SNAPSHOT_SECS:
            await self._renew()
        assert self._hash is not None
        read_at = self._read_at
        digests = self._hash(plaintext)
        entry = next(filter(None, map(self._valid.get, digests.all())), None)
        if entry is None:
            # It may be new.
            entry = await self._look_up(digests)
        if entry is None:
            return ()
        access, rights = entry
        if self._hash.needs_rehash(digests, access.digest, access.fingerprint):
            await self._rehash(access, digests.current)
        # A newer snapshot may know that it was revoked since.
        if read_at == self._read_at and len(self._shown) < KEPT_MAX:
            self._shown[plaintext] = access.digest, rights
        return rights

    async def _look_up(self, digests: TokenDigests) -> tuple[ValidAccess, Rights] | None:
        read_at = self._read_at
        access = await self._lookups.find(digests)
        if access is None:
            return None
        entry = access, _rights(access)
        # A newer snapshot may know that it was revoked since.
        if read_at == self._read_at:
            self._valid[access.digest] = entry
            if len(self._valid) > KEPT_MAX:
                del self._valid[next(iter(self._valid))]
        return entry

    async def _rehash(self, access: ValidAccess, digest: bytes) -> None:
        """Store a token under the current pepper; its call does not depend on that."""
        assert self._hash is not None
        stored, fingerprint = access.digest, self._hash.fingerprint
        # Known at once, so that no other call does the same.
        moved = access._replace(digest=digest, fingerprint=fingerprint)
        self._valid[stored] = self._valid[digest] = moved, _rights(access)
        try:
            await asyncio.to_thread(
                self._transactions.write,
                lambda tx: access_tokens.rehash(tx, stored, digest, fingerprint),
            )
        except MetaError as error:
            log.warning("token_not_rehashed", subject=access.subject, reason=error.reason)

    async def _renew(self) -> None:
        """Read the tokens unless another caller just did; one reads for all."""
        async with self._lock:
            now = self._clock()
            if self._hash is not None and now - self._read_at < SNAPSHOT_SECS:
                return
            shown = dict.fromkeys(digest for digest, _ in self._shown.values())
            kept = [digest for digest in self._valid if digest not in shown]
            digests = [*kept, *shown][-KEPT_MAX:]
            self._hash, valid = await asyncio.to_thread(
                self._transactions.read, lambda tx: self._read(tx, digests)
            )
            self._valid = {
                digest: (valid[digest], _rights(valid[digest]))
                for digest in digests or valid
                if digest in valid
            }
            self._shown = {}
            self._read_at = now

    def _read(
        self, tx: Transaction, digests: Sequence[bytes]
    ) -> tuple[HashFunction, dict[bytes, ValidAccess]]:
        """Read tokens again; with none, as at the start, as many as may be kept."""
        if digests:
            return self._hasher.hash_function(tx), access_tokens.find_valid(tx, digests)
        return self._hasher.hash_function(tx), access_tokens.list_valid(tx, KEPT_MAX)


def _rights(access: ValidAccess) -> Rights:
    role, is_in_tenant = Role(access.role), access.role in _TENANT_ROLES
    principal = Principal(
        access.subject,
        role,
        TenantScope(access.tenant.key if is_in_tenant else None, access.dataset_ids),
        access.expires_at_nanos,
        access.created_at_nanos,
        tenant=access.tenant if is_in_tenant else None,
    )
    return (principal,)


class TokenLookups:
    """The tokens that wait for the next query; used on the event loop."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        # Waiting calls by the digest under the current pepper.
        self._waiting: dict[bytes, tuple[TokenDigests, asyncio.Future[ValidAccess | None]]] = {}
        self._running: asyncio.Task[None] | None = None

    async def find(self, digests: TokenDigests) -> ValidAccess | None:
        """The valid token of these digests, None if there is none. Raises Unavailable."""
        _, answer = self._waiting.get(digests.current) or self._add(digests)
        # Others may wait for the same token.
        return await asyncio.shield(answer)

    def _add(
        self, digests: TokenDigests
    ) -> "tuple[TokenDigests, asyncio.Future[ValidAccess | None]]":
        if len(self._waiting) >= WAITING_MAX:
            count_restricted(STRANGER, "lookups")
            raise Unavailable("too many unknown access tokens are looked up: try again")
        loop = asyncio.get_running_loop()
        entry = digests, loop.create_future()
        self._waiting[digests.current] = entry
        if self._running is None:
            # Its context is its own: the first call may be cancelled without the others.
            self._running = loop.create_task(self._run(), context=Context())
        return entry

    async def _run(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = list(self._waiting.values()), {}
                await self._answer(batch)
                await asyncio.sleep(PAUSE_SECS)
        finally:
            self._running = None

    async def _answer(
        self, batch: "Iterable[tuple[TokenDigests, asyncio.Future[ValidAccess | None]]]"
    ) -> None:
        digests_of_all = [digest for digests, _ in batch for digest in digests.all()]
        try:
            valid = await asyncio.to_thread(
                self._transactions.read, lambda tx: access_tokens.find_valid(tx, digests_of_all)
            )
        except Exception as error:  # noqa: BLE001 - each waiting call raises it
            for _, answer in batch:
                if not answer.done():
                    answer.set_exception(error)
                    # The waiting callers may have left.
                    answer.exception()
            return
        for digests, answer in batch:
            if not answer.done():
                answer.set_result(next(filter(None, map(valid.get, digests.all())), None))
