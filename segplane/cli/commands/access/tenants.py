"""segplane tenants: teams of one installation, as its operators manage them."""

from collections.abc import Iterable
from typing import Annotated

from segplane.cli.connection import usage as usage_error
from segplane.cli.messages import MetaClient, resources_pb2
from segplane.cli.nouns import Noun, pages
from segplane.cli.options import DEFAULT_STORE
from segplane.cli.output import NONE, Answer, listing, table
from segplane.cli.parameters import Option, Positional
from segplane.terminal.plain_text import size_text

Tenant = Annotated[str, Positional(help="The tenant.", metavar="NAME")]
Quota = Annotated[int | None, Option(min=-1)]


def _state(tenant: "resources_pb2.Tenant") -> str:
    if tenant.HasField("deleted_at"):
        return "deleted"
    return "suspended" if tenant.HasField("suspended_at") else "live"


tenants: "Noun[resources_pb2.Tenant]" = Noun(
    "tenants",
    {"name": "name", "id": "id", "created": "created_at", "state": _state},
    sample="payments",
)
app = tenants.app


@tenants.command("create", "{}")
def create(client: MetaClient, name: Tenant) -> Answer:
    """Create a tenant; the same name again is fine."""
    reply = client.resources.CreateTenant(resources_pb2.CreateTenantRequest(name=name))
    return Answer(reply.tenant, [reply.tenant.id])


@tenants.lists
def list_(client: MetaClient) -> "Iterable[resources_pb2.Tenant]":
    """List the tenants, oldest first; deleted ones as long as they can be restored."""
    return pages(client.resources.ListTenants, resources_pb2.ListTenantsRequest())


@tenants.shows
def show(client: MetaClient, name: Tenant) -> "resources_pb2.Tenant":
    """Show a tenant; `set-shares` without options shows its shares."""
    return _get(client, name)


@tenants.command("set-shares", "{} --percent 10")
def set_shares(
    client: MetaClient,
    name: Tenant,
    percent: Annotated[int | None, Option(min=0, max=100)] = None,
    datasets: Quota = None,
    records_per_month: Quota = None,
    bytes_per_sec: Quota = None,
) -> Answer:
    """Show what a tenant may use of the installation; with options, change that first.

    0 is the default, which `segplane tenants set-shares default` sets for all tenants. `default`
    itself may use everything.

    Options:
        percent: Part of each bound that is for all callers; by default 50.
        datasets: Live datasets; -1 is no quota.
        records_per_month: Records accepted for all its datasets in a calendar month (UTC).
        bytes_per_sec: Bytes a second that each collector accepts for it, decompressed.
    """
    request = resources_pb2.SetTenantSharesRequest(
        name=name,
        percent=percent,
        datasets=datasets,
        records_per_month=records_per_month,
        bytes_per_sec=bytes_per_sec,
    )
    if len(request.ListFields()) > 1:
        client.resources.SetTenantShares(request)
    reply = client.resources.GetTenant(resources_pb2.GetTenantRequest(name=name))
    rows = [
        (
            field.replace("_", " "),
            *(_limit(each, field) for each in (reply.shares, reply.shares_in_force)),
        )
        for field in ("percent", "datasets", "records_per_month", "bytes_per_sec")
    ]
    return Answer(reply, table(("share", "set", "in force"), rows))


@tenants.command("placement", "{} payments-bucket")
def placement(
    client: MetaClient,
    name: Tenant,
    store: Annotated[
        str | None,
        Positional(help=f"Name of a store, as META_OBJECT_STORES has it, or {DEFAULT_STORE}."),
    ] = None,
) -> Answer:
    """Show the store of a tenant's new datasets; with STORE, change that first.

    Datasets that it has stay where they are: `segplane datasets placement` moves one.
    """
    if store is not None:
        request = resources_pb2.SetTenantStoreRequest(
            name=name, store="" if store == DEFAULT_STORE else store
        )
        client.resources.SetTenantStore(request)
    tenant = _get(client, name)
    return Answer(tenant, [tenant.store or DEFAULT_STORE])


@tenants.command("metric-names")
def metric_names(client: MetaClient, refuse: bool = False) -> Answer:
    """Let metrics name the datasets of the caller's tenant.

    Everyone who can read the metrics of meta sees the names then.

    Options:
        refuse: Metrics may not name them any more.
    """
    request = resources_pb2.SetMetricNamesRequest(allowed=not refuse)
    reply = client.resources.SetMetricNames(request)
    return Answer(reply, ["allowed" if reply.allowed else "not allowed"])


@tenants.command("rename", "{} billing")
def rename(client: MetaClient, name: Tenant, new_name: str) -> Answer:
    """Rename a tenant; its id stays, and so does everything that belongs to it.

    Options:
        new_name: The new name.
    """
    request = resources_pb2.RenameTenantRequest(name=name, new_name=new_name)
    reply = client.resources.RenameTenant(request)
    return Answer(reply.tenant, [reply.tenant.name])


@tenants.command("suspend", "{}")
def suspend(client: MetaClient, name: Tenant) -> Answer:
    """Suspend a tenant: it can neither send nor read, and none of its records are deleted."""
    request = resources_pb2.SuspendTenantRequest(name=name)
    reply = client.resources.SuspendTenant(request)
    return Answer(reply.tenant, [f"suspended; end it with: segplane tenants resume {name}"])


@tenants.command("resume", "{}")
def resume(client: MetaClient, name: Tenant) -> Answer:
    """End the suspension of a tenant; what its retention lets go is deleted from then on."""
    reply = client.resources.ResumeTenant(resources_pb2.ResumeTenantRequest(name=name))
    return Answer(reply.tenant, ["resumed"])


@tenants.command("delete", "{}")
def delete(client: MetaClient, name: Tenant) -> Answer:
    """Delete a tenant; for 7 days `tenants undelete ID` brings it back with all that it has.

    It can neither send nor read from now on. After that time its tokens are revoked and its
    datasets are deleted.
    """
    id_ = _get(client, name).id
    reply = client.resources.DeleteTenant(resources_pb2.DeleteTenantRequest(id=id_))
    text = f"deleted; bring it back with: segplane tenants undelete {id_}"
    return Answer({"success": reply.success, "id": id_}, [text])


@tenants.command("undelete", "0197c9a2-7f3e-7000-8000-000000000001")
def undelete(
    client: MetaClient,
    id_: Annotated[str, Positional(help="Id of the tenant, as `delete` printed.", metavar="ID")],
) -> Answer:
    """Restore a deleted tenant."""
    reply = client.resources.UndeleteTenant(resources_pb2.UndeleteTenantRequest(id=id_))
    return Answer(reply.tenant, [reply.tenant.name])


@tenants.command("usage", "{}")
def usage(
    client: MetaClient,
    name: Annotated[str | None, Positional(metavar="[NAME]")] = None,
    month: str | None = None,
) -> Answer:
    """Show the records and bytes of a tenant by month, or of all tenants in one month.

    Records of a dataset that was moved count for the tenant that has it now.

    Options:
        name: Only this tenant.
        month: The month, as YYYY-MM; by default the current one of all tenants.
    """
    if name == "":
        raise usage_error("the name is empty")
    request = resources_pb2.GetTenantUsageRequest(month=month)
    if name is None:
        rows = list(pages(client.resources.GetTenantUsage, request))
    else:
        request.name = name
        rows = list(client.resources.GetTenantUsage(request).usage)
    return listing(
        rows,
        {
            "tenant": "tenant_name",
            "month": "month",
            "records": "records",
            "ingested": lambda row: size_text(row.bytes_ingested),
            "stored": _stored,
            "datasets": lambda row: row.live_datasets if row.HasField("live_datasets") else NONE,
        },
    )


def _get(client: MetaClient, name: str) -> "resources_pb2.Tenant":
    return client.resources.GetTenant(resources_pb2.GetTenantRequest(name=name)).tenant


def _stored(row: "resources_pb2.TenantUsage") -> object:
    return size_text(row.bytes_stored) if row.HasField("bytes_stored") else NONE


def _limit(shares: "resources_pb2.TenantShares", field: str) -> object:
    return getattr(shares, field) or NONE
