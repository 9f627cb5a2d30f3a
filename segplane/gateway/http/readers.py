"""Callers of the gateway: meta's answers about their tokens, kept for a few seconds."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request

from meta.client import MetaClient
from meta.client.bearer_token import TENANT_KEY, TENANTS_KEY
from meta.errors import InvalidArgument, RoleRefused, Unauthenticated
from meta.process.failed_attempts import FailedAttempts
from meta.v1.operations_pb2 import Caller as MetaCaller
from meta.v1.operations_pb2 import GetServerStateRequest
from segplane.gateway.http.callers import DEFAULT_TENANT, GATEWAY, Caller, OwnTokens, identify
from segplane.gateway.http.recent_values import RecentValues
from segplane.gateway.http.refusals import NotAllowed, NotKnown, NotNow, QueryRefusal, TenantNeeded

Metadata: TypeAlias = tuple[tuple[str, str], ...]
# Meta learns of a revocation within 3 s, so that a revoked token is refused here after 5 s.
TRUST_SECS = 2.0
READERS_MAX = 1_000
TOKEN_CHARACTERS_MAX = 8_192
READING_ROLES = ("reader", "operator-read", "gateway", "admin", "tenant-admin", "tenant-reader")
# A role that keeps the catalog sees its content.
LISTING_ROLES = (*READING_ROLES, "catalog")
# The gateway's calls name a tenant, this one or that of the caller, so that no answer has names or
# ids of others.
TENANT = "default"
# The header by which a caller of several tenants names one; a name has fewer characters.
TENANT_HEADER = "segplane-tenant"
_TENANT_CHARACTERS_MAX = 255
# No token of any kind, and how long meta's refusal of it is relied on.
_STRANGER = "stranger"
_STRANGERS_SECS = 60.0
_CALL_SECS = 10.0
_THREADS = 8
_RETRY_SECS = 1


@dataclass(frozen=True, slots=True)
class DatasetScope:
    """Datasets of a tenant, by their ids; None = all.

    The tenant is `//id`, "" = `default`. A key that has a name has the tenant as well.
    """

    dataset_ids: frozenset[str] | None = None
    tenant: str = ""

    def covers(self, dataset_id: str) -> bool:
        """True for one of the datasets."""
        return self.dataset_ids is None or dataset_id in self.dataset_ids


ALL_DATASETS = DatasetScope()


@dataclass(frozen=True, slots=True)
class CatalogReader:
    """A caller, its rights to read, and the metadata of calls of meta in its name."""

    scope: DatasetScope = ALL_DATASETS
    role: str = "gateway"
    # None = calls are made in the gateway's own name.
    metadata: Metadata | None = field(default=None, repr=False)
    # Name by which meta knows the caller; "" = the gateway itself.
    subject: str = ""
    # The tenant that calls in the caller's name have to name, `//id`; "" = none.
    tenant: str = ""
    # The part of the tenant in what all callers share, in percent; 0 = it has no share.
    tenant_percent: int = 0


_OWN = CatalogReader()


def tenant_named(request: Request) -> str:
    """Return the tenant that a request names, "" = none. Raises QueryRefusal."""
    name = request.headers.get(TENANT_HEADER, "")
    if not may_name_tenant(name):
        raise QueryRefusal(f"{TENANT_HEADER} is not the name of a tenant")
    return name


def may_name_tenant(text: str) -> bool:
    """Return whether calls of meta may name a tenant so."""
    return len(text) <= _TENANT_CHARACTERS_MAX and text.isascii() and text.isprintable()


class CatalogReaders:
    """Tells callers apart by their `Authorization`; used on the event loop."""

    def __init__(
        self,
        meta: MetaClient,
        own_tokens: OwnTokens,
        monotonic: Callable[[], float] = time.monotonic,
        *,
        has_credential: bool = True,
    ) -> None:
        self._meta = meta
        self._own = own_tokens
        # False if the gateway has no rights in meta that others have not.
        self._has_credential = has_credential
        self._monotonic = monotonic
        self._attempts = FailedAttempts(monotonic)
        self._threads = CapacityLimiter(_THREADS)
        self._strangers_refused_until = float("-inf")
        # For each digest of a token, the time of the last question to meta, and the answer. A token
        # that meta refuses is in neither, so that no guess displaces a valid one.
        self._known: RecentValues[str, tuple[float, CatalogReader]] = RecentValues(READERS_MAX)
        self._checks: dict[str, asyncio.Task[CatalogReader]] = {}

    async def find(
        self,
        header: str,
        host: str,
        roles: tuple[str, ...] = READING_ROLES,
        *,
        tenant: str = "",
    ) -> CatalogReader:
        """Return the caller that a host's request names, of one of some roles, in a tenant.

        Raises NotKnown, NotAllowed, NotNow, QueryRefusal, MetaError.
        """
        caller = identify(header, self._own)
        if not caller.token and not tenant:
            return _OWN
        reader = await self._reader(caller, host, tenant)
        if reader.role not in roles:
            raise NotAllowed(f"the role {reader.role} may not read tables: show a reader's token")
        return reader

    async def find_caller(
        self,
        header: str,
        host: str,
        roles: tuple[str, ...] = READING_ROLES,
        *,
        tenant: str = "",
    ) -> Caller:
        """Return the same caller as an account, whose calls name its tenant. Raises as `find`."""
        reader = await self.find(header, host, roles, tenant=tenant)
        return identify(header, self._own).within(reader.tenant, reader.tenant_percent)

    async def find_own(self, host: str, tenant: str) -> tuple[Caller, CatalogReader]:
        """Return the gateway itself in a tenant, for sessions with its rights. Raises as `find`."""
        reader = await self._reader(GATEWAY, host, tenant)
        return GATEWAY.within(reader.tenant), reader

    async def find_author(self, header: str, host: str, *, tenant: str = "") -> Caller:
        """Return the caller of a change, which meta decides on by the caller's own token.

        The gateway lends its rights to nobody: without a token a change is passed on only by a
        gateway that has no credential of meta. Raises as `find` does.
        """
        caller, reader = identify(header, self._own), _OWN
        if caller.token:
            reader = await self._reader(caller, host, tenant)
            if not caller.is_certain:
                # Otherwise meta may take the token's holder for the gateway, by its certificate.
                await self._check_strangers()
        elif header or self._has_credential:
            raise NotKnown(
                "a change needs a token of the caller's own, such as one that `segplane access"
                " create --role catalog` made"
            )
        elif tenant:
            reader = await self._reader(caller, host, tenant)
        return caller.within(reader.tenant, reader.tenant_percent)

    async def _reader(self, caller: Caller, host: str, tenant: str) -> CatalogReader:
        """Return a caller in the tenant that it names, "" = none."""
        if len(caller.token) > TOKEN_CHARACTERS_MAX:
            raise NotKnown("the token is too long")
        name = f"{caller.name} {tenant}"
        asked_at, reader = self._known.find(name) or (float("-inf"), _OWN)
        if self._monotonic() - asked_at >= TRUST_SECS:
            reader = await self._checked(name, caller, host, tenant)
        return reader

    async def _checked(self, name: str, caller: Caller, host: str, tenant: str) -> CatalogReader:
        """Have meta check a token, once for all callers that show it at a time."""
        # A token that was valid is checked again however much its host guesses.
        is_guess = self._known.find(name) is None and name not in self._checks
        if is_guess and not self._attempts.may_try(host):
            raise NotNow("the token cannot be checked now: try again", "", _RETRY_SECS)
        check = self._checks.get(name)
        if check is None:
            check = asyncio.create_task(self._check(name, caller, tenant))
            self._checks[name] = check
            check.add_done_callback(lambda done: self._end(name, done))
        try:
            reader = await asyncio.shield(check)
        except NotKnown:
            raise
        except Exception:
            # Meta is unreachable, and that is not the fault of the caller.
            if is_guess:
                self._attempts.succeeded(host)
            raise
        if is_guess:
            self._attempts.succeeded(host)
        return reader

    def _end(self, name: str, check: "asyncio.Task[CatalogReader]") -> None:
        del self._checks[name]
        if not check.cancelled():
            # The result is read even if all waiting callers have left.
            check.exception()

    async def _check(self, name: str, caller: Caller, asked_tenant: str) -> CatalogReader:
        # The time is that before the call: a revocation may be committed while the answer travels.
        asked_at = self._monotonic()
        try:
            if self._own.are_required and not caller.is_certain:
                await self._check_strangers()
            answer = await self._ask(_metadata(caller.token, asked_tenant), asked_tenant)
            tenant = _tenant_of(answer, asked_tenant)
            scope = await self._scope(answer, "" if tenant == DEFAULT_TENANT else tenant)
        except NotKnown:
            self._known.forget(name)
            raise
        except Unauthenticated:
            self._known.forget(name)
            message = "the token is unknown, expired or revoked: create another one"
            raise NotKnown(message) from None
        except RoleRefused as error:
            raise NotAllowed(error.message) from None
        except InvalidArgument as error:
            # The token has roles in several tenants.
            subject, *tenants = error.metadata.get(TENANTS_KEY, "").split("\n")
            raise TenantNeeded(error.message, subject, tenants) from None
        # A caller that may read all gets the gateway's own answers, from the same caches.
        is_limited = scope.dataset_ids is not None
        metadata = _metadata(caller.token, tenant) if is_limited else None
        reader = CatalogReader(
            scope, answer.role, metadata, answer.subject, tenant, answer.tenant_percent
        )
        self._known.keep(name, (asked_at, reader))
        return reader

    async def _scope(self, caller: MetaCaller, tenant: str) -> DatasetScope:
        """Return what both the caller and the gateway may read."""
        if not caller.dataset_ids:
            return DatasetScope(None, tenant)
        meta = await self._ask(None)
        ids = frozenset(caller.dataset_ids)
        ids = ids & frozenset(meta.dataset_ids) if meta.dataset_ids else ids
        return DatasetScope(ids, tenant)

    async def _check_strangers(self) -> None:
        """Raise NotKnown unless meta refuses tokens that it does not know.

        One that asks for none, or knows this gateway by its certificate, would take any text.
        """
        if self._monotonic() < self._strangers_refused_until:
            return
        try:
            await self._ask((("authorization", f"Bearer {_STRANGER}"),))
        except Unauthenticated:
            self._strangers_refused_until = self._monotonic() + _STRANGERS_SECS
            return
        raise NotKnown(
            "the token is neither the gateway's nor one that `segplane access create` made"
        )

    async def _ask(self, metadata: Metadata | None, tenant: str = "") -> MetaCaller:
        """Have meta name a caller; without metadata the gateway itself, in a tenant."""
        meta = self._meta.in_tenant(tenant) if metadata is None and tenant else self._meta
        request, call = GetServerStateRequest(), meta.operations.GetServerState
        reply = await to_thread.run_sync(
            lambda: call(request, timeout=_CALL_SECS, metadata=metadata), limiter=self._threads
        )
        return reply.caller


def _metadata(token: str, tenant: str) -> Metadata | None:
    """The metadata of calls in a caller's name; None = the gateway's own."""
    if not token:
        return None
    entry = ((TENANT_KEY, tenant),) if tenant else ()
    return (("authorization", f"Bearer {token}"), *entry)


def _tenant_of(caller: MetaCaller, asked_tenant: str) -> str:
    """The tenant that further calls of a caller name, "" = none. Raises NotAllowed."""
    if not asked_tenant and caller.tenant in ("", TENANT):
        return ""
    if not caller.tenant_id:
        raise NotAllowed("this meta is of a release that has no tenants")
    return f"//{caller.tenant_id}"
