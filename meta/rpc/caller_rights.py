"""Rights of a credential: its role in each tenant, and the one by which a call is made."""

from collections.abc import Sequence
from typing import TypeAlias

from meta.access import DEFAULT, CallerTenant, Principal, in_tenant
from meta.client.bearer_token import TENANT_KEY, TENANTS_KEY
from meta.errors import InvalidArgument, RoleRefused, TenantSuspended
from meta.roles import TENANT_ROLES, Role

# A caller for each tenant in which the credential has a role; one without a tenant is an operator.
Rights: TypeAlias = tuple[Principal, ...]
# The metadata of an error is sent in the headers of a reply.
_LISTED_CHARACTERS_MAX = 2_000
# One text for tenants that do not exist and those in which the credential has no role.
NO_ROLE = f"the credential has no role in the tenant that {TENANT_KEY} names"


def right(subject: str, role: Role, tenant: CallerTenant = DEFAULT) -> Principal:
    """The right of a subject that an issuer or a certificate vouches for.

    In `default` it has the subject as it is, as before there were tenants.
    """
    if role not in TENANT_ROLES:
        return Principal(subject, role)
    if tenant.key != DEFAULT.key:
        subject = tenant.subject(subject)
    return in_tenant(Principal(subject, role), tenant)


def chosen(rights: Rights, tenant_name: str) -> Principal:
    """The right of a call that names a tenant, "" = none.

    That of an operator is returned as it is: `within` limits it. Raises RoleRefused,
    TenantSuspended, or InvalidArgument if the call has to name one of several.
    """
    principal = _named(rights, tenant_name) if tenant_name else _only(rights)
    tenant = principal.tenant
    if tenant is not None and tenant.is_suspended and not principal.is_operator:
        raise TenantSuspended("the tenant is suspended: nothing of it is deleted")
    return principal


def within(operator: Principal, tenant: CallerTenant | None) -> Principal:
    """An operator in the tenant that it names. Raises RoleRefused if there is none."""
    if tenant is None:
        raise RoleRefused(NO_ROLE)
    return in_tenant(operator, tenant)


def _only(rights: Rights) -> Principal:
    if len(rights) == 1:
        return rights[0]
    for principal in rights:
        if principal.is_operator:
            return principal
    raise InvalidArgument(
        f"the credential has roles in several tenants: name one by {TENANT_KEY}",
        field=TENANT_KEY,
        **{TENANTS_KEY: _listed(rights)},
    )


def _listed(rights: Rights) -> str:
    """The subject of a credential, and a line for each tenant, as calls may name it.

    Not all are listed if there are many.
    """
    tenants = [each.tenant for each in rights if each.tenant is not None]
    lines = [rights[0].subject.removeprefix(f"{tenants[0].reference}/")]
    for tenant in tenants:
        line = tenant.name if tenant.name.isascii() else tenant.reference
        if sum(map(len, lines)) + len(line) < _LISTED_CHARACTERS_MAX:
            lines.append(line)
    return "\n".join(lines)


def _named(rights: Sequence[Principal], tenant_name: str) -> Principal:
    for principal in rights:
        tenant = principal.tenant
        if tenant is not None and tenant_name in (tenant.name, tenant.reference):
            return principal
    for principal in rights:
        if principal.is_operator:
            return principal
    raise RoleRefused(NO_ROLE)
