"""Tenants, a call a line, and two of them with an administrator each."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from meta.client import MetaClient
from meta.config import Settings
from meta.roles import Role
from meta.v1 import operations_pb2
from meta.v1 import resources_pb2 as pb
from tests.support.meta.database_roles import CALLERS
from tests.support.meta.guarded import GuardedServer, guarded


class TenantDriver:
    """Calls of an operator about tenants, which are named by their ids or names."""

    def __init__(self, client: MetaClient) -> None:
        self._calls = client.resources

    def create(self, name: str) -> pb.Tenant:
        return self._calls.CreateTenant(pb.CreateTenantRequest(name=name)).tenant

    def get(self, name: str = "", *, id: str = "") -> pb.Tenant:
        request = pb.GetTenantRequest(id=id) if id else pb.GetTenantRequest(name=name)
        return self._calls.GetTenant(request).tenant

    def names(self) -> list[str]:
        return [t.name for t in self._calls.ListTenants(pb.ListTenantsRequest()).tenants]

    def rename(self, name: str, new_name: str) -> pb.Tenant:
        request = pb.RenameTenantRequest(name=name, new_name=new_name)
        return self._calls.RenameTenant(request).tenant

    def suspend(self, name: str) -> pb.Tenant:
        return self._calls.SuspendTenant(pb.SuspendTenantRequest(name=name)).tenant

    def resume(self, name: str) -> pb.Tenant:
        return self._calls.ResumeTenant(pb.ResumeTenantRequest(name=name)).tenant

    def delete(self, name: str) -> bool:
        return self._calls.DeleteTenant(pb.DeleteTenantRequest(name=name)).success

    def undelete(self, id: str) -> pb.Tenant:
        return self._calls.UndeleteTenant(pb.UndeleteTenantRequest(id=id)).tenant

    def move(self, dataset: str, tenant: str, **fields: Any) -> pb.MoveDatasetToTenantResponse:
        request = pb.MoveDatasetToTenantRequest(dataset_id=dataset, tenant_name=tenant, **fields)
        return self._calls.MoveDatasetToTenant(request)

    def usage(self, name: str = "", **fields: Any) -> list[pb.TenantUsage]:
        request = pb.GetTenantUsageRequest(**fields)
        if name:
            request.name = name
        return list(self._calls.GetTenantUsage(request).usage)


@dataclass(frozen=True)
class TwoTenants:
    """Two tenants besides `default`, each with a client of its administrator `boss`."""

    guard: GuardedServer
    payments: MetaClient
    search: MetaClient


def for_tenants(settings: Settings) -> Settings:
    """Settings of a meta that has a role of callers, which its start makes."""
    return replace(settings, database=replace(settings.database, caller_role=CALLERS))


@contextmanager
def guarded_for_tenants(settings: Settings) -> Iterator[GuardedServer]:
    """Run a server that needs a credential and may have several tenants."""
    with guarded(for_tenants(settings)) as guard:
        yield guard


@contextmanager
def two_tenants(guard: GuardedServer) -> Iterator[TwoTenants]:
    """Create the tenants `payments` and `search`."""
    tokens = []
    for name in ("payments", "search"):
        TenantDriver(guard.admin).create(name)
        with operator_in(guard, name) as operator:
            tokens.append(new_token(operator, Role.TENANT_ADMIN, "boss").plaintext_token)
    payments, search = (MetaClient(guard.address, auth_token=token) for token in tokens)
    with payments, search:
        yield TwoTenants(guard, payments, search)


@contextmanager
def operator_in(guard: GuardedServer, tenant: str) -> Iterator[MetaClient]:
    """A client with META_AUTH_TOKEN that names a tenant."""
    with MetaClient(guard.address, auth_token="shared", tenant=tenant) as client:
        yield client


def new_token(
    client: MetaClient, role: Role, subject: str = "ann"
) -> operations_pb2.CreateAccessTokenResponse:
    """Create an access token in the tenant of a client."""
    request = operations_pb2.CreateAccessTokenRequest(subject=subject, role=role.value)
    return client.operations.CreateAccessToken(request)
