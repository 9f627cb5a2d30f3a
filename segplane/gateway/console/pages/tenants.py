"""Choice of a tenant: those of a person with roles in several, or all of them for an operator."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from starlette.requests import Request
from starlette.responses import Response

from meta.client import MetaClient
from meta.client.bearer_token import TENANTS_KEY
from meta.errors import InvalidArgument, RoleRefused
from meta.secrets import token_name
from meta.v1 import catalog_pb2, resources_pb2
from meta.v1.operations_pb2 import GetServerStateRequest
from segplane.gateway.console import tenancy
from segplane.gateway.console.operate.shared_reads import SharedReads
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import Page, Viewer
from segplane.gateway.http.callers import GATEWAY, Caller
from segplane.gateway.http.refusals import TenantNeeded
from segplane.gateway.queries.service import QueryService

TENANTS_PATH = "/ui/tenants"
TENANTS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class TenantChoice:
    """A tenant, its state in a word, and the address of the console in it, "" = it is deleted."""

    name: str
    address: str
    state: str = ""
    created_at: str = ""


@dataclass(frozen=True, slots=True)
class TenantChoices:
    """Tenants of a page; `more` are not on it."""

    tenants: Sequence[TenantChoice]
    more: int = 0


class TenantPages:
    """The list of tenants, and the way to one that is named."""

    def __init__(self, queries: QueryService, templates: Templates) -> None:
        self._reads = SharedReads(queries)
        self._templates = templates

    def pages(self) -> dict[str, Page]:
        """Return the page of each method and path."""
        return {f"GET {TENANTS_PATH}": self._list}

    async def _list(self, request: Request, viewer: Viewer) -> Response:  # noqa: ARG002
        # The tenant that the address names is not asked for others.
        token = viewer.caller.token
        caller = Caller(token_name(token), token) if token else GATEWAY
        person = replace(viewer, caller=caller)
        reading = await self._reads.read(person, "tenants", read_choices, is_personal=True)
        return self._templates.page(
            "tenants/list.html", viewer=viewer, active="Tenants", choices=reading.value
        )


def read_choices(client: MetaClient) -> TenantChoices:
    """Read the tenants in which a caller may read. Raises MetaError."""
    try:
        caller = client.operations.GetServerState(GetServerStateRequest()).caller
    except InvalidArgument as error:
        _, *tenants = error.metadata.get(TENANTS_KEY, "").split("\n")
        return TenantChoices([TenantChoice(name, tenancy.path_of(name)) for name in tenants])
    request = resources_pb2.ListTenantsRequest(
        pagination=catalog_pb2.PaginationRequest(limit=TENANTS_MAX)
    )
    try:
        reply = client.resources.ListTenants(request)
    except RoleRefused:
        name = caller.tenant or "default"
        return TenantChoices([TenantChoice(name, tenancy.path_of(name))])
    listed = [_choice(tenant) for tenant in reply.tenants]
    return TenantChoices(listed, reply.pagination.total - len(listed))


def choices(needed: TenantNeeded, request: Request) -> TenantChoices:
    """Return the ways to the page of a request in each tenant of a person who named none."""
    path = request.scope["raw_path"].decode("ascii", errors="replace").removeprefix("/ui/")
    query = request.scope["query_string"].decode("ascii", errors="replace")
    page = f"{path}?{query}" if query else path
    tenants = [TenantChoice(name, f"{tenancy.path_of(name)}{page}") for name in needed.tenants]
    return TenantChoices(tenants)


def _choice(tenant: resources_pb2.Tenant) -> TenantChoice:
    state = "suspended" if tenant.suspended_at else "live"
    if tenant.deleted_at:
        return TenantChoice(tenant.name, "", "deleted", tenant.created_at)
    name = tenant.name if tenant.name.isascii() else f"//{tenant.id}"
    return TenantChoice(tenant.name, tenancy.path_of(name), state, tenant.created_at)
