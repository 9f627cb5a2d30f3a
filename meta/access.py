"""Callers: their subjects and roles, and the origin of a call."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from uuid import UUID

from meta import roles
from meta.roles import Role

# The key of the tenant that everything belongs to unless it names another.
DEFAULT_TENANT = 0


PERCENT_DEFAULT = 50


@dataclass(frozen=True, slots=True)
class TenantShares:
    """The shares of a tenant that are in force; a quota of 0 is none."""

    percent: int = 100
    datasets: int = 0
    records_per_month: int = 0
    bytes_per_sec: int = 0

    def of(self, bound: int) -> int:
        """The tenant's part of a bound, one at least."""
        return max(1, bound * self.percent // 100)


# Of operators and the tenant `default`: the bound itself.
WHOLE = TenantShares()


@dataclass(frozen=True, slots=True)
class CallerTenant:
    """The tenant of a caller, as it was when the credential was looked up."""

    key: int
    id: UUID
    name: str
    is_suspended: bool = False
    shares: TenantShares = WHOLE

    @property
    def reference(self) -> str:
        """The tenant by its id, in the place of its name: no name begins so."""
        return f"//{self.id}"

    def subject(self, name: str) -> str:
        """The subject of one of its callers: no other tenant and no operator can take it."""
        return f"{self.reference}/{name}"


# The tenant of everything that names none.
DEFAULT = CallerTenant(DEFAULT_TENANT, UUID("00000000-0000-7000-8000-000000000000"), "default")


@dataclass(frozen=True, slots=True)
class TenantScope:
    """The part of the catalog that a caller may reach: a tenant, and of it all datasets or some."""

    # None = those of all tenants, which operators and the server's jobs reach.
    tenant_key: int | None = None
    # None = all datasets.
    dataset_ids: frozenset[UUID] | None = None

    @property
    def naming_key(self) -> int:
        """The key of the tenant in which names are looked up."""
        return DEFAULT_TENANT if self.tenant_key is None else self.tenant_key


EVERYTHING = TenantScope()


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller: a subject that outlives its credentials, its role, and what it may reach."""

    subject: str
    role: Role
    scope: TenantScope = EVERYTHING
    # End of its access token, in nanoseconds since 1970; 0 = it has none, or one without end.
    ends_at_nanos: int = field(default=0, compare=False)
    # Creation of its access token; 0 = it has none.
    begins_at_nanos: int = field(default=0, compare=False)
    # True if it does not name the caller: no credential, or META_AUTH_TOKEN.
    is_shared: bool = False
    # The tenant of its scope; None = of an operator who names none.
    tenant: CallerTenant | None = field(default=None, compare=False)
    # The call is safe only while there is no other tenant than `default`.
    needs_sole_tenant: bool = field(default=False, compare=False)

    @property
    def is_operator(self) -> bool:
        """True for the roles that reach all tenants."""
        return self.role not in roles.TENANT_ROLES

    @property
    def is_anonymous(self) -> bool:
        """True without a credential."""
        return self.is_shared and self.subject == ANONYMOUS.subject

    @property
    def is_of_other_tenant(self) -> bool:
        """True if it belongs to a tenant other than `default`, whose people may be operators."""
        return not self.is_operator and self.scope.tenant_key not in (None, DEFAULT_TENANT)

    @property
    def account(self) -> str:
        """The holder of its part of what all share: its subject, or its tenant as a whole.

        A tenant has no more of a server than one subject, however many subjects it has. `default`
        is shared with the operator, whose subjects count by themselves.
        """
        return f"//{self.scope.tenant_key}" if self.is_of_other_tenant else self.subject

    @property
    def account_shares(self) -> TenantShares:
        """The part of its account in what all share: that of its tenant, not of one that it names.

        An operator, such as a gateway, calls for many tenants.
        """
        tenant = self.tenant
        return tenant.shares if tenant is not None and self.is_of_other_tenant else WHOLE

    @property
    def is_told_processes(self) -> bool:
        """True if it reads names of processes and streams, which are the operator's."""
        return self.role is not Role.READER and not self.is_of_other_tenant

    def may_call(self, method: str) -> bool:
        """True if role, tenant and a limit to datasets allow `/package.Service/Method`."""
        is_limited = self.scope.dataset_ids is not None
        return roles.allows(self.role, method, is_limited=is_limited) and (
            self.scope.tenant_key in (None, DEFAULT_TENANT) or roles.is_of_tenants(method)
        )

    def calling(self, method: str) -> "Principal":
        """The caller of a call that it may make."""
        is_safe = self.scope.tenant_key is None or roles.is_of_tenants(method)
        return self if is_safe else replace(self, needs_sole_tenant=True)


def in_tenant(principal: Principal, tenant: CallerTenant) -> Principal:
    """An operator that names a tenant, or a caller of it."""
    scope = replace(principal.scope, tenant_key=tenant.key)
    return replace(principal, scope=scope, tenant=tenant)


# Callers of a server that requires no authentication, and holders of META_AUTH_TOKEN.
ANONYMOUS = Principal("anonymous", Role.ADMIN, is_shared=True)
SHARED_TOKEN = Principal("META_AUTH_TOKEN", Role.ADMIN, is_shared=True)
current: ContextVar[Principal] = ContextVar("principal", default=ANONYMOUS)


@contextmanager
def as_server() -> Iterator[None]:
    """Do work of the server, for all callers, within a call of one."""
    token = current.set(ANONYMOUS)
    try:
        yield
    finally:
        current.reset(token)


@contextmanager
def as_operator_in(tenant_key: int) -> Iterator[None]:
    """Do work of the server, or of a tool, in a tenant: names are those of the tenant."""
    token = current.set(replace(ANONYMOUS, scope=TenantScope(tenant_key)))
    try:
        yield
    finally:
        current.reset(token)


@dataclass(frozen=True, slots=True)
class Origin:
    """The host of a call, and the id that its caller sent; "" = none."""

    host: str = ""
    request_id: str = ""


def current_shares() -> TenantShares:
    """The shares of the tenant of the current call; the whole for an operator who names none."""
    tenant = current.get().tenant
    return WHOLE if tenant is None else tenant.shares


# Read by the few calls that are audited, so that the others do not pay for it.
origin: ContextVar[Callable[[], Origin]] = ContextVar("origin", default=Origin)


@dataclass(frozen=True, slots=True)
class AuditCaller:
    """The subject, host and request id of a call, as the audit log names them."""

    subject: str = ""
    host: str = ""
    request_id: str = ""


NO_CALLER = AuditCaller()


def caller() -> AuditCaller:
    """The caller of the call that runs in this context."""
    called_from = origin.get()()
    return AuditCaller(current.get().subject, called_from.host, called_from.request_id)


def shown_subject(subject: str) -> str:
    """A subject as the caller sees it: those of its tenant by their name there.

    Of other tenants it sees none, and an operator sees all as they are stored.
    """
    caller_now = current.get()
    if caller_now.is_operator or not subject.startswith("//"):
        return subject
    prefix = (caller_now.tenant or DEFAULT).subject("")
    return subject.removeprefix(prefix) if subject.startswith(prefix) else ""


def stored_subject(shown: str) -> str:
    """The subject that a caller of a tenant means by a name, as it is stored; "" = any."""
    caller_now = current.get()
    tenant = caller_now.tenant
    if not shown or tenant is None or caller_now.is_operator or tenant.key == DEFAULT_TENANT:
        return shown
    return tenant.subject(shown)
