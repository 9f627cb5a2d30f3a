"""Callers: their subjects and roles, and the origin of a call."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from uuid import UUID

from meta import roles
from meta.roles import Role


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller: a subject that outlives its credentials, and its role."""

    subject: str
    role: Role
    # The datasets that the caller may see; None = all.
    dataset_ids: frozenset[UUID] | None = None
    # End of its access token, in nanoseconds since 1970; 0 = it has none, or one without end.
    ends_at_nanos: int = field(default=0, compare=False)
    # Creation of its access token; 0 = it has none.
    begins_at_nanos: int = field(default=0, compare=False)

    @property
    def is_shared(self) -> bool:
        """True if it does not name the caller: no credential, or META_AUTH_TOKEN."""
        return self in (ANONYMOUS, SHARED_TOKEN)

    def may_call(self, method: str) -> bool:
        """True if the role, and a limit to datasets, allow `/package.Service/Method`."""
        return roles.allows(self.role, method, is_limited=self.dataset_ids is not None)


# Callers of a server that requires no authentication, and holders of META_AUTH_TOKEN.
ANONYMOUS = Principal("anonymous", Role.ADMIN)
SHARED_TOKEN = Principal("META_AUTH_TOKEN", Role.ADMIN)
current: ContextVar[Principal] = ContextVar("principal", default=ANONYMOUS)


@dataclass(frozen=True, slots=True)
class Origin:
    """The host of a call, and the id that its caller sent; "" = none."""

    host: str = ""
    request_id: str = ""


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
