"""Tenants: create, list, rename, suspend, resume, delete, undelete; their usage."""

import re
from collections.abc import Callable

from meta.errors import InvalidArgument, NotFound
from meta.services.messages import checks, pages
from meta.services.messages.filled import filled
from meta.services.resources import tenant_shares
from meta.services.server_parts import ServerParts
from meta.store.access import tenants
from meta.store.access.tenants import Tenant
from meta.store.engine import caller_role, keyset
from meta.store.engine.pool import Transaction
from meta.store.segments import object_stores
from meta.store.tenancy import usage
from meta.store.tenancy.usage import TenantUsage
from meta.store.versions import upgrades
from meta.v1 import catalog_pb2
from meta.v1 import resources_pb2 as pb
from segments.dataset_names import UNASSIGNED
from segments.location import StoreUnknown

USAGE_TENANTS_MAX = 100
_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")


def create_tenant(server: ServerParts, request: pb.CreateTenantRequest) -> pb.CreateTenantResponse:
    """Create a tenant; the same name again is the same tenant."""
    name = _new_name(request.name, "name")

    def work(tx: Transaction) -> Tenant:
        existing = tenants.find(tx, name)
        if existing is not None:
            return existing
        # A meta of an earlier release knows one tenant only.
        upgrades.require_finished(tx, "a second tenant")
        caller_role.require(tx)
        return tenants.create(tx, name)

    return pb.CreateTenantResponse(tenant=_changed(server, work))


def get_tenant(server: ServerParts, request: pb.GetTenantRequest) -> pb.GetTenantResponse:
    """Read one tenant."""
    identifier = checks.identifier(request)

    def read(tx: Transaction) -> tuple[Tenant, pb.TenantShares, pb.TenantShares]:
        tenant = tenants.get(tx, identifier)
        return tenant, *tenant_shares.messages(tx, tenant)

    tenant, shares, in_force = server.transactions.read(read)
    return pb.GetTenantResponse(tenant=_message(tenant), shares=shares, shares_in_force=in_force)


def list_tenants(server: ServerParts, request: pb.ListTenantsRequest) -> pb.ListTenantsResponse:
    """Page through the tenants."""
    window = pages.window(request.pagination, "ListTenants")
    page = server.transactions.read(lambda tx: tenants.list_page(tx, window))
    return pb.ListTenantsResponse(
        tenants=map(_message, page.items), pagination=pages.answer(page, "ListTenants")
    )


def rename_tenant(server: ServerParts, request: pb.RenameTenantRequest) -> pb.RenameTenantResponse:
    """Rename a tenant; ids stay."""
    identifier = checks.identifier(request)
    new_name = _new_name(request.new_name, "new_name")
    tenant = _changed(server, lambda tx: tenants.rename(tx, identifier, new_name))
    return pb.RenameTenantResponse(tenant=tenant)


def suspend_tenant(
    server: ServerParts, request: pb.SuspendTenantRequest
) -> pb.SuspendTenantResponse:
    """Suspend a tenant."""
    identifier = checks.identifier(request)
    tenant = _changed(server, lambda tx: tenants.suspend(tx, identifier))
    return pb.SuspendTenantResponse(tenant=tenant)


def resume_tenant(server: ServerParts, request: pb.ResumeTenantRequest) -> pb.ResumeTenantResponse:
    """End a suspension."""
    identifier = checks.identifier(request)
    tenant = _changed(server, lambda tx: tenants.resume(tx, identifier))
    return pb.ResumeTenantResponse(tenant=tenant)


def set_tenant_store(
    server: ServerParts, request: pb.SetTenantStoreRequest
) -> pb.SetTenantStoreResponse:
    """Name the store of a tenant's new datasets."""
    identifier, store = checks.identifier(request), request.store
    try:
        url = server.settings.stores.get(store).url()
    except StoreUnknown as error:
        raise NotFound(str(error), store=store) from None

    def work(tx: Transaction) -> Tenant:
        if store:
            # A server without it may have started since and found it unused.
            object_stores.remember(tx, store, url)
        return tenants.place(tx, identifier, store)

    return pb.SetTenantStoreResponse(tenant=_changed(server, work))


def delete_tenant(server: ServerParts, request: pb.DeleteTenantRequest) -> pb.DeleteTenantResponse:
    """Delete a tenant; without success if there is none."""
    identifier = checks.identifier(request)

    def work(tx: Transaction) -> tuple[Tenant | None, bool]:
        return tenants.find(tx, identifier), tenants.delete(tx, identifier)

    tenant, success = server.transactions.write(work)
    if tenant is not None:
        server.transactions.database.continuity.note_tenant(tenant.id)
    return pb.DeleteTenantResponse(success=success)


def undelete_tenant(
    server: ServerParts, request: pb.UndeleteTenantRequest
) -> pb.UndeleteTenantResponse:
    """Bring a tenant back in its grace."""
    tenant_id, grace_secs = checks.uuid(request.id, "id"), server.settings.lifetimes.dataset_grace
    tenant = _changed(server, lambda tx: tenants.undelete(tx, tenant_id, grace_secs))
    return pb.UndeleteTenantResponse(tenant=tenant)


def get_tenant_usage(
    server: ServerParts, request: pb.GetTenantUsageRequest
) -> pb.GetTenantUsageResponse:
    """Read the usage of one tenant by month, or of a page of tenants in one."""
    month = _month(request)
    if request.WhichOneof("identifier") is not None:
        identifier = checks.identifier(request)

        def read(tx: Transaction) -> list[TenantUsage]:
            tenant_id = tenants.get(tx, identifier).id
            if month is None:
                return usage.of_tenant(tx, tenant_id)
            return usage.of_month(tx, [tenant_id], month)

        return pb.GetTenantUsageResponse(usage=map(_usage, server.transactions.read(read)))
    limited = catalog_pb2.PaginationRequest()
    limited.CopyFrom(request.pagination)
    limited.limit = min(limited.limit or USAGE_TENANTS_MAX, USAGE_TENANTS_MAX)
    window = pages.window(limited, "GetTenantUsage", month)

    def read_page(tx: Transaction) -> tuple[keyset.Page[Tenant], list[TenantUsage]]:
        page = tenants.list_page(tx, window)
        return page, usage.of_month(tx, page.ids, month)

    page, rows = server.transactions.read(read_page)
    return pb.GetTenantUsageResponse(
        usage=map(_usage, rows), pagination=pages.answer(page, "GetTenantUsage", month)
    )


def _changed(server: ServerParts, work: Callable[[Transaction], Tenant]) -> pb.Tenant:
    """Change a tenant, and note it where a restored backup does not forget it."""
    tenant = server.transactions.write(work)
    server.transactions.database.continuity.note_tenant(tenant.id)
    return _message(tenant)


def _new_name(value: str, field: str) -> str:
    """A name that no other tenant has by the rules; those of groups, and one more is reserved."""
    name = checks.new_group_name(value, field)
    if name.lower() == UNASSIGNED:
        raise InvalidArgument(f"{field} is {value!r}, expected another: reserved", field=field)
    return name


def _month(request: pb.GetTenantUsageRequest) -> str | None:
    if not request.HasField("month"):
        return None
    if not _MONTH.fullmatch(request.month):
        raise InvalidArgument("month is not of the form YYYY-MM", field="month")
    return request.month


def _message(tenant: Tenant) -> pb.Tenant:
    return filled(pb.Tenant, tenant)


def _usage(row: TenantUsage) -> pb.TenantUsage:
    return filled(pb.TenantUsage, row)
