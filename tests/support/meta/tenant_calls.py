"""Calls of tenants' roles as calls of the tenant `default`, for tests with the callers' role."""

from dataclasses import replace
from typing import Any

from meta import access, roles
from meta.access import DEFAULT_TENANT, Principal
from meta.roles import Role
from meta.rpc.authentication import Authentication

_check = Authentication.check


async def _check_in_tenant(self: Authentication, method: str, context: Any) -> Principal:
    """Check a call; one that a tenant's role may make is of the tenant `default`."""
    principal = await _check(self, method, context)
    if any(roles.allows(role, method, is_limited=False) for role in (Role.CATALOG, Role.READER)):
        scope = replace(principal.scope, tenant_key=DEFAULT_TENANT)
        principal = replace(principal, scope=scope)
        access.current.set(principal)
    return principal


def begin() -> None:
    """Let all servers of this process treat calls so from now on."""
    Authentication.check = _check_in_tenant  # type: ignore[method-assign]
