"""The tenant of an address: `/ui/@payments/logs` is the page `/ui/logs` in the tenant `payments`.

A tenant is named as calls of meta name it, or by its id alone. Pages have no tenant in their own
addresses: the gateway takes it off a request, and puts it before the addresses of a page.
"""

import re
from contextvars import ContextVar
from urllib.parse import quote, unquote

from starlette.requests import Request

from segments.ids import is_canonical_uuid
from segplane.gateway.http.readers import may_name_tenant
from segplane.gateway.http.refusals import NotThere

_PREFIX = "/ui/@"
# Quotes in data are escaped, so that this is the beginning of an address of the console. One that
# has a tenant leads to another tenant.
_ADDRESS = re.compile('="/ui/(?!@)')
# Of the request that a task answers; "" = none.
_tenant: ContextVar[str] = ContextVar("tenant", default="")


def enter(request: Request) -> Request:
    """Return a request without the tenant in its path, which counts until it is answered.

    Raises NotThere.
    """
    raw_path = request.scope["raw_path"].decode("ascii", errors="replace")
    if not raw_path.startswith(_PREFIX):
        _tenant.set("")
        return request
    part, _, page = raw_path.removeprefix(_PREFIX).partition("/")
    tenant = unquote(part)
    if not tenant or not may_name_tenant(tenant):
        raise NotThere("there is no such page")
    _tenant.set(tenant)
    path = f"/ui/{page}"
    scope = {**request.scope, "path": unquote(path), "raw_path": path.encode()}
    return Request(scope, request.receive)


def current() -> str:
    """Return the tenant of the request as calls name it, "" = none."""
    tenant = _tenant.get()
    return f"//{tenant}" if is_canonical_uuid(tenant) else tenant


def shown() -> str:
    """Return the tenant as the address has it, "" = none."""
    return _tenant.get()


def path_of(tenant: str) -> str:
    """Return the path of the console in a tenant, which calls name so; "" = in none."""
    return f"{_PREFIX}{quote(tenant.removeprefix('//'), safe='')}/" if tenant else "/ui/"


def with_tenant(path: str) -> str:
    """Return a path below /ui/ in the tenant of the request."""
    return path_of(_tenant.get()) + path.removeprefix("/ui/")


def addressed(html: str, root: str) -> str:
    """Put the tenant of the request, and the path of the public URL, before a page's addresses."""
    html = _ADDRESS.sub(f'="{path_of(_tenant.get())}', html)
    return html.replace('="/ui/', f'="{root}/ui/')
